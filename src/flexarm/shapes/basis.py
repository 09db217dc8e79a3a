"""A finite set of mode shapes, its scale, and the quadrature that integrates it exactly."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from math import ceil
from typing import final

import numpy as np

from flexarm.checks import Fault, checked_array, checked_integer, refused, shown
from flexarm.errors import DescriptionError

Function = Callable[[np.ndarray, int], np.ndarray]

BENDING = ("y", "z")
RODS = ("torsion", "axial")
DIRECTIONS = (*BENDING, *RODS)
"""In which a beam deforms, in the order of its coordinates: as a beam along y and z, as a rod about and along x."""

MOST_SHAPES = 400
"""Of a family. Shapes of so high a number mean nothing on a beam; tables of them stay within some 100 MB."""


def counted(count: object) -> int:
    """A number of shapes as an integer; raises `DescriptionError`."""
    try:
        return checked_integer(count, MOST_SHAPES, "count")
    except Fault as fault:
        raise DescriptionError(f"{fault.part} {fault.message}") from None


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
    rotation : callable, optional
        As `function`, by how much sections turn; of a beam that does not shear, phi'.
    """

    count: int
    function: Function
    breaks: tuple[float, ...] = (0.0, 1.0)
    rotation: Function | None = None

    def values(self, x, derivative: int = 0) -> np.ndarray:
        """The derivative of order 0 to 3 (d/dx) of every shape at the points x: (len(x), count).

        Raises `DescriptionError` where x is no number and no list of numbers, or there is no such order.
        """
        try:
            x = np.atleast_1d(checked_array(x, "x"))
            derivative = checked_integer(derivative, 3, "derivative")
        except Fault as fault:
            raise DescriptionError(f"{fault.part} {fault.message}") from None
        return self.function(x, derivative) if self.count else np.empty((len(x), 0))  # none: nothing is imported

    def turned(self, x, derivative: int = 0) -> np.ndarray:
        """By how much sections turn, psi, or a derivative of it up to the second: (len(x), count).

        Without shear psi = phi'. Raises `DescriptionError` as `values` does.
        """
        if self.rotation is None:
            return self.values(x, derivative + 1)
        return Basis(self.count, self.rotation, self.breaks).values(x, derivative)


def _none(x: np.ndarray, derivative: int) -> np.ndarray:
    return np.empty((len(x), 0))


NO_SHAPES = Basis(0, _none)
"""Of a beam that does not bend that way."""


def quadrature(*bases: Basis, breaks: tuple[float, ...] = ()) -> tuple[np.ndarray, np.ndarray]:
    """Points x and weights w with which w @ f(x) is the integral of f over (0, 1).

    Exact to rounding for f = x^a phi_i psi_j, a = 0, 1, 2, phi and psi any functions or derivatives of the bases given,
    and for what has further `breaks` between which it is smooth.
    Raises `DescriptionError` where one is no `Basis`, and for breaks that do not lie in (0, 1).
    """
    for each in bases:
        _check_basis(each)
    with refused("quadrature"):
        inner = checked_array(breaks, "breaks")
        if inner.ndim != 1 or not ((inner >= 0) & (inner <= 1)).all():
            raise Fault("breaks", f"is {shown(breaks)}; it must be numbers from 0 to 1 in a row")
    # Mode n has a wave number of about n pi. On a panel of length 2 / n the product of two such modes is
    # cos(2 pi t + c), t in (-1, 1), which 16 points integrate to 1e-19. Finite elements are as short already.
    count = max((basis.count for basis in bases), default=0)
    all_breaks = np.unique(np.concatenate([(0.0, 1.0), inner, *(basis.breaks for basis in bases)]))
    panels = [a + (b - a) * np.arange(n) / n for a, b in pairwise(all_breaks) for n in [_pieces(b - a, count)]]
    edges = np.append(np.concatenate(panels), 1.0)
    t, weights = gauss(16)
    half, middle = np.diff(edges) / 2, (edges[1:] + edges[:-1]) / 2
    return (middle[:, None] + half[:, None] * t).ravel(), (half[:, None] * weights).ravel()


@cache
def gauss(points: int) -> tuple[np.ndarray, np.ndarray]:
    """Points in (-1, 1) and weights of Gauss' rule; they cannot be written to."""
    rule = np.polynomial.legendre.leggauss(points)
    for each in rule:
        each.flags.writeable = False
    return rule


def _pieces(length, count):
    return max(1, ceil(length * count / 2 - 1e-9))  # rounding must not cut an element of length 2 / count in two


def scaled(basis: Basis) -> Basis:
    """The same shapes, each with a largest deflection of 1 and the sign that DESIGN gives it.

    The tip's deflection is positive; where it is zero the slope at the hub is; where that is zero too, the curvature.
    Raises `DescriptionError` where it is no `Basis`.
    """
    _check_basis(basis)
    size = _sizes(basis)
    turned = None if basis.rotation is None else _Scaled(basis.rotation, size)
    return Basis(basis.count, _Scaled(basis.function, size), basis.breaks, turned)


def _check_basis(basis: object) -> None:
    if not isinstance(basis, Basis):
        raise DescriptionError(f"{shown(basis)} is no Basis; it must be what a family's basis(count) gives")


@dataclass(frozen=True)
class _Scaled:
    function: Function
    size: np.ndarray

    def __call__(self, x: np.ndarray, n: int) -> np.ndarray:
        return self.function(x, n) / self.size  # not times its inverse: what moves most then moves by 1 to the last bit


def _sizes(basis: Basis) -> np.ndarray:
    """What each shape has to be divided by."""
    if not basis.count:
        return np.ones(0)
    n = 24 * max(basis.count, 16)  # not by the count alone: two planes with the same shapes shall have the same bits
    grid = np.unique(np.concatenate([np.linspace(0, 1, n + 1), basis.breaks]))
    values, columns = np.abs(basis.values(grid)), np.arange(basis.count)
    best = grid[values.argmax(axis=0)]
    largest, x = values.max(axis=0), best
    for _ in range(4):  # Newton on phi' = 0; an error of e in x is one of e^2 in the largest deflection
        slope, curvature = (basis.values(x, d)[columns, columns] for d in (1, 2))
        step = np.divide(slope, curvature, out=np.zeros_like(slope), where=curvature != 0)
        x = np.clip(x - step, np.maximum(best - 1 / n, 0), np.minimum(best + 1 / n, 1))
    largest = np.maximum(largest, np.abs(basis.values(x)[columns, columns]))
    sign = np.zeros(basis.count)
    for end, d in ((1.0, 0), (0.0, 1), (0.0, 2)):
        value = basis.values(end, d)[0]
        unit = np.abs(basis.values(grid, d)).max(axis=0)
        sign = np.where((sign == 0) & (np.abs(value) > 1e-9 * unit), np.sign(value), sign)
    return np.where(sign == 0, 1.0, sign) * largest
