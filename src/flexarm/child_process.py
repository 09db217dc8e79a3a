"""Programs of the package that read a file in a separate process, so that a damaged file does no harm.

Each program is a file of the package that sets its own limits, writes its answer on standard output, and ends with
the status `REFUSED` and one line on standard output if the file is wrong.
"""

import os
import signal
import subprocess  # noqa: TID251  (Python itself, with a program of this package)
import sys

REFUSED = 3
"""Exit status of a program that reports an error in its file."""

TOO_LONG = -getattr(signal, "SIGXCPU", 0)
"""Exit status of a program that the system has ended because it took too much processor time."""

PATIENCE = 120
"""Seconds after which a program is stopped. Its limit of processor time is much shorter; this one is for slow disks."""


class RefusedError(Exception):
    """The program reports an error in its file; the message is the line that the program wrote."""


class EndedError(Exception):
    """The program has ended without an answer: `status` is its exit status, or None if it was stopped."""

    def __init__(self, status: int | None):
        super().__init__(f"ended with status {status}")
        self.status = status


def answer(program: str, *arguments: str, content: bytes = b"", folder: str | None = None, patience: float) -> bytes:
    """Return what a program of the package writes on standard output; `content` is its standard input.

    Raises `RefusedError`, `EndedError`, and `OSError` where Python cannot be started.
    """
    command = [sys.executable, "-P", program, *arguments]
    modules = os.pathsep.join(filter(None, sys.path))
    environment = os.environ | {"PYTHONPATH": modules, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    try:
        done = subprocess.run(
            command, input=content, capture_output=True, env=environment, timeout=patience, cwd=folder
        )
    except subprocess.TimeoutExpired:
        raise EndedError(None) from None
    if done.returncode == 0:
        return done.stdout
    if done.returncode == REFUSED:
        raise RefusedError(done.stdout.decode(errors="replace"))
    raise EndedError(done.returncode)
