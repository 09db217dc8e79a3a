"""Command that shows runs in the browser: view."""

from pathlib import Path
from typing import Annotated, Any

import typer

from flexarm import escape
from flexarm.commands.completion import bundled_or_file
from flexarm.commands.terminal import check_file, say
from flexarm.errors import SimulationError

LONGEST = 60
"""Largest length of a file name that combines several names."""


def view(
    results: Annotated[
        list[str],
        typer.Argument(
            metavar="RESULT...",
            help="Result files (.nc), or scenarios, which are run first.",
            autocompletion=bundled_or_file("scenario", files=("nc", "toml")),
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File .html of the page; default: named after its content.")
    ] = None,
    browser: Annotated[bool, typer.Option(help="Open the page, where there is a browser.")] = True,
) -> None:
    """Show results in the browser, on one page that moves.

    The page also has plots. Several results are drawn in one picture.
    """
    from flexarm.pictures.view import check_suffix, opened, viewed

    if out is not None:
        check_suffix(out, f"--out {out}")
    given = [_Given(name) for name in results]
    place = _place(given) if out is None else out
    check_file(place, "--out" if out is not None else "page")
    failures: list[SimulationError] = []
    found = [each.result(failures) for each in given]
    written = viewed(found).save(place)
    say(f"written: {written}")
    if failures:
        raise SimulationError(f"{failures[0]}; the result up to that time is in {written}", failures[0].result)
    if browser:
        opened(written)


class _Given:
    """A result's file, or a scenario to run."""

    def __init__(self, given: str):
        from flexarm.scenario import load_scenario

        self.given = given
        self.file = Path(given) if given.endswith(".nc") else None
        self.scenario = None if self.file else load_scenario(given)

    @property
    def stem(self) -> str:
        return self.file.stem if self.file else escape.file_name(self.scenario.name)  # type: ignore[union-attr]

    def result(self, failures: list[SimulationError]) -> Any:
        """Return the result. For a run that fails it is the part before the failure."""
        from flexarm.simulation.results import load_result

        if self.file:
            return load_result(self.file)
        try:
            return self.scenario.run()  # type: ignore[union-attr]
        except SimulationError as error:
            failures.append(SimulationError(f"{self.given}: {error}", error.result))
            return error.result


def _place(given: list[_Given]) -> Path:
    """Return the path of the page: next to a result's file, or in this folder for scenarios and for several results."""
    alone = given[0]
    if len(given) == 1:
        folder = alone.file.parent if alone.file else Path()
        return folder / f"{alone.stem}.html"
    together = "-and-".join(dict.fromkeys(each.stem for each in given))
    return Path(f"{together}.html" if len(together) <= LONGEST else f"{alone.stem}-and-others.html")
