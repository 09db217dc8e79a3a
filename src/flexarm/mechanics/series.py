"""Numbers that change with a length, as Chebyshev series."""

from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import ArrayLike

from flexarm.mechanics.spatial import Scalar, Vector, dot


@final
@dataclass(frozen=True, eq=False)
class Series:
    """Numbers as functions of the length: Chebyshev series between two lengths; constants where there is one term."""

    low: float
    high: float
    coefficients: np.ndarray
    """(terms, numbers)"""

    def at(self, length: Scalar) -> Vector:
        """The numbers at a length, which may be symbolic."""
        t = (2.0 * length - (self.low + self.high)) / (self.high - self.low)
        T: Vector = [1.0, t]
        while len(T) < len(self.coefficients):
            T.append(2.0 * (t * T[-1]) - T[-2])
        return [dot(column, T[: len(column)]) for column in self.coefficients.T.tolist()]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Series) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @cached_property
    def _key(self) -> tuple:
        return self.low, self.high, self.coefficients.shape, self.coefficients.tobytes()

    def values(self, length: ArrayLike) -> np.ndarray:
        """The numbers at a length or at many, in a last axis."""
        t = (2.0 * np.asarray(length, dtype=float) - (self.low + self.high)) / (self.high - self.low)
        return np.moveaxis(chebyshev.chebval(t, self.coefficients), 0, -1)

    @cached_property
    def slope(self) -> "Series":
        """The derivatives."""
        if len(self.coefficients) == 1:
            return Series(self.low, self.high, 0.0 * self.coefficients)
        return Series(self.low, self.high, chebyshev.chebder(self.coefficients) * 2 / (self.high - self.low))

    def is_close_to(self, other: "Series") -> bool:
        """Whether both are the same numbers but for rounding."""
        x = np.linspace(self.low, self.high, 9)
        return np.allclose(self.values(x), other.values(x), rtol=1e-9, atol=1e-9 * np.abs(self.coefficients).max())

    @property
    def columns(self) -> list["Series"]:
        """Each number by itself, with as many terms as it needs: one that does not change has one."""
        return [Series(self.low, self.high, _needed(column)[:, None]) for column in self.coefficients.T]


def interpolated(low: float, high: float, nodes: np.ndarray, values: np.ndarray) -> Series:
    """The series through values (nodes, numbers), without the terms that are rounding."""
    if len(nodes) == 1:
        return Series(low, high, values)
    c = chebyshev.chebfit((2 * nodes - low - high) / (high - low), values, len(nodes) - 1)
    size = np.abs(values).max(axis=0)
    needed = np.flatnonzero((np.abs(c) > ROUNDING * size).any(axis=1))
    return Series(low, high, c[: needed[-1] + 1 if len(needed) else 1])


ROUNDING = 1e-14
"""Of a number's largest value: what the terms of its series are by rounding."""


def _needed(c: np.ndarray) -> np.ndarray:
    """A series without its last terms where they are rounding."""
    worth = np.flatnonzero(np.abs(c) > 10 * ROUNDING * np.abs(c).sum())
    return c[: worth[-1] + 1 if len(worth) else 1]
