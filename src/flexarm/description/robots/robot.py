"""What a file says of a robot, whatever its format: links, joints that lead from one to the next, and what else."""

from dataclasses import dataclass, field

import numpy as np

from flexarm.checks import Fault, Vector

LARGEST = 1e75
"""Largest size of a number in a robot's file, in its unit. It is beyond every arm that a description allows, and so
small that the products which compose inertias are finite."""


@dataclass(frozen=True)
class Place:
    """A pose as the file has it: position [m], roll, pitch, yaw [rad]."""

    xyz: Vector = (0.0, 0.0, 0.0)
    rpy: Vector = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Inertial:
    """Mass [kg], centre of mass [m] and inertia about it (3, 3) [kg m^2], along the axes of `place`."""

    mass: float
    place: Place
    inertia: np.ndarray
    at: str


@dataclass(frozen=True)
class Limits:
    """What a joint's <limit> says; None where it does not.

    Attributes
    ----------
    lower, upper : of the coordinate [rad or m]
    velocity : [rad/s or m/s]
    effort : [N m or N]
    """

    lower: float | None = None
    upper: float | None = None
    velocity: float | None = None
    effort: float | None = None


@dataclass(frozen=True)
class Mimic:
    """A joint that is to follow another, where there is one: multiplier times its coordinate, and an offset."""

    joint: str
    multiplier: float
    offset: float


@dataclass(frozen=True)
class Beside:
    """A spring between the two links of a joint: its stiffness [N m/rad or N/m], and where it is not wound."""

    stiffness: float
    rest: float


@dataclass
class Joint:
    """A joint, with what the file says of its drive: `gear_ratio`, `rotor_inertia`; `at` says where in the file."""

    name: str
    kind: str
    parent: str
    child: str
    place: Place
    axis: Vector
    limits: Limits
    damping: float
    friction: float
    mimic: Mimic | None
    at: str
    drive: dict[str, float] = field(default_factory=dict)
    spring: Beside | None = None

    @property
    def moves(self) -> bool:
        """Whether it has a coordinate."""
        return self.kind in ("revolute", "continuous", "prismatic")


@dataclass(frozen=True)
class Thrust:
    """An actuator that pushes or turns a link: its place in the link's frame [m], its unit vector and its limits.

    `name` is the name in the file; `at` says where in the file.
    """

    name: str
    link: str
    place: Vector
    direction: Vector
    turns: bool
    effort: float | None
    at: str


@dataclass
class Robot:
    """A robot: its links by name, its joints, and what was not understood.

    A link has its inertia, None if it has none, or the `Fault` of the inertia in the file. This fault ends the reading
    if the link moves.

    Attributes
    ----------
    format : what the file is, in messages
    root : the link that no joint moves
    world : whether the root is the world, on which things may stand that are no part of a robot
    gravity : in the root's frame [m/s^2]
    thrusts : actuators that act on links and on no joint
    strange : lines of what is not understood
    aside : lines of what says nothing of how it moves
    notes : lines of what was decided
    """

    format: str
    name: str
    links: dict[str, Inertial | Fault | None]
    joints: dict[str, Joint]
    root: str
    strange: list[str]
    aside: list[str]
    notes: list[str] = field(default_factory=list)
    world: bool = False
    gravity: Vector = (0.0, 0.0, -9.81)
    thrusts: list[Thrust] = field(default_factory=list)

    def below(self, link: str) -> list[Joint]:
        """The joints on a link, in the order of the file."""
        return self._on.get(link, [])

    def above(self, link: str) -> Joint | None:
        """The joint that carries a link; None of the root."""
        return self._under.get(link)

    def __post_init__(self) -> None:
        self._on: dict[str, list[Joint]] = {}
        for joint in self.joints.values():
            self._on.setdefault(joint.parent, []).append(joint)
        self._under = {joint.child: joint for joint in self.joints.values()}
