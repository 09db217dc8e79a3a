"""Free base, such as a satellite bus, an orbiter or a torso in a tank, with its thrusters and its orbit."""

from typing import Annotated, ClassVar, Literal, Self, final

import numpy as np
from pydantic import model_validator

from flexarm import checks
from flexarm.checks import (
    FINITE,
    POSITIVE,
    Described,
    Fault,
    Inertia,
    Vector,
    number,
    shown,
    tensor,
    unit_vector,
    vector,
)
from flexarm.description.outside import Base

POSE = tuple(f"base.{name}" for name in ("x", "y", "z", "qw", "qx", "qy", "qz"))
"""Coordinates of a free base: its position in the world, and the unit quaternion that turns vectors of its frame into
the world frame."""
POSE_UNITS = ("m",) * 3 + ("1",) * 4
TWIST = tuple(f"base.{name}" for name in ("vx", "vy", "vz", "wx", "wy", "wz"))
"""Rates of a free base: velocity and angular velocity along its own axes."""
TWIST_UNITS = ("m/s",) * 3 + ("rad/s",) * 3
AT_ORIGIN = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)
QUATERNION, SWIVEL = ("qw", "qx", "qy", "qz"), ("wx", "wy", "wz")
"""Coordinates and rates of a ball joint: the unit quaternion that turns vectors of the link's frame into the joint
frame, and the angular velocity relative to the carrier, along the link's axes."""


@final
class Thruster(Described):
    """An actuator on a free base: a force along a fixed line of the base, or a torque. Its input is named "base.NAME".

    Parameters
    ----------
    name : str
        Name of its input after "base.", without dots and spaces.
    direction : (3,)
        Unit vector of the force or of the torque, along the axes of the base.
    at : (3,)
        Point on the line of the force in the base frame [m]. A torque has none.
    kind : "force" or "torque"
        Kind of load.
    """

    name: Annotated[str, checks.label]
    direction: Annotated[Vector, unit_vector]
    at: Annotated[Vector, vector("m")] = (0.0, 0.0, 0.0)
    kind: Literal["force", "torque"] = "force"

    @model_validator(mode="after")
    def _has_its_place(self) -> Self:
        if self.kind == "torque" and any(self.at):
            raise Fault("at", f"is {self.at}; a torque has no point of application: leave it out")
        return self

    @property
    def unit(self) -> str:
        """Unit of the input: N or N m."""
        return "N" if self.kind == "force" else "N m"


@final
class Orbit(Described):
    """Gravity gradient on a circular orbit: gravity is stronger closer to the centre of attraction.

    The world's origin moves along the orbit, and the world's axes keep their directions among the stars. To first order
    in the position x over the orbit's radius, the acceleration of gravity is n^2 (3 r r' - 1) x. Here r is the unit
    vector away from the centre of attraction (Hill 1878; Hughes 1986 chapter 8), and r turns about `normal`. The angle
    of r is a state, "base.orbit" [rad], which is 0 at the start of a run.

    Parameters
    ----------
    rate : float
        Orbital rate n [rad/s]: sqrt(mu / R^3), or 1.13e-3 at 400 km above the Earth.
    radial : (3,)
        Unit vector away from the centre of attraction at the start, along the axes of the world.
    normal : (3,)
        Unit vector perpendicular to `radial`, about which `radial` turns.
    """

    rate: Annotated[float, number("rad/s", FINITE)]
    radial: Annotated[Vector, unit_vector] = (1.0, 0.0, 0.0)
    normal: Annotated[Vector, unit_vector] = (0.0, 0.0, 1.0)

    states: ClassVar[tuple[tuple[str, str], ...]] = (("orbit", "rad"),)

    @model_validator(mode="after")
    def _is_a_plane(self) -> Self:
        if abs(float(np.dot(self.radial, self.normal))) > 1e-6:
            raise Fault("normal", f"is {self.normal}; it must be perpendicular to radial, {self.radial}")
        return self


@final
class FreeBase(Base):
    """A free base: a rigid body that carries the arms.

    Its coordinates come first in q: `base.x`, `y`, `z`, the position of its frame in the world [m], and `base.qw`,
    `qx`, `qy`, `qz`, the unit quaternion that turns vectors of its frame into the world frame. Its rates come first in
    qd, along its own axes: `base.vx`, `vy`, `vz` [m/s] and `base.wx`, `wy`, `wz` [rad/s]. The arm's `gravity` is a
    vector of the world frame.

    Parameters
    ----------
    mass : float
        Mass [kg].
    com : (3,)
        Centre of mass in the base frame [m].
    inertia : float, (3,) or (3, 3)
        Moments of inertia about the centre of mass [kg m^2].
    thrusters : list of Thruster
        Actuators on the base. Reaction wheels are links on the base, see `reaction_wheel`.
    orbit : Orbit, optional
        Circular orbit, for the gravity gradient about the world's origin.
    """

    type: Literal["free"] = "free"
    mass: Annotated[float, number("kg", POSITIVE)]
    com: Annotated[Vector, vector("m")] = (0.0, 0.0, 0.0)
    inertia: Annotated[Inertia, checks.inertia]
    thrusters: Annotated[tuple[Thruster, ...], checks.list_of("thrusters")] = ()
    orbit: Orbit | None = None

    free: ClassVar[bool] = True

    @model_validator(mode="after")
    def _can_turn(self) -> Self:
        smallest = float(min(np.linalg.eigvalsh(tensor(self.inertia))))
        if not smallest > 0.0:
            raise Fault("inertia", f"is {shown(self.inertia)}; it must be positive about every axis of a free base")
        names = [thruster.name for thruster in self.thrusters]
        taken = (*POSE, *TWIST, *(f"base.{state}" for state, _ in (self.orbit.states if self.orbit else ())))
        for i, name in enumerate(names):
            if name in names[:i] or f"base.{name}" in taken:
                raise Fault(
                    f"thrusters[{i}].name", f"is {name!r}, which is already in use; give each thruster a different name"
                )
        return self
