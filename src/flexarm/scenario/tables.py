"""Validation of tables of numbers in the file of a scenario."""

from collections.abc import Mapping, Sequence, Sized
from itertools import pairwise
from typing import Any, ClassVar

from pydantic import BeforeValidator

from flexarm import checks
from flexarm.checks import Described, Fault, called, checked_number, checked_numbers, counted
from flexarm.errors import DescriptionError


def _rows(value: object) -> tuple[tuple[float, ...], ...]:
    items = checks.checked_list(value, "a list of rows, one number per actuator")
    return tuple(
        checked_numbers(row, part=f"[{i}]") if isinstance(row, list | tuple) else (checked_number(row, part=f"[{i}]"),)
        for i, row in enumerate(items)
    )


rows = BeforeValidator(_rows)


class Measured(Described):
    """A table in which some fields have one number, or rows of one number, for each joint or actuator."""

    measured: ClassVar[tuple[str, ...]] = ()
    """Names of these fields."""

    def widths(self) -> dict[str, int]:
        """Return how many joints or actuators each of these fields, or each of its rows, is for."""
        widths: dict[str, int] = {}
        for name in self.measured:
            given = getattr(self, name) or ()
            rows = [(f"{name}[{i}]", row) for i, row in enumerate(given) if isinstance(row, tuple)]
            widths |= {part: len(row) for part, row in rows or [(name, given)] if row}
        return widths


def check_table(times: tuple[float, ...], values: Sized, least: int, called: str = "values") -> None:
    """Raise `Fault` if rows and times do not fit together."""
    count = counted(len(times), "number")
    if len(times) != len(values):
        raise Fault(
            "times", f"has {count} and {called} has {counted(len(values), 'row')}; both must have the same length"
        )
    if len(times) < least:
        raise Fault("times", f"has {count}; it must have at least {least}")
    for i, (before, after) in enumerate(pairwise(times), start=1):
        if not after > before:
            raise Fault(f"times[{i}]", f"is {after} s after {before} s; times must increase")


def values(value: object) -> Any:
    """Return a list of numbers, or a table from coordinates to numbers. TOML reads `upper.joint = 1` as a table in a
    table."""
    if not isinstance(value, Mapping):
        return checked_numbers(value)
    flat: dict[str, Any] = {}
    for name, x in value.items():
        flat |= {f"{name}.{part}": y for part, y in x.items()} if isinstance(x, Mapping) else {str(name): x}
    return {name: checked_number(x, part=called(name)) for name, x in flat.items()}


def state(name: str, given: Any, coordinates: tuple[str, ...], rest: Sequence[float] | None = None) -> Any:
    """Return coordinates or rates from a list, or from a table of those that differ from `rest` (default: zero)."""
    if not len(given):
        return None
    if not isinstance(given, Mapping):
        if len(given) != len(coordinates):
            raise DescriptionError(f"{name} has {counted(len(given), 'number')}; it must have {listed(coordinates)}")
        return given
    unknown = [coordinate for coordinate in given if coordinate not in coordinates]
    if unknown:
        problem = f"{name}: unknown coordinate"
        raise DescriptionError(checks.unknown_name(problem, unknown[0], coordinates, "the coordinates are"))
    others = rest or [0.0] * len(coordinates)
    return [given.get(coordinate, x) for coordinate, x in zip(coordinates, others, strict=True)]


def listed(names: tuple[str, ...]) -> str:
    """Return the number of names, with the names."""
    return f"{len(names)}: {', '.join(names)}" if names else "none: the arm has no actuators"
