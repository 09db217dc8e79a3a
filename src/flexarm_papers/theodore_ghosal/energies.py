"""Energies written out by hand from eqs. 14 to 31 and their Lagrange equations, as a reference for the model.

Nothing here uses the package's mechanics except the mode shapes. Positions, velocities and integrals are the paper's.
"""

from dataclasses import dataclass
from typing import Any, final

import casadi as ca
import numpy as np

from flexarm import Arm
from flexarm.shapes import Basis, ClampedMass
from flexarm_papers.theodore_ghosal.compute import LONG, Array, joint_inertias, load_of, mass_ratio, sliding

POINTS = 24
"""Number of Gauss-Legendre points along the beam, enough for the smooth integrands."""


def shapes(arm: Arm, count: int = 2) -> Basis:
    """Return the clamped-mass shapes fixed at the longest free length."""
    return ClampedMass(mass_ratio=float(mass_ratio(arm, LONG))).basis(count)


def carried(eta: Any, by_eq_24: bool) -> Any:
    """Return the factor of psi' due to sliding: -eta at a fixed position (eq. 24), 1 - eta at a fixed particle."""
    return -eta if by_eq_24 else 1.0 - eta


@final
@dataclass(frozen=True)
class Energies:
    """Energies of the arm over q and qd (SX), and the slip at the end of the beam.

    Attributes
    ----------
    hub, free, payload, joints : kinetic energy by eqs. 28, 29, 30, 27
    strain : potential energy by eq. 31
    slip : (3,)
        Velocity of the beam's end by eqs. 20 and 24, minus the rate of the payload's position (eqs. 17, 30).
    """

    q: Any
    qd: Any
    hub: Any
    free: Any
    payload: Any
    joints: Any
    strain: Any
    slip: Any

    def lagrange(self) -> Any:
        """Return the generalized force by eqs. 25 and 26, a CasADi function of q, qd, qdd."""
        q, qd, qdd = self.q, self.qd, ca.SX.sym("qdd", self.q.numel())
        T = self.hub + self.free + self.payload + self.joints
        momentum = ca.gradient(T, qd)
        rate = ca.jtimes(momentum, q, qd) + ca.jtimes(momentum, qd, qdd)
        return ca.Function("lagrange", [q, qd, qdd], [rate - ca.gradient(T, q) + ca.gradient(self.strain, q)])

    def at(self, q: Array, qd: Array) -> dict[str, float]:
        """Return each energy at a state [J]."""
        names = ("hub", "free", "payload", "joints", "strain")
        values = ca.Function("T", [self.q, self.qd], [getattr(self, name) for name in names])(q, qd)
        return dict(zip(names, map(float, values), strict=True))


def energies(arm: Arm, by_eq_24: bool) -> Energies:
    """Return the arm's energies with two modes in each plane and shapes fixed at l = 1 m.

    Joint 1 turns about the vertical, joint 2 about a, link 3 slides along e, and b is perpendicular to both. (Fig. 3 is
    not in the text, so this is a Stanford arm.) I_1 and I_2 are the whole inertias about their joints. Link 2 is a rod
    along a.
    """
    base, shoulder, _ = arm.links
    telescope, beam = sliding(arm)
    l0, m, EI = beam.length, beam.m, beam.stiffness["y"]
    q, qd = ca.SX.sym("q", 7), ca.SX.sym("qd", 7)
    l, U = q[2], qd[2]
    up = ca.DM([0.0, 0.0, 1.0])
    a = ca.vertcat(-ca.sin(q[0]), ca.cos(q[0]), 0.0)
    e = ca.cos(q[1]) * up + ca.sin(q[1]) * ca.cross(a, up)
    b = ca.cross(e, a)
    turning = qd[0] * up + qd[1] * a
    mouth = shoulder.body.length * a + base.body.length * up
    mouth_rate = ca.jtimes(mouth, q, qd)

    def velocity(s: Any, u: Any = (0.0, 0.0), u_rate: Any = (0.0, 0.0)) -> Any:
        """Return the velocity by eq. 20 of the particle at s with the deflections u along a and b."""
        place = s * e + u[0] * a + u[1] * b
        return mouth_rate + ca.cross(turning, place) + U * e + u_rate[0] * a + u_rate[1] * b

    basis = shapes(arm)
    x, weights = (np.polynomial.legendre.leggauss(POINTS)[0] + 1) / 2, np.polynomial.legendre.leggauss(POINTS)[1] / 2
    xi, xi_rate = (ca.horzcat(z[3:5], z[5:7]) for z in (q, qd))

    def bent(eta: float) -> tuple[Any, Any, Any]:
        """Return deflections u, their rates without sliding, and their rates with sliding."""
        psi, slope = (ca.DM(basis.values(np.array([eta]), n)) for n in (0, 1))
        u, rate, more = psi @ xi, psi @ xi_rate, carried(eta, by_eq_24) * U / l * (slope @ xi)
        return (u[0], u[1]), (rate[0], rate[1]), (rate[0] + more[0], rate[1] + more[1])

    hub, free, strain = 0.0, 0.0, 0.0
    for eta, w in zip(x.tolist(), weights.tolist(), strict=True):
        u, _, moving = bent(eta)
        hub += m * (l0 - l) * w / 2 * ca.sumsqr(velocity((l - l0) * eta))
        free += m * l * w / 2 * ca.sumsqr(velocity(l * eta, u, moving))
        strain += EI / l**3 * w / 2 * ca.sumsqr(ca.DM(basis.values(np.array([eta]), 2)) @ xi)
    u, rate, moving = bent(1.0)
    tip = mouth + l * e + u[0] * a + u[1] * b
    load = load_of(arm) / 2 * ca.sumsqr(ca.jtimes(tip, q, qd))
    rod = shoulder.body.total_mass * shoulder.body.length**2 / 3
    I_1, I_2 = joint_inertias(arm)
    joints = ((I_1 + rod) * qd[0] ** 2 + I_2 * qd[1] ** 2) / 2
    slip = velocity(l, u, moving) - ca.jtimes(tip, q, qd)
    return Energies(q, qd, hub, free, load, joints, strain, slip)
