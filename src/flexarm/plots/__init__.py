"""Figures of results, of an arm about a configuration and of linear systems, drawn without a screen."""

from flexarm.plots.bode import draw_bode
from flexarm.plots.files import save_figure
from flexarm.plots.modes import draw_frequencies, draw_modes, neutral_axes
from flexarm.plots.path import draw_path
from flexarm.plots.pole_zero import draw_poles
from flexarm.plots.run import draw
from flexarm.plots.runs import draw_runs
from flexarm.plots.stroboscope import draw_stroboscope

__all__ = [
    "draw",
    "draw_bode",
    "draw_frequencies",
    "draw_modes",
    "draw_path",
    "draw_poles",
    "draw_runs",
    "draw_stroboscope",
    "neutral_axes",
    "save_figure",
]
