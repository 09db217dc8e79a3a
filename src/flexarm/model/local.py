"""Local coordinates as expressions, which laws get in place of q, and q as expressions of them."""

from typing import TYPE_CHECKING

import numpy as np

from flexarm.attitude import local
from flexarm.description.arm import Arm
from flexarm.quaternions import conjugate, rotation

if TYPE_CHECKING:
    import casadi as ca

NONE = 1e-60
"""Number added under the root of a rotation's size, so that the slope is finite without a rotation."""


def localized(arm: Arm, q: "ca.SX") -> "ca.SX":
    """Return `attitude.local` about the rest of the arm, of a column of symbols. Without quaternions, return q.

    At rest a free base is at the world's origin, along its axes. The rotation from there is smooth except at half a
    turn, where it jumps to the other side. At zero rotation its first derivative is exact, but the second one is not.
    """
    if not arm.quaternions:
        return q
    import casadi as ca

    parts = [q[:3]] if arm.free else []
    for place, _ in arm.quaternions:
        e = ca.if_else(q[place.start] < 0.0, -q[place], q[place])
        size = ca.sqrt(ca.sumsqr(e[1:]) + NONE)
        parts.append(2.0 * ca.atan2(size, e[0]) / size * e[1:])
    return ca.vertcat(*parts, q[arm.poses :])


def configured(arm: Arm, x: "ca.SX") -> "ca.SX":
    """Return `attitude.configuration` about the rest of the arm, the inverse of `localized`."""
    if not arm.quaternions:
        return x
    import casadi as ca

    parts = [x[:3]] if arm.free else []
    for _, place in arm.quaternions:
        half = 0.5 * ca.sqrt(ca.sumsqr(x[place]) + NONE)
        parts += [ca.cos(half), 0.5 * ca.sin(half) / half * x[place]]
    return ca.vertcat(*parts, x[arm.twists :])


def deviated(arm: Arm, x: "ca.SX", about: np.ndarray) -> "ca.SX":
    """Return deviations (nv,) of local coordinates x about the rest from a configuration `about` (nq,).

    Those of a free base are along its axes in `about`, and those of ball joints are rotation vectors from there.
    """
    import casadi as ca

    if all(about[place.start] == 1.0 for place, _ in arm.quaternions):
        return x - local(arm, about)
    q = configured(arm, x)
    parts = [ca.DM(rotation(about[3:7]).T) @ (q[:3] - about[:3])] if arm.free else []
    parts += [multiplying(conjugate(about[place])) @ q[place] for place, _ in arm.quaternions]
    return localized(arm, ca.vertcat(*parts, q[arm.poses :] - about[arm.poses :]))


def moved_by_joints(arm: Arm) -> np.ndarray:
    """Return the rates of local coordinates per joint rate, (n, m), undeformed: 1 for a joint and its motor."""
    T = np.zeros((len(arm.layout), len(arm.driven)))
    T[list(arm.driven), range(len(arm.driven))] = 1.0
    place, transmission = {joint: i for i, joint in enumerate(arm.driven)}, arm.transmission
    for joint, motor in arm.springs:
        T[motor] = transmission[place[joint]]
    return T


def multiplying(e: np.ndarray) -> "ca.DM":
    """Return the matrix (4, 4) of a quaternion's multiplication of others from the left."""
    import casadi as ca

    w, x, y, z = e
    return ca.DM([[w, -x, -y, -z], [x, w, -z, y], [y, z, w, -x], [z, -y, x, w]])
