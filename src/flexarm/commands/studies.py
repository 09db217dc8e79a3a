"""Command that runs a study: study."""

import math
import time
from concurrent.futures import Executor
from pathlib import Path
from typing import Annotated, Any

import typer

from flexarm import escape
from flexarm.checks import counted
from flexarm.commands.completion import bundled_or_file
from flexarm.commands.document import Json, show_document
from flexarm.commands.terminal import check_file, check_folder, finished_first, interruptions, say, table
from flexarm.errors import DescriptionError, InterruptedRun, SimulationError, errors_in


def study(
    name: Annotated[
        str,
        typer.Argument(
            metavar="STUDY",
            help="Name of a bundled study, or path of a .toml file.",
            autocompletion=bundled_or_file("study"),
        ),
    ],
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path(),
    folder: Annotated[
        Path | None, typer.Option(help="Folder for finished chunks; default NAME.study beside the results.")
    ] = None,
    runs: Annotated[
        int | None, typer.Option(help="Number of runs; of a sensitivity study, at most this number.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(help="Number of processes on this machine; default one per core.")
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler, or local for a Dask cluster on this machine.")
    ] = None,
    plot: Annotated[bool, typer.Option(help="Draw a .png beside the .nc file.")] = True,
    json: Json = False,
) -> None:
    """Run a study, and print a summary.

    Writes NAME.nc and NAME.png. Finished chunks are stored. A study that was interrupted at any moment continues when
    it is started again.
    """
    from flexarm.studies.file import load_study

    began = time.perf_counter()
    if workers is not None and scheduler is not None:
        raise DescriptionError("--workers and --scheduler exclude each other; give one of them")
    chosen = load_study(name)
    with errors_in("--runs"):  # the file was valid, so an error is in the option
        plan = chosen.plan(runs)
    stem = out / escape.file_name(chosen.name)
    kept = stem.with_name(stem.name + ".study") if folder is None else folder
    check_folder(out)
    for suffix in (".nc", ".png"):
        check_file(stem.with_name(stem.name + suffix), "--out")
    executor: Executor | str | int | None = scheduler if scheduler is not None else workers
    failure = ""
    with interruptions() as pressed:
        from flexarm.studies.conduct import conduct

        try:
            result: Any = conduct(plan, executor, kept, True)
        except SimulationError as error:
            failure, result = str(error), error.result
    if pressed:
        raise InterruptedRun(pressed[0])
    if failure:
        raise SimulationError(failure, result)
    written = _written(result, stem, plot)
    found = _summary(result, chosen.description, time.perf_counter() - began, [*written, kept])
    if json:
        show_document("study", found)
    else:
        _show_summary(found)
    if said := lost(result):
        raise SimulationError(said, result)


def _written(result: Any, stem: Path, plot: bool) -> list[Path]:
    from flexarm.plots import save_figure
    from flexarm.studies.figure import draw
    from flexarm.studies.result import save

    with finished_first():
        written = [save(result, stem.with_name(stem.name + ".nc"))]
        if plot:
            written.append(save_figure(draw(result), stem.with_name(stem.name + ".png")))
    return written


def lost(result: Any) -> str:
    """Return a message on runs that could not be computed, or "". Runs that failed in the simulation do not count."""
    if not (count := int(result.attrs["runs_lost"])):
        return ""
    first = int(result.run_lost.values.argmax())
    at = ", ".join(f"{name} {result[name].values[first]:.5g}" for name in result.attrs["parameters"])
    said = f"{count} of {counted(result.sizes['run'], 'run')} could not be computed"
    return f"{said}; the first, with {at}: {result.status.values[first]}"


QUANTILES = {"smallest": 0.0, "quantile_5": 0.05, "median": 0.5, "quantile_95": 0.95, "largest": 1.0}
INDICES = ("first_order", "first_order_low", "first_order_high", "total_order", "total_order_low", "total_order_high")


def _summary(result: Any, description: str, seconds: float, written: list[Path]) -> dict[str, Any]:
    """Return the results of a study in numbers, as far as its design has them."""
    a = result.attrs
    bad = [str(text) for text in result.status.values if text != "completed"]
    found = {
        "name": a["name"],
        "description": description,
        "design": a["design"],
        "runs": result.sizes["run"],
        "runs_found": int(a["runs_found"]),
        "runs_failed": int(a["runs_failed"]),
        "first_failure": bad[0] if bad else None,
        "outcomes": [_outcome(name, result[name]) for name in a["outcomes"]],
    }
    if "first_order" in result:
        found["indices"] = [
            {"outcome": outcome, "parameter": parameter}
            | {name: result[name].sel(outcome=outcome, parameter=parameter).values for name in INDICES}
            for parameter in a["parameters"]
            for outcome in a["outcomes"]
        ]
    if int(a.get("worst_run", -1)) >= 0:
        found["worst"] = _worst(result)
    return found | {"seconds": seconds, "written": written}


def _outcome(name: str, values: Any) -> dict[str, Any]:
    """Return statistics of an outcome over the runs that have it, or NaN if none has."""
    import numpy as np

    y = values.values
    without = int((~np.isfinite(y)).sum())
    y = y[np.isfinite(y)]
    numbers = dict.fromkeys(("mean", "deviation", *QUANTILES), np.nan)
    if len(y):
        numbers = {"mean": y.mean(), "deviation": y.std(ddof=1) if len(y) > 1 else 0.0}
        numbers |= zip(QUANTILES, np.quantile(y, list(QUANTILES.values())), strict=True)
    return {"name": name, "unit": values.attrs.get("units", ""), **numbers, "without": without}


def _worst(result: Any) -> dict[str, Any]:
    """Return the worst run: its number, its parameters, and its outcome or the reason why it has none."""
    a = result.attrs
    worst = result.isel(run=int(a["worst_run"]))
    units = {name: worst[name].attrs.get("units", "") for name in (*a["parameters"], a["outcome"]) if name in worst}
    return {
        "run": int(a["worst_run"]),
        "status": str(worst.status.values),
        "outcome": a["outcome"],
        "value": worst[a["outcome"]].values if a["outcome"] in worst else None,
        "unit": units.get(a["outcome"], ""),
        "parameters": [{"name": x, "value": worst[x].values, "unit": units[x]} for x in a["parameters"]],
    }


def _show_summary(found: dict[str, Any]) -> None:
    say(": ".join(filter(None, (found["name"], found["description"]))), style="bold")
    heads = ("outcome", "mean", "deviation", "smallest", "5 %", "median", "95 %", "largest", "without")
    outcomes = table(*heads)
    for each in found["outcomes"]:
        label = f"{each['name']} [{each['unit']}]" if each["unit"] else each["name"]
        numbers = [each[key] for key in ("mean", "deviation", *QUANTILES)]
        there = each["without"] < found["runs"]
        outcomes.add_row(label, *(f"{x:.4g}" if there else "-" for x in numbers), f"{each['without']}")
    say(outcomes)
    if "indices" in found:
        for order, words in ORDERS.items():
            say(_indices(found, order, words))
        if advice := _advice(found):
            say(advice)
    if "worst" in found:
        worst = found["worst"]
        at = ", ".join(f"{each['name']} {each['value']:.5g}" for each in worst["parameters"])
        whole = worst["status"] == "completed"
        said = f"{worst['outcome']} {float(worst['value']):.5g}" if whole else worst["status"]
        say(f"worst case: {said} at {at} (run {worst['run']})")
    facts = table("", "", header=False)
    facts.columns[0].style = "bold"
    count, there = found["runs"], found["runs_found"]
    facts.add_row("runs", f"{count}, {found['design']}" + (f"; {there} were found in the folder" if there else ""))
    if failed := found["runs_failed"]:
        facts.add_row("without result", f"{failed}, the first: {found['first_failure']}")
    each_run = f", {1e3 * found['seconds'] / (count - there):.3g} ms per run" if there < count else ""
    facts.add_row("took", f"{found['seconds']:.4g} s{each_run}")
    facts.add_row("written", ", ".join(str(path) for path in found["written"]))
    say(facts)


ORDERS = {"first_order": "alone", "total_order": "with the others"}
"""Orders of Sobol's indices, with their titles."""

ROUGH, FAIR = 0.2, 0.1
"""Half width of an index's bounds above which more runs are recommended, and the half width that they would give."""


def _half(at: dict[str, Any], order: str) -> float:
    """Return half the width between the bounds of an index."""
    return float(at[f"{order}_high"] - at[f"{order}_low"]) / 2


def _advice(found: dict[str, Any]) -> str:
    """Return a recommendation of more runs if the indices are uncertain, or "". The width falls with the square root
    of the runs."""
    widest = max((half for at in found["indices"] for order in ORDERS if (half := _half(at, order)) == half), default=0)
    if widest <= ROUGH:
        return ""
    factor = 2 ** math.ceil(2 * math.log2(widest / FAIR))
    more = f"with --runs {factor * found['runs']} they would have about ±{widest / math.sqrt(factor):.1g}"
    return f"The shares are uncertain, by up to ±{widest:.2f}; {more}."


def _indices(found: dict[str, Any], order: str, words: str) -> Any:
    """Return Sobol's indices of one order as a table, with half the width between their bounds."""
    outcomes = [each["name"] for each in found["outcomes"]]
    drawn = table(f"share of the variance {words}", *outcomes)
    rows: dict[str, list[str]] = {}
    for at in found["indices"]:
        rows.setdefault(at["parameter"], []).append(f"{float(at[order]):.2f} ±{_half(at, order):.2f}")
    for parameter, cells in rows.items():
        drawn.add_row(parameter, *cells)
    return drawn
