"""The description of an arm: frozen, validated once, in SI units.

A TOML file mirrors these classes one to one. Wherever something is wrong, the error is a `DescriptionError` of one line
that names the link and the field and says what is allowed.
"""

import hashlib
import json
import pickle
from math import cos, isclose, sin
from typing import Annotated, Any, Literal, Self, final

import numpy as np
from pydantic import BeforeValidator, Field, model_validator

from flexarm import checks
from flexarm.checks import (
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
from flexarm.description.bodies import DIRECTIONS, KNOWN_SHAPES, MOST_MODES, Beam, Rigid
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


# -- joints ------------------------------------------------------------------------------------------------------------


def _check_spring(joint: "Revolute | Prismatic | Telescope", unit: str) -> None:
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
    rotor : "relative" or "absolute"
        Kinetic energy of the rotor: 1/2 G^2 I_r times the square of the joint's rate, or 1/2 I_r (w . axis + G rate)^2
        with w the angular velocity of the link that carries the motor.
    """

    type: Literal["revolute"] = "revolute"
    axis: Annotated[Vector, unit_vector] = (0.0, 0.0, 1.0)
    rotor_inertia: Annotated[float, number("kg m^2", NOT_NEGATIVE)] = 0.0
    gear_ratio: Annotated[float, number("", NOT_ZERO)] = 1.0
    damping: Annotated[float, number("N m s/rad", NOT_NEGATIVE)] = 0.0
    stiffness: Annotated[float | None, optional_number("N m/rad", POSITIVE)] = None
    spring_damping: Annotated[float, number("N m s/rad", NOT_NEGATIVE)] = 0.0
    rotor: Literal["relative", "absolute"] = "relative"

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
    rotor : "relative" or "absolute"
        Kinetic energy of the rotor: 1/2 G^2 I_r times the square of the joint's rate, or 1/2 I_r (w . axis + G rate)^2
        with w the angular velocity of the link that carries the motor.
    """

    type: Literal["prismatic"] = "prismatic"
    axis: Annotated[Vector, unit_vector] = (0.0, 0.0, 1.0)
    rotor_inertia: Annotated[float, number("kg m^2", NOT_NEGATIVE)] = 0.0
    gear_ratio: Annotated[float, number("rad/m", NOT_ZERO)] = 1.0
    damping: Annotated[float, number("N s/m", NOT_NEGATIVE)] = 0.0
    stiffness: Annotated[float | None, optional_number("N/m", POSITIVE)] = None
    spring_damping: Annotated[float, number("N s/m", NOT_NEGATIVE)] = 0.0
    rotor: Literal["relative", "absolute"] = "relative"

    @model_validator(mode="after")
    def _spring_has_a_motor(self) -> Self:
        _check_spring(self, "N s/m")
        return self


SHORTEST = 0.1
"""Share of its total length below which a telescope's shapes that follow the load are not known."""


@final
class Telescope(Described):
    """A hub out of which the link's beam slides along its own x; the joint coordinate is the free length [m].

    The base frame stays at the hub's mouth. The body must be a uniform `Beam` that bends only (or has no modes).

    Parameters
    ----------
    total_length : float, optional
        Of the beam, the part still in the hub included [m]. Default, and only value: the length of the body.
    free_length : float, optional
        Nominal free length [m], where no configuration is given. Default: the total length.
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
    rotor : "relative" or "absolute"
        Kinetic energy of the rotor: 1/2 G^2 I_r times the square of the joint's rate, or 1/2 I_r (w . axis + G rate)^2
        with w the angular velocity of the link that carries the motor.
    convection : "material" or "paper"
        Velocity of a point of the moving beam: the derivative at a fixed particle, or at a fixed place, as Theodore &
        Ghosal's eq. 24 has it.
    wave_numbers : "fixed", "solved" or "integrated"
        Of shapes that depend on the load (clamped-mass): those at the nominal free length, or following the ratio of
        load and beam as the length changes, from the frequency equation (eq. 9) or its differential form (eq. 11).
    """

    type: Literal["telescope"] = "telescope"
    total_length: Annotated[float | None, optional_number("m", POSITIVE)] = None
    free_length: Annotated[float | None, optional_number("m", POSITIVE)] = None
    rotor_inertia: Annotated[float, number("kg m^2", NOT_NEGATIVE)] = 0.0
    gear_ratio: Annotated[float, number("rad/m", NOT_ZERO)] = 1.0
    damping: Annotated[float, number("N s/m", NOT_NEGATIVE)] = 0.0
    stiffness: Annotated[float | None, optional_number("N/m", POSITIVE)] = None
    spring_damping: Annotated[float, number("N s/m", NOT_NEGATIVE)] = 0.0
    rotor: Literal["relative", "absolute"] = "relative"
    convection: Literal["material", "paper"] = "material"
    wave_numbers: Literal["fixed", "solved", "integrated"] = "fixed"

    @model_validator(mode="after")
    def _is_possible(self) -> Self:
        _check_spring(self, "N s/m")
        if self.total_length is not None:
            _check_free_length(self.free_length, self.total_length)
        return self


def _check_free_length(free: float | None, total: float, part: str = "free_length") -> None:
    if free is not None and free > total:
        raise Fault(part, f"is {free} m; it must be at most the total length, {total} m")


@final
class Fixed(Described):
    """A joint that does not move: it has no coordinate and no actuator."""

    type: Literal["fixed"] = "fixed"


# -- the arm -----------------------------------------------------------------------------------------------------------


Joint = Annotated[
    Revolute | Prismatic | Telescope | Fixed,
    Field(discriminator="type"),
    kind(Revolute, Prismatic, Telescope, Fixed),
]
Body = Annotated[Beam | Rigid, Field(discriminator="type"), kind(Beam, Rigid)]


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
    joint: Joint = Revolute()
    body: Body
    placement: Pose = Pose()
    hub_mass: Annotated[float, number("kg", NOT_NEGATIVE)] = 0.0
    hub_inertia: Annotated[Inertia, checks.inertia] = 0.0

    @model_validator(mode="after")
    def _fits_its_telescope(self) -> Self:
        joint, body = self.joint, self.body
        if not isinstance(joint, Telescope):
            return self
        if not isinstance(body, Beam):
            raise Fault("body", f"is a {type(body).__name__}; a telescope needs a Beam (modes = {{}} for a rigid one)")
        if body.section_tip is not None:
            raise Fault("section_tip", "is given; the beam of a telescope must be uniform")
        for direction in ("torsion", "axial"):
            if body.counts[direction]:
                count = body.counts[direction]
                raise Fault(f"modes.{direction}", f"is {count}; the beam of a telescope bends only, so it must be 0")
        if joint.total_length is not None and not isclose(joint.total_length, body.length, rel_tol=1e-12):
            message = f"is {joint.total_length} m; it must be the length of the body, {body.length} m"
            raise Fault("joint.total_length", message)
        _check_free_length(joint.free_length, body.length, "joint.free_length")
        return self

    @property
    def free_length(self) -> float | None:
        """Of a telescope, its nominal free length [m], given or by default; else None."""
        if not isinstance(self.joint, Telescope):
            return None
        return self.body.length if self.joint.free_length is None else self.joint.free_length

    @property
    def elastic(self) -> bool:
        """Whether the joint is elastic, so that the motor has a coordinate of its own."""
        return not isinstance(self.joint, Fixed) and self.joint.stiffness is not None

    def rigid(self) -> "Link":
        """The same link with a rigid rod for a beam, and a stiff transmission.

        A telescope stays one: its beam keeps no modes.
        """
        joint, body = self.joint, self.body
        if not isinstance(joint, Fixed):
            joint = joint.replace(stiffness=None, spring_damping=0.0)
        if isinstance(joint, Telescope) and isinstance(body, Beam):
            body = body.replace(modes={}, damping=0.0)
        elif isinstance(body, Beam):
            body = body.rigid()
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
    inertia: Annotated[Inertia, checks.inertia] = 0.0


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

    @property
    def rest(self) -> tuple[float, ...]:
        """The coordinates at rest: zeros, but the nominal free length of a telescope (and its motor, if elastic)."""
        lengths = {
            f"{link.name}.{kind}": link.free_length
            for link in self.links
            for kind in ("joint", "motor")
            if link.free_length is not None
        }
        return tuple(lengths.get(name, 0.0) for name in self.coordinates)

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
