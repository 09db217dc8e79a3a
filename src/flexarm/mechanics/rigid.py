"""Bodies without coordinates of their own: rigid links and the payload."""

from collections.abc import Callable
from functools import partial

import numpy as np

from flexarm.description.arm import Payload, Rigid, tensor
from flexarm.description.numbers import entry_name, tensor_axes
from flexarm.mechanics.body import Body, frame_inertia
from flexarm.mechanics.parameters import Name, value_of
from flexarm.mechanics.spatial import Matrix, Scalar, Vector, dot, scaled, zeros


def rigid(description: Rigid, name: Name = value_of) -> Body:
    """A rigid link; its tip lies at (length, 0, 0)."""
    m = name("m", "mass", description.mass, "kg", "mass")
    length = name("L", "length", description.length, "m", "length")
    x, y, z = description.center
    middle = None if description.com is not None else lambda: 0.5 * length
    c = [
        name("lc", "com.x", x, "m", "centre of mass along x", middle),
        name("yc", "com.y", y, "m", "centre of mass along y"),
        name("zc", "com.z", z, "m", "centre of mass along z"),
    ]
    rod = None if description.inertia is not None else lambda r, s: m * length**2 / 12.0 if r == s != 0 else 0.0
    about = "moment of inertia about the centre of mass"
    I = named_tensor(description.inertia_tensor, name, "I", "inertia", about, rod)
    for r in range(3):
        for s in range(3):
            I[r][s] = I[r][s] + m * ((dot(c, c) if r == s else 0.0) - c[r] * c[s])
    return _lump(m, scaled(m, c), I, length)


def payload(description: Payload | None, name: Name = value_of) -> Body:
    """The body held by the last tip; without mass where there is no payload."""
    mass, inertia = (0.0, 0.0) if description is None else (description.mass, description.inertia)
    m = name("mP", "mass", mass, "kg", "mass of the payload")
    I = named_tensor(tensor(inertia), name, "IP", "inertia", "moment of inertia of the payload")
    return _lump(m, [0.0] * 3, I, 0.0)


def named_tensor(
    I: np.ndarray,
    name: Name,
    letter: str,
    field: str,
    meaning: str,
    follows: Callable[[int, int], Scalar] | None = None,
) -> Matrix:
    """The entries of a tensor, each named once; one name for principal values that are the same.

    `follows` gives an entry by other numbers, where the description leaves it to them.
    """

    def entry(r: int, c: int) -> Scalar:
        axes = tensor_axes(I, r, c)
        given = None if follows is None else partial(follows, r, c)
        what = f"{meaning}, {axes}" if axes else meaning
        return name(letter + axes, entry_name(field, I, r, c), I[r, c], "kg m^2", what, given)

    return [[entry(min(r, c), max(r, c)) for c in range(3)] for r in range(3)]


def _lump(m: Scalar, S: Vector, J: Matrix, length: Scalar) -> Body:
    """A body without coordinates of its own: mass, first moment and second moment about its base."""
    M = frame_inertia(m, S, J, 0)
    tip = [length, 0.0, 0.0, 0.0, 0.0, 0.0]
    return Body(0, lambda eta: M, lambda q, eta: 0.0, zeros(1, 1), [0.0], lambda eta: tip)
