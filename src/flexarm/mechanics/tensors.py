"""Named inertia tensors, and inertia about another point."""

from collections.abc import Callable
from functools import partial

import numpy as np

from flexarm.description.numbers import entry_name, tensor_axes
from flexarm.mechanics.parameters import Name
from flexarm.mechanics.spatial import Matrix, Scalar, Vector, dot


def named_tensor(
    I: np.ndarray,
    name: Name,
    letter: str,
    field: str,
    meaning: str,
    follows: Callable[[int, int], Scalar] | None = None,
) -> Matrix:
    """Return the entries of a tensor, each named once. Equal principal values have one name.

    `follows` computes an entry from other numbers, if the description does not give it.
    """

    def entry(r: int, c: int) -> Scalar:
        axes = tensor_axes(I, r, c)
        given = None if follows is None else partial(follows, r, c)
        what = f"{meaning}, {axes}" if axes else meaning
        return name(letter + axes, entry_name(field, I, r, c), I[r, c], "kg m^2", what, given)

    return [[entry(min(r, c), max(r, c)) for c in range(3)] for r in range(3)]


def about_origin(I: Matrix, m: Scalar, c: Vector) -> Matrix:
    """Return the inertia about the origin of a mass with its centre at c and inertia I about the centre (Steiner)."""
    far = dot(c, c)
    return [[I[r][s] + m * ((far if r == s else 0.0) - c[r] * c[s]) for s in range(3)] for r in range(3)]
