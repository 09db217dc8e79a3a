"""Factors of the inertia matrix and the natural orthogonal complement, from the recursions.

M = U D U' (Mohan & Saha eqs. 34 to 38) is the elimination of `dynamics.inward`. t = N_l N_d qd (eqs. 7 to 15) are the
transforms of `dynamics.outward`. Coordinates are in the order of the chain: a joint, then the eta of its body.
"""

from itertools import accumulate

from flexarm.mechanics.chain import Chain, positions
from flexarm.mechanics.dynamics import AT_REST, Hop, eliminate, inward, outward, plus
from flexarm.mechanics.spatial import Matrix, Vector, dot, product, transposed, zeros


def order(chain: Chain) -> list[int]:
    """Return the indices among all rates, from the base outward. The elimination begins with the last one."""
    return [*chain.base, *(n for own in chain.own for n in positions(own))]


def udu(chain: Chain, q: Vector) -> Matrix:
    """Return U, (n, n), unit upper triangular, with the diagonal of D as an additional last column.

    A column of U contains a pivot's row l, which multiplies the acceleration x of a frame (Psi of eq. 37). It is
    carried inward like a wrench. Its entries are the components along the causes of x: at a joint along the joint, at a
    tip along the tip functions (eq. 36, U_ij = P_i' A_ji' Psi_j), at a free base all of them.
    """
    still = [0.0] * chain.size
    bodies, ways = outward(chain, q, still)
    solved, I, _ = inward(bodies, ways, [[0.0] * len(here.h) for here in bodies])
    place = {n: i for i, n in enumerate(order(chain))}
    U, D = [[float(r == c) for c in range(chain.size)] for r in range(chain.size)], [0.0] * chain.size
    # of each coordinate so far, l at the base frame of each body, and its components along the body's tip functions
    beyond: dict[int, dict[int, Vector]] = {i: {} for i in range(-1, len(bodies))}
    on_tips: dict[int, dict[int, Vector]] = {i: {} for i in range(-1, len(bodies))}
    for i, (here, way, own, (flexible, joint)) in reversed(
        list(enumerate(zip(bodies, ways, chain.own, solved, strict=True)))
    ):
        eta, asked = positions(own[1:]), beyond[i]
        for n, tip in on_tips[i].items():
            for c, s in zip(eta, transposed(here.s_eta), strict=True):
                U[place[c]][place[n]] = dot(s, tip)
        directly = {}
        for n, pivot in zip(reversed(eta), flexible, strict=True):
            D[place[n]], asked[n], directly[n] = pivot.d, pivot.l[:6], pivot.l[6]
            for c, value in zip(eta, pivot.l[7:], strict=False):
                U[place[c]][place[n]] = value
        tips = 6 if way.parent < 0 else len(bodies[way.parent].s)
        on_tip = {n: [0.0] * tips for n in (*asked, *positions(own[:1]))}
        for hop in reversed(way.hops):
            k = hop.motion.direction
            for j, sign in hop.joints:
                for n, l in asked.items():
                    U[place[j]][place[n]] = sign * l[k] + directly.get(n, 0.0)
                D[place[j]], asked[j] = joint[0].d, joint[0].l
            asked = {n: hop.motion.wrench(l) for n, l in asked.items()}
            for t, sign in hop.tips:
                for n, l in asked.items():
                    on_tip[n][t] = sign * l[k]
        beyond[way.parent] |= asked
        on_tips[way.parent] |= on_tip
    _, _, base = eliminate(I, AT_REST, 6 - len(chain.base))
    for n, pivot in zip(reversed(chain.base), base, strict=True):
        D[n] = pivot.d
        for c, value in enumerate(pivot.l):
            U[c][n] = value
        for other, l in beyond[-1].items():
            U[n][place[other]] = l[n]
    return [[*row, d] for row, d in zip(U, D, strict=True)]


def propagation(chain: Chain, q: Vector) -> Matrix:
    """Return A and N_d (eq. 13) and the bodies' inertia (eq. 26) side by side, over the twists y = (v, w, r, eta_dot).

    Each column is a unit rate of a parent body, or of a coordinate, carried along the transforms to the body.
    """
    bodies, ways = outward(chain, q, [0.0] * chain.size)
    ends = [0, *accumulate(len(here.M) for here in bodies)]
    A, N_d, M = zeros(ends[-1], ends[-1]), zeros(ends[-1], chain.size), zeros(ends[-1], ends[-1])
    still = [0.0] * chain.size
    columns = iter(range(chain.size))
    for k in chain.base:
        put_down(N_d, 0, next(columns), [float(k == n) for n in range(6)])
    for i, (here, way, own) in enumerate(zip(bodies, ways, chain.own, strict=True)):
        j = way.parent
        for c in range(ends[j], ends[j + 1]) if j >= 0 else ():
            y = [float(c == n) for n in range(ends[j], ends[j + 1])]
            put_down(A, ends[i], c, sent(way.hops, y[:6], product(bodies[j].s_eta, y[7:]), still))
        for n in positions(own[:1]):
            unit = [float(n == c) for c in range(chain.size)]
            tips = [0.0] * len(bodies[j].s) if j >= 0 else AT_REST
            put_down(N_d, ends[i], next(columns), [*sent(way.hops, AT_REST, tips, unit), 1.0])
        for n, _ in enumerate(positions(own[1:])):
            N_d[ends[i] + 7 + n][next(columns)] = 1.0
        for r, row in enumerate(here.M):
            M[ends[i] + r][ends[i] : ends[i + 1]] = row
    return [a + n + m for a, n, m in zip(A, N_d, M, strict=True)]


def sent(hops: list[Hop], twist: Vector, sd: Vector, qd: Vector) -> Vector:
    """Return a body's (v, w) from its parent's, the rates of the parent's tip functions and of the coordinates."""
    for hop in hops:
        twist = plus(hop, hop.motion.acceleration(twist), hop.tips, sd)
        twist = plus(hop, twist, hop.joints, qd)
    return twist


def put_down(M: Matrix, row: int, column: int, values: Vector) -> None:
    """Write values into a column, from a row down."""
    for r, value in enumerate(values, start=row):
        M[r][column] = value
