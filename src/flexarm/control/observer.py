"""A Kalman filter between sensors and a controller that needs the complete state."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg

from flexarm.analysis import configuration, equilibrium
from flexarm.arrays import Array
from flexarm.brief import brief
from flexarm.checks import NOT_NEGATIVE, POSITIVE, checked_number, counted, refused
from flexarm.control.estimated import Estimated
from flexarm.control.free import fixed_base
from flexarm.control.gains import actuators, designing, gain, inner_law, rounded
from flexarm.control.riccati import from_sample_to_sample
from flexarm.description.joints import refuse_balls
from flexarm.errors import DescriptionError
from flexarm.model import Model, closures
from flexarm.model.linear import of_independent
from flexarm.simulation.butcher import RK4
from flexarm.simulation.feedback import initial
from flexarm.simulation.law import Column, Controller, Law, parted, what_it_is
from flexarm.simulation.shown import read, show

MOST_STEPS = 50
"""Largest number of steps of the filter in a period. Each has four evaluations of the arm's dynamics."""


@final
@brief
@dataclass(frozen=True)
class Observed:
    """A controller on the estimates of a Kalman filter: all coordinates and rates, from sensors.

        d/dt x^ = f(x^, u) + L (y - h(x^)),    sampled: x^ <- x^ + L (y - h(x^)), then along f(., u) for a period

    f is the arm's own dynamics. u is the torque that reaches the arm, after delay and limits, with the outputs of other
    controllers. L is the steady gain for the arm linearised about a configuration. The sampled filter integrates f by
    the Runge-Kutta method, with steps that suit the arm's fastest mode. One step with the exponential of the linearised
    arm would cost less, but is unstable away from the configuration.

    With closures, L is that of the independent coordinates, and each corrected estimate moves onto the closures. A
    continuous filter f(x^, u) also moves back onto them, with the rate of the arm's fastest mode.

    The reading of an accelerometer depends on u. A sample is taken just before u changes, so the filter expects
    h(x^, f(x^, u)) with the u that has reached the arm since the last sample. A disturbance of the arm appears in the
    reading and in the motion, and the gain takes this correlation into account.

    Parameters
    ----------
    controller : Controller
        A controller of the complete state; with an `estimator` also `Predictive`.
    sensors : list of sensors
        Encoders, tachometers, strain gauges, tip positions, with their `noise` and `resolution`. Also accelerometers,
        if the loop is sampled.
    process : float, (m,) or (m, m)
        Standard deviation of the random torque that the filter assumes at each actuator [N m].
    unmodelled : float
        Standard deviation of the random acceleration that the filter assumes in every coordinate, for model errors
        [rad/s^2 or m/s^2].
    configuration : (n,) or (m,), optional
        Configuration, or joint coordinates alone, about which the gain is found; default the start of the controller's
        reference, else `arm.rest`. With closures and without a reference, the estimate starts there.
    sampled_at : float
        Period that the filter assumes if the loop is continuous [s].
    estimator : EKF, UKF or MovingHorizon, optional
        A nonlinear filter of `flexarm.estimation` in place of the steady Kalman filter, with unknown parameters and
        disturbances. `process` and `unmodelled` are then those of the estimator, and the loop must be sampled:
        `Sampled(Observed(...), period)`. The result can record "estimate", "deviation", "innovation" and "nis".

    Raises
    ------
    DescriptionError
        If a sensor has neither noise nor resolution, if it samples at another period than the controller, or if it
        measures a motor. If it measures an acceleration and the loop is continuous. If the sensors do not observe a
        motion that does not decay.
    """

    controller: Controller
    sensors: Sequence[Any]
    process: ArrayLike = 0.1
    unmodelled: float = 1.0
    configuration: ArrayLike | None = None
    sampled_at: float = 1e-3
    estimator: Any = None

    def in_python(self, model: Model, period: float) -> Estimated | None:
        """Return the controller that `Sampled` calls from Python if there is an estimator, or None."""
        if self.estimator is None:
            return None
        actuators("Observed", model, period)
        for name, given, default in (("process", self.process, 0.1), ("unmodelled", self.unmodelled, 1.0)):
            if given is not default and given != default:
                raise DescriptionError(
                    f"Observed: {name} is that of the estimator; give it there, and leave it out here"
                )
        return Estimated.of(self.controller, self.sensors, self.estimator, self.configuration, model, period)

    def law(self, model: Model, period: float | None = None) -> Law:
        """Return the control law for a model; its memory is the controller's and the estimate x^."""
        import casadi as ca

        if self.estimator is not None:
            raise DescriptionError(
                "Observed: an estimator needs a sampled loop, directly around it: Sampled(Observed(...), period); put "
                "other controllers inside, as in Observed(Saturated(...), sensors)"
            )
        m = actuators("Observed", model, period)
        with refused("Observed"):
            unmodelled = checked_number(self.unmodelled, "rad/s^2 or m/s^2", NOT_NEGATIVE, "unmodelled")
            sampled_at = checked_number(self.sampled_at, "s", POSITIVE, "sampled_at")
        refuse_balls(model, "Observed")
        instead = "give the controller the state, without Observed"
        fixed_base("Observed", model, instead)
        if model.states:
            why = f"the filter does not estimate states of drives, such as {model.states[0]}"
            raise DescriptionError(
                f"Observed: arm {model.arm.name!r}: {why}; use DesignedFor with a nominal arm without them"
            )
        names = model.output_names(self.sensors)
        sensors = tuple(self.sensors)
        sigma = self._noise(model, sensors, period)
        sampled = hasattr(self.controller, "stepper") and not isinstance(self.controller, type)
        if sampled and not hasattr(self.controller, "law"):
            raise DescriptionError(
                f"Observed: controller is {what_it_is(self.controller)}, which is called once per period; it needs a "
                "filter of flexarm.estimation: use Observed(..., estimator=EKF())"
            )
        inner = inner_law("Observed", self.controller, model, period)
        n = len(model.coordinates)
        W = gain("Observed: process", self.process, m)
        q0, start = self._start(model, inner)
        function = model.output_function(sensors)
        x = function.sx_in()
        felt = ca.depends_on(function(*x), x[function.index_in("qdd")])
        if felt and period is None:
            what = f"{names[0]} or another signal measures acceleration, which depends on u without delay"
            raise DescriptionError(f"Observed: {what}; use Sampled(Observed(...), period)")
        L, fastest, poles, deviation = _gain(model, sensors, q0, W, unmodelled, sigma, period, sampled_at, felt)
        steps = 0 if period is None else _steps(period, fastest)
        output, motion, closed = model.with_numbers(function), model.fixed("forward_dynamics"), _closed(model)
        states = (*model.coordinates, *(f"{name}.rate" for name in model.velocities))
        resolution = [float(each.resolution) for each in sensors for _ in each.names(model.arm)]

        def expression(t: Any, q: Column, qd: Column, z: Column, *noise: Column) -> tuple[Column, Any]:
            own, more = parted(z, len(inner.memory))
            x, u_before = parted(more, 2 * n)
            qdd, expected = ca.SX.zeros(n), ca.SX.zeros(n)
            if felt:
                noise, qdd, expected = noise[:-1], noise[-1], motion(x[:n], x[n:], u_before)
            y, y_hat = output(q, qd, qdd), output(x[:n], x[n:], expected)
            if period is not None:
                others, own_noise = parted(noise[0], len(inner.noise))
                y, noise = y + own_noise, (others, *noise[1:])
                y = rounded(y, resolution)
            y = read(y, model, sensors)
            innovation = y - y_hat
            mended = L @ innovation
            show("innovation", innovation, names, "as the sensors'")
            if period is not None:
                x = closed(x + mended)
            show("estimate", x, states, "as q and qd")
            u, after = inner(t, x[:n], x[n:], own, *noise)

            def following(applied: Column) -> Column:
                """Return the next memory. The filter uses the input that the arm gets, not the commanded one."""

                def rate(_: Any, x: Column) -> Column:
                    return ca.vertcat(x[n:], motion(x[:n], x[n:], applied))

                if period is None:
                    there = closed(x)
                    return ca.vertcat(after(applied), rate(t, there) + mended + fastest * (there - x))
                state = x
                for _ in range(steps):
                    state, _ = RK4.step(rate, t, state, period / steps)
                return ca.vertcat(after(applied), state, applied if felt else [])

            return u, following

        noise = (*inner.noise, *sigma["noise"]) if period is not None else inner.noise
        facts = {**inner.facts, "observer_poles": poles, "measured": list(names), "deviation": deviation}
        memory = (*inner.memory, *start.tolist(), *[0.0] * (m * felt))
        return Law(expression, memory, noise, inner.jumps, inner.reference, facts, inner.drives, felt, inner.cycle)

    def _start(self, model: Model, inner: Law) -> tuple[Array, Array]:
        """Return the configuration of the design, and the first estimate (2 n,)."""
        q, qd = initial(model, inner.reference)
        at = None if self.configuration is None else configuration(model, self.configuration, "Observed: configuration")
        if model.arm.closures:
            led = inner.reference is not None
            q, qd = (at, qd) if at is not None and not led else (q, qd)
            q, qd = closures.started("Observed", model, q, qd, (False, False), led=led)
        return q if at is None else at, np.concatenate([q, qd])

    def _noise(self, model: Model, sensors: Sequence[Any], period: float | None) -> dict[str, Array]:
        """Standard deviations of each signal: `noise` alone, and `all` with the rounding."""
        noise, all_ = [], []
        for each in sensors:
            kind = type(each).__name__
            if each.sample_time is not None and each.sample_time != period:
                when = "continuously" if period is None else f"every {float(period):g} s"
                raise DescriptionError(
                    f"Observed: {kind} samples every {each.sample_time:g} s and the controller {when}; give both "
                    "the same period"
                )
            sigma = float(np.hypot(each.noise, each.resolution / np.sqrt(12)))
            if not sigma:
                raise DescriptionError(
                    f"Observed: {kind} has neither noise nor resolution; the filter needs one of them"
                )
            count = len(each.names(model.arm))
            noise += [each.noise] * count
            all_ += [sigma] * count
        return {"noise": np.array(noise), "all": np.array(all_)}


def _closed(model: Model) -> Callable[[Column], Column]:
    """Return a function that moves a state nearly onto the closures, so that its gaps become their squares."""
    if not model.arm.closures:
        return lambda x: x
    once = model.with_numbers(closures.function(model, "correction"))
    return lambda x: once(x[: model.nq], x[model.nq :])[:-1]


@designing("Observed")
def _gain(
    model: Model,
    sensors: Sequence[Any],
    q: Array,
    W: Array,
    unmodelled: float,
    sigma: dict[str, Array],
    period: float | None,
    sampled_at: float,
    felt: bool,
) -> tuple[Array, float, list[complex], list[float]]:
    """Return the steady Kalman gain, the arm's fastest eigenvalue, the estimate's poles, and its standard deviations.

    The poles are those of z in a sampled loop. In a sampled loop a disturbance d is constant over a period:
    x_k = Phi x_k-1 + G d. Accelerometers measure the same d: y_k = C x_k + E d + v. In terms of x_k-1 these are noises
    with a covariance S between them. With closures, x are the independent coordinates and rates.
    """
    q, u = equilibrium(model, q)
    whole, _ = of_independent("Observed", model, q, np.zeros(model.nv))
    n = whole.shape[1] // 2
    system = model.linearize(q, np.zeros(model.nv), u, outputs=sensors)
    A, B, C = (np.asarray(part) for part in (system.A, system.B, system.C))
    T = sampled_at if period is None else period
    pushed = np.zeros((2 * n, n))
    pushed[n:] = unmodelled * np.eye(n)
    Q = (B @ W @ W.T @ B.T + pushed @ pushed.T) * T  # white noise over a period: intensities
    R = np.diag(sigma["all"] ** 2)
    Phi = linalg.expm(T * A)
    try:
        if period is None:
            P = linalg.solve_continuous_are(A.T, C.T, Q, R * T)
            L = P @ C.T @ np.linalg.inv(R * T)
            poles = np.linalg.eigvals(A - L @ C)
        else:
            if felt:
                acting = np.hstack([B @ W, pushed])
                held = linalg.expm(T * np.block([[A, acting], [np.zeros((n + len(W), 3 * n + len(W)))]]))
                G = held[: 2 * n, 2 * n :]
                y_qdd = model.output_slopes(sensors, q, *np.zeros((2, model.nv)))[2]
                E = np.hstack([np.asarray(system.D) @ W, unmodelled * y_qdd @ whole[model.nv :, n:]])
                Qd, S, R = G @ G.T, G @ (C @ G + E).T, (C @ G + E) @ (C @ G + E).T + R
            else:
                # van Loan: covariance of the noise over a period
                gathered = linalg.expm(T * np.block([[-A, Q], [np.zeros_like(A), A.T]]))
                Qd = gathered[2 * n :, 2 * n :].T @ gathered[: 2 * n, 2 * n :]
                Qd = (Qd + Qd.T) / 2
                S, R = Qd @ C.T, C @ Qd @ C.T + R
            ahead = C @ Phi
            P = from_sample_to_sample(Phi.T, ahead.T, Qd, R, S)
            L = (Phi @ P @ ahead.T + S) @ np.linalg.inv(ahead @ P @ ahead.T + R)
            poles = np.linalg.eigvals(Phi - L @ ahead)
    except (np.linalg.LinAlgError, ValueError) as error:
        raise _no_filter(" ".join(str(error).split())) from None
    decay = np.abs(poles) - 1 if period is not None else poles.real / np.abs(poles).max()
    if not (decay < -1e-8).all():
        raise _no_filter("its estimate does not converge")
    deviation = np.sqrt(np.maximum(np.diag(whole @ P @ whole.T), 0.0)).tolist()
    fastest = float(np.abs(np.linalg.eigvals(A)).max())
    return whole @ L, fastest, sorted(poles.tolist(), key=lambda s: (abs(s), s.imag)), deviation


def _steps(period: float, fastest: float) -> int:
    """Number of Runge-Kutta steps in a period, each of at most one radian of the fastest mode."""
    steps = max(1, int(np.ceil(period * fastest)))
    if steps > MOST_STEPS:
        raise DescriptionError(
            f"Observed: the filter needs {counted(steps, 'step')} in a period of {float(period):g} s for the mode at "
            f"{fastest:.3g} rad/s, "
            f"and at most {MOST_STEPS} are allowed; sample faster, or use DesignedFor with an arm with fewer modes"
        )
    return steps


def _no_filter(why: str) -> DescriptionError:
    return DescriptionError(
        f"Observed: there is no stationary Kalman filter ({why}); the sensors must observe every motion that does "
        "not decay"
    )
