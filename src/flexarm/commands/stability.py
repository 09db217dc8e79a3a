"""Command on the stability of a scenario's closed loop: stability."""

from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from flexarm.checks import counted
from flexarm.commands.completion import ScenarioArgument
from flexarm.commands.document import Json, show_document
from flexarm.commands.terminal import say, table
from flexarm.errors import DescriptionError, SimulationError, UnstableStart

if TYPE_CHECKING:
    from flexarm.analysis import Point, Stability
    from flexarm.model import Model
    from flexarm.scenario import Scenario

FAST = 12
"""Largest number of poles in the output. The document has all."""


def stability(
    scenario: ScenarioArgument,
    along: Annotated[
        int, typer.Option(help="Number of times along the motion that are analysed in addition to the end.")
    ] = 5,
    vary: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=LOW:HIGH", help="Range of a parameter of the arm, for the worst case; repeatable."),
    ] = None,
    samples: Annotated[int, typer.Option(help="Random samples in the ranges, in addition to the corners.")] = 50,
    json: Json = False,
) -> None:
    """Print poles and margins of a scenario's closed loop.

    The output is for the end of the scenario, for times along its motion, and for the worst case over ranges of
    parameters. It has the poles, the gain, phase, delay and disk margins of each loop with the others closed, and the
    peaks of the sensitivities.
    """
    from flexarm.analysis import stability as found_of
    from flexarm.model import Model
    from flexarm.scenario import load_scenario

    ranges = _ranges(vary or [])
    chosen = load_scenario(scenario)
    if chosen.controller is None:
        raise DescriptionError(
            f"{scenario}: the scenario has no controller, so no closed loop; flexarm modes analyses the arm alone"
        )
    chosen.refuse_changes("stability")
    model = Model(chosen.loaded_arm())
    motion = _motion(chosen, model)
    controller = chosen.arguments(model)["u"]
    found = found_of(
        model, controller, motion=motion, along=along, vary=ranges or None, samples=samples, name=chosen.name
    )
    if json:
        show_document("stability", _document(found))
    else:
        _show(found)


def _motion(scenario: "Scenario", model: "Model") -> Any:
    """Return the run of the scenario, as far as it goes, with the variables that the linear models need."""
    import warnings

    from flexarm.simulation.options import SaveAt
    from flexarm.simulation.run import simulate

    keep = ["q", "qd", *(["drive_state"] if model.states else []), *(["w"] if model.exogenous else [])]
    save = SaveAt(keep=keep, samples=scenario.samples)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnstableStart)  # this command reports instability itself
        try:
            arguments = scenario.arguments(model) | {"save": save}
            with scenario.errors_named():
                return simulate(model, **arguments)
        except SimulationError as error:
            return error.result


def _ranges(given: list[str]) -> dict[str, tuple[float, float]]:
    """Return ranges by name from texts NAME=LOW:HIGH."""
    found = {}
    for each in given:
        name, _, ends = each.partition("=")
        low, _, high = ends.partition(":")
        try:
            pair = float(low), float(high)
        except ValueError:
            pair = np.nan, np.nan
        if not name or not pair[0] <= pair[1] or name in found:
            must = "it must be NAME=LOW:HIGH, such as payload.mass=0.5:1.5, with each name once"
            raise DescriptionError(f"is {each!r}; {must}", field="--vary")
        found[name] = pair
    return found


def _document(found: "Stability") -> dict[str, Any]:
    worst = found.worst
    return {
        "name": found.name,
        "controller": found.controller,
        "period": found.period,
        "stable": found.stable,
        "end": _point(found.end),
        "along": [_point(each) for each in found.along],
        "worst": worst
        and {
            "parameters": [{"name": name, "value": value} for name, value in worst.parameters.items()],
            "tried": worst.tried,
            "unstable": worst.unstable,
            "point": _point(worst.point),
        },
    }


def _point(point: "Point") -> dict[str, Any]:
    return {
        "time": point.time,
        "standing": point.standing,
        "verdict": point.verdict,
        "stable": point.stable,
        "poles": [{"real": s.real, "imaginary": s.imag} for s in point.poles],
        "loops": [
            {
                "input": each.name,
                "gain_low": each.gain[0],
                "gain_high": each.gain[1],
                "phase": each.phase,
                "delay": each.delay,
                "crossover": each.crossover,
                "disk": each.disk,
                "disk_omega": each.frequency,
                "sensitivity": each.sensitivity,
                "complementary": each.complementary,
            }
            for each in point.loops
        ],
        "together": {
            "disk": point.together.disk,
            "disk_omega": point.together.frequency,
            "sensitivity": point.together.sensitivity,
            "complementary": point.together.complementary,
        },
    }


def _show(found: "Stability") -> None:
    say(f"{found.name}: {found.controller}", style="bold")
    _show_point(found.end, "at rest" if found.end.standing else "in motion (no equilibrium is near)")
    if found.along:
        from flexarm.analysis.stability import shown_pole

        say("\nAlong the motion, with frozen time:")
        drawn = table("t [s]", "rightmost pole [1/s]", "disk margin", "|S|", "|T|")
        for point in found.along:
            all_ = point.together
            numbers = (f"{x:.4g}" if point.stable else "-" for x in (all_.disk, all_.sensitivity, all_.complementary))
            drawn.add_row(f"{point.time:.4g}", shown_pole(point.poles[0]), *numbers)
        say(drawn)
    if found.worst:
        values = ", ".join(f"{name} = {value:.5g}" for name, value in found.worst.parameters.items())
        bad = f", {found.worst.unstable} of them unstable" if found.worst.unstable else ""
        say(f"\nWorst of {counted(found.worst.tried, 'case')}{bad}: {values}", style="bold")
        _show_point(found.worst.point, "at rest")


def _show_point(point: "Point", how: str) -> None:
    from flexarm.analysis.margins import disk_gain
    from flexarm.analysis.stability import shown_pole

    say(f"{point.verdict}, {how} at t = {point.time:.4g} s")
    upper = [s for s in point.poles if s.imag >= 0.0][:FAST]
    say(f"rightmost poles [1/s]: {', '.join(shown_pole(s) for s in upper)}")
    if not point.stable:
        return
    heads = ("gain from", "to", "phase [deg]", "delay [s]", "at [rad/s]", "disk", "|S|", "|T|")
    drawn = table("loop", *heads)
    for each in point.loops:
        numbers = (*each.gain, np.degrees(each.phase), each.delay, each.crossover, each.disk)
        drawn.add_row(each.name, *(f"{x:.4g}" for x in (*numbers, each.sensitivity, each.complementary)))
    all_ = point.together
    low, high = disk_gain(all_.disk)
    sizes = (all_.disk, all_.sensitivity, all_.complementary)
    drawn.add_row("all loops at once", f"{low:.4g}", f"{high:.4g}", "", "", "", *(f"{x:.4g}" for x in sizes))
    say(drawn)
