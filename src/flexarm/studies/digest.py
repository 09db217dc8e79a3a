"""Digests that are equal for equal objects in every process. They identify a study and its computed parts."""

import copyreg
import dataclasses
import functools
import hashlib
import types
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from flexarm.checks import Described, shown
from flexarm.description.arm import Arm
from flexarm.errors import DescriptionError
from flexarm.native.kernel import sources_digest
from flexarm.version import __version__

DEEPEST = 60
MOST = 100_000
"""Largest number of pieces of a value that a function uses. A figure, or a client of a cluster, has no end of them."""


@functools.cache
def code_version() -> str:
    """Return the version of the package with a digest of its sources."""
    return f"{__version__} {sources_digest(Path(__file__).parents[1])[:16]}"


def digest(*things: Any) -> str:
    """Return the digest of descriptions, numbers, arrays, functions and objects that can be pickled.

    A pickle itself is not suitable, since two processes write different pickles of equal objects. Raises
    `DescriptionError`.
    """
    found = hashlib.sha256()
    for piece in _pieces(things, 0):
        found.update(len(piece).to_bytes(8, "big") + piece)
    return found.hexdigest()


def _pieces(thing: Any, depth: int) -> Iterator[bytes]:
    if depth > DEEPEST:
        raise DescriptionError(f"study: {shown(thing)} is nested too deeply, or contains itself")
    inside = depth + 1
    if thing is None or isinstance(thing, bool | int | float | complex | str | bytes | np.generic):
        yield f"{type(thing).__name__}:{thing!r}".encode(errors="backslashreplace")
    elif isinstance(thing, np.ndarray) and thing.dtype.kind in "biufcU":
        yield f"array {thing.dtype.str} {thing.shape}".encode()
        yield np.ascontiguousarray(thing).tobytes()
    elif isinstance(thing, Arm):
        yield thing.canonical().encode()
    elif isinstance(thing, Path):
        yield str(thing).encode(errors="backslashreplace")
    elif isinstance(thing, list | tuple | np.ndarray):
        yield f"list {len(thing)}".encode()
        for item in thing:
            yield from _pieces(item, inside)
    elif isinstance(thing, Mapping):
        yield f"table {len(thing)}".encode()
        for key in sorted(thing, key=repr):
            yield from _pieces(key, inside)
            yield from _pieces(thing[key], inside)
    elif isinstance(thing, set | frozenset):
        yield from _pieces(sorted(thing, key=repr), inside)
    elif isinstance(thing, types.CodeType):
        yield thing.co_code
        yield from _pieces((thing.co_consts, thing.co_names, thing.co_varnames), inside)
    elif isinstance(thing, type | types.BuiltinFunctionType):
        yield f"{thing.__module__}.{thing.__qualname__}".encode()
    elif isinstance(thing, types.FunctionType):
        for function, values in _functions(thing):
            yield f"{function.__module__}.{function.__qualname__}".encode()
            yield from _pieces((function.__code__, function.__defaults__, function.__kwdefaults__), inside)
            for name, value in values.items():
                yield name.encode()
                yield from _held(value, inside)
    elif isinstance(thing, types.MethodType):
        yield from _pieces((thing.__func__, thing.__self__), inside)
    elif isinstance(thing, Described):
        yield type(thing).__name__.encode()
        yield from _pieces(dict(thing), inside)
    elif dataclasses.is_dataclass(thing):
        yield type(thing).__qualname__.encode()
        yield from _pieces({f.name: getattr(thing, f.name) for f in dataclasses.fields(thing)}, inside)
    else:
        if callable(thing) and isinstance(call := type(thing).__call__, types.FunctionType):
            yield from _pieces(call, inside)
        yield from _pieces(_reduced(thing), inside)


def _functions(function: types.FunctionType) -> Iterator[tuple[types.FunctionType, dict[str, Any]]]:
    """Yield a function and the functions of its module that it calls, each with the outer values that it uses.

    They are part of the digest, so that results of a changed function, or of other constants, are not used.
    """
    waiting, known = [function], {function}
    while waiting:
        each = waiting.pop()
        values: dict[str, Any] = {}
        for name, cell in zip(each.__code__.co_freevars, each.__closure__ or (), strict=True):
            with suppress(ValueError):  # the cell is still empty
                values[name] = cell.cell_contents
        values |= {name: each.__globals__[name] for name in _names(each.__code__) if name in each.__globals__}
        for name, value in [*values.items()]:
            if isinstance(value, types.FunctionType) and (value.__module__ == each.__module__):
                del values[name]
                if value not in known:
                    known.add(value)
                    waiting.append(value)
        yield each, values


def _names(code: types.CodeType) -> Iterator[str]:
    """Yield the names that code uses, including those in its inner functions."""
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from _names(inner)


def _held(value: Any, depth: int) -> Iterator[bytes]:
    """Yield pieces of a value that a function uses.

    A value that cannot be pickled, such as a module, or that has too many pieces, counts only by its type.
    """
    if isinstance(value, types.FunctionType):  # a function of another module
        yield f"{value.__module__}.{value.__qualname__}".encode()
        return
    try:
        found = [*islice(_pieces(value, depth), MOST)]
    except DescriptionError:
        found = []
    if len(found) in (0, MOST):
        found = [f"{type(value).__module__}.{type(value).__qualname__}".encode()]
    yield from found


def _reduced(thing: Any) -> Any:
    """Return the parts that pickle would write of an object."""
    try:
        special = copyreg.dispatch_table.get(type(thing))
        found = special(thing) if special else thing.__reduce_ex__(4)
    except Exception as error:  # pickle raises many kinds of error, and the object's own code may raise any
        raise DescriptionError(f"study: {shown(thing)} cannot be pickled: {error}") from None
    if isinstance(found, str):
        return found
    function, arguments, *state = found
    items = [list(x) if isinstance(x, Iterator) else x for x in state]
    return (function, arguments, *items)
