"""Figures made of panels, in the layout of the papers."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np

from flexarm import style
from flexarm.plots import save_figure


@final
@dataclass(frozen=True)
class Curve:
    """Line of a figure in the house style. A line without a label is left out of the legend."""

    x: np.ndarray
    y: np.ndarray
    look: dict[str, Any]
    label: str


@final
@dataclass(frozen=True)
class Panel:
    """Part of a figure. The limits are those of the vertical axis."""

    title: str
    label: str
    curves: list[Curve]
    limits: tuple[float, float] | None = None
    xscale: str = "linear"
    yscale: str = "linear"


def draw(
    folder: Path, name: str, columns: int, size: tuple[float, float], panels: list[Panel], below: str = "time [s]"
) -> None:
    """Draw panels row by row into `{name}.svg`. `below` labels the horizontal axes of the last row."""
    figure = style.figure(*size, layout="constrained")
    axes = figure.subplots(len(panels) // columns, columns, squeeze=False)
    for i, (at, panel) in enumerate(zip(axes.ravel(), panels, strict=True)):
        for curve in panel.curves:
            at.plot(curve.x, curve.y, **curve.look, label=curve.label or None)
        at.set_title(panel.title)
        at.set_ylabel(panel.label)
        at.set_xscale(panel.xscale)
        at.set_yscale(panel.yscale)
        if panel.limits:
            at.set_ylim(*panel.limits)
        told = i > 0 and len(panel.curves) == len(panels[0].curves)  # panels like the first share its legend
        if not told and any(curve.label for curve in panel.curves):
            at.legend()
    for at in axes[-1]:
        at.set_xlabel(below)
    save_figure(style.finished(figure), folder / f"{name}.svg")
