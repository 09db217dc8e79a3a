"""Assembly of an arm with closed loops."""

from typing import Any

from flexarm.arrays import Array
from flexarm.checks import Fault, checked_array, counted, refused
from flexarm.errors import DescriptionError
from flexarm.model.closed import assembled, corrected
from flexarm.model.core import ModelLike, as_model


def assemble(arm: ModelLike, guess: Any = None, rates: Any = None) -> Any:
    """Return the coordinates nearest to a guess that satisfy the closures of an arm.

    "Nearest" refers to the kinetic energy of the steps, so light parts move most. A mechanism can often be assembled in
    several ways, and far from all of them it may end in a position where it cannot be closed. A guess decides.

    Parameters
    ----------
    arm : Arm, Model, str or path
    guess : (nq,), optional
        Coordinates from which to start; default `arm.rest`.
    rates : (n,), optional
        Rates, which are also corrected. Then the result is a pair.

    Returns
    -------
    q, or (q, qd) : (nq,), (n,)

    Raises
    ------
    DescriptionError
        The closures cannot be satisfied from this guess; the message names the largest gap that is left.
    """
    with refused("assemble"):
        model = as_model(arm)
        q = _numbers("guess", model.arm.rest if guess is None else guess, model.coordinates)
        qd = None if rates is None else _numbers("rates", rates, model.velocities)
    if not model.arm.closures:
        return q if qd is None else (q, qd)
    q, why = assembled(model, q)
    if why:
        raise DescriptionError(f"assemble: {why}")
    if qd is None:
        return q
    return q, corrected(model, q, qd)[1]


def _numbers(name: str, value: Any, signals: tuple[str, ...]) -> Array:
    x = checked_array(value, name)
    if x.shape != (len(signals),):
        raise Fault(name, f"has shape {x.shape}; it must have {counted(len(signals), 'number')}: {', '.join(signals)}")
    return x
