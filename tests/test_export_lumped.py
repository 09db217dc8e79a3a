"""Lumped equivalents: sums that stay, frequencies that converge, and the files for MuJoCo and Exudyn."""

import ast
import re
from functools import cache
from xml.etree import ElementTree

import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from typer.testing import CliRunner

import flexarm as fa
from flexarm.attitude import configuration, local
from flexarm.cli import app
from flexarm.exports import exudyn, mjcf
from flexarm.exports.lumped import lumped

pytestmark = pytest.mark.usefixtures("interpreted")

MATCH = 1e-9
"""Relative, of accelerations: what the inertia that MuJoCo demands of slender rods changes."""


def tapered():
    """Two links, one with a step and lumps, in two planes and twisting; a spring beside a joint, a branch on a beam."""
    table = fa.SectionTable(
        x=[0, 0.4, 0.4, 1], mass_per_length=[2.0, 1.5, 1.0, 0.8], EI={"y": [300, 200, 150, 80], "z": [200, 90, 90, 60]},
        GJ=[90, 80, 60, 50], polar_inertia=[0.01, 0.01, 0.008, 0.006],
    )  # fmt: skip
    lumps = [fa.Lump(at=0.3, mass=0.4, inertia=0.01, offset=(0.0, 0.05, 0.02)), fa.Lump(at=1.0, mass=0.1)]
    beam = fa.Beam(length=1.2, sections=table, modes={"y": 1, "z": 1, "torsion": 1}, lumps=lumps, tau=1e-3)
    beside = fa.Drive(parallel=fa.Parallel(stiffness=30.0, damping=0.1, rest=0.4))
    sliding = fa.Prismatic(axis=(0, 1, 0), stiffness=90.0, rotor_inertia=0.05, gear_ratio=2.0, spring_damping=0.3)
    geared = fa.Revolute(rotor_inertia=0.01, gear_ratio=3.0, damping=0.2, drive=beside)
    links = [
        fa.Link(name="a", joint=geared, body=beam, hub_mass=0.5),
        fa.Link(name="b", joint=sliding, placement=fa.Pose(xyz=(0.1, 0, 0), rpy=(0.3, 0.2, 0.1)),
                body=fa.Rigid(length=0.5, mass=1.0, inertia=(0.01, 0.03, 0.03)), payload=fa.Payload(mass=0.3)),
        fa.Link(name="c", joint=fa.Fixed(), parent="a", at=0.55, body=fa.Rigid(length=0.2, mass=0.5)),
        fa.Link(name="d", joint=fa.Revolute(axis=(0, 1, 0), stiffness=80.0, rotor_inertia=0.02, spring_damping=0.1),
                parent="c", body=fa.Beam(length=0.5, mass=0.4, EI=20.0, modes={"z": 2})),
    ]  # fmt: skip
    return fa.Arm(name="tapered <&> -- branched", links=links, gravity=(0.3, 0.2, -9.81), tip="b")


def state(equivalent, seed):
    """Coordinates, rates and inputs of an equivalent, none of them zero."""
    rng, arm = np.random.default_rng(seed), equivalent.arm
    n = len(arm.velocities)
    q = configuration(arm, local(arm, np.array(arm.rest)) + 0.1 * rng.normal(size=n))
    return q, 0.1 * rng.normal(size=n), rng.normal(size=len(arm.inputs))


# -- the equivalent ----------------------------------------------------------------------------------------------------


def test_straight_it_has_the_inertia_of_the_rigid_arm():
    for arm, equivalent in (
        (fa.load("canadarm"), lumped(fa.load("canadarm"), 3)),
        (tapered(), equivalent_of("tapered")),
    ):
        rigid = fa.Model(arm.rigid())
        q = 0.3 * np.arange(1, 1 + len(rigid.coordinates))
        given = dict(zip(rigid.coordinates, q, strict=True))
        mine = equivalent.arm
        straight = np.array([given.get(name, 0.0) for name in mine.coordinates])
        places = [mine.velocities.index(name) for name in rigid.velocities]
        M = equivalent.model.mass_matrix(straight)[np.ix_(places, places)]
        assert np.allclose(equivalent.model.tip(straight), rigid.tip(q), atol=1e-12)
        assert np.allclose(equivalent.model.gravity_force(straight)[places], rigid.gravity_force(q), rtol=1e-7)
        motors = [i for i, name in enumerate(rigid.velocities) if not name.endswith("motor")]
        stiff = [i for i in motors if not arm.links[arm.layout[i].link].joint.elastic]
        assert np.allclose(M[np.ix_(stiff, stiff)], rigid.mass_matrix(q)[np.ix_(stiff, stiff)], rtol=1e-7, atol=1e-9)


def test_a_moment_at_the_tip_bends_the_chain_as_the_beam():
    L, EI, moment = 1.3, 7.0, 0.4
    beam = fa.Beam(length=L, mass=1.0, EI=EI, modes={"y": 2})
    equivalent = lumped(fa.Arm(name="one", links=[fa.Link(name="a", body=beam)]), 5)
    springs = [joint.stiffness for joint in equivalent.joints[1:]]
    assert springs == pytest.approx([5 * EI / L] * 5)
    small = 1e-6  # of the moment: then the deflection is linear in it
    q = np.array([0.0, *(small * moment / k for k in springs)])
    tip = equivalent.model.tip(q)
    assert tip[1, 3] / small == pytest.approx(moment * L**2 / (2 * EI), rel=1e-9)
    assert np.arctan2(tip[1, 0], tip[0, 0]) / small == pytest.approx(moment * L / EI, rel=1e-9)


def test_hinges_of_a_beam_that_tapers_have_each_their_own_cell():
    """1 / k is the integral of 1 / EI over the cell, exact where EI is linear between the table's places."""
    x, EI = [0.0, 0.5, 1.0], [300.0, 200.0, 80.0]
    beam = fa.Beam(length=1.2, sections=fa.SectionTable(x=x, mass_per_length=[2.0, 1.5, 1.0], EI=EI), modes={"y": 1})
    first, second = lumped(fa.Arm(name="one", links=[fa.Link(name="a", body=beam)]), 2).joints[1:]
    for joint, (a, b) in ((first, EI[:2]), (second, EI[1:])):
        assert 1.0 / joint.stiffness == pytest.approx(0.6 * np.log(a / b) / (a - b), rel=1e-9)


def test_segments_share_lumps_rotary_inertia_and_what_hangs_on_them():
    lumps = [fa.Lump(at=at, mass=mass) for at, mass in ((0.0, 0.1), (0.25, 0.2), (1.0, 0.4))]
    beam = fa.Beam(
        length=2.0, mass=3.0, EI=9.0, GJ=1.0, modes={"y": 1, "torsion": 1}, lumps=lumps, polar_inertia=0.04,
        rotary_inertia={"y": 0.02, "z": 0.05},
    )  # fmt: skip
    links = [
        fa.Link(name="a", body=beam, payload=fa.Payload(mass=0.5)),
        fa.Link(name="b", at=0.74, body=fa.Rigid(length=1.0, mass=1.0)),
    ]
    equivalent = lumped(fa.Arm(name="two", links=links, tip="b"), 2)
    pieces = [joint for joint in equivalent.joints if joint.name in ("a", "a_1torsion", "a_2torsion")]
    assert [joint.mass for joint in pieces] == pytest.approx([0.75 + 0.3, 1.5, 0.75 + 0.4 + 0.5])
    assert sum(joint.inertia[0, 0] for joint in pieces) == pytest.approx(0.04 * 2.0)
    across = sum(joint.inertia[1, 1] - joint.inertia[2, 2] for joint in pieces)
    assert across == pytest.approx((0.05 - 0.02) * 2.0)
    hung = equivalent.arm.links[-1]
    assert hung.parent == "a_1torsion" and hung.at == pytest.approx((0.74 - 0.25) / 0.5)


def test_a_transmission_is_linear_as_where_it_is_not_wound():
    """The slope of its table at 0 and that of its hysteresis, beside its own; dampers add up."""
    table = [(-1.0, -5.0), (-0.1, -2.0), (0.2, 4.0), (1.0, 5.0)]
    hysteresis = fa.Hysteresis(stiffness=30.0, force=2.0)
    spring = fa.Spring(stiffness=7.0, table=table, damping=0.3, hysteresis=hysteresis)
    joint = fa.Revolute(rotor_inertia=0.1, stiffness=100.0, spring_damping=0.2, drive=fa.Drive(spring=spring))
    link = fa.Link(name="a", joint=joint, body=fa.Rigid(length=1.0, mass=1.0))
    (found,) = lumped(fa.Arm(name="one", links=[link])).joints
    assert found.transmission == pytest.approx(100.0 + 7.0 + 20.0 + 30.0)
    assert found.loss == pytest.approx(0.2 + 0.3)


def test_it_starts_where_the_arm_does():
    arm = fa.load("subudhi-morris-elastic")
    equivalent, q = lumped(arm, 2), 0.1 * np.arange(1, 1 + len(arm.coordinates))
    found = dict(zip(equivalent.arm.coordinates, equivalent.start(q), strict=True))
    given = dict(zip(arm.coordinates, q, strict=True))
    shared = {name for name in found if name in given}
    assert len(shared) == 4 and all(value == (given[name] if name in shared else 0.0) for name, value in found.items())


@pytest.mark.parametrize(("direction", "entry"), [("y", 1), ("z", 2)])
def test_a_hinge_turns_towards_the_deflection_that_names_it(direction, entry):
    beam = fa.Beam(length=1.0, mass=1.0, EI=1.0, modes={direction: 1})
    equivalent = lumped(fa.Arm(name="one", links=[fa.Link(name="a", body=beam)]), 1)
    assert equivalent.model.tip(np.array([0.0, 0.1]))[entry, 3] == pytest.approx(0.5 * np.sin(0.1))
    twisted = beam.replace(modes={"torsion": 1}, GJ=1.0, polar_inertia=0.1)
    equivalent = lumped(fa.Arm(name="one", links=[fa.Link(name="a", body=twisted)]), 1)
    assert equivalent.model.tip(np.array([0.0, 0.1]))[2, 1] == pytest.approx(np.sin(0.1))


@pytest.mark.parametrize("name", ["canadarm", "canadarm-free"])
def test_frequencies_converge_with_the_square_of_the_segments(name):
    errors = [lumped(fa.load(name), n).frequency_error for n in (2, 4)]
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.05)
    assert 0 < errors[1] < 3e-3


def test_a_clamped_beam_has_the_frequency_of_the_textbook():
    L, m, EI = 2.0, 0.7, 30.0
    beam = fa.Beam(length=L, mass_per_length=m, EI=EI, modes={"y": 1})
    equivalent = lumped(fa.Arm(name="one", links=[fa.Link(name="a", body=beam)]), 20)
    exact = 1.8751040687**2 * np.sqrt(EI / (m * L**4))
    assert equivalent.frequencies[0, 0] == pytest.approx(exact, rel=1e-6)
    assert equivalent.frequencies[2, 0] == pytest.approx(exact, rel=1e-3)


def test_the_statement_has_the_error_and_what_is_left_out():
    equivalent = lumped(fa.load("industrial-arm"), 2)
    text = "\n".join(equivalent.statement)
    assert "friction, backlash of the drive left out; the input is the torque" in text
    assert f"{100 * equivalent.frequency_error:+.2g} %" in text
    rigid = lumped(fa.load("rigid-two-link"))
    assert rigid.frequency_error == 0.0 and "nothing oscillates" in rigid.statement[1]


def test_damping_of_the_material_and_of_modes_goes_into_the_hinges():
    beam = fa.Beam(length=1.0, mass=1.0, EI=9.0, modes={"y": 2}, tau=1e-3)
    arm = fa.Arm(name="one", links=[fa.Link(name="a", body=beam)])
    joint = lumped(arm, 3).joints[1]
    assert joint.damping == pytest.approx(1e-3 * joint.stiffness)
    rayleigh = beam.replace(tau=0.0, rayleigh=fa.Rayleigh(mass=0.5, stiffness=2e-3))
    joint = lumped(arm.replace(links=[fa.Link(name="a", body=rayleigh)]), 3).joints[1]
    assert joint.damping == pytest.approx(2e-3 * joint.stiffness)
    ratio = fa.Arm(name="one", links=[fa.Link(name="a", body=beam.replace(tau=0.0, damping=0.02))])
    joint, omega = lumped(ratio, 3).joints[1], fa.Model(ratio).frequencies(np.zeros(3))[0]
    assert joint.damping == pytest.approx(2 * 0.02 / omega * joint.stiffness)
    lossy = arm.replace(links=[fa.Link(name="a", body=beam.replace(tau=0.0, loss_factor=0.04))])
    assert lumped(lossy, 3).joints[1].damping == pytest.approx(joint.damping)


@pytest.mark.parametrize(
    ("arm", "segments", "said"),
    [
        ("theodore-ghosal", 4, "Telescope; a lumped equivalent has Revolute, Prismatic, Fixed and Gear"),
        ("canadarm", 0, "segments"),
        ("canadarm", 1000, "segments"),
    ],
)
def test_what_cannot_be_lumped_is_refused_in_a_line(arm, segments, said):
    with pytest.raises(fa.DescriptionError, match=said):
        lumped(fa.load(arm), segments)


def test_an_arm_may_have_the_longest_name():
    arm = fa.load("rigid-two-link").replace(name="x" * 200)
    assert len(lumped(arm, 200).arm.name) <= 200
    assert f'model="{arm.name}"' in mjcf.mjcf(arm, 2)


def test_bodies_springs_and_couplings_that_cannot_be_are_refused():
    arm = fa.load("rigid-two-link")
    names = [link.name for link in arm.links]
    coupled = arm.replace(couplings=[fa.Coupling(links=names, matrix=[[1.0, 0.0], [1.0, 1.0]])])
    with pytest.raises(fa.DescriptionError, match="couplings are not supported"):
        lumped(coupled)
    with pytest.raises(fa.DescriptionError, match="arm is 3"):
        lumped(3)
    spring = fa.Spring(cubic=5.0)
    joint = fa.Revolute(rotor_inertia=0.1, drive=fa.Drive(spring=spring))
    with pytest.raises(fa.DescriptionError, match="must be positive: a lumped equivalent has linear springs"):
        lumped(fa.Arm(name="one", links=[fa.Link(name="a", joint=joint, body=arm.links[0].body)]))


def framed():
    """Frames: between two joints that do not meet, with two links on it, under a rigid tool, as a tip with a pose."""
    solid = fa.Rigid(length=0.3, mass=1.0, com=(0.1, 0.02, 0.03), inertia=(0.02, 0.03, 0.025))
    turned = fa.Pose(xyz=(0.1, -0.2, 0.05), rpy=(0.4, -0.3, 0.8))
    links = [
        fa.Link(name="pan", body=fa.Frame(length=0.1)),
        fa.Link(name="tilt", placement=turned, joint=fa.Prismatic(axis=(0, 0.6, 0.8), damping=0.3), body=fa.Frame()),
        fa.Link(name="boom", at=turned, joint=fa.Revolute(axis=(0, 1, 0), rotor_inertia=0.1), body=solid),
        fa.Link(name="fork", joint=fa.Revolute(axis=(1, 0, 0), rotor_inertia=0.2), body=fa.Frame(length=0.2)),
        fa.Link(name="left", placement=turned, joint=fa.Revolute(axis=(0, 1, 0)), body=solid),
        fa.Link(name="right", parent="fork", at=0.5, body=solid, placement=fa.Pose(xyz=(0, 0, 0.3))),
        fa.Link(name="wrist", parent="boom", at=0.4, joint=fa.Revolute(axis=(0, 0.6, 0.8)), body=fa.Frame()),
        fa.Link(name="tool", at=turned, joint=fa.Fixed(), body=solid),
        fa.Link(name="point", at=turned, joint=fa.Fixed(), body=fa.Frame(length=0.05)),
    ]
    return fa.Arm(name="framed", links=links, gravity=(0.3, 0.2, -9.81), tip="point")


def sliding():
    """Two slides behind springs, whose rotors have no weight, whichever way gravity pulls."""
    slide = {"stiffness": 80.0, "rotor_inertia": 0.02, "gear_ratio": 10.0, "spring_damping": 0.3}
    solid = fa.Rigid(length=0.3, mass=1.0, com=(0.1, 0.02, 0.03), inertia=(0.02, 0.03, 0.025))
    links = [
        fa.Link(name="lift", joint=fa.Prismatic(axis=(0, 0, 1), **slide), body=solid),
        fa.Link(name="swing", joint=fa.Revolute(axis=(0, 1, 0)), body=solid),
        fa.Link(name="reach", joint=fa.Prismatic(axis=(1, 0, 0), **slide), body=solid),
    ]
    return fa.Arm(name="sliding", links=links, gravity=(3.0, -4.0, -8.0))


def thrown():
    """A base that is free, with its centre of mass beside its frame, unequal moments of inertia, and thrusters."""
    thrusters = [
        fa.Thruster(name="push", direction=(0.6, 0.0, 0.8), at=(0.5, 0.2, -0.4)),
        fa.Thruster(name="wheel", direction=(0.0, 0.8, 0.6), kind="torque"),
    ]
    base = fa.FreeBase(mass=900.0, com=(0.3, -0.2, 0.1), inertia=(300.0, 500.0, 700.0), thrusters=thrusters)
    return fa.load("canadarm-free").replace(base=base)


# -- MuJoCo ------------------------------------------------------------------------------------------------------------


def named(name):
    made = {
        "tapered": tapered, "framed": framed, "sliding": sliding, "absolute": lambda: absolute(False),
        "absolute-elastic": lambda: absolute(True), "turned": turned, "thrown": thrown,
        "geared": geared,
        "framed, tip on a frame": lambda: framed().replace(tip="boom"),
    }  # fmt: skip
    return made[name]() if name in made else fa.load(name)


@cache
def equivalent_of(name):
    return lumped(named(name), 2)


def of_mujoco(equivalent, text, q, qd, u):
    """Acceleration and place of the tip as MuJoCo has them, and its frequencies' matrices."""
    model = mujoco.MjModel.from_xml_string(text)
    data, arm = mujoco.MjData(model), equivalent.arm
    first = 6 * arm.free
    names = [name for name in arm.velocities if not name.startswith("base.")]
    v = [*range(first), *(int(model.joint(name).dofadr[0]) for name in names)]
    places = [*range(7 * arm.free), *(int(model.joint(name).qposadr[0]) for name in names)]
    T = np.eye(len(v))
    if arm.free:  # a free joint's velocity there is along the world's axes
        T[:3, :3] = Rotation.from_quat(q[3:7], scalar_first=True).as_matrix()
    data.qpos[places], data.qvel[v] = q, T @ qd
    data.qfrc_applied[v] = T @ (equivalent.model.input_matrix(q) @ u)
    mujoco.mj_forward(model, data)
    turned = np.zeros(len(v))
    if arm.free:
        turned[:3] = T[:3, :3] @ np.cross(qd[3:6], qd[:3])
    return T.T @ (data.qacc[v] - turned), data.site("tip").xpos


@pytest.mark.parametrize(
    "name",
    ["subudhi-morris-elastic", "spatial-6r", "thrown", "tapered", "framed", "sliding", "turned", "absolute-elastic",
     "framed, tip on a frame"],
)  # fmt: skip
def test_mujoco_moves_the_file_as_we_move_the_equivalent(name):
    equivalent = equivalent_of(name)
    text = mjcf.written(equivalent)
    assert ("raised" in text) == name.startswith("framed")  # a frame with two links on it has 1e-13 kg
    for seed in range(3):
        q, qd, u = state(equivalent, seed)
        theirs, tip = of_mujoco(equivalent, text, q, qd, u)
        ours = equivalent.model.forward_dynamics(q, qd, u)
        assert np.abs(theirs - ours).max() < MATCH * np.abs(ours).max()
        assert tip == pytest.approx(equivalent.model.tip(q)[:3, 3], abs=1e-12)


def geared():
    """A gripper on a beam: a finger that follows the other one, what follows that, a differential and a screw."""

    def gear(joint, follows, ratio, offset=0.0):
        return fa.Gear(joint=joint, follows=follows, ratio=ratio, offset=offset)

    def body(length, mass):
        return fa.Rigid(length=length, mass=mass, inertia=(0.01, 0.03, 0.04), com=(0.1, 0.02, -0.03))

    spring = {"parallel": {"stiffness": 3.0, "rest": 0.2, "damping": 0.05}, "link_friction": {"coulomb": 0.4}}
    rotor = {"rotor_inertia": 2e-4, "gear_ratio": 12.0}
    bent = fa.Beam(length=0.8, mass_per_length=0.5, EI=20.0, modes={"y": 1, "z": 1})
    fingers = [
        fa.Link(name="left", parent="boom", joint=fa.Revolute(axis=(0, 1, 0), **rotor), body=body(0.25, 0.4)),
        fa.Link(
            name="right", parent="boom", at=0.6, body=body(0.3, 0.6),
            joint=gear(fa.Revolute(axis=(0, 0.6, 0.8), damping=0.05, drive=spring, **rotor), "left", -1.7, 0.3),
        ),
        fa.Link(
            name="slide", parent="right", body=body(0.1, 0.2), joint=gear(fa.Prismatic(axis=(0, 0, 1)), "right", 0.06)
        ),
        fa.Link(
            name="carrier", parent="boom", body=body(0.2, 0.9),
            joint=gear(fa.Revolute(), ["left", "slide"], [0.4, 2.5], -0.2),
        ),
        fa.Link(name="bolt", parent="carrier", joint=fa.Screw(axis=(1, 0, 0), pitch=0.05), body=body(0.15, 0.3)),
    ]  # fmt: skip
    return fa.Arm(
        name="gripper", gravity=(0.5, -9.0, 1.0), tip="right", links=[fa.Link(name="boom", body=bent), *fingers]
    )


def geared_state(equivalent, seed):
    """Coordinates of all joints, also of gears, by name, for a state of the equivalent; their rates; and the state."""
    q, qd, u = state(equivalent, seed)
    names = [link.name for link in equivalent.arm.links if link.joint.moving.moves]
    places = {name: equivalent.coordinate(name, q) for name in names}
    rates = {name: equivalent.coordinate(name, q + qd) - places[name] for name in names}
    return places, rates, (q, qd, u)


def test_gears_are_constraints_of_mujoco():
    """With the constraints as MuJoCo has them in its Jacobian, and with its soft ones, at most 1e-4 off."""
    equivalent = equivalent_of("geared")
    model = mujoco.MjModel.from_xml_string(mjcf.written(equivalent))
    data, arm = mujoco.MjData(model), equivalent.arm
    places, rates, (q, qd, u) = geared_state(equivalent, 3)
    assert len(places) == model.nv == len(arm.velocities) + 4
    v = {name: int(model.joint(f"{name}.joint").dofadr[0]) for name in places}
    data.qpos[[*v.values()]], data.qvel[[*v.values()]] = [*places.values()], [*rates.values()]
    torque = dict(zip(arm.velocities, equivalent.model.input_matrix(q) @ u, strict=True))
    data.qfrc_applied[[*v.values()]] = [torque.get(f"{name}.joint", 0.0) for name in v]
    mujoco.mj_forward(model, data)
    J = data.efc_J.reshape(-1, model.nv)
    assert len(J) == 4
    np.testing.assert_allclose([data.efc_pos[:4], J @ data.qvel], 0.0, atol=1e-13)
    M, n = np.zeros((model.nv, model.nv)), model.nv
    mujoco.mj_fullM(model, data, M)
    exact = np.linalg.solve(
        np.block([[M, J.T], [J, np.zeros((4, 4))]]), np.append(data.qfrc_smooth, np.zeros(4))
    )[:n]  # fmt: skip
    ours = equivalent.model.forward_dynamics(q, qd, u)
    mine = [v[name.removesuffix(".joint")] for name in arm.velocities]
    assert exact[mine] == pytest.approx(ours, rel=0, abs=1e-10 * np.abs(ours).max())
    assert data.qacc[mine] == pytest.approx(ours, rel=0, abs=1e-3 * np.abs(ours).max())
    assert data.site("tip").xpos == pytest.approx(equivalent.model.tip(q)[:3, 3], abs=1e-12)
    assert "at qpos0 these have not their offsets: right, carrier" in mjcf.written(equivalent)


def test_frames_add_nothing_to_the_tree_of_joints():
    """The tree that Exudyn takes has the arm's inertia: masses sum up, and its tip is the arm's."""
    equivalent = lumped(framed())
    assert sum(joint.mass for joint in equivalent.joints) == 4.0
    assert {joint.name for joint in equivalent.joints if joint.mass == 0.0} == {"pan", "tilt", "fork"}
    place, tip = equivalent.tip
    assert equivalent.joints[place].name == "wrist"
    frames = equivalent.model.frames(np.array(equivalent.arm.rest))
    at = frames[[link.name for link in equivalent.arm.links].index("wrist")]
    assert at[:3, :3] @ tip + at[:3, 3] == pytest.approx(frames[-1][:3, 3], abs=1e-14)
    script = exudyn.written(equivalent)
    assert "JOINTS = ['pan', 'tilt', 'boom', 'fork', 'left', 'right', 'wrist']" in script


@pytest.mark.parametrize("name", ["subudhi-morris-elastic", "thrown"])
def test_actuators_of_the_file_drive_what_ours_do(name):
    equivalent = equivalent_of(name)
    model = mujoco.MjModel.from_xml_string(mjcf.written(equivalent))
    data, arm = mujoco.MjData(model), equivalent.arm
    given = 0.3 - 0.5 * np.arange(len(equivalent.source.inputs))
    for each, value in zip(equivalent.source.inputs, given, strict=True):
        data.actuator(each).ctrl[0] = value
    mujoco.mj_forward(model, data)
    u = np.zeros(len(arm.inputs))
    u[list(equivalent.drives)] = given
    q = np.array(arm.rest)
    ours = equivalent.model.forward_dynamics(q, np.zeros(len(arm.velocities)), u)
    theirs = [*data.qacc[: 6 * arm.free]]
    theirs += [data.joint(each).qacc[0] for each in arm.velocities if not each.startswith("base.")]
    assert theirs == pytest.approx(ours, rel=MATCH, abs=MATCH * np.abs(ours).max())


def test_gravity_of_an_orbit_is_said_to_be_left_out():
    arm = fa.load("canadarm-free")
    base = arm.base.replace(orbit=fa.Orbit(rate=1e-3))
    assert "that of the base's orbit is left out" in mjcf.mjcf(arm.replace(base=base), 1)
    assert "orbit" not in mjcf.mjcf(arm, 1)


def test_the_file_is_well_formed_and_says_what_it_is():
    text = mjcf.written(equivalent_of("tapered"))
    root = ElementTree.fromstring(text)
    assert root.get("model") == "tapered <&> -- branched"
    said = " ".join(entry.get("data") for entry in root.iter("text"))
    assert f"{100 * equivalent_of('tapered').frequency_error:+.2g} %" in said
    bodies = {body.get("name") for body in root.iter("body")}
    assert bodies == {"a", "a_1y", "a_2y", "b", "c", "d", "d_1z", "d_2z", "b.motor", "d.motor"}
    mass = sum(float(x.get("mass")) for body in root.iter("body") for x in body.findall("inertial"))
    model = fa.Model(tapered().rigid())
    total = sum(m for m in [link.body.total_mass for link in model.arm.links]) + 0.5 + 0.4 + 0.1 + 0.3
    assert mass == pytest.approx(total, rel=1e-9)


def test_inertia_that_mujoco_does_not_take_is_raised_and_said():
    text = mjcf.mjcf(fa.load("industrial-arm"), 4)
    assert re.search(r"moments of inertia are raised.* of upper_4z", text)
    assert mujoco.MjModel.from_xml_string(text).nv > 6


def test_what_is_raised_lowers_frequencies_and_the_file_says_so():
    """Much inertia about the own axis, in a short segment: no body to MuJoCo."""
    thick = fa.Beam(length=1.0, mass=1.0, EI=9.0, GJ=5.0, polar_inertia=0.1, modes={"y": 1, "torsion": 1})
    equivalent = lumped(fa.Arm(name="one", links=[fa.Link(name="a", body=thick)]), 4)
    text = mjcf.written(equivalent)
    assert re.search(r"are raised.* a_2torsion", text) and "frequencies are lower by it than said above" in text
    model = mujoco.MjModel.from_xml_string(text)
    data, theirs = mujoco.MjData(model), np.zeros((model.nv, model.nv))
    mujoco.mj_forward(model, data)
    mujoco.mj_fullM(model, data, theirs)
    places = [int(model.joint(name).dofadr[0]) for name in equivalent.arm.velocities]
    more = theirs[np.ix_(places, places)] - equivalent.model.mass_matrix(np.array(equivalent.arm.rest))
    added = np.linalg.eigvalsh(more)
    assert added[0] > -1e-9 and added[-1] > 1e-2


def absolute(elastic, about=((0, 0, 1), (0, 0, -1), (0, 0, 1))):
    """Three links in a plane, the second hinge the other way round, the last on a slide; geared rotors on all."""
    spring = {"stiffness": 30.0, "spring_damping": 0.3} if elastic else {}
    rotor = {"rotor": "absolute", "rotor_inertia": 0.03, "gear_ratio": 5.0, **spring}
    bent = fa.Beam(length=1.0, mass=1.0, EI=50.0, modes={"y": 2}, shapes="polynomial")
    first, second, third = (
        fa.Link(name=name, joint=fa.Revolute(axis=axis, **rotor), body=bent)
        for name, axis in zip("abc", about, strict=True)
    )
    slide = fa.Link(name="slide", joint=fa.Prismatic(axis=(1, 0, 0)), body=fa.Rigid(length=0.2, mass=0.3, inertia=0.01))
    return fa.Arm(name="geared", links=[first, second, slide, third])


def turned():
    """The same with the second link's frame turned about its own x-axis: hinges are parallel in the world."""
    first, second, slide, third = absolute(False).links
    second, third = (
        link.replace(joint=link.joint.replace(axis=axis), body=link.body.replace(modes={"z": 2}))
        for link, axis in ((second, (0, -1, 0)), (third, (0, 1, 0)))
    )
    second = second.replace(placement=fa.Pose(rpy=(np.pi / 2, 0, 0)))
    return fa.Arm(name="turned", links=[first, second, slide, third])


@pytest.mark.parametrize(("script", "elastic"), [(mjcf.mjcf, False), (exudyn.exudyn_script, True)])
def test_absolute_rotors_that_turn_with_other_axes_are_refused(script, elastic):
    with pytest.raises(
        fa.DescriptionError, match=r"link 'c': joint\.rotor is 'absolute'; .* about the axis of this joint only"
    ):
        script(absolute(elastic, ((0, 0, 1), (0, 0, -1), (0, 1, 0))), 2)
    script(absolute(elastic, ((0, 1, 0), (0, 0, 1), (0, 0, 1))).replace(links=absolute(elastic).links[:1]), 2)


def test_absolute_rotors_on_a_base_that_is_free_are_refused():
    base = fa.FreeBase(mass=10.0, inertia=(1.0, 1.0, 1.0))
    with pytest.raises(fa.DescriptionError, match=r"link 'a': joint\.rotor is 'absolute'"):
        mjcf.mjcf(absolute(False).replace(base=base), 2)


# -- Exudyn ------------------------------------------------------------------------------------------------------------


def numbers(text):
    """The script's tables by name; nothing of it is run."""
    found = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign):
            found[node.targets[0].id] = ast.literal_eval(node.value)
    return found


def kinetic_energy(tables, q, qd):
    """Of the rigid tree in the tables, by the frames' motion."""
    n, energy = len(tables["JOINTS"]), 0.0
    frames = []
    for i in range(n):
        parent = tables["PARENTS"][i]
        R, p, w, v = frames[parent] if parent >= 0 else (np.eye(3), np.zeros(3), np.zeros(3), np.zeros(3))
        d = R @ np.array(tables["OFFSETS"][i])
        Rj = R @ np.array(tables["ROTATIONS"][i])
        z = Rj[:, 2]
        if tables["TURNS"][i]:
            turned, pj, wj, vj = (
                Rj @ Rotation.from_rotvec([0, 0, q[i]]).as_matrix(),
                p + d,
                w + z * qd[i],
                v + np.cross(w, d),
            )
        else:
            d = d + z * q[i]
            turned, pj, wj, vj = Rj, p + d, w, v + np.cross(w, d) + z * qd[i]
        frames.append((turned, pj, wj, vj))
        c = turned @ np.array(tables["CENTERS"][i])
        speed, spin = vj + np.cross(wj, c), turned.T @ wj
        energy += 0.5 * tables["MASSES"][i] * speed @ speed + 0.5 * spin @ np.array(tables["INERTIAS"][i]) @ spin
    turning = qd.copy()
    for rotor, joint, share in tables["CARRIED"]:
        turning[rotor] += share * qd[joint]
    energy += 0.5 * np.array(tables["ROTORS"]) @ turning[:n] ** 2
    energy += 0.5 * sum(rotor * rate**2 for (_, rotor, _, _), rate in zip(tables["MOTORS"], turning[n:], strict=True))
    tip = frames[tables["TIP_LINK"]]
    return energy, tip[1] + tip[0] @ np.array(tables["TIP"])


@pytest.mark.parametrize("name", ["subudhi-morris-elastic", "tapered", "absolute", "absolute-elastic"])
def test_the_tables_of_exudyns_script_have_our_energies_and_tip(name):
    equivalent = equivalent_of(name)
    tables = numbers(exudyn.written(equivalent))
    order = [*(f"{name}.joint" for name in tables["JOINTS"])]
    order += [f"{tables['JOINTS'][j]}.motor" for j, *_ in tables["MOTORS"]]
    places = [equivalent.arm.velocities.index(name) for name in order]
    q, qd, _ = state(equivalent, 5)
    kinetic, potential = equivalent.model.energy(q, qd)
    energy, tip = kinetic_energy(tables, q[places], qd[places])
    assert energy == pytest.approx(kinetic, rel=1e-10)
    assert tip == pytest.approx(equivalent.model.tip(q)[:3, 3], abs=1e-12)
    n = len(tables["JOINTS"])
    wound = 0.5 * np.array(tables["STIFFNESS"]) @ (q[places][:n] - tables["REST"]) ** 2
    wound += sum(
        0.5 * k * (q[places][j] - x) ** 2 for (j, _, k, _), x in zip(tables["MOTORS"], q[places][n:], strict=True)
    )
    weightless = fa.Model(equivalent.arm.replace(gravity=(0.0, 0.0, 0.0)))
    assert wound == pytest.approx(weightless.energy(q, qd)[1], rel=1e-10)
    lost = np.zeros(n + len(tables["MOTORS"]))
    lost[:n] = np.array(tables["DAMPING"]) * qd[places][:n]
    for i, (j, _, _, d) in enumerate(tables["MOTORS"]):
        slip = d * (qd[places][j] - qd[places][n + i])
        lost[j] += slip
        lost[n + i] -= slip
    assert lost == pytest.approx(equivalent.model.damping_force(q, qd)[places], abs=1e-12)
    driven = [
        order[p] if p >= 0 else f"{tables['JOINTS'][tables['MOTORS'][-1 - p][0]]}.motor" for p in tables["DRIVEN"]
    ]
    assert tuple(driven) == tuple(tables["INPUTS"]) == equivalent.source.inputs


@pytest.mark.parametrize("name", ["tapered", "turned", "absolute-elastic"])
def test_exudyn_moves_the_script_as_we_move_the_equivalent(name):
    """Its `build`, run by Exudyn itself: accelerations under torques, with motors, hinges and gravity in motion."""
    exu = pytest.importorskip("exudyn", reason="Exudyn is not installed")
    equivalent, script = equivalent_of(name), {"__name__": "script"}
    exec(exudyn.written(equivalent), script)
    motors = [f"{script['JOINTS'][j]}.motor" for j, *_ in script["MOTORS"]]
    order = [*(f"{name}.joint" for name in script["JOINTS"]), *motors]
    places = [equivalent.arm.velocities.index(name) for name in order]
    q, qd, given = state(equivalent, 5)
    u = np.zeros(len(given))
    u[list(equivalent.drives)] = given[: len(equivalent.drives)]
    torques = [lambda mbs, t, load, value=value: value for value in u[list(equivalent.drives)]]
    _, system, _, _ = script["build"](torques, q[places].tolist(), qd[places].tolist())
    solver, settings = exu.MainSolverImplicitSecondOrder(), exu.SimulationSettings()
    settings.solution.file.write = False
    assert solver.InitializeSolver(system, settings)
    solver.ComputeMassMatrix(system)
    solver.ComputeODE2RHS(system)
    theirs = np.linalg.solve(solver.GetSystemMassMatrix(), solver.GetSystemResidual()[: len(places)])
    ours = equivalent.model.forward_dynamics(q, qd, u)[places]
    assert theirs == pytest.approx(ours, rel=0, abs=1e-11 * np.abs(ours).max())


def test_the_tables_of_exudyns_script_have_the_energy_of_gears():
    equivalent = equivalent_of("geared")
    tables = numbers(exudyn.written(equivalent))
    places, rates, (q, qd, _) = geared_state(equivalent, 5)
    energy, tip = kinetic_energy(tables, *(np.array([x[name] for name in tables["JOINTS"]]) for x in (places, rates)))
    assert energy == pytest.approx(equivalent.model.energy(q, qd)[0], rel=1e-10)
    assert tip == pytest.approx(equivalent.model.tip(q)[:3, 3], abs=1e-12)
    for joint, leaders, offset in tables["GEARS"]:
        led = sum(ratio * places[tables["JOINTS"][leader]] for leader, ratio in leaders)
        assert places[tables["JOINTS"][joint]] == pytest.approx(led + offset, abs=1e-14)
    assert "link 'right': link_friction of the drive left out" in "".join(equivalent.statement)
    start = {name: equivalent.coordinate(name, equivalent.arm.rest) for name in tables["JOINTS"]}
    assert tables["START"] == [*start.values()] and start["right"] == 0.3


def test_gears_are_constraints_of_exudyn():
    """A motion of 0.2 s by Exudyn, beside the same motion by elimination."""
    exu = pytest.importorskip("exudyn", reason="Exudyn is not installed")
    equivalent, script = equivalent_of("geared"), {"__name__": "script"}
    exec(exudyn.written(equivalent), script)
    assert len(script["GEARS"]) == 4
    places, rates, (q, qd, given) = geared_state(equivalent, 3)
    u = np.zeros(len(given))
    u[list(equivalent.drives)] = given[: len(equivalent.drives)]
    torques = [lambda mbs, t, load, value=value: value for value in u[list(equivalent.drives)]]
    _, system, _, _ = script["build"](
        torques, [places[x] for x in script["JOINTS"]], [5 * rates[x] for x in script["JOINTS"]]
    )
    settings = exu.SimulationSettings()
    settings.solution.file.write = False
    settings.timeIntegration.endTime, settings.timeIntegration.numberOfSteps = 0.2, 2000
    settings.timeIntegration.newton.relativeTolerance = 1e-10
    system.SolveDynamic(settings)
    run = fa.simulate(equivalent.model, 0.2, u, q, 5 * qd, rtol=1e-10, samples=2, progress=False)
    end = run.q.values[-1]
    theirs = dict(zip(script["JOINTS"], system.systemData.GetODE2Coordinates(), strict=True))
    mine = {x: equivalent.coordinate(x, end) for x in theirs}
    assert theirs == pytest.approx(mine, abs=1e-4) and abs(mine["right"] - places["right"]) > 0.01


def test_the_script_runs_by_itself(tmp_path, monkeypatch, capfd):
    """From its own start: natural frequencies with all drives free, and where the tip is after a second of falling."""
    pytest.importorskip("exudyn", reason="Exudyn is not installed")
    monkeypatch.chdir(tmp_path)
    equivalent = lumped(fa.load("rigid-two-link").replace(gravity=(0.0, -9.81, 0.0)))
    exec(exudyn.written(equivalent), {"__name__": "__main__"})
    said = capfd.readouterr().out
    tip = [float(x) for x in re.search(r"tip at the end \[m\]: \[(.*)\]", said)[1].split()]
    run = fa.simulate(equivalent.model, 1.0, None, samples=2, progress=False)
    assert tip == pytest.approx(run.tip.values[-1], abs=1e-3) and tip[1] < -0.3


def test_a_free_base_and_a_tip_that_stands_still_are_refused():
    with pytest.raises(fa.DescriptionError, match="the base is free, and the export to Exudyn needs a fixed base"):
        exudyn.exudyn_script(fa.load("canadarm-free"))
    rigid = fa.Rigid(length=1.0, mass=1.0)
    post = fa.Link(name="post", joint=fa.Fixed(), body=rigid)
    links = [post, fa.Link(name="a", body=rigid, parent="base")]
    with pytest.raises(fa.DescriptionError, match="no joint moves its tip"):
        exudyn.exudyn_script(fa.Arm(name="odd", links=links, tip="post"))


# -- the command -------------------------------------------------------------------------------------------------------


def test_the_command_writes_both(tmp_path):
    files = [tmp_path / "arm.xml", tmp_path / "arm.py"]
    options = ["--mjcf", str(files[0]), "--exudyn", str(files[1]), "--segments", "2"]
    result = CliRunner().invoke(app, ["export", "canadarm", *options])
    assert result.exit_code == 0, result.output
    arm = fa.load("canadarm")
    assert files[0].read_text() == mjcf.mjcf(arm, 2)
    assert files[1].read_text() == exudyn.exudyn_script(arm, 2)


@pytest.mark.parametrize(("write", "file"), [(fa.export_mjcf, "arm.xml"), (fa.export_exudyn, "arm.py")])
def test_what_is_written_has_the_model_s_parameters(write, file, tmp_path):
    model = fa.Model(fa.load("subudhi-morris"), vary=["payload.mass"])
    heavy, light = (write(model.at([mass]), tmp_path / f"{mass}-{file}").read_text() for mass in (3.0, 0.1))
    own = fa.Model(model.at([3.0]).arm_at())
    assert heavy != light and heavy == write(own, tmp_path / file).read_text()


@pytest.mark.parametrize("write", [fa.export_mjcf, fa.export_exudyn])
def test_what_cannot_be_written_is_said_in_one_line(write, tmp_path):
    ending = ".xml" if write is fa.export_mjcf else ".py"
    model, file = fa.Model(fa.load("subudhi-morris")), tmp_path / f"arm{ending}"
    for arguments, said in (
        ((model, tmp_path / "arm"), f"it must end with {ending}"),
        ((7, file), f"{write.__name__}: model is 7; it must be a Model"),
        (("canadrm", file), "unknown arm 'canadrm'; did you mean 'canadarm'"),
        ((model, 3), "path is of type int; it must be the name of a file"),
        ((model, file, 0), "segments is 0"),
        ((fa.Model(fa.load("theodore-ghosal")), file), "is a Telescope; a lumped equivalent has Revolute"),
    ):
        with pytest.raises(fa.DescriptionError, match=said) as raised:
            write(*arguments)
        assert "\n" not in str(raised.value)
    assert not file.exists()
