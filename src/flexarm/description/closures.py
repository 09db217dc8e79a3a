"""Connections of a link to another link, or to the base, in addition to the tree: by a joint, or by springs."""

from typing import Annotated, Any, Literal, Self, final

import numpy as np
from pydantic import BeforeValidator, model_validator

from flexarm import checks
from flexarm.checks import Described, Fault, Vector, optional_unit_vector, shown, three_numbers, unit_vector
from flexarm.description.links import Pose, placed
from flexarm.description.tree import BASE
from flexarm.errors import DescriptionError


def _placed(value: object) -> Any:
    """Return a station from 0 to 1, or a pose, which may be given by its position alone."""
    if isinstance(value, list | tuple | np.ndarray):
        value = {"xyz": value}
    return None if value is None else placed(value, "a position (3,), or a pose")


class Connection(Described):
    """Two frames that are connected: one on a link, the other on another link or on the base."""

    name: Annotated[str, checks.title]
    link: Annotated[str, checks.text]
    at: Annotated[float | Pose, BeforeValidator(_placed)] = 1.0
    to: Annotated[str, checks.text] = BASE
    place: Annotated[float | Pose | None, BeforeValidator(_placed)] = None

    @model_validator(mode="after")
    def _has_two_ends(self) -> Self:
        if self.to == self.link:
            kind = type(self).__name__.lower()
            raise Fault("to", f"is {self.to!r}, the link itself; a {kind} connects two different links")
        if self.to == BASE and isinstance(self.place, float):
            raise Fault("place", f"is {shown(self.place)}; the base has no length: give a position (3,) or a pose")
        return self

    @property
    def end(self) -> float | Pose:
        """Second frame: a station of the link `to`, or a pose."""
        return (Pose() if self.to == BASE else 1.0) if self.place is None else self.place


@final
class Closure(Connection):
    """A joint that closes a loop: it connects a link to another link, or to the base.

    The joint has no coordinate. Its two frames are that of the section `at` of the link, and that of `place`. The
    motion of the tree is restricted so that both frames meet as the joint allows, see `joint`. Hinges of the tree
    without a motor are passive joints, `Revolute(passive=True)`.

    Parameters
    ----------
    name : str
        Name of the closure.
    link : str
        Name of the link that carries the first frame.
    at : float, (3,) or Pose
        First frame: the section at this station of the link, from 0 to 1 of its length (default: the tip), or a
        position or a pose in the base frame of the link. On a telescope only 1 is allowed.
    to : str
        Link that carries the second frame, or "base" (the default).
    place : float, (3,) or Pose, optional
        Second frame, on the link `to` as `at`, by default its tip; or a position or a pose in the frame of the base, by
        default its origin.
    joint : str
        Possible relative motion of the two frames:

        - "revolute": turns about `axis`. The origins coincide.
        - "ball": all rotations. The origins coincide.
        - "fixed": none. The frames coincide.
        - "prismatic": a slide along `axis`. The orientations are the same.
        - "planar": slides across `axis`, and turns about it.
        - "universal": turns about `axis` and about `axis_to`, which stay perpendicular. The origins coincide.
    axis : (3,)
        Axis of the joint in the first frame. It is ignored for "ball" and "fixed".
    axis_to : (3,), optional
        The same axis in the second frame, by default with the same components. For "universal" it is the second axis,
        in the second frame, and must be given.
    """

    joint: Literal["revolute", "ball", "fixed", "prismatic", "planar", "universal"] = "revolute"
    axis: Annotated[Vector, unit_vector] = (0.0, 0.0, 1.0)
    axis_to: Annotated[Vector | None, optional_unit_vector] = None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.joint == "universal" and self.axis_to is None:
            raise Fault("axis_to", "is missing; a universal joint has two axes: give the second one in the other frame")
        if self.axis_to is not None and self.joint not in ("revolute", "planar", "universal"):
            raise Fault(
                "axis_to", f"is given for joint = {self.joint!r}, which has no axis in the other frame: leave it out"
            )
        return self

    @property
    def conditions(self) -> int:
        """Number of conditions that the closure imposes on the relative pose of its frames."""
        return {"revolute": 5, "ball": 3, "fixed": 6, "prismatic": 5, "planar": 3, "universal": 4}[self.joint]


@final
class Bushing(Connection):
    """Springs and dampers between two frames, such as a rubber mount, a leaf spring or a compliant joint.

    Let p be the position of the second frame in the first frame. Let the second frame be turned by the angle a about
    the unit vector n. The springs have the potential energy

        1/2 (stiffness . p^2 + angular_stiffness . phi^2),    phi = 2 sin(a / 2) n

    with the squares of the components along the axes of the first frame. For small angles phi is the rotation vector
    a n. The moment against a rotation about one axis is angular_stiffness sin(a), which is largest at 90 degrees. The
    springs are unloaded where the frames coincide.

    Parameters
    ----------
    name : str
        Name of the bushing.
    link : str
        Name of the link that carries the first frame.
    at : float, (3,) or Pose
        First frame, as in `Closure`.
    to : str
        Link that carries the second frame, or "base" (the default).
    place : float, (3,) or Pose, optional
        Second frame, as in `Closure`.
    stiffness : float or (3,)
        Stiffness along the axes of the first frame [N/m]. One number applies to all three axes.
    angular_stiffness : float or (3,)
        Stiffness against rotation about these axes [N m/rad].
    damping : float or (3,)
        Viscous damping against the rate of p [N s/m].
    angular_damping : float or (3,)
        Viscous damping against the relative angular velocity [N m s/rad].
    """

    stiffness: Annotated[Vector, three_numbers("N/m")] = (0.0, 0.0, 0.0)
    angular_stiffness: Annotated[Vector, three_numbers("N m/rad")] = (0.0, 0.0, 0.0)
    damping: Annotated[Vector, three_numbers("N s/m")] = (0.0, 0.0, 0.0)
    angular_damping: Annotated[Vector, three_numbers("N m s/rad")] = (0.0, 0.0, 0.0)

    @model_validator(mode="after")
    def _acts(self) -> Self:
        if not any((*self.stiffness, *self.angular_stiffness, *self.damping, *self.angular_damping)):
            names = "stiffness, angular_stiffness, damping or angular_damping"
            raise Fault("stiffness", f"is missing; give {names}")
        return self


def refuse_closures(what: Any, where: str) -> None:
    """Raise `DescriptionError` if an arm, or the arm of a model or a chain, has closures that a function would ignore.

    What is none of these is left to later checks.
    """
    if closures := getattr(getattr(what, "arm", what), "closures", ()):
        names = ", ".join(repr(closure.name) for closure in closures)
        raise DescriptionError(f"{where} does not support closures yet: the arm has {names}; use closures=()")
