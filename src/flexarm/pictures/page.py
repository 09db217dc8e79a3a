"""Self-contained pages: HTML files with scripts, programs and data that open from disk and load nothing else.

Three measures keep a user's texts harmless:

- They enter the page only as data, in JSON with `<`, `>` and `&` as escapes, or as the escaped title.
- The page runs only scripts whose digests are in its policy, which are those written here.
- The policy forbids every connection, so that nothing can leave the page. Only pages of a running loop ask their own
  server.
"""

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from flexarm import escape
from flexarm.checks import shown, unknown_name
from flexarm.errors import DescriptionError

COMMON = ("three.min.js", "uplot.min.js", "data.js", "solids.js", "scene.js")
"""Scripts of every page, in the order in which they run."""

STYLES = ("uplot.min.css", "style.css")

KINDS = {"float64": "f8", "float32": "f4", "int32": "i4", "uint8": "u1"}
"""Types of numbers in a page's typed arrays."""


def page(
    title: str, data: Mapping[str, Any], scripts: Sequence[str], programs: Sequence[str] = (), connects: bool = False
) -> str:
    """Return the text of an HTML file with these data, which runs the scripts in order after the common ones.

    Parameters
    ----------
    title : str
        Title of the page, as plain text.
    data : dict
        Result of `flexarm.data()` in the page: texts, numbers, booleans, None, and lists and dicts of them. Arrays of
        numbers are allowed everywhere. They keep their shape, and every bit in single or double precision. A number
        outside an array that is not finite becomes null.
    scripts : list of str
        Names of files in `assets`, .js or .css.
    programs : list of str
        JavaScript that runs after the common scripts and before `scripts`: functions made from an arm.
    connects : bool
        Let the page ask the server that it comes from, and no other. A page from disk must not connect.

    Raises
    ------
    DescriptionError
        If data contain something else, or if a name is not that of a file in `assets`.
    """
    own = [name for name in scripts if not name.endswith(".css")]
    styles = [asset(name) for name in (*STYLES, *(name for name in scripts if name not in own))]
    code = [*map(asset, COMMON), *programs, *map(asset, own)]
    code = [_in_script(text) for text in code]
    policy = "; ".join(
        [
            "default-src 'none'",
            f"script-src {_digests(code)}",
            f"style-src {_digests(styles)}",
            "img-src data: blob:",
            "base-uri 'none'",
            "form-action 'none'",
            *(["connect-src 'self'"] if connects else []),
        ]
    )
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            '<link rel="icon" href="data:,">',
            f"<title>{escape.html(title)}</title>",
            *(f"<style>{text}</style>" for text in styles),
            "</head>",
            "<body>",
            "<noscript>This page draws with JavaScript, which is switched off.</noscript>",
            f'<script type="application/json" id="flexarm-data">{written(data)}</script>',
            *(f"<script>{text}</script>" for text in code),
            "</body>",
            "</html>",
            "",
        ]
    )


def written(data: Any) -> str:
    """Return data as ASCII JSON that may be placed between tags. Raises `DescriptionError` for unsupported data."""
    text = json.dumps(_plain(data, "data"), separators=(",", ":"), allow_nan=False)
    return re.sub("[<>&]", lambda found: f"\\u{ord(found[0]):04x}", text)


def _plain(value: Any, where: str) -> Any:
    """Return the value as texts, numbers, lists and tables. An array becomes its type, shape and bytes."""
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, Mapping):
        if wrong := [key for key in value if not isinstance(key, str)]:
            raise DescriptionError(f"page: {where} has the key {shown(wrong[0])}; keys must be texts")
        return {_key(key): _plain(part, f"{where}[{shown(key)}]") for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part, f"{where}[{i}]") for i, part in enumerate(value)]
    if isinstance(value, np.ndarray) and value.ndim:
        return _array(value, where)
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.item(), where)
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    allowed = "texts, numbers, booleans, None, lists, dicts and arrays"
    raise DescriptionError(f"page: {where} is {shown(value)}; it must be one of {allowed}")


def _key(key: str) -> str:
    """Return a key that differs from `$array`, the key of arrays. `flexarm.data` removes the second dollar."""
    return f"${key}" if key.startswith("$") else key


def _array(value: np.ndarray, where: str) -> dict[str, Any]:
    if value.dtype.kind == "b":
        value = value.astype("uint8")
    elif value.dtype.kind in "iu" and value.dtype.name not in KINDS:
        limits = np.iinfo("int32")
        fits = value.size == 0 or (limits.min <= int(value.min()) and int(value.max()) <= limits.max)
        value = value.astype("int32" if fits else "float64")
    elif value.dtype == np.float16:
        value = value.astype("float32")
    if value.dtype.name not in KINDS:
        raise DescriptionError(f"page: {where} is an array of {value.dtype}; it must be one of {', '.join(KINDS)}")
    kind = KINDS[value.dtype.name]
    text = base64.b64encode(np.ascontiguousarray(value, dtype=f"<{kind}").tobytes()).decode("ascii")
    return {"$array": kind, "shape": list(value.shape), "base64": text}


@cache
def asset(name: str) -> str:
    """Return the text of a file in `assets`. Raises `DescriptionError` if there is no file of this name."""
    folder = files("flexarm.pictures") / "assets"
    known = sorted(entry.name for entry in folder.iterdir())
    if name not in known:
        raise DescriptionError(unknown_name("page: unknown asset", name, known, "known assets are"))
    return (folder / name).read_text(encoding="utf-8")


def _in_script(code: str) -> str:
    """Return code in which no text or comment ends the script element or changes its meaning."""
    return re.sub("<(?=/?script|!--)", r"\\x3c", code, flags=re.IGNORECASE)


def _digests(texts: Sequence[str]) -> str:
    digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts]
    return " ".join(f"'sha256-{digest}'" for digest in digests)
