"""Scenarios that are run: simulate, compare."""

import tempfile
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from flexarm import escape
from flexarm.commands.terminal import check_file, check_folder, finished_first, say
from flexarm.errors import DescriptionError, InterruptedRun, SimulationError


def simulate(
    scenario: Annotated[str, typer.Argument(metavar="SCENARIO", help="A bundled one, or path of a .toml file.")],
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path(),
    method: Annotated[str | None, typer.Option(help="Integrator: dop853, radau, lsoda, rk4, auto, ...")] = None,
    step: Annotated[float | None, typer.Option(help="Of the method rk4 [s].")] = None,
    rtol: Annotated[float | None, typer.Option(help="Relative tolerance.")] = None,
    until: Annotated[float | None, typer.Option(help="End of the run [s].")] = None,
    samples: Annotated[int | None, typer.Option(help="Times in the result, both ends included.")] = None,
    plot: Annotated[bool, typer.Option(help="Draw a .png beside the .nc file.")] = True,
) -> None:
    """Run a scenario: writes NAME.nc (NetCDF) and NAME.png, prints a summary and the energy audit.

    Method, step, tolerance, end and samples are the scenario's where they are not given here.
    """
    import time

    from flexarm.scenario import load_scenario

    began = time.perf_counter()
    chosen = load_scenario(scenario)
    solver: dict[str, Any] = {"method": method, "step": step, "rtol": rtol}
    solver = {name: x for name, x in solver.items() if x is not None}
    if method not in (None, chosen.solver.method) and step is None:
        solver["step"] = None  # the scenario's was for its own method
    whole = {name: x for name, x in (("until", until), ("samples", samples)) if x is not None}
    try:
        chosen = chosen.replace(**whole, solver=chosen.solver.replace(**solver))
    except DescriptionError as error:  # the scenario was right, so it is an option
        raise DescriptionError(error.message, field=f"--{error.field.removeprefix('solver.')}") from None
    stem = out / escape.file_name(chosen.name)
    check_folder(out)
    for suffix in (".nc", ".png"):
        check_file(stem.with_name(stem.name + suffix), "--out")
    failure: SimulationError | None = None
    pressed: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("always", InterruptedRun)  # its part is written, and then it is said
        show = warnings.showwarning
        warnings.showwarning = lambda message, kind, *rest: (
            pressed.append(str(message)) if issubclass(kind, InterruptedRun) else show(message, kind, *rest)
        )
        try:
            result: Any = chosen.run()
        except SimulationError as error:
            failure, result = error, error.result
    stopped = pressed[0] if pressed else str(failure or "")
    written, fault = _written(result, stem, plot)
    _summary(result, time.perf_counter() - began, written)
    whole = result.attrs["status"] == "completed"
    kept = f"the {'result' if whole else 'part before'} is in {written[0]}"
    if pressed:
        raise InterruptedRun("; ".join(filter(None, (stopped, fault, kept))))
    if stopped or fault:
        raise SimulationError("; ".join(filter(None, (stopped, fault, kept))), result)


def compare(
    scenarios: Annotated[list[str], typer.Argument(metavar="SCENARIO...", help="Bundled, or paths of .toml files.")],
    after: Annotated[float, typer.Option(help="Time from the arrival to where vibration is measured [s].")] = 0.0,
) -> None:
    """Run scenarios that follow a reference and compare them: settling, overshoot, vibration, torque, energy."""
    from rich.table import Table

    from flexarm.scenario import load_scenario
    from flexarm.simulation.performance import performance

    columns = ("error at arrival", "settling [s]", "overshoot [%]", "residual [mm]", "peak input", "energy [J]")
    table = Table("scenario", *columns, box=None, padding=(0, 2, 0, 0))
    try:
        for name in scenarios:
            chosen = load_scenario(name)
            try:
                found = performance(chosen.run(), after=after)
            except DescriptionError as error:
                raise DescriptionError(f"{name}: {error}") from None
            except SimulationError as error:
                raise SimulationError(f"{name}: {error}", error.result) from None
            numbers = (
                f"{found.error:.3g}",
                "never" if found.settling == float("inf") else f"{found.settling:.3g}",
                f"{100 * found.overshoot:.3g}",
                f"{1e3 * found.residual:.3g}",
                f"{found.peak:.4g}",
                f"{found.energy:.4g}",
            )
            table.add_row(chosen.name, *numbers)
    finally:  # those before one that failed, or before Ctrl-C
        if table.rows:
            say(table)


def _written(result: Any, stem: Path, plot: bool) -> tuple[list[Path], str]:
    """Where result and figure are, and what was wrong with the place they were meant for where they are not there."""
    from flexarm.plots import VARIABLES, draw, save_figure
    from flexarm.simulation.results import save_result

    fault = ""
    with finished_first():
        try:
            written = [save_result(result, stem.with_name(stem.name + ".nc"))]
        except DescriptionError as error:  # a disk that has filled up meanwhile
            fault = str(error)
            try:
                stem = Path(tempfile.mkdtemp(prefix="flexarm-")) / stem.name
                written = [save_result(result, stem.with_name(stem.name + ".nc"))]
            except (DescriptionError, OSError) as again:
                raise SimulationError(f"{fault}; nor can it be kept elsewhere: {again}", result) from None
    if plot and {*VARIABLES} <= {*result.variables}:  # a scenario may keep less than a figure shows
        try:
            written.append(save_figure(draw(result), stem.with_name(stem.name + ".png")))
        except DescriptionError as error:
            fault = fault or str(error)
    return written, fault


def _summary(result: Any, seconds: float, written: list[Path]) -> None:
    import numpy as np
    from rich.table import Table

    a = result.attrs
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column(style="bold")
    table.add_column()
    n = result.sizes["coordinate"]
    table.add_row("arm", f"{a['title'].partition(':')[0]}, {n} coordinates, {result.sizes['input']} inputs")
    table.add_row("input", a["input_description"])
    step = f", fixed step {a['step']:g} s" if a["step"] else f", rtol {a['rtol']:g}, atol {a['atol']:g}"
    table.add_row("solver", f"{a['method']} ({a['method_reason']}){step}")
    table.add_row("time", f"{result.time.values[0]:g} to {result.time.values[-1]:g} s, {result.sizes['time']} samples")
    table.add_row("effort", f"{a['steps']} steps, {a['evaluations']} evaluations")
    parts = f"{a['compile_seconds']:.2f} s compiling, {a['solve_seconds']:.3f} s solving"
    table.add_row("took", f"{parts}, {seconds:.2f} s in all")
    joints = result.coordinate[result.role == "joint"].values.tolist()
    for i, name in enumerate(joints if "q" in result else ()):
        q = result.q.sel(coordinate=name).values
        unit = str(result.unit.sel(coordinate=name).values)
        line = f"{q[0]:.4g} to {q[-1]:.4g} {unit}"
        if "q_ref" in result:
            line += f", off the reference by {np.abs(q - result.q_ref.values[:, i]).max():.3g} at most"
        table.add_row(name, line)
    for i, link in enumerate(result.link.values if "deflection" in result else ()):
        largest = np.linalg.norm(result.deflection.values[:, i], axis=-1).max()
        if largest > 0:
            table.add_row(f"{link} tip", f"deflection {1e3 * largest:.4g} mm at most")
    last = result.isel(time=-1)
    energies = [name for name in ("kinetic", "potential", "work", "dissipated") if name in result]
    if energies:
        table.add_row("energy at end", ", ".join(f"{name} {float(last[name]):.6g} J" for name in energies))
    if "energy_drift" in a:
        table.add_row("energy audit", f"largest drift {a['energy_drift']:.2e} of {a['energy_scale']:.4g} J")
    if "kept" in a:
        table.add_row("kept", a["kept"].replace(" ", ", ") or "nothing")
    table.add_row("written", ", ".join(str(path) for path in written))
    say(f"{a['name']}: {a['status']}", style="bold")
    say(table)
