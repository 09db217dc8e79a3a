"""Frames of a manipulator by eqs. 14 to 17, 22 and 23 as matrices, and its weight by eqs. 32 and 33.

They are a reference for the model's frames and forces and use only the mode shapes of the package.
"""

from dataclasses import dataclass
from functools import cache
from typing import final

import casadi as ca
import numpy as np

from flexarm import Arm, Beam, Link, Model, Revolute
from flexarm.shapes import family
from flexarm_papers.theodore_ghosal.compute import LONG, Array, Flexible, load_of, sliding, varied
from flexarm_papers.theodore_ghosal.energies import POINTS, shapes

STATES = 5
"""Number of random states at which frames are compared."""
TURNED = np.array([[0.0, 0.0, -1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
"""Axes of the package's last frame in those of the paper's.

A prismatic link lies along z in the paper and along x in the package.
"""


def eq_14(theta: float, alpha: float, d: float, a: float) -> Array:
    """Return A of a joint from its Denavit-Hartenberg parameters, as printed."""
    c, s, ca_, sa = np.cos(theta), np.sin(theta), np.cos(alpha), np.sin(alpha)
    return np.array([[c, -s * ca_, s * sa, a * c], [s, c * ca_, -c * sa, a * s], [0, sa, ca_, d], [0, 0, 0, 1]])


def eq_15(phi: Array, delta: Array) -> Array:
    """Return E of a bent link from its small rotation phi and its deflection delta, as printed."""
    x, y, z = phi
    E = np.eye(4)
    E[:3] = np.column_stack([[[1, -z, y], [z, 1, -x], [-y, x, 1]], delta])
    return E


def eq_22(v: float, w: float, slope_v: float, slope_w: float, sign: float = 1.0) -> Array:
    """Return E of a revolute link that deflects by v along y and w along z. `sign` -1 is the printed one of w."""
    E = np.eye(4)
    E[1, 3], E[2, 3] = v, w
    E[0, 1], E[1, 0] = -slope_v, slope_v
    E[0, 2], E[2, 0] = -sign * slope_w, sign * slope_w
    return E


def eq_23(u: float, v: float, slope_u: float, slope_v: float, sign: float = 1.0) -> Array:
    """Return E of a prismatic link that deflects by u along x and v along y. `sign` -1 is the printed one of v."""
    E = np.eye(4)
    E[0, 3], E[1, 3] = u, v
    E[0, 2], E[2, 0] = slope_u, -slope_u
    E[1, 2], E[2, 1] = sign * slope_v, -sign * slope_v
    return E


# -- the paper's arm ---------------------------------------------------------------------------------------------------


def before_bending(arm: Arm, joints: Array) -> Array:
    """Return A_1 A_2 A_3 of the RRP arm by eq. 14, without bending of links 1 and 2 (eq. 16)."""
    base, shoulder, _ = arm.links
    first = eq_14(joints[0], -np.pi / 2, base.body.length, 0.0)
    second = eq_14(joints[1], np.pi / 2, shoulder.body.length, 0.0)
    return first @ second @ eq_14(0.0, 0.0, joints[2], 0.0)


def pose(flexible: Flexible, q: Array) -> Array:
    """Return the model's frame at the tip with axes named as in the paper."""
    found = np.array(flexible.model.function("tip")(q))
    found[:3, :3] = found[:3, :3] @ TURNED.T
    return found


def random_state(rng: np.random.Generator, size: float) -> Array:
    """Return a random state of the joints with amplitudes of `size` [m]."""
    return np.r_[rng.uniform(-2, 2, 2), rng.uniform(0.3, LONG), size * rng.uniform(-1, 1, 4)]


@cache
def off_eq_14(flexible: Flexible) -> float:
    """Return the largest difference of the tip's frame from A_1 A_2 A_3, for straight links at random states."""
    rng = np.random.default_rng(14)
    states = [random_state(rng, 0.0) for _ in range(STATES)]
    return max(float(np.abs(pose(flexible, q) - before_bending(flexible.model.arm, q)).max()) for q in states)


def bent(flexible: Flexible, q: Array) -> tuple[float, float, float, float]:
    """Return the tip's u, v along the paper's x, y and their derivatives by eta."""
    basis, one = shapes(flexible.model.arm), np.ones(1)
    (u, du), (v, dv) = ([basis.values(one, n)[0] @ xi for n in (0, 1)] for xi in (-q[5:7], q[3:5]))
    return u, v, du, dv


def off_eq_15(flexible: Flexible, size: float) -> float:
    """Return the largest difference of the tip's frame from A_1 A_2 A_3 E by eq. 15, for amplitudes of `size` [m]."""
    rng = np.random.default_rng(15)
    off = 0.0
    for _ in range(STATES):
        q = random_state(rng, size)
        u, v, du, dv = bent(flexible, q)
        E = eq_15(np.array([-dv, du, 0.0]) / q[2], np.array([u, v, 0.0]))
        off = max(off, float(np.abs(pose(flexible, q) - before_bending(flexible.model.arm, q) @ E).max()))
    return off


def off_eq_23(flexible: Flexible, over_length: bool, sign: float, size: float = 1e-6) -> float:
    """Return the error of E by eq. 23 against the tip's frame, over the largest slope, at deflections of `size` [m].

    The printed form has the derivative by eta in place of that by s (`over_length` False), and `sign` -1.
    """
    rng = np.random.default_rng(23)
    off = 0.0
    for _ in range(STATES):
        q = random_state(rng, size)
        u, v, du, dv = bent(flexible, q)
        l = q[2] if over_length else 1.0
        E = eq_23(u, v, du / l, dv / l, sign)
        found = np.linalg.solve(before_bending(flexible.model.arm, q), pose(flexible, q))
        off = max(off, float(np.abs(found - E)[:3, :3].max() / np.abs(found - np.eye(4))[:3, :3].max()))
    return off


@cache
def revolute() -> Model:
    """Return one flexible link on a revolute joint, one mode in each plane, length 0.7 m."""
    body = Beam(length=0.7, mass=0.4, EI=50.0, modes={"y": 1, "z": 1}, shapes="clamped-free")
    return Model(Arm(name="one link", links=[Link(name="link", joint=Revolute(axis=(0.0, 0.0, 1.0)), body=body)]))


def off_eq_22(over_length: bool, sign: float, size: float = 1e-6) -> float:
    """Return the error of E by eq. 22 against the frame at the end of a revolute link, over the largest slope."""
    model, rng, off = revolute(), np.random.default_rng(22), 0.0
    l = float(model.arm.links[0].body.length)
    psi, slope = (float(family("clamped-free").basis(1).values(np.ones(1), n)[0, 0]) for n in (0, 1))
    for _ in range(STATES):
        q = np.r_[rng.uniform(-2, 2), size * rng.uniform(-1, 1, 2)]
        v, w = psi * q[1:]
        dv, dw = slope * q[1:] / (l if over_length else 1.0)
        found = np.linalg.solve(eq_14(q[0], 0.0, 0.0, l), np.array(model.function("tip")(q)))
        E = eq_22(v, w, dv, dw, sign)
        off = max(off, float(np.abs(found - E)[:3, :3].max() / np.abs(found - np.eye(4))[:3, :3].max()))
    return off


# -- eqs. 32 and 33: weight --------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True)
class Weight:
    """Forces of gravity on the 7 coordinates at a state: the model's, by eqs. 32 and 33, and with the part in the hub.

    `share` is the largest part of the model's force that the print leaves out.
    """

    ours: Array
    printed: Array
    corrected: Array

    @property
    def share(self) -> float:
        """Largest difference of print and model over the model's largest force."""
        return float(np.abs(self.printed - self.ours).max() / np.abs(self.ours).max())

    @property
    def left(self) -> float:
        """Largest difference of correction and model over the model's largest force."""
        return float(np.abs(self.corrected - self.ours).max() / np.abs(self.ours).max())


def weights(arm: Arm, gravity: tuple[float, float, float] = (2.0, -3.0, -9.0)) -> list[Weight]:
    """Return the forces of gravity at random states. The potential is -m g r, with g the acceleration of gravity.

    Links 1 and 2 are rods along their own length. Eq. 32 counts their mass as that of link and hub.
    """
    model = Model(varied(arm, wave_numbers="fixed").replace(gravity=gravity))
    base, shoulder, _ = arm.links
    telescope, beam = sliding(arm)
    q = ca.SX.sym("q", 7)
    up, g = ca.DM([0.0, 0.0, 1.0]), ca.DM(list(gravity))
    a = ca.vertcat(-ca.sin(q[0]), ca.cos(q[0]), 0.0)
    e = ca.cos(q[1]) * up + ca.sin(q[1]) * ca.cross(a, up)
    b = ca.cross(e, a)
    mouth = base.body.length * up + shoulder.body.length * a
    basis, (x, weight) = shapes(arm), np.polynomial.legendre.leggauss(POINTS)

    def place(eta: float) -> ca.SX:
        psi = ca.DM(basis.values(np.array([eta])))
        return mouth + q[2] * eta * e + (psi @ q[3:5]) * a + (psi @ q[5:7]) * b

    free = sum(w / 2 * beam.m * q[2] * place((z + 1) / 2) for z, w in zip(x.tolist(), weight.tolist(), strict=True))
    inside = beam.m * (beam.length - q[2]) * (mouth + (q[2] - beam.length) / 2 * e)
    rods = base.body.total_mass * base.body.length / 2 * up + shoulder.body.total_mass * (
        base.body.length * up + shoulder.body.length / 2 * a
    )
    printed = -ca.dot(g, rods + free + load_of(arm) * place(1.0))
    forces = ca.Function("weight", [q], [ca.gradient(printed, q), ca.gradient(printed - ca.dot(g, inside), q)])
    rng, found = np.random.default_rng(32), []
    for _ in range(STATES):
        at = random_state(rng, 0.01)
        ours = np.array(model.function("gravity_force")(at)).ravel()
        found.append(Weight(ours, *(np.array(f).ravel() for f in forces(at))))
    return found
