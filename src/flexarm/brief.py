"""Short texts for objects that contain arrays and other objects: what a terminal or a notebook shows of them."""

from dataclasses import MISSING, fields
from typing import Any, TypeVar

import numpy as np

Class = TypeVar("Class", bound=type)

LONGEST = 60
"""Largest number of characters of one field. A longer value is replaced by its type, its size or its beginning."""


def brief(cls: Class) -> Class:
    """Give a dataclass a short `repr`: the fields that differ from their defaults, with long values shortened."""
    cls.__repr__ = _brief  # type: ignore[assignment,method-assign]
    return cls


def _brief(thing: Any) -> str:
    given = [each for each in fields(thing) if each.repr and not _is_default(thing, each)]
    return f"{type(thing).__name__}({', '.join(f'{x.name}={_short(getattr(thing, x.name))}' for x in given)})"


def _is_default(thing: Any, field: Any) -> bool:
    value, default = getattr(thing, field.name), field.default
    if field.default_factory is not MISSING:
        default = field.default_factory()
    return type(value) is type(default) and not isinstance(value, np.ndarray) and bool(value == default)


def _short(value: Any) -> str:
    if isinstance(value, np.ndarray) and value.size > 1:
        text = np.array2string(value, precision=6, separator=", ").replace("\n", "")
        return text if len(text) <= LONGEST and value.ndim == 1 else f"<array {' x '.join(map(str, value.shape))}>"
    text = repr(value)
    if len(text) <= LONGEST and "\n" not in text:
        return text
    if isinstance(value, str):
        return repr(value[: LONGEST - 3] + "...")
    if isinstance(value, list | tuple | dict | set | frozenset):
        return f"<{type(value).__name__} of {len(value)}>"
    return f"{type(value).__name__}(...)"
