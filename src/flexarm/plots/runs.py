"""Figures of many runs: median, quantile bands, and a few single runs."""

from typing import TYPE_CHECKING, Any

import numpy as np

from flexarm import escape, style
from flexarm.arrays import Array
from flexarm.axes import checked_axes, finished
from flexarm.checks import SHARE, Fault, a_kind, checked_list, checked_number, checked_whole, counted, refused, shown
from flexarm.plots.run import input_units

if TYPE_CHECKING:
    from xarray import DataArray, Dataset

    from flexarm.figure import Panels

MOST = 12
"""Largest number of panels."""


def draw_runs(
    result: "Dataset | DataArray",
    variable: str | None = None,
    *,
    bands: Any = ((0.05, 0.95), (0.25, 0.75)),
    single: int = 3,
    ax: Any = None,
) -> "Panels":
    """Draw a variable over time in many runs: its median, bands between quantiles, and a few runs. Return the axes.

    Each coordinate, axis or link of the variable has a panel. Runs that ended early count up to their end.

    Parameters
    ----------
    result : Dataset or DataArray
        Result of `simulate_many`, one of its variables, or values computed from it over `run` and `time`:
        `result.tip.sel(axis="y")`.
    variable : str, optional
        Variable of a Dataset: "q", "tip", "deflection", ...
    bands : list of (low, high)
        Shares of the runs, between 0 and 1, below the two edges of a band. Quantiles are computed at each time
        separately.
    single : int
        Number of runs drawn separately: the first, the last and others at equal distances between them.
    ax : Axes or as many of them as there are panels, optional
        Axes of the panels. Default: a new figure.

    Raises
    ------
    DescriptionError
        If the result has no runs or not this variable, if there would be more than twelve panels, or if a share is not
        valid.
    """
    with refused("draw_runs"):
        values = _chosen(result, variable)
        shares = [_band(each, f"bands[{i}]") for i, each in enumerate(checked_list(bands, "a list of pairs", "bands"))]
        few = min(checked_whole(single, 0, "single"), values.sizes["run"])
        t = np.asarray(values.time.values, dtype=float)
        panels = _panels(values)
        axes = checked_axes(ax, (len(panels),))
    columns = 1 if len(panels) == 1 else 2 if len(panels) < 5 else 3
    rows = -(-len(panels) // columns)
    size = (6.0, 3.6) if len(panels) == 1 else (4.2 * columns, 2.4 * rows + 0.4)
    grid: Any = axes
    if grid is None:
        grid = style.figure(*size, layout="constrained").subplots(rows, columns, squeeze=False, sharex=True).ravel()
    labels = values.run.values if "run" in values.coords else np.arange(values.sizes["run"])
    alone: Any = np.unique(np.linspace(0, values.sizes["run"] - 1, few).round().astype(int)) if few else []
    for each, (label, y) in zip(grid, panels, strict=False):
        known = np.isfinite(y).any(axis=0)
        for k, (low, high) in enumerate(sorted(shares, key=lambda pair: pair[0] - pair[1])):
            ends = np.full((2, len(t)), np.nan)
            ends[:, known] = np.nanquantile(y[:, known], (low, high), axis=0)
            name = f"{100 * low:g} to {100 * high:g} %"
            each.fill_between(t, *ends, **style.BAND | {"alpha": 0.2 + 0.6 * k / len(shares)}, label=name)
        middle = np.full(len(t), np.nan)
        middle[known] = np.nanmedian(y[:, known], axis=0)
        for i, r in enumerate(alone):
            each.plot(t, y[r], **style.curve(i + 1, linewidth=style.THIN), label=escape.label(f"run {labels[r]}"))
        each.plot(t, middle, **style.curve(0), label="median")
        each.set_ylabel(escape.label(label))
        each.margins(x=0.02)
    for each in grid[len(panels) :]:
        each.set_axis_off()
    for each in grid[max(0, len(panels) - columns) : len(panels)]:
        each.set_xlabel("time [s]")
        each.tick_params(labelbottom=True)
    grid[0].legend(loc="best")
    if axes is None:
        grid.figure.suptitle(_title(result, values))
    return finished(grid[: len(panels)], axes)  # type: ignore[no-any-return]


def _chosen(result: Any, variable: Any) -> "DataArray":
    """Return the variable to draw. Raises `Fault`."""
    from xarray import DataArray, Dataset

    if isinstance(result, Dataset):
        there = [str(name) for name, each in result.data_vars.items() if {"run", "time"} <= {*each.dims}]
        if not isinstance(variable, str) or variable not in there:
            said = f"it has {', '.join(there)}" if there else "it has none: it is not a result of simulate_many"
            raise Fault("variable", f"is {shown(variable)}; it must be one of the result's over run and time; {said}")
        values = _with_units(result, result[variable])
    elif isinstance(result, DataArray):
        if variable is not None:
            raise Fault("variable", "does not apply to a single variable; leave it out")
        values = result
    else:
        raise Fault("result", f"is {a_kind(result)}; it must be a result of simulate_many")
    if not {"run", "time"} <= {*values.dims} or "time" not in values.coords or not values.size:
        raise Fault("result", f"is over {', '.join(map(str, values.dims)) or 'nothing'}; it must be over run and time")
    if values.dtype.kind not in "iuf":
        raise Fault("result", "contains no numbers")
    return values


def _with_units(result: Any, values: Any) -> "DataArray":
    """Return the variable with the unit of each entry as a coordinate, also where the result has no such coordinate."""
    if values.name == "u":
        units = input_units(result)
        return values.assign_coords(input_unit=("input", list(units.values())))  # type: ignore[no-any-return]
    if values.name == "q_ref":
        wanted = result.unit.sel(coordinate=values.joint.values).values
        return values.assign_coords(unit=("joint", wanted))  # type: ignore[no-any-return]
    return values  # type: ignore[no-any-return]


ENTRIES = ("coordinate", "velocity", "joint", "input", "link", "axis", "angle", "state", "exogenous")
"""Coordinates that name the entries of a result's variables."""


def _panels(values: "DataArray") -> list[tuple[str, Array]]:
    """Return a label with its unit, and the values (run, time), of each panel. Raises `Fault`."""
    over = [name for name in values.dims if name not in ("run", "time")]
    sizes = [values.sizes[name] for name in over]
    if (count := int(np.prod(sizes))) > MOST:
        raise Fault(
            "result", f"has {counted(count, 'curve')} over {', '.join(map(str, over))}; choose at most {MOST} with .sel"
        )
    found = []
    for place in np.ndindex(*sizes):
        each = values.isel(dict(zip(over, place, strict=True)))
        y = np.asarray(each.transpose("run", "time").values, dtype=float)
        y = np.where(np.isfinite(y), y, np.nan)
        named = [str(each[name].item()) for name in ENTRIES if name in each.coords and not each[name].dims]
        own = named or [str(k) for k in place]
        scale, unit = _scaled(y, _unit(each))
        label = " of ".join([str(values.name or "value"), ", ".join(own)][: 1 + bool(own)])
        found.append((f"{label} [{unit}]" if unit else label, scale * y))
    return found


def _unit(each: Any) -> str:
    """Return the unit of one entry of a variable, or "" for computed values, which have lost it."""
    if "units" not in each.attrs:
        return ""
    beside = {part: str(each[part].item()) for part in each.coords if not each[part].dims}
    kinds = {"q": "unit", "q_ref": "unit", "u": "input_unit", "drive_state": "state_unit", "w": "exogenous_unit"}
    if each.name == "qd":
        return beside.get("velocity_unit") or (f"{beside['unit']}/s" if "unit" in beside else each.attrs["units"])
    return beside.get(kinds.get(each.name, ""), str(each.attrs["units"]))


def _scaled(y: Array, unit: str) -> tuple[float, str]:
    """Return a factor and a unit. Small lengths are in millimetres."""
    size = np.abs(y[np.isfinite(y)])
    return (1e3, "mm") if unit == "m" and 0 < size.max(initial=0.0) < 0.1 else (1.0, unit)


def _band(pair: Any, part: str) -> tuple[float, float]:
    low, high = (checked_number(x, "", SHARE, part) for x in _two(pair, part))
    if not low < high:
        raise Fault(part, f"is {shown(pair)}; the first share must be below the second")
    return low, high


def _two(pair: Any, part: str) -> list:
    if len(found := checked_list(pair, "two shares, a low and a high one", part)) != 2:
        raise Fault(part, f"is {shown(pair)}; it must be two shares from 0 to 1, the lower first")
    return found


def _title(result: Any, values: "DataArray") -> str:
    """Return a title with the variable, the number of runs, and the number of those that ended early."""
    count = values.sizes["run"]
    last = values.isel(time=-1).transpose("run", ...).values.reshape(count, -1)
    lost = int((~np.isfinite(last)).any(axis=1).sum())
    name = str(result.attrs.get("title", "")).partition(":")[0] if values is not result else ""
    early = f", {lost} ended early" if lost else ""
    return escape.label(f"{name}: {counted(count, 'run')}{early}" if name else f"{counted(count, 'run')}{early}")
