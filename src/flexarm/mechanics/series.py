"""Numbers that change with a length, as Chebyshev series in the length's fourth root.

Shapes that follow a load depend on its ratio to the beam, which grows without bound as the length goes to zero: with a
heavy load beta^4 is as the length. In the length itself a series needs twice to three times as many terms (40 for 16
with a point mass); in its logarithm, or its third root, as many as here.
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
    """Numbers as functions of the length: Chebyshev series between two lengths; constants where there is one term."""

    low: float
    high: float
    coefficients: np.ndarray
    """(terms, numbers)"""

    def at(self, length: Scalar) -> Vector:
        """The numbers at a length, which may be symbolic."""
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
        """The numbers at a length or at many, in a last axis."""
        return np.moveaxis(chebyshev.chebval(self._place(length), self.coefficients), 0, -1)

    def _place(self, length: ArrayLike) -> np.ndarray:
        """Where a length stands between -1 and 1."""
        low, high = root(self.low), root(self.high)
        return (2.0 * root(length) - (low + high)) / (high - low)

    def slopes(self, length: ArrayLike) -> np.ndarray:
        """The derivatives at a length or at many, in a last axis."""
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
        """Whether both are the same numbers but for rounding."""
        x = np.linspace(self.low, self.high, 9)
        return np.allclose(self.values(x), other.values(x), rtol=1e-9, atol=1e-9 * np.abs(self.coefficients).max())

    @property
    def columns(self) -> list["Series"]:
        """Each number by itself, with as many terms as it needs: one that does not change has one."""
        return [Series(self.low, self.high, _needed(column)[:, None]) for column in self.coefficients.T]


def root(length: ArrayLike) -> np.ndarray:
    """The fourth root, in which the series are."""
    return np.sqrt(np.sqrt(np.asarray(length, dtype=float)))


TERMS = 64
"""Of a series before those that are rounding are left out: modal integrals are smooth in the length and need fewer."""


def nodes(low: float, high: float) -> np.ndarray:
    """The lengths at which numbers must be known for a series between two lengths, (TERMS,), ascending."""
    t = np.cos(np.pi * (np.arange(TERMS) + 0.5) / TERMS)[::-1]
    return ((root(low) + root(high) + (root(high) - root(low)) * t) / 2) ** 4


def interpolated(low: float, high: float, lengths: np.ndarray, values: np.ndarray) -> Series:
    """The series through values (lengths, numbers) at `nodes`, or at one length, without terms that are rounding."""
    if len(lengths) == 1:
        return Series(low, high, values)
    terms = np.arange(TERMS)
    c = np.cos(np.pi * np.outer(terms, terms[::-1] + 0.5) / TERMS) @ values * (2 / TERMS)
    c[0] /= 2
    # of a number that is itself not known better, the last terms say how well it is
    rounding = np.maximum(ROUNDING * np.abs(values).max(axis=0), 2 * np.abs(c[-8:]).max(axis=0))
    c[np.abs(c) <= rounding] = 0.0
    needed = np.flatnonzero(c.any(axis=1))
    return Series(low, high, c[: needed[-1] + 1 if len(needed) else 1])


ROUNDING = 1e-14
"""Of a number's largest value: what the terms of its series are by rounding."""


def _needed(c: np.ndarray) -> np.ndarray:
    """A series without its last terms where they are rounding."""
    worth = np.flatnonzero(np.abs(c) > 10 * ROUNDING * np.abs(c).sum())
    return c[: worth[-1] + 1 if len(worth) else 1]
