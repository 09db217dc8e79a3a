"""Cost of a motion as the search weighs it, with its gradient in the inputs and the durations."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

import numpy as np

from flexarm.arrays import Array
from flexarm.optimal.shooting import Course


@final
@dataclass(frozen=True, eq=False)
class Expense:
    """Weights of the time, of the effort and of the smoothness, as in `optimal_motion`.

    Attributes
    ----------
    scale : (m,)
        Divisors of the inputs.
    """

    weights: Mapping[str, float]
    scale: Array

    def of(self, course: Course) -> tuple[float, Array]:
        """Return the cost and its gradient in the inputs and in relative changes of the durations, in one row."""
        U, h = course.u / self.scale, course.steps[:, None]
        slope, each = np.zeros_like(U), len(h) // len(course.durations)
        time, effort, smooth = (self.weights[name] for name in ("time", "effort", "smoothness"))
        if course.linear:
            a, b = U[:-1], U[1:]
            spent, rough = effort * h * (a * a + a * b + b * b) / 3, smooth * (b - a) ** 2 / h
            slope[:-1] += effort * h * (2 * a + b) / 3 - 2 * smooth * (b - a) / h
            slope[1:] += effort * h * (a + 2 * b) / 3 + 2 * smooth * (b - a) / h
        else:
            spent, rough = effort * h * U**2, np.zeros_like(U)
            slope += 2 * effort * h * U
        grown = (spent - rough).sum(axis=1).reshape(-1, each).sum(axis=1) + time * course.durations
        cost = time * course.durations.sum() + float((spent + rough).sum())
        return float(cost), np.append(slope / self.scale, grown)
