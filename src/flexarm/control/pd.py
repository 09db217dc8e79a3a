"""Proportional and derivative control of the joints."""

import json
from dataclasses import dataclass
from typing import Any, final

from flexarm.control.gains import actuated, gain, motion, rigid_arm, times
from flexarm.mechanics.spatial import Vector
from flexarm.model import Model
from flexarm.simulation.feedback import Law
from flexarm.trajectory import Reference, jumps_of


@final
@dataclass(frozen=True)
class JointPD:
    """u = Kp (r - y) + Kd (rd - yd), and the torque that carries the rigid arm: y is what the actuators' encoders see.

    With elastic joints y is a motor's angle, so the loop is collocated: passive, and stable for any positive gains.

    Parameters
    ----------
    reference : Reference
        Of all joints.
    Kp, Kd : float, (m,) or (m, m)
        [N m/rad], [N m s/rad].
    gravity : bool
        Whether to add the rigid arm's gravity torque at y.
    """

    reference: Reference
    Kp: Any
    Kd: Any
    gravity: bool = True

    def law(self, model: Model, period: float | None = None) -> Law:
        """The law for a model."""
        m = len(model.inputs)
        Kp, Kd = gain("JointPD: Kp", self.Kp, m), gain("JointPD: Kd", self.Kd, m)
        carried = rigid_arm(model).function("gravity_force") if self.gravity and any(model.arm.gravity) else None

        def expression(t: Any, q: Vector, qd: Vector, z: Vector, noise: Vector) -> tuple[Vector, Vector]:
            import casadi as ca

            y, yd = actuated(model, q), actuated(model, qd)
            r, rd, _ = motion(self.reference, t, m)
            e = [a - b for a, b in zip(r, y, strict=True)]
            ed = [a - b for a, b in zip(rd, yd, strict=True)]
            u = [a + b for a, b in zip(times(Kp, e), times(Kd, ed), strict=True)]
            if carried is not None:
                u = [a + b for a, b in zip(u, ca.vertsplit(carried(ca.vertcat(*y))), strict=True)]
            return u, []

        key = json.dumps(["JointPD", self.reference.described(), Kp.tolist(), Kd.tolist(), carried is not None])
        return Law(expression, key, jumps=jumps_of(self.reference))
