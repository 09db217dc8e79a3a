"""An arm's description as a TOML file says it."""

import json
from typing import Any

from flexarm.description.arm import Arm
from flexarm.errors import DescriptionError


def toml(arm: Arm) -> str:
    """The text of a file that `fa.load` reads as this arm; raises `DescriptionError` for shapes of a user's object."""
    table = json.loads(arm.canonical())
    links, payload = table.pop("links"), table.pop("payload")
    parts = [_lines(table), *(f"[[links]]\n{_lines(link)}" for link in links)]
    if payload is not None:
        parts.append(f"[payload]\n{_lines(payload)}")
    return "\n\n".join(parts) + "\n"


def _lines(table: dict[str, Any]) -> str:
    return "\n".join(f"{_key(name)} = {_value(value)}" for name, value in table.items() if value is not None)


def _value(value: Any) -> str:
    """A value on one line."""
    if isinstance(value, dict):
        if set(value) == {"family", "state"}:  # as `Arm.canonical` names an object that it does not know
            raise DescriptionError(f"toml: shapes is a {value['family']}; a file holds names of families only")
        pairs = (f"{_key(name)} = {_value(x)}" for name, x in value.items() if x is not None)
        return "{ " + ", ".join(pairs) + " }"
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    return json.dumps(value)  # strings, numbers, true and false are written alike


def _key(name: str) -> str:
    return name if name.replace("_", "").replace("-", "").isalnum() and name.isascii() else json.dumps(name)
