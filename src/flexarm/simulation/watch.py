"""What goes on beside a run: a progress bar, Ctrl-C, and an eye on motions that have diverged."""

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
"""Called now and then with the time reached [s]."""

PATIENCE = 1.0
"""Seconds before a bar appears."""

FAREWELL = 1.0
"""Seconds that a run which is given up has to end in, so that nothing of it goes on behind the caller's back."""


@final
class Bar:
    """Shows how far a run has come, once it has lasted `PATIENCE` seconds, if stderr is a terminal; else nothing."""

    def __init__(self, until: float, label: str, count: str = "{task.completed:.3f} of {task.total:g} s"):
        self._until, self._label, self._count = until, label, count
        self._began = time.monotonic()
        self._shown: Any = None
        self._task: Any = None

    def __call__(self, t: float) -> None:
        """Time `t` has been reached [s]."""
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
        """Take the bar away."""
        if self._shown is not None:
            self._shown.stop()


@final
class Interruption:
    """Whether a run was told to stop: by Ctrl-C, of which a second one is as always."""

    def __init__(self, plan: Plan):
        self._plan = plan
        self.came = False

    def __call__(self, *_: Any) -> None:
        """Stop the run and let its result be made."""
        if self.came:
            raise KeyboardInterrupt
        self.came = True
        self._plan.stop()


UNDER_WAY: dict[threading.Event, Plan] = {}
"""Runs that are being computed, by what tells of their end; also those whose `simulate` was left by a second Ctrl-C."""

ENDED = threading.Event()
"""The interpreter ends; no run begins any more."""

LAST_WAIT = 2.0
"""Seconds for which the end of the process waits for such a run; a function of the user's may hang in it."""


@atexit.register
def end_all() -> None:
    """Let every run end before the interpreter does: compiled code that then calls back into it aborts the process."""
    ENDED.set()
    left = list(UNDER_WAY.items())
    for _, plan in left:
        plan.stop()
    until = time.monotonic() + LAST_WAIT
    for ended, _ in left:
        ended.wait(max(0.0, until - time.monotonic()))


IDLE: list["Worker"] = []
"""Threads that wait for a run: to start one takes longer than many a run."""

if hasattr(os, "register_at_fork"):  # a forked child has none of these threads, and none of their runs
    os.register_at_fork(after_in_child=IDLE.clear)
    os.register_at_fork(after_in_child=UNDER_WAY.clear)


@final
class Worker:
    """A thread that does one thing after another."""

    def __init__(self) -> None:
        self._work: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        threading.Thread(target=self._go_on, daemon=True).start()

    def do(self, work: Callable[[], None]) -> None:
        """Do this, which must not raise."""
        self._work.put(work)

    def _go_on(self) -> None:
        while True:
            work = self._work.get()
            Context().run(work)  # as in a thread of its own: nothing of the run before, NumPy's error state for one
            del work  # with it go what it holds
            IDLE.append(self)


def watched(plan: Plan, work: Callable[[], T], interruption: Interruption, progress: Progress | None = None) -> T:
    """Do the work in a thread, so that this one can show progress, catch Ctrl-C and see a motion that has diverged."""
    done: list[T] = []
    failed: list[BaseException] = []
    ended = threading.Event()  # join() takes a thread for dead when Ctrl-C comes while it waits

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
                # a solver may try a wild state and reject it: believe it when it is there again and again
                strange = strange + 1 if plan.strange else 0
                if strange > 2:
                    plan.stop()
            except KeyboardInterrupt:
                interruption()
    finally:
        if not ended.is_set():  # what happened is no business of the solver's: let it end
            plan.stop()
            ended.wait(FAREWELL)  # in vain only where a function of the user's hangs
    if failed:
        raise failed[0]
    interruption.came = interruption.came or isinstance(plan.failure, KeyboardInterrupt)
    return done[0]
