"""Upper bounds of the structured singular value mu and of the worst gain at one frequency."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, Literal, NamedTuple, final

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg

from flexarm.analysis.balance import computing
from flexarm.arrays import Array
from flexarm.checks import Fault, checked_array, checked_flag, checked_list, checked_whole, counted, refused, shown

CENTERS, NEWTON = 80, 12
"""Largest numbers of levels of the bound, and of Newton's steps for each."""
LOWERED = 0.3
"""Share of the distance from the largest eigenvalue to the level that is left at the next level."""
CLOSE = 2e-3
"""Relative distance of the level from the largest eigenvalue at which the bound is found."""
LEAST = 1e-8
"""Square of the bound, in units of the norm of M, below which it is not improved."""
EMPTY = 1e-10
"""Size of an empty row, in units of the column, for the scaling of blocks on which no other depends."""
CERTAIN = 1.0 - 1e-6
"""Square of mu above which no gain is proven."""
SMALLEST, HALVINGS = 1e-12, 12
"""Smallest share of the way from the first scalings to the best ones, and halvings of its logarithm."""
ENOUGH = 0.8
"""Bound of mu that is enough as the start of the search for a bound of the gain."""
RAISED = 1.5
"""Level of the first center, in units of the largest eigenvalue."""


@final
class Block(NamedTuple):
    """A block of a perturbation, padded to a square one: a number times an identity matrix, or a full matrix."""

    size: int
    kind: Literal["real", "complex", "full"]


@final
class Scaled(NamedTuple):
    """An upper bound, and the Hermitian scalings that prove it.

    M' D M + j (G M - M' G) <= L, with L = upper^2 D for mu. For the gain between the signals of the last block, only
    this block of D has the factor upper^2 in L.
    """

    upper: float
    D: Array
    G: Array


@final
class Mu(NamedTuple):
    """Upper bound of a structured singular value, and its scalings.

    `D` (n, n) is a regular matrix and `G` (n, n) Hermitian, both with the structure of the blocks, for which the
    largest eigenvalue of N' N + j (G N - N' G) is upper^2, N = D M D^-1. Any D and G give an upper bound. Blocks that
    are not square are padded with zeros, also in M.
    """

    upper: float
    D: Array
    G: Array


@computing("mu_bound")
def mu_bound(M: ArrayLike, blocks: Sequence[int | tuple[int, int]], real: bool = True) -> Mu:
    """Return an upper bound of mu(M), for perturbations diag(delta_1 1, delta_2 1, ..., Delta_1, ...).

    1 / mu is the size of the smallest perturbation for which 1 - M Delta is singular. The bound is that of M. K. H.
    Fan, A. L. Tits and J. C. Doyle, IEEE Transactions on Automatic Control 36 (1991) 25-38, with scalings D of each
    block, and G of real ones. The smallest bound is a convex problem, which the method of centers solves.

    Parameters
    ----------
    M : (rows, columns) complex
    blocks : list of int or (int, int)
        In their order, the size of each number times an identity matrix, or the numbers of rows and columns of each
        full complex matrix.
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
        if given.ndim != 2 or not np.isfinite(given).all():
            raise Fault("M", f"has shape {given.shape}; it must be a matrix of finite numbers")
        structure, rows, columns = checked_blocks(blocks, "real" if real else "complex", given.shape)
    n = sum(each.size for each in structure)
    padded = np.zeros((n, n), dtype=complex)
    padded[np.ix_(rows, columns)] = given
    upper, D, G = bounded(padded, structure)
    root = linalg.cholesky(D)  # D = R' R
    inverse = np.linalg.inv(root)
    return Mu(upper, root, inverse.conj().T @ G @ inverse)


def checked_blocks(
    blocks: Any, kind: Literal["real", "complex"], shape: tuple[int, int]
) -> tuple[tuple[Block, ...], Array, Array]:
    """Return the blocks, and the indices of the rows and columns of M in the padded matrix."""
    found: list[Block] = []
    rows: list[int] = []
    columns: list[int] = []
    for each in checked_list(blocks, "a list of sizes", "blocks"):
        pair = checked_list(each, "a size, or a pair of sizes", "blocks") if np.ndim(each) else (each, each)
        if len(pair) != 2:
            raise Fault("blocks", f"has {shown(each)}; each must be a number, or a pair (rows, columns)")
        taller, wider = (checked_whole(size, 1, "blocks") for size in pair)
        first = sum(block.size for block in found)
        # Delta leads from the rows of M to its columns
        rows += range(first, first + wider)
        columns += range(first, first + taller)
        found.append(Block(max(taller, wider), "full" if np.ndim(each) else kind))
    if (len(rows), len(columns)) != shape:
        raise Fault(
            "blocks",
            f"is {shown(blocks)}; its numbers must add up to {counted(shape[0], 'row')} and "
            f"{counted(shape[1], 'column')}, the size of M",
        )
    return tuple(found), np.array(rows, dtype=int), np.array(columns, dtype=int)


def bounded(M: Array, blocks: Sequence[Block], enough: float = 0.0) -> Scaled:
    """Return the bound of mu by the method of centers, from the scaling D that balances M and from G = 0.

    A bound below `enough` is not improved.
    """
    n = len(M)
    if not n or not M.any():
        return Scaled(0.0, np.eye(n), np.zeros((n, n)))
    T = _osborne(M, blocks)
    N = T[:, None] * M / T
    size = float(np.linalg.norm(N, 2))
    top, D, G = _lowest(N / size, blocks, None, None, (enough / size) ** 2)
    return Scaled(size * float(np.sqrt(max(top, 0.0))), T[:, None] * D * T, size * T[:, None] * G * T)


def bounded_gain(M: Array, blocks: Sequence[Block], enough: float = 0.0) -> Scaled:
    """Return an upper bound of the gain between the signals of the last block, for perturbations up to 1 of the others.

    This is the skewed structured singular value: M. K. H. Fan and A. L. Tits, IEEE Transactions on Automatic Control 37
    (1992) 734-745. The bound is infinite if mu of the other blocks is not below 1, so that none is proven.
    """
    n, p = len(M), blocks[-1].size
    k = n - p
    first = bounded(M[:k, :k], blocks[:-1], ENOUGH)
    if not first.upper**2 < CERTAIN:
        return Scaled(np.inf, np.eye(n), np.zeros((n, n)))
    T = _osborne(M, blocks)
    N = T[:, None] * M / T
    gain = max(float(np.linalg.norm(N[k:, k:])), float(np.linalg.norm(N[k:, :k]) * np.linalg.norm(N[:k, k:])))
    if gain == 0.0:
        return Scaled(0.0, linalg.block_diag(first.D, np.eye(p)), linalg.block_diag(first.G, np.zeros((p, p))))
    root = np.sqrt(gain)
    rows = np.concatenate([T[:k], T[k:] / root])
    columns = np.concatenate([T[:k], T[k:] * root])
    N = rows[:, None] * M / columns
    moving = np.arange(n) >= k
    # the scalings that prove mu < 1, with a part of the last block that is small enough
    D1, G1 = (part / (T[:k, None] * T[:k]) for part in (first.D, first.G))
    largest = 2.0 * float(np.linalg.norm(D1, 2))
    D1, G1 = D1 / largest, G1 / largest
    left = D1 - _product(N[:k, :k], D1, G1)
    share = float(np.linalg.eigvalsh(left)[0]) / max(float(np.linalg.norm(N[k:, :k]) ** 2), 1e-300) if k else 0.5
    D = linalg.block_diag(D1, min(0.5, 0.5 * share) * np.eye(p))
    start = D, linalg.block_diag(G1, np.zeros((p, p)))
    top, D, G = _lowest(N, blocks, moving, start, (enough / gain) ** 2)
    return Scaled(gain * float(np.sqrt(max(top, 0.0))), rows[:, None] * D * rows, rows[:, None] * G * rows)


def _product(M: Array, D: Array, G: Array) -> Array:
    """M' D M + j (G M - M' G)."""
    found = M.conj().T @ D @ M + 1j * (G @ M - M.conj().T @ G)
    return (found + found.conj().T) / 2.0


def _lowest(
    N: Array, blocks: Sequence[Block], moving: Array | None, start: tuple[Array, Array] | None, least: float
) -> tuple[float, Array, Array]:
    """Return the smallest level l with A(D, G) <= l D, and D and G.

    With `moving` only these diagonal blocks of D have the factor l, and the others 1.

    A = N' D N + j (G N - N' G), 0 < D < 1. Each step lowers l and moves D and G to the analytic center of the
    inequality by Newton's method: S. Boyd and L. El Ghaoui, Linear Algebra and its Applications 188 (1993) 63-111.
    """
    basis, of_G = _bases(blocks)
    n, k = len(N), len(basis)
    adjoint = N.conj().T
    slopes = np.concatenate([adjoint @ basis @ N, 1j * (of_G @ N - adjoint @ of_G)])  # of A in the numbers of D and G
    factors = basis
    if moving is not None:
        factors = basis * moving[:, None] * moving
        slopes[:k] -= basis - factors
    x = np.zeros(len(slopes))
    if start is None:
        x[:k] = 0.5 * (np.trace(basis, axis1=1, axis2=2).real > 0.0)  # D = 1/2
    else:
        for i, (E, value) in enumerate([*((E, start[0]) for E in basis), *((E, start[1]) for E in of_G)]):
            x[i] = np.vdot(E, value).real / np.vdot(E, E).real
    first, best = x, (_top(x, slopes, factors, moving), x)
    level = RAISED * best[0]
    for _ in range(CENTERS if least < best[0] else 0):
        x = _centered(x, level, slopes, basis, factors)
        top = _top(x, slopes, factors, moving)
        if top < best[0]:
            best = top, x
        if top <= max(LEAST, least) or level - top < CLOSE * level:
            break
        level = top + LOWERED * (level - top)
    top, x = _shortened(first, best, least, lambda x: _top(x, slopes, factors, moving))
    return top, np.tensordot(x[:k], basis, 1), np.tensordot(x[k:], of_G, 1) if len(of_G) else np.zeros((n, n))


def _shortened(
    first: Array, best: tuple[float, Array], enough: float, top: Callable[[Array], float]
) -> tuple[float, Array]:
    """Return the point nearest to the first one, on the way to the best one, whose level is enough.

    Its scalings G are smaller, so that they hold on a longer interval of frequencies.
    """
    if best[1] is first or best[0] >= enough:
        return best
    low, high, found = SMALLEST, 1.0, best
    for _ in range(HALVINGS):
        share = float(np.sqrt(low * high))
        x = first + share * (best[1] - first)
        level = top(x)
        if level <= enough:
            high, found = share, (level, x)
        else:
            low = share
    return found


def _top(x: Array, slopes: Array, factors: Array, moving: Array | None) -> float:
    """Return the smallest level for numbers of D and G, infinity if there is none."""
    A, D = np.tensordot(x, slopes, 1), np.tensordot(x[: len(factors)], factors, 1)
    if moving is not None and not moving.all():
        still, cross = A[np.ix_(~moving, ~moving)], A[np.ix_(~moving, moving)]
        try:
            half = linalg.solve_triangular(np.linalg.cholesky(-still), cross, lower=True)
        except np.linalg.LinAlgError:
            return np.inf
        A, D = A[np.ix_(moving, moving)] + half.conj().T @ half, D[np.ix_(moving, moving)]
    return float(linalg.eigh(A, D, eigvals_only=True)[-1])


def _bases(blocks: Sequence[Block]) -> tuple[Array, Array]:
    """Return bases (k, n, n) of the Hermitian matrices D and G with the structure of the blocks."""
    n, first = sum(each.size for each in blocks), 0
    of_D, of_G = [np.zeros((0, n, n), dtype=complex)], [np.zeros((0, n, n), dtype=complex)]
    for size, kind in blocks:
        inside = slice(first, first + size)
        local = np.eye(size, dtype=complex)[None] if kind == "full" else _hermitian(size)
        found = np.zeros((len(local), n, n), dtype=complex)
        found[:, inside, inside] = local
        of_D.append(found)
        if kind == "real":
            of_G.append(found)
        first += size
    return np.concatenate(of_D), np.concatenate(of_G)


def _hermitian(n: int) -> Array:
    """Return a basis (n^2, n, n) of Hermitian matrices."""
    found = []
    for a in range(n):
        for b in range(a, n):
            for value in (1.0,) if a == b else (1.0, 1j):
                E = np.zeros((n, n), dtype=complex)
                E[a, b], E[b, a] = value, np.conj(value)
                found.append(E)
    return np.array(found)


def _centered(x: Array, level: float, slopes: Array, basis: Array, factors: Array) -> Array:
    """Return the analytic center of level D - A > 0, D > 0 and 1 - D > 0, from a point x inside."""
    k, n = len(basis), basis.shape[1]
    zero = np.zeros_like(slopes[k:])
    of_D = np.concatenate([basis, zero])
    parts = (level * np.concatenate([factors, zero]) - slopes, of_D, -of_D)
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


def _osborne(M: Array, blocks: Sequence[Block]) -> Array:
    """Return the scaling (n,), equal within each block, that balances rows and columns of the blocks' norms."""
    sizes = [each.size for each in blocks]
    parts = [slice(a, b) for a, b in pairwise(np.cumsum([0, *sizes]))]
    N = np.array([[np.linalg.norm(M[i, j]) for j in parts] for i in parts])
    np.fill_diagonal(N, 0.0)
    d = np.ones(len(blocks))
    for _ in range(20):
        for i in range(len(blocks)):
            row, column = np.linalg.norm(N[i] / d), np.linalg.norm(N[:, i] * d)
            if row > 0.0 or column > 0.0:
                d[i] = np.sqrt(max(column, EMPTY * row) / max(row, EMPTY * column))
    return np.repeat(d / d.mean(), sizes)
