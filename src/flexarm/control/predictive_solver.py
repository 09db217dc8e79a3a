"""Quadratic programs of predictive control by the solvers in CasADi's wheel, one thread, without a copy of the data."""

from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from flexarm.errors import DescriptionError

Array = np.ndarray

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
"""Solvers that are known, with what keeps them quiet and exact. Not among them, for such programs: HPIPM, whose
structure has states between the steps, qpOASES, which prints a banner, ProxQP and QRQP, which miss the optimum."""

KKT = 1e-5
"""By how much a solution may miss each of the optimality conditions, see `miss`."""


@final
@dataclass(eq=False)
class Solver:
    """min s' D s / 2 + g' s over low <= A s <= high, D diagonal and positive; sizes are fixed, numbers are not.

    It remembers its last solution, from which solvers that can begin.
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
            raise DescriptionError(f"Predictive: solver is {self.name!r}, which this CasADi does not have")
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
        self._buffer: Any  # lives as long as what it runs
        self._buffer, self._run = self._solver.buffer()
        for name, value in self._given.items():
            self._buffer.set_arg(self._solver.index_in(name), memoryview(value))
        for name, value in self._found.items():
            self._buffer.set_res(self._solver.index_out(name), memoryview(value))

    def __call__(self, D: Array, g: Array, A: Array, low: Array, high: Array) -> tuple[Array, Array, bool]:
        """s, the multipliers (rows,), and whether both are optimal; multipliers are positive at `high`."""
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
    """By how much s and multipliers are not optimal (Karush, Kuhn and Tucker), whoever found them; rows are of size 1.

    Of the three that are exact at the optimum the worst: D s + g + A' l = 0; low <= A s <= high; each multiplier pushes
    from the limit that it belongs to, l > 0 at `high` and l < 0 at `low`.
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
