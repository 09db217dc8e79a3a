"""Results of Mohan & Saha's equations, one by one, as printed and as corrected.

The reference is either independent of the package (lengths of curves, Lagrange's equations of points, conserved
energies) or the package itself, where the equation is the independent result.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import casadi as ca
import numpy as np
from scipy.integrate import solve_ivp

from flexarm import Arm, Beam, Link, Model, Revolute
from flexarm.analysis.factorization import denoc, rows, udu
from flexarm.arrays import Array
from flexarm.shapes import family
from flexarm_papers.mohan_saha.compute import Slew, mapped
from flexarm_papers.mohan_saha.shapes import W, X, roots, shape
from flexarm_papers.mohan_saha.twists import COLUMNS, MODES, ROWS, Blocks, eq_11

STATE = (0.3, -0.5, 0.7), (0.08, -0.03, 0.05, 0.02, -0.01, 0.004), (0.5, -0.3, 0.4)
"""Joint angles, amplitudes and joint rates of the Canadarm in general position, at which equations are tried."""


LENGTH, MASS, EI = 7.0, 85.0, 1e4
"""Length, mass and stiffness of `turning_link` [m, kg, N m^2]."""


def turning_link(modes: int, foreshortening: bool = False) -> Model:
    """Return a link on a joint with the length and mass of the Canadarm's second link, but softer."""
    count, short = {"y": modes}, foreshortening
    beam = Beam(length=LENGTH, mass=MASS, EI=EI, modes=count, shapes="clamped-free", foreshortening=short)
    joint = Revolute(axis=(0.0, 0.0, 1.0))
    return Model(Arm(name="turning link", links=[Link(name="link", joint=joint, body=beam)]))


# -- eq. 1b: foreshortening --------------------------------------------------------------------------------------------


def arc_lengths(amplitude: float) -> tuple[float, float]:
    """Return the relative change of the length of an axis bent in both planes.

    It is given with the right and with the printed sign in eq. 1b.
    """
    slopes = amplitude * shape(X, 2, 1)
    y, z = slopes[:, 0], 0.5 * slopes[:, 0] - 0.1 * slopes[:, 1]
    right, printed = -(y**2 + z**2) / 2, (y**2 - z**2) / 2
    changes = [abs(float(W @ np.sqrt((1 + ux) ** 2 + y**2 + z**2)) - 1) for ux in (right, printed)]
    return changes[0], changes[1]


def tip_shortening() -> tuple[float, float]:
    """Return the retreat of the tip of a link bent by eta = (0.05, 0.01) m [m]: the package's, and -int 1/2 u_y'^2."""
    model, eta = turning_link(2, foreshortening=True), np.array([0.05, 0.01])
    ours = float(np.array(model.function("deflections")([0.0, *eta]))[0, 0])
    return ours, -float(W @ (shape(X, 2, 1) @ eta) ** 2) / 2 / LENGTH


def stiffening(share: float, foreshortening: bool) -> float:
    """Return omega^2 of the first mode over that at rest, for a link that turns at `share` times that frequency."""
    model = turning_link(1, foreshortening)
    M, k = _inertia(model), _stiffness(model)
    rate = share * np.sqrt(k / M)
    step = 1e-4
    bias = [np.array(model.function("bias")([0.0, eta], [rate, 0.0]))[1, 0] for eta in (step, -step)]
    return float(1 + (bias[0] - bias[1]) / (2 * step) / k)


def southwell() -> float:
    """Return s in the exact stiffening omega^2 = omega_0^2 + (s - 1) rate^2.

    It is s = 1/2 int (1 - x^2) phi'^2 / int phi^2.
    """
    phi, slope = shape(X, 1)[:, 0], shape(X, 1, 1)[:, 0]
    return float(W @ ((1 - X**2) * slope**2) / 2 / (W @ phi**2))


def _inertia(model: Model) -> float:
    return float(np.array(model.function("mass_matrix")([0.0, 0.0]))[1, 1])


def _stiffness(model: Model) -> float:
    return float(np.array(model.function("stiffness_force")([0.0, 1.0]))[1, 0])


# -- eq. 20: Lagrange's equations --------------------------------------------------------------------------------------


def clamped(strain: float) -> float:
    """Return omega^2 of `turning_link` with its hub held and the strain force multiplied by `strain` [1/s^2].

    It is the smallest by magnitude, and negative without a restoring force.
    """
    model = turning_link(2)
    M = np.array(model.function("mass_matrix")(np.zeros(3)))[1:, 1:]
    K = np.array(model.function("stiffness_force").map(2)(np.eye(3)[:, 1:]))[1:]
    omega2 = np.linalg.eigvals(np.linalg.solve(M, strain * K)).real
    return float(omega2[np.argmin(np.abs(omega2))])


def clamped_beam() -> float:
    """Return the exact omega^2 of the clamped link, m^4 EI / (rho L^4) with the first root m of eq. 43."""
    return float(roots(1)[0] ** 4 * EI / (MASS * LENGTH**3))


def lagrange(arm: Arm, count: int) -> Any:
    """Return eqs. 16 to 20 of a planar arm: (q, qd, qdd, u) -> residual of eq. 20 and its largest term, (n, 2).

    T is a sum over Gauss points of each link, from their positions, with automatic derivatives.
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
    """Return the residual of eq. 20 at 101 times of the slew, over the largest term."""
    model, some = slew.model, slice(None, None, 10)
    q, qd, u = slew.result.q.values[some], slew.result.qd.values[some], slew.u[some]
    qdd = mapped(model.function("forward_dynamics"), q, qd, u)
    left = mapped(lagrange(model.arm, 2), q, qd, qdd, u)
    return float(np.abs(left[:, :-1]).max() / left[:, -1].max())


def denavit_hartenberg(model: Model) -> float:
    """Return the largest offset b [m] and twist alpha [rad] between the hub frames of the straight arm, in size."""
    frames = model.frames(np.zeros(len(model.coordinates)))
    axes, places = frames[:, :3, 2], frames[:, :3, 3]
    alpha = np.arccos(np.clip(np.einsum("ij,ij->i", axes[1:], axes[:-1]), -1.0, 1.0))
    b = np.einsum("ij,ij->i", np.diff(places, axis=0), axes[:-1])
    return float(max(np.abs(alpha).max(), np.abs(b).max()))


# -- eqs. 7 to 15 and 23 to 38: twists, velocity terms, factors --------------------------------------------------------


class Canadarm:
    """Blocks A, P, M of the Canadarm at `STATE` by eqs. 8 to 11 and 24a, with those of the package."""

    def __init__(self, model: Model):
        angles, amplitudes, rates = STATE
        n = len(angles)
        self.model, self.q = model, np.array([*angles, *amplitudes])
        self.qd = np.array([*rates, *(2.0 * d for d in reversed(amplitudes))])
        self.qdd = np.array([*reversed(rates), *(3.0 * d for d in amplitudes)])
        self.order = [k for i in range(n) for k in (i, *range(n + MODES * i, n + MODES * (i + 1)))]
        self.rows = [slice(ROWS * i, ROWS * (i + 1)) for i in range(n)]
        self.columns = [slice(COLUMNS * i, COLUMNS * (i + 1)) for i in range(n)]
        here = Blocks(model.arm, self.q)
        self.N_l, self.N_d, self.inertia = here.N_l, here.N_d, here.M
        self.I = model.mass_matrix(self.q)[np.ix_(self.order, self.order)]

    def N(self, q: Array) -> Array:
        """Return N_l N_d at a position."""
        here = Blocks(self.model.arm, q)
        return np.asarray(here.N_l @ here.N_d)

    def off(self, found: Array, size: Array | None = None) -> float:
        """Return the error of an inertia matrix, relative to the diagonal."""
        d = np.sqrt(np.diag(self.I))
        return float(np.abs((found - self.I) / np.outer(d, d)).max())

    def slopes_of_frames(self, n: int, step: float = 1e-6) -> list[Array]:
        """Return the twist (6,) of each link per rate of coordinate n, by differences of the model's frames."""
        dq, here = step * (np.arange(len(self.q)) == n), self.model.frames(self.q)
        change = (self.model.frames(self.q + dq) - self.model.frames(self.q - dq)) / (2 * step)
        twists = []
        for F, before in zip(change, here, strict=True):
            S = F[:3, :3] @ before[:3, :3].T
            twists.append(np.array([*F[:3, 3], S[2, 1], S[0, 2], S[1, 0]]))
        return twists

    def eq_9(self, sign: float) -> float:
        """Return the error of eq. 9 with `sign` times a x omega, a = O_1 O_2, as joint 1 turns at 1 rad/s."""
        first, second = self.slopes_of_frames(0)[:2]
        a = np.diff(self.model.frames(self.q)[:2, :3, 3], axis=0)[0]
        return float(np.abs(second[:3] - first[:3] - sign * np.cross(a, first[3:])).max())

    def eq_14(self) -> float:
        """Return the largest difference between the links' twists by N_l N_d and by differences of their frames."""
        N = self.N_l @ self.N_d
        return max(
            float(np.abs(N[at, c][:6] - twist).max())
            for c, n in enumerate(self.order)
            for at, twist in zip(self.rows, self.slopes_of_frames(n), strict=False)
        )

    def denoc_apart(self) -> float:
        """Return the largest difference of N_l N_d from the package's `denoc`, transformed to the base's axes."""
        frames, theirs, ends = self.model.frames(self.q), denoc(self.model, self.q), rows(self.model)
        N, off = self.N_l @ self.N_d, 0.0
        product = theirs[0] @ theirs[1]
        for at, end, frame in zip(self.rows, ends, frames, strict=False):
            twist = product[end.start : end.start + 6]
            turned = np.vstack([frame[:3, :3] @ twist[:3], frame[:3, :3] @ twist[3:]])
            off = max(off, float(np.abs(N[at][:6] - turned).max()))
        return off

    def eq_30(self, acceleration: bool, step: float = 1e-4) -> float:
        """Return the error of the links' accelerations by eq. 30, relative to the largest.

        The reference is differences of the frames along a motion. The first term is N times the accelerations of the
        coordinates, or, as printed, times their rates.
        """
        ahead, here, behind = (
            self.model.frames(self.q + s * self.qd + s**2 / 2 * self.qdd) for s in (step, 0.0, -step)
        )
        turned = [np.arctan2(F[:, 1, 0], F[:, 0, 0]) for F in (ahead, here, behind)]
        linear = (ahead - 2 * here + behind)[:, :3, 3] / step**2
        angular = (turned[0] - 2 * turned[1] + turned[2]) / step**2
        N_dot = (self.N(self.q + step * self.qd) - self.N(self.q - step * self.qd)) / (2 * step)
        first = self.qdd if acceleration else self.qd
        found = self.N_l @ self.N_d @ first[self.order] + N_dot @ self.qd[self.order]
        left, size = 0.0, max(float(np.abs(linear).max()), float(np.abs(angular).max()))
        for at, v, w in zip(self.rows, linear, angular, strict=False):
            left = max(left, float(np.abs(found[at][:3] - v).max()), float(abs(found[at][5] - w)))
        return left / size

    def eq_32(self, backward: Callable[[Array], Array]) -> Array:
        """Return the inertia matrix by M~_i = M_i + A' M~_{i+1} `backward(A)`, A = A_{i+1,i}."""
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
        """Return U and D by the articulated inertia M^_i = M_i + A' M-_{i+1} `backward(A)`, from the same blocks.

        The printed eq. 37 has Psi_i in Psi_ij = A_ji' Psi_i, which `psi_of_i` selects. The default is Psi_j.
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
        """Return the relative error of qdd by eqs. 39 to 41 with these factors against the package's recursion."""
        U, D = self.eqs_36_to_38()
        u = np.array([100.0, -50.0, 20.0])
        phi = (self.model.input_matrix(self.q) @ u - self.model.inverse_dynamics(self.q, self.qd, 0 * self.q))[
            self.order
        ]
        qdd = np.linalg.solve(U.T, np.linalg.solve(D, np.linalg.solve(U, phi)))
        expected = np.array(self.model.function("forward_dynamics")(self.q, self.qd, u)).ravel()[self.order]
        return float(np.abs(qdd - expected).max() / np.abs(expected).max())

    def factors_apart(self) -> float:
        """Return the largest difference of eqs. 36 to 38 from the factors of the package's recursion."""
        d = np.sqrt(np.diag(self.I))
        (U, D), (mine, its) = udu(self.model, self.q, blocks=True), self.eqs_36_to_38()
        return float(max(np.abs((U - mine) * d / d[:, None]).max(), np.abs((D - its) / np.outer(d, d)).max()))

    def eq_33(self, coriolis: float, gamma: bool = True) -> float:
        """Return the error of phi's velocity terms, N'(M Ndot qd + gamma), relative to the largest.

        `coriolis` is the factor of w x u_dot in eq. 24b. Ndot is a difference along the motion.
        """
        step, qd = 1e-6, self.qd[self.order]
        N_dot = (self.N(self.q + step * self.qd) - self.N(self.q - step * self.qd)) / (2 * step)
        N = self.N_l @ self.N_d
        wrench = self.inertia @ N_dot @ qd + (self.gamma(coriolis) if gamma else 0.0)
        expected = self.model.bias(self.q, self.qd)[self.order]
        return float(np.abs(N.T @ wrench - expected).max() / np.abs(expected).max())

    def gamma(self, coriolis: float) -> Array:
        """Return gamma by eq. 24b for a planar arm.

        Each link has int rho [W; r x W; S' W] with W = w x (w x r) + coriolis (w x u_dot).
        """
        here = Blocks(self.model.arm, self.q)
        twist = here.N_l @ here.N_d @ self.qd[self.order]
        wrench = np.zeros(len(twist))
        for i, at in enumerate(self.rows):
            r, S, rho = here.points(i)
            w, u_dot = twist[at][3:6], S @ twist[at][6:]
            a = np.cross(w, np.cross(w, r)) + coriolis * np.cross(w, u_dot)
            wrench[at] = [*(rho @ a), *(rho @ np.cross(r, a)), *np.einsum("p,pa,pam->m", rho, a, S)]
        return wrench


def slopes_of_both_planes() -> tuple[float, float]:
    """Return the relative errors of eq. 11 for the rotation of a link's end, as printed and with its planes exchanged.

    The shapes differ in the two planes: one clamped-free mode along y, one polynomial along z, with different slopes at
    the end. The rotation is a difference of the model's frames.
    """
    length, names = 1.7, {"y": "clamped-free", "z": "polynomial"}
    body = Beam(length=length, mass=3.0, EI=40.0, modes={"y": 1, "z": 1}, shapes=names)
    links = [Link(name=name, joint=Revolute(axis=(0.0, 0.0, 1.0)), body=body) for name in ("first", "second")]
    model, step = Model(Arm(name="two planes", links=links)), 1e-6
    n = len(model.coordinates)
    along = np.zeros((3, 2))
    for k, name in enumerate(("first.y1", "first.z1")):
        dq = step * (np.arange(n) == model.coordinates.index(name))
        change = (model.frames(dq) - model.frames(-dq))[1][:3, :3] / (2 * step)
        along[:, k] = change[2, 1], change[0, 2], change[1, 0]
    slopes = [family(names[d], d).basis(1).values(np.ones(1), 1)[0] / length for d in "yz"]
    printed, corrected = (eq_11(slopes[0], slopes[1], exchanged)[:, 1:] for exchanged in (True, False))
    first, second = (float(np.abs(each - along).max() / np.abs(along).max()) for each in (printed, corrected))
    return first, second


def spun(factor: float) -> tuple[float, float]:
    """Return the relative variation of energy and angular momentum of a free spinning link.

    2 w x u_dot is multiplied by the factor. In the plane this term acts only on the joint: u_dot lies along y and w x
    u_dot along x, where the link cannot bend.
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
