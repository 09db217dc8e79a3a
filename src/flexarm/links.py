"""Links as three functions of their own flexible coordinates: inertia, strain energy, tip.

This is all the dynamics ever asks of a link; a new kind of link is a new function here that returns a `Body`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from flexarm.arm import DIRECTIONS, Beam, Link, Payload, Rigid, tensor
from flexarm.shapes import FixedFree, family, quadrature
from flexarm.spatial import Matrix, Scalar, Vector, cross, dot, product, zeros


@dataclass(frozen=True)
class Body:
    """A link, seen from its base frame.

    Attributes
    ----------
    size : int
        Number k of flexible coordinates eta.
    inertia : eta -> (6 + k, 6 + k)
        M(eta): kinetic energy = 1/2 y' M y with y = (v, w, eta_dot); v is the velocity of the base frame's origin.
    strain : eta -> scalar
        Strain energy [J].
    damping : (k, k)
        Constant matrix D: force D eta_dot.
    tip : eta -> (p_x, p_y, p_z, slope_y, slope_z, torsion)
        The distal frame: moved by p, then turned by Rz(slope_y) Ry(-slope_z) Rx(torsion).
    """

    size: int
    inertia: Callable[[Vector], Matrix]
    strain: Callable[[Vector], Scalar]
    damping: Matrix
    tip: Callable[[Vector], Vector]


def body(link: Link) -> Body:
    """The mechanics of a described link, its hub included."""
    make: dict[str, Callable[[Any], Body]] = {"beam": beam, "rigid": rigid}
    return _with_hub(make[link.body.type](link.body), link.hub_mass, tensor(link.hub_inertia))


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
    """A body without flexible coordinates: mass, first moment and second moment about its base."""
    M = _rigid_inertia(m, S.tolist(), J.tolist(), 0)
    return Body(0, lambda eta: M, lambda eta: 0.0, [], lambda eta: [length, 0.0, 0.0, 0.0, 0.0, 0.0])


def _with_hub(body: Body, mass: float, inertia: np.ndarray) -> Body:
    """The body with a hub that rides on the joint: mass and inertia at the base frame's origin."""
    hub = np.zeros((6, 6))
    hub[:3, :3] = mass * np.eye(3)
    hub[3:, 3:] = inertia

    def with_hub(eta: Vector) -> Matrix:
        M = [list(row) for row in body.inertia(eta)]
        for r, c in np.argwhere(hub):
            M[r][c] = M[r][c] + float(hub[r, c])
        return M

    return Body(body.size, with_hub, body.strain, body.damping, body.tip)


@dataclass(frozen=True)
class Field:
    """One term of a beam's displacement, f(x) times its amplitude, along an axis of the base frame."""

    axis: int
    values: np.ndarray
    coordinate: int | None
    """Position of the amplitude in eta; None for the axis itself, f = x with amplitude 1."""


def beam(description: Beam) -> Body:
    """A beam with assumed modes: r(x) = x e_x + sum phi_j(x) eta_j along y, z and x, and torsion about x.

    M(eta) needs no more than modal integrals over the fields f = (x, phi_1, phi_2, ...): the first moments
    int m f_i dx, the second moments int m f_i f_j dx, and those of the sections' polar inertia with the torsion shapes.
    """
    length = description.length
    bending, rod = family(description.shapes), FixedFree()
    counts = [description.counts[d] for d in DIRECTIONS]
    start = np.cumsum([0, *counts]).tolist()
    k = start[-1]
    bases = [(bending if d in ("y", "z") else rod).basis(n) for d, n in zip(DIRECTIONS, counts, strict=True)]
    x, weights = quadrature(*bases)
    weights = weights * length

    fields = [Field(0, length * x, None)]
    for axis, d in ((1, 0), (2, 1), (0, 3)):
        phi = bases[d].values(x)
        fields += [Field(axis, phi[:, j], start[d] + j) for j in range(counts[d])]
    f = np.column_stack([field.values for field in fields])
    first = _without_rounding(description.m * weights @ f).tolist()
    second = _without_rounding(description.m * (f.T * weights) @ f).tolist()

    rho_Ip = description.rho_Ip
    theta = bases[2].values(x)
    twist_first = (rho_Ip * weights @ theta).tolist()
    twist_second = _without_rounding(rho_Ip * (theta.T * weights) @ theta).tolist()

    K = np.zeros((k, k))  # bending strains by curvature, torsion and stretch by slope
    for d, (direction, order) in enumerate(zip(DIRECTIONS, (2, 2, 1, 1), strict=True)):
        s = bases[d].values(x, order) / length**order
        block = slice(start[d], start[d + 1])
        K[block, block] = _without_rounding(description.stiffness.get(direction, 0.0) * (s.T * weights) @ s)

    def inertia(eta: Vector) -> Matrix:
        amplitude = [1.0 if field.coordinate is None else eta[field.coordinate] for field in fields]

        def sums(numbers: Vector) -> Vector:
            """The vector sum of numbers_i amplitude_i over the fields, each along its own axis."""
            terms = [(n * a, field.axis) for n, a, field in zip(numbers, amplitude, fields, strict=True)]
            return [sum((t for t, axis in terms if axis == c), 0.0) for c in range(3)]

        S = sums(first)  # int m r
        G = [sums(row) for row in second]  # int m f_i r
        Q = [sums([g[c] for g in G]) for c in range(3)]  # int m r r'
        J = [[Q[1][1] + Q[2][2], -Q[0][1], -Q[0][2]], [-Q[0][1], Q[0][0] + Q[2][2], -Q[1][2]]]
        J += [[-Q[0][2], -Q[1][2], Q[0][0] + Q[1][1]]]
        J[0][0] = J[0][0] + rho_Ip * length
        M = _rigid_inertia(description.total_mass, S, J, k)
        for i, field in enumerate(fields):
            if field.coordinate is None:
                continue
            column = 6 + field.coordinate
            unit = [float(c == field.axis) for c in range(3)]
            _couple(M, column, [first[i] * u for u in unit] + cross(G[i], unit))
            for j, other in enumerate(fields):
                if other.coordinate is not None and other.axis == field.axis:
                    M[column][6 + other.coordinate] = second[i][j]
        for j in range(counts[2]):
            _couple(M, 6 + start[2] + j, [0.0, 0.0, 0.0, twist_first[j], 0.0, 0.0])
            for i in range(counts[2]):
                M[6 + start[2] + j][6 + start[2] + i] = twist_second[j][i]
        return M

    ends = [basis.values(1.0)[0].tolist() for basis in bases]
    slopes = [(basis.values(1.0, 1)[0] / length).tolist() for basis in bases[:2]]

    def tip(eta: Vector) -> Vector:
        y, z, torsion, axial = (eta[a:b] for a, b in pairwise(start))
        return [
            length + dot(ends[3], axial),
            dot(ends[0], y),
            dot(ends[1], z),
            dot(slopes[0], y),
            dot(slopes[1], z),
            dot(ends[2], torsion),
        ]

    def strain(eta: Vector) -> Scalar:
        return 0.5 * dot(eta, product(K.tolist(), eta))

    zero = inertia([0.0] * k)
    M_eta = np.array([row[6:] for row in zero[6:]]).reshape(k, k)
    D = modal_damping(M_eta, K, np.array(description.damping_ratios), start)
    return Body(k, inertia, strain, D.tolist(), tip)


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
        D[block, block] = _without_rounding(C @ V @ np.diag(2 * ratios[a:b] * np.sqrt(omega2)) @ V.T @ C.T)
    return D


def _rigid_inertia(m: Scalar, S: Vector, J: Matrix, size: int) -> Matrix:
    """The (6 + size) inertia of mass m, first moment S and second moment J; rows of eta still empty."""
    M = zeros(6 + size, 6 + size)
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


def _couple(M: Matrix, column: int, wrench: Vector) -> None:
    for r in range(6):
        M[r][column] = M[column][r] = wrench[r]


def _without_rounding(A: np.ndarray) -> np.ndarray:
    """A with entries that are zero but for rounding set to zero: a term that vanishes then costs nothing.

    Entries are measured against the diagonal of a square matrix, which is what bounds them, else against the largest.
    """
    if A.ndim == 2 and A.shape[0] == A.shape[1]:
        d = np.sqrt(np.abs(np.diag(A)))
        size = np.outer(d, d)
    else:
        size = np.abs(A).max(initial=0.0) * np.ones_like(A)
    return np.where(np.abs(A) <= 1e-13 * size, 0.0, A)
