"""Every test run has a cache of machine code of its own, shared by the processes of the run and gone after it.

So has the bytecode of programs that tests start (`helpers/programs.py`): they leave nothing in the source tree.
"""

import tempfile

import pytest

FOLDERS = ("FLEXARM_CACHE", "FLEXARM_TESTS_BYTECODE")


def pytest_configure(config):
    if hasattr(config, "workerinput"):  # a process of pytest-xdist has its parent's environment
        return
    for name in FOLDERS:
        folder = tempfile.TemporaryDirectory(prefix="flexarm-tests-", ignore_cleanup_errors=True)
        config.add_cleanup(folder.cleanup)
        patch = pytest.MonkeyPatch()
        patch.setenv(name, folder.name)
        config.add_cleanup(patch.undo)
