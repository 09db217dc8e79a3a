"""Arms from URDF files: beside Pinocchio's numbers, beside arms described by hand, and what is said of them."""

import json
import warnings

import numpy as np
import pytest
from command_line import caller
from robot_files import independent, state
from urdf_pinocchio import FOLDER, STORED, Theirs, random_urdf

import flexarm as fa
from flexarm.description.robots.place import Posed, rpy
from flexarm.description.robots.robot import Place

CLOSE = 1e-10  # relative to the largest entry; measured 5e-16, and 5e-13 for the Kinova, whose last links are light
CASES = json.loads(STORED.read_text(encoding="utf-8"))["cases"]


def close(actual, expected, tolerance=CLOSE):
    expected = np.asarray(expected)
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance * max(1.0, np.abs(expected).max()))


def quantity(model, name, *arguments):
    """By CasADi's own interpreter: nothing is compiled."""
    return np.array(model.function(name)(*arguments)).squeeze()


def written(folder, text, name="robot.urdf"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


# -- beside Pinocchio --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['robot']}-{case['base']}-{case['seed']}")
def test_robots_move_as_pinocchio_says(case):
    report = fa.urdf_report(FOLDER / f"{case['robot']}.urdf", tip=case["tip"], base=case["base"])
    led = {f"{link.name}.joint" for link in report.arm.links if link.joint.leaders}
    assert report.joints == {name: x for name, x in case["joints"].items() if x not in led}
    assert led == ({"panda_rightfinger.joint"} if case["robot"] == "panda" else set())
    model = fa.Model(independent(report.arm))
    q, qd, u = (np.array(case[key]) for key in ("q", "qd", "u"))
    close(quantity(model, "forward_dynamics", q, qd, u), case["qdd"])
    close(quantity(model, "tip", q), case["frame"], 1e-14)


def test_it_holds_in_compiled_code():
    case = next(case for case in CASES if case["robot"] == "ur5" and case["base"] == "fixed")
    model = fa.Model(fa.urdf_report(FOLDER / "ur5.urdf").arm)
    close(model.forward_dynamics(case["q"], case["qd"], case["u"]), case["qdd"])


@pytest.mark.parametrize("base", ["fixed", "free"])
@pytest.mark.parametrize("seed", range(6))
def test_trees_at_random_are_pinocchios(seed, base, tmp_path):
    pin = pytest.importorskip("pinocchio")
    text = random_urdf(seed)
    report = fa.urdf_report(written(tmp_path, text), base=base)
    theirs, model = Theirs(pin, text, report), fa.Model(report.arm)
    assert sorted(report.joints) == sorted(list(theirs.model.names)[1 + (base == "free") :])
    q, qd, u = state(report.arm, seed)
    close(quantity(model, "forward_dynamics", q, qd, u), theirs.forward_dynamics(q, qd, u))
    frames = np.moveaxis(np.array(model.function("frames")(q)).reshape(4, -1, 4), 1, 0)
    for i, link in enumerate(report.arm.links):
        close(frames[i], theirs.frame(link.name, q), 1e-13)


@pytest.mark.parametrize("seed", [1, 4])
def test_locked_joints_are_pinocchios_reduced_model(seed, tmp_path):
    pin = pytest.importorskip("pinocchio")
    text = random_urdf(seed)
    path = written(tmp_path, text)
    moving = list(fa.urdf_report(path).joints)
    locked = dict(zip(moving[1::2], (0.7, -0.4, 1.1, 0.2, -0.9), strict=False))
    report = fa.urdf_report(path, locked=locked)
    assert list(report.joints) == [name for name in moving if name not in locked]
    whole = pin.buildModelFromXML(text)
    at = pin.neutral(whole)
    for name, x in locked.items():
        joint = whole.joints[whole.getJointId(name)]
        at[joint.idx_q : joint.idx_q + joint.nq] = x if joint.nq == 1 else (np.cos(x), np.sin(x))
    theirs = Theirs(pin, text, report)
    theirs.model = pin.buildReducedModel(whole, [whole.getJointId(name) for name in locked], at)
    theirs.data = theirs.model.createData()
    theirs.joints = [theirs.model.joints[theirs.model.getJointId(name)] for name in report.joints]
    q, qd, u = state(report.arm, seed)
    close(quantity(fa.Model(report.arm), "forward_dynamics", q, qd, u), theirs.forward_dynamics(q, qd, u))


@pytest.mark.parametrize("pitch", [np.pi / 2, -np.pi / 2, np.pi / 2 - 1e-9, 0.4, 3.0])
def test_rotations_come_back_as_angles(pitch):
    R = Posed.of(Place(rpy=(0.7, pitch, -1.9))).R
    np.testing.assert_allclose(Posed.of(Place(rpy=rpy(R))).R, R, rtol=0, atol=5e-16)


# -- links that bend, joints that wind up ------------------------------------------------------------------------------

ROBOT = """<?xml version="1.0"?>
<robot name="boom">
  <link name="ground"/>
  <link name="hub">
    <inertial><origin xyz="0 0 0.05"/><mass value="3"/>
      <inertia ixx="0.02" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.03"/></inertial>
  </link>
  <link name="boom">
    <inertial><origin xyz="0 0.4 0.3"/><mass value="2"/>
      <inertia ixx="0.166667" ixy="0" ixz="0" iyy="0.06192" iyz="-0.07856" izz="0.107747"/></inertial>
  </link>
  <link name="camera">
    <inertial><mass value="0.2"/><inertia ixx="1e-4" ixy="0" ixz="0" iyy="1e-4" iyz="0" izz="1e-4"/></inertial>
  </link>
  <link name="fore">
    <inertial><origin xyz="0.2 0 0" rpy="0.3 0 0"/><mass value="1"/>
      <inertia ixx="0.001" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.0205"/></inertial>
  </link>
  <link name="tool"/>
  <joint name="pan" type="continuous">
    <origin xyz="0 0 0.5"/><parent link="ground"/><child link="hub"/><axis xyz="0 0 1"/>
  </joint>
  <joint name="lift" type="revolute">
    <origin xyz="0.1 0 0.1" rpy="0.2 0.1 0"/><parent link="hub"/><child link="boom"/><axis xyz="1 0 0"/>
    <limit lower="-1" upper="2" effort="80" velocity="1.5"/><dynamics damping="0.4" friction="1.5"/>
  </joint>
  <joint name="glue" type="fixed">
    <origin xyz="0 0.4 0.35" rpy="0 0 0.5"/><parent link="boom"/><child link="camera"/>
  </joint>
  <joint name="elbow" type="revolute">
    <origin xyz="0 0.8 0.6" rpy="0.5 0 0"/><parent link="boom"/><child link="fore"/><axis xyz="1 0 0"/>
    <limit lower="-2" upper="2" effort="30" velocity="3"/>
  </joint>
  <joint name="flange" type="fixed">
    <origin xyz="0.4 0 0" rpy="0 1.5707963267948966 0"/><parent link="fore"/><child link="tool"/>
  </joint>
  <transmission name="lift_trans">
    <type>transmission_interface/SimpleTransmission</type>
    <joint name="lift"><hardwareInterface>EffortJointInterface</hardwareInterface></joint>
    <actuator name="m"><mechanicalReduction>-60</mechanicalReduction></actuator>
  </transmission>
  <transmission name="elbow_trans">
    <type>transmission_interface/SimpleTransmission</type>
    <joint name="elbow"/>
    <actuator name="n">
      <drake:rotor_inertia value="2e-5"/><drake:gear_ratio value="100"/>
    </actuator>
  </transmission>
</robot>
"""
BOOM = {"EI": {"y": 4e3, "z": 5e3}, "GJ": 1e3, "polar_inertia": 0.003, "modes": {"y": 2, "z": 1, "torsion": 1}}
WOUND = {"stiffness": 9e3, "rotor_inertia": 4e-4}
BOTH = {"links": {"boom": BOOM}, "joints": {"lift": WOUND}}

TOML = """
tip = "tool"

[links.boom]
EI = { y = 4e3, z = 5e3 }
GJ = 1e3
polar_inertia = 0.003
modes = { y = 2, z = 1, torsion = 1 }

[joints.lift]
stiffness = 9e3
rotor_inertia = 4e-4
"""


def by_hand():
    """The arm of ROBOT and BOTH. The beam goes from the lift joint to the elbow, y = z x x in its plane of turning."""
    beam = fa.Beam(length=1.0, mass=2.0, **BOOM)
    # the boom's frame has its x along (0, 0.8, 0.6), its z along the joint's axis, x of the file's frame
    R_LB = np.column_stack([[0, 0.8, 0.6], np.cross([1, 0, 0], [0, 0.8, 0.6]), [1, 0, 0]])
    lift = fa.Pose(rpy=(0.2, 0.1, 0)).rotation @ R_LB
    elbow = R_LB.T @ fa.Pose(rpy=(0.5, 0, 0)).rotation
    place = R_LB.T @ [0, 0.4, 0.35]
    camera = R_LB.T @ fa.Pose(rpy=(0, 0, 0.5)).rotation
    turn = fa.Pose(rpy=(0.3, 0, 0)).rotation
    drive = fa.Drive(link_friction=fa.Friction(coulomb=1.5))
    links = [
        fa.Link(
            name="hub",
            placement=fa.Pose(xyz=(0, 0, 0.5)),
            body=fa.Rigid(length=0, mass=3, com=(0, 0, 0.05), inertia=(0.02, 0.02, 0.03)),
        ),
        fa.Link(
            name="boom",
            at=fa.Pose(xyz=(0.1, 0, 0.1), rpy=rpy(lift)),
            joint=fa.Revolute(gear_ratio=-60, damping=0.4, drive=drive, **WOUND),
            body=beam,
        ),
        fa.Link(
            name="camera",
            at=place[0],
            placement=fa.Pose(xyz=(0, place[1], place[2]), rpy=rpy(camera)),
            joint=fa.Fixed(),
            body=fa.Rigid(length=0, mass=0.2, com=(0, 0, 0), inertia=1e-4),
        ),
        fa.Link(
            name="fore",
            parent="boom",
            placement=fa.Pose(rpy=rpy(elbow)),
            joint=fa.Revolute(axis=(1, 0, 0), rotor_inertia=2e-5, gear_ratio=100),
            body=fa.Rigid(
                length=0, mass=1, com=(0.2, 0, 0), inertia=(turn @ np.diag([0.001, 0.02, 0.0205]) @ turn.T).tolist()
            ),
        ),
        fa.Link(name="tool", at=fa.Pose(xyz=(0.4, 0, 0), rpy=(0, np.pi / 2, 0)), joint=fa.Fixed(), body=fa.Frame()),
    ]
    return fa.Arm(name="boom", links=links, gravity=(0, 0, -9.81))


def motion(arm, seed=3):
    rng = np.random.default_rng(seed)
    size = np.array([0.05 if x.role == "flexible" else 1.0 for x in arm.layout])
    q, qd = rng.uniform(-1, 1, (2, len(size))) * size
    return q, qd, rng.uniform(-3, 3, len(arm.inputs))


@pytest.fixture
def boom(tmp_path):
    return written(tmp_path, ROBOT, "boom.urdf")


def test_a_flexible_robot_is_the_arm_described_by_hand(boom):
    mine, theirs = by_hand(), fa.from_urdf(boom, tip="tool", flexible=BOTH)
    assert theirs.coordinates == mine.coordinates and theirs.inputs == mine.inputs and len(theirs.flexible) == 4
    q, qd, u = motion(mine)
    for name, arguments in {"forward_dynamics": (q, qd, u), "tip": (q,), "mass_matrix": (q,)}.items():
        close(quantity(fa.Model(theirs), name, *arguments), quantity(fa.Model(mine), name, *arguments), 1e-12)
    assert theirs.links[1].body == mine.links[1].body and theirs.links[1].joint.drive == mine.links[1].joint.drive


def test_what_stands_beside_the_file_is_read_with_it(boom):
    (boom.parent / "boom.flex.toml").write_text(TOML, encoding="utf-8")
    assert fa.load(boom) == fa.load(str(boom)) == fa.from_urdf(boom, tip="tool", flexible=BOTH)
    assert fa.from_urdf(boom, flexible=boom.with_name("boom.flex.toml")) == fa.load(boom)
    assert not fa.from_urdf(boom).flexible  # nothing is read that is not named
    assert fa.from_urdf(boom, flexible=boom.with_name("boom.flex.toml"), tip="fore").tip == "fore"


def test_a_beam_stands_where_the_rigid_link_does(boom):
    rigid, bent = fa.from_urdf(boom), fa.from_urdf(boom, flexible={"links": {"boom": BOOM}})
    q = np.array([0.3, -0.8, 1.1])
    there = np.r_[q, np.zeros(len(bent.flexible))]
    close(quantity(fa.Model(bent), "tip", there), quantity(fa.Model(rigid), "tip", q), 1e-14)


def test_a_beam_without_modes_is_the_rod_in_the_file(tmp_path, boom):
    """Mass and inertia of a slender rod along (0, 0.8, 0.6), written in the file's frame."""
    d = np.array([0, 0.8, 0.6])
    I = 2.0 / 12 * (np.eye(3) - np.outer(d, d))
    rod = f'iyy="{float(I[1, 1])!r}" iyz="{float(I[1, 2])!r}" izz="{float(I[2, 2])!r}"/>'
    old = 'ixx="0.166667" ixy="0" ixz="0" iyy="0.06192" iyz="-0.07856" izz="0.107747"/>'
    assert old in ROBOT
    path = written(tmp_path, ROBOT.replace(old, f'ixx="{float(I[0, 0])!r}" ixy="0" ixz="0" {rod}'), "rod.urdf")
    rigid = fa.from_urdf(path)
    straight = fa.from_urdf(path, flexible={"links": {"boom": {"EI": 1.0, "modes": {}}}})
    state = motion(rigid)
    close(*(quantity(fa.Model(arm), "forward_dynamics", *state) for arm in (straight, rigid)), 1e-12)


def test_where_a_beam_goes_and_how_it_lies_can_be_said(boom):
    def laid(**more):
        return fa.urdf_report(boom, flexible={"links": {"boom": {**BOOM, **more}}}).arm

    to_camera = laid(to="camera").links[1].body
    assert to_camera.length == pytest.approx(np.hypot(0.4, 0.35), rel=1e-15) and to_camera.mass == 2.0
    assert laid(to=[0, 3, 4]).links[1].body.length == pytest.approx(5.0, rel=1e-15)
    turned = laid(z=[0, -0.6, 0.8])
    y, z = (fa.Model(laid()).tip(np.r_[0.1, 0.2, 0.3, 0, 0, 0, 0]), fa.Model(turned).tip(np.r_[0.1, 0.2, 0.3, [0] * 4]))
    close(y, z, 1e-14)  # the frames of the links behind do not know
    # y of the first is the direction across which z of the second bends, and back
    first, second = (
        fa.Model(arm).tip(np.r_[0.0, 0, 0, at]) for arm, at in ((laid(), [0.01, 0, 0, 0]), (turned, [0, 0, 0.01, 0]))
    )
    assert np.abs(first - fa.Model(laid()).tip(np.zeros(7))).max() > 1e-3
    np.testing.assert_allclose(first[:3, 3], second[:3, 3], rtol=0, atol=1e-6)


def test_sections_give_the_beam_its_mass(boom):
    tube = {
        "material": {"E": 7e10, "density": 2700.0},
        "section": {"type": "tube", "outer_diameter": 0.05, "thickness": 0.002},
    }
    arm = fa.from_urdf(boom, flexible={"links": {"boom": {**tube, "modes": {"y": 1}}}})
    assert arm.links[1].body == fa.Beam(length=1.0, modes={"y": 1}, **tube)


def test_limits_fill_what_leaves_them_out(boom):
    drive = {"stops": {"stiffness": 1e4}, "motor": {}}
    report = fa.urdf_report(boom, flexible={"joints": {"lift": {"drive": drive}}})
    mine = report.arm.links[1].joint.drive
    assert mine.stops == fa.Stops(lower=-1, upper=2, stiffness=1e4)
    assert mine.motor == fa.Motor(torque_limit=80) and mine.link_friction == fa.Friction(coulomb=1.5)
    said = report.limits["boom.joint"]
    assert (said.lower, said.upper, said.velocity, said.effort) == (-1, 2, 1.5, 80)
    assert report.limits["hub.joint"].lower is None
    own = {"stops": {"stiffness": 1e4, "upper": 0.5}, "friction": {"coulomb": 2.0}, "motor": {"torque_limit": 9}}
    mine = fa.from_urdf(boom, flexible={"joints": {"lift": {"drive": own}}}).links[1].joint.drive
    assert mine.stops == fa.Stops(upper=0.5, stiffness=1e4) and mine.motor.torque_limit == 9
    assert mine.link_friction is None
    whole = fa.Drive(friction=fa.Friction(coulomb=0.1))
    assert fa.from_urdf(boom, flexible={"joints": {"lift": {"drive": whole}}}).links[1].joint.drive == whole


def test_effort_is_the_joints_whatever_the_gear(boom):
    """URDF limits the joint, not the motor before a reduction of -60 or 100: too much asked for moves it as that."""
    sharp = {"drive": {"motor": {"saturation": "sharp"}}}
    arm = fa.from_urdf(boom, flexible={"joints": {"lift": sharp, "elbow": sharp}})
    assert [link.joint.gear_ratio for link in arm.links[1:3]] == [-60, 100]
    limited, free = fa.Model(arm), fa.Model(fa.from_urdf(boom))
    q, qd = np.array([0.1, 0.2, 0.3]), np.array([0.1, -0.2, 0.3])
    expected = free.forward_dynamics(q, qd, [1.0, 80.0, -30.0])
    close(limited.forward_dynamics(q, qd, [1.0, 1e6, -1e6]), expected, 1e-12)
    assert np.abs(limited.forward_dynamics(q, qd, [1.0, 79.0, -30.0]) - expected).max() > 1e-3


# -- what becomes of a file --------------------------------------------------------------------------------------------


def test_nothing_is_dropped_silently():
    with pytest.warns(fa.NotUnderstood) as caught:
        arm = fa.load(FOLDER / "panda.urdf")
    assert len(caught) == 1 and caught[0].filename == __file__
    said = str(caught[0].message)
    assert all(f"{key} of <dynamics> in <joint>, 7 times" in said for key in ("D", "K", "mu_coulomb", "mu_viscous"))
    report = fa.urdf_report(FOLDER / "panda.urdf")
    assert report.arm == arm and all(each in said for each in report.not_understood)
    follows = "'panda_finger_joint1', panda_finger_joint2 = 1 * panda_finger_joint1"
    assert f"joint 'panda_finger_joint2' has no coordinate: it follows {follows}" in report.notes
    assert report.merged["panda_hand_tcp"] == "panda_link7"
    assert any("<safety_controller> in <joint>, 7 times" in each for each in report.left_out)
    assert all(each in str(report) for each in (*report.not_understood, *report.left_out, *report.notes))


def test_a_file_that_is_understood_says_nothing(boom):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        arm = fa.load(boom)
    report = fa.urdf_report(boom)
    assert not report.not_understood and report.arm == arm
    assert report.merged == {"camera": "boom"}
    assert report.joints == {"pan": "hub.joint", "lift": "boom.joint", "elbow": "fore.joint"}
    assert arm.links[-1].name == "tool" and arm.links[-1].body == fa.Frame()


def test_every_strange_thing_is_listed(tmp_path):
    text = ROBOT.replace(
        "</robot>",
        """
      <gazebo reference="boom"/> <sensor name="eye"/>
      <link name="lid"/> <joint name="hinge" type="revolute"><parent link="tool"/><child link="lid"/>
        <limit lower="0" upper="1" effort="1" velocity="1"/></joint>
      <link name="cart">
        <inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
      <joint name="glide" type="planar"><parent link="tool"/><child link="cart"/><axis xyz="0 0 1"/></joint>
      <link name="kite"/> <joint name="string" type="floating"><parent link="tool"/><child link="kite"/></joint>
      <transmission name="both"><type>transmission_interface/DifferentialTransmission</type>
        <joint name="lift"/><joint name="elbow"/><actuator name="a"/></transmission>
      <transmission name="lost"><type>SimpleTransmission</type><joint name="nobody"/><actuator name="a"/></transmission>
      </robot>""",
    ).replace('<axis xyz="1 0 0"/>', '<axis xyz="1 0 0" frame="world"/><spring k="3"/>', 1)
    said = "\n".join(fa.urdf_report(written(tmp_path, text)).not_understood)
    for each in (
        "<gazebo> in <robot>", "<sensor> in <robot>", "<spring> in <joint>", "frame of <axis> in <joint>",
        "joint 'hinge' moves no mass; it is fixed",
        "joint 'string' moves no mass; it is fixed",
         "transmission 'both' of type 'DifferentialTransmission' and with 2 joints is not supported",
        "transmission 'lost' of joint 'nobody', which does not exist",
    ):  # fmt: skip
        assert said.count(each) == 1, each
    assert len(said.splitlines()) == 8


def test_what_mimics_a_locked_joint_is_locked_with_it():
    report = fa.urdf_report(FOLDER / "panda.urdf", locked={"panda_finger_joint1": 0.03}, tip="panda_hand_tcp")
    assert len(report.arm.joints) == 7 and not any("mimics" in each for each in report.not_understood)
    assert "joint 'panda_finger_joint2' is fixed at 0.03, because 'panda_finger_joint1' is locked" in report.notes
    hand = report.arm.links[report.arm.tip_link]
    assert report.arm.tip == "panda_hand_tcp" and hand.body == fa.Frame()
    apart = fa.urdf_report(FOLDER / "panda.urdf", locked={"panda_finger_joint1": 0.0, "panda_finger_joint2": 0.0})
    last = [next(x for x in r.arm.links if x.name == "panda_link7").body for r in (report, apart)]
    assert last[0].mass == last[1].mass and last[0].inertia_tensor[0, 0] > last[1].inertia_tensor[0, 0]


def test_what_mimics_but_does_not_move_stays_where_it_is(tmp_path):
    """A finger that was made fixed, with the rest of what it was."""
    mimic = '<mimic joint="lift" multiplier="2" offset="0.3"/></joint>'
    old = '<child link="camera"/>\n  </joint>'
    assert old in ROBOT
    changed = ROBOT.replace(old, '<child link="camera"/>' + mimic)
    plain, mimics = (fa.urdf_report(written(tmp_path, x), locked={"lift": 0.4}) for x in (ROBOT, changed))
    assert mimics.arm == plain.arm and mimics.notes == plain.notes
    (said,) = set(mimics.not_understood) - set(plain.not_understood)
    assert said.endswith("joint 'glue' is fixed; its <mimic> has no effect")


LIFT = '<limit lower="-1" upper="2" effort="80" velocity="1.5"/>'


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ('lower="-inf" upper="2" effort="Infinity" velocity="+inf"', (None, 2.0, None, None)),
        ('lower="-1" upper=" inf " effort="80" velocity="INF"', (-1.0, None, None, 80.0)),
        ('lower="-inf" effort="1" velocity="1"', (None, 0.0, 1.0, 1.0)),
    ],
)
def test_limits_may_be_infinite(given, expected, tmp_path):
    said = fa.urdf_report(written(tmp_path, ROBOT.replace(LIFT, f"<limit {given}/>"))).limits["boom.joint"]
    assert (said.lower, said.upper, said.velocity, said.effort) == expected


def test_a_limit_that_nothing_can_keep_is_listed(tmp_path):
    report = fa.urdf_report(written(tmp_path, ROBOT.replace(LIFT, LIFT.replace('"-1"', '"inf"'))))
    assert any("lower is 'inf'; it must be a finite number; it is left out" in x for x in report.not_understood)
    said = report.limits["boom.joint"]
    assert (said.lower, said.upper) == (None, 2.0)


def test_an_effort_of_zero_limits_no_motor_and_is_told(tmp_path):
    file = written(tmp_path, ROBOT.replace(LIFT, LIFT.replace('"80"', '"0"')))
    report = fa.urdf_report(file, flexible={"joints": {"lift": {"drive": {"motor": {}}}}})
    assert report.arm.links[1].joint.drive.motor == fa.Motor()
    assert any(x.endswith("'lift': <limit> effort is 0; its motor gets no torque limit") for x in report.not_understood)


def test_a_floating_joint_frees_the_base(tmp_path):
    ship = ROBOT.replace(
        "</robot>",
        """<link name="sea"/>
      <joint name="afloat" type="floating"><parent link="sea"/><child link="ground"/></joint></robot>""",
    ).replace(
        '<link name="ground"/>',
        '<link name="ground"><inertial><mass value="9"/>'
        '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>',
    )
    path = written(tmp_path, ship)
    arm = fa.load(path)
    assert arm.free and arm.base == fa.FreeBase(mass=9, inertia=((1, 0, 0), (0, 1, 0), (0, 0, 1)))
    held = fa.from_urdf(path, base="fixed")
    assert not held.free and held.links == arm.links
    moved = written(tmp_path, ship.replace('type="floating">', 'type="floating"><origin xyz="1 0 0"/>'))
    assert "<origin> is an initial position" in fa.urdf_report(moved).not_understood[0]


def test_a_link_that_floats_inside_the_tree_is_in_free_fall(tmp_path):
    """It has a position relative to its parent, on which it does not act, and carries a joint of its own."""
    inertia = """<inertial><origin xyz="{c}"/><mass value="{m}"/>
      <inertia ixx="0.03" ixy="0.001" ixz="0.002" iyy="0.04" iyz="0.003" izz="0.05"/></inertial>"""
    arm = f"""<robot name="r"><link name="ground"/><link name="arm">{inertia.format(m=1.7, c="0.3 0 0")}</link>
      <joint name="turn" type="continuous"><parent link="ground"/><child link="arm"/><axis xyz="0 0 1"/></joint>"""
    cargo = f"""<link name="cargo">{inertia.format(m=2.3, c="0.1 0.05 0.02")}</link>
      <link name="lid">{inertia.format(m=0.6, c="0.1 0 0.02")}</link>
      <joint name="loose" type="floating"><parent link="arm"/><child link="cargo"/>
        <origin xyz="0.6 0.1 0" rpy="0.3 0.2 0.1"/></joint>
      <joint name="hinge" type="continuous"><parent link="cargo"/><child link="lid"/><axis xyz="0 1 0"/>
        <origin xyz="0.2 0.1 0"/></joint>"""
    alone = fa.Model(fa.from_urdf(written(tmp_path, f"{arm}</robot>")))
    report = fa.urdf_report(written(tmp_path, f"{arm}{cargo}</robot>"))
    model = fa.Model(report.arm)
    said = "joint 'loose' is floating: it becomes the joints 'loose_1', 'loose_2', 'loose_3', 'loose', one after"
    assert report.notes == (f"{said} the other",)
    assert model.inputs == ("arm.joint", "lid.joint") and len(model.arm.balls) == 1
    u, q, qd = [0.7, 0.0], np.array(model.arm.rest), np.zeros(model.nv)
    rates = dict(zip(model.velocities, model.forward_dynamics(q, qd, u), strict=True))
    turning = alone.forward_dynamics([0.0], [0.0], u[:1])[0]
    assert rates["arm.joint"] == pytest.approx(turning, rel=1e-12)
    run = fa.simulate(model, 0.2, u=lambda t, q, qd: [0.7, 0.3 * np.sin(20 * t)], q0=q, samples=3, progress=False)
    assert run.q.sel(coordinate="arm.joint").values[-1] == pytest.approx(turning * 0.2**2 / 2, rel=1e-9)
    bare = fa.Model(model.arm.replace(gravity=(0.0, 0.0, 0.0)))
    fallen = fa.simulate(bare, 0.2, u=lambda t, q, qd: [0.7, 0.3 * np.sin(20 * t)], q0=q, samples=3, progress=False)
    apart = run.tip.values[-1] - fallen.tip.values[-1]
    assert apart == pytest.approx([0.0, 0.0, -9.81 * 0.2**2 / 2], abs=1e-8)


def test_names_are_made_fit_for_coordinates(tmp_path):
    text = ROBOT.replace('"hub"', '"base"').replace('"fore"', '"fore arm.1"')
    report = fa.urdf_report(written(tmp_path, text))
    assert [link.name for link in report.arm.links] == ["base_", "boom", "fore_arm_1", "tool"]
    assert "link 'fore arm.1' is renamed 'fore_arm_1'" in report.notes


def test_what_is_left_out_is_as_the_format_says(tmp_path):
    """An axis along x, an origin on the parent's, limits of zero where only the other is given."""
    text = ROBOT.replace('<axis xyz="0 0 1"/>', "").replace('<origin xyz="0 0 0.5"/>', "", 1).replace('lower="-1" ', "")
    report = fa.urdf_report(written(tmp_path, text))
    assert report.arm.links[0].joint.axis == (1, 0, 0) and report.arm.links[0].placement == fa.Pose()
    assert report.limits["boom.joint"].lower == 0.0


def test_massless_links_between_joints_are_frames(tmp_path):
    text = ROBOT.replace('parent link="ground"/><child link="hub"', 'parent link="fork"/><child link="hub"').replace(
        "</robot>",
        '<link name="fork"/><joint name="tilt" type="revolute"><parent link="ground"/><child link="fork"/>'
        '<axis xyz="0 2 0"/><limit effort="1" velocity="1"/></joint></robot>',
    )
    arm = fa.load(written(tmp_path, text))
    assert arm.links[0].body == fa.Frame() and arm.links[0].joint.axis == (0, 1, 0)
    assert np.linalg.eigvalsh(fa.Model(arm).mass_matrix(np.full(4, 0.3))).min() > 1e-3


def test_inertia_without_mass_is_a_hub(tmp_path):
    text = ROBOT.replace('<mass value="3"/>', '<mass value="0"/>')
    link = fa.load(written(tmp_path, text)).links[0]
    assert link.body == fa.Frame() and np.trace(link.hub_inertia) == pytest.approx(0.07)


def test_moments_of_inertia_below_zero_are_told(tmp_path):
    hub, camera = 'ixx="0.02" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.03"', 'ixx="1e-4" ixy="0" ixz="0"'
    rounded = ROBOT.replace(hub, 'ixx="-1e-9" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.03"')
    report = fa.urdf_report(written(tmp_path, rounded))
    assert not report.not_understood and report.arm.links[0].body.inertia_tensor[0, 0] == 0.0
    merged = fa.urdf_report(written(tmp_path, ROBOT.replace(camera, 'ixx="-1e-4" ixy="0" ixz="0"')))
    assert "link 'camera': <inertia> has the principal value -0.0001 kg m^2" in merged.not_understood[0]
    with pytest.raises(fa.DescriptionError, match=r"link 'hub': inertia has the principal value -0.02"):
        fa.urdf_report(written(tmp_path, ROBOT.replace(hub, hub.replace('ixx="0.02"', 'ixx="-0.02"'))))


def test_scenarios_and_commands_take_urdf_files(boom, capsys, monkeypatch):
    from flexarm.scenario import load_scenario

    run = written(boom.parent, 'name = "swing"\narm = "boom.urdf"\nuntil = 0.1\n', "swing.toml")
    assert load_scenario(run).loaded_arm() == fa.load(boom)
    said = caller(monkeypatch, capsys)("show", boom, "--json")
    assert said.status == 0 and json.loads(said.out)["name"] == "boom"
