"""How long things take: called in turn, so that a slow moment of the machine hits all of them alike."""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from unittest import mock

CACHE = "FLEXARM_CACHE"


def interleaved(calls: dict[str, Callable[[], object]], repeats: int, least: float = 0.02) -> dict[str, list[float]]:
    """Seconds a call takes: `repeats` samples of each, in turn, each a mean over at least about `least` seconds."""
    counts = {}
    for name, call in calls.items():
        call()
        began = perf_counter()
        call()
        counts[name] = max(1, int(least / (perf_counter() - began)))
    samples: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            began = perf_counter()
            for _ in range(counts[name]):
                call()
            samples[name].append((perf_counter() - began) / counts[name])
    return samples


def timed(call: Callable[[], object]) -> float:
    """Seconds of one call."""
    began = perf_counter()
    call()
    return perf_counter() - began


@contextmanager
def empty_cache() -> Iterator[None]:
    """Nothing compiled is found on disk or in an earlier model, and what is compiled meanwhile is gone afterwards."""
    from flexarm.model import tracing
    from flexarm.native.once import Recent

    before = os.environ.get(CACHE)
    alone = mock.patch.object(tracing, "recent", Recent(0))
    with alone, tempfile.TemporaryDirectory(prefix="flexarm-bench-") as folder:
        os.environ[CACHE] = folder
        try:
            yield
        finally:
            os.environ.pop(CACHE)
            if before is not None:
                os.environ[CACHE] = before
