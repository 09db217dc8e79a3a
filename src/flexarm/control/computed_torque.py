"""Computed torque: inverse dynamics of the rigid arm."""

from dataclasses import dataclass
from typing import Any, final

from numpy.typing import ArrayLike

from flexarm.brief import brief
from flexarm.control.gains import actuated, actuators, demanded, followed, gain, of_all, rigid_arm, torques
from flexarm.description.closures import refuse_closures
from flexarm.model import Model
from flexarm.model.adrift import BASE, joint_forces
from flexarm.model.local import configured
from flexarm.simulation.law import Column, Law
from flexarm.trajectory import Reference, jumps_of


@final
@brief
@dataclass(frozen=True)
class ComputedTorque:
    """Computed torque: u = M(y) (rdd + Kd (rd - yd) + Kp (r - y)) + the other forces of the rigid arm.

    The actuators' encoders measure y. On a rigid arm the error obeys e'' + Kd e' + Kp e = 0. On a flexible arm the
    controller is the slow part of composite control (Subudhi & Morris eq. 69), and does not damp vibrations.

    On a free base M is the generalised inertia M_qq - M_qb M_bb^-1 M_bq, where b are the base's six rates. The base
    moves freely, its rates are measured, and the error obeys the same equation. Thrusters are off.

    Parameters
    ----------
    reference : Reference, float or (m,)
        Reference of all joints, or their constant target positions.
    Kp, Kd : float, (m,) or (m, m)
        [1/s^2], [1/s].
    """

    reference: Reference | ArrayLike
    Kp: ArrayLike
    Kd: ArrayLike

    def law(self, model: Model, period: float | None = None) -> Law:
        """Return the control law for a model."""
        m = actuators("ComputedTorque", model, period)
        torques("ComputedTorque", model)
        Kp, Kd = gain("ComputedTorque: Kp", self.Kp, m), gain("ComputedTorque: Kd", self.Kd, m)
        reference, B_T = followed("ComputedTorque", self.reference, model), actuated(model)
        refuse_closures(model, "ComputedTorque")
        inverse = joint_forces(rigid_arm("ComputedTorque", model))

        def expression(t: Any, q: Column, qd: Column, z: Column) -> tuple[Column, Any]:
            y, yd = B_T @ q, B_T @ qd
            v = demanded(reference, t, y, yd, Kp, Kd)
            return of_all(model, inverse(*_with_base(model, q, qd, y, yd), v)), []

        return Law(expression, jumps=jumps_of(reference), reference=reference)


def _with_base(model: Model, q: Column, qd: Column, y: Column, yd: Column) -> tuple[Column, Column]:
    """Coordinates and rates of the rigid arm: those of a free base, and those that the encoders measure."""
    if not model.arm.free:
        return y, yd
    import casadi as ca

    return ca.vertcat(configured(model.arm, q)[: BASE + 1], y), ca.vertcat(qd[:BASE], yd)
