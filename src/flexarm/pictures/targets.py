"""What the controllers of a live page lead to its targets: joints, and by wheels the turn of a free base.

A reaction wheel's own angle matters to nobody. In its place stands the turn of the base about the wheel's axis.
"""

import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np

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

Array = np.ndarray

SAME = 1e-12
"""Of the largest: what a wheel's angle changes of an inertia matrix."""

MOST_TURNED = math.pi / 3
"""By which a wheel is told to turn a base [rad], and less where all wheels together could make it a half turn."""


@final
@dataclass(frozen=True)
class Targets:
    """Of the m joints of an arm, over its n local coordinates x (see `attitude.local`).

    Attributes
    ----------
    model : Model
    names : (m,)
        Of what is led.
    wheels : tuple of str
        Links that are reaction wheels.
    seen : (m, n)
        What is fed back, seen x: at an elastic joint the motor's angle.
    shown : (m, n)
        Where what is led stands, on the links' side.
    moved : (n, m)
        How the arm stands at targets r with nothing bent: moved r, and at rest in what no target moves.
    acting : (m,)
        -1 for a wheel, whose torque turns the base the other way; else 1.
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
        """How many local coordinates are a free base's."""
        return BASE * self.model.arm.free

    @property
    def turning(self) -> Array:
        """Which are wheels, (m,)."""
        return self.acting < 0.0

    @property
    def ranges(self) -> tuple[Array, Array]:
        """Low and high, (m,) each: a turn each way, what a telescope can do, two reaches; of a base less."""
        arm = self.model.arm
        reach = sum(link.body.length for link in arm.links)
        together = np.linalg.norm(self.moved[TURN], axis=0).sum() if self.wheels else 0.0
        turned = min(MOST_TURNED, math.pi / max(together, 1.0))
        bounds = []
        for link in (link for link in arm.links if link.joint.moves):
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
        """The local coordinates at rest that no target moves, the others zero."""
        arm = self.model.arm
        return np.where(self.moved.any(axis=1), 0.0, local(arm, np.array(arm.rest)))

    def standing(self, r: Array) -> Array:
        """The configuration (nq,) at targets, with nothing bent and a free base at rest but for what wheels turn."""
        return configuration(self.model.arm, self._still + self.moved @ r)

    def at(self, q: Array) -> Array:
        """Where what is led stands, (m,)."""
        return np.asarray(self.shown @ local(self.model.arm, q))

    def aimed(self, q: Column, r: Column) -> Column:
        """Local coordinates (n,) at targets with nothing bent, a free base where it is but for what wheels turn."""
        import casadi as ca

        x, b = ca.DM(self._still) + ca.DM(self.moved) @ r, self.base
        if b:
            left = np.eye(b) - self.moved[:b] @ self.shown[:, :b]
            x[:b] += ca.DM(left) @ localized(self.model.arm, q)[:b]
        return x

    def torque(self, x: Column, v: Column, r: Column, rd: Column, Kp: Column, Kd: Column) -> Column:
        """u (m,) of the joints' PD at local coordinates and rates, gains (m,)."""
        import casadi as ca

        seen, told = ca.DM(self.seen), ca.DM(self.seen @ self.moved)
        e, ed = told @ r - seen @ x, told @ rd - seen @ v
        return ca.DM(self.acting) * pd.torque(ca.diag(Kp), ca.diag(Kd), e, ed)


def targets(model: Model) -> Targets:
    """Of an arm with an actuator for each joint."""
    arm, m = model.arm, len(model.arm.joints)
    numbers = [arm.layout[i].link for i in arm.joints]
    links = [arm.links[i] for i in numbers]
    wheels = [i for i in range(m) if _is_wheel(model, i)]
    names = tuple(f"base ({x.name})" if i in wheels else x.name for i, x in enumerate(links))
    seen, shown, moved = actuated(model).copy(), np.eye(model.nv)[list(arm.joints)], moved_by_joints(model.arm)
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
    """Whether a joint without a spring turns a link on a free base, and the turn changes nothing."""
    arm, place = model.arm, model.arm.joints[i]
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
    """PD control to targets that stand, as a controller of the package: the law that the page runs.

    Parameters
    ----------
    r : (m,)
    Kp, Kd : (m,)
    """

    r: tuple[float, ...]
    Kp: Array
    Kd: Array

    def law(self, model: Model, period: float | None = None) -> Law:
        """The law for a model."""
        led = targets(model)

        def expression(t: Any, q: Column, qd: Column, z: Column) -> tuple[Column, Any]:
            import casadi as ca

            return led.torque(q, qd, ca.DM(self.r), ca.DM.zeros(len(self.r)), ca.DM(self.Kp), ca.DM(self.Kd)), []

        return Law(expression, reference=Still(self.r))
