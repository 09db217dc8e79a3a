"""Quantities of a model at a state, as expressions: one function per quantity, with the name that `Model` uses.

Each function takes the chain, `posed` if its base is free, and lists of scalars. It returns a list of scalars, or a
list of rows. s are the states of drives and w the exogenous inputs, which are absent for an arm that has none
(`model.tracing`).
"""

from collections.abc import Iterable
from dataclasses import replace

import casadi as ca

from flexarm.mechanics import closures as loops
from flexarm.mechanics import dynamics as dy
from flexarm.mechanics import links as whole
from flexarm.mechanics.chain import Chain, bracket, coordinate_rates, positions, taken
from flexarm.mechanics.elements import Pushed, potential_force, pushed, read, steady, stored, tensions
from flexarm.mechanics.elements import potential as elements_potential
from flexarm.mechanics.lean import lean
from flexarm.mechanics.outside import root
from flexarm.mechanics.remembered import remembered
from flexarm.mechanics.spatial import Matrix, Vector, added, cross, dot, product, scaled, transposed


def mass_matrix(chain: Chain, q: Vector) -> Matrix:
    """Return M(q)."""
    return dy.mass_matrix(lean(chain), q)


def bias(chain: Chain, q: Vector, qd: Vector) -> Vector:
    """Return the Coriolis and centrifugal force."""
    return dy.inertial_force(lean(chain), q, qd, _none(chain), (0.0, 0.0, 0.0))


def coriolis_force(chain: Chain, q: Vector, qd: Vector, v: Vector) -> Vector:
    """Return C(q, qd) v of the Levi-Civita connection of M, for which dM/dt - 2 C is skew.

        C(q, qd) v = h(q, (qd + v) / 2) - h(q, (qd - v) / 2) + M [qd, v] / 2,    h(q, qd) = C(q, qd) qd

    For coordinates these are Christoffel's symbols, which are symmetric, so that the bias h determines them. Twists of
    a free base and rates of ball joints are no rates of coordinates, and have a Lie bracket [qd, v] besides.
    """
    return _with_reference(chain, q, qd, v, _none(chain), (0.0, 0.0, 0.0))


def reference_dynamics(chain: Chain, q: Vector, qd: Vector, v: Vector, qdd: Vector) -> Vector:
    """Return M qdd + C(q, qd) v and the other forces of inverse dynamics, which has v = qd."""
    passive = added(stiffness_force(chain, q), damping_force(chain, q, qd))
    return added(_with_reference(chain, q, qd, v, qdd, lean(chain).down), passive)


def _with_reference(chain: Chain, q: Vector, qd: Vector, v: Vector, qdd: Vector, gravity: Iterable[float]) -> Vector:
    """Return M qdd + C(q, qd) v + gravity."""
    less = lean(chain)
    sum_, difference = (scaled(0.5, added(qd, scaled(sign, v))) for sign in (1.0, -1.0))
    acceleration = added(qdd, scaled(0.5, bracket(chain, qd, v)))
    forward = dy.inertial_force(less, q, sum_, acceleration, gravity)
    return added(forward, scaled(-1.0, dy.inertial_force(less, q, difference, _none(chain), (0.0, 0.0, 0.0))))


def gravity_force(chain: Chain, q: Vector) -> Vector:
    """Return dV/dq of gravity."""
    less = lean(chain)
    return dy.inertial_force(less, q, _none(chain), _none(chain), less.down)


@remembered
def stiffness_force(chain: Chain, q: Vector) -> Vector:
    """Return dV/dq of strain and springs."""
    return added(dy.stiffness_force(chain, q), potential_force(chain, q))


def damping_force(chain: Chain, q: Vector, qd: Vector) -> Vector:
    """Return the force of bearings, springs and links, and of drives at steady rates, without motors."""
    return added(dy.damping_force(chain, q, qd), scaled(-1, _idle(chain, q, qd)))


def input_matrix(chain: Chain, q: Vector) -> Matrix:
    """Return B: generalized force = B u."""
    return dy.input_matrix(chain)


def forward_dynamics(chain: Chain, q: Vector, qd: Vector, s: Vector, u: Vector, w: Vector) -> Vector:
    """Return the acceleration by recursion."""
    return loops.motion(chain, q, qd, acted(chain, q, qd, s, u, w).force, root(chain, w)).qdd


def forward_dynamics_dense(chain: Chain, q: Vector, qd: Vector, s: Vector, u: Vector, w: Vector) -> Vector:
    """Return the acceleration from the full inertia matrix."""
    force = acted(chain, q, qd, s, u, w).force
    return loops.motion(chain, q, qd, force, root(chain, w), dy.forward_dynamics_dense).qdd


def inverse_dynamics(chain: Chain, q: Vector, qd: Vector, qdd: Vector) -> Vector:
    """Return the generalized force of the acceleration qdd, without motors and with drives at steady rates."""
    less = lean(chain)
    passive = added(stiffness_force(chain, q), damping_force(chain, q, qd))
    return added(dy.inertial_force(less, q, qd, qdd, less.down), passive)


def energy(chain: Chain, q: Vector, qd: Vector, s: Vector) -> Vector:
    """Return kinetic and potential energy, the latter including energy in the states of drives."""
    return _energy(chain, q, qd, s, dy.outward(chain, q, qd))


def _energy(chain: Chain, q: Vector, qd: Vector, s: Vector, passed: dy.Passed) -> Vector:
    potential = dy.potential_energy(chain, q, passed)
    return [
        dy.kinetic_energy(chain, q, qd, passed=passed),
        potential + elements_potential(chain, q) + stored(chain, q, s),
    ]


def momentum(chain: Chain, q: Vector, qd: Vector) -> Vector:
    """Return momentum, and angular momentum about the world's origin, in the world's axes."""
    bodies, ways = dy.outward(chain, q, qd)
    twists = dy.twists(chain, qd, bodies, ways)
    linear, angular = [0.0] * 3, [0.0] * 3
    frames = dy.placed(ways, dy.base_frame(chain, q))
    for here, own, twist, frame in zip(bodies, chain.own, twists, frames, strict=True):
        both = product(here.M[:6], twist + taken(qd, own))
        p = product(frame.R, both[:3])
        linear = added(linear, p)
        angular = added(angular, added(product(frame.R, both[3:]), cross(frame.p, p)))
    return [*linear, *angular]


def power(chain: Chain, q: Vector, qd: Vector, s: Vector, u: Vector, w: Vector) -> Vector:
    """Return the power of the inputs."""
    return [acted(chain, q, qd, s, u, w).supplied]


def motors(chain: Chain, q: Vector, qd: Vector, s: Vector, u: Vector, w: Vector) -> Matrix:
    """Return torque on the joint's side, before gear losses, and current of the motor of each input."""
    return read(chain, q, qd, s, w, u)


def tension(chain: Chain, q: Vector, qd: Vector, s: Vector, w: Vector) -> Vector:
    """Return the tension of each cable [N]."""
    return tensions(chain, q, qd, s, w)


def frames(chain: Chain, q: Vector) -> Matrix:
    """Return the poses (4, 4) of the bodies' base frames side by side. The last is the tip."""
    found = dy.frames(chain, q)
    return _side_by_side([*(found[members[0]] for members in chain.links), found[-1]])


def tip(chain: Chain, q: Vector) -> Matrix:
    """Return the pose (4, 4) of the payload frame."""
    return _side_by_side(dy.frames(chain, q)[-1:])


def deflections(chain: Chain, q: Vector) -> Matrix:
    """Return each link's six tip functions minus their values in the undeformed link."""
    straight = [whole.section(chain, i, 1.0, q, deformed=False) for i in range(len(chain.links))]
    return [added(whole.tip(chain, i, q), scaled(-1.0, still)) for i, still in enumerate(straight)]


def state_rate(chain: Chain, q: Vector, qd: Vector, s: Vector, u: Vector, w: Vector) -> Vector:
    """Return rates that a simulation integrates: of coordinates, qd and drives' states, and input and lost power."""
    done = acted(chain, q, qd, s, u, w)
    qdd = loops.motion(chain, q, qd, done.force, root(chain, w)).qdd
    return _guarded(chain, q, [*coordinate_rates(chain, qd), *qdd, *done.s_dot, done.supplied, done.lost])


def state_residual(chain: Chain, q: Vector, qd: Vector, s: Vector, u: Vector, w: Vector, qdd: Vector) -> Vector:
    """Return the residual of the equation of motion for accelerations qdd, and the rates that do not depend on qdd.

    These are the rates of the drives' states and of a free base's coordinates, and the powers as above.
    """
    done, less = acted(chain, q, qd, s, u, w), lean(chain)
    inertial = dy.inertial_force(less, q, qd, qdd, less.down, root(chain, w))
    force = done.force
    if chain.closures:
        force = added(force, loops.motion(chain, q, qd, force, root(chain, w)).force)
    left = added(force, scaled(-1, inertial))
    return _guarded(chain, q, [*left, *done.s_dot, *_pose_rates(chain, qd), done.supplied, done.lost])


def closure_gaps(chain: Chain, q: Vector, qd: Vector) -> Matrix:
    """Return the gap of each condition of the closures and its rate."""
    return [list(both) for both in zip(loops.gaps(chain, q), loops.rates(chain, q, qd), strict=True)]


def closure_reactions(chain: Chain, q: Vector, qd: Vector, s: Vector, u: Vector, w: Vector) -> Matrix:
    """Return the wrench of each closure on its second frame, along the axes of the first."""
    done = loops.motion(chain, q, qd, acted(chain, q, qd, s, u, w).force, root(chain, w))
    return loops.wrenches(chain, q, done.reactions)


def prescribed_residual(chain: Chain, q: Vector, qd: Vector, s: Vector, u: Vector, w: Vector, qdd: Vector) -> Vector:
    """Return the residual with given accelerations u of the driven coordinates in place of the inputs."""
    done, less = _thrust(chain, qd, acted(chain, q, qd, s, None, w), u), lean(chain)
    inertial = dy.inertial_force(less, q, qd, qdd, less.down, root(chain, w))
    force = added(inertial, scaled(-1, done.force))
    if chain.closures:
        given = dict(zip(loops.driven(chain), u, strict=False))
        found = loops.motion(chain, q, qd, done.force, root(chain, w), prescribed=given)
        force = added(force, scaled(-1, found.force))
    driven, left = loops.driven(chain), scaled(-1.0, force)
    for n, value in zip(driven, u, strict=False):
        left[n] = value - qdd[n]
    power = dot([force[n] for n in driven], [qd[n] for n in driven])
    return _guarded(chain, q, [*left, *done.s_dot, *_pose_rates(chain, qd), power + done.supplied, done.lost])


def prescribed_rate(chain: Chain, q: Vector, qd: Vector, s: Vector, u: Vector, w: Vector) -> Vector:
    """Return the rates with given accelerations u of the driven coordinates in place of the inputs.

    Each drive must move one coordinate, not a sum of several. The other coordinates follow from their part of the
    equations, M_ff qdd_f = -(everything else)_f, and the inputs' power follows from the driven part.
    """
    done = _thrust(chain, qd, acted(chain, q, qd, s, None, w), u)
    qdd, force = _prescribed(chain, q, qd, u, done.force, root(chain, w))
    driven = loops.driven(chain)
    power = dot([force[n] for n in driven], [qd[n] for n in driven])
    return _guarded(chain, q, [*coordinate_rates(chain, qd), *qdd, *done.s_dot, power + done.supplied, done.lost])


def prescribed_force(chain: Chain, q: Vector, qd: Vector, s: Vector, u: Vector, w: Vector) -> Vector:
    """Return the inputs that give the driven coordinates the accelerations u, while the others move freely."""
    acting = _thrust(chain, qd, acted(chain, q, qd, s, None, w), u).force
    _, force = _prescribed(chain, q, qd, u, acting, root(chain, w))
    driven = loops.driven(chain)
    return [*(force[n] for n in driven), *u[len(driven) :]]


def _thrust(chain: Chain, qd: Vector, done: Pushed, u: Vector) -> Pushed:
    """Return the loads with a free base's thrusters, whose inputs stay inputs if the joints' motion is prescribed."""
    given = [*[0.0] * len(chain.driven), *u[len(chain.driven) :]]
    thrust = product(dy.input_matrix(chain), given)
    return done._replace(force=added(done.force, thrust), supplied=done.supplied + dot(thrust, qd))


def _pose_rates(chain: Chain, qd: Vector) -> Vector:
    """Return the rates of the coordinates of a free base and of ball joints."""
    return coordinate_rates(chain, qd)[: len(chain.stood)]


def _prescribed(
    chain: Chain, q: Vector, qd: Vector, u: Vector, acting: Vector, moved: dy.Root
) -> tuple[Vector, Vector]:
    """Return accelerations, and additional generalized forces, for accelerations u of driven coordinates."""
    driven = loops.driven(chain)
    if chain.closures:
        found = loops.motion(chain, q, qd, acting, moved, prescribed=dict(zip(driven, u, strict=False)))
        forces = dict(zip(driven, found.prescribed, strict=True))
        return found.qdd, [forces.get(n, 0.0) for n in range(chain.size)]
    free = [n for n in range(chain.size) if n not in driven]
    qdd = _none(chain)
    for n, value in zip(driven, u, strict=False):
        qdd[n] = value
    less = lean(chain)
    M = dy.mass_matrix(less, q)
    force = added(dy.inertial_force(less, q, qd, qdd, less.down, moved), scaled(-1, acting))
    _, _, pivots = dy.eliminate([[M[r][c] for c in free] for r in free], [-force[r] for r in free], 0)
    for n, value in zip(free, dy.substitute(pivots, []), strict=True):
        qdd[n] = value
    for n in driven:
        force[n] = force[n] + dot([M[n][f] for f in free], [qdd[f] for f in free])
    return qdd, force


def _guarded(chain: Chain, q: Vector, rates: Vector) -> Vector:
    """Return the rates, or NaN if a telescope's length is out of its range, at which any solver stops."""
    for body, own in zip(chain.bodies, chain.own, strict=True):
        eta = positions(own[1:])
        for position, low, high in body.limits:
            n = eta[position]
            inside = ca.logic_and(q[n] > low, q[n] <= high)
            rates[n] = rates[n] + ca.if_else(inside, 0.0, float("nan"))
    return rates


def observed(chain: Chain, q: Vector, qd: Vector, s: Vector) -> Vector:
    """Return a result's quantities in addition to the state.

    They are tip position, kinetic and potential energy, each link's deflections, and the rate B' qd at which each input
    does work.
    """
    passed = dy.outward(chain, q, qd)
    place = dy.placed(passed[1], dy.base_frame(chain, q))[-1].p
    rates = product(transposed(dy.input_matrix(chain)), qd)
    return [*place, *_energy(chain, q, qd, s, passed), *(x for row in deflections(chain, q) for x in row), *rates]


def restoring_force(chain: Chain, q: Vector) -> Vector:
    """Return dV/dq of springs, strain and gravity."""
    return added(stiffness_force(chain, q), gravity_force(chain, q))


def _none(chain: Chain) -> Vector:
    return [0.0] * chain.size


@remembered
def acted(chain: Chain, q: Vector, qd: Vector, s: Vector, u: Vector | None, w: Vector) -> Pushed:
    """Return all loads except inertia and gravity, and the supplied and lost power. u is None without actuators."""
    done = pushed(chain, q, qd, s, w, u)
    lost = dy.damping_force(chain, q, qd)
    passive = added(stiffness_force(chain, q), lost)
    plain = _plain(chain, u)
    force = added(added(plain, scaled(-1, passive)), done.force)
    return Pushed(force, done.s_dot, dot(qd, lost) + done.lost, dot(plain, qd) + done.supplied)


def _plain(chain: Chain, u: Vector | None) -> Vector:
    """Return the force of the inputs that no element has taken over."""
    if u is None:
        return _none(chain)
    taken_over = {element.input for element in chain.elements if element.takes_over}
    return product(dy.input_matrix(chain), [0.0 if i in taken_over else x for i, x in enumerate(u)])


def _idle(chain: Chain, q: Vector, qd: Vector) -> Vector:
    """Return the force of the elements at steady rates, without external loads, actuators and fields."""
    few = replace(chain, elements=tuple(e for e in chain.elements if e.field is None))
    outside = sum(e.exogenous for e in few.elements)
    return pushed(few, q, qd, steady(few, q, qd), [0.0] * outside, None).force


def _side_by_side(found: list[dy.Frame]) -> Matrix:
    rows = [[x for frame in found for x in (*frame.R[r], frame.p[r])] for r in range(3)]
    return [*rows, [0.0, 0.0, 0.0, 1.0] * len(found)]
