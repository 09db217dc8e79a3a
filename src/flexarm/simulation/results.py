"""Results on disk: NetCDF files, written whole or not at all, and read only where they are results."""

from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING

from flexarm.errors import DescriptionError
from flexarm.files import write_whole
from flexarm.simulation import netcdf

if TYPE_CHECKING:
    from xarray import Dataset

VARIABLES = {
    "q": ("time", "coordinate"),
    "qd": ("time", "coordinate"),
    "u": ("time", "input"),
    "tip": ("time", "axis"),
    "deflection": ("time", "link", "axis"),
    "tip_angle": ("time", "link", "angle"),
    **dict.fromkeys(("time", "kinetic", "potential", "work", "dissipated", "power", "energy_error"), ("time",)),
}
LABELS = dict.fromkeys(("coordinate", "role", "owner", "unit"), "coordinate") | {
    name: name for name in ("input", "link", "axis", "angle")
}
FOLLOWED = {"q_ref": ("time", "joint")}
"""What a run along a reference has as well, with the label `joint`."""

ATTRIBUTES = {"arm": str, "title": str, "name": str, "status": str, "energy_drift": float}


def save_result(result: "Dataset", path: str | PathLike[str]) -> Path:
    """Write a result as NetCDF (HDF5) and return its path. An older file stays untouched until the new one is complete.

    Raises `DescriptionError` where it cannot be written, or is no result.
    """
    if fault := lacking(result):
        raise DescriptionError(f"{fspath(path)}: what shall be written is not a result of flexarm: {fault}")
    content = netcdf.image(result)
    return write_whole(path, content, netcdf.seal(content), durable=True)


def load_result(path: str | PathLike[str]) -> "Dataset":
    """The `xarray.Dataset` that `save_result` wrote.

    A file that was changed since by another program is read with care, which takes half a second more.

    Raises `DescriptionError` for a file that is not there, is no result, or is damaged.
    """
    result = netcdf.read(path)
    if fault := lacking(result):
        raise DescriptionError(f"{fspath(path)}: a NetCDF file, but not a result of flexarm: {fault}")
    return result


def lacking(result: "Dataset") -> str:
    """What a dataset lacks of being a result; empty where it is one."""
    numbers = VARIABLES | (FOLLOWED if "q_ref" in result.variables else {})
    labels = LABELS | ({"joint": "joint"} if "q_ref" in result.variables else {})
    for name, dimensions in (numbers | {label: (of,) for label, of in labels.items()}).items():
        if name not in result.variables:
            return f"it has no variable {name}"
        variable = result.variables[name]
        if variable.dims != dimensions:
            return f"{name} goes over ({', '.join(map(str, variable.dims))}); it must be ({', '.join(dimensions)})"
        if name in numbers and variable.dtype.kind not in "fi":
            return f"{name} must hold numbers"
        if name in labels and not all(isinstance(label, str) for label in variable.values.tolist()):
            return f"{name} must hold words"
    if not result.sizes["time"]:
        return "it has no times"
    for name, kind in ATTRIBUTES.items():
        if not isinstance(result.attrs.get(name), kind):
            return f"it has no attribute {name} that is a {'text' if kind is str else 'number'}"
    return ""
