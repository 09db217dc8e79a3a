"""Arms from SDF files: compared with MuJoCo after an independent conversion, with closed forms, and their messages."""

# ruff: noqa: E501  (files of one line)

import re

import numpy as np
import pytest
from command_line import caller
from mjcf_mujoco import frictionless
from robot_files import state
from sdf_mujoco import inertial, random_sdf, theirs

import flexarm as fa

pytest.importorskip("mujoco")
CLOSE = 1e-12  # relative to the largest entry; measured 8e-15


def close(actual, expected, tolerance=CLOSE):
    expected = np.asarray(expected)
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance * max(1.0, np.abs(expected).max()))


def quantity(model, name, *arguments):
    """By CasADi's own interpreter: nothing is compiled."""
    found = np.array(model.function(name)(*arguments))
    return found if name == "tip" else found.squeeze(axis=1)


def written(folder, text, name="robot.sdf"):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def compared(path, tip="tool", seed=4):
    """The report of a file whose accelerations and whose tip are MuJoCo's."""
    report = fa.robot_report(path, tip=tip)
    other, model = theirs(path, report), fa.Model(frictionless(report.arm))
    q, qd, u = state(report.arm, seed)
    close(quantity(model, "forward_dynamics", q, qd, u), other.forward_dynamics(q, qd, u))
    close(quantity(model, "tip", q), other.frame(tip), 1e-13)
    return report


# -- poses, frames and axes --------------------------------------------------------------------------------------------

RNG = np.random.default_rng(34)
I1, I2, I3, I4 = (inertial(RNG) for _ in range(4))
OLD = [
    re.sub(r"<pose.*?</pose>", f"<pose>0.1 -0.2 0.{i + 1} 0.3 -0.4 1.{i}</pose>", text)
    for i, text in enumerate((I1, I2, I3, I4))
]  # poses in radians, as before version 1.9
STAND = "<joint name='stand' type='fixed'><parent>world</parent><child>base</child></joint>"


def joint(name, kind, parent, child, axis="<xyz>0.2 -0.6 0.7</xyz>", pose=""):
    inner = f"<axis>{axis}</axis>" if kind != "fixed" else ""
    return f"<joint name='{name}' type='{kind}'>{pose}<parent>{parent}</parent><child>{child}</child>{inner}</joint>"


def model(version, *parts, attributes="", tool="last"):
    frame = f"<frame name='tool' attached_to='{tool}'><pose>0.1 0.2 -0.3 0.5 0.6 0.7</pose></frame>" if tool else ""
    return f"<sdf version='{version}'><model name='robot'{attributes}>{''.join(parts)}{frame}</model></sdf>"


def world(version, *parts):
    return f"<sdf version='{version}'><world name='shop'>{''.join(parts)}</world></sdf>"


FILES = {
    "a joint on its parent, a link on its joint": model(
        "1.7",
        "<pose>1 2 3 0.1 0.2 0.3</pose>",
        f"<link name='base'><pose>0.1 0 0.3 0.2 0 0</pose>{OLD[0]}</link>" + STAND,
        f"<link name='last'><pose relative_to='hip'>0 0.1 -0.5 0 0.4 0</pose>{OLD[1]}</link>",
        joint("hip", "revolute", "base", "last", pose="<pose relative_to='base'>0 0 0.7 1.5 0 0.3</pose>"),
    ),
    "1.4: the axis is in the model": model(
        "1.4",
        f"<link name='base'><pose>0.1 0 0.3 0.2 0 0</pose>{OLD[0]}</link>" + STAND,
        f"<link name='mid'><pose>0.4 0.5 0.1 0.7 -0.6 0.2</pose>{OLD[1]}</link>",
        f"<link name='last'><pose>0.9 0.1 0.2 -0.7 0.6 1.2</pose>{OLD[2]}</link>",
        joint("hip", "revolute", "base", "mid", pose="<pose>0.1 -0.2 0.3 0.4 0.5 0.6</pose>"),
        joint("knee", "revolute", "mid", "last", "<xyz>1 0 0.1</xyz>", pose="<pose>-0.3 0 0.1 1 1 1</pose>"),
    ),
    "1.6: the axis is in the model or in the joint": model(
        "1.6",
        f"<link name='base'><pose>0.1 0 0.3 0.2 0 0</pose>{OLD[0]}</link>" + STAND,
        f"<link name='mid'><pose>0.4 0.5 0.1 0.7 -0.6 0.2</pose>{OLD[1]}</link>",
        f"<link name='last'><pose frame='mid'>0.9 0.1 0.2 -0.7 0.6 1.2</pose>{OLD[2]}</link>",
        joint("hip", "revolute", "base", "mid", "<xyz>0 1 0.2</xyz><use_parent_model_frame>true</use_parent_model_frame>", "<pose>0.1 -0.2 0.3 0.4 0.5 0.6</pose>"),
        joint("knee", "prismatic", "mid", "last", "<xyz>0 1 0.2</xyz><use_parent_model_frame>false</use_parent_model_frame>", "<pose>0.1 -0.2 0.3 0.4 0.5 0.6</pose>"),
    ),
    "frames on frames, as ends of joints": model(
        "1.8",
        "<frame name='c' attached_to='b'><pose relative_to='a'>0.1 0.2 0.3 0.4 0.5 0.6</pose></frame>",
        "<frame name='b' attached_to='last'><pose>0.3 0.2 0.1 -0.4 0.5 0.6</pose></frame>",
        "<frame name='a'><pose relative_to='d'>-0.3 0.2 0.1 -0.4 0.5 0.6</pose></frame>",
        f"<link name='base'>{I1}</link>" + STAND,
        f"<link name='last'><pose relative_to='a'>0.2 0 0 0 0 0.3</pose>{I2}</link>",
        "<frame name='d' attached_to='base'><pose>0 0 0.4 0 0.2 0</pose></frame>",
        joint("hip", "continuous", "d", "c"),
        tool="c",
    ),
    "axes in other frames": model(
        "1.7",
        f"<link name='base'><pose>0.1 0 0.3 0.2 0 0</pose>{OLD[0]}</link>" + STAND,
        "<frame name='f' attached_to='last'><pose>0 0 0 0.3 1 2</pose></frame>",
        f"<link name='l1'><pose>0.4 0.5 0.1 0.7 -0.6 0.2</pose>{OLD[1]}</link>",
        f"<link name='l2'><pose>0.9 0.1 0.2 -0.7 0.6 1.2</pose>{OLD[2]}</link>",
        f"<link name='last'><pose>1.2 0.1 0.4 -0.7 1.6 1.2</pose>{OLD[3]}</link>",
        joint("j1", "revolute", "base", "l1", "<xyz expressed_in='__model__'>1 2 3</xyz>"),
        joint("j2", "prismatic", "l1", "l2", "<xyz expressed_in='base'>1 -2 3</xyz>"),
        joint("j3", "revolute", "l2", "last", "<xyz expressed_in='f'>1 2 -3</xyz>", "<pose relative_to='j1'>0.1 0 0 0.4 0 1</pose>"),
    ),
    "inertial frames, degrees and quaternions": model(
        "1.9",
        f"<link name='base'>{I1}</link>" + STAND,
        "<frame name='f'><pose degrees='true'>0.1 0.2 0.3 40 -50 60</pose></frame>",
        f"<link name='last'><pose rotation_format='quat_xyzw'>0.3 0.1 0.2 0.2 -0.4 0.4 0.8</pose>{inertial(RNG, 'f')}</link>",
        joint("hip", "revolute", "base", "last", pose="<pose relative_to='f' rotation_format='quat_xyzw'>0 0 0.1 0 0.6 0 0.8</pose>"),
    ),
    "a prismatic joint beside its link, fixed links": model(
        "1.7",
        "<pose>0 0 1 0 0 1</pose>",
        f"<link name='base'>{I1}</link>" + STAND,
        f"<link name='slide'><pose>0.4 0.5 0.1 0.7 -0.6 0.2</pose>{I2}</link>",
        f"<link name='glued'><pose relative_to='slide'>0.1 0.1 0.1 1 1 1</pose>{I3}</link>",
        f"<link name='last'><pose relative_to='glued'>0.1 0.1 0.1 1 1 1</pose>{I4}</link>",
        joint("rail", "prismatic", "base", "slide", pose="<pose>0.5 -0.5 0.5 0.4 0.3 0.2</pose>"),
        joint("glue", "fixed", "slide", "glued", pose="<pose>9 9 9 0 0 0</pose>"),
        joint("hip", "revolute", "glued", "last"),
    ),
    "nested models with placement frames": model(
        "1.8",
        f"<link name='base'>{OLD[0]}</link>" + STAND,
        f"<model name='arm' placement_frame='grip' canonical_link='l2'><pose relative_to='base'>0.1 0.2 0.3 0.4 0.5 0.6</pose>"
        f"<link name='l1'><pose>0.1 0 0 0.3 0 0</pose>{OLD[1]}</link><link name='l2'><pose>0 0.4 0 0 0.3 0</pose>{OLD[2]}</link>"
        f"<frame name='grip' attached_to='l1'><pose>0.2 0.1 0 0 0 1</pose></frame>"
        f"<model name='hand'><pose relative_to='l2'>0 0 0.2 1 0 0</pose><link name='palm'>{OLD[3]}</link></model>"
        + joint("elbow", "revolute", "l1", "l2") + joint("wrist", "revolute", "l2", "hand::palm", "<xyz expressed_in='hand'>1 1 0</xyz>") + "</model>",
        joint("hip", "revolute", "base", "arm::grip", "<xyz expressed_in='arm::hand::palm'>0 1 1</xyz>"),
        tool="arm",
    ),
    "a world: gravity, a static model, joints in the world": world(
        "1.10",
        "<gravity>0.5 -1 -8</gravity>",
        "<frame name='spot'><pose>1 1 0 0 0 0.5</pose></frame>",
        "<model name='table'><static>true</static><pose relative_to='spot'>0 0 0.5 0.1 0 0</pose><link name='top'/><frame name='mark'><pose>0.1 0.2 0.3 0 0 0</pose></frame></model>",
        f"<model name='robot'><pose relative_to='table::mark'>0 0 0.1 0 0 0.2</pose><link name='base'>{I1}</link><link name='last'><pose>0.3 0 0 0 1 0</pose>{I2}</link>"
        + joint("hip", "revolute", "base", "last") + "<frame name='tool' attached_to='last'><pose>0.1 0.2 0.3 0.4 0.5 0.6</pose></frame></model>",
        joint("swing", "revolute", "table::mark", "robot::base", "<xyz>1 0 1</xyz>", "<pose relative_to='table::top'>0 0 0.1 0 0 0</pose>"),
    ),
    "springs and dampers": model(
        "1.6",
        f"<link name='base'>{OLD[0]}</link>" + STAND,
        f"<link name='mid'><pose>0.4 0.5 0.1 0.7 -0.6 0.2</pose>{OLD[1]}</link>",
        f"<link name='last'><pose>0.9 0.1 0.2 -0.7 0.6 1.2</pose>{OLD[2]}</link>",
        joint("hip", "revolute", "base", "mid", "<xyz>0 1 1</xyz><dynamics><damping>0.7</damping><friction>0.3</friction><spring_stiffness>5</spring_stiffness><spring_reference>0.4</spring_reference></dynamics>"),
        joint("rail", "prismatic", "mid", "last", "<xyz>1 1 0</xyz><dynamics><spring_stiffness>9</spring_stiffness><spring_reference>-0.2</spring_reference></dynamics>"),
    ),
    "joints that point to the base": model(
        "1.6",
        "<pose>1 2 3 0.1 0.2 0.3</pose>",
        f"<link name='last'><pose>0.4 0.5 0.1 0.7 -0.6 0.2</pose>{OLD[1]}</link>",
        f"<link name='base'><pose>0.1 0.2 0 0 0 0.4</pose>{OLD[0]}</link>",
        joint("stand", "revolute", "base", "world", "<xyz>1 1 0</xyz>", "<pose>0.4 -0.3 0.2 0 1 0</pose>"),
        joint("hip", "revolute", "last", "base", "<xyz>0 1 1</xyz>", "<pose>0.1 0.3 0.2 0 1 0</pose>"),
    ),
    "a free base with branches": model(
        "1.7",
        "<pose>1 2 3 0.1 0.2 0.3</pose>",
        f"<link name='base'><pose>0.1 0.2 0 0 0 0.4</pose>{I1}</link>",
        f"<link name='wing'><pose>0.4 0.5 0.1 0.7 -0.6 0.2</pose>{I2}</link>",
        f"<link name='last'><pose>0.9 0.1 0.2 -0.7 0.6 1.2</pose>{I3}</link>",
        joint("hip", "revolute", "base", "last", pose="<pose>0.1 0.2 0.3 0 0 0</pose>"),
        joint("flap", "revolute", "base", "wing"),
    ),
    "1.6: a joint and its link have one name": model(
        "1.6",
        f"<link name='base'>{OLD[0]}</link>" + STAND,
        f"<link name='last'><pose>0.4 0.5 0.1 0.7 -0.6 0.2</pose>{OLD[1]}</link>",
        joint("last", "revolute", "base", "last", pose="<pose>0.1 0.2 0.3 0 0 0</pose>"),
    ),
    "two arms in one world": world(
        "1.8",
        *(
            f"<model name='{name}'><pose>{x} 0 0 0 0 1</pose><link name='base'>{I1}</link><link name='last'><pose>0.2 0.3 0 1 0 0</pose>{I2}</link>"
            + STAND + joint("hip", "revolute", "base", "last") + "<frame name='tool' attached_to='last'><pose>0.1 0.2 0.3 0.4 0.5 0.6</pose></frame></model>"
            for name, x in (("left", -1), ("right", 1))
        ),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_poses_frames_and_axes_are_as_in_mujoco(name, tmp_path):
    report = compared(written(tmp_path, FILES[name]), tip="right::tool" if "two arms" in name else "tool")
    assert not report.not_understood
    assert report.arm.free == ("free base" in name)


@pytest.mark.parametrize(("seed", "balls"), [*((x, False) for x in range(8)), (3, True), (4, True)])
def test_models_at_random_are_mujocos(seed, balls, tmp_path):
    report = compared(written(tmp_path, random_sdf(seed, balls)), seed=seed)
    assert bool(report.arm.balls) == balls
    assert not report.not_understood and report.arm.free == bool(seed % 2)


def test_gravity_of_a_world_is_in_physics_up_to_1_5(tmp_path):
    body = f"<model name='robot'><link name='base'>{OLD[0]}</link><link name='last'><pose>0.2 0 0 0 1 0</pose>{OLD[1]}</link>{STAND}{joint('hip', 'revolute', 'base', 'last')}</model>"
    old = "<physics type='ode'><gravity>1 2 -3</gravity><max_step_size>0.001</max_step_size></physics>"
    for version, gravity in (("1.5", (1, 2, -3)), ("1.6", (0, 0, -9.8))):
        report = fa.robot_report(written(tmp_path, world(version, old, body)))
        assert report.arm.gravity == gravity
        assert bool(report.not_understood) == (version == "1.6")
        assert "line 1: <physics> in <world>" in report.left_out
    assert fa.from_sdf(written(tmp_path, model("1.6", body[20:-8]))).gravity == (0, 0, -9.81)
    assert fa.from_sdf(tmp_path / "robot.sdf", gravity=[0, 1, 0]).gravity == (0, 1, 0)


def test_a_pendulum_beside_its_formula(tmp_path):
    """A rod of mass m that hangs from a pivot at a distance a above its centre: (I + m a^2) qdd = -m g a sin q - d qd -
    k (q - r) + u, whatever the frames are in which the file says so."""
    m, a, I, d, k, r = 1.7, 0.6, 0.13, 0.21, 3.4, -0.3
    text = f"""<sdf version='1.7'><model name='pendulum'><pose>3 2 1 0 0 0.9</pose>
<link name='rod'><pose relative_to='pivot'>0 -0.1 0.2 0.5 0 0</pose><inertial><pose relative_to='pivot'>0 0 {-a} 0 0 0</pose><mass>{m}</mass>
<inertia><ixx>{I}</ixx><ixy>0</ixy><ixz>0</ixz><iyy>{I}</iyy><iyz>0</iyz><izz>0.01</izz></inertia></inertial></link>
<joint name='pivot' type='revolute'><pose relative_to='__model__'/><parent>world</parent><child>rod</child>
<axis><xyz>2 0 0</xyz><dynamics><damping>{d}</damping><spring_stiffness>{k}</spring_stiffness><spring_reference>{r}</spring_reference></dynamics></axis></joint>
</model></sdf>"""
    arm = fa.from_sdf(written(tmp_path, text))
    assert arm.name == "pendulum" and arm.coordinates == ("rod.joint",)
    q, qd, u = 0.7, -1.1, 0.4
    expected = (u - m * 9.81 * a * np.sin(q) - d * qd - k * (q - r)) / (I + m * a**2)
    close(quantity(fa.Model(arm), "forward_dynamics", [q], [qd], [u]), [expected])


# -- files in files ----------------------------------------------------------------------------------------------------

HAND = f"<sdf version='1.4'><model name='hand'><pose>9 9 9 1 1 1</pose><link name='palm'><pose>0.1 0.2 0 0.4 0 0</pose>{OLD[1]}</link><link name='finger'><pose>0.3 0.2 0 0 0.4 0</pose>{OLD[2]}</link>{joint('bend', 'revolute', 'palm', 'finger', pose='<pose>0.1 0 0.1 0.5 0 0</pose>')}</model></sdf>"


def holding(include, on="hand::palm", tool="hand::finger"):
    return model(
        "1.9",
        f"<link name='base'><pose>0.2 0 0 0 0 1</pose>{I1}</link>",
        STAND,
        include,
        joint("wrist", "revolute", "base", on),
        tool=tool,
    )


INCLUDED = {
    "a file": ("parts/hand.sdf", holding("<include><uri>parts/hand.sdf</uri><pose>0.1 0.2 0.3 0.4 0.5 0.6</pose></include>")),
    "its own pose": ("parts/hand.sdf", holding("<include><uri>file://parts/hand.sdf</uri></include>")),
    "a model beside the file": ("claw/model.sdf", holding("<include><uri>model://claw</uri><name>hand</name><pose relative_to='base'>0.1 0.2 0.3 0.4 0.5 0.6</pose></include>")),
    "a placement frame": ("hand.sdf", holding("<include><uri>hand.sdf</uri><placement_frame>finger</placement_frame><pose relative_to='base'>0.1 0.2 0.3 0.4 0.5 0.6</pose></include>")),
    "merged": ("hand.sdf", holding("<include merge='true'><uri>hand.sdf</uri><pose relative_to='base'>0.1 0.2 0.3 0.4 0.5 0.6</pose></include>", "palm", "finger")),
}  # fmt: skip


@pytest.mark.parametrize("name", INCLUDED)
def test_included_models_are_mujocos(name, tmp_path):
    file, text = INCLUDED[name]
    written(tmp_path, HAND, file)
    report = compared(written(tmp_path, text))
    assert not report.not_understood
    assert set(report.joints) == {"wrist", "bend" if name == "merged" else "hand::bend"}


def test_the_newest_file_of_a_model_folder_counts(tmp_path):
    config = "<model><name>claw</name><sdf version='1.4'>old.sdf</sdf><sdf version='1.10'>new.sdf</sdf><sdf version='1.9'>gone.sdf</sdf></model>"
    written(tmp_path, config, "models/claw/model.config")
    written(tmp_path, "<sdf version='1.3'/>", "models/claw/old.sdf")
    written(tmp_path, HAND, "models/claw/new.sdf")
    text = world("1.9", "<include><uri>model://claw</uri></include><include><uri>model://sun</uri></include>")
    report = fa.robot_report(written(tmp_path, text, "worlds/shop.world"))
    assert report.arm.name == "hand" and report.arm.free and list(report.joints) == ["bend"]
    assert not report.not_understood
    assert "line 1: <include> of 'model://sun': there is no such file near the file; it is left out" in report.left_out
    report = fa.robot_report(written(tmp_path, text.replace("sun", "moon"), "worlds/shop.world"))
    assert "line 1: <include> of 'model://moon': there is no such file" in report.not_understood[0]


def test_an_included_model_that_is_static_is_ground(tmp_path):
    """The arm stands on a frame of a static model; what is hinged in that model does not move."""
    written(tmp_path, HAND, "hand.sdf")
    stand = "<include><uri>hand.sdf</uri><static>true</static><pose>1 0 0 0 0.3 0</pose></include>"
    robot = f"<model name='robot'><link name='base'><pose>0 1 0 1 0 0</pose>{I1}</link><frame name='tool' attached_to='base'/></model>"
    path = written(
        tmp_path,
        world(
            "1.9",
            stand,
            robot,
            joint(
                "swing",
                "revolute",
                "hand::finger",
                "robot::base",
                "<xyz>1 1 0</xyz>",
                "<pose relative_to='hand::palm'/>",
            ),
        ),
    )
    report = compared(path)
    assert list(report.joints) == ["swing"] and not report.arm.free and not report.not_understood


# -- messages ----------------------------------------------------------------------------------------------------------


def listed(tmp_path, *parts, version="1.7", old="", new=""):
    text = model(
        version,
        f"<link name='base'>{I1}</link>",
        STAND,
        f"<link name='last'><pose>1 0 0 0 0 0</pose>{I2}</link>",
        joint("hip", "revolute", "base", "last"),
        *parts,
        tool="",
    )
    assert old in text
    return fa.robot_report(written(tmp_path, text.replace(old, new) if old else text))


LISTED = {
    "a plugin": (("<plugin name='p' filename='f'/>", "", ""), "line 1: <plugin> in <model>"),
    "no inertial": ((f"<link name='more'/>{joint('j', 'fixed', 'last', 'more')}", "", ""), "line 1: <link> without <inertial>; it has SDF's default, 1 kg and 1 kg m^2"),
    "no mass": (("", "<mass>", "<mess>1</mess><!--"), "line 1: <inertial> without <mass>, which has SDF's default"),
    "kinematic": (("", "<link name='last'>", "<link name='last'><kinematic>true</kinematic>"), "line 1: <kinematic> of <link>; it has no effect"),
    "decay": (("", "<link name='last'>", "<link name='last'><velocity_decay><linear>0.1</linear></velocity_decay>"), "line 1: <velocity_decay> of <link>; the arm has no such damping"),
    "weightless": (("", "<link name='last'>", "<link name='last'><gravity>0</gravity>"), "line 1: <gravity> of <link> is false, which is ignored: gravity acts in full"),
    "a motor": (("", "<axis>", "<physics><ode><max_force>3</max_force></ode></physics><axis>"), "line 1: a motor of <ode> in <joint>; it is ignored"),
    "mimic": (("", "</axis>", "<mimic joint='stand'><multiplier>2</multiplier></mimic></axis>"), "line 1: joint 'hip' mimics 'stand', which does not move; the joint moves independently"),
    "a wrong mimic": (("", "</axis>", "<mimic><multiplier>2</multiplier></mimic></axis>"), "line 1: joint 'hip': <mimic> must name a joint and its axis; the joint moves independently"),
    "a wrong limit": (("", "</axis>", "<limit><lower>low</lower></limit></axis>"), "line 1: joint 'hip': <lower> is 'low'; it must be a finite number; it is left out"),
    "crossed limits": (("", "</axis>", "<limit><lower>1</lower><upper>-1</upper></limit></axis>"), "line 1: joint 'hip': <limit> lower is 1.0, above upper, -1.0; the range is left out"),
    "a range without width": (
        ("", "</axis>", "<limit><lower>0</lower><upper>0</upper></limit></axis>"),
        "line 1: joint 'hip': <limit> allows only 0.0, which fixes it in Gazebo; here it moves, unless you lock it (locked)",
    ),
    "an old element": (("", "</axis>", "<use_parent_model_frame>1</use_parent_model_frame></axis>"), "line 1: <use_parent_model_frame> of a later version than 1.6; it has no effect"),
    "an old attribute": (("", "<pose>1 0 0 0 0 0</pose>", "<pose frame='hip'>1 0 0 0 0 0</pose>"), "line 1: frame of <pose> of a later version than 1.6; it has no effect"),
    "an unknown attribute": (("", "<xyz>", "<xyz colour='red'>"), "line 1: colour of <xyz> in <axis>"),
    "an unknown element": (("<rope/>", "", ""), "line 1: <rope> in <model>"),
    "a second axis": (("", "<axis>", "<axis><xyz>1 0 0</xyz></axis><axis>"), "line 1: another <axis> in <joint>; only the first is used"),
    "a ball without mass": ((f"<link name='eye'><inertial><mass>0</mass><inertia><ixx>0</ixx><iyy>0</iyy><izz>0</izz></inertia></inertial></link>{joint('j', 'ball', 'last', 'eye')}", "", ""), "line 1: joint 'j_1' moves no mass; it is fixed"),
}  # fmt: skip


@pytest.mark.parametrize("name", LISTED)
def test_what_changes_the_motion_is_listed(name, tmp_path):
    (more, old, new), said = LISTED[name]
    if new.endswith("<!--"):
        new, old = "<mess>1</mess>", "<mass>"
        text = model(
            "1.7",
            f"<link name='base'>{I1}</link>",
            STAND,
            f"<link name='last'>{I2}</link>",
            joint("hip", "revolute", "base", "last"),
            tool="",
        )
        start, _, rest = text.partition("<mass>")
        report = fa.robot_report(written(tmp_path, start + rest.partition("</mass>")[2]))
    else:
        report = listed(tmp_path, more, old=old, new=new)
    assert any(line.startswith(said) for line in report.not_understood), report.not_understood
    with pytest.warns(fa.NotUnderstood, match="robot.sdf: not understood: line 1"):
        fa.load(tmp_path / "robot.sdf")


def test_comments_with_options_of_commands_are_read(tmp_path):
    comment = "<!-- gz sim -v 4\n --record robot.sdf --->\n<!-- a --- b -->"
    text = FILES["a free base with branches"]
    plain = fa.from_sdf(written(tmp_path, text))
    assert (
        fa.from_sdf(written(tmp_path, f"{comment}<?xml version='1.0'?>{text.replace('<link', f'{comment}<link')}"))
        == plain
    )
    wrong = written(tmp_path, text.replace("<link", f"{comment}<link", 1).replace("<pose>0.9", "<pose>x"))
    with pytest.raises(fa.DescriptionError, match="line 3: <pose> is 'x'"):
        fa.from_sdf(wrong)


def test_a_joint_may_have_the_name_of_the_world_up_to_1_6(tmp_path):
    parts = (
        f"<link name='base'>{OLD[0]}</link>",
        f"<link name='last'>{OLD[1]}</link>",
        joint("hip", "revolute", "base", "last"),
    )
    path = written(tmp_path, model("1.6", *parts, STAND.replace("'stand'", "'world'")))
    assert not fa.from_sdf(path).free and list(fa.robot_report(path).joints) == ["hip"]


def test_limits_and_the_defaults_of_the_specification(tmp_path):
    limit = "<limit><lower>-1e16</lower><upper>2</upper><effort>-1</effort><velocity>inf</velocity></limit></axis>"
    report = listed(tmp_path, old="</axis>", new=limit)
    found = report.limits["last.joint"]
    assert (found.lower, found.upper, found.effort, found.velocity) == (None, 2.0, None, None)
    report = listed(
        tmp_path, old="</axis>", new="<limit><lower>-0.5</lower><effort>7</effort><velocity>3</velocity></limit></axis>"
    )
    found = report.limits["last.joint"]
    assert (found.lower, found.upper, found.effort, found.velocity) == (-0.5, None, 7.0, 3.0)
    text = model(
        "1.7",
        f"<link name='base'>{I1}</link>",
        STAND,
        "<link name='last'/>",
        joint("hip", "revolute", "base", "last", "<dynamics/>"),
        tool="",
    )
    with pytest.warns(fa.NotUnderstood):
        arm = fa.load(written(tmp_path, text))
    assert arm.links[0].body.mass == 1.0 and arm.links[0].joint.axis == (0, 0, 1)


def test_gravity_that_acts_on_no_link_is_zero(tmp_path):
    text = model(
        "1.7",
        *(f"<link name='{name}'><gravity>false</gravity>{I1}</link>" for name in ("base", "last")),
        STAND,
        joint("hip", "revolute", "base", "last"),
    )
    report = fa.robot_report(written(tmp_path, text))
    assert report.arm.gravity == (0, 0, 0) and not report.not_understood
    assert "gravity acts on no link in the file; the arm has none" in report.notes


def test_a_locked_leader_locks_its_follower(tmp_path):
    mimic = "<mimic joint='hip'><multiplier>2</multiplier><offset>0.3</offset><reference>0.1</reference></mimic>"
    more = f"<link name='tip'><pose>2 0 0 0 0 0</pose>{I3}</link>" + joint(
        "knee", "revolute", "last", "tip", f"<xyz>0 0 1</xyz>{mimic}"
    )
    listed(tmp_path, more)
    report = fa.robot_report(tmp_path / "robot.sdf", locked={"hip": 0.5})
    assert (
        not report.joints
        and f"joint 'knee' is fixed at {2 * (0.5 - 0.1) + 0.3:g}, because 'hip' is locked" in report.notes
    )


def test_a_screw_can_follow_and_axes_of_a_universal_joint_cannot(tmp_path):
    mimic = "<mimic joint='hip'><multiplier>2</multiplier></mimic>"
    tip = f"<link name='tip'><pose>2 0 0 0 0 0</pose>{I3}</link>"
    screw = joint("knee", "screw", "last", "tip", f"<xyz>0 0 1</xyz>{mimic}").replace(
        "<axis>", "<screw_thread_pitch>0.1</screw_thread_pitch><axis>"
    )
    listed(tmp_path, tip + screw)
    led = fa.robot_report(tmp_path / "robot.sdf").arm
    assert (led["tip"].joint.follows, led["tip"].joint.ratio) == ("last", 2.0)
    assert led["tip_1"].joint.follows == "tip" and len(led.coordinates) == 1
    axes = f"<axis><xyz>1 0 0</xyz>{mimic}</axis><axis2><xyz>0 1 0</xyz></axis2>"
    joined = f"<joint name='knee' type='universal'><parent>last</parent><child>tip</child>{axes}</joint>"
    listed(tmp_path, tip + joined)
    found = fa.robot_report(tmp_path / "robot.sdf")
    assert len(found.joints) == 3
    assert any("<mimic> of a joint of type 'universal'; it is ignored" in each for each in found.not_understood)


def disc(name, x, mass, J, roll=0.0):
    tensor = "".join(f"<i{axis}>{value}</i{axis}>" for axis, value in (("xx", 0.6 * J), ("yy", 0.6 * J), ("zz", J)))
    return f"<link name='{name}'><pose>{x} 0 0.1 {roll} 0 0</pose><inertial><mass>{mass}</mass><inertia>{tensor}</inertia></inertial></link>"


def gearbox(parent, child, reference, ratio, axis="0 0 2", axis2="0 0 1", name="box"):
    axes = f"<axis><xyz>{axis}</xyz></axis><axis2><xyz>{axis2}</xyz></axis2><gearbox_ratio>{ratio}</gearbox_ratio>"
    body = f"<gearbox_reference_body>{reference}</gearbox_reference_body>"
    return f"<joint name='{name}' type='gearbox'><parent>{parent}</parent><child>{child}</child>{axes}{body}</joint>"


GEARS = {
    "plain": (("case", "one", "0 0 1"), ("case", "two", "0 0 -1"), 1.0, -1.0),
    "a shaft that points down": (("case", "one", "0 0 1"), ("case", "two", "0 0 1"), 1.0, 1.0),
    "a shaft that points to the case": (("one", "case", "0 0 1"), ("case", "two", "0 0 -1"), -1.0, 1.0),
    "gears on a plate": (("plate", "one", "0 0 -1"), ("case", "two", "0 0 -1"), -1.0, 1.0),
}
"""For each arrangement: the joints of both gears, the angle of the first gear over its coordinate, and the sign of the
ratio of `fa.Gear`. The second gear is upside down."""


@pytest.mark.parametrize("name", GEARS)
def test_gearboxes_by_hand(name, tmp_path):
    """A case turns about z and carries two gears; theta_2 = -ratio theta_1, both relative to the case."""
    first, second, sign, turn = GEARS[name]
    n, (Jc, J1, J2), (m1, m2), (x1, x2) = 2.5, (0.7, 0.03, 0.11), (1.3, 2.4), (0.4, 0.95)
    joints = [
        joint(key, "revolute", *ends, f"<xyz>{axis}</xyz>", f"<pose relative_to='{gear}'/>")
        for key, gear, (*ends, axis) in (("in", "one", first), ("out", "two", second))
    ]
    text = model(
        "1.9", disc("case", 0, 3.1, Jc), disc("one", x1, m1, J1), disc("two", x2, m2, J2, roll=np.pi),
        "<link name='plate'><pose>0.2 0.1 0 0.3 0 0</pose><inertial><mass>0</mass><inertia><ixx>0</ixx><iyy>0</iyy><izz>0</izz></inertia></inertial></link>",
        joint("weld", "fixed", "case", "plate"), joint("swing", "revolute", "world", "case", "<xyz>0 0 1</xyz>"), *joints,
        gearbox("one", "two", "plate" if first[0] == "plate" else "case", n), tool="",
    )  # fmt: skip
    report = fa.robot_report(written(tmp_path, text))
    assert not report.not_understood and report.arm["two"].joint.ratio == pytest.approx(turn * n, rel=1e-15)
    assert report.arm.coordinates == ("case.joint", "one.joint")
    M = np.array([
        [Jc + m1 * x1**2 + m2 * x2**2 + J1 + J2, sign * (J1 - n * J2)], [sign * (J1 - n * J2), J1 + n**2 * J2]
    ])  # fmt: skip
    u = np.array([0.7, -0.4])
    found = quantity(fa.Model(report.arm), "forward_dynamics", [0.3, -0.8], [0.6, 1.1], u)
    close(found, np.linalg.solve(M, u))


def test_a_planet_on_a_fixed_sun_by_hand(tmp_path):
    """The case carries a planet around a sun in the world; relative to the case the sun turns by -q."""
    n, (Jc, J), m, x, u = 1.7, (0.7, 0.11), 2.4, 0.95, 0.6
    text = model(
        "1.9", disc("sun", 0, 1.2, 0.4), disc("case", 0, 3.1, Jc), disc("planet", x, m, J),
        joint("weld", "fixed", "world", "sun"), joint("swing", "revolute", "sun", "case", "<xyz>0 0 1</xyz>"),
        joint("spin", "revolute", "case", "planet", "<xyz>0 0 1</xyz>"), gearbox("sun", "planet", "case", n), tool="",
    )  # fmt: skip
    arm = fa.robot_report(written(tmp_path, text)).arm
    assert arm.coordinates == ("case.joint",)
    found = quantity(fa.Model(arm), "forward_dynamics", [0.3], [0.6], [u])
    close(found, [u / (Jc + m * x**2 + J * (1 + n) ** 2)])


def test_gearboxes_between_shafts_that_follow_others(tmp_path):
    """q_b = 2 q_a + 0.3 by <mimic>; gearboxes give q_c = -3 q_b, q_b = -0.5 q_d and q_e = -1.5 q_c."""
    mimic = "<mimic joint='ja'><multiplier>2</multiplier><offset>0.3</offset></mimic>"
    gears = [disc(x, 0.2 * (1 + i), 1.5, 0.02 * (1 + i)) for i, x in enumerate("abcde")]
    joints = [joint(f"j{x}", "continuous", "case", x, f"<xyz>0 0 1</xyz>{mimic * (x == 'b')}") for x in "abcde"]
    text = model(
        "1.9", disc("case", 0, 3.1, 0.7), *gears, joint("weld", "fixed", "world", "case"), *joints,
        gearbox("b", "c", "case", 3, name="p"), gearbox("d", "b", "case", 0.5, name="q"),
        gearbox("c", "e", "case", 1.5, name="r"), tool="",
    )  # fmt: skip
    arm = fa.robot_report(written(tmp_path, text)).arm
    assert len(arm.coordinates) == 1
    q_d = 0.8
    q_b = -0.5 * q_d
    expected = {"a": (q_b - 0.3) / 2, "b": q_b, "c": -3 * q_b, "d": q_d, "e": 4.5 * q_b}
    angles = {x: arm[x].joint for x in "abcde"}

    def angle(name):
        gear = angles[name]
        if not isinstance(gear, fa.Gear):
            return expected[name]
        return gear.ratio * angle(gear.follows) + gear.offset

    (leader,) = (x for x in "abcde" if not isinstance(angles[x], fa.Gear))
    assert {x: angle(x) for x in "abcde"} == pytest.approx(expected, rel=1e-14) and leader == "d"


def test_what_a_gearbox_does_not_have_is_listed(tmp_path):
    dynamics = "<dynamics><damping>1</damping></dynamics></axis>"
    box = gearbox("last", "tip", "base", 2.0, "0.2 -0.6 0.7").replace("</axis>", dynamics, 1)
    knee = joint("knee", "revolute", "base", "tip", "<xyz>0 0 1</xyz>")
    listed(tmp_path, f"<link name='tip'><pose>2 0 0 0 0 0</pose>{I3}</link>{knee}{box}")
    found = fa.robot_report(tmp_path / "robot.sdf", locked={"knee": 0.4})
    assert any("<dynamics> of a joint of type 'gearbox'; it is ignored" in each for each in found.not_understood)
    assert any("joint 'knee' is locked; it does not follow 'hip'" in each for each in found.not_understood)


def test_joints_beside_their_links_and_reversed_joints_are_noted(tmp_path):
    notes = fa.robot_report(written(tmp_path, FILES["joints that point to the base"])).notes
    assert "joint 'hip' carries its parent 'last'; its axis is reversed, and its coordinate is not changed" in notes
    assert (
        "joints are not at the origins of 'base', 'last'; the frames of these links are at the joints instead" in notes
    )


def test_rotors_of_drake_are_read(tmp_path):
    more = "<drake:rotor_inertia>2e-4</drake:rotor_inertia><drake:gear_ratio>70</drake:gear_ratio><axis>"
    report = listed(tmp_path, old="<axis>", new=more)
    assert not report.not_understood
    assert (report.arm.links[0].joint.rotor_inertia, report.arm.links[0].joint.gear_ratio) == (2e-4, 70.0)


def test_other_bodies_of_a_world_are_left_out(tmp_path):
    ball = f"<model name='ball'><link name='ball'>{I1}</link></model>"
    robot = FILES["a free base with branches"].partition("<model")[2].partition("</sdf>")[0]
    report = fa.robot_report(written(tmp_path, world("1.7", ball, f"<model{robot}")))
    assert report.arm.free and set(report.joints) == {"robot::hip", "robot::flap"}
    assert report.not_understood == ("line 1: link 'ball::ball' floats separately from the base; it is left out",)
    assert "link 'robot::base' is the free base; its place in the file is only an initial position" in report.notes
    assert fa.robot_report(tmp_path / "robot.sdf", base="fixed").arm.free is False


# -- links that bend, commands -----------------------------------------------------------------------------------------

BOOM = """<sdf version="1.7"><model name="boom">
<link name="hub"><inertial><mass>3</mass><inertia><ixx>0.02</ixx><iyy>0.02</iyy><izz>0.03</izz></inertia></inertial></link>
<link name="boom"><pose>0.1 0 0.2 0 0 0.4</pose><inertial><pose>0.3 0 0 0 0 0</pose><mass>2</mass>
<inertia><ixx>0.004</ixx><iyy>0.166667</iyy><izz>0.166667</izz></inertia></inertial></link>
<frame name="end" attached_to="boom"><pose>0.8 0 0 0 0 0</pose></frame>
<joint name="pan" type="continuous"><parent>world</parent><child>hub</child><axis><xyz>0 0 1</xyz></axis></joint>
<joint name="lift" type="revolute"><pose>-0.2 0 0 0 0 0</pose><parent>hub</parent><child>boom</child><axis><xyz>0 0 1</xyz></axis></joint>
</model></sdf>"""
FLEX = 'tip = "end"\n[links.boom]\nEI = 4e3\nmodes = { y = 2 }\nto = "end"\n[joints.lift]\nstiffness = 9e3\nrotor_inertia = 4e-4\n'


def test_links_bend_from_their_joint_to_a_frame(tmp_path):
    """The joint is 0.2 m before the link's origin and the end 0.8 m behind it."""
    path = written(tmp_path, BOOM)
    written(tmp_path, FLEX, "robot.flex.toml")
    arm = fa.load(path)
    assert arm.coordinates == ("hub.joint", "boom.joint", "boom.y1", "boom.y2", "boom.motor")
    boom = next(link for link in arm.links if link.name == "boom")
    assert boom.body.length == pytest.approx(1.0, rel=1e-12) and boom.body.mass == 2.0
    tip = np.array(fa.Model(arm).function("tip")(np.zeros(5)))
    close(tip[:3, 3], [0.1 + 0.8 * np.cos(0.4), 0.8 * np.sin(0.4), 0.2], 1e-14)


def test_commands_take_sdf_files(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    written(tmp_path, BOOM)
    written(tmp_path, FLEX, "robot.flex.toml")
    call = caller(monkeypatch, capsys)
    ended = call("show", "robot.sdf")
    assert ended.status == 0 and "boom.y2" in ended.out
    with pytest.raises(fa.DescriptionError, match=r"did you mean 'robot\.sdf'"):
        fa.load("robot")
    ended = call("export", "robot.sdf", "--mjcf", "arm.xml", "--segments", "2")
    assert ended.status == 0
    written(tmp_path, HAND, "hand.xml")
    written(tmp_path, holding("<include><uri>hand.xml</uri></include>"), "held.sdf")
    ended = call("export", "held.sdf", "--mjcf", "hand.xml", "--segments", "2")
    assert ended.status == 2 and "held.sdf refers to this file, so it is not overwritten" in ended.err


def test_it_holds_in_compiled_code(tmp_path):
    path = written(tmp_path, FILES["a world: gravity, a static model, joints in the world"])
    report = fa.robot_report(path)
    q, qd, u = state(report.arm, 2)
    close(fa.Model(report.arm).forward_dynamics(q, qd, u), theirs(path, report).forward_dynamics(q, qd, u))
