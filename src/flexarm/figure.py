"""The figure of all plots. It is a module of its own since matplotlib is imported only when something is drawn."""

from io import BytesIO
from typing import final

from matplotlib import figure

DPI = 120
"""Resolution of a figure in a notebook [pixels per inch]."""


@final
class Figure(figure.Figure):
    """A matplotlib figure that a notebook shows as a picture, without pyplot."""

    def _repr_png_(self) -> bytes:
        file = BytesIO()
        self.savefig(file, format="png", dpi=DPI)
        return file.getvalue()
