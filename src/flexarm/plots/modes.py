"""Figures of an arm at a configuration: its lowest modes, and its frequencies as functions of a coordinate."""

from typing import TYPE_CHECKING, Any

import numpy as np

from flexarm import escape, style
from flexarm.attitude import configuration, local
from flexarm.axes import checked_axes, finished, single
from flexarm.checks import checked_array, checked_flag, checked_whole, refused, unknown_name
from flexarm.errors import DescriptionError
from flexarm.model import Model, ModelLike, as_model, closures
from flexarm.model.attitudes import unit_pose
from flexarm.model.drawing import drawn
from flexarm.model.faults import no_mode
from flexarm.sensors import coordinate_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from flexarm.figure import Panels


def neutral_axes(model: ModelLike, q: Any) -> list[np.ndarray]:
    """Return the deformed neutral axis of every link in the base frame, (stations, 3) each [m].

    Raises `DescriptionError` for a q that does not fit the arm.
    """
    with refused("neutral_axes"):
        model = as_model(model)
    q = model.single("neutral_axes", "q", q)
    return list(drawn(model, q)[0][..., :3])


def draw_modes(model: ModelLike, q: Any = None, count: int = 6, locked: bool = True, *, ax: Any = None) -> "Panels":
    """Draw an arm's lowest modes at a configuration, with neutral axes at rest and at both ends of the swing.

    Each mode is drawn in the base plane with most of its motion. The swing is a tenth of the arm's size. Modes without
    restoring force are left out. Raises `DescriptionError` if no mode remains, or if q does not fit the arm.

    Parameters
    ----------
    q : (nq,), optional
        Configuration [rad or m]. Default: `arm.rest`.
    count : int
        Largest number of modes.
    locked : bool
        True if the drives are locked, as in `Model.frequencies`.
    ax : Axes, as many as modes, optional
        Axes of the modes. Default: a new figure.

    Returns
    -------
    array of Axes, one for each mode
    """
    model, count = _checked("draw_modes", model, count, locked)
    q = closures.rest(model) if q is None else q
    q = unit_pose("draw_modes: q", model.single("draw_modes", "q", q), model.arm)
    omega, phi = model.modes(q, locked)
    chosen = np.flatnonzero(omega > 0)[:count]
    if not len(chosen):
        raise no_mode(model.arm, locked)
    arm = model.arm
    still, at = drawn(model, q)[0][..., :3], local(arm, q, q)  # (links, STATIONS, 3)
    size = float(np.ptp(np.vstack([*still, q[:3] if arm.free else np.zeros(3)]), axis=0).max())
    with refused("draw_modes"):
        given = checked_axes(ax, (len(chosen),))
    columns = min(3, len(chosen))
    rows = -(-len(chosen) // columns)
    panels: Any = given
    if panels is None:
        figure = style.figure(3.4 * columns, 2.9 * rows + 0.4, layout="constrained")
        panels = figure.subplots(rows, columns, squeeze=False).ravel()
        figure.suptitle(escape.label(f"{model.arm.name}: modes, drives {'held' if locked else 'free'}"))
    for axes, k in zip(panels, chosen, strict=False):
        step = 1e-4 * phi[:, k]
        above, below = drawn(model, configuration(arm, np.array([at + step, at - step]), q))[0][..., :3]
        moved = above - below  # displacements, so that no link turns
        moved *= 0.1 * size / max(float(np.linalg.norm(moved, axis=-1).max()), 1e-300)
        a, b = _plane(moved.reshape(-1, 3), still.reshape(-1, 3))
        rest = style.MEASURED | {"linewidth": style.CURVE}
        there, back = style.curve(0), style.curve(0, linewidth=style.THIN, linestyle=style.DASHES[2])
        for side, look in ((0, rest), (-1, back), (1, there)):
            for line in still + side * moved:
                axes.plot(line[:, a], line[:, b], **look)
        axes.plot(still[:, 0, a], still[:, 0, b], **style.points(0, color=style.INK))
        axes.set_title(f"mode {k + 1}: {omega[k]:.4g} rad/s")
        axes.set_xlabel(f"{'xyz'[a]} [m]")
        axes.set_ylabel(f"{'xyz'[b]} [m]")
        axes.set_aspect("equal", adjustable="datalim")
        axes.margins(0.08)
    for axes in panels[len(chosen) :]:
        axes.set_axis_off()
    return finished(panels[: len(chosen)], given)  # type: ignore[no-any-return]


def _checked(where: str, model: ModelLike, count: Any, locked: Any) -> tuple[Model, int]:
    with refused(where):
        checked_flag(locked, "locked")
        return as_model(model), checked_whole(count, 1, "count")


def _plane(moved: np.ndarray, still: np.ndarray) -> tuple[int, int]:
    """Return the base plane in which points move most. Among similar planes it is the one with the largest view of the
    arm."""
    way = (moved**2).sum(axis=0)
    extent = np.ptp(still, axis=0)
    planes = [(0, 1), (0, 2), (1, 2)]
    scores = [(round((way[a] + way[b]) / way.sum(), 2), extent[a] + extent[b]) for a, b in planes]
    return planes[scores.index(max(scores))]


def draw_frequencies(
    model: ModelLike,
    coordinate: str,
    values: Any,
    q: Any = None,
    count: int = 6,
    locked: bool = True,
    *,
    ax: Any = None,
) -> "Axes":
    """Draw an arm's lowest frequencies over values of one coordinate, with the others as in q, and return the axes.

    Parameters
    ----------
    coordinate : str
        Coordinate of the arm, such as "fore.joint" or a telescope's "slide.joint".
    values : (k,)
        Values of the coordinate [rad or m].
    q : (n,), optional
        Configuration of the other coordinates. Default: at rest.
    count, locked
        As in `draw_modes`.
    ax : Axes, optional
        Axes of the curves. Default: a new figure.

    Raises
    ------
    DescriptionError
        If the coordinate is unknown, or the values are not numbers.
    """
    model, count = _checked("draw_frequencies", model, count, locked)
    known = [x for x, unit in zip(model.coordinates, model.arm.units, strict=True) if unit != "1"]  # no quaternions
    if not isinstance(coordinate, str) or coordinate not in known:
        raise DescriptionError(unknown_name("unknown coordinate", coordinate, known, "the coordinates are"))
    q = model.argument("q", closures.rest(model) if q is None else q).copy()
    with refused():
        x = checked_array(values, "values").ravel()
    with refused("draw_frequencies"):
        given = checked_axes(ax)
    if not len(x) or q.ndim != 1:
        raise DescriptionError("draw_frequencies: values is empty, or q is not one configuration")
    rows = []
    for value in x:
        q[model.coordinates.index(coordinate)] = value
        rows.append(model.frequencies(q, locked))
    omega = np.array(rows)[:, :count]
    axes = single(given, 6, 4)
    for k, line in enumerate(omega.T):
        look = style.points(k) if len(x) == 1 else style.curve(k)
        axes.plot(x, line, **look, label=f"mode {k + 1}")
    axes.set_xlabel(escape.label(f"{coordinate} [{coordinate_unit(model.arm, coordinate)}]"))
    axes.set_ylabel("frequency [rad/s]")
    if omega.size and omega.min() > 0 and omega.max() > 20 * omega.min():
        axes.set_yscale("log")
    if omega.size:
        axes.legend()
    axes.set_title(escape.label(f"{model.arm.name}: drives {'held' if locked else 'free'}"))
    return finished(axes, given)  # type: ignore[no-any-return]
