"""Slopes of every force element are finite: on both sides of each switch, at its edge, and where all is at rest.

The elements are found, not listed: each function of `flexarm.mechanics` that makes one must stand in `CASES`. The
switches are found too, in the traced program: comparisons, limits, sizes and signs.
"""

import importlib
import inspect
import pkgutil
import typing
from typing import Literal, get_args, get_origin

import casadi as ca
import numpy as np
import pytest

import flexarm as fa
from flexarm import description, mechanics
from flexarm.description.friction import Friction
from flexarm.mechanics.elements import Element

SAMPLES = 100


def turning(**parts):
    """A link of general inertia on an elastic joint with the parts of a drive."""
    joint = fa.Revolute(axis=(0, 1, 0), rotor_inertia=0.3, stiffness=40.0, drive=fa.Drive(**parts))
    body = fa.Rigid(length=0.6, mass=1.3, com=(0.2, 0.05, 0.0), inertia=(0.1, 0.2, 0.25))
    return fa.Arm(name="turning", links=[fa.Link(name="a", joint=joint, body=body)])


def stiff(**parts):
    """The same without the joint's elasticity: a gear that friction sees by the actuator's torque."""
    joint = fa.Revolute(axis=(0, 1, 0), rotor_inertia=0.3, drive=fa.Drive(**parts))
    body = fa.Rigid(length=0.6, mass=1.3, com=(0.2, 0.05, 0.0), inertia=(0.1, 0.2, 0.25))
    return fa.Arm(name="stiff", links=[fa.Link(name="a", joint=joint, body=body)])


def spatial(**outside):
    """Two links that turn about different axes; stretched out at rest, along x."""
    body = fa.Rigid(length=0.6, mass=1.3, com=(0.2, 0.05, 0.0), inertia=(0.1, 0.2, 0.25))
    links = [
        fa.Link(name="a", joint=fa.Revolute(axis=(0, 0, 1)), body=body),
        fa.Link(name="b", joint=fa.Revolute(axis=(0, 1, 0)), body=body),
    ]
    return fa.Arm(name="spatial", links=links, **outside)


def wall(exponent, **more):
    """A floor 0.1 m below the arm."""
    given = {"name": "floor", "link": "b", "point": (0, 0, -0.1), "normal": (0, 0, 1), "stiffness": 3e3} | more
    return spatial(contacts=[fa.Contact(exponent=exponent, **given)])


def cable(*points, **more):
    """A cable from the ground over a link to the tip."""
    points = points or ({"point": (0.2, 0.3, 0.4)}, {"link": "a", "at": 0.5}, {"link": "b"})
    return spatial(cables=[fa.Cable(name="rope", points=points, **more)])


def yielding(exponent):
    """A spring that yields."""
    hysteresis = fa.Hysteresis(stiffness=50.0, force=2.0, exponent=exponent, shape=0.7)
    return turning(spring=fa.Spring(hysteresis=hysteresis))


def motor(**more):
    return turning(motor=fa.Motor(**more))


coil = fa.Spring(stiffness=10.0, damping=0.5)
kinked = fa.Spring(table=[(-0.2, -3.0), (0.0, 0.0), (0.1, 4.0)])
winding = {"input": "voltage", "torque_constant": 0.8, "resistance": 0.5}
bristles = {"model": "lugre", "bristle_stiffness": 500.0, "bristle_damping": 2.0}
thick = {"forward": 0.1, "backward": 0.3}
either = {"forward": 1.0, "backward": 0.7}
curve = {"speed": (0.0, 1.0, 2.0), "torque": (2.0, 1.5, 0.0)}

CASES = {
    "contact": {
        **{f"exponent {n}": wall(n, damping=0.4, friction=0.3) for n in (1.0, 1.2, 1.5, 2.0, 2.5, 3.0)},
        "touching at rest": wall(1.5, point=(0, 0, -0.05), radius=0.05, friction=0.3),
        "bristles": wall(1.5, damping=0.4, friction=0.3, model="lugre", bristle_stiffness=2e3, bristle_damping=1.0),
    },
    "strut": {
        "to the ground": spatial(struts=[fa.Strut(link="b", point=(0.4, 0.3, 0.2), stiffness=90.0, length=0.3)]),
        "ends together": spatial(struts=[fa.Strut(link="b", point=(1.2, 0, 0), stiffness=90.0, length=0.3)]),
        "of no length": spatial(struts=[fa.Strut(link="b", point=(1.2, 0, 0), stiffness=90.0)]),
        "between links": spatial(struts=[fa.Strut(link="b", to="a", to_at=0.5, stiffness=90.0, length=0.2)]),
    },
    "cable": {
        "spring": cable(stiffness=90.0, length=1.1),
        "damped": cable(EA=90.0, length=1.1, damping=0.7),
        "points together": cable({"point": (1.2, 0, 0)}, {"link": "b"}, stiffness=90.0, length=0.3, transition=0.1),
        "at its edge at rest": cable({"point": (0.5, 0, 0)}, {"link": "b"}, EA=90.0, length=0.7, damping=0.7),
        "winch": cable(stiffness=90.0, length=1.1, damping=0.7, input="rate"),
        "winch of a rope": cable(EA=90.0, length=1.1, damping=0.7, transition=0.0, input="rate"),
    },
    "bushing": {
        "springs": spatial(bushings=[fa.Bushing(name="foot", link="b", stiffness=90.0, angular_stiffness=7.0)]),
        "damped": spatial(bushings=[fa.Bushing(name="foot", link="b", to="a", stiffness=9.0, damping=(0, 3, 1))]),
    },
    "pulled_by_input": {"tension": cable(input="tension")},
    "force": {
        kind: spatial(forces=[fa.Force(name="push", link="b", kind=kind, axes=axes)])
        for kind, axes in (("force", "base"), ("moment", "link"), ("wrench", "link"))
    },
    "distributed": {"spread": spatial(forces=[fa.Force(name="push", link="b", kind="distributed", axes="link")])},
    "drag": {"drag": spatial(drags=[fa.Drag(link="b", coefficient=(1.0, 2.0, 0.5))])},
    "drive": {"drive": spatial(forces=[fa.Force(name="push", link="b", kind="drive")])},
    "moving_base": {"moving": spatial(base=fa.MovingBase())},
    "gravity_gradient": {"orbit": spatial(base=fa.FreeBase(mass=3.0, inertia=0.4, orbit=fa.Orbit(rate=1e-3)))},
    "friction": {
        "smooth": turning(friction=Friction(coulomb=1.0, static=1.4, viscous=0.1, load=0.1)),
        "smooth, either way": turning(friction=Friction(coulomb=either, viscous=thick)),
        "of a stiff gear": stiff(friction=Friction(coulomb=1.0, load=0.1)),
        "of the link": turning(link_friction=Friction(coulomb=1.0, static=1.4, load=0.1)),
        "bristles": turning(friction=Friction(coulomb=1.0, static=1.4, load=0.1, **bristles)),
        "bristles, either way": stiff(friction=Friction(coulomb=either, viscous=thick, **bristles)),
    },
    "brake": {"brake": turning(brake=fa.Brake(holding=3.0))},
    "transmission": {
        "cubic": turning(spring=fa.Spring(cubic=30.0, damping=0.2)),
        "table": turning(spring=fa.Spring(table=[(-0.2, -3.0), (0.0, 0.0), (0.1, 4.0), (0.3, 5.0)])),
        "variable": turning(spring=fa.Spring(stiffness=10.0, variable=True)),
        **{f"hysteresis {n}": yielding(n) for n in (1.0, 1.2, 1.5, 2.0, 3.0)},
        "play": turning(spring=coil, backlash=fa.Backlash(width=0.1)),
        "sharp play": turning(spring=coil, backlash=fa.Backlash(width=0.1, sharp=True)),
        "play and a table": turning(spring=kinked, backlash=fa.Backlash(width=0.1, transition=0.1)),
    },
    "stops": {
        "plain": turning(stops=fa.Stops(lower=-0.2, upper=0.1, stiffness=300.0, damping=4.0)),
        "smooth": turning(stops=fa.Stops(lower=-0.2, upper=0.1, stiffness=300.0, damping=4.0, transition=0.05)),
        "sharp, touched at rest": turning(stops=fa.Stops(upper=0.0, stiffness=300.0, damping=4.0, sharp=True)),
    },
    "parallel": {"parallel": turning(parallel=fa.Parallel(stiffness=20.0, rest=0.1, damping=0.3))},
    "motor": {
        "smooth limit": motor(torque_limit=1.0),
        "sharp limit": motor(torque_limit=1.0, saturation="sharp"),
        "line": motor(torque_limit=1.0, speed_limit=2.0, stall_torque=1.5, saturation="sharp"),
        "curve": motor(torque_limit=1.8, torque_speed=curve),
        "gear": motor(torque_limit=1.0, efficiency=0.8, back_efficiency=0.7),
        "voltage": motor(**winding, voltage_limit=1.0, torque_limit=1.0),
        "voltage, sharp": motor(**winding, voltage_limit=1.0, saturation="sharp", efficiency=0.9),
        "current": motor(**winding, inductance=0.01, voltage_limit=1.0),
    },
}  # fmt: skip


ONE_SIDED = {"gravity_gradient": (3, 4)}
"""Switches that ask whether the quaternion of a free base has a length."""


def makers():
    """The functions of the mechanics that make an element, by name."""
    found = {}
    for each in pkgutil.iter_modules(mechanics.__path__):
        module = importlib.import_module(f"{mechanics.__name__}.{each.name}")
        for name, function in inspect.getmembers(module, inspect.isfunction):
            if function.__module__ == module.__name__ and typing.get_type_hints(function).get("return") is Element:
                found[name] = function
    return found


def test_every_element_is_tried():
    assert set(makers()) == set(CASES)


def test_no_element_is_made_elsewhere():
    """`Element(...)` stands nowhere but in functions that say that they return one."""
    allowed = "".join(inspect.getsource(function) for function in makers().values())
    for each in pkgutil.iter_modules(mechanics.__path__):
        source = inspect.getsource(importlib.import_module(f"{mechanics.__name__}.{each.name}"))
        for line in source.splitlines():
            if "return Element(" in line:
                assert line in allowed, (each.name, line)


def parts(thing):
    """All descriptions in an arm."""
    if isinstance(thing, description.parts.Described):
        yield thing
        for name in type(thing).model_fields:
            yield from parts(getattr(thing, name))
    elif isinstance(thing, list | tuple):
        for each in thing:
            yield from parts(each)


def test_every_choice_of_every_element_is_tried():
    """Each value of each field that is a choice, or a yes or no, of each description that stands in some case."""
    seen, choices = {}, {}
    for arm in (arm for cases in CASES.values() for arm in cases.values()):
        for part in parts(arm):
            if not type(part).__module__.endswith(
                (".friction", ".springs", ".motors", ".outside", ".struts", ".cables")
            ):
                continue
            for name, field in type(part).model_fields.items():
                kinds = [field.annotation, *get_args(field.annotation)]
                options = {x for kind in kinds if get_origin(kind) is Literal for x in get_args(kind)}
                options |= {True, False} if bool in kinds else set()
                if options:
                    choices[type(part), name] = options
                    seen.setdefault((type(part), name), set()).add(getattr(part, name))
    assert len(choices) >= 10
    assert choices == seen


def switches(function):
    """What the sign of decides in a function's program, as expressions of its arguments."""
    given, work, found = function.sx_in(), [ca.SX(0)] * function.sz_w(), []
    two_sided = {ca.OP_FMAX, ca.OP_FMIN, ca.OP_LT, ca.OP_LE, ca.OP_EQ, ca.OP_NE}
    for k in range(function.n_instructions()):
        op, to, of = function.instruction_id(k), function.instruction_output(k), function.instruction_input(k)
        if op == ca.OP_CONST:
            work[to[0]] = ca.SX(function.instruction_constant(k))
        elif op == ca.OP_INPUT:
            work[to[0]] = given[of[0]].nz[of[1]]
        elif op == ca.OP_OUTPUT:
            continue
        elif len(of) == 1:
            if op in (ca.OP_FABS, ca.OP_SIGN):
                found.append(work[of[0]])
            work[to[0]] = ca.SX.unary(op, work[of[0]])
        else:
            if op in two_sided:
                found.append(work[of[0]] - work[of[1]])
            work[to[0]] = ca.SX.binary(op, work[of[0]], work[of[1]])
    return [x for x in found if ca.symvar(x)]


def laid_out(arm):
    """Functions of all arguments, end to end: the slopes of the rates, and what switches them; sizes and scales."""
    model = fa.Model(arm)
    name = "state_rate" if arm.states else "forward_dynamics"
    function = model.function(name)
    given = function.sx_in()
    x = ca.SX.sym("x", sum(each.numel() for each in given))
    at = ca.vertsplit(x, np.cumsum([0, *(each.numel() for each in given)]).tolist())
    (rates,) = function.call(at)
    slopes = ca.Function("slopes", [x], [ca.densify(ca.jacobian(rates, x))])
    decided = ca.Function("switches", [x], [ca.vertcat(*switches(ca.Function("rates", [x], [rates])))])
    return model, slopes, decided


def tried(model, size, decided, one_sided):
    """Rest, states at random about it, and those at the edge of each switch, a float before and one behind it."""
    rng = np.random.default_rng(0)
    rest = np.zeros(size)
    rest[: model.nq] = model.arm.rest
    scale = 10.0 ** rng.uniform(-4.0, 1.0, (SAMPLES, 1))
    samples = [rest, *(rest + scale * rng.standard_normal((SAMPLES, size)))]
    if not decided.size1_out(0):
        return samples, []
    values = np.array([np.array(decided(x)).ravel() for x in samples])
    edges = []
    for k, column in enumerate(values.T):
        sides = [column > 0.0, column < 0.0, column == 0.0]
        if not sides[0].any() or not sides[1].any():  # a limit of a limit is at its edge on a whole side
            assert k in one_sided or sides[2].any(), f"switch {k} is seen on one side only"
            continue
        a, b = (samples[int(np.argmax(side))] for side in sides[:2])
        for _ in range(60):
            middle = (a + b) / 2
            a, b = (middle, b) if float(decided(middle)[k]) > 0 else (a, middle)
        edges += [a, b]
    return samples, edges


@pytest.mark.parametrize(("maker", "case"), [(maker, case) for maker, cases in CASES.items() for case in cases])
def test_slopes_are_finite_on_both_sides_and_at_the_edge(maker, case):
    model, slopes, decided = laid_out(CASES[maker][case])
    native = model.compiled("slopes of all rates", lambda _: slopes)
    samples, edges = tried(model, slopes.size1_in(0), decided, ONE_SIDED.get(maker, ()))
    for x in samples + edges:
        assert np.isfinite(np.array(slopes(x))).all(), x
        assert np.isfinite(native.one(x)).all(), x
    for x in samples:  # at an edge rounding may decide which side it is
        found = np.array(slopes(x))
        assert np.abs(native.one(x).reshape(found.shape, order="F") - found).max() <= 1e-9 * np.abs(found).max(), x
