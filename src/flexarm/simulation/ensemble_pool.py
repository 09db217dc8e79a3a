"""Tasks of an ensemble on several cores, with a progress bar and handling of Ctrl-C."""

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Protocol, final

from flexarm.interrupts import heard_by

LOOK = 0.1
"""Interval between two updates of the progress [s]."""


class Task(Protocol):
    """A task that computes some runs."""

    def __call__(self) -> None:
        """Compute the runs."""

    def stop(self) -> None:
        """End the task soon, or prevent its start."""

    @property
    def finished(self) -> int:
        """Number of runs that have ended."""


@final
class Pool:
    """A pool of threads that work on tasks. Machine code releases the interpreter lock, so tasks run in parallel.

    Attributes
    ----------
    came : bool
        True if Ctrl-C was pressed and all tasks were stopped.
    """

    def __init__(self, tasks: Sequence[Task], threads: int):
        self._tasks, self._threads = tasks, min(threads, len(tasks))
        self._left = deque(tasks)
        self._failed: list[BaseException] = []
        self.came = False

    def __call__(self, seen: Callable[[float], None] | None) -> None:
        """Complete all tasks. `seen` is called from time to time with the number of runs that have ended."""
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
                self._stop()  # no thread keeps running after an exception
                for thread in threads:
                    if thread.ident is not None:
                        thread.join()
        if self._failed:
            raise self._failed[0]

    def _work(self) -> None:
        with suppress(IndexError):  # no task is left
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
        """Stop all tasks. A second Ctrl-C raises KeyboardInterrupt."""
        if self.came:
            raise KeyboardInterrupt
        self.came = True
        self._stop()


def _joined(threads: Sequence[threading.Thread], seconds: float) -> None:
    """Wait until all threads have ended, but at most so many seconds."""
    until = time.monotonic() + seconds
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))
