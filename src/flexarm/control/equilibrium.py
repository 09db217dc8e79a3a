"""The equilibrium at which a controller holds an arm, and the end of a reference."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from flexarm import analysis
from flexarm.arrays import Array
from flexarm.checks import checked_numbers, counted, refused
from flexarm.errors import DescriptionError
from flexarm.model import Model, ModelLike, as_model
from flexarm.trajectory.reference import rest as rest


def equilibrium(model: ModelLike, joints: ArrayLike) -> tuple[Array, Array]:
    """Coordinates q (nq,) and inputs u (m,) of the equilibrium at given joint coordinates (m,).

    The result is that of `analysis.equilibrium` with the joints held, at an elastic joint the link's side. Raises
    `DescriptionError` if the joints do not fit the arm, and `FlexarmError` if no equilibrium is found.
    """
    with refused("equilibrium"):
        model = as_model(model)
    return analysis.equilibrium(model, checked_joints("equilibrium: joints", joints, model), held="joints")


def checked_joints(what: str, value: Any, model: Model, whole: bool = False) -> Array:
    """Check one number for each driven joint, or if `whole` for each coordinate; raises `DescriptionError`."""
    with refused():
        joints = checked_numbers(value, part=what)
    m, n = len(model.arm.driven), model.nq
    if len(joints) != m and not (whole and len(joints) == n):
        names = ", ".join(model.velocities[i] for i in model.arm.driven)
        more = f", or {n} for a whole configuration" if whole else ""
        raise DescriptionError(f"{what} has {counted(len(joints), 'number')}; it must have {m}: {names}{more}")
    return np.array(joints)
