"""Calls of machine code with arrays: one state in preallocated memory, or many states in blocks that threads share.

Both call `batch` (`sincos.batch`) with a job: 8-byte words with the rows to compute, the addresses of their parts, and
the address of the results. The parts need not be concatenated first, and the same loop checks that they are finite.
"""

import ctypes  # noqa: TID251  (calls code that this package compiled)
import math
import os
import threading
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any, final

import numpy as np

from flexarm.arrays import Array, address_of

if TYPE_CHECKING:
    from flexarm.native.code import Code

BATCH = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p)
"""Type of `batch` that lets other threads run Python meanwhile."""
BATCH_ALONE = ctypes.PYFUNCTYPE(ctypes.c_bool, ctypes.c_void_p)
"""Type of `batch` that keeps the interpreter lock. A busy thread that gets the lock would hold it for 5 ms."""
LONG = 30_000
"""Operations of one state, about 10 us, above which other threads may run."""

LANES = 8
"""Number of states that one instruction processes in a batch: 8 doubles fill the widest registers."""
OPERATION, NUMBER = 0.05, 0.25
"""Time of an operation and of an input or output number in a batch [ns], within a factor of 2, without memory
access."""
SHARE = 0.5e6
"""Work that justifies another thread [ns]; a thread takes up to 0.1 ms to start and end."""
PATIENCE = 30e6
"""Work of one call [ns]. Ctrl-C takes effect after the call."""


def job(parts: Sequence[Array], y: Array) -> Array:
    """Return the job of `batch` for parts (rows, any width) of the arguments and contiguous results y (rows, n_out)."""
    parts = [part for part in parts if part.shape[1]]
    words = [0, len(y), address_of(y), len(parts)]
    for part in parts:
        words += [address_of(part), part.shape[1], *part.strides]
    return np.array(words, dtype=np.int64)


@final
class Place:
    """Memory for a state, in parts of some lengths, and its value y.

    `run` computes y and returns True if all is finite.
    """

    def __init__(self, batch: Any, lengths: Sequence[int], shape: tuple[int, ...]):
        x, self.y = np.zeros((1, sum(lengths))), np.zeros(shape)
        self.parts = np.split(x[0], np.cumsum(lengths)[:-1])
        self._job = job([x], self.y.reshape(1, -1))
        self.run = partial(batch, address_of(self._job))


@final
class OneState:
    """Machine code for one state, with arguments in parts of some lengths and a value of some shape.

    Each call takes its own memory from a list of free ones. Threads therefore do not share memory, nor does a signal
    handler share it with the call that it interrupts.
    """

    def __init__(self, code: "Code", lengths: Sequence[int], shape: tuple[int, ...]):
        self.code, self._lengths, self._shape = code, lengths, shape
        self._batch = (BATCH if code.operations > LONG else BATCH_ALONE)(code.addresses["batch"])
        self._free: list[Place] = []

    def __call__(self, parts: Sequence[Array]) -> tuple[Array, bool]:
        """Return the value, a new array, and True if all numbers of the parts are finite."""
        try:
            place = self._free.pop()
        except IndexError:
            place = Place(self._batch, self._lengths, self._shape)
        for inside, part in zip(place.parts, parts):  # noqa: B905  (strict would take a fifth of the time)
            inside[...] = part
        finite = place.run()
        y = place.y.copy()
        self._free.append(place)
        return y, finite


@final
class ManyStates:
    """Machine code for many states, `LANES` at a time, in as many threads as useful and as the process has cores."""

    def __init__(self, code: "Code"):
        self.code, self._batch = code, BATCH(code.addresses["batch"])
        self._row = OPERATION * code.operations + NUMBER * (code.facts["n_in"] + code.facts["n_out"])

    def __call__(self, parts: Sequence[Array]) -> tuple[Array, bool]:
        """Return values (rows, n_out) for parts (rows, any width), n_in numbers per row, and True if all are finite."""
        rows, width = len(parts[0]), sum(part.shape[1] for part in parts)
        # machine code does not check
        assert width == self.code.facts["n_in"] and all(part.dtype == float for part in parts)
        y = np.empty((rows, self.code.facts["n_out"]))
        work = self._row * rows
        threads = max(1, min(int(work / SHARE), cores()))
        shares = max(1 if threads == 1 else 2 * threads, work / PATIENCE)
        size = LANES * max(1, math.ceil(rows / LANES / shares))
        blocks = range(0, rows, size)
        left, finite = deque(blocks), []

        def run() -> None:
            own = job(parts, y)
            batch = partial(self._batch, address_of(own))
            with suppress(IndexError):  # no block is left
                while True:
                    first = left.popleft()
                    own[:2] = first, min(first + size, rows)
                    finite.append(batch())

        started = []
        try:
            with suppress(RuntimeError):  # the system has no more threads
                for _ in range(threads - 1):
                    helper = threading.Thread(target=run)
                    helper.start()
                    started.append(helper)
            run()
        finally:
            left.clear()  # after an interruption of this thread, the others stop too
            for helper in started:
                helper.join()
        assert len(finite) == len(blocks)  # no block was lost in a failed thread
        return y, all(finite)


ALLOWED: ContextVar[int | None] = ContextVar("ALLOWED", default=None)
"""Number of cores for the calls of a thread, if others work beside it; None for all of the process."""


def cores() -> int:
    """Return the number of cores that this call may use."""
    if (allowed := ALLOWED.get()) is not None:
        return allowed
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
