"""A function in a forked process, with a limit for one that hangs."""

import os
import time


def exit_of(child, seconds=30, fork=os.fork):
    """Run a function in a forked process; return its exit status, or None if it has not ended in time."""
    pid = fork()
    if pid == 0:
        try:
            child()
            os._exit(0)
        finally:
            os._exit(1)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    return None
