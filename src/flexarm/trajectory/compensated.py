"""Joint motion that moves the tip of the flexible arm to where the rigid arm's tip would be."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from flexarm.arrays import Array
from flexarm.brief import brief
from flexarm.checks import checked_instance, counted, refused
from flexarm.description.closures import refuse_closures
from flexarm.description.joints import Telescope, refuse_balls, refuse_passive
from flexarm.errors import DescriptionError
from flexarm.model import Model
from flexarm.trajectory.lines import check_axes
from flexarm.trajectory.reference import Reference, checked_reference, jumps_of, positions

STEPS = 2
"""Number of Newton steps. For small deflections the second is already below the quasi-static error."""


@final
@brief
@dataclass(frozen=True, eq=False)
class TipCompensated:
    """A reference that is corrected for the deflection that its own motion causes, so that the tip follows it.

    Links and springs deflect quasi-statically under the inertia and gravity forces of the wanted motion at each
    instant, without vibration: K eta = -(forces on eta along the motion with eta = 0), and a spring carries the joint's
    torque. The joints then turn so that the tip of the flexible arm is where the rigid arm's would be. The result is
    the reference of the actuators' encoders: at an elastic joint the motor's angle, which includes the spring's
    deflection.

    Parameters
    ----------
    reference : Reference
        Reference of the joints of the rigid arm.
    model : Model
    axes : str
        Coordinates of the tip that are corrected, as many as there are joints.

    Raises
    ------
    DescriptionError
        If the numbers of axes and joints differ, or if the arm has a telescope or a free base.
    """

    reference: Reference
    model: Model
    axes: str = "xy"

    def __post_init__(self) -> None:
        with refused("TipCompensated"):
            checked_reference(self.reference)
            arm = checked_instance(self.model, Model, "model").arm
            check_axes(self.axes, tuple(arm.velocities[i] for i in arm.driven))
        refuse_closures(arm, "TipCompensated")
        refuse_balls(arm, "TipCompensated")
        refuse_passive(arm, "TipCompensated")
        if arm.free:
            raise DescriptionError(
                "TipCompensated: the base of the arm is free and moves with the joints; it must be fixed"
            )
        if any(isinstance(link.joint, Telescope) for link in arm.links):
            raise DescriptionError("TipCompensated: the arm has a telescope, whose stiffness changes along the motion")

    def expression(self, t: Any) -> list[Any]:
        """Actuator coordinates at the symbolic time t."""
        import casadi as ca

        model = self.model
        n, joints, elastic = len(model.coordinates), model.arm.driven, list(model.arm.flexible)
        motors = {motor: joint for joint, motor in model.arm.springs}
        r = positions(self.reference, t)
        if r.numel() != len(joints):
            raise DescriptionError(
                f"TipCompensated: the reference moves {counted(r.numel(), 'joint')}; the arm has {len(joints)}"
            )

        # 1. the forces along the motion of the undeformed arm
        rd = ca.jacobian(r, t)
        rdd = ca.jacobian(rd, t)

        def whole(values: Any) -> Any:
            x = [0.0] * n
            for k, i in enumerate(joints):
                x[i] = values[k]
            for i, joint in motors.items():
                x[i] = x[joint]
            return ca.vertcat(*x)

        force = model.fixed("inverse_dynamics")(whole(r), whole(rd), whole(rdd))

        # 2. the deflection under them
        q0 = np.array(model.arm.rest)
        K = np.array(model.slope("stiffness_force", 0)(q0))
        bent = ca.SX(whole(r))
        if elastic:
            bent[elastic] = -ca.mtimes(np.linalg.inv(K[np.ix_(elastic, elastic)]), force[elastic])

        # 3. joint motions that correct the tip
        rows = ["xyz".index(axis) for axis in self.axes]
        q = ca.SX.sym("q", n)
        place = model.fixed("tip")(q)[rows, 3]
        tip = ca.Function("place", [q], [place])
        slope = ca.Function("slope", [q], [ca.jacobian(place, q)[:, joints]])
        goal = tip(whole(r))
        for _ in range(STEPS):
            step = ca.solve(slope(bent), goal - tip(bent))
            for k, i in enumerate(joints):
                bent[i] = bent[i] + step[k]
        for i, joint in motors.items():
            bent[i] = bent[joint] + force[joint] / float(K[i, i])
        B = model.input_matrix(q0)
        return [ca.dot(ca.DM(column), bent) for column in B.T]

    def jumps(self) -> Array:
        """Times at which the reference jumps."""
        return jumps_of(self.reference)

    def described(self) -> str:
        """Text with the reference and the arm for which it is corrected."""
        return f"{self.reference.described()}, tip compensated along {self.axes} ({self.model.fingerprint})"
