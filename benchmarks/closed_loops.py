"""Closed loops: what a compiled law costs beside the arm, and a sampled run."""

import statistics
import warnings
from typing import Any

import numpy as np

import flexarm as fa
from benchmarks.report import Table, judged, spread, time
from benchmarks.timing import interleaved
from flexarm.control import LQR, Composite, ComputedTorque, Decoupling, JointPD, Sampled, ScheduledLQR
from flexarm.simulation.feedback import Feedback

ARM = "subudhi-morris-elastic"
MOST = 3.0  # target: a closed loop's evaluation in units of the open loop's
SECONDS = 0.5  # target: 10 s of composite control, 1000 samples a second


def laws() -> dict[str, Any]:
    """Each controller on the paper's motion."""
    slew = fa.Quintic((0.0, 0.0), (np.pi / 2, np.pi / 6), 2.0)
    return {
        "JointPD": JointPD(slew, 5.0, 2.0),
        "ComputedTorque": ComputedTorque(slew, 9.0, 6.0),
        "Decoupling": Decoupling(slew, 9.0, 6.0),
        "LQR": LQR(reference=slew),
        "ScheduledLQR": ScheduledLQR(slew),
        "Composite": Composite(slew, 5.0, 2.0),
    }


def measure(quick: bool) -> list[Table]:
    """Cost of an evaluation with each law, and time of a sampled run."""
    model = fa.Model(fa.load(ARM))
    n = len(model.coordinates)
    x = 0.1 * np.random.default_rng(1).normal(size=(4096, 2 * n))
    arm = model.kernel("state_rate")
    given = np.hstack([x, np.tile([0.1, -0.1], (len(x), 1))])
    kernels = {name: Feedback(law.law(model), model, name).kernel for name, law in laws().items()}
    state = np.hstack([np.full((len(x), 1), 0.7), x])
    calls = {"arm": lambda: arm.many(given)}
    calls |= {name: (lambda kernel=kernel: kernel.many(state)) for name, kernel in kernels.items()}
    seconds = {name: statistics.median(s) for name, s in interleaved(calls, 3 if quick else 15).items()}
    table = Table(
        "Closed loops: cost of an evaluation relative to the arm alone",
        ("law", "operations of the law", "closed / open, operations", "closed / open, time", "target", "met"),
    )
    base = arm.code.operations
    for name, kernel in kernels.items():
        count = kernel.code.operations
        ratio = 1 + seconds[name] / seconds["arm"]
        operations = 1 + count / base
        verdict = judged(ratio, MOST, f"{MOST:g}")
        table.add(name, count, f"{operations:.2f}", f"{ratio:.2f}", *verdict)
    table.notes.append(
        f"The arm {ARM} has {base} operations and takes {time(seconds['arm'] / len(x))} per state, in batches of "
        f"{len(x)} states."
    )
    return [table, _sampled(model, quick)]


def _sampled(model: fa.Model, quick: bool) -> Table:
    table = Table("10 s of a sampled closed loop, 1000 samples a second", ("law", "time", "target", "met"))
    for name in ("JointPD", "Composite"):
        u = Sampled(laws()[name], period=1e-3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            runs = [
                fa.simulate(model, 10.0, u=u, method="auto", progress=False).attrs["solve_seconds"]
                for _ in range(2 if quick else 7)
            ]
        goal = judged(statistics.median(runs), SECONDS, time(SECONDS)) if name == "Composite" else ("", "")
        table.add(name, spread(runs), *goal)
    table.notes.append(
        "Torques are constant between samples (zero-order hold). The solver takes fixed steps of a fifth of a radian "
        "of the fastest mode."
    )
    return table
