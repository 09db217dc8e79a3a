"""Results on disk: NetCDF files, written whole or not at all."""

import io
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING

from flexarm.errors import DescriptionError
from flexarm.files import write_whole

if TYPE_CHECKING:
    from xarray import Dataset


def save_result(result: "Dataset", path: str | PathLike[str]) -> Path:
    """Write a result as NetCDF (HDF5) and return its path. An older file stays untouched until the new one is complete.

    Raises `DescriptionError` where it cannot be written.
    """
    return write_whole(path, _image(result), durable=True)


def _image(result: "Dataset") -> memoryview:
    """The file's content. It grows in memory: where HDF5 itself meets a full disk, the process crashes."""
    import h5netcdf
    from xarray.backends import H5NetCDFStore

    content = io.BytesIO()
    with h5netcdf.File(content, "w") as file:
        result.dump_to_store(H5NetCDFStore(file))
    return content.getbuffer()


def load_result(path: str | PathLike[str]) -> "Dataset":
    """The `xarray.Dataset` that `save_result` wrote.

    Raises `DescriptionError` for a file that is not there, is no result, or is damaged.
    """
    import xarray as xr

    if not Path(path).is_file():
        raise DescriptionError(f"{fspath(path)}: there is no such file")
    try:
        with xr.open_dataset(path, engine="h5netcdf") as dataset:
            result = dataset.load()
    except Exception as error:  # HDF5 reports damage by many kinds of errors
        reason = " ".join(str(error).split())
        raise DescriptionError(f"{fspath(path)}: cannot be read as a result: {reason}") from None
    if "arm" not in result.attrs or "q" not in result:
        raise DescriptionError(f"{fspath(path)}: a NetCDF file, but not a result of flexarm")
    return result
