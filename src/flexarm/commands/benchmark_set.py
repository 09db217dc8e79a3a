"""Command for the public set of problems: benchmark-set."""

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flexarm.checks import counted
from flexarm.commands.document import Json, show_document
from flexarm.commands.terminal import check_folder, say, say_next, table
from flexarm.errors import DescriptionError

if TYPE_CHECKING:
    from flexarm.problems import Problem, Score


class Action(StrEnum):
    """Actions on the set of problems."""

    LIST = "list"
    SHOW = "show"
    EXPORT = "export"
    SCORE = "score"


TAKES = {
    Action.LIST: "no argument",
    Action.SHOW: "a PROBLEM",
    Action.EXPORT: "a FOLDER",
    Action.SCORE: "a PROBLEM and a FILE",
}
"""Arguments of each action. The words in capitals are counted."""


def _names(incomplete: str) -> list[tuple[str, str]]:
    from flexarm.problems.described import names, words

    return [(name, words(name)["title"]) for name in names() if name.startswith(incomplete)]


def benchmark_set(
    action: Annotated[
        Action,
        typer.Argument(
            metavar="[ACTION]",
            help="list; show PROBLEM; export FOLDER: write all problems; score PROBLEM FILE: compare a CSV file of "
            "another tool with the converged trajectory.",
        ),
    ] = Action.LIST,
    what: Annotated[
        str | None, typer.Argument(metavar="[PROBLEM]", help="A problem, or the folder.", autocompletion=_names)
    ] = None,
    file: Annotated[
        str | None, typer.Argument(metavar="[CSV]", help="Columns with units: time [s],tip.x [m],upper.joint [rad].")
    ] = None,
    json: Json = False,
) -> None:
    """Show, export and score the public set of problems.

    Each problem has a description in words and numbers, and a converged trajectory with its uncertainty, for any tool.
    """
    from flexarm.problems import export, problem, score

    given = [each for each in (what, file) if each is not None]
    if len(given) != sum(word.isupper() and len(word) > 1 for word in TAKES[action].split()):
        raise DescriptionError(
            f"benchmark-set {action}: give {TAKES[action]} after it, not {counted(len(given), 'argument')}"
        )
    shown: Callable[[dict[str, Any]], None]
    if action == Action.LIST:
        found = _list()
        shown = _show_list
    elif action == Action.SHOW:
        asked = problem(given[0])
        found, shown = _described(asked), lambda _: _show_problem(asked)
    elif action == Action.EXPORT:
        check_folder(Path(given[0]), "FOLDER")
        found = {"written": export(given[0])}
        shown = _show_written
    else:
        scored = score(*given)
        found, shown = _scored(scored), lambda _: _show_score(scored)
    if json:
        show_document("benchmark-set", found)
    else:
        shown(found)


def _list() -> dict[str, Any]:
    from flexarm.problems.described import names, words

    said = {name: words(name) for name in names()}
    fields = ("title", "solution", "columns")
    return {"problems": [{"name": name} | {field: each[field] for field in fields} for name, each in said.items()]}


def _show_list(found: dict[str, Any]) -> None:
    drawn = table("problem", "description", "converged to")
    for each in found["problems"]:
        drawn.add_row(each["name"], each["title"], each["solution"])
    say(drawn)
    say("")
    say_next(["flexarm benchmark-set show PROBLEM", "flexarm benchmark-set export FOLDER"])


def _described(asked: "Problem") -> dict[str, Any]:
    columns = zip(asked.columns, asked.units, asked.uncertainty.tolist(), strict=True)
    return {
        "name": asked.name,
        "title": asked.title,
        "description": asked.description,
        "conventions": list(asked.conventions),
        "solution": asked.solution,
        "found_with": asked.converged["found_with"],
        "changes": asked.converged["changes"],
        "end_time": asked.scenario.until,
        "samples": len(asked.times),
        "columns": [{"name": name, "unit": unit or "1", "uncertainty": each} for name, unit, each in columns],
    }


def _show_problem(asked: "Problem") -> None:
    from flexarm.problems.exported import page

    say(page(asked.name).strip())
    say("")
    say_next([f"flexarm benchmark-set score {asked.name} FILE.csv"])


def _show_written(found: dict[str, Any]) -> None:
    folder = found["written"][0].parent
    say(f"written: {counted(len(found['written']), 'file')} in {folder}; {folder / 'README.md'} describes them")


def _scored(scored: "Score") -> dict[str, Any]:
    fields = ("name", "unit", "error", "rms", "at", "size", "relative", "uncertainty", "agrees")
    columns = [{field: getattr(each, field) for field in fields} for each in scored.columns]
    return {"name": scored.problem, "file": scored.file, "columns": columns, "worst": scored.worst.name}


def _show_score(scored: "Score") -> None:
    drawn = table("column", "largest error", "at [s]", "rms error", "of its size", "uncertainty")
    for column in drawn.columns[1:]:
        column.justify = "right"
    for each in scored.columns:
        head = f"{each.name} [{each.unit}]" if each.unit else each.name
        errors = (f"{each.error:.3g}", f"{each.at:g}", f"{each.rms:.3g}", f"{each.relative:.3g}")
        drawn.add_row(head, *errors, f"{each.uncertainty:.1g}")
    say(drawn)
    worst, count = scored.worst, f"{sum(each.agrees for each in scored.columns)} of {len(scored.columns)}"
    say(f"\nworst: {worst.name}, {worst.relative:.3g} of its size; {count} within the uncertainty")
