"""`fa.gradient`: one backward sweep over the steps of a run, in native code."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np

import flexarm as fa
from benchmarks.closed_forms import apart
from benchmarks.peers.gradients.task import GOAL, GROUPS, WEIGHT, Array, Rods, Rollout
from benchmarks.peers.peer import Setting, Solution, lines_of, steps, timed
from benchmarks.timing import empty_cache
from benchmarks.timing import timed as clocked

NAME = "flexarm"
PACKAGES = ("flexarm",)
METHODS = ("dop853", "tsit5")
TOLERANCES = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9)


def cannot(task: Rollout) -> str:
    """Nothing."""
    return ""


def settings(task: Rollout) -> Iterator[Setting]:
    """Methods, tolerances, steps."""
    for method in METHODS:
        for rtol in TOLERANCES:
            solver = fa.Solver(method=method, rtol=rtol, atol=1e-2 * rtol)
            yield Setting(f"{method}, rtol {rtol:.0e}", method, (solver,))
    for count in steps(len(task.torques)):
        yield Setting(f"rk4, {count} steps", "rk4", (fa.Solver(method="rk4", step=task.until / count),))


def solve(task: Rollout, setting: Setting) -> Solution:
    """Trace and compile (found again afterwards), simulate and differentiate."""
    if task.name not in SETUP:
        SETUP[task.name], MODELS[task.name] = apart(first, task), fa.Model(task.rods.arm)
    model = MODELS[task.name]
    found = timed(task, lambda: model, lambda model: slopes(task, model, *setting.numbers), LINES)
    return replace(found, setup=SETUP[task.name])


SETUP: dict[str, float] = {}
MODELS: dict[str, fa.Model] = {}


def slopes(task: Rollout, model: fa.Model, solver: Any) -> dict[str, Array] | None:
    """One gradient, from checking what is given to arrays."""

    def of(tip: Any, qd: Any) -> Any:
        return ca.sumsqr(tip[:2] - np.array(GOAL)) + WEIGHT * ca.sumsqr(qd)

    u = fa.Piecewise(np.arange(len(task.torques)) * task.interval, task.torques)
    run = {"model": model, "until": task.until, "u": u, "q0": task.q0, "qd0": task.qd0, "solver": solver, "samples": 2}
    try:
        found = fa.gradient(run, GROUPS, of=of)
    except fa.SimulationError:
        return None
    return {name: found[name] for name in GROUPS}


LINES = lines_of(slopes)


def first(task: Rollout) -> float:
    """Seconds of the first gradient of an arm, with all that is derived and compiled for it; libraries are loaded."""
    one = np.ones(1)
    other = replace(task, rods=Rods(one, one, one, one, (0,)), q0=one, qd0=one, torques=task.torques[:, :1])
    with empty_cache():
        slopes(other, fa.Model(other.rods.arm), fa.Solver())
        return clocked(lambda: slopes(task, fa.Model(task.rods.arm), fa.Solver()))
