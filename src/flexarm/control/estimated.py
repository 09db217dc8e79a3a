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
from flexarm.simulation.stepped import Signals
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
    controller : Law
    start : (q, qd)
        Initial guess of the state.
    signals : tuple of Signals
        Signals that a result can record.
    """

    sensors: Sequence[Any]
    estimator: Any
    model: Model
    controller: Law
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
        law = inner_law("Observed", controller, model, period)
        if law.noise or law.drives or law.accelerates:
            what = "readings with noise" if law.noise else "currents" if law.drives else "accelerations"
            raise DescriptionError(
                f"Observed: the controller takes {what} of its own, which Observed with an estimator does not support; "
                "use a controller of the state"
            )
        for each in sensors if isinstance(sensors, list | tuple) else ():
            if getattr(each, "sample_time", None) not in (None, period):
                raise DescriptionError(
                    f"Observed: {type(each).__name__} samples every {each.sample_time:g} s and the controller every "
                    f"{period:g} s; give both the same period"
                )
        q, qd = initial(model, law.reference)
        start = (q if configuration is None else configuration, qd)
        running = estimator.begin(model, sensors, period, *start)
        unit = "as q, qd and the unknowns"
        signals = (
            Signals("estimate", running.names, unit),
            Signals("deviation", running.local_names, unit),
            Signals("innovation", running.signals, "as the sensors'"),
            Signals("nis", ("nis",), "1"),
        )
        return cls(sensors, estimator, model, law, start, signals)

    @property
    def wanted(self) -> Reference | None:
        """Motion of the joints that the controller follows, if any."""
        return self.controller.reference

    def shows(self, model: Model) -> tuple[Signals, ...]:
        """Return the signals that a result can record."""
        return self.signals

    def stepper(self, model: Model, period: float) -> "Steps":
        """Return the controller of a run: a function of t and of the readings that returns u (m,)."""
        return Steps(self, self.estimator.begin(self.model, self.sensors, period, *self.start))


@final
class Steps:
    """The controller of one run.

    Attributes
    ----------
    shown : (signals,)
        Signals of the last sample, in the order of `Estimated.shows`.
    """

    def __init__(self, design: Estimated, running: Filter):
        law, model = design.controller, design.model
        m, self._size, self._running = len(model.inputs), model.nq + model.nv, running

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
        self._samples = 0
        self.shown = np.zeros(len(running.names) + len(running.local_names) + len(running.signals) + 1)

    def applied(self, u: Array) -> None:
        """Take the u (m,) that reached the arm since the last sample, after limits and delay."""
        self._applied[:] = u

    def __call__(self, t: float, y: Array) -> Array:
        """Return u (m,)."""
        running, m = self._running, len(self._applied)
        if self._samples and len(self._z):
            self._z[:] = self._law.one(self._x)[m : m + len(self._z)]
        running.sample(y, self._applied, self._samples > 0)
        self._samples += 1
        found = running.estimate
        if not np.isfinite(found).all():
            raise FlexarmError(
                f"Observed at t = {t:.6g} s: the estimate diverges; check the deviations of the unknowns, or sample "
                "faster"
            )
        self._x[0], self._x[1 : 1 + self._size] = t, found[: self._size]
        self.shown[:] = [*found, *running.deviation, *running.innovation, running.nis]
        return self._law.one(self._x)[:m]
