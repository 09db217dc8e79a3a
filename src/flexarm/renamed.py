"""Former names of a module, which work for one version."""

import sys
import warnings
from collections.abc import Mapping
from typing import Any


def renamed(module: str, names: Mapping[str, str], name: str) -> Any:
    """Return the object of a module that had this name, with a `DeprecationWarning`. For a module's `__getattr__`.

    Parameters
    ----------
    module : str
        Name of the module.
    names : dict
        Present names in the module by former names.
    name : str
        The name that is looked up.
    """
    if name not in names:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    warnings.warn(f"{module}.{name} is deprecated; use {names[name]}", DeprecationWarning, stacklevel=3)
    return getattr(sys.modules[module], names[name])


def level_of_caller() -> int:
    """Return the `stacklevel` with which the caller's warning names the first line outside flexarm and Pydantic.

    Python shows a `DeprecationWarning` only if it names a line of the user's program.
    """
    frame, level = sys._getframe(1), 1  # noqa: SLF001  (the only way to the lines of the callers)
    while frame.f_back is not None and f"{frame.f_globals.get('__name__')}.".startswith(("flexarm.", "pydantic.")):
        frame, level = frame.f_back, level + 1
    return level
