"""What an arm is: list, show, modes."""

from pathlib import Path
from typing import Annotated, Any

import typer

from flexarm.commands.terminal import ArmName, check_file, say, spaced
from flexarm.errors import DescriptionError


def list_() -> None:
    """List the bundled arms, scenarios and studies."""
    from rich.table import Table

    from flexarm.description.load import bundled, load
    from flexarm.scenario import bundled_scenarios, load_scenario
    from flexarm.studies.file import bundled_studies, description_of

    for title, names, described in (
        ("arms", bundled(), lambda name: load(name).description),
        ("scenarios", bundled_scenarios(), lambda name: load_scenario(name).description),
        ("studies", bundled_studies(), description_of),
    ):
        table = Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0))
        table.add_column("name", style="bold")
        table.add_column("what it is")
        for name in names:
            table.add_row(name, described(name))
        say(table)
    say("\nNext: flexarm show ARM, flexarm modes ARM, flexarm derive ARM, flexarm simulate SCENARIO; each has --help.")


def show(
    arm: ArmName,
    converge: Annotated[
        bool, typer.Option("--converge", help="Tell what one more mode in every direction that has some changes.")
    ] = False,
    parameters: Annotated[
        bool,
        typer.Option("--parameters", help="List the numbers that may vary, as for fa.Model(vary=)."),
    ] = False,
) -> None:
    """Show an arm: links, coordinates, frequencies, and what its equations cost to evaluate."""
    import numpy as np
    from rich.table import Table

    from flexarm.description.load import load
    from flexarm.model import Model

    model = Model(load(arm))
    described = model.arm
    say(f"{described.name}: {described.description}\n", style="bold")
    links = Table("link", "joint", "body", "length [m]", "mass [kg]", "modes", box=None, padding=(0, 2, 0, 0))
    for link in described.links:
        counts = getattr(link.body, "counts", {})
        modes = ", ".join(f"{n} {direction}" for direction, n in counts.items() if n)
        kind = link.joint.type + (" elastic" if link.joint.elastic else "")
        mass = link.body.total_mass + link.hub_mass
        links.add_row(link.name, kind, link.body.type, f"{link.body.length:g}", f"{mass:g}", modes or "-")
    say(links)
    total = sum(link.body.total_mass + link.hub_mass for link in described.links)
    payload = described.payload.mass if described.payload else 0.0
    say(f"\ntotal mass {total + payload:g} kg, payload {payload:g} kg, gravity {list(described.gravity)} m/s^2")
    units = described.units
    coordinates = ", ".join(f"{c} [{u}]" for c, u in zip(model.coordinates, units, strict=True))
    say(f"\n{len(units)} coordinates: {coordinates}")
    say(f"{len(model.inputs)} inputs: {', '.join(model.inputs) or '-'}")
    q = np.array(described.rest)
    check_inertia(model, q)
    say("\nnatural frequencies at rest [rad/s]")
    say(f"  actuators locked: {spaced(model.frequencies(q))}")
    say(f"  actuators free:   {spaced(model.frequencies(q, locked=False))}")
    say("\noperations of forward dynamics")
    for name, label in (("forward_dynamics", "recursive"), ("forward_dynamics_dense", "dense")):
        facts = model.kernel(name).code.facts
        a, b = facts["multiplications"], facts["additions"]
        say(f"  {label + ':':10} {a} multiplications, {b} additions, {a + b} in all")
    if parameters:
        _show_parameters(described)
    if converge:
        _show_convergence(described)


def _show_parameters(arm: Any) -> None:
    """The numbers of an arm that may vary: a table, and the names of those that are zero."""
    from rich.table import Table

    from flexarm.model import Model, variable

    say("\nnumbers that may vary")
    table = Table("name", "symbol", "value", "unit", "meaning", "shapes of", box=None, padding=(0, 2, 0, 0))
    table.columns[2].justify = "right"
    seen = Model(arm, ["*"]).parameters
    for each in seen:
        shapes = ", ".join(each.shapes) or "-"
        table.add_row(each.name, each.symbol, f"{each.value:g}", each.unit or "1", each.meaning, shapes)
    say(table)
    shown = {each.name for each in seen}
    say(f"\nzero or unseen, by name alone: {', '.join(x.name for x in variable(arm) if x.name not in shown)}")
    say("\nMode shapes stay those of this arm, also where an arm rebuilt with another number has others (shapes of).")


def _show_convergence(arm: Any) -> None:
    """What more modes change, as a table."""
    from rich.table import Table

    from flexarm.analysis import convergence

    found = convergence(arm)
    say("\nwhat more modes change, at rest")
    table = Table("", "now", "with more", "moves by", box=None, padding=(0, 2, 0, 0))
    for column in table.columns[1:]:
        column.justify = "right"
    for row in found.rows:
        table.add_row(*row)
    say(table)
    for note in found.notes:
        say(note)


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

    if plot is not None:
        check_file(plot, "--plot")
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
    check_inertia(model, q)
    omega, shapes = model.modes(q, locked=not free)
    table = Table("mode", "[rad/s]", "[Hz]", "coordinates, relative", box=None, padding=(0, 2, 0, 0))
    for i, w in enumerate(omega):
        shape = shapes[:, i] / np.abs(shapes[:, i]).max()
        shape = shape * np.sign(shape[np.argmax(np.abs(shape))])
        leading = [j for j in np.argsort(-np.abs(shape)) if abs(shape[j]) >= 0.05][:5]
        parts = ", ".join(f"{shape[j]:+.2f} {model.coordinates[j]}" for j in leading)
        table.add_row(str(i + 1), f"{w:.5g}", f"{w / (2 * np.pi):.5g}", parts)
    say(f"{model.arm.name}, actuators {'free' if free else 'locked'}, q = {spaced(q)}\n", style="bold")
    say(table)
    if plot is not None:
        from flexarm.plots import draw_modes, save_figure

        say(f"\nwritten: {save_figure(draw_modes(model, q, locked=not free), plot)}")


def check_inertia(model: Any, q: Any) -> None:
    from flexarm.model.linear import without_inertia

    if fault := without_inertia(model, q):
        raise DescriptionError(f"arm {model.arm.name!r}: {fault}")
