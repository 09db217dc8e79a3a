"""Drawing of an arm as shaded faces in parallel projection: tubes along its links, cylinders for joints.

Faces are sorted by distance, and those that face away are left out, so that polygons drawn in this order form the
picture. Matplotlib's own 3D axes shade and sort worse, and take longer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from flexarm import quaternions
from flexarm.arrays import Array
from flexarm.plots.camera import Camera

SIDES = 20
"""Number of sides of a round section."""

THINNEST = 0.013
"""Smallest thickness as a share of the arm's reach. Anything thinner would be invisible on paper."""

STILL = np.eye(3), np.zeros(3)
"""Axes and position of a base that is not free."""

# -- solids ------------------------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True)
class Faces:
    """Corners of each face (n, 4, 3) [m], and its colour (n, 3) as shares of red, green and blue."""

    corners: Array
    colours: Array


def tube(centres: Array, y: Array, outline: Array, colour: Any) -> Faces:
    """Return the faces of a closed tube along centres (S, 3), with y axes y (S, 3) and outline (K, 2) or (S, K, 2)
    [m]."""
    along = np.gradient(centres, axis=0)
    size = np.linalg.norm(along, axis=1, keepdims=True)
    along = along / np.where(size > 0, size, 1.0)
    z = np.cross(along, y)
    z /= np.maximum(np.linalg.norm(z, axis=1, keepdims=True), 1e-300)
    y = np.cross(z, along)
    outline = np.broadcast_to(outline, (len(centres), *np.shape(outline)[-2:]))
    ring = centres[:, None] + outline[..., :1] * y[:, None] + outline[..., 1:] * z[:, None]  # (S, K, 3)
    turned = np.roll(ring, -1, axis=1)
    sides = np.stack([ring[:-1], turned[:-1], turned[1:], ring[1:]], axis=2).reshape(-1, 4, 3)
    root, tip = (np.broadcast_to(centre, ring[0].shape) for centre in (centres[0], centres[-1]))
    ends = [np.stack([turned[0], ring[0], root, root], axis=1), np.stack([ring[-1], turned[-1], tip, tip], axis=1)]
    corners = np.concatenate([sides, *ends])
    return Faces(corners, np.tile(colour, (len(corners), 1)))


def cylinder(centre: Array, axis: Array, radius: float, height: float, colour: Any) -> Faces:
    """Return a cylinder about an axis [unit vector], by its midpoint [m]."""
    across = np.eye(3)[int(np.argmin(np.abs(axis)))]
    y = across - (across @ axis) * axis
    ends = centre + np.multiply.outer([-height / 2, height / 2], axis)
    return tube(ends, np.tile(y / np.linalg.norm(y), (2, 1)), round_outline(radius), colour)


def round_outline(radius: float, sides: int = SIDES) -> Array:
    """Return the points of a circle, (sides, 2)."""
    angles = 2 * np.pi * np.arange(sides) / sides
    return radius * np.column_stack([np.cos(angles), np.sin(angles)])


def outlines(link: dict[str, Any], least: float, stations: int) -> Array:
    """Return the outlines (stations, K, 2) [m] of a link from `solids`, with nothing thinner than `least`."""
    base, tip = (np.maximum(link[end], least) / 2 for end in ("base", "tip"))
    unit = round_outline(1.0) if link["round"] else np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
    x = np.linspace(0.0, 1.0, stations)[:, None, None]
    return ((1 - x) * base + x * tip) * unit


def solid(
    look: dict[str, Any],
    stations: Array,
    frames: Array,
    colours: Sequence[Any],
    dark: Any,
    width: float = 1.0,
    base: tuple[Array, Array] = STILL,
) -> list[Faces]:
    """Return the faces of an arm whose sections and frames are placed as in `drawn`.

    Parameters
    ----------
    look : dict
        Geometry from `solids`.
    stations : (links, S, at least 6)
        Sections of the links.
    frames : (links + 1, 3, 4)
        Frames of the links and of the tip.
    colours : one a link, (3,)
        Colours of the links.
    dark : (3,)
        Colour of joints, the base and the payloads.
    width : float
        Factor of all dimensions across the neutral axes.
    base : (3, 3), (3,)
        Axes, as columns, and position of a free base.
    """
    reach, links = look["reach"], look["links"]
    drawn = _edges if look["base"]["open"] else _box
    found = drawn(look["base"]["box"], *base, dark) if look["base"]["free"] else _feet(look, width, dark)
    for i, (link, line, frame, colour) in enumerate(zip(links, stations, frames, colours, strict=False)):
        outline = width * outlines(link, THINNEST * reach, len(line))
        found += _connection(
            *held(look, i, stations, frames, base), (0.06 if link["panel"] else 0.5) * half_width(outline), dark
        )
        if link["wheel"]:
            axis = frame[:, :3] @ np.array(link["joint"]["axis"])
            found.append(cylinder(frame[:, 3], axis, link["wheel"]["radius"], 2 * link["wheel"]["half"], colour))
            continue
        found += _joint(link["joint"], frame, width, 0.8 * THINNEST * reach, dark)
        centres, y = line[:, :3], line[:, 3:6]
        if np.linalg.norm(centres[-1] - centres[0]) > 1e-9 * reach:
            found.append(tube(centres, y, outline, colour))
        if link["joint"]["kind"] == "telescope":
            found += _hub(link, line, frame, outline, colour, dark)
        if link["box"] is not None:
            found += _box(link["box"], frame[:, :3], frame[:, 3], colour)
        if link["payload"] is not None:
            found.append(_ball(centres[-1], width * max(link["payload"]["radius"], THINNEST * reach), dark))
    line, outline = stations[look["hand"]], width * outlines(links[look["hand"]], THINNEST * reach, 2)
    found += _connection(line[-1, :3], frames[-1, :, 3], 0.5 * half_width(outline), dark)
    if look["payload"] is not None:
        found.append(_ball(frames[-1, :, 3], width * max(look["payload"]["radius"], THINNEST * reach), dark))
    return found


def held(
    look: dict[str, Any], i: int, stations: Array, frames: Array, base: tuple[Array, Array] = STILL
) -> tuple[Array, Array]:
    """Return the point of the parent that holds a link, and the position of the link's joint, (3,) each [m]."""
    link, joint = look["links"][i], frames[i, :, 3]
    parent = link["parent"]
    R, p = base if parent < 0 else (frames[parent, :, :3], frames[parent, :, 3])
    if (box := (look["base"] if parent < 0 else look["links"][parent])["box"]) is not None:
        axes, half, centre = _placed(box, R, p)
        return centre + axes @ np.clip(axes.T @ (joint - centre), -half, half), joint
    if parent < 0:
        return p + R @ np.array(next(root["origin"] for root in look["base"]["roots"] if root["link"] == i)), joint
    line = stations[parent]
    x = link["at"] * (len(line) - 1)
    k = min(int(x), len(line) - 2)
    return line[k, :3] + (x - k) * (line[k + 1, :3] - line[k, :3]), joint


def skeleton(look: dict[str, Any], stations: Array, frames: Array, base: tuple[Array, Array] = STILL) -> list[Array]:
    """Return lines (P, 3) [m] along the links. One starts at each joint on the base, and at each further branch of a
    link."""
    found: list[list[Array]] = []
    ends: dict[int, list[Array]] = {}
    for i in _outward(look):
        line, parent = stations[i][:, :3], look["links"][i]["parent"]
        if parent in ends and look["links"][i]["at"] == 1.0:
            ends[i] = ends.pop(parent)
        else:
            found.append(ends.setdefault(i, [np.array([held(look, i, stations, frames, base)[0]])]))
        ends[i].append(line)
        if i == look["hand"]:
            ends[i].append(frames[-1:, :, 3])
    return [np.concatenate(line) for line in found]


def _outward(look: dict[str, Any]) -> list[int]:
    """Return the indices of the links, each after its parent."""
    found: dict[int, None] = {}
    while len(found) < len(look["links"]):
        found |= dict.fromkeys(i for i, x in enumerate(look["links"]) if x["parent"] < 0 or x["parent"] in found)
    return list(found)


def pose(q: Array, free: bool) -> tuple[Array, Array]:
    """Return axes, as columns, and position [m] of an arm's base at q (nq,)."""
    return (quaternions.rotation(q[3:7]), np.asarray(q[:3], dtype=float)) if free else STILL


def body(look: dict[str, Any], q: Array) -> Array:
    """Return the points (..., K, 3) [m] that bound an arm's base at q (..., nq): the corners of a free base's box."""
    box = look["base"]["box"]
    if box is None:
        return np.zeros((*q.shape[:-1], 1, 3))
    return q[..., None, :3] + _corners(box) @ np.swapaxes(quaternions.rotation(q[..., 3:7]), -1, -2)


def borders(look: dict[str, Any], stations: Array, frames: Array) -> list[Array]:
    """Return the points (..., S, 3) [m] of the two long sides of every panel, and the corners of links' boxes."""
    found = []
    for i, link in enumerate(look["links"]):
        if link["panel"]:
            width, thickness = link["base"]
            z = np.broadcast_to(frames[..., i, None, :, 2], stations[..., i, :, :3].shape)
            across = 0.5 * max(width, thickness) * (stations[..., i, :, 3:6] if width > thickness else z)
            found += [stations[..., i, :, :3] + side * across for side in (1, -1)]
        if link["box"] is not None:
            found.append(
                frames[..., i, None, :, 3] + _corners(link["box"]) @ np.swapaxes(frames[..., i, :, :3], -1, -2)
            )
    return found


def _corners(box: dict[str, Any]) -> Array:
    """Return the corners of a box in its frame, (8, 3) [m]."""
    signs = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, -1).T
    return np.array(box["xyz"]) + (signs * np.array(box["size"]) / 2) @ np.array(box["R"]).T


def _placed(box: dict[str, Any], R: Array, p: Array) -> tuple[Array, Array, Array]:
    """Return axes, half edges and centre of a box in a frame."""
    return R @ np.array(box["R"]), np.array(box["size"]) / 2, p + R @ np.array(box["xyz"])


def _box(box: dict[str, Any], R: Array, p: Array, colour: Any) -> list[Faces]:
    """Return the faces of a box: a free base, or a link that carries several."""
    axes, half, centre = _placed(box, R, p)
    ends = centre + np.multiply.outer([-half[0], half[0]], axes[:, 0])
    corners = np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]]) * half[1:]
    return [tube(ends, np.tile(axes[:, 1], (2, 1)), corners, colour)]


def _edges(box: dict[str, Any], R: Array, p: Array, colour: Any) -> list[Faces]:
    """Return the edges of a box whose inside must be visible."""
    axes, half, centre = _placed(box, R, p)
    radius = 0.02 * float(half.mean())
    corners = radius * np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
    found = []
    for k in range(3):
        for a, b in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
            across = a * half[k - 1] * axes[:, k - 1] + b * half[k - 2] * axes[:, k - 2]
            along = np.multiply.outer([-half[k] - radius, half[k] + radius], axes[:, k])
            found.append(tube(centre + across + along, np.tile(axes[:, k - 1], (2, 1)), corners, colour))
    return found


def _feet(look: dict[str, Any], width: float, colour: Any) -> list[Faces]:
    """Return the feet below the joints on a base that is not free, one for each place."""
    up, found, known = np.array(look["up"]), [], set()
    for root in look["base"]["roots"]:
        if (place := tuple(root["origin"])) not in known:
            known.add(place)
            wide = width * max(look["links"][root["link"]]["joint"]["radius"], 0.7 * THINNEST * look["reach"])
            found.append(cylinder(np.array(place) - 1.3 * wide * up, up, 1.5 * wide, 0.8 * wide, colour))
    return found


def half_width(outline: Array) -> float:
    """Return the largest half width of an outline [m]."""
    return float(np.abs(outline).max())


def _connection(a: Array, b: Array, radius: float, colour: Any) -> list[Faces]:
    """Return a straight connection from one point to another, if they are apart."""
    way = b - a
    length = float(np.linalg.norm(way))
    return [cylinder((a + b) / 2, way / length, radius, length, colour)] if length > 0.2 * radius else []


def _joint(joint: dict[str, Any], frame: Array, width: float, least: float, colour: Any) -> list[Faces]:
    """Return a cylinder about the axis of a revolute joint, or a block along that of a prismatic joint."""
    if joint["kind"] not in ("revolute", "prismatic"):
        return []
    axis = frame[:, :3] @ np.array(joint["axis"])
    radius, half = (width * max(joint[part], least) for part in ("radius", "half"))
    long = 2.0 if joint["kind"] == "revolute" else 4.0
    return [cylinder(frame[:, 3], axis, radius, long * half, colour)]


def _hub(link: dict[str, Any], line: Array, frame: Array, outline: Array, colour: Any, dark: Any) -> list[Faces]:
    """Return the hub of a telescope, and the part of its beam that extends back through it."""
    x, y, mouth, half = frame[:, 0], np.tile(frame[:, 1], (2, 1)), frame[:, 3], half_width(outline)
    back = inside(link, line)
    found = [cylinder(mouth - 1.5 * half * x, x, 1.7 * half, 3.0 * half, dark)]
    if back > 3.0 * half:
        found.append(tube(np.stack([mouth - back * x, mouth - 3.0 * half * x]), y, outline[:2], colour))
    return found


def inside(link: dict[str, Any], line: Array) -> float:
    """Return the length [m] of the part of a telescope's beam in the hub and behind it, with the sections at this
    line."""
    return max(0.0, link["length"] - float(np.linalg.norm(line[-1, :3] - line[0, :3])))


def _ball(centre: Array, radius: float, colour: Any) -> Faces:
    """Return a sphere [m]."""
    angles = np.pi * (np.arange(8) / 7 - 0.5)
    centres = centre + np.multiply.outer(radius * np.sin(angles), [0.0, 0.0, 1.0])
    outline = np.multiply.outer(np.maximum(np.cos(angles), 1e-3), round_outline(radius, 16))
    return tube(centres, np.tile([1.0, 0.0, 0.0], (8, 1)), outline, colour)


# -- pictures ----------------------------------------------------------------------------------------------------------


def picture(parts: Sequence[Faces], camera: Camera) -> tuple[Array, Array]:
    """Return polygons (n, 4, 2) on the paper, the farthest first, and their shaded colours (n, 3)."""
    corners = np.concatenate([part.corners for part in parts])
    colours = np.concatenate([part.colours for part in parts])
    normal = np.cross(corners[:, 2] - corners[:, 0], corners[:, 3] - corners[:, 1])
    triangle = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    flat = (corners[:, 2] == corners[:, 3]).all(axis=1)
    normal = np.where(flat[:, None], triangle, normal)
    area = np.linalg.norm(normal, axis=1)
    normal /= np.maximum(area, 1e-300)[:, None]
    seen = np.flatnonzero((normal @ camera.toward > 1e-9) & (area > 0))
    order = seen[np.argsort(corners[seen].mean(axis=1) @ camera.toward, kind="stable")]
    light = camera.toward + 0.7 * camera.up - 0.4 * camera.right
    bright = np.clip(normal[order] @ (light / np.linalg.norm(light)), 0.0, 1.0)
    shade = (0.5 + 0.6 * bright)[:, None]
    gleam = 0.35 * np.clip(bright - 0.8, 0.0, 1.0)[:, None] / 0.2
    return camera.seen(corners[order]), np.clip(colours[order] * shade * (1 - gleam) + gleam, 0.0, 1.0)
