"""Cameras for points in space: parallel projection onto a base plane, or in space."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from flexarm import style
from flexarm.arrays import Array
from flexarm.checks import Fault, checked_number, choices, shown

FLAT = 1e-6
"""Share of the arm's size by which motion may leave a plane and still be drawn in this plane."""


@final
@dataclass(frozen=True)
class Camera:
    """Direction of a parallel projection: unit vectors to the right, upwards, and towards the viewer."""

    right: Array
    up: Array
    toward: Array
    axes: str = ""
    """Base axes in the plane of the picture, such as "xy", or "" in space."""

    def seen(self, points: Array) -> Array:
        """Return the coordinates on the paper (..., 2) of points (..., 3) [m]."""
        return np.stack([points @ self.right, points @ self.up], axis=-1)


PLANES = {"xy": (0, 1, 2), "xz": (0, 2, 1), "yz": (1, 2, 0)}
"""Indices of the base axes to the right, upwards, and towards the viewer."""


def plane_camera(plane: str) -> Camera:
    """Return the camera onto one of the base planes."""
    i, j, _ = PLANES[plane]
    right, up = np.eye(3)[i], np.eye(3)[j]
    return Camera(right, up, np.cross(right, up), plane)


def space_camera(up: Array, azimuth: float = -1.0, elevation: float = 0.42) -> Camera:
    """Return a camera in space, with `up` [unit vector] upright in the picture. Angles are in rad."""
    k = int(np.argmax(np.abs(up)))
    across = np.eye(3)[(k + 1) % 3]
    a = across - (across @ up) * up
    a /= np.linalg.norm(a)
    b = np.cross(up, a)
    flat = np.cos(azimuth) * a + np.sin(azimuth) * b
    toward = np.cos(elevation) * flat + np.sin(elevation) * up
    right = np.cross(up, flat)
    return Camera(right, np.cross(toward, right), toward)


def upright(gravity: Any) -> Array:
    """Return the upward direction, against gravity [unit vector]. Without gravity it is the base's z axis."""
    g = np.asarray(gravity, dtype=float)
    size = float(np.linalg.norm(g))
    return -g / size if size > 0 else np.array([0.0, 0.0, 1.0])


def chosen_camera(view: Any, across: Array, size: float, up: Array) -> Camera:
    """Return the camera for a `view`: a plane's name, "space", two angles [rad], or None for a suitable one.

    Raises `Fault`.

    Parameters
    ----------
    across : (3,)
        Extent of the drawing along each base axis [m].
    size : float
        Size of the arm [m].
    up : (3,)
        Upward direction [unit vector].
    """
    if view is None:
        flat = [plane for plane, (_, _, k) in PLANES.items() if across[k] <= FLAT * size]
        return plane_camera(flat[0]) if flat else space_camera(up)
    if isinstance(view, str) and view in PLANES:
        return plane_camera(view)
    if isinstance(view, str) and view == "space":
        return space_camera(up)
    if not isinstance(view, list | tuple) or len(view) != 2:
        must = f"{choices(*PLANES, 'space')}, or an azimuth and an elevation in rad"
        raise Fault("view", f"is {shown(view)}; it must be {must}")
    azimuth, elevation = (checked_number(x, "rad", part=f"view[{i}]") for i, x in enumerate(view))
    return space_camera(up, azimuth, elevation)


def floor(axes: Any, camera: Camera, up: Array, extent: Array, box: Array, size: float, ink: str = style.INK) -> None:
    """Draw a scale in metres: axes in a plane, or in space a grid below the arm with the base axes in its corner.

    Parameters
    ----------
    extent : (2, 3)
        Smallest and largest coordinates of the drawing [m].
    box : (2, 2)
        Smallest and largest coordinates on the paper [m].
    """
    if camera.axes:
        axes.set_xlabel(f"{camera.axes[0]} [m]")
        axes.set_ylabel(f"{camera.axes[1]} [m]")
        axes.locator_params(nbins=7)
        return
    from matplotlib.collections import LineCollection

    axes.set_axis_off()
    k = int(np.argmax(np.abs(up)))
    step = _round_number(0.2 * size)
    low, high = step * np.floor(extent[0] / step), step * np.ceil(extent[1] / step)
    level = (low if up[k] > 0 else high)[k]
    a, b = (k + 1) % 3, (k + 2) % 3
    lines = []
    for i, j in ((a, b), (b, a)):
        for x in np.arange(round(low[i] / step), round(high[i] / step) + 1) * step:
            ends = np.zeros((2, 3))
            ends[:, i], ends[:, j], ends[:, k] = x, (low[j], high[j]), level
            lines.append(camera.seen(ends))
    axes.add_collection(LineCollection(lines, colors=style.SOFT, linewidths=style.FINE, alpha=0.45, zorder=1))
    seen, room = np.concatenate(lines), 0.02 * size
    (left, lower), (right, upper) = box
    left, lower = min(left, seen[:, 0].min() - room), min(lower, seen[:, 1].min() - room)
    axes.set_xlim(left, max(right, seen[:, 0].max() + room))
    axes.set_ylim(lower, max(upper, seen[:, 1].max() + room))
    reach = 0.055 * (axes.get_xlim()[1] - left)
    middle = np.array([left + 1.8 * reach, lower + 1.8 * reach])
    for n in range(3):
        way = reach * camera.seen(np.eye(3)[n])
        axes.plot(*np.array([middle, middle + way]).T, color=ink, linewidth=style.THIN, zorder=1.2)
        axes.text(*(middle + 1.3 * way), "xyz"[n], color=ink, fontsize=style.TINY, ha="center", va="center")
    axes.text(0.988, 0.015, f"grid {step:g} m", transform=axes.transAxes, ha="right", color=ink, fontsize=style.TINY)


def _round_number(x: float) -> float:
    """Return 1, 2 or 5 times a power of ten, at most x."""
    power = 10.0 ** np.floor(np.log10(x))
    return float(power * max(n for n in (1, 2, 5) if n * power <= x * (1 + 1e-9)))
