"""Stroboscope figure: an arm at several times of its motion in one picture."""

from typing import TYPE_CHECKING, Any

import numpy as np

from flexarm import escape, style
from flexarm.arrays import Array
from flexarm.axes import checked_axes, finished, single
from flexarm.checks import NOT_NEGATIVE, Fault, checked_flag, checked_number, checked_whole, refused
from flexarm.model import Model
from flexarm.model.drawing import drawn
from flexarm.plots.camera import chosen_camera, floor, upright
from flexarm.plots.recorded import Motion, motions

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from xarray import Dataset

MOST = 200
"""Largest number of poses in a figure."""

FAINTEST = 0.15
"""Opacity of the first pose. The last is opaque."""

DENSE = 2000
"""Largest number of points in the path of a tip."""


def draw_stroboscope(
    result: "Dataset",
    poses: int = 9,
    *,
    magnified: float = 1.0,
    view: Any = None,
    trace: bool = True,
    model: Model | None = None,
    ax: Any = None,
) -> "Axes":
    """Draw the arm at equal intervals of time, from a faint first pose to an opaque last one, with the tip's path.

    Links are their bent neutral axes, with dots at their joints. Return the axes.

    Parameters
    ----------
    result : Dataset
        Result of `simulate`.
    poses : int
        Number of poses, at equal intervals of time from the first sample to the last.
    magnified : float
        Factor of all deflections, including those of elastic joints. The figure shows the factor.
    view : "xy", "xz", "yz", "space" or (azimuth, elevation), optional
        View onto a plane, or in space from these angles [rad]. Default: the plane of the motion, else in space.
    trace : bool
        True to draw the path of the tip.
    model : Model, optional
        Model of the result. It is needed if the arm has links of your own classes, which cannot be rebuilt.
    ax : Axes, optional
        Axes of the figure. Default: a new figure.

    Raises
    ------
    DescriptionError
        If the argument is not the result of one run, or the view is not valid.
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
    shape = float(np.clip((box[1] - box[0])[1] / (box[1] - box[0])[0], 0.4, 1.2))
    plane = single(axes, 6, 0.6 + 5.4 * shape)
    plane.set(xlim=box[:, 0], ylim=box[:, 1], aspect="equal")
    floor(plane, camera, up, extent, box, size)
    if traced:
        plane.plot(*camera.seen(tips).T, **style.MODEL, label="path of the tip", zorder=1.5)
    moves = [x.joint.moving.moves or x.joint.spherical for x in run.model.arm.links]
    for k, pose in enumerate(lines):
        ink: dict[str, Any] = {"alpha": FAINTEST + (1 - FAINTEST) * ((k + 1) / count) ** 2, "zorder": 2 + k / count}
        for i, line in enumerate(pose):
            plane.plot(*camera.seen(line).T, **style.curve(i, linestyle=style.DASHES[0]), **ink)
        plane.plot(*camera.seen(pose[moves, 1]).T, **style.points(0, color=style.INK), **ink)
    _label(plane, run, scale, times)
    return finished(plane, axes)  # type: ignore[no-any-return]


def _lines(model: Model, q: Array, magnified: float) -> Array:
    """Return neutral axes (poses, links, points, 3) [m], each from the tip of the link's parent, or from the base."""
    axes = drawn(model, q, magnified)[0][..., :3]
    base = q[:, :3] if model.arm.free else np.zeros((len(q), 3))
    before = [base if parent < 0 else axes[:, parent, -1] for parent in model.arm.parents]
    return np.concatenate([np.stack(before, axis=1)[:, :, None], axes], axis=2)


def _path(run: Motion, magnified: float) -> Array:
    """Return the positions of the tip as drawn, (P, 3) [m]."""
    chosen = np.unique(np.linspace(0, len(run.t) - 1, DENSE).astype(int))
    return drawn(run.model, run.q[chosen], magnified)[1][:, -1, :, 3]


def _label(plane: Any, run: Motion, magnified: float, times: Array) -> None:
    """Write the name of the run, the times and the factor of deflections."""
    step = f"every {times[1] - times[0]:.4g} s" if len(times) > 1 else "at"
    plane.set_title(escape.label(f"{run.name}: {step} from {times[0]:.4g} to {times[-1]:.4g} s"))
    note = f"deflections \N{MULTIPLICATION SIGN} {magnified:g}" if magnified != 1.0 else None
    told = plane.get_legend_handles_labels()[0]
    if told or note:
        plane.legend(handles=told, loc="best", title=note)
