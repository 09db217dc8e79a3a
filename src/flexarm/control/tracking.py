"""Feedback along a motion that is known with its torques."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import ArrayLike

from flexarm.arrays import Array
from flexarm.brief import brief
from flexarm.cached import cached_property
from flexarm.checks import checked_array, checked_flag, counted, refused, shown
from flexarm.control.along import Motion, held_of, motion_of, slow_motion
from flexarm.control.deviation import warn_of_defects
from flexarm.control.equilibrium import equilibrium
from flexarm.control.free import fixed_base
from flexarm.control.gains import actuated, actuators, designing, torques
from flexarm.control.tables import Pieces, of_motion, on_pieces
from flexarm.control.tracking_gains import Gains, Weights, gains_along
from flexarm.control.tracking_table import TINY, Table
from flexarm.errors import DescriptionError
from flexarm.model import Model
from flexarm.simulation.law import Column, Law, clipped, limits
from flexarm.trajectory import reference_motion

if TYPE_CHECKING:
    import casadi as ca

JOINTS = 3e-5, 1e-2
"""Largest errors of the reference's knots: shares of a joint's displacement, and of the span of its rate."""


@final
@dataclass(frozen=True, eq=False)
class Recorded:
    """The joints of a motion, as a reference of piecewise cubics.

    Attributes
    ----------
    pieces : of the joints
    """

    pieces: Pieces

    def expression(self, t: Any) -> list[Any]:
        """Joint coordinates at the symbolic time t."""
        import casadi as ca

        return ca.vertsplit(self._at(ca.SX(t)))  # type: ignore[no-any-return]

    @cached_property
    def _at(self) -> "ca.Function":
        import casadi as ca

        t = ca.SX.sym("t")
        return ca.Function("joints", [t], [on_pieces(t, self.pieces)])

    def __getstate__(self) -> dict[str, Any]:
        return {"pieces": self.pieces}

    def jumps(self) -> Array:
        """Times of the motion's ends."""
        return self.pieces[0][[0, -1]]

    def described(self) -> str:
        """Text with all knots."""
        times, q, coefficients = (part.tolist() for part in self.pieces)
        return f"a motion through {q} at {times} s by {coefficients}"


@final
@brief
@dataclass(frozen=True)
class Tracking:
    """Tracking of a motion with known torques: u = u_ref(t) - K(t) (x - x_ref(t)), x = (q, qd).

    K is the time-varying linear-quadratic gain. It minimises the integral of x' Q x + u' R u of the linear model along
    the motion, by Riccati's differential equation back from the motion's end. With a period it follows from the
    difference equation of the arm driven through a zero-order hold. After the end the gain of `LQR` holds the arm in
    the equilibrium of the joints there. The controller needs the complete state, or `Observed` around it.

    Parameters
    ----------
    reference : motion, Reference, or (k,)
        An object with `times` (k,), `q`, `qd` (k, n), `u` (k, m), such as an optimal motion; or the times alone, from 0
        on [s]; or a reference of the joints, whose x_ref and u_ref are then those of `ScheduledLQR`.
    x_ref : (k, 2n), optional
        Coordinates, then rates, at the given times. Between the times they are cubics.
    u_ref : (k, m), optional
        Inputs at the given times.
    K : "lqr", (m, 2n) or (k, m, 2n)
        "lqr", or gains at the motion's times, which are interpolated linearly. The last one holds after the end. Gains
        may have m more columns, for the integrals of the encoders' errors.
    Q, R, bandwidth
        See `LQR`; the defaults are energies at each time's configuration, the bandwidth's default that of the end.
    integral_rate : float or (m,), optional
        Rate of integral action [1/s]: u has a part -K_w int (y - y_ref) dt, where the actuators' encoders measure y.
        K_w follows from the same Riccati equation. The weight of the integral is this rate squared times that of the
        joint's error.
    integral_limit : float or (m,), optional
        Largest size of that part [N m or N]. Integration stops at the limit while the part would grow. The integral
        therefore does not wind up when the actuators saturate.
    hold : bool, optional
        True if each row of u_ref is constant until the next time, False if it is linear between the times. Default: as
        in an optimal motion, otherwise linear. A sampled controller uses the mean of u_ref over the coming period.
    """

    reference: Any
    x_ref: ArrayLike | None = None
    u_ref: ArrayLike | None = None
    K: Any = "lqr"
    Q: ArrayLike | None = None
    R: ArrayLike | None = None
    bandwidth: float | None = None
    integral_rate: ArrayLike | None = None
    integral_limit: ArrayLike | None = None
    hold: bool | None = None

    @designing("Tracking")
    def law(self, model: Model, period: float | None = None) -> Law:
        """Return the control law for a model; its memory consists of the integrals, if any.

        Facts: `times` (k,), `K` (k, m, s) and `P` (k, s, s) along the motion (s is 2n, and m for integrals; P only for
        "lqr"), `poles` after it [1/s], the equilibrium `q`, `u`, and the `knots` of the law's tables.

        Raises `DescriptionError` if parts do not fit the arm, see `LQR.law` too. Warns if the arm does not make the
        motion under u_ref: in the linear model, its joints deviate by more than 0.3 of the motion's length.
        """
        actuators("Tracking", model, period)
        fixed_base("Tracking", model, "use LQR with a reference")
        torques("Tracking", model)
        motion = self._motion(model)
        q0, u0 = equilibrium(model, motion.q[-1, list(model.arm.driven)])
        gains = self._gains(model, motion, q0, u0, period)
        table = Table(model, motion, gains, q0, u0, period)
        integrals = gains.K.shape[2] - 2 * model.nv
        limit = (
            None
            if self.integral_limit is None
            else limits("Tracking: integral_limit", self.integral_limit, len(model.inputs))
        )
        if limit is not None and not integrals:
            raise DescriptionError("Tracking: integral_limit applies only with an integral; give integral_rate too")
        C, reference, begun = actuated(model), self.reference, None
        if self.knows_torques:
            reference = _reference(model, motion)
        else:  # a run begins at rest in the deformed equilibrium, where the slow motion has deflection rates
            begun = reference_motion(reference, 0.0)[1]
        warn_of_defects(model, motion, gains, period, begun)

        def expression(t: Any, q: Column, qd: Column, z: Column) -> tuple[Column, Any]:
            import casadi as ca

            u = table.wanted(t) - table.feedback(t, ca.vertcat(q, qd))
            if not integrals:
                return u, []
            wd = C @ q - table.encoders(t)
            part, growing = (-table.integral(t, x) for x in (z, wd))
            if limit is not None:
                part, wd = clipped(part, limit), ca.if_else(_beyond(part, growing, limit), 0.0, wd)
            return u + part, wd if period is None else z + period * wd

        facts = {"times": gains.times, "K": gains.K, "K_after": gains.after, "q": q0, "u": u0, "knots": table.knots}
        if gains.P is not None:
            facts |= {"P": gains.P, "poles": gains.poles}
        memory = (0.0,) * integrals
        return Law(expression, memory, jumps=table.jumps, reference=reference, facts=facts)

    @property
    def knows_torques(self) -> bool:
        """True if the reference is a motion of the complete arm with its torques, False if it is one of the joints."""
        return self.x_ref is not None or hasattr(self.reference, "times")

    def _motion(self, model: Model) -> Motion:
        """Return the motion in any of the forms in which it may be given."""
        given = self.reference
        with refused("Tracking"):
            hold = held_of(given, None if self.hold is None else checked_flag(self.hold, "hold"))
        if self.x_ref is not None or self.u_ref is not None:
            if self.x_ref is None or self.u_ref is None:
                missing = "x_ref" if self.x_ref is None else "u_ref"
                raise DescriptionError(
                    f"Tracking: {missing} is missing; a reference of times needs both x_ref and u_ref"
                )
            with refused("Tracking"):
                x = checked_array(self.x_ref, "x_ref")
            if x.ndim != 2 or x.shape[1] != 2 * model.nv:
                must = f"(times, {2 * model.nv}): {counted(model.nv, 'coordinate')}, then their rates"
                raise DescriptionError(f"Tracking: x_ref has shape {x.shape}; it must be {must}")
            return motion_of("Tracking", model, given, x[:, : model.nv], x[:, model.nv :], self.u_ref, hold)
        if all(hasattr(given, name) for name in ("times", "q", "qd", "u")) and not isinstance(given, type):
            return motion_of("Tracking", model, given.times, given.q, given.qd, given.u, hold)
        if hasattr(given, "expression") and not isinstance(given, type):
            return slow_motion("Tracking", model, given)
        must = "a motion with times, q, qd and u, a reference, or times with x_ref and u_ref"
        raise DescriptionError(f"Tracking: reference is {shown(given)}; it must be {must}")

    def _gains(self, model: Model, motion: Motion, q: Array, u: Array, period: float | None) -> Gains:
        if isinstance(self.K, str):
            if self.K != "lqr":
                raise DescriptionError(f"Tracking: K is {shown(self.K)}; it must be 'lqr' or numbers")
            weighed = Weights.of(model, q, self.Q, self.R, self.bandwidth, self.integral_rate)
            return gains_along(model, motion, q, u, weighed, period)
        for name in ("Q", "R", "bandwidth", "integral_rate"):
            if getattr(self, name) is not None:
                raise DescriptionError(f"Tracking: {name} applies only with K = 'lqr'; leave out {name} or K")
        with refused("Tracking"):
            K = checked_array(self.K, "K")
        m, n, k = len(model.inputs), model.nv, len(motion.times)
        if K.shape[-2:] not in ((m, 2 * n), (m, 2 * n + m)) or K.shape[:-2] not in ((), (k,)):
            allowed = f"({m}, {2 * n}) or ({k}, {m}, {2 * n}), with {m} more columns for integrals"
            raise DescriptionError(f"Tracking: K has shape {K.shape}; it must be {allowed}")
        if K.ndim == 2:
            return Gains(motion.times[:1], K[None], motion.end, K)
        return Gains(motion.times, K, motion.end, K[-1])


def _beyond(part: Column, rate: Column, limit: Array) -> Column:
    """True if any input's part is at its limit and moves beyond it."""
    import casadi as ca

    out = ca.logic_or(ca.logic_and(part >= limit, rate > 0), ca.logic_and(part <= -limit, rate < 0))
    return ca.sum1(out) > 0


def _reference(model: Model, motion: Motion) -> Recorded:
    own = list(model.arm.driven)
    q, qd = motion.q[:, own], motion.qd[:, own]
    error = [share * np.ptp(x, axis=0) + TINY for share, x in zip(JOINTS, (q, qd), strict=True)]
    return Recorded(of_motion(motion.times, q, qd, (error[0], error[1])))
