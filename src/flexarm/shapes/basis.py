"""A finite set of mode shapes, its scaling, and the quadrature that integrates it exactly."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from math import ceil
from typing import Any, ClassVar, final

import numpy as np

from flexarm.checks import Described, Fault, checked_array, checked_integer, refused, shown
from flexarm.errors import DescriptionError

Function = Callable[[np.ndarray, int], np.ndarray]

BENDING = ("y", "z")
"""Directions in which a beam bends."""

RODS = ("torsion", "axial")
"""Directions in which a beam twists and stretches."""

DIRECTIONS = (*BENDING, *RODS)
"""Directions in which a beam deforms, in the order of its coordinates."""

MOST_SHAPES = 400
"""Largest number of shapes of a family. Higher ones have no meaning for a beam, and their tables stay within 100 MB."""


def checked_count(count: object) -> int:
    """Return a number of shapes as an integer. Raises `DescriptionError`."""
    with refused():
        return checked_integer(count, MOST_SHAPES, "count")


class Family(Described):
    """A family of shapes, whose field `family` has its name as the default. Most families suit bending."""

    name: ClassVar[str]
    directions: ClassVar[tuple[str, ...]] = BENDING

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        if "family" in cls.model_fields:  # not in a base class of several families
            cls.name = cls.model_fields["family"].default

    def not_fitted(self) -> DescriptionError:
        """Return the error of a family that depends on its beam, and is used without one."""
        return DescriptionError(
            f"{self.name}: the shapes depend on the beam and its load; call fitted(beam, ...) first"
        )


@final
@dataclass(frozen=True)
class Basis:
    """A finite set of mode shapes.

    Attributes
    ----------
    count : int
        Number of shapes, may be 0.
    function : callable
        `function(x, derivative)` -> (len(x), count), for `values`. It must be a module-level function or a partial of
        one, not a closure, so that a basis can be sent to another process.
    breaks : tuple of float
        Panel boundaries, from 0 to 1; between two of them every shape is smooth.
    rotation : callable, optional
        As `function`, for the rotation of sections; without shear it is phi'.
    """

    count: int
    function: Function
    breaks: tuple[float, ...] = (0.0, 1.0)
    rotation: Function | None = None

    def values(self, x, derivative: int = 0) -> np.ndarray:
        """Return the derivative of order 0 to 3 (d/dx) of every shape at the points x: (len(x), count).

        Raises `DescriptionError` if x is neither a number nor a list of numbers, or for another order.
        """
        return self._evaluated(self.function, x, _order(derivative, 3))

    def turned(self, x, derivative: int = 0) -> np.ndarray:
        """Return the rotation psi of sections, or a derivative of it up to the second: (len(x), count).

        Without shear psi = phi'. Raises `DescriptionError` as `values` does.
        """
        order = _order(derivative, 2)
        if self.rotation is None:
            return self._evaluated(self.function, x, order + 1)
        return self._evaluated(self.rotation, x, order)

    def _evaluated(self, function: Function, x, derivative: int) -> np.ndarray:
        with refused():
            x = np.atleast_1d(checked_array(x, "x"))
        # without shapes, nothing is imported
        return function(x, derivative) if self.count else np.empty((len(x), 0))


def _order(derivative: object, most: int) -> int:
    """Return the order of a derivative, from 0 to `most`. Raises `DescriptionError`."""
    with refused():
        return checked_integer(derivative, most, "derivative")


def _none(x: np.ndarray, derivative: int) -> np.ndarray:
    return np.empty((len(x), 0))


NO_SHAPES = Basis(0, _none)
"""Basis of a direction in which a beam does not deform."""


def quadrature(*bases: Basis, breaks: tuple[float, ...] = ()) -> tuple[np.ndarray, np.ndarray]:
    """Return points x and weights w such that w @ f(x) is the integral of f over (0, 1).

    The rule is exact to rounding for f = x^a phi_i psi_j, a = 0, 1, 2, with phi and psi any functions or derivatives of
    the bases. It is also exact for functions with further `breaks` between which they are smooth.

    Raises `DescriptionError` for an object that is not a `Basis`, and for breaks outside [0, 1].
    """
    for each in bases:
        _check_basis(each)
    with refused("quadrature"):
        inner = checked_array(breaks, "breaks")
        if inner.ndim != 1 or not ((inner >= 0) & (inner <= 1)).all():
            raise Fault("breaks", f"is {shown(breaks)}; it must be a list of numbers from 0 to 1")
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
    """Return points in (-1, 1) and weights of Gauss's rule, as read-only arrays."""
    rule = np.polynomial.legendre.leggauss(points)
    for each in rule:
        each.flags.writeable = False
    return rule


def _pieces(length, count):
    return max(1, ceil(length * count / 2 - 1e-9))  # rounding must not divide an element of length 2 / count in two


def scaled(basis: Basis) -> Basis:
    """Return the same shapes, each scaled to a largest deflection of 1 and with a defined sign.

    The tip's deflection is positive. If it is zero, the slope at the hub is, and if that is zero too, the curvature.
    Raises `DescriptionError` for an object that is not a `Basis`.
    """
    _check_basis(basis)
    size = _sizes(basis)
    turned = None if basis.rotation is None else _Scaled(basis.rotation, size)
    return Basis(basis.count, _Scaled(basis.function, size), basis.breaks, turned)


def _check_basis(basis: object) -> None:
    if not isinstance(basis, Basis):
        raise DescriptionError(f"{shown(basis)} is not a Basis; use the result of a family's basis(count)")


@dataclass(frozen=True)
class _Scaled:
    function: Function
    size: np.ndarray

    def __call__(self, x: np.ndarray, n: int) -> np.ndarray:
        return self.function(x, n) / self.size  # a division, so that the largest deflection is 1 to the last bit


def _sizes(basis: Basis) -> np.ndarray:
    """Return the divisor of each shape."""
    if not basis.count:
        return np.ones(0)
    n = 24 * max(basis.count, 16)  # at least 16, so that two planes with the same shapes have the same bits
    grid = np.unique(np.concatenate([np.linspace(0, 1, n + 1), basis.breaks]))
    values, columns = np.abs(basis.values(grid)), np.arange(basis.count)
    best = grid[values.argmax(axis=0)]
    largest, x = values.max(axis=0), best
    for _ in range(4):  # Newton on phi' = 0; an error e in x causes an error e^2 in the largest deflection
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
