"""Trees of rigid links on a base that is fixed or free: beside Pinocchio, and beside what MuJoCo said of them.

MuJoCo's numbers stand in helpers/rigid_trees.json, made by helpers/mujoco_trees.py; the two agree to 3e-14.
"""

import json
from pathlib import Path

import numpy as np
import pytest
import rigid_trees
from rigid_trees import Pinocchio, applied, passive, rigid_tree, tree_state

import flexarm as fa

FORCES = 2e-13  # relative to the largest entry, or to 1: some hundred operations; measured 2e-14
ACCELERATIONS = 1e-12  # the same, times the condition of the inertia matrix; measured 4e-14

STORED = json.loads(Path(rigid_trees.__file__).with_suffix(".json").read_text(encoding="utf-8"))["cases"]
TREES = [(seed, seed % 2 == 0) for seed in range(200, 206)]


def assert_close(actual, expected, tolerance=FORCES):
    scale = np.max(np.abs(expected), initial=1.0)
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance * scale)


def quantity(model, name, *arguments):
    """By CasADi's own interpreter: nothing is compiled."""
    return np.array(model.function(name)(*arguments)).squeeze()


def frames_of(model, q):
    """(links + 1, 4, 4)"""
    side_by_side = np.array(model.function("frames")(q))
    return np.moveaxis(side_by_side.reshape(4, -1, 4), 1, 0)


@pytest.mark.parametrize(("seed", "free"), TREES)
def test_equations_of_motion_are_pinocchios(seed, free):
    pin = pytest.importorskip("pinocchio")
    arm = rigid_tree(seed, free)
    theirs, model = Pinocchio(pin, arm), fa.Model(arm)
    q, qd, u = tree_state(arm, seed)
    qdd = np.random.default_rng(seed).normal(size=len(qd))
    assert_close(quantity(model, "mass_matrix", q), theirs.mass_matrix(q))
    assert_close(quantity(model, "bias", q, qd), theirs.bias(q, qd))
    assert_close(quantity(model, "gravity_force", q), theirs.weight(q))
    assert_close(quantity(model, "damping_force", q, qd), theirs.dampers * qd)
    assert_close(quantity(model, "inverse_dynamics", q, qd, qdd), theirs.inverse_dynamics(q, qd, qdd))
    assert_close(quantity(model, "forward_dynamics", q, qd, u), theirs.forward_dynamics(q, qd, u), ACCELERATIONS)
    assert_close(quantity(model, "forward_dynamics_dense", q, qd, u), theirs.forward_dynamics(q, qd, u), ACCELERATIONS)


@pytest.mark.parametrize(("seed", "free"), TREES)
def test_places_and_energies_are_pinocchios(seed, free):
    pin = pytest.importorskip("pinocchio")
    arm = rigid_tree(seed, free)
    theirs, model = Pinocchio(pin, arm), fa.Model(arm)
    q, qd, _ = tree_state(arm, seed)
    assert_close(frames_of(model, q), theirs.frames(q))
    assert_close(quantity(model, "tip", q), theirs.frames(q)[-1])
    kinetic, potential = quantity(model, "energy", q, qd)
    expected = theirs.energy(q, qd)
    assert_close(kinetic, expected[0])
    if free:  # else Pinocchio leaves out what is fixed to the world
        assert_close(potential, expected[1])
        com, p, h = theirs.momentum(q, qd)
        assert_close(quantity(model, "momentum", q, qd), [*p, *(h + np.cross(com, p))])


@pytest.mark.parametrize("case", STORED, ids=lambda case: case["arm"]["name"])
def test_what_mujoco_says(case):
    arm = fa.Arm.from_json(json.dumps(case["arm"]))
    model = fa.Model(arm)
    q, qd, u = (np.array(case[name]) for name in ("q", "qd", "u"))
    assert_close(quantity(model, "mass_matrix", q), case["mass_matrix"])
    assert_close(quantity(model, "bias", q, qd), case["bias"])
    assert_close(quantity(model, "gravity_force", q), case["gravity_force"])
    assert_close(quantity(model, "forward_dynamics", q, qd, u), case["forward_dynamics"], ACCELERATIONS)
    assert_close(frames_of(model, q), case["frames"])
    if arm.free:
        p, h = np.array(case["momentum"]), np.array(case["angular_momentum"])
        assert_close(quantity(model, "momentum", q, qd), [*p, *(h + np.cross(case["com"], p))])


@pytest.mark.parametrize("seed", [200, 204])
def test_a_quaternion_of_another_length_is_the_same_attitude(seed):
    arm = rigid_tree(seed, free=True)
    model, (q, qd, u) = fa.Model(arm), tree_state(arm, seed)
    longer = q.copy()
    longer[3:7] *= 1.3
    for name, *more in (("frames",), ("gravity_force",), ("bias", qd), ("momentum", qd), ("forward_dynamics", qd, u)):
        assert_close(quantity(model, name, longer, *more), quantity(model, name, q, *more), ACCELERATIONS)


@pytest.mark.parametrize("seed", [201, 202, 203])
def test_inputs_are_joints_and_thrusters(seed):
    arm = rigid_tree(seed, free=True)
    q, _, u = tree_state(arm, seed)
    assert_close(quantity(fa.Model(arm), "input_matrix", q) @ u, applied(arm, u))


def test_the_stored_trees_have_everything():
    """Free and fixed, branches, stations and poses on the parent, payloads on several links, rotors, slides."""
    arms = [fa.Arm.from_json(json.dumps(case["arm"])) for case in STORED]
    links = [link for arm in arms for link in arm.links]
    assert {arm.free for arm in arms} == {False, True}
    assert all(arm.parents != tuple(range(-1, len(arm.links) - 1)) for arm in arms)
    assert any(link.at not in (1.0,) and not isinstance(link.at, fa.Pose) for link in links)
    assert any(isinstance(link.at, fa.Pose) for link in links)
    assert max(sum(x is not None for x in arm.payloads) for arm in arms) > 1
    assert {link.joint.type for link in links} == {"revolute", "prismatic", "fixed"}
    assert max(passive(arm)[0].max() for arm in arms) > 0.0
