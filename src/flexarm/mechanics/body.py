"""Interface of a link for the dynamics: inertia, potential, damping and tip as functions of its local coordinates.

The dynamics uses nothing else of a link. A new kind of link is a new function that returns a `Body`.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

import numpy as np

from flexarm.mechanics.spatial import Matrix, Scalar, Vector, scaled, zeros
from flexarm.shapes import TipLoad

T = TypeVar("T")

Loads = dict[str, TipLoad]
"""Inertia beyond a link's tip, by direction; in torsion only an inertia, in stretch only a mass."""


@dataclass(frozen=True)
class Body:
    """A link and its drive, in terms of its base frame, which follows the joint.

    Attributes
    ----------
    size : int
        Number k of local coordinates eta: a telescope's length, the flexible ones, the motor of an elastic joint.
    inertia : eta -> (7 + k, 7 + k)
        M(eta): kinetic energy = 1/2 y' M y with y = (v, w, r, eta_dot); v is the velocity of the base frame's origin, r
        the rate of the joint that moves the base frame (relevant only to a rotor).
    potential : (q, eta) -> scalar
        Energy of strain and of the joint's spring [J]; q is the joint's coordinate.
    damping : (1 + k, 1 + k)
        Constant matrix D over (r, eta_dot).
    drive : (1 + k,)
        Direction of the actuator: its power is u (drive . (r, eta_dot)). All zero without an actuator.
    tip : eta -> (p_x, p_y, p_z, slope_y, slope_z, torsion)
        The distal frame: moved by p, then turned by Rz(slope_y) Ry(-slope_z) Rx(torsion).
    rest : (k,)
        eta of the default configuration: the telescope's nominal length, else zero.
    """

    size: int
    inertia: Callable[[Vector], Matrix]
    potential: Callable[[Scalar, Vector], Scalar]
    damping: Matrix
    drive: Vector
    tip: Callable[[Vector], Vector]
    rest: tuple[float, ...] = ()
    moved: Vector = field(default_factory=list)
    """Direction of the joint itself, after its spring (1 + k,). Without a spring it is equal to `drive`."""
    flexible: tuple[int, ...] = ()
    """Indices in eta of the amplitudes, which are zero in an undeformed body."""
    limits: tuple[tuple[int, float, float], ...] = ()
    """Index in eta of a coordinate that must stay in a range, low excluded: a telescope's length."""
    straining: Callable[[Vector], Matrix] | None = None
    """A function eta -> variable part of D over eta_dot, (k, k): a material's damping if the free length varies."""
    convects: bool = False
    """True if M gives points velocities that are not the rates of their positions."""
    root: Callable[[Vector], Vector] = lambda eta: [0.0, 0.0]
    """Slopes in y and z at the hub; zero for a clamped beam."""
    curvature: Callable[[float, Vector], Vector] = lambda x, eta: [0.0, 0.0]
    """Curvature in y and z at the station x in [0, 1] of the (free) length [1/m]."""
    bending_moment: Callable[[float, Vector], Vector] = lambda x, eta: [0.0, 0.0]
    """Bending moment, EI times the curvature, in y and z at the station x in [0, 1] of the (free) length [N m]."""
    line: Callable[[float, Vector], Vector] | None = None
    """Position and angles of the section at the station x in [0, 1] of the (free) length, in the form of `tip`."""
    known: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False, compare=False)
    """Cache of `once`."""

    def once(self, key: Hashable, found: Callable[[], T]) -> T:
        """Return the value of a function that does not depend on the state.

        It is computed on first use and cached by its key.
        """
        if key not in self.known:
            self.known[key] = found()
        return cast(T, self.known[key])

    def section(self, x: float, eta: Vector) -> Vector:
        """Return position and angles of a section, in the form of `tip`. Without `line`, they are proportional to x."""
        return scaled(x, self.tip(eta)) if self.line is None else self.line(x, eta)

    def outlet(self, x: float, eta: Vector) -> Vector:
        """Return the section at which something is mounted. At 1 it is the tip itself."""
        return self.section(x, eta) if x < 1.0 else self.tip(eta)


def undeformed(body: Body, eta: Vector) -> Vector:
    """Return eta with zero amplitudes."""
    return [0.0 if i in body.flexible else x for i, x in enumerate(eta)]


def frame_inertia(m: Scalar, S: Vector, J: Matrix, size: int) -> Matrix:
    """Return the (7 + size) inertia of mass m, first moment S and second moment J, with zeros for r and eta."""
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
    """Return the matrix with empty rows and columns before it and after it."""
    size = before + len(D) + after
    rows = [[*[0.0] * before, *row, *[0.0] * after] for row in D]
    return zeros(before, size) + rows + zeros(after, size)


def slopes_of(function: Callable[[Vector], Vector], size: int) -> Matrix:
    """Return the slopes of a linear function of eta, one row per value."""
    columns = [function([float(i == j) for i in range(size)]) for j in range(size)]
    return [[column[r] for column in columns] for r in range(len(function([0.0] * size)))]


def symmetric(A: np.ndarray) -> np.ndarray:
    return (A + A.T) / 2


def without_rounding(A: np.ndarray) -> np.ndarray:
    """Return A with entries that are zero up to rounding set to zero, so that the terms vanish from expressions.

    The threshold is relative to the diagonal of a square matrix, which bounds its entries, or else to the largest
    entry.
    """
    if A.ndim == 2 and A.shape[0] == A.shape[1]:
        d = np.sqrt(np.abs(np.diag(A)))
        size = np.outer(d, d)
    else:
        size = np.abs(A).max(initial=0.0) * np.ones_like(A)
    return np.where(np.abs(A) <= 1e-12 * size, 0.0, A)
