"""Figure of a study: the distribution of its outcomes, and their dependence on the parameters."""

from typing import TYPE_CHECKING, Any

import numpy as np

from flexarm import escape, style
from flexarm.axes import checked_axes, finished
from flexarm.checks import counted, refused
from flexarm.studies.result import checked_study

if TYPE_CHECKING:
    from xarray import Dataset

    from flexarm.figure import Panels

MOST = 6
"""Largest number of outcomes and of parameters in a figure. The table has all."""

FEW, FAR = 20, 5
"""Number of runs below which all are drawn, and distance from most values at which a value is left out."""

DOTS = 3000
"""Largest number of runs drawn as dots. Of more a random choice is drawn, since more dots merge into one area.

Every n-th run of a design would not be representative.
"""


def draw(result: "Dataset", *, ax: Any = None) -> "Panels":
    """Draw a study's result: for each outcome its distribution, and its dependence on each parameter.

    For a sensitivity study the last panel of a row shows the indices and their bounds. Raises `DescriptionError` if the
    argument is not a study's result.

    Parameters
    ----------
    ax : Axes, optional
        Axes of the panels, row by row. Default: a new figure.

    Returns
    -------
    array of Axes, (outcomes, panels)
    """
    with refused("draw"):
        checked_study(result)
        outcomes, parameters = result.attrs["outcomes"][:MOST], result.attrs["parameters"][:MOST]
        has_indices = "first_order" in result
        rows, columns = max(1, len(outcomes)), 1 + len(parameters) + has_indices
        given = checked_axes(ax, (rows * columns,))
    if given is None:
        figure = style.figure(1.2 + 2.4 * columns, 0.9 + 2.3 * rows, layout="constrained")
        panels = figure.subplots(rows, columns, squeeze=False)
        figure.suptitle(_title(result))
    else:
        panels = given.reshape(rows, columns)
    for i, (row, name) in enumerate(zip(panels, outcomes, strict=False)):
        y, scale, label = _scaled(result, name)
        limits = _limits(y * scale)
        _draw_distribution(row[0], y * scale, limits, label)
        for axes, parameter in zip(row[1:], parameters, strict=False):
            _draw_dependence(axes, result, parameter, y * scale)
            if limits:
                axes.set_ylim(limits)
            if i == 0 and axes is row[1] and axes.lines:
                axes.legend(loc="best")
            axes.sharey(row[1])
            axes.tick_params(labelleft=axes is row[1])
        row[1].set_ylabel(label)
        if has_indices:
            _draw_indices(row[-1], result.sel(outcome=name), parameters, i == 0)
    for axes in panels.ravel():
        axes.margins(0.05)
    for row in panels:
        row[0].locator_params(axis="x", nbins=4)
    return finished(panels, given)  # type: ignore[no-any-return]


def _title(result: "Dataset") -> str:
    failed = result.attrs["runs_failed"]
    title = f"{result.attrs['name']}: {counted(result.sizes['run'], 'run')}, {result.attrs['design']}"
    return escape.label(title + (f", {failed} without result" if failed else ""))


def _limits(y: np.ndarray) -> tuple[float, float] | None:
    """Return the limits of an axis, if a few values are so far from the others that they would hide them, else None."""
    y = y[np.isfinite(y)]
    if len(y) < FEW:
        return None
    low, middle, high = np.quantile(y, (0.02, 0.5, 0.9))
    width = high - low
    if not 0 < width < (y.max() - middle) / FAR:
        return None
    return low - 0.1 * width, high + width


def _scaled(result: Any, name: str) -> tuple[np.ndarray, float, str]:
    """Return the values of an outcome, a factor, and a label with its unit. Small lengths are in millimetres."""
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
        axes.hist(y, bins=bins, range=limits and (max(limits[0], y.min()), limits[1]), color=style.colour(0), alpha=0.8)
        if limits:
            axes.set_xlim(limits)
            without += int((y > limits[1]).sum())
        if without:
            axes.set_title(f"{without} beyond", fontsize=style.TINY, loc="right")
        for share, dashes in ((5, style.DASHES[2]), (50, style.DASHES[0]), (95, style.DASHES[2])):
            axes.axvline(np.percentile(y, share), **(style.WANTED | {"linestyle": dashes}))
    axes.set_xlabel(label)
    axes.set_ylabel("runs")


def _draw_dependence(axes: Any, result: Any, parameter: str, y: np.ndarray) -> None:
    x = result[parameter].values
    words = x.dtype.kind not in "iuf"
    drawn = np.random.default_rng(0).permutation(len(y))[:DOTS]
    if words:
        places, x = np.unique(x, return_inverse=True)
        axes.set_xticks(range(len(places)), [escape.label(str(place)) for place in places])
    finite = np.isfinite(y)
    if not finite.any():
        axes.text(0.5, 0.5, "none finite", ha="center", transform=axes.transAxes, fontsize=style.TINY)
    else:
        axes.plot(x[drawn][finite[drawn]], y[drawn][finite[drawn]], **style.cloud(0, len(y)), label="runs")
    if not words and finite.sum() >= 50:
        edges = np.unique(np.quantile(x[finite], np.linspace(0, 1, 13)))
        part = np.clip(np.searchsorted(edges, x[finite], side="right") - 1, 0, len(edges) - 2)
        if len(edges) > 2:
            middle = [np.median(y[finite][part == k]) for k in range(len(edges) - 1) if (part == k).any()]
            place = [np.mean(x[finite][part == k]) for k in range(len(edges) - 1) if (part == k).any()]
            axes.plot(place, middle, **style.curve(1), label="median")
    if "worst_run" in result.attrs and (worst := int(result.attrs["worst_run"])) >= 0 and finite[worst]:
        axes.plot(x[worst], y[worst], **style.points(3, markersize=1.5 * style.DOT), label="worst")
    unit = result[parameter].attrs.get("units", "")
    axes.set_xlabel(escape.label(f"{parameter} [{unit}]" if unit else parameter))


def _draw_indices(axes: Any, result: Any, parameters: list[str], legend: bool) -> None:
    places = np.arange(len(parameters))
    for side, name, i, label in ((-0.18, "first_order", 0, "alone"), (0.18, "total_order", 1, "with others")):
        chosen = result.sel(parameter=parameters)
        value, low, high = (chosen[name + end].values for end in ("", "_low", "_high"))
        spread = np.clip([value - low, high - value], 0.0, None)
        axes.barh(places + side, np.nan_to_num(value), 0.34, xerr=np.nan_to_num(spread), label=label, **style.bar(i))
    axes.set_yticks(places, [escape.label(name) for name in parameters])
    axes.invert_yaxis()
    axes.set_xlabel("share of the variance")
    axes.set_ylabel("parameter")
    if legend:
        axes.legend()
