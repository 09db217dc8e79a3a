"""Results of a command as one JSON document for programs: `--json`.

Keys are fixed, and names given by the user are values, never keys. Numbers are in SI units. `units` has the unit of
every key that has one. A number that does not exist is null. An infinite number is the text Infinity or -Infinity.
"""

import json
import math
import sys
from collections.abc import Iterator, Mapping
from os import PathLike, fspath
from typing import Annotated, Any

import typer

from flexarm import escape
from flexarm.version import __version__

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document in place of tables.")]

UNITS = {
    "angular_momentum_drift": "1",
    "angular_momentum_scale": "N m s",
    "arrival": "s",
    "atol": "1",
    "com": "m",
    "compile_seconds": "s",
    "complementary": "1",
    "compliance": "m/N",
    "compliance_with_more": "m/N",
    "cost": "of the objective",
    "crossover": "rad/s",
    "deflection": "m",
    "delay": "s",
    "disk": "1",
    "disk_omega": "rad/s",
    "difference": "of the number",
    "dissipated": "J",
    "duration": "s",
    "end_error": "m",
    "end_rate": "rad/s or m/s",
    "end_time": "s",
    "energy": "J",
    "energy_drift": "1",
    "energy_scale": "J",
    "error": "rad or m",
    "first_order": "1",
    "first_order_high": "1",
    "first_order_low": "1",
    "found": "of the number",
    "frequency": "Hz",
    "gain_high": "1",
    "gain_low": "1",
    "gravity": "m/s^2",
    "imaginary": "rad/s",
    "inertia": "kg m^2",
    "kinetic": "J",
    "late_largest": "s",
    "latency_largest": "s",
    "latency_median": "s",
    "length": "m",
    "mass": "kg",
    "momentum_drift": "1",
    "momentum_scale": "kg m/s",
    "moved": "m",
    "moved_most": "m",
    "omega": "rad/s",
    "omega_free": "rad/s",
    "omega_free_with_more": "rad/s",
    "omega_locked": "rad/s",
    "omega_locked_with_more": "rad/s",
    "overshoot": "1",
    "payload": "kg",
    "peak": "N m or N",
    "period": "s",
    "phase": "rad",
    "potential": "J",
    "quaternion_drift": "1",
    "ratio": "1",
    "real": "1/s",
    "relative": "1",
    "residual": "m",
    "rigid_duration": "s",
    "rtol": "1",
    "sag": "m",
    "sag_with_more": "m",
    "search_seconds": "s",
    "seconds": "s",
    "sensitivity": "1",
    "settling": "s",
    "share": "1",
    "slipped": "s",
    "solve_seconds": "s",
    "start_time": "s",
    "step": "s",
    "time": "s",
    "tip_settling": "s",
    "tolerance": "of the number",
    "total_mass": "kg",
    "total_order": "1",
    "total_order_high": "1",
    "total_order_low": "1",
    "turned": "rad",
    "turned_most": "rad",
    "work": "J",
}
"""Units of all keys whose values have one. An object with a key `unit` states its own unit, and counts have none."""


def show_document(command: str, found: Mapping[str, Any]) -> None:
    """Print the results of a command, and nothing else."""
    if sys.stdout is not None:  # closed by the program that started the command
        print(document(command, found))


def document(command: str, found: Mapping[str, Any]) -> str:
    """Return the results of a command with its name, the version, and the units of the keys that occur."""
    body = plain(found)
    keys = {*_keys(body)}
    units = {key: unit for key, unit in UNITS.items() if key in keys}
    # ASCII characters exist in every encoding of a terminal or a pipe
    return json.dumps({"flexarm": __version__, "command": command, "units": units} | body, indent=2, allow_nan=False)


def plain(value: Any) -> Any:
    """Return a value as JSON types: arrays as lists, NaN as null, infinity as a text, paths as texts."""
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if hasattr(value, "tolist"):  # an array, or a NumPy number
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, PathLike):
        value = fspath(value)
    if isinstance(value, str):
        return escape.attribute(value)  # halves of surrogate pairs, which other JSON readers reject
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else f"{'-' if value < 0 else ''}Infinity"
    return value


def _keys(value: Any) -> Iterator[str]:
    """Yield every key of a document, at any depth."""
    if isinstance(value, dict):
        yield from value
        value = list(value.values())
    for item in value if isinstance(value, list) else ():
        yield from _keys(item)
