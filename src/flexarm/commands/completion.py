"""What a shell may complete: names of what is bundled, and .toml files. Nothing is loaded for it but their texts."""

import os
import re
from collections.abc import Callable
from importlib import resources

from flexarm.catalogue import PLACES

LONGEST = 60
PLAIN = re.compile(r"[\w@%+,][\w@%+=,.-]*\.toml")


def bundled_or_file(*kinds: str) -> Callable[[str], list[tuple[str, str]]]:
    """Completes an argument that is the name of something bundled of these kinds, or the path of a .toml file."""

    def complete(incomplete: str) -> list[tuple[str, str]]:
        if os.sep in incomplete:  # a path, which shells complete better; they do where nothing is found here
            return []
        found = [(name, said) for kind in kinds for name, said in _bundled(kind) if name.startswith(incomplete)]
        return found + [(name, "") for name in _files() if name.startswith(incomplete)]

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


def _files() -> list[str]:
    """The .toml files of the folder in which the shell is, but those whose names a shell would have to quote."""
    try:
        return sorted(name for name in os.listdir() if PLAIN.fullmatch(name))
    except OSError:
        return []
