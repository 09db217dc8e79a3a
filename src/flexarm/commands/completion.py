"""What a shell may complete: names of what is bundled, and .toml files. Nothing is loaded for it but their texts."""

import os
import re
from collections.abc import Callable
from importlib import resources
from typing import Annotated

import typer

from flexarm.catalogue import PLACES

LONGEST = 60
PLAIN = re.compile(r"[\w@%+,][\w@%+=,.-]*\.(\w+)")
"""Names of files that no shell has to quote."""


def bundled_or_file(*kinds: str, files: tuple[str, ...] = ("toml",)) -> Callable[[str], list[tuple[str, str]]]:
    """Completes an argument that is the name of something bundled of these kinds, or a file with one of the endings."""

    def complete(incomplete: str) -> list[tuple[str, str]]:
        if os.sep in incomplete:  # a path, which shells complete better; they do where nothing is found here
            return []
        known = [(name, said) for kind in kinds for name, said in _bundled(kind) if name.startswith(incomplete)]
        return known + [(name, "") for name in _files(files) if name.startswith(incomplete)]

    return complete


def _bundled(kind: str) -> list[tuple[str, str]]:
    """Names, sorted, and descriptions as long as shells show them on one line."""
    import tomllib

    found = []
    for file in (resources.files("flexarm.catalogue") / PLACES[kind]).iterdir():
        said = tomllib.loads(file.read_text(encoding="utf-8")).get("description", "")
        short = said if len(said) <= LONGEST else said[: LONGEST - 3] + "..."
        found.append((file.name.removesuffix(".toml"), short))
    return sorted(found)


def _files(endings: tuple[str, ...]) -> list[str]:
    """The files of the folder in which the shell is that end so, but those whose names a shell would have to quote."""
    try:
        plain = filter(None, map(PLAIN.fullmatch, os.listdir()))
        return sorted(each.string for each in plain if each[1] in endings)
    except OSError:
        return []


ScenarioArgument = Annotated[
    str,
    typer.Argument(
        metavar="SCENARIO",
        help="A bundled one, or path of a .toml file.",
        autocompletion=bundled_or_file("scenario"),
    ),
]
"""The argument of a command that takes one."""
