"""An arm's description as the text of a TOML file."""

import json
from typing import Any

from flexarm.errors import DescriptionError


def toml_text(canonical: str) -> str:
    """Return the text of a file that `fa.load` reads as the arm that `Arm.canonical` describes.

    Raises `DescriptionError` for shapes that are a user's object.
    """
    table = json.loads(canonical)
    links, payload = table.pop("links"), table.pop("payload")
    parts = [_lines(table), *(f"[[links]]\n{_lines(link)}" for link in links)]
    if payload is not None:
        parts.append(f"[payload]\n{_lines(payload)}")
    return "\n\n".join(parts) + "\n"


def _lines(table: dict[str, Any]) -> str:
    return "\n".join(f"{_key(name)} = {_value(value)}" for name, value in table.items() if value is not None)


def _value(value: Any) -> str:
    """Text of a value on one line."""
    if isinstance(value, dict):
        if set(value) == {"family", "state"}:  # `Arm.canonical` names an unknown object in this form
            raise DescriptionError(f"shapes is a {value['family']}; a file can only store families by name")
        pairs = (f"{_key(name)} = {_value(x)}" for name, x in value.items() if x is not None)
        return "{ " + ", ".join(pairs) + " }"
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    return json.dumps(value)  # strings, numbers, true and false have the same form in JSON


def _key(name: str) -> str:
    return name if name.replace("_", "").replace("-", "").isalnum() and name.isascii() else json.dumps(name)
