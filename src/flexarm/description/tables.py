"""Reading of TOML files within limits of size and nesting, and the names of files in messages."""

import re
import sys
import tomllib
from importlib.resources.abc import Traversable
from os import PathLike, fspath
from typing import Any

from flexarm.checks import shown
from flexarm.errors import DescriptionError, shortened

MOST_BYTES = 4 * 1024**2
"""Largest size of a file in bytes. The largest tables of a scenario are smaller. The limit also ends the reading of
endless files."""

MOST_DIGITS = sys.get_int_max_str_digits()

LONG_KEY = re.compile(r"""(?<![\w-])(?:(?:[\w-]++|"(?:\\.|[^"\\\n])*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){32}""")
"""Pattern of a key with more than 32 parts, where `a.b.c` has three. `tomllib` takes minutes for many thousands of
parts."""


def read_toml(file: Traversable, name: str) -> dict[str, Any]:
    """Return the tables of a TOML file, which error messages call `name`. Raises `DescriptionError`."""
    name = printable(name)
    try:
        with file.open("rb") as opened:
            content = opened.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:  # ValueError: a name with a null byte
        reason = getattr(error, "strerror", None) or str(error)
        raise DescriptionError(f"{name}: cannot be read: {reason}") from None
    if len(content) > MOST_BYTES:
        raise DescriptionError(f"{name}: is larger than {MOST_BYTES // 1024**2} MiB, the limit for arms and scenarios")
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
    except ValueError:  # from Python's `int`, which rejects numbers with thousands of digits
        raise DescriptionError(f"{name}: an integer has too many digits; at most {MOST_DIGITS} are allowed") from None
    except RecursionError:
        raise DescriptionError(f"{name}: not a TOML file: nested too deep") from None


def path_text(caller: str, what: str, name_or_path: object) -> str:
    """Return a name or a path as text. Raises `DescriptionError` if the argument is neither."""
    given = fspath(name_or_path) if isinstance(name_or_path, str | PathLike) else None
    if not isinstance(given, str):
        raise DescriptionError(f"{caller}: {shown(name_or_path)} is neither the name of {what} nor a path")
    return given


def printable(name: str) -> str:
    """Return a file's name for a message of one line."""
    return shortened(name if name.isprintable() else repr(name))
