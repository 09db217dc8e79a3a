"""Plots of a result over time, as numbers for a page: titles, units and curves."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from flexarm.arrays import Array
from flexarm.plots.run import ball_motions, base_motion, input_units

if TYPE_CHECKING:
    from xarray import Dataset

LARGEST = 1e38
"""Largest value in a plot. A larger value, or one that is not a number, is a gap in its curve."""

UNSEEN = 1e-3
"""Share of the largest deflection below which a component is left out, since it would lie on the axis of its plot."""

PREFIXES = ((1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "\N{MICRO SIGN}"))

ENERGIES = {"kinetic": "kinetic", "potential": "change of potential", "work": "work", "dissipated": "dissipated"}

EFFORTS = {"N": "forces", "N m": "torques", "V": "voltages"}
"""Titles of the plots of inputs by their unit."""

Curves = dict[tuple[str, str], list[dict[str, Any]]]
"""Curves by title and unit of their plot, in the order of the plots: `name`, `values`, and sometimes a `reference`."""


def panels(results: Sequence["Dataset"], rows: Sequence[Array]) -> list[dict[str, Any]]:
    """Return the plots of results at some of their times: joints and references, drives, deflections, energies.

    Each plot has a `title`, a `unit` that suits the largest value, and `runs`, the curves of every result (float32).
    """
    each = [curves(result, i) for result, i in zip(results, rows, strict=True)]
    found = []
    for title, unit in dict.fromkeys(kind for own in each for kind in own):
        runs = [own.get((title, unit), []) for own in each]
        largest = max(_largest(x["values"]) for items in runs for x in items)
        factor, prefix = 1.0, ""
        if unit.partition("/")[0] != "rad":
            factor, prefix = next((p for p in PREFIXES if largest >= p[0]), PREFIXES[2])
        for item in (item for items in runs for item in items):
            for part in ("values", "reference"):
                if part in item:
                    item[part] = (item[part] / factor).astype(np.float32)
        found.append({"title": title, "unit": prefix + unit, "runs": runs})
    return found


def curves(result: "Dataset", rows: Array) -> Curves:
    """Return the curves of a result at these indices of its samples, in SI units."""
    found: Curves = {}

    def values(name: str) -> Array:
        found = np.asarray(result[name].values, dtype=float)[rows]
        return np.where(np.abs(found) < LARGEST, found, np.nan)

    def add(title: str, unit: str, name: str, values: Array, **more: Array) -> None:
        found.setdefault((title, unit), []).append({"name": name, "values": values, **more})

    has = {*result.variables}
    names, units, owners = (x.values.tolist() for x in (result.coordinate, result.unit, result.owner))
    efforts = {name: "N m" if unit == "rad" else "N" for name, unit in zip(names, units, strict=True)}
    efforts |= {name: unit for name, unit in input_units(result).items() if unit in EFFORTS}
    owner = dict(zip(names, owners, strict=True))
    joints = np.flatnonzero(result.role.values == "joint").tolist()
    behind = result.sizes["coordinate"] - result.sizes.get("velocity", result.sizes["coordinate"])
    q = values("q")
    for k, i in enumerate(joints):
        wanted = {"reference": values("q_ref")[:, k]} if "q_ref" in has else {}
        add("joints" if units[i] == "rad" else "slides", units[i], owners[i], q[:, i], **wanted)
    balls = ball_motions(result)
    for name, (angle, _) in balls.items():
        add("joints", "rad", name, angle[rows])
    u = values("u") if "u" in has else np.zeros((len(rows), 0))
    if _largest(u):
        for k, name in enumerate(result.input.values.tolist()):
            add(EFFORTS[efforts[name]], efforts[name], owner.get(name, name), u[:, k])
    elif "qd" in has:
        qd = values("qd")
        for i in joints:
            add("joint rates", f"{units[i]}/s", owners[i], qd[:, i - behind])
        for name, (_, speed) in balls.items():
            add("joint rates", "rad/s", name, speed[rows])
    if (result.role.values == "base").any():
        moved, turned = base_motion(np.asarray(result.q.values, dtype=float))
        for axis, x, turn in zip("xyz", moved[rows].T, turned[rows].T, strict=True):
            add("place of the base", "m", axis, x)
            add("turn of the base since the start", "rad", f"about {axis}", turn)
    deflection = values("deflection") if "deflection" in has else np.zeros((len(rows), 0, 3))
    if _largest(deflection):
        least = UNSEEN * _largest(deflection)
        for i, link in enumerate(result.link.values.tolist()):
            for c, axis in enumerate("xyz"):
                if _largest(deflection[:, i, c]) > least:
                    add("deflection of tips", "m", f"{link} {axis}", deflection[:, i, c])
    elif "tip" in has:
        for axis, x in zip("xyz", values("tip").T, strict=True):
            add("place of the tip", "m", axis, x)
    for name, label in ENERGIES.items():
        energy = values(name) if name in has else np.zeros(1)
        if name == "potential":
            energy = energy - energy[0]
        if _largest(energy):
            add("energy", "J", label, energy)
    return found


def _largest(values: Array) -> float:
    """Return the largest absolute value that is not NaN."""
    return float(np.fmax.reduce(np.abs(values), axis=None, initial=0.0))
