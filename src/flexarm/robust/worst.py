"""The largest gain of an uncertain system, by search over its parameters."""

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
from flexarm.robust.norms import Norm, largest_gain
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
    """Largest gain of an uncertain system that a search found.

    Attributes
    ----------
    gain : float
        H-infinity norm at the worst parameters; infinite if the system is not stable there.
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
    frequency: float
    parameters: Mapping[str, float]
    nominal: float
    tried: int
    unstable: int


@computing("worst_gain")
def worst_gain(
    system: Uncertain, output: Channels = None, input: Channels = None, samples: int = 50, seed: int = 0
) -> WorstGain:
    """Return the largest gain of an uncertain system within the ranges of its parameters, as far as a search finds it.

    The search tries the middle and all corners (64 random ones if there are more), then random samples, then a local
    search from the worst of these. The gain of each is exact. There may be parameters with a larger gain.

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
    return WorstGain(gain, frequency, system.parameters(delta), nominal, len(scores), unstable)


def _gain(system: Uncertain, delta: Array, rows: list[int], columns: list[int]) -> Norm:
    try:
        found: Matrices = system.closed_by(delta).channels(rows, columns)
    except DescriptionError:
        return Norm(np.inf, np.nan)
    return largest_gain(found) if found.stable else Norm(np.inf, np.nan)


def _corners(count: int, generator: np.random.Generator) -> Array:
    if 2**count <= MOST_CORNERS:
        return np.array(list(product((-1.0, 1.0), repeat=count)))
    return generator.choice((-1.0, 1.0), (MOST_CORNERS, count))
