"""What a joint adds to its link: hub, bearing, actuator, rotor, and the spring and motor of an elastic joint."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial, singledispatch
from math import pi
from typing import Any

import numpy as np

from flexarm.checks import tensor
from flexarm.description.arm import Beam, Link, Rigid, Telescope
from flexarm.description.joints import Driven, Joint
from flexarm.description.numbers import alignment
from flexarm.mechanics.beam import beam
from flexarm.mechanics.body import Body, Loads, bordered, slopes_of
from flexarm.mechanics.parameters import Name, value_of
from flexarm.mechanics.rigid import named_tensor, rigid
from flexarm.mechanics.spatial import Matrix, Scalar, Vector, added, cos_sin, dot, is_zero, scaled
from flexarm.mechanics.telescope import telescope


def body(link: Link, loads: Loads, name: Name = value_of) -> Body:
    """The mechanics of a described link: the body, its hub, its drive."""
    made = bare(link.body, link.joint, loads, name)
    mass = name("mh", "hub_mass", link.hub_mass, "kg", "mass of the hub")
    inertia = named_tensor(tensor(link.hub_inertia), name, "Ih", "hub_inertia", "moment of inertia of the hub")
    return with_drive(link.joint, _with_hub(made, mass, inertia), link, name)


@singledispatch
def bare(description: Any, joint: Joint, loads: Loads, name: Name) -> Body:
    """The mechanics of a body alone, by the kind of its description; a new kind is registered here."""
    raise TypeError(f"nothing is registered for a body of type {type(description).__name__}")


@bare.register
def _(description: Rigid, joint: Joint, loads: Loads, name: Name) -> Body:
    return rigid(description, name)


@bare.register
def _(description: Beam, joint: Joint, loads: Loads, name: Name) -> Body:
    if isinstance(joint, Telescope):
        return telescope(description, joint, loads, name)
    return beam(description, loads, name)


def _with_hub(body: Body, mass: Scalar, inertia: Matrix) -> Body:
    """The body with a hub: mass at the base frame's origin, inertia that turns with the root of the beam."""
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
    """The body with what its joint adds, by the kind of the joint; one without an actuator adds nothing.

    A new drive is registered here: a function of a body that gives a body.
    """
    return body


@with_drive.register
def driven(joint: Driven, body: Body, link: Link, name: Name) -> Body:
    """The body with what its joint adds: bearing, actuator, rotor, and the spring and motor of an elastic joint.

    The actuator works on the angle (or length) a . (q, eta): q, and the slopes at a hub that turns with the shapes
    (Lin & Lewis: B' = [1, phi_1'(0), ...]); for a telescope the length in eta. A rotor's kinetic energy is 1/2 I_r
    times the square of G times its rate (relative), plus the turning of what carries it (absolute; DESIGN section 4).
    An elastic joint (Subudhi & Morris) has a motor coordinate theta, last in eta, that the actuator works on.
    """
    k, turns = body.size, joint.turns
    a = list(body.drive)
    carrier: Vector = [0.0] * (7 + k)  # turning of the frame before the joint, about its axis, by (v, w, r, eta_dot)
    axis = named_axis(joint.direction, name) if joint.carries else list(joint.direction)
    carrier[3:6] = axis
    if joint.carries:
        a[0] = 1.0
    if turns:
        carrier[6] = -1.0
        slopes = slopes_of(body.root, k)
        a[1:] = added(scaled(axis[2], slopes[0]), scaled(-axis[1], slopes[1]))

    per = "rad" if turns else "m"
    viscous = "N m s/rad" if turns else "N s/m"
    rotor_inertia = name("Ir", "rotor_inertia", joint.rotor_inertia, "kg m^2", "moment of inertia of the rotor")
    unit, unseen = "" if turns else "rad/m", is_zero(rotor_inertia)
    gear_ratio = name("G", "gear_ratio", joint.gear_ratio, unit, "gear ratio", plain=unseen)
    bearing = name("d", "damping", joint.damping, viscous, "viscous damping of the joint")
    stiffness, spring = 0.0, 0.0
    if joint.elastic:
        unit = f"N{' m' * turns}/{per}"
        stiffness = name("ks", "stiffness", joint.stiffness or 0.0, unit, "stiffness of the joint")
        spring = name("ds", "spring_damping", joint.spring_damping, viscous, "viscous damping of the joint's spring")

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
        tip=lambda eta: body.tip(eta[:k]),
        rest=(*body.rest, *([joint.rest(link.body)] * elastic)),
        root=lambda eta: body.root(eta[:k]),
        curvature=lambda x, eta: body.curvature(x, eta[:k]),
        bending_moment=lambda x, eta: body.bending_moment(x, eta[:k]),
        line=lambda x, eta: body.section(x, eta[:k]),
    )


def named_axis(direction: Sequence[float], name: Name) -> Vector:
    """The components of a joint's axis, which follow from its azimuth and tilt where these vary."""
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
    """The two angles that turn a coordinate axis onto a joint's."""
    return (
        named_angle(name, "azimuth", "joint.axis.azimuth", azimuth, "azimuth of the joint's axis"),
        named_angle(name, "tilt", "joint.axis.tilt", tilt, "tilt of the joint's axis"),
    )


def named_angle(name: Name, letter: str, field: str, value: float, meaning: str) -> Scalar:
    """A constant angle; quarter turns have no name."""
    quarters = value / (pi / 2)
    return name(letter, field, value, "rad", meaning, plain=quarters == round(quarters))
