"""The description of an arm: frozen, validated once, in SI units.

A TOML file mirrors these classes one to one. Wherever something is wrong, the error is a `DescriptionError` of one line
that names the link and the field and says what is allowed.
"""

import hashlib
import json
import pickle  # noqa: TID251  (written for a digest, never read)
from dataclasses import dataclass
from math import cos, sin
from typing import Annotated, Any, Literal, Self, final

import numpy as np
from pydantic import BeforeValidator, Field, model_validator

from flexarm import checks
from flexarm.checks import (
    NOT_NEGATIVE,
    POSITIVE,
    Described,
    Fault,
    Inertia,
    Vector,
    kind,
    number,
    shown,
    tensor,
    vector,
)
from flexarm.description.bodies import DIRECTIONS, KNOWN_SHAPES, MOST_MODES, Beam, Body, Rigid
from flexarm.description.joints import Fixed, Joint, Prismatic, Revolute, Telescope
from flexarm.description.sections import Box, Material, Rod, Tube
from flexarm.errors import DescriptionError
from flexarm.shapes import FreeForm

__all__ = [
    "DIRECTIONS",
    "KNOWN_SHAPES",
    "MOST_MODES",
    "Arm",
    "Beam",
    "Box",
    "Fixed",
    "Link",
    "Material",
    "Payload",
    "Pose",
    "Prismatic",
    "Revolute",
    "Rigid",
    "Rod",
    "Telescope",
    "Tube",
    "tensor",
]


@final
class Pose(Described):
    """A constant place and orientation.

    Parameters
    ----------
    xyz : (3,)
        Position of the origin [m].
    rpy : (3,)
        Roll, pitch, yaw [rad]: the rotation is Rz(yaw) Ry(pitch) Rx(roll).
    """

    xyz: Annotated[Vector, vector("m")] = (0.0, 0.0, 0.0)
    rpy: Annotated[Vector, vector("rad")] = (0.0, 0.0, 0.0)

    @property
    def rotation(self) -> np.ndarray:
        """Rotation matrix, (3, 3): its columns are the axes of the placed frame."""
        (cr, cp, cy), (sr, sp, sy) = map(cos, self.rpy), map(sin, self.rpy)
        return np.array(
            [
                [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
                [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
                [-sp, cp * sr, cp * cr],
            ]
        )


# -- the arm -----------------------------------------------------------------------------------------------------------


@final
class Link(Described):
    """A joint and the body it moves.

    Parameters
    ----------
    name : str
        Names the link's coordinates; no dots, no spaces.
    joint : Revolute, Prismatic, Telescope or Fixed
    body : Beam or Rigid
    placement : Pose
        Of the joint frame in the tip frame of the previous link (of the first link, in the base frame).
    hub_mass : float
        Point mass that rides on the joint, at the body's origin [kg].
    hub_inertia : float, (3,) or (3, 3)
        Of the hub about the body's origin [kg m^2].
    """

    name: Annotated[str, checks.label]
    joint: Annotated[Joint, kind(Joint)] = Field(default_factory=Revolute)
    body: Annotated[Body, kind(Body)]
    placement: Pose = Field(default_factory=Pose)
    hub_mass: Annotated[float, number("kg", NOT_NEGATIVE)] = 0.0
    hub_inertia: Annotated[Inertia, checks.inertia] = 0.0

    @model_validator(mode="after")
    def _joint_fits_body(self) -> Self:
        self.joint.check(self.body)
        return self

    @property
    def free_length(self) -> float | None:
        """Of a telescope, its nominal free length [m], given or by default; else None."""
        return self.joint.rest(self.body) if isinstance(self.joint, Telescope) else None

    @property
    def elastic(self) -> bool:
        """Whether the joint is elastic, so that the motor has a coordinate of its own."""
        return self.joint.elastic

    def rigid(self) -> "Link":
        """The same link with a rigid rod for a beam, and a stiff transmission.

        A telescope stays one: its beam keeps no modes.
        """
        return self.replace(joint=self.joint.rigid(), body=self.joint.rigid_body(self.body))


@final
class Payload(Described):
    """What the last link carries, its centre of mass at the tip.

    Parameters
    ----------
    mass : float
        [kg]
    inertia : float, (3,) or (3, 3)
        About the tip [kg m^2].
    """

    mass: Annotated[float, number("kg", POSITIVE)]
    inertia: Annotated[Inertia, checks.inertia] = 0.0


MOST_LINKS, MOST_COORDINATES = 1000, 2000
"""Of an arm: tracing the equations of one of this size takes minutes, of a larger one hours."""


def _list_of_links(value: object) -> object:
    if not isinstance(value, list | tuple):
        raise Fault("", f"is {shown(value)}; it must be a list of links")
    if not value:
        raise Fault("", "is empty; an arm has at least one link")
    if len(value) > MOST_LINKS:
        raise Fault("", f"has {len(value)} links; an arm has at most {MOST_LINKS}")
    return value


@final
@dataclass(frozen=True)
class Coordinate:
    """One coordinate of an arm.

    Attributes
    ----------
    name : str
        "upper.joint", "upper.y1", "upper.motor".
    link : int
        Position of its link in the arm.
    role : "joint", "flexible" or "motor"
    unit : "rad" or "m"
    """

    name: str
    link: int
    role: Literal["joint", "flexible", "motor"]
    unit: str


@final
class Arm(Described):
    """A serial arm on a fixed base.

    Parameters
    ----------
    name : str
    links : list of Link
        From the base to the tip; at least one, each name once.
    payload : Payload, optional
    gravity : (3,)
        Acceleration of gravity in the base frame [m/s^2].
    description : str
    """

    name: Annotated[str, checks.title]
    links: Annotated[tuple[Link, ...], BeforeValidator(_list_of_links)]
    payload: Payload | None = None
    gravity: Annotated[Vector, vector("m/s^2")] = (0.0, 0.0, 0.0)
    description: Annotated[str, checks.text] = ""

    @model_validator(mode="after")
    def _names_differ(self) -> Self:
        first: dict[str, int] = {}
        for i, link in enumerate(self.links, start=1):
            if first.setdefault(link.name, i) != i:
                message = f"is given to links {first[link.name]} and {i}; each link needs its own"
                raise Fault("name", message, where=f"link {link.name!r}")
        return self

    @model_validator(mode="after")
    def _is_not_too_large(self) -> Self:
        if (count := len(self.layout)) > MOST_COORDINATES:
            raise Fault("", f"has {count} coordinates; it must have at most {MOST_COORDINATES}")
        return self

    @property
    def layout(self) -> tuple[Coordinate, ...]:
        """The coordinates in order: joints, flexible coordinates link by link, motors of elastic joints."""
        moving = [(i, link) for i, link in enumerate(self.links) if link.joint.moves]
        joints = [Coordinate(f"{link.name}.joint", i, "joint", link.joint.unit) for i, link in moving]
        flexible = [
            Coordinate(f"{link.name}.{direction}{j}", i, "flexible", "rad" if direction == "torsion" else "m")
            for i, link in enumerate(self.links)
            for direction, count in link.body.counts.items()
            for j in range(1, count + 1)
        ]
        motors = [
            Coordinate(f"{link.name}.motor", i, "motor", link.joint.unit) for i, link in moving if link.joint.elastic
        ]
        return (*joints, *flexible, *motors)

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the coordinates, in the order of `layout`."""
        return tuple(coordinate.name for coordinate in self.layout)

    @property
    def joints(self) -> tuple[int, ...]:
        """Positions of the joints among the coordinates, in the order of the links that move."""
        return self._of_role("joint")

    @property
    def flexible(self) -> tuple[int, ...]:
        """Positions of the links' flexible coordinates."""
        return self._of_role("flexible")

    @property
    def motors(self) -> tuple[int, ...]:
        """Positions of the motors of elastic joints."""
        return self._of_role("motor")

    @property
    def springs(self) -> tuple[tuple[int, int], ...]:
        """Positions (joint, motor) of the two sides of each elastic joint's spring."""
        layout = self.layout
        joint = {layout[i].link: i for i in self.joints}
        return tuple((joint[layout[i].link], i) for i in self.motors)

    @property
    def actuated(self) -> tuple[int, ...]:
        """For each input the position of its coordinate: the motor of an elastic joint, else the joint."""
        motor = dict(self.springs)
        return tuple(motor.get(i, i) for i in self.joints)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the actuators in the order of the links: `.motor` at an elastic joint, else `.joint`."""
        names = self.coordinates
        return tuple(names[i] for i in self.actuated)

    @property
    def units(self) -> tuple[str, ...]:
        """Unit of each coordinate: rad or m."""
        return tuple(coordinate.unit for coordinate in self.layout)

    @property
    def rest(self) -> tuple[float, ...]:
        """The coordinates at rest: zeros, but the nominal free length of a telescope (and its motor, if elastic)."""
        links = [self.links[coordinate.link] for coordinate in self.layout]
        turned = [coordinate.role != "flexible" for coordinate in self.layout]
        return tuple(link.joint.rest(link.body) if j else 0.0 for link, j in zip(links, turned, strict=True))

    def _of_role(self, role: str) -> tuple[int, ...]:
        return tuple(i for i, coordinate in enumerate(self.layout) if coordinate.role == role)

    def rigid(self) -> "Arm":
        """The same arm with rigid links and rigid joints: masses, hubs, rotors and joint damping are kept."""
        return self.replace(links=[link.rigid() for link in self.links])

    def canonical(self) -> str:
        """The whole description as a line of JSON, the same for equal arms in every process.

        A family object in `shapes` stands there as a digest; raises `DescriptionError` where it cannot be pickled.
        """
        return json.dumps(self, default=_written, sort_keys=True, allow_nan=False, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> "Arm":
        """The arm that `canonical` wrote; raises `DescriptionError`."""
        try:
            data = json.loads(text)
        except (ValueError, TypeError, RecursionError) as error:
            raise DescriptionError(f"Arm: not a JSON text: {' '.join(str(error).split())}") from None
        if not isinstance(data, dict):
            raise DescriptionError(f"Arm: the JSON text is {shown(data)}; it must be an object")
        return cls(**data)


def _written(thing: Any) -> dict:
    """A part as a table of its fields; a family object by its class and a digest: enough to tell two apart."""
    if isinstance(thing, FreeForm):
        return thing.written()
    if isinstance(thing, Described):
        return dict(thing)
    name = f"{type(thing).__module__}.{type(thing).__qualname__}"
    try:
        state = pickle.dumps(thing, protocol=4)
    except Exception:  # pickle raises many kinds, and the object's own code any
        raise DescriptionError(f"shapes is a {name}, which cannot be pickled; define its class in a module") from None
    return {"family": name, "state": hashlib.sha256(state).hexdigest()}
