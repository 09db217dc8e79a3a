"""One digest for equal things, in every process: what a study is, and what of it has been computed."""

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
"""Pieces of what a function finds around it: a figure, or a client of a cluster, has no end of them."""


@functools.cache
def code_version() -> str:
    """Of the package: its version, and a digest of its sources."""
    return f"{__version__} {sources_digest(Path(__file__).parents[1])[:16]}"


def digest(*things: Any) -> str:
    """Of descriptions, numbers, arrays, functions and objects that pickle.

    A pickle itself would not do: of equal objects, two processes write different ones. Raises `DescriptionError`.
    """
    found = hashlib.sha256()
    for piece in _pieces(things, 0):
        found.update(len(piece).to_bytes(8, "big") + piece)
    return found.hexdigest()


def _pieces(thing: Any, depth: int) -> Iterator[bytes]:
    if depth > DEEPEST:
        raise DescriptionError(f"study: {shown(thing)} is nested too deep, or holds itself")
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
    """A function and those of its module that it calls, each with the values that it takes from around it.

    They are part of it: a function that was changed has not computed what lies there, nor one made with other numbers.
    """
    waiting, known = [function], {function}
    while waiting:
        each = waiting.pop()
        values: dict[str, Any] = {}
        for name, cell in zip(each.__code__.co_freevars, each.__closure__ or (), strict=True):
            with suppress(ValueError):  # it is still empty
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
    """Of what code asks for, that of the functions inside it too."""
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from _names(inner)


def _held(value: Any, depth: int) -> Iterator[bytes]:
    """What a function holds or finds around it; what does not pickle, as a module, or has no end is no number."""
    if isinstance(value, types.FunctionType):  # of another module
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
    """What pickle would write of an object."""
    try:
        special = copyreg.dispatch_table.get(type(thing))
        found = special(thing) if special else thing.__reduce_ex__(4)
    except Exception as error:  # pickle raises many kinds, and the object's own code any
        raise DescriptionError(f"study: {shown(thing)} cannot be pickled: {error}") from None
    if isinstance(found, str):
        return found
    function, arguments, *state = found
    items = [list(x) if isinstance(x, Iterator) else x for x in state]
    return (function, arguments, *items)
