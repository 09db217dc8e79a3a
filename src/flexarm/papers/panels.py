"""Pictures made of panels, as the papers have them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np

from flexarm import style
from flexarm.plots import save_figure


@final
@dataclass(frozen=True)
class Curve:
    """A line of a picture, as the house style has it; one without a label stays out of the legend."""

    x: np.ndarray
    y: np.ndarray
    look: dict[str, Any]
    label: str


@final
@dataclass(frozen=True)
class Panel:
    """A part of a picture; limits are those of the vertical axis."""

    title: str
    label: str
    curves: list[Curve]
    limits: tuple[float, float] | None = None
    xscale: str = "linear"
    yscale: str = "linear"


def draw(
    folder: Path, name: str, columns: int, size: tuple[float, float], panels: list[Panel], below: str = "time [s]"
) -> None:
    """Panels row by row into `{name}.svg`; `below` stands under the last row."""
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
        told = i > 0 and len(panel.curves) == len(panels[0].curves)  # the first panel's legend serves those like it
        if not told and any(curve.label for curve in panel.curves):
            at.legend()
    for at in axes[-1]:
        at.set_xlabel(below)
    save_figure(style.finished(figure), folder / f"{name}.svg")
