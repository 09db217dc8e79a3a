"""A controller on the estimates of a nonlinear filter, in native code if the controller of the state is."""

import ctypes  # noqa: TID251  (calls code that this package compiled)
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self, final

import casadi as ca
import numpy as np

from flexarm.arrays import Array
from flexarm.control.gains import inner_law
from flexarm.errors import DescriptionError, FlexarmError
from flexarm.model import Model
from flexarm.native.code import Address
from flexarm.native.functions import translated
from flexarm.native.language import Floats, Placed, call
from flexarm.native.once import Once
from flexarm.simulation.advance import is_finite
from flexarm.simulation.feedback import initial, kernel
from flexarm.simulation.law import After, Column, Law, parted, what_it_is
from flexarm.simulation.stepped import NativeStep, Signals, Step, in_python, report_of, stepped
from flexarm.simulation.steps import copied
from flexarm.trajectory import Reference

NAN = float("nan")


class Filter(Protocol):
    """A filter that runs beside an arm; see `estimation.running.Running`."""

    names: tuple[str, ...]
    local_names: tuple[str, ...]
    signals: tuple[str, ...]

    @property
    def reporting(self) -> tuple[Address, Address]:
        """Machine code `void sample(record, y, u, moves, to)` of a sample, and the address of its record."""


@final
@dataclass(frozen=True)
class Estimated:
    """A controller of the complete state with a filter, in the form that `Sampled` calls from Python.

    Attributes
    ----------
    sensors : list of sensors
    estimator : EKF, UKF or MovingHorizon
    model : Model
        Model that controller and filter assume.
    controller : Law, or an object with `stepper`, such as Predictive
    start : (q, qd)
        Initial guess of the state.
    signals : tuple of Signals
        Signals that a result can record.
    """

    sensors: Sequence[Any]
    estimator: Any
    model: Model
    controller: Any
    start: tuple[Array, Array]
    signals: tuple[Signals, ...]

    @classmethod
    def of(cls, controller: Any, sensors: Any, estimator: Any, configuration: Any, model: Model, period: float) -> Self:
        """Return the controller for a model. Raises `DescriptionError` if a part does not fit."""
        if isinstance(estimator, type) or not callable(getattr(estimator, "begin", None)):
            raise DescriptionError(
                f"Observed: estimator is {what_it_is(estimator)}; it must be an EKF, a UKF or a MovingHorizon of "
                "flexarm.estimation"
            )
        inner = in_python(controller, model, period)
        if hasattr(inner, "stepper") and not isinstance(inner, type):
            function = stepped(inner, None)
            if function is None or function.sensors is not None:
                raise DescriptionError(
                    f"Observed: the controller is {what_it_is(controller)}, which has sensors of its own; leave them "
                    "out, or leave out Observed"
                )
            wanted, own = function.wanted, tuple(function.shows(model))
        else:
            inner = inner_law("Observed", controller, model, period)
            wanted, own = inner.reference, ()
            if inner.noise or inner.drives or inner.accelerates:
                what = "readings with noise" if inner.noise else "currents" if inner.drives else "accelerations"
                raise DescriptionError(
                    f"Observed: the controller takes {what} of its own, which Observed with an estimator does not "
                    "support; use a controller of the state"
                )
        for each in sensors if isinstance(sensors, list | tuple) else ():
            if getattr(each, "sample_time", None) not in (None, period):
                raise DescriptionError(
                    f"Observed: {type(each).__name__} samples every {each.sample_time:g} s and the controller every "
                    f"{period:g} s; give both the same period"
                )
        q, qd = inner.start(model) if hasattr(inner, "start") else initial(model, wanted)
        start = (q if configuration is None else configuration, qd)
        running = estimator.begin(model, sensors, period, *start)
        unit = "as q, qd and the unknowns"
        signals = (
            Signals("estimate", running.names, unit),
            Signals("deviation", running.local_names, unit),
            Signals("innovation", running.signals, "as the sensors'"),
            Signals("nis", ("nis",), "1"),
        )
        return cls(sensors, estimator, model, inner, start, (*signals, *own))

    def delayed(self, delay: float) -> Self:
        """Return the controller with this delay [s], if its controller of the state takes one."""
        inner = self.controller
        return replace(self, controller=inner.delayed(delay)) if hasattr(inner, "delayed") else self

    @property
    def wanted(self) -> Reference | None:
        """Motion of the joints that the controller follows, if any."""
        inner = self.controller
        return inner.reference if isinstance(inner, Law) else stepped(inner, None).wanted  # type: ignore[union-attr]

    def shows(self, model: Model) -> tuple[Signals, ...]:
        """Return the signals that a result can record."""
        return self.signals

    def stepper(self, model: Model, period: float) -> "Steps":
        """Return the controller of a run: a function of t and of the readings that returns u (m,)."""
        inner = self.controller
        step = None if isinstance(inner, Law) else inner.stepper(self.model, period)
        native = law_of_state(inner, self.model) if step is None else getattr(step, "native", None)
        running = self.estimator.begin(self.model, self.sensors, period, *self.start)
        return Steps(running, step, native, self.model, tuple(len(each.labels) for each in self.signals))


@dataclass
class OnEstimates:
    """A filter and a controller of the state on its estimates, sample by sample.

    Attributes
    ----------
    filter, running : addresses
        Machine code of the filter's sample, and its record, see `Filter.reporting`.
    step, stepping : addresses
        Machine code of the controller, and its record, see `NativeStep`. `step` is 0 if Python calls the controller.
    inputs, estimates, signals : int
        Length of u, of the estimate, and of everything that the filter shows.
    t, samples : float, int
        Time of the last sample, and number of samples.
    u : (inputs + exogenous inputs,)
        Inputs since the last sample. Exogenous ones are zero.
    shown : (signals,)
    """

    filter: int
    running: int
    step: int
    stepping: int
    inputs: int
    estimates: int
    signals: int
    t: float
    samples: int
    u: Floats
    shown: Floats


@final
class Steps:
    """The controller of one run.

    Parameters
    ----------
    running : Filter
    step : Step or None
        The controller of the state, unless it is a law. It may have the members `applied`, `shown` and `report`; see
        `Stepped`.
    native : NativeStep or None
        Machine code of the controller of the state. Without it, Python calls `step`.
    model : Model
    widths : tuple of int
        Lengths of the signals, as of `Estimated.shows`. The first four are those of the filter.

    Attributes
    ----------
    shown : (signals,)
        Signals of the last sample, in the order of `Estimated.shows`.
    native : NativeStep or None
        Machine code of a complete sample.
    """

    def __init__(
        self, running: Filter, step: Step | None, native: NativeStep | None, model: Model, widths: tuple[int, ...]
    ):
        m, self._step, self._size = len(model.inputs), step, model.nq + model.nv
        self._u, self._applied, self.shown = np.zeros(m), np.zeros(m), np.zeros(sum(widths))
        code, record = running.reporting
        self._record = Placed(
            OnEstimates(
                filter=code,
                running=record,
                step=native.code if native else 0,
                stepping=native.record if native else 0,
                inputs=m,
                estimates=widths[0],
                signals=sum(widths[:4]),
                t=np.nan,
                samples=0,
                u=np.zeros(m + len(model.exogenous)),
                shown=np.zeros(sum(widths[:4])),
            )
        )
        address, held = CODE().addresses["on_estimates"], (running, native, self._record, CODE())
        self._made = NativeStep(address, self._record.address, held)
        self.native = self._made if native else None
        self._call = STEP(address)

    def applied(self, u: Array) -> None:
        """Take the u (m,) that reached the arm since the last sample, after limits and delay."""
        self._applied[:] = u
        if self._record.samples and hasattr(self._step, "applied"):
            self._step.applied(u)  # type: ignore[union-attr]

    def __call__(self, t: float, y: Array) -> Array:
        """Return u (m,)."""
        y = np.ascontiguousarray(y, dtype=float)
        places = (x.ctypes.data for x in (y, self._applied, self._u, self.shown))
        self._call(self._record.address, t, *places)
        estimate = self.shown[: self._record.estimates]
        if not np.isfinite(estimate).all():
            raise FlexarmError(
                f"Observed at t = {t:.6g} s: the estimate diverges; check the deviations of the unknowns, or sample "
                "faster"
            )
        if self._step is None or (self.native and np.isfinite(self._u).all()):
            return self._u.copy()
        u: Array = self._step(t, estimate[: self._size].copy())
        self.shown[self._record.signals :] = getattr(self._step, "shown", ())
        return u

    def report(self) -> dict[str, Any]:
        """Return the report of the controller of the state."""
        return {} if self._step is None else report_of(self._step)


@dataclass
class LawOfState:
    """A law of the state, sample by sample.

    Attributes
    ----------
    law : address
        The kernel (t, q, qd, z, applied, constants) -> (u, next z, applied). The next memory z depends on the u that
        reached the arm.
    inputs, size, memory : int
        Lengths of u, of the state (q, qd), and of z.
    t, samples : float, int
        Time of the last sample, and number of samples.
    given, found
        Arguments of the kernel, and its values.
    """

    law: int
    inputs: int
    size: int
    memory: int
    t: float
    samples: int
    given: Floats
    found: Floats


def law_of_state(law: Law, model: Model) -> NativeStep:
    """Return the machine code of a law of the state for one run."""
    m, size, memory = len(model.inputs), model.nq + model.nv, len(law.memory)

    def expression(t: Any, q: Column, qd: Column, z: Column) -> tuple[Column, After]:
        own, applied = parted(z, memory)
        u, after = law(t, q, qd, own)
        return u, lambda _: ca.vertcat(after(applied), applied)

    # a further argument is the u that reached the arm, on which the next memory depends
    made = kernel(replace(law, expression=expression, memory=(*law.memory, *[0.0] * m)), model)
    given = np.concatenate([np.zeros(1 + size), law.memory, np.zeros(m), made.constants])
    found = np.zeros(m + memory + m)
    record = Placed(LawOfState(made.code.addresses["evaluate"], m, size, memory, np.nan, 0, given, found))
    return NativeStep(CODE().addresses["on_state"], record.address, (record, made, CODE()))


# -- translated functions ----------------------------------------------------------------------------------------------


def on_estimates(s: OnEstimates, t: float, y: Floats, applied: Floats, u: Floats, shown: Floats) -> None:
    """Process a sample of the filter, and call the controller of the state unless the estimate diverges."""
    if t != s.t:
        copied(applied, s.u, s.inputs)
        call(s.filter, s.running, y, s.u, 1 if s.samples > 0 else 0, s.shown)
        s.samples += 1
        s.t = t
    copied(s.shown, shown, s.signals)
    if is_finite(s.shown, s.estimates) == 0:
        for i in range(s.inputs):
            u[i] = NAN
    elif s.step != 0:
        call(s.step, s.stepping, t, s.shown, applied, u, shown[s.signals :])


def on_state(s: LawOfState, t: float, x: Floats, applied: Floats, u: Floats, shown: Floats) -> None:
    """Find the memory after the last sample, and the law's u in this one."""
    z = s.given[1 + s.size :]
    if t != s.t:
        copied(applied, z[s.memory :], s.inputs)
        if s.samples > 0 and s.memory > 0:
            call(s.law, s.given, s.found)
            copied(s.found[s.inputs :], z, s.memory)
        s.samples += 1
        s.t = t
    s.given[0] = t
    copied(x, s.given[1:], s.size)
    call(s.law, s.given, s.found)
    copied(s.found, u, s.inputs)


CODE = Once(lambda: translated(on_estimates, on_state))
STEP = ctypes.PYFUNCTYPE(None, ctypes.c_void_p, ctypes.c_double, *[ctypes.c_void_p] * 4)
"""Type of `on_estimates`. A short call keeps the interpreter's lock."""
