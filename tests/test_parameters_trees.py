"""Numbers of trees and of free bases as inputs of one compiled model: those of a bus, of what every link carries."""

import numpy as np
import pytest
from random_arms import random_state
from random_trees import laced, random_tree
from varied_arms import ALL, close, far, free_of, quantity

import flexarm as fa
from flexarm.errors import DescriptionError

KINDS = {
    "fixed": (10, {"links": 3}),
    "free": (10, {"free": True, "links": 3}),
    "free, telescope": (24, {"free": True, "telescope": True, "links": 2}),
    "free, elastic, foreshortening": (36, {"free": True, "elastic": True, "foreshortening": True, "links": 2}),
    "free, rigid": (42, {"free": True, "rigid": True}),
}


def state_of(model, seed):
    """A state in general position, by the names of arguments."""
    rng = np.random.default_rng([seed, 4])
    q, qd, u = random_state(model.arm, seed)
    found = {"q": q, "qd": qd, "u": u, "qdd": rng.uniform(-2, 2, model.nv), "v": 0.7 - qd}
    return found | {"s": rng.uniform(-1, 1, len(model.states)), "w": rng.uniform(-1, 1, len(model.exogenous))}


def assert_same_as_rebuilt(model, p, names, seed=3):
    rebuilt, state = fa.Model(model.arm_at(p)), state_of(model, seed)
    for name in names:
        close(quantity(model, name, state, p), quantity(rebuilt, name, state))


def satellite(**changes):
    """A bus with a bent panel that carries something, and an arm on it."""
    bus = fa.FreeBase(mass=20.0, com=(0.1, 0.0, -0.2), inertia=[[3, 0.1, 0], [0.1, 4, 0.2], [0, 0.2, 5]])
    beam = fa.Beam(length=1.5, mass=0.6, EI=30.0, modes={"y": 1}, shapes="polynomial")
    panel = fa.Link(
        name="panel", joint=fa.Fixed(), body=beam, parent="base", payload=fa.Payload(mass=0.3, inertia=0.01)
    )
    boom = fa.Link(name="boom", body=fa.Rigid(length=0.7, mass=1.1), parent="base")
    made = {"name": "satellite", "base": bus, "links": [panel, boom], "gravity": (0.0, 0.0, 0.0)}
    return fa.Arm(**(made | changes))


@pytest.mark.parametrize("kind", KINDS)
def test_a_varied_tree_is_the_rebuilt_one(kind):
    """All numbers at once, far from nominal, those that are zero among them; every quantity."""
    seed, options = KINDS[kind]
    arm = random_tree(seed, **options)
    names = free_of(arm)
    model = fa.Model(arm, vary=names)
    carried = [link.name for link in arm.links if link.payload is not None]
    assert {f"{name}.payload.mass" for name in carried} <= set(names)
    assert {"base.mass", "base.com.x", "base.inertia.yz"} <= set(names) or not arm.free
    assert len({x.symbol for x in model.parameters}) == len(names)
    assert_same_as_rebuilt(
        model, far(arm, model.parameters, seed), [x for x in ALL if arm.free or x != "momentum"], seed
    )


def test_a_varied_tree_with_what_acts_outside_is_the_rebuilt_one():
    arm = laced(random_tree(8, free=True, links=3, stations=(0.0, 0.5, 1.0)), 8)
    model = fa.Model(arm, vary=["*"])  # what is zero stays zero: rotors of coupled joints
    model = fa.Model(arm, vary=[x.name for x in model.parameters if not x.shapes])
    assert_same_as_rebuilt(model, far(arm, model.parameters, 8), ("state_rate", "inverse_dynamics", "energy"), 8)


def test_machine_code_at_another_bus():
    model = fa.Model(satellite(), vary=["base.*", "panel.payload.*"])
    names = ["base.mass", "base.com.x", "base.com.z", "base.inertia.xx", "base.inertia.xy", "base.inertia.yy"]
    names += ["base.inertia.yz", "base.inertia.zz", "panel.payload.mass", "panel.payload.inertia"]
    assert [x.name for x in model.parameters] == names
    assert [x.symbol for x in model.parameters[:4]] == ["m_0", "cx_0", "cz_0", "Ixx_0"]
    p = far(model.arm, model.parameters, 1)
    state = state_of(model, 1)
    q, qd, u = state["q"], state["qd"], state["u"]
    other = fa.Model(model.arm_at(p))
    close(model.forward_dynamics(q, qd, u, p=p), other.forward_dynamics(q, qd, u))
    close(model.momentum(q, qd, p=p), other.momentum(q, qd))
    close(model.at(p).mass_matrix(q), other.mass_matrix(q))


def test_a_base_that_weighs_more_and_more_is_fixed():
    """What is said of the base's numbers, in mechanics: the arm's own block of the accelerations."""
    fixed = fa.Model(satellite(base=None))
    model = fa.Model(satellite(), vary=["base.mass", "base.inertia.xx", "base.inertia.yy", "base.inertia.zz"])
    x = np.array([0.4, 0.02])
    q = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, *x])
    qd = np.array([*np.zeros(6), 0.3, -0.2])
    expected = fixed.forward_dynamics(x, qd[6:], [0.5])
    gaps = [np.abs(model.forward_dynamics(q, qd, [0.5], p=f * model.p)[6:] - expected).max() for f in (1e3, 1e4, 1e5)]
    assert gaps[0] > 5 * gaps[1] > 25 * gaps[2] and gaps[2] < 1e-3 * np.abs(expected).max()


def test_shapes_follow_what_a_link_carries_and_no_base():
    arm = satellite(links=[x.replace(body=x.body.replace(shapes="clamped-mass")) if x.name == "panel" else x
                           for x in satellite().links])  # fmt: skip
    found = {x.name: x.shapes for x in fa.Model(arm, vary=["base.*", "panel.payload.mass"]).parameters}
    assert found.pop("panel.payload.mass") == ("panel.y",)
    assert set(found.values()) == {()}


def test_slopes_to_numbers_of_a_base():
    model = fa.Model(satellite(gravity=(0.2, -9.0, 1.0)), vary=["base.mass", "base.com.x", "panel.payload.mass"])
    state, step = state_of(model, 5), 1e-6
    q, qd, u = state["q"], state["qd"], state["u"]
    found = np.array(model.slope("forward_dynamics", "p")(q, qd, u))
    for i in range(3):
        dp = step * (np.arange(3) == i)
        sides = [model.forward_dynamics(q, qd, u, p=model.p + side * dp) for side in (1, -1)]
        close(found[:, i], (sides[0] - sides[1]) / (2 * step), 1e-8)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"base.mass": 0.0}, "p: base.mass is 0.0 kg; it must be positive"),
        ({"base.inertia.xx": -1.0}, r"p: base.inertia.xx is -1.0 kg m\^2; it must be positive"),
        ({"base.inertia.xy": 4.0}, r"p: base.inertia has the principal value -0.5.* kg m\^2; all must be positive"),
        ({"panel.payload.mass": 0.0}, "p: panel.payload.mass is 0.0 kg; it must be positive"),
        ({"panel.payload.inertia": -0.1}, r"p: panel.payload.inertia is -0.1 kg m\^2; it must be zero or positive"),
        (
            {"panel.payload.inertia.xy": 0.5},
            r"p: panel.payload.inertia has the principal value -0.49 kg m\^2; none may",
        ),
        ({"payload.mass": -1.0}, "p: payload.mass is -1.0 kg; it must be zero or positive"),
    ],
)
def test_values_out_of_range_are_refused(values, message):
    model = fa.Model(satellite(), vary=["base.*", "panel.payload.*", "panel.payload.inertia.xy", "payload.mass"])
    with pytest.raises(DescriptionError, match=message):
        model.at(values)


def test_a_base_needs_an_inertia_about_every_axis():
    """No principal value is negative, one is zero."""
    model = fa.Model(satellite(), vary=["base.inertia.*"])
    with pytest.raises(DescriptionError, match=r"principal value .* kg m\^2; all must be positive"):
        model.at({"base.inertia.xx": 2.0, "base.inertia.yy": 2.0, "base.inertia.xy": 2.0, "base.inertia.yz": 0.0})


@pytest.mark.parametrize("name", ["base.mass", "boom.payload.mass"])
def test_what_there_is_not_cannot_vary(name):
    with pytest.raises(DescriptionError, match=f"vary: unknown parameter '{name}'; .*he parameters are "):
        fa.Model(satellite(base=None), vary=[name])
