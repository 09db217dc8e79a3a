"""Results on disk: NetCDF files, written completely or not at all, and validated when they are read."""

from numbers import Real
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from flexarm.checks import a_kind
from flexarm.errors import DescriptionError
from flexarm.files import checked_path, write_whole
from flexarm.simulation import netcdf

if TYPE_CHECKING:
    from xarray import Dataset

Dimensions = dict[str, tuple[str, ...]]
"""Dimensions of variables by their names."""

VARIABLES: Dimensions = {
    "q": ("time", "coordinate"),
    "qd": ("time", "coordinate"),
    "u": ("time", "input"),
    "tip": ("time", "axis"),
    "deflection": ("time", "link", "axis"),
    "tip_angle": ("time", "link", "angle"),
    **dict.fromkeys(("kinetic", "potential", "work", "dissipated", "power", "energy_error"), ("time",)),
}
"""Variables of a complete result, and their dimensions."""

FOLLOWED: Dimensions = {"q_ref": ("time", "joint")}
"""Further variables of a result with a reference."""

REMEMBERED: Dimensions = {"drive_state": ("time", "state")}
"""Further variables of an arm whose drives have states."""

OUTSIDE: Dimensions = {"w": ("time", "exogenous")}
"""Further variables of an arm with exogenous inputs."""

CABLED: Dimensions = {"tension": ("time", "cable")}
"""Further variables of an arm with cables."""

MOMENTA: Dimensions = {"momentum": ("time", "axis"), "angular_momentum": ("time", "axis")}
"""Further variables of an arm on a free base."""

TURN: Dimensions = {"base_turn": ("time", "axis")}
"""Rotation of a free base since the start. Results of older versions do not have it."""

EVERY = VARIABLES | FOLLOWED | REMEMBERED | OUTSIDE | CABLED | MOMENTA | TURN

AUDIT = ("kinetic", "potential", "energy_error")
"""If one of these variables is kept, all energies are computed, and the result has the energy drift."""

LABELS: Dimensions = {name: (name,) for name in ("coordinate", "input", "link", "axis", "angle")}
LABELS |= dict.fromkeys(("role", "owner", "unit"), ("coordinate",))
"""Coordinates of every result, and their dimensions."""

RATES: Dimensions = dict.fromkeys(("velocity", "velocity_role", "velocity_owner", "velocity_unit"), ("velocity",))
"""Further coordinates of an arm on a free base, whose rates are not derivatives of its coordinates."""

FURTHER: tuple[tuple[str, Dimensions, Dimensions], ...] = (
    ("q_ref", FOLLOWED, {"joint": ("joint",)}),
    ("drive_state", REMEMBERED, {"state": ("state",)}),
    ("base_turn", TURN, {}),
    ("w", OUTSIDE, {"exogenous": ("exogenous",)}),
    ("tension", CABLED, {"cable": ("cable",)}),
)
"""Variables that a result may have, with their dimensions and the coordinates that belong to them."""

SENSITIVE = ("q", "qd", "tip")
"""Variables whose derivatives a result may have."""

OVER, OVER_UNIT = "with_respect_to", "with_respect_to_unit"
"""Dimension of these derivatives, and the coordinate that has the units of the numbers."""

OF_A_RUN = ("status", "time_reached", "energy_drift", "steps", "evaluations", "method", "method_reason", "p")
"""Variables of each run of an ensemble. A free base adds drifts of its momenta and of its quaternion's length."""

TEXTS = ("arm", "title", "name", "status")
"""Names of the attributes that are texts."""


def sensitivity(name: str) -> str:
    """Return the name of the derivatives of a variable."""
    return f"{name}_sensitivity"


def dimensions(name: str, apart: bool) -> tuple[str, ...]:
    """Return the dimensions of a variable. Rates have their own dimension if they are `apart` from the coordinates."""
    return ("time", "velocity") if apart and name == "qd" else EVERY[name]


def save_result(result: "Dataset", path: str | PathLike[str]) -> Path:
    """Write a result as NetCDF (HDF5) and return its path. An older file stays untouched until the new one is complete.

    Raises `DescriptionError` if the file cannot be written, or if the dataset is not a result.
    """
    import xarray as xr

    from flexarm.simulation import labels  # noqa: F401  (the accessor of results)

    if not isinstance(result, xr.Dataset):
        raise TypeError(f"a result is an xarray.Dataset; this is {a_kind(result)}")
    path = checked_path(path)
    if fault := lacking(result):
        raise DescriptionError(f"{path}: the object to write is not a result of flexarm: {fault}")
    try:
        content = netcdf.image(result)
    except MemoryError:
        raise DescriptionError(f"{path}: cannot be written: too little memory") from None
    return write_whole(path, content, netcdf.seal(content), durable=True)


def load_result(path: str | PathLike[str]) -> "Dataset":
    """Return the `xarray.Dataset` that `save_result` wrote.

    A file that another program has changed is read in a separate process, which takes some tenths of a second longer.

    Raises `DescriptionError` for a file that is missing, damaged, or not a result.
    """
    result = netcdf.read(path)
    if fault := lacking(result):
        raise DescriptionError(f"{fspath(path)}: a NetCDF file, but not a result of flexarm: {fault}")
    return result


def lacking(result: "Dataset") -> str:
    """Return why a dataset is not a result, or "" if it has everything that the package's functions need."""
    kept = _kept(result)
    if not {*kept} <= {*EVERY}:
        return "its attribute 'kept' contains unknown names"
    return (
        _wrong_variable(result, kept) or _wrong_attribute(result, kept) or _wrong_times(result) or _wrong_labels(result)
    )


def _kept(result: "Dataset") -> list[str]:
    """Return the names of the variables that a result keeps."""
    if "kept" in result.attrs:
        return str(result.attrs["kept"]).split()
    return [*VARIABLES, *(MOMENTA if _is_free(result) else ())]


def _is_free(result: "Dataset") -> bool:
    """Return True if the base of the result's arm is free."""
    return "base" in result["role"].values if "role" in result.variables else False


def _is_apart(result: "Dataset") -> bool:
    """Return True if the arm has quaternions, so that its rates are not those of its coordinates."""
    return "velocity" in result.variables


def _expected(result: "Dataset", kept: list[str]) -> tuple[Dimensions, Dimensions]:
    """Return the dimensions of a result's variables: of those that contain numbers, and of those that contain texts.

    Some variables are expected only if another one is there.
    """
    apart = _is_apart(result)
    numbers = {"time": ("time",)} | {name: dimensions(name, apart) for name in EVERY if name in kept}
    labels = LABELS | (RATES if apart else {})
    for name, more, label in FURTHER:
        if name in result.variables:
            numbers, labels = numbers | more, labels | label
    for name in SENSITIVE:
        if (derivative := sensitivity(name)) in result.variables:
            numbers[derivative] = (*dimensions(name, apart), OVER)
            labels |= dict.fromkeys((OVER, OVER_UNIT), (OVER,))
    return numbers, labels


def _wrong_variable(result: "Dataset", kept: list[str]) -> str:
    """Return which variable is missing, or has other dimensions or another type; "" if none."""
    numbers, labels = _expected(result, kept)
    for name, over in (numbers | labels).items():
        if name not in result.variables:
            return f"it has no variable {name}"
        variable = result.variables[name]
        if variable.dims != over:
            return f"{name} must have the dimensions {', '.join(over)}"
        if name in numbers and variable.dtype.kind not in "fi":
            return f"{name} must contain numbers"
        if name in labels and not all(isinstance(label, str) for label in variable.values.tolist()):
            return f"{name} must contain texts"
    return ""


def _wrong_attribute(result: "Dataset", kept: list[str]) -> str:
    """Return which attribute is missing or has another type; "" if none."""
    drifts = ["energy_drift"] if {*AUDIT} & {*kept} else []
    drifts += ["quaternion_drift"] if _is_apart(result) else []
    for names, kind, what in ((TEXTS, str, "text"), (drifts, Real, "number")):
        for name in names:
            if not isinstance(result.attrs.get(name), kind):
                return f"it has no attribute {name} that is a {what}"
    return ""


def _wrong_times(result: "Dataset") -> str:
    t = result.variables["time"].values
    increase = len(t) and np.isfinite(t).all() and (np.diff(t) >= 0).all()
    return "" if increase else "its times must increase"


def _wrong_labels(result: "Dataset") -> str:
    """Return which labels contradict each other; "" if none."""
    for name, words in {"axis": "x y z", "angle": "slope_y slope_z torsion"}.items():
        if result.variables[name].values.tolist() != words.split():
            return f"{name} must be {', '.join(words.split())}"
    names, links, owners, roles = (
        result.variables[name].values.tolist() for name in ("coordinate", "link", "owner", "role")
    )
    if len({*names}) < len(names):
        return "two coordinates have the same name"
    quaternions = roles.count("base") // 7 + roles.count("ball") // 4
    if _is_apart(result) != bool(quaternions) or (quaternions and result.sizes["velocity"] != len(names) - quaternions):
        return "its velocities are not those of an arm with a free base or ball joints"
    if not {*owners} <= {*links, *(["base"] if _is_free(result) else [])}:
        return "the owner of a coordinate is not among its links"
    joints = [name for name, role in zip(names, roles, strict=True) if role == "joint"]
    if "q_ref" in result.variables and result.variables["joint"].values.tolist() != joints:
        return "the joints of q_ref are not those of q"
    return ""
