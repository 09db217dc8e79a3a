"""The tests themselves: what modules share stands in `helpers`, and none leans on another or on how fast things are."""

import ast
from pathlib import Path

import pytest

TESTS = sorted(Path(__file__).parent.rglob("*.py"))
HELPERS = {path.stem for path in (Path(__file__).parent / "helpers").glob("*.py")}


def imported(path):
    """Names of the modules that a file imports anywhere, and what it takes from them."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.module or "", alias.name) for alias in node.names)


@pytest.mark.parametrize("path", TESTS, ids=lambda path: path.stem)
def test_no_module_imports_a_test_module(path):
    modules = {module.partition(".")[0] for module, _ in imported(path)}
    assert not {module for module in modules if module.startswith(("test_", "conftest"))}


@pytest.mark.parametrize("path", TESTS, ids=lambda path: path.stem)
def test_nothing_is_timed(path):
    """A clock may be replaced, and a wait may be long enough for anything; none may be the measure of a test."""
    clocks = {"perf_counter", "perf_counter_ns", "process_time", "monotonic", "timeit", "time_ns"}
    names = {name for module, name in imported(path) if module in ("time", "timeit")}
    called = {
        node.func.attr
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }
    assert not (names | called) & clocks


def test_helpers_hide_no_module_of_the_library():
    import sys

    assert not HELPERS & set(sys.stdlib_module_names)
