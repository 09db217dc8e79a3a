"""Controllers of arms on a free base, one by one: what each promises there, or the line in which it refuses."""

from functools import cache

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm

import flexarm as fa
from flexarm import analysis, attitude, control, quaternions
from flexarm.control.shaping import controlled_vibrations
from flexarm.errors import DescriptionError
from flexarm.simulation.closed_loop import ClosedLoop
from flexarm.trajectory import reference_motion

AXES = dict(zip("xyz", np.eye(3).tolist(), strict=True))
TORQUES = tuple(fa.Thruster(name=f"t{k}", direction=d, kind="torque") for k, d in AXES.items())
WHEELS = tuple(f"wheel-{k}" for k in AXES)
SLEW = fa.Quintic((0.0, 0.3), (0.8, -0.4), 2.0)
BUS = np.array([[8.0, 0.3, -0.2], [0.3, 7.0, 0.4], [-0.2, 0.4, 9.0]])


@cache
def satellite(
    flexible: bool = True,
    wheels: bool = False,
    thrusters: tuple = (),
    mass: float | None = 60.0,
    gravity: tuple = (0, 0, 0),
    modes: int = 1,
    drive: fa.Drive | None = None,
) -> fa.Model:
    """A bus with an arm of two links, the second of which turns out of the plane of the first."""
    inertia = (BUS * (mass or 0.0) / 60.0).tolist()
    base = (
        None if mass is None else fa.FreeBase(mass=mass, com=(0.05, -0.03, 0.02), inertia=inertia, thrusters=thrusters)
    )
    beam = fa.Beam(length=1.2, mass=4.0, EI=150.0, modes={"y": modes}, damping=0.01)
    rod = fa.Rigid(length=1.0, mass=3.0, com=(0.5, 0, 0), inertia=0.3)
    links = [
        fa.Link(name="upper", joint=fa.Revolute(axis=(0, 0, 1), drive=drive), body=beam if flexible else rod,
                placement=fa.Pose(xyz=(0.4, 0.1, 0.0))),
        fa.Link(name="fore", joint=fa.Revolute(axis=(0, 0.6, 0.8)), body=rod),
    ]  # fmt: skip
    if wheels:
        links += [fa.reaction_wheel(name, d, 0.05, mass=2.0) for name, d in zip(WHEELS, AXES.values(), strict=True)]
    return fa.Model(fa.Arm(name="sat", links=links, base=base, gravity=gravity, tip="fore"))


def run(model: fa.Model, until: float, u, **more):
    return fa.simulate(model, until, u, samples=101, progress=False, **more)


def joints(result, model: fa.Model) -> np.ndarray:
    return attitude.local(model.arm, result.q.values)[:, list(model.arm.joints)]


def turned(result, model: fa.Model) -> np.ndarray:
    return attitude.local(model.arm, result.q.values)[:, 3:6]


def tumbling(model: fa.Model, at: tuple = (0.1, 0.2)) -> dict[str, np.ndarray]:
    """A start with the base turned, and turning."""
    x = np.zeros(model.nv)
    x[:6] = [0.3, -0.1, 0.2, 0.5, -0.4, 0.3]
    x[list(model.arm.joints)[: len(at)]] = at
    rates = np.zeros(model.nv)
    rates[:6] = [0.05, 0.1, -0.1, 0.3, -0.2, 0.25]
    return {"q0": attitude.configuration(model.arm, x), "qd0": rates}


def error_by_hand(times: np.ndarray, e0: np.ndarray, ed0: np.ndarray, Kp: float, Kd: float) -> np.ndarray:
    A = np.array([[0.0, 1.0], [-Kp, -Kd]])
    return np.array([(expm(A * t) @ np.stack([e0, ed0]))[0] for t in times])


# -- computed torque, decoupling: the base's reaction is in them -------------------------------------------------------


@pytest.mark.parametrize("gravity", [(0, 0, 0), (1.0, 2.0, -9.0)])
@pytest.mark.parametrize("thrusters", [(), TORQUES])
def test_the_error_under_computed_torque_is_linear_on_a_base_that_tumbles_and_falls(gravity, thrusters):
    model = satellite(flexible=False, gravity=gravity, thrusters=thrusters)
    found = run(model, 3.0, control.ComputedTorque(SLEW, 9.0, 5.0), **tumbling(model))
    r, rd, _ = reference_motion(SLEW, 0.0)
    wanted = np.array([reference_motion(SLEW, t)[0] for t in found.time.values])
    e = error_by_hand(found.time.values, r - [0.1, 0.2], rd, 9.0, 5.0)
    assert np.abs(wanted - joints(found, model) - e).max() < 1e-6
    assert np.abs(turned(found, model)[-1]).max() > 0.1


def test_the_generalised_inertia_is_that_of_the_joints_accelerations_from_rest():
    model = satellite(flexible=False)
    q = analysis.configuration(model, [0.1, 0.7])
    M = model.mass_matrix(q)
    generalised = M[6:, 6:] - M[6:, :6] @ np.linalg.solve(M[:6, :6], M[:6, 6:])
    reaction = np.linalg.inv(np.linalg.inv(M)[6:, 6:])
    assert np.abs(generalised - reaction).max() < 1e-9
    x, n = ca.SX.sym("x", model.nv), model.nv
    law = ca.Function(
        "law", [x], [control.ComputedTorque((0.0, 0.0), 1.0, 0.0).law(model)(0.0, x, ca.DM.zeros(n), ca.SX(0, 1))[0]]
    )
    u = np.array(law(attitude.local(model.arm, q))).ravel()
    assert np.abs(u + generalised @ [0.1, 0.7]).max() < 1e-9


def test_decoupling_gives_the_joints_their_error_whatever_base_and_links_do():
    model = satellite(thrusters=TORQUES)
    found = run(model, 2.0, control.Decoupling(SLEW, 9.0, 5.0), **tumbling(model))
    r, rd, _ = reference_motion(SLEW, 0.0)
    wanted = np.array([reference_motion(SLEW, t)[0] for t in found.time.values])
    e = error_by_hand(found.time.values, r - [0.1, 0.2], rd, 9.0, 5.0)
    assert np.abs(wanted - joints(found, model) - e).max() < 1e-6
    assert np.abs(found.q.values[:, model.coordinates.index("upper.y1")]).max() > 1e-4


# -- laws of joints that need not know the base ------------------------------------------------------------------------


@cache
def turn_of_the_slew() -> np.ndarray:
    """Of the base, from its rates at zero momentum along the motion that is wanted of the joints."""
    model = satellite()

    def rate(t: float, e: np.ndarray) -> np.ndarray:
        r, rd, _ = reference_motion(SLEW, t)
        return 0.5 * quaternions.product(e, np.r_[0.0, analysis.base_rates(model, r)[3:] @ rd])

    return quaternions.turn(solve_ivp(rate, (0.0, 2.0), [1.0, 0, 0, 0], rtol=1e-6, atol=1e-8).y[:, -1])


LAWS = {
    "JointPD": lambda: control.JointPD(SLEW, 50.0, 20.0),
    "Integral": lambda: control.Integral(control.JointPD(SLEW, 50.0, 20.0), 10.0),
    "Saturated": lambda: control.Saturated(control.JointPD(SLEW, 50.0, 20.0), 40.0),
    "StrainRate": lambda: control.StrainRate(control.JointPD(SLEW, 50.0, 20.0), 0.02, "upper"),
    "VoltageDrive": lambda: control.VoltageDrive(control.JointPD(SLEW, 50.0, 20.0)),
    "Cascaded": lambda: control.Cascaded(SLEW, 5.0, 20.0, Ti=0.5, feedforward="gravity"),
    "LQR": lambda: control.LQR(reference=SLEW),
    "Sampled": lambda: control.Sampled(control.JointPD(SLEW, 50.0, 20.0), 0.005),
    "OnLinks": lambda: control.OnLinks(control.JointPD(SLEW, 50.0, 20.0), ["upper", "fore"]),
}


@pytest.mark.parametrize("name", LAWS)
def test_laws_of_joints_bring_them_where_they_shall_be_and_the_base_goes_where_momentum_sends_it(name):
    model = satellite(thrusters=() if name == "LQR" else TORQUES)
    found = run(model, 5.0, LAWS[name]())
    assert np.abs(joints(found, model)[-1] - [0.8, -0.4]).max() < 5e-3
    assert not found.u.values[:, 2:].any()  # thrusters are off
    assert found.attrs["momentum_drift"] < 1e-8  # as the run was asked for
    assert found.attrs["angular_momentum_drift"] < 1e-8
    # the arm at rest again: so is the base, and it is turned by what the way there takes, not by what the law was
    assert np.abs(found.qd.values[-1, :6]).max() < 0.02
    assert np.abs(turned(found, model)[-1] - turn_of_the_slew()).max() < 0.02


def test_the_feedforward_of_a_cascade_is_exact_on_a_free_base_that_only_the_joints_move():
    model = satellite(flexible=False)
    r, rd, _ = reference_motion(SLEW, 0.0)
    found = run(model, 2.5, control.Cascaded(SLEW, 1.0, 1.0, feedforward="dynamics"))
    wanted = np.array([reference_motion(SLEW, t)[0] for t in found.time.values])
    assert np.abs(wanted - joints(found, model)).max() < 1e-6


def test_an_arm_on_a_free_base_weighs_nothing_for_a_pd_law():
    falling = satellite(gravity=(0, 0, -9.81))
    found = run(falling, 3.0, control.JointPD((0.2, -0.3), 50.0, 20.0))
    assert np.abs(joints(found, falling) - [0.2, -0.3]).max() < 1e-9
    assert np.abs(found.u.values).max() < 1e-9


def test_voltages_for_torques_leave_thrusters_alone():
    motor = fa.Motor(torque_constant=0.2, resistance=0.5, input="voltage")
    model, plain = satellite(thrusters=TORQUES, drive=fa.Drive(motor=motor)), satellite(thrusters=TORQUES)
    pd = control.JointPD(SLEW, 50.0, 20.0)
    volts, torques = run(model, 1.0, control.VoltageDrive(pd)), run(plain, 1.0, pd)
    assert np.abs(joints(volts, model) - joints(torques, plain)).max() < 1e-6
    assert model.arm.input_units[0] == "V"


def test_a_controller_designed_for_fewer_modes_finds_its_coordinates_by_their_names():
    model, nominal = satellite(modes=2), satellite()
    found = run(model, 5.0, control.DesignedFor(control.LQR(reference=SLEW), nominal))
    assert np.abs(joints(found, model)[-1] - [0.8, -0.4]).max() < 5e-3


def test_the_rate_of_strain_damps_a_panel_of_a_free_bus():
    model = satellite()
    at = (0.0, 0.3)

    def ratio(K: float) -> float:
        return float(
            controlled_vibrations(model, control.StrainRate(control.JointPD(at, 50.0, 20.0), K, "upper"))[1].min()
        )

    # the spring of the law rules the hub: see StrainRate
    assert ratio(-0.03) > 1.02 * ratio(0.0)
    assert ratio(0.03) < 0.98 * ratio(0.0)


# -- LQR: what can be held ---------------------------------------------------------------------------------------------


def test_lqr_of_joints_alone_leaves_the_base_out_and_has_the_poles_of_the_loop():
    model = satellite()
    law = control.LQR(joints=(0.2, -0.3)).law(model)
    assert law.facts["left_out"] == attitude.LOCAL
    assert law.facts["coordinates"] == ("upper.joint", "fore.joint", "upper.y1")
    at = np.r_[attitude.local(model.arm, analysis.configuration(model, (0.2, -0.3))), np.zeros(model.nv)]
    poles = ClosedLoop(model, law).poles(0.0, at)
    size = np.abs(poles).max()
    still = np.abs(poles) < 1e-9 * size
    assert still.sum() == 6  # momentum
    found = sorted(law.facts["poles"], key=lambda s: (round(s.real, 6), s.imag))
    assert np.allclose(sorted(poles[~still], key=lambda s: (round(s.real, 6), s.imag)), found, rtol=1e-6)


def test_lqr_asks_for_nothing_of_joints_that_move_as_its_reference():
    model = satellite()
    law, t = control.LQR(reference=SLEW).law(model), 0.7
    r, rd, _ = reference_motion(SLEW, t)
    x, v = np.zeros(model.nv), np.zeros(model.nv)
    x[:6], v[:6] = 0.3, -0.2  # whatever the base does
    x[6:8], v[6:8] = r, rd
    assert np.abs(np.array(ca.DM(law(t, ca.DM(x), ca.DM(v), ca.SX(0, 1))[0]))).max() < 1e-9
    v[6] += 0.1
    assert np.abs(np.array(ca.DM(law(t, ca.DM(x), ca.DM(v), ca.SX(0, 1))[0]))).max() > 0.1


def test_lqr_on_a_heavy_base_is_that_on_a_fixed_one():
    heavy, fixed = satellite(mass=1e10), satellite(mass=None)
    K, other = (control.LQR(joints=(0.2, -0.3)).law(x).facts["K"] for x in (heavy, fixed))
    assert np.abs(K - other).max() < 1e-5 * np.abs(other).max()


def test_lqr_holds_arm_and_attitude_by_wheels_whose_angles_do_not_matter():
    model = satellite(wheels=True)
    ref = fa.Quintic((0.0, 0.3, 0, 0, 0), (0.8, -0.4, 0, 0, 0), 2.0)
    law = control.LQR(reference=ref, wheels=WHEELS)
    facts = law.law(model).facts
    assert facts["coordinates"][:3] == attitude.LOCAL[3:]
    assert set(facts["left_out"]) == {*attitude.LOCAL[:3], *(f"{name}.joint" for name in WHEELS)}
    found = run(model, 12.0, law)
    assert np.abs(turned(found, model)[-1]).max() < 1e-3
    assert np.abs(joints(found, model)[-1, :2] - [0.8, -0.4]).max() < 1e-3
    assert found.attrs["angular_momentum_drift"] < 1e-9
    held = run(model, 12.0, control.LQR(reference=ref))  # wheels like any other joint: the base turns
    assert np.abs(turned(held, model)[-1]).max() > 0.1
    assert np.abs(joints(held, model)[-1, 2:]).max() < 1e-3


def test_lqr_with_thrusters_that_turn_leaves_out_the_place_alone_and_kills_a_tumble():
    model = satellite(thrusters=TORQUES)
    law = control.LQR(joints=(0.1, 0.2))
    assert law.law(model).facts["left_out"] == attitude.LOCAL[:3]
    start = tumbling(model)
    start["q0"][3:7] = quaternions.quaternion(np.array([0.1, -0.1, 0.05]))
    start["qd0"] = 0.2 * start["qd0"]
    found = run(model, 15.0, law, **start)
    assert np.abs(turned(found, model)[-1]).max() < 5e-3
    assert np.abs(found.qd.values[-1, 3:]).max() < 5e-3
    pushes = tuple(fa.Thruster(name=f"f{k}", direction=d) for k, d in AXES.items())
    assert control.LQR(joints=(0.1, 0.2)).law(satellite(thrusters=TORQUES + pushes)).facts["left_out"] == ()


# -- the attitude ------------------------------------------------------------------------------------------------------


def bus(thrusters: tuple = TORQUES, wheels: bool = False) -> fa.Model:
    """A bus alone: a small mass rides on it."""
    links = [fa.Link(name="mast", joint=fa.Fixed(), body=fa.Rigid(length=0.1, mass=0.01))]
    links += [fa.reaction_wheel(name, d, 0.05, mass=1e-9) for name, d in zip(WHEELS, AXES.values(), strict=True)]
    base = fa.FreeBase(mass=50.0, inertia=[8.0, 7.0, 9.0], thrusters=thrusters)
    return fa.Model(fa.Arm(name="bus", links=links, base=base, tip="mast"))


def test_a_turn_about_an_axis_under_attitude_pd_is_that_of_a_pendulum_with_its_half_angle():
    model, kp, kd = bus(), 3.0, 4.0
    q0 = np.array(model.arm.rest)
    q0[3:7] = quaternions.quaternion(np.array([0, 0, 2.8]))
    found = run(model, 8.0, control.AttitudePD(kp, kd), q0=q0)
    J = 1.0 / np.linalg.inv(model.mass_matrix(q0))[5, 5]  # a wheel does not turn in space about its axis
    exact = solve_ivp(
        lambda t, x: [x[1], (-2 * kp * np.sin(x[0] / 2) - kd * x[1]) / J], (0, 8.0), [2.8, 0.0],
        t_eval=found.time.values, rtol=1e-10, atol=1e-12,
    ).y[0]  # fmt: skip
    assert np.abs(turned(found, model)[:, 2] - exact).max() < 1e-5


@pytest.mark.parametrize("angle", [3.0, 3.3, -3.3, 6.0])
def test_the_base_goes_back_the_shorter_way_and_does_not_unwind(angle):
    model = bus()
    q0 = np.array(model.arm.rest)
    q0[3:7] = np.r_[np.cos(angle / 2), np.sin(angle / 2) * np.array([0.6, 0.0, 0.8])]
    found = run(model, 30.0, control.AttitudePD(3.0, 8.0), q0=q0)
    other = run(model, 30.0, control.AttitudePD(3.0, 8.0), q0=np.r_[q0[:3], -q0[3:7], q0[7:]])
    assert np.abs(found.qd.values - other.qd.values).max() < 1e-9  # two quaternions of one attitude
    e = found.q.values[:, 3:7]
    turns = np.linalg.norm(quaternions.turn(e), axis=1)
    assert turns.max() <= turns[0] + 1e-6
    assert turns[-1] < 1e-2


def test_wheels_hold_the_bus_while_the_arm_moves_and_keep_the_angular_momentum():
    model = satellite(wheels=True)
    names = [f"{name}.joint" for name in WHEELS]
    arm = control.OnLinks(control.ComputedTorque(SLEW, 25.0, 10.0), ["upper", "fore"])
    found = run(model, 20.0, control.AttitudePD(40.0, 40.0, names, controller=arm))
    assert np.abs(turned(found, model)).max() < 0.15
    assert np.abs(turned(found, model)[-1]).max() < 1e-3
    assert np.abs(joints(found, model)[-1, :2] - [0.8, -0.4]).max() < 1e-3
    assert found.attrs["angular_momentum_drift"] < 1e-9
    alone = run(model, 20.0, arm)
    assert np.abs(turned(alone, model)[-1]).max() > 0.1
    assert not alone.u.values[:, 2:].any()


@pytest.mark.parametrize(("start", "end"), [(-2.0, 2.0), (2.0, -2.0), (1.0, -1.5)])
def test_the_shorter_way_to_another_attitude_may_lead_through_half_a_turn_from_rest(start, end):
    model, axis = bus(), np.array([0.6, 0.0, 0.8])
    q0, wanted = np.array(model.arm.rest), quaternions.quaternion(end * axis)
    q0[3:7] = quaternions.quaternion(start * axis)
    found = run(model, 30.0, control.AttitudePD(3.0, 8.0, attitude=wanted), q0=q0)
    left = np.linalg.norm(
        quaternions.turn(quaternions.product(quaternions.conjugate(wanted), found.q.values[:, 3:7])), axis=1
    )
    assert left.max() <= left[0] + 1e-6
    assert left[0] < np.pi
    assert left[-1] < 1e-2


def test_another_attitude_is_reached_from_a_tumble():
    model = satellite(thrusters=TORQUES)
    wanted = quaternions.quaternion(np.array([0.4, -1.0, 0.7]))
    law = control.AttitudePD(20.0, 40.0, attitude=wanted, controller=control.JointPD((0.1, 0.2), 50.0, 20.0))
    found = run(model, 40.0, law, **tumbling(model))
    left = quaternions.turn(quaternions.product(quaternions.conjugate(wanted), found.q.values[-1, 3:7]))
    assert np.abs(left).max() < 1e-3


def test_thrusters_that_push_turn_the_base_without_pushing_where_they_can():
    at = [((0, 1, 0), (0, 0, 1)), ((0, -1, 0), (0, 0, 1)), ((0, 0, 1), (1, 0, 0)), ((0, 0, -1), (1, 0, 0)),
          ((1, 0, 0), (0, 1, 0)), ((-1, 0, 0), (0, 1, 0))]  # fmt: skip
    pairs = tuple(fa.Thruster(name=f"j{i}", at=p, direction=d) for i, (p, d) in enumerate(at))
    model = bus(pairs)
    share = control.AttitudePD(1.0, 1.0).law(model).facts["allocation"]
    wrench = model.input_matrix(np.array(model.arm.rest))[:6] @ share
    assert np.abs(wrench - np.vstack([np.zeros((3, 3)), np.eye(3)])).max() < 1e-12
    lone = control.AttitudePD(1.0, 1.0, ["base.j0"]).law(model).facts["allocation"]  # about x, and it pushes
    assert np.abs((model.input_matrix(np.array(model.arm.rest))[3:6] @ lone) - np.diag([1.0, 0, 0])).max() < 1e-12


# -- shaping -----------------------------------------------------------------------------------------------------------


def test_a_shaper_for_the_free_base_leaves_no_vibration_where_one_for_the_fixed_base_does():
    model, fixed = satellite(mass=20.0), satellite(mass=None)
    slew = fa.Quintic((0.0, 0.3), (0.4, 0.3), 0.4)
    free, held = fa.design_shaper(model, (0.4, 0.3), "zv"), fa.design_shaper(fixed, (0.4, 0.3), "zv")
    omega, _ = control.vibrations(model, analysis.configuration(model, (0.4, 0.3)))
    assert omega[0] == pytest.approx(model.frequencies(analysis.configuration(model, (0.4, 0.3)))[6], rel=1e-6)
    assert free.duration < held.duration

    def left(shaper: fa.Shaper | None) -> float:
        reference = slew if shaper is None else fa.shaped(slew, shaper)
        end = 0.4 if shaper is None else 0.4 + shaper.duration
        found = run(model, end + 1.0, fa.PrescribedMotion(reference))
        y = found.qd.values[found.time.values > end, model.velocities.index("upper.y1")]
        return float(np.abs(y).max())

    assert left(free) < 0.05 * left(None)
    assert left(held) > 5.0 * left(free)


def test_vibrations_under_a_controller_are_the_poles_of_the_arm_beside_its_momentum():
    model = satellite()
    omega, zeta = controlled_vibrations(model, control.JointPD((0.2, -0.3), 500.0, 2.0))
    q = analysis.configuration(model, (0.2, -0.3))
    M, K = model.mass_matrix(q), np.array(model.slope("stiffness_force", "q")(q))
    D = np.array(model.slope("damping_force", "qd")(q, np.zeros(model.nv)))
    K[6:8, 6:8] += 500.0 * np.eye(2)
    D[6:8, 6:8] += 2.0 * np.eye(2)
    reduced = M[6:, 6:] - M[6:, :6] @ np.linalg.solve(M[:6, :6], M[:6, 6:])
    n = len(reduced)
    A = np.block(
        [[np.zeros((n, n)), np.eye(n)], [-np.linalg.solve(reduced, K[6:, 6:]), -np.linalg.solve(reduced, D[6:, 6:])]]
    )
    poles = np.linalg.eigvals(A)
    poles = poles[poles.imag > 1e-6]
    order = np.argsort(np.abs(poles))
    assert np.allclose(omega, np.abs(poles)[order], rtol=1e-7)
    assert np.allclose(zeta, (-poles.real / np.abs(poles))[order], rtol=1e-5)
    sampled = control.Sampled(control.JointPD((0.2, -0.3), 500.0, 2.0), 1e-4)
    assert np.allclose(controlled_vibrations(model, sampled)[0], omega, rtol=1e-2)


def test_vibrations_under_wheels_know_the_attitudes_loop():
    model = satellite(wheels=True)
    names = [f"{name}.joint" for name in WHEELS]
    arm = control.OnLinks(control.JointPD((0.0, 0.3), 500.0, 20.0), ["upper", "fore"])
    omega, _ = controlled_vibrations(model, control.AttitudePD(4.0, 0.5, names, controller=arm))
    # the bus with its arm stiff and straight, about each of its principal axes, against the spring of the law
    M = model.mass_matrix(analysis.configuration(model, (0.0, 0.3, 0, 0, 0)))
    inner = [i for i in range(model.nv) if i not in (6, 7, *model.arm.flexible)]
    torques = [inner.index(model.velocities.index(name)) for name in names]
    inverse = np.linalg.inv(M[np.ix_(inner, inner)])[3:6, torques]
    expected = np.sqrt(np.sort(np.linalg.eigvals(-inverse * 4.0).real))
    assert np.allclose(np.sort(omega)[:3], expected, rtol=0.05)


# -- refusals ----------------------------------------------------------------------------------------------------------

TAKES = "the base of arm 'sat' is free, and the controller needs a fixed base"


@pytest.mark.parametrize(
    ("controller", "message"),
    [
        (control.Composite(SLEW, 4.0, 4.0), f"Composite: {TAKES}; use ComputedTorque, Decoupling or LQR"),
        (control.ScheduledLQR(SLEW), f"ScheduledLQR: {TAKES}; use LQR with a reference"),
        (
            control.Observed(control.JointPD(SLEW, 1.0, 1.0), [fa.Encoder(coordinate="upper.joint", noise=1e-3)]),
            f"Observed: {TAKES}; give the controller the state, without Observed",
        ),
        (
            control.LQR(joints=(0, 0), wheels=["tail"]),
            "LQR: wheels has 'tail'; links whose joints move are upper, fore",
        ),
        (control.LQR(joints=(0, 0), wheels="upper"), "LQR: wheels is 'upper'; it must be names of links"),
        (control.LQR(joints=(0, 0), wheels=[["upper"]]), "LQR: wheels has"),
        (
            control.AttitudePD(1, 1),
            "AttitudePD: actuators is missing, and the arm has no thruster; give the inputs of its wheels",
        ),
        (
            control.AttitudePD(1, 1, ["fore"]),
            "AttitudePD: actuators has the unknown name 'fore'; did you mean 'fore.joint'[?] The "
            "inputs of the arm are upper.joint, fore.joint",
        ),
        (control.AttitudePD(1, 1, ["fore.joint"]), "'fore.joint', which is not a wheel"),
        (control.AttitudePD(1, 1, ["upper.joint"] * 2), "actuators has 'upper.joint' twice; give each actuator once"),
        (
            control.AttitudePD(1, 1, ["upper.joint"], attitude=(1, 1, 0, 0)),
            "attitude is .* it must be a unit quaternion",
        ),
        (control.AttitudePD(1, 1, ["upper.joint"], attitude=(1, 0, 0)), "attitude is .* it must be a unit quaternion"),
        (
            control.OnLinks(control.JointPD(0.0, 1, 1), ["tail"]),
            "OnLinks: links has 'tail'; links whose joints move are",
        ),
        (control.OnLinks(control.JointPD(0.0, 1, 1), []), "OnLinks: links is empty; links whose joints move are"),
        (control.JointPD((1.0, 2.0, 3.0), 1, 1), "it must be a reference, one number, or 2 numbers, one per joint"),
        (control.LQR(joints=(1.0, 2.0, 3.0)), "has 3 numbers; it must have 2: upper.joint, fore.joint"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(controller, message):
    with pytest.raises(DescriptionError, match=message) as refusal:
        controller.law(satellite())
    assert "\n" not in str(refusal.value)


def test_lqr_takes_no_wheel_behind_a_spring():
    """Its motor's angle matters as little as its own, and would be held at zero: the base would stand elsewhere."""
    model = satellite(wheels=True)
    spring = fa.Revolute(stiffness=50.0, rotor_inertia=1e-3, gear_ratio=10.0)
    links = [x.replace(joint=spring) if x.name == WHEELS[0] else x for x in model.arm.links]
    with pytest.raises(
        DescriptionError, match=f"LQR: wheels has '{WHEELS[0]}', whose joint is elastic; the joint of a wheel must"
    ):
        control.LQR(joints=np.zeros(len(model.arm.joints)), wheels=WHEELS).law(fa.Model(model.arm.replace(links=links)))


def test_a_base_that_is_not_free_has_no_attitude_and_no_wheels():
    fixed = satellite(mass=None)
    with pytest.raises(DescriptionError, match="AttitudePD: the base of arm 'sat' is fixed; AttitudePD needs"):
        control.AttitudePD(1.0, 1.0, ["upper.joint"]).law(fixed)
    with pytest.raises(DescriptionError, match="LQR: wheels does not apply to arm 'sat', whose base is fixed"):
        control.LQR(joints=(0, 0), wheels=["upper"]).law(fixed)
    lone = bus((fa.Thruster(name="main", direction=(1, 0, 0)),))
    with pytest.raises(DescriptionError, match=r"none of the actuators .* turns the base"):
        control.AttitudePD(1.0, 1.0).law(lone)


def test_a_controller_of_some_links_refuses_coupled_joints():
    links = [fa.Link(name=n, joint=fa.Revolute(axis=(0, 0, 1)), body=fa.Rigid(length=1, mass=1)) for n in ("a", "b")]
    model = fa.Model(
        fa.Arm(name="coupled", links=links, couplings=[fa.Coupling(links=["a", "b"], matrix=[[1, 0], [1, 1]])])
    )
    with pytest.raises(DescriptionError, match="OnLinks: arm 'coupled' has coupled joints"):
        control.OnLinks(control.JointPD(0.0, 1, 1), ["a"]).law(model)


def test_a_controller_of_some_links_works_on_a_fixed_base_too():
    model = satellite(mass=None)
    found = run(model, 4.0, control.OnLinks(control.JointPD(0.5, 50.0, 20.0), ["fore"]), q0=[0, 0, 0])
    assert abs(found.q.values[-1, 1] - 0.5) < 1e-2
    assert not found.u.values[:, 0].any()
    assert found.u.values[:, 1].any()
