"""The tests themselves: what modules share stands in `helpers`, and none leans on another or on how fast things are."""

import ast
import os
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from figures import assert_readable, drawn, lines
from matplotlib.figure import Figure
from programs import ran, run

import flexarm

TESTS = sorted(Path(__file__).parent.rglob("*.py"))
HELPERS = {path.stem for path in (Path(__file__).parent / "helpers").glob("*.py")}


@cache
def nodes(path):
    """Return the imports and the calls of methods in a file: each file is parsed once for all tests."""
    found = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return [x for x in found if isinstance(x, (ast.Import, ast.ImportFrom)) or is_call_of_a_method(x)]


def is_call_of_a_method(node):
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)


def imported(path):
    """Names of the modules that a file imports anywhere, and what it takes from them."""
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.module or "", alias.name) for alias in node.names)


@pytest.mark.parametrize("path", TESTS, ids=lambda path: path.stem)
def test_no_module_imports_a_test_module(path):
    modules = {module.partition(".")[0] for module, _ in imported(path)}
    assert not {module for module in modules if module.startswith(("test_", "conftest"))}


ENDING = {"test_build_progress", "test_runs_attacked", "test_pickle", "study_tasks", "browser", "test_forks", "forked"}
"""Tests whose clock ends what hangs, after seconds where it should take none."""

COMPARED = {"test_predictive_loop"}
"""Tests that compare the clock of native code with that of Python, and measure nothing else."""


@pytest.mark.parametrize(
    "path",
    [path for path in TESTS if path.parent.name != "attack" and path.stem not in ENDING | COMPARED],
    ids=lambda path: path.stem,
)
def test_nothing_is_timed(path):
    """A clock may be replaced, and a wait may be long enough for anything; none may be the measure of a test.

    The attack ends what hangs, and has a clock for that.
    """
    clocks = {"perf_counter", "perf_counter_ns", "process_time", "monotonic", "timeit", "time_ns"}
    names = {name for module, name in imported(path) if module in ("time", "timeit")}
    called = {node.func.attr for node in nodes(path) if is_call_of_a_method(node)}
    assert not (names | called) & clocks


def test_helpers_hide_no_module_of_the_library():
    assert not HELPERS & set(sys.stdlib_module_names)


# -- programs in processes of their own --------------------------------------------------------------------------------


def test_a_program_starts_as_a_new_one_would(tmp_path):
    (tmp_path / "first.py").write_text(
        "import os, sys\n"
        "print(__name__, sys.argv, os.getcwd(), os.environ['FLEXARM_CACHE'])\n"
        "print(sys.flags.interactive, sys.dont_write_bytecode)\n"
        "import flexarm\n"
        "from flexarm.native.kernel import target_machine, _circumstances\n"
        "print(_circumstances.cache_info().currsize, target_machine.cache_info().currsize)\n"
        "print(flexarm.__file__)\n"
    )
    named, flags, used, package = ran("first.py", "a", 2, folder=tmp_path).stdout.splitlines()
    assert named == f"__main__ ['first.py', 'a', '2'] {tmp_path} {os.environ['FLEXARM_CACHE']}"
    assert flags == "0 False"
    assert used == "0 0", "the server has used the package"
    assert package == flexarm.__file__


@pytest.mark.parametrize(
    ("line", "status", "said"),
    [
        ("raise SystemExit(3)", 3, ""),
        ("raise ValueError('no')", 1, "ValueError: no"),
        ("import warnings; warnings.warn('old')", 1, "UserWarning: old"),
        ("import sys; print('aside', file=sys.stderr)", 0, "aside"),
    ],
)
def test_what_a_program_says_is_heard(line, status, said, tmp_path):
    (tmp_path / "program.py").write_text(f"print('begun')\n{line}\n")
    ended = run("program.py", folder=tmp_path)
    assert (ended.returncode, ended.stdout) == (status, "begun\n")
    assert said in ended.stderr and bool(ended.stderr) == bool(said)
    with pytest.raises(AssertionError):
        ran("program.py", folder=tmp_path)


# -- figures -----------------------------------------------------------------------------------------------------------


def figure_of(spoil=lambda axes: None):
    figure = Figure()
    axes = figure.subplots()
    axes.plot([0, 1, 2], [3, 4, 5], label="one")
    axes.plot([0, 1, 2], [5, 4, 3], label="two")
    axes.axvline(1.5, label="_mark")
    axes.set(xlabel="time [s]", ylabel="angle [rad]")
    axes.legend()
    spoil(axes)
    return drawn(figure)


def test_a_figure_is_told_as_it_is():
    (axes,) = figure_of()
    assert_readable([axes])
    assert (axes["x"], axes["y"], axes["title"], axes["legend"]) == ("time [s]", "angle [rad]", "", True)
    assert {name: curve.tolist() for name, curve in lines(axes).items()} == {
        "one": [[0, 1, 2], [3, 4, 5]],
        "two": [[0, 1, 2], [5, 4, 3]],
    }
    assert len(axes["lines"]) == 2


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda axes: axes.set_xlabel(""), "the axis across has no name"),
        (lambda axes: axes.set_ylabel(""), "the axis upwards has no name"),
        (lambda axes: axes.get_legend().remove(), "several curves and no legend"),
        (lambda axes: axes.plot([0, 1], [np.nan, np.nan], label="gone"), "gone has no finite number"),
        (lambda axes: axes.set_ylim(10, 20), "one is nowhere inside the limits"),
        (lambda axes: axes.clear(), "nothing is drawn"),
    ],
)
def test_what_a_reader_would_miss_is_found(spoil, said):
    with pytest.raises(AssertionError, match=said):
        assert_readable(figure_of(spoil))
