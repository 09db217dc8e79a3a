"""Implicit methods for q'' = f(t, q, q', z), z' = g(t, q, q', z), as tables of coefficients.

The unknowns of a step from t to t + h are the rates k_i = (q'', z') at its s stages t + c_i h. k_s, ... are rates that
a one-step method keeps from the previous step (in the generalized-alpha method). The states at the stages are

    q_i = q + c_i h v + h^2 sum_j a2_ij q''_j,    v_i = v + h sum_j a1_ij q''_j,    z_i = z + h sum_j a1_ij z'_j,

and each stage's equation is k_i = mix (f, g)(stage i) + terms of the previous step. A free base's pose p, p' = N(p) v,
is treated like z. In the basis of the eigenvectors of a1, Newton's matrix decomposes into blocks M + h x C + h^2 y K of
the size of one stage's rates, each real or complex.
"""

from dataclasses import dataclass
from functools import cache
from typing import final

import numpy as np

from flexarm.arrays import Array
from flexarm.errors import DescriptionError


@final
@dataclass(frozen=True)
class Tableau:
    """An implicit method with s stages that keeps e rates of the previous step (0 or 1).

    Attributes
    ----------
    c : (s,)
    a1, a2 : (s, s + e)
        Weights of the rates in a stage's v and z, and in its q.
    b1, b2 : (s + e,)
        The same for the end of the step.
    blocks : (s, 4)
        x and y of a block of Newton's matrix: Re x, Im x, Re y, Im y. A complex block represents two stages, and its
        conjugate's row is zero.
    to, back : (s, s)
        From the stages' residuals to the blocks' right sides (a complex one as real and imaginary part), and back.
    order : int
    mix, carried, before : float
        A stage's equation: k = mix f + carried f(the step's start) + before k_s.
    """

    c: Array
    a1: Array
    a2: Array
    b1: Array
    b2: Array
    blocks: Array
    to: Array
    back: Array
    order: int
    mix: float = 1.0
    carried: float = 0.0
    before: float = 0.0

    @property
    def stages(self) -> int:
        """Number of stages s."""
        return len(self.c)

    @property
    def kept(self) -> int:
        """Number e of rates of the previous step."""
        return len(self.b1) - len(self.c)

    @property
    def nodes(self) -> Array:
        """Times of the stages within a step, (stages,)."""
        return self.c

    @property
    def weights(self) -> Array:
        """Weights of the rates of all stages in the state of each stage and of the end, (stages + 1, stages)."""
        return np.vstack([self.a1, self.b1])


@cache
def gauss(s: int) -> Tableau:
    """Return Gauss's method of order 2 s, which neither damps nor excites modes (Hairer, Lubich & Wanner II.1.3)."""
    return _collocation((np.polynomial.legendre.leggauss(s)[0] + 1) / 2, 2 * s)


@cache
def radau(s: int) -> Tableau:
    """Return Radau IIA of order 2 s - 1, which damps modes much faster than the step (Hairer & Wanner IV.5)."""
    # all nodes but the last are the zeros of a Jacobi polynomial, the eigenvalues of its three-term recurrence
    n = np.arange(s - 1)
    diagonal = -1.0 / ((2 * n + 1) * (2 * n + 3))
    k = np.arange(1, s - 1)
    beside = np.sqrt(k * (k + 1)) / (2 * k + 1)
    nodes = np.linalg.eigvalsh(np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1))
    return _collocation(np.append((nodes + 1) / 2, 1.0), 2 * s - 1)


@cache
def generalized_alpha(rho: float) -> Tableau:
    """Return the generalized-alpha method, of order 2, with the spectral radius rho at infinity.

    rho = 1 gives the trapezoidal rule. Chung & Hulbert 1993, with the accelerations of Arnold & Bruls 2007. Raises
    `DescriptionError` if rho is not between 0 and 1.
    """
    if not 0.0 <= rho <= 1.0:
        raise DescriptionError(f"spectral_radius is {rho}; it must be from 0 to 1")
    alpha_m, alpha_f = (2 * rho - 1) / (rho + 1), rho / (rho + 1)
    gamma = 0.5 - alpha_m + alpha_f
    beta = (1 - alpha_m + alpha_f) ** 2 / 4
    mix = (1 - alpha_f) / (1 - alpha_m)
    b1, b2 = np.array([gamma, 1 - gamma]), np.array([beta, 0.5 - beta])
    one = np.ones((1, 1))
    blocks = np.array([[mix * gamma, 0.0, mix * beta, 0.0]])
    carried, before = alpha_f / (1 - alpha_m), -alpha_m / (1 - alpha_m)
    return Tableau(np.ones(1), b1[None], b2[None], b1, b2, blocks, one, one, 2, mix, carried, before)


def _collocation(c: Array, order: int) -> Tableau:
    s = len(c)
    powers = np.arange(1, s + 1)
    lagrange = np.linalg.inv(np.vander(c, increasing=True))
    A, b = (c[:, None] ** powers / powers) @ lagrange, (1.0 / powers) @ lagrange
    values, vectors = np.linalg.eig(A)
    blocks, back = np.zeros((s, 4)), np.zeros((s, s))
    i = 0
    for value, vector in sorted(zip(values, vectors.T, strict=True), key=lambda pair: abs(pair[0].imag)):
        if value.imag < -1e-9:
            continue  # the conjugate of another
        blocks[i] = value.real, value.imag, (value**2).real, (value**2).imag
        if value.imag < 1e-9:
            back[:, i] = vector.real
            i += 1
        else:  # y x + its conjugate = 2 Re x Re y - 2 Im x Im y
            back[:, i], back[:, i + 1] = 2 * vector.real, -2 * vector.imag
            i += 2
    return Tableau(c, A, A @ A, b, b @ A, blocks, np.linalg.inv(back), back, order)
