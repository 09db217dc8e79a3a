"""Sampled loops: a law, or a Python function, that is called once per period.

Its output is constant until the next sample, after delay, saturation and rate limit.
"""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Self, final

import numpy as np
from numpy.typing import ArrayLike

from flexarm.brief import brief
from flexarm.cached import cached_property
from flexarm.checks import (
    NOT_NEGATIVE,
    POSITIVE,
    checked_instance,
    checked_number,
    checked_whole,
    refused,
    shown,
)
from flexarm.errors import DescriptionError, FlexarmError, SlowSampling
from flexarm.model import Model
from flexarm.native.kernel import Kernel
from flexarm.native.language import Placed
from flexarm.simulation.advance import Advance
from flexarm.simulation.block import Block, Recorded
from flexarm.simulation.feedback import check_model, check_width, continuous, initial, kernel, named, recording
from flexarm.simulation.law import Actuators, Column, Law, law_of, parted, what_it_is
from flexarm.simulation.layout import Layout
from flexarm.simulation.rhs import Plan, Stage, nothing_to_do
from flexarm.simulation.samples import CALL, CODE, Feeling, Samples
from flexarm.simulation.shown import show
from flexarm.simulation.stepped import (
    Seen,
    Step,
    Stepped,
    check_seen,
    reckoning_with,
    reference_of,
    report_of,
    stepped,
)
from flexarm.trajectory import Reference

Array = np.ndarray

MOST_SAMPLES = 1e9
"""Largest number of periods in a run: three hours of calls at ten microseconds each."""


@final
@brief
@dataclass(frozen=True)
class Sampled:
    """A controller that is called once per period, with a constant output between two calls (zero-order hold).

    Parameters
    ----------
    controller : Controller, or a Python function of t, q, qd that returns u (m,), or of t, y with sensors
        Or an object with `sensors` and with `stepper(model, period)`, which returns such a function of t, y for each
        run.
    period : float
        [s]
    delay, limit, rate_limit
        See `Actuators`.
    seed : int
        Seed of the sensors' noise.
    sensors : list of sensors, optional
        Sensors whose readings at the sample are the argument y of a Python function, with their noise and resolution,
        one number per signal in the order of `fa.outputs(model, sensors).names`. A sensor with a `sample_time`, a whole
        number of periods, gives its last reading. Accelerometers and motors are read just before u changes.
    method : str, optional
        Discretization of a continuous `control.Linear`: "tustin", "zoh", "euler" or "backward_diff".
    """

    controller: Any
    period: float
    delay: float = 0.0
    limit: ArrayLike | None = None
    rate_limit: ArrayLike | None = None
    seed: int = 0
    sensors: Sequence[Any] | None = None
    method: str | None = None

    def __post_init__(self) -> None:
        with refused("Sampled"):
            checked_number(self.period, "s", POSITIVE, "period")
            checked_number(self.delay, "s", NOT_NEGATIVE, "delay")
            checked_whole(self.seed, 0, "seed")
        stepped(self.controller, self.sensors)
        self._designed()

    def _designed(self) -> Any:
        """Return the controller, discretized by the method if one is given."""
        if self.method is None:
            return self.controller
        if not hasattr(self.controller, "discretised"):
            must = "method applies only to a control.Linear, or a control.Sum with one; leave method out"
            raise DescriptionError(f"Sampled: controller is {what_it_is(self.controller)}; {must}")
        return self.controller.discretised(self.method)

    def feedback(self, model: Model) -> "SampledFeedback":
        """Return the input of a run."""
        with refused("Sampled"):
            checked_instance(model, Model, "model")
        m, period = len(model.inputs), float(self.period)
        actuators = Actuators(self.delay, self.limit, self.rate_limit)
        function = stepped(self.controller, self.sensors)
        if function:
            check_seen(function.sensors, model, period)
            function = reckoning_with(function, float(self.delay))
            seen = () if function.sensors is None else model.output_names(function.sensors)

            def passed(t: Any, u: Column, y: Column, *_: Column) -> tuple[Column, list[Column]]:
                """Return the command of a Python controller.

                The command takes the place of q, and its readings take the place of qd.
                """
                if seen:
                    show("measured", y, seen, "as the sensors'")
                return u, []

            inner = Law(passed, reference=reference_of(function))
        else:
            inner = law_of("Sampled: controller", self._designed(), model, period)

        def expression(t: Any, q: Column, qd: Column, z: Column, *noise: Column) -> tuple[Column, Column]:
            import casadi as ca

            own, under_way = parted(z, len(inner.memory))
            u, after = inner(t, q, qd, own, *noise)
            check_width(model, u, named(self.controller))
            show("command", u, model.inputs, "as that of u", once=True)
            u, under_way = actuators.apply(u, under_way, period)
            return u, ca.vertcat(after(u), under_way)

        law = replace(inner, expression=expression, memory=(*inner.memory, *actuators.memory(period, m)))
        if "poles" not in inner.facts:  # a law designed on the arm takes the arm's modes into account
            _warn_of_aliasing(model, period)
        name, seed = named(self.controller), int(self.seed)
        return SampledFeedback(law, model, name, period, function, seed, inner.reference, self)


def _warn_of_aliasing(model: Model, period: float) -> None:
    """Warn if the sampling period is too long for the arm's fastest mode, which then appears at another frequency."""
    rest = np.array(model.arm.rest)
    omega = model.derived("the fastest mode", lambda: model.frequencies(rest, locked=False).max(initial=0.0))
    if omega * period > np.pi:
        half = f"half that of the fastest mode, {np.pi / omega:.2g} s ({omega:.4g} rad/s)"
        warnings.warn(
            f"Sampled: period is {period:g} s, longer than {half}; this mode is aliased: sample faster",
            SlowSampling,
            stacklevel=4,
        )


@final
@dataclass
class SampledFeedback(Block):
    """A sampled law as an input of runs: called once per period, with a constant output until the next call."""

    of_state = True

    law: Law
    model: Model
    name: str
    period: float = field()
    function: Stepped | None = None
    """Python controller that replaces the law's u. The law then follows the controller."""
    seed: int = 0
    reference: Reference | None = None
    controller: Any = None
    """Controller that designed the law, if any. The law itself consists of functions, which cannot be sent to a
    process."""
    held: "Held | None" = None
    """Outputs of the law in one run. Only the result of `begun` has them."""
    records: tuple[Recorded, ...] = ()  # type: ignore[assignment]
    """Recorded signals, which are the last numbers of the law's memory."""

    def __reduce_ex__(self, protocol: Any) -> Any:
        # the controller designs the law again; `held` belongs to a run of this process
        return feedback, (self.controller, self.model)

    def __copy__(self) -> Self:
        return replace(self)

    def __deepcopy__(self, _: Any) -> Self:
        return replace(self)

    @property
    def wanted(self) -> Reference | None:  # type: ignore[override]
        """Reference of the controller."""
        return self.reference

    def initial(self, model: Model) -> tuple[Array, Array]:
        """Return the initial state: at rest, on the reference if there is one."""
        return initial(model, self.reference)

    def recording(self, names: tuple[str, ...], model: Model) -> Self:
        """Return the law with its recorded signals as further memory, which only the result reads."""
        law, records = recording(self.law, model, names, self.behind)
        return replace(self, law=law, records=records)

    def recorded(self, t: Array, parts: Mapping[str, Array]) -> Array:
        """Return the signals that were recorded at the last sample before each time."""
        assert self.held is not None
        return self.held.at(t)[:, len(self.model.inputs) :]

    def begun(self, model: Model, times: Array) -> Self:
        """Return the law for one run, with storage for its outputs."""
        check_model(self.name, self.model, model)
        count = self._count(float(times[-1]))
        if not count <= MOST_SAMPLES:
            message = f"a run of {times[-1]:g} s has {count:.3g} periods, and at most {MOST_SAMPLES:.0e} are allowed"
            raise DescriptionError(f"Sampled: period is {self.period:g} s; {message}")
        recorded = sum(len(each.signals) for each in self.records)
        begun = replace(self, held=Held(self.started(model), model, times, recorded))
        begun.kernel = self.kernel  # avoids a second trace
        return begun

    def corners(self, until: float) -> Iterable[float]:
        """Return the times of the samples, and the end."""
        return chain((self.period * k for k in range(max(1, int(self._count(until))))), [until])

    def _count(self, until: float) -> float:
        """Return the number of samples, which may be infinite."""
        return np.ceil(until / self.period - 1e-9)

    def stage(self, plan: Plan, u: Array, model: Model, t: float, x: Array) -> Stage:
        """Call the law and hold its output. Calls must be in order of time from the beginning."""
        assert self.held is not None
        if t == 0.0:
            self.held.begin(plan)
        u[:] = self.held.sample(t, x)
        return nothing_to_do()

    def output(self, model: Model, t: Array, q: Array, qd: Array, z: Array) -> Array:
        """Return the outputs of the law at these times; NaN where the law was not called."""
        assert self.held is not None
        return self.held.at(t)[:, : len(self.model.inputs)]

    @property
    def behind(self) -> tuple[int, ...]:
        """Lengths of a Python controller's u and of its readings, or () for a law."""
        if self.function is None:
            return ()
        sensors = self.function.sensors
        return len(self.model.inputs), 0 if sensors is None else len(self.model.output_names(sensors))

    @cached_property
    def kernel(self) -> Kernel:
        """Compiled law (t, q, qd, s, z, noise, qdd) -> (u, next z).

        After a Python controller, u replaces q and s is absent.
        """
        if self.function:
            return kernel(self.law, self.model, self.name, behind=self.behind)
        return kernel(self.law, self.model, self.name, len(self.model.states))

    def started(self, model: Model | None = None) -> "Called":
        """Return the law at the beginning of a run, for its own model or another, as with other parameters."""
        return Called(self, self.model if model is None else model)

    def ahead(self, plan: Plan, solver: Advance, times: Array, x: Array) -> "Ahead | None":
        """Return native code that goes from sample to sample, if the law is compiled."""
        assert self.held is not None
        if self.function:
            return None
        self.held.begin(plan)
        return Ahead(self.held, plan, solver, times, x)

    @property
    def batched(self) -> bool:  # type: ignore[override]
        """True for a compiled law without measured accelerations, which is called for all lanes at each sample."""
        return not (self.function or self.law.accelerates)

    def kernel_for(self, model: Model) -> Kernel:
        """Return the compiled law."""
        return self.kernel

    @property
    def label(self) -> str:
        """Name of the controller in error messages."""
        return f"controller {self.name}"

    def refusal(self, t: float, bad: int, value: float) -> str:
        """Return a message about a value of the law that is not finite."""
        m = len(self.model.inputs)
        what = f"for {self.model.inputs[bad]}" if bad < m else "in its memory"
        return f"controller {self.name} gave {value} {what} at t = {t:.6g} s"

    def called(self, step: Step, t: float, y: Array) -> Array:
        """Return the output of the Python controller, (m,)."""
        m = len(self.model.inputs)
        try:
            given = step(t, y)
        except DescriptionError as error:  # an error in the function's own calls, not in the run
            raise FlexarmError(f"controller {self.name} at t = {t:.6g} s: {error}") from error
        except BaseException as error:
            error.add_note(f"raised by the controller {self.name} at t = {t:.6g} s")
            raise
        try:
            u = np.asarray(given, dtype=float)
        except (TypeError, ValueError, OverflowError):
            message = f"controller {self.name} gave {shown(given)} at t = {t:.6g} s; it must give numbers"
            raise FlexarmError(f"{message}: {', '.join(self.model.inputs)}") from None
        if u.shape != (m,):
            names = ", ".join(self.model.inputs)
            raise FlexarmError(
                f"controller {self.name} gave shape {u.shape} at t = {t:.6g} s; it must give {m}: {names}"
            )
        return u

    def report(self) -> dict[str, Any]:
        """Return the report of a Python controller."""
        return self.held.law.report() if self.held else {}

    def described(self) -> str:
        """Return a text with the law's name and period."""
        return f"{self.name}, sampled every {self.period:g} s"


@final
class Called:
    """A sampled law in one run: u from t and the state (q, qd, s). Calls must be in order of time from the beginning.

    Attributes
    ----------
    given : (1 + nq + nv + states of drives + memory + noises + accelerations + constants,)
        Arguments of the kernel: t, q, qd, the drives' states s, the memory z, which persists, noise, qdd if the law
        measures it, and the law's constants. After a Python function its u replaces q, and s is absent.
    states, memory, noises : int
    late : float
        Time by which a sample may follow a time of the result that gets its u [s].
    """

    def __init__(self, law: SampledFeedback, model: Model):
        self.law, self._m = law, len(law.model.inputs)
        self.memory, self.noises = len(law.law.memory), len(law.law.noise)
        self.states = sum(law.behind) if law.function else Layout.of(law.model).states
        self.late = 1e-9 * law.period
        ends = np.cumsum([1 + self.states, self.memory, self.noises, law.model.nv * law.law.accelerates])
        self.given = np.concatenate([np.zeros(ends[-1]), law.kernel.constants])
        self._known = self.given[: ends[-1]]
        _, self._z, self._noise, self._qdd, _ = np.split(self.given, ends)
        self._z[:] = law.law.memory
        self._rng, self._sigma = np.random.default_rng(law.seed), np.array(law.law.noise)
        self.code = law.kernel.code  # compiled here, so that a law that does not fit raises its error before the run
        if law.function:
            self._u = np.zeros(self._m)
            self._seen = Seen(law.function.sensors, model, law.period, self._rng)
            self._step = law.function.stepper(law.model, law.period)

    @property
    def feels(self) -> bool:
        """True if the law measures accelerations just before a sample, or quantities that depend on external loads."""
        return self.law.law.accelerates or (self.law.function is not None and self._seen.driven)

    def __call__(self, t: float, x: Array, qdd: Array | None = None, w: Array | None = None) -> Array:
        """Return u (m,). A law that `feels` gets the accelerations and external loads just before the sample."""
        m = self._m
        self.given[0] = t
        self._qdd[:] = qdd if self.law.law.accelerates else 0.0
        if self.law.function is None:
            self.given[1 : 1 + self.states] = x[: self.states]
        else:
            y = self._seen(x, self._u, w)
            self.given[1 : 1 + m] = self.law.called(self._step, t, y)
            self.given[1 + m : 1 + self.states] = y[: self.states - m]
        if self.noises:
            self._noise[:] = self.drawn(1)[0]
        found = self.law.kernel.one(self._known)
        self._z[:] = found[m:]
        if not np.isfinite(found).all():
            bad = int(np.argmin(np.isfinite(found)))
            raise FlexarmError(self.law.refusal(t, bad, found[bad]))
        if self.law.function:
            self._u = found[:m].copy()
        return found[:m]

    @property
    def memory_now(self) -> Array:
        """Current memory z, (memory,)."""
        return self._z

    def report(self) -> dict[str, Any]:
        """Return the controller's report about the run."""
        return report_of(self._step) if self.law.function else {}

    def drawn(self, count: int) -> Array:
        """Return noise for so many samples, (count, noises)."""
        return self._sigma * self._rng.standard_normal((count, self.noises))

    @property
    def dice(self) -> Any:
        """State of the random number generator, which can be restored."""
        return self._rng.bit_generator.state

    @dice.setter
    def dice(self, state: Any) -> None:
        self._rng.bit_generator.state = state


@final
class Held:
    """Outputs of a sampled law in one run, stored only at the times of the result, since there may be far more samples.

    Attributes
    ----------
    given : (times, m + recorded)
        Outputs up to the time `next`; NaN from there on.
    u : (m + recorded,)
        Current output, followed by the recorded signals, the last numbers of the law's memory.
    late : float
        As in `Called`.
    """

    def __init__(self, law: Called, model: Model, times: Array, recorded: int):
        self.law, self._model, self._times, self.late, self.recorded = law, model, times, law.late, recorded
        self.given = np.full((len(times), len(model.inputs) + recorded), np.nan)
        self.u = self.given[0].copy()
        self.next = 0
        self.feeling: Feeling | None = None

    def begin(self, plan: Plan) -> None:
        """Prepare for the first sample."""
        self.feeling = Feeling(plan, self._model) if self.law.feels else None

    def sample(self, t: float, x: Array) -> Array:
        """Return u from t on."""
        self._hold(t - self.late)
        felt = () if self.feeling is None else (self.feeling(t, x), self.feeling.w)
        u = self.law(t, x, *felt)
        self.u[:] = np.concatenate([u, self.law.memory_now[len(self.law.memory_now) - self.recorded :]])
        return u

    def at(self, times: Array) -> Array:
        """Return outputs and recorded signals at some of the times, ascending."""
        self._hold(times[-1] + self.late)
        first = int(np.searchsorted(self._times, times[0]))
        return self.given[first : first + len(times)]

    def _hold(self, until: float) -> None:
        """Store the last u for every earlier time of the result."""
        while self.next < len(self._times) and self._times[self.next] < until:
            self.given[self.next] = self.u
            self.next += 1


@final
class Ahead:
    """A compiled law and a solver in one run, as far as both work without Python."""

    def __init__(self, held: Held, plan: Plan, solver: Advance, times: Array, x: Array):
        self._held, self._plan, self._solver, self._times, self._x = held, plan, solver, times, x

    def __call__(self, edges: Array, x: Array) -> tuple[int, Array, int, int]:
        """Return how many of the intervals between the edges were completed from the state x.

        Return also the state after them, the number of times at which the state is known, and the number of steps.
        """
        held, law, times = self._held, self._held.law, self._times
        if edges[0] == 0.0:
            self._plan.feed(*nothing_to_do())
        count, size, before = len(edges) - 1, len(x), law.dice
        upto = np.searchsorted(times, edges, side="right")
        most = int(np.diff(upto).max()) + 1
        samples = Placed(
            Samples(
                shared=np.array([self._plan.address]),  # type: ignore[arg-type]  # an address is one word
                advance=self._solver.code,
                solver=self._solver.record,
                law=law.code.addresses["evaluate"],
                before=np.array([held.feeling.record.address if held.feeling else 0]),  # type: ignore[arg-type]
                feels=held.feeling is not None,
                states=law.states,
                inputs=len(held.u) - held.recorded,
                memory=law.memory,
                recorded=held.recorded,
                noises=law.noises,
                size=size,
                total=len(times),
                late=held.late,
                given=law.given,
                found=np.empty(len(held.u) - held.recorded + law.memory),
                noise=law.drawn(count),
                edges=edges,
                upto=upto.astype(np.int64),
                times=times,
                held=held.given,
                rows=self._x,
                u=held.u,
                x=x.copy(),
                ends=np.empty(most),
                out=np.empty((most, size)),
                reached=np.zeros(2, dtype=np.int64),
                next=held.next,
                steps=0,
            )
        )
        done = CALL(CODE().addresses["sampled"])(samples.address, count)
        held.next = samples.next
        if done < count:  # Python repeats the sample that failed
            law.dice = before
            law.drawn(done)
        return done, samples.x, int(upto[done]), samples.steps


def feedback(controller: Any, model: Model) -> Block:
    """Return the input of a run for a sampled or a continuous controller."""
    if isinstance(controller, Sampled):
        return controller.feedback(model)
    return continuous(controller, model)


def like(drive: Block, seed: int) -> Block:
    """Return a sampled law with another seed of its noise."""
    return replace(drive, seed=seed) if isinstance(drive, SampledFeedback) else drive
