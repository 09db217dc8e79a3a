"""Locks that are held during a fork, and imports that a fork waits for.

A child that is forked while another thread holds a lock finds it locked for ever, because that thread does not exist in
the child. The lock of a module that another thread imports is such a lock, too, and flexarm imports most of its modules
and libraries when they are first used.
"""

import os
import threading
import time
from importlib import _bootstrap  # type: ignore[attr-defined]
from typing import Any

LATE = {"flexarm", "casadi", "h5netcdf", "h5py", "llvmlite", "matplotlib", "mpmath", "numpy", "pandas"}
LATE |= {"pydantic", "rich", "scipy", "sympy", "xarray"}
PREFIXES = tuple(f"{name}." for name in LATE)
"""Packages whose imports a fork waits for. A program of the user's may run for ever in an import of its own."""

PATIENCE = 10.0
"""Longest time that a fork waits for imports in other threads [s]."""

HASTE = 0.5
"""The same once the fork holds its locks [s]: an import that needs one of them would never end."""

_held: list[Any] = []
"""Locks in the order in which a thread may acquire them."""

_taken: list[Any] = []
"""Those that a fork under way has acquired."""


def hold_at_forks(lock: Any, after: Any = None) -> None:
    """Hold a lock during forks. A thread that holds `after` may acquire it; by default a thread that holds none."""
    _held.insert(_held.index(after) + 1 if after is not None else 0, lock)


def _before() -> None:
    _wait(PATIENCE)
    held = [*_held]
    for lock in held:
        lock.__enter__()
    _taken.extend(held)
    _wait(HASTE)


def _after() -> None:
    taken = [*_taken]
    _taken.clear()  # another thread may fork as soon as the locks are released
    for lock in reversed(taken):
        lock.__exit__(None, None, None)


def _wait(seconds: float) -> None:
    """Wait until no other thread is importing a module of these packages."""
    until = time.monotonic() + seconds
    while _importing() and time.monotonic() < until:
        time.sleep(1e-3)


def _importing() -> bool:
    """Return True if another thread is importing a module of these packages, as far as this Python tells."""
    me = threading.get_ident()
    under_way = [*getattr(_bootstrap, "_module_locks", {}).items()]
    locks = [find() for name, find in under_way if f"{name}.".startswith(PREFIXES)]
    return any(getattr(lock, "owner", None) not in (None, me) for lock in locks)


if hasattr(os, "register_at_fork"):  # Windows cannot fork
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after)
