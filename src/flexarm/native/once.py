"""Values that are built once, by whichever thread needs them first.

One lock serves all values. Tracing and compiling are serial anyway, because of Python's lock and LLVM's, and a single
lock excludes deadlocks. Reading a finished value needs no lock.
"""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar, final

from flexarm.forks import hold_at_forks

T = TypeVar("T")

BUILDING = threading.RLock()
"""Lock that a thread holds while it traces, compiles or loads."""

hold_at_forks(BUILDING)


@final
class Recent(Generic[T]):
    """A cache of objects by key, which keeps the most recently used ones up to a total size.

    The size of an object may grow after it was stored. Each object counts as 1 by default.
    """

    def __init__(self, most: int, size: Callable[[T], int] = lambda _: 1):
        self._most, self._size = most, size
        self._kept: dict[str, T] = {}

    def __call__(self, key: str, make: Callable[[], T]) -> T:
        """Return the cached object of this key, or make and cache it."""
        with BUILDING:
            found = self._kept.pop(key, None) or make()
            self._kept[key] = found
            while sum(map(self._size, self._kept.values())) > self._most:
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
