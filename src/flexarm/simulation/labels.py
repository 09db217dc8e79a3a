"""Selection by names in results, with errors that list the names: `result.q.flexarm.sel(coordinate="upper.joint")`.

xarray's own `sel` selects the same, but for an unknown name its error says only that the name is not found. This module
registers an accessor, xarray's way to extend its classes. It is imported when the first result is made or read.
"""

from typing import Any, final

import xarray as xr

from flexarm.checks import unknown_name
from flexarm.errors import DescriptionError


@xr.register_dataset_accessor("flexarm")
@xr.register_dataarray_accessor("flexarm")
@final
class Labels:
    """Accessor `flexarm` of datasets and of their variables."""

    def __init__(self, data: Any):
        self._data = data

    def sel(self, **labels: Any) -> Any:
        """Return the data at some labels, as xarray's `sel` does: a name, a list of names, or a slice of times.

        Raises `DescriptionError` with the known names, if a dimension or a name does not exist.
        """
        for dimension, wanted in labels.items():
            if dimension not in self._data.indexes:
                known = list(map(str, self._data.indexes))
                raise DescriptionError(unknown_name("sel: there is no dimension", dimension, known, "dimensions are"))
            names = self._data.indexes[dimension].tolist()
            for name in wanted if isinstance(wanted, list | tuple) else [wanted]:
                if isinstance(name, str) and name not in names and all(isinstance(each, str) for each in names):
                    raise DescriptionError(unknown_name(f"sel: unknown {dimension}", name, names, "the names are"))
        return self._data.sel(**labels)
