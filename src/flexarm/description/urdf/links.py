"""Inertia of bodies that are one: what links behind fixed joints add to the link that carries them."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np


class Lump(NamedTuple):
    """Mass [kg], centre of mass c (3,) [m] and inertia about it I (3, 3) [kg m^2], all in one frame."""

    m: float
    c: np.ndarray
    I: np.ndarray

    @property
    def is_nothing(self) -> bool:
        """Whether it resists no acceleration."""
        return self.m == 0.0 and not self.I.any()


NOTHING = Lump(0.0, np.zeros(3), np.zeros((3, 3)))


def seen(lump: Lump, R: np.ndarray, p: np.ndarray) -> Lump:
    """The same in a frame A, where R_AB and p_AB place its own frame B."""
    I = R @ lump.I @ R.T
    return Lump(lump.m, p + R @ lump.c, (I + I.T) / 2)


def together(lumps: Iterable[Lump]) -> Lump:
    """All as one: I = sum (I_i + m_i (d_i . d_i 1 - d_i d_i')), d_i from the common centre of mass."""
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
