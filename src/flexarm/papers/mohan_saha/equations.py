"""Mohan & Saha's equations one by one: what the printed and the corrected ones give, as numbers.

What they are held against is either independent of the package (lengths of curves, Lagrange's equations of points,
energies that must be conserved) or the package's own, where the equation itself is the independent opinion.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import casadi as ca
import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

from flexarm.analysis.factorization import body_inertia, columns, denoc, order, rows, udu
from flexarm.description.arm import Arm, Beam, Link, Revolute
from flexarm.model import Model
from flexarm.papers.mohan_saha.compute import Slew, mapped
from flexarm.shapes import family

Array = np.ndarray

X, W = (a / 2 for a in np.polynomial.legendre.leggauss(24))
X = X + 0.5
"""Gauss points and weights along a link of length 1."""
STATE = (0.3, -0.5, 0.7), (0.08, -0.03, 0.05, 0.02, -0.01, 0.004), (0.5, -0.3, 0.4)
"""Joint angles, amplitudes and joint rates of the Canadarm in general position, where equations are tried."""


LENGTH, MASS, EI = 7.0, 85.0, 1e4
"""Of `turning_link` [m, kg, N m^2]."""


def turning_link(modes: int, foreshortening: bool = False) -> Model:
    """One link about a joint: length and mass of the Canadarm's second, softer."""
    count, short = {"y": modes}, foreshortening
    beam = Beam(length=LENGTH, mass=MASS, EI=EI, modes=count, shapes="clamped-free", foreshortening=short)
    joint = Revolute(axis=(0.0, 0.0, 1.0))
    return Model(Arm(name="turning link", links=[Link(name="link", joint=joint, body=beam)]))


# -- eq. 43: the shapes ------------------------------------------------------------------------------------------------


@cache
def roots(count: int) -> tuple[float, ...]:
    """The first roots of cos m cosh m = -1, one between any two multiples of pi."""
    return tuple(
        float(brentq(lambda m: np.cos(m) + 1 / np.cosh(m), j * np.pi, (j + 1) * np.pi, xtol=1e-15))
        for j in range(count)
    )


def printed_shape(zeta: Array, m: Array, derivative: int = 0) -> Array:
    """Eq. 43, or its derivative with respect to zeta."""
    sigma = (np.sin(m) + np.sinh(m)) / (np.cos(m) + np.cosh(m))
    s, c, sh, ch = np.sin(zeta), np.cos(zeta), np.sinh(zeta), np.cosh(zeta)
    return (s + sh - sigma * (c + ch), c + ch - sigma * (sh - s), sh - s - sigma * (ch - c))[derivative]


def shape(x: Array, count: int, derivative: int = 0) -> Array:
    """Eq. 43 with zeta = m (1 - x), made 1 at the tip, or its derivative with respect to x: (points, modes)."""
    m, x = np.array(roots(count)), np.atleast_1d(x)
    return (-m) ** derivative * printed_shape(m * (1 - x[:, None]), m, derivative) / printed_shape(0 * m, m)


def clamp(count: int = 2) -> tuple[float, float, float]:
    """Of the printed shapes: the least deflection at zeta = 0, the largest at zeta = m, the largest slope there."""
    m = np.array(roots(count))
    at_0, at_m, slope = printed_shape(0 * m, m), printed_shape(m, m), printed_shape(m, m, 1)
    return float(np.abs(at_0).min()), float(np.abs(at_m).max()), float(np.abs(slope / m).max())


def shapes_apart(count: int = 2) -> float:
    """The largest distance of eq. 43, as `shape` has it, from the package's clamped-free shapes."""
    x = np.linspace(0.0, 1.0, 101)
    return float(np.abs(shape(x, count) - family("clamped-free").basis(count).values(x)).max())


# -- eq. 1b: foreshortening --------------------------------------------------------------------------------------------


def arc_lengths(amplitude: float) -> tuple[float, float]:
    """Relative change of the length of an axis bent in both planes: with the right and the printed sign in eq. 1b."""
    slopes = amplitude * shape(X, 2, 1)
    y, z = slopes[:, 0], 0.5 * slopes[:, 0] - 0.1 * slopes[:, 1]
    right, printed = -(y**2 + z**2) / 2, (y**2 - z**2) / 2
    changes = [abs(float(W @ np.sqrt((1 + ux) ** 2 + y**2 + z**2)) - 1) for ux in (right, printed)]
    return changes[0], changes[1]


def tip_shortening() -> tuple[float, float]:
    """How far the tip of a link bent by eta = (0.05, 0.01) m moves back [m]: the package's, and -int 1/2 u_y'^2."""
    model, eta = turning_link(2, foreshortening=True), np.array([0.05, 0.01])
    ours = float(np.array(model.function("deflections")([0.0, *eta]))[0, 0])
    return ours, -float(W @ (shape(X, 2, 1) @ eta) ** 2) / 2 / LENGTH


def stiffening(share: float, foreshortening: bool) -> float:
    """omega^2 of the first mode over that at rest, of a link that turns at a rate of `share` times that frequency."""
    model = turning_link(1, foreshortening)
    M, k = _inertia(model), _stiffness(model)
    rate = share * np.sqrt(k / M)
    step = 1e-4
    bias = [np.array(model.function("bias")([0.0, eta], [rate, 0.0]))[1, 0] for eta in (step, -step)]
    return float(1 + (bias[0] - bias[1]) / (2 * step) / k)


def southwell() -> float:
    """What stiffening should be: omega^2 = omega_0^2 + (s - 1) rate^2, s = 1/2 int (1 - x^2) phi'^2 / int phi^2."""
    phi, slope = shape(X, 1)[:, 0], shape(X, 1, 1)[:, 0]
    return float(W @ ((1 - X**2) * slope**2) / 2 / (W @ phi**2))


def _inertia(model: Model) -> float:
    return float(np.array(model.function("mass_matrix")([0.0, 0.0]))[1, 1])


def _stiffness(model: Model) -> float:
    return float(np.array(model.function("stiffness_force")([0.0, 1.0]))[1, 0])


# -- eq. 20: Lagrange's equations --------------------------------------------------------------------------------------


def clamped(strain: float) -> float:
    """Square of the frequency of `turning_link` with its hub held, strain's force times `strain` [1/s^2].

    The lowest in size; negative where nothing pulls the link back.
    """
    model = turning_link(2)
    M = np.array(model.function("mass_matrix")(np.zeros(3)))[1:, 1:]
    K = np.array(model.function("stiffness_force").map(2)(np.eye(3)[:, 1:]))[1:]
    omega2 = np.linalg.eigvals(np.linalg.solve(M, strain * K)).real
    return float(omega2[np.argmin(np.abs(omega2))])


def clamped_beam() -> float:
    """What it should be: m^4 EI / (rho L^4) with the first root m of eq. 43."""
    return float(roots(1)[0] ** 4 * EI / (MASS * LENGTH**3))


def lagrange(arm: Arm, count: int) -> Any:
    """Eqs. 16 to 20 of a planar arm: (q, qd, qdd, u) -> what is left of eq. 20, and its largest term, (n, 2).

    From positions of points alone: T is a sum over Gauss points of each link, its derivatives are automatic.
    """
    n = len(arm.links) * (1 + count)
    q, qd, qdd = (ca.SX.sym(name, n) for name in ("q", "qd", "qdd"))
    u = ca.SX.sym("u", len(arm.links))
    phi, tip, slope = shape(X, count), shape(np.ones(1), count)[0], shape(np.ones(1), count, 1)[0]
    strain = shape(X, count, 2).T @ (W[:, None] * shape(X, count, 2))
    o, angle, T, V = ca.SX.zeros(2), ca.SX(0), ca.SX(0), ca.SX(0)
    for i, link in enumerate(arm.links):
        body = link.body
        assert isinstance(body, Beam)
        d = q[len(arm.links) + count * i : len(arm.links) + count * (i + 1)]
        angle = angle + q[i]
        R = ca.blockcat([[ca.cos(angle), -ca.sin(angle)], [ca.sin(angle), ca.cos(angle)]])
        for x, w, values in zip(X, W, phi, strict=True):
            r = o + ca.mtimes(R, ca.vertcat(body.length * x, ca.dot(ca.DM(values), d)))
            v = ca.jtimes(r, q, qd)
            T += body.total_mass * w * ca.dot(v, v) / 2
        V += body.stiffness["y"] / body.length**3 * ca.bilin(ca.DM(strain), d, d) / 2
        o = o + ca.mtimes(R, ca.vertcat(body.length, ca.dot(ca.DM(tip), d)))
        angle = angle + ca.dot(ca.DM(slope), d) / body.length
    p = ca.gradient(T, qd)
    applied = ca.vertcat(u, ca.SX.zeros(n - len(arm.links)))
    terms = [ca.jtimes(p, qd, qdd), ca.jtimes(p, q, qd) - ca.gradient(T, q), ca.gradient(V, q), -applied]
    left, size = terms[0] + terms[1] + terms[2] + terms[3], ca.mmax(ca.fabs(ca.horzcat(*terms)))
    return ca.Function("eq_20", [q, qd, qdd, u], [ca.cse(ca.vertcat(left, size))])


@cache
def lagrange_residual(slew: Slew) -> float:
    """What is left of eq. 20 at 101 times of the slew, over the largest term there was."""
    model, some = slew.model, slice(None, None, 10)
    q, qd, u = slew.result.q.values[some], slew.result.qd.values[some], slew.u[some]
    qdd = mapped(model.function("forward_dynamics"), q, qd, u)
    left = mapped(lagrange(model.arm, 2), q, qd, qdd, u)
    return float(np.abs(left[:, :-1]).max() / left[:, -1].max())


# -- eqs. 7 to 15 and 23 to 38: twists, velocity terms, factors --------------------------------------------------------


class Canadarm:
    """The blocks A, P, M of the Canadarm at `STATE`, in the base's axes as the paper has them."""

    def __init__(self, model: Model):
        angles, amplitudes, rates = STATE
        self.model, self.q = model, np.array([*angles, *amplitudes])
        self.qd = np.array([*rates, *(2.0 * d for d in reversed(amplitudes))])
        self.order, self.rows, self.columns = list(order(model)), rows(model)[:-1], columns(model)[:-1]  # no payload
        self.size = self.rows[-1].stop
        self.N_l, self.N_d, self.inertia = self.blocks(self.q)
        self.I = model.mass_matrix(self.q)[np.ix_(self.order, self.order)]

    def blocks(self, q: Array) -> tuple[Array, Array, Array]:
        """N_l, N_d and the links' mass matrices, turned from the links' axes into the base's."""
        frames, T = self.model.frames(q), np.eye(self.size)
        for at, frame in zip(self.rows, frames, strict=False):
            for k in (0, 3):
                T[at.start + k : at.start + k + 3, at.start + k : at.start + k + 3] = frame[:3, :3]
        (N_l, N_d), inertia = denoc(self.model, q), body_inertia(self.model, q)
        end = self.size
        return T @ N_l[:end, :end] @ T.T, T @ N_d[:end], T @ inertia[:end, :end] @ T.T

    def off(self, found: Array, size: Array | None = None) -> float:
        """How far an inertia matrix is off, its entries measured by the diagonal."""
        d = np.sqrt(np.diag(self.I))
        return float(np.abs((found - self.I) / np.outer(d, d)).max())

    def eq_9(self, sign: float) -> float:
        """A_21's upper right block less sign times (a x), a from O_1 to O_2 [m]."""
        a = np.diff(self.model.frames(self.q)[:2, :3, 3], axis=0)[0]
        block = self.N_l[self.rows[1], self.rows[0]][:3, 3:6]
        return float(np.abs(block - sign * _cross(a)).max())

    def eq_14(self) -> float:
        """The largest difference between the links' twists by N_l N_d and by differences of their frames."""
        N, step, off = self.N_l @ self.N_d, 1e-6, 0.0
        here = self.model.frames(self.q)
        for c, n in enumerate(self.order):
            dq = step * (np.arange(len(self.q)) == n)
            change = (self.model.frames(self.q + dq) - self.model.frames(self.q - dq)) / (2 * step)
            for i, at in enumerate(self.rows):
                S = change[i][:3, :3] @ here[i][:3, :3].T
                twist = [*change[i][:3, 3], S[2, 1], S[0, 2], S[1, 0]]
                off = max(off, float(np.abs(N[at, c][:6] - twist).max()))
        return off

    def eq_32(self, backward: Callable[[Array], Array]) -> Array:
        """The inertia matrix by M~_i = M_i + A' M~_{i+1} `backward(A)`, A = A_{i+1,i}."""
        I = np.zeros_like(self.I)
        composite = np.zeros((0, 0))
        for i in reversed(range(len(self.rows))):
            own = self.inertia[self.rows[i], self.rows[i]]
            if i + 1 < len(self.rows):
                A = self.N_l[self.rows[i + 1], self.rows[i]]
                own = own + A.T @ composite @ backward(A)
            composite = own
            P = self.N_d[self.rows[i], self.columns[i]]
            for j in range(i + 1):
                A_ij, P_j = self.N_l[self.rows[i], self.rows[j]], self.N_d[self.rows[j], self.columns[j]]
                I[self.columns[i], self.columns[j]] = P.T @ composite @ A_ij @ P_j
                I[self.columns[j], self.columns[i]] = I[self.columns[i], self.columns[j]].T
        return I

    def eqs_36_to_38(
        self, backward: Callable[[Array], Array] = lambda A: A, psi_of_i: bool = False
    ) -> tuple[Array, Array]:
        """U and D by the articulated inertia M^_i = M_i + A' M-_{i+1} `backward(A)`, from the same blocks.

        Eq. 37 has Psi_i in Psi_ij = A_ji' Psi_i in print; `psi_of_i` takes it at its word, else it is Psi_j.
        """
        U, D = np.eye(len(self.I)), np.zeros_like(self.I)
        left, psi = np.zeros((0, 0)), {}
        for i in reversed(range(len(self.rows))):
            hat = self.inertia[self.rows[i], self.rows[i]]
            if i + 1 < len(self.rows):
                A = self.N_l[self.rows[i + 1], self.rows[i]]
                hat = hat + A.T @ left @ backward(A)
            own = self.columns[i]
            P = self.N_d[self.rows[i], own]
            D[own, own] = P.T @ hat @ P
            psi[i] = hat @ P @ np.linalg.inv(D[own, own])
            left = hat - hat @ P @ psi[i].T
        for j in range(len(self.rows)):
            for i in range(j):
                P_i, A_ji = self.N_d[self.rows[i], self.columns[i]], self.N_l[self.rows[j], self.rows[i]]
                U[self.columns[i], self.columns[j]] = P_i.T @ A_ji.T @ psi[i if psi_of_i else j]
        return U, D

    def steps_a_to_c(self) -> float:
        """Eqs. 39 to 41 with these factors: relative distance of qdd from the package's recursion."""
        U, D = self.eqs_36_to_38()
        u = np.array([100.0, -50.0, 20.0])
        phi = (self.model.input_matrix(self.q) @ u - self.model.inverse_dynamics(self.q, self.qd, 0 * self.q))[
            self.order
        ]
        qdd = np.linalg.solve(U.T, np.linalg.solve(D, np.linalg.solve(U, phi)))
        expected = np.array(self.model.function("forward_dynamics")(self.q, self.qd, u)).ravel()[self.order]
        return float(np.abs(qdd - expected).max() / np.abs(expected).max())

    def factors_apart(self) -> float:
        """The largest distance of eqs. 36 to 38 from the factors that the package's recursion eliminates with."""
        d = np.sqrt(np.diag(self.I))
        (U, D), (mine, its) = udu(self.model, self.q, blocks=True), self.eqs_36_to_38()
        return float(max(np.abs((U - mine) * d / d[:, None]).max(), np.abs((D - its) / np.outer(d, d)).max()))

    def eq_33(self, coriolis: float, gamma: bool = True) -> float:
        """phi's velocity terms, N'(M Ndot qd + gamma), less the package's, over their largest.

        `coriolis` is the factor of w x u_dot in eq. 24b; Ndot is a difference along the motion.
        """
        step, qd = 1e-6, self.qd[self.order]
        ahead, behind = (self.blocks(self.q + s * step * self.qd) for s in (1.0, -1.0))
        N_dot = (ahead[0] @ ahead[1] - behind[0] @ behind[1]) / (2 * step)
        N = self.N_l @ self.N_d
        wrench = self.inertia @ N_dot @ qd + (self.gamma(coriolis) if gamma else 0.0)
        expected = self.model.bias(self.q, self.qd)[self.order]
        return float(np.abs(N.T @ wrench - expected).max() / np.abs(expected).max())

    def gamma(self, coriolis: float) -> Array:
        """Eq. 24b, a link in the plane: int rho [W; r x W; S' W] with W = w x (w x r) + coriolis (w x u_dot)."""
        wrench = np.zeros(self.size)
        twist = self.N_l @ self.N_d @ self.qd[self.order]
        frames, phi = self.model.frames(self.q), shape(X, 2)
        for at, own, frame, link in zip(self.rows, self.columns, frames, self.model.arm.links, strict=False):
            body, R, w = link.body, frame[:3, :3], twist[at][3:6]
            assert isinstance(body, Beam)
            _, *bends = self.order[own]
            d, d_rate = self.q[bends], self.qd[bends]
            r = np.column_stack([body.length * X, phi @ d, 0 * X]) @ R.T
            u_dot = np.column_stack([0 * X, phi @ d_rate, 0 * X]) @ R.T
            Wx = np.cross(w, np.cross(w, r)) + coriolis * np.cross(w, u_dot)
            rho = body.total_mass * W
            wrench[at] = [*(rho @ Wx), *(rho @ np.cross(r, Wx)), 0.0, *((rho * (Wx @ R)[:, 1]) @ phi)]
        return wrench


def _cross(a: Array) -> Array:
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


def spun(factor: float) -> tuple[float, float]:
    """Relative variation of energy and angular momentum of a free spinning link, 2 w x u_dot times a factor.

    In the plane this term acts on the joint alone: u_dot lies along y, w x u_dot along x, where the link cannot bend.
    """
    model = turning_link(1)

    def rate(t: float, x: Array) -> Array:
        h = model.bias(x[:2], x[2:])
        h[0] *= factor
        return np.concatenate([x[2:], np.linalg.solve(model.mass_matrix(x[:2]), -h - model.stiffness_force(x[:2]))])

    x0, times = np.array([0.0, 0.5, 1.0, 0.0]), np.linspace(0.0, 5.0, 201)
    x = solve_ivp(rate, (0.0, 5.0), x0, method="DOP853", rtol=1e-9, atol=1e-11, t_eval=times).y.T
    energy = np.sum(model.energy(x[:, :2], x[:, 2:]), axis=0)
    momentum = np.einsum("tj,tj->t", model.mass_matrix(x[:, :2])[:, 0], x[:, 2:])
    variation = [float(np.ptp(v) / abs(v[0])) for v in (energy, momentum)]
    return variation[0], variation[1]
