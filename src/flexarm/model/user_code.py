"""User-defined classes, and cache keys that follow their expressions rather than their descriptions.

The package's own classes enter a key by their numbers, and the package's sources are part of every key. A user-defined
class may change while its description stays the same, so its expressions enter the key. They are traced again in each
process, which takes milliseconds.
"""

import dataclasses
import hashlib
import types
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from flexarm.checks import Described

if TYPE_CHECKING:
    import casadi as ca

PACKAGE = "flexarm."
"""Beginning of the names of the package's modules."""

PLAIN = (type(None), bool, int, float, complex, str, bytes, np.generic)
MOST = 100_000
"""Largest number of parts that are searched; an object with more counts as user-defined."""


def is_foreign(*things: Any) -> bool:
    """Return whether these objects or their parts have a class or a function from outside the package."""
    waiting = [*things]
    known: dict[int, Any] = {}  # stores the objects too, so that no new object reuses the id of an old one
    while waiting:
        thing = waiting.pop()
        if isinstance(thing, PLAIN) or id(thing) in known:
            continue
        if isinstance(thing, np.ndarray) and thing.dtype != object:
            continue
        known[id(thing)] = thing
        parts = _parts(thing)
        if parts is None or len(known) > MOST:
            return True
        waiting += parts
    return False


def _parts(thing: Any) -> Iterator[Any] | list[Any] | None:
    """Return the parts of an object of the package or of a Python container, or None for any other object."""
    if isinstance(thing, types.MethodType):
        return [thing.__func__, thing.__self__]
    named = thing if isinstance(thing, type | types.FunctionType) else type(thing)
    if f"{named.__module__}.".startswith(PACKAGE):
        if isinstance(thing, type):
            return []
        if isinstance(thing, types.FunctionType):
            return [cell.cell_contents for cell in thing.__closure__ or ()]
        return _fields(thing)
    if isinstance(thing, Mapping):
        return [*thing.keys(), *thing.values()]
    if type(thing) in (list, tuple, set, frozenset, np.ndarray):
        return list(thing)
    return None


def _fields(thing: Any) -> list[Any]:
    """Return the fields from which an object was made, without values that it has computed and stored."""
    if isinstance(thing, Described):
        return [value for _, value in thing]
    if dataclasses.is_dataclass(thing):
        return [getattr(thing, each.name) for each in dataclasses.fields(thing)]
    # a model, which is determined by its arm and its parameters
    if hasattr(thing, "arm") and hasattr(thing, "fingerprint"):
        return [thing.arm]
    return [*vars(thing).values()] if hasattr(thing, "__dict__") else []


def digest(*functions: "ca.Function") -> str:
    """Return a text that is the same for equal expressions, in every process and with this version of CasADi."""
    found = hashlib.sha256()
    for each in functions:
        found.update(each.serialize().encode())
    return found.hexdigest()
