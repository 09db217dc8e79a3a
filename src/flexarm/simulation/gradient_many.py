"""Many runs with gradients: their arguments, and SIMD batches of `LANES` runs in which each has its own steps."""

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

from flexarm.arrays import Array
from flexarm.checks import (
    Fault,
    counted,
)
from flexarm.model import as_model
from flexarm.native.kernel import LANES, Kernel
from flexarm.simulation import crossings, divergence, restarts, solvers
from flexarm.simulation.adjoint import Recorded, trail
from flexarm.simulation.explicit import Explicit
from flexarm.simulation.feedback import Feedback, integrand
from flexarm.simulation.gradient_start import Start
from flexarm.simulation.inputs import Piecewise, Table
from flexarm.simulation.lanes import DONE
from flexarm.simulation.lanes_plan import Abreast, BatchSettings, Course, Stage
from flexarm.simulation.rhs import Plan

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


def alike(runs: Sequence[Start], others: Sequence[Sequence[Kernel]]) -> bool:
    """Return True if the adjoints of runs can be computed side by side, as far as their arguments decide.

    These are runs of explicit methods with constant exogenous inputs and with inputs of one kind. Their controllers,
    and those with other numbers, have the same code.
    """
    first = runs[0]
    if first.method in solvers.IMPLICIT or first.model.arm.closures:
        return False
    laws = [run.drive.kernel_for(run.model) for run in runs]
    codes = [_codes([] if law is None else [law, *more]) for law, more in zip(laws, others, strict=True)]
    tables = all(_same_table(run.drive, first.drive) for run in runs)
    return tables and codes.count(codes[0]) == len(runs) and all(run.exogenous.constant for run in runs)


def _codes(kernels: Sequence[Kernel]) -> list[int]:
    return [each.vector_code.addresses["evaluate"] for each in kernels]


def _same_table(drive: Any, other: Any) -> bool:
    """Return True if the inputs have one class, and tables the same times and kind."""
    if type(drive) is not type(other):
        return False
    return not isinstance(drive, Table) or (drive.kind == other.kind and np.array_equal(drive.times, other.times))


def together(runs: Sequence[Start]) -> Table | None:
    """Return the tables of runs side by side, or None if their inputs are no tables."""
    first = runs[0].drive
    if not isinstance(first, Table):
        return None
    values = np.stack([run.drive.values_ for run in runs], axis=-1)  # type: ignore[attr-defined]
    return Table(first.times, values.reshape(len(first.times), -1), first.kind)


def recorded_in_lanes(runs: Sequence[Start], courses: Sequence[Course]) -> Recorded | None:
    """Integrate up to `LANES` runs that are `alike` in one SIMD batch, and return their records as one.

    Each run has the steps that it has alone. The result is None if a run needs its own code: at sharp contacts, under a
    sampled controller, if its breakpoints differ, if it fails, or if its steps do not fit into the ring.
    """
    first = runs[0]
    model, layout, drive = first.model, first.layout, first.drive
    sharp = crossings.stops(model, drive, first.method) and not first.step
    if sharp or not isinstance(drive, Piecewise | Table | Feedback):
        return None
    if not all(np.array_equal(course.corners, courses[0].corners) for course in courses):
        return None
    rates, tableau = integrand(model, drive.quantity, layout.memory), solvers.EXPLICIT[first.method]
    trails = [trail(layout.size, tableau.stages, again=False, runs=LANES) for _ in runs]
    longest = np.array([run.step or run.longest() for run in runs])
    most = np.full(layout.states, np.inf)
    most[layout.q] = np.max([divergence.bounds(run.model) for run in runs], axis=0)
    settings = first.method, first.rtol, first.atol, longest, most, first.times
    shared = BatchSettings(rates.vector_code, layout, len(model.inputs), *settings)
    acting = np.array([run.exogenous.output(run.model, *[np.zeros((1, 0))] * 3)[0] for run in runs])
    own = np.hstack([acting, rates.constants_of(np.array([run.model.p for run in runs]))])
    x = np.empty((len(runs), len(first.times), layout.size))
    x[:, 0] = [run.start for run in runs]
    batch = Abreast(shared, x[:, 0], own, courses, np.arange(len(runs)), x, trails=trails)
    batch()
    if batch.failure is not None:
        raise batch.failure
    if (batch.status != DONE).any() or any(each.count > each.room for each in trails):
        return None
    plan, method = planned(runs, courses)
    found = []
    for each, rows, course, w in zip(trails, x, courses, acting, strict=True):
        record = Recorded(plan, rates.vector_code, method, each, method, None)
        record.shown = first.times, rows
        begins = np.searchsorted(each.times[: 2 * each.count : 2], course.corners[:-1])
        starts = each.ring[: each.count * each.width].reshape(-1, each.width)[begins, : layout.size]
        fed = np.zeros((len(begins), layout.fed))
        fed[:, : course.held.shape[1]], fed[:, layout.fed - layout.exogenous :] = course.held, w
        record.passed(course.corners, starts, fed)
        record.end(float(course.corners[-1]), rows[-1])
        found.append(record)
    return Recorded.together(filled(found), plan, rates.vector_code, method)


def recorded_beside(runs: Sequence[Start], records: Sequence[Recorded], courses: Sequence[Course]) -> Recorded | None:
    """Return the records of up to `LANES` runs that are `alike` as one, or None if their intervals differ."""
    if not all(record.fits(records[0]) for record in records):
        return None
    plan, method = planned(runs, courses)
    rates = integrand(runs[0].model, runs[0].drive.quantity, runs[0].layout.memory)
    return Recorded.together(filled(records), plan, rates.vector_code, method)


def course_of(run: Start, marks: Array) -> Course:
    """Return the input of a run with steps that end at the marks, in the form of SIMD batches."""
    return restarts.course(run.drive, run.model, run.times, run.method, marks)


def planned(runs: Sequence[Start], courses: Sequence[Course]) -> tuple[Plan, Explicit]:
    """Return the plan of the adjoint of up to `LANES` runs that are `alike`, and their method.

    The numbers of all runs are side by side in the plan.
    """
    first = runs[0]
    layout, rates = first.layout, integrand(first.model, first.drive.quantity, first.layout.memory)
    code, (states, size) = rates.vector_code, (LANES * layout.states, LANES * layout.size)
    constants = rates.constants_of(np.array([run.model.p for run in filled(runs)])).T.ravel()
    inputs, w = LANES * (layout.inputs + layout.memory), LANES * layout.exogenous
    evaluate = code.addresses["evaluate"]
    plan = Plan(evaluate, states, inputs, size - states, code, size, constants, w, times=LANES)
    stage = Stage(filled(courses), len(first.model.inputs))
    stage.table[:] = np.arange(LANES)
    if stage.laws.size:
        stage.given[:] = stage.laws.T.ravel()
    plan.feed(stage.code, stage.data, stage)
    return plan, Explicit(solvers.EXPLICIT[first.method], plan, first.rtol, np.zeros(size))


def filled(some: Sequence[Any]) -> list[Any]:
    """Return `LANES` objects, the last of which are the last one."""
    return [*some, *[some[-1]] * (LANES - len(some))]
