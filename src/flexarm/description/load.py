"""Bundled arms, and arms read from files."""

import os
import re
import sys
import tomllib
from importlib import resources
from importlib.resources.abc import Traversable
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from flexarm.catalogue import PLACES
from flexarm.checks import meant, shown
from flexarm.description.arm import Arm
from flexarm.errors import DescriptionError

__all__ = ["bundled", "load", "read_toml"]

MOST_BYTES = 4 * 1024**2
"""Of a file: the largest tables of a scenario are smaller, and what does not end is not read to the end."""

MOST_DIGITS = sys.get_int_max_str_digits()

LONG_KEY = re.compile(r"""(?<![\w-])(?:(?:[\w-]++|"(?:\\.|[^"\\\n])*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){32}""")
"""A key of more than 32 parts, as `a.b.c` has three: `tomllib` takes minutes for one of many thousands."""


def bundled() -> tuple[str, ...]:
    """Names of the arms that come with the package, sorted."""
    return catalogued("arm")


def catalogued(kind: str) -> tuple[str, ...]:
    """Names of what comes with the package of a kind, "arm", sorted."""
    files = (resources.files("flexarm.catalogue") / PLACES[kind]).iterdir()
    return tuple(sorted(file.name.removesuffix(".toml") for file in files if file.name.endswith(".toml")))


def table_of(kind: str, name: str) -> dict[str, Any]:
    """The tables of something bundled as they stand in its file."""
    file, given, _ = located("table_of", kind, name)
    return read_toml(file, given)


def description_of(kind: str, name: str) -> str:
    """What something bundled says of itself."""
    return str(table_of(kind, name).get("description", ""))


def located(caller: str, kind: str, name_or_path: object) -> tuple[Traversable, str, Path | None]:
    """The file of something bundled, by its name, or from the path of a .toml file.

    With it what messages call it, and its folder, None of what is bundled. Raises `DescriptionError`.
    """
    given = path_text(caller, _one(kind), name_or_path)
    if not isinstance(name_or_path, str) or Path(given).name != given or given.endswith(".toml"):
        return Path(given), given, Path(given).parent
    if given not in catalogued(kind):
        known = ", ".join(catalogued(kind))
        said = f"unknown {kind} {shown(given)}; bundled are {known}, or give the path of a .toml file"
        raise DescriptionError(said + _meant(kind, given))
    given += ".toml"
    return resources.files("flexarm.catalogue") / PLACES[kind] / given, given, None


def _meant(kind: str, given: str) -> str:
    """What the wrong name of something bundled may stand for: a file that is there, another kind, a name like it."""
    if os.path.isfile(f"{given}.toml"):
        return f"; did you mean {shown(f'{given}.toml')}?"
    if others := [other for other in PLACES if given in catalogued(other)]:
        return f"; it is the name of {_one(others[0])}"
    return meant(given, catalogued(kind))


def _one(kind: str) -> str:
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"


def load(name_or_path: str | PathLike[str]) -> Arm:
    """A bundled arm by its name, or an arm from the path of a .toml file.

    Raises `DescriptionError`, one line that begins with the file's name, also for a scenario or a study.
    """
    file, given, folder = located("load", "arm", name_or_path)
    table = read_toml(file, given)
    for kind, key in (("study", "scenario"), ("scenario", "arm")):
        if key in table:
            raise DescriptionError(f"{printable(given)}: this is a {kind}; its {key} is {shown(table[key])}")
    try:
        return Arm(**_seen_from(folder, table))
    except DescriptionError as error:
        raise error.inside(printable(given), "Arm") from None


def _seen_from(folder: Path | None, table: dict[str, Any]) -> dict[str, Any]:
    """The table of an arm in whose folder the files of its parts are looked for."""
    links = table.get("links")
    for link in links if folder is not None and isinstance(links, list) else ():
        body = link.get("body") if isinstance(link, dict) else None
        if isinstance(body, dict) and isinstance(body.get("file"), str):
            body["file"] = str(folder / body["file"])
    return table


def read_toml(file: Traversable, name: str) -> dict[str, Any]:
    """The tables of a TOML file; `name` is what errors call it. Raises `DescriptionError`."""
    name = printable(name)
    try:
        with file.open("rb") as opened:
            content = opened.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:  # ValueError: a name with a null byte
        reason = getattr(error, "strerror", None) or str(error)
        raise DescriptionError(f"{name}: cannot be read: {reason}") from None
    if len(content) > MOST_BYTES:
        raise DescriptionError(f"{name}: is larger than {MOST_BYTES // 1024**2} MiB; no arm or scenario needs that")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise DescriptionError(f"{name}: byte {content[error.start]:#04x} on line {line} is not UTF-8 text") from None
    if LONG_KEY.search(text):
        raise DescriptionError(f"{name}: not a TOML file: nested too deep")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DescriptionError(f"{name}: not a TOML file: {' '.join(str(error).split())}") from None
    except ValueError:  # from Python's `int`, which reads no number of thousands of digits
        raise DescriptionError(f"{name}: an integer has too many digits; at most {MOST_DIGITS} are allowed") from None
    except RecursionError:
        raise DescriptionError(f"{name}: not a TOML file: nested too deep") from None


def path_text(caller: str, what: str, name_or_path: object) -> str:
    """A name or a path as a text; raises `DescriptionError` where it is neither."""
    given = fspath(name_or_path) if isinstance(name_or_path, str | PathLike) else None
    if not isinstance(given, str):
        raise DescriptionError(f"{caller}: {shown(name_or_path)} is neither the name of {what} nor a path")
    return given


def printable(name: str) -> str:
    """A file's name for a message of one line."""
    return name if name.isprintable() else repr(name)
