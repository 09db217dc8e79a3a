"""Sections of links as frames that move, and the motion of one frame seen from another.

The outward pass of the recursions also moves stations: from the base frame of a link by the section's position and
angles, which are elementary motions like those of a tip.
"""

from collections.abc import Iterable
from typing import NamedTuple

import casadi as ca

from flexarm.description.closures import Connection
from flexarm.description.links import Pose
from flexarm.mechanics.chain import TIP, Chain, Frame, taken, to_pose
from flexarm.mechanics.dynamics import base_frame, outward, placed, twist_of_base, twists
from flexarm.mechanics.elements import Along
from flexarm.mechanics.links import located
from flexarm.mechanics.moving import at
from flexarm.mechanics.remembered import remembered
from flexarm.mechanics.spatial import Matrix, Motion, Vector, added, cross, entries, product, scaled, transposed


class Station(NamedTuple):
    """A section of a link at a state: its frame in the base frame, and its (v, w) along its own axes."""

    frame: Frame
    twist: Vector


def station(chain: Chain, link: int, x: float | Pose, q: Vector, qd: Vector) -> Station:
    """Return the section of a link at x in [0, 1] of its length, or the frame at a pose in the link's base frame.

    The link -1 means the base's frame, in which x may be a pose.
    """
    if isinstance(x, Pose):
        here = _of_body(chain, chain.links[link][0] if link >= 0 else -1, q, qd)
        return _moved(here, [motion(axis, value) for motion, axis, value in to_pose(x)])
    if link < 0:
        return _of_body(chain, -1, q, qd)
    member, x = located(chain, link, x)
    last = chain.links[link][member]
    section = zip(TIP, *_section(chain, last, x, q, qd), strict=True)
    steps = [motion(axis, sign * value, sign * rate) for (motion, axis, sign), value, rate in section]
    return _moved(_of_body(chain, last, q, qd), steps)


def _of_body(chain: Chain, i: int, q: Vector, qd: Vector) -> Station:
    """Return the base frame of a body, or of the base if i is -1."""
    if i < 0:
        return Station(base_frame(chain, q), twist_of_base(chain, qd, [0.0] * 3))
    few = chain if chain.known is not None else chain.up_to(i)  # a chain that remembers computes all at once
    frames, found = _of_bodies(few, q, qd)
    return Station(frames[i], found[i])


@remembered
def _of_bodies(chain: Chain, q: Vector, qd: Vector) -> tuple[list[Frame], list[Vector]]:
    """Return the base frames of all bodies, and their twists."""
    bodies, ways = outward(chain, q, qd)
    return placed(ways, base_frame(chain, q)), twists(chain, qd, bodies, ways)


def _moved(here: Station, steps: Iterable[Motion]) -> Station:
    """Return a frame after elementary motions with their rates."""
    p, R, twist = here.frame.p, here.frame.R, here.twist
    for step in steps:
        twist, p = step.acceleration(twist), added(p, product(R, step.shift))
        R = [step.acceleration([0.0, 0.0, 0.0, *row])[3:] for row in R]
        twist[step.direction] = twist[step.direction] + step.rate
    return Station(Frame(p, R), twist)


def acceleration(chain: Chain, link: int, x: float, q: Vector, qd: Vector, qdd: Vector) -> tuple[Frame, Vector]:
    """Return the frame of a section, and the acceleration of its origin along its own axes, dv/dt + w x v.

    The twist depends on the rates and on the inner coordinates, but not on the pose of the base.
    """
    z, zd = ca.SX.sym("q", chain.size), ca.SX.sym("qd", chain.size)
    frame, (*v, a, b, c) = station(chain, link, x, q, qd)
    moving = ca.densify(ca.SX(ca.vertcat(*station(chain, link, x, entries(z), entries(zd)).twist[:3])))
    rate, more = ca.SX(ca.vertcat(*qd)), ca.SX(ca.vertcat(*qdd))
    (v_dot,) = at([z, zd], (q, qd), [ca.jtimes(moving, z, rate) + ca.jtimes(moving, zd, more)])
    return frame, added(entries(v_dot), cross([a, b, c], v))


def _section(chain: Chain, i: int, x: float, q: Vector, qd: Vector) -> tuple[Vector, Vector]:
    """Return position and angles of a section in its body's base frame, and their rates."""
    body, own = chain.bodies[i], chain.own[i]
    z, zd = ca.SX.sym("eta", body.size), ca.SX.sym("etad", body.size)
    here = ca.SX(ca.vertcat(*body.section(x, entries(z))))
    s, sd = at([z, zd], (taken(q, own)[1:], taken(qd, own)[1:]), [here, ca.jtimes(here, z, zd)])
    return entries(s), entries(sd)


def velocity(chain: Chain, link: int, x: float, in_base: bool = True) -> Along:
    """Return a function for (v, w) of a section, along the base's axes or its own."""

    def rates(q: Vector, qd: Vector) -> Vector:
        frame, twist = station(chain, link, x, q, qd)
        return product(frame.R, twist[:3]) + product(frame.R, twist[3:]) if in_base else twist

    return rates


class Between(NamedTuple):
    """The second frame of a connection in the first one: p, R, and their rates v and w along the first's axes."""

    p: Vector
    R: Matrix
    v: Vector
    w: Vector


def between(chain: Chain, connection: Connection, q: Vector, qd: Vector) -> Between:
    """Return the second frame of a connection as it moves in the first one."""
    a = station(chain, chain.number(connection.link), connection.at, q, qd)
    b = station(chain, chain.number(connection.to), connection.end, q, qd)
    inward = transposed(a.frame.R)
    p = product(inward, added(b.frame.p, scaled(-1.0, a.frame.p)))
    R = transposed([product(inward, column) for column in transposed(b.frame.R)])
    v = added(product(R, b.twist[:3]), scaled(-1.0, added(a.twist[:3], cross(a.twist[3:], p))))
    return Between(p, R, v, added(product(R, b.twist[3:]), scaled(-1.0, a.twist[3:])))
