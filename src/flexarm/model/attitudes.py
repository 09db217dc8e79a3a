"""Checks of a free base's quaternion, and of its length."""

import math

import numpy as np

from flexarm.arrays import Array
from flexarm.description.arm import Arm
from flexarm.description.free import POSE
from flexarm.errors import DescriptionError

SHORTEST, LONGEST = 1e-100, 1e100
"""Bounds of a quaternion's length, or of its largest entry, beyond which rounding destroys the attitude."""

OFF = 1e-3
"""Largest difference from 1 of the length of a quaternion that a user gives."""


def checked_attitude(q: Array) -> None:
    """Raise an error for coordinates (..., nq) of a free base whose quaternion is zero or infinite.

    Its length need not be 1.
    """
    e = q[..., 3 : len(POSE)]
    if q.ndim == 1:  # takes a tenth of the time of the general case
        least = most = math.hypot(*e.tolist())
    else:
        sizes = np.abs(e).max(axis=-1)
        least, most = sizes.min(initial=1.0), sizes.max(initial=1.0)
    if not (least > SHORTEST and most < LONGEST):
        raise _of_length("q", most if least > SHORTEST else least)


def checked_unit(name: str, q: Array, arm: Arm) -> None:
    """Raise an error for coordinates (..., nq) of a free base whose quaternion does not have a length close to 1."""
    if arm.free:
        lengths = np.hypot.reduce(q[..., 3 : len(POSE)], axis=-1)  # squares may overflow
        worst = max(lengths.ravel().tolist(), key=lambda each: abs(each - 1.0), default=1.0)
        if not abs(worst - 1.0) <= OFF:
            raise _of_length(name, worst)


def unit_pose(name: str, q: Array, arm: Arm) -> Array:
    """Return coordinates (..., nq) with a normalized quaternion. Those of a fixed base are returned unchanged.

    Raises `DescriptionError` if the length is not close to 1.
    """
    checked_unit(name, q, arm)
    if not arm.free:
        return q
    e = q[..., 3 : len(POSE)]
    length = np.hypot.reduce(e, axis=-1, keepdims=True)
    return np.concatenate([q[..., :3], e / length, q[..., len(POSE) :]], axis=-1)


def _of_length(name: str, length: float) -> DescriptionError:
    parts = ", ".join(POSE[3:])
    return DescriptionError(f"{name}: the quaternion {parts} has length {length:.4g}; it must be 1")
