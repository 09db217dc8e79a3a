"""Bounds of the largest gain of an uncertain system."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import final

import numpy as np

from flexarm.analysis.balance import computing
from flexarm.analysis.linear import Channels, chosen
from flexarm.arrays import Array
from flexarm.brief import brief
from flexarm.checks import checked_instance, checked_integer, checked_whole, refused
from flexarm.errors import DescriptionError
from flexarm.robust.mu import Block, bounded_gain
from flexarm.robust.norms import Norm, largest_gain
from flexarm.robust.peaks import proven_peak
from flexarm.robust.systems import Matrices
from flexarm.robust.uncertain import Uncertain

MOST = 1_000_000
"""Largest number of samples."""
MOST_CORNERS = 64
"""Number of corners above which random ones are tried."""


@final
@brief
@dataclass(frozen=True, eq=False)
class WorstGain:
    """Bounds of the largest gain of an uncertain system.

    Attributes
    ----------
    gain : float
        H-infinity norm at the worst parameters that were found; infinite if the system is not stable there.
    upper : float
        Bound that no parameters within the ranges exceed; infinite if none was proven.
    frequency : float
        Frequency of this gain [rad/s].
    parameters : dict
        The worst parameters.
    nominal : float
        Gain in the middle of the ranges.
    tried : int
        Number of sets of parameters that were tried.
    unstable : int
        Number of these for which the system is not stable.
    """

    gain: float
    upper: float
    frequency: float
    parameters: Mapping[str, float]
    nominal: float
    tried: int
    unstable: int


@computing("worst_gain")
def worst_gain(
    system: Uncertain, output: Channels = None, input: Channels = None, samples: int = 50, seed: int = 0
) -> WorstGain:
    """Return two bounds of the largest gain of an uncertain system within the ranges of its parameters.

    The lower bound is a search: the middle and all corners (64 random ones if there are more), then random samples,
    then a local search from the worst of these. The gain of each is exact. The upper bound is the skewed structured
    singular value for real parameters (M. K. H. Fan and A. L. Tits, IEEE Transactions on Automatic Control 37 (1992)
    734-745). It is proven for all frequencies as in `robust_stability`, and often within 1 % of the largest gain.

    Parameters
    ----------
    system : Uncertain
        Usually a loop, `uncertain(...).closed(controller)`.
    output, input : str, int or list of these, optional
        Outputs and inputs between which the gain counts, by name or index; default all.
    samples : int
        Number of random samples.
    seed : int
        Seed of the samples.

    Raises
    ------
    DescriptionError
        If the system is not stable in the middle of the ranges, or if an argument does not fit.
    """
    from scipy.optimize import minimize

    where = "worst_gain"
    with refused(where):
        checked_instance(system, Uncertain, "system")
        samples, seed = checked_integer(samples, MOST, "samples"), checked_whole(seed, 0, "seed")
    k = len(system.names)
    middle = system.at(np.array((system.low + system.high) / 2.0))
    rows, columns = chosen("output", output, middle.output_labels), chosen("input", input, middle.input_labels)
    scores: list[tuple[float, float, Array]] = []

    def score(delta: Array) -> float:
        found = _gain(system, delta, rows, columns)
        scores.append((found.value, found.frequency, np.array(delta)))
        return -found.value

    score(np.zeros(k))
    nominal = scores[0][0]
    if not np.isfinite(nominal):
        raise DescriptionError(f"{where}: the system is not stable in the middle of the ranges; close a loop first")
    generator = np.random.default_rng(seed)
    for delta in [*_corners(k, generator), *generator.uniform(-1.0, 1.0, (samples, k))]:
        score(delta)
    worst = max(scores, key=lambda each: each[0])
    if np.isfinite(worst[0]):
        most = {"maxfev": 30 + 20 * k, "xatol": 1e-4, "fatol": 1e-6 * worst[0]}
        inward = 0.98 * worst[2]  # a simplex in a corner would be flat
        minimize(score, inward, method="Nelder-Mead", bounds=[(-1.0, 1.0)] * k, options=most)
    gain, frequency, delta = max(scores, key=lambda each: each[0])
    unstable = sum(not np.isfinite(each[0]) for each in scores)
    upper = _proven(system, rows, columns, gain, frequency) if np.isfinite(gain) else np.inf
    return WorstGain(gain, upper, frequency, system.parameters(delta), nominal, len(scores), unstable)


def _gain(system: Uncertain, delta: Array, rows: list[int], columns: list[int]) -> Norm:
    try:
        found: Matrices = system.closed_by(delta).channels(rows, columns)
    except DescriptionError:
        return Norm(np.inf, np.nan)
    return largest_gain(found) if found.stable else Norm(np.inf, np.nan)


def _proven(system: Uncertain, rows: list[int], columns: list[int], gain: float, frequency: float) -> float:
    """Return an upper bound of the gain for all parameters in their ranges."""
    M, count = Matrices.of("worst_gain", system.system).balanced, sum(system.blocks)
    p = max(len(rows), len(columns))
    # the signals of the gain are the last block, which zeros make square
    into, out = M.B[:, count:][:, columns], M.C[count:][rows]
    D = np.zeros((count + p, count + p))
    D[:count, :count] = M.D[:count, :count]
    D[:count, count : count + len(columns)] = M.D[:count, count:][:, columns]
    D[count : count + len(rows), :count] = M.D[count:, :count][rows]
    D[count : count + len(rows), count : count + len(columns)] = M.D[count:, count:][rows][:, columns]
    padded = Matrices(
        M.A,
        np.hstack([M.B[:, :count], into, np.zeros((M.order, p - len(columns)))]),
        np.vstack([M.C[:count], out, np.zeros((p - len(rows), M.order))]),
        D,
    )
    blocks = (*(Block(each, "real") for each in system.blocks if each), Block(p, "full"))

    def limit(D: Array, level: float) -> Array:
        return D * np.where(np.arange(count + p) < count, 1.0, level**2)

    first = np.abs(np.linalg.eigvals(M.A))
    grid = np.union1d(first, [frequency] if np.isfinite(frequency) else [])
    return proven_peak(padded, lambda N, enough: bounded_gain(N, blocks, enough), limit, gain, grid).upper


def _corners(count: int, generator: np.random.Generator) -> Array:
    if 2**count <= MOST_CORNERS:
        return np.array(list(product((-1.0, 1.0), repeat=count)))
    return generator.choice((-1.0, 1.0), (MOST_CORNERS, count))
