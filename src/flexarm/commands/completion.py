"""Shell completion of bundled names and of .toml files. It reads only the texts of bundled files."""

import os
import re
from collections.abc import Callable
from importlib import resources
from typing import Annotated

import typer

from flexarm.catalogue import PLACES

LONGEST = 60
PLAIN = re.compile(r"[\w@%+,][\w@%+=,.-]*\.(\w+)")
"""Pattern of file names that no shell has to quote."""


def bundled_or_file(*kinds: str, files: tuple[str, ...] = ("toml",)) -> Callable[[str], list[tuple[str, str]]]:
    """Return a function that completes a bundled name of these kinds, or a file with one of these endings."""

    def complete(incomplete: str) -> list[tuple[str, str]]:
        if (
            "/" in incomplete or os.sep in incomplete
        ):  # shells complete paths better, and do so if nothing is returned here
            return []
        known = [(name, said) for kind in kinds for name, said in _bundled(kind) if name.startswith(incomplete)]
        return known + [(name, "") for name in _files(files) if name.startswith(incomplete)]

    return complete


def _bundled(kind: str) -> list[tuple[str, str]]:
    """Return sorted names, and descriptions short enough for one line in the shell."""
    import tomllib

    found = []
    for file in (resources.files("flexarm.catalogue") / PLACES[kind]).iterdir():
        said = tomllib.loads(file.read_text(encoding="utf-8")).get("description", "")
        short = said if len(said) <= LONGEST else said[: LONGEST - 3] + "..."
        found.append((file.name.removesuffix(".toml"), short))
    return sorted(found)


def _files(endings: tuple[str, ...]) -> list[str]:
    """Return the files in the current folder with these endings, without names that a shell would have to quote."""
    try:
        plain = filter(None, map(PLAIN.fullmatch, os.listdir()))
        return sorted(each.string for each in plain if each[1] in endings)
    except OSError:
        return []


ScenarioArgument = Annotated[
    str,
    typer.Argument(
        metavar="SCENARIO",
        help="Name of a bundled scenario, or path of a .toml file.",
        autocompletion=bundled_or_file("scenario"),
    ),
]
"""Type of a command's argument that is a scenario."""
