"""A fine finite element model of one beam in bending: Euler-Bernoulli or Timoshenko.

Coordinates are those of the rotation psi of sections, continuous and quadratic in each element. With shear, they also
include the shear strain gamma, linear in each element, with steps between two elements. The deflection is

    w(x) = int_0^x (psi + gamma) dx

No penalty term is needed to couple w' and psi in a thin beam, and there is no locking. Without gamma, these are
Hermite's cubic elements. With psi and gamma as amplitudes of one metre, x from 0 to 1:

    2 V = int EI / L^3 psi'^2 + kappa G A / L gamma^2      2 T = int m L w_t^2 + rho I / L psi_t^2

The alternative with w and psi as unknowns has a matrix whose condition number grows with kappa G A L^2 / EI.
"""

from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from math import ceil
from typing import Any

import numpy as np

from flexarm.checks import tensor
from flexarm.shapes.basis import Basis, gauss

FEWEST = 60
"""Least number of elements of a beam."""


@dataclass(frozen=True)
class Fine:
    """A fine model.

    Attributes
    ----------
    nodes : (elements + 1,)
    psi : (elements, 3, size)
        Rotation of each coordinate, as powers of the distance from an element's left node.
    w : (elements, 4, size)
        Deflection of each coordinate, in the same form.
    M, K : (size, size)
    shears : bool
        True if psi differs from w'.
    """

    nodes: np.ndarray
    psi: np.ndarray
    w: np.ndarray
    M: np.ndarray
    K: np.ndarray
    shears: bool

    def deflection(self, x: Any, derivative: int = 0) -> np.ndarray:
        """Return the deflection of every coordinate, (points, size)."""
        return piecewise(self.nodes, self.w, np.atleast_1d(np.asarray(x, float)), derivative)

    def rotation(self, x: Any, derivative: int = 0) -> np.ndarray:
        """Return the rotation of every coordinate, (points, size)."""
        return piecewise(self.nodes, self.psi, np.atleast_1d(np.asarray(x, float)), derivative)

    def basis(self, vectors: np.ndarray) -> Basis:
        """Return shapes that are combinations of the coordinates, (size, count)."""
        w, psi = (partial(piecewise, self.nodes, powers @ vectors) for powers in (self.w, self.psi))
        return Basis(vectors.shape[1], w, tuple(self.nodes.tolist()), psi if self.shears else None)


def fine_model(beam: Any, direction: str, count: int) -> Fine:
    """Return the model of a beam (`length`, `profile`, `breaks`, `lumps`) for its first `count` modes along "y" or "z".

    The beam is clamped at x = 0 and free at x = 1. A lump contributes its mass, the part of its offset along the beam
    and the inertia that turns with the section, but no coupling between the planes.
    """
    nodes = _nodes(beam, max(FEWEST, 4 * count))
    h = np.diff(nodes)
    t, weights = gauss(5)  # exact to x^9: mass of seventh degree, or stiffness of sixth
    x = (nodes[:-1, None] + h[:, None] * (1 + t) / 2).ravel()
    dx = (h[:, None] * weights / 2).ravel()
    along, L = beam.profile(x), beam.length
    EI, kGA, rho_I = (
        (along.EI_y, along.kGA_y, along.rho_I_y) if direction == "y" else (along.EI_z, along.kGA_z, along.rho_I_z)
    )
    psi, gamma = _rotations(h), _strains(h) if kGA.any() else np.zeros((len(h), 3, 0))
    turned = np.concatenate([psi, np.zeros(gamma.shape)], axis=2)
    sheared = np.concatenate([np.zeros(psi.shape), gamma], axis=2)
    w = _integral(h, turned + sheared)

    bent, shear, rotation, deflection = (
        piecewise(nodes, powers, x, n) for powers, n in ((turned, 1), (sheared, 0), (turned, 0), (w, 0))
    )
    K = (bent.T * (dx * EI / L**3)) @ bent + (shear.T * (dx * kGA / L)) @ shear
    M = (deflection.T * (dx * along.m * L)) @ deflection + (rotation.T * (dx * rho_I / L)) @ rotation
    for lump in beam.lumps:
        station = np.array([lump.at])
        u, turn = piecewise(nodes, w, station, 0)[0], piecewise(nodes, turned, station, 0)[0] / L
        ahead, across = lump.offset[0], lump.offset[1 if direction == "y" else 2]
        about = 2 if direction == "y" else 1
        moved = u + ahead * turn
        M += lump.mass * np.outer(moved, moved)
        M += (tensor(lump.inertia)[about, about] + lump.mass * across**2) * np.outer(turn, turn)
    return Fine(nodes, turned, w, M, K, bool(kGA.any()))


def _nodes(beam: Any, elements: int) -> np.ndarray:
    """Return nodes at every break of the sections and at every lump, evenly spaced between two of them."""
    breaks = np.unique([*beam.breaks, *(lump.at for lump in beam.lumps)])
    pieces = [np.linspace(a, b, ceil((b - a) * elements - 1e-9), endpoint=False) for a, b in pairwise(breaks)]
    return np.append(np.concatenate(pieces), 1.0)


def _rotations(h: np.ndarray) -> np.ndarray:
    """Return continuous functions, quadratic in each element and zero at x = 0: at middles and right nodes, in turn."""
    n = len(h)
    powers = np.zeros((n, 3, 2 * n + 1))  # at nodes and middles, in order
    local = np.array([[1, -3, 2], [0, 4, -4], [0, -1, 2]], dtype=float)  # of xi = t / h: left, middle, right
    for e in range(n):
        powers[e, :, 2 * e : 2 * e + 3] = (local / h[e] ** np.arange(3)).T
    return powers[:, :, 1:]


def _strains(h: np.ndarray) -> np.ndarray:
    """Return the functions 1 and 2 xi - 1 in each element, zero elsewhere."""
    n = len(h)
    powers = np.zeros((n, 3, 2 * n))
    for e in range(n):
        powers[e, 0, 2 * e : 2 * e + 2] = 1.0, -1.0
        powers[e, 1, 2 * e + 1] = 2.0 / h[e]
    return powers


def _integral(h: np.ndarray, powers: np.ndarray) -> np.ndarray:
    """Return the integrals from 0 to x of functions given by their powers in each element."""
    n, terms, size = powers.shape
    found = np.zeros((n, terms + 1, size))
    found[:, 1:] = powers / np.arange(1, terms + 1)[:, None]
    whole = sum(found[:, k] * h[:, None] ** k for k in range(1, terms + 1))
    found[1:, 0] = np.cumsum(whole, axis=0)[:-1]
    return found


def piecewise(nodes: np.ndarray, powers: np.ndarray, x: np.ndarray, n: int) -> np.ndarray:
    """Return the n-th derivative at points x, (points, functions), of functions given by powers in elements."""
    e = np.clip(np.searchsorted(nodes, x, side="right") - 1, 0, len(nodes) - 2)
    t, terms = (x - nodes[e])[:, None], powers.shape[1]
    value = np.zeros((len(x), powers.shape[2]))
    for k in reversed(range(n, terms)):
        value = value * t + powers[e, k] * np.prod(np.arange(k - n + 1, k + 1))
    return value


def lowest(M: np.ndarray, K: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the `count` lowest omega^2 of K V = M V diag(omega^2), and their columns, with V' K V = 1."""
    # The largest eigenvalues of K^-1 M are the lowest modes: they keep the digits that those of M^-1 K lose.
    C_inv = np.linalg.inv(np.linalg.cholesky(K))
    inverse, V = np.linalg.eigh(C_inv @ M @ C_inv.T)
    return 1 / inverse[::-1][:count], (C_inv.T @ V)[:, ::-1][:, :count]


def null_space(A: np.ndarray) -> np.ndarray:
    """Return columns that span the null space of a matrix of full rank, (columns, columns - rows)."""
    return np.linalg.svd(A)[2][len(A) :].T
