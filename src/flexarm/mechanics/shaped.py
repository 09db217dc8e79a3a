"""A beam with its shapes, and the quadrature points of their integrals."""

from dataclasses import dataclass

import numpy as np

from flexarm.description.arm import Beam
from flexarm.description.beams import Profile
from flexarm.mechanics.body import Loads
from flexarm.mechanics.modal import bases_of, labels
from flexarm.shapes import Basis, quadrature


@dataclass(frozen=True)
class Shaped:
    """A described beam and the shapes in which it deforms.

    Attributes
    ----------
    counts : (4,)
        Number of modes along y and z, in torsion and along x.
    start : (5,)
        Start of each direction in eta.
    bases : (4,)
        The shapes of each direction.
    modes : (size,)
        Name of each coordinate's shape.
    x, weights : (points,)
        Quadrature over (0, 1), exact for products of the shapes.
    along : Profile
        Mass and stiffness at x.
    """

    description: Beam
    counts: list[int]
    start: list[int]
    bases: list[Basis]
    modes: list[str]
    x: np.ndarray
    weights: np.ndarray
    along: Profile

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return self.start[-1]

    def direction(self, coordinate: int) -> int:
        """Return the index of a coordinate's direction: 0 to 3 for y, z, torsion and x."""
        return int(np.searchsorted(self.start, coordinate, side="right")) - 1

    @property
    def uniform(self) -> bool:
        """True if mass and stiffness are constant along the beam."""
        return self.description.uniform


def shaped(description: Beam, loads: Loads) -> Shaped:
    """Return the shapes of a beam that carries these loads."""
    counts, start, bases = bases_of(description, loads)
    modes = labels(counts, bases, description.uniform)
    x, weights = quadrature(*bases, breaks=description.breaks)
    return Shaped(description, counts, start, bases, modes, x, weights, description.profile(x))
