"""Every example runs, and so do the Python blocks and the `flexarm` commands of the README and of some pages.

On a page the blocks are one program: a later one uses what an earlier one has made.
"""

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
    "closed_forms.py": [
        "written: de-luca-siciliano.tex",
        "M[2,2] = ",
        "skew: True",
        "the rigid arm has 3 base parameters",
    ],
    "batch_and_casadi.py": ["(10000, 16)", "symmetric: True", "sags by"],
}


NAMED = ("equations", "analysis", "sensors", "references", "inverse-dynamics")
PAGES = [README, *(ROOT / "docs" / f"{name}.md" for name in NAMED)]
PAGES += sorted((ROOT / "docs" / "control").glob("*.md"))


def blocks(language, page=README):
    """The fenced blocks of a page in a language."""
    text = page.read_text() if page.exists() else ""
    return re.findall(rf"^```(?:{language})\n(.*?)^```", text, re.M | re.S)


def commands(page):
    """`flexarm ...` in a page, on a line of a block (fenced or indented), after a prompt or not."""
    text = page.read_text() if page.exists() else ""
    indented = re.findall(r"^(?: {4}|\t)(.*)$", text, re.M)
    fenced = [line for block in blocks("|sh|bash|console|shell|text", page) for line in block.splitlines()]
    lines = [line.strip().removeprefix("$ ").removeprefix(".venv/bin/") for line in indented + fenced]
    return sorted({line.partition("#")[0].strip() for line in lines if line.startswith("flexarm ")})


def write_files(page, folder):
    """The files that a reader would have made of the TOML blocks."""
    for toml in blocks("toml", page):
        name = re.match(r"# (\S+\.toml)", toml)
        if name:
            (folder / name[1]).write_text(toml)


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


@pytest.mark.parametrize("page", [page for page in PAGES[1:] if blocks("python", page)], ids=lambda page: page.stem)
def test_python_blocks_of_a_page(page, tmp_path):
    write_files(page, tmp_path)
    code = blocks("python", page)
    (tmp_path / "blocks.py").write_text("\n".join(code))
    run(["-W", "error", "blocks.py"], tmp_path)


@pytest.mark.parametrize(("page", "command"), [(page, c) for page in PAGES for c in commands(page)])
def test_command_of_a_page(page, command, tmp_path):
    write_files(page, tmp_path)
    run(["-m", *shlex.split(command)], tmp_path)
