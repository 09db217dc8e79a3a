"""An arm as the dynamics sees it: bodies, and the elementary motions that lead from one to the next."""

from dataclasses import dataclass
from itertools import pairwise
from math import acos, atan2

import casadi as ca
import numpy as np

from flexarm.arm import Arm, Link
from flexarm.links import Body, body, payload
from flexarm.spatial import Motion, Slide, Turn

TIP: tuple[tuple[type[Motion], int, int], ...]
TIP = ((Slide, 0, 1), (Slide, 1, 1), (Slide, 2, 1), (Turn, 2, 1), (Turn, 1, -1), (Turn, 0, 1))
"""Motion, axis and sign of a body's six tip functions, base frame to distal frame: p, then Rz Ry(-) Rx."""


@dataclass(frozen=True)
class Step:
    """One elementary motion: a constant part, tip functions of the body before, joint coordinates, and their signs."""

    motion: type[Motion]
    axis: int
    offset: float = 0.0
    tips: tuple[tuple[int, int], ...] = ()
    joints: tuple[tuple[int, int], ...] = ()

    @property
    def is_nothing(self) -> bool:
        """Whether the step leaves the frame where it is."""
        return not (self.offset or self.tips or self.joints)


@dataclass(frozen=True)
class Segment:
    """The way from one body's base frame to the next one's: `steps`, of which the last is the joint, then `after`."""

    steps: tuple[Step, ...]
    after: tuple[Step, ...]


@dataclass(frozen=True)
class Chain:
    """Bodies and segments in order; segment i leads to body i. The last body is the payload, which has no coordinates.

    Attributes
    ----------
    joints : number of joint coordinates, the first of all coordinates
    eta : slice of each body's flexible coordinates among all coordinates
    motors : position of each elastic joint's joint coordinate; motor k has coordinate `size - len(motors) + k`
    spring, spring_damping, damping : per joint coordinate; spring is 0 where the joint is not elastic
    rotor : inertia on each joint coordinate; an elastic joint's is on its motor coordinate, `motor_inertia`
    actuated : coordinate each input acts on
    """

    bodies: tuple[Body, ...]
    segments: tuple[Segment, ...]
    size: int
    joints: int
    eta: tuple[slice, ...]
    motors: tuple[int, ...]
    spring: tuple[float, ...]
    spring_damping: tuple[float, ...]
    damping: tuple[float, ...]
    rotor: tuple[float, ...]
    motor_inertia: tuple[float, ...]
    actuated: tuple[int, ...]
    gravity: tuple[float, float, float]

    @property
    def motor_coordinates(self) -> list[tuple[int, float]]:
        """Coordinate and inertia of each motor."""
        return list(enumerate(self.motor_inertia, self.size - len(self.motors)))


def chain(arm: Arm) -> Chain:
    """The chain of a described arm."""
    bodies = [*(body(link) for link in arm.links), payload(arm.payload)]
    joints = [link.joint for link in arm.links if link.joint.type != "fixed"]
    ends = np.cumsum([len(joints), *(b.size for b in bodies)]).tolist()
    motors = [i for i, joint in enumerate(joints) if joint.stiffness is not None]
    reflected = [joint.gear_ratio**2 * joint.rotor_inertia for joint in joints]
    segments, coordinate = [], 0
    for i, link in enumerate(arm.links):
        segments.append(_segment(_tip_steps(bodies[i - 1]) if i else [], link, coordinate))
        coordinate += link.joint.type != "fixed"
    segments.append(Segment((*_merged(_tip_steps(bodies[-2])), Step(Slide, 0)), ()))
    return Chain(
        bodies=tuple(bodies),
        segments=tuple(segments),
        size=ends[-1] + len(motors),
        joints=len(joints),
        eta=tuple(slice(a, b) for a, b in pairwise(ends)),
        motors=tuple(motors),
        spring=tuple(joint.stiffness or 0.0 for joint in joints),
        spring_damping=tuple(joint.spring_damping for joint in joints),
        damping=tuple(joint.damping for joint in joints),
        rotor=tuple(0.0 if i in motors else J for i, J in enumerate(reflected)),
        motor_inertia=tuple(reflected[i] for i in motors),
        actuated=tuple(ends[-1] + motors.index(i) if i in motors else i for i in range(len(joints))),
        gravity=arm.gravity,
    )


def _segment(tip: list[Step], link: Link, coordinate: int) -> Segment:
    """Tip of the body before, placement, and the joint: its axis turned onto a coordinate axis and back."""
    x, y, z = link.placement.xyz
    roll, pitch, yaw = link.placement.rpy
    before = [Step(Slide, 0, x), Step(Slide, 1, y), Step(Slide, 2, z)]
    before += [Step(Turn, 2, yaw), Step(Turn, 1, pitch), Step(Turn, 0, roll)]
    if link.joint.type == "fixed":
        return Segment((*_merged([*tip, *before]), Step(Slide, 0)), ())
    k, sign, alpha, beta = _alignment(np.array(link.joint.axis))
    j = (k + 2) % 3
    moving = Step(Turn if link.joint.type == "revolute" else Slide, k, joints=((coordinate, sign),))
    before += [Step(Turn, k, alpha), Step(Turn, j, beta), moving]
    after = [Step(Turn, j, -beta), Step(Turn, k, -alpha)]
    return Segment(tuple(_merged([*tip, *before])), tuple(_merged(after)))


def _alignment(axis: np.ndarray) -> tuple[int, int, float, float]:
    """k, sign, alpha, beta such that axis = sign R_k(alpha) R_j(beta) e_k; turning about j = k - 1 takes k to k + 1.

    k is the axis' largest component, so that coordinate axes need no turn at all.
    """
    k = int(np.argmax(np.abs(axis)))
    sign = 1 if axis[k] > 0 else -1
    i, j = (k + 1) % 3, (k + 2) % 3
    n = sign * axis
    beta = acos(min(1.0, n[k]))  # R_j(beta) e_k = cos(beta) e_k + sin(beta) e_i
    if beta < 1e-12:
        return k, sign, 0.0, 0.0
    return k, sign, atan2(n[j], n[i]), beta


def _tip_steps(body: Body) -> list[Step]:
    """The tip's six motions; those that do not depend on the body's coordinates are constant."""
    here = body.tip([0.0] * body.size)
    moves = _dependence(body)
    return [
        Step(motion, axis, 0.0 if moves[t] else sign * here[t], tips=((t, sign),) if moves[t] else ())
        for t, (motion, axis, sign) in enumerate(TIP)
    ]


def _dependence(body: Body) -> list[bool]:
    """Which of the tip functions depend on the body's coordinates."""
    eta = ca.SX.sym("eta", body.size)
    return [ca.SX(t).is_constant() is False for t in body.tip([eta[i] for i in range(body.size)])]


def _merged(steps: list[Step]) -> list[Step]:
    """The same motion with steps that are nothing left out and neighbours about one axis made one.

    A beam's slope followed by a joint about the same axis is then one turn: a rotation less in every pass.
    """
    merged: list[Step] = []
    for step in steps:
        if step.is_nothing:
            continue
        if merged and (merged[-1].motion, merged[-1].axis) == (step.motion, step.axis):
            last = merged.pop()
            tips, joints = last.tips + step.tips, last.joints + step.joints
            step = Step(step.motion, step.axis, last.offset + step.offset, tips, joints)
        merged.append(step)
    return merged
