"""Figures and axes of all plots, in a module of their own, since matplotlib is imported only to draw."""

import warnings
from io import BytesIO
from typing import Any, final

import numpy as np
from matplotlib import axes, figure

DPI = 120
"""Resolution of a figure in a notebook [pixels per inch]."""


def of_figure(thing: Any, name: str) -> Any:
    """Return an attribute of the figure of some axes, with a warning, since plot functions once returned the figure."""
    if name == "figure" or name.startswith("_") or not hasattr(figure.Figure, name):
        raise AttributeError(f"{type(thing).__name__!r} object has no attribute {name!r}")
    said = f"a plot function returns its axes; use .figure.{name}"
    warnings.warn(said, DeprecationWarning, stacklevel=3)
    return getattr(thing.figure, name)


def picture(drawn: figure.Figure) -> bytes:
    """Return a figure as a PNG file, for a notebook."""
    file = BytesIO()
    drawn.savefig(file, format="png", dpi=DPI)
    return file.getvalue()


@final
class Figure(figure.Figure):
    """A matplotlib figure that a notebook shows as a picture, without pyplot. Its axes are shown in the same way."""

    def add_subplot(self, *args: Any, **options: Any) -> Any:
        if not {"axes_class", "projection", "polar"} & {*options}:
            options["axes_class"] = Axes
        return super().add_subplot(*args, **options)

    def subplots(self, *args: Any, **options: Any) -> Any:
        made = super().subplots(*args, **options)
        return made.view(Panels) if isinstance(made, np.ndarray) else made

    def _repr_png_(self) -> bytes:
        return picture(self)


@final
class Axes(axes.Axes):
    """matplotlib's axes, shown by a notebook as the picture of their figure."""

    def savefig(self, *args: Any, **options: Any) -> None:
        """Write the figure to a file, as matplotlib's `Figure.savefig`."""
        self.figure.savefig(*args, **options)  # type: ignore[union-attr]

    def _repr_png_(self) -> bytes:
        return picture(self.figure)  # type: ignore[arg-type]

    def __getattr__(self, name: str) -> Any:
        return of_figure(self, name)


@final
class Panels(np.ndarray):
    """An array of axes, shown by a notebook as the picture of their figure."""

    @property
    def figure(self) -> Any:
        """Figure of the axes."""
        return self.flat[0].figure

    def savefig(self, *args: Any, **options: Any) -> None:
        """Write the figure to a file, as matplotlib's `Figure.savefig`."""
        self.figure.savefig(*args, **options)

    def _repr_png_(self) -> bytes:
        return picture(self.figure)

    def __repr__(self) -> str:
        return f"<{' x '.join(map(str, self.shape))} axes of a figure>"

    def __getattr__(self, name: str) -> Any:
        return of_figure(self, name)
