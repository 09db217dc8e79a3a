"""Machine code of functions in the language of `language`."""

import inspect
from collections.abc import Callable
from typing import Any

from flexarm.native.code import Code
from flexarm.native.kernel import Source, code


def translated(*functions: Callable[..., Any]) -> Code:
    """Return the machine code of functions, each under its own name, from the cache or compiled."""
    key = "\n".join(["translated", *(f"{f.__qualname__}\n{inspect.getsource(f)}" for f in functions)])
    names = tuple(f.__name__ for f in functions)

    def build() -> Source:
        from flexarm.native.translate import optimized

        return Source(optimized(*functions))

    return code(key, names, (), build)
