"""Joints with several coordinates or motions. An arm stores such a joint as a chain of links with simple joints.

The links before the last one have no mass. Their names are the name of the link with a number: "wrist_1", "wrist_2".
A ball joint with a quaternion remains one joint.
"""

from collections.abc import Mapping, Sequence
from math import pi
from typing import Annotated, Any, ClassVar, Literal, Self, final

import numpy as np
from pydantic import BeforeValidator, model_validator

from flexarm.checks import (
    NOT_NEGATIVE,
    NOT_ZERO,
    Fault,
    Vector,
    checked_list,
    counted,
    flag,
    number,
    shown,
    unit_vector,
)
from flexarm.description.bodies import Body, Frame
from flexarm.description.gears import Gear
from flexarm.description.joints import Driven, Joint, Prismatic, Revolute
from flexarm.description.links import Link, Pose
from flexarm.errors import DescriptionError

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
Motions = tuple[tuple[type[Revolute | Prismatic], Vector], ...]
"""Kind and axis of the joint of each coordinate."""
PARALLEL = 1e-6
"""Smallest sine of the angle between two axes."""


def _tables(value: object) -> Any:
    for i, each in enumerate(found := checked_list(value, "a list of tables")):
        if not isinstance(each, Mapping):
            raise Fault(f"[{i}]", f"is {shown(each)}; it must be a table of drive parameters, see Driven")
    return tuple(dict(each) for each in found)


def _axes(value: object) -> Any:
    found = checked_list(value, "a list of axes")
    if len(found) != 2:
        raise Fault("", f"has {counted(len(found), 'entry')}; it must have two axes")
    return tuple(found)


class Compound(Joint):
    """Base class of joints that an arm stores as a chain of links with simple joints, except a spherical one.

    Parameters
    ----------
    drives : list of dict, optional
        Parameters of the drive of each coordinate, for example [{"damping": 0.1}, {"damping": 0.2}]. `Driven` lists
        these parameters.
    passive : bool
        True for a joint without actuators.
    """

    moves: ClassVar[bool] = False
    drives: Annotated[tuple[dict[str, Any], ...], BeforeValidator(_tables)] = ()
    passive: Annotated[bool, flag] = False

    @property
    def motions(self) -> Motions:
        """Kind and axis of the joint of each coordinate, from the carrier outward."""
        raise NotImplementedError

    @property
    def direction(self) -> Vector:
        """Zero vector, because the joint has no single axis."""
        return (0.0, 0.0, 0.0)

    @model_validator(mode="after")
    def _parts_are_possible(self) -> Self:
        if self.drives and len(self.drives) != len(self.motions):
            must = f"the joint has {counted(len(self.motions), 'coordinate')}"
            raise Fault("drives", f"has {counted(len(self.drives), 'table')}; {must}")
        for i in range(len(self.motions)):
            try:
                self._driven(i)
            except DescriptionError as error:
                raise Fault(f"drives[{i}]", f"is wrong: {error}") from None
        return self

    def _driven(self, i: int) -> Driven:
        """Return the joint of a coordinate."""
        kind, axis = self.motions[i]
        given = {"passive": self.passive} | (self.drives[i] if self.drives else {})
        return kind(axis=axis, **given)

    def joints(self, name: str) -> tuple[Joint, ...]:
        """Return the simple joints that replace the joint of the link `name`, from the carrier outward."""
        return tuple(self._driven(i) for i in range(len(self.motions)))

    def check(self, body: Body) -> None:
        """Raise `Fault` if the joint cannot carry the body."""
        for joint in self.joints("link"):
            joint.check(body)


@final
class Universal(Compound):
    """A universal joint (Hooke, Cardan): rotations about an axis of the carrier and about an axis that turns with it.

    A link "wrist" becomes the links "wrist_1", without mass, and "wrist". The coordinates are "wrist_1.joint" and
    "wrist.joint".

    Parameters
    ----------
    axes : (2, 3)
        Unit vectors of both axes in the joint frame, at zero angles.
    drives, passive
        Parameters of the drives, see `Compound`.
    """

    type: Literal["universal"] = "universal"
    axes: Annotated[tuple[Annotated[Vector, unit_vector], Annotated[Vector, unit_vector]], BeforeValidator(_axes)] = (
        X,
        Y,
    )

    @property
    def motions(self) -> Motions:
        """Kinds and axes of two rotations."""
        return tuple((Revolute, axis) for axis in self.axes)

    @model_validator(mode="after")
    def _axes_differ(self) -> Self:
        if float(np.linalg.norm(np.cross(*self.axes))) < PARALLEL:
            raise Fault("axes", f"are {self.axes}, which are parallel; a universal joint turns about two directions")
        return self


@final
class Ball(Compound):
    """A ball joint: the link turns in all directions. The joint is passive unless it has `angles`.

    The four coordinates of a link "hip" are the unit quaternion "hip.qw", "hip.qx", "hip.qy", "hip.qz" that turns
    vectors of the link's frame into the joint frame. Its three rates are the angular velocity relative to the carrier,
    along the axes of the link: "hip.wx", "hip.wy", "hip.wz" [rad/s].

    With `angles`, the coordinates are three angles about x, y and z, one after the other (Cardan angles). Then the link
    becomes the links "hip_1" and "hip_2", without mass, and "hip", and each joint can have a motor, springs and stops.
    The coordinates are "hip_1.joint", "hip_2.joint" and "hip.joint". Keep the second angle between -90 and 90 degrees.
    At 90 degrees the first and the third axis are parallel, and the equations of motion have no unique solution. Near
    90 degrees the solver takes short steps, and a run may end with an error that names these joints. Turn the joint
    frame (`placement`) so that large motions are about its x or z axis.

    Parameters
    ----------
    damping : float
        Moment per angular velocity [N m s/rad], for a joint without `angles`.
    angles : bool
        True for three angles instead of a quaternion.
    drives, passive
        Parameters of the drives, see `Compound`, for a joint with `angles`. A ball joint is passive by default.
    """

    type: Literal["ball"] = "ball"
    damping: Annotated[float, number("N m s/rad", NOT_NEGATIVE)] = 0.0
    angles: Annotated[bool, flag] = False
    passive: Annotated[bool, flag] = True

    @model_validator(mode="after")
    def _parameters_fit(self) -> Self:
        if self.angles and self.damping:
            raise Fault("damping", "is for a joint without angles; give the damping of each angle in drives")
        if not self.angles and self.drives:
            raise Fault("drives", "are for a joint with angles: add angles = true")
        if not self.angles and not self.passive:
            raise Fault("passive", "is false, but only a joint with angles can have motors: add angles = true")
        return self

    @property
    def spherical(self) -> bool:
        """True if the joint has a quaternion and three rates."""
        return not self.angles

    @property
    def direction(self) -> Vector:
        """The z axis of the joint frame, along which the joint is drawn. It turns about all axes."""
        return Z

    @property
    def swivel_damping(self) -> float:
        """Damping of the angular velocity of a spherical joint [N m s/rad]."""
        return self.damping

    @property
    def motions(self) -> Motions:
        """Kinds and axes of three rotations."""
        return tuple((Revolute, axis) for axis in (X, Y, Z))


@final
class Planar(Compound):
    """A planar joint: translations along two directions of a plane, then a rotation about its normal.

    A link "foot" becomes the links "foot_1" and "foot_2", without mass, which slide, and "foot", which turns.

    Parameters
    ----------
    normal : (3,)
        Unit vector in the joint frame. For the normal z, the translations are along x and y.
    drives, passive
        Parameters of the drives, see `Compound`.
    """

    type: Literal["planar"] = "planar"
    normal: Annotated[Vector, unit_vector] = Z

    @property
    def motions(self) -> Motions:
        """Kinds and axes of two translations and a rotation."""
        n = np.array(self.normal)
        first = np.roll(np.eye(3)[int(np.argmax(np.abs(n)))], 1)
        first = first - (first @ n) * n
        first /= np.linalg.norm(first)
        second = np.cross(n, first)
        return (
            (Prismatic, tuple(first.tolist())),
            (Prismatic, tuple((second / np.linalg.norm(second)).tolist())),
            (Revolute, self.normal),
        )


@final
class Screw(Compound):
    """A screw joint: a rotation about an axis, with a translation along this axis in proportion to the angle.

    A link "nut" becomes the links "nut_1", without mass, and "nut". "nut_1" slides and follows the rotation of "nut"
    (`Gear`). The only coordinate is the angle "nut.joint".

    Parameters
    ----------
    axis : (3,)
        Unit vector in the joint frame.
    pitch : float
        Displacement along the axis per turn [m], positive for a right-handed screw.
    drives, passive
        Parameters of the drive, see `Compound`. `drives` has one entry.
    """

    type: Literal["screw"] = "screw"
    axis: Annotated[Vector, unit_vector] = Z
    pitch: Annotated[float, number("m", NOT_ZERO)]

    @property
    def motions(self) -> Motions:
        """Kind and axis of the rotation, which the translation follows."""
        return ((Revolute, self.axis),)

    def joints(self, name: str) -> tuple[Joint, ...]:
        """Return the translation that follows the rotation, and the rotation."""
        slide = Gear(joint=Prismatic(axis=self.axis), follows=name, ratio=self.pitch / (2 * pi))
        return slide, self._driven(0)


def expanded(links: Sequence[Link]) -> tuple[Link, ...]:
    """Return the links, with a chain of simple joints in place of each `Compound`."""
    found = []
    for link in links:
        if not isinstance(link.joint, Compound) or link.joint.spherical:
            found.append(link)
            continue
        *inner, last = link.joint.joints(link.name)
        for i, joint in enumerate(inner, start=1):
            where = {"parent": link.parent, "at": link.at, "placement": link.placement} if i == 1 else {}
            found.append(Link(name=f"{link.name}_{i}", joint=joint, body=Frame(), **where))
        inside = {"parent": f"{link.name}_{len(inner)}", "at": 1.0, "placement": Pose()}
        found.append(link.replace(joint=last, **inside))
    return tuple(found)
