"""Sampled controllers in Python: called once per period with the state, or with the readings of sensors."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from flexarm.arrays import Array
from flexarm.checks import refused, takes
from flexarm.errors import DescriptionError
from flexarm.model import Model
from flexarm.native.code import Address
from flexarm.native.language import Floats, Placed, call
from flexarm.sensors import outputs
from flexarm.simulation.law import is_linear_system, what_it_is
from flexarm.simulation.layout import Layout
from flexarm.simulation.steps import copied
from flexarm.trajectory import Reference
from flexarm.trajectory.reference import checked_reference

Step = Callable[[float, Array], Any]
"""A function from t and the measurements y to u (m,)."""

EXACT = 2.0**52
"""Size from which on each double is a whole number."""

LATE = 1e-9
"""Share of a period by which a sensor's sampling time may follow a sample that reads it."""


@final
@dataclass(frozen=True)
class Signals:
    """Numbers that a controller shows at each sample, for a result to record: their name, labels and unit."""

    name: str
    labels: tuple[str, ...]
    unit: str


@final
@dataclass(frozen=True)
class Stepped:
    """A controller in Python, from a function or from an object that `Sampled` takes.

    An object has `sensors` and `stepper`, as described below. Further members are optional:

    - `wanted`, a Reference, is the motion of the joints that the controller follows. The run begins on this motion, and
      the result contains it.
    - `delayed(delay)` returns the controller for the delay [s] of `Sampled`, for a controller that compensates it.
    - `shows(model)` returns `Signals` that a result can record. The function that a stepper returns then has an array
      `shown` with all of their numbers.
    - `applied(u)`, a method of the function that a stepper returns, takes the u that reached the arm since the last
      sample, before each call.
    - `native`, a property of the function that a stepper returns, is its `NativeStep`. A run then calls it without
      Python, unless a sensor measures a motor or has a `sample_time` of its own.
    - `report()`, a method of the function that a stepper returns, is a dict for the result's attributes after a run.

    Attributes
    ----------
    sensors : sequence of sensors or None
        Sensors whose signals form y, in the order of `fa.outputs(model, sensors).names`. None means the state: q
        followed by qd.
    stepper : (model, period) -> Step
        Returns a function of t and y that returns u (m,). Each run gets a new function, which may have memory.
    wanted : Reference or None
    shows : function of a model that returns a tuple of Signals
    """

    sensors: Sequence[Any] | None
    stepper: Callable[[Model, float], Step]
    wanted: Reference | None = None
    shows: Callable[[Model], Sequence[Signals]] = lambda model: ()


@final
@dataclass(frozen=True)
class NativeStep:
    """A sample of a controller in machine code, `void code(record, t, y, applied, u, shown)`.

    y are its measurements, and `applied` is the u (m,) that reached the arm since the last sample. The code writes u
    and the numbers that the controller shows. A call at the time of the last one repeats that sample. If there is no u,
    it is NaN, and the function in Python reports the reason.

    Attributes
    ----------
    code, record : addresses
    held : object
        Objects that must stay alive as long as the code may be called.
    """

    code: Address
    record: Address
    held: Any


def in_python(controller: Any, model: Model, period: float) -> Any:
    """Return the controller that is called from Python in place of one with a method `in_python`, or itself."""
    made = getattr(controller, "in_python", None)
    return controller if made is None else made(model, period) or controller


def stepped(controller: Any, sensors: Any, delay: float | None = None) -> Stepped | None:
    """Return the controller of a `Sampled`, for its delay if one is given; or None for a law.

    Raises `DescriptionError` for any other object, and if the controller does not take sensors but has some.
    """
    where = f"Sampled: controller is {what_it_is(controller)}"
    if not isinstance(controller, type):
        if hasattr(controller, "stepper"):
            if sensors is not None:
                raise DescriptionError(f"{where}, which has its own sensors; leave out the sensors of Sampled")
            _check(where, controller)
            if delay is not None and hasattr(controller, "delayed"):
                controller = controller.delayed(delay)
            shows = getattr(controller, "shows", lambda model: ())
            return Stepped(controller.sensors, controller.stepper, getattr(controller, "wanted", None), shows)
        if hasattr(controller, "law"):
            if sensors is not None:
                must = "use Observed(controller, sensors) to estimate the state"
                raise DescriptionError(f"{where}, which needs the state; {must}")
            return None
        if callable(controller) and not is_linear_system(controller):
            if sensors is None:
                return Stepped(None, lambda model, period: _of_state(controller, model.nq))
            _takes(controller, (0.0, np.zeros(1)), "the arguments t, y of a controller with sensors")
            return Stepped(sensors, lambda model, period: controller)
    must = "it must be a controller or a function of t, q, qd"
    if is_linear_system(controller):
        must = "use control.Linear(system, sensors=[...])"
    raise DescriptionError(f"{where}; {must}")


def _of_state(function: Callable[..., Any], nq: int) -> Step:
    """Return a function of t, q and qd as one of t and the state."""
    return lambda t, y: function(t, y[:nq], y[nq:])


def _check(where: str, controller: Any) -> None:
    """Raise `DescriptionError` for an object whose members do not fit."""
    must = "it must have a method stepper(model, period), and sensors, a list or None"
    if not callable(controller.stepper) or not hasattr(controller, "sensors"):
        raise DescriptionError(f"{where}; {must}")
    if getattr(controller, "wanted", None) is not None:
        with refused(f"{where}, whose wanted"):
            checked_reference(controller.wanted)


def _takes(function: Any, given: tuple[Any, ...], what: str) -> None:
    if not takes(function, *given):
        name = getattr(function, "__name__", type(function).__name__)
        raise DescriptionError(f"Sampled: controller {name} does not take {what}")


@final
class Seen:
    """Measurements of a controller in one run, sample by sample.

    Attributes
    ----------
    model : Model
        The model of the run, which is measured. The controller may have been designed for another.
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

    @property
    def accelerates(self) -> bool:
        """True if an acceleration is measured."""
        return self._sensors is not None and self._outputs.accelerates

    @property
    def translates(self) -> bool:
        """True if native code can measure, see `read`."""
        return self._sensors is None or (self._all and not self._outputs.motors)

    def placed(self, count: int) -> Placed:
        """Return the record of native code for so many samples, with their noise."""
        moving = self.model.nq + self.model.nv
        if self._sensors is None:
            none = np.zeros(0)
            return Placed(Readings(0, moving, 0, none, none, moving, 0, none, np.zeros(moving)))
        kernel = self.model.output_kernel(self._sensors)
        given = np.concatenate(kernel.parts(np.zeros(moving + self.model.nv)))
        size = len(self._y)
        return Placed(
            Readings(
                output=kernel.code.addresses["evaluate"],
                moving=moving,
                accelerations=self.model.nv * self.accelerates,
                given=given,
                resolution=self._resolution,
                size=size,
                shown=size,
                noise=self.drawn(count),
                y=np.zeros(size),
            )
        )

    def drawn(self, count: int) -> Array:
        """Return noise for so many samples, (count, signals)."""
        if self._sensors is None:
            return np.zeros((count, 0))
        noise = np.zeros((count, len(self._noise)))
        noise[:, self._noisy] = self._noise[self._noisy] * self._rng.standard_normal((count, len(self._noisy)))
        return noise

    def observe(self, model: Model) -> None:
        """Measure a model of the same arm from now on, if its parameters have changed."""
        if self._sensors is not None and not np.array_equal(model.p, self.model.p):
            self.model, self._outputs = model, outputs(model, self._sensors)

    @property
    def driven(self) -> bool:
        """True if the measurements may depend on external loads."""
        return self._sensors is not None and self._driven and bool(self.model.exogenous)

    def __call__(self, x: Array, u: Array, w: Array | None = None) -> Array:
        """Return y at a sample with the state x, the previous u and external loads w, as a new array.

        A sensor whose sampling time has not come gives its last reading.
        """
        layout = self._layout
        q, qd = x[layout.q], x[layout.qd]
        if self._sensors is None:
            return np.concatenate([q, qd])
        given = {"u": u} | ({"s": x[layout.s]} if self.model.states else {}) if self._driven else {}
        given |= {} if w is None or not self.driven else {"w": w}
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


@dataclass
class Readings:
    """Measurements of a controller at consecutive samples, with the data that native code needs for them.

    Attributes
    ----------
    output : address
        The kernel (q, qd, qdd, constants) -> y, or 0 if the state (q, qd) is measured.
    moving, accelerations : int
        Length of (q, qd), and that of qdd if accelerations are measured, else 0.
    given : (arguments of the kernel,)
    resolution : (size,)
        Resolutions, or 0.
    size, shown : int
        Length of y, and the number of them that a result can record.
    noise : (samples, size)
    y : (size,)
    """

    output: int
    moving: int
    accelerations: int
    given: Floats
    resolution: Floats
    size: int
    shown: int
    noise: Floats
    y: Floats


def read(s: Readings, sample: int, x: Floats) -> None:
    """Measure y at a state x, whose accelerations are in `given`, as `Seen` does. The code is translated."""
    if s.output == 0:
        copied(x, s.y, s.moving)
    else:
        copied(x, s.given, s.moving)
        call(s.output, s.given, s.y)
        for i in range(s.size):
            s.y[i] += s.noise[sample * s.size + i]
            if s.resolution[i] > 0.0:
                s.y[i] = s.resolution[i] * floor(s.y[i] / s.resolution[i] + 0.5)


def floor(x: float) -> float:
    """Return the largest whole number that is not larger; x itself if it is not finite."""
    if not abs(x) < EXACT:
        return x
    whole = float(int(x))
    return whole - 1.0 if whole > x else whole


def check_seen(sensors: Sequence[Any] | None, model: Model, period: float) -> None:
    """Raise an error for sensors that do not fit the arm or the period."""
    if sensors is None:
        return
    outputs(model, sensors)
    for each in sensors:
        _every(each, period)


def _every(sensor: Any, period: float) -> int:
    """Return the number of the controller's samples per reading."""
    time = _said(sensor, "sample_time")
    if time is None:
        return 1
    count = time / period
    if not (count > 0.5 and abs(count - round(count)) <= LATE * count):
        must = f"it must be a whole number of the controller's periods of {period:g} s"
        raise DescriptionError(f"Sampled: {type(sensor).__name__} samples every {time:g} s; {must}")
    return round(count)


def _said(sensor: Any, name: str) -> float | None:
    """Return a property of a sensor, or None. A user's sensor may lack it and is then read exactly at every sample."""
    return getattr(sensor, name, None)


def report_of(step: Step) -> dict[str, Any]:
    """Return the report of the function after a run."""
    return dict(step.report()) if hasattr(step, "report") else {}
