"""Upper bounds over all frequencies, proven also between the frequencies where they are computed."""

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple, final

import numpy as np
from scipy import linalg

from flexarm.arrays import Array
from flexarm.robust.mu import Scaled
from flexarm.robust.systems import Matrices

TOLERANCE = 1e-3
"""Relative distance of the proven bound from the largest bound at one frequency."""
MOST = 120
"""Number of frequencies after which the bound that is to be proven is raised."""
RAISED = 0.005
"""Share by which it is raised at first; each time the share doubles."""
ROUNDS = 12
"""Number of times that it is raised before the search ends without a bound."""
ENOUGH = 0.9
"""Share of the largest bound below which the bound at one frequency is not improved."""
AXIS = 1e-5
"""Real part of an eigenvalue, in units of its size, below which it is examined as a frequency."""
NARROW = 1e-12
"""Relative width of an interval of frequencies that counts as empty."""


@final
class Peak(NamedTuple):
    """The proven bound, the frequency of the largest bound at one frequency, all of these, and their bounds."""

    upper: float
    frequency: float
    omega: Array
    values: Array


def proven_peak(
    M: Matrices,
    bound: Callable[[Array, float], Scaled],
    limit: Callable[[Array, float], Array],
    known: float = 0.0,
    grid: Array | None = None,
) -> Peak:
    """Return a bound that holds at all frequencies.

    Scalings D and G that prove a bound at one frequency prove a slightly larger one on an interval around it. The ends
    of the interval are frequencies where L - M' D M - j (G M - M' G) is singular, from the imaginary eigenvalues of a
    Hamiltonian matrix. Intervals are added until they cover all frequencies: G. Ferreres, J. F. Magni and J.-M.
    Biannic, International Journal of Robust and Nonlinear Control 13 (2003) 715-733.

    Parameters
    ----------
    M : Matrices
        Stable, with as many inputs as outputs.
    bound : (matrix, enough) -> Scaled
        The bound for the transfer matrix at a frequency; it need not be improved below `enough`.
    limit : (D, level) -> L
    known : float
        Lower bound of the result.
    grid : (N,), optional
        Frequencies that are tried first [rad/s].
    """
    seen: list[tuple[float, float]] = []
    level = known * (1.0 + TOLERANCE)

    def scaled(w: float) -> Scaled:
        nonlocal level
        found = bound(M.frequency(w), ENOUGH * level)
        seen.append((w, found.upper))
        level = max(level, (1.0 + TOLERANCE) * found.upper)
        return found

    def cleared(w: float, found: Scaled) -> tuple[float, float]:
        return _interval(M, w, found.D, found.G, limit(found.D, level))

    first = np.empty(0) if grid is None else grid
    for w in first:
        scaled(float(w))
    ends = {w: scaled(w) for w in (0.0, np.inf)}
    if not M.order or not level or not np.isfinite(level):
        return _peak(level, seen)
    start, end = (cleared(w, found) for w, found in ends.items())
    left = [(start[1], end[0])]
    for times in range(ROUNDS):
        for _ in range(MOST):
            left = [(a, b) for a, b in left if b - a > NARROW * b]
            if not left:
                return _peak(level, seen)
            a, b = left.pop()
            if b == np.inf:
                w = 10.0 * max(a, 1.0)
            else:
                w = float(np.sqrt(a * b)) if a > 1e-6 * b else (a + b) / 2.0
            found = scaled(w)
            if not np.isfinite(level):
                return _peak(level, seen)
            low, high = cleared(w, found)
            left += [(a, min(low, b)), (max(high, a), b)]
        level *= 1.0 + RAISED * 2.0**times
    return _peak(np.inf, seen)


def _peak(level: float, seen: list[tuple[float, float]]) -> Peak:
    omega, values = np.array(seen).T
    at = float(omega[int(np.argmax(values))])
    omega, first = np.unique(omega, return_index=True)
    return Peak(level, at, omega, values[first])


def _interval(M: Matrices, w: float, D: Array, G: Array, L: Array) -> tuple[float, float]:
    """Return an interval around w in which L - M' D M - j (G M - M' G) is positive definite."""
    n = M.order
    # [x; u]' [Q, S; S', R] [x; u], x = (s - A)^-1 B u
    Q, S = -M.C.T @ D @ M.C, M.C.T @ (-D @ M.D + 1j * G)
    R = L - M.D.T @ D @ M.D - 1j * (G @ M.D - M.D.T @ G)
    root = np.linalg.inv(linalg.cholesky((L + L.conj().T) / 2.0))

    def positive(at: float) -> bool:
        if at == np.inf:
            H = R
        else:
            x = np.linalg.solve(1j * at * np.eye(n) - M.A, M.B.astype(complex))
            H = x.conj().T @ Q @ x + S.conj().T @ x
            H = R + H + (x.conj().T @ S)
        return bool(np.linalg.eigvalsh(root.conj().T @ (H + H.conj().T) @ root)[0] > 0.0)

    if not positive(w):
        return w, w
    T = np.linalg.solve(R, np.hstack([S.conj().T, M.B.T]))
    H = np.block([[M.A, np.zeros((n, n))], [-Q, -M.A.T]]) - np.vstack([M.B, -S]) @ T
    s = linalg.eigvals(H)
    axis = np.unique(s.imag[(np.abs(s.real) <= AXIS * np.abs(s)) & (s.imag > 0.0)])
    # an eigenvalue that only comes near to the axis does not end the interval
    return -_reached(positive, -w, -axis[axis < w][::-1], 0.0), _reached(positive, w, axis[axis > w], np.inf)


def _reached(positive: Callable[[float], bool], w: float, edges: Array, last: float) -> float:
    """Return the first edge beyond which a function of the frequency's size is not positive."""
    ends = [*edges, last]
    if len(edges) and not positive(abs(w + edges[0]) / 2.0):
        return w
    for edge, beyond in pairwise(ends):
        if not positive(abs(edge + beyond) / 2.0 if beyond < np.inf else 2.0 * abs(edge)):
            return float(edge)
    return last
