"""Second-order kinematics: products of two coordinates in the positions of a beam's points and sections.

The modes define the strain of a beam: curvatures V'' and -W'' about its sections' own axes, the twist theta', and the
stretch A'. The strain energy is then quadratic in the coordinates, for any rotation of the sections. With R = Rz(a)
Ry(-b) Rx(phi) for the rotation of a section and r for its position,

    R' = R [theta', -W'', V'']x     r' = (1 + A') R e_x

give to second order in the amplitudes

    phi = theta - int V'' W'            u = A - 1/2 int (V'^2 + W'^2)
    a   = V' - int theta W''            v = V + int A' V' - int int theta W''
    b   = W' + int theta V''            w = W + int A' W' + int int theta V''

With shear, r' = R (1 + A', gamma_y, gamma_z), and sections turn by psi = V' - gamma_y, chi = W' - gamma_z: psi and chi
replace V' and W' in all but the first terms of v and w, and

    u = A - 1/2 int (psi^2 + chi^2) - int (psi gamma_y + chi gamma_z)
    v = V + ... - int theta gamma_z     w = W + ... + int theta gamma_y
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations_with_replacement, pairwise, product
from typing import NamedTuple

import numpy as np

from flexarm.mechanics.parameters import Name
from flexarm.mechanics.shaped import Shaped
from flexarm.mechanics.spatial import Scalar, Vector
from flexarm.shapes.basis import gauss

Along = Callable[[np.ndarray], np.ndarray]
"""A function of x in [0, 1], evaluated at points."""


class Kind(NamedTuple):
    """Names of the function of a pair: a letter, the name of its value at the tip, and its formula."""

    letter: str
    field: str
    meaning: str


SHORTENING = Kind("g", "tip_shortening", "int_0^x phi' phi'")
STRETCH = Kind("e", "tip_stretch", "int_0^x phi' phi'")
SWING = Kind("h", "tip_swing", "int_0^x int phi phi''")
SWING_SLOPE = Kind("dh", "tip_swing_slope", "int_0^x phi phi''")
TWIST = Kind("r", "tip_twist", "int_0^x phi'' phi'")


@dataclass(frozen=True)
class Pair:
    """A term sign g(x) eta_i eta_j / L^power of one of the six functions that place and turn a section.

    Attributes
    ----------
    of : int
        Index of the function: a displacement along x, y or z, the slope in y or z, the torsion.
    marks : str
        The names of both modes.
    """

    of: int
    i: int
    j: int
    sign: float
    power: int
    kind: Kind
    marks: str
    g: Along

    @property
    def label(self) -> str:
        """Name of g."""
        return self.kind.letter + self.marks

    def at_tip(self, name: Name) -> Scalar:
        """Return g(1)."""
        letter, field, meaning = self.kind
        value = float(self.g(np.ones(1))[0])
        return name(
            f"{letter}_{self.marks}", f"{field}.{self.marks}", value, "", f"{meaning} of {self.marks} at the tip"
        )


def pairs_of(beam: Shaped) -> list[Pair]:
    """Return the pairs of a beam with foreshortening, displacements before rotations. Other beams have none."""
    if not beam.description.foreshortening:
        return []
    y, z, torsion, axial = (range(a, b) for a, b in pairwise(beam.start))
    moves: list[Pair] = []
    turns: list[Pair] = []
    for plane in (y, z):
        for i, j in combinations_with_replacement(plane, 2):
            moves.append(_pair(beam, 0, (i, 1), (j, 1), -1.0, 1, SHORTENING))
    for along, across, plane, sign in ((1, 2, y, 1.0), (2, 1, z, -1.0)):
        for i, j in product(axial, plane):
            moves.append(_pair(beam, along, (i, 1), (j, 1), 1.0, 1, STRETCH))
        for i, j in product(torsion, plane):  # torsion turns bending in one direction into the other
            moves.append(_pair(beam, across, (i, 0), (j, 2), sign, 0, SWING))
            turns.append(_pair(beam, 2 + across, (i, 0), (j, 2), sign, 1, SWING_SLOPE))
    for i, j in product(y, z):
        turns.append(_pair(beam, 5, (i, 2), (j, 1), -1.0, 2, TWIST))
    return moves + turns


def with_pairs(
    section: Vector, pairs: list[Pair], g: Vector, length: Scalar, eta: Vector, chord: bool = False
) -> Vector:
    """Return a section's position and angles plus the pairs' terms, from their functions there.

    The angles may be those of the chord.
    """
    found = list(section)
    for pair, value in zip(pairs, g, strict=True):
        amount = pair.sign * (value / length**pair.power * (eta[pair.i] * eta[pair.j]))
        if not (chord and pair.of in (3, 4)):
            found[pair.of] = found[pair.of] + amount
        if chord and pair.of in (1, 2):
            found[2 + pair.of] = found[2 + pair.of] + amount / length
    return found


def _pair(
    beam: Shaped, of: int, one: tuple[int, int], other: tuple[int, int], sign: float, power: int, kind: Kind
) -> Pair:
    """Return the pair of two coordinates, each given with the order of its shape's derivative."""
    i, j = one[0], other[0]
    g = _running(beam, one, other, 0.5 if i == j else 1.0, kind)
    return Pair(of, i, j, sign, power, kind, f"{beam.modes[i]}_{beam.modes[j]}", g)


def _running(beam: Shaped, one: tuple[int, int], other: tuple[int, int], factor: float, kind: Kind) -> Along:
    """Return g(x): `factor` times the integral from 0 to x of a product of two shapes' derivatives, or its integral."""
    bases = [beam.bases[beam.direction(mode)] for mode, _ in (one, other)]
    bends = [beam.direction(mode) < 2 for mode, _ in (one, other)]
    columns = [mode - beam.start[beam.direction(mode)] for mode, _ in (one, other)]
    orders = (one[1], other[1])
    smooth = np.unique([*bases[0].breaks, *bases[1].breaks, *np.linspace(0.0, 1.0, 1 + max(b.count for b in bases))])
    t, w = gauss(24)
    shears = bases[1].rotation is not None

    def integrals(edges: np.ndarray) -> np.ndarray:
        """Return integrals between edges of the product, of s times it, and of the shear terms: (3, len(edges) - 1)."""
        half, middle = np.diff(edges)[:, None] / 2, (edges[1:] + edges[:-1])[:, None] / 2
        s, ds = (middle + half * t).ravel(), half * w
        f, g = (
            (basis.turned(s, n - 1) if bent and n else basis.values(s, n))[:, c]
            for basis, bent, c, n in zip(bases, bends, columns, orders, strict=True)
        )
        more = 0.0 * s
        if shears and kind in (SHORTENING, SWING):
            gamma = [
                (basis.values(s, 1) - basis.turned(s))[:, c] if bent else 0.0 * s
                for basis, bent, c in zip(bases, bends, columns, strict=True)
            ]
            more = f * gamma[1] + gamma[0] * g if kind is SHORTENING else f * gamma[1]
        return (np.stack([f * g, s * f * g, more]).reshape(3, *ds.shape) * ds).sum(axis=2)

    def g(x: np.ndarray) -> np.ndarray:
        edges = np.unique(np.concatenate([[0.0], x, smooth[smooth < x.max()]]))
        sums = np.concatenate([np.zeros((3, 1)), np.cumsum(integrals(edges), axis=1)], axis=1)
        total, moment, more = sums[:, np.searchsorted(edges, x)]
        return factor * ((x * total - moment if kind is SWING else total) + more)

    return g
