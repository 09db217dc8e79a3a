"""The recursions: inverse dynamics, inertia matrix, forward dynamics, energies, over CasADi SX.

Every function is pure: a chain and symbolic states in, expressions out. Notation: w angular velocity and x acceleration
(a, alpha) of a frame, in its own axes; f wrench (force, moment); I inertia; s the six tip functions of a body. Linear
velocity hardly appears: a is the classical acceleration of a frame's origin, and a frame that moves at a constant
velocity is as good as one at rest. Gravity is an acceleration of the base.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import casadi as ca

from flexarm.mechanics.chain import Chain, Step, positions, put, taken
from flexarm.mechanics.combination import combinations, following
from flexarm.mechanics.moving import Moving, at, moving
from flexarm.mechanics.nominal import Nominal
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


# -- velocities --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Hop:
    """One elementary motion on the way to a body, at a state."""

    motion: Motion
    bias: Vector
    """Acceleration due to velocities gathered since the segment began; zero but at the joint."""
    tips: tuple[tuple[int, int], ...]
    joints: tuple[tuple[int, int], ...]


def outward(
    chain: Chain, q: Vector, qd: Vector, gravity: Iterable[float] = (0.0, 0.0, 0.0)
) -> tuple[list[Moving], list[list[Hop]]]:
    """First pass: velocities; every body at its state, and the motions that lead to it."""
    twist: Vector = AT_REST
    down: Vector = [0.0, 0.0, 0.0, *gravity]
    s, sd, sdd = AT_REST, AT_REST, AT_REST
    bodies, ways = [], []
    for i, (body, segment, own) in enumerate(zip(chain.bodies, chain.segments, chain.own, strict=True)):
        bias, drift, way = [0.0] * 6, AT_REST, []
        for step in segment.steps:
            motion = step.motion(step.axis, step.offset + _moved(step, s, q), _moved(step, sd, qd))
            drift = added(drift, motion.drift(twist[3:]))
            if motion.direction > 2 or step is segment.steps[-1]:  # w is another one from here on
                bias = added(bias, cross(twist[3:], drift[:3]) + cross(twist[3:], drift[3:]))
                drift = AT_REST
            bias[motion.direction] = bias[motion.direction] + sum(sign * sdd[t] for t, sign in step.tips)
            way.append(Hop(motion, AT_REST, step.tips, step.joints))
            twist, down = motion.acceleration(twist), motion.acceleration(down)
            twist[motion.direction] = twist[motion.direction] + motion.rate
            bias_before, bias = bias, motion.acceleration(bias)
        way[-1] = Hop(way[-1].motion, bias_before, way[-1].tips, way[-1].joints)
        for step in segment.after:
            motion = step.motion(step.axis, step.offset)
            way.append(Hop(motion, AT_REST, (), ()))
            twist, down = motion.acceleration(twist), motion.acceleration(down)
        here = moving(body, taken(q, own), taken(qd, own), twist, down[3:])
        (s, sd), sdd = chain.seen(i, here.s, here.sd), here.sdd
        bodies.append(here)
        ways.append(way)
    return bodies, ways


def _moved(step: Step, s: Vector, q: Vector) -> Scalar:
    """What tip functions (or their derivatives) and joint coordinates (or rates) add to an elementary motion."""
    return sum(sign * s[t] for t, sign in step.tips) + sum(sign * q[j] for j, sign in step.joints)


# -- inverse dynamics --------------------------------------------------------------------------------------------------


def inertial_force(chain: Chain, q: Vector, qd: Vector, qdd: Vector, gravity: Iterable[float]) -> Vector:
    """Generalized force M qdd + velocity terms + gravity, without springs and dampers: Newton and Euler, out and in."""
    gravity = tuple(gravity)
    bodies, ways = outward(chain, q, qd, gravity)
    x: Vector = [*(-g for g in gravity), 0.0, 0.0, 0.0]
    s_ddot: Vector = AT_REST
    demands = []
    for here, way, own in zip(bodies, ways, chain.own, strict=True):
        for hop in way:
            x = plus(hop, hop.motion.acceleration(added(x, hop.bias)), hop.tips, s_ddot)
            x = plus(hop, x, hop.joints, qdd)
        share = taken(qdd, own)
        s_ddot = product(here.s_eta, share[1:])
        demands.append(added(here.h, product(here.M, x + share)))

    force: Vector = [0.0] * chain.size
    f: Vector = AT_REST
    on_tip: Vector = [0.0] * 6
    for here, way, own, demand in reversed(list(zip(bodies, ways, chain.own, demands, strict=True))):
        f = added(f, demand[:6])
        put(force, own, [demand[6], *added(demand[7:], product(transposed(here.s_eta), on_tip))])
        on_tip = [0.0] * 6
        for hop in reversed(way):
            k = hop.motion.direction
            for j, sign in hop.joints:
                force[j] = force[j] + sign * f[k]
            f = hop.motion.wrench(f)
            for t, sign in hop.tips:
                on_tip[t] = sign * f[k]
    return force


def plus(hop: Hop, x: Vector, parts: tuple[tuple[int, int], ...], values: Vector) -> Vector:
    """x with the hop's own motion added: of some coordinates, each with its sign, along the hop's direction."""
    x, k = list(x), hop.motion.direction
    for c, sign in parts:
        x[k] = x[k] + sign * values[c]
    return x


# -- forward dynamics --------------------------------------------------------------------------------------------------


class Pivot(NamedTuple):
    """An unknown taken out of a symmetric system, x_n = y - l . x[:n]: a column of U and its entry of D, M = U D U'."""

    l: Vector
    y: Scalar
    d: Scalar


def eliminate(G: Matrix, b: Vector, keep: int) -> tuple[Matrix, Vector, list[Pivot]]:
    """Solve the last rows of the symmetric system G x = b for their unknowns, in terms of the first `keep`: U D U'.

    Returns what is left of G and b, and the pivots in the order of elimination, the last unknown first.
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
    """The unknowns that `eliminate` took out, appended to those it kept."""
    x = list(x)
    for pivot in reversed(pivots):
        x.append(pivot.y - dot(pivot.l, x))
    return x


def forward_dynamics(chain: Chain, q: Vector, qd: Vector, force: Vector) -> Vector:
    """Accelerations under a generalized force (inputs, springs, dampers): O(n) (Mohan & Saha section 5)."""
    bodies, ways = outward(chain, q, qd, chain.gravity)
    left = [
        added([*AT_REST, *taken(force, own)], scaled(-1, here.h)) for here, own in zip(bodies, chain.own, strict=True)
    ]
    made = [combined(here, own, chain.nominal) for here, own in zip(bodies, left, strict=True)]
    bodies, left, T = zip(*made, strict=True)
    solved = inward(bodies, ways, left)
    qdd: Vector = [0.0] * chain.size
    x: Vector = [*(-g for g in chain.gravity), 0.0, 0.0, 0.0]
    s_ddot: Vector = AT_REST
    for here, way, own, eta, (flexible, joint) in zip(bodies, ways, chain.own, T, solved, strict=True):
        for hop in way:
            x = plus(hop, hop.motion.acceleration(added(x, hop.bias)), hop.tips, s_ddot)
            for j, _ in hop.joints:
                qdd[j] = substitute(joint, x)[6]
            x = plus(hop, x, hop.joints, qdd)
        share = taken(qdd, own)[:1]
        z = substitute(flexible, x + share)[7:]
        put(qdd, own, [*share, *product(eta, z)])
        s_ddot = product(here.s_eta, z)
    return qdd


def combined(here: Moving, left: Vector, nominal: Nominal) -> tuple[Moving, Vector, Matrix]:
    """The body and the wrench left to accelerate it over z in place of eta = T z, and T; see `combinations`.

    Where M or the tip functions' slopes change with eta, they stay what they are.
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


def inward(
    bodies: Sequence[Moving], ways: list[list[Hop]], left: Sequence[Vector]
) -> list[tuple[list[Pivot], list[Pivot]]]:
    """Second pass: for each body the pivots of its eta, over (x, r, the eta before), and of its joint, over x there.

    `left` is for each body the wrench over (v, w, r, eta) left to accelerate it alone: forces less velocity terms.
    It carries the articulated inertia I and the wrench b left to accelerate it (Mohan & Saha eqs. 37 to 39). At a joint
    its coordinate is eliminated; at a tip each tip function gets a column H of the inertia, and the body's eta is
    eliminated with them.
    """
    I, b = zeros(6, 6), AT_REST
    H, D, b_tip = zeros(6, 6), zeros(6, 6), AT_REST
    tips: list[int]
    solved: list[tuple[list[Pivot], list[Pivot]]] = []
    for here, way, own in reversed(list(zip(bodies, ways, left, strict=True))):
        right = added([*b, 0.0, *product(transposed(here.s_eta), b_tip)], own)
        G, right, flexible = eliminate(_extended(I, H, D, here), right, 7)
        I, b, direct, own_inertia, own_force = [row[:6] for row in G[:6]], right[:6], G[6][:6], G[6][6], right[6]
        H, D, b_tip, tips = zeros(6, 6), zeros(6, 6), [0.0] * 6, []
        joint: list[Pivot] = []
        for hop in reversed(way):
            k = hop.motion.direction
            for _, sign in hop.joints:
                U = added(scaled(sign, I[k]), direct)
                d = sign * (U[k] + direct[k]) + own_inertia
                G = [[*row, u] for row, u in zip(I, U, strict=True)] + [[*U, d]]
                I, b, joint = eliminate(G, [*b, own_force + sign * b[k]], 6)
            I, b, direct = hop.motion.inertia(I), hop.motion.wrench(b), hop.motion.wrench(direct)
            for t in tips:
                H[t] = hop.motion.wrench(H[t])
            b = added(b, scaled(-1, product(I, hop.bias)))
            for t, sign in hop.tips:
                tips.append(t)
                H[t], b_tip[t] = scaled(sign, I[k]), sign * b[k]
                for other in tips:
                    D[t][other] = D[other][t] = sign * H[other][k]
        solved.insert(0, (flexible, joint))
    return solved


def _extended(I: Matrix, H: Matrix, D: Matrix, here: Moving) -> Matrix:
    """Inertia over (x, r, eta): the body's own, and what hangs on its tip (columns H and D of the tip functions)."""
    s = transposed(here.s_eta)  # (k, 6)
    beside = [[dot(row, h) for h in transposed(H)] for row in s]  # (k, 6)
    below = [[dot(row, product(D, other)) for other in s] for row in s]
    k = len(s)
    outer = [[*I[r], 0.0, *(beside[c][r] for c in range(k))] for r in range(6)] + [[0.0] * (7 + k)]
    outer += [[*beside[c], 0.0, *below[c]] for c in range(k)]
    return [added(mine, theirs) for mine, theirs in zip(here.M, outer, strict=True)]


# -- the inertia matrix and the dense path -----------------------------------------------------------------------------


def mass_matrix(chain: Chain, q: Vector) -> Matrix:
    """M(q) by composite bodies (Mohan & Saha eq. 32): the wrench of each unit acceleration, carried to the base."""
    bodies, ways = outward(chain, q, [0.0] * chain.size)
    M = zeros(chain.size, chain.size)

    def put_in(r: int, c: int, value: Scalar) -> None:
        M[r][c] = M[c][r] = value

    I, H, D = zeros(6, 6), zeros(6, 6), zeros(6, 6)
    tips: list[int]
    wrench: dict[int, Vector] = {}  # of a unit acceleration of each coordinate met so far, at the present frame
    on_tip: dict[int, Vector] = {}  # what each exerts on the tip functions of the body at hand
    for here, way, own in reversed(list(zip(bodies, ways, chain.own, strict=True))):
        eta = positions(own[1:])
        s = transposed(here.s_eta)
        for n in wrench:
            for c, row in zip(eta, s, strict=True):
                put_in(n, c, dot(row, on_tip[n]))
        G = _extended(I, H, D, here)
        for i, c in enumerate(eta, start=7):
            wrench[c] = G[i][:6]
            for j, other in enumerate(eta, start=7):
                put_in(c, other, G[i][j])
        I, direct, own_inertia = [row[:6] for row in G[:6]], G[6][:6], G[6][6]
        beside = dict(zip(eta, G[6][7:], strict=True))  # what eta's accelerations exert on the joint directly
        H, D, tips = zeros(6, 6), zeros(6, 6), []
        on_tip = {}
        for hop in reversed(way):
            k = hop.motion.direction
            for j, sign in hop.joints:
                for n, f in wrench.items():
                    put_in(n, j, sign * f[k] + beside.get(n, 0.0))
                wrench[j] = added(scaled(sign, I[k]), direct)
                put_in(j, j, sign * (wrench[j][k] + direct[k]) + own_inertia)
            I, direct = hop.motion.inertia(I), hop.motion.wrench(direct)
            wrench = {n: hop.motion.wrench(f) for n, f in wrench.items()}
            for t in tips:
                H[t] = hop.motion.wrench(H[t])
            for t, sign in hop.tips:
                tips.append(t)
                H[t] = scaled(sign, I[k])
                for other in tips:
                    D[t][other] = D[other][t] = sign * H[other][k]
                for n, f in wrench.items():
                    on_tip.setdefault(n, [0.0] * 6)[t] = sign * f[k]
        on_tip = {n: on_tip.get(n, [0.0] * 6) for n in wrench}
    return M


def forward_dynamics_dense(chain: Chain, q: Vector, qd: Vector, force: Vector) -> Vector:
    """The same accelerations from the whole inertia matrix and its factors: O(n^3) (Mohan & Saha section 7.2)."""
    rest = inertial_force(chain, q, qd, [0.0] * chain.size, chain.gravity)
    _, _, pivots = eliminate(mass_matrix(chain, q), added(force, scaled(-1, rest)), 0)
    return substitute(pivots, [])


# -- forces that do not come from inertia ------------------------------------------------------------------------------


def stiffness_force(chain: Chain, q: Vector) -> Vector:
    """dV/dq of the links' strain and of the joints' springs."""
    force: Vector = [0.0] * chain.size
    for body, own in zip(chain.bodies, chain.own, strict=True):
        z = ca.SX.sym("own", 1 + body.size)
        V = ca.SX(body.potential(z[0], entries(z[1:])))
        (slope,) = at([z], [taken(q, own)], [ca.gradient(V, z)])
        put(force, own, entries(slope))
    return force


def damping_force(chain: Chain, qd: Vector) -> Vector:
    """D qd: bearings, links and the joints' springs."""
    force: Vector = [0.0] * chain.size
    for body, own in zip(chain.bodies, chain.own, strict=True):
        put(force, own, product(body.damping, taken(qd, own)))
    return force


def input_matrix(chain: Chain) -> Matrix:
    """B, (n, m): generalized force = B u."""
    columns = []
    for i in chain.driven:
        column = [0.0] * chain.size
        put(column, chain.own[i], chain.bodies[i].drive)
        columns.append(column)
    return [[column[r] for column in columns] for r in range(chain.size)]


# -- poses and energies ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Frame:
    """A frame in the base frame: its origin p, and for each base axis its components in the frame (the rows of R)."""

    p: Vector
    R: Matrix


def frames(chain: Chain, q: Vector) -> list[Frame]:
    """The base frame of every body; the last is the tip."""
    return _placed(outward(chain, q, [0.0] * chain.size)[1])


def _placed(ways: list[list[Hop]]) -> list[Frame]:
    p, R = [0.0] * 3, [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    found = []
    for way in ways:
        for hop in way:
            p = added(p, product(R, hop.motion.shift))
            R = [hop.motion.acceleration([0.0, 0.0, 0.0, *row])[3:] for row in R]
        found.append(Frame(p, R))
    return found


def potential_energy(chain: Chain, q: Vector) -> Scalar:
    """Gravity, zero where a mass lies at the base's height, strain, and the joints' springs [J]."""
    bodies, ways = outward(chain, q, [0.0] * chain.size)
    shares = [taken(q, own) for own in chain.own]
    V: Scalar = sum(body.potential(share[0], share[1:]) for body, share in zip(chain.bodies, shares, strict=True))
    for here, frame in zip(bodies, _placed(ways), strict=True):
        m, S = here.M[0][0], [here.M[1][5], here.M[2][3], here.M[0][4]]
        V = V - dot(chain.gravity, added(scaled(m, frame.p), product(frame.R, S)))
    return V


def kinetic_energy(chain: Chain, q: Vector, qd: Vector) -> Scalar:
    """Sum of 1/2 y' M y over the bodies, rotors and motors [J]."""
    bodies, ways = outward(chain, q, qd)
    T: Scalar = 0.0
    twist: Vector = AT_REST
    sd: Vector = AT_REST
    for i, (here, way, own) in enumerate(zip(bodies, ways, chain.own, strict=True)):
        for hop in way:
            twist = plus(hop, hop.motion.acceleration(twist), hop.tips, sd)
            twist = plus(hop, twist, hop.joints, qd)
        y = twist + taken(qd, own)
        T = T + 0.5 * dot(y, product(here.M, y))
        _, sd = chain.seen(i, here.s, here.sd)
    return T
