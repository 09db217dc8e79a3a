"""Inputs of an arm: constant, piecewise, tabulated, computed by Python, or written as expressions and compiled.

Each class is a `Block`.
"""

import ctypes  # noqa: TID251  (calls code that this package compiled)
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, final

import numpy as np

from flexarm.arrays import Array
from flexarm.brief import brief
from flexarm.cached import cached_property
from flexarm.checks import (
    POSITIVE,
    Fault,
    a_kind,
    checked_array,
    checked_instance,
    checked_number,
    checked_numbers,
    counted,
    refused,
    shown,
)
from flexarm.description.arm import Arm
from flexarm.description.joints import refuse_passive
from flexarm.errors import DescriptionError, FlexarmError
from flexarm.model import Model, closures
from flexarm.model.adrift import joint_forces, with_pose, without_momentum
from flexarm.model.driven import Driven
from flexarm.native.language import Placed
from flexarm.simulation import advance
from flexarm.simulation.advance import Advance
from flexarm.simulation.block import Ahead, Block, Cubics, OfTime
from flexarm.simulation.feedback import check_drives, on_reference
from flexarm.simulation.law import Column, is_linear_system, what_it_is
from flexarm.simulation.layout import Layout
from flexarm.simulation.rhs import DIVERGED, EVALUATE_STAGE, Plan, Stage, cubic_table, loops, nothing_to_do
from flexarm.simulation.sampled import Sampled, feedback
from flexarm.trajectory import Reference, jumps_of
from flexarm.trajectory.in_loops import in_loops
from flexarm.trajectory.reference import checked_reference, positions, reference_key

if TYPE_CHECKING:
    pass


@final
@brief
@dataclass(frozen=True, eq=False)
class Piecewise(Block):
    """Piecewise constant inputs, as bang-bang torques.

    Parameters
    ----------
    times : (k,)
        Start of each value, increasing [s]. Before the first time, u is zero.
    values : (k, m)
        [N m] at a revolute joint, [N] at a prismatic one. One-dimensional values are for a single actuator.
    """

    batched = True

    times: Any
    values_: Any

    def __init__(self, times: Any, values: Any):
        times, values = _table(times, values)
        object.__setattr__(self, "times", times)
        object.__setattr__(self, "values_", values)

    @property
    def constant(self) -> bool:  # type: ignore[override]
        """True if there is one value, at all times."""
        return bool(np.isneginf(self.times).all())

    def jumps(self) -> Array:
        """Return the times of the values."""
        return self.times

    def stage(self, plan: Plan, u: Array, model: Model, t: float, x: Array) -> Stage:
        """Write the value at t, without the detour over arrays of times."""
        current = int(np.searchsorted(self.times, t, side="right")) - 1
        u[:] = self.values_[current] if current >= 0 else 0.0
        return nothing_to_do()

    def ahead(self, plan: Plan, solver: Advance, times: Array, x: Array) -> Ahead | None:
        """Return native code that goes from jump to jump, for methods that begin anew at each."""
        if self.constant or solver.continues:
            return None
        plan.feed(*nothing_to_do())
        return partial(advance.ahead, plan, solver, times, x, self._at)

    def output(self, model: Model, t: Array, q: Array, qd: Array, z: Array) -> Array:
        """Return the value at each time."""
        return self._at(t)

    def _at(self, t: Array) -> Array:
        current = np.searchsorted(self.times, t, side="right") - 1
        found = self.values_[current]
        found[current < 0] = 0.0
        return found  # type: ignore[no-any-return]

    def known(self, until: float) -> Array:
        """Return the values from the one at t = 0 on."""
        first = max(int(np.searchsorted(self.times, 0.0, side="right")) - 1, 0)
        return self.values_[first : np.searchsorted(self.times, until)]  # type: ignore[no-any-return]

    def expressed(self, model: Model, late: float = 0.0) -> Callable[[Any], Any]:
        """Return a sum of the values with weights of zero for all but the current one."""
        _width("values", self.values_.shape[1], model)
        return lambda t: _in_force(t + late, self.times, self.values_)

    def described(self) -> str:
        """Return a text, as piecewise constant, 3 values from 0 s to 1 s."""
        if not self.values_.any():
            return "none"
        if self.constant:
            return f"constant {self.values_[0].tolist()}"
        return (
            f"piecewise constant, {counted(len(self.times), 'value')} from {self.times[0]:g} s to {self.times[-1]:g} s"
        )


def constant(values: Any) -> Piecewise:
    """Return constant inputs: (m,), or one number for a single actuator or for all."""
    return Piecewise([-np.inf], np.atleast_2d(_numbers("constant: values", values)))


def bang_bang(amplitude: Any, duration: float, start: float = 0.0) -> Piecewise:
    """Return `amplitude` (m,) for `duration` from `start`, then its opposite, then zero (Subudhi & Morris, 5)."""
    amplitude = np.atleast_1d(_numbers("bang_bang: amplitude", amplitude))
    with refused("bang_bang"):
        checked_number(duration, "s", POSITIVE, "duration")
        checked_number(start, "s", part="start")
    times = [start, start + duration, start + 2 * duration]
    return Piecewise(times, [amplitude, -amplitude, np.zeros(amplitude.shape)])


@final
@brief
@dataclass(frozen=True, eq=False)
class Table(Block):
    """Inputs at given times with interpolation between them. The first and last values extend to both sides.

    Parameters
    ----------
    times : (k,)
        Increasing, at least two [s].
    values : (k, m)
    kind : "cubic", "linear"
        A spline with a continuous second derivative, or straight lines. (For steps use `Piecewise`.)
    """

    batched = True

    times: Any
    values_: Any
    kind: str = "cubic"

    def __init__(self, times: Any, values: Any, kind: str = "cubic"):
        times, values = _table(times, values)
        if len(times) < 2:
            raise DescriptionError("Table: times has 1 number; it must have at least 2")
        if not np.isfinite(times).all():
            raise DescriptionError("Table: times contain infinity")
        if not isinstance(kind, str) or kind not in ("cubic", "linear"):
            raise DescriptionError(f"Table: kind is {shown(kind)}; it must be 'cubic' or 'linear'")
        object.__setattr__(self, "times", times)
        object.__setattr__(self, "values_", values)
        object.__setattr__(self, "kind", kind)
        if not np.isfinite(self.cubics[1]).all():
            raise DescriptionError(
                "Table: values change too fast between two times for an interpolation; check times and values"
            )

    def __getstate__(self) -> dict[str, Any]:
        return {name: vars(self)[name] for name in ("times", "values_", "kind")}

    @cached_property
    def cubics(self) -> Cubics:  # type: ignore[override]
        """Breaks (intervals + 1,) and coefficients (intervals, m, 4), with a constant interval on either side."""
        if self.kind == "cubic":
            from scipy.interpolate import CubicSpline

            with np.errstate(all="ignore"):
                inner = CubicSpline(self.times, self.values_).c.transpose(1, 2, 0)
        else:
            with np.errstate(over="ignore"):
                slopes = np.diff(self.values_, axis=0) / np.diff(self.times)[:, None]
            none = np.zeros_like(slopes)
            inner = np.stack([none, none, slopes, self.values_[:-1]], axis=-1)
        flat = np.zeros((2, self.values_.shape[1], 4))
        flat[0, :, 3], flat[1, :, 3] = self.values_[0], self.values_[-1]
        breaks = np.concatenate([[self.times[0] - 1.0], self.times, [self.times[-1] + 1.0]])
        return breaks, np.concatenate([flat[:1], inner, flat[1:]])

    @cached_property
    def _placed(self) -> Placed:
        return cubic_table(*self.cubics)

    def jumps(self) -> Array:
        """Return the jumps of the slope: the ends of a spline, or every time of straight lines."""
        return self.times if self.kind == "linear" else self.times[[0, -1]]

    def stage(self, plan: Plan, u: Array, model: Model, t: float, x: Array) -> Stage:
        """Return the stage that interpolates."""
        return loops().addresses["table"], self._placed.address, self._placed

    def output(self, model: Model, t: Array, q: Array, qd: Array, z: Array) -> Array:
        """Return the interpolated values."""
        breaks, coefficients = self.cubics
        interval = np.clip(np.searchsorted(breaks, t, side="right") - 1, 0, len(coefficients) - 1)
        s = (t - breaks[interval])[:, None]
        c = coefficients[interval]
        return ((c[..., 0] * s + c[..., 1]) * s + c[..., 2]) * s + c[..., 3]

    def expressed(self, model: Model, late: float = 0.0) -> Callable[[Any], Any]:
        """Return a polynomial in t whose coefficients are those of the current interval."""
        _width("values", self.values_.shape[1], model)
        return lambda t: _interpolated(t, *self.cubics, late)

    def over_time(self, model: Model, t: Array, q: Array, qd: Array) -> Array:
        """Return the interpolated values of a spline; a linear table has no pulses between its times."""
        return np.empty((len(t), 0)) if self.kind == "linear" else self.output(model, t, q, qd, q[:0])

    def known(self, until: float) -> Array:
        """Return the values of the table within the run."""
        return self.values_[(self.times >= 0.0) & (self.times <= until)]  # type: ignore[no-any-return]

    def described(self) -> str:
        """Return a text, as table of 101 times from 0 s to 1 s, cubic."""
        return f"table of {len(self.times)} times from {self.times[0]:g} s to {self.times[-1]:g} s, {self.kind}"


@final
class Computed(Block):
    """Inputs from a Python function u(t) or u(t, q, qd) -> (m,), called at every evaluation.

    Attributes
    ----------
    of_state : bool
        True if the function takes q and qd.
    """

    computed = True

    def __init__(self, function: Callable[..., Any], where: str = "u", outputs: tuple[str, ...] | None = None):
        if not callable(function):
            raise DescriptionError(f"{where} is {shown(function)}; it must be a function of t, or of t, q, qd")
        self.function, self.outputs = function, outputs
        try:
            parameters = list(inspect.signature(function).parameters.values())
        except (TypeError, ValueError):  # a built-in function without a signature
            self.of_state = True
            return
        # np.vectorize and similar functions accept any arguments, so they get t, q and qd
        anything = any(p.kind is p.VAR_POSITIONAL for p in parameters)
        plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        needed = sum(p.kind in plain and p.default is p.empty for p in parameters)
        if needed not in (1, 3) and not (anything and needed < 3):
            name = where[:1]
            must = f"it must be {name}(t) or {name}(t, q, qd)"
            raise DescriptionError(f"{where} is {self.described()}, of {counted(needed, 'argument')}; {must}")
        self.of_state = needed != 1

    def _value(self, model: Model, t: float, q: Array, qd: Array) -> Array:
        given = self.function(t, q, qd) if self.of_state else self.function(t)
        outputs = model.inputs if self.outputs is None else self.outputs
        try:
            u = np.atleast_1d(np.asarray(given, dtype=float))
        except (TypeError, ValueError, OverflowError):
            raise FlexarmError(
                f"{self.label} gave {shown(given)} at t = {t:.6g} s; it must give numbers: {', '.join(outputs)}"
            ) from None
        if u.shape != (len(outputs),):
            raise FlexarmError(f"{self.label} gave shape {u.shape} at t = {t:.6g} s; it must give {', '.join(outputs)}")
        if not all(map(math.isfinite, u.tolist())):  # faster than NumPy for so few
            bad = np.flatnonzero(~np.isfinite(u))[0]
            raise FlexarmError(f"{self.label} gave {u[bad]} for {outputs[bad]} at t = {t:.6g} s; it must be finite")
        return u

    def stage(self, plan: Plan, u: Array, model: Model, t: float, x: Array) -> Stage:
        """Return a stage that calls the function. An exception stops the run and is stored in `plan.failure`."""
        n, moving = model.nq, model.nq + model.nv
        buffer, seen = plan.buffer, plan.seen_of(self, model, len(u))

        def stage(_buffer: int, _u: int, _data: int) -> None:
            x = buffer[1 : 1 + moving].copy()
            # a trial step far outside the motion, for which the function is not called
            if plan.stopped or not (np.abs(x) < DIVERGED).all():
                u[:] = np.nan
                return
            try:
                time = float(buffer[0])
                value = self._value(model, time, x[:n], x[n:])
                u[:] = value
                if seen is not None:
                    seen.note(time, value)
            except BaseException as error:
                if not isinstance(error, FlexarmError):
                    error.add_note(f"raised by the {self.label} at t = {buffer[0]:.6g} s")
                plan.failure = plan.failure or error
                plan.stop()

        callback = EVALUATE_STAGE(stage)
        return ctypes.cast(callback, ctypes.c_void_p).value or 0, 0, callback

    def output(self, model: Model, t: Array, q: Array, qd: Array, z: Array) -> Array:
        """Call the function at every sample.

        The value is NaN where it fails, at states that the run may not have visited.
        """

        width = len(model.inputs if self.outputs is None else self.outputs)

        def value(*state: Any) -> Array:
            try:
                return self._value(model, *state)
            except FlexarmError:
                return np.full(width, np.nan)

        return np.array([value(float(a), b.copy(), c.copy()) for a, b, c in zip(t, q, qd, strict=True)])

    def described(self) -> str:
        """Return the function's name in Python."""
        return getattr(self.function, "__name__", type(self.function).__name__)


@final
@brief
@dataclass(frozen=True)
class RigidInverseDynamics(OfTime):
    """Torques that would move the arm along a reference if it were rigid: inverse dynamics of `arm.rigid()`.

    The torques are an expression in t, derived from the same recursion as all other quantities, and compiled. A free
    base moves so that the arm has no momentum, as at rest, and its thrusters are off.

    With closures, the joints without a motor follow the others, and the torques have the least sum of squares.

    Parameters
    ----------
    reference : Reference
        A motion of all joints.
    arm : Arm, optional
        Arm whose torques are computed; default that of the model in `simulate`.
    q0 : (joints,), optional
        With closures: all joints near the start of the reference, which decide how the arm is assembled.
    """

    reference: Reference
    arm: Arm | None = None
    q0: Sequence[float] | None = None

    def __post_init__(self) -> None:
        with refused("RigidInverseDynamics"):
            checked_reference(self.reference)
            if self.q0 is not None:
                object.__setattr__(self, "q0", checked_numbers(self.q0, part="q0"))
            if self.arm is not None:
                checked_instance(self.arm, Arm, "arm")

    def jumps(self) -> Array:
        """Return the jumps of the reference's acceleration, at which the torque jumps."""
        return jumps_of(self.reference)

    def _arm(self, model: Model) -> Arm:
        """Return the arm whose torques are computed.

        Raise `DescriptionError` if they do not match the model's inputs.
        """
        own = self.arm is None and not model.varied
        arm = model.arm if own else self.arm or model.arm_at()
        if not arm.closures:
            refuse_passive(arm, "rigid inverse dynamics")
        if len(arm.driven) + len(arm.thrusters) != len(model.inputs):
            raise DescriptionError(f"arm {arm.name!r}: rigid inverse dynamics need exactly one actuator per joint")
        for name, unit in zip(model.inputs, model.arm.input_units, strict=True):
            if unit == "V":
                must = "rigid inverse dynamics return torques: use the controller Cascaded or VoltageDrive"
                raise DescriptionError(f"arm {model.arm.name!r}: the input {name!r} is a voltage; {must}")

        return arm

    def expressed(self, model: Model, late: float = 0.0) -> Callable[[Any], Any]:
        """Return the inverse dynamics of the rigid arm as a function of time."""
        arm = self._arm(model)
        if arm.closures:
            return self._in_loops(Driven.of("RigidInverseDynamics", Model(arm.rigid())))

        def torque(t: Any) -> Any:
            import casadi as ca

            rigid, s = Model(arm.rigid()), ca.SX.sym("t")
            theta = positions(self.reference, s)
            _width("reference", theta.numel() + len(arm.thrusters), model)
            theta_d = ca.jacobian(theta, s)
            q = with_pose(rigid, theta)
            force = joint_forces(rigid)(q, without_momentum(rigid)(q, theta_d), ca.jacobian(theta_d, s))
            if arm.couplings:  # u_i acts on joint j as T_ij u_i
                force = ca.mtimes(np.linalg.inv(arm.transmission).T, force)
            return ca.substitute(ca.densify(ca.vertcat(force, ca.SX.zeros(len(arm.thrusters)))), s, ca.SX(t))

        return torque

    def _in_loops(self, driven: Driven) -> Callable[[Any], Any]:
        """Return the inverse dynamics of a rigid arm with closures as a function of time."""
        count = driven.model.nv
        if self.q0 is None or len(self.q0) != count:
            given = "is missing" if self.q0 is None else f"has {counted(len(self.q0), 'number')}"
            names = ", ".join(driven.model.coordinates)
            raise DescriptionError(
                f"RigidInverseDynamics: q0 {given}; closures need the {counted(count, 'joint')}: {names}"
            )
        _width("reference", positions(self.reference, 0.0).numel(), driven.model)
        near = in_loops(driven, self.reference, np.array(self.q0))

        def torque(t: Any) -> Any:
            import casadi as ca

            s = ca.SX.sym("t")
            theta = positions(self.reference, s)
            theta_d = ca.jacobian(theta, s)
            rates = driven.placed(driven.model, ca.SX.zeros(count), theta_d)
            force = driven.forces(*driven.closed(near(s), rates), ca.jacobian(theta_d, s))
            return ca.substitute(ca.densify(force), s, ca.SX(t))

        return torque

    def key(self, model: Model) -> list[Any]:
        """Return the arm, the reference, and where an arm with closures begins."""
        arm = self._arm(model)
        text = (model if arm is model.arm else Model(arm)).fingerprint
        return ["rigid inverse dynamics", text, reference_key(self.reference), *(self.q0 or ())]

    def described(self) -> str:
        """Return a text with the reference."""
        return f"inverse dynamics of the rigid arm along {self.reference.described()}"


@final
@brief
@dataclass(frozen=True)
class PrescribedMotion(OfTime):
    """A motion whose joints follow a reference exactly. The result's u are the forces that the motion requires.

    All other coordinates move freely. Inverse-dynamics control of the joints without initial error gives the same
    motion (Theodore & Ghosal eqs. 35, 36). Each drive must move its joint alone. At an elastic joint it moves the
    motor, not the joint.

    Parameters
    ----------
    reference : Reference
        A motion of all driven coordinates, in the order of the inputs. A free base moves freely; its thrusters are off.
    """

    reference: Reference
    quantity = "prescribed_rate"
    of_state = True

    def __post_init__(self) -> None:
        with refused("PrescribedMotion"):
            checked_reference(self.reference)

    def jumps(self) -> Array:
        """Return the jumps of the reference's acceleration."""
        return jumps_of(self.reference)

    @property
    def begins(self) -> Reference:
        """Motion on which a run begins: that of joints and motors."""
        return self.reference

    def begun(self, model: Model, times: Array) -> "PrescribedMotion":
        """Return the input itself, since it stores nothing about a run."""
        check_drives(model, "", "only single joints can be prescribed")
        if model.arm.closures:
            start = on_reference(model, self.reference)[0]
            closures.check_independent("PrescribedMotion", model, closures.assembled(model, start, model.arm.driven)[0])
        return self

    def expressed(self, model: Model, late: float = 0.0) -> Callable[[Any], Any]:
        """Return the accelerations of the joints as a function of time."""
        thrusters = len(model.arm.thrusters)

        def acceleration(t: Any) -> Any:
            import casadi as ca

            q = positions(self.reference, t)
            _width("reference", q.numel() + thrusters, model)
            return ca.vertcat(ca.jacobian(ca.jacobian(q, t), t), ca.SX.zeros(thrusters))

        return acceleration

    def key(self, model: Model) -> list[Any]:
        """Return the reference and the number of thrusters."""
        thrusters = len(model.arm.thrusters)
        return ["acceleration", reference_key(self.reference), *([thrusters] if thrusters else [])]

    def applied(self, model: Model, t: Array, parts: Mapping[str, Array]) -> Array:
        """Return the forces that the motion requires in addition to external loads and to friction with states."""
        q, qd, a = parts["q"], parts["qd"], self.output(model, t, parts["q"], parts["qd"], parts["z"])
        if model.states or model.exogenous or model.arm.free or model.arm.closures:
            columns = [{**parts, "u": a}[name] for name in model.arguments("prescribed_force")]
            return model.kernel("prescribed_force").many(np.ascontiguousarray(np.hstack(columns)))
        rates = model.kernel("prescribed_rate").few(np.ascontiguousarray(np.hstack([q, qd, a])))
        return model.inverse_dynamics(q, qd, rates[:, Layout.of(model).qd])[:, list(model.arm.actuated)]

    def described(self) -> str:
        """Return a text with the reference."""
        return f"whatever moves the joints along {self.reference.described()}"


def as_input(u: Any, model: Model) -> Block:
    """Return an input: numbers are constant, a callable is called, a controller closes the loop, None is zero."""
    with refused():
        checked_instance(model, Model, "model")
    if u is None:
        return constant(np.zeros(len(model.inputs)))
    if isinstance(u, type):
        raise DescriptionError(f"u is {what_it_is(u)}; it must be an object: {u.__name__}(...)")
    if isinstance(u, RigidInverseDynamics) and u.arm is None and model.varied:
        return replace(u, arm=model.arm_at())
    if isinstance(u, Piecewise | Table):
        _width("values", u.values_.shape[1], model)
    if isinstance(u, Block):
        return u
    if is_linear_system(u):
        must = "use control.Linear(system, sensors=[...])"
        raise DescriptionError(f"u is {what_it_is(u)} of python-control, whose measured signals are unknown; {must}")
    if hasattr(u, "law") or isinstance(u, Sampled):
        return feedback(u, model)
    if hasattr(u, "stepper"):
        raise DescriptionError(f"u is {what_it_is(u)}, which is called once per period; use Sampled(...)")
    if callable(u):
        return Computed(u)
    if hasattr(u, "expression"):
        must = "give a controller that follows it, or PrescribedMotion(...)"
        raise DescriptionError(f"u is {a_kind(u)}, which is a motion and not an input; {must}")
    try:
        values = checked_array(u, "u", finite=False)
    except Fault:
        raise DescriptionError(f"u is {a_kind(u)}; it must be numbers, an input, or a function of t") from None
    if values.ndim == 0:
        values = np.full(len(model.inputs), float(values))
    if values.ndim > 1:
        raise DescriptionError(f"u has shape {values.shape}; it must have one number per actuator: {_names(model)}")
    _width("u", len(values), model)
    if not np.isfinite(values).all():
        raise DescriptionError("u contains NaN or infinity")
    return constant(values)


def _in_force(t: Any, times: Array, values: Array) -> Column:
    """Return the row (m,) of values (k, m) that is valid at the symbolic time t. Before the first time it is zero."""
    import casadi as ca

    begun = [ca.SX(1) if time == -np.inf else ca.SX(t >= float(time)) for time in times]
    found = ca.SX.zeros(values.shape[1])
    for k, value in enumerate(values):  # the sum is exact, since all but one of the terms are zero
        found += (begun[k] - begun[k + 1] if k + 1 < len(values) else begun[k]) * ca.DM(value)
    return found


def _interpolated(t: Any, breaks: Array, coefficients: Array, late: float) -> Column:
    """Return the value (m,) of a table of cubics at the symbolic time t, as `rhs.cubic_table` stores it."""
    import casadi as ca

    count, m, _ = coefficients.shape
    rows = np.hstack([coefficients.reshape(count, 4 * m), breaks[:-1, None]])
    found = _in_force(t + late, np.concatenate([[-np.inf], breaks[1:-1]]), rows)
    c, s = ca.reshape(found[:-1], 4, m).T, t - found[-1]
    return ((c[:, 0] * s + c[:, 1]) * s + c[:, 2]) * s + c[:, 3]


def _names(model: Model) -> str:
    return ", ".join(model.inputs) or "there is none"


def _width(what: str, given: int, model: Model) -> None:
    if given != len(model.inputs):
        raise DescriptionError(
            f"{what}: {counted(given, 'column')} for {counted(len(model.inputs), 'actuator')}: {_names(model)}"
        )


def _numbers(what: str, values: Any) -> Array:
    try:
        return checked_array(values, finite=False)
    except Fault:
        raise DescriptionError(f"{what} must be numbers") from None


def _table(times: Any, values: Any) -> tuple[Array, Array]:
    times, values = np.atleast_1d(_numbers("times", times)), _numbers("values", values)
    values = values[:, None] if values.ndim == 1 else values
    if times.ndim != 1 or values.ndim != 2 or len(times) != len(values) or not len(times):
        raise DescriptionError(f"times has shape {times.shape} and values {values.shape}; they must be (k,) and (k, m)")
    if np.isnan(times).any() or not np.isfinite(values).all():
        raise DescriptionError("times or values contain NaN or infinity")
    if not (np.diff(times) > 0).all():
        raise DescriptionError("times must increase")
    return times, values
