"""Comparison of measured and modelled signals over time."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from flexarm import escape, style
from flexarm.arrays import Array
from flexarm.axes import checked_axes, finished
from flexarm.cached import cached_property
from flexarm.checks import refused
from flexarm.identification.estimate import Whiteness, fit_percent, whiteness

if TYPE_CHECKING:
    from xarray import DataArray, Dataset

    from flexarm.figure import Panels

DRAWN = 6
"""Largest number of outputs of a record in a figure."""


@final
@dataclass(frozen=True, eq=False)
class InTime:
    """Measured and modelled signals.

    Attributes
    ----------
    records, outputs, units : tuple of str
        Names of the records; names of the outputs, and their units.
    times : list of (T,)
    measured, modelled : lists of (T, outputs)
    """

    records: tuple[str, ...]
    outputs: tuple[str, ...]
    units: tuple[str, ...]
    times: tuple[Array, ...]
    measured: tuple[Array, ...]
    modelled: tuple[Array, ...]

    @cached_property
    def fit(self) -> "DataArray":
        """Fit in percent, (record, output)."""
        import xarray as xr

        percent = [fit_percent(y, model) for y, model in zip(self.measured, self.modelled, strict=True)]
        coords = {"record": list(self.records), "output": list(self.outputs)}
        return xr.DataArray(np.array(percent), dims=("record", "output"), coords=coords, attrs={"units": "percent"})

    @cached_property
    def residuals(self) -> tuple["Dataset", ...]:
        """Measured minus modelled signals."""
        import xarray as xr

        found = []
        for name, t, y, model in zip(self.records, self.times, self.measured, self.modelled, strict=True):
            signals = {
                output: ("time", y[:, j] - model[:, j], {"units": unit})
                for j, (output, unit) in enumerate(zip(self.outputs, self.units, strict=True))
            }
            found.append(xr.Dataset(signals, coords={"time": ("time", t, {"units": "s"})}, attrs={"record": name}))
        return tuple(found)

    @cached_property
    def whiteness(self) -> dict[tuple[str, str], Whiteness]:
        """Whiteness of the residuals of each record and output."""
        return {
            (name, output): whiteness(y[:, j] - model[:, j])
            for name, y, model in zip(self.records, self.measured, self.modelled, strict=True)
            for j, output in enumerate(self.outputs)
        }

    def plot(self, title: str, record: int = 0, *, ax: Any = None) -> "Panels":
        """Draw one record: measured and modelled signals, residuals, and their autocorrelation.

        Return the axes, (outputs, 3).

        Parameters
        ----------
        title : str
        record : int
            Index of the record, from 0.
        ax : Axes, three for each output, optional
            Axes of the panels, row by row. Default: a new figure.
        """
        t, y, model = self.times[record], self.measured[record], self.modelled[record]
        shown = self.outputs[:DRAWN]
        with refused("plot"):
            given = checked_axes(ax, (3 * len(shown),))
        if given is None:
            figure = style.figure(12, 1.2 + 2.2 * len(shown), layout="constrained")
            rows = figure.subplots(len(shown), 3, squeeze=False, width_ratios=(3, 2, 1.2))
            figure.suptitle(escape.label(f"{title}: {self.records[record]}"))
        else:
            rows = given.reshape(len(shown), 3)
        for j, (output, unit) in enumerate(zip(shown, self.units, strict=False)):
            values, residual, correlation = rows[j]
            values.plot(t, y[:, j], **style.MEASURED, label="measured")
            values.plot(t, model[:, j], **style.MODEL, label="model")
            values.set_ylabel(escape.label(f"{output} [{unit}]"))
            residual.plot(t, y[:, j] - model[:, j], **style.curve(1, linewidth=style.THIN, linestyle=style.DASHES[0]))
            values.set_title(f"fit {float(self.fit[record, j]):.2f} %")
            residual.set_title("measured less model")
            self._draw_correlation(correlation, self.whiteness[self.records[record], output])
            for axes, label in zip(rows[j], ("time [s]", "time [s]", "lag [samples]"), strict=True):
                axes.set_xlabel(label)
        rows[0][0].legend(loc="best")
        return finished(rows, given)  # type: ignore[no-any-return]

    def _draw_correlation(self, axes: Any, found: Whiteness) -> None:
        axes.bar(np.arange(1, len(found.correlation)), found.correlation[1:], width=0.6, **style.bar(1))
        axes.axhspan(-found.bound, found.bound, **style.BAND)
        axes.set_ylim(-1.05, 1.05)
        axes.set_title("correlation")
