"""The arm of Table I, its motions, and its bending along them: M xi_ddot + C xi_dot + K xi = g.

The joints follow their reference exactly, which eqs. 35 and 36 give without initial error. The equations of the bending
amplitudes (eq. 39) are then linear, as for a straight beam with a point mass.
"""

from functools import cache
from typing import Any

import casadi as ca
import numpy as np
from numpy.polynomial.chebyshev import chebvander

from flexarm import Arm, Beam, Model, ParabolicBlends, Pose, Telescope, analysis
from flexarm.arrays import Array
from flexarm.cached import cached_property
from flexarm.trajectory import Reference

SHORT, LONG, DURATION, BLEND = 0.3, 1.0, 1.0, 0.1
"""Free lengths [m] and times [s].

The blend time follows from the rate U = 0.778 m/s of section II: 0.7 / (1 - 0.1).
"""
BLENDS = (0.05, BLEND, 0.2)
NODES = 24
"""Number of interpolation times between two corners of the motion, enough for M, C, K, g to rounding."""
AFTER = 0.2
"""Time shown after the motion [s]."""
DIRECTIONS = ("extension", "retraction")
SIGN = {"extension": -1, "retraction": 1}
"""Sign of the real parts of eigenvalues, and of dV/dt, according to the paper."""


# -- the arm and its motion -------------------------------------------------------------------------------------------


def motion(direction: str, duration: float = DURATION, blend: float = BLEND, slewing: bool = True) -> ParabolicBlends:
    """Return the reference motion of the joints.

    Joint 1 turns by 180 degrees and joint 2 by -90 if `slewing`. The length goes from 0.3 to 1.0 m or back.
    """
    lengths = (SHORT, LONG) if direction == "extension" else (LONG, SHORT)
    turn = (np.pi, -np.pi / 2) if slewing else (0.0, 0.0)
    return ParabolicBlends((0.0, 0.0, lengths[0]), (*turn, lengths[1]), duration, blend)


def sliding(arm: Arm) -> tuple[Telescope, Beam]:
    """Return the joint and the beam of the last link."""
    joint, body = arm.links[-1].joint, arm.links[-1].body
    assert isinstance(joint, Telescope) and isinstance(body, Beam)
    return joint, body


def load_of(arm: Arm) -> float:
    """Return M_L [kg]."""
    assert arm.payload is not None
    return arm.payload.mass


def joint_inertias(arm: Arm) -> tuple[float, float]:
    """Return I_1 and I_2, about the joints' axes [kg m^2]."""
    one, two = (float(np.ravel(link.hub_inertia)[0]) for link in arm.links[:2])
    return one, two


def mass_ratio(arm: Arm, length: Array | float) -> Array:
    """Return M_L / (rho A l)."""
    return load_of(arm) / (sliding(arm)[1].m * np.asarray(length))


def varied(arm: Arm, shapes: Any = None, modes: int | None = None, **changes: Any) -> Arm:
    """Return the arm with other shapes, modes in each plane, or fields of its telescope."""
    joint, body = sliding(arm)
    count = body.modes if modes is None else {"y": modes, "z": modes}
    body = body.replace(modes=count, shapes=body.shapes if shapes is None else shapes)
    return arm.replace(links=[*arm.links[:-1], arm.links[-1].replace(joint=joint.replace(**changes), body=body)])


def in_line(arm: Arm) -> Arm:
    """Return the arm with link 2 in line with link 3, instead of along the axis of joint 2."""
    base, shoulder, slide = arm.links
    turned = shoulder.replace(
        placement=Pose(), joint=shoulder.joint.replace(axis=(0.0, 1.0, 0.0)), hub_inertia=(0.0, 3.2, 0.0)
    )
    return arm.replace(links=[base, turned, slide.replace(placement=Pose())])


def joints_along(reference: Any, t: Array) -> list[Array]:
    """Return q, qd, qdd of the joints, (joints, times) each."""
    return [np.array(x) for x in _motion(reference)(t[None, :])]


@cache
def _motion(reference: Any) -> Any:
    s = ca.SX.sym("t")
    q = ca.vertcat(*reference.expression(s))
    qd = ca.jacobian(q, s)
    return ca.Function("motion", [s], [ca.densify(x) for x in (q, qd, ca.jacobian(qd, s))])


# -- bending along a motion --------------------------------------------------------------------------------------------


class Flexible:
    """Bending amplitudes xi of an arm with prescribed joints: M xi_ddot + C xi_dot + K xi = g."""

    def __init__(self, arm: Arm):
        self.model = Model(arm)
        self.joints = len(self.model.inputs)
        self.size = len(self.model.coordinates) - self.joints
        self.in_y = np.array([name.startswith("slide.y") for name in self.model.coordinates[self.joints :]])
        """Mask of the amplitudes that bend the beam along y, the axis of joint 2."""

    @cached_property
    def functions(self) -> tuple[Any, Any]:
        """CasADi functions of the equations and of the tip.

        The first gives M, C, K, g side by side over the joints' q, qd, qdd. The second gives the tip's deflection per
        xi over q.
        """
        r = self.joints
        q = ca.SX.sym("q", r)
        xi = ca.SX.sym("xi", self.size)
        tip = self.model.function("deflections")(ca.vertcat(q, xi))[-1, 1:3]
        (D,) = ca.substitute([ca.jacobian(tip, xi)], [xi], [ca.DM.zeros(self.size)])
        at_rest = ca.Function("tip", [q], [ca.cse(ca.densify(D))])
        return analysis.flexible_equations(self.model, straight=True), at_rest

    def along(self, reference: Reference, t: Array) -> tuple[Array, ...]:
        """Return M, C, K (times, k, k) and g (times, k) along a motion."""
        return analysis.equations_along(self.functions[0], *(x.T for x in joints_along(reference, t)))

    def between(self, reference: ParabolicBlends, t: Array) -> list[Array]:
        """Return M, C, K and g at many ascending times.

        Between corners of the motion they are polynomials through `NODES` times.
        """
        pieces = np.searchsorted(reference.jumps(), t)
        found = []
        for here in (t[pieces == piece] for piece in np.unique(pieces)):
            if len(here) <= NODES:
                found.append(self.along(reference, here))
                continue
            x = np.cos(np.pi * (np.arange(NODES) + 0.5) / NODES)
            middle, half = (here[0] + here[-1]) / 2, (here[-1] - here[0]) / 2
            weights = chebvander((here - middle) / half, NODES - 1) @ np.linalg.inv(chebvander(x, NODES - 1))
            found.append(tuple(np.tensordot(weights, v, 1) for v in self.along(reference, middle + half * x)))
        return [np.concatenate(parts) for parts in zip(*found, strict=True)]

    def standing(self, length: float) -> tuple[Array, Array]:
        """Return M and K with the joints at rest at a free length [m]."""
        still = np.zeros((1, self.joints))
        M, _, K, _ = analysis.equations_along(self.functions[0], np.array([[0.0, 0.0, length]]), still, still)
        return M[0], K[0]

    def frequencies(self, length: float) -> Array:
        """Return the frequencies of one plane, with the joints at rest at a free length [rad/s]."""
        M, K = (x[np.ix_(self.in_y, self.in_y)] for x in self.standing(length))
        return np.sqrt(np.sort(np.linalg.eigvals(np.linalg.solve(M, K)).real))

    def eigenvalues(self, reference: Reference, t: Array) -> Array:
        """Return the eigenvalues of positive frequency at each time, lowest first: (times, k)."""
        return analysis.quadratic_eigenvalues(*self.along(reference, t)[:3])

    def run(
        self, reference: ParabolicBlends, until: float = DURATION, steps: int = 2000, every: int = 2, xi0: Any = None
    ) -> tuple[Array, Array, Array]:
        """Return times, xi and the tip's deflections (times, 2), from rest or from xi0 with zero rates.

        M, C, K and g are those in the middle of each step, which takes five substeps of h. With A of (xi, xi_dot, 1)' =
        A (xi, xi_dot, 1), each substep is the Pade approximant (2, 2) of exp(h A): fourth order in omega h, without
        damping of fast modes. In partial fractions it needs one complex solution of the size of xi: z + 2 Re(k w), (h A
        - a) w = z. Corners of the motion must lie between steps.
        """
        n = self.size
        h = until / steps / 5
        a = 3 + 1j * np.sqrt(3)
        k = 12 * a / (a - np.conj(a))
        z = np.concatenate([np.zeros(n) if xi0 is None else xi0, np.zeros(n), [1.0]])
        found = [z]
        for block in np.array_split(until / steps * (np.arange(steps) + 0.5), max(1, steps * n // 16_000)):
            M, C, K, g = self.between(reference, block)
            B = C + a / h * M
            w = -np.linalg.solve(h * K + a * B, np.concatenate([B, M, h / a * g[..., None]], axis=-1))
            substep = np.tile(np.eye(2 * n + 1), (len(block), 1, 1))
            substep[:, :n] += 2 * np.real(k * w)
            substep[:, n : 2 * n] += 2 * np.real(k / h * (a * w + np.eye(n, 2 * n + 1)))
            twice = substep @ substep
            for step in twice @ twice @ substep:
                z = step @ z
                found.append(z)
        t = np.linspace(0.0, until, steps + 1)[::every]
        xi = np.array(found)[::every, :n]
        return t, xi, np.einsum("tij,tj->ti", self.tips(reference, t), xi)

    def tips(self, reference: Reference, t: Array) -> Array:
        """Return the tip's deflection per xi along a motion: (times, 2, k)."""
        values = np.array(self.functions[1].map(len(t))(joints_along(reference, t)[0]))
        return np.moveaxis(values.reshape(2, len(t), self.size), 1, 0)

    def follows(self, reference: Reference, t: Array) -> Array:
        """Return the tip's deflection without vibration, D K^-1 g: (times, 2)."""
        _, _, K, g = self.along(reference, t)
        return (self.tips(reference, t) @ np.linalg.solve(K, g[..., None]))[..., 0]

    def plucked(self, reference: ParabolicBlends, until: float = DURATION, steps: int = 4000) -> tuple[Array, ...]:
        """Return a free vibration in the first mode along y, 1 mm at the start.

        The arrays are times, the tip's deflection along y, and the mode's omega and mass, scaled to 1 at the tip.
        """
        t = np.linspace(0.0, until, steps + 1)
        M, _, K, _ = self.along(reference, t)
        D = self.tips(reference, t)
        one = np.ix_(np.arange(len(t)), self.in_y, self.in_y)
        omega2, V = np.linalg.eig(np.linalg.solve(M[one], K[one]))
        first = np.take_along_axis(V, np.argmin(omega2, axis=1)[:, None, None], axis=2)[..., 0]
        first = first / np.einsum("tj,tj->t", D[:, 0, self.in_y], first)[:, None]
        mass = np.einsum("ti,tij,tj->t", first, M[one], first)
        xi0 = np.zeros(self.size)
        xi0[self.in_y] = 1e-3 * first[0]
        _, _, tip = self.run(reference, until, steps, every=1, xi0=xi0)
        return t, tip[:, 0], np.sqrt(omega2.min(axis=1)), mass


def apart(a: Array, b: Array) -> float:
    """Return the largest difference in percent of the largest deflection of b."""
    return float(100 * np.abs(a - b).max() / np.abs(b).max())
