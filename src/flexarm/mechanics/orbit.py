"""Gravity gradient on an orbit: a rotating field, as an element in addition to the recursions.

With G = n^2 (3 r r' - 1) a mass at x in the world has the energy -1/2 x' G x, and the acceleration G x. For a body with
its frame at p with the axes R, of mass m, first moment S and inertia I about its frame's origin, the energy is

    V = -1/2 p' m G p - p' G R S + n^2/2 (3 r' R I R' r - tr I),

because the trace of G is zero, so that I may replace the second moment tr I / 2 - I. All three are parts of the body's
inertia M(eta), which includes all deformations and motions.
"""

import casadi as ca

from flexarm.description.free import Orbit
from flexarm.mechanics.chain import Chain
from flexarm.mechanics.dynamics import base_frame, outward, placed
from flexarm.mechanics.elements import Element, Push, Seen, gradient
from flexarm.mechanics.spatial import Scalar, Vector, added, cross, dot, entries, product, scaled, transposed


def gravity_gradient(chain: Chain, orbit: Orbit) -> Element:
    """Return the element of an orbit's field. Its state is the angle since `radial`."""
    n = orbit.rate

    def energy(q: Vector, s: Vector) -> Scalar:
        return potential(chain, n, vertical(orbit, s[0]), q)

    def push(seen: Seen) -> Push:
        angle = ca.SX.sym("angle")
        turning = ca.substitute(ca.gradient(ca.SX(energy(seen.q, [angle])), angle), angle, ca.SX(seen.s[0]))
        force = scaled(-1.0, gradient(lambda q: energy(q, seen.s), seen.q))
        return Push(force, [n], supplied=n * entries(ca.densify(turning))[0])

    return Element(lambda q, qd: list(qd), push, field=energy, states=len(orbit.states))


def vertical(orbit: Orbit, angle: Scalar) -> Vector:
    """Return the unit vector away from the centre of attraction, in the world."""
    first, second = list(orbit.radial), cross(list(orbit.normal), list(orbit.radial))
    return added(scaled(ca.cos(angle), first), scaled(ca.sin(angle), second))


def potential(chain: Chain, n: float, r: Vector, q: Vector) -> Scalar:
    """Return the energy of all bodies in the field with the vertical r [J]."""
    bodies, ways = outward(chain, q, [0.0] * chain.size)
    V: Scalar = 0.0
    for here, frame in zip(bodies, placed(ways, base_frame(chain, q)), strict=True):
        p, m, I = frame.p, here.M[0][0], [row[3:6] for row in here.M[3:6]]
        S = product(frame.R, [here.M[1][5], here.M[2][3], here.M[0][4]])
        own = product(transposed(frame.R), r)
        both = added(scaled(0.5 * m, p), S)  # 1/2 p' m G p + p' G S = (m p / 2 + S)' G p
        V = V - (3.0 * dot(r, both) * dot(r, p) - dot(both, p))
        V = V + 0.5 * (3.0 * dot(own, product(I, own)) - (I[0][0] + I[1][1] + I[2][2]))
    return n * n * V
