"""Bundled arms, and arms read from files."""

import tomllib
from importlib import resources
from importlib.resources.abc import Traversable
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from flexarm.checks import shown
from flexarm.description.arm import Arm
from flexarm.errors import DescriptionError

__all__ = ["bundled", "load", "read_toml"]


def bundled() -> tuple[str, ...]:
    """Names of the arms that come with the package, sorted."""
    files = (resources.files("flexarm.catalogue") / "arms").iterdir()
    return tuple(sorted(file.name.removesuffix(".toml") for file in files if file.name.endswith(".toml")))


def load(name_or_path: str | PathLike[str]) -> Arm:
    """A bundled arm by its name, or an arm from the path of a .toml file.

    Raises `DescriptionError`, one line that begins with the file's name.
    """
    if not isinstance(name_or_path, str | PathLike):
        raise DescriptionError(f"load: {shown(name_or_path)} is neither the name of an arm nor a path")
    given = fspath(name_or_path)
    file: Traversable = Path(given)
    if isinstance(name_or_path, str) and Path(given).name == given and not given.endswith(".toml"):
        if given not in bundled():
            known = ", ".join(bundled())
            raise DescriptionError(f"unknown arm {shown(given)}; bundled are {known}, or give the path of a .toml file")
        given += ".toml"
        file = resources.files("flexarm.catalogue") / "arms" / given
    table = read_toml(file, given)
    try:
        return Arm(**table)
    except DescriptionError as error:
        raise error.inside(printable(given), "Arm") from None


def read_toml(file: Traversable, name: str) -> dict[str, Any]:
    """The tables of a TOML file; `name` is what errors call it. Raises `DescriptionError`."""
    name = printable(name)
    try:
        content = file.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a name with a null byte
        reason = getattr(error, "strerror", None) or str(error)
        raise DescriptionError(f"{name}: cannot be read: {reason}") from None
    try:
        return tomllib.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise DescriptionError(f"{name}: byte {content[error.start]:#04x} on line {line} is not UTF-8 text") from None
    except tomllib.TOMLDecodeError as error:
        raise DescriptionError(f"{name}: not a TOML file: {' '.join(str(error).split())}") from None
    except RecursionError:
        raise DescriptionError(f"{name}: not a TOML file: nested too deep") from None


def printable(name: str) -> str:
    """A file's name for a message of one line."""
    return name if name.isprintable() else repr(name)
