"""Commands that run scenarios: simulate, compare."""

import shlex
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from flexarm import escape
from flexarm.checks import counted
from flexarm.commands.completion import ScenarioArgument, bundled_or_file
from flexarm.commands.document import Json, show_document
from flexarm.commands.terminal import check_file, check_folder, finished_first, interruptions, say, say_next, table
from flexarm.errors import DescriptionError, InterruptedRun, SimulationError
from flexarm.simulation.performance import BAND, WITHIN


def simulate(
    scenario: ScenarioArgument,
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path(),
    method: Annotated[str | None, typer.Option(help="Integrator: auto, dop853, radau5, rk4, ...")] = None,
    step: Annotated[float | None, typer.Option(help="Step of a method with fixed steps, such as rk4 [s].")] = None,
    rtol: Annotated[float | None, typer.Option(help="Relative tolerance.")] = None,
    until: Annotated[float | None, typer.Option(help="End of the run [s].")] = None,
    samples: Annotated[int | None, typer.Option(help="Number of times in the result, including both ends.")] = None,
    plot: Annotated[bool, typer.Option(help="Draw a .png beside the .nc file.")] = True,
    view: Annotated[bool, typer.Option(help="Write a page .html in which the arm moves.")] = True,
    figure: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND", help="Also draw NAME-KIND.png, KIND being stroboscope or path (of the tip); repeatable."
        ),
    ] = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Print also the input, the solver and the energy balance in detail.")
    ] = False,
    json: Json = False,
) -> None:
    """Run a scenario, write its result, and print a summary.

    Writes NAME.nc (NetCDF), NAME.png and NAME.html. The summary begins with the motion, the residual vibration and the
    settling time, and ends with the next commands. Method, step, tolerance, end and samples are those of the scenario
    unless they are given here.
    """
    import time

    from flexarm.scenario import load_scenario

    began = time.perf_counter()
    chosen = load_scenario(scenario)
    solver: dict[str, Any] = {"method": method, "step": step, "rtol": rtol}
    solver = {name: x for name, x in solver.items() if x is not None}
    if method not in (None, chosen.solver.method) and step is None:
        solver["step"] = None  # the scenario's step was for its own method
    whole = {name: x for name, x in (("until", until), ("samples", samples)) if x is not None}
    try:
        chosen = chosen.replace(**whole, solver=chosen.solver.replace(**solver))
    except DescriptionError as error:  # the scenario was valid, so the error is in an option
        raise DescriptionError(error.message, field=f"--{error.field.removeprefix('solver.')}") from None
    kinds = _kinds(figure or [], chosen)
    stem = out / escape.file_name(chosen.name)
    check_folder(out)
    for suffix in (".nc", ".png", ".html", *(f"-{kind}.png" for kind in kinds)):
        check_file(stem.with_name(stem.name + suffix), "--out")
    failure: SimulationError | None = None
    with interruptions() as pressed:
        try:
            result: Any = chosen.run()
        except SimulationError as error:
            failure, result = error, error.result
    stopped = pressed[0] if pressed else str(failure or "")
    written, fault = _written(result, stem, plot, view, kinds)
    found = _summary(result, time.perf_counter() - began, written)
    found["next"] = [] if stopped or fault else _next(scenario, chosen, result, found)
    if json:
        show_document("simulate", found)
    else:
        _show_summary(found, verbose)
    whole = result.attrs["status"] == "completed"
    kept = f"the result{'' if whole else ' up to that time'} is in {written[0]}"
    if pressed:
        raise InterruptedRun("; ".join(filter(None, (stopped, fault, kept))))
    if stopped or fault:
        raise SimulationError("; ".join(filter(None, (stopped, fault, kept))), result)


def compare(
    scenarios: Annotated[
        list[str],
        typer.Argument(
            metavar="SCENARIO...",
            help="Names of bundled scenarios, or paths of .toml files.",
            autocompletion=bundled_or_file("scenario"),
        ),
    ],
    after: Annotated[
        float,
        typer.Option(help="Time between the end of the reference and the start of the vibration measurement [s]."),
    ] = 0.0,
    within: Annotated[float, typer.Option(help="Distance within which the tip counts as settled [m].")] = WITHIN,
    json: Json = False,
) -> None:
    """Compare scenarios that follow a reference.

    Runs them, and prints settling times, overshoot, residual vibration, torque and energy of each.
    """
    from flexarm.scenario import load_scenario
    from flexarm.simulation.performance import performance

    rows: list[dict[str, Any]] = []
    try:
        for name in scenarios:
            chosen = load_scenario(name)
            try:
                found = performance(chosen.run(), after=after, within=within)
            except DescriptionError as error:
                raise DescriptionError(f"{name}: {error}") from None
            except SimulationError as error:
                raise SimulationError(f"{name}: {error}", error.result) from None
            rows.append({"scenario": chosen.name, **vars(found)})
    finally:  # those before a failure, or before Ctrl-C
        if rows and json:
            show_document("compare", {"scenarios": rows})
        elif rows:
            _show_comparison(rows)


def _show_comparison(rows: list[dict[str, Any]]) -> None:
    columns = ("error at arrival", "settling [s]", "tip settling [s]", "overshoot [%]", "residual [mm]")
    drawn = table("scenario", *columns, "peak input", "energy [J]")
    for row in rows:
        drawn.add_row(
            row["scenario"],
            f"{row['error']:.3g}",
            *("never" if row[x] == float("inf") else f"{row[x]:.3g}" for x in ("settling", "tip_settling")),
            f"{100 * row['overshoot']:.3g}",
            f"{1e3 * row['residual']:.3g}",
            f"{row['peak']:.4g}",
            f"{row['energy']:.4g}",
        )
    say(drawn)


FIGURES = ("stroboscope", "path")
"""Figures of the option `--figure`."""


def _kinds(asked: list[str], scenario: Any) -> list[str]:
    """Return the requested figures without repetition. Raises `DescriptionError` for one that cannot be drawn."""
    from flexarm.checks import choices, unknown_name

    for kind in asked:
        if kind not in FIGURES:
            raise DescriptionError(unknown_name("--figure is", kind, FIGURES, "it must be", choices(*FIGURES)))
        kept = ("q", "q_ref") if scenario.keep is None else scenario.keep
        if "q" not in kept:
            raise DescriptionError(f"--figure {kind}: the figure needs 'q', which the scenario's keep leaves out")
        if kind == "path" and (scenario.reference is None or "q_ref" not in kept):
            raise DescriptionError("--figure path: the figure needs a reference, and 'q_ref' in the scenario's keep")
    return list(dict.fromkeys(asked))


def _written(result: Any, stem: Path, plot: bool, view: bool, kinds: list[str]) -> tuple[list[Path], str]:
    """Return the paths of result, figures and page, and the error if the intended place was not possible."""
    from flexarm.plots import draw, save_figure
    from flexarm.plots.run import VARIABLES
    from flexarm.simulation.results import save_result

    fault = ""
    with finished_first():
        try:
            written = [save_result(result, stem.with_name(stem.name + ".nc"))]
        except DescriptionError as error:  # the disk is full
            fault = str(error)
            try:
                stem = Path(tempfile.mkdtemp(prefix="flexarm-")) / stem.name
                written = [save_result(result, stem.with_name(stem.name + ".nc"))]
            except (DescriptionError, OSError) as again:
                raise SimulationError(
                    f"{fault}; the result cannot be written to a temporary folder either: {again}", result
                ) from None
    if plot and {*VARIABLES} <= {*result.variables}:  # a scenario may keep fewer variables than a figure needs
        try:
            written.append(save_figure(draw(result), stem.with_name(stem.name + ".png")))
        except DescriptionError as error:
            fault = fault or str(error)
    for kind in kinds:
        from flexarm import plots

        drawn = plots.draw_stroboscope if kind == "stroboscope" else plots.draw_path
        try:
            written.append(save_figure(drawn(result), stem.with_name(f"{stem.name}-{kind}.png")))
        except DescriptionError as error:
            fault = fault or str(error)
    if view and "q" in result:
        from flexarm.pictures.view import viewed

        try:
            written.append(viewed(result).save(stem.with_name(stem.name + ".html")))
        except DescriptionError as error:
            fault = fault or str(error)
    return written, fault


SMALL = 3
"""Largest number of coordinates of an arm whose equations fit on a page."""

MOMENTA = (
    *("momentum_drift", "momentum_scale", "angular_momentum_drift", "angular_momentum_scale"),
    *("momentum_changed_by", "quaternion_drift"),
)
"""Attributes of the momentum balance of an arm on a free base."""

ENERGIES = ("kinetic", "potential", "work", "dissipated")

DRIFTS = {"energy_drift": "energy", "momentum_drift": "momentum"}
"""Relative drifts in the short summary, with the word for each."""


def _summary(result: Any, seconds: float, written: list[Path]) -> dict[str, Any]:
    """Return the results of a run in numbers, as far as the result has them."""
    a = result.attrs
    last = result.isel(time=-1)
    found = {
        "name": a["name"],
        "status": a["status"],
        "arm": a["title"].partition(":")[0],
        "coordinates": result.sizes["coordinate"],
        "inputs": result.sizes["input"],
        "input": a["input_description"],
        "method": a["method"],
        "method_reason": a["method_reason"],
        "step": a["step"] or None,
        "rtol": a["rtol"],
        "atol": a["atol"],
        "start_time": result.time.values[0],
        "end_time": result.time.values[-1],
        "samples": result.sizes["time"],
        "steps": a["steps"],
        "evaluations": a["evaluations"],
        "compile_seconds": a["compile_seconds"],
        "solve_seconds": a["solve_seconds"],
        "seconds": seconds,
        "joints": _joints(result) if "q" in result else [],
        "base": _base(result) if "q" in result and (result.role == "base").any() else None,
        "deflections": _deflections(result) if "deflection" in result else [],
        "performance": _performance(result),
        "energy_at_end": {name: last[name].values for name in ENERGIES if name in result},
    }
    if "energy_drift" in a:
        found |= {"energy_drift": a["energy_drift"], "energy_scale": a["energy_scale"]}
    found |= {name: a[name] for name in MOMENTA if name in a}
    if "kept" in a:
        found["kept"] = a["kept"].split()
    return found | {"written": written}


def _joints(result: Any) -> list[dict[str, Any]]:
    """Return the initial and final value of each joint, and its largest deviation from the reference.

    The value of a ball joint is the angle by which its link is turned.
    """
    import numpy as np

    from flexarm.plots.run import ball_motions

    found = []
    for i, name in enumerate(result.coordinate[result.role == "joint"].values.tolist()):
        q = result.q.sel(coordinate=name).values
        unit = str(result.unit.sel(coordinate=name).values)
        joint = {"name": name, "unit": unit, "start": q[0], "end": q[-1]}
        if "q_ref" in result:
            joint["off_reference"] = np.abs(q - result.q_ref.values[:, i]).max()
        found.append(joint)
    for name, (angle, _) in ball_motions(result).items():
        found.append({"name": name, "unit": "rad", "start": angle[0], "end": angle[-1]})
    return found


def _base(result: Any) -> dict[str, float]:
    """Return the largest and final distance of a free base from its start, and the same for its rotation."""
    import numpy as np

    from flexarm.plots.run import base_motion

    place, turn = base_motion(result.q.values)
    away, turned = np.linalg.norm(place - place[0], axis=1), np.linalg.norm(turn, axis=1)
    return {"moved": away[-1], "moved_most": away.max(), "turned": turned[-1], "turned_most": turned.max()}


def _deflections(result: Any) -> list[dict[str, Any]]:
    """Return the largest deflection of the tip of each link."""
    import numpy as np

    largest = np.linalg.norm(result.deflection.values, axis=-1).max(axis=0)
    return [{"link": str(link), "deflection": x} for link, x in zip(result.link.values, largest, strict=True)]


def _performance(result: Any) -> dict[str, float] | None:
    """Return settling times, residual vibration and so on, or None if no reference ends before the run does."""
    from flexarm.simulation.performance import performance

    try:
        return vars(performance(result))
    except DescriptionError:
        return None


def _next(name: str, scenario: Any, result: Any, summary: Mapping[str, Any]) -> list[str]:
    """Return useful next commands after a run: show it, simulate its arm live, compare it, or analyse it."""
    from flexarm.description.arm import Arm
    from flexarm.pictures.playable import unplayable

    arm, others = scenario.arm, _comparable(name, scenario, summary["performance"] is not None)
    described = Arm.from_json(str(result.attrs["arm"]))
    bends = (result.role == "flexible").any()
    vibrates = bends or (result.role == "motor").any()
    commands = [
        ["view", str(summary["written"][0])] if "q" in result else [],
        [] if scenario.changes or unplayable(described) else ["play", name],
        ["compare", *others] if others else [],
        ["modes", arm] if vibrates else [],
        ["show", arm, "--converge"] if bends else [],
        ["derive", arm] if result.sizes["coordinate"] <= SMALL and not described.balls else [],
        ["show", arm],
    ]
    return [shlex.join(["flexarm", *words]) for words in commands if words][:3]


def _comparable(name: str, scenario: Any, itself: bool) -> list[str]:
    """Return comparable scenarios of the same arm: bundled ones, and this one if `itself` is true.

    Their motion must end before the run does, as a comparison requires.
    """
    from flexarm.description.load import catalogued, table_of

    found = [name] if itself else []
    for other in catalogued("scenario"):
        table = table_of("scenario", other)
        if table["arm"] == scenario.arm and table.get("reference", {}).get("duration", table["until"]) < table["until"]:
            found.append(other)
    return list(dict.fromkeys(found))


def _show_summary(found: dict[str, Any], verbose: bool = False) -> None:
    drawn = table("", "", header=False)
    drawn.columns[0].style = "bold"
    for row in (*_motion_rows(found), *(_run_rows(found) if verbose else _short_rows(found))):
        drawn.add_row(*row)
    drawn.add_row("written", ", ".join(str(path) for path in found["written"]))
    say(f"{found['name']}: {found['status']}", style="bold")
    say(drawn)
    if found["next"]:
        say("")
        say_next(found["next"])
    for path in found["written"]:
        if path.suffix == ".html":
            say(f"\nSee it move: open {path} in a browser.")


Rows = Iterator[tuple[str, str]]
"""Rows of a summary: a title and a text."""


def _motion_rows(found: Mapping[str, Any]) -> Rows:
    """Yield the rows about the motion of the arm: joints, base, deflections, residual vibration and settling."""
    for joint in found["joints"]:
        line = f"{joint['start'] + 0.0:.4g} to {joint['end'] + 0.0:.4g} {joint['unit']}"  # 0.0: no minus before a zero
        if "off_reference" in joint:
            line += f", at most {joint['off_reference']:.3g} {joint['unit']} from the reference"
        yield joint["name"], line
    if base := found["base"]:
        moved = f"moved by {base['moved']:.4g} m (at most {base['moved_most']:.4g} m)"
        yield "base", f"{moved}, turned by {base['turned']:.4g} rad (at most {base['turned_most']:.4g} rad)"
    for each in found["deflections"]:
        if each["deflection"] > 0:
            yield f"{each['link']} tip", f"deflection at most {1e3 * each['deflection']:.4g} mm"
    if reached := found["performance"]:
        end = f"after the reference ends at {reached['arrival']:.4g} s"
        yield "residual vibration", f"{1e3 * reached['residual']:.4g} mm at the tip {end}"
        beyond = f"overshoot {100 * reached['overshoot']:.3g} %" if reached["overshoot"] > 0 else "no overshoot"
        joints, tip = (_late(reached[key]) for key in ("settling", "tip_settling"))
        yield "settling", f"joints {joints} ({100 * BAND:g} %), tip {tip} ({1e3 * WITHIN:g} mm), {beyond}"


def _late(seconds: float) -> str:
    """Return a settling time in words."""
    return "not within the run" if seconds == float("inf") else f"after {seconds:.3g} s"


def _short_rows(found: Mapping[str, Any]) -> Rows:
    """Yield the rows about the computation in a few words."""
    drifts = [f"{noun} drift {found[key]:.1e}" for key, noun in DRIFTS.items() if key in found]
    yield "solver", ", ".join([found["method"], counted(found["steps"], "step"), *drifts])
    yield "took", f"{found['seconds']:.2f} s"


def _run_rows(found: Mapping[str, Any]) -> Rows:
    """Yield the rows about the input, the solver, and the balances of energy and momentum."""
    sizes = f"{counted(found['coordinates'], 'coordinate')}, {counted(found['inputs'], 'input')}"
    yield "arm", f"{found['arm']}, {sizes}"
    yield "input", found["input"]
    tolerances = f"rtol {found['rtol']:g}, atol {found['atol']:g}"
    step = f"fixed step {found['step']:g} s" if found["step"] else tolerances
    yield "solver", f"{found['method']} ({found['method_reason']}), {step}"
    yield "time", f"{found['start_time']:g} to {found['end_time']:g} s, {counted(found['samples'], 'sample')}"
    yield "effort", f"{counted(found['steps'], 'step')}, {counted(found['evaluations'], 'evaluation')}"
    parts = f"{found['compile_seconds']:.2f} s compiling, {found['solve_seconds']:.3f} s solving"
    yield "took", f"{parts}, {found['seconds']:.2f} s in total"
    if energies := found["energy_at_end"]:
        yield "energy at end", ", ".join(f"{name} {float(x):.6g} J" for name, x in energies.items())
    if "energy_drift" in found:
        yield "energy balance", f"largest drift {found['energy_drift']:.2e} of {found['energy_scale']:.4g} J"
    if "momentum_changed_by" in found:
        yield "momentum balance", f"not checked, because the momentum is changed by {found['momentum_changed_by']}"
    elif "momentum_drift" in found:
        linear = f"largest drift {found['momentum_drift']:.2e} of {found['momentum_scale']:.4g} kg m/s"
        angular = f"{found['angular_momentum_drift']:.2e} of {found['angular_momentum_scale']:.4g} N m s"
        yield "momentum balance", f"{linear}, angular {angular}"
    if "quaternion_drift" in found:
        yield "quaternion", f"length within {found['quaternion_drift']:.2e} of 1"
    if "kept" in found:
        yield "kept", ", ".join(found["kept"]) or "nothing"
