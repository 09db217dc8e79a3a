"""Parts from finite element models: a frame that moves with the root, and modes of the part clamped there.

Every point of mass is at r = r0 + sum phi_j(r0) eta_j, so the inertia follows from integrals over the mass, which are
polynomials in eta (Shabana, "Dynamics of Multibody Systems", chapter 5). As means over the mass they are

    s + sum a_j eta_j                                       of r
    j + sum b_j eta_j + sum_{i <= j} e_ij eta_i eta_j       of r . r 1 - r r'
    h_j + sum_i f_ij eta_i                                  of r x phi_j
    c_ij                                                    of phi_i . phi_j
"""

from dataclasses import dataclass
from functools import partial
from typing import final

import numpy as np

from flexarm.description.finite import FiniteElement
from flexarm.mechanics.body import Body, Loads, bordered, couple, frame_inertia
from flexarm.mechanics.parameters import Name, value_of
from flexarm.mechanics.spatial import Matrix, Scalar, Vector, added, cross, dot, product, scaled, square_root, zeros
from flexarm.shapes import Basis
from flexarm.shapes.finite import CYCLE, STATIONS, Reduced, loaded

NOISE = 1e-10
"""Relative size below which an integral is rounding of an eigenvalue solver."""

AXES = "xyz"
PAIRS = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))


def finite(description: FiniteElement, loads: Loads, name: Name = value_of) -> Body:
    """Return a part in its modes."""
    part = shaped(description, loads)
    k = part.size
    mass = name("m", "mass", description.total_mass, "kg", "mass")
    stiffness = name("sf", "stiffness_factor", description.stiffness_factor, "", "factor of the stiffness")
    means, named = _means(part, name), _Named(name)
    d = np.sqrt(np.diag(part.K))
    K = [[stiffness * x for x in row] for row in named.square("k", part.K, d, "N/m", "modal stiffness")]
    radius = float(np.abs(part.place).max())
    place = [
        named("l", a, x, radius, "m", f"place of the tip along {a}") for a, x in zip(AXES, part.place, strict=True)
    ]
    moved = named.rows("phi", part.tip[:3], np.abs(part.tip[:3]).max(initial=0.0) * np.ones(k), "", "tip along")
    turned = named.rows("dphi", part.tip[3:], np.abs(part.tip[3:]).max(initial=0.0) * np.ones(k), "1/m", "tip about")

    def inertia(eta: Vector) -> Matrix:
        return [[mass * x for x in row] for row in means.inertia(eta)]

    def tip(eta: Vector) -> Vector:
        about_x, about_y, about_z = (dot(row, eta) for row in turned)
        return [*(place[a] + dot(moved[a], eta) for a in range(3)), about_z, -1.0 * about_y, about_x]

    return Body(
        size=k,
        inertia=inertia,
        potential=lambda q, eta: 0.5 * dot(eta, product(K, eta)),
        damping=bordered(_damping(description, part, name, mass, stiffness)),
        drive=[0.0] * (1 + k),
        tip=tip,
        rest=(0.0,) * k,
        flexible=tuple(range(k)),
        line=partial(_line, part, place, turned),
    )


def shaped(description: FiniteElement, loads: Loads) -> Reduced:
    """Return the part in its modes, which may depend on its load in the stretched arm."""
    part = description.part
    if description.modes == 0:
        return part.combined(np.zeros((part.size, 0)))
    return loaded(part, _load(loads)) if description.shapes == "clamped-loaded" else part


def _load(loads: Loads) -> np.ndarray:
    """Return the inertia of the load over (v, w) of the tip."""
    y, z = loads["y"], loads["z"]
    L = np.diag([y.mass, y.mass, z.mass, loads["torsion"].inertia, z.inertia, y.inertia])
    L[1, 5] = L[5, 1] = y.first_moment
    L[2, 4] = L[4, 2] = -z.first_moment
    return L


# -- integrals over the mass -------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True)
class _Named:
    """Names of a part's numbers, without those that are rounding."""

    name: Name

    def __call__(self, letter: str, label: str, value: float, size: float, unit: str, meaning: str) -> Scalar:
        """Return a number that may be as large as `size`."""
        kept = float(value) if abs(value) > NOISE * size else 0.0
        return self.name(f"{letter}_{label}", f"part.{letter}.{label.replace('_', '.')}", kept, unit, meaning)

    def rows(self, letter: str, values: np.ndarray, size: np.ndarray, unit: str, meaning: str) -> Matrix:
        """Return three components of each mode, (3, k)."""
        return [
            [self(letter, f"{a}_{j}", x, s, unit, f"{meaning} {a}, mode {j}") for j, (x, s) in modes(row, size)]
            for a, row in zip(AXES, values, strict=True)
        ]

    def square(self, letter: str, values: np.ndarray, size: np.ndarray, unit: str, meaning: str) -> Matrix:
        """Return a symmetric matrix (k, k)."""
        k = len(values)
        return [
            [
                self(letter, f"{min(i, j) + 1}_{max(i, j) + 1}", values[i, j], size[i] * size[j], unit, meaning)
                for j in range(k)
            ]
            for i in range(k)
        ]

    def tensor(self, letter: str, label: str, values: np.ndarray, size: float, unit: str, meaning: str) -> Matrix:
        """Return a symmetric tensor (3, 3)."""
        found = zeros(3, 3)
        for a, b in PAIRS:
            axes = AXES[a] + AXES[b]
            found[a][b] = found[b][a] = self(letter, axes + label, values[a, b], size, unit, f"{meaning}, {axes}")
        return found


def modes(*columns: np.ndarray) -> list[tuple[int, tuple[float, ...]]]:
    """Return the numbers of each mode after its index from 1."""
    return list(enumerate(zip(*columns, strict=True), start=1))


@final
@dataclass(frozen=True)
class _Means:
    """The means in the module's docstring: vectors (3), tensors (3, 3), by modes; e and f by pairs i <= j and i < j."""

    s: Vector
    j: Matrix
    a: Matrix
    b: list[Matrix]
    c: Matrix
    e: dict[tuple[int, int], Matrix]
    f: dict[tuple[int, int], Vector]
    h: Matrix

    def inertia(self, eta: Vector) -> Matrix:
        """Return M over (v, w, r, eta_dot) of a part of unit mass."""
        k = len(eta)
        J = zeros(3, 3)
        for r, c in PAIRS:
            by_mode = [
                self.b[j][r][c] + dot([self.e[i, j][r][c] for i in range(j + 1)], eta[: j + 1]) for j in range(k)
            ]
            J[r][c] = J[c][r] = self.j[r][c] + dot(by_mode, eta)
        M = frame_inertia(1.0, [self.s[r] + dot(self.a[r], eta) for r in range(3)], J, k)
        for j in range(k):
            about = [
                self.h[r][j]
                + dot([self.f[i, j][r] for i in range(j)], eta[:j])
                - dot([self.f[j, i][r] for i in range(j + 1, k)], eta[j + 1 :])
                for r in range(3)
            ]
            couple(M, 7 + j, [*(self.a[r][j] for r in range(3)), *about])
            M[7 + j][7:] = self.c[j]
        return M


def _means(part: Reduced, name: Name) -> _Means:
    k, per, named = part.size, 1.0 / part.mass[0], _Named(name)
    d, radius = np.sqrt(np.diag(part.M) * per), float(np.sqrt(np.trace(part.second) * per))
    linear = [_about(Q + Q.T) * per for Q in part.stretched]
    pairs = [(i, j) for j in range(k) for i in range(j + 1)]
    return _Means(
        s=[named("s", x, v, radius, "m", f"mean of {x}") for x, v in zip(AXES, part.first * per, strict=True)],
        j=named.tensor("j", "", part.second * per, radius**2, "m^2", "mean moment of inertia"),
        a=named.rows("a", part.momentum[:3] * per, d, "", "mean along"),
        b=[
            named.tensor("b", f"_{i}", Q, size * radius, "m", f"what mode {i} makes of it")
            for i, (Q, size) in enumerate(zip(linear, d, strict=True), start=1)
        ],
        c=named.square("c", part.M * per, d, "", "modal mass"),
        e={
            (i, j): named.tensor(
                "e",
                f"_{i + 1}_{j + 1}",
                _about(part.bent[i, j] + (part.bent[j, i] if i < j else 0.0)) * per,
                d[i] * d[j],
                "",
                f"what modes {i + 1} and {j + 1} make of it",
            )
            for i, j in pairs
        },
        f={
            (i, j): [
                named(
                    "f",
                    f"{x}_{i + 1}_{j + 1}",
                    (part.bent[i, j, b, c] - part.bent[i, j, c, b]) * per,
                    d[i] * d[j],
                    "",
                    f"mean of phi_{i + 1} x phi_{j + 1} about {x}",
                )
                for x, (b, c) in zip(AXES, CYCLE, strict=True)
            ]
            for i, j in pairs
            if i < j
        },
        h=named.rows("h", part.momentum[3:] * per, d * radius, "m", "mean of r x phi about"),
    )


def _about(Q: np.ndarray) -> np.ndarray:
    """Return the inertia of a second moment: trace(Q) 1 - Q."""
    return np.trace(Q) * np.eye(3) - Q


# -- damping, and the centre line --------------------------------------------------------------------------------------


def _damping(description: FiniteElement, part: Reduced, name: Name, mass: Scalar, stiffness: Scalar) -> Matrix:
    """Return the damping that gives each mode of the part alone its ratio of critical damping: 2 zeta sqrt(K M)."""
    known, factor = description.total_mass, description.stiffness_factor
    share = square_root(mass / known * (stiffness / factor))
    critical = 2 * np.sqrt(np.diag(part.M) * np.diag(part.K) * (known / part.mass[0]) * factor)
    D = zeros(part.size, part.size)
    for j, (zeta, most) in modes(np.array(description.damping_ratios), critical):
        mark = "" if isinstance(description.damping, float) else f"_{j}"
        field = "damping_ratio" + mark.replace("_", ".")
        ratio = name("zeta" + mark, field, float(zeta), "", "ratio of critical damping")
        follows = partial(_product, float(most), ratio, share)
        D[j - 1][j - 1] = name(f"d_{j}", f"modal_damping.{j}", float(most * zeta), "N s/m", "modal damping", follows)
    return D


def _product(a: Scalar, b: Scalar, c: Scalar) -> Scalar:
    return a * b * c


def centre_line(description: FiniteElement, loads: Loads) -> Basis:
    """Return centre line displacements along x, y and z, and tip rotations, as shapes: three by three for each mode."""
    part = shaped(description, loads)
    turned = np.linspace(0.0, 1.0, STATIONS)[:, None] * part.tip[3:].T[:, None, :]
    lines = np.concatenate([part.line, turned], axis=2).transpose(1, 0, 2).reshape(STATIONS, -1)
    ends = np.concatenate([part.slopes, part.tip[3:].T], axis=1).ravel()
    return Basis(lines.shape[1], partial(_along, lines, ends))


def _along(lines: np.ndarray, ends: np.ndarray, x: np.ndarray, derivative: int) -> np.ndarray:
    """Interpolate between stations, (STATIONS, ...), with these slopes at the last one."""
    from scipy.interpolate import CubicSpline  # here, since most models are never drawn

    s = np.linspace(0.0, 1.0, STATIONS)
    return CubicSpline(s, lines, bc_type=("not-a-knot", (1, ends)))(x, derivative)


def _line(part: Reduced, place: Vector, turned: Matrix, station: float, eta: Vector) -> Vector:
    """Return the section at a station: on the centre line, with its slope and a share of the tip's rotation.

    The tip's rotation is `turned` times eta. At the tip the section is the distal frame.
    """
    lines, at, length = part.line.transpose(1, 2, 0), np.array([station]), float(np.linalg.norm(part.place))
    u, slope = (_along(lines, part.slopes.T, at, n)[0].tolist() for n in (0, 1))
    p = [station * place[a] + dot(u[a], eta) for a in range(3)]
    whole = [dot(row, eta) for row in turned]
    if length:
        along = (part.place / length).tolist()
        tilted = cross(along, [1.0 / length * dot(row, eta) for row in slope])
        about_x, about_y, about_z = added(tilted, scaled(station * dot(along, whole), along))
    else:
        about_x, about_y, about_z = scaled(station, whole)
    return [*p, about_z, -1.0 * about_y, about_x]
