"""Pictures of results, drawn without a screen."""

import json
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from flexarm import attitude, escape, style
from flexarm.attitude import configuration, local
from flexarm.checks import (
    Fault,
    checked_array,
    checked_flag,
    checked_instance,
    checked_result,
    checked_whole,
    refused,
    shown,
)
from flexarm.errors import DescriptionError
from flexarm.files import write_whole
from flexarm.model import Model
from flexarm.model.attitudes import unit_pose
from flexarm.model.drawing import drawn
from flexarm.sensors import coordinate_unit

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from xarray import Dataset


VARIABLES = ("q", "qd", "u", "tip", "deflection", "kinetic", "potential", "work", "dissipated", "role", "owner", "unit")
ATTRIBUTES = ("name", "method", "status", "input_description", "energy_drift")
"""What a figure of a result shows."""

PLACES = {"left": 0.085, "right": 0.985, "bottom": 0.065, "top": 0.93, "wspace": 0.23, "hspace": 0.1}
SMALL, LARGE = -2, 4
"""Of the four panels, with room beside each for its numbers, of which powers of ten beyond these stand above them.

Matplotlib can find the places itself, which takes it as long as to draw.
"""


MOTOR, AXES = 3, {"x": 1, "y": 0, "z": 2}
"""Marks, by their number in the house style: of motors beside their joints, and of a deflection's direction."""


def draw(result: "Dataset") -> "Figure":
    """A figure of a result: joints (against the reference where there is one), inputs, tip deflections, energy.

    An arm that nothing drives shows its joints' rates in place of the inputs; a rigid one its tip's position in place
    of the deflections. Where the base is free, its place in the world and its turn since the start stand above.
    """
    with refused("draw"):
        checked_result(result, VARIABLES, ATTRIBUTES)
    a = result.attrs
    free = bool((result.role.values == "base").any())
    rows = 3 if free else 2
    figure = style.figure(10, 4 * rows)
    panels = figure.subplots(rows, 2, sharex=True, gridspec_kw=PLACES).ravel()
    if free:
        _draw_base(panels[0], panels[1], result)
    joints, forces, tips, energies = panels[-4:]
    _draw_joints(joints, result)
    _draw_inputs(forces, result)
    _draw_tips(tips, result)
    _draw_energies(energies, result)
    for axes in panels:
        axes.margins(x=0.02)
        axes.ticklabel_format(axis="y", scilimits=(SMALL, LARGE))
        if axes.lines:
            axes.legend(loc="best")
    for axes in (tips, energies):
        axes.set_xlabel("time [s]")
    state = "" if a["status"] in ("completed", "") else f", stopped at {float(result.time[-1]):.6g} s"
    title = escape.label(f"{a['name']} ({a['method']}{state})")
    figure.suptitle(title, y=0.995, fontsize=style.MEDIUM)
    figure.text(0.5, 0.955, escape.label(f"input: {a['input_description']}"), ha="center", fontsize=style.TINY)
    return style.finished(figure)


def thrusters(result: "Dataset") -> dict[str, str]:
    """Which inputs of a result are a free base's thrusters, by name, and whether each is a "force" or a "torque"."""
    with refused("thrusters"):
        checked_result(result, (), ("arm",))
    if "velocity" not in result.dims:
        return {}
    base = json.loads(str(result.attrs["arm"]))["base"]
    return {f"base.{each['name']}": each["kind"] for each in base["thrusters"]}


def base_motion(q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of a free base over a run (time, nq): its place [m] and its turn since the start [rad], (time, 3) each.

    The turn is a vector along the world's axes, which does not jump where it goes beyond half a turn.
    """
    return q[:, :3], attitude.turns(attitude.product(q[:, 3:7], attitude.conjugate(q[0, 3:7])))


def _draw_base(places: Any, turns: Any, result: Any) -> None:
    t = result.time.values
    for axes, values in zip((places, turns), base_motion(result.q.values), strict=True):
        for c, axis in enumerate("xyz"):
            axes.plot(t, values[:, c], **style.curve(c), label=axis)
    places.set_ylabel("place of the base [m]")
    turns.set_ylabel("turn of the base [rad]")


def _draw_joints(axes: Any, result: Any) -> None:
    t, q = result.time.values, result.q.values
    turned = np.flatnonzero((result.role.values == "joint") | (result.role.values == "motor"))
    names, looks = result.coordinate.values[turned].tolist(), _looks(result)
    for i, name in zip(turned, names, strict=True):
        axes.plot(t, q[:, i], **looks[name], label=escape.label(name))
    if "q_ref" in result:
        for k, wanted in enumerate(result.q_ref.values.T):
            label = "reference" if k == 0 else None
            axes.plot(t, wanted, **style.WANTED, label=label)
    axes.set_ylabel(f"joints [{_units(result, names)}]")


def _looks(result: Any) -> dict[str, dict[str, Any]]:
    """How each coordinate is drawn, by its name: as its link, a motor with marks."""
    links, samples = result.link.values.tolist(), result.sizes["time"]
    named = zip(*(part.values.tolist() for part in (result.coordinate, result.owner, result.role)), strict=True)
    looks = {
        name: style.curve(i := links.index(owner), samples)
        | (style.marked(MOTOR, i, samples) if role == "motor" else {})
        for name, owner, role in named
        if role != "base"
    }
    return looks | {name: style.curve(len(links) + i, samples) for i, name in enumerate(thrusters(result))}


def _draw_inputs(axes: Any, result: Any) -> None:
    names, values = [str(name) for name in result.input.values], result.u.values
    idle = not np.abs(np.nan_to_num(values)).max(initial=0.0) > 0
    if idle:
        joints = np.flatnonzero(result.role.values == "joint")
        names = result.coordinate.values[joints].tolist()
        values = result.qd.values[:, joints - (result.q.shape[1] - result.qd.shape[1])]
    looks = _looks(result)
    for i, name in enumerate(names):
        axes.plot(result.time.values, values[:, i], **looks[name], label=escape.label(name))
    unit = _units(result, names)
    forces = {"rad": "N m", "m": "N"}.get(unit, "N m or N")
    axes.set_ylabel(f"joint rates [{unit}/s]" if idle else f"inputs [{forces}]")


def _draw_tips(axes: Any, result: Any) -> None:
    t, deflection = result.time.values, result.deflection.values
    largest = np.abs(deflection).max(axis=0)  # (link, axis)
    if not largest.max() > 0:
        for c, axis in enumerate("xyz"):
            axes.plot(t, result.tip.values[:, c], **style.curve(c), label=axis)
        axes.set_ylabel("position of the tip [m]")
        return
    for i, link in enumerate(result.link.values):
        for c, axis in enumerate("xyz"):
            if largest[i, c] > 1e-12 * largest.max():
                look = style.curve(i, len(t)) | style.marked(AXES[axis], i, len(t))
                axes.plot(t, 1e3 * deflection[:, i, c], **look, label=escape.label(f"{link}, {axis}"))
    axes.set_ylabel("deflection of each link's tip [mm]")


def _draw_energies(axes: Any, result: Any) -> None:
    potential = result.potential.values
    curves = {
        "kinetic": result.kinetic.values,
        "change of potential": potential - potential[0],
        "work": result.work.values,
        "dissipated": result.dissipated.values,
    }
    for i, (name, values) in enumerate(curves.items()):
        if np.abs(values).max() > 0:
            axes.plot(result.time.values, values, **style.curve(i), label=name)
    axes.set_ylabel("energy [J]")
    axes.set_title(f"audit: largest drift {result.attrs['energy_drift']:.1e}", fontsize=style.TINY)


def _units(result: Any, names: list[str]) -> str:
    """Of coordinates or of inputs: rad, m, or both."""
    units = dict(zip(map(str, result.coordinate.values), map(str, result.unit.values), strict=True))
    units |= {name: "rad" if kind == "torque" else "m" for name, kind in thrusters(result).items()}
    return " or ".join(sorted({units[name] for name in names}, reverse=True)) or "rad"


# -- modes -------------------------------------------------------------------------------------------------------------


def neutral_axes(model: Model, q: Any) -> list[np.ndarray]:
    """The neutral axis of every link, deformed, in the base frame: (stations, 3) each [m].

    Raises `DescriptionError` for a q that does not fit the arm.
    """
    with refused("neutral_axes"):
        checked_instance(model, Model, "model")
    q = model.single("neutral_axes", "q", q)
    return list(drawn(model, q)[0][..., :3])


def draw_modes(model: Model, q: Any, count: int = 6, locked: bool = True) -> "Figure":
    """A figure of an arm's lowest modes about a configuration: neutral axes at rest and at either end of the swing.

    Each mode is seen along the base axis in whose plane it moves most; the swing is a tenth of the arm's size. Modes
    without restoring force are left out. Raises `DescriptionError` where there are none.

    Parameters
    ----------
    q : (n,)
    count : int
        At most so many.
    locked : bool
        Whether the drives are held, as in `Model.frequencies`.
    """
    count = _count("draw_modes", model, count, locked)
    q = unit_pose("draw_modes: q", model.single("draw_modes", "q", q), model.arm)
    omega, phi = model.modes(q, locked)
    chosen = np.flatnonzero(omega > 0)[:count]
    if not len(chosen):
        raise DescriptionError(f"arm {model.arm.name!r}: no mode vibrates" + " with the drives held" * locked)
    arm = model.arm
    still, at = drawn(model, q)[0][..., :3], local(arm, q, q)  # (links, STATIONS, 3)
    size = float(np.ptp(np.vstack([*still, q[:3] if arm.free else np.zeros(3)]), axis=0).max())
    columns = min(3, len(chosen))
    rows = -(-len(chosen) // columns)
    figure = style.figure(3.4 * columns, 2.9 * rows + 0.4, layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    for axes, k in zip(panels, chosen, strict=False):
        step = 1e-4 * phi[:, k]
        above, below = drawn(model, configuration(arm, np.array([at + step, at - step]), q))[0][..., :3]
        moved = above - below  # displacements, so no link turns
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
    figure.suptitle(escape.label(f"{model.arm.name}: modes, drives {'held' if locked else 'free'}"))
    return style.finished(figure)


def _count(where: str, model: Any, count: Any, locked: Any) -> int:
    with refused(where):
        checked_instance(model, Model, "model")
        checked_flag(locked, "locked")
        return checked_whole(count, 1, "count")


def _plane(moved: np.ndarray, still: np.ndarray) -> tuple[int, int]:
    """The base plane in which points move most; where several are alike, the one that shows most of the arm."""
    way = (moved**2).sum(axis=0)
    extent = np.ptp(still, axis=0)
    planes = [(0, 1), (0, 2), (1, 2)]
    scores = [(round((way[a] + way[b]) / way.sum(), 2), extent[a] + extent[b]) for a, b in planes]
    return planes[scores.index(max(scores))]


def draw_frequencies(
    model: Model, coordinate: str, values: Any, q: Any = None, count: int = 6, locked: bool = True
) -> "Figure":
    """A figure of an arm's lowest frequencies as one of its coordinates takes values, the others as in q.

    Parameters
    ----------
    coordinate : str
        Of the arm, as "fore.joint" or a telescope's "slide.joint".
    values : (k,)
        [rad] or [m].
    q : (n,), optional
        Default: at rest.
    count, locked
        As in `draw_modes`.

    Raises
    ------
    DescriptionError
        For an unknown coordinate, or values that are not numbers.
    """
    count = _count("draw_frequencies", model, count, locked)
    if not isinstance(coordinate, str) or coordinate not in model.coordinates:
        raise DescriptionError(f"unknown coordinate {shown(coordinate)}; known are {', '.join(model.coordinates)}")
    q = model.argument("q", model.arm.rest if q is None else q).copy()
    with refused():
        x = checked_array(values, "values").ravel()
    if not len(x) or q.ndim != 1:
        raise DescriptionError("draw_frequencies: values is empty, or q is not one configuration")
    rows = []
    for value in x:
        q[model.coordinates.index(coordinate)] = value
        rows.append(model.frequencies(q, locked))
    omega = np.array(rows)[:, :count]
    figure = style.figure(6, 4, layout="constrained")
    axes = figure.subplots()
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
    return style.finished(figure)


def save_figure(figure: Any, path: str | PathLike[str]) -> Path:
    """Write a figure, whole or not at all; raises `DescriptionError` where it cannot be written."""
    from matplotlib.figure import Figure

    with refused("save_figure"):
        checked_instance(figure, Figure, "figure")
        if not isinstance(path, str | PathLike):
            raise Fault("path", f"is {shown(path)}; it must be the name of a file")
    try:
        content = style.rendered(figure, Path(path).suffix.lstrip(".").lower() or "png")
    except ValueError as error:
        raise DescriptionError(f"{path}: {' '.join(str(error).split())}") from None
    return write_whole(path, content)
