"""Loops in machine code, written as Python functions: the part of the language that is translated to LLVM IR.

A function that is to be translated has annotated arguments: `int` (64 bits), `float`, `Floats` and `Words` (where
numbers, or integers and addresses of 8 bytes, lie), records, which are dataclasses of such and of other records, and
`Sequence[SomeRecord]`, where the address of one lies. It may use assignments, arithmetic, comparisons, `if`, `while`,
`for i in range(...)`, `for i in lanes(n)`, `break`, `continue`, `return`, `x[i]`, `x[i:]` (what lies from there on),
`record.name`, `min`, `max`, `abs`, `sqrt`, `float`, `int`, `call`, the numbers of its module, and other functions of
the kind. Integers are divided as those that are not negative.

The same function runs in Python, with arrays, a view in the place of `x[i:]` and functions in the place of addresses:
so it can be tested without a compiler, and what was translated compared with what was meant.
"""

import math
from dataclasses import fields
from typing import Annotated, Any, TypeAlias, final

import numpy as np

Floats: TypeAlias = Annotated[np.ndarray, "double"]
"""Where numbers lie."""
Words: TypeAlias = Annotated[np.ndarray, "i64"]
"""Where integers of 8 bytes lie, or addresses."""


def call(function: Any, *arguments: Any) -> None:
    """Call what stands at an address: `void function(...)`."""
    function(*arguments)


def lanes(count: int) -> range:
    """For rounds that do not depend on each other, so that several are made at once.

    In the loop the counter stands alone between brackets, x[i], and such elements alone are assigned. What one round
    takes and another does not is said as `a if x[i] < y[i] else b`, of which both values are computed. Anything else
    is refused when it is translated.
    """
    return range(count)


def sqrt(x: float) -> float:
    """Square root."""
    return math.sqrt(x)


@final
class Placed:
    """A record where translated functions see it, a word a field; its fields are read and written like its own.

    Arrays and other records are fixed, and stay alive with it.
    """

    address: int

    def __init__(self, record: Any):
        kinds = {f.name: f.type for f in fields(record)}
        words = np.zeros(len(kinds), dtype=np.int64)
        floats = words.view(np.float64)
        object.__setattr__(self, "_kinds", kinds)
        object.__setattr__(self, "_places", {name: i for i, name in enumerate(kinds)})
        object.__setattr__(self, "_words", words)
        object.__setattr__(self, "_floats", floats)
        object.__setattr__(self, "_held", record)
        object.__setattr__(self, "address", words.ctypes.data)
        for i, (name, kind) in enumerate(kinds.items()):
            value = getattr(record, name)
            if kind is float:
                floats[i] = value
            elif isinstance(value, np.ndarray):
                words[i] = value.ctypes.data
            else:
                words[i] = value.address if isinstance(value, Placed) else value

    def __getattr__(self, name: str) -> Any:
        kind = self._kinds[name]
        if kind is int:
            return int(self._words[self._places[name]])
        return float(self._floats[self._places[name]]) if kind is float else getattr(self._held, name)

    def __setattr__(self, name: str, value: Any) -> None:
        where = self._floats if self._kinds[name] is float else self._words
        where[self._places[name]] = value
