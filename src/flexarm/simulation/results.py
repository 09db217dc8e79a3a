"""Results on disk: NetCDF files, written whole or not at all."""

import os
import tempfile
from collections.abc import Callable
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flexarm.errors import DescriptionError

if TYPE_CHECKING:
    from xarray import Dataset


def save_result(result: Any, path: str | PathLike[str]) -> Path:
    """Write a result as NetCDF (HDF5) and return its path. An older file stays untouched until the new one is complete.

    Raises `DescriptionError` where it cannot be written.
    """
    return write_whole(path, lambda temporary: result.to_netcdf(temporary, engine="h5netcdf"))


def write_whole(path: str | PathLike[str], write: Callable[[str], object]) -> Path:
    """Let `write` fill a temporary file beside `path`, then put it in its place; a missing folder is made.

    Raises `DescriptionError` where that cannot be done; nothing half-written is left.
    """
    target = Path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".new")
        os.close(handle)
        try:
            write(temporary)
            os.chmod(temporary, 0o666 & ~_umask())
            os.replace(temporary, target)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise DescriptionError(f"{fspath(path)}: cannot be written: {error.strerror or error}") from None
    return target


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


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
