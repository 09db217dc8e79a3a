"""Machine code of functions in the language of `language`."""

import inspect
from collections.abc import Callable
from typing import Any

from flexarm.native.code import Code
from flexarm.native.kernel import Source, code


def translated(*functions: Callable[..., Any], batch: tuple[type, ...] | None = None) -> Code:
    """Return the machine code of functions, each under its own name, from the cache or compiled.

    With `batch`, the functions have one argument, a record of `LANES` runs, and process all of these runs at once. Each
    run then has its own records of these classes (`batched`).
    """
    kind = "translated" if batch is None else "translated for batches"
    key = "\n".join([kind, *(f"{f.__qualname__}\n{inspect.getsource(f)}" for f in functions)])
    names = tuple(f.__name__ for f in functions)

    def build() -> Source:
        if batch is not None:
            from flexarm.native.batched import ir_of_batches
            from flexarm.native.translate import in_registers

            return Source(in_registers(ir_of_batches(*functions, apart=batch)))
        from flexarm.native.translate import optimized

        return Source(optimized(*functions))

    return code(key, names, (), build)
