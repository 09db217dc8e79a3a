"""The result of an identification, for data in any domain."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, final

import numpy as np

from flexarm import escape
from flexarm.arrays import Array
from flexarm.brief import brief
from flexarm.checks import counted
from flexarm.description.toml_text import toml_text
from flexarm.identification.estimate import Direction, Statistics, Whiteness
from flexarm.identification.unknowns import Unknown
from flexarm.model import Model

if TYPE_CHECKING:
    from rich.console import RenderableType
    from xarray import DataArray, Dataset

    from flexarm.description.arm import Arm
    from flexarm.figure import Panels

CLOSE = 0.95
"""Absolute correlation above which two unknowns are named together."""

WIDTH = 120
"""Columns of the summary as a text."""


class Comparison(Protocol):
    """Comparison of data with the model, in the time or frequency domain."""

    @property
    def fit(self) -> "DataArray":
        """Fit in percent, (record, output): 100 is perfect, 0 no better than the data's mean."""

    @property
    def residuals(self) -> tuple["Dataset", ...]:
        """Measured minus modelled values for each record, a variable for each output."""

    @property
    def whiteness(self) -> Mapping[tuple[str, str], Whiteness]:
        """Whiteness of the residuals of each record and output, if they have an order in time; may be empty."""

    def plot(self, title: str, *, ax: Any = None) -> "Panels":
        """Draw measured and modelled values, and the residuals, and return the axes."""


@final
@brief
@dataclass(frozen=True, eq=False)
class Identification:
    """Estimates of an arm's parameters, their uncertainty, and the comparison of the fitted model with the data.

    Attributes
    ----------
    model : Model
        Model with the estimates. It shares the traced and compiled functions of the given model.
    unknowns : tuple of Unknown
        All unknowns, those of the arm first.
    estimates : (k,)
        Estimates in that order.
    statistics : Statistics
        Covariance, standard errors, singular values, in that order.
    comparison : Comparison
        Comparison with the fitted data.
    facts : dict
        Facts about the fit: method, steps, evaluations.
    """

    model: Model
    unknowns: tuple[Unknown, ...]
    estimates: Array
    statistics: Statistics
    comparison: Comparison
    facts: dict[str, Any]
    compared: Callable[[Any], Comparison] = field(repr=False)
    """Function that compares the model with these estimates with other data."""

    # -- values

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the arm's fitted parameters."""
        return tuple(each.name for each in self.unknowns if each.of_arm)

    @property
    def values(self) -> dict[str, float]:
        """Estimates of the arm's parameters by name, in the form that `Model.at` accepts."""
        return self._of_arm(self.estimates)

    @property
    def errors(self) -> dict[str, float]:
        """Standard errors of the arm's parameters; infinite if the data contain no information."""
        return self._of_arm(self.statistics.errors)

    @property
    def others(self) -> dict[str, tuple[float, float]]:
        """Estimates and standard errors of all other unknowns (offsets, initial states, ...) by name."""
        pairs = zip(self.unknowns, self.estimates, self.statistics.errors, strict=True)
        return {each.name: (float(value), float(error)) for each, value, error in pairs if not each.of_arm}

    @property
    def correlation(self) -> "DataArray":
        """Correlation of all unknowns, (unknown, other)."""
        import xarray as xr

        names = [each.name for each in self.unknowns]
        return xr.DataArray(
            self.statistics.correlation, dims=("unknown", "other"), coords={"unknown": names, "other": names}
        )

    @property
    def indistinct(self) -> tuple[Direction, ...]:
        """Combinations that the data do not determine, worst first; empty if the data determine all."""
        return self.statistics.indistinct

    # -- the data

    @property
    def fit(self) -> "DataArray":
        """Fit in percent, (record, output): 100 is perfect, 0 no better than the data's mean."""
        return self.comparison.fit

    @property
    def residuals(self) -> tuple["Dataset", ...]:
        """Measured minus modelled values for each record."""
        return self.comparison.residuals

    @property
    def whiteness(self) -> Mapping[tuple[str, str], Whiteness]:
        """Whiteness of the residuals, by (record, output)."""
        return self.comparison.whiteness

    def validate(self, data: Any) -> Comparison:
        """Compare the model with data that were not fitted, in the form of the fitted data: `fit`, `residuals`,
        `plot(title)`.

        The arm's parameters are fixed. Offsets and initial states that were fitted belong to a record and are fitted
        again.
        """
        return self.compared(data)

    @property
    def arm(self) -> "Arm":
        """Description of the arm with the estimates."""
        return self.model.arm_at(self.model.p)

    def toml(self) -> str:
        """Return the arm with the estimates as the text of a TOML file, which `fa.load` and scenarios read."""
        return toml_text(self.arm.canonical())

    # -- output

    def summary(self) -> str:
        """Text of several lines: values, errors, combinations that the data do not determine, fit and residuals."""
        from io import StringIO

        from rich.console import Console

        text = StringIO()
        Console(file=text, width=WIDTH, highlight=False, markup=False, emoji=False).print(self)
        return escape.lines("\n".join(line.rstrip() for line in text.getvalue().splitlines()))

    def __str__(self) -> str:
        return self.summary()

    def __rich__(self) -> "RenderableType":
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        table = Table("unknown", "estimate", "standard error", "", "unit", "start", "", box=None, padding=(0, 2, 0, 0))
        for i in (1, 2, 3, 5):
            table.columns[i].justify = "right"
        for each, value, error in zip(self.unknowns, self.estimates, self.statistics.errors, strict=True):
            share = f"{100 * error / abs(value):.2g} %" if np.isfinite(error) and value and each.of_arm else ""
            row = (f"{value:.6g}", f"{error:.2g}", share, each.unit, f"{each.start:.6g}", remark(each, value, error))
            table.add_row(each.name, *row)
        title = Text(
            escape.line(f"{self.model.arm.name}: {counted(len(self.values), 'parameter')} identified"), style="bold"
        )
        return Group(title, table, *(Text(line) for line in self._said()))

    def _said(self) -> list[str]:
        """Lines below the table."""
        lines = [
            f"not determined by the data: {each.text}"
            + (" (no effect)" if np.isinf(each.error) else f" (standard error {100 * each.error:.2g} % of its size)")
            for each in self.indistinct
        ]
        rho, names = self.statistics.correlation, [each.name for each in self.unknowns]
        for i, j in zip(*np.nonzero(np.triu(np.abs(rho) > CLOSE, 1)), strict=True):
            lines.append(f"correlation {rho[i, j]:.3f} of {names[i]} and {names[j]}")
        for record in self.fit.record.values:
            fits = self.fit.sel(record=record)
            parts = [f"{output} {float(fits.sel(output=output)):.2f} %" for output in fits.output.values]
            lines.append(f"fit of {record}: {', '.join(parts)}")
        coloured = [f"{output} of {record}" for (record, output), each in self.whiteness.items() if not each.white]
        if coloured:
            most = self.statistics.inflation.max()
            lines.append(
                f"residuals not white: {', '.join(coloured)}; the standard errors include this effect, up to "
                f"{most:.1f} times"
            )
        lines += [f"{name}: {value}" for name, value in self.facts.items()]
        return lines

    def plot(self, *, ax: Any = None) -> "Panels":
        """Draw measured and modelled values, and the residuals, into new axes or those given. Return the axes."""
        return self.comparison.plot(self.model.arm.name, ax=ax)

    def _of_arm(self, numbers: Array) -> dict[str, float]:
        pairs = zip(self.unknowns, numbers, strict=True)
        return {each.name: float(value) for each, value in pairs if each.of_arm}


def remark(unknown: Unknown, value: float, error: float) -> str:
    """Remark on an estimate; "" if there is none."""
    if not np.isfinite(error):
        return "not seen in the data"
    low, high = (abs(unknown.searched(end) - unknown.searched(value)) < 1e-6 for end in (unknown.low, unknown.high))
    return "at its lower bound" if low else "at its upper bound" if high else ""
