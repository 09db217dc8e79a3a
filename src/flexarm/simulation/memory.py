"""Available memory, so that a result that does not fit is rejected before it is allocated."""

import os
from pathlib import Path

PROCESS, SYSTEM = Path("/proc/self/statm"), Path("/proc/meminfo")
GROUPS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
"""Memory limits of the process's container, in cgroup versions 2 and 1."""

SMALL = 1e7
"""Size of a result [bytes] that is always allowed, since the system's report of free memory is an estimate."""


def usable() -> float:
    """Return how many bytes a result may have: the available memory, but at least `SMALL`."""
    return max(room(), SMALL)


def room() -> float:
    """Return how many bytes this process may still allocate, or infinity if the system does not report it."""
    total, resident = _taken()
    return min(_limit_of_process() - total, _available(), *(_limit(file) - resident for file in GROUPS))


def _taken() -> tuple[float, float]:
    """Return the size of this process's address space and of its resident memory [bytes]."""
    try:
        total, resident = PROCESS.read_text().split()[:2]
    except OSError:
        return 0.0, 0.0
    page = os.sysconf("SC_PAGE_SIZE")
    return float(total) * page, float(resident) * page


def _limit_of_process() -> float:
    """Return the limit of the process's address space [bytes], `ulimit -v`."""
    try:
        import resource
    except ImportError:  # Windows
        return float("inf")
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return float("inf") if limit == resource.RLIM_INFINITY else float(limit)


def _available() -> float:
    """Return the available memory of the machine [bytes], or its total memory if that is all the system reports."""
    try:
        lines = dict(line.split(":") for line in SYSTEM.read_text().splitlines())
        return 1024.0 * int(lines["MemAvailable"].split()[0])
    except (OSError, KeyError):
        pass
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError):  # Windows
        return float("inf")


def _limit(file: Path) -> float:
    """Return the number in a file, or infinity if the file is missing or contains the word max."""
    try:
        return float(file.read_text())
    except (OSError, ValueError):
        return float("inf")
