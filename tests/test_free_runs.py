"""Runs of arms on a free base: every method, momenta, the quaternion's length, ensembles, steppers, results, laws."""

from functools import cache
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest

import flexarm as fa
from flexarm import attitude, control, quaternions
from flexarm.errors import LargeDeflection
from flexarm.model.local import localized
from flexarm.native.kernel import Kernel
from flexarm.scenario import Scenario
from flexarm.simulation import methods, solvers
from flexarm.simulation.diagnosis import motion_names
from flexarm.simulation.explicit import Explicit
from flexarm.simulation.implicit import Implicit
from flexarm.simulation.layout import RIDING, Layout
from flexarm.simulation.momenta import kept
from flexarm.simulation.rhs import Plan, loops
from flexarm.trajectory.reference import Still, positions

OURS = ("generalized-alpha", "gauss4", "gauss8", "radau5", "radau9")

# -- by hand: a rigid base with a mass on a spring that slides along its x axis ----------------------------------------

BUS, SLIDER, SPRING = 3.0, 0.8, 40.0
J = np.array([[0.5, 0.02, 0.0], [0.02, 0.7, 0.03], [0.0, 0.03, 0.9]])
NQ, NV = 8, 7


@cache
def by_hand(pull: float, held: float = 1.0, spring: float = SPRING, damper: float = 0.0) -> tuple[Kernel, Kernel]:
    """Rates (N v, v', powers) and residual (force - M v' - ..., N v, powers) from Kirchhoff's equations.

    p' = p x w and h' = h x w + p x v for the momenta p, h = dT/d(v, w) along the base's axes. A spring of stiffness
    `pull` holds the base's origin at the world's. The quaternion's length goes back to 1 at the rate 2 `held`.
    """
    q, v, a = ca.SX.sym("q", NQ), ca.SX.sym("v", NV), ca.SX.sym("a", NV)
    z, e, x = q[:3], q[3:7], q[7]
    r = ca.vertcat(x, 0.1, -0.2)
    u = v[:3] + ca.cross(v[3:6], r) + ca.vertcat(v[6], 0, 0)
    T = 0.5 * (BUS * ca.dot(v[:3], v[:3]) + ca.dot(v[3:6], ca.mtimes(ca.DM(J), v[3:6])) + SLIDER * ca.dot(u, u))
    p = ca.gradient(T, v)
    M = ca.jacobian(p, v)
    w = ca.SX(v[3:6])
    n = ca.dot(e, e)
    s, t = e[0], e[1:]
    R = ((s * s - ca.dot(t, t)) * ca.SX.eye(3) + 2 * ca.mtimes(t, t.T) + 2 * s * ca.skew(t)) / n
    turning = ca.vertcat(-ca.dot(t, w), s * w + ca.cross(t, w)) / 2 + held * (1 - n) * e
    poses = ca.vertcat(ca.mtimes(R, v[:3]), turning)
    force = ca.vertcat(
        ca.cross(p[:3], w) - pull * ca.mtimes(R.T, z),
        ca.cross(p[3:6], w) + ca.cross(p[:3], v[:3]),
        ca.gradient(T, x) - spring * x - damper * v[6],
    ) - ca.jtimes(p, x, v[6])
    none = ca.SX.zeros(2)
    rate = ca.Function("rate", [q, v], [ca.vertcat(poses, v[6], ca.solve(M, force), none)])
    residual = ca.Function("residual", [q, v, a], [ca.vertcat(force - ca.mtimes(M, a), poses, none)])
    name = f"a slider on a free body {(pull, held, spring, damper)}"
    return Kernel(f"{name}, rate", lambda: rate), Kernel(f"{name}, residual", lambda: residual)


LAYOUT = Layout(NQ, NV, pose=7)
START = np.concatenate([[0.2, -0.1, 0.3], quaternions.quaternion(np.array([0.4, -1.0, 0.7])), [0.15],
                        [0.3, -0.2, 0.1, 1.1, -0.6, 0.8, -0.4], [0.0, 0.0]])  # fmt: skip


def solved(
    method: str,
    until: float,
    count: int,
    step: float = 0.0,
    pull: float = 0.0,
    rtol: float = 1e-9,
    start: np.ndarray = START,
    **by: float,
) -> np.ndarray:
    """States (count, NQ + NV) of the slider on its free body."""
    implicit = method in solvers.IMPLICIT
    kernel = by_hand(pull, **by)[implicit]
    plan = Plan(kernel.code.addresses["evaluate"], NQ + NV, 0, len(RIDING), kernel.code, NV if implicit else 0)
    plan.feed(loops().addresses["nothing"])
    times, atol = np.linspace(0.0, until, count)[1:], np.full(LAYOUT.size, 1e-2 * rtol)
    if implicit:
        stepping = Implicit(solvers.IMPLICIT[method], plan, LAYOUT, rtol, atol, step)
        found = solvers.integrate_implicit(stepping, plan, 0.0, start, times)
    else:
        found = Explicit(solvers.EXPLICIT["dop853"], plan, rtol, atol)(0.0, start, times)
    assert len(found.x) == len(times), found.message
    return np.vstack([start, found.x])[:, : NQ + NV]


def momenta(x: np.ndarray) -> np.ndarray:
    """Momentum and angular momentum (..., 6) in the world's axes, about its origin."""
    R = quaternions.rotation(x[:, 3:7])
    r, v, w = np.column_stack([x[:, 7], 0.1 + 0 * x[:, 7], -0.2 + 0 * x[:, 7]]), x[:, 8:11], x[:, 11:14]
    u = v + np.cross(w, r) + x[:, 14:15] * [1.0, 0.0, 0.0]
    p, h = BUS * v + SLIDER * u, w @ J.T + SLIDER * np.cross(r, u)
    p, h = np.einsum("tij,tj->ti", R, p), np.einsum("tij,tj->ti", R, h)
    return np.hstack([p, h + np.cross(x[:, :3], p)])


@pytest.mark.parametrize("pull", [0.0, 30.0])
@pytest.mark.parametrize("name", OURS)
def test_implicit_methods_on_a_free_body_are_of_their_order(name: str, pull: float) -> None:
    order = {"generalized-alpha": 2, "gauss4": 4, "gauss8": 8, "radau5": 5, "radau9": 9}[name]
    counts = {2: (200, 400, 800), 4: (100, 200, 400), 8: (12, 18, 27), 5: (50, 100, 200), 9: (12, 16, 24)}[order]
    exact = solved("dop853", 1.0, 2, pull=pull, rtol=1e-13)[-1]
    tight = 1e-13 if order > 2 else 1e-10
    errors = [np.abs(solved(name, 1.0, 2, 1.0 / k, pull, tight)[-1] - exact).max() for k in counts]
    observed = np.log(errors[0] / errors[-1]) / np.log(counts[-1] / counts[0])
    assert observed > order - 0.6, errors


@pytest.mark.parametrize("name", OURS)
@pytest.mark.parametrize("stiff", [{"pull": 1e9}, {"spring": 1e9}, {"damper": 1e6}, {"pull": 1e9, "spring": 1e9}])
def test_newtons_matrix_knows_where_a_force_comes_from(name: str, stiff: dict[str, float]) -> None:
    """Of the base's place, of the slider's place and of its rate: where it were in another column, Newton's iteration
    would find nothing with a step of a hundred periods."""
    still = START.copy()
    still[[0, 1, 2, 7, 8, 9, 10, 14]] = 0.0
    x = solved(name, 0.5, 26, 0.005, rtol=1e-6, start=still, **stiff)
    assert np.abs(np.linalg.norm(x[:, 3:7], axis=1) - 1.0).max() < 1e-3
    assert np.abs(x[:, :3]).max() < (1e-3 if "pull" in stiff else 1.0)
    assert np.abs(x[:, 7]).max() < (1e-3 if "spring" in stiff or "damper" in stiff else 1.0)


def test_the_exact_motion_keeps_momenta() -> None:
    x = solved("dop853", 5.0, 51, rtol=1e-12)
    assert np.abs(momenta(x) - momenta(x)[0]).max() < 1e-10


@pytest.mark.parametrize(("name", "order"), [("gauss4", 4), ("gauss8", 8)])
def test_gauss_methods_keep_the_quaternions_length(name: str, order: int) -> None:
    """|e|^2 is a quadratic invariant of e' = N(e) w alone: kept to what Newton's iteration leaves, with any step.

    With the term that leads the length back to 1, which has a part of its own in each stage, it is kept to the order of
    the method, and does not drift.
    """

    def away(step: float, held: float) -> np.ndarray:
        e = solved(name, 40.0, 401, step, rtol=1e-12, held=held)[:, 3:7]
        return np.abs(np.linalg.norm(e, axis=1) - 1.0)

    assert max(away(0.1, 0.0).max(), away(0.02, 0.0).max()) < 2e-13
    long, short = away(0.1, 1.0), away(0.05, 1.0)
    assert long.max() / short.max() > 0.5 * 2**order
    assert long[200:].max() < 2.0 * long[:201].max()


def test_the_length_that_radaus_method_takes_from_a_quaternion_comes_back() -> None:
    """Left alone it is lost step by step; with the term it wavers about 1."""
    left, held = (np.linalg.norm(solved("radau5", 40.0, 401, 0.1, rtol=1e-12, held=x)[:, 3:7], axis=1) for x in (0, 1))
    assert np.abs(held - 1.0).max() < 0.1 * np.abs(left - 1.0).max()
    assert np.abs(held - 1.0)[200:].max() < 2.0 * np.abs(held - 1.0)[:201].max()


def test_any_length_of_the_quaternion_goes_back_to_one() -> None:
    x = solved("dop853", 6.0, 61, rtol=1e-11)
    start = np.concatenate([x[0, :3], 1.2 * x[0, 3:7], x[0, 7:], [0.0, 0.0]])
    rate = by_hand(0.0)[0]
    e = rate.one(start[: NQ + NV])[3:7]
    assert e @ start[3:7] == pytest.approx((1.0 - 1.44) * 1.44, rel=1e-12)


# -- a satellite: a panel that bends, and an arm on an elastic joint that slews ----------------------------------------

THRUSTERS = (
    fa.Thruster(name="roll", direction=(1, 0, 0), kind="torque"),
    fa.Thruster(name="push", direction=(0, 0.6, 0.8), at=(0.3, 0.1, 0.0)),
)
BASE = fa.FreeBase(mass=40.0, com=(0.02, -0.01, 0.03), inertia=(4.0, 5.0, 6.0), thrusters=THRUSTERS)


def satellite(**given: Any) -> fa.Arm:
    """Two branches on a free base; 11 coordinates, 10 rates."""
    panel = fa.Link(
        name="panel",
        parent="base",
        placement=fa.Pose(xyz=(0.0, 0.5, 0.0), rpy=(0.1, 0, np.pi / 2)),
        joint=fa.Fixed(),
        body=fa.Beam(length=2.0, mass=3.0, EI=60.0, modes={"y": 1, "z": 1}, shapes="polynomial", damping=0.01),
    )
    upper = fa.Link(
        name="upper",
        parent="base",
        placement=fa.Pose(xyz=(0.4, 0, 0.1), rpy=(0.2, 0.3, 0)),
        joint=fa.Revolute(axis=(0, 0, 1), stiffness=300.0, spring_damping=0.5, rotor_inertia=0.05, damping=0.1),
        body=fa.Rigid(mass=5.0, length=1.0, com=(0.5, 0, 0), inertia=0.5),
    )
    return fa.Arm(name="satellite", **{"base": BASE, "links": [panel, upper], **given})


@pytest.fixture(scope="module")
def model() -> fa.Model:
    return fa.Model(satellite())


Q0 = np.concatenate([[0.1, 0.2, -0.3], quaternions.quaternion(np.array([0.3, -0.5, 0.9])), [0.4, 0.01, -0.02, 0.42]])
V0 = np.array([0.02, -0.01, 0.03, 0.3, -0.2, 0.4, -0.5, 0.0, 0.1, -0.4])
QUIET: dict[str, Any] = {"progress": False, "samples": 41}


def run(model: fa.Model, until: float = 3.0, u: Any = None, **given: Any) -> Any:
    """From the tilted, turning start."""
    return fa.simulate(model, until, u, **{"q0": Q0, "qd0": V0, **QUIET, **given})


def far(a: Any, b: Any) -> float:
    """Largest difference of coordinates and rates."""
    return max(float(np.abs(a[x].values - b[x].values).max()) for x in ("q", "qd"))


@pytest.fixture(scope="module")
def exact(model: fa.Model) -> Any:
    return run(model, solver=fa.Solver(method="dop853", rtol=1e-12, atol=1e-13))


def test_a_layout_knows_what_is_the_pose(model: fa.Model) -> None:
    layout = Layout.of(model, memory=2)
    assert (layout.nq, layout.nv, layout.pose, layout.inner) == (11, 10, 7, 13)
    assert layout.unknowns == 7 + 10 + 2 and layout.size == 11 + 10 + 2 + 2
    assert (layout.q, layout.qd, layout.z) == (slice(0, 11), slice(11, 21), slice(21, 23))
    held = Layout.of(fa.Model(satellite(base=None)))
    assert (held.nq, held.nv, held.pose, held.inner, held.unknowns) == (4, 4, 0, 0, 4)


@pytest.mark.parametrize(
    "method", [*(name for name in solvers.names() if name not in ("euler", "midpoint", "rk3")), "auto"]
)
def test_every_method_gives_the_same_motion(model: fa.Model, exact: Any, method: str) -> None:
    given: dict[str, Any] = {
        "rk4": {"solver": fa.Solver(step=5e-4)},
        "generalized-alpha": {"solver": fa.Solver(step=1e-4)},
    }.get(method, {})
    found = run(model, method=method, rtol=1e-9, **given)
    assert far(found, exact) < (1e-4 if method == "generalized-alpha" else 3e-7)
    assert np.abs(np.linalg.norm(found.q.values[:, 3:7], axis=1) - 1.0).max() == found.attrs["quaternion_drift"] < 1e-9


@pytest.mark.parametrize("method", ["dop853", "radau9", "gauss8", "rk4"])
def test_what_nothing_acts_on_keeps_momenta(model: fa.Model, method: str) -> None:
    given = {"solver": fa.Solver(step=1e-3)} if method == "rk4" else {"rtol": 1e-11, "solver": fa.Solver(atol=1e-13)}
    found = run(model, 5.0, method=method, **given)
    attrs = found.attrs
    assert attrs["momentum_drift"] < 1e-10 and attrs["angular_momentum_drift"] < 1e-10
    assert attrs["quaternion_drift"] < 1e-11
    assert np.ptp(found.momentum.values, axis=0).max() < 1e-10 * attrs["momentum_scale"] * 1.001
    both = model.momentum(found.q.values, found.qd.values)
    assert (found.momentum.values == both[:, :3]).all() and (found.angular_momentum.values == both[:, 3:]).all()
    assert np.linalg.norm(both[0, :3]) < attrs["momentum_scale"] < 10 * np.linalg.norm(both[0, :3])


def test_a_drift_is_a_share_of_what_rates_bring() -> None:
    """Of a base alone that drifts by, 48 kg with its panel and arm stretched out, and turns as one body."""
    model = fa.Model(satellite())
    q, v = np.array([[30.0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]] * 50), np.zeros((50, 10))
    v[:, 0] = 2.0
    q[:, 0] += np.linspace(0, 10, 50)
    both = model.momentum(q, v)
    across = np.abs(both[0, 3:] - np.cross(q[0, :3], both[0, :3])).max()  # the moment about the base's origin
    off = both.copy()
    off[20:, 1] += 1e-3
    off[40:, 5] -= 2e-3
    found = kept(model, q, v, both), kept(model, q, v, off)
    assert found[0]["momentum_scale"] == pytest.approx(48 * 2.0) == both[0, 0]
    assert found[0]["angular_momentum_scale"] == pytest.approx(across + 40.0 * 48 * 2.0)
    assert found[0]["momentum_drift"] < 1e-15 and found[0]["angular_momentum_drift"] < 1e-13
    assert found[1]["momentum_drift"] == pytest.approx(1e-3 / found[1]["momentum_scale"])
    assert found[1]["angular_momentum_drift"] == pytest.approx(2e-3 / found[1]["angular_momentum_scale"])
    v[40:, 5] = 0.3  # it begins to turn
    assert kept(model, q, v, both)["angular_momentum_scale"] > found[0]["angular_momentum_scale"]


@pytest.mark.parametrize("moving", [0, 40 * 16, 40 * 32])
def test_the_scale_of_momentum_is_looked_for_from_the_first_time_to_the_last(moving: int) -> None:
    """33 of 1281 times are looked at, and the base drifts by at one of these alone."""
    model = fa.Model(satellite())
    q, v = np.array([[0.0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]] * 1281), np.zeros((1281, 10))
    v[moving, 0] = 2.0
    assert kept(model, q, v, np.zeros((1281, 6)))["momentum_scale"] == pytest.approx(48 * 2.0)


@pytest.mark.filterwarnings("ignore::flexarm.errors.EnergyDrift")
def test_a_method_with_steps_too_long_is_seen_by_its_momenta(model: fa.Model) -> None:
    attrs = run(model, 2.0, solver=fa.Solver(method="rk4", step=0.02)).attrs
    assert 1e-8 < attrs["momentum_drift"] < 1e-2 and 1e-8 < attrs["angular_momentum_drift"] < 1e-2


def test_the_joint_exchanges_momentum_with_the_base(model: fa.Model) -> None:
    """A torque inside turns the base the other way: the satellite that stood still has no momentum ever."""
    found = run(model, 2.0, fa.bang_bang((4.0, 0.0, 0.0), 0.5), q0=None, qd0=None, method="dop853", rtol=1e-10)
    assert found.attrs["momentum_drift"] < 1e-9 and found.attrs["angular_momentum_drift"] < 1e-9
    assert np.abs(found.qd.sel(velocity="base.wz").values).max() > 0.01
    assert np.abs(found.momentum.values).max() < 1e-8 and np.abs(found.energy_error.values).max() < 1e-8


def test_thrusters_and_forces_change_momenta_by_what_they_give() -> None:
    """Of the thruster R f and its moment about the world's origin, of the force f at the tip; integrated by Simpson."""
    push = fa.Force(name="pull", link="upper")
    model = fa.Model(satellite(forces=[push]))
    u, w = np.array([0.5, 0.8, 1.5]), np.array([0.6, -0.4, 0.3])
    found = run(model, 2.0, u, w=w, samples=2001, solver=fa.Solver(method="dop853", rtol=1e-11, atol=1e-12))
    assert found.attrs["momentum_changed_by"] == "thrusters, forces"
    assert "momentum_drift" not in found.attrs and found.attrs["quaternion_drift"] < 1e-11
    q = found.q.values
    R, p = quaternions.rotation(q[:, 3:7]), q[:, :3]
    thrust, at = 1.5 * np.array([0.0, 0.6, 0.8]), np.array([0.3, 0.1, 0.0])
    force = R @ thrust + w
    moment = R @ (np.cross(at, thrust) + [0.8, 0.0, 0.0]) + np.cross(p, R @ thrust) + np.cross(found.tip.values, w)
    weights = np.ones(2001)
    weights[1:-1:2], weights[2:-1:2] = 4.0, 2.0
    weights *= 2.0 / 2000 / 3
    for name, given in (("momentum", force), ("angular_momentum", moment)):
        gained = found[name].values[-1] - found[name].values[0]
        assert gained == pytest.approx(weights @ given, abs=1e-8)
    assert found.attrs["energy_drift"] < 1e-9 and np.abs(found.work.values).max() > 0.1
    assert found.work.values[-1] == pytest.approx(weights @ found.power.values, abs=1e-6)


@pytest.mark.parametrize("acts", [
    {"gravity": (0, 0, -1.0)},
    {"contacts": [fa.Contact(name="wall", link="upper", normal=(1, 0, 0), point=(-9, 0, 0), stiffness=1e3)]},
    {"struts": [fa.Strut(link="upper", point=(1, 0, 0), stiffness=1.0)]},
])  # fmt: skip
def test_the_audit_says_what_acts(acts: dict[str, Any]) -> None:
    attrs = run(fa.Model(satellite(**acts)), 0.2, save=fa.SaveAt(keep=["q", "momentum"])).attrs
    assert attrs["momentum_changed_by"] == next(iter(acts)) and "momentum_drift" not in attrs


def test_what_acts_between_two_samples_alone_is_no_drift() -> None:
    """A thruster, or a push, for a millisecond; one after the run's end is none."""
    model, off = fa.Model(satellite(forces=[fa.Force(name="pull", link="upper")])), np.zeros(3)
    pulse = ([0.0125, 0.0135], [[0.0, 0.0, 90.0], off])
    table = fa.Table([0.012, 0.013, 0.014], [off, [0.0, 0.0, 90.0], off], kind="linear")
    later = fa.Piecewise([0.5], [[0.0, 0.0, 1.0]])
    for u, w, by in (
        (fa.Piecewise(*pulse), None, "thrusters"),
        (table, None, "thrusters"),
        (off, {"pull.fx": fa.Piecewise(pulse[0], [9.0, 0.0])}, "forces"),
        (later, None, None),
    ):
        given = {"samples": 11, "save": fa.SaveAt(keep=["momentum"]), "progress": False}
        found, many = fa.simulate(model, 0.1, u, w=w, **given), fa.simulate_many(model, 0.1, u=u, w=w, runs=1, **given)
        assert found.attrs.get("momentum_changed_by") == by
        assert np.isnan(many.momentum_drift.values[0]) == (by is not None)
        assert ("momentum_drift" in found.attrs) == (by is None)
        assert (np.abs(found.momentum.values[-1]).max() > 1e-3) == (by is not None)


def test_gravity_gives_all_the_momentum_that_a_falling_satellite_gains() -> None:
    model = fa.Model(satellite(gravity=(0.3, 0, -1.0)))
    found = run(model, 2.0, rtol=1e-11, method="dop853")
    gained = found.momentum.values - found.momentum.values[0]
    assert gained == pytest.approx(48.0 * np.outer(found.time.values, [0.3, 0, -1.0]), abs=1e-8)
    assert found.attrs["energy_drift"] < 1e-9


# -- drives with states, sharp contacts, telescopes --------------------------------------------------------------------


def driven(**drive: Any) -> fa.Model:
    """A satellite whose rigid joint has such a drive."""
    link = satellite().links[1]
    joint = fa.Revolute(axis=(0, 0, 1), drive=fa.Drive(**drive))
    return fa.Model(satellite(links=[satellite().links[0], link.replace(joint=joint)]))


Q1, V1 = Q0[:10], V0[:9]


@pytest.mark.parametrize("method", ["radau5", "radau9", "gauss4", "auto"])
def test_states_of_drives_stand_behind_the_pose(method: str) -> None:
    """Bristles beside a law's memory: all parts of a state, on every kind of method."""
    model = driven(friction=fa.Friction(coulomb=0.8, model="lugre", bristle_stiffness=400.0, bristle_damping=5.0))
    layout = Layout.of(model, memory=1)
    assert (layout.own, layout.unknowns) == (1, 7 + 9 + 1 + 1)
    runs = [
        run(model, 1.0, Attitude(), q0=Q1, qd0=V1, method=m, rtol=r) for m, r in (("dop853", 1e-10), (method, 1e-9))
    ]
    assert far(*runs) < 3e-6 and np.abs(runs[0].drive_state.values).max() > 1e-4
    assert runs[1].drive_state.values == pytest.approx(runs[0].drive_state.values, abs=1e-5)  # N m
    assert runs[1].attrs["energy_drift"] < 1e-6 and runs[1].attrs["momentum_changed_by"] == "thrusters"


@pytest.mark.parametrize("method", ["dop853", "radau9", "auto"])
def test_a_run_stops_where_a_joint_meets_its_stop(method: str) -> None:
    model = driven(stops=fa.Stops(lower=0.3, upper=2.0, stiffness=2e3, damping=1.0, sharp=True))
    found = run(model, 1.0, q0=Q1, qd0=V1, method=method, rtol=1e-10)
    assert "stopped at" in found.attrs["method_reason"] and "stopped at 0" not in found.attrs["method_reason"]
    assert found.q.sel(coordinate="upper.joint").values.min() < 0.3
    assert found.attrs["momentum_drift"] < 1e-8 and found.attrs["angular_momentum_drift"] < 1e-8
    assert far(found, run(model, 1.0, q0=Q1, qd0=V1, solver=fa.Solver(method="rk4", step=1e-5))) < 2e-5


def test_a_telescope_on_a_free_base() -> None:
    """How far it is out stands behind the pose, and is spoken of as that."""
    boom = fa.Beam(length=1.2, mass=1.0, EI=100.0, modes={"y": 1}, damping=0.3)
    link = fa.Link(name="boom", joint=fa.Telescope(free_length=0.6), body=boom)
    model = fa.Model(fa.Arm(name="crane", base=BASE.replace(thrusters=()), links=[link]))
    found = fa.simulate(model, 0.3, 2.0, **QUIET)
    out, rate = found.q.values[:, 7], found.qd.values[:, 6]
    assert out[0] == 0.6 and out[-1] > 0.61
    ratio = np.abs(rate).max() * out.max() / np.sqrt(100.0 / (1.0 / 1.2))
    assert found.attrs["group_velocity_ratio"] == pytest.approx(ratio, rel=1e-12)
    with pytest.raises(fa.SimulationError, match=r"boom\.joint, a free length, leaves its range from 0") as caught:
        fa.simulate(model, 5.0, 2.0, **QUIET)
    assert caught.value.result.q.values[-1, 7] > 1.1
    bent = model.arm.rest[:8] + (0.5,)
    with pytest.warns(LargeDeflection, match=r"bends by 0\.5 m, 83% of its length"):
        fa.simulate(model, 1e-4, q0=bent, **QUIET)


# -- laws and functions ------------------------------------------------------------------------------------------------


def test_local_coordinates_as_expressions_are_those_of_numbers() -> None:
    arm, q = satellite(), ca.SX.sym("q", 11)
    x = localized(arm, q)
    value, slope = ca.Function("x", [q], [x]), ca.Function("dx", [q], [ca.jacobian(x, q)])
    rng = np.random.default_rng(4)
    for size in (0.0, 1e-12, 1e-7, 1e-3, 1.0, 3.0):
        e = quaternions.quaternion(size * np.array([0.6, 0.0, -0.8]))
        for sign in (1.0, -1.0):
            given = np.concatenate([rng.normal(size=3), sign * e, rng.normal(size=4)])
            assert np.array(value(given)).ravel() == pytest.approx(attitude.local(arm, given), rel=1e-12, abs=1e-15)
            assert np.isfinite(np.array(slope(given))).all()
    still = np.array(slope(np.array(arm.rest)))
    assert still[3:6, 3:7] == pytest.approx(np.hstack([np.zeros((3, 1)), 2 * np.eye(3)]), abs=1e-12)
    held = satellite(base=None)
    assert localized(held, q) is q


SLEW = fa.Quintic(start=(0.3,), end=(0.8,), duration=1.0)


class Follow:
    """A joint law along a reference; the thrusters are off."""

    def __init__(self, reference: Any) -> None:
        self.reference = reference

    def law(self, model: fa.Model, period: float | None = None) -> control.Law:
        joint = model.arm.joints[0]

        def expression(t: Any, q: Any, qd: Any, z: Any) -> tuple[Any, Any]:
            wanted = positions(self.reference, t)
            push = 20.0 * (wanted[0] - q[joint]) + 8.0 * (ca.jacobian(wanted[0], t) - qd[joint])
            return [push, 0.0, 0.0], []

        return control.Law(expression, reference=self.reference)


class Attitude:
    """Holds the attitude of rest by the roll thruster, and the joint where it is; z counts the turn about x."""

    def law(self, model: fa.Model, period: float | None = None) -> control.Law:
        def expression(t: Any, q: Any, qd: Any, z: Any) -> tuple[Any, Any]:
            return [-3.0 * (q[6] - 0.4) - qd[6], -2.0 * q[3] - 4.0 * qd[3] - z, 0.0], [0.1 * q[3]]

        return control.Law(expression, memory=(0.05,))


def by_function(model: fa.Model) -> Any:
    """What `Attitude` says, as a function of q (nq) and qd (nv), without its memory."""

    def u(t: float, q: np.ndarray, qd: np.ndarray) -> list[float]:
        assert q.shape == (11,) and qd.shape == (10,)
        x = attitude.local(model.arm, q)
        return [-3.0 * (x[6] - 0.4) - qd[6], -2.0 * x[3] - 4.0 * qd[3], 0.0]

    return u


class Bare(Attitude):
    """Without memory."""

    def law(self, model: fa.Model, period: float | None = None) -> control.Law:
        inner = super().law(model, period).expression
        return control.Law(lambda t, q, qd, z: (inner(t, q, qd, 0.0)[0], []))


@pytest.mark.parametrize("method", ["dop853", "radau5", "auto"])
def test_laws_see_local_coordinates_and_functions_all(model: fa.Model, method: str) -> None:
    law, function = (run(model, 2.0, u, method=method, rtol=1e-10) for u in (Bare(), by_function(model)))
    assert far(law, function) < 1e-7
    assert law.u.values == pytest.approx(function.u.values, abs=1e-7)
    assert np.abs(law.u.values[:, 1]).max() > 0.5
    sampled = [run(model, 2.0, control.Sampled(u, 0.02)) for u in (Bare(), by_function(model))]
    assert far(*sampled) < 1e-12 and far(sampled[0], law) < 0.2


def test_a_law_with_memory_on_every_way_of_running(model: fa.Model) -> None:
    runs = [run(model, 2.0, Attitude(), method=m, rtol=1e-10) for m in ("dop853", "radau9", "gauss8", "vern8")]
    assert all(far(each, runs[0]) < 1e-6 for each in runs)
    many = fa.simulate_many(model, 2.0, q0=Q0, qd0=V0, u=Attitude(), runs=3, method="dop853", rtol=1e-10, **QUIET)
    assert np.abs(many.q.values - runs[0].q.values).max() < 1e-7


def test_joint_laws_begin_on_their_reference_and_act_on_joints(model: fa.Model) -> None:
    found = fa.simulate(model, 2.0, Follow(SLEW), **QUIET)
    q = found.sel(time=0.0).q
    assert q.sel(coordinate=["upper.joint", "upper.motor"]).values == pytest.approx([0.3, 0.3])
    assert q.values[:7] == pytest.approx([0, 0, 0, 1, 0, 0, 0])
    assert not found.u.values[:, 1:].any() and found.attrs["momentum_drift"] < 1e-9
    assert found.q.sel(coordinate="upper.joint").values[-1] == pytest.approx(0.8, abs=0.02)
    assert list(found.joint.values) == ["upper.joint"] and found.q_ref.values[-1] == pytest.approx([0.8])
    assert fa.performance(found).settling < 2.0


def test_a_prescribed_motion_of_the_joints_moves_the_base_as_it_must(model: fa.Model) -> None:
    runs = [
        fa.simulate(model, 1.5, fa.PrescribedMotion(SLEW), method=m, rtol=1e-10, **QUIET) for m in ("dop853", "radau9")
    ]
    found = runs[0]
    assert far(*runs) < 1e-7
    motor = found.q.sel(coordinate="upper.motor").values
    assert motor == pytest.approx(fa.trajectory.reference_values(SLEW, found.time.values)[:, 0], abs=1e-8)
    assert found.attrs["momentum_drift"] < 1e-9 and found.attrs["angular_momentum_drift"] < 1e-9
    again = fa.simulate(model, 1.5, fa.Table(found.time.values, found.u.values), q0=found.q.values[0], **QUIET)
    assert far(again, found) < 2e-3
    many = fa.simulate_many(model, 1.5, u=fa.PrescribedMotion(SLEW), runs=2, method="dop853", rtol=1e-10, **QUIET)
    assert np.abs(many.q.values - found.q.values).max() < 1e-7
    assert many.u.values == pytest.approx(np.stack([found.u.values] * 2), abs=1e-6)


def test_what_comes_from_outside_may_follow_the_state() -> None:
    """A pull towards the world's origin, as a law of local coordinates, and as a function of q: the same."""
    model = fa.Model(satellite(forces=[fa.Force(name="pull", link="upper")]))

    class Pull:
        def law(self, model: fa.Model, period: float | None = None) -> control.Law:
            return control.Law(lambda t, q, qd, z: (-0.5 * q[:3] + 0.1 * q[3:6], []))

    def pull(t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        x = attitude.local(model.arm, q)
        return -0.5 * x[:3] + 0.1 * x[3:6]

    runs = [run(model, 1.5, w=w, method=m, rtol=1e-10) for w in (Pull(), pull) for m in ("dop853", "radau9")]
    assert all(far(each, runs[0]) < 1e-7 for each in runs)
    assert runs[0].attrs["momentum_changed_by"] == "forces"
    assert runs[0].w.values == pytest.approx(runs[2].w.values, abs=1e-8)


# -- ensembles and steppers --------------------------------------------------------------------------------------------


def starts(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Different turns, places and rates."""
    rng = np.random.default_rng(8)
    q = np.tile(Q0, (count, 1))
    q[:, 3:7] = quaternions.quaternion(rng.normal(size=(count, 3)))
    return q, V0 + 0.1 * rng.normal(size=(count, 10))


@pytest.mark.parametrize("method", ["dop853", "rk45", "rk4", "radau5", "auto"])
def test_an_ensemble_is_its_runs(model: fa.Model, method: str) -> None:
    q, v = starts(10)
    given = {"method": method, **({"solver": fa.Solver(step=2e-3)} if method == "rk4" else {"rtol": 1e-9})}
    many = fa.simulate_many(model, 1.0, q0=q, qd0=v, u=np.array([0.5, 0.0, 0.0]), **given, **QUIET)
    assert (many.status == "completed").all() and many.qd.dims == ("run", "time", "velocity")
    bound = 0.0 if method == "radau5" else 1e-12 if method == "rk4" else 1e-6
    for i in (0, 3, 9):
        alone = run(model, 1.0, np.array([0.5, 0.0, 0.0]), q0=q[i], qd0=v[i], **given)
        for name in ("q", "qd", "momentum", "angular_momentum", "work", "tip", "power"):
            assert np.abs(many[name].values[i] - alone[name].values).max() <= 10 * bound, name
        assert many.quaternion_drift.values[i] < 1e-10
    assert (many.momentum_drift.values < 1e-8).all() and (many.angular_momentum_drift.values < 1e-8).all()


def test_an_ensemble_knows_in_which_runs_something_acts(model: fa.Model) -> None:
    many = fa.simulate_many(model, 0.5, q0=Q0, qd0=V0, u=[np.zeros(3), np.array([0.1, 0.2, 0.0])], **QUIET)
    assert np.isnan(many.momentum_drift.values).tolist() == [False, True]
    assert np.isnan(many.angular_momentum_drift.values).tolist() == [False, True]
    few = fa.simulate_many(model, 0.5, q0=Q0, qd0=V0, runs=2, save=fa.SaveAt(keep=["q"]), **QUIET)
    assert "momentum_drift" not in few and (few.quaternion_drift.values < 1e-10).all()


def test_an_ensemble_over_parameters(tmp_path: Path) -> None:
    """Of a model that varies, in lanes and one by one, in memory and on disk."""
    model = fa.Model(satellite(), vary=["upper.mass", "panel.EI"])
    p = {"upper.mass": [4.0, 5.0, 6.0], "panel.EI": [50.0, 60.0, 70.0]}
    for method in ("dop853", "radau5"):
        many = fa.simulate_many(model, 0.5, q0=Q0, qd0=V0, p=p, method=method, rtol=1e-10, **QUIET)
        for i, (mass, EI) in enumerate(zip(*p.values(), strict=True)):
            alone = run(model, 0.5, p={"upper.mass": mass, "panel.EI": EI}, method=method, rtol=1e-10)
            assert np.abs(many.q.values[i] - alone.q.values).max() < 1e-8
            assert np.abs(many.angular_momentum.values[i] - alone.angular_momentum.values).max() < 1e-8
            assert many.momentum_drift.values[i] < 1e-9
    kept = fa.simulate_many(model, 0.5, q0=Q0, qd0=V0, p=p, rtol=1e-10, folder=tmp_path / "runs", **QUIET)
    assert np.abs(kept.qd.values - many.qd.values).max() < 1e-7
    assert (kept.quaternion_drift.values < 1e-10).all()


def test_sampled_laws_go_in_lanes(model: fa.Model) -> None:
    q, v = starts(3)
    law = control.Sampled(Attitude(), 0.02)
    many = fa.simulate_many(model, 1.0, q0=q, qd0=v, u=law, **QUIET)
    for i in range(3):
        alone = run(model, 1.0, law, q0=q[i], qd0=v[i])
        assert np.abs(many.q.values[i] - alone.q.values).max() < 1e-10
        assert np.abs(many.u.values[i] - alone.u.values).max() < 1e-10


@pytest.mark.parametrize("method", ["rk45", "dop853", "radau5", "gauss4"])
def test_a_stepper_goes_where_a_run_goes(model: fa.Model, method: str) -> None:
    u = np.array([0.3, 0.1, -0.2])
    plant = fa.Stepper(model, 0.05, Q0, V0, method=method, rtol=1e-9, atol=1e-11)
    for _ in range(20):
        x = plant.step(u)
    assert x.shape == (21,) and plant.q.shape == (11,) and plant.qd.shape == (10,)
    found = run(model, 1.0, u, rtol=1e-11, method="dop853", samples=2)
    assert plant.q == pytest.approx(found.q.values[-1], abs=1e-7)
    assert plant.qd == pytest.approx(found.qd.values[-1], abs=1e-7)
    again = plant.reset(Q0, 2 * V0)
    assert again == pytest.approx(np.concatenate([Q0, 2 * V0]), abs=1e-15)
    twin = fa.Stepper(model, 0.05, 0 * Q0 + np.array(model.arm.rest), method=method).__copy__()
    assert twin.state == pytest.approx(np.concatenate([model.arm.rest, np.zeros(10)]))


@pytest.mark.parametrize("method", ["rk45", "radau5"])
def test_many_steppers_are_each(model: fa.Model, method: str) -> None:
    q, v = starts(5)
    plants = fa.Stepper(model, 0.05, q, v, method=method)
    alone = [fa.Stepper(model, 0.05, a, b, method=method)
             for a, b in zip(q, v, strict=True)]  # fmt: skip
    for _ in range(5):
        x = plants.step(np.array([0.3, 0.1, -0.2]))
        each = np.array([plant.step(np.array([0.3, 0.1, -0.2])) for plant in alone])
    assert x.shape == (5, 21) and np.abs(x - each).max() < 1e-12
    one = fa.Stepper(model, 0.05, Q0, v, method=method)  # one pose for all
    assert one.state.shape == (5, 21) and (one.q == one.q[0]).all() and (one.qd == v).all()


# -- results -----------------------------------------------------------------------------------------------------------


def test_a_result_is_kept_and_goes_on(model: fa.Model, tmp_path: Path) -> None:
    whole = run(model, 2.0, solver=fa.Solver(method="radau9", rtol=1e-11, atol=1e-12))
    part = run(model, 1.0, solver=fa.Solver(method="radau9", rtol=1e-11, atol=1e-12), samples=21)
    loaded = fa.load_result(fa.save_result(part, tmp_path / "part.nc"))
    assert loaded.identical(part)
    assert loaded.qd.dims == ("time", "velocity") and loaded.q.dims == ("time", "coordinate")
    assert loaded.role.values.tolist() == ["base"] * 7 + ["joint", "flexible", "flexible", "motor"]
    assert loaded.velocity_role.values.tolist() == ["base"] * 6 + ["joint", "flexible", "flexible", "motor"]
    assert loaded.owner.values.tolist() == ["base"] * 7 + ["upper", "panel", "panel", "upper"]
    assert loaded.velocity_owner.values.tolist() == ["base"] * 6 + ["upper", "panel", "panel", "upper"]
    assert loaded.unit.values[:8].tolist() == ["m"] * 3 + ["1"] * 4 + ["rad"]
    assert loaded.velocity_unit.values[:7].tolist() == ["m/s"] * 3 + ["rad/s"] * 4
    last = loaded.isel(time=-1)
    rest = run(
        model,
        1.0,
        q0=last.q.values,
        qd0=last.qd.values,
        solver=fa.Solver(method="radau9", rtol=1e-11, atol=1e-12),
        samples=21,
    )
    assert np.abs(rest.q.values - whole.q.values[20:]).max() < 1e-8
    assert fa.Arm.from_json(str(loaded.attrs["arm"])) == model.arm


@pytest.mark.parametrize(("change", "said"), [
    (lambda x: x.drop_vars("velocity_role"), "it has no variable velocity_role"),
    (lambda x: x.drop_vars("momentum"), "it has no variable momentum"),
    (lambda x: x.drop_attrs(), "it has no attribute arm that is a text"),
    (lambda x: x.assign_attrs(quaternion_drift="small"), "it has no attribute quaternion_drift that is a number"),
    (lambda x: x.isel(velocity=slice(1, None)), "its velocities are not those of an arm with a free base"),
    (lambda x: x.assign_coords(role=("coordinate", ["joint"] * 11)), "its velocities are not those"),
])  # fmt: skip
def test_what_is_no_result_of_a_free_base(model: fa.Model, change: Any, said: str, tmp_path: Path) -> None:
    with pytest.raises(fa.DescriptionError, match=said):
        fa.save_result(change(run(model, 0.1)), tmp_path / "x.nc")


def test_the_turn_of_the_base_is_the_rotation_since_the_start(model: fa.Model) -> None:
    found = run(model, 0.5)
    q = found.q.values
    turned = quaternions.product(q[-1:, 3:7], quaternions.conjugate(q[0, 3:7]))
    np.testing.assert_allclose(found.base_turn.values[-1], quaternions.turn(turned)[0], atol=1e-12)
    assert np.abs(found.base_turn.values[-1]).max() > 0.01
    many = fa.simulate_many(model, 0.5, q0=[q[0], q[0]], qd0=[found.qd.values[0], 0.5 * found.qd.values[0]], **QUIET)
    np.testing.assert_allclose(many.base_turn.values[0][-1], found.base_turn.values[-1], atol=1e-6)
    assert set(run(model, 0.1, save=fa.SaveAt(keep=["base_turn"])).data_vars) == {"base_turn"}


def test_results_of_older_versions_without_the_turn_are_read(model: fa.Model, tmp_path: Path) -> None:
    path = fa.save_result(run(model, 0.1).drop_vars("base_turn"), tmp_path / "old.nc")
    assert "base_turn" not in fa.load_result(path)
    assert "base_turn" in fa.load_result(fa.save_result(run(model, 0.1), tmp_path / "new.nc"))


def test_a_result_keeps_what_is_asked_for(model: fa.Model) -> None:
    few = run(model, 0.5, save=fa.SaveAt(keep=["angular_momentum"]))
    assert set(few.data_vars) == {"angular_momentum"} and few.attrs["angular_momentum_drift"] < 1e-8
    bare = run(model, 0.5, save=fa.SaveAt(keep=["q", "tip"]))
    assert set(bare.data_vars) == {"q", "tip"} and "momentum_drift" not in bare.attrs
    assert bare.attrs["quaternion_drift"] < 1e-10
    with pytest.raises(fa.DescriptionError, match="keep has 'momentum', which an arm whose base is not"):
        fa.simulate(fa.Model(satellite(base=None)), 0.1, save=fa.SaveAt(keep=["momentum"]), progress=False)


def test_a_satellite_that_stands_still_has_no_drift(model: fa.Model) -> None:
    attrs = fa.simulate(model, 0.5, **QUIET).attrs
    assert attrs["momentum_drift"] == attrs["angular_momentum_drift"] == attrs["quaternion_drift"] == 0.0


# -- what is refused, and what is said of failures ---------------------------------------------------------------------


def turned(length: float) -> np.ndarray:
    q = Q0.copy()
    q[3:7] *= length
    return q


def test_a_quaternion_somebody_has_typed_is_made_a_unit_one(model: fa.Model) -> None:
    found = run(model, 0.1, q0=turned(1.0005))
    assert np.linalg.norm(found.q.values[0, 3:7]) == pytest.approx(1.0, abs=1e-15)
    assert far(found, run(model, 0.1)) < 1e-12
    plant = fa.Stepper(model, 0.1, turned(0.9995))
    assert plant.q == pytest.approx(Q0, abs=1e-15)
    assert plant.reset(q=turned(1.0002))[:11] == pytest.approx(Q0, abs=1e-15)
    many = fa.simulate_many(model, 0.1, q0=np.array([turned(1.0005), Q0]), qd0=V0, **QUIET)
    assert many.q.values[0] == pytest.approx(many.q.values[1], abs=1e-12)


@pytest.mark.parametrize(("call", "said"), [
    (lambda m: run(m, q0=turned(0.5)), "base.qz has length 0.5; it must be 1"),
    (lambda m: run(m, q0=np.zeros(11)), "q0: .* has length 0;"),
    (lambda m: fa.simulate_many(m, 1.0, q0=[Q0, turned(2.0)]), "q0: .* has length 2;"),
    (lambda m: fa.Stepper(m, 0.1, turned(2.0)), "q0: .* has length 2;"),
    (lambda m: fa.Stepper(m, 0.1).reset(q=turned(3.0)), "q: .* has length 3;"),
    (lambda m: run(m, q0=Q0[1:]), r"q0 has shape \(10,\); it must have 11 numbers: base.x, "),
    (lambda m: run(m, qd0=Q0), r"qd0 has shape \(11,\); it must have 10 numbers: base.vx, "),
    (lambda m: fa.simulate_many(m, 1.0, q0=Q0, qd0=[Q0]), r"it must be \(10,\) or \(N, 10\), N runs of base.vx"),
    (lambda m: fa.Stepper(m, 0.1, V0), r"q0 has shape \(10,\); its last axis must have 11 numbers: base.x"),
    (lambda m: fa.Stepper(m, 0.1, Q0, Q0), r"qd0 has shape \(11,\); its last axis must have 10 numbers: base.vx"),
    (lambda m: fa.Stepper(m, 0.1, [Q0] * 2, [V0] * 3), r"\(11,\) and \(10,\), or \(N, 11\) and \(N, 10\) for N plants"),
    (lambda m: fa.TipCompensated(SLEW, m, "x"), "TipCompensated: the base of the arm is free"),
    (lambda m: run(m, reference=Still((0.0, 1.0))), "reference moves 2 joints; the arm has 1: upper.joint"),
    (lambda m: fa.simulate(m, 1.0, Follow(Still((0.0, 1.0)))), "the arm has 1: upper.joint"),
])  # fmt: skip
def test_what_does_not_fit_is_refused_in_one_line(model: fa.Model, call: Any, said: str) -> None:
    with pytest.raises(fa.DescriptionError, match=said) as caught:
        call(model)
    assert "\n" not in str(caught.value)


class Spinning:
    """Turns faster and faster about x."""

    def law(self, model: fa.Model, period: float | None = None) -> control.Law:
        return control.Law(lambda t, q, qd, z: ([0.0, 3e4 * qd[3], 0.0], []))


@pytest.mark.filterwarnings("ignore::flexarm.errors.UnstableStart")
def test_a_run_that_diverges_names_the_rate(model: fa.Model) -> None:
    assert motion_names(model)[10:18:3] == ["upper.motor", "base.vz", "base.wz"]
    assert motion_names(model)[17:] == [f"the rate of {name}" for name in model.velocities[6:]]
    with pytest.raises(fa.SimulationError, match=r"diverged by t = .* s: base\.\w+ reached"):
        run(model, 5.0, Spinning(), solver=fa.Solver(method="rk4", step=0.02))
    many = fa.simulate_many(
        model, 5.0, q0=Q0, qd0=V0, u=[Spinning()] * 2, solver=fa.Solver(method="rk4", step=0.02), **QUIET
    )
    assert all("base." in text for text in many.status.values)
    plant = fa.Stepper(model, 0.5, Q0, 1e6 * V0, method="rk4", step=0.1)
    with pytest.raises(fa.SimulationError, match=r"arm 'satellite': .* (panel|base|upper)\.\w+ "):
        plant.step(np.array([0.0, 1e15, 0.0]))


def test_a_law_that_is_not_finite_is_found_ahead(model: fa.Model) -> None:
    class Ends:
        def law(self, model: fa.Model, period: float | None = None) -> control.Law:
            return control.Law(lambda t, q, qd, z: ([ca.sqrt(0.1 - q[0] - q[3]), 0.0, 0.0], []))

    with pytest.raises(fa.SimulationError, match=r"controller Ends gave nan for upper\.motor"):
        fa.simulate(model, 5.0, Ends(), qd0=V0, method="dop853", progress=False)


def test_the_fastest_eigenvalue_is_that_of_the_linear_model(model: fa.Model) -> None:
    """In the tangent space about a tilted pose, where nothing is strained, with and without elements that act."""
    still = np.concatenate([Q0[:7], [0.4, 0.0, 0.0, 0.4]])
    for given in (model, fa.Model(satellite(forces=[fa.Force(name="pull", link="upper")]))):
        A = given.linearize(still, np.zeros(10), np.zeros(3)).A
        assert methods.fastest_of(given, still) == pytest.approx(np.abs(np.linalg.eigvals(A)).max(), rel=1e-9)


# -- references and scenarios ------------------------------------------------------------------------------------------


def test_a_line_of_the_tip_is_one_as_seen_from_the_base() -> None:
    def planar(base: Any) -> fa.Arm:
        body = fa.Rigid(mass=1.0, length=0.5, com=(0.25, 0, 0), inertia=0.1)
        return fa.Arm(name="planar", base=base, links=[fa.Link(name="a", body=body), fa.Link(name="b", body=body)])

    free, held = (fa.TaskLine(planar(base), (0.7, 0.1), (0.5, 0.4), 1.0) for base in (BASE, None))
    assert (free.coefficients == held.coefficients).all()


def scenario(**given: Any) -> Scenario:
    table = {"name": "free", "arm": satellite(), "until": 1.0, "samples": 11, **given}
    return Scenario(**table)


def test_a_scenario_begins_where_it_says_by_names() -> None:
    initial = {
        "q": {"base.x": 0.5, "base.qw": 0.8, "base.qz": 0.6, "upper.joint": 0.2},
        "qd": {"base.wz": 0.1, "upper.joint": -0.3},
    }
    found = scenario(initial=initial).run(progress=False)
    q, qd = found.q.values[0], found.qd.values[0]
    assert q == pytest.approx([0.5, 0, 0, 0.8, 0, 0, 0.6, 0.2, 0, 0, 0])
    assert qd == pytest.approx([0, 0, 0, 0, 0, 0.1, -0.3, 0, 0, 0])
    assert scenario().run(progress=False).q.values[0, :7] == pytest.approx([0, 0, 0, 1, 0, 0, 0])
    listed = scenario(initial={"q": Q0.tolist(), "qd": V0.tolist()}).run(progress=False)
    assert listed.qd.values[0] == pytest.approx(V0)


@pytest.mark.parametrize(("given", "said"), [
    ({"initial": {"qd": {"base.qw": 1.0}}}, "initial.qd: unknown coordinate 'base.qw'; did you mean 'base.wx'"),
    ({"initial": {"q": {"base.wx": 1.0}}}, "initial.q: unknown coordinate 'base.wx'; did you mean 'base.x'"),
    ({"initial": {"qd": Q0.tolist()}}, "initial.qd has 11 numbers; it must have 10: base.vx"),
    ({"reference": {"type": "quintic", "start": [0, 0], "end": [1, 1], "duration": 1.0}},
     "reference.start has 2 numbers; it must have 1: upper.joint"),
])  # fmt: skip
def test_what_a_scenario_says_of_a_state_must_fit(given: dict[str, Any], said: str) -> None:
    with pytest.raises(fa.DescriptionError, match=said):
        scenario(**given).run(progress=False)


def test_a_shaper_in_a_scenario_counts_where_the_motion_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the joint's end, its motor's too, and where the table says that the base stands."""
    found: list[np.ndarray] = []
    monkeypatch.setattr(control, "design_shaper", lambda model, q, *_: found.append(q))
    shaper = {"kind": "zv", "at": {"base.x": 3.0}}
    table = {"type": "quintic", "start": [0.0], "end": [0.5], "duration": 0.5, "shaper": shaper}
    given = scenario(reference=table, controller={"type": "joint-pd", "Kp": 20.0, "Kd": 8.0})
    reference = given.reference.replace(shaper=None).made(satellite())
    given.reference.shaper.made(fa.Model(satellite()), reference, 1.0)
    assert found[0] == pytest.approx([3, 0, 0, 1, 0, 0, 0, 0.5, 0, 0, 0.5])


def test_the_summary_has_the_audit_of_momenta(tmp_path: Path, capsys: Any) -> None:
    from flexarm.commands import runs

    folder = tmp_path
    quiet, pushed = scenario().run(progress=False), run(fa.Model(satellite()), 0.1, np.array([0.0, 0.5, 0.0]))
    for result, said in ((quiet, "momentum balance  largest"), (pushed, "the momentum is changed by thrusters")):
        runs._show_summary({**runs._summary(result, 1.0, [folder / "x.nc"]), "next": []}, verbose=True)
        text = capsys.readouterr().out
        assert said in text and "quaternion" in text
