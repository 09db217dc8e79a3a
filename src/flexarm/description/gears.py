"""Joints that follow the joint of another link."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal, Self, final

from pydantic import BeforeValidator, model_validator

from flexarm import checks
from flexarm.checks import (
    FINITE,
    NOT_ZERO,
    Fault,
    OneNumber,
    Vector,
    checked_numbers,
    kind,
    number,
    shown,
    unknown_name,
)
from flexarm.description.bodies import Body
from flexarm.description.drives import Drive
from flexarm.description.joints import Driven, Joint, Telescope


def _names(value: object) -> Any:
    if isinstance(value, str):
        return checks.checked_label(value)
    names = tuple(map(checks.checked_label, checks.checked_list(value, "a name, or a list of names")))
    if len({*names}) < len(names) or len(names) < 2:
        raise Fault("", f"is {shown(value)}; it must be a name, or a list of at least two different names")
    return names


class Ratios(OneNumber):
    """The check of a ratio, or of several."""

    def __call__(self, value: object) -> Any:
        """Return the number or the numbers. Raises `Fault`."""
        several = isinstance(value, list | tuple)
        return checked_numbers(value, self.unit, self.rule) if several else super().__call__(value)


@final
class Gear(Joint):
    """A joint that follows the joint of another link exactly: its position is ratio times that coordinate plus offset.

    A gear has no coordinate and no input of its own, and no spring acts between the two joints. The equations of motion
    contain the inertia of both joints at the coordinate of the other joint. Examples are gear trains, belts, the
    fingers of a gripper, and `mimic` joints of robot files. A gear can also follow several joints, as the carrier of a
    differential, whose angle is the mean of two others.

    Parameters
    ----------
    joint : Revolute or Prismatic
        Joint that moves the link. It can have damping, friction, end stops, a parallel spring and a rotor, but no
        actuator and no transmission spring.
    follows : str or list of str
        Name of the link whose joint is followed, or names of several. These joints can themselves be gears.
    ratio : float or list of float
        Change of the position of this joint per change of the coordinate of the other joint [1, m/rad or rad/m]. With
        several joints, a list with a number for each. Such a gear cannot have a rotor inertia.
    offset : float
        Position of this joint where the coordinates of the others are zero [rad or m].
    """

    moves: ClassVar[bool] = False
    type: Literal["gear"] = "gear"
    joint: Annotated[Joint, kind(Joint)]
    follows: Annotated[str | tuple[str, ...], BeforeValidator(_names)]
    ratio: Annotated[float | tuple[float, ...], BeforeValidator(Ratios("", NOT_ZERO))] = 1.0
    offset: Annotated[float, number("", FINITE)] = 0.0

    @model_validator(mode="after")
    def _joint_can_follow(self) -> Self:
        if isinstance(self.joint, Telescope) or not isinstance(self.joint, Driven):
            name = type(self.joint).__name__
            raise Fault("joint", f"is a {name}; a joint that follows another one must be Revolute or Prismatic")
        self.joint.check_passive("a joint that follows another one")
        if isinstance(self.follows, str) == isinstance(self.ratio, tuple) or len(self.ratios) != len(self.leaders):
            raise Fault("ratio", f"is {shown(self.ratio)}; it must have a number for each joint in `follows`")
        if len(self.leaders) > 1 and self.joint.rotor_inertia:
            must = "a joint that follows several cannot have one; add the inertia to the link"
            raise Fault("joint.rotor_inertia", f"is {self.joint.rotor_inertia} kg m^2; {must}")
        return self

    @property
    def leaders(self) -> tuple[str, ...]:
        """Names of the links whose joints this joint follows."""
        return (self.follows,) if isinstance(self.follows, str) else self.follows

    @property
    def ratios(self) -> tuple[float, ...]:
        """Ratio to each of the joints that this joint follows."""
        return self.ratio if isinstance(self.ratio, tuple) else (self.ratio,)

    @property
    def moving(self) -> Joint:
        """The joint that moves the body."""
        return self.joint

    @property
    def _parts(self) -> Drive:
        return self.joint._parts  # noqa: SLF001  (the drive is that of the joint inside)

    @property
    def turns(self) -> bool:  # type: ignore[override]
        """True if the joint turns, False if it slides."""
        return self.joint.turns

    @property
    def direction(self) -> Vector:
        """Unit vector in the joint frame, about or along which the joint moves."""
        return self.joint.direction

    @property
    def uncoupled(self) -> str:
        """Reason why no actuator can move this joint together with others."""
        return f"its joint follows that of {' and '.join(map(repr, self.leaders))}"

    def check(self, body: Body) -> None:
        """Raise `Fault` if the joint cannot carry the body."""
        self.joint.check(body)

    def rigid(self) -> Self:
        """Return the same joint with a rigid transmission."""
        return self.replace(joint=self.joint.rigid())

    def without_drive(self) -> Self:
        """Return the same joint without the `drive` of the joint that moves."""
        return self.replace(joint=self.joint.without_drive())


def followed(links: Sequence[Any]) -> dict[int, tuple[int, ...]]:
    """Return the links that each link follows whose joint follows others. Raises `Fault`."""
    places = {link.name: i for i, link in enumerate(links)}
    found = {}
    for i, link in enumerate(links):
        for leader in link.joint.leaders:
            if leader not in places:
                known = [x.name for x in links if x.joint.moves]
                message = unknown_name("is", leader, known, "it can follow")
                raise Fault("joint.follows", message, where=f"link {link.name!r}")
        if link.joint.leaders:
            found[i] = tuple(places[leader] for leader in link.joint.leaders)
    for i in found:
        _check_ends(links, found, [i])
    return found


def _check_ends(links: Sequence[Any], found: dict[int, tuple[int, ...]], way: list[int]) -> None:
    """Raise `Fault` unless all joints that a joint follows lead to coordinates; `way` has the links so far."""
    where = f"link {links[way[0]].name!r}"
    for i in found[way[-1]]:
        if i in way:
            circle = " follows ".join(repr(links[n].name) for n in [*way, i])
            raise Fault("joint.follows", f"forms a cycle: {circle}", where=where)
        if i in found:
            _check_ends(links, found, [*way, i])
        elif not links[i].joint.moves:
            why = "turns about all axes" if links[i].joint.spherical else "does not move"
            raise Fault("joint.follows", f"leads to {shown(links[i].name)}, whose joint {why}", where=where)
