"""External loads on an arm: forces at stations, contacts with planes, cables, and the motion of its base.

The outward pass of the recursions also moves stations: from the base frame of a link by the section's position and
angles, which are elementary motions like those of a tip.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import casadi as ca
import numpy as np

from flexarm.description.arm import Arm
from flexarm.description.cables import Cable
from flexarm.description.links import Pose
from flexarm.description.outside import Contact, Force, MovingBase
from flexarm.description.struts import Strut
from flexarm.mechanics.chain import TIP, Chain, Frame, taken, to_pose
from flexarm.mechanics.dynamics import (
    STILL,
    Root,
    base_frame,
    first_moment,
    input_matrix,
    kinetic_energy,
    outward,
    placed,
    twist_of_base,
    twists,
)
from flexarm.mechanics.elements import Along, Element, Push, Seen, along
from flexarm.mechanics.links import located
from flexarm.mechanics.moving import at
from flexarm.mechanics.orbit import gravity_gradient
from flexarm.mechanics.spatial import Motion, Scalar, Vector, added, cross, dot, entries, product, scaled
from flexarm.mechanics.springs import beyond


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
    few = chain.up_to(i)
    bodies, ways = outward(few, q, qd)
    return Station(placed(ways, base_frame(few, q))[-1], twists(few, qd, bodies, ways)[-1])


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


def with_outside(chain: Chain, arm: Arm) -> Chain:
    """Return the chain of an arm with its external loads.

    If its base is free, they are added once its pose is known.
    """
    if not arm.outside:
        return chain

    def elements(chain: Chain) -> tuple[Element, ...]:
        made = {"drive": drive, "distributed": distributed}
        acting = [made.get(each.kind, force)(chain, each, arm.number(each.link)) for each in arm.forces]
        acting += [contact(chain, each, arm.number(each.link)) for each in arm.contacts]
        acting += [strut(chain, each, arm.number) for each in arm.struts]
        acting += [cable(chain, each, arm.number) for each in arm.cables]
        acting += [gravity_gradient(chain, arm.orbit)] if arm.orbit else []
        return tuple(acting)

    if chain.base:
        return replace(chain, outside=elements)
    moved = arm.base is not None
    more = [moving_base(chain)] if moved else []
    return replace(chain, elements=(*chain.elements, *elements(chain), *more), moved=moved)


# -- forces ------------------------------------------------------------------------------------------------------------


def given_force(seen: Seen) -> Push:
    """Return the effect of an element whose force is its exogenous input, w."""
    return Push(seen.w, supplied=dot(seen.w, seen.v))


def force(chain: Chain, description: Force, link: int) -> Element:
    """Return the element of a force or a moment, whose components are w."""
    given = len(description.exogenous)
    first = 3 if description.kind == "moment" else 0
    both = velocity(chain, link, description.at, description.axes == "base")

    return Element(lambda q, qd: both(q, qd)[first : first + given], given_force, exogenous=given)


SPREAD, LEAST_SPREAD = 24, 6
"""Number of Gauss points of a distributed force over a link, and the smallest number for each segment of a beam.

Six points are exact for the shapes of a segment, and 24 for those of a beam in one piece with up to about 10 modes.
"""


def distributed(chain: Chain, description: Force, link: int) -> Element:
    """Return the element of a force that is spread evenly over a link. Its components w are the total force.

    The generalized force is the mean of (dv/dqd)' w over the length, by Gauss's quadrature on each body of the link.
    """
    members = len(chain.links[link])
    x, weights = np.polynomial.legendre.leggauss(max(LEAST_SPREAD, SPREAD // members))
    places = [(i + (1.0 + point) / 2.0) / members for i in range(members) for point in x.tolist()]
    shares = (weights / (2.0 * members)).tolist() * members
    moving = [velocity(chain, link, place, description.axes == "base") for place in places]

    def rates(q: Vector, qd: Vector) -> Vector:
        found: Vector = [0.0] * 3
        for share, rate in zip(shares, moving, strict=True):
            found = added(found, scaled(share, rate(q, qd)[:3]))
        return found

    return Element(rates, given_force, exogenous=3)


def drive(chain: Chain, description: Force, link: int) -> Element:
    """Return the element of a force at a drive. w is added to the actuator's force, along the rate B' qd."""
    place = chain.driven.index(chain.links[link][0])
    turned = [row[place] for row in input_matrix(chain)]

    return Element(along(turned), given_force, exogenous=len(description.exogenous))


# -- springs between points --------------------------------------------------------------------------------------------

TOGETHER = 1e-9
"""Share of the free length of a strut or a cable. Points that are nearer than this coincide, and the force between them
has no direction."""


def strut(chain: Chain, description: Strut, number: Callable[[str], int]) -> Element:
    """Return the element of a spring between a station and a point, or two stations. It has only a potential."""

    def place(name: str, x: float, q: Vector) -> Vector:
        return station(chain, number(name), x, q, [0.0] * len(q)).frame.p

    def energy(q: Vector) -> Scalar:
        other = place(description.to, description.to_at, q) if description.to else list(description.point)
        across = added(place(description.link, description.at, q), scaled(-1.0, other))
        squared = dot(across, across)
        if description.length == 0.0:
            return 0.5 * description.stiffness * squared
        apart = ca.sqrt(squared + (TOGETHER * description.length) ** 2)
        return 0.5 * description.stiffness * (apart - description.length) ** 2

    return Element(potential=energy)


# -- cables ------------------------------------------------------------------------------------------------------------


def cable(chain: Chain, description: Cable, number: Callable[[str], int]) -> Element:
    """Return the element of a cable of the length L with the unstretched length l, which acts along the rate of L.

    Its energy is V(L, l) = k p^2 / 2, where p is the part of L - l beyond zero and k is constant or EA / l. The tension
    is dV/dL plus that of the damper, which acts along p and is limited so that the sum is not negative.

    A cable of constant length has the potential V(L, l). A winch changes l. Only its start is a potential, and the
    difference V(L, l) - V(L, l_0) depends on the state. Its drum moves material at the rate l', which supplies the
    power dV/dl l', less the damper's force times l'.
    """
    if description.input == "tension":
        return pulled_by_input(chain, description, number)
    begun, soft = description.length or 0.0, description.smoothing
    winch, spent = description.input == "rate", TOGETHER * begun

    def far(q: Vector) -> Scalar:
        return span(chain, description, number, q, [0.0] * len(q))[0]

    def stretched(L: Scalar, paid_out: Scalar) -> Stretched:
        l = ca.fmax(begun + paid_out, spent) if winch else begun
        k = (description.stiffness or 0.0) if description.EA is None else description.EA / l
        p, slope = beyond(L - l, soft)
        wound = -k * p * slope - (0.0 if description.EA is None else 0.5 * k * p**2 / l)
        return Stretched(0.5 * k * p**2, k * p * slope, wound, k * p, slope)

    def damped(now: Stretched, rate: Scalar) -> tuple[Scalar, Scalar]:
        """Return the damper's force along L, and the power that it dissipates, at a rate of L - l."""
        if description.damping == 0.0:
            return 0.0, 0.0
        drag = ca.fmax(description.damping * now.slope * rate, -now.pull)
        return now.slope * drag, drag * now.slope * rate

    def push(seen: Seen) -> Push:
        (v,), L = seen.v, far(seen.q)
        first = stretched(L, 0.0)
        if not winch:
            drag, lost = damped(first, v)
            return Push([-drag], lost=lost)
        (paid_out,), (rate,) = seen.s, seen.w
        now = stretched(L, paid_out)
        drag, lost = damped(now, v - rate)
        left = ca.if_else(begun + paid_out > spent, 0.0, float("nan"))  # all solvers stop where no cable is left
        supplied = (now.wound - drag) * rate
        return Push([first.tension - now.tension - drag], [rate + left], lost, supplied)

    def tension(seen: Seen) -> Scalar:
        now = stretched(far(seen.q), seen.s[0] if winch else 0.0)
        return now.tension + damped(now, seen.v[0] - (seen.w[0] if winch else 0.0))[0]

    def more(q: Vector, s: Vector) -> Scalar:
        return stretched(far(q), s[0]).energy - stretched(far(q), 0.0).energy

    return Element(
        lambda q, qd: [span(chain, description, number, q, qd)[1]],
        push,
        lambda q: stretched(far(q), 0.0).energy,
        field=more if winch else None,
        states=len(description.states),
        exogenous=len(description.exogenous),
        tension=tension,
    )


class Stretched(NamedTuple):
    """A cable at a length L and an unstretched length l.

    Attributes
    ----------
    energy : V(L, l) [J]
    tension, wound : slopes of the energy with respect to L and to l [N]
    pull : force of the spring along its own deflection p [N]
    slope : dp/dL
    """

    energy: Scalar
    tension: Scalar
    wound: Scalar
    pull: Scalar
    slope: Scalar


def pulled_by_input(chain: Chain, description: Cable, number: Callable[[str], int]) -> Element:
    """Return the element of a cable whose tension is w."""

    def tension(seen: Seen) -> Scalar:
        return ca.fmax(seen.w[0], 0.0)

    def push(seen: Seen) -> Push:
        return Push([-tension(seen)], supplied=-tension(seen) * seen.v[0])

    def rate(q: Vector, qd: Vector) -> Vector:
        return [span(chain, description, number, q, qd)[1]]

    return Element(rate, push, exogenous=len(description.exogenous), tension=tension)


def span(
    chain: Chain, description: Cable, number: Callable[[str], int], q: Vector, qd: Vector
) -> tuple[Scalar, Scalar]:
    """Return the distance along the points of a cable, and its rate: a sum over the straight lines between them."""
    short = TOGETHER * (description.length or 1.0)
    places, rates = [], []
    for each in description.points:
        if not each.link:
            places.append(list(each.point))
            rates.append([0.0] * 3)
            continue
        here = station(chain, number(each.link), each.at, q, qd)
        places.append(here.frame.p)
        rates.append(product(here.frame.R, here.twist[:3]))
    length: Scalar = 0.0
    rate: Scalar = 0.0
    for (a, b), (v, w) in zip(pairwise(places), pairwise(rates), strict=True):
        across = added(b, scaled(-1.0, a))
        apart = ca.sqrt(dot(across, across) + short**2)
        length, rate = length + apart, rate + dot(across, added(w, scaled(-1.0, v))) / apart
    return length, rate


# -- contacts ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pressed:
    """Compression of a contact: d [m], and the spring's force k d^n [N]; both are zero if the contact is open."""

    d: Scalar
    spring: Scalar


def pressed(chain: Chain, description: Contact, link: int, q: Vector) -> Pressed:
    """Return the compression of a contact at a configuration."""
    p = station(chain, link, description.at, q, [0.0] * len(q)).frame.p
    away = dot(description.normal, added(p, scaled(-1.0, description.point)))
    d, n = ca.fmax(description.radius - away, 0.0), description.exponent
    return Pressed(d, description.stiffness * power(d, n))


def power(d: Scalar, n: float) -> Scalar:
    """Return d^n for d >= 0, with finite slopes of all orders at d = 0.

    For n = 1, 2, 3 they are those of the power itself. For other n, such as 1.5 of a Hertz contact, they are set to
    zero there. Otherwise some of them would have a negative exponent, and infinity times the zero slope of d is NaN.
    """
    if n in (1.0, 2.0, 3.0):
        return d ** int(n)
    return ca.if_else(d > 0.0, ca.if_else(d > 0.0, d, 1.0) ** n, 0.0)


def normal_force(description: Contact, now: Pressed, v: Vector) -> Scalar:
    """Return the force of the wall on a station [N], which never pulls. v is the velocity of the station."""
    return ca.fmax(now.spring * (1.0 - description.damping * dot(description.normal, v)), 0.0)


def contact(chain: Chain, description: Contact, link: int) -> Element:
    """Return the element of a contact.

    The spring is a potential, whose negative slope is its force. The damper is the remainder of the normal force. A
    Hertz contact has the exponent 1.5.
    """
    both = velocity(chain, link, description.at)
    n, mu = list(description.normal), description.friction
    tangents = in_plane(n)

    def potential(q: Vector) -> Scalar:
        now = pressed(chain, description, link, q)
        return now.spring * now.d / (description.exponent + 1.0)

    def push(seen: Seen) -> Push:
        now = pressed(chain, description, link, seen.q)
        N = normal_force(description, now, seen.v)
        slip = [dot(t, seen.v) for t in tangents]
        if description.model == "lugre":
            rubbing, s_dot = _bristles(description, N, slip, seen.s)
        else:
            rate = ca.sqrt(dot(slip, slip) + description.creep_rate**2) if mu else 1.0
            rubbing, s_dot = [mu * N * v / rate for v in slip], []
        force = scaled(N - now.spring, n)
        for t, f in zip(tangents, rubbing, strict=True):
            force = added(force, scaled(-f, t))
        return Push(force, s_dot, lost=-dot(force, seen.v))

    def sliding(seen: Seen) -> Vector:
        return _bent(description, [dot(t, seen.v) for t in tangents]) if states else []

    states = len(description.states)
    return Element(lambda q, qd: both(q, qd)[:3], push, potential=potential, steady=sliding, states=states)


STANDING = 1e-12
"""Rate below which a contact sticks [m/s], since the root of the squared rate has no slope at zero."""


def _bristles(description: Contact, N: Scalar, v: Vector, z: Vector) -> tuple[Vector, Vector]:
    """Return friction along the plane, and the bristles' rates: isotropic LuGre with a stiffness proportional to N.

    z' = v - sigma_0 |v| z / mu, F = N (sigma_0 z + sigma_1 z'); steady sliding has F = mu N v / |v|. The bristles'
    energy depends on N, which other forces change. It therefore counts as lost until it is returned.
    """
    sigma_0, sigma_1 = description.bristle_stiffness or 0.0, description.bristle_damping
    z_dot = [a - sigma_0 * _speed(v) * b / description.friction for a, b in zip(v, z, strict=True)]
    return [N * (sigma_0 * b + sigma_1 * c) for b, c in zip(z, z_dot, strict=True)], z_dot


def _bent(description: Contact, v: Vector) -> Vector:
    """Return the bristles in steady sliding: along v by mu / sigma_0. In a contact at rest they are straight."""
    far = description.friction / (description.bristle_stiffness or 0.0)
    return [ca.if_else(dot(v, v) > 0.0, far * x / _speed(v), 0.0) for x in v]


def _speed(v: Vector) -> Scalar:
    return ca.sqrt(dot(v, v) + STANDING**2)


def in_plane(normal: list[float]) -> tuple[list[float], list[float]]:
    """Return two unit vectors in a plane, right-handed with its normal, along coordinate axes if possible."""
    k = min(range(3), key=lambda i: (abs(normal[i]), i))
    first = [float(i == k) - normal[k] * normal[i] for i in range(3)]
    size = sum(x * x for x in first) ** 0.5
    along = [x / size for x in first]
    return along, cross(normal, along)


# -- the base ----------------------------------------------------------------------------------------------------------


def root(chain: Chain, w: Vector) -> Root:
    """Return the motion of the base, from all exogenous inputs."""
    if not chain.moved:
        return STILL
    given = w[-len(MovingBase.exogenous) :]
    return Root(given[:3], given[3:6], given[6:])


def moving_base(chain: Chain) -> Element:
    """Return the element that supplies the work of the inertial forces.

    The recursions contain the forces, see `Root`.
    """

    def push(seen: Seen) -> Push:
        return Push(
            [0.0] * len(seen.v), supplied=base_power(chain, seen.q, seen.v, root(replace(chain, moved=True), seen.w))
        )

    return Element(lambda q, qd: list(qd), push, exogenous=len(MovingBase.exogenous))


def base_power(chain: Chain, q: Vector, qd: Vector, moved: Root) -> Scalar:
    """Return the power of the inertial forces of a moved base, relative to the base [W].

    The terms are -a . dS/dt of its acceleration, like gravity's; d/dt of T(q, 0, w) at constant w of its rotation,
    centrifugal (Coriolis forces do no work); and -alpha . L with the angular momentum L = dT/dw at w = 0.
    """
    z, turn = ca.SX.sym("q", chain.size), ca.SX.sym("w", 3)
    rate, a, w, alpha = (ca.vertcat(*x) for x in (qd, moved.a, moved.w, moved.alpha))
    S, still = ca.vertcat(*first_moment(chain, entries(z))), [0.0] * chain.size
    T = ca.SX(kinetic_energy(chain, entries(z), still, entries(turn)))
    L = ca.gradient(ca.SX(kinetic_energy(chain, entries(z), qd, entries(turn))), turn)
    power = ca.jtimes(T, z, rate) - ca.dot(a, ca.jtimes(S, z, rate))
    (centrifugal,) = ca.substitute([power], [turn], [ca.SX(w)])
    (euler,) = ca.substitute([ca.dot(alpha, L)], [turn], [ca.SX.zeros(3)])
    (found,) = ca.substitute([centrifugal - euler], [z], [ca.SX(ca.vertcat(*q))])
    return entries(found)[0]
