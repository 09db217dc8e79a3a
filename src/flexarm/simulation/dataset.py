"""What a run becomes: a dataset with names and units, its energies accounted for."""

from typing import TYPE_CHECKING, Any

import numpy as np

from flexarm import escape
from flexarm.description.arm import Beam, Telescope
from flexarm.model import Model
from flexarm.simulation.layout import Layout
from flexarm.simulation.protocol import Input
from flexarm.trajectory import Reference, reference_values
from flexarm.version import __version__

if TYPE_CHECKING:
    from xarray import Dataset

Array = np.ndarray


def group_velocity_ratio(model: Model, q: Array, qd: Array) -> float:
    """Largest U / U_g of a run, U_g = sqrt(EI / m) / l at the longest free length (Theodore & Ghosal, section II).

    Shapes that were found for a beam at rest describe a sliding one while this is small. 0 without telescopes.
    """
    ratio, layout = 0.0, model.arm.layout
    for i in model.arm.joints:
        link = model.arm.links[layout[i].link]
        if isinstance(link.joint, Telescope) and isinstance(link.body, Beam):
            bending = [link.body.stiffness[d] for d in ("y", "z") if link.body.counts[d]]
            if bending:
                U_g = np.sqrt(min(bending) / link.body.m) / np.abs(q[:, i]).max()
                ratio = max(ratio, float(np.abs(qd[:, i]).max() / U_g))
    return ratio


def dataset(
    model: Model, drive: Input, reference: Reference | None, layout: Layout, t: Array, x: Array, statistics: dict
) -> "Dataset":
    """The result of a run: states x (times, layout.size) at times t, and what follows from them."""
    import xarray as xr

    arm = model.arm
    q, qd = x[:, layout.q], x[:, layout.qd]
    work, dissipated = x[:, layout.work], x[:, layout.dissipated]
    u = drive.values(model, t, q, qd, x[:, layout.z])
    observed = model.kernel("observed").many(np.ascontiguousarray(x[:, layout.motion]))
    kinetic, potential = observed[:, 3], observed[:, 4]
    deflections = observed[:, 5:].reshape(len(t), len(arm.links), 6)
    B = model.input_matrix(q)
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
        "power": ("time", np.einsum("tij,tj,ti->t", B, u, qd)),
        "energy_error": ("time", error),
    }
    if reference is not None:
        data["q_ref"] = (("time", "joint"), reference_values(reference, t))
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
    attributes = {key: escape.attribute(x) if isinstance(x, str) else x for key, x in attributes.items()}
    result = xr.Dataset(data, coords=coords, attrs=attributes)
    for name, unit in units.items():
        if name in result:
            result[name].attrs["units"] = unit
    return result
