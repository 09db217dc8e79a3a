"""Time-varying linear-quadratic control about a motion: closed forms, SciPy, least squares, costs of nonlinear runs."""

import warnings
from types import SimpleNamespace

import control as ct
import numpy as np
import pytest
from controlled import elastic, refused
from scipy.integrate import cumulative_simpson, solve_ivp
from scipy.linalg import expm

import flexarm as fa
from flexarm.control import LQR, DesignedFor, Integral, Observed, Sampled, Tracking, equilibrium, horizon, tables
from flexarm.control.along import Motion, slow_motion
from flexarm.control.deviation import deviations
from flexarm.control.tracking_gains import Gains
from flexarm.model.local import moved_by_joints
from flexarm.scenario import Scenario
from flexarm.simulation.closed_loop import ClosedLoop
from flexarm.simulation.feedback import Feedback
from flexarm.trajectory import reference_values

pytestmark = pytest.mark.filterwarnings("ignore:.*period is")  # of a mode at 2443 rad/s that needs no control

SLEW = fa.Quintic((0.2, 0.3), (1.0, -0.4), 1.0)


@pytest.fixture(scope="module")
def rigid():
    return fa.Model(fa.load("rigid-two-link"))


@pytest.fixture(scope="module")
def soft():
    return elastic()


def driven(model, reference, until, count=401):
    """A motion of the arm that ends at rest nearly: joint PD along a reference, from the equilibrium at its start."""
    start, _ = equilibrium(model, reference_values(reference, [0.0])[0])
    law = fa.control.ComputedTorque(reference, 100.0, 20.0)
    run = fa.simulate(model, until, u=law, q0=start, samples=count, progress=False, method="dop853")
    return run.time.values, np.hstack([run.q, run.qd]), run.u.values


@pytest.fixture(scope="module")
def motion(rigid):
    return driven(rigid, SLEW, 1.2)


@pytest.fixture(scope="module")
def bent(soft):
    """A motion of the soft arm that ends at rest nearly: it was tracked once."""
    law = Tracking(fa.Quintic((0.0, 0.0), (0.8, 0.4), 1.5), bandwidth=8.0)
    run = fa.simulate(soft, 2.4, u=law, samples=1201, progress=False, method="dop853")
    return run.time.values, np.hstack([run.q, run.qd]), run.u.values


def at_once(law, model, t, x, z=()):
    """u of a law at one state, and what follows for its memory."""
    found = Feedback(law, model, "test").kernel.one(np.concatenate([[t], x, z]))
    return np.split(found, [len(model.inputs)])


# -- Riccati's equation ------------------------------------------------------------------------------------------------


def problem_of(parts):
    """As a horizon wants it, of a function from times to A, B, Q and R."""
    return SimpleNamespace(models=lambda t: parts(t)[:2], weights=lambda t: parts(t)[2:])


def constant(A, B, Q, R):
    return problem_of(lambda t: tuple(np.broadcast_to(X, (len(t), *X.shape)) for X in (A, B, Q, R)))


def test_a_double_integrator_has_its_closed_form():
    """x1' = x2, x2' = u, cost u^2 and at the end s x1^2: P = s / (1 + s tau^3 / 3) [1, tau; tau, tau^2]."""
    A, B, s, T = np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([[0.0], [1.0]]), 40.0, 1.5
    problem = constant(A, B, np.zeros((2, 2)), np.eye(1))
    found = horizon.continuous("test", problem, np.array([0.0, T]), np.diag([s, 0.0]))
    tau = T - found.times
    P = (s / (1 + s * tau**3 / 3))[:, None, None] * np.array([[1 + 0 * tau, tau], [tau, tau**2]]).transpose(2, 0, 1)
    np.testing.assert_allclose(found.P, P, atol=1e-10)
    np.testing.assert_allclose(found.K, P[:, 1:], atol=1e-10)


def changing(t):
    """A problem whose every part changes with time, and jumps at 0.5."""
    t, one = t[:, None, None], np.ones((len(t), 1, 1))
    after = (t > 0.5) * 1.0
    A = np.array([[0, 1, 0, 0], [-30, -0.3, 9, 0], [0, 0, 0, 1], [5, 0, -90, -0.1]]) * (1 + 0.4 * np.sin(3 * t))
    B = np.array([[0, 0], [1, 0], [0, 0.2], [0.3, 2]]) * (1 + 0.5 * t + after)
    return A, B, np.diag([4.0, 1, 9, 1]) * (1 + t**2), np.diag([0.5, 0.8]) * (one + 0.2 * np.cos(5 * t))


def test_scipy_integrates_to_the_same():
    P_end = np.diag([1.0, 2.0, 0.5, 1.0])

    def rate(t, y):
        P = y.reshape(4, 4)
        A, B, Q, R = (X[0] for X in changing(np.array([t])))
        return -(A.T @ P + P @ A - P @ B @ np.linalg.solve(R, B.T @ P) + Q).ravel()

    found = horizon.continuous("test", problem_of(changing), np.array([0.0, 0.5, 1.0]), P_end)
    options = {"method": "DOP853", "rtol": 1e-11, "atol": 1e-11}
    half = solve_ivp(rate, (1.0, 0.5), P_end.ravel(), **options).y[:, -1]
    start = solve_ivp(rate, (0.5 - 1e-14, 0.0), half, **options).y[:, -1].reshape(4, 4)
    np.testing.assert_allclose(found.P[0], start, rtol=1e-5, atol=1e-5 * np.abs(start).max())
    np.testing.assert_allclose(found.P[np.searchsorted(found.times, 0.5)].ravel(), half, atol=1e-5 * half.max())
    A, B, Q, R = changing(found.times)
    np.testing.assert_allclose(R @ found.K, np.swapaxes(B, 1, 2) @ found.P, atol=1e-9)


def test_a_sampled_gain_is_the_minimum_of_all_inputs_at_once():
    """Five periods as one least-squares problem; the system from sample to sample by SciPy."""
    period, count, P_end, x0 = 0.05, 5, np.diag([1.0, 2.0, 0.5, 1.0]), np.array([1.0, -0.5, 0.3, 0.7])

    def smooth(t):
        A, B, Q, R = changing(0.4 * t)
        return A, B, Q, R

    more = np.zeros((4, 4))
    more[0, 2] = 0.05
    found = horizon.sampled(problem_of(smooth), period, count, P_end, more)

    def step(k):
        def rate(t, y):
            A, B, _, _ = (X[0] for X in smooth(np.array([t])))
            return (np.hstack([A, B]) @ y.reshape(6, 6)[:]).ravel().tolist() + [0.0] * 12

        y = solve_ivp(rate, (k * period, (k + 1) * period), np.eye(6).ravel(), rtol=1e-11, atol=1e-12).y[:, -1]
        return y.reshape(6, 6)[:4, :4] + more, y.reshape(6, 6)[:4, 4:]

    steps = [step(k) for k in range(count)]
    _, _, Q, R = smooth(period * np.arange(count))
    rows, right = [], []
    free, forced = np.eye(4), np.zeros((4, 2 * count))
    for k, (F, G) in enumerate(steps):
        root = np.linalg.cholesky(Q[k]).T
        rows.append(root @ forced)
        right.append(-root @ free @ x0)
        own = np.zeros((2, 2 * count))
        own[:, 2 * k : 2 * k + 2] = np.linalg.cholesky(R[k]).T
        rows.append(own)
        right.append(np.zeros(2))
        free, forced = F @ free, F @ forced
        forced[:, 2 * k : 2 * k + 2] = G
    root = np.linalg.cholesky(P_end).T
    rows, right = np.vstack([*rows, root @ forced]), np.concatenate([*right, -root @ free @ x0])
    u, cost = np.linalg.lstsq(rows, right)[:2]
    np.testing.assert_allclose(-found.K[0] @ x0, u[:2], rtol=1e-5)
    assert x0 @ found.P[0] @ x0 == pytest.approx(cost[0], rel=1e-5)


def test_what_changes_too_fast_is_refused():
    with refused(
        r"test: the Riccati equation along the motion needs more than 100000 steps, because the motion or its "
        r"weights .*"
    ):
        horizon.continuous(
            "test", constant(1e9 * np.eye(1), np.eye(1), np.eye(1), np.eye(1)), np.array([0.0, 1.0]), np.eye(1)
        )


def test_no_solution_is_told():
    one = np.eye(1)
    with refused(
        r"test: the Riccati equation along the motion has no bounded solution; use other weights or a slower motion"
    ):
        horizon.continuous("test", constant(one, one, one, one), np.array([0.0, 1.0]), np.nan * one)


# -- along a motion ----------------------------------------------------------------------------------------------------


def test_the_cost_to_go_solves_riccati_s_equation_along_the_arm(rigid, motion):
    """Residual by differences, the linear models being those of `linearize`, at the motion's own states."""
    t, x, u = motion
    facts, omega = Tracking(t, x, u, bandwidth=6.0).law(rigid).facts, 6.0
    times, P, K, n = facts["times"], facts["P"], facts["K"], rigid.nv
    path = through_states(t, x)
    for k in (len(times) // 4, len(times) // 2, 3 * len(times) // 4):
        q, qd = np.split(path(times[k]), 2)
        system = rigid.linearize(q, qd, [np.interp(times[k], t, row) for row in u.T])
        A, B, M, zero = np.asarray(system.A), np.asarray(system.B), rigid.mass_matrix(q), np.zeros((n, n))
        Q = np.block([[omega**2 * M, zero], [zero, M]]) / 2
        R = np.linalg.inv(M) / omega**2
        np.testing.assert_allclose(K[k], np.linalg.solve(R, B.T @ P[k]), atol=1e-6 * np.abs(K[k]).max())
        left = (P[k + 1] - P[k - 1]) / (times[k + 1] - times[k - 1])
        right = -(A.T @ P[k] + P[k] @ A - P[k] @ B @ K[k] + Q)
        assert np.abs(left - right).max() < 5e-3 * np.abs(left).max()
        assert np.abs(left).max() > 0.01 * np.abs(A.T @ P[k]).max(), "it changes along the motion"


def test_an_arm_that_stands_has_the_gain_of_lqr(soft):
    """Continuous and sampled, at every time: the time-invariant limit."""
    q, u = equilibrium(soft, (0.7, 0.4))
    times, x = [0.0, 0.2, 0.5], np.tile(np.append(q, 0 * q), (3, 1))
    for period in (None, 2e-3):
        expected = LQR((0.7, 0.4)).law(soft, period).facts
        law = Tracking(times, x, np.tile(u, (3, 1))).law(soft, period)
        largest = np.abs(expected["K"]).max(axis=0)
        for K in (law.facts["K"][0], law.facts["K"][-1], law.facts["K_after"]):
            np.testing.assert_allclose(K, expected["K"], atol=1e-4 * largest.max())
        assert np.sort(law.facts["poles"].real) == pytest.approx(np.sort(expected["poles"].real), rel=1e-3, abs=1e-6)
        away = 1e-3 * np.arange(1, 2 * soft.nv + 1)
        for t in (0.0, 0.31, 0.5, 7.0):
            found, _ = at_once(law, soft, t, x[0] + away)
            np.testing.assert_allclose(found, u - expected["K"] @ away, rtol=1e-4)


def test_the_sampled_gain_tends_to_the_continuous_one(rigid, motion):
    """With the period, to first order."""
    design = Tracking(*motion, bandwidth=6.0)
    exact = design.law(rigid).facts
    off = []
    for period in (8e-3, 4e-3, 2e-3):
        facts = design.law(rigid, period).facts
        k = round(0.4 / period)
        expected = [np.interp(0.4, exact["times"], row) for row in exact["K"].reshape(len(exact["K"]), -1).T]
        off.append(np.abs(facts["K"][k].ravel() - expected).max() / np.abs(expected).max())
    assert off[2] < 0.03
    assert off[0] / off[1] == pytest.approx(2.0, rel=0.1)
    assert off[1] / off[2] == pytest.approx(2.0, rel=0.1)


def spent(model, law, motion, away, omega, until, P=None):
    """The cost of a nonlinear run from beside the motion's start, by Simpson's rule."""
    t, x, u = motion
    n = model.nv
    P = law.law(model).facts["P"][0] if P is None else P
    run = fa.simulate(
        model, until, u=law, q0=x[0, :n] + away[:n], qd0=x[0, n:] + away[n:], samples=3001, progress=False, rtol=1e-10,
        method="dop853",
    )  # fmt: skip
    times = run.time.values
    straight = fa.simulate(
        model, until, u=law, q0=x[0, :n], qd0=x[0, n:], samples=3001, progress=False, rtol=1e-10, method="dop853"
    )
    dx = np.hstack([run.q.values - straight.q.values, run.qd.values - straight.qd.values])
    du = run.u.values - straight.u.values
    q = straight.q.values
    M, B = model.mass_matrix(q), model.input_matrix(q)
    R = np.swapaxes(B, 1, 2) @ np.linalg.solve(M, B) / omega**2
    cost = np.einsum("ki,kij,kj->k", dx[:, :n], omega**2 * M / 2, dx[:, :n])
    cost += np.einsum("ki,kij,kj->k", dx[:, n:], M / 2, dx[:, n:]) + np.einsum("ki,kij,kj->k", du, R, du)
    return cumulative_simpson(cost, x=times)[-1], away @ P @ away


def test_a_nonlinear_run_costs_what_the_cost_to_go_says(rigid, motion):
    """To second order in the deviation: what differs is of third order, and cancels between opposite ones."""
    law, omega = Tracking(*motion, bandwidth=6.0), 6.0
    away = np.array([0.3, -0.2, 0.5, 0.8])
    off = []
    for size in (0.04, 0.02):
        both = [spent(rigid, law, motion, s * size * away, omega, 4.0) for s in (1, -1)]
        off.append(abs(sum(cost for cost, _ in both) / sum(said for _, said in both) - 1))
    assert off[1] < 2e-3


def test_other_gains_cost_more(rigid, motion):
    """Those of the end and of the start, constant: what is told of the cost of the best is below both."""
    facts = Tracking(*motion, bandwidth=6.0).law(rigid).facts
    away = 0.02 * np.array([0.3, -0.2, 0.5, 0.8])
    least = away @ facts["P"][0] @ away
    for K in (facts["K"][0], facts["K_after"]):
        law = Tracking(*motion, K=K)
        cost = np.mean([spent(rigid, law, motion, s * away, 6.0, 4.0, facts["P"][0])[0] for s in (1, -1)])
        assert 1.0005 * least < cost < 2 * least


# -- the law -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("period", [None, 2e-3])
def test_the_arm_makes_the_motion_again(soft, bent, period):
    """Nothing of the torques is left out, sampled or not."""
    t, x, u = bent
    law = Tracking(t, x, u) if period is None else Sampled(Tracking(t, x, u), period)
    run = fa.simulate(soft, 2.0, u=law, samples=1001, progress=False, method="auto" if period else "dop853")
    assert np.abs(run.q.values - x[:1001, : soft.nv]).max() < 5e-4
    assert np.abs(run.q_ref.values - x[:1001, :2]).max() < 5e-5


def test_torques_that_were_held_are_held_again(rigid, motion):
    """The motion of a sampled law, by its samples: so few that lines between them are another motion."""
    start, period = motion[1][0, :2], 0.03
    first = Sampled(fa.control.ComputedTorque(SLEW, 60.0, 15.0), period)
    given = {"q0": start, "samples": 41, "progress": False, "method": "auto"}
    run = fa.simulate(rigid, 1.2, u=first, **given)
    t, x, u = run.time.values, np.hstack([run.q, run.qd]), run.u.values
    away = [
        np.abs(fa.simulate(rigid, 1.2, u=law, **given).q.values - x[:, :2]).max()
        for each in (Tracking(t, x, u, bandwidth=6.0, hold=hold) for hold in (True, False))
        for law in (each, Sampled(each, period))
    ]
    assert away[1] < 1e-4  # what a period of the sampled law takes is what was held
    assert away[0] < 3e-3 < away[2]  # between samples cubics: the acceleration jumps at them, and there alone
    assert away[3] > 5e-3


def test_the_law_gives_the_torques_of_the_motion_on_it(rigid, motion):
    """u = u_ref where x = x_ref, and du/dx = -K there: held, on lines, and their means from sample to sample."""
    t, x, u = (part[::8] for part in motion)
    hermite = through_states(t, x)
    for hold in (False, True):
        law = Tracking(t, x, u, bandwidth=6.0, hold=hold)
        for at in (0.0, 0.1117, 0.5, 0.9999):
            found, _ = at_once(law.law(rigid), rigid, at, hermite(at))
            k = np.searchsorted(t, at, side="right") - 1
            expected = u[k] if hold else [np.interp(at, t, row) for row in u.T]
            np.testing.assert_allclose(found, expected, atol=3e-4 * np.ptp(u))
        period = 0.05
        k = 6
        found, _ = at_once(law.law(rigid, period), rigid, k * period, hermite(k * period))
        fine = np.linspace(k * period, (k + 1) * period, 20001)[:-1] + period / 40000
        rows = u[np.searchsorted(t, fine, side="right") - 1] if hold else [np.interp(fine, t, row) for row in u.T]
        expected = np.mean(rows, axis=0) if hold else np.mean(rows, axis=1)
        np.testing.assert_allclose(found, expected, atol=3e-4 * np.ptp(u))


def test_an_arm_whose_numbers_vary_has_the_law_of_its_numbers(rigid, motion):
    t, x, u = (part[::8] for part in motion)
    law, name = Tracking(t, x, u, bandwidth=6.0), next(each.name for each in fa.Model(rigid.arm, vary=["*"]).parameters)
    arm = fa.Model(rigid.arm, vary=[name])
    heavier = arm.at({name: 1.1 * arm.p[0]})
    for varied in (arm, heavier):
        expected = law.law(fa.Model(varied.arm_at())).facts["K"]
        np.testing.assert_allclose(law.law(varied).facts["K"], expected, rtol=1e-9, atol=1e-9)
    assert np.abs(law.law(heavier).facts["K"] - law.law(arm).facts["K"]).max() > 1e-3


def through_states(t, x):
    from scipy.interpolate import CubicHermiteSpline

    n = x.shape[1] // 2
    path = CubicHermiteSpline(t, x[:, :n], x[:, n:])
    return lambda at: np.append(path(at), path(at, 1))


@pytest.mark.parametrize("hold", [False, True])
def test_after_the_end_the_arm_is_held_where_its_joints_are(rigid, hold):
    """Also where the motion does not end at rest."""
    t, x, u = (part[:250] for part in driven(rigid, SLEW, 1.2))
    assert np.abs(x[-1, 2:]).max() > 0.5
    law = Tracking(t, x, u, bandwidth=6.0, hold=hold)
    q, held = equilibrium(rigid, x[-1, :2])
    found, _ = at_once(law.law(rigid), rigid, t[-1] + 1e-6, np.append(q, [0.0, 0.0]))
    np.testing.assert_allclose(found, held, atol=1e-6 * np.abs(held).max())
    away = np.array([0.01, -0.02, 0.1, 0.05])
    found, _ = at_once(law.law(rigid), rigid, t[-1] + 1e-6, np.append(q, [0.0, 0.0]) + away)
    np.testing.assert_allclose(found, held - LQR(x[-1, :2], bandwidth=6.0).law(rigid).facts["K"] @ away, rtol=1e-6)
    run = fa.simulate(rigid, 4.0, u=law, q0=x[0, :2], progress=False)
    np.testing.assert_allclose(run.q.values[-1], q, atol=1e-5)


@pytest.mark.filterwarnings("ignore:.*cannot follow this motion")  # which these gains do not hold
def test_gains_may_be_given(rigid, motion):
    """One matrix, or one at each time with straight lines between; the last lasts."""
    t, x, u = (part[::40] for part in motion)
    rng = np.random.default_rng(1)
    K = rng.uniform(1.0, 9.0, (len(t), 2, 4))
    hermite, away = through_states(t, x), np.array([0.1, -0.2, 0.3, 0.4])
    many, one = Tracking(t, x, u, K=K).law(rigid), Tracking(t, x, u, K=K[3]).law(rigid)
    for at in (0.0, 0.333, 1.1):
        mean = np.array([np.interp(at, t, row) for row in K.reshape(len(t), -1).T]).reshape(2, 4)
        for law, gain in ((many, mean), (one, K[3])):
            found = at_once(law, rigid, at, hermite(at) + away)[0] - at_once(law, rigid, at, hermite(at))[0]
            np.testing.assert_allclose(found, -gain @ away, rtol=1e-3)
    end = x[-1]
    found = at_once(many, rigid, 9.0, end + away)[0] - at_once(many, rigid, 9.0, end)[0]
    np.testing.assert_allclose(found, -K[-1] @ away, rtol=1e-9)
    assert "P" not in one.facts


def test_a_motion_may_be_an_object(rigid, motion):
    t, x, u = motion
    given = SimpleNamespace(times=t, q=x[:, :2], qd=x[:, 2:], u=u, duration=t[-1])
    one, other = (Tracking(*each, bandwidth=6.0).law(rigid) for each in ((given,), (t, x, u)))
    np.testing.assert_array_equal(one.facts["K"], other.facts["K"])
    state = x[100] + 0.01
    np.testing.assert_array_equal(at_once(one, rigid, 0.3, state)[0], at_once(other, rigid, 0.3, state)[0])


def test_a_reference_of_the_joints_alone(soft):
    """x_ref and u_ref are those of ScheduledLQR, which has the same torque on them."""
    slew = fa.Quintic((0.0, 0.0), (0.8, 0.4), 1.5)
    law, like = Tracking(slew).law(soft), fa.control.ScheduledLQR(slew).law(soft)
    scales = fa.control.timescales.time_scales(soft)
    for t in (0.2, 0.75, 1.3):
        import casadi as ca

        u, x = (np.array(ca.DM(part)).ravel() for part in scales.along(slew, ca.SX(t)))
        np.testing.assert_allclose(at_once(law, soft, t, x)[0], u, atol=1e-3 * np.abs(u).max())
        np.testing.assert_allclose(at_once(like, soft, t, x)[0], u, atol=1e-3 * np.abs(u).max())
    run = fa.simulate(soft, 3.0, u=Sampled(Tracking(slew), 2e-3), method="auto", progress=False)
    assert np.abs(run.q_ref.values - run.q.values[:, :2])[-1].max() < 5e-3


def test_a_scenario_follows_its_reference():
    """By its type in a file; the reference is the scenario's."""
    given = {
        "name": "x",
        "arm": "rigid-two-link",
        "until": 1.5,
        "reference": {"type": "quintic", "start": [0.2, 0.3], "end": [1.0, -0.4], "duration": 1.0},
        "controller": {"type": "tracking", "bandwidth": 6.0, "integral_rate": 2.0, "period": 0.002},
    }
    run = Scenario(**given).run(progress=False)
    assert np.abs(run.q_ref.values - run.q.values).max() < 1e-3
    wrong = given | {"reference": None}
    with pytest.raises(fa.DescriptionError, match="reference is missing; the controller 'tracking' needs it"):
        Scenario(**wrong)


# -- integral action ---------------------------------------------------------------------------------------------------


def test_the_integral_s_gains_are_those_of_python_control(rigid):
    """At rest: of the arm with the integrals of the joints' errors as states."""
    q, u = equilibrium(rigid, (0.7, 0.4))
    omega, rate = 6.0, 2.0
    system = rigid.linearize(q, 0 * q, u)
    M, zero, one = rigid.mass_matrix(q), np.zeros((2, 2)), np.eye(2)
    A = np.block([[np.asarray(system.A), np.zeros((4, 2))], [one, zero, zero]])
    B = np.vstack([np.asarray(system.B), zero])
    Q = np.zeros((6, 6))
    Q[:2, :2], Q[2:4, 2:4], Q[4:, 4:] = omega**2 * M / 2, M / 2, rate**2 * omega**2 * M / 2
    R = np.linalg.inv(M) / omega**2
    expected, P, poles = ct.lqr(A, B, Q, R)
    still = [0.0, 0.3], np.tile(np.append(q, 0 * q), (2, 1)), np.tile(u, (2, 1))
    facts = Tracking(*still, bandwidth=omega, integral_rate=rate).law(rigid).facts
    np.testing.assert_allclose(facts["K"][0], expected, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(facts["P"][0], P, rtol=1e-6, atol=1e-6 * P.max())
    np.testing.assert_allclose(np.sort_complex(facts["poles"]), np.sort_complex(poles), rtol=1e-6)

    period = 0.02
    F = expm(np.block([[np.asarray(system.A), np.asarray(system.B)], [np.zeros((2, 6))]]) * period)
    F, G = F[:4, :4], F[:4, 4:]
    F = np.block([[F, np.zeros((4, 2))], [period * one, zero, one]])
    expected, _, _ = ct.dlqr(F, np.vstack([G, zero]), Q, R)
    facts = Tracking(*still, bandwidth=omega, integral_rate=rate).law(rigid, period).facts
    np.testing.assert_allclose(facts["K"][0], expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("period", [None, 2e-3])
def test_an_integral_carries_a_load_that_the_law_does_not_know(rigid, motion, period):
    heavy = fa.Model(rigid.arm.replace(payload=fa.Payload(mass=0.5)))
    off = []
    for integral in (None, 3.0):
        law = DesignedFor(Tracking(*motion, bandwidth=6.0, integral_rate=integral), rigid)
        law = law if period is None else Sampled(law, period)
        run = fa.simulate(heavy, 8.0, u=law, q0=motion[1][0, :2], progress=False, method="auto" if period else "dop853")
        off.append(np.abs(run.q_ref.values - run.q.values)[-1].max())
    assert off[0] > 0.02
    assert off[1] < 0.01 * off[0]


def test_what_is_integrated_has_a_limit_and_does_not_wind_up(rigid, motion):
    """Torques that saturate on the way: with the limit the arm overshoots less, and the part stays within it."""
    t, x, u = motion
    far = x[0, :2] - [0.6, 0.0]
    beyond = []
    for limit in (None, 1.0):
        law = Tracking(t, x, u, bandwidth=6.0, integral_rate=6.0, integral_limit=limit)
        run = fa.simulate(rigid, 5.0, u=Sampled(law, 2e-3, limit=30.0), q0=far, progress=False, method="auto")
        late = run.q.values[run.time.values > 1.0] - x[-1, :2]
        beyond.append(late.max())
    assert beyond[1] < 0.5 * beyond[0]
    law = Tracking(t, x, u, bandwidth=6.0, integral_rate=6.0, integral_limit=[1.0, 0.5]).law(rigid)
    plain, rates = at_once(law, rigid, 0.5, x[0], (0.0, 0.0))
    wound, stopped = at_once(law, rigid, 0.5, x[0], (-9.0, -9.0))
    np.testing.assert_allclose(wound - plain, [1.0, 0.5], rtol=1e-6)
    assert np.abs(rates).min() > 0.1 and (stopped == 0.0).all()  # the arm is behind: more would be asked for
    ahead = np.append(2 * x[-1, :2] - x[0, :2], [0.0, 0.0])
    _, back = at_once(law, rigid, 0.5, ahead, (-9.0, -9.0))
    assert np.abs(back).min() > 0.01
    assert (at_once(law, rigid, 0.5, ahead, (9.0, 9.0))[1] == 0.0).all()
    assert np.abs(at_once(law, rigid, 0.5, x[0], (9.0, 9.0))[1]).min() > 0.1


def test_given_gains_may_have_columns_for_integrals(rigid, motion):
    K = np.hstack([30.0 * np.eye(2), 5.0 * np.eye(2), 7.0 * np.eye(2)])
    law = Tracking(*motion, K=K).law(rigid)
    w = np.array([0.1, -0.2])
    u = [at_once(law, rigid, 0.4, motion[1][5], each)[0] for each in (w, 0 * w)]
    np.testing.assert_allclose(u[0] - u[1], -7.0 * w, rtol=1e-9)
    _, rate = at_once(law, rigid, 0.0, motion[1][0] + [0.1, 0.2, 0.0, 0.0], w)
    np.testing.assert_allclose(rate, [0.1, 0.2], atol=1e-4)


# -- with others -------------------------------------------------------------------------------------------------------


def test_it_tracks_through_a_kalman_filter(soft, bent):
    """Encoders at the motors and strain gauges at the roots, with noise; from beside the motion."""
    t, x, u = bent
    ends = [f"{link}.{part}" for link in ("upper", "fore") for part in ("motor", "joint")]
    sensors = [fa.Encoder(coordinate=end, noise=1e-4) for end in ends]
    sensors += [fa.StrainGauge(link=link, noise=1e-3) for link in ("upper", "fore")]
    law = Tracking(t, x, u, bandwidth=8.0, integral_rate=1.0)
    away = np.zeros(soft.nv)
    away[[0, 1, 6, 7]] = 0.01
    runs = [
        fa.simulate(soft, 3.0, u=Sampled(each, 2e-3), q0=away, method="auto", samples=301, progress=False)
        for each in (law, Observed(law, sensors))
    ]
    assert np.abs(runs[1].q.values - runs[0].q.values)[200:].max() < 3e-3
    assert np.abs(runs[1].q.values[-1, :2] - x[-1, :2]).max() < 3e-3


def test_others_stand_around_it(rigid, motion):
    """Its reference is known to Integral; its slopes to ClosedLoop, whose poles after the end are the design's."""
    law = Tracking(*motion, bandwidth=6.0)
    assert len(Integral(law, 1.0).law(rigid).memory) == 2
    q, _ = equilibrium(rigid, motion[1][-1, :2])
    for period in (None, 2e-3):
        made = law.law(rigid, period)
        found = ClosedLoop(rigid, made, period).poles(3.0, np.append(q, 0 * q))
        np.testing.assert_allclose(np.sort(found.real), np.sort(made.facts["poles"].real), rtol=1e-5)


def test_a_motion_between_its_times():
    """Held torques from the right at a jump; means over any stretch, what follows on the motion among it."""
    t, u = np.array([0.0, 1.0, 3.0, 4.0]), np.array([[1.0], [5.0], [2.0], [9.0]])
    q = np.array([[0.0], [1.0], [9.0], [16.0]])
    held, lines = (Motion(t, q, 2 * np.sqrt(q), u, hold) for hold in (True, False))
    at = np.array([0.0, 0.999, 1.0, 2.0, 3.5])
    assert held.inputs(at).ravel().tolist() == [1.0, 1.0, 5.0, 5.0, 2.0]
    np.testing.assert_allclose(lines.inputs(at).ravel(), [1.0, 4.996, 5.0, 3.5, 5.5])
    edges, after = np.array([0.5, 2.0, 3.5, 6.0]), np.array([10.0])
    np.testing.assert_allclose(held.means(edges, after).ravel(), [5.5 / 1.5, 6.0 / 1.5, 21.0 / 2.5])
    np.testing.assert_allclose(lines.means(edges, after).ravel(), [6.25 / 1.5, 4.625 / 1.5, 23.625 / 2.5])
    assert held.jumps.tolist() == [1.0, 3.0, 4.0] and not len(lines.jumps)
    place, rate = held.states(at)
    np.testing.assert_allclose(place.ravel(), at**2, atol=1e-12)
    np.testing.assert_allclose(rate.ravel(), 2 * at, atol=1e-12)


# -- motions that the arm does not make ----------------------------------------------------------------------------


@pytest.mark.parametrize("period", [None, 1e-3, 0.03])
def test_a_wrong_torque_pushes_a_joint_aside_by_what_feedback_leaves(period):
    """J e'' + k_d e' + k e = u, from rest: its closed form; sampled, from sample to sample through a hold."""
    J, k, kd, u, until = 0.4, 9.0, 1.2, 0.3, 1.7
    link = fa.Link(name="a", joint=fa.Revolute(), body=fa.Rigid(length=1.0, mass=1.0, inertia=J - 0.25))
    model = fa.Model(fa.Arm(name="one", links=[link]))
    K = np.array([[k, kd]])
    motion = Motion(np.array([0.0, until]), np.zeros((2, 1)), np.zeros((2, 1)), np.full((2, 1), u), False)
    t, x = deviations(model, motion, Gains(motion.times, np.array([K, K]), until, K), period)
    if period is None:
        wanted = ct.step_response(ct.tf([u], [J, kd, k]), t).outputs
        np.testing.assert_allclose(x[:, 0], wanted, rtol=0, atol=1e-6 * u / k)
    else:
        F, G = np.array([[1.0, period], [0.0, 1.0]]), np.array([[period**2 / 2], [period]]) / J
        e, found = np.zeros(2), [0.0]
        for _ in range(57 if period > 0.01 else 1700):
            e = (F - G @ K) @ e + G[:, 0] * u
            found.append(e[0])
        np.testing.assert_allclose(x[:, 0], np.array(found)[np.round(t / period).astype(int)], atol=1e-9 * u / k)
        assert t[-1] >= until - 1e-9


@pytest.mark.parametrize("period", [None, 2e-3])
def test_a_motion_that_the_arm_does_not_make_is_told(period):
    """How far it goes beside it is foreseen: as far as the run does."""
    model = fa.Model(fa.load("subudhi-morris"))
    slew = fa.Quintic((0.0, 0.0), (0.15, 0.15), 0.8)
    beside = r"upper\.joint deviates by about 0\.052 rad at 0\.\d+ s"
    with pytest.warns(fa.errors.NotReached, match=rf"\ATracking: the arm cannot follow this motion, {beside}; give "):
        Tracking(slew).law(model, period)
    u = Tracking(slew) if period is None else Sampled(Tracking(slew), period)
    with pytest.warns(fa.errors.NotReached, match="cannot follow this motion"):
        run = fa.simulate(model, 0.8, u=u, samples=201, method="auto", progress=False)
    path = slow_motion("it", model, slew).states(run.time.values)[0]
    assert np.abs(run.q.values[:, :2] - path[:, :2]).max() == pytest.approx(0.052, rel=0.03)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Tracking(fa.Quintic((0.0, 0.0), (0.15, 0.15), 1.5)).law(model)


@pytest.mark.parametrize("name", ["subudhi-morris", "subudhi-morris-elastic"])
def test_a_run_along_a_reference_begins_as_the_reference_does(name):
    """At rest, though what bends along it has rates from the first moment on; what is wanted is what was given."""
    model, slew = fa.Model(fa.load(name)), fa.Quintic((0.1, 0.0), (0.8, 0.4), 2.0)
    assert np.abs(slow_motion("it", model, slew).qd[0]).max() > 0.1
    run = fa.simulate(model, 0.5, u=Tracking(slew), samples=21, progress=False)
    assert not run.qd.values[0].any()
    assert np.abs(run.q_ref.values - reference_values(slew, run.time.values)).max() < 1e-12
    moving = fa.simulate(model, 0.5, u=Tracking(slew), qd0=moved_by_joints(model.arm) @ [0.4, 0.2], progress=False)
    u = [np.abs(each.u.values).max() for each in (run, moving)]
    assert u[0] < u[1]


def test_a_motion_that_runs_away_is_told_too(rigid, motion):
    """Gains that push away from it: deviations beyond what a float holds."""
    t, x, u = motion
    law = Tracking(t, x, u, K=np.hstack([-1e6 * np.eye(2), np.zeros((2, 2))]))
    with pytest.warns(fa.errors.NotReached, match=r"\ATracking: the arm cannot follow this motion, \S+ diverges at "):
        law.law(rigid)


# -- tables ------------------------------------------------------------------------------------------------------------


def test_tables_keep_what_they_are_asked_to():
    t = np.linspace(0.0, 2.0, 500)
    rows = np.stack([np.sin(3 * t) + 0.2 * np.abs(t - 0.7), t**3 * (t < 1.1)], axis=1)
    at = tables.lines(t, rows, 1e-3)
    assert len(at) < 90
    assert max(np.abs(np.interp(t, t[at], rows[at, i]) - rows[:, i]).max() for i in range(2)) <= 1e-3 * (1 + 1e-9)

    import casadi as ca

    def value(pieces):
        s = ca.SX.sym("t")
        return np.array(ca.Function("f", [s], [tables.on_pieces(s, pieces)])(t[None])).T

    pieces = tables.through(t, rows, np.array([1e-4, 1e-4]))
    assert len(pieces[0]) < 30
    assert np.abs(value(pieces) - rows).max() <= 1e-4 * (1 + 1e-9)
    smooth = np.sin(5 * t)[:, None]
    pieces = tables.of_motion(t, smooth, 5 * np.cos(5 * t)[:, None], (np.array([1e-4]), np.array([2e-3])))
    assert len(pieces[0]) < 25
    assert np.abs(value(pieces) - smooth).max() <= 1e-4 * (1 + 1e-9)
    nodes, heights = tables.smoothed(t, rows[:, None], 1e-2, 40)
    assert len(nodes) <= 40
    assert (
        max(np.abs(np.interp(t, nodes, heights[:, 0, i]) - rows[:, i]).max() for i in range(2)) < 0.7
    )  # half of the jump
    assert (heights[-1, 0] == rows[-1]).all()


# -- refused -----------------------------------------------------------------------------------------------------------

T, X, U = [0.0, 1.0], np.zeros((2, 4)), np.zeros((2, 2))
WRONG = {
    r"Tracking: reference is 'up'; it must be a motion with times, q, qd and u, a reference, or times with x_ref and "
    r"u_ref": {"reference": "up"},
    r"Tracking: u_ref is missing; a reference of times needs both x_ref and u_ref": {"x_ref": X},
    r"Tracking: x_ref is missing; a reference of times needs both x_ref and u_ref": {"u_ref": U},
    r"Tracking: x_ref has shape \(2, 3\); it must be \(times, 4\): 2 coordinates, then their rates": {
        "x_ref": np.zeros((2, 3)),
        "u_ref": U,
    },
    r"Tracking: u_ref has shape \(3, 2\); it must be \(2, 2\): 2 times, arm 'rigid-two-link' has 2 inputs": {
        "x_ref": X,
        "u_ref": np.zeros((3, 2)),
    },
    r"Tracking: times has shape \(\); it must be a list of at least two numbers": {
        "reference": 1.0,
        "x_ref": X,
        "u_ref": U,
    },
    r"Tracking: times begin at 1\.0 s; they must begin at 0 s and increase": {
        "reference": [1, 2],
        "x_ref": X,
        "u_ref": U,
    },
    r"Tracking: times begin at 0\.0 s; they must begin at 0 s and increase": {
        "reference": [0, 0],
        "x_ref": X,
        "u_ref": U,
    },
    r"Tracking: x_ref contains NaN or infinity": {"x_ref": X + np.nan, "u_ref": U},
    r"Tracking: hold is 1; it must be true or false": {"x_ref": X, "u_ref": U, "hold": 1},
    r"Tracking: K is 'lqg'; it must be 'lqr' or numbers": {"x_ref": X, "u_ref": U, "K": "lqg"},
    r"Tracking: K has shape \(2, 3\); it must be \(2, 4\) or \(2, 2, 4\), with 2 more columns for integrals": {
        "x_ref": X,
        "u_ref": U,
        "K": np.zeros((2, 3)),
    },
    r"Tracking: Q applies only with K = 'lqr'; leave out Q or K": {
        "x_ref": X,
        "u_ref": U,
        "K": np.zeros((2, 4)),
        "Q": 1.0,
    },
    r"Tracking: integral_rate is -1\.0; it must be one positive number, or 2 of them, one per joint": {
        "x_ref": X,
        "u_ref": U,
        "bandwidth": 1.0,
        "integral_rate": -1.0,
    },
    r"Tracking: integral_rate is not an array of numbers": {
        "x_ref": X,
        "u_ref": U,
        "bandwidth": 1.0,
        "integral_rate": "fast",
    },
    r"Tracking: integral_limit applies only with an integral; give integral_rate too": {
        "x_ref": X,
        "u_ref": U,
        "bandwidth": 1.0,
        "integral_limit": 1.0,
    },
    r"Tracking: arm 'rigid-two-link' has no stiffness, .* give bandwidth, or Q and R": {"x_ref": X, "u_ref": U},
    r"Tracking: the reference does not move; use LQR to hold the arm": {"reference": fa.Quintic((0, 0), (0, 0), 1.0)},
    r"Tracking: the reference never comes to rest; give a reference that ends": {
        "reference": fa.Cycloidal([0.1, 0.2], [1.0, 1.0])
    },
}


@pytest.mark.parametrize("message", WRONG)
def test_wrong_arguments_are_told(rigid, message):
    with refused(message):
        Tracking(**({"reference": T} | WRONG[message])).law(rigid)


def test_too_many_samples_are_refused(rigid):
    with refused(r"Tracking: a motion of 1 s has 1e\+06 periods of 1e-06 s, and at most 100000 are allowed"):
        Tracking(T, X, U, bandwidth=1.0).law(rigid, 1e-6)


def test_arms_it_does_not_know():
    free = fa.Model(fa.load("canadarm-free"))
    with refused(
        r"Tracking: the base of arm 'canadarm-free' is free, and the controller needs a fixed base; use LQR with a .*"
    ):
        Tracking(T, X, U).law(free)
    driven = fa.Model(fa.load("industrial-arm"))
    with refused(
        r"Tracking: arm 'industrial-arm': the input '.*' is a voltage; the controller returns torques: use "
        r"VoltageDrive.*"
    ):
        Tracking(T, X, U).law(driven)
