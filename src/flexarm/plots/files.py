"""Files of figures."""

from os import PathLike
from pathlib import Path
from typing import Any

from flexarm import style
from flexarm.checks import Fault, refused, shown
from flexarm.errors import DescriptionError
from flexarm.files import write_whole


def save_figure(figure: Any, path: str | PathLike[str]) -> Path:
    """Write a figure as a whole or not at all, and return the path. Raises `DescriptionError` if this fails.

    `figure` is a matplotlib figure, or axes of it, as plot functions return them.
    """
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    with refused("save_figure"):
        axes = figure.flat[0] if isinstance(figure, np.ndarray) and figure.size else figure
        if isinstance(axes, Axes):
            figure = axes.figure
        if not isinstance(figure, Figure):
            raise Fault("figure", f"is {shown(figure)}; it must be a Figure, or axes of it")
        if not isinstance(path, str | PathLike):
            raise Fault("path", f"is {shown(path)}; it must be the name of a file")
    try:
        content = style.rendered(figure, Path(path).suffix.lstrip(".").lower() or "png")
    except ValueError as error:
        raise DescriptionError(f"{path}: {' '.join(str(error).split())}") from None
    return write_whole(path, content)
