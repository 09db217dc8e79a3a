"""One line on stderr for what takes longer than expected: tracing and compiling."""

import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

PATIENCE = 2.0
"""Seconds before the line appears."""

_doing: list[str] = []
"""What the main thread is doing, each within the one before."""


@contextmanager
def said(what: str) -> Iterator[None]:
    """Within, a line says what is being done, once it has taken `PATIENCE` seconds, if stderr is a terminal.

    One within another changes the line; it goes away with the outermost. Only what the main thread does is said.
    """
    depth = len(_doing)
    done = threading.Event()
    line = threading.Thread(target=_show, args=(done,), daemon=True)
    silent = threading.current_thread() is not threading.main_thread() or not _is_seen()
    if silent:
        yield
        return
    try:
        _doing.append(what)
        if depth == 0:
            line.start()
        yield
    finally:
        done.set()
        if line.is_alive():
            line.join()
        del _doing[depth:]


def _is_seen() -> bool:
    return sys.stderr is not None and not sys.stderr.closed and sys.stderr.isatty()


def _show(done: threading.Event) -> None:
    """Write the line, again whenever it changes, until it is done; then take it away."""
    try:
        if done.wait(PATIENCE):
            return
        while True:
            _write(f"flexarm: {' '.join(_doing[-1:])} ...")
            if done.wait(0.1):
                break
        _write("")
    except (OSError, ValueError):
        pass  # the terminal has gone


def _write(text: str) -> None:
    """The text in place of the line; what a terminal would not print, or would obey, as a question mark."""
    width = shutil.get_terminal_size().columns - 1
    plain = "".join(c if c.isprintable() else "?" for c in text)[:width]
    sys.stderr.write(f"\r{plain:<{width}}\r")
    sys.stderr.flush()
