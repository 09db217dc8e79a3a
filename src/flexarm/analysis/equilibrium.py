"""Where an arm stands still, with its drives or its joints held."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from flexarm.checks import checked_array, checked_instance, refused, shown
from flexarm.errors import DescriptionError, FlexarmError
from flexarm.model import Model
from flexarm.model.linear import held as free_motions

Array = np.ndarray


def equilibrium(model: Model, q: ArrayLike, held: Literal["drives", "joints"] = "drives") -> tuple[Array, Array]:
    """Where the arm stands still near q, what is held being as it is there, and the inputs for it: (n,), (m,).

    Solves dV/dq = B u by Newton's method along the motions that what is held allows: links sag under gravity, springs
    of joints are wound. It may be one that the arm falls from: some of `model.frequencies` are then negative.

    Parameters
    ----------
    q : (n,) or (m,)
        A configuration; or the joints alone, see `configuration`.
    held : "drives" or "joints"
        What keeps its place: what the drives turn, at an elastic joint the motor; or the joints, on the links' side.

    Raises
    ------
    DescriptionError
        For a q that does not fit the arm, and an unknown word in `held`.
    FlexarmError
        Where no equilibrium is found.
    """
    if not isinstance(held, str) or held not in ("drives", "joints"):
        raise DescriptionError(f"equilibrium: held is {shown(held)}; it must be 'drives' or 'joints'")
    x, u = configuration(model, q), np.zeros(len(model.inputs))
    B = model.input_matrix(x)
    N = free_motions(B if held == "drives" else np.eye(len(x))[:, list(model.arm.joints)])
    slope = model.slope("restoring_force", 0)
    k = N.shape[1]
    for _ in range(50):
        matrix = np.hstack([np.array(slope(x)) @ N, -B])
        try:
            step = np.linalg.solve(matrix, B @ u - model.evaluate("restoring_force", x))
        except np.linalg.LinAlgError:
            break
        x, u = x + N @ step[:k], u + step[k:]
        if not np.isfinite(x).all():
            break
        if np.abs(step[:k]).max(initial=0.0) <= 1e-12 * (1 + np.abs(x).max()):
            return x, u
    where = ", ".join(f"{value:.4g}" for value in np.asarray(q, dtype=float))
    message = f"no equilibrium found near {where} with the {held} held; it may be too soft for its load"
    raise FlexarmError(f"arm {model.arm.name!r}: {message}")


def configuration(model: Model, q: ArrayLike) -> Array:
    """A configuration (n,) of one, or of the joints alone, (m,): motors are then where their joints are, and what bends
    is as in `arm.rest`. Raises `DescriptionError` for anything else."""
    with refused():
        checked_instance(model, Model, "model")
        given = checked_array(q, "q")
    n, m = len(model.coordinates), len(model.inputs)
    if given.ndim > 1:
        raise DescriptionError("q has more than one axis; give one configuration")
    if given.shape not in ((n,), (m,)):
        names, joints = model.coordinates, model.arm.joints
        allowed = f"{n} numbers: {', '.join(names)}; or the joints alone: {', '.join(names[i] for i in joints)}"
        raise DescriptionError(f"q has shape {given.shape}; it must have {allowed}")
    if given.shape == (n,):
        return given
    T = moved_by_joints(model)
    return np.where(T.any(axis=1), T @ given, model.arm.rest)


def moved_by_joints(model: Model) -> Array:
    """How the coordinates go along with the joints, (n, m), nothing being bent: 1 for a joint and for its motor."""
    T = np.zeros((len(model.coordinates), len(model.inputs)))
    T[list(model.arm.joints), range(len(model.inputs))] = 1.0
    for joint, motor in model.arm.springs:
        T[motor] = T[joint]
    return T
