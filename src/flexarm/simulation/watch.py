"""A progress bar in the terminal for runs longer than a second."""

import sys
import time
from typing import Any, final

PATIENCE = 1.0
"""Seconds before a bar appears."""


@final
class Bar:
    """Shows how far a run has come, once it has lasted `PATIENCE` seconds, if stderr is a terminal; else nothing."""

    def __init__(self, until: float, label: str):
        self._until, self._label = until, label
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
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.completed:.3f} of {task.total:g} s"),
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
