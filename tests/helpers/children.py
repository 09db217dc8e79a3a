"""Programs of the package that read files (`flexarm.child_process`), in copies of a process that has their libraries.

A new interpreter for each program spends most of its time on imports. A copy runs the same program with the same limits
and gives the same answer. Some tests still have the package start its interpreter.
"""

import contextlib
import faulthandler
import os
import resource
import runpy
import select
import sys
import warnings
from functools import cache
from importlib import import_module
from multiprocessing import Pipe, get_context

import pytest

from flexarm import child_process


def answer(program, *arguments, content=b"", folder=None, patience, seconds=None):
    """Return what `child_process.answer` does, from a fork of this process; `seconds` may limit its processor time."""
    return answered(*ended(program, arguments, content, folder, patience, seconds))


def answered(status, said):
    """Return what a program wrote, or raise as `child_process.answer` does."""
    if status == 0:
        return said
    if status == child_process.REFUSED:
        raise child_process.RefusedError(said.decode(errors="replace"))
    raise child_process.EndedError(status)


def ended(program, arguments, content, folder, patience, seconds):
    """Run a program in a fork: its exit status, None if it was stopped, and what it wrote on standard output."""
    given = os.memfd_create("content")
    os.write(given, content)
    os.lseek(given, 0, os.SEEK_SET)
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(reader)
            _be(program, arguments, given, writer, folder, seconds)
        finally:
            os._exit(1)
    os.close(writer)
    os.close(given)
    try:
        said = _read(reader, patience)
        if said is None:
            os.kill(pid, 9)
    finally:
        os.close(reader)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return (None, b"") if said is None else (status, said)


def _read(reader, patience):
    """All that is written, or None if nothing comes for too long: these programs write once, at their end."""
    parts = []
    while select.select([reader], [], [], patience)[0]:
        if not (part := os.read(reader, 1 << 16)):
            return b"".join(parts)
        parts.append(part)
    return None


def _be(program, arguments, given, writer, folder, seconds):
    """In the fork: what a new interpreter would have, then the program."""
    faulthandler.disable()
    for descriptor, target in ((given, 0), (writer, 1), (os.open(os.devnull, os.O_WRONLY), 2)):
        os.dup2(descriptor, target)
        os.close(descriptor)
    sys.stdin, sys.stdout, sys.stderr = (os.fdopen(i, mode, closefd=False) for i, mode in enumerate("rww"))
    warnings.simplefilter("ignore")
    if folder is not None:
        os.chdir(folder)
    if seconds is not None:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, resource.getrlimit(resource.RLIMIT_CPU)[1]))
    sys.argv = [program, *arguments]
    status = 1
    try:
        runpy.run_path(program, run_name="__main__")
        status = 0
    except SystemExit as exit:
        status = exit.code
    with contextlib.suppress(OSError):
        sys.stdout.flush()
    os._exit(status)


# -- for tests, whose own process has threads and much memory ----------------------------------------------------------


def serve(pipe):
    """Run the programs that are asked for."""
    for library in ("h5netcdf", "mujoco", "scipy.io", "scipy.sparse"):
        with contextlib.suppress(ImportError):
            import_module(library)
    with contextlib.suppress(EOFError):
        while True:
            pipe.send(ended(*pipe.recv()))


@cache
def _server():
    """The pipe to a process that has the libraries, one for each process of pytest."""
    ours, theirs = Pipe()
    get_context("spawn").Process(target=serve, args=(theirs,), daemon=True).start()  # small: a fork of it is quick
    theirs.close()
    return ours


def in_fork(program, *arguments, content=b"", folder=None, patience, seconds=None):
    """A program in a fork of a process with little in it: its exit status, and what it wrote."""
    _server().send((program, arguments, content, folder or os.getcwd(), patience, seconds))
    return _server().recv()


@pytest.fixture
def forked_readers(monkeypatch):
    """The package's programs that read files are forks for this test; a function that limits their processor time."""

    def limited(seconds=None):
        def answer(*given, **more):
            return answered(*in_fork(*given, **more, seconds=seconds))

        monkeypatch.setattr(child_process, "answer", answer)

    limited()
    return limited
