"""Values that are built once, by whichever thread needs them first.

One lock serves all values. Tracing and compiling are serial anyway, because of Python's lock and LLVM's, and a single
lock excludes deadlocks. Reading a finished value needs no lock.
"""

import os
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar, final

T = TypeVar("T")

BUILDING = threading.RLock()
"""Lock that a thread holds while it traces, compiles or loads."""

_inner: list[Any] = []
"""Locks of libraries that a thread may acquire while it holds `BUILDING`, and never in the other order."""


def hold_at_forks(lock: Any) -> None:
    """Hold a library's lock during a fork; otherwise it may be locked for ever in the child."""
    with BUILDING:
        _inner.append(lock)


def _before_fork() -> None:
    BUILDING.acquire()
    for lock in _inner:
        lock.__enter__()


def _after_fork() -> None:
    for lock in reversed(_inner):
        lock.__exit__(None, None, None)
    BUILDING.release()


if hasattr(os, "register_at_fork"):  # pragma: no branch  (Windows cannot fork)
    # a child that is forked meanwhile would find them locked for ever
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)


@final
class Recent(Generic[T]):
    """A cache of objects by key, which keeps the most recently used ones."""

    def __init__(self, most: int):
        self._most = most
        self._kept: dict[str, T] = {}

    def __call__(self, key: str, make: Callable[[], T]) -> T:
        """Return the cached object of this key, or make and cache it."""
        with BUILDING:
            found = self._kept.pop(key, None) or make()
            self._kept[key] = found
            while len(self._kept) > self._most:
                del self._kept[next(iter(self._kept))]
            return found


@final
class Once(Generic[T]):
    """The value of a function without arguments, which is called on first use, and again only if it raised."""

    def __init__(self, build: Callable[[], T]):
        self._build: Callable[[], T] | None = build
        self._value: T

    def __call__(self) -> T:
        """Return the value, the same object for every thread."""
        if self._build is not None:
            with BUILDING:
                if self._build is not None:
                    self._value = self._build()
                    self._build = None
        return self._value
