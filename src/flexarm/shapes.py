"""Mode shapes: how a link may bend, twist and stretch, in the normalised coordinate x in [0, 1].

A family is a frozen object with a `name` and `basis(count)`, which gives its first `count` shapes as a `Basis`. A new
family is one class and one entry in FAMILIES. A link of length L has phi(s / L), so each d/ds costs a factor 1 / L.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from math import ceil
from typing import ClassVar, final

import numpy as np

from flexarm.errors import DescriptionError


@final
@dataclass(frozen=True)
class Basis:
    """A finite set of mode shapes.

    Attributes
    ----------
    count : int
        Number of shapes, may be 0.
    function : callable
        `function(x, derivative)` -> (len(x), count), for `values`. A module-level function or a partial of one, not a
        closure: a basis then travels to another process.
    breaks : tuple of float
        Panel boundaries, from 0 to 1; between two of them every shape is smooth.
    """

    count: int
    function: Callable[[np.ndarray, int], np.ndarray]
    breaks: tuple[float, ...] = (0.0, 1.0)

    def values(self, x, derivative: int = 0) -> np.ndarray:
        """The derivative of order 0 to 3 (d/dx) of every shape at the points x: (len(x), count)."""
        return self.function(np.atleast_1d(np.asarray(x, dtype=float)), derivative)


@final
@dataclass(frozen=True)
class ClampedFree:
    """Bending of a uniform beam clamped at x = 0 and free at x = 1; phi(1) = +1 is the largest deflection.

    These are the textbook's `cosh - cos - sigma (sinh - sin)` (Blevins 1979, table 8-1; Mohan & Saha eq. 43, which
    counts from the free end). int phi_i phi_j is 1/4 for i = j, else 0, and int phi_i'' phi_j'' is beta_i^4 times that.
    """

    name: ClassVar[str] = "clamped-free"

    def basis(self, count: int) -> Basis:
        """The `count` modes of lowest frequency."""
        return Basis(count, partial(_clamped_free, roots(count)))


@final
@dataclass(frozen=True)
class FixedFree:
    """Torsion or stretch of a uniform rod fixed at x = 0 and free at x = 1: sin((2k - 1) pi x / 2), +1 at the tip."""

    name: ClassVar[str] = "fixed-free"

    def basis(self, count: int) -> Basis:
        """The `count` modes of lowest frequency."""
        return Basis(count, partial(_fixed_free, np.arange(1, 2 * count, 2) * (np.pi / 2)))


FAMILIES = {kind.name: kind for kind in (ClampedFree,)}
"""Families for bending, by name. Torsion and stretch have their own, FixedFree."""


def family(shapes):
    """The family of mode shapes with this name; an object that has `basis` is a family already and comes back as is.

    Raises
    ------
    DescriptionError
        If it is neither; the message lists the names known.
    """
    if isinstance(shapes, str) and shapes in FAMILIES:
        return FAMILIES[shapes]()
    if hasattr(shapes, "basis") and not isinstance(shapes, type):
        return shapes
    given = repr(shapes) if isinstance(shapes, str) else f"of type {type(shapes).__name__}"
    known = ", ".join(repr(name) for name in FAMILIES)
    raise DescriptionError(f"shapes {given}: unknown; allowed are {known}, or an object with basis(count)")


def roots(count: int) -> np.ndarray:
    """The wave numbers beta of the first modes of a clamped-free beam, cos(beta) cosh(beta) = -1: (count,)."""
    beta = (2 * np.arange(1, count + 1) - 1) * (np.pi / 2)
    # Newton on cos(beta) + sech(beta) = 0, which never overflows; the first root, the slowest, settles in 4 steps.
    for _ in range(6):
        E = np.exp(-beta)
        sech, tanh = 2 * E / (1 + E**2), (1 - E**2) / (1 + E**2)
        beta = beta + (np.cos(beta) + sech) / (np.sin(beta) + sech * tanh)
    return beta


def quadrature(*bases: Basis) -> tuple[np.ndarray, np.ndarray]:
    """Points x and weights w with which w @ f(x) is the integral of f over (0, 1).

    Exact to rounding for f = x^a phi_i psi_j, a = 0, 1, 2, phi and psi any functions or derivatives of the bases given.
    """
    # Mode n has a wave number of about n pi. On a panel of length 2 / n the product of two such modes is
    # cos(2 pi t + c), t in (-1, 1), which 16 points integrate to 1e-19. Finite elements are as short already.
    count = max((basis.count for basis in bases), default=0)
    breaks = np.unique(np.concatenate([(0.0, 1.0), *(basis.breaks for basis in bases)]))
    panels = [a + (b - a) * np.arange(n) / n for a, b in pairwise(breaks) for n in [_pieces(b - a, count)]]
    edges = np.append(np.concatenate(panels), 1.0)
    t, weights = np.polynomial.legendre.leggauss(16)
    half, middle = np.diff(edges) / 2, (edges[1:] + edges[:-1]) / 2
    return (middle[:, None] + half[:, None] * t).ravel(), (half[:, None] * weights).ravel()


def _pieces(length, count):
    return max(1, ceil(length * count / 2 - 1e-9))  # rounding must not cut an element of length 2 / count in two


def _clamped_free(beta, x, n):
    # Seen from the middle, y = x - 1/2, each mode is half an even and half an odd function, each 1 at the tip:
    #   2 phi = cosh(beta y) / cosh(beta/2) + sin(beta y) / sin(beta/2)    modes 1, 3, ...: s = +1
    #   2 phi = sinh(beta y) / sinh(beta/2) + cos(beta y) / cos(beta/2)    modes 2, 4, ...: s = -1
    # so phi(0) = phi''(1) = 0 and phi(1) = 1 to the last bit, and phi'(0) = phi'''(1) = 0 is the equation of beta.
    # sigma = tanh(beta/2) or coth(beta/2) takes this to the textbook's form, which loses every digit at mode 12.
    y, x = beta * (x[:, None] - 0.5), x[:, None]
    odd = np.arange(beta.size) % 2 == 0
    s = np.where(odd, 1, -1)
    hyperbolic = (np.exp(-beta * (1 - x)) + s * (-1) ** n * np.exp(-beta * x)) / (1 + s * np.exp(-beta))
    circular = np.where(odd, _sin(y, n) / np.sin(beta / 2), _sin(y, n + 1) / np.cos(beta / 2))
    return beta**n / 2 * (hyperbolic + circular)


def _fixed_free(beta, x, n):
    return np.sin(beta) * beta**n * _sin(beta * x[:, None], n)


def _sin(angle, n):
    # The n-th derivative of sin; adding n pi / 2 to the angle would round it.
    return (-1) ** (n // 2) * (np.cos(angle) if n % 2 else np.sin(angle))
