"""The page Architecture: its picture, the path of a number, and its programs follow from the code as it is."""

import re
import shutil
import subprocess
import sys
from importlib import import_module

import pytest
from pages import ROOT, blocks, shown, text
from programs import ran, run

PAGE = ROOT / "docs" / "understand" / "architecture.md"
SOURCE = ROOT / "src" / "flexarm"
PROGRAMS = list(zip(blocks("python", PAGE), shown(PAGE), strict=True))

# -- the packages ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def packages():
    pytest.importorskip("grimp", reason="the extra `dev` is not installed")
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        return import_module("making.packages")
    finally:
        sys.path.remove(str(ROOT / "docs"))


def test_the_picture_shows_the_imports(packages):
    imported = packages.packages()
    assert imported.keys() == packages.PLACES.keys()
    assert packages.FILE.read_text(encoding="utf-8") == packages.picture(packages.reduced(imported))


def test_no_arrow_of_the_picture_points_upwards(packages):
    for a, b in packages.reduced(packages.packages()):
        assert packages.PLACES[a][1] <= packages.PLACES[b][1], (a, b)


def test_an_import_without_its_arrow_leads_along_a_longer_path(packages):
    imported = {"a": {"b", "c", "d"}, "b": {"c"}, "c": set(), "d": {"c"}}
    assert packages.reduced(imported) == [("a", "b"), ("a", "d"), ("b", "c"), ("d", "c")]


def test_every_file_that_the_page_names_is_there():
    named = set(re.findall(r"`([\w/]+/[\w/]+\.py)`", text(PAGE)))
    assert len(named) > 12
    assert [name for name in named if not (SOURCE / name).is_file()] == []


def test_every_function_that_the_page_names_is_in_its_file():
    named = re.findall(r"`([\w.]+)`\s(?:in|of)\s`([\w/]+\.py)`", text(PAGE))
    assert len(named) > 5
    for name, file in named:
        last = name.rsplit(".", 1)[-1]
        assert re.search(rf"^ *(def |class |){last}\b", (SOURCE / file).read_text(encoding="utf-8"), re.M), (name, file)


@pytest.mark.parametrize("package", ["description", "mechanics", "model", "native", "simulation"])
def test_the_first_lines_of_a_package_name_each_of_its_files(package):
    lines = (SOURCE / package / "__init__.py").read_text(encoding="utf-8").split('"""')[1]
    files = {file.stem for file in (SOURCE / package).glob("*.py")} - {"__init__"}
    named = set(re.findall(r"`(\w+)`", lines))
    assert files - named == set()
    assert named - files <= {"Model", "robots", "simulate", "simulate_many"}


# -- the path of a number ----------------------------------------------------------------------------------------------

STATIONS = re.findall(r"^\d+\. `([\w/]+\.py)`: `([\w.]+)`", text(PAGE), re.M)

TRACED = """
import sys, threading
from pathlib import Path
import flexarm as fa
from flexarm.plots import draw

Path("arm.toml").write_text('''
name = "one"
[[links]]
name = "boom"
body = { type = "beam", length = 0.5, mass = 0.1, EI = 1.0, modes = { y = 2 } }
''')
called = {}

def note(frame, event, _):
    if event == "call":
        called.setdefault((frame.f_code.co_filename, frame.f_code.co_qualname))

threading.setprofile(note)
sys.setprofile(note)
draw(fa.simulate(fa.Model(fa.load("arm.toml")), until=0.3, u=[0.1], progress=False))
sys.setprofile(None)
for file, name in called:
    print(file.replace("\\\\", "/"), name)
"""
"""A run from the file of an arm to the figure, which prints each function when it is first called."""


def passed(folder):
    """The first call of the function or the class of each station, as a position among all calls, or None."""
    (folder / "run.py").write_text(TRACED, encoding="utf-8")
    ended = run("run.py", folder=folder, FLEXARM_CACHE=str(folder / "cache"))
    assert (ended.returncode, ended.stderr) == (0, "")
    calls = [line.rsplit("/flexarm/", 1)[1] for line in ended.stdout.splitlines() if "/flexarm/" in line]
    return [next((i for i, call in enumerate(calls) if f"{call}.".startswith(f"{a} {b}.")), None) for a, b in STATIONS]


def test_a_run_passes_the_stations_of_the_page_in_their_order(tmp_path):
    first, second = passed(tmp_path), passed(tmp_path)
    assert None not in first
    assert first == sorted(first)
    assert 10 <= len(first) <= 12
    left_out = re.search(r"without the\s+stations (\d+) to (\d+) if code", text(PAGE))
    assert [n for n, at in enumerate(second, start=1) if at is None] == [*range(int(left_out[1]), int(left_out[2]) + 1)]


# -- recipes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("program", "output"), PROGRAMS, ids=lambda code: code.splitlines()[0][:30])
def test_a_program_of_the_page_prints_what_the_page_shows(program, output, tmp_path):
    (tmp_path / "block.py").write_text(program, encoding="utf-8")
    assert ran("block.py", folder=tmp_path).stdout == output


def test_every_recipe_has_a_program():
    recipes = text(PAGE).split("## Recipes")[1].split("\n## ")[0].split("\n### ")[1:]
    assert [each.splitlines()[0] for each in recipes] == [
        *(
            "A link",
            "A joint",
            "A force element",
            "A controller",
            "A block",
            "An integration method",
            "An export format",
        )
    ]
    assert all("```python" in each for each in recipes)
    assert len(PROGRAMS) == len(recipes)


PADDLE = """
import numpy as np
import flexarm as fa

rod = {"name": "rod", "body": {"type": "rigid", "length": 0.5, "mass": 1.2}}
arm = fa.Arm(name="paddle", links=[rod], paddles=[{"link": "rod", "coefficient": 0.4}])
result = fa.simulate(arm, until=2.0, qd0=[3.0], progress=False)
rate = 0.4 * 0.5**3 / (1.2 * 0.5**2 / 3)  # v' = -rate v^2
by_hand = 3.0 / (1.0 + 3.0 * rate * result.time.values)
print(fa.__file__, np.allclose(result.qd[:, 0], by_hand, rtol=1e-6), result.energy_drift < 1e-7)
"""


@pytest.mark.skipif(shutil.which("git") is None, reason="git applies the diff")
def test_the_diff_of_the_page_adds_a_force_element(tmp_path):
    assert "examples/extending/drag.diff" in text(PAGE)
    shutil.copytree(SOURCE, tmp_path / "src" / "flexarm", ignore=shutil.ignore_patterns("__pycache__"))
    diff = ROOT / "examples" / "extending" / "drag.diff"
    subprocess.run(["git", "apply", str(diff)], cwd=tmp_path, check=True)
    program = [sys.executable, "-W", "error", "-c", f"import sys; sys.path.insert(0, 'src')\n{PADDLE}"]
    ended = subprocess.run(program, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ended.stdout.split() == [str(tmp_path / "src" / "flexarm" / "__init__.py"), "True", "True"]


def test_force_elements_of_joints_from_outside():
    """In a process of its own, so that no other test meets these joints."""
    file = ROOT / "tests" / "helpers" / "joints_outside.py"
    command = [sys.executable, "-m", "pytest", "-q", "--noconftest", "-p", "no:cacheprovider", "-o", "addopts=", file]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert ended.returncode == 0 and "2 passed" in ended.stdout, ended.stdout[-2000:]
