"""Every example runs, and so do the Python programs and the `flexarm` commands of the README and of every page.

On a page the Python blocks are one program: a later one uses what an earlier one has made. Those of the README are one
each, and so are those of docs/understand/architecture.md, which test_architecture.py runs.
"""

import re
import shlex

import pytest
from figures import assert_readable
from pages import PAGES, ROOT, assert_shown, blocks, commands, fences, name, shown, write_files
from programs import ran

README = PAGES[0]
ARCHITECTURE = ROOT / "docs" / "understand" / "architecture.md"
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))

EXPECTED = {
    "mass_of_the_base.py": ["       10    2.544   8.253   20.149", "      inf    0.933   6.974   19.539"],
    "describe_and_simulate.py": ["coordinates: upper.joint, fore.joint, upper.y1", "rad", "mm"],
    "canadarm_slew.py": ["hand.joint: 0.99", "slew.nc", "slew.png"],
    "closed_forms.py": [
        "written: de-luca-siciliano.tex",
        "M[2,2] = ",
        "skew: True",
        "the rigid arm has 3 base parameters",
    ],
    "batch_and_casadi.py": ["(10000, 16)", "symmetric: True", "sags by"],
    "monte_carlo.py": [
        "16 runs of payload.mass, upper.EI",
        "residual vibration: ",
        "first frequency: ",
        "slews.nc",
        "slews.png",
    ],
    "identify_synthetic.py": [
        "6 parameters identified",
        "a withheld record is predicted: fit [[9",
        "of 2 experiments have all six",
    ],
    "own_loop.py": [
        "one arm, dop853: off by 0.0",
        "best of a hundred: Kp = ",
        "arms begin anew, at t = 0 s; the others at 2",
    ],
    "co_simulation.py": ["500 samples of libcosim: the joints turn by 0.33", "beside simulate: the same to 1e-8 rad"],
    "learn_to_stop.py": [
        "return of the median policy: first generation -547, last -",
        "no control: return  -42",
    ],
    "identify_bench.py": [
        "5 parameters identified",
        " 556.",
        "motor within 0.5",
        "load within 0.9",
        "at 76.4",
        "at 76.2",
    ],
    "identify_flexible_link.py": [
        "first half: EI 1.86",
        "fit 85 percent",
        "run on: fit 4",
        "damping 0.9 percent; fit 98",
    ],
    "link_from_finite_elements.py": [
        "1125 displacements, 0.756 kg, inertia consistent",
        "fore.mode6",
        "gives way by 2.2",
    ],
    "design_an_experiment.py": ["multisine of ", "errors larger by [1.", "load.stiffness: off by "],
    "pushing.py": ["the gap was 3.9 mm", "after 10 s it pushes with 0.5", "energy drift: "],
    "docs/cookbook/own-arm": ["1.0 mm (gear) + 5.0 mm (tubes)", "motors held: 6.0, 6.7, 3"],
    "docs/cookbook/payload": ["mode 1: 0.111", "to 0.0091 Hz", "mode 2: 1.05", "to 0.952", "mass^-0.50"],
    "docs/cookbook/settle": [
        "stiff PD                  never          never",
        "1.71 s         1.7",
        "0.96 s         1.9",
    ],
    "docs/cookbook/real-motor": ["arrives at 0.92 s, then the tip swings by +-3.", "at the current limit for 0.00 s"],
    "docs/cookbook/identify": [
        *("boom.EI               6.29", "boom.damping_ratio  0.01", "angle 99.", "strain 8"),
        *("boom.EI: 2.", "boom.damping_ratio: 1.", "boom.damping: 0."),  # standard errors
    ],
    "docs/cookbook/urdf": ["sag at the start 2.5 mm, at the end 3.3 mm", "path 7.7 mm"],
    "docs/cookbook/satellite": ["links: 33.9", "34.1 deg on the way, 33.9 deg in the end", "0.0 deg in the end"],
    "docs/cookbook/fmu": [
        "10.0 ms: the tip differs by 1.9",
        " 2.0 ms: the tip differs by 0.3",
        " 0.5 ms: the tip differs by 0.1",
    ],
    "docs/cookbook/film": ["upper: bends by 36 mm of 600 mm"],
    "docs/cookbook/cluster": ["16 of 16 runs completed", "13 mm in the median", "finds 16 runs"],
    "docs/do/forces-and-contact": [
        "('push.fx', 'push.fy', 'push.fz')",
        "drift below 1e-6: True",
        "pushes with 0.5",
        "by contacts",
    ],
    "docs/do/sensors": ["turned by -24.0 mrad; the tracker reads -2"],
    "docs/do/orbits": ["('base.orbit',) energy drift below 1e-6: True; momentum changed by gravity's gradient"],
    "docs/do/moving-base": ["base.alphaz", "energy drift below 1e-7: True"],
    "docs/do/frequency": ["5 parameters identified", "standard error", "largest torque"],
    "docs/do/ensembles": ["after the push the tip rings over ", "completed dop853 "],
    "docs/do/simulation": ["t = 0.500 s, by dop853: 0.0", "energy drift below 1e-5: True"],
    "docs/do/control/lqr": ["nominal: error at 8 s 2", "EI -20 %: error at 8 s 4.1e-02 rad"],
    "docs/do/control/scheduled-lqr": ["nominal: error at 2 s 0.0059 rad", "payload +50 %: error at 2 s 0.0111 rad"],
    "docs/do/control/tracking": [
        "torques and PD: nominal 0.1",
        "payload +50 % 72.",
        "Tracking: nominal 0.1",
        "payload +50 % 41.",
        "1 ms late 0.3",
    ],
    "docs/do/control/composite": [
        "separation 6.07, Kp_limit 18.5",
        "Kp 4, Kd 4: error at 2 s 0.0062",
        "after 3 s 1.7 %",
    ],
}
"""What a program must print, by the name of its file or page."""

NEEDS = {"co_simulation.py": "libcosimpy"}
"""What has wheels for some platforms only."""

PROGRAMS = [page for page in PAGES[1:] if blocks("python", page) and page != ARCHITECTURE]
PAPERS = ROOT / "docs" / "understand" / "papers"
SHOWN = [(page, c) for page in PAGES if page.parent != PAPERS for c in commands(page) if "--scheduler" not in c]
"""The commands of the papers' pages write the figures there: the papers' own tests give them, and more. Those for a
scheduler need other machines, which `test_study_cluster.py` stands in for."""

FILE = re.compile(r"\.(toml|urdf|xml|sdf)\b")
COMMANDS = [*{(page if FILE.search(c) else None, c): (page, c) for page, c in SHOWN}.values()]
"""A command that needs no file of its page is run once, wherever else it is shown."""


def drift(text):
    return float(re.search(r"energy drift: (\S+)", text)[1])


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path, tmp_path):
    if path.name in NEEDS:
        pytest.importorskip(NEEDS[path.name], reason=f"{NEEDS[path.name]} is not installed")
    ended = ran(path, folder=tmp_path)
    out = ended.stdout
    for part in EXPECTED.get(path.name, []):
        assert part in out
    if learned := re.search(r"learned   : return +(\S+),", out):  # -92 to -107: a last bit is another search
        assert float(learned[1]) > -150.0
    if "energy drift" in out:
        assert drift(out) < 1e-7
    if "out of balance" in out:
        assert float(re.search(r"out of balance by (\S+)", out)[1]) < 1e-4
    for figure in ended.figures:
        assert_readable(figure)


def test_what_is_expected_is_there():
    assert set(EXPECTED) <= {path.name for path in EXAMPLES} | {name(page) for page in PROGRAMS}


def test_every_python_block_is_a_program_of_a_test():
    """None hides behind another name of the language; and no page is left out."""
    seen = {page for page in PAGES if any(language.lower().startswith(("py", "ipy")) for language in fences(page))}
    assert seen == {README, ARCHITECTURE, *PROGRAMS}
    assert {language for page in PAGES for language in fences(page)} <= {"python", "toml", "xml", "c", "sh", "text"}


@pytest.mark.parametrize("code", blocks("python", README), ids=lambda code: code.splitlines()[1][:40])
def test_python_block_of_the_readme(code, tmp_path):
    (tmp_path / "block.py").write_text(code)
    ran("block.py", folder=tmp_path, strict=False)


@pytest.mark.parametrize("page", PROGRAMS, ids=name)
def test_python_blocks_of_a_page(page, tmp_path):
    write_files(page, tmp_path)
    (tmp_path / "blocks.py").write_text("\n".join(blocks("python", page)))
    ended = ran("blocks.py", folder=tmp_path)
    assert all(part in ended.stdout for part in EXPECTED.get(name(page), [])), ended.stdout
    assert_shown(shown(page), ended.stdout)
    if page.parent.name == "course":  # its notebook has the output from the page
        assert "".join(shown(page)) == ended.stdout
    drawn = [path for path in tmp_path.iterdir() if path.suffix in {".png", ".svg", ".pdf"}]
    assert len(ended.figures) == len(drawn)
    for figure in ended.figures:
        assert_readable(figure)


@pytest.mark.parametrize(
    ("page", "command"), COMMANDS, ids=lambda value: value if isinstance(value, str) else name(value)
)
def test_command_of_a_page(page, command, tmp_path):
    write_files(page, tmp_path)
    ended = ran("-m", *shlex.split(command), folder=tmp_path)
    for figure in ended.figures:
        assert_readable(figure)
