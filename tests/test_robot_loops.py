"""Closed loops in robot files: accelerations beside MuJoCo's own constraints, and beside the same arms by hand."""

# ruff: noqa: E501  (files and messages of one line)

import re

import mujoco as mj
import numpy as np
import pytest
from mjcf_mujoco import Theirs
from robot_files import refusal
from scipy.spatial.transform import Rotation

import flexarm as fa
from flexarm.exports.lumped import lumped
from flexarm.exports.mjcf import mjcf as mjcf_text
from flexarm.model import closures

pytestmark = pytest.mark.usefixtures("interpreted")

OTHERS = ("CONTACT", "LIMIT", "FRICTIONLOSS", "CLAMPCTRL")


class Closed(Theirs):
    """An MJCF file with MuJoCo's equality constraints made exact, by Lagrange's multipliers.

    Mass matrix, forces and the constraints' Jacobian J are MuJoCo's. The rate of J comes from differences of fourth
    order along the motion.
    """

    def __init__(self, text, report):
        super().__init__(mj.MjModel.from_xml_string(text), report)
        self.tied = mj.MjModel.from_xml_string(text)
        self.tied.opt.jacobian = mj.mjtJacobian.mjJAC_DENSE
        for flag in OTHERS:
            self.tied.opt.disableflags |= int(getattr(mj.mjtDisableBit, f"mjDSBL_{flag}"))
        self.ties = mj.MjData(self.tied)

    def constraint(self, q):
        """The gaps and their Jacobian, in the order of the arm's coordinates."""
        self.ties.qpos[self.places] = q[self.order]
        mj.mj_fwdPosition(self.tied, self.ties)
        J = self.ties.efc_J.reshape(-1, self.tied.nv)
        found = np.zeros_like(J)
        found[:, self.order] = J[:, self.rates]
        return self.ties.efc_pos.copy(), found

    def forward_dynamics(self, q, qd, u):
        free, h = super().forward_dynamics(q, qd, u), 1e-3
        M = np.zeros((self.model.nv, self.model.nv))
        mj.mj_fullM(self.model, self.data, M)
        place = np.ix_(self.order, self.order)
        inertia = np.zeros_like(M)
        inertia[place] = M[np.ix_(self.rates, self.rates)]
        gap, J = self.constraint(q)
        assert np.abs(gap).max() < 1e-9
        near = {k: self.constraint(q + k * h * qd)[1] for k in (-2, -1, 1, 2)}
        rate = (8 * (near[1] - near[-1]) - (near[2] - near[-2])) / (12 * h)
        A = np.linalg.solve(inertia, J.T)
        reactions = np.linalg.lstsq(J @ A, -(J @ free + rate @ qd), rcond=1e-9)[0]
        return free + A @ reactions


def compared(path, text, guess=None, seed=3):
    """The arm of an MJCF file, and the largest difference of its accelerations from MuJoCo's, relative to them."""
    path.write_text(text)
    report = fa.robot_report(path)
    arm, rng = report.arm, np.random.default_rng(seed)
    n = len(arm.coordinates)
    start = np.zeros(n) if guess is None else guess
    q, qd = fa.assemble(arm, start + rng.uniform(-0.02, 0.02, n), rng.uniform(-1.0, 1.0, n))
    assert np.abs(qd).max() > 0.05
    u = rng.uniform(-2.0, 2.0, n)
    expected = Closed(text, report).forward_dynamics(q, qd, u)
    found = np.array(fa.Model(arm).fixed("forward_dynamics")(q, qd, u)).ravel()
    return report, np.abs(found - expected).max() / np.abs(expected).max()


def point(xyz):
    return " ".join(map(str, xyz))


def mjcf(body, equality, more=""):
    return f"""<mujoco model="mechanism"><option gravity="0.3 -9.81 0.7"/><compiler angle="radian"/>{more}
      <worldbody>{body}</worldbody><equality>{equality}</equality></mujoco>"""


def rod(name, mass, length, inner="", joints=('axis="0 0 1"',), place=""):
    """A slender body along its x axis."""
    moment = mass * length**2 / 12
    hinges = "".join(f'<joint name="{name}_{i}" {joint}/>' for i, joint in enumerate(joints))
    return f"""<body name="{name}" {place}><inertial pos="{length / 2} 0.01 0" mass="{mass}"
      diaginertia="{0.1 * moment} {moment} {0.98 * moment}"/>{hinges}
      <site name="{name}_end" pos="{length} 0 0" euler="0.3 -0.2 0.5"/>{inner}</body>"""


def four_bar(crank='axis="0 0 1" damping="0.2" armature="0.03"', rocker='axis="0 0 1" pos="0.02 0 0" stiffness="3"'):
    coupler = rod("coupler", 2.3, 0.7, place='pos="0.3 0 0" euler="0 0 -0.7"')
    return rod("crank", 1.1, 0.3, coupler, [crank]) + rod(
        "rocker", 1.7, 0.6, joints=[rocker], place='pos="0.8 0 0" euler="0 0 1.9"'
    )


def five_bar():
    upper = [
        rod(f"{side}_upper", m, a, place=f'pos="{b} 0 0"')
        for side, m, a, b in [("left", 1.3, 0.4, 0.25), ("right", 1.2, 0.42, 0.27)]
    ]
    left = rod("left", 0.9, 0.25, upper[0], place='euler="0 0 1.9"')
    return left + rod("right", 0.8, 0.27, upper[1], place='pos="0.3 0 0"')


def delta():
    """A delta robot: three arms, three pairs of rods with two axes at their arm, and a platform that moves freely."""
    arms, sites, ties = "", "", ""
    for k in range(3):
        turn, rods = 2 * np.pi * k / 3, ""
        c, s = np.cos(turn), np.sin(turn)
        for side in (-1, 1):
            name, y = f"rod{k}{side}", 0.04 * side
            axes = ['axis="0 1 0"', 'axis="0 0 1"']
            rods += rod(name, 0.11, 0.5, joints=axes, place=f'pos="0.2 {y} 0" euler="0 1.9 0"')
            sites += f'<site name="corner{k}{side}" pos="{0.05 * c - y * s} {0.05 * s + y * c} 0"/>'
            ties += f'<connect site1="{name}_end" site2="corner{k}{side}"/>'
        arms += rod(f"arm{k}", 0.7, 0.2, rods, ['axis="0 1 0"'], f'pos="{0.13 * c} {0.13 * s} 0" euler="0 0 {turn}"')
    axes = [f'type="{kind}" axis="{axis}"' for kind in ("slide", "hinge") for axis in ("1 0 0", "0 1 0", "0 0 1")]
    joints = "".join(f'<joint name="platform_{i}" {joint}/>' for i, joint in enumerate(axes))
    inertia = '<inertial pos="0.01 0 0" mass="0.6" diaginertia="0.002 0.003 0.004"/>'
    return mjcf(f'{arms}<body name="platform" pos="0 0 -0.45">{inertia}{joints}{sites}</body>', ties)


def test_a_four_bar(tmp_path):
    tie = '<connect name="pin" body1="coupler" body2="rocker" anchor="0.7 0.02 0"/>'
    report, off = compared(tmp_path / "four.xml", mjcf(four_bar(), tie))
    assert off < 1e-9
    (pin,) = report.arm.closures
    assert (pin.name, pin.link, pin.to, pin.joint) == ("pin", "coupler", "rocker", "ball")
    gaps, _ = fa.Model(report.arm).closure_gaps(np.zeros(3))
    assert np.abs(gaps).max() < 1e-12  # MuJoCo closes it at rest


def test_a_five_bar(tmp_path):
    tie = '<connect site1="left_upper_end" site2="right_upper_end"/>'
    report, off = compared(tmp_path / "five.xml", mjcf(five_bar(), tie))
    assert off < 1e-9
    model = fa.Model(report.arm)
    assert np.abs(model.closure_gaps(np.zeros(4))[0]).max() > 0.1  # open at rest
    run = fa.simulate(model, until=0.3, progress=False)
    assert np.abs(model.closure_gaps(run.q.values[-1])[0]).max() < 1e-12


def test_a_delta_robot(tmp_path):
    report, off = compared(tmp_path / "delta.xml", delta())
    assert off < 1e-9 and len(report.arm.closures) == 6


def reach(side, place):
    """An arm of four joints in space."""
    inner = rod(f"{side}3", 0.4, 0.2, place='pos="0.25 0 0" euler="0.4 0.3 0.5"')
    inner = rod(f"{side}2", 0.6, 0.25, inner, ['axis="0 1 0"'], 'pos="0.3 0 0" euler="0.2 -0.5 0.3"')
    inner = rod(f"{side}1", 0.9, 0.3, inner, ['axis="1 0 0"', 'axis="0 0 1"'], 'pos="0.1 0.05 0"')
    return rod(side, 1.1, 0.1, inner, place=place)


WELDS = {
    "as at rest": '<weld body1="left3" body2="right3"/>',
    "at a point": '<weld body1="left3" body2="right3" anchor="0.1 0.02 0.03"/>',
    "at a pose": '<weld body1="left3" body2="right3" relpose="0.4 0.05 0.02 0.2 0.5 -0.1 0.6" anchor="0.1 0 0.03"/>',
    "of sites": '<weld site1="left3_end" site2="right3_end"/>',
    "without torque": '<weld body1="left3" body2="right3" relpose="0.4 0.05 0.02 1 0 0 0" torquescale="0"/>',
    "to the world": '<weld body1="left3"/><connect body1="right3" anchor="0.2 0 0.1"/>',
    "from the world": '<weld body1="world" body2="left3"/><connect site1="stand" site2="right3_end"/>',
}


@pytest.mark.parametrize("case", WELDS)
def test_welds_of_arms(tmp_path, case):
    """Two arms of five joints that hold each other, or the world: at random frames, so no row is zero by itself."""
    arms = reach("left", 'pos="0.1 0 0"') + reach("right", 'pos="0.5 0.1 0.1" euler="0.3 0.2 2.1"')
    text = mjcf(arms + '<site name="stand" pos="0.45 0.5 0.1"/>', WELDS[case])
    report, off = compared(tmp_path / "arms.xml", text)
    assert off < 1e-9
    assert [closure.to for closure in report.arm.closures].count("base") == 2 * ("world" in case)


def test_loops_on_links_that_bend(tmp_path):
    """Ends at the tip, within, and beside a beam that is straight at rest, beside the same file with stiff beams."""
    tie = '<connect body1="coupler" body2="rocker" anchor="0.7 0.02 0"/>'
    path = tmp_path / "four.xml"
    path.write_text(mjcf(four_bar(), tie))
    beam = {"EI": 3e8, "modes": {"y": 1}, "to": [0.7, 0.0, 0.0], "mass": 2.3}
    arm = fa.from_mjcf(path, flexible={"links": {"coupler": beam, "rocker": beam | {"to": [0.6, 0, 0], "mass": 1.7}}})
    (tie,) = arm.closures
    held = {link.name: link for link in arm.links if "_point" in link.name}
    assert {tie.link, tie.to} == set(held)
    assert held[tie.link].parent == "coupler" and held[tie.link].at == 1.0
    assert held[tie.link].placement.xyz == pytest.approx([0, 0.02, 0])
    model, q = fa.Model(arm), np.zeros(len(arm.coordinates))
    assert np.abs(model.closure_gaps(q)[0]).max() < 1e-12
    q[:3] = 0.1, -0.2, 0.3
    assert model.closure_gaps(q)[0] == pytest.approx(fa.Model(fa.from_mjcf(path)).closure_gaps(q[:3])[0], abs=1e-12)


@pytest.mark.parametrize("y", ["0.02", "0"])
def test_hinges_on_links_that_bend(tmp_path, y):
    """The frame of a hinge is turned on its link, so it is that of a link without mass, also at the tip."""
    path = written(tmp_path / "four.sdf", sdf(SDF_PINS["revolute"].replace("0.7 0.02 0", f"0.7 {y} 0")))
    rigid = fa.from_sdf(path, tip="coupler")
    beam = {"EI": 30.0, "modes": {"y": 1}, "to": [0.7, 0.0, 0.0]}
    with pytest.warns(fa.NotUnderstood):
        arm = fa.from_sdf(path, tip="coupler", flexible={"links": {"coupler": beam}})
    q = np.array([0.1, -0.2, 0.3])
    found, expected = fa.Model(arm).closure_gaps([*q, 0.0])[0], fa.Model(rigid).closure_gaps(q)[0]
    assert found == pytest.approx(expected, abs=1e-12) and arm.closures[0].link == "pin_point"


def test_a_ball_at_a_station_of_a_beam_needs_no_further_link(tmp_path):
    path = tmp_path / "four.xml"
    path.write_text(mjcf(four_bar(), '<connect site1="coupler_end" site2="rocker_end"/>'))
    beam = {"EI": 30.0, "modes": {"y": 1}, "to": [0.7, 0.0, 0.0]}
    with pytest.warns(fa.NotUnderstood):
        arm = fa.from_mjcf(path, flexible={"links": {"coupler": beam}})
    (tie,) = arm.closures
    assert (tie.link, tie.at, len(arm.links)) == ("coupler", 1.0, 3)


REFUSED = {
    '<connect body1="crank" body2="gone" anchor="0 0 0"/>': "MuJoCo rejects the file: .*'gone'",
    '<connect site1="stand" site2="bolt"/>': "line .*: closes a loop that no joint can close: 'world' and 'post' are "
    r"parts of link 'base', and the gap is 0\.1 m; unlock a joint between them",
    '<weld site1="crank_end" site2="crank_plate"/>': r"closes a .* 'crank' and 'plate' are parts of link 'crank'.*0\.3 m;",
}


@pytest.mark.parametrize("tie", REFUSED)
def test_loops_that_cannot_be_closed_are_refused_in_one_line(tmp_path, tie):
    mass = '<inertial pos="0 0 0" mass="0.1" diaginertia="1e-3 1e-3 1e-3"/>'
    crank = rod("crank", 1.1, 0.3, f'<body name="plate">{mass}<site name="crank_plate"/></body>')
    still = f'<site name="stand"/><body name="post" pos="0.1 0 0"><site name="bolt"/></body>{crank}'
    assert re.search(REFUSED[tie], refusal(fa.from_mjcf, tmp_path / "a.xml", mjcf(still, tie)))


def test_locked_joints_open_or_close_a_loop(tmp_path):
    path = tmp_path / "four.xml"
    path.write_text(mjcf(four_bar(), '<connect body1="coupler" body2="rocker" anchor="0.7 0.02 0"/>'))
    still = dict.fromkeys(("crank_0", "coupler_0", "rocker_0"), 0.0)
    with pytest.raises(
        fa.DescriptionError, match="no joint can close: 'coupler' and 'rocker' are parts of link 'base'"
    ):
        fa.from_mjcf(path, locked=still | {"crank_0": 0.3})
    report = fa.robot_report(path, locked=still | {"crank_0": 0.0}, tip="coupler")
    assert not report.arm.closures
    assert any("a loop that is always closed, since 'coupler' and 'rocker' are parts of" in x for x in report.notes)


def test_loops_of_a_free_base(tmp_path):
    """Two legs that a weld joins are a loop of the robot. A tether to the world is not part of it, which is listed."""
    legs = reach("left", 'pos="0.1 0 0"') + reach("right", 'pos="0.5 0.1 0.1" euler="0.3 0.2 2.1"')
    inertia = '<inertial pos="0 0 0" mass="3" diaginertia="0.1 0.2 0.25"/>'
    text = mjcf(
        f'<body name="trunk" pos="0 0 1"><freejoint/>{inertia}{legs}<site name="top" pos="0 0 0.2"/></body>'
        f'<body name="ball" pos="4 0 0"><freejoint/>{inertia}</body>',
        '<weld body1="left3" body2="right3"/><connect site1="left1_end" site2="top"/>'
        '<connect body1="left2" body2="ball" anchor="0 0 0"/><connect body1="left2" anchor="0 0 0"/>',
    )
    path = tmp_path / "walker.xml"
    path.write_text(text)
    report = fa.robot_report(path)
    arm = report.arm
    assert arm.free and [(x.joint, x.link, x.to) for x in arm.closures] == [
        ("fixed", "left3", "right3"),
        ("ball", "left1", "base"),
    ]
    assert arm.closures[1].place.xyz == (0, 0, 0.2)
    said = "a joint that closes a loop on {!r}, which is not part of the arm; it is ignored"
    assert [any(said.format(name) in line for line in report.not_understood) for name in ("ball", "world")] == [
        True,
        True,
    ]
    q = np.zeros(len(arm.coordinates))
    q[3] = 1.0
    gaps = fa.Model(arm).closure_gaps(q)[0]
    assert np.abs(gaps[:6]).max() < 1e-12 < np.abs(gaps[6:]).max()


def test_loops_are_kept_where_mujoco_rejects_another_part(tmp_path):
    path, arms = tmp_path / "four.xml", []
    tie = '<connect body1="coupler" body2="rocker" anchor="0.7 0.02 0"/><joint joint1="crank_0" joint2="rocker_0" active="false"/>'
    text = mjcf(four_bar(), tie)
    for each in (text, text.replace("</mujoco>", '<keyframe><key ctrl="1 2 3"/></keyframe></mujoco>')):
        path.write_text(each)
        report = fa.robot_report(path)
        arms.append(report.arm)
    assert "MuJoCo rejects a part of the file" in report.not_understood[0]
    assert arms[0] == arms[1] and len(arms[0].closures) == 1


def test_names_of_loops_differ_from_all_others(tmp_path):
    tie = '<connect body1="coupler" body2="rocker" anchor="0.7 0.02 0"/>'
    path = tmp_path / "four.xml"
    path.write_text(mjcf(four_bar(), tie + tie + tie.replace("<connect", '<connect name="crank"')))
    arm = fa.from_mjcf(path)
    assert [each.name for each in arm.closures] == ["coupler_rocker", "coupler_rocker_", "crank_"]


@pytest.mark.parametrize("flag", ["equality", "constraint"])
def test_flags_open_the_loops(tmp_path, flag):
    path = tmp_path / "four.xml"
    more = f'<option><flag {flag}="disable"/></option>'
    path.write_text(mjcf(four_bar(), '<connect body1="coupler" body2="rocker" anchor="0.7 0.02 0"/>', more))
    report = fa.robot_report(path)
    assert not report.arm.closures and any("<connect> in <equality> is inactive" in note for note in report.notes)


def test_a_note_names_the_position_at_which_the_loops_close(tmp_path):
    """Coordinates of the arm are MuJoCo's, so the loop is closed where they are `ref`."""
    path = tmp_path / "four.xml"
    text = mjcf(four_bar('axis="0 0 1" ref="0.4"'), '<connect body1="coupler" body2="rocker" anchor="0.7 0.02 0"/>')
    path.write_text(text)
    report = fa.robot_report(path)
    assert any("the loops close at MuJoCo's qpos0" in note for note in report.notes)
    assert np.abs(fa.Model(report.arm).closure_gaps([0.4, 0.0, 0.0])[0]).max() < 1e-12
    assert not any("qpos0" in note for note in fa.robot_report(written(path, text.replace(' ref="0.4"', ""))).notes)


def written(path, text):
    path.write_text(text)
    return path


# -- the same four-bar in SDF and URDF ---------------------------------------------------------------------------------

PARTS = {"crank": (1.1, 0.3, (0, 0, 0)), "coupler": (2.3, 0.7, (0.3, 0, -0.7)), "rocker": (1.7, 0.6, (0.8, 0, 1.9))}
"""Mass, length, and place on the base or on the crank, of each bar: x, y and angle."""


BESIDE = {"crank": 0.0, "coupler": 0.0, "rocker": 0.02}
"""Place of the joint of each bar on its x axis."""


def moments(mass, length):
    moment = mass * length**2 / 12
    return {"ixx": 0.1 * moment, "iyy": moment, "izz": 0.98 * moment}


def sdf(closing):
    """The four-bar as an SDF model. The rocker's joint is beside the origin of its link."""
    text = ""
    for name, (mass, length, (x, y, angle)) in PARTS.items():
        parent = "crank" if name == "coupler" else "world"
        inertia = "".join(f"<{key}>{value}</{key}>" for key, value in moments(mass, length).items())
        relative = "crank" if name == "coupler" else "__model__"
        text += f"""<link name="{name}"><pose relative_to="{relative}">{x} {y} 0 0 0 {angle}</pose>
          <inertial><pose>{length / 2} 0.01 0 0 0 0</pose><mass>{mass}</mass><inertia>{inertia}</inertia></inertial></link>
          <joint name="{name}_joint" type="revolute"><parent>{parent}</parent><child>{name}</child>
          <axis><xyz>0 0 1</xyz></axis><pose>{BESIDE[name]} 0 0 0 0 0</pose></joint>"""
    return f'<sdf version="1.9"><model name="four">{text}{closing}</model></sdf>'


def urdf(closing):
    """The four-bar as a URDF file, in which the frames of the links are at their joints."""
    text = '<link name="ground"/>'
    for name, (mass, length, (x, y, angle)) in PARTS.items():
        parent, d = "crank" if name == "coupler" else "ground", BESIDE[name]
        x, y = x + d * np.cos(angle), y + d * np.sin(angle)
        inertia = " ".join(f'{key}="{value}"' for key, value in moments(mass, length).items())
        text += f"""<link name="{name}"><inertial><origin xyz="{length / 2 - d} 0.01 0"/><mass value="{mass}"/>
          <inertia {inertia} ixy="0" ixz="0" iyz="0"/></inertial></link>
          <joint name="{name}_joint" type="continuous"><origin xyz="{x} {y} 0" rpy="0 0 {angle}"/>
          <parent link="{parent}"/><child link="{name}"/><axis xyz="0 0 1"/></joint>"""
    return f'<robot name="four">{text}{closing}</robot>'


@pytest.fixture(scope="module")
def pinned(tmp_path_factory):
    """The pin of the four-bar at rest in the frame of the rocker, a state, and its accelerations by MuJoCo."""
    text = mjcf(
        four_bar('axis="0 0 1"', 'axis="0 0 1" pos="0.02 0 0"'),
        '<connect body1="coupler" body2="rocker" anchor="0.7 0.02 0"/>',
    )
    path = tmp_path_factory.mktemp("four") / "four.xml"
    path.write_text(text)
    report = fa.robot_report(path)
    q, qd = fa.assemble(report.arm, [0.1, -0.2, 0.1], [0.5, 0.3, 1.0])
    u = np.array([0.7, -0.4, 0.9])
    return report.arm.closures[0].place.xyz, (q, qd, u), Closed(text, report).forward_dynamics(q, qd, u)


def same(arm, pinned):
    """Return True if an arm moves as the four-bar does in MuJoCo."""
    _, (q, qd, u), expected = pinned
    model = fa.Model(arm.replace(gravity=(0.3, -9.81, 0.7)))
    assert all(np.abs(each).max() < 1e-9 for each in model.closure_gaps(q, qd))
    found = np.array(model.fixed("forward_dynamics")(q, qd, u)).ravel()
    return np.abs(found - expected).max() < 1e-9 * np.abs(expected).max()


PIN = """<joint name="pin" type="{}"><pose relative_to="coupler">0.7 0.02 0 0.3 0.2 0.1</pose>
  <parent>{}</parent><child>{}</child>{}</joint>"""
UPRIGHT = '<xyz expressed_in="coupler">0 0 1</xyz>'
SDF_PINS = {
    "revolute": PIN.format("revolute", "coupler", "rocker", f"<axis>{UPRIGHT}</axis>"),
    "continuous": PIN.format("continuous", "rocker", "coupler", f"<axis>{UPRIGHT}</axis>"),
    "ball": PIN.format("ball", "coupler", "rocker", ""),
    "universal": PIN.format(
        "universal",
        "coupler",
        "rocker",
        f'<axis>{UPRIGHT}</axis><axis2><xyz expressed_in="rocker">0.6 0.8 0</xyz></axis2>',
    ),
}


@pytest.mark.parametrize("kind", SDF_PINS)
def test_a_four_bar_of_sdf(tmp_path, kind, pinned):
    path = tmp_path / "four.sdf"
    path.write_text(sdf(SDF_PINS[kind]))
    report = fa.robot_report(path, tip="coupler")
    assert same(report.arm, pinned) and not report.not_understood
    (pin,) = report.arm.closures
    assert pin.joint == {"continuous": "revolute"}.get(kind, kind)
    assert any("joint 'pin' closes a loop" in note for note in report.notes)
    assert np.abs(fa.Model(report.arm).closure_gaps(np.zeros(3))[0]).max() < 1e-12


def pose(place):
    """The 4 x 4 matrix of x, y, z, roll, pitch, yaw."""
    X = np.eye(4)
    X[:3, :3], X[:3, 3] = Rotation.from_euler("xyz", place[3:]).as_matrix(), place[:3]
    return X


def described(X):
    return fa.Pose(xyz=X[:3, 3].tolist(), rpy=Rotation.from_matrix(X[:3, :3]).as_euler("xyz").tolist())


@pytest.mark.parametrize("kind", ["revolute", "continuous", "prismatic", "fixed", "ball", "universal"])
@pytest.mark.parametrize("parent", ["b", "world"])
def test_every_joint_of_sdf_that_closes_a_loop_beside_the_same_by_hand(tmp_path, kind, parent):
    """In space, at random places, also of the joints of the tree: the gaps are those of a closure by hand.

    The first end of a closure is never on the base. There the ends and the axes are exchanged.
    """
    rng = np.random.default_rng(5)
    places = {name: rng.uniform(-1.0, 1.0, 6).round(6) for name in ("a", "b", "c", "d", "rod")}
    offset = rng.uniform(-0.3, 0.3, 6).round(6)
    axis, other = np.array([0.6, 0.0, 0.8]), np.array([0.0, 1.0, 0.0])
    text = "".join(
        f"<link name='{name}'><pose>{point(places[name])}</pose><inertial><mass>1.3</mass></inertial></link>"
        f"<joint name='j{name}' type='revolute'><pose>{point(offset)}</pose><parent>{parent}</parent>"
        f"<child>{name}</child><axis><xyz>0.48 -0.6 0.64</xyz></axis></joint>"
        for name, parent in {"a": "world", "b": "a", "c": "world", "d": "c"}.items()
    )
    axes = "" if kind in ("ball", "fixed") else f"<axis><xyz>{point(axis)}</xyz></axis>"
    axes += f"<axis2><xyz>{point(other)}</xyz></axis2>" * (kind == "universal")
    closing = f"<joint name='rod' type='{kind}'><pose>{point(places['rod'])}</pose><parent>{parent}</parent><child>d</child>{axes}</joint>"
    path = tmp_path / "loop.sdf"
    path.write_text(f'<sdf version="1.9"><model name="loop">{text}{closing}</model></sdf>')
    with pytest.warns(fa.NotUnderstood, match="default"):
        arm = fa.from_sdf(path, tip="b")
    X = {name: pose(place) for name, place in places.items()}
    shift = np.eye(4)
    shift[:3, 3] = offset[:3]  # links turn about their origins
    J = X["d"] @ X["rod"]
    ends = [(parent, np.eye(4) if parent == "world" else X[parent] @ shift, axis), ("d", X["d"] @ shift, other)]
    if kind != "universal":
        ends = [(name, Y, axis) for name, Y, _ in ends]
    if parent == "world":
        ends = ends[::-1]
    (first, Y, along), (to, Z, along_to) = ends
    joint = "revolute" if kind == "continuous" else kind
    more = {} if kind in ("ball", "fixed") else {"axis": along} | ({"axis_to": along_to} if kind == "universal" else {})
    more |= {"at": described(np.linalg.inv(Y) @ J), "place": described(np.linalg.inv(Z) @ J)}
    hand = fa.Closure(name="rod", link=first, to="base" if to == "world" else to, joint=joint, **more)
    q, qd = rng.uniform(-1.0, 1.0, (2, 4))
    found, expected = (fa.Model(each).closure_gaps(q, qd) for each in (arm, arm.replace(closures=[hand])))
    assert found[0] == pytest.approx(expected[0], abs=1e-12) and found[1] == pytest.approx(expected[1], abs=1e-12)
    assert np.abs(fa.Model(arm).closure_gaps(np.zeros(4))[0]).max() < 1e-12 < np.abs(found[0]).max()


def test_the_joint_that_closes_the_loop_is_the_second_parent_of_a_link(tmp_path, pinned):
    """Wherever it is in the file, and not the joint whose link would then hang on the wrong side."""
    path, text = tmp_path / "four.sdf", sdf("")
    first, coupler, rocker = (text.index(f'<link name="{name}"') for name in PARTS)
    pin = SDF_PINS["revolute"]
    mixed = text[:first] + text[rocker : text.index("</model>")] + pin + text[first:rocker] + "</model></sdf>"
    path.write_text(mixed)
    arm = fa.from_sdf(path, tip="coupler")
    assert arm.closures[0].name == "pin"
    order = [arm.velocities.index(f"{name}.joint") for name in PARTS]
    place, (q, qd, u), expected = pinned
    turned = tuple(np.array(each)[np.argsort(order)] for each in (q, qd, u))
    assert same(arm, (place, turned, expected[np.argsort(order)]))


def test_what_a_closure_does_not_have_is_listed(tmp_path):
    act = f"<axis>{UPRIGHT}<dynamics><damping>0.3</damping></dynamics><mimic joint='crank_joint'/></axis>"
    path = tmp_path / "four.sdf"
    path.write_text(sdf(PIN.format("revolute", "coupler", "rocker", act)))
    said = fa.robot_report(path).not_understood
    assert len(said) == 2 and "<dynamics> of a <joint> that closes a loop; it is ignored" in said[0]
    assert "a drive or <mimic> of a <joint> that closes a loop; it is ignored" in said[1]


def test_a_floating_ring_of_sdf(tmp_path):
    """Four links, each the child of another: the first is the free base, and the last joint ends on it."""
    path = tmp_path / "ring.sdf"
    links = "".join(
        f"<link name='l{i}'><pose>{x} {y} 0.2 0 0 {0.3 * i}</pose><inertial><mass>{1.1 + i}</mass></inertial></link>"
        for i, (x, y) in enumerate([(0, 0), (0.3, 0.1), (0.4, 0.5), (-0.1, 0.4)])
    )
    joints = "".join(
        f"<joint name='j{i}' type='revolute'><parent>l{i}</parent><child>l{(i + 1) % 4}</child>"
        "<axis><xyz>0 0 1</xyz></axis></joint>"
        for i in range(4)
    )
    path.write_text(f'<sdf version="1.9"><model name="ring">{links}{joints}</model></sdf>')
    with pytest.warns(fa.NotUnderstood):
        arm = fa.from_sdf(path)
    (ring,) = arm.closures
    assert arm.free and (ring.name, ring.link, ring.to) == ("j3", "l3", "base")
    q = np.zeros(10)
    q[3] = 1.0
    model = fa.Model(arm)
    assert np.abs(model.closure_gaps(q)[0]).max() < 1e-12
    assert fa.assemble(arm, q) == pytest.approx(q, abs=1e-9)


DRAKE = {
    "sdf": """<drake:ball_constraint><drake:ball_constraint_body_A>coupler</drake:ball_constraint_body_A>
      <drake:ball_constraint_body_B>rocker</drake:ball_constraint_body_B>
      <drake:ball_constraint_p_AP>0.7 0.02 0</drake:ball_constraint_p_AP>
      <drake:ball_constraint_p_BQ>{}</drake:ball_constraint_p_BQ></drake:ball_constraint>""",
    "urdf": """<drake:ball_constraint><drake:ball_constraint_body_A name="coupler"/>
      <drake:ball_constraint_body_B name="rocker"/><drake:ball_constraint_p_AP value="0.7 0.02 0"/>
      <drake:ball_constraint_p_BQ value="{}"/></drake:ball_constraint>""",
}


def test_ball_constraints_of_drake_in_sdf(tmp_path, pinned):
    path = tmp_path / "four.sdf"
    x, y, z = pinned[0]
    path.write_text(sdf(DRAKE["sdf"].format(f"{x + BESIDE['rocker']} {y} {z}")))
    report = fa.robot_report(path, tip="coupler")
    assert same(report.arm, pinned) and not report.not_understood
    assert report.arm.closures[0].name == "coupler_rocker"


def urdf_pins(place):
    """Elements that close the four-bar at a place of the rocker; the frames are turned, and the axis stays upright."""
    ends = f'<link1 link="coupler" xyz="0.7 0.02 0" rpy="0 1.1 0.3"/><link{{}} link="rocker" xyz="{point(place)}"'
    upright = ' rpy="0 1.1 -2.2"/><axis xyz="-0.8912073600614354 0 0.4535961214255773"/></loop_joint>'
    sdf_joint = "<gazebo><joint name='pin' type='{}'><parent>coupler</parent><child>rocker</child>{}</joint></gazebo>"
    pose = f"<pose>{point(place)} 0 1.1 0.2</pose>"
    return {
        "Isaac Sim": f'<loop_joint name="pin" type="spherical">{ends.format(1)}/></loop_joint>',
        "Drake of old": f'<loop_joint name="pin" type="continuous">{ends.format(2)}{upright}',
        "Drake": DRAKE["urdf"].format(point(place)),
        "Gazebo": sdf_joint.format(
            "revolute", pose + "<axis><xyz>-0.8912073600614354 0 0.4535961214255773</xyz></axis>"
        ),
        "Gazebo of old": sdf_joint.format(
            "revolute", pose + "<axis><xyz>0 0 2</xyz><use_parent_model_frame>1</use_parent_model_frame></axis>"
        ),
        "Gazebo of today": sdf_joint.format(
            "revolute",
            pose + '<axis><xyz expressed_in="coupler">0 0 1</xyz><dynamics><damping>0</damping></dynamics></axis>',
        ),
        "Gazebo's ball": sdf_joint.format("ball", pose),
    }


@pytest.mark.parametrize("source", urdf_pins((0, 0, 0)))
def test_a_four_bar_of_urdf(tmp_path, source, pinned):
    path = tmp_path / "four.urdf"
    path.write_text(urdf(urdf_pins(pinned[0])[source]))
    report = fa.robot_report(path, tip="coupler")
    assert same(report.arm, pinned) and not report.not_understood
    (pin,) = report.arm.closures
    ball = source in ("Isaac Sim", "Drake", "Gazebo's ball")
    assert (pin.link, pin.to, pin.joint) == ("coupler", "rocker", "ball" if ball else "revolute")


def test_a_loop_that_is_open_at_rest_loads_and_closes(tmp_path):
    """Isaac Sim's elements name both frames, so the file need not be assembled where its coordinates are zero."""
    path = tmp_path / "four.urdf"
    path.write_text(urdf(urdf_pins((0.55, 0.0, 0.0))["Isaac Sim"]))
    arm = fa.from_urdf(path, tip="coupler", gravity=(0.3, -9.81, 0.7))
    model = fa.Model(arm)
    assert np.abs(model.closure_gaps(np.zeros(3))[0]).max() > 0.02
    assert np.abs(model.closure_gaps(fa.assemble(arm, np.zeros(3)))[0]).max() < 1e-12
    run = fa.simulate(model, until=0.5, rtol=1e-9, progress=False)
    assert np.abs(model.closure_gaps(run.q.values[-1])[0]).max() < 1e-12 and run.attrs["energy_drift"] < 1e-7


def test_other_joints_of_urdf(tmp_path):
    """A clamp and a slide on the base, whose frames are those of the file."""
    ends = '<link1 link="rocker" xyz="0.1 0.2 0.3" rpy="0.4 0.5 0.6"/><link2 link="ground" xyz="1 2 3"/>'
    path = tmp_path / "four.urdf"
    text = "".join(
        f'<loop_joint name="{kind}" type="{kind}">{ends}<axis xyz="0 3 4"/></loop_joint>'
        for kind in ("fixed", "prismatic")
    )
    path.write_text(urdf(text))
    expected = {"link": "rocker", "at": fa.Pose(xyz=(0.1, 0.2, 0.3), rpy=(0.4, 0.5, 0.6)), "place": (1, 2, 3)}
    assert fa.from_urdf(path).closures == (
        fa.Closure(name="fixed", joint="fixed", **expected),
        fa.Closure(name="prismatic", joint="prismatic", axis=(0, 0.6, 0.8), **expected),
    )


def test_what_is_listed_of_gazebos_joints(tmp_path, pinned):
    path = tmp_path / "four.urdf"
    pin = urdf_pins(pinned[0])["Gazebo of today"].replace("<damping>0<", "<damping>0.3<")
    path.write_text(urdf(pin.replace("</gazebo>", "<plugin/></gazebo>")))
    said = fa.robot_report(path).not_understood
    assert len(said) == 2 and "<dynamics> of a <joint> that closes a loop; it is ignored" in said[0]
    assert "<gazebo> in <robot>" in said[1]


LOOP = '<loop_joint name="pin" type="{}">{}</loop_joint>'
GAZEBO = "<gazebo><joint name='pin' type='{}'>{}</joint></gazebo>"
ENDS = '<link1 link="coupler"/><link2 link="rocker"/>'
NAMES = "<parent>coupler</parent><child>rocker</child>"
WRONG_PINS = {
    "one end": (LOOP.format("ball", '<link1 link="crank"/>'), "loop_joint 'pin': must have one <link1> and one <link2>"),
    "no link": (LOOP.format("ball", '<link1/><link2 link="rocker"/>'), "loop_joint 'pin': has no <link1>"),
    "an unknown link": (
        LOOP.format("ball", ENDS.replace("rocker", "roker")),
        "loop_joint 'pin': <link2> names the unknown link 'roker'; did you mean 'rocker'?",
    ),
    "no type": ("<loop_joint>" + ENDS + "</loop_joint>", "loop_joint '': type is missing; it must be spherical, ball, "),
    "a type": (LOOP.format("sperical", ENDS), "loop_joint 'pin': type is 'sperical'; did you mean 'spherical'?"),
    "a short place": (LOOP.format("ball", ENDS.replace("/>", ' xyz="1 2"/>', 1)), "<link1> xyz is '1 2'; it must be three numbers"),
    "no axis": (LOOP.format("revolute", ENDS + '<axis xyz="0 0 0"/>'), "<axis> is zero; it must have a direction"),
    "one link twice": (LOOP.format("ball", ENDS.replace("rocker", "coupler")), "closes a loop from link 'coupler' to itself"),
    "Drake's body": (DRAKE["urdf"].replace('"rocker"', '"roker"'), "body_B> names the unknown link 'roker'; did you mean 'rocker'?"),
    "Drake's point": (DRAKE["urdf"].replace("value", "xyz"), "has no <drake:ball_constraint_p_AP value=...>"),
    "Gazebo's parent": (GAZEBO.format("ball", "<child>rocker</child>"), "joint 'pin' in <gazebo>: has no <parent>"),
    "Gazebo's type": (GAZEBO.format("screw", NAMES), "joint 'pin' in <gazebo>: type is 'screw'; it must be "),
    "Gazebo's axis": (GAZEBO.format("revolute", NAMES), "joint 'pin' in <gazebo>: has no <axis> with <xyz>"),
    "a zero axis": (GAZEBO.format("revolute", NAMES + "<axis><xyz>0 0 0</xyz></axis>"), "<xyz> is zero; it must have a direction"),
    "another frame": (
        GAZEBO.format("revolute", NAMES + "<axis><xyz expressed_in='crnk'>0 0 1</xyz></axis>"),
        "expressed_in names the unknown link 'crnk'; did you mean 'crank'?",
    ),
    "Gazebo's pose": (GAZEBO.format("ball", NAMES + "<pose>1 2 3</pose>"), "<pose> has 3 numbers; it must have 6"),
    "a frame of the pose": (GAZEBO.format("ball", NAMES + "<pose relative_to='crank'>1 2 3 0 0 0</pose>"), "<pose> has attributes"),
    "a word": (GAZEBO.format("ball", NAMES + "<pose>1 2 z 0 0 0</pose>"), "<pose> is 'z'; it must be a finite number"),
}  # fmt: skip


STILL = {  # type, place and angles of the second end on the same link, and what keeps it open
    "a ball": ("ball", "0 0 0", "0.3 0.2 0.1", ""),
    "a ball apart": ("ball", "0 0 0.2", "0 0 0", "the gap is 0.2 m"),
    "a hinge": ("revolute", "0 0 0", "0.3 0 0", ""),
    "a turned hinge": ("revolute", "0 0 0", "0 0.3 0", "its frames are turned"),
    "a slide": ("prismatic", "0.4 0 0", "0 0 0", ""),
    "a slide apart": ("prismatic", "0.4 0.1 0", "0 0 0", "the gap is 0.1 m"),
    "a turned slide": ("prismatic", "0.4 0 0", "0.2 0 0", "its frames are turned"),
    "a clamp": ("fixed", "0 0 0", "0 0 0", ""),
    "a turned clamp": ("fixed", "0 0 0", "0 0 0.1", "its frames are turned"),
}


@pytest.mark.parametrize("case", STILL)
def test_loops_within_one_link(tmp_path, case):
    """A loop that is always closed is left out, with a note. Any other is refused."""
    kind, xyz, angles, said = STILL[case]
    plate = '<link name="plate"/><joint name="on" type="fixed"><parent link="coupler"/><child link="plate"/></joint>'
    ends = f'<link1 link="coupler"/><link2 link="plate" xyz="{xyz}" rpy="{angles}"/>'
    text = urdf(plate + LOOP.format(kind, ends))
    path = tmp_path / "four.urdf"
    if said:
        line = refusal(fa.from_urdf, path, text, tip="rocker")
        assert line.endswith(
            f"'coupler' and 'plate' are parts of link 'coupler', and {said}; unlock a joint between them"
        )
    else:
        report = fa.robot_report(written(path, text), tip="rocker")
        assert not report.arm.closures and not report.not_understood
        assert any("a loop that is always closed" in note for note in report.notes)


def test_a_universal_joint_within_one_link(tmp_path):
    """It is closed at rest, where its axes are perpendicular."""
    plate = '<link name="plate"><pose relative_to="coupler"/></link>'
    plate += '<joint name="on" type="fixed"><parent>coupler</parent><child>plate</child></joint>'
    pin = SDF_PINS["universal"].replace("<child>rocker", "<child>plate")
    report = fa.robot_report(written(tmp_path / "four.sdf", sdf(plate + pin)), tip="rocker")
    assert not report.arm.closures and any("a loop that is always closed" in note for note in report.notes)


@pytest.mark.parametrize("case", WRONG_PINS)
def test_wrong_loops_of_urdf_are_refused_in_one_line(tmp_path, case):
    text, said = WRONG_PINS[case]
    line = refusal(fa.from_urdf, tmp_path / "four.urdf", urdf(text.replace("{}", "1 0 0")))
    assert line.startswith("line ") and said in line


# -- written for MuJoCo and read again ---------------------------------------------------------------------------------


def circle(joint, **more):
    """Two arms of two links each in space, and a closure between a pose on one and the tip of the other."""

    def bar(name, parent, axis, **place):
        body = fa.Rigid(length=0.4, mass=1.3, com=(0.2, 0.01, 0), inertia=(0.02, 0.03, 0.035))
        return fa.Link(name=name, parent=parent, joint=fa.Revolute(axis=axis), body=body, **place)

    right = fa.Pose(xyz=(0.5, 0.2, 0.1), rpy=(0.2, 0.3, 1.9))
    bars = [
        bar("a", "base", (0, 0, 1)),
        bar("b", "a", (0, 1, 0)),
        bar("c", "base", (0.6, 0, 0.8), placement=right),
        bar("d", "c", (0, 1, 0)),
    ]
    tie = fa.Closure(name="tie", link="b", at=fa.Pose(xyz=(0.3, 0.1, 0), rpy=(0.3, -0.2, 0.4)), joint=joint, **more)
    return fa.Arm(name="circle", links=bars, tip="d", closures=[tie], gravity=(0.3, -9.81, 0.7))


@pytest.mark.parametrize(
    ("joint", "more"),
    [
        ("ball", {"to": "d"}),
        ("ball", {"place": (0.4, 0.3, 0.2)}),
        ("fixed", {"to": "d", "place": 0.5}),
        ("revolute", {"to": "d", "axis": (0, 0.6, 0.8), "axis_to": (1, 0, 0)}),
    ],
)
def test_closures_are_written_for_mujoco_and_read_again(tmp_path, joint, more):
    arm = circle(joint, **more)
    path = fa.export_mjcf(fa.Model(arm), tmp_path / "circle.xml")
    report = fa.robot_report(path, tip="d")
    again, rng = report.arm, np.random.default_rng(4)
    q, qd = rng.uniform(-1.0, 1.0, (2, 4))
    J = [closures.jacobian(fa.Model(each), q) for each in (arm, again)]
    assert {"ball": 3, "fixed": 6, "revolute": 6}[joint] == len(J[1])
    rank = np.linalg.matrix_rank(J[0], 1e-9)
    gaps = [fa.Model(each).closure_gaps(q, qd)[0] for each in (arm, again)]
    if joint == "revolute":  # two points on the axis
        tie = arm.closures[0]
        tip = tie.replace(
            name="tip",
            joint="ball",
            at=fa.Pose(xyz=(tie.at.xyz + 0.1 * tie.at.rotation @ tie.axis).tolist(), rpy=tie.at.rpy),
            place=fa.Pose(xyz=(0.4 + 0.1 * tie.axis_to[0], *(0.1 * np.array(tie.axis_to[1:])))),
            axis_to=None,
        )
        hand = arm.replace(closures=[tie.replace(joint="ball", axis_to=None), tip])
        assert gaps[1] == pytest.approx(fa.Model(hand).closure_gaps(q)[0], abs=1e-12)
    else:
        assert np.linalg.matrix_rank(np.vstack(J), 1e-9) == rank and gaps[0] == pytest.approx(gaps[1], abs=1e-12)
    u = rng.uniform(-1.0, 1.0, 4)
    free = [np.array(fa.Model(each.replace(closures=())).fixed("forward_dynamics")(q, qd, u)) for each in (arm, again)]
    assert free[0] == pytest.approx(free[1], rel=1e-9)


def test_a_hinge_that_is_written_moves_as_a_hinge(tmp_path):
    """The flexible coupler of a four-bar is hinges and springs there, and so is the equivalent itself."""
    path = tmp_path / "four.sdf"
    path.write_text(sdf(SDF_PINS["revolute"]))
    beam = {"EI": 40.0, "modes": {"y": 2}, "to": [0.7, 0.0, 0.0], "polar_inertia": 0.002}
    with pytest.warns(fa.NotUnderstood, match="is a beam that differs"):
        arm = fa.from_sdf(path, tip="coupler", flexible={"links": {"coupler": beam}})
    equivalent = lumped(arm, 3)
    n = len(equivalent.arm.coordinates)
    text = mjcf_text(arm, 3)
    written_again = fa.robot_report(written(tmp_path / "four.xml", text))
    again, rng = written_again.arm, np.random.default_rng(6)
    q, qd = fa.assemble(equivalent.arm, np.zeros(n), rng.uniform(-1.0, 1.0, n))
    order = [equivalent.arm.coordinates.index(name) for name in again.coordinates]
    u = rng.uniform(-1.0, 1.0, n)
    expected = np.array(equivalent.model.fixed("forward_dynamics")(q, qd, u)).ravel()[order]
    found = np.array(fa.Model(again).fixed("forward_dynamics")(q[order], qd[order], u[order])).ravel()
    assert found == pytest.approx(expected, abs=1e-9 * np.abs(expected).max())
    theirs = Closed(text, written_again).forward_dynamics(q[order], qd[order], u[order])
    assert found == pytest.approx(theirs, abs=1e-9 * np.abs(theirs).max())


def test_closures_that_mujoco_does_not_have_are_refused(tmp_path):
    for joint in ("prismatic", "planar"):
        with pytest.raises(
            fa.DescriptionError, match=f"'tie'.* is '{joint}'; MuJoCo's constraints are ball, fixed or rev"
        ):
            fa.export_mjcf(fa.Model(circle(joint, to="d")), tmp_path / "a.xml")


def test_ends_on_beams_are_on_their_segments(tmp_path):
    """With straight beams the gaps of the equivalent are those of the arm."""
    beam = fa.Beam(length=0.7, mass_per_length=0.8, EI=15.0, modes={"y": 1})
    first, second = (fa.Link(name=name, parent="base", joint=fa.Revolute(), body=beam) for name in ("a", "b"))
    second = second.replace(placement=fa.Pose(xyz=(0.3, 0.5, 0.0)))
    tie = fa.Closure(name="tie", link="a", at=0.4, to="b", place=0.85, joint="ball")
    arm = fa.Arm(name="ties", links=[first, second], closures=[tie])
    q, equivalent = [0.4, -0.7, 0.0, 0.0], lumped(arm, 3)
    found = equivalent.model.closure_gaps(equivalent.start(q))[0]
    assert found == pytest.approx(fa.Model(arm).closure_gaps(q)[0], abs=1e-12)
    assert (equivalent.arm.closures[0].link, equivalent.arm.closures[0].to) == ("a_1y", "b_3y")
    assert "natural frequencies, drives held, loops open" in equivalent.statement[1]


def test_mujoco_itself_runs_what_is_written(tmp_path):
    """Its constraint is soft: after 0.3 s at steps of 1 ms the angles agree to 1e-2 rad, and the gap is small."""
    path = written(tmp_path / "four.sdf", sdf(SDF_PINS["revolute"]))
    arm = fa.from_sdf(path, tip="coupler", gravity=(0.3, -9.81, 0.7))
    run = fa.simulate(arm, until=0.3, q0=np.zeros(3), progress=False)
    model = mj.MjModel.from_xml_path(str(fa.export_mjcf(fa.Model(arm), tmp_path / "four.xml")))
    data = mj.MjData(model)
    for _ in range(300):
        mj.mj_step(model, data)
    assert np.abs(run.q.values[-1]).max() > 0.3
    assert data.qpos == pytest.approx(run.q.values[-1], abs=1e-2)
    assert np.abs(data.efc_pos).max() < 1e-4


def test_a_closure_on_a_link_without_mass_is_not_written(tmp_path):
    arm = circle("ball", to="d")
    hub = fa.Link(name="hub", parent="base", joint=fa.Revolute(axis=(1, 0, 0)), body=fa.Frame(length=0.0))
    first = arm.links[0].replace(parent="hub")
    tie = arm.closures[0].replace(to="hub", place=None)
    arm = arm.replace(links=[hub, first, *arm.links[1:]], closures=[tie])
    with pytest.raises(fa.DescriptionError, match="closure 'tie' is on link 'hub', which has no mass and no body"):
        fa.export_mjcf(fa.Model(arm), tmp_path / "a.xml")
