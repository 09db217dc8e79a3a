"""Search for the worst case: differential evolution over the shares of the parameters' distributions."""

import warnings
from collections.abc import Callable

import numpy as np

from flexarm.arrays import Array
from flexarm.studies.designs import WorstCase

MEMBERS = 10
"""Number of members of a generation for each parameter. A generation has at least `LEAST`."""
LEAST = 16


def generation(parameters: int, runs: int) -> int:
    """Return the number of runs in a generation."""
    return max(5, min(max(LEAST, MEMBERS * parameters), runs))


def search(design: WorstCase, parameters: int, evaluate: Callable[[Array], Array]) -> None:
    """Evaluate one generation after another, each derived from the previous one: shares (members, k).

    The search ends when all runs are used, when the members have become equal, or when a worst case is found. This is a
    run that failed or has an infinite outcome. `evaluate` returns the badness of each member: infinite for a worst
    case, -infinite for an unknown outcome.
    """
    from scipy.optimize import differential_evolution

    members = generation(parameters, design.runs)
    generations = max(1, design.runs // members)
    found_all = False

    def cost(shares: Array) -> Array:
        nonlocal found_all
        bad = evaluate(np.clip(shares.T, 0.0, 1.0))
        found_all = found_all or bool((bad == np.inf).any())
        return -bad

    from scipy.stats import qmc

    first = qmc.Sobol(parameters, seed=np.random.default_rng(design.seed)).random_base2((members - 1).bit_length())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # from the differences of infinite costs
        differential_evolution(
            cost,
            [(0.0, 1.0)] * parameters,
            init=first[:members],
            maxiter=generations - 1,
            vectorized=True,
            updating="deferred",
            polish=False,
            tol=1e-3,
            seed=np.random.default_rng(design.seed),
            callback=lambda *_, **__: found_all,
        )
