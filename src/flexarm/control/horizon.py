"""The Riccati equation from the end of a horizon backwards, for linear time-varying models."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol, final

import numpy as np

from flexarm.arrays import Array
from flexarm.errors import DescriptionError

ACCURACY = 1e-4
"""Largest change of P when the steps are halved, relative to its largest entry in scaled coordinates.

The result uses the halved steps, whose error is a sixteenth of that.
"""
FIRST = 64
"""Least number of steps of the first attempt."""
MOST_STEPS = 100_000
"""Largest number of steps. Each takes some tens of microseconds, and its P is stored."""
AT_ONCE = 1000
"""Number of matrices whose exponentials are computed together; they need a few times 10 MB."""
GAUSS = np.array([0.5 - np.sqrt(3) / 6, 0.5 + np.sqrt(3) / 6])


class Problem(Protocol):
    """A linear-quadratic problem along a motion, in scaled coordinates, with arrays (k, ...) at times (k,)."""

    def models(self, t: Array) -> tuple[Array, Array]:
        """A and B."""

    def weights(self, t: Array) -> tuple[Array, Array]:
        """Q and R."""


@final
@dataclass(frozen=True, eq=False)
class Solution:
    """P (k, s, s) and K (k, m, s) at times (k,)."""

    times: Array
    P: Array
    K: Array


def _exponentials(generator: Any, starts: Array, h: Array, sense: float) -> Any:
    """Yield exp(sense Omega) of each step, in slices of `AT_ONCE` steps from the last step to the first.

    Omega is the Magnus series to fourth order, with the generator (k, s, s) at the two Gauss points of the step:
    h (H1 + H2) / 2 - sqrt(3) / 12 h^2 [H1, H2]. A step with a Hamiltonian matrix is symplectic.
    """
    from scipy.linalg import expm

    for stop in range(len(starts), 0, -AT_ONCE):
        part = slice(max(0, stop - AT_ONCE), stop)
        H1, H2 = (generator(starts[part] + c * h[part]) for c in GAUSS)
        step = h[part][:, None, None]
        Omega = step / 2 * (H1 + H2) - np.sqrt(3) / 12 * step**2 * (H1 @ H2 - H2 @ H1)
        yield part, expm(sense * Omega)


def continuous(what: str, problem: Problem, corners: Array, P_end: Array) -> Solution:
    """Solve -dP/dt = A' P + P A - P B R^-1 B' P + Q for a given P(T), with K = R^-1 B' P.

    The steps are those of (x, p = P x), which obeys a linear Hamiltonian equation. The solution is therefore exact for
    modes of any stiffness, and P stays symmetric. `corners` are the ends and the times at which the equation jumps. The
    steps are halved until the result no longer changes. Raises `DescriptionError` if that takes too many steps.
    """

    def hamiltonian(t: Array) -> Array:
        (A, B), (Q, R) = problem.models(t), problem.weights(t)
        G = B @ np.linalg.solve(R, np.swapaxes(B, 1, 2))
        return np.concatenate(
            [np.concatenate([A, -G], axis=2), np.concatenate([-Q, -np.swapaxes(A, 1, 2)], axis=2)], axis=1
        )

    span = corners[-1] - corners[0]
    looked = hamiltonian(corners[0] + span * np.array([0.01, 0.25, 0.5, 0.75, 0.99]))
    fastest = float(np.abs(np.linalg.eigvals(looked).real).max())  # keeps digits in backward growth
    pace = max(FIRST / span, fastest / 4)
    counts = np.maximum(1, np.ceil(np.diff(corners) * pace * (1 - 1e-9))).astype(int)
    coarse: Array | None = None
    while counts.sum() <= MOST_STEPS:
        pieces = [np.linspace(a, b, k + 1)[:-1] for (a, b), k in zip(pairwise(corners), counts, strict=True)]
        times = np.append(np.concatenate(pieces), corners[-1])
        P = _backwards(hamiltonian, times, P_end)
        if not np.isfinite(P).all():
            raise DescriptionError(
                f"{what}: the Riccati equation along the motion has no bounded solution; use other weights or a "
                "slower motion"
            )
        if coarse is not None and np.abs(P[::2] - coarse).max() <= ACCURACY * np.abs(P).max():
            B, R = problem.models(times)[1], problem.weights(times)[1]
            return Solution(times, P, np.linalg.solve(R, np.swapaxes(B, 1, 2) @ P))
        coarse, counts = P, 2 * counts
    why = "the motion or its weights change too fast; use a slower motion"
    raise DescriptionError(
        f"{what}: the Riccati equation along the motion needs more than {MOST_STEPS} steps, because {why}"
    )


def _backwards(hamiltonian: Any, times: Array, P_end: Array) -> Array:
    s = len(P_end)
    P = np.empty((len(times), s, s))
    P[-1] = P_end
    for part, steps in _exponentials(hamiltonian, times[:-1], np.diff(times), -1.0):
        for i in range(part.stop - 1, part.start - 1, -1):
            E = steps[i - part.start]
            X, Y = E[:s, :s] + E[:s, s:] @ P[i + 1], E[s:, :s] + E[s:, s:] @ P[i + 1]
            now = np.linalg.solve(X.T, Y.T)
            P[i] = (now + now.T) / 2
    return P


def sampled(problem: Problem, period: float, count: int, P_end: Array, more: Array) -> Solution:
    """Solve P_k = Q + F' P F - F' P G (R + G' P G)^-1 G' P F back from P at the end.

    The gains are K_k = (R + G' P G)^-1 G' P F. F and G of each period are those of a zero-order hold, by the Magnus
    series. `more` (s, s) is added to every F, for sums of samples.
    """
    times, s = period * np.arange(count), len(P_end)

    def generator(t: Array) -> Array:
        A, B = problem.models(t)
        top = np.concatenate([A, B], axis=2)
        return np.concatenate([top, np.zeros((len(t), B.shape[2], top.shape[2]))], axis=1)

    Q, R = problem.weights(times)
    P, K = np.empty((count, s, s)), np.empty((count, len(R[0]), s))
    last = P_end
    for part, steps in _exponentials(generator, times, np.full(count, period), 1.0):
        for k in range(part.stop - 1, part.start - 1, -1):
            F, G = steps[k - part.start][:s, :s] + more, steps[k - part.start][:s, s:]
            P[k], K[k] = _one_back(F, G, Q[k], R[k], last)
            last = P[k]
    return Solution(times, P, K)


def _one_back(F: Array, G: Array, Q: Array, R: Array, P: Array) -> tuple[Array, Array]:
    K = np.linalg.solve(R + G.T @ P @ G, G.T @ P @ F)
    left = F - G @ K
    now = Q + K.T @ R @ K + left.T @ P @ left  # Joseph's form stays positive in spite of rounding
    return (now + now.T) / 2, K
