"""References in the file of a scenario."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self, final

import numpy as np
from pydantic import BeforeValidator, Field, model_validator

from flexarm import checks, trajectory
from flexarm.analysis.equilibrium import configuration
from flexarm.checks import POSITIVE, Described, Fault, number, numbers, one_of
from flexarm.description.arm import Arm
from flexarm.model import Model
from flexarm.scenario.optimal import OptimalReference
from flexarm.scenario.tables import Measured, check_table, rows, state, values

_MOST_MODES = 100


def _modes(value: object) -> int:
    count = checks.checked_integer(value, _MOST_MODES)
    if not count:
        raise Fault("", f"is 0; it must be an integer from 1 to {_MOST_MODES}")
    return count


@final
class ShaperTable(Described):
    """A shaper for the arm's slowest modes, with which a reference is convolved.

    Parameters
    ----------
    kind : str
        Kind of shaper, as in `design_shaper`.
    modes : int
        Number of modes.
    at : list or table
        Configuration for the frequencies. A table lists the coordinates that differ from the default, which is the end
        of the reference without deflection.
    locked : bool
        True for frequencies with locked joints, False with free joints.
    tolerance : float
        Tolerance of the EI shapers.
    """

    kind: Literal["zv", "zvd", "zvdd", "mzv", "ei", "two-hump-ei", "three-hump-ei", "um-zv", "ps-zv"]
    modes: Annotated[int, BeforeValidator(_modes)] = 1
    at: Annotated[Any, BeforeValidator(values)] = ()
    locked: Annotated[bool, checks.flag] = True
    tolerance: Annotated[float, number("", trajectory.shapers.TOLERABLE)] = 0.05

    def check(self, coordinates: tuple[str, ...]) -> None:
        """Raise `DescriptionError` if the configuration does not fit the arm."""
        state("reference.shaper.at", self.at, coordinates)

    def made(self, model: Model, reference: trajectory.Reference, until: float) -> trajectory.Shaper:
        """Return the shaper itself."""
        from flexarm.control import design_shaper  # imported late: it needs CasADi and SciPy

        ends = configuration(model, trajectory.reference_values(reference, np.array([until]))[0])
        q = dict(zip(model.coordinates, ends.tolist(), strict=True))
        q |= self.at if isinstance(self.at, Mapping) else dict(zip(q, self.at, strict=False))
        where = np.array(list(q.values()))
        return design_shaper(model, where, self.kind, self.modes, self.locked, self.tolerance)


class _Motion(Measured):
    """A desired motion of the joints."""

    type: str
    shaper: ShaperTable | None = None

    def made(self, arm: Arm) -> trajectory.Reference:
        """Return the reference itself."""
        raise NotImplementedError


def _check_ends(start: tuple[float, ...], end: tuple[float, ...]) -> None:
    if len(start) != len(end):
        raise Fault("end", f"has {checks.counted(len(end), 'number')}; it must have as many as start, {len(start)}")


@final
class CycloidalMotion(_Motion):
    """Motion theta_i = k_i (t - T_i / pi sin(pi t / T_i)) of each joint (Mohan & Saha eq. 44)."""

    measured: ClassVar[tuple[str, ...]] = ("rates", "periods")
    type: Literal["cycloidal"] = "cycloidal"
    rates: Annotated[tuple[float, ...], numbers("rad/s")]
    periods: Annotated[tuple[float, ...], numbers("s", POSITIVE)]

    def made(self, arm: Arm) -> trajectory.Reference:
        return trajectory.Cycloidal(self.rates, self.periods)


@final
class ParabolicMotion(_Motion):
    """Motion from `start` to `end` with constant acceleration, constant rate and constant deceleration."""

    measured: ClassVar[tuple[str, ...]] = ("start", "end")
    type: Literal["parabolic-blends"] = "parabolic-blends"
    start: Annotated[tuple[float, ...], numbers("rad")]
    end: Annotated[tuple[float, ...], numbers("rad")]
    duration: Annotated[float, number("s", POSITIVE)]
    blend: Annotated[float, number("s", POSITIVE)]

    @model_validator(mode="after")
    def _blends_fit(self) -> Self:
        if 2 * self.blend > self.duration:
            raise Fault("blend", f"is {self.blend} s; it must be at most half of the duration, {self.duration} s")
        _check_ends(self.start, self.end)
        return self

    def made(self, arm: Arm) -> trajectory.Reference:
        return trajectory.ParabolicBlends(self.start, self.end, self.duration, self.blend)


@final
class QuinticMotion(_Motion):
    """Motion from `start` to `end` with continuous rate and acceleration (Subudhi & Morris eq. 71)."""

    measured: ClassVar[tuple[str, ...]] = ("start", "end")
    type: Literal["quintic"] = "quintic"
    start: Annotated[tuple[float, ...], numbers("rad")]
    end: Annotated[tuple[float, ...], numbers("rad")]
    duration: Annotated[float, number("s", POSITIVE)]

    @model_validator(mode="after")
    def _ends_fit(self) -> Self:
        _check_ends(self.start, self.end)
        return self

    def made(self, arm: Arm) -> trajectory.Reference:
        return trajectory.Quintic(self.start, self.end, self.duration)


@final
class MinimumJerkMotion(_Motion):
    """Motion through `points` at `times` with minimum jerk, from rest to rest."""

    measured: ClassVar[tuple[str, ...]] = ("points",)
    type: Literal["minimum-jerk"] = "minimum-jerk"
    points: Annotated[tuple[tuple[float, ...], ...], rows]
    times: Annotated[tuple[float, ...], numbers("s")]

    @model_validator(mode="after")
    def _points_have_times(self) -> Self:
        check_table(self.times, self.points, least=2, called="points")
        return self

    def made(self, arm: Arm) -> trajectory.Reference:
        return trajectory.MinimumJerk(self.points, self.times)


@final
class TaskLineMotion(_Motion):
    """Motion of a rigid arm's tip along a straight line, with the timing of a quintic.

    Without `start` it begins at the tip's position for `q0`.
    """

    measured: ClassVar[tuple[str, ...]] = ("start", "end", "q0")
    type: Literal["task-line"] = "task-line"
    start: Annotated[tuple[float, ...], numbers("m")] | None = None
    end: Annotated[tuple[float, ...], numbers("m")]
    duration: Annotated[float, number("s", POSITIVE)]
    axes: Annotated[str, checks.text] = "xy"
    q0: Annotated[tuple[float, ...], numbers("rad")] | None = None
    tolerance: Annotated[float, number("m", POSITIVE)] = 1e-9

    @model_validator(mode="after")
    def _begins_somewhere(self) -> Self:
        if self.start is None and self.q0 is None:
            raise Fault("start", "is missing; give start, or the configuration q0 at the start")
        if len(self.axes) != len(self.end):
            raise Fault(
                "axes", f"is {checks.shown(self.axes)}; it must have one letter for each number of end, {len(self.end)}"
            )
        return self

    def made(self, arm: Arm) -> trajectory.Reference:
        return trajectory.TaskLine(arm, self.start, self.end, self.duration, self.axes, self.q0, self.tolerance)


Motions = CycloidalMotion | ParabolicMotion | QuinticMotion | MinimumJerkMotion | TaskLineMotion | OptimalReference
AnyMotion = Annotated[Motions, Field(discriminator="type"), one_of(Motions)]
