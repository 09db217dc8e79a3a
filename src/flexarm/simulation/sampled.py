"""Sampled loops: a law, or a Python function, that is called once per period.

Its output is constant until the next sample, after delay, saturation and rate limit.
"""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Any, Self, final

import numpy as np
from numpy.typing import ArrayLike

from flexarm.arrays import Array
from flexarm.brief import brief
from flexarm.cached import cached_property
from flexarm.checks import (
    NOT_NEGATIVE,
    POSITIVE,
    checked_instance,
    checked_number,
    checked_whole,
    refused,
)
from flexarm.errors import DescriptionError, SlowSampling
from flexarm.model import Model
from flexarm.native.kernel import Kernel
from flexarm.simulation.advance import Advance
from flexarm.simulation.block import Ahead, Block
from flexarm.simulation.feedback import LawBlock, check_width, continuous, kernel, named, recording
from flexarm.simulation.law import (
    Column,
    Law,
    delayed,
    law_of,
    limits,
    parted,
    passed_through,
    rate_limited,
    saturated,
    what_it_is,
)
from flexarm.simulation.rhs import Plan, Stage, nothing_to_do
from flexarm.simulation.sampled_calls import SampledCalls
from flexarm.simulation.shown import show
from flexarm.simulation.stepped import (
    Stepped,
    check_seen,
    in_python,
    stepped,
)

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
    delay : float
        Time from the sample to its effect, a whole number of periods [s].
    limit : float or (m,)
        Limit of the size of u [N m or N].
    rate_limit : float or (m,)
        Limit of the size of du/dt [N m/s or N/s].
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
        """Return the block of a run."""
        with refused("Sampled"):
            checked_instance(model, Model, "model")
        m, period = len(model.inputs), float(self.period)
        function = stepped(in_python(self.controller, model, period), self.sensors, float(self.delay))
        if function:
            check_seen(function.sensors, model, period)
            seen = () if function.sensors is None else model.output_names(function.sensors)
            signals = function.shows(model)

            def passed(t: Any, u: Column, y: Column, *_: Column) -> tuple[Column, list[Column]]:
                """Return the command of a Python controller.

                The command takes the place of q. Its readings and the signals that it shows take the place of qd.
                """
                if seen:
                    y, more = parted(y, len(seen))
                    show("measured", y, seen, "as the sensors'")
                    for each in signals:
                        x, more = parted(more, len(each.labels))
                        show(each.name, x, each.labels, each.unit)
                return u, []

            inner = Law(passed, reference=function.wanted)
        else:
            inner = law_of("Sampled: controller", self._designed(), model, period)

        def command(u: Column, z: Column) -> tuple[Column, Column]:
            check_width(model, u, named(self.controller))
            show("command", u, model.inputs, "as that of u", once=True)
            return u, z

        law = passed_through(inner, command)
        if self.limit is not None:
            law = saturated(law, limits("limit", self.limit, m))
        if self.rate_limit is not None:
            law = rate_limited(law, limits("rate_limit", self.rate_limit, m), period)
        law = delayed(law, self.delay, period, m)
        if "poles" not in inner.facts:  # a law designed on the arm takes the arm's modes into account
            _warn_of_aliasing(model, period)
        name, seed = named(self.controller), int(self.seed)
        return SampledFeedback(law, model, name, self, period=period, function=function, seed=seed)


def _warn_of_aliasing(model: Model, period: float) -> None:
    """Warn if the sampling period is too long for the arm's fastest mode, which then appears at another frequency."""
    omega = model.derived("the fastest mode", lambda: model.frequencies(locked=False).max(initial=0.0))
    if omega * period > np.pi:
        half = f"half that of the fastest mode, {np.pi / omega:.2g} s ({omega:.4g} rad/s)"
        warnings.warn(
            f"Sampled: period is {period:g} s, longer than {half}; this mode is aliased: sample faster",
            SlowSampling,
            stacklevel=4,
        )


@final
@dataclass(frozen=True)
class SampledFeedback(LawBlock):
    """A law that is called once per period, with a constant output until the next call.

    Recorded signals are the last numbers of the law's memory.
    """

    period: float = field(kw_only=True)  # type: ignore[assignment]
    function: Stepped | None = None
    """Python controller that replaces the law's u. The law then follows the controller."""
    seed: int = 0
    calls: SampledCalls | None = None
    """The law in one run. Only the result of `begun` has it."""

    def __reduce_ex__(self, protocol: Any) -> Any:
        # the controller designs the law again; `calls` belong to a run of this process
        return feedback, (self.controller, self.model)

    def begun(self, model: Model, times: Array) -> Self:
        """Return the block for one run, with the law at its beginning."""
        super().begun(model, times)
        count = self._count(float(times[-1]))
        if not count <= MOST_SAMPLES:
            message = f"a run of {times[-1]:g} s has {count:.3g} periods, and at most {MOST_SAMPLES:.0e} are allowed"
            raise DescriptionError(f"Sampled: period is {self.period:g} s; {message}")
        begun = replace(self, calls=SampledCalls(self, model, times))
        vars(begun)["kernel"] = self.kernel  # avoids a second trace
        return begun

    def corners(self, until: float) -> Iterable[float]:
        """Return the times of the samples, and the end."""
        return chain((self.period * k for k in range(max(1, int(self._count(until))))), [until])

    def _count(self, until: float) -> float:
        """Return the number of samples, which may be infinite."""
        return np.ceil(until / self.period - 1e-9)

    @property
    def behind(self) -> tuple[int, ...]:
        """Lengths of a Python controller's u and of its readings with what it shows, or () for a law."""
        if self.function is None:
            return ()
        sensors = self.function.sensors
        shown = sum(len(each.labels) for each in self.function.shows(self.model))
        return len(self.model.inputs), shown + (0 if sensors is None else len(self.model.output_names(sensors)))

    @cached_property
    def kernel(self) -> Kernel:
        """Compiled law (t, q, qd, s, z, noise, qdd) -> (u, next z).

        After a Python controller, u replaces q and s is absent.
        """
        own = 0 if self.function else len(self.model.states)
        return kernel(self.law, self.model, self.name, own, self.behind)

    @property
    def batched(self) -> bool:  # type: ignore[override]
        """True for a compiled law without measured accelerations, which is called for all lanes at each sample."""
        return not (self.function or self.law.accelerates)

    @property
    def running(self) -> SampledCalls:
        """The law in this run."""
        assert self.calls is not None
        return self.calls

    def stage(self, plan: Plan, u: Array, model: Model, t: float, x: Array) -> Stage:
        """Call the law and hold its output. Calls must be in order of time from the beginning."""
        self.running.observe(model)
        u[:] = self.running.sample(plan, t, x)
        return nothing_to_do()

    def ahead(self, plan: Plan, solver: Advance, times: Array, x: Array) -> Ahead | None:
        """Return native code that goes from sample to sample, if all of a sample is compiled."""
        if not self.running.ahead_of_python:
            return None
        plan.feed(*nothing_to_do())
        return partial(self.running.ahead, plan, solver, x)

    def output(self, model: Model, t: Array, q: Array, qd: Array, z: Array) -> Array:
        """Return the outputs of the law at these times; NaN where the law was not called."""
        return self.running.at(t)[:, : len(self.model.inputs)]

    def recording(self, names: tuple[str, ...], model: Model) -> Self:
        """Return the block with its recorded signals as further memory, which only the result reads."""
        law, records = recording(self.law, model, names, self.behind)
        return replace(self, law=law, records=records)

    def recorded(self, t: Array, parts: Mapping[str, Array]) -> Array:
        """Return the signals that were recorded at the last sample before each time."""
        return self.running.at(t)[:, len(self.model.inputs) :]

    def report(self) -> dict[str, Any]:
        """Return the report of a Python controller."""
        return self.calls.report() if self.calls else {}

    def described(self) -> str:
        """Return a text with the law's name and period."""
        return f"{self.name}, sampled every {self.period:g} s"


def feedback(controller: Any, model: Model) -> Block:
    """Return the block of a run for a sampled or a continuous controller."""
    if isinstance(controller, Sampled):
        return controller.feedback(model)
    return continuous(controller, model)


def like(drive: Block, seed: int) -> Block:
    """Return a sampled law with another seed of its noise."""
    return replace(drive, seed=seed) if isinstance(drive, SampledFeedback) else drive
