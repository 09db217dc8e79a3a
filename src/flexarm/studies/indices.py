"""Sobol's indices of outcomes: the share of the variance due to each parameter, alone and with the others."""

from typing import TYPE_CHECKING, Any

import numpy as np

from flexarm.arrays import Array

if TYPE_CHECKING:
    from xarray import Dataset

RESAMPLED = 400
"""Number of bootstrap samples for the bounds."""


def indices(result: "Dataset", outcomes: list[str], parameters: list[str], confidence: float, seed: int) -> "Dataset":
    """Return the result with first_order and total_order (outcome, parameter), and their bounds at this confidence.

    A row of the base counts if the outcome is finite in all of its runs. The largest power of two of these rows is
    used, and `indices_rows` is its value. With fewer than two rows the indices are NaN.

    Parameters
    ----------
    result : Dataset
        Result with the runs of a `Sensitivity` design, in its order.
    """
    k = len(parameters)
    shape = (len(outcomes), k)
    found: dict[str, Array] = {name: np.full(shape, np.nan) for name in NAMES}
    rows = np.zeros(len(outcomes), int)
    for i, name in enumerate(outcomes):
        y = result[name].values.reshape(-1, k + 2)  # (base, block): A, B, and A with one column of B each
        y = y[np.isfinite(y).all(axis=1)]
        rows[i] = 2 ** (len(y).bit_length() - 1) if len(y) >= 2 else 0
        if rows[i]:
            for label, values in zip(NAMES, _estimates(y[: rows[i]], confidence, seed), strict=True):
                found[label][i] = values
    result = result.assign_coords(parameter=parameters, outcome=outcomes)
    for label, values in found.items():
        result[label] = (("outcome", "parameter"), values)
    result["indices_rows"] = ("outcome", rows)
    return result


NAMES = ("first_order", "total_order", "first_order_low", "first_order_high", "total_order_low", "total_order_high")


def _estimates(y: Array, confidence: float, seed: int) -> tuple[Array, ...]:
    """Return first and total order (k,), and the bounds of each."""
    first, total = _sobol(y)
    generator = np.random.default_rng(seed)
    again = np.array([_sobol(y[generator.integers(0, len(y), len(y))]) for _ in range(RESAMPLED)])
    edges = [(1 - confidence) / 2, (1 + confidence) / 2]
    (first_low, total_low), (first_high, total_high) = np.quantile(again, edges, axis=0)
    return first, total, first_low, first_high, total_low, total_high


def _sobol(y: Array) -> tuple[Array, Array]:
    """Return SciPy's estimates (Saltelli 2010) from rows of blocks."""
    from scipy.stats import sobol_indices

    k = y.shape[1] - 2
    mixed = np.repeat(y[:, 2:].T[:, None], 2 if k == 1 else 1, axis=0)  # SciPy fails for one parameter: give it two
    blocks: Any = {"f_A": y[:, 0][None], "f_B": y[:, 1][None], "f_AB": mixed}
    found = sobol_indices(func=blocks, n=len(y))
    return np.atleast_1d(found.first_order)[:k], np.atleast_1d(found.total_order)[:k]
