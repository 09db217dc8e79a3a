"""An arm at equal times along its motion, all in one picture."""

from typing import TYPE_CHECKING, Any

import numpy as np

from flexarm import escape, style
from flexarm.checks import NOT_NEGATIVE, Fault, checked_flag, checked_number, checked_whole, refused
from flexarm.model import Model
from flexarm.model.drawing import drawn
from flexarm.plots.axes import checked_axes, ended
from flexarm.plots.camera import chosen_camera, floor, upright
from flexarm.plots.recorded import Motion, motions

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from xarray import Dataset

Array = np.ndarray

MOST = 200
"""Poses of a figure."""

FAINTEST = 0.15
"""Of the first pose, where the last is drawn in full."""

DENSE = 2000
"""Points of a tip's path, at most."""


def draw_stroboscope(
    result: "Dataset",
    poses: int = 9,
    *,
    magnified: float = 1.0,
    view: Any = None,
    trace: bool = True,
    model: Model | None = None,
    ax: Any = None,
) -> "Figure":
    """A figure of the arm at equal times, the first faint and the last in full, with the path of its tip.

    Links are their neutral axes, bent as they are, with dots at their joints.

    Parameters
    ----------
    result : Dataset
        As `simulate` gives it.
    poses : int
        Evenly in time from the first sample to the last.
    magnified : float
        By what deflections are multiplied, those of elastic joints too; the figure says so.
    view : "xy", "xz", "yz", "space" or (azimuth, elevation), optional
        Across a plane, or from all around [rad]. Default: the plane in which the arm stays, else from all around.
    trace : bool
        Whether the path of the tip is drawn.
    model : Model, optional
        Of the result, where links of your own keep its arm from being built again.
    ax : Axes, optional
        Default a new figure.

    Raises
    ------
    DescriptionError
        For what is no result of one run, and a view that is none.
    """
    with refused("draw_stroboscope"):
        count = checked_whole(poses, 1, "poses")
        if count > MOST:
            raise Fault("poses", f"is {poses}; it must be at most {MOST}")
        scale = checked_number(magnified, "", NOT_NEGATIVE, "magnified")
        traced = checked_flag(trace, "trace")
        axes = checked_axes(ax)
        (run,) = motions([result], model=model)
        times = np.linspace(run.t[0], run.t[-1], count)
        q = np.array([run.at(t) for t in times])
        lines, tips = _lines(run.model, q, scale), _path(run, scale) if traced else np.empty((0, 3))
        seen = np.concatenate([lines.reshape(-1, 3), tips])
        extent = np.array([seen.min(axis=0), seen.max(axis=0)])
        across = extent[1] - extent[0]
        size = float(np.linalg.norm(across)) or 1.0
        up = upright(run.model.arm.gravity)
        camera = chosen_camera(view, across, size, up)
    paper = camera.seen(seen)
    box = np.array([paper.min(axis=0) - 0.05 * size, paper.max(axis=0) + 0.05 * size])
    if axes is None:
        shape = float(np.clip((box[1] - box[0])[1] / (box[1] - box[0])[0], 0.4, 1.2))
        figure = style.figure(6, 0.6 + 5.4 * shape, layout="constrained")
        plane = figure.subplots()
    else:
        figure, plane = axes[0].figure, axes[0]
    plane.set(xlim=box[:, 0], ylim=box[:, 1], aspect="equal")
    floor(plane, camera, up, extent, box, size)
    if traced:
        plane.plot(*camera.seen(tips).T, **style.MODEL, label="path of the tip", zorder=1.5)
    moves = [link.joint.moves for link in run.model.arm.links]
    for k, pose in enumerate(lines):
        ink: dict[str, Any] = {"alpha": FAINTEST + (1 - FAINTEST) * ((k + 1) / count) ** 2, "zorder": 2 + k / count}
        for i, line in enumerate(pose):
            plane.plot(*camera.seen(line).T, **style.curve(i, linestyle=style.DASHES[0]), **ink)
        plane.plot(*camera.seen(pose[moves, 1]).T, **style.points(0, color=style.INK), **ink)
    _label(plane, run, scale, times)
    return ended(figure, axes)


def _lines(model: Model, q: Array, magnified: float) -> Array:
    """Neutral axes (poses, links, points, 3) [m], each from the tip of the link before it, or from the base."""
    axes = drawn(model, q, magnified)[0][..., :3]
    base = q[:, :3] if model.arm.free else np.zeros((len(q), 3))
    before = [base if parent < 0 else axes[:, parent, -1] for parent in model.arm.parents]
    return np.concatenate([np.stack(before, axis=1)[:, :, None], axes], axis=2)


def _path(run: Motion, magnified: float) -> Array:
    """Places of the tip as drawn (P, 3) [m]."""
    chosen = np.unique(np.linspace(0, len(run.t) - 1, DENSE).astype(int))
    return drawn(run.model, run.q[chosen], magnified)[1][:, -1, :, 3]


def _label(plane: Any, run: Motion, magnified: float, times: Array) -> None:
    """Whose motion it is, at which times, how much the deflections are magnified."""
    step = f"every {times[1] - times[0]:.4g} s" if len(times) > 1 else "at"
    plane.set_title(escape.label(f"{run.name}: {step} from {times[0]:.4g} to {times[-1]:.4g} s"))
    note = f"deflections \N{MULTIPLICATION SIGN} {magnified:g}" if magnified != 1.0 else None
    told = plane.get_legend_handles_labels()[0]
    if told or note:
        plane.legend(handles=told, loc="best", title=note)
