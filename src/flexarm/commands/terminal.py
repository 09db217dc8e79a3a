"""What the commands have in common: what they take, where they write, and how they speak."""

import os
import sys
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from flexarm.errors import DescriptionError

WIDE = 160
"""Columns of a table where no terminal limits them."""

ArmName = Annotated[str, typer.Argument(metavar="ARM", help="Name of a bundled arm, or path of an arm's .toml file.")]


def check_folder(folder: Path, option: str = "--out") -> None:
    """Before a long run rather than after it: results can be written there."""
    present = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not present.is_dir():
        raise DescriptionError(f"{option} {folder}: {present} is not a folder")
    if not os.access(present, os.W_OK | os.X_OK):
        raise DescriptionError(f"{option} {folder}: {present} cannot be written to")


def spaced(values: Any) -> str:
    return " ".join(f"{x:.5g}" for x in values) or "-"


def say(thing: Any, style: str | None = None) -> None:
    from rich.console import Console

    wide = None if sys.stdout.isatty() else WIDE
    console = Console(highlight=False, markup=False, width=wide)
    console.print(thing, soft_wrap=not console.is_terminal and isinstance(thing, str), style=style)


def fail(message: str, status: int = 2) -> NoReturn:
    print("flexarm: " + " ".join(message.split()), file=sys.stderr)
    raise SystemExit(status)
