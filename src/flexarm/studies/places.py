"""Choice of the place that computes the chunks of a study."""

import os
from collections.abc import Callable
from concurrent.futures import Executor

from flexarm.checks import Fault, checked_whole, shown
from flexarm.studies.cluster import LOCAL, Cluster
from flexarm.studies.executors import Given, Here, Place, Pool


def place_of(executor: object, say: Callable[[str], None]) -> Place:
    """Return the place for an argument: None, a number of processes, an executor, "local" or a scheduler's address."""
    if executor is None:
        return Pool(os.cpu_count() or 1)
    if isinstance(executor, Executor):
        return Given(executor)
    if isinstance(executor, str):
        return Cluster(executor, say)
    try:
        count = checked_whole(executor, 1, "executor")
    except Fault:
        raise Fault(
            "executor",
            f"is {shown(executor)}; it must be a concurrent.futures.Executor, a number of processes, the address of a "
            f'Dask scheduler or "{LOCAL}"',
        ) from None
    return Here() if count == 1 else Pool(count)
