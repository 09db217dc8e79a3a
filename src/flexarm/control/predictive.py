"""Model predictive control: at each sample the inputs follow from a prediction of the arm within its limits."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, final

import numpy as np
from numpy.typing import ArrayLike

from flexarm.arrays import Array
from flexarm.brief import brief
from flexarm.cached import cached_property
from flexarm.checks import (
    NOT_NEGATIVE,
    POSITIVE,
    Fault,
    checked_array,
    checked_flag,
    checked_instance,
    checked_list,
    checked_number,
    checked_whole,
    choices,
    counted,
    refused,
    shown,
)
from flexarm.control.along import Motion, held_of, motion_of, slow_motion
from flexarm.control.equilibrium import equilibrium
from flexarm.control.free import fixed_base
from flexarm.control.gains import actuators, designing, followed, places_of, torques
from flexarm.control.lqr import pace
from flexarm.control.predictive_course import Course, Slopes, Weights, course
from flexarm.control.predictive_horizon import Limits
from flexarm.control.predictive_solver import NATIVE, OPTIONS
from flexarm.control.predictive_steps import ABOUT, OTHERWISE, Steps
from flexarm.control.predictive_terminal import determined, limited
from flexarm.control.riccati import weights
from flexarm.description.arm import Beam
from flexarm.errors import DescriptionError
from flexarm.model import Model
from flexarm.sensors import Outputs, TipDeflection, outputs
from flexarm.simulation.feedback import initial
from flexarm.simulation.law import MOST_UNDER_WAY, limits
from flexarm.trajectory import Reference, Still

INVARIANT = "invariant"
"""Constraint horizon that makes the plan end in an invariant set."""

MOST_STEPS, MOST_PERIODS = 500, 10_000
"""Largest horizon, in steps and in periods. A step adds one unknown for each input to the quadratic program."""

MOST_SAMPLES = 100_000
"""Largest number of samples in a motion. Each has a linear model."""


@final
@brief
@dataclass(frozen=True)
class Predictive:
    """Model predictive control of an arm within limits of torque, of torque rate, and of deflections or other outputs.

    At each sample the controller predicts the arm's motion over a horizon by exact linear models with exact
    discretisation. The inputs minimise the sum over the samples of dx' Q dx + du' R du, where dx and du are deviations
    from the reference and its torques. After the horizon the cost is that of the optimum without limits (P of the
    Riccati equation). Inputs and outputs stay within the limits. The first input is applied, and the next sample solves
    the problem again. Where no limit is active the result is exactly LQR: time-varying along a motion, and `LQR` after
    it or at a point. The horizon uses future values of the reference.

    The controller is sampled: `Sampled(Predictive(...), period=..., delay=...)`. It needs the complete state. With
    sensors, an estimator gives it: `Sampled(Observed(Predictive(...), sensors, estimator=EKF()), period=...)`.

    Parameters
    ----------
    reference : motion, Reference, or (m,)
        An object with `times` (k,), `q`, `qd` (k, n), `u` (k, m), such as an optimal motion; a reference of the joints,
        whose states and torques are those of `ScheduledLQR`; or constant target positions of the joints.
    limit : float or (m,), optional
        Largest size of u [N m or N]. This limit is never exceeded.
    rate_limit : float or (m,), optional
        Largest size of du/dt, from sample to sample, beginning with the torques of the reference [N m/s or N/s]. This
        limit is never exceeded.
    deflection : float or (k,), optional
        Largest size of the tip displacement of each bending link, in the order of the links, y before z [m].
    outputs : list of sensors, optional
        Other outputs with limits: TipDeflection, StrainGauge, TipPosition, Tachometer, ...; none may depend on u.
    bounds : float, (p,) or (p, 2), optional
        Largest sizes of the outputs, or the lowest and the highest allowed; infinite where there is no limit.
    horizon : int or list of int
        Number of periods; or a list of the steps' lengths in periods, with du constant in each step, such as
        `[1] * 10 + [10] * 20`.
    constraint_horizon : int or "invariant"
        Number of periods after the horizon in which the limits must hold as well, while the inputs are those of the
        optimum without limits (dual mode). "invariant": as many as determine that they hold for ever at the end of the
        reference. The plan then ends in an invariant terminal set: with hard limits (`penalty=None`), a constant
        reference and an exact linear model, a step with a solution is followed by steps with solutions only, and the
        loop is stable (Mayne et al., Automatica 36, 2000, 789-814).
    Q, R, bandwidth
        See `LQR`; the defaults are energies at each configuration.
    penalty : float, optional
        Cost of a violation of the soft limits on deflections and outputs, relative to the cost of the inputs' range. A
        violation by the limit's own size costs `penalty` times the cost of all inputs at their limits, or of moving the
        output by that much, whichever is larger. The largest violation over the horizon counts. None makes these limits
        hard, and a step may then have no solution.
    about : "reference", "state" or "prediction"
        Where the arm is linearised: at the reference (before the run); at each sample at the present state, for the
        complete horizon; or at each sample along the motion that the arm makes under the last plan. The last choice is
        one Gauss-Newton step for the nonlinear problem (real-time iteration).
    otherwise : "plan", "lqr" or "raise"
        What happens in a step without a solution: the last plan continues, or the optimum without limits is saturated
        at the torque limits, both with a warning the first time; or the run ends with an error.
    solver : "native", "daqp", "osqp" or "piqp"
        Solver of the quadratic program; see the page on predictive control for a comparison.
    operations : int, optional
        Largest number of multiplications with additions in the native solution of one step, which bounds its time. A
        step that needs more is unfinished. With `otherwise="plan"` it then takes a plan within the limits and reports
        it; see the page on predictive control. CasADi's solvers ignore this number.
    hold : bool, optional
        True if each row of a motion's u is constant until the next time, False if u is linear between the times.
        Default: as in an optimal motion, otherwise linear.
    nominal : Model, optional
        Model of the arm that the design assumes, if it is not the arm that runs; see `DesignedFor`.
    delay : float, optional
        Time until u reaches the arm [s]. The state is predicted over it with the inputs that were given before.
        Default: that of `Sampled`.
    """

    reference: Any
    limit: ArrayLike | None = None
    rate_limit: ArrayLike | None = None
    deflection: ArrayLike | None = None
    outputs: Sequence[Any] = ()
    bounds: ArrayLike | None = None
    horizon: int | Sequence[int] = 40
    constraint_horizon: int | str = 0
    Q: ArrayLike | None = None
    R: ArrayLike | None = None
    bandwidth: float | None = None
    penalty: float | None = 100.0
    about: str = "reference"
    otherwise: str = "plan"
    solver: str = NATIVE
    operations: int | None = None
    hold: bool | None = None
    nominal: Model | None = None
    delay: float | None = None

    def __post_init__(self) -> None:
        with refused("Predictive"):
            for name, allowed in (("about", ABOUT), ("otherwise", OTHERWISE), ("solver", (NATIVE, *OPTIONS))):
                if not isinstance(given := getattr(self, name), str) or given not in allowed:
                    raise Fault(name, f"is {shown(given)}; it must be {choices(*allowed)}")
            if self.hold is not None:
                checked_flag(self.hold, "hold")
            if self.penalty is not None:
                checked_number(self.penalty, "", POSITIVE, "penalty")
            if self.delay is not None:
                checked_number(self.delay, "s", NOT_NEGATIVE, "delay")
            if self.nominal is not None:
                checked_instance(self.nominal, Model, "nominal")
            if self.operations is not None:
                checked_whole(self.operations, 1, "operations")
            if self.constraint_horizon != INVARIANT:
                if isinstance(self.constraint_horizon, str):
                    what = f"a number of periods, or {INVARIANT!r}"
                    raise Fault("constraint_horizon", f"is {shown(self.constraint_horizon)}; it must be {what}")
                checked_whole(self.constraint_horizon, 0, "constraint_horizon")
        _ = self._lengths

    def delayed(self, delay: float) -> Self:
        """Return the controller with this delay [s], unless it has one."""
        return replace(self, delay=delay) if self.delay is None else self

    @property
    def sensors(self) -> None:
        """None: the controller reads the state."""
        return None

    @property
    def wanted(self) -> Reference | None:
        """The reference, if it is a reference of the joints."""
        is_one = hasattr(self.reference, "expression") and not isinstance(self.reference, type)
        return self.reference if is_one else None

    def start(self, model: Model) -> tuple[Array, Array]:
        """Return the state q (nq,), qd (n,) in which a run on this model begins, if it is given no other."""
        motion = self._motion(model)[0] if self._has_torques and self.nominal is None else None
        return initial(model, self.wanted) if motion is None else (motion.q[0], motion.qd[0])

    @designing("Predictive")
    def stepper(self, model: Model, period: float) -> Steps:
        """Return the controller of a run: a function of t and the state that returns u (m,).

        Its attribute `seconds` has the time of each call, and `report` has the counts. Raises `DescriptionError` if
        parts do not fit the arm; see `LQR.law` too.
        """
        with refused("Predictive"):
            period = checked_number(period, "s", POSITIVE, "period")
        actuators("Predictive", model, period)
        nominal = model if self.nominal is None else self.nominal
        at = np.array(places_of("Predictive", nominal, model))
        places = np.concatenate([at, model.nq + at])
        fixed_base("Predictive", nominal, "use LQR")
        torques("Predictive", nominal, "use a controller that VoltageDrive takes, such as VoltageDrive(JointPD(...))")
        if nominal.states:
            why = f"the prediction does not include states of drives, such as {nominal.states[0]}"
            raise DescriptionError(f"Predictive: arm {nominal.arm.name!r}: {why}; give a nominal arm without them")
        within, seen = self._limits(nominal, period)
        way = self._course(nominal, period)
        within = self._longer(within, seen, way)
        late = self._late(period)
        steps = Steps(
            way,
            within,
            seen,
            self.about,
            self.otherwise,
            self.solver,
            self.penalty,
            self.operations,
            late,
            places,
            self._start(way),
        )
        if self.operations is not None and self.operations < steps.least:
            raise DescriptionError(
                f"Predictive: operations is {self.operations}; with this horizon a step takes at least {steps.least}"
            )
        return steps

    # -- parts

    def _course(self, model: Model, period: float) -> Course:
        n, m = model.nv, len(model.inputs)
        motion, joints = self._motion(model)
        if motion is not None and motion.end > MOST_SAMPLES * period:
            message = f"the motion of {motion.end:g} s has {motion.end / period:.3g} periods"
            raise DescriptionError(
                f"Predictive: period is {period:g} s; {message}, and at most {MOST_SAMPLES} are allowed"
            )
        q_e, u_e = equilibrium(model, joints)
        both = (np.eye(2 * n) if self.Q is None else self.Q, np.eye(m) if self.R is None else self.R)
        Q, R = weights("Predictive", *both, 2 * n, m)
        omega = pace("Predictive", self.bandwidth, model, q_e) if self.Q is None or self.R is None else 0.0
        weighed = Weights(None if self.Q is None else Q, None if self.R is None else R, omega)
        return course("Predictive", model, motion, (q_e, u_e), weighed, period)

    def _motion(self, model: Model) -> tuple[Motion | None, Array]:
        """The motion that is followed, or None if the reference is constant, and the joints at its end."""
        given = self.reference
        if self._has_torques:
            motion = motion_of("Predictive", model, given.times, given.q, given.qd, given.u, held_of(given, self.hold))
            return motion, motion.q[-1, list(model.arm.driven)]
        reference = followed("Predictive", given, model)
        if isinstance(reference, Still):
            return None, np.array(reference.position)
        motion = slow_motion("Predictive", model, reference)
        return motion, motion.q[-1, list(model.arm.driven)]

    @property
    def _has_torques(self) -> bool:
        """True if the reference is a motion of the complete arm with its torques."""
        given = self.reference
        return not isinstance(given, type) and all(hasattr(given, name) for name in ("times", "q", "qd", "u"))

    def _limits(self, model: Model, period: float) -> tuple[Limits, Outputs | None]:
        m, none = len(model.inputs), np.full(len(model.inputs), np.inf)
        u = none if self.limit is None else limits("Predictive: limit", self.limit, m)
        rate = none if self.rate_limit is None else limits("Predictive: rate_limit", self.rate_limit, m) * period
        with refused("Predictive"):
            sensors = checked_list(self.outputs, "a list of sensors", "outputs")
        given = len(model.output_names(sensors)) if sensors else 0
        bounds = _bounds("bounds", self.bounds, given)
        if self.deflection is not None:
            tips = _tips(model)
            bounds = np.vstack([_bounds("deflection", self.deflection, len(tips)), bounds])
            sensors = [*tips, *sensors]
        found = outputs(model, sensors) if sensors else None
        if found is not None and found.driven:
            raise DescriptionError(
                "Predictive: outputs: a sensor depends directly on u, as an Accelerometer does; leave it out"
            )
        names = (*model.inputs, *(found.names if found else ()))
        soft = self.penalty is not None
        lengths = self._lengths
        return Limits(lengths, len(lengths), u, rate, bounds[:, 0], bounds[:, 1], soft, names), found

    def _longer(self, within: Limits, seen: Outputs | None, way: Course) -> Limits:
        """Return the limits with the periods after the horizon in which they hold as well."""
        most, more = MOST_STEPS - within.steered, self.constraint_horizon
        if more == INVARIANT:
            n, C, y = way.model.nv, np.zeros((0, 2 * way.model.nv)), np.zeros(0)
            if seen is not None:
                r = way.r[-1:]
                C, y = Slopes(way.model, seen.sensors)(r)[0] / way.S, seen.values(r[:, :n], r[:, n:])[0]
            F, G, K = way.stage.F[-1][:-1, :-1], way.stage.G[-1][:-1], way.best.K[-1][:, :-1]
            found = determined(*limited(within, F, G, K, C, way.v[-1], y), most)
            if found is None:
                raise DescriptionError(
                    f"Predictive: constraint_horizon is {INVARIANT!r}; the limits of {counted(most, 'period')} after "
                    "the horizon do not determine that they hold for ever; sample more slowly, or give a number"
                )
            more = found
        with refused("Predictive"):
            if int(more) > most:
                raise Fault(
                    "constraint_horizon",
                    f"is {more}; with the horizon there are at most {MOST_STEPS} steps, so it must be at most {most}",
                )
        return replace(within, lengths=np.concatenate([within.lengths, np.ones(int(more), dtype=int)]))

    @cached_property
    def _lengths(self) -> Array:
        """Lengths of the horizon's steps, in periods."""
        with refused("Predictive"):
            if not isinstance(self.horizon, list | tuple) and np.ndim(self.horizon) == 0:  # type: ignore[arg-type]
                found = [1] * min(checked_whole(self.horizon, 1, "horizon"), MOST_PERIODS)
            else:
                given = checked_list(self.horizon, "a number of periods, or a list of them", "horizon")
                found = [checked_whole(each, 1, f"horizon[{i}]") for i, each in enumerate(given)]
            if not 0 < len(found) <= MOST_STEPS or sum(found) > MOST_PERIODS:
                size = f"{counted(len(found), 'step')} with {counted(sum(found), 'period')} in total"
                raise Fault(
                    "horizon",
                    f"has {size}; it must have 1 to {MOST_STEPS} steps with at most {MOST_PERIODS} periods in total",
                )
        return np.array(found)

    def _late(self, period: float) -> int:
        """Number of periods until u reaches the arm."""
        steps = (self.delay or 0.0) / period
        if not (abs(steps - round(steps)) <= 1e-9 and steps <= MOST_UNDER_WAY):
            must = f"it must be a whole number of periods of {period} s, at most {MOST_UNDER_WAY}"
            raise DescriptionError(f"Predictive: delay is {self.delay} s; {must}")
        return round(steps)

    def _start(self, way: Course) -> Array:
        """State in which a run begins (2n,), if it is given no other."""
        return way.r[0] if self._has_torques else np.concatenate(initial(way.model, self.wanted))


def _tips(model: Model) -> list[TipDeflection]:
    """Sensors of the tip displacements of all links that bend."""
    bending = [link for link in model.arm.links if isinstance(link.body, Beam)]
    found = [
        TipDeflection(link=link.name, axis=axis) for link in bending for axis in ("y", "z") if link.body.counts[axis]
    ]
    if not found:
        raise DescriptionError(
            f"Predictive: deflection does not apply to arm {model.arm.name!r}, which has no flexible link; leave it out"
        )
    return found


def _bounds(name: str, value: ArrayLike | None, count: int) -> Array:
    """Lowest and highest value of each of `count` outputs, (count, 2)."""
    if value is None:
        if count:
            raise DescriptionError(f"Predictive: outputs need {name} too; give both")
        return np.empty((0, 2))
    with refused("Predictive"):
        given = checked_array(value, name, finite=False)
    if given.shape in ((), (count,)):
        sizes = np.broadcast_to(given, (count,))
        given = np.stack([-sizes, sizes], axis=1)
    must = f"it must be one number, {counted(count, 'number')}, or ({count}, 2), the lower and the upper bound of each"
    if given.shape != (count, 2):
        raise DescriptionError(f"Predictive: {name} has shape {given.shape}; {must}")
    low, high = given.T
    if not ((low < high) & (np.isfinite(low) | np.isfinite(high))).all():
        must = "each lower bound must be below the upper one, and one of them finite"
        raise DescriptionError(f"Predictive: {name} is {shown(value)}; {must}")
    if not np.where(np.isfinite(given), given, 0.0).any(axis=1).all():
        must = "a limit of zero alone has no size that scales its penalty; give a margin above zero"
        raise DescriptionError(f"Predictive: {name} is {shown(value)}; {must}")
    return given
