"""Inverse dynamics of the rigid arm."""

import json
from dataclasses import dataclass
from typing import Any, final

from flexarm.control.gains import actuated, demanded, gain, rigid_arm
from flexarm.mechanics.spatial import Vector
from flexarm.model import Model
from flexarm.simulation.feedback import Law
from flexarm.trajectory import Reference, jumps_of


@final
@dataclass(frozen=True)
class ComputedTorque:
    """u = M(y) (rdd + Kd (rd - yd) + Kp (r - y)) + the rigid arm's other forces: y is what the actuators' encoders see.

    On a rigid arm the error obeys e'' + Kd e' + Kp e = 0. Of a flexible one it is the slow part of composite control
    (Subudhi & Morris eq. 69), and vibrations are left alone.

    Parameters
    ----------
    reference : Reference
        Of all joints.
    Kp, Kd : float, (m,) or (m, m)
        [1/s^2], [1/s].
    """

    reference: Reference
    Kp: Any
    Kd: Any

    def law(self, model: Model, period: float | None = None) -> Law:
        """The law for a model."""
        m = len(model.inputs)
        Kp, Kd = gain("ComputedTorque: Kp", self.Kp, m), gain("ComputedTorque: Kd", self.Kd, m)
        inverse = rigid_arm(model).function("inverse_dynamics")

        def expression(t: Any, q: Vector, qd: Vector, z: Vector, noise: Vector) -> tuple[Vector, Vector]:
            import casadi as ca

            y, yd = actuated(model, q), actuated(model, qd)
            v = demanded(self.reference, t, y, yd, Kp, Kd)
            return ca.vertsplit(inverse(*(ca.vertcat(*x) for x in (y, yd, v)))), []

        key = json.dumps(["ComputedTorque", self.reference.described(), Kp.tolist(), Kd.tolist()])
        return Law(expression, key, jumps=jumps_of(self.reference))
