"""Bodies that are picked up and released, and tanks that drain, beside hand formulas and Lagrange's equations."""

import json
from functools import cache

import numpy as np
import pytest
from loops import assembled, four_bar, gap_of
from oracle import Lagrangian
from scipy.integrate import solve_ivp
from whole_oracle import pose_rates

import flexarm as fa
from flexarm.errors import DescriptionError, SimulationError
from flexarm.model import payloads
from flexarm.simulation.changes import jump

L, M = 0.7, 1.3
J = M * L**2 / 3
GRIP = {"payload.mass": 0.6}


def run(model, until, **more):
    return fa.simulate(model, until, progress=False, **({"samples": 21} | more))


@cache
def rod(**more):
    link = fa.Link(name="rod", joint=fa.Revolute(), body=fa.Rigid(length=L, mass=M))
    return fa.Model(fa.Arm(name="rod", links=[link], **more), vary=["payload.mass"])


@cache
def satellite():
    """A free base with a beam, an elastic joint, and two branches that grip something."""
    base = fa.FreeBase(mass=20.0, com=(0.1, 0.0, -0.2), inertia=[[3, 0.1, 0], [0.1, 4, 0.2], [0, 0.2, 5]])
    beam = fa.Beam(length=1.5, mass=2.6, EI=30.0, modes={"y": 2, "z": 1}, shapes="polynomial", damping=0.01)
    elastic = fa.Revolute(axis=(0, 1, 0), stiffness=90.0, rotor_inertia=0.02, rotor="absolute")
    links = [
        fa.Link(name="boom", body=beam, placement=fa.Pose(xyz=(0.4, 0.1, 0.0))),
        fa.Link(name="hand", joint=elastic, body=fa.Rigid(length=0.4, mass=0.9)),
        fa.Link(name="hook", parent="boom", at=0.6, body=fa.Rigid(length=0.3, mass=0.4), payload=fa.Payload(mass=0.2)),
    ]
    arm = fa.Arm(
        name="satellite", base=base, links=links, tip="hand", payload=fa.Payload(mass=0.3, inertia=(1e-3,) * 3)
    )
    return fa.Model(arm, vary=["payload.mass", "payload.inertia", "hook.payload.mass", "hand.stiffness"])


def somewhere(model, seed=1):
    rng = np.random.default_rng(seed)
    q, qd = rng.uniform(-0.3, 0.3, model.nq), rng.uniform(-0.8, 0.8, model.nv)
    q[3:7] = rng.normal(size=4)
    q[3:7] /= np.linalg.norm(q[3:7])
    return q, qd


# -- bodies that are picked up and released


@pytest.mark.parametrize("method", ["auto", "rk45", "radau5"])
def test_a_rod_picks_up_a_point_mass_and_releases_it(method):
    changes = [fa.Change(at=0.83, values=GRIP), fa.Change(at=1.5, values={"payload.mass": 0.0})]
    result = run(rod(), 2.0, qd0=[1.5], changes=changes, method=method)
    slow = 1.5 * J / (J + 0.6 * L**2)
    t = result.time.values
    assert np.allclose(result.qd.values[:, 0], np.where(t < 0.83, 1.5, slow), rtol=1e-13)
    assert np.allclose(result.q.values[:, 0], 1.5 * t.clip(max=0.83) + slow * (t - 0.83).clip(min=0), rtol=1e-12)
    lost, gone = J * 1.5**2 / 2 - (J + 0.6 * L**2) * slow**2 / 2, 0.6 * L**2 * slow**2 / 2
    assert np.allclose(result.dissipated, np.where(t < 0.83, 0.0, lost), rtol=1e-12)
    assert np.allclose(result.work, np.where(t < 1.5, 0.0, -gone), rtol=1e-12, atol=1e-15)  # from the right at 1.5 s
    assert result.energy_drift < 1e-13
    first, second = json.loads(result.attrs["changes"])
    assert first["time"] == 0.83 and first["values"] == GRIP and np.isclose(first["lost"], lost, rtol=1e-12)
    assert first["brought"] == 0.0 and second["lost"] == 0.0 and np.isclose(second["brought"], -gone, rtol=1e-12)


def test_a_body_that_moves_brings_its_momentum_and_its_energy():
    """A ball of 0.6 kg hits the tip across the rod, in the field of gravity along it: V = m g L."""
    model = rod(gravity=(-9.81, 0, 0))
    q, none, v = np.zeros(1), np.zeros(0), 2.1
    ball = fa.Change(at=1.0, values=GRIP, velocity=(0.4, v, -0.3), angular_velocity=(1, 2, 3))
    found = jump(model, model.at(GRIP), ball, q, np.array([0.5]), none)
    assert np.isclose(found.qd[0], (J * 0.5 + 0.6 * L * v) / (J + 0.6 * L**2), rtol=1e-13)
    kinetic = 0.6 * (0.4**2 + v**2 + 0.3**2) / 2
    assert np.isclose(found.brought, kinetic + 0.6 * 9.81 * L, rtol=1e-12)
    after = (J + 0.6 * L**2) * found.qd[0] ** 2 / 2
    assert np.isclose(found.lost, J * 0.5**2 / 2 + kinetic - after, rtol=1e-12)
    together = jump(model, model.at(GRIP), ball.replace(impact=False), q, np.array([0.5]), none)
    assert together.qd[0] == 0.5 and together.lost == 0.0


V, W = np.array([0.7, -0.4, 0.9]), np.array([0.3, 1.1, -0.6])


@pytest.mark.parametrize(("owner", "link"), [("payload", 1), ("hook.payload", 2)])
def test_momentum_of_a_tree_on_a_free_base_and_its_body_is_conserved(owner, link):
    """By Lagrange's equations of both arms; the inertia of the payload adds angular momentum."""
    model, (q, qd) = satellite(), somewhere(satellite())
    values = {"payload.mass": 2.5, "payload.inertia": 0.4} if owner == "payload" else {"hook.payload.mass": 1.7}
    after = model.at(values)
    change = fa.Change(at=1.0, values=values, velocity=tuple(V), angular_velocity=tuple(W))
    found = jump(model, after, change, q, qd, np.zeros(0))
    before, later = Lagrangian(model.arm), Lagrangian(after.arm_at())
    pose = before.tips(q)[link]
    R = before.frames(q)[0][:3, :3] @ np.eye(3)
    mass, turning = (2.2, 0.399) if owner == "payload" else (1.5, 0.0)
    R = _rotation(q[3:7])
    brought = np.concatenate([mass * V, turning * W + np.cross(pose[:3, 3] - q[:3], mass * V)])
    brought = np.concatenate([R.T @ brought[:3], R.T @ brought[3:]])
    jumped = later.momentum(q, found.qd) - before.momentum(q, qd)
    assert np.abs(jumped[:6] - brought).max() < 1e-11
    # every other coordinate feels the body's momentum where it moves the tip
    still = jump(model, after, fa.Change(at=1.0, values=values), q, qd, np.zeros(0))
    assert np.abs(later.momentum(q, still.qd) - before.momentum(q, qd)).max() < 1e-11
    assert still.lost > 0 and found.lost > 0
    T = [Lagrangian(model.arm).energy(q, qd)[0], later.energy(q, still.qd)[0]]
    assert np.isclose(still.lost, T[0] - T[1], rtol=1e-10)


def _rotation(e):
    w, x, y, z = e
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


@pytest.mark.parametrize(
    ("values", "link"), [({"payload.mass": 2.5, "payload.inertia": 0.4}, 1), ({"hook.payload.mass": 1.7}, 2)]
)
def test_a_body_that_moves_as_the_tip_changes_no_rate(values, link):
    model, (q, qd) = satellite(), somewhere(satellite(), 2)
    oracle, h = Lagrangian(model.arm), 1e-5
    rates = pose_rates(q, qd)
    a, b = (oracle.tips(q + s * h * rates)[link] for s in (-1, 1))
    turning = (b[:3, :3] - a[:3, :3]) @ oracle.tips(q)[link][:3, :3].T / (2 * h)
    twist = {"velocity": (b[:3, 3] - a[:3, 3]) / (2 * h), "angular_velocity": turning[[2, 0, 1], [1, 2, 0]]}
    change = fa.Change(at=1.0, values=values, **{name: tuple(x) for name, x in twist.items()})
    found = jump(model, model.at(values), change, q, qd, np.zeros(0))
    assert np.abs(found.qd - qd).max() < 1e-8 and abs(found.lost) < 1e-8


def test_a_run_on_a_free_base_keeps_its_momentum_at_a_pick_up_and_its_rates_at_a_release():
    model = satellite()
    q, qd = somewhere(model, 3)
    changes = [
        fa.Change(at=0.2, values={"payload.mass": 1.9, "payload.inertia": 0.05}),
        fa.Change(at=0.3, values={"hook.payload.mass": 0.9}),
        fa.Change(at=0.4, values={"payload.mass": 0.1, "payload.inertia": 1e-3}),
    ]
    accurate = fa.Solver(rtol=1e-13, atol=1e-14)
    result = run(model, 0.5, q0=q, qd0=qd, changes=changes, samples=26, solver=accurate)
    momentum = np.hstack([result.momentum, result.angular_momentum])
    t = result.time.values
    kept = momentum[t < 0.4]
    assert np.abs(kept - kept[0]).max() < 1e-12 * np.abs(model.mass_matrix(q)[:6] * qd).sum(axis=1).max()
    assert np.abs(momentum[-1] - kept[0]).max() > 0.1
    assert result.attrs["momentum_changed_by"] == "changes of parameters" and result.energy_drift < 1e-9
    lost = [each["lost"] for each in json.loads(result.attrs["changes"])]
    assert lost[0] > 0 < lost[1] and lost[2] == 0.0
    # the same by three runs, one after the other
    x, at = (q, qd), 0.0
    parts = [(0.2, {}), (0.1, changes[0].values), (0.1, changes[1].values), (0.1, changes[2].values)]
    for length, values in parts:
        new = model.at(values)
        change = fa.Change(at=1.0, values=values) if values else None
        x = x[0], jump(model, new, change, *x, np.zeros(0)).qd
        model, at = new, at + length
        part = run(model, length, q0=x[0], qd0=x[1], samples=2, solver=accurate)
        x = part.q.values[-1], part.qd.values[-1]
    assert np.abs(result.q.values[-1] - x[0]).max() < 1e-8 and np.abs(result.qd.values[-1] - x[1]).max() < 1e-7


def test_closures_take_part_in_the_impact():
    """The rest of the jump of the momentum is a reaction of the closure, which does no work in any allowed motion."""
    arm = four_bar(flexible=True).replace(gravity=(0.0, 0.0, 0.0), payload=fa.Payload(mass=0.2))
    coupler = arm.links[1].replace(body=arm.links[1].body.replace(shapes="polynomial"))
    arm = arm.replace(links=[arm.links[0], coupler, arm.links[2]])
    model = fa.Model(arm, vary=["payload.mass"])
    q, qd = assembled(arm)
    values = {"payload.mass": 1.4}
    found = jump(model, model.at(values), fa.Change(at=1.0, values=values), q, qd, np.zeros(0))
    before, after = Lagrangian(arm), Lagrangian(model.arm_at(values))
    slopes = before.closures(q, qd)[1]
    left = after.momentum(q, found.qd) - before.momentum(q, qd)
    N = np.linalg.svd(slopes)[2][np.linalg.matrix_rank(slopes, 1e-9) :].T
    assert np.abs(slopes @ found.qd).max() < 1e-12 and np.abs(N.T @ left).max() < 1e-12 < np.abs(left).max()
    result = run(model, 0.6, q0=q, qd0=qd, changes=[fa.Change(at=0.25, values=values)])
    away, opening = gap_of(model, result)
    assert away < 1e-10 and opening < 1e-9 and result.energy_drift < 1e-7
    assert json.loads(result.attrs["changes"])[0]["lost"] > 0


def test_a_joint_that_follows_another_takes_part():
    """One coordinate: the tip moves by t = dr/dq, so that a point mass adds m t . t to the inertia."""
    follows = fa.Gear(joint=fa.Revolute(), follows="a", ratio=-0.7)
    rods = [fa.Rigid(length=length, mass=0.5) for length in (0.6, 0.4)]
    links = [fa.Link(name=x, joint=j, body=b) for x, j, b in zip("ab", (fa.Revolute(), follows), rods, strict=True)]
    model = fa.Model(fa.Arm(name="geared", links=links), vary=["payload.mass"])
    q, v = 0.9, np.array([0.3, -0.8, 0.5])
    along = [0.6 * np.array([-np.sin(q), np.cos(q), 0]), 0.3 * 0.4 * np.array([-np.sin(0.3 * q), np.cos(0.3 * q), 0])]
    t = sum(along)
    inertia = model.mass_matrix(np.array([q]))[0, 0]
    change = fa.Change(at=1.0, values=GRIP, velocity=tuple(v))
    found = jump(model, model.at(GRIP), change, np.array([q]), np.array([1.2]), np.zeros(0))
    assert np.isclose(found.qd[0], (inertia * 1.2 + 0.6 * t @ v) / (inertia + 0.6 * t @ t), rtol=1e-12)


def test_a_run_stops_at_backlash_before_and_after_a_change():
    joint = fa.Revolute(
        rotor_inertia=0.02, stiffness=200.0, drive=fa.Drive(backlash=fa.Backlash(width=0.05, sharp=True))
    )
    link = fa.Link(name="rod", joint=joint, body=fa.Rigid(length=L, mass=M))
    model = fa.Model(fa.Arm(name="loose", links=[link], gravity=(0, -9.81, 0)), vary=["payload.mass"])
    changes = [fa.Change(at=0.2, values=GRIP), fa.Change(at=lambda t, q, qd: -0.3 - q[0], values={"payload.mass": 0.1})]
    result = run(model, 0.5, q0=[0.2, 0.2], changes=changes)
    assert "stopped at" in result.attrs["method_reason"] and result.energy_drift < 1e-8
    assert len(json.loads(result.attrs["changes"])) == 2


def test_a_stiffness_changes_without_a_jump_of_rates():
    model, (q, qd) = satellite(), somewhere(satellite())
    found = jump(
        model, model.at({"hand.stiffness": 10.0}), fa.Change(at=1.0, values={"hand.stiffness": 10.0}), q, qd, []
    )
    assert (found.qd == qd).all() and found.lost == 0.0
    (joint, motor), first = model.arm.springs[0], model.nq - model.nv
    assert np.isclose(found.brought, (10.0 - 90.0) / 2 * (q[first + joint] - q[first + motor]) ** 2, rtol=1e-10)


def test_a_condition_on_the_state_is_met_between_two_samples():
    """The rod grips where its angle is 1 rad, and releases where it is 1.2 rad."""
    changes = [
        fa.Change(at=lambda t, q, qd: q[0] - 1.2, values={"payload.mass": 0.0}),
        fa.Change(at=lambda t, q, qd: q[0] - 1.0, values=GRIP),
    ]
    slow = 1.5 * J / (J + 0.6 * L**2)
    times = [1.0 / 1.5, 1.0 / 1.5 + 0.2 / slow]
    for method in ("auto", "radau5"):
        result = run(rod(), 1.3, qd0=[1.5], changes=changes, samples=5, method=method)
        done = json.loads(result.attrs["changes"])
        assert np.allclose([each["time"] for each in done], times, rtol=1e-12)
        assert [each["values"] for each in done] == [GRIP, {"payload.mass": 0.0}]
        assert np.allclose(result.q.values[-1, 0], 1.2 + slow * (1.3 - times[1]), rtol=1e-12)


def test_controllers_go_on_across_a_change():
    """A sampled controller keeps its clock, and its loop equals the continuous one in the limit."""
    model = rod(gravity=(0, -9.81, 0))
    changes = [
        fa.Change(at=0.2137, values=GRIP),
        fa.Change(at=lambda t, q, qd: t - 0.4561, values={"payload.mass": 0.1}),
    ]
    law = lambda t, q, qd: 60.0 * (0.5 - q) - 8.0 * qd  # noqa: E731
    exact = run(model, 0.5, u=law, changes=changes)
    sampled = run(model, 0.5, u=fa.control.Sampled(law, period=1e-3), changes=changes)
    assert np.abs(exact.q.values - sampled.q.values).max() < 4e-3
    assert exact.energy_drift < 1e-6 and sampled.energy_drift < 1e-6
    assert np.isclose(json.loads(sampled.attrs["changes"])[1]["time"], 0.4561, rtol=1e-9)


def test_many_runs_are_single_runs():
    model = satellite()
    q, qd = somewhere(model, 4)
    changes = [
        fa.Change(at=0.05, values={"payload.mass": 1.9}, velocity=(0.1, 0.0, 0.2)),
        fa.Change(at=lambda t, q, qd: t - 0.08, values={"hook.payload.mass": 0.1}),
    ]
    p = {"hand.stiffness": [80.0, 95.0], "payload.inertia": fa.Table([0.0, 0.1], [0.02, 0.01], "linear")}
    many = fa.simulate_many(model, 0.1, q0=q, qd0=qd, p=p, changes=changes, samples=11, progress=False)
    assert (many.status == "completed").all() and np.isnan(many.momentum_drift).all()
    for r, stiffness in enumerate((80.0, 95.0)):
        alone = run(model, 0.1, q0=q, qd0=qd, p=p | {"hand.stiffness": stiffness}, changes=changes, samples=11)
        for name in ("q", "qd", "kinetic", "potential", "work", "dissipated", "power", "energy_error", "momentum"):
            assert np.allclose(many[name].values[r], alone[name].values, rtol=1e-10, atol=1e-12)


# -- tanks that drain


def rocket(flow, thrust):
    """A tank on a vertical slide, whose jet leaves with 300 m/s against the tank."""
    body = fa.Rigid(length=0.0, mass=2.0, com=(0, 0, 0), inertia=0.1)
    link = fa.Link(name="tank", joint=fa.Prismatic(axis=(0, 0, 1)), body=body, payload=fa.Payload(mass=3.0))
    jet = fa.Force(name="jet", link="tank")
    arm = fa.Arm(name="rocket", links=[link], forces=[jet], gravity=(0, 0, -9.81))
    return fa.Model(arm, vary=["tank.payload.mass"]), {"tank.payload.mass": flow}, {"jet.fz": thrust}


FLOWS = {
    "function": lambda t: 3.0 - 0.4 * t,
    "table": fa.Table([0.0, 6.0], [3.0, 0.6], "linear"),
}


@pytest.mark.parametrize("flow", FLOWS)
@pytest.mark.parametrize("method", ["dop853", "gauss8"])
def test_a_rocket_flies_as_tsiolkovsky_says(flow, method):
    model, p, w = rocket(FLOWS[flow], 0.4 * 300.0)
    result = run(model, 5.0, p=p, w=w, method=method, rtol=1e-10)
    t = result.time.values
    m = 5.0 - 0.4 * t
    v = 300.0 * np.log(5.0 / m) - 9.81 * t
    assert np.abs(result.qd.values[:, 0] - v).max() < 1e-8 * v.max()
    assert np.allclose(result.kinetic.values, m * v**2 / 2, rtol=1e-8)
    assert result.energy_drift < (1e-9 if method == "dop853" else 2e-7)  # with the energy of the mass that has left


def test_a_tank_that_ends_has_a_corner_where_the_run_restarts():
    model, p, w = rocket(fa.Table([0.0, 2.0], [3.0, 1.0], "linear"), fa.Piecewise([0.0, 2.0], [300.0, 0.0]))
    result = run(model, 3.0, p=p, w=w, samples=31, rtol=1e-10)
    assert np.isclose(result.qd.values[-1, 0], 300.0 * np.log(5.0 / 3.0) - 9.81 * 3.0, rtol=1e-9)
    assert result.energy_drift < 1e-8


def test_mass_that_leaves_a_pendulum_takes_its_momentum_with_it():
    """A rod with a tank at its tip in gravity, by its equation of motion with the mass at each time, and an elastic
    drive with a controller's memory in front of it."""
    model = rod(gravity=(0, -9.81, 0))
    flow = lambda t: 0.9 - 0.5 * np.sin(2.0 * t) ** 2  # noqa: E731

    def rate(t, x):
        m = flow(t)
        return [x[1], -9.81 * np.cos(x[0]) * (M * L / 2 + m * L) / (J + m * L**2)]

    by_hand = solve_ivp(rate, (0, 2.0), [0.3, 0.2], rtol=1e-11, atol=1e-12, t_eval=np.linspace(0, 2.0, 21))
    for method in ("auto", "radau5"):
        result = run(model, 2.0, q0=[0.3], qd0=[0.2], p={"mP": flow}, method=method, rtol=1e-9)
        assert np.abs(result.q.values[:, 0] - by_hand.y[0]).max() < 1e-6
        assert result.energy_drift < 1e-7


def test_a_jump_of_a_table_is_no_impact():
    """A Piecewise mass joins with the velocity of the tip, as a change without impact."""
    model, q = rod(gravity=(0, -9.81, 0)), {"q0": [0.4], "qd0": [0.7], "rtol": 1e-10}
    joins = run(model, 1.0, p={"payload.mass": fa.Piecewise([0.0, 0.4], [0.1, 0.6])}, **q)
    change = fa.Change(at=0.4, values=GRIP, impact=False)
    same = run(model, 1.0, p={"payload.mass": 0.1}, changes=[change], **q)
    for name in ("q", "qd", "work", "kinetic", "power"):
        assert np.allclose(joins[name].values, same[name].values, rtol=1e-12, atol=1e-13)
    assert joins.energy_drift < 1e-8


def test_a_tank_on_a_free_base_drains_along_its_own_axis():
    """The base's own mass drains: without forces nothing changes, and all rates stay as they are."""
    base = fa.FreeBase(mass=9.0, inertia=(1.0, 2.0, 3.0))
    wheel = fa.reaction_wheel("wheel", [0, 0, 1], 0.1, mass=0.4)
    model = fa.Model(fa.Arm(name="bus", base=base, links=[wheel]), vary=["base.mass"])
    qd = np.array([0.3, -0.2, 0.5, 0.0, 0.0, 0.7, 0.4])
    result = run(model, 2.0, qd0=qd, p={"base.mass": lambda t: 9.0 - 2.0 * t})
    speed = np.linalg.norm(qd[:3])
    assert np.allclose(np.linalg.norm(result.qd.values[:, :3], axis=1), speed, rtol=1e-10)
    assert np.allclose(result.work, -2.0 * result.time * speed**2 / 2, rtol=1e-7, atol=1e-12)


# -- what is refused

ODD = [fa.Change(at=0.5, values={"payload.mass": 2.0, "payload.inertia": 1e-4})]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"changes": 3}, "changes is 3; it must be a list of fa.Change"),
        (
            {"changes": [fa.Change(at=2.0, values=GRIP)]},
            "changes[0]: at is 2 s; it must be before the end of the run, 1 s",
        ),
        ({"changes": [fa.Change(at=0.5, values={"mass": 1.0})]}, "changes[0]: p: the model does not vary 'mass'"),
        ({"changes": [fa.Change(at=0.5, values={"mP": -1.0})]}, "changes[0]: p: mP is -1.0 kg; it must be positive"),
        ({"changes": ODD}, "changes: payload gains inertia in some directions and loses it in others; release one"),
        ({"changes": [fa.Change(at=lambda t, q, qd: "x", values=GRIP)]}, "changes: at(t, q, qd) gave 'x' at t = 0 s"),
        ({"p": {"mP": lambda t, q, qd: 1.0}}, "p['mP'] is a function of the state; it must be a function of t alone"),
        ({"p": {"mP": fa.Table([0, 1], [[1, 2], [3, 4]])}}, "p['mP'] has 2 columns; it must have one"),
        ({"p": {"mP": lambda t: 0.5 - t}}, "p at t = 0.5 s: p: payload.mass is 0.0 kg; it must be positive"),
        ({"p": {"mass": lambda t: 0.5 - t}}, "p: the model does not vary 'mass'"),
        ({"p": {"mP": lambda t: 1.0, "payload.mass": lambda t: 1.0}}, "p gives payload.mass twice"),
        ({"changes": np.zeros(3)}, "changes is array([0., 0., 0.]); it must be a list of fa.Change"),
        ({"p": {"mP": fa.Table}}, "p['mP'] is <class"),
        (
            {"p": {"mP": lambda t: 1.0}, "changes": [fa.Change(at=0.5, values=GRIP)]},
            "payload.mass is a function of time in p, so that changes cannot set it",
        ),
        (
            {
                "u": fa.PrescribedMotion(fa.MinimumJerk([[0, 0], [1, 1]], [0.0, 1.0])),
                "changes": [fa.Change(at=0.5, values=GRIP)],
            },
            "parameters cannot change in a run with a PrescribedMotion; use a controller",
        ),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(given, message):
    model = satellite() if "u" not in given else _two()
    with pytest.raises(DescriptionError) as refused:
        run(model, 1.0, **given)
    assert str(refused.value).startswith(message) and "\n" not in str(refused.value)


def _two():
    links = [fa.Link(name=x, body=fa.Rigid(length=0.4, mass=0.5)) for x in ("a", "b")]
    return fa.Model(fa.Arm(name="two", links=links, payload=fa.Payload(mass=0.1)), vary=["payload.mass"])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"at": -1.0, "values": GRIP}, "at is -1.0 s; it must be positive"),
        ({"at": lambda t: t, "values": GRIP}, "a function must take t, q and qd"),
        ({"at": 1.0, "values": {}}, "values is {}; it must be a dict of numbers"),
        ({"at": 1.0, "values": {"payload.mass": "1"}}, "values['payload.mass'] is '1'; it must be a number"),
        ({"at": 1.0, "values": GRIP, "velocity": (1, 2)}, "velocity has 2 entries; it must have three"),
        ({"at": 1.0, "values": GRIP, "impact": 1}, "impact is 1; it must be true or false"),
    ],
)
def test_a_change_has_the_right_fields(given, message):
    with pytest.raises(DescriptionError) as refused:
        fa.Change(**given)
    assert message in str(refused.value)


def test_a_change_at_a_time_has_no_condition():
    with pytest.raises(DescriptionError, match=r"at is 0\.1, a time; only a function"):
        fa.Change(at=0.1, values={"payload.mass": 0.1}).value(0.1, np.zeros(2), np.zeros(2))


def test_what_moves_links_must_not_change():
    link = fa.Link(name="rod", joint=fa.Revolute(), body=fa.Rigid(length=L, mass=M))
    moving = fa.Arm(name="rod", links=[link], base=fa.MovingBase())
    for arm, name, message in (
        (rod().arm, "rod.length", "rod.length cannot change in a run, because a change would move parts of the arm"),
        (moving, "payload.mass", "arm 'rod': parameters cannot change in a run on a moving base"),
    ):
        with pytest.raises(DescriptionError) as refused:
            run(fa.Model(arm, vary=[name]), 1.0, changes=[fa.Change(at=0.5, values={name: 0.4})])
        assert str(refused.value).startswith(message)
    with pytest.raises(DescriptionError) as refused:
        run(fa.Model(rod().arm), 1.0, changes=[fa.Change(at=0.5, values=GRIP)])
    assert "choose them by Model(arm, vary=[...])" in str(refused.value)
    with pytest.raises(DescriptionError) as refused:
        fa.simulate_many(rod(), 1.0, runs=2, changes=[fa.Change(at=0.5, values=GRIP)], device="gpu", progress=False)
    assert "parameters cannot change in a run on a graphics processor" in str(refused.value)


def test_a_run_that_fails_after_a_change_names_the_reason():
    """A function of time that fails, after a change."""

    def fails(t):
        return 0.3 if t < 0.5 else 1 / 0

    with pytest.raises(ZeroDivisionError):
        run(rod(), 1.0, p={"payload.mass": fails})
    model = rod(gravity=(0, -9.81, 0))
    with pytest.raises(SimulationError) as stopped:
        run(model, 9.0, u=lambda t, q, qd: 90.0 * qd, qd0=[0.1], changes=[fa.Change(at=0.1, values=GRIP)])
    assert "diverged" in str(stopped.value) and "changes" in stopped.value.result.attrs
    assert np.allclose(payloads.inertia(rod().at(GRIP), "payload"), np.diag([0.6] * 3 + [0.0] * 3))


def test_sensors_of_a_controller_measure_the_arm_with_its_present_payload():
    model, seen = rod(gravity=(0, -9.81, 0)), {}

    def controller(t, y):
        seen[round(t, 3)] = y
        return [0.3]

    sensors = [fa.Accelerometer(link="rod", at=1.0)]
    law = fa.control.Sampled(controller, period=0.01, sensors=sensors)
    flow, change = {"payload.mass": lambda t: 0.9 - 2.0 * t}, {"payload.mass": 0.6}
    for given in ({"p": flow}, {"p": {"payload.mass": 0.1}, "changes": [fa.Change(at=0.055, values=change)]}):
        result = run(model, 0.1, u=law, qd0=[0.8], samples=11, **given)
        for t in (0.02, 0.07, 0.09):
            mass = 0.9 - 2.0 * t if given["p"] is flow else (0.1 if t < 0.055 else 0.6)
            q, qd = (result[name].sel(time=t, method="nearest").values for name in ("q", "qd"))
            expected = fa.outputs(model.at({"payload.mass": mass}), sensors).values(q, qd, u=[0.3])
            assert np.allclose(seen[t], expected, rtol=1e-6)


def test_drives_take_part():
    """A winding's resistance jumps; beside it, bristles and a controller's memory stand between rates and tank."""
    motor = fa.Motor(input="voltage", torque_constant=0.2, resistance=1.5)
    friction = fa.Friction(coulomb=0.3, model="lugre", bristle_stiffness=40.0, bristle_damping=1.0)
    joints = [
        fa.Revolute(rotor_inertia=0.02, gear_ratio=3.0, drive=fa.Drive(motor=motor)),
        fa.Revolute(rotor_inertia=0.02, drive=fa.Drive(friction=friction)),
    ]
    links = [fa.Link(name=x, joint=j, body=fa.Rigid(length=0.4, mass=0.5)) for x, j in zip("ab", joints, strict=True)]
    arm = fa.Arm(name="driven", links=links, payload=fa.Payload(mass=0.4))
    model = fa.Model(arm, vary=["payload.mass", "a.drive.motor.resistance", "b.drive.friction.bristle_stiffness"])
    change = fa.Change(at=0.1, values={"a.drive.motor.resistance": 0.5})
    law = fa.control.JointPD(reference=[0.5, 0.4], Kp=4.0, Kd=0.3, filter=50.0, gravity=False)
    p = {"payload.mass": fa.Table([0.0, 1.0], [0.4, 0.1], "linear")}
    p["b.drive.friction.bristle_stiffness"] = lambda t: 40.0 - 30.0 * t
    result = run(model, 0.3, u=law, p=p, changes=[change], q0=[0.1, 0.7], rtol=1e-10)
    u, qd, t = result.u.values, result.qd.values, result.time.values
    current = (u[:, 0] - 0.2 * 3.0 * qd[:, 0]) / np.where(t < 0.1, 1.5, 0.5)
    assert np.allclose(result.power, u[:, 0] * current + u[:, 1] * qd[:, 1], rtol=1e-9, atol=1e-12)
    assert np.abs(result.drive_state).max() > 1e-3 and result.energy_drift < 1e-8
