"""Composite control in two time scales, for arms with flexible links and joints."""

import json
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from flexarm.control.equilibrium import Array, checked_joints, equilibrium, rest
from flexarm.control.gains import demanded, gain, motion, times
from flexarm.control.lqr import where
from flexarm.control.riccati import effort, energy, held, is_stable, linear, optimal, weights
from flexarm.control.timescales import TimeScales, interpolated, time_scales
from flexarm.errors import DescriptionError
from flexarm.mechanics.spatial import Vector
from flexarm.model import Model
from flexarm.simulation.feedback import Law
from flexarm.trajectory import Reference, jumps_of, reference_values

NODES = 9
"""Times along the reference at which what gravity does beyond first order is found."""
LIMIT = 1e4
"""Gains are not raised farther than by this factor in search of their limit."""


@final
@dataclass(frozen=True)
class Composite:
    """u = u_s + u_f: computed torque of the rigid arm, and optimal damping about the deflection that goes with it.

    Singular perturbations (Subudhi & Morris 2002, sections 4 and 5), for any number of links, joints and modes; see the
    module `timescales` for q = T [q_r; zeta] and the matrices. The small parameter is 1 / k_c, k_c the least stiffness;
    the paper's fast state is k_c (zeta - zeta_s), sqrt(k_c) zeta', its fast time sqrt(k_c) t: the same equations.

    - Slow (eqs. 66, 69): u_s is the rigid arm's inverse dynamics, rotors included, for the accelerations
      v = rdd + Kd (rd - q_rd) + Kp (r - q_r) of the joints, on the links' side. The print of eq. 69 leaves out the
      velocity terms f_1, which eq. 66 has.
    - Quasi-steady deflection (eqs. 64, 65): K_z zeta_s = B_z u_s - Q_z, the elastic rows of the inverse dynamics with
      nothing bent.
    - Fast (eq. 67): (E - C A^-1 C') zeta'' + D_z zeta' + K_z zeta = (B_z - C A^-1) u_f. The print of A_f leaves the
      joints' acceleration, which is as fast, out of the rows of sigma.
    - Fast law (eq. 70): u_f = -K_p (zeta - zeta_s) - K_d zeta', linear-quadratic. The paper's K_pf and K_vf are
      -K_p / k_c and -K_d / sqrt(k_c), with columns in its order.

    What the paper leaves out is of the first order in the small parameter, and large on an arm whose vibrations are
    only some times as fast as its motion. `corrected` puts two terms of it back. For q_r the slow law takes
    p = q_r + A^-1 C' (zeta - sag), of which A p' is the joints' momentum: vibrations do not appear in it, so the slow
    law hardly excites them, and its acceleration is what u_s makes it. And the fast law damps zeta' - zeta_s', with the
    rate of zeta_s along the reference. Under gravity, with or without that, u_s and zeta_s are completed to the
    equilibrium of the bent arm at points of the reference, so that the arm stands exactly where the reference ends.

    The whole state must be known.

    Parameters
    ----------
    reference : Reference
        Of all joints, on the links' side.
    Kp, Kd : float, (m,) or (m, m)
        Of the slow motion [1/s^2], [1/s].
    Q : float, (2k,) or (2k, 2k), optional
        Of zeta - zeta_s, then of zeta'. Default: diag(K_z, M_z) / 2, the vibration's energy.
    R : float, (m,) or (m, m), optional
        Of u_f. Default: B' M^-1 B / omega^2 of the whole arm, an energy too (see `riccati.effort`), omega being the
        slowest frequency of the fast subsystem.
    gains : (K_p, K_d), each (m, k), optional
        Given instead of designed, for zeta in the order of the arm's coordinates: amplitudes, then springs.
    configuration : (m,), optional
        Joints at which the fast law is designed. Default: where the reference is half-way in time. It must be given for
        a reference that never comes to rest, and is then also where the closed loop is judged.
    corrected : bool
        See above; False is the paper's law.
    """

    reference: Reference
    Kp: Any
    Kd: Any
    Q: Any = None
    R: Any = None
    gains: Any = None
    configuration: Any = None
    corrected: bool = True

    def law(self, model: Model, period: float | None = None) -> Law:
        """The law for a model; with a period, its fast part is optimal for a zero-order hold.

        Facts: `coordinates` of zeta, gains `K_p` and `K_d`, `fast_frequencies` (undamped, without control) [rad/s],
        `fast_poles` of the fast subsystem under control, `slow_poles` of the error's equation and the largest size
        among them, `slow_bandwidth`, `separation` of the slowest fast frequency from it, `poles` of the whole arm under
        control, linearised where the reference ends, and `Kp_limit`: that closed loop becomes unstable, and the slow
        model is wrong altogether, where Kp is raised by this factor and Kd by its square root (infinite where 1e4 is
        not enough).

        Raises `DescriptionError` where that closed loop is unstable as it is, for gains and weights that do not fit,
        and for a vibration that is neither damped nor reached.
        """
        m = len(model.inputs)
        scales = time_scales(model)
        if not scales.names:
            raise DescriptionError(f"Composite: arm {model.arm.name!r} is rigid, nothing of it is fast")
        end, middle, nodes = self._places(model)
        Kp, Kd = gain("Composite: Kp", self.Kp, m), gain("Composite: Kd", self.Kd, m)
        K_p, K_d = self._fast_gains(scales, middle, period)
        at = reference_values(self.reference, nodes) if len(nodes) > 1 else [end]
        beyond = [np.concatenate(scales.beyond_first_order(joints))[:, None] for joints in at]
        corrected, reference = self.corrected, self.reference

        def expression(t: Any, q: Vector, qd: Vector, z: Vector, noise: Vector) -> tuple[Vector, Vector]:
            (p, zeta), (pd, zeta_d) = scales.split(q), scales.split(qd)
            more = interpolated(beyond, nodes, t, [1.0])
            du, zeta = more[:m], [a - b for a, b in zip(zeta, more[m:], strict=True)]
            if corrected:
                sag = scales.sag(motion(reference, t, m)[0])
                bent = [a - b for a, b in zip(zeta, sag, strict=True)]
                beside = scales.slow_coordinates(p, bent, zeta_d)
                p, pd = ([a + b for a, b in zip(x, y, strict=True)] for x, y in zip((p, pd), beside, strict=True))
                zeta_d = [a - b for a, b in zip(zeta_d, self._deflection_rate(scales, t), strict=True)]
            u_s, zeta_s = scales.slow_motion(p, pd, demanded(reference, t, p, pd, Kp, Kd))
            off = [a - b for a, b in zip(zeta, zeta_s, strict=True)]
            parts = zip(u_s, du, times(K_p, off), times(K_d, zeta_d), strict=True)
            return [a + b - c - d for a, b, c, d in parts], []

        facts = self._facts(scales, Kp, Kd, K_p, K_d, end, middle, period)
        numbers = [np.array(x).tolist() for x in (Kp, Kd, K_p, K_d, beyond, nodes)]
        key = json.dumps(["Composite", reference.described(), corrected, *numbers])
        return Law(expression, key, jumps=np.union1d(jumps_of(reference), nodes), facts=facts)

    def _deflection_rate(self, scales: TimeScales, t: Any) -> Vector:
        """zeta_s' along the reference."""
        import casadi as ca

        s = ca.SX.sym("t")
        _, zeta_s = scales.slow_motion(*motion(self.reference, s, scales.slow))
        rate = ca.jacobian(ca.vertcat(*zeta_s), s)
        return ca.vertsplit(ca.substitute(ca.densify(rate), s, t))

    def _places(self, model: Model) -> tuple[Array, Array, Array]:
        """Joints at the end, those where the fast law is designed, and the times at which gravity's part is found."""
        found = rest(self.reference)
        given = None if found else self.configuration
        end = where("Composite", "configuration", given, self.reference, model)
        time = found[0] if found else 0.0
        middle = reference_values(self.reference, np.array([time / 2]))[0]
        if self.configuration is not None:
            middle = checked_joints("Composite: configuration", self.configuration, model)
        nodes = np.linspace(0.0, time, NODES if time and any(model.arm.gravity) else 1)
        return end, middle, nodes

    def _fast_gains(self, scales: TimeScales, joints: Array, period: float | None) -> tuple[Array, Array]:
        m, k = len(scales.model.inputs), len(scales.names)
        if self.gains is not None:
            if not isinstance(self.gains, list | tuple) or len(self.gains) != 2:
                raise DescriptionError("Composite: gains must be two matrices, K_p and K_d")
            K_p, K_d = self.gains
            return gain("Composite: gains, K_p", K_p, m, k), gain("Composite: gains, K_d", K_d, m, k)
        M, _, stiffness, _ = scales.fast(joints)
        Q = energy(M, stiffness) if self.Q is None else self.Q
        slowest = _frequencies(M, stiffness)[0]
        R = effort(scales.model, scales.T[:, :m] @ joints, slowest) if self.R is None else self.R
        Q, R = weights("Composite", Q, R, 2 * k, m)
        K, _ = optimal("Composite", *_first_order(*scales.fast(joints)), M, Q, R, scales.names, period)
        return K[:, :k], K[:, k:]

    def _facts(
        self,
        scales: TimeScales,
        Kp: Array,
        Kd: Array,
        K_p: Array,
        K_d: Array,
        end: Array,
        middle: Array,
        period: float | None,
    ) -> dict[str, Any]:
        m = len(Kp)
        q, u = equilibrium(scales.model, end)
        A, B = linear(scales.model, q, u)
        if period is not None:
            A, B = held(A, B, period)
        slopes = scales.slow_slopes(end)
        N = scales.coupling(end) * self.corrected

        def multipliers(factor: float) -> Array:
            return np.linalg.eigvals(A + B @ _slope(scales, slopes, N, factor * Kp, factor**0.5 * Kd, K_p, K_d))

        here = multipliers(1.0)
        poles = here if period is None else np.log(here.astype(complex)) / period
        M, _, stiffness, _ = scales.fast(middle)
        frequencies = _frequencies(M, stiffness)
        slow = np.linalg.eigvals(np.block([[np.zeros((m, m)), np.eye(m)], [-Kp, -Kd]]))
        bandwidth = float(np.abs(slow).max())
        if not is_stable(here, period):
            worst = poles[np.argmax(poles.real)]
            message = f"a pole at {worst.real:.4g} +- {abs(worst.imag):.4g}j 1/s where the reference ends"
            ratio = f"the slowest vibration, {frequencies[0]:.4g} rad/s, is {frequencies[0] / bandwidth:.3g} times"
            raise DescriptionError(f"Composite: unstable, {message}; {ratio} as fast as the slow motion")
        F, G = _first_order(*scales.fast(middle))
        if period is not None:
            F, G = held(F, G, period)
        fast = np.linalg.eigvals(F - G @ np.hstack([K_p, K_d]))
        return {
            "coordinates": scales.names,
            "K_p": K_p,
            "K_d": K_d,
            "fast_frequencies": frequencies,
            "fast_poles": fast if period is None else np.log(fast.astype(complex)) / period,
            "slow_poles": slow,
            "slow_bandwidth": bandwidth,
            "separation": float(frequencies[0] / bandwidth),
            "poles": poles,
            "Kp_limit": _limit(lambda factor: is_stable(multipliers(factor), period)),
        }


def _frequencies(M: Array, K: Array) -> Array:
    from scipy.linalg import eigh

    return np.sqrt(np.maximum(eigh(K, M, eigvals_only=True), 0.0))


def _first_order(M: Array, D: Array, K: Array, B: Array) -> tuple[Array, Array]:
    """A and B of M x'' + D x' + K x = B u, for (x, x')."""
    k = len(M)
    A = np.block([[np.zeros((k, k)), np.eye(k)], [-np.linalg.solve(M, K), -np.linalg.solve(M, D)]])
    return A, np.vstack([np.zeros_like(B), np.linalg.solve(M, B)])


def _slope(
    scales: TimeScales, slopes: tuple[list[Array], list[Array]], N: Array, Kp: Array, Kd: Array, K_p: Array, K_d: Array
) -> Array:
    """du/d(q, qd), (m, 2n), of the law at rest where the reference ends.

    With w(p, pd, v) = u_s + K_p zeta_s it is u = w - K_p zeta - K_d zeta', and p moves with q_r + N zeta.
    """
    to_p, to_pd, to_v = (a + K_p @ b for a, b in zip(*slopes, strict=True))
    back = np.linalg.inv(scales.T)
    sides = [(to_p - to_v @ Kp, K_p), (to_pd - to_v @ Kd, K_d)]
    return np.hstack([np.hstack([slow, slow @ N - fast]) @ back for slow, fast in sides])


def _limit(stable: Any) -> float:
    """The factor, from 1 up, at which a closed loop that is stable at 1 ceases to be."""
    factors = np.geomspace(1.0, LIMIT, 81)
    bad = next((i for i, factor in enumerate(factors) if not stable(float(factor))), None)
    if bad is None:
        return float("inf")
    low, high = float(factors[bad - 1]), float(factors[bad])
    while high - low > 1e-4 * low:
        middle = (low * high) ** 0.5
        low, high = (middle, high) if stable(middle) else (low, middle)
    return low
