"""Exogenous inputs in the file of a scenario, by their names."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self, final

from pydantic import BeforeValidator, model_validator

from flexarm import trajectory
from flexarm.checks import (
    Described,
    Fault,
    by_type,
    called,
    checked_number,
    checked_numbers,
    choices,
    faulted,
    numbers,
    shown,
    unknown_name,
    within,
)
from flexarm.scenario.forces import ConstantInput, PiecewiseInput, TableInput
from flexarm.scenario.tables import check_table, rows
from flexarm.simulation.exogenous import BaseMotion


@final
class BaseMotionInput(Described):
    """Motion of a base through points at times with minimum jerk, from rest to rest.

    Parameters
    ----------
    times : (k,)
        Times of the points [s].
    positions : (k, 3), optional
        Positions [m].
    orientations : (k, 3), optional
        Roll, pitch and yaw angles [rad].
    """

    type: Literal["base-motion"] = "base-motion"
    times: Annotated[tuple[float, ...], numbers("s")]
    positions: Annotated[tuple[tuple[float, ...], ...], rows] = ()
    orientations: Annotated[tuple[tuple[float, ...], ...], rows] = ()

    @model_validator(mode="after")
    def _points_have_times(self) -> Self:
        given = {"positions": self.positions, "orientations": self.orientations}
        if not any(given.values()):
            raise Fault("positions", "is missing, and so is orientations; give at least one of them")
        for name, points in given.items():
            if points:
                check_table(self.times, points, least=2, called=name)
        return self

    def made(self, reference: trajectory.Reference | None) -> BaseMotion:
        """Return the motion itself."""
        given = (self.positions, self.orientations)
        return BaseMotion(*(trajectory.MinimumJerk(points, self.times) if points else None for points in given))


_KINDS = by_type(ConstantInput | PiecewiseInput | TableInput | BaseMotionInput)


def _flat(table: Mapping, before: str = "") -> dict[str, Any]:
    """Return values by complete names. TOML reads `push.fx = 1` as a table in a table."""
    found: dict[str, Any] = {}
    for key, value in table.items():
        name = f"{before}{key}"
        nested = isinstance(value, Mapping) and "type" not in value
        own = _flat(value, f"{name}.") if nested else {name: value}
        if not own:
            raise Fault(called(name), "is an empty table; fill the table or leave it out")
        if twice := [each for each in own if each in found]:
            raise Fault(called(twice[0]), "is given twice")
        found |= own
    return found


def _checked(value: object) -> Any:
    if not isinstance(value, Mapping):
        raise Fault("", f'is {shown(value)}; it must be a table such as {{"push.fx" = 2.0}}')
    found: dict[str, Any] = {}
    for name, given in _flat(value).items():
        if isinstance(given, tuple(_KINDS.values())):
            found[name] = given
        elif isinstance(given, Mapping):
            kind = given["type"]
            if not isinstance(kind, str) or kind not in _KINDS:
                allowed = choices(*map(repr, _KINDS))
                raise Fault(f"{called(name)}.type", unknown_name("is", kind, _KINDS, "it must be", allowed))
            with within(called(name)):
                found[name] = faulted(_KINDS[kind], given)
        elif isinstance(given, list | tuple):
            found[name] = checked_numbers(given, part=called(name))
        else:
            found[name] = checked_number(given, part=called(name))
    return found


OutsideTable = Annotated[Any, BeforeValidator(_checked)]


def made(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return exogenous inputs in the form that `simulate` accepts."""
    kinds = tuple(_KINDS.values())
    return {name: each.made(None) if isinstance(each, kinds) else each for name, each in table.items()}
