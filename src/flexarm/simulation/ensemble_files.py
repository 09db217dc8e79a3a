"""An ensemble on disk: files of many runs each, and a dataset that reads values from them on demand."""

import os
import tempfile
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import h5py
import numpy as np
from xarray import Variable, open_dataset
from xarray.backends import BackendArray
from xarray.core import indexing

from flexarm.arrays import Array
from flexarm.errors import DescriptionError, SimulationError
from flexarm.files import check_writable, checked_path, write_whole
from flexarm.simulation import netcdf

if TYPE_CHECKING:
    from xarray import Dataset


LARGE = 1
"""Number of dimensions above which a variable stays on disk."""


@final
class Folder:
    """Folder to which the runs of an ensemble are written.

    Raises `DescriptionError` if the folder is not empty or cannot be written.
    """

    def __init__(self, folder: str | PathLike[str]):
        self._folder = Path(checked_path(folder))
        if self._folder.is_dir() and any(self._folder.iterdir()):
            raise DescriptionError(f"folder {os.fspath(folder)!r} is not empty; give a new or empty folder")
        check_writable(self._folder / "runs.nc")
        self._files: list[tuple[Path, int]] = []

    def add(self, found: "Dataset", first: int, count: int) -> None:
        """Write the runs from `first` on, of `count` in all.

        Raises `SimulationError` if the folder cannot be written. The runs are then in the system's temporary folder, or
        in the error's `result` if that fails too.
        """
        width, runs = len(str(count - 1)), found.sizes["run"]
        name = f"runs-{first:0{width}d}-{first + runs - 1:0{width}d}.nc"
        content = netcdf.image(found)
        try:
            self._files.append((write_whole(self._folder / name, content, netcdf.seal(content)), runs))
        except DescriptionError as error:  # the disk may have filled up meanwhile
            fault = f"simulate_many: {error}"
        else:
            return
        try:
            kept = write_whole(Path(tempfile.mkdtemp(prefix="flexarm-")) / name, content, netcdf.seal(content))
        except (DescriptionError, OSError) as again:
            raise SimulationError(
                f"{fault}; these runs cannot be written to a temporary folder either: {again}", found
            ) from None
        self._files.append((kept, runs))
        raise SimulationError(f"{fault}; these runs are in {kept}, those before in {self._folder}", self.opened())

    def opened(self) -> "Dataset":
        """Return all runs as a dataset. Variables with more than one number per run are read on demand."""
        return opened([file for file, _ in self._files])


def opened(files: list[Path]) -> "Dataset":
    """Return a dataset of the runs in these files, in sequence."""
    import xarray as xr

    from flexarm.simulation import labels  # noqa: F401  (the accessor of results)

    parts = [_opened(file) for file in files]
    first = parts[0]
    starts = np.cumsum([0, *(part.sizes["run"] for part in parts)])
    data: dict[str, Any] = {}
    for name, variable in first.variables.items():
        if "run" not in variable.dims:
            data[str(name)] = variable.load()
        elif variable.ndim <= LARGE:
            values = np.concatenate([part.variables[name].values for part in parts])
            data[str(name)] = Variable(variable.dims, values, variable.attrs)
        else:
            rows = _Rows(files, starts, str(name), variable.dtype, variable.shape[1:])
            data[str(name)] = Variable(variable.dims, indexing.LazilyIndexedArray(rows), variable.attrs)
    coords = {str(name): data.pop(str(name)) for name in first.coords}
    found = xr.Dataset(data, coords=coords, attrs=first.attrs)
    for part in parts:
        part.close()
    return found


def _opened(file: Path) -> "Dataset":
    return open_dataset(file, engine="h5netcdf", decode_times=False)


@final
class _Rows(BackendArray):
    """A variable of all runs, with its rows in several files."""

    def __init__(self, files: list[Path], starts: Array, name: str, dtype: Any, shape: tuple[int, ...]):
        self._files, self._starts, self._name = files, starts, name
        self.dtype, self.shape = dtype, (int(starts[-1]), *shape)

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.OUTER, self._read)

    def _read(self, key: tuple) -> Array:
        """Read the requested rows, each from its file."""
        of, others = key[0], key[1:]
        wanted = np.arange(self.shape[0])[of]
        rows = np.atleast_1d(wanted)
        files = np.searchsorted(self._starts, rows, side="right") - 1
        found: Array | None = None
        for i in np.unique(files):
            places = np.flatnonzero(files == i)
            inside = rows[places] - self._starts[i]
            first = int(inside.min())
            with h5py.File(self._files[i], "r") as file:
                values = file[self._name][first : int(inside.max()) + 1][inside - first]
            if found is None:
                found = np.empty((len(rows), *values.shape[1:]), dtype=self.dtype)
            found[places] = values
        if found is None:
            found = np.empty((0, *self.shape[1:]), dtype=self.dtype)
        for axis, each in enumerate(others, start=1):
            found = found[(slice(None),) * axis + (each if isinstance(each, slice) else np.atleast_1d(each),)]
        drop = tuple(i for i, each in enumerate(key) if isinstance(each, int | np.integer))
        return found.squeeze(axis=drop) if drop else found
