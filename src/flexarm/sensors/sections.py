"""Sensors at the tip, a section of a link or a free base: position, clearance, velocity, acceleration, attitude."""

from typing import Annotated, Any, ClassVar, Literal, final

import numpy as np
from pydantic import BeforeValidator

from flexarm import checks
from flexarm.checks import (
    NOT_NEGATIVE,
    SHARE,
    Fault,
    checked_instance,
    checked_list,
    checked_number,
    counted,
    number,
    refused,
    shown,
)
from flexarm.description.arm import Arm
from flexarm.description.joints import Telescope
from flexarm.description.obstacles import checked_obstacle
from flexarm.description.tree import BASE
from flexarm.errors import DescriptionError
from flexarm.model import signal
from flexarm.quaternions import rotation
from flexarm.sensors.places import place
from flexarm.sensors.sampling import Sampling


def _axes(value: object) -> str:
    if not isinstance(value, str) or not value or set(value) - set("xyz") or len(set(value)) < len(value):
        raise Fault("", f"is {shown(value)}; it must be some of x, y, z, each once, such as 'xy'")
    return value


def _quaternion(value: object) -> tuple[float, ...]:
    items = checked_list(value, "a list of four numbers")
    if len(items) != 4:
        raise Fault("", f"has {counted(len(items), 'number')}; a quaternion has four")
    e = [checked_number(item, part=f"[{i}]") for i, item in enumerate(items)]
    size = float(np.linalg.norm(e))
    if not abs(size - 1.0) < 1e-6:
        raise Fault("", f"is {shown(value)}, of length {size:.6g}; it must be a unit quaternion")
    return tuple(e) if abs(size - 1.0) < checks.ROUNDING else tuple(x / size for x in e)


Axes = Annotated[str, BeforeValidator(_axes)]


class _AtSection(Sampling):
    """A sensor at a section of a link."""

    link: Annotated[str | None, checks.optional_text] = None
    at: Annotated[float, number("", SHARE)] = 1.0

    def section(self, arm: Arm) -> tuple[str, int]:
        """Name of the section, and the index of its link, -1 for a free base."""
        with refused(type(self).__name__):
            checked_instance(arm, Arm, "arm")
        if self.link is None:
            self._at_tip_where(self.at == 1.0, "it must be 1 without a link, for the tip of the arm")
            return "tip", arm.tip_link
        if self.link == BASE and arm.free:
            self._at_tip_where(self.at == 1.0, "it must be 1 for the base, which has no stations")
            return BASE, -1
        i = place(self, self.link, arm, based=True)
        telescope = isinstance(arm.links[i].joint, Telescope)
        self._at_tip_where(self.at == 1.0 or not telescope, "it must be 1 for a telescope, for its tip")
        return self.link, i

    def _at_tip_where(self, fits: bool, why: str) -> None:
        if not fits:
            raise DescriptionError(f"{type(self).__name__}: at is {self.at}; {why}")

    def station(self, arm: Arm, chain: Any, q: list, qd: list) -> Any:
        """Frame and twist of the section at a state."""
        from flexarm.mechanics.stations import station

        return station(chain, self.section(arm)[1], self.at, q, qd)

    def _position(self, arm: Arm, chain: Any, q: list, qd: list) -> list:
        """Position of the section at a state, in the base frame, or in the world if the base is free."""
        if self.link is None:
            from flexarm.mechanics.dynamics import frames

            return frames(chain, q)[-1].p
        return self.station(arm, chain, q, qd).frame.p


class _OfSection(_AtSection):
    """A sensor at a section of a link, along some axes."""

    axes: Axes = "xyz"
    quantity: ClassVar[str]
    """Text between the section and the axis in the name of a signal, such as "_velocity" in `tip_velocity_x`."""
    unit: ClassVar[str]

    def names(self, arm: Arm) -> tuple[str, ...]:
        """Return `tip_x`, `tip_y`, `tip_z`; `base_x`, `upper_velocity_x`."""
        where, _ = self.section(arm)
        return tuple(f"{self.name or signal(f'{where}{self.quantity}')}_{axis}" for axis in self.axes)

    def units(self, arm: Arm) -> tuple[str, ...]:
        """Return the unit of every axis."""
        return (self.unit,) * len(self.axes)

    def _chosen(self, vector: list) -> list:
        """Return the components along the axes of the sensor."""
        return [vector["xyz".index(axis)] for axis in self.axes]


@final
class TipPosition(_OfSection):
    """Position of the arm's tip, a section of a link, or a free base, in the base frame, or in the world if that is
    free [m].

    Parameters
    ----------
    axes : str
        Axes of the base frame, such as "xy".
    link : str, optional
        Default: the tip of the arm. "base": the origin of a free base.
    at : float
        Station along the link, from 0 to 1 of its length; on a telescope, only 1.
    """

    type: Literal["tip-position"] = "tip-position"
    axes: Axes = "xyz"
    quantity: ClassVar[str] = ""
    unit: ClassVar[str] = "m"

    def expression(self, arm: Arm, chain: Any, q: list, qd: list, qdd: list) -> list:
        """Return the chosen components."""
        return self._chosen(self._position(arm, chain, q, qd))


def _one_obstacle(value: object) -> Any:
    obstacle = checked_obstacle(value)
    if obstacle.links is not None:
        raise Fault("links", "does not apply to a sensor, which has one point; leave it out and give link")
    return obstacle


@final
class Clearance(_AtSection):
    """Distance of the arm's tip, or of a section of a link, from an obstacle [m], negative inside the obstacle.

    `Predictive(outputs=[Clearance(...)], bounds=[[margin, inf]])` keeps the distance above a margin.

    Parameters
    ----------
    obstacle : Sphere, Plane or table
        A sphere {center, radius} or a plane {point, normal}, in the base frame, or in the world if the base is free;
        see `flexarm.description.obstacles`.
    link : str, optional
        Default: the tip of the arm.
    at : float
        Station along the link, from 0 to 1 of its length; on a telescope, only 1.
    radius : float
        Radius of the arm at this point [m], which is subtracted from the distance; default 0.

    Notes
    -----
    The distance from a plane is n'(p - p0) - radius. The distance from a sphere of radius R is |p - c| - R - radius. It
    has no slope at the centre, so it is computed as sqrt(|p - c|^2 + b^2) - sqrt(R'^2 + b^2), with R' = R + radius
    and b = 0.001 R'. This is exact at the surface, and outside the error is below 5e-7 R'.
    """

    type: Literal["clearance"] = "clearance"
    obstacle: Annotated[Any, BeforeValidator(_one_obstacle)]
    radius: Annotated[float, number("m", NOT_NEGATIVE)] = 0.0

    def names(self, arm: Arm) -> tuple[str, ...]:
        """Return one signal: `tip_clearance`, `upper_clearance`."""
        where, _ = self.section(arm)
        return (self.name or signal(f"{where}_clearance"),)

    def units(self, arm: Arm) -> tuple[str, ...]:
        """Return [m]."""
        return ("m",)

    def expression(self, arm: Arm, chain: Any, q: list, qd: list, qdd: list) -> list:
        """Return the distance."""
        import casadi as ca

        from flexarm.mechanics.obstacles import point_clearance

        p = ca.SX(ca.vertcat(*self._position(arm, chain, q, qd)))
        return [point_clearance(p, self.obstacle, self.radius)]


@final
class TipVelocity(_OfSection):
    """Velocity of the arm's tip, a section of a link, or a free base [m/s].

    Parameters
    ----------
    axes : str
        Such as "xy".
    frame : "base" or "tip"
        Frame of the axes: the base frame, or the world if the base is free; or the section's own frame.
    link : str, optional
    at : float
        As in a `TipPosition`.
    """

    type: Literal["tip-velocity"] = "tip-velocity"
    axes: Axes = "xyz"
    frame: Literal["base", "tip"] = "base"
    quantity: ClassVar[str] = "_velocity"
    unit: ClassVar[str] = "m/s"

    def expression(self, arm: Arm, chain: Any, q: list, qd: list, qdd: list) -> list:
        """Return the chosen components."""
        from flexarm.mechanics.spatial import product

        frame, twist = self.station(arm, chain, q, qd)
        v = product(frame.R, twist[:3]) if self.frame == "base" else twist[:3]
        return self._chosen(v)


@final
class Accelerometer(_OfSection):
    """Acceleration of the arm's tip, a section of a link, or a free base [m/s^2].

    Parameters
    ----------
    axes : str
        Such as "xy".
    frame : "tip" or "base"
        Frame of the axes: that of the section (at the tip, the payload frame), which turns with it; or the base frame,
        the world if the base is free.
    gravity : bool
        True (default): acceleration minus gravity, which an accelerometer measures: at rest it reads the supporting
        acceleration. False: acceleration alone.
    link : str, optional
        Default: the tip of the arm. "base": the origin of a free base.
    at : float
        Station along the link, from 0 to 1 of its length; on a telescope, only 1.
    """

    type: Literal["accelerometer"] = "accelerometer"
    axes: Axes = "xyz"
    frame: Literal["tip", "base"] = "tip"
    gravity: Annotated[bool, checks.flag] = True
    quantity: ClassVar[str] = "_acceleration"
    unit: ClassVar[str] = "m/s^2"

    def expression(self, arm: Arm, chain: Any, q: list, qd: list, qdd: list) -> list:
        """Return dv/dt + w x v along the section's axes, minus R' g."""
        from flexarm.mechanics.spatial import added, product, scaled, transposed
        from flexarm.mechanics.stations import acceleration

        frame, a = acceleration(chain, self.section(arm)[1], self.at, q, qd, qdd)
        if self.gravity:
            a = added(a, scaled(-1.0, product(transposed(frame.R), chain.gravity)))
        if self.frame == "base":
            a = product(frame.R, a)
        return self._chosen(a)


@final
class Gyroscope(_OfSection):
    """Angular velocity of the arm's tip, a section of a link, or a free base, along its own axes [rad/s].

    Parameters
    ----------
    link : str, optional
        Default: the tip of the arm. "base": a free base.
    at : float
        Station along the link, from 0 to 1 of its length; on a telescope, only 1.
    axes : str
        Such as "xy".
    """

    type: Literal["gyroscope"] = "gyroscope"
    axes: Axes = "xyz"
    quantity: ClassVar[str] = "_turning"
    unit: ClassVar[str] = "rad/s"

    def expression(self, arm: Arm, chain: Any, q: list, qd: list, qdd: list) -> list:
        """Return the chosen components."""
        w = self.station(arm, chain, q, qd).twist[3:]
        return self._chosen(w)


@final
class StarTracker(_OfSection):
    """Attitude of a free base, or of a section of a link: the rotation vector from a reference [rad].

    The reading has three numbers, the rotation's axis times its angle, along the axes of the reference. Near the
    reference they are the angles about these axes, each with its own noise. The four numbers of a quaternion would
    depend on each other, and two quaternions would stand for the same attitude. The numbers jump at half a turn from
    the reference. `flexarm.quaternions.quaternion` returns the quaternion of a rotation vector.

    Parameters
    ----------
    link : str, optional
        Default "base", a free base. None: the tip of the arm.
    at : float
        Station along the link, from 0 to 1 of its length; on a telescope, only 1.
    reference : (4,)
        Quaternion (w, x, y, z) that turns the reference's axes into the world's (the base frame's, if that is not
        free). Default: those axes themselves.
    axes : str
        Such as "z": one of the three numbers alone.
    """

    type: Literal["star-tracker"] = "star-tracker"
    axes: Axes = "xyz"
    link: Annotated[str | None, checks.optional_text] = BASE
    reference: Annotated[tuple[float, ...], BeforeValidator(_quaternion)] = (1.0, 0.0, 0.0, 0.0)
    quantity: ClassVar[str] = "_attitude"
    unit: ClassVar[str] = "rad"

    def expression(self, arm: Arm, chain: Any, q: list, qd: list, qdd: list) -> list:
        """Return the chosen components."""
        from flexarm.mechanics.links import turn_of
        from flexarm.mechanics.spatial import dot, transposed

        R = transposed(self.station(arm, chain, q, qd).frame.R)
        away = [[dot(axis, column) for column in R] for axis in rotation(np.array(self.reference)).T.tolist()]
        turn = turn_of(away)
        return self._chosen(turn)
