"""What can be asked of a model at a state, as expressions: one function a quantity, named as `Model` names it.

Each takes the chain, `posed` where its base is free, and lists of scalars, and returns a list of scalars, or a list of
rows. s are the states of drives, w the exogenous inputs; an arm that has none is asked without them (`model.tracing`).
"""

from dataclasses import replace

import casadi as ca

from flexarm.mechanics import dynamics as dy
from flexarm.mechanics import links as whole
from flexarm.mechanics.chain import Chain, coordinate_rates, positions, taken
from flexarm.mechanics.elements import Pushed, potential_force, pushed, read, steady, stored
from flexarm.mechanics.elements import potential as elements_potential
from flexarm.mechanics.lean import lean
from flexarm.mechanics.outside import root
from flexarm.mechanics.spatial import Matrix, Vector, added, cross, dot, product, scaled, transposed


def mass_matrix(chain: Chain, q: Vector) -> Matrix:
    """M(q)."""
    return dy.mass_matrix(lean(chain), q)


def bias(chain: Chain, q: Vector, qd: Vector) -> Vector:
    """Coriolis and centrifugal force."""
    return dy.inertial_force(lean(chain), q, qd, _none(chain), (0.0, 0.0, 0.0))


def gravity_force(chain: Chain, q: Vector) -> Vector:
    """dV/dq of gravity."""
    less = lean(chain)
    return dy.inertial_force(less, q, _none(chain), _none(chain), less.down)


def stiffness_force(chain: Chain, q: Vector) -> Vector:
    """dV/dq of strain and springs."""
    return added(dy.stiffness_force(chain, q), potential_force(chain, q))


def damping_force(chain: Chain, q: Vector, qd: Vector) -> Vector:
    """Force of bearings, springs and links, and of drives at steady rates; motors are away."""
    return added(dy.damping_force(chain, q, qd), scaled(-1, _idle(chain, q, qd)))


def input_matrix(chain: Chain, q: Vector) -> Matrix:
    """B: generalized force = B u."""
    return dy.input_matrix(chain)


def forward_dynamics(chain: Chain, q: Vector, qd: Vector, s: Vector, u: Vector, w: Vector) -> Vector:
    """Acceleration, by recursion."""
    return dy.forward_dynamics(lean(chain), q, qd, acted(chain, q, qd, s, u, w).force, root(chain, w))


def forward_dynamics_dense(chain: Chain, q: Vector, qd: Vector, s: Vector, u: Vector, w: Vector) -> Vector:
    """Acceleration, from the whole inertia matrix."""
    return dy.forward_dynamics_dense(lean(chain), q, qd, acted(chain, q, qd, s, u, w).force, root(chain, w))


def inverse_dynamics(chain: Chain, q: Vector, qd: Vector, qdd: Vector) -> Vector:
    """Generalized force that gives the acceleration qdd; motors are away, drives as at steady rates."""
    less = lean(chain)
    passive = added(stiffness_force(chain, q), damping_force(chain, q, qd))
    return added(dy.inertial_force(less, q, qd, qdd, less.down), passive)


def energy(chain: Chain, q: Vector, qd: Vector, s: Vector) -> Vector:
    """Kinetic and potential energy; the latter with what the states of drives hold."""
    return _energy(chain, q, qd, s, dy.outward(chain, q, qd))


def _energy(chain: Chain, q: Vector, qd: Vector, s: Vector, passed: dy.Passed) -> Vector:
    potential = dy.potential_energy(chain, q, passed)
    return [
        dy.kinetic_energy(chain, q, qd, passed=passed),
        potential + elements_potential(chain, q) + stored(chain, q, s),
    ]


def momentum(chain: Chain, q: Vector, qd: Vector) -> Vector:
    """Momentum, and moment of momentum about the world's origin, in the world's axes."""
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
    """Power of the inputs."""
    return [acted(chain, q, qd, s, u, w).supplied]


def motors(chain: Chain, q: Vector, qd: Vector, s: Vector, u: Vector, w: Vector) -> Matrix:
    """Torque on the joint's side, before the gear has lost any of it, and current of the motor of each input."""
    return read(chain, q, qd, s, w, u)


def frames(chain: Chain, q: Vector) -> Matrix:
    """Poses (4, 4) of the bodies' base frames side by side; the last is the tip."""
    found = dy.frames(chain, q)
    return _side_by_side([*(found[members[0]] for members in chain.links), found[-1]])


def tip(chain: Chain, q: Vector) -> Matrix:
    """Pose (4, 4) of the payload frame."""
    return _side_by_side(dy.frames(chain, q)[-1:])


def deflections(chain: Chain, q: Vector) -> Matrix:
    """For each link its six tip functions, less their values where it is not deformed."""
    straight = [whole.section(chain, i, 1.0, q, deformed=False) for i in range(len(chain.links))]
    return [added(whole.tip(chain, i, q), scaled(-1.0, still)) for i, still in enumerate(straight)]


def state_rate(chain: Chain, q: Vector, qd: Vector, s: Vector, u: Vector, w: Vector) -> Vector:
    """What a simulation integrates: rates of the coordinates, qdd, rates of the drives' states, power of the inputs,
    power lost."""
    done = acted(chain, q, qd, s, u, w)
    qdd = dy.forward_dynamics(lean(chain), q, qd, done.force, root(chain, w))
    return _guarded(chain, q, [*coordinate_rates(chain, qd), *qdd, *done.s_dot, done.supplied, done.lost])


def state_residual(chain: Chain, q: Vector, qd: Vector, s: Vector, u: Vector, w: Vector, qdd: Vector) -> Vector:
    """What is left of the equation of motion for accelerations qdd that are not those of the motion; rates of the
    drives' states and of a free base's coordinates; powers as above."""
    done, less = acted(chain, q, qd, s, u, w), lean(chain)
    inertial = dy.inertial_force(less, q, qd, qdd, less.down, root(chain, w))
    left = added(done.force, scaled(-1, inertial))
    return _guarded(chain, q, [*left, *done.s_dot, *_pose_rates(chain, qd), done.supplied, done.lost])


def prescribed_residual(chain: Chain, q: Vector, qd: Vector, s: Vector, u: Vector, w: Vector, qdd: Vector) -> Vector:
    """The same with the driven coordinates' accelerations u given in place of the inputs."""
    done, less = _thrust(chain, qd, acted(chain, q, qd, s, None, w), u), lean(chain)
    inertial = dy.inertial_force(less, q, qd, qdd, less.down, root(chain, w))
    force = added(inertial, scaled(-1, done.force))
    driven, left = _driven(chain), scaled(-1.0, force)
    for n, value in zip(driven, u, strict=False):
        left[n] = value - qdd[n]
    power = dot([force[n] for n in driven], [qd[n] for n in driven])
    return _guarded(chain, q, [*left, *done.s_dot, *_pose_rates(chain, qd), power + done.supplied, done.lost])


def prescribed_rate(chain: Chain, q: Vector, qd: Vector, s: Vector, u: Vector, w: Vector) -> Vector:
    """The same with the driven coordinates' accelerations u given in place of the inputs.

    Each drive must move one coordinate, not a sum of several. The others follow from their part of the equations,
    M_ff qdd_f = -(everything else)_f, and the inputs' power from what the driven part then demands.
    """
    done = _thrust(chain, qd, acted(chain, q, qd, s, None, w), u)
    qdd, force = _prescribed(chain, q, qd, u, done.force, root(chain, w))
    driven = _driven(chain)
    power = dot([force[n] for n in driven], [qd[n] for n in driven])
    return _guarded(chain, q, [*coordinate_rates(chain, qd), *qdd, *done.s_dot, power + done.supplied, done.lost])


def prescribed_force(chain: Chain, q: Vector, qd: Vector, s: Vector, u: Vector, w: Vector) -> Vector:
    """The inputs that give the driven coordinates the accelerations u, the others moving as they must."""
    acting = _thrust(chain, qd, acted(chain, q, qd, s, None, w), u).force
    _, force = _prescribed(chain, q, qd, u, acting, root(chain, w))
    driven = _driven(chain)
    return [*(force[n] for n in driven), *u[len(driven) :]]


def _driven(chain: Chain) -> list[int]:
    """The coordinate that each joint's input moves; each must move one, not a sum of several."""
    columns = transposed(dy.input_matrix(chain))
    return [next(row for row in range(chain.size) if B[row]) for B in columns[: len(chain.driven)]]


def _thrust(chain: Chain, qd: Vector, done: Pushed, u: Vector) -> Pushed:
    """What acts with a free base's thrusters: their inputs are what they are where joints' motions are prescribed."""
    given = [*[0.0] * len(chain.driven), *u[len(chain.driven) :]]
    thrust = product(dy.input_matrix(chain), given)
    return done._replace(force=added(done.force, thrust), supplied=done.supplied + dot(thrust, qd))


def _pose_rates(chain: Chain, qd: Vector) -> Vector:
    """Rates of a free base's seven coordinates; none of any other."""
    return coordinate_rates(chain, qd)[: len(chain.stood)]


def _prescribed(
    chain: Chain, q: Vector, qd: Vector, u: Vector, acting: Vector, moved: dy.Root
) -> tuple[Vector, Vector]:
    """Accelerations, and generalized forces beside those that act, when the driven coordinates accelerate by u."""
    driven = _driven(chain)
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
    """The rates, or NaN where a telescope's length has left its range: no solver gets past that."""
    for body, own in zip(chain.bodies, chain.own, strict=True):
        eta = positions(own[1:])
        for position, low, high in body.limits:
            n = eta[position]
            inside = ca.logic_and(q[n] > low, q[n] <= high)
            rates[n] = rates[n] + ca.if_else(inside, 0.0, float("nan"))
    return rates


def observed(chain: Chain, q: Vector, qd: Vector, s: Vector) -> Vector:
    """What a result is made from beside the state: tip position, kinetic and potential energy, each link's deflections,
    and the rate B' qd at which each input works."""
    passed = dy.outward(chain, q, qd)
    place = dy.placed(passed[1], dy.base_frame(chain, q))[-1].p
    rates = product(transposed(dy.input_matrix(chain)), qd)
    return [*place, *_energy(chain, q, qd, s, passed), *(x for row in deflections(chain, q) for x in row), *rates]


def restoring_force(chain: Chain, q: Vector) -> Vector:
    """dV/dq of everything: springs, strain, gravity."""
    return added(stiffness_force(chain, q), gravity_force(chain, q))


def _none(chain: Chain) -> Vector:
    return [0.0] * chain.size


def acted(chain: Chain, q: Vector, qd: Vector, s: Vector, u: Vector | None, w: Vector) -> Pushed:
    """All that acts beside inertia and gravity, and what is supplied and lost; without u the actuators are away."""
    done = pushed(chain, q, qd, s, w, u)
    lost = dy.damping_force(chain, q, qd)
    passive = added(stiffness_force(chain, q), lost)
    plain = _plain(chain, u)
    force = added(added(plain, scaled(-1, passive)), done.force)
    return Pushed(force, done.s_dot, dot(qd, lost) + done.lost, dot(plain, qd) + done.supplied)


def _plain(chain: Chain, u: Vector | None) -> Vector:
    """Force of the inputs that no element has taken over."""
    if u is None:
        return _none(chain)
    taken_over = {element.input for element in chain.elements if element.takes_over}
    return product(dy.input_matrix(chain), [0.0 if i in taken_over else x for i, x in enumerate(u)])


def _idle(chain: Chain, q: Vector, qd: Vector) -> Vector:
    """Force of the elements at steady rates, with nothing from outside, the actuators away, without fields."""
    few = replace(chain, elements=tuple(e for e in chain.elements if e.field is None))
    outside = sum(e.exogenous for e in few.elements)
    return pushed(few, q, qd, steady(few, q, qd), [0.0] * outside, None).force


def _side_by_side(found: list[dy.Frame]) -> Matrix:
    rows = [[x for frame in found for x in (*frame.R[r], frame.p[r])] for r in range(3)]
    return [*rows, [0.0, 0.0, 0.0, 1.0] * len(found)]
