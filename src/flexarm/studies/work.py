"""Chunks of a study: some of its samples, and their computation by a worker."""

import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from flexarm import escape
from flexarm.errors import InterruptedRun
from flexarm.native.calls import ALLOWED
from flexarm.studies.digest import code_version, digest
from flexarm.studies.tasks import Samples, Task

if TYPE_CHECKING:
    from xarray import Dataset

LONGEST = 500
"""Largest number of characters of the error message of a failed chunk."""


@final
@dataclass(frozen=True)
class Chunk:
    """Some runs of a study.

    Attributes
    ----------
    first : int
        Number of the first run in the study.
    samples : dict of ndarray, (runs,)
        Values of each parameter.
    key : str
        Digest of everything that determines the results: the task, the samples, and the code of the package.
    """

    first: int
    samples: Samples
    key: str

    @property
    def runs(self) -> int:
        return len(next(iter(self.samples.values())))


@final
@dataclass(frozen=True)
class Failure:
    """Reason why a chunk could not be computed, and the worker that tried."""

    why: str
    where: str


def chunks(task: str, samples: Samples, size: int, first: int = 0) -> list[Chunk]:
    """Return samples in chunks. `task` is the digest of the task."""
    count = len(next(iter(samples.values())))
    found = []
    for i in range(0, count, size):
        part = {name: values[i : i + size] for name, values in samples.items()}
        found.append(Chunk(first + i, part, digest(task, part, code_version())))
    return found


def computed(task: Task, samples: Samples, version: str, cores: int | None) -> "Dataset | Failure":
    """Return the computed chunk. Errors are returned and not raised, since not every exception can be sent back."""
    token = ALLOWED.set(cores)
    try:
        if version != code_version():
            return Failure(
                f"the worker has flexarm {code_version()} and the study {version}; install the same version", here()
            )
        return task.run(samples)
    except InterruptedRun:  # Ctrl-C in a run of this process
        raise KeyboardInterrupt from None
    except Exception as error:
        said = " ".join(escape.line(str(error)).split()) or "without a message"
        return Failure(f"{type(error).__name__}: {said[:LONGEST]}", here())
    finally:
        ALLOWED.reset(token)


def here() -> str:
    """Return the identity of this worker: the address of a Dask worker, or a process."""
    distributed: Any = sys.modules.get("distributed")
    if distributed is not None:
        try:
            return str(distributed.get_worker().address)
        except ValueError:  # this process is not a worker
            pass
    return f"process {os.getpid()}"
