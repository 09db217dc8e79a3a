"""Results as films and as strips of poses, without a browser, for papers, talks and web pages."""

import io
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np

from flexarm import escape, style
from flexarm.arrays import Array
from flexarm.checks import (
    NOT_NEGATIVE,
    POSITIVE,
    Fault,
    checked_flag,
    checked_number,
    checked_whole,
    choices,
    counted,
    refused,
    shown,
)
from flexarm.description.arm import Telescope
from flexarm.errors import DescriptionError
from flexarm.files import check_writable, checked_path, write_whole
from flexarm.model import Model
from flexarm.model.drawing import drawn
from flexarm.pictures import sketch
from flexarm.pictures.sketch import picture, skeleton, solid
from flexarm.pictures.solids import solids
from flexarm.plots.camera import chosen_camera, floor
from flexarm.plots.recorded import Motion, motions
from flexarm.progress import said

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOVING = {".gif": 50.0, ".mp4": 120.0}
"""Endings of films, and the largest number of pictures per second. Viewers slow down a GIF with more of them."""
STILL = (".png", ".svg", ".pdf")

MOST_PICTURES = 3000
LONGEST = 600.0
"""Longest film [s]. A GIF counts hundredths of a second up to 65535, and ffmpeg has limits, too."""

MOST_RUNS = len(style.COLOURS)

DOTS_PER_INCH = 100.0
NARROWER = 0.7
"""Thickness of an arm relative to the previous one, on which it is drawn."""

DENSE = 2000
"""Largest number of points in the path of a tip."""


def animate(
    results: Any,
    path: str | PathLike[str],
    *,
    names: Sequence[str] | None = None,
    magnified: float = 1.0,
    view: str | tuple[float, float] | None = None,
    ghost: str | None = "auto",
    trace: bool = True,
    fps: float = 30.0,
    speed: float = 1.0,
    poses: int = 6,
    size: tuple[int, int] | None = None,
    dark: bool = False,
    model: Model | None = None,
) -> Path:
    """Draw the motion of one or several results in one picture, and return the path of the file.

    The file is written as a whole or not at all. A `.gif` or `.mp4` file is a film in the time of the result. A `.png`,
    `.svg` or `.pdf` file is a strip of poses at equal intervals of time. Links have the colours of
    `flexarm.plots.draw`. If there are several arms, each has one colour and a name.

    Parameters
    ----------
    results : Dataset, list of them, or dict of them by name
        At most six results of `simulate`.
    path : str
        File to write. Its ending selects the format. `.mp4` needs ffmpeg.
    names : list of str, optional
        Names of several results. Default: their own names.
    magnified : float
        Factor of all deflections, including those of elastic joints. The picture shows the factor.
    view : "xy", "xz", "yz", "space" or (azimuth, elevation), optional
        View onto a plane, or in space from these angles [rad]. Default: the plane of the motion, else in space.
    ghost : "auto", "reference", "rigid" or None
        Arm that is drawn dashed in addition: at the reference, or undeformed. "auto" draws the reference if there is
        one.
    trace : bool
        True to draw the path of the tip.
    fps : float
        Pictures per second.
    speed : float
        Seconds of motion per second of film.
    poses : int
        Number of poses in a strip.
    size : (width, height), optional
        Size of the picture, or of each pose in a strip [pixels, or hundredths of an inch].
    dark : bool
        True for a dark background in place of a white one.
    model : Model, optional
        Model of the results. It is needed if the arm has shapes or links of your own classes, which cannot be rebuilt.

    Raises
    ------
    DescriptionError
        If an argument is not allowed, or the file cannot be written.
    """
    with refused("animate"):
        suffix = _suffix(path)
        options = _checked(suffix, magnified, ghost, trace, fps, speed, poses, size, dark)
        runs = motions(results, names, model)
        if len(runs) > MOST_RUNS:
            raise Fault(
                "results",
                f"has {counted(len(runs), 'result')}; at most {MOST_RUNS} can be distinguished in one picture",
            )
        stage = Stage(runs, _times(runs, suffix, fps, speed, poses), options, view)
    check_writable(path)
    with said(f"drawing {counted(len(stage.times), 'picture')}"):
        if suffix in STILL:
            content = style.rendered(strip(stage), suffix[1:], dpi=2 * DOTS_PER_INCH)
        elif suffix == ".gif":
            content = _gif(stage, fps)
        else:
            content = _mp4(stage, fps)
    return write_whole(path, content)


# -- arguments ---------------------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True)
class Options:
    """Optional elements of the picture, and its size [pixels]."""

    magnified: float
    ghost: str | None
    trace: bool
    size: tuple[int, int] | None
    dark: bool


GHOSTS = ("auto", "reference", "rigid")


def _suffix(path: Any) -> str:
    suffix = Path(checked_path(path)).suffix.lower()
    if suffix not in (*MOVING, *STILL):
        raise Fault("path", f"is {shown(Path(path).name)}; it must end with {choices(*MOVING, *STILL)}")
    if suffix == ".mp4":
        from matplotlib.animation import FFMpegWriter

        if not FFMpegWriter.isAvailable():
            raise Fault(
                "path", f"is {shown(Path(path).name)}, which needs ffmpeg, and that is not installed; .gif does not"
            )
    return suffix


def _checked(
    suffix: str, magnified: Any, ghost: Any, trace: Any, fps: Any, speed: Any, poses: Any, size: Any, dark: Any
) -> Options:
    checked_number(magnified, "", NOT_NEGATIVE, "magnified")
    if ghost is not None and ghost not in GHOSTS:
        raise Fault("ghost", f"is {shown(ghost)}; it must be {choices(*GHOSTS, 'None')}")
    most = MOVING.get(suffix, max(MOVING.values()))
    if checked_number(fps, "pictures per second", POSITIVE, "fps") > most:
        raise Fault("fps", f"is {fps:g} pictures per second; it must be at most {most:g} in a {suffix}")
    checked_number(speed, "", POSITIVE, "speed")
    if checked_whole(poses, 1, "poses") > 60:
        raise Fault("poses", f"is {poses}; it must be at most 60")
    if size is not None:
        if not isinstance(size, list | tuple) or len(size) != 2:
            raise Fault("size", f"is {shown(size)}; it must be a width and a height in pixels")
        size = tuple(checked_whole(x, 100, f"size[{i}]") for i, x in enumerate(size))
        if max(size) > 4000:
            raise Fault("size", f"is {shown(size)}; it must be at most 4000 x 4000 pixels")
    return Options(float(magnified), ghost, checked_flag(trace, "trace"), size, checked_flag(dark, "dark"))


def _times(runs: list[Motion], suffix: str, fps: float, speed: float, poses: int) -> Array:
    """Return the times of the pictures [s], at equal intervals from the first sample of all runs to the last."""
    begin, end = min(run.t[0] for run in runs), max(run.t[-1] for run in runs)
    if suffix in STILL:
        return np.linspace(begin, end, int(poses))
    count = (end - begin) / speed * fps
    if not count < MOST_PICTURES:
        slower = "raise speed or lower fps"
        raise Fault("results", f"need {count + 1:.0f} pictures, and at most {MOST_PICTURES} are allowed: {slower}")
    if not (count + 1) / fps <= LONGEST:
        lasts = (count + 1) / fps
        raise Fault("results", f"need a film of {lasts:.0f} s; it may last {LONGEST:g} s: raise speed or fps")
    return begin + np.arange(int(count + 1e-9) + 1) * speed / fps


# -- contents of a picture ---------------------------------------------------------------------------------------------


@final
class Stage:
    """Contents of the pictures of the runs at each time, and their camera.

    Attributes
    ----------
    runs : list of Motion
        Runs to draw.
    times : (F,)
        Times of the pictures [s].
    camera : Camera
        Projection onto the paper.
    box : (2, 2)
        Smallest and largest coordinates on the paper [m].
    """

    def __init__(self, runs: list[Motion], times: Array, options: Options, view: Any):
        self.runs, self.times, self.options = runs, times, options
        if options.ghost == "reference" and all(run.wanted is None for run in runs):
            raise Fault("ghost", "is 'reference', but no result has one")
        self.looks = [solids(run.model) for run in runs]
        self.size = max(look["reach"] for look in self.looks)
        corners = np.array(
            [self._extent(run, look) for run, look in zip(runs, self.looks, strict=True)]
        )  # (runs, 2, 3)
        self.low, self.high = corners[:, 0].min(axis=0), corners[:, 1].max(axis=0)
        self.camera = chosen_camera(view, self.high - self.low, self.size, self.up)
        self.paths = [self._path(run) for run in runs]

    def _samples(self, run: Motion) -> Array:
        """Return at most `DENSE` of a run's configurations, including the last."""
        return run.q[np.unique(np.linspace(0, len(run.q) - 1, DENSE).astype(int))]

    def _extent(self, run: Motion, look: dict[str, Any]) -> Array:
        """Return the corners (2, 3) of the box in which a run is drawn [m]."""
        found = []
        shown_as = [(self._samples(run), self.options.magnified)]
        if run.wanted is not None and self.ghost(run) == "reference":
            shown_as.append((run.wanted, 0.0))
        if self.ghost(run) == "rigid":
            shown_as.append((self._samples(run), 0.0))
        for q, magnified in shown_as:
            for part in np.array_split(q, max(1, len(q) // 100)):
                stations, frames = drawn(run.model, part, magnified)
                places = [
                    stations[..., :3],
                    frames[..., 3],
                    sketch.body(look, part),
                    *sketch.borders(look, stations, frames),
                ]
                for i, link in enumerate(run.model.arm.links):
                    if isinstance(link.joint, Telescope):
                        free = np.linalg.norm(stations[:, i, -1, :3] - stations[:, i, 0, :3], axis=1)
                        back = np.maximum(0.0, link.body.length - free)
                        places.append(frames[:, i, :, 3] - back[:, None] * frames[:, i, :, 0])
                for points in places:
                    flat = points.reshape(-1, 3)
                    found += [flat.min(axis=0), flat.max(axis=0)]
        return np.array([np.min(found, axis=0), np.max(found, axis=0)])

    @property
    def up(self) -> Array:
        """Upward direction, against gravity [unit vector]."""
        return np.array(self.looks[0]["up"])

    @property
    def box(self) -> Array:
        """Smallest and largest coordinates in the picture, with a margin for anything thicker than a line [m]."""
        corners = np.array(np.meshgrid(*zip(self.low, self.high, strict=True))).reshape(3, -1).T
        seen = self.camera.seen(corners)
        room = 0.05 * self.size
        return np.array([seen.min(axis=0) - room, seen.max(axis=0) + room])

    def ghost(self, run: Motion) -> str | None:
        """Return the kind of the dashed arm of a run, or None."""
        asked = self.options.ghost
        if asked in ("auto", "reference"):
            return "reference" if run.wanted is not None else None
        return asked

    def _path(self, run: Motion) -> tuple[Array, Array]:
        """Return times (P,) and positions (P, 3) of a run's tip as drawn."""
        chosen = np.unique(np.linspace(0, len(run.t) - 1, DENSE).astype(int))
        return run.t[chosen], drawn(run.model, run.q[chosen], self.options.magnified)[1][:, -1, :, 3]

    # -- at one time

    def faces(self, t: float) -> tuple[Array, Array]:
        """Return polygons (n, 4, 2) on the paper [m], the farthest of each arm first, and their colours (n, 3)."""
        from matplotlib.colors import to_rgb

        dark = np.array(to_rgb(style.SOFT)) * (1.25 if self.options.dark else 0.95)
        parts = []
        for i, run in enumerate(self.runs):
            links = len(run.model.arm.links)
            looks = [i] * links if len(self.runs) > 1 else range(links)
            colours = [np.array(to_rgb(style.curve(k)["color"])) for k in looks]
            q, look = run.at(t), self.looks[i]
            place = drawn(run.model, q, self.options.magnified)
            base = sketch.pose(q, look["base"]["free"])
            parts.append(picture(solid(look, *place, colours, dark, NARROWER**i, base), self.camera))
        polygons, colours = zip(*parts, strict=True)
        return np.concatenate(polygons), np.concatenate(colours)

    def ghosts(self, t: float) -> list[Array]:
        """Return the dashed lines (P, 2) of all runs that have one [m]."""
        found = []
        gap = np.full((1, 3), np.nan)  # between the branches of a tree
        for run, look in zip(self.runs, self.looks, strict=True):
            if (kind := self.ghost(run)) is not None:
                q = run.wanted_at(t) if kind == "reference" else run.at(t)
                lines = skeleton(look, *drawn(run.model, q, 0.0), sketch.pose(q, look["base"]["free"]))
                points = np.concatenate([part for line in lines for part in (line, gap)][:-1])
                found.append(self.camera.seen(points))
        return found

    def tips(self, t: float) -> list[Array]:
        """Return the path of each run's tip up to now, (P, 2) [m]. The last point is the tip."""
        found = []
        for run, (times, places) in zip(self.runs, self.paths, strict=True):
            now = drawn(run.model, run.at(t), self.options.magnified)[1][-1, :, 3]
            found.append(self.camera.seen(np.vstack([places[times < t], now])))
        return found


# -- figures -----------------------------------------------------------------------------------------------------------


def draw_on(axes: Any, stage: Stage) -> Callable[[float], None]:
    """Draw the stage on matplotlib axes, and return a function that shows it at a time [s]."""
    from matplotlib.collections import PolyCollection

    paper, ink = _card(stage.options.dark)
    (left, low), (right, high) = stage.box
    axes.set_xlim(left, right)
    axes.set_ylim(low, high)
    axes.set_aspect("equal")
    floor(axes, stage.camera, stage.up, np.array([stage.low, stage.high]), stage.box, stage.size, ink)
    paths = []
    for i in range(len(stage.runs)):
        look = style.curve(i if len(stage.runs) > 1 else 0, linewidth=style.THIN, alpha=0.8)
        if len(stage.runs) == 1:
            look |= {"color": ink, "alpha": 0.55}
        paths.append(axes.plot([], [], **look, zorder=1.5)[0] if stage.options.trace else None)
    bodies: Any = PolyCollection([], linewidths=style.FINE / 1.5, zorder=2, clip_on=False, gid="solid")
    axes.add_collection(bodies)
    ghosts = [
        axes.plot([], [], **(style.WANTED | {"color": ink}), zorder=3)[0]
        for run in stage.runs
        if stage.ghost(run) is not None
    ]
    stamp = axes.text(0.012, 0.985, "", transform=axes.transAxes, va="top", ha="left", color=ink, fontsize=style.MEDIUM)

    def show(t: float) -> None:
        polygons, colours = stage.faces(t)
        bodies.set_verts(polygons)
        bodies.set_facecolor(colours)
        bodies.set_edgecolor(colours)
        for line, points in zip(ghosts, stage.ghosts(t), strict=True):
            line.set_data(*points.T)
        for path, points in zip(paths, stage.tips(t), strict=True):
            if path is not None:
                path.set_data(*points.T)
        stamp.set_text(f"t = {t:.2f} s")

    return show


def _card(dark: bool) -> tuple[str, str]:
    """Return the colours of the background and of the text."""
    return (style.DARK_PAPER, style.DARK_INK) if dark else (style.PAPER, style.INK)


def _explained(axes: Any, stage: Stage) -> None:
    """Add a legend if a picture has several arms, or magnified deflections."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    _, ink = _card(stage.options.dark)
    told: list[Any] = []
    if len(stage.runs) > 1:
        looks = [style.curve(i) for i in range(len(stage.runs))]
        told = [
            Patch(facecolor=look["color"], edgecolor=ink, linestyle=look["linestyle"], label=escape.label(run.name))
            for run, look in zip(stage.runs, looks, strict=True)
        ]
    kinds = sorted({kind for run in stage.runs if (kind := stage.ghost(run))})
    told += [Line2D([], [], **(style.WANTED | {"color": ink}), label=kind) for kind in kinds]
    note = f"deflections \N{MULTIPLICATION SIGN} {stage.options.magnified:g}" * (stage.options.magnified != 1.0)
    if told or note:
        axes.legend(handles=told, loc="upper right", title=note or None)


def film(stage: Stage) -> tuple["Figure", Callable[[float], None]]:
    """Return a figure of the stage, and a function that shows the stage at a time [s]."""
    asked = stage.options.size or _fitting(stage, 720, 0.45, 1.0)
    width, height = (2 * -(-x // 2) for x in asked)  # even, as players require
    figure = style.figure(width / DOTS_PER_INCH, height / DOTS_PER_INCH, stage.options.dark, dpi=DOTS_PER_INCH)
    left, low = (58 / width, 46 / height) if stage.camera.axes else (0.0, 0.0)
    right, high = (1 - 12 / width, 1 - 10 / height) if stage.camera.axes else (1.0, 1.0)
    axes = figure.add_axes((left, low, right - left, high - low))
    show = draw_on(axes, stage)
    _explained(axes, stage)
    return style.finished(figure), show


def strip(stage: Stage) -> "Figure":
    """Return a figure of the stage at all its times, in rows."""
    width, height = stage.options.size or _fitting(stage, 280, 0.5, 1.4)
    count = len(stage.times)
    columns = min(count, 3 if width > height else 6)
    rows = -(-count // columns)
    figure = style.figure(
        columns * width / DOTS_PER_INCH,
        rows * height / DOTS_PER_INCH,
        stage.options.dark,
        dpi=DOTS_PER_INCH,
        layout="constrained",
    )
    panels = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True).ravel()
    for axes, t in zip(panels, stage.times, strict=False):
        draw_on(axes, stage)(t)
        axes.label_outer()
    _explained(panels[min(count, columns) - 1], stage)
    for axes in panels[count:]:
        axes.set_axis_off()
    return style.finished(figure)


def _fitting(stage: Stage, width: int, least: float, most: float) -> tuple[int, int]:
    """Return a width and a height that fit the stage with little margin [pixels]."""
    across, upwards = stage.box[1] - stage.box[0]
    return width, round(width * float(np.clip(upwards / across, least, most)))


# -- files -------------------------------------------------------------------------------------------------------------


def _pictures(stage: Stage) -> Any:
    """Yield the pictures of the film as Pillow images."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from PIL import Image

    figure, show = film(stage)
    canvas = FigureCanvasAgg(figure)
    for t in stage.times:
        show(t)
        canvas.draw()
        yield Image.fromarray(np.asarray(canvas.buffer_rgba())[..., :3].copy())


def _gif(stage: Stage, fps: float) -> bytes:
    """Return a GIF file.

    A GIF counts hundredths of a second, so that the duration of pictures varies. Their sum is correct. All pictures
    share one colour table, since separate tables make the film flicker.
    """
    from PIL import Image

    few = np.unique(np.linspace(0, len(stage.times) - 1, 5).astype(int))
    shown = list(_pictures(stage))
    together = np.concatenate([np.asarray(shown[i]) for i in few])
    table = Image.fromarray(together).quantize(255, method=Image.Quantize.MEDIANCUT)
    reduced = [each.quantize(palette=table, dither=Image.Dither.NONE) for each in shown]
    ends = np.round(np.arange(len(shown) + 1) * 100 / fps).astype(int)
    lasts = [10 * int(b - a) for a, b in pairwise(ends)]
    content = io.BytesIO()
    reduced[0].save(
        content, format="GIF", save_all=True, append_images=reduced[1:], duration=lasts, loop=0, optimize=False
    )
    return content.getvalue()


def _mp4(stage: Stage, fps: float) -> bytes:
    """Return an MP4 file. ffmpeg writes into a temporary folder, which is always removed."""
    from subprocess import CalledProcessError  # noqa: TID251  (what matplotlib's writer raises)

    from matplotlib.animation import FFMpegWriter

    figure, show = film(stage)
    with tempfile.TemporaryDirectory(prefix="flexarm-") as folder:
        file = Path(folder) / "film.mp4"
        settings: Any = {"fps": fps, "codec": "libx264", "extra_args": ["-pix_fmt", "yuv420p", "-crf", "20"]}
        writer = FFMpegWriter(**settings)
        try:
            with writer.saving(figure, str(file), DOTS_PER_INCH):
                for t in stage.times:
                    show(t)
                    writer.grab_frame()
        except CalledProcessError as error:
            raise DescriptionError(f"animate: ffmpeg failed with status {error.returncode}") from None
        except OSError as error:
            raise DescriptionError(f"animate: ffmpeg failed: {error.strerror}") from None
        return file.read_bytes()
