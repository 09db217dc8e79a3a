"""Joints that several actuators move together."""

import numpy as np
import pytest

import flexarm as fa
from flexarm.trajectory import reference_values

PITCH_AND_ROLL = [[1.0, 1.0], [1.0, -1.0]]
"""Of a wrist whose two bevel wheels turn by the sum and by the difference of pitch and roll."""


def wrist(matrix=PITCH_AND_ROLL, gravity=(0, 0, -9.81), first=None, second=None, **joint):
    links = [
        fa.Link(
            name="pitch",
            joint=fa.Revolute(axis=(0, 1, 0), **{**joint, **(first or {})}),
            body=fa.Rigid(length=0.1, mass=0.5),
        ),
        fa.Link(
            name="roll",
            joint=fa.Revolute(axis=(1, 0, 0), **{**joint, **(second or {})}),
            body=fa.Rigid(length=0.2, mass=0.8, com=(0.1, 0.03, 0.02), inertia=(2e-3, 4e-3, 5e-3)),
        ),
    ]
    couplings = [] if matrix is None else [fa.Coupling(links=["pitch", "roll"], matrix=matrix)]
    return fa.Arm(name="wrist", links=links, gravity=gravity, couplings=couplings)


def test_two_motors_of_a_differential_share_pitch_and_roll():
    """Both alike pitch, against each other they roll; a torque u_i acts on joint j as T_ij u_i."""
    coupled, plain = fa.Model(wrist()), fa.Model(wrist(None))
    q, qd = np.array([0.4, -0.7]), np.array([1.1, 0.6])
    assert np.allclose(coupled.input_matrix(q), np.transpose(PITCH_AND_ROLL))
    for u, joints in (([1, 1], [2, 0]), ([1, -1], [0, 2]), ([0.3, 0.8], [1.1, -0.5])):
        assert np.allclose(coupled.forward_dynamics(q, qd, u), plain.forward_dynamics(q, qd, joints), rtol=1e-12)
    assert coupled.function("forward_dynamics").n_instructions() > 0


def test_the_springs_of_a_differential_are_wound_by_what_its_wheels_turn():
    """theta_i - sum_j T_ij q_j: forces, energies and motors' accelerations by hand."""
    k, d, J = 300.0, 0.4, 0.02
    T = np.array([[1.0, 0.5], [2.0, -1.0]])
    drive = fa.Drive(spring=fa.Spring(stiffness=k, damping=d))
    model, plain = fa.Model(wrist(T.tolist(), rotor_inertia=J, drive=drive)), fa.Model(wrist(None))
    q, qd, u = np.array([0.4, -0.7, 0.1, 1.4]), np.array([1.1, 0.6, -0.3, 0.5]), np.array([0.3, -0.2])
    wound, rate = q[2:] - T @ q[:2], qd[2:] - T @ qd[:2]
    torque = k * wound + d * rate
    found = model.forward_dynamics(q, qd, u)
    assert np.allclose(found[2:], (u - torque) / J, rtol=1e-12)
    assert np.allclose(found[:2], plain.forward_dynamics(q[:2], qd[:2], T.T @ torque), rtol=1e-11)
    assert model.energy(q, qd)[1] - plain.energy(q[:2], qd[:2])[1] == pytest.approx(k * wound @ wound / 2, rel=1e-12)
    result = fa.simulate(model, 0.5, u=[0.5, -0.2], progress=False)
    assert result.energy_drift < 1e-7


SLEW = fa.Quintic((0.2, -0.3), (0.9, 0.4), 0.8)
OWN = [[1.0, 0.5], [2.0, -1.0]]
SPRUNG = {"rotor_inertia": 0.02, "drive": fa.Drive(spring=fa.Spring(stiffness=300.0, damping=0.4))}


def test_the_torques_of_the_rigid_arm_go_through_the_coupling():
    model = fa.Model(wrist(OWN))
    drive = fa.RigidInverseDynamics(SLEW)
    result = fa.simulate(
        model, 1.0, u=drive, q0=[0.2, -0.3], solver=fa.Solver(rtol=1e-11, atol=1e-13), samples=11, progress=False
    )
    assert np.allclose(result.q.values, reference_values(SLEW, result.time.values), atol=1e-8)
    joints = fa.simulate(fa.Model(wrist(None)), 1.0, u=drive, samples=11, progress=False).u.values
    assert np.allclose(result.u.values @ np.array(OWN), joints, rtol=1e-12, atol=1e-12)


def test_a_loop_begins_where_no_spring_of_a_coupling_is_wound():
    """Motors are where the joints of its reference turn them."""
    model = fa.Model(wrist(OWN, **SPRUNG, gravity=(0, 0, 0)))

    class Off:
        def law(self, model, period=None):
            return fa.control.Law(lambda t, q, qd, z: ([0.0, 0.0], []), reference=SLEW)

    start = fa.simulate(model, 0.1, u=Off(), samples=2, progress=False)
    assert np.allclose(start.q.values[0], [0.2, -0.3, *(np.array(OWN) @ (0.2, -0.3))], rtol=1e-12)
    assert start.potential.values[0] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("keep", [None, ["q"]])
@pytest.mark.parametrize("many", [False, True])
def test_no_motion_is_prescribed_through_a_coupling(keep, many):
    call = (lambda *a, **k: fa.simulate_many(*a, runs=2, **k)) if many else fa.simulate
    for arm in (wrist(OWN), wrist(OWN, **SPRUNG)):
        with pytest.raises(fa.DescriptionError, match=r"\Aarm 'wrist' has coupled joints; only single joints .*\Z"):
            call(fa.Model(arm), 0.1, u=fa.PrescribedMotion(SLEW), save=fa.SaveAt(keep=keep), progress=False)


def test_friction_of_a_motor_without_a_spring_acts_on_what_it_turns():
    drive = fa.Drive(friction=fa.Friction(viscous=0.3))
    model = fa.Model(wrist(first={"drive": drive}))
    qd = np.array([1.1, 0.6])
    assert np.allclose(model.damping_force(np.zeros(2), qd), 0.3 * (qd[0] + qd[1]) * np.array([1.0, 1.0]))


def test_motors_stand_where_the_coupling_puts_them():
    """Without gravity the springs are not wound; under it they carry T^-T times what the joints need."""
    T = np.array([[1.0, 0.5], [2.0, -1.0]])
    drive = fa.Drive(spring=fa.Spring(stiffness=50.0))
    light = fa.Model(wrist(T.tolist(), (0, 0, 0), rotor_inertia=0.02, drive=drive))
    q, u = fa.analysis.equilibrium(light, [0.3, -0.2], held="joints")
    assert np.allclose(q[2:], T @ q[:2], atol=1e-12)
    heavy = fa.Model(wrist(T.tolist(), rotor_inertia=0.02, drive=drive))
    q, u = fa.analysis.equilibrium(heavy, [0.3, -0.2], held="joints")
    assert np.allclose(T.T @ u, heavy.gravity_force(q)[:2], atol=1e-10)
    assert np.allclose(q[2:] - T @ q[:2], u / 50.0, atol=1e-12)


def test_a_parallelogram_turns_the_forearm_against_the_ground():
    """Its motor stands at the base and turns by q_1 + q_2, the forearm's direction in space."""
    links = [
        fa.Link(name=name, joint=fa.Revolute(axis=(0, 1, 0)), body=fa.Rigid(length=0.5, mass=1.0))
        for name in ("upper", "fore")
    ]
    arm = fa.Arm(
        name="parallelogram", links=links, couplings=[fa.Coupling(links=["upper", "fore"], matrix=[[1, 0], [1, 1]])]
    )
    assert np.allclose(arm.transmission, [[1, 0], [1, 1]])
    result = fa.simulate(fa.Model(arm), 0.3, u=[0.4, 0.1], progress=False)
    power = 0.4 * result.qd.values[:, 0] + 0.1 * result.qd.values.sum(axis=1)
    assert np.allclose(result.power, power, atol=1e-9)
    assert result.energy_drift < 1e-7


def test_a_coupling_stands_in_files(tmp_path):
    path = tmp_path / "wrist.toml"
    path.write_text(
        """
name = "wrist"
[[links]]
name = "pitch"
joint = { type = "revolute", axis = [0, 1, 0] }
body = { type = "rigid", length = 0.1, mass = 0.5 }
[[links]]
name = "roll"
joint = { type = "revolute", axis = [1, 0, 0] }
body = { type = "rigid", length = 0.2, mass = 0.8 }
[[couplings]]
links = ["pitch", "roll"]
matrix = [[1, 1], [1, -1]]
"""
    )
    arm = fa.load(path)
    assert arm.couplings == (fa.Coupling(links=["pitch", "roll"], matrix=PITCH_AND_ROLL),)
    assert fa.Arm.from_json(arm.canonical()) == arm


def test_laws_that_follow_joints_refuse_what_several_actuators_move():
    with pytest.raises(fa.DescriptionError) as caught:
        fa.simulate(fa.Model(wrist()), 0.1, u=fa.control.JointPD(Kp=1.0, Kd=0.1, reference=[0.1, 0.2]), progress=False)
    assert (
        str(caught.value)
        == "JointPD: arm 'wrist' has coupled joints; controllers that follow a reference do not support couplings"
    )


WRONG = [
    ({"links": "ab"}, "Coupling: links is 'ab'; it must be a list of names of links"),
    ({"links": ["a"]}, "Coupling: links has 1 name; it must have two or more"),
    ({"links": ["a", 3]}, "Coupling: links[1] is 3; it must be the name of a link"),
    ({"links": ["a", "a"]}, "Coupling: links[1] is 'a' again; list each link only once"),
    ({"matrix": 3}, "Coupling: matrix is 3; it must be rows of numbers"),
    ({"matrix": [[1, 0], 2]}, "Coupling: matrix[1] is 2; it must be a row of numbers"),
    ({"matrix": [[1, 0], [0, "x"]]}, "Coupling: matrix[1][1] is 'x'; it must be a number"),
    ({"matrix": [[1, 0]]}, "Coupling: matrix is ((1.0, 0.0),); it must have 2 rows of 2 numbers"),
    (
        {"matrix": [[1, 1], [1, 1]]},
        "Coupling: matrix is singular; the actuators must be able to move each joint by itself",
    ),
]


@pytest.mark.parametrize(("given", "said"), WRONG)
def test_a_wrong_coupling_is_refused_in_one_line(given, said):
    with pytest.raises(fa.DescriptionError) as caught:
        fa.Coupling(**{"links": ["a", "b"], "matrix": [[1, 0], [0, 1]], **given})
    assert str(caught.value) == said


SPRING = "a coupled joint cannot have stiffness: use drive.spring instead"
ROTOR = "a coupled joint with rotor_inertia needs a spring, drive.spring"


@pytest.mark.parametrize(
    ("first", "said"),
    [
        ({"stiffness": 10.0, "rotor_inertia": 0.1}, SPRING),
        ({"rotor_inertia": 0.1}, ROTOR),
        ({"rotor": "absolute"}, "a coupled joint needs rotor = 'relative'"),
    ],
)
def test_joints_that_cannot_be_coupled_are_refused_in_one_line(first, said):
    with pytest.raises(fa.DescriptionError) as caught:
        wrist(first=first)
    assert str(caught.value) == f"Arm: couplings[0].links[0] is 'pitch'; {said}"


def test_couplings_of_joints_that_are_not_there_are_refused_in_one_line():
    arm = wrist()
    fixed = arm.links[0].replace(name="foot", joint=fa.Fixed())
    mistyped, foot = (fa.Coupling(links=[name, "roll"], matrix=PITCH_AND_ROLL) for name in ("pich", "foot"))
    for links, couplings, said in (
        (arm.links, [mistyped], "[0].links[0] is 'pich'; did you mean 'pitch'? The links are pitch, roll"),
        (
            arm.links,
            [arm.couplings[0]] * 2,
            "[1].links[0] is 'pitch', which is already coupled; a joint can be in only one coupling",
        ),
        ([fixed, *arm.links], [foot], "[0].links[0] is 'foot'; its joint has no actuator"),
        (arm.links, 3, " is 3; it must be a list of couplings"),
    ):
        with pytest.raises(fa.DescriptionError) as caught:
            fa.Arm(name="wrist", links=links, couplings=couplings)
        assert str(caught.value) == f"Arm: couplings{said}"


def test_frequencies_with_a_belt_over_a_joint():
    """Both actuators move the second joint; with the motors held nothing moves but the beam, as with T = 1."""

    def first(matrix):
        beam = fa.Beam(length=1.0, mass=1.0, EI=10.0, modes={"y": 2})
        links = [fa.Link(name=name, joint=fa.Revolute(), body=beam, hub_inertia=0.01) for name in ("upper", "fore")]
        couplings = [] if matrix is None else [fa.Coupling(links=["upper", "fore"], matrix=matrix)]
        return fa.Model(fa.Arm(name="belt", links=links, couplings=couplings)).frequencies([0.3, 0.5, 0, 0, 0, 0])

    for matrix in ([[1, 0], [1, 1]], [[1, 2], [0, 1]], PITCH_AND_ROLL):
        assert first(matrix) == pytest.approx(first(None), rel=1e-9)
