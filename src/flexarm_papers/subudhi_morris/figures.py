"""Figures of Subudhi & Morris 2002, Figs. 4 to 8, and three of our own, as panels of curves."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from flexarm import style
from flexarm_papers.panels import Curve, Panel, draw
from flexarm_papers.subudhi_morris.compute import (
    DAMPING,
    KS,
    PULSE,
    ROTORS,
    Array,
    frequencies_of,
    pulse,
    response,
    spring,
)
from flexarm_papers.subudhi_morris.control import tracked
from flexarm_papers.subudhi_morris.studies import TORQUES, VARIANTS, errors

Value = Callable[[Any], Array]
"""Function from a run to the values drawn."""
RIGID_JOINTS, ELASTIC_JOINTS = "rigid joints (eq. 55, no rotors)", "elastic joints, absolute rotors"
STRIDE = 4
"""Interval between drawn samples."""
BELOW = {"pulse": "frequency [rad/s]", "validity": "torque [N m]"}
"""Labels of the horizontal axis of the figures without a time axis."""


def draw_all(folder: Path) -> None:
    """Draw every figure into the folder."""
    for name, panels in pages().items():
        rows = 2 if len(panels) == 4 else 1
        columns = len(panels) // rows
        size = (4.6 * columns, 2.7 * rows + 0.5)
        draw(folder, f"subudhi-morris-{name}", columns, size, panels, BELOW.get(name, "time [s]"))


def pages() -> dict[str, list[Panel]]:
    """Return the panels of each figure."""
    return {
        "fig4": fig_4(),
        "fig5": fig_5(),
        "fig6": fig_6(),
        "rotors": rotors(),
        "fig7": fig_7(),
        "fig8": fig_8(),
        "pulse": pulses(),
        "validity": validity(),
    }


# -- Figs. 4 to 6 ------------------------------------------------------------------------------------------------------


def _compared(title: str, unit: str, value: Value, runs: dict[str, Any] | None = None) -> Panel:
    """Return a panel with the same quantity of several runs, each with its label."""
    light = DAMPING[0]
    runs = runs or {
        RIGID_JOINTS: response("none", None, light),
        ELASTIC_JOINTS: response("absolute", KS, light),
    }
    curves = [
        Curve(result.time.values[::STRIDE], value(result)[::STRIDE], style.curve(i), label)
        for i, (label, result) in enumerate(runs.items())
    ]
    return Panel(title, unit, curves)


def _coordinate(n: int, scale: float = 1e3) -> Value:
    return lambda result: scale * result.q.values[:, n]


def _tip(link: int) -> Value:
    return lambda result: 1e3 * result.deflection.values[:, link, 1]


def fig_4() -> list[Panel]:
    """Return the panels of the torque, the link angles and the first mode."""
    return [
        _compared("(a) torque on each rotor", "N m", lambda result: result.u.values[:, 0]),
        _compared("(b) angle of link 1", "rad", _coordinate(0, 1.0)),
        _compared("(c) angle of link 2", "rad", _coordinate(1, 1.0)),
        _compared("(d) link 1, mode 1", "mm", _coordinate(2)),
    ]


def fig_5() -> list[Panel]:
    """Return the panels of the other modes and of the first tip."""
    return [
        _compared("(a) link 1, mode 2", "mm", _coordinate(3)),
        _compared("(b) link 2, mode 1", "mm", _coordinate(4)),
        _compared("(c) link 2, mode 2", "mm", _coordinate(5)),
        _compared("(d) tip of link 1", "mm", _tip(0)),
    ]


def fig_6() -> list[Panel]:
    """Return the panels of the second tip and of the joints."""
    elastic = response("absolute", KS, DAMPING[0])
    t = elastic.time.values[::STRIDE]
    deflections = 1e3 * spring(elastic)[::STRIDE]
    twisted = [Curve(t, y, style.curve(i), f"joint {i + 1}") for i, y in enumerate(deflections.T)]
    return [
        _compared("(a) tip of link 2", "mm", _tip(1)),
        Panel("(b) deflections of the joints", "mrad", twisted),
    ]


def rotors() -> list[Panel]:
    """Return the panels of Figs. 5(d) and 6(a) with rotors in both arms."""
    light = DAMPING[0]
    panels = []
    for rotor in ROTORS:
        runs = {
            "rigid joints": response(rotor, None, light),
            "elastic joints": response(rotor, KS, light),
        }
        panels += [
            _compared(f"{rotor} rotors in both arms: tip of link {link + 1}", "mm", _tip(link), runs) for link in (0, 1)
        ]
    return panels


# -- Figs. 7 and 8 -----------------------------------------------------------------------------------------------------


def _tracked(title: str, unit: str, value: Callable[[Any], Array], reference: bool = False) -> Panel:
    """Return a panel with a quantity under the corrected and the printed controller.

    Of two components, the second has marks.
    """
    curves = []
    for i, (label, name) in enumerate((("law corrected", "corrected"), ("law as printed", "rotors"))):
        result = tracked(name)  # type: ignore[arg-type]
        t = result.time.values[::2]
        for k, y in enumerate(value(result).T[:2]):
            look = style.curve(i) | style.marked(k, i, len(t))
            curves.append(Curve(t, y[::2], look, "" if k else label))
    if reference:
        result = tracked()
        curves += [
            Curve(result.time.values[::2], y[::2], style.WANTED, "" if i else "reference")
            for i, y in enumerate(result.q_ref.values.T)
        ]
    return Panel(title, unit, curves)


def _mode(n: int) -> Callable[[Any], Array]:
    return lambda result: 1e3 * result.q.values[:, n : n + 1]


def fig_7() -> list[Panel]:
    """Return the panels of Fig. 7: angles, joints, modes.

    The caption of 7(d) is also that of 8(b), so it is taken for link 2's first mode.
    """
    return [
        _tracked("(a) link angles 1, 2 (marked)", "rad", lambda result: result.q.values[:, :2], reference=True),
        _tracked("(b) joint deflections 1, 2 (marked)", "mrad", lambda result: 1e3 * spring(result)),
        _tracked("(c) link 1, mode 1", "mm", _mode(2)),
        _tracked("(d) link 2, mode 1", "mm", _mode(4)),
    ]


def fig_8() -> list[Panel]:
    """Return the panels of Fig. 8: modes, tips, torques."""
    return [
        _tracked("(a) link 1, mode 2", "mm", _mode(3)),
        _tracked("(b) link 2, mode 2", "mm", _mode(5)),
        _tracked("(c) tips of links 1, 2 (marked)", "mm", lambda result: 1e3 * result.deflection.values[..., 1]),
        _tracked("(d) torques 1, 2 (marked)", "N m", lambda result: result.u.values),
    ]


# -- studies -----------------------------------------------------------------------------------------------------------


def pulses() -> list[Panel]:
    """Return the panel of the vibration after the pulses, with the arm's first two frequencies."""
    omega = np.linspace(8, 30, 200)
    curves = [Curve(omega, 1e3 * pulse(omega), style.MEASURED, "4 sin²(ωT/2) / ω²")]
    for i, rotor in enumerate(ROTORS):
        for k, ks in enumerate((None, KS)):
            found = frequencies_of(rotor, ks)[:2]
            label = f"{rotor} rotors, {'rigid' if ks is None else 'elastic'} joints"
            curves.append(Curve(found, 1e3 * pulse(found), style.points(2 * k + i, color=style.colour(i)), label))
    return [Panel(f"vibration left by two pulses of {PULSE:g} s", "1e-3 s²", curves)]


def validity() -> list[Panel]:
    """Return the panels of the largest tip error over the torque."""
    panels = []
    for rotor in ROTORS:
        curves = [
            Curve(np.array(TORQUES), errors(rotor, variant), style.joined(i), variant.label)
            for i, variant in enumerate(VARIANTS)
        ]
        panels.append(Panel(f"{rotor} rotors: largest error of the tip", "mm", curves, (1e-3, 100), yscale="log"))
    return panels
