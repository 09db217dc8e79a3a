"""Axes of a plot: those of a new figure, or axes that the user gives."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from flexarm import style
from flexarm.checks import Fault, shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from flexarm.figure import Panels


def checked_axes(ax: Any, counts: Sequence[int] = (1,)) -> "Panels | None":
    """Return the given axes as a row, whose length must be one of `counts`, or None for None. Raises `Fault`."""
    if ax is None:
        return None
    import numpy as np
    from matplotlib.axes import Axes

    from flexarm.figure import Panels

    given = [ax] if isinstance(ax, Axes) else list(ax.flat) if isinstance(ax, np.ndarray) else ax
    known = isinstance(given, list | tuple) and all(isinstance(each, Axes) for each in given)
    if not known or len(given) not in counts:
        wanted = " or ".join(str(n) for n in sorted(set(counts)))
        raise Fault("ax", f"is {shown(ax)}; it must be {wanted} of matplotlib's Axes")
    row = np.empty(len(given), dtype=object)
    row[:] = given
    return row.view(Panels)


def single(axes: "Panels | None", width: float, height: float) -> "Axes":
    """Return the axes that the user gives, or those of a new figure with one panel of this size [inches]."""
    if axes is not None:
        return axes[0]  # type: ignore[no-any-return]
    return style.figure(width, height, layout="constrained").subplots()  # type: ignore[no-any-return]


def finished(panels: Any, given: "Panels | None") -> Any:
    """Return the panels. Those of a new figure get the house style, and those of the user stay as they are."""
    if given is None:
        style.finished(panels.figure)
    return panels
