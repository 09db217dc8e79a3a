"""Joints that follow the joint of another link."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal, Self, final

from pydantic import model_validator

from flexarm import checks
from flexarm.checks import FINITE, NOT_ZERO, Fault, Vector, kind, number, shown, unknown_name
from flexarm.description.bodies import Body
from flexarm.description.drives import Drive
from flexarm.description.joints import Driven, Joint, Telescope


@final
class Gear(Joint):
    """A joint that follows the joint of another link exactly: its position is ratio times that coordinate plus offset.

    A gear has no coordinate and no input of its own, and no spring acts between the two joints. The equations of motion
    contain the inertia of both joints at the coordinate of the other joint. Examples are gear trains, belts, the
    fingers of a gripper, and `mimic` joints of robot files.

    Parameters
    ----------
    joint : Revolute or Prismatic
        Joint that moves the link. It can have damping, friction, end stops, a parallel spring and a rotor, but no
        actuator and no transmission spring.
    follows : str
        Name of the link whose joint is followed. That joint can itself be a gear.
    ratio : float
        Change of the position of this joint per change of the coordinate of the other joint [1, m/rad or rad/m].
    offset : float
        Position of this joint where the coordinate of the other joint is zero [rad or m].
    """

    moves: ClassVar[bool] = False
    type: Literal["gear"] = "gear"
    joint: Annotated[Joint, kind(Joint)]
    follows: Annotated[str, checks.label]
    ratio: Annotated[float, number("", NOT_ZERO)] = 1.0
    offset: Annotated[float, number("", FINITE)] = 0.0

    @model_validator(mode="after")
    def _joint_can_follow(self) -> Self:
        if isinstance(self.joint, Telescope) or not isinstance(self.joint, Driven):
            name = type(self.joint).__name__
            raise Fault("joint", f"is a {name}; a joint that follows another one must be Revolute or Prismatic")
        self.joint.check_passive("a joint that follows another one")
        return self

    @property
    def leader(self) -> str | None:
        """Name of the link whose joint this joint follows."""
        return self.follows

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
        return f"its joint follows that of {self.follows!r}"

    def check(self, body: Body) -> None:
        """Raise `Fault` if the joint cannot carry the body."""
        self.joint.check(body)

    def rigid(self) -> Self:
        """Return the same joint with a rigid transmission."""
        return self.replace(joint=self.joint.rigid())

    def without_drive(self) -> Self:
        """Return the same joint without the `drive` of the joint that moves."""
        return self.replace(joint=self.joint.without_drive())


def ways(links: Sequence[Any]) -> dict[int, tuple[int, ...]]:
    """Return, for each link whose joint follows another one, the links from it to a link whose joint has a coordinate.

    The first index of each tuple is that of the link itself. Raises `Fault`.
    """
    places = {link.name: i for i, link in enumerate(links)}
    found = {}
    for i, link in enumerate(links):
        where, way = f"link {link.name!r}", [i]
        while (leader := links[way[-1]].joint.leader) is not None:
            if leader not in places:
                known = [x.name for x in links if x.joint.moves]
                raise Fault("joint.follows", unknown_name("is", leader, known, "it can follow"), where=where)
            if places[leader] in way:
                circle = " follows ".join(repr(links[n].name) for n in [*way, places[leader]])
                raise Fault("joint.follows", f"forms a cycle: {circle}", where=where)
            way.append(places[leader])
        if len(way) > 1:
            if not links[way[-1]].joint.moves:
                name = shown(links[way[-1]].name)
                raise Fault("joint.follows", f"leads to {name}, whose joint does not move", where=where)
            found[i] = tuple(way)
    return found
