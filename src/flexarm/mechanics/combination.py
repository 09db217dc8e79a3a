"""Combinations of a body's coordinates in which less is to be eliminated."""

import numpy as np

CLOSE = 1e3
"""Condition of the combinations, each scaled to unit energy, up to which they are used: three digits of rounding."""
TIPS = 6


def combinations(M: np.ndarray, S: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """T, (k, k), of eta = T z with z that carry one tip function each or none, and S T.

    Modes all move the tip, so that everything beyond couples all of them. Where there are as many modes as tip
    functions that they move, z is these functions themselves; where there are more, the other z leave the tip where it
    is and are orthonormal in M to each other and to the first: each is then eliminated with the frame's six coordinates
    alone. Those come last, and the tip functions in the order of their motions, the last of which may be about the next
    joint's axis: it then costs little, too.

    Parameters
    ----------
    M : (k, k)
        Inertia over eta.
    S : (6, k)
        Slopes of the tip functions, ds/deta.
    """
    k = len(M)
    T, ST, place = np.eye(k), S.copy(), np.full(k, TIPS)
    for block in _blocks((M != 0.0) | (S.T @ S != 0.0)):
        rows = np.flatnonzero(S[:, block].any(axis=1))
        made = _combined(M[np.ix_(block, block)], S[np.ix_(rows, block)])
        if made is not None:
            T[np.ix_(block, block)] = made
            ST[np.ix_(rows, block)] = np.eye(len(rows), len(block))
            place[block] = [*rows, *[TIPS + 1] * (len(block) - len(rows))]
    order = np.argsort(place, kind="stable")
    return T[:, order], ST[:, order]


def _combined(M: np.ndarray, S: np.ndarray) -> np.ndarray | None:
    """T of coordinates that are coupled with each other, None where they stay: S T = (1, 0).

    Coordinates of finite elements stay: but for the last, they leave the tip where it is already, and M is narrow.
    """
    r, n = S.shape
    reaching = np.count_nonzero(S.any(axis=0))
    if not 0 < r <= reaching or r == reaching < n or not np.linalg.cond(M) < CLOSE**2:
        return None
    C = np.linalg.cholesky(M).T  # M = C' C
    Q, R = np.linalg.qr(np.linalg.solve(C.T, S.T), mode="complete")  # S C^-1 = R' Q'
    if not np.linalg.cond(R[:r] / np.linalg.norm(R[:r], axis=0)) < CLOSE:
        return None
    return np.linalg.solve(C, np.hstack([Q[:, :r] @ np.linalg.inv(R[:r].T), Q[:, r:]]))


def _blocks(coupled: np.ndarray) -> list[np.ndarray]:
    """Coordinates that are coupled, directly or through others, together."""
    reached = coupled | np.eye(len(coupled), dtype=bool)
    for _ in range(len(coupled).bit_length()):
        reached = reached @ reached
    return [np.flatnonzero(row) for row in np.unique(reached, axis=0)]
