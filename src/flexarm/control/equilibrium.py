"""Where an arm stands still with its joints as asked, and a reference's end."""

from typing import Any

import numpy as np

from flexarm.checks import Fault, checked_numbers
from flexarm.errors import DescriptionError, FlexarmError
from flexarm.model import Model
from flexarm.trajectory import Reference, reference_values

Array = np.ndarray


def equilibrium(model: Model, joints: Any) -> tuple[Array, Array]:
    """The coordinates q (n,) and the inputs u (m,) with which the arm stands still, its joints (m,) being given.

    Solves dV/dq = B u for u, the flexible coordinates and the motors' angles by Newton's method. Beside it,
    `analysis.equilibrium` holds the drives: at an elastic joint the motor, where here it is the link's side.

    Raises `DescriptionError` for joints that do not fit the arm, `FlexarmError` where no equilibrium is found.
    """
    given = checked_joints("equilibrium: joints", joints, model)
    n, m = len(model.coordinates), len(model.inputs)
    q, u = np.array(model.arm.rest), np.zeros(m)
    at, free = joint_positions(model), elastic_positions(model)
    q[at] = given
    for i, motor in motors(model):
        q[motor] = q[i]
    B = model.input_matrix(q)
    slope = model.slope("restoring_force", 0)
    for _ in range(50):
        matrix = np.hstack([np.array(slope(q))[:, free], -B])
        try:
            step = np.linalg.solve(matrix, B @ u - model.evaluate("restoring_force", q))
        except np.linalg.LinAlgError:
            break
        q[free] += step[: n - m]
        u += step[n - m :]
        if not np.isfinite(q).all():
            break
        if np.abs(step[: n - m]).max(initial=0.0) <= 1e-12 * (1 + np.abs(q).max()):
            return q, u
    where = ", ".join(f"{x:.4g}" for x in given)
    message = f"no equilibrium found with the joints at {where}; it may be too soft for its load"
    raise FlexarmError(f"arm {model.arm.name!r}: {message}")


def checked_joints(what: str, value: Any, model: Model) -> Array:
    """One number a joint; raises `DescriptionError`."""
    try:
        joints = checked_numbers(value)
    except Fault as fault:
        raise DescriptionError(f"{what}{fault.part} {fault.message}") from None
    if len(joints) != len(model.inputs):
        names = ", ".join(model.coordinates[i] for i in joint_positions(model))
        raise DescriptionError(f"{what} has {len(joints)} numbers; it must have {len(model.inputs)}: {names}")
    return np.array(joints)


def joint_positions(model: Model) -> list[int]:
    """Positions of the joints' coordinates, on the links' side."""
    return [i for i, name in enumerate(model.coordinates) if name.endswith(".joint")]


def elastic_positions(model: Model) -> list[int]:
    """Positions of all others: flexible coordinates, then motors."""
    return [i for i, name in enumerate(model.coordinates) if not name.endswith(".joint")]


def motors(model: Model) -> list[tuple[int, int]]:
    """Positions of the joint and of the motor of each elastic joint."""
    names = model.coordinates
    return [(names.index(f"{name[:-6]}.joint"), i) for i, name in enumerate(names) if name.endswith(".motor")]


# -- references --------------------------------------------------------------------------------------------------------


def rest(reference: Reference) -> tuple[float, Array] | None:
    """When a reference has come to rest for good [s], and where; None if it never does.

    A reference is known by its values alone: they are looked at over 13 orders of magnitude of time, 64 times an
    octave, and the end of the last movement is then bracketed.
    """
    octaves = 2.0 ** np.arange(-20, 22)
    times = np.concatenate([[0.0], np.outer(octaves, 1 + np.arange(64) / 64).ravel()])
    values = reference_values(reference, times)
    end = values[-1]

    def moves(x: Array) -> Array:
        return (np.abs(x - end) > 1e-12 * (1 + np.abs(end))).any(axis=-1)

    moving = np.flatnonzero(moves(values))
    if len(moving) == 0:
        return 0.0, end
    if times[moving[-1]] >= octaves[-1]:
        return None
    low, high = times[moving[-1]], times[moving[-1] + 1]
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if moves(reference_values(reference, np.array([middle])))[0] else (low, middle)
    return float(high), end
