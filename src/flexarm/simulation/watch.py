"""Services beside a run: a progress bar, handling of Ctrl-C, and an orderly end of the interpreter.

A run computes in the thread of its caller. Its native code calls Python after a number of evaluations, see `attended`.
"""

import atexit
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, final

from flexarm.arrays import Array
from flexarm.simulation.rhs import Plan

Progress = Callable[[float], None]
"""A function that is called from time to time with the time reached [s]."""

PATIENCE = 1.0
"""Time before a bar appears [s]."""

INTERVAL = 0.1
"""Time between two interruptions of native code [s]."""

FEW, MANY = 20, 2000
"""Evaluations until the first interruption where they call Python, and in native code: some milliseconds."""


@final
class Bar:
    """A bar of a run's progress, which appears after `PATIENCE` seconds if stderr is a terminal."""

    def __init__(self, until: float, label: str, count: str = "{task.completed:.3f} of {task.total:g} s"):
        self._until, self._label, self._count = until, label, count
        self._began = time.monotonic()
        self._shown: Any = None
        self._task: Any = None

    def __call__(self, t: float) -> None:
        """Show that the time `t` has been reached [s]."""
        if self._shown is None:
            if time.monotonic() - self._began < PATIENCE or not sys.stderr.isatty():
                return
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

            columns = (
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                TextColumn(self._count),
                TimeRemainingColumn(),
            )
            self._shown = Progress(*columns, console=Console(stderr=True), transient=True)
            self._shown.start()
            self._task = self._shown.add_task(self._label, total=self._until)
        self._shown.update(self._task, completed=min(t, self._until))

    def close(self) -> None:
        """Remove the bar."""
        if self._shown is not None:
            self._shown.stop()


@final
class Interruption:
    """A handler of Ctrl-C that stops a run. A second Ctrl-C raises KeyboardInterrupt.

    Attributes
    ----------
    came, again : bool
        Ctrl-C was pressed once, or more often.
    """

    def __init__(self, plan: Plan):
        self._plan = plan
        self.came, self.again = False, False

    def __call__(self, *_: Any) -> None:
        """Stop the run, so that its partial result is returned."""
        self._plan.stop()
        if self.came:
            self.again = True
            raise KeyboardInterrupt
        self.came = True


def attended(plan: Plan, slow: bool, progress: Progress | None) -> None:
    """Interrupt the native code of a run about ten times a second.

    Python then handles Ctrl-C, and `progress` is called with the time reached. `slow` means that an evaluation calls
    Python, or that the samples of a controller lie between the evaluations.
    """
    began, evaluated = time.monotonic(), 0

    def attend(t: float, _x: Array, evaluations: int) -> tuple[int, str]:
        nonlocal began, evaluated
        now, done = time.monotonic(), evaluations - evaluated
        if now - began < INTERVAL / 2:
            return evaluations + done, ""
        if progress is not None:
            progress(t)
        following = max(1, int(done * INTERVAL / (now - began)))
        began, evaluated = time.monotonic(), evaluations
        return evaluations + following, ""

    plan.call_after(FEW if slow else MANY, attend)


RUNNING: dict[threading.Event, Plan] = {}
"""Plans of the runs of all threads, by the events of their end."""

ENDED = threading.Event()
"""Event that is set when the interpreter ends, after which no run begins."""

LAST_WAIT = 2.0
"""Time that the end of the process waits for a run in a daemon thread [s], which may hang in a user's function."""


@atexit.register
def end_all() -> None:
    """Stop every run before the interpreter ends: compiled code that calls back into it later aborts the process."""
    ENDED.set()
    left = list(RUNNING.items())
    for _, plan in left:
        plan.stop()
    until = time.monotonic() + LAST_WAIT
    for ended, _ in left:
        ended.wait(max(0.0, until - time.monotonic()))


if hasattr(os, "register_at_fork"):  # pragma: no branch  (Windows cannot fork)
    os.register_at_fork(after_in_child=RUNNING.clear)  # these runs belong to threads that a child does not have


@contextmanager
def running(plan: Plan) -> Iterator[None]:
    """Let the end of the interpreter stop a run and wait until the context has ended."""
    if ENDED.is_set():
        raise SystemExit  # in a thread that the process does not wait for
    ended = threading.Event()
    RUNNING[ended] = plan
    try:
        yield
    finally:
        RUNNING.pop(ended, None)
        ended.set()
