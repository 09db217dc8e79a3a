"""Local coordinates as expressions, what laws see in the place of q; and q of them."""

from typing import TYPE_CHECKING

import numpy as np

from flexarm.description.arm import Arm
from flexarm.description.free import POSE

if TYPE_CHECKING:
    import casadi as ca

NONE = 1e-60
"""Under the root of a turn's size: its slope is a number where there is no turn."""


def localized(arm: Arm, q: "ca.SX") -> "ca.SX":
    """`attitude.local` about the rest of the arm, of a column of symbols; of an arm on no free base q itself.

    At rest a free base stands along the world's axes, at its origin. The turn from there is smooth but at half a turn,
    where it jumps to the other side; where there is none it has its slope, but no second one.
    """
    if not arm.free:
        return q
    import casadi as ca

    e = ca.if_else(q[3] < 0.0, -q[3 : len(POSE)], q[3 : len(POSE)])
    size = ca.sqrt(ca.sumsqr(e[1:]) + NONE)
    return ca.vertcat(q[:3], 2.0 * ca.atan2(size, e[0]) / size * e[1:], q[len(POSE) :])


def configured(arm: Arm, x: "ca.SX") -> "ca.SX":
    """`attitude.configuration` about the rest of the arm: what `localized` takes apart."""
    if not arm.free:
        return x
    import casadi as ca

    half = 0.5 * ca.sqrt(ca.sumsqr(x[3:6]) + NONE)
    return ca.vertcat(x[:3], ca.cos(half), 0.5 * ca.sin(half) / half * x[3:6], x[6:])


def moved_by_joints(arm: Arm) -> np.ndarray:
    """How the local coordinates go along with the joints, (n, m), nothing being bent: 1 for a joint and its motor."""
    T = np.zeros((len(arm.layout), len(arm.joints)))
    T[list(arm.joints), range(len(arm.joints))] = 1.0
    place, transmission = {joint: i for i, joint in enumerate(arm.joints)}, arm.transmission
    for joint, motor in arm.springs:
        T[motor] = transmission[place[joint]]
    return T


def multiplying(e: np.ndarray) -> "ca.DM":
    """The matrix (4, 4) by which a quaternion multiplies others, from the left."""
    import casadi as ca

    w, x, y, z = e
    return ca.DM([[w, -x, -y, -z], [x, w, -z, y], [y, z, w, -x], [z, -y, x, w]])
