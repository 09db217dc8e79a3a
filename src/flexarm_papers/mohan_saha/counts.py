"""Table 1 of Mohan & Saha: multiplications and additions by the printed formulas, and those of flexarm's program."""

from collections.abc import Callable

import casadi as ca
from scipy.optimize import brentq

from flexarm import Arm, Beam, Link, Model, Revolute
from flexarm.native.program import operations

Counts = tuple[float, float]
"""Multiplications and additions."""


def proposed(n: int, m: int) -> Counts:
    """Return the counts of the paper's recursion for n links with m modes in each of two planes."""
    k = 1 + 2 * m
    M3 = k**3 / 6 + (2 * m + 15 / 2) * k**2 + (2 * m**2 + 15 * m + 100 / 3) * k
    A3 = k**3 / 6 + k**2 / 2 + (6 * m**2 + 27 * m + 82 / 3) * k
    M4 = A4 = (2 * m**2 + 13 * m + 27) * k
    M1, A1 = 2 * m**2 + 180 * m + 299 + M3, 6 * m**2 + 122 * m + 220 + A3
    return M1 * n - (124 * m + 229 + M4), A1 * n - (94 * m + 192 + A4)


def jain_rodriguez(n: int, m: float) -> Counts:
    """Return the counts of Jain & Rodriguez's algorithm by the line that Table 1 marks n >= 7."""
    return n * (13 * m**2 + 298 * m + 673), n * (14 * m**2 + 225 * m + 537)


def jain_rodriguez_upper(n: int, m: float) -> Counts:
    """Return the counts by the line above it, which Table 1 marks n <= 7."""
    M1, A1 = 27 * m**2 / 2 + 893 * m / 3 + 281, 23 * m**2 / 2 + 677 * m / 3 + 256
    return n * (5 * m**3 / 6 + M1), n * (5 * m**3 / 6 + A1)


def crossings() -> Counts:
    """Return the number of modes, 1 to 20, at which the two lines are equal, for multiplications and for additions."""

    def apart(m: float, which: int) -> float:
        return jain_rodriguez_upper(1, m)[which] - jain_rodriguez(1, m)[which]

    first, second = (float(brentq(apart, 1.0, 20.0, args=(which,))) for which in (0, 1))
    return first, second


def cyril(n: int, m: int, term: float = -251 / 6) -> Counts:
    """Return the counts of Cyril's algorithm. `term` is the factor of m in A3c."""
    k = 1 + 2 * m
    first = k**3 / 6 + k**2 * (1 - m / 2) + k * (m**2 / 2 - 2 * m) - m**3 / 6 + m**2
    M2 = -3 * k**2 / 2 + k * (3 * m + 33 / 2) - 3 * m**2 / 2 - 15 * m / 2 + 12
    M3 = 5 * k**2 - k * (10 * m + 109 / 6) + m**3 / 6 + 53 * m**2 / 6 + 233 * m / 3 + 246
    A2 = -3 * k**2 / 2 + k * (3 * m + 13) - 3 * m**2 / 2 - 17 * m / 2 + 9
    A3 = 5 * k**2 - k * (10 * m + 85 / 6) + m**3 / 6 + 53 * m**2 / 6 + term * m + 228
    return first * n**3 + M2 * n**2 + M3 * n - 123, first * n**3 + A2 * n**2 + A3 * n - 102


def cheapest(other: Callable[[int, int], Counts], m: int = 2, most: int = 200) -> tuple[int, int]:
    """Return the range of numbers of links in which the proposed algorithm needs fewer of both counts.

    Numbers are tried up to `most`. (0, 0) means none.
    """
    few = [n for n in range(1, most + 1) if all(a < b for a, b in zip(proposed(n, m), other(n, m), strict=True))]
    return (few[0], few[-1]) if few else (0, 0)


def spatial(n: int, m: int) -> Arm:
    """Return an arm of n equal links with m modes in each plane and axes alternately along z and y."""
    beam = Beam(length=1.0, mass=1.0, EI=1.0, modes={"y": m, "z": m}, shapes="clamped-free")
    axes = [(0.0, 0.0, 1.0), (0.0, 1.0, 0.0)]
    links = [Link(name=f"link{i + 1}", joint=Revolute(axis=axes[i % 2]), body=beam) for i in range(n)]
    return Arm(name="spatial", links=links)


def ours(n: int, m: int = 2) -> tuple[int, int]:
    """Return the counts of flexarm's forward dynamics, counted in its program."""
    return operations(Model(spatial(n, m)).function("forward_dynamics"))


def mixed(n: int, m: int) -> float:
    """Return the part of the proposed algorithm's multiplications that is no sum of a function of n and one of m.

    It is the mixed difference as n and m double, relative to the total. It is zero for O(n) + O(m^3).
    """
    whole, links, modes, few = (proposed(*each)[0] for each in ((2 * n, 2 * m), (2 * n, m), (n, 2 * m), (n, m)))
    return (whole - links - modes + few) / whole


def growth(n: int, m: int) -> tuple[float, float]:
    """Return the factors by which the proposed algorithm's multiplications grow as n doubles and as m doubles."""
    few = proposed(n, m)[0]
    return proposed(2 * n, m)[0] / few, proposed(n, 2 * m)[0] / few


def cholesky(size: int) -> int:
    """Return the multiplications and additions of the Cholesky factors of a full matrix, counted in a program."""
    entries = ca.SX.sym("M", size * (size + 1) // 2)
    lower = ca.SX(ca.Sparsity.lower(size), entries)
    multiplications, additions = operations(ca.Function("cholesky", [entries], [ca.chol(ca.tril2symm(lower))]))
    return multiplications + additions
