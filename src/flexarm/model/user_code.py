"""Classes of the user's own, and keys that follow what they do rather than what they say of themselves.

The package's own classes are known by the numbers in them: its sources count for every key. A class from outside may
change while its description stays the same, so what follows from it is known by the expressions that it gives. These
are traced anew in each process, which takes milliseconds.
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

PACKAGE = __name__.partition(".")[0]
PLAIN = (type(None), bool, int, float, complex, str, bytes, np.generic)
MOST = 100_000
"""Parts that are looked at; what has more counts as the user's own."""


def is_foreign(*things: Any) -> bool:
    """Whether a class or a function that is not the package's own stands in these things or in what they hold."""
    waiting = [*things]
    known: dict[int, Any] = {}  # with the things, so that no other gets the number of one that is gone
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
    """What a thing of the package, or one of Python's containers, holds; None for everything else."""
    if isinstance(thing, types.MethodType):
        return [thing.__func__, thing.__self__]
    named = thing if isinstance(thing, type | types.FunctionType) else type(thing)
    if str(named.__module__).partition(".")[0] == PACKAGE:
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
    """The fields of an object: what it was made from, and not what it has computed and keeps."""
    if isinstance(thing, Described):
        return [value for _, value in thing]
    if dataclasses.is_dataclass(thing):
        return [getattr(thing, each.name) for each in dataclasses.fields(thing)]
    if hasattr(thing, "arm") and hasattr(thing, "fingerprint"):  # a model, which is made from its arm and its numbers
        return [thing.arm]
    return [*vars(thing).values()] if hasattr(thing, "__dict__") else []


def digest(*functions: "ca.Function") -> str:
    """Return a text that is the same for equal expressions, in every process and with this version of CasADi."""
    found = hashlib.sha256()
    for each in functions:
        found.update(each.serialize().encode())
    return found.hexdigest()
