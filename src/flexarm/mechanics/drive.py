"""Contributions of a joint to its link: hub, bearing, actuator, rotor, and the spring and motor of an elastic joint."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial, singledispatch
from math import pi
from typing import Any, NamedTuple

import numpy as np

from flexarm.checks import tensor
from flexarm.description.arm import Beam, FiniteElement, Frame, Link, Rigid, Telescope
from flexarm.description.gears import Gear
from flexarm.description.joints import Driven, Joint
from flexarm.description.numbers import alignment
from flexarm.mechanics import springs
from flexarm.mechanics.beam import beam
from flexarm.mechanics.body import Body, Loads, bordered, slopes_of
from flexarm.mechanics.elements import Element, Seen, along, gradient
from flexarm.mechanics.finite import finite
from flexarm.mechanics.friction import Transmitted, brake, friction
from flexarm.mechanics.motors import drawn, motor
from flexarm.mechanics.parameters import Name, value_of
from flexarm.mechanics.rigid import frame, rigid
from flexarm.mechanics.segmented import segments
from flexarm.mechanics.spatial import Matrix, Scalar, Vector, added, cos_sin, dot, is_zero, scaled
from flexarm.mechanics.telescope import telescope
from flexarm.mechanics.tensors import named_tensor


def bodies(link: Link, loads: Loads, name: Name = value_of) -> tuple[list[Body], Matrix]:
    """Return the bodies of a described link: one, or the segments of its beam, the first with the hub and the drive.

    The second result is the damping matrix over the amplitudes of all segments, empty if each body has its own.
    """
    if not (isinstance(link.body, Beam) and link.body.segments is not None):
        return [body(link, loads, name)], []
    (first, *others), damping = segments(link.body, name)
    return [equipped(first, link, name), *others], damping


def body(link: Link, loads: Loads, name: Name = value_of) -> Body:
    """Return the body of a described link in one piece, with its hub and its drive."""
    return equipped(bare(link.body, link.joint, loads, name), link, name)


def equipped(made: Body, link: Link, name: Name = value_of) -> Body:
    """Return the body after a link's joint with its hub and its drive."""
    mass = name("mh", "hub_mass", link.hub_mass, "kg", "mass of the hub")
    inertia = named_tensor(tensor(link.hub_inertia), name, "Ih", "hub_inertia", "moment of inertia of the hub")
    return with_drive(link.joint, _with_hub(made, mass, inertia), link, name)


@singledispatch
def bare(description: Any, joint: Joint, loads: Loads, name: Name) -> Body:
    """Return the mechanics of a body alone, by the kind of its description. New kinds are registered here."""
    raise TypeError(f"nothing is registered for a body of type {type(description).__name__}")


@bare.register
def _(description: Rigid, joint: Joint, loads: Loads, name: Name) -> Body:
    return rigid(description, name)


@bare.register
def _(description: Frame, joint: Joint, loads: Loads, name: Name) -> Body:
    return frame(description, name)


@bare.register
def _(description: Beam, joint: Joint, loads: Loads, name: Name) -> Body:
    if isinstance(joint, Telescope):
        return telescope(description, joint, loads, name)
    return beam(description, loads, name)


@bare.register
def _(description: FiniteElement, joint: Joint, loads: Loads, name: Name) -> Body:
    return finite(description, loads, name)


def _with_hub(body: Body, mass: Scalar, inertia: Matrix) -> Body:
    """Return the body with a hub: a mass at the base frame's origin, and an inertia that turns with the beam's root."""
    if is_zero(mass) and all(is_zero(x) for row in inertia for x in row):
        return body
    k = body.size

    def with_hub(eta: Vector) -> Matrix:
        M = [list(row) for row in body.inertia(eta)]
        alpha, beta = body.root(eta)
        (cz, sz), (cy, sy) = cos_sin(alpha), cos_sin(beta)
        R = [[cz * cy, -sz, -cz * sy], [sz * cy, cz, -sz * sy], [sy, 0.0, cy]]  # Rz(alpha) Ry(-beta)
        slopes = slopes_of(body.root, k)
        rate = [[sz * b for b in slopes[1]], [-cz * b for b in slopes[1]], list(slopes[0])]  # alpha' e_z - beta' Rz e_y
        W = [[float(r == c) for c in range(3)] + [0.0] + rate[r] for r in range(3)]
        W = [[dot([R[n][r] for n in range(3)], [W[n][c] for n in range(3)]) for c in range(4 + k)] for r in range(3)]
        IW = [[dot(inertia[r], [W[n][c] for n in range(3)]) for c in range(4 + k)] for r in range(3)]
        for r in range(3):
            M[r][r] = M[r][r] + mass
        for r in range(4 + k):
            for c in range(4 + k):
                M[3 + r][3 + c] = M[3 + r][3 + c] + dot([W[n][r] for n in range(3)], [IW[n][c] for n in range(3)])
        return M

    return replace(body, inertia=with_hub)


@singledispatch
def with_drive(joint: Joint, body: Body, link: Link, name: Name) -> Body:
    """Return the body with the contributions of its joint, by the kind of the joint.

    Without an actuator there are none.

    A new drive is registered here, as a function from a body to a body.
    """
    return body


@with_drive.register
def _(joint: Gear, body: Body, link: Link, name: Name) -> Body:
    return with_drive(joint.joint, body, link, name)


@with_drive.register
def driven(joint: Driven, body: Body, link: Link, name: Name) -> Body:
    """Return the body with its joint's bearing, actuator and rotor, and with the spring and motor of an elastic joint.

    The actuator works on the angle (or length) a . (q, eta): q, plus the slopes at a hub that turns with the shapes
    (Lin & Lewis: B' = [1, phi_1'(0), ...]); for a telescope the length in eta. A rotor's kinetic energy is 1/2 I_r
    times the square of G times its rate (relative), plus the rotation of its carrier (absolute). An
    elastic joint (Subudhi & Morris) has a motor coordinate theta, last in eta, on which the actuator works.
    """
    k, turns, straining = body.size, joint.turns, body.straining
    a = list(body.drive)
    carrier: Vector = [0.0] * (7 + k)  # rotation of the frame before the joint, about its axis, by (v, w, r, eta_dot)
    axis = named_axis(joint.direction, name) if joint.carries else list(joint.direction)
    carrier[3:6] = axis
    if joint.carries:
        a[0] = 1.0
    if turns:
        carrier[6] = -1.0
        slopes = slopes_of(body.root, k)
        a[1:] = added(scaled(axis[2], slopes[0]), scaled(-axis[1], slopes[1]))

    viscous = "N m s/rad" if turns else "N s/m"
    rotor_inertia = name("Ir", "rotor_inertia", joint.rotor_inertia, "kg m^2", "moment of inertia of the rotor")
    gear_ratio = _gear_ratio(joint, name)
    bearing = name("d", "damping", joint.damping, viscous, "viscous damping of the joint")
    stiffness, spring = 0.0, 0.0
    if joint.elastic and not _has_play(joint):  # with backlash, an element contains the spring
        stiffness, spring = _linear_spring(joint, name)

    elastic = int(joint.elastic)
    n = k + elastic
    a, carrier = a + [0.0] * elastic, carrier + [0.0] * elastic
    motor = [0.0] * n + [1.0]
    driven = motor if elastic else a
    turning = scaled(gear_ratio, [0.0] * 6 + driven)
    if joint.rotor == "absolute":
        turning = added(turning, carrier)
    stretch = added(motor, scaled(-1.0, a))
    D = bordered(body.damping, before=0, after=elastic)
    for drag, moved in ((bearing, a), (spring, stretch)):
        D = [added(row, scaled(drag * x, moved)) for row, x in zip(D, moved, strict=True)]

    def inertia(eta: Vector) -> Matrix:
        M = bordered(body.inertia(eta[:k]), before=0, after=elastic)
        return [added(row, scaled(rotor_inertia * x, turning)) for row, x in zip(M, turning, strict=True)]

    def potential(q: Scalar, eta: Vector) -> Scalar:
        return body.potential(q, eta[:k]) + 0.5 * stiffness * dot(stretch, [q, *eta]) ** 2

    return replace(
        body,
        size=n,
        inertia=inertia,
        potential=potential,
        damping=D,
        drive=driven,
        moved=a,
        straining=straining and (lambda eta: bordered(straining(eta[:k]), before=0, after=elastic)),
        tip=lambda eta: body.tip(eta[:k]),
        rest=(*body.rest, *([joint.rest(link.body)] * elastic)),
        root=lambda eta: body.root(eta[:k]),
        curvature=lambda x, eta: body.curvature(x, eta[:k]),
        bending_moment=lambda x, eta: body.bending_moment(x, eta[:k]),
        line=lambda x, eta: body.section(x, eta[:k]),
    )


def _has_play(joint: Driven) -> bool:
    return joint.drive is not None and joint.drive.backlash is not None


def _linear_spring(joint: Driven, name: Name) -> tuple[Scalar, Scalar]:
    """Return stiffness and damping of an elastic joint."""
    effort, per = ("N m", "rad") if joint.turns else ("N", "m")
    viscous = "viscous damping of the joint's spring"
    return (
        name("ks", "stiffness", joint.stiffness or 0.0, f"{effort}/{per}", "stiffness of the joint"),
        name("ds", "spring_damping", joint.spring_damping, f"{effort} s/{per}", viscous),
    )


class Rows(NamedTuple):
    """Directions of a drive, rows over all coordinates (n,).

    Attributes
    ----------
    turned : of the actuator
    through : of its transmission, on the joints' side; it differs from the actuator's by the spring's deflection
    moved : of the joint
    """

    turned: Vector
    through: Vector
    moved: Vector


@singledispatch
def elements(joint: Joint, rows: Rows, place: int | None, name: Name) -> list[Element]:
    """Return the elements that act along a joint, by the kind of the joint, in the order of their states.

    `place` is the index of the joint's input in u, None for a passive joint. New force elements are registered here.
    """
    return []


@elements.register
def _(joint: Gear, rows: Rows, place: int | None, name: Name) -> list[Element]:
    return elements(joint.joint, rows, place, name)


@elements.register
def elements_of_drive(joint: Driven, rows: Rows, place: int | None, name: Name) -> list[Element]:
    """Return the elements of a joint's `drive`."""
    if joint.drive is None:
        return []
    drive, driving, moved = joint.drive, rows.turned, rows.moved
    stretch = added(driving, scaled(-1.0, rows.through))
    winding = []
    if drive.spring is not None or drive.backlash is not None:
        linear = _linear_spring(joint, name) if _has_play(joint) else (0.0, 0.0)
        winding.append(springs.transmission(drive.spring, drive.backlash, linear, stretch, name))
    transmitted = _transmitted(joint, driving, stretch, winding, name)
    found = []
    if drive.motor is not None and place is not None:
        found.append(motor(drive.motor, along(driving), _gear_ratio(joint, name), place, name))
    if drive.friction is not None:
        found.append(friction(drive.friction, along(driving), name, "drive.friction", "m", transmitted, place))
    if drive.link_friction is not None:
        found.append(friction(drive.link_friction, along(moved), name, "drive.link_friction", "l", transmitted, place))
    if drive.brake is not None:
        found.append(brake(drive.brake, along(driving), name))
    found += winding
    if drive.stops is not None:
        found.append(springs.stops(drive.stops, moved, name))
    if drive.parallel is not None:
        found.append(springs.parallel(drive.parallel, moved, name))
    return found


def _transmitted(joint: Driven, driving: Vector, stretch: Vector, winding: list[Element], name: Name) -> Transmitted:
    """Return the force through the gear: that of springs if there are any, else the actuator's, or 0 without one."""
    if not joint.elastic:
        motor = joint.drive and joint.drive.motor
        if motor is None:
            return lambda seen: 0.0 if seen.u is None else seen.u
        draws = drawn(motor, _gear_ratio(joint, name), name)
        return lambda seen: 0.0 if seen.u is None else draws(seen.u, 0.0, seen.v[0]).torque
    stiffness = 0.0 if _has_play(joint) else _linear_spring(joint, name)[0]

    def force(seen: Seen) -> Scalar:
        wound = [dot(driving, gradient(element.potential, seen.q)) for element in winding]
        return stiffness * dot(stretch, seen.q) + sum(wound, 0.0)

    return force


def _gear_ratio(joint: Driven, name: Name) -> Scalar:
    """Return the gear ratio, which also affects a motor's electrical side if the rotor has no inertia."""
    unit, plain = "" if joint.turns else "rad/m", joint.rotor_inertia == 0.0 and not _electrical(joint)
    return name("G", "gear_ratio", joint.gear_ratio, unit, "gear ratio", plain=plain)


def _electrical(joint: Driven) -> bool:
    """Return True if the joint's motor has parameters on the motor's side of the gear."""
    motor = joint.drive and joint.drive.motor
    return motor is not None and motor.torque_constant is not None


def named_axis(direction: Sequence[float], name: Name) -> Vector:
    """Return the components of a joint's axis, which follow from its azimuth and tilt if these vary."""
    k, sign, azimuth, tilt = alignment(np.array(direction))
    i, j = (k + 1) % 3, (k + 2) % 3

    def follows(component: int) -> Scalar:
        (ca, sa), (cb, sb) = (cos_sin(angle) for angle in named_turns(azimuth, tilt, name))
        return sign * {k: cb, i: sb * ca, j: sb * sa}[component]

    return [
        name(f"n{axis}", f"joint.axis.{axis}", x, "", f"the joint's axis along {axis}", partial(follows, c), plain=True)
        for c, (axis, x) in enumerate(zip("xyz", direction, strict=True))
    ]


def named_turns(azimuth: float, tilt: float, name: Name) -> tuple[Scalar, Scalar]:
    """Return the two angles that turn a coordinate axis to a joint's axis."""
    return (
        named_angle(name, "azimuth", "joint.axis.azimuth", azimuth, "azimuth of the joint's axis"),
        named_angle(name, "tilt", "joint.axis.tilt", tilt, "tilt of the joint's axis"),
    )


def named_angle(name: Name, letter: str, field: str, value: float, meaning: str) -> Scalar:
    """Return a constant angle. Multiples of a quarter turn have no name."""
    quarters = value / (pi / 2)
    return name(letter, field, value, "rad", meaning, plain=quarters == round(quarters))
