"""Proportional and derivative control of the joints."""

from dataclasses import dataclass
from typing import Any, final

from numpy.typing import ArrayLike

from flexarm.checks import checked_flag, refused
from flexarm.control.gains import actuated, actuators, followed, gain, motion, of_all, rigid_arm, torques
from flexarm.model import Model
from flexarm.simulation.law import Column, Law
from flexarm.trajectory import Reference, jumps_of


@final
@dataclass(frozen=True)
class JointPD:
    """u = Kp (r - y) + Kd (rd - yd), and the torque that carries the rigid arm: y is what the actuators' encoders see.

    With elastic joints y is a motor's angle, so the loop is collocated: passive, and stable for any positive gains. A
    free base moves as it must, and its thrusters are off.

    Parameters
    ----------
    reference : Reference, float or (m,)
        Of all joints; numbers are where they shall stand.
    Kp, Kd : float, (m,) or (m, m)
        [N m/rad], [N m s/rad].
    gravity : bool
        Whether to add the rigid arm's gravity torque at y. An arm on a free base falls with it, and has none.
    """

    reference: Reference | ArrayLike
    Kp: ArrayLike
    Kd: ArrayLike
    gravity: bool = True

    def law(self, model: Model, period: float | None = None) -> Law:
        """The law for a model."""
        m = actuators("JointPD", model, period)
        with refused("JointPD"):
            checked_flag(self.gravity, "gravity")
        weighs = self.gravity and any(model.gravity) and not model.arm.free
        if weighs:
            torques("JointPD", model)
        Kp, Kd = gain("JointPD: Kp", self.Kp, m), gain("JointPD: Kd", self.Kd, m)
        reference, B_T = followed("JointPD", self.reference, model), actuated(model)
        carried = rigid_arm(model).fixed("gravity_force") if weighs else None

        def expression(t: Any, q: Column, qd: Column, z: Column) -> tuple[Column, Any]:
            y, yd = B_T @ q, B_T @ qd
            r, rd, _ = motion(reference, t)
            u = torque(Kp, Kd, r - y, rd - yd)
            return of_all(model, u if carried is None else u + carried(y)), []

        return Law(expression, jumps=jumps_of(reference), reference=reference)


def torque(Kp: Any, Kd: Any, e: Column, ed: Column) -> Column:
    """u of errors e = r - y and their rates, for gains that are numbers or expressions."""
    return Kp @ e + Kd @ ed
