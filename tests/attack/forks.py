"""A process is forked while a thread builds, compiles or runs: its child does the same and ends."""

import contextlib
import os
import signal
import threading
import time
from pathlib import Path

import numpy as np

import flexarm as fa

from ..helpers.forked import exit_of
from . import guard, stock
from .judge import Found

SECONDS = 15.0
"""Without any work, or of the processor, until a child that does not end is a finding; its work takes less than one."""


def case(rng, folder, note):
    text = fa.Arm(**rng.choice(SMALL())).canonical()
    work = rng.choice([*WORK])
    other = rng.choice([*WORK])
    wait = rng.random() * 0.05
    note(f"{work} in a thread, {other} in a child after {wait * 1e3:.1f} ms")
    stop = threading.Event()

    def busy():
        while not stop.is_set():
            WORK[work](text)

    thread = threading.Thread(target=busy)
    thread.start()
    time.sleep(wait)
    try:
        status = exit_of(lambda: WORK[other](text), SECONDS, _fork, lambda pid: note(_place(pid)))
    finally:
        stop.set()
        thread.join()
    if status is None:
        raise Found("hang", "a forked child does not end")
    if status:
        raise Found("crash", f"a forked child ends with {status}")
    return f"{other} in a child"


def _fork():
    with guard.forks():
        return os.fork()


def _place(pid):
    """Return where a child waits. Python's faulthandler writes it to the worker's file, which the child shares."""
    with contextlib.suppress(OSError):
        os.kill(pid, signal.SIGUSR1)
        time.sleep(0.2)
        return Path("../trace").read_text(encoding="utf-8", errors="replace")
    return "its stack is unknown"


def SMALL():
    """Tables of arms that compile in a moment."""
    return [table for table in stock.arms() if table.get("name") in ("rigid-two-link", "lin-lewis-beam")]


def _build(text):
    arm = fa.Arm.from_json(text)
    assert arm.coordinates and arm.velocities is not None


def _compile(text):
    model = fa.Model(fa.Arm.from_json(text))
    assert np.isfinite(model.mass_matrix(np.array(model.arm.rest))).all()


def _run(text):
    model = fa.Model(fa.Arm.from_json(text))
    fa.simulate(model, 1e-3, samples=3, progress=False)


WORK = {"build": _build, "compile": _compile, "run": _run}
