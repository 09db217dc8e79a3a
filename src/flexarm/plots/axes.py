"""Axes of a figure: those of a new figure, or axes that the user gives."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from flexarm import style
from flexarm.checks import Fault, shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def checked_axes(ax: Any, counts: Sequence[int] = (1,)) -> list[Any] | None:
    """Return the given axes as a list with one of the allowed lengths `counts`, or None for None. Raises `Fault`."""
    import numpy as np
    from matplotlib.axes import Axes

    if ax is None:
        return None
    given = [ax] if isinstance(ax, Axes) else list(ax.flat) if isinstance(ax, np.ndarray) else ax
    known = isinstance(given, list | tuple) and all(isinstance(each, Axes) for each in given)
    if not known or len(given) not in counts:
        wanted = " or ".join(str(n) for n in sorted(set(counts)))
        raise Fault("ax", f"is {shown(ax)}; it must be {wanted} of matplotlib's Axes")
    return list(given)


def ended(figure: Any, ax: list[Any] | None) -> "Figure":
    """Return the figure. A new one is completed in the house style, one of the user stays unchanged."""
    return style.finished(figure) if ax is None else figure
