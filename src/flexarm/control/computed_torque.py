"""Inverse dynamics of the rigid arm."""

from dataclasses import dataclass
from typing import Any, final

from numpy.typing import ArrayLike

from flexarm.control.gains import actuated, actuators, demanded, followed, gain, of_all, rigid_arm, torques
from flexarm.model import Model
from flexarm.model.adrift import BASE, joint_forces
from flexarm.model.local import configured
from flexarm.simulation.law import Column, Law
from flexarm.trajectory import Reference, jumps_of


@final
@dataclass(frozen=True)
class ComputedTorque:
    """u = M(y) (rdd + Kd (rd - yd) + Kp (r - y)) + the rigid arm's other forces: y is what the actuators' encoders see.

    On a rigid arm the error obeys e'' + Kd e' + Kp e = 0. Of a flexible one it is the slow part of composite control
    (Subudhi & Morris eq. 69), and vibrations are left alone.

    On a free base M is the generalised inertia M_qq - M_qb M_bb^-1 M_bq, b the base's six rates: the base moves as it
    must, its rates are measured, and the error obeys the same equation. Thrusters are off.

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
        torques("ComputedTorque", model)
        Kp, Kd = gain("ComputedTorque: Kp", self.Kp, m), gain("ComputedTorque: Kd", self.Kd, m)
        reference, B_T = followed("ComputedTorque", self.reference, model), actuated(model)
        inverse = joint_forces(rigid_arm(model))

        def expression(t: Any, q: Column, qd: Column, z: Column) -> tuple[Column, Any]:
            y, yd = B_T @ q, B_T @ qd
            v = demanded(reference, t, y, yd, Kp, Kd)
            return of_all(model, inverse(*_with_base(model, q, qd, y, yd), v)), []

        return Law(expression, jumps=jumps_of(reference), reference=reference)


def _with_base(model: Model, q: Column, qd: Column, y: Column, yd: Column) -> tuple[Column, Column]:
    """Coordinates and rates of the rigid arm: a free base's own, and what the encoders see."""
    if not model.arm.free:
        return y, yd
    import casadi as ca

    return ca.vertcat(configured(model.arm, q)[: BASE + 1], y), ca.vertcat(qd[:BASE], yd)
