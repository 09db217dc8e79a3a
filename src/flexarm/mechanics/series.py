"""Numbers that change with a length, as Chebyshev series in the fourth root of the length.

Load-dependent shapes depend on the ratio of the load to the beam, which grows without bound as the length goes to zero.
For a heavy load beta^4 is proportional to the length. In the length itself a series needs two to three times as many
terms (40 instead of 16 with a point mass). In its logarithm, or its third root, it needs as many as here.
"""

from dataclasses import dataclass
from typing import final

import casadi as ca
import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import ArrayLike

from flexarm.cached import cached_property
from flexarm.mechanics.spatial import Scalar, Vector, dot, entries


@final
@dataclass(frozen=True, eq=False)
class Series:
    """Numbers as functions of the length: Chebyshev series between two lengths, or constants if there is one term."""

    low: float
    high: float
    coefficients: np.ndarray
    """Coefficients, (terms, numbers)."""

    def at(self, length: Scalar) -> Vector:
        """Return the numbers at a length, which may be symbolic."""
        if len(self.coefficients) == 1:
            return self.coefficients[0].tolist()
        if not isinstance(length, ca.SX):
            return self.values(length).tolist()
        low, high = float(root(self.low)), float(root(self.high))
        (s,) = entries(ca.sqrt(ca.sqrt(length)))
        t = (2.0 * s - (low + high)) / (high - low)
        T: Vector = [1.0, t]
        while len(T) < len(self.coefficients):
            T.append(2.0 * (t * T[-1]) - T[-2])
        return [dot(column, T) for column in self.coefficients.T.tolist()]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Series) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @cached_property
    def _key(self) -> tuple:
        return self.low, self.high, self.coefficients.shape, self.coefficients.tobytes()

    def values(self, length: ArrayLike) -> np.ndarray:
        """Return the numbers at one or many lengths, in a last axis."""
        return np.moveaxis(chebyshev.chebval(self._place(length), self.coefficients), 0, -1)

    def _place(self, length: ArrayLike) -> np.ndarray:
        """Return the position of a length between -1 and 1."""
        low, high = root(self.low), root(self.high)
        return (2.0 * root(length) - (low + high)) / (high - low)

    def slopes(self, length: ArrayLike) -> np.ndarray:
        """Return the derivatives at one or many lengths, in a last axis."""
        if len(self.coefficients) == 1:
            return 0.0 * self.values(length)
        by_root = chebyshev.chebder(self.coefficients) * 2 / (root(self.high) - root(self.low))
        found = np.moveaxis(chebyshev.chebval(self._place(length), by_root), 0, -1)
        return found / (4 * root(length)[..., None] ** 3)

    @cached_property
    def slope(self) -> "Series":
        """The derivatives."""
        if len(self.coefficients) == 1:
            return Series(self.low, self.high, 0.0 * self.coefficients)
        lengths = nodes(self.low, self.high)
        return interpolated(self.low, self.high, lengths, self.slopes(lengths))

    def is_close_to(self, other: "Series") -> bool:
        """Return True if both series are equal up to rounding."""
        x = np.linspace(self.low, self.high, 9)
        return np.allclose(self.values(x), other.values(x), rtol=1e-9, atol=1e-9 * np.abs(self.coefficients).max())

    @property
    def columns(self) -> list["Series"]:
        """Each number by itself, with as many terms as it needs. A constant has one."""
        return [Series(self.low, self.high, _needed(column)[:, None]) for column in self.coefficients.T]


def root(length: ArrayLike) -> np.ndarray:
    """Return the fourth root, the variable of the series."""
    return np.sqrt(np.sqrt(np.asarray(length, dtype=float)))


TERMS = 64
"""Terms of a series before truncation. Modal integrals are smooth in the length and need fewer."""


def nodes(low: float, high: float) -> np.ndarray:
    """Return the lengths at which a series between two lengths needs values, (TERMS,), ascending."""
    t = np.cos(np.pi * (np.arange(TERMS) + 0.5) / TERMS)[::-1]
    return ((root(low) + root(high) + (root(high) - root(low)) * t) / 2) ** 4


def interpolated(low: float, high: float, lengths: np.ndarray, values: np.ndarray) -> Series:
    """Return the series through values (lengths, numbers) at `nodes`, or at one length, without rounding terms."""
    if len(lengths) == 1:
        return Series(low, high, values)
    terms = np.arange(TERMS)
    c = np.cos(np.pi * np.outer(terms, terms[::-1] + 0.5) / TERMS) @ values * (2 / TERMS)
    c[0] /= 2
    # the last terms show the error of a number that is less accurate
    rounding = np.maximum(ROUNDING * np.abs(values).max(axis=0), 2 * np.abs(c[-8:]).max(axis=0))
    c[np.abs(c) <= rounding] = 0.0
    needed = np.flatnonzero(c.any(axis=1))
    return Series(low, high, c[: needed[-1] + 1 if len(needed) else 1])


ROUNDING = 1e-14
"""Rounding error of a series' terms, relative to the number's largest value."""


def _needed(c: np.ndarray) -> np.ndarray:
    """Return a series without its last terms if they are rounding."""
    worth = np.flatnonzero(np.abs(c) > 10 * ROUNDING * np.abs(c).sum())
    return c[: worth[-1] + 1 if len(worth) else 1]
