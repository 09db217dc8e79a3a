"""A function in a forked process, with a limit for one that hangs."""

import os
import time
from pathlib import Path


def exit_of(child, seconds=30, fork=os.fork, stuck=lambda pid: None):
    """Run a function in a forked process; return its exit status, or None if it hangs.

    A child hangs if it uses no processor time for so many seconds, or so many seconds of the processor altogether. A
    busy machine makes it slow, but not hang. `stuck(pid)` is called before such a child is ended.
    """
    pid = fork()
    if pid == 0:
        try:
            child()
            os._exit(0)
        finally:
            os._exit(1)
    used, since = -1.0, time.monotonic()
    while True:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        now = _processor(pid)
        if now != used:
            used, since = now, time.monotonic()
        if used > seconds or time.monotonic() - since > seconds:
            break
        time.sleep(0.01)
    stuck(pid)
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    return None


def together(child, count):
    """Run a function in so many forked processes at the same time; return their exit statuses."""
    pids = []
    for _ in range(count):
        pids.append(os.fork())
        if pids[-1] == 0:
            try:
                child()
                os._exit(0)
            finally:
                os._exit(1)
    return [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]


def _processor(pid):
    """Processor time that a process has used [s], or 0 where the system does not report it."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")
