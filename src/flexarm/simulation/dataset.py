"""Result of a run: a dataset with names, units and an energy balance."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from flexarm import escape
from flexarm.arrays import Array
from flexarm.attitude import local
from flexarm.checks import Fault, checked_names, known_names, shown
from flexarm.description.arm import Beam
from flexarm.model import Model
from flexarm.simulation.balance import exchanged
from flexarm.simulation.block import Block
from flexarm.simulation.common import Common, Data
from flexarm.simulation.exogenous import ExogenousInputs
from flexarm.simulation.layout import Layout
from flexarm.simulation.momenta import acting, base_turn, quaternion_drift
from flexarm.simulation.momenta import kept as kept_momenta
from flexarm.simulation.results import AUDIT, EVERY, MOMENTA, TURN, VARIABLES, dimensions
from flexarm.trajectory import Reference
from flexarm.trajectory.reference import reference_function
from flexarm.version import __version__

if TYPE_CHECKING:
    from xarray import Dataset


PIECE = 4_000_000
"""Largest number of intermediate values in memory at once, so that memory does not grow with the length of a run."""


UNITS = {"q": "rad or m", "qd": "rad/s or m/s", "u": "N m or N", "tip": "m", "deflection": "m", "tip_angle": "rad"}
UNITS |= dict.fromkeys(("kinetic", "potential", "work", "dissipated", "energy_error"), "J")
UNITS |= {"power": "W", "q_ref": "rad or m", "drive_state": "as state_unit", "w": "as exogenous_unit"}
UNITS |= {"tension": "N", "momentum": "kg m/s", "angular_momentum": "N m s", "base_turn": "rad"}


def checked_keep(keep: Any) -> tuple[str, ...] | None:
    """Return the names of a result's variables without duplicates, in the result's order. None stays None.

    Raises `Fault`.
    """
    if keep is None:
        return None
    known = [*EVERY]
    what = f"names among {', '.join(known)}"
    names = known_names(keep, known, what, "", "a result has", "has the unknown name")
    return tuple(name for name in known if name in names)


def kept_of(
    keep: tuple[str, ...] | None,
    reference: Reference | None,
    states: int = 0,
    exogenous: int = 0,
    free: bool = False,
    cables: int = 0,
) -> tuple[str, ...]:
    """Return the variables of a run's result: the requested ones, or all. Raises `Fault`."""
    there = {"q_ref": reference is not None, "drive_state": states > 0, "w": exogenous > 0, "tension": cables > 0}
    there |= dict.fromkeys((*MOMENTA, *TURN), free)
    if keep is None:
        return (*VARIABLES, *(name for name in there if there[name]))
    lacking = {"q_ref": "a run without a reference", "drive_state": "an arm whose drives have no states"}
    lacking |= {"w": "an arm without exogenous inputs", "tension": "an arm without cables"}
    lacking |= dict.fromkeys((*MOMENTA, *TURN), "an arm whose base is not free")
    for name in lacking:
        if name in keep and not there[name]:
            raise Fault("keep", f"has {name!r}, which {lacking[name]} does not have; leave it out")
    return keep


def checked_record(record: Any) -> tuple[str, ...]:
    """Return the names of recorded controller signals without duplicates. None gives an empty tuple. Raises `Fault`."""
    if record is None:
        return ()
    names = tuple(checked_names(record, "names of signals of the controller"))
    for name in names:
        if not isinstance(name, str):
            raise Fault("", f"has {shown(name)}; it must be names of signals of the controller")
    return tuple(dict.fromkeys(names))


FAR = 0.5
"""Deflection of the tip over the link's length above which small-deflection shapes are not valid."""


def numbers(model: Model, layout: Layout, kept: tuple[str, ...], recorded: int = 0) -> int:
    """Return how many numbers a result takes per time, including intermediate values."""
    links, m, joints = len(model.arm.links), len(model.inputs), len(model.arm.driven)
    takes = {"tip": 3, "deflection": 3 * links, "tip_angle": 3 * links, "u": m, "power": 1 + 2 * m}
    takes |= {"q_ref": joints, "drive_state": layout.own, "w": layout.exogenous, **dict.fromkeys((*MOMENTA, *TURN), 3)}
    takes |= {"tension": len(model.arm.cables)}
    energies = 5 if {*AUDIT} & {*kept} else 0  # the energy balance, its error, and one intermediate value
    return 1 + layout.size + energies + 2 * recorded + sum(takes.get(name, 0) for name in kept)


def by_pieces(function: Callable[[slice], Array], count: int, columns: int, needed: int) -> Array:
    """Return the values (count, columns) of a function of slices of rows.

    Each row needs `needed` intermediate numbers.
    """
    found, rows = np.empty((count, columns)), max(1, PIECE // (needed + columns))
    for i in range(0, count, rows):
        found[i : i + rows] = function(slice(i, i + rows))
    return found


def group_velocity_ratio(model: Model, q: Array, qd: Array) -> float:
    """Return the largest U / U_g of a run, U_g = sqrt(EI / m) / l at the longest free length (Theodore & Ghosal, sec.
    II).

    Shapes of a beam at rest describe a sliding beam as long as this ratio is small. The ratio is 0 without telescopes.
    """
    ratio = 0.0
    if not (sliding := model.of_arm(Common).sliding):
        return ratio
    q = local(model.arm, q)
    for i, link in sliding:
        assert isinstance(link.body, Beam)  # a telescope has no other body
        EI, own = link.body.stiffness, link.name
        bending = [
            model.number(f"{own}.EI.{d}", model.number(f"{own}.EI", EI[d])) for d in ("y", "z") if link.body.counts[d]
        ]
        if bending:
            U, longest = np.abs(qd[:, i]).max(), np.abs(q[:, i]).max()
            m = model.number(f"{own}.mass", link.body.total_mass) / link.body.length
            ratio = max(ratio, float(U * longest * np.sqrt(m / min(bending))))
    return ratio


Evaluate = Callable[[str, slice, int], Array]
"""A function that evaluates a quantity of a model, by name, at a slice of the states and at their first columns."""


def observed(model: Model, motion: Array, kept: tuple[str, ...], of: Evaluate | None = None) -> dict[str, Array]:
    """Return the quantities that the kept variables need in addition to the state.

    The quantities are "tip" (times, 3), "energy" (times, 2), "deflections" (times, links, 6) and "rates" (times, m).
    The rates are B' qd, at which each input does work. An arm on a free base also has "momenta" (times, 6). One kernel
    gives all quantities. If only some are needed, only their kernels are compiled.

    Parameters
    ----------
    motion : (times, nq + nv + states)
        q, qd and the states of drives.
    of : function, optional
        Evaluates a quantity, for rows that do not all belong to this model at its own parameters.
    """
    n, m, links, count = model.nq, len(model.inputs), len(model.arm.links), len(motion)
    moving = n + model.nv
    needs = {
        "tip": ("tip",),
        "energy": AUDIT,
        "deflections": ("deflection", "tip_angle"),
        "rates": ("power",),
    }
    needed = [part for part, names in needs.items() if {*names} & {*kept}]
    found: dict[str, Array] = {}

    value = of or with_rows(model, motion, None)
    if len(needed) == len(needs):
        seen = 5 + 6 * links
        x = by_pieces(lambda i: value("observed", i, motion.shape[1]), count, seen + m, moving)
        found = {"tip": x[:, :3], "energy": x[:, 3:5], "deflections": x[:, 5:seen], "rates": x[:, seen:]}
        needed = []

    def rates(i: slice) -> Array:
        B = value("input_matrix", i, n).reshape(-1, moving - n, m)
        return np.einsum("tnm,tn->tm", B, motion[i, n:moving])

    parts: dict[str, tuple[Callable[[slice], Array], int, int]] = {
        "tip": (lambda i: value("tip", i, n)[:, [3, 7, 11]], 3, n + 16),  # position in a pose (4, 4)
        "energy": (lambda i: value("energy", i, motion.shape[1]), 2, moving),
        "deflections": (lambda i: value("deflections", i, n), 6 * links, n),
        "rates": (rates, m, n + n * m),
        "momenta": (lambda i: value("momentum", i, moving), 6, moving),
    }
    needed += ["momenta"] if {*MOMENTA} & {*kept} else []
    found |= {part: by_pieces(function, count, *sizes) for part, (function, *sizes) in parts.items() if part in needed}
    if "deflections" in found:
        found["deflections"] = found["deflections"].reshape(count, links, 6)
    return found


def supplied(
    model: Model,
    drive: Block,
    layout: Layout,
    x: Array,
    u: Array,
    w: Array,
    rates: Array,
    p: Array | None = None,
) -> Array:
    """Return the power of inputs and external loads (times,): of u (times, m) at rates B' qd, and of w (times, k).

    If parameters change during the run, p has a row for each time. The inputs of motors are more than forces. In a
    prescribed motion, u are forces and there are no motors.
    """
    forces = np.einsum("ti,ti->t", u, rates)
    if model.arm.plain:
        return forces
    given = drive.quantity == "state_rate"  # otherwise u are forces
    parts = layout.parts(x, w) | {"u": u if given else np.zeros_like(u)}
    power = _of_parts(model, "power", parts, 1, p)[:, 0]
    return power if given else forces + power


def tensions(model: Model, layout: Layout, x: Array, w: Array, p: Array | None = None) -> Array:
    """Return the tension of each cable (times, cables) [N] at states x (times, layout.size) and exogenous inputs w."""
    return _of_parts(model, "tension", layout.parts(x, w), len(model.arm.cables), p)


def _of_parts(model: Model, name: str, parts: dict[str, Array], width: int, p: Array | None) -> Array:
    """Return a quantity (times, width) from its arguments by name, each row at its parameters p if given."""
    columns = [parts[argument] for argument in model.arguments(name)]

    def value(i: slice) -> Array:
        return _at_rows(model, name, np.hstack([each[i] for each in columns]), None if p is None else p[i])

    return by_pieces(value, len(columns[0]), width, sum(each.shape[1] for each in columns))


def with_rows(model: Model, rows: Array, p: Array | None) -> Evaluate:
    """Return a function that evaluates a quantity at some rows, each at its own parameters p (rows, k) if given."""

    def value(name: str, i: slice, columns: int) -> Array:
        return _at_rows(model, name, np.ascontiguousarray(rows[i, :columns]), None if p is None else p[i])

    return value


def _at_rows(model: Model, name: str, x: Array, p: Array | None) -> Array:
    kernel = model.kernel(name)
    return kernel.many(x) if p is None else kernel.many_states([x, kernel.constants_of(p)])[0]


def variables(
    model: Model,
    drive: Block,
    reference: Reference | None,
    layout: Layout,
    t: Array,
    x: Array,
    kept: tuple[str, ...],
    exogenous: ExogenousInputs,
    p: Array | None,
) -> tuple[dict[str, Array], dict[str, Any]]:
    """Return the kept variables of states x (times, layout.size) at times t, and the energy balance if there is one.

    If parameters change during the run, p has a row for each time.
    """
    w = exogenous.output(model, t, x[:, layout.q], x[:, layout.qd])
    found: dict[str, Array] = {name: x[:, getattr(layout, name)] for name in ("q", "qd", "work", "dissipated")}
    audit: dict[str, Any] = {}
    motion = np.hstack([x[:, layout.motion], x[:, layout.s]]) if layout.own else x[:, layout.motion]
    found |= {"drive_state": x[:, layout.s], "w": w}
    if "tension" in kept:
        found["tension"] = tensions(model, layout, x, w, p)
    if {"u", "power", *MOMENTA} & {*kept}:
        m = len(model.inputs)
        found["u"] = by_pieces(
            lambda i: drive.applied(model, t[i], layout.parts(x[i], w[i])),
            len(t),
            m,
            8 * (layout.size + layout.exogenous),
        )
    seen = observed(model, motion, kept, with_rows(model, motion, p))
    with np.errstate(over="ignore", invalid="ignore"):  # `faulty` checks all values
        if "tip" in seen:
            found["tip"] = seen["tip"]
        if "deflections" in seen:
            found |= {"deflection": seen["deflections"][..., :3], "tip_angle": seen["deflections"][..., 3:]}
        if "rates" in seen:
            found["power"] = supplied(model, drive, layout, x, found["u"], w, seen["rates"], p)
        if "energy" in seen:
            kinetic, potential, work, dissipated = *seen["energy"].T, found["work"], found["dissipated"]
            error, scale = exchanged(kinetic, potential, work, dissipated)
            found |= {"kinetic": kinetic, "potential": potential, "energy_error": error}
            drift = float(np.max(np.abs(error), initial=0.0)) / scale if scale > 0 else 0.0
            audit = {"energy_drift": drift, "energy_scale": scale}
        if "momenta" in seen:
            found |= {"momentum": seen["momenta"][:, :3], "angular_momentum": seen["momenta"][:, 3:]}
            if by := acting(model, drive, exogenous, float(t[-1]), found["u"], w, p is not None):
                audit["momentum_changed_by"] = by
            else:
                audit |= kept_momenta(model, found["q"], found["qd"], seen["momenta"])
        if model.arm.quaternions:
            audit["quaternion_drift"] = quaternion_drift(model.arm, found["q"])
        if "base_turn" in kept:
            found["base_turn"] = base_turn(found["q"])
    if reference is not None and "q_ref" in kept:
        wanted = reference_function(reference)
        found["q_ref"] = by_pieces(lambda i: wanted(t[i]), len(t), len(model.arm.driven), 0)
    return {name: found[name] for name in EVERY if name in kept}, audit


def coordinates(model: Model, t: Array, kept: tuple[str, ...]) -> dict[str, Any]:
    """Return the coordinates of a result's dimensions for these variables."""
    arm = model.arm
    inner, free = arm.layout[arm.twists :], 7 * arm.free
    roles = ["base"] * free + ["ball"] * (arm.poses - free)
    owners = ["base"] * free + [arm.links[i].name for i in arm.balls for _ in range(4)]
    found: dict[str, Any] = {
        "time": ("time", t, {"units": "s"}),
        "coordinate": list(model.coordinates),
        "role": ("coordinate", [*roles, *(x.role for x in inner)]),
        "owner": ("coordinate", [*owners, *(arm.links[x.link].name for x in inner)]),
        "unit": ("coordinate", list(arm.units)),
        "input": list(model.inputs),
        "axis": ["x", "y", "z"],
        "link": [link.name for link in arm.links],
        "angle": ["slope_y", "slope_z", "torsion"],
    }
    if arm.quaternions:
        owners = ["base" if x.role == "base" else arm.links[x.link].name for x in arm.layout]
        found |= {"velocity": list(arm.velocities), "velocity_role": ("velocity", [x.role for x in arm.layout])}
        found |= {"velocity_owner": ("velocity", owners), "velocity_unit": ("velocity", list(arm.rate_units))}
    if "drive_state" in kept:
        found |= {"state": list(model.states), "state_unit": ("state", list(arm.state_units))}
    if "w" in kept:
        found |= {"exogenous": list(model.exogenous), "exogenous_unit": ("exogenous", list(arm.exogenous_units))}
    if "tension" in kept:
        found["cable"] = [cable.name for cable in arm.cables]
    if "q_ref" in kept:
        found["joint"] = [model.velocities[i] for i in arm.driven]
    return found


def bent_far(model: Model, result: "Dataset", x: Array) -> str:
    """Return a message about the first link in one piece that bends beyond half its length, or "".

    x are states (times, layout.size). Small-deflection shapes are not valid beyond that. No other check finds the
    error, because the energy is consistent with the shapes.
    """
    common = model.of_arm(Common)
    if "deflection" not in result.variables or not common.bending:
        return ""
    q = local(model.arm, x[:, : model.nq])
    outside = {link.name: i for i, link in common.sliding}
    for k, link in common.bending:
        away = np.linalg.norm(result.variables["deflection"].values[:, k, 1:], axis=-1)
        whole = model.number(f"{link.name}.length", link.body.length)
        length = q[:, outside[link.name]] if link.name in outside else np.full(len(away), whole)
        far = away > FAR * length
        if far.any():
            first = int(np.argmax(far))
            where = (
                f"link {link.name!r} bends by {away[first]:.3g} m, {away[first] / length[first]:.0%} of its length, "
                f"at t = {float(result.time[first]):.4g} s"
            )
            advice = (
                "; use segments, such as segments=4, or check the units"
                if isinstance(link.body, Beam) and not outside
                else ""
            )
            return f"{where}; the small-deflection model is not valid there{advice}"
    return ""


def dataset(
    model: Model,
    drive: Block,
    reference: Reference | None,
    layout: Layout,
    t: Array,
    x: Array,
    statistics: dict,
    keep: tuple[str, ...] | None,
    exogenous: ExogenousInputs,
    p: Array | None = None,
    sensitivities: tuple[Data, dict[str, Any]] = ({}, {}),
) -> "Dataset":
    """Return the result of a run with states x (times, layout.size) at times t.

    If parameters change during the run, p has a row for each time. Sensitivities are further variables, and the
    coordinates of their dimension.
    """
    arm, common = model.arm, model.of_arm(Common)
    kept = kept_of(keep, reference, layout.own, layout.exogenous, arm.free, len(arm.cables))
    found, audit = variables(model, drive, reference, layout, t, x, kept, exogenous, p)
    apart = bool(arm.quaternions)
    data: Data = {name: (dimensions(name, apart), values, {"units": UNITS[name]}) for name, values in found.items()}
    data |= sensitivities[0]
    if drive.records:
        sizes = np.cumsum([len(each.signals) for each in drive.records])
        w = exogenous.output(model, t, x[:, layout.q], x[:, layout.qd])
        columns = np.split(drive.recorded(t, layout.parts(x, w)), sizes[:-1], axis=1)
        for each, seen in zip(drive.records, columns, strict=True):
            data[each.name] = (("time", f"{each.name}_signal"), seen, {"units": each.unit})
    signals = {f"{each.name}_signal": list(each.signals) for each in drive.records} | sensitivities[1]
    result = common.dataset(data, (kept, signals), t, lambda: coordinates(model, t, kept) | signals)
    attributes = {
        "title": f"{arm.name}: simulated motion",
        "arm": common.canonical,
        "input_description": drive.described(),
        "rotor_convention": common.rotors,
        **audit,
        "group_velocity_ratio": group_velocity_ratio(model, x[:, layout.q], x[:, layout.qd]),
        "flexarm_version": __version__,
        **statistics,
    }
    if model.varied:
        values = zip((each.name for each in model.varied), model.p.tolist(), strict=True)
        attributes["parameters"] = json.dumps(dict(values))
    if drive.records:
        attributes["recorded"] = " ".join(each.name for each in drive.records)
    if keep is not None:
        attributes["kept"] = " ".join(kept)
    result.attrs = {key: escape.attribute(x) if isinstance(x, str) else x for key, x in attributes.items()}
    return result


def faulty(result: "Dataset") -> str:
    """Return a message about the first value in a result that is not finite, or "" if all are finite."""
    for name in result.data_vars:
        values = result.variables[name]
        bad = ~np.isfinite(values.values)
        if bad.any():
            first = tuple(np.argwhere(bad)[0])
            of = "".join(f" of {result[d].values[i]}" for d, i in zip(values.dims[1:], first[1:], strict=True))
            return f"{name}{of} is {values.values[first]} at t = {float(result.time[first[0]]):.6g} s"
    return next((f"{name} is {value}" for name, value in result.attrs.items() if _is_no_number(value)), "")


def _is_no_number(value: Any) -> bool:
    return isinstance(value, float) and not np.isfinite(value)
