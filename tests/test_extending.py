"""The recipes of docs/architecture.md: each adds something from outside the package, in a process of its own.

An example checks what it adds against a formula written down by hand, or against what the package has already.
"""

from pathlib import Path

import pytest
from programs import ran

import flexarm as fa
from flexarm.model.tracing import foreign_sources

ROOT = Path(__file__).parents[1]
RECIPES = sorted((ROOT / "examples" / "extending").glob("*.py"))


def run(program, folder):
    return ran(program, folder=folder).stdout


@pytest.mark.parametrize("program", RECIPES, ids=[path.stem for path in RECIPES])
def test_something_is_added_from_outside(program, tmp_path):
    assert run(program, tmp_path).strip()


def test_every_recipe_has_its_program_and_the_other_way_round():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert {"link", "joint", "drive", "family", "sensor", "controller", "export_format"} == {p.stem for p in RECIPES}
    for program in RECIPES:
        assert f"examples/extending/{program.name}" in page


def test_machine_code_of_a_kind_from_outside_heeds_its_source(tmp_path):
    """Changed mechanics under the same description: compiled anew."""
    text = (ROOT / "examples" / "extending" / "drive.py").read_text(encoding="utf-8")
    program = tmp_path / "mine.py"
    assert foreign_sources(fa.load("canadarm")) == []
    program.write_text(text, encoding="utf-8")
    first = run(program, tmp_path)
    twice = text.replace("k * q**2 / 2", "k * q**2").replace("40.0", "80.0").replace("spring=80.0", "spring=40.0")
    program.write_text(twice, encoding="utf-8")
    assert run(program, tmp_path) != first  # its own checks hold for twice the stiffness, so nothing stale was used
