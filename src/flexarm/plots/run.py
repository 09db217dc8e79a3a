"""Figure of a result: joints, inputs, deflections and energy over time."""

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from flexarm import escape, style
from flexarm.axes import checked_axes, finished
from flexarm.checks import checked_result, refused
from flexarm.description.arm import Arm
from flexarm.errors import FlexarmError
from flexarm.quaternions import turns
from flexarm.simulation.momenta import base_turn

if TYPE_CHECKING:
    from xarray import Dataset

    from flexarm.figure import Panels


VARIABLES = ("q", "qd", "u", "tip", "deflection", "kinetic", "potential", "work", "dissipated", "role", "owner", "unit")
ATTRIBUTES = ("name", "method", "status", "input_description", "energy_drift")
"""Variables and attributes of a result that the figure shows."""

PLACES = {"left": 0.085, "right": 0.985, "bottom": 0.065, "top": 0.93, "wspace": 0.23, "hspace": 0.1}
SMALL, LARGE = -2, 4
"""Places of the four panels, with room for their numbers. Powers of ten beyond these are written above a panel.

Matplotlib can compute the places, but this takes as long as the drawing.
"""


MOTOR, AXES = 3, {"x": 1, "y": 0, "z": 2}
"""Marks by their number in the house style: of motors beside their joints, and of a deflection's direction."""


def draw(result: "Dataset", *, ax: Any = None) -> "Panels":
    """Draw a result: joints (with the reference, if there is one), inputs, tip deflections and energy.

    For an arm without inputs it shows joint rates, and for a rigid arm the position of the tip in place of deflections.
    For a ball joint it shows the angle by which the link is turned from the joint frame.
    For a free base its position in the world and its rotation since the start are added at the top.

    Parameters
    ----------
    result : Dataset
        Result of `simulate`.
    ax : four Axes, or six for a free base, optional
        Axes of the panels. Default: a new figure.

    Returns
    -------
    array of Axes, in the order of the panels
    """
    with refused("draw"):
        checked_result(result, VARIABLES, ATTRIBUTES)
        free = bool((result.role.values == "base").any())
        rows = 3 if free else 2
        given = checked_axes(ax, (2 * rows,))
    panels = given
    if panels is None:
        panels = style.figure(10, 4 * rows).subplots(rows, 2, sharex=True, gridspec_kw=PLACES).ravel()
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
    if given is None:
        _write_title(panels.figure, result.attrs, float(result.time[-1]))
    return finished(panels, given)  # type: ignore[no-any-return]


def _write_title(figure: Any, a: dict[str, Any], end: float) -> None:
    state = "" if a["status"] in ("completed", "") else f", stopped at {end:.6g} s"
    title = escape.label(f"{a['name']} ({a['method']}{state})")
    figure.suptitle(title, y=0.995, fontsize=style.MEDIUM)
    figure.text(0.5, 0.955, escape.label(f"input: {a['input_description']}"), ha="center", fontsize=style.TINY)


def thrusters(result: "Dataset") -> dict[str, str]:
    """Return the thrusters among the inputs of a result, as "force" or "torque" by name."""
    with refused("thrusters"):
        checked_result(result, (), ("arm",))
    if "velocity" not in result.dims:
        return {}
    base = json.loads(str(result.attrs["arm"]))["base"] or {}
    return {f"base.{each['name']}": each["kind"] for each in base.get("thrusters", ())}


def base_motion(q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a free base's position [m] and rotation since the start [rad] over a run (time, nq), (time, 3) each.

    The rotation is a vector along the world's axes, which is continuous beyond half a turn.
    """
    return q[:, :3], base_turn(q)


def ball_motions(result: "Dataset") -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return by link how far each ball joint is turned from its zero position [rad], and its speed [rad/s], over a run.

    The angle is continuous beyond half a turn. Without rates in the result the speed is zero.
    """
    balls = result.role.values == "ball"
    found = {}
    for name in dict.fromkeys(result.owner.values[balls].tolist()):
        e = result.q.values[:, balls & (result.owner.values == name)]
        speed = np.zeros(len(e))
        if "qd" in result:
            mine = (result.velocity_role.values == "ball") & (result.velocity_owner.values == name)
            speed = np.linalg.norm(result.qd.values[:, mine], axis=1)
        found[str(name)] = np.linalg.norm(turns(e), axis=1), speed
    return found


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
    for name, (angle, _) in ball_motions(result).items():
        axes.plot(t, angle, **looks[name], label=escape.label(name))
    if "q_ref" in result:
        for k, wanted in enumerate(result.q_ref.values.T):
            label = "reference" if k == 0 else None
            axes.plot(t, wanted, **style.WANTED, label=label)
    axes.set_ylabel(f"joints [{_units(result, names)}]")


def _looks(result: Any) -> dict[str, dict[str, Any]]:
    """Return the line style of each coordinate and link by its name, with marks for a motor."""
    links, samples = result.link.values.tolist(), result.sizes["time"]
    named = zip(*(part.values.tolist() for part in (result.coordinate, result.owner, result.role)), strict=True)
    looks = {
        name: style.curve(i := links.index(owner), samples)
        | (style.marked(MOTOR, i, samples) if role == "motor" else {})
        for name, owner, role in named
        if role != "base"
    }
    looks |= {name: style.curve(i, samples) for i, name in enumerate(links)}
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
    for name, (_, speed) in ball_motions(result).items() if idle else ():
        axes.plot(result.time.values, speed, **looks[name], label=escape.label(name))
    known = input_units(result)
    forces = " or ".join(dict.fromkeys(known.get(name, "") for name in names))
    axes.set_ylabel(f"joint rates [{_units(result, names)}/s]" if idle else f"inputs [{forces}]")


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


def input_units(result: Any) -> dict[str, str]:
    """Return the unit of each input of a result: N m, N, or V for a voltage-driven motor.

    For unknown arms it is "N m or N". A result without inputs has none.
    """
    names = list(map(str, result.input.values)) if "input" in result.coords else []
    if not names:
        return {}
    try:
        units = Arm.from_json(str(result.attrs["arm"])).input_units
    except (KeyError, ValueError, FlexarmError):
        units = ("N m or N",) * len(names)
    return dict(zip(names, units, strict=True))


def _units(result: Any, names: list[str]) -> str:
    """Return the unit of coordinates or of inputs: rad, m, or both."""
    units = dict(zip(map(str, result.coordinate.values), map(str, result.unit.values), strict=True))
    units |= {name: "rad" if kind == "torque" else "m" for name, kind in thrusters(result).items()}
    return " or ".join(sorted({units[name] for name in names}, reverse=True)) or "rad"
