"""Command that simulates an arm live in the browser: play."""

from pathlib import Path
from typing import Annotated

import typer

from flexarm import escape
from flexarm.commands.completion import bundled_or_file
from flexarm.commands.terminal import check_file, say


def play(
    what: Annotated[
        str,
        typer.Argument(
            metavar="ARM_OR_SCENARIO",
            help="Name of a bundled arm or scenario, or path of a .toml, .urdf, .xml (MJCF) or .sdf file.",
            autocompletion=bundled_or_file("arm", "scenario"),
        ),
    ],
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="The page; default NAME-live.html.")] = None,
    browser: Annotated[bool, typer.Option(help="Open the page, where there is a browser.")] = True,
) -> None:
    """Write a page that simulates the arm itself.

    On the page you drag the arm's target, push the arm, and change controller, payload and stiffness.
    """
    from flexarm.pictures.play import played
    from flexarm.pictures.view import check_suffix, opened

    if out is not None:
        check_suffix(out, f"--out {out}")
        check_file(out, "--out")
    made = played(what)
    place = Path(f"{escape.file_name(made.title)}-live.html") if out is None else out
    check_file(place, "--out")
    written = made.save(place)
    say(f"written: {written}")
    if browser:
        opened(written)
