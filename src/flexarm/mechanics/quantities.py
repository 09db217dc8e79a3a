"""What can be asked of a model at a state, as expressions: one function a quantity, named as `Model` names it.

Each takes the chain and lists of scalars and returns a list of scalars, or a list of rows.
"""

import casadi as ca

from flexarm.mechanics import dynamics as dy
from flexarm.mechanics.body import undeformed
from flexarm.mechanics.chain import Chain, positions, taken
from flexarm.mechanics.dynamics import stiffness_force
from flexarm.mechanics.lean import lean
from flexarm.mechanics.spatial import Matrix, Vector, added, dot, product, scaled, transposed

__all__ = ["stiffness_force"]


def mass_matrix(chain: Chain, q: Vector) -> Matrix:
    """M(q)."""
    return dy.mass_matrix(lean(chain), q)


def bias(chain: Chain, q: Vector, qd: Vector) -> Vector:
    """Coriolis and centrifugal force."""
    return dy.inertial_force(lean(chain), q, qd, _none(chain), (0.0, 0.0, 0.0))


def gravity_force(chain: Chain, q: Vector) -> Vector:
    """dV/dq of gravity."""
    less = lean(chain)
    return dy.inertial_force(less, q, _none(chain), _none(chain), less.gravity)


def damping_force(chain: Chain, q: Vector, qd: Vector) -> Vector:
    """Force of bearings, springs and links."""
    return dy.damping_force(chain, qd)


def input_matrix(chain: Chain, q: Vector) -> Matrix:
    """B: generalized force = B u."""
    return dy.input_matrix(chain)


def forward_dynamics(chain: Chain, q: Vector, qd: Vector, u: Vector) -> Vector:
    """Acceleration, by recursion."""
    return dy.forward_dynamics(lean(chain), q, qd, _applied(chain, q, qd, u))


def forward_dynamics_dense(chain: Chain, q: Vector, qd: Vector, u: Vector) -> Vector:
    """Acceleration, from the whole inertia matrix."""
    return dy.forward_dynamics_dense(lean(chain), q, qd, _applied(chain, q, qd, u))


def inverse_dynamics(chain: Chain, q: Vector, qd: Vector, qdd: Vector) -> Vector:
    """Generalized force that gives the acceleration qdd."""
    less = lean(chain)
    return added(dy.inertial_force(less, q, qd, qdd, less.gravity), _passive(chain, q, qd))


def energy(chain: Chain, q: Vector, qd: Vector) -> Vector:
    """Kinetic and potential energy."""
    return [dy.kinetic_energy(chain, q, qd), dy.potential_energy(chain, q)]


def frames(chain: Chain, q: Vector) -> Matrix:
    """Poses (4, 4) of the bodies' base frames side by side; the last is the tip."""
    return _side_by_side(dy.frames(chain, q))


def tip(chain: Chain, q: Vector) -> Matrix:
    """Pose (4, 4) of the payload frame."""
    return _side_by_side(dy.frames(chain, q)[-1:])


def deflections(chain: Chain, q: Vector) -> Matrix:
    """For each link its six tip functions, less their values where it is not deformed."""
    rows = []
    for body, own in list(zip(chain.bodies, chain.own, strict=True))[:-1]:
        eta = taken(q, own)[1:]
        rows.append(added(body.tip(eta), scaled(-1.0, body.tip(undeformed(body, eta)))))
    return rows


def state_rate(chain: Chain, q: Vector, qd: Vector, u: Vector) -> Vector:
    """What a simulation integrates: qd, qdd, the inputs' power, the power lost in dampers."""
    power = dot(product(dy.input_matrix(chain), u), qd)
    return _guarded(chain, q, [*qd, *forward_dynamics(chain, q, qd, u), power, dot(qd, dy.damping_force(chain, qd))])


def state_residual(chain: Chain, q: Vector, qd: Vector, u: Vector, qdd: Vector) -> Vector:
    """What is left of the equation of motion for accelerations qdd that are not those of the motion; the powers."""
    B = dy.input_matrix(chain)
    left = added(product(B, u), scaled(-1.0, inverse_dynamics(chain, q, qd, qdd)))
    return _guarded(chain, q, [*left, dot(product(B, u), qd), dot(qd, dy.damping_force(chain, qd))])


def prescribed_residual(chain: Chain, q: Vector, qd: Vector, u: Vector, qdd: Vector) -> Vector:
    """The same with the driven coordinates' accelerations u given in place of the inputs."""
    force, driven = inverse_dynamics(chain, q, qd, qdd), _driven(chain)
    left = scaled(-1.0, force)
    for n, value in zip(driven, u, strict=True):
        left[n] = value - qdd[n]
    power = dot([force[n] for n in driven], [qd[n] for n in driven])
    return _guarded(chain, q, [*left, power, dot(qd, dy.damping_force(chain, qd))])


def prescribed_rate(chain: Chain, q: Vector, qd: Vector, u: Vector) -> Vector:
    """The same with the driven coordinates' accelerations u given in place of the inputs.

    Each drive must move one coordinate, not a sum of several. The others follow from their part of the equations,
    M_ff qdd_f = -(everything else)_f, and the inputs' power from what the driven part then demands.
    """
    qdd, force = _prescribed(chain, q, qd, u)
    driven = _driven(chain)
    power = dot([force[n] for n in driven], [qd[n] for n in driven])
    return _guarded(chain, q, [*qd, *qdd, power, dot(qd, dy.damping_force(chain, qd))])


def prescribed_force(chain: Chain, q: Vector, qd: Vector, u: Vector) -> Vector:
    """The inputs that give the driven coordinates the accelerations u, the others moving as they must."""
    _, force = _prescribed(chain, q, qd, u)
    return [force[n] for n in _driven(chain)]


def _driven(chain: Chain) -> list[int]:
    """The coordinate that each input moves; each must move one, not a sum of several."""
    return [next(row for row in range(chain.size) if B[row]) for B in transposed(dy.input_matrix(chain))]


def _prescribed(chain: Chain, q: Vector, qd: Vector, u: Vector) -> tuple[Vector, Vector]:
    """Accelerations, and generalized forces, when the driven coordinates accelerate by u."""
    driven = _driven(chain)
    free = [n for n in range(chain.size) if n not in driven]
    qdd = _none(chain)
    for n, value in zip(driven, u, strict=True):
        qdd[n] = value
    M, force = mass_matrix(chain, q), inverse_dynamics(chain, q, qd, qdd)
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


def observed(chain: Chain, q: Vector, qd: Vector) -> Vector:
    """What a result is made from beside the state: tip position, kinetic and potential energy, each link's deflections,
    and the rate B' qd at which each input works."""
    place = dy.frames(chain, q)[-1].p
    rates = product(transposed(dy.input_matrix(chain)), qd)
    return [*place, *energy(chain, q, qd), *(x for row in deflections(chain, q) for x in row), *rates]


def restoring_force(chain: Chain, q: Vector) -> Vector:
    """dV/dq of everything: springs, strain, gravity."""
    return added(stiffness_force(chain, q), gravity_force(chain, q))


def _none(chain: Chain) -> Vector:
    return [0.0] * chain.size


def _passive(chain: Chain, q: Vector, qd: Vector) -> Vector:
    return added(stiffness_force(chain, q), dy.damping_force(chain, qd))


def _applied(chain: Chain, q: Vector, qd: Vector, u: Vector) -> Vector:
    return added(product(dy.input_matrix(chain), u), scaled(-1, _passive(chain, q, qd)))


def _side_by_side(found: list[dy.Frame]) -> Matrix:
    rows = [[x for frame in found for x in (*frame.R[r], frame.p[r])] for r in range(3)]
    return [*rows, [0.0, 0.0, 0.0, 1.0] * len(found)]
