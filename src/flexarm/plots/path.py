"""Figure of the path of an arm's tip and of the desired path."""

from typing import TYPE_CHECKING, Any

import numpy as np

from flexarm import escape, style
from flexarm.arrays import Array
from flexarm.axes import checked_axes, finished
from flexarm.checks import Fault, checked_array, refused, shown, takes
from flexarm.model import Model
from flexarm.model.drawing import drawn
from flexarm.plots.camera import chosen_camera, floor, upright
from flexarm.plots.recorded import Motion, motions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flexarm.figure import Panels

SMALL = 0.1
"""Distance below which the axis is in millimetres [m]."""


def draw_path(
    results: Any,
    wanted: Any = None,
    *,
    names: "Sequence[str] | None" = None,
    view: Any = None,
    model: Model | None = None,
    ax: Any = None,
) -> "Panels":
    """Draw the tip's path and the desired path, at equal scales, and their distance over time. Return both axes.

    Parameters
    ----------
    results : Dataset, list of them, or dict of them by name
        Results of `simulate`.
    wanted : (N, 3) or function of time, optional
        Desired positions of the tip at each sample [m], or a function from time [s] to this position. Default: the tip
        of the undeflected arm at each result's reference.
    names : list of str, optional
        Names of several results. Default: their own names.
    view : "xy", "xz", "yz", "space" or (azimuth, elevation), optional
        View onto a plane, or in space from these angles [rad]. Default: the plane of the motion, else in space.
    model : Model, optional
        Model of the results. It is needed if the arm has links of your own classes, which cannot be rebuilt.
    ax : two Axes, optional
        Axes for the path and for the distance. Default: a new figure.

    Raises
    ------
    DescriptionError
        If an argument is not a result, if a result has no reference and `wanted` is not given, or if `wanted` has a
        wrong shape.
    """
    with refused("draw_path"):
        axes = checked_axes(ax, (2,))
        runs = motions(results, names, model)
        tips = [run.model.tip(run.q)[:, :3, 3] for run in runs]
        goals = [_wanted(run, wanted) for run in runs]
        seen = np.concatenate([*tips, *goals])
        extent = np.array([seen.min(axis=0), seen.max(axis=0)])
        across = extent[1] - extent[0]
        size = float(np.linalg.norm(across)) or 1.0
        up = upright(runs[0].model.arm.gravity)
        camera = chosen_camera(view, across, size, up)
    panels = style.figure(9, 4, layout="constrained").subplots(1, 2) if axes is None else axes
    plane, beside = panels
    low, high = camera.seen(seen).min(axis=0), camera.seen(seen).max(axis=0)
    room = 0.08 * size
    plane.set(xlim=(low[0] - room, high[0] + room), ylim=(low[1] - room, high[1] + room))
    floor(plane, camera, up, extent, np.array([low - room, high + room]), size)
    plane.set_aspect("equal")
    off = [np.linalg.norm(tip - goal, axis=1) for tip, goal in zip(tips, goals, strict=True)]
    small = max(each.max() for each in off) < SMALL
    for i, (run, tip, distance) in enumerate(zip(runs, tips, off, strict=True)):
        look = style.curve(i, len(run.t))
        plane.plot(*camera.seen(tip).T, **look, label=escape.label(run.name))
        beside.plot(run.t, (1e3 if small else 1.0) * distance, **look, label=escape.label(run.name))
    for i, goal in enumerate(goals if wanted is None else goals[:1]):
        plane.plot(*camera.seen(goal).T, **style.WANTED, label="wanted" if i == 0 else None)
    beside.set(xlabel="time [s]", ylabel=f"distance from the wanted place [{'mm' if small else 'm'}]")
    beside.set_ylim(bottom=0.0)
    plane.legend(loc="best")
    return finished(panels, axes)  # type: ignore[no-any-return]


def _wanted(run: Motion, wanted: Any) -> Array:
    """Return the desired positions (N, 3) of the tip at the run's samples [m]. Raises `Fault`."""
    if wanted is None:
        if run.wanted is None:
            raise Fault("results", f"has {run.name!r}, which has no reference; give wanted, the positions of the tip")
        return drawn(run.model, run.wanted, 0.0)[1][:, -1, :, 3]
    if callable(wanted) and not takes(wanted, 0.0):
        raise Fault("wanted", f"is {shown(wanted)}, which does not take t alone; it must be a function of the time")
    places = [wanted(float(t)) for t in run.t] if callable(wanted) else wanted
    found = checked_array(places, "wanted")
    if found.shape != (len(run.t), 3):
        raise Fault("wanted", f"has shape {found.shape}; it must be {(len(run.t), 3)}, a position at each sample")
    return found
