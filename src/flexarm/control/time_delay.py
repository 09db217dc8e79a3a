"""Time-delay control: the last torque and acceleration in place of a model."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from flexarm.brief import brief
from flexarm.control.free import fixed_base
from flexarm.control.gains import actuated, actuators, damped, definite, demanded, followed, torques
from flexarm.errors import DescriptionError
from flexarm.model import Model
from flexarm.simulation.law import Column, Law, parted
from flexarm.trajectory import Reference, jumps_of


@final
@brief
@dataclass(frozen=True)
class TimeDelay:
    """Time-delay control: u = u before + inertia (rdd + Kd (rd - yd) + Kp (r - y) - ydd), once per period.

    All forces except a constant inertia are taken from the sample before: they are u minus inertia times the mean
    acceleration ydd over the last period (Youcef-Toumi & Ito 1990; Hsia & Gao 1990). No model is needed. A constant
    load is rejected from the second sample on. The sampled loop of a rigid arm can be stable only if all eigenvalues of
    1 - M^-1 inertia are in the unit circle (Youcef-Toumi & Reddy 1992), so choose the inertia rather too small.

    The actuators' encoders measure y. u before is the torque after limits and delays, so that it does not wind up.

    Parameters
    ----------
    reference : Reference, float or (m,)
        Reference of all joints, or their constant target positions.
    Kp, Kd : float, (m,) or (m, m)
        [1/s^2], [1/s].
    inertia : float, (m,) or (m, m)
        Constant in place of the inertia matrix of the rigid arm [kg m^2 or kg].
    """

    reference: Reference | ArrayLike
    Kp: ArrayLike
    Kd: ArrayLike
    inertia: ArrayLike

    def law(self, model: Model, period: float | None = None) -> Law:
        """Return the sampled control law for a model; its memory is the last u and yd, and 1 after the first sample.

        Raises `DescriptionError` without a period, if a gain does not fit the arm, and for arms with a free base or
        voltage inputs.
        """
        m = actuators("TimeDelay", model, period)
        torques("TimeDelay", model)
        fixed_base("TimeDelay", model, "use ComputedTorque")
        if period is None:
            raise DescriptionError("TimeDelay: the controller must be sampled: use Sampled(TimeDelay(...), period)")
        Kp, Kd = damped("TimeDelay", self.Kp, self.Kd, m)
        inertia = definite("TimeDelay: inertia", self.inertia, m)
        reference, B_T = followed("TimeDelay", self.reference, model), actuated(model)

        def expression(t: Any, q: Column, qd: Column, z: Column) -> tuple[Column, Any]:
            import casadi as ca

            y, yd, (last, more) = B_T @ q, B_T @ qd, parted(z, m)
            before, begun = parted(more, m)
            ydd = begun * (yd - before) / period
            u = last + inertia @ (demanded(reference, t, y, yd, Kp, Kd) - ydd)
            return u, lambda applied: ca.vertcat(applied, yd, 1.0)

        return Law(expression, tuple(np.zeros(2 * m + 1).tolist()), jumps=jumps_of(reference), reference=reference)
