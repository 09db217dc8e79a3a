"""Predictive control: the optimum of a problem written a second time, Karush, Kuhn and Tucker's conditions, limits."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from controlled import DOWN, elastic, refused
from scipy.linalg import block_diag, expm
from scipy.optimize import lsq_linear, minimize

import flexarm as fa
from flexarm.control import LQR, Observed, Predictive, Sampled, equilibrium
from flexarm.control.predictive_solver import QuadraticProgram, miss
from flexarm.errors import FlexarmError
from flexarm.estimation import EKF

J = 0.5
T = 0.1
EXACT = 1e-8  # of a control's size: two solvers of one problem
TIPS = [fa.TipDeflection(link="beam")]


@pytest.fixture(scope="module")
def rotor():
    """J q'' = u."""
    body = fa.Rigid(length=1.0, mass=1.0, com=(0.5, 0, 0), inertia=J - 0.25)
    return fa.Model(fa.Arm(name="rotor", links=[fa.Link(name="rod", body=body)]))


@pytest.fixture(scope="module")
def beam():
    """A hub and a beam with two modes: 12 and 80 rad/s, the hub being held."""
    body = fa.Beam(length=1.0, mass=0.3, EI=8.0, modes={"y": 2}, damping=0.005)
    joint = fa.Revolute(axis=(0, 0, 1), rotor_inertia=0.05)
    link = fa.Link(name="beam", joint=joint, body=body)
    return fa.Model(fa.Arm(name="beam", links=[link], payload=fa.Payload(mass=0.1)))


WEIGHTS = {"Q": [4.0, 1.0], "R": 0.5}
WEAK = {"Q": [30.0, 10.0, 10.0, 1.0, 0.1, 0.1], "R": 0.5}


def linear(model, q, u, period):
    """x after a period, by python-control's matrices and SciPy's exponential."""
    system = model.linearize(q, np.zeros(model.nv), u)
    A, B = np.asarray(system.A), np.asarray(system.B)
    n, m = B.shape
    both = expm(np.block([[A, B], [np.zeros((m, n + m))]]) * period)
    return both[:n, :n], both[:n, n:]


def condensed(F, G, N):
    """All states x_1 .. x_N of x_0 and of all inputs."""
    n, m = G.shape
    of_x0, of_u = [], np.zeros((N * n, N * m))
    x = np.eye(n)
    for i in range(N):
        x = F @ x
        of_x0.append(x)
        for j in range(i + 1):
            of_u[i * n : (i + 1) * n, j * m : (j + 1) * m] = np.linalg.matrix_power(F, i - j) @ G
    return np.vstack(of_x0), of_u


def quadratic(F, G, Q, R, P, N):
    """H and E of U' H U / 2 + (E x0)' U, half of what is paid over N samples and after them."""
    of_x0, of_u = condensed(F, G, N)
    W = block_diag(*[Q] * (N - 1), P)
    return of_u.T @ W @ of_u + np.kron(np.eye(N), R), of_u.T @ W @ of_x0


def riccati(F, G, Q, R):
    """P of value iteration: no solver of Riccati's equation."""
    P = Q.copy()
    for _ in range(20000):
        K = np.linalg.solve(R + G.T @ P @ G, G.T @ P @ F)
        new = Q + F.T @ P @ (F - G @ K)
        if np.abs(new - P).max() < 1e-13 * np.abs(P).max():
            break
        P = new
    return (P + P.T) / 2


def diagonal(value, size):
    return np.diag(np.broadcast_to(value, (size,)))


def plan_of(controller, model, x, period=T, t=0.0):
    steps = controller.stepper(model, period)
    u = steps(t, np.asarray(x, dtype=float))
    return u, steps


# -- the optimum -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limited", [False, True])
def test_where_nothing_comes_near_a_limit_it_is_lqr(limited):
    model, at = elastic(gravity=DOWN), (-1.0, 0.4)
    law = LQR(at).law(model, 1e-3)
    q, u_eq = equilibrium(model, at)
    far = {"limit": 1e3, "rate_limit": 1e6, "deflection": 10.0} if limited else {}
    steps = Predictive(at, horizon=12, **far).stepper(model, 1e-3)
    rng = np.random.default_rng(4)
    x_eq = np.concatenate([q, 0 * q])
    for k in range(5):
        x = x_eq + 1e-3 * rng.normal(size=2 * model.nv)
        u = steps(1e-3 * k, x)
        np.testing.assert_allclose(u, u_eq - law.facts["K"] @ (x - x_eq), rtol=0, atol=1e-9 * np.abs(u).max())
    assert steps.solved == steps.active == steps.failed == 0


@pytest.mark.parametrize("x", [(2.0, 0.0), (-3.0, 1.5), (0.5, -4.0), (0.02, 0.0)])
def test_a_double_integrator_within_its_torque(rotor, x):
    """min of the same sum over the box |u| <= 1, by SciPy's bounded least squares."""
    N = 15
    F, G = linear(rotor, np.zeros(1), np.zeros(1), T)
    assert F == pytest.approx(np.array([[1, T], [0, 1]]))
    assert G.ravel() == pytest.approx([T**2 / 2 / J, T / J])
    Q, R = np.diag([4.0, 1.0]), np.array([[0.5]])
    H, E = quadratic(F, G, Q, R, riccati(F, G, Q, R), N)
    root = np.linalg.cholesky(H).T
    wanted = lsq_linear(root, -np.linalg.solve(root.T, E @ x), bounds=(-1, 1), method="bvls", tol=1e-14).x
    u, steps = plan_of(Predictive(0.0, limit=1.0, horizon=N, **WEIGHTS), rotor, x)
    np.testing.assert_allclose(steps.plan.u[:, 0], wanted, atol=EXACT)
    assert u == pytest.approx(wanted[:1], abs=EXACT)
    assert steps.active == (np.abs(wanted) > 1 - 1e-9).any()


def test_longer_steps_hold_the_inputs_and_pay_for_every_sample(rotor):
    lengths, x = [1, 1, 2, 3, 5], np.array([2.0, 0.3])
    N = sum(lengths)
    F, G = linear(rotor, np.zeros(1), np.zeros(1), T)
    Q, R = np.diag([4.0, 1.0]), np.array([[0.5]])
    H, E = quadratic(F, G, Q, R, riccati(F, G, Q, R), N)
    hold = np.repeat(np.eye(len(lengths)), lengths, axis=0)
    H, E = hold.T @ H @ hold, hold.T @ E
    root = np.linalg.cholesky(H).T
    wanted = lsq_linear(root, -np.linalg.solve(root.T, E @ x), bounds=(-1, 1), method="bvls", tol=1e-14).x
    _, steps = plan_of(Predictive(0.0, limit=1.0, horizon=lengths, **WEIGHTS), rotor, x)
    np.testing.assert_allclose(steps.plan.u[:, 0], hold @ wanted, atol=EXACT)


@pytest.mark.parametrize("penalty", [None, 0.002])
def test_a_beam_within_torque_rate_and_deflection(beam, penalty):
    """The same problem over all states and inputs, by SciPy's SLSQP; a weak penalty is passed, as the problem says."""
    period, N, limit, rate, bound = 0.02, 8, 0.6, 12.0, 0.004
    given = Predictive(0.0, limit=limit, rate_limit=rate, deflection=bound, horizon=N, penalty=penalty, **WEAK)
    x = np.array([0.3, 0.0, 0.0, 0.0, 0.0, 0.0])
    _, steps = plan_of(given, beam, x, period)
    F, G = linear(beam, np.zeros(3), np.zeros(1), period)
    Q, R = np.diag(WEAK["Q"]), np.array([[0.5]])
    H, E = quadratic(F, G, Q, R, riccati(F, G, Q, R), N)
    of_x0, of_u = condensed(F, G, N)
    C = np.asarray(beam.linearize(np.zeros(3), np.zeros(3), np.zeros(1), outputs=TIPS).C)
    y0, y = np.kron(np.eye(N), C) @ of_x0 @ x / bound, np.kron(np.eye(N), C) @ of_u / bound
    change = (np.eye(N) - np.eye(N, k=-1)) / (rate * period)
    w = 0.0 if penalty is None else steps.plan.solution().program.g[-1]
    slack = penalty is not None

    def paid(z):
        U, e = z[:N], z[N]
        return U @ H @ U / 2 + (E @ x) @ U + w * (e + e**2 / 2)

    def slope(z):
        return np.append(H @ z[:N] + E @ x, w * (1 + z[N]))

    def room(z):
        U, e = z[:N], z[N]
        both = [1 - U / limit, 1 + U / limit, 1 - change @ U, 1 + change @ U, 1 + e - y0 - y @ U, 1 + e + y0 + y @ U]
        return np.concatenate([*both, [e if slack else -(e**2)]])

    rules = [{"type": "ineq", "fun": room}]
    options = {"ftol": 1e-15, "maxiter": 500}
    bounds = [(-limit, limit)] * N + [(0, None if slack else 0)]
    found = minimize(paid, np.zeros(N + 1), jac=slope, constraints=rules, bounds=bounds, options=options)
    ours = steps.plan.u[:, 0]
    assert steps.active
    np.testing.assert_allclose(ours, found.x[:N], atol=2e-5 * limit)
    excess = steps.plan.solution().s[-1] if slack else 0.0
    assert paid(np.append(ours, excess)) == pytest.approx(found.fun, rel=1e-8)
    assert (excess > 0.01) == slack
    assert (np.abs(y0 + y @ ours) <= 1 + excess + 1e-8).all()


def optimal_at_each_sample(controller, model, x, period, count):
    """Run the controller on the arm and check Karush, Kuhn and Tucker's conditions, of the numbers alone."""
    steps = controller.stepper(model, period)
    n = model.nv
    plant = fa.Stepper(model, period, x[:n], x[n:])
    pushed = set()
    for k in range(count):
        u = steps(k * period, plant.state)
        plan = steps.plan.solution()
        program = plan.program
        y, size = program.A @ plan.s, max(1e-9, float(np.abs(plan.s).max()))
        slope = program.D * plan.s + program.g + program.A.T @ plan.multipliers
        np.testing.assert_allclose(slope / np.maximum(size, program.g), 0.0, atol=1e-6)
        assert (y <= plan.high + 1e-6).all()
        assert (y >= plan.low - 1e-6).all()
        up, down = plan.multipliers > 0, plan.multipliers < 0
        np.testing.assert_allclose(y[up], plan.high[up], atol=1e-6)
        np.testing.assert_allclose(y[down], plan.low[down], atol=1e-6)
        pushed |= {program.where(int(i))[0] for i in np.flatnonzero(up | down)}
        plant.step(u)
    return steps, pushed


def test_each_sample_is_optimal(beam):
    """And all kinds of limits push at some of them."""
    given = Predictive(0.0, limit=0.2, rate_limit=6.0, deflection=0.004, horizon=25, **WEAK)
    steps, pushed = optimal_at_each_sample(given, beam, np.array([0.2, 0, 0, 0, 0, 0]), 0.02, 100)
    assert pushed == {"torque of beam.joint", "torque rate of beam.joint", "beam_deflection_y"}
    assert steps.failed == 0
    assert 0 < steps.active < 100


@pytest.mark.parametrize("solver", ["daqp", "piqp", "osqp"])
def test_solvers_agree(rotor, beam, solver):
    cases = [(rotor, Predictive(0.0, limit=1.0, horizon=15, **WEIGHTS), (2.0, 0.0), T)]
    given = Predictive(0.0, limit=0.6, deflection=0.004, penalty=None, horizon=10, **WEAK)
    cases.append((beam, given, (0.3, 0, 0, 0, 0, 0), 0.02))
    for model, controller, x, period in cases:
        _, ours = plan_of(controller, model, x, period)
        _, other = plan_of(replace(controller, solver=solver), model, x, period)
        assert other.failed == 0
        np.testing.assert_allclose(other.plan.u, ours.plan.u, atol=1e-4 * np.abs(ours.plan.u).max())


def test_a_wrong_solution_is_seen():
    """Each of the three conditions by itself: min |s - (2, 0)|^2 / 2, s_1 <= 1."""
    D, g, A = np.ones(2), np.array([-2.0, 0.0]), np.array([[1.0, 0.0], [0.0, 1.0]])
    low, high = np.array([-5.0, -5.0]), np.array([1.0, 5.0])
    right = np.array([1.0, 0.0]), np.array([1.0, 0.0])
    assert miss(D, g, A, low, high, *right) < 1e-15
    assert miss(D, g, A, low, high, np.array([1.0, 0.1]), right[1]) > 0.05  # not stationary
    assert miss(D, g, A, low, high, np.array([2.0, 0.0]), np.zeros(2)) > 0.5  # outside
    assert miss(D, g, A, low, high, np.array([0.5, 0.0]), np.array([1.5, 0.0])) > 0.1  # not at its limit
    assert miss(D, g, A, low, high, np.array([2.5, 0.0]), np.array([-0.5, 0.0])) > 0.1  # pulls
    s, multipliers, good = QuadraticProgram("daqp", 2, 2)(D, g, A, low, high)
    assert good
    np.testing.assert_allclose(s, right[0], atol=1e-12)
    np.testing.assert_allclose(multipliers, right[1], atol=1e-12)


# -- along a reference -------------------------------------------------------------------------------------------------


def swing(beam, end=0.6, duration=0.8, wait=0.0, period=0.002):
    """A motion of the beam with the torques that make it, from a simulation: it begins after a time of rest."""
    times = np.arange(0, wait + duration + 1e-9, period)
    torque = fa.RigidInverseDynamics(fa.Quintic((0.0,), (end,), duration))
    way = fa.simulate(beam, duration, u=torque, samples=round(duration / period) + 1, progress=False)
    still = round(wait / period)
    q, qd, u = (np.vstack([np.zeros((still, x.shape[1])), x]) for x in (way.q.values, way.qd.values, way.u.values))
    return SimpleNamespace(times=times, q=q, qd=qd, u=u)


def test_along_a_motion_it_is_the_time_varying_optimum():
    """A long brute-force least squares over models of python-control's derivatives along the motion, of two links."""
    model = fa.Model(fa.load("rigid-two-link"))
    period, count = 0.05, 40
    reference = fa.Quintic((0.0, 0.3), (1.5, -0.8), 1.0)
    given = Predictive(reference, horizon=3, Q=[20.0, 20.0, 1.0, 1.0], R=0.05)
    steps = given.stepper(model, period)
    course = steps.course
    rows = course.at(0, count + 1)
    r, v = course.r[rows], course.v[rows]
    x = r[0] + np.array([0.02, -0.03, 0.1, 0.05])
    states, inputs = 4, 2
    of_u, free = np.zeros((count + 1, states, count * inputs)), np.zeros((count + 1, states))
    free[0] = x - r[0]
    plant = fa.Stepper(model, period)
    for i in range(count):
        middle = (r[i] + r[i + 1]) / 2
        A, B = (np.asarray(X) for X in (lambda s: (s.A, s.B))(model.linearize(middle[:2], middle[2:], v[i])))
        both = expm(np.block([[A, B], [np.zeros((2, 6))]]) * period)
        F, G = both[:4, :4], both[:4, 4:]
        plant.reset(r[i, :2], r[i, 2:])
        off = plant.step(v[i]) - r[i + 1]
        of_u[i + 1], free[i + 1] = F @ of_u[i], F @ free[i] + off
        of_u[i + 1][:, i * 2 : i * 2 + 2] = G
    F, G = linear(model, r[-1][:2], v[-1], period)
    Q, R = np.diag([20.0, 20.0, 1.0, 1.0]), 0.05 * np.eye(2)
    W = block_diag(*[Q] * count, riccati(F, G, Q, R))
    S, s = of_u.reshape(-1, count * inputs), free.ravel()
    U = np.linalg.solve(S.T @ W @ S + 0.05 * np.eye(count * inputs), -S.T @ W @ s)
    u = steps(0.0, x)
    assert np.abs(free[:, 0]).max() > 1e-3
    np.testing.assert_allclose(u, v[0] + U[:2], atol=1e-5 * np.abs(v).max())


def test_the_horizon_sees_what_comes(beam):
    """The motion asks for more torque than there is, after a rest: whoever sees that begins before it."""
    motion = swing(beam, wait=0.3)
    assert np.abs(motion.u).max() > 1.0
    free, _ = plan_of(Predictive(motion, **WEAK), beam, np.zeros(6), 0.02)
    for horizon, early in ((10, False), (25, True)):
        u, _ = plan_of(Predictive(motion, limit=0.5, horizon=horizon, **WEAK), beam, np.zeros(6), 0.02)
        assert abs(u[0] - free[0]) > 0.05 if early else u == pytest.approx(free, abs=1e-12)


def test_where_it_is_linearised_makes_no_difference_to_what_is_linear(rotor):
    plans = []
    for about in ("reference", "state", "prediction"):
        steps = Predictive(fa.Quintic((0.0,), (2.0,), 1.0), limit=3.0, horizon=12, about=about, **WEIGHTS).stepper(
            rotor, T
        )
        plans.append([steps(T * k, np.array([0.1 + 0.05 * k, 0.3])) for k in range(5)])
        assert steps.active
    np.testing.assert_allclose(plans[1], plans[0], atol=1e-7)
    np.testing.assert_allclose(plans[2], plans[0], atol=1e-7)


def test_real_time_iteration_comes_to_rest_at_the_nonlinear_optimum():
    """At one state again and again: the gradient of what the arm itself pays is zero, by differences of its motion."""
    model = fa.Model(fa.load("rigid-two-link"))
    period, N, x = 0.05, 12, np.array([1.2, -0.9, 0.0, 0.0])
    Q, R = np.array([20.0, 20.0, 1.0, 1.0]), 0.02
    steps = Predictive((0.0, 0.5), horizon=N, about="prediction", Q=Q, R=R).stepper(model, period)
    slopes = []
    for _ in range(12):
        steps(0.0, x)
    course, plant = steps.course, fa.Stepper(model, period)
    P = course.best.P[-1][:-1, :-1] * np.outer(course.S, course.S)

    def paid(u):
        total, state = 0.0, plant.reset(x[:2], x[2:])
        for each in u.reshape(N, 2):
            e = state - course.r[0]
            total += e @ (Q * e) + R * (each - course.v[0]) @ (each - course.v[0])
            state = plant.step(each)
        return total + (state - course.r[0]) @ P @ (state - course.r[0])

    for u in (steps.plan.u.ravel(), np.zeros(2 * N)):
        h = 1e-4 * np.eye(2 * N)
        slopes.append(np.abs([paid(u + each) - paid(u - each) for each in h]).max() / 2e-4)
    assert slopes[0] < 0.01 * slopes[1]


# -- in a run ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("about", "over"), [("reference", 0.005), ("state", 1e-4), ("prediction", 1e-4)])
def test_limits_hold_on_the_arm_itself(beam, about, over):
    """A swing of a radian, which the limits make late. At the samples the deflection keeps to its limit: the
    closer, the nearer to the motion the arm is linearised; between them the second mode adds a little."""
    reference, bound = fa.Quintic((0.0,), (1.0,), 1.2), 0.01
    free = Predictive(reference, **WEAK, horizon=30, about=about)
    held = replace(free, limit=0.45, rate_limit=20.0, deflection=bound)
    deflections, torques = [], []
    for given in (free, held):
        result = fa.simulate(beam, 2.4, u=Sampled(given, 0.02), samples=241, progress=False)
        deflections.append(np.abs(result.deflection.sel(axis="y").values[:, 0]))
        torques.append(result.u.values[::2, 0])
        assert result.attrs["predictive_steps"] == 120
    assert deflections[0].max() > 2 * bound
    assert deflections[1][::2].max() < (1 + over) * bound
    assert deflections[1].max() < 1.02 * bound
    assert np.abs(torques[0]).max() > 1.0
    assert np.abs(torques[1]).max() == pytest.approx(0.45, rel=1e-9)
    assert np.abs(np.diff(torques[1])).max() == pytest.approx(20.0 * 0.02, rel=1e-9)
    assert result.attrs["predictive_failed"] == 0
    assert 0 < result.attrs["predictive_active"] < 120


def test_a_delay_is_predicted_over(rotor):
    """The arm drifts while nothing arrives, and then moves as one without delay that begins there."""
    q, qd, d = 1.5, -0.4, 3
    given = Predictive(0.0, limit=1.0, horizon=15, **WEIGHTS)
    late = fa.simulate(rotor, 2.0, q0=[q], qd0=[qd], u=Sampled(given, T, delay=d * T), samples=21, progress=False)
    now = fa.simulate(rotor, 1.7, q0=[q + qd * d * T], qd0=[qd], u=Sampled(given, T), samples=18, progress=False)
    np.testing.assert_allclose(late.u.values[:d], 0.0)
    np.testing.assert_allclose(late.q.values[d:], now.q.values, atol=1e-8)
    ignored = Sampled(replace(given, delay=0.0), T, delay=d * T)
    other = fa.simulate(rotor, 2.0, q0=[q], qd0=[qd], u=ignored, samples=21, progress=False)
    assert np.abs(other.q.values[d:] - now.q.values).max() > 0.05


def test_what_is_late_follows_the_reference_of_its_time(rotor):
    """Two periods later, where the arm will have drifted."""
    given = Predictive(fa.Quintic((0.0,), (2.0,), 1.5), limit=30.0, horizon=8, **WEIGHTS)
    late, _ = plan_of(replace(given, delay=2 * T), rotor, (0.1, 0.5), t=3 * T)
    drifted = (0.1 + 2 * T * 0.5, 0.5)
    now, _ = plan_of(given, rotor, drifted, t=5 * T)
    before, _ = plan_of(given, rotor, drifted, t=3 * T)
    assert abs(now - before) > 0.1
    np.testing.assert_allclose(late, now, atol=1e-9)


def test_longer_steps_keep_to_the_limits_in_each_period(rotor):
    """Along a motion whose torques change over a step; the jump into a step may be that of its periods together."""
    t = np.linspace(0.0, 3.0, 601)
    wave = SimpleNamespace(times=t, q=1.0 - np.cos(t)[:, None], qd=np.sin(t)[:, None], u=J * np.cos(t)[:, None])
    lengths = [1, 2, 3, 4, 5]
    for start in ((-2.0, 0.0), (3.0, 2.0)):
        _, steps = plan_of(Predictive(wave, limit=0.6, horizon=lengths, **WEIGHTS), rotor, start)
        assert np.abs(steps.plan.u).max() == pytest.approx(0.6, abs=1e-9)
        _, steps = plan_of(Predictive(wave, rate_limit=2.0, horizon=lengths, **WEIGHTS), rotor, start)
        u, ends = steps.plan.u[:, 0], np.cumsum(lengths)[:-1]
        into = np.abs(np.diff(u))[ends - 1] / (2.0 * T * np.array(lengths[1:]))
        first = abs(u[0] - steps.course.v[0, 0]) / (2.0 * T)
        assert max(first, *into) == pytest.approx(1.0, abs=1e-9)
        assert max(into) > 0.5


def test_what_it_reports(rotor):
    steps = Predictive(0.0, limit=1.0, horizon=15, **WEIGHTS).stepper(rotor, T)
    assert steps.report()["predictive_steps"] == 0
    for k in range(4):
        steps(k * T, np.array([(-3.0, 0.01)[k > 1], 0.0]))
    found = steps.report()
    assert [found[f"predictive_{name}"] for name in ("steps", "programs", "active", "failed")] == [4, 2, 2, 0]
    assert 0 < found["predictive_step_seconds_median"] <= found["predictive_step_seconds_99_percent"]
    assert len(steps.seconds) == 4


HARD = {"limit": 0.5, "outputs": [fa.Encoder(coordinate="rod.drive")], "bounds": 0.2, "penalty": None, "horizon": 10}


def test_without_a_solution_the_last_plan_goes_on(rotor):
    steps = Predictive(0.0, **HARD, **WEIGHTS).stepper(rotor, T)
    steps(0.0, np.array([0.19, 0.0]))
    planned = steps.plan.u.copy()
    match = (
        r"Predictive at t = 0.1 s: no solution within the limits; rod_drive exceeds its limit most, 0.3 s ahead: the "
        r"last plan continues"
    )
    with pytest.warns(fa.errors.NotReached, match=rf"\A{match}\Z"):
        second = steps(T, np.array([0.3, 2.0]))
    third = steps(2 * T, np.array([0.3, 2.0]))  # warns no more
    np.testing.assert_array_equal([second, third], planned[1:3])
    assert steps.failed == 2
    assert steps.report()["predictive_first_failure"] == match[14:].rpartition(":")[0]
    steps(3 * T, np.array([0.1, 0.0]))
    assert steps.failed == 2


@pytest.mark.parametrize("otherwise", ["plan", "lqr"])
def test_without_a_plan_lqr_is_cut_off(rotor, otherwise):
    steps = Predictive(0.0, otherwise=otherwise, **HARD, **WEIGHTS).stepper(rotor, T)
    with pytest.warns(fa.errors.NotReached, match="no solution"):
        assert steps(0.0, np.array([0.3, 2.0])) == pytest.approx([-0.5], abs=1e-12)


def test_without_a_solution_a_run_may_end(rotor):
    given = Sampled(Predictive(0.0, otherwise="raise", **HARD, **WEIGHTS), T)
    with refused(
        r"Predictive at t = 0 s: no solution within the limits; rod_drive exceeds its limit most, 0.3 s ahead",
        FlexarmError,
    ):
        fa.simulate(rotor, 1.0, q0=[0.3], qd0=[2.0], u=given, progress=False)


# -- what is seen ------------------------------------------------------------------------------------------------------

SEEN = [fa.Encoder(coordinate="beam.drive", noise=1e-4), fa.StrainGauge(link="beam", noise=2e-3)]


def test_its_inputs_are_those_of_the_estimate(beam):
    """Sample by sample, along a motion within limits, with a delay and a plan that the filter does not know."""
    period, given = 0.02, Predictive(fa.Quintic((0.0,), (0.5,), 0.5), limit=2.0, horizon=20, delay=0.04, **WEAK)
    seen = Observed(given, SEEN, estimator=EKF(process=0.05, unmodelled=0.2))
    save = fa.SaveAt(samples=61, record=["estimate"])
    result = fa.simulate(beam, 1.2, u=Sampled(seen, period, delay=0.04, seed=3), save=save, progress=False)
    assert result.attrs["predictive_steps"] == 60
    steps = given.stepper(beam, period)
    wanted = np.array([steps(k * period, x) for k, x in enumerate(result.estimate.values[:60])])
    np.testing.assert_allclose(result.u.values[2:60], wanted[:58], rtol=0, atol=1e-12)
    assert np.abs(result.estimate.values[5:, 1] - result.q.values[5:, 1]).max() > 1e-5  # of the beam's modes


def test_a_beam_by_its_encoder_and_a_strain_gauge(beam):
    given = Predictive(fa.Quintic((0.0,), (0.5,), 0.5), limit=2.0, deflection=0.006, horizon=20, **WEAK)
    runs = [
        fa.simulate(beam, 1.2, u=Sampled(each, 0.02, delay=0.02, seed=3), samples=241, progress=False)
        for each in (given, Observed(given, SEEN, estimator=EKF()))
    ]
    for result in runs:
        assert np.abs(result.deflection.sel(axis="y").values).max() < 1.1 * 0.006
    assert np.abs(runs[0].q - runs[1].q).max() < 0.02
    assert np.abs(runs[0].u - runs[1].u).max() > 1e-3


def test_the_estimate_begins_where_a_motion_begins(beam):
    times = np.linspace(0.0, 1.0, 51)
    q = np.column_stack([0.3 + 0.0 * times, 0.0 * times, 0.0 * times])
    motion = SimpleNamespace(times=times, q=q, qd=0 * q, u=np.zeros((51, 1)))
    given = Predictive(motion, limit=2.0, horizon=20, **WEAK)
    seen = Sampled(Observed(given, SEEN, estimator=EKF()), 0.02)
    result = fa.simulate(beam, 0.2, q0=q[0], u=seen, save=fa.SaveAt(record=["estimate"]), progress=False)
    assert np.abs(result.estimate.values[:, 0] - 0.3).max() < 1e-3


def test_sensors_of_its_own_are_refused(beam):
    class Seeing:
        sensors = SEEN

        def stepper(self, model, period):
            return lambda t, y: [0.0]

    with refused("Observed: the controller .*Seeing.* has sensors of its own; leave them out, or leave out Observed"):
        fa.simulate(beam, 0.1, u=Sampled(Observed(Seeing(), SEEN, estimator=EKF()), 0.02), progress=False)


def test_it_may_believe_in_another_arm(beam):
    """One with fewer modes: u is what that arm's controller gives at its share of the state."""
    link = beam.arm.links[0]
    rough = fa.Model(beam.arm.replace(links=[link.replace(body=link.body.replace(modes={"y": 1}))]))
    x = np.array([0.2, 0.001, 0.0005, 0.0, 0.02, -0.03])
    given = Predictive(0.0, limit=0.5, bandwidth=4.0, horizon=10, nominal=rough)
    u, _ = plan_of(given, beam, x, 0.02)
    wanted, _ = plan_of(replace(given, nominal=None), rough, x[[0, 1, 3, 4]], 0.02)
    np.testing.assert_array_equal(u, wanted)


# -- what is refused ---------------------------------------------------------------------------------------------------

FREE = {"bandwidth": 3.0}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"about": "past"}, "about is 'past'; it must be reference, state or prediction"),
        ({"otherwise": 3}, "otherwise is 3; it must be plan, lqr or raise"),
        ({"solver": "simplex"}, "solver is 'simplex'; it must be native, daqp, osqp or piqp"),
        ({"penalty": 0.0}, "penalty is 0.0; it must be positive"),
        ({"delay": -1.0}, "delay is -1.0 s; it must be zero or positive"),
        ({"nominal": 3}, "nominal is 3; it must be a Model"),
        ({"horizon": 0}, "horizon is 0; it must be a whole number, at least 1"),
        ({"horizon": [1, 0]}, r"horizon\[1\] is 0; it must be a whole number, at least 1"),
        ({"horizon": [1, [2, 3]]}, r"horizon\[1\] is \[2, 3\]; it must be a whole number, at least 1"),
        (
            {"horizon": [1] * 501},
            "horizon has 501 steps with 501 periods in total; it must have .* in total",
        ),
        ({"horizon": "long"}, "horizon is 'long'; it must be a whole number, at least 1"),
    ],
)
def test_wrong_numbers_are_refused_at_once(given, message):
    with refused(f"Predictive: {message}"):
        Predictive(0.0, **given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"limit": -1.0}, "Predictive: limit is -1.0; it must be one positive number, or 1 of them, one per actuator"),
        (
            {"rate_limit": [1, 2]},
            r"Predictive: rate_limit is \[1, 2\]; it must be one positive .*",
        ),
        ({"outputs": 3}, "Predictive: outputs is 3; it must be a list of sensors"),
        ({"outputs": TIPS}, "Predictive: outputs need bounds too; give both"),
        (
            {"outputs": TIPS, "bounds": [1, 2, 3]},
            r"Predictive: bounds has shape \(3,\); it must be one .*",
        ),
        ({"outputs": TIPS, "bounds": -1.0}, "Predictive: bounds is -1.0; each lower bound must be below .*"),
        (
            {"outputs": TIPS, "bounds": [[0.0, np.inf]]},
            "Predictive: bounds is .*; a limit of zero alone has no size.*",
        ),
        ({"bounds": [1.0]}, r"Predictive: bounds has shape \(1,\); it must be one number, 0 numbers, or \(0, 2\), .*"),
        (
            {"outputs": [fa.Accelerometer()], "bounds": 1.0},
            "Predictive: outputs: a sensor depends directly on u, as an Accelerometer does; leave it out",
        ),
        ({"delay": 0.03}, "Predictive: delay is 0.03 s; it must be a whole number of periods of 0.02 s, at most 10000"),
        (
            {"reference": (0.0, 1.0)},
            r"Predictive: reference is \(0.0, 1.0\); it must be a reference, .*",
        ),
        ({"reference": SimpleNamespace(times=[0, 1], q=[[0]], qd=[[0]], u=[[0]])}, "Predictive: q has shape .*"),
    ],
)
def test_what_does_not_fit_the_arm_is_refused(beam, given, message):
    with refused(message):
        Predictive(**({"reference": 0.0} | FREE | given)).stepper(beam, 0.02)


def test_arms_it_does_not_know(rotor, beam):
    given = Predictive(0.0, deflection=0.1, **FREE)
    with refused("Predictive: deflection does not apply to arm 'rotor', which has no flexible link; leave it out"):
        given.stepper(rotor, T)
    with refused(
        "Predictive: arm 'beam' has no coordinate 'rod.joint'; the controller was designed for an arm that has it"
    ):
        Predictive(0.0, nominal=rotor, **FREE).stepper(beam, 0.02)
    link = fa.load("industrial-arm").links[1]
    with refused(
        "Predictive: .* is a voltage; the controller returns torques: use a controller that VoltageDrive takes, .*"
    ):
        Predictive(0.0, **FREE).stepper(fa.Model(fa.Arm(name="wound", links=[link])), T)
    with refused(r"u is a Predictive, which is called once per period; use Sampled\(\.\.\.\)"):
        fa.simulate(rotor, 1.0, u=Predictive(0.0, **FREE), progress=False)


@pytest.mark.parametrize(
    ("period", "message"),
    [
        (None, "period is None; it must be a number in s"),
        (0.0, "period is 0.0 s; it must be positive"),
        (1e-6, r"period is 1e-06 s; the motion of .* s has 1e\+06 periods, and at most 100000 are allowed"),
    ],
)
def test_wrong_periods(rotor, period, message):
    with refused(f"Predictive: {message}"):
        Predictive(fa.Quintic((0.0,), (1.0,), 1.0), **FREE).stepper(rotor, period)


SLEW = """
name = "swing"
arm = "rigid-two-link"
until = 0.4
samples = 41
[reference]
type = "quintic"
start = [0.0, 0.3]
end = [0.2, 0.5]
duration = 0.3
[controller]
type = "predictive"
bandwidth = 8.0
limit = 30.0
horizon = 10
"""


def test_in_a_file(tmp_path):
    """The limits are the controller's and its actuators', the nominal arm and the delay its own."""
    path = tmp_path / "swing.toml"
    seen = 'outputs = [{ type = "tachometer", coordinate = "upper.joint" }]\nbounds = 0.9\n'
    path.write_text(SLEW + seen + 'period = 0.02\ndelay = 0.02\nnominal = "rigid-two-link"\n', encoding="utf-8")
    by_file = fa.load_scenario(path).run(progress=False)
    model = fa.Model(fa.load("rigid-two-link"))
    given = Predictive(fa.Quintic((0.0, 0.3), (0.2, 0.5), 0.3), limit=30.0, bandwidth=8.0, horizon=10, nominal=model)
    given = replace(given, outputs=[fa.Tachometer(coordinate="upper.joint")], bounds=0.9)
    wanted = fa.simulate(model, 0.4, u=Sampled(given, 0.02, delay=0.02), samples=41, progress=False)
    np.testing.assert_allclose(by_file.u, wanted.u, atol=1e-9)
    assert np.abs(by_file.u.values).max() == pytest.approx(30.0, rel=1e-9)
    path.write_text(SLEW + "period = 0.02\noutputs = [3]\n", encoding="utf-8")
    with refused(r".*controller.outputs\[0\] is 3; it must be a table with a type"):
        fa.load_scenario(path)
    path.write_text(SLEW, encoding="utf-8")
    with refused(r".*controller.period is missing; a predictive controller needs its sampling period"):
        fa.load_scenario(path)


def test_on_estimates_in_a_file(tmp_path):
    path = tmp_path / "seen.toml"
    inner, after = SLEW.split("[controller]\n")
    places = ("upper.joint", "fore.joint")
    sensors = ", ".join(f'{{ type = "encoder", coordinate = "{x}", noise = 1e-3 }}' for x in places)
    path.write_text(
        f'{inner}[controller]\ntype = "observed"\nperiod = 0.02\ndelay = 0.02\nsensors = [{sensors}]\n'
        f'estimator = {{ type = "ekf" }}\n[controller.controller]\n{after}',
        encoding="utf-8",
    )
    by_file = fa.load_scenario(path).run(progress=False)
    given = Predictive(fa.Quintic((0.0, 0.3), (0.2, 0.5), 0.3), limit=30.0, bandwidth=8.0, horizon=10)
    sensors = [fa.Encoder(coordinate=x, noise=1e-3) for x in places]
    seen = Sampled(Observed(given, sensors, estimator=EKF()), 0.02, delay=0.02)
    wanted = fa.simulate("rigid-two-link", 0.4, u=seen, samples=41, progress=False)
    np.testing.assert_allclose(by_file.u, wanted.u, atol=1e-9)


def test_a_free_base_and_drives_with_states():
    with refused("Predictive: the base of arm 'canadarm-free' is free, and the controller needs a fixed base; use LQR"):
        Predictive(0.0).stepper(fa.Model(fa.load("canadarm-free")), T)
    bristles = fa.Friction(coulomb=0.1, model="lugre", bristle_stiffness=1e3, bristle_damping=1.0)
    joint = fa.Revolute(axis=(0, 0, 1), rotor_inertia=0.02, drive=fa.Drive(friction=bristles))
    link = fa.Link(name="l", joint=joint, body=fa.Rigid(length=0.5, mass=1.0))
    with refused(
        "Predictive: arm 'rubs': the prediction does not include states of drives, such as l.friction.bristle; .*"
    ):
        Predictive(0.0, **FREE).stepper(fa.Model(fa.Arm(name="rubs", links=[link])), T)
