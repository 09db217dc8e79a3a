"""Description of a link: a joint, the body that it moves, their place, a hub and a payload."""

from math import cos, sin
from typing import Annotated, Self, final

import numpy as np
from pydantic import BeforeValidator, Field, model_validator

from flexarm import checks
from flexarm.checks import NOT_NEGATIVE, POSITIVE, Described, Fault, Inertia, Vector, kind, number, vector
from flexarm.description.bodies import Body
from flexarm.description.joints import Joint, Revolute, Telescope


@final
class Pose(Described):
    """A constant position and orientation of a frame.

    Parameters
    ----------
    xyz : (3,)
        Position of the origin [m].
    rpy : (3,)
        Roll, pitch and yaw angles [rad]. The rotation is Rz(yaw) Ry(pitch) Rx(roll).
    """

    xyz: Annotated[Vector, vector("m")] = (0.0, 0.0, 0.0)
    rpy: Annotated[Vector, vector("rad")] = (0.0, 0.0, 0.0)

    @property
    def rotation(self) -> np.ndarray:
        """Rotation matrix, (3, 3), whose columns are the axes of the placed frame."""
        (cr, cp, cy), (sr, sp, sy) = map(cos, self.rpy), map(sin, self.rpy)
        return np.array(
            [
                [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
                [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
                [-sp, cp * sr, cp * cr],
            ]
        )


# -- the arm -----------------------------------------------------------------------------------------------------------


LOADED: checks.Rule = ("positive; leave out the payload if there is none", POSITIVE[1])
"""Rule of a payload's mass."""


@final
class Payload(Described):
    """Payload of a link, with its centre of mass at the tip.

    Parameters
    ----------
    mass : float
        Mass [kg].
    inertia : float, (3,) or (3, 3)
        Moments of inertia about the tip [kg m^2].
    """

    mass: Annotated[float, number("kg", LOADED)]
    inertia: Annotated[Inertia, checks.inertia] = 0.0


def _some_joint(value: object) -> object:
    """Return a joint that is not None."""
    if value is None:
        raise Fault("", "is None; use Fixed() for a rigid connection, or leave it out for a Revolute")
    return value


def placed(value: object, allowed: str) -> object:
    """Return a station from 0 to 1, or a pose. A message says what else is `allowed`."""
    if isinstance(value, Pose):
        return value
    if isinstance(value, dict):
        return checks.faulted(Pose, value)
    return checks.checked_number(value, "", (f"from 0 to 1, or {allowed}", _on_link))


def _on_link(x: float) -> bool:
    return 0.0 <= x <= 1.0


def _placed(value: object) -> object:
    return placed(value, "a pose in the base frame of the link")


@final
class Link(Described):
    """A joint and the body it moves.

    Parameters
    ----------
    name : str
        Name of the link, which begins the names of its coordinates, without dots and spaces.
    joint : Revolute, Prismatic, Telescope, Fixed, Gear, Universal, Ball, Planar or Screw
        Joint that moves the body.
    body : Beam, Rigid, FiniteElement or Frame
        Body that the joint moves.
    placement : Pose
        Pose of the joint frame in the frame that carries it: that of the section `at` of the parent, or that of the
        base.
    parent : str, optional
        Link that carries the joint, or "base". Default: the previous link in the list, and the base for the first link.
    at : float or Pose
        Place on the parent: a station from 0 to 1 of its length (default: its tip), or a pose in its base frame.
    payload : Payload, optional
        Payload of the link at its tip.
    hub_mass : float
        Point mass on the joint, at the origin of the body [kg].
    hub_inertia : float, (3,) or (3, 3)
        Moments of inertia of the hub about the origin of the body [kg m^2].
    """

    name: Annotated[str, checks.label]
    joint: Annotated[Joint, kind(Joint), BeforeValidator(_some_joint)] = Field(default_factory=Revolute)
    body: Annotated[Body, kind(Body)]
    placement: Pose = Field(default_factory=Pose)
    hub_mass: Annotated[float, number("kg", NOT_NEGATIVE)] = 0.0
    hub_inertia: Annotated[Inertia, checks.inertia] = 0.0
    parent: Annotated[str | None, checks.optional_text] = None
    at: Annotated[float | Pose, BeforeValidator(_placed)] = 1.0
    payload: Payload | None = None

    @model_validator(mode="after")
    def _joint_fits_body(self) -> Self:
        self.joint.check(self.body)
        return self

    @property
    def free_length(self) -> float | None:
        """Nominal free length of a telescope [m], as given or by default. None for other joints."""
        return self.joint.rest(self.body) if isinstance(self.joint, Telescope) else None

    @property
    def elastic(self) -> bool:
        """True if the joint is elastic, so that the motor has its own coordinate."""
        return self.joint.elastic

    def rigid(self) -> "Link":
        """Return the same link with a rigid rod in place of a beam, and with a rigid transmission.

        A telescope keeps its joint, and its beam has no modes.
        """
        return self.replace(joint=self.joint.rigid(), body=self.joint.rigid_body(self.body))
