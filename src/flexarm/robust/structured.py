"""Robust stability of uncertain loops."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import final

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg

from flexarm.analysis.balance import computing
from flexarm.arrays import Array
from flexarm.brief import brief
from flexarm.checks import Fault, checked_array, checked_instance, refused
from flexarm.errors import DescriptionError
from flexarm.robust.mu import Block, bounded
from flexarm.robust.peaks import ENOUGH, proven_peak
from flexarm.robust.systems import Matrices
from flexarm.robust.uncertain import Uncertain

FARTHEST = 20.0
"""Largest size of a destabilising deviation that is sought, in units of the ranges."""
ALONG = 60
"""Number of steps in which a direction is searched for its first unstable point."""
NEARLY = 1.0 - 1e-3, 1.0 - 1e-6
"""Shares of destabilising deviations. Between these, a pole that reaches the axis comes a thousand times nearer."""
MOST_CORNERS = 64
"""Number of corners above which random ones are tried."""


@final
@brief
@dataclass(frozen=True, eq=False)
class RobustStability:
    """Bounds of the parameter deviations for which a loop stays stable.

    Attributes
    ----------
    lower : float
        Size of the deviations up to which the loop is stable, 1 / max mu with an upper bound of mu that holds at all
        frequencies. 1 is the size of the ranges: 2.9 means 290 % of them.
    upper : float
        Size of the smallest deviations that were found to make the loop unstable; infinite if none was found.
    frequency : float
        Frequency of the oscillation that they cause [rad/s]. It is infinite if the model has no solution there, such as
        at a mass of zero.
    parameters : dict
        The parameters there, {} if none was found.
    omega, mu : (N,)
        Frequencies where mu was computed [rad/s], and an upper bound of mu there. It is as low as possible only where
        it is near the largest one.
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

    The lower bound of the size follows from an upper bound of mu for real parameters (`mu_bound`). The scalings at a
    frequency prove a bound on an interval around it, and these intervals cover all frequencies (G. Ferreres, J. F.
    Magni and J.-M. Biannic, International Journal of Robust and Nonlinear Control 13 (2003) 715-733). The upper bound
    is a set of parameters for which a pole is on the imaginary axis. It is found by a search over directions: the
    corners of the ranges, then a descent from the best of these.

    Parameters
    ----------
    loop : Uncertain
        A loop that is stable in the middle of the ranges, such as `uncertain(...).closed(controller)`.
    omega : (N,), optional
        Frequencies [rad/s]. The lower bound is then that of these frequencies alone, and not proven between them.
        Default: all frequencies.

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
    blocks = tuple(Block(each, "real") for each in loop.blocks if each)
    size, delta, frequency = _destabilising(loop)
    known = 1.0 / size
    # mu of real parameters may be large at this frequency alone
    first = np.empty(0) if delta is None else np.array([frequency])
    if grid is None:
        peak = proven_peak(
            inner,
            lambda M, enough: bounded(M, blocks, enough),
            lambda D, level: level**2 * D,
            known,
            np.union1d(first, np.abs(linalg.eigvals(inner.A))),
        )
        largest, grid, values = peak.upper, peak.omega, peak.values
    else:
        grid = np.union1d(grid, first)
        values = np.array([bounded(inner.frequency(w), blocks, ENOUGH * known).upper for w in grid])
        largest = float(values.max())
    lower = 1.0 / largest if largest > 0.0 else np.inf
    parameters = {} if delta is None else loop.parameters(delta)
    return RobustStability(lower, size, frequency, parameters, grid, values)


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
