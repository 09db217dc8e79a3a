"""Result of an ensemble: a dataset with a dimension `run`, and an energy balance of every run."""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from flexarm import escape
from flexarm.arrays import Array
from flexarm.checks import counted
from flexarm.simulation import balance
from flexarm.simulation.common import Common
from flexarm.simulation.dataset import PIECE, UNITS, by_pieces, coordinates, observed, supplied, tensions, with_rows
from flexarm.simulation.ensemble_runs import Asked, Group, Runs
from flexarm.simulation.momenta import acting, base_turn, quaternion_drift
from flexarm.simulation.momenta import kept as kept_momenta
from flexarm.simulation.results import (
    AUDIT,
    MOMENTA,
    OVER,
    OVER_UNIT,
    SENSITIVE,
    dimensions,
    sensitivity,
)
from flexarm.trajectory import Reference
from flexarm.trajectory.reference import reference_function
from flexarm.version import __version__

if TYPE_CHECKING:
    from xarray import Dataset


RUN = ("run",)


def dataset(
    runs: Runs,
    groups: Sequence[Group],
    asked: Asked,
    kept: tuple[str, ...],
    references: Sequence[Reference | None],
    first: int,
    attributes: dict[str, Any],
) -> "Dataset":
    """Return the kept variables of all groups as a dataset, in which runs are numbered from `first`.

    references : one for each of `runs.drives`
    """
    import xarray as xr

    from flexarm.simulation import labels  # noqa: F401  (the accessor of results)

    model, arm, t = runs.model, runs.model.arm, asked.times
    parts = [_variables(runs, group, asked, kept, references) for group in groups]
    data: dict[str, Any] = {}
    for name in kept:
        values = _together([part[0][name] for part in parts], groups, len(runs))
        data[name] = ((*RUN, *dimensions(name, bool(arm.quaternions))), values, {"units": UNITS[name]})
    for each in runs.records:
        over = (*RUN, "time", f"{each.name}_signal")
        values = _together([part[0][each.name] for part in parts], groups, len(runs))
        data[each.name] = (over, values, {"units": each.unit})
    if asked.sensitive is not None:
        for name in (each for each in SENSITIVE if each in kept):
            values = _together([group.derivatives[sensitivity(name)] for group in groups], groups, len(runs))
            units = {"units": f"({UNITS[name]}) / {OVER_UNIT}"}
            data[sensitivity(name)] = ((*RUN, *dimensions(name, bool(arm.quaternions)), OVER), values, units)
    audited = bool({*AUDIT} & {*kept})
    if audited:
        data["energy_drift"] = (RUN, _together([part[1] for part in parts], groups, len(runs)))
    for name in parts[0][2]:
        data[name] = (RUN, _together([part[2][name] for part in parts], groups, len(runs)))
    for name in ("known", "steps", "evaluations"):
        data[name] = (RUN, _together([getattr(group, name) for group in groups], groups, len(runs)))
    for name, attribute in (("status", "status"), ("method", "methods"), ("method_reason", "reasons")):
        data[name] = (RUN, _texts([getattr(group, attribute) for group in groups], groups, len(runs)))
    data["time_reached"] = (RUN, t[data.pop("known")[1] - 1], {"units": "s"})
    if runs.p is not None:
        data["p"] = (("run", "parameter"), runs.p)
    coords = {"run": np.arange(first, first + len(runs)), **coordinates(model, t, kept)}
    if runs.p is not None:
        coords["parameter"] = [each.name for each in model.varied]
    coords |= {f"{each.name}_signal": list(each.signals) for each in runs.records}
    if asked.sensitive is not None and {*SENSITIVE} & {*kept}:
        coords |= asked.sensitive.coordinates()
    described = sorted({drive.described() for drive in runs.drives})
    if runs.levels is not None:
        described = ["constant, one value for each run"]
    others = f", and {counted(len(described) - 1, 'other')}" if len(described) > 1 else ""
    about = {
        "title": f"{arm.name}: {len(runs)} simulated motions",
        "arm": model.of_arm(Common).canonical,
        "input_description": described[0] + others,
        "flexarm_version": __version__,
        **attributes,
    }
    if runs.records:
        about["recorded"] = " ".join(each.name for each in runs.records)
    about = {key: escape.attribute(x) if isinstance(x, str) else x for key, x in about.items()}
    return xr.Dataset(data, coords=coords, attrs=about)


def _texts(parts: Sequence[Sequence[str]], groups: Sequence[Group], count: int) -> Array:
    """Return the texts of all groups in the order of the runs. There are far fewer different texts than runs."""
    different = sorted({*chain.from_iterable(parts)})
    kept_as = np.array([escape.attribute(text) for text in different], dtype=str)
    if len(different) == 1:
        return np.full(count, kept_as[0])
    place = {text: i for i, text in enumerate(different)}
    found = np.empty(count, dtype=np.int64)
    for part, group in zip(parts, groups, strict=True):
        found[group.indices] = [place[text] for text in part]
    return kept_as[found]


def _together(parts: Sequence[Array], groups: Sequence[Group], count: int) -> Array:
    """Return the values of all groups in the order of the runs, without a copy if there is one group."""
    if len(parts) == 1:
        return parts[0]
    found = np.empty((count, *parts[0].shape[1:]), dtype=parts[0].dtype)
    for part, group in zip(parts, groups, strict=True):
        found[group.indices] = part
    return found


def _variables(
    runs: Runs, group: Group, asked: Asked, kept: tuple[str, ...], references: Sequence[Reference | None]
) -> tuple[dict[str, Array], Array, dict[str, Array]]:
    """Return the kept variables (G, times, ...), the relative energy drift of each run, and drifts of a free base.

    The drifts of a free base are those of its momenta and of its quaternion's length. Drifts of momenta are NaN where
    an external load acts.
    """
    layout, x, t, links = group.layout, group.x, asked.times, len(runs.model.arm.links)
    count, m = len(x), len(runs.model.inputs)
    found: dict[str, Array] = {name: x[:, :, getattr(layout, name)] for name in ("q", "qd", "work", "dissipated")}
    drift = np.zeros(count)
    if {"u", "power", *MOMENTA} & {*kept}:
        found["u"] = _inputs(runs, group, asked)
    rows = x.reshape(count * len(t), layout.size)
    motion = np.hstack([rows[:, layout.motion], rows[:, layout.s]]) if layout.own else rows[:, layout.motion]
    found["drive_state"] = x[:, :, layout.s]
    if layout.exogenous and {"w", "power", "tension", *MOMENTA} & {*kept}:
        found["w"] = np.array([_acting(runs, group, i, t) for i in range(count)])
    if "tension" in kept:
        acting = found.get("w", np.empty((*x.shape[:2], 0)))
        pulled = (tensions(runs.at(r), layout, x[i], acting[i], p) for i, r, p in _parameters(group))
        found["tension"] = np.array([*pulled]).reshape(count, len(t), -1)
    seen = observed(runs.model, motion, kept, _evaluate(runs, group, motion, len(t)))
    shape = (count, len(t))
    with np.errstate(all="ignore"):
        if "tip" in seen:
            found["tip"] = seen["tip"].reshape(*shape, 3)
        if "deflections" in seen:
            both = seen["deflections"].reshape(*shape, links, 6)
            found |= {"deflection": both[..., :3], "tip_angle": both[..., 3:]}
        if "rates" in seen:
            found["power"] = _supplied(runs, group, x, found["u"], found.get("w"), seen["rates"].reshape(*shape, m))
        if "energy" in seen:
            energy, work, dissipated = seen["energy"].reshape(*shape, 2), found["work"], found["dissipated"]
            kinetic, potential = energy[..., 0], energy[..., 1]
            error = kinetic + potential
            error -= work
            error += dissipated
            error -= error[:, :1].copy()
            scale = np.zeros(count)
            some = max(1, PIECE // len(t))  # so that memory does not grow with the number of runs
            for piece in (slice(j, j + some) for j in range(0, count, some)):
                known = np.arange(len(t)) < group.known[piece, None]
                e = (
                    np.abs(potential[piece] - potential[piece, :1])
                    + kinetic[piece]
                    + np.abs(work[piece])
                    + dissipated[piece]
                )
                scale[piece] = np.max(np.where(known, e, 0.0), axis=1)
                drift[piece] = np.max(np.where(known, np.abs(error[piece]), 0.0), axis=1)
            drift = np.where(scale > 0, drift / np.where(scale > 0, scale, 1.0), 0.0)
            group.off = _off(group, asked, drift, scale, kinetic, potential)
            found |= {"kinetic": kinetic, "potential": potential, "energy_error": error}
    drifts = _drifts(runs, group, t, found, seen.get("momenta"))
    if "base_turn" in kept:
        found["base_turn"] = np.full((*shape, 3), np.nan)
        for turn, q, n in zip(found["base_turn"], found["q"], group.known, strict=True):
            turn[:n] = base_turn(q[:n])
    if "q_ref" in kept:
        found["q_ref"] = _wanted(runs, group, asked, references)
    found = {name: found[name] for name in kept}
    if runs.records:
        ends = np.cumsum([len(each.signals) for each in runs.records])
        columns = np.split(_recorded(runs, group, asked), ends[:-1], axis=2)
        found |= {each.name: column for each, column in zip(runs.records, columns, strict=True)}
    # machine code computes numbers also for rows without a state
    for i in np.flatnonzero(group.known < len(t)).tolist():
        for values in found.values():
            values[i, group.known[i] :] = np.nan
    _judge(group, found)
    return found, drift, drifts


def _off(group: Group, asked: Asked, drift: Array, scale: Array, kinetic: Array, potential: Array) -> Array:
    """Return the positions of completed runs whose energy balance is off.

    A method with numerical damping gives none.
    """
    if asked.radius is not None and asked.radius < 1.0:
        return np.empty(0, dtype=int)
    found = []
    for i in np.flatnonzero(drift > balance.limit(asked.rtol)):
        size = float((kinetic[i] + np.abs(potential[i])).max())
        fastest = float(np.abs(group.x[i, :, group.layout.qd]).max(initial=0.0))
        judged = drift[i], scale[i], size, fastest, asked.rtol, asked.atol
        if group.status[i] == "completed" and balance.is_off(*judged):
            found.append(i)
    return np.array(found, dtype=int)


def tally(runs: Runs, groups: Sequence[Group], asked: Asked, drifts: Array, first: int, found: balance.Tally) -> None:
    """Count the runs whose energy balance is off. Runs are numbered from `first`; drifts are those of all runs (N,)."""
    for group in groups:
        which = group.indices[group.off]
        computed = [runs.drive(r).computed or runs.exogenous(r).computed for r in which]
        advice = [balance.advice(group.step, asked.rtol, each) for each in computed]
        found.add(first + which, drifts[which], advice)


def _drifts(runs: Runs, group: Group, times: Array, found: dict[str, Array], momenta: Array | None) -> dict[str, Array]:
    """Return the drifts (G,) of the momenta of runs on a free base, and of the lengths of quaternions."""
    arm = runs.model.arm
    if not arm.quaternions:
        return {}
    known = [found["q"][i, :k] for i, k in enumerate(group.known)]
    drifts = {"quaternion_drift": np.array([quaternion_drift(arm, q) for q in known])}
    if momenta is None:
        return drifts
    both = momenta.reshape(*found["q"].shape[:2], 6)
    found |= {"momentum": both[..., :3], "angular_momentum": both[..., 3:]}
    drifts |= {f"{name}_drift": np.full(len(known), np.nan) for name in MOMENTA}
    for i, q in enumerate(known):
        r, n = group.indices[i], len(q)
        model, w = runs.at(r), found["w"][i, :n] if "w" in found else np.empty((n, 0))
        if not acting(
            model, runs.drive(r), runs.exogenous(r), float(times[n - 1]), found["u"][i, :n], w, group.p is not None
        ):
            own = kept_momenta(model, q, found["qd"][i, :n], both[i, :n])
            for name in MOMENTA:
                drifts[f"{name}_drift"][i] = own[f"{name}_drift"]
    return drifts


def _acting(runs: Runs, group: Group, i: Any, t: Array) -> Array:
    """Return the exogenous inputs (times, k) of a run, with NaN where the state is unknown."""
    layout, known = group.layout, group.known[i]
    found, x = np.full((len(t), layout.exogenous), np.nan), group.x[i, :known]
    found[:known] = runs.acting(group.indices[i], t[:known], x[:, layout.q], x[:, layout.qd])
    return found


def _supplied(runs: Runs, group: Group, x: Array, u: Array, w: Array | None, rates: Array) -> Array:
    """Return the power of the inputs and of external loads (G, times)."""
    if runs.model.arm.plain:
        return np.einsum("rti,rti->rt", u, rates)  # type: ignore[no-any-return]
    acting = np.empty((*x.shape[:2], 0)) if w is None else w
    return np.array(
        [
            supplied(runs.at(r), runs.drive(r), group.layout, x[i], u[i], acting[i], rates[i], p)
            for i, r, p in _parameters(group)
        ]
    )


def _evaluate(runs: Runs, group: Group, rows: Array, times: int) -> Any:
    """Return a function that evaluates a quantity at some rows, each with its run's parameters, or None."""
    if group.p is not None:
        return with_rows(runs.model, rows, group.p.reshape(len(rows), -1))
    if runs.p is None:
        return None
    p = runs.p[group.indices]

    def value(name: str, i: slice, columns: int) -> Array:
        kernel = runs.model.kernel(name)
        x = rows[i, :columns]
        of = np.arange(i.start, i.start + len(x)) // times
        first = of[0]
        w = kernel.constants_of(p[first : of[-1] + 1])[of - first]
        return kernel.many_states([np.ascontiguousarray(x), w])[0]

    return value


def _parameters(group: Group) -> Iterator[tuple[int, Any, Array | None]]:
    """Yield the position and the index of each run, and its parameters (times, k) if they change."""
    for i, r in enumerate(group.indices):
        yield i, r, None if group.p is None else group.p[i]


def _inputs(runs: Runs, group: Group, asked: Asked) -> Array:
    """Return u (G, times, m), with NaN where the state is unknown."""
    if group.held is not None:
        return group.held[..., : len(runs.model.inputs)]
    t, x, layout, model = asked.times, group.x, group.layout, runs.model
    m, u = len(model.inputs), None
    if runs.levels is not None:
        known = np.arange(len(t)) < group.known[:, None]
        return np.where(known[..., None], runs.levels[group.indices][:, None], np.nan)
    for of in np.unique(which := runs.which[group.indices]):
        drive, members = runs.drives[of], np.flatnonzero(which == of)
        of_time = drive.batched and not drive.of_state
        none = np.zeros((len(t), layout.nq))
        if of_time:
            value = drive.output(model, t, none, none, none[:, :0])
            if len(members) == len(x) and (group.known == len(t)).all():
                return np.broadcast_to(value, (len(x), *value.shape))  # the same for all runs, so stored once
        u = np.full((len(x), len(t), m), np.nan) if u is None else u
        for i in members:
            known = group.known[i]
            if of_time:
                u[i, :known] = value[:known]
                continue
            own, rows = runs.at(group.indices[i]), x[i, :known]
            parts = layout.parts(rows, _acting(runs, group, int(i), t)[:known])
            u[i, :known] = drive.applied(own, t[:known], parts)
    assert u is not None
    return u


def _recorded(runs: Runs, group: Group, asked: Asked) -> Array:
    """Return the recorded signals of the controllers (G, times, k), with NaN where the state is unknown."""
    if group.held is not None:
        return group.held[..., len(runs.model.inputs) :]
    t, width = asked.times, sum(len(each.signals) for each in runs.records)
    found = np.full((len(group.x), len(t), width), np.nan)
    for of in np.unique(which := runs.which[group.indices]):
        members = np.flatnonzero(which == of)
        together = max(1, PIECE // (len(t) * (group.x.shape[2] + width)))
        for i in range(0, len(members), together):  # evaluating many runs together traces the law once
            some = members[i : i + together]
            x = group.x[some].reshape(len(some) * len(t), -1)
            w = np.zeros((len(x), group.layout.exogenous))  # not visible to control laws
            seen = runs.drives[of].recorded(np.tile(t, len(some)), group.layout.parts(x, w))
            found[some] = seen.reshape(len(some), len(t), width)
    return found


def _wanted(runs: Runs, group: Group, asked: Asked, references: Sequence[Reference | None]) -> Array:
    """Return the references (G, times, joints)."""
    joints, found = len(runs.model.arm.driven), {}
    q_ref = np.full((len(group.indices), len(asked.times), joints), np.nan)
    for i, r in enumerate(group.indices):
        of, known = runs.which[r], group.known[i]
        reference = references[of]
        if reference is not None:
            if id(reference) not in found:
                function = reference_function(reference)
                found[id(reference)] = by_pieces(lambda i: function(asked.times[i]), len(asked.times), joints, 0)  # noqa: B023
            q_ref[i, :known] = found[id(reference)][:known]
    return q_ref


def _judge(group: Group, found: dict[str, Array]) -> None:
    """Set the status of runs that reached their end but contain values that are not finite."""
    ended = group.known == group.x.shape[1]
    for name, values in found.items():
        size = max(1, PIECE // max(1, values[0].size))
        for i in range(0, len(values), size):
            part = values[i : i + size]
            bad = ~np.isfinite(part.reshape(len(part), -1)).all(axis=1) & ended[i : i + size]
            for r in i + np.flatnonzero(bad):
                if group.status[r] == "completed" and name != "q_ref":
                    group.status[r] = f"the motion is complete, but {name} is not finite"
