"""Springs of drives, play, end stops, and springs beside an actuator."""

from itertools import pairwise
from typing import Annotated, Any, Self, final

from pydantic import BeforeValidator, model_validator

from flexarm.checks import FINITE, NOT_NEGATIVE, POSITIVE, Fault, Rule, checked_list, checked_number, flag, number
from flexarm.checks import optional_number as optional
from flexarm.description.parts import DAMPING, EFFORT, PLACE, STIFFNESS, Described, Part

CUBIC = "N m/rad^3 or N/m^3"
MOST_POINTS = 200
"""Of a table: each costs an operation or two in every evaluation."""

AT_LEAST_ONE: Rule = ("at least 1", lambda x: x >= 1)
HALF_TO_ONE: Rule = ("from 0.5 to 1", lambda x: 0.5 <= x <= 1)


def _points(value: object) -> Any:
    """Pairs (deflection, force), ascending in the deflection; raises `Fault`."""
    if value is None:
        return None
    items = checked_list(value, "a list of pairs (deflection, force)")
    if not 2 <= len(items) <= MOST_POINTS:
        raise Fault("", f"has {len(items)} points; it must have 2 to {MOST_POINTS}")
    found = []
    for i, item in enumerate(items):
        pair = checked_list(item, "a pair (deflection, force)", f"[{i}]")
        if len(pair) != 2:
            raise Fault(f"[{i}]", f"has {len(pair)} entries; it must be a pair (deflection, force)")
        found.append(tuple(checked_number(x, u, part=f"[{i}]") for x, u in zip(pair, (PLACE, EFFORT), strict=True)))
    for i, (a, b) in enumerate(pairwise(found), start=1):
        if not b[0] > a[0]:
            raise Fault(f"[{i}]", f"has the deflection {b[0]}; it must be larger than the one before, {a[0]}")
    return tuple(found)


@final
class Hysteresis(Described):
    """Bouc and Wen's: a spring that yields, with its elastic deflection z for a state.

    The force is stiffness * z with z' = d' - (shape |d'| x |x|^(exponent - 1) + (1 - shape) d' |x|^exponent), where
    d is the spring's deflection and x = z stiffness / force.

    Parameters
    ----------
    stiffness : float
        Where it begins [N m/rad or N/m].
    force : float
        What it comes to [N m or N].
    exponent : float
        How sharply it yields, 1 or more.
    shape : float
        Of the loop, 0.5 (it unloads along a straight line) to 1; below 0.5 it would give energy.
    """

    stiffness: Annotated[float, number(STIFFNESS, POSITIVE)]
    force: Annotated[float, number(EFFORT, POSITIVE)]
    exponent: Annotated[float, number("", AT_LEAST_ONE)] = 1.0
    shape: Annotated[float, number("", HALF_TO_ONE)] = 0.5


@final
class Spring(Part):
    """The spring of a transmission, beside the joint's own `stiffness` or in its place.

    Its force at the deflection d is stiffness * d + cubic * d^3 + that of the table, and that of the hysteresis.

    Parameters
    ----------
    stiffness, cubic : float
        [N m/rad or N/m], [N m/rad^3 or N/m^3]
    table : list of (deflection, force), optional
        Between its points the force is linear, beyond them it goes on as between the last two.
    damping : float
        Viscous [N m s/rad or N s/m].
    hysteresis : Hysteresis, optional
    variable : bool
        Whether an exogenous input "spring.stiffness" adds to the stiffness: what changes it then does work.
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
        """The hysteresis' elastic deflection."""
        return () if self.hysteresis is None else (("hysteresis", PLACE),)

    @property
    def exogenous(self) -> tuple[tuple[str, str], ...]:
        """What is added to the stiffness."""
        return (("stiffness", STIFFNESS),) if self.variable else ()


@final
class Backlash(Part):
    """Play of a transmission: its spring is wound only beyond half the width on either side.

    Parameters
    ----------
    width : float
        From contact to contact [rad or m].
    transition : float, optional
        Of the deflection about which contact is made: in it the spring's deflection goes smoothly from nothing to that
        of full contact [rad or m], at most `width`; default a tenth of it.
    sharp : bool
        Contact in a point: no transition, and the solver stops there.
    """

    width: Annotated[float, number(PLACE, POSITIVE)]
    transition: Annotated[float | None, optional(PLACE, POSITIVE)] = None
    sharp: Annotated[bool, flag] = False

    @model_validator(mode="after")
    def _is_possible(self) -> Self:
        if self.transition is not None and self.sharp:
            raise Fault("transition", f"is {self.transition}; with sharp = true there is none: leave it out")
        if self.transition is not None and self.transition > self.width:
            raise Fault("transition", f"is {self.transition}; it must be at most width, {self.width}")
        return self


@final
class Stops(Part):
    """End stops: a spring and a damper beyond a range of the joint. They push back, and never pull.

    Parameters
    ----------
    lower, upper : float, optional
        Ends of the range [rad or m].
    stiffness, damping : float
        [N m/rad or N/m], [N m s/rad or N s/m]
    transition : float, optional
        Of the place about which contact is made, as that of `Backlash` [rad or m]; default none.
    sharp : bool
        Whether the solver stops at contact.
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
            raise Fault("transition", f"is {self.transition}; with sharp = true there is none: leave it out")
        return self


@final
class Parallel(Part):
    """A spring between a link and the one before, beside the actuator: it holds against gravity, or brings back.

    Parameters
    ----------
    stiffness : float
        [N m/rad or N/m]
    rest : float
        The joint's coordinate where it is not wound [rad or m].
    damping : float
        [N m s/rad or N s/m]
    """

    stiffness: Annotated[float, number(STIFFNESS, POSITIVE)]
    rest: Annotated[float, number(PLACE)] = 0.0
    damping: Annotated[float, number(DAMPING, NOT_NEGATIVE)] = 0.0
