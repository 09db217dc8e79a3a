"""Links as functions of their own coordinates: inertia, potential, tip.

This is all the dynamics ever asks of a link; a new kind of link is a new function that returns a `Body`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations_with_replacement, pairwise

import casadi as ca
import numpy as np

from flexarm.arm import DIRECTIONS, Beam, Payload, Rigid, tensor
from flexarm.shapes import Basis, FixedFree, TipLoad, fitted, quadrature
from flexarm.spatial import Matrix, Scalar, Vector, cross, dot, product, zeros

Loads = dict[str, TipLoad]
"""What a link carries beyond its tip, for bending along y and along z."""


@dataclass(frozen=True)
class Body:
    """A link and its drive, seen from its base frame, which stands behind the joint.

    Attributes
    ----------
    size : int
        Number k of own coordinates eta: a telescope's length, the flexible ones, the motor of an elastic joint.
    inertia : eta -> (7 + k, 7 + k)
        M(eta): kinetic energy = 1/2 y' M y with y = (v, w, r, eta_dot); v is the velocity of the base frame's origin, r
        the rate of the joint that moves the base frame (it matters to a rotor alone).
    potential : (q, eta) -> scalar
        Energy of strain and of the joint's spring [J]; q is the joint's coordinate.
    damping : (1 + k, 1 + k)
        Constant matrix D over (r, eta_dot).
    drive : (1 + k,)
        What the actuator moves: its power is u (drive . (r, eta_dot)). All zero where there is none.
    tip : eta -> (p_x, p_y, p_z, slope_y, slope_z, torsion)
        The distal frame: moved by p, then turned by Rz(slope_y) Ry(-slope_z) Rx(torsion).
    rest : (k,)
        eta where no configuration is given: the telescope's nominal length, else zero.
    """

    size: int
    inertia: Callable[[Vector], Matrix]
    potential: Callable[[Scalar, Vector], Scalar]
    damping: np.ndarray
    drive: np.ndarray
    tip: Callable[[Vector], Vector]
    rest: tuple[float, ...] = ()
    flexible: tuple[int, ...] = ()
    """Positions in eta of the amplitudes: what is zero in a body that is not deformed."""
    limits: tuple[tuple[int, float, float], ...] = ()
    """Position in eta of what must stay in a range, low excluded: a telescope's length."""
    convects: bool = False
    """Whether M gives points velocities that are not the rates of their positions."""
    root: Callable[[Vector], Vector] = lambda eta: [0.0, 0.0]
    """Slopes in y and z at the hub; zero where the beam is clamped."""


def undeformed(body: Body, eta: Vector) -> Vector:
    """eta with the amplitudes zero."""
    return [0.0 if i in body.flexible else x for i, x in enumerate(eta)]


# -- rigid bodies ------------------------------------------------------------------------------------------------------


def rigid(description: Rigid) -> Body:
    """A rigid link; its tip lies at (length, 0, 0)."""
    m, com = description.mass, np.array(description.center)
    about_base = description.inertia_tensor + m * (com @ com * np.eye(3) - np.outer(com, com))
    return _lump(m, m * com, about_base, description.length)


def payload(description: Payload | None) -> Body:
    """The body held by the last tip; without mass where there is no payload."""
    if description is None:
        return _lump(0.0, np.zeros(3), np.zeros((3, 3)), 0.0)
    return _lump(description.mass, np.zeros(3), tensor(description.inertia), 0.0)


def _lump(m: float, S: np.ndarray, J: np.ndarray, length: float) -> Body:
    """A body without coordinates of its own: mass, first moment and second moment about its base."""
    M = frame_inertia(m, S.tolist(), J.tolist(), 0)
    tip = [length, 0.0, 0.0, 0.0, 0.0, 0.0]
    return Body(0, lambda eta: M, lambda q, eta: 0.0, np.zeros((1, 1)), np.zeros(1), lambda eta: tip)


def frame_inertia(m: Scalar, S: Vector, J: Matrix, size: int) -> Matrix:
    """The (7 + size) inertia of mass m, first moment S and second moment J; rows of r and eta still empty."""
    M = zeros(7 + size, 7 + size)
    for r in range(3):
        M[r][r] = m
        M[3 + r][3:6] = J[r]
    M[0][4] = M[4][0] = S[2]  # force = m a - S x alpha
    M[0][5] = M[5][0] = -S[1]
    M[1][3] = M[3][1] = -S[2]
    M[1][5] = M[5][1] = S[0]
    M[2][3] = M[3][2] = S[1]
    M[2][4] = M[4][2] = -S[0]
    return M


# -- bodies whose points are sums of fields ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Fields:
    """A body whose points are r = sum f_i(x) z_i along axes a_i, and whose velocities are sum f_i(x) (V eta_dot)_i.

    Attributes
    ----------
    axis : (fields,)
        0, 1 or 2.
    first, second : (fields,), (fields, fields)
        Modal integrals int m f_i and int m f_i f_j; products of fields along different axes too.
    mass : float
        int m.
    """

    axis: list[int]
    first: list[float]
    second: list[list[float]]
    mass: float

    def inertia(self, z: Vector, V: Matrix, scale: Scalar = 1.0) -> Matrix:
        """M over (v, w, r, eta_dot), all integrals multiplied by `scale`; V has a row for each field."""
        z = list(z)
        S = self._along(self.first, z)  # int m r
        G = [self._along(row, z) for row in self.second]  # int m f_i r
        Q = [self._along([g[c] for g in G], z) for c in range(3)]  # int m r r'
        J = [[Q[1][1] + Q[2][2], -Q[0][1], -Q[0][2]], [-Q[0][1], Q[0][0] + Q[2][2], -Q[1][2]]]
        J += [[-Q[0][2], -Q[1][2], Q[0][0] + Q[1][1]]]
        k = len(V[0]) if V else 0
        M = frame_inertia(self.mass, S, J, k)
        turned = [cross(g, [float(c == a) for c in range(3)]) for g, a in zip(G, self.axis, strict=True)]
        for c in range(k):
            column = [row[c] for row in V]
            _couple(M, 7 + c, self._along(self.first, column) + [dot([t[d] for t in turned], column) for d in range(3)])
            same = [self._along(row, column)[a] for row, a in zip(self.second, self.axis, strict=True)]
            for e in range(c, k):
                M[7 + c][7 + e] = M[7 + e][7 + c] = dot(same, [row[e] for row in V])
        return M if isinstance(scale, float) and scale == 1.0 else [[scale * x for x in row] for row in M]

    def _along(self, numbers: Vector, amplitudes: Vector) -> Vector:
        """The vector sum of numbers_i amplitudes_i, each along its field's axis."""
        chosen = [[i for i, a in enumerate(self.axis) if a == c] for c in range(3)]
        return [dot([numbers[i] for i in some], [amplitudes[i] for i in some]) for some in chosen]


def sampled(axis: list[int], values: list[np.ndarray], m: np.ndarray) -> Fields:
    """Fields sampled at quadrature points; m has the mass of each point."""
    f = np.column_stack(values)
    first = without_rounding(m @ f)
    second = without_rounding((f.T * m) @ f)
    return Fields(axis, first.tolist(), second.tolist(), float(m.sum()))


def beam(description: Beam, loads: Loads) -> Body:
    """A beam with assumed modes: r(x) = x e_x + sum phi_j(x) eta_j along y, z and x, and torsion about x.

    With foreshortening, r_x is less by 1/2 int_0^x (u_y'^2 + u_z'^2) (Mohan & Saha eq. 1b, sign corrected): one more
    field along x for each pair of modes of a plane, with the amplitude -eta_i eta_j.
    """
    length = description.length
    counts, start, bases = bases_of(description, loads)
    k = start[-1]
    x, weights = quadrature(*bases)
    along = description.profile(x)

    axis, values = [0], [length * x]
    place: list[int] = []  # the coordinate of each field of a mode
    for d, direction in ((1, 0), (2, 1), (0, 3)):
        phi = bases[direction].values(x)
        axis += [d] * counts[direction]
        values += list(phi.T)
        place += range(start[direction], start[direction + 1])
    pairs: list[tuple[int, int]] = []
    for direction in (0, 1) if description.foreshortening else ():
        pairs += combinations_with_replacement(range(start[direction], start[direction + 1]), 2)
    shortening = [_shortening(bases, start, i, j, length) for i, j in pairs]
    axis += [0] * len(pairs)
    values += [g(x) for g in shortening]
    fields = sampled(axis, values, along.m * weights * length)
    ends = [float(g(np.array([1.0]))[0]) for g in shortening]

    theta = bases[2].values(x)
    polar = along.rho_Ip * weights * length
    twist = slice(7 + start[2], 7 + start[3])
    twist_first = (polar @ theta).tolist()
    twist_second = without_rounding((theta.T * polar) @ theta).tolist()
    spin = float(polar.sum())

    stiffness = (along.EI_y, along.EI_z, along.GJ, along.EA)
    K = stiffness_matrix(bases, start, x, [s * weights * length for s in stiffness], length)

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
        for r, first, second in zip(range(twist.start, twist.stop), twist_first, twist_second, strict=True):
            _couple(M, r, [0.0, 0.0, 0.0, first, 0.0, 0.0])
            M[r][twist] = second
        return M

    tip = tip_functions(bases, start, length, description.next_joint)

    def shortened_tip(eta: Vector) -> Vector:
        s = tip(eta)
        for g, (i, j) in zip(ends, pairs, strict=True):
            s[0] = s[0] - g * (eta[i] * eta[j])
        return s

    M_eta = np.array(ca.DM(numbers(inertia([0.0] * k))))[7:, 7:]
    return Body(
        size=k,
        inertia=inertia,
        potential=lambda q, eta: 0.5 * dot(eta, product(K.tolist(), eta)),
        damping=_bordered(modal_damping(M_eta, K, np.array(description.damping_ratios), start)),
        drive=np.zeros(1 + k),
        tip=shortened_tip,
        rest=(0.0,) * k,
        flexible=tuple(range(k)),
        root=_root(bases, start, length),
    )


def bases_of(description: Beam, loads: Loads) -> tuple[list[int], list[int], list[Basis]]:
    """Number of modes in each direction, where each direction starts in eta, and its shapes."""
    counts = [description.counts[d] for d in DIRECTIONS]
    rod = FixedFree()
    families = [fitted(description.shapes, description, d, loads[d]) for d in ("y", "z")] + [rod, rod]
    bases = [f.basis(n) for f, n in zip(families, counts, strict=True)]
    return counts, np.cumsum([0, *counts]).tolist(), bases


def stiffness_matrix(
    bases: list[Basis], start: list[int], x: np.ndarray, weights: list[np.ndarray], length: float
) -> np.ndarray:
    """Strain energy's matrix over eta: bending strains by curvature, torsion and stretch by slope."""
    K = np.zeros((start[-1], start[-1]))
    for d, (w, order) in enumerate(zip(weights, (2, 2, 1, 1), strict=True)):
        s = bases[d].values(x, order) / length**order
        block = slice(start[d], start[d + 1])
        K[block, block] = without_rounding((s.T * w) @ s)
    return K


def tip_functions(bases: list[Basis], start: list[int], length: Scalar, next_joint: str) -> Callable[[Vector], Vector]:
    """The six tip functions; the next joint's angle is measured from the slope at the tip, or from the chord."""
    ends = [basis.values(1.0)[0].tolist() for basis in bases]
    slopes = ends[:2] if next_joint == "chord" else [basis.values(1.0, 1)[0].tolist() for basis in bases[:2]]

    def tip(eta: Vector) -> Vector:
        y, z, torsion, axial = (eta[a:b] for a, b in pairwise(start))
        p = [length + dot(ends[3], axial), dot(ends[0], y), dot(ends[1], z)]
        return [*p, dot(slopes[0], y) / length, dot(slopes[1], z) / length, dot(ends[2], torsion)]

    return tip


def _root(bases: list[Basis], start: list[int], length: float) -> Callable[[Vector], Vector]:
    """Slopes in y and z at the hub."""
    slopes = [(without_rounding(np.append(basis.values(0.0, 1)[0], 1.0))[:-1] / length).tolist() for basis in bases[:2]]
    return lambda eta: [dot(slopes[d], eta[start[d] : start[d + 1]]) for d in (0, 1)]


def _shortening(
    bases: list[Basis], start: list[int], i: int, j: int, length: float
) -> Callable[[np.ndarray], np.ndarray]:
    """g(x) = int_0^x phi_i' phi_j' ds, or half of it where i = j: -eta_i eta_j g is what the pair takes from r_x."""
    direction = 0 if j < start[1] else 1
    basis = bases[direction]
    t, w = np.polynomial.legendre.leggauss(24)

    def integral(a: float, b: float) -> float:
        s = basis.values((a + b) / 2 + (b - a) / 2 * t, 1)
        return float(w @ (s[:, i - start[direction]] * s[:, j - start[direction]])) * (b - a) / 2 / length

    def g(x: np.ndarray) -> np.ndarray:
        edges = np.unique(np.concatenate([[0.0], x, [e for e in basis.breaks if e < x.max()]]))
        sums = np.concatenate([[0.0], np.cumsum([integral(a, b) for a, b in pairwise(edges)])])
        return sums[np.searchsorted(edges, x)] * (0.5 if i == j else 1.0)

    return g


# -- small things ------------------------------------------------------------------------------------------------------


def modal_damping(M: np.ndarray, K: np.ndarray, ratios: np.ndarray, start: list[int]) -> np.ndarray:
    """The damping matrix that gives each mode of the clamped link, alone and without load, its damping ratio.

    In each direction (a block of `start`) ratios go with the modes in the order of their frequencies:
    D = M Phi diag(2 zeta omega) Phi' M with K Phi = M Phi diag(omega^2), Phi' M Phi = 1.
    """
    D = np.zeros_like(K)
    for a, b in pairwise(start):
        if not ratios[a:b].any():
            continue
        block = slice(a, b)
        C = np.linalg.cholesky(M[block, block])
        C_inv = np.linalg.inv(C)
        omega2, V = np.linalg.eigh(C_inv @ K[block, block] @ C_inv.T)
        D[block, block] = without_rounding(C @ V @ np.diag(2 * ratios[a:b] * np.sqrt(omega2)) @ V.T @ C.T)
    return D


def slopes_of(function: Callable[[Vector], Vector], size: int) -> list[list[float]]:
    """Slopes of a linear function of eta: one row for each of its values."""
    columns = [function([float(i == j) for i in range(size)]) for j in range(size)]
    return [[float(column[r]) for column in columns] for r in range(len(function([0.0] * size)))]


def _bordered(D: np.ndarray) -> np.ndarray:
    """D over eta as a matrix over (r, eta)."""
    return np.pad(D, ((1, 0), (1, 0)))


def numbers(M: Matrix) -> list[list[float]]:
    return [[float(x) for x in row] for row in M]


def _couple(M: Matrix, column: int, wrench: Vector) -> None:
    for r in range(6):
        M[r][column] = M[column][r] = wrench[r]


def without_rounding(A: np.ndarray) -> np.ndarray:
    """A with entries that are zero but for rounding set to zero: a term that vanishes then costs nothing.

    Entries are measured against the diagonal of a square matrix, which is what bounds them, else against the largest.
    """
    if A.ndim == 2 and A.shape[0] == A.shape[1]:
        d = np.sqrt(np.abs(np.diag(A)))
        size = np.outer(d, d)
    else:
        size = np.abs(A).max(initial=0.0) * np.ones_like(A)
    return np.where(np.abs(A) <= 1e-13 * size, 0.0, A)
