"""URDF files in which something is wrong that moves nothing: they load, and the fault is listed with its line."""

# ruff: noqa: E501  (messages and files stand whole)

import random
import re
import warnings

import numpy as np
import pytest
from urdf_pinocchio import random_urdf

import flexarm as fa
from flexarm.description.robots.resistance import ANYWHERE, Resistance

INERTIAL = '<inertial><origin xyz="0.2 0 0"/><mass value="1"/><inertia ixx="0.01" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/></inertial>'
LIMIT = '<limit lower="-1" upper="1" effort="5" velocity="2"/>'
TRANSMISSION = (
    '<transmission name="t"><type>SimpleTransmission</type><joint name="elbow"/><actuator name="a">'
    "<mechanicalReduction>{}</mechanicalReduction>{}</actuator></transmission>"
)
ROBOT = f"""<?xml version="1.0"?>
<robot name="r">
<link name="base">{INERTIAL}</link>
<link name="mast">{INERTIAL}<visual><geometry><box size="1 1 1"/></geometry></visual></link>
<link name="upper">{INERTIAL}</link>
<link name="fore">{INERTIAL}</link>
<joint name="stem" type="fixed"><parent link="base"/><child link="mast"/></joint>
<joint name="shoulder" type="revolute"><parent link="mast"/><child link="upper"/><axis xyz="0 0 1"/>{LIMIT}</joint>
<joint name="elbow" type="revolute"><origin xyz="0.4 0 0"/><parent link="upper"/><child link="fore"/><axis xyz="0 1 0"/>{LIMIT}</joint>
{TRANSMISSION.format(20, "")}
</robot>
"""


def report(folder, text, **options):
    path = folder / "robot.urdf"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return fa.urdf_report(path, **options)


def changed(old, new, count=1):
    assert old in ROBOT, old
    return ROBOT.replace(old, new, count)


STEM = '<child link="mast"/>'
"""After it an element of a joint that does not move."""
SECOND = "another <{0}> in <{1}>; only the first is used"
ODD = {
    "two axes": (changed('<axis xyz="0 0 1"/>', '<axis xyz="0 0 1"/><axis xyz="0 1 0"/>'), 8, SECOND.format("axis", "joint")),
    "two limits": (changed(LIMIT, LIMIT + "<limit/>"), 8, SECOND.format("limit", "joint")),
    "two masses": (changed('<mass value="1"/>', '<mass value="1"/><mass value="x"/>'), 3, SECOND.format("mass", "inertial")),
    "two origins": (
        changed('<origin xyz="0.4 0 0"/>', '<origin xyz="0.4 0 0"/><origin/>'), 9, SECOND.format("origin", "joint")
    ),
    "limits the wrong way": (
        changed('lower="-1" upper="1"', 'lower="1" upper="-1"'), 8,
        "joint 'shoulder': <limit> lower is 1.0, above upper, -1.0; the range is left out",
    ),
    "a limit below zero": (
        changed('velocity="2"', 'velocity="-1"'), 8,
        "joint 'shoulder': <limit> velocity is -1.0; it must be zero or positive; it is left out",
    ),
    "a limit of words": (
        changed('effort="5"', 'effort="much"'), 8,
        "joint 'shoulder': <limit> effort is 'much'; it must be a finite number; it is left out",
    ),
    "a limit on a joint that is fixed": (
        changed(STEM, STEM + '<limit lower="low"/>'), 7, "joint 'stem': <limit> lower is 'low'; it must be a finite number",
    ),
    "an axis of a joint that is fixed": (
        changed(STEM, STEM + '<axis xyz="0 one 0"/>'), 7,
        "joint 'stem': <axis> xyz is 'one'; it must be a finite number; it has no effect, because the joint is fixed",
    ),
    "an axis of zero of a joint that is fixed": (
        changed(STEM, STEM + '<axis xyz="0 0 0"/>'), 7, "joint 'stem': <axis> is zero; it must have a direction",
    ),
    "damping of a joint that is fixed": (
        changed(STEM, STEM + '<dynamics damping="-1"/>'), 7, "joint 'stem': <dynamics> damping is -1.0; it must be zero",
    ),
    "a gear of words": (
        changed(">20<", ">ratio<"), 10,
        "transmission 't': <mechanicalReduction> is 'ratio'; it must be a finite number; it is left out",
    ),
    "a gear of zero": (changed(">20<", ">0<"), 10, "transmission 't': its gear ratio is 0; it must be different from zero"),
    "a rotor below zero": (
        changed("</mechanicalReduction>", '</mechanicalReduction><drake:rotor_inertia value="-1"/>'), 10,
        "transmission 't': its rotor inertia is negative",
    ),
    "a transmission of nobody": (changed('<joint name="elbow"/>', "<joint/>"), 10, "transmission 't' of joint None, which"),
    "no joint to mimic": (changed(LIMIT, LIMIT + "<mimic/>"), 8, "joint 'shoulder': <mimic> has no joint; the joint moves inde"),
    "mass of the base": (
        changed('<mass value="1"/>', '<mass value="heavy"/>'), 3,
        "link 'base': <mass> value is 'heavy'; it must be a finite number; this does not matter, because the link does not move",
    ),
    "mass on the base": (
        ROBOT.replace('<mass value="1"/>', "<mass/>", 2).replace("<mass/>", '<mass value="1"/>', 1), 4,
        "link 'mast': <mass> value is missing; this does not matter, because the link does not move",
    ),
    "no mass of the base": (changed('<mass value="1"/>', ""), 3, "link 'base': <inertial> has no <mass>; this does not matter"),
    "a moment of the base": (changed('iyz="0" ', ""), 3, "link 'base': <inertia> iyz is missing; this does not matter, because the link does not move"),
    "the place of the base's mass": (
        changed('<origin xyz="0.2 0 0"/>', '<origin xyz="0.2 0"/>'), 3, "link 'base': <origin> xyz is '0.2 0'; it must be three",
    ),
    "the base's moments": (
        changed(INERTIAL, '<inertial><mass value="0.8"/></inertial>'), 3,
        "link 'base': <inertial> has no <inertia>; its mass, 0.8 kg, is treated as a point mass",
    ),
    "text before it": (
        "xacro: a warning\n\n" + ROBOT, 1, "the text 'xacro: a warning' before the XML is ignored",
    ),
    "text before no declaration": (
        "loading...\n" + ROBOT.partition("\n")[2], 1, "the text 'loading...' before the XML is ignored",
    ),
    "a world that is not declared": (
        changed("</robot>", '<joint name="ground" type="fixed"><parent link="world"/><child link="base"/></joint></robot>'), 11,
        "no <link> has the name 'world'; it is used as the ground",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ODD)
def test_what_moves_nothing_is_listed(name, tmp_path):
    text, line, said = ODD[name]
    plain, odd = report(tmp_path, ROBOT), report(tmp_path, text)
    (only,) = odd.not_understood
    assert only.startswith(f"line {line}: {said}") and not plain.not_understood
    geared = "transmission" not in said
    assert odd.arm.links[0] == plain.arm.links[0]
    assert odd.arm.links[1].joint.gear_ratio == (20.0 if geared else 1.0) and len(odd.arm.links) == 2
    with pytest.warns(fa.NotUnderstood, match="not understood: line"):
        assert fa.load(tmp_path / "robot.urdf") == odd.arm


def test_the_other_limits_of_a_joint_stay(tmp_path):
    found = report(tmp_path, changed('velocity="2"', 'velocity="-1"')).limits["upper.joint"]
    assert (found.lower, found.upper, found.velocity, found.effort) == (-1.0, 1.0, None, 5.0)
    found = report(tmp_path, changed('lower="-1" upper="1"', 'lower="1" upper="-1"')).limits["upper.joint"]
    assert (found.lower, found.upper, found.velocity, found.effort) == (None, None, 2.0, 5.0)


@pytest.mark.parametrize(
    "before", ["\n", "  \n\n", "<!-- by hand -->\n", "<!-- a --> <!-- <robot> -->\n\n", "\ufeff", "\ufeff\n <!-- b -->"]
)
def test_space_and_comments_before_the_declaration_say_nothing(before, tmp_path):
    found = report(tmp_path, before + changed('type="fixed"', 'type="fixed" colour="red"'))
    line = 7 + before.count("\n")
    assert found.not_understood == (f"line {line}: colour of <joint> in <robot>",)
    assert found.arm == report(tmp_path, ROBOT).arm


def test_other_encodings_are_read(tmp_path):
    text = ROBOT.replace('version="1.0"', 'version="1.0" encoding="utf-16"').replace('"fore"', '"fürr"')
    assert report(tmp_path, text.encode("utf-16")).arm.links[1].name == "fürr"


WRONG = ["", "x", "nan", "-1", "0", "1e999", "1 2", "0 0 0", "-inf", "$é", "\u0663", "--1", " "]


@pytest.mark.parametrize("seed", range(40))
def test_parts_that_move_nothing_may_be_wrong_in_any_way(seed, tmp_path):
    """Attributes of the parts that move nothing get wrong values, lose them, or stand twice, several at a time."""
    rng = random.Random(seed)
    fixed = f'{STEM}<axis xyz="0 0 1"/>{LIMIT}<dynamics damping="1" friction="0"/><mimic joint="elbow"/>'
    parts = {
        "limit": LIMIT,
        "stand": INERTIAL,
        "fixed": fixed.removeprefix(STEM),
        "shape": '<visual><origin xyz="0 0 0"/><geometry><mesh filename="$(find robot)/a.stl"/></geometry></visual>',
        "bumper": '<collision><geometry><box size="1 1 1"/></geometry></collision>',
        "gear": TRANSMISSION.format(20, '<drake:rotor_inertia value="1e-3"/>'),
        "caution": '<safety_controller k_velocity="10"/><calibration rising="0"/>',
        "paint": '<material name="red"><color rgba="1 0 0 1"/></material>',
        "gazebo": '<gazebo reference="fore"><mu1>0.2</mu1></gazebo>',
    }
    for key in rng.sample(sorted(parts), 4):
        parts[key] = damaged(rng, parts[key])
    text = f"""<?xml version="1.0"?><robot name="r">{parts["paint"]}
<link name="base">{parts["stand"]}{parts["shape"]}</link>
<link name="mast"/>
<link name="upper">{INERTIAL}{parts["bumper"]}</link>
<link name="fore">{INERTIAL}</link>
<joint name="stem" type="fixed"><parent link="base"/>{STEM}{parts["fixed"]}</joint>
<joint name="shoulder" type="revolute"><parent link="mast"/><child link="upper"/><axis xyz="0 0 1"/>{parts["limit"]}</joint>
<joint name="elbow" type="revolute"><origin xyz="0.4 0 0"/><parent link="upper"/><child link="fore"/><axis xyz="0 1 0"/>{LIMIT}{parts["caution"]}</joint>
{parts["gear"]}{parts["gazebo"]}</robot>"""
    found = report(tmp_path, text)
    right = report(tmp_path, ROBOT).arm
    for mine, theirs in zip(found.arm.links, right.links, strict=True):
        assert mine.body == theirs.body and mine.joint.axis == theirs.joint.axis
        assert mine.at == theirs.at and mine.joint.damping == theirs.joint.damping
    assert all(line.startswith("line ") for line in found.not_understood)
    assert any("<gazebo> in <robot>" in line for line in found.not_understood)


def damaged(rng, text):
    """With some of the values of attributes changed, and an element twice."""
    pieces = re.split(r'("[^"]*")', text)
    names = ("reference", "name", "joint")
    places = [i for i, x in enumerate(pieces) if x.startswith('"') and not pieces[i - 1].rstrip("=").endswith(names)]
    for i in rng.sample(places, min(len(places), rng.choice([1, 2, 3]))):
        pieces[i] = f'"{rng.choice(WRONG)}"'
    found = "".join(pieces)
    empty = re.findall(r"<[a-z]+ [^<>]*/>", found)
    return found.replace(empty[0], empty[0] + rng.choice(empty), 1) if empty and rng.random() < 0.3 else found


# -- what no body has, and what nothing resists ------------------------------------------------------------------------


def pair(first, second, axis="1 0 0", more=""):
    """Two links with these inertias, the second turning about its own axis at 0.3 m on the first."""
    tensor = '<inertia ixx="{}" ixy="0" ixz="0" iyy="{}" iyz="0" izz="{}"/>'
    return f"""<robot name="r"><link name="base"/>
<link name="a"><inertial><origin xyz="0.2 0 0"/><mass value="1"/>{tensor.format(*first)}</inertial></link>
<link name="g"><inertial><mass value="0.1"/>{tensor.format(*second)}</inertial></link>
<joint name="j" type="continuous"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/></joint>
<joint name="w" type="continuous"><origin xyz="0.3 0 0"/><parent link="a"/><child link="g"/><axis xyz="{axis}"/></joint>
{more}</robot>"""


GOOD = (0.01, 0.02, 0.02)


@pytest.mark.parametrize("moments", [(0.9, 0.02, 0.02), (0.02, 0.041, 0.02), (0, 0, 0.1), (1e-6, 3e-6, 1e-6)])
def test_moments_that_no_body_has_are_listed(moments, tmp_path):
    found = report(tmp_path, pair(moments, GOOD))
    values = ", ".join(f"{x:.3g}" for x in sorted(moments))
    (only,) = found.not_understood
    assert only.startswith(
        f"line 2: link 'a': <inertia> has the principal values {values} kg m^2; for a rigid body none exceeds"
    )
    np.testing.assert_allclose(np.diag(found.arm.links[0].body.inertia_tensor), moments)


@pytest.mark.parametrize("moments", [GOOD, (0.02, 0.02, 0.04), (0.0133, 0.00667, 0.00664), (0, 0.1, 0.1)])
def test_plates_and_rods_are_bodies(moments, tmp_path):
    assert not report(tmp_path, pair(moments, GOOD)).not_understood


def test_a_joint_that_nothing_resists_is_held_and_listed(tmp_path):
    """The other joints move as they would with it."""
    found = report(tmp_path, pair(GOOD, (0, 0, 0)))
    said = "line 5: joint 'w' moves no inertia about its axis; it is fixed"
    assert found.not_understood == (said,) and found.joints == {"j": "a.joint"}
    M = fa.Model(found.arm).function("mass_matrix")(np.zeros(1))
    assert float(M) == pytest.approx(0.02 + 0.2**2 + 0.1 * 0.3**2, rel=1e-14)


def test_what_a_joint_moves_is_looked_at_wherever_the_others_stand(tmp_path):
    """A point mass on the axis of 'w', at first or wherever 'last' stands."""
    more = """<link name="p"><inertial><origin xyz="{}"/><mass value="1"/><inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/>
</inertial></link><joint name="last" type="continuous"><parent link="g"/><child link="p"/><axis xyz="0 0 1"/></joint>"""
    light = pair(GOOD, (0, 0, 0), more=more).replace('<mass value="0.1"/>', '<mass value="0"/>')
    assert not report(tmp_path, light.format("0.1 0 0")).not_understood
    found = report(tmp_path, light.format("0 0 0")).not_understood
    assert [re.search("joint '([a-z]*)' moves no", x)[1] for x in found] == ["w", "last"]


def test_a_rotor_resists(tmp_path):
    gear = TRANSMISSION.format(20, '<drake:rotor_inertia value="1e-3"/>').replace('"elbow"', '"w"')
    assert not report(tmp_path, pair(GOOD, (0, 0, 0), more=gear)).not_understood
    mine = {"joints": {"w": {"rotor_inertia": 1e-3}}}
    assert not report(tmp_path, pair(GOOD, (0, 0, 0)), flexible=mine).not_understood


def test_joints_that_nothing_resists_together_are_listed(tmp_path):
    """Three axes through a point mass's place: any two of them may turn so that it stands still."""
    light = '<link name="{0}"/><joint name="{0}" type="continuous"><parent link="{1}"/><child link="{0}"/><axis xyz="{2}"/></joint>'
    end = '<link name="end"><inertial><origin xyz="0 0 0.5"/><mass value="1"/><inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/></inertial></link>'
    axes = [light.format("k1", "g", "0 1 0"), light.format("k2", "k1", "1 0 0"), light.format("end", "k2", "0 1 0")]
    more = "".join(axes).replace('<link name="end"/>', end)
    found = report(tmp_path, pair(GOOD, GOOD, more=more))
    (only,) = found.not_understood
    assert (
        only.startswith("no inertia resists the combined motion of the joints ")
        and "'k1'" in only
        and "'end'" in only
        and "'j'" not in only
    )
    M = np.array(fa.Model(found.arm).function("mass_matrix")(np.arange(1.0, 6.0)))
    assert np.linalg.eigvalsh(M)[0] < 1e-15 < 1e-3 < np.diag(M).min()


@pytest.mark.parametrize("seed", [2, 5, 9])
def test_what_resists_is_the_inertia_matrix_of_the_arm(seed, tmp_path, monkeypatch):
    """In general position, for trees of joints that turn and slide."""
    seen = {}

    def look(self):
        seen[tuple(joint.name for joint in self._joints)] = self._matrix(self._joints)
        return []

    monkeypatch.setattr(Resistance, "together", look)
    found = report(tmp_path, random_urdf(seed))
    ((names, matrix),) = seen.items()
    order = [found.arm.coordinates.index(found.joints[name]) for name in names]
    q = np.array([ANYWHERE if coordinate.unit == "rad" else 0.0 for coordinate in found.arm.layout])
    M = np.array(fa.Model(found.arm).function("mass_matrix")(q))[np.ix_(order, order)]
    assert len(names) > 2
    np.testing.assert_allclose(matrix, M, rtol=0, atol=1e-12 * np.abs(M).max())


# -- links that bend ---------------------------------------------------------------------------------------------------

BOOM = """<robot name="r"><link name="base"/>
<link name="boom"><inertial><origin xyz="{}"/><mass value="4"/><inertia ixx="0.05" ixy="0" ixz="0" iyy="{}" iyz="0" izz="{}"/></inertial></link>
<link name="hand"><inertial><mass value="1"/><inertia ixx="0.002" ixy="0" ixz="0" iyy="0.002" iyz="0" izz="0.002"/></inertial></link>
<joint name="roll" type="continuous"><parent link="base"/><child link="boom"/><axis xyz="1 0 0"/></joint>
<joint name="wrist" type="continuous"><origin xyz="1 0 0"/><parent link="boom"/><child link="hand"/><axis xyz="0 1 0"/></joint></robot>
"""
THIRD = 4 / 12
BENDS = {"links": {"boom": {"EI": 1e3, "modes": {"y": 1}}}}


def test_a_beam_keeps_the_files_inertia_about_its_axis(tmp_path):
    text = BOOM.format("1 0 0", 4 * THIRD, 4 * THIRD).replace(
        'xyz="1 0 0"/><parent link="boom"', 'xyz="2 0 0"/><parent link="boom"'
    )
    found = report(tmp_path, text, flexible=BENDS)
    assert not found.not_understood and found.arm.links[0].body.polar_inertia == pytest.approx(0.025)
    M = np.array(fa.Model(found.arm).function("mass_matrix")(np.zeros(3)))
    assert M[0, 0] == pytest.approx(0.052, rel=1e-12)
    mine = {"links": {"boom": {**BENDS["links"]["boom"], "polar_inertia": 0.01}}}
    own = report(tmp_path, text, flexible=mine)
    assert own.arm.links[0].body.polar_inertia == 0.01
    assert own.not_understood[0].startswith("line 2: link 'boom' is a beam that differs from the file")


@pytest.mark.parametrize(
    ("place", "across", "said"),
    [
        ("0.3 0 0", THIRD, "centre of mass (0.5, 0, 0) instead of (0.3, 0, 0) m"),
        ("0.5 0 0.1", THIRD, "centre of mass (0.5, 0, 0) instead of (0.5, 0, 0.1) m"),
        ("0.5 0 0", 0.5, "moments of inertia (0.05, 0.3333, 0.3333) instead of (0.05, 0.5, 0.5) kg m^2"),
    ],
)
def test_a_beam_that_is_not_the_files_link_is_listed(place, across, said, tmp_path):
    found = report(tmp_path, BOOM.format(place, across, across), flexible=BENDS)
    (only,) = found.not_understood
    assert only == (
        "line 2: link 'boom' is a beam that differs from the file, in the axes of the beam: "
        f"{said}; sections and lumps can distribute its mass"
    )
    lumped = {"links": {"boom": {**BENDS["links"]["boom"], "lumps": [{"at": 1.0, "mass": 0.5}]}}}
    found = report(tmp_path, BOOM.format("0.5 0 0", THIRD, THIRD), flexible=lumped)
    assert "mass 4.5 instead of 4 kg; centre of mass (0.5556, 0, 0)" in found.not_understood[0]
    own = {"links": {"boom": {**BENDS["links"]["boom"], "mass": 3.0}}}
    assert not report(tmp_path, BOOM.format("0.5 0 0", THIRD, THIRD), flexible=own).not_understood


# -- other kinds of joints ---------------------------------------------------------------------------------------------


DRAKES = {"ball": 0, "planar": 3, "universal": 2, "screw": 1}


@pytest.mark.parametrize("kind", DRAKES)
def test_joints_of_drake_become_several(kind, tmp_path):
    pitch = '<axis xyz="0 0 1"/><drake:screw_thread_pitch value="0.02"/>' if kind == "screw" else ""
    joint = f'<drake:joint name="k" type="{kind}"><parent link="fore"/><child link="hand"/>{pitch}</drake:joint>'
    plain = report(tmp_path, changed("</robot>", "</robot>"))
    found = report(tmp_path, changed("</robot>", f'<link name="hand">{INERTIAL}</link>{joint}</robot>'))
    assert not found.not_understood and len(found.joints) == len(plain.joints) + DRAKES[kind]
    assert any("joint 'k' is " in note for note in found.notes)
    assert found.joints.get("k") == ("hand.joint" if kind != "ball" else None)
    assert found.arm.balls == ((len(found.arm.links) - 1,) if kind == "ball" else ())
    if kind == "screw":
        slide = found.arm["hand_1"].joint
        assert (slide.follows, slide.ratio) == ("hand", pytest.approx(0.02 / (2 * np.pi)))


def test_what_a_joint_with_several_axes_loses_is_listed(tmp_path):
    more = '<limit lower="-1" upper="1"/><dynamics damping="0.3"/><mimic joint="elbow"/>'
    joint = f'<drake:joint name="k" type="ball"><parent link="fore"/><child link="hand"/>{more}</drake:joint>'
    found = report(tmp_path, changed("</robot>", f'<link name="hand">{INERTIAL}</link>{joint}</robot>'))
    said = "joint 'k' is ball; left out: damping, limits, <mimic>"
    assert any(each.endswith(said) for each in found.not_understood), found.not_understood


ROD = INERTIAL.replace('ixx="0.01"', 'ixx="0"')
ROUND = (
    ({"flexible": {"joints": {"k": {"damping": 0.4}}}}, INERTIAL, fa.Ball(damping=0.4)),
    ({"flexible": {"joints": {"k": {"angles": False}}}}, INERTIAL, fa.Ball(damping=0.3)),
    ({"flexible": {"joints": {"k": {"angles": True}}}}, INERTIAL, ("hand_1", "hand_2", "hand")),
    ({"flexible": {"joints": {"k": {"angles": True, "damping": 2}}}}, INERTIAL, ("hand_1", "hand_2", "hand")),
    ({"flexible": {"joints": {"k_1": {"damping": 0.4}}}}, INERTIAL, ("hand_1", "hand_2", "hand")),
    ({"locked": {"k_2": 0.2}}, INERTIAL, ("hand_1", "hand")),
    ({"locked": {"k": 0.2}}, INERTIAL, ("hand_1", "hand_2")),
)


def with_a_ball(hand=INERTIAL, more=""):
    joint = '<drake:joint name="k" type="ball"><parent link="fore"/><child link="hand"/><dynamics damping="0.3"/>'
    return changed("</robot>", f'<link name="hand">{hand}</link>{joint}</drake:joint>{more}</robot>')


@pytest.mark.parametrize(("options", "hand", "joint"), ROUND)
def test_settings_choose_between_a_quaternion_and_angles(options, hand, joint, tmp_path):
    found = report(tmp_path, with_a_ball(hand), **options)
    if isinstance(joint, fa.Ball):
        assert found.arm["hand"].joint == joint and not found.not_understood
    else:
        assert tuple(x.removesuffix(".joint") for x in found.arm.inputs if x.startswith("hand")) == joint
        assert found.not_understood == ("line 11: <drake:joint>: joint 'k' is ball; left out: damping",)


def test_a_ball_joint_with_a_transmission_has_angles(tmp_path):
    found = report(tmp_path, with_a_ball(more=TRANSMISSION.format(20, "").replace("elbow", "k")))
    assert len(found.arm.inputs) == 5
    assert found.not_understood == ("line 11: <drake:joint>: joint 'k' is ball; left out: damping, rotor",)


def test_wrong_settings_of_a_ball_joint_are_named(tmp_path):
    for table, said in (
        ({"k": {"angles": 3}}, "joints.k.angles: is 3; it must be true or false"),
        ({"k": {"damping": -1}}, "joints.k.damping: is -1.0 N m s/rad; it must be zero or positive"),
        ({"k": {"axis": [0, 0, 1]}}, "joints.k.axis: is given, but the URDF file defines it; leave it out"),
        ({"elbow": {"angles": True}}, "joints.elbow: unknown key 'angles'; allowed keys are axis, "),
    ):
        with pytest.raises(fa.DescriptionError) as refused:
            report(tmp_path, with_a_ball(), flexible={"joints": table})
        assert str(refused.value).startswith(f"from_urdf: flexible: {said}"), refused.value


def test_a_thin_rod_on_a_ball_joint_has_angles(tmp_path):
    """No inertia resists its rotation about itself. A quaternion could not leave this rotation out."""
    found = report(tmp_path, with_a_ball(ROD))
    assert not found.arm.balls and "no inertia resists the combined motion of the joints 'k_" in found.not_understood[0]
    more = f'<link name="tool">{INERTIAL}</link><joint name="t" type="continuous"><parent link="hand"/><child link="tool"/>'
    mimic = f'{more}<axis xyz="0 1 0"/><mimic joint="k"/></joint>'
    found = report(tmp_path, with_a_ball(ROD, mimic))
    said = "joint 't' mimics 'k', which is a ball joint; the joint moves independently"
    assert found.arm.balls and found.not_understood == (f"line 11: {said}",)
    between = f'<link name="tool">{INERTIAL}</link><drake:joint name="t" type="ball"><parent link="hand"/>'
    found = report(tmp_path, with_a_ball(ROD, f'{between}<child link="tool"/><origin xyz="0.4 0 0"/></drake:joint>'))
    assert found.not_understood[0].startswith("no inertia resists the combined motion of the joints 'k', 't'; ")


def test_an_unknown_joint_of_drake_is_held_and_listed(tmp_path):
    joint = '<drake:joint name="k" type="spherical"><parent link="fore"/><child link="hand"/></drake:joint>'
    found = report(tmp_path, changed("</robot>", f'<link name="hand">{INERTIAL}</link>{joint}</robot>'))
    assert found.not_understood == (
        "line 11: <drake:joint>: joint 'k' is spherical, which is not supported; it is fixed",
    )
    assert found.arm.links[-1].name == "hand" and found.arm.links[-1].joint == fa.Fixed()


def test_an_element_that_may_be_a_joint_is_named_where_links_stand_alone(tmp_path):
    said = "has 2 links without a parent, 'base', 'rod'; it must have only one; line 11: "
    ends = {"hinge": "<hinge> in <robot> is not understood"}
    ends["loop_joint"] = "<loop_joint> closes a loop, but carries no link: use <joint>"
    for element, end in ends.items():
        strange = f'<{element} name="l"><link1 link="fore"/><link2 link="rod"/></{element}>'
        with pytest.raises(fa.DescriptionError) as refused:
            report(tmp_path, changed("</robot>", f'<link name="rod"/>{strange}</robot>'))
        assert str(refused.value).endswith(said + end)


def test_a_world_that_is_not_declared_may_float(tmp_path):
    afloat = '<joint name="sea" type="floating"><parent link="world"/><child link="base"/></joint>'
    found = report(tmp_path, changed("</robot>", f"{afloat}</robot>"))
    assert found.arm.free and found.arm.base.mass == 2.0
    assert found.not_understood == ("line 11: no <link> has the name 'world'; it is used as the ground",)
    wrong = changed("</robot>", afloat.replace('"world"', '"wrld"') + "</robot>")
    with pytest.raises(fa.DescriptionError, match="<parent> names the unknown link 'wrld'"):
        report(tmp_path, wrong)


def test_a_mass_without_moments_that_moves_is_a_point(tmp_path):
    """As Pinocchio takes it."""
    old = INERTIAL
    text = ROBOT[::-1].replace(old[::-1], '<inertial><origin xyz="0.2 0 0"/><mass value="1"/></inertial>'[::-1], 1)[
        ::-1
    ]
    found = report(tmp_path, text)
    body = found.arm.links[1].body
    assert body.mass == 1.0 and body.com == (0.2, 0, 0) and not body.inertia_tensor.any()
    assert (
        "link 'fore': <inertial> has no <inertia>; its mass, 1 kg, is treated as a point mass"
        in found.not_understood[0]
    )


def test_xacro_in_a_shape_is_left_out_and_in_a_joint_refused(tmp_path):
    mesh = '<visual><geometry><mesh filename="$(find r)/a.stl"/></geometry></visual>'
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report(tmp_path, changed("<visual>", mesh + "<visual>"))
    with pytest.raises(fa.DescriptionError, match="belongs to xacro; convert the file to URDF first"):
        report(tmp_path, changed('xyz="0.4 0 0"', 'xyz="${long} 0 0"'))
