"""Computed torque: inverse dynamics of the rigid arm."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

from numpy.typing import ArrayLike

from flexarm.arrays import Array
from flexarm.brief import brief
from flexarm.control.gains import (
    actuated,
    actuators,
    damped,
    demanded,
    followed,
    of_all,
    rigid_arm,
    rigid_loops,
    torques,
)
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

    With closures, the motors must determine the position of the rigid arm. As many of them as it has free motions obey
    the equation, and all torques together have the least sum of squares. The joints without a motor are measured, too.

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
        Kp, Kd = damped("ComputedTorque", self.Kp, self.Kd, m)
        reference, B_T = followed("ComputedTorque", self.reference, model), actuated(model)
        inverse = _inverse(model, B_T)

        def expression(t: Any, q: Column, qd: Column, z: Column) -> tuple[Column, Any]:
            v = demanded(reference, t, B_T @ q, B_T @ qd, Kp, Kd)
            return of_all(model, inverse(q, qd, v)), []

        return Law(expression, jumps=jumps_of(reference), reference=reference)


def _inverse(model: Model, B_T: Array) -> Callable[[Column, Column, Column], Column]:
    """Return the torques of the rigid arm as a function of the complete q and qd, and of the joints' accelerations."""
    if model.arm.closures:
        driven = rigid_loops("ComputedTorque", model)

        def in_loops(q: Column, qd: Column, v: Column) -> Column:
            start, rates = (driven.placed(model, x, B_T @ x) for x in (q, qd))
            return driven.forces(*driven.closed(start, rates), v)

        return in_loops
    inverse = joint_forces(rigid_arm("ComputedTorque", model))

    def with_base(q: Column, qd: Column, v: Column) -> Column:
        if not model.arm.free:
            return inverse(B_T @ q, B_T @ qd, v)
        import casadi as ca

        pose = configured(model.arm, q)[: BASE + 1]
        return inverse(ca.vertcat(pose, B_T @ q), ca.vertcat(qd[:BASE], B_T @ qd), v)

    return with_base
