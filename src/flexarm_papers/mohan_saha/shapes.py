"""Shapes of Mohan & Saha's eq. 43, and quadrature points along a link."""

from functools import cache

import numpy as np
from scipy.optimize import brentq

from flexarm.arrays import Array
from flexarm.shapes import family

X, W = (a / 2 for a in np.polynomial.legendre.leggauss(24))
X = X + 0.5
"""Gauss points and weights along a link of length 1."""


@cache
def roots(count: int) -> tuple[float, ...]:
    """Return the first roots of cos m cosh m = -1, one between any two multiples of pi."""
    return tuple(
        float(brentq(lambda m: np.cos(m) + 1 / np.cosh(m), j * np.pi, (j + 1) * np.pi, xtol=1e-15))
        for j in range(count)
    )


def printed_shape(zeta: Array, m: Array, derivative: int = 0) -> Array:
    """Return eq. 43, or its derivative with respect to zeta."""
    sigma = (np.sin(m) + np.sinh(m)) / (np.cos(m) + np.cosh(m))
    s, c, sh, ch = np.sin(zeta), np.cos(zeta), np.sinh(zeta), np.cosh(zeta)
    return (s + sh - sigma * (c + ch), c + ch - sigma * (sh - s), sh - s - sigma * (ch - c))[derivative]


def shape(x: Array, count: int, derivative: int = 0) -> Array:
    """Return eq. 43 with zeta = m (1 - x), scaled to 1 at the tip, or its derivative by x: (points, modes)."""
    m, x = np.array(roots(count)), np.atleast_1d(x)
    return (-m) ** derivative * printed_shape(m * (1 - x[:, None]), m, derivative) / printed_shape(0 * m, m)


def clamp(count: int = 2) -> tuple[float, float, float]:
    """Return the printed shapes' least deflection at zeta = 0, and their largest deflection and slope at zeta = m."""
    m = np.array(roots(count))
    at_0, at_m, slope = printed_shape(0 * m, m), printed_shape(m, m), printed_shape(m, m, 1)
    return float(np.abs(at_0).min()), float(np.abs(at_m).max()), float(np.abs(slope / m).max())


def shapes_apart(count: int = 2) -> float:
    """Return the largest difference of eq. 43 in `shape` from the package's clamped-free shapes."""
    x = np.linspace(0.0, 1.0, 101)
    return float(np.abs(shape(x, count) - family("clamped-free").basis(count).values(x)).max())
