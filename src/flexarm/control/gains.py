"""Gains and references, checked against an arm before anything runs."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from flexarm.arrays import Array
from flexarm.checks import POSITIVE, checked_array, checked_instance, checked_number, counted, refused, shown
from flexarm.description.joints import refuse_passive
from flexarm.errors import DescriptionError
from flexarm.model import Model
from flexarm.model.driven import Driven
from flexarm.simulation.law import Column, Law, law_of
from flexarm.simulation.sampled import Sampled
from flexarm.trajectory import Reference, Still
from flexarm.trajectory.reference import positions, with_rates

ROUNDING = 1e-12
"""Size of a negative eigenvalue of a gain, in units of its largest number, that counts as rounding."""


@contextmanager
def designing(what: str) -> Iterator[None]:
    """Context of a design: raises `DescriptionError` for floating-point overflows and singular matrices."""
    try:
        with np.errstate(over="raise", divide="raise", invalid="raise"):
            yield
    except (FloatingPointError, np.linalg.LinAlgError) as error:
        reason = " ".join(str(error).split())
        message = "a gain, a weight, a coordinate or a time is too large or too small"
        raise DescriptionError(f"{what}: the design failed, probably because {message} ({reason})") from None


def actuators(what: str, model: Model, period: float | None) -> int:
    """Return the number of actuated joints; raises `DescriptionError` for a wrong model or period."""
    with refused(what):
        checked_instance(model, Model, "model")
        if period is not None:
            checked_number(period, "s", POSITIVE, "period")
    return len(model.arm.driven)


def places_of(what: str, nominal: Model, model: Model) -> list[int]:
    """Indices of a nominal arm's rates among those of the arm that runs, matched by name.

    Raises `DescriptionError` if the arm lacks one of them, or has other actuators.
    """
    if missing := next((name for name in nominal.velocities if name not in model.velocities), None):
        where = f"arm {model.arm.name!r} has no coordinate {missing!r}"
        raise DescriptionError(f"{what}: {where}; the controller was designed for an arm that has it")
    if nominal.inputs != model.inputs:
        those, others = (", ".join(names) or "none" for names in (model.inputs, nominal.inputs))
        where = f"arm {model.arm.name!r} has the actuators {those}"
        raise DescriptionError(f"{what}: {where}; the controller was designed for the actuators {others}")
    return [model.velocities.index(name) for name in nominal.velocities]


def gain(what: str, value: ArrayLike, rows: int, columns: int | None = None) -> Array:
    """Return a gain as a matrix (rows, columns), square by default: from one number, the diagonal, or all entries."""
    columns = rows if columns is None else columns
    with refused():
        given = checked_array(value, what)
    if rows == columns and given.ndim == 0:
        return float(given) * np.eye(rows)
    if rows == columns and given.shape == (rows,):
        return np.diag(given)
    if given.shape != (rows, columns):
        one = f"one number, a list of {counted(rows, 'number')}, or " if rows == columns else ""
        raise DescriptionError(f"{what} has shape {given.shape}; it must be {one}a matrix ({rows}, {columns})")
    return given


def definite(what: str, value: ArrayLike, rows: int) -> Array:
    """Return a gain as a matrix (rows, rows); raises `DescriptionError` if its symmetric part has a negative value."""
    found = gain(what, value, rows)
    least = float(np.linalg.eigvalsh((found + found.T) / 2.0).min(initial=0.0))
    if least < -ROUNDING * np.abs(found).max(initial=0.0):
        raise DescriptionError(f"{what} is {shown(value)}; it must be positive, or a positive definite matrix")
    return found


def damped(what: str, Kp: ArrayLike, Kd: ArrayLike, rows: int) -> tuple[Array, Array]:
    """Return Kp and Kd, (rows, rows), of e'' = -Kd e' - Kp e; raises `DescriptionError` if the error e would grow."""
    P, D, one = gain(f"{what}: Kp", Kp, rows), gain(f"{what}: Kd", Kd, rows), np.eye(rows)
    growth = np.linalg.eigvals(np.block([[0.0 * one, one], [-P, -D]])).real.max(initial=0.0)
    if growth > np.sqrt(ROUNDING) * (1.0 + np.abs(D).max() + np.sqrt(np.abs(P).max())):
        given = f"Kp is {shown(Kp)} and Kd is {shown(Kd)}"
        raise DescriptionError(f"{what}: {given}; both must be positive, since errors grow as exp({growth:.3g} t)")
    return P, D


def decaying(what: str, value: ArrayLike, rows: int) -> Array:
    """Return Lambda, (rows, rows), of e' = -Lambda e; raises `DescriptionError` if the error e would grow."""
    found = gain(what, value, rows)
    if np.linalg.eigvals(found).real.min(initial=0.0) < -ROUNDING * np.abs(found).max(initial=0.0):
        raise DescriptionError(f"{what} is {shown(value)}; it must be positive, so that e' = -Lambda e decays")
    return found


def followed(what: str, given: Any, model: Model) -> Reference:
    """Return the reference of a controller for a model: as given, or constant at the given numbers.

    One number holds for all joints. Raises `DescriptionError` if it is no reference, or if it moves another number of
    joints than the arm has. Also for coupled joints, whose actuators measure sums of them.
    """
    import casadi as ca

    if model.arm.couplings:
        must = "controllers that follow a reference do not support couplings"
        raise DescriptionError(f"{what}: arm {model.arm.name!r} has coupled joints; {must}")
    m = len(model.arm.driven)
    if not m:
        raise DescriptionError(f"{what}: arm {model.arm.name!r} has no actuator")
    if isinstance(given, type) or not hasattr(given, "expression"):
        return Still(_places(f"{what}: reference", given, m))
    found = positions(given, ca.SX.sym("t")).numel()
    if found != m:
        names = ", ".join(model.velocities[i] for i in model.arm.driven)
        raise DescriptionError(f"{what}: the reference moves {counted(found, 'joint')}; the arm has {m}: {names}")
    return given  # type: ignore[no-any-return]


def _places(what: str, given: Any, m: int) -> tuple[float, ...]:
    """Check one number for all joints, or one for each."""
    try:
        values = np.asarray(given)
    except (TypeError, ValueError):
        values = np.asarray(None)
    if values.dtype.kind not in "iuf" or values.shape not in ((), (m,)) or not np.isfinite(values).all():
        raise DescriptionError(
            f"{what} is {shown(given)}; it must be a reference, one number, or {counted(m, 'number')}, one per joint"
        )
    return tuple(np.broadcast_to(values.astype(float), (m,)).tolist())


def motion(reference: Reference, t: Any) -> tuple[Column, Column, Column]:
    """r, rd and rdd of a reference at the time t, a number or a symbol."""
    import casadi as ca

    s = ca.SX.sym("t")
    r, rd, rdd = with_rates(positions(reference, s), s)
    if r.is_constant():
        return r, rd, rdd
    values = ca.substitute([r, rd, rdd], [s], [ca.SX(t)])
    return values[0], values[1], values[2]


def actuated(model: Model) -> Array:
    """B', (m, n): the joints' actuators measure y = B' q with their own sensors, a motor's angle at an elastic joint.

    q are local coordinates, one for each rate. A free base has no part in y.
    """
    return model.input_matrix(np.array(model.arm.rest)).T[: len(model.arm.driven)]


def of_all(model: Model, u: Column) -> Column:
    """Inputs of the complete arm from those of the joints (m,). The thrusters of a free base are off."""
    import casadi as ca

    return ca.vertcat(ca.SX(u), ca.SX.zeros(len(model.arm.thrusters))) if model.arm.thrusters else u


def torques(what: str, model: Model, instead: str = "") -> None:
    """Raise `DescriptionError` for an arm with a voltage input, because the control law returns torques.

    `instead` is the advice for a controller that `VoltageDrive` does not take.
    """
    for name, unit in zip(model.inputs, model.arm.input_units, strict=True):
        if unit == "V":
            must = f"the controller returns torques: {instead or f'use VoltageDrive({what}(...))'}"
            raise DescriptionError(f"{what}: arm {model.arm.name!r}: the input {name!r} is a voltage; {must}")


def rigid_arm(what: str, model: Model) -> Model:
    """Return the model of the same arm without flexibility, which must have a coordinate for each actuator."""
    refuse_passive(model.arm, what)
    rigid = Model(model.arm_at().rigid())
    if rigid.nv != len(model.arm.driven) + 6 * model.arm.free:
        raise DescriptionError(f"arm {model.arm.name!r}: the controller needs exactly one actuator per joint")
    return rigid


def rigid_loops(what: str, model: Model) -> Driven:
    """Return the rigid arm of an arm with closures, as its drives move it."""
    return Driven.of(what, Model(model.arm_at().rigid()))


def gravity_torque(what: str, model: Model) -> Callable[[Column, Column], Column]:
    """Return the gravity torque of the rigid arm, (m,), as a function of q, of all coordinates, and of y.

    With closures, it is that of all drives with the least sum of squares.
    """
    if not model.arm.closures:
        carried = rigid_arm(what, model).fixed("gravity_force")
        return lambda q, y: carried(y)
    driven = rigid_loops(what, model)
    weight = driven.model.fixed("gravity_force")

    def shared(q: Column, y: Column) -> Column:
        start = driven.placed(model, q, y)
        x, _ = driven.closed(start, 0 * start)
        return driven.shared(x, weight(x))

    return shared


def demanded(reference: Reference, t: Any, y: Column, yd: Column, Kp: Array, Kd: Array) -> Column:
    """Acceleration rdd + Kd (rd - yd) + Kp (r - y), for which the error obeys e'' + Kd e' + Kp e = 0."""
    r, rd, rdd = motion(reference, t)
    return rdd + Kd @ (rd - yd) + Kp @ (r - y)


def sliding(reference: Reference, t: Any, y: Column, yd: Column, Lambda: Array) -> tuple[Column, Column, Column]:
    """Sliding variable s = yd - v, reference rates v = rd - Lambda (y - r), and their derivative along the motion."""
    r, rd, rdd = motion(reference, t)
    v = rd - Lambda @ (y - r)
    return yd - v, v, rdd - Lambda @ (yd - rd)


def inner_law(outer: str, controller: Any, model: Model, period: float | None) -> Law:
    """Return the control law of the controller that another one contains."""
    if isinstance(controller, Sampled):
        raise DescriptionError(
            f"{outer}: controller is a Sampled; give the controller itself, and put Sampled around {outer}(...)"
        )
    return law_of(f"{outer}: controller", controller, model, period)


def rounded(y: Column, resolution: Sequence[float]) -> Column:
    """Round signals to multiples of the sensors' resolution; 0 means no rounding."""
    import casadi as ca

    return ca.vertcat(*(r * ca.floor(y[i] / r + 0.5) if r else y[i] for i, r in enumerate(resolution)))
