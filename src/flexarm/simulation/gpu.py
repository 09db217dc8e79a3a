"""Runs of an ensemble on a graphics processor by explicit methods, one run per thread.

Large programs have several threads for each run, see `gpu_cooperative`.

Fixed steps are known in advance: they are equal from one time of the result, or jump of u, to the next. Adaptive steps
follow the error of each run. u is constant in each interval, or the kernel evaluates a compiled function or a table
before the rates.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, final

import numpy as np

from flexarm.arrays import Array
from flexarm.checks import counted
from flexarm.errors import DescriptionError
from flexarm.model import Model, closures
from flexarm.native import cuda
from flexarm.native.cuda import Device, Launch
from flexarm.native.exponential import powers
from flexarm.native.kernel import Kernel
from flexarm.native.nvptx import Entry, Precision, evaluate, evaluated, stored, straight
from flexarm.native.program import instructions
from flexarm.simulation import crossings, divergence, gpu_contacts, gpu_cooperative, gpu_loops, solvers, touches
from flexarm.simulation.block import Block
from flexarm.simulation.butcher import METHODS, ButcherTableau
from flexarm.simulation.ensemble_pool import Pool
from flexarm.simulation.ensemble_runs import (
    Asked,
    Group,
    Runs,
    closing,
    constants,
    groups,
    held_outside,
    told,
    told_of_growth,
)
from flexarm.simulation.exogenous import ExogenousInputs
from flexarm.simulation.feedback import integrand
from flexarm.simulation.gpu_loops import (
    DONE,
    ENDED,
    GROWN,
    HELD,
    LAW,
    NO_LAW,
    SAMPLED,
    TABLE,
    TOO_SHORT,
    UNDER_WAY,
    Form,
)
from flexarm.simulation.gpu_states import TYPES, beside, verified
from flexarm.simulation.inputs import constant
from flexarm.simulation.lanes_plan import Course
from flexarm.simulation.layout import Layout
from flexarm.simulation.sampled_calls import SampledCalls

TOGETHER = 2**17
"""Largest number of runs in one launch: more than the threads of the largest processors."""
WINDOW = 2**28
"""Approximate size of the states that are fetched at a time [bytes]."""
LARGEST = 2**30
"""Largest size of the noise of sampled controllers, which is drawn in advance [bytes]."""
FINEST = 1e-5
"""Least relative tolerance of adaptive steps with numbers of 32 bits, some hundred times their rounding."""
WORK = 2e11
"""Operations of one launch, which take some tenths of a second. Ctrl-C takes effect after the launch."""


def check(
    method: str,
    step: float | None,
    drives: Sequence[Block],
    exogenous_inputs: Sequence[ExogenousInputs],
    model: Model,
    real: Precision,
    rtol: float,
) -> None:
    """Raise `DescriptionError` if a graphics processor does not support the run, or if there is none."""
    if method not in solvers.names():
        raise DescriptionError(
            f"device is 'gpu', which does not support the method {method!r}; give one by solver=fa.Solver(method=...): "
            f"{', '.join(solvers.names())}"
        )
    if method in solvers.IMPLICIT:
        _check_implicit(method, drives, model, real)
    elif METHODS[method].adaptive and real != "double" and rtol < FINEST:
        must = f"accelerations in 32 bits (real={real!r}) need an rtol of at least {FINEST:g}"
        raise DescriptionError(f"device is 'gpu'; rtol is {rtol:g}; {must} with method {method!r}")
    for drive in drives:
        if not drive.batched or (drive.period is not None and (model.states or model.exogenous)):
            must = "which supports constant u, a table, a compiled function of the time, or a compiled controller"
            if drive.batched:
                must = "which supports sampled controllers only of arms without states of drives and exogenous inputs"
            raise DescriptionError(f"device is 'gpu', {must}, not {drive.described()}")
        if crossings.stops(model, drive, method) and real != "double":
            why = f"{method!r} stops at sharp contacts, as of arm {model.arm.name!r}, only with real='double'"
            raise DescriptionError(f"device is 'gpu'; {why}; or use a method with fixed steps")
    if model.arm.closures and real != "double":
        raise DescriptionError(f"device is 'gpu'; closures, as of arm {model.arm.name!r}, need real='double'")
    if not all(each.constant for each in exogenous_inputs):
        raise DescriptionError("device is 'gpu', which supports only constant w and disturbance")
    cuda.device()


def _check_implicit(method: str, drives: Sequence[Block], model: Model, real: Precision) -> None:
    """Raise `DescriptionError` if a graphics processor does not support the run by an implicit method."""
    why = ""
    if real != "double":
        why = f"needs real='double', not {real!r}: the solution of its equations would not converge"
    elif model.arm.closures:
        why = f"does not support closures there, which arm {model.arm.name!r} has; use an explicit method, or the CPU"
    elif any(drive.period is not None for drive in drives):
        why = "does not support sampled controllers there; use an explicit method, or the CPU"
    elif any(crossings.stops(model, drive, method) for drive in drives):
        why = f"does not stop at sharp contacts there, which arm {model.arm.name!r} has; use an explicit method"
    if why:
        raise DescriptionError(f"device is 'gpu'; method {method!r} {why}")


def name() -> str:
    """Return the name of the graphics processor."""
    return cuda.device().name


@final
@dataclass(frozen=True)
class Plan:
    """Intervals of a run, see `gpu_loops.Runs`. Those of adaptive steps have neither `h` nor `steps`."""

    t: Array
    end: Array
    before: Array
    row: Array
    h: Array
    steps: Array
    shown: Array
    sample: Array


def planned(times: Array, corners: Array, step: float) -> Plan:
    """Return the intervals between times of the result and breakpoints, each with equal steps no longer than `step`."""
    edges = np.union1d(times, corners)
    t, lengths = edges[:-1], np.diff(edges)
    steps = np.maximum(np.ceil(lengths / step - 1e-9), 1.0)
    interval = np.searchsorted(corners, t, side="right") - 1
    before = np.nextafter(corners, -np.inf)[interval + 1]
    shown = np.isin(edges[1:], times).astype(np.int64)
    sample = np.where(t == corners[interval], interval, -1)
    return Plan(t, edges[1:], before, interval, lengths / steps, steps.astype(np.int64), shown, sample)


def intervals(corners: Array) -> Plan:
    """Return the intervals between breakpoints, for adaptive steps."""
    none = np.zeros(len(corners) - 1, dtype=np.int64)
    before, number = np.nextafter(corners[1:], -np.inf), np.arange(len(none))
    return Plan(corners[:-1], corners[1:], before, number, none.astype(float), none, none, number)


def numbers_of(tableau: ButcherTableau) -> dict[str, Any]:
    """Return the numbers of an explicit method by the names of `gpu_loops.Runs`."""
    first, terms, weights = tableau.groups
    ahead, after = tableau.in_sequence if tableau.chained else (np.zeros(1), np.zeros(1))
    found = {"c": np.array(tableau.c), "first": first, "terms": terms}
    return found | {"weights": weights, "ahead": ahead, "after": after}


def below(values: Array, T: Any) -> Array:
    """Return the largest numbers of a type that are not larger than the values."""
    found = values.astype(T)
    return np.where(found > values, np.nextafter(found, T.type(-np.inf)), found)


@final
class Courses:
    """Concatenated intervals of some runs, and their sources of u: see `gpu_loops.Runs`.

    Attributes
    ----------
    arrays : dict
        Intervals, values of u, tables and constants of laws.
    first, last : (N,)
        First interval of a run, and the end of its intervals.
    """

    def __init__(self, courses: Sequence[Course], which: Array, plan: Callable[[Array], Plan]):
        plans: dict[bytes, int] = {}
        made: list[Plan] = []
        of = np.zeros(len(courses), dtype=np.int64)
        for i, course in enumerate(courses):
            key = course.corners.tobytes()
            if key not in plans:
                plans[key] = len(made)
                made.append(plan(course.corners))
            of[i] = plans[key]
        counts = np.array([len(each.t) for each in made])
        ends = np.cumsum(counts)
        self.first, self.last = (ends - counts)[of][which], ends[of][which]
        self.arrays = {each.name: np.concatenate([getattr(plan, each.name) for plan in made]) for each in fields(Plan)}
        held = [each.held for each in courses]
        lengths = np.array([len(each) for each in held])
        tables = [each.cubics for each in courses if each.cubics is not None]
        breaks = np.array([len(each) for each, _ in tables], dtype=np.int64)
        rows = [np.vstack([each, np.zeros((1, *each.shape[1:]))]).reshape(len(each) + 1, -1) for _, each in tables]
        none = np.zeros((1, 1))
        self.arrays |= {
            "u": np.concatenate(held),
            "where": (np.cumsum(lengths) - lengths)[which],
            "course": which.astype(np.int64),
            "laws": np.array([each.constants for each in courses]).T,
            "cubics": np.cumsum(breaks) - breaks,
            "intervals": breaks - 1,
            "breaks": np.concatenate([none[0], *(each for each, _ in tables)])[1:],
            "coefficients": np.concatenate([row.ravel() for row in rows] or [none[0]]),
        }
        self.courses = len(courses)


def program(
    rate: Kernel,
    layout: Layout,
    real: Precision,
    tableau: ButcherTableau = METHODS["rk4"],
    law: Kernel | None = None,
    closed: Kernel | None = None,
    table: bool = False,
    lengths: tuple[int, int, int] | None = None,
    edges: Kernel | None = None,
    contacts: Kernel | None = None,
) -> tuple[str, Any, Entry]:
    """Return runs of a rate as `cuda.Device.kernel` takes them: key, parts and entry.

    A law, a correction onto closures, a table of u, contact functions at `edges` where runs stop, and functions of
    touches of other `contacts` are optional. The law is a sampled one if
    the `lengths` of its memory, its noise and its recorded signals are given.
    """
    source = TABLE if table else HELD if law is None else LAW if lengths is None else SAMPLED
    numbers, moving = stored(real), layout.nq + layout.nv
    counts = [0 if each is None else each.code.facts["n_out"] for each in (edges, contacts)]
    form = Form.of(layout, tableau, source, 0 if closed is None else moving, lengths or (0, 0, 0), *counts)
    fed = layout.inputs + layout.memory

    def parts() -> list[str]:
        from flexarm.native.translate import ir_of

        try:
            found = [straight(instructions(rate.trace()), layout.states + fed, evaluated(real), memory=numbers)]
            more = (law, "law"), (closed, "correction"), (edges, "crossings"), (contacts, "distances")
            found += [beside(kernel, name, numbers) for kernel, name in more]
        except NotImplementedError as error:
            raise DescriptionError(f"device is 'gpu'; {error}") from None
        elsewhere = evaluate, gpu_loops.law, gpu_loops.correction, gpu_contacts.crossings, gpu_contacts.distances
        constants = form.constants(numbers)
        loops = ir_of(gpu_loops.advanced, real=numbers, elsewhere=elsewhere, scalar=True, constants=constants)
        return [*found, powers(numbers), loops]

    key = f"runs\n{rate.key}" if law is None else f"runs\n{rate.key}\nunder\n{law.key}"
    key = key if closed is None else f"{key}\non\n{closed.key}"
    key = key if edges is None else f"{key}\nat\n{edges.key}"
    key = key if contacts is None else f"{key}\ntouching\n{contacts.key}"
    return f"{key}\n{form}\n{real}", parts, form.entry(fed, rate.code.operations, numbers)


ON_DEVICE = ("q", "qd", "work", "dissipated")
"""Variables of a result that are parts of the states, which a graphics processor has."""


def arrays(
    runs: Runs, asked: Asked, names: Sequence[str], real: Precision, seen: Callable[[float], None] | None
) -> tuple[dict[str, Any], bool]:
    """Return variables of all runs as arrays on the graphics processor, and True if Ctrl-C was pressed.

    They have the dimensions (times, variable, run), without the initial time.

    Raises
    ------
    DescriptionError
        A name is not one of `ON_DEVICE`, or the inputs are of several kinds.
    """
    if wrong := [name for name in names if name not in ON_DEVICE]:
        raise DescriptionError(f"as_ is 'dlpack', which can keep {', '.join(ON_DEVICE)}, not {', '.join(wrong)}")
    kinds = groups(runs, asked)
    if len(kinds) > 1:
        raise DescriptionError("as_ is 'dlpack'; u has inputs of different kinds; give all runs one kind")
    (group,) = kinds
    if group.method not in METHODS:
        raise DescriptionError(f"as_ is 'dlpack', which needs an explicit method, not {group.method!r}")
    group.begin(runs, replace(asked, times=asked.times[:1]))
    task = OnGpu(runs, group, asked, slice(0, len(runs)), real, stays=tuple(names))
    pool = Pool([task], 1)
    pool(seen)
    found = {
        **task.found,
        "time": asked.times[1:],
        "time_reached": asked.times[group.known - 1],
        "status": np.array(group.status),
        "steps": group.steps,
        "evaluations": group.evaluations,
    }
    return found, pool.came


def tasks(runs: Runs, group: Group, asked: Asked, real: Precision) -> list["OnGpu"]:
    """Return the tasks of a group. Raise `DescriptionError` if there is no graphics processor."""
    group.begin(runs, asked)
    count = len(group.indices)
    parts = [slice(i, min(i + TOGETHER, count)) for i in range(0, count, TOGETHER)]
    return [OnGpu(runs, group, asked, part, real) for part in parts]


@final
class There:
    """Some runs in a device's memory, with copies of their results on the host.

    Parameters
    ----------
    state, own : (N, size), (N, k) or (1, k)
        Initial states, and the numbers of each run, or of all, that follow u; in the precision of the computation.
    shared : dict
        Further words and arrays of the record, see `gpu_loops.Runs`.
    stays : bool
        True if the states at all times stay on the device.
    kind : type
        Type of the record.

    Attributes
    ----------
    x, now, known, status, taken, evaluations, held, command, wrong, value
        See `gpu_loops.Runs`; known and status have their values after the last launch.
    window : int
        Number of times whose states fit into device memory.
    """

    def __init__(
        self,
        device: Device,
        launch: Launch,
        state: Array,
        stays: bool,
        own: Array,
        courses: Courses,
        shared: dict[str, Any],
        kind: type[gpu_loops.Runs] = gpu_loops.Runs,
    ):
        self._fields = fields(kind)
        count, size, T = *state.shape, state.dtype
        self._device, self._launch, self._count = device, launch, count
        self.x, self.now = np.array(state.T, order="C"), np.zeros(count, dtype=T)  # always a copy
        self.known, self.status = np.ones(count, dtype=np.int64), np.full(count, UNDER_WAY)
        self.taken, self.evaluations = np.zeros((2, count), dtype=np.int64)
        total = len(shared["times"])
        self.window = total if stays else max(1, WINDOW // self.x.nbytes)
        self._out = np.empty((min(self.window, total - 1), size, count), dtype=T)
        arrays = courses.arrays | {
            "x": self.x,
            "own": own.T,
            "now": self.now,
            "next": np.full(count, -1.0),
            "piece": courses.first,
            "last": courses.last,
            "at": np.zeros(count, dtype=np.int64),
            "known": self.known,
            "status": self.status,
            "taken": self.taken,
            "evaluations": self.evaluations,
        }
        arrays["before"] = below(arrays["before"], T)
        words: dict[str, Any] = {"count": count, "total": total, "courses": courses.courses}
        words |= {"single": int(len(own) == count), "apart": len(own)}
        for name, values in shared.items():
            (arrays if isinstance(values, np.ndarray) else words)[name] = values
        floats = {name: values for name, values in arrays.items() if values.dtype.kind == "f"}
        arrays |= {name: values.astype(T, copy=False) for name, values in floats.items()}
        self.held, self.command, self.wrong, self.value = (
            arrays[name] for name in ("held", "command", "wrong", "value")
        )
        self._places = {name: device.put(values) for name, values in arrays.items()}
        self._places["out"] = device.room(self._out)
        self._words, self._T = words, T
        self._place()

    def _place(self) -> None:
        """Copy the record to the device."""
        values = self._words | {name: memory.address for name, memory in self._places.items()}
        record = np.zeros(len(self._fields), dtype=np.int64)
        for i, each in enumerate(self._fields):
            if each.type is float:  # in the first bytes of its word
                record[i : i + 1].view(self._T)[0] = values[each.name]
            else:
                record[i] = values[each.name]
        self._record = self._device.put(record)

    def launch(self, start: int, stop: int, most: int) -> None:
        """Advance every run until its state is known at the times before `stop`, or by about `most` evaluations."""
        self._launch(self._count, [self._record], [start, stop, most])
        self.fetch("known", "status")

    def fetch(self, *names: str) -> None:
        """Copy the current values of these attributes from the device."""
        for name in names:
            self._device.get(self._places[name], getattr(self, name))

    def end(self, which: Array) -> None:
        """End these runs at their current states."""
        self.status[which] = ENDED
        self._places["status"] = self._device.put(self.status)
        self._place()

    def part(self, which: slice | int) -> Any:
        """Return some numbers of the states at all times as an array on the device, (times, numbers, N) or (times, N).

        The runs are side by side in memory.
        """
        times, size, count = self._out.shape
        first, width = (which, 0) if isinstance(which, int) else (which.start, which.stop - which.start)
        shape, strides = [times, count], [size * count, 1]
        if isinstance(which, slice):
            shape, strides = [times, width, count], [size * count, count, 1]
        return self._device.array(self._places["out"], self._out, shape, strides, first * count)

    def states(self) -> Array:
        """Return the states at the times of the window, (times, size, N)."""
        self._device.get(self._places["out"], self._out)
        return self._out


class OnGpu:
    """A task that computes some runs of a group on a graphics processor, by an explicit method.

    `gpu_implicit.ImplicitOnGpu` computes those by an implicit one.

    Attributes
    ----------
    found : dict
        Arrays on the device by name, of the variables that stay there.
    threads : int
        Number of threads that compute one run.
    """

    def __init__(
        self, runs: Runs, group: Group, asked: Asked, part: slice, real: Precision, stays: tuple[str, ...] = ()
    ):
        self._runs, self._group, self._asked, self._part, self._real = runs, group, asked, part, real
        drive = runs.drive(group.indices[0])
        self._rate = integrand(runs.model, self._quantity(drive), group.layout.memory)
        self._law, self._table = drive.kernel_for(runs.model), drive.cubics is not None
        self._closed = closures.kernel(runs.model, drive.quantity) if runs.model.arm.closures else None
        stops = crossings.stops(runs.model, drive, group.method)
        self._edges = runs.model.compiled("crossings", crossings.crossings) if stops else None
        self._contacts = touches.kernel(runs.model) if self._adapting else None
        self._sampled = drive.period is not None
        if self._sampled and group.held is None:
            group.hold(runs, asked)
        self.threads = self._threads()
        device = cuda.device()
        several = gpu_cooperative.states_program(self._rate, group.layout, real, self.threads)
        verified(device, self._rate, real, several if self.threads > 1 else None)
        self._launch(device)  # compile here, so that errors appear here
        self._stays, self.found = stays, dict[str, Any]()
        self._judges: dict[int, divergence.Judge] = {}
        self._said: dict[int, str] = {}
        self._looks = np.full(part.stop - part.start, divergence.FIRST)
        self._stopped = False
        self.finished = 0

    @property
    def _tableau(self) -> ButcherTableau:
        return METHODS[self._group.method]

    @property
    def _adapting(self) -> bool:
        """True if the steps follow their errors."""
        return self._tableau.adaptive

    @property
    def _adaptive(self) -> bool:
        """True if the kernel counts the evaluations."""
        return self._tableau.adaptive

    def _quantity(self, drive: Block) -> str:
        """Return the name of the quantity that the kernel evaluates."""
        return drive.quantity

    def _there(self, device: Device, start: Array, given: tuple[Array, Courses, dict[str, Any]]) -> "There":
        """Return the runs on the device, at their initial states."""
        return There(device, self._launch(device), start, bool(self._stays), *given)

    def _threads(self) -> int:
        """Return the number of threads that compute one run: several only where the loops support it."""
        if self._adaptive or self._sampled or self._closed is not None or self._edges is not None:
            return 1
        return gpu_cooperative.threads(self._rate, self._group.layout, self._real, self._tableau)

    def _launch(self, device: Device) -> Launch:
        layout, real = self._group.layout, self._real
        if self.threads > 1:
            several = gpu_cooperative.program(
                self._rate, layout, real, self.threads, self._tableau, self._law, self._table
            )
            return device.kernel(*several, stored(real))
        lengths = None
        if self._sampled:
            first = self._calls([self._runs.drive(self._group.indices[0])])[0]
            lengths = first.memory, first.noises, first.recorded
        key, parts, entry = program(
            self._rate,
            layout,
            real,
            self._tableau,
            self._law,
            self._closed,
            self._table,
            lengths,
            self._edges,
            self._contacts,
        )
        return device.kernel(key, parts, entry, stored(real))

    def _calls(self, drives: Sequence[Block]) -> list[SampledCalls]:
        """Return sampled laws at their beginning."""
        return [SampledCalls(drive, self._runs.model) for drive in drives]  # type: ignore[arg-type]

    def __call__(self) -> None:
        """Compute the runs."""
        if self._stopped:
            return
        group, part = self._group, self._part
        indices, x, T = group.indices[part], group.x[part], TYPES[self._real]
        device = cuda.device()
        there = self._there(device, x[:, 0].astype(T), self._given(indices, T))
        self._advance(there, x)
        there.fetch("x", "now", "taken", "evaluations")
        if self._stays:
            self.found = {name: there.part(getattr(group.layout, name)) for name in self._stays}
        else:
            for i in np.flatnonzero(there.known < x.shape[1]):
                x[i, there.known[i] :] = np.nan
        if self._sampled and group.held is not None:
            there.fetch("held", "command", "wrong", "value")
            group.held[part] = there.held.transpose(2, 0, 1)
        evaluations = there.evaluations if self._adaptive else self._tableau.stages * there.taken
        group.known[part], group.steps[part], group.evaluations[part] = there.known, there.taken, evaluations
        if (there.status == DONE).all():
            group.status[part] = ["completed"] * len(there.status)
            return
        for row, status in enumerate(there.status.tolist()):
            i = part.start + row
            if status == DONE:
                group.status[i] = "completed"
            elif status == ENDED:
                group.status[i] = self._said[row]
            elif status in (GROWN, TOO_SHORT):
                held = constant(there.command[:, row].astype(float)) if self._sampled else None
                group.status[i] = self._reason(i, float(there.now[row]), there.x[:, row].astype(float), held)
            elif status == NO_LAW:
                (call,) = self._calls([self._runs.drive(group.indices[i])])
                group.status[i] = call.refusal(float(there.now[row]), int(there.wrong[row]), float(there.value[row]))

    def _given(self, indices: Array, T: Any) -> tuple[Array, Courses, dict[str, Any]]:
        """Return the numbers of each run that follow u, the trajectories of u, and what all runs share."""
        runs, asked, tableau, layout = self._runs, self._asked, self._tableau, self._group.layout
        drives, which = runs.drives_of(indices)
        some = indices if runs.levels is None else indices[:1]
        step = self._group.step
        plan = intervals if tableau.adaptive else lambda corners: planned(asked.times, corners, step)
        courses = Courses(runs.courses_of(some, asked)[0], which, plan)
        if runs.levels is not None:
            courses.arrays |= {"u": runs.levels[indices], "where": np.arange(len(indices))}
        alike = indices[:1] if runs.p is None and runs.around is None else indices
        own = np.hstack([held_outside(runs, alike), constants(runs, self._rate, alike)]).astype(T)
        loops = closing(runs, alike)
        laws = self._samples([runs.drives[i] for i in drives], which, courses) if self._sampled else self._none(which)
        shared = {
            **numbers_of(tableau),
            "rtol": asked.rtol,
            "atol": asked.atol,
            "step": self._group.step,
            "times": asked.times,
            **laws,
            "most": np.full(layout.states, np.inf) if self._sampled else bounds(runs, indices, layout),
            "loops": np.zeros((0, 1)) if loops is None else loops.constants.T,
            "edges": np.zeros((0, 1)) if self._edges is None else constants(runs, self._edges, alike).T,
            "contacts": self._of_contacts(alike),
            "resume": np.zeros(len(indices)),
            "stopped": np.full(len(indices), -1e30),
            "unwatched": np.zeros(len(indices)),
        }
        return own, courses, shared

    def _of_contacts(self, alike: Array) -> Array:
        """Return the constants of the functions of touches of each run, or of all."""
        return np.zeros((0, 1)) if self._contacts is None else constants(self._runs, self._contacts, alike).T

    def _samples(self, drives: Sequence[Block], which: Array, courses: Courses) -> dict[str, Any]:
        """Return the data of sampled laws: see `gpu_loops.Runs`."""
        calls = self._calls(drives)
        first, count, m = calls[0], len(which), len(self._runs.model.inputs)
        periods = int(
            courses.last[0] - courses.first[0] if self._tableau.adaptive else courses.arrays["sample"].max() + 1
        )
        size = 8.0 * periods * first.noises * count
        if size > LARGEST:
            why = f"the noise of {counted(count, 'run')} at {periods} samples needs {size / 1e9:.2g} GB"
            raise DescriptionError(f"device is 'gpu'; {why}; simulate fewer runs at once (folder=)")
        noise = np.zeros((periods, first.noises, count))
        if first.noises:
            drawn = np.array([each.drawn(periods) for each in calls])
            noise[:] = drawn[which].transpose(1, 2, 0)
        guess = self._group.step or drives[0].period
        laws = [drive.kernel_for(self._runs.model) for drive in drives]
        return {
            "laws": np.array([law.constants for law in laws if law is not None]).T,
            "noise": noise,
            "late": first.late,
            "guess": guess,
            "command": np.zeros((m, count)),
            "memory": np.array([each.memory_now for each in calls])[which].T,
            "given": np.zeros(count, dtype=np.int64),
            "held": np.full((len(self._asked.times), m + first.recorded, count), np.nan),
            "wrong": np.zeros(count, dtype=np.int64),
            "value": np.zeros(count),
        }

    @staticmethod
    def _none(which: Array) -> dict[str, Any]:
        """Return the data of sampled laws for runs without one."""
        floats = {name: np.zeros(0) for name in ("noise", "command", "memory", "held", "value")}
        none = np.zeros(0, dtype=np.int64)
        return {**floats, "late": 0.0, "guess": 0.0, "given": none, "wrong": none}

    def _advance(self, there: "There", x: Array) -> None:
        """Advance all runs, window by window, as far as possible."""
        count, total = len(x), len(self._asked.times)
        least = 2 * (len(self._tableau.c) + 2) if self._tableau.adaptive else 1  # a launch must complete a step
        most = max(least, int(WORK / (count * (self._rate.code.operations + 1))))
        start = 1
        while start < total and not self._stopped:
            stop = min(start + there.window, total)
            while not self._stopped:
                there.launch(start, stop, most)
                self.finished = int((there.status != UNDER_WAY).sum())
                if not ((there.status == UNDER_WAY) & (there.known < stop)).any():
                    break
                if self._tableau.adaptive and not self._sampled:
                    self._look(there)
            if not self._stays:
                x[:, start:stop] = there.states()[: stop - start].transpose(2, 0, 1)
            start = stop

    def _look(self, there: "There") -> None:
        """End the runs that take many evaluations and have diverged or will not end, as in a SIMD batch."""
        there.fetch("evaluations")
        due = np.flatnonzero((there.status == UNDER_WAY) & (there.evaluations > self._looks))
        if not len(due):
            return
        there.fetch("now", "x")
        layout, runs = self._group.layout, self._runs
        for row in due.tolist():
            r = self._group.indices[self._part.start + row]
            if row not in self._judges:
                self._judges[row] = divergence.Judge(runs.at(r), runs.drive(r), layout, self._asked.until)
            x, n = there.x[: layout.states, row].astype(float), int(there.evaluations[row])
            self._looks[row], said = self._judges[row](float(there.now[row]), x, n)
            if said:
                self._said[row] = said
        ended = [row for row in due.tolist() if row in self._said]
        if ended:
            there.end(np.array(ended))

    def _reason(self, i: int, t: float, stuck: Array, held: Block | None) -> str:
        """Return why a run ended. In double precision, the run is repeated on the CPU to find the reason."""
        if self._real == "double":
            return told(self._runs, self._group, self._asked, i, t, stuck, held)
        return told_of_growth(self._runs, self._group, i, t, stuck)

    def stop(self) -> None:
        """Stop the runs."""
        self._stopped = True


def bounds(runs: Runs, indices: Array, layout: Layout) -> Array:
    """Return the sizes of a state's numbers (states,) beyond which a run has diverged.

    The lengths of the links are those of the largest and the smallest parameters of all runs.
    """
    found = np.full(layout.states, np.inf)
    p = None if runs.p is None else runs.p[indices]
    models = [runs.model] if p is None else [runs.model.at(p.min(axis=0)), runs.model.at(p.max(axis=0))]
    found[layout.q] = np.max([divergence.bounds(model) for model in models], axis=0)
    return found
