"""Passive joints: coordinates without an input, beside the same arm with an idle actuator."""

import numpy as np
import pytest
from compared import values, vector
from controlled import refused
from random_arms import random_arm, random_state
from random_trees import random_tree

import flexarm as fa
from flexarm.analysis import convergence, equilibrium
from flexarm.exports.lumped import lumped
from flexarm.trajectory import TipCompensated


def with_passive(arm, some):
    """The arm with the joints of some links passive."""
    links = [link.replace(joint=link.joint.replace(passive=True)) if link.name in some else link for link in arm.links]
    return arm.replace(links=links)


def pendulum(gravity=9.81, passive=True, rigid=False):
    """A driven rod, which carries a passive one that bends, unless it is rigid."""
    beam = fa.Beam(length=0.9, mass_per_length=0.6, EI=40.0, modes={"y": 2}, damping=0.01)
    beam = fa.Rigid(length=0.9, mass=0.8) if rigid else beam
    return fa.Arm(
        name="pendulum",
        gravity=(0.0, -gravity, 0.0),
        links=[
            fa.Link(name="one", joint=fa.Revolute(damping=0.1), body=fa.Rigid(length=0.7, mass=1.3)),
            fa.Link(name="two", joint=fa.Revolute(damping=0.2, passive=passive), body=beam),
        ],
    )


CASES = [(0, "chain"), (3, "chain"), (1, "tree"), (2, "tree"), (2, "telescope"), (3, "telescope"), (0, "free")]
CASES += [(3, "free")]


@pytest.mark.parametrize(("seed", "kind"), CASES)
def test_a_passive_joint_moves_as_one_with_an_idle_actuator(seed, kind):
    if kind in ("tree", "free"):
        arm = random_tree(seed, elastic=False, **({"free": True} if kind == "free" else {}))
    else:
        arm = random_arm(seed, elastic=False, telescope=kind == "telescope")
    names = [link.name for link in arm.links if link.joint.moves]
    some = names[seed % 2 :: 2] or names
    loose = with_passive(arm, some)
    q, qd, u = random_state(arm, seed)
    idle = [i for i, name in enumerate(arm.inputs) if name.split(".joint")[0] in some]
    left = [i for i in range(len(u)) if i not in idle]
    u[idle] = 0.0
    assert loose.inputs == tuple(arm.inputs[i] for i in left) and loose.coordinates == arm.coordinates
    assert len(loose.driven) + len(some) == len(loose.joints) == len(arm.driven)
    here, there = fa.Model(loose), fa.Model(arm)
    expected = vector(there, "forward_dynamics", q, qd, u)
    assert vector(here, "forward_dynamics", q, qd, u[left]) == pytest.approx(expected, rel=1e-11, abs=1e-11)
    assert np.array_equal(values(here, "input_matrix", q), values(there, "input_matrix", q)[:, left])


def test_parts_of_a_passive_drive_act():
    """Friction, a brake, stops and a parallel spring, as beside an idle actuator."""
    parts = {
        "link_friction": {"viscous": 0.3, "coulomb": 0.2, "creep_rate": 0.05},
        "brake": {"holding": 3.0},
        "stops": {"lower": -1.0, "upper": 1.1, "stiffness": 900.0},
        "parallel": {"stiffness": 7.0, "rest": 0.2},
    }
    arms = [
        arm.replace(links=[arm.links[0], arm.links[1].replace(joint=arm.links[1].joint.replace(drive=parts))])
        for arm in (pendulum(), pendulum(passive=False))
    ]
    q, qd, w = [0.3, 1.2, 0.01, 0.002], [1.0, -2.0, 0.1, 0.3], [0.4]
    loose, driven = map(fa.Model, arms)
    assert loose.exogenous == driven.exogenous == ("two.brake.engaged",)
    s = np.full(len(loose.states), 0.001)
    found, expected = (
        model.forward_dynamics(q, qd, u, s=s, w=w) for model, u in ((loose, [0.7]), (driven, [0.7, 0.0]))
    )
    assert found == pytest.approx(expected, rel=1e-13)
    assert np.abs(found - loose.forward_dynamics(q, qd, [0.7], s=0 * s, w=[0.0])).max() > 1.0


def test_frequencies_with_the_drives_held_are_those_of_a_pendulum():
    """The passive rod swings about the held joint: omega^2 = m g (l/2) / (m l^2 / 3), as long as it hardly bends."""
    model = fa.Model(pendulum(rigid=True))
    down = [-np.pi / 2, 0.0]
    assert model.frequencies(down) == pytest.approx([np.sqrt(1.5 * 9.81 / 0.9)], rel=1e-12)
    assert model.frequencies([np.pi / 2, 0.0]) == pytest.approx([-np.sqrt(1.5 * 9.81 / 0.9)], rel=1e-12)


def test_an_equilibrium_leaves_the_passive_joint_hanging():
    model = fa.Model(pendulum())
    for held in ("drives", "joints"):
        q, u = equilibrium(model, [-1.2], held=held)
        assert q[0] + q[1] == pytest.approx(-np.pi / 2, abs=1e-12) and q[0] == -1.2
        assert u == pytest.approx([(1.3 / 2 + 0.6 * 0.9) * 9.81 * 0.7 * np.cos(1.2)], rel=1e-12)


def test_lqr_holds_the_passive_rod_upright():
    """About a whole configuration; the joints alone would leave the rod hanging."""
    model = fa.Model(pendulum(rigid=True))
    up = [1.4, np.pi / 2 - 1.4]
    law = fa.control.LQR(up, bandwidth=3.0)
    run = fa.simulate(model, 6.0, u=law, q0=np.add(up, [0.01, -0.03]), progress=False)
    assert run.q.values[-1] == pytest.approx(up, abs=2e-3)
    assert law.law(model).facts["poles"].real.max() < -0.1
    with refused(r"LQR: joints has 3 numbers; it must have 1: one\.joint, or 2 for a whole configuration"):
        law = fa.control.LQR([0.3, 0.2, 0.1], bandwidth=3.0).law(model)


def test_a_controller_of_the_joints_moves_those_with_an_actuator():
    model = fa.Model(pendulum())
    slew = fa.Quintic([0.0], [0.8], duration=1.5)
    run = fa.simulate(model, 4.0, u=fa.control.JointPD(slew, Kp=60.0, Kd=9.0, gravity=False), rtol=1e-8, progress=False)
    assert run.u.shape == (len(run.time), 1) and list(run.joint.values) == ["one.joint"]
    assert run.q_ref.values[-1] == pytest.approx([0.8]) and abs(run.energy_drift) < 1e-6
    many = fa.simulate_many(model, 1.0, u=[[0.3], [0.7]], progress=False)
    alone = fa.simulate(model, 1.0, u=[0.7], progress=False)
    assert many.q.values[1, -1] == pytest.approx(alone.q.values[-1], abs=1e-6)


@pytest.mark.parametrize(
    "law",
    [
        fa.control.JointPD([0.0], Kp=9.0, Kd=2.0),
        fa.control.ComputedTorque([0.0], Kp=9.0, Kd=2.0),
        fa.control.Composite([0.0], Kp=9.0, Kd=2.0),
    ],
)
def test_controllers_that_need_all_actuators_say_so(law):
    with refused(r"arm 'pendulum': the joint of link 'two' is passive; .* needs an actuator at each joint"):
        law.law(fa.Model(pendulum()))


def test_functions_that_need_all_actuators_say_so():
    slew = fa.Quintic([0.0], [0.8], duration=1.5)
    with refused(".* is passive; TipCompensated needs an actuator at each joint"):
        TipCompensated(slew, fa.Model(pendulum(gravity=0.0)), axes="x")
    with refused(".* is passive; rigid inverse dynamics needs an actuator at each joint"):
        fa.simulate(pendulum(), 0.1, u=fa.RigidInverseDynamics(slew))
    with refused(r"StrainRate: the joint of link 'two' has no actuator"):
        inner = fa.control.JointPD([0.0], Kp=9.0, Kd=2.0, gravity=False)
        fa.control.StrainRate(inner, link="two", K=0.1).law(fa.Model(pendulum()))
    with refused(r".* is 'two', whose joint has no drive; links with a drive are one"):
        pendulum().replace(forces=[{"name": "kick", "link": "two", "kind": "drive"}])
    with refused(r".* is 'two'; its joint is passive"):
        pendulum().replace(couplings=[{"links": ["one", "two"], "matrix": [[1, 0], [1, 1]]}])


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"stiffness": 90.0, "rotor_inertia": 1e-3}, "stiffness"),
        ({"drive": {"spring": {"stiffness": 3.0}}, "rotor_inertia": 1e-3}, r"drive\.spring"),
        ({"drive": {"motor": {"torque_limit": 3.0}}}, r"drive\.motor"),
    ],
)
def test_a_passive_joint_has_no_motor(more, field):
    with refused(rf"Revolute: {field} is given, but a passive joint has no motor and no transmission; .*"):
        fa.Revolute(passive=True, **more)


def test_a_passive_joint_in_a_file(tmp_path):
    arm = pendulum()
    arm.save(tmp_path / "arm.toml")
    assert "passive = true" in (tmp_path / "arm.toml").read_text()
    assert fa.load(tmp_path / "arm.toml") == arm
    assert "revolute, passive about" in arm._repr_html_()


def test_a_lumped_equivalent_keeps_it_passive():
    with refused(r"convergence: arm 'pendulum': a motion has no stiffness there, .* at a passive joint; .*"):
        convergence(pendulum(), q=[-1.5, 0.0, 0.0, 0.0])
    equivalent = lumped(pendulum(), 2)
    assert [x.name for x in equivalent.arm.links if x.joint.moves and not x.joint.actuated][:1] == ["two"]
