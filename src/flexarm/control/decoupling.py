"""Nonlinear decoupling of the actuated coordinates from the flexible ones."""

from dataclasses import dataclass
from typing import Any, final

from numpy.typing import ArrayLike

from flexarm.brief import brief
from flexarm.control.gains import actuated, actuators, damped, demanded, followed, of_all, torques
from flexarm.model import Model, closures
from flexarm.model.local import configured
from flexarm.simulation.feedback import check_drives
from flexarm.simulation.law import Column, Law
from flexarm.trajectory import Reference, jumps_of


@final
@brief
@dataclass(frozen=True)
class Decoupling:
    """Nonlinear decoupling: each actuated coordinate obeys e'' + Kd e' + Kp e = 0, whatever the flexible ones do.

    The forces give each actuated coordinate the acceleration rdd + Kd (rd - qd) + Kp (r - q) while the flexible
    coordinates move freely (Theodore & Ghosal eqs. 35, 36). All coordinates and rates must be known. The flexible
    coordinates move as on joints that are driven along the reference (eq. 39), and only their own damping damps them.
    At an elastic joint the actuated coordinate is the motor's. A free base moves freely, and its thrusters are off.

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
        """Return the control law for a model; raises `DescriptionError` if an actuator moves a sum of coordinates."""
        m = actuators("Decoupling", model, period)
        torques("Decoupling", model)
        Kp, Kd = damped("Decoupling", self.Kp, self.Kd, m)
        reference, B_T = followed("Decoupling", self.reference, model), actuated(model)
        check_drives(model, "Decoupling: ", "each actuator must move exactly one joint")
        closures.check_independent("Decoupling", model, closures.rest(model))
        force = model.fixed("prescribed_force")

        def expression(t: Any, q: Column, qd: Column, z: Column) -> tuple[Column, Any]:
            v = demanded(reference, t, B_T @ q, B_T @ qd, Kp, Kd)
            return force(configured(model.arm, q), qd, of_all(model, v)), []

        return Law(expression, jumps=jumps_of(reference), reference=reference)
