"""Joints that follow other joints, beside Lagrange's equations with these coordinates eliminated by hand."""

import numpy as np
import pytest
from controlled import refused
from oracle import Lagrangian
from random_arms import random_arm, random_state
from random_trees import random_tree

import flexarm as fa

KINDS = ("chain", "tree", "telescope", "free", "absolute")
CASES = [(seed, kind) for seed in range(3) for kind in KINDS]
NAMES = (
    "mass_matrix",
    "inverse_dynamics",
    "input_matrix",
    "forward_dynamics",
    "forward_dynamics_dense",
    "tip",
    "energy",
)


def column(x):
    return np.array(x).ravel()


def general(seed, kind):
    if kind in ("tree", "free"):
        return random_tree(seed, free=kind == "free", links=5)
    return random_arm(
        seed, links=4, telescope=kind == "telescope", rotor="absolute" if kind == "absolute" else "relative"
    )


def geared(arm, seed):
    """The arm, with all joints free to move, and with half of them following others; and G and c with q = G z + c."""
    rng = np.random.default_rng([seed, 77])
    moving = [link.name for link in arm.links if link.joint.moves]
    can = [x for x in moving if arm[x].joint.type != "telescope"]
    led = [str(x) for x in rng.permutation(can)[: max(1, len(can) // 2)] if len(moving) > 1][: len(moving) - 1]
    free, gears, follows = [], [], {}
    for link in arm.links:
        if link.name not in led:
            free.append(link)
            gears.append(link)
            continue
        joint = link.joint.replace(stiffness=None, spring_damping=0.0)
        others = [x for x in moving if x not in led] + list(follows)
        several = len(others) > 1 and seed != 1
        names = rng.choice(others, 2 if several else 1, replace=False).tolist()
        ratios, offset = rng.uniform(-2, 2, len(names)).tolist(), float(rng.uniform(-0.5, 0.5))
        follows[link.name] = names, ratios, offset
        if several:
            joint = joint.replace(rotor_inertia=0.0)
        free.append(link.replace(joint=joint))
        leaders = {"follows": names, "ratio": ratios} if several else {"follows": names[0], "ratio": ratios[0]}
        gears.append(link.replace(joint=fa.Gear(joint=joint, offset=offset, **leaders)))
    whole, few = arm.replace(links=free), arm.replace(links=gears)
    G, c = np.zeros((len(whole.velocities), len(few.velocities))), np.zeros(len(whole.velocities))
    for j, name in enumerate(few.velocities):
        G[whole.velocities.index(name), j] = 1.0
    for name, (leaders, ratios, offset) in follows.items():
        n, *others = (whole.velocities.index(f"{x}.joint") for x in (name, *leaders))
        G[n], c[n] = np.array(ratios) @ G[others], np.array(ratios) @ c[others] + offset
    return whole, few, G, c


@pytest.mark.parametrize(("seed", "kind"), CASES)
def test_followers_beside_elimination(seed, kind):
    whole, few, G, c = geared(general(seed, kind), seed)
    oracle, model = Lagrangian(whole), fa.Model(few)
    q, qd, u = random_state(whole, seed)
    z = q[[whole.coordinates.index(name) for name in few.coordinates]]
    zd, u = (
        x[[names.index(name) for name in some]]
        for x, names, some in ((qd, whole.velocities, few.velocities), (u, whole.inputs, few.inputs))
    )
    inputs = [whole.inputs.index(name) for name in few.inputs]
    more = model.nq - model.nv  # a quaternion has one coordinate more
    q = np.concatenate([z[: 6 + more], (G @ z[more:] + c)[6:]]) if more else G @ z + c
    qd, qdd = G @ zd, np.random.default_rng(seed).normal(size=model.nv)
    here = {name: model.fixed(name) for name in NAMES}  # without compilation
    M = G.T @ oracle.mass_matrix(q) @ G
    assert np.array(here["mass_matrix"](z)) == pytest.approx(M, rel=1e-11, abs=1e-12 * np.abs(M).max())
    f = G.T @ oracle.inverse_dynamics(q, qd, G @ qdd)
    assert column(here["inverse_dynamics"](z, zd, qdd)) == pytest.approx(f, rel=1e-10, abs=1e-11 * np.abs(f).max())
    B = G.T @ oracle.input_matrix(q)[:, inputs]
    assert np.array(here["input_matrix"](z)) == pytest.approx(B, abs=1e-13)
    expected = np.linalg.solve(M, B @ u - G.T @ oracle.inverse_dynamics(q, qd, 0 * qd))
    for name in ("forward_dynamics", "forward_dynamics_dense"):
        found = column(here[name](z, zd, u))
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-10 * np.abs(expected).max()), name
    assert np.array(here["tip"](z)) == pytest.approx(oracle.tip(q), abs=1e-12)
    assert column(here["energy"](z, zd)) == pytest.approx(oracle.energy(q, qd), rel=1e-11)


ROD = {"type": "rigid", "length": 0.3, "mass": 1.0, "com": (0.15, 0.0, 0.0), "inertia": (0.001, 0.0075, 0.0075)}
ABOUT_Y = {"type": "revolute", "axis": (0.0, 1.0, 0.0)}


def two_rods(**gear):
    """Two rods about parallel axes; the second follows the first."""
    gear = {"type": "gear", "joint": ABOUT_Y, "follows": "a", "ratio": -1.5} | gear
    links = [{"name": "a", "joint": ABOUT_Y, "body": ROD}, {"name": "b", "joint": gear, "body": ROD}]
    return fa.Arm(name="rods", links=links, gravity=(0.0, 0.0, -9.81))


def test_the_mimic_joint_of_a_robot_file():
    """The numbers of cases/field/mimic: 40.12 and -1.5 times 40.12 = -60.18 rad/s^2."""
    model = fa.Model(two_rods())
    assert (model.coordinates, model.inputs) == (("a.joint",), ("a.joint",))
    assert model.forward_dynamics([0.3], [0.0], [0.0]) == pytest.approx([40.12], abs=5e-3)


def test_parts_of_a_following_drive_act_at_the_followed_coordinate():
    """Friction, a brake, stops, a parallel spring, damping and a rotor, by hand at the coordinate of the leader."""
    parts = {
        "link_friction": {"viscous": 0.3, "coulomb": 0.2, "creep_rate": 0.05},
        "stops": {"lower": -1.0, "upper": 1.1, "stiffness": 900.0},
        "parallel": {"stiffness": 7.0, "rest": 0.2},
    }
    joint = ABOUT_Y | {"drive": parts, "damping": 0.4, "rotor_inertia": 0.01, "gear_ratio": 3.0}
    with_parts, bare = fa.Model(two_rods(joint=joint, offset=0.1)), fa.Model(two_rods(offset=0.1))
    other = fa.Model(fa.Arm(name="b", links=[{"name": "b", "joint": joint, "body": ROD}]))
    for q, qd in ((0.2, 0.7), (0.9, -0.4), (-0.8, 0.01)):
        x, v = -1.5 * q + 0.1, -1.5 * qd
        a0, a1 = (other.forward_dynamics([x], [v], [u])[0] for u in (0.0, 1.0))
        torque = a0 / (a1 - a0)  # of the parts, at the joint that follows
        M = bare.mass_matrix([q])[0, 0] + 1.5**2 * 3.0**2 * 0.01
        expected = (bare.mass_matrix([q])[0, 0] * bare.forward_dynamics([q], [qd], [0.0])[0] - 1.5 * torque) / M
        assert with_parts.forward_dynamics([q], [qd], [0.0]) == pytest.approx([expected], rel=1e-11)


def test_a_differential_by_hand():
    """Two side gears and a carrier whose angle is their mean: M = diag(I1, I2) + Ic [1 1; 1 1] / 4."""
    spin = {"type": "revolute", "axis": (1.0, 0.0, 0.0)}
    discs = {name: {"type": "rigid", "length": 0.1, "mass": 1.3, "inertia": (I, 0.4, 0.4)} for name, I in
             {"left": 0.02, "right": 0.03, "carrier": 0.5}.items()}  # fmt: skip
    mean = {"type": "gear", "joint": spin | {"damping": 0.7}, "follows": ["left", "right"], "ratio": [0.5, 0.5]}
    joints = {"left": spin, "right": spin, "carrier": mean}
    links = [{"name": x, "parent": "base", "joint": joints[x], "body": body} for x, body in discs.items()]
    model = fa.Model(fa.Arm(name="differential", links=links))
    M = np.diag([0.02, 0.03]) + 0.5 * np.full((2, 2), 0.25)
    assert model.inputs == ("left.joint", "right.joint")
    assert model.mass_matrix([0.3, -0.2]) == pytest.approx(M, rel=1e-13)
    rates, u = np.array([2.0, -0.5]), np.array([0.4, 0.1])
    expected = np.linalg.solve(M, u - 0.7 * 0.25 * np.ones((2, 2)) @ rates)
    assert model.forward_dynamics([0.3, -0.2], rates, u) == pytest.approx(expected, rel=1e-12)
    assert model.damping_force([0.3, -0.2], rates) == pytest.approx(0.7 * 0.25 * rates.sum() * np.ones(2), rel=1e-13)
    assert fa.Arm.from_json(model.arm.canonical()) == model.arm
    run = fa.simulate(model, until=1.0, u=u, qd0=rates, progress=False)
    assert run.energy_drift < 1e-8


def test_runs_linear_models_and_varied_ratios():
    """Energy balance of a run; slopes beside differences; a ratio that varies beside an arm written with it."""
    arm = two_rods(offset=0.2, joint=ABOUT_Y | {"damping": 0.05})
    run = fa.simulate(arm, until=1.0, q0=[0.3], progress=False)
    assert run.energy_drift < 1e-8 and run["q"].shape[1] == 1
    varied = fa.Model(arm, vary=["b.ratio", "b.offset", "b.damping"])
    other = varied.at({"b.ratio": 0.7, "b.offset": -0.3, "b.damping": 0.2})
    same = fa.Model(two_rods(ratio=0.7, offset=-0.3, joint=ABOUT_Y | {"damping": 0.2}))
    expected = same.forward_dynamics([0.4], [1.2], [0.3])
    assert other.forward_dynamics([0.4], [1.2], [0.3]) == pytest.approx(expected, rel=1e-13)
    _, u = fa.analysis.equilibrium(fa.Model(arm), [0.4])
    assert u == pytest.approx(fa.Model(arm).gravity_force([0.4]), rel=1e-12)


def test_a_gear_inside_a_closed_loop():
    """Three rods end on a slide that follows the first: the gaps stay closed, and the energy balances."""
    links = [
        {"name": "a", "parent": "base", "joint": {"type": "revolute"}, "body": ROD},
        {"name": "b", "joint": {"type": "revolute", "passive": True, "damping": 0.02}, "body": ROD | {"length": 0.5}},
        {"name": "c", "joint": {"type": "revolute", "passive": True}, "body": ROD | {"length": 0.4}},
    ]
    slide = {"type": "gear", "joint": {"type": "prismatic", "axis": (1, 0, 0)}, "follows": "a", "ratio": 0.1}
    links.append({"name": "d", "parent": "base", "joint": slide, "body": ROD, "placement": {"xyz": (0.4, 0.05, 0.0)}})
    pin = {"name": "pin", "link": "c", "to": "d", "place": {"xyz": (0.1, 0.0, 0.0)}, "joint": "revolute"}
    arm = fa.Arm(name="loop", links=links, closures=[pin], gravity=(0.0, -9.81, 0.0))
    q0 = fa.assemble(arm, [1.2, -1.5, -1.0], held=["a.joint"])
    run = fa.simulate(arm, until=0.5, q0=q0, progress=False)
    gaps = fa.Model(arm).closure_gaps(run["q"].values, run["qd"].values)
    assert np.abs(gaps[0]).max() < 1e-9 and run.energy_drift < 1e-7
    assert np.ptp(run["q"].values[:, 0]) > 0.1


def test_followers_that_follow_followers():
    """Ratios multiply, and offsets add up, in any order of the links."""
    third = {"name": "c", "parent": "a", "joint": {"type": "gear", "joint": ABOUT_Y, "follows": "b", "ratio": 0.5,
             "offset": 0.3}, "body": ROD}  # fmt: skip
    arm = two_rods(offset=0.2)
    arm = arm.replace(links=[arm.links[0], third, arm.links[1].replace(parent="c")])
    direct = third | {"joint": third["joint"] | {"follows": "a", "ratio": -0.75, "offset": 0.4}}
    same = arm.replace(links=[arm.links[0], direct, arm.links[2]])
    found, expected = (fa.Model(each).forward_dynamics([0.7], [0.9], [0.1]) for each in (arm, same))
    assert found == pytest.approx(expected, rel=1e-14)
    assert fa.Arm.from_json(arm.canonical()) == arm


@pytest.mark.parametrize(
    ("gear", "said"),
    [
        ({"follows": "x"}, "link 'b': joint.follows is 'x'; it can follow a"),
        ({"follows": "b"}, "link 'b': joint.follows forms a cycle: 'b' follows 'b'"),
        ({"follows": ["a", "a"], "ratio": [1, 2]}, "it must be a name, or a list of at least two different names"),
        ({"follows": ["a", "x"], "ratio": [1, 2]}, "link 'b': joint.follows is 'x'; it can follow a"),
        ({"follows": ["a", "x"]}, "ratio is -1.5; it must have a number for each joint in `follows`"),
        ({"ratio": [1, 2]}, r"ratio is \(1.0, 2.0\); it must have a number for each joint in `follows`"),
        ({"follows": ["a", "x"], "ratio": [1.0, 0.0]}, r"ratio\[1\] is 0.0; it must be different from zero"),
        (
            {"follows": ["a", "c"], "ratio": [1, 2], "joint": ABOUT_Y | {"rotor_inertia": 0.1}},
            "joint.rotor_inertia is 0.1 kg m.2; a joint that follows several cannot have one",
        ),
        ({"ratio": 0.0}, "ratio"),
        ({"joint": {"type": "fixed"}}, "must be Revolute or Prismatic"),
        ({"joint": {"type": "telescope"}}, "must be Revolute or Prismatic"),
        ({"joint": ABOUT_Y | {"stiffness": 5.0, "rotor_inertia": 1.0}}, "stiffness"),
        ({"joint": ABOUT_Y | {"drive": {"motor": {"peak_torque": 1.0}}}}, "motor"),
    ],
)
def test_what_cannot_follow(gear, said):
    with refused(f".*{said}.*"):
        two_rods(**gear)
