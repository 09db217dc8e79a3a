"""Bodies that ride on a link: a sensor, a motor, a camera."""

from typing import Annotated, final

from pydantic import BeforeValidator

from flexarm import checks
from flexarm.checks import NOT_NEGATIVE, SHARE, Described, Fault, Inertia, Vector, number, shown, vector

MOST_LUMPS = 50
"""On one link: each costs every evaluation."""


@final
class Lump(Described):
    """A rigid body fixed to a link's section; it moves and turns with it.

    Parameters
    ----------
    at : float
        Station of the section, from 0 at the link's origin to 1 at its tip.
    mass : float
        [kg]
    inertia : float, (3,) or (3, 3)
        About its own centre of mass, along the section's axes [kg m^2].
    offset : (3,)
        Its centre of mass from the section's centre, along the section's axes [m].
    """

    at: Annotated[float, number("", SHARE)]
    mass: Annotated[float, number("kg", NOT_NEGATIVE)]
    inertia: Annotated[Inertia, checks.inertia] = 0.0
    offset: Annotated[Vector, vector("m")] = (0.0, 0.0, 0.0)


def _some(value: object) -> object:
    if not isinstance(value, list | tuple):
        raise Fault("", f"is {shown(value)}; it must be a list of lumps, such as [{{at = 0.5, mass = 0.2}}]")
    if len(value) > MOST_LUMPS:
        raise Fault("", f"has {len(value)} lumps; a link has at most {MOST_LUMPS}")
    return value


Lumps = Annotated[tuple[Lump, ...], BeforeValidator(_some)]
"""A field that holds the lumps of a link."""
