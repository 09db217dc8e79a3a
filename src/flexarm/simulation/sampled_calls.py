"""A sampled law in one run: its calls in Python, or in machine code together with the arm's motion between samples.

Both give the same results to the last bit. If a law or a solver fails in machine code, the loop ends before that
sample, and Python repeats the sample to find the reason.
"""

import ctypes  # noqa: TID251  (calls code that this package compiled)
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, final

import numpy as np

from flexarm.arrays import Array
from flexarm.checks import shown
from flexarm.errors import DescriptionError, FlexarmError
from flexarm.model import Model
from flexarm.native.code import Code
from flexarm.native.functions import translated
from flexarm.native.kernel import Kernel
from flexarm.native.language import Floats, Placed, call
from flexarm.native.once import Once
from flexarm.simulation.advance import CALL, Advance, Intervals, intervals, is_finite, through
from flexarm.simulation.block import Recorded
from flexarm.simulation.law import Law
from flexarm.simulation.layout import Layout
from flexarm.simulation.rhs import Plan, RunRecord
from flexarm.simulation.stepped import NativeStep, Readings, Seen, Stepped, read, report_of
from flexarm.simulation.steps import copied

NEVER = np.empty(0)

RATES = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
CODE = Once(lambda: translated(advance_samples, rates_before))


@dataclass
class Before:
    """An arm just before a sample, with the data that native code needs to compute its accelerations.

    Attributes
    ----------
    rate : address
        The kernel (x, u, w) -> (dx, powers); 0 if accelerations are not measured.
    first, accelerations
        Position of the accelerations in dx, and their number.
    t, x, dx
        Time and state, and the state's rates under the previous u.
    """

    shared: Sequence[RunRecord]
    rate: int
    states: int
    first: int
    accelerations: int
    t: float
    x: Floats
    dx: Floats


def before(plan: Plan, model: Model, rate: Code) -> Placed:
    """Return the record of an arm before its samples. The code of its rates must stay alive."""
    layout = Layout.of(model)
    return Placed(
        Before(
            shared=np.array([plan.address]),  # type: ignore[arg-type]  # an address is one word
            rate=rate.addresses["evaluate"],
            states=layout.states,
            first=layout.qd.start,
            accelerations=model.nv,
            t=0.0,
            x=np.zeros(layout.states),
            dx=np.zeros(layout.size),
        )
    )


@dataclass
class Samples:
    """Consecutive samples, with the data that native code needs for them.

    Attributes
    ----------
    intervals : Intervals
        The intervals between samples.
    law : address
        The kernel (t, q, qd, s, z, noise, qdd, constants) -> (u, next z).
    before, measured
        Source of qdd, and 1 if the law measures it.
    late : float
        Time by which a sample may follow a time of the result that gets its u [s].
    given, found
        Arguments of the law, which include z and end with its constants, and its values.
    held : (total, inputs + recorded)
        u with recorded signals at the times of the result. `next` is the first time without a u.
    u
        Current u with recorded signals, which are the last numbers of the memory.
    known, called, applied : int, (samples, known), (samples, inputs)
        Number of the law's arguments without its constants; these arguments and u at each sample.
    step, stepping : addresses
        The sample of a controller that is no law, and its record, see `NativeStep`; 0 for a law.
    readings : Readings
        Its measurements.
    last : (inputs,)
        Last u.
    """

    shared: Sequence[RunRecord]
    intervals: Sequence[Intervals]
    law: int
    before: Sequence[Before]
    measured: int
    states: int
    inputs: int
    memory: int
    recorded: int
    noises: int
    total: int
    late: float
    given: Floats
    found: Floats
    noise: Floats
    held: Floats
    u: Floats
    next: int
    known: int
    called: Floats
    applied: Floats
    step: int
    stepping: int
    readings: Sequence[Readings]
    last: Floats


class SampledLaw(Protocol):
    """A law that is called once per period; see `sampled.SampledFeedback`."""

    @property
    def law(self) -> Law: ...
    @property
    def model(self) -> Model: ...
    @property
    def kernel(self) -> Kernel: ...
    @property
    def period(self) -> float: ...
    @property
    def function(self) -> Stepped | None: ...
    @property
    def behind(self) -> tuple[int, ...]: ...
    @property
    def records(self) -> tuple[Recorded, ...]: ...
    @property
    def seed(self) -> int: ...
    @property
    def label(self) -> str: ...


@final
class SampledCalls:
    """A sampled law in one run: u from t and the state (q, qd, s). Calls must be in order of time from the beginning.

    Outputs are stored only at the times of the result, since there may be far more samples.

    Parameters
    ----------
    block : SampledLaw
    model : Model
        Model of the run, which may have other parameters than that of the law.
    times : (k,)
        Times of the result.

    Attributes
    ----------
    given : (1 + nq + nv + states of drives + memory + noises + accelerations + constants,)
        Arguments of the kernel: t, q, qd, the drives' states s, the memory z, which persists, noise, qdd if the law
        measures it, and the law's constants. After a Python function its u replaces q, and s is absent.
    states, memory, noises, recorded : int
        Lengths of parts of the arguments. The last `recorded` numbers of the memory are stored together with u.
    late : float
        Time by which a sample may follow a time of the result that gets its u [s].
    held : (k, m + recorded)
        Outputs up to the time `next`; NaN from there on.
    u : (m + recorded,)
        Current output, followed by the recorded signals.
    """

    def __init__(self, block: SampledLaw, model: Model, times: Array = NEVER):
        law, m = block.law, len(block.model.inputs)
        self._block, self._model, self._times, self._m = block, model, times, m
        self.memory, self.noises = len(law.memory), len(law.noise)
        self.states = sum(block.behind) if block.function else Layout.of(block.model).states
        self.late = 1e-9 * block.period
        ends = np.cumsum([1 + self.states, self.memory, self.noises, block.model.nv * law.accelerates])
        self.given = np.concatenate([np.zeros(ends[-1]), block.kernel.constants])
        self._known = self.given[: ends[-1]]
        _, self._z, self._noise, self._qdd, _ = np.split(self.given, ends)
        self._z[:] = law.memory
        self._rng, self._sigma = np.random.default_rng(block.seed), np.array(law.noise)
        self.code = block.kernel.code  # compiled here, so that a law that does not fit raises its error before the run
        if block.function:
            self._u = np.zeros(m)
            self._seen = Seen(block.function.sensors, model, block.period, self._rng)
            self._step = block.function.stepper(block.model, block.period)
            self._applied = getattr(self._step, "applied", None)
            self._native: NativeStep | None = getattr(self._step, "native", None) if self._seen.translates else None
            self._shown = sum(len(each.labels) for each in block.function.shows(block.model))
        self.recorded = sum(len(each.signals) for each in block.records)
        self.held = np.full((len(times), m + self.recorded), np.nan)
        self.u = np.full(m + self.recorded, np.nan)
        self.next = 0
        self.recorded_calls: list[tuple[Array, Array]] | None = None
        """Arguments of the law without its constants, and u, of the calls in native code, if these are recorded."""
        self._measured = law.accelerates or (
            block.function is not None and (self._seen.driven or (self.ahead_of_python and self._seen.accelerates))
        )
        self._before: Placed | None = None
        self._rate: Code | None = None

    @property
    def ahead_of_python(self) -> bool:
        """True if all of a sample is machine code."""
        return self._block.function is None or self._native is not None

    def __call__(self, t: float, x: Array, qdd: Array | None = None, w: Array | None = None) -> Array:
        """Return u (m,). A law may need the accelerations and external loads just before the sample, see `before`."""
        m = self._m
        self.given[0] = t
        self._qdd[:] = qdd if self._block.law.accelerates else 0.0
        if self._block.function is None:
            self.given[1 : 1 + self.states] = x[: self.states]
        else:
            y = self._seen(x, self._u, w)
            if self._applied is not None:
                self._applied(self._u)
            self.given[1 : 1 + m] = self._command(t, y)
            count = self.states - m - self._shown
            self.given[1 + m : 1 + m + count] = y[:count]
            if self._shown:
                self.given[1 + m + count : 1 + self.states] = self._step.shown  # type: ignore[attr-defined]
        if self.noises:
            self._noise[:] = self.drawn(1)[0]
        found = self._block.kernel.one(self._known)
        self._z[:] = found[m:]
        if not np.isfinite(found).all():
            bad = int(np.argmin(np.isfinite(found)))
            raise FlexarmError(self.refusal(t, bad, found[bad]))
        if self._block.function:
            self._u[:] = found[:m]
        return found[:m]

    def observe(self, model: Model) -> None:
        """Have a Python controller measure the arm with the parameters of this model from now on."""
        if self._block.function is not None:
            self._seen.observe(model)

    def _command(self, t: float, y: Array) -> Array:
        """Return the output of the Python controller, (m,)."""
        block = self._block
        try:
            given = self._step(t, y)
        except DescriptionError as error:  # an error in the function's own calls, not in the run
            raise FlexarmError(f"{block.label} at t = {t:.6g} s: {error}") from error
        except BaseException as error:
            error.add_note(f"raised by the {block.label} at t = {t:.6g} s")
            raise
        try:
            u = np.asarray(given, dtype=float)
        except (TypeError, ValueError, OverflowError):
            message = f"{block.label} gave {shown(given)} at t = {t:.6g} s; it must give numbers"
            raise FlexarmError(f"{message}: {', '.join(block.model.inputs)}") from None
        if u.shape != (self._m,):
            must = f"it must give {self._m}: {', '.join(block.model.inputs)}"
            raise FlexarmError(f"{block.label} gave shape {u.shape} at t = {t:.6g} s; {must}")
        return u

    def refusal(self, t: float, bad: int, value: float) -> str:
        """Return a message about a value of the law that is not finite."""
        what = f"for {self._block.model.inputs[bad]}" if bad < self._m else "in its memory"
        return f"{self._block.label} gave {value} {what} at t = {t:.6g} s"

    @property
    def memory_now(self) -> Array:
        """Current memory z, (memory,)."""
        return self._z

    @property
    def constants(self) -> Array:
        """Last arguments of the kernel."""
        return self._block.kernel.constants

    def report(self) -> dict[str, Any]:
        """Return the controller's report about the run."""
        return report_of(self._step) if self._block.function else {}

    def drawn(self, count: int) -> Array:
        """Return noise of the law for so many samples, (count, noises)."""
        return self._sigma * self._rng.standard_normal((count, self.noises))

    def before(self, plan: Plan) -> Placed | None:
        """Return the arm before its samples, if the law measures accelerations or depends on external loads."""
        if self._before is None and self._measured:
            self._rate = self._model.kernel("state_rate").code
            self._before = before(plan, self._model, self._rate)
        return self._before

    def sample(self, plan: Plan, t: float, x: Array) -> Array:
        """Return u from t on."""
        self._hold(t - self.late)
        if (record := self.before(plan)) is None:
            u = self(t, x)
        else:
            record.t = t
            record.x[:] = x[: record.states]
            RATES(CODE().addresses["rates_before"])(record.address)
            u = self(t, x, record.dx[record.first : record.first + record.accelerations], plan.w)
        self.u[: self._m] = u
        self.u[self._m :] = self._z[self.memory - self.recorded :]
        return u

    def at(self, times: Array) -> Array:
        """Return outputs and recorded signals at some of the times, ascending."""
        self._hold(times[-1] + self.late)
        first = int(np.searchsorted(self._times, times[0]))
        return self.held[first : first + len(times)]

    def _hold(self, until: float) -> None:
        """Store the last u for every earlier time of the result."""
        while self.next < len(self._times) and self._times[self.next] < until:
            self.held[self.next] = self.u
            self.next += 1

    def ahead(self, plan: Plan, solver: Advance, rows: Array, edges: Array, x: Array) -> tuple[int, Array, int, int]:
        """Take the intervals between the edges in machine code, from the state x, and write states to rows.

        Return the number of completed intervals, the state after them, the number of times at which the state is known,
        and the number of steps.
        """
        count, record = len(edges) - 1, self.before(plan)
        dice, some = self._rng.bit_generator.state, intervals(plan, solver, self._times, rows, edges, x)
        called, applied = (np.empty((count, size)) for size in (len(self._known), self._m))
        native = None if self._block.function is None else self._native
        readings = None if native is None else self._seen.placed(count)
        samples = Placed(
            Samples(
                shared=np.array([plan.address]),  # type: ignore[arg-type]  # an address is one word
                intervals=np.array([some.address]),  # type: ignore[arg-type]
                law=self.code.addresses["evaluate"],
                before=np.array([record.address if record else 0]),  # type: ignore[arg-type]
                measured=record is not None,
                states=self.states,
                inputs=self._m,
                memory=self.memory,
                recorded=self.recorded,
                noises=self.noises,
                total=len(self._times),
                late=self.late,
                given=self.given,
                found=np.empty(self._m + self.memory),
                noise=self.drawn(count),
                held=self.held,
                u=self.u,
                next=self.next,
                known=len(self._known),
                called=called,
                applied=applied,
                step=native.code if native else 0,
                stepping=native.record if native else 0,
                readings=np.array([readings.address if readings else 0]),  # type: ignore[arg-type]
                last=self._u if native else NEVER,
            )
        )
        done = CALL(CODE().addresses["advance_samples"])(samples.address, count)
        self.next = samples.next
        if self.recorded_calls is not None:
            self.recorded_calls.append((called[:done], applied[:done]))
        if done < count:  # Python repeats the sample that failed
            self._rng.bit_generator.state = dice
            self.drawn(done) if native is None else self._seen.drawn(done)
        return done, some.x, int(some.upto[done]), some.steps


# -- translated functions ----------------------------------------------------------------------------------------------


def advance_samples(s: Samples, count: int) -> int:
    """Process up to so many samples, and return how many were completed."""
    shared = s.shared[0]
    u, z = shared.buffer[1 + shared.states :], s.given[1 + s.states :]
    kept = s.inputs + s.recorded
    some = s.intervals[0]
    for k in range(count):
        t = some.edges[k]
        while s.next < s.total and some.times[s.next] < t - s.late:
            copied(s.u, s.held[s.next * kept :], kept)
            s.next += 1
        s.given[0] = t
        copied(s.noise[k * s.noises :], z[s.memory :], s.noises)
        if s.measured != 0:
            before = s.before[0]
            before.t = t
            copied(some.x, before.x, before.states)
            rates_before(before)
        if s.step == 0:
            copied(some.x, s.given[1:], s.states)
            if s.measured != 0:
                copied(s.before[0].dx[s.before[0].first :], z[s.memory + s.noises :], s.before[0].accelerations)
        else:
            stepped(s, k, t)
            if is_finite(s.given[1:], s.inputs) == 0:
                return k
        copied(s.given, s.called[k * s.known :], s.known)
        call(s.law, s.given, s.found)
        copied(s.found, s.applied[k * s.inputs :], s.inputs)
        if is_finite(s.found, s.inputs + s.memory) == 0:
            return k
        copied(s.found, u, s.inputs)
        if through(some, k) == 0:
            return k
        copied(s.found, s.u, s.inputs)
        if s.step != 0:
            copied(s.found, s.last, s.inputs)
        copied(s.found[s.inputs + s.memory - s.recorded :], s.u[s.inputs :], s.recorded)
        copied(s.found[s.inputs :], z, s.memory)
    return count


def stepped(s: Samples, k: int, t: float) -> None:
    """Measure, and write u, the measurements and the numbers that the controller shows as arguments of the law."""
    r = s.readings[0]
    if r.accelerations > 0:
        copied(s.before[0].dx[s.before[0].first :], r.given[r.moving :], r.accelerations)
    read(r, k, s.intervals[0].x)
    to = s.given[1 + s.inputs :]
    copied(r.y, to, r.shown)
    call(s.step, s.stepping, t, r.y, s.last, s.given[1:], to[r.shown :])


def rates_before(s: Before) -> None:
    """Compute the rates of a state just before a sample, under the previous input."""
    shared = s.shared[0]
    shared.buffer[0] = min(s.t, shared.last)
    copied(s.x, shared.buffer[1:], s.states)
    if shared.exogenous != 0:
        call(shared.exogenous, shared.buffer, shared.buffer[shared.place :], shared.given)
    call(s.rate, shared.buffer[1:], s.dx)
