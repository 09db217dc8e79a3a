"""Sampled loops: a law, or a Python function, that is called once a period.

Its output is held until the next sample, after delay, saturation and rate limit.
"""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Self, final

import numpy as np
from numpy.typing import ArrayLike

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
from flexarm.errors import DescriptionError, FlexarmError
from flexarm.model import Model
from flexarm.native.lifted import LiftedKernel
from flexarm.simulation.advance import Advance
from flexarm.simulation.feedback import check_model, check_width, continuous, initial, kernel, named, recording
from flexarm.simulation.law import Actuators, Column, Law, law_of, parted, what_it_is
from flexarm.simulation.layout import Layout
from flexarm.simulation.protocol import InLanes, Input, Recorded
from flexarm.simulation.rhs import Plan, loops
from flexarm.simulation.samples import Ahead, Feeling
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
"""Periods in a run: with a law that takes ten microseconds, three hours of calls."""


@final
@dataclass(frozen=True)
class Sampled:
    """A controller that is called once a period; between two calls its output is held.

    Parameters
    ----------
    controller : Controller, or a Python function of t, q, qd that gives u (m,), or of t, y where there are sensors
        Or an object with `stepper(model, period)`, which gives such a function of t, y for each run, and `sensors`.
    period : float
        [s]
    delay, limit, rate_limit
        See `Actuators`.
    seed : int
        Of the sensors' noise.
    sensors : list of sensors, optional
        What a Python function is given as y: what they read at the sample, with their noise and resolution, one number
        a signal in the order of `fa.outputs(model, sensors).names`. One with a `sample_time`, a whole number of
        periods, gives what it read last. Accelerometers and motors are read just before u changes.
    method : str, optional
        How a continuous `control.Linear` becomes discrete: "tustin", "zoh", "euler" or "backward_diff".
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
        """The controller, made discrete as it is asked for here."""
        if self.method is None:
            return self.controller
        if not hasattr(self.controller, "discretised"):
            must = "method is for a control.Linear, or a control.Sum with one in it; leave it out"
            raise DescriptionError(f"Sampled: controller is {what_it_is(self.controller)}; {must}")
        return self.controller.discretised(self.method)

    def feedback(self, model: Model) -> "SampledFeedback":
        """The input that a run needs."""
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
                """What stands behind Python has the command in the place of q, and in that of qd what was read."""
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
        if "poles" not in inner.facts:  # what is designed on the arm has looked at its own modes
            _warn_of_aliasing(model, period)
        name, seed = named(self.controller), int(self.seed)
        return SampledFeedback(law, model, name, period, function, seed, inner.reference, self)


def _warn_of_aliasing(model: Model, period: float) -> None:
    """Warn where a sampled controller sees the arm's fastest mode as another."""
    rest = np.array(model.arm.rest)
    omega = model.derived("the fastest mode", lambda: model.frequencies(rest, locked=False).max(initial=0.0))
    if omega * period > np.pi:
        half = f"half that of the fastest mode, {np.pi / omega:.2g} s ({omega:.4g} rad/s)"
        warnings.warn(f"Sampled: period is {period:g} s, longer than {half}; it is seen as another", stacklevel=4)


@final
@dataclass
class SampledFeedback(Input):
    """A sampled law as an input of runs: called once a period, its output held until the next."""

    law: Law
    model: Model
    name: str
    period: float = field()
    function: Stepped | None = None
    """Python's, in place of the law's u; the law is then what lies behind it."""
    seed: int = 0
    reference: Reference | None = None
    controller: Any = None
    """What the law was designed by, if it was; the law itself is functions, which no other process has."""
    held: "Held | None" = None
    """What the arm got in one run; only `begun` has it."""
    records: tuple[Recorded, ...] = ()  # type: ignore[assignment]
    """What is kept of the law beside: its last memory."""

    def __reduce_ex__(self, protocol: Any) -> Any:
        if self.controller is None:
            return super().__reduce_ex__(protocol)
        return feedback, (self.controller, self.model)  # designed anew; what it holds is of a run here

    def __copy__(self) -> Self:
        return replace(self)

    def __deepcopy__(self, _: Any) -> Self:
        return replace(self)

    @property
    def wanted(self) -> Reference | None:  # type: ignore[override]
        """The controller's reference."""
        return self.reference

    def initial(self, model: Model) -> tuple[Array, Array]:
        """At rest, on the reference if there is one."""
        return initial(model, self.reference)

    def recording(self, names: tuple[str, ...], model: Model) -> Self:
        """The law with what it shows as further memory, which nothing reads but the result."""
        law, records = recording(self.law, model, names, self.behind)
        return replace(self, law=law, records=records)

    def recorded(self, t: Array, parts: Mapping[str, Array]) -> Array:
        """What was kept at the last sample."""
        assert self.held is not None
        return self.held.at(t)[:, len(self.model.inputs) :]

    def begun(self, model: Model, times: Array) -> Self:
        """The same law with what it will hold in this run."""
        check_model(self.name, self.model, model)
        count = self._count(float(times[-1]))
        if not count <= MOST_SAMPLES:
            message = f"a run of {times[-1]:g} s has {count:.3g} of them; at most {MOST_SAMPLES:.0e} are possible"
            raise DescriptionError(f"Sampled: period is {self.period:g} s; {message}")
        recorded = sum(len(each.signals) for each in self.records)
        begun = replace(self, held=Held(self.started(model), model, times, recorded))
        begun.kernel = self.kernel  # traced once
        return begun

    def corners(self, until: float) -> Iterable[float]:
        """The samples, and the end."""
        return chain((self.period * k for k in range(max(1, int(self._count(until))))), [until])

    def _count(self, until: float) -> float:
        """Of the samples; infinite where there is no such number."""
        return np.ceil(until / self.period - 1e-9)

    def feed(self, plan: Plan, model: Model, t: float, x: Array) -> None:
        """Call the law and hold what it gives; called in order of time from the beginning."""
        assert self.held is not None
        if t == 0.0:
            plan.feed(loops().addresses["nothing"])
            self.held.begin(plan)
        plan.u[:] = self.held.sample(t, x)

    def values(self, model: Model, t: Array, q: Array, qd: Array, z: Array) -> Array:
        """What was held; NaN where the law was never called."""
        assert self.held is not None
        return self.held.at(t)[:, : len(self.model.inputs)]

    @property
    def behind(self) -> tuple[int, ...]:
        """How many numbers stand behind Python: of u, and of what its sensors have read."""
        if self.function is None:
            return ()
        sensors = self.function.sensors
        return len(self.model.inputs), 0 if sensors is None else len(self.model.output_names(sensors))

    @cached_property
    def kernel(self) -> LiftedKernel:
        """(t, q, qd, s, z, noise, qdd) -> (u, next z); behind Python its u stands for q, and there is no s."""
        if self.function:
            return kernel(self.law, self.model, self.name, behind=self.behind)
        return kernel(self.law, self.model, self.name, len(self.model.states))

    def started(self, model: Model | None = None) -> "Called":
        """The law at the beginning of a run, of that model if it is another than its own, as with other parameters."""
        return Called(self, self.model if model is None else model)

    def ahead(self, plan: Plan, solver: Advance, times: Array, x: Array) -> Ahead | None:
        """From sample to sample, where the law is compiled."""
        assert self.held is not None
        if self.function:
            return None
        self.held.begin(plan)
        return Ahead(self.held, plan, solver, times, x)

    def in_lanes(self, model: Model) -> InLanes | None:
        """The law, called for all lanes at each sample; not where it is Python, or feels accelerations."""
        if self.function or self.law.accelerates:
            return None
        return InLanes(self.kernel.vector_code, self.kernel.constants, of_time=False)

    def refusal(self, t: float, bad: int, value: float) -> str:
        """What to say where a number of what the law gives is none."""
        m = len(self.model.inputs)
        what = f"for {self.model.inputs[bad]}" if bad < m else "in its memory"
        return f"controller {self.name} gave {value} {what} at t = {t:.6g} s"

    def called(self, step: Step, t: float, y: Array) -> Array:
        """What the Python function gives, (m,)."""
        m = len(self.model.inputs)
        try:
            given = step(t, y)
        except DescriptionError as error:  # of what it asked for, not of the run
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
        """What a controller in Python says."""
        return self.held.law.report() if self.held else {}

    def described(self) -> str:
        """Its name and period."""
        return f"{self.name}, sampled every {self.period:g} s"


@final
class Called:
    """A sampled law in one run: u from t and the state (q, qd, s), called in order of time from the beginning.

    Attributes
    ----------
    given : (1 + nq + nv + states of drives + memory + noises + accelerations + constants,)
        What the kernel is given: t, q, qd, the drives' states s, the memory z, which lives on, noise, qdd where the law
        measures it, and the law's constants; behind a Python function its u stands in the place of q, and there is no
        s.
    states, memory, noises : int
    late : float
        A sample may come so much after a time of the result, and count from there on [s].
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
        self.code = law.kernel.code  # what does not fit is refused before the run
        if law.function:
            self._u = np.zeros(self._m)
            self._seen = Seen(law.function.sensors, model, law.period, self._rng)
            self._step = law.function.stepper(law.model, law.period)

    @property
    def feels(self) -> bool:
        """Whether accelerations just before a sample are measured, or what depends on what acts from outside."""
        return self.law.law.accelerates or (self.law.function is not None and self._seen.driven)

    def __call__(self, t: float, x: Array, qdd: Array | None = None, w: Array | None = None) -> Array:
        """u (m,); where the law `feels`, of accelerations and what acts from outside just before."""
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
        """z, (memory,)."""
        return self._z

    def report(self) -> dict[str, Any]:
        """What the controller says of the run."""
        return report_of(self._step) if self.law.function else {}

    def drawn(self, count: int) -> Array:
        """Noise for so many samples, (count, noises)."""
        return self._sigma * self._rng.standard_normal((count, self.noises))

    @property
    def dice(self) -> Any:
        """The state of the noise, to go back to."""
        return self._rng.bit_generator.state

    @dice.setter
    def dice(self, state: Any) -> None:
        self._rng.bit_generator.state = state


@final
class Held:
    """What a sampled law gave in one run, kept at the times of the result alone: there may be far more samples.

    Attributes
    ----------
    given : (times, m + recorded)
        Up to the time `next`; NaN from there on.
    u : (m + recorded,)
        Held now; behind u what is recorded, the last numbers of the law's memory.
    late : float
        As that of `Called`.
    """

    def __init__(self, law: Called, model: Model, times: Array, recorded: int):
        self.law, self._model, self._times, self.late, self.recorded = law, model, times, law.late, recorded
        self.given = np.full((len(times), len(model.inputs) + recorded), np.nan)
        self.u = self.given[0].copy()
        self.next = 0
        self.feeling: Feeling | None = None

    def begin(self, plan: Plan) -> None:
        """Before the first sample."""
        self.feeling = Feeling(plan, self._model) if self.law.feels else None

    def sample(self, t: float, x: Array) -> Array:
        """u from t on."""
        self._hold(t - self.late)
        felt = () if self.feeling is None else (self.feeling(t, x), self.feeling.w)
        u = self.law(t, x, *felt)
        self.u[:] = np.concatenate([u, self.law.memory_now[len(self.law.memory_now) - self.recorded :]])
        return u

    def at(self, times: Array) -> Array:
        """What was held, and recorded, at some of the times, ascending."""
        self._hold(times[-1] + self.late)
        first = int(np.searchsorted(self._times, times[0]))
        return self.given[first : first + len(times)]

    def _hold(self, until: float) -> None:
        """The last u at every time before."""
        while self.next < len(self._times) and self._times[self.next] < until:
            self.given[self.next] = self.u
            self.next += 1


def feedback(controller: Any, model: Model) -> Input:
    """The input that a run needs: of a sampled controller, or of one that works all the time."""
    if isinstance(controller, Sampled):
        return controller.feedback(model)
    return continuous(controller, model)


def like(drive: Input, seed: int) -> Input:
    """A sampled law with another seed of its noise."""
    return replace(drive, seed=seed) if isinstance(drive, SampledFeedback) else drive
