"""Functions of x that make up the positions of a beam's points: x itself, its shapes, and products of two modes."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from flexarm.mechanics.modal import Fields, integrals, named_mean, named_product
from flexarm.mechanics.parameters import Name
from flexarm.mechanics.second import Pair
from flexarm.mechanics.shaped import Shaped
from flexarm.mechanics.spatial import Matrix, Scalar, Vector, zeros


@dataclass(frozen=True)
class BeamFields:
    """The fields of a `Shaped`: first x, then the modes, then pairs of modes.

    Attributes
    ----------
    axis : (fields,)
        Axis of each field: 0, 1 or 2.
    label : (fields,)
        Name of each field.
    values : x, (points,) -> (points, fields)
        Values at points from 0 to 1.
    place : (modes of y, z and x,)
        The coordinate of each field of a mode.
    pairs : list of Pair
        Two coordinates whose product, with its sign, is the amplitude of each further field.
    """

    axis: list[int]
    label: list[str]
    values: Callable[[np.ndarray], np.ndarray]
    place: list[int]
    pairs: list[Pair]

    def sizes(self, length: Scalar) -> Vector:
        """Return the factor of each dimensionless field."""
        return [length] + [1.0] * len(self.place) + [1.0 / length**pair.power for pair in self.pairs]

    def moving(self, eta: Vector) -> tuple[Vector, Matrix]:
        """Return the amplitudes of the fields, and their slopes with respect to eta."""
        z: Vector = [1.0] + [eta[p] for p in self.place]
        V = zeros(len(self.axis), len(eta))
        for row, p in enumerate(self.place, start=1):
            V[row][p] = 1.0
        for row, pair in enumerate(self.pairs, start=1 + len(self.place)):
            z.append(pair.sign * (eta[pair.i] * eta[pair.j]))
            V[row][pair.i] = V[row][pair.i] + pair.sign * eta[pair.j]
            V[row][pair.j] = V[row][pair.j] + pair.sign * eta[pair.i]
        return z, V


def beam_fields(beam: Shaped, pairs: list[Pair]) -> BeamFields:
    """Return x, the modes along y, z and x, and the displacements by pairs."""
    axis, label = [0], ["x"]
    place: list[int] = []
    for d, direction in ((1, 0), (2, 1), (0, 3)):
        axis += [d] * beam.counts[direction]
        place += range(beam.start[direction], beam.start[direction + 1])
    label += [beam.modes[p] for p in place]
    moved = [pair for pair in pairs if pair.of < 3]
    axis += [pair.of for pair in moved]
    label += [pair.label for pair in moved]

    def values(x: np.ndarray) -> np.ndarray:
        shapes = [beam.bases[direction].values(x) for direction in (0, 1, 3)]
        return np.column_stack([x, *shapes, *(pair.g(x) for pair in moved)])

    return BeamFields(axis, label, values, place, moved)


def modal_integrals(beam: Shaped, fields: BeamFields, mass: Scalar, length: Scalar, name: Name) -> Fields:
    """Return the fields' integrals over the beam's mass."""
    size = fields.sizes(length)
    share = beam.along.m * beam.weights / (beam.along.m @ beam.weights)
    mean, products = integrals(fields.values(beam.x), share)
    first = [mass * s * named_mean(name, f, v, beam.uniform) for s, f, v in zip(size, fields.label, mean, strict=True)]
    second = [
        [
            mass * (size[i] * size[j]) * named_product(name, fields.label[i], fields.label[j], v, beam.uniform)
            for j, v in enumerate(row)
        ]
        for i, row in enumerate(products)
    ]
    return Fields(fields.axis, first, second, mass)
