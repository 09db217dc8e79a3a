"""Messages about work that takes long, such as compiling: a line on stderr, and the log.

The logger "flexarm" has a handler that does nothing, as usual for libraries, so that messages appear only if the user
asks for them with `logging.basicConfig` or a handler. Work that takes long is reported at the level INFO, and each run
at the level DEBUG.
"""

import logging
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

LOG = logging.getLogger("flexarm")
"""Logger of the package."""
LOG.addHandler(logging.NullHandler())

PATIENCE = 2.0
"""Time before the line appears [s]."""

_doing: list[str] = []
"""Current tasks of the main thread, each within the previous one."""


@contextmanager
def said(what: str) -> Iterator[None]:
    """Show a line about the work within the context after `PATIENCE` seconds, if stderr is a terminal.

    A nested context changes the line, which disappears with the outermost context. Only the main thread shows lines. At
    the end the log gets a message with the duration.
    """
    began = time.perf_counter()
    try:
        with _shown(what):
            yield
    finally:
        LOG.info("%s took %.3g s", what, time.perf_counter() - began)


@contextmanager
def _shown(what: str) -> Iterator[None]:
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
    """Write the line again whenever it changes, until the work is done, and then remove it."""
    try:
        if done.wait(PATIENCE):
            return
        while True:
            _write(f"flexarm: {' '.join(_doing[-1:])} ...")
            if done.wait(0.1):
                break
        _write("")
    except (OSError, ValueError):
        pass  # the terminal has been closed


def _write(text: str) -> None:
    """Replace the line by the text.

    Characters that a terminal would not print, or would obey, become question marks.
    """
    width = shutil.get_terminal_size().columns - 1
    plain = "".join(c if c.isprintable() else "?" for c in text)[:width]
    sys.stderr.write(f"\r{plain:<{width}}\r")
    sys.stderr.flush()
