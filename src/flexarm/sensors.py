"""Sensors: what is measured of an arm, as outputs of the model, and what a real instrument would have read.

    outputs(model, [Encoder(coordinate="upper.drive"), StrainGauge(link="upper")]).values(q, qd, u)
    model.linearize(q, qd, u, outputs=[TipPosition(axes="xy")])
    sampled([Encoder(coordinate="upper.drive", sample_time=1e-3, resolution=1e-4)], model, result, seed=1)

A sensor is an expression in q, qd and qdd. Every one has four fields that say how it samples and do not change that
expression: `sample_time` [s], `resolution` and `noise` in the unit of its signals, and a `name` for its signals.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, final

import numpy as np
from pydantic import BeforeValidator

from flexarm import checks
from flexarm.attitude import rotation
from flexarm.checks import (
    NOT_NEGATIVE,
    NOT_ZERO,
    POSITIVE,
    SHARE,
    Described,
    Fault,
    checked_instance,
    checked_list,
    checked_number,
    checked_result,
    checked_whole,
    number,
    optional_number,
    refused,
    shown,
)
from flexarm.description.arm import Arm, Beam, Link
from flexarm.description.free import POSE, TWIST, TWIST_UNITS
from flexarm.description.joints import Telescope
from flexarm.description.tree import BASE
from flexarm.errors import DescriptionError
from flexarm.model import Model, Sensor, signal
from flexarm.model.evaluation import Evaluation

if TYPE_CHECKING:
    import casadi as ca
    from xarray import Dataset

Array = np.ndarray


def _axes(value: object) -> str:
    if not isinstance(value, str) or not value or set(value) - set("xyz") or len(set(value)) < len(value):
        raise Fault("", f"is {shown(value)}; it must be some of x, y, z, each once, as in 'xy'")
    return value


def _name(value: object) -> str | None:
    if value is not None and not (isinstance(value, str) and value.isidentifier()):
        raise Fault("", f"is {shown(value)}; it must be letters, digits and underscores")
    return value


def _quaternion(value: object) -> tuple[float, ...]:
    items = checked_list(value, "a list of four numbers")
    if len(items) != 4:
        raise Fault("", f"has {len(items)} numbers; a quaternion has four")
    e = [checked_number(item, part=f"[{i}]") for i, item in enumerate(items)]
    size = float(np.linalg.norm(e))
    if not abs(size - 1.0) < 1e-6:
        raise Fault("", f"is {shown(value)}, of length {size:.6g}; it must be a unit quaternion")
    return tuple(e) if abs(size - 1.0) < checks.ROUNDING else tuple(x / size for x in e)


Axes = Annotated[str, BeforeValidator(_axes)]


class Sampling(Described):
    """How an instrument samples what it measures.

    Parameters
    ----------
    sample_time : float, optional
        From one reading to the next, the first at t = 0 [s]. Default: a reading at every time of a result.
    resolution : float
        Readings are rounded to whole multiples of this, in the unit of the signal; 0 for none.
    noise : float
        Standard deviation of white, normal noise, added before rounding, in the unit of the signal.
    name : str, optional
        What the signal is called, or what it begins with where there are several.
    """

    sample_time: Annotated[float | None, optional_number("s", POSITIVE)] = None
    resolution: Annotated[float, number("", NOT_NEGATIVE)] = 0.0
    noise: Annotated[float, number("", NOT_NEGATIVE)] = 0.0
    name: Annotated[str | None, BeforeValidator(_name)] = None

    def described(self) -> str:
        """What the expression depends on."""
        return json.dumps({key: value for key, value in self if key not in Sampling.model_fields})


# -- the kinds ---------------------------------------------------------------------------------------------------------


@final
class Encoder(Sampling):
    """The angle of a joint, or the length of a slide [rad or m].

    Parameters
    ----------
    coordinate : str
        `"upper.drive"`: what the actuator turns, whatever that is: the motor of an elastic joint, or the hub, which
        where shapes have a slope at the hub turns by joint + slope (Lin & Lewis: B' q). `"upper.hub"`: the same on the
        link's side of the spring. Or any coordinate of the arm by its name, as `"upper.joint"`, `"upper.motor"`, and of
        a free base `"base.x"`, `"base.qw"`.

    Notes
    -----
    Angles are those of the joint. One that counts on the motor's shaft sees them `gear_ratio` times: its resolution
    here is 2 pi / (counts gear_ratio).
    """

    type: Literal["encoder"] = "encoder"
    coordinate: Annotated[str, checks.text]

    def names(self, arm: Arm) -> tuple[str, ...]:
        """One signal, called like the coordinate: `upper_drive`."""
        _check_coordinate(type(self).__name__, self.coordinate, arm)
        return (self.name or signal(self.coordinate),)

    def units(self, arm: Arm) -> tuple[str, ...]:
        """[rad] or [m]."""
        return (coordinate_unit(arm, self.coordinate),)

    def expression(self, arm: Arm, chain: Any, q: list, qd: list, qdd: list) -> list:
        """The coordinate."""
        return [_measured(self.coordinate, arm, chain, q)]


@final
class Tachometer(Sampling):
    """The rate of a coordinate [rad/s or m/s].

    Parameters
    ----------
    coordinate : str
        As that of an `Encoder`; of a free base one of its rates, `"base.vx"`, `"base.wz"`, along its own axes.
    """

    type: Literal["tachometer"] = "tachometer"
    coordinate: Annotated[str, checks.text]

    def names(self, arm: Arm) -> tuple[str, ...]:
        """One signal: `upper_drive_rate`, `base_vx`."""
        _check_coordinate(type(self).__name__, self.coordinate, arm, of_rates=True)
        own = "" if self.coordinate in TWIST else "_rate"
        return (self.name or signal(self.coordinate) + own,)

    def units(self, arm: Arm) -> tuple[str, ...]:
        """[rad/s] or [m/s]."""
        _check_coordinate(type(self).__name__, self.coordinate, arm, of_rates=True)
        if arm.free and self.coordinate in TWIST:
            return (TWIST_UNITS[TWIST.index(self.coordinate)],)
        return (coordinate_unit(arm, self.coordinate) + "/s",)

    def expression(self, arm: Arm, chain: Any, q: list, qd: list, qdd: list) -> list:
        """The coordinate is linear in q, and its rate the same of qd."""
        if arm.free and self.coordinate in TWIST:
            return [qd[TWIST.index(self.coordinate)]]
        return [_measured(self.coordinate, arm, chain, qd)]


@final
class StrainGauge(Sampling):
    """Bending of a beam at a place: the moment EI kappa [N m], or the strain of a fibre [1].

    Parameters
    ----------
    link : str
    at : float
        Place on the (free) length, 0 at the hub, 1 at the tip.
    plane : "y" or "z"
        Direction of the deflection: kappa = d2 u / dx2, positive where the beam is hollow towards +y (or +z).
    distance : float, optional
        Of the gauge from the neutral axis, towards +y (or +z) [m]. With it the reading is the strain of bending there,
        -distance kappa: positive where the fibre is drawn out.

    The moment is EI times the curvature of the assumed shapes: that of a shape that carries no moment at its end, as
    clamped-free, is zero there whatever the load.
    """

    type: Literal["strain-gauge"] = "strain-gauge"
    link: Annotated[str, checks.text]
    at: Annotated[float, number("", SHARE)] = 0.0
    plane: Literal["y", "z"] = "y"
    distance: Annotated[float | None, optional_number("m", NOT_ZERO)] = None

    def names(self, arm: Arm) -> tuple[str, ...]:
        """One signal: `upper_moment_y_0`, `upper_strain_z_0_25`."""
        at = _place(self, self.link, arm)
        link = arm.links[at]
        if not (isinstance(link.body, Beam) and link.body.counts[self.plane]):
            raise DescriptionError(f"StrainGauge: link {link.name!r} does not bend along {self.plane}")
        kind = "moment" if self.distance is None else "strain"
        return (self.name or signal(f"{self.link}_{kind}_{self.plane}_{self.at:g}"),)

    def units(self, arm: Arm) -> tuple[str, ...]:
        """[N m] or [1]."""
        return ("N m" if self.distance is None else "1",)

    def expression(self, arm: Arm, chain: Any, q: list, qd: list, qdd: list) -> list:
        """EI kappa, or -distance kappa."""
        from flexarm.mechanics import links

        i, axis = _place(self, self.link, arm), "yz".index(self.plane)
        if self.distance is None:
            return [links.bending_moment(chain, i, self.at, q)[axis]]
        return [-self.distance * links.curvature(chain, i, self.at, q)[axis]]


class _OfSection(Sampling):
    """What is measured at a section of a link: where that stands, how it moves."""

    link: Annotated[str | None, checks.optional_text] = None
    at: Annotated[float, number("", SHARE)] = 1.0

    def section(self, arm: Arm) -> tuple[str, int]:
        """What it is called, and the number of its link, -1 of a free base."""
        with refused(type(self).__name__):
            checked_instance(arm, Arm, "arm")
        if self.link is None:
            self._at_tip_where(self.at == 1.0, "without a link it is the arm's tip")
            return "tip", arm.tip_link
        if self.link == BASE and arm.free:
            self._at_tip_where(self.at == 1.0, "the base has no stations")
            return BASE, -1
        i = _place(self, self.link, arm, based=True)
        telescope = isinstance(arm.links[i].joint, Telescope)
        self._at_tip_where(self.at == 1.0 or not telescope, "on a telescope it must be 1, its tip")
        return self.link, i

    def _at_tip_where(self, fits: bool, why: str) -> None:
        if not fits:
            raise DescriptionError(f"{type(self).__name__}: at is {self.at}; {why}")

    def station(self, arm: Arm, chain: Any, q: list, qd: list) -> Any:
        """The section at a state."""
        from flexarm.mechanics.outside import station

        return station(chain, self.section(arm)[1], self.at, q, qd)


@final
class TipPosition(_OfSection):
    """Where the arm's tip, or a section of a link, or a free base is, in the base frame; in the world if that is free
    [m].

    Parameters
    ----------
    axes : str
        Of the base frame, e.g. "xy".
    link : str, optional
        Default: the tip of the arm. "base": the origin of a free base.
    at : float
        Station along the link, from 0 to 1 of its length; of a telescope, 1 alone.
    """

    type: Literal["tip-position"] = "tip-position"
    axes: Axes = "xyz"

    def names(self, arm: Arm) -> tuple[str, ...]:
        """`tip_x`, `tip_y`, `tip_z`; `base_x`, `upper_x`."""
        where, _ = self.section(arm)
        return tuple(f"{self.name or signal(where)}_{axis}" for axis in self.axes)

    def units(self, arm: Arm) -> tuple[str, ...]:
        """[m]"""
        return ("m",) * len(self.axes)

    def expression(self, arm: Arm, chain: Any, q: list, qd: list, qdd: list) -> list:
        """The chosen components."""
        if self.link is None:
            from flexarm.mechanics.dynamics import frames

            p = frames(chain, q)[-1].p
        else:
            p = self.station(arm, chain, q, qd).frame.p
        return [p["xyz".index(axis)] for axis in self.axes]


@final
class TipVelocity(_OfSection):
    """How fast the arm's tip, or a section of a link, or a free base moves [m/s].

    Parameters
    ----------
    axes : str
        E.g. "xy".
    frame : "base" or "tip"
        Whose axes they are: those of the base frame, of the world if that is free; or the section's own.
    link : str, optional
    at : float
        As of a `TipPosition`.
    """

    type: Literal["tip-velocity"] = "tip-velocity"
    axes: Axes = "xyz"
    frame: Literal["base", "tip"] = "base"

    def names(self, arm: Arm) -> tuple[str, ...]:
        """`tip_velocity_x`, ..."""
        where, _ = self.section(arm)
        return tuple(f"{self.name or signal(f'{where}_velocity')}_{axis}" for axis in self.axes)

    def units(self, arm: Arm) -> tuple[str, ...]:
        """[m/s]"""
        return ("m/s",) * len(self.axes)

    def expression(self, arm: Arm, chain: Any, q: list, qd: list, qdd: list) -> list:
        """The chosen components."""
        from flexarm.mechanics.spatial import product

        frame, twist = self.station(arm, chain, q, qd)
        v = product(frame.R, twist[:3]) if self.frame == "base" else twist[:3]
        return [v["xyz".index(axis)] for axis in self.axes]


@final
class TipDeflection(Sampling):
    """How far a link's tip is from where it would be without deformation, in the link's own frame [m or rad].

    Parameters
    ----------
    link : str
    axis : "x", "y", "z", "slope_y", "slope_z" or "torsion"
        A displacement [m], a slope of the neutral axis in the plane of y or z, or the twist [rad].
    """

    type: Literal["tip-deflection"] = "tip-deflection"
    link: Annotated[str, checks.text]
    axis: Literal["x", "y", "z", "slope_y", "slope_z", "torsion"] = "y"

    def names(self, arm: Arm) -> tuple[str, ...]:
        """One signal: `upper_deflection_y`."""
        at = _place(self, self.link, arm)
        link = arm.links[at]
        if not any(link.body.counts.values()):
            raise DescriptionError(f"TipDeflection: link {link.name!r} does not deform")
        return (self.name or signal(f"{self.link}_deflection_{self.axis}"),)

    def units(self, arm: Arm) -> tuple[str, ...]:
        """[m] or [rad]."""
        return ("m" if len(self.axis) == 1 else "rad",)

    def expression(self, arm: Arm, chain: Any, q: list, qd: list, qdd: list) -> list:
        """A tip function, less its value without deformation."""
        from flexarm.mechanics import links

        i = _place(self, self.link, arm)
        k = ("x", "y", "z", "slope_y", "slope_z", "torsion").index(self.axis)
        return [links.tip(chain, i, q)[k] - links.section(chain, i, 1.0, q, deformed=False)[k]]


@final
class Accelerometer(_OfSection):
    """Acceleration of the arm's tip, or of a section of a link, or of a free base [m/s^2].

    Parameters
    ----------
    axes : str
        E.g. "xy".
    frame : "tip" or "base"
        Whose axes they are: those of the section (at the tip, of the payload frame), which turn with it; or the base
        frame's, the world's where the base is free.
    gravity : bool
        True (default): acceleration less gravity, which is what an accelerometer feels: one at rest reads what holds it
        up. False: acceleration alone.
    link : str, optional
        Default: the tip of the arm. "base": the origin of a free base.
    at : float
        Station along the link, from 0 to 1 of its length; of a telescope, 1 alone.
    """

    type: Literal["accelerometer"] = "accelerometer"
    axes: Axes = "xyz"
    frame: Literal["tip", "base"] = "tip"
    gravity: Annotated[bool, checks.flag] = True

    def names(self, arm: Arm) -> tuple[str, ...]:
        """`tip_acceleration_x`, ...; `base_acceleration_x`."""
        where, _ = self.section(arm)
        return tuple(f"{self.name or signal(f'{where}_acceleration')}_{axis}" for axis in self.axes)

    def units(self, arm: Arm) -> tuple[str, ...]:
        """[m/s^2]"""
        return ("m/s^2",) * len(self.axes)

    def expression(self, arm: Arm, chain: Any, q: list, qd: list, qdd: list) -> list:
        """dv/dt + w x v along the section's axes, less R' g."""
        from flexarm.mechanics.outside import acceleration
        from flexarm.mechanics.spatial import added, product, scaled, transposed

        frame, a = acceleration(chain, self.section(arm)[1], self.at, q, qd, qdd)
        if self.gravity:
            a = added(a, scaled(-1.0, product(transposed(frame.R), chain.gravity)))
        if self.frame == "base":
            a = product(frame.R, a)
        return [a["xyz".index(axis)] for axis in self.axes]


@final
class Gyroscope(_OfSection):
    """Angular velocity of the arm's tip, or of a section of a link, or of a free base, along its own axes [rad/s].

    Parameters
    ----------
    link : str, optional
        Default: the tip of the arm. "base": a free base.
    at : float
        Station along the link, from 0 to 1 of its length; of a telescope, 1 alone.
    axes : str
        E.g. "xy".
    """

    type: Literal["gyroscope"] = "gyroscope"
    axes: Axes = "xyz"

    def names(self, arm: Arm) -> tuple[str, ...]:
        """`base_turning_x`, ..."""
        where, _ = self.section(arm)
        return tuple(f"{self.name or signal(f'{where}_turning')}_{axis}" for axis in self.axes)

    def units(self, arm: Arm) -> tuple[str, ...]:
        """[rad/s]"""
        return ("rad/s",) * len(self.axes)

    def expression(self, arm: Arm, chain: Any, q: list, qd: list, qdd: list) -> list:
        """The chosen components."""
        w = self.station(arm, chain, q, qd).twist[3:]
        return [w["xyz".index(axis)] for axis in self.axes]


@final
class StarTracker(_OfSection):
    """The attitude of a free base, or of a section of a link: the turn that leads to it from a reference [rad].

    Three numbers, the turn's axis times its angle, along the axes of the reference. Near it they are the angles about
    these axes, each with noise of its own; a quaternion's four would depend on one another, and stand for the same
    attitude twice. Half a turn away from the reference they jump to the other side. `flexarm.attitude.quaternion` has
    the quaternion of a turn.

    Parameters
    ----------
    link : str, optional
        Default "base", a free base. None: the tip of the arm.
    at : float
        Station along the link, from 0 to 1 of its length; of a telescope, 1 alone.
    reference : (4,)
        Quaternion (w, x, y, z) that turns the reference's axes into the world's (the base frame's, if that is not
        free). Default: those axes themselves.
    axes : str
        E.g. "z": one of the three numbers alone.
    """

    type: Literal["star-tracker"] = "star-tracker"
    link: Annotated[str | None, checks.optional_text] = BASE
    reference: Annotated[tuple[float, ...], BeforeValidator(_quaternion)] = (1.0, 0.0, 0.0, 0.0)
    axes: Axes = "xyz"

    def names(self, arm: Arm) -> tuple[str, ...]:
        """`base_attitude_x`, ..."""
        where, _ = self.section(arm)
        return tuple(f"{self.name or signal(f'{where}_attitude')}_{axis}" for axis in self.axes)

    def units(self, arm: Arm) -> tuple[str, ...]:
        """[rad]"""
        return ("rad",) * len(self.axes)

    def expression(self, arm: Arm, chain: Any, q: list, qd: list, qdd: list) -> list:
        """The chosen components."""
        from flexarm.mechanics.links import turn_of
        from flexarm.mechanics.spatial import dot, transposed

        R = transposed(self.station(arm, chain, q, qd).frame.R)
        away = [[dot(axis, column) for column in R] for axis in rotation(np.array(self.reference)).T.tolist()]
        turn = turn_of(away)
        return [turn["xyz".index(axis)] for axis in self.axes]


class _OfMotor(Sampling):
    """What is measured of the motor of a joint: a function of the inputs and of the drives' states, not of qdd."""

    link: Annotated[str, checks.text]
    column: ClassVar[int]

    def expression(self, arm: Arm, chain: Any, q: list, qd: list, qdd: list) -> list:
        """There is none of q, qd and qdd: raises `DescriptionError`."""
        must = "it is a function of u and of the drives' states: read it by outputs(...).values or sampled"
        raise DescriptionError(f"{type(self).__name__}: link {self.link!r}: {must}")

    def input(self, arm: Arm) -> int:
        """The place of its motor's input in u."""
        link = arm.links[_place(self, self.link, arm)]
        if not link.joint.moves:
            raise DescriptionError(f"{type(self).__name__}: link {self.link!r} has a joint without a motor")
        return [each.name for each in arm.links if each.joint.moves].index(link.name)


@final
class MotorTorque(_OfMotor):
    """Torque of the motor of a joint, on the joint's side and before the gear has lost any of it [N m or N].

    Parameters
    ----------
    link : str
    """

    type: Literal["motor-torque"] = "motor-torque"
    column: ClassVar[int] = 0

    def names(self, arm: Arm) -> tuple[str, ...]:
        """One signal: `upper_motor_torque`."""
        self.input(arm)
        return (self.name or signal(f"{self.link}_motor_torque"),)

    def units(self, arm: Arm) -> tuple[str, ...]:
        """[N m] or [N]."""
        return (arm.links[_place(self, self.link, arm)].joint.effort_unit,)


@final
class MotorCurrent(_OfMotor):
    """Current of the motor of a joint [A], whose description must have a torque constant.

    Parameters
    ----------
    link : str
    """

    type: Literal["motor-current"] = "motor-current"
    column: ClassVar[int] = 1

    def names(self, arm: Arm) -> tuple[str, ...]:
        """One signal: `upper_motor_current`."""
        self.input(arm)
        drive = getattr(arm.links[_place(self, self.link, arm)].joint, "drive", None)
        if drive is None or drive.motor is None or drive.motor.torque_constant is None:
            raise DescriptionError(f"MotorCurrent: link {self.link!r} has no motor with a torque_constant")
        return (self.name or signal(f"{self.link}_motor_current"),)

    def units(self, arm: Arm) -> tuple[str, ...]:
        """[A]"""
        return ("A",)


@final
class JointTorque(Sampling):
    """Torque in the transmission of an elastic joint, as a sensor behind its gear has it [N m or N].

    What its springs give the link, table, cubic and play included, and the joint's `spring_damping`; not what a
    hysteresis or the damping of a `Spring` adds.

    Parameters
    ----------
    link : str
    """

    type: Literal["joint-torque"] = "joint-torque"
    link: Annotated[str, checks.text]

    def names(self, arm: Arm) -> tuple[str, ...]:
        """One signal: `upper_joint_torque`."""
        self._motor(arm)
        return (self.name or signal(f"{self.link}_joint_torque"),)

    def units(self, arm: Arm) -> tuple[str, ...]:
        """[N m] or [N]."""
        return (arm.links[_place(self, self.link, arm)].joint.effort_unit,)

    def expression(self, arm: Arm, chain: Any, q: list, qd: list, qdd: list) -> list:
        """Stiffness and damping force on the motor's coordinate."""
        from flexarm.mechanics.dynamics import damping_force
        from flexarm.mechanics.quantities import stiffness_force

        motor = self._motor(arm)
        return [stiffness_force(chain, q)[motor] + damping_force(chain, q, qd)[motor]]

    def _motor(self, arm: Arm) -> int:
        """The place of the motor's coordinate."""
        i = _place(self, self.link, arm)
        for joint, motor in arm.springs:
            if arm.layout[joint].link == i:
                return motor
        raise DescriptionError(f"JointTorque: link {self.link!r} has no elastic joint; give it a stiffness")


@final
class ContactForce(Sampling):
    """The normal force of a contact [N]: of spring and damper, zero where it is open.

    Parameters
    ----------
    contact : str
        Its name.
    """

    type: Literal["contact-force"] = "contact-force"
    contact: Annotated[str, checks.text]

    def names(self, arm: Arm) -> tuple[str, ...]:
        """One signal: `floor_force`."""
        self._place(arm)
        return (self.name or signal(f"{self.contact}_force"),)

    def units(self, arm: Arm) -> tuple[str, ...]:
        """[N]"""
        return ("N",)

    def expression(self, arm: Arm, chain: Any, q: list, qd: list, qdd: list) -> list:
        """As the contact's own."""
        from flexarm.mechanics.outside import normal_force, pressed, velocity

        contact = arm.contacts[self._place(arm)]
        link = arm.number(contact.link)
        v = velocity(chain, link, contact.at)(q, qd)[:3]
        return [normal_force(contact, pressed(chain, contact, link, q), v)]

    def _place(self, arm: Arm) -> int:
        with refused("ContactForce"):
            checked_instance(arm, Arm, "arm")
        known = [each.name for each in arm.contacts]
        if self.contact not in known:
            there = f"the arm has {', '.join(known)}" if known else "the arm has none"
            raise DescriptionError(f"ContactForce: unknown contact {shown(self.contact)}; {there}")
        return known.index(self.contact)


OF_THE_STATE = (
    *(ContactForce, Encoder, Gyroscope, JointTorque, StarTracker, StrainGauge, Tachometer),
    *(TipDeflection, TipPosition, TipVelocity),
)
"""Kinds that do not depend on qdd."""

# -- coordinates and links by name -------------------------------------------------------------------------------------


def coordinate_unit(arm: Arm, name: str) -> str:
    """[rad] or [m], of a coordinate, a drive or a hub; raises `DescriptionError` where the arm has none of the name."""
    _check_coordinate("coordinate_unit", name, arm)
    known = dict(zip(arm.coordinates, arm.units, strict=True))
    return known[name] if name in known else _drives_and_hubs(arm)[name][0].joint.unit


def _drives_and_hubs(arm: Arm) -> dict[str, tuple[Link, int, str]]:
    """What has a name beside the coordinates: link, its position, and which of the two."""
    moving = [(i, link) for i, link in enumerate(arm.links) if link.joint.moves]
    return {f"{link.name}.{part}": (link, i, part) for i, link in moving for part in ("drive", "hub")}


def _check_coordinate(where: str, name: str, arm: Arm, of_rates: bool = False) -> None:
    with refused(where):
        checked_instance(arm, Arm, "arm")
    known = [*_drives_and_hubs(arm), *(arm.velocities if of_rates else arm.coordinates)]
    if not isinstance(name, str) or name not in known:
        raise DescriptionError(f"{where}: unknown coordinate {shown(name)}; known are {', '.join(known)}")


def _place(sensor: Described, name: str, arm: Arm, based: bool = False) -> int:
    """The number of the link of this name; `based` says whether it might be a free base as well."""
    with refused(type(sensor).__name__):
        checked_instance(arm, Arm, "arm")
    names = [link.name for link in arm.links]
    if name not in names:
        there = ", ".join([*names, BASE] if based and arm.free else names)
        raise DescriptionError(f"{type(sensor).__name__}: unknown link {shown(name)}; the arm has {there}")
    return names.index(name)


def _measured(name: str, arm: Arm, chain: Any, q: list) -> Any:
    """A coordinate, or what a drive or a hub turns (or slides) by: linear in q, which is over the rates."""
    from flexarm.mechanics.chain import taken
    from flexarm.mechanics.spatial import dot

    if arm.free and name in POSE:
        return chain.stood[POSE.index(name)]
    if name in arm.velocities:
        return q[arm.velocities.index(name)]
    link, i, part = _drives_and_hubs(arm)[name]
    first = chain.links[i][0]
    body, share = chain.bodies[first], taken(q, chain.own[first])
    if part == "drive":
        return dot(body.drive, share)
    joint = next(n for n in arm.joints if arm.layout[n].link == i)
    return _hub(link, body, share, q[joint])


def _hub(link: Link, body: Any, share: list, joint: Any) -> Any:
    """The joint's coordinate, and the slopes at a hub that turns with the shapes, about the joint's axis."""
    if not link.joint.turns:
        return joint
    slope_y, slope_z = body.root(share[1:])
    _, y, z = link.joint.direction
    return joint + z * slope_y - y * slope_z


# -- outputs of a model ------------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, eq=False)
class Outputs:
    """What sensors measure of a model, without sampling: y(q, qd, u)."""

    model: Model
    sensors: tuple[Any, ...]
    names: tuple[str, ...]
    units: tuple[str, ...]

    def values(self, q: Array, qd: Array, u: Array | None = None, p: Any = None, s: Any = None, w: Any = None) -> Array:
        """y, one number a signal, by native code; axes before the last are many states, as everywhere.

        u is needed where acceleration or a motor is measured, and may be left out elsewhere; p are parameters of a
        model that varies, s and w states of drives and exogenous inputs, by default zero. Raises `DescriptionError` for
        arguments that do not fit the arm.
        """
        if u is None and self.driven:
            what = "an acceleration" if self._accelerates else "a motor"
            raise DescriptionError(f"outputs: u is missing; {what} is measured")
        if self._motors:
            seen = self.model.evaluate("motors", q, qd, u, p=p, s=s, w=w)
            found = [
                seen[..., each.input(self.model.arm), each.column][..., None]
                if isinstance(each, _OfMotor)
                else outputs(self.model, [each]).values(q, qd, u, p, s, w)
                for each in self.sensors
            ]
            return np.concatenate(found, axis=-1)
        if self._accelerates:
            qdd = self.model.evaluate("forward_dynamics", q, qd, u, p=p, s=s, w=w)
        else:
            qdd = np.zeros(self.model.nv)
        return self._evaluation((q, qd, qdd), None if p is None else self.model.parameter_values(p))

    @cached_property
    def _evaluation(self) -> Evaluation:
        kernel = self.model.output_kernel(self.sensors)
        return self.model.evaluation("outputs", kernel, ("q", "qd", "qdd"), (len(self.names),))

    @property
    def driven(self) -> bool:
        """Whether what is measured may depend on what moves the arm: on u, and on s and w where it has some."""
        return self._accelerates or self._motors

    @property
    def _accelerates(self) -> bool:
        """Whether some sensor may depend on qdd; one that is not of this module may."""
        return not all(isinstance(each, (*OF_THE_STATE, _OfMotor)) for each in self.sensors)

    @property
    def _motors(self) -> bool:
        """Whether some sensor sees a motor."""
        return any(isinstance(each, _OfMotor) for each in self.sensors)

    @cached_property
    def function(self) -> "ca.Function":
        """The CasADi Function y(q, qd, u), for optimisation and export."""
        import casadi as ca

        y = self.model.with_numbers(self.model.output_function(self.sensors))
        names, n = ["q", "qd", "u"], self.model.nv
        x = [ca.SX.sym(a, size) for a, size in zip(names, (self.model.nq, n, len(self.model.inputs)), strict=True)]
        qdd = self.model.fixed("forward_dynamics")(*x) if self._accelerates else ca.DM.zeros(n)
        return ca.Function("outputs", x, [ca.densify(ca.cse(y(x[0], x[1], qdd)))], names, ["y"])


def outputs(model: Model, sensors: Sequence[Sensor]) -> Outputs:
    """What the sensors measure of the model; raises `DescriptionError` where one does not fit the arm."""
    with refused("outputs"):
        checked_instance(model, Model, "model")
    names = model.output_names(sensors)
    units = [unit for each in sensors for unit in (each.units(model.arm) if hasattr(each, "units") else [""])]
    return Outputs(model, tuple(sensors), names, tuple(units))


# -- what instruments would have read ----------------------------------------------------------------------------------


def sampled(sensors: Sequence[Any], model: Model, result: "Dataset", seed: int) -> "Dataset":
    """What the sensors would have read of a simulated motion: sampled, with noise, rounded.

    Noise is drawn from the seed and the signal's name, so it is the same in every run and does not change when
    another sensor comes or goes. Readings are round(y + noise, resolution).

    Parameters
    ----------
    sensors : list of sensors
    model : Model
        The one that moved.
    result : xarray.Dataset
        Of `simulate`, with q, qd and u, and with `drive_state` and `w` where a sensor depends on them. Its times must
        include those of every sensor: between them nothing is known of vibrations that are faster, and of inputs that
        jump.
    seed : int
        Not negative.

    Returns
    -------
    xarray.Dataset
        A variable a signal, over `time` where its sensor has no sample time, over `time_0_001` where that is 0.001 s.

    Raises
    ------
    DescriptionError
        Also where a sample time does not fall on the times of the result.
    """
    import xarray as xr

    with refused():
        seed = checked_whole(seed, 0, "seed")
    with refused("sampled"):
        checked_instance(model, Model, "model")
        checked_result(result, ("q", "qd", "u"))
    if tuple(map(str, result.coordinate.values)) != model.coordinates:
        raise DescriptionError(f"sampled: the result is not of arm {model.arm.name!r}: its coordinates differ")
    model.output_names(sensors)
    beside = {"s": ("drive_state", model.states), "w": ("w", model.exogenous)}
    more = {argument: name for argument, (name, signals) in beside.items() if signals}
    t = result.time.values
    readings, coords = {}, {}
    for sensor in sensors:
        measured = outputs(model, [sensor])
        also = more if measured.driven else {}
        with refused("sampled"):
            checked_result(result, tuple(also.values()))
        dimension = "time" if sensor.sample_time is None else signal(f"time_{sensor.sample_time:g}")
        rows = _rows(sensor, t)
        coords[dimension] = (dimension, t[rows], {"units": "s"})
        states = (result[name].values[rows] for name in ("q", "qd", "u"))
        y = measured.values(*states, **{argument: result[name].values[rows] for argument, name in also.items()})
        for k, (name, unit) in enumerate(zip(measured.names, measured.units, strict=True)):
            rng = np.random.default_rng([int(seed), *name.encode()])
            value = y[:, k] + sensor.noise * rng.standard_normal(len(rows))
            if sensor.resolution:
                value = sensor.resolution * np.round(value / sensor.resolution)
            about = {"units": unit, "sensor": type(sensor).__name__, "noise": sensor.noise}
            readings[name] = (dimension, value, about | {"resolution": sensor.resolution})
    return xr.Dataset(readings, coords=coords, attrs={"title": f"{model.arm.name}: readings", "seed": int(seed)})


def _rows(sensor: Any, t: Array) -> Array:
    """Which of the times are those of the sensor."""
    if sensor.sample_time is None:
        return np.arange(len(t))
    dt = sensor.sample_time
    if (t[-1] - t[0]) / dt > len(t) - 0.5:
        where = f"{type(sensor).__name__}: sample_time is {dt:g} s"
        raise DescriptionError(f"{where}, shorter than the steps of the result; choose more `samples` of the run")
    wanted = t[0] + dt * np.arange(int((t[-1] - t[0]) / dt + 1e-6) + 1)
    rows = np.clip(np.searchsorted(t, wanted - 1e-6 * dt), 0, len(t) - 1)
    off = np.abs(t[rows] - wanted)
    if (off > 1e-6 * dt).any():
        missing = f"{wanted[np.argmax(off > 1e-6 * dt)]:g} s is not among the times of the result"
        where = f"{type(sensor).__name__}: sample_time is {dt:g} s"
        raise DescriptionError(f"{where}, but {missing}; choose `samples` of the run so that it is")
    return rows
