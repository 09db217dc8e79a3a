"""Sensitivities of the runs of an ensemble."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, final

import numpy as np

from flexarm.arrays import Array
from flexarm.checks import Fault, counted, refused
from flexarm.simulation.block import Block
from flexarm.simulation.ensemble_runs import Asked, Runs
from flexarm.simulation.gradient_start import Start
from flexarm.simulation.layout import Layout
from flexarm.simulation.options import Solver
from flexarm.simulation.results import OVER, OVER_UNIT, SENSITIVE
from flexarm.simulation.sensitivities import Number, Sensitivities, method_of


@final
@dataclass(eq=False)
class Sensitive:
    """Names of the numbers with respect to which the runs of an ensemble have derivatives.

    Attributes
    ----------
    names : object
        The argument `sensitivities`.
    arguments : dict
        Arguments of `simulate_many` that may be those of each run: u, q0, qd0, w and disturbance, and the model.
    layout, solver
        Layout of the states, and options of all runs.
    numbers : list of Number
        Numbers of a run, the same ones in all of them, after `check`.
    """

    names: Any
    arguments: Mapping[str, Any]
    layout: Layout
    solver: Solver
    numbers: list[Number] = field(init=False)

    @property
    def method(self) -> tuple[str, float, str]:
        """Method of all runs, the length of its fixed steps or 0, and the reason."""
        return method_of(self.solver)

    def check(self, runs: Runs, asked: Asked) -> None:
        """Raise `DescriptionError` if a run has no sensitivities, or if their numbers differ between runs."""
        _, first = np.unique(runs.which, return_index=True)
        found: dict[int, list[Number]] = {}
        with refused("simulate_many"):
            for r in sorted({0, *map(int, first)}):
                drive = runs.drive(r)
                start = np.zeros(self.layout.size)
                start[self.layout.q], start[self.layout.qd] = runs.q[r], runs.qd[r]
                found[r] = self._of(runs, r, drive, self.layout, asked, start).numbers
                if found[r] != found[0]:
                    counts = f"run {r} has {counted(len(found[r]), 'number')}, run 0 has {len(found[0])}"
                    raise Fault("sensitivities", f"are of different numbers: {counts}; they must be the same")
        self.numbers = found[0]

    @property
    def widths(self) -> dict[str, int]:
        """Lengths of the variables with derivatives."""
        return dict(zip(SENSITIVE, (self.layout.nq, self.layout.nv, 3), strict=True))

    def columns(self, kept: tuple[str, ...]) -> int:
        """Return how many numbers the sensitivities take per time of a run."""
        return len(self.numbers) * sum(width for name, width in self.widths.items() if name in kept)

    def coordinates(self) -> dict[str, Any]:
        """Return the coordinates of the dimension of the derivatives."""
        labels, units = ([each[i] for each in self.numbers] for i in (0, 1))
        return {OVER: labels, OVER_UNIT: (OVER, units)}

    def of(self, runs: Runs, r: int, drive: Block, layout: Layout, asked: Asked, start: Array) -> Sensitivities:
        """Return the sensitivities of a run from its initial state."""
        with refused("simulate_many"):
            return self._of(runs, r, drive, layout, asked, start)

    def _of(self, runs: Runs, r: int, drive: Block, layout: Layout, asked: Asked, start: Array) -> Sensitivities:
        method, step, _ = self.method
        given = {name: _of_run(x, runs.first + r, name) for name, x in self.arguments.items()}
        settings = method, step, asked.rtol, asked.atol, asked.times, start
        began = Start(given, runs.at(r), drive, runs.exogenous(r), layout, *settings)
        return Sensitivities.of(self.names, began, runs.varying is not None)


def _of_run(x: Any, r: int, name: str) -> Any:
    """Return an argument of one run."""
    if name == "model" or x is None:
        return x
    if isinstance(x, np.ndarray) and x.ndim == 2:
        return x[r]
    numbers = name in ("q0", "qd0") or (isinstance(x, list | tuple) and all(isinstance(each, Real) for each in x))
    return x[r] if isinstance(x, list | tuple) and not numbers else x
