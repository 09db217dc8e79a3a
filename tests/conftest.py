"""What every run of the tests has: a cache of machine code, and a choice for the inner loop (`--quick`).

All processes of a run share the cache, and later runs find it (`helpers/machine_code.py`). `--empty-cache` gives a run
an empty cache of its own, in which every program is compiled.
"""

import gc
import os
import re
import signal
import sys
import tempfile
from pathlib import Path

# Small matrices, a process a core: more threads only wait. NumPy, which some helpers import, reads it once: with two
# threads on two busy cores the eigenvalues of a matrix of 240 rows take a hundred times as long.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import machine_code as caches
import pytest
from browser import browser, opened  # noqa: F401  (fixtures of every test)
from children import forked_readers  # noqa: F401

# A job in the background has Ctrl-C switched off, and tests that press it would wait for ever.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Without bytecode on disk every process of a run compiles all modules anew, which costs each worker half a minute.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Fourteen thousand tests are collected without a search for cycles among them, which took three quarters of that time.
gc.disable()

os.environ["BROWSER"] = "true"  # a program that does nothing: pages that are written are not shown

KINDS = (
    "general-1|planar-24|elastic-32|telescope-40|paper-46|absolute-48|foreshortening-54|chord-57|tapered-59|pinned-60"
)
QUICK = {
    "test_arm.py": "",
    "test_cli.py": "test_(list|modes|simulate_writes|derive_prints)|negative|No such|unknown|bad_input",
    "test_control_joints.py": "linear|refused|carries",
    "test_dynamics.py": rf"\[({KINDS}|families-63)[-\]]|spin|clamped|entries|operations",
    "test_formats.py": "rigid-two-link",
    "test_model.py": "door|shape|axes|length|native|slopes",
    "test_native.py": "",
    "test_oracle.py": r"\[(1|20|24|32|38)-|^[^\[]*$",
    "test_performance.py": "decaying|file_s|wrong_controller",
    "test_plots.py": "",
    "test_results.py": "round_trip|fails|foreign",
    "test_scenario.py": "rigid-two-link|mistake",
    "test_simulate.py": "dop853|audit|energy|names_units",
    "test_suite.py": "",
    "test_trees.py": r"\[(fixed|free)-(general-0|rigid-6)|refused|heavy|file",
}
"""Files, and what a test's name must have in it: an arm of each kind, each door, one run, one law, one closed form."""


@pytest.fixture
def traced_alone():
    """Let every model of the test trace by itself.

    Otherwise models of equal arms share their functions, those of earlier tests included.
    """
    from alone import alone  # here, since it imports the package, for which the environment is set below

    with alone():
        yield


@pytest.fixture(scope="module")
def interpreted():
    """Let CasADi evaluate quantities of models for the tests of a file, which compile only what is integrated."""
    from interpreted import REPLACED, evaluated  # here, since it imports the package

    with evaluated(REPLACED):
        yield


@pytest.fixture
def machine_code():
    """Let machine code evaluate quantities of models, in a test of a file with `interpreted`."""
    from interpreted import COMPILED, evaluated  # here, since it imports the package

    with evaluated(COMPILED):
        yield


@pytest.fixture
def monkeypatch():
    """A monkeypatch of pytest. Once it has changed the package, new models of the test share no functions."""
    from alone import Patches  # here, since it imports the package, for which the environment is set above

    with Patches.of_test() as patches:
        yield patches


def pytest_addoption(parser):
    parser.addoption("--quick", action="store_true", help="a choice of tests for the inner loop")
    parser.addoption("--empty-cache", action="store_true", help="compile every kernel, whatever earlier runs have left")


LARGE = "ignore:link .* bends by:flexarm.errors.LargeDeflection"
"""Some tests compare methods on random arms, and some of these arms bend far."""


def pytest_configure(config):
    config.addinivalue_line("filterwarnings", LARGE)
    if not config.getoption("empty_cache"):
        caches.keep_compiled_programs()
    if hasattr(config, "workerinput"):  # a process of pytest-xdist has its parent's environment
        return
    if config.getoption("empty_cache"):
        temporary = tempfile.TemporaryDirectory(prefix="flexarm-tests-", ignore_cleanup_errors=True)
        config.add_cleanup(temporary.cleanup)
        folder = Path(temporary.name)
    else:
        folder = caches.package_cache()
    patch = pytest.MonkeyPatch()
    patch.setenv("FLEXARM_CACHE", str(folder))
    patch.setenv(caches.KEEPS, "" if config.getoption("empty_cache") else "1")
    config.add_cleanup(patch.undo)


def pytest_ignore_collect(collection_path, config):
    is_test = collection_path.name.startswith("test_") and collection_path.suffix == ".py"
    return True if config.getoption("quick") and is_test and collection_path.name not in QUICK else None


@pytest.hookimpl(trylast=True)
def pytest_collection_finish():
    """Leave the tests, which live to the end, out of every later search for cycles."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)  # the objects of traced functions are many, and few of them are in cycles
    gc.enable()


def pytest_collection_modifyitems(config, items):
    if not config.getoption("quick"):
        return
    chosen = [item for item in items if re.search(QUICK[item.path.name], item.name)]
    if missing := {item.path.name for item in items} - {item.path.name for item in chosen}:
        raise pytest.UsageError(f"--quick: nothing is chosen of {', '.join(sorted(missing))}")
    config.hook.pytest_deselected(items=[item for item in items if item not in set(chosen)])
    items[:] = chosen
