"""Arms from MJCF files: beside MuJoCo itself and Pinocchio's numbers, beside arms described by hand, what is said."""

import json
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from command_line import caller
from mjcf_mujoco import FOLDER, STORED, Theirs, frictionless, random_mjcf
from robot_files import independent, state

import flexarm as fa
from flexarm.description.robots import mjcf, mjcf_files

mj = pytest.importorskip("mujoco")
CLOSE = 1e-10  # relative to the largest entry; measured 1e-13 for a hundred files, 5e-16 for most
CASES = json.loads(STORED.read_text(encoding="utf-8"))["cases"]


def close(actual, expected, tolerance=CLOSE):
    expected = np.asarray(expected)
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance * max(1.0, np.abs(expected).max()))


def quantity(model, name, *arguments):
    """By CasADi's own interpreter: nothing is compiled."""
    found = np.array(model.function(name)(*arguments))
    return found if name == "tip" else found.squeeze(axis=1)


def written(folder, text, name="robot.xml"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def reported(path, **options):
    """The report, and the arm without what MuJoCo has as constraints."""
    report = fa.robot_report(path, **options)
    return report, fa.Model(frictionless(report.arm))


# -- beside MuJoCo and Pinocchio ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['robot']}-{case['seed']}")
def test_robots_move_as_pinocchio_says(case):
    _, model = reported(FOLDER / f"{case['robot']}.xml", tip=case["tip"])
    close(quantity(model, "forward_dynamics", *(np.array(case[key]) for key in ("q", "qd", "u"))), case["qdd"])


def without_shapes(path):
    """MuJoCo's own model of a file, whatever of its meshes is there."""
    spec = mj.MjSpec.from_file(str(path))
    for kind in ("geoms", "meshes", "materials", "textures"):
        for each in list(getattr(spec, kind)):
            spec.delete(each)
    return spec.compile()


@pytest.mark.parametrize("robot", ["panda", "kinova3", "ur5e"])
def test_robots_move_as_mujoco_says(robot):
    path = FOLDER / f"{robot}.xml"
    tip = next(case["tip"] for case in CASES if case["robot"] == robot)
    report, model = reported(path, tip=tip)
    theirs = Theirs(without_shapes(path), report)
    for seed in range(3):
        q, qd, u = state(report.arm, seed)
        close(quantity(model, "forward_dynamics", q, qd, u), theirs.forward_dynamics(q, qd, u))
        close(quantity(model, "tip", q), theirs.frame(tip), 1e-14)


@pytest.mark.parametrize("name", ["ant", "half_cheetah", "hopper", "humanoid", "inverted_double_pendulum", "reacher"])
def test_gymnasiums_models_move_as_mujoco_says(name):
    """Several joints in a body, beside its origin, springs, rotors, inertias of shapes; a free base."""
    gymnasium = pytest.importorskip("gymnasium")
    path = Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets" / f"{name}.xml"
    report, model = reported(path)
    assert report.arm.free == (name in ("ant", "humanoid"))
    theirs = Theirs(mj.MjModel.from_xml_path(str(path)), report)
    q, qd, u = state(report.arm, 5)
    close(quantity(model, "forward_dynamics", q, qd, u), theirs.forward_dynamics(q, qd, u))


@pytest.mark.parametrize(("seed", "balls"), [*((x, False) for x in range(8)), *((x, True) for x in (0, 3, 6, 7))])
def test_models_at_random_are_mujocos(seed, balls, tmp_path):
    text = random_mjcf(seed, balls)
    report, model = reported(written(tmp_path, text), tip="s3")
    assert bool(report.arm.balls) == balls
    assert not report.not_understood and report.arm.free == bool(seed % 2)
    theirs = Theirs(mj.MjModel.from_xml_string(text), report)
    q, qd, u = state(report.arm, seed)
    close(quantity(model, "forward_dynamics", q, qd, u), theirs.forward_dynamics(q, qd, u), 1e-12)
    close(quantity(model, "tip", q), theirs.frame("s3"), 1e-13)
    if not report.arm.free:
        close(np.array(model.function("mass_matrix")(q)), theirs.mass_matrix(), 1e-13)


def test_it_holds_in_compiled_code():
    case = next(case for case in CASES if case["robot"] == "ur5e")
    with pytest.warns(fa.NotUnderstood, match="<actuator> that is a servo"):
        model = fa.Model(fa.from_mjcf(FOLDER / "ur5e.xml", tip="attachment_site"))
    close(model.forward_dynamics(case["q"], case["qd"], case["u"]), case["qdd"])


# -- there and back ----------------------------------------------------------------------------------------------------


def there_and_back(arm, folder):
    """Accelerations of an arm, and of the arm of its file for MuJoCo, by the names of the first one's coordinates."""
    report, back = reported(fa.export_mjcf(fa.Model(arm), folder / "arm.xml"), tip="tip")
    assert not report.not_understood and len(report.arm.joints) == len(arm.joints)
    places = [back.coordinates.index(report.joints.get(name, name)) for name in arm.coordinates]
    rates = [back.arm.velocities.index(report.joints.get(name, name)) for name in arm.velocities]
    q, qd, u = state(arm, 3)
    there, moving, torques = np.zeros(len(q)), np.zeros(len(qd)), np.zeros(len(qd))
    there[places], moving[rates] = q, qd
    torques[rates[6 * arm.free :]] = u
    found = quantity(back, "forward_dynamics", there, moving, torques[6 * arm.free :])
    return found[rates], quantity(fa.Model(arm), "forward_dynamics", q, qd, u)


def test_gears_that_were_exported_come_back(tmp_path):
    """The equality constraints of the file are read as gears: no coordinate, and the same accelerations."""
    rod, rotor = fa.Rigid(length=0.4, mass=0.7, inertia=(0.02, 0.02, 0.03)), {"rotor_inertia": 3e-3, "gear_ratio": 4.0}
    follower = fa.Gear(joint=fa.Revolute(axis=(0, 1, 0), damping=0.1, **rotor), follows="a", ratio=-1.3, offset=0.4)
    slide = fa.Gear(joint=fa.Prismatic(axis=(0, 0, 1)), follows="b", ratio=0.2)
    joints = {"a": fa.Revolute(axis=(0, 0, 1), **rotor), "b": follower, "c": slide, "d": fa.Revolute(axis=(1, 0, 0))}
    links = [fa.Link(name=x, joint=joint, body=rod) for x, joint in joints.items()]
    arm = fa.Arm(name="train", gravity=(0.3, -9.0, 1.0), links=links)
    close(*there_and_back(arm, tmp_path), 1e-12)


@pytest.mark.parametrize("name", ["panda", "canadarm-free", "random 2", "random 9"])
def test_an_arm_that_was_exported_comes_back(name, tmp_path):
    if name.startswith("random"):
        arm = fa.robot_report(written(tmp_path, random_mjcf(int(name.split()[1])))).arm
    elif (urdf := Path(__file__).parent / "data" / "urdf" / f"{name}.urdf").exists():
        arm = frictionless(independent(fa.robot_report(urdf).arm))
    else:
        arm = fa.load(name).rigid()
    close(*there_and_back(arm, tmp_path), 1e-12)


# -- beside an arm described by hand -----------------------------------------------------------------------------------

LOADER = """<mujoco model="loader">
  <compiler angle="degree"/>
  <option gravity="0 0 -3.7"/>
  <default><joint damping="0.5"/><default class="heavy"><joint armature="0.3"/></default></default>
  <worldbody>
    <geom type="plane" size="5 5 0.1"/>
    <body name="column" pos="0 0 0.8">
      <inertial pos="0 0 -0.2" mass="9" diaginertia="0.2 0.25 0.06"/>
      <joint name="slew" axis="0 0 1" class="heavy" range="-90 120" actuatorfrcrange="-50 50"/>
      <body name="boom" pos="0.1 0 0" euler="0 30 0">
        <inertial pos="0 0 0.6" mass="5" diaginertia="0.6 0.6 0.01"/>
        <joint name="lift" axis="0 1 0" stiffness="40" springref="-20" frictionloss="1.5"/>
        <site name="lamp" pos="0.2 0 1.0"/>
        <body name="stick" pos="0 0 1.2">
          <inertial pos="0.3 0 0" mass="2" diaginertia="0.012 0.06 0.05"/>
          <joint name="fold" axis="0 1 0" damping="0"/>
          <site name="hook" pos="0.6 0 0"/>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor name="m" joint="slew" gear="60" ctrlrange="-1 1"/><motor joint="fold" forcerange="-3 4" ctrlrange="-9 9"/>
  </actuator>
</mujoco>"""
BOOM = {"EI": 4e4, "modes": {"y": 2, "z": 2}, "damping": 0.01}
TOML = """
tip = "hook"
[links.boom]
EI = 4e4
modes = { y = 2, z = 2 }
damping = 0.01
[joints.lift]
stiffness = 8e4
rotor_inertia = 4e-4
gear_ratio = 120.0
"""


def by_hand():
    column = fa.Rigid(length=0, mass=9, com=(0, 0, -0.2), inertia=(0.2, 0.25, 0.06))
    slew = fa.Revolute(damping=0.5, rotor_inertia=0.3)
    spring = fa.Parallel(stiffness=40, rest=np.radians(-20))
    lift = fa.Revolute(
        axis=(0, 1, 0),
        damping=0.5,
        drive=fa.Drive(parallel=spring, link_friction=fa.Friction(coulomb=1.5)),
    )
    boom = fa.Rigid(length=0, mass=5, com=(0, 0, 0.6), inertia=(0.6, 0.6, 0.01))
    stick = fa.Rigid(length=0, mass=2, com=(0.3, 0, 0), inertia=(0.012, 0.06, 0.05))
    links = [
        fa.Link(name="column", placement=fa.Pose(xyz=(0, 0, 0.8)), joint=slew, body=column),
        fa.Link(name="boom", at=fa.Pose(xyz=(0.1, 0, 0), rpy=(0, np.radians(30), 0)), joint=lift, body=boom),
        fa.Link(name="stick", at=fa.Pose(xyz=(0, 0, 1.2)), joint=fa.Revolute(axis=(0, 1, 0)), body=stick),
        fa.Link(name="hook", at=fa.Pose(xyz=(0.6, 0, 0)), joint=fa.Fixed(), body=fa.Frame()),
    ]
    return fa.Arm(name="loader", links=links, gravity=(0, 0, -3.7))


@pytest.fixture
def loader(tmp_path):
    return written(tmp_path, LOADER, "loader.xml")


def test_a_file_that_is_understood_is_the_arm_described_by_hand(loader):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        arm = fa.from_mjcf(loader, tip="hook")
    mine = by_hand()
    assert arm.coordinates == mine.coordinates and arm.inputs == mine.inputs and arm.gravity == mine.gravity
    q, qd, u = state(mine, 1)
    for name, arguments in {"forward_dynamics": (q, qd, u), "tip": (q,)}.items():
        close(quantity(fa.Model(arm), name, *arguments), quantity(fa.Model(mine), name, *arguments), 1e-13)
    assert [link.joint.drive for link in arm.links[:3]] == [link.joint.drive for link in mine.links[:3]]


def test_the_report_has_names_limits_and_what_is_left_out(loader):
    report = fa.robot_report(loader)
    assert report.joints == {"slew": "column.joint", "lift": "boom.joint", "fold": "stick.joint"}
    assert report.arm.tip == "stick" and not report.not_understood and not report.merged
    limits = report.limits["column.joint"]
    assert (limits.lower, limits.upper) == (pytest.approx(-np.pi / 2), pytest.approx(np.pi / 1.5))
    assert limits.effort == 50.0  # below 60 for a ctrl of 1
    assert report.limits["stick.joint"].effort == 4.0 and report.limits["boom.joint"].effort is None
    assert report.left_out == ("line 6: <geom> in <worldbody>",)
    said = "\n".join(report.notes)
    assert "MuJoCo's ctrl times 60 for 'slew'" in said and "no actuator acts on 'lift'" in said
    assert fa.robot_report(loader, tip="lamp").arm.tip == "lamp"
    assert fa.robot_report(loader, gravity=(0, 0, 1)).arm.gravity == (0, 0, 1)


def test_what_stands_beside_the_file_is_read_with_it(loader):
    (loader.parent / "loader.flex.toml").write_text(TOML, encoding="utf-8")
    arm = fa.load(loader)
    joints = {"lift": {"stiffness": 8e4, "rotor_inertia": 4e-4, "gear_ratio": 120.0}}
    assert arm == fa.from_mjcf(loader, tip="hook", flexible={"links": {"boom": BOOM}, "joints": joints})
    beam = arm.links[1]
    assert (beam.body.length, beam.body.mass, len(arm.flexible)) == (1.2, 5.0, 4) and beam.joint.stiffness == 8e4
    to_site = fa.robot_report(loader, flexible={"links": {"stick": {**BOOM, "to": "hook"}}})
    assert "moments of inertia (0.012, 0.06, 0.06) instead of (0.012, 0.05, 0.06) kg m^2" in to_site.not_understood[0]
    assert to_site.arm.links[2].body.length == pytest.approx(0.6, rel=1e-15)
    q = np.array([0.3, -0.8, 1.1])
    there = np.r_[q, np.zeros(4), q[1]]  # the motor where its joint is
    close(quantity(fa.Model(arm), "tip", there), quantity(fa.Model(by_hand()), "tip", q), 1e-14)


def test_a_urdf_file_may_end_in_xml(tmp_path):
    urdf = Path(__file__).parent / "data" / "urdf" / "ur5.urdf"
    path = written(tmp_path, urdf.read_text(encoding="utf-8"), "ur5.xml")
    assert fa.load(path) == fa.load(urdf)
    with pytest.raises(fa.DescriptionError, match=r"an MJCF file begins with <mujoco>; use `from_urdf` for this file"):
        fa.from_mjcf(path)
    with pytest.raises(fa.DescriptionError, match=r"a URDF file begins with <robot>; use `from_mjcf` for this file"):
        fa.from_urdf(FOLDER / "panda.xml")
    other = written(tmp_path, "<gazebo/>", "a.xml")
    both = (
        r"<gazebo>; a URDF file begins with <robot>, an MJCF file begins with <mujoco>, an SDF file begins with <sdf>"
    )
    with pytest.raises(fa.DescriptionError, match=both):
        fa.load(other)


def test_scenarios_and_commands_take_mjcf_files(loader, capsys, monkeypatch):
    from flexarm.scenario import load_scenario

    run = written(loader.parent, 'name = "swing"\narm = "loader.xml"\nuntil = 0.1\n', "swing.toml")
    assert load_scenario(run).loaded_arm() == fa.load(loader)
    said = caller(monkeypatch, capsys)("show", loader, "--json")
    assert said.status == 0 and json.loads(said.out)["name"] == "loader"


# -- what becomes of a file --------------------------------------------------------------------------------------------

BOX = '<geom size="0.1"/>'


def world(inner, more=""):
    return f"<mujoco><worldbody>{inner}</worldbody>{more}</mujoco>"


def test_every_strange_thing_is_listed(tmp_path):
    inner = f"""
      <body name="a" gravcomp="0.5">{BOX}<joint name="j" springyield="3" stiffness="1 2" damping="1 0.5"/>
        <body name="b" pos="1 0 0">{BOX}<joint name="k" actuatorgravcomp="true" actuatorfrcrange="-1 1"/>
          <body name="c" pos="1 0 0">{BOX}<joint name="l"/>
            <body name="d" pos="1 0 0">{BOX}<joint name="ball" type="ball" damping="1"/></body></body></body></body>
      <body name="hand" mocap="true"><site name="s"/></body>
      <body name="cube" pos="3 0 0">{BOX}<freejoint name="loose"/></body>
      <body name="e" pos="5 0 0">{BOX}<joint name="m"/></body>"""
    more = """<option density="1.2" viscosity="2" wind="1 0 0"/>
      <equality><connect body1="c" body2="world" anchor="0 0 0"/><joint joint1="l" joint2="k" polycoef="0 1 1 0 0"/>
        <joint joint1="m" joint2="j" polycoef="0.1 2 0 0 0"/><weld body1="cube" body2="a" active="false"/>
        <weld body1="hand" body2="c"/><connect body1="a" body2="b" anchor="1 0 0" active="false"/></equality>
      <tendon><fixed name="t" stiffness="4"><joint joint="j" coef="1"/></fixed>
        <fixed name="u"><joint joint="k" coef="1"/></fixed></tendon>
      <actuator><position joint="j" kp="9"/><velocity joint="k" kv="2"/><motor tendon="t"/><motor joint="ball"/>
        <intvelocity joint="k" kp="3" actrange="-1 1"/><muscle joint="l" lengthrange="0 1"/></actuator>"""
    report = fa.robot_report(written(tmp_path, world(inner, more)), tip="c")
    said = "\n".join(report.not_understood)
    for each in (
        "gravcomp 0.5 of <body>", "springyield of <joint>", "stiffness of higher order of <joint>",
        "damping of higher order of <joint>", "actuatorgravcomp of <joint>",
        "joint 'ball' is ball; left out: damping", "mocap of <body>: the body does not move",
         "joint 'loose' is floating, which is not supported; it is fixed",
        "density and viscosity and wind of <option>", "<weld> to a mocap body; it is ignored",
        "<joint> in <equality>; it is ignored",
        "tendon with stiffness; it is ignored",
         "<actuator> that is a servo; its input becomes a torque or force, 2 times",
        "<actuator> on a tendon", "<actuator> on a joint that is ball", "dynamics (integrator) of <actuator>",
        "dynamics (muscle) of <actuator>",
    ):  # fmt: skip
        assert said.count(each) == 1, (each, said)
    assert len(report.not_understood) == 17
    assert "joint 'ball' is ball: it becomes the joints 'ball_1', 'ball_2', 'ball', one after the other" in report.notes
    assert any(note.startswith("joint 'm' has no coordinate: it follows 'j', m = ") for note in report.notes)
    assert any("<weld> in <equality> is inactive" in note for note in report.notes)
    assert all(each in str(report) for each in (*report.not_understood, *report.left_out, *report.notes))


@pytest.mark.parametrize(
    ("more", "actuator", "lost"),
    [
        ("", "", ""),
        ('damping="0.4" armature="0.1"', "", "rotor"),
        ('damping="0.4" frictionloss="0.3"', "", "damping, friction"),
        ('range="0 60" stiffness="3"', "", "limits, spring"),
        ('damping="0.4"', '<motor joint="k"/>', "damping"),
    ],
)
def test_a_ball_joint_has_angles_where_more_than_damping_acts(more, actuator, lost, tmp_path):
    inner = f'<body name="rod">{BOX}<joint name="k" type="ball" {more}/></body>'
    report = fa.robot_report(written(tmp_path, world(inner, f"<actuator>{actuator}</actuator>")))
    said = [each for each in report.not_understood if "left out" in each]
    assert said == [f"line 1: joint 'k' is ball; left out: {lost}"] * bool(lost)
    if lost in ("", "rotor"):
        assert report.arm["rod"].joint == fa.Ball(damping=0.4 if lost else 0.0) and not report.arm.inputs
        assert str(report).startswith("MuJoCo Model: 1 joint, 1 link, ") and not report.joints
    else:
        assert report.arm.inputs == ("rod_1.joint", "rod_2.joint", "rod.joint")


def test_nothing_is_dropped_that_a_later_mujoco_may_have(loader, monkeypatch):
    """What no table here knows is listed with its lines, as if it were new."""
    monkeypatch.setitem(mjcf_files.READ, "joint", mjcf_files.READ["joint"].replace("armature", ""))
    monkeypatch.delitem(mjcf_files.READ, "inertial")
    said = fa.robot_report(loader).not_understood
    assert said == ("line 4: armature of <joint> in <default>", "line 8: <inertial> in <body>, 3 times")


def test_what_follows_another_joint_is_locked_with_it(tmp_path):
    """polycoef counts from where both joints are at first, `ref`."""
    last = f'<body name="c" pos="1 0 0">{BOX}<joint name="l"/></body>'
    inner = f"""<body name="a">{BOX}<joint name="j" ref="0.2"/></body>
      <body name="b" pos="1 0 0">{BOX}<joint name="k" ref="-0.3"/>{last}</body>"""
    text = world(inner, '<equality><joint joint1="k" joint2="j" polycoef="0.1 2 0 0 0"/></equality>')
    text = text.replace("<mujoco>", '<mujoco><compiler angle="radian"/>')
    report = fa.robot_report(written(tmp_path, text), locked={"j": 0.5})
    assert list(report.joints) == ["l"]
    assert "joint 'k' is fixed at 0.4, because 'j' is locked" in report.notes  # -0.3 + 0.1 + 2 (0.5 - 0.2)


def test_flags_switch_off_what_they_switch_off(loader):
    off = LOADER.replace('<option gravity="0 0 -3.7"/>', '<option><flag {}="disable"/></option>')
    arms = {
        key: fa.load(written(loader.parent, off.format(key))) for key in ("gravity", "spring", "damper", "frictionloss")
    }
    assert arms["gravity"].gravity == (0, 0, 0) and arms["spring"].gravity == (0, 0, -9.81)
    assert arms["spring"].links[1].joint.drive.parallel is None
    assert arms["damper"].links[0].joint.damping == 0.0 != arms["spring"].links[0].joint.damping
    assert arms["frictionloss"].links[1].joint.drive.link_friction is None
    assert any(
        "<flag> disables spring" in note for note in fa.robot_report(written(loader.parent, off.format("spring"))).notes
    )


def test_what_floats_and_carries_most_is_the_base(tmp_path):
    ship = f"""<body name="ship" pos="0 0 2">{BOX}<freejoint name="afloat"/>
      <body name="mast" pos="0 0 1">{BOX}<joint name="j"/></body></body>"""
    ball = f'<body name="ball" pos="3 0 0">{BOX}<freejoint/></body><body name="quay" pos="9 0 0">{BOX}</body>'
    report = fa.robot_report(written(tmp_path, world(ball + ship)))
    assert report.arm.free and report.arm.base.mass == pytest.approx(1000 * 4 / 3 * np.pi * 0.1**3)
    assert [link.name for link in report.arm.links] == ["mast"]
    assert [x.partition(": ")[2] for x in report.not_understood] == [
        "link 'ball' floats separately from the base; it is left out"
    ]
    assert "link 'quay' is fixed in the world; it is not part of the arm" in report.notes
    held = fa.robot_report(written(tmp_path, world(ball + ship)), base="fixed").arm
    assert not held.free and len(held.joints) == 1
    crane = ship.replace('<freejoint name="afloat"/>', '<joint name="turn"/>')
    report = fa.robot_report(written(tmp_path, world(ball + crane)))
    assert not report.arm.free and any(
        "is floating, which is not supported; it is fixed" in x for x in report.not_understood
    )
    door = f'<body name="door" pos="5 0 0">{BOX}<freejoint/><body name="leaf">{BOX}<joint name="turn"/></body></body>'
    two = ship.replace("</body></body>", f'</body><body name="boom" pos="0 1 1">{BOX}<joint/></body></body>')
    path = written(tmp_path, world(door + two))
    with pytest.raises(fa.DescriptionError, match=r"joints: joint 'turn' is not part of the arm, so it has no drive"):
        fa.robot_report(path, flexible={"joints": {"turn": {"damping": 1.0}}})


def test_several_joints_beside_the_origin_are_told(tmp_path):
    inner = f'<body name="a.b">{BOX}<joint name="x" type="slide" pos="0 0 5"/><joint name="a" pos="0 0 1"/></body>'
    report = fa.robot_report(written(tmp_path, world(inner)))
    assert report.joints == {"x": "x.joint", "a": "a_b.joint"} and report.arm.links[0].body == fa.Frame()
    assert report.arm.links[0].placement == fa.Pose() and report.arm.links[1].at == fa.Pose(xyz=(0, 0, 1))
    assert "joints are not at the origins of 'a.b'; the frames of these links are at the joints instead" in report.notes
    nameless = fa.robot_report(written(tmp_path, world(f"<body>{BOX}<joint/></body>")))
    assert nameless.joints == {"joint0": "body1.joint"}


MESHED = """<mujoco><asset><mesh name="cup" file="gone.stl"/><texture name="t" type="2d" file="gone.png"/>
  <material name="shiny" texture="t"/></asset>
  <worldbody><body name="a">{}<joint name="j"/><geom type="mesh" mesh="cup" material="shiny"/>
  <geom size="0.1" group="1"/></body></worldbody></mujoco>"""
INERTIAL = '<inertial pos="0.1 0 0" mass="1" diaginertia="0.1 0.1 0.1"/>'


def test_meshes_are_needed_only_where_inertia_follows_from_them(tmp_path):
    arm = fa.load(written(tmp_path, MESHED.format(INERTIAL)))
    assert arm.links[0].body.mass == 1.0
    with pytest.raises(fa.DescriptionError) as caught:
        fa.load(written(tmp_path, MESHED.format("")))
    assert "gone.stl" in str(caught.value) and str(caught.value).isprintable()
    only = MESHED.format("").replace("<mujoco>", '<mujoco><compiler inertiagrouprange="1 1"/>')
    assert fa.load(written(tmp_path, only)).links[0].body.mass == pytest.approx(4000 / 3 * np.pi * 0.1**3)
    light = MESHED.format("").replace('mesh="cup"', 'mesh="cup" mass="0"')
    assert fa.load(written(tmp_path, light)).links[0].body.mass == pytest.approx(4000 / 3 * np.pi * 0.1**3)


def test_files_that_are_included_are_read_from_their_folder(tmp_path):
    (tmp_path / "parts").mkdir()
    part = f'<mujocoinclude><body name="a">{BOX}<joint name="j"/></body></mujocoinclude>'
    (tmp_path / "parts" / "arm.xml").write_text(part.replace("<joint", "\n<joint springyield='2' stiffness='1'"))
    report = fa.robot_report(written(tmp_path, world('<include file="parts/arm.xml"/>')))
    assert report.joints == {"j": "a.joint"}
    assert report.not_understood == ("parts/arm.xml, line 2: springyield of <joint>",)


@pytest.mark.parametrize("name", ["robot.mjcf", "ROBOT.XML"])
def test_a_file_may_end_in_what_mujoco_does_not_know(name, tmp_path):
    (tmp_path / "parts").mkdir()
    part = f'<mujocoinclude><body name="a">{BOX}<joint name="j"/></body></mujocoinclude>'
    written(tmp_path / "parts", part, "arm.xml")
    path = written(tmp_path, world('<include file="parts/arm.xml"/>'), name)
    assert fa.load(path) == fa.load(written(tmp_path, path.read_text()))
    with pytest.raises(fa.DescriptionError, match=f"{name}: MuJoCo rejects the file: .*axs.* line 1"):
        fa.load(written(tmp_path, '<mujoco><worldbody><body><joint axs="1"/></body></worldbody></mujoco>', name))


def test_without_mujoco_one_line_says_what_to_install(loader, monkeypatch):
    monkeypatch.setattr(mjcf, "find_spec", lambda name: None)
    with pytest.raises(fa.DescriptionError, match=r'reading MJCF files needs MuJoCo: pip install "flexarm\[mjcf\]"$'):
        fa.load(loader)


def test_an_older_mujoco_is_told(monkeypatch):
    from flexarm.description.robots import mjcf_process

    class Old:
        __version__ = "3.2.1"
        mj_version = staticmethod(lambda: 321)

    monkeypatch.setitem(sys.modules, "mujoco", Old)
    with pytest.raises(ValueError, match=r"MuJoCo 3.2.1 is installed; reading MJCF files needs MuJoCo 4.0 or newer"):
        mjcf_process.said("robot.xml")
