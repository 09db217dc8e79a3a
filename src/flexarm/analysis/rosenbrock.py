"""Preparation of Rosenbrock's system matrix [A - s 1, B; C, D] for its zeros: scaling, and a staircase."""

import numpy as np

from flexarm.arrays import Array

RANK = 1e-12
"""Size below which singular values of matrices of size 1 count as zero.

Values that vanish up to rounding are below 1e-15. The smallest real ones are about 1e-8: a torque at the hub causes
nearly no immediate acceleration at the tip with 20 to 40 modes.
"""


def reduced(A: Array, B: Array, C: Array, D: Array) -> tuple[Array, Array, Array, Array, Array]:
    """Restrict the system to the largest subspace x = T z on which outputs can stay at zero; its D has full row rank.

    Outputs that no input affects directly, C~ x, stay at zero if x stays in the null space of C~. The rates of the
    removed states must then be zero. They are the outputs of the next round.
    """
    T = np.eye(len(A))
    while True:
        rows, rank = _row_compression(D)
        C, D = rows @ C, (rows @ D)[:rank]
        above, below = C[:rank], C[rank:]
        turn, lost = _row_compression(below.T)
        if lost == 0:
            return A, B, above, D, T
        turn = np.roll(turn, -lost, axis=0).T  # remaining states first, those that C~ excludes last
        A, B, above, T = turn.T @ A @ turn, turn.T @ B, above @ turn, T @ turn
        n = len(A) - lost
        C, D = np.vstack([above[:, :n], A[n:, :n]]), np.vstack([D, B[n:]])
        A, B, T = A[:n, :n], B[:n], T[:, :n]


def _row_compression(X: Array) -> tuple[Array, int]:
    """An orthogonal Q for which only the first `rank` rows of Q X are not zero, and the rank."""
    if 0 in X.shape:
        return np.eye(len(X)), 0
    U, size, _ = np.linalg.svd(X)
    return U.T, int((size > RANK).sum())


def scaled(A: Array, B: Array, C: Array, D: Array) -> tuple[Array, Array, Array, Array, Array, Array, float]:
    """Scale states, inputs, outputs and time so that the system's matrices have size 1, and return the scales.

    States are balanced between the inputs that drive them and the outputs that they drive. Rates and positions, radians
    and metres then have similar sizes. All scales are powers of 2: x = x_scale x', u = u_scale u', s = rate s'.
    """
    n, m = B.shape
    x, u, y = np.ones(n), np.ones(m), np.ones(len(C))
    rate = float(_power(np.abs(np.linalg.eigvals(A)).max(initial=0.0)))
    A, B = A / rate, B / rate
    off = A - np.diag(np.diag(A))
    for _ in range(30):
        y = _power(1.0 / _size(np.hstack([C * x, D * u]), axis=1))
        u = _power(1.0 / _size(np.vstack([B / x[:, None], y[:, None] * D]), axis=0))
        driven = _size(np.hstack([off * x, B * u]), axis=1) / x
        drives = _size(np.vstack([off / x[:, None], y[:, None] * C]), axis=0) * x
        x = x * _power(np.sqrt(driven / drives))
    return A / x[:, None] * x, B / x[:, None] * u, y[:, None] * C * x, y[:, None] * D * u, x, u, rate


def _size(X: Array, axis: int) -> Array:
    """Norms of rows or columns; 1 where they are zero."""
    size = np.linalg.norm(X, axis=axis)
    return np.where(size > 0, size, 1.0)


def _power(x: Array) -> Array:
    """Nearest powers of 2; 1 where there is none."""
    known = np.isfinite(x) & (x > 0)
    return np.where(known, 2.0 ** np.round(np.log2(np.where(known, x, 1.0))), 1.0)
