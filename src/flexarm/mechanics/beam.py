"""Beams with assumed modes."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from flexarm.description.arm import DIRECTIONS, Beam
from flexarm.mechanics.body import Body, Loads, bordered, without_rounding
from flexarm.mechanics.damping import material_damping, named_damping
from flexarm.mechanics.fields import beam_fields, modal_integrals
from flexarm.mechanics.lumps import carried, riding, with_points
from flexarm.mechanics.modal import named_stiffness, per_length, tip_functions
from flexarm.mechanics.parameters import Name, value_of
from flexarm.mechanics.second import Pair, pairs_of, with_pairs
from flexarm.mechanics.shaped import Shaped, shaped
from flexarm.mechanics.spatial import Matrix, Scalar, Vector, added, dot, product
from flexarm.mechanics.strain import stiffness
from flexarm.mechanics.turning import turning


def beam(description: Beam, loads: Loads, name: Name = value_of) -> Body:
    """Return a beam with assumed modes: r(x) = x e_x + sum phi_j(x) eta_j along y, z and x, and torsion about x.

    With foreshortening, positions and rotations are of second order (`second`). For example, r_x decreases by 1/2
    int_0^x (u_y'^2 + u_z'^2) (Mohan & Saha eq. 1b, sign corrected). Each pair of modes adds one field with the
    amplitude eta_i eta_j, and a term of the tip's angles.
    """
    own = shaped(description, loads)
    length = name("L", "length", description.length, "m", "length")
    known, whole = description.total_mass, description.length
    mass = name("m", "mass", known, "kg", "mass", per_length(description.mass, known, length / whole))
    counts, start, bases, k = own.counts, own.start, own.bases, own.size

    # 1. motion, rotation and strain
    pairs = pairs_of(own)
    inertia, inert = _inertia(own, pairs, mass, length, name)
    strained = stiffness(own, name, length)

    # 2. position of the tip
    tip = tip_functions(bases, start, length, description.next_joint, name, own.modes)
    at_tip = [pair.at_tip(name) for pair in pairs]

    def second_order_tip(eta: Vector) -> Vector:
        return with_pairs(tip(eta), pairs, at_tip, length, eta, description.next_joint == "chord")

    # 3. damping
    rigid = [
        named_stiffness(description, name, d) / description.stiffness[direction] if counts[d] else 1.0
        for d, direction in enumerate(DIRECTIONS)
    ]
    powers = [inert[d] * rigid[d] * (whole / length) ** (3 if d < 2 else 1) for d in range(4)]
    M, K = _at_rest(inertia, k), strained
    M_known, K_known = (np.array(A, float).reshape(k, k) for A in ((M, K) if name is value_of else _numbers(own)))
    damping = named_damping(M_known, K_known, description, start, name, powers)
    material = material_damping(description, name)
    if material is not None:
        damping = [added(row, more) for row, more in zip(damping, material(M, K), strict=True)]

    # 4. quantities for drawings
    def curvature(station: float, eta: Vector) -> Vector:
        return [
            1.0 / length**2 * dot(bases[d].turned(station, 1)[0].tolist(), eta[start[d] : start[d + 1]]) for d in (0, 1)
        ]

    def line(station: float, eta: Vector) -> Vector:
        at = np.array([station])
        shapes = [basis.values(at)[0].tolist() for basis in bases]
        slopes = [basis.turned(at)[0].tolist() for basis in bases[:2]]
        y, z, torsion, axial = (dot(f, eta[a:b]) for f, (a, b) in zip(shapes, pairwise(start), strict=True))
        turned = [dot(f, eta[a:b]) / length for f, (a, b) in zip(slopes, pairwise(start[:3]), strict=True)]
        here = [float(pair.g(at)[0]) for pair in pairs]
        return with_pairs([station * length + axial, y, z, *turned, torsion], pairs, here, length, eta)

    def bending_moment(station: float, eta: Vector) -> Vector:
        at, bent = description.profile(station), curvature(station, eta)
        return [float(EI[0]) * rigid[d] * bent[d] for d, EI in ((0, at.EI_y), (1, at.EI_z))]

    return Body(
        size=k,
        inertia=inertia,
        potential=lambda q, eta: 0.5 * dot(eta, product(strained, eta)),
        damping=bordered(damping),
        drive=[0.0] * (1 + k),
        tip=second_order_tip,
        rest=(0.0,) * k,
        flexible=tuple(range(k)),
        root=_root(own, length, name),
        bending_moment=bending_moment,
        curvature=curvature,
        line=line,
    )


def _inertia(
    own: Shaped, pairs: list[Pair], mass: Scalar, length: Scalar, name: Name
) -> tuple[Callable[[Vector], Matrix], list[Scalar]]:
    """Return the inertia over (v, w, r, eta_dot), and each direction's inertia relative to the description."""
    description = own.description
    moved = beam_fields(own, pairs)
    fields = modal_integrals(own, moved, mass, length, name)
    sections = turning(own, name, length)
    lumps = riding(description.lumps, name)
    fields = with_points(fields, moved, [lump for lump in lumps if lump.is_point], length)
    bodies = [carried(own, moved, pairs, lump, length) for lump in lumps if not lump.is_point]

    def inertia(eta: Vector) -> Matrix:
        z, V = moved.moving(eta)
        M = fields.inertia(z, V)
        sections.added(M)
        for add in bodies:
            add(M, eta, z, V)
        return M

    factor = mass / description.total_mass
    return inertia, [factor, factor, sections.factor, factor]


def _at_rest(inertia: Callable[[Vector], Matrix], k: int) -> Matrix:
    """Return the inertia over eta_dot of the undeformed link."""
    return [row[7:] for row in inertia([0.0] * k)[7:]]


def _numbers(own: Shaped) -> tuple[Matrix, Matrix]:
    """Return the inertia over eta_dot at rest and the stiffness, as described.

    Pairs of modes do not contribute at rest.
    """
    length = own.description.length
    inertia, _ = _inertia(own, [], own.description.total_mass, length, value_of)
    return _at_rest(inertia, own.size), stiffness(own, value_of, length)


def _root(own: Shaped, length: Scalar, name: Name) -> Callable[[Vector], Vector]:
    """Return a function for the slopes in y and z at the hub."""
    values = [without_rounding(np.append(basis.turned(0.0)[0], 1.0))[:-1] for basis in own.bases[:2]]
    slopes = [
        name(f"dphi0_{m}", f"root_slope.{m}", float(v), "", f"phi_{m}'(0)")
        for m, v in zip(own.modes, np.concatenate(values), strict=False)
    ]
    return lambda eta: [dot(slopes[a:b], eta[a:b]) / length for a, b in pairwise(own.start[:3])]
