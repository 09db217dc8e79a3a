"""Quadratic programs of predictive control, solved by the solvers in CasADi's wheel on one thread without copies."""

from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from flexarm.arrays import Array
from flexarm.errors import DescriptionError

OPTIONS: dict[str, dict[str, Any]] = {
    "daqp": {"error_on_fail": False, "daqp": {"iter_limit": 5000}},
    "osqp": {
        "error_on_fail": False,
        "warm_start_primal": True,
        "warm_start_dual": True,
        "osqp": {"verbose": False, "eps_abs": 1e-6, "eps_rel": 1e-6, "max_iter": 20000, "polish": True},
    },
    "piqp": {"error_on_fail": False},
}
"""Supported solvers, with options that make them silent and accurate.

Others do not suit these programs. HPIPM needs a structure with states between the steps, qpOASES prints a banner, and
ProxQP and QRQP miss the optimum.
"""

NATIVE = "native"
"""The package's own solver, see `predictive_recursions`."""

KKT = 1e-5
"""Largest error of each optimality condition in an accepted solution, see `miss`."""


@final
@dataclass(eq=False)
class QuadraticProgram:
    """Quadratic program min s' D s / 2 + g' s over low <= A s <= high, with D diagonal and positive, for fixed sizes.

    It stores its last solution, and solvers that support a warm start begin there.
    """

    name: str
    rows: int
    columns: int
    _given: dict[str, Any] = field(init=False)
    _found: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        import casadi as ca

        n, k = self.columns, self.rows
        structure = {"h": ca.Sparsity.diag(n), "a": ca.Sparsity.dense(k, n)}
        if not ca.has_conic(self.name):
            raise DescriptionError(
                f"Predictive: solver is {self.name!r}, which the installed CasADi does not contain; use another solver"
            )
        self._solver = ca.conic("predictive", self.name, structure, OPTIONS[self.name])
        self._given = {
            "h": np.ones(n),
            "g": np.zeros(n),
            "a": np.zeros(n * k),
            "lba": np.zeros(k),
            "uba": np.zeros(k),
            "lbx": np.full(n, -np.inf),
            "ubx": np.full(n, np.inf),
            "x0": np.zeros(n),
            "lam_x0": np.zeros(n),
            "lam_a0": np.zeros(k),
        }
        self._found = {"x": np.zeros(n), "lam_a": np.zeros(k)}
        self._buffer: Any  # must live as long as the function that uses it
        self._buffer, self._run = self._solver.buffer()
        for name, value in self._given.items():
            self._buffer.set_arg(self._solver.index_in(name), memoryview(value))
        for name, value in self._found.items():
            self._buffer.set_res(self._solver.index_out(name), memoryview(value))

    def __call__(self, D: Array, g: Array, A: Array, low: Array, high: Array) -> tuple[Array, Array, bool]:
        """Return s, the multipliers (rows,), and True if both are optimal. Multipliers are positive at `high`."""
        given = self._given
        given["h"][:], given["g"][:], given["lba"][:], given["uba"][:] = D, g, low, high
        given["a"].reshape(self.columns, self.rows)[:] = A.T
        self._run()
        s, multipliers = self._found["x"].copy(), self._found["lam_a"].copy()
        good = bool(np.isfinite(s).all() and np.isfinite(multipliers).all())
        good = good and bool(miss(D, g, A, low, high, s, multipliers) <= KKT)
        given["x0"][:] = s if good else 0.0
        given["lam_a0"][:] = multipliers if good else 0.0
        return s, multipliers, good


def miss(D: Array, g: Array, A: Array, low: Array, high: Array, s: Array, multipliers: Array) -> float:
    """Largest error of s and multipliers in the optimality conditions (Karush, Kuhn and Tucker), for rows of size 1.

    The three conditions are D s + g + A' l = 0, low <= A s <= high, and complementarity: each multiplier belongs to an
    active limit, l > 0 at `high` and l < 0 at `low`.
    """
    y, weight = A @ s, np.abs(multipliers)
    slope = D * s + g + A.T @ multipliers
    slopes = np.abs(slope) / (np.abs(D * s).max() + np.abs(g) + 1e-300)
    outside = np.maximum(np.maximum(low - y, y - high), 0.0)
    limit = np.where(multipliers > 0, high, low)
    pushed = weight > 0
    gap = weight[pushed] @ np.abs(limit[pushed] - y[pushed])
    paid = float(s @ (D * s) + np.abs(g @ s)) + 1e-300
    return max(float(slopes.max()), float(outside.max(initial=0.0)), float(gap) / paid)
