"""Sliding mode control with a boundary layer."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from flexarm.brief import brief
from flexarm.control.free import fixed_base
from flexarm.control.gains import actuated, actuators, decaying, followed, rigid_arm, sliding, torques
from flexarm.description.closures import refuse_closures
from flexarm.model import Model
from flexarm.simulation.law import Column, Law, clipped, limits
from flexarm.simulation.shown import show
from flexarm.trajectory import Reference, jumps_of


@final
@brief
@dataclass(frozen=True)
class SlidingMode:
    """Sliding mode control: u = M a + C(y, yd) v + the other forces of the rigid arm - K sat(s / layer).

    With the error e = y - r, the reference rates are v = rd - Lambda e, the reference accelerations are a = v', and s =
    yd - v (Slotine & Li 1991, sections 7.1 and 9.2). sat is the sign of its argument, but linear between -1 and 1. An
    arm that differs from the nominal one by generalized forces d, smaller than K, reaches the boundary layer in finite
    time: outside it, s' M s / 2 falls. A constant d then leaves the error layer d / (K Lambda) of a joint.

    Without a boundary layer u would jump at s = 0. In its layer the control law is linear, with the gain K / layer in
    place of Kd. The actuators' encoders measure y. On a flexible arm the control law neglects the vibrations.

    Parameters
    ----------
    reference : Reference, float or (m,)
        Reference of all joints, or their constant target positions.
    Lambda : float, (m,) or (m, m)
        Bandwidth of the error on the surface s = 0 [1/s].
    K : float or (m,)
        Largest torque of the switching term, positive [N m or N].
    layer : float or (m,)
        Half the thickness of the boundary layer, positive [rad/s or m/s].
    """

    reference: Reference | ArrayLike
    Lambda: ArrayLike
    K: ArrayLike
    layer: ArrayLike

    def law(self, model: Model, period: float | None = None) -> Law:
        """Return the control law for a model.

        Raises `DescriptionError` if a gain does not fit the arm, and for arms with a free base, closures, passive
        joints or voltage inputs.
        """
        m = actuators("SlidingMode", model, period)
        torques("SlidingMode", model)
        fixed_base("SlidingMode", model, "use ComputedTorque")
        refuse_closures(model, "SlidingMode")
        Lambda = decaying("SlidingMode: Lambda", self.Lambda, m)
        K, layer = limits("SlidingMode: K", self.K, m), limits("SlidingMode: layer", self.layer, m)
        reference, B_T = followed("SlidingMode", self.reference, model), actuated(model)
        dynamics = rigid_arm("SlidingMode", model).fixed("reference_dynamics")

        def expression(t: Any, q: Column, qd: Column, z: Column) -> tuple[Column, Any]:
            y, yd = B_T @ q, B_T @ qd
            s, v, a = sliding(reference, t, y, yd, Lambda)
            show("sliding", s, [model.velocities[i] for i in model.arm.driven], "rad/s or m/s")
            return dynamics(y, yd, v, a) - K * clipped(s / layer, np.ones(m)), []

        return Law(expression, jumps=jumps_of(reference), reference=reference)
