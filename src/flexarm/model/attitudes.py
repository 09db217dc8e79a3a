"""Attitudes of a free base that somebody gives: whether a quaternion is one, and how long it may be."""

import math

import numpy as np

from flexarm.description.arm import Arm
from flexarm.description.free import POSE
from flexarm.errors import DescriptionError

Array = np.ndarray

SHORTEST, LONGEST = 1e-100, 1e100
"""Length of a quaternion, or the largest of its numbers: with less, or more, its attitude is lost to rounding."""

OFF = 1e-3
"""By how much the length of a quaternion that somebody has typed may differ from 1."""


def checked_attitude(q: Array) -> None:
    """Refuse coordinates (..., nq) of an arm on a free base whose quaternion is none; its length need not be 1."""
    e = q[..., 3 : len(POSE)]
    if q.ndim == 1:  # a tenth of the time of what stands below
        least = most = math.hypot(*e.tolist())
    else:
        sizes = np.abs(e).max(axis=-1)
        least, most = sizes.min(initial=1.0), sizes.max(initial=1.0)
    if not (least > SHORTEST and most < LONGEST):
        raise _of_length("q", most if least > SHORTEST else least)


def checked_unit(name: str, q: Array, arm: Arm) -> None:
    """Refuse coordinates (..., nq) of an arm on a free base whose quaternion is not nearly of length 1."""
    if arm.free:
        lengths = np.hypot.reduce(q[..., 3 : len(POSE)], axis=-1)  # squares may overflow
        worst = max(lengths.ravel().tolist(), key=lambda each: abs(each - 1.0), default=1.0)
        if not abs(worst - 1.0) <= OFF:
            raise _of_length(name, worst)


def unit_pose(name: str, q: Array, arm: Arm) -> Array:
    """Coordinates (..., nq) with the quaternion of a free base made a unit one; those of another arm as they are.

    Raises `DescriptionError` where it is not close to one.
    """
    checked_unit(name, q, arm)
    if not arm.free:
        return q
    e = q[..., 3 : len(POSE)]
    length = np.hypot.reduce(e, axis=-1, keepdims=True)
    return np.concatenate([q[..., :3], e / length, q[..., len(POSE) :]], axis=-1)


def _of_length(name: str, length: float) -> DescriptionError:
    parts = ", ".join(POSE[3:])
    return DescriptionError(f"{name}: {parts} are a quaternion of length {length:.4g}; it must be of length 1")
