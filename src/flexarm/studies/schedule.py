"""Schedule of chunks until all are done: stored as they finish, repeated on failure, then reported."""

from collections import deque
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

from flexarm.errors import DescriptionError
from flexarm.studies.digest import code_version
from flexarm.studies.executors import Died, Place
from flexarm.studies.folder import Folder
from flexarm.studies.tasks import Task
from flexarm.studies.work import Chunk, Failure, computed

if TYPE_CHECKING:
    from xarray import Dataset

TRIES = 2

LOOK = 0.2
"""Time between two checks of running chunks while no result arrives [s]."""


@final
@dataclass
class Work:
    """Finished and failed chunks of a study.

    Attributes
    ----------
    done : dict
        Finished chunks by key.
    failed : dict
        Reasons of failures by key.
    found : int
        Number of runs that were already in the folder.
    """

    task: Task
    place: Place
    folder: Folder | None
    progress: Callable[[int], None]
    done: dict[str, "Dataset"] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    found: int = 0

    def do(self, chunks: list[Chunk]) -> None:
        """Compute the chunks that are missing.

        Raises `Died` if the executor does, and `DescriptionError` if a chunk cannot be stored. Earlier chunks remain.
        """
        waiting = deque(chunk for chunk in chunks if not self._found(chunk))
        running: dict[Future[Any], Chunk] = {}
        tried: dict[str, list[str]] = {}  # workers that have failed with a chunk

        def begin(chunk: Chunk) -> None:
            before = frozenset(tried.get(chunk.key, ()))
            work = (computed, self.task, chunk.samples, code_version(), self.place.cores)
            running[self.place.submit(work, before)] = chunk

        try:
            while waiting or running:
                while waiting and len(running) < self.place.ahead:
                    begin(waiting.popleft())
                wait(running, LOOK, FIRST_COMPLETED)
                for future in [future for future in running if future.done()]:  # in the order of submission
                    chunk = running.pop(future)
                    found = self._result(future)
                    if not isinstance(found, Failure):
                        if unlike := self._unlike(found):
                            self.failed[chunk.key] = unlike
                            self.progress(chunk.runs)
                        else:
                            self._keep(chunk, found)
                        continue
                    tried.setdefault(chunk.key, []).append(found.where)
                    if len(tried[chunk.key]) < TRIES:
                        begin(chunk)
                    else:
                        self.failed[chunk.key] = found.why
                        self.progress(chunk.runs)
        except (Died, KeyboardInterrupt):
            for future, chunk in running.items():  # chunks that have finished in the meantime
                ended = future.done() and not future.cancelled() and future.exception() is None
                if ended and not isinstance(found := future.result(), Failure):
                    self._keep(chunk, found)
            raise

    def _result(self, future: "Future[Any]") -> Any:
        try:
            return future.result()
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # CancelledError is not an Exception
            return Failure(self.place.lost(error), "a worker that has ended")

    def _found(self, chunk: Chunk) -> bool:
        if chunk.key not in self.done and self.folder is not None and (part := self.folder.get(chunk)) is not None:
            self.done[chunk.key] = part
            self.found += chunk.runs
        if chunk.key in self.done:
            self.progress(chunk.runs)
            return True
        return False

    def _unlike(self, part: "Dataset") -> str:
        """Return the reason why a chunk does not fit the earlier chunks, or "" if it does."""
        first = next(iter(self.done.values()), part)
        for name in part.data_vars:
            one, other = (each[name].shape[1:] if name in each else () for each in (part, first))
            if name in first and one != other:
                return f"{name} has shape {one} in some runs and {other} in others; it must be the same"
        return ""

    def _keep(self, chunk: Chunk, part: "Dataset") -> None:
        fault = ""
        if self.folder is not None:
            try:
                self.folder.put(chunk, part)
            except DescriptionError as error:  # the disk is full; the runs are in the result
                self.folder, fault = None, str(error)
        self.done[chunk.key] = part
        self.progress(chunk.runs)
        if fault:
            raise Died(fault)
