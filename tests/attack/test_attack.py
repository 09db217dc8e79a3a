"""Some hundred cases of fixed seeds; `make attack` has tens of thousands. And the attack sees what it must."""

import json
from pathlib import Path

import pytest
from programs import run

ROOT = Path(__file__).parents[2]

COUNTS = {"arms": 50, "scenarios": 40, "calls": 80, "commands": 40, "results": 28, "caches": 18, "scores": 45}
COUNTS |= {"parts": 24, "robots": 36, "studies": 14, "references": 20, "names": 12, "drives": 18, "pulses": 9}
COUNTS |= {"forks": 6}
"""Cases of each kind."""


@pytest.fixture
def attack(tmp_path, pytestconfig):
    """The attack in a process that has the libraries: its status, its report, and what it has found."""
    kept = [] if pytestconfig.getoption("empty_cache") else ["--keep"]

    def ended(*options, out="out"):
        words = ("--processes", "1", "--out", tmp_path / out, *kept, *options)
        done = run("-m", "tests.attack", *words, folder=ROOT, strict=False, figures=False, TMPDIR=str(tmp_path))
        facts = tmp_path / out / "findings.json"
        return done.returncode, done.stdout, json.loads(facts.read_text()) if facts.exists() else done.stderr

    return ended


def test_cases_of_fixed_seeds(attack, tmp_path):
    """In one process of the attack, whose start costs as much as a hundred cases."""
    cases = [(kind, seed) for kind, count in COUNTS.items() for seed in range(1, count + 1)]
    (tmp_path / "cases.json").write_text(json.dumps(cases))
    status, report, facts = attack("--cases", tmp_path / "cases.json")
    assert not facts["groups"], report
    assert status == 0
    assert {kind: sum(counts.values()) for kind, counts in facts["outcomes"].items()} == COUNTS


# -- the attack itself -------------------------------------------------------------------------------------------------

SEEN = {
    "raw": ("exception", "ValueError", "flexarm/checks.py:choices"),
    "raw_beyond": ("exception", "JSONDecodeError", "json/decoder.py:raw_decode"),
    "several_lines": ("message", "several lines", "attack/traps.py:several_lines"),
    "escape": ("message", "control characters", "attack/traps.py:escape"),
    "foreign_warning": ("warning", "RuntimeWarning", "attack/traps.py:foreign_warning"),
    "warning_of_a_case": ("warning", "UserWarning", "attack/traps.py:warning_of_a_case"),
    "noise": ("noise", "step # of #", "standard output or error"),
    "not_finite": ("not finite", "a number", "attack/traps.py:not_finite"),
    "crash": ("crash", "SIGSEGV", "ctypes/__init__.py:string_at"),
    "ended": ("crash", "exit 3", "nowhere"),
    "hang": ("hang", "until Ctrl-C", "attack/traps.py:hang"),
    "busy": ("hang", "until Ctrl-C", "attack/traps.py:busy"),
    "deaf": ("hang", "not even Ctrl-C", "attack/traps.py:busy"),
    "memory": ("exception", "MemoryError", "attack/traps.py:memory"),
    "outside": ("exception", "PermissionError", "attack/traps.py:outside"),
    "program": ("exception", "PermissionError", "subprocess.py:_execute_child"),
}
"""Of each trap: kind, what, where."""


def test_the_attack_sees_every_trap(attack, tmp_path):
    status, report, facts = attack("--kind", "traps", "--seed", 0, "--count", 18, "--limit", 1)
    found = {group["example"].strip(): group for group in facts["groups"]}
    seen = {name: tuple(group["finding"][key] for key in ("kind", "what", "where")) for name, group in found.items()}
    assert seen == SEEN, report
    assert status == 1
    assert facts["outcomes"]["traps"] == {"DescriptionError": 1, "Fault": 1, "finding": 16}
    assert all(group["repeats"] for group in facts["groups"])
    assert not Path("/dev/shm/flexarm-attack").exists()
    kept = {json.loads(file.read_text())["example"].strip() for file in tmp_path.glob("out/*/finding.json")}
    assert kept == set(SEEN)


def test_a_case_follows_from_its_kind_and_seed_alone(attack):
    one, other = (attack("--kind", "arms", "--seed", 7, "--count", 9, out=name) for name in "ab")
    assert sum(one[2]["outcomes"]["arms"].values()) == 9 and one[2]["outcomes"] == other[2]["outcomes"]
    status, report, _ = attack("--kind", "traps", "--seed", 2, out="alone")
    assert status == 1
    assert "ValueError at flexarm/checks.py:choices" in report
