"""Machine code of functions in the language of `language`."""

import ast
import inspect
import sys
import textwrap
from collections.abc import Callable
from typing import Any

from flexarm.native.code import Code
from flexarm.native.kernel import Source, code


def sources_outside(*functions: Callable[..., Any]) -> list[str]:
    """Return the sources outside the package on which the code of functions depends, with the constants in them.

    These are the functions that they call, and their records. The sources of the package are part of every key.
    """
    pending: list[Any] = [each for each in functions if _is_outside(each)]
    found: dict[Any, str] = {}
    while pending:
        each = pending.pop()
        if each in found:
            continue
        found[each] = textwrap.dedent(inspect.getsource(each))
        known = vars(sys.modules[each.__module__]) if isinstance(each, type) else each.__globals__
        used = {node.id for node in ast.walk(ast.parse(found[each])) if isinstance(node, ast.Name)}
        for name in sorted(used & known.keys()):
            if isinstance(known[name], int | float):
                found[each] += f"\n{name} = {known[name]!r}"
            elif _is_outside(known[name]):
                pending.append(known[name])
    return sorted(found.values())


def _is_outside(value: Any) -> bool:
    """Return True for a function or a class of a module that neither the package nor Python contains."""
    if not (inspect.isfunction(value) or isinstance(value, type)):
        return False
    return value.__module__.partition(".")[0] not in {"flexarm", "numpy", *sys.stdlib_module_names}


def translated(*functions: Callable[..., Any], batch: tuple[type, ...] | None = None) -> Code:
    """Return the machine code of functions, each under its own name, from the cache or compiled.

    With `batch`, the functions have one argument, a record of `LANES` runs, and process all of these runs at once. Each
    run then has its own records of these classes (`batched`).
    """
    kind = "translated" if batch is None else "translated for batches"
    own = (f"{f.__qualname__}\n{inspect.getsource(f)}" for f in functions)
    key = "\n".join([kind, *own, *sources_outside(*functions)])
    names = tuple(f.__name__ for f in functions)

    def build() -> Source:
        if batch is not None:
            from flexarm.native.batched import ir_of_batches
            from flexarm.native.translate import in_registers

            return Source(in_registers(ir_of_batches(*functions, apart=batch)))
        from flexarm.native.translate import optimized

        return Source(optimized(*functions))

    return code(key, names, (), build)
