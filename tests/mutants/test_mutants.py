"""The faults that `make mutants` draws, and its verdicts on a small package of its own."""

import json
import os
import subprocess
import sys
from dataclasses import asdict
from functools import cache
from pathlib import Path

import pytest

from . import covered, faults, record, tests_of

ROOT = Path(__file__).parents[2]

TEXT = '''
"""Half of it is 0.5 * x - 1."""
def area(a: "Sized[0.5 * 2]", b, c=0.5 * 2):
    """A - B."""
    if isinstance(a, (int, b[0])):
        raise ValueError(f"{a - b}" + b[0])
    total = 0.5 * a**2 - b[1]
    total += max(a, b)
    for i in range(3):
        total = total if a < b else divided(a, b) + {}[i]
    return -total / "a".find("a" + b) + [a] + [b]
'''

EXPECTED = {
    "sign": ["(0.5 * a ** 2 + b[1])", "total -= max(a, b)", "(divided(a, b) - {}[i])", "total"],
    "term dropped": ["(0.5 * a ** 2)", "(-b[1])", "pass", "divided(a, b)", "({}[i])"],
    "factor dropped": ["0.5", "2", "0.5", "(a ** 2)"],
    "factor changed": ["(1.0 * 2)", "(0.5 * 1)", "(1.0 * a ** 2)", "(a ** 1)"],
    "operands exchanged": ["(2 ** a)", "(b[1] - 0.5 * a ** 2)"],
    "min and max exchanged": ["min(a, b)"],
    "index": ["(b[2])", "(b[0])", "range(3 + 1)", "range(3 - 1)", "({}[i + 1])", "({}[i - 1])"],
    "comparison turned": ["(a >= b)"],
    "arguments exchanged": ["divided(b, a)"],
}


def test_faults_are_made_where_numbers_are_computed_and_nowhere_else():
    found = {}
    for fault in faults.faults(TEXT, "flexarm/native/a.py"):
        found.setdefault(fault.kind, []).append(fault.after)
        changed = fault.applied(TEXT)
        compile(changed, "a.py", "exec")
        assert changed != TEXT
        assert changed.count("\n") == TEXT.count("\n")
    assert {kind: sorted(texts) for kind, texts in found.items()} == {k: sorted(t) for k, t in EXPECTED.items()}


def test_a_seed_draws_the_same_faults_from_all_folders(monkeypatch):
    source = ROOT / "src"
    anew, known = faults.by_kind, cache(faults.by_kind)
    assert anew(source, "native") == known(source, "native")
    monkeypatch.setattr(faults, "by_kind", known)
    found = faults.drawn(source, 5, 30)
    assert found[:20] == faults.drawn(source, 5, 20)
    assert len(set(found)) == 30
    assert [fault.folder for fault in found[:3]] == list(faults.FOLDERS)
    assert found != faults.drawn(source, 6, 30)


def test_what_was_not_caught_is_found_again_where_its_lines_have_moved(tmp_path):
    part = tmp_path / "src" / "flexarm" / "mechanics" / "part.py"
    part.parent.mkdir(parents=True)
    twice = "def f(x):\n    y = 2 * x\n    return y + 2 * x\n"
    part.write_text(twice + "\ndef g(x):\n    return x - 1\n")
    before = [fault for kind in faults.by_kind(tmp_path / "src", "mechanics").values() for fault in kind]
    wanted = [fault for fault in before if fault.after == "(1 * x)"] + [fault for fault in before if fault.after == "1"]
    log = tmp_path / "log.jsonl"
    verdicts = ["caught", "survived", "not judged", "survived"]
    lines = [json.dumps(asdict(fault) | {"verdict": verdict}) for fault, verdict in zip(wanted, verdicts, strict=False)]
    log.write_text("\n".join(lines) + "\n")
    part.write_text('"""A docstring."""\n\n' + twice + "\ndef g(x):\n    return x\n")
    found, gone = faults.again(tmp_path / "src", log)
    assert [(fault.lines[0], fault.after) for fault in found] == [(4, "(1 * x)"), (5, "(1 * x)")]
    assert gone == [str(fault) for fault in wanted[2:]]


# -- verdicts ----------------------------------------------------------------------------------------------------------

PACKAGE = """
def double(x):
    return 2 * x

def spare(x):
    return x + 0

def countdown(n):
    while n > 0:
        n -= 1
    return n
"""
TESTS = """
from flexarm.mechanics.part import countdown, double, spare

def test_double():
    assert double(3) == 6

def test_spare():
    assert spare(3) == 3

def test_countdown():
    assert countdown(3) == 0
"""
RUN = """
import json, os, sys
from functools import cache
from pathlib import Path
folder = Path(sys.argv[1])
os.environ["MUTANTS_ROOT"] = str(folder)
from tests.mutants import faults, trial
trial.LEAST, trial.LONGER = 2.0, 0.0
(folder / "copy").mkdir()
tree = trial.Tree(folder / "root", folder / "copy")
text = (folder / "root/src/flexarm/mechanics/part.py").read_text()
found = {fault.after: fault for fault in faults.faults(text, "flexarm/mechanics/part.py")}
wanted = ["(1 * x)", "(x - 0)", "n += 1"]
tests = ["tests/test_part.py"]
outcomes = [tree.run(tests, 0.0, found[after]) for after in wanted] + [tree.run(tests, 0.0)]
print(json.dumps([(outcome.verdict, outcome.test, outcome.ran) for outcome in outcomes]))
"""


def test_a_fault_is_caught_survives_or_never_ends(tmp_path):
    """The working tree stays as it is, and so does the copy after each fault."""
    package = tmp_path / "root" / "src" / "flexarm"
    (package / "mechanics").mkdir(parents=True)
    (tmp_path / "root" / "tests").mkdir()
    for file in (package / "__init__.py", package / "mechanics" / "__init__.py"):
        file.touch()
    part = package / "mechanics" / "part.py"
    part.write_text(PACKAGE)
    (tmp_path / "root" / "tests" / "test_part.py").write_text(TESTS)
    places = os.pathsep.join(map(str, (ROOT, ROOT / "tests" / "helpers")))
    environment = os.environ | {"PYTHONPATH": places, "PYTHONDONTWRITEBYTECODE": "1"}
    ended = subprocess.run([sys.executable, "-c", RUN, str(tmp_path)], capture_output=True, text=True, env=environment)
    assert ended.returncode == 0, ended.stderr
    caught, survived, endless, unfaulted = json.loads(ended.stdout)
    assert caught == ["caught", "tests/test_part.py::test_double", 1]
    assert survived == ["survived", "", 3]
    assert endless[0] == "endless"
    assert unfaulted == ["survived", "", 3]
    assert part.read_text() == PACKAGE


# -- what was recorded -------------------------------------------------------------------------------------------------


def test_machine_code_counts_for_its_functions_and_those_they_call():
    from flexarm.simulation import advance

    names = record.translated(lambda: advance.translated(advance.implicit_interval))
    assert not names  # a lambda that names no function of its own module
    once = advance.Once(lambda: None)
    assert record.translated(once._build) == frozenset()
    build = type(lambda: None)((lambda: translated(implicit_interval)).__code__, vars(advance))  # noqa: F821
    assert {
        "flexarm/simulation/advance.py:implicit_interval",
        "flexarm/simulation/steps.py:integrate",
    } <= record.translated(build)


@pytest.mark.parametrize(("executed", "apart"), [([1], {2, 3}), ([1, 2], set())])
def test_lines_of_machine_code_count_where_python_ran_them(tmp_path, executed, apart):
    path = tmp_path / "a.py"
    path.write_text("def f(x):\n    y = x\n    return y\n\ndef g():\n    return 1\n")
    found = {"executed_lines": executed}
    assert covered.native_lines(path, "flexarm/native/a.py", {"flexarm/native/a.py:f"}, found) == apart


def test_tests_that_run_a_fault_come_first_the_cheapest_of_each_kind_at_the_head():
    recorded = tests_of.Map.__new__(tests_of.Map)
    recorded.seconds = {"a.py::f[1]": 1.0, "a.py::f[2]": 2.0, "b.py::g": 5.0, "b.py::h": 0.1}
    assert recorded._ordered(recorded.seconds) == ["b.py::h", "a.py::f[1]", "b.py::g", "a.py::f[2]"]
