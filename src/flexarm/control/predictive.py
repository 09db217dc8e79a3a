"""Model predictive control: at each sample the inputs follow from a prediction of the arm that keeps to its limits."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, final

import numpy as np
from numpy.typing import ArrayLike

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
    refused,
    shown,
)
from flexarm.control.along import Motion, held_of, motion_of, slow_motion
from flexarm.control.equilibrium import Array, equilibrium
from flexarm.control.free import fixed_base
from flexarm.control.gains import actuators, designing, followed, gain, places_of, torques
from flexarm.control.lqr import pace
from flexarm.control.predictive_course import Course, Weights, course
from flexarm.control.predictive_estimate import Estimate
from flexarm.control.predictive_horizon import Limits
from flexarm.control.predictive_solver import OPTIONS
from flexarm.control.predictive_steps import ABOUT, OTHERWISE, Steps
from flexarm.control.riccati import weights
from flexarm.description.arm import Beam
from flexarm.errors import DescriptionError
from flexarm.model import Model
from flexarm.sensors import Outputs, TipDeflection, outputs
from flexarm.simulation.feedback import initial
from flexarm.simulation.law import MOST_UNDER_WAY, limits
from flexarm.trajectory import Reference, Still

MOST_STEPS, MOST_PERIODS = 500, 10_000
"""Of a horizon: a step is as many numbers of the quadratic program as there are inputs."""

MOST_SAMPLES = 100_000
"""Of a motion: each has a linear model."""


@final
@dataclass(frozen=True)
class Predictive:
    """Model predictive control of an arm within limits of torque, of torque rate, and of deflections or other outputs.

    At each sample the arm's motion over a horizon is predicted by exact linear models, discretised exactly, and the
    inputs are those that minimise the sum over the samples of dx' Q dx + du' R du, deviations from the reference and
    its torques, and after the horizon what the optimum without limits will cost (P of Riccati's equation), over inputs
    and outputs that keep to the limits. The first of them is given, and the next sample begins anew. Where nothing
    comes near a limit that is LQR exactly: along a motion the time-varying one, after it, or at a point, `LQR`. The
    horizon sees the reference's future.

    It is a sampled controller: `Sampled(Predictive(...), period=..., delay=...)`. The whole state must be known, or
    `sensors` be given.

    Parameters
    ----------
    reference : motion, Reference, or (m,)
        An object with `times` (k,), `q`, `qd` (k, n), `u` (k, m), such as an optimal motion; a reference of the joints,
        of which states and torques are those of `ScheduledLQR`; or where the joints shall stand.
    limit : float or (m,), optional
        Of the size of u [N m or N]. Never passed.
    rate_limit : float or (m,), optional
        Of the size of du/dt, from sample to sample, beginning with the torques of the reference [N m/s or N/s]. Never
        passed.
    deflection : float or (k,), optional
        Of the size of the displacement across each bending link of its tip, in the order of the links, y before z [m].
    outputs : list of sensors, optional
        Whatever else has limits: TipDeflection, StrainGauge, TipPosition, Tachometer, ...; none that feels u.
    bounds : float, (p,) or (p, 2), optional
        Of the outputs' sizes, or the lowest and the highest allowed; infinite where there is none.
    horizon : int or list of int
        Periods; or the lengths of its steps in periods, in each of which du is held: `[1] * 10 + [10] * 20`.
    Q, R, bandwidth
        See `LQR`; the defaults are energies at each configuration.
    penalty : float, optional
        Deflections and outputs have soft limits: passing one by its own size costs so many times what the inputs' whole
        range does, or what it costs to move the output by that much, if that is more; the largest excess over the
        horizon counts. None: their limits are hard, and a step may have no solution.
    about : "reference", "state" or "prediction"
        What the arm is linearised about: the reference (made beforehand); at each sample the present state, for the
        whole horizon; at each sample the motion that the arm itself makes under the last plan, one step of Gauss and
        Newton for the nonlinear problem (real-time iteration).
    otherwise : "plan", "lqr" or "raise"
        Where a step has no solution: the last plan goes on, or the optimum without limits is cut off at those of the
        torques, with a warning the first time; or the run ends with an error.
    solver : "daqp", "osqp" or "piqp"
        Of the quadratic program; see the page on predictive control for how they compare.
    hold : bool, optional
        Whether each row of a motion's u lasts until the next time; else they are joined by straight lines. Default:
        what an optimal motion has, else straight lines.
    sensors : list of sensors, optional
        With their noise or resolution: the state is then what a Kalman filter makes of them.
    process, unmodelled
        See `Observed`: what the filter reckons with, held over each period.
    nominal : Model, optional
        Of the arm that the design believes in, if that is another than the one that runs; see `DesignedFor`.
    delay : float, optional
        Time until u reaches the arm, over which the state is predicted with the u under way [s]; default that of
        `Sampled`.
    """

    reference: Any
    limit: ArrayLike | None = None
    rate_limit: ArrayLike | None = None
    deflection: ArrayLike | None = None
    outputs: Sequence[Any] = ()
    bounds: ArrayLike | None = None
    horizon: int | Sequence[int] = 40
    Q: ArrayLike | None = None
    R: ArrayLike | None = None
    bandwidth: float | None = None
    penalty: float | None = 100.0
    about: str = "reference"
    otherwise: str = "plan"
    solver: str = "daqp"
    hold: bool | None = None
    sensors: Sequence[Any] | None = None
    process: ArrayLike = 0.1
    unmodelled: float = 1.0
    nominal: Model | None = None
    delay: float | None = None

    def __post_init__(self) -> None:
        with refused("Predictive"):
            for name, allowed in (("about", ABOUT), ("otherwise", OTHERWISE), ("solver", tuple(OPTIONS))):
                if not isinstance(given := getattr(self, name), str) or given not in allowed:
                    raise Fault(name, f"is {shown(given)}; it must be {choices(*allowed)}")
            if self.hold is not None:
                checked_flag(self.hold, "hold")
            checked_number(self.unmodelled, "rad/s^2 or m/s^2", NOT_NEGATIVE, "unmodelled")
            if self.penalty is not None:
                checked_number(self.penalty, "", POSITIVE, "penalty")
            if self.delay is not None:
                checked_number(self.delay, "s", NOT_NEGATIVE, "delay")
            if self.nominal is not None:
                checked_instance(self.nominal, Model, "nominal")
        _ = self._lengths

    def delayed(self, delay: float) -> Self:
        """The controller that reckons with this delay, unless it has one [s]."""
        return replace(self, delay=delay) if self.delay is None else self

    @property
    def wanted(self) -> Reference | None:
        """The reference, where it is one of the joints."""
        is_one = hasattr(self.reference, "expression") and not isinstance(self.reference, type)
        return self.reference if is_one else None

    @designing("Predictive")
    def stepper(self, model: Model, period: float) -> Steps:
        """The controller of a run; a function of t and the state, or what the sensors read, that gives u (m,).

        It has `seconds`, the time of each call, and what it counts: see `report`. Raises `DescriptionError` for parts
        that do not fit the arm; see `LQR.law` too.
        """
        with refused("Predictive"):
            period = checked_number(period, "s", POSITIVE, "period")
        actuators("Predictive", model, period)
        nominal = model if self.nominal is None else self.nominal
        at = np.array(places_of("Predictive", nominal, model))
        places = np.concatenate([at, model.nq + at])
        fixed_base("Predictive", nominal, "use LQR")
        torques("Predictive", nominal)
        if nominal.states:
            why = f"its drives have states, {nominal.states[0]} for one, which are not predicted"
            raise DescriptionError(f"Predictive: arm {nominal.arm.name!r}: {why}; give a nominal arm without")
        limited, seen = self._limits(nominal, period)
        way = self._course(nominal, period)
        estimate = None if self.sensors is None else self._estimate(way)
        late = self._late(period)
        return Steps(way, limited, seen, self.about, self.otherwise, self.solver, self.penalty, late, places, estimate)

    # -- parts

    def _course(self, model: Model, period: float) -> Course:
        n, m = model.nv, len(model.inputs)
        motion, joints = self._motion(model)
        if motion is not None and motion.end > MOST_SAMPLES * period:
            message = f"the motion of {motion.end:g} s has {motion.end / period:.3g} of them"
            raise DescriptionError(
                f"Predictive: period is {period:g} s; {message}; at most {MOST_SAMPLES} are possible"
            )
        q_e, u_e = equilibrium(model, joints)
        both = (np.eye(2 * n) if self.Q is None else self.Q, np.eye(m) if self.R is None else self.R)
        Q, R = weights("Predictive", *both, 2 * n, m)
        omega = pace("Predictive", self.bandwidth, model, q_e) if self.Q is None or self.R is None else 0.0
        weighed = Weights(None if self.Q is None else Q, None if self.R is None else R, omega)
        return course("Predictive", model, motion, (q_e, u_e), weighed, period)

    def _motion(self, model: Model) -> tuple[Motion | None, Array]:
        """What is followed, if it moves, and the joints where it ends."""
        given = self.reference
        if self._has_torques:
            motion = motion_of("Predictive", model, given.times, given.q, given.qd, given.u, held_of(given, self.hold))
            return motion, motion.q[-1, list(model.arm.joints)]
        reference = followed("Predictive", given, model)
        if isinstance(reference, Still):
            return None, np.array(reference.position)
        motion = slow_motion("Predictive", model, reference)
        return motion, motion.q[-1, list(model.arm.joints)]

    @property
    def _has_torques(self) -> bool:
        """Whether the reference is a motion of the whole arm, known with its torques."""
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
            raise DescriptionError("Predictive: outputs: one of them feels u, as an Accelerometer does; leave it out")
        names = (*model.inputs, *(found.names if found else ()))
        soft = self.penalty is not None
        return Limits(self._lengths, u, rate, bounds[:, 0], bounds[:, 1], soft, names), found

    @cached_property
    def _lengths(self) -> Array:
        """Of the horizon's steps, in periods."""
        with refused("Predictive"):
            if not isinstance(self.horizon, list | tuple) and np.ndim(self.horizon) == 0:  # type: ignore[arg-type]
                found = [1] * min(checked_whole(self.horizon, 1, "horizon"), MOST_PERIODS)
            else:
                given = checked_list(self.horizon, "a number of periods, or a list of them", "horizon")
                found = [checked_whole(each, 1, f"horizon[{i}]") for i, each in enumerate(given)]
            if not 0 < len(found) <= MOST_STEPS or sum(found) > MOST_PERIODS:
                size = f"{len(found)} steps of {sum(found)} periods"
                raise Fault("horizon", f"has {size}; it must have 1 to {MOST_STEPS}, of {MOST_PERIODS} at most")
        return np.array(found)

    def _late(self, period: float) -> int:
        """Periods until u reaches the arm."""
        steps = (self.delay or 0.0) / period
        if not (abs(steps - round(steps)) <= 1e-9 and steps <= MOST_UNDER_WAY):
            must = f"it must be a whole number of periods of {period} s, {MOST_UNDER_WAY} at most"
            raise DescriptionError(f"Predictive: delay is {self.delay} s; {must}")
        return round(steps)

    def _estimate(self, way: Course) -> Estimate:
        model = way.model
        seen, variances = outputs(model, self.sensors or ()), []
        if seen.driven:
            raise DescriptionError("Predictive: sensors: one of them feels u, as an Accelerometer does; leave it out")
        for each in seen.sensors:
            kind, time = type(each).__name__, each.sample_time
            if time is not None and time != way.period:
                raise DescriptionError(
                    f"Predictive: {kind} samples every {time:g} s, the controller every {way.period:g} s"
                )
            variance = each.noise**2 + each.resolution**2 / 12
            if not variance:
                raise DescriptionError(f"Predictive: {kind} has neither noise nor resolution; the filter needs one")
            variances += [variance] * len(each.names(model.arm))
        n, T = model.nv, way.period
        pushed = way.Gamma[0] @ gain("Predictive: process", self.process, len(model.inputs))
        shaken = self.unmodelled * np.vstack([T**2 / 2 * np.eye(n), T * np.eye(n)])
        start = way.r[0] if self._has_torques else np.concatenate(initial(model, self.wanted))
        return Estimate(way, seen, start, np.array(variances), pushed @ pushed.T + shaken @ shaken.T)


def _tips(model: Model) -> list[TipDeflection]:
    """Displacements across the links that bend."""
    bending = [link for link in model.arm.links if isinstance(link.body, Beam)]
    found = [
        TipDeflection(link=link.name, axis=axis) for link in bending for axis in ("y", "z") if link.body.counts[axis]
    ]
    if not found:
        raise DescriptionError(f"Predictive: deflection is given; no link of arm {model.arm.name!r} bends")
    return found


def _bounds(name: str, value: ArrayLike | None, count: int) -> Array:
    """The lowest and the highest of so many outputs, (count, 2)."""
    if value is None:
        if count:
            raise DescriptionError(f"Predictive: outputs are given, and no {name}; give both")
        return np.empty((0, 2))
    with refused("Predictive"):
        given = checked_array(value, name, finite=False)
    if given.shape in ((), (count,)):
        sizes = np.broadcast_to(given, (count,))
        given = np.stack([-sizes, sizes], axis=1)
    must = f"it must be one number, {count}, or ({count}, 2), the lowest and the highest of each"
    if given.shape != (count, 2):
        raise DescriptionError(f"Predictive: {name} has shape {given.shape}; {must}")
    low, high = given.T
    if not ((low < high) & (np.isfinite(low) | np.isfinite(high))).all():
        must = "each must leave room between, and have a finite end"
        raise DescriptionError(f"Predictive: {name} is {shown(value)}; {must}")
    return given
