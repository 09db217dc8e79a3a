"""Pictures of results, drawn without a screen."""

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from flexarm.errors import DescriptionError


def draw(result: Any) -> Any:
    """A figure of a result: joints (against the reference where there is one), inputs, tip deflections, energy."""
    from matplotlib.figure import Figure

    t = result.time.values
    figure = Figure(figsize=(10, 8), layout="constrained")
    joints, forces, tips, energies = figure.subplots(2, 2, sharex=True).ravel()

    names = [str(name) for name in result.coordinate.values if str(name).endswith((".joint", ".motor"))]
    for i, name in enumerate(names):
        style = "-" if name.endswith(".joint") else ":"
        joints.plot(t, result.q.sel(coordinate=name), style, color=f"C{i % 10}", label=name)
    if "q_ref" in result:
        for i in range(result.sizes["joint"]):
            label = "reference" if i == 0 else None
            joints.plot(t, result.q_ref[:, i], "--", color="0.4", linewidth=1, label=label)
    joints.set_ylabel("joints [rad or m]")

    for i, name in enumerate(result.input.values):
        forces.plot(t, result.u[:, i], color=f"C{i % 10}", label=str(name))
    forces.set_ylabel("inputs [N m or N]")

    moved = np.abs(result.deflection.values).max(axis=0) > 1e-12 * max(1e-300, float(np.abs(result.deflection).max()))
    lines = 0
    for i, link in enumerate(result.link.values):
        for c, (axis, style) in enumerate(zip("xyz", (":", "-", "--"), strict=True)):
            if moved[i, c]:
                tips.plot(t, 1e3 * result.deflection[:, i, c], style, color=f"C{i % 10}", label=f"{link}, {axis}")
                lines += 1
    tips.set_ylabel("deflection of each link's tip [mm]")

    for i, (name, style) in enumerate((("kinetic", "-"), ("potential", "-"), ("work", "--"), ("dissipated", ":"))):
        if float(np.abs(result[name]).max()) > 0:
            energies.plot(t, result[name], style, color=f"C{i}", label=name)
    energies.set_ylabel("energy [J]")
    energies.set_title(f"energy drift {result.attrs['energy_drift']:.1e}", fontsize="medium")

    for axes in (joints, forces, tips, energies):
        axes.grid(alpha=0.3)
        if axes.lines:
            axes.legend(fontsize="small", loc="best")
    for axes in (tips, energies):
        axes.set_xlabel("time [s]")
    figure.suptitle(f"{result.attrs['name']}: {result.attrs['method']}, {result.attrs['input_description']}", wrap=True)
    return figure


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
