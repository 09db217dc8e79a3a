"""Where an arm shall stand: its joints, and a reference's end."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from flexarm import analysis
from flexarm.checks import checked_instance, checked_numbers, refused
from flexarm.errors import DescriptionError
from flexarm.model import Model
from flexarm.trajectory import Reference
from flexarm.trajectory.reference import reference_function

Array = np.ndarray


def equilibrium(model: Model, joints: ArrayLike) -> tuple[Array, Array]:
    """Coordinates q (nq,) and inputs u (m,) with which the arm stands still, its joints (m,) being given: what
    `analysis.equilibrium` finds with the joints held, at an elastic one the link's side.

    Raises `DescriptionError` for joints that do not fit the arm, `FlexarmError` where no equilibrium is found.
    """
    with refused("equilibrium"):
        checked_instance(model, Model, "model")
    return analysis.equilibrium(model, checked_joints("equilibrium: joints", joints, model), held="joints")


def checked_joints(what: str, value: Any, model: Model) -> Array:
    """One number a joint; raises `DescriptionError`."""
    with refused():
        joints = checked_numbers(value, part=what)
    if len(joints) != len(model.arm.joints):
        names = ", ".join(model.velocities[i] for i in model.arm.joints)
        raise DescriptionError(f"{what} has {len(joints)} numbers; it must have {len(model.arm.joints)}: {names}")
    return np.array(joints)


def rest(reference: Reference) -> tuple[float, Array] | None:
    """When a reference has come to rest for good [s], and where; None if it never does.

    A reference is known by its values alone: they are looked at over 13 orders of magnitude of time, 64 times an
    octave, and the end of the last movement is then bracketed.
    """
    octaves = 2.0 ** np.arange(-20, 22)
    times = np.concatenate([[0.0], np.outer(octaves, 1 + np.arange(64) / 64).ravel()])
    at = reference_function(reference)
    values = at(times)
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
        low, high = (middle, high) if moves(at(np.array([middle])))[0] else (low, middle)
    return float(high), end
