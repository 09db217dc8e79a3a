"""MJCF files that are wrong, damaged or hostile: one clear line each, nothing left behind, and nothing else."""

import os
import random
import re
from pathlib import Path

import numpy as np
import pytest
from mjcf_mujoco import FOLDER
from robot_files import refusal

import flexarm as fa
from flexarm import child_process
from flexarm.description.robots import mjcf, mjcf_files, mjcf_process

pytest.importorskip("mujoco")
BOX = '<geom size="0.1"/>'
ARM = f"""<mujoco model="arm"><worldbody>
<body name="upper">{BOX}<joint name="shoulder"/>
<body name="fore" pos="0.5 0 0">{BOX}<joint name="elbow"/></body></body>
</worldbody></mujoco>"""


def message(folder, text, **options):
    """The one line with which a file is refused, without its name."""
    return refusal(fa.from_mjcf, folder / "arm.xml", text, **options)


def changed(old, new, count=1):
    assert old in ARM
    return ARM.replace(old, new, count)


BOMB = """<?xml version="1.0"?><!DOCTYPE b [<!ENTITY a "ha">
<!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">]><mujoco model="&c;"/>"""

WRONG = {
    "empty": ("", "not an XML file: no element found on line 1"),
    "torn": (ARM[:100], "not an XML file: unclosed token on line 3"),
    "a bomb": (BOMB, "line 1: has a document type (<!DOCTYPE>)"),
    "an SDF": ("<sdf/>", "line 1: the first element is <sdf>; an MJCF file begins with <mujoco>"),
    "a URDF": (
        "<robot/>",
        "line 1: the first element is <robot>; an MJCF file begins with <mujoco>; use `from_urdf`",
    ),
    "a part": ("<mujocoinclude/>", "line 1: the first element is <mujocoinclude>"),
    "nothing": ("<mujoco/>", "has no joints; an arm needs at least one link on its base"),
    "an include": (
        changed("</worldbody>", '<include file="gone.xml"/></worldbody>'),
        "line 4: <include> refers to 'gone.xml', but there is no such file",
    ),
    "itself": (changed("</worldbody>", '<include file="arm.xml"/></worldbody>'), "MuJoCo rejects the file: "),
    "an element": (changed("</worldbody>", "<rope/></worldbody>"), "MuJoCo rejects the file: Schema violation"),
    "an attribute": (
        changed("<joint ", '<joint colour="red" '),
        "MuJoCo rejects the file: Schema violation: unrecognized",
    ),
    "no mass": (changed(BOX, ""), "MuJoCo rejects the file: mass and inertia of moving bodies must be larger"),
    "a name twice": (changed('"elbow"', '"shoulder"'), "MuJoCo rejects the file: "),
    "no number": (changed('"0.5 0 0"', '"0.5 0 up"'), "MuJoCo rejects the file: "),
    "not a number": (changed('"0.5 0 0"', '"nan 0 0"'), "has a number that is NaN; all must be finite"),
    "without end": (changed('"0.5 0 0"', '"inf 0 0"'), "has a number that is Infinity; all must be finite"),
    "huge mass": (
        changed('size="0.1"', 'size="0.1" mass="1e300"'),
        "line 2: mass of <geom> is '1e300'; numbers must be at most 1e+75 in size",
    ),
    "huge axis": (changed("<joint ", '<joint axis="0 0 -1e308" '), "line 2: axis of <joint> is '0 0 -1e308'; "),
    "huge quaternion": (changed('pos="0.5 0 0"', 'quat="1 0 0 1e200"'), "line 3: quat of <body> is '1 0 0 1e200'; "),
    "huge by squares": (changed('size="0.1"', 'size="1e40"'), "has a number that is "),
    "negative mass": (changed('size="0.1"', 'size="0.1" mass="-1"'), "MuJoCo rejects the file: "),
    "negative armature": (changed("<joint ", '<joint armature="-0.3" '), "link 'upper': joint.rotor_inertia is -0.3 "),
    "negative damping": (changed("<joint ", '<joint damping="-1" '), "link 'upper': joint.damping is -1.0 N m s/rad"),
    "limits the wrong way": (
        changed("<joint ", '<joint limited="true" range="1 -1" '),
        "MuJoCo rejects the file: range[0]",
    ),
    "an actuator of nothing": (
        changed("</mujoco>", '<actuator><motor joint="wrist"/></actuator></mujoco>'),
        "MuJoCo rejects the file: ",
    ),
    "too many": (
        changed("</worldbody>", f'<replicate count="1000000000">{BOX}</replicate></worldbody>'),
        "line 4: <replicate> count is '1000000000'; at most 10000 copies are supported",
    ),
    "a cloth without end": (
        changed("</worldbody>", '<flexcomp name="f" count="2000 2000 2" type="grid"/></worldbody>'),
        "line 4: <flexcomp> count is '2000 2000 2'; at most 10000 copies are supported",
    ),
    "an axis of nothing": (changed("<joint ", '<joint axis="0 0 0" '), "MuJoCo rejects the file: "),
    "a frame of nothing": (changed('pos="0.5 0 0"', 'quat="0 0 0 0"'), "MuJoCo rejects the file: "),
    "a plugin": (
        changed("<worldbody>", '<extension><plugin plugin="none.such"/></extension><worldbody>'),
        "MuJoCo rejects the file: ",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_file_is_refused_in_one_line(name, tmp_path):
    text, expected = WRONG[name]
    assert message(tmp_path, text).startswith(expected)


OPTIONS = {
    "tip": ({"tip": "hand"}, "from_mjcf: tip: there is no link 'hand'"),
    "the base's tip": ({"tip": "world"}, "from_mjcf: tip: link 'world' is the base; the tip must be a link on a joint"),
    "base": ({"base": "loose"}, "from_mjcf: base is 'loose'; it must be 'fixed' or 'free'"),
    "a base without mass": ({"base": "free"}, "link 'world' is the free base but has no mass; give it a mass"),
    "gravity": ({"gravity": [1, 2]}, "from_mjcf: gravity has 2 entries; it must have three"),
    "flexible": ({"flexible": 3}, "from_mjcf: flexible is 3; it must be a table with links and joints, or the path"),
    "an axis": (
        {"flexible": {"joints": {"elbow": {"axis": [0, 0, 1]}}}},
        "from_mjcf: flexible: joints.elbow.axis: is given, but the MJCF file defines it; leave it out",
    ),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_wrong_options_are_refused_in_one_line(name, tmp_path):
    options, expected = OPTIONS[name]
    assert message(tmp_path, ARM, **options).startswith(expected)


def test_what_is_no_path_is_refused(tmp_path, monkeypatch):
    with pytest.raises(fa.DescriptionError, match=r"path is 3; it must be the path of an MJCF file"):
        fa.from_mjcf(3)
    with pytest.raises(fa.DescriptionError, match=r"path is 3; it must be the path of a robot's file"):
        fa.robot_report(3)
    with pytest.raises(fa.DescriptionError, match="cannot be read: Is a directory"):
        fa.from_mjcf(tmp_path)
    (tmp_path / "arm.xml").write_text(ARM)
    (tmp_path / "arm.flex.toml").write_text("[links.upper\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        fa.DescriptionError, match=re.escape("this file has the settings of a robot; load the robot file 'arm.xml'")
    ):
        fa.load("arm.flex.toml")


def test_damaged_files_that_are_included_are_named(tmp_path):
    (tmp_path / "part.xml").write_text("<mujocoinclude><body>")
    text = changed("</worldbody>", '<include file="part.xml"/></worldbody>')
    assert message(tmp_path, text).startswith("part.xml: not an XML file: no element found on line 1")
    (tmp_path / "part.xml").write_text('<mujocoinclude><include file="other.xml"/></mujocoinclude>')
    assert message(tmp_path, text).startswith("part.xml, line 1: <include> refers to 'other.xml', but there is no such")


def test_files_without_end_are_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(mjcf_files, "MOST_FILES", 3)
    for i in range(4):
        (tmp_path / f"{i}.xml").write_text("<mujocoinclude/>")
    text = changed("</worldbody>", "".join(f'<include file="{i}.xml"/>' for i in range(4)) + "</worldbody>")
    assert message(tmp_path, text) == "refers to more than 3 files, the limit"
    program = Path(mjcf_process.__file__).read_text(encoding="utf-8")
    assert "SECONDS, MEMORY = 20," in program
    (tmp_path / "hasty.py").write_text(program.replace("MEMORY = 20,", "MEMORY = 2,"), encoding="utf-8")
    monkeypatch.setattr(mjcf.mjcf_process, "__file__", str(tmp_path / "hasty.py"))
    nested = f'<replicate count="9000">{"<replicate count=chr>".replace("chr", chr(34) + "9000" + chr(34))}'
    text = changed("</worldbody>", f"{nested}<body>{BOX}</body></replicate></replicate></worldbody>")
    assert re.match(
        "MuJoCo (rejects the file: .*memory|ends with status|does not finish reading the file)", message(tmp_path, text)
    )
    monkeypatch.setattr(mjcf, "MOST_BODIES", 2)
    assert message(tmp_path, ARM) == "has 3 bodies; at most 2 are supported"


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("import os; os.kill(os.getpid(), 11)", "MuJoCo ends with status -11 while reading the file"),
        ("import os; os.abort()", "MuJoCo ends with status -6 while reading the file"),
        (f"import os; os.kill(os.getpid(), {-child_process.TOO_LONG})", "MuJoCo does not finish reading the file"),
        ("import time; time.sleep(60)", "MuJoCo does not finish reading the file"),
        ("import sys; sys.exit(3)", "MuJoCo rejects the file: no reason is given"),
    ],
)
def test_when_mujoco_dies_we_do_not(program, said, tmp_path, monkeypatch):
    script = tmp_path / "dies.py"
    script.write_text(program)
    monkeypatch.setattr(mjcf.mjcf_process, "__file__", str(script))
    monkeypatch.setattr(mjcf, "PATIENCE", 0.5 if "sleep" in program else 30)
    assert message(tmp_path, ARM) == said


def test_the_process_has_limits_and_says_what_it_lacks(tmp_path, monkeypatch, capfdbinary):
    monkeypatch.setattr(mjcf_process, "limit", lambda: None)  # of this process
    path = tmp_path / "arm.xml"
    path.write_text(ARM)
    assert mjcf_process.main(str(path)) == 0 and capfdbinary.readouterr().out.startswith(b'{"name": "arm"')

    def greedy(path):
        raise MemoryError

    monkeypatch.setattr(mjcf_process, "said", greedy)
    assert mjcf_process.main(str(path)) == mjcf_process.REFUSED
    assert capfdbinary.readouterr().out == b"reading it takes too much memory"


def test_nothing_is_left_behind(tmp_path, monkeypatch):
    """MuJoCo writes warnings into MUJOCO_LOG.TXT where it runs, of NaN for one."""
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", None)
    message(tmp_path, changed('"0.5 0 0"', '"nan 0 0"'))
    (tmp_path / "arm.xml").write_text(ARM)
    fa.load(tmp_path / "arm.xml")
    assert os.listdir(here) == os.listdir(tmp_path / "temporary") == []


def test_odd_names_are_made_fit(tmp_path):
    odd = changed('"upper"', '"a.b c&#10;d é 😀 -- &lt;x&gt;"')
    path = tmp_path / "odd.xml"
    path.write_text(odd, encoding="utf-8")
    report = fa.robot_report(path)
    assert report.arm.links[0].name == "a_b_c_d_é_😀_--_<x>"
    long = tmp_path / "long.xml"
    long.write_text(changed('"upper"', f'"{"x" * 5000}"'))
    assert len(fa.load(long).links[0].name) == 150


@pytest.mark.filterwarnings("ignore::flexarm.errors.NotUnderstood")
@pytest.mark.parametrize("seed", range(10))
def test_damaged_files_are_read_or_refused(seed, tmp_path):
    """Pieces of a robot's file left out, doubled, exchanged or overwritten."""
    rng = random.Random(seed)
    path = tmp_path / "damaged.xml"
    path.write_text(damaged(rng), encoding="utf-8")
    try:
        assert np.isfinite(fa.load(path).rest).all()
    except fa.DescriptionError as error:
        said = str(error)
    else:
        said = ""
    assert len(said) < 1000 and (said.isprintable() or not said)


def damaged(rng):
    text = (FOLDER / rng.choice(["panda.xml", "ur5e.xml", "kinova3.xml"])).read_text(encoding="utf-8")
    tokens = re.split(r"(<[^>]*>)", text)
    for _ in range(rng.choice([1, 1, 2, 4])):
        i, j = rng.randrange(len(tokens)), rng.randrange(len(tokens))
        way = rng.randrange(5)
        if way == 0:
            del tokens[i]
        elif way == 1:
            tokens[i], tokens[j] = tokens[j], tokens[i]
        elif way == 2:
            tokens.insert(i, tokens[j])
        elif way == 3:
            values = re.findall(r'"[^"]*"', tokens[i])
            wrong = rng.choice(
                ["", "-1", "0", "1e400", "x", "0 0 0", "1 1", "nan", "é" * 300, "free", "true", "1e-320"]
            )
            tokens[i] = tokens[i].replace(rng.choice(values), f'"{wrong}"', 1) if values else wrong
        else:
            tokens[i] = "".join(rng.sample(tokens[i], len(tokens[i])))
    return "".join(tokens)
