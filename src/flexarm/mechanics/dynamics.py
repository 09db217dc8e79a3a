"""The recursions: inverse dynamics, inertia matrix, forward dynamics, energies, over CasADi SX.

Every function is pure: a chain and symbolic states in, expressions out. Notation: w angular velocity and x acceleration
(a, alpha) of a frame, in its own axes; f wrench (force, moment); I inertia; s the six tip functions of a body. Linear
velocity hardly appears: a is the classical acceleration of a frame's origin, and the equations are the same in a frame
that moves at a constant velocity. Gravity is an acceleration of the base.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import casadi as ca

from flexarm.mechanics.chain import Chain, Frame, Tree, positions, put, taken, turned, with_followers
from flexarm.mechanics.combination import combinations, following
from flexarm.mechanics.moving import Moving, at, moving, rows_of
from flexarm.mechanics.nominal import Nominal
from flexarm.mechanics.remembered import remembered
from flexarm.mechanics.spatial import (
    Matrix,
    Motion,
    Scalar,
    Vector,
    added,
    cross,
    dot,
    entries,
    numbers,
    product,
    scaled,
    transposed,
    zeros,
)

AT_REST = [0.0] * 6


class Root(NamedTuple):
    """Motion of a moved base, along its own axes: acceleration a of its origin, angular velocity w, alpha.

    Its velocity has no effect, because the equations are the same in a frame that moves at a constant velocity.
    """

    a: Vector
    w: Vector
    alpha: Vector


STILL = Root([0.0] * 3, [0.0] * 3, [0.0] * 3)


# -- velocities --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Hop:
    """One elementary transform on the path to a body, at a state."""

    motion: Motion
    bias: Vector
    """Acceleration due to velocities accumulated since the segment began; nonzero only at the joint."""
    tips: tuple[tuple[int, int], ...]
    joints: tuple[tuple[int, int], ...]


class Way(NamedTuple):
    """The transforms that lead to a body, and its parent body."""

    parent: int
    hops: list[Hop]


Passed = tuple[list[Moving], list[Way]]
"""Results of the first pass."""


@remembered
def outward(
    chain: Chain, q: Vector, qd: Vector, gravity: Iterable[float] = (0.0, 0.0, 0.0), w: Iterable[Scalar] = (0.0,) * 3
) -> Passed:
    """Run the first pass, which computes velocities: each body at its state, and the transforms that lead to it.

    A moved base turns with w.
    """
    known: dict[int, tuple[Vector, ...]] = {
        -1: (twist_of_base(chain, qd, w), [0.0, 0.0, 0.0, *gravity], AT_REST, AT_REST, AT_REST)
    }
    bodies, ways = [], []
    for i, (body, segment, own, parent) in enumerate(
        zip(chain.bodies, chain.segments, chain.own, chain.parents, strict=True)
    ):
        twist, down, s, sd, sdd = known[parent]
        bias, drift, hops = [0.0] * 6, AT_REST, []
        for step in segment.steps:
            motion = step.at(s, sd, q, qd)
            drift = added(drift, motion.drift(twist[3:]))
            if motion.direction > 2 or step is segment.steps[-1]:  # the following steps have another w
                bias = added(bias, cross(twist[3:], drift[:3]) + cross(twist[3:], drift[3:]))
                drift = AT_REST
            bias[motion.direction] = bias[motion.direction] + sum(sign * sdd[t] for t, sign in step.tips)
            hops.append(Hop(motion, AT_REST, step.tips, step.joints))
            twist, down = motion.acceleration(twist), motion.acceleration(down)
            twist[motion.direction] = twist[motion.direction] + motion.rate
            bias_before, bias = bias, motion.acceleration(bias)
        hops[-1] = Hop(hops[-1].motion, bias_before, hops[-1].tips, hops[-1].joints)
        for step in segment.after:
            motion = step.motion(step.axis, step.offset)
            hops.append(Hop(motion, AT_REST, (), ()))
            twist, down = motion.acceleration(twist), motion.acceleration(down)
        here = moving(body, chain.places[i], taken(q, own), taken(qd, own), twist, down[3:])
        known[i] = (twist, down, *chain.seen(i, here.s, here.sd), here.sdd)
        bodies.append(here)
        ways.append(Way(parent, hops))
    return bodies, ways


def twist_of_base(chain: Chain, qd: Vector, w: Iterable[Scalar]) -> Vector:
    """Return (v, w) of the base: the rates of a free base. The velocity of any other base has no effect."""
    return [qd[n] for n in chain.base] or [0.0, 0.0, 0.0, *w]


def mixed(chain: Chain, qd: Vector) -> Vector:
    """Return the accelerations that the recursions add to those of ball joints, whose rates they add one by one.

    Each axis turns with the ones before: the angular acceleration of the link, relative to its carrier, is that of the
    coordinates plus (w_y w_z, -w_x w_z, w_x w_y).
    """
    found: Vector = [0.0] * chain.size
    for i, j, k in chain.balls:
        found[i], found[j], found[k] = qd[j] * qd[k], -qd[i] * qd[k], qd[i] * qd[j]
    return found


# -- inverse dynamics --------------------------------------------------------------------------------------------------


@remembered
def inertial_force(
    chain: Chain, q: Vector, qd: Vector, qdd: Vector, gravity: Iterable[float], root: Root = STILL
) -> Vector:
    """Return the generalized force M qdd + velocity terms + gravity, without springs and dampers, by Newton and Euler.

    gravity is the acceleration in the base's axes.
    """
    if chain.balls:
        qdd = added(qdd, scaled(-1.0, mixed(chain, qd)))
    fall, still = base_acceleration(chain, qd, gravity, root)
    bodies, ways = outward(chain, q, qd, fall, root.w)
    x = {-1: added(still, [qdd[n] for n in chain.base] or AT_REST)}
    s_ddot: dict[int, Vector] = {-1: AT_REST}
    demands = []
    for i, (here, way, own) in enumerate(zip(bodies, ways, chain.own, strict=True)):
        x[i], above = x[way.parent], s_ddot[way.parent]
        for hop in way.hops:
            x[i] = plus(hop, hop.motion.acceleration(added(x[i], hop.bias)), hop.tips, above)
            x[i] = plus(hop, x[i], hop.joints, qdd)
        share = taken(qdd, own)
        s_ddot[i] = product(here.s_eta, share[1:])
        demands.append(added(here.h, product(here.M, x[i] + share)))

    force: Vector = [0.0] * chain.size
    # wrench of a body's children, on its base frame
    wrench: dict[int, Vector] = dict.fromkeys(range(-1, len(bodies)), AT_REST)
    on_tip: dict[int, Vector] = {i: [0.0] * len(here.s) for i, here in enumerate(bodies)} | {-1: AT_REST}
    for i, (here, way, own, demand) in reversed(list(enumerate(zip(bodies, ways, chain.own, demands, strict=True)))):
        f = added(wrench[i], demand[:6])
        put(force, own, [demand[6], *added(demand[7:], product(transposed(here.s_eta), on_tip[i]))])
        for hop in reversed(way.hops):
            k = hop.motion.direction
            for j, sign in hop.joints:
                force[j] = force[j] + sign * f[k]
            f = hop.motion.wrench(f)
            for t, sign in hop.tips:
                on_tip[way.parent][t] = on_tip[way.parent][t] + sign * f[k]
        wrench[way.parent] = added(wrench[way.parent], f)
    for n, value in zip(chain.base, wrench[-1], strict=False):
        force[n] = value
    return force


def base_acceleration(chain: Chain, qd: Vector, gravity: Iterable[Scalar], root: Root) -> tuple[Vector, Vector]:
    """Return the apparent gravity in a moved base, and the acceleration (a, alpha) of the base that acts on every mass.

    For a free base the latter is its acceleration at constant rates: w x v minus gravity.
    """
    fall = added([*gravity], scaled(-1, root.a))
    twist = twist_of_base(chain, qd, root.w)
    return fall, [*added(cross(twist[3:], twist[:3]), scaled(-1, fall)), *root.alpha]


def plus(hop: Hop, x: Vector, parts: tuple[tuple[int, int], ...], values: Vector) -> Vector:
    """Return x plus the transform's own motion: that of some coordinates, each with its sign, along its direction."""
    x, k = list(x), hop.motion.direction
    for c, sign in parts:
        x[k] = x[k] + sign * values[c]
    return x


# -- forward dynamics --------------------------------------------------------------------------------------------------


class Pivot(NamedTuple):
    """An eliminated unknown of a symmetric system, x_n = y - l . x[:n]: a column of U, an entry of D, M = U D U'."""

    l: Vector
    y: Scalar
    d: Scalar


def eliminate(G: Matrix, b: Vector, keep: int) -> tuple[Matrix, Vector, list[Pivot]]:
    """Solve the last rows of the symmetric system G x = b for their unknowns, in terms of the first `keep`: U D U'.

    Returns the remaining G and b, and the pivots in the order of elimination, the last unknown first.
    """
    G, b = [list(row) for row in G], list(b)
    pivots = []
    for n in reversed(range(keep, len(b))):
        d = G[n][n]
        l = [G[n][r] / d for r in range(n)]
        for r in range(n):
            for c in range(r, n):
                G[r][c] = G[c][r] = G[r][c] - l[r] * G[n][c]
            b[r] = b[r] - l[r] * b[n]
        pivots.append(Pivot(l, b[n] / d, d))
    return [row[:keep] for row in G[:keep]], b[:keep], pivots


def substitute(pivots: list[Pivot], x: Vector) -> Vector:
    """Return the kept unknowns, followed by those that `eliminate` has eliminated."""
    x = list(x)
    for pivot in reversed(pivots):
        x.append(pivot.y - dot(pivot.l, x))
    return x


@remembered
def forward_dynamics(chain: Chain, q: Vector, qd: Vector, force: Vector, root: Root = STILL) -> Vector:
    """Return the accelerations under a generalized force (inputs, springs, dampers), in O(n) (Mohan & Saha section 5).

    The acceleration of a free base follows from the 6 x 6 system that remains after all other eliminations.
    """
    if chain.tree is not None:
        return _under_gears(chain, chain.tree, q, qd, force, root)
    fall, still = base_acceleration(chain, qd, chain.down, root)
    bodies, ways = outward(chain, q, qd, fall, root.w)
    left = [
        added([*AT_REST, *taken(force, own)], scaled(-1, here.h)) for here, own in zip(bodies, chain.own, strict=True)
    ]
    made = [combined(here, own, chain.nominal) for here, own in zip(bodies, left, strict=True)]
    bodies, left, T = zip(*made, strict=True)
    solved, I, b = inward(bodies, ways, left)
    free = len(chain.base)
    _, _, base = eliminate(I, added(b, [force[n] for n in chain.base] or AT_REST), 6 - free)
    x: dict[int, Vector] = {-1: substitute(base, still[: 6 - free])}
    qdd: Vector = [0.0] * chain.size
    for n, value in zip(chain.base, added(x[-1], scaled(-1, still)), strict=False):
        qdd[n] = value
    s_ddot: dict[int, Vector] = {-1: AT_REST}
    for i, (here, way, own, eta, (flexible, joint)) in enumerate(zip(bodies, ways, chain.own, T, solved, strict=True)):
        x[i], above = x[way.parent], s_ddot[way.parent]
        for hop in way.hops:
            x[i] = plus(hop, hop.motion.acceleration(added(x[i], hop.bias)), hop.tips, above)
            for j, _ in hop.joints:
                qdd[j] = substitute(joint, x[i])[6]
            x[i] = plus(hop, x[i], hop.joints, qdd)
        share = taken(qdd, own)[:1]
        z = substitute(flexible, x[i] + share)[7:]
        put(qdd, own, [0.0, *product(eta, z)])
        s_ddot[i] = product(here.s_eta, z)
    return added(qdd, mixed(chain, qd))


def _under_gears(chain: Chain, tree: Tree, q: Vector, qd: Vector, force: Vector, root: Root) -> Vector:
    """Return the accelerations of a chain with followers, from those of its tree under the forces of its gears."""
    few = tree.followers
    J, acting = few.conditions, [*force, *[0.0] * len(few.some)]
    a, A = response(with_followers(chain, tree), few.coordinates(q), few.rates(qd), acting, root, J)
    _, _, pivots = eliminate(symmetric_product(J, A), scaled(-1.0, product(J, a)), 0)
    return added(a, product(A, substitute(pivots, [])))[: chain.size]


Solve = Callable[[Chain, Vector, Vector, Vector, Root], Vector]
"""(chain, q, qd, force, root) -> accelerations of the tree."""


class Response(NamedTuple):
    """Accelerations of the tree without reactions, a (n,), and per unit of each reaction, A (n, k)."""

    a: Vector
    A: Matrix


def response(
    chain: Chain, q: Vector, qd: Vector, force: Vector, root: Root, J: Matrix, solve: Solve = forward_dynamics
) -> Response:
    """Return the accelerations of the tree as a function of the reactions of conditions J qdd + ... = 0."""
    reactions = ca.SX.sym("reactions", len(J))
    acting = added(force, product(transposed(J), entries(reactions)))
    qdd = ca.SX(ca.vertcat(*solve(chain, q, qd, acting, root)))
    A = ca.densify(ca.jacobian(qdd, reactions))
    (a,) = ca.substitute([qdd], [reactions], [ca.SX.zeros(len(J))])
    return Response(entries(ca.densify(a)), rows_of(A))


def symmetric_product(J: Matrix, A: Matrix) -> Matrix:
    """Return J A, (k, k), which is symmetric."""
    columns = transposed(A)
    G = [[dot(row, column) for column in columns[: r + 1]] for r, row in enumerate(J)]
    return [[G[max(r, c)][min(r, c)] for c in range(len(J))] for r in range(len(J))]


def combined(here: Moving, left: Vector, nominal: Nominal) -> tuple[Moving, Vector, Matrix]:
    """Return the body and its remaining wrench over z with eta = T z, and T; see `combinations`.

    If M or the slopes of the tip functions change with eta, they stay as they are.
    """
    k, own = len(here.M) - 7, [row[7:] for row in here.M[7:]]
    M, S = nominal(own), nominal(here.s_eta)
    if k == 0 or M is None or S is None:
        return here, left, [[float(r == c) for c in range(k)] for r in range(k)]
    T, s_eta, own = combinations(M, S) if numbers(own + here.s_eta) is not None else following(own, here.s_eta, M, S)
    over_z = transposed(T)
    beside = [product(over_z, row[7:]) for row in here.M[:7]]
    G = [[*row[:7], *more] for row, more in zip(here.M, beside, strict=False)]
    G += [[*column, *row] for column, row in zip(transposed(beside), own, strict=True)]
    return replace(here, M=G, s_eta=s_eta), [*left[:7], *product(over_z, left[7:])], T


@dataclass
class Hung:
    """Accumulated quantities of a body's children at its base frame, after their elimination, summed over all children.

    Attributes
    ----------
    I, b : (6, 6), (6,)
        Articulated inertia, and the wrench left to accelerate it (Mohan & Saha eqs. 37 to 39).
    H, D, b_tip : (t, 6), (t, t), (t,)
        The same over the body's t tip functions: a column of inertia each, the block between them, the forces left.
    """

    I: Matrix
    b: Vector
    H: Matrix
    D: Matrix
    b_tip: Vector

    @classmethod
    def nothing(cls, tips: int) -> "Hung":
        """Return zeros for a body with so many tip functions."""
        return cls(zeros(6, 6), AT_REST, zeros(tips, 6), zeros(tips, tips), [0.0] * tips)


def inward(
    bodies: Sequence[Moving], ways: list[Way], left: Sequence[Vector]
) -> tuple[list[tuple[list[Pivot], list[Pivot]]], Matrix, Vector]:
    """Run the second pass. Return each body's pivots, and the base's articulated inertia and remaining wrench.

    Each body has pivots of its eta, over (x, r, the eta before), and of its joint, over x there. `left` is, for each
    body, the wrench over (v, w, r, eta) left to accelerate it alone: forces minus velocity terms. At a joint its
    coordinate is eliminated. At a tip each tip function gets a column H of the inertia, and the body's eta is
    eliminated with them.
    """
    hung = {i: Hung.nothing(len(here.s)) for i, here in enumerate(bodies)} | {-1: Hung.nothing(6)}
    solved: list[tuple[list[Pivot], list[Pivot]]] = []
    for i, (here, way, own) in reversed(list(enumerate(zip(bodies, ways, left, strict=True)))):
        mine, above = hung[i], hung[way.parent]
        right = added([*mine.b, 0.0, *product(transposed(here.s_eta), mine.b_tip)], own)
        G, right, flexible = eliminate(_extended(mine.I, mine.H, mine.D, here), right, 7)
        I, b, direct, own_inertia, own_force = [row[:6] for row in G[:6]], right[:6], G[6][:6], G[6][6], right[6]
        H: dict[int, Vector] = {}
        joint: list[Pivot] = []
        for hop in reversed(way.hops):
            k = hop.motion.direction
            for _, sign in hop.joints:
                U = added(scaled(sign, I[k]), direct)
                d = sign * (U[k] + direct[k]) + own_inertia
                G = [[*row, u] for row, u in zip(I, U, strict=True)] + [[*U, d]]
                I, b, joint = eliminate(G, [*b, own_force + sign * b[k]], 6)
            I, b, direct = hop.motion.inertia(I), hop.motion.wrench(b), hop.motion.wrench(direct)
            H = {t: hop.motion.wrench(h) for t, h in H.items()}
            b = added(b, scaled(-1, product(I, hop.bias)))
            for t, sign in hop.tips:
                H[t] = scaled(sign, I[k])
                above.b_tip[t] = above.b_tip[t] + sign * b[k]
                couple(above.D, t, H, sign, k)
        above.I, above.b = [added(row, more) for row, more in zip(above.I, I, strict=True)], added(above.b, b)
        for t, h in H.items():
            above.H[t] = added(above.H[t], h)
        solved.insert(0, (flexible, joint))
    return solved, hung[-1].I, hung[-1].b


def couple(D: Matrix, t: int, H: dict[int, Vector], sign: int, k: int) -> None:
    """Add the inertia between a tip function t, along the direction k, and the previous ones."""
    for other, h in H.items():
        D[t][other] = D[t][other] + sign * h[k]
        if other != t:
            D[other][t] = D[t][other]


def _extended(I: Matrix, H: Matrix, D: Matrix, here: Moving) -> Matrix:
    """Return the inertia over (x, r, eta): the body's, and its children's (columns H and D of the tip functions)."""
    s = transposed(here.s_eta)  # (k, 6)
    beside = [[dot(row, h) for h in transposed(H)] for row in s]  # (k, 6)
    below = [[dot(row, product(D, other)) for other in s] for row in s]
    k = len(s)
    outer = [[*I[r], 0.0, *(beside[c][r] for c in range(k))] for r in range(6)] + [[0.0] * (7 + k)]
    outer += [[*beside[c], 0.0, *below[c]] for c in range(k)]
    return [added(mine, theirs) for mine, theirs in zip(here.M, outer, strict=True)]


# -- the inertia matrix and the dense method ---------------------------------------------------------------------------


@remembered
def mass_matrix(chain: Chain, q: Vector) -> Matrix:
    """Return M(q) by composite bodies (Mohan & Saha eq. 32): unit accelerations' wrenches, carried to the base."""
    if chain.tree is not None:
        followers = chain.tree.followers
        M, columns = mass_matrix(with_followers(chain, chain.tree), followers.coordinates(q)), transposed(followers.G)
        return symmetric_product(columns, transposed([product(M, column) for column in columns]))
    bodies, ways = outward(chain, q, [0.0] * chain.size)
    M = zeros(chain.size, chain.size)

    def put_in(r: int, c: int, value: Scalar) -> None:
        M[r][c] = M[c][r] = value

    hung = {i: Hung.nothing(len(here.s)) for i, here in enumerate(bodies)} | {-1: Hung.nothing(6)}
    # wrench of a unit acceleration of each coordinate so far, at each body's base frame, and on its tip functions
    wrenches: dict[int, dict[int, Vector]] = {i: {} for i in range(-1, len(bodies))}
    on_tips: dict[int, dict[int, Vector]] = {i: {} for i in range(-1, len(bodies))}
    for i, (here, way, own) in reversed(list(enumerate(zip(bodies, ways, chain.own, strict=True)))):
        mine, above, wrench = hung[i], hung[way.parent], wrenches[i]
        eta = positions(own[1:])
        for n in wrench:
            for c, row in zip(eta, transposed(here.s_eta), strict=True):
                put_in(n, c, dot(row, on_tips[i].get(n, [0.0] * len(here.s))))
        G = _extended(mine.I, mine.H, mine.D, here)
        for r, c in enumerate(eta, start=7):
            wrench[c] = G[r][:6]
            for j, other in enumerate(eta, start=7):
                put_in(c, other, G[r][j])
        I, direct, own_inertia = [row[:6] for row in G[:6]], G[6][:6], G[6][6]
        beside = dict(zip(eta, G[6][7:], strict=True))  # direct forces of eta's accelerations on the joint
        H: dict[int, Vector] = {}
        on_tip: dict[int, Vector] = {}
        for hop in reversed(way.hops):
            k = hop.motion.direction
            for j, sign in hop.joints:
                for n, f in wrench.items():
                    put_in(n, j, sign * f[k] + beside.get(n, 0.0))
                wrench[j] = added(scaled(sign, I[k]), direct)
                put_in(j, j, sign * (wrench[j][k] + direct[k]) + own_inertia)
            I, direct = hop.motion.inertia(I), hop.motion.wrench(direct)
            wrench = {n: hop.motion.wrench(f) for n, f in wrench.items()}
            H = {t: hop.motion.wrench(h) for t, h in H.items()}
            for t, sign in hop.tips:
                H[t] = scaled(sign, I[k])
                couple(above.D, t, H, sign, k)
                for n, f in wrench.items():
                    on_tip.setdefault(n, [0.0] * len(above.b_tip))[t] = sign * f[k]
        above.I = [added(row, more) for row, more in zip(above.I, I, strict=True)]
        for t, h in H.items():
            above.H[t] = added(above.H[t], h)
        wrenches[way.parent] |= wrench
        on_tips[way.parent] |= on_tip
    for k, n in enumerate(chain.base):
        for c, f in wrenches[-1].items():
            put_in(n, c, f[k])
        for j, other in enumerate(chain.base):
            put_in(n, other, hung[-1].I[k][j])
    return M


def forward_dynamics_dense(chain: Chain, q: Vector, qd: Vector, force: Vector, root: Root = STILL) -> Vector:
    """Return the accelerations from the full inertia matrix and its factors, in O(n^3) (Mohan & Saha section 7.2)."""
    rest = inertial_force(chain, q, qd, [0.0] * chain.size, chain.down, root)
    _, _, pivots = eliminate(mass_matrix(chain, q), added(force, scaled(-1, rest)), 0)
    return substitute(pivots, [])


# -- forces that do not come from inertia ------------------------------------------------------------------------------


@remembered
def stiffness_force(chain: Chain, q: Vector) -> Vector:
    """Return dV/dq of the links' strain and of the joints' springs."""
    force: Vector = [0.0] * chain.size
    for body, own in zip(chain.bodies, chain.own, strict=True):
        z = ca.SX.sym("own", 1 + body.size)
        V = ca.SX(body.potential(z[0], entries(z[1:])))
        (slope,) = at([z], [taken(q, own)], [ca.gradient(V, z)])
        put(force, own, entries(slope))
    return force


@remembered
def damping_force(chain: Chain, q: Vector, qd: Vector) -> Vector:
    """Return D qd of bearings, links and the joints' springs."""
    force: Vector = [0.0] * chain.size
    for body, own in zip(chain.bodies, chain.own, strict=True):
        rates = taken(qd, own)
        lost = product(body.damping, rates)
        if body.straining is not None:
            lost = added(lost, [0.0, *product(body.straining(taken(q, own)[1:]), rates[1:])])
        put(force, own, lost)
    for places, D in chain.damped:
        for n, value in zip(places, product(D, [qd[n] for n in places]), strict=True):
            force[n] = force[n] + value
    return force


def input_matrix(chain: Chain) -> Matrix:
    """Return B, (n, m): generalized force = B u."""
    columns = []
    for i in chain.driven:
        column = [0.0] * chain.size
        put(column, chain.own[i], chain.bodies[i].drive)
        columns.append(chain.coupled.get(i, column))
    columns += [[*wrench, *[0.0] * (chain.size - 6)] for wrench in chain.thrusters]
    return [[column[r] for column in columns] for r in range(chain.size)]


# -- poses and energies ------------------------------------------------------------------------------------------------


def frames(chain: Chain, q: Vector) -> list[Frame]:
    """Return the base frame of every body. The last is the tip."""
    return placed(outward(chain, q, [0.0] * chain.size)[1], base_frame(chain, q))


def base_frame(chain: Chain, q: Vector) -> Frame:
    """Return the frame of the base.

    That of a free base is its pose moved by the first six of q, valid to first order.
    """
    p, R = chain.pose.p, chain.pose.R
    if not chain.base:
        return Frame(p, R)
    shift, turn = q[:3], q[3:6]
    return Frame(added(p, product(R, shift)), turned(R, turn))


def placed(ways: list[Way], base: Frame) -> list[Frame]:
    """Return the base frames of bodies from the paths that lead to them."""
    found = {-1: base}
    for i, way in enumerate(ways):
        p, R = found[way.parent].p, found[way.parent].R
        for hop in way.hops:
            p = added(p, product(R, hop.motion.shift))
            R = [hop.motion.acceleration([0.0, 0.0, 0.0, *row])[3:] for row in R]
        found[i] = Frame(p, R)
    return [found[i] for i in range(len(ways))]


def potential_energy(chain: Chain, q: Vector, passed: Passed | None = None) -> Scalar:
    """Return the energy of gravity (zero for a mass at the world's origin), of strain, and of the joints' springs [J].

    `passed` is the result of `outward` at q and any rates, if known; the same holds below.
    """
    shares = [taken(q, own) for own in chain.own]
    V: Scalar = sum(body.potential(share[0], share[1:]) for body, share in zip(chain.bodies, shares, strict=True))
    return V - dot(chain.gravity, first_moment(chain, q, passed))


def first_moment(chain: Chain, q: Vector, passed: Passed | None = None) -> Vector:
    """Return the sum of masses times positions in the world, which is the frame of a fixed base (3,) [kg m]."""
    bodies, ways = passed or outward(chain, q, [0.0] * chain.size)
    found: Vector = [0.0] * 3
    for here, frame in zip(bodies, placed(ways, base_frame(chain, q)), strict=True):
        m, S = here.M[0][0], [here.M[1][5], here.M[2][3], here.M[0][4]]
        found = added(found, added(scaled(m, frame.p), product(frame.R, S)))
    return found


def kinetic_energy(
    chain: Chain, q: Vector, qd: Vector, w: Iterable[Scalar] = (0.0,) * 3, passed: Passed | None = None
) -> Scalar:
    """Return the sum of 1/2 y' M y over the bodies, rotors and motors [J]. A moved base turns with w."""
    w = tuple(w)
    bodies, ways = passed or outward(chain, q, qd, w=w)
    T: Scalar = 0.0
    for here, own, twist in zip(bodies, chain.own, twists(chain, qd, bodies, ways, w), strict=True):
        y = twist + taken(qd, own)
        T = T + 0.5 * dot(y, product(here.M, y))
    return T


def twists(
    chain: Chain, qd: Vector, bodies: list[Moving], ways: list[Way], w: Iterable[Scalar] = (0.0,) * 3
) -> list[Vector]:
    """Return (v, w) of every body's base frame, in its own axes, from the result of `outward`."""
    found: dict[int, tuple[Vector, Vector]] = {-1: (twist_of_base(chain, qd, w), AT_REST)}
    for i, (here, way) in enumerate(zip(bodies, ways, strict=True)):
        twist, sd = found[way.parent]
        for hop in way.hops:
            twist = plus(hop, hop.motion.acceleration(twist), hop.tips, sd)
            twist = plus(hop, twist, hop.joints, qd)
        found[i] = twist, chain.seen(i, here.s, here.sd)[1]
    return [found[i][0] for i in range(len(bodies))]
