"""Commands that describe an arm: show, modes."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from flexarm import escape
from flexarm.checks import counted
from flexarm.commands.document import Json, show_document
from flexarm.commands.terminal import ArmName, check_file, say, spaced, table
from flexarm.errors import DescriptionError


def show(
    arm: ArmName,
    converge: Annotated[
        bool, typer.Option("--converge", help="Show the effect of one more mode in each direction that has modes.")
    ] = False,
    parameters: Annotated[
        bool,
        typer.Option("--parameters", help="List the parameters that may vary, for fa.Model(arm, vary=[...])."),
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
    """Return the properties of an arm in numbers."""

    from flexarm.description.free import FreeBase
    from flexarm.description.tree import carriers
    from flexarm.model.closures import rest
    from flexarm.model.faults import check_inertia

    arm = model.arm
    q = rest(model)
    check_inertia(model, q)
    masses = [link.body.total_mass + link.hub_mass for link in arm.links]
    carried = [0.0 if each is None else each.mass for each in arm.payloads]
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
                "on": carrier,
                "payload": payload,
                "joint": link.joint.type,
                "elastic": link.joint.elastic,
                "body": link.body.type,
                "length": link.body.length,
                "mass": mass,
                "segments": link.body.pieces,
                "modes": {way: count for way, count in getattr(link.body, "counts", {}).items() if count},
            }
            for link, mass, payload, carrier in zip(
                arm.links, masses, carried, carriers(arm.links, arm.parents), strict=True
            )
        ],
        "base": _base(arm.base) if isinstance(arm.base, FreeBase) else None,
        "drives": [_drive(link.name, link.joint) for link in arm.links if link.joint.moves],
        "total_mass": sum(masses) + sum(carried) + (arm.base.mass if isinstance(arm.base, FreeBase) else 0.0),
        "payload": carried[arm.tip_link],
        "gravity": list(arm.gravity),
        "coordinates": [{"name": c, "unit": u} for c, u in zip(model.coordinates, arm.units, strict=True)],
        "rates": [{"name": c, "unit": u} for c, u in zip(model.velocities, arm.rate_units, strict=True)],
        "inputs": list(model.inputs),
        "omega_locked": model.frequencies(q),
        "omega_free": model.frequencies(q, locked=False),
        "operations": operations,
    }


def _base(base: Any) -> dict[str, Any]:
    """Return the properties of a free base in numbers."""
    from flexarm.description.arm import tensor

    return {
        "type": base.type,
        "mass": base.mass,
        "com": list(base.com),
        "inertia": tensor(base.inertia),
        "thrusters": [{**dict(each), "unit": each.unit} for each in base.thrusters],
    }


NUMBERS = ("gear_ratio", "rotor_inertia", "stiffness", "spring_damping", "damping")
"""Parameters of a linear drive, as a joint has them."""


def _drive(link: str, joint: Any) -> dict[str, Any]:
    """Return the drive of a link's joint: its parts, each with the values that were given."""
    from flexarm.description.joints import units

    linear = [
        {"name": name, "value": value, "unit": units(joint.turns)[name][0]}
        for name in NUMBERS
        if (value := getattr(joint, name, None))
    ]
    drive = getattr(joint, "drive", None)
    return {
        "link": link,
        "input": joint.input_unit if joint.actuated else "passive",
        "preset": getattr(joint, "preset", None),
        "linear": linear,
        "parts": [] if drive is None else [{"part": n, "fields": _given(part)} for n, part in drive.parts.items()],
    }


def _given(part: Any, before: str = "") -> list[dict[str, Any]]:
    """Return name, value and unit of the fields of a part, and of its inner parts, that differ from their defaults."""
    from flexarm.checks import unit_of

    found = []
    for name, value in part:
        if hasattr(type(value), "model_fields"):
            found += _given(value, f"{before}{name}.")
        elif value != type(part).model_fields[name].default:
            found.append({"name": before + name, "value": value, "unit": unit_of(type(part), name)})
    return found


def _show_drives(drives: list[dict[str, Any]]) -> None:
    """Print the drives if a joint has more than a linear drive."""
    if not any(each["parts"] for each in drives):
        return
    drawn = table("drive", "input", "part", "")
    for each in drives:
        preset = [{"name": "preset", "value": each["preset"]}] if each["preset"] else []
        drawn.add_row(each["link"], each["input"], "linear", _words(preset + each["linear"]))
        for part in each["parts"]:
            drawn.add_row("", "", part["part"], _words(part["fields"]))
    say("")
    say(drawn)


def _words(fields: list[dict[str, Any]]) -> str:
    """Return the fields as a text such as "coulomb 5, viscous 0.1"."""
    return ", ".join(f"{each['name']} {_word(each['value'])}" for each in fields) or "-"


def _word(value: Any) -> str:
    if isinstance(value, tuple):
        return "[" + ", ".join(map(_word, value)) + "]"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _show_base(base: dict[str, Any]) -> None:
    """Print a free base and its thrusters."""
    import numpy as np

    I = np.array(base["inertia"])
    across = [f"{name} {x:g}" for name, x in zip(("xy", "xz", "yz"), I[[0, 0, 1], [1, 2, 2]], strict=True) if x]
    inertia = f"{spaced(np.diag(I))}{''.join(f', {each}' for each in across)} kg m^2"
    com = f" about its centre of mass ({', '.join(f'{x:g}' for x in base['com'])}) m" if any(base["com"]) else ""
    say(f"free base: {base['mass']:g} kg, inertia {inertia}{com}")
    for each in base["thrusters"]:
        at = f" at ({', '.join(f'{x:g}' for x in each['at'])}) m" if each["kind"] == "force" else ""
        along = ", ".join(f"{x:g}" for x in each["direction"])
        say(f"  thruster {each['name']}: {each['kind']} [{each['unit']}] along ({along}){at}")
    say("")


def _show_facts(found: dict[str, Any]) -> None:
    say(f"{found['name']}: {found['description']}\n", style="bold")
    if found["base"]:
        _show_base(found["base"])
    tree = [link["on"] for link in found["links"]] != ["base", *(link["name"] for link in found["links"][:-1])]
    carries = any(link["payload"] for link in found["links"][:-1])
    heads = ["link", *["on"] * tree, "joint", "body", "length [m]", "mass [kg]", *["carries [kg]"] * carries, "modes"]
    links = table(*heads)
    for link in found["links"]:
        modes = ", ".join(f"{n} {direction}" for direction, n in link["modes"].items())
        if link["segments"]:
            modes = f"{link['segments']} x ({modes})"
        kind = link["joint"] + (" elastic" if link["elastic"] else "")
        cells = [link["name"], *[link["on"]] * tree, kind, link["body"], f"{link['length']:g}", f"{link['mass']:g}"]
        links.add_row(*cells, *[f"{link['payload']:g}" if link["payload"] else "-"] * carries, modes or "-")
    say(links)
    _show_drives(found["drives"])
    masses = f"total mass {found['total_mass']:g} kg, payload {found['payload']:g} kg"
    say(f"\n{masses}, gravity {found['gravity']} m/s^2")
    coordinates = [f"{each['name']} [{each['unit']}]" for each in found["coordinates"]]
    say(f"\n{counted(len(coordinates), 'coordinate')}: {', '.join(coordinates)}")
    if len(found["rates"]) != len(coordinates):
        rates = [f"{each['name']} [{each['unit']}]" for each in found["rates"]]
        say(f"{counted(len(rates), 'rate')}: {', '.join(rates)}")
    say(f"{counted(len(found['inputs']), 'input')}: {', '.join(found['inputs']) or '-'}")
    say("\nnatural frequencies at rest [rad/s]")
    say(f"  actuators locked: {spaced(found['omega_locked'])}")
    say(f"  actuators free:   {spaced(found['omega_free'])}")
    _say_falling((*found["omega_locked"], *found["omega_free"]))
    say("\noperations of forward dynamics")
    for label, facts in found["operations"].items():
        a, b = facts["multiplications"], facts["additions"]
        say(f"  {label + ':':10} {counted(a, 'multiplication')}, {counted(b, 'addition')}, {a + b} in total")


def _parameters(arm: Any) -> dict[str, Any]:
    """Return the parameters of an arm that may vary, and the names of those that are zero."""
    from flexarm.model import Model, variable

    seen = Model(arm, ["*"]).parameters
    fields = ("name", "symbol", "value", "unit", "meaning", "shapes")
    shown = {each.name for each in seen}
    return {
        "parameters": [{field: getattr(each, field) for field in fields} for each in seen],
        "by_name_alone": [each.name for each in variable(arm) if each.name not in shown],
    }


def _show_parameters(found: dict[str, Any]) -> None:
    say("\nparameters that may vary")
    drawn = table("name", "symbol", "value", "unit", "meaning", "shapes of")
    drawn.columns[2].justify = "right"
    for each in found["parameters"]:
        shapes = ", ".join(each["shapes"]) or "-"
        drawn.add_row(each["name"], each["symbol"], f"{each['value']:g}", each["unit"] or "1", each["meaning"], shapes)
    say(drawn)
    say(f"\nonly by their full name, not by a pattern (zero, or without effect): {', '.join(found['by_name_alone'])}")
    say(
        "\nThe mode shapes stay those of this arm. The column 'shapes of' names the links whose shapes depend on the "
        "parameter."
    )


def _convergence(found: Any) -> dict[str, Any]:
    """Return the changes due to more modes."""
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
    say("\neffect of one more mode in each direction, at rest")
    drawn = table("", "now", "with more", "change")
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
    view: Annotated[
        bool, typer.Option("--view", help="Show the vibrating modes in the browser, on an .html page.")
    ] = False,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="The page; default ARM-modes.html.")] = None,
    browser: Annotated[bool, typer.Option(help="Open the page, where there is a browser.")] = True,
    json: Json = False,
) -> None:
    """List the natural modes of an arm about a configuration.

    Prints the frequency of each mode, and the coordinates that take part.
    """
    from flexarm.description.load import load
    from flexarm.model import Model
    from flexarm.model.faults import check_inertia

    if plot is not None:
        check_file(plot, "--plot")
    if out is not None and not view:
        raise DescriptionError("--out names the page of --view; give --view too")
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
    """Return the configuration at rest with the changes of `--at`."""

    from flexarm.checks import unknown_name
    from flexarm.model.attitudes import unit_pose
    from flexarm.model.closures import rest

    q = rest(model)
    for setting in settings:
        name, equals, value = setting.partition("=")
        if name not in model.coordinates:
            problem = f"--at {setting}: unknown coordinate"
            raise DescriptionError(unknown_name(problem, name, model.coordinates, "the coordinates are"))
        try:
            q[model.coordinates.index(name)] = float(value)
        except ValueError:
            raise DescriptionError(f"--at {setting}: {value!r} is not a number; write NAME=VALUE") from None
    return unit_pose("--at", q, model.arm)


def _modes(model: Any, q: Any, free: bool) -> dict[str, Any]:
    """Return frequencies and shapes. The largest coordinate of a shape is 1."""
    import numpy as np

    from flexarm.attitude import local_names

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
        "along": list(local_names(model.arm)),
        "modes": found,
        "written": [],
    }


def _show_modes(found: dict[str, Any]) -> None:
    import numpy as np

    names = found["along"]
    drawn = table("mode", "[rad/s]", "[Hz]", "coordinates, relative")
    for i, mode in enumerate(found["modes"], start=1):
        shape = mode["relative"]
        leading = [j for j in np.argsort(-np.abs(shape)) if abs(shape[j]) >= 0.05][:5]
        parts = ", ".join(f"{shape[j]:+.2f} {names[j]}" for j in leading)
        drawn.add_row(str(i), f"{mode['omega']:.5g}", f"{mode['frequency']:.5g}", parts)
    at = spaced(each["value"] for each in found["coordinates"])
    say(f"{found['arm']}, actuators {found['actuators']}, q = {at}\n", style="bold")
    if not found["modes"]:
        say(f"no modes: with actuators {found['actuators']} the arm has nothing that moves")
        return
    say(drawn)
    _say_falling(mode["omega"] for mode in found["modes"])


def _say_falling(omega: Iterable[float]) -> None:
    if any(w < 0 for w in omega):
        say("  negative: the arm is unstable in this direction and falls away as e^(|omega| t)")
