"""Constraint horizons of predictive control: invariant sets, stability, and the same plans by other solvers."""

import numpy as np
import pytest
from controlled import refused

import flexarm as fa
from flexarm.control import Predictive, Sampled
from flexarm.control.predictive_horizon import Limits
from flexarm.control.predictive_terminal import determined, limited

PERIOD, LIMIT = 0.02, 0.05  # [s], [N m]


@pytest.fixture(scope="module")
def rod():
    """A rod without gravity, which a weak motor accelerates."""
    joint = fa.Revolute(axis=(0, 0, 1), rotor_inertia=0.04)
    link = fa.Link(name="rod", joint=joint, body=fa.Rigid(length=0.9, mass=1.3))
    return fa.Model(fa.Arm(name="rod", links=[link]))


def law(**given):
    """Hard limits: of the torque, and of an angle that must hardly pass the target."""
    angle = {"outputs": [fa.Encoder(coordinate="rod.joint")], "bounds": [[-1.0, 0.004]], "penalty": None}
    return Predictive(0.0, limit=LIMIT, bandwidth=3.0, **angle, **given)


def run(model, controller, q, qd, count=200):
    """Angles, and the samples without a solution."""
    steps = controller.stepper(model, PERIOD)
    plant = fa.Stepper(model, PERIOD, [q], [qd])
    angles, failed = [], []
    for k in range(count):
        before = steps.failed
        plant.step(steps(k * PERIOD, plant.state))
        failed.append(steps.failed > before)
        angles.append(plant.q[0])
    return np.array(angles), np.array(failed)


@pytest.mark.filterwarnings("ignore::flexarm.errors.NotReached")
def test_a_feasible_first_step_is_followed_by_feasible_ones_and_the_loop_is_stable(rod):
    """Random starts, with a horizon of 0.16 s. Without a terminal set, a first solution promises nothing."""
    rng, lost, kept = np.random.default_rng(1), 0, 0
    for _ in range(25):
        q, qd = rng.uniform(-0.06, 0.0), rng.uniform(-0.02, 0.12)
        angles, failed = run(rod, law(horizon=8, constraint_horizon="invariant"), q, qd)
        if not failed[0]:
            kept += 1
            assert not failed.any()
            assert abs(angles[-1]) < 1e-3 and angles.max() < 0.004 * (1 + 1e-6)
        _, failed = run(rod, law(horizon=8), q, qd)
        lost += not failed[0] and failed.any()
    assert kept > 8
    assert lost > 3


def test_the_least_horizon_is_that_of_simulated_motions():
    """Random loops: within the set of these periods all limits hold for ever, and with one period less not all do."""
    rng = np.random.default_rng(4)
    for _ in range(4):
        A = rng.normal(size=(2, 2))
        A *= 0.93 / np.abs(np.linalg.eigvals(A)).max()
        rows = np.vstack([np.eye(2), -np.eye(2), rng.normal(size=(1, 2))])
        bounds = rng.uniform(0.5, 2.0, 5)
        count = determined(A, rows, bounds, 200)
        assert 1 <= count < 200
        powers = np.array([np.linalg.matrix_power(A, i) for i in range(300)])
        angle = np.linspace(0.0, 2.0 * np.pi, 4001)
        rays = np.stack([np.cos(angle), np.sin(angle)])
        reach = np.einsum("ri,kij,jn->krn", rows, powers, rays) / bounds[:, None]
        ends = [1.0 / reach[:n].max(axis=(0, 1)) for n in (count, count - 1, 300)]  # the set along each ray
        np.testing.assert_allclose(ends[0], ends[2], rtol=1e-6)
        if count > 1:
            assert (ends[1] > ends[2] * (1.0 + 1e-6)).any()


def test_the_rows_are_inputs_changes_and_outputs_of_the_loop():
    """Of two samples of a random loop; a limit that does not exist has no row."""
    rng = np.random.default_rng(2)
    F, G, K, C = (rng.normal(size=shape) for shape in ((4, 4), (4, 2), (2, 4), (3, 4)))
    v, y, x = np.array([0.1, -0.2]), np.array([0.3, 0.1, -0.1]), rng.normal(size=4)
    low, high = np.array([-1.1, -np.inf, -0.7]), np.array([0.9, 1.3, 0.4])
    limits = Limits(
        np.ones(3, dtype=int), 3, np.array([0.5, 0.6]), np.array([0.2, 0.25]), low, high, True, tuple("abcde")
    )
    A, rows, bounds = limited(limits, F, G, K, C, v, y)
    after = F @ x - G @ (K @ x)
    assert A @ x == pytest.approx(after)
    change = -K @ after + K @ x
    wanted = [-K @ x, K @ x, change, -change, C @ x, -(C @ x)[[0, 2]]]
    assert rows @ x == pytest.approx(np.concatenate(wanted))
    sides = [limits.u - v, limits.u + v, limits.rate, limits.rate, high - y, (y - low)[[0, 2]]]
    assert bounds == pytest.approx(np.concatenate(sides))


def test_the_plan_keeps_the_limits_after_the_horizon(rod):
    """The law without limits, from the end of the horizon on, needs less torque than the limit."""
    start = np.array([-0.06, 0.115])
    steps, loose = (law(horizon=4, constraint_horizon=n).stepper(rod, PERIOD) for n in (46, 0))
    for each in (steps, loose):
        each(0.0, start)
    plan = steps.plan
    assert len(plan.u) == 50 and plan.active
    assert np.abs(plan.u).max() <= LIMIT * (1 + 1e-8)
    F, G, K = steps.course.stage.F[-1], steps.course.stage.G[-1], steps.course.best.K[-1]
    x = [plan.x0]
    for u in plan.u:
        x.append(F @ x[-1] + G @ u)
    for i in range(4, 50):
        assert plan.u[i] == pytest.approx(-K @ x[i], abs=1e-9)
    angles = np.array(x)[:, 0] / steps.course.S[0]
    assert angles.max() <= 0.004 * (1 + 1e-7)
    x, worst = loose.plan.x0, 0.0
    for u in loose.plan.u:
        x = F @ x + G @ u
    for _ in range(46):  # the plan without them is followed by what the limits forbid
        worst = max(worst, float(np.abs(K @ x).max()) / LIMIT, x[0] / steps.course.S[0] / 0.004)
        x = F @ x - G @ (K @ x)
    assert worst > 1.02


@pytest.mark.parametrize("about", ["reference", "state", "prediction"])
def test_another_solver_finds_the_same_torques(about):
    """A beam with soft limits of its deflection, whose previous plans are of use or not."""
    body = fa.Beam(length=0.8, mass=0.4, EI=9.0, modes={"y": 2}, damping=0.01)
    joint = fa.Revolute(axis=(0, 0, 1), rotor_inertia=0.05)
    model = fa.Model(fa.Arm(name="beam", links=[fa.Link(name="beam", joint=joint, body=body)]))
    slew = fa.Quintic((0.0,), (0.7,), 0.5)
    given = {
        "limit": 1.2,
        "deflection": 6e-3,
        "horizon": 15,
        "constraint_horizon": 12,
        "bandwidth": 6.0,
        "about": about,
    }
    both = [Predictive(slew, **given, solver=each).stepper(model, PERIOD) for each in ("native", "daqp")]
    plant = fa.Stepper(model, PERIOD, np.zeros(3), np.zeros(3))
    active = 0
    for k in range(40):
        if k == 20:
            plant.reset([0.3, 0.0, 0.0], np.zeros(3))
        first, second = (each(k * PERIOD, plant.state) for each in both)
        assert first == pytest.approx(second, abs=1e-5 * 1.2)
        active += both[0].plan is not None and both[0].plan.active
        plant.step(first)
    assert active > 5 and both[0].failed == both[1].failed == 0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"constraint_horizon": -1}, "Predictive: constraint_horizon is -1; it must be .*"),
        (
            {"constraint_horizon": "long"},
            "Predictive: constraint_horizon is 'long'; it must be a number of periods, or.*",
        ),
        (
            {"constraint_horizon": 499, "horizon": 2},
            "Predictive: constraint_horizon is 499; with the horizon there are.*",
        ),
        (
            {"constraint_horizon": "invariant", "horizon": 499},
            "Predictive: constraint_horizon is 'invariant'; the limi.*",
        ),
    ],
)
def test_what_does_not_fit_is_one_line(rod, given, message):
    with refused(message):
        fa.simulate(rod, 0.1, u=Sampled(law(**given), PERIOD), progress=False)


def test_an_equilibrium_at_a_limit_has_no_invariant_set(rod):
    at = Predictive(
        0.2, outputs=[fa.Encoder(coordinate="rod.joint")], bounds=0.2, bandwidth=6.0, constraint_horizon="invariant"
    )
    with refused("Predictive: constraint_horizon is 'invariant'; the equilibrium at the end .* within all limits.*"):
        at.stepper(rod, PERIOD)
