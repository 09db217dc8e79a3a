"""Blocks A, P and M of each link by Mohan & Saha's eqs. 8 to 11 and 24a, from points and shapes.

Nothing here uses the package's mechanics. Positions and directions are in the base's axes, as in the paper.
"""

import numpy as np
from scipy.linalg import block_diag

from flexarm import Arm, Beam
from flexarm.arrays import Array
from flexarm.cached import cached_property
from flexarm_papers.mohan_saha.shapes import W, X, shape

MODES = 2
"""Number of modes of each link, in the plane."""
ROWS, COLUMNS = 6 + MODES, 1 + MODES
"""Size of a link's twist (eq. 3) and number of its coordinates (eq. 5)."""
AXIS = np.array([0.0, 0.0, 1.0])
"""Axis z_i of every joint."""


def cross(a: Array) -> Array:
    """Return the matrix a x 1 of eq. 9."""
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


def eq_11(slope_y: Array, slope_z: Array, exchanged: bool = False) -> Array:
    """Return Delta (3, 3 m) from the slopes of the shapes in both planes at the link's end.

    `exchanged` gives the printed form.
    """
    own, other = (slope_z, slope_y) if exchanged else (slope_y, slope_z)
    zeros = np.zeros_like(slope_y)
    return np.vstack([np.r_[zeros, zeros, zeros], np.r_[zeros, zeros, -other], np.r_[zeros, own, zeros]])


class Blocks:
    """A planar arm's links at a position q: joint angles first, then the amplitudes, link by link.

    Attributes
    ----------
    o : (n + 1, 3)
        Positions of the joints O_i, and of the last tip.
    R : (n, 3, 3)
        Axes of the links' undeformed parts.
    """

    def __init__(self, arm: Arm, q: Array):
        self.bodies: list[Beam] = [link.body for link in arm.links if isinstance(link.body, Beam)]
        n = len(self.bodies)
        self.d = q[n:].reshape(n, MODES)
        phi, slope = shape(np.ones(1), MODES)[0], shape(np.ones(1), MODES, 1)[0]
        self.o, self.R, angle = np.zeros((n + 1, 3)), np.zeros((n, 3, 3)), 0.0
        for i, body in enumerate(self.bodies):
            angle += q[i]
            c, s = np.cos(angle), np.sin(angle)
            self.R[i] = [[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]
            self.o[i + 1] = self.o[i] + self.R[i] @ [body.length, phi @ self.d[i], 0.0]
            angle += slope @ self.d[i] / body.length

    def points(self, i: int) -> tuple[Array, Array, Array]:
        """Return the positions r (24, 3) of points along link i, the shapes S (24, 3, m) there, and their masses."""
        body, phi = self.bodies[i], shape(X, MODES)
        S = np.einsum("a,pm->pam", self.R[i][:, 1], phi)
        r = np.outer(body.length * X, self.R[i][:, 0]) + S @ self.d[i]
        return r, S, body.total_mass * W

    def A(self, i: int) -> Array:
        """Return A(i, i-1) by eqs. 8 to 10, for i from 1, with the corrected a(i, i-1) from O_i to O_(i-1)."""
        body, R = self.bodies[i - 1], self.R[i - 1]
        S = np.outer(R[:, 1], shape(np.ones(1), MODES)[0])
        slope = shape(np.ones(1), MODES, 1)[0] / body.length
        Delta = R @ eq_11(slope, slope)[:, MODES : 2 * MODES]  # no modes along x and z
        A = np.zeros((ROWS, ROWS))
        A[:3, :3] = A[3:6, 3:6] = np.eye(3)
        A[:3, 3:6] = cross(self.o[i - 1] - self.o[i])
        A[:6, 6:] = np.vstack([S, Delta])
        return A

    @cached_property
    def N_l(self) -> Array:
        """N_l by eq. 15, with A(i, j) = A(i, i-1) ... A(j+1, j)."""
        n = len(self.bodies)
        N_l = np.eye(ROWS * n)
        for i in range(1, n):
            own, before = slice(ROWS * i, ROWS * (i + 1)), slice(ROWS * (i - 1), ROWS * i)
            N_l[own, : ROWS * i] = self.A(i) @ N_l[before, : ROWS * i]
        return N_l

    @cached_property
    def N_d(self) -> Array:
        """N_d by eqs. 8, 9 and 13."""
        P = np.zeros((ROWS, COLUMNS))
        P[3:6, 0], P[6:, 1:] = AXIS, np.eye(MODES)
        return np.asarray(block_diag(*[P] * len(self.bodies)))

    @cached_property
    def M(self) -> Array:
        """M by eqs. 24a and 26, without payload and hub."""
        return np.asarray(block_diag(*[self.mass_matrix(i) for i in range(len(self.bodies))]))

    def mass_matrix(self, i: int) -> Array:
        """Return M_i by eq. 24a."""
        M = np.zeros((ROWS, ROWS))
        for r, S, rho in zip(*self.points(i), strict=True):
            v = np.hstack([np.eye(3), -cross(r), S])  # the velocity of a point by the link's twist
            M += rho * v.T @ v
        return M
