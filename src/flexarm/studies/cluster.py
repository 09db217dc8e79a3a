"""Dask clusters: workers on this machine or on many, which need the package and no common folder."""

import warnings
from collections.abc import Callable, Set
from concurrent.futures import CancelledError, Future
from typing import Any, final

from flexarm.checks import counted, shown
from flexarm.errors import DescriptionError
from flexarm.studies.executors import Died

PATIENCE = 10.0
"""Longest wait for a scheduler [s]."""

LOCAL = "local"
"""Name that stands for a cluster on this machine, in place of a scheduler's address."""


@final
class Cluster:
    """Workers of the Dask scheduler at an address. "local" starts a scheduler with workers on this machine.

    Raises `DescriptionError` if Dask is not installed, or if no scheduler answers at the address.
    """

    ahead = 1_000_000
    cores = 1

    def __init__(self, address: str, say: Callable[[str], None]):
        try:
            from distributed import Client, LocalCluster
        except ImportError as error:
            raise DescriptionError(f"study: a cluster needs Dask: pip install 'flexarm[cluster]' ({error})") from None
        self._own: Any = None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about a used port of the dashboard, which gets another one
                if address == LOCAL:
                    self._own = LocalCluster(threads_per_worker=1)
                self._client: Any = Client(self._own or address, timeout=PATIENCE, set_as_default=False)
        except (OSError, ValueError, TimeoutError) as error:
            said = " ".join(str(error).split())
            raise DescriptionError(
                f'study: no Dask scheduler answers at {shown(address)}: {said}; give its address, or "{LOCAL}"'
            ) from None
        self._executor = self._client.get_executor(pure=False)
        workers = len(self._workers())
        said = counted(workers, "worker") if workers else "waiting for workers"
        say(f"Dask at {self._client.scheduler_info()['address']}: {said}; dashboard {self._client.dashboard_link}")

    def submit(self, work: tuple[Any, ...], failed: Set[str]) -> "Future[Any]":
        if self._client.status != "running":
            raise Died("the scheduler has ended")
        executor = self._executor
        if failed and (others := [address for address in self._workers() if address not in failed]):
            executor = self._client.get_executor(pure=False, workers=others)
        return executor.submit(*work)  # type: ignore[no-any-return]

    def lost(self, error: BaseException) -> str:
        if isinstance(error, CancelledError | OSError):  # includes CommClosedError
            raise Died(f"the scheduler has ended: {type(error).__name__} {error}".rstrip())
        return f"{type(error).__name__}: {error}"

    def close(self, at_once: bool) -> None:
        if at_once:
            self._executor.shutdown(wait=False)
        self._client.close()
        if self._own is not None:
            self._own.close()

    def _workers(self) -> list[str]:
        return list(self._client.scheduler_info(n_workers=-1)["workers"])
