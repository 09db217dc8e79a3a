"""A controller on the estimates of a nonlinear filter, called once per period from Python."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self, final

import casadi as ca
import numpy as np

from flexarm.arrays import Array
from flexarm.control.gains import inner_law
from flexarm.errors import DescriptionError, FlexarmError
from flexarm.model import Model
from flexarm.simulation.feedback import initial, kernel
from flexarm.simulation.law import After, Column, Law, parted, what_it_is
from flexarm.simulation.stepped import Signals, Step, in_python, report_of, stepped
from flexarm.trajectory import Reference


class Filter(Protocol):
    """A filter that runs beside an arm; see `estimation.running.Running`."""

    names: tuple[str, ...]
    local_names: tuple[str, ...]
    signals: tuple[str, ...]

    def sample(self, y: Array, u: Array, moves: bool) -> None:
        """Move by a period under a constant u (m,), if `moves`, and correct by the readings y (p,)."""

    @property
    def estimate(self) -> Array:
        """Estimate of the state and of the unknowns, (k,)."""

    @property
    def deviation(self) -> Array:
        """Standard deviations of the estimate in local coordinates, (n,)."""

    @property
    def innovation(self) -> Array:
        """Last readings minus the expected ones, (p,)."""

    @property
    def nis(self) -> float:
        """Normalized square of the last innovation."""


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
                    f"Observed: the controller {what_it_is(controller)} has sensors of its own; leave them out, or "
                    "leave out Observed"
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
        step = _Compiled(inner, self.model) if isinstance(inner, Law) else inner.stepper(self.model, period)
        shown = sum(len(each.labels) for each in self.signals)
        return Steps(self.estimator.begin(self.model, self.sensors, period, *self.start), step, self.model, shown)


@final
class Steps:
    """The controller of one run.

    Parameters
    ----------
    running : Filter
    step : Step
        The controller of the state. It may have the members `applied`, `shown` and `report`; see `Stepped`.
    model : Model
    shown : int
        Number of signals.

    Attributes
    ----------
    shown : (signals,)
        Signals of the last sample, in the order of `Estimated.shows`.
    """

    def __init__(self, running: Filter, step: Step, model: Model, shown: int):
        self._running, self._step, self._size = running, step, model.nq + model.nv
        self._u = np.zeros(len(model.inputs))
        self._samples = 0
        self.shown = np.zeros(shown)

    def applied(self, u: Array) -> None:
        """Take the u (m,) that reached the arm since the last sample, after limits and delay."""
        self._u[:] = u
        if self._samples and hasattr(self._step, "applied"):
            self._step.applied(u)

    def __call__(self, t: float, y: Array) -> Array:
        """Return u (m,)."""
        running = self._running
        running.sample(y, self._u, self._samples > 0)
        self._samples += 1
        found = running.estimate
        if not np.isfinite(found).all():
            raise FlexarmError(
                f"Observed at t = {t:.6g} s: the estimate diverges; check the deviations of the unknowns, or sample "
                "faster"
            )
        u: Array = self._step(t, found[: self._size])
        own = getattr(self._step, "shown", ())
        self.shown[:] = [*found, *running.deviation, *running.innovation, running.nis, *own]
        return u

    def report(self) -> dict[str, Any]:
        """Return the report of the controller of the state."""
        return report_of(self._step)


@final
class _Compiled:
    """A law of the state, sample by sample."""

    def __init__(self, law: Law, model: Model):
        m, self._size = len(model.inputs), model.nq + model.nv

        def expression(t: Any, q: Column, qd: Column, z: Column) -> tuple[Column, After]:
            own, applied = parted(z, len(law.memory))
            u, after = law(t, q, qd, own)
            return u, lambda _: ca.vertcat(after(applied), applied)

        # a further argument is the u that reached the arm, on which the next memory depends
        self._law = kernel(replace(law, expression=expression, memory=(*law.memory, *[0.0] * m)), model)
        self._x = np.zeros(1 + self._size + len(law.memory) + m)
        self._z = self._x[1 + self._size : len(self._x) - m]
        self._z[:] = law.memory
        self._applied = self._x[len(self._x) - m :]

    def applied(self, u: Array) -> None:
        """Take the u (m,) that reached the arm since the last sample, and find the next memory."""
        self._applied[:] = u
        if len(self._z):
            m = len(self._applied)
            self._z[:] = self._law.one(self._x)[m : m + len(self._z)]

    def __call__(self, t: float, x: Array) -> Array:
        """Return u (m,)."""
        self._x[0], self._x[1 : 1 + self._size] = t, x
        return self._law.one(self._x)[: len(self._applied)]
