"""Bounds of the structured singular value mu, and the robust stability of uncertain loops."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg

from flexarm.analysis.balance import computing
from flexarm.arrays import Array
from flexarm.brief import brief
from flexarm.checks import (
    Fault,
    checked_array,
    checked_flag,
    checked_instance,
    checked_list,
    checked_whole,
    refused,
    shown,
)
from flexarm.errors import DescriptionError
from flexarm.robust.systems import Matrices
from flexarm.robust.uncertain import Uncertain

CENTERS, NEWTON = 80, 12
"""Largest numbers of levels of the bound, and of Newton's steps for each."""
LOWERED = 0.3
"""Share of the distance from the largest eigenvalue to the level that is left at the next level."""
CLOSE = 2e-3
"""Relative distance of the level from the largest eigenvalue at which the bound is found."""
LEAST = 1e-8
"""Square of the bound, in units of the norm of M, below which it is not improved."""
ENOUGH = 0.9
"""Share of the largest mu, as known from destabilising deviations, below which its bound is not improved."""
PER_DECADE = 12
"""Frequencies per decade of the grid, in addition to those of the poles."""
BEYOND = 1.0, 2.0
"""Decades below the slowest and above the fastest pole that the grid covers."""
FARTHEST = 20.0
"""Largest size of a destabilising deviation that is sought, in units of the ranges."""
ALONG = 60
"""Number of steps in which a direction is searched for its first unstable point."""
EMPTY = 1e-10
"""Size of an empty row, in units of the column, for the scaling of blocks on which no other depends."""
NEARLY = 1.0 - 1e-3, 1.0 - 1e-6
"""Shares of destabilising deviations. Between these, a pole that reaches the axis comes a thousand times nearer."""
MOST_CORNERS = 64
"""Number of corners above which random ones are tried."""


@final
class Mu(NamedTuple):
    """Upper bound of a structured singular value, and its scalings.

    `D` (n, n) is a regular matrix and `G` (n, n) Hermitian, both with the structure of the blocks, for which the
    largest eigenvalue of N' N + j (G N - N' G) is upper^2, N = D M D^-1. Any D and G give an upper bound.
    """

    upper: float
    D: Array
    G: Array


@computing("mu_bound")
def mu_bound(M: ArrayLike, blocks: Sequence[int], real: bool = True) -> Mu:
    """Return an upper bound of mu(M), for perturbations diag(delta_1 1, delta_2 1, ...).

    1 / mu is the size of the smallest perturbation for which 1 - M Delta is singular. The bound is that of M. K. H.
    Fan, A. L. Tits and J. C. Doyle, IEEE Transactions on Automatic Control 36 (1991) 25-38, with scalings D of each
    block, and G of real ones. The smallest bound is a convex problem, which the method of centers solves.

    Parameters
    ----------
    M : (n, n) complex
    blocks : list of int
        Sizes of the blocks, each a number times an identity matrix.
    real : bool
        True for real numbers, False for complex ones, without G.

    Raises
    ------
    DescriptionError
        If the sizes of the blocks do not add up to that of M.
    """
    with refused("mu_bound"):
        real = checked_flag(real, "real")
        given = np.asarray(M)
        if given.dtype.kind != "c":
            given = checked_array(M, "M")
        if given.ndim != 2 or given.shape[0] != given.shape[1] or not np.isfinite(given).all():
            raise Fault("M", f"has shape {given.shape}; it must be a square matrix of finite numbers")
        sizes = [checked_whole(each, 1, "blocks") for each in checked_list(blocks, "a list of sizes", "blocks")]
        if sum(sizes) != len(given):
            raise Fault("blocks", f"is {shown(blocks)}; its numbers must add up to {len(given)}, the size of M")
    return _bounded(given.astype(complex), tuple(sizes), real)


def _bounded(M: Array, blocks: tuple[int, ...], real: bool, enough: float = 0.0) -> Mu:
    """Return the bound by the method of centers, from the scaling D that balances M and from G = 0.

    A bound below `enough` is not improved.

    The bound is the smallest generalised eigenvalue problem l D - A(D, G) >= 0, A = M' D M + j (G M - M' G), 0 < D < 1.
    Each step lowers l and moves D and G to the analytic center of the inequality by Newton's method: S. Boyd and L. El
    Ghaoui, Linear Algebra and its Applications 188 (1993) 63-111.
    """
    n = len(M)
    if not n or not M.any():
        return Mu(0.0, np.eye(n), np.zeros((n, n)))
    balance = _osborne(M, blocks)
    N = balance @ M @ np.linalg.inv(balance)
    size = float(np.linalg.norm(N, 2))
    N = N / size
    basis = _hermitian(blocks)
    adjoint = N.conj().T
    of_D, of_G = adjoint @ basis @ N, 1j * (basis @ N - adjoint @ basis)
    k = len(basis)
    slopes = np.concatenate([of_D, of_G]) if real else of_D  # of A in the numbers of D and G
    x = np.zeros(len(slopes))
    x[:k] = 0.5 * np.real(np.trace(basis, axis1=1, axis2=2))  # D = 1/2, as basis matrices are diagonal or have no trace
    level = 1.5
    best = 1.0, x
    least = max(LEAST, (enough / size) ** 2)
    for _ in range(CENTERS if least < 1.0 else 0):
        x = _centered(x, level, slopes, basis)
        D = np.tensordot(x[:k], basis, 1)
        A = np.tensordot(x, slopes, 1)
        top = float(linalg.eigh(A, D, eigvals_only=True)[-1])
        if top < best[0]:
            best = top, x
        if top <= least or level - top < CLOSE * level:
            break
        level = top + LOWERED * (level - top)
    top, x = best
    D = linalg.cholesky(np.tensordot(x[:k], basis, 1))  # D = R' R, and R replaces D
    inverse = np.linalg.inv(D)
    G = inverse.conj().T @ np.tensordot(x[k:], basis, 1) @ inverse if real else np.zeros((n, n))
    return Mu(size * float(np.sqrt(max(top, 0.0))), D @ balance, size * G)


def _hermitian(blocks: tuple[int, ...]) -> Array:
    """Return a basis (k, n, n) of Hermitian matrices with the structure of the blocks."""
    n, first, found = sum(blocks), 0, []
    for size in blocks:
        for a in range(first, first + size):
            for b in range(a, first + size):
                E = np.zeros((n, n), dtype=complex)
                E[a, b] = E[b, a] = 1.0
                found.append(E)
                if b > a:
                    E = np.zeros((n, n), dtype=complex)
                    E[a, b], E[b, a] = 1j, -1j
                    found.append(E)
        first += size
    return np.array(found)


def _centered(x: Array, level: float, slopes: Array, basis: Array) -> Array:
    """Return the analytic center of level D - A > 0, D > 0 and 1 - D > 0, from a point x inside."""
    k, n = len(basis), basis.shape[1]
    zero = np.zeros_like(slopes[k:])
    of_D = np.concatenate([basis, zero])
    parts = (level * of_D - slopes, of_D, -of_D)
    constants = (0.0, 0.0, np.eye(n))

    def matrices(x: Array) -> list[Array]:
        return [c + np.tensordot(x, part, 1) for c, part in zip(constants, parts, strict=True)]

    def inside(x: Array) -> float:
        total = 0.0
        for each in matrices(x):
            try:
                L = np.linalg.cholesky(each)
            except np.linalg.LinAlgError:
                return np.inf
            total -= 2.0 * float(np.log(np.diagonal(L).real).sum())
        return total

    value = inside(x)
    for _ in range(NEWTON):
        gradient, hessian = np.zeros(len(x)), 1e-12 * np.eye(len(x))
        for each, part in zip(matrices(x), parts, strict=True):
            scaled = np.linalg.solve(each, part)  # (numbers, n, n)
            gradient -= np.trace(scaled, axis1=1, axis2=2).real
            flat = scaled.reshape(len(x), -1)
            hessian += (flat @ scaled.transpose(0, 2, 1).reshape(len(x), -1).T).real
        step = -np.linalg.lstsq(hessian, gradient, rcond=1e-14)[0]
        decrement = -float(gradient @ step)
        if not decrement > 1e-4:
            break
        length = 1.0 / (1.0 + np.sqrt(decrement)) if decrement > 0.25 else 1.0
        while not (new := inside(x + length * step)) < value:
            length /= 2.0
            if length < 1e-6:
                return x
        x, value = x + length * step, new
    return x


def _osborne(M: Array, blocks: tuple[int, ...]) -> Array:
    """Return the scaling by a number for each block that balances rows and columns of the blocks' norms."""
    ends = np.cumsum([0, *blocks])
    parts = [slice(a, b) for a, b in pairwise(ends)]
    N = np.array([[np.linalg.norm(M[i, j]) for j in parts] for i in parts])
    np.fill_diagonal(N, 0.0)
    d = np.ones(len(blocks))
    for _ in range(20):
        for i in range(len(blocks)):
            row, column = np.linalg.norm(N[i] / d), np.linalg.norm(N[:, i] * d)
            if row > 0.0 or column > 0.0:
                d[i] = np.sqrt(max(column, EMPTY * row) / max(row, EMPTY * column))
    return np.diag(np.repeat(d / d.mean(), blocks))


@final
@brief
@dataclass(frozen=True, eq=False)
class RobustStability:
    """Bounds of the parameter deviations for which a loop stays stable.

    Attributes
    ----------
    lower : float
        Size of the deviations up to which the loop is stable, 1 / max mu with the upper bound of mu on a grid of
        frequencies. 1 is the size of the ranges: 2.9 means 290 % of them.
    upper : float
        Size of the smallest deviations that were found to make the loop unstable; infinite if none was found.
    frequency : float
        Frequency of the oscillation that they cause [rad/s]. It is infinite if the model has no solution there, such as
        at a mass of zero.
    parameters : dict
        The parameters there, {} if none was found.
    omega, mu : (N,)
        Frequencies of the grid [rad/s], and an upper bound of mu there. It is as low as possible only where it is
        above 90 % of 1 / upper.
    """

    lower: float
    upper: float
    frequency: float
    parameters: Mapping[str, float]
    omega: Array
    mu: Array


@computing("robust_stability")
def robust_stability(loop: Uncertain, omega: ArrayLike | None = None) -> RobustStability:
    """Return bounds of the size of parameter deviations for which a loop stays stable.

    The lower bound of the size follows from an upper bound of mu for real parameters (`mu_bound`) at frequencies, which
    are refined at the largest value. The upper bound is a set of parameters for which a pole is on the imaginary axis.
    It is found by a search over directions: the corners of the ranges, then a descent from the best of these.

    Parameters
    ----------
    loop : Uncertain
        A loop that is stable in the middle of the ranges, such as `uncertain(...).closed(controller)`.
    omega : (N,), optional
        Frequencies [rad/s]; default 12 per decade around the poles, the poles' own frequencies, and infinity.

    Raises
    ------
    DescriptionError
        If the loop is not stable in the middle of the ranges.
    """
    where = "robust_stability"
    with refused(where):
        checked_instance(loop, Uncertain, "loop")
        grid = None if omega is None else np.unique(np.atleast_1d(checked_array(omega, "omega")))
        if grid is not None and (grid.ndim > 1 or (grid < 0.0).any() or not len(grid)):
            raise Fault("omega", "must be a list of frequencies that are zero or positive")
    M = Matrices.of(where, loop.system)
    count = sum(loop.blocks)
    inner = M.channels(range(count), range(count)).balanced
    if not inner.stable:
        raise DescriptionError(f"{where}: the loop is not stable in the middle of the ranges; change the controller")
    if grid is None:
        grid = _grid(inner.A)
    blocks = tuple(each for each in loop.blocks if each)

    size, delta, frequency = _destabilising(loop)

    def bound(w: float) -> float:
        return _bounded(inner(1j * w) if np.isfinite(w) else inner.D, blocks, True, ENOUGH / size).upper

    if delta is not None:  # mu of real parameters may be large at this frequency alone
        grid = np.union1d(grid, [frequency])
    values = np.array([bound(w) for w in grid])
    grid, values = _refined(bound, grid, values)
    largest = float(values.max())
    lower = 1.0 / largest if largest > 0.0 else np.inf
    parameters = {} if delta is None else loop.parameters(delta)
    return RobustStability(lower, size, frequency, parameters, grid, values)


def _grid(A: Array) -> Array:
    s = linalg.eigvals(A)
    size = np.abs(s[np.abs(s) > 1e-9 * np.abs(s).max(initial=0.0)])
    low, high = (size.min(), size.max()) if len(size) else (1.0, 1.0)
    decades = np.log10(high / low) + sum(BEYOND)
    sweep = np.geomspace(low / 10.0 ** BEYOND[0], high * 10.0 ** BEYOND[1], int(PER_DECADE * decades) + 1)
    near = np.abs(s.imag)
    return np.unique(np.concatenate([[0.0], sweep, near, size, [np.inf]]))


def _refined(bound: Any, grid: Array, values: Array) -> tuple[Array, Array]:
    """Return the grid with more frequencies near the largest value."""
    from scipy.optimize import minimize_scalar

    i = int(np.argmax(values))
    low, high = float(grid[max(i - 1, 0)]), float(grid[min(i + 1, len(grid) - 1)])
    if not low < high < np.inf:
        return grid, values
    seen: list[tuple[float, float]] = []

    def negative(w: float) -> float:
        seen.append((w, bound(w)))
        return -seen[-1][1]

    minimize_scalar(negative, bounds=(low, high), method="bounded", options={"maxiter": 20, "xatol": 1e-4 * high})
    more = np.array(seen)
    order = np.argsort(np.concatenate([grid, more[:, 0]]), kind="stable")
    return np.concatenate([grid, more[:, 0]])[order], np.concatenate([values, more[:, 1]])[order]


def _destabilising(loop: Uncertain) -> tuple[float, Array | None, float]:
    """Return the size of the smallest destabilising deviations that are found, these, and their frequency."""
    from scipy.optimize import minimize

    k = len(loop.names)
    found: list[tuple[float, Array]] = []

    def size(v: Array) -> float:
        v = np.asarray(v) / (np.abs(v).max() or 1.0)
        limit = min(FARTHEST, 1.5 * min((each[0] for each in found), default=np.inf))
        found.append((_first_unstable(loop, v, limit), v))
        return min(found[-1][0], 2.0 * limit)

    if 2**k <= MOST_CORNERS:
        corners = np.array(list(product((-1.0, 1.0), repeat=k)))
    else:
        corners = np.random.default_rng(0).choice((-1.0, 1.0), (MOST_CORNERS, k))
    for v in corners:
        size(v)
    for v in np.vstack([np.eye(k), -np.eye(k)]) if k > 1 else []:
        size(v)
    best = min(found, key=lambda each: each[0])
    if k > 1 and np.isfinite(best[0]):
        most = {"maxfev": 40 * k, "xatol": 1e-4, "fatol": 1e-6}
        start = 0.9 * best[1] + 0.1 * best[1].mean()
        minimize(size, start, method="Nelder-Mead", options=most)
        best = min(found, key=lambda each: each[0])
    if not np.isfinite(best[0]):
        return np.inf, None, np.nan
    delta = best[0] * best[1]
    before, s = (linalg.eigvals(loop.closed_by(share * delta).A) for share in NEARLY)
    if s.real.max() < before.real.max() / 10.0:  # no pole approaches the axis: one passes through infinity
        return best[0], delta, np.inf
    return best[0], delta, float(abs(s[int(np.argmax(s.real))].imag))


def _first_unstable(loop: Uncertain, v: Array, farthest: float) -> float:
    """Return the smallest t up to `farthest` for which the loop with the deviations t v is not stable, or infinity."""
    from scipy.optimize import brentq

    def decay(t: float) -> float:
        try:
            s = linalg.eigvals(loop.closed_by(t * v).A)
        except DescriptionError:  # such as a mass of zero
            return np.inf
        return float(s.real.max())

    last = 0.0
    for t in np.linspace(0.0, farthest, ALONG + 1)[1:]:
        now = decay(t)
        if now == np.inf:
            return np.inf
        if now >= 0.0:
            low = decay(last)
            return float(brentq(decay, last, t, xtol=1e-9)) if low < 0.0 < now else float(last if low >= 0.0 else t)
        last = t
    return np.inf
