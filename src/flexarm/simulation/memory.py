"""How much memory there is, so that what would not fit is refused before anything is allocated."""

import os
from pathlib import Path

PROCESS, SYSTEM = Path("/proc/self/statm"), Path("/proc/meminfo")
GROUPS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
"""Limits of the container that the process runs in, of both kinds."""


def room() -> float:
    """Bytes that this process may still take, as far as the system tells; infinite where it does not."""
    total, resident = _taken()
    return min(_limit_of_process() - total, _available(), *(_limit(file) - resident for file in GROUPS))


def _taken() -> tuple[float, float]:
    """Bytes that this process has, in all and in memory."""
    try:
        total, resident = PROCESS.read_text().split()[:2]
    except OSError:
        return 0.0, 0.0
    page = os.sysconf("SC_PAGE_SIZE")
    return float(total) * page, float(resident) * page


def _limit_of_process() -> float:
    """Of its address space, `ulimit -v`."""
    try:
        import resource
    except ImportError:  # Windows
        return float("inf")
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return float("inf") if limit == resource.RLIM_INFINITY else float(limit)


def _available() -> float:
    """What the machine has left; all that it has, where it does not say."""
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
    """A number in a file; infinite where there is none, or the word max."""
    try:
        return float(file.read_text())
    except (OSError, ValueError):
        return float("inf")
