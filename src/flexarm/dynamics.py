"""The recursions: inverse dynamics, inertia matrix, forward dynamics, energies, over CasADi SX.

Every function is pure: a chain and symbolic states in, expressions out. Notation: w angular velocity and x acceleration
(a, alpha) of a frame, in its own axes; f wrench (force, moment); I inertia; s the six tip functions of a body. Linear
velocity never appears: a is the classical acceleration of a frame's origin, and a frame that moves at a constant
velocity is as good as one at rest. Gravity is an acceleration of the base.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import casadi as ca

from flexarm.chain import Chain, Step
from flexarm.links import Body
from flexarm.spatial import Matrix, Motion, Scalar, Vector, added, cross, dot, product, scaled, transposed, zeros

AT_REST = [0.0] * 6


# -- bodies ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Moving:
    """A body at a state: inertia M, velocity wrench h, tip functions s with rates, and their derivatives."""

    M: Matrix
    h: Vector
    s: Vector
    sd: Vector
    sdd: Vector
    """d2s/dt2 at eta_ddot = 0."""
    s_eta: Matrix
    """ds/deta, (6, k)."""


def moving(body: Body, eta: Vector, etad: Vector, w: Vector) -> Moving:
    """The body's terms in the equations of motion at a state; none of them is derived by hand.

    With y = (0, w, eta_dot) held fixed while differentiating and p = M y, the velocity wrench h is

        force     (dp_v/deta) eta_dot + w x p_v
        moment    (dp_w/deta) eta_dot + w x p_w
        flexible  (dp_eta/deta) eta_dot - 1/2 d(y' M y)/deta
    """
    k = body.size
    z, zd, omega = ca.SX.sym("eta", k), ca.SX.sym("etad", k), ca.SX.sym("w", 3)
    M = body.inertia(entries(z))
    y = [0.0, 0.0, 0.0, *entries(omega), *entries(zd)]
    p = ca.vertcat(*product(M, y))
    p_rate = ca.jtimes(p, z, zd)
    gyroscopic = cross(entries(omega), entries(p[:3])) + cross(entries(omega), entries(p[3:6]))
    h = p_rate + ca.vertcat(*gyroscopic, -ca.gradient(ca.dot(ca.vertcat(*y), p) / 2, z))
    s = ca.vertcat(*body.tip(entries(z)))
    s_eta = ca.jacobian(s, z)
    sd = ca.mtimes(s_eta, zd)
    terms = [matrix(M), h, s, sd, ca.jtimes(sd, z, zd), s_eta]
    function = ca.Function("moving", [z, zd, omega], [ca.densify(term) for term in terms])
    M_, h_, s_, sd_, sdd_, s_eta_ = function(ca.vertcat(*eta), ca.vertcat(*etad), ca.vertcat(*w))
    return Moving(_rows(M_), entries(h_), entries(s_), entries(sd_), entries(sdd_), _rows(s_eta_))


@dataclass(frozen=True)
class Hop:
    """One elementary motion on the way to a body, at a state."""

    motion: Motion
    bias: Vector
    """Acceleration due to velocities gathered since the segment began; zero but at the joint."""
    tips: tuple[tuple[int, int], ...]
    joints: tuple[tuple[int, int], ...]


def outward(chain: Chain, q: Vector, qd: Vector) -> tuple[list[Moving], list[list[Hop]]]:
    """First pass: angular velocities; every body at its state, and the motions that lead to it."""
    w: Vector = [0.0] * 3
    s, sd, sdd = AT_REST, AT_REST, AT_REST
    bodies, ways = [], []
    for body, segment, eta in zip(chain.bodies, chain.segments, chain.eta, strict=True):
        bias: Vector = AT_REST
        way = []
        for step in segment.steps:
            motion = step.motion(step.axis, step.offset + _moved(step, s, q), _moved(step, sd, qd))
            bias = added(bias, motion.bias(w))
            bias[motion.direction] = bias[motion.direction] + sum(sign * sdd[t] for t, sign in step.tips)
            way.append(Hop(motion, AT_REST, step.tips, step.joints))
            w, bias_before, bias = motion.angular_velocity(w), bias, motion.acceleration(bias)
        way[-1] = Hop(way[-1].motion, bias_before, way[-1].tips, way[-1].joints)
        for step in segment.after:
            motion = step.motion(step.axis, step.offset)
            way.append(Hop(motion, AT_REST, (), ()))
            w = motion.angular_velocity(w)
        here = moving(body, q[eta], qd[eta], w)
        s, sd, sdd = here.s, here.sd, here.sdd
        bodies.append(here)
        ways.append(way)
    return bodies, ways


def _moved(step: Step, s: Vector, q: Vector) -> Scalar:
    """What tip functions (or their derivatives) and joint coordinates (or rates) add to an elementary motion."""
    return sum(sign * s[t] for t, sign in step.tips) + sum(sign * q[j] for j, sign in step.joints)


# -- inverse dynamics --------------------------------------------------------------------------------------------------


def inertial_force(chain: Chain, q: Vector, qd: Vector, qdd: Vector, gravity: Iterable[float]) -> Vector:
    """Generalized force M qdd + velocity terms + gravity, without springs and dampers: Newton and Euler, out and in."""
    bodies, ways = outward(chain, q, qd)
    x: Vector = [*(-g for g in gravity), 0.0, 0.0, 0.0]
    s_ddot: Vector = AT_REST
    wrenches = []
    for here, way, eta in zip(bodies, ways, chain.eta, strict=True):
        for hop in way:
            x = _plus(hop, hop.motion.acceleration(added(x, hop.bias)), hop.tips, s_ddot)
            x = _plus(hop, x, hop.joints, qdd)
        s_ddot = product(here.s_eta, qdd[eta])
        wrenches.append(added(here.h, product(here.M, x + qdd[eta])))

    force: Vector = [0.0] * chain.size
    f: Vector = AT_REST
    on_tip: Vector = [0.0] * 6
    for here, way, eta, own in reversed(list(zip(bodies, ways, chain.eta, wrenches, strict=True))):
        f = added(f, own[:6])
        force[eta] = added(own[6:], product(transposed(here.s_eta), on_tip))
        on_tip = [0.0] * 6
        for hop in reversed(way):
            k = hop.motion.direction
            for j, sign in hop.joints:
                force[j] = sign * f[k] + chain.rotor[j] * qdd[j]
            f = hop.motion.wrench(f)
            for t, sign in hop.tips:
                on_tip[t] = sign * f[k]
    for motor, J in chain.motor_coordinates:
        force[motor] = J * qdd[motor]
    return force


def _plus(hop: Hop, x: Vector, parts: tuple[tuple[int, int], ...], values: Vector) -> Vector:
    """x with the hop's own motion added: of some coordinates, each with its sign, along the hop's direction."""
    x, k = list(x), hop.motion.direction
    for c, sign in parts:
        x[k] = x[k] + sign * values[c]
    return x


# -- forward dynamics --------------------------------------------------------------------------------------------------


def eliminate(G: Matrix, b: Vector, keep: int) -> tuple[Matrix, Vector, list[tuple[Vector, Scalar]]]:
    """Solve the last rows of the symmetric system G x = b for their unknowns, in terms of the first `keep`: L D L'.

    Returns what is left of G and b, and the pivots (l, y) in the order of elimination: x_n = y - l . x[:n].
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
        pivots.append((l, b[n] / d))
    return [row[:keep] for row in G[:keep]], b[:keep], pivots


def substitute(pivots: list[tuple[Vector, Scalar]], x: Vector) -> Vector:
    """The unknowns that `eliminate` took out, appended to those it kept."""
    x = list(x)
    for l, y in reversed(pivots):
        x.append(y - dot(l, x))
    return x


def forward_dynamics(chain: Chain, q: Vector, qd: Vector, force: Vector) -> Vector:
    """Accelerations under a generalized force (inputs, springs, dampers): O(n) (Mohan & Saha section 5, eqs. 37 to 42).

    The inward pass carries the articulated inertia I and the wrench b left to accelerate it. At a joint its coordinate
    is eliminated; at a tip each tip function gets a column H of the inertia, and the body's eta is eliminated with
    them.
    """
    bodies, ways = outward(chain, q, qd)
    I, b = zeros(6, 6), AT_REST
    H, D, b_tip = zeros(6, 6), zeros(6, 6), AT_REST
    solved = []
    for here, way, eta in reversed(list(zip(bodies, ways, chain.eta, strict=True))):
        G = _extended(I, H, D, here)
        right = added(force[eta], product(transposed(here.s_eta), b_tip))
        right = added([*b, *right], scaled(-1, here.h))
        I, b, flexible = eliminate(G, right, 6)
        H, D, b_tip = zeros(6, 6), zeros(6, 6), [0.0] * 6
        tips: list[int] = []  # tip functions met so far
        joint: list[tuple[Vector, Scalar]] = []
        for hop in reversed(way):
            k = hop.motion.direction
            for j, sign in hop.joints:
                U = scaled(sign, I[k])
                G = [[*row, u] for row, u in zip(I, U, strict=True)] + [[*U, sign * U[k] + chain.rotor[j]]]
                I, b, joint = eliminate(G, [*b, force[j] + sign * b[k]], 6)
            I, b = hop.motion.inertia(I), hop.motion.wrench(b)
            for t in tips:
                H[t] = hop.motion.wrench(H[t])
            b = added(b, scaled(-1, product(I, hop.bias)))
            for t, sign in hop.tips:
                tips.append(t)
                H[t], b_tip[t] = scaled(sign, I[k]), sign * b[k]
                for other in tips:
                    D[t][other] = D[other][t] = sign * H[other][k]
        solved.append((flexible, joint))

    qdd: Vector = [0.0] * chain.size
    x: Vector = [*(-g for g in chain.gravity), 0.0, 0.0, 0.0]
    s_ddot: Vector = AT_REST
    for here, way, eta, (flexible, joint) in zip(bodies, ways, chain.eta, reversed(solved), strict=True):
        for hop in way:
            x = _plus(hop, hop.motion.acceleration(added(x, hop.bias)), hop.tips, s_ddot)
            for j, _ in hop.joints:
                qdd[j] = substitute(joint, x)[6]
            x = _plus(hop, x, hop.joints, qdd)
        qdd[eta] = substitute(flexible, x)[6:]
        s_ddot = product(here.s_eta, qdd[eta])
    for motor, J in chain.motor_coordinates:
        qdd[motor] = force[motor] / J
    return qdd


def _extended(I: Matrix, H: Matrix, D: Matrix, here: Moving) -> Matrix:
    """Inertia over (x, eta): the body's own, and what hangs on its tip (columns H and D of the tip functions)."""
    s = transposed(here.s_eta)  # (k, 6)
    beside = [[dot(row, h) for h in transposed(H)] for row in s]  # (k, 6)
    below = [[dot(row, product(D, other)) for other in s] for row in s]
    k = len(s)
    outer = [[*I[r], *(beside[c][r] for c in range(k))] for r in range(6)] + [[*beside[c], *below[c]] for c in range(k)]
    return [added(mine, theirs) for mine, theirs in zip(here.M, outer, strict=True)]


# -- the inertia matrix and the dense path -----------------------------------------------------------------------------


def mass_matrix(chain: Chain, q: Vector) -> Matrix:
    """M(q) by composite bodies (Mohan & Saha eq. 32): the wrench of each unit acceleration, carried to the base."""
    bodies, ways = outward(chain, q, [0.0] * chain.size)
    M = zeros(chain.size, chain.size)

    def put(r: int, c: int, value: Scalar) -> None:
        M[r][c] = M[c][r] = value

    I, H, D = zeros(6, 6), zeros(6, 6), zeros(6, 6)
    wrench: dict[int, Vector] = {}  # of a unit acceleration of each coordinate met so far, at the present frame
    on_tip: dict[int, Vector] = {}  # what each exerts on the tip functions of the body at hand
    for here, way, eta in reversed(list(zip(bodies, ways, chain.eta, strict=True))):
        own = range(eta.start, eta.stop)
        s = transposed(here.s_eta)
        for n in wrench:
            for c, row in zip(own, s, strict=True):
                put(n, c, dot(row, on_tip[n]))
        G = _extended(I, H, D, here)
        for c in own:
            wrench[c] = G[6 + c - eta.start][:6]
            for other in own:
                put(c, other, G[6 + c - eta.start][6 + other - eta.start])
        I = [row[:6] for row in G[:6]]
        H, D, on_tip = zeros(6, 6), zeros(6, 6), {}
        tips: list[int] = []
        for hop in reversed(way):
            k = hop.motion.direction
            for j, sign in hop.joints:
                wrench[j] = scaled(sign, I[k])
                for n, f in wrench.items():
                    put(n, j, sign * f[k])
                put(j, j, M[j][j] + chain.rotor[j])
            I = hop.motion.inertia(I)
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
    for motor, J in chain.motor_coordinates:
        put(motor, motor, J)
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
    for body, eta in zip(chain.bodies, chain.eta, strict=True):
        z = ca.SX.sym("eta", body.size)
        slope = ca.Function("slope", [z], [ca.densify(ca.gradient(ca.SX(body.strain(entries(z))), z))])
        force[eta] = entries(slope(ca.vertcat(*q[eta])))
    for (motor, _), j in zip(chain.motor_coordinates, chain.motors, strict=True):
        force[motor] = chain.spring[j] * (q[motor] - q[j])
        force[j] = -force[motor]
    return force


def damping_force(chain: Chain, qd: Vector) -> Vector:
    """D qd: bearings, links and the joints' springs."""
    force: Vector = [d * rate for d, rate in zip(chain.damping, qd, strict=False)] + [0.0] * (chain.size - chain.joints)
    for body, eta in zip(chain.bodies, chain.eta, strict=True):
        force[eta] = product(body.damping, qd[eta])
    for (motor, _), j in zip(chain.motor_coordinates, chain.motors, strict=True):
        force[motor] = chain.spring_damping[j] * (qd[motor] - qd[j])
        force[j] = force[j] - force[motor]
    return force


def input_force(chain: Chain, u: Vector) -> Vector:
    """B u."""
    force: Vector = [0.0] * chain.size
    for coordinate, value in zip(chain.actuated, u, strict=True):
        force[coordinate] = force[coordinate] + value
    return force


# -- poses and energies ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Frame:
    """A frame in the base frame: its origin p, and for each base axis its components in the frame (the rows of R)."""

    p: Vector
    R: Matrix


def frames(chain: Chain, q: Vector) -> list[Frame]:
    """The base frame of every body; the last is the tip."""
    _, ways = outward(chain, q, [0.0] * chain.size)
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
    bodies, _ = outward(chain, q, [0.0] * chain.size)
    V: Scalar = sum(body.strain(q[eta]) for body, eta in zip(chain.bodies, chain.eta, strict=True))
    for here, frame in zip(bodies, frames(chain, q), strict=True):
        m, S = here.M[0][0], [here.M[1][5], here.M[2][3], here.M[0][4]]
        V = V - dot(chain.gravity, added(scaled(m, frame.p), product(frame.R, S)))
    for (motor, _), j in zip(chain.motor_coordinates, chain.motors, strict=True):
        V = V + 0.5 * chain.spring[j] * (q[motor] - q[j]) ** 2
    return V


def kinetic_energy(chain: Chain, q: Vector, qd: Vector) -> Scalar:
    """Sum of 1/2 y' M y over the bodies, rotors and motors [J]."""
    bodies, ways = outward(chain, q, qd)
    T: Scalar = sum(0.5 * J * rate**2 for J, rate in zip(chain.rotor, qd, strict=False))
    T = T + sum(0.5 * J * qd[motor] ** 2 for motor, J in chain.motor_coordinates)
    twist: Vector = AT_REST
    sd: Vector = AT_REST
    for here, way, eta in zip(bodies, ways, chain.eta, strict=True):
        for hop in way:
            twist = _plus(hop, hop.motion.acceleration(twist), hop.tips, sd)
            twist = _plus(hop, twist, hop.joints, qd)
        y = twist + qd[eta]
        T = T + 0.5 * dot(y, product(here.M, y))
        sd = here.sd
    return T


def entries(x: ca.SX) -> Vector:
    """The scalars of a column (or row)."""
    return [x[i] for i in range(x.numel())]


def matrix(M: Matrix) -> ca.SX:
    """An SX of the same rows."""
    return ca.vertcat(*(ca.horzcat(*row) for row in M))


def _rows(M: ca.SX) -> Matrix:
    return [[M[r, c] for c in range(M.shape[1])] for r in range(M.shape[0])]
