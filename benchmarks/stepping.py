"""What one period costs: a plant that is stepped, many at once, and a sampled loop in machine code."""

import statistics
from time import perf_counter
from typing import Any

import numpy as np

import flexarm as fa
from benchmarks.chains import over_rows
from benchmarks.closed_loops import laws
from benchmarks.report import Table, judged, spread, time
from benchmarks.timing import timed
from flexarm.control import LQR, Observed, Sampled

PERIOD = 1e-3
RTOL = 1e-6
MOST = 5e-6  # target: a millisecond of a two-link arm, the call from Python included
TOLL = 1e-6  # target: what a sample costs beside the integration and the law
MANY, ROWS, SAMPLES = 1024, 2048, 10_000
ARMS = ("subudhi-morris", "subudhi-morris-elastic", "canadarm", "spatial-6r")


def measure(quick: bool) -> list[Table]:
    """Steppers, and sampled loops."""
    return [_steppers(quick), _loops(quick)]


def _steppers(quick: bool) -> Table:
    columns = ("arm", "method", "one plant", "target", "met", f"one of {MANY}", "gauss4, one step")
    table = Table("A period of 1 ms of a plant", columns)
    for name in ARMS:
        model = fa.Model(fa.load(name))
        rest = np.array(model.arm.rest)
        one = fa.Stepper(model, PERIOD, rtol=RTOL)
        many = fa.Stepper(model, PERIOD, np.tile(rest, (MANY, 1)), rtol=RTOL)
        stiff = fa.Stepper(model, PERIOD, method="gauss4", step=PERIOD)
        seconds = _in_turn(len(model.inputs), [one, many, stiff], 3 if quick else 15)
        verdict = judged(statistics.median(seconds[0]), MOST, time(MOST)) if name == ARMS[0] else ("", "")
        each = statistics.median(seconds[1]) / MANY
        table.add(name, f"{one.method}, rtol {RTOL:g}", spread(seconds[0]), *verdict, time(each), spread(seconds[2]))
    table.notes.append("Times include the call from Python. u changes in every period.")
    return table


def _in_turn(inputs: int, steppers: list[fa.Stepper], repeats: int) -> list[list[float]]:
    """Seconds a period takes, from rest on, those of each in turn."""
    found: list[list[float]] = [[] for _ in steppers]
    for _ in range(repeats + 1):
        for stepper, seconds in zip(steppers, found, strict=True):
            stepper.reset()
            count = 5 if stepper.state.ndim > 1 else 500
            u = 0.01 * np.random.default_rng(1).normal(size=(count, inputs))
            began = perf_counter()
            for each in u:
                stepper.step(each)
            seconds.append((perf_counter() - began) / count)
    return [seconds[1:] for seconds in found]


def _loops(quick: bool) -> Table:
    columns = ("law", "method", "time per sample", "integration and control law", "the loop", "target", "met")
    table = Table("A sampled loop in machine code, 1000 samples a second", columns)
    model = fa.Model(fa.load(ARMS[0]))
    sensors = [fa.Encoder(coordinate=model.coordinates[i], noise=1e-4) for i in model.arm.joints]
    controllers = {
        "JointPD": laws()["JointPD"],
        "LQR with a Kalman filter": Observed(LQR(reference=(0.3, 0.2)), sensors),
    }
    for name, law in controllers.items():
        u = Sampled(law, PERIOD)
        kernel = u.feedback(model).kernel
        given = np.zeros((ROWS, kernel.code.facts["n_in"]))
        options: dict[str, Any] = {"method": "rk4", "solver": fa.Solver(step=5e-4), "samples": 2, "progress": False}

        def run(u: Any) -> float:
            return float(fa.simulate(model, 10.0, u=u, **options).attrs["solve_seconds"]) / SAMPLES  # noqa: B023

        seconds, alone = [], []
        for _ in range(3 if quick else 9):
            seconds.append(run(u))
            alone.append(run([0.0, 0.0]) + timed(over_rows(kernel.code, given)) / ROWS)
        toll = statistics.median(seconds) - statistics.median(alone)
        table.add(name, "rk4, 2 steps", spread(seconds), spread(alone), time(toll), *judged(toll, TOLL, time(TOLL)))
    return table
