"""The command line: list, show, modes, derive, simulate, compare, papers."""

import os
import sys
import warnings
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from flexarm.errors import DescriptionError, FlexarmError, InterruptedRun, SimulationError

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Serial manipulators whose links and joints bend: described in a file, derived, compiled, simulated.",
    epilog="Errors are one line, with exit status 2.",
)

WIDE = 160
"""Columns of a table where no terminal limits them."""

ArmName = Annotated[str, typer.Argument(metavar="ARM", help="Name of a bundled arm, or path of an arm's .toml file.")]


@app.command("list")
def list_() -> None:
    """List the bundled arms and scenarios."""
    from rich.table import Table

    from flexarm.description.load import bundled, load
    from flexarm.scenario import bundled_scenarios, load_scenario

    for title, names, get in (("arms", bundled(), load), ("scenarios", bundled_scenarios(), load_scenario)):
        table = Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0))
        table.add_column("name", style="bold")
        table.add_column("what it is")
        for name in names:
            table.add_row(name, get(name).description)  # type: ignore[operator]
        _print(table)
    _print(
        "\nNext: flexarm show ARM, flexarm modes ARM, flexarm derive ARM, flexarm simulate SCENARIO; each has --help."
    )


@app.command()
def show(
    arm: ArmName,
    converge: Annotated[
        bool, typer.Option("--converge", help="Tell what one more mode in every direction that has some changes.")
    ] = False,
) -> None:
    """Show an arm: links, coordinates, frequencies, and what its equations cost to evaluate."""
    import numpy as np
    from rich.table import Table

    from flexarm.description.load import load
    from flexarm.model import Model

    model = Model(load(arm))
    described = model.arm
    _print(f"{described.name}: {described.description}\n", style="bold")
    links = Table("link", "joint", "body", "length [m]", "mass [kg]", "modes", box=None, padding=(0, 2, 0, 0))
    for link in described.links:
        counts = getattr(link.body, "counts", {})
        modes = ", ".join(f"{n} {direction}" for direction, n in counts.items() if n)
        kind = link.joint.type + (" elastic" if link.joint.elastic else "")
        mass = link.body.total_mass + link.hub_mass
        links.add_row(link.name, kind, link.body.type, f"{link.body.length:g}", f"{mass:g}", modes or "-")
    _print(links)
    total = sum(link.body.total_mass + link.hub_mass for link in described.links)
    payload = described.payload.mass if described.payload else 0.0
    _print(f"\ntotal mass {total + payload:g} kg, payload {payload:g} kg, gravity {list(described.gravity)} m/s^2")
    units = described.units
    coordinates = ", ".join(f"{c} [{u}]" for c, u in zip(model.coordinates, units, strict=True))
    _print(f"\n{len(units)} coordinates: {coordinates}")
    _print(f"{len(model.inputs)} inputs: {', '.join(model.inputs) or '-'}")
    q = np.array(described.rest)
    _check_inertia(model, q)
    _print("\nnatural frequencies at rest [rad/s]")
    _print(f"  actuators locked: {_numbers(model.frequencies(q))}")
    _print(f"  actuators free:   {_numbers(model.frequencies(q, locked=False))}")
    _print("\noperations of forward dynamics")
    for name, label in (("forward_dynamics", "recursive"), ("forward_dynamics_dense", "dense")):
        facts = model.kernel(name).code.facts
        a, b = facts["multiplications"], facts["additions"]
        _print(f"  {label + ':':10} {a} multiplications, {b} additions, {a + b} in all")
    if converge:
        _show_convergence(described)


def _show_convergence(arm: Any) -> None:
    """What more modes change, as a table."""
    from rich.table import Table

    from flexarm.analysis import convergence

    found = convergence(arm)
    _print("\nwhat more modes change, at rest")
    table = Table("", "now", "with more", "moves by", box=None, padding=(0, 2, 0, 0))
    for column in table.columns[1:]:
        column.justify = "right"
    for row in found.rows:
        table.add_row(*row)
    _print(table)
    for note in found.notes:
        _print(note)


@app.command()
def modes(
    arm: ArmName,
    free: Annotated[bool, typer.Option("--free", help="Let the actuators move; otherwise they are locked.")] = False,
    at: Annotated[
        list[str] | None, typer.Option("--at", metavar="NAME=VALUE", help="A coordinate that is not zero; repeatable.")
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the modes into this .png.")] = None,
) -> None:
    """List the natural modes of an arm about a configuration: frequency, and the coordinates that take part."""
    import numpy as np
    from rich.table import Table

    from flexarm.description.load import load
    from flexarm.model import Model

    model = Model(load(arm))
    q = np.array(model.arm.rest)
    for setting in at or []:
        name, equals, value = setting.partition("=")
        if name not in model.coordinates:
            raise DescriptionError(f"--at {setting}: no coordinate {name!r}; there are {', '.join(model.coordinates)}")
        try:
            q[model.coordinates.index(name)] = float(value)
        except ValueError:
            raise DescriptionError(f"--at {setting}: {value!r} is not a number; write NAME=VALUE") from None
    _check_inertia(model, q)
    omega, shapes = model.modes(q, locked=not free)
    table = Table("mode", "[rad/s]", "[Hz]", "coordinates, relative", box=None, padding=(0, 2, 0, 0))
    for i, w in enumerate(omega):
        shape = shapes[:, i] / np.abs(shapes[:, i]).max()
        shape = shape * np.sign(shape[np.argmax(np.abs(shape))])
        leading = [j for j in np.argsort(-np.abs(shape)) if abs(shape[j]) >= 0.05][:5]
        parts = ", ".join(f"{shape[j]:+.2f} {model.coordinates[j]}" for j in leading)
        table.add_row(str(i + 1), f"{w:.5g}", f"{w / (2 * np.pi):.5g}", parts)
    _print(f"{model.arm.name}, actuators {'free' if free else 'locked'}, q = {_numbers(q)}\n", style="bold")
    _print(table)
    if plot is not None:
        from flexarm.plots import draw_modes, save_figure

        _print(f"\nwritten: {save_figure(draw_modes(model, q, locked=not free), plot)}")


@app.command()
def derive(
    arm: ArmName,
    latex: Annotated[Path | None, typer.Option(help="Write a LaTeX document.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write a Markdown document.")] = None,
    python: Annotated[Path | None, typer.Option(help="Write a Python module that needs NumPy.")] = None,
    c: Annotated[Path | None, typer.Option(help="Folder for C sources: header, function, test.")] = None,
    matlab: Annotated[Path | None, typer.Option(help="Folder for a MATLAB or Octave function.")] = None,
    numbers: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME[=VALUE]", help="A parameter that shall be a number; patterns; repeatable."),
    ] = None,
    part: Annotated[
        list[str] | None,
        typer.Option("--part", help="Only this part: M, D, damping, U, G, B, bias, energy, tip, ...; repeatable."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Go on where the closed forms will be very large.")] = False,
) -> None:
    """Derive the equations of motion in closed form; print them, or write them as a document or as source code."""
    import time

    from flexarm.closed_forms.equations import equations
    from flexarm.description.load import load
    from flexarm.simulation.results import write_whole

    began = time.perf_counter()
    found = equations(load(arm), dict(map(_setting, numbers or [])), however_large=yes)
    asked = {"--latex": latex, "--markdown": markdown, "--python": python}
    for option, path in asked.items():
        if path is not None:
            _check_folder(path.parent, option)
            if path.is_dir():
                raise DescriptionError(f"{option} {path}: {path} is a folder")
            if [*asked.values()].count(path) > 1:
                raise DescriptionError(f"{option} {path}: two documents would be written there")
    for option, folder in (("--c", c), ("--matlab", matlab)):
        if folder is not None:
            _check_folder(folder, option)
    texts = {latex: found.latex, markdown: found.markdown, python: found.python}
    files = {path: make(part or None) for path, make in texts.items() if path is not None}
    if c is not None:
        files |= {c / name: text for name, text in found.c(part or None).items()}
    if matlab is not None:
        text = found.matlab(part or None)
        files[matlab / f"{found.identifier}.m"] = text
    if files:
        for path, text in files.items():
            write_whole(path, partial(_write_text, text))
        if note := found.without_closed_forms:
            _print(note)
        _print(f"written: {', '.join(map(str, files))}; {time.perf_counter() - began:.2f} s")
    else:
        _print(found.text(part or None), style=None)


def _setting(text: str) -> tuple[str, float | None]:
    name, equals, value = text.partition("=")
    try:
        return name, float(value) if equals else None
    except ValueError:
        raise DescriptionError(f"--set {text}: {value!r} is not a number; write NAME or NAME=VALUE") from None


@app.command()
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
    stem = out / "".join("-" if c in '/\\:*?"<>|' else c for c in chosen.name)
    _check_folder(out)
    failure: SimulationError | None = None
    result: Any
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            result = chosen.run()
        except SimulationError as error:
            failure, result = error, error.result
    others = (
        warning.message for warning in told if not issubclass(warning.category, InterruptedRun)
    )  # that is said below
    for message in dict.fromkeys(map(str, others)):
        print(f"flexarm: warning: {message}", file=sys.stderr)
    written = _write(result, stem, plot)
    _summary(result, time.perf_counter() - began, written)
    if failure is not None:
        _fail(f"{failure}; the part before is in {written[0]}")
    if result.attrs["status"] == "interrupted":
        _fail(f"interrupted at t = {float(result.time[-1]):.6g} s; the part before is in {written[0]}", status=130)


@app.command()
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
    for name in scenarios:
        chosen = load_scenario(name)
        try:
            found = performance(chosen.run(), after=after)
        except DescriptionError as error:
            raise DescriptionError(f"{name}: {error}") from None
        numbers = (
            f"{found.error:.3g}",
            "never" if found.settling == float("inf") else f"{found.settling:.3g}",
            f"{100 * found.overshoot:.3g}",
            f"{1e3 * found.residual:.3g}",
            f"{found.peak:.4g}",
            f"{found.energy:.4g}",
        )
        table.add_row(chosen.name, *numbers)
    _print(table)


def _check_folder(folder: Path, option: str = "--out") -> None:
    """Before a long run rather than after it: results can be written there."""
    present = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not present.is_dir():
        raise DescriptionError(f"{option} {folder}: {present} is not a folder")
    if not os.access(present, os.W_OK | os.X_OK):
        raise DescriptionError(f"{option} {folder}: {present} cannot be written to")


def _check_inertia(model: Any, q: Any) -> None:
    from flexarm.model.linear import without_inertia

    if fault := without_inertia(model, q):
        raise DescriptionError(f"arm {model.arm.name!r}: {fault}")


@app.command()
def papers(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[PAPER]", help="theodore-ghosal, lin-lewis, subudhi-morris or mohan-saha."),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the figures and the tables.")] = Path("papers"),
) -> None:
    """Reproduce the four papers (or one): draws their figures, prints each claim beside what comes out here."""
    import time

    from flexarm.papers import papers
    from flexarm.papers.tables import counted, details, markdown, overview
    from flexarm.simulation.results import write_whole

    for paper in papers(name):
        began = time.perf_counter()
        _print(f"{paper.title}\n", style="bold")
        parts = paper.reproduce(out)
        _print(overview(parts))
        _print(details(parts))
        path = write_whole(out / f"{paper.name}.md", partial(_write_text, markdown(parts)))
        _print(f"{counted(parts)}; {time.perf_counter() - began:.1f} s; figures and {path.name} in {out}\n")


def _write_text(text: str, path: str) -> None:
    Path(path).write_text(text, encoding="utf-8")


def _write(result: Any, stem: Path, plot: bool) -> list[Path]:
    from flexarm.simulation.results import save_result

    written = [save_result(result, stem.with_name(stem.name + ".nc"))]
    if plot:
        from flexarm.plots import draw, save_figure

        written.append(save_figure(draw(result), stem.with_name(stem.name + ".png")))
    return written


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
    for i, name in enumerate(joints):
        q = result.q.sel(coordinate=name).values
        unit = str(result.unit.sel(coordinate=name).values)
        line = f"{q[0]:.4g} to {q[-1]:.4g} {unit}"
        if "q_ref" in result:
            line += f", off the reference by {np.abs(q - result.q_ref.values[:, i]).max():.3g} at most"
        table.add_row(name, line)
    for i, link in enumerate(result.link.values):
        largest = np.linalg.norm(result.deflection.values[:, i], axis=-1).max()
        if largest > 0:
            table.add_row(f"{link} tip", f"deflection {1e3 * largest:.4g} mm at most")
    last = result.isel(time=-1)
    balance = " ".join(f"{name} {float(last[name]):.6g} J," for name in ("kinetic", "potential", "work", "dissipated"))
    table.add_row("energy at end", balance.rstrip(","))
    table.add_row("energy audit", f"largest drift {a['energy_drift']:.2e} of {a['energy_scale']:.4g} J")
    table.add_row("written", ", ".join(str(path) for path in written))
    _print(f"{a['name']}: {a['status']}", style="bold")
    _print(table)


def _numbers(values: Any) -> str:
    return " ".join(f"{x:.5g}" for x in values) or "-"


def _print(thing: Any, style: str | None = None) -> None:
    from rich.console import Console

    wide = None if sys.stdout.isatty() else WIDE
    console = Console(highlight=False, markup=False, width=wide)
    console.print(thing, soft_wrap=not console.is_terminal and isinstance(thing, str), style=style)


def _fail(message: str, status: int = 2) -> NoReturn:
    print("flexarm: " + " ".join(message.split()), file=sys.stderr)
    raise SystemExit(status)


def main() -> None:
    """Entry point: every error a user can cause is one line on stderr and exit status 2."""
    usage: Any = typer.BadParameter.__mro__[2]  # ClickException, of click or of typer's own copy of it
    try:
        status = app(sys.argv[1:] or ["--help"], standalone_mode=False)
    except FlexarmError as error:
        _fail(str(error))
    except usage as error:
        _fail(error.format_message())
    except (typer.Abort, KeyboardInterrupt):
        _fail("interrupted", status=130)
    if status == 130:  # typer has caught a Ctrl-C itself
        _fail("interrupted", status)
    raise SystemExit(status if isinstance(status, int) else 0)


if __name__ == "__main__":
    main()
