"""Nonlinear filters: time of a sample, prediction and correction, in native code and in NumPy."""

from collections.abc import Callable
from time import thread_time
from typing import Any

import numpy as np
from scipy.linalg import expm

import flexarm as fa
from benchmarks.report import Table, judged, time
from flexarm.estimation import EKF, UKF, MovingHorizon
from flexarm.estimation.running import over

PERIOD, SAMPLES, MOST = 1e-3, 1000, 20e-6
ARM = "subudhi-morris"
SENSORS = [fa.Encoder(coordinate=f"{link}.joint", noise=1e-4) for link in ("upper", "fore")]
SENSORS += [fa.StrainGauge(link=link, noise=1e-3) for link in ("upper", "fore")]
UNKNOWN: dict[str, dict[str, Any]] = {
    "state": {},
    "state, payload": {"parameters": {"payload.mass": 0.05}},
    "state, payload, two torques": {
        "parameters": {"payload.mass": 0.05},
        "disturbances": {"upper.joint": 0.1, "fore.joint": 0.1},
        "drift": {"upper.joint": 0.1},
    },
}
FILTERS: dict[str, Callable[..., Any]] = {
    "EKF": EKF,
    "UKF": UKF,
    "MovingHorizon, 10 periods": lambda **more: MovingHorizon(horizon=10, **more),
}


def measure(quick: bool) -> list[Table]:
    """Filters over a record, and called once per sample."""
    table = Table(
        "Nonlinear filters: a sample of two flexible links with four sensors",
        ("filter", "estimated", "numbers", "in a record", "target", "met", "called from Python"),
    )
    repeats = 3 if quick else 15
    readings, inputs = _data()
    for name, kind in FILTERS.items():
        for what, more in UNKNOWN.items():
            record, alone = [], []
            for _ in range(repeats):  # each begins anew, as the time of a moving horizon depends on the estimates
                running = kind(**more).begin(fa.Model(ARM), SENSORS, PERIOD)
                u = np.repeat(inputs[:, None], 2 * running.steps + 1, axis=1)
                record.append(_seconds(lambda r=running, u=u: over(r, readings, u, np.zeros((SAMPLES, 0)))))
                running = kind(**more).begin(fa.Model(ARM), SENSORS, PERIOD)
                alone.append(_seconds(lambda r=running: _one_by_one(r, readings, inputs)))
            verdict = judged(min(record), MOST, time(MOST))
            table.add(name, what, len(running.estimate), time(min(record)), *verdict, time(min(alone)))
    table.add("NumPy", "state", 12, "", "", "", time(min(_seconds(_in_numpy, 100) for _ in range(min(repeats, 3)))))
    table.notes.append(
        "Times of the processor, the least of several repeats, over a second of a simulated motion. A moving horizon "
        "linearises no period again at most samples, and all of them at some. The filter in NumPy has derivatives in "
        "native code and takes its transition matrix from SciPy's matrix exponential."
    )
    return [table]


def _data() -> tuple[np.ndarray, np.ndarray]:
    """Return readings (samples, 4) with noise, and the constant torques (samples, 2) after each of them."""
    model, t = fa.Model(ARM), PERIOD * np.arange(SAMPLES)
    u = np.stack([0.2 * np.sin(6.0 * t) + 0.1 * np.sin(23.0 * t), 0.1 * np.cos(9.0 * t)], axis=1)
    run = fa.simulate(model, t[-1], u=fa.Piecewise(t, u), samples=SAMPLES, progress=False)
    data = fa.sensor_readings(SENSORS, model, run, seed=1)
    return np.stack([data[name].values for name in model.output_names(SENSORS)], axis=1), u


def _seconds(call: Callable[..., Any], samples: int = SAMPLES) -> float:
    """Seconds of the processor for a sample."""
    began = thread_time()
    call()
    return (thread_time() - began) / samples


def _one_by_one(running: Any, y: np.ndarray, u: np.ndarray) -> None:
    for k in range(len(y)):
        running.sample(y[k], u[k - 1], k > 0)


def _in_numpy() -> None:
    """Take a hundred samples of an extended filter that is written by hand."""
    model, n = fa.Model(ARM), 6
    plant = fa.Stepper(model, PERIOD, method="rk4", step=PERIOD)
    seen = fa.outputs(model, SENSORS)
    x, P, u = np.zeros(12), 1e-6 * np.eye(12), np.array([0.1, 0.1])
    R, Q = np.diag([1e-8, 1e-8, 1e-6, 1e-6]), 1e-8 * np.eye(12)
    slopes = [model.slope("forward_dynamics", each) for each in ("q", "qd")]
    for _ in range(100):
        down = np.hstack([np.array(each(x[:n], x[n:], u)) for each in slopes])
        A = expm(PERIOD * np.vstack([np.hstack([np.zeros((n, n)), np.eye(n)]), down]))
        plant.reset(x[:n], x[n:])
        x, P = plant.step(u), A @ P @ A.T + Q
        C = np.hstack(model.output_slopes(SENSORS, x[:n], x[n:], np.zeros(n))[:2])
        L = np.linalg.solve(C @ P @ C.T + R, C @ P).T
        x, P = x - L @ seen.values(x[:n], x[n:]), P - L @ C @ P
