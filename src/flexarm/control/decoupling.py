"""Nonlinear decoupling of the driven coordinates from the flexible ones."""

import json
from dataclasses import dataclass
from typing import Any, final

from flexarm.control.gains import actuated, demanded, gain
from flexarm.mechanics.spatial import Vector
from flexarm.model import Model
from flexarm.simulation.feedback import Law, check_drives
from flexarm.trajectory import Reference, jumps_of


@final
@dataclass(frozen=True)
class Decoupling:
    """The forces with which each driven coordinate obeys e'' + Kd e' + Kp e = 0, whatever the flexible ones do.

    Those that give it the acceleration rdd + Kd (rd - qd) + Kp (r - q) while the flexible coordinates move as they
    must (Theodore & Ghosal eqs. 35, 36). All coordinates and rates must be known. The flexible ones then move as on
    joints that are driven along the reference (eq. 39): nothing damps them but their own damping. With an elastic joint
    what is driven is the motor.

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
        """The law for a model; raises `DescriptionError` where an actuator moves a sum of coordinates."""
        m = len(model.inputs)
        Kp, Kd = gain("Decoupling: Kp", self.Kp, m), gain("Decoupling: Kd", self.Kd, m)
        check_drives(model, "Decoupling: ", "it must move a joint alone")
        force = model.function("prescribed_force")

        def expression(t: Any, q: Vector, qd: Vector, z: Vector, noise: Vector) -> tuple[Vector, Vector]:
            import casadi as ca

            v = demanded(self.reference, t, actuated(model, q), actuated(model, qd), Kp, Kd)
            return ca.vertsplit(force(*(ca.vertcat(*x) for x in (q, qd, v)))), []

        key = json.dumps(["Decoupling", self.reference.described(), Kp.tolist(), Kd.tolist()])
        return Law(expression, key, jumps=jumps_of(self.reference))
