"""Command that compares published numbers with the numbers found here: published."""

from typing import Annotated, Any

import typer

from flexarm.checks import counted
from flexarm.commands.document import Json, show_document
from flexarm.commands.terminal import say


def _names(incomplete: str) -> list[tuple[str, str]]:
    from flexarm_papers.published import PROGRAMS

    return [(each.name, each.source) for each in PROGRAMS if each.name.startswith(incomplete)]


def published(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[PROGRAM]", help="One of the programs, such as beck.", autocompletion=_names),
    ] = None,
    json: Json = False,
) -> None:
    """Compare published numbers with those found here.

    Each program builds an arm and computes its numbers again. A number is reproduced if it rounds to the printed
    digits.
    """
    from flexarm_papers.published import programs

    found, every = [], []
    for program in programs(name):
        if not json:
            say(f"{program.source} ({program.name})\n", style="bold")
        numbers = program.compute()
        rows = [_row(number) for number in numbers]
        found.append({"name": program.name, "source": program.source, "numbers": rows})
        every += rows
        if not json:
            say(_table(numbers))
    if json:
        show_document("published", {"published": found})
        return
    reproduced = sum(row["verdict"] == "reproduced" for row in every)
    say(f"{reproduced} of {counted(len(every), 'number')} reproduced")


def _row(number: Any) -> dict[str, Any]:
    """Return the fields of a number."""
    said = ("what", "printed", "found", "difference", "tolerance", "verdict", "note")
    return {key: getattr(number, key) for key in said}


def _table(numbers: list[Any]) -> Any:
    """Return a table of numbers for the terminal."""
    from rich.table import Table

    drawn = Table("number", "printed", "found", "difference", "verdict", "note", box=None, padding=(0, 2, 0, 0))
    for each in numbers:
        row = (each.what, each.printed, each.shown, f"{each.difference:.1e}", each.verdict, each.note)
        drawn.add_row(*row)
    return drawn
