"""Results as recordings for the Rerun viewer: an .rrd file with the moving arm and its time series.

Entities of a recording, all in SI units on the time line "time":

- `/arm/links/NAME`: a line strip through the sections of a link, as thick as the link.
- `/arm/joints`, `/arm/payloads`: points, as large as joints and payloads are drawn on a page.
- `/arm/tip`, `/arm/path`: the tip of the arm, and its path over the run.
- `/arm/reference/NAME`: a thin line strip of each link at the reference, without deflection.
- `/arm/base`: the box of a free base.
- `/series/TITLE [UNIT]/NAME`: curves over time.
"""

from dataclasses import dataclass
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np

from flexarm import style
from flexarm.arrays import Array
from flexarm.checks import Fault, checked_result, counted, refused
from flexarm.files import check_ending, check_writable, write_whole
from flexarm.model import Model
from flexarm.model.drawing import drawn
from flexarm.pictures.curves import curves
from flexarm.pictures.solids import solids
from flexarm.plots.recorded import Motion, motions
from flexarm.progress import said

if TYPE_CHECKING:
    from xarray import Dataset

ENDING = ".rrd"

APPLICATION = "flexarm"
"""Application of all recordings. The viewer shows recordings of one application with the same layout."""

TIME = "time"
"""Name of the time line, which counts seconds from the time zero of the run."""

PIECE = 2000
"""Number of samples that are drawn at once. It limits the memory to about 4 kB for each link and sample."""

THIN = 1 / 400
"""Radius of the path and of the reference as a share of the arm's reach."""

AWAY = 2.2
"""Distance of the camera from the arm in multiples of its reach."""


def export_rerun(result: "Dataset", path: str | PathLike[str], *, model: Model | None = None) -> Path:
    """Write a result as a recording for the Rerun viewer, and return the path of the file.

    The recording has the moving arm in three dimensions, and joints, inputs, deflections, the tip and energies over
    time. Open it with `rerun PATH`. The file is written as a whole or not at all.

    Parameters
    ----------
    result : Dataset
        Result of `simulate`, or one run of an ensemble (`ensemble.isel(run=0)`).
    path : path
        File to write, which ends with .rrd.
    model : Model, optional
        Model of the result. It is needed if the arm has shapes or links of your own classes, which cannot be rebuilt.

    Raises
    ------
    DescriptionError
        If Rerun is not installed, if the result cannot be drawn, or if the file cannot be written.
    """
    check_ending(path, ENDING, where="export_rerun: path")
    with refused("export_rerun"):
        if find_spec("rerun") is None:
            raise Fault("", 'recordings are written with Rerun: pip install "flexarm[rerun]"', sentence=True)
        checked_result(result, ("q", "role", "unit", "owner"), ("arm", "name"))
        (motion,) = motions([result], None, model)
    check_writable(path)
    with said(f"drawing {counted(len(motion.t), 'sample')}"):
        return write_whole(path, _recorded(motion, result))


def _recorded(motion: Motion, result: "Dataset") -> bytes:
    """Return the bytes of the recording."""
    import rerun

    stream = rerun.RecordingStream(APPLICATION)
    content = stream.binary_stream()  # type: ignore[misc]
    stream.send_recording_name(motion.name)
    look = solids(motion.model)
    scene = Scene(stream, look)
    scene.draw(motion)
    found = curves(result, np.arange(len(motion.t)))
    if "tip" in result and TIP not in found:
        found[TIP] = [{"name": axis, "values": x} for axis, x in zip("xyz", result.tip.values.T, strict=True)]
    _send_series(stream, motion.t, found)
    stream.send_blueprint(_layout(look, [_titled(*kind) for kind in found]))
    return content.read() or b""


TIP = ("place of the tip", "m")
"""Title and unit of the plot of the tip's position."""


# -- the arm -----------------------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True)
class Scene:
    """The arm in a recording.

    Attributes
    ----------
    stream : rerun.RecordingStream
    look : dict
        Geometry of the arm, from `solids`.
    """

    stream: Any
    look: dict[str, Any]

    def draw(self, motion: Motion) -> None:
        """Send the arm at all samples of a motion."""
        path = []
        for start in range(0, len(motion.t), PIECE):
            rows = slice(start, start + PIECE)
            stations, frames = drawn(motion.model, motion.q[rows])
            self._send_links(motion.t[rows], stations[..., :3])
            self._send_points(motion.t[rows], stations[..., -1, :3], frames[..., 3])
            path.append(frames[:, -1, :, 3])
            if motion.wanted is not None:
                self._send_reference(motion.t[rows], drawn(motion.model, motion.wanted[rows])[0][..., :3])
        self._send_still(np.concatenate(path))
        if self.look["base"]["box"] is not None:
            self._send_base(motion)

    @property
    def _thin(self) -> float:
        return THIN * float(self.look["reach"])

    def _send_links(self, t: Array, stations: Array) -> None:
        for k, link in enumerate(self.look["links"]):
            radius = 0.25 * (np.sqrt(np.prod(link["base"])) + np.sqrt(np.prod(link["tip"])))
            self._send_strips(("arm", "links", link["name"]), t, stations[:, k], _rgb(style.colour(k)), radius)

    def _send_reference(self, t: Array, stations: Array) -> None:
        for k, link in enumerate(self.look["links"]):
            self._send_strips(("arm", "reference", link["name"]), t, stations[:, k], _rgb(style.SOFT), self._thin)

    def _send_strips(
        self, entity: tuple[str, ...], t: Array, points: Array, colour: tuple[int, ...], radius: float
    ) -> None:
        """Send one line strip (S, 3) for each time from points (N, S, 3)."""
        import rerun

        name = rerun.new_entity_path([*entity])
        self.stream.log(name, rerun.LineStrips3D.from_fields(radii=radius, colors=colour), static=True)
        self.stream.send_columns(name, _times(t), rerun.LineStrips3D.columns(strips=points.astype(np.float32)))

    def _send_points(self, t: Array, ends: Array, origins: Array) -> None:
        """Send the joints, the payloads and the tip, from ends of links (N, links, 3) and origins (N, links + 1, 3)."""
        links, hand = self.look["links"], self.look["payload"]
        self._send_balls("joints", t, origins[:, :-1], [link["joint"]["radius"] for link in links], style.INK)
        carried = [k for k, link in enumerate(links) if link["payload"] is not None]
        if carried:
            radii = [links[k]["payload"]["radius"] for k in carried]
            self._send_balls("payloads", t, ends[:, carried], radii, style.SOFT)
        self._send_balls("tip", t, origins[:, -1:], [hand["radius"] if hand else self.look["tip"]], style.SOFT)

    def _send_balls(self, entity: str, t: Array, points: Array, radii: list[float], colour: str) -> None:
        """Send balls at the points (N, count, 3)."""
        import rerun

        name, count = f"arm/{entity}", points.shape[1]
        self.stream.log(name, rerun.Points3D.from_fields(radii=radii, colors=_rgb(colour)), static=True)
        columns = rerun.Points3D.columns(positions=points.reshape(-1, 3)).partition([count] * len(t))
        self.stream.send_columns(name, _times(t), columns)

    def _send_still(self, path: Array) -> None:
        """Send the upward direction and the path of the tip (N, 3), which do not depend on time."""
        import rerun

        up = np.array(self.look["up"])
        axis = int(np.argmax(np.abs(up)))
        upward = f"RIGHT_HAND_{'XYZ'[axis]}_{'UP' if up[axis] > 0 else 'DOWN'}"
        self.stream.log("arm", getattr(rerun.ViewCoordinates, upward), static=True)
        line = rerun.LineStrips3D([path], radii=self._thin, colors=_rgb(style.SOFT))
        self.stream.log("arm/path", line, static=True)

    def _send_base(self, motion: Motion) -> None:
        """Send the box of a free base, which moves with the base."""
        import rerun

        box = self.look["base"]["box"]
        turned = motion.q[:, [4, 5, 6, 3]]  # Rerun has the scalar part last
        turned = turned / np.linalg.norm(turned, axis=1, keepdims=True)
        moved = rerun.Transform3D.columns(translation=motion.q[:, :3], quaternion=turned)
        self.stream.send_columns("arm/base", _times(motion.t), moved)
        self.stream.log("arm/base/box", rerun.Transform3D(translation=box["xyz"], mat3x3=box["R"]), static=True)
        half = np.array(box["size"]) / 2
        self.stream.log("arm/base/box", rerun.Boxes3D(half_sizes=[half], colors=_rgb(style.SOFT)), static=True)


# -- series and layout -------------------------------------------------------------------------------------------------


def _send_series(stream: Any, t: Array, found: dict[tuple[str, str], list[dict[str, Any]]]) -> None:
    """Send curves by the title and unit of their plot."""
    import rerun

    for (title, unit), items in found.items():
        for k, item in enumerate(items):
            for part in ("values", "reference"):
                if part not in item:
                    continue
                name = item["name"] + (", reference" if part == "reference" else "")
                colour = style.SOFT if part == "reference" else style.colour(k)
                entity = rerun.new_entity_path(["series", _titled(title, unit), name])
                line = rerun.SeriesLines(names=f"{name} [{unit}]", colors=_rgb(colour))
                stream.log(entity, line, static=True)
                stream.send_columns(entity, _times(t), rerun.Scalars.columns(scalars=item[part]))


def _layout(look: dict[str, Any], titles: list[str]) -> Any:
    """Return the viewer's layout: the arm on the left, its plots on the right."""
    import rerun
    from rerun import blueprint

    plots = [blueprint.TimeSeriesView(origin=rerun.new_entity_path(["series", title]), name=title) for title in titles]
    middle = np.array(look["base"]["origin"], dtype=float)
    towards = np.ones(3) - 0.4 * np.array(look["up"]) if look["plane"] is None else np.array(look["plane"])
    position = middle + AWAY * look["reach"] * towards / np.linalg.norm(towards)
    eye = blueprint.EyeControls3D(position=position, look_target=middle)
    arm = blueprint.Spatial3DView(origin="arm", name=look["name"], eye_controls=eye)
    views = blueprint.Horizontal(arm, blueprint.Vertical(*plots), column_shares=[3, 2])
    return blueprint.Blueprint(views, blueprint.TimePanel(timeline=TIME), collapse_panels=True)


def _titled(title: str, unit: str) -> str:
    return f"{title} [{unit}]"


def _times(t: Array) -> list[Any]:
    """Return the column of times. Rerun counts whole nanoseconds."""
    import rerun

    return [rerun.TimeColumn(TIME, duration=t)]


def _rgb(colour: str) -> tuple[int, ...]:
    return tuple(int(colour[i : i + 2], 16) for i in (1, 3, 5))
