"""Beams that slide out of a hub (Theodore & Ghosal 1997). Their shapes may follow the load as the length changes."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, final

import numpy as np

from flexarm.description.arm import Beam, Telescope
from flexarm.mechanics.body import Body, Loads, bordered, frame_inertia
from flexarm.mechanics.damping import Material, material_damping, named_damping
from flexarm.mechanics.modal import (
    Fields,
    bases_of,
    integrals,
    labels,
    named_curvature,
    named_mean,
    named_product,
    named_stiffness,
    tip_deflections,
    tip_slopes,
)
from flexarm.mechanics.parameters import AtLength, Label, Name, label, value_of
from flexarm.mechanics.series import Series, interpolated
from flexarm.mechanics.spatial import Matrix, Scalar, Vector, dot, product, scaled, zeros
from flexarm.mechanics.telescope_shapes import ShapesAlong, following, shapes_along
from flexarm.shapes import DIRECTIONS


def telescope(description: Beam, joint: Telescope, loads: Loads, name: Name = value_of) -> Body:
    """Return a beam that slides out of a hub along its own axis (Theodore & Ghosal 1997); eta = (l, amplitudes xi).

    The base frame stays at the hub's mouth. The free part is s = l x, x in (0, 1): r = s e_x + sum psi_j(x, l) xi_j. A
    particle keeps its distance from the tip, so its velocity is

        l_dot e_x + sum psi_j xi_dot_j + (psi_j' (1 - x) / l + d psi_j / dl) l_dot xi_j

    The paper's eq. 24 differentiates at fixed s instead: -x psi_j' for (1 - x) psi_j' (convection = "paper"). The part
    in the hub, s in (l - l0, 0), moves with l_dot along the axis and turns with the hub (eq. 28). The same holds for
    stretch, psi_j along x, and for torsion: a particle's section turns about x at the rate

        w_x + sum psi_j xi_dot_j + (psi_j' (1 - x) / l) l_dot xi_j

    and that of a particle in the hub at w_x. The part in the hub is neither bent, twisted nor stretched.

    Shapes depend on l if `wave_numbers` follow the ratio of load and beam (eqs. 9, 11). Modal integrals are then named
    functions of l, Chebyshev series from `SHORTEST` of the total length on. Such a shape is scaled to a largest
    deflection of 1 at the nominal length and keeps the integral of its square, so that it changes smoothly.
    """
    beam = _sliding_beam(description, joint, loads)
    series = _integrals_along(beam)
    numbers = _numbers(beam, series, name)
    tip = _tip(beam, name)
    damping = _modal_damping(beam, numbers, beam.split(series.values(beam.rest).tolist()), name)
    material = material_damping(description, name)
    n, shapes = beam.size, beam.shapes
    return Body(
        size=1 + n,
        inertia=lambda eta: _inertia(beam, numbers, eta),
        potential=lambda q, eta: _potential(beam, numbers, eta),
        damping=bordered(damping, before=2),
        straining=None if material is None else lambda eta: _straining(beam, numbers, material, eta),
        drive=[0.0, 1.0] + [0.0] * n,
        tip=tip,
        rest=(beam.rest, *([0.0] * n)),
        flexible=tuple(range(1, 1 + n)),
        limits=((0, shapes.low if len(shapes.lengths) > 1 else 0.0, description.length),),
        convects=joint.convection == "paper",
        bending_moment=lambda station, eta: _bent(beam, numbers.rigidity, station, eta),
        curvature=lambda station, eta: _bent(beam, [1.0] * n, station, eta),
        line=lambda station, eta: _line(beam, station, eta),
    )


# -- the beam and its numbers ------------------------------------------------------------------------------------------


class Integrals(NamedTuple):
    """Modal integrals over the free part at a length: means over x in (0, 1).

    Attributes
    ----------
    first, second : (points,), (points, points)
        Of the fields that move points, and of their products.
    strained : (n, n)
        Of products of the shapes' strains.
    turned : (sections, sections)
        Of products of the fields that turn sections.
    """

    first: Vector
    second: Matrix
    strained: Matrix
    turned: Matrix


AXIS = {0: 1, 1: 2, 3: 0}
"""Axis along which each direction moves points. Torsion moves none."""


@final
@dataclass(frozen=True)
class SlidingBeam:
    """The beam of a telescope with its shapes, and its coordinates xi.

    Attributes
    ----------
    rest : float
        Nominal free length [m].
    start : (5,)
        Start of each direction in xi.
    direction : (n,)
        Index of each coordinate's direction: 0 to 3 for y, z, torsion and x.
    modes : (n,)
        Name of each coordinate's shape.
    """

    description: Beam
    joint: Telescope
    shapes: ShapesAlong
    rest: float
    start: list[int]
    direction: list[int]
    modes: list[str]

    @property
    def size(self) -> int:
        """Number of coordinates xi."""
        return self.start[-1]

    @property
    def twists(self) -> list[int]:
        """Coordinates that turn sections about x."""
        return list(range(self.start[2], self.start[3]))

    @property
    def moves(self) -> list[int]:
        """Coordinates that move points."""
        return [j for j in range(self.size) if j not in self.twists]

    @property
    def axes(self) -> list[int]:
        """Axis of each field that moves points: 0, 1 or 2."""
        along = [AXIS[self.direction[j]] for j in self.moves]
        return [0, 0, *along, *along]

    @property
    def point_fields(self) -> list[str]:
        """Labels of the fields that move points: x, 1, psi_j, and the convective term of psi_j, over xi_j l_dot / l."""
        moving = [self.modes[j] for j in self.moves]
        return ["x", "one", *moving, *(f"s{mode}" for mode in moving)]

    @property
    def section_fields(self) -> list[str]:
        """Labels of the fields that turn sections: 1, psi_j, and the convective term of psi_j."""
        turning = [self.modes[j] for j in self.twists]
        return ["one", *turning, *(f"s{mode}" for mode in turning)]

    def split(self, numbers: Vector) -> Integrals:
        """Return the modal integrals from their list, in the order of `_integrals_along`."""
        points, sections = len(self.point_fields), len(self.section_fields)
        ends = np.cumsum([0, points, points**2, self.size**2, sections**2]).tolist()
        first, second, strained, turned = (numbers[a:b] for a, b in pairwise(ends))
        return Integrals(first, _rows(second, points), _rows(strained, self.size), _rows(turned, sections))


def _rows(numbers: Vector, size: int) -> Matrix:
    """Return a square matrix from its entries."""
    return [numbers[r * size : (r + 1) * size] for r in range(size)]


def _sliding_beam(description: Beam, joint: Telescope, loads: Loads) -> SlidingBeam:
    rest = joint.free_length or description.length
    counts, start, bases = bases_of(description, loads)
    follows = following(description, joint)
    return SlidingBeam(
        description,
        joint,
        shapes_along(description, joint, loads, rest),
        rest,
        start,
        direction=[d for d in range(4) for _ in range(counts[d])],
        modes=labels(counts, bases, uniform=follows["y"] == follows["z"]),
    )


@final
@dataclass(frozen=True)
class Numbers:
    """Numbers of a telescope's beam, as values or symbols.

    Attributes
    ----------
    mass, m, total : scalar
        Mass [kg], mass per length [kg/m] and length [m] of the beam, with the part in the hub.
    integrals_at : length -> (integrals,)
        Modal integrals at a free length, in the order of `_integrals_along`.
    rigidity : (n,)
        EI, GJ or EA in the direction of each coordinate.
    spin : scalar
        Moment of inertia of all sections about x [kg m^2].
    """

    mass: Scalar
    m: Scalar
    total: Scalar
    integrals_at: AtLength
    rigidity: Vector
    spin: Scalar


def _numbers(beam: SlidingBeam, series: Series, name: Name) -> Numbers:
    """Return the numbers of a beam by their names, with its modal integrals as functions of the length."""
    description = beam.description
    mass = name("m", "mass", description.total_mass, "kg", "mass")
    total = name("L", "length", description.length, "m", "length")
    m = mass / total
    integrals_at = name.along(_labels(beam), series)
    rigidity = [named_stiffness(description, name, d) for d in beam.direction]
    polar = description.rho_Ip * description.length
    spin = name("Jx", "polar_inertia", polar, "kg m^2", "moment of inertia about the beam's axis")
    return Numbers(mass, m, total, integrals_at, rigidity, spin)


# -- modal integrals as functions of the length ------------------------------------------------------------------------


def _integrals_along(beam: SlidingBeam) -> Series:
    """Return the modal integrals as functions of the free length: first, second, strained, turned of `Integrals`."""
    shapes, x, weights = beam.shapes, beam.shapes.x, beam.shapes.weights
    one = np.ones_like(x)
    carried = (1.0 - x if beam.joint.convection == "material" else -x)[:, None]  # the paper's eq. 24: -x
    same_direction = np.equal.outer(beam.direction, beam.direction)
    tables = []
    for length, psi, slope, change, strain in zip(shapes.lengths, *_samples(beam), strict=True):
        sliding = carried * slope + length * change
        points = np.column_stack([x, one, psi[:, beam.moves], sliding[:, beam.moves]])
        sections = np.column_stack([one, psi[:, beam.twists], sliding[:, beam.twists]])
        first, second = integrals(points, weights)
        strained = same_direction * integrals(strain, weights)[1]
        turned = integrals(sections, weights)[1]
        tables.append(np.concatenate([first, second.ravel(), strained.ravel(), turned.ravel()]))
    return interpolated(shapes.low, shapes.high, shapes.lengths, np.array(tables))


def _samples(beam: SlidingBeam) -> list[np.ndarray]:
    """Return psi, psi', d psi / dl and the strains at each length and point, (lengths, points, n) each."""
    shapes = beam.shapes
    shape = len(shapes.lengths), len(shapes.x), beam.size  # -1 would be ambiguous without modes
    sampled = (
        shapes.values.values(shapes.lengths),
        shapes.slopes.values(shapes.lengths),
        shapes.values.slopes(shapes.lengths),
        shapes.strains.values(shapes.lengths),
    )
    return [s.reshape(shape) for s in sampled]


def _labels(beam: SlidingBeam) -> list[Label | float]:
    """Return the labels of the modal integrals, in their order, or values that do not depend on the shapes."""
    points, sections = beam.point_fields, beam.section_fields
    found = [named_mean(label, f, 0.0, True) for f in points]
    found += [named_product(label, one, other, 0.0, True) for one in points for other in points]
    both = list(zip(beam.modes, beam.direction, strict=True))
    found += [
        named_curvature(label, one, other, 0.0, 2 if p < 2 else 1) if p == q else 0.0
        for one, p in both
        for other, q in both
    ]
    return found + [named_product(label, one, other, 0.0, True) for one in sections for other in sections]


# -- inertia -----------------------------------------------------------------------------------------------------------


def _inertia(beam: SlidingBeam, numbers: Numbers, eta: Vector) -> Matrix:
    """Return M over (v, w, r, l_dot, xi_dot): of the points and of the sections, in the free part and in the hub."""
    length, xi = eta[0], eta[1:]
    modal = beam.split(numbers.integrals_at(length))
    free, inside = _free_points(beam, numbers, modal, length, xi), _points_in_hub(beam, numbers, length)
    M = [[a + b for a, b in zip(mine, theirs, strict=True)] for mine, theirs in zip(free, inside, strict=True)]
    M[3][3] = M[3][3] + numbers.spin
    if beam.twists:
        share = numbers.spin / numbers.total * length
        _add_twist(beam, M, [scaled(share, row) for row in modal.turned], length, xi)
    return M


def _free_points(beam: SlidingBeam, numbers: Numbers, modal: Integrals, length: Scalar, xi: Vector) -> Matrix:
    """Return the inertia of the free part's points (eq. 29), without that of sections that turn about x."""
    m, moves = numbers.m, beam.moves
    fields = Fields(beam.axes, scaled(m, modal.first), [scaled(m, row) for row in modal.second], m)
    z = [length, 0.0, *(xi[j] for j in moves), *([0.0] * len(moves))]
    V = _rates(moves, length, xi, before=2)
    V[1][0] = 1.0
    return fields.inertia(z, V, scale=length)


def _rates(coordinates: list[int], length: Scalar, xi: Vector, before: int) -> Matrix:
    """Return V of the rates V (l_dot, xi_dot) of fields: some `before`, then psi_j, then their convective terms."""
    V = zeros(before + 2 * len(coordinates), 1 + len(xi))
    for row, j in enumerate(coordinates, start=before):
        V[row][1 + j] = 1.0
        V[row + len(coordinates)][0] = xi[j] / length
    return V


def _points_in_hub(beam: SlidingBeam, numbers: Numbers, length: Scalar) -> Matrix:
    """Return the inertia of the part in the hub, which moves with l_dot and turns with the hub (eq. 28)."""
    m, hidden = numbers.m, numbers.total - length
    turning = m * hidden**3 / 3
    first = [-(m * hidden**2 / 2), 0.0, 0.0]
    M = frame_inertia(m * hidden, first, np.diag([0.0, 1.0, 1.0]).tolist(), 1 + beam.size)
    M[4][4] = M[5][5] = turning
    M[0][7] = M[7][0] = M[7][7] = m * hidden
    return M


def _add_twist(beam: SlidingBeam, M: Matrix, turned: Matrix, length: Scalar, xi: Vector) -> None:
    """Add the inertia of the free part's sections that turn about x with the rates of torsion V (l_dot, xi_dot)."""
    V = _rates(beam.twists, length, xi, before=1)
    rates = [0, *(1 + j for j in beam.twists)]
    for c in rates:
        column = [row[c] for row in V]
        M[3][7 + c] = M[7 + c][3] = M[3][7 + c] + dot(turned[0], column)
        for e in rates:
            M[7 + c][7 + e] = M[7 + c][7 + e] + dot(product(turned, column), [row[e] for row in V])


# -- strain energy and damping -----------------------------------------------------------------------------------------


def _power(direction: int) -> int:
    """Return p of the stiffness EI / l^p, GJ / l^p or EA / l^p."""
    return 3 if direction < 2 else 1


def _stiffness(numbers: Numbers, modal: Integrals) -> Matrix:
    """Return the stiffness matrix without its power of the length."""
    return [scaled(EI, row) for EI, row in zip(numbers.rigidity, modal.strained, strict=True)]


def _potential(beam: SlidingBeam, numbers: Numbers, eta: Vector) -> Scalar:
    """Return the strain energy of the free part: of bending (eq. 31), then of torsion and stretch."""
    length, xi, bends = eta[0], eta[1:], beam.start[2]
    K = _stiffness(numbers, beam.split(numbers.integrals_at(length)))
    energy = 0.5 * _quadratic(K, xi, slice(0, bends)) / length**3
    if bends == beam.size:
        return energy
    return energy + 0.5 * _quadratic(K, xi, slice(bends, beam.size)) / length


def _quadratic(K: Matrix, xi: Vector, block: slice) -> Scalar:
    """Return xi' K xi over a block of coordinates."""
    return dot(xi[block], product([row[block] for row in K[block]], xi[block]))


def _modal_damping(beam: SlidingBeam, numbers: Numbers, at_rest: Integrals, name: Name) -> Matrix:
    """Return the damping over xi_dot that gives the modes at the nominal length their damping ratios."""
    description, rest, n = beam.description, beam.rest, beam.size
    M, K = np.zeros((n, n)), np.zeros((n, n))
    points, sections = slice(2, 2 + len(beam.moves)), slice(1, 1 + len(beam.twists))
    M[np.ix_(beam.moves, beam.moves)] = description.m * rest * np.array(at_rest.second)[points, points]
    M[np.ix_(beam.twists, beam.twists)] = description.rho_Ip * rest * np.array(at_rest.turned)[sections, sections]
    M *= np.equal.outer(beam.direction, beam.direction)
    known = description.stiffness
    for j, d in enumerate(beam.direction):
        K[:, j] = known[DIRECTIONS[d]] / rest ** _power(d) * np.array(at_rest.strained)[:, j]
    return named_damping(M, K, description, beam.start, name, _relative(beam, numbers))


def _relative(beam: SlidingBeam, numbers: Numbers) -> Vector:
    """Return, for each direction, the product of the factors of inertia and stiffness relative to the description."""
    description, polar = beam.description, beam.description.rho_Ip * beam.description.length
    mass = description.total_mass
    inertia = [numbers.mass / mass, numbers.mass / mass, numbers.spin / polar if polar else 1.0, numbers.mass / mass]
    rigidity = dict(zip(beam.direction, numbers.rigidity, strict=True))
    return [
        x * (rigidity[d] / description.stiffness[DIRECTIONS[d]] if d in rigidity else 1.0)
        for d, x in enumerate(inertia)
    ]


def _straining(beam: SlidingBeam, numbers: Numbers, material: Material, eta: Vector) -> Matrix:
    """Return the material's damping of the current free part, over the rates of l and xi.

    It uses the strain rate at a fixed place.

    A particle that leaves the hub is bent at once to the curvature at the mouth. A Kelvin-Voigt material would then
    dissipate without bound. The contribution of l_dot alone to the strain rate is therefore omitted.
    """
    length, direction = eta[0], beam.direction
    modal = beam.split(numbers.integrals_at(length))
    points, share = [scaled(numbers.m, row) for row in modal.second], numbers.spin / numbers.total
    sections = [scaled(share, row) for row in modal.turned]
    M = zeros(beam.size, beam.size)
    for first, own, whole in ((2, beam.moves, points), (1, beam.twists, sections)):
        for a, i in enumerate(own, start=first):
            for b, j in enumerate(own, start=first):
                M[i][j] = length * whole[a][b] if direction[i] == direction[j] else 0.0
    K = [scaled(1.0 / length ** _power(d), row) for d, row in zip(direction, _stiffness(numbers, modal), strict=True)]
    return bordered(material(M, K))


# -- positions and strains of sections ---------------------------------------------------------------------------------


def _placed(beam: SlidingBeam, station: float, deflection: Vector, slope: Vector, eta: Vector) -> Vector:
    """Return position and angles of a section, from the shapes' values and slopes there."""
    length, xi = eta[0], eta[1:]
    y, z, torsion, axial = (dot(deflection[a:b], xi[a:b]) for a, b in pairwise(beam.start))
    angle = [dot(slope[a:b], xi[a:b]) / length for a, b in pairwise(beam.start[:3])]
    return [station * length + axial, y, z, *angle, torsion]


def _line(beam: SlidingBeam, station: float, eta: Vector) -> Vector:
    """Return position and angles of the section at a station."""
    values = beam.shapes.ends_at(station).at(eta[0])
    return _placed(beam, station, values[: beam.size], values[beam.size :], eta)


def _tip(beam: SlidingBeam, name: Name) -> Callable[[Vector], Vector]:
    """Return the six tip functions. The next joint's angle is relative to the slope at the tip, or to the chord."""
    n, bends, chord = beam.size, beam.start[2], beam.description.next_joint == "chord"
    ends = tip_deflections(label, beam.modes, np.zeros(n)) + tip_slopes(label, beam.modes[:bends], np.zeros(bends))
    ends_at = name.along(ends, beam.shapes.ends_at(1.0))

    def tip(eta: Vector) -> Vector:
        values = ends_at(eta[0])
        return _placed(beam, 1.0, values[:n], values[:n] if chord else values[n:], eta)

    return tip


def _bent(beam: SlidingBeam, rigidity: Vector, station: float, eta: Vector) -> Vector:
    """Return the bending moments along y and z at a station, or for a rigidity of 1 the curvatures."""
    psi = beam.shapes.strains_at(station).at(eta[0])
    share = [rigidity[j] * psi[j] * eta[1 + j] / eta[0] ** 2 for j in range(beam.start[2])]
    return [sum(share[a:b], 0.0) for a, b in pairwise(beam.start[:3])]
