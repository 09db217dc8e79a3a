"""Pictures of results, drawn without a screen."""

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from flexarm.errors import DescriptionError


def draw(result: Any) -> Any:
    """A figure of a result: joints (against the reference where there is one), inputs, tip deflections, energy.

    An arm that nothing drives shows its joints' rates in place of the inputs; a rigid one its tip's position in place
    of the deflections.
    """
    from matplotlib.figure import Figure

    a = result.attrs
    figure = Figure(figsize=(10, 8), layout="constrained")
    joints, forces, tips, energies = figure.subplots(2, 2, sharex=True).ravel()
    _draw_joints(joints, result)
    _draw_inputs(forces, result)
    _draw_tips(tips, result)
    _draw_energies(energies, result)
    for axes in (joints, forces, tips, energies):
        axes.grid(alpha=0.3)
        axes.margins(x=0.02)
        if axes.lines:
            axes.legend(fontsize="small", loc="best", framealpha=0.7)
    for axes in (tips, energies):
        axes.set_xlabel("time [s]")
    state = "" if a["status"] in ("completed", "") else f", stopped at {float(result.time[-1]):.6g} s"
    title = f"{a['name']} ({a['method']}{state})"
    figure.suptitle(f"{title}\n", fontsize="large")
    figure.text(0.5, 0.955, f"input: {a['input_description']}", ha="center", fontsize="small", color="0.3")
    return figure


def _draw_joints(axes: Any, result: Any) -> None:
    names = [str(name) for name in result.coordinate.values if str(name).endswith((".joint", ".motor"))]
    links = [str(link) for link in result.link.values]
    for name in names:
        link, part = name.split(".")
        style = "-" if part == "joint" else ":"
        color = f"C{links.index(link) % 10}"
        axes.plot(result.time, result.q.sel(coordinate=name), style, color=color, label=name)
    if "q_ref" in result:
        for i in range(result.sizes["joint"]):
            label = "reference" if i == 0 else None
            axes.plot(result.time, result.q_ref[:, i], "--", color="0.2", linewidth=1, label=label)
    axes.set_ylabel(f"joints [{_units(result, names)}]")


def _draw_inputs(axes: Any, result: Any) -> None:
    names = [str(name) for name in result.input.values]
    idle = not np.abs(np.nan_to_num(result.u.values)).max(initial=0.0) > 0
    if idle:
        names = [str(name) for name in result.coordinate.values if str(name).endswith(".joint")]
    for i, name in enumerate(names):
        values = result.qd.sel(coordinate=name) if idle else result.u[:, i]
        width = 1.5 + 2.0 * (len(names) - 1 - i) / len(names)  # equal inputs are seen behind each other
        axes.plot(result.time, values, color=f"C{i % 10}", linewidth=1.5 if idle else width, label=name)
    unit = _units(result, names)
    forces = {"rad": "N m", "m": "N"}.get(unit, "N m or N")
    axes.set_ylabel(f"joint rates [{unit}/s]" if idle else f"inputs [{forces}]")


def _draw_tips(axes: Any, result: Any) -> None:
    t = result.time
    largest = np.abs(result.deflection.values).max(axis=0)  # (link, axis)
    if not largest.max() > 0:
        for c, axis in enumerate("xyz"):
            axes.plot(t, result.tip[:, c], color=f"C{c}", label=axis)
        axes.set_ylabel("position of the tip [m]")
        return
    for i, link in enumerate(result.link.values):
        for c, (axis, style) in enumerate(zip("xyz", (":", "-", "--"), strict=True)):
            if largest[i, c] > 1e-12 * largest.max():
                axes.plot(t, 1e3 * result.deflection[:, i, c], style, color=f"C{i % 10}", label=f"{link}, {axis}")
    axes.set_ylabel("deflection of each link's tip [mm]")


def _draw_energies(axes: Any, result: Any) -> None:
    curves = {
        "kinetic": (result.kinetic, "-"),
        "change of potential": (result.potential - result.potential[0], "-"),
        "work": (result.work, "--"),
        "dissipated": (result.dissipated, ":"),
    }
    for i, (name, (values, style)) in enumerate(curves.items()):
        if float(np.abs(values).max()) > 0:
            axes.plot(result.time, values, style, color=f"C{i}", label=name)
    axes.set_ylabel("energy [J]")
    axes.set_title(f"audit: largest drift {result.attrs['energy_drift']:.1e}", fontsize="small", color="0.3")


def _units(result: Any, names: list[str]) -> str:
    """Of coordinates or of inputs: rad, m, or both."""
    units = dict(zip(map(str, result.coordinate.values), map(str, result.unit.values), strict=True))
    return " or ".join(sorted({units[name] for name in names}, reverse=True)) or "rad"


def save_figure(figure: Any, path: str | PathLike[str]) -> Path:
    """Write a figure, whole or not at all; raises `DescriptionError` where it cannot be written."""
    import io

    from flexarm.results import write_whole

    content = io.BytesIO()
    suffix = Path(path).suffix.lstrip(".") or "png"
    try:
        figure.savefig(content, format=suffix, dpi=120)
    except ValueError as error:
        raise DescriptionError(f"{path}: {' '.join(str(error).split())}") from None
    return write_whole(path, lambda temporary: Path(temporary).write_bytes(content.getvalue()))
