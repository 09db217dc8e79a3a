"""Readings of sensors, as a part of a control law."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from flexarm.arrays import Array
from flexarm.attitude import local
from flexarm.checks import Fault, checked_number, refused, shown, unknown_name
from flexarm.control.gains import motion
from flexarm.errors import DescriptionError
from flexarm.model import Model
from flexarm.model.local import configured, moved_by_joints
from flexarm.simulation.law import Column
from flexarm.trajectory import Reference


@final
@dataclass(frozen=True, eq=False)
class Readings:
    """Readings of an arm's sensors, in local coordinates, see `attitude.local`.

    Attributes
    ----------
    names : (p,)
        Names of the signals.
    noise : standard deviations of the signals that have noise
    noisy : (p, noises)
        Matrix that assigns noises to signals.
    resolution : (p,)
    late : (p,) of bool
        True for each signal that depends on accelerations, and so on the inputs.
    """

    model: Model
    sensors: tuple[Any, ...]
    names: tuple[str, ...]
    noise: tuple[float, ...]
    noisy: Array
    resolution: Array
    late: Array

    @classmethod
    def of(cls, where: str, sensors: Sequence[Any], model: Model, period: float | None) -> "Readings":
        """Return the readings of sensors, which must have the controller's period; raises `DescriptionError`."""
        names = model.output_names(sensors)
        said: dict[str, list[float]] = {"noise": [], "resolution": []}
        for each in sensors:
            time = getattr(each, "sample_time", None)  # a user's sensor may lack a sample time
            if time is not None and (period is None or not abs(time - period) <= 1e-9 * period):
                must = (
                    "use Sampled(...) with this period"
                    if period is None
                    else f"it must be the controller's period of {period:g} s"
                )
                raise DescriptionError(f"{where}: {type(each).__name__} samples every {time:g} s; {must}")
            for name, values in said.items():
                values += [float(getattr(each, name, 0.0))] * len(each.names(model.arm))
        noise, resolution = (np.array(values) * (period is not None) for values in said.values())
        noisy = np.eye(len(names))[:, noise > 0]
        late = _accelerates(model, sensors)
        if period is None and late.any() and (model.states or model.exogenous):
            signal = names[int(np.argmax(late))]
            why = "states of the drives" if model.states else "exogenous inputs"
            message = f"{signal} measures acceleration, which depends on {why}"
            raise DescriptionError(
                f"{where}: arm {model.arm.name!r}: {message} that the controller does not know; use Sampled(...)"
            )
        return cls(model, tuple(sensors), names, tuple(noise[noise > 0].tolist()), noisy, resolution, late)

    def of_motion(self, q: Column, qd: Column, qdd: Column) -> Column:
        """Readings without noise, (p,)."""
        return self.model.with_numbers(self.model.output_function(self.sensors))(configured(self.model.arm, q), qd, qdd)

    def of_state(self, q: Column, qd: Column, u: Column) -> Column:
        """Readings without noise if the arm gets u, (p,)."""
        x = configured(self.model.arm, q)
        return self.of_motion(q, qd, self.model.fixed("forward_dynamics")(x, qd, u))

    def read(self, y: Column, noise: Column | None) -> Column:
        """Readings with noise and rounding."""
        import casadi as ca

        if noise is not None:
            y = y + ca.DM(self.noisy) @ noise
        steps = zip(ca.vertsplit(y), self.resolution.tolist(), strict=True)
        return ca.vertcat(*(step * ca.floor(each / step + 0.5) if step else each for each, step in steps))


def _accelerates(model: Model, sensors: Sequence[Any]) -> Array:
    """True for each signal that depends on qdd, (p,)."""
    import casadi as ca

    q, qd, qdd = (ca.SX.sym(name, size) for name, size in (("q", model.nq), ("qd", model.nv), ("qdd", model.nv)))
    y = model.with_numbers(model.output_function(sensors))(q, qd, qdd)
    return np.array(ca.which_depends(y, qdd, 1, True), dtype=bool)


def wanted_readings(
    where: str, readings: Readings, reference: Reference | None, wanted: Any
) -> Callable[[Any], Column] | None:
    """Return the wanted readings (p,) as a function of the symbolic time t, or None if nothing determines them.

    Along a reference they are the readings on the undeformed arm: joints and motors at the reference, all else at rest.
    `wanted` has numbers by name of a signal, which replace these. Raises `DescriptionError` for unknown names, and for
    signals without a wanted reading.
    """
    names, arm, own = readings.names, readings.model.arm, dict[str, float]()
    with refused(where):
        if wanted is not None:
            if not isinstance(wanted, Mapping):
                raise Fault("wanted", f"is {shown(wanted)}; it must be a dict of numbers by signal name")
            for name, value in wanted.items():
                if name not in names:
                    raise Fault(
                        "wanted", unknown_name("has the unknown name", name, names, "signals of the sensors are")
                    )
                own[name] = checked_number(value, part=f"wanted[{name!r}]")
    if reference is None and not own:
        return None
    missing = [name for name in names if name not in own]
    if reference is None and missing:
        must = "give its value too, or a reference"
        raise DescriptionError(f"{where}: wanted has no value for signal {missing[0]}; {must}")
    T, rest = moved_by_joints(arm), local(arm, np.array(arm.rest))
    rest[T.any(axis=1)] = 0.0

    def at(t: Any) -> Column:
        import casadi as ca

        along: list[Any] = [0.0] * len(names)
        if reference is not None:
            r, rd, rdd = (T @ each for each in motion(reference, t))
            along = ca.vertsplit(readings.of_motion(rest + r, rd, rdd))
        return ca.vertcat(*(own.get(name, value) for name, value in zip(names, along, strict=True)))

    return at
