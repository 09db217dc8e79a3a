"""Bodies without coordinates of their own: rigid links and the payload."""

import numpy as np

from flexarm.description.arm import Payload, Rigid, tensor
from flexarm.mechanics.body import Body, frame_inertia
from flexarm.mechanics.parameters import Name, value_of
from flexarm.mechanics.spatial import Matrix, Scalar, Vector, dot, scaled, zeros


def rigid(description: Rigid, name: Name = value_of) -> Body:
    """A rigid link; its tip lies at (length, 0, 0)."""
    m = name("m", "mass", description.mass, "kg", "mass")
    length = name("L", "length", description.length, "m", "length")
    x, y, z = description.center
    c = [
        name("lc", "com.x", x, "m", "centre of mass along x"),
        name("yc", "com.y", y, "m", "centre of mass along y"),
        name("zc", "com.z", z, "m", "centre of mass along z"),
    ]
    I = named_tensor(description.inertia_tensor, name, "I", "inertia", "moment of inertia about the centre of mass")
    for r in range(3):
        for s in range(3):
            I[r][s] = I[r][s] + m * ((dot(c, c) if r == s else 0.0) - c[r] * c[s])
    return _lump(m, scaled(m, c), I, length)


def payload(description: Payload | None, name: Name = value_of) -> Body:
    """The body held by the last tip; without mass where there is no payload."""
    if description is None:
        return _lump(0.0, [0.0] * 3, zeros(3, 3), 0.0)
    m = name("mP", "mass", description.mass, "kg", "mass of the payload")
    I = named_tensor(tensor(description.inertia), name, "IP", "inertia", "moment of inertia of the payload")
    return _lump(m, [0.0] * 3, I, 0.0)


def named_tensor(I: np.ndarray, name: Name, letter: str, field: str, meaning: str) -> Matrix:
    """The entries of a tensor, each named once; one name for principal values that are the same."""
    lone, unit = np.array_equal(I, np.diag(np.diag(I))) and I[1, 1] == I[2, 2], "kg m^2"

    def entry(r: int, c: int) -> Scalar:
        if lone and (r == c != 0 or (r == c and I[0, 0] == I[1, 1])):
            return name(letter, field, I[r, c], unit, meaning)
        axes = "xyz"[r] + "xyz"[c]
        return name(letter + axes, f"{field}.{axes}", I[r, c], unit, f"{meaning}, {axes}")

    return [[entry(min(r, c), max(r, c)) for c in range(3)] for r in range(3)]


def _lump(m: Scalar, S: Vector, J: Matrix, length: Scalar) -> Body:
    """A body without coordinates of its own: mass, first moment and second moment about its base."""
    M = frame_inertia(m, S, J, 0)
    tip = [length, 0.0, 0.0, 0.0, 0.0, 0.0]
    return Body(0, lambda eta: M, lambda q, eta: 0.0, zeros(1, 1), [0.0], lambda eta: tip)
