"""The description of an arm: frozen, validated once, in SI units.

A TOML file mirrors these classes one to one. Wherever something is wrong, the error is a `DescriptionError` of one line
that names the link and the field and says what is allowed.
"""

import hashlib
import json
import pickle
from math import cos, sin
from typing import Annotated, Any, Literal, Self, final

import numpy as np
from pydantic import BeforeValidator, Field, model_validator

from flexarm import fields
from flexarm.bodies import DIRECTIONS, KNOWN_SHAPES, MOST_MODES, Beam, Rigid
from flexarm.errors import DescriptionError
from flexarm.fields import (
    NOT_NEGATIVE,
    NOT_ZERO,
    POSITIVE,
    Described,
    Fault,
    Inertia,
    Vector,
    kind,
    number,
    optional_number,
    shown,
    tensor,
    unit_vector,
    vector,
)
from flexarm.sections import Box, Material, Rod, Tube

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


# -- joints ------------------------------------------------------------------------------------------------------------


def _check_spring(joint: "Revolute | Prismatic", unit: str) -> None:
    if joint.stiffness is None and joint.spring_damping > 0:
        raise Fault("spring_damping", f"is {joint.spring_damping} {unit}; without stiffness it must be 0")
    if joint.stiffness is not None and joint.rotor_inertia <= 0:
        raise Fault("rotor_inertia", "is 0.0 kg m^2; a joint with stiffness has a motor, so it must be positive")


@final
class Revolute(Described):
    """A joint that turns about an axis; the body's frame is the joint frame at angle 0.

    Parameters
    ----------
    axis : (3,)
        Unit vector in the joint frame.
    rotor_inertia : float
        Of the motor about its own axis, I_r [kg m^2].
    gear_ratio : float
        Turns of the motor per turn of the joint, G: the joint feels G^2 I_r.
    damping : float
        Viscous, on the link side [N m s/rad].
    stiffness : float, optional
        Of the transmission [N m/rad]. With it the joint is elastic and the motor has a coordinate of its own.
    spring_damping : float
        Of the transmission [N m s/rad].
    """

    type: Literal["revolute"] = "revolute"
    axis: Annotated[Vector, unit_vector] = (0.0, 0.0, 1.0)
    rotor_inertia: Annotated[float, number("kg m^2", NOT_NEGATIVE)] = 0.0
    gear_ratio: Annotated[float, number("", NOT_ZERO)] = 1.0
    damping: Annotated[float, number("N m s/rad", NOT_NEGATIVE)] = 0.0
    stiffness: Annotated[float | None, optional_number("N m/rad", POSITIVE)] = None
    spring_damping: Annotated[float, number("N m s/rad", NOT_NEGATIVE)] = 0.0

    @model_validator(mode="after")
    def _spring_has_a_motor(self) -> Self:
        _check_spring(self, "N m s/rad")
        return self


@final
class Prismatic(Described):
    """A joint that slides along an axis.

    Parameters
    ----------
    axis : (3,)
        Unit vector in the joint frame.
    rotor_inertia : float
        Of the motor about its own axis, I_r [kg m^2].
    gear_ratio : float
        Turning of the motor per length of the slide, G [rad/m]: the joint feels the mass G^2 I_r.
    damping : float
        Viscous, on the link side [N s/m].
    stiffness : float, optional
        Of the transmission [N/m]. With it the joint is elastic and the motor has a coordinate of its own.
    spring_damping : float
        Of the transmission [N s/m].
    """

    type: Literal["prismatic"] = "prismatic"
    axis: Annotated[Vector, unit_vector] = (0.0, 0.0, 1.0)
    rotor_inertia: Annotated[float, number("kg m^2", NOT_NEGATIVE)] = 0.0
    gear_ratio: Annotated[float, number("rad/m", NOT_ZERO)] = 1.0
    damping: Annotated[float, number("N s/m", NOT_NEGATIVE)] = 0.0
    stiffness: Annotated[float | None, optional_number("N/m", POSITIVE)] = None
    spring_damping: Annotated[float, number("N s/m", NOT_NEGATIVE)] = 0.0

    @model_validator(mode="after")
    def _spring_has_a_motor(self) -> Self:
        _check_spring(self, "N s/m")
        return self


@final
class Fixed(Described):
    """A joint that does not move: it has no coordinate and no actuator."""

    type: Literal["fixed"] = "fixed"


# -- the arm -----------------------------------------------------------------------------------------------------------


Joint = Annotated[Revolute | Prismatic | Fixed, Field(discriminator="type"), kind(Revolute, Prismatic, Fixed)]
Body = Annotated[Beam | Rigid, Field(discriminator="type"), kind(Beam, Rigid)]


@final
class Link(Described):
    """A joint and the body it moves.

    Parameters
    ----------
    name : str
        Names the link's coordinates; no dots, no spaces.
    joint : Revolute, Prismatic or Fixed
    body : Beam or Rigid
    placement : Pose
        Of the joint frame in the tip frame of the previous link (of the first link, in the base frame).
    hub_mass : float
        Point mass that rides on the joint, at the body's origin [kg].
    hub_inertia : float, (3,) or (3, 3)
        Of the hub about the body's origin [kg m^2].
    """

    name: Annotated[str, fields.label]
    joint: Joint = Revolute()
    body: Body
    placement: Pose = Pose()
    hub_mass: Annotated[float, number("kg", NOT_NEGATIVE)] = 0.0
    hub_inertia: Annotated[Inertia, fields.inertia] = 0.0

    @property
    def elastic(self) -> bool:
        """Whether the joint is elastic, so that the motor has a coordinate of its own."""
        return not isinstance(self.joint, Fixed) and self.joint.stiffness is not None

    def rigid(self) -> "Link":
        """The same link with a uniform rigid rod for a beam, and a stiff transmission."""
        joint, body = self.joint, self.body
        if not isinstance(joint, Fixed):
            joint = joint.replace(stiffness=None, spring_damping=0.0)
        if isinstance(body, Beam):
            rod = body.total_mass * body.length**2 / 12
            principal = (body.rho_Ip * body.length, rod, rod)
            body = Rigid(length=body.length, mass=body.total_mass, inertia=principal)
        return self.replace(joint=joint, body=body)


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
    inertia: Annotated[Inertia, fields.inertia] = 0.0


def _list_of_links(value: object) -> object:
    if not isinstance(value, list | tuple):
        raise Fault("", f"is {shown(value)}; it must be a list of links")
    if not value:
        raise Fault("", "is empty; an arm has at least one link")
    return value


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

    name: Annotated[str, fields.title]
    links: Annotated[tuple[Link, ...], BeforeValidator(_list_of_links)]
    payload: Payload | None = None
    gravity: Annotated[Vector, vector("m/s^2")] = (0.0, 0.0, 0.0)
    description: Annotated[str, fields.text] = ""

    @model_validator(mode="after")
    def _names_differ(self) -> Self:
        first: dict[str, int] = {}
        for i, link in enumerate(self.links, start=1):
            if first.setdefault(link.name, i) != i:
                message = f"is given to links {first[link.name]} and {i}; each link needs its own"
                raise Fault("name", message, where=f"link {link.name!r}")
        return self

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the coordinates in order: joints, flexible coordinates link by link, motors of elastic joints."""
        joints = [f"{link.name}.joint" for link in self.links if not isinstance(link.joint, Fixed)]
        flexible = [
            f"{link.name}.{direction}{j}"
            for link in self.links
            if isinstance(link.body, Beam)
            for direction, count in link.body.counts.items()
            for j in range(1, count + 1)
        ]
        motors = [f"{link.name}.motor" for link in self.links if link.elastic]
        return (*joints, *flexible, *motors)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the actuators in the order of the links: `.motor` at an elastic joint, else `.joint`."""
        moving = [link for link in self.links if not isinstance(link.joint, Fixed)]
        return tuple(f"{link.name}.{'motor' if link.elastic else 'joint'}" for link in moving)

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
    if isinstance(thing, Described):
        return dict(thing)
    name = f"{type(thing).__module__}.{type(thing).__qualname__}"
    try:
        state = pickle.dumps(thing, protocol=4)
    except Exception:  # pickle raises many kinds, and the object's own code any
        raise DescriptionError(f"shapes is a {name}, which cannot be pickled; define its class in a module") from None
    return {"family": name, "state": hashlib.sha256(state).hexdigest()}
