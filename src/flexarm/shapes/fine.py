"""A fine model of one beam in bending, by finite elements: after Euler and Bernoulli, or after Timoshenko.

Coordinates are those of the rotation psi of sections, continuous and quadratic in each element, and, of a beam that
shears, of the shear strain gamma, linear in each element and free to step between two. The deflection is

    w(x) = int_0^x (psi + gamma) dx

so that no penalty holds w' to psi where the beam is thin, and nothing locks: without gamma these are the cubic elements
of Hermite. With psi and gamma for amplitudes of one metre, x from 0 to 1:

    2 V = int EI / L^3 psi'^2 + kappa G A / L gamma^2      2 T = int m L w_t^2 + rho I / L psi_t^2

The alternative, w and psi for unknowns, has a matrix whose condition grows with kappa G A L^2 / EI.
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
"""Elements of a beam."""


@dataclass(frozen=True)
class Fine:
    """A fine model.

    Attributes
    ----------
    nodes : (elements + 1,)
    psi : (elements, 3, size)
        Powers of the distance from an element's left node, of the rotation of each coordinate.
    w : (elements, 4, size)
        And of its deflection.
    M, K : (size, size)
    shears : bool
        Whether psi is another function than w'.
    """

    nodes: np.ndarray
    psi: np.ndarray
    w: np.ndarray
    M: np.ndarray
    K: np.ndarray
    shears: bool

    def deflection(self, x: Any, derivative: int = 0) -> np.ndarray:
        """Of every coordinate, (points, size)."""
        return piecewise(self.nodes, self.w, np.atleast_1d(np.asarray(x, float)), derivative)

    def rotation(self, x: Any, derivative: int = 0) -> np.ndarray:
        """Of every coordinate, (points, size)."""
        return piecewise(self.nodes, self.psi, np.atleast_1d(np.asarray(x, float)), derivative)

    def basis(self, vectors: np.ndarray) -> Basis:
        """Shapes that are combinations of the coordinates, (size, count)."""
        w, psi = (partial(piecewise, self.nodes, powers @ vectors) for powers in (self.w, self.psi))
        return Basis(vectors.shape[1], w, tuple(self.nodes.tolist()), psi if self.shears else None)


def fine_model(beam: Any, direction: str, count: int) -> Fine:
    """The model of a beam (`length`, `profile`, `breaks`, `lumps`) for its first `count` modes along "y" or "z".

    Clamped at x = 0, free at x = 1. Of a lump count its mass, the part of its offset along the beam and what turns
    with the section; that it couples the planes does not.
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
    """Nodes at every break of the sections and at every lump, and even between two of them."""
    breaks = np.unique([*beam.breaks, *(lump.at for lump in beam.lumps)])
    pieces = [np.linspace(a, b, ceil((b - a) * elements - 1e-9), endpoint=False) for a, b in pairwise(breaks)]
    return np.append(np.concatenate(pieces), 1.0)


def _rotations(h: np.ndarray) -> np.ndarray:
    """Continuous functions, quadratic in each element and zero at x = 0: at middles and right nodes, in turn."""
    n = len(h)
    powers = np.zeros((n, 3, 2 * n + 1))  # at nodes and middles, in order
    local = np.array([[1, -3, 2], [0, 4, -4], [0, -1, 2]], dtype=float)  # of xi = t / h: left, middle, right
    for e in range(n):
        powers[e, :, 2 * e : 2 * e + 3] = (local / h[e] ** np.arange(3)).T
    return powers[:, :, 1:]


def _strains(h: np.ndarray) -> np.ndarray:
    """1 and 2 xi - 1 in each element, zero elsewhere."""
    n = len(h)
    powers = np.zeros((n, 3, 2 * n))
    for e in range(n):
        powers[e, 0, 2 * e : 2 * e + 2] = 1.0, -1.0
        powers[e, 1, 2 * e + 1] = 2.0 / h[e]
    return powers


def _integral(h: np.ndarray, powers: np.ndarray) -> np.ndarray:
    """From 0 to x, of functions given by their powers in each element."""
    n, terms, size = powers.shape
    found = np.zeros((n, terms + 1, size))
    found[:, 1:] = powers / np.arange(1, terms + 1)[:, None]
    whole = sum(found[:, k] * h[:, None] ** k for k in range(1, terms + 1))
    found[1:, 0] = np.cumsum(whole, axis=0)[:-1]
    return found


def piecewise(nodes: np.ndarray, powers: np.ndarray, x: np.ndarray, n: int) -> np.ndarray:
    """The n-th derivative at points x, (points, functions), of functions given by powers in elements between nodes."""
    e = np.clip(np.searchsorted(nodes, x, side="right") - 1, 0, len(nodes) - 2)
    t, terms = (x - nodes[e])[:, None], powers.shape[1]
    value = np.zeros((len(x), powers.shape[2]))
    for k in reversed(range(n, terms)):
        value = value * t + powers[e, k] * np.prod(np.arange(k - n + 1, k + 1))
    return value


def lowest(M: np.ndarray, K: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The `count` lowest omega^2 of K V = M V diag(omega^2), and their columns, with V' K V = 1."""
    # The largest eigenvalues of K^-1 M are the lowest modes: they keep the digits that those of M^-1 K lose.
    C_inv = np.linalg.inv(np.linalg.cholesky(K))
    inverse, V = np.linalg.eigh(C_inv @ M @ C_inv.T)
    return 1 / inverse[::-1][:count], (C_inv.T @ V)[:, ::-1][:, :count]


def null_space(A: np.ndarray) -> np.ndarray:
    """Columns that span what a matrix of full rank takes to zero, (columns, columns - rows)."""
    return np.linalg.svd(A)[2][len(A) :].T
