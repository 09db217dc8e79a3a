"""Every test run has a cache of machine code of its own, shared by the processes of the run and gone after it."""

import os
import tempfile

CACHE = "FLEXARM_CACHE"


def pytest_configure(config):
    if hasattr(config, "workerinput"):  # a process of pytest-xdist has its parent's environment
        return
    folder = tempfile.TemporaryDirectory(prefix="flexarm-tests-", ignore_cleanup_errors=True)
    before = os.environ.get(CACHE)
    os.environ[CACHE] = folder.name

    def restore():
        folder.cleanup()
        os.environ.pop(CACHE)
        if before is not None:
            os.environ[CACHE] = before

    config.add_cleanup(restore)
