"""Command that derives an arm's equations in closed form: derive."""

from pathlib import Path
from typing import Annotated

import typer

from flexarm.commands.terminal import ArmName, check_file, check_folder, check_unread, say
from flexarm.errors import DescriptionError
from flexarm.files import write_whole


def derive(
    arm: ArmName,
    latex: Annotated[Path | None, typer.Option(help="Write a LaTeX document.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write a Markdown document.")] = None,
    python: Annotated[Path | None, typer.Option(help="Write a Python module that needs NumPy.")] = None,
    javascript: Annotated[Path | None, typer.Option(help="Write a JavaScript function for browsers and Node.")] = None,
    c: Annotated[Path | None, typer.Option(help="Folder for C sources: header, function, test.")] = None,
    matlab: Annotated[Path | None, typer.Option(help="Folder for a MATLAB or Octave function.")] = None,
    numbers: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME[=VALUE]",
            help="A parameter to replace by a number; may be a pattern; repeatable.",
        ),
    ] = None,
    part: Annotated[
        list[str] | None,
        typer.Option("--part", help="Only this part: M, D, damping, U, G, B, bias, energy, tip, ...; repeatable."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Continue even if the closed forms will be very large.")] = False,
) -> None:
    """Derive the equations of motion in closed form.

    Prints them, or writes them as a document or as source code.
    """
    import time

    from flexarm.closed_forms.equations import equations
    from flexarm.description.load import load

    began = time.perf_counter()
    described, settings = load(arm), dict(map(_setting, numbers or []))
    asked = {"--latex": latex, "--markdown": markdown, "--python": python, "--javascript": javascript}
    check_unread([arm], asked)
    for option, path in asked.items():
        if path is not None:
            check_file(path, option)
            if [*asked.values()].count(path) > 1:
                raise DescriptionError(f"{option} {path}: another option writes to this file too; give another path")
    for option, folder in (("--c", c), ("--matlab", matlab)):
        if folder is not None:
            check_folder(folder, option)
    found = equations(described, settings, however_large=yes)
    made = found.latex, found.markdown, found.python, found.javascript
    texts = dict(zip(asked.values(), made, strict=True))
    files = {path: make(part or None) for path, make in texts.items() if path is not None}
    if c is not None:
        files |= {c / name: text for name, text in found.c(part or None).items()}
    if matlab is not None:
        text = found.matlab(part or None)
        files[matlab / f"{found.identifier}.m"] = text
    if files:
        for path, text in files.items():
            write_whole(path, text.encode())
        if note := found.without_closed_forms:
            say(note)
        say(f"written: {', '.join(map(str, files))}; {time.perf_counter() - began:.2f} s")
    else:
        say(found.text(part or None), style=None)


def _setting(text: str) -> tuple[str, float | None]:
    name, equals, value = text.partition("=")
    try:
        return name, float(value) if equals else None
    except ValueError:
        raise DescriptionError(f"--set {text}: {value!r} is not a number; write NAME or NAME=VALUE") from None
