"""URDF files that are wrong, damaged or hostile: one clear line each, and nothing else."""

# ruff: noqa: E501  (messages stand whole)

import random
import re

import numpy as np
import pytest
from robot_files import refusal
from urdf_pinocchio import FOLDER

import flexarm as fa
from flexarm.description.robots import xml
from flexarm.description.robots.xml import MOST_BYTES, MOST_DEPTH, MOST_ELEMENTS

INERTIAL = """<inertial><mass value="1"/>
<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial>"""
LIMIT = '<limit lower="-1" upper="1" effort="9" velocity="2"/>'
ARM = f"""<robot name="arm">
<link name="base_link"/>
<link name="upper">{INERTIAL}</link>
<link name="fore">{INERTIAL}</link>
<joint name="shoulder" type="revolute"><parent link="base_link"/><child link="upper"/><axis xyz="0 0 1"/>{LIMIT}</joint>
<joint name="elbow" type="revolute"><origin xyz="0.5 0 0"/><parent link="upper"/><child link="fore"/>
<axis xyz="0 0 1"/>{LIMIT}</joint>
</robot>"""


def message(folder, text, **options):
    """The one line with which a file is refused, without its name."""
    return refusal(fa.from_urdf, folder / "arm.urdf", text, **options)


def changed(old, new, count=1):
    assert old in ARM
    return ARM.replace(old, new, count)


BOMB = """<?xml version="1.0"?><!DOCTYPE b [<!ENTITY a "ha">
<!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">]><robot name="&c;"/>"""
OUTSIDE = '<?xml version="1.0"?><!DOCTYPE r SYSTEM "secret.dtd"><robot name="r"/>'
DOCUMENT = "has a document type (<!DOCTYPE>), which is not allowed, because it could declare entities; remove it"

WRONG = {
    "empty": ("", "not an XML file: no element found on line 1"),
    "not XML": ("name = 'arm'", "not an XML file: syntax error on line 1"),
    "torn": (ARM[:200], "not an XML file: unclosed token on line 5"),
    "crossed": (changed("</robot>", "</link>"), "not an XML file: mismatched tag on line 10"),
    "two roots of XML": (ARM + ARM, "not an XML file: junk after document element on line 10"),
    "an entity": (changed('name="arm"', 'name="&who;"'), "not an XML file: undefined entity on line 1"),
    "a bomb": (BOMB, f"line 1: {DOCUMENT}"),
    "a file from outside": (OUTSIDE, f"line 1: {DOCUMENT}"),
    "not text": (b"\xff\xfe\x00\x01", "not an XML file: "),
    "an encoding": ('<?xml version="1.0" encoding="klingon"?><robot/>', "not an XML file: "),
    "bad bytes": (changed("fore", "f\udcffre").encode(errors="surrogateescape"), "not an XML file: not well-formed"),
    "an SDF": ("<sdf/>", "line 1: the first element is <sdf>; a URDF file begins with <robot>"),
    "xacro": (
        changed('xyz="0.5 0 0"', 'xyz="${length} 0 0"'),
        "line 8: '${length} 0 0' belongs to xacro; convert the file to URDF first: `xacro FILE > robot.urdf`",
    ),
    "a macro": (changed("</robot>", '<xacro:macro name="x"/></robot>'), "line 10: <xacro:macro> belongs to xacro"),
    "nothing": ("<robot/>", "has no <link>"),
    "no joints": (
        '<robot><link name="a"/></robot>',
        "has no joints; an arm needs at least one link on its base",
    ),
    "no name": (changed('<link name="upper">', "<link>"), "line 3: a <link> has no name"),
    "a name twice": (changed('<link name="fore">', '<link name="upper">'), "line 5: link 'upper' is defined twice"),
    "a joint twice": (changed('"elbow"', '"shoulder"'), "line 8: joint 'shoulder' is defined twice"),
    "no type": (
        changed(' type="revolute"', ""),
        "line 7: joint 'shoulder': type is missing; it must be revolute, continuous, prismatic, fixed, floating or planar",
    ),
    "a wrong type": (
        changed('"revolute"', '"revolut"'),
        "line 7: joint 'shoulder': type is 'revolut'; did you mean 'revolute'? It must be revolute, continuous, "
        "prismatic, fixed, floating or planar",
    ),
    "no parent": (changed('<parent link="upper"/>', ""), "line 8: joint 'elbow': has no <parent link=...>"),
    "no link of that name": (
        changed('<child link="fore"/>', '<child link="for"/>'),
        "line 8: joint 'elbow': <child> names the unknown link 'for'; did you mean 'fore'?",
    ),
    "a loop": (
        changed(
            "</robot>", '<joint name="rod" type="fixed"><parent link="base_link"/><child link="fore"/></joint></robot>'
        ),
        "line 10: link 'fore' is moved by the joints 'elbow' and 'rod'; URDF has no closed loops",
    ),
    "two roots": (
        changed("</robot>", '<link name="stray"/></robot>'),
        "has 2 links without a parent, 'base_link', 'stray'; it must have only one",
    ),
    "a circle": (
        changed('<parent link="base_link"/>', '<parent link="fore"/>'),
        "links form a cycle: 'upper' on 'fore' on 'upper'",
    ),
    "on itself": (
        changed('<parent link="upper"/>', '<parent link="fore"/>'),
        "links form a cycle: 'fore' on 'fore'",
    ),
    "no axis": (
        changed('<axis xyz="0 0 1"/>', '<axis xyz="0 0 0"/>'),
        "line 7: joint 'shoulder': <axis> is zero; it must have a direction",
    ),
    "half an axis": (
        changed('<axis xyz="0 0 1"/>', '<axis xyz="0 1"/>'),
        "line 7: joint 'shoulder': <axis> xyz is '0 1'; it must be three numbers",
    ),
    "an axis of words": (
        changed('<axis xyz="0 0 1"/>', '<axis xyz="0 0 one"/>'),
        "line 7: joint 'shoulder': <axis> xyz is 'one'; it must be a finite number",
    ),
    "negative mass": (
        changed('<mass value="1"/>', '<mass value="-1"/>'),
        "line 3: link 'upper': <mass> value is -1.0 kg; it must be zero or positive",
    ),
    "mass without end": (
        changed('<mass value="1"/>', '<mass value="1e999"/>'),
        "line 3: link 'upper': <mass> value is '1e999'; it must be a finite number",
    ),
    "no number": (
        changed('<mass value="1"/>', '<mass value="nan"/>'),
        "line 3: link 'upper': <mass> value is 'nan'; it must be a finite number",
    ),
    "Python's number": (
        changed('<mass value="1"/>', '<mass value="1_0"/>'),
        "line 3: link 'upper': <mass> value is '1_0'; it must be a finite number",
    ),
    "no mass": (changed('<mass value="1"/>', ""), "line 3: link 'upper': <inertial> has no <mass>"),
    "a moment missing": (changed('iyz="0" ', ""), "line 4: link 'upper': <inertia> iyz is missing"),
    "no body has them": (
        changed('ixx="0.1"', 'ixx="-0.1"'),
        "link 'upper': inertia has the principal value -0.1",
    ),
    "huge mass": (
        changed('<mass value="1"/>', '<mass value="1e60"/>'),
        "link 'upper': mass is 1e+60 kg; it must be at most",
    ),
    "mass beyond all": (
        changed('<mass value="1"/>', '<mass value="1e300"/>'),
        "line 3: link 'upper': <mass> value is '1e300'; it must be at most 1e+75 in size",
    ),
    "negative damping": (
        changed(LIMIT, '<dynamics damping="-1"/>'),
        "line 7: joint 'shoulder': <dynamics> damping is -1.0; it must be zero or positive",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_file_is_refused_in_one_line(name, tmp_path):
    text, expected = WRONG[name]
    assert message(tmp_path, text).startswith(expected)


BEAM = {"EI": 100.0, "modes": {"y": 1}}
OPTIONS = {
    "tip": ({"tip": "hand"}, "from_urdf: tip: there is no link 'hand'"),
    "a near tip": ({"tip": "for"}, "from_urdf: tip: there is no link 'for'; did you mean 'fore'?"),
    "the base's tip": (
        {"tip": "base_link"},
        "from_urdf: tip: link 'base_link' is the base; the tip must be a link on a joint",
    ),
    "no tip": ({"tip": 3}, "from_urdf: tip is 3; it must be a text"),
    "base": ({"base": "loose"}, "from_urdf: base is 'loose'; it must be 'fixed' or 'free'"),
    "a base without mass": ({"base": "free"}, "link 'base_link' is the free base but has no mass; give it a mass"),
    "gravity": ({"gravity": [1, 2]}, "from_urdf: gravity has 2 entries; it must have three"),
    "locked": ({"locked": {"elbo": 1}}, "from_urdf: locked: there is no joint 'elbo'; did you mean 'elbow'?"),
    "locked what": ({"locked": 3}, "from_urdf: locked is 3; it must be a table of coordinates by the names of joints"),
    "locked where": ({"locked": {"elbow": "up"}}, "from_urdf: locked.elbow is 'up'; it must be a number in rad or m"),
    "locked key": ({"locked": {3: 1.0}}, "from_urdf: locked has the key 3; it must be the name of a joint"),
    "flexible": ({"flexible": 3}, "from_urdf: flexible is 3; it must be a table with links and joints, or the path"),
    "a key of it": ({"flexible": {3: 1}}, "from_urdf: flexible has the key 3; keys must be texts"),
    "a wrong key": (
        {"flexible": {"link": {}}},
        "from_urdf: flexible: unknown key 'link'; did you mean 'links'? Allowed keys are tip, base, gravity, locked, links, joints",
    ),
    "no table": (
        {"flexible": {"links": 3}},
        "from_urdf: flexible: links is 3; it must be a table of links by name",
    ),
    "a lone table": (
        {"flexible": {"links": {"fore": 3}}},
        "from_urdf: flexible: links has 3 for 'fore'; it must be a table",
    ),
    "a key within": (
        {"flexible": {"links": {"fore": {3: 1}}}},
        "from_urdf: flexible: links.fore has the key 3; keys must be texts",
    ),
    "no such link": (
        {"flexible": {"links": {"four": BEAM}}},
        "from_urdf: flexible: links: there is no link 'four'; did you mean 'fore'?",
    ),
    "the base": (
        {"flexible": {"links": {"base_link": BEAM}}},
        "from_urdf: flexible: links: link 'base_link' is the base; a flexible link must be on a joint",
    ),
    "no end": (
        {"flexible": {"links": {"fore": BEAM}}},
        "from_urdf: flexible: links.fore: the link carries no other link; give the end of the beam",
    ),
    "a wrong end": (
        {"flexible": {"links": {"upper": {**BEAM, "to": "base_link"}}}},
        "from_urdf: flexible: links.upper.to is 'base_link'; give a point [m], or one of the links on link 'upper': fore",
    ),
    "an end of two": (
        {"flexible": {"links": {"fore": {**BEAM, "to": [1, 2]}}}},
        "from_urdf: flexible: links.fore.to: has 2",
    ),
    "no length": (
        {"flexible": {"links": {"fore": {**BEAM, "to": [0, 0, 0]}}}},
        "from_urdf: flexible: links.fore.to: is zero; it must have a direction",
    ),
    "along itself": (
        {"flexible": {"links": {"upper": {**BEAM, "z": [2, 0, 0]}}}},
        "from_urdf: flexible: links.upper.z: is [2, 0, 0]; it must not be parallel to the beam, which lies along (1, 0, 0)",
    ),
    "a length": (
        {"flexible": {"links": {"upper": {**BEAM, "length": 1.0}}}},
        "from_urdf: flexible: links.upper.length: is given, but the beam ends at the next joint or at `to`; leave it out",
    ),
    "a type": (
        {"flexible": {"links": {"upper": {"type": "rigid"}}}},
        "from_urdf: flexible: links.upper.type: is given",
    ),
    "no stiffness": (
        {"flexible": {"links": {"upper": {"modes": {"y": 1}}}}},
        "from_urdf: flexible: links.upper.EI.y: is missing; modes.y is 1",
    ),
    "a beam's key": (
        {"flexible": {"links": {"upper": {**BEAM, "EJ": 1}}}},
        "from_urdf: flexible: links.upper: unknown key 'EJ'; allowed keys are",
    ),
    "no such joint": (
        {"flexible": {"joints": {"elbo": {}}}},
        "from_urdf: flexible: joints: there is no joint 'elbo'; did you mean 'elbow'?",
    ),
    "a locked joint": (
        {"flexible": {"joints": {"elbow": {}}}, "locked": {"elbow": 0.1}},
        "from_urdf: flexible: joints: joint 'elbow' is locked; it has no drive",
    ),
    "an axis": (
        {"flexible": {"joints": {"elbow": {"axis": [0, 0, 1]}}}},
        "from_urdf: flexible: joints.elbow.axis: is given, but the URDF file defines it; leave it out",
    ),
    "no rotor": (
        {"flexible": {"joints": {"elbow": {"stiffness": 10.0}}}},
        "from_urdf: flexible: joints.elbow.rotor_inertia: is 0.0 kg m^2; a joint with stiffness has a motor, whose inertia",
    ),
    "a file that is not there": ({"flexible": "nowhere.toml"}, "nowhere.toml: cannot be read"),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_wrong_options_are_refused_in_one_line(name, tmp_path):
    options, expected = OPTIONS[name]
    assert message(tmp_path, ARM, **options).startswith(expected)


def test_more_that_is_refused(tmp_path):
    fixed = ARM.replace('name="elbow" type="revolute"', 'name="elbow" type="fixed"')
    said = "from_urdf: flexible: joints: joint 'elbow' is fixed; it has no drive"
    assert message(tmp_path, fixed, flexible={"joints": {"elbow": {}}}) == said
    said = "from_urdf: locked: joint 'elbow' is fixed; only joints with one coordinate can be locked"
    assert message(tmp_path, fixed, locked={"elbow": 1.0}) == said
    near = ARM.replace('<origin xyz="0.5 0 0"/>', "")
    said = "from_urdf: flexible: links.upper: the beam has no length; give its end, `to`: a link on the beam or a point [m]"
    assert message(tmp_path, near, flexible={"links": {"upper": BEAM}}) == said
    light = ARM.replace('<mass value="1"/>', '<mass value="0"/>', 1)
    said = "from_urdf: flexible: links.upper: the URDF file has no mass for the link; give one of mass, mass_per_length, material, sections"
    assert message(tmp_path, light, flexible={"links": {"upper": BEAM}}) == said
    more = '<joint name="two" type="prismatic"><origin xyz="0 1 0"/><parent link="upper"/><child link="third"/></joint>'
    tree = ARM.replace("</robot>", f'<link name="third">{INERTIAL}</link>{more}</robot>')
    said = "from_urdf: flexible: links.fore: the link carries no other link"
    assert message(tmp_path, tree, flexible={"links": {"fore": BEAM}}, tip="third").startswith(said)
    off = tree.replace('<link name="base_link"/>', '<link name="base_link"/><link name="mast"/>').replace(
        "</robot>", '<joint name="stem" type="fixed"><parent link="base_link"/><child link="mast"/></joint></robot>'
    )
    said = (
        "from_urdf: flexible: links.upper: the link carries 2 links, none of them on the path to the tip; give the end"
    )
    assert message(tmp_path, off, flexible={"links": {"upper": BEAM}}, tip="mast").startswith(said)


def test_a_file_of_xacro_is_told_by_its_name(tmp_path):
    path = tmp_path / "arm.urdf.xacro"
    path.write_text(ARM)
    with pytest.raises(fa.DescriptionError) as refused:
        fa.load(path)
    said = "this is a xacro file; convert it to URDF first: `xacro FILE > robot.urdf`"
    assert str(refused.value) == f"{path}: {said}"


@pytest.mark.parametrize("path", [3, None, b"arm.urdf", ""])
def test_what_is_no_path_is_refused(path):
    with pytest.raises(fa.DescriptionError, match=r"path is .*; it must be the path of a URDF file"):
        fa.from_urdf(path)


def test_what_cannot_be_read_is_refused(tmp_path):
    for path, why in ((tmp_path / "none.urdf", "No such file"), (tmp_path, "Is a directory"), ("a\0.urdf", "null")):
        with pytest.raises(fa.DescriptionError, match=f"cannot be read: .*{why}"):
            fa.from_urdf(path)
    with pytest.raises(
        fa.DescriptionError, match=re.escape("this file has the settings of a robot; load the robot file")
    ):
        fa.load(tmp_path / "arm.flex.toml")
    (tmp_path / "arm.urdf").write_text(ARM)
    (tmp_path / "arm.flex.toml").write_text("[links.upper\n")
    with pytest.raises(fa.DescriptionError, match=r"arm\.flex\.toml: not a TOML file"):
        fa.load(tmp_path / "arm.urdf")


def test_files_that_are_too_large_are_not_read(tmp_path, monkeypatch):
    said = f"line 1: <a> is nested deeper than {MOST_DEPTH} elements"
    assert message(tmp_path, "<robot>" + "<a>" * 100_000) == said
    said = f"line 1: more than {MOST_ELEMENTS} elements, the limit for robot files"
    assert message(tmp_path, "<robot>" + "<a/>" * MOST_ELEMENTS + "</robot>") == said
    monkeypatch.setattr(xml, "MOST_BYTES", 500)
    assert message(tmp_path, ARM) == "is larger than 0 MiB, the limit for robot files"
    assert MOST_BYTES >= 2**24


def test_long_chains_need_no_recursion(tmp_path):
    count = 900
    parts = [f'<link name="l{i}">{INERTIAL if i == count else ""}</link>' for i in range(count + 1)]
    parts += [
        f'<joint name="j{i}" type="fixed"><origin xyz="0.01 0 0"/><parent link="l{i}"/><child link="l{i + 1}"/></joint>'
        for i in range(count - 1)
    ]
    parts.append(f'<joint name="last" type="continuous"><parent link="l{count - 1}"/><child link="l{count}"/></joint>')
    path = tmp_path / "chain.urdf"
    path.write_text(f"<robot>{''.join(reversed(parts))}</robot>")
    arm = fa.from_urdf(path)
    assert len(arm.links) == 1 and arm.links[0].placement.xyz[0] == pytest.approx(0.01 * (count - 1), rel=1e-12)


@pytest.mark.filterwarnings("ignore::flexarm.errors.NotUnderstood")
@pytest.mark.parametrize("seed", range(150))
def test_damaged_files_are_read_or_refused(seed, tmp_path):
    """Pieces of a robot's file left out, doubled, exchanged or overwritten."""
    rng = random.Random(seed)
    text = (FOLDER / rng.choice(["panda.urdf", "ur5.urdf", "kinova.urdf"])).read_text()
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
                ["", "-1", "0", "1e400", "x", "0 0 0", "1 1", "\u0000", "é" * 300, "${x}", "fixed", "1e-320"]
            )
            tokens[i] = tokens[i].replace(rng.choice(values), f'"{wrong}"', 1) if values else wrong
        else:
            tokens[i] = "".join(rng.sample(tokens[i], len(tokens[i])))
    path = tmp_path / "damaged.urdf"
    path.write_text("".join(tokens), encoding="utf-8")
    try:
        assert np.isfinite(fa.load(path).rest).all()
    except fa.DescriptionError as error:
        said = str(error)
    else:
        said = ""
    assert len(said) < 1000 and (said.isprintable() or not said)
