"""Every example runs, and so do every Python block and every `flexarm` command of the README."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
README = ROOT / "README.md"

EXPECTED = {
    "describe_and_simulate.py": ["coordinates: upper.joint, fore.joint, upper.y1", "rad", "mm"],
    "canadarm_slew.py": ["hand.joint: 0.99", "slew.nc", "slew.png"],
    "batch_and_casadi.py": ["(10000, 16)", "symmetric: True", "sags by"],
}


def blocks(language):
    """The fenced blocks of the README in a language."""
    text = README.read_text() if README.exists() else ""
    return re.findall(rf"^```(?:{language})\n(.*?)^```", text, re.M | re.S)


def commands():
    """`flexarm ...` in the README, on a line of a block (fenced or indented), after a prompt or not."""
    text = README.read_text() if README.exists() else ""
    indented = re.findall(r"^(?: {4}|\t)(.*)$", text, re.M)
    fenced = [line for block in blocks("|sh|bash|console|shell|text") for line in block.splitlines()]
    lines = [line.strip().removeprefix("$ ").removeprefix(".venv/bin/") for line in indented + fenced]
    return sorted({line.partition("#")[0].strip() for line in lines if line.startswith("flexarm ")})


def run(arguments, folder):
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def drift(text):
    return float(re.search(r"energy drift: (\S+)", text)[1])


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path, tmp_path):
    out = run(["-W", "error", str(path)], tmp_path)
    for part in EXPECTED.get(path.name, []):
        assert part in out
    if "energy drift" in out:
        assert drift(out) < 1e-7
    if "out of balance" in out:
        assert float(re.search(r"out of balance by (\S+)", out)[1]) < 1e-4


def test_the_examples_are_there():
    assert set(EXPECTED) <= {path.name for path in EXAMPLES}


@pytest.mark.parametrize("code", blocks("python"), ids=lambda code: code.splitlines()[0][:40])
def test_python_block_of_the_readme(code, tmp_path):
    (tmp_path / "block.py").write_text(code)
    run(["block.py"], tmp_path)


@pytest.mark.parametrize("command", commands())
def test_command_of_the_readme(command, tmp_path):
    # a file the reader would have made is a Python block's or a TOML block's
    for toml in blocks("toml"):
        name = re.match(r"# (\S+\.toml)", toml)
        if name:
            (tmp_path / name[1]).write_text(toml)
    run(["-m", *shlex.split(command)], tmp_path)
