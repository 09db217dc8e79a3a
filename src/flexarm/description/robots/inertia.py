"""Inertia of combined bodies, such as links behind fixed joints and the link that carries them."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from flexarm.description.robots.robot import Inertial


class Lump(NamedTuple):
    """Mass [kg], centre of mass c (3,) [m] and inertia about it I (3, 3) [kg m^2], all in one frame."""

    m: float
    c: np.ndarray
    I: np.ndarray

    @property
    def is_nothing(self) -> bool:
        """True if the lump has neither mass nor inertia."""
        return self.m == 0.0 and not self.I.any()


def lump_of(given: Inertial) -> Lump:
    """Return an inertia of a file, along its own axes."""
    return Lump(given.mass, np.zeros(3), given.inertia)


ROUNDED = 1e-6
"""Tolerance for negative principal moments of inertia that come from rounding in files.

It is a share of the largest principal moment, and a distance in metres for the mass.
"""


UNEVEN = 1e-3
"""Share of the largest principal moment of inertia by which it may exceed the sum of the others. The moment of a plate
equals this sum, and files give three digits or more."""
NEARLY_NOTHING = 1e-14
"""Share of the inertia about a point below which an inertia about an axis through it counts as zero."""


def excess(lump: Lump) -> float:
    """Return the excess of the largest principal moment of inertia over the sum of the others, or 0 if it is
    rounding."""
    a, b, c = np.linalg.eigvalsh(lump.I).tolist()
    return max(c - a - b, 0.0) if c - a - b > UNEVEN * abs(c) else 0.0


def about(lump: Lump, axis: np.ndarray) -> float:
    """Return the moment of inertia about an axis through the frame's origin, or zero if it is rounding."""
    found = axis @ lump.I @ axis + lump.m * float(np.sum(np.cross(axis, lump.c) ** 2))
    return float(found) if found > NEARLY_NOTHING * (np.trace(lump.I) + lump.m * lump.c @ lump.c) else 0.0


def least(lump: Lump) -> float:
    """Return the least principal moment, or 0 if it is negative only by rounding."""
    values = np.linalg.eigvalsh(lump.I)
    return float(values[0]) if values[0] < -_rounding(lump.m, values) else max(float(values[0]), 0.0)


def raised(lump: Lump) -> np.ndarray:
    """Return the tensor with zero in place of a principal moment that is negative only by rounding."""
    values, axes = np.linalg.eigh(lump.I)
    if not -_rounding(lump.m, values) <= values[0] < 0.0:
        return lump.I
    found = axes * np.maximum(values, 0.0) @ axes.T
    return (found + found.T) / 2


def _rounding(m: float, values: np.ndarray) -> float:
    return float(ROUNDED * abs(values).max() + m * ROUNDED**2)


NOTHING = Lump(0.0, np.zeros(3), np.zeros((3, 3)))


def seen(lump: Lump, R: np.ndarray, p: np.ndarray) -> Lump:
    """Return the same inertia in a frame A, where R_AB and p_AB place its own frame B."""
    I = R @ lump.I @ R.T
    return Lump(lump.m, p + R @ lump.c, (I + I.T) / 2)


def together(lumps: Iterable[Lump]) -> Lump:
    """Return the inertia of all lumps as one: I = sum (I_i + m_i (d_i . d_i 1 - d_i d_i')), d_i from the common centre
    of mass."""
    some = [lump for lump in lumps if not lump.is_nothing]
    if len(some) < 2:
        return some[0] if some else NOTHING
    m = sum(lump.m for lump in some)
    c = sum((lump.m * lump.c for lump in some), np.zeros(3)) / m if m else np.zeros(3)
    I = np.zeros((3, 3))
    for lump in some:
        d = lump.c - c
        I += lump.I + lump.m * (d @ d * np.eye(3) - np.outer(d, d))
    return Lump(m, c, (I + I.T) / 2)
