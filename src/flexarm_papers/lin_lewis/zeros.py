"""Study of example 4.2: the zeros belong to the output, not to the family of shapes."""

from functools import cache

import numpy as np
from scipy.optimize import brentq

from flexarm.shapes import loaded_roots
from flexarm_papers.lin_lewis.compute import LENGTH as L
from flexarm_papers.lin_lewis.compute import RATE, RHO_A, TIP_MASS, Array, at_rest, rigid_zeros, zeros

NESTED = ("pinned-pinned", "clamped-free", "clamped-mass")
"""Families in which the matrices of few modes are blocks of those of many modes."""
FAMILIES = (*NESTED, "hermite")
COUNTS = dict.fromkeys(NESTED, (2, 3, 5, 10, 15, 20)) | {"hermite": (2, 4, 6, 10, 16, 20)}
"""Numbers of modes. Two Hermite functions make one finite element."""


def exact() -> tuple[Array, Array]:
    """Return the sizes |s| of the exact first two zeros of the hub's angle and of the tip's position [rad/s].

    With the hub held, they are the frequencies of the clamped beam with its tip mass. With the tip held, u = sin b y/L
    + sinh b y/L, y from the tip, where sin b + sinh b = 0: b = (1 + j) gamma, tan gamma = -tanh gamma.
    """
    hub = loaded_roots(2, TIP_MASS / (RHO_A * L)) ** 2 * RATE
    gamma = [brentq(lambda g: np.tan(g) + np.tanh(g), (k - 0.49) * np.pi, k * np.pi) for k in (1, 2)]
    return hub, 2 * np.square(gamma) * RATE


@cache
def first_two(shapes: str, modes: int) -> tuple[Array, Array]:
    """Return the first two zeros of the hub's angle, whose row is B', and of the tip's position."""
    many = modes if shapes == "hermite" else 20
    M, K, B, C = at_rest(shapes, many)
    n = modes + 1
    M, K, B, C = M[:n, :n], K[:n, :n], B[:n], C[:, :n]
    return zeros(M, K, B, B.T)[:2], zeros(M, K, B, C)[:2]


@cache
def errors(shapes: str, modes: int) -> tuple[float, float]:
    """Return the largest relative errors of the first two zeros: (hub, tip)."""
    hub, tip = (
        float(np.abs(np.abs(z) / limit - 1).max()) for z, limit in zip(first_two(shapes, modes), exact(), strict=True)
    )
    return hub, tip


def off_the_axis(shapes: str) -> tuple[float, float]:
    """Return the largest real part of the hub's zeros and imaginary part of the tip's first, over their sizes.

    The maximum is over all numbers of modes.
    """
    pairs = [first_two(shapes, modes) for modes in COUNTS[shapes]]
    hub = max(float((np.abs(z.real) / np.abs(z)).max()) for z, _ in pairs)
    return hub, max(float(abs(z[0].imag) / abs(z[0])) for _, z in pairs)


def chord_against_tip() -> float:
    """Return the relative difference of the first zeros of the pinned-pinned coordinate and of the tip's position."""
    name = "pinned-pinned"
    return max(float(abs(rigid_zeros(name, n)[0] / first_two(name, n)[1][0] - 1)) for n in (2, 15))
