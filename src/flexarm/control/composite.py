"""Composite control in two time scales, for arms with flexible links and joints."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from flexarm.cached import cached_property
from flexarm.checks import checked_flag, refused
from flexarm.control.equilibrium import Array, checked_joints, equilibrium, rest
from flexarm.control.free import fixed_base
from flexarm.control.gains import actuators, demanded, designing, followed, gain, motion, torques
from flexarm.control.lqr import where
from flexarm.control.riccati import effort, energy, is_stable, linear, optimal, weights
from flexarm.control.tables import interpolated
from flexarm.control.timescales import TimeScales, time_scales
from flexarm.errors import DescriptionError
from flexarm.model import Model
from flexarm.simulation.closed_loop import ClosedLoop, continuous, growth, held
from flexarm.simulation.law import Column, Law, parted
from flexarm.trajectory import Reference, jumps_of, reference_values

NODES = 9
"""Times along the reference at which the fast law is judged, and what gravity does beyond first order is found."""
SAMPLES = 96
"""Times along the reference at which the closed loop is linearised."""
FOLLOWS, GROWTH = 20.0, 500.0
"""Of a deviation along the reference, in the energy's metric. Designs that follow well stay below the first. Of those
simulated all below 170 arrived, some with half a radian of error on the way; the first to diverge had 785."""
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
    law hardly excites them, and its acceleration is what u_s makes it. That is so of an arm with nothing bent, which A
    and C are taken from; where deviations would grow because of that (absolute rotors on soft links), p' takes them
    from the arm as it is bent. And the fast law damps zeta' - zeta_s', with the
    rate of zeta_s along the reference. Under gravity, with or without that, u_s and zeta_s are completed to the
    equilibrium of the bent arm at points of the reference, so that the arm stands exactly where the reference ends.

    The whole state must be known.

    Parameters
    ----------
    reference : Reference, float or (m,)
        Of all joints, on the links' side; numbers are where they shall stand.
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
        Joints at which the fast law is designed. Default: where the reference is half-way in time, if that damps the
        vibrations all along it; else at nine points of it, the gains going from one to the next on straight lines. It
        must be given for a reference that never comes to rest, and is then also where the closed loop is judged.
    corrected : bool
        See above; False is the paper's law.
    """

    reference: Reference | ArrayLike
    Kp: ArrayLike
    Kd: ArrayLike
    Q: ArrayLike | None = None
    R: ArrayLike | None = None
    gains: tuple[ArrayLike, ArrayLike] | None = None
    configuration: ArrayLike | None = None
    corrected: bool = True

    @designing("Composite")
    def law(self, model: Model, period: float | None = None) -> Law:
        """The law for a model; with a period, its fast part is optimal for a zero-order hold.

        Facts: `coordinates` of zeta, gains `K_p` and `K_d`, `fast_frequencies` (undamped, without control) [rad/s],
        `fast_poles` of the fast subsystem under control, `slow_poles` of the error's equation and the largest size
        among them, `slow_bandwidth`, `separation` of the slowest fast frequency from it, `poles` of the whole arm under
        control, linearised where the reference ends, `growth`, by how much deviations from the motion along the
        reference grow at most (in the metric of energy), `bent`, whether p' had to be taken from the bent arm, and
        `Kp_limit`: that closed loop becomes unstable, and the slow model is wrong altogether, where Kp is raised by
        this factor and Kd by its square root (infinite where 1e4 is not enough).

        Raises `DescriptionError` where that closed loop is unstable as it is, where deviations along the reference grow
        five hundred times, for gains and weights that do not fit, and for a vibration that is neither damped nor
        reached.
        """
        m = actuators("Composite", model, period)
        fixed_base("Composite", model, "use ComputedTorque, Decoupling or LQR")
        torques("Composite", model)
        with refused("Composite"):
            checked_flag(self.corrected, "corrected")
        scales = time_scales(model)
        if not scales.names:
            raise DescriptionError(f"Composite: arm {model.arm.name!r} is rigid, nothing of it is fast")
        reference = followed("Composite", self.reference, model)
        end, middle, nodes = self._places(model, reference)
        places = reference_values(reference, nodes) if len(nodes) > 1 else end[None, :]
        Kp, Kd = gain("Composite: Kp", self.Kp, m), gain("Composite: Kd", self.Kd, m)
        fast = self._fast_gains(scales, middle, places, period)
        beyond = [np.concatenate(scales.beyond_first_order(joints))[:, None] for joints in places]

        def expression(t: Any, q: Column, qd: Column, z: Column, bent: bool = False) -> tuple[Column, Any]:
            import casadi as ca

            (p, zeta), (pd, zeta_d) = scales.split(q), scales.split(qd)
            du, dzeta = parted(interpolated(beyond, nodes, t, ca.SX(1.0)), m)
            zeta = zeta - dzeta
            if self.corrected:
                sag, straight = scales.sag(motion(reference, t)[0]), scales.straight(p)
                p = p + scales.beside(straight, zeta - sag)
                pd = pd + scales.beside(q if bent else straight, zeta_d)
                zeta_d = zeta_d - _deflection_rate(scales, reference, t)
            u_s, zeta_s = scales.slow_motion(p, pd, demanded(reference, t, p, pd, Kp, Kd))
            return u_s + du - interpolated(fast, nodes, t, ca.vertcat(zeta - zeta_s, zeta_d)), []

        facts = self._facts(scales, Kp, Kd, fast, end, middle, period)
        bent = False
        varies = any(model.gravity) or np.ptp(fast, axis=0).any()
        jumps = np.union1d(jumps_of(reference), nodes) if varies else jumps_of(reference)
        law = Law(expression, jumps=jumps, reference=reference, facts=facts)
        if len(nodes) == 1:
            return law
        until = float(nodes[-1])
        dzeta = np.array(beyond)[:, m:, 0]
        along = (reference, self.corrected, dzeta, until, max(facts["slow_bandwidth"], 2 * np.pi / until), period)
        found = _Along(scales, law, *along)
        if found.growth > FOLLOWS and self.corrected:
            aware = replace(law, expression=partial(expression, bent=True))
            if (other := _Along(scales, aware, *along)).growth < found.growth:
                law, found, bent = aware, other, True
                facts = self._facts(scales, Kp, Kd, fast, end, middle, period, bent)
        if found.growth > GROWTH:
            raise DescriptionError(f"Composite: unstable along the reference: {found.described()}")
        return replace(law, facts={**facts, "growth": found.growth, "bent": bent})

    def _places(self, model: Model, reference: Reference) -> tuple[Array, Array, Array]:
        """Joints at the end, those where the fast law is designed, and times from the beginning to the end."""
        found = rest(reference)
        time, end = found or (0.0, where("Composite", "configuration", self.configuration, reference, model))
        middle = reference_values(reference, np.array([time / 2]))[0]
        if self.configuration is not None:
            middle = checked_joints("Composite: configuration", self.configuration, model)
        return end, middle, np.linspace(0.0, time, NODES if time else 1)

    def _fast_gains(self, scales: TimeScales, middle: Array, places: Array, period: float | None) -> list[Array]:
        """K = [K_p, K_d] of the fast law at each of the places: given, or designed half-way where that will do for all
        of them, else at each."""
        m, k = len(scales.model.inputs), len(scales.names)
        if self.gains is not None:
            if not isinstance(self.gains, list | tuple) or len(self.gains) != 2:
                raise DescriptionError("Composite: gains must be two matrices, K_p and K_d")
            both = zip(("K_p", "K_d"), self.gains, strict=True)
            K = np.hstack([gain(f"Composite: gains, {name}", value, m, k) for name, value in both])
            return [K] * len(places)
        K = self._designed(scales, middle, period)
        if self.configuration is not None or all(is_stable(_fast_poles(scales, x, K, period), period) for x in places):
            return [K] * len(places)
        return [self._designed(scales, joints, period) for joints in places]

    def _designed(self, scales: TimeScales, joints: Array, period: float | None) -> Array:
        m, k = len(scales.model.inputs), len(scales.names)
        M, _, stiffness, _ = scales.fast(joints)
        Q = energy(M, stiffness) if self.Q is None else self.Q
        slowest = _frequencies(M, stiffness)[0]
        R = effort(scales.model, scales.T[:, :m] @ joints, slowest) if self.R is None else self.R
        Q, R = weights("Composite", Q, R, 2 * k, m)
        return optimal("Composite", *_first_order(*scales.fast(joints)), M, Q, R, scales.names, period)[0]

    def _facts(
        self,
        scales: TimeScales,
        Kp: Array,
        Kd: Array,
        fast: list[Array],
        end: Array,
        middle: Array,
        period: float | None,
        bent: bool = False,
    ) -> dict[str, Any]:
        k, half = len(scales.names), fast[len(fast) // 2]
        q, u = equilibrium(scales.model, end)
        A, B = linear(scales.model, q, u)
        if period is not None:
            A, B = held(A, B, period)
        slopes = scales.slow_slopes(end)
        N = [self.corrected * scales.coupling(x) for x in (scales.straight(end), q if bent else scales.straight(end))]

        def multipliers(factor: float) -> Array:
            return np.linalg.eigvals(A + B @ _slope(scales, slopes, N, factor * Kp, factor**0.5 * Kd, fast[-1]))

        here = multipliers(1.0)
        poles = here if period is None else continuous(here, period)
        M, _, stiffness, _ = scales.fast(middle)
        frequencies = _frequencies(M, stiffness)
        slow = _slow_poles(Kp, Kd)
        bandwidth = float(np.abs(slow).max())
        if not is_stable(here, period):
            message = f"a pole at {_shown(poles)} where the reference ends"
            if not is_stable(alone := _fast_poles(scales, end, fast[-1], period), period):
                why = "the fast law alone does not damp that vibration there"
                why = f"{why}; it was designed elsewhere (configuration)" if self.configuration is not None else why
            else:
                slowest = f"the slowest vibration, {frequencies[0]:.4g} rad/s"
                why = f"{slowest}, is {frequencies[0] / bandwidth:.3g} times as fast as the slow motion"
            raise DescriptionError(f"Composite: unstable, {message}; {why}")
        alone = _fast_poles(scales, middle, half, period)
        return {
            "coordinates": scales.names,
            "K_p": half[:, :k],
            "K_d": half[:, k:],
            "fast_frequencies": frequencies,
            "fast_poles": alone if period is None else continuous(alone, period),
            "slow_poles": slow,
            "slow_bandwidth": bandwidth,
            "separation": float(frequencies[0] / bandwidth),
            "poles": poles,
            "Kp_limit": _limit(lambda factor: is_stable(multipliers(factor), period)),
        }


@final
@dataclass(frozen=True, eq=False)
class _Along:
    """What becomes of deviations from the motion along the law's reference, from the closed loop linearised there."""

    scales: TimeScales
    law: Law
    reference: Reference
    momentum: bool
    beyond: Array
    """Of the deflection, what gravity does to it beyond first order, at equal intervals of time."""
    until: float
    omega: float
    period: float | None

    @cached_property
    def _times(self) -> Array:
        return np.linspace(0.0, self.until, SAMPLES + 1)

    @cached_property
    def _states(self) -> tuple[Array, Array]:
        """Times in the middle of each step, and the states (q, qd) there."""
        import casadi as ca

        s = ca.SX.sym("t")
        middles = (self._times[1:] + self._times[:-1]) / 2
        along = ca.Function("along", [s], [self.scales.along(self.reference, s, self.momentum)[1]])
        more = [np.interp(middles, np.linspace(0.0, self.until, len(self.beyond)), each) for each in self.beyond.T]
        states = np.array(along(middles[None, :])).T
        states[:, : len(self.scales.T)] += np.array(more).T @ self.scales.T[:, self.scales.slow :].T
        return middles, states

    @cached_property
    def _worst(self) -> tuple[float, int, int]:
        model, n = self.scales.model, len(self.scales.T)
        loop, sizes = ClosedLoop(model, self.law, self.period), []
        for x in self._states[1]:
            M = model.mass_matrix(x[:n])
            sizes.append(energy(M, np.array(model.slope("stiffness_force", 0)(x[:n])) + self.omega**2 * M))
        matrices = [loop.matrix(t, x) for t, x in zip(*self._states, strict=True)]
        return growth(matrices, sizes, self._times[1], self.period)

    @property
    def growth(self) -> float:
        """By how much they grow at most, in the metric of energy."""
        return self._worst[0]

    def described(self) -> str:
        """How much, when, by which pole, and what the theory lacks."""
        found, i, j = self._worst
        loop = ClosedLoop(self.scales.model, self.law, self.period)
        poles = [loop.poles(t, x) for t, x in zip(*(each[i:j] for each in self._states), strict=True)]
        k = int(np.argmax([each.real.max() for each in poles]))
        return (
            f"deviations grow {found:.2g} times from {self._times[i]:.3g} s to {self._times[j]:.3g} s, a pole being at "
            f"{_shown(poles[k])} at {self._states[0][i + k]:.3g} s; the theory knows the arm standing and straight, "
            "and it is neither: move slower"
        )


def _slow_poles(Kp: Array, Kd: Array) -> Array:
    m = len(Kp)
    return np.linalg.eigvals(np.block([[np.zeros((m, m)), np.eye(m)], [-Kp, -Kd]]))


def _fast_poles(scales: TimeScales, joints: Array, K: Array, period: float | None) -> Array:
    """Poles of the fast subsystem under its law or, with a period, its multipliers."""
    F, G = _first_order(*scales.fast(joints))
    F, G = (F, G) if period is None else held(F, G, period)
    return np.linalg.eigvals(F - G @ K)


def _shown(poles: Array) -> str:
    worst = poles[np.argmax(poles.real)]
    return f"{worst.real:.4g} +- {abs(worst.imag):.4g}j 1/s"


def _deflection_rate(scales: TimeScales, reference: Reference, t: Any) -> Column:
    """zeta_s' along the reference."""
    import casadi as ca

    s = ca.SX.sym("t")
    rate = ca.jacobian(scales.slow_motion(*motion(reference, s))[1], s)
    return ca.substitute(ca.densify(rate), s, ca.SX(t))


def _frequencies(M: Array, K: Array) -> Array:
    from scipy.linalg import eigh

    return np.sqrt(np.maximum(eigh(K, M, eigvals_only=True), 0.0))


def _first_order(M: Array, D: Array, K: Array, B: Array) -> tuple[Array, Array]:
    """A and B of M x'' + D x' + K x = B u, for (x, x')."""
    k = len(M)
    A = np.block([[np.zeros((k, k)), np.eye(k)], [-np.linalg.solve(M, K), -np.linalg.solve(M, D)]])
    return A, np.vstack([np.zeros_like(B), np.linalg.solve(M, B)])


def _slope(
    scales: TimeScales, slopes: tuple[list[Array], list[Array]], N: list[Array], Kp: Array, Kd: Array, K: Array
) -> Array:
    """du/d(q, qd), (m, 2n), of the law at rest where the reference ends.

    With w(p, pd, v) = u_s + K_p zeta_s it is u = w - K_p zeta - K_d zeta', p moves with q_r + N_1 zeta and pd with
    q_r' + N_2 zeta'.
    """
    K_p, K_d = np.hsplit(K, 2)
    to_p, to_pd, to_v = (a + K_p @ b for a, b in zip(*slopes, strict=True))
    back = np.linalg.inv(scales.T)
    slow = (to_p - to_v @ Kp, to_pd - to_v @ Kd)
    return np.hstack([np.hstack([s, s @ n - f]) @ back for s, n, f in zip(slow, N, (K_p, K_d), strict=True)])


def _limit(stable: Callable[[float], bool]) -> float:
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
