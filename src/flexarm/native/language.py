"""Loops in machine code, written as Python functions in a subset of Python that is translated to LLVM IR.

A function to be translated has annotated arguments of these types:

- `int` (64 bits) and `float`
- `Floats` and `Words`, addresses of arrays of numbers, or of integers and addresses of 8 bytes
- records, dataclasses of these types and of other records
- `Sequence[SomeRecord]`, the address of a word with a record's address

The function may use assignments, arithmetic, comparisons, `if`, `while`, `for i in range(...)`, `for i in lanes(n)`,
`break`, `continue`, `return`, `x[i]`, `x[i:]` (the address of x[i]), `record.name`, `min`, `max`, `abs`, `sqrt`,
`float`, `int`, `call`, the constants of its module, and other such functions. Division of integers is correct for
non-negative ones only.

The same function runs in Python, with arrays, views in place of `x[i:]` and functions in place of addresses. It can
therefore be tested without a compiler, and compared with its translation.
"""

import math
from dataclasses import fields
from functools import cache
from typing import Annotated, Any, TypeAlias, final

import numpy as np

from flexarm.arrays import address_of

Floats: TypeAlias = Annotated[np.ndarray, "double"]
"""Address of an array of numbers."""
Words: TypeAlias = Annotated[np.ndarray, "i64"]
"""Address of an array of 8-byte integers or addresses."""
Shared: TypeAlias = Annotated[np.ndarray, "double", "shared"]
"""Address of an array of numbers, which are those of all runs if several are computed at once (`batched`)."""
SharedWords: TypeAlias = Annotated[np.ndarray, "i64", "shared"]
"""Address of an array of 8-byte integers or addresses, which are those of all runs."""
Each: TypeAlias = Annotated[int, "each"]
"""An integer that belongs to each of several runs that are computed at once."""


def call(function: Any, *arguments: Any) -> None:
    """Call the function at an address: `void function(...)`."""
    function(*arguments)


def lanes(count: int) -> range:
    """Return a range for iterations that do not depend on each other, so that several are executed at once.

    Within the loop, the counter may only appear alone as an index, x[i], and only such elements may be assigned. A
    number may be a sum over the rounds, s += x[i], whose terms are added in another order. A condition on an element
    has the form `a if x[i] < y[i] else b`, which computes both values. The translation raises an error for anything
    else.
    """
    return range(count)


def sqrt(x: float) -> float:
    """Return the square root."""
    return math.sqrt(x)


@cache
def form_of(record: type) -> tuple[dict[str, Any], dict[str, int]]:
    """Return the types of a record's fields, and their places, by name."""
    kinds = {each.name: each.type for each in fields(record)}
    return kinds, {name: i for i, name in enumerate(kinds)}


def aligned(x: np.ndarray) -> np.ndarray:
    """Return a copy of an array (n,) of 8-byte numbers that begins at a multiple of 64 bytes, a line of the cache.

    The numbers of `LANES` runs then lie in one line, and are read about twice as fast.
    """
    space = np.empty(len(x) + 8, dtype=x.dtype)
    first = -address_of(space) % 64 // 8
    found = space[first : first + len(x)]
    found[:] = x
    return found


def of_runs(record: Any, runs: int) -> Any:
    """Return a record for several runs, which has the numbers of a record in each of them. Arrays become flat."""
    made = {}
    for name, kind in form_of(record.__class__)[0].items():
        value = getattr(record, name)
        if kind in (float, Each):
            made[name] = np.full(runs, value, dtype=float if kind is float else np.int64)
        elif kind in (Floats, Words):
            made[name] = aligned(np.repeat(value, runs))
        else:
            made[name] = value
    return record.__class__(**made)


@final
class Placed:
    """A record in memory for translated functions, one word per field. Its fields are read and written as attributes.

    Arrays and other records cannot be replaced, and stay alive with the record. A record for several `runs` has the
    layout that `batched` describes, with the given numbers for each run.
    """

    address: int

    def __init__(self, record: Any, runs: int = 1):
        if runs > 1:
            record = of_runs(record, runs)
        kinds, places = form_of(record.__class__)
        words = np.zeros(len(kinds), dtype=np.int64)
        floats = words.view(np.float64)
        object.__setattr__(self, "_kinds", kinds)
        object.__setattr__(self, "_places", places)
        object.__setattr__(self, "_words", words)
        object.__setattr__(self, "_floats", floats)
        object.__setattr__(self, "_held", record)
        object.__setattr__(self, "address", address_of(words))
        for i, (name, kind) in enumerate(kinds.items()):
            value = getattr(record, name)
            if isinstance(value, np.ndarray):
                assert value.flags.c_contiguous, f"{name} is stored row by row"
                words[i] = address_of(value)
            elif kind is float:
                floats[i] = value
            else:
                words[i] = value.address if isinstance(value, Placed) else value

    def __getattr__(self, name: str) -> Any:
        kind, held = self._kinds[name], getattr(self._held, name)
        if isinstance(held, np.ndarray) or kind not in (int, float, Each):
            return held
        return float(self._floats[self._places[name]]) if kind is float else int(self._words[self._places[name]])

    def __setattr__(self, name: str, value: Any) -> None:
        where = self._floats if self._kinds[name] is float else self._words
        where[self._places[name]] = value
