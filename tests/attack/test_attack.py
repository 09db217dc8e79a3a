"""A few hundred cases of fixed seeds; `make attack` has tens of thousands. And the attack sees what it must."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

CHOSEN = {
    "files": (["arms", "scenarios"], 120),
    "arguments": (["calls", "commands"], 160),
    "damage": (["results", "caches"], 60),
    "scores": (["scores"], 60),
    "parts of robots": (["parts", "robots"], 80),
    "studies": (["studies", "references", "names"], 60),
    "motions": (["drives", "pulses", "forks"], 40),
}


def attack(folder, *options):
    """The attack's status, its report, and what it has found."""
    out = folder / "out"
    ended = subprocess.run(
        [sys.executable, "-m", "tests.attack", "--processes", "1", "--out", str(out), *map(str, options)],
        cwd=ROOT,
        env=os.environ | {"TMPDIR": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    facts = out / "findings.json"
    assert facts.exists(), ended.stderr
    return ended.returncode, ended.stdout, json.loads(facts.read_text())


@pytest.mark.parametrize("name", CHOSEN)
def test_cases_of_fixed_seeds(name, tmp_path):
    kinds, count = CHOSEN[name]
    given = [word for kind in kinds for word in ("--kind", kind)]
    status, report, facts = attack(tmp_path, *given, "--seed", 1, "--count", count)
    assert not facts["groups"], report
    assert status == 0
    assert {kind: bool(counts) for kind, counts in facts["outcomes"].items()} == dict.fromkeys(kinds, True)
    assert sum(sum(counts.values()) for counts in facts["outcomes"].values()) == count


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


def test_the_attack_sees_every_trap(tmp_path):
    status, report, facts = attack(tmp_path, "--kind", "traps", "--seed", 0, "--count", 18, "--limit", 2)
    found = {group["example"].strip(): group for group in facts["groups"]}
    seen = {name: tuple(group["finding"][key] for key in ("kind", "what", "where")) for name, group in found.items()}
    assert seen == SEEN, report
    assert status == 1
    assert facts["outcomes"]["traps"] == {"DescriptionError": 1, "Fault": 1, "finding": 16}
    assert all(group["repeats"] for group in facts["groups"])
    assert not Path("/dev/shm/flexarm-attack").exists()
    kept = {json.loads(file.read_text())["example"].strip() for file in tmp_path.glob("out/*/finding.json")}
    assert kept == set(SEEN)


def test_a_case_follows_from_its_kind_and_seed_alone(tmp_path):
    one, other = (attack(tmp_path / name, "--kind", "arms", "--seed", 7, "--count", 9) for name in "ab")
    assert one[2]["outcomes"] == other[2]["outcomes"]
    alone = subprocess.run(
        [sys.executable, "-m", "tests.attack", "--kind", "traps", "--seed", "2"],
        cwd=ROOT,
        env=os.environ | {"TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert alone.returncode == 1
    assert "ValueError at flexarm/checks.py:choices" in alone.stdout
