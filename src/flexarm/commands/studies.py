"""Studies: many runs of a scenario."""

import time
import warnings
from concurrent.futures import Executor
from pathlib import Path
from typing import Annotated, Any

import typer

from flexarm import escape
from flexarm.commands.terminal import check_file, check_folder, finished_first, say
from flexarm.errors import DescriptionError, InterruptedRun, SimulationError


def study(
    name: Annotated[str, typer.Argument(metavar="STUDY", help="A bundled one, or path of a .toml file.")],
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path(),
    folder: Annotated[
        Path | None, typer.Option(help="Folder where finished chunks are kept; default NAME.study beside the results.")
    ] = None,
    runs: Annotated[int | None, typer.Option(help="Number of runs; of a sensitivity study, its base.")] = None,
    workers: Annotated[int | None, typer.Option(help="Processes on this machine; default one a core.")] = None,
    scheduler: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler, or the word local for a cluster of this machine.")
    ] = None,
    plot: Annotated[bool, typer.Option(help="Draw a .png beside the .nc file.")] = True,
) -> None:
    """Run a study: writes NAME.nc (NetCDF) and NAME.png, prints a summary.

    Finished chunks are kept. Killed at any moment and started again, it goes on where it was.
    """
    from flexarm.studies.file import load_study

    began = time.perf_counter()
    if workers is not None and scheduler is not None:
        raise DescriptionError("--workers is given beside --scheduler; give one of them")
    chosen = load_study(name)
    try:
        plan = chosen.plan(runs)
    except DescriptionError as error:  # the file was right, so it is the option
        raise DescriptionError(f"--runs: {error}") from None
    stem = out / escape.file_name(chosen.name)
    kept = stem.with_name(stem.name + ".study") if folder is None else folder
    check_folder(out)
    for suffix in (".nc", ".png"):
        check_file(stem.with_name(stem.name + suffix), "--out")
    executor: Executor | str | int | None = scheduler if scheduler is not None else workers
    pressed: list[str] = []
    failure = ""
    with warnings.catch_warnings():
        warnings.simplefilter("always", InterruptedRun)
        show = warnings.showwarning
        warnings.showwarning = lambda message, kind, *rest: (
            pressed.append(str(message)) if issubclass(kind, InterruptedRun) else show(message, kind, *rest)
        )
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
    _summary(result, chosen.description, time.perf_counter() - began, [*written, kept])
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
    """What to say of runs that could not be computed; of those that only came to no good end, nothing."""
    if not (count := int(result.attrs["runs_lost"])):
        return ""
    first = int(result.run_lost.values.argmax())
    at = ", ".join(f"{name} {result[name].values[first]:.5g}" for name in result.attrs["parameters"])
    said = f"{count} of {result.sizes['run']} runs could not be computed"
    return f"{said}; the first, with {at}: {result.status.values[first]}"


def _summary(result: Any, description: str, seconds: float, written: list[Path]) -> None:
    import numpy as np
    from rich.table import Table

    a = result.attrs
    say(f"{a['name']}: {description}" if description else a["name"], style="bold")
    heads = ("outcome", "mean", "deviation", "smallest", "5 %", "median", "95 %", "largest", "without")
    outcomes = Table(*heads, box=None, padding=(0, 2, 0, 0))
    for name in a["outcomes"]:
        y = result[name].values
        unit = result[name].attrs.get("units", "")
        label = f"{name} [{unit}]" if unit else name
        without = f"{(~np.isfinite(y)).sum()}"
        if not len(y := y[np.isfinite(y)]):
            outcomes.add_row(label, *["-"] * 7, without)
            continue
        numbers = (y.mean(), y.std(ddof=1) if len(y) > 1 else 0.0, *np.quantile(y, (0.0, 0.05, 0.5, 0.95, 1.0)))
        outcomes.add_row(label, *(f"{x:.4g}" for x in numbers), without)
    say(outcomes)
    if "first_order" in result:
        for order, words in (("first_order", "alone"), ("total_order", "with the others")):
            say(_indices(result, order, words))
    if int(a.get("worst_run", -1)) >= 0:
        worst = result.isel(run=int(a["worst_run"]))
        at = ", ".join(f"{name} {worst[name].values:.5g}" for name in a["parameters"])
        said = (
            f"{a['outcome']} {float(worst[a['outcome']]):.5g}"
            if worst.status == "completed"
            else str(worst.status.values)
        )
        say(f"worst case: {said} at {at} (run {a['worst_run']})")
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column(style="bold")
    table.add_column()
    count = result.sizes["run"]
    there = int(a["runs_found"])
    table.add_row("runs", f"{count}, {a['design']}" + (f"; {there} were there already" if there else ""))
    if a["runs_failed"]:
        bad = [text for text in result.status.values if text != "completed"]
        table.add_row("without result", f"{len(bad)}, the first: {bad[0]}")
    each = f", {1e3 * seconds / (count - there):.3g} ms a run" if there < count else ""
    table.add_row("took", f"{seconds:.4g} s{each}")
    table.add_row("written", ", ".join(str(path) for path in written))
    say(table)


def _indices(result: Any, order: str, words: str) -> Any:
    """Sobol's indices of one kind as a table, with half the width between their bounds."""
    from rich.table import Table

    table = Table(f"share of the variance {words}", *result.attrs["outcomes"], box=None, padding=(0, 2, 0, 0))
    for parameter in result.attrs["parameters"]:
        cells = []
        for outcome in result.attrs["outcomes"]:
            at = result.sel(outcome=outcome, parameter=parameter)
            half = (float(at[f"{order}_high"]) - float(at[f"{order}_low"])) / 2
            cells.append(f"{float(at[order]):.2f} ±{half:.2f}")
        table.add_row(parameter, *cells)
    return table
