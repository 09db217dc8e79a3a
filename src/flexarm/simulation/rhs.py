"""The code around a kernel that does not depend on the arm: right-hand side, tabulated inputs, fixed steps.

It is written in the language of `native.language` and runs as machine code. All of it works on a `Plan`, of which
native code and Python share a record while a run goes on.
"""

import ctypes  # noqa: TID251  (calls what was compiled here)
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from flexarm.errors import FlexarmError
from flexarm.native.functions import translated
from flexarm.native.kernel import Address, Kernel
from flexarm.native.language import Floats, Placed, Words, call, lanes, sqrt
from flexarm.native.lifted import LiftedKernel
from flexarm.native.once import Once
from flexarm.native.varying import At
from flexarm.simulation.breakpoints import Seen

NAN = float("nan")

DIVERGED = 1e12
"""A coordinate or a rate beyond this, in SI units, is no motion."""

RHS = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_double, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
EVALUATE_STAGE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)


@dataclass
class Shared:
    """What native code and Python share of a run.

    Attributes
    ----------
    rate, stage, data : addresses
        Of the kernel (x, u) -> (dx, powers), of the input stage `void stage(buffer, u, data)`, and of its data.
    time, evaluations
        Last asked for, and how many so far.
    last : float
        The input is asked about no later time.
    stop : int
        Other than 0: every rate is NaN.
    outside, given : addresses
        Of the stage that writes w, from `place` on, and of its data; 0 where w stands in the buffer.
    states, integrated : int
        Numbers of x, and of dx with the powers.
    watch, watched : addresses
        Of what looks at every state, `void watch(buffer, dx, watched)`, and of its data; 0 where nothing does.
    most, bounded, passed : (bounded,), int, int
        Sizes of the first states beyond which there is no rate, and how often one was passed.
    look, judge : int, address
        At so many evaluations `void judge(buffer, dx, 0)` is called, which sets the next.
    buffer : (1 + states + inputs + exogenous + constants + tried,)
        t, x, u, w, constants of a model that varies, and what an implicit method tries.
    """

    rate: int
    stage: int
    data: int
    time: float
    last: float
    stop: int
    evaluations: int
    outside: int
    given: int
    place: int
    states: int
    integrated: int
    buffer: Floats
    watch: int = 0
    watched: int = 0
    most: Floats = None  # type: ignore[assignment]
    bounded: int = 0
    passed: int = 0
    look: int = 2**62
    judge: int = 0


@final
class Plan:
    """What a right-hand side needs beside t and x: the kernel `rate` (x, u) -> (dx, powers), and where u comes from.

    The buffer holds (t, x, u). Before each evaluation the stage, `void stage(ptr buffer, ptr u, ptr data)`, may write
    u; a constant input has a stage that does nothing, its u standing in the buffer. Behind u stand exogenous inputs w,
    which a stage of their own may write, the constants of a model that varies, then the place of `tried` numbers, the
    accelerations of an implicit method.
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
    ):
        self._rate = held  # the code of the rate, alive as long as a thread may call it
        self.states = states
        w = np.empty(0) if constants is None else constants
        self.constants = len(w)
        self.buffer = np.concatenate([np.zeros(1 + states + inputs + exogenous), w, np.zeros(tried)])
        self.u = self.buffer[1 + states : 1 + states + inputs]
        self.w = self.buffer[1 + states + inputs : 1 + states + inputs + exogenous]
        place = 1 + states + inputs
        self.fixed = self.buffer[place + exogenous : place + exogenous + len(w)]
        self.most = np.full(states, np.inf)
        """Sizes of states beyond which a motion has diverged."""
        self.shared = Placed(
            Shared(
                *(rate, 0, 0, 0.0, np.inf, 0, 0, 0, 0, place, states, states + powers, self.buffer),
                most=self.most,
            )
        )
        """Where native code reads and writes."""
        self._held: Any = None
        self._watched: Placed | None = None
        self._watching: Any = None
        self._beside: Any = None
        self.span = 0.0
        """The run's end [s]; 0 if the values that it saw of Python functions are not stored."""
        self.seen: dict[int, tuple[Any, Any, Seen]] = {}
        """Seen values of each Python function of time: the input, its model, and the values."""
        self.failure: BaseException | None = None
        """What Python code called from within the run raised; it cannot pass through native code."""

    @property
    def address(self) -> Address:
        """Where what is shared lies."""
        return self.shared.address

    @property
    def time(self) -> float:
        """The time last evaluated [s]."""
        return self.shared.time

    @property
    def evaluations(self) -> int:
        """Right-hand sides so far."""
        return self.shared.evaluations

    @property
    def stopped(self) -> bool:
        """Whether the run was told to stop."""
        return self.shared.stop != 0

    def rate(self, code: Any) -> None:
        """From now on another kernel is evaluated."""
        self._rate = code
        self.shared.rate = code.addresses["evaluate"]

    def stop(self) -> None:
        """From now on every rate is NaN, on which any solver gives up."""
        self.shared.stop = 1

    def resume(self) -> None:
        """Rates are what they are again."""
        self.shared.stop = 0

    def watch(self, kernel: Kernel | At, known: int) -> np.ndarray:
        """Let a kernel of a state's first numbers look at every one, while `watching`.

        What is returned holds the signs that its values must have, 0 for any: where one has another there is no rate.
        """
        given = np.concatenate([np.zeros(known), kernel.constants])
        values, sides = (np.zeros(len(kernel.one(np.zeros(known)))) for _ in range(2))
        evaluate = kernel.code.addresses["evaluate"]
        self._watched = Placed(Watched(evaluate, known, len(sides), given, values, sides, NAN))
        self._watching = kernel  # alive as long as its code may be called
        self.shared.watched = self._watched.address
        return sides

    @contextmanager
    def watching(self) -> Iterator[None]:
        """The kernel looks at every state meanwhile."""
        self._watched.time = NAN  # type: ignore[union-attr]
        self.shared.watch = loops().addresses["watch"]
        try:
            yield
        finally:
            self.shared.watch = 0

    @property
    def met(self) -> float | None:
        """When a state was last not as watched for, since `watching` began."""
        return None if self._watched is None or np.isnan(self._watched.time) else self._watched.time

    @property
    def strange(self) -> bool:
        """Whether the state last tried is none of a motion; where contacts are watched for, NaN is no sign of that."""
        size = np.abs(self.buffer[: 1 + self.states])
        return not (size.max() if self._watched is None else np.nanmax(size)) < DIVERGED

    @contextmanager
    def blind(self) -> Iterator[None]:
        """Nothing looks at the states meanwhile."""
        watch, self.shared.watch = self.shared.watch, 0
        try:
            yield
        finally:
            self.shared.watch = watch

    def seen_of(self, function: Any, model: Any) -> Seen | None:
        """Return the store of an input's values in this run, if they are stored."""
        if self.span <= 0.0:
            return None
        return self.seen.setdefault(id(function), (function, model, Seen(self.span, len(model.inputs))))[2]

    def bound(self, most: np.ndarray) -> None:
        """Give no rates from now on if one of the first states is larger than this."""
        self.most[: len(most)] = most
        self.shared.bounded = len(most)

    def judged(self, look: int, judge: Callable[[float, np.ndarray, int], tuple[int, str]]) -> None:
        """Let a function of time, state and evaluations look at the run after so many of these; it gives when to look
        again, and why the run ends, or ""."""

        def called(_buffer: int, _dx: int, _data: int) -> None:
            self.shared.look = 2**62  # what the function evaluates is not looked at
            try:
                t, x = float(self.buffer[0]), self.buffer[1 : 1 + self.states].copy()
                self.shared.look, said = judge(t, x, self.evaluations)
                if said:
                    self.failure = self.failure or FlexarmError(said)
                    self.stop()
            except BaseException as error:
                self.failure = self.failure or error
                self.stop()

        self._judge = EVALUATE_STAGE(called)
        self.shared.judge = ctypes.cast(self._judge, ctypes.c_void_p).value or 0
        self.shared.look = look

    def end(self, t: float) -> None:
        """The stretch ends at t: an input is asked about times before it alone, so that it is seen from the left."""
        self.shared.last = np.nextafter(t, -np.inf)

    def feed(self, stage: Address, data: Address = 0, held: Any = None) -> None:
        """Take u from a stage; `held` is what must stay alive for it."""
        self.shared.stage = stage
        self.shared.data = data
        self._held = held

    def feed_by(self, kernel: LiftedKernel) -> None:
        """Take u, and what else is written behind it, from a kernel of t, or of t and the state."""
        self.feed(*stage_of(kernel))

    def feed_beside(self, stage: Address, data: Address = 0, held: Any = None) -> None:
        """Take w from a stage; from none, 0, where it stands in the buffer."""
        self.shared.outside = stage
        self.shared.given = data
        self._beside = held


def stage_of(kernel: LiftedKernel) -> tuple[Address, Address, Any]:
    """The stage that evaluates a kernel of t, or of t and the state; its data, and what must stay alive for it."""
    code, constants = kernel.code, kernel.constants
    known = code.facts["n_in"] - len(constants)
    given = np.concatenate([np.zeros(known), constants])
    data = Placed(Evaluated(code.addresses["evaluate"], known, given))
    return loops().addresses["evaluated"], data.address, (code, data)


loops = Once(lambda: translated(rhs, nothing, evaluated, table, several, rk4, growth, watch))
"""Machine code of `rhs`, `rk4`, `growth`, `watch` and the stages, one for the process."""


@dataclass
class Evaluated:
    """Data of the stage `evaluated`: a kernel's address, how much of the buffer it takes; that, and its constants."""

    kernel: int
    known: int
    given: Floats


@dataclass
class Watched:
    """Data of `watch`: a kernel's address, how much of the state it takes; that, and its constants; its values, the
    signs that they must have, and the time at which one last had another."""

    kernel: int
    known: int
    count: int
    given: Floats
    values: Floats
    sides: Floats
    time: float


@dataclass
class Cubics:
    """Data of the stage `table`: numbers of intervals and inputs; breaks (intervals + 1,), coefficients (..., 4)."""

    intervals: int
    inputs: int
    breaks: Floats
    coefficients: Floats


@dataclass
class Several:
    """Data of the stage `several`: how many stages it calls, their addresses, data, and where each begins to write."""

    count: int
    stages: Words
    data: Words
    places: Words


def cubic_table(breaks: np.ndarray, coefficients: np.ndarray) -> Placed:
    """Data for the stage `table`: u_c(t) = sum_p coefficients[i, c, p] (t - breaks[i])^(3 - p) in interval i.

    breaks (intervals + 1,), coefficients (intervals, m, 4). Outside the breaks the first or last cubic goes on.
    """
    breaks, coefficients = np.ascontiguousarray(breaks, float), np.ascontiguousarray(coefficients, float)
    intervals, inputs, _ = coefficients.shape
    return Placed(Cubics(intervals, inputs, breaks, coefficients))


# -- what is translated ------------------------------------------------------------------------------------------------


def rhs(dy: Floats, t: float, y: Floats, shared: Sequence[Shared], unused: int) -> None:
    """dy = (dx, powers) at t in the state y, in the form that CyRK's solvers take."""
    s = shared[0]
    s.time = t
    s.evaluations += 1
    s.buffer[0] = min(t, s.last)
    x = s.buffer[1:]
    for i in range(s.states):
        x[i] = y[i]
    call(s.stage, s.buffer, x[s.states :], s.data)
    if s.outside != 0:
        call(s.outside, s.buffer, s.buffer[s.place :], s.given)
    call(s.rate, x, dy)
    if s.watch != 0:
        call(s.watch, s.buffer, dy, s.watched)
    looked(shared, y, dy)
    if s.stop != 0:
        for i in range(s.integrated):
            dy[i] = NAN


def looked(shared: Sequence[Shared], y: Floats, dy: Floats) -> None:
    """Give no rates beyond the bounds of a motion, and check the run when that is due."""
    s = shared[0]
    for i in range(s.bounded):
        if abs(y[i]) > s.most[i]:
            dy[0] = NAN
            s.passed += 1
    if s.evaluations >= s.look:
        call(s.judge, s.buffer, dy, 0)


def growth(shared: Sequence[Shared], t: float, x: Floats, v: Floats, h: float, turns: int, work: Floats) -> float:
    """By how much the rates change a direction v of the state in a turn, and again: power iteration by differences.

    Of two turns the mean, since rates and coordinates may be of very different size. 0 where that is not a number;
    work holds 3 vectors.
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
    """A stage that leaves u as it is."""


def evaluated(buffer: Floats, u: Floats, data: Evaluated) -> None:
    """A stage that gives u by a kernel of the buffer's first numbers and of constants."""
    given = data.given
    for i in lanes(data.known):
        given[i] = buffer[i]
    call(data.kernel, given, u)


def watch(buffer: Floats, dx: Floats, data: Watched) -> None:
    """No rate where a watched value has the wrong sign."""
    given, x = data.given, buffer[1:]
    for i in lanes(data.known):
        given[i] = x[i]
    call(data.kernel, given, data.values)
    for i in range(data.count):
        if data.values[i] * data.sides[i] < 0.0:
            data.time = buffer[0]
            dx[0] = NAN


def interval(breaks: Floats, low: int, high: int, t: float) -> int:
    """The interval that holds t, or the nearest, of those between two breaks; found by halving."""
    while high - low > 1:
        middle = (low + high) // 2
        if t >= breaks[middle]:
            low = middle
        else:
            high = middle
    return low


def table(buffer: Floats, u: Floats, cubics: Cubics) -> None:
    """A stage that gives u by the cubic of the interval that holds t."""
    t = buffer[0]
    low = interval(cubics.breaks, 0, cubics.intervals, t)
    s = t - cubics.breaks[low]
    for i in range(cubics.inputs):
        c = cubics.coefficients[4 * (low * cubics.inputs + i) :]
        u[i] = ((c[0] * s + c[1]) * s + c[2]) * s + c[3]


def several(buffer: Floats, w: Floats, data: Several) -> None:
    """A stage that gives each part of w by a stage of its own."""
    for i in range(data.count):
        call(data.stages[i], buffer, w[data.places[i] :], data.data[i])


def rk4(shared: Sequence[Shared], y: Floats, work: Floats, t0: float, h: float, steps: int) -> None:
    """The classical Runge-Kutta method: y is advanced in place; work holds 5 vectors."""
    size = shared[0].integrated
    k1, k2, k3, k4, trial = work, work[size:], work[2 * size :], work[3 * size :], work[4 * size :]
    for step in range(steps):
        t = t0 + step * h
        rhs(k1, t, y, shared, 0)
        for i in range(size):
            trial[i] = y[i] + 0.5 * h * k1[i]
        rhs(k2, t + 0.5 * h, trial, shared, 0)
        for i in range(size):
            trial[i] = y[i] + 0.5 * h * k2[i]
        rhs(k3, t + 0.5 * h, trial, shared, 0)
        for i in range(size):
            trial[i] = y[i] + h * k3[i]
        rhs(k4, t + h, trial, shared, 0)
        for i in range(size):
            y[i] += h * (k1[i] + 2.0 * (k2[i] + k3[i]) + k4[i]) / 6.0
