"""Assembly of an arm with closed loops."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from flexarm.checks import known_names, refused
from flexarm.errors import DescriptionError, errors_in
from flexarm.model.attitudes import unit_pose
from flexarm.model.closures import assembled, corrected
from flexarm.model.core import ModelLike, as_model
from flexarm.model.evaluation import begun_at


def assemble(arm: ModelLike, guess: Any = None, rates: Any = None, held: Sequence[str] = ()) -> Any:
    """Return the coordinates nearest to a guess that satisfy the closures of an arm.

    Joints move first, by the least sum of squares. Links bend only where the joints alone cannot close the loops. A
    mechanism can often be assembled in several ways, and the guess decides. If it leads nowhere, guesses near it are
    tried, the same ones in every call.

    Parameters
    ----------
    arm : Arm, Model, str or path
    guess : (nq,), optional
        Coordinates from which to start; default `arm.rest`.
    rates : (n,), optional
        Rates, which are also corrected. Then the result is a pair.
    held : list of str, optional
        Coordinates that keep their values of the guess, such as `["crank.joint"]`.

    Returns
    -------
    q, or (q, qd) : (nq,), (n,)

    Raises
    ------
    DescriptionError
        The closures cannot be satisfied from this guess; the message names the largest gap that is left.
    """
    with refused("assemble"):
        model = as_model(arm, "arm")
        known = model.velocities[model.arm.twists :]
        names = known_names(held, known, "names", "held", "the coordinates are")
    with errors_in("assemble"):
        q = begun_at("guess", guess, np.array(model.arm.rest), model.coordinates)
        q = unit_pose("guess", q, model.arm)
        qd = None if rates is None else begun_at("rates", rates, np.zeros(model.nv), model.velocities)
    if not model.arm.closures:
        return q if qd is None else (q, qd)
    q, why = assembled(model, q, [model.velocities.index(name) for name in names])
    if why:
        raise DescriptionError(f"assemble: {why}")
    if qd is None:
        return q
    return q, corrected(model, q, qd)[1]
