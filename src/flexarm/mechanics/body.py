"""A link as the dynamics sees it: inertia, potential, damping and tip as functions of its own coordinates.

This is all the dynamics ever asks of a link; a new kind of link is a new function that returns a `Body`.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

import numpy as np

from flexarm.mechanics.spatial import Matrix, Scalar, Vector, scaled, zeros
from flexarm.shapes import TipLoad

T = TypeVar("T")

Loads = dict[str, TipLoad]
"""What a link carries beyond its tip, by direction; in torsion an inertia, in stretch a mass alone."""


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
    damping: Matrix
    drive: Vector
    tip: Callable[[Vector], Vector]
    rest: tuple[float, ...] = ()
    moved: Vector = field(default_factory=list)
    """(1 + k,): what the joint itself moves, behind its spring; without a spring the same as `drive`."""
    flexible: tuple[int, ...] = ()
    """Positions in eta of the amplitudes: what is zero in a body that is not deformed."""
    limits: tuple[tuple[int, float, float], ...] = ()
    """Position in eta of what must stay in a range, low excluded: a telescope's length."""
    straining: Callable[[Vector], Matrix] | None = None
    """eta -> what of D over eta_dot changes with eta, (k, k): a material's damping where the free length varies."""
    convects: bool = False
    """Whether M gives points velocities that are not the rates of their positions."""
    root: Callable[[Vector], Vector] = lambda eta: [0.0, 0.0]
    """Slopes in y and z at the hub; zero where the beam is clamped."""
    curvature: Callable[[float, Vector], Vector] = lambda x, eta: [0.0, 0.0]
    """In y and z at the station x in [0, 1] of the (free) length [1/m]."""
    bending_moment: Callable[[float, Vector], Vector] = lambda x, eta: [0.0, 0.0]
    """EI times the curvature in y and z at the station x in [0, 1] of the (free) length [N m]."""
    line: Callable[[float, Vector], Vector] | None = None
    """Where the section at the station x in [0, 1] of the (free) length stands, in the terms of `tip`."""
    known: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False, compare=False)
    """What `once` has found."""

    def once(self, key: Hashable, found: Callable[[], T]) -> T:
        """What is the same at every state: found when first asked for, and known by a key from then on."""
        if key not in self.known:
            self.known[key] = found()
        return cast(T, self.known[key])

    def section(self, x: float, eta: Vector) -> Vector:
        """Place and angles of a section, as `tip` gives them; of a body that says nothing, on the way to its tip."""
        return scaled(x, self.tip(eta)) if self.line is None else self.line(x, eta)

    def outlet(self, x: float, eta: Vector) -> Vector:
        """The same of where something is carried; at 1 the tip itself."""
        return self.section(x, eta) if x < 1.0 else self.tip(eta)


def undeformed(body: Body, eta: Vector) -> Vector:
    """eta with the amplitudes zero."""
    return [0.0 if i in body.flexible else x for i, x in enumerate(eta)]


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


def couple(M: Matrix, column: int, wrench: Vector) -> None:
    for r in range(6):
        M[r][column] = M[column][r] = wrench[r]


def bordered(D: Matrix, before: int = 1, after: int = 0) -> Matrix:
    """The matrix with empty rows and columns before it and after it."""
    size = before + len(D) + after
    rows = [[*[0.0] * before, *row, *[0.0] * after] for row in D]
    return zeros(before, size) + rows + zeros(after, size)


def slopes_of(function: Callable[[Vector], Vector], size: int) -> Matrix:
    """Slopes of a linear function of eta: one row for each of its values."""
    columns = [function([float(i == j) for i in range(size)]) for j in range(size)]
    return [[column[r] for column in columns] for r in range(len(function([0.0] * size)))]


def symmetric(A: np.ndarray) -> np.ndarray:
    return (A + A.T) / 2


def without_rounding(A: np.ndarray) -> np.ndarray:
    """A with entries that are zero but for rounding set to zero: a term that vanishes then costs nothing.

    Entries are measured against the diagonal of a square matrix, which is what bounds them, else against the largest.
    """
    if A.ndim == 2 and A.shape[0] == A.shape[1]:
        d = np.sqrt(np.abs(np.diag(A)))
        size = np.outer(d, d)
    else:
        size = np.abs(A).max(initial=0.0) * np.ones_like(A)
    return np.where(np.abs(A) <= 1e-12 * size, 0.0, A)
