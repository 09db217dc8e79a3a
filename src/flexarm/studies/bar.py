"""Progress of a study in the terminal: finished runs, and remaining time."""

import logging
import sys
import time
from collections.abc import Callable
from typing import Any, final

from flexarm import escape
from flexarm.progress import LOG

PATIENCE = 1.0
"""Time before the bar appears [s]."""


@final
class Bar:
    """Progress display: a bar on stderr if that is a terminal, a user's function, or nothing. It counts finished
    runs."""

    def __init__(self, total: int, label: str, wanted: Callable[[int, int], None] | bool):
        self._total, self._label, self._wanted = total, escape.line(label), wanted
        self._done = 0
        self._began = time.monotonic()
        self._shown: Any = None
        self._task: Any = None

    def __call__(self, runs: int) -> None:
        """Add a number of finished runs."""
        self._done += runs
        LOG.info("%s: %d of %d runs are finished", self._label, self._done, self._total)
        if callable(self._wanted):
            self._wanted(self._done, self._total)
        elif self._wanted and sys.stderr is not None and sys.stderr.isatty():
            self._show()

    def say(self, text: str) -> None:
        """Write a line to the log, or above the bar if there may be a bar and the log does not take the line."""
        LOG.info("%s", escape.line(text))
        if self._wanted is not True or sys.stderr is None or LOG.isEnabledFor(logging.INFO):
            return
        if self._shown is not None:
            self._shown.console.print(escape.line(text), markup=False, highlight=False)
        else:
            print(f"flexarm: {escape.line(text)}", file=sys.stderr)

    def close(self) -> None:
        """Remove the bar."""
        if self._shown is not None:
            self._shown.stop()

    def _show(self) -> None:
        if self._shown is None:
            if time.monotonic() - self._began < PATIENCE:
                return
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

            columns = (
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                TextColumn("{task.completed:.0f} of {task.total:.0f} runs,"),
                TimeElapsedColumn(),
                TextColumn("gone,"),
                TimeRemainingColumn(),
                TextColumn("left"),
            )
            self._shown = Progress(*columns, console=Console(stderr=True), transient=True)
            self._shown.start()
            self._task = self._shown.add_task(self._label, total=self._total)
        self._shown.update(self._task, completed=self._done)
