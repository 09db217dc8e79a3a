"""Subudhi & Morris 2002: the composite controller of eqs. 66 to 70 as printed, and all readings of its fast gains."""

from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any, final

import numpy as np

from flexarm import Model, Quintic
from flexarm.control import Law, equilibrium
from flexarm.control.gains import demanded
from flexarm.control.timescales import TimeScales, time_scales
from flexarm.shapes import TipLoad, quadrature
from flexarm.trajectory import jumps_of
from flexarm_papers.subudhi_morris.compute import KS, Array, J, M, Rotor, arm, model
from flexarm_papers.subudhi_morris.modes import EQ_47, LOADS, frequencies, shapes_of

END = np.array([np.pi / 2, np.pi / 6])
ARRIVAL = 2.0
REFERENCE = Quintic((0.0, 0.0), tuple(END), ARRIVAL)
"""Reference motion of eq. 71."""
KP, KD = 5.0, 2.0
"""Gains K_ps and K_vs."""
K_PF = np.array([[4.0, 2.5, 1.3, 1.8, 28.3, 58.26], [0.0, 1.0, 1.0, 0.0, 5.6, 8.6]])
K_VF = np.array([[8.0, 37.2, 1.5, 28.8, 126.0, 58.03], [4.0, 0.0, 5.0, 3.0, 8.6, 14.7]])


# -- the law as printed ------------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True)
class Printed:
    """Controller of eqs. 66 to 70 as printed, stable or not: u_s - K_p (zeta - zeta_s) - K_d zeta'.

    See `Composite`. Eq. 69 has the links' angles. For elastic joints the rotors' angles (`rotors`) are the same to the
    order of eq. 69.
    """

    K_p: Array
    K_d: Array
    rotors: bool = False
    reference: Quintic = REFERENCE

    def law(self, model: Model, period: float | None = None) -> Law:
        """Return the control law for a model."""
        scales = time_scales(model)

        def expression(t: Any, q: Any, qd: Any, z: Any) -> tuple[Any, Any]:
            u_s, off, zeta_d = self.parts(scales, t, q, qd)
            return u_s - self.K_p @ off - self.K_d @ zeta_d, []

        return Law(expression, jumps=jumps_of(self.reference), reference=self.reference)

    def parts(self, scales: TimeScales, t: Any, q: Any, qd: Any) -> tuple[Any, Any, Any]:
        """Return u_s, zeta - zeta_s and zeta'."""
        (y, zeta), (yd, zeta_d) = scales.split(q), scales.split(qd)
        if self.rotors:
            to_rotors = scales.input_rows.T
            y, yd = y + to_rotors @ zeta, yd + to_rotors @ zeta_d
        gains = (KP * np.eye(2), KD * np.eye(2))
        u_s, zeta_s = scales.slow_motion(y, yd, demanded(self.reference, t, y, yd, *gains))
        return u_s, zeta - zeta_s, zeta_d


ZERO = np.zeros((2, 6))


@final
class Linear:
    """An elastic arm linearised at rest at the end of the reference, with the printed controller."""

    def __init__(self, rotor: Rotor, rotors: bool = False, damping: float = 0.0):
        import casadi as ca

        elastic = model(arm(rotor, KS, damping=damping))
        self.scales = time_scales(elastic)
        q, u = equilibrium(elastic, END)
        near = elastic.linearize(q, u=u)
        self.A, self.B = near.A, near.B
        n = len(q)
        x = ca.SX.sym("x", 2 * n)
        law = Printed(ZERO, ZERO, rotors)
        parts = law.parts(self.scales, 2 * ARRIVAL, x[:n], x[n:])
        slopes = [ca.densify(ca.jacobian(part, x)) for part in parts]
        self.slow, self.off, self.rate = (np.array(s) for s in ca.Function("slopes", [x], slopes)(np.r_[q, 0 * q]))

    def poles(self, K_p: Array = ZERO, K_d: Array = ZERO) -> Array:
        """Return the poles of the whole arm [1/s]."""
        return np.linalg.eigvals(self.A + self.B @ (self.slow - K_p @ self.off - K_d @ self.rate))

    def fast_poles(self, K_p: Array, K_d: Array) -> Array:
        """Return the poles of the fast subsystem, half-way along the reference [1/s]."""
        M_z, D_z, K_z, B_z = self.scales.fast(END / 2)
        k = len(M_z)
        rows = -np.linalg.solve(M_z, np.hstack([K_z + B_z @ K_p, D_z + B_z @ K_d]))
        return np.linalg.eigvals(np.vstack([np.eye(2 * k)[k:], rows]))


def fast_frequencies(printed: bool) -> Array:
    """Return the frequencies about the straight arm with relative rotors by eq. 67, ascending [rad/s].

    The printed A_f contains only the links' inertia, and the joints' acceleration is missing in the springs' rows.
    """
    elastic = model(arm("relative", KS))
    if not printed:
        M_z, _, K_z, _ = time_scales(elastic).fast(np.zeros(2))
        return np.sqrt(np.sort(np.linalg.eigvals(np.linalg.solve(M_z, K_z)).real))
    q = np.zeros(len(elastic.coordinates))
    joints, flexible = list(elastic.arm.joints), list(elastic.arm.flexible)
    links = joints + flexible
    H = np.linalg.inv(elastic.mass_matrix(q)[np.ix_(links, links)])[2:, 2:]
    K_w = np.array(elastic.slope("stiffness_force", 0)(q))[np.ix_(flexible, flexible)]
    return np.sqrt(np.sort([*np.linalg.eigvals(H @ K_w).real, KS / J, KS / J]))


def worst(poles: Array) -> complex:
    """Return the rightmost pole, with positive frequency."""
    s = complex(poles[np.argmax(poles.real)])
    return complex(s.real, abs(s.imag))


def shown(s: complex) -> str:
    """Return a pole as text."""
    return f"{s.real:+.2g} +- {s.imag:.4g}j"


# -- the printed fast gains --------------------------------------------------------------------------------------------

ORDERS = {"modes, joints": [0, 1, 2, 3, 4, 5], "joints, modes": [2, 3, 4, 5, 0, 1], "link by link": [0, 1, 3, 4, 2, 5]}
"""Columns of the printed gains for amplitudes of link 1, of link 2, and joints."""
SCALES = {"k_c zeta": (1.0, 0.5), "zeta": (0.0, -0.5), "zeta / k_c": (-1.0, -0.5), "zeta, own time": (0.0, 0.0)}
"""Powers of k_c in K_p and K_d by the variable that K_pf multiplies.

Rates are those in the fast time sqrt(k_c) t, except for the last entry.
"""


def loads(rotor: Rotor) -> tuple[TipLoad, TipLoad]:
    """Return the loads of the links' clamped-mass shapes. With an absolute rotor they include J_2."""
    return EQ_47 if rotor == "absolute" else LOADS


@cache
def amplitude_scale(rotor: Rotor) -> Array:
    """Return the paper's amplitudes, int rho phi^2 = m (eq. 40), over those of the bundled arm, and 1 for joints."""
    found = []
    for load in loads(rotor):
        basis = shapes_of(load).basis(2)
        x, w = quadrature(basis)
        found.append(np.sqrt(w @ basis.values(x) ** 2))
    return np.concatenate([*found, [1.0, 1.0]])


@cache
def least_stiffness(rotor: Rotor) -> tuple[float, float]:
    """Return k_c with the modal stiffness omega^2 m of eq. 46, and with the exact stiffness [N m/rad]."""
    _, _, K, _ = time_scales(model(arm(rotor, KS))).fast(END / 2)
    of_46 = np.concatenate([frequencies(load) for load in loads(rotor)]) ** 2 * M
    return float(min(*of_46, KS)), float((np.diag(K) / amplitude_scale(rotor) ** 2).min())


def reading(order: str, signs: tuple[int, int, int], scale: str, k_c: float, rotor: Rotor) -> tuple[Array, Array]:
    """Return K_p and K_d for a reading of the printed gains.

    The signs are those of K_pf, of K_vf, and of delta against the package's springs. The paper's delta = theta - alpha,
    link minus rotor, is the negative of the package's. Its u_f = + K_pf x_f + ... has the opposite sign.
    """
    columns = amplitude_scale(rotor) * np.r_[np.ones(4), np.full(2, signs[2])]
    powers = (k_c**power for power in SCALES[scale])
    K_p, K_d = (-s * a * K[:, ORDERS[order]] * columns for s, a, K in zip(signs, powers, (K_PF, K_VF), strict=False))
    return K_p, K_d


NATURAL = ("modes, joints", (1, 1, -1))
"""Reading with the paper's x_f, delta and signs."""


@cache
def readings(rotor: Rotor) -> dict[tuple[Any, ...], tuple[float, float]]:
    """Return the largest real parts of the fast subsystem and of the whole arm for all readings of the gains [1/s]."""
    system = Linear(rotor)
    stiffnesses = least_stiffness(rotor)
    found = {}
    signs = [(a, b, c) for a in (1, -1) for b in (1, -1) for c in (1, -1)]
    for order, s, scale, k_c in product(ORDERS, signs, SCALES, stiffnesses):
        if scale == "zeta, own time" and k_c != stiffnesses[0]:
            continue  # it does not depend on k_c
        K = reading(order, s, scale, k_c, rotor)
        found[order, s, scale, k_c] = (worst(system.fast_poles(*K)).real, worst(system.poles(*K)).real)
    return found
