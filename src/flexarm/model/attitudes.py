"""Checks of the quaternions of a free base and of ball joints, and of their lengths."""

import math

import numpy as np

from flexarm.arrays import Array
from flexarm.description.arm import Arm
from flexarm.errors import DescriptionError

SHORTEST, LONGEST = 1e-100, 1e100
"""Bounds of a quaternion's length, or of its largest entry, beyond which rounding destroys the attitude."""

OFF = 1e-3
"""Largest difference from 1 of the length of a quaternion that a user gives."""


def checked_attitude(q: Array, arm: Arm) -> None:
    """Raise an error for coordinates (..., nq) with a quaternion that is zero or infinite.

    Its length need not be 1.
    """
    for place, _ in arm.quaternions:
        e = q[..., place]
        if q.ndim == 1:  # takes a tenth of the time of the general case
            least = most = math.hypot(*e.tolist())
        else:
            sizes = np.abs(e).max(axis=-1)
            least, most = sizes.min(initial=1.0), sizes.max(initial=1.0)
        if not (least > SHORTEST and most < LONGEST):
            raise _of_length("q", arm, place, most if least > SHORTEST else least)


def checked_unit(name: str, q: Array, arm: Arm) -> None:
    """Raise an error for coordinates (..., nq) with a quaternion that does not have a length close to 1."""
    for place, _ in arm.quaternions:
        lengths = np.hypot.reduce(q[..., place], axis=-1)  # squares may overflow
        worst = max(lengths.ravel().tolist(), key=lambda each: abs(each - 1.0), default=1.0)
        if not abs(worst - 1.0) <= OFF:
            raise _of_length(name, arm, place, worst)


def unit_pose(name: str, q: Array, arm: Arm) -> Array:
    """Return coordinates (..., nq) with normalized quaternions. Without any they are returned unchanged.

    Raises `DescriptionError` if a length is not close to 1.
    """
    checked_unit(name, q, arm)
    if arm.quaternions:
        q = np.array(q, dtype=float)
    for place, _ in arm.quaternions:
        q[..., place] /= np.hypot.reduce(q[..., place], axis=-1, keepdims=True)
    return q


def _of_length(name: str, arm: Arm, place: slice, length: float) -> DescriptionError:
    parts = ", ".join(arm.coordinates[place])
    return DescriptionError(f"{name}: the quaternion {parts} has length {length:.4g}; it must be 1")
