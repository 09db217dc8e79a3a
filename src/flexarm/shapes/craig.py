"""Static shapes of a force and a moment at the tip, and modes of the beam clamped at both ends, orthogonalized."""

from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, ClassVar, Literal, final

import numpy as np

from flexarm.shapes.basis import BENDING, NO_SHAPES, Basis, Family, checked_count, quadrature, scaled
from flexarm.shapes.fine import fine_model, lowest, null_space
from flexarm.shapes.loaded import TipLoad, checked_case
from flexarm.shapes.uniform import clamped_clamped, clamped_roots


@final
class CraigBampton(Family):
    """Static shapes and clamped-clamped modes, after Craig & Bampton (1968), clamped at x = 0; largest deflection 1.

    `count` shapes span the deflections under a force at the tip, 3 x^2 - x^3, and under a moment there, x^2, then the
    first count - 2 modes of the beam clamped at both ends. Within this span they are the Rayleigh-Ritz approximations
    of the modes of the beam clamped at x = 0 and free at x = 1. With M = int phi_i phi_j and K = int phi_i'' phi_j'' of
    these functions, they are the columns of V in K V = M V diag(omega^2), lowest first. So int phi_i phi_j and int
    phi_i'' phi_j'' are zero for i != j. For any load at the tip, its static force and moment are exact. A shape depends
    on `count`.

    For a beam that is not uniform, carries lumps, shears or has rotary inertia, they are the same functions of the
    actual beam, weighted with its mass and stiffness, from a fine model.
    """

    family: Literal["craig-bampton"] = "craig-bampton"

    def fitted(self, beam: Any, direction: str, load: TipLoad) -> "CraigBampton | CraigBamptonOf":
        """Return the family for a beam that bends along `direction`. It does not depend on the load."""
        checked_case(self.name, beam, load)
        return self if beam.classical else CraigBamptonOf(beam, direction)

    def basis(self, count: int) -> Basis:
        """Return the shapes of a uniform beam."""
        return _uniform(checked_count(count))


@final
@dataclass(frozen=True)
class CraigBamptonOf:
    """The family for one beam in bending along "y" or "z"."""

    beam: Any
    direction: str
    name: ClassVar[str] = "craig-bampton"
    directions: ClassVar[tuple[str, ...]] = BENDING

    def basis(self, count: int) -> Basis:
        """Return the shapes of the actual beam."""
        if not checked_count(count):
            return NO_SHAPES  # the beam may have no stiffness in this direction
        fine = fine_model(self.beam, self.direction, count)
        C = np.linalg.cholesky(fine.K)
        # In the coordinates C' v, inner products are those of energy. The static shapes, under a force and under a
        # moment at the tip, are nearly equal if the base is thin, and products with K do not separate them.
        ends = np.column_stack([fine.deflection(1.0)[0], fine.rotation(1.0)[0]])
        static = np.linalg.solve(C, ends)
        held = null_space(ends.T)
        _, modes = lowest(held.T @ fine.M @ held, held.T @ fine.K @ held, max(count - 2, 0))
        parts = np.hstack([static, C.T @ (held @ modes)])[:, :count]
        K, parts = parts.T @ parts, np.linalg.solve(C.T, parts)
        _, vectors = lowest(parts.T @ fine.M @ parts, K, count)
        return scaled(fine.basis(parts @ vectors))


@lru_cache(maxsize=16)
def _uniform(count: int) -> Basis:
    """Return the shapes of any uniform beam."""
    beta = clamped_roots(max(count - 2, 0))
    raw = Basis(count, partial(_parts, beta, count))
    x, w = quadrature(raw)
    phi, curvature = raw.values(x), raw.values(x, 2)
    _, vectors = lowest((phi.T * w) @ phi, (curvature.T * w) @ curvature, count)
    return scaled(Basis(count, partial(_joined, beta, count, vectors)))


def _parts(beta, count, x, n):
    """Return the static shapes, followed by the modes of the beam clamped at both ends."""
    powers = [np.polynomial.Polynomial(c).deriv(n)(x) for c in ((0, 0, 1.5, -0.5), (0, 0, 1))]
    return np.hstack([np.column_stack(powers), clamped_clamped(beta, x, n)])[:, :count]


def _joined(beta, count, vectors, x, n):
    return _parts(beta, count, x, n) @ vectors
