"""Result of a study: one dataset of all its runs, with names and units."""

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from flexarm import escape
from flexarm.checks import Fault, refused, shown
from flexarm.files import checked_path, write_whole
from flexarm.simulation import netcdf
from flexarm.studies.designs import Sensitivity, WorstCase
from flexarm.studies.digest import code_version
from flexarm.studies.indices import indices
from flexarm.studies.plan import Plan
from flexarm.studies.schedule import Work
from flexarm.studies.work import Chunk

if TYPE_CHECKING:
    from xarray import Dataset


def assembled(plan: Plan, listed: list[Chunk], work: Work, seconds: float) -> "Dataset":
    """Return all runs in their order. Runs of missing chunks have NaN, and the reason in their status."""
    import xarray as xr

    known = next(iter(work.done.values()), None)
    parts = []
    for chunk in listed:
        part = work.done.get(chunk.key)
        if part is None:
            why = work.failed.get(chunk.key, "not computed")
            part = _missing(known, list(plan.task.outcomes), chunk.runs, why)
        parts.append(
            part.drop_attrs(deep=False).assign(run_lost=("run", np.full(chunk.runs, chunk.key in work.failed)))
        )
    found = xr.concat(parts, "run", data_vars="minimal", coords="minimal", compat="override", join="override")
    for each in plan.varied:
        v = each.variable
        values = np.concatenate([chunk.samples[v.name] for chunk in listed])
        attributes: dict[str, Any] = {"units": v.unit, "long_name": v.meaning or v.name}
        if v.nominal is not None:
            attributes["nominal"] = v.nominal
        found = found.assign_coords({v.name: ("run", values, attributes)})
    for name, (unit, meaning) in plan.task.outcomes.items():
        if name in found:
            found[name].attrs.update(units=unit, long_name=meaning)
    outcomes = [str(name) for name in found if found[name].dims == ("run",) and found[name].dtype.kind == "f"]
    found.attrs = {
        "name": escape.attribute(plan.name),
        "task": escape.attribute(plan.task.title),
        "design": plan.design.type,
        "parameters": plan.names,
        "outcomes": outcomes,
        "runs_found": work.found,
        "runs_lost": int(found.run_lost.sum()),
        "runs_failed": int(sum(found.status.values != "completed")),
        "seconds": seconds,
        "flexarm": code_version(),
        "flexarm_study": plan.identity(),
    }
    if isinstance(plan.design, Sensitivity):
        found = indices(found, outcomes, plan.names, plan.design.confidence, plan.design.seed)
        found.attrs["confidence"] = plan.design.confidence
    if isinstance(plan.design, WorstCase):
        found.attrs |= {
            "outcome": plan.design.outcome,
            "worst": plan.design.worst,
            "worst_run": _worst(found, plan.design),
        }
    return found


def save(result: "Dataset", path: str | PathLike[str]) -> Path:
    """Write a study's result as NetCDF and return its path. Raises `DescriptionError` if it cannot be written."""
    content = netcdf.image(result)
    return write_whole(checked_path(path), content, netcdf.seal(content), durable=True)


def load(path: str | PathLike[str]) -> "Dataset":
    """Return the result that `save` wrote. Raises `DescriptionError` if the file does not exist or is not such a
    result."""
    found = netcdf.read(path)
    with refused(str(path)):
        checked_study(found)
    return found


def checked_study(result: Any) -> None:
    """Raise `Fault` if the argument is not a study's result."""
    from xarray import Dataset

    if not isinstance(result, Dataset) or not {"outcomes", "parameters", "design", "name"} <= {*result.attrs}:
        raise Fault("result", f"is {shown(result)}; it must be a Dataset, as study gives it")
    for key in ("outcomes", "parameters"):  # a file has one word in place of a list of one
        given = result.attrs[key]
        result.attrs[key] = [given] if isinstance(given, str) else [str(name) for name in given]


def _missing(known: "Dataset | None", outcomes: list[str], runs: int, why: str) -> "Dataset":
    """Return missing runs with the variables of the others."""
    import xarray as xr

    status = ("run", np.array([why] * runs, dtype=object))
    found: Any = {name: ("run", np.full(runs, np.nan)) for name in outcomes}
    if known is None:
        return xr.Dataset(found | {"status": status})
    for name, variable in known.data_vars.items():
        if variable.dims[:1] == ("run",) and name != "status":
            found[name] = (variable.dims, np.full((runs, *variable.shape[1:]), np.nan))
    return xr.Dataset(found | {"status": status}, coords=known.coords)


def _worst(result: "Dataset", design: WorstCase) -> int:
    """Return the number of the worst run, or -1 if none was computed. A failed run is worse than any other."""
    failed = np.flatnonzero([text not in ("completed", "not computed") for text in result.status.values])
    if len(failed):
        return int(failed[0])
    if design.outcome not in result or not np.isfinite(values := result[design.outcome].values).any():
        return -1
    return int(np.nanargmax(values) if design.worst == "largest" else np.nanargmin(values))
