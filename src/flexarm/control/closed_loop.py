"""An arm under a law: where it stands, its poles, and what becomes of deviations along a motion."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np

from flexarm.attitude import configuration
from flexarm.control.riccati import continuous, held
from flexarm.errors import FlexarmError
from flexarm.model import Model
from flexarm.simulation.law import Law

if TYPE_CHECKING:
    import casadi as ca

Array = np.ndarray

FELT = 1e-12
"""Of the largest entry: a coordinate that moves others by less moves none of them."""


@final
@dataclass(frozen=True, eq=False)
class ClosedLoop:
    """An arm under a law; x is (q, qd, z), z the law's memory; q are local coordinates, see `attitude.local`.

    Attributes
    ----------
    period : of a law that was designed for being called once a period [s]
    """

    model: Model
    law: Law
    period: float | None = None

    def matrix(self, t: float, x: Array) -> Array:
        """A of small deviations from a motion through x, dx/dt = A x, by exact derivatives, the time standing still.

        With a period A is that of one period: x at the next sample is A x.
        """
        _, to_z, A, B, to_u = self._slopes(t, x)
        if self.period is not None:
            A, B = held(A, B, self.period)
        return np.vstack([np.hstack([A, np.zeros((len(A), len(to_z)))]) + B @ to_u, to_z])

    def poles(self, t: float, x: Array) -> Array:
        """Eigenvalues of A [1/s]; where the base is free, without those of coordinates that nothing depends on."""
        A = self.matrix(t, x)
        if self.model.arm.free:
            moved = np.abs(A - np.eye(len(A)) * (self.period is not None))
            felt = np.flatnonzero(moved.max(axis=0) > FELT * moved.max())
            A = A[np.ix_(felt, felt)]
        s = np.linalg.eigvals(A)
        return s if self.period is None else continuous(s, self.period)

    def standing(self, t: float, x: Array) -> Array:
        """The state near x in which arm and law stand still, by Newton's method; raises `FlexarmError`."""
        n = self.model.nv
        for _ in range(50):
            (qdd, z), to_z, A, B, to_u = self._slopes(t, x)
            still = 0.0 if self.period is None else 1.0  # a sampled memory stays where the next is the last
            J = np.vstack([np.hstack([A, np.zeros((2 * n, len(to_z)))]) + B @ to_u, to_z])
            J[2 * n :, 2 * n :] -= still * np.eye(len(z))
            try:
                left = np.concatenate([x[n : 2 * n], qdd, z - still * x[2 * n :]])
                # a free base may stand anywhere: it stays where it is as well as it can
                step = -np.linalg.lstsq(J, left)[0] if self.model.arm.free else -np.linalg.solve(J, left)
            except np.linalg.LinAlgError:
                break
            x = x + step
            if not np.isfinite(x).all():
                break
            if np.abs(step).max() <= 1e-10 * (1 + np.abs(x).max()):
                return x
        raise FlexarmError(f"arm {self.model.arm.name!r}: the controller holds it nowhere near its reference's end")

    @property
    def rounds(self) -> bool:
        """Whether the law rounds something, so that its slopes say nothing."""
        import casadi as ca

        return any(self._law.instruction_id(k) == ca.OP_FLOOR for k in range(self._law.n_instructions()))

    def _slopes(self, t: float, x: Array) -> tuple[tuple[Array, Array], Array, Array, Array, Array]:
        """qdd and what follows for the memory; slopes of the latter, of the arm (A, B), and of u."""
        n, m = self.model.nv, len(self.model.inputs)
        u, following, to_u, to_z = (np.array(y) for y in self._law(t, x))
        q, qd, u = configuration(self.model.arm, x[:n]), x[n : 2 * n], u.ravel()
        to_q, to_qd, to_input = (
            np.array(self.model.slope("forward_dynamics", to)(q, qd, u)) for to in ("q", "qd", "u")
        )
        A = np.block([[np.zeros((n, n)), np.eye(n)], [to_q, to_qd]])
        B = np.vstack([np.zeros((n, m)), to_input])
        return (self.model.forward_dynamics(q, qd, u), following.ravel()), to_z, A, B, to_u

    @cached_property
    def _law(self) -> "ca.Function":
        """(t, x) -> u, what follows, and their slopes to x."""
        import casadi as ca

        n, k = self.model.nv, len(self.law.memory)
        t, x = ca.SX.sym("t"), ca.SX.sym("x", 2 * n + k)
        u, after = self.law(t, *ca.vertsplit(x, [0, n, 2 * n, 2 * n + k]), ca.DM.zeros(len(self.law.noise)))
        values = [u, after(u)]
        slopes = [ca.densify(ca.jacobian(y, x)) for y in values]
        return ca.Function("law", [t, x], [*(ca.densify(y) for y in values), *slopes])


def growth(
    matrices: Sequence[Array], sizes: Sequence[Array], step: float, period: float | None = None
) -> tuple[float, int, int]:
    """By how much a deviation grows at most, and between which of the steps.

    `matrices` are those of `ClosedLoop` at the middles of equal steps, taken as constant on each; x' W x, W of `sizes`,
    is the square of a deviation's size. The real parts of frozen poles depend on the coordinates where the inertia
    changes; the growth of a deviation does not.
    """
    from scipy.linalg import expm

    count = 1 if period is None else max(1, round(step / period))
    moved = [expm(A * step) if period is None else np.linalg.matrix_power(A, count) for A in matrices]
    roots = [np.linalg.cholesky(W).T for W in sizes]
    worst = (0.0, 0, 0)
    for i in range(0, len(moved), max(1, len(moved) // 12)):
        total = np.linalg.inv(roots[i])
        for j in range(i, len(moved)):
            total = moved[j] @ total
            worst = max(worst, (float(np.linalg.norm(roots[j] @ total, 2)), i, j + 1))
    return worst
