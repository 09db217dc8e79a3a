"""Springs of drives, backlash, end stops, and springs parallel to an actuator."""

from itertools import pairwise
from typing import Annotated, Any, Self, final

from pydantic import BeforeValidator, model_validator

from flexarm.checks import (
    FINITE,
    NOT_NEGATIVE,
    POSITIVE,
    Fault,
    Rule,
    checked_list,
    checked_number,
    counted,
    flag,
    number,
)
from flexarm.checks import optional_number as optional
from flexarm.description.parts import DAMPING, EFFORT, PLACE, STIFFNESS, Described, Part

CUBIC = "N m/rad^3 or N/m^3"
MOST_POINTS = 200
"""Largest number of points of a table. Each point costs one or two operations in every evaluation."""

AT_LEAST_ONE: Rule = ("at least 1", lambda x: x >= 1)
HALF_TO_ONE: Rule = ("from 0.5 to 1", lambda x: 0.5 <= x <= 1)


def _points(value: object) -> Any:
    """Return the pairs (deflection, force) in ascending order of deflection. Raises `Fault`."""
    if value is None:
        return None
    items = checked_list(value, "a list of pairs (deflection, force)")
    if not 2 <= len(items) <= MOST_POINTS:
        raise Fault("", f"has {counted(len(items), 'point')}; it must have 2 to {MOST_POINTS}")
    found = []
    for i, item in enumerate(items):
        pair = checked_list(item, "a pair (deflection, force)", f"[{i}]")
        if len(pair) != 2:
            raise Fault(f"[{i}]", f"has {counted(len(pair), 'entry')}; it must be a pair (deflection, force)")
        found.append(tuple(checked_number(x, u, part=f"[{i}]") for x, u in zip(pair, (PLACE, EFFORT), strict=True)))
    for i, (a, b) in enumerate(pairwise(found), start=1):
        if not b[0] > a[0]:
            raise Fault(f"[{i}]", f"has the deflection {b[0]}; it must be larger than the one before, {a[0]}")
    return tuple(found)


@final
class Hysteresis(Described):
    """Hysteresis of Bouc and Wen: a spring that yields, with its elastic deflection z as a state.

    The force is stiffness * z with z' = d' - (shape |d'| x |x|^(exponent - 1) + (1 - shape) d' |x|^exponent), where
    d is the spring's deflection and x = z stiffness / force.

    Parameters
    ----------
    stiffness : float
        Initial stiffness [N m/rad or N/m].
    force : float
        Limit of the force at large deflections [N m or N].
    exponent : float
        Sharpness of the yielding, 1 or more.
    shape : float
        Shape of the loop, from 0.5 (unloading along a straight line) to 1. Below 0.5 the spring would produce energy.
    """

    stiffness: Annotated[float, number(STIFFNESS, POSITIVE)]
    force: Annotated[float, number(EFFORT, POSITIVE)]
    exponent: Annotated[float, number("", AT_LEAST_ONE)] = 1.0
    shape: Annotated[float, number("", HALF_TO_ONE)] = 0.5


@final
class Spring(Part):
    """The spring of a transmission, in addition to the joint's own `stiffness` or in its place.

    Its force at the deflection d is stiffness * d + cubic * d^3, plus the forces of the table and of the hysteresis.

    Parameters
    ----------
    stiffness, cubic : float
        Linear stiffness [N m/rad or N/m], and coefficient of d^3 [N m/rad^3 or N/m^3].
    table : list of (deflection, force), optional
        Points of a piecewise linear force. Beyond its ends the force continues with the slope of the last interval.
    damping : float
        Viscous damping [N m s/rad or N s/m].
    hysteresis : Hysteresis, optional
        Hysteretic force that acts in addition.
    variable : bool
        True if the exogenous input "spring.stiffness" adds to the stiffness. A change of the stiffness then does work.
    """

    stiffness: Annotated[float, number(STIFFNESS, NOT_NEGATIVE)] = 0.0
    cubic: Annotated[float, number(CUBIC, FINITE)] = 0.0
    table: Annotated[tuple[tuple[float, float], ...] | None, BeforeValidator(_points)] = None
    damping: Annotated[float, number(DAMPING, NOT_NEGATIVE)] = 0.0
    hysteresis: Hysteresis | None = None
    variable: Annotated[bool, flag] = False

    @model_validator(mode="after")
    def _is_something(self) -> Self:
        if not (self.stiffness or self.cubic or self.table or self.hysteresis or self.variable):
            raise Fault("", "has no stiffness; give stiffness, cubic, table, hysteresis or variable = true")
        return self

    @property
    def states(self) -> tuple[tuple[str, str], ...]:
        """Name and unit of the elastic deflection of the hysteresis, if there is one."""
        return () if self.hysteresis is None else (("hysteresis", PLACE),)

    @property
    def exogenous(self) -> tuple[tuple[str, str], ...]:
        """Name and unit of the stiffness that an exogenous input adds."""
        return (("stiffness", STIFFNESS),) if self.variable else ()


@final
class Backlash(Part):
    """Backlash of a transmission: its spring deflects only beyond half the width on either side.

    Parameters
    ----------
    width : float
        Total angle or distance from contact to contact [rad or m].
    transition : float, optional
        Width of the range of deflection around the contact point in which the spring's deflection rises smoothly from
        zero to that of full contact [rad or m]. It is at most `width`. Default: a tenth of `width`.
    sharp : bool
        True if contact begins at a point, without a transition. The solver then stops at each contact.
    """

    width: Annotated[float, number(PLACE, POSITIVE)]
    transition: Annotated[float | None, optional(PLACE, POSITIVE)] = None
    sharp: Annotated[bool, flag] = False

    @model_validator(mode="after")
    def _is_possible(self) -> Self:
        if self.transition is not None and self.sharp:
            raise Fault("transition", f"is {self.transition}; with sharp = true there is no transition: leave it out")
        if self.transition is not None and self.transition > self.width:
            raise Fault("transition", f"is {self.transition}; it must be at most width, {self.width}")
        return self


@final
class Stops(Part):
    """End stops: a spring and a damper beyond a range of the joint. They push back and never pull.

    Parameters
    ----------
    lower, upper : float, optional
        Ends of the range [rad or m].
    stiffness, damping : float
        Stiffness [N m/rad or N/m] and damping [N m s/rad or N s/m] of a stop.
    transition : float, optional
        Width of the smooth range around the contact point, as in `Backlash` [rad or m]. Default: none.
    sharp : bool
        True if the solver stops at each contact.
    """

    lower: Annotated[float | None, optional(PLACE)] = None
    upper: Annotated[float | None, optional(PLACE)] = None
    stiffness: Annotated[float, number(STIFFNESS, POSITIVE)]
    damping: Annotated[float, number(DAMPING, NOT_NEGATIVE)] = 0.0
    transition: Annotated[float | None, optional(PLACE, POSITIVE)] = None
    sharp: Annotated[bool, flag] = False

    @model_validator(mode="after")
    def _is_possible(self) -> Self:
        if self.lower is None and self.upper is None:
            raise Fault("", "has no end; give lower, upper or both")
        if self.lower is not None and self.upper is not None and not self.upper > self.lower:
            raise Fault("upper", f"is {self.upper}; it must be larger than lower, {self.lower}")
        if self.transition is not None and self.sharp:
            raise Fault("transition", f"is {self.transition}; with sharp = true there is no transition: leave it out")
        return self


@final
class Parallel(Part):
    """A spring parallel to the actuator, between a link and its parent. It balances gravity or returns the joint.

    Parameters
    ----------
    stiffness : float
        Stiffness [N m/rad or N/m].
    rest : float
        Joint coordinate at which the spring is unloaded [rad or m].
    damping : float
        Viscous damping [N m s/rad or N s/m].
    """

    stiffness: Annotated[float, number(STIFFNESS, POSITIVE)]
    rest: Annotated[float, number(PLACE)] = 0.0
    damping: Annotated[float, number(DAMPING, NOT_NEGATIVE)] = 0.0
