"""Services beside a run: a progress bar, handling of Ctrl-C, and detection of diverged motions."""

import atexit
import os
import queue
import sys
import threading
import time
from collections.abc import Callable
from contextvars import Context
from typing import Any, TypeVar, final

from flexarm.simulation.rhs import Plan

T = TypeVar("T")
Progress = Callable[[float], None]
"""A function that is called from time to time with the time reached [s]."""

PATIENCE = 1.0
"""Time before a bar appears [s]."""

FAREWELL = 1.0
"""Time that an aborted run has to end [s], so that no thread keeps running after the call returns."""


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
    """A handler of Ctrl-C that stops a run. A second Ctrl-C raises KeyboardInterrupt."""

    def __init__(self, plan: Plan):
        self._plan = plan
        self.came = False

    def __call__(self, *_: Any) -> None:
        """Stop the run, so that its partial result is returned."""
        if self.came:
            raise KeyboardInterrupt
        self.came = True
        self._plan.stop()


UNDER_WAY: dict[threading.Event, Plan] = {}
"""Running plans by the events of their end, including those whose `simulate` a second Ctrl-C has left."""

ENDED = threading.Event()
"""Event that is set when the interpreter ends, after which no run begins."""

LAST_WAIT = 2.0
"""Time that the end of the process waits for such a run [s], which may hang in a user's function."""


@atexit.register
def end_all() -> None:
    """Stop every run before the interpreter ends: compiled code that calls back into it later aborts the process."""
    ENDED.set()
    left = list(UNDER_WAY.items())
    for _, plan in left:
        plan.stop()
    until = time.monotonic() + LAST_WAIT
    for ended, _ in left:
        ended.wait(max(0.0, until - time.monotonic()))


IDLE: list["Worker"] = []
"""Threads that wait for a run, because to start a thread takes longer than many runs."""

if hasattr(os, "register_at_fork"):  # pragma: no branch  (Windows cannot fork)
    # a forked child has neither these threads nor their runs
    os.register_at_fork(after_in_child=IDLE.clear)
    os.register_at_fork(after_in_child=UNDER_WAY.clear)


@final
class Worker:
    """A thread that executes tasks in sequence."""

    def __init__(self) -> None:
        self._work: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        threading.Thread(target=self._go_on, daemon=True).start()

    def do(self, work: Callable[[], None]) -> None:
        """Execute the task, which must not raise."""
        self._work.put(work)

    def _go_on(self) -> None:
        while True:
            work = self._work.get()
            Context().run(work)  # a new context, without state of the previous run such as NumPy's error state
            del work  # releases the objects of the task
            IDLE.append(self)


def watched(plan: Plan, work: Callable[[], T], interruption: Interruption, progress: Progress | None = None) -> T:
    """Do the work in a thread, while this one shows progress, handles Ctrl-C and detects a diverged motion."""
    done: list[T] = []
    failed: list[BaseException] = []
    ended = threading.Event()  # an interrupted join() would treat a running thread as ended

    def worker() -> None:
        try:
            done.append(work())
        except BaseException as error:
            failed.append(error)
        finally:
            del UNDER_WAY[ended]
            ended.set()

    if ENDED.is_set():
        raise SystemExit  # in a thread that the process does not wait for
    UNDER_WAY[ended] = plan
    strange = 0
    try:
        try:
            idle = IDLE.pop()
        except IndexError:
            idle = Worker()
        idle.do(worker)
        while not ended.is_set():
            try:
                ended.wait(0.1)
                if progress is not None and not ended.is_set():
                    progress(plan.time)
                # a solver may try a diverged state and reject it, so the state must be seen repeatedly
                strange = strange + 1 if plan.strange else 0
                if strange > 2:
                    plan.stop()
            except KeyboardInterrupt:
                interruption()
    finally:
        if not ended.is_set():  # an exception occurred outside the solver: let it end
            plan.stop()
            ended.wait(FAREWELL)  # in vain only if a user's function hangs
    if failed:
        raise failed[0]
    interruption.came = interruption.came or isinstance(plan.failure, KeyboardInterrupt)
    return done[0]
