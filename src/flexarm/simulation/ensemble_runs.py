"""Runs of an ensemble as tasks: in SIMD batches where machine code can, and one by one otherwise.

The results of a run do not depend on its batch or on the number of cores.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol, final

import numpy as np

from flexarm.arrays import Array
from flexarm.errors import FlexarmError
from flexarm.model import Model, closures
from flexarm.native.kernel import LANES, Kernel
from flexarm.simulation import crossings, divergence, methods, restarts, solvers, touches
from flexarm.simulation.block import Block, Recorded
from flexarm.simulation.diagnosis import diagnosis, motion_names
from flexarm.simulation.exogenous import ExogenousInputs
from flexarm.simulation.explicit import MOST_EVALUATIONS
from flexarm.simulation.feedback import integrand
from flexarm.simulation.inputs import constant
from flexarm.simulation.integration import MOST_AHEAD, Run
from flexarm.simulation.lanes import DONE, ENDED, UNDER_WAY
from flexarm.simulation.lanes_closures import BatchClosing
from flexarm.simulation.lanes_plan import METHODS, Abreast, BatchSettings, Course
from flexarm.simulation.lanes_sampled import NO_LAW, Clock
from flexarm.simulation.lanes_touches import BatchTouching
from flexarm.simulation.layout import RIDING, Layout
from flexarm.simulation.race import EVALUATIONS, SHORT, TIGHT
from flexarm.simulation.results import SENSITIVE, sensitivity
from flexarm.simulation.rhs import Plan
from flexarm.simulation.sampled_calls import SampledCalls
from flexarm.simulation.varying import ChangingParameters, Varying

if TYPE_CHECKING:
    from flexarm.simulation.sensitivities import Sensitivities

INTERRUPTED = "interrupted"


@final
@dataclass(frozen=True)
class Asked:
    """Arguments of `simulate` that all runs share, the `times` of the result, and the runs' `Sensitive`, if any."""

    times: Array
    method: str
    step: float | None
    rtol: float
    atol: float
    radius: float | None
    sensitive: Any = None

    @property
    def until(self) -> float:
        """End of the runs [s]."""
        return float(self.times[-1])


@final
@dataclass(frozen=True)
class Runs:
    """Inputs, initial states and parameters of all runs of an ensemble.

    Attributes
    ----------
    model : Model
    drives, which : list of Block, (N,)
        Inputs, and the index of each run's input.
    q, qd : (N, nq), (N, nv)
        Initial coordinates and rates.
    p : (N, k) or None
        Parameters; None if all runs have the model's.
    exogenous_inputs, around : list of ExogenousInputs, (N,) or None
        Exogenous inputs, and the index of each run's; None if all runs share one.
    varying : Varying, optional
        Parameters that change during the runs.
    first : int
        Number of runs of the ensemble before these.
    courses : dict
        Cached trajectories of drives in SIMD batches, by the index of the drive.
    levels : (N, m) or None
        Constant u of many runs, which replaces that of the drives.
    """

    model: Model
    drives: Sequence[Block]
    which: Array
    q: Array
    qd: Array
    p: Array | None
    exogenous_inputs: Sequence[ExogenousInputs] = (ExogenousInputs((), ()),)
    around: Array | None = None
    varying: Varying | None = None
    first: int = 0
    courses: dict[int, Course] = field(default_factory=dict)
    levels: Array | None = None

    def __len__(self) -> int:
        return len(self.which)

    def drive(self, r: int) -> Block:
        """Return the input of a run."""
        return self.drives[self.which[r]] if self.levels is None else constant(self.levels[r])

    def exogenous(self, r: int) -> ExogenousInputs:
        """Return the source of a run's exogenous inputs."""
        return self.exogenous_inputs[0 if self.around is None else self.around[r]]

    def acting(self, r: int, t: Array, q: Array, qd: Array) -> Array:
        """Return the exogenous inputs (times, k) of a run."""
        return self.exogenous(r).output(self.at(r), t, q, qd)

    @property
    def records(self) -> tuple[Recorded, ...]:
        """Signals that every controller records."""
        return self.drives[0].records

    def at(self, r: int) -> Model:
        """Return the model with the run's parameters at its start."""
        model = self.model if self.p is None else self.model.at(self.p[r])
        return model if self.varying is None else self.varying.now(model, 0.0)

    def some(self, part: slice) -> "Runs":
        """Return a part of the runs."""
        p = None if self.p is None else self.p[part]
        around = None if self.around is None else self.around[part]
        own = self.which[part], self.q[part], self.qd[part], p
        first = self.first + (part.start or 0)
        levels = None if self.levels is None else self.levels[part]
        more = self.varying, first, self.courses, levels
        return Runs(self.model, self.drives, *own, self.exogenous_inputs, around, *more)

    def course(self, of: int, asked: "Asked") -> Course:
        """Return the trajectory of a drive for SIMD batches; it is computed once for all runs."""
        if of not in self.courses:
            self.courses[of] = restarts.course(self.drives[of], self.model, asked.times, asked.method)
        return self.courses[of]

    def drives_of(self, indices: Array) -> tuple[Array, Array]:
        """Return the indices of the drives of some runs, and the place of each run's among these."""
        if len(self.drives) == 1:
            return np.zeros(1, dtype=np.int64), np.zeros(len(indices), dtype=np.int64)
        return np.unique(self.which[indices], return_inverse=True)  # type: ignore[return-value]

    def courses_of(self, indices: Array, asked: "Asked") -> tuple[list[Course], Array]:
        """Return the trajectories of the drives of some runs, and the index of each run's."""
        if self.levels is None:
            drives, which = self.drives_of(indices)
            return [self.course(int(i), asked) for i in drives], which
        ends = np.array([0.0, asked.until])
        return [Course(ends, self.levels[[r]]) for r in indices], np.arange(len(indices))


@final
@dataclass
class Group:
    """Runs of one kind, whose states have one layout.

    Attributes
    ----------
    indices : (G,)
        Indices of these runs among all runs.
    layout : Layout
    method, step, reasons
        Method and step, and the reason of the choice for each run; "auto" if each run chooses for itself.
    in_lanes : bool
        True if the runs are computed in SIMD batches.
    x : (G, times, layout.size)
        States; NaN where they are unknown.
    held : (G, times, m + recorded) or None
        u and recorded signals, if only the run itself gives them and they do not follow from the states.
    known, steps, evaluations : (G,)
        Numbers of known states, of steps and of evaluations.
    missed : dict
        Times [s] at which a function of time changed unseen, by the positions of the runs.
    off : (k,)
        Positions of the runs whose energy balance is off.
    p : (G, times, k) or None
        Parameters at each time, if they change during the runs.
    derivatives : dict
        Sensitivities of variables (G, times, ..., d), by their names in the result.
    status, methods : lists of str
    """

    indices: Array
    layout: Layout
    method: str
    step: float
    reasons: list[str]
    in_lanes: bool
    x: Array = field(init=False)
    held: Array | None = field(init=False, default=None)
    p: Array | None = field(init=False, default=None)
    derivatives: dict[str, Array] = field(init=False, default_factory=dict)
    known: Array = field(init=False)
    missed: dict[int, float] = field(init=False, default_factory=dict)
    off: Array = field(init=False, default_factory=lambda: np.empty(0, dtype=int))
    steps: Array = field(init=False)
    evaluations: Array = field(init=False)
    status: list[str] = field(init=False)
    methods: list[str] = field(init=False)

    def begin(self, runs: Runs, asked: Asked) -> None:
        """Allocate the results."""
        count = len(self.indices)
        self.x = np.full((count, len(asked.times), self.layout.size), np.nan)
        self.x[:, 0] = 0.0
        self.x[:, 0, self.layout.q], self.x[:, 0, self.layout.qd] = runs.q[self.indices], runs.qd[self.indices]
        if self.layout.memory:
            of, which = runs.drives_of(self.indices)
            self.x[:, 0, self.layout.z] = np.array([runs.drives[i].memory for i in of])[which]
        self.known, self.steps, self.evaluations = np.zeros((3, count), dtype=np.int64)
        self.known[:] = 1
        self.status, self.methods = [INTERRUPTED] * count, [self.method] * count
        if asked.sensitive is not None:
            for name, width in asked.sensitive.widths.items():
                shape = count, len(asked.times), width, len(asked.sensitive.numbers)
                self.derivatives[sensitivity(name)] = np.full(shape, np.nan)
        if runs.varying is not None:
            each = [np.tile(runs.at(r).p, (len(asked.times), 1)) for r in self.indices]
            self.p = np.array(each)

    def hold(self, runs: Runs, asked: Asked) -> None:
        """Allocate u and the recorded signals of sampled laws, which do not follow from the states."""
        width = len(runs.model.inputs) + sum(len(each.signals) for each in runs.records)
        self.held = np.full((len(self.indices), len(asked.times), width), np.nan)


class Task(Protocol):
    """A task that computes some runs of a group."""

    def __call__(self) -> None:
        """Compute the runs and store the results in the group."""

    def stop(self) -> None:
        """End the task soon."""

    @property
    def finished(self) -> int:
        """Number of runs that have ended."""


def groups(runs: Runs, asked: Asked) -> list[Group]:
    """Group the runs by kind: by their inputs and by their solvers."""
    model, found = runs.model, dict[tuple, list[Array]]()
    # the list keeps compiled code in use, which would otherwise leave the cache
    kernels = [drive.kernel_for(model) if drive.batched else None for drive in runs.drives]
    kinds = [_kind(drive, kernel) for drive, kernel in zip(runs.drives, kernels, strict=True)]
    reasons = np.empty(len(runs), dtype=object)
    for kind, members in _by_kind(runs, kinds):
        for same in [members] if runs.drive(members[0]).period is None else _by_start(runs, members):
            method, step, reason = _way(runs, same[0], asked)
            reasons[same] = reason
            found.setdefault((kind, method, step), []).append(same)
    made = []
    for (kind, method, step), parts in found.items():
        members = np.sort(np.concatenate(parts))
        first = runs.drive(members[0])
        sampled = first.period is not None
        # with states or exogenous inputs, runs form SIMD batches only if no sampled law is called in between
        bare = not (model.states or model.exogenous)
        able = method in METHODS and not crossings.stops(model, first, method)
        alone = runs.varying is not None or asked.sensitive is not None
        lanes = kind[0] and kind[-2] and (bare or not sampled) and able and not alone
        layout = Layout.of(model, len(first.memory), runs.varying is not None and runs.varying.flows)
        made.append(Group(members, layout, method, step, reasons[members].tolist(), lanes))
    return sorted(made, key=lambda group: int(group.indices[0]))


def _by_kind(runs: Runs, kinds: Sequence[tuple]) -> list[tuple[tuple, Array]]:
    """Return the kinds of inputs and exogenous inputs, and the indices of the runs of each."""
    if len(runs.drives) == 1 and runs.around is None:
        exogenous = runs.exogenous(0)
        return [((*kinds[0], exogenous.constant, exogenous.computed), np.arange(len(runs)))]
    around = np.zeros(len(runs), dtype=np.int64) if runs.around is None else runs.around
    both = runs.which * len(runs.exogenous_inputs) + around
    _, first, which = np.unique(both, return_index=True, return_inverse=True)
    numbers: dict[tuple, int] = {}
    of = np.empty(len(first), dtype=np.int64)
    for i, r in enumerate(first.tolist()):
        exogenous = runs.exogenous(r)
        kind = (*kinds[runs.which[r]], exogenous.constant, exogenous.computed)
        of[i] = numbers.setdefault(kind, len(numbers))
    if len(numbers) == 1:
        return [(next(iter(numbers)), np.arange(len(runs)))]
    number = of[which]
    return [(kind, np.flatnonzero(number == i)) for kind, i in numbers.items()]


def _by_start(runs: Runs, members: Array) -> list[Array]:
    """Return the runs with equal initial coordinates and parameters."""
    found = dict[tuple, list[int]]()
    for r in members.tolist():
        found.setdefault((runs.q[r].tobytes(), b"" if runs.p is None else runs.p[r].tobytes()), []).append(r)
    return [np.array(each) for each in found.values()]


def _kind(drive: Block, kernel: Kernel | None) -> tuple:
    """Return the properties that runs of one group must have in common."""
    code = 0 if kernel is None else kernel.vector_code.addresses["evaluate"]
    return drive.batched, drive.quantity, len(drive.memory), drive.period, code, drive.cubics is not None


FAST = 5.0
"""Speed of SIMD batches relative to single runs, in evaluations of explicit methods per time."""

EACH = 2
"""Usual number of corrections of a state towards the closures in each evaluation."""


def _way(runs: Runs, r: int, asked: Asked) -> tuple[str, float, str]:
    """Return the method, the step and the reason for a run.

    The choice of "auto" depends on the run and the model alone, not on the other runs of the ensemble.
    """
    drive, model = runs.drive(r), runs.model
    if asked.sensitive is not None:
        return asked.sensitive.method
    abreast = drive.batched and runs.exogenous(r).constant
    if asked.method in METHODS and abreast:
        return asked.method, float(asked.step or 0.0), "as asked"
    abreast = abreast and not crossings.stops(model, drive, "dop853")
    if asked.method != "auto" or drive.period is not None:
        given = runs.at(r) if drive.period is not None else model
        return methods.chosen(asked.method, asked.step, given, drive, runs.q[r], asked.rtol)
    rest = np.array(model.arm.rest)
    fastest = methods.fastest_of(model, rest)
    rate = integrand(model, drive.quantity, len(drive.memory))
    look = SHORT if asked.rtol >= TIGHT else 5 * SHORT
    size = model.nq + model.nv + len(RIDING)
    operations = rate.code.operations
    if model.arm.closures:
        operations += EACH * closures.kernel(model).code.operations
    cost = EVALUATIONS * fastest * asked.until * (operations + 35 * size)
    if abreast and cost < FAST * look:
        return "dop853", 0.0, f"fastest eigenvalue {fastest:.3g} rad/s at rest: an explicit method needs few steps"
    return "auto", 0.0, ""


def tasks(runs: Runs, group: Group, asked: Asked, threads: int) -> list[Task]:
    """Return the tasks of a group, in parts that threads can share."""
    group.begin(runs, asked)
    count = len(group.indices)
    if not group.in_lanes:
        first = group.indices[0]
        native = runs.drive(first).batched and not runs.exogenous(first).computed
        size = 1 if native else count  # one thread calls all functions of the user
        return [Alone(runs, group, asked, part) for part in _parts(count, size)]
    if runs.drive(group.indices[0]).period is not None:
        group.hold(runs, asked)
        return [Clocked(runs, group, asked, part) for part in _parts(count, LANES)]
    return [SideBySide(runs, group, asked, part) for part in _parts(count, runs_of_a_task(count, threads))]


MOST_TOGETHER = 32
"""Largest number of runs that each lane of a task computes in sequence."""


def runs_of_a_task(count: int, threads: int) -> int:
    """Return how many of `count` runs one task computes in SIMD batches: a thread gets about two tasks."""
    return LANES * max(1, min(MOST_TOGETHER, -(-count // (2 * threads * LANES))))


def _parts(count: int, size: int) -> list[slice]:
    return [slice(i, min(i + size, count)) for i in range(0, count, size)]


def constants(runs: Runs, rate: Kernel, indices: Array) -> Array:
    """Return the constants (G, k) that follow from the parameters of each run."""
    if runs.p is None:
        return np.tile(rate.constants, (len(indices), 1))
    return rate.constants_of(runs.p[indices])


def closing(runs: Runs, indices: Array) -> BatchClosing | None:
    """Return the closures of runs in a SIMD batch, or None for an arm without closures."""
    if not runs.model.arm.closures:
        return None
    kernel = closures.kernel(runs.model, runs.drive(indices[0]).quantity)
    return BatchClosing(kernel, runs.model.nq + runs.model.nv, constants(runs, kernel, indices))


def touching(runs: Runs, layout: Layout, indices: Array) -> BatchTouching | None:
    """Return the contacts of runs in a SIMD batch, or None for an arm without contacts."""
    kernel = touches.kernel(runs.model)
    return None if kernel is None else BatchTouching(kernel, layout, constants(runs, kernel, indices))


def held_outside(runs: Runs, indices: Array) -> Array:
    """Return the exogenous inputs (G, k) of runs in which they are constant."""
    none = np.zeros((1, runs.model.nq))
    around = np.zeros(len(indices), dtype=np.int64) if runs.around is None else runs.around[indices]
    _, first, which = np.unique(around, return_index=True, return_inverse=True)
    return np.array([runs.acting(r, np.zeros(1), none, none)[0] for r in indices[first]])[which]


@final
class SideBySide:
    """Runs by an explicit method, each in its own lane of a SIMD batch."""

    def __init__(self, runs: Runs, group: Group, asked: Asked, part: slice):
        self._runs, self._group, self._asked, self._part = runs, group, asked, part
        model, layout, indices = runs.model, group.layout, group.indices[part]
        courses, which = runs.courses_of(indices, asked)
        rate = integrand(model, runs.drive(indices[0]).quantity, layout.memory)
        shared = BatchSettings(
            rate.vector_code,
            layout,
            len(model.inputs),
            group.method,
            asked.rtol,
            asked.atol,
            group.step,
            _most(runs, indices, layout),
            asked.times,
        )
        x = group.x[part]
        own = np.hstack([held_outside(runs, indices), constants(runs, rate, indices)])
        self._judges: dict[int, divergence.Judge] = {}
        self._said: dict[int, str] = {}
        parts = closing(runs, indices), touching(runs, layout, indices)
        self._abreast = Abreast(shared, x[:, 0], own, courses, which, x, self._look, *parts)

    def _look(self, row: int, t: float, x: Array, evaluations: int) -> int:
        """Check a run that takes many evaluations; return the evaluations of the next check, or 0 to end the run."""
        group, i = self._group, self._part.start + row
        model, layout = self._runs.at(group.indices[i]), group.layout
        if row not in self._judges:
            drive = self._runs.drive(group.indices[i])
            self._judges[row] = divergence.Judge(model, drive, layout, self._asked.until)
        following, said = self._judges[row](t, x, evaluations)
        if said:
            self._said[row] = said + closures.singular(model, group.x[i, 0, layout.q], x[layout.q])
        return 0 if said else following

    def __call__(self) -> None:
        """Compute the runs."""
        self._abreast()
        if self._abreast.failure is not None:
            raise self._abreast.failure
        group, part, found = self._group, self._part, self._abreast
        group.known[part], group.steps[part], group.evaluations[part] = found.known, found.steps, found.evaluations
        for i, status in enumerate(found.status, start=part.start):
            if status == DONE:
                group.status[i] = "completed"
            elif status == ENDED:
                group.status[i] = self._said[i - part.start]
            elif status != UNDER_WAY:
                row = i - part.start
                group.status[i] = told(self._runs, group, self._asked, i, found.left[row], found.stuck[row])

    def stop(self) -> None:
        """Stop the runs."""
        self._abreast.stop()

    @property
    def finished(self) -> int:
        """Number of runs that have ended."""
        return self._abreast.finished


def _most(runs: Runs, indices: Array, layout: Layout) -> Array:
    """Return the sizes of a state's numbers (states,) beyond which each of these runs has diverged."""
    found = np.full(layout.states, np.inf)
    models = [runs.model] if runs.p is None else [runs.at(r) for r in indices]
    found[layout.q] = np.max([divergence.bounds(model) for model in models], axis=0)
    return found


def told(runs: Runs, group: Group, asked: Asked, i: int, t: float, x: Array, held: Block | None = None) -> str:
    """Return why a run ended at the state x at t. The run is repeated from there alone to find the reason.

    A sampled law is not called again: `held` is its last u.
    """
    r, layout = group.indices[i], group.layout
    model, drive = runs.at(r), runs.drive(r)
    plan, _ = methods.planned(model, drive, layout, group.method)
    if held is None:
        plan.bound(divergence.bounds(model))
    solve = methods.solver(group.method, plan, model, drive, layout, asked.rtol, asked.atol, group.step)
    corners = np.array(list(drive.corners(asked.until)), dtype=float)
    drive = held or drive
    drive.feed(plan, model, t, x)
    runs.exogenous(r).feed(plan, model, t, x)
    end = corners[corners > t][:1]
    plan.end(float(end[0]))
    seen = solve(t, x, end)
    return diagnosis(model, drive, layout, plan, solve, seen, t, x, group.x[i, 0, layout.q])


@final
class Clocked:
    """Runs under sampled laws, `LANES` of them, that share a clock."""

    def __init__(self, runs: Runs, group: Group, asked: Asked, part: slice):
        self._runs, self._group, self._asked, self._part = runs, group, asked, part
        self._clock: Clock | None = None
        self._stopped = False
        self.finished = 0

    def __call__(self) -> None:
        """Compute the runs."""
        if self._stopped:
            return
        runs, group, asked, part = self._runs, self._group, self._asked, self._part
        model, indices = runs.model, group.indices[part]
        drives = [runs.drive(r) for r in indices]
        law = drives[0].kernel_for(model)
        rate = integrand(model, drives[0].quantity, 0)
        assert law is not None and group.held is not None
        calls = [SampledCalls(drive, model) for drive in drives]  # type: ignore[arg-type]
        own, lanes = constants(runs, rate, indices), np.minimum(np.arange(LANES), len(indices) - 1)
        x, held = group.x[part], group.held[part]
        fixed = group.step if solvers.fixed(group.method) else 0.0
        code, tolerances = rate.vector_code, (asked.rtol, asked.atol)
        guess, m = group.step or drives[0].period, len(model.inputs)
        assert guess is not None
        limits = guess, MOST_EVALUATIONS
        most = np.full(group.layout.states, np.inf)
        shared = BatchSettings(code, group.layout, m, group.method, *tolerances, fixed, most, asked.times, *limits)
        parts = closing(runs, indices[lanes]), touching(runs, group.layout, indices[lanes])
        clock = Clock(shared, law.vector_code, calls, own, *parts, x, held)
        self._clock = clock
        corners = map(float, drives[0].corners(asked.until))
        last = next(corners)
        while (following := list(islice(corners, MOST_AHEAD))) and not self._stopped:
            clock(np.array([last, *following]))
            last = following[-1]
        clock.close()
        group.known[part], group.steps[part], group.evaluations[part] = clock.known, clock.steps, clock.evaluations
        for i, status in enumerate(clock.status, start=part.start):
            row = i - part.start
            if status == UNDER_WAY:
                group.status[i] = INTERRUPTED if self._stopped else "completed"
            elif status == NO_LAW:
                wrong = float(clock.left[row]), int(clock.what[row]), float(clock.value[row])
                group.status[i] = calls[row].refusal(*wrong)
            else:
                last_u = constant(clock.u[:, row])
                group.status[i] = told(runs, group, asked, i, clock.left[row], clock.stuck[row], last_u)
        self.finished = len(indices)

    def stop(self) -> None:
        """Stop the runs."""
        self._stopped = True
        if self._clock is not None:
            self._clock.stop()


def told_of_growth(runs: Runs, group: Group, i: int, t: float, x: Array) -> str:
    """Return why a run ended, whose last valid state is x at t."""
    motion, names = x[group.layout.motion], motion_names(runs.model)
    largest = int(np.argmax(np.abs(motion)))
    fixed = solvers.fixed(group.method)
    why = f"a step of {group.step:g} s is too long" if fixed else "its steps became too short"
    return f"diverged right after t = {t:.6g} s, where {names[largest]} was {motion[largest]:.3g} ({why})"


@final
class Alone:
    """Runs in sequence, each computed as by `simulate`."""

    def __init__(self, runs: Runs, group: Group, asked: Asked, part: slice):
        self._runs, self._group, self._asked, self._part = runs, group, asked, part
        self._plan: Plan | None = None
        self._stopped = False
        self.finished = 0

    def __call__(self) -> None:
        """Compute the runs."""
        for i in range(self._part.start, self._part.stop):
            if self._stopped:
                return
            self._one(i)
            self.finished += 1

    def _one(self, i: int) -> None:
        runs, group, asked = self._runs, self._group, self._asked
        r, layout, times = group.indices[i], group.layout, asked.times
        model = runs.at(r)
        drive = runs.drive(r).begun(model, times)
        plan, rate = methods.planned(model, drive, layout, group.method)
        self._plan = plan
        if self._stopped:  # the task was stopped while the plan was made
            plan.stop()
        start, exogenous = group.x[i, 0].copy(), runs.exogenous(r)
        own = None if asked.sensitive is None else asked.sensitive.of(runs, r, drive, layout, asked, start)
        if own is None:
            solve = crossings.solving(
                *(group.method, plan, rate, model, drive, layout, asked.rtol, asked.atol, group.step, group.reasons[i]),
                asked.radius,
            )
        else:
            solve = own.solve(plan, rate, group.reasons[i])
        varying, inputs, changing = runs.varying, None, None
        if varying is not None:
            inputs, changing = varying.inputs, ChangingParameters(varying, model, plan, layout, asked.until)
        found = restarts.breakpoints(model, drive, exogenous, times, group.method, inputs)
        run = Run(times, start, found, changing)
        run.integrate(model, drive, exogenous, plan, solve, layout)
        if plan.failure is not None and not isinstance(plan.failure, FlexarmError):
            raise plan.failure
        if run.short is not None and not self._stopped:
            present = run.present(model, run.short[1])
            run.failure = diagnosis(present, drive, layout, plan, solve, *run.short, start[layout.q])
        if run.missed is not None:
            group.missed[i] = run.missed
        known, x = run.reached, run.x[: run.reached]
        group.x[i, :known], group.known[i], group.steps[i] = x, known, run.steps
        if own is not None:
            self._differentiated(i, own, x)
        if changing is not None:
            assert group.p is not None
            group.p[i, :known] = changing.values(times[:known])
        if not drive.batched or drive.period is not None:
            if group.held is None:
                group.hold(runs, asked)
            assert group.held is not None
            acting = runs.acting(r, times[:known], x[:, layout.q], x[:, layout.qd])
            parts = layout.parts(x, acting)
            m = len(model.inputs)
            group.held[i, :known, :m] = drive.applied(model, times[:known], parts)
            group.held[i, :known, m:] = drive.recorded(times[:known], parts)
        group.evaluations[i], group.methods[i], group.reasons[i] = plan.evaluations, solve.method, solve.reason
        group.status[i] = run.failure or ("completed" if run.completed else INTERRUPTED)

    def _differentiated(self, i: int, own: "Sensitivities", x: Array) -> None:
        """Store the sensitivities of a run at its known states x."""
        times = self._asked.times[: len(x)]
        for name, (_, values, _) in own.variables(times, x, SENSITIVE)[0].items():
            self._group.derivatives[name][i, : len(x)] = values

    def stop(self) -> None:
        """Stop the runs."""
        self._stopped = True
        if self._plan is not None:
            self._plan.stop()
