"""A study's figure: how its outcomes are distributed, on what they depend, and how much."""

from typing import TYPE_CHECKING, Any

import numpy as np

from flexarm import escape
from flexarm.checks import refused
from flexarm.studies.result import checked_study

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from xarray import Dataset

MOST = 6
"""Outcomes, and parameters, that a figure shows; the table has all."""

FEW, FAR = 20, 5
"""Fewer runs are all drawn; and how far beyond most of them a value is that is not."""

DOTS = 3000
"""Runs that are drawn as dots, of more a random choice: more are one blot, and every so-many-th of a design is none."""


def draw(result: "Dataset") -> "Figure":
    """A figure of a study's result: a row for each outcome, with its distribution and what it is over each parameter.

    Of a sensitivity study the last panel of a row has the indices and their bounds. Raises `DescriptionError` for what
    is no study's result.
    """
    from matplotlib.figure import Figure

    with refused("draw"):
        checked_study(result)
    outcomes, parameters = result.attrs["outcomes"][:MOST], result.attrs["parameters"][:MOST]
    has_indices = "first_order" in result
    columns = 1 + len(parameters) + has_indices
    figure = Figure(figsize=(1.2 + 2.4 * columns, 0.9 + 2.3 * max(1, len(outcomes))), layout="constrained")
    panels = figure.subplots(max(1, len(outcomes)), columns, squeeze=False)
    for i, (row, name) in enumerate(zip(panels, outcomes, strict=False)):
        y, scale, label = _scaled(result, name)
        limits = _limits(y * scale)
        _draw_distribution(row[0], y * scale, limits, label)
        for axes, parameter in zip(row[1:], parameters, strict=False):
            _draw_dependence(axes, result, parameter, y * scale)
            if limits:
                axes.set_ylim(limits)
            if i == 0 and axes is row[1] and axes.lines:
                axes.legend(fontsize="x-small", loc="best", framealpha=0.7)
            axes.sharey(row[1])
            axes.tick_params(labelleft=axes is row[1])
        row[1].set_ylabel(label, fontsize="small")
        if has_indices:
            _draw_indices(row[-1], result.sel(outcome=name), parameters, i == 0)
    failed = result.attrs["runs_failed"]
    title = f"{result.attrs['name']}: {result.sizes['run']} runs, {result.attrs['design']}"
    figure.suptitle(escape.label(title + (f", {failed} without result" if failed else "")), fontsize="large")
    for axes in panels.ravel():
        axes.grid(alpha=0.3)
        axes.tick_params(labelsize="small")
        axes.margins(0.05)
    for row in panels:
        row[0].locator_params(axis="x", nbins=4)
    return figure


def _limits(y: np.ndarray) -> tuple[float, float] | None:
    """Where the figure ends, if a few values are so far from the others that nothing would be seen of these."""
    y = y[np.isfinite(y)]
    if len(y) < FEW:
        return None
    low, middle, high = np.quantile(y, (0.02, 0.5, 0.9))
    width = high - low
    if not 0 < width < (y.max() - middle) / FAR:
        return None
    return low - 0.1 * width, high + width


def _scaled(result: Any, name: str) -> tuple[np.ndarray, float, str]:
    """Values of an outcome, a factor, and a label with its unit: small lengths are in millimetres."""
    unit = result[name].attrs.get("units", "")
    y = result[name].values
    size = np.abs(y[np.isfinite(y)])
    scale, unit = (1e3, "mm") if unit == "m" and len(size) and 0 < np.median(size) < 0.1 else (1.0, unit)
    return y, scale, escape.label(f"{name} [{unit}]" if unit else name)


def _draw_distribution(axes: Any, y: np.ndarray, limits: tuple[float, float] | None, label: str) -> None:
    without = int((~np.isfinite(y)).sum())
    y = y[np.isfinite(y)]
    if len(y):
        bins = min(50, max(5, int(np.sqrt(len(y)))))
        axes.hist(y, bins=bins, range=limits and (max(limits[0], y.min()), limits[1]), color="C0", alpha=0.8)
        if limits:
            axes.set_xlim(limits)
            without += int((y > limits[1]).sum())
        if without:
            axes.set_title(f"{without} beyond", fontsize="x-small", loc="right")
        for share, style in ((5, ":"), (50, "-"), (95, ":")):
            axes.axvline(np.percentile(y, share), color="0.2", linestyle=style, linewidth=1)
    axes.set_xlabel(label, fontsize="small")
    axes.set_ylabel("runs", fontsize="small")


def _draw_dependence(axes: Any, result: Any, parameter: str, y: np.ndarray) -> None:
    x = result[parameter].values
    words = x.dtype.kind not in "iuf"
    drawn = np.random.default_rng(0).permutation(len(y))[:DOTS]
    if words:
        places, x = np.unique(x, return_inverse=True)
        axes.set_xticks(range(len(places)), [escape.label(str(place)) for place in places])
    finite = np.isfinite(y)
    if not finite.any():
        axes.text(0.5, 0.5, "none finite", ha="center", transform=axes.transAxes, fontsize="small")
    else:
        size = 2 if len(y) > 300 else 4
        axes.plot(
            x[drawn][finite[drawn]], y[drawn][finite[drawn]], ".", markersize=size, color="C0", alpha=0.5, label="runs"
        )
    if not words and finite.sum() >= 50:
        edges = np.unique(np.quantile(x[finite], np.linspace(0, 1, 13)))
        part = np.clip(np.searchsorted(edges, x[finite], side="right") - 1, 0, len(edges) - 2)
        if len(edges) > 2:
            middle = [np.median(y[finite][part == k]) for k in range(len(edges) - 1) if (part == k).any()]
            place = [np.mean(x[finite][part == k]) for k in range(len(edges) - 1) if (part == k).any()]
            axes.plot(place, middle, color="C1", linewidth=1.5, label="median")
    if "worst_run" in result.attrs and (worst := int(result.attrs["worst_run"])) >= 0 and finite[worst]:
        axes.plot(x[worst], y[worst], "o", color="C3", markersize=6, fillstyle="none", label="worst")
    unit = result[parameter].attrs.get("units", "")
    axes.set_xlabel(escape.label(f"{parameter} [{unit}]" if unit else parameter), fontsize="small")


def _draw_indices(axes: Any, result: Any, parameters: list[str], legend: bool) -> None:
    places = np.arange(len(parameters))
    for side, name, color, label in ((-0.18, "first_order", "C0", "alone"), (0.18, "total_order", "C1", "with others")):
        chosen = result.sel(parameter=parameters)
        value, low, high = (chosen[name + end].values for end in ("", "_low", "_high"))
        spread = np.clip([value - low, high - value], 0.0, None)
        axes.barh(places + side, np.nan_to_num(value), 0.34, xerr=np.nan_to_num(spread), color=color, label=label)
    axes.set_yticks(places, [escape.label(name) for name in parameters], fontsize="small")
    axes.invert_yaxis()
    axes.set_xlabel("share of the variance", fontsize="small")
    axes.set_ylabel("parameter", fontsize="small")
    if legend:
        axes.legend(fontsize="x-small")
