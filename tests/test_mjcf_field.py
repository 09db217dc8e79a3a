"""MJCF files from the field: height fields, tendons with inertia, large scenes, thrusters, parts MuJoCo refuses."""

# ruff: noqa: E501  (files stand whole)

import numpy as np
import pytest
from robot_files import state

import flexarm as fa
from flexarm.description.robots import mjcf_process

pytestmark = pytest.mark.usefixtures("interpreted")

mj = pytest.importorskip("mujoco")
BOX = '<geom size="0.1"/>'


def written(folder, text, name="robot.xml"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def quantity(model, name, *arguments):
    """By CasADi's own interpreter: nothing is compiled."""
    return np.array(model.function(name)(*arguments)).squeeze(axis=1)


# -- what is compiled --------------------------------------------------------------------------------------------------

FIELD = """<mujoco model="tray">
  <asset><hfield name="dunes" nrow="2" ncol="2" size="0.2 0.2 0.05 0.01" elevation="0 0 0 1"/>
    <hfield name="hills" file="gone.png" size="1 1 1 1"/><mesh name="rock" file="gone.obj" scale="0 0 0"/>
    <texture name="sand" type="2d" file="gone.png"/><texture name="sky" type="cube" fileup="gone.png"/>
    <material name="sandy" texture="sand"/></asset>
  <worldbody>
    <geom type="hfield" hfield="hills" material="sandy"/><geom type="mesh" mesh="rock"/>
    <body name="tray"><joint name="tilt" axis="0 1 0"/><geom type="box" size="0.2 0.2 0.01" mass="1"/>
      <geom type="hfield" hfield="{}" pos="0 0 0.02"/><geom type="mesh" mesh="rock" mass="0"/></body>
  </worldbody>
</mujoco>"""


def test_a_height_field_that_moves_weighs(tmp_path):
    arm = fa.load(written(tmp_path, FIELD.format("dunes")))
    assert [link.body.mass for link in arm.links] == [pytest.approx(6.6)]
    with pytest.raises(fa.DescriptionError, match=r"MuJoCo rejects the file: .*gone\.png"):
        fa.load(written(tmp_path, FIELD.format("hills")))


PUMP = """<mujoco model="pump">
  <worldbody>
    <body name="a"><joint name="a" axis="0 1 0" springdamper="0.2 1"/>
      <geom type="capsule" size="0.03" fromto="0 0 0 0.4 0 0" mass="1"/><site name="p" pos="0.3 0 0.05"/>
      <geom name="pulley" type="cylinder" size="0.02 0.1" euler="90 0 0" pos="0.4 0 0" mass="0"/>
      <body name="b" pos="0.4 0 0"><joint name="b" axis="0 1 0" springdamper="0.2 1"/>
        <geom type="capsule" size="0.03" fromto="0 0 0 0.3 0 0" mass="0.5"/><site name="q" pos="0.1 0 0.05"/></body></body>
  </worldbody>
  <tendon>{}</tendon>{}
</mujoco>"""
TENDONS = {
    "spatial": '<spatial name="t" armature="2"><site site="p"/><site site="q"/></spatial>',
    "wrapped": '<spatial name="t" stiffness="2"><site site="p"/><geom geom="pulley"/><site site="q"/></spatial>',
    "fixed": '<fixed name="t" armature="0.3"><joint joint="a" coef="1"/><joint joint="b" coef="-2"/></fixed>',
    "light": '<fixed name="t"><joint joint="a" coef="1"/></fixed>',
}


@pytest.mark.parametrize("name", TENDONS)
def test_springs_follow_from_the_inertia_of_the_whole(name, tmp_path):
    rotor = 'armature="0.1"' * (name != "wrapped")  # MuJoCo has no inertia of what goes round a shape
    text = PUMP.format(TENDONS[name], f'<actuator><motor tendon="t" {rotor} gear="2"/></actuator>')
    report = fa.robot_report(written(tmp_path, text))
    theirs = mj.MjModel.from_xml_string(text)
    springs = [link.joint.drive.parallel.stiffness for link in report.arm.links]
    np.testing.assert_allclose(springs, theirs.jnt_stiffness, rtol=1e-14)
    np.testing.assert_allclose([link.joint.damping for link in report.arm.links], theirs.dof_damping, rtol=1e-14)
    if name == "spatial":
        bare = fa.robot_report(written(tmp_path, PUMP.format(TENDONS[name], "")))
        given = [link.joint.drive.parallel.stiffness for link in bare.arm.links]
        np.testing.assert_allclose(given, [2.7981, 0.2790], atol=5e-5)


def test_parts_that_mujoco_refuses_and_that_move_nothing_are_listed(tmp_path):
    key = '<keyframe><key name="home" qpos="0 1 2"/></keyframe>'
    report = fa.robot_report(written(tmp_path, PUMP.format(TENDONS["light"], key)))
    (said,) = report.not_understood
    assert said.startswith(
        "MuJoCo rejects a part of the file that the arm does not use: keyframe 'home': invalid qpos size, expected 2, got 3"
    )
    with pytest.raises(fa.DescriptionError, match="MuJoCo rejects the file: keyframe 'home': invalid qpos size"):
        fa.load(written(tmp_path, PUMP.format(TENDONS["spatial"], key)))  # its springs follow from the tendon
    muscle = '<actuator><muscle name="m" joint="a"/></actuator>'  # whose range only a simulation finds
    said = fa.robot_report(written(tmp_path, PUMP.format(TENDONS["light"], muscle))).not_understood
    assert len(said) == 1 and said[0].endswith("dynamics (muscle) of <actuator>; inputs act without delay")


WRONG = {
    "a sensor": '<sensor><force site="gone"/></sensor>',
    "a body pair": '<contact><exclude body1="a" body2="gone"/></contact>',
    "a shape pair": '<contact><pair geom1="gone" geom2="g"/></contact>',
    "a tuple": '<custom><tuple name="t"><element objtype="body" objname="gone" prm="1"/></tuple></custom>',
    "a keyframe": '<keyframe><key ctrl="1 2 3"/></keyframe>',
    "a material": '<asset><material name="m" texture="gone"/></asset>',
    "a texture": '<asset><texture name="y" type="2d"/></asset>',
    "a mesh": '<asset><mesh name="y" vertex="0 0 0 1 0 0"/></asset>',
    "a height field": '<asset><hfield name="h" nrow="0" ncol="0" size="1 1 1 1"/></asset>',
    "two": '<keyframe><key ctrl="1 2 3"/></keyframe><asset><material name="m" texture="gone"/></asset>',
    "a tendon": '<tendon><fixed name="t" stiffness="3"><joint joint="gone" coef="1"/></fixed></tendon>',
    "an actuator": '<actuator><motor tendon="gone"/></actuator>',
    "an actuator on a site": '<actuator><motor site="gone"/></actuator>',
}
LISTED = {"a tendon", "an actuator", "an actuator on a site"}
"""What moves something, and is listed by itself as well."""


@pytest.mark.parametrize("name", WRONG)
def test_a_part_that_refers_to_nothing_does_not_stop_the_reading(name, tmp_path):
    body = '<body name="a"><geom size="0.1" {}/><joint name="j"/>{}<site name="s"/></body>'
    inner = body.format("", '<geom name="g" type="box" size="1 1 1" mass="0"/>')
    if name == "a material":
        inner = body.format('material="m"', "")
    if name == "a mesh":
        inner = body.format("", '<geom type="mesh" mesh="y" mass="0"/>')
    report = fa.robot_report(written(tmp_path, f"<mujoco><worldbody>{inner}</worldbody>{WRONG[name]}</mujoco>"))
    expected = fa.load(written(tmp_path, f"<mujoco><worldbody>{body.format('', '')}</worldbody></mujoco>"))
    assert report.arm.links == expected.links
    assert report.not_understood[0].startswith("MuJoCo rejects a part of the file that the arm does not use: ")
    assert len(report.not_understood) == 1 + (name in LISTED)


# -- large scenes ------------------------------------------------------------------------------------------------------


def scene(count):
    """Shapes that do not move, with sites, beside one joint."""
    box = '<geom type="box" size=".01 .01 .01" pos="{:.2f} 1 0"/><site pos="{:.2f} 1 0"/>'
    boxes = "".join(box.format(0.03 * i, 0.03 * i) for i in range(count))
    arm = (
        '<body name="arm"><joint name="j" axis="0 1 0"/><geom type="capsule" size=".02" fromto="0 0 0 .3 0 0"/></body>'
    )
    return f'<mujoco model="scene"><worldbody>{boxes}{arm}</worldbody></mujoco>'


def test_large_scenes_delete_nothing_one_by_one(tmp_path, monkeypatch):
    """Each deletion takes a time that grows with the model: 4000 shapes took 50 s."""
    deleted = []
    monkeypatch.setattr(mj.MjSpec, "delete", lambda spec, each: deleted.append(each))
    found = mjcf_process.said(str(written(tmp_path, scene(300))))
    assert [body["name"] for body in found["bodies"]] == ["world", "arm"] and not deleted


def test_a_scene_of_4000_shapes_is_read(tmp_path):
    """The limit of the process is 20 s of processor time; it takes 0.5 s."""
    report = fa.robot_report(written(tmp_path, scene(4000)))
    assert report.joints == {"j": "arm.joint"} and "<geom> in <worldbody>, 4000 times" in report.left_out[0]


# -- thrusters ---------------------------------------------------------------------------------------------------------


def satellite():
    thrusters = [
        fa.Thruster(name="push", direction=(0.6, 0.0, 0.8), at=(0.5, 0.2, -0.4)),
        fa.Thruster(name="wheel", direction=(0.0, 0.8, 0.6), kind="torque"),
        fa.Thruster(name="side", direction=(0.0, -1.0, 0.0)),
    ]
    base = fa.FreeBase(mass=900.0, com=(0.3, -0.2, 0.1), inertia=(300.0, 500.0, 700.0), thrusters=thrusters)
    return fa.load("canadarm-free").rigid().replace(base=base)


def test_thrusters_that_were_exported_come_back(tmp_path):
    arm = satellite()
    report = fa.robot_report(fa.export_mjcf(fa.Model(arm), tmp_path / "arm.xml"), tip="tip")
    assert not report.not_understood
    back = report.arm
    assert set(back.inputs) == {report.joints.get(name, name) for name in arm.inputs} and len(back.thrusters) == 3
    for mine, theirs in zip(back.thrusters, arm.thrusters, strict=True):
        assert (mine.name, mine.kind) == (theirs.name, theirs.kind)
        np.testing.assert_allclose(mine.direction, theirs.direction, atol=1e-15)
        np.testing.assert_allclose(mine.at, theirs.at, atol=1e-15)
    q, qd, u = state(arm, 3)
    u = np.array([*u, 4.0, -30.0, 7.0])[: len(arm.inputs)]
    there = {report.joints.get(name, name): x for name, x in zip(arm.coordinates, q, strict=True)}
    rates = {report.joints.get(name, name): x for name, x in zip(arm.velocities, qd, strict=True)}
    given = {report.joints.get(name, name): x for name, x in zip(arm.inputs, u, strict=True)}
    found = quantity(
        fa.Model(back),
        "forward_dynamics",
        [there[x] for x in back.coordinates],
        [rates[x] for x in back.velocities],
        [given[x] for x in back.inputs],
    )
    mine = dict(zip(back.velocities, found, strict=True))
    expected = quantity(fa.Model(arm), "forward_dynamics", q, qd, u)
    assert np.abs(u[-3:]).min() > 0.0
    names = [report.joints.get(name, name) for name in arm.velocities]
    np.testing.assert_allclose([mine[x] for x in names], expected, rtol=0, atol=1e-12 * np.abs(expected).max())


SHIP = """<mujoco><compiler angle="radian"/><option gravity="0 0 0"/><worldbody><body name="ship"><freejoint name="afloat"/>
<geom type="box" size="1 0.5 0.2" pos="0.1 0 0"/>
<body name="bow" pos="1 0 0.2" euler="0.3 -0.4 0.5"><geom size="0.1"/><site name="jet" pos="0 0.2 0.1" euler="1 0.2 0"/></body>
<site name="middle"/><body name="mast" pos="0 0 0.3"><joint name="j"/><geom size="0.2" pos="0 0.4 0"/><site name="top"/></body>
</body></worldbody><actuator>{}</actuator></mujoco>"""
JET = '<general name="jet 1" site="jet" gear="0 -3 4 0 0 0" gainprm="-2" ctrlrange="-5 5"/>'
SPIN = '<motor name="base.vx" site="middle" gear="0 0 0 0 2 0" forcerange="-3 3" forcelimited="true"/>'


def test_thrusters_push_as_mujoco_says(tmp_path):
    """On a body that is one with the base, turned, with a gain below zero; and as a torque."""
    text = SHIP.format(JET + SPIN)
    report = fa.robot_report(written(tmp_path, text))
    arm = report.arm
    assert not report.not_understood and arm.free and arm.inputs[-2:] == ("base.jet_1", "base.vx_")
    assert report.limits["base.jet_1"].effort == 50.0 and report.limits["base.vx_"].effort == 6.0
    assert any(note.endswith("MuJoCo's ctrl times 10 for 'jet 1', 2 for 'base.vx'") for note in report.notes)
    assert "actuator 'base.vx' is the thruster 'vx_' of the base" in report.notes
    model = mj.MjModel.from_xml_string(text)
    data = mj.MjData(model)
    data.ctrl[:] = [0.7, -1.1]
    mj.mj_forward(model, data)
    q, qd = np.array(arm.rest), np.zeros(7)
    inputs = dict.fromkeys(arm.inputs, 0.0) | {"base.jet_1": 7.0, "base.vx_": -2.2}
    mine = quantity(fa.Model(arm), "forward_dynamics", q, qd, list(inputs.values()))
    np.testing.assert_allclose(mine, data.qacc, rtol=0, atol=1e-12 * np.abs(mine).max())


OTHERS = {
    "both": ('<motor site="jet" gear="1 0 0 1 0 0"/>', "<actuator> on a site that is not a thruster"),
    "seen from elsewhere": (
        '<motor site="jet" refsite="top" gear="1 0 0 0 0 0"/>',
        "<actuator> on a site that is not a",
    ),
    "a servo": ('<position site="jet" refsite="top" kp="3" gear="1 0 0 0 0 0"/>', "<actuator> that is a servo"),
    "elsewhere": (
        '<motor site="top" gear="1 0 0 0 0 0"/>',
        "<actuator> on a site of a link other than the free base; it",
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_actuators_on_sites_are_listed(name, tmp_path):
    actuator, said = OTHERS[name]
    report = fa.robot_report(written(tmp_path, SHIP.format(actuator)))
    assert not report.arm.thrusters and [x.partition(": ")[2].startswith(said) for x in report.not_understood] == [True]
    held = fa.robot_report(written(tmp_path, SHIP.format(JET)), base="fixed")
    assert held.not_understood[0].endswith("<actuator> on a site of a link other than the free base; it is ignored")
