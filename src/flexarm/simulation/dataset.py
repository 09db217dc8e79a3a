"""What a run becomes: a dataset with names and units, its energies accounted for."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from flexarm import escape
from flexarm.checks import Fault, checked_names, shown
from flexarm.description.arm import Beam, Telescope
from flexarm.model import Model
from flexarm.simulation.layout import Layout
from flexarm.simulation.protocol import Input
from flexarm.simulation.results import AUDIT, FOLLOWED, VARIABLES
from flexarm.trajectory import Reference
from flexarm.trajectory.reference import reference_function
from flexarm.version import __version__

if TYPE_CHECKING:
    from xarray import Dataset

Array = np.ndarray

PIECE = 4_000_000
"""Numbers that are held at once on the way to others: what that takes does not grow with a run."""


UNITS = {"q": "rad or m", "qd": "rad/s or m/s", "u": "N m or N", "tip": "m", "deflection": "m", "tip_angle": "rad"}
UNITS |= dict.fromkeys(("kinetic", "potential", "work", "dissipated", "energy_error"), "J")
UNITS |= {"power": "W", "q_ref": "rad or m"}


def checked_keep(keep: Any) -> tuple[str, ...] | None:
    """Names of a result's variables, each once, in the result's order; None stays None. Raises `Fault`."""
    if keep is None:
        return None
    known = [*VARIABLES, *FOLLOWED]
    names = checked_names(keep, f"names among {', '.join(known)}", "keep")
    for name in names:
        if not isinstance(name, str) or name not in known:
            raise Fault("keep", f"has {shown(name)}; a result has {', '.join(known)}")
    return tuple(name for name in known if name in names)


def kept_of(keep: tuple[str, ...] | None, reference: Reference | None) -> tuple[str, ...]:
    """The variables of a run's result: what is asked for, or all. Raises `Fault`."""
    if keep is None:
        return (*VARIABLES, *FOLLOWED) if reference is not None else (*VARIABLES,)
    if "q_ref" in keep and reference is None:
        raise Fault("keep", "has 'q_ref', which a run without a reference has not")
    return keep


def numbers(model: Model, layout: Layout, kept: tuple[str, ...]) -> int:
    """How many numbers a result takes for each of its times, and while it is made."""
    links, m, joints = len(model.arm.links), len(model.inputs), len(model.arm.joints)
    takes = {"tip": 3, "deflection": 3 * links, "tip_angle": 3 * links, "u": m, "power": 1 + 2 * m, "q_ref": joints}
    energies = 5 if {*AUDIT} & {*kept} else 0  # with the balance, its error, and one on the way
    return 1 + layout.size + energies + sum(takes.get(name, 0) for name in kept)


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


Evaluate = Callable[[str, slice, int], Array]
"""A quantity of a model, by its name, at some of the rows of the states, of which it takes so many columns."""


def observed(model: Model, motion: Array, kept: tuple[str, ...], of: Evaluate | None = None) -> dict[str, Array]:
    """Of what a result is made from beside the state, what is needed for the variables that are kept.

    "tip" (times, 3), "energy" (times, 2), "deflections" (times, links, 6), "rates" (times, m): B' qd, at which each
    input works. All of it comes from one kernel; of a part, only its own is compiled.

    Parameters
    ----------
    motion : (times, 2n)
        q and qd.
    of : function, optional
        Where the rows are not all of this model at its own parameters.
    """
    n, m, links, count = len(model.coordinates), len(model.inputs), len(model.arm.links), len(motion)
    needs = {"tip": ("tip",), "energy": AUDIT, "deflections": ("deflection", "tip_angle"), "rates": ("power",)}
    needed = [part for part, names in needs.items() if {*names} & {*kept}]

    def plain(name: str, i: slice, columns: int) -> Array:
        return model.kernel(name).many(np.ascontiguousarray(motion[i, :columns]))

    value = of or plain
    if len(needed) == len(needs):
        seen = 5 + 6 * links
        x = by_pieces(lambda i: value("observed", i, 2 * n), count, seen + m, 2 * n)
        deflections = x[:, 5:seen].reshape(count, links, 6)
        return {"tip": x[:, :3], "energy": x[:, 3:5], "deflections": deflections, "rates": x[:, seen:]}

    def rates(i: slice) -> Array:
        B = value("input_matrix", i, n).reshape(-1, n, m)
        return np.einsum("tnm,tn->tm", B, motion[i, n:])

    parts: dict[str, tuple[Callable[[slice], Array], int, int]] = {
        "tip": (lambda i: value("tip", i, n)[:, [3, 7, 11]], 3, n + 16),  # of a pose (4, 4)
        "energy": (lambda i: value("energy", i, 2 * n), 2, 2 * n),
        "deflections": (lambda i: value("deflections", i, n), 6 * links, n),
        "rates": (rates, m, n + n * m),
    }
    found = {part: by_pieces(function, count, *sizes) for part, (function, *sizes) in parts.items() if part in needed}
    if "deflections" in found:
        found["deflections"] = found["deflections"].reshape(count, links, 6)
    return found


def variables(
    model: Model, drive: Input, reference: Reference | None, layout: Layout, t: Array, x: Array, kept: tuple[str, ...]
) -> tuple[dict[str, Array], dict[str, float]]:
    """The variables that are kept, of states x (times, layout.size) at times t; and the audit, where there is one."""
    found: dict[str, Array] = {name: x[:, getattr(layout, name)] for name in ("q", "qd", "work", "dissipated")}
    z, motion, audit = x[:, layout.z], x[:, layout.motion], {}
    if {"u", "power"} & {*kept}:
        q, qd, m = found["q"], found["qd"], len(model.inputs)
        found["u"] = by_pieces(lambda i: drive.values(model, t[i], q[i], qd[i], z[i]), len(t), m, 8 * layout.size)
    seen = observed(model, motion, kept)
    with np.errstate(over="ignore", invalid="ignore"):  # `faulty` looks at all of it
        if "tip" in seen:
            found["tip"] = seen["tip"]
        if "deflections" in seen:
            found |= {"deflection": seen["deflections"][..., :3], "tip_angle": seen["deflections"][..., 3:]}
        if "rates" in seen:
            found["power"] = np.einsum("ti,ti->t", found["u"], seen["rates"])
        if "energy" in seen:
            kinetic, potential, work, dissipated = *seen["energy"].T, found["work"], found["dissipated"]
            balance = kinetic + potential - work + dissipated
            error = balance - balance[0]
            scale = np.max(kinetic + np.abs(potential - potential[0]) + np.abs(work) + dissipated, initial=0.0)
            found |= {"kinetic": kinetic, "potential": potential, "energy_error": error}
            drift = float(np.max(np.abs(error), initial=0.0)) / float(scale) if scale > 0 else 0.0
            audit = {"energy_drift": drift, "energy_scale": float(scale)}
    if reference is not None and "q_ref" in kept:
        wanted = reference_function(reference)
        found["q_ref"] = by_pieces(lambda i: wanted(t[i]), len(t), len(model.arm.joints), 0)
    return {name: found[name] for name in (*VARIABLES, *FOLLOWED) if name in kept}, audit


def coordinates(model: Model, t: Array, kept: tuple[str, ...]) -> dict[str, Any]:
    """What the dimensions of a result of these variables are."""
    arm = model.arm
    found: dict[str, Any] = {
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
    if "q_ref" in kept:
        found["joint"] = [model.coordinates[i] for i in arm.joints]
    return found


def dataset(
    model: Model,
    drive: Input,
    reference: Reference | None,
    layout: Layout,
    t: Array,
    x: Array,
    statistics: dict,
    keep: tuple[str, ...] | None = None,
) -> "Dataset":
    """The result of a run: states x (times, layout.size) at times t, and what follows from them."""
    import xarray as xr

    arm, kept = model.arm, kept_of(keep, reference)
    found, audit = variables(model, drive, reference, layout, t, x, kept)
    data = {name: ((VARIABLES | FOLLOWED)[name], values, {"units": UNITS[name]}) for name, values in found.items()}
    coords = coordinates(model, t, kept)
    attributes = {
        "title": f"{arm.name}: simulated motion",
        "arm": arm.canonical(),
        "input_description": drive.described(),
        "rotor_convention": ", ".join(sorted({getattr(link.joint, "rotor", "relative") for link in arm.links})),
        **audit,
        "group_velocity_ratio": group_velocity_ratio(model, x[:, layout.q], x[:, layout.qd]),
        "flexarm_version": __version__,
        **statistics,
    }
    if model.varied:
        values = zip((each.name for each in model.varied), model.p.tolist(), strict=True)
        attributes["parameters"] = json.dumps(dict(values))
    if keep is not None:
        attributes["kept"] = " ".join(kept)
    attributes = {key: escape.attribute(x) if isinstance(x, str) else x for key, x in attributes.items()}
    return xr.Dataset(data, coords=coords, attrs=attributes)


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
