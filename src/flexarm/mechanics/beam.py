"""Beams with assumed modes."""

from collections.abc import Callable
from itertools import combinations_with_replacement, pairwise

import numpy as np

from flexarm.description.arm import DIRECTIONS, Beam
from flexarm.mechanics.body import Body, Loads, bordered, couple, symmetric, without_rounding
from flexarm.mechanics.modal import (
    Fields,
    _spelled,
    bases_of,
    integrals,
    labels,
    named_curvature,
    named_damping,
    named_mean,
    named_product,
    named_stiffness,
    per_length,
    tip_functions,
)
from flexarm.mechanics.parameters import Name, value_of
from flexarm.mechanics.spatial import Matrix, Scalar, Vector, dot, product, zeros
from flexarm.shapes import Basis, quadrature


def beam(description: Beam, loads: Loads, name: Name = value_of) -> Body:
    """A beam with assumed modes: r(x) = x e_x + sum phi_j(x) eta_j along y, z and x, and torsion about x.

    With foreshortening, r_x is less by 1/2 int_0^x (u_y'^2 + u_z'^2) (Mohan & Saha eq. 1b, sign corrected): one more
    field along x for each pair of modes of a plane, with the amplitude -eta_i eta_j.
    """
    length = name("L", "length", description.length, "m", "length")
    known, whole = description.total_mass, description.length
    mass = name("m", "mass", known, "kg", "mass", per_length(description.mass, known, length / whole))
    counts, start, bases = bases_of(description, loads)
    k = start[-1]
    modes = labels(counts, bases, description.section_tip is None)
    x, weights = quadrature(*bases)
    along = description.profile(x)

    # 1. the fields: x, the modes along y, z and x, and what each pair of modes of a plane takes from r_x
    axis, values, field = [0], [x], ["x"]
    place: list[int] = []  # the coordinate of each field of a mode
    for d, direction in ((1, 0), (2, 1), (0, 3)):
        axis += [d] * counts[direction]
        values += list(bases[direction].values(x).T)
        place += range(start[direction], start[direction + 1])
    field += [modes[p] for p in place]
    pairs: list[tuple[int, int]] = []
    for direction in (0, 1) if description.foreshortening else ():
        pairs += combinations_with_replacement(range(start[direction], start[direction + 1]), 2)
    shortening = [_shortening(bases, start, i, j) for i, j in pairs]
    axis += [0] * len(pairs)
    values += [g(x) for g in shortening]
    field += [f"g{modes[i]}_{modes[j]}" for i, j in pairs]
    size = [length] + [1.0] * len(place) + [1.0 / length] * len(pairs)

    # 2. modal integrals without dimension, and what they are multiplied with
    share = along.m * weights / (along.m @ weights)
    mean, product_ = integrals(np.column_stack(values), share)
    uniform = description.section_tip is None
    first = [mass * s * named_mean(name, f, v, uniform) for s, f, v in zip(size, field, mean, strict=True)]
    second = [
        [
            mass * (size[i] * size[j]) * named_product(name, field[i], field[j], product_[i, j], uniform)
            for j in range(len(size))
        ]
        for i in range(len(size))
    ]
    fields = Fields(axis, first, second, mass)

    rho_Ip = along.rho_Ip @ weights
    polar = rho_Ip * whole
    about = "moment of inertia about the beam's axis"
    spin = name("Jx", "polar_inertia", polar, "kg m^2", about, per_length(None, polar, length / whole))
    twists = range(start[2], start[3])
    share = along.rho_Ip * weights / rho_Ip if rho_Ip else 0.0 * weights
    mean_twist, product_twist = integrals(bases[2].values(x), share)
    twist_first = [spin * named_mean(name, modes[p], v) for p, v in zip(twists, mean_twist, strict=True)]
    twist_second = [
        [spin * named_product(name, modes[p], modes[r], v) for r, v in zip(twists, row, strict=True)]
        for p, row in zip(twists, product_twist, strict=True)
    ]

    stiffness = _stiffness(description, name, bases, start, x, weights, modes, length)

    def inertia(eta: Vector) -> Matrix:
        z: Vector = [1.0] + [eta[p] for p in place]
        V = zeros(len(axis), k)
        for row, p in enumerate(place, start=1):
            V[row][p] = 1.0
        for row, (i, j) in enumerate(pairs, start=1 + len(place)):
            z.append(-(eta[i] * eta[j]))
            V[row][i] = V[row][i] - eta[j]
            V[row][j] = V[row][j] - eta[i]
        M = fields.inertia(z, V)
        M[3][3] = M[3][3] + spin
        for r, p in enumerate(twists):
            couple(M, 7 + p, [0.0, 0.0, 0.0, twist_first[r], 0.0, 0.0])
            M[7 + p][7 + twists.start : 7 + twists.stop] = twist_second[r]
        return M

    tip = tip_functions(bases, start, length, description.next_joint, name, modes)
    drawn = [
        name(f"g_{f[1:]}", f"tip_shortening.{f[1:]}", float(g(np.ones(1))[0]), "", f"{_spelled(f)} at the tip") / length
        for f, g in zip(field[1 + len(place) :], shortening, strict=True)
    ]

    def shortened_tip(eta: Vector) -> Vector:
        s = tip(eta)
        for g, (i, j) in zip(drawn, pairs, strict=True):
            s[0] = s[0] - g * (eta[i] * eta[j])
        return s

    M_eta = np.zeros((k, k))
    same = np.equal.outer(axis[1 : 1 + len(place)], axis[1 : 1 + len(place)])
    M_eta[np.ix_(place, place)] = description.total_mass * (same * product_[1 : 1 + len(place), 1 : 1 + len(place)])
    M_eta[twists.start : twists.stop, twists.start : twists.stop] = rho_Ip * description.length * product_twist
    K = _stiffness(description, value_of, bases, start, x, weights, modes, description.length)
    inert = [mass / known, mass / known, spin / polar if polar else 1.0, mass / known]
    rigid = [
        named_stiffness(description, name, d) / description.stiffness[direction] if counts[d] else 1.0
        for d, direction in enumerate(DIRECTIONS)
    ]
    powers = [inert[d] * rigid[d] * (whole / length) ** (3 if d < 2 else 1) for d in range(4)]
    damping = named_damping(M_eta, np.array(K).reshape(k, k), description, start, name, powers)

    def curvature(station: float, eta: Vector) -> Vector:
        return [
            1.0 / length**2 * dot(bases[d].values(station, 2)[0].tolist(), eta[start[d] : start[d + 1]]) for d in (0, 1)
        ]

    def line(station: float, eta: Vector) -> Vector:
        at = np.array([station])
        shapes = [basis.values(at)[0].tolist() for basis in bases]
        slopes = [basis.values(at, 1)[0].tolist() for basis in bases[:2]]
        y, z, torsion, axial = (dot(f, eta[a:b]) for f, (a, b) in zip(shapes, pairwise(start), strict=True))
        taken = [float(g(at)[0]) * (eta[i] * eta[j]) for g, (i, j) in zip(shortening, pairs, strict=True)]
        turned = [dot(f, eta[a:b]) / length for f, (a, b) in zip(slopes, pairwise(start[:3]), strict=True)]
        return [station * length + axial - sum(taken, 0.0) / length, y, z, *turned, torsion]

    def bending_moment(station: float, eta: Vector) -> Vector:
        at, bent = description.profile(station), curvature(station, eta)
        return [float(EI[0]) * rigid[d] * bent[d] for d, EI in ((0, at.EI_y), (1, at.EI_z))]

    return Body(
        size=k,
        inertia=inertia,
        potential=lambda q, eta: 0.5 * dot(eta, product(stiffness, eta)),
        damping=bordered(damping),
        drive=[0.0] * (1 + k),
        tip=shortened_tip,
        rest=(0.0,) * k,
        flexible=tuple(range(k)),
        root=_root(bases, start, length, name, modes),
        bending_moment=bending_moment,
        curvature=curvature,
        line=line,
    )


def _stiffness(
    description: Beam,
    name: Name,
    bases: list[Basis],
    start: list[int],
    x: np.ndarray,
    weights: np.ndarray,
    modes: list[str],
    length: Scalar,
) -> Matrix:
    """Strain energy's matrix over eta: bending strains by curvature, torsion and stretch by slope."""
    K = zeros(start[-1], start[-1])
    along = description.profile(x)
    for d, (values, order) in enumerate(zip((along.EI_y, along.EI_z, along.GJ, along.EA), (2, 2, 1, 1), strict=True)):
        here = range(start[d], start[d + 1])
        if not here:
            continue
        rigidity = named_stiffness(description, name, d)
        s = bases[d].values(x, order)
        share = values / description.stiffness[DIRECTIONS[d]] * weights
        for i, row in zip(here, without_rounding(symmetric((s.T * share) @ s)), strict=True):
            for j, value in zip(here, row, strict=True):
                K[i][j] = rigidity / length ** (2 * order - 1) * named_curvature(name, modes[i], modes[j], value, order)
    return K


def _root(
    bases: list[Basis], start: list[int], length: Scalar, name: Name, modes: list[str]
) -> Callable[[Vector], Vector]:
    """Slopes in y and z at the hub."""
    values = [without_rounding(np.append(basis.values(0.0, 1)[0], 1.0))[:-1] for basis in bases[:2]]
    slopes = [
        name(f"dphi0_{m}", f"root_slope.{m}", float(v), "", f"phi_{m}'(0)")
        for m, v in zip(modes, np.concatenate(values), strict=False)
    ]
    return lambda eta: [dot(slopes[a:b], eta[a:b]) / length for a, b in pairwise(start[:3])]


def _shortening(bases: list[Basis], start: list[int], i: int, j: int) -> Callable[[np.ndarray], np.ndarray]:
    """g(x) = int_0^x phi_i' phi_j' dx, or half of it where i = j: the pair takes eta_i eta_j g / L from r_x."""
    direction = 0 if j < start[1] else 1
    basis = bases[direction]
    t, w = np.polynomial.legendre.leggauss(24)

    def integral(a: float, b: float) -> float:
        s = basis.values((a + b) / 2 + (b - a) / 2 * t, 1)
        return float(w @ (s[:, i - start[direction]] * s[:, j - start[direction]])) * (b - a) / 2

    def g(x: np.ndarray) -> np.ndarray:
        edges = np.unique(np.concatenate([[0.0], x, [e for e in basis.breaks if e < x.max()]]))
        sums = np.concatenate([[0.0], np.cumsum([integral(a, b) for a, b in pairwise(edges)])])
        return sums[np.searchsorted(edges, x)] * (0.5 if i == j else 1.0)

    return g
