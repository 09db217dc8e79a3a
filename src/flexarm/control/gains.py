"""Gains and references, checked against an arm before anything runs."""

from typing import Any

import numpy as np

from flexarm.errors import DescriptionError
from flexarm.mechanics.spatial import Vector
from flexarm.model import Model
from flexarm.simulation.feedback import Law
from flexarm.trajectory import Reference

Array = np.ndarray


def gain(what: str, value: Any, rows: int, columns: int | None = None) -> Array:
    """A gain as a matrix (rows, columns), square by default: of one number, of the diagonal, or of all entries."""
    columns = rows if columns is None else columns
    try:
        given = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise DescriptionError(f"{what} is not an array of numbers") from None
    if not np.isfinite(given).all():
        raise DescriptionError(f"{what} contains NaN or infinity")
    if rows == columns and given.ndim == 0:
        return float(given) * np.eye(rows)
    if rows == columns and given.shape == (rows,):
        return np.diag(given)
    if given.shape != (rows, columns):
        one = f"one number, {rows} numbers or " if rows == columns else ""
        raise DescriptionError(f"{what} has shape {given.shape}; it must be {one}a matrix ({rows}, {columns})")
    return given


def motion(reference: Reference, t: Any, count: int) -> tuple[Vector, Vector, Vector]:
    """Coordinates, rates and accelerations of a reference for `count` joints at the time t, a number or symbolic."""
    import casadi as ca

    s = ca.SX.sym("t")
    found = reference.expression(s)
    if len(found) != count:
        raise DescriptionError(f"the reference moves {len(found)} joints; the arm has {count} actuators")
    q = ca.vertcat(*found)
    qd = ca.jacobian(q, s)
    values = ca.Function("motion", [s], [ca.densify(ca.SX(x)) for x in (q, qd, ca.jacobian(qd, s))])(ca.SX(t))
    return tuple(ca.vertsplit(x) for x in values)  # type: ignore[return-value]


def actuated(model: Model, vector: Vector) -> Vector:
    """What the actuators' own sensors see of coordinates (or of rates): B' q, a motor's angle at an elastic joint."""
    B = model.input_matrix(np.array(model.arm.rest))
    return [sum((float(b) * x for b, x in zip(column, vector, strict=True) if b), 0.0) for column in B.T]


def rigid_arm(model: Model) -> Model:
    """The model of the same arm without flexibility, which must have a coordinate for each actuator."""
    rigid = Model(model.arm.rigid())
    if len(rigid.coordinates) != len(model.inputs):
        raise DescriptionError(f"arm {model.arm.name!r}: it must have one actuator a joint")
    return rigid


def times(K: Array, x: Vector) -> Vector:
    """K x; entries that are zero cost nothing."""
    return [sum((float(k) * a for k, a in zip(row, x, strict=True) if k), 0.0) for row in K]


def demanded(reference: Reference, t: Any, y: Vector, yd: Vector, Kp: Array, Kd: Array) -> Vector:
    """rdd + Kd (rd - yd) + Kp (r - y): the acceleration with which the error obeys e'' + Kd e' + Kp e = 0."""
    r, rd, rdd = motion(reference, t, len(y))
    e = times(Kp, [a - b for a, b in zip(r, y, strict=True)])
    ed = times(Kd, [a - b for a, b in zip(rd, yd, strict=True)])
    return [a + b + c for a, b, c in zip(rdd, ed, e, strict=True)]


def inner_law(outer: str, controller: Any, model: Model, period: float | None) -> Law:
    """The law of the controller that another one contains."""
    if not hasattr(controller, "law"):
        kind = type(controller).__name__
        raise DescriptionError(f"{outer}: controller is a {kind}; it must be a controller, not yet sampled")
    return controller.law(model, period)
