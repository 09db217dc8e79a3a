"""Numbers of an arm as inputs of one compiled model: the same equations as those of the arm rebuilt with them."""

import copy
import fnmatch
import json
import pickle
import threading
from functools import cache

import casadi as ca
import numpy as np
import pytest
from long_arms import long_arm
from oracle import Lagrangian
from quantities import taken
from random_arms import PLAIN, random_arm
from varied_arms import ALL, close, far, free_of, quantity

import flexarm as fa
from flexarm import analysis, control
from flexarm.attitude import configuration, local
from flexarm.mechanics.chain import shapes_of
from flexarm.model import QUANTITIES
from flexarm.model.varied import Varied
from flexarm.native import kernel as native_kernel
from flexarm.native.program import operations
from flexarm.native.prologue import Prologue

STEP = 1e-5  # of a parameter: central differences of second order leave 1e-10, and rounding as much
DIFFERENCES = 1e-7


def state_of(model, seed=3):
    """A state in general position: q, qd, u, qdd, s, w by their names."""
    rng = np.random.default_rng(seed)
    n, m = model.nv, len(model.inputs)
    q = local(model.arm, np.array(model.arm.rest)) + rng.uniform(0.3, 0.9, n)
    q[list(model.arm.flexible)] *= 0.05
    for link, i in ((model.arm.links[model.arm.layout[j].link], j) for j in model.arm.joints):
        if link.joint.type == "telescope":
            q[i] = rng.uniform(0.4, 0.9) * link.body.length
    q = configuration(model.arm, q)
    found = {
        "q": q,
        "qd": rng.uniform(-1, 1, n),
        "u": rng.uniform(-2, 2, m),
        "qdd": rng.uniform(-2, 2, n),
        "v": rng.uniform(-1, 1, n),
    }
    return found | {"s": rng.uniform(-1, 1, len(model.states)), "w": rng.uniform(-1, 1, len(model.exogenous))}


# -- against the arm that is rebuilt -----------------------------------------------------------------------------------

INERT = ("inverse_dynamics", "mass_matrix", "damping_force", "input_matrix", "restoring_force", "energy")


def assert_same_as_rebuilt(model, p, names, seed=3):
    rebuilt, state = fa.Model(model.arm_at(p)), state_of(model, seed)
    for name in names:
        close(quantity(model, name, state, p), quantity(rebuilt, name, state))


HINGED = PLAIN | {"y": "pinned-free", "z": "pinned-free"}
KINDS = {
    "general": (3, {"links": 3}),
    "elastic": (32, {"elastic": True, "links": 2}),
    "absolute": (20, {"rotor": "absolute", "links": 3}),
    "absolute, elastic": (23, {"rotor": "absolute", "elastic": True, "links": 2}),
    "telescope": (24, {"telescope": True, "links": 2}),
    "telescope by the paper": (27, {"telescope": True, "convection": "paper", "rotor": "absolute", "links": 2}),
    "telescope that twists": (104, {"telescope": True, "twisting": True, "links": 2}),
    "stiff telescope": (30, {"telescope": True, "rigid": True, "links": 2}),
    "foreshortening": (36, {"foreshortening": True, "links": 2}),
    "chord": (34, {"chord": True, "links": 2}),
    "slopes at the hub": (33, {"families": [HINGED], "elastic": False, "links": 2}),
    "without gravity and payload": (5, {"gravity": False, "payload": False, "links": 2}),
    "rigid": (42, {"rigid": True, "links": 3}),
}


REBUILT = [kind for kind in KINDS if kind not in ("absolute", "telescope")]
"""Kinds of arms. A kind is left out if another kind has all its parts."""


@pytest.mark.parametrize("kind", REBUILT)
def test_a_varied_arm_is_the_rebuilt_one(kind):
    """All numbers at once, far from nominal, those that are zero among them; every quantity. No shapes follow them."""
    seed, options = KINDS[kind]
    arm = random_arm(seed, **options)
    model = fa.Model(arm, vary=free_of(arm))
    assert len(model.p) > 30
    assert not any(x.shapes for x in model.parameters)
    assert_same_as_rebuilt(model, far(arm, model.varied, seed), ALL)


def test_shapes_of_arms_that_share_links_are_those_of_each_arm_alone():
    """Links and loads that were computed for one arm are used for another only if both are the same."""
    varied = Varied(fa.load("subudhi-morris"), ["*"])
    links, weighed, freed, s = {}, {}, {}, np.linspace(0.0, 1.0, 5)
    for i in range(len(varied.nominal)):
        p = varied.nominal * np.where(np.arange(len(varied.nominal)) == i, 1.3, 1.0)
        arm = varied.arm_at(p, known=links)
        assert arm == varied.arm_at(p)
        alone = shapes_of(arm)
        for found in (shapes_of(arm, weighed), shapes_of(varied.arm_at(p), freed)):  # that arm is gone at once
            for name, basis in found.items():
                np.testing.assert_array_equal(basis.values(s), alone[name].values(s))
    assert len(links) < len(weighed) < 2 * len(varied.nominal)  # some were used again


@pytest.mark.parametrize("options", [{}, {"foreshortening": True, "hub": True}], ids=str)
def test_more_modes_than_tip_functions(options):
    """Combinations of modes that leave the tip where it is follow the numbers, too."""
    hub = {"hub_mass": 0.4, "hub_inertia": 0.02} if options.pop("hub", False) else {}
    beam = fa.Beam(length=0.8, mass=0.5, EI={"y": 20.0, "z": 30.0}, modes={"y": 4, "z": 1}, damping=0.01, shapes=PLAIN,
                   **options)  # fmt: skip
    axes = ((0.0, 1.0, 0.0), (0.6, 0.0, 0.8))
    links = [fa.Link(name=f"l{i}", joint=fa.Revolute(axis=axis), body=beam, **hub) for i, axis in enumerate(axes)]
    model = fa.Model(fa.Arm(name="rich", links=links, payload=fa.Payload(mass=0.4, inertia=0.01)), vary=["*"])
    p, state = far(model.arm, model.varied, 2), state_of(model)
    assert_same_as_rebuilt(model, p, ("state_rate", "inverse_dynamics"))
    close(quantity(model, "forward_dynamics", state, p), quantity(model, "forward_dynamics_dense", state, p), 1e-11)


BUNDLED = ("theodore-ghosal", "dual-arm", "canadarm-free", "subudhi-morris-elastic", "lin-lewis-rfr")
"""A telescope, a tree, a free base, elastic joints, and a beam between rigid links."""


@pytest.mark.parametrize("name", BUNDLED)
def test_a_varied_bundled_arm_is_the_rebuilt_one(name):
    """All numbers that are not zero and that no mode shapes follow."""
    arm = fa.load(name)
    model = fa.Model(arm, vary=["*"])
    while any(x.shapes for x in model.parameters):  # a length scales the polar inertia where that does not vary itself
        model = fa.Model(arm, vary=[x.name for x in model.parameters if not x.shapes])
    assert_same_as_rebuilt(model, far(arm, model.varied, 1), INERT)


# -- against positions of material points ------------------------------------------------------------------------------

GIVEN = {
    "base.length": 0.7,
    "base.mass": None,
    "base.com.x": None,
    "base.inertia": None,
    "base.stiffness": 120.0,
    "base.spring_damping": 0.4,
    "base.damping": 0.2,
    "base.rotor_inertia": 0.03,
    "base.gear_ratio": 3.0,
    "base.hub_mass": 0.6,
    "base.hub_inertia.xx": 0.05,
    "base.hub_inertia.xy": 0.004,
    "base.joint.axis.azimuth": 0.5,
    "base.joint.axis.tilt": 0.3,
    "upper.placement.xyz.y": 0.2,
    "upper.placement.rpy.roll": 0.4,
    "upper.placement.rpy.yaw": -0.7,
    "upper.length": 0.9,
    "upper.mass": None,
    "upper.polar_inertia": None,
    "upper.EI.y": 20.0,
    "upper.EI.z": 30.0,
    "upper.GJ": 15.0,
    "upper.EA": 4e3,
    "upper.damping_ratio.y2": 0.03,
    "fore.length": 0.6,
    "fore.mass": 0.8,
    "fore.EI": 12.0,
    "fore.damping_ratio": 0.02,
    "payload.mass": 0.5,
    "payload.inertia.zz": 0.02,
    "gravity.x": 2.0,
}
"""Numbers as they are called; None: left to the description's default, or given per length."""
LEFT = {"base.mass": 1.4, "base.com.x": 0.35, "base.inertia": 1.4 * 0.7**2 / 12, "upper.mass": 1.1,
        "upper.polar_inertia": 0.009 * 0.9}  # fmt: skip
"""What these are."""


def described(n):
    """The arm by hand, each number at its place in a description."""
    along, azimuth, tilt = n["base.length"], n["base.joint.axis.azimuth"], n["base.joint.axis.tilt"]
    axis = (np.sin(tilt) * np.cos(azimuth), np.sin(tilt) * np.sin(azimuth), np.cos(tilt))
    base = {"mass": n["base.mass"] or 1.4}
    if n["base.com.x"]:
        base["com"] = (n["base.com.x"], 0.0, 0.0)
    if n["base.inertia"]:
        base["inertia"] = (0.0, n["base.inertia"], n["base.inertia"])
    upper = n["upper.length"]
    per = {"mass_per_length": 1.1 / 0.9} if n["upper.mass"] is None else {"mass": n["upper.mass"]}
    polar = 0.009 if n["upper.polar_inertia"] is None else n["upper.polar_inertia"] / upper
    product = n["base.hub_inertia.xy"]
    hub = ((n["base.hub_inertia.xx"], product, 0.0), (product, 0.06, 0.0), (0.0, 0.0, 0.07))
    drive = {x: n[f"base.{x}"] for x in ("stiffness", "spring_damping", "damping", "rotor_inertia", "gear_ratio")}
    links = [
        fa.Link(
            name="base",
            joint=fa.Revolute(axis=tuple(map(float, axis)), rotor="absolute", **drive),
            body=fa.Rigid(length=along, **base),
            hub_mass=n["base.hub_mass"],
            hub_inertia=hub,
        ),
        fa.Link(
            name="upper",
            joint=fa.Revolute(axis=(0.0, 1.0, 0.0), rotor_inertia=0.02, rotor="absolute"),
            placement={
                "xyz": (0.1, n["upper.placement.xyz.y"], 0.0),
                "rpy": (n["upper.placement.rpy.roll"], 0.0, n["upper.placement.rpy.yaw"]),
            },
            body=fa.Beam(
                length=upper,
                **per,
                polar_inertia=polar,
                EI={"y": n["upper.EI.y"], "z": n["upper.EI.z"]},
                GJ=n["upper.GJ"],
                EA=n["upper.EA"],
                modes={"y": 2, "z": 1, "torsion": 1, "axial": 1},
                damping=(0.01, n["upper.damping_ratio.y2"], 0.015, 0.02, 0.025),
                shapes=PLAIN,
                foreshortening=True,
            ),
        ),
        fa.Link(
            name="fore",
            joint=fa.Revolute(rotor_inertia=0.01),
            body=fa.Beam(
                length=n["fore.length"],
                mass=n["fore.mass"],
                EI=n["fore.EI"],
                modes={"y": 1, "z": 1},
                damping=n["fore.damping_ratio"],
                shapes=PLAIN,
                next_joint="chord",
            ),
        ),
    ]
    payload = fa.Payload(mass=n["payload.mass"], inertia=(0.01, 0.015, n["payload.inertia.zz"]))
    return fa.Arm(name="by hand", links=links, payload=payload, gravity=(n["gravity.x"], -1.0, -9.0))


@pytest.fixture(scope="module")
def by_hand():
    return fa.Model(described(GIVEN), vary=list(GIVEN))


def check_against_points(model, given):
    oracle, state = Lagrangian(described(given)), state_of(model)
    q, qd, u, qdd = (state[a] for a in ("q", "qd", "u", "qdd"))
    close(oracle.inverse_dynamics(q, qd, qdd), np.array(model.fixed("inverse_dynamics")(q, qd, qdd)).ravel())
    close(oracle.damping_force(q, qd), np.array(model.fixed("damping_force")(q, qd)).ravel())
    close(oracle.energy(q, qd), np.array(model.fixed("energy")(q, qd)).ravel())
    close(oracle.tip(q), np.array(model.fixed("tip")(q)))
    found = np.array(model.fixed("forward_dynamics")(q, qd, u)).ravel()
    close(oracle.forward_dynamics(q, qd, u), found, 1e-10)  # the oracle solves with a mass matrix of condition 1e4


@pytest.mark.parametrize("factor", [0.4, 1.0, 1.7])
def test_all_kinds_of_numbers_against_points(by_hand, factor):
    """Every number of the arm at once, set by hand in a description that `arm_at` has not seen."""
    assert [x.name for x in by_hand.parameters] == list(GIVEN)
    close(by_hand.p, [LEFT.get(name) if x is None else x for name, x in GIVEN.items()])
    values = {name: factor * (LEFT[name] if x is None else x) for name, x in GIVEN.items()}
    check_against_points(by_hand.at(values), values)


@pytest.mark.parametrize("name", ["base.length", "base.mass", "upper.length", "upper.mass", "fore.length", "fore.mass"])
def test_what_follows_a_number_that_varies_alone(name):
    """A rod's centre and inertia, the mass of a beam given per length, its polar inertia, the modes' damping."""
    model = fa.Model(described(GIVEN), vary=[name])
    given = GIVEN | {name: 1.6 * float(model.p[0])}
    check_against_points(model.at({name: given[name]}), given)


# -- values ------------------------------------------------------------------------------------------------------------

VARIED = ["payload.mass", "EI_1", "fore.length", "upper.rotor_inertia"]


@pytest.fixture(scope="module")
def arm():
    return fa.load("subudhi-morris")


@pytest.fixture(scope="module")
def model(arm):
    return fa.Model(arm, vary=VARIED)


CLOSED = ("closure_gaps", "closure_reactions")
METHODS = {name: taken(name) for name in QUANTITIES if hasattr(fa.Model, name) and name not in CLOSED}
"""Those of arms without closures; test_closures.py has the others."""


@pytest.mark.parametrize("name", METHODS)
def test_machine_code_at_other_values(model, name):
    """At p, of a model at p, and for as many p as states: the same to the last digits as the interpreter's."""
    state = state_of(model)
    q = [state[a] for a in METHODS[name]]
    many = model.p * np.linspace(0.5, 2.0, 11)[:, None]
    call = getattr(model, name)
    expected = [getattr(model.at(p), name)(*q) for p in many]
    found = call(*q, p=many)
    for each, *parts in zip(expected, *(found if isinstance(found, tuple) else [found]), strict=True):
        for mine, other in zip(parts, each if isinstance(each, tuple) else [each], strict=True):
            close(mine, other, 1e-13)
    close(np.array(expected[0]), np.array(call(*q, p=many[0])), 0.0)
    both = call(*(np.stack([x, 2.0 * x]) for x in q), p=many[:, None])
    one = call(*(2.0 * x for x in q), p=many[4])
    close(np.array(both[4, 1] if isinstance(both, np.ndarray) else [x[4, 1] for x in both]), np.array(one), 1e-13)
    if name not in ("energy", "frames", "tip", "mass_matrix", "input_matrix"):
        close(expected[3], quantity(model, name, state, many[3]).ravel() if name != "deflections" else expected[3])


@pytest.mark.parametrize("name", ["state_rate", "state_residual", "frames"])
def test_a_kernel_puts_its_constants_where_they_belong(model, name):
    """Behind u, before the accelerations that an implicit method tries; for one state and for many."""
    other, state = model.at(1.5 * model.p), state_of(model)
    x = np.concatenate([state[a] for a in taken(name)])
    kernel, expected = other.kernel(name), other.evaluate(name, *(state[a] for a in taken(name))).ravel()
    close(kernel.one(x), expected)
    close(kernel.many(np.tile(x, (3, 1)))[2], expected)
    close(kernel.constants_of(np.tile(other.p, (2, 1)))[1], kernel.constants)


def test_values_by_name_or_symbol_in_a_list_or_an_array(model):
    p = model.p * [2.0, 1.0, 1.0, 1.0]
    q = state_of(model)["q"]
    expected = model.mass_matrix(q, p=p)
    for given in ({"payload.mass": p[0]}, {"mP": p[0]}, p.tolist(), p.astype(np.float32).astype(float)):
        close(model.mass_matrix(q, p=given), expected, 1e-7 if isinstance(given, np.ndarray) else 0.0)
    half = model.at({"EI_1": 0.5 * p[1]})
    assert half.at({"mP": p[0]}).p.tolist() == [p[0], 0.5 * p[1], p[2], p[3]]
    assert half.mass_matrix(q, p={"mP": p[0]}).tolist() == half.at({"mP": p[0]}).mass_matrix(q).tolist()


def test_values_are_the_models_own(model):
    """Whoever gave the array, or has read it, changes nothing by writing into it."""
    given = model.p * 1.5
    other, expected = model.at(given), given.copy()
    given[:] = 0.0
    assert other.p.tolist() == expected.tolist()
    with pytest.raises(ValueError, match="read-only"):
        model.p[0] = 7.0


REFUSED = {
    "p has shape (3,); its last axis must have 4 numbers": [1.0, 2.0, 3.0],
    "p has shape (); its last axis must have 4": 1.0,
    "p: payload.mass is nan kg; it must be finite": [np.nan, 1.0, 1.0, 1.0],
    "p: payload.mass is -1.0 kg; it must be positive": {"payload.mass": -1.0},
    "p: upper.EI is 0.0 N m^2; it must be positive": [1.0, 0.0, 1.0, 1.0],
    "p: fore.length is 1e-16 m; it must be at least 1e-15 m in size": [1.0, 1.0, 1e-16, 1.0],
    "p: fore.length is 1e+200 m; it must be at most 1e+15 m in size": [1.0, 1.0, 1e200, 1.0],
    "p: upper.rotor_inertia is -0.1 kg m^2; it must be zero or positive": [1.0, 1.0, 1.0, -0.1],
    "p: the model does not vary 'EI'; varied parameters are payload.mass, upper.EI": {"EI": 1.0},
    "p: mP is 'much'; it must be a number in kg": {"mP": "much"},
    "p is not an array of numbers": "abc",
}


@pytest.mark.parametrize("message", REFUSED)
def test_values_out_of_range_are_refused(model, message):
    for ask in (lambda p: model.mass_matrix(np.zeros(6), p=p), model.arm_at, model.at):
        with pytest.raises(fa.DescriptionError) as error:
            ask(REFUSED[message])
        assert str(error.value).startswith(message)


def test_which_set_of_values_is_refused(model):
    with pytest.raises(fa.DescriptionError, match=r"^p\[1\]: upper.EI is -1.0 N m\^2; it must be positive"):
        model.mass_matrix(np.zeros(6), p=[[1.0] * 4, [1.0, -1.0, 1.0, 1.0]])


def test_one_set_of_values_where_one_model_is_meant(model):
    many = np.tile(model.p, (3, 1))
    for ask in (model.at, model.arm_at, lambda p: model.frequencies(np.zeros(6), p=p)):
        with pytest.raises(fa.DescriptionError, match=r"p has shape \(3, 4\); it must be one set of parameters"):
            ask(many)
    with pytest.raises(fa.DescriptionError, match=r"do not match: q is \(2, 6\), p is \(3, 4\)"):
        model.mass_matrix(np.zeros((2, 6)), p=many)
    with pytest.raises(fa.DescriptionError, match="the model has no varied parameters"):
        fa.Model(model.arm).mass_matrix(np.zeros(6), p=[1.0])


def test_tensors_are_those_of_bodies(by_hand):
    model = fa.Model(by_hand.arm, vary=["base.hub_inertia.xy", "base.gear_ratio"])
    q = np.zeros(len(model.coordinates))
    with pytest.raises(fa.DescriptionError, match=r"p\[1\]: base.hub_inertia has the principal value -.* kg m\^2"):
        model.mass_matrix(q, p=[[0.004, 3.0], [0.06, 3.0]])
    with pytest.raises(fa.DescriptionError, match=r"base.gear_ratio is 0.0; it must be different from zero"):
        model.at({"base.gear_ratio": 0.0})


def test_a_payload_that_is_not_described(arm):
    """From nothing to 5 kg; inertia without mass is none."""
    model = fa.Model(arm.replace(payload=None), vary=["payload.inertia", "payload.mass"])
    assert model.p.tolist() == [0.0, 0.0]
    assert model.arm_at() == model.arm
    state, names = state_of(model), ("inverse_dynamics", "energy")
    rebuilt = fa.Model(model.arm.replace(payload=fa.Payload(mass=5.0, inertia=0.3)))
    fixed = {d.name: d for d in fa.Model(rebuilt.arm, vary=["*"]).parameters}
    assert "upper.y" in fixed["payload.mass"].shapes
    plain = [link.replace(body=link.body.replace(shapes=PLAIN)) for link in arm.links]
    model = fa.Model(arm.replace(payload=None, links=plain), vary=["payload.inertia", "payload.mass"])
    rebuilt = fa.Model(model.arm.replace(payload=fa.Payload(mass=5.0, inertia=0.3)))
    assert model.arm_at([0.3, 5.0]).payload.mass == 5.0
    for name in names:
        close(quantity(model, name, state, [0.3, 5.0]), quantity(rebuilt, name, state))
    for bad in ([0.3, 0.0], [[0.0, 0.0], [0.3, 0.0]]):
        with pytest.raises(fa.DescriptionError, match=r"payload.mass is 0.0 kg; it must be positive where"):
            model.mass_matrix(state["q"], p=bad)


MASS_FOLLOWS = {
    "material": {"material": {"E": 7e10, "density": 2700.0, "poisson": 0.3}, "rotary_inertia": True,
                 "section": {"type": "tube", "outer_diameter": 0.03, "thickness": 0.002}},
    "per length": {"mass_per_length": 1.2, "polar_inertia": 0.01, "EI": 100.0, "GJ": 50.0},
}  # fmt: skip


@pytest.mark.parametrize("beam", MASS_FOLLOWS)
@pytest.mark.parametrize("changed", ["upper.length", "upper.mass", "fore.length", "fore.mass"])
def test_what_varies_beside_a_length_or_a_mass_does_not_follow_it(beam, changed):
    """Of a longer beam of a material the mass is larger; not where the model has the mass as a number of its own."""
    shapes = {"y": "polynomial", "torsion": "polynomial"}
    body = fa.Beam(length=0.8, modes={"y": 1, "torsion": 1}, shapes=shapes, **MASS_FOLLOWS[beam])
    turn, stiff = fa.Revolute(axis=(0.0, 0.6, 0.8)), fa.Rigid(length=0.3, mass=0.2)
    links = [fa.Link(name="upper", joint=turn, body=body), fa.Link(name="fore", joint=turn, body=stiff)]
    arm = fa.Arm(name="two", links=links, gravity=(0.0, 0.0, -9.81))
    model = fa.Model(arm, vary=["*"])
    p = model.at({changed: 1.3 * model.number(changed, 0.0)}).p
    assert_same_as_rebuilt(model, p, ("forward_dynamics", "energy", "tip"))


def test_a_tapered_beams_numbers_have_no_place_in_a_description():
    arm = random_arm(38, links=2, tapered=True)
    tapered = next(link.name for link in arm.links if link.body.type == "beam")
    model = fa.Model(arm, vary=[f"{tapered}.mass", f"{tapered}.length"])
    assert all(x.shapes == () for x in model.parameters)  # clamped-free shapes carry nothing
    with pytest.raises(fa.DescriptionError, match="belongs to a tapered beam, which is described by its sections"):
        model.arm_at(2.0 * model.p)


def test_stiffness_and_mass_of_a_tapered_beam():
    """By what they mean: twice the stiffness and twice the mass have twice the forces and energies."""
    arm = random_arm(38, links=2, tapered=True, gravity=True)
    tapered = next(link for link in arm.links if link.body.type == "beam")
    names = [x.name for x in fa.Model(arm, vary=[f"{tapered.name}.*"]).varied]
    model = fa.Model(arm, vary=[x for x in names if x.split(".")[1] in ("EI", "GJ", "EA")])
    state = state_of(model)
    own = [i for i in arm.flexible if arm.layout[i].link == arm.links.index(tapered)]
    found = [quantity(model, "stiffness_force", state, c * model.p).ravel()[own] for c in (1.0, 2.0)]
    close(found[1], 2.0 * found[0])
    damped = [quantity(model, "damping_force", state, c * model.p).ravel()[own] for c in (1.0, 4.0)]
    close(damped[1], 2.0 * damped[0])


# -- which numbers -----------------------------------------------------------------------------------------------------


def names(arm, *patterns):
    return [x.name for x in fa.Model(arm, vary=list(patterns)).parameters]


def test_patterns(arm):
    assert names(arm, "payload.mass", "upper.EI") == ["payload.mass", "upper.EI"]
    assert names(arm, "EI_*", "payload.mass", "mP", "fore.EI") == ["upper.EI", "fore.EI", "payload.mass"]
    assert names(arm, "fore.*") == ["fore.length", "fore.mass", "fore.EI", "fore.rotor_inertia", "fore.gear_ratio"]
    assert names(arm, "fore.[lm]*") == ["fore.length", "fore.mass"]
    assert names(arm, "upper.damping", "gravity.y") == ["upper.damping", "gravity.y"]  # zero: by name alone
    assert names(arm, "upper.damping_ratio") == ["upper.damping_ratio"]
    assert fa.Model(arm).parameters == () and fa.Model(arm).p.shape == (0,)


def test_what_a_parameter_says(model):
    mass, EI, length, rotor = model.parameters
    assert (mass.symbol, mass.name, mass.value, mass.unit, mass.link) == ("mP", "payload.mass", 0.1, "kg", 0)
    assert (EI.symbol, EI.unit, EI.meaning, EI.link) == ("EI_1", "N m^2", "bending stiffness", 1)
    assert (length.symbol, length.value, rotor.unit) == ("L_2", 0.5, "kg m^2")
    assert model.p.tolist() == [x.value for x in model.parameters]
    assert "4 parameters" in repr(model)


UNKNOWN = {
    "vary: unknown parameter 'nothing*'; the parameters are L_1 (upper.length), m_1 (upper.mass)": ["nothing*"],
    "vary: unknown parameter ''; the parameters are": [""],
    "vary is 'payload.mass'; it must be a list of names": "payload.mass",
    "vary: 3 is not a text": [3],
    "vary: upper.curvature.1.1 cannot vary: it belongs to the mode shapes": ["upper.curvature.1.1"],
    "vary: upper.modal_damping.1.1 cannot vary: it follows from damping_ratio": ["upper.modal_damping.1.1"],
    "vary: upper.joint.axis.x cannot vary: it follows from joint.axis.azimuth": ["upper.joint.axis.x"],
}


@pytest.mark.parametrize("message", UNKNOWN)
def test_what_cannot_vary(arm, message):
    with pytest.raises(fa.DescriptionError) as error:
        fa.Model(arm, vary=UNKNOWN[message])
    assert str(error.value).startswith(message)


def test_a_telescopes_length_cannot_vary():
    with pytest.raises(fa.DescriptionError, match=r"slide.length cannot vary: the range and the shapes of a telescope"):
        fa.Model(fa.load("theodore-ghosal"), vary=["slide.length"])


@pytest.mark.parametrize("name", ["payload", "gravity"])
def test_a_link_may_not_have_the_payloads_name(arm, name):
    links = [arm.links[0].replace(name=name), arm.links[1]]
    with pytest.raises(fa.DescriptionError, match=f"vary: link '{name}' has a reserved name, that of the arm's {name}"):
        fa.Model(arm.replace(links=links), vary=["payload.mass"])


def test_a_gear_ratio_without_a_rotor():
    """It counts once there is a rotor; until then a pattern does not mean it."""
    link = fa.Link(name="a", joint=fa.Revolute(gear_ratio=9.0), body=fa.Rigid(length=1.0, mass=2.0))
    arm = fa.Arm(name="one", links=[link])
    assert "a.gear_ratio" not in names(arm, "a.*")
    model = fa.Model(arm, vary=["a.rotor_inertia", "a.gear_ratio"])
    assert model.p.tolist() == [0.0, 9.0]
    close(model.fixed("mass_matrix")([0.0]), 2.0 / 3.0)
    close(model.function("mass_matrix")([0.0], [0.1, 3.0]), 2.0 / 3.0 + 0.9)


# -- mode shapes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["subudhi-morris", "lin-lewis-rfr", "canadarm", "de-luca-siciliano"])
def test_shapes_follow_what_they_say(name):
    """Where none follows, the rebuilt arm has the same frequencies; where some do, others."""
    model = fa.Model(fa.load(name), vary=["payload.mass", "*.mass", "*.length", "*.EI"])
    q = np.array(model.arm.rest)
    for i, each in enumerate(model.parameters):
        p = model.p * (1.0 + 1.0 * (np.arange(len(model.p)) == i))
        varied, rebuilt = ({k: b.values(np.array([0.3, 0.7])) for k, b in shapes_of(a).items()}
                           for a in (model.arm, model.arm_at(p)))  # fmt: skip
        differ = {k for k in varied if not np.allclose(varied[k], rebuilt[k], rtol=1e-9, atol=1e-9)}
        assert differ == set(each.shapes), each.name
        if not each.shapes:
            M, other = (m.fixed("mass_matrix")(q) for m in (model.at(p), fa.Model(model.arm_at(p))))
            close(np.array(M), np.array(other))


KEPT = {
    ("subudhi-morris", "payload.mass"): (0.5, 5.0, [3e-5, 3e-5, 3e-3]),
    ("subudhi-morris", "fore.length"): (0.5, 2.0, [1e-4, 2e-2, 4e-2]),
    ("de-luca-siciliano", "payload.mass"): (0.5, 5.0, [1e-5, 1e-4, 1e-4]),
    ("de-luca-siciliano", "fore.length"): (0.5, 2.0, [2e-5, 3e-4, 2e-4]),
    ("lin-lewis-rfr", "payload.mass"): (0.5, 5.0, [3e-5]),
    ("lin-lewis-beam", "payload.mass"): (0.5, 5.0, [1e-12, 1e-12]),
    ("canadarm", "hand.length"): (0.5, 2.0, [1e-12] * 3),
}
"""Factors, and how far at most the frequencies with the nominal arm's shapes are from those of the rebuilt one."""


@pytest.mark.parametrize(("name", "number"), KEPT)
def test_frequencies_with_the_nominal_shapes(name, number):
    """The table of docs/do/parameters.md. Where shapes follow the number there is a difference."""
    *factors, most = KEPT[name, number]
    model = fa.Model(fa.load(name), vary=[number])
    q = np.array(model.arm.rest)
    for factor in factors:
        varied = model.at(factor * model.p)
        rebuilt = fa.Model(varied.arm_at()).frequencies(q)[: len(most)]
        error = np.abs(varied.frequencies(q)[: len(most)] / rebuilt - 1.0)
        assert (error <= most).all(), error
        assert (error.max() > 1e-7) == bool(model.parameters[0].shapes)


def test_shapes_that_two_zeros_make_follow():
    """A roll alone turns a straight arm about its axis; with a skew payload beyond it matters."""
    arm = fa.load("subudhi-morris")
    alone, with_payload = (fa.Model(arm, vary=v).parameters[0].shapes for v in (
        ["fore.placement.rpy.roll"], ["fore.placement.rpy.roll", "fore.placement.rpy.yaw", "fore.hub_inertia.xy",
         "fore.hub_inertia.xz", "payload.inertia.yz", "fore.placement.rpy.pitch", "fore.hub_inertia"]))  # fmt: skip
    assert alone == () and with_payload == ("upper.y",)


# -- derivatives -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", [name for name in QUANTITIES if not name.startswith(("prescribed", "tension", "closure"))]
)
def test_slopes_to_parameters(by_hand, name):
    """By central differences over every parameter, scaled to its size; the arm has an elastic joint."""
    state, model = state_of(by_hand), by_hand
    q = [state[a] for a in taken(name)]
    exact = np.array(model.slope(name, "p")(*q)) * model.p
    f = model.function(name)
    value = lambda p: np.array(ca.vec(f(*q, p))).ravel()  # noqa: E731
    for i in range(len(model.p)):
        h = STEP * model.p * (np.arange(len(model.p)) == i)
        difference = (value(model.p + h) - value(model.p - h)) / (2 * STEP)
        scale = max(np.abs(value(model.p)).max(), np.abs(difference).max())
        np.testing.assert_allclose(exact[:, i], difference, rtol=0, atol=DIFFERENCES * scale)


def test_the_last_argument_is_p(model):
    assert model.function("forward_dynamics").name_in() == ["q", "qd", "u", "p"]
    assert fa.Model(model.arm).function("forward_dynamics").name_in() == ["q", "qd", "u"]
    with pytest.raises(fa.DescriptionError, match="argument is 'p'"):
        fa.Model(model.arm).slope("energy", "p")


# -- what is computed once ---------------------------------------------------------------------------------------------


def split(model, name):
    """Operations of an evaluation, and of what is done when p changes."""
    prologue = Prologue(ca.SX.sym("p", len(model.p)))
    x, y = prologue.main(model.function(name))
    main = ca.Function("main", [*x, ca.vertcat(*prologue.w)], y)
    return main, prologue.function()


@pytest.mark.parametrize("kind", ["general", "elastic", "telescope", "foreshortening"])
@pytest.mark.parametrize("name", ["state_rate", "state_residual"])
def test_what_follows_from_p_alone_is_taken_out(kind, name):
    seed, options = KINDS[kind]
    model = fa.Model(random_arm(seed, **options), vary=["*"])
    p, state = far(model.arm, model.varied, seed), state_of(model)
    main, prologue = split(model, name)
    x = [state[a] for a in taken(name)]
    close(np.array(main(*x, prologue(p))), quantity(model, name, state, p))


CHOICES = {
    "masses": ("*.mass",),
    "lengths": ("*.length",),
    "stiffnesses": ("*.EI*", "*.stiffness", "*.GJ", "*.EA"),
    "inertias": ("*inertia*",),
    "places": ("*.placement.xyz.*",),
    "everywhere": ("*.mass", "*.EI", "*.length", "*.rotor_inertia"),
}


def five(name, patterns):
    found = [each for pattern in patterns for each in fnmatch.filter(usual(name), pattern)]
    return [found[i] for i in np.unique(np.linspace(0, len(found) - 1, 5).astype(int))] if found else []


@cache
def usual(name):
    return [x.name for x in fa.Model(ARMS[name](), vary=["*"]).varied]


def wrist(count):
    """Rigid links as those of industrial arms, with offsets: axes along coordinates."""
    axes = ((0, 0, 1), (0, 1, 0), (0, 1, 0), (1, 0, 0), (0, 1, 0), (1, 0, 0), (0, 0, 1))
    body = fa.Rigid(length=0.4, mass=1.2, com=(0.2, 0.03, -0.05), inertia=(0.02, 0.03, 0.04))
    links = [
        fa.Link(name=f"l{i}", joint=fa.Revolute(axis=tuple(map(float, axis)), rotor_inertia=1e-3, gear_ratio=50.0),
                body=body, placement={"xyz": (0.1, -0.07, 0.05)})
        for i, axis in enumerate(axes[:count])
    ]  # fmt: skip
    return fa.Arm(name=f"{count}R", links=links, payload=fa.Payload(mass=0.7, inertia=0.01), gravity=(0.0, 0.0, -9.8))


def skew(count):
    """Rigid links whose axes point anywhere."""
    random = np.random.default_rng(count)
    body = fa.Rigid(length=0.4, mass=1.2, com=(0.2, 0.03, -0.05), inertia=(0.02, 0.03, 0.04))
    links = [
        fa.Link(name=f"l{i}", joint=fa.Revolute(axis=tuple(axis / np.linalg.norm(axis))), body=body,
                placement={"xyz": (0.1, -0.07, 0.05), "rpy": (0.3, -0.4, 0.5)})
        for i, axis in enumerate(random.normal(size=(count, 3)))
    ]  # fmt: skip
    return fa.Arm(name=f"skew {count}R", links=links, gravity=(0.0, 0.0, -9.8))


def slides():
    """Joints that slide and turn, along and about axes that point anywhere or are parallel, with offsets."""
    axes = ((0.6, 0.0, 0.8), (0.0, 0.0, 1.0), (0.0, 0.0, 1.0), (0.0, 0.6, 0.8), (0.0, 0.6, 0.8))
    kinds = (fa.Prismatic, fa.Revolute, fa.Prismatic, fa.Revolute, fa.Revolute)
    body = fa.Rigid(length=0.4, mass=1.2, com=(0.2, 0.03, -0.05), inertia=(0.02, 0.03, 0.04))
    links = [
        fa.Link(name=f"l{i}", joint=kind(axis=axis), body=body, placement={"xyz": (0.1, -0.07 * (i < 3), 0.05)})
        for i, (kind, axis) in enumerate(zip(kinds, axes, strict=True))
    ]
    return fa.Arm(name="slides", links=links, payload=fa.Payload(mass=0.5), gravity=(1.0, 0.0, -9.8))


@pytest.mark.parametrize("arm", [skew(4), slides()], ids=lambda arm: arm.name)
def test_lengths_and_places_between_rigid_links(arm):
    """Frames are chosen where lengths are symbols; each of these moves two joints' axes apart."""
    patterns = ["*.length", "*.placement.xyz.*", "*.com.*", "*.mass"]
    model = fa.Model(arm, vary=patterns)
    p, state = far(arm, model.varied, 3), state_of(model)
    rebuilt = fa.Model(model.arm_at(p))
    for name in ("forward_dynamics", "inverse_dynamics", "mass_matrix", "tip"):
        given = [state[a] for a in taken(name)]
        close(model.evaluate(name, *given, p=p), rebuilt.evaluate(name, *given))


ARMS = {name: lambda name=name: fa.load(name) for name in BUNDLED if name not in ("canadarm-free", "lin-lewis-rfr")}
ARMS |= {"6R": lambda: wrist(6), "slides": slides, "four links": lambda: long_arm(4).arm}


@pytest.mark.parametrize("name", ARMS)
def test_five_numbers_that_vary_cost_little(name):
    """At most 1.3 times the operations of the arm with all numbers fixed; measured are 1.00 to 1.16."""
    arm = ARMS[name]()
    plain = sum(operations(fa.Model(arm).function("state_rate")))
    for choice, patterns in CHOICES.items():
        if chosen := five(name, patterns):
            main, prologue = split(fa.Model(arm, vary=chosen), "state_rate")
            assert sum(operations(main)) <= 1.3 * plain, (choice, chosen)
            assert main.numel_in(main.n_in() - 1) == prologue.numel_out(0)


@pytest.fixture
def built(monkeypatch):
    """How much is compiled and traced from here on."""
    counted = []
    compile_, trace = native_kernel._compile, ca.Function
    monkeypatch.setattr(native_kernel, "_compile", lambda *x: counted.append("compiled") or compile_(*x))
    monkeypatch.setattr(ca, "Function", lambda *x: counted.append("traced") or trace(*x))
    return counted


def everything(model):
    """Numbers from each door that takes a model."""
    q, qd, u = np.full(6, 0.02), np.full(6, 0.1), [0.3, -0.1]
    run = fa.simulate(model, 0.05, q0=q, qd0=qd, u=u, samples=6, progress=False)
    stiff = fa.simulate(model, 0.05, q0=q, qd0=qd, u=u, samples=6, method="radau5", progress=False)
    stepper = fa.Stepper(model, 0.01, np.tile(q, (3, 1)))
    return [
        model.forward_dynamics(q, qd, u),
        model.linearize(q, qd, u, [fa.TipPosition(axes="xy")]).A,
        fa.outputs(model, [fa.Accelerometer(axes="xy")]).values(q, qd, u),
        model.frequencies(q),
        run.tip.values,
        stiff.tip.values,
        np.array([stepper.step(u) for _ in range(3)]),
    ]


def test_nothing_is_built_when_values_change(model, built):
    first = everything(model)
    assert "traced" in built
    built.clear()
    other = everything(model.at(1.5 * model.p))
    assert built == []
    for mine, theirs in zip(first, other, strict=True):
        assert not np.allclose(mine, theirs, rtol=1e-6, atol=1e-9)


def test_a_model_built_again_finds_its_code(model, built):
    model.mass_matrix(np.zeros(6))
    built.clear()
    again = fa.Model(model.arm, vary=VARIED).at(2.0 * model.p)
    close(again.mass_matrix(np.zeros(6)), model.mass_matrix(np.zeros(6), p=2.0 * model.p), 0.0)
    assert "compiled" not in built and "traced" not in built


# -- copies, processes, threads ----------------------------------------------------------------------------------------


def test_copies_and_processes_keep_the_values(model, traced_alone):
    other, q = model.at({"mP": 0.7}), np.full(6, 0.1)
    for made in (copy.deepcopy(other), copy.copy(other), pickle.loads(pickle.dumps(other))):
        assert made.p.tolist() == other.p.tolist() and made.parameters == other.parameters
        close(made.mass_matrix(q), other.mass_matrix(q), 0.0)


def test_threads_have_values_of_their_own(arm, traced_alone):
    model = fa.Model(arm, vary=VARIED)  # nothing built yet
    states = np.random.default_rng(5).uniform(-1, 1, (40, 6))
    values = model.p * np.linspace(0.5, 2.0, 8)[:, None]
    found, together = [None] * 8, threading.Barrier(8, timeout=60)

    def work(k):
        together.wait()
        mine = model.at(values[k])
        found[k] = [(mine.mass_matrix(q), model.mass_matrix(q, p=values[k]), mine.energy(q, q)) for q in states]

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k, results in enumerate(found):
        for q, (mine, other, energy) in zip(states, results, strict=True):
            expected = model.at(values[k])
            close(mine, expected.mass_matrix(q), 0.0)
            close(other, mine, 0.0)
            close(energy, expected.energy(q, q), 0.0)


# -- motion, and what is designed --------------------------------------------------------------------------------------

SLEW = fa.Quintic((0.0, 0.0), (0.4, -0.3), 0.1)
PIECES = fa.Table([0.0, 0.05, 0.1], [[0.0, 0.0], [0.3, -0.1], [0.0, 0.0]])
SAME_RUN = 1e-6  # of the largest value: both keep their error below 1e-9 a step, and may take other steps


@pytest.fixture(scope="module")
def stiff_shapes(arm):
    """The arm with shapes that follow nothing, at other values, and the arm rebuilt with them."""
    links = [link.replace(body=link.body.replace(shapes=PLAIN)) for link in arm.links]
    model = fa.Model(arm.replace(links=links, gravity=(0.0, -9.81, 0.0)), vary=VARIED)
    other = model.at(model.p * [1.7, 1.3, 0.8, 2.0])
    return other, fa.Model(other.arm_at())


METHODS_OF_RUNS = {
    "dop853": {}, "auto": {}, "radau5": {}, "rk4": {"solver": fa.Solver(step=5e-5)}, "radau9": {},
}  # fmt: skip


@pytest.mark.parametrize("method", METHODS_OF_RUNS)
def test_a_run_is_that_of_the_rebuilt_arm(stiff_shapes, method):
    mine, theirs = (
        fa.simulate(m, 0.1, u=PIECES, samples=11, method=method, progress=False, **METHODS_OF_RUNS[method])
        for m in stiff_shapes
    )
    for name in ("q", "qd", "tip", "kinetic", "potential"):
        close(mine[name].values, theirs[name].values, SAME_RUN)
    model = stiff_shapes[0]
    nominal = fa.Model(model.arm, vary=VARIED)
    given = fa.simulate(
        nominal, 0.1, u=PIECES, p=model.p, samples=11, method=method, progress=False, **METHODS_OF_RUNS[method]
    )
    assert given.q.values.tolist() == mine.q.values.tolist()


CONTROLLED = {
    "joint PD": lambda: control.JointPD(SLEW, Kp=40.0, Kd=5.0, gravity=True),
    "LQR": lambda: control.LQR(joints=(0.1, 0.2), bandwidth=10.0),
    "sampled LQR": lambda: control.Sampled(control.LQR(joints=(0.1, 0.2), bandwidth=10.0), 0.005),
    "inverse dynamics": lambda: fa.RigidInverseDynamics(SLEW),
    "prescribed": lambda: fa.PrescribedMotion(SLEW),
    "a function": lambda: control.Sampled(lambda t, q, qd: [-q[0], -qd[-1]], 0.01),
}


@pytest.mark.parametrize("kind", CONTROLLED)
def test_a_controlled_run_is_that_of_the_rebuilt_arm(stiff_shapes, kind):
    """A controller is designed for the model it is given; its memory and the constants stand side by side."""
    runs = [fa.simulate(m, 0.1, u=CONTROLLED[kind](), samples=11, progress=False) for m in stiff_shapes]
    for name in ("q", "u") if "u" in runs[0] else ("q",):
        close(runs[0][name].values, runs[1][name].values, SAME_RUN)


def test_a_controller_keeps_the_model_it_was_given(stiff_shapes):
    """simulate(model, p=p): the arm is another, the design that of the model."""
    model, _ = stiff_shapes
    nominal = fa.Model(model.arm, vary=VARIED)
    law = control.LQR(joints=(0.1, 0.2), bandwidth=10.0)
    found = [
        fa.simulate(nominal, 0.1, u=law, p=model.p, samples=11, progress=False).q.values,
        fa.simulate(model, 0.1, u=law, samples=11, progress=False).q.values,
    ]
    assert not np.allclose(*found, rtol=1e-3, atol=1e-6)


def test_a_stepper_and_what_is_found_about_a_model(stiff_shapes):
    found = []
    for model in stiff_shapes:
        n = len(model.coordinates)
        stepper = fa.Stepper(model, 0.01, np.zeros((9, n)))
        q, u = analysis.equilibrium(model, (0.1, 0.2))
        found.append([
            np.array([stepper.step([0.3, -0.1]) for _ in range(3)]),
            q, u, model.frequencies(q), model.linearize(q, np.zeros(n), u).A,
            analysis.frozen_eigenvalues(model, q[None, :], q[None, :], qdd=q[None, :]),
        ])  # fmt: skip
    for mine, theirs in zip(*found, strict=True):
        for a, b in zip(np.sort_complex(np.ravel(mine)), np.sort_complex(np.ravel(theirs)), strict=True):
            assert abs(a - b) <= SAME_RUN * max(1.0, np.abs(theirs).max())


def test_a_result_says_its_values(stiff_shapes, tmp_path):
    run = fa.simulate(stiff_shapes[0], 0.02, samples=3, progress=False)
    fa.save_result(run, tmp_path / "run.nc")
    again = fa.load_result(tmp_path / "run.nc")
    values = json.loads(again.attrs["parameters"])
    assert list(values) == [x.name for x in stiff_shapes[0].parameters]
    assert list(values.values()) == stiff_shapes[0].p.tolist()
