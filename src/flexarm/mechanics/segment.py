"""A segment of a beam with large bending: its amplitudes define curvature, twist and stretch.

With xi the amplitudes over the segment's length (those of torsion as they are) and x from 0 to 1 along it,

    kappa = (sum tau_t' xi_t, -sum phi_z'' xi_z, sum phi_y'' xi_y)       curvature in the section's own axes
    R' = R [(kappa_0 + kappa) x],    r' = (1 + sum psi_a' xi_a) R e_x,    R(0) = 1, r(0) = 0

so that the strain energy is quadratic, as in the linear beam. kappa_0 is the constant curvature at rest, usually zero.
With the rotation R_0 at rest, R_0' = R_0 [kappa_0 x], and R = Q R_0,

    Q' = Q [(R_0 kappa) x]

so a curved segment differs from a straight one only in numbers. With shear, r' has the terms (0, gamma_y, gamma_z) in
the section's own axes. The shear forces balance the moments M = (GJ, EI_z, EI_y) kappa of a segment without loads:

    M' + (kappa_0 + kappa) x M + e_x x N = 0,    gamma_y = N_y / kGA_y,    gamma_z = N_z / kGA_z

so the shear strains are polynomials of second degree in xi, and shear needs no further amplitudes. Q and r are solved
for as polynomials in xi (Picard's iteration), truncated at the third degree, and so is the resulting inertia. In a
plane, straight at rest and without shear, R turns by theta = sum phi' xi, and r = (x - 1/2 int theta^2, int theta - 1/6
int theta^3).
"""

from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from typing import NamedTuple

import numpy as np

from flexarm.description.arm import DIRECTIONS, Beam
from flexarm.description.beams import Profile
from flexarm.mechanics.body import Body, couple, frame_inertia
from flexarm.mechanics.expansion import (
    DEGREE,
    Expansion,
    Monomials,
    Sum,
    arc_sine,
    arc_tangent,
    dotted,
    product_of,
    summed,
    total,
)
from flexarm.mechanics.spatial import Matrix, Scalar, Vector, added, dot, product, zeros
from flexarm.shapes import Basis, family, quadrature

POINTS = 24
"""Number of Gauss points: exact for polynomials of degree 47; integrands reach 3 (modes + 1) and a taper's four."""

SHEARING = 2
"""Degree of the shear strains, which are small beside the angles."""

INERTIA = 2
"""Degree of the inertia, one more per torsion coordinate. Otherwise it would not stay positive for thin beams."""


class Numbers(NamedTuple):
    """Values or symbols of a segment's numbers: its share of those of the complete beam."""

    length: Scalar
    mass: Scalar
    turning: list[Scalar]
    """Moments of inertia of all sections about their own axes x, y and z [kg m^2]."""
    lumps: list[Scalar]
    """Masses [kg]."""
    stiffness: list[Scalar]
    """EI y, EI z, GJ, EA, kGA y, kGA z at the base of the complete beam, 1 in directions without modes or shear."""
    known: list[float]
    """The same values in the description."""


class Line(NamedTuple):
    """Gauss points followed by the tip, x = 1. A polynomial is represented by its values there."""

    x: np.ndarray
    weights: np.ndarray
    """Weights of the integral from 0 to 1; 0 at the tip."""
    integral: np.ndarray
    """Matrix from values to the integral from 0 to x: (points, points)."""
    slope: np.ndarray
    """Matrix from values to the derivative: (points, points)."""


def segment(part: Beam, numbers: Numbers) -> Body:
    """Return the mechanics of one segment, described as a beam."""
    counts = [part.counts[d] for d in DIRECTIONS]
    start = np.cumsum([0, *counts]).tolist()
    k = start[-1]
    bases = [family(part.families[d], d).basis(n) for d, n in zip(DIRECTIONS, counts, strict=True)]
    line = _line()
    along = _weighted(part)
    length = numbers.length
    by = [1.0 / length] * start[2] + [1.0] * counts[2] + [1.0 / length] * counts[3]  # d xi / d eta

    bent = strains(bases, start, line.x)
    shears = shear_strains(part, bent, line, start) if part.sheared else [Expansion(), Expansion()]
    R, r = _solved(bent, shears, line, at_rest(part.initial_angles, line.x))
    angles = [arc_tangent(R[1][0], R[0][0]), arc_sine(R[2][0]), arc_tangent(R[2][1], R[2][2])]

    # dimensionless modal integrals, of the mass along the segment and of each lump
    rates = [[c.slope(i) for c in r] for i in range(k)]
    masses = [(numbers.mass, _moments(r, rates, along.m / along.m.sum(), start))]
    for lump, m in zip(part.lumps, numbers.lumps, strict=True):
        masses.append((m, _moments(r, rates, _interpolated(lump.at), start)))
    spins = [
        (J, _turning(R, k, axis, share / share.sum()))
        for axis, (J, share) in enumerate(
            zip(numbers.turning, (along.rho_Ip, along.rho_I_z, along.rho_I_y), strict=True)
        )
        if share.any()
    ]

    def inertia(eta: Vector) -> Matrix:
        at = Monomials(eta, by)
        M = zeros(7 + k, 7 + k)
        for m, moments in masses:
            M = [added(row, more) for row, more in zip(M, moments.inertia(at, m, length), strict=True)]
        places, scale = [*range(3, 6), *range(7, 7 + k)], [1.0, 1.0, 1.0, *by]
        for J, turning in spins:
            for a, n in enumerate(places):
                for b, o in enumerate(places[a:], start=a):
                    more = turning[a][b].at(at, J * scale[a] * scale[b])
                    M[n][o] = M[n][o] + more
                    if n != o:
                        M[o][n] = M[o][n] + more
        return M

    def section(values: np.ndarray) -> list:
        """Return position and angles at the point of a functional."""
        return [summed(c.through(values), 1.0) for c in (*r, *angles)]

    def placed(sums: list, eta: Vector) -> Vector:
        at = Monomials(eta, by)
        return [*(c.at(at, length) for c in sums[:3]), *(c.at(at) for c in sums[3:])]

    tip = section(np.eye(len(line.x))[-1])
    stiffness = _stiffness(along, numbers, bases, start, line)
    sheared = [_squared(each, kGA) for each, kGA in zip(shears, (along.kGA_y, along.kGA_z), strict=True)]

    def energy(q: Scalar, eta: Vector) -> Scalar:
        found, at = 0.5 * dot(eta, product(stiffness, eta)), Monomials(eta, by)
        for kGA, known, form in zip(numbers.stiffness[4:], numbers.known[4:], sheared, strict=True):
            found = found + form.at(at, kGA * length * (0.5 / known)) if form.terms else found
        return found

    def curvature(station: float, eta: Vector) -> Vector:
        return [
            1.0 / length**2 * dot(bases[d].values(station, 2)[0].tolist(), eta[start[d] : start[d + 1]]) for d in (0, 1)
        ]

    def bending_moment(station: float, eta: Vector) -> Vector:
        here, bent = part.profile(station), curvature(station, eta)
        rigidity = [
            float(EI[0]) / numbers.known[d] if counts[d] else 0.0 for d, EI in enumerate((here.EI_y, here.EI_z))
        ]
        return [rigidity[d] * numbers.stiffness[d] * bent[d] for d in (0, 1)]

    return Body(
        size=k,
        inertia=inertia,
        potential=energy,
        damping=zeros(1 + k, 1 + k),
        drive=[0.0] * (1 + k),
        tip=lambda eta: placed(tip, eta),
        rest=(0.0,) * k,
        flexible=tuple(range(k)),
        curvature=curvature,
        bending_moment=bending_moment,
        line=lambda station, eta: placed(section(_interpolated(station)), eta),
    )


def at_rest(angles: Mapping[str, float], x: np.ndarray) -> np.ndarray:
    """Return the rotation R_0 of the unloaded sections at stations x, (3, 3, points), from the angles at 1."""
    turn = np.array([angles.get("torsion", 0.0), -angles.get("z", 0.0), angles.get("y", 0.0)])
    size = float(np.linalg.norm(turn))
    a, b, c = turn / size if size else turn
    K = np.array([[0.0, -c, b], [c, 0.0, -a], [-b, a, 0.0]])
    return np.eye(3)[..., None] + K[..., None] * np.sin(size * x) + (K @ K)[..., None] * (1.0 - np.cos(size * x))


def _times(row: list[Expansion], numbers: np.ndarray) -> Expansion:
    """Return the sum of expansions times numbers along the beam, (terms, points), without those that are zero."""
    return total(along * each for each, along in zip(row, numbers, strict=True) if along.any())


class Strains(NamedTuple):
    """Curvatures along y and z, twist and stretch along a segment of length 1."""

    y: Expansion
    z: Expansion
    twist: Expansion
    stretch: Expansion


def strains(bases: list[Basis], start: list[int], x: np.ndarray) -> Strains:
    """Return the strains at stations x."""
    return Strains(
        *(
            Expansion({(a + i,): column for i, column in enumerate(basis.values(x, order).T)})
            for a, basis, order in zip(start, bases, (2, 2, 1, 1), strict=False)
        )
    )


def shear_strains(part: Beam, bent: Strains, line: Line, start: list[int]) -> list[Expansion]:
    """Return the shear strains along y and z that balance the moments; zero along y or z without modes or shear."""
    here, angles, square = part.profile(line.x), part.initial_angles, part.length**2
    turn = [bent.twist, -1.0 * bent.z, bent.y]
    M = [stiffness * each for stiffness, each in zip((here.GJ, here.EI_z, here.EI_y), turn, strict=True)]
    resting = [angles.get("torsion", 0.0), -angles.get("z", 0.0), angles.get("y", 0.0)]
    whole = [each + Expansion({(): np.full_like(line.x, at)}) for each, at in zip(turn, resting, strict=True)]
    across = _crossed(whole, M, SHEARING)
    N_y, N_z = -1.0 * (M[2].through(line.slope) + across[2]), M[1].through(line.slope) + across[1]
    found = []
    for N, kGA, d in ((N_y, here.kGA_y, 0), (N_z, here.kGA_z, 1)):
        acts = kGA.any() and start[d + 1] > start[d]
        found.append((1.0 / (kGA * square)) * N if acts else Expansion())
    return found


def _solved(
    bent: Strains, shears: list[Expansion], line: Line, rest: np.ndarray
) -> tuple[list[list[Expansion]], list[Expansion]]:
    """Return R and r by Picard's iteration. Each iteration is exact to one further degree."""
    ones = np.ones_like(line.x)
    y, z, twist, stretch = bent
    none = Expansion()
    a, b, c = (_times([twist, -1.0 * z, y], row) for row in rest)
    skew = [[none, -1.0 * c, b], [c, none, -1.0 * a], [-1.0 * b, a, none]]
    one = [[Expansion({(): ones}) if r == c else none for c in range(3)] for r in range(3)]
    Q = one
    for _ in range(DEGREE):
        more = product_of(Q, skew)
        Q = [[one[r][c] + more[r][c].through(line.integral) for c in range(3)] for r in range(3)]
    R = [[_times(row, rest[:, c]) for c in range(3)] for row in Q]
    stretched = Expansion({(): ones}) + stretch
    along = [stretched, *shears]
    return R, [
        total(R[c][k] * each for k, each in enumerate(along) if each.terms).through(line.integral) for c in range(3)
    ]


def _crossed(a: list[Expansion], b: list[Expansion], degree: int) -> list[Expansion]:
    """Return a x b up to a degree."""
    pairs = ((1, 2), (2, 0), (0, 1))
    return [a[i].times(b[j], degree) - a[j].times(b[i], degree) for i, j in pairs]


class Moments(NamedTuple):
    """Integrals over a mass of 1 on a segment of length 1, as polynomials."""

    S: list
    Q: list
    V: list
    W: list
    E: list

    def inertia(self, at: Monomials, m: Scalar, length: Scalar) -> Matrix:
        """Return the inertia over (v, w, r, eta_dot)."""
        k, by, square = len(self.E), at.by, m * length * length
        first = [c.at(at, m * length) for c in self.S]
        q = [[self.Q[min(a, b)][max(a, b)].at(at, square) for b in range(3)] for a in range(3)]
        J = [[q[1][1] + q[2][2], -q[0][1], -q[0][2]], [-q[0][1], q[0][0] + q[2][2], -q[1][2]]]
        J += [[-q[0][2], -q[1][2], q[0][0] + q[1][1]]]
        M = frame_inertia(m, first, J, k)
        for i in range(k):
            moved = [c.at(at, m * length * by[i]) for c in self.V[i]]
            couple(M, 7 + i, moved + [c.at(at, square * by[i]) for c in self.W[i]])
            for j in range(i, k):
                M[7 + i][7 + j] = M[7 + j][7 + i] = self.E[i][j].at(at, square * by[i] * by[j])
        return M


def _moments(r: list[Expansion], rates: list[list[Expansion]], mass: np.ndarray, start: list[int]) -> Moments:
    """Return the moments of a mass of 1, given its share at each point."""
    k = len(rates)
    late = [start[2] <= i < start[3] for i in range(k)]  # twist moves the axis only by products
    S = [c.through(mass) for c in r]
    Q = [[a.times(b, INERTIA).through(mass) for b in r] for a in r]
    V = [[c.through(mass) for c in rate] for rate in rates]
    W = [[c.through(mass) for c in _crossed(r, rates[i], INERTIA + late[i])] for i in range(k)]
    E = [[dotted(rates[i], rates[j], INERTIA + late[i] + late[j]).through(mass) for j in range(k)] for i in range(k)]
    return Moments(*(summed(some, _size(some)) for some in (S, Q, V, W, E)))


def _turning(R: list[list[Expansion]], k: int, axis: int, share: np.ndarray) -> list:
    """Return the inertia over (w, eta) of rotation about one of the sections' axes, per moment of inertia.

    A section turns about its axis e = R e_a by e . w + sum (R' dR/dxi_i)_cb xi_i_dot, with a, b, c in cyclic order.
    """
    b, c = (axis + 1) % 3, (axis + 2) % 3
    own = [total(R[n][c] * R[n][b].slope(i) for n in range(3)) for i in range(k)]
    rows = [*(R[n][axis] for n in range(3)), *own]
    return summed([[one.times(other, INERTIA).through(share) for other in rows] for one in rows], 1.0)


def _stiffness(along: Profile, numbers: Numbers, bases: list[Basis], start: list[int], line: Line) -> Matrix:
    """Return the matrix of the strain energy over eta: bending by curvature, torsion and stretch by slope."""
    K = zeros(start[-1], start[-1])
    for d, (weights, order) in enumerate(zip((along.EI_y, along.EI_z, along.GJ, along.EA), (2, 2, 1, 1), strict=True)):
        s = bases[d].values(line.x, order)
        found = (s.T * weights) @ s / numbers.known[d]
        found[np.abs(found) < 1e-13 * np.abs(found).max(initial=0.0)] = 0.0
        for i, row in enumerate(found.tolist(), start=start[d]):
            for j, value in enumerate(row, start=start[d]):
                K[i][j] = value * numbers.stiffness[d] / numbers.length ** (2 * order - 1) if value else 0.0
    return K


def _squared(strain: Expansion, weights: np.ndarray) -> Sum:
    """Return the weighted integral of a squared strain."""
    square = (strain * strain).through(weights)
    found: Sum = summed(square, _size(square))
    return found


def _weighted(part: Beam) -> Profile:
    """Return weights w_i of each property p such that int p f is sum w_i f(x_i), for p with steps and smooth f."""
    x, dx = quadrature(breaks=part.breaks)  # exact to x^31: a polynomial of degree 23 times a taper's four
    between = np.array([_interpolated(station) for station in x])
    here = part.profile(x)
    return Profile(*((dx * getattr(here, field.name)) @ between for field in fields(Profile)))


@cache
def _line() -> Line:
    t, w = np.polynomial.legendre.leggauss(POINTS)
    t = np.append(t, 1.0)
    P = np.polynomial.legendre.legvander(t, POINTS)  # of degree n in column n
    n = np.arange(1, POINTS)
    integrals = np.empty((POINTS + 1, POINTS))
    integrals[:, 0] = t + 1
    integrals[:, 1:] = (P[:, 2:] - P[:, :-2]) / (2 * n + 1)
    by, slope = np.zeros((POINTS + 1, POINTS + 1)), np.zeros((POINTS + 1, POINTS + 1))
    by[:, :-1] = integrals @ _coefficients() / 2
    slopes = np.polynomial.legendre.legder(np.eye(POINTS))
    slope[:, :-1] = 2.0 * np.polynomial.legendre.legval(t, slopes).T @ _coefficients()
    return Line((t + 1) / 2, np.append(w / 2, 0.0), by, slope)


@cache
def _coefficients() -> np.ndarray:
    """Return the matrix from values at Gauss points to coefficients of Legendre polynomials."""
    t, w = np.polynomial.legendre.leggauss(POINTS)
    return (np.arange(POINTS)[:, None] + 0.5) * (np.polynomial.legendre.legvander(t, POINTS - 1) * w[:, None]).T


def _interpolated(station: float) -> np.ndarray:
    """Return the functional from values at the points to the value at a station."""
    row = np.polynomial.legendre.legvander(np.array([2.0 * station - 1.0]), POINTS - 1)[0] @ _coefficients()
    return np.append(row, 0.0)


def _size(some: object) -> float:
    """Return the largest coefficient."""
    if isinstance(some, list):
        return max((_size(each) for each in some), default=0.0)
    assert isinstance(some, Expansion)
    return max((abs(float(c)) for c in some.terms.values()), default=0.0)
