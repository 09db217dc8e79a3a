"""Sensor outputs of a model, without sampling."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from flexarm.arrays import Array
from flexarm.cached import cached_property
from flexarm.checks import refused
from flexarm.errors import DescriptionError
from flexarm.model import Model, ModelLike, Sensor, as_model
from flexarm.model.evaluation import Evaluation
from flexarm.sensors.joints import Encoder, JointTorque, OfMotor, Tachometer
from flexarm.sensors.links import CableTension, ContactForce, StrainGauge, TipDeflection
from flexarm.sensors.sections import Clearance, Gyroscope, StarTracker, TipPosition, TipVelocity

if TYPE_CHECKING:
    import casadi as ca


OF_THE_STATE = (
    *(CableTension, Clearance, ContactForce, Encoder, Gyroscope, JointTorque, StarTracker, StrainGauge, Tachometer),
    *(TipDeflection, TipPosition, TipVelocity),
)
"""Kinds of sensors that do not depend on qdd."""


@final
@dataclass(frozen=True, eq=False)
class Outputs:
    """Sensor outputs y(q, qd, u) of a model, without sampling."""

    model: Model
    sensors: tuple[Any, ...]
    names: tuple[str, ...]
    units: tuple[str, ...]

    def values(self, q: Array, qd: Array, u: Array | None = None, p: Any = None, s: Any = None, w: Any = None) -> Array:
        """Evaluate y by native code, one number for each signal; axes before the last are many states, as everywhere.

        u is required if an acceleration or a motor is measured, and optional otherwise. p are parameters of a model
        with variable parameters. s and w are states of drives and exogenous inputs, by default zero. Raises
        `DescriptionError` if arguments do not fit the arm.
        """
        if u is None and self.driven:
            what = "an acceleration" if self.accelerates else "a motor"
            raise DescriptionError(f"outputs: u is missing; {what} is measured")
        if self.motors:
            seen = self.model.evaluate("motors", q, qd, u, p=p, s=s, w=w)
            found = [
                seen[..., each.input(self.model.arm), each.column][..., None]
                if isinstance(each, OfMotor)
                else outputs(self.model, [each]).values(q, qd, u, p, s, w)
                for each in self.sensors
            ]
            return np.concatenate(found, axis=-1)
        if self.accelerates:
            qdd = self.model.evaluate("forward_dynamics", q, qd, u, p=p, s=s, w=w)
        else:
            qdd = np.zeros(self.model.nv)
        return self._evaluation((q, qd, qdd), None if p is None else self.model.parameter_values(p))

    @cached_property
    def _evaluation(self) -> Evaluation:
        kernel = self.model.output_kernel(self.sensors)
        return self.model.evaluation("outputs", kernel, ("q", "qd", "qdd"), (len(self.names),))

    @property
    def driven(self) -> bool:
        """True if an output may depend on u, and on s and w if the arm has them."""
        return self.accelerates or self.motors

    @property
    def accelerates(self) -> bool:
        """True if some sensor may depend on qdd, as a sensor from outside this package may."""
        return not all(isinstance(each, (*OF_THE_STATE, OfMotor)) for each in self.sensors)

    @property
    def motors(self) -> bool:
        """True if some sensor measures a motor."""
        return any(isinstance(each, OfMotor) for each in self.sensors)

    @cached_property
    def function(self) -> "ca.Function":
        """The CasADi Function y(q, qd, u), for optimisation and export; states of drives and exogenous inputs are zero.

        Raises `DescriptionError` if a motor is measured.
        """
        import casadi as ca

        y = self.model.with_numbers(self.model.output_function(self.sensors))
        names, n = ["q", "qd", "u"], self.model.nv
        x = [ca.SX.sym(a, size) for a, size in zip(names, (self.model.nq, n, len(self.model.inputs)), strict=True)]
        qdd = self.model.fixed("forward_dynamics")(*x) if self.accelerates else ca.DM.zeros(n)
        return ca.Function("outputs", x, [ca.densify(ca.cse(y(x[0], x[1], qdd)))], names, ["y"])


def outputs(model: ModelLike, sensors: Sequence[Sensor]) -> Outputs:
    """Return the outputs of sensors on a model; raises `DescriptionError` if a sensor does not fit the arm."""
    with refused("outputs"):
        model = as_model(model)
    names = model.output_names(sensors)
    units = [unit for each in sensors for unit in (each.units(model.arm) if hasattr(each, "units") else [""])]
    return Outputs(model, tuple(sensors), names, tuple(units))
