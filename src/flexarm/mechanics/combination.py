"""Combinations of a body's coordinates that reduce the cost of elimination."""

from typing import NamedTuple

import numpy as np

from flexarm.mechanics.body import symmetric, without_rounding
from flexarm.mechanics.spatial import Matrix, Vector, dot, is_zero, product, square_root, transposed, zeros

CLOSE = 1e3
"""Largest condition number of combinations scaled to unit energy, which corresponds to three digits of rounding."""
TIPS = 6


def combinations(M: np.ndarray, S: np.ndarray) -> tuple[Matrix, Matrix, Matrix]:
    """Return T, (k, k), of eta = T z such that each z moves one tip function or none, and S T and T' M T.

    All modes move the tip, so that everything beyond the tip couples all of them. If there are as many modes as tip
    functions that they move, z are these functions themselves. If there are more, the remaining z leave the tip where
    it is, and are orthonormal in M to each other and to the first ones. The elimination of such a z involves only the
    frame's six coordinates. These z come last, and the tip functions are in the order of their motions. The last motion
    may be about the next joint's axis, which also reduces the cost.

    Parameters
    ----------
    M : (k, k)
        Inertia over eta.
    S : (6, k)
        Slopes of the tip functions, ds/deta.
    """
    T, ST = np.eye(len(M)), S.copy()
    place = _places(M, S, M != 0.0, S != 0.0)
    for block, rows in place.blocks:
        T[np.ix_(block, block)] = _combined(M[np.ix_(block, block)], S[np.ix_(rows, block)])
        ST[np.ix_(rows, block)] = np.eye(len(rows), len(block))
    T = T[:, place.order]
    return T.tolist(), ST[:, place.order].tolist(), without_rounding(symmetric(T.T @ M @ T)).tolist()


def following(M: Matrix, S: Matrix, M0: np.ndarray, S0: np.ndarray) -> tuple[Matrix, Matrix, Matrix]:
    """Return T, S T and T' M T of expressions in parameters.

    Their nominal values decide which coordinates are combined.
    """
    k = len(M)
    T, ST, own = np.eye(k).astype(object), np.array(S, dtype=object), np.array(M, dtype=object)
    place = _places(M0, S0, *(np.array([[not is_zero(x) for x in row] for row in rows]) for rows in (M, S)))
    for block, rows in place.blocks:
        inside = np.ix_(block, block)
        some_M, some_S = own[inside].tolist(), ST[np.ix_(rows, block)].tolist()
        made, inertia = _combined_following(some_M, some_S, S0[np.ix_(rows, block)])
        T[inside], own[inside] = np.array(made, dtype=object), np.array(inertia, dtype=object)
        ST[np.ix_(rows, block)] = np.eye(len(rows), len(block))
    order = place.order
    return T[:, order].tolist(), ST[:, order].tolist(), own[np.ix_(order, order)].tolist()


class _Places(NamedTuple):
    """Blocks of coordinates that are combined, with the tip functions that they move, and the order of all z."""

    blocks: list[tuple[np.ndarray, np.ndarray]]
    order: np.ndarray


def _places(M: np.ndarray, S: np.ndarray, coupled: np.ndarray, moved: np.ndarray) -> _Places:
    """Return the blocks for nominal M and S, where `coupled` and `moved` mark entries that are not identically zero."""
    place, found = np.full(len(M), TIPS), []
    for block in _blocks(coupled | (moved.T @ moved)):
        rows = np.flatnonzero(moved[:, block].any(axis=1))
        if _combined(M[np.ix_(block, block)], S[np.ix_(rows, block)]) is not None:
            found.append((block, rows))
            place[block] = [*rows, *[TIPS + 1] * (len(block) - len(rows))]
    return _Places(found, np.argsort(place, kind="stable"))


def _combined_following(M: Matrix, S: Matrix, S0: np.ndarray) -> tuple[Matrix, Matrix]:
    """Return T of expressions, and T' M T.

    With N, S N = 0, from the columns of S with the best pivots, A = S^+ minus its projection on N in the metric M, and
    N is made orthonormal in M by Cholesky factors.
    """
    r, n = len(S), len(M)
    rows, chosen = _pivots(S0)
    solved = _solved([[S[i][c] for c in chosen] + np.eye(r)[i].tolist() for i in rows])
    A = zeros(n, r)
    for row, c in zip(solved, chosen, strict=True):
        A[c] = row
    left = [c for c in range(n) if c not in chosen]
    N = zeros(n, n - r)
    for j, c in enumerate(left):
        N[c][j] = 1.0
        for row, of in zip(solved, chosen, strict=True):
            N[of][j] = -1.0 * dot(row, [line[c] for line in S])
    L = _cholesky(_between(N, M))
    N = transposed([_forward(L, row) for row in N]) if n > r else []  # N L'^-1, by columns
    columns = transposed(A)
    for i, column in enumerate(columns):
        for other in N:
            share = dot(other, product(M, column))
            column = [x - share * y for x, y in zip(column, other, strict=True)]
        columns[i] = column
    own = zeros(n, n)
    for i in range(n):
        own[i][i] = 1.0
    for i in range(r):
        for j in range(i, r):
            own[i][j] = own[j][i] = dot(columns[i], product(M, columns[j]))
    return transposed(columns + N), own


def _between(N: Matrix, M: Matrix) -> Matrix:
    """Return N' M N. Only the part below its diagonal is used."""
    columns = transposed(N)
    return [[dot(a, product(M, b)) for b in columns] for a in columns]


def _cholesky(M: Matrix) -> Matrix:
    """Return L of M = L L'."""
    n = len(M)
    L = zeros(n, n)
    for c in range(n):
        L[c][c] = square_root(M[c][c] - dot(L[c][:c], L[c][:c]))
        for r in range(c + 1, n):
            L[r][c] = (M[r][c] - dot(L[r][:c], L[c][:c])) / L[c][c]
    return L


def _forward(L: Matrix, b: Vector) -> Vector:
    """Return L^-1 b."""
    x: Vector = []
    for row, value in zip(L, b, strict=True):
        x.append((value - dot(row[: len(x)], x)) / row[len(x)])
    return x


def _pivots(A: np.ndarray) -> tuple[list[int], list[int]]:
    """Return the order of A's rows, and as many of its columns, that gives elimination the largest pivots."""
    A, rows, columns = A.copy(), [], []
    for _ in range(len(A)):
        r, c = np.unravel_index(np.abs(A).argmax(), A.shape)
        rows.append(int(r))
        columns.append(int(c))
        A = A - np.outer(A[:, c], A[r]) / A[r, c]
        A[r], A[:, c] = 0.0, 0.0
    return rows, columns


def _solved(rows: Matrix) -> Matrix:
    """Return A^-1 B of the rows of (A, B), by elimination in their order."""
    n = len(rows)
    rows = [list(row) for row in rows]
    for c in range(n):
        rows[c] = [x / rows[c][c] for x in rows[c]]
        for r in range(n):
            if r != c and not is_zero(factor := rows[r][c]):
                rows[r] = [x - factor * y for x, y in zip(rows[r], rows[c], strict=True)]
    return [row[n:] for row in rows]


def _combined(M: np.ndarray, S: np.ndarray) -> np.ndarray | None:
    """Return T of coupled coordinates with S T = (1, 0), or None if they stay.

    Coordinates of finite elements stay: all but the last leave the tip where it is, and M is banded.
    """
    r, n = S.shape
    reaching = np.count_nonzero(S.any(axis=0))
    if not 0 < r <= reaching or r == reaching < n or not np.linalg.cond(M) < CLOSE**2:
        return None
    C = np.linalg.cholesky(M).T  # M = C' C
    Q, R = np.linalg.qr(np.linalg.solve(C.T, S.T), mode="complete")  # S C^-1 = R' Q'
    if not np.linalg.cond(R / np.linalg.norm(R, axis=0)) < CLOSE:
        return None
    return np.linalg.solve(C, np.hstack([Q[:, :r] @ np.linalg.inv(R[:r].T), Q[:, r:]]))


def _blocks(coupled: np.ndarray) -> list[np.ndarray]:
    """Return groups of coordinates that are coupled, directly or through others."""
    reached = coupled | np.eye(len(coupled), dtype=bool)
    for _ in range(len(coupled).bit_length()):
        reached = reached @ reached
    return [np.flatnonzero(row) for row in np.unique(reached, axis=0)]
