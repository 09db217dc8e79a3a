"""Sections of a beam, given by a table along its length."""

from collections.abc import Mapping
from typing import Annotated, Any, Self, final

import numpy as np
from pydantic import BeforeValidator, model_validator

from flexarm.checks import (
    NOT_NEGATIVE,
    POSITIVE,
    Described,
    Fault,
    Rule,
    checked_keys,
    checked_numbers,
    counted,
    numbers,
)

MOST_STATIONS = 500

Column = tuple[float, ...]


def _planes(unit: str, rule: Rule) -> BeforeValidator:
    """Return a validator of a column for both planes, or of one column for each plane."""

    def check(value: object) -> Any:
        if value is None:
            return None
        if not isinstance(value, Mapping):
            return checked_numbers(value, unit, rule)
        checked_keys(value, ("y", "z"))
        return {plane: checked_numbers(column, unit, rule, plane) for plane, column in value.items()}

    return BeforeValidator(check)


def _column(unit: str, rule: Rule) -> BeforeValidator:
    return BeforeValidator(lambda value: None if value is None else checked_numbers(value, unit, rule))


@final
class SectionTable(Described):
    """Mass and stiffness at stations of a beam, linear between stations. A station given twice is a step.

    Every column has a value for every station. `EI`, `shear` and `rotary_inertia` may also be tables of columns, {"y":
    [...], "z": [...]}.

    Parameters
    ----------
    x : list of float
        Stations, from 0 at the base to 1 at the tip.
    mass_per_length : list of float
        Mass per length [kg/m].
    EI : list of float, or {"y": [...], "z": [...]}
        Bending stiffness [N m^2].
    GJ, EA : list of float
        Torsional [N m^2] and axial stiffness [N].
    polar_inertia : list of float
        Mass moment of inertia about the beam's axis, per length [kg m].
    shear : list of float, or {"y": [...], "z": [...]}
        Shear stiffness, kappa G A [N].
    rotary_inertia : list of float, or {"y": [...], "z": [...]}
        Mass moment of inertia of a section that turns as the beam bends along y and z, per length [kg m].
    """

    x: Annotated[Column, numbers()]
    mass_per_length: Annotated[Column, numbers("kg/m", POSITIVE)]
    EI: Annotated[Column | dict[str, Column] | None, _planes("N m^2", POSITIVE)] = None
    GJ: Annotated[Column | None, _column("N m^2", POSITIVE)] = None
    EA: Annotated[Column | None, _column("N", POSITIVE)] = None
    polar_inertia: Annotated[Column | None, _column("kg m", NOT_NEGATIVE)] = None
    shear: Annotated[Column | dict[str, Column] | None, _planes("N", POSITIVE)] = None
    rotary_inertia: Annotated[Column | dict[str, Column] | None, _planes("kg m", NOT_NEGATIVE)] = None

    @model_validator(mode="after")
    def _is_a_table(self) -> Self:
        x = self.x
        if not 2 <= len(x) <= MOST_STATIONS:
            raise Fault("x", f"has {counted(len(x), 'station')}; it must have from 2 to {MOST_STATIONS}")
        if x[0] != 0.0 or x[-1] != 1.0:
            raise Fault("x", f"goes from {x[0]} to {x[-1]}; it must go from 0 to 1")
        for i in range(1, len(x)):
            if x[i] < x[i - 1] or (i > 1 and x[i] == x[i - 2]) or (x[i] == x[i - 1] and x[i] in (0.0, 1.0)):
                raise Fault(
                    f"x[{i}]", f"is {x[i]}; stations must increase; for a step, list a station between 0 and 1 twice"
                )
        for name, column in self.columns.items():
            if len(column) != len(x):
                raise Fault(name, f"has {counted(len(column), 'number')}; it must have {len(x)}, one for each station")
        return self

    @property
    def columns(self) -> dict[str, Column]:
        """Given columns by name: "mass_per_length", "EI" for both planes or "EI.y", ..."""
        found: dict[str, Column] = {}
        for name, value in self:
            if isinstance(value, dict):
                found |= {f"{name}.{plane}": column for plane, column in value.items()}
            elif value is not None and name != "x":
                found[name] = value
        return found

    def column(self, name: str) -> Column | None:
        """Return a column, or None. "EI.y" is the column of both planes if there is only one."""
        return self.columns.get(name) or self.columns.get(name.partition(".")[0])

    def at(self, name: str, x: np.ndarray) -> np.ndarray:
        """Return a column's values at points x from 0 to 1, (N,), or zeros if there is no such column.

        A point on a step has the value beyond the step.
        """
        column = self.column(name)
        if column is None:
            return np.zeros(len(x))
        stations, values = np.array(self.x), np.array(column)
        i = np.clip(np.searchsorted(stations, x, side="right") - 1, 0, len(stations) - 2)
        t = (x - stations[i]) / (stations[i + 1] - stations[i])
        return (1 - t) * values[i] + t * values[i + 1]

    @property
    def breaks(self) -> Column:
        """Distinct stations in ascending order."""
        return tuple(sorted(set(self.x)))

    def denser(self, factor: float) -> "SectionTable":
        """Return the table with every inertia multiplied by `factor`."""
        changes: dict[str, Any] = {}
        for name, column in self.columns.items():
            field, _, plane = name.partition(".")
            if field in ("mass_per_length", "polar_inertia", "rotary_inertia"):
                larger = tuple(factor * x for x in column)
                changes[field] = {**changes.get(field, {}), plane: larger} if plane else larger
        return self.replace(**changes)

    def part(self, a: float, b: float) -> "SectionTable":
        """Return the table of the part of the beam between two stations, with its own stations from 0 to 1."""
        inside = [i for i, x in enumerate(self.x) if a < x < b]
        ends = np.array([a, np.nextafter(b, a)])  # a step at the end belongs to the next part

        def cut(name: str) -> Column:
            first, last = self.at(name, ends)
            column = self.column(name) or ()
            return (float(first), *(column[i] for i in inside), float(last))

        changes: dict[str, Any] = {"x": (0.0, *((self.x[i] - a) / (b - a) for i in inside), 1.0)}
        for name in self.columns:
            field, _, plane = name.partition(".")
            changes[field] = {**changes.get(field, {}), plane: cut(name)} if plane else cut(name)
        return SectionTable(**changes)
