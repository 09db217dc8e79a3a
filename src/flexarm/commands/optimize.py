"""Command that computes the optimal motion of a scenario: optimize."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flexarm import escape
from flexarm.checks import Described, counted
from flexarm.commands.completion import ScenarioArgument
from flexarm.commands.document import Json, show_document
from flexarm.commands.terminal import check_file, interruptions, say, table
from flexarm.errors import DescriptionError, InterruptedRun, SimulationError, errors_in

if TYPE_CHECKING:
    from flexarm.model import Model
    from flexarm.optimal import OptimalMotion
    from flexarm.optimal.active import Active
    from flexarm.scenario import OptimalReference, Scenario


def optimize(
    scenario: ScenarioArgument,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Change a value of the scenario's reference; repeatable."),
    ] = None,
    view: Annotated[bool, typer.Option("--view", help="Run the scenario and show it in the browser.")] = False,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="The page of --view; default: NAME.html.")] = None,
    browser: Annotated[bool, typer.Option(help="Open the page, where there is a browser.")] = True,
    json: Json = False,
) -> None:
    """Find the optimal motion that a scenario asks for.

    Prints its duration compared with the rigid arm's, the error and the residual vibration at the end, and the active
    limits. A motion that has been found is stored, and shown immediately the next time.
    """
    import time

    from flexarm.model import Model
    from flexarm.optimal.active import active
    from flexarm.optimal.limits import Limits
    from flexarm.pictures.view import check_suffix, opened
    from flexarm.scenario import OptimalReference, load_scenario

    began = time.perf_counter()
    chosen = load_scenario(scenario)
    reference = chosen.reference
    if not isinstance(reference, OptimalReference):
        kind = "no reference" if reference is None else f"a reference of type {reference.type!r}"
        raise DescriptionError(f"{scenario}: the scenario has {kind}; optimize needs a reference of type 'optimal'")
    if set_:
        chosen = _changed(chosen, reference, set_)
    place = Path(f"{escape.file_name(chosen.name)}.html") if out is None else out
    if view:
        check_suffix(place, f"--out {place}")
        check_file(place, "--out" if out is not None else "page")
    model = Model(chosen.loaded_arm())
    with interruptions() as pressed:
        motion: Any = chosen.motion(model)
    limits = chosen.reference.limits or Limits()  # type: ignore[union-attr]  # checked above
    found = _document(chosen, model, motion, active(model, motion, limits))
    found["seconds"] = time.perf_counter() - began
    if not json:
        _show(found)
    view = view and not pressed
    failure = _page(chosen, place) if view else None
    if json:
        show_document("optimize", found | {"written": [place] if view else []})
    elif view:
        say(f"written: {place}")
    if pressed:
        raise InterruptedRun(pressed[0])
    if failure:
        raise SimulationError(f"{failure}; the result up to that time is in {place}", failure.result)
    if view and browser:
        opened(place)


def _changed(scenario: "Scenario", reference: "OptimalReference", given: list[str]) -> "Scenario":
    """Return the scenario with other values in its reference. Raises `DescriptionError`."""
    whole: dict[str, Any] = {
        key: dict(value) if isinstance(value, Described | Mapping) else value for key, value in reference
    }
    for text in given:
        key, _, value = text.partition("=")
        *path, last = key.split(".")
        place = whole
        for name in path:
            place[name] = place.get(name) or {}
            place = place[name]
        if not value or not all((*path, last)) or not isinstance(place, dict):
            raise DescriptionError(f"is {text!r}; it must be KEY=VALUE, such as limits.torque=0.5", field="--set")
        place[last] = _value(value)
    with errors_in("--set", type(reference).__name__):
        changed = scenario.replace(reference=type(reference)(**whole))
        changed.check(changed.loaded_arm())
    return changed


def _value(text: str) -> Any:
    """Return a value written as in a file. A word needs no quotes."""
    try:
        return tomllib.loads(f"x = {text}")["x"]
    except (ValueError, RecursionError):
        return text


def _document(scenario: "Scenario", model: "Model", motion: "OptimalMotion", limits: "list[Active]") -> dict[str, Any]:
    report = motion.report
    joints = [i + model.nq - model.nv for i in model.arm.driven]
    units = [link.joint.unit for link in model.arm.links if link.joint.actuated]
    rigid = report.get("rigid_duration")
    return {
        "name": scenario.name,
        "arm": model.arm.name,
        "status": report["status"],
        "joints": [
            {"name": model.velocities[i], "unit": unit, "start": q[0], "end": q[-1]}
            for i, unit, q in zip(model.arm.driven, units, motion.q.T[joints], strict=True)
        ],
        "duration": motion.duration,
        "rigid_duration": rigid,
        "ratio": motion.duration / rigid if rigid else None,
        "cost": report["cost"],
        "end_error": report["end_error"],
        "residual": report["residual"],
        "end_rate": report["end_rate"],
        "limits": [{"limit": each.limit, "name": each.name, "share": each.share} for each in limits],
        "intervals": report["intervals"],
        "steps": report["steps"],
        "search_seconds": report["seconds"],
    }


def _page(scenario: "Scenario", place: Path) -> SimulationError | None:
    """Write the page of the scenario's run, and return the error that ended the run, or None.

    Without another input, the arm is driven by the torques of the motion.
    """
    from flexarm.pictures.view import viewed

    if scenario.input is None and scenario.controller is None:
        scenario = scenario.replace(input={"type": "optimal-torques"})
    failure = None
    try:
        result: Any = scenario.run()
    except SimulationError as error:
        failure, result = error, error.result
    viewed([result]).save(place)
    return failure


def _show(found: dict[str, Any]) -> None:
    drawn = table("", "", header=False)
    drawn.columns[0].style = "bold"
    drawn.add_row("arm", found["arm"])
    for joint in found["joints"]:
        drawn.add_row(joint["name"], f"{joint['start'] + 0.0:.4g} to {joint['end'] + 0.0:.4g} {joint['unit']}")
    drawn.add_row("duration", f"{found['duration']:.6g} s")
    if found["rigid_duration"]:
        drawn.add_row(
            "rigid arm", f"{found['rigid_duration']:.6g} s; the flexible arm takes {found['ratio']:.5g} times as long"
        )
    left = f"residual vibration {1e3 * found['residual']:.3g} mm, largest rate {found['end_rate']:.3g} rad/s or m/s"
    drawn.add_row("end", f"tip error {1e3 * found['end_error']:.3g} mm, {left}")
    for limit in dict.fromkeys(each["limit"] for each in found["limits"]):
        own = [f"{each['name']} {100 * each['share']:.3g} %" for each in found["limits"] if each["limit"] == limit]
        drawn.add_row(f"at {limit}", f"{', '.join(own)} of the time")
    drawn.add_row("cost", f"{found['cost']:.6g}")
    sizes = f"{counted(found['intervals'], 'interval')}, {counted(found['steps'], 'step')}"
    drawn.add_row("search", f"{sizes}, {found['search_seconds']:.3g} s")
    stored = found["search_seconds"] > found["seconds"]
    drawn.add_row("took", f"{found['seconds']:.3g} s" + ", because the motion was found and stored earlier" * stored)
    say(f"{found['name']}: {found['status']}", style="bold")
    say(drawn)
