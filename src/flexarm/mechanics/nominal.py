"""Entries of an arm's equations that are numbers or follow from parameters alone, and their nominal values."""

from typing import Any, final

import casadi as ca
import numpy as np

from flexarm.mechanics.body import without_rounding
from flexarm.mechanics.spatial import Matrix, matrix, numbers

OTHERS = 2
"""Number of random parameter sets at which an expression must be zero, in addition to the nominal one, to count as
zero."""


@final
class Nominal:
    """Evaluates rows of scalars at nominal parameters and near them.

    Parameters
    ----------
    p : (k,) symbols
    values : (k,)
    """

    def __init__(self, p: ca.SX, values: np.ndarray):
        self._p = p
        self._known = {_identity(symbol) for symbol in p.elements()}
        spread = np.random.default_rng(1).uniform(0.6, 1.6, (OTHERS, len(values)))
        self._values = [values, *(spread * np.where(values == 0.0, 1.0, values))]

    def __call__(self, rows: Matrix) -> np.ndarray | None:
        """Return the values (r, c) at nominal parameters, or None if an entry depends on others or is not finite."""
        if not self._known:
            return numbers(rows)
        found = self._at(rows)
        return None if found is None or not np.isfinite(found[0]).all() else found[0]

    def without_rounding(self, rows: Matrix) -> Matrix:
        """Return rows that follow from parameters alone, with zeros for entries that are zero up to rounding."""
        found = self._at(rows)
        if found is None:
            return rows
        zero = np.all([without_rounding(each) == 0.0 for each in found], axis=0)
        return [[0.0 if z else x for x, z in zip(*row, strict=True)] for row in zip(rows, zero, strict=True)]

    def _at(self, rows: Matrix) -> list[np.ndarray] | None:
        M = ca.SX(matrix(rows))
        if any(_identity(symbol) not in self._known for symbol in ca.symvar(M)):
            return None
        function = ca.Function("nominal", [self._p], [ca.densify(M)])
        return [np.array(function(values)) for values in self._values]


def _identity(symbol: Any) -> int:
    return int(symbol.element_hash())


NUMBERS = Nominal(ca.SX(0, 1), np.empty(0))
"""Evaluates rows of an arm whose numbers do not vary."""
