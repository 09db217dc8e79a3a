"""Detection of initial angles that look like degrees.

Only a user's values are checked: the initial angles and the ends of the reference. Wheels and long motions may pass any
number of radians.
"""

from collections.abc import Sequence

import numpy as np

from flexarm.arrays import Array
from flexarm.model import Model
from flexarm.trajectory import Reference, reference_values

ROUND = 15.0
"""Spacing of angles in degrees: those are often multiples of this number, and angles in radians only by chance."""

LEAST, MOST = 15.0, 360.0
"""Range of angles that people give in degrees. As radians they are 2 to 57 turns."""

EXACT = 1e-9
"""Tolerance about a round number, for computed angles."""


def looks_like_degrees(angles: Array) -> Array:
    """Return which of the angles [rad] are round numbers of degrees."""
    size = np.abs(angles)
    return (size > LEAST - EXACT) & (size < MOST + EXACT) & (np.abs(size - ROUND * np.round(size / ROUND)) < EXACT)


def implausible(
    model: Model, q: Array | None, references: Sequence[Reference | None] = (), until: float = 0.0, name: str = "q0"
) -> str:
    """Return a line about angles that look like degrees; "" for none.

    Parameters
    ----------
    model : Model
    q : (..., nq) or None
        The coordinates at the start, where they are given.
    references : list of Reference or None
    until : float
        The run's end [s].
    name : str
        Name of `q` in the line.
    """
    arm = model.arm
    first = len(model.coordinates) - len(model.velocities)
    given = [] if q is None else [(name, np.atleast_2d(q)[:, [first + i for i in arm.joints]], arm.joints)]
    for each in {id(each): each for each in references if each is not None}.values():
        given.append(("the reference", reference_values(each, np.array([0.0, until])), arm.driven))
    for what, values, joints in given:
        if not (np.abs(values) > LEAST - EXACT).any():
            continue
        turning = [k for k, i in enumerate(joints) if arm.rate_units[i].startswith("rad")]
        angles = values[:, turning]
        strange = looks_like_degrees(angles)
        if strange.any():
            row, column = np.argwhere(strange)[0]
            angle, joint = angles[row, column], model.velocities[joints[turning[column]]]
            where = f"{what}: {joint} is {angle:g} rad, {abs(angle) / (2 * np.pi):.2g} turns"
            return f"{where}; angles are in radians: if {angle:g} is in degrees, use {np.deg2rad(angle):.5g}"
    return ""
