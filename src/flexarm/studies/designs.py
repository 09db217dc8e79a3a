"""Designs: the shares of their distributions at which parameters are sampled."""

import math
from typing import Annotated, Literal, final

import numpy as np
from pydantic import BeforeValidator

from flexarm.arrays import Array
from flexarm.checks import Described, Fault, by_type, checked_integer, checked_whole, counted, title
from flexarm.studies.distributions import Quantile

MOST_RUNS = 10_000_000


def _runs(value: object) -> int:
    runs = checked_whole(value, 1)
    if runs > MOST_RUNS:
        raise Fault("", f"is {runs}; it must be at most {MOST_RUNS}")
    return runs


def _base(value: object) -> int:
    base = _runs(value)
    if base & (base - 1) or base < 2:
        below = max(2, 2 ** (base.bit_length() - 1))
        raise Fault("", f"is {base}; it must be a power of two, such as {below} or {2 * below}")
    return base


Runs = Annotated[int, BeforeValidator(_runs)]
Seed = Annotated[int, BeforeValidator(lambda value: checked_integer(value, 2**63 - 1))]


@final
class Random(Described):
    """Independent random values. More runs with the same seed begin with the same values."""

    type: Literal["random"] = "random"
    runs: Runs = 1000
    seed: Seed = 0

    def samples(self, quantiles: list[Quantile]) -> list[Array]:
        """Return the values of each parameter, (runs,)."""
        shares = np.random.default_rng(self.seed).random((self.runs, len(quantiles)))
        return _values(quantiles, shares)


@final
class LatinHypercube(Described):
    """Latin hypercube: each parameter's range has as many equally likely parts as there are runs, and each part gets
    one random value."""

    type: Literal["latin-hypercube"] = "latin-hypercube"
    runs: Runs = 1000
    seed: Seed = 0

    def samples(self, quantiles: list[Quantile]) -> list[Array]:
        """Return the values of each parameter, (runs,)."""
        from scipy.stats import qmc

        return _values(
            quantiles, qmc.LatinHypercube(len(quantiles), seed=np.random.default_rng(self.seed)).random(self.runs)
        )


@final
class Sobol(Described):
    """Scrambled Sobol sequence, which fills the space even more uniformly. It is best with 2^k runs.

    More runs with the same seed begin with the same values.
    """

    type: Literal["sobol"] = "sobol"
    runs: Runs = 1024
    seed: Seed = 0

    def samples(self, quantiles: list[Quantile]) -> list[Array]:
        """Return the values of each parameter, (runs,)."""
        return _values(quantiles, _sobol(len(quantiles), self.runs, self.seed))


@final
class Grid(Described):
    """Every combination of some values of each parameter."""

    type: Literal["grid"] = "grid"
    levels: Runs = 5

    def samples(self, quantiles: list[Quantile]) -> list[Array]:
        """Return the values of each parameter, (runs,). The last parameter changes fastest."""
        levels = [quantile.levels(self.levels) for quantile in quantiles]
        if (count := math.prod(map(len, levels))) > MOST_RUNS:
            raise Fault(
                "design.levels",
                f"is {self.levels}, which means {counted(count, 'run')}, and at most {MOST_RUNS} are allowed",
            )
        return [each.ravel() for each in np.meshgrid(*levels, indexing="ij")]


@final
class Sensitivity(Described):
    """Samples for Sobol's indices (Saltelli 2010), in `base` times (number of parameters + 2) runs.

    Parameters
    ----------
    base : int
        Number of rows, a power of two.
    confidence : float
        Confidence of the indices' bounds, which are computed by bootstrap.
    """

    type: Literal["sensitivity"] = "sensitivity"
    base: Annotated[int, BeforeValidator(_base)] = 256
    seed: Seed = 0
    confidence: Annotated[float, BeforeValidator(lambda value: _between(value))] = 0.95

    def samples(self, quantiles: list[Quantile]) -> list[Array]:
        """Return the values of each parameter: the blocks A, B, and A with one column of B each, for each row of the
        base."""
        k = len(quantiles)
        a, b = np.split(_sobol(2 * k, self.base, self.seed), 2, axis=1)
        shares = np.repeat(a[:, None, :], k + 2, axis=1)  # (base, block, k): rows of the base stay together
        shares[:, 1] = b
        for i in range(k):
            shares[:, 2 + i, i] = b[:, i]
        return _values(quantiles, shares.reshape(-1, k))


@final
class WorstCase(Described):
    """A search for the worst value of an outcome within the parameters' bounds, by differential evolution.

    Parameters
    ----------
    outcome : str
        Name of the outcome.
    worst : "largest" or "smallest"
        Direction of the search.
    runs : int
        Largest number of runs. The search ends earlier if all members of the population are equal.
    """

    type: Literal["worst-case"] = "worst-case"
    outcome: Annotated[str, title]
    worst: Literal["largest", "smallest"] = "largest"
    runs: Runs = 1000
    seed: Seed = 0


Design = Random | LatinHypercube | Sobol | Grid | Sensitivity | WorstCase
KINDS = by_type(Design)


def _between(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 < value < 1.0:
        raise Fault("", f"is {value!r}; it must be between 0 and 1, such as 0.95")
    return float(value)


def _sobol(columns: int, rows: int, seed: int) -> Array:
    from scipy.stats import qmc

    sequence = qmc.Sobol(columns, seed=np.random.default_rng(seed), bits=64)
    return sequence.random_base2((rows - 1).bit_length())[:rows]  # SciPy warns for other numbers


def _values(quantiles: list[Quantile], shares: Array) -> list[Array]:
    return [quantile(column) for quantile, column in zip(quantiles, shares.T, strict=True)]
