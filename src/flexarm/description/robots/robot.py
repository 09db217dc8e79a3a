"""Contents of a robot file in any format: links, the joints between them, drives and notes."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from flexarm.checks import Fault, Vector

LARGEST = 1e75
"""Largest size of a number in a robot file, in its unit.

It is beyond every arm that a description allows, and small enough to keep the products in composed inertias finite.
"""


@dataclass(frozen=True)
class Place:
    """Pose as written in the file: position [m] and roll, pitch, yaw [rad]."""

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
    """Limits of a joint from <limit>. None for a limit that is not given.

    Attributes
    ----------
    lower, upper : limits of the coordinate [rad or m]
    velocity : largest rate [rad/s or m/s]
    effort : largest force or torque [N m or N]
    """

    lower: float | None = None
    upper: float | None = None
    velocity: float | None = None
    effort: float | None = None


@dataclass(frozen=True)
class Mimic:
    """A joint that follows another one, if that exists: multiplier times the other coordinate, plus an offset."""

    joint: str
    multiplier: float
    offset: float


@dataclass(frozen=True)
class Beside:
    """A spring between the two links of a joint: its stiffness [N m/rad or N/m], and the coordinate at which it is
    unloaded."""

    stiffness: float
    rest: float


@dataclass
class Joint:
    """A joint with its drive from the file: `gear_ratio`, `rotor_inertia`. `at` is its position in the file."""

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
    second: Vector = (0.0, 1.0, 0.0)
    """Second axis of a universal joint, in the joint's frame."""
    pitch: float = 0.0
    """Displacement of a screw per turn [m]."""
    driven: bool = False
    """True if an actuator acts on the joint, for ball joints in MJCF and joints with a transmission in URDF."""
    passive: bool = False
    """True for a joint without a motor."""
    spherical: bool = False
    """True for a ball joint with a quaternion, see `compounds`."""

    @property
    def moves(self) -> bool:
        """True if the joint has coordinates that are read."""
        return self.spherical or self.kind in ("revolute", "continuous", "prismatic")

    @property
    def axes(self) -> np.ndarray:
        """Unit vectors about or along which the joint moves, (1, 3), or (3, 3) for a ball joint with a quaternion."""
        return np.eye(3) if self.spherical else np.array([self.axis])


@dataclass(frozen=True)
class Thrust:
    """An actuator that pushes or turns a link: its point in the link frame [m], its unit vector and its limits.

    `name` is the name in the file, and `at` is the position in the file.
    """

    name: str
    link: str
    place: Vector
    direction: Vector
    turns: bool
    effort: float | None
    at: str


@dataclass(frozen=True)
class Rope:
    """A cable through points of links.

    Attributes
    ----------
    name : the name in the file
    points : the link and the place in its frame [m] of each point
    numbers : fields of the `Cable`
    at : the position in the file
    """

    name: str
    points: tuple[tuple[str, Vector], ...]
    numbers: dict[str, Any]
    at: str


@dataclass(frozen=True)
class Loop:
    """A joint that closes a loop, between two links that other joints already connect.

    Attributes
    ----------
    name : the name in the file, or "" if it has none
    kind : the joint of the `Closure`
    ends : two links, and the frame of the joint in the frame of each
    axis : the axis in the joint's frame on the first link
    axis_to : the axis in the joint's frame on the second link
    at : the position in the file
    """

    name: str
    kind: str
    ends: tuple[tuple[str, Place], tuple[str, Place]]
    axis: Vector
    axis_to: Vector
    at: str


@dataclass
class Robot:
    """A robot: its links by name, its joints, and the parts of the file that were not understood.

    A link has its inertia, None if it has none, or the `Fault` of the inertia in the file. This fault ends the reading
    if the link moves.

    Attributes
    ----------
    format : name of the file's format in messages
    root : the link that no joint moves
    world : True if the root is the world, which may carry objects that are not part of a robot
    gravity : acceleration of gravity in the root frame [m/s^2]
    thrusts : actuators that act on links instead of joints
    ropes : cables through points of links
    loops : joints that close loops
    strange : lines on elements that are not understood
    aside : lines on elements without effect on the motion
    notes : lines on decisions of the reader
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
    ropes: list[Rope] = field(default_factory=list)
    loops: list[Loop] = field(default_factory=list)

    def below(self, link: str) -> list[Joint]:
        """Return the joints on a link, in the order of the file."""
        return self._on.get(link, [])

    def outward(self, root: str) -> list[str]:
        """Return a link and the links that it carries, each after its parent, complete branches in the order of the
        file."""
        found, waiting = [], [root]
        while waiting:
            link = waiting.pop()
            found.append(link)
            waiting += [joint.child for joint in reversed(self.below(link))]
        return found

    def above(self, link: str) -> Joint | None:
        """Return the joint that carries a link, or None for the root."""
        return self._under.get(link)

    def __post_init__(self) -> None:
        self._on: dict[str, list[Joint]] = {}
        for joint in self.joints.values():
            self._on.setdefault(joint.parent, []).append(joint)
        self._under = {joint.child: joint for joint in self.joints.values()}
