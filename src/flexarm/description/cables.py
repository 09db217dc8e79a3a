"""Cables that only pull, through points of links and of the base."""

from itertools import pairwise
from typing import Annotated, Literal, Self, final

from pydantic import BeforeValidator, model_validator

from flexarm import checks
from flexarm.checks import NOT_NEGATIVE, POSITIVE, SHARE, Described, Fault, Vector, counted, number, vector

TRANSITION = 1e-4
"""Default transition of a cable with damping, relative to its length."""


@final
class CablePoint(Described):
    """A point through which a cable passes without friction, or at which it ends.

    Parameters
    ----------
    link : str
        Name of the link that carries the point, "base" for the origin of a free base, or "" for a point of the world.
    at : float
        Station along the link, from 0 to 1 of its length. On a telescope only 1 is allowed.
    point : (3,)
        Position in the world frame, which is also the frame of a base that is not free [m]. Leave it out if `link` is
        given.
    """

    link: Annotated[str, checks.text] = ""
    at: Annotated[float, number("", SHARE)] = 1.0
    point: Annotated[Vector, vector("m")] = (0.0, 0.0, 0.0)

    @model_validator(mode="after")
    def _is_one_point(self) -> Self:
        if self.link and any(self.point):
            raise Fault("point", f"is {self.point}, but link is given; give either link or point")
        if not self.link and self.at != 1.0:
            raise Fault("at", f"is {self.at}; a point of the world has no station: leave it out, or give link")
        return self


def _points(value: object) -> list:
    points = checks.checked_list(value, "a list of points")
    if len(points) < 2:
        raise Fault("", f"has {counted(len(points), 'point')}; it must have two or more")
    return points


@final
class Cable(Described):
    """A cable that only pulls, along straight lines from point to point.

    With the distance L along all points and the unstretched length l, the tension is k (L - l) + damping d(L - l)/dt.
    It is zero while the cable is slack (L < l), and the damping never makes it negative. The tension is the same along
    the whole cable: it slides through its points without friction.

    Parameters
    ----------
    name : str
        Name of the cable, without dots and spaces.
    points : list of CablePoint
        Two or more points in the order in which the cable passes them.
    stiffness : float, optional
        Stiffness k of the whole cable [N/m]. Give either `stiffness` or `EA`.
    EA : float, optional
        Axial stiffness of the cross-section [N]: k = EA / l.
    length : float, optional
        Unstretched length between the first and the last point, at the start of a run [m].
    damping : float
        Viscous damping of the whole cable [N s/m].
    transition : float, optional
        Width of the range of L around l in which the stretch increases smoothly from zero [m]. Beyond this range the
        tension is the one above. Default: 1e-4 of `length` with damping, and 0 without, where the tension has a kink.
    input : "none", "rate" or "tension"
        "rate" is a winch: the exogenous input "name.rate" [m/s] is the rate of l, positive for paying out, and the
        state "name.paid_out" [m] is the change of l since the start. "tension": the exogenous input "name.tension" [N]
        is the tension, and negative values count as zero. Such a cable has no length and no stiffness.
    """

    name: Annotated[str, checks.label]
    points: Annotated[tuple[CablePoint, ...], BeforeValidator(_points)]
    stiffness: Annotated[float | None, checks.optional_number("N/m", POSITIVE)] = None
    EA: Annotated[float | None, checks.optional_number("N", POSITIVE)] = None
    length: Annotated[float | None, checks.optional_number("m", POSITIVE)] = None
    damping: Annotated[float, number("N s/m", NOT_NEGATIVE)] = 0.0
    transition: Annotated[float | None, checks.optional_number("m", NOT_NEGATIVE)] = None
    input: Literal["none", "rate", "tension"] = "none"

    @model_validator(mode="after")
    def _has_a_path(self) -> Self:
        for i, (a, b) in enumerate(pairwise(self.points)):
            if a == b:
                raise Fault(f"points[{i + 1}]", f"is the same as points[{i}]; leave one of them out")
        if not any(each.link for each in self.points):
            raise Fault("points", "are all fixed in the world; at least one must be on a link")
        return self

    @model_validator(mode="after")
    def _pulls(self) -> Self:
        if self.input == "tension":
            for name in ("stiffness", "EA", "length", "transition"):
                if getattr(self, name) is not None:
                    raise Fault(name, 'is given, but with input = "tension" the tension does not depend on it')
            if self.damping:
                raise Fault("damping", 'is given, but with input = "tension" the tension does not depend on it')
            return self
        if self.stiffness is None and self.EA is None:
            raise Fault("stiffness", "is missing; give stiffness [N/m] or EA [N]")
        if self.stiffness is not None and self.EA is not None:
            raise Fault("EA", "and stiffness are both given; give one of them")
        if self.length is None:
            raise Fault("length", "is missing; give the unstretched length [m]")
        return self

    @property
    def states(self) -> tuple[tuple[str, str], ...]:
        """Name and unit of the length that a winch has paid out."""
        return (("paid_out", "m"),) if self.input == "rate" else ()

    @property
    def exogenous(self) -> tuple[tuple[str, str], ...]:
        """Name and unit of the input."""
        inputs: dict[str, tuple[tuple[str, str], ...]]
        inputs = {"none": (), "rate": (("rate", "m/s"),), "tension": (("tension", "N"),)}
        return inputs[self.input]

    @property
    def grounded(self) -> bool:
        """True if a point is fixed in the world."""
        return not all(each.link for each in self.points)

    @property
    def smoothing(self) -> float:
        """The transition in use [m]."""
        if self.transition is not None:
            return self.transition
        return TRANSITION * (self.length or 0.0) if self.damping else 0.0
