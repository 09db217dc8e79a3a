"""Lumped bodies on a link, and their inertia."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from flexarm.checks import tensor
from flexarm.description.arm import Lump
from flexarm.mechanics.body import frame_inertia
from flexarm.mechanics.fields import BeamFields
from flexarm.mechanics.modal import Fields, along_axes
from flexarm.mechanics.parameters import Name
from flexarm.mechanics.second import Pair
from flexarm.mechanics.shaped import Shaped
from flexarm.mechanics.spatial import (
    Matrix,
    Scalar,
    Vector,
    added,
    cos_sin,
    cross,
    dot,
    is_zero,
    product,
    scaled,
    transposed,
    zeros,
)
from flexarm.mechanics.tensors import about_origin, named_tensor


@dataclass(frozen=True)
class Riding:
    """A lump's numbers: mass, inertia about its centre, and the centre's offset from the section."""

    at: float
    m: Scalar
    I: Matrix
    offset: Vector

    @property
    def is_point(self) -> bool:
        """True if the lump is a point mass on the axis."""
        return all(is_zero(x) for x in (*self.offset, *(x for row in self.I for x in row)))


def riding(lumps: tuple[Lump, ...], name: Name) -> list[Riding]:
    """Return the lumps of a link with named numbers."""
    found = []
    for i, lump in enumerate(lumps, start=1):
        m = name(f"ml_{i}", f"lumps.{i}.mass", lump.mass, "kg", f"mass of lump {i}")
        I = named_tensor(tensor(lump.inertia), name, f"Il{i}", f"lumps.{i}.inertia", f"moment of inertia of lump {i}")
        offset = [
            name(f"ol{axis}_{i}", f"lumps.{i}.offset.{axis}", x, "m", f"offset of lump {i} along {axis}")
            for axis, x in zip("xyz", lump.offset, strict=True)
        ]
        found.append(Riding(lump.at, m, I, offset))
    return found


def _at_lump(fields: BeamFields, lump: Riding, length: Scalar) -> Vector:
    """Return the fields' values at a lump."""
    values = fields.values(np.array([lump.at]))[0]
    return [s * float(v) for s, v in zip(fields.sizes(length), values, strict=True)]


def with_points(integrals: Fields, fields: BeamFields, lumps: list[Riding], length: Scalar) -> Fields:
    """Return the fields' integrals with point masses added, which costs no operations at run time."""
    for lump in lumps:
        f = _at_lump(fields, lump, length)
        integrals = replace(
            integrals,
            mass=integrals.mass + lump.m,
            first=added(integrals.first, scaled(lump.m, f)),
            second=[added(row, scaled(lump.m * x, f)) for row, x in zip(integrals.second, f, strict=True)],
        )
    return integrals


def carried(
    beam: Shaped, fields: BeamFields, pairs: list[Pair], lump: Riding, length: Scalar
) -> Callable[[Matrix, Vector, Vector, Matrix], None]:
    """Return (M, eta, z, V) -> None, which adds a body fixed to a section to an inertia M over (v, w, r, eta_dot).

    z and V are those of `BeamFields.moving`. The section is at p = sum f_i z_i, turned by R = Rz(alpha) Ry(-beta)
    Rx(theta). The body's centre is at c = p + R o, its inertia is R I R', and with the rate of rotation E eta_dot

        v_c = v + w x c + (p_eta + E x R o) eta_dot        w_c = w + E eta_dot
    """
    f, angles_at = _at_lump(fields, lump, length), _section_angles(beam, pairs, lump.at, length)

    def add(M: Matrix, eta: Vector, z: Vector, V: Matrix) -> None:
        R, E = _rotation(*angles_at(eta))
        o = product(R, lump.offset)
        c = added(along_axes(fields.axis, f, z), o)
        J = _turned(lump.I, R)
        p_eta = [along_axes(fields.axis, f, [row[n] for row in V]) for n in range(beam.size)]
        v_eta = [added(p, cross(e, o)) for p, e in zip(p_eta, E, strict=True)]
        _add_body(M, lump.m, c, J, v_eta, E)

    return add


def _section_angles(
    beam: Shaped, pairs: list[Pair], station: float, length: Scalar
) -> Callable[[Vector], tuple[Vector, Matrix]]:
    """Return a function eta -> angles alpha, beta and theta of a section, and their slopes with respect to eta."""
    at = np.array([station])
    slope = [scaled(1.0 / length, basis.turned(at)[0].tolist()) for basis in beam.bases[:2]]
    twist = beam.bases[2].values(at)[0].tolist()
    linear = [
        [0.0] * beam.start[d] + values + [0.0] * (beam.size - beam.start[d + 1])
        for d, values in enumerate((*slope, twist))
    ]
    turns = [(p, p.sign * float(p.g(at)[0]) / length**p.power) for p in pairs if p.of > 2]

    def angles(eta: Vector) -> tuple[Vector, Matrix]:
        values, slopes = [dot(r, eta) for r in linear], [list(r) for r in linear]
        for p, c in turns:
            values[p.of - 3] = values[p.of - 3] + c * (eta[p.i] * eta[p.j])
            slopes[p.of - 3][p.i] = slopes[p.of - 3][p.i] + c * eta[p.j]
            slopes[p.of - 3][p.j] = slopes[p.of - 3][p.j] + c * eta[p.i]
        return values, slopes

    return angles


def _rotation(angles: Vector, slopes: Matrix) -> tuple[Matrix, Matrix]:
    """Return R = Rz(alpha) Ry(-beta) Rx(theta), and for each eta the rate of rotation E that its rate of 1 causes."""
    (ca, sa), (cb, sb), (ct, st) = (cos_sin(angle) for angle in angles)
    e_x = [ca * cb, sa * cb, sb]
    y, up = [-sa, ca, 0.0], [-(ca * sb), -(sa * sb), cb]  # the axes before the rotation by theta
    e_y, e_z = added(scaled(ct, y), scaled(st, up)), added(scaled(-st, y), scaled(ct, up))
    E = [added(added([0.0, 0.0, a], scaled(-b, y)), scaled(t, e_x)) for a, b, t in zip(*slopes, strict=True)]
    return transposed([e_x, e_y, e_z]), E


def _turned(I: Matrix, R: Matrix) -> Matrix:
    """Return R I R'."""
    RI = [product(I, r) for r in R]
    return [[dot(a, r) for r in R] for a in RI]


def _add_body(M: Matrix, m: Scalar, c: Vector, J: Matrix, v_eta: Matrix, w_eta: Matrix) -> None:
    """Add a body with its centre at c and the inertia J about it, which eta_dot moves at v_eta and turns at w_eta."""
    rigid = frame_inertia(m, scaled(m, c), about_origin(J, m, c), 0)
    for r in range(6):
        for s in range(6):
            M[r][s] = M[r][s] + rigid[r][s]
    spun = [product(J, w) for w in w_eta]
    for n, v in enumerate(v_eta):
        force = scaled(m, v)
        wrench = force + added(cross(c, force), spun[n])
        for r in range(6):
            M[r][7 + n] = M[7 + n][r] = M[r][7 + n] + wrench[r]
        for s in range(n, len(v_eta)):
            M[7 + n][7 + s] = M[7 + s][7 + n] = M[7 + n][7 + s] + dot(force, v_eta[s]) + dot(spun[n], w_eta[s])


def on_rigid(lumps: list[Riding], length: Scalar) -> tuple[Scalar, Vector, Matrix]:
    """Return mass, first and second moment of the lumps of a rigid link, about its origin."""
    mass, first, second = 0.0, [0.0] * 3, zeros(3, 3)
    for lump in lumps:
        c = added([lump.at * length, 0.0, 0.0], lump.offset)
        mass, first = mass + lump.m, added(first, scaled(lump.m, c))
        second = [added(row, more) for row, more in zip(second, about_origin(lump.I, lump.m, c), strict=True)]
    return mass, first, second
