"""Many runs with gradients: their arguments, and SIMD batches of `LANES` runs in which each has its own steps."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from numbers import Real
from typing import Any, final

import numpy as np

from flexarm.arrays import Array
from flexarm.checks import (
    Fault,
    counted,
)
from flexarm.model import as_model
from flexarm.model.tracing import RESIDUALS
from flexarm.native.kernel import LANES, Kernel
from flexarm.native.language import Placed
from flexarm.simulation import crossings, divergence, restarts, solvers, touches
from flexarm.simulation.adjoint import RING, Recorded, trail
from flexarm.simulation.explicit import MOST_EVALUATIONS, Explicit
from flexarm.simulation.feedback import integrand
from flexarm.simulation.gradient_start import Start
from flexarm.simulation.inputs import Table
from flexarm.simulation.integration import MOST_AHEAD
from flexarm.simulation.lanes import DONE, UNDER_WAY
from flexarm.simulation.lanes_implicit import BatchPlan, ImplicitBatch
from flexarm.simulation.lanes_plan import Abreast, BatchSettings, Course, Stage
from flexarm.simulation.lanes_sampled import Clock
from flexarm.simulation.lanes_touches import BatchTouching
from flexarm.simulation.rhs import Plan
from flexarm.simulation.sampled import SampledFeedback
from flexarm.simulation.sampled_calls import SampledCalls
from flexarm.simulation.tableaus import Tableau

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


def sequence(runs: Sequence[Start]) -> list[int]:
    """Return the indices of runs in the sequence in which they are divided into SIMD batches.

    A run of an implicit method waits for those of its batch with more steps. Runs that begin with similar energies take
    similar numbers of steps.
    """
    first = runs[0]
    if first.method not in solvers.IMPLICIT or any(run.layout != first.layout for run in runs):
        return [*range(len(runs))]
    layout, x = first.layout, np.array([run.start for run in runs])
    s = x[:, layout.s] if layout.own else None
    energies = first.model.evaluate("energy", x[:, layout.q], x[:, layout.qd], s=s).sum(axis=1)
    return np.argsort(energies, kind="stable").tolist()  # type: ignore[no-any-return]


def alike(runs: Sequence[Start], others: Sequence[Sequence[Kernel]]) -> bool:
    """Return True if the adjoints of runs can be computed side by side, as far as their arguments decide.

    These are runs with constant exogenous inputs and with inputs of one kind. Their controllers, and those with other
    numbers, have the same code.
    """
    first = runs[0]
    if first.model.arm.closures or any(run.layout != first.layout for run in runs):
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

    Each run has the steps that it has alone. The result is None if a run needs its own code: at sharp contacts, and at
    any with adaptive steps of an implicit method, if its breakpoints differ, if it fails, or if its record would be too
    long.
    """
    first = runs[0]
    model, layout, drive = first.model, first.layout, first.drive
    if crossings.stops(model, drive, first.method) and not first.step:
        return None
    corners = courses[0].corners
    if not all(np.array_equal(course.corners, corners) for course in courses):
        return None
    if first.method in solvers.IMPLICIT:
        brief = model.arm.touches and not first.step  # contacts in a step, which batches do not look for
        return None if brief else _implicit(runs, courses)
    rates, tableau = integrand(model, drive.quantity, layout.memory), solvers.EXPLICIT[first.method]
    trails = [trail(layout.size, tableau.stages, again=False, runs=LANES) for _ in runs]
    longest = np.array([run.step or run.longest() for run in runs])
    most = _most(runs)
    settings = first.method, first.rtol, first.atol
    shared = BatchSettings(rates.vector_code, layout, len(model.inputs), *settings, longest, most, first.times)
    acting = _acting(runs)
    own = np.hstack([acting, rates.constants_of(np.array([run.model.p for run in runs]))])
    x = np.empty((len(runs), len(first.times), layout.size))
    x[:, 0] = [run.start for run in runs]
    fed = np.zeros((len(runs), len(corners) - 1, layout.fed))
    fed[:, :, layout.fed - layout.exogenous :] = acting[:, None]
    called = None
    if isinstance(drive, SampledFeedback):
        if (called := _sampled(runs, shared, own, x, trails, fed, corners)) is None:
            return None
    else:
        batch = Abreast(shared, x[:, 0], own, courses, np.arange(len(runs)), x, trails=trails, touching=contacts(runs))
        batch()
        if batch.failure is not None:
            raise batch.failure
        if (batch.status != DONE).any():
            return None
        for values, course in zip(fed, courses, strict=True):
            values[:, : course.held.shape[1]] = course.held
    if any(each.count > each.room for each in trails):
        return None
    plan, method = planned(runs, courses)
    found = []
    for i, (run, each) in enumerate(zip(runs, trails, strict=True)):
        calls = run.drive.running if isinstance(run.drive, SampledFeedback) else None
        record = Recorded(plan, rates.vector_code, method, each, None, calls)
        record.shown = first.times, x[i]
        begins = np.searchsorted(each.times[: 2 * each.count : 2], corners[:-1])
        starts = each.ring[: each.count * each.width].reshape(-1, each.width)[begins, : layout.size]
        record.passed(corners, starts, fed[i])
        record.end(float(corners[-1]), x[i, -1])
        if called is not None:
            record.samples, record.called = [*range(len(called))], list(called[:, :, i])
        found.append(record)
    return Recorded.together(filled(found), plan, rates.vector_code, method)


def _acting(runs: Sequence[Start]) -> Array:
    """Return the exogenous inputs of each run, which are constant, (runs, w)."""
    none = np.zeros((1, 0))
    return np.array([run.exogenous.output(run.model, np.zeros(1), none, none)[0] for run in runs])


def _most(runs: Sequence[Start]) -> Array:
    """Return sizes of the numbers of a state beyond which a run has diverged."""
    layout = runs[0].layout
    most = np.full(layout.states, np.inf)
    most[layout.q] = np.max([divergence.bounds(run.model) for run in runs], axis=0)
    return most


def _implicit(runs: Sequence[Start], courses: Sequence[Course]) -> Recorded | None:
    """Integrate runs by an implicit method in one SIMD batch, and return their records as one, or None."""
    every, first, corners = filled(runs), runs[0], courses[0].corners
    layout, tableau = first.layout, solvers.IMPLICIT[first.method]
    residual = integrand(first.model, RESIDUALS[first.drive.quantity], layout.memory)
    plan = _batch_plan(runs, courses, residual, layout.nv)
    trails = [trail(layout.size, tableau.stages, again=False, runs=LANES) for _ in every]
    settings = first.rtol, first.atol
    start = np.array([run.start for run in every])
    batch = ImplicitBatch(tableau, plan, layout, start, settings, first.step, trails)
    found, fed, firsts = [start.T[None]], np.zeros((LANES, len(corners) - 1, layout.fed)), []
    fed[:, :, layout.fed - layout.exogenous :] = _acting(every)[:, None]
    calls = Calls(every) if isinstance(first.drive, SampledFeedback) else None
    if calls is not None and not calls.fit(corners):
        return None
    states, samples = [start], []
    for k, (a, b) in enumerate(pairwise(corners.tolist())):
        wanted = first.times[(first.times > a) & (first.times <= b)]
        ends = wanted if len(wanted) and wanted[-1] == b else np.append(wanted, b)
        u = np.array([course.held[k] for course in filled(courses)])
        if calls is not None:
            samples.append(calls.sample(a, states[-1]))
            u = calls.u
            if not calls.finite:
                return None
        fed[:, k, : u.shape[1]] = u
        firsts.append([each.count for each in trails])
        if (reached := batch(a, ends, u)) is None or any(each.count > each.room for each in trails):
            return None
        found.append(reached[: len(wanted)])
        states.append(reached[-1].T)
    x = np.moveaxis(np.concatenate(found), 2, 0)
    shared, method = planned(runs, courses)
    rate = integrand(first.model, first.drive.quantity, layout.memory).vector_code
    records = []
    for i in range(len(runs)):
        running = None if calls is None else runs[i].drive.running  # type: ignore[attr-defined]
        record = Recorded(shared, rate, method, trails[i], None, running)
        record.shown = first.times, x[i]
        record.passed(corners, np.array(states)[:-1, i], fed[i])
        record.samples = samples or record.samples
        record.called = [] if calls is None else [each[i] for each in calls.called]
        record.first = [each[i] for each in firsts]
        record.end(float(corners[-1]), states[-1][i])
        records.append(record)
    return Recorded.together(filled(records), shared, rate, method)


@final
class Calls:
    """The calls of the sampled controllers of `LANES` runs, one sample after the other.

    Attributes
    ----------
    u : (LANES, m)
        Current inputs.
    called : list of (LANES, arguments)
        Arguments of the controllers at each sample, without their constants.
    finite : bool
        False if a controller has returned a value that is not finite.
    """

    def __init__(self, runs: Sequence[Start]):
        self._drives: list[Any] = [run.drive for run in runs]
        self._calls = [SampledCalls(drive, run.model) for drive, run in zip(self._drives, runs, strict=True)]
        first = self._drives[0]
        self._times = np.array([*first.corners(float(runs[0].times[-1]))])[:-1]
        self._values, self._states = first.kernel.many_states, self._calls[0].states
        self._constants = np.array([each.constants for each in self._calls])
        self._z = np.array([each.memory_now for each in self._calls])
        self.u = np.empty((len(runs), runs[0].layout.inputs))
        self.called: list[Array] = []
        self.finite = True

    def fit(self, corners: Array) -> bool:
        """Return True if all samples are at the same corners, and if there is room for the arguments of all calls."""
        size = len(self._times) * len(self._calls) * (len(self._calls[0].given) - self._constants.shape[1])
        same = all(each.period == self._drives[0].period for each in self._drives)
        return same and bool(np.isin(self._times, corners).all()) and size <= RING

    def sample(self, t: float, x: Array) -> int:
        """Call the controllers if t is the time of their next sample. Return the number of the sample, or -1."""
        number = len(self.called)
        if number == len(self._times) or self._times[number] != t:
            return -1
        noise = np.vstack([each.drawn(1) for each in self._calls])
        given = np.hstack([np.full((len(x), 1), t), x[:, : self._states], self._z, noise])
        found, _ = self._values([given, self._constants])
        self.u, self._z = np.split(found, [self.u.shape[1]], axis=1)
        self.called.append(given)
        self.finite = bool(np.isfinite(found).all())
        return number


def _batch_plan(runs: Sequence[Start], courses: Sequence[Course], rates: Kernel, behind: int) -> BatchPlan:
    """Return what the runs of an implicit method share for rates with so many arguments after their constants."""
    own = np.hstack([_acting(runs), rates.constants_of(np.array([run.model.p for run in runs]))])
    stage = stage_of(runs, courses)
    return BatchPlan(rates.vector_code, runs[0].layout, np.array(filled([*own])), stage, behind, _most(runs))


def stage_of(runs: Sequence[Start], courses: Sequence[Course]) -> Stage:
    """Return the stage that writes the inputs of up to `LANES` runs."""
    stage = Stage(filled(courses), len(runs[0].model.inputs))
    stage.table[:] = np.arange(LANES)
    if stage.laws.size:
        stage.given[:] = stage.laws.T.ravel()
    return stage


def _sampled(
    runs: Sequence[Start],
    shared: BatchSettings,
    own: Array,
    x: Array,
    trails: Sequence[Placed],
    fed: Array,
    edges: Array,
) -> Array | None:
    """Integrate runs under sampled controllers. Write u to `fed`, and return the controllers' arguments at each sample.

    The result is None if the runs need their own code.
    """
    drives: list[Any] = [run.drive for run in runs]
    model, first, samples = runs[0].model, drives[0], np.array([*drives[0].corners(float(edges[-1]))])
    law = first.kernel_for(model)
    size = len(samples) * LANES * (law.code.facts["n_in"] - len(law.constants))
    other = any(drive.period != first.period for drive in drives)
    if other or model.states or model.exogenous or not np.array_equal(samples, edges) or size > RING:
        return None
    shared = replace(shared, step=np.array(filled([*shared.step])), guess=first.period, budget=MOST_EVALUATIONS)  # type: ignore[misc]
    calls = [SampledCalls(drive, run.model) for drive, run in zip(drives, runs, strict=True)]
    held = np.empty((len(runs), len(shared.times), shared.inputs + calls[0].recorded))
    clock = Clock(shared, law.vector_code, calls, own, None, contacts(filled(runs)), x, held, trails, len(samples) - 1)
    for i in range(0, len(edges) - 1, MOST_AHEAD):
        clock(edges[i : i + MOST_AHEAD + 1])
    if (clock.status != UNDER_WAY).any():
        return None
    fed[:, :, : shared.inputs] = np.moveaxis(clock.applied, 2, 0)[: len(runs)]
    return clock.called


def contacts(runs: Sequence[Start]) -> BatchTouching | None:
    """Return the contacts of runs in a SIMD batch, or None for an arm without contacts."""
    kernel, p = touches.kernel(runs[0].model), np.array([run.model.p for run in runs])
    return None if kernel is None else BatchTouching(kernel, runs[0].layout, kernel.constants_of(p))


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


def planned(runs: Sequence[Start], courses: Sequence[Course]) -> tuple[Plan | BatchPlan, Explicit | Tableau]:
    """Return the plan of the adjoint of up to `LANES` runs that are `alike`, and their method.

    The numbers of all runs are side by side in the plan.
    """
    first = runs[0]
    layout, rates = first.layout, integrand(first.model, first.drive.quantity, first.layout.memory)
    if first.method in solvers.IMPLICIT:
        return _batch_plan(runs, courses, rates, layout.size), solvers.IMPLICIT[first.method]
    code, (states, size) = rates.vector_code, (LANES * layout.states, LANES * layout.size)
    constants = rates.constants_of(np.array([run.model.p for run in filled(runs)])).T.ravel()
    inputs, w = LANES * (layout.inputs + layout.memory), LANES * layout.exogenous
    evaluate = code.addresses["evaluate"]
    plan = Plan(evaluate, states, inputs, size - states, code, size, constants, w, times=LANES)
    stage = stage_of(runs, courses)
    plan.feed(stage.code, stage.data, stage)
    return plan, Explicit(solvers.EXPLICIT[first.method], plan, first.rtol, np.zeros(size))


def filled(some: Sequence[Any]) -> list[Any]:
    """Return `LANES` objects, with the last one in all places that are left."""
    return [*some, *[some[-1]] * (LANES - len(some))]
