"""Programs that add something from outside, each in a process of its own; test_architecture.py has those of that page.

An example checks what it adds against a formula written down by hand, or against what the package has already.
"""

import os
from pathlib import Path

import pytest
from programs import ran

ROOT = Path(__file__).parents[1]
RECIPES = sorted((ROOT / "examples" / "extending").glob("*.py"))


def run(program, folder):
    return ran(program, folder=folder).stdout


@pytest.mark.parametrize("program", RECIPES, ids=[path.stem for path in RECIPES])
def test_something_is_added_from_outside(program, tmp_path):
    assert run(program, tmp_path).strip()


def test_a_page_leads_to_each_program():
    pages = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "do").glob("own-*.md"))
    assert {"drive", "family", "sensor", "controller"} == {p.stem for p in RECIPES}
    for program in RECIPES:
        assert f"](../../examples/extending/{program.name})" in pages


def test_machine_code_of_a_kind_from_outside_heeds_its_source(tmp_path):
    """Changed mechanics under the same description: compiled anew."""
    text = (ROOT / "examples" / "extending" / "drive.py").read_text(encoding="utf-8")
    program = tmp_path / "mine.py"
    program.write_text(text, encoding="utf-8")
    os.utime(program, (1, 1))  # as written long before: what lies there is what runs
    first = run(program, tmp_path)
    twice = text.replace("k * q**2 / 2", "k * q**2").replace("40.0", "80.0").replace("spring=80.0", "spring=40.0")
    program.write_text(twice, encoding="utf-8")
    os.utime(program, (1, 1))
    assert run(program, tmp_path) != first  # its own checks hold for twice the stiffness, so nothing stale was used


SPRUNG = """
from dataclasses import replace
from typing import ClassVar, Literal
import flexarm as fa
from flexarm.description.joints import Driven
from flexarm.mechanics.drive import driven, with_drive


class Sprung(Driven):
    turns: ClassVar[bool] = True
    type: Literal["sprung"] = "sprung"

    @property
    def direction(self):
        return (0.0, 0.0, 1.0)


@with_drive.register
def sprung(joint: Sprung, body, link, name):
    made = driven(joint, body, link, name)
    return replace(made, potential=lambda q, eta: made.potential(q, eta) + 10.0 * q**2 / 2)


def acceleration():
    rod = {"type": "rigid", "length": 1.0, "mass": 3.0}
    arm = fa.Arm(name="sprung", links=[{"name": "rod", "joint": {"type": "sprung"}, "body": rod}])
    return float(fa.Model(arm).forward_dynamics([1.0], [0.0], [0.0])[0])
"""
"""A kind of drive and what a unit of its angle does: -10 rad/s^2."""


def test_a_cell_of_a_notebook_that_is_run_again_counts(tmp_path):
    """Two definitions that lie in no file, under one description: each gets code of its own."""
    program = tmp_path / "notebook.py"
    program.write_text(
        f"cell = {SPRUNG!r}\n"
        "for k in (10.0, 40.0):\n"
        "    space = {'__name__': '__main__'}\n"
        "    exec(cell.replace('10.0', str(k)), space)\n"
        "    print(space['acceleration']())\n",
        encoding="utf-8",
    )
    assert [float(line) for line in run(program, tmp_path).split()] == pytest.approx([-10.0, -40.0])


BACK = """
import os, time
behind = time.time() - 3600
time.time = lambda: behind
os.utime(file, (behind, behind))
"""
CLOCKS = {"goes on": "", "is set back": BACK}


@pytest.mark.parametrize("clock", CLOCKS)
def test_a_file_edited_while_its_code_runs_spoils_no_later_process(tmp_path, clock):
    """What runs is what was loaded; code made of it is not kept under the new text, whatever the clock says."""
    (tmp_path / "mine.py").write_text(SPRUNG, encoding="utf-8")
    program = tmp_path / "edit.py"
    program.write_text(
        "import pathlib, sys\n"
        "sys.path.insert(0, '.')\n"
        "import mine\n"
        "file = pathlib.Path(mine.__file__)\n"
        "file.write_text(file.read_text().replace('10.0 *', '40.00 *'))\n"
        f"{CLOCKS[clock]}"
        "print(mine.acceleration())\n",
        encoding="utf-8",
    )
    after = tmp_path / "after.py"
    after.write_text("import sys\nsys.path.insert(0, '.')\nimport mine\nprint(mine.acceleration())\n", encoding="utf-8")
    assert [float(run(each, tmp_path)) for each in (program, after)] == pytest.approx([-10.0, -40.0])


def test_torques_of_the_rigid_arm_heed_the_source_of_a_kind_from_outside(tmp_path):
    program = tmp_path / "mine.py"
    asked = (
        "\n\n"
        "arm = fa.Arm(name='sprung', links=[{'name': 'rod', 'joint': {'type': 'sprung'}, "
        "'body': {'type': 'rigid', 'length': 1.0, 'mass': 3.0}}])\n"
        "still = fa.RigidInverseDynamics(fa.Quintic(start=(1.0,), end=(1.0,), duration=1.0))\n"
        "print(fa.simulate(fa.Model(arm), 0.1, u=still, q0=[1.0], samples=2, progress=False).u[0, 0].item())\n"
    )
    found = []
    for k in (10.0, 40.0):
        program.write_text(SPRUNG.replace("10.0 *", f"{k} *") + asked, encoding="utf-8")
        os.utime(program, (1, 1))
        found.append(float(run(program, tmp_path)))
    assert found == pytest.approx([10.0, 40.0])  # what holds the spring
