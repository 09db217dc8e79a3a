"""Parameters of many runs or many plants, in the forms that a user may give."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from flexarm.arrays import Array
from flexarm.checks import Fault, checked_array, refused
from flexarm.errors import DescriptionError
from flexarm.model import Model


def parameter_rows(model: Model, p: Any) -> Array:
    """Return the parameters of one run or plant, (k,), or of many, (N, k). A dict gives some of them by name.

    Raises `DescriptionError` for a value that is not allowed, for an unknown name, or for different numbers of runs.
    """
    if not isinstance(p, Mapping):
        return model.parameter_values(p)
    columns: dict[Any, Array] = {}
    for key, value in p.items():
        with refused("p"):
            columns[key] = checked_array(value, str(key))
            if columns[key].ndim > 1:
                raise Fault(str(key), f"has shape {columns[key].shape}; it must be one number, or N numbers")
    counts = {len(x) for x in columns.values() if x.ndim}
    if len(counts) > 1:
        raise DescriptionError(f"p: the parameters have different numbers of runs: {sorted(counts)}")
    if not counts:
        return model.parameter_values({key: float(x) for key, x in columns.items()})
    rows = [{key: float(x if x.ndim == 0 else x[i]) for key, x in columns.items()} for i in range(counts.pop())]
    return np.array([model.parameter_values(row) for row in rows]).reshape(-1, len(model.p))
