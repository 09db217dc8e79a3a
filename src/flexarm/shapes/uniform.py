"""Modes of a uniform beam with free, clamped or pinned ends."""

from functools import partial
from typing import Literal, final

import numpy as np

from flexarm.shapes.basis import Basis, Family, checked_count, scaled


@final
class ClampedFree(Family):
    """Bending of a uniform beam clamped at x = 0 and free at x = 1; phi(1) = +1 is the largest deflection.

    These are the textbook's `cosh - cos - sigma (sinh - sin)` (Blevins 1979, table 8-1; Mohan & Saha eq. 43, which
    counts from the free end). int phi_i phi_j is 1/4 for i = j, else 0, and int phi_i'' phi_j'' is beta_i^4 times that.
    """

    family: Literal["clamped-free"] = "clamped-free"

    def basis(self, count: int) -> Basis:
        """Return the `count` modes of lowest frequency."""
        return Basis(count, partial(_clamped_free, roots(count)))


@final
class PinnedPinned(Family):
    """Bending of a uniform beam pinned at both ends, sin(k pi x): the slope at the hub is positive."""

    family: Literal["pinned-pinned"] = "pinned-pinned"

    def basis(self, count: int) -> Basis:
        """Return the `count` modes of lowest frequency."""
        return Basis(count, partial(_pinned_pinned, np.arange(1, checked_count(count) + 1)))


@final
class PinnedFree(Family):
    """Elastic modes of a uniform beam pinned at x = 0 and free at x = 1; phi(1) = +1 is the largest deflection.

    2 phi = sin(beta x) / sin(beta) + sinh(beta x) / sinh(beta) with tan(beta) = tanh(beta). The rotation of the
    straight beam about its pin is not a mode of this family, because it is the joint's coordinate.
    """

    family: Literal["pinned-free"] = "pinned-free"

    def basis(self, count: int) -> Basis:
        """Return the `count` elastic modes of lowest frequency."""
        return Basis(count, partial(_pinned_free, pinned_roots(count)))


@final
class ClampedPinned(Family):
    """Bending of a uniform beam clamped at x = 0 and pinned at x = 1; the curvature at the hub is positive.

    As functions of the distance from the pin, y = 1 - x, the modes are sin(beta y) / sin(beta) - sinh(beta y) /
    sinh(beta) with tan(beta) = tanh(beta), scaled to a largest deflection of 1.
    """

    family: Literal["clamped-pinned"] = "clamped-pinned"

    def basis(self, count: int) -> Basis:
        """Return the `count` modes of lowest frequency."""
        return scaled(Basis(count, partial(_clamped_pinned, pinned_roots(count))))


def roots(count: int) -> np.ndarray:
    """Return the wave numbers beta of the first modes of a clamped-free beam, cos(beta) cosh(beta) = -1: (count,)."""
    return _roots(np.arange(1, checked_count(count) + 1) - 0.5, lambda c, s, sech, tanh: (c + sech, -s - sech * tanh))


def clamped_roots(count: int) -> np.ndarray:
    """Return the wave numbers of a beam clamped at both ends, cos(beta) cosh(beta) = 1: (count,)."""
    return _roots(np.arange(1, count + 1) + 0.5, lambda c, s, sech, tanh: (c - sech, -s + sech * tanh))


def pinned_roots(count: int) -> np.ndarray:
    """Return the wave numbers of a pinned-free and of a clamped-pinned beam, tan(beta) = tanh(beta): (count,)."""
    return _roots(
        np.arange(1, checked_count(count) + 1) + 0.25, lambda c, s, sech, T: (s - T * c, c + T * s - sech**2 * c)
    )


def _roots(guess, equation):
    """Solve an equation by Newton's method from guess times pi. Its terms cos, sin, sech and tanh never overflow."""
    beta = guess * np.pi
    for _ in range(6):  # the first root of a clamped-free beam, the slowest, converges in 4 steps
        E = np.exp(-beta)
        f, slope = equation(np.cos(beta), np.sin(beta), 2 * E / (1 + E**2), (1 - E**2) / (1 + E**2))
        beta = beta - f / slope
    return beta


def _clamped_free(beta, x, n):
    # About the middle, y = x - 1/2, each mode is half an even and half an odd function, each 1 at the tip:
    #   2 phi = cosh(beta y) / cosh(beta/2) + sin(beta y) / sin(beta/2)    modes 1, 3, ...: s = +1
    #   2 phi = sinh(beta y) / sinh(beta/2) + cos(beta y) / cos(beta/2)    modes 2, 4, ...: s = -1
    # so phi(0) = phi''(1) = 0 and phi(1) = 1 to the last bit, and phi'(0) = phi'''(1) = 0 is the equation of beta.
    # sigma = tanh(beta/2) or coth(beta/2) converts this to the textbook's form, which loses every digit at mode 12.
    y, x = beta * (x[:, None] - 0.5), x[:, None]
    odd = np.arange(beta.size) % 2 == 0
    s = np.where(odd, 1, -1)
    hyperbolic = (np.exp(-beta * (1 - x)) + s * (-1) ** n * np.exp(-beta * x)) / (1 + s * np.exp(-beta))
    circular = np.where(odd, sine(y, n) / np.sin(beta / 2), sine(y, n + 1) / np.cos(beta / 2))
    return beta**n / 2 * (hyperbolic + circular)


def clamped_clamped(beta: np.ndarray, x: np.ndarray, n: int) -> np.ndarray:
    """Return the n-th derivative of modes of a beam clamped at both ends, cos(beta) cosh(beta) = 1: (points, modes).

    About the middle, y = x - 1/2, the modes are cos(beta y) / cos(beta/2) - cosh(beta y) / cosh(beta/2) and the same
    with sin and sinh in turn. They are zero at both ends to the last bit, and of size 1 to 2 between them.
    """
    y, x = beta * (x[:, None] - 0.5), x[:, None]
    even = np.arange(beta.size) % 2 == 0
    s = np.where(even, 1, -1)
    hyperbolic = (np.exp(-beta * (1 - x)) + s * (-1) ** n * np.exp(-beta * x)) / (1 + s * np.exp(-beta))
    circular = np.where(even, sine(y, n + 1) / np.cos(beta / 2), sine(y, n) / np.sin(beta / 2))
    return beta**n * (circular - hyperbolic)


def _pinned_pinned(k, x, n):
    # Counted from the nearer end, so that both ends are nodes to the last bit: sin(k pi x) = -+ sin(k pi (1 - x)).
    x = x[:, None]
    near, sign = np.where(x > 0.5, 1 - x, x), np.where(x > 0.5, -((-1.0) ** (k + n)), 1.0)
    return (k * np.pi) ** n * sign * sine(k * np.pi * near, n)


def _pinned_free(beta, x, n):
    return beta**n / 2 * (_over_sin(beta, x, n) + _over_sinh(beta, x, n))


def _clamped_pinned(beta, x, n):
    return (-beta) ** n * (_over_sin(beta, 1 - x, n) - _over_sinh(beta, 1 - x, n))


def _over_sin(beta, x, n):
    """Return the n-th derivative of sin(beta x) / sin(beta), over beta^n."""
    return sine(beta * x[:, None], n) / np.sin(beta)


def _over_sinh(beta, x, n):
    """Return the n-th derivative of sinh(beta x) / sinh(beta), over beta^n."""
    x = x[:, None]
    return (np.exp(-beta * (1 - x)) - (-1) ** n * np.exp(-beta * (1 + x))) / (1 - np.exp(-2 * beta))


def sine(angle, n):
    """Return the n-th derivative of sin. To add n pi / 2 to the angle would round it."""
    return (-1) ** (n // 2) * (np.cos(angle) if n % 2 else np.sin(angle))
