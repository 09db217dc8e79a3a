"""Extended and unscented filters: textbook filters, differences, random runs, and loops."""

import ctypes
from dataclasses import fields, replace

import numpy as np
import pytest
import xarray as xr
from driven_loops import four_bar
from scipy import linalg, optimize, stats

import flexarm as fa
from flexarm.control import DesignedFor, Integral, JointPD, Observed, Sampled, Saturated
from flexarm.estimation import EKF, UKF, MovingHorizon, consistency, estimate
from flexarm.estimation.horizon import outdated
from flexarm.estimation.loops import triangulated
from flexarm.native.functions import translated
from flexarm.sensors import Accelerometer, Encoder, StrainGauge, Tachometer

ARM = fa.load("subudhi-morris")
PAYLOAD = "payload.mass"
PERIOD = 2e-3
ENCODERS = [Encoder(coordinate=f"{link}.joint", noise=2e-4) for link in ("upper", "fore")]

BAR = fa.Rigid(length=0.7, mass=0.4)
ELASTIC = fa.Revolute(rotor_inertia=0.03, stiffness=6.0, spring_damping=0.02, damping=0.05)
LINEAR = fa.Arm(name="linear", links=[fa.Link(name="bar", joint=ELASTIC, body=BAR)])
"""Motor and bar on a spring: its equations are linear."""
GIVEN = [Encoder(coordinate="bar.motor", noise=3e-3), Tachometer(coordinate="bar.joint", noise=2e-2)]
TORQUE = 0.3
SIGMA = np.array([3e-3, 2e-2])


def equations():
    """A and B of the linear arm's step by the classical Runge-Kutta method: the exponential's first five terms."""
    J, I, k, c, b = 0.03, 0.4 * 0.7**2 / 3, 6.0, 0.02, 0.05
    M, K = np.diag([I, J]), k * np.array([[1.0, -1.0], [-1.0, 1.0]])  # of the bar and of the motor
    D = c * np.array([[1.0, -1.0], [-1.0, 1.0]])
    model = fa.Model(LINEAR)
    bar, motor = model.coordinates.index("bar.joint"), model.coordinates.index("bar.motor")
    D[0, 0] += b
    order = np.argsort([bar, motor])
    M, K, D = (X[np.ix_(order, order)] for X in (M, K, D))
    A = np.block([[np.zeros((2, 2)), np.eye(2)], [-np.linalg.solve(M, K), -np.linalg.solve(M, D)]])
    B = np.vstack([np.zeros((2, 1)), np.linalg.solve(M, np.eye(2)[:, [motor]])])
    whole = PERIOD * np.block([[A, B], [np.zeros((1, 5))]])
    F = sum(np.linalg.matrix_power(whole, i) / np.prod(range(1, i + 1)) for i in range(5))
    C = np.zeros((2, 4))
    C[0, motor], C[1, 2 + bar] = 1.0, 1.0
    return F[:4, :4], F[:4, 4:], C


def kalman(A, B, C, Q, R, P, x, y, u):
    """The textbook filter after each correction: estimates, deviations, innovations and their squares, covariances."""
    found = []
    for k in range(len(y)):
        if k:
            x, P = A @ x + B @ u[k - 1], A @ P @ A.T + Q
        S, e = C @ P @ C.T + R, y[k] - C @ x
        L = P @ C.T @ np.linalg.inv(S)
        x, P = x + L @ e, (np.eye(len(x)) - L @ C) @ P
        found.append((x, np.sqrt(np.diag(P)), e, np.sqrt(np.diag(S)), e @ np.linalg.solve(S, e), P))
    return [np.array(each) for each in zip(*found, strict=True)]


def linear_data(count=150):
    rng = np.random.default_rng(4)
    y = SIGMA * rng.standard_normal((count, 2)) + 0.05
    return y, rng.standard_normal((count, 1))


def over_time(y, u, period):
    names = {name: ("time", column) for name, column in zip("ab", y.T, strict=True)}
    return xr.Dataset({"u": (("time", "input"), u), **names}, coords={"time": period * np.arange(len(y))})


@pytest.mark.parametrize("kind", [EKF, UKF])
def test_a_linear_arm_has_the_textbook_filter(kind):
    """With a torque that wanders, and random accelerations and torques."""
    y, u = linear_data()
    A, B, C = equations()
    drift, size, W, push = 0.4, 0.25, TORQUE, 0.8
    first = np.array([0.02, 0.03, 0.2, 0.3])
    estimator = kind(
        disturbances={"bar.motor": size}, drift={"bar.motor": drift}, process=W, unmodelled=push, deviation=first
    )
    truth = fa.simulate(LINEAR, PERIOD * (len(y) - 1), 0.2, q0=[0.13, 0.17], samples=len(y), progress=False)
    found = estimate(
        LINEAR,
        over_time(y, u, PERIOD),
        {"a": GIVEN[0], "b": GIVEN[1]},
        estimator,
        between="held",
        q0=[0.1, 0.2],
        truth=truth,
        values={"torque of bar.motor": 0.2},
    )
    wide = np.block([[A, B], [np.zeros((1, 4)), np.eye(1)]])
    random = np.vstack([PERIOD**2 / 2 * np.eye(2), PERIOD * np.eye(2), np.zeros((1, 2))]) * push
    torque = W * np.vstack([B, [[0.0]]])
    Q = torque @ torque.T + random @ random.T
    Q[4, 4] += PERIOD * drift**2
    P = np.diag([*first, size]) ** 2
    start = np.array([0.1, 0.2, 0.0, 0.0, 0.0])
    x, sigma, e, spread, nis, P = kalman(
        wide, np.vstack([B, [[0.0]]]), np.hstack([C, np.zeros((2, 1))]), Q, np.diag(SIGMA**2), P, start, y, u
    )
    assert found.estimate.values == pytest.approx(x, rel=1e-9, abs=1e-11)
    assert found.deviation.values == pytest.approx(sigma, rel=1e-9)
    assert found.innovation.values == pytest.approx(e, rel=1e-9, abs=1e-11)
    assert found.innovation_deviation.values == pytest.approx(spread, rel=1e-9)
    assert found.nis.values == pytest.approx(nis, rel=1e-8)
    error = np.hstack([truth.q.values, truth.qd.values, np.full((len(y), 1), 0.2)]) - x
    nees = np.einsum("ti,ti->t", error, np.linalg.solve(P, error[..., None])[..., 0])
    assert found.nees.values == pytest.approx(nees, rel=1e-6)
    assert list(found.state.values[[0, 2, 4]]) == ["bar.joint", "bar.joint.rate", "torque of bar.motor"]


def test_by_default_the_covariance_is_stationary_from_the_start():
    """SciPy's solution of Riccati's equation, for the arm's exponential and not its Runge-Kutta steps."""
    y, u = linear_data(40)
    found = estimate(
        LINEAR, over_time(y, u, PERIOD), {"a": GIVEN[0], "b": GIVEN[1]}, EKF(process=TORQUE), between="held"
    )
    system = fa.Model(LINEAR).linearize()
    exact = linalg.expm(PERIOD * np.block([[system.A, system.B], [np.zeros((1, 5))]]))
    A, B = exact[:4, :4], exact[:4, 4:]
    _, _, C = equations()
    random = np.vstack([PERIOD**2 / 2 * np.eye(2), PERIOD * np.eye(2)])
    Q, R = TORQUE**2 * B @ B.T + random @ random.T, np.diag(SIGMA**2)
    before = linalg.solve_discrete_are(A.T, C.T, Q, R)
    after = before - before @ C.T @ np.linalg.solve(C @ before @ C.T + R, C @ before)
    wanted = np.broadcast_to(np.sqrt(np.diag(after)), (40, 4))
    assert found.deviation.values == pytest.approx(wanted, rel=2e-5)
    assert found.innovation_deviation.values[-1] == pytest.approx(np.sqrt(np.diag(C @ before @ C.T + R)), rel=2e-5)


def test_a_resolution_is_noise_of_its_standard_deviation():
    y, u = linear_data(20)
    pair = [{"noise": 3e-3, "resolution": 0.02}, {"noise": np.hypot(3e-3, 0.02 / np.sqrt(12.0))}]
    found = [
        estimate(LINEAR, over_time(y, u, PERIOD), {"a": Encoder(coordinate="bar.motor", **each), "b": GIVEN[1]})
        for each in pair
    ]
    assert found[0].deviation.values == pytest.approx(found[1].deviation.values, rel=1e-9)


# -- derivatives -------------------------------------------------------------------------------------------------------

TRUE = {"sensors": [*ENCODERS, StrainGauge(link="upper", noise=1e-3)], "p": 0.13, "push": 0.05}


def moved(model, x, mass, torque, h, steps):
    """Runge-Kutta's classical method in Python."""
    n = model.nv

    def rate(x):
        return np.concatenate([x[n:], model.forward_dynamics(x[:n], x[n:], torque, p=[mass])])

    for _ in range(steps):
        a = rate(x)
        b = rate(x + h / 2 * a)
        c = rate(x + h / 2 * b)
        d = rate(x + h * c)
        x = x + h / 6 * (a + 2 * b + 2 * c + d)
    return x


def test_the_covariance_follows_the_derivatives_of_a_step_and_of_the_readings():
    """Against central differences of an independent step: states, logarithm of a mass, torque, random torques."""
    rng, h = np.random.default_rng(2), 1.5e-3
    sensors = [*TRUE["sensors"], Accelerometer(axes="y", noise=0.4)]
    estimator = EKF(
        parameters={PAYLOAD: 0.04},
        start={PAYLOAD: TRUE["p"]},
        disturbances={"fore.joint": 0.1, "upper.joint": 0.15},
        process=(0.2, 0.0),
        unmodelled=0.0,
        deviation=0.05,
        step=h,
    )
    q, qd = 0.1 * rng.standard_normal(6) + (0.4, 0.9, 0, 0, 0, 0), rng.standard_normal(6)
    running = estimator.begin(fa.Model(ARM), sensors, 2 * h, q, qd)
    model, u = fa.Model(ARM, vary=[PAYLOAD]), np.array([0.3, -0.2])
    seen = fa.outputs(model, sensors)

    def step(X, random=0.0):
        return moved(model, X[:12], TRUE["p"] * np.exp(X[12]), u + (random + X[14], X[13]), h, 2)

    def read(X):
        return seen.values(X[:6], X[6:12], u + (X[14], X[13]), p=[TRUE["p"] * np.exp(X[12])])

    def slope(function, X):
        return np.array([(function(X + d) - function(X - d)) / 2e-5 for d in 1e-5 * np.eye(15)]).T

    X, P = np.concatenate([q, qd, [0.0, 0.0, 0.0]]), np.diag([*[0.05] * 12, 0.04 / TRUE["p"], 0.1, 0.15]) ** 2
    assert running.covariance == pytest.approx(P)
    for k in range(3):
        y = read(X) + rng.standard_normal(4) * (2e-4, 2e-4, 1e-3, 0.4)
        running.sample(y, u, k > 0)
        if k:
            F = np.vstack([slope(step, X), np.eye(15)[12:]])
            G = np.append((step(X, 1e-5) - step(X, -1e-5)) / 2e-5, [0.0, 0.0, 0.0]) * 0.2
            X, P = np.append(step(X), X[12:]), F @ P @ F.T + np.outer(G, G)
        C = slope(read, X)
        S = C @ P @ C.T + np.diag([2e-4, 2e-4, 1e-3, 0.4]) ** 2
        L = np.linalg.solve(S, C @ P).T
        e = y - read(X)
        X, P = X + L @ e, P - L @ C @ P
        assert running.innovation == pytest.approx(e, rel=1e-6, abs=1e-9)
        assert running.nis == pytest.approx(e @ np.linalg.solve(S, e), rel=1e-4)
        scale = np.sqrt(np.diag(P))
        assert running.covariance / np.outer(scale, scale) == pytest.approx(P / np.outer(scale, scale), abs=2e-4)
        assert np.append(X[:12], [TRUE["p"] * np.exp(X[12]), X[13], X[14]]) == pytest.approx(
            running.estimate, rel=1e-5, abs=1e-8
        )
        assert running.deviation[12] == pytest.approx(running.estimate[12] * scale[12], rel=1e-4)


def test_the_triangle_has_the_product_of_its_rows():
    """In Python: the same function that is translated."""
    rng = np.random.default_rng(1)
    T = rng.standard_normal((9, 8))
    T[:, 6:] = 0.0
    T[:4, 2] = 0.0
    given = T.copy()
    triangulated(T.ravel(), 9, 6, 8, np.zeros(8))
    R = np.triu(T[:6, :6])
    assert R.T @ R == pytest.approx(given[:, :6].T @ given[:, :6], abs=1e-13)


# -- statistics --------------------------------------------------------------------------------------------------------

WAVES = np.arange(0.0, 0.3 + 1e-9, PERIOD)
DRIVING = np.stack([0.2 * np.sin(6 * WAVES) + 0.1 * np.sin(23 * WAVES), 0.1 * np.cos(9 * WAVES)], axis=1)


NOISE = {"parameters": {PAYLOAD: 0.01}, "process": 1e-2, "unmodelled": 0.5}
RUNS = 20


@pytest.fixture(scope="module")
def random_runs():
    """Motions as the filter expects them: random start, mass, torques and accelerations. Data, truth and mass of each.

    Both filters have the same initial covariance.
    """
    model, found = fa.Model(ARM, vary=[PAYLOAD]), []
    running = EKF(**NOISE).begin(fa.Model(ARM), ENCODERS, PERIOD)
    factor = np.linalg.cholesky(running.covariance)
    coords = {"time": WAVES, "coordinate": list(model.coordinates), "velocity": list(model.velocities)}
    for seed in range(RUNS):
        rng = np.random.default_rng(seed)
        X = np.append(running.estimate[:12], 0.0) + factor @ rng.standard_normal(13)
        mass = float(ARM.payload.mass * np.exp(X[12]))
        stepper = fa.Stepper(model.at({PAYLOAD: mass}), PERIOD, method="rk4", step=PERIOD / running.steps)
        u = DRIVING + NOISE["process"] * rng.standard_normal(DRIVING.shape)
        x = [X[:12]]
        for k in range(len(WAVES) - 1):
            stepper.reset(x[-1][:6], x[-1][6:])
            a = NOISE["unmodelled"] * rng.standard_normal(6)
            x.append(stepper.step(u[k]) + np.concatenate([PERIOD**2 / 2 * a, PERIOD * a]))
        x = np.array(x)
        y = x[:, :2] + 2e-4 * rng.standard_normal((len(WAVES), 2))
        truth = xr.Dataset({"q": (("time", "coordinate"), x[:, :6]), "qd": (("time", "velocity"), x[:, 6:])}, coords)
        found.append((over_time(y, DRIVING, PERIOD), truth, mass))
    return found


@pytest.mark.parametrize("kind", [EKF, UKF])
def test_errors_and_innovations_are_as_large_as_the_filter_says(kind, random_runs):
    """NEES and NIS of many random runs are within their chi-square bounds, but not if the assumed noise is wrong."""
    estimator = kind(**NOISE)
    outputs = dict(zip("ab", ENCODERS, strict=True))
    found = consistency(
        [
            estimate(ARM, data, outputs, estimator, between="held", truth=truth, values={PAYLOAD: mass})
            for data, truth, mass in random_runs
        ]
    )
    low, high = stats.chi2.ppf([0.025, 0.975], RUNS * 13) / RUNS
    assert found.nees.attrs["bounds"] == pytest.approx([low, high])
    assert found.nis.attrs["bounds"] == pytest.approx(stats.chi2.ppf([0.025, 0.975], RUNS * 2) / RUNS)
    assert found.nees.attrs["inside"] > 0.85
    assert found.nis.attrs["inside"] > 0.9
    least, most = found.nis.attrs["mean_bounds"]
    assert least < found.nis.attrs["mean"] < most
    assert np.abs(found.correlation.values).max() < 1.5 * found.correlation.attrs["bounds"][1]
    quiet = [Encoder(coordinate=each.coordinate, noise=1e-4) for each in ENCODERS]
    data, truth, mass = random_runs[0]
    wrong = consistency(
        estimate(ARM, data, dict(zip("ab", quiet, strict=True)), estimator, between="held", truth=truth)
    )
    assert wrong.nis.attrs["mean"] > 1.5 * wrong.nis.attrs["mean_bounds"][1]
    assert wrong.nees.attrs["states"] == 12


@pytest.mark.parametrize("kind", [EKF, UKF])
def test_the_payload_is_found_from_encoders(kind):
    """From a simulation with another integrator, whose payload is 30 % heavier than the guess."""
    real = fa.Model(ARM.replace(payload=ARM.payload.replace(mass=0.13)))
    times = np.arange(0.0, 1.0 + 1e-9, PERIOD)
    u = np.stack([0.2 * np.sin(6 * times) + 0.1 * np.sin(23 * times), 0.1 * np.cos(9 * times)], axis=1)
    table = fa.inputs.Table(times, u)
    run = fa.simulate(real, 1.0, table, samples=len(times), method="dop853", progress=False)
    data = fa.sensor_readings(ENCODERS, real, run, seed=5).assign(u=run.u)
    estimator = kind(parameters={PAYLOAD: 0.05}, process=1e-3, unmodelled=0.05)  # errors of the steps, and little else
    found = estimate(ARM, data, ENCODERS, estimator)
    mass, sigma = (found[name].sel(state=PAYLOAD).values for name in ("estimate", "deviation"))
    assert abs(mass[-1] - 0.13) < 2 * sigma[-1]
    assert sigma[-1] < 2e-3
    assert abs(mass[1] - 0.1) < 0.02


# -- loops -------------------------------------------------------------------------------------------------------------

SLEW = fa.Quintic((0.0, 0.0), (0.8, 0.4), 0.3)
HOLD = JointPD(SLEW, 5.0, 1.0)


def loop(estimator, until=0.4, **sampling):
    law = Observed(HOLD, TRUE["sensors"], estimator=estimator)
    names = ["measured", "estimate", "deviation", "innovation", "nis", "command"]
    real = fa.Model(ARM.replace(payload=ARM.payload.replace(mass=TRUE["p"])))
    return fa.simulate(
        real,
        until,
        u=Sampled(DesignedFor(law, fa.Model(ARM)), PERIOD, **sampling),
        disturbance={"upper.joint": TRUE["push"]},
        save=fa.SaveAt(record=names),
        samples=round(until / PERIOD) + 1,
        progress=False,
    )


@pytest.mark.parametrize("kind", [EKF, UKF])
def test_in_a_loop_the_filter_is_that_of_the_record(kind):
    """The torques that it uses are those that reach the arm, after limit and delay."""
    estimator = kind(parameters={PAYLOAD: 0.05}, disturbances={"upper.joint": 0.1}, process=1e-3, unmodelled=0.1)
    run = loop(estimator, limit=1.0, delay=2 * PERIOD, seed=3)
    assert np.abs(run.u.values).max() == 1.0 < np.abs(run.command.values).max()
    y = run.measured.values
    data = xr.Dataset({"u": run.u, **{name: ("time", y[:, i]) for i, name in enumerate("abc")}}, {"time": run.time})
    found = estimate(ARM, data, dict(zip("abc", TRUE["sensors"], strict=True)), estimator, between="held")
    rows = slice(None, -1)  # the end of a run has no sample
    for name in ("estimate", "deviation", "innovation", "nis"):
        assert run[name].values[rows].ravel() == pytest.approx(found[name].values[rows].ravel(), rel=1e-9, abs=1e-12)
    assert abs(run.estimate.values[-1, 12] - TRUE["p"]) < 3 * run.deviation.values[-1, 12]
    assert abs(run.estimate.values[-1, 13] - TRUE["push"]) < 3 * run.deviation.values[-1, 13]
    assert run.deviation.values[-1, 12] < 0.01


def test_a_law_with_a_memory_runs_on_estimates_as_on_the_state():
    """The memory of an integral follows the torque that reached the arm."""
    quiet = [Encoder(coordinate=name, noise=1e-7) for name in ("upper.joint", "fore.joint")]
    quiet += [Tachometer(coordinate=name, noise=1e-6) for name in ("upper.joint", "fore.joint")]
    controller = Integral(JointPD(SLEW, 5.0, 1.0), 3.0)
    options = {"until": 0.4, "samples": 101, "progress": False}
    model = fa.Model(ARM)
    runs = [
        fa.simulate(model, u=Sampled(law, PERIOD, limit=1.5), **options)
        for law in (controller, Observed(controller, quiet, estimator=EKF(process=1e-4, unmodelled=0.1)))
    ]
    assert np.abs(runs[0].u.values - runs[1].u.values).max() < 2e-3
    assert np.abs(runs[0].q_ref.values - runs[1].q_ref.values).max() == 0.0


# -- errors ------------------------------------------------------------------------------------------------------------

DATA = over_time(np.zeros((9, 2)), np.zeros((9, 2)), PERIOD)
SEEN = dict(zip("ab", ENCODERS, strict=True))


def estimated(*, model=ARM, data=DATA, outputs=SEEN, estimator=None, **more):
    return estimate(model, data, outputs, estimator, **more)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: EKF(parameters=[PAYLOAD]),
            r"EKF: parameters is \['payload.mass'\]; it must be a dict of stand",
        ),
        (lambda: EKF(parameters={PAYLOAD: 0.0}), r"EKF: parameters of payload.mass is 0.0; it must be positive"),
        (lambda: UKF(drift={"x": -1.0}), r"UKF: drift of x is -1.0; it must be zero or positive"),
        (lambda: EKF(start=3), r"EKF: start is 3; it must be a dict of initial guesses by name"),
        (lambda: EKF(start={"x": "y"}), r"EKF: start of x is 'y'"),
        (lambda: EKF(unmodelled=-1.0), r"EKF: unmodelled is -1.0"),
        (lambda: MovingHorizon(horizon=0), r"MovingHorizon: horizon is 0"),
        (lambda: MovingHorizon(iterations=20_000), r"MovingHorizon: iterations is 20000; at most 10000 are allowed"),
        (lambda: EKF(process=[0.1, -0.1]), r"EKF: process is \[0.1, -0.1\]; standard deviations must be zero or posit"),
        (lambda: EKF(step=0.0), r"EKF: step is 0.0"),
        (lambda: estimated(estimator=EKF), r"estimate: estimator is the class EKF; it must be an EKF, a UKF"),
        (
            lambda: estimated(estimator=EKF(deviation=-1.0)),
            r"EKF: deviation is -1.0; standard deviations must be posit",
        ),
        (
            lambda: estimated(estimator=EKF(parameters={PAYLOAD: 0.1, "mP": 0.1})),
            r"EKF: parameters: 'payload.mass' and 'mP' are the same parameter; give one of them",
        ),
        (
            lambda: estimated(estimator=EKF(parameters={PAYLOAD: 0.1}, start={PAYLOAD: -1.0})),
            r"EKF: start: p: payload.mass is -1.0 kg; it must be positive",
        ),
        (lambda: estimated(between="cubic"), r"estimate: between is 'cubic'; it must be linear or held"),
        (lambda: estimated(estimator=EKF(disturbances={"upper": 1.0})), r"EKF: disturbances: unknown input 'upper'"),
        (
            lambda: estimated(estimator=EKF(drift={PAYLOAD: 1.0})),
            r"EKF: drift: no unknown has the name 'payload.mass'; parameters and disturbances name the unknowns",
        ),
        (
            lambda: estimated(estimator=EKF(disturbances={"upper.joint": 1.0}, drift={"upper": 1.0})),
            r"EKF: drift: no unknown has the name 'upper'; did you mean 'upper.joint'\?",
        ),
        (
            lambda: EKF(parameters={"payload": {"mass": 0.1}}),
            r"EKF: parameters of payload is .*; it must be a number; in a file, write a name with a dot in quotes",
        ),
        (
            lambda: estimated(model=fa.Model(ARM, vary=["payload.mass"]), estimator=EKF(parameters={"fore.EI": 0.1})),
            r"EKF: the model does not vary 'fore.EI'; it varies payload.mass",
        ),
        (
            lambda: estimated(estimator=EKF(deviation=[0.1])),
            r"EKF: deviation has shape \(1,\); it must be one positive",
        ),
        (lambda: estimated(estimator=EKF(step=1e-6)), r"EKF: the filter needs 2000 steps in a period of 0.002 s"),
        (lambda: estimated(outputs={"a": Encoder(coordinate="upper.joint")}), r"EKF: Encoder has neither noise nor"),
        (lambda: estimated(outputs={"a": StrainGauge(link="upper", noise=1e-3)}), r"EKF: there is no stationary covar"),
        (
            lambda: estimated(model=four_bar(), inputs={}, outputs=[Encoder(coordinate="crank.joint", name="a")]),
            r"EKF: arm 'four-bar' has closures, which the filter does not support",
        ),
        (
            lambda: estimated(outputs={"a": fa.TipPosition(axes="xy", noise=1e-3)}),
            r"estimate: outputs: 'a' is a sensor with several signals; give a list of sensors instead",
        ),
        (
            lambda: estimated(inputs={"upper": "a"}),
            r"estimate: inputs: unknown input 'upper'; did you mean 'upper.jo",
        ),
        (lambda: estimated(inputs={"upper.joint": "c"}), r"record 1 has no 'c' for input upper.joint"),
        (
            lambda: estimated(data=DATA[["a", "b"]]),
            r"record 1 has no signal 'u' but a, b; give the signals of upper.joi",
        ),
        (
            lambda: estimated(data=DATA.assign(u=DATA.a)),
            r"record 1: u has 1 column for 2 inputs: upper.joint, fore.joi",
        ),
        (lambda: estimated(inputs=["a"]), r"estimate: inputs is \['a'\]; it must be a dict of signals by"),
        (lambda: estimated(qd0=[0.1]), r"estimate: qd0 has shape \(1,\); it must be \(6,\)"),
        (lambda: EKF().begin(ARM, ENCODERS, PERIOD), r"EKF: model is "),
        (lambda: estimated(values={}), r"estimate: values needs truth, a result with q and qd at the same times"),
        (lambda: estimated(truth=DATA), r"estimate: truth has no 'coordinate'"),
        (lambda: estimated(truth=3), r"estimate: truth is an int; it must be a Dataset from simulate"),
        (lambda: consistency([]), r"consistency: estimates is empty; it must be a result of estimate"),
        (lambda: consistency(DATA), r"consistency: estimates has no 'nis'; it must be a result of estimate"),
        (lambda: consistency(estimated(), 1.5), r"consistency: probability is 1.5; it must be between 0 and 1"),
        (
            lambda: consistency([estimated(), estimated(data=DATA.isel(time=slice(8)))]),
            r"consistency: estimates have different numbers of times or signals; they must be equal",
        ),
    ],
)
def test_what_does_not_fit_is_one_line(call, message):
    with pytest.raises(fa.DescriptionError, match=rf"\A{message}[^\n]*\Z"):
        call()


def test_a_dict_of_arrays_with_times_is_a_record():
    arrays = {name: DATA[name].values for name in ("a", "b", "u")}
    found = [estimated(data=data) for data in (DATA, arrays | {"time": DATA.time.values})]
    found.append(estimated(data=arrays, sample_rate=1.0 / PERIOD))
    for other in found[1:]:
        assert other.time.values == pytest.approx(found[0].time.values, abs=1e-12)
        assert other.estimate.values == pytest.approx(found[0].estimate.values, abs=1e-12)


def test_truth_has_the_times_of_the_data_and_all_unknowns():
    run = fa.simulate(ARM, 8 * PERIOD, samples=9, progress=False)
    with pytest.raises(fa.DescriptionError, match=r"estimate: truth has q of shape \(8, 6\); it must be \(9, 6\), as"):
        estimated(truth=run.isel(time=slice(8)))
    with pytest.raises(fa.DescriptionError, match=r"estimate: values of payload.mass has shape \(2,\); it must be one"):
        estimated(truth=run, values={PAYLOAD: [0.1, 0.2]}, estimator=EKF(parameters={PAYLOAD: 0.1}))
    with pytest.raises(fa.DescriptionError, match=r"values has no unknowns; it must have all unknowns: payload.mass"):
        estimated(truth=run, values={}, estimator=EKF(parameters={PAYLOAD: 0.1}))
    assert estimated(truth=run, values={}).nees.attrs["states"] == 12  # no parameter is unknown


def test_an_estimate_that_diverges_says_when():
    far = DATA.assign(a=DATA.a + 1e200)
    with pytest.raises(fa.FlexarmError, match=r"estimate: the estimate diverges at 0.0\d* s; check units and signs"):
        estimated(data=far)


def observed(*, controller=HOLD, sensors=ENCODERS, estimator=None, **more):
    return Observed(controller, sensors, estimator=estimator or EKF(), **more)


@pytest.mark.parametrize(
    ("u", "message"),
    [
        (observed(), r"Observed: an estimator needs a sampled loop, directly around it: Sampled\(Observed"),
        (Sampled(Saturated(observed(), 1.0), PERIOD), r"Observed: an estimator needs a sampled loop, directly around"),
        (Sampled(observed(estimator=EKF), PERIOD), r"Observed: estimator is the class EKF; it must be an EKF, a UKF"),
        (Sampled(observed(process=0.3), PERIOD), r"Observed: process is that of the estimator; give it there"),
        (
            Sampled(observed(controller=Observed(JointPD(SLEW, 5.0, 1.0), ENCODERS)), PERIOD),
            r"Observed: the controller takes readings with noise of its own, which Observed with an estimator does not",
        ),
        (
            Sampled(observed(sensors=[Encoder(coordinate="upper.joint", noise=1e-3, sample_time=0.1)]), PERIOD),
            r"Observed: Encoder samples every 0.1 s and the controller every 0.002 s; give both the same period",
        ),
    ],
)
def test_a_loop_that_does_not_fit_is_one_line(u, message):
    with pytest.raises(fa.DescriptionError, match=rf"\A{message}[^\n]*\Z"):
        fa.simulate(ARM, 0.01, u=u, progress=False)


def test_a_loop_whose_estimate_diverges_ends():
    wild = EKF(deviation=1e150)
    with pytest.raises(fa.FlexarmError, match=r"\AObserved at t = .*: the estimate diverges; check the deviations"):
        fa.simulate(ARM, 0.1, u=Sampled(observed(estimator=wild), PERIOD), progress=False)


# -- moving horizon ----------------------------------------------------------------------------------------------------


def test_a_horizon_over_all_samples_is_least_squares():
    """On a linear arm, the window's motion is that of the normal equations of the complete record."""
    count = 25
    y, u = linear_data(count)
    A, B, C = equations()
    first, W, push, drift, size = np.array([0.02, 0.03, 0.2, 0.3]), TORQUE, 0.8, 0.4, 0.25
    known = {"bar.motor": size}
    estimator = MovingHorizon(
        horizon=count, disturbances=known, drift={"bar.motor": drift}, process=W, unmodelled=push, deviation=first
    )
    running, short = (
        replace(estimator, horizon=horizon).begin(fa.Model(LINEAR), GIVEN, PERIOD, [0.1, 0.2]) for horizon in (count, 6)
    )
    for k in range(count):
        running.sample(y[k], u[k - 1] if k else np.zeros(1), k > 0)
        short.sample(y[k], u[k - 1] if k else np.zeros(1), k > 0)
    wide, push_u = np.block([[A, B], [np.zeros((1, 4)), np.eye(1)]]), np.vstack([B, [[0.0]]])
    random = np.vstack([PERIOD**2 / 2 * np.eye(2), PERIOD * np.eye(2), np.zeros((1, 2))]) * push
    G = np.hstack([W * push_u, random, np.sqrt(PERIOD) * drift * np.eye(5)[:, 4:]])
    # x_k = X_k z + c_k of z, the initial error and all noises in standard deviations
    total = 5 + 4 * (count - 1)
    X, c = np.zeros((count, 5, total)), np.zeros((count, 5))
    X[0, :, :5], c[0] = np.diag([*first, size]), (0.1, 0.2, 0.0, 0.0, 0.0)
    for k in range(1, count):
        X[k], c[k] = wide @ X[k - 1], wide @ c[k - 1] + push_u @ u[k - 1]
        X[k, :, 1 + 4 * k : 5 + 4 * k] = G
    seen = [C @ X[k, :4] / SIGMA[:, None] for k in range(count)]
    rest = [(y[k] - C @ c[k, :4]) / SIGMA for k in range(count)]
    z = np.linalg.lstsq(np.vstack([np.eye(total), *seen]), np.concatenate([np.zeros(total), *rest]), rcond=None)[0]
    wanted = X @ z + c
    assert running.window == pytest.approx(wanted, rel=1e-7, abs=1e-9)
    assert running.estimate == pytest.approx(wanted[-1], rel=1e-7, abs=1e-9)
    assert short.window == pytest.approx(wanted[-7:], rel=1e-7, abs=1e-9)  # its first sample has all earlier readings


def test_iterations_over_all_samples_find_the_most_likely_motion():
    """On a nonlinear arm with an unknown mass, against SciPy's least squares of an independent integration."""
    count, h, size = 7, 5e-3, 0.3
    model = fa.Model(fa.load("rigid-two-link"), vary=[PAYLOAD])
    sensors = [Encoder(coordinate=name, noise=0.02) for name in ("upper.joint", "fore.joint")]
    estimator = MovingHorizon(
        horizon=count,
        iterations=12,
        parameters={PAYLOAD: size},
        start={PAYLOAD: 0.5},
        process=8.0,
        unmodelled=0.0,
        deviation=0.4,
        step=h,
    )
    rng = np.random.default_rng(6)
    y = np.cumsum(0.08 * rng.standard_normal((count, 2)), axis=0) + (0.3, 0.8)
    u = 20.0 * rng.standard_normal((count, 2))
    running = estimator.begin(model, sensors, 2 * h, [0.2, 0.9], [0.5, -0.5])
    for k in range(count):
        running.sample(y[k], u[k - 1] if k else np.zeros(2), k > 0)

    def motion(z):
        x = [np.array([0.2, 0.9, 0.5, -0.5]) + 0.4 * z[:4]]
        mass = 0.5 * np.exp(size / 0.5 * z[4])
        for k in range(1, count):
            x.append(moved(model, x[-1], mass, u[k - 1] + 8.0 * z[3 + 2 * k : 5 + 2 * k], h, 2))
        return np.array(x), mass

    def residuals(z):
        return np.concatenate([z, ((motion(z)[0][:, :2] - y) / 0.02).ravel()])

    best = optimize.least_squares(residuals, np.zeros(5 + 2 * (count - 1)), xtol=1e-14, ftol=1e-14, gtol=1e-12)
    x, mass = motion(best.x)
    assert running.window[:, :4] == pytest.approx(x, abs=2e-5)
    assert running.estimate[4] == pytest.approx(mass, rel=2e-5)
    assert np.abs(of_extended_filter(running, estimator, model, sensors, y, u) - running.estimate).max() > 1e-3


def of_extended_filter(running, estimator, model, sensors, y, u):
    """The last estimate of the extended filter, which does not look back."""
    plain = EKF(**{each.name: getattr(estimator, each.name) for each in fields(EKF)})
    other = plain.begin(model, sensors, running.period, [0.2, 0.9], [0.5, -0.5])
    for k in range(len(y)):
        other.sample(y[k], u[k - 1] if k else np.zeros(2), k > 0)
    return other.estimate


def test_a_short_horizon_follows_the_loop_and_the_record():
    """A window that moves, in a loop and offline; on a linear arm it is Kalman's filter, with an accelerometer too."""
    y, u = linear_data(60)
    data = over_time(y, u, PERIOD).assign(c=("time", 5.0 * u[:, 0]))
    seen = {"a": GIVEN[0], "b": GIVEN[1], "c": Accelerometer(axes="y", noise=2.0)}
    kinds = [MovingHorizon(process=TORQUE, horizon=4, iterations=count) for count in (1, 2)]
    known, *found = (
        estimate(LINEAR, data, seen, kind, between="held", q0=[0.1, 0.2]) for kind in (EKF(process=TORQUE), *kinds)
    )
    for each in found:
        for name in known.data_vars:
            assert each[name].values == pytest.approx(known[name].values, rel=1e-7, abs=1e-10)
    running = MovingHorizon(horizon=4).begin(fa.Model(LINEAR), GIVEN, PERIOD)
    for k in range(7):
        running.sample(y[k], u[k], k > 0)
        assert len(running.window) == min(k, 4) + 1
    unknown = {"parameters": {PAYLOAD: 0.05}, "disturbances": {"upper.joint": 0.1}}
    run = loop(MovingHorizon(**unknown, process=1e-3, unmodelled=0.1, horizon=6), until=0.2)
    assert abs(run.estimate.values[-1, 12] - TRUE["p"]) < 3 * run.deviation.values[-1, 12] < 0.06


def two_links(horizon, count, loud, third=None, tolerance=None, iterations=1):
    """A moving horizon on a rigid arm with an unknown payload and a third sensor, sample by sample, with its inputs."""
    third = third or fa.TipPosition(axes="x", noise=0.01)
    sensors = [Encoder(coordinate=name, noise=0.02) for name in ("upper.joint", "fore.joint")]
    estimator = MovingHorizon(
        horizon=horizon,
        iterations=iterations,
        parameters={PAYLOAD: 0.3},
        start={PAYLOAD: 0.5},
        process=8.0,
        unmodelled=3.0,
        deviation=0.2,
        step=5e-3,
    )
    model = fa.Model(fa.load("rigid-two-link"), vary=[PAYLOAD])
    running = estimator.begin(model, [*sensors, third], 0.01, [0.2, 0.9], [0.5, -0.5])
    if tolerance is not None:
        running.placed_window.tolerance = tolerance
    rng = np.random.default_rng(6)
    q = np.cumsum(0.02 * loud * rng.standard_normal((count, 2)), axis=0) + (0.2, 0.9)
    u = 20.0 * rng.standard_normal((count, 2))
    u[0] = 0.0
    read = fa.outputs(model, [third]).values(q, np.zeros((count, 2)), u)
    for k in range(count):
        running.sample(np.append(q[k], read[k]), u[k], k > 0)
        yield running, u


def last(runs):
    *_, found = runs
    return found


@pytest.mark.parametrize("third", [fa.TipPosition(axes="x", noise=0.01), Accelerometer(axes="y", noise=0.3)])
def test_linear_equations_are_outdated_where_the_motion_leaves_them(third):
    """The error of each linear step and reading, by differences of an independent integration, decides."""
    running, u = last(two_links(9, 12, 0.2, third, tolerance=np.inf))
    w, model, h, inputs = running.placed_window, running.model, 5e-3, u[2:]
    order = (w.first + np.arange(10)) % 10

    def step(z, i):
        """The state and the mass after a step with random torques, the last numbers of z."""
        mass = 0.5 * np.exp(z[4])
        return np.append(moved(model, z[:4], mass, inputs[i + 1] + 8.0 * z[5:], h, 2), z[4])

    def read(X, i):
        return fa.outputs(model, running.sensors).values(X[:2], X[2:4], inputs[i], p=[0.5 * np.exp(X[4])])

    def error(function, i, there, at):
        """Return how far the derivatives at `there` miss the change of a function since `at`."""
        d = 1e-3 * (there - at)
        slopes = [(function(x + d, i) - function(x - d, i)) / 2e-3 for x in (at, there)]
        change = function(there, i) - function(at, i)
        assert np.linalg.norm(slopes[0] + slopes[1] - 2 * change) < np.linalg.norm(change - slopes[0]) + 1e-12
        return slopes[1] - change

    sizes = []
    for i, k in enumerate(order):
        sizes.append(np.linalg.norm(error(read, i, w.L[k], w.seen_at[k]) / running.record.noise))
        if i < 9:
            at = np.append(w.moved_at[k], w.moved_by[k])
            e = error(step, i, np.append(w.L[k], w.torques[k]), at)
            size = np.linalg.norm(np.linalg.solve(w.before_S[order[i + 1]].reshape(5, 5).T, e))
            assert (size < sizes[i]) == isinstance(third, Accelerometer)
            sizes[i] = max(size, sizes[i])
    code = translated(outdated)
    find = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)(code.addresses["outdated"])
    for least in (0, 1):
        for tolerance in np.outer([0.99, 1.01], sizes).ravel():
            w.tolerance = tolerance
            above = [i for i in range(least, 10) if sizes[i] > tolerance]
            assert find(w.address, least) == (above[0] if above else 10), (least, tolerance)


def test_a_window_is_linearised_again_from_the_first_outdated_sample_on():
    """The first sample of a full window leaves it, whatever it is."""
    old, again = {}, 0
    for k, (running, _) in enumerate(two_links(6, 60, 0.1, tolerance=2e-3)):
        w = running.placed_window
        order, numbers = (w.first + np.arange(w.count)) % 7, range(k + 1 - w.count, k + 1)
        at = {i: w.moved_at[p].tolist() for i, p in zip(numbers, order[:-1], strict=False)}
        L = {i: w.L[p].tolist() for i, p in zip(numbers, order, strict=True)}
        if old:
            for i in at:
                assert at[i] == (old["at"] if i < old["outdated"] and i in old["at"] else old["L"])[i]
        assert w.count < 7 or w.outdated > 0
        again += w.outdated < w.count
        old = {"at": at, "L": L, "outdated": numbers[0] + w.outdated}
    assert 5 < again < 55


def test_few_linearisations_give_the_estimates_of_many():
    """Against the same window that is always linearised again."""

    def estimates(**more):
        runs = [(x.record.X.copy(), x.covariance.diagonal().copy()) for x, _ in two_links(8, 60, 0.3, **more)]
        return np.array(runs)

    (X, squares), (few, _) = (np.moveaxis(estimates(tolerance=each), 1, 0) for each in (0.0, None))
    apart = np.abs(few - X) / np.sqrt(squares)
    assert 1e-6 < np.sqrt(np.mean(apart**2)) < 0.05 and apart.max() < 0.25
    found, wanted = (estimates(tolerance=each, iterations=3)[:, 0] for each in (None, 0.0))
    assert found == pytest.approx(wanted, abs=1e-6)


OBSERVED = """
name = "observed"
arm = "subudhi-morris"
until = 0.05
samples = 26
record = ["estimate"]
reference = {{ type = "quintic", start = [0.0, 0.0], end = [0.2, 0.1], duration = 0.05 }}

[controller]
type = "observed"
{period}
controller = {{ type = "joint-pd", Kp = 5.0, Kd = 1.0 }}
sensors = [
    {{ type = "encoder", coordinate = "upper.joint", noise = 2e-4 }},
    {{ type = "encoder", coordinate = "fore.joint", noise = 2e-4 }},
]
{estimator}
"""


@pytest.mark.parametrize(
    ("table", "estimator"),
    [
        (
            'type = "ekf", parameters = { "payload.mass" = 0.05 }, start = { "payload.mass" = 0.13 }, process = 0.02',
            EKF(parameters={PAYLOAD: 0.05}, start={PAYLOAD: 0.13}, process=0.02),
        ),
        (
            'type = "ukf", disturbances = { "upper.joint" = 0.2 }, drift = { "upper.joint" = 0.3 }',
            UKF(disturbances={"upper.joint": 0.2}, drift={"upper.joint": 0.3}),
        ),
        ('type = "moving-horizon", horizon = 3, iterations = 2', MovingHorizon(horizon=3, iterations=2)),
    ],
)
def test_a_scenario_file_has_the_estimator_of_the_class(table, estimator, tmp_path):
    file = tmp_path / "observed.toml"
    file.write_text(OBSERVED.format(period="period = 0.002", estimator=f"estimator = {{ {table} }}"))
    found = fa.load_scenario(file).run(progress=False)
    slew = fa.Quintic(start=[0.0, 0.0], end=[0.2, 0.1], duration=0.05)
    loop = Sampled(Observed(JointPD(slew, 5.0, 1.0), ENCODERS, estimator=estimator), PERIOD)
    save = fa.SaveAt(samples=26, record=["estimate"])
    expected = fa.simulate(ARM, until=0.05, u=loop, save=save, progress=False)
    for name in ("q", "u", "estimate"):
        np.testing.assert_array_equal(found[name].values, expected[name].values)
    assert np.ptp(found.estimate.values[:-1], axis=0).any()


@pytest.mark.parametrize(
    ("period", "estimator", "message"),
    [
        ("", 'estimator = { type = "ekf" }', "period is missing; a controller with an estimator needs its sampling"),
        ("period = 0.002", "estimator = 3.0", "estimator is 3.0; it must be a table with a type"),
        ("period = 0.002", "estimator = { process = 0.1 }", "type is missing; known types are ekf, ukf, moving"),
        ("period = 0.002", 'estimator = { type = "efk" }', "ekf"),
        ("period = 0.002", 'estimator = { type = "ekf", proces = 0.1 }', "did you mean 'process'?"),
        ("period = 0.002", 'estimator = { type = "ukf", process = -0.1 }', "standard deviations must be zero or"),
    ],
)  # fmt: skip
def test_a_wrong_estimator_in_a_scenario_file_is_one_line(period, estimator, message, tmp_path):
    file = tmp_path / "observed.toml"
    file.write_text(OBSERVED.format(period=period, estimator=estimator))
    with pytest.raises(fa.DescriptionError) as caught:
        fa.load_scenario(file)
    assert message in str(caught.value) and "\n" not in str(caught.value) and "estimator" in str(caught.value)


def test_the_bundled_scenario_finds_the_payload():
    result = fa.load_scenario("subudhi-morris-estimated").run(progress=False)
    mass, sigma = result.estimate.values[-2, -1], result.deviation.values[-2, -1]
    assert sigma < 1e-3 and abs(mass - ARM.payload.mass) < 4 * sigma
    assert result.estimate.values[0, -1] > 0.15
