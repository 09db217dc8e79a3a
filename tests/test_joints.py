"""Joints that become several links: universal, ball, planar and screw."""

import numpy as np
import pytest
from controlled import refused
from scipy.spatial.transform import Rotation

import flexarm as fa

ROD = fa.Rigid(length=0.5, mass=1.3, com=(0.2, 0.03, -0.02), inertia=(0.004, 0.03, 0.02))
PLACE = fa.Pose(xyz=(0.1, 0.2, -0.1), rpy=(0.3, -0.4, 0.5))


def arm(joint, **more):
    links = [
        fa.Link(name="boom", body=fa.Rigid(length=0.4, mass=0.9)),
        fa.Link(name="hand", joint=joint, body=ROD, **more),
    ]
    return fa.Arm(name="arm", links=links, gravity=(1.0, -9.0, 3.0))


def rotation(axis, angle):
    return Rotation.from_rotvec(angle * np.array(axis)).as_matrix()


def frame(joint, q):
    """The hand in the frame of the joint, by hand: rotation and position."""
    if joint.type == "universal":
        return rotation(joint.axes[0], q[0]) @ rotation(joint.axes[1], q[1]), np.zeros(3)
    if joint.type == "ball":
        return Rotation.from_euler("XYZ", q).as_matrix(), np.zeros(3)
    if joint.type == "screw":
        return rotation(joint.axis, q[0]), np.array(joint.axis) * joint.pitch * q[0] / (2 * np.pi)
    R = rotation(joint.normal, q[2])
    slides = [np.array(axis) for _, axis in joint.motions[:2]]
    return R, slides[0] * q[0] + slides[1] * q[1]


JOINTS = (
    fa.Universal(axes=((0.6, 0.0, 0.8), (0.0, 1.0, 0.0))),
    fa.Ball(angles=True),
    fa.Planar(normal=(0.0, 0.6, 0.8)),
    fa.Screw(axis=(0.0, 0.8, 0.6), pitch=0.3),
)


@pytest.mark.parametrize("joint", JOINTS, ids=lambda joint: joint.type)
def test_frames_and_counts(joint):
    made = arm(joint, placement=PLACE)
    model = fa.Model(made)
    assert made.links[-1].name == "hand" and {link.name for link in made.links[1:-1]} <= {"hand_1", "hand_2"}
    q = np.linspace(0.3, 0.9, model.nq)
    R, p = frame(joint, q[1:])
    about, before = rotation((0, 0, 1), q[0]), PLACE.rotation
    there = about @ (np.array([0.4, 0.0, 0.0]) + PLACE.xyz + before @ (p + R @ [0.5, 0.0, 0.0]))
    assert np.array(model.fixed("tip")(q))[:3, 3] == pytest.approx(there, abs=1e-14)
    assert made.inputs == (("boom.joint",) if joint.passive else made.coordinates)
    assert fa.Arm.from_json(made.canonical()) == made


def test_the_directions_of_a_plane():
    for normal in ((0, 0, 1), (0, 1, 0), (1, 0, 0), (0.48, -0.6, 0.64)):
        (_, x), (_, y), (_, n) = fa.Planar(normal=normal).motions
        assert np.cross(x, y) == pytest.approx(np.array(n), abs=1e-15) and n == pytest.approx(normal)
    assert [axis for _, axis in fa.Planar().motions][:2] == [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0)]


def test_a_screw_by_hand():
    """A nut of mass m that falls along its axis: (I + m h^2) a = tau - m g h, with h = pitch / (2 pi)."""
    body = fa.Rigid(length=0.1, mass=1.3, com=(0.0, 0.0, 0.0), inertia=(0.02, 0.03, 0.04))
    screw = fa.Screw(axis=(1.0, 0.0, 0.0), pitch=0.5, drives=[{"damping": 0.1}])
    nut = fa.Arm(name="nut", links=[fa.Link(name="nut", joint=screw, body=body)], gravity=(-9.81, 0.0, 0.0))
    h = 0.5 / (2 * np.pi)
    expected = (0.7 - 0.1 * 2.0 - 1.3 * 9.81 * h) / (0.02 + 1.3 * h**2)
    model = fa.Model(nut)
    assert model.coordinates == ("nut.joint",)
    assert model.forward_dynamics([0.4], [2.0], [0.7]) == pytest.approx([expected], rel=1e-13)
    run = fa.simulate(nut, until=1.0, u=[0.7], progress=False)
    assert run.energy_drift < 1e-8


def test_drives_of_each_coordinate():
    joint = fa.Universal(drives=[{"damping": 0.3}, {"stiffness": 50.0, "rotor_inertia": 0.01, "passive": False}])
    made = arm(joint)
    assert made["hand_1"].joint.damping == 0.3 and made["hand"].joint.stiffness == 50.0
    assert made.inputs == ("boom.joint", "hand_1.joint", "hand.motor")
    driven = arm(fa.Ball(angles=True, passive=False))
    assert driven.inputs == driven.coordinates


def test_a_ball_joint_ends_a_run_where_its_axes_align():
    """A rod along x that falls about y: at 90 degrees the first and the third axis are parallel."""
    straight = ROD.replace(com=(0.2, 0.0, 0.0))
    joint = fa.Ball(angles=True)
    falling = fa.Arm(name="rod", links=[fa.Link(name="rod", joint=joint, body=straight)], gravity=(0.0, 0.0, -9.81))
    with pytest.raises(
        fa.SimulationError, match=r"combined motion of rod_1.joint and rod.joint, whose axes become para"
    ):
        fa.simulate(falling, until=3.0, q0=[0.0, 0.1, 0.0], progress=False)
    hung = fa.Link(name="rod", joint=joint, body=ROD, placement=fa.Pose(rpy=(0.0, np.pi / 2, 0.0)))
    run = fa.simulate(falling.replace(links=[hung]), until=2.0, q0=[0.2, 0.8, 0.3], progress=False)
    assert run.energy_drift < 1e-7


def test_what_is_refused():
    for make, said in (
        (lambda: fa.Universal(axes=[(1, 0, 0), (1, 0, 0)]), "Universal: axes are .*, which are parallel; .*"),
        (lambda: fa.Universal(axes=[(1, 0, 0)]), "Universal: axes has 1 entry; it must have two axes"),
        (lambda: fa.Screw(axis=(0, 0, 1), pitch=0.0), "Screw: pitch is 0.0 m; .*"),
        (lambda: fa.Ball(angles=True, drives=[{}]), "Ball: drives has 1 table; the joint has 3 coordinates"),
        (
            lambda: fa.Ball(angles=True, drives=[{"damping": -1}, {}, {}]),
            r"Ball: drives\[0\] is wrong: .*damping is -1.0 .*",
        ),
        (lambda: fa.Ball(drives=[{}, {}, {}]), "Ball: drives are for a joint with angles: add angles = true"),
        (lambda: fa.Ball(passive=False), "Ball: passive is false, but only a joint with angles can have motors: .*"),
        (lambda: fa.Ball(angles=True, damping=0.1), "Ball: damping is for a joint without angles; .*"),
        (lambda: fa.Ball(drives=3), "Ball: drives is 3; .*"),
    ):
        with refused(said):
            make()


@pytest.mark.parametrize(
    "joint",
    [fa.Universal(), fa.Ball(), fa.Planar(), fa.Screw(pitch=0.1), fa.Fixed(), fa.Revolute(), fa.Prismatic()],
    ids=lambda joint: joint.type,
)
def test_every_property_of_a_joint_can_be_read(joint):
    """A joint with several axes has no direction. Ball joints are drawn along z."""
    kind = type(joint)
    names = [name for name in dir(kind) if not name.startswith(("_", "model_"))]
    found = {name: getattr(joint, name) for name in names if isinstance(getattr(kind, name, None), property)}
    assert np.linalg.norm(found["direction"]) == (1.0 if joint.type in ("revolute", "prismatic", "ball") else 0.0)
