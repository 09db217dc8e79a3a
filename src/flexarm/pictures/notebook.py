"""HTML representations of an arm, a model and a result in a notebook.

The picture of an arm shows its description with all coordinates at rest. It needs no tracing and no compilation,
neither matplotlib nor scripts of a browser. Results stay xarray datasets. `%load_ext flexarm` shows the moving arm
above xarray's own table.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from flexarm import escape, style
from flexarm.arrays import Array
from flexarm.checks import counted
from flexarm.description.arm import Arm, Link, Pose
from flexarm.description.free import FreeBase
from flexarm.description.tree import carriers
from flexarm.errors import DescriptionError
from flexarm.model import Model
from flexarm.pictures.sketch import picture, skeleton, solid
from flexarm.pictures.solids import solids
from flexarm.plots.camera import PLANES, Camera, plane_camera, space_camera

if TYPE_CHECKING:
    from xarray import Dataset

WIDTH, LOW, HIGH = 420, 90, 300
"""Width of a picture, and the limits of its height [pixels]."""

MOST_LINKS = 40
"""Largest number of links drawn as solids, and of rows in the table. A larger arm is drawn as a line."""


def of_arm(arm: Arm, what: str = "Arm", more: str = "") -> str:
    """Return an arm at rest as HTML: a picture, and a row for each link. All texts of the user are escaped."""
    facts = [f"{counted(len(arm.coordinates), 'coordinate')}", f"{counted(len(arm.inputs), 'input')}"]
    if any(arm.gravity):
        facts.append(f"gravity {_numbers(arm.gravity)} m/s\N{SUPERSCRIPT TWO}")
    if isinstance(arm.base, FreeBase):
        facts.append(f"free base {arm.base.mass:.4g} kg")
    if carried := [payload.mass for payload in arm.payloads if payload is not None]:
        facts.append(f"payload{'s' * (len(carried) > 1)} {', '.join(f'{mass:.4g}' for mass in carried)} kg")
    head = f"{what} <b>{escape.html(arm.name)}</b>: {', '.join(facts)}{more}"
    return f'<div class="flexarm-arm">{_described(arm, head)}{_svg(arm)}{_table(arm)}</div>'


def of_model(model: Model) -> str:
    """Return a model's arm at rest as HTML, with the parameters that vary."""
    numbers = zip(model.varied, model.p, strict=True)
    varied = [f"{escape.html(x.name)} = {value:.4g} {escape.html(x.unit)}" for x, value in numbers]
    return of_arm(model.arm, "Model of", f"; varies: {', '.join(varied)}" if varied else "")


def _described(arm: Arm, head: str) -> str:
    return f"<p>{head}" + (f"<br>{escape.html(arm.description)}" if arm.description else "") + "</p>"


def _numbers(values: Any) -> str:
    return "(" + ", ".join(f"{x:.4g}" for x in values) + ")"


# -- the picture -------------------------------------------------------------------------------------------------------


def rest(arm: Arm) -> tuple[Array, Array]:
    """Return both ends of each link, (links, 2, 6), and the frames, (links + 1, 3, 4), at rest, as in `drawn`.

    A station has its position [m] and its own y axis.
    """
    parents, count = arm.parents, len(arm.links)
    stations, frames = np.zeros((count, 2, 6)), np.zeros((count + 1, 3, 4))
    for i in arm.outward:
        link, parent = arm.links[i], parents[i]
        R, p = np.eye(3), np.zeros(3)
        if parent >= 0 and isinstance(link.at, Pose):
            R, origin = frames[parent, :, :3], frames[parent, :, 3]
            p, R = origin + R @ np.array(link.at.xyz), R @ link.at.rotation
        elif parent >= 0:
            R, (start, end) = frames[parent, :, :3], stations[parent, :, :3]
            p = start + link.at * (end - start)
        p = p + R @ np.array(link.placement.xyz)
        R = R @ link.placement.rotation
        frames[i] = np.column_stack([R, p])
        tip = p + (link.free_length or link.body.length) * R[:, 0]
        stations[i] = [[*p, *R[:, 1]], [*tip, *R[:, 1]]]
    hand = arm.tip_link
    frames[-1] = np.column_stack([frames[hand, :, :3], stations[hand, -1, :3]])
    return stations, frames


def _svg(arm: Arm) -> str:
    """Return a self-contained picture as SVG. Lines have the text colour of the page."""
    try:
        look = solids(Model(arm))
    except DescriptionError:  # an arm without moving joints
        return ""
    stations, frames = rest(arm)
    camera = _camera(look)
    if len(arm.links) > MOST_LINKS:
        shapes = [_polyline(camera.seen(line)) for line in skeleton(look, stations, frames)]
        points = camera.seen(stations[..., :3]).reshape(-1, 2)
    else:
        colours = [_rgb(style.colour(i)) for i in range(len(arm.links))]
        polygons, shades = picture(solid(look, stations, frames, colours, _rgb(style.SOFT)), camera)
        points, shapes = polygons.reshape(-1, 2), []
        for polygon, shade in zip(polygons, shades, strict=True):
            shapes.append((polygon, "#" + "".join(f"{round(255 * x):02x}" for x in shade)))
    low, high = points.min(axis=0), points.max(axis=0)
    size = np.maximum(high - low, 1e-9 * look["reach"])
    scale = min((WIDTH - 20) / size[0], (HIGH - 20) / size[1])
    height = int(np.clip(scale * size[1] + 20, LOW, HIGH))
    middle = (low + high) / 2

    def placed(polygon: Array) -> str:
        x, y = (scale * (polygon - middle) * [1, -1] + [WIDTH / 2, height / 2]).T
        return " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))

    drawn = [
        f'<polygon points="{placed(polygon)}" fill="{fill}" stroke="{fill}" stroke-width=".4"/>'
        if fill
        else f'<polyline points="{placed(polygon)}" fill="none" stroke="currentColor" stroke-width="2"/>'
        for polygon, fill in shapes
    ]
    label = f"{escape.html(arm.name)} at rest" + (f", seen across the plane {camera.axes}" if camera.axes else "")
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" role="img" aria-label="{label}">'
    return f"{head}<title>{label}</title>{''.join(drawn)}</svg>"


def _polyline(points: Array) -> tuple[Array, str]:
    return points, ""


def _camera(look: dict[str, Any]) -> Camera:
    """Return a camera onto the base plane in which the arm moves, or a camera in space."""
    for plane, (_, _, k) in PLANES.items():
        if look["plane"] is not None and abs(look["plane"][k]) > 1 - 1e-9:
            return plane_camera(plane)
    return space_camera(np.array(look["up"]))


def _rgb(colour: str) -> Array:
    return np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])


# -- the table ---------------------------------------------------------------------------------------------------------

HEADS = ("link", "joint", "body", "length [m]", "mass [kg]", "modes")


def _table(arm: Arm) -> str:
    heads, cells = [*HEADS], [[*_cells(link)] for link in arm.links[:MOST_LINKS]]
    if (on := carriers(arm.links, arm.parents)) != ("base", *(link.name for link in arm.links[:-1])):
        heads.insert(1, "on")
        for row, carrier in zip(cells, on, strict=False):
            row.insert(1, escape.html(carrier))
    rows = ["".join(f"<td>{cell}</td>" for cell in row) for row in cells]
    if len(arm.links) > MOST_LINKS:
        rows.append(f'<td colspan="{len(heads)}">and {len(arm.links) - MOST_LINKS} more</td>')
    head = "".join(f"<th>{name}</th>" for name in heads)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(f'<tr>{row}</tr>' for row in rows)}</tbody></table>"


def _cells(link: Link) -> tuple[str, ...]:
    joint = escape.html(link.joint.type) + (", elastic" if link.elastic else "")
    if link.joint.leaders:
        joint += f" after {escape.html(' and '.join(link.joint.leaders))},"
    elif link.joint.moves and not link.joint.actuated:
        joint += ", passive"
    if link.joint.moving.moves:
        joint += f" {'about' if link.joint.turns else 'along'} {_numbers(link.joint.direction)}"
    modes = ", ".join(f"{count} {escape.html(name)}" for name, count in link.body.counts.items() if count)
    body = link.body
    return escape.html(link.name), joint, escape.html(body.type), f"{body.length:.4g}", f"{body.total_mass:.4g}", modes


# -- results -----------------------------------------------------------------------------------------------------------

DATASET = ("xarray.core.dataset", "Dataset")


def load(ipython: Any) -> None:
    """Make IPython show results of `simulate` as moving arms above xarray's own table."""
    _formatter(ipython).for_type_by_name(*DATASET, of_dataset)


def unload(ipython: Any) -> None:
    """Undo `load`."""
    _formatter(ipython).pop(".".join(DATASET), None)


def _formatter(ipython: Any) -> Any:
    return ipython.display_formatter.formatters["text/html"]


def of_dataset(dataset: "Dataset") -> str:
    """Return a result with its page. Any other dataset, and a result that cannot be drawn, is shown by xarray alone."""
    from flexarm.pictures.view import viewed

    own = dataset._repr_html_()
    if "arm" not in dataset.attrs or "q" not in dataset:
        return own
    try:
        return viewed(dataset)._repr_html_() + own
    except DescriptionError:
        return own
