"""Number of periods after the horizon in which the limits must hold, so that they hold for ever.

After the horizon the inputs follow the law without limits, x' = (F - G K) x. The states from which all limits hold for
ever are the maximal output admissible set. If the set is bounded and the loop decays, the limits over finitely many
periods determine it. (Gilbert & Tan, IEEE Trans. Automatic Control 36, 1991, 1008-1020, theorem 2.2.)
"""

import numpy as np

from flexarm.arrays import Array
from flexarm.control.predictive_horizon import Limits
from flexarm.errors import DescriptionError

SLIGHTLY = 1e-7
"""Share of a limit by which a redundant one may be exceeded, from rounding in the linear programs."""


def determined(A: Array, rows: Array, bounds: Array, most: int) -> int | None:
    """Return the least number of periods whose limits imply those of all later ones, or None if it exceeds `most`.

    Parameters
    ----------
    A : (n, n)
        The loop without limits, from sample to sample.
    rows, bounds : (r, n), (r,)
        Limits rows x <= bounds, positive.
    """
    from scipy.optimize import linprog

    rows = rows / bounds[:, None]
    powers = [rows]

    def implied(count: int) -> bool:
        """Return True if the limits of the periods before `count` imply those of this one."""
        while len(powers) <= count:
            powers.append(powers[-1] @ A)
        given = np.vstack(powers[:count])
        for row in powers[count]:
            found = linprog(-row, A_ub=given, b_ub=np.ones(len(given)), bounds=(None, None), method="highs")
            if found.status != 0 or -found.fun > 1.0 + SLIGHTLY:
                return False
        return True

    low, high = 0, 1
    while not implied(high):
        if high >= most:
            return None
        low, high = high, min(2 * high, most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if implied(middle) else (middle, high)
    return high


def limited(limits: Limits, F: Array, G: Array, K: Array, C: Array, v: Array, y: Array) -> tuple[Array, Array, Array]:
    """Return the loop (n, n) without limits at an equilibrium, and all limits as rows x <= bounds.

    Parameters
    ----------
    F, G, K, C : (n, n), (n, m), (m, n), (p, n)
        A period, the gain, and the slopes of the outputs.
    v, y : (m,), (p,)
        Inputs and outputs at the equilibrium.
    """
    A = F - G @ K
    change = -K @ (A - np.eye(len(A)))
    parts = [
        (-K, limits.u - v, limits.u + v),
        (change, limits.rate, limits.rate),
        (C, limits.high - y, y - limits.low),
    ]
    rows = np.vstack([np.vstack([each, -each]) for each, _, _ in parts])
    bounds = np.concatenate([np.concatenate([high, low]) for _, high, low in parts])
    used = np.isfinite(bounds)
    if not (bounds[used] > 0.0).all():
        raise DescriptionError(
            "Predictive: constraint_horizon is 'invariant'; the equilibrium at the end of the reference must be within "
            "all limits, and one is reached there"
        )
    return A, rows[used], bounds[used]
