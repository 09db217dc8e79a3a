"""Places that compute chunks: this process, processes of this machine, an executor of the user, or a cluster.

A place receives a chunk to compute, with the workers that have failed with this chunk before. It raises `Died` if it
can compute no more.
"""

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Set
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ProcessPoolExecutor
from multiprocessing.connection import Connection, wait
from multiprocessing.reduction import ForkingPickler
from typing import Any, Protocol, final

from flexarm.errors import DescriptionError


class Died(Exception):
    """A place can compute no more. The message names the place and the reason."""


class Place(Protocol):
    """A place that computes chunks."""

    @property
    def ahead(self) -> int:
        """Number of chunks that the place receives at once."""

    @property
    def cores(self) -> int | None:
        """Number of cores that a chunk may use. None for all cores."""

    def submit(self, work: tuple[Any, ...], failed: Set[str]) -> "Future[Any]":
        """Start the computation of a chunk, given as a function and its arguments, on a worker that has not failed if
        possible."""

    def lost(self, error: BaseException) -> str:
        """Return the reason why a chunk's worker has ended. Raises `Died` if all workers have."""

    def close(self, at_once: bool) -> None:
        """End the work. With `at_once`, cancel running computations as well."""


@final
class Here:
    """This process itself, one chunk after another."""

    ahead = 1
    cores = None

    def submit(self, work: tuple[Any, ...], failed: Set[str]) -> "Future[Any]":
        function, *arguments = work
        done: Future[Any] = Future()
        done.set_result(function(*arguments))
        return done

    def lost(self, error: BaseException) -> str:
        return str(error)

    def close(self, at_once: bool) -> None:
        pass


# -- processes of this machine -----------------------------------------------------------------------------------------

MOST_ON_WINDOWS = 61
"""Largest number of processes of a pool on Windows, which waits for at most 63 objects at once."""


def _born(life: Connection, ready: Any) -> None:
    """Initialize a new process. It ends together with the study's process in every case, and ignores Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        wait([life])  # the other end is closed, even if its process is killed
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
    ready.set()


@final
class Pool:
    """Processes of this machine, which end together with this one.

    If one of them ends early, the others of its pool are lost with it, and new ones are started. Interrupted chunks are
    tried again, each in a process of its own, so that a chunk that kills processes harms no other.
    """

    cores = 1

    def __init__(self, count: int):
        count = min(count, MOST_ON_WINDOWS) if sys.platform == "win32" else count
        self._count = count
        self._context = multiprocessing.get_context("spawn")  # a fork would copy locks that other threads hold
        self._ready = self._context.Event()
        self._life, self._ours = self._context.Pipe(duplex=False)
        self._pools: list[ProcessPoolExecutor] = []
        self._common: ProcessPoolExecutor | None = None
        self.ahead = count + 1

    def submit(self, work: tuple[Any, ...], failed: Set[str]) -> "Future[Any]":
        if failed:
            single = self._new(1)
            future = single.submit(*work)
            future.add_done_callback(lambda _: single.shutdown(wait=False))
            return future
        if self._common is None:
            try:
                ForkingPickler.dumps(work)
            except Exception as error:
                raise DescriptionError(f"study: the task cannot be sent to other processes: {error}") from None
            self._common = self._new(self._count)
        try:
            return self._common.submit(*work)
        except BrokenExecutor:  # the running chunks report it as well; it is noticed here first
            self._common = self._new(self._count)
            return self._common.submit(*work)
        except RuntimeError as error:
            if "bootstrapping" not in str(error):
                raise
            raise SystemExit(1) from None  # a process of the pool runs the script again; the study reports it

    def lost(self, error: BaseException) -> str:
        if not isinstance(error, BrokenExecutor):
            return f"{type(error).__name__}: {error}"
        if not self._ready.is_set():
            raise Died(
                "its processes end as soon as they start; a script that calls it must do so under "
                '`if __name__ == "__main__":`'
            )
        return "its process was killed, perhaps because the memory was full"

    def close(self, at_once: bool) -> None:
        for pool in self._pools:
            pool.shutdown(wait=not at_once, cancel_futures=True)
        self._ours.close()

    def _new(self, count: int) -> ProcessPoolExecutor:
        pool = ProcessPoolExecutor(count, self._context, initializer=_born, initargs=(self._life, self._ready))
        self._pools.append(pool)
        return pool


@final
class Given:
    """An executor of the user, which is not shut down."""

    ahead = 1_000_000
    cores = 1

    def __init__(self, executor: Executor):
        self._executor = executor

    def submit(self, work: tuple[Any, ...], failed: Set[str]) -> "Future[Any]":
        try:
            return self._executor.submit(*work)
        except RuntimeError as error:  # the executor is broken, or has been shut down
            raise Died(f"the executor rejects work: {error}") from None

    def lost(self, error: BaseException) -> str:
        if isinstance(error, BrokenExecutor | CancelledError):
            raise Died(f"the executor has died: {type(error).__name__}: {error}")
        return f"{type(error).__name__}: {error}"

    def close(self, at_once: bool) -> None:
        pass
