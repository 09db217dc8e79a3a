"""Programs of the package that read a file in a process of their own, so that a damaged file harms nobody.

Each program is a file of the package that sets its own limits, writes its answer on standard output, and ends with
`REFUSED` and one line on standard output where the file is wrong.
"""

import os
import signal
import subprocess  # noqa: TID251  (Python itself, with a program of ours)
import sys

REFUSED = 3
"""Status of a program that has found out what is wrong."""

TOO_LONG = -getattr(signal, "SIGXCPU", 0)
"""Status of a program that the system has ended because it took too much processor time."""

PATIENCE = 120
"""Seconds until a program is given up. Its limit of processor time ends it much earlier; this is for slow disks."""


class RefusedError(Exception):
    """The program has found out what is wrong with its file; the message says it, as the program wrote it."""


class EndedError(Exception):
    """The program has ended without an answer: `status` is its exit status, or None where it was given up."""

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
