"""Figures of results, of an arm about a configuration and of linear systems, drawn without a screen."""

from flexarm.plots.files import save_figure
from flexarm.plots.modes import draw_frequencies, draw_modes, neutral_axes
from flexarm.plots.run import ATTRIBUTES, VARIABLES, base_motion, draw, thrusters

__all__ = [
    "ATTRIBUTES",
    "VARIABLES",
    "base_motion",
    "draw",
    "draw_frequencies",
    "draw_modes",
    "neutral_axes",
    "save_figure",
    "thrusters",
]
