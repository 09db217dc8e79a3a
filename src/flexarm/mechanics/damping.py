"""Structural damping of a link: modal damping ratios, a loss factor, Kelvin-Voigt and Rayleigh damping.

All of them add. Modal ratios and the loss factor need the modes of the link alone. The retardation time of Kelvin-Voigt
and Rayleigh's factors do not: D = (tau + b) K + a M, for any shapes.
"""

from collections.abc import Callable
from functools import cache, partial
from itertools import pairwise

import numpy as np

from flexarm.description.arm import Beam
from flexarm.description.numbers import coordinate_labels
from flexarm.mechanics.body import without_rounding
from flexarm.mechanics.parameters import Name
from flexarm.mechanics.spatial import Matrix, Scalar, added, dot, is_zero, scaled, square_root

Material = Callable[[Matrix, Matrix], Matrix]


def material_damping(description: Beam, name: Name) -> Material | None:
    """Return (M, K) -> (tau + b) K + a M over eta, of a link's inertia M and stiffness K; None without such damping.

    Kelvin-Voigt's M = EI (kappa + tau kappa_t), and the same for torsion, stretch and shear, gives D = tau K.
    """
    tau = name("tau", "tau", description.tau, "s", "time of the material's damping")
    given = description.rayleigh
    a = name("ra", "rayleigh.mass", given.mass if given else 0.0, "1/s", "Rayleigh's factor of the mass")
    b = name("rb", "rayleigh.stiffness", given.stiffness if given else 0.0, "s", "Rayleigh's factor of the stiffness")
    along = tau + b
    if is_zero(along) and is_zero(a):
        return None
    return lambda M, K: [added(scaled(along, k), scaled(a, m)) for k, m in zip(K, M, strict=True)]


def modal_damping(M: np.ndarray, K: np.ndarray, ratios: np.ndarray, start: list[int]) -> np.ndarray:
    """Return the damping matrix that gives each mode of the clamped link, alone and without load, its damping ratio.

    In each direction (a block of `start`), ratios belong to the modes in the order of their frequencies: D = M Phi
    diag(2 zeta omega) Phi' M with K Phi = M Phi diag(omega^2), Phi' M Phi = 1. If the link alone has no inertia
    (torsion without polar inertia), the critical damping 2 sqrt(K M) is zero, and so is D.
    """
    D = np.zeros_like(K)
    for a, b in pairwise(start):
        block = slice(a, b)
        if not (ratios[a:b].any() and M[block, block].any()):
            continue
        C = np.linalg.cholesky(M[block, block])
        C_inv = np.linalg.inv(C)
        omega2, V = np.linalg.eigh(C_inv @ K[block, block] @ C_inv.T)
        D[block, block] = without_rounding(C @ V @ np.diag(2 * ratios[a:b] * np.sqrt(omega2)) @ V.T @ C.T)
    return D


def named_damping(
    M: np.ndarray, K: np.ndarray, description: Beam, start: list[int], name: Name, powers: list[Scalar]
) -> Matrix:
    """Return the modal damping matrix, D = sum_j zeta_j D_j, which follows from the modes' damping ratios.

    The material's loss factor adds half of itself to a mode's ratio. In a cycle of its frequency omega with amplitude
    A, a mode of stiffness k loses pi d omega A^2, and the material loses loss_factor times 2 pi times k A^2 / 2.
    Therefore d = loss_factor k / omega, a ratio d omega / (2 k) of critical damping.

    `powers` are, for each direction, the product of the factors of M and K relative to the description.
    """
    ratios = np.array(description.damping_ratios) + description.loss_factor / 2
    modes = coordinate_labels([b - a for a, b in pairwise(start)])
    D = modal_damping(M, K, ratios, start)
    direction = [d for d, (a, b) in enumerate(pairwise(start)) for _ in range(a, b)]

    @cache
    def unit(mode: int) -> np.ndarray:
        return modal_damping(M, K, np.eye(len(ratios))[mode], start)

    def follows(i: int, j: int) -> Scalar:
        a, b = start[direction[i]], start[direction[i] + 1]
        if not a <= j < b:
            return 0.0
        half = 0.5 * named_loss(description, name)
        zeta = [named_ratio(description, name, modes, r) + half for r in range(a, b)]
        return square_root(powers[direction[i]]) * dot(zeta, [unit(r)[i, j] for r in range(a, b)])

    return [
        [
            name(f"d_{modes[min(i, j)]}_{modes[max(i, j)]}", f"modal_damping.{modes[min(i, j)]}.{modes[max(i, j)]}",
                 float(D[i, j]), "N s/m", "modal damping", partial(follows, i, j))
            for j in range(len(D))
        ]
        for i in range(len(D))
    ]  # fmt: skip


def named_ratio(description: Beam, name: Name, modes: list[str], mode: int) -> Scalar:
    """Return a mode's ratio of critical damping. If one number is given for all modes, it has one name."""
    label = "" if isinstance(description.damping, float) else modes[mode]
    field, value = f"damping_ratio{'.' * bool(label)}{label}", description.damping_ratios[mode]
    return name(f"zeta{'_' * bool(label)}{label}", field, value, "", "ratio of critical damping")


def named_loss(description: Beam, name: Name) -> Scalar:
    """Return the material's loss factor."""
    return name("lf", "loss_factor", description.loss_factor, "", "loss factor of the material")
