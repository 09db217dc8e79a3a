"""Motions measured on real arms, shipped with the package; `data/LICENSES.md` has their sources and licences."""

from dataclasses import dataclass
from importlib.resources import as_file, files
from typing import TYPE_CHECKING, final

import numpy as np

from flexarm.checks import unknown_name
from flexarm.errors import DescriptionError

if TYPE_CHECKING:
    from xarray import Dataset


@final
@dataclass(frozen=True)
class Record:
    """Contents of a file: its signals with their units in the order of its columns, and their source."""

    file: str
    title: str
    sample_rate: float
    signals: tuple[tuple[str, str], ...]
    source: str
    with_time: bool = False


RECORDS = {
    "two-inertia-bench": Record(
        "two-inertia-bench.csv.gz",
        "Motor and load joined by an elastic shaft, under a multisine of 11 to 250 Hz with a period of 1 s",
        2500.0,
        (("current", "A"), ("motor_angle", "rad"), ("load_angle", "rad")),
        "FdiTools, Copyright (c) 2016 Hori-Fujimoto Lab, Thomas Beauduin, and Wataru Ohnishi, MIT licence",
    ),
    "flexible-link-rig": Record(
        "flexible-link-rig.csv.gz",
        "First link of a two-link flexible rig, the second stage locked: a step of the hub",
        500.0,
        (("hub_angle", "rad"), ("deflection_angle", "rad")),
        "basta/quanser-2-dof-serial-flexible-link, Copyright (c) 2022 aa4cc / Edu Ctrl Lab Models, MIT licence",
        with_time=True,
    ),
}
"""Records by name."""


def measured(name: str) -> "Dataset":
    """Return a motion measured on a real arm: its signals over `time` [s], with units, as they were recorded.

    `"two-inertia-bench"`: `current` [A], `motor_angle`, `load_angle` [rad], 8 s at 2500 Hz.
    `"flexible-link-rig"`: `hub_angle`, `deflection_angle` [rad], 4 s at 500 Hz.

    Raises `DescriptionError` for another name.
    """
    import xarray as xr

    if not isinstance(name, str) or name not in RECORDS:
        raise DescriptionError(unknown_name("unknown record", name, RECORDS, "known records are"))
    record = RECORDS[name]
    with as_file(files("flexarm.identification") / "data" / record.file) as path:
        columns = np.loadtxt(path, delimiter=",", skiprows=1).T
    signals = columns[1:] if record.with_time else columns
    time = np.arange(signals.shape[1]) / record.sample_rate
    return xr.Dataset(
        {key: ("time", x, {"units": unit}) for (key, unit), x in zip(record.signals, signals, strict=True)},
        coords={"time": ("time", time, {"units": "s"})},
        attrs={"title": record.title, "source": record.source, "sample_rate": record.sample_rate},
    )
