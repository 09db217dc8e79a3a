"""External loads on an arm: forces, contacts, springs between points and frames, cables, and the motion of its base."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import casadi as ca
import numpy as np

from flexarm.description.arm import Arm
from flexarm.description.cables import Cable
from flexarm.description.closures import Bushing
from flexarm.description.outside import Contact, Drag, Force, MovingBase
from flexarm.description.struts import Strut
from flexarm.mechanics.chain import Chain
from flexarm.mechanics.dynamics import STILL, Root, first_moment, input_matrix, kinetic_energy
from flexarm.mechanics.elements import Element, Push, Seen, along
from flexarm.mechanics.orbit import gravity_gradient
from flexarm.mechanics.spatial import Scalar, Vector, added, cross, dot, entries, product, scaled
from flexarm.mechanics.springs import beyond
from flexarm.mechanics.stations import between, station, velocity


def with_outside(chain: Chain, arm: Arm) -> Chain:
    """Return the chain of an arm with its external loads.

    If it has a free base or ball joints, they are added once the pose of these is known.
    """
    if not arm.outside:
        return chain

    def elements(chain: Chain) -> tuple[Element, ...]:
        made = {"drive": drive, "distributed": distributed}
        acting = [made.get(each.kind, force)(chain, each, arm.number(each.link)) for each in arm.forces]
        acting += [contact(chain, each, arm.number(each.link)) for each in arm.contacts]
        acting += [strut(chain, each, arm.number) for each in arm.struts]
        acting += [cable(chain, each, arm.number) for each in arm.cables]
        acting += [bushing(chain, each) for each in arm.bushings]
        acting += [drag(chain, each, arm.number(each.link)) for each in arm.drags]
        acting += [gravity_gradient(chain, arm.orbit)] if arm.orbit else []
        acting += [moving_base(chain)] if chain.moved else []
        return tuple(acting)

    moved = arm.base is not None and not arm.free
    if chain.base or chain.balls:
        return replace(chain, outside=elements, moved=moved)
    chain = replace(chain, moved=moved)
    return replace(chain, elements=(*chain.elements, *elements(chain)))


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


SPREAD, LEAST_SPREAD, LEAST_SQUARED = 24, 6, 8
"""Number of Gauss points of a distributed force over a link, and the smallest number for each segment of a beam.

Six points are exact for the shapes of a segment, eight for their products, and 24 for both, of a beam in one piece with
up to about 10 modes.
"""


def spread(members: int, least: int) -> tuple[list[float], list[float]]:
    """Return stations over a link of so many bodies, and their shares of the length: Gauss's rule on each body."""
    x, weights = np.polynomial.legendre.leggauss(max(least, SPREAD // members))
    places = [(i + (1.0 + point) / 2.0) / members for i in range(members) for point in x.tolist()]
    return places, (weights / (2.0 * members)).tolist() * members


def distributed(chain: Chain, description: Force, link: int) -> Element:
    """Return the element of a force that is spread evenly over a link. Its components w are the total force.

    The generalized force is the mean of (dv/dqd)' w over the length.
    """
    places, shares = spread(len(chain.links[link]), LEAST_SPREAD)
    moving = [velocity(chain, link, place, description.axes == "base") for place in places]

    def rates(q: Vector, qd: Vector) -> Vector:
        found: Vector = [0.0] * 3
        for share, rate in zip(shares, moving, strict=True):
            found = added(found, scaled(share, rate(q, qd)[:3]))
        return found

    return Element(rates, given_force, exogenous=3)


def drag(chain: Chain, description: Drag, link: int) -> Element:
    """Return the element of a viscous drag that is spread evenly over a link, along the axes of its sections."""
    places, shares = spread(len(chain.links[link]), LEAST_SQUARED)
    moving = [velocity(chain, link, place, in_base=False) for place in places]
    resistance = [share * c for share in shares for c in description.coefficient]

    def rates(q: Vector, qd: Vector) -> Vector:
        return [v for rate in moving for v in rate(q, qd)[:3]]

    def push(seen: Seen) -> Push:
        force = [-c * v for c, v in zip(resistance, seen.v, strict=True)]
        return Push(force, lost=-dot(force, seen.v))

    return Element(rates, push)


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


def bushing(chain: Chain, description: Bushing) -> Element:
    """Return the element of six springs and dampers between two frames.

    With the second frame at p, R in the first one, and phi = 2 sin(angle / 2) times the axis of R, the energy is

        V = 1/2 sum k_i p_i^2 + 1/2 sum c_i phi_i^2,    phi_i^2 = 1 + 2 R_ii - tr R

    which is smooth for every rotation. The dampers act along the rate of p and the relative angular velocity.
    """
    still, resistance = [0.0] * chain.size, [*description.damping, *description.angular_damping]

    def energy(q: Vector) -> Scalar:
        here = between(chain, description, q, still)
        trace = here.R[0][0] + here.R[1][1] + here.R[2][2]
        bent = [1.0 + 2.0 * here.R[i][i] - trace for i in range(3)]
        moved = [x * x for x in here.p]
        return 0.5 * (dot(description.stiffness, moved) + dot(description.angular_stiffness, bent))

    def rates(q: Vector, qd: Vector) -> Vector:
        here = between(chain, description, q, qd)
        return [*here.v, *here.w]

    def push(seen: Seen) -> Push:
        force = [-d * v for d, v in zip(resistance, seen.v, strict=True)]
        return Push(force, lost=-dot(force, seen.v))

    return Element(rates, push, potential=energy) if any(resistance) else Element(potential=energy)


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
        touches=lambda q, s: [far(q) - (ca.fmax(begun + s[0], spent) if winch else begun)],
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


def depth(chain: Chain, description: Contact, link: int, q: Vector) -> Scalar:
    """Return how far a contact's ball is in the wall [m], negative where it is in front of it."""
    p = station(chain, link, description.at, q, [0.0] * len(q)).frame.p
    return description.radius - dot(description.normal, added(p, scaled(-1.0, description.point)))


def pressed(chain: Chain, description: Contact, link: int, q: Vector) -> Pressed:
    """Return the compression of a contact at a configuration."""
    d, n = ca.fmax(depth(chain, description, link, q), 0.0), description.exponent
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
    return Element(
        lambda q, qd: both(q, qd)[:3],
        push,
        potential=potential,
        steady=sliding,
        states=states,
        touches=lambda q, s: [depth(chain, description, link, q)],
    )


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
