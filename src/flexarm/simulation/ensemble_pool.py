"""Tasks of an ensemble on several cores, with a bar of runs and an ear for Ctrl-C."""

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Protocol, final

from flexarm.interrupts import heard_by

LOOK = 0.1
"""Seconds between two looks at how far it has come."""


class Task(Protocol):
    """Some runs."""

    def __call__(self) -> None:
        """Compute them."""

    def stop(self) -> None:
        """Let that end soon, or not begin."""

    @property
    def finished(self) -> int:
        """How many runs have ended."""


@final
class Pool:
    """Tasks, each done by one of some threads; machine code lets them run side by side.

    Attributes
    ----------
    came : bool
        Whether Ctrl-C came: all tasks were told to stop then.
    """

    def __init__(self, tasks: Sequence[Task], threads: int):
        self._tasks, self._threads = tasks, max(1, min(threads, len(tasks)))
        self._left = deque(tasks)
        self._failed: list[BaseException] = []
        self.came = False

    def __call__(self, seen: Callable[[float], None] | None) -> None:
        """Do them all; `seen` is called now and then with the number of runs that have ended."""
        threads = [threading.Thread(target=self._work) for _ in range(self._threads)]
        with heard_by(self._interrupted):
            try:
                for thread in threads:
                    thread.start()
                going = True
                while going:
                    try:
                        _joined(threads, LOOK)
                        going = any(thread.is_alive() for thread in threads)
                        if seen is not None:
                            seen(float(sum(task.finished for task in self._tasks)))
                    except KeyboardInterrupt:
                        self._interrupted()
            finally:
                self._stop()  # nothing goes on behind the back of who left early
                for thread in threads:
                    if thread.ident is not None:
                        thread.join()
        if self._failed:
            raise self._failed[0]

    def _work(self) -> None:
        with suppress(IndexError):  # none is left
            while True:
                task = self._left.popleft()
                try:
                    task()
                except BaseException as error:
                    self._failed.append(error)
                    self._stop()

    def _stop(self) -> None:
        self._left.clear()
        for task in self._tasks:
            task.stop()

    def _interrupted(self, *_: Any) -> None:
        """Stop all; a second Ctrl-C is as always."""
        if self.came:
            raise KeyboardInterrupt
        self.came = True
        self._stop()


def _joined(threads: Sequence[threading.Thread], seconds: float) -> None:
    """Wait until all have ended, or so long."""
    until = time.monotonic() + seconds
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))
