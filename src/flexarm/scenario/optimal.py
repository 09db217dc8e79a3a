"""The optimal motion as a reference in a scenario's file."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, final

import numpy as np
from pydantic import BeforeValidator

from flexarm import checks
from flexarm.checks import (
    POSITIVE,
    Described,
    Fault,
    checked_instance,
    checked_numbers,
    checked_whole,
    faulted,
    refused,
    shown,
)
from flexarm.description.arm import Arm
from flexarm.errors import DescriptionError
from flexarm.model import Model
from flexarm.scenario.tables import count, listed

if TYPE_CHECKING:
    from flexarm.optimal import OptimalMotion


def _limits(value: object) -> Any:
    from flexarm.optimal import Limits  # late: its room needs CasADi and SciPy

    if value is None or isinstance(value, Limits):
        return value
    if not isinstance(value, Mapping):
        raise Fault("", f"is {shown(value)}; it must be a table such as {{torque = 10.0}}")
    return faulted(Limits, value)


def _objective(value: object) -> Any:
    from flexarm.optimal.task import checked_weights  # late: as above

    if value is not None:
        try:
            checked_weights(value)
        except Fault as fault:
            raise Fault(fault.part.removeprefix("objective").removeprefix("."), fault.message) from None
    return value


def _count(value: object) -> int | None:
    if value is None:
        return None
    try:
        return checked_whole(value, 1)
    except Fault as fault:
        raise Fault("", fault.message) from None


def _place(value: object) -> Any:
    """Joint coordinates or a configuration, or a table of a place of the tip."""
    if not isinstance(value, Mapping):
        return checked_numbers(value)
    from flexarm.optimal.goals import goal  # late: as above

    try:
        goal(value, "")
    except Fault as fault:
        raise Fault(fault.part.removeprefix("."), fault.message) from None
    return {name: each if isinstance(each, str) else np.asarray(each).tolist() for name, each in value.items()}


def _first_place(value: object) -> Any:
    return None if value is None else _place(value)


whole = BeforeValidator(_count)


@final
class OptimalReference(Described):
    """The motion that `optimal_motion` finds for the scenario's arm, with its torques; kept on disk once it is found.

    The keys are arguments of `optimal_motion`; what is left out is as there. The run starts where the motion does,
    unless the scenario says where.

    Parameters
    ----------
    start : list or dict, optional
        Joint coordinates [rad] or [m], or a configuration, or a place of the tip, { tip = [x, y, z] } [m]. Default:
        those of the scenario's initial state.
    end : list or dict
    limits : dict, optional
        See `Limits`.
    objective : str or dict
        "time" (default), "effort", "smoothness", or weights of them.
    duration : float, optional
        Where the time is no part of the objective [s].
    intervals, most_intervals, points, steps : int, optional
        Of the search.
    scheme : "radau" or "legendre", optional
    tolerance : float, optional
        By how much the tip may miss its place at the end, and swing from there [m].
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

    def widths(self) -> dict[str, int]:
        """Nothing: `check` looks at them."""
        return {}

    def check(self, arm: Arm) -> None:
        """Raise `DescriptionError` where ends or limits are not the arm's."""
        with refused("OptimalReference"):
            checked_instance(arm, Arm, "arm")
        joints = tuple(arm.velocities[i] for i in arm.joints)
        for name, given in (("start", self.start), ("end", self.end)):
            if isinstance(given, tuple) and len(given) not in (len(joints), len(arm.coordinates)):
                raise DescriptionError(f"reference.{name} has {count(given)}; it must have {listed(joints)}")
        if self.limits is not None:
            try:
                self.limits.check(Model(arm))
            except DescriptionError as error:
                raise DescriptionError(f"reference.{error}") from None

    def found(self, model: Model, initial: Sequence[float]) -> "OptimalMotion":
        """The motion of an arm that begins at the configuration `initial`, unless `start` says where."""
        from flexarm.optimal.kept import kept  # late: as above

        asked = {name: value for name, value in self if value is not None and name != "type"}
        try:
            return kept(model, **{"start": tuple(initial)} | asked)
        except DescriptionError as error:
            raise DescriptionError(str(error).removeprefix("optimal_motion: ")) from None
