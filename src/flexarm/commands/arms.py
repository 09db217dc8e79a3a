"""What an arm is: show, modes."""

from pathlib import Path
from typing import Annotated, Any

import typer

from flexarm import escape
from flexarm.commands.document import Json, show_document
from flexarm.commands.terminal import ArmName, check_file, say, spaced, table
from flexarm.errors import DescriptionError


def show(
    arm: ArmName,
    converge: Annotated[
        bool, typer.Option("--converge", help="Tell what one more mode in every direction that has some changes.")
    ] = False,
    parameters: Annotated[
        bool,
        typer.Option("--parameters", help="List the numbers that may vary, as for fa.Model(vary=)."),
    ] = False,
    json: Json = False,
) -> None:
    """Show an arm: links, coordinates, frequencies, operations."""
    from flexarm.description.load import load
    from flexarm.model import Model

    model = Model(load(arm))
    found = _facts(model)
    if parameters:
        found |= _parameters(model.arm)
    if converge:
        from flexarm.analysis import convergence

        converged = convergence(model.arm)
        found["convergence"] = _convergence(converged)
    if json:
        show_document("show", found)
        return
    _show_facts(found)
    if parameters:
        _show_parameters(found)
    if converge:
        _show_convergence(converged)


def _facts(model: Any) -> dict[str, Any]:
    """What an arm is, in numbers."""
    import numpy as np

    arm = model.arm
    q = np.array(arm.rest)
    check_inertia(model, q)
    masses = [link.body.total_mass + link.hub_mass for link in arm.links]
    payload = arm.payload.mass if arm.payload else 0.0
    operations = {}
    for name, label in (("forward_dynamics", "recursive"), ("forward_dynamics_dense", "dense")):
        facts = model.kernel(name).code.facts
        operations[label] = {kind: facts[kind] for kind in ("multiplications", "additions")}
    return {
        "name": arm.name,
        "description": arm.description,
        "links": [
            {
                "name": link.name,
                "joint": link.joint.type,
                "elastic": link.joint.elastic,
                "body": link.body.type,
                "length": link.body.length,
                "mass": mass,
                "modes": {way: count for way, count in getattr(link.body, "counts", {}).items() if count},
            }
            for link, mass in zip(arm.links, masses, strict=True)
        ],
        "total_mass": sum(masses) + payload,
        "payload": payload,
        "gravity": list(arm.gravity),
        "coordinates": [{"name": c, "unit": u} for c, u in zip(model.coordinates, arm.units, strict=True)],
        "inputs": list(model.inputs),
        "omega_locked": model.frequencies(q),
        "omega_free": model.frequencies(q, locked=False),
        "operations": operations,
    }


def _show_facts(found: dict[str, Any]) -> None:
    say(f"{found['name']}: {found['description']}\n", style="bold")
    links = table("link", "joint", "body", "length [m]", "mass [kg]", "modes")
    for link in found["links"]:
        modes = ", ".join(f"{n} {direction}" for direction, n in link["modes"].items())
        kind = link["joint"] + (" elastic" if link["elastic"] else "")
        links.add_row(link["name"], kind, link["body"], f"{link['length']:g}", f"{link['mass']:g}", modes or "-")
    say(links)
    masses = f"total mass {found['total_mass']:g} kg, payload {found['payload']:g} kg"
    say(f"\n{masses}, gravity {found['gravity']} m/s^2")
    coordinates = [f"{each['name']} [{each['unit']}]" for each in found["coordinates"]]
    say(f"\n{len(coordinates)} coordinates: {', '.join(coordinates)}")
    say(f"{len(found['inputs'])} inputs: {', '.join(found['inputs']) or '-'}")
    say("\nnatural frequencies at rest [rad/s]")
    say(f"  actuators locked: {spaced(found['omega_locked'])}")
    say(f"  actuators free:   {spaced(found['omega_free'])}")
    say("\noperations of forward dynamics")
    for label, facts in found["operations"].items():
        a, b = facts["multiplications"], facts["additions"]
        say(f"  {label + ':':10} {a} multiplications, {b} additions, {a + b} in all")


def _parameters(arm: Any) -> dict[str, Any]:
    """The numbers of an arm that may vary, and the names of those that are zero."""
    from flexarm.model import Model, variable

    seen = Model(arm, ["*"]).parameters
    fields = ("name", "symbol", "value", "unit", "meaning", "shapes")
    shown = {each.name for each in seen}
    return {
        "parameters": [{field: getattr(each, field) for field in fields} for each in seen],
        "by_name_alone": [each.name for each in variable(arm) if each.name not in shown],
    }


def _show_parameters(found: dict[str, Any]) -> None:
    say("\nnumbers that may vary")
    drawn = table("name", "symbol", "value", "unit", "meaning", "shapes of")
    drawn.columns[2].justify = "right"
    for each in found["parameters"]:
        shapes = ", ".join(each["shapes"]) or "-"
        drawn.add_row(each["name"], each["symbol"], f"{each['value']:g}", each["unit"] or "1", each["meaning"], shapes)
    say(drawn)
    say(f"\nzero or unseen, by name alone: {', '.join(found['by_name_alone'])}")
    say("\nMode shapes stay those of this arm, also where an arm rebuilt with another number has others (shapes of).")


def _convergence(found: Any) -> dict[str, Any]:
    """What more modes change."""
    return {
        "modes": [{"where": where, "now": now, "with_more": more} for where, (now, more) in found.modes.items()],
        "kept": [{"where": where, "why": why} for where, why in found.kept.items()],
        "omega_locked": found.locked,
        "omega_locked_with_more": found.more_locked,
        "omega_free": found.free,
        "omega_free_with_more": found.more_free,
        "sag": found.sag,
        "sag_with_more": found.more_sag,
        "compliance": found.compliance,
        "compliance_with_more": found.more_compliance,
    }


def _show_convergence(found: Any) -> None:
    say("\nwhat more modes change, at rest")
    drawn = table("", "now", "with more", "moves by")
    for column in drawn.columns[1:]:
        column.justify = "right"
    for row in found.rows:
        drawn.add_row(*row)
    say(drawn)
    for note in found.notes:
        say(note)


def modes(
    arm: ArmName,
    free: Annotated[bool, typer.Option("--free", help="Let the actuators move; otherwise they are locked.")] = False,
    at: Annotated[
        list[str] | None, typer.Option("--at", metavar="NAME=VALUE", help="A coordinate that is not zero; repeatable.")
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the modes into this .png.")] = None,
    view: Annotated[bool, typer.Option("--view", help="Show them swinging in the browser: a page .html.")] = False,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="The page; default ARM-modes.html.")] = None,
    browser: Annotated[bool, typer.Option(help="Open the page, where there is a browser.")] = True,
    json: Json = False,
) -> None:
    """List the natural modes of an arm about a configuration.

    Each with its frequency, and the coordinates that take part.
    """
    from flexarm.description.load import load
    from flexarm.model import Model

    if plot is not None:
        check_file(plot, "--plot")
    if out is not None and not view:
        raise DescriptionError("--out is given without --view, whose page it names")
    model = Model(load(arm))
    place = out or Path(f"{escape.file_name(model.arm.name)}-modes.html")
    if view:
        from flexarm.pictures.view import check_suffix, opened, viewed

        check_suffix(place, f"--out {place}")
        check_file(place, "--out")
    q = _configuration(model, at or [])
    check_inertia(model, q)
    found = _modes(model, q, free)
    if plot is not None:
        from flexarm.plots import draw_modes, save_figure

        found["written"].append(save_figure(draw_modes(model, q, locked=not free), plot))
    if view:
        found["written"].append(viewed(model, modes=True, q=q, locked=not free).save(place))
        if browser:
            opened(place)
    if json:
        show_document("modes", found)
        return
    _show_modes(found)
    for path in found["written"]:
        say(f"\nwritten: {path}")


def _configuration(model: Any, settings: list[str]) -> Any:
    """The arm's rest, and what `--at` says of it."""
    import numpy as np

    from flexarm.checks import meant

    q = np.array(model.arm.rest)
    for setting in settings:
        name, equals, value = setting.partition("=")
        if name not in model.coordinates:
            there = f"{', '.join(model.coordinates)}{meant(name, model.coordinates)}"
            raise DescriptionError(f"--at {setting}: no coordinate {name!r}; there are {there}")
        try:
            q[model.coordinates.index(name)] = float(value)
        except ValueError:
            raise DescriptionError(f"--at {setting}: {value!r} is not a number; write NAME=VALUE") from None
    return q


def _modes(model: Any, q: Any, free: bool) -> dict[str, Any]:
    """Frequencies and shapes; a shape's largest coordinate is 1."""
    import numpy as np

    omega, shapes = model.modes(q, locked=not free)
    found = []
    for w, shape in zip(omega, shapes.T, strict=True):
        shape = shape / shape[np.argmax(np.abs(shape))]
        found.append({"omega": w, "frequency": w / (2 * np.pi), "relative": shape})
    return {
        "arm": model.arm.name,
        "actuators": "free" if free else "locked",
        "coordinates": [
            {"name": name, "value": x, "unit": unit}
            for name, x, unit in zip(model.coordinates, q, model.arm.units, strict=True)
        ],
        "modes": found,
        "written": [],
    }


def _show_modes(found: dict[str, Any]) -> None:
    import numpy as np

    names = [each["name"] for each in found["coordinates"]]
    drawn = table("mode", "[rad/s]", "[Hz]", "coordinates, relative")
    for i, mode in enumerate(found["modes"], start=1):
        shape = mode["relative"]
        leading = [j for j in np.argsort(-np.abs(shape)) if abs(shape[j]) >= 0.05][:5]
        parts = ", ".join(f"{shape[j]:+.2f} {names[j]}" for j in leading)
        drawn.add_row(str(i), f"{mode['omega']:.5g}", f"{mode['frequency']:.5g}", parts)
    at = spaced(each["value"] for each in found["coordinates"])
    say(f"{found['arm']}, actuators {found['actuators']}, q = {at}\n", style="bold")
    say(drawn)


def check_inertia(model: Any, q: Any) -> None:
    from flexarm.model.linear import without_inertia

    if fault := without_inertia(model, q):
        raise DescriptionError(f"arm {model.arm.name!r}: {fault}")
