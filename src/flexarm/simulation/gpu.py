"""Runs of an ensemble on a graphics processor: the classical Runge-Kutta method with fixed steps, one run per thread.

All evaluation times of a run are known in advance: steps are equal from one time of the result, or jump of u, to the
next. If u depends on time alone, its values are computed in advance. If u depends on the state, the kernel evaluates
the control law before the rates.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, final

import numpy as np

from flexarm.arrays import Array
from flexarm.checks import counted
from flexarm.errors import DescriptionError
from flexarm.model import Model, closures
from flexarm.native import cuda
from flexarm.native.cuda import Device, Launch
from flexarm.native.kernel import Kernel
from flexarm.native.nvptx import evaluate, straight
from flexarm.native.program import instructions
from flexarm.native.sincos import Real
from flexarm.simulation import gpu_loops
from flexarm.simulation.block import Block
from flexarm.simulation.ensemble_runs import Asked, Group, Runs, closing, constants, held_outside, told, told_of_growth
from flexarm.simulation.exogenous import ExogenousInputs
from flexarm.simulation.feedback import integrand
from flexarm.simulation.gpu_loops import DONE, GROWN, UNDER_WAY
from flexarm.simulation.gpu_states import verified
from flexarm.simulation.lanes_closures import BatchClosing
from flexarm.simulation.layout import Layout

METHOD = "rk4"
STAGES = 4

TYPES = {"double": np.float64, "float": np.float32}

TOGETHER = 2**17
"""Largest number of runs in one launch: more than the threads of the largest processors."""
WINDOW = 2**28
"""Approximate size of the states that are fetched at a time [bytes]."""
LARGEST = 2**30
"""Largest size of values of u that are computed in advance [bytes]."""
WORK = 2e11
"""Operations of one launch, which take some tenths of a second. Ctrl-C takes effect after the launch."""


def check(
    method: str,
    step: float | None,
    drives: Sequence[Block],
    exogenous_inputs: Sequence[ExogenousInputs],
    model: Model,
    real: Real,
) -> None:
    """Raise `DescriptionError` if a graphics processor does not support the run, or if there is none."""
    if method != METHOD or step is None:
        raise DescriptionError(f"device is 'gpu', which supports only method {METHOD!r} with a step, not {method!r}")
    for drive in drives:
        if drive.period is not None or not drive.batched:
            must = "which supports constant u, a table, a compiled function of the time, or a continuous controller"
            raise DescriptionError(f"device is 'gpu', {must}, not {drive.described()}")
    if model.arm.closures and real != "double":
        raise DescriptionError(f"device is 'gpu'; closures, as of arm {model.arm.name!r}, need real='double'")
    if not all(each.constant for each in exogenous_inputs):
        raise DescriptionError("device is 'gpu', which supports only constant w and disturbance")
    cuda.device()


def name() -> str:
    """Return the name of the graphics processor."""
    return cuda.device().name


@final
@dataclass(frozen=True)
class Plan:
    """Intervals of a run, see `gpu_loops.Runs`, and the times at which u is needed.

    Attributes
    ----------
    asked : (rows,)
        Times of the rows of u. If u is piecewise constant, these are the starts of its intervals.
    """

    t: Array
    h: Array
    steps: Array
    shown: Array
    row: Array
    stride: Array
    before: Array
    asked: Array


def planned(times: Array, corners: Array, step: float, held: bool) -> Plan:
    """Return the intervals between times of the result and breakpoints, each with equal steps no longer than `step`."""
    edges = np.union1d(times, corners)
    t, lengths = edges[:-1], np.diff(edges)
    steps = np.maximum(np.ceil(lengths / step - 1e-9), 1.0)
    h, steps = lengths / steps, steps.astype(np.int64)
    shown = np.isin(edges[1:], times).astype(np.int64)
    stretch = np.searchsorted(corners, t, side="right") - 1
    before = np.nextafter(corners, -np.inf)[stretch + 1]
    if held:
        none = np.zeros(len(t), dtype=np.int64)
        return Plan(t, h, steps, shown, stretch, none, before, corners[:-1])
    rows = (
        2 * steps + 1
    )  # every half step including both ends: at a jump, u is evaluated from the left, then from the right
    row = np.cumsum(rows) - rows
    of = np.repeat(np.arange(len(t)), rows)
    asked = t[of] + 0.5 * h[of] * (np.arange(len(of)) - row[of])
    return Plan(t, h, steps, shown, row, np.ones(len(t), dtype=np.int64), before, np.minimum(asked, before[of]))


def below(values: Array, T: Any) -> Array:
    """Return the largest numbers of a type that are not larger than the values."""
    found = values.astype(T)
    return np.where(found > values, np.nextafter(found, T.type(-np.inf)), found)


@final
class _Courses:
    """Concatenated plans of some runs, and the values of u: see `gpu_loops.Runs`.

    Attributes
    ----------
    done : (pieces,)
        Number of steps before an interval.
    follow, laws : bool, (N, k)
        True if u follows from a law, and the law's constants in each run.
    first, total : (N,)
        First interval of a run, and its number of steps.
    times : int
        Number of times of the result after the first.
    """

    def __init__(self, drives: Sequence[Block], which: Array, model: Model, asked: Asked, step: float):
        plans: dict[tuple[bytes, bool], int] = {}
        made: list[Plan] = []
        values, of, laws, follows = [], [], [], False
        size = 0.0
        for drive in drives:
            kernel = drive.kernel_for(model)
            corners = np.array(list(drive.corners(asked.until)), dtype=float)
            follows = kernel is not None and drive.of_state
            key = corners.tobytes(), follows or (kernel is None and drive.cubics is None)
            if key not in plans:
                plans[key] = len(made)
                made.append(planned(asked.times, corners, step, key[1]))
            of.append(plans[key])
            at = made[of[-1]].asked
            laws.append(kernel.constants if kernel is not None and follows else np.empty(0))
            if follows:
                values.append(np.zeros((0, len(model.inputs))))
                continue
            size += 8.0 * len(at) * len(model.inputs)
            if size > LARGEST:
                why = (
                    f"u of {counted(len(drives), 'run')} at every half "
                    f"step needs more than {LARGEST / 1e9:.2g} GB on the GPU"
                )
                raise DescriptionError(f"device is 'gpu'; {why}; use a longer step, or fewer runs at once (folder=)")
            none = np.zeros((len(at), model.nq))
            values.append(drive.output(model, at, none, none, none[:, :0]))
        counts = np.array([len(each.t) for each in made])
        first = np.cumsum(counts) - counts
        self.t, self.h, self.before, self.steps, self.shown, self.row, self.stride = (
            np.concatenate([getattr(each, name) for each in made])
            for name in ("t", "h", "before", "steps", "shown", "row", "stride")
        )
        self.laws, self.follow = np.array(laws)[which], follows
        self.u = np.concatenate(values)
        lengths = np.array([len(each) for each in values])
        self.where = (np.cumsum(lengths) - lengths)[which]
        plan = np.array(of)[which]
        self.first, self.last = first[plan], (first + counts)[plan]
        self.done = np.concatenate([np.cumsum(each.steps) - each.steps for each in made])  # steps before each interval
        self.total = np.array([each.steps.sum() for each in made])[plan]
        self.times = len(asked.times) - 1


def program(
    rate: Kernel, layout: Layout, real: Real, law: Kernel | None = None, closed: Kernel | None = None
) -> tuple[str, Any, gpu_loops.Entry]:
    """Return runs of a rate as `cuda.Device.kernel` takes them: key, parts and entry.

    A law and a correction onto closures are optional.
    """
    known = 0 if closed is None else layout.nq + layout.nv
    fed = layout.inputs + layout.memory

    def parts() -> list[str]:
        from flexarm.native.translate import ir_of

        try:
            found = [straight(instructions(rate.trace()), layout.states + fed, real)]
            found += [_beside(kernel, name, real) for kernel, name in ((law, "law"), (closed, "correction"))]
        except NotImplementedError as error:
            raise DescriptionError(f"device is 'gpu'; {error}") from None
        return [*found, ir_of(gpu_loops.advanced, real=real, elsewhere=(evaluate, gpu_loops.law, gpu_loops.correction))]

    key = f"runs\n{rate.key}" if law is None else f"runs\n{rate.key}\nunder\n{law.key}"
    key = key if closed is None else f"{key}\non\n{closed.key}"
    return key, parts, gpu_loops.runs(layout.size, fed, known)


def _beside(kernel: Kernel | None, name: str, real: Real) -> str:
    """Return the code of a kernel with this name, which the runs call, or of nothing."""
    if kernel is None:
        return straight([], 0, real, name)
    function = kernel.trace()
    return straight(instructions(function), function.nnz_in() - len(kernel.constants), real, name)


def tasks(runs: Runs, group: Group, asked: Asked, real: Real) -> list["OnGpu"]:
    """Return the tasks of a group. Raise `DescriptionError` if there is no graphics processor."""
    group.begin(runs, asked)
    count = len(group.indices)
    parts = [slice(i, min(i + TOGETHER, count)) for i in range(0, count, TOGETHER)]
    return [OnGpu(runs, group, asked, part, real) for part in parts]


@final
class _There:
    """Some runs in a device's memory, with copies of their results on the host.

    Parameters
    ----------
    state, own : (N, size), (N, k)
        Initial states, and the numbers of each run that follow u; in the precision of the computation.

    Attributes
    ----------
    x, piece, at, known, status
        See `gpu_loops.Runs`; the last two have their values after the last launch.
    window : int
        Number of times whose states fit into device memory.
    """

    def __init__(
        self,
        device: Device,
        launch: Launch,
        layout: Layout,
        state: Array,
        own: Array,
        courses: _Courses,
        closed: BatchClosing | None,
    ):
        count, size, T = *state.shape, state.dtype
        self._device, self._launch, self._count = device, launch, count
        self.x = np.array(state.T, order="C")  # always a copy
        self.piece, self.at = courses.first.copy(), np.zeros(count, dtype=np.int64)
        self.known, self.status = np.ones(count, dtype=np.int64), np.full(count, UNDER_WAY)
        self.window = max(1, WINDOW // self.x.nbytes)
        self._out = np.empty((min(self.window, courses.times), size, count), dtype=T)
        arrays = {
            "x": self.x,
            "own": own.T,
            "h": courses.h.astype(T),
            "steps": courses.steps,
            "shown": courses.shown,
            "row": courses.row,
            "stride": courses.stride,
            "t": courses.t.astype(T),
            "before": below(courses.before, T),
            "u": courses.u.astype(T),
            "where": courses.where,
            "laws": courses.laws.T.astype(T),
            "piece": self.piece,
            "last": courses.last,
            "at": self.at,
            "known": self.known,
            "status": self.status,
            "loops": np.zeros((0, count), dtype=T) if closed is None else closed.constants.T.astype(T),
        }
        self._places = {name: device.put(values) for name, values in arrays.items()}
        self._places["out"] = device.room(self._out)
        words = {"count": count, "size": size, "states": layout.states, "inputs": layout.inputs}
        words["follows"] = int(courses.follow)
        words["closed"] = 0 if closed is None else closed.record.known
        words["spare"] = gpu_loops.spare(size, layout.inputs + layout.memory)
        words |= {name: memory.address for name, memory in self._places.items()}
        self._record = device.put(np.array([words[each.name] for each in fields(gpu_loops.Runs)], dtype=np.int64))

    def launch(self, start: int, stop: int, most: int) -> None:
        """Advance every run until its state is known at the times before `stop`, or by at most `most` steps."""
        self._launch(self._count, [self._record], [start, stop, most])
        self.fetch("known", "status")

    def fetch(self, *names: str) -> None:
        """Copy the current values of these attributes from the device."""
        for name in names:
            self._device.get(self._places[name], getattr(self, name))

    def states(self) -> Array:
        """Return the states at the times of the window, (times, size, N)."""
        self._device.get(self._places["out"], self._out)
        return self._out

    def steps(self, courses: _Courses) -> Array:
        """Return the number of steps of each run, (N,)."""
        ended = self.piece == courses.last
        return np.where(ended, courses.total, courses.done[np.where(ended, 0, self.piece)] + self.at)


@final
class OnGpu:
    """A task that computes some runs of a group on a graphics processor."""

    def __init__(self, runs: Runs, group: Group, asked: Asked, part: slice, real: Real):
        self._runs, self._group, self._asked, self._part, self._real = runs, group, asked, part, real
        drive = runs.drive(group.indices[0])
        self._rate = integrand(runs.model, drive.quantity, group.layout.memory)
        self._law = drive.kernel_for(runs.model) if drive.of_state else None
        self._closed = closures.kernel(runs.model, drive.quantity) if runs.model.arm.closures else None
        device = cuda.device()
        verified(device, self._rate, real)
        self._launch(device)  # compile here, so that errors appear here
        self._stopped = False
        self.finished = 0

    def _launch(self, device: Device) -> Launch:
        key, parts, entry = program(self._rate, self._group.layout, self._real, self._law, self._closed)
        return device.kernel(key, parts, entry, self._real)

    def __call__(self) -> None:
        """Compute the runs."""
        if self._stopped:
            return
        runs, group, part = self._runs, self._group, self._part
        indices, x, T = group.indices[part], group.x[part], TYPES[self._real]
        drives, which = np.unique(runs.which[indices], return_inverse=True)
        courses = _Courses([runs.drives[i] for i in drives], which, runs.model, self._asked, group.step)
        own = np.hstack([held_outside(runs, indices), constants(runs, self._rate, indices)])
        device = cuda.device()
        loops = closing(runs, indices)
        there = _There(device, self._launch(device), group.layout, x[:, 0].astype(T), own.astype(T), courses, loops)
        self._advance(there, x)
        there.fetch("piece", "at", "x")
        total = x.shape[1]
        for i in np.flatnonzero(there.known < total):
            x[i, there.known[i] :] = np.nan
        steps = there.steps(courses)
        group.known[part], group.steps[part], group.evaluations[part] = there.known, steps, STAGES * steps
        for row, status in enumerate(there.status):
            i = part.start + row
            if status == DONE:
                group.status[i] = "completed"
            elif status == GROWN:
                piece = there.piece[row]
                t = float(courses.t[piece] + there.at[row] * courses.h[piece])
                group.status[i] = self._grown(i, t, there.x[:, row].astype(float))

    def _advance(self, there: "_There", x: Array) -> None:
        """Advance all runs, window by window, as far as possible."""
        count, total, size = x.shape
        most = max(1, int(WORK / (count * STAGES * (self._rate.code.operations + 1))))
        start = 1
        while start < total and not self._stopped:
            stop = min(start + there.window, total)
            while not self._stopped:
                there.launch(start, stop, most)
                self.finished = int((there.status != UNDER_WAY).sum())
                if not ((there.status == UNDER_WAY) & (there.known < stop)).any():
                    break
            x[:, start:stop] = there.states()[: stop - start].transpose(2, 0, 1)
            start = stop

    def _grown(self, i: int, t: float, stuck: Array) -> str:
        """Return why a run ended. In double precision, the run is repeated on the CPU to find the reason."""
        if self._real == "double":
            return told(self._runs, self._group, self._asked, i, t, stuck)
        return told_of_growth(self._runs, self._group, i, t, stuck)

    def stop(self) -> None:
        """Stop the runs."""
        self._stopped = True
