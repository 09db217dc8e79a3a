"""Motions of rods with springs under a hundred torques per joint, whose end is differentiated.

The exact derivatives come from complex steps: each number in turn gets an imaginary part of 1e-30, in DOP853 with short
steps. The equations are written by hand, so that they are independent of flexarm and of MuJoCo. diffrax uses
the same lines, with JAX in place of NumPy.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.integrate import DOP853

import flexarm as fa

Array = np.ndarray

TORQUES = 100
"""Intervals in which the torques are constant."""
UNTIL = 1.0
"""[s]"""
GRAVITY = 9.81
"""Against y [m/s^2]."""
GOAL = (0.3, 0.8)
"""Point from which the scalar measures the distance of the tip [m]."""
WEIGHT = 0.01
"""Weight of the squared rates in the scalar [m^2 s^2/rad^2]."""
TINY = 1e-30
"""Imaginary part that a number gets in a complex step. Its square vanishes in double precision."""
FINE = (12, 16)
"""Steps in each interval of the exact derivatives, and of those that check them."""
GROUPS = ("u", "q0", "qd0")
"""Groups of numbers with respect to which the scalar is differentiated."""


@dataclass(frozen=True)
class Rods:
    """Uniform rods in a row, in a plane.

    Lengths [m], masses [kg], springs [N m/rad] and dampers [N m s/rad] of the hinges are arrays (n,).
    The hinges in `driven` have a motor.
    """

    lengths: Array
    masses: Array
    springs: Array
    dampers: Array
    driven: tuple[int, ...]

    @property
    def arm(self) -> fa.Arm:
        """The same rods for flexarm, and for MuJoCo by its export."""
        links = []
        for i, (length, mass) in enumerate(zip(self.lengths.tolist(), self.masses.tolist(), strict=True)):
            spring = fa.Drive(parallel=fa.Parallel(stiffness=float(self.springs[i])))
            joint = fa.Revolute(passive=i not in self.driven, damping=float(self.dampers[i]), drive=spring)
            J = mass * length**2 / 12
            body = fa.Rigid(length=length, mass=mass, com=(length / 2, 0, 0), inertia=(J, J, J))
            links.append(fa.Link(name=f"rod{i}", parent=f"rod{i - 1}" if i else "base", joint=joint, body=body))
        return fa.Arm(name="rods", links=links, gravity=(0, -GRAVITY, 0))

    @property
    def couplings(self) -> tuple[Array, Array]:
        """Constants of the equations of motion: inertias (n, n) [kg m^2] and moments of weight (n,) [N m]."""
        beyond = self.masses.sum() - np.cumsum(self.masses)
        first = self.lengths * (self.masses / 2 + beyond)
        c = np.triu(np.outer(self.lengths, first), 1)
        return c + c.T + np.diag(self.lengths**2 * (self.masses / 3 + beyond)), GRAVITY * first


def rates(xp: Any, rods: Rods, x: Any, u: Any) -> Any:
    """Return the rates of the angles and of their rates (..., 2 n) by Lagrange's equations, in NumPy or JAX.

    With angles phi from the level: sum_j c_ij (cos(phi_i - phi_j) phidd_j + sin(phi_i - phi_j) phid_j^2)
    + G_i cos(phi_i) = tau_i - tau_i+1.
    """
    n = len(rods.lengths)
    inertias, weights = rods.couplings
    motors = np.eye(n)[list(rods.driven)]
    q, qd = x[..., :n], x[..., n:]
    tau = u @ motors - rods.springs * q - rods.dampers * qd
    phi, phid = xp.cumsum(q, -1), xp.cumsum(qd, -1)
    apart = phi[..., :, None] - phi[..., None, :]
    force = tau - xp.concatenate([tau[..., 1:], 0 * tau[..., :1]], -1) - weights * xp.cos(phi)
    force = force - ((inertias * xp.sin(apart)) @ (phid**2)[..., None])[..., 0]
    phidd = xp.linalg.solve(inertias * xp.cos(apart), force[..., None])[..., 0]
    return xp.concatenate([qd, phidd[..., :1], phidd[..., 1:] - phidd[..., :-1]], -1)


def scalar(xp: Any, tip: Any, qd: Any) -> Any:
    """Return the squared distance of the tip (x, y) from the goal, and weighted squared rates."""
    return (tip[..., 0] - GOAL[0]) ** 2 + (tip[..., 1] - GOAL[1]) ** 2 + WEIGHT * xp.sum(qd**2, -1)


def tip(xp: Any, rods: Rods, q: Any) -> Any:
    """Return the end of the last rod (..., 2) [m]."""
    phi = xp.cumsum(q, -1)
    return xp.stack([xp.sum(rods.lengths * xp.cos(phi), -1), xp.sum(rods.lengths * xp.sin(phi), -1)], -1)


def complex_steps(rods: Rods, q0: Array, qd0: Array, u: Array, interval: float, steps: int) -> dict[str, Array]:
    """Return the derivatives of the scalar by complex steps; each interval of the torques u has so many steps.

    Forward through the intervals, the derivatives of the end of each with respect to its start and its torques. Then
    backward the chain rule.
    """
    n, m = len(q0), u.shape[1]
    turned = 1j * TINY * np.eye(2 * n + m)
    x, jacobians = np.concatenate([q0, qd0]), []
    for torques in u:
        end = held(rods, x + turned[:, : 2 * n], torques + turned[:, 2 * n :], interval / steps, steps)
        x = end[0].real
        jacobians.append(end.imag / TINY)
    x = x + turned[: 2 * n, : 2 * n]
    slope, slopes = scalar(np, tip(np, rods, x[:, :n]), x[:, n:]).imag / TINY, []
    for jacobian in reversed(jacobians):
        slopes.append(jacobian[2 * n :] @ slope)
        slope = jacobian[: 2 * n] @ slope
    return {"u": np.array(slopes[::-1]), "q0": slope[:n], "qd0": slope[n:]}


def held(rods: Rods, x: Array, u: Array, h: float, steps: int) -> Array:
    """Return the state after some steps of DOP853 with constant torques."""
    for _ in range(steps):
        stages = np.empty((len(DOP853.C), *x.shape), dtype=complex)
        for i, a in enumerate(DOP853.A):
            stages[i] = rates(np, rods, x + h * np.tensordot(a[:i], stages[:i], 1), u)
        x = x + h * np.tensordot(DOP853.B, stages, 1)
    return x


def difference(found: dict[str, Array], exact: dict[str, Array]) -> float:
    """Return the largest error of a derivative, relative to the largest derivative with respect to the same group."""
    if not all(np.isfinite(found[name]).all() for name in GROUPS):
        return float(np.inf)
    return max(float(np.abs(found[name] - exact[name]).max() / np.abs(exact[name]).max()) for name in GROUPS)


@dataclass(frozen=True)
class Rollout:
    """A motion whose end is differentiated with respect to all torques (k, m), and to the start q0 and qd0 (n,)."""

    name: str
    title: str
    rods: Rods
    q0: Array
    qd0: Array
    torques: Array
    until: float
    exact: dict[str, Array]
    floor: float
    goals: tuple[float, ...] = (1e-4, 1e-8)
    many: bool = False
    closed: bool = False

    @property
    def interval(self) -> float:
        """Time between two jumps of the torques [s]."""
        return self.until / len(self.torques)

    def error(self, found: dict[str, Array] | None) -> float:
        """Largest relative error of a derivative; infinite where there are none."""
        return float(np.inf) if found is None else difference(found, self.exact)


def rollout(name: str, title: str, rods: Rods, count: int = TORQUES, until: float = UNTIL) -> Rollout:
    """Return a rollout from a bent start under changing torques."""
    n, times = len(rods.lengths), np.arange(count) * until / count
    q0, qd0 = 0.3 * np.cos(np.arange(n)) / n, 0.5 * np.sin(1.0 + np.arange(n)) / n
    sizes, frequencies = np.array([6.0, 3.0]), np.array([5.0, 8.0])
    torques = sizes * np.cos(np.outer(times, frequencies) + [0.3, 1.1])
    exact, other = (complex_steps(rods, q0, qd0, torques, until / count, steps) for steps in reversed(FINE))
    return Rollout(name, title, rods, q0, qd0, torques, until, exact, difference(other, exact))


def two_links(**given: Any) -> Rollout:
    """Two driven rods."""
    rods = Rods(np.array([0.7, 0.5]), np.array([1.4, 0.9]), np.array([8.0, 3.0]), np.array([0.2, 0.1]), (0, 1))
    return rollout("gradient-two-links", "Gradient of a run of two links", rods, **given)


def six_hinges(**given: Any) -> Rollout:
    """Two links that bend: each is three rods with springs between them, and has a motor."""
    lengths, masses = np.repeat([0.7 / 3, 0.5 / 3], 3), np.repeat([1.4 / 3, 0.9 / 3], 3)
    springs, dampers = np.array([8.0, 120, 120, 3.0, 40, 40]), np.array([0.2, 0.1, 0.1, 0.1, 0.03, 0.03])
    rods = Rods(lengths, masses, springs, dampers, (0, 3))
    return rollout("gradient-six-hinges", "Gradient of a run of two links of three rods each", rods, **given)
