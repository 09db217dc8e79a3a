"""Sampled controllers that are Python: called once a period with the state, or with what sensors have read."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, final

import numpy as np

from flexarm.checks import refused
from flexarm.errors import DescriptionError
from flexarm.model import Model
from flexarm.sensors import outputs
from flexarm.simulation.law import is_linear_system, what_it_is
from flexarm.simulation.layout import Layout
from flexarm.trajectory import Reference
from flexarm.trajectory.reference import checked_reference

Array = np.ndarray
Step = Callable[[float, Array], Any]
"""From t and what is seen, y, to u (m,)."""

LATE = 1e-9
"""Of a period: a sensor whose time comes so little later is read."""


class Stepped(Protocol):
    """A controller that is Python, as `Sampled` takes it.

    One that follows a motion of the joints may say so by a further attribute `wanted`, a Reference: the run begins on
    it, and it is shown beside the result.
    """

    @property
    def sensors(self) -> Sequence[Any] | None:
        """What y is: one number a signal, in the order of the sensors' signals, as `fa.outputs(model, sensors).names`
        has them; None for the state, q and qd laid end to end."""

    def stepper(self, model: Model, period: float) -> Step:
        """A function of t and y that gives u (m,), made anew for each run: it may remember what it likes."""


@final
@dataclass(frozen=True)
class OfState:
    """A function of t, q and qd."""

    function: Callable[..., Any]
    sensors: None = None

    def stepper(self, model: Model, period: float) -> Step:
        """The function, given the parts of the state."""

        def step(t: float, y: Array) -> Any:
            return self.function(t, y[: model.nq], y[model.nq :])

        return step


@final
@dataclass(frozen=True)
class OfReadings:
    """A function of t and of what sensors read."""

    function: Callable[..., Any]
    sensors: Sequence[Any]

    def stepper(self, model: Model, period: float) -> Step:
        """The function."""
        return self.function


def stepped(controller: Any, sensors: Any) -> Stepped | None:
    """The controller of a `Sampled` where it is Python; None of a law.

    Raises `DescriptionError` where it is neither, and where sensors are given to what does not take them.
    """
    where = f"Sampled: controller is {what_it_is(controller)}"
    if not isinstance(controller, type):
        if hasattr(controller, "stepper"):
            if sensors is not None:
                raise DescriptionError(f"{where}, which has sensors of its own; leave out those of Sampled")
            return _checked(where, controller)
        if hasattr(controller, "law"):
            if sensors is not None:
                must = "Observed(controller, sensors) estimates it from sensors"
                raise DescriptionError(f"{where}, whose law sees the state; {must}")
            return None
        if callable(controller) and not is_linear_system(controller):
            if sensors is None:
                return OfState(controller)
            _takes(controller, (0.0, np.zeros(1)), "t, y, as it is called where there are sensors")
            return OfReadings(controller, sensors)
    must = "it must be a controller or a function of t, q, qd"
    if is_linear_system(controller):
        must = "control.Linear(system, sensors=[...]) makes it a controller"
    raise DescriptionError(f"{where}; {must}")


def _checked(where: str, controller: Any) -> Stepped:
    """An object with a method `stepper`, once it has been seen that it has what else is asked."""
    must = "it must have a method stepper(model, period), and sensors, a list or None"
    if not callable(controller.stepper) or not hasattr(controller, "sensors"):
        raise DescriptionError(f"{where}; {must}")
    if getattr(controller, "wanted", None) is not None:
        with refused(f"{where}, whose wanted"):
            checked_reference(controller.wanted)
    return controller  # type: ignore[no-any-return]


def _takes(function: Any, given: tuple[Any, ...], what: str) -> None:
    try:
        inspect.signature(function).bind(*given)
    except TypeError:
        name = getattr(function, "__name__", type(function).__name__)
        raise DescriptionError(f"Sampled: controller {name} does not take {what}") from None
    except ValueError:  # a built-in function that does not tell
        return


@final
class Seen:
    """What a controller sees in one run, sample by sample.

    Attributes
    ----------
    model : Model
        The one that runs, which is measured; a controller may have been designed for another.
    """

    def __init__(self, sensors: Sequence[Any] | None, model: Model, period: float, rng: np.random.Generator):
        self.model, self._layout, self._rng, self._sensors = model, Layout.of(model), rng, sensors
        if sensors is None:
            return
        self._outputs = outputs(model, sensors)
        each = [(one, len(one.names(model.arm))) for one in sensors]
        self._noise, self._resolution = (
            np.repeat([float(_said(one, name) or 0.0) for one, _ in each], [count for _, count in each])
            for name in ("noise", "resolution")
        )
        self._every = np.repeat([_every(one, period) for one, _ in each], [count for _, count in each])
        self._y, self._count = np.zeros(len(self._every)), 0
        self._all, self._driven = bool((self._every == 1).all()), self._outputs.driven
        self._noisy, self._rounded = np.flatnonzero(self._noise), np.flatnonzero(self._resolution)

    def __call__(self, x: Array, u: Array) -> Array:
        """y at a sample, where the run's state is x and u is what has been held up to now; an array of its own.

        A sensor whose time has not come gives what it read last.
        """
        layout = self._layout
        q, qd = x[layout.q], x[layout.qd]
        if self._sensors is None:
            return np.concatenate([q, qd])
        given = {"u": u} | ({"s": x[layout.s]} if self.model.states else {}) if self._driven else {}
        y = np.array(self._outputs.values(q, qd, **given))
        if len(self._noisy):
            y[self._noisy] += self._noise[self._noisy] * self._rng.standard_normal(len(self._noisy))
        if len(self._rounded):
            step = self._resolution[self._rounded]
            y[self._rounded] = step * np.floor(y[self._rounded] / step + 0.5)
        if not self._all:
            y = np.where(self._count % self._every == 0, y, self._y)
        self._y, self._count = y, self._count + 1
        return y.copy()


def check_seen(sensors: Sequence[Any] | None, model: Model, period: float) -> None:
    """Refuse sensors that do not fit the arm, or the period."""
    if sensors is None:
        return
    found = outputs(model, sensors)
    for each in sensors:
        _every(each, period)
    if found.driven and model.exogenous:
        what = f"its sensors see what acts from outside, {model.exogenous[0]} for one"
        raise DescriptionError(f"Sampled: {what}, which a controller does not know; leave out accelerometers")


def _every(sensor: Any, period: float) -> int:
    """How many samples of the controller there are to a reading."""
    time = _said(sensor, "sample_time")
    if time is None:
        return 1
    count = time / period
    if not (count > 0.5 and abs(count - round(count)) <= LATE * count):
        must = f"it must be a whole number of the controller's periods of {period:g} s"
        raise DescriptionError(f"Sampled: {type(sensor).__name__} samples every {time:g} s; {must}")
    return round(count)


def _said(sensor: Any, name: str) -> float | None:
    """How it samples; one of the user's need not say that, and is read exactly at every sample."""
    return getattr(sensor, name, None)


def reference_of(controller: Stepped) -> Reference | None:
    """The motion that it says it follows."""
    return getattr(controller, "wanted", None)
