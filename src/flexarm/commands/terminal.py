"""What the commands have in common: what they take, where they write, and how they speak."""

import sys
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from flexarm.errors import DescriptionError
from flexarm.files import check_writable

WIDE = 160
"""Columns of a table where no terminal limits them."""

ArmName = Annotated[str, typer.Argument(metavar="ARM", help="Name of a bundled arm, or path of an arm's .toml file.")]


def check_folder(folder: Path, option: str = "--out") -> None:
    """Before a long run rather than after it: the folder is made, and results can be written there."""
    try:
        check_writable(folder / "result")
    except DescriptionError as error:
        raise DescriptionError(error.message, f"{option} {folder}", sentence=True) from None


def spaced(values: Any) -> str:
    return " ".join(f"{x:.5g}" for x in values) or "-"


def say(thing: Any, style: str | None = None) -> None:
    from rich.console import Console

    if sys.stdout is None:  # closed by who has started the command
        return
    wide = None if sys.stdout.isatty() else WIDE
    console = Console(highlight=False, markup=False, width=wide)
    try:
        console.print(thing, soft_wrap=not console.is_terminal and isinstance(thing, str), style=style)
    except OSError as error:
        raise DescriptionError(f"standard output cannot be written: {error.strerror}") from None


def fail(message: str, status: int = 2) -> NoReturn:
    print("flexarm: " + " ".join(message.split()), file=sys.stderr)
    raise SystemExit(status)
