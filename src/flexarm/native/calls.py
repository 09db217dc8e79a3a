"""Machine code called with arrays: one state at a place that is kept, or many in blocks that threads share.

Both call `batch` (`sincos.batch`) with a job: words of 8 bytes that say which rows to do, where their parts lie and
where the results go. So nothing is laid end to end first, and whether all is finite is seen where it is read.
"""

import ctypes  # noqa: TID251  (calls what was compiled here)
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

if TYPE_CHECKING:
    from flexarm.native.kernel import Code

Array = np.ndarray

BATCH = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p)
"""`batch`, while other threads may run Python."""
BATCH_ALONE = ctypes.PYFUNCTYPE(ctypes.c_bool, ctypes.c_void_p)
"""`batch`, while they may not: a busy one, once it runs, goes on for 5 ms."""
LONG = 30_000
"""Operations of one state, about 10 us, from which other threads may run."""

LANES = 8
"""States that one instruction handles in a batch: 8 doubles fill the widest registers there are."""
OPERATION, NUMBER = 0.05, 0.25
"""What an operation, and a number that goes in or out, cost in a batch [ns]; memory apart, within a factor of 2."""
SHARE = 0.5e6
"""Work for which another thread pays [ns]; to begin and end one takes up to 0.1 ms."""
PATIENCE = 30e6
"""Work in one go [ns]: Ctrl-C is heard after it."""


def job(parts: Sequence[Array], y: Array) -> Array:
    """What `batch` reads: parts (rows, any width) that give the rows of y (rows, n_out), which is contiguous."""
    parts = [part for part in parts if part.shape[1]]
    words = [0, len(y), y.ctypes.data, len(parts)]
    for part in parts:
        words += [part.ctypes.data, part.shape[1], *part.strides]
    return np.array(words, dtype=np.int64)


@final
class Place:
    """Where a state lies, in parts of some lengths, and its value y; `run` computes this and tells if all is finite."""

    def __init__(self, batch: Any, lengths: Sequence[int], shape: tuple[int, ...]):
        x, self.y = np.zeros((1, sum(lengths))), np.zeros(shape)
        self.parts = np.split(x[0], np.cumsum(lengths)[:-1])
        self._job = job([x], self.y.reshape(1, -1))
        self.run = partial(batch, self._job.ctypes.data)


@final
class OneState:
    """Machine code for one state, that comes in parts of some lengths; its value has a shape.

    Whoever calls takes a place of his own from those that are free: so threads do not meet there, nor does the handler
    of a signal meet the call that it interrupts.
    """

    def __init__(self, code: "Code", lengths: Sequence[int], shape: tuple[int, ...]):
        self.code, self._lengths, self._shape = code, lengths, shape
        self._batch = (BATCH if code.operations > LONG else BATCH_ALONE)(code.addresses["batch"])
        self._free: list[Place] = []

    def __call__(self, parts: Sequence[Array]) -> tuple[Array, bool]:
        """The value, a new array, and whether all numbers of the parts are finite."""
        try:
            place = self._free.pop()
        except IndexError:
            place = Place(self._batch, self._lengths, self._shape)
        for inside, part in zip(place.parts, parts):  # noqa: B905  (strict takes a fifth of all the time)
            inside[...] = part
        finite = place.run()
        y = place.y.copy()
        self._free.append(place)
        return y, finite


@final
class ManyStates:
    """Machine code for many states, `LANES` at a time, by as many threads as pay and the process has cores."""

    def __init__(self, code: "Code"):
        self.code, self._batch = code, BATCH(code.addresses["batch"])
        self._row = OPERATION * code.operations + NUMBER * (code.facts["n_in"] + code.facts["n_out"])

    def __call__(self, parts: Sequence[Array]) -> tuple[Array, bool]:
        """Parts (rows, any width) of n_in numbers a row -> (rows, n_out), and whether all numbers are finite."""
        rows, width = len(parts[0]), sum(part.shape[1] for part in parts)
        assert width == self.code.facts["n_in"] and all(part.dtype == float for part in parts)  # machine code is blind
        y = np.empty((rows, self.code.facts["n_out"]))
        work = self._row * rows
        threads = max(1, min(int(work / SHARE), cores()))
        shares = max(1 if threads == 1 else 2 * threads, work / PATIENCE)
        size = LANES * max(1, math.ceil(rows / LANES / shares))
        blocks = range(0, rows, size)
        left, finite = deque(blocks), []

        def run() -> None:
            own = job(parts, y)
            batch = partial(self._batch, own.ctypes.data)
            with suppress(IndexError):  # none is left
                while True:
                    first = left.popleft()
                    own[:2] = first, min(first + size, rows)
                    finite.append(batch())

        started = []
        try:
            with suppress(RuntimeError):  # there are no more threads
                for _ in range(threads - 1):
                    helper = threading.Thread(target=run)
                    helper.start()
                    started.append(helper)
            run()
        finally:
            left.clear()  # where this thread is interrupted, the others stop too
            for helper in started:
                helper.join()
        assert len(finite) == len(blocks)  # none was lost with its thread
        return y, all(finite)


ALLOWED: ContextVar[int | None] = ContextVar("ALLOWED", default=None)
"""How many cores whoever calls is to use, beside others that are at work; None: all of the process."""


def cores() -> int:
    """How many may be used here."""
    if (allowed := ALLOWED.get()) is not None:
        return allowed
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
