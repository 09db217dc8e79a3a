"""Targets of the controllers of a live page: joints, and the rotation of a free base that wheels turn.

The angle of a reaction wheel itself is irrelevant. Its target is the rotation of the base about the wheel's axis.
"""

import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from flexarm.arrays import Array
from flexarm.attitude import configuration, local
from flexarm.control import pd
from flexarm.control.attitude import axis_on_base
from flexarm.control.gains import actuated
from flexarm.description.joints import Telescope
from flexarm.model import Model
from flexarm.model.adrift import BASE, TURN
from flexarm.model.local import localized, moved_by_joints
from flexarm.simulation.law import Column, Law
from flexarm.trajectory import Still

SAME = 1e-12
"""Largest change of the inertia matrix with the angle of a wheel, relative to its largest entry."""

MOST_TURNED = math.pi / 3
"""Largest target of a wheel for the rotation of the base [rad]. It is smaller if all wheels together would exceed half
a turn."""


@final
@dataclass(frozen=True)
class Targets:
    """Targets of the m joints of an arm, over its n local coordinates x (see `attitude.local`).

    Attributes
    ----------
    model : Model
        Model of the arm.
    names : (m,)
        Names of the targets.
    wheels : tuple of str
        Links that are reaction wheels.
    seen : (m, n)
        Matrix of the feedback, seen x: the motor's angle at an elastic joint.
    shown : (m, n)
        Matrix of the controlled coordinates on the link side, shown x.
    moved : (n, m)
        Matrix of the configuration at targets r without deflection, moved r. All other coordinates are at rest.
    acting : (m,)
        -1 for a wheel, whose torque turns the base in the opposite direction, else 1.
    """

    model: Model
    names: tuple[str, ...]
    wheels: tuple[str, ...]
    seen: Array
    shown: Array
    moved: Array
    acting: Array

    @property
    def base(self) -> int:
        """Number of local coordinates of a free base."""
        return BASE * self.model.arm.free

    @property
    def turning(self) -> Array:
        """True for each joint that is a wheel, (m,)."""
        return self.acting < 0.0

    @property
    def ranges(self) -> tuple[Array, Array]:
        """Lower and upper ends of the ranges, (m,) each.

        They are one turn in each direction, the range of a telescope, twice the reach for a slide, and less for a base.
        """
        arm = self.model.arm
        reach = sum(link.body.length for link in arm.links)
        together = np.linalg.norm(self.moved[TURN], axis=0).sum() if self.wheels else 0.0
        turned = min(MOST_TURNED, math.pi / max(together, 1.0))
        bounds = []
        for link in (link for link in arm.links if link.joint.actuated):
            if isinstance(link.joint, Telescope):
                bounds.append((0.25 * link.body.length, 0.98 * link.body.length))
            elif link.name in self.wheels:
                bounds.append((-turned, turned))
            else:
                bounds.append((-math.pi, math.pi) if link.joint.unit == "rad" else (-reach, reach))
        low, high = np.array(bounds).T
        return low, high

    @property
    def _still(self) -> Array:
        """Local coordinates at rest that no target moves. All others are zero."""
        arm = self.model.arm
        return np.where(self.moved.any(axis=1), 0.0, local(arm, np.array(arm.rest)))

    def standing(self, r: Array) -> Array:
        """Return the configuration (nq,) at targets r, without deflection. A free base is at rest, except for wheel
        targets."""
        return configuration(self.model.arm, self._still + self.moved @ r)

    def at(self, q: Array) -> Array:
        """Return the controlled coordinates at a configuration, (m,)."""
        return np.asarray(self.shown @ local(self.model.arm, q))

    def aimed(self, q: Column, r: Column) -> Column:
        """Return local coordinates (n,) at targets r, without deflection. A free base keeps its pose, except for wheel
        targets."""
        import casadi as ca

        x, b = ca.DM(self._still) + ca.DM(self.moved) @ r, self.base
        if b:
            left = np.eye(b) - self.moved[:b] @ self.shown[:, :b]
            x[:b] += ca.DM(left) @ localized(self.model.arm, q)[:b]
        return x

    def torque(self, x: Column, v: Column, r: Column, rd: Column, Kp: Column, Kd: Column) -> Column:
        """Return u (m,) of the joint PD controller at local coordinates and rates, with gains (m,)."""
        import casadi as ca

        seen, told = ca.DM(self.seen), ca.DM(self.seen @ self.moved)
        e, ed = told @ r - seen @ x, told @ rd - seen @ v
        return ca.DM(self.acting) * pd.torque(ca.diag(Kp), ca.diag(Kd), e, ed)


def targets(model: Model) -> Targets:
    """Return the targets of an arm with an actuator for each joint."""
    arm, m = model.arm, len(model.arm.driven)
    numbers = [arm.layout[i].link for i in arm.driven]
    links = [arm.links[i] for i in numbers]
    wheels = [i for i in range(m) if _is_wheel(model, i)]
    names = tuple(f"base ({x.name})" if i in wheels else x.name for i, x in enumerate(links))
    seen, shown, moved = actuated(model).copy(), np.eye(model.nv)[list(arm.driven)], moved_by_joints(model.arm)
    if wheels:
        axes = np.array([axis_on_base(model, numbers[i]) for i in wheels])
        for given in (seen, shown):
            given[wheels] = 0.0
            given[wheels, TURN] = axes
        moved[:, wheels] = 0.0
        moved[TURN, wheels] = np.linalg.pinv(axes)
    acting = np.where(np.isin(range(m), wheels), -1.0, 1.0)
    return Targets(model, names, tuple(links[i].name for i in wheels), seen, shown, moved, acting)


def _is_wheel(model: Model, i: int) -> bool:
    """Return True if a joint without a spring turns a link on a free base and the angle does not change the inertia."""
    arm, place = model.arm, model.arm.driven[i]
    number = arm.layout[place].link
    elastic = place in (joint for joint, _ in arm.springs)
    if elastic or not (arm.free and arm.parents[number] < 0 and arm.links[number].joint.turns):
        return False
    q = np.array(arm.rest)
    turned = q + 0.7 * (np.arange(len(q)) == place + len(q) - model.nv)
    M = model.mass_matrix(q)
    return bool(np.abs(model.mass_matrix(turned) - M).max() <= SAME * np.abs(M).max())


@final
@dataclass(frozen=True)
class ToTargets:
    """PD control to constant targets, as a controller of the package: the control law that the page runs.

    Parameters
    ----------
    r : (m,)
        Targets.
    Kp, Kd : (m,)
        Gains.
    """

    r: tuple[float, ...]
    Kp: Array
    Kd: Array

    def law(self, model: Model, period: float | None = None) -> Law:
        """Return the control law for a model."""
        led = targets(model)

        def expression(t: Any, q: Column, qd: Column, z: Column) -> tuple[Column, Any]:
            import casadi as ca

            return led.torque(q, qd, ca.DM(self.r), ca.DM.zeros(len(self.r)), ca.DM(self.Kp), ca.DM(self.Kd)), []

        return Law(expression, reference=Still(self.r))
