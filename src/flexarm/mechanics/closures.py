"""Closed loops: the conditions of closures, and the motion under their reactions.

A closure restricts the relative pose of two frames: gap(q) = 0, with rates J qd = 0. Its reactions J' lambda do no
work. They follow from the tree's accelerations, which are affine in lambda:

    qdd = a + A lambda,    J a + gamma + J A lambda = 0,    gamma = (dJ/dt) qd

A = M^-1 J' is the derivative in lambda of the recursion for forward dynamics. The derivative repeats only operations on
forces, not those on inertias, so each condition costs one more pass through the articulated inertias (Featherstone,
Rigid Body Dynamics Algorithms, 2008, chapter 8).

Some conditions follow from others, as those out of the plane of a planar loop. Conditions that hold for every motion
are left out when the equations are traced. Others share the reactions that the motion determines only together.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import casadi as ca
import numpy as np

from flexarm.description.closures import Closure
from flexarm.mechanics.chain import Chain, pose_rates, turning
from flexarm.mechanics.dynamics import (
    STILL,
    Root,
    Solve,
    eliminate,
    forward_dynamics,
    input_matrix,
    response,
    substitute,
    symmetric_product,
)
from flexarm.mechanics.lean import lean
from flexarm.mechanics.moving import at, rows_of
from flexarm.mechanics.remembered import remembered
from flexarm.mechanics.spatial import Matrix, Scalar, Vector, added, cross, dot, entries, product, scaled, transposed
from flexarm.mechanics.stations import Between, between

SMALL, LEAST, PASSES = 1e-10, 1e-20, 3
"""Diagonal that is added to J A, relative to its entries and to their sum, and the number of passes; see `resolved`."""
UNIT = ([1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0])


class Condition(NamedTuple):
    """One condition of a closure at a state: its gap [m or 1], the gap's rate, linear in qd, and a wrench.

    The wrench (force, moment) is that of a unit reaction on the second frame, at its origin, along the first's axes.
    """

    gap: Scalar
    rate: Scalar
    wrench: Vector


class Conditions(NamedTuple):
    """The conditions that restrict the motion, at a state.

    Attributes
    ----------
    some : list of int
        Their indices among all conditions.
    gaps : (k,)
    J : (k, n)
    gamma : (k,)
        Accelerations of the gaps without qdd.
    """

    some: list[int]
    gaps: Vector
    J: Matrix
    gamma: Vector


def slide(here: Between, axis: Vector) -> Condition:
    """Return the condition that the origins coincide along an axis of the first frame."""
    return Condition(dot(axis, here.p), dot(axis, here.v), [*axis, 0.0, 0.0, 0.0])


def turn(here: Between, axis: Vector, other: Vector) -> Condition:
    """Return the condition that an axis of the first frame and another one of the second are perpendicular."""
    turned = product(here.R, other)
    moment = cross(turned, axis)
    return Condition(dot(axis, turned), dot(here.w, moment), [0.0, 0.0, 0.0, *moment])


def across(axis: Vector) -> tuple[Vector, Vector]:
    """Return two unit vectors that are perpendicular to an axis and to each other."""
    n = np.array(axis)
    first = np.cross(np.eye(3)[(int(np.argmax(np.abs(n))) + 1) % 3], n)
    first /= np.linalg.norm(first)
    return first.tolist(), np.cross(n, first).tolist()


def of_closure(closure: Closure, here: Between) -> list[Condition]:
    """Return the conditions of a closure."""
    axis, other = list(closure.axis), list(closure.axis_to or closure.axis)
    first, second = across(axis)
    point = [slide(here, each) for each in UNIT]
    level = [turn(here, first, other), turn(here, second, other)]
    same = [turn(here, UNIT[(k + 1) % 3], UNIT[k]) for k in range(3)]
    return {
        "revolute": [*point, *level],
        "ball": point,
        "fixed": [*point, *same],
        "prismatic": [slide(here, first), slide(here, second), *same],
        "planar": [slide(here, axis), *level],
        "universal": [*point, turn(here, axis, other)],
    }[closure.joint]


def facing(chain: Chain, q: Vector) -> Vector:
    """Return numbers that must be positive in addition to the conditions, which also hold for other orientations.

    These are opposite axes, and for equal frames also a turn by 120 degrees about the diagonal of the axes.
    """
    found = []
    for closure in chain.closures:
        R = between(chain, closure, q, [0.0] * chain.size).R
        if closure.joint in ("fixed", "prismatic"):
            found += [R[k][k] - 0.5 for k in range(3)]
        elif closure.joint in ("revolute", "planar"):
            found.append(dot(closure.axis, product(R, list(closure.axis_to or closure.axis))))
    return found


def _all(chain: Chain, q: Vector, qd: Vector) -> list[Condition]:
    return [x for c in chain.closures for x in of_closure(c, between(chain, c, q, qd))]


def gaps(chain: Chain, q: Vector) -> Vector:
    """Return the gaps of all conditions, (k,), also of those that hold for every motion."""
    return [each.gap for each in _all(chain, q, [0.0] * chain.size)]


def rates(chain: Chain, q: Vector, qd: Vector) -> Vector:
    """Return the rates of all gaps, (k,)."""
    return [each.rate for each in _all(chain, q, qd)]


class Symbolic(NamedTuple):
    """Rates of all gaps, (k,), as an expression over symbols of q, in local coordinates, and of qd."""

    q: ca.SX
    qd: ca.SX
    rates: ca.SX


def symbolic(chain: Chain) -> Symbolic:
    """Return the rates of all gaps over symbols, for their derivatives."""
    q, qd = ca.SX.sym("q", chain.size), ca.SX.sym("qd", chain.size)
    return Symbolic(q, qd, ca.SX(ca.vertcat(*rates(chain, entries(q), entries(qd)))))


def restricting(slope: ca.SX) -> list[int]:
    """Return the indices of the conditions that do not hold for every motion, from the slopes of all rates in qd."""
    return [i for i in range(slope.shape[0]) if slope[i, :].nnz()]


@remembered
def conditions(chain: Chain, q: Vector, qd: Vector) -> Conditions:
    """Return the conditions that restrict the motion."""
    z, zd, every = symbolic(chain)
    slope = ca.jacobian(every, zd)
    some = restricting(slope)
    few, slope = every[some], ca.densify(slope[some, :])
    J, gamma = at([z, zd], (q, qd), [slope, ca.densify(ca.jtimes(few, z, zd))])
    found = gaps(chain, q)
    return Conditions(some, [found[i] for i in some], rows_of(J), entries(gamma))


def resolved(G: Matrix, b: Vector) -> Vector:
    """Solve G x = b, symmetric and not negative, where some rows may follow from others.

    Each pass solves (G + D) (x_new - x) = b - G x, with a small diagonal D. Where G determines x, a pass reduces the
    error by about `SMALL`. Otherwise x stays small, and G x is right if b is consistent. This is a proximal iteration
    (Carpentier, Budhiraja & Mansard, Robotics: Science and Systems 2021).
    """
    count = range(len(b))
    least = LEAST * sum((G[n][n] for n in count), 0.0)
    damped = [[G[r][c] + (SMALL * G[r][r] + least) * (r == c) for c in count] for r in count]
    x = _solution(damped, b)
    for _ in range(PASSES - 1):
        x = added(x, _solution(damped, added(b, scaled(-1.0, product(G, x)))))
    return x


def _solution(G: Matrix, b: Vector) -> Vector:
    return substitute(eliminate(G, b, 0)[2], [])


def allowed(J: Matrix, free: Sequence[int]) -> Matrix:
    """Return N (n, f) with J N = 0, whose rows of the free coordinates are the unit matrix.

    The other columns of J must be independent; see `model.closures.independent`.
    """
    columns = []
    for i in free:
        column = dependent(J, free, transposed(J)[i])
        column[i] = 1.0
        columns.append(column)
    return transposed(columns)


def dependent(J: Matrix, free: Sequence[int], b: Vector) -> Vector:
    """Return x (n,) with J x = -b by least squares, whose free coordinates are zero."""
    columns = transposed(J)
    others = [i for i in range(len(columns)) if i not in free]
    G = [[dot(columns[r], columns[c]) for c in others] for r in others]
    x: Vector = [0.0] * len(columns)
    for i, value in zip(others, resolved(G, [-dot(columns[i], b) for i in others]), strict=True):
        x[i] = value
    return x


def wrenches(chain: Chain, q: Vector, reactions: Vector) -> Matrix:
    """Return the wrench (6,) of each closure on its second frame, from the reactions of all conditions."""
    found, left = [], iter(reactions)
    for closure in chain.closures:
        total: Vector = [0.0] * 6
        for condition in of_closure(closure, between(chain, closure, q, [0.0] * chain.size)):
            total = added(total, scaled(next(left), condition.wrench))
        found.append(total)
    return found


class Motion(NamedTuple):
    """Accelerations (n,), the generalized force of the reactions (n,), the reactions of all conditions, and the forces
    that give coordinates their prescribed accelerations."""

    qdd: Vector
    force: Vector
    reactions: Vector
    prescribed: Vector


def motion(
    chain: Chain,
    q: Vector,
    qd: Vector,
    force: Vector,
    root: Root = STILL,
    solve: Solve = forward_dynamics,
    prescribed: Mapping[int, Scalar] | None = None,
) -> Motion:
    """Return accelerations and reactions under a generalized force, with the accelerations of some coordinates given.

    A prescribed acceleration is one more condition, whose reaction is the force along its coordinate.
    """
    given = prescribed or {}
    if not (chain.closures or given):
        return Motion(solve(lean(chain), q, qd, force, root), [0.0] * chain.size, [], [])
    some, _, J, gamma = conditions(chain, q, qd)
    rows = [*J, *_units(chain, given)]
    a, A = response(lean(chain), q, qd, force, root, rows, solve)
    lacking = [*added(product(J, a), gamma), *(a[n] - value for n, value in given.items())]
    found = resolved(symmetric_product(rows, A), scaled(-1.0, lacking))
    few, forces = found[: len(J)], found[len(J) :]
    every: Vector = [0.0] * sum(closure.conditions for closure in chain.closures)
    for i, value in zip(some, few, strict=True):
        every[i] = value
    return Motion(added(a, product(A, found)), product(transposed(J), few), every, forces)


def driven(chain: Chain) -> list[int]:
    """Return the coordinate that each joint's input moves. Each input must move one, not a sum of several."""
    columns = transposed(input_matrix(chain))
    return [next(row for row in range(chain.size) if B[row]) for B in columns[: len(chain.driven)]]


def projected(chain: Chain, q: Vector, qd: Vector, held: Sequence[int] = ()) -> tuple[Vector, Vector]:
    """Return one correction of coordinates and rates towards the closures, the nearest in the metric of M: (dq, dqd).

    dq is over the rates, so it is a small shift and turn of a free base. The `held` coordinates are not corrected.
    """
    still: Vector = [0.0] * chain.size
    found = conditions(chain, q, qd)
    rows = [*found.J, *_units(chain, held)]
    A = response(lean(chain), q, still, still, STILL, rows).A
    G, kept = symmetric_product(rows, A), [0.0] * len(held)
    back = scaled(-1.0, product(A, resolved(G, [*found.gaps, *kept])))
    return back, scaled(-1.0, product(A, resolved(G, [*product(found.J, qd), *kept])))


def _units(chain: Chain, some: Iterable[int]) -> Matrix:
    """Return the rows that select some coordinates."""
    return [[float(i == n) for i in range(chain.size)] for n in some]


# -- functions of a model, see `model.closures` ------------------------------------------------------------------------


def correction(chain: Chain, q: Vector, qd: Vector) -> Vector:
    """Return coordinates and rates after one correction towards the closures, and the sum of squares of the gaps.

    The sum is that before the correction, of gaps [m or 1] and of their rates.
    """
    return _corrected(chain, q, qd, [])


def prescribed_correction(chain: Chain, q: Vector, qd: Vector) -> Vector:
    """Return the correction while a motion prescribes the driven coordinates, which keep their values."""
    return _corrected(chain, q, qd, driven(chain))


def _corrected(chain: Chain, q: Vector, qd: Vector, held: Sequence[int]) -> Vector:
    dq, dqd = projected(chain, q, qd, held)
    found = [*gaps(chain, q), *rates(chain, q, qd)]
    first = turning(chain)
    moved = added([*chain.stood, *q[first:]], [*pose_rates(chain, dq), *dq[first:]])
    return [*moved, *added(qd, dqd), dot(found, found)]


def slopes(chain: Chain, q: Vector) -> Matrix:
    """Return J of all conditions, (k, n)."""
    z, zd, every = symbolic(chain)
    (J,) = at([z], [q], [ca.densify(ca.jacobian(every, zd))])
    return rows_of(J)


def bias(chain: Chain, q: Vector, qd: Vector) -> Vector:
    """Return (dJ/dt) qd of all conditions, (k,)."""
    z, zd, every = symbolic(chain)
    (found,) = at([z, zd], (q, qd), [ca.densify(ca.jtimes(every, z, zd))])
    return entries(found)


def rate_slopes(chain: Chain, q: Vector, qd: Vector) -> Matrix:
    """Return d(J qd)/dq of all conditions, (k, n), q in local coordinates."""
    z, zd, every = symbolic(chain)
    (found,) = at([z, zd], (q, qd), [ca.densify(ca.jacobian(every, z))])
    return rows_of(found)


def stiffening(chain: Chain, q: Vector, reactions: Vector) -> Matrix:
    """Return d(J' lambda)/dq, (n, n), of constant reactions of all conditions: their part of the stiffness."""
    z, zd, every = symbolic(chain)
    force = ca.gradient(dot(reactions, entries(every)), zd)
    (found,) = at([z], [q], [ca.densify(ca.jacobian(force, z))])
    return rows_of(found)
