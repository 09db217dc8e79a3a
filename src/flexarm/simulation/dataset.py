"""What a run becomes: a dataset with names and units, its energies accounted for."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from flexarm import escape
from flexarm.description.arm import Beam, Telescope
from flexarm.model import Model
from flexarm.simulation.layout import Layout
from flexarm.simulation.protocol import Input
from flexarm.trajectory import Reference
from flexarm.trajectory.reference import reference_function
from flexarm.version import __version__

if TYPE_CHECKING:
    from xarray import Dataset

Array = np.ndarray

PIECE = 4_000_000
"""Numbers that are held at once on the way to others: what that takes does not grow with a run."""


def numbers(model: Model, layout: Layout, reference: Reference | None) -> int:
    """How many numbers a result takes for each of its times, and while it is made."""
    seen, energies = 5 + 6 * len(model.arm.links), 4  # power, balance and its error; one on the way
    joints = 0 if reference is None else len(model.arm.joints)
    return 1 + layout.size + seen + 3 * len(model.inputs) + energies + joints


def by_pieces(function: Callable[[slice], Array], count: int, columns: int, needed: int) -> Array:
    """(count, columns) of a function of some of the rows, of which each needs so many numbers on the way."""
    found, rows = np.empty((count, columns)), max(1, PIECE // (needed + columns))
    for i in range(0, count, rows):
        found[i : i + rows] = function(slice(i, i + rows))
    return found


def group_velocity_ratio(model: Model, q: Array, qd: Array) -> float:
    """Largest U / U_g of a run, U_g = sqrt(EI / m) / l at the longest free length (Theodore & Ghosal, section II).

    Shapes that were found for a beam at rest describe a sliding one while this is small. 0 without telescopes.
    """
    ratio, layout = 0.0, model.arm.layout
    for i in model.arm.joints:
        link = model.arm.links[layout[i].link]
        if isinstance(link.joint, Telescope) and isinstance(link.body, Beam):
            EI, own = link.body.stiffness, link.name
            bending = [
                model.number(f"{own}.EI.{d}", model.number(f"{own}.EI", EI[d]))
                for d in ("y", "z")
                if link.body.counts[d]
            ]
            if bending:
                U, longest = np.abs(qd[:, i]).max(), np.abs(q[:, i]).max()
                m = model.number(f"{own}.mass", link.body.total_mass) / link.body.length
                ratio = max(ratio, float(U * longest * np.sqrt(m / min(bending))))
    return ratio


def dataset(
    model: Model, drive: Input, reference: Reference | None, layout: Layout, t: Array, x: Array, statistics: dict
) -> "Dataset":
    """The result of a run: states x (times, layout.size) at times t, and what follows from them."""
    import xarray as xr

    arm = model.arm
    q, qd = x[:, layout.q], x[:, layout.qd]
    work, dissipated = x[:, layout.work], x[:, layout.dissipated]
    n, m, links, observing = len(model.coordinates), len(model.inputs), len(arm.links), model.kernel("observed")
    z, motion = x[:, layout.z], x[:, layout.motion]
    u = by_pieces(lambda i: drive.values(model, t[i], q[i], qd[i], z[i]), len(t), m, 8 * layout.size)
    seen = 5 + 6 * links
    observed = by_pieces(lambda i: observing.many(np.ascontiguousarray(motion[i])), len(t), seen + m, 2 * n)
    kinetic, potential = observed[:, 3], observed[:, 4]
    deflections = observed[:, 5:seen].reshape(len(t), links, 6)
    with np.errstate(over="ignore", invalid="ignore"):  # `faulty` looks at all of it
        power = np.einsum("ti,ti->t", u, observed[:, seen:])
        balance = kinetic + potential - work + dissipated
        error = balance - balance[0]
        scale = float(np.max(kinetic + np.abs(potential - potential[0]) + np.abs(work) + dissipated, initial=0.0))

    units = {"q": "rad or m", "qd": "rad/s or m/s", "u": "N m or N", "tip": "m", "deflection": "m", "tip_angle": "rad"}
    units |= dict.fromkeys(("kinetic", "potential", "work", "dissipated", "energy_error"), "J") | {"power": "W"}
    data: dict[str, Any] = {
        "q": (("time", "coordinate"), q),
        "qd": (("time", "coordinate"), qd),
        "u": (("time", "input"), u),
        "tip": (("time", "axis"), observed[:, :3]),
        "deflection": (("time", "link", "axis"), deflections[..., :3]),
        "tip_angle": (("time", "link", "angle"), deflections[..., 3:]),
        "kinetic": ("time", kinetic),
        "potential": ("time", potential),
        "work": ("time", work),
        "dissipated": ("time", dissipated),
        "power": ("time", power),
        "energy_error": ("time", error),
    }
    if reference is not None:
        wanted = reference_function(reference)
        data["q_ref"] = (("time", "joint"), by_pieces(lambda i: wanted(t[i]), len(t), len(arm.joints), 0))
        units["q_ref"] = "rad or m"
    coords: dict[str, Any] = {
        "time": ("time", t, {"units": "s"}),
        "coordinate": list(model.coordinates),
        "role": ("coordinate", [coordinate.role for coordinate in arm.layout]),
        "owner": ("coordinate", [arm.links[coordinate.link].name for coordinate in arm.layout]),
        "unit": ("coordinate", list(arm.units)),
        "input": list(model.inputs),
        "axis": ["x", "y", "z"],
        "link": [link.name for link in arm.links],
        "angle": ["slope_y", "slope_z", "torsion"],
    }
    if reference is not None:
        coords["joint"] = [model.coordinates[i] for i in arm.joints]
    attributes = {
        "title": f"{arm.name}: simulated motion",
        "arm": arm.canonical(),
        "input_description": drive.described(),
        "rotor_convention": ", ".join(sorted({getattr(link.joint, "rotor", "relative") for link in arm.links})),
        "energy_drift": float(np.max(np.abs(error), initial=0.0)) / scale if scale > 0 else 0.0,
        "energy_scale": scale,
        "group_velocity_ratio": group_velocity_ratio(model, q, qd),
        "flexarm_version": __version__,
        **statistics,
    }
    if model.varied:
        values = zip((each.name for each in model.varied), model.p.tolist(), strict=True)
        attributes["parameters"] = json.dumps(dict(values))
    attributes = {key: escape.attribute(x) if isinstance(x, str) else x for key, x in attributes.items()}
    result = xr.Dataset(data, coords=coords, attrs=attributes)
    for name, unit in units.items():
        if name in result:
            result[name].attrs["units"] = unit
    return result


def faulty(result: "Dataset") -> str:
    """What in a result is no finite number, and when first; "" if all is."""
    for name, values in result.data_vars.items():
        bad = ~np.isfinite(values.values)
        if bad.any():
            first = tuple(np.argwhere(bad)[0])
            of = "".join(f" of {result[d].values[i]}" for d, i in zip(values.dims[1:], first[1:], strict=True))
            return f"{name}{of} is {values.values[first]} at t = {float(result.time[first[0]]):.6g} s"
    return next((f"{name} is {value}" for name, value in result.attrs.items() if _is_no_number(value)), "")


def _is_no_number(value: Any) -> bool:
    return isinstance(value, float) and not np.isfinite(value)
