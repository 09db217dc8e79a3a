"""Bases without a frequency equation: polynomials, finite elements, and the modes of a finite element model."""

from dataclasses import dataclass
from functools import partial
from math import comb, perm
from typing import Any, ClassVar, Literal, final

import numpy as np

from flexarm.errors import DescriptionError
from flexarm.shapes.basis import BENDING, NO_SHAPES, Basis, Family, checked_count, scaled
from flexarm.shapes.fine import fine_model, lowest
from flexarm.shapes.loaded import NO_LOAD, Carrying, TipLoad, checked_case


@final
class Polynomial(Family):
    """Polynomials clamped at x = 0, orthogonal over the beam: x^2 P_k(2x - 1), P_k Jacobi's of (0, 4), k = 0, 1, ...

    They span x^2, ..., x^(count + 1). phi(1) = +1 is the largest deflection, and int phi_i phi_j is 1 / (2k + 5) for i
    = j, else 0. Plain powers would give a Hilbert matrix, which has no correct digit for 12 or more powers.
    """

    family: Literal["polynomial"] = "polynomial"

    def basis(self, count: int) -> Basis:
        """Return the `count` polynomials of lowest degree."""
        return jacobi(count, 2)


def jacobi(count: int, zero: int) -> Basis:
    """Return x^zero P_k(2x - 1), P_k Jacobi's of (0, 2 zero), k < count: orthogonal over (0, 1), 1 at the tip."""
    count = checked_count(count)
    edges = (1 - np.cos(np.pi * np.arange(count // 4 + 2) / (count // 4 + 1))) / 2  # zeros are dense at the ends
    return Basis(count, partial(_jacobi, count, zero), tuple(edges.tolist()))


def _jacobi(count, zero, x, n):
    from scipy.special import eval_jacobi  # here, since a description needs no scipy

    k, x = np.arange(count), x[:, None]

    def P(m):
        """Return the m-th derivative of P_k(2x - 1)."""
        factor = np.prod([k + 2.0 * zero + i for i in range(1, m + 1)], axis=0)
        return np.where(k >= m, factor * eval_jacobi(np.maximum(k - m, 0), m, 2 * zero + m, 2 * x - 1), 0.0)

    some = range(min(zero, n) + 1)  # Leibniz; the i-th derivative of x^zero is perm(zero, i) x^(zero - i)
    return sum(comb(n, i) * perm(zero, i) * x ** (zero - i) * P(n - i) for i in some)


@final
class Hermite(Family):
    """Cubic finite elements as a basis, clamped at x = 0: `count` is twice the number of equal elements.

    Coordinates are, node by node, the deflection u, and the slope u' times the length of an element, all in metres. The
    largest deflection of a slope's shape is 4/27 instead of 1, because its coordinate is the slope itself.
    """

    family: Literal["hermite"] = "hermite"

    def refusal(self, count: int) -> str | None:
        """Return why there are not so many functions, or None."""
        count = checked_count(count)
        return "each element has two functions, so the number must be even" if count % 2 else None

    def basis(self, count: int) -> Basis:
        """Return the functions of count / 2 elements. Raise `DescriptionError` if count is odd."""
        if self.refusal(count):
            raise DescriptionError(f"hermite: count is {count}; {self.refusal(count)}")
        return hermite(count // 2) if count else NO_SHAPES


def hermite(elements: int) -> Basis:
    """Return the functions of so many elements."""
    return Basis(2 * elements, partial(_hermite, elements), tuple(np.linspace(0, 1, elements + 1).tolist()))


_CUBICS = np.array([[1, 0, -3, 2], [0, 1, -2, 1], [0, 0, 3, -2], [0, 0, -1, 1]], dtype=float).T
"""Powers of xi: deflection and slope of the left node, then of the right node."""


def _hermite(elements, x, n):
    e = np.clip(np.floor(x * elements).astype(int), 0, elements - 1)
    xi = x * elements - e
    powers = np.arange(4)
    factor = np.prod([powers - i for i in range(n)], axis=0)
    derivative = factor * xi[:, None] ** np.maximum(powers - n, 0) * float(elements) ** n
    values = np.zeros((x.size, 2 * elements + 2))
    for column in range(4):
        values[np.arange(x.size), 2 * e + column] = derivative @ _CUBICS[:, column]
    return values[:, 2:]  # the first node is clamped


@final
class HermiteModes(Carrying):
    """Modes of the actual beam, tapered or not, clamped at x = 0 and with a rigid body at x = 1.

    They include its lumps, its shear and its rotary inertia, and are the lowest eigenvectors of a fine model
    (`fine_model`). The largest deflection is 1. Fields as in `ClampedMass`.
    """

    family: Literal["hermite-modes"] = "hermite-modes"

    def fitted(self, beam: Any, direction: str, load: TipLoad) -> "ModesOf":
        """Return the family for a beam (`length`, `profile`) that carries `load` and bends along `direction`."""
        checked_case(self.name, beam, load)
        return ModesOf(beam, direction, self.load(load))

    def basis(self, count: int) -> Basis:
        """Raise `DescriptionError`, since there are no modes without a beam."""
        raise self.not_fitted()


@final
@dataclass(frozen=True)
class ModesOf:
    """The modes of one beam in bending along "y" or "z" with a load at its tip."""

    beam: Any
    direction: str
    load: TipLoad = NO_LOAD
    name: ClassVar[str] = "hermite-modes"
    directions: ClassVar[tuple[str, ...]] = BENDING

    def basis(self, count: int) -> Basis:
        """Return the `count` modes of lowest frequency."""
        if not checked_count(count):
            return NO_SHAPES  # the beam may have no stiffness in this direction
        fine, load = fine_model(self.beam, self.direction, count), self.load
        tip, slope = fine.deflection(1.0)[0], fine.rotation(1.0)[0] / self.beam.length
        M = fine.M + load.mass * np.outer(tip, tip) + load.inertia * np.outer(slope, slope)
        M += load.first_moment * (np.outer(tip, slope) + np.outer(slope, tip))
        return scaled(fine.basis(lowest(M, fine.K, count)[1]))
