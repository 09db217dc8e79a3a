"""Live arms on a free base: the engine in Node is simulate and the package's laws; wheels turn the base."""

import functools
import json

import casadi as ca
import numpy as np
import pytest
from alive import made, run
from javascript import needs_node

import flexarm as fa
from flexarm.attitude import configuration, local
from flexarm.control import LQR, AttitudePD, JointPD
from flexarm.pictures.live import Live
from flexarm.pictures.play import _live, played
from flexarm.pictures.playable import unplayable
from flexarm.pictures.targets import ToTargets, targets
from flexarm.quaternions import quaternion

SAME = 1e-9  # of the largest: the same method and step, rounded in another order
STEPS = 1000
ARMS = ("satellite", "canadarm-bus")
"""With wheels and without."""


@functools.cache
def alive(name):
    return _live(fa.load(name))[2]


def rotor(name, axis, **more):
    """A wheel; or, of another body, something that turns on the base."""
    body = {"type": "rigid", "length": 0.0, "mass": 5.0, "inertia": (0.02, 0.02, 0.02)} | more
    return fa.Link(name=name, parent="base", joint=fa.Revolute(axis=axis), body=body)


def bus(*links, **more):
    given = {"name": "bus", "base": fa.FreeBase(mass=100.0, inertia=(20.0, 30.0, 25.0)), "links": links}
    return fa.Arm(**(given | more))


def state(live, seed=2):
    """A bent arm in motion, its base turned and moved."""
    rng = np.random.default_rng(seed)
    x, v = 0.02 * rng.normal(size=live.model.nv), 0.02 * rng.normal(size=live.model.nv)
    x[:6] += [0.3, -0.2, 0.1, 0.4, -0.3, 0.2]
    x[list(live.arm.joints)] += 0.2
    return configuration(live.arm, x), v


def laws(live):
    """By the page's names: what simulate is given in its place."""
    r = tuple(live.target.tolist())
    wheels = live.led.wheels
    pd = ToTargets(r, live.Kp, live.Kd) if wheels else JointPD(r, live.Kp, live.Kd)
    joints = (live.led.moved @ live.target)[list(live.arm.joints)]
    return {"none": None, "pd": pd, "lqr": LQR(joints=joints, bandwidth=live.pace, wheels=wheels)}


@needs_node
@pytest.mark.parametrize("name", ARMS)
def test_the_motion_is_that_of_simulate(name, tmp_path):
    """Under every controller, the base turned by half a radian: equal but for rounding."""
    live = alive(name)
    if live.led.wheels:
        live = made(live.described, target=np.zeros(3))  # where the LQR of the package holds the base
    q, qd = state(live)
    script = f"""
        return {json.dumps([*laws(live)])}.map((controller) => {{
            live.reset();
            live.use(controller);
            live.y.set({json.dumps([*q, *qd])});
            live.r.set(given.target);
            for (let i = 0; i < {STEPS}; i++) live.step();
            return [live.q.slice(), live.qd.slice(), live.fault];
        }});
    """
    for (law, u), (found_q, found_qd, fault) in zip(laws(live).items(), run(live, script, tmp_path), strict=True):
        h, given = live.step, {"method": "rk4", "samples": 2, "progress": False}
        expected = fa.simulate(live.model, h * STEPS, u=u, q0=q, qd0=qd, solver=fa.Solver(step=h), **given)
        assert fault == ""
        for got, wanted in ((found_q, expected.q.values[-1]), (found_qd, expected.qd.values[-1])):
            np.testing.assert_allclose(got, wanted, rtol=0, atol=10 * SAME * np.abs(wanted).max(), err_msg=law)
        assert np.abs(expected.qd.values[-1] - qd).max() > 1e-3


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_wheels_turn_the_base_as_attitude_pd_does(axis):
    """About one axis the error of AttitudePD is 2 sin(turn / 2), that of the page the turn: else they are one law."""
    live = alive("satellite")
    Kp, Kd, turned = np.array([3.0, 4.0, 5.0]), np.array([20.0, 30.0, 40.0]), 0.6
    names = tuple(f"{wheel}.joint" for wheel in live.led.wheels)
    x, v = np.zeros(live.model.nv), np.zeros(live.model.nv)
    x[3 + axis], v[3:6] = turned, [0.01, -0.02, 0.03]
    found, expected = (
        fed(live.plain, c, x, v) for c in (ToTargets((0.0, 0.0, 0.0), Kp, Kd), AttitudePD(Kp, Kd, names))
    )
    rates = Kd * v[3:6]
    assert found - rates == pytest.approx((expected - rates) * turned / (2 * np.sin(turned / 2)), rel=1e-12, abs=1e-12)
    assert found[axis] > 0  # the wheel takes up what the base is to lose


def fed(model, controller, x, v):
    """u of a controller at local coordinates and rates."""
    u, _ = controller.law(model).expression(0.0, ca.DM(x), ca.DM(v), ca.DM.zeros(0))
    return np.array(ca.evalf(ca.SX(u))).ravel()


@needs_node
def test_the_base_arrives_where_its_wheels_are_told(tmp_path):
    """In the attitude of the turns told about the axes together, under PD and LQR; momentum stays nothing."""
    live = alive("satellite")
    r = [0.4, -0.3, 0.5]
    script = f"""
        return ["pd", "lqr"].map((controller) => {{
            live.reset();
            live.set("damping", 0.1);
            live.use(controller);
            live.aim({r});
            live.advance(90);
            return [live.q.slice(), live.qd.slice(), live.seen().slice(), live.aimed().there.slice()];
        }});
    """
    for q, qd, seen, there in run(live, script, tmp_path):
        assert q[3:7] == pytest.approx(quaternion(r), abs=2e-3)
        assert seen == pytest.approx(r, abs=4e-3)
        assert there[3:7] == pytest.approx(quaternion(r), abs=1e-12)
        model = live.model.at(live.sliders[2].at(live.model.p, 0.1))
        momentum = model.momentum(np.array(q), np.array(qd))
        wheels = 0.04 * np.abs(np.array(qd)[-3:]).max()
        assert np.abs(momentum).max() < 1e-6 * max(wheels, 1.0)


@needs_node
def test_a_push_is_a_force_on_the_tip_along_the_worlds_axes(tmp_path):
    """M (qdd with it - qdd without) = J' f, and momentum grows as it says."""
    live = alive("canadarm-bus")
    q, qd = state(live)
    f = [3.0, -5.0, 7.0]
    script = f"""
        live.use("none");
        live.y.set({json.dumps([*q, *qd])});
        const at = (force) => programs(force);
        const programs = (force) => {{
            live.programs.motion(live.q, live.qd, [0, 0, 0], force, live.p, live.out.motion);
            return [live.out.motion.qdd.slice(), live.out.motion.power.slice()];
        }};
        const found = [at([0, 0, 0]), at({f})];
        live.force.set({f});
        const before = live.q.slice(), rates = live.qd.slice(), energy = live.balance();
        live.advance(0.05);
        const drift = (live.balance() - energy) / live.energies()[0];
        return [found, before, rates, live.q.slice(), live.qd.slice(), live.time, drift];
    """
    ((none, _), (some, power)), q0, v0, q1, v1, time, drift = run(live, script, tmp_path)
    J = np.array(live.model.slope("tip", 0)(q))[12:15]
    M = live.model.mass_matrix(q)
    np.testing.assert_allclose(M @ (np.array(some) - none), J.T @ f, rtol=0, atol=1e-8 * np.abs(J.T @ f).max())
    assert power[2] == pytest.approx(f @ J @ qd, rel=1e-9)
    gained = live.model.momentum(np.array(q1), np.array(v1)) - live.model.momentum(np.array(q0), np.array(v0))
    np.testing.assert_allclose(gained[:3], np.array(f) * time, rtol=1e-5)  # RK4's, with fast modes bent
    assert abs(drift) < 1e-6


@needs_node
def test_the_tip_is_aimed_from_where_the_base_is(tmp_path):
    """A place that the arm reaches from its moved and turned base; wheels turn the base towards one."""
    live = alive("canadarm-bus")
    q, _ = state(live)
    r = np.array([0.5, -0.7, 0.4])
    at = configuration(live.rigid.arm, np.concatenate([local(live.arm, q)[:6], r]))
    place = live.rigid.tip(at)[:3, 3]
    script = f"""
        live.q.set({json.dumps(q.tolist())});
        const left = live.aimTip({place.tolist()});
        return [left, live.aimed().place, live.aimed().there];
    """
    left, tip, there = run(live, script, tmp_path)
    assert left < 1e-3 and tip == pytest.approx(place, abs=1e-3)
    assert there[:7] == pytest.approx(q[:7], abs=1e-12)
    assert live.plain.tip(np.array(there))[:3, 3] == pytest.approx(tip, abs=1e-12)

    satellite = alive("satellite")
    place = satellite.plain.tip(satellite.led.standing(np.array([0.0, 0.3, -0.2])))[:3, 3]
    (tmp_path / "wheels").mkdir()
    script = f"const left = live.aimTip({place.tolist()}); return [left, live.aimed().place];"
    left, tip = run(satellite, script, tmp_path / "wheels")
    assert left < 1e-3 and tip == pytest.approx(place, abs=1e-3)


def test_a_wheel_is_what_turns_on_the_base_and_changes_nothing():
    """Not a rotor off its axis, nor one of unlike inertias, nor one on an arm, nor anything on a base that stands."""
    z = (0, 0, 1)
    assert targets(fa.Model(bus(rotor("w", z)))).wheels == ("w",)
    assert targets(fa.Model(bus(rotor("w", z, com=(0.1, 0.0, 0.0))))).wheels == ()
    assert targets(fa.Model(bus(rotor("w", z, inertia=(0.02, 0.03, 0.02))))).wheels == ()
    assert targets(fa.Model(bus(rotor("w", z, inertia=(0.03, 0.03, 0.02))))).wheels == ("w",)
    boom = fa.Link(name="boom", joint=fa.Revolute(axis=z), body=fa.Rigid(length=1.0, mass=2.0))
    riding = rotor("w", z).replace(parent="boom")
    assert targets(fa.Model(bus(boom, riding))).wheels == ()
    assert targets(fa.Model(bus(rotor("w", z), base=None))).wheels == ()


@needs_node
@pytest.mark.parametrize("count", [2, 4])
def test_any_number_of_wheels_leads_the_base(count, tmp_path):
    """Two turn it about their axes; of four, about the sides of a pyramid, together all three."""
    axes = np.array([[1.0, 1, 1], [-1, 1, 1], [-1, -1, 1], [1, -1, 1]])[:count] / np.sqrt(3)
    base = fa.FreeBase(mass=100.0, inertia=25.0)  # of a ball: it turns about the axis of the torque
    live = made(bus(*(rotor(f"w{i}", tuple(a)) for i, a in enumerate(axes)), base=base), target=np.zeros(count))
    wanted = np.array([0.2, -0.1, 0.3]) if count == 4 else 0.3 * axes.sum(axis=0)
    r = (axes @ wanted).tolist()
    script = f"live.use('pd'); live.aim({r}); live.advance(60); return [live.q, live.seen()];"
    q, seen = run(live, script, tmp_path)
    assert seen == pytest.approx(r, abs=1e-3)
    assert q[3:7] == pytest.approx(quaternion(wanted), abs=1e-3)


@needs_node
def test_thrusters_are_off_and_wheels_with_an_arm_work_together(tmp_path):
    """A boom is swung while wheels hold the bus; what the page leaves out it says."""
    push = fa.Thruster(name="push", direction=(1, 0, 0), at=(0, 0.5, 0))
    boom = fa.Link(name="boom", parent="base", joint=fa.Revolute(axis=(0, 0, 1)), body=fa.Rigid(length=1.0, mass=5.0))
    arm = bus(*(rotor(n, tuple(a)) for n, a in zip("abc", np.eye(3).tolist(), strict=True)), boom)
    arm = arm.replace(base=arm.base.replace(thrusters=(push,)))
    live = Live(arm, np.array(arm.rest), np.zeros(4))
    assert live.led.names == ("base (a)", "base (b)", "base (c)", "boom") and len(live.arm.inputs) == 4
    script = "live.use('pd'); live.aim([0, 0, 0, 1]); live.advance(60); return [live.q, live.seen(), given.off];"
    q, seen, off = run(live, script, tmp_path)
    assert off == ["push"]
    assert seen == pytest.approx([0, 0, 0, 1], abs=1e-3) and q[3:7] == pytest.approx([1, 0, 0, 0], abs=1e-3)


def test_what_a_page_does_not_follow_is_said_in_a_line():
    boom = fa.Link(name="boom", joint=fa.Revolute(axis=(0, 0, 1)), body=fa.Rigid(length=1.0, mass=5.0))
    arm = bus(boom)
    assert unplayable(arm) == ""
    orbit = arm.replace(base=arm.base.replace(orbit=fa.Orbit(rate=1e-3)))
    with pytest.raises(fa.DescriptionError, match=r"has base.orbit, which the live page .* a base without orbit$"):
        played(orbit)
    push = fa.Thruster(name="push", direction=(1, 0, 0))
    alone = bus(links=[boom.replace(joint=fa.Fixed())], base=arm.base.replace(thrusters=(push,)))
    with pytest.raises(fa.DescriptionError, match=r"^play: arm 'bus' has no actuated joint, which the live"):
        played(alone)


def test_a_scenario_says_start_target_and_gains():
    """satellite-pd begins turned; its target is rest, for the turn of the base where there are wheels."""
    live = _live("satellite-pd")[2]
    assert live.q[3:5] == pytest.approx([0.9396926207859084, 0.3420201433256687])
    assert live.led.at(live.q) == pytest.approx([np.radians(40), 0, 0])
    assert live.target == pytest.approx([0, 0, 0])
    slew = _live("canadarm-bus")[2]
    assert slew.led.wheels == () and slew.target.shape == (3,)


THRUSTER = fa.Thruster(name="push", direction=(1, 0, 0), at=(0, 0.5, 0))


def booms(*more, **given):
    """Two links, and what else stands on the bus."""
    z = (0, 0, 1)
    links = [fa.Link(name=n, joint=fa.Revolute(axis=z), body=fa.Rigid(length=1.0, mass=5.0)) for n in ("upper", "fore")]
    return bus(links[0].replace(parent="base"), links[1].replace(parent="upper"), *more, tip="fore", **given)


def lived(arm, **given):
    return _live(fa.Scenario(name="s", arm=arm, until=5.0, **given))[2]


def test_without_a_reference_the_joints_stay_where_the_scenario_starts():
    """They stand one further on in q than in qd; a turned base shall come to rest, and a wheel's angle is nothing."""
    turned = {"base.qw": 0.8, "base.qz": 0.6}
    live = lived(booms(), initial={"q": {"upper.joint": 0.3, "fore.joint": 0.9, **turned}})
    assert live.target.tolist() == [0.3, 0.9]
    with_wheel = booms(rotor("w", (0, 0, 1)))
    live = lived(with_wheel, initial={"q": {"upper.joint": 0.3, "fore.joint": 0.9, "w.joint": 50.0, **turned}})
    assert live.target.tolist() == [0.3, 0.9, 0.0]
    assert live.led.at(live.q) == pytest.approx([0.3, 0.9, 2 * np.arctan2(0.6, 0.8)])


def test_what_a_controller_holds_is_the_target():
    """The attitude that it is to have, seen by the wheels; the joints of an LQR. A wrong one is a line."""
    wheel = booms(rotor("w", (0, 0.6, 0.8)), rotor("x", (1, 0, 0)))
    pd = {"type": "attitude-pd", "Kp": 8.0, "Kd": 50.0, "actuators": ["w.joint", "x.joint"]}
    live = lived(wheel, controller=pd | {"attitude": quaternion(np.array([0.1, 0.2, 0.3])).tolist()})
    assert live.target == pytest.approx([0.0, 0.0, 0.6 * 0.2 + 0.8 * 0.3, 0.1])
    with pytest.raises(fa.DescriptionError, match=r"^AttitudePD: attitude is \[1\.0, 1\.0\]; it must be a unit"):
        lived(wheel, controller=pd | {"attitude": [1.0, 1.0]})
    held = {"type": "lqr", "joints": [0.4, -0.2, 0.0, 0.0], "wheels": ["w", "x"]}
    assert lived(wheel, controller=held).target.tolist() == [0.4, -0.2, 0.0, 0.0]
    with pytest.raises(fa.DescriptionError, match=r"^play: controller\.joints has 1 number"):
        lived(wheel, controller=held | {"joints": [0.4]})


def test_gains_are_those_of_joints():
    """Thrusters, which are off, have none; for a wheel's angle they are not those of the base's turn."""
    move = {"type": "quintic", "start": [0.0, 0.0], "end": [0.6, 0.3], "duration": 2.0}
    pd = {"type": "joint-pd", "Kp": 100.0, "Kd": 30.0}
    live = lived(booms(base=booms().base.replace(thrusters=(THRUSTER,))), reference=move, controller=pd)
    assert live.Kp.tolist() == [100.0, 100.0] and live.Kd.tolist() == [30.0, 30.0]
    more = {**move, "start": [0.0, 0.0, 0.0], "end": [0.6, 0.3, 300.0]}
    live, usual = (lived(booms(rotor("w", (0, 0, 1))), reference=more, **given) for given in ({"controller": pd}, {}))
    assert live.target.tolist() == [0.6, 0.3, 0.0] and live.Kp.tolist() == usual.Kp.tolist() and live.Kp[2] > 1000


def test_a_joint_behind_a_telescope_is_turned_aside_from_rest():
    slide = fa.load("theodore-ghosal").links[2].replace(parent=None, name="slide")
    slide = slide.replace(body=slide.body.replace(modes={"y": 1}))
    hand = fa.Link(name="hand", joint=fa.Revolute(), body=fa.Rigid(length=0.3, mass=1.0))
    live = _live(bus(slide, hand, gravity=(0, 0, 0)))[2]
    assert live.target == pytest.approx([0.6 * 1.3, 0.4])


@needs_node
def test_a_wheel_behind_a_spring_is_a_joint(tmp_path):
    """Through the spring a base's turn cannot be held by gains of a rigid body: its motor's angle is led."""
    spring = fa.Revolute(axis=(0, 0, 1), stiffness=50.0, rotor_inertia=1e-3, gear_ratio=10.0)
    live = made(booms(rotor("w", (0, 0, 1)).replace(joint=spring)), target=np.zeros(3))
    assert live.led.wheels == () and live.led.names == ("upper", "fore", "w")
    script = "live.use('pd'); live.aim([0.4, 0.3, 0.2]); live.advance(60); return [live.seen(), live.fault];"
    seen, fault = run(live, script, tmp_path)
    assert fault == "" and seen == pytest.approx([0.4, 0.3, 0.2], abs=0.01)


def test_wheels_cannot_be_told_to_turn_the_base_by_half_a_turn():
    """Two that stand 11 degrees apart would: told opposite things they make ten times as much of them."""
    axes = [(1.0, 0.0, 0.0), (np.cos(0.2), np.sin(0.2), 0.0)]
    for wheels in (axes, np.eye(3).tolist(), [(0, 0, 1)]):
        led = targets(fa.Model(bus(*(rotor(f"w{i}", tuple(a)) for i, a in enumerate(wheels)))))
        low, high = led.ranges
        corners = np.array(np.meshgrid(*zip(low, high, strict=True))).reshape(len(wheels), -1)
        assert np.linalg.norm(led.moved[3:6] @ corners, axis=0).max() <= np.pi
        assert high.max() == (pytest.approx(np.pi / 3) if wheels is not axes else pytest.approx(0.313, abs=1e-3))


@needs_node
def test_a_wheel_may_turn_and_a_base_drift_as_far_as_they_like(tmp_path):
    live = alive("satellite")
    wheel = live.model.coordinates.index("wheel-x.joint")
    script = f"live.y[{wheel}] = 1e8; live.y[0] = 1e7; live.step(); const fault = live.fault; live.y[{{}}] = 1e7;"
    script = script.format(live.model.nq) + " live.step(); return [fault, live.fault];"
    assert run(live, script, tmp_path) == ["", "The motion ran away."]


def test_coupled_joints_are_refused_in_a_line():
    coupling = fa.Coupling(links=["upper", "fore"], matrix=[[1, 0], [1, 1]])
    with pytest.raises(fa.DescriptionError, match=r"^play: arm 'bus' has coupled joints, .*; use couplings=\(\)$"):
        played(booms(couplings=[coupling]))


@needs_node
def test_one_axis_is_held_where_the_wheels_turn_it(tmp_path):
    """Two about x, beside a boom that stands askew: the LQR keeps the turn about x, not what comes with it."""
    z, x = (0, 0, 1), (1, 0, 0)
    boom = fa.Link(name="boom", joint=fa.Revolute(axis=z), body=fa.Rigid(length=2.0, mass=4.0))
    live = made(bus(boom, *(rotor(n, x).replace(parent="base") for n in "ab"), tip="boom"), target=np.full(3, 0.4))
    script = "live.use('lqr'); live.aim([0.3, 0.2, 0.2]); live.advance(60); return live.seen();"
    assert run(live, script, tmp_path) == pytest.approx([0.3, 0.2, 0.2], abs=1e-3)
