"""Composite control in two time scales, for arms with flexible links and joints."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from flexarm.arrays import Array
from flexarm.brief import brief
from flexarm.cached import cached_property
from flexarm.checks import checked_flag, refused
from flexarm.control.equilibrium import checked_joints, equilibrium, rest
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
"""Number of times along the reference at which the fast controller is checked and the equilibrium is computed."""
SAMPLES = 96
"""Number of times along the reference at which the closed loop is linearised."""
FOLLOWS, GROWTH = 20.0, 500.0
"""Growth of deviations along the reference, in the energy norm: design values that matter.

Designs that follow well stay below the first value. The second is the limit of what is accepted. In simulations all
designs below 170 arrived, some with an error of half a radian on the way. The first one that diverged had 785.
"""
LIMIT = 1e4
"""Largest factor by which gains are raised in the search for their limit."""


@final
@brief
@dataclass(frozen=True)
class Composite:
    """Composite control u = u_s + u_f: computed torque of the rigid arm, and optimal damping of the vibrations.

    The method is singular perturbations (Subudhi & Morris 2002, sections 4 and 5), for any number of links, joints and
    modes. The module `timescales` has q = T [q_r; zeta] and the matrices. The small parameter is 1 / k_c, where k_c is
    the least stiffness. The paper's fast state is k_c (zeta - zeta_s), sqrt(k_c) zeta', and its fast time is sqrt(k_c)
    t. The equations are the same.

    - Slow (eqs. 66, 69): u_s is the rigid arm's inverse dynamics, rotors included. The accelerations of the joints on
      the links' side are v = rdd + Kd (rd - q_rd) + Kp (r - q_r). The printed eq. 69 omits the velocity terms f_1 of
      eq. 66.
    - Quasi-steady deflection (eqs. 64, 65): K_z zeta_s = B_z u_s - Q_z, the elastic rows of the inverse dynamics of the
      undeformed arm.
    - Fast (eq. 67): (E - C A^-1 C') zeta'' + D_z zeta' + K_z zeta = (B_z - C A^-1) u_f. The printed A_f omits the
      joints' acceleration, which is as fast, in the rows of sigma.
    - Fast controller (eq. 70): u_f = -K_p (zeta - zeta_s) - K_d zeta', linear-quadratic. The paper's K_pf and K_vf are
      -K_p / k_c and -K_d / sqrt(k_c), with columns in the paper's order.

    The paper omits terms of first order in the small parameter. They are large on an arm whose vibrations are only a
    few times as fast as its motion. `corrected` adds two of these terms:

    - The slow controller uses p = q_r + A^-1 C' (zeta - sag) in place of q_r. A p' is the momentum of the joints.
      Vibrations have no part in it, so the slow controller hardly excites them, and u_s determines its acceleration.
      This holds for an undeformed arm, from which A and C are taken. If deviations would therefore grow (absolute
      rotors on soft links), p' uses A and C of the deformed arm.
    - The fast controller damps zeta' - zeta_s', with the rate of zeta_s along the reference.

    Under gravity, u_s and zeta_s are completed to the equilibrium of the deformed arm at points of the reference, with
    or without `corrected`. The arm then stands exactly where the reference ends.

    The controller needs the complete state.

    Parameters
    ----------
    reference : Reference, float or (m,)
        Reference of all joints, on the links' side, or their constant target positions.
    Kp, Kd : float, (m,) or (m, m)
        Gains of the slow motion [1/s^2], [1/s].
    Q : float, (2k,) or (2k, 2k), optional
        Weights of zeta - zeta_s, then of zeta'. Default: diag(K_z, M_z) / 2, the vibration's energy.
    R : float, (m,) or (m, m), optional
        Weights of u_f. Default: B' M^-1 B / omega^2 of the complete arm, which is also an energy (see
        `riccati.effort`). omega is the slowest frequency of the fast subsystem.
    gains : (K_p, K_d), each (m, k), optional
        Gains in place of designed ones, for zeta in the order of the arm's coordinates: amplitudes, then springs.
    configuration : (m,), optional
        Joint coordinates at which the fast controller is designed. Default: the middle of the reference in time, if
        that design damps the vibrations all along the reference. Otherwise there are designs at nine points, with gains
        that are interpolated linearly. A reference that never comes to rest needs a configuration. The closed loop is
        then checked there.
    corrected : bool
        See above; False is the paper's controller.
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
        """Return the control law for a model. With a period, its fast part is optimal for a zero-order hold.

        Its facts are:

        - `coordinates` of zeta, and the gains `K_p` and `K_d`
        - `fast_frequencies` (undamped, without control) [rad/s], and `fast_poles` of the controlled fast subsystem
        - `slow_poles` of the error's equation, and their largest size `slow_bandwidth`
        - `separation`, the ratio of the slowest fast frequency to the slow bandwidth
        - `poles` of the complete arm under control, linearised where the reference ends
        - `growth`, the largest growth of deviations from the motion along the reference (in the energy norm)
        - `bent`, True if p' had to be taken from the deformed arm
        - `Kp_limit`, the factor on Kp, with its square root on Kd, at which that closed loop becomes unstable (infinite
          if 1e4 is not enough)

        Raises `DescriptionError` if that closed loop is unstable, or if deviations along the reference grow by a factor
        of
        500. Also if gains and weights do not fit, and if a vibration is neither damped nor controllable.
        """
        m = actuators("Composite", model, period)
        fixed_base("Composite", model, "use ComputedTorque, Decoupling or LQR")
        torques("Composite", model)
        with refused("Composite"):
            checked_flag(self.corrected, "corrected")
        scales = time_scales(model)
        if not scales.names:
            raise DescriptionError(
                f"Composite: arm {model.arm.name!r} is rigid, so it has no fast motion; use ComputedTorque"
            )
        reference = followed("Composite", self.reference, model)
        end, middle, nodes = self._places(model, reference)
        places = reference_values(reference, nodes) if len(nodes) > 1 else end[None, :]
        Kp, Kd = gain("Composite: Kp", self.Kp, m), gain("Composite: Kd", self.Kd, m)
        fast = self._fast_gains(scales, middle, places, period)
        beyond = [np.concatenate(scales.beyond_first_order(joints))[:, None] for joints in places]

        def expression(t: Any, q: Column, qd: Column, z: Column, bent: bool = False) -> tuple[Column, Any]:
            import casadi as ca

            along = None
            if self.corrected:
                along = FirstOrder(scales.sag(motion(reference, t)[0]), _deflection_rate(scales, reference, t), bent)
            shift = parted(interpolated(beyond, nodes, t, ca.SX(1.0)), m)
            slow, quick = partial(demanded, reference, t, Kp=Kp, Kd=Kd), partial(interpolated, fast, nodes, t)
            return torque(scales, q, qd, slow, quick, shift, along), []

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
            raise DescriptionError(f"Composite: the closed loop is unstable along the reference: {found.described()}")
        return replace(law, facts={**facts, "growth": found.growth, "bent": bent})

    def _places(self, model: Model, reference: Reference) -> tuple[Array, Array, Array]:
        """Joints at the end, joints where the fast controller is designed, and times from the beginning to the end."""
        found = rest(reference)
        time, end = found or (0.0, where("Composite", "configuration", self.configuration, reference, model))
        middle = reference_values(reference, np.array([time / 2]))[0]
        if self.configuration is not None:
            middle = checked_joints("Composite: configuration", self.configuration, model)
        return end, middle, np.linspace(0.0, time, NODES if time else 1)

    def _fast_gains(self, scales: TimeScales, middle: Array, places: Array, period: float | None) -> list[Array]:
        """K = [K_p, K_d] of the fast controller at each of the places.

        The gains are given, or designed in the middle if that design is stable at all places, or else designed at each
        place.
        """
        m, k = len(scales.model.inputs), len(scales.names)
        if self.gains is not None:
            if not isinstance(self.gains, list | tuple) or len(self.gains) != 2:
                raise DescriptionError("Composite: gains must be a pair of matrices, (K_p, K_d)")
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
                why = "the fast controller alone does not damp this vibration there"
                why = f"{why}; it was designed for another configuration" if self.configuration is not None else why
            else:
                slowest = (
                    f"the slowest vibration ({frequencies[0]:.4g} rad/s) is only {frequencies[0] / bandwidth:.3g} times"
                )
                why = f"{slowest} as fast as the slow motion; reduce Kp and Kd"
            raise DescriptionError(f"Composite: the closed loop is unstable, with {message}; {why}")
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
class FirstOrder:
    """Corrections of first order along a reference.

    Attributes
    ----------
    sag : (k,)
        zeta_s at the reference, at rest.
    rate : (k,)
        Rate zeta_s' along the reference.
    bent : bool
        True if p' has A and C of the deformed arm.
    """

    sag: Column
    rate: Column
    bent: bool = False


def torque(
    scales: TimeScales,
    q: Column,
    qd: Column,
    slow: Callable[[Column, Column], Column],
    fast: Callable[[Column], Column],
    shift: tuple[Column, Column],
    along: FirstOrder | None,
) -> Column:
    """Return u = u_s + u_f (m,) of composite control.

    Parameters
    ----------
    q, qd : (n,)
    slow : function
        Accelerations v (m,) of the joints from the slow state (p, p').
    fast : function
        -u_f (m,) from (zeta - zeta_s, zeta'), or from zeta' - zeta_s' with corrections.
    shift : (m,), (k,)
        Differences of the equilibrium from u_s and zeta_s.
    along : FirstOrder, optional
        Corrections of first order. None is the paper's controller.
    """
    import casadi as ca

    (p, zeta), (pd, zeta_d) = scales.split(q), scales.split(qd)
    du, dzeta = shift
    zeta = zeta - dzeta
    if along is not None:
        straight = scales.straight(p)
        p = p + scales.beside(straight, zeta - along.sag)
        pd = pd + scales.beside(q if along.bent else straight, zeta_d)
        zeta_d = zeta_d - along.rate
    u_s, zeta_s = scales.slow_motion(p, pd, slow(p, pd))
    return u_s + du - fast(ca.vertcat(zeta - zeta_s, zeta_d))


@final
@dataclass(frozen=True, eq=False)
class _Along:
    """Growth of deviations from the motion along the reference, from the closed loop linearised there."""

    scales: TimeScales
    law: Law
    reference: Reference
    momentum: bool
    beyond: Array
    """Second-order effect of gravity on the deflection, at equal intervals of time."""
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
        """Largest growth of deviations in the energy norm."""
        return self._worst[0]

    def described(self) -> str:
        """Text with the growth, its time, the pole that causes it, and its explanation."""
        found, i, j = self._worst
        loop = ClosedLoop(self.scales.model, self.law, self.period)
        poles = [loop.poles(t, x) for t, x in zip(*(each[i:j] for each in self._states), strict=True)]
        k = int(np.argmax([each.real.max() for each in poles]))
        return (
            f"deviations grow by a factor of {found:.2g} from {self._times[i]:.3g} s to {self._times[j]:.3g} s, "
            "with a pole "
            f"at {_shown(poles[k])} at {self._states[0][i + k]:.3g} s; the design assumes a straight arm at rest: "
            "move more slowly"
        )


def _slow_poles(Kp: Array, Kd: Array) -> Array:
    m = len(Kp)
    return np.linalg.eigvals(np.block([[np.zeros((m, m)), np.eye(m)], [-Kp, -Kd]]))


def _fast_poles(scales: TimeScales, joints: Array, K: Array, period: float | None) -> Array:
    """Poles of the controlled fast subsystem or, with a period, its multipliers."""
    F, G = _first_order(*scales.fast(joints))
    F, G = (F, G) if period is None else held(F, G, period)
    return np.linalg.eigvals(F - G @ K)


def _shown(poles: Array) -> str:
    worst = poles[np.argmax(poles.real)]
    return f"{worst.real:.4g} +- {abs(worst.imag):.4g}j 1/s"


def _deflection_rate(scales: TimeScales, reference: Reference, t: Any) -> Column:
    """Rate zeta_s' along the reference."""
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
    """Slope du/d(q, qd), (m, 2n), of the control law at rest where the reference ends.

    With w(p, pd, v) = u_s + K_p zeta_s the control law is u = w - K_p zeta - K_d zeta'. p moves with q_r + N_1 zeta and
    pd with q_r' + N_2 zeta'.
    """
    K_p, K_d = np.hsplit(K, 2)
    to_p, to_pd, to_v = (a + K_p @ b for a, b in zip(*slopes, strict=True))
    back = np.linalg.inv(scales.T)
    slow = (to_p - to_v @ Kp, to_pd - to_v @ Kd)
    return np.hstack([np.hstack([s, s @ n - f]) @ back for s, n, f in zip(slow, N, (K_p, K_d), strict=True)])


def _limit(stable: Callable[[float], bool]) -> float:
    """Return the smallest factor above 1 at which a closed loop that is stable at 1 becomes unstable."""
    factors = np.geomspace(1.0, LIMIT, 81)
    bad = next((i for i, factor in enumerate(factors) if not stable(float(factor))), None)
    if bad is None:
        return float("inf")
    low, high = float(factors[bad - 1]), float(factors[bad])
    while high - low > 1e-4 * low:
        middle = (low * high) ** 0.5
        low, high = (middle, high) if stable(middle) else (low, middle)
    return low
