"""Inverse dynamics of the rigid arm."""

from dataclasses import dataclass
from typing import Any, final

from numpy.typing import ArrayLike

from flexarm.control.gains import actuated, actuators, demanded, followed, gain, rigid_arm
from flexarm.model import Model
from flexarm.simulation.law import Column, Law
from flexarm.trajectory import Reference, jumps_of


@final
@dataclass(frozen=True)
class ComputedTorque:
    """u = M(y) (rdd + Kd (rd - yd) + Kp (r - y)) + the rigid arm's other forces: y is what the actuators' encoders see.

    On a rigid arm the error obeys e'' + Kd e' + Kp e = 0. Of a flexible one it is the slow part of composite control
    (Subudhi & Morris eq. 69), and vibrations are left alone.

    Parameters
    ----------
    reference : Reference, float or (m,)
        Of all joints; numbers are where they shall stand.
    Kp, Kd : float, (m,) or (m, m)
        [1/s^2], [1/s].
    """

    reference: Reference | ArrayLike
    Kp: ArrayLike
    Kd: ArrayLike

    def law(self, model: Model, period: float | None = None) -> Law:
        """The law for a model."""
        m = actuators("ComputedTorque", model, period)
        Kp, Kd = gain("ComputedTorque: Kp", self.Kp, m), gain("ComputedTorque: Kd", self.Kd, m)
        reference, B_T = followed("ComputedTorque", self.reference, model), actuated(model)
        inverse = rigid_arm(model).function("inverse_dynamics")

        def expression(t: Any, q: Column, qd: Column, z: Column) -> tuple[Column, Any]:
            y, yd = B_T @ q, B_T @ qd
            return inverse(y, yd, demanded(reference, t, y, yd, Kp, Kd)), []

        return Law(expression, jumps=jumps_of(reference), reference=reference)
