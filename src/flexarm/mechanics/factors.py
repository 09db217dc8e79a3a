"""The factors of the inertia matrix and the natural orthogonal complement, as the recursions have them.

M = U D U' (Mohan & Saha eqs. 34 to 38) is what `dynamics.inward` eliminates, t = N_l N_d qd (eqs. 7 to 15) the hops of
`dynamics.outward`. Coordinates stand in the order in which the chain has them: a joint, then the eta of its body.
"""

from itertools import accumulate

from flexarm.mechanics.chain import Chain, positions
from flexarm.mechanics.dynamics import AT_REST, Hop, inward, outward, plus
from flexarm.mechanics.spatial import Matrix, Vector, dot, product, transposed, zeros


def order(chain: Chain) -> list[int]:
    """The positions among all coordinates, from the base outward; the elimination takes the last one first."""
    return [n for own in chain.own for n in positions(own)]


def udu(chain: Chain, q: Vector) -> Matrix:
    """U, (n, n), unit upper triangular, and beside it the diagonal of D in a last column.

    A column of U holds a pivot's row l, which asks for the acceleration x of a frame (Psi of eq. 37). Carried inward as
    a wrench is, it meets what gives rise to x: at a joint its component along the joint, at a tip those along the tip
    functions (eq. 36, U_ij = P_i' A_ji' Psi_j).
    """
    still = [0.0] * chain.size
    bodies, ways = outward(chain, q, still)
    solved = inward(bodies, ways, [[0.0] * len(here.h) for here in bodies])
    place = {n: i for i, n in enumerate(order(chain))}
    U, D = [[float(r == c) for c in range(chain.size)] for r in range(chain.size)], [0.0] * chain.size
    asked: dict[int, Vector] = {}  # of each coordinate met so far, l at the present frame
    on_tip: dict[int, Vector] = {}  # what it asks of the tip functions of the body at hand
    for here, way, own, (flexible, joint) in reversed(list(zip(bodies, ways, chain.own, solved, strict=True))):
        eta = positions(own[1:])
        for n, tip in on_tip.items():
            for c, s in zip(eta, transposed(here.s_eta), strict=True):
                U[place[c]][place[n]] = dot(s, tip)
        directly = {}
        for n, pivot in zip(reversed(eta), flexible, strict=True):
            D[place[n]], asked[n], directly[n] = pivot.d, pivot.l[:6], pivot.l[6]
            for c, value in zip(eta, pivot.l[7:], strict=False):
                U[place[c]][place[n]] = value
        on_tip = {n: [0.0] * 6 for n in asked} | {n: [0.0] * 6 for n in positions(own[:1])}
        for hop in reversed(way):
            k = hop.motion.direction
            for j, sign in hop.joints:
                for n, l in asked.items():
                    U[place[j]][place[n]] = sign * l[k] + directly.get(n, 0.0)
                D[place[j]], asked[j] = joint[0].d, joint[0].l
            asked = {n: hop.motion.wrench(l) for n, l in asked.items()}
            for t, sign in hop.tips:
                for n, l in asked.items():
                    on_tip[n][t] = sign * l[k]
    return [[*row, d] for row, d in zip(U, D, strict=True)]


def propagation(chain: Chain, q: Vector) -> Matrix:
    """A and N_d (eq. 13) and the bodies' inertia (eq. 26) side by side, over the twists y = (v, w, r, eta_dot).

    Column by column: a unit rate of the body before, or of a coordinate, sent along the hops to the body.
    """
    bodies, ways = outward(chain, q, [0.0] * chain.size)
    ends = [0, *accumulate(len(here.M) for here in bodies)]
    A, N_d, M = zeros(ends[-1], ends[-1]), zeros(ends[-1], chain.size), zeros(ends[-1], ends[-1])
    still = [0.0] * chain.size
    columns = iter(range(chain.size))
    for i, (here, way, own) in enumerate(zip(bodies, ways, chain.own, strict=True)):
        for c in range(ends[i - 1], ends[i]) if i else ():
            y = [float(c == n) for n in range(ends[i - 1], ends[i])]
            put_down(A, ends[i], c, sent(way, y[:6], product(bodies[i - 1].s_eta, y[7:]), still))
        for j in positions(own[:1]):
            unit = [float(j == n) for n in range(chain.size)]
            put_down(N_d, ends[i], next(columns), [*sent(way, AT_REST, AT_REST, unit), 1.0])
        for n, _ in enumerate(positions(own[1:])):
            N_d[ends[i] + 7 + n][next(columns)] = 1.0
        for r, row in enumerate(here.M):
            M[ends[i] + r][ends[i] : ends[i + 1]] = row
    return [a + n + m for a, n, m in zip(A, N_d, M, strict=True)]


def sent(way: list[Hop], twist: Vector, sd: Vector, qd: Vector) -> Vector:
    """A body's (v, w) from those of the body before, the rates of its tip functions and of the coordinates."""
    for hop in way:
        twist = plus(hop, hop.motion.acceleration(twist), hop.tips, sd)
        twist = plus(hop, twist, hop.joints, qd)
    return twist


def put_down(M: Matrix, row: int, column: int, values: Vector) -> None:
    """Values into a column, from a row down."""
    for r, value in enumerate(values, start=row):
        M[r][column] = value
