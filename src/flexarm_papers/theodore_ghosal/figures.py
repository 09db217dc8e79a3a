"""Figs. 4 to 8 of the paper, and four figures of our own."""

from dataclasses import dataclass
from pathlib import Path
from typing import final

import numpy as np

from flexarm import style
from flexarm_papers.panels import Curve, Panel, draw
from flexarm_papers.theodore_ghosal.compute import DIRECTIONS, DURATION, Array
from flexarm_papers.theodore_ghosal.runs import FROZEN, PAPER, Runs

LINES = (style.curve(0), style.curve(1))
PLANES = ("out of plane", "in plane")
"""Names of bending along y, the axis of joint 2, and along z.

The plane is that of link 3 and the axis of joint 1.
"""


@final
@dataclass(frozen=True)
class Picture:
    """Panels in rows of `columns`, of a size [inch]. `below` labels the horizontal axes of the last row."""

    columns: int
    size: tuple[float, float]
    panels: list[Panel]
    below: str = "time [s]"


def draw_all(folder: Path, runs: Runs) -> None:
    """Draw every figure into `theodore-ghosal-NAME.svg`."""
    for name, picture in pictures(runs).items():
        draw(folder, f"theodore-ghosal-{name}", picture.columns, picture.size, picture.panels, picture.below)


def pictures(runs: Runs) -> dict[str, Picture]:
    """Return all figures by name."""
    return {
        "fig4": desired_motion(runs),
        "fig5": amplitudes(runs),
        "fig6": eigenvalues(runs, "extension"),
        "fig7": eigenvalues(runs, "retraction"),
        "fig8": wave_numbers(runs),
        "efforts": efforts(runs),
        "amplitude": free_vibration(runs),
        "elements": elements(runs),
        "convection": convection(runs),
    }


def desired_motion(runs: Runs) -> Picture:
    """Return Fig. 4."""
    t = runs.simulated("extension").time.values
    panels = []
    for i, (name, unit) in enumerate((("joint 1", "rad"), ("joint 2", "rad"), ("length of link 3", "m"))):
        for quantity, suffix in (("q", ""), ("qd", "/s")):
            shown = DIRECTIONS if i == 2 else DIRECTIONS[:1]
            values = (runs.simulated(d)[quantity].values[:, i] for d in shown)
            curves = [Curve(t, y, s, d if i == 2 else "") for y, s, d in zip(values, LINES, shown, strict=False)]
            panels.append(Panel(name, unit + suffix, curves))
    return Picture(2, (6.5, 5.5), panels)


def amplitudes(runs: Runs) -> Picture:
    """Return Fig. 5 with full lines in plane and dashed ones out of plane."""
    panels = []
    for d in DIRECTIONS:
        t, xi = runs.bending(d)
        for j in (1, 2):
            columns = (runs.model(PAPER).model.coordinates.index(f"slide.{axis}{j}") - 3 for axis in "zy")
            curves = [
                Curve(t, 1e3 * xi[:, i], s, label) for i, s, label in zip(columns, LINES, reversed(PLANES), strict=True)
            ]
            panels.append(Panel(f"{d}, mode {j}", "amplitude [mm]", curves))
    return Picture(2, (6.5, 4.4), panels)


def eigenvalues(runs: Runs, direction: str) -> Picture:
    """Return Figs. 6 and 7, with two curves per mode by frequency."""
    found = runs.eigenvalues(PAPER, direction)
    panels = []
    for j, name in enumerate(("mode 1", "mode 2")):
        pair = found[:, 2 * j : 2 * j + 2].T
        for label, values in (("real part [1/s]", pair.real), ("frequency [rad/s]", pair.imag)):
            both = zip(values, LINES, ("lower", "higher"), strict=True)
            panels.append(Panel(name, label, [Curve(FROZEN, y, s, which) for y, s, which in both]))
    return Picture(2, (7, 4.6), panels)


def wave_numbers(runs: Runs) -> Picture:
    """Return Fig. 8."""
    panels = []
    for i in range(2):
        curves = [Curve(*_column(runs.beta(d), i), s, d) for d, s in zip(DIRECTIONS, LINES, strict=True)]
        panels.append(Panel(f"mode {i + 1}", "beta", curves))
    return Picture(2, (7, 2.6), panels)


def _column(found: tuple[Array, Array], i: int) -> tuple[Array, Array]:
    return found[0], found[1][:, i]


def efforts(runs: Runs) -> Picture:
    """Return the figure of the forces of eq. 35."""
    panels = []
    for i, (name, unit) in enumerate((("joint 1", "N m"), ("joint 2", "N m"), ("link 3", "N"))):
        both = ((runs.simulated(d), s, d) for d, s in zip(DIRECTIONS, LINES, strict=True))
        curves = [Curve(run.time.values, run.u.values[:, i], s, d) for run, s, d in both]
        panels.append(Panel(name, f"effort [{unit}]", curves))
    return Picture(3, (9, 2.6), panels)


def free_vibration(runs: Runs) -> Picture:
    """Return the figure of a vibrating beam that slides.

    It shows the tip, its amplitude by the adiabatic invariant, and its amplitude by the real parts alone.
    """
    panels = []
    for d in DIRECTIONS:
        v = runs.vibration(d)
        curves = [
            Curve(v.t, 1e3 * v.tip, style.curve(0, linewidth=style.FINE), "tip"),
            Curve(v.t, 1e3 * v.adiabatic, style.WANTED, "(M omega)^(-1/2)"),
            Curve(v.t_frozen, 1e3 * v.frozen, style.curve(1), "real parts alone"),
        ]
        panels.append(Panel(d, "deflection of the tip [mm]", curves))
    return Picture(2, (6.5, 2.6), panels)


def elements(runs: Runs) -> Picture:
    """Return the figure of two modes against ten elements."""
    t = np.linspace(0.0, DURATION, 1001)
    panels = []
    for d in DIRECTIONS:
        for i, plane in enumerate(PLANES):
            curves = [
                Curve(t, 1e3 * runs.tip("10 elements", d)[:, i], style.MEASURED, "10 elements"),
                Curve(t, 1e3 * runs.tip(PAPER, d)[:, i], style.MODEL, "2 modes"),
            ]
            panels.append(Panel(f"{d}, {plane}", "deflection of the tip [mm]", curves))
    return Picture(2, (6.5, 4.2), panels)


def convection(runs: Runs) -> Picture:
    """Return the figure of the error of eq. 24 over U / U_g."""
    x, slewing, standing = runs.convection()
    curves = [
        Curve(x, slewing, style.joined(0), "joints 1, 2 turn"),
        Curve(x, standing, style.joined(1), "joints 1, 2 stand"),
    ]
    title, label = "extension, eq. 24 against its correction", "difference at the tip [percent]"
    return Picture(1, (5, 3.2), [Panel(title, label, curves, xscale="log", yscale="log")], "U / U_g")
