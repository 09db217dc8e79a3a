"""Optimal motion as a reference in the file of a scenario."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, final

import numpy as np
from pydantic import BeforeValidator

from flexarm import checks
from flexarm.checks import (
    POSITIVE,
    Fault,
    called,
    checked_flag,
    checked_instance,
    checked_list,
    checked_number,
    checked_numbers,
    checked_whole,
    counted,
    faulted,
    refused,
    shown,
    within,
)
from flexarm.description.arm import Arm
from flexarm.errors import DescriptionError
from flexarm.model import Model
from flexarm.scenario.tables import Measured, listed

if TYPE_CHECKING:
    from flexarm.optimal import OptimalMotion


DOTS = 2
"""Largest number of dots in a path."""


def _limits(value: object) -> Any:
    from flexarm.optimal import Limits  # imported late: it needs CasADi and SciPy

    if value is None or isinstance(value, Limits):
        return value
    if not isinstance(value, Mapping):
        raise Fault("", f"is {shown(value)}; it must be a table such as {{torque = 10.0}}")
    return faulted(Limits, value)


def _objective(value: object) -> Any:
    from flexarm.optimal.task import checked_weights  # imported late, as above

    if value is not None:
        try:
            checked_weights(value)
        except Fault as fault:
            raise Fault(fault.part.removeprefix("objective").removeprefix("."), fault.message) from None
    return value


def _count(value: object) -> int | None:
    return None if value is None else checked_whole(value, 1)


def _place(value: object) -> Any:
    """Return joint coordinates or a configuration, or a table with a position of the tip."""
    if not isinstance(value, Mapping):
        return checked_numbers(value)
    from flexarm.optimal.goals import goal  # imported late, as above

    goal(value, "")
    return {name: each if isinstance(each, str) else np.asarray(each).tolist() for name, each in value.items()}


def _first_place(value: object) -> Any:
    return None if value is None else _place(value)


def _places(value: object) -> Any:
    return None if value is None else tuple(_each(_place, checked_list(value, "a list of places, [[...], [...]]")))


def _flag(value: object) -> bool | None:
    return None if value is None else checked_flag(value)


def _plants(value: object) -> Any:
    what = 'a list of tables of numbers by parameter name, [{ "payload.mass" = 1.5 }]'
    return None if value is None else tuple(_each(_plant, checked_list(value, what)))


def _plant(value: object) -> dict[str, float]:
    if not isinstance(value, Mapping) or not value:
        raise Fault(
            "", f'is {shown(value)}; it must be a table of numbers by parameter name, {{ "payload.mass" = 1.5 }}'
        )
    return dict(_by_paths(value))


def _by_paths(table: Mapping[Any, object], inside: str = "") -> Iterator[tuple[str, float]]:
    """Return numbers by their complete paths. TOML reads `payload.mass = 1.5` as a table in a table."""
    for name, value in table.items():
        if isinstance(value, Mapping) and inside.count(".") < DOTS:
            yield from _by_paths(value, f"{inside}{name}.")
        else:
            yield f"{inside}{name}", checked_number(value, part=called(f"{inside}{name}"))


def _each(read: Callable[[object], Any], given: list) -> Iterator[Any]:
    """Yield the converted items of a list. Raises `Fault` with the index of a wrong item."""
    for i, value in enumerate(given):
        with within(f"[{i}]"):
            item = read(value)
        yield item


whole = BeforeValidator(_count)


@final
class OptimalReference(Measured):
    """The motion that `optimal_motion` finds for the scenario's arm, with its torques. It is stored on disk.

    The keys are arguments of `optimal_motion`, with the same defaults. The run starts at the beginning of the motion,
    unless the scenario sets the initial state.

    Parameters
    ----------
    start : list or dict, optional
        Joint coordinates [rad] or [m], a configuration, or a position of the tip, { tip = [x, y, z] } [m]. Default: the
        initial state of the scenario.
    end : list or dict
        End of the motion, in the same forms.
    limits : dict, optional
        Limits of the motion, see `Limits`.
    objective : str or dict
        "time" (default), "effort", "smoothness", "deflection", "moment", or weights of these.
    duration : float, optional
        Duration for an objective without time [s].
    intervals, most_intervals, points, steps : int, optional
        Options of the search, see `optimal_motion`.
    scheme : "radau" or "legendre", optional
        Collocation scheme.
    tolerance : float, optional
        Largest error of the tip at the end, and largest vibration after it [m].
    through : list, optional
        Intermediate places, each in the forms of `start`.
    stops : bool, optional
        True if the arm comes to rest at each of these places.
    plants : list of dict, optional
        Further arms that come to rest under the same inputs, given by parameters of the arm's file with their paths, {
        "payload.mass" = 1.5 }.
    """

    shaper: ClassVar[None] = None

    type: Literal["optimal"] = "optimal"
    start: Annotated[Any, BeforeValidator(_first_place)] = None
    end: Annotated[Any, BeforeValidator(_place)]
    limits: Annotated[Any, BeforeValidator(_limits)] = None
    objective: Annotated[Any, BeforeValidator(_objective)] = None
    duration: Annotated[float | None, checks.optional_number("s", POSITIVE)] = None
    intervals: Annotated[int | None, whole] = None
    most_intervals: Annotated[int | None, whole] = None
    points: Annotated[int | None, whole] = None
    scheme: Literal["radau", "legendre"] | None = None
    tolerance: Annotated[float | None, checks.optional_number("m", POSITIVE)] = None
    steps: Annotated[int | None, whole] = None
    through: Annotated[Any, BeforeValidator(_places)] = None
    stops: Annotated[bool | None, BeforeValidator(_flag)] = None
    plants: Annotated[Any, BeforeValidator(_plants)] = None

    def check(self, arm: Arm) -> None:
        """Raise `DescriptionError` if places, limits or paths do not fit the arm."""
        with refused("OptimalReference"):
            checked_instance(arm, Arm, "arm")
        joints = tuple(arm.velocities[i] for i in arm.driven)
        through = [(f"through[{i}]", given) for i, given in enumerate(self.through or ())]
        for name, given in (("start", self.start), ("end", self.end), *through):
            if isinstance(given, tuple) and len(given) not in (len(joints), len(arm.coordinates)):
                count = counted(len(given), "number")
                raise DescriptionError(f"reference.{name} has {count}; it must have {listed(joints)}")
        if self.limits is not None:
            try:
                self.limits.check(Model(arm))
            except DescriptionError as error:
                raise DescriptionError(f"reference.{error}") from None
        for i, given in enumerate(self.plants or ()):
            try:
                Model(arm, vary=list(given)).at(given)
            except DescriptionError as error:
                said = str(error).removeprefix("vary: ").removeprefix("p: ")
                raise DescriptionError(f"reference.plants[{i}]: {said}") from None

    def found(self, model: Model, initial: Sequence[float]) -> "OptimalMotion":
        """Return the motion of an arm from the configuration `initial`, unless `start` is given."""
        from flexarm.optimal.kept import kept  # imported late, as above

        asked = {name: value for name, value in self if value is not None and name != "type"}
        try:
            return kept(model, **{"start": tuple(initial)} | asked)
        except DescriptionError as error:
            raise DescriptionError(str(error).removeprefix("optimal_motion: ")) from None
