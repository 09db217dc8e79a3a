"""Polynomials in a beam's amplitudes, truncated at a degree, whose coefficients are functions along the beam."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import product as pairs_of
from math import prod
from typing import Any, ClassVar, final

import numpy as np

from flexarm.mechanics.spatial import Scalar, Vector

DEGREE = 3
"""Largest degree of terms. The kinematics of a segment neglect the fourth degree in its angles
(docs/do/large-deflections.md)."""

ROUNDING = 1e-11
"""Coefficients below this part of the size of their expansion are rounding. In beams of 2 to 12 segments, rounding
reaches 1e-12, and the smallest coefficient of a term is 1e-4."""

Monomial = tuple[int, ...]
"""Indices of the factors, ascending: (0, 0, 2) is xi_0^2 xi_2."""


@final
@dataclass(frozen=True, eq=False)
class Expansion:
    """The sum of c_m(x) m(xi) over monomials m up to the degree DEGREE."""

    __array_ufunc__: ClassVar[None] = None  # otherwise an array times an expansion would be an array of expansions
    terms: dict[Monomial, np.ndarray] = field(default_factory=dict)
    """Values of each coefficient at points x, (points,)."""

    def __add__(self, other: "Expansion") -> "Expansion":
        found = dict(self.terms)
        for m, c in other.terms.items():
            found[m] = found[m] + c if m in found else c
        return Expansion(found)

    def __sub__(self, other: "Expansion") -> "Expansion":
        return self + -1.0 * other

    def __rmul__(self, factor: float | np.ndarray) -> "Expansion":
        return Expansion({m: factor * c for m, c in self.terms.items()})

    def __mul__(self, other: "Expansion") -> "Expansion":
        return self.times(other, DEGREE)

    def times(self, other: "Expansion", degree: int) -> "Expansion":
        """Return the product up to a degree."""
        found: dict[Monomial, np.ndarray] = {}
        for (m, c), (n, d) in pairs_of(self.terms.items(), other.terms.items()):
            if len(m) + len(n) <= degree:
                together = tuple(sorted(m + n))
                found[together] = found[together] + c * d if together in found else c * d
        return Expansion(found)

    def slope(self, i: int) -> "Expansion":
        """Return the derivative with respect to xi_i."""
        found = {}
        for m, c in self.terms.items():
            if power := m.count(i):
                place = m.index(i)
                found[m[:place] + m[place + 1 :]] = power * c
        return Expansion(found)

    def through(self, A: np.ndarray) -> "Expansion":
        """Apply a linear operator to the coefficients' values, (points, points), or a functional, (points,)."""
        return Expansion({m: A @ c for m, c in self.terms.items()})


def total(some: Iterable[Expansion]) -> Expansion:
    """Return the sum."""
    found = Expansion()
    for each in some:
        found = found + each
    return found


def dotted(a: Iterable[Expansion], b: Iterable[Expansion], degree: int = DEGREE) -> Expansion:
    """Return a . b up to a degree."""
    return total(x.times(y, degree) for x, y in zip(a, b, strict=True))


def product_of(A: list[list[Expansion]], B: list[list[Expansion]]) -> list[list[Expansion]]:
    """Return A B."""
    return [[dotted(row, column) for column in zip(*B, strict=True)] for row in A]


def arc_tangent(y: Expansion, x: Expansion) -> Expansion:
    """Return atan2(y, x) as its value at rest, which is less than a half turn, and small changes."""
    x0 = x.terms[()]
    y0 = y.terms.get((), np.zeros_like(x0))
    size = np.hypot(x0, y0)
    c, s = x0 / size, y0 / size
    across, along = (c / size) * y - (s / size) * x, (c / size) * x + (s / size) * y  # 0 and 1 at rest
    one = Expansion({(): np.ones_like(x0)})
    rest, inverse = one - along, one
    for _ in range(DEGREE):
        inverse = one + rest * inverse
    t = across * inverse
    return Expansion({(): np.arctan2(y0, x0)}) + t - (1.0 / 3.0) * (t * t * t)


def arc_sine(y: Expansion) -> Expansion:
    """Return asin(y) as its value at rest, which is less than a right angle, and small changes."""
    changes = Expansion({m: value for m, value in y.terms.items() if m})
    s = y.terms.get((), np.zeros(1))
    c = np.sqrt(1.0 - s**2)
    t = (1.0 / c) * changes
    cubic = (s / (2.0 * c)) * (t * t) + ((1.0 + 2.0 * s**2) / (6.0 * c**2)) * (t * t * t)
    return Expansion({(): np.arcsin(s)} if () in y.terms else {}) + t + cubic


class Monomials:
    """The monomials at amplitudes eta, each computed once, and the factors by_i of xi_i = by_i eta_i."""

    def __init__(self, eta: Vector, by: Vector):
        self.eta, self.by = eta, by
        self.known: dict[Monomial, Scalar] = {}

    def __getitem__(self, m: Monomial) -> Scalar:
        if m not in self.known:
            self.known[m] = self.eta[m[0]] if len(m) == 1 else self[m[:-1]] * self.eta[m[-1]]
        return self.known[m]


@final
@dataclass(frozen=True)
class Sum:
    """A polynomial in xi with numbers as coefficients."""

    terms: tuple[tuple[Monomial, float], ...]

    def at(self, monomials: Monomials, factor: Scalar = 1.0) -> Scalar:
        """Return its value, times a factor.

        Factors that depend on parameters alone are multiplied first, before amplitudes.
        """
        found: Scalar = 0.0
        for m, c in self.terms:
            before = c * prod((monomials.by[i] for i in m), start=factor)
            found = found + (before * monomials[m] if m else before)
        return found


def summed(some: Any, size: float) -> Any:
    """Convert expansions of numbers (nested lists) to `Sum`s without terms that are rounding relative to `size`."""
    if isinstance(some, list):
        return [summed(each, size) for each in some]
    return Sum(tuple((m, float(c)) for m, c in sorted(some.terms.items()) if abs(float(c)) > ROUNDING * size))
