"""SDF files that are wrong, damaged or hostile: one clear line each, and nothing else."""

# ruff: noqa: E501  (messages stand whole)

import os
import random
import re
from pathlib import Path

import numpy as np
import pytest
from robot_files import refusal
from sdf_mujoco import random_sdf

import flexarm as fa
from flexarm.description.robots import sdf, sdf_files
from flexarm.description.robots.xml import MOST_ELEMENTS

INERTIAL = "<inertial><pose>0.2 0 0 0 0 0</pose><mass>1</mass><inertia><ixx>0.1</ixx><iyy>0.1</iyy><izz>0.1</izz></inertia></inertial>"
ARM = f"""<sdf version="1.7"><model name="arm">
<link name="upper">{INERTIAL}</link>
<link name="fore"><pose>0.5 0 0 0 0 0</pose>{INERTIAL}</link>
<frame name="tip" attached_to="fore"><pose>0.4 0 0 0 0 0</pose></frame>
<joint name="shoulder" type="revolute"><parent>world</parent><child>upper</child><axis><xyz>0 0 1</xyz></axis></joint>
<joint name="elbow" type="revolute"><parent>upper</parent><child>fore</child><axis><xyz>0 0 1</xyz></axis></joint>
</model></sdf>"""


def message(folder, text, **options):
    """The one line with which a file is refused, without its name."""
    return refusal(fa.from_sdf, folder / "arm.sdf", text, **options)


def changed(old, new, count=1):
    assert old in ARM
    return ARM.replace(old, new, count)


def more(*parts):
    return changed("</model>", "\n".join(parts) + "</model>")


def joint(kind, parent="upper", child="fore", name="rod"):
    return f'<joint name="{name}" type="{kind}"><parent>{parent}</parent><child>{child}</child><axis/></joint>'


REFERENCE = "<gearbox_reference_body>upper</gearbox_reference_body>"


def box(name, parent, child):
    return joint("gearbox", parent, child, name).replace("<axis/>", f"<axis/><axis2/>{REFERENCE}")


def gearbox(old, new):
    """A third link on the upper one, geared to the second one, with a change."""
    wrist = joint("revolute", "upper", "last", "wrist")
    text = more(f'<link name="last"><pose>0 0.3 0 0 0 0</pose>{INERTIAL}</link>{wrist}\n{box("box", "fore", "last")}')
    assert old in text
    return text.replace(old, new, 1)


BOMB = """<?xml version="1.0"?><!DOCTYPE b [<!ENTITY a "ha">
<!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">]><sdf version="&c;"/>"""
ALLOWED = "versions 1.4 to 1.12 can be read"
LEFT = "it must be a finite number"
GONE = "there is no such file near the file; give its path relative to the file, without a network address"

WRONG = {
    "empty": ("", "not an XML file: no element found on line 1"),
    "torn": (ARM[:100], "not an XML file: "),
    "a bomb": (BOMB, "line 1: has a document type (<!DOCTYPE>)"),
    "a URDF": ("<robot/>", "line 1: the first element is <robot>; an SDF file begins with <sdf>; use `from_urdf` for this file"),
    "an old SDF": ("<gazebo version='1.0'/>", "line 1: the first element is <gazebo>; an SDF file begins with <sdf>; this is an old SDF file (Gazebo); only URDF, MJCF and SDF files can be read"),
    "no version": (changed(' version="1.7"', ""), f"line 1: <sdf> has no version; {ALLOWED}"),
    "an old version": (changed("1.7", "1.3"), f"line 1: the version of <sdf> is '1.3'; {ALLOWED}; convert the file with `gz sdf -p FILE`"),
    "a new version": (changed("1.7", "1.13"), f"line 1: the version of <sdf> is '1.13'; {ALLOWED}"),
    "a version": (changed("1.7", "new"), f"line 1: the version of <sdf> is 'new'; {ALLOWED}"),
    "no model": ('<sdf version="1.7"/>', "has no <model>"),
    "an empty model": ('<sdf version="1.7"><model name="m"/></sdf>', "has no <link>"),
    "an empty world": ('<sdf version="1.7"><world name="m"/></sdf>', "has no <link>"),
    "two models": ('<sdf version="1.7"><model name="a"/><model name="b"/></sdf>', "has 0 worlds and 2 models, 'a', 'b' in <sdf>; it must have one of them"),
    "a link alone": (f'<sdf version="1.7"><model name="m"><static>1</static><link name="a">{INERTIAL}</link></model></sdf>', None),
    "no name": (changed('<link name="upper">', "<link>"), "line 2: a <link> has no name"),
    "a reserved name": (changed('"upper"', '"world"'), "line 2: link 'world': this name is reserved"),
    "another reserved name": (changed('name="tip"', 'name="__tip__"'), "line 4: frame '__tip__': this name is reserved"),
    "two links": (changed('"fore"', '"upper"'), "line 3: link 'upper': is defined twice"),
    "a frame like a link": (changed('name="tip"', 'name="fore"'), "line 4: frame 'fore': a link has the same name"),
    "a joint like a link": (changed('"elbow"', '"fore"'), "line 6: joint 'fore': a link has the same name"),
    "two joints": (changed('"elbow"', '"shoulder"'), "line 6: joint 'shoulder': is defined twice"),
    "two joints of old": (changed('"elbow"', '"shoulder"').replace("1.7", "1.6"), "line 6: joint 'shoulder': is defined twice"),
    "no parent": (changed("<parent>upper</parent>", ""), "line 6: joint 'elbow': has no <parent>"),
    "no child": (changed("<child>fore</child>", "<child/>"), "line 6: joint 'elbow': has no <child>"),
    "an unknown parent": (changed("<parent>upper<", "<parent>uper<"), "line 6: joint 'elbow': refers to the unknown frame 'uper'; did you mean 'upper'?"),
    "an unknown child": (changed("<child>fore<", "<child>for<"), "line 6: joint 'elbow': refers to the unknown frame 'for'; did you mean 'fore'?"),
    "an unknown frame": (changed("<pose>0.5", '<pose relative_to="uper">0.5'), "line 3: link 'fore': refers to the unknown frame 'uper'; did you mean 'upper'?"),
    "a frame of the world": (changed("<pose>0.5", '<pose relative_to="world">0.5'), "line 3: link 'fore': refers to the unknown frame 'world'"),
    "a link in a link": (changed("<pose>0.5", '<pose relative_to="upper::x">0.5'), "line 3: link 'fore': refers to the unknown frame 'upper::x'"),
    "an unknown axis frame": (changed("<xyz>", '<xyz expressed_in="tap">'), "line 5: joint 'shoulder': refers to the unknown frame 'tap'"),
    "an unknown attached_to": (changed('attached_to="fore"', 'attached_to="for"'), "line 4: frame 'tip': refers to the unknown frame 'for'; did you mean 'fore'?"),
    "poses in a ring": (changed("<pose>0.5", '<pose relative_to="tip">0.5'), "line 3: link 'fore': its pose depends on itself: 'fore' on 'tip' on 'fore'"),
    "frames in a ring": (more('<frame name="a" attached_to="b"><pose relative_to="fore"/></frame><frame name="b" attached_to="a"><pose relative_to="fore"/></frame>', joint("fixed", "a", "upper")), "line 8: joint 'rod': the frame 'a' is attached to itself"),
    "itself": (changed("<child>fore<", "<child>upper<"), "line 6: joint 'elbow': connects 'upper' to itself"),
    "a loop": (more(joint("screw", "tip", "upper")), "line 7: joint 'rod': closes a loop and is of type 'screw'; to close a loop it must be revolute, prismatic, fixed, ball, universal or continuous"),
    "a loop on the world": (more(joint("screw", "world", "tip")), "line 7: joint 'rod': closes a loop and is of type 'screw'"),
    "a loop of one axis": (more(joint("universal")), "line 7: joint 'rod': has no <axis2>"),
    "a loop of equal axes": (more(joint("universal").replace("<axis/>", "<axis/><axis2><xyz>0 0 1</xyz></axis2>")), "line 7: joint 'rod': its two axes are not perpendicular, as they must be to close a loop"),
    "a ball of nothing": (more("<drake:ball_constraint><drake:ball_constraint_body_A>fore</drake:ball_constraint_body_A></drake:ball_constraint>"), "line 7: <drake:ball_constraint>: has no <drake:ball_constraint_p_AP>"),
    "a ball on nothing": (more("<drake:ball_constraint><drake:ball_constraint_body_A>for</drake:ball_constraint_body_A></drake:ball_constraint>"), "line 7: drake:ball_constraint '': refers to the unknown frame 'for'; did you mean 'fore'?"),
    **{kind: (changed('name="elbow" type="revolute"', f'name="elbow" type="{kind}"'), "line 6: joint 'elbow': has no <axis2>") for kind in ("universal", "revolute2")},
    "a gearbox of one axis": (more(joint("gearbox")), "line 7: joint 'rod': has no <axis2>"),
    "a gearbox without a body": (gearbox(REFERENCE, ""), "line 8: joint 'box': has no <gearbox_reference_body>"),
    "a gearbox on nothing": (gearbox(">upper</g", ">uper</g"), "line 8: joint 'box': refers to the unknown frame 'uper'; did you mean 'upper'?"),
    "a gearbox of no axis": (gearbox("<axis2/>", "<axis2><xyz>0 0 0</xyz></axis2>"), "line 8: joint 'box': <xyz> is zero; it must have a direction"),
    "a gearbox of ratio 0": (gearbox("<axis2/>", "<axis2/><gearbox_ratio>0</gearbox_ratio>"), "line 8: joint 'box': <gearbox_ratio> is zero; it must be another number"),
    "a gearbox of a word": (gearbox("<axis2/>", "<axis2/><gearbox_ratio>high</gearbox_ratio>"), f"line 8: joint 'box': <gearbox_ratio> is 'high'; {LEFT}"),
    "a gearbox of one gear": (gearbox("<parent>fore", "<parent>last"), "line 8: joint 'box': connects 'last' to itself"),
    "a gearbox on its gear": (gearbox(">upper</g", ">fore</g"), "line 8: joint 'box': needs one revolute joint between its reference body 'fore' and its parent 'fore', and has none"),
    "a gearbox far from its gear": (gearbox(">upper</g", ">world</g"), "line 8: joint 'box': needs one revolute joint between its reference body 'world' and its parent 'fore', and has 'elbow' (revolute) and 'shoulder' (revolute)"),
    "a gearbox of a slide": (gearbox('name="wrist" type="revolute"', 'name="wrist" type="prismatic"'), "line 8: joint 'box': needs one revolute joint between its reference body 'upper' and its child 'last', and has 'wrist' (prismatic)"),
    "a gearbox of a loose gear": (gearbox('name="wrist" type="revolute"', 'name="wrist" type="fixed"'), "line 8: joint 'box': needs one revolute joint between its reference body 'upper' and its child 'last', and has none"),
    "a gearbox across": (gearbox("<axis2/>", "<axis2><xyz>0 1 0</xyz></axis2>"), "line 8: joint 'box': its <axis2> is not parallel to the axis of joint 'wrist'; correct its <xyz>"),
    "two gearboxes": (gearbox('</joint></model>', '</joint></model>').replace("</model>", box("twin", "last", "fore") + "</model>"), "line 8: joint 'twin': joints 'wrist' and 'elbow' follow each other already; remove it or the other relation"),
    "a gearbox that follows nothing": (gearbox("<child>last</child><axis/>", '<child>last</child><axis><mimic joint="no"/></axis>'), "line 8: joint 'box': joint 'wrist' cannot follow another one, as its <mimic> is wrong"),
    "a screw without pitch": (changed('name="elbow" type="revolute"', 'name="elbow" type="screw"'), "line 6: joint 'elbow': <screw_thread_pitch> is missing or zero; it is the way per turn [m]"),
    "a kind": (changed('type="revolute"', 'type="revolut"'), "line 5: joint 'shoulder': type is 'revolut'; did you mean 'revolute'? It must be revolute, continuous, prismatic or fixed"),
    "no kind": (changed(' type="revolute"', ""), "line 5: joint 'shoulder': type is missing; it must be revolute, continuous, prismatic or fixed"),
    "no axis": (changed("<axis><xyz>0 0 1</xyz></axis>", ""), "line 5: joint 'shoulder': has no <axis>"),
    "a zero axis": (changed("0 0 1", "0 0 0"), "line 5: joint 'shoulder': <xyz> is zero; it must have a direction"),
    "a short axis": (changed("0 0 1", "0 1"), "line 5: joint 'shoulder': <xyz> is '0 1'; it must be three numbers"),
    "a word": (changed("0 0 1", "0 0 z"), f"line 5: joint 'shoulder': <xyz> is 'z'; {LEFT}"),
    "a short pose": (changed("0.5 0 0 0 0 0", "0.5 0 0"), "line 3: <pose> has 3 numbers; it must have 6"),
    "a long quaternion": (changed("<pose>0.5", '<pose rotation_format="quat_xyzw">0.5'), "line 3: <pose> has 6 numbers; it must have 7"),
    "a zero quaternion": (changed("<pose>0.5 0 0 0 0 0", '<pose rotation_format="quat_xyzw">0.5 0 0 0 0 0 0'), "line 3: <pose> has a quaternion of length zero"),
    "a rotation": (changed("<pose>0.5", '<pose rotation_format="quat">0.5'), "line 3: <pose> rotation_format is 'quat'; it must be 'euler_rpy' or 'quat_xyzw'"),
    "a large number": (changed("0.5 0 0", "1e80 0 0"), "line 3: <pose> is '1e80'; it must be at most 1e+75 in size"),
    "not finite": (changed("0.5 0 0", "nan 0 0"), f"line 3: <pose> is 'nan'; {LEFT}"),
    "a template": (changed("0.5 0 0", "{{length}} 0 0"), "line 3: <pose> is '{{length}}', which belongs to a template (Jinja, ERB, EmPy or xacro); generate the SDF file from it first"),
    "a mass": (changed("<mass>1", "<mass>-1"), "line 2: link 'upper': <mass> is -1.0 kg; it must be zero or positive"),
    "no number": (changed("<mass>1", "<mass>heavy"), f"line 2: link 'upper': <mass> is 'heavy'; {LEFT}"),
    "an inertia": (changed("<ixx>0.1", "<ixx>"), f"line 2: link 'upper': <ixx> is ''; {LEFT}"),
    "computed inertia": (changed("<inertial>", "<inertial auto='true'>"), "line 2: link 'upper': <inertial> with auto is not read; give its mass and inertia"),
    "an inertial frame": (changed("<pose>0.2", "<pose relative_to='no'>0.2"), "line 2: link 'upper': refers to the unknown frame 'no'"),
    "damping": (changed("</axis>", "<dynamics><damping>-1</damping></dynamics></axis>"), "line 5: joint 'shoulder': <damping> is -1.0; it must be zero or positive"),
    "a spring": (changed("</axis>", "<dynamics><spring_stiffness>-1</spring_stiffness></dynamics></axis>"), "line 5: joint 'shoulder': <spring_stiffness> is -1.0; it must be zero or positive"),
    "a truth": (more("<static>perhaps</static>"), "line 7: <static> is 'perhaps'; it must be true or false"),
    "no uri": (more("<include/>"), "line 7: <include> has no <uri>"),
    "no file": (more("<include><uri>gone.sdf</uri></include>"), f"line 7: <include> of 'gone.sdf': {GONE}"),
    "a network": (more("<include><uri>https://example.org/gone.sdf</uri></include>"), f"line 7: <include> of 'https://example.org/gone.sdf': {GONE}"),
    "a device": (more("<include><uri>/dev/zero</uri></include>"), f"line 7: <include> of '/dev/zero': {GONE}"),
    "itself included": (more("<include><uri>arm.sdf</uri></include>"), "line 7: <include> of 'arm.sdf' includes itself"),
    "no placement": (more("<model name='m' placement_frame='p'><link name='l'/></model>"), "line 7: model 'm': refers to the unknown frame 'p'"),
    "no canonical link": (more("<model name='m' canonical_link='p'><link name='l'/></model>", joint("fixed", "upper", "m")), "line 8: joint 'rod': refers to the unknown frame 'p'"),
    "a model without links": (more("<model name='m'><frame name='f'/></model>", joint("fixed", "upper", "m::f")), "line 8: joint 'rod': refers to a model without links"),
    "deep": (more("<model name='m'>" * 45 + "</model>" * 45), "line 7: models are nested deeper than 40"),
    "gravity": (f"<sdf version='1.7'><world name='w'><gravity>0 -9.8</gravity>{ARM[19:-6]}</world></sdf>", "line 1: <gravity> is '0 -9.8'; it must be three numbers"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_wrong_files_are_refused_in_one_line(name, tmp_path):
    text, said = WRONG[name]
    if said is None:
        assert not fa.from_sdf(_written(tmp_path, text)).coordinates
    else:
        assert message(tmp_path, text).startswith(said)


def _written(folder, text, name="arm.sdf"):
    path = folder / name
    path.write_text(text)
    return path


WRONG_PARTS = {
    "a URDF": ("<robot name='r'/>", "line 1: the first element is <robot>; this is a URDF file, which cannot be included"),
    "another format": ("<mujoco/>", "line 1: the first element is <mujoco>; this is not an SDF file"),
    "a secret": ("root:x:0:0", "not an XML file: syntax error on line 1"),
    "a bomb": (BOMB, "line 1: has a document type (<!DOCTYPE>)"),
    "an old version": ("<sdf version='1.2'/>", f"line 1: the version of <sdf> is '1.2'; {ALLOWED}"),
    "a world": ("<sdf version='1.7'><world name='w'/></sdf>", "has 0 models in <sdf>; a file that is included must have one"),
    "a ring": ("<sdf version='1.7'><model name='m'><include><uri>arm.sdf</uri></include></model></sdf>", None),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG_PARTS)
def test_wrong_parts_are_refused_in_one_line(name, tmp_path):
    text, said = WRONG_PARTS[name]
    _written(tmp_path, text, "part.sdf")
    start = "line 7: <include> of 'part.sdf': "
    found = message(tmp_path, more("<include><uri>part.sdf</uri></include>"))
    assert found.startswith(start + said if said else "part.sdf, line 1: <include> of 'arm.sdf' includes itself"), found


def test_an_error_in_a_part_names_the_part(tmp_path):
    part = ARM.replace("<mass>1", "<mass>x", 1)
    _written(tmp_path, part, "part.sdf")
    text = f"<sdf version='1.9'><model name='m'><link name='base'>{INERTIAL}</link>\n<include><uri>part.sdf</uri><name>p</name></include></model></sdf>"
    assert message(tmp_path, text).startswith("part.sdf, line 2: link 'upper': <mass> is 'x'")
    pose = text.replace("</name>", "</name><placement_frame>tip</placement_frame>")
    assert message(tmp_path, pose) == "line 2: <placement_frame> needs a <pose> in the same <include>"
    merged = text.replace("<include>", "<include merge='true'>").replace("'base'", "'fore'")
    assert message(tmp_path, merged) == "line 2: merged 'p': the name 'fore' of the merged model is taken"
    later = text.replace("<include>", "<include merge='true'>").replace(
        "</include>", f"</include>\n<link name='fore'>{INERTIAL}</link>"
    )
    assert message(tmp_path, later) == "line 3: link 'fore': a merged model has a frame of this name"
    shop = "<sdf version='1.9'><world name='w'><include merge='true'><uri>part.sdf</uri></include></world></sdf>"
    assert message(tmp_path, shop) == "part.sdf, line 2: a link cannot be merged into the world; remove merge"


def test_a_pipe_is_not_read(tmp_path):
    os.mkfifo(tmp_path / "part.sdf")
    found = message(tmp_path, more("<include><uri>part.sdf</uri></include>"))
    assert found == f"line 7: <include> of 'part.sdf': {GONE}"


def test_files_that_include_many_files_are_not_read(tmp_path, monkeypatch):
    """Each file includes the next one ten times, so that 10^8 models would result."""
    for i in range(8):
        inner = "".join(f"<include><uri>f{i + 1}.sdf</uri><name>n{k}</name></include>" for k in range(10))
        _written(tmp_path, f"<sdf version='1.9'><model name='m'>{inner}</model></sdf>", f"f{i}.sdf")
    _written(tmp_path, ARM, "f8.sdf")
    said = f"more than {sdf_files.MOST_INCLUDED} models are included, the limit"
    assert said in message(tmp_path, (tmp_path / "f0.sdf").read_text())
    monkeypatch.setattr(sdf_files, "MOST_ELEMENTS", 100)
    assert "more than 100 elements, the limit for robot files" in message(tmp_path, (tmp_path / "f0.sdf").read_text())
    assert MOST_ELEMENTS >= 10_000
    monkeypatch.setattr(sdf, "MOST_LINKS", 1)
    assert message(tmp_path, ARM) == "has 2 links; at most 1 are supported"


def test_long_chains_need_no_recursion(tmp_path):
    """A chain of 20 000 frames, each attached to the one before. Every second frame has a joint."""
    count = 20_000
    frames = "".join(f"<frame name='f{i}' attached_to='f{i + 1}'/>" for i in range(count))
    frames += f"<frame name='f{count}' attached_to='fore'/>"
    joints = "".join(joint("fixed", f"f{i}", f"f{i}", f"j{i}") for i in range(0, count, 2))
    assert message(tmp_path, more(frames, joints)).endswith("joint 'j0': connects 'fore' to itself")
    assert fa.from_sdf(_written(tmp_path, more(frames)), tip="f0").tip == "f0"


def test_the_reader_is_the_one_of_the_file(tmp_path):
    path = _written(tmp_path, ARM)
    with pytest.raises(fa.DescriptionError, match="an MJCF file begins with <mujoco>; use `from_sdf` for this file"):
        fa.from_mjcf(path)
    for wrong in (3, None, b"arm.sdf", ""):
        with pytest.raises(fa.DescriptionError, match=r"from_sdf: path is .*; it must be the path of an SDF file"):
            fa.from_sdf(wrong)
    with pytest.raises(fa.DescriptionError, match="from_sdf: tip: there is no link 'tap'"):
        fa.from_sdf(path, tip="tap")


@pytest.mark.filterwarnings("ignore::flexarm.errors.NotUnderstood")
@pytest.mark.parametrize("seed", range(100))
def test_damaged_files_are_read_or_refused(seed, tmp_path):
    """Pieces of a robot's file left out, doubled, exchanged or overwritten."""
    rng = random.Random(seed)
    tokens = re.split(r"(<[^>]*>)", random_sdf(seed % 7))
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
            tokens[i] = rng.choice(
                ["", "-1", "0", "1e400", "x", "0 0 0", "\u0000", "é" * 300, "{{x}}", "fixed", "world"]
            )
        else:
            tokens[i] = "".join(rng.sample(tokens[i], len(tokens[i])))
    path = Path(tmp_path / "damaged.sdf")
    path.write_text("".join(tokens), encoding="utf-8")
    try:
        assert np.isfinite(fa.load(path).rest).all()
    except fa.DescriptionError as error:
        said = str(error)
    else:
        said = ""
    assert len(said) < 1000 and (said.isprintable() or not said)
