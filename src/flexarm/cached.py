"""Properties that are computed once, also in a process that was forked while another thread computed one.

Python 3.11 guards each `functools.cached_property` by a lock. A child that is forked while another thread holds such a
lock would wait for it for ever, as that thread does not exist there. Later versions of Python have no such locks.
"""

import functools
import os
import threading
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


class cached_property(functools.cached_property[T]):  # noqa: TID251  (like Python's own, with its lock released here)
    """A property that is computed at its first use and stored."""

    def __init__(self, func: Callable[[Any], T]):
        super().__init__(func)
        _all.append(self)


_all: list[Any] = []
"""Every property of this kind. There is one for each name in a class, so they are few and are never removed."""


def _release() -> None:
    """Release the locks in a forked child, which has one thread."""
    for each in _all:
        if hasattr(each, "lock"):
            each.lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_release)
