"""Many runs with gradients at once, in SIMD batches with common steps."""

from collections.abc import Mapping
from itertools import pairwise
from numbers import Real
from typing import Any

import numpy as np

from flexarm.arrays import Array
from flexarm.checks import (
    Fault,
    counted,
)
from flexarm.errors import SimulationError
from flexarm.floating import usual_errors
from flexarm.model import as_model
from flexarm.native.calls import LANES
from flexarm.simulation import restarts, solvers
from flexarm.simulation.adjoint import Recorded, trail
from flexarm.simulation.breakpoints import NEAR
from flexarm.simulation.explicit import Explicit
from flexarm.simulation.feedback import LawBlock, integrand
from flexarm.simulation.gradient_start import Start, check_no_stops, check_steps
from flexarm.simulation.inputs import Piecewise, Table
from flexarm.simulation.rhs import Plan
from flexarm.simulation.watch import running

MANY = ("q0", "qd0", "s0", "p")
"""Arguments that may have one row for each of many runs, besides u."""


def separated(given: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """Return the arguments of each of many runs, or None for one run. Raises `Fault`."""
    rows: dict[str, Any] = {name: given[name] for name in MANY if np.ndim(given[name]) == 2}
    u = given["u"]
    of_each = isinstance(u, list) and any(not isinstance(x, Real | list | np.ndarray) for x in u)
    if of_each or (isinstance(u, list | tuple | np.ndarray) and np.ndim(u) == 2):
        rows["u"] = u
    if not rows:
        return None
    counts = {name: len(x) for name, x in rows.items()}
    if len({*counts.values()}) > 1 or not all(counts.values()):
        said = ", ".join(f"{name} has {counted(count, 'row')}" for name, count in counts.items())
        raise Fault("run", f"is for many runs, but {said}; the numbers of runs must be the same")
    given = {**given, "model": as_model(given["model"])}
    return [{**given, **{name: x[i] for name, x in rows.items()}} for i in range(len(next(iter(rows.values()))))]


def side_by_side(runs: list[Start]) -> bool:
    """Return True if runs are computed in SIMD batches: those of explicit methods without controllers."""
    return runs[0].method not in solvers.IMPLICIT and not any(isinstance(run.drive, LawBlock) for run in runs)


def grouped(runs: list[Start]) -> list[list[Start]]:
    """Return the runs in groups of `LANES`, the last one filled with its last run. Raises `Fault`."""
    first = runs[0].drive
    if runs[0].model.arm.closures:
        raise Fault("", f"arm {runs[0].model.arm.name!r} has closures, which many runs at once do not take")
    if not runs[0].step:
        check_no_stops(runs[0].model, first, runs[0].method, "one run at a time")
    for run in runs:
        drive = run.drive
        if not isinstance(drive, Piecewise | Table) or type(drive) is not type(first):
            raise Fault("u", f"is {drive.described()}; many runs need numbers, a Piecewise or a Table in each")
        kinds = [getattr(each, "kind", "") for each in (drive, first)]
        if not np.array_equal(drive.times, first.times) or kinds[0] != kinds[1]:
            raise Fault("u", "has different times or kinds of tables; they must be the same in many runs")
        if not run.exogenous.constant:
            raise Fault("w", "changes over time; many runs need numbers")
    filled = runs + [runs[-1]] * (-len(runs) % LANES)
    return [filled[i : i + LANES] for i in range(0, len(filled), LANES)]


def together(runs: list[Start]) -> Piecewise | Table:
    """Return the inputs of runs side by side."""
    first = runs[0].drive
    assert isinstance(first, Piecewise | Table)
    values = np.stack([run.drive.values_ for run in runs], axis=-1).reshape(len(first.times), -1)  # type: ignore[attr-defined]
    return Piecewise(first.times, values) if isinstance(first, Piecewise) else Table(first.times, values, first.kind)


def recorded_together(runs: list[Start], marks: Array) -> Recorded:
    """Integrate `LANES` runs with the same steps, and return these."""
    first, width = runs[0], len(runs)
    layout, until = first.layout, float(first.times[-1])
    rates, tableau = integrand(first.model, first.drive.quantity, layout.memory), solvers.EXPLICIT[first.method]
    code, (states, size) = rates.vector_code, (width * layout.states, width * layout.size)
    constants = rates.constants_of(np.array([run.model.p for run in runs])).T.ravel()
    inputs, w = width * layout.inputs, width * layout.exogenous
    plan = Plan(code.addresses["evaluate"], states, inputs, size - states, code, size, constants, w)
    acting = [run.exogenous.output(run.model, np.zeros(1), np.empty((1, 0)), np.empty((1, 0)))[0] for run in runs]
    plan.w[:] = np.stack(acting, axis=-1).ravel()
    longest = first.step or min((run.longest() for run in runs), key=lambda h: h or np.inf)
    steps, tolerances = trail(size, tableau.stages), np.repeat(layout.tolerances(first.atol), width)
    explicit = Explicit(tableau, plan, first.rtol, tolerances, longest, trail=steps)
    found = Recorded(plan, code, explicit, steps, explicit, None, width)
    drive, x = together(runs), np.stack([run.start for run in runs], axis=-1).ravel()
    breakpoints = restarts.breakpoints(first.model, first.drive, None, first.times, first.method)
    inside = np.unique([*drive.corners(until), *breakpoints, *marks])
    inside = inside[(inside > NEAR * until) & (inside < (1.0 - NEAR) * until)]
    edges, rows = np.concatenate([[0.0], inside, [until]]), [x]
    with usual_errors(), running(plan):
        for a, b in pairwise(edges.tolist()):
            plan.end(b)
            drive.feed(plan, first.model, a, x)
            ends = np.union1d(first.times[(first.times > a) & (first.times < b)], [b])
            stretch = found.stretch(a, x, ends)
            if len(stretch.x) < len(ends):
                raise SimulationError(
                    f"gradient: one of {counted(width, 'run')} ends at t = {plan.time:.6g} s; simulate_many names it"
                )
            rows += list(stretch.x[np.isin(ends, first.times)])
            x = stretch.x[-1]
    check_steps(steps)
    samples = np.array(rows).reshape(len(first.times), first.layout.size, width)
    for i, run in enumerate(runs):
        run.warn_unbalanced(first.times, samples[:, :, i], "of one run, ")
    found.end(until, x)
    return found
