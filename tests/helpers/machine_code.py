"""Machine code that later runs of the tests find, in `build/test-cache`; nothing there is used that is out of date.

There are two caches. The package's own has a folder for each state of the package's sources, and its keys hold the
same digest: after a change in `src` a run starts with an empty one. Below it LLVM's results are kept by LLVM's input,
the text of the program, so a change in `src` has only those programs compiled that it changes. The package still
compares each of them with CasADi's evaluation when it is new to its own cache.
"""

import contextlib
import hashlib
import inspect
import os
import shutil
import time
from importlib import metadata
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "build" / "test-cache"
KEPT = 4
"""States of the package's sources whose caches are kept: those of a few checkouts that one works on in turn."""

KEEPS = "FLEXARM_TESTS_KEEP_PROGRAMS"
"""The environment's name for a run of the tests that keeps compiled programs, for processes that it starts."""

UNUSED = 3 * 86400
"""Age in seconds at which a program is removed that no run has asked for."""


def package_cache():
    """Return the folder for the package's sources as they are now, and remove what is old."""
    from flexarm.native.kernel import __file__ as kernel
    from flexarm.native.kernel import sources_digest

    chosen = FOLDER / "package" / sources_digest(Path(kernel).parents[1])[:16]
    programs().mkdir(parents=True, exist_ok=True)
    chosen.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.utime(chosen)
    for old in sorted(chosen.parent.iterdir(), key=used, reverse=True)[KEPT:]:
        shutil.rmtree(old, ignore_errors=True)  # a run that still uses it compiles again
    for old in programs().iterdir():
        if time.time() - used(old) > UNUSED:
            old.unlink(missing_ok=True)
    return chosen


def used(path):
    """Return when something was used last; it may have been removed by another run."""
    return path.stat().st_mtime if path.exists() else 0.0


def programs():
    return FOLDER / "llvm"


def keep_as_the_tests_do():
    """In a process that a test has started: keep compiled programs where the run of the tests keeps its own."""
    if os.environ.get(KEEPS):
        keep_compiled_programs()


def keep_compiled_programs():
    """From now on this process takes LLVM's results from the folder of programs, and adds those that are new."""
    import llvmlite.binding as llvm

    from flexarm.native import kernel

    compiled, machine = kernel._compile, kernel.target_machine
    how = [inspect.getsource(each) for each in (compiled, machine)]
    where = [llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten(), metadata.version("llvmlite")]

    def kept(ir, effort=2):
        if kernel.target_machine is not machine:  # a test has put its own there
            return compiled(ir, effort)
        key = hashlib.sha256("\0".join([*how, *where, str(effort), ir]).encode()).hexdigest()
        file = programs() / key
        with contextlib.suppress(OSError):  # it is not there, or belongs to another user
            found = file.read_bytes()
            os.utime(file)
            return found
        found = compiled(ir, effort)
        with contextlib.suppress(OSError):
            new = file.with_name(f"{key}-{os.getpid()}")
            new.write_bytes(found)
            new.replace(file)
        return found

    kernel._compile = kept


if __name__ == "__main__":  # for `make docs`, which shares the cache with the tests
    print(package_cache())
