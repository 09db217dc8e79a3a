"""Eqs. 1 to 13: the sliding beam and its waves, wave numbers and shapes of a clamped beam with a load."""

from functools import partial

import casadi as ca
import numpy as np
from scipy.integrate import solve_ivp
from scipy.linalg import eigh
from scipy.optimize import brentq

from flexarm import Arm
from flexarm.shapes import ClampedMass, f1, f2, frequency_equation
from flexarm.trajectory import Reference
from flexarm_papers.theodore_ghosal.compute import LONG, Array, joints_along, load_of, mass_ratio, sliding


def roots(arm: Arm, length: float) -> Array:
    """Return the first two beta of eq. 8 at a free length, by the package."""
    return ClampedMass(mass_ratio=float(mass_ratio(arm, length))).roots(2)


def eq_8(beta: float, M: float, J: float = 0.0) -> float:
    """Return the left side of eq. 8 as printed."""
    c, s, C, S = np.cos(beta), np.sin(beta), np.cosh(beta), np.sinh(beta)
    load = M * beta * (C * s - S * c) + J * beta**3 * (C * s + S * c)
    return float((1 + C * c) - load + M * J * beta**4 * (1 - C * c))


def roots_of_eq_8(M: float, J: float = 0.0) -> Array:
    """Return the first two roots of eq. 8 by a search for sign changes, independent of the package."""
    grid = np.linspace(0.05, 5.0, 400)
    sign = np.sign([eq_8(b, M, J) for b in grid])
    found = [brentq(eq_8, grid[i], grid[i + 1], (M, J), xtol=1e-14) for i in np.flatnonzero(np.diff(sign))]
    return np.array(found[:2])


def eq_6(beta: Array, M: float) -> list[Array]:
    """Return psi at eta = 1 with nu of eq. 7, and its first three derivatives, the n-th over beta^n."""
    s, c, S, C = np.sin(beta), np.cos(beta), np.sinh(beta), np.cosh(beta)
    nu = (s - S + M * beta * (c - C)) / (c + C - M * beta * (s - S))
    return [c - C + nu * (s - S), -s - S + nu * (c - C), -c - C + nu * (-s - S), s - S + nu * (-c - C)]


def boundary_residue(beta: Array, M: float, J: float = 0.0) -> float:
    """Return the residual of eq. 2 at the tip, over beta^2 and beta^3.

    The conditions are psi'' = J beta^4 psi' and psi''' = -M beta^4 psi.
    """
    deflection, slope, bending, shear = eq_6(beta, M)
    return float(np.abs([bending - J * beta**3 * slope, shear + M * beta * deflection]).max())


def residue_of_eq_4(arm: Arm, inertia: float, power: int) -> float:
    """Return the residual of eq. 4's bending condition with J_L / (rho A l0^power), l0 of Table I, over psi''(1).

    The shape is that of eqs. 6 to 8 for the arm's load with the rotary inertia J_L [kg m^2].
    """
    m, l0 = sliding(arm)[1].m, sliding(arm)[1].length
    M, J = load_of(arm) / (m * l0), inertia / (m * l0**3)
    beta = roots_of_eq_8(M, J)[:1]
    _, slope, bending, _ = eq_6(beta, M)
    return float(np.abs(1 - inertia / (m * l0**power) * beta**3 * slope / bending).max())


def slopes_differ(seed: int = 8) -> tuple[float, float]:
    """Return the relative errors of f1 of eq. 12 against -df/dl and of f2 of eq. 13 against df/dbeta.

    The derivatives are by complex steps, with J_L > 0.
    """
    rng = np.random.default_rng(seed)
    beta, l, M, J, m = rng.uniform((0.5, 0.3, 0.05, 0.001, 0.2), (5.0, 1.3, 0.5, 0.05, 0.5), (20, 5)).T

    def f(b: Array, x: Array) -> Array:
        return np.asarray(frequency_equation(b, M / (m * x), J / (m * x**3)))

    h = 1e-30j
    exact = (-f(beta, l + h).imag / 1e-30, f(beta + h, l).imag / 1e-30)
    printed = (f1(beta, l, M, J, m), f2(beta, l, M, J, m))
    one, two = (float(np.abs(a - b).max() / np.abs(b).max()) for a, b in zip(printed, exact, strict=True))
    return one, two


def integrated(arm: Arm, reference: Reference, t: Array) -> Array:
    """Return the wave numbers by eq. 11 in time, from the roots of eq. 9 at the start: (times, 2)."""
    M_L, m = load_of(arm), sliding(arm)[1].m

    def rate(time: float, beta: Array) -> Array:
        q, qd, _ = joints_along(reference, np.array([time]))
        l = float(q[2, 0])
        value: Array = f1(beta, l, M_L, 0.0, m) / f2(beta, l, M_L, 0.0, m) * qd[2, 0]
        return value

    first = roots(arm, joints_along(reference, t[:1])[0][2, 0])
    solved = partial(solve_ivp, method="DOP853", rtol=1e-10, atol=1e-12, max_step=0.05)
    found: Array = solved(rate, (t[0], t[-1]), first, t_eval=t).y.T
    return found


# -- eqs. 1 to 3: the sliding beam and its waves -----------------------------------------------------------------------


def deflection(s: ca.SX, t: ca.SX) -> ca.SX:
    """Return a smooth u(s, t) without vanishing derivatives."""
    return ca.sin(1.3 * s + 7.0 * t) * ca.exp(-0.4 * s * t) + s**3 * ca.cos(3.0 * t)


def eq_1(u: ca.SX, s: ca.SX, t: ca.SX, U: ca.SX) -> ca.SX:
    """Return the bracket of eq. 1: u_tt + 2 U u_st + U^2 u_ss + dU/dt u_s."""
    u_s, u_t = ca.jacobian(u, s), ca.jacobian(u, t)
    return ca.jacobian(u_t, t) + 2 * U * ca.jacobian(u_s, t) + U**2 * ca.jacobian(u_s, s) + ca.jacobian(U, t) * u_s


def off_eq_1(seed: int = 1) -> tuple[float, float]:
    """Return the largest relative differences of a particle's acceleration from eq. 1's bracket and from u_tt alone.

    The particle starts at s_0 and slides by p(t), so that U = dp/dt. Its deflection is differentiated along its path.
    """
    s, t, s_0 = (ca.SX.sym(name) for name in ("s", "t", "s_0"))
    way = 0.6 * t + 0.2 * ca.sin(2.0 * t)
    along = ca.substitute(deflection(s, t), s, s_0 + way)
    acceleration = ca.jacobian(ca.jacobian(along, t), t)
    u, U = deflection(s, t), ca.jacobian(way, t)
    fixed = ca.jacobian(ca.jacobian(u, t), t)
    both = [ca.substitute(each, s, s_0 + way) for each in (eq_1(u, s, t, U), fixed)]
    values = ca.Function("eq_1", [s_0, t], [acceleration, *both])
    found = np.array([[float(x) for x in values(*at)] for at in np.random.default_rng(seed).uniform(0.1, 1.0, (20, 2))])
    size = np.abs(found[:, 0]).max()
    bracket, alone = (float(np.abs(found[:, k] - found[:, 0]).max() / size) for k in (1, 2))
    return bracket, alone


def load_of_eq_2(arm: Arm, U: float = 0.778) -> tuple[float, float]:
    """Return the largest relative errors of u_tt at the end and of eq. 1's bracket against the load's acceleration.

    The beam vibrates in its first mode for l = 1 m and slides steadily. u(l(t), t) is differentiated over a period.
    """
    m, EI = sliding(arm)[1].m, sliding(arm)[1].stiffness["y"]
    M = float(mass_ratio(arm, LONG))
    beta = float(roots_of_eq_8(M)[0])
    s, t = ca.SX.sym("s"), ca.SX.sym("t")
    b = beta / LONG * s
    nu = (np.sin(beta) - np.sinh(beta) + M * beta * (np.cos(beta) - np.cosh(beta))) / (
        np.cos(beta) + np.cosh(beta) - M * beta * (np.sin(beta) - np.sinh(beta))
    )
    omega = np.sqrt(EI / m) * (beta / LONG) ** 2
    u = (ca.cos(b) - ca.cosh(b) + nu * (ca.sin(b) - ca.sinh(b))) * ca.cos(omega * t)
    end = LONG + U * t
    moved = ca.substitute(u, s, end)
    load = ca.jacobian(ca.jacobian(moved, t), t)
    both = [ca.substitute(each, s, end) for each in (ca.jacobian(ca.jacobian(u, t), t), eq_1(u, s, t, ca.SX(U)))]
    values = ca.Function("load", [t], [load, *both])
    found = np.array([[float(x) for x in values(at)] for at in np.linspace(0.0, 2 * np.pi / omega, 50)])
    alone, bracket = (float(np.abs(found[:, k] - found[:, 0]).max() / np.abs(found[:, 0]).max()) for k in (1, 2))
    return alone, bracket


def off_eq_3(arm: Arm, seed: int = 3) -> float:
    """Return the largest relative error of eq. 3 against eq. 1 times l0^4 / EI, with l0 of Table I and variable U."""
    beam = sliding(arm)[1]
    l0, m, EI = beam.length, beam.m, beam.stiffness["y"]
    speed = np.sqrt(EI / m) / l0
    s, t, eta, tau = (ca.SX.sym(name) for name in ("s", "t", "eta", "tau"))
    rate = 20.0 * ca.sin(5.0 * t) + 10.0  # of the size of U_g, so that every term counts
    u = deflection(s, t)
    fourth = ca.jacobian(ca.jacobian(ca.jacobian(ca.jacobian(u, s), s), s), s)
    with_units = (EI * fourth + m * eq_1(u, s, t, rate)) * l0**4 / EI
    here = [ca.substitute(each, ca.vertcat(s, t), ca.vertcat(l0 * eta, l0 / speed * tau)) for each in (u, rate)]
    without = here[0]
    fourth = ca.jacobian(ca.jacobian(ca.jacobian(ca.jacobian(without, eta), eta), eta), eta)
    without = fourth + eq_1(without, eta, tau, here[1] / speed)
    values = ca.Function(
        "eq_3",
        [eta, tau],
        [without, ca.substitute(with_units, ca.vertcat(s, t), ca.vertcat(l0 * eta, l0 / speed * tau))],
    )
    found = np.array([[float(x) for x in values(*at)] for at in np.random.default_rng(seed).uniform(0.1, 1.0, (20, 2))])
    return float(np.abs(found[:, 0] - found[:, 1]).max() / np.abs(found[:, 1]).max())


def packet_speed(c: float, k: float, distance: float = 40.0) -> float:
    """Return the speed [m/s] of the envelope of waves about the wave number k [1/m], with c k^2 = omega by eq. 1.

    The waves are summed at the time at which a group with the speed 2 c k has moved by `distance`. The maximum of the
    envelope is searched on both sides of it.
    """
    waves = np.linspace(0.8, 1.2, 801) * k
    weight = np.exp(-(((waves / k - 1) / 0.05) ** 2))
    time = distance / (2 * c * k)
    x = np.linspace(0.0, 2 * distance, 6000)
    envelope = np.abs(np.exp(1j * (np.outer(x, waves) - c * waves**2 * time)) @ weight)
    return float(x[np.argmax(envelope)] / time)


def arrival(M: Array, K: Array, tip: Array, until: float, share: float = 0.05) -> float:
    """Return the time at which the tip first moves by `share` of its largest deflection after an impulse [s].

    The impulse acts on the first node. M and K are those of finite elements in one plane, whose first amplitude is the
    deflection of that node. The largest deflection is that up to `until` [s].
    """
    omega2, V = eigh(K, M)
    omega, t = np.sqrt(omega2), np.linspace(0.0, until, 20001)
    blow = (V.T @ M)[:, 0] / omega
    moved = np.abs(np.sin(np.outer(t, omega)) @ (blow * (tip @ V)))
    return float(t[np.argmax(moved > share * moved.max())])
