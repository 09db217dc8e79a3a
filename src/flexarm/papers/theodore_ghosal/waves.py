"""Wave numbers and shapes of a clamped beam with a load: eqs. 2 to 13."""

from functools import partial

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

from flexarm.description.arm import Arm
from flexarm.papers.theodore_ghosal.compute import Array, joints_along, load_of, mass_ratio, sliding
from flexarm.shapes import ClampedMass
from flexarm.shapes.loaded import f1, f2, frequency_equation
from flexarm.trajectory import Reference


def roots(arm: Arm, length: float) -> Array:
    """The first two beta of eq. 8 at a free length, as the package finds them."""
    return ClampedMass(mass_ratio=float(mass_ratio(arm, length))).roots(2)


def eq_8(beta: float, M: float, J: float = 0.0) -> float:
    """The left side, as printed."""
    c, s, C, S = np.cos(beta), np.sin(beta), np.cosh(beta), np.sinh(beta)
    load = M * beta * (C * s - S * c) + J * beta**3 * (C * s + S * c)
    return float((1 + C * c) - load + M * J * beta**4 * (1 - C * c))


def roots_of_eq_8(M: float, J: float = 0.0) -> Array:
    """The first two, by a search that knows nothing of the package: where the printed left side changes its sign."""
    grid = np.linspace(0.05, 5.0, 400)
    sign = np.sign([eq_8(b, M, J) for b in grid])
    found = [brentq(eq_8, grid[i], grid[i + 1], (M, J), xtol=1e-14) for i in np.flatnonzero(np.diff(sign))]
    return np.array(found[:2])


def eq_6(beta: Array, M: float) -> list[Array]:
    """psi at eta = 1 with nu of eq. 7, and its first three derivatives, the n-th over beta^n."""
    s, c, S, C = np.sin(beta), np.cos(beta), np.sinh(beta), np.cosh(beta)
    nu = (s - S + M * beta * (c - C)) / (c + C - M * beta * (s - S))
    return [c - C + nu * (s - S), -s - S + nu * (c - C), -c - C + nu * (-s - S), s - S + nu * (-c - C)]


def boundary_residue(beta: Array, M: float, J: float = 0.0) -> float:
    """What is left of eq. 2 at the tip, psi'' = J beta^4 psi' and psi''' = -M beta^4 psi, over beta^2 and beta^3."""
    deflection, slope, bending, shear = eq_6(beta, M)
    return float(np.abs([bending - J * beta**3 * slope, shear + M * beta * deflection]).max())


def residue_of_eq_4(arm: Arm, inertia: float, power: int) -> float:
    """Bending condition of eq. 4 with J_L / (rho A l0^power), l0 of Table I: what is left of it, over psi''(1).

    The shape is that of eqs. 6 to 8 for the arm's load with the rotary inertia J_L [kg m^2].
    """
    m, l0 = sliding(arm)[1].m, sliding(arm)[1].length
    M, J = load_of(arm) / (m * l0), inertia / (m * l0**3)
    beta = roots_of_eq_8(M, J)[:1]
    _, slope, bending, _ = eq_6(beta, M)
    return float(np.abs(1 - inertia / (m * l0**power) * beta**3 * slope / bending).max())


def slopes_differ(seed: int = 8) -> tuple[float, float]:
    """f1 of eq. 12 against -df/dl, and f2 of eq. 13 against df/dbeta, by complex steps, J_L > 0: relative."""
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
    """Eq. 11 in time, from the roots of eq. 9 at the start: (times, 2)."""
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
