"""Rigid bodies fixed to a link, such as a sensor, a motor or a camera."""

from typing import Annotated, final

from pydantic import BeforeValidator

from flexarm import checks
from flexarm.checks import NOT_NEGATIVE, SHARE, Described, Fault, Inertia, Vector, checked_list, counted, number, vector

MOST_LUMPS = 50
"""Largest number of lumps on one link. Each lump adds to the cost of every evaluation."""


@final
class Lump(Described):
    """A rigid body fixed to a section of a link. It moves and turns with the section.

    Parameters
    ----------
    at : float
        Station of the section, from 0 at the link's origin to 1 at its tip.
    mass : float
        Mass [kg].
    inertia : float, (3,) or (3, 3)
        Moments of inertia about its own centre of mass, along the axes of the section [kg m^2].
    offset : (3,)
        Position of its centre of mass relative to the section's centre, along the axes of the section [m].
    """

    at: Annotated[float, number("", SHARE)]
    mass: Annotated[float, number("kg", NOT_NEGATIVE)]
    inertia: Annotated[Inertia, checks.inertia] = 0.0
    offset: Annotated[Vector, vector("m")] = (0.0, 0.0, 0.0)


def _some(value: object) -> list:
    lumps = checked_list(value, "a list of lumps, such as [{at = 0.5, mass = 0.2}]")
    if len(lumps) > MOST_LUMPS:
        raise Fault("", f"has {counted(len(lumps), 'lump')}; a link has at most {MOST_LUMPS}")
    return lumps


Lumps = Annotated[tuple[Lump, ...], BeforeValidator(_some)]
"""Type of a field with the lumps of a link."""
