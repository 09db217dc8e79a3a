"""Proportional and derivative control of the joints."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from flexarm.attitude import local
from flexarm.brief import brief
from flexarm.checks import NOT_NEGATIVE, POSITIVE, checked_flag, checked_number, refused
from flexarm.control.gains import actuated, actuators, followed, gain, gravity_torque, motion, of_all, rounded, torques
from flexarm.errors import DescriptionError
from flexarm.model import Model
from flexarm.simulation.feedback import initial
from flexarm.simulation.law import Column, Law, parted
from flexarm.simulation.shown import show
from flexarm.trajectory import Reference, jumps_of


@final
@brief
@dataclass(frozen=True)
class JointPD:
    """Joint PD control: u = Kp (r - y) + Kd (rd - yd), and the gravity torque of the rigid arm.

    The actuators' encoders measure y. With elastic joints y is a motor's angle, so the loop is collocated: it is
    passive, and stable for any positive gains. A free base moves freely, and its thrusters are off.

    Parameters
    ----------
    reference : Reference, float or (m,)
        Reference of all joints, or their constant target positions.
    Kp, Kd : float, (m,) or (m, m)
        [N m/rad], [N m s/rad].
    gravity : bool
        True to add the rigid arm's gravity torque at y. An arm on a free base falls with it and has no gravity torque.
    filter : float, optional
        Bandwidth of a filter s / (1 + s / filter) that computes yd from y [rad/s]. Without it yd is measured. The
        sampled filter is exact for a y that is linear between samples: yd <- a yd + (1 - a) (y - y before) / period,
        with a = exp(-filter period).
    resolution, noise : float
        Resolution of the encoders and standard deviation of their noise [rad or m], for a sampled loop with a filter.
        The noise is added before y is rounded. An encoder on the motor's shaft has the resolution 2 pi / (counts
        gear_ratio).
    """

    reference: Reference | ArrayLike
    Kp: ArrayLike
    Kd: ArrayLike
    gravity: bool = True
    filter: float | None = None
    resolution: float = 0.0
    noise: float = 0.0

    def law(self, model: Model, period: float | None = None) -> Law:
        """Return the control law for a model."""
        m = actuators("JointPD", model, period)
        with refused("JointPD"):
            checked_flag(self.gravity, "gravity")
            omega = None if self.filter is None else checked_number(self.filter, "rad/s", POSITIVE, "filter")
            encoder = {
                name: checked_number(getattr(self, name), "rad or m", NOT_NEGATIVE, name)
                for name in ("resolution", "noise")
            }
        given = next((name for name, value in encoder.items() if value), None)
        if given and (omega is None or period is None):
            needs = (
                "a filter, because without one the rate is measured"
                if omega is None
                else "Sampled(JointPD(...), period)"
            )
            raise DescriptionError(f"JointPD: {given} is {encoder[given]:g}; an encoder with it needs {needs}")
        weighs = self.gravity and any(model.gravity) and not model.arm.free
        if weighs:
            torques("JointPD", model)
        Kp, Kd = gain("JointPD: Kp", self.Kp, m), gain("JointPD: Kd", self.Kd, m)
        reference, B_T = followed("JointPD", self.reference, model), actuated(model)
        carried = gravity_torque("JointPD with gravity=True", model) if weighs else None
        names = [model.velocities[i] for i in model.arm.actuated]

        def pushed(t: Any, q: Column, y: Column, yd: Column) -> Column:
            r, rd, _ = motion(reference, t)
            show("measured", y, names, "rad or m")
            show("rate", yd, names, "rad/s or m/s")
            u = torque(Kp, Kd, r - y, rd - yd)
            return of_all(model, u if carried is None else u + carried(q, y))

        def expression(t: Any, q: Column, qd: Column, z: Column) -> tuple[Column, Any]:
            return pushed(t, q, B_T @ q, B_T @ qd), []

        if omega is None:
            return Law(expression, jumps=jumps_of(reference), reference=reference)

        def continuous(t: Any, q: Column, qd: Column, z: Column) -> tuple[Column, Any]:
            rate = omega * (B_T @ q - z)
            return pushed(t, q, B_T @ q, rate), rate

        a = 0.0 if period is None else float(np.exp(-omega * period))

        def sampled(t: Any, q: Column, qd: Column, z: Column, *noise: Column) -> tuple[Column, Any]:
            import casadi as ca

            y, (before, more) = B_T @ q, parted(z, m)
            rate, begun = parted(more, m)
            y = rounded(y + noise[0] if noise else y, [encoder["resolution"]] * m)
            rate = a * rate + (1 - a) * begun * (y - before) / period
            return pushed(t, q, y, rate), ca.vertcat(y, rate, 1.0)

        if period is None:
            start = B_T @ local(model.arm, initial(model, reference)[0])
            return Law(continuous, tuple(start.tolist()), jumps=jumps_of(reference), reference=reference)
        noise = (encoder["noise"],) * m if encoder["noise"] else ()
        return Law(sampled, (0.0,) * (2 * m + 1), noise, jumps=jumps_of(reference), reference=reference)


def torque(Kp: Any, Kd: Any, e: Column, ed: Column) -> Column:
    """u for errors e = r - y and their rates, with gains that are numbers or expressions."""
    return Kp @ e + Kd @ ed
