"""Code around a kernel that does not depend on the arm: right-hand side, tabulated inputs, fixed steps.

The code is written in the language of `native.language` and runs as machine code. All functions work on a `Plan`, with
a record that native code and Python share during a run.
"""

import ctypes  # noqa: TID251  (calls code that this package compiled)
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from flexarm.arrays import address_of
from flexarm.errors import FlexarmError
from flexarm.model.closures import CORRECTIONS, MET
from flexarm.native.code import Address
from flexarm.native.functions import translated
from flexarm.native.kernel import Kernel
from flexarm.native.language import Floats, Placed, Shared, Words, call, lanes, sqrt
from flexarm.native.once import Once
from flexarm.simulation.breakpoints import Seen

NAN = float("nan")

Ends = tuple[float, float]
"""Start and end of an interval [s]."""

DIVERGED = 1e12
"""Size of a coordinate or a rate, in SI units, above which a state counts as diverged."""

RATE_STEP = 1e-5
"""Step of differences that give the rates of parameters, as a share of an interval."""

PARTS = 6
"""Number of parts of a step, at whose borders watched values are computed to find their smallest values in between."""

SMALL = 0.05
"""Share of a parabola's bend between two borders below which its minimum may be that of a value of the wrong sign."""

MIDDLE = 3
"""Number of the border in the middle."""

ROUGH = 0.3
"""The same share as `SMALL`, for a parabola through both ends of a step and a state that is only near its middle."""

EARLY = 1e-3
"""Share of the time of a step's first stage at which a contact at the step's start is looked at."""

ENDLESS = 2**62
"""Number of evaluations that stands for no limit."""

RHS = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_double, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
EVALUATE_STAGE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)


@dataclass
class RunRecord:
    """Record that native code and Python share in a run.

    Attributes
    ----------
    rate, stage, data : addresses
        The kernel (x, u) -> (dx, powers), the input stage `void stage(buffer, u, data)`, and the stage's data.
    time, evaluations
        Time of the last evaluation, and number of evaluations.
    last : float
        Latest time at which the input is evaluated.
    stop : int
        If not 0, every rate is NaN.
    exogenous, given : addresses
        The stage that writes w, from `place` on, and its data; 0 if w is constant in the buffer.
    states, integrated : int
        Length of x, and length of dx with the powers.
    watch, watched : addresses
        A function that checks every state, `void watch(buffer, dx, watched)`, and its data; 0 if there is none.
    marked, marks : int, (6 + PARTS) marked + 1
        Number of watched values, and the arrays of `Watched`, see `turns_within`.
    touch, touched : addresses
        A function of a state, `void touch(x, out, touched)`, whose values change sign where a force begins, and its
        data; 0 if there is none.
    gapped, gaps : int, (PARTS + 2, gapped)
        Number of these values, and the values at the borders of a step's parts.
    most, bounded, passed : (bounded,), int, int
        Bounds of the first states, above which there is no rate, and the number of violations.
    closed, closing : addresses
        A function that moves a state onto the arm's closures, `void closed(x, closing)`, and its data; 0 without any.
    carried, carrying : addresses
        A function that adds to the powers, `void carried(buffer, powers, carrying)`, and its data; 0 if there is none.
    look, judge : int, address
        Number of evaluations at which `void judge(buffer, dx, 0)` is called, which sets the next number.
    buffer : (1 + states + inputs + exogenous + constants + tried,)
        t, x, u, w, constants of a model that varies, and the trial values of an implicit method.
    """

    rate: int
    stage: int
    data: int
    time: float
    last: float
    stop: int
    evaluations: int
    exogenous: int
    given: int
    place: int
    states: int
    integrated: int
    buffer: Floats
    watch: int = 0
    watched: int = 0
    marked: int = 0
    marks: Floats = None  # type: ignore[assignment]
    touch: int = 0
    touched: int = 0
    gapped: int = 0
    gaps: Floats = None  # type: ignore[assignment]
    most: Shared = None  # type: ignore[assignment]
    bounded: int = 0
    passed: int = 0
    closed: int = 0
    closing: int = 0
    carried: int = 0
    carrying: int = 0
    look: int = ENDLESS
    judge: int = 0


@final
class Plan:
    """Data of a right-hand side in addition to t and x: the kernel `rate` (x, u) -> (dx, powers), and the source of u.

    The buffer contains (t, x, u), with several `times` t of runs side by side. Before each evaluation the stage,
    `void stage(ptr buffer, ptr u, ptr data)`, may write u. A constant input has an empty stage, and its u stays in the
    buffer. After u follow the exogenous inputs w, which another stage may write, the constants of a model that varies,
    and `tried` numbers, the accelerations of an implicit method.
    """

    def __init__(
        self,
        rate: Address,
        states: int,
        inputs: int,
        powers: int,
        held: Any = None,
        tried: int = 0,
        constants: np.ndarray | None = None,
        exogenous: int = 0,
        times: int = 1,
    ):
        self._rate = held  # the code of the rate must stay alive as long as a thread may call it
        self.states = states
        w = np.empty(0) if constants is None else constants
        self.constants = len(w)
        place = times + states + inputs
        self.buffer = np.concatenate([np.zeros(place + exogenous), w, np.zeros(tried)])
        self.u = self.buffer[times + states : place]
        self.w = self.buffer[place : place + exogenous]
        self.fixed = self.buffer[place + exogenous : place + exogenous + len(w)]
        self.loops = np.empty(0)
        """Constants of the correction towards the closures."""
        self.contacts = np.empty(0)
        """Constants of the functions of touches."""
        self.most = np.full(states, np.inf)
        """Sizes of states beyond which a motion has diverged."""
        self.shared = Placed(
            RunRecord(
                *(rate, 0, 0, 0.0, np.inf, 0, 0, 0, 0, place, states, states + powers, self.buffer),
                marks=np.zeros(0),
                gaps=np.zeros(0),
                most=self.most,
            )
        )
        """Record that native code reads and writes."""
        self._held: Any = None
        self._watched: Placed | None = None
        self._watching: Any = None
        self._marks = np.empty(0)
        self._touching: Any = None
        self._beside: Any = None
        self._closing: Any = None
        self._taking: list[tuple[Kernel, np.ndarray]] = []
        self._followed: Placed | None = None
        self._following: Any = None
        self.span = 0.0
        """The run's end [s]; 0 if the values that it saw of Python functions are not stored."""
        self.seen: dict[int, tuple[Any, Any, Seen]] = {}
        """Seen values of each Python function of time: the input, its model, and the values."""
        self._visits: list[list[Any]] = []
        self._call: Any = None
        self.failure: BaseException | None = None
        """Exception of Python code that the run called. An exception cannot pass through native code."""

    @property
    def address(self) -> Address:
        """Address of the shared record."""
        return self.shared.address

    @property
    def time(self) -> float:
        """Time of the last evaluation [s]."""
        return self.shared.time

    @property
    def evaluations(self) -> int:
        """Number of evaluations of the right-hand side."""
        return self.shared.evaluations

    @property
    def stopped(self) -> bool:
        """True if the run was stopped."""
        return self.shared.stop != 0

    def takes(self, kernel: Kernel, constants: np.ndarray) -> None:
        """Have `set_parameters` write the constants of this kernel, which are stored in this array."""
        self._taking.append((kernel, constants))

    def set_parameters(self, p: np.ndarray) -> None:
        """Evaluate the rates and the closures with other parameters (k,) of the model from now on."""
        for kernel, constants in self._taking:
            constants[:] = kernel.constants_of(p)

    def follow(self, p: np.ndarray, stage: "Stage", power: Kernel, sizes: tuple[int, int, int], ends: Ends) -> None:
        """Take the parameters p, which a stage writes, at each time of an interval.

        The kernel `power` of (q, qd, s), of p and of its rates gives the rate of the energy that comes with p. `sizes`
        are those of (q, qd), of the controller's memory and of s.
        """
        prologue = self._taking[0][0].prologue
        assert prologue is not None
        k, codes = len(p), [each.code for each in (prologue, power)]
        constants, evaluate = (each.addresses["evaluate"] for each in codes)
        given = np.concatenate([np.zeros(sizes[0] + sizes[2] + 2 * k), power.constants])
        step, last = RATE_STEP * (ends[1] - ends[0]), float(np.nextafter(ends[1], -np.inf))
        numbers = p, given, np.zeros(1), np.zeros(k)
        carried = Placed(Carried(*stage[:2], evaluate, *sizes, k, *numbers, step, ends[0], last))
        self._followed = Placed(Followed(0, 0, *stage[:2], constants, p, len(self.w)))
        self._following = stage, codes, carried  # must stay alive as long as code may be called
        self.shared.carried, self.shared.carrying = loops().addresses["carried"], carried.address

    def rate(self, code: Any) -> None:
        """Evaluate another kernel from now on."""
        self._rate = code
        self.shared.rate = code.addresses["evaluate"]

    def stop(self) -> None:
        """Return NaN as every rate from now on, so that any solver ends."""
        self.shared.stop = 1

    def resume(self) -> None:
        """Return the actual rates again."""
        self.shared.stop = 0

    def watch(self, kernel: Kernel, known: int) -> np.ndarray:
        """Evaluate a kernel of a state's first numbers at every state, while `watching`.

        The returned array contains the required signs of the kernel's values, 0 for any. If a value has another sign,
        there is no rate.
        """
        given = np.concatenate([np.zeros(known), kernel.constants])
        count = len(kernel.one(np.zeros(known)))
        marks = np.zeros((6 + PARTS) * count + 1)
        values, sides, low, high = marks[: 4 * count].reshape(4, count)
        evaluate = kernel.code.addresses["evaluate"]
        self._watched = Placed(Watched(evaluate, known, count, given, values, sides, low, high, NAN))
        self.shared.marked, self.shared.marks = count, address_of(marks)
        self._marks = marks  # must stay alive as long as its code may write it
        self._watching = kernel  # must stay alive as long as its code may be called
        self.shared.watched = self._watched.address
        return sides

    def touch(self, kernel: Kernel, coordinates: int, own: slice) -> None:
        """Shorten a step if a value of a kernel of coordinates and states changes its sign twice within it."""
        given = np.concatenate([np.zeros(coordinates + own.stop - own.start), kernel.constants])
        known = coordinates + own.stop - own.start
        self.contacts = given[known:]
        self.takes(kernel, self.contacts)
        count = len(kernel.one(given[:known]))
        gaps = np.zeros((PARTS + 2) * count)
        evaluate = kernel.code.addresses["evaluate"]
        data = Placed(Touched(evaluate, coordinates, known - coordinates, own.start, given))
        self._touching = kernel, data, gaps  # must stay alive as long as code may be called
        self.shared.touch, self.shared.touched = loops().addresses["touch"], data.address
        self.shared.gapped, self.shared.gaps = count, address_of(gaps)

    def close(self, kernel: Kernel, known: int) -> None:
        """Move each state that a solver reaches onto the arm's closures, by a kernel of a state's first numbers."""
        given, found = np.concatenate([np.zeros(known), kernel.constants]), np.zeros(known + 1)
        data = Placed(Closing(kernel.code.addresses["evaluate"], known, given, found, MET**2))
        self.loops = given[known:]
        self.takes(kernel, self.loops)
        self._closing = kernel, data  # must stay alive as long as code may be called
        self.shared.closed, self.shared.closing = loops().addresses["close"], data.address

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Check every state by the kernel within the context."""
        self._watched.time = NAN  # type: ignore[union-attr]
        self.shared.watch = loops().addresses["watch"]
        try:
            yield
        finally:
            self.shared.watch = 0

    @property
    def met(self) -> float | None:
        """Time at which a value last had the wrong sign since `watching` began, or None."""
        return None if self._watched is None or np.isnan(self._watched.time) else self._watched.time

    @contextmanager
    def blind(self) -> Iterator[None]:
        """Disable the check of states within the context."""
        watch, self.shared.watch = self.shared.watch, 0
        try:
            yield
        finally:
            self.shared.watch = watch

    def seen_of(self, function: Any, model: Any, width: int) -> Seen | None:
        """Return the store of the values (width,) of a block in this run, if they are stored."""
        if self.span <= 0.0:
            return None
        return self.seen.setdefault(id(function), (function, model, Seen(self.span, width)))[2]

    def bound(self, most: np.ndarray) -> None:
        """Give no rates from now on if one of the first states is larger than this."""
        self.most[: len(most)] = most
        self.shared.bounded = len(most)

    def call_after(self, evaluations: int, function: Callable[[float, np.ndarray, int], tuple[int, str]]) -> None:
        """Call a function of time, state and evaluations after so many evaluations, in the thread of the run.

        The function returns the number of evaluations of its next call, and why the run ends, or "".
        """
        self._visits.append([evaluations, function])
        self._call = self._call or EVALUATE_STAGE(self._called)
        self.shared.judge = ctypes.cast(self._call, ctypes.c_void_p).value or 0
        self.shared.look = min(self.shared.look, evaluations)

    def _called(self, _buffer: int, _dx: int, _data: int) -> None:
        """Call the functions that are due."""
        self.shared.look = ENDLESS  # the functions' own evaluations are not counted
        try:
            t, x = float(self.buffer[0]), self.buffer[1 : 1 + self.states].copy()
            for visit in self._visits:
                if visit[0] <= self.evaluations:
                    visit[0], said = visit[1](t, x, self.evaluations)
                    if said:
                        self.failure = self.failure or FlexarmError(said)
                        self.stop()
            self.shared.look = min(when for when, _ in self._visits)
        except BaseException as error:
            self.failure = self.failure or error
            self.stop()

    def end(self, t: float) -> None:
        """Set the end of the interval.

        Inputs are evaluated only before t, so that a jump at t is seen from the left.
        """
        self.shared.last = np.nextafter(t, -np.inf)

    def feed(self, stage: Address, data: Address = 0, held: Any = None) -> None:
        """Take u from a stage. `held` must stay alive for it."""
        self.shared.stage = stage
        self.shared.data = data
        self._held = held

    def feed_beside(self, stage: Address, data: Address = 0, held: Any = None) -> None:
        """Take w from a stage. A constant w stays in the buffer, and no code is called."""
        stage = 0 if stage == loops().addresses["nothing"] else stage
        if self._followed is not None:
            self._followed.exogenous, self._followed.given = stage, data
            stage, data = loops().addresses["followed"], self._followed.address
        self.shared.exogenous = stage
        self.shared.given = data
        self._beside = held


Stage = tuple[Address, Address, Any]
"""Code `void stage(buffer, u, data)` that writes u, the address of its data, and objects that must stay alive."""


def nothing_to_do() -> Stage:
    """Return the stage that leaves u as it is in the buffer."""
    return loops().addresses["nothing"], 0, None


def stage_of(kernel: Kernel) -> Stage:
    """Return the stage of a kernel of t, or of t and the state."""
    code, constants = kernel.code, kernel.constants
    known = code.facts["n_in"] - len(constants)
    given = np.concatenate([np.zeros(known), constants])
    data = Placed(Evaluated(code.addresses["evaluate"], known, given))
    return loops().addresses["evaluated"], data.address, (code, data)


loops = Once(
    lambda: translated(rhs, nothing, evaluated, table, several, growth, watch, touch, close, followed, carried)
)
"""Machine code of `rhs`, `growth`, `watch`, `touch`, `close`, `carried` and the stages, compiled once per process."""


@dataclass
class Evaluated:
    """Data of the stage `evaluated`: a kernel's address, its number of buffer arguments, and all its arguments."""

    kernel: int
    known: int
    given: Floats


@dataclass
class Watched:
    """Data of `watch`: a kernel's address, its number of arguments from the state, and all its arguments.

    Further data are the kernel's values, their required signs, the smallest and the largest products of both in a step,
    and the time of the last wrong sign.
    """

    kernel: int
    known: int
    count: int
    given: Floats
    values: Floats
    sides: Floats
    low: Floats
    high: Floats
    time: float


@dataclass
class Touched:
    """Data of `touch`: a kernel's address, and all its arguments.

    The first ones are the coordinates and the states of drives, which begin at `place` in the state.
    """

    kernel: int
    coordinates: int
    own: int
    place: int
    given: Floats


@dataclass
class Closing:
    """Data of `close`: a kernel's address, its number of arguments from the state, and all its arguments.

    Further data are the corrected numbers with the sum of squares of the gaps before, and the sum that is small enough.
    """

    kernel: int
    known: int
    given: Floats
    found: Floats
    small: float


@dataclass
class Followed:
    """Data of the stage `followed`: the stage of w and its data, or 0; the stage of the parameters p and its data.

    Further data are the kernel from p to the constants of the rates, p, and the place of the constants after w.
    """

    exogenous: int
    given: int
    stage: int
    data: int
    prologue: int
    p: Floats
    place: int


@dataclass
class Carried:
    """Data of `carried`: the stage of the parameters p and its data, and the kernel of the power.

    The kernel takes (q, qd), `moving` numbers of a state, and after `memory` others its `own` states of drives. Then
    follow p and the rates of p, `count` numbers each. These rates are differences over `step` to both sides, within the
    times `first` and `last`.
    """

    stage: int
    data: int
    kernel: int
    moving: int
    memory: int
    own: int
    count: int
    p: Floats
    given: Floats
    value: Floats
    before: Floats
    step: float
    first: float
    last: float


@dataclass
class Cubics:
    """Data of the stage `table`: numbers of intervals and inputs; breaks (intervals + 1,), coefficients (..., 4)."""

    intervals: int
    inputs: int
    breaks: Shared
    coefficients: Floats


@dataclass
class Several:
    """Data of the stage `several`: the number of its stages, their addresses and data, and their positions in w."""

    count: int
    stages: Words
    data: Words
    places: Words


def cubic_table(breaks: np.ndarray, coefficients: np.ndarray) -> Placed:
    """Return data for the stage `table`: u_c(t) = sum_p coefficients[i, c, p] (t - breaks[i])^(3 - p) in interval i.

    breaks (intervals + 1,), coefficients (intervals, m, 4). Outside the breaks the first or last cubic is extrapolated.
    """
    breaks, coefficients = np.ascontiguousarray(breaks, float), np.ascontiguousarray(coefficients, float)
    intervals, inputs, _ = coefficients.shape
    return Placed(Cubics(intervals, inputs, breaks, coefficients))


# -- translated functions ----------------------------------------------------------------------------------------------


def rhs(dy: Floats, t: float, y: Floats, shared: Sequence[RunRecord], unused: int) -> None:
    """Set dy = (dx, powers) at t in the state y, for a solver."""
    s = shared[0]
    s.time = t
    s.evaluations += 1
    s.buffer[0] = min(t, s.last)
    x = s.buffer[1:]
    for i in range(s.states):
        x[i] = y[i]
    put_on_closures(shared, x)  # near a flat position, rates off them change too fast for any step
    call(s.stage, s.buffer, x[s.states :], s.data)
    if s.exogenous != 0:
        call(s.exogenous, s.buffer, s.buffer[s.place :], s.given)
    call(s.rate, x, dy)
    if s.carried != 0:
        call(s.carried, s.buffer, dy[s.states :], s.carrying)
    if s.watch != 0:
        call(s.watch, s.buffer, dy, s.watched)
    looked(shared, y, dy)
    if s.stop != 0:
        for i in range(s.integrated):
            dy[i] = NAN


def looked(shared: Sequence[RunRecord], y: Floats, dy: Floats) -> None:
    """Return no rates beyond the bounds of a motion, and call the check of the run when it is due."""
    s = shared[0]
    for i in range(s.bounded):
        if abs(y[i]) > s.most[i]:
            dy[0] = NAN
            s.passed += 1
    if s.evaluations >= s.look:
        call(s.judge, s.buffer, dy, 0)


def growth(shared: Sequence[RunRecord], t: float, x: Floats, v: Floats, h: float, turns: int, work: Floats) -> float:
    """Return the growth of a direction v of the state by the rates: power iteration with finite differences.

    The result is the geometric mean of two iterations, since rates and coordinates may differ much in size. It is 0 if
    the growth is not finite. work has room for 3 vectors.
    """
    s = shared[0]
    f, other, moved = work, work[s.integrated :], work[2 * s.integrated :]
    rhs(f, t, x, shared, 0)
    for i in range(s.states, s.integrated):
        moved[i] = x[i]
    grown, before = 1.0, 1.0
    for _ in range(turns):
        for i in range(s.states):
            moved[i] = x[i] + h * v[i] / grown
        rhs(other, t, moved, shared, 0)
        before, size = grown, 0.0
        for i in range(s.states):
            v[i] = (other[i] - f[i]) / h
            size = max(size, abs(v[i]))
        grown = size
        if not (grown > 0.0 and grown < 1e300):
            return 0.0
    return sqrt(grown) * sqrt(before)


def nothing(buffer: Floats, u: Floats, data: int) -> None:
    """Leave u as it is (an empty stage)."""


def evaluated(buffer: Floats, u: Floats, data: Evaluated) -> None:
    """Evaluate u by a kernel of the buffer's first numbers and of constants (a stage)."""
    given = data.given
    for i in lanes(data.known):
        given[i] = buffer[i]
    call(data.kernel, given, u)


def watch(buffer: Floats, dx: Floats, data: Watched) -> None:
    """Set the rate to NaN if a watched value has the wrong sign."""
    given, x = data.given, buffer[1:]
    for i in lanes(data.known):
        given[i] = x[i]
    call(data.kernel, given, data.values)
    for i in range(data.count):
        ahead = data.values[i] * data.sides[i]
        data.low[i], data.high[i] = min(data.low[i], ahead), max(data.high[i], ahead)
        if ahead < 0.0:
            data.time = buffer[0]
            dx[0] = NAN


def unmarked(s: RunRecord) -> None:
    """Forget the smallest and the largest watched values, at the start of a step."""
    count = s.marked
    for i in range(count):
        s.marks[2 * count + i], s.marks[3 * count + i] = 1e300, -1e300


def was_beyond(s: RunRecord) -> int:
    """Return 1 if a watched value has had the wrong sign since the step's start, else 0."""
    for i in range(s.marked):
        if s.marks[2 * s.marked + i] < 0.0:
            return 1
    return 0


def nears(s: RunRecord) -> int:
    """Return 1 if a watched value may change its sign between the states at which it is known, else 0.

    It is then smaller than its change over the step.
    """
    count = s.marked
    for i in range(count):
        low, high = s.marks[2 * count + i], s.marks[3 * count + i]
        if low < high - low:
            return 1
    return 0


def crosses(s: RunRecord, t: float, x: Floats, row: int) -> int:
    """Return 1 if a watched value has the wrong sign at a state x within a step, else 0. Store all values in a row."""
    count, states = s.marked, s.buffer[1:]
    last = s.marks[(6 + PARTS) * count :]
    s.buffer[0], last[0] = t, 0.0
    for i in range(s.states):
        states[i] = x[i]
    call(s.watch, s.buffer, last, s.watched)
    for i in range(count):
        s.marks[(4 + row) * count + i] = s.marks[i] * s.marks[count + i]
    return 1 if last[0] != 0.0 else 0


def turning(rows: Floats, count: int, part: int, i: int, side: float) -> float:
    """Return where a value may have a minimum of the wrong sign, as a fraction of a step; 0 if nowhere.

    The rows have `count` values at the borders of a step's parts; the right sign is `side`. A parabola passes through
    the value at a border and at those beside it. Between them its minimum is small compared with its bend, so that the
    exact minimum may be negative.
    """
    at = part * count + i
    before, value, after = side * rows[at - count], side * rows[at], side * rows[at + count]
    bent, slope = before - 2.0 * value + after, 0.5 * (before - after)
    if bent > 0.0 and abs(slope) <= bent and value - 0.5 * slope * slope / bent < SMALL * bent:
        return (float(part) + slope / bent) / float(PARTS)
    return 0.0


def touch(x: Floats, out: Floats, data: Touched) -> None:
    """Compute the functions of touches at a state."""
    given, place = data.given, data.coordinates
    for i in range(place):
        given[i] = x[i]
    for i in range(data.own):
        given[place + i] = x[data.place + i]
    call(data.kernel, given, out)


def measured(s: RunRecord, x: Floats, row: int) -> None:
    """Compute the functions of touches at a state x, in a row of `gaps`."""
    call(s.touch, x, s.gaps[row * s.gapped :], s.touched)


def side_of(gaps: Floats, count: int, i: int) -> float:
    """Return the sign of a function of touches at both ends of a step, or 0 if the signs differ or one is zero.

    In this function and in those below, `gaps` has the `count` functions at the borders of a step's parts.
    """
    first, last = gaps[i], gaps[PARTS * count + i]
    if first > 0.0 and last > 0.0:
        return 1.0
    return -1.0 if first < 0.0 and last < 0.0 else 0.0


def may_touch(gaps: Floats, count: int) -> int:
    """Return 1 if a function of touches with one sign at both ends of a step may have the other one between them.

    A parabola passes through the values there and near the middle.
    """
    for i in range(count):
        side = side_of(gaps, count, i)
        if side != 0.0:
            first, middle, last = side * gaps[i], side * gaps[MIDDLE * count + i], side * gaps[PARTS * count + i]
            bent, slope = first - 2.0 * middle + last, 0.5 * (first - last)
            if middle <= 0.0:
                return 1
            if bent > 0.0 and abs(slope) <= bent and middle - 0.5 * slope * slope / bent < ROUGH * bent:
                return 1
    return 0


def departs(gaps: Floats, count: int) -> int:
    """Return 1 if a function of touches changes its sign from a step's start to its first stage (last row), else 0."""
    for i in range(count):
        if gaps[i] * gaps[(PARTS + 1) * count + i] < 0.0:
            return 1
    return 0


def passes(gaps: Floats, count: int) -> int:
    """Return 1 if a contact at a step's start becomes deeper and ends before the step's first stage, else 0.

    Row 1 belongs to a state right after the start, and the last row to the first stage. No rate of the step, apart from
    those at the start, would contain the force.
    """
    for i in range(count):
        first, after, then = gaps[i], gaps[count + i], gaps[(PARTS + 1) * count + i]
        if first * then < 0.0 and first * (after - first) > 0.0:
            return 1
    return 0


def touched_in(gaps: Floats, count: int, row: int) -> int:
    """Return 1 if a function of touches has one sign at both ends of a step and the other one in a row, else 0."""
    for i in range(count):
        if side_of(gaps, count, i) * gaps[row * count + i] < 0.0:
            return 1
    return 0


def touching_at(gaps: Floats, count: int, part: int, i: int) -> float:
    """Return where a function of touches may have the other sign about a border, as a fraction; 0 if nowhere."""
    side = side_of(gaps, count, i)
    return turning(gaps, count, part, i, side) if side != 0.0 else 0.0


def put_on_closures(shared: Sequence[RunRecord], x: Floats) -> None:
    """Move a state onto the closures of an arm that has some."""
    if shared[0].closed != 0:
        call(shared[0].closed, x, shared[0].closing)


def close(x: Floats, data: Closing) -> None:
    """Correct a state until the gaps of the arm's closures and their rates are small."""
    given, found, known = data.given, data.found, data.known
    for _ in range(CORRECTIONS):
        for i in lanes(known):
            given[i] = x[i]
        call(data.kernel, given, found)
        for i in lanes(known):
            x[i] = found[i]
        if found[known] < data.small:
            return


def interval(breaks: Floats, low: int, high: int, t: float) -> int:
    """Return the interval between two breaks that contains t, or the nearest one, by bisection."""
    while high - low > 1:
        middle = (low + high) // 2
        if t >= breaks[middle]:
            low = middle
        else:
            high = middle
    return low


def table(buffer: Floats, u: Floats, cubics: Cubics) -> None:
    """Evaluate u by the cubic of the interval that contains t (a stage)."""
    t = buffer[0]
    low = interval(cubics.breaks, 0, cubics.intervals, t)
    s = t - cubics.breaks[low]
    for i in range(cubics.inputs):
        c = cubics.coefficients[4 * (low * cubics.inputs + i) :]
        u[i] = ((c[0] * s + c[1]) * s + c[2]) * s + c[3]


def several(buffer: Floats, w: Floats, data: Several) -> None:
    """Evaluate each part of w by its own stage (a stage)."""
    for i in range(data.count):
        call(data.stages[i], buffer, w[data.places[i] :], data.data[i])


def followed(buffer: Floats, w: Floats, data: Followed) -> None:
    """Evaluate w by its stage, and the constants after w from parameters that another stage writes (a stage)."""
    if data.exogenous != 0:
        call(data.exogenous, buffer, w, data.given)
    call(data.stage, buffer, data.p, data.data)
    call(data.prologue, data.p, w[data.place :])


def carried(buffer: Floats, powers: Floats, data: Carried) -> None:
    """Add the power of mass that arrives or leaves to the power of the inputs."""
    t, given, n, k = buffer[0], data.given, data.moving, data.count
    p = given[n + data.own :]
    rates = p[k:]
    a, b = max(t - data.step, data.first), min(t + data.step, data.last)
    if not a < b:
        return
    buffer[0] = a
    call(data.stage, buffer, data.p, data.data)
    for i in lanes(k):
        data.before[i] = data.p[i]
    buffer[0] = b
    call(data.stage, buffer, data.p, data.data)
    for i in range(k):
        rates[i] = (data.p[i] - data.before[i]) / (b - a)
    buffer[0] = t
    call(data.stage, buffer, data.p, data.data)
    x = buffer[1:]
    for i in lanes(n):
        given[i] = x[i]
    s, own = x[n + data.memory :], given[n:]
    for i in lanes(data.own):
        own[i] = s[i]
    for i in lanes(k):
        p[i] = data.p[i]
    call(data.kernel, given, data.value)
    powers[0] += data.value[0]
