"""Motors: closed forms of a winding and a rotor, limits, gears, an independent integration, the account of energy."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm

import flexarm as fa
from flexarm import control
from flexarm.errors import DescriptionError

KT, R, L, G, IR = 0.12, 0.8, 3e-3, 50.0, 2e-4
VOLTS = {"input": "voltage", "torque_constant": KT, "resistance": R}
TIGHT = {"method": "dop853", "rtol": 1e-11, "solver": fa.Solver(atol=1e-13)}
EXACT = 1e-9  # of a run with these tolerances


def arm(motor=None, body=None, gravity=(0.0, 0.0, 0.0), drive=None, **joint):
    """One joint about z; the link lies along x."""
    parts = {} if motor is None else {"motor": fa.Motor(**motor)}
    joint = {"rotor_inertia": IR, "gear_ratio": G} | joint
    turns = fa.Revolute(drive=fa.Drive(**parts, **(drive or {})), **joint)
    return fa.Arm(
        name="one", gravity=gravity, links=[fa.Link(name="l", joint=turns, body=body or fa.Rigid(length=0.5, mass=2.0))]
    )


def inertia(described):
    return float(fa.Model(described).mass_matrix([0.0])[0, 0])


def torque(described, u, v):
    """Behind the gear, from the acceleration of one joint without gravity."""
    u, v = np.broadcast_arrays(np.atleast_1d(u), v)
    qdd = fa.Model(described).forward_dynamics(np.zeros((len(v), 1)), v[:, None], u[:, None])
    return inertia(described) * qdd[:, 0]


# -- the winding -------------------------------------------------------------------------------------------------------


def test_a_locked_rotor_draws_v_over_r_after_the_time_l_over_r():
    described = arm(VOLTS | {"inductance": L}, rotor_inertia=1e9)
    assert fa.Model(described).states == ("l.motor.current",)
    run = fa.simulate(fa.Model(described), 5 * L / R, u=[12.0], samples=51, **TIGHT)
    t = run.time.values
    assert run.drive_state.values[:, 0] == pytest.approx(12.0 / R * (1 - np.exp(-t * R / L)), abs=EXACT)
    assert run.state_unit.values.tolist() == ["A"]


def test_the_torque_speed_line_of_a_voltage_ends_at_the_stall_torque_and_the_speed_without_load():
    described, V = arm(VOLTS), 24.0
    stall, fastest = KT * G * V / R, V / (KT * G)
    v = np.linspace(-1.0, 1.5, 7) * fastest
    assert torque(described, V, v) == pytest.approx(stall * (1 - v / fastest), rel=1e-12, abs=1e-10)


def test_a_run_up_without_inductance_is_the_exponential_of_the_mechanical_time_constant():
    described, V = arm(VOLTS), 24.0
    time = inertia(described) * R / (KT * G) ** 2
    run = fa.simulate(fa.Model(described), 4 * time, u=[V], samples=41, **TIGHT)
    t, fastest = run.time.values, V / (KT * G)
    assert run.qd.values[:, 0] == pytest.approx(fastest * (1 - np.exp(-t / time)), abs=EXACT)


@pytest.mark.parametrize("ke", [None, 0.09])
def test_a_run_up_with_inductance_is_the_matrix_exponential(ke):
    described, V = arm(VOLTS | {"inductance": L, "back_emf_constant": ke}), 24.0
    k, J = KT if ke is None else ke, inertia(described)
    A = np.array([[-R / L, -k * G / L], [KT * G / J, 0.0]])
    still = np.linalg.solve(A, [-V / L, 0.0])
    run = fa.simulate(fa.Model(described), 0.1, u=[V], samples=31, **TIGHT)
    found = np.column_stack([run.drive_state.values[:, 0], run.qd.values[:, 0]])
    wanted = [still - expm(A * t) @ still for t in run.time.values]
    assert found == pytest.approx(np.array(wanted), abs=1e-8)
    assert run.energy_drift < EXACT


def test_the_power_supplied_is_voltage_times_current_and_a_winding_stores_half_l_i_squared():
    model = fa.Model(arm(VOLTS | {"inductance": L}))
    q, qd, i, u = np.array([0.3]), np.array([1.7]), np.array([2.5]), np.array([9.0])
    assert model.evaluate("power", q, qd, u, s=i) == pytest.approx(9.0 * 2.5)
    kinetic, potential = model.energy(q, qd, s=i)
    assert potential == pytest.approx(0.5 * L * 2.5**2)
    rate = model.evaluate("state_rate", q, qd, u, s=i)
    assert rate[2] == pytest.approx((9.0 - R * 2.5 - KT * G * 1.7) / L)
    assert rate[-1] == pytest.approx(R * 2.5**2)


def test_the_current_starts_where_it_is_told():
    model = fa.Model(arm(VOLTS | {"inductance": L}, rotor_inertia=1e9))
    run = fa.simulate(model, L / R, u=[0.0], s0=[4.0], samples=3, **TIGHT)
    assert run.drive_state.values[-1, 0] == pytest.approx(4.0 / np.e, abs=EXACT)


# -- limits ------------------------------------------------------------------------------------------------------------


def test_sharp_limits_are_exact_and_smooth_ones_off_by_their_share_at_worst():
    u = np.linspace(-60.0, 60.0, 49)
    sharp = torque(arm({"torque_limit": 20.0, "saturation": "sharp"}), u, 0.0)
    assert sharp == pytest.approx(np.clip(u, -20.0, 20.0), abs=1e-12)
    smooth = torque(arm({"torque_limit": 20.0, "saturation_width": 0.05}), u, 0.0)
    off = np.abs(smooth - np.clip(u, -20.0, 20.0))
    assert off.max() <= 0.05 * 20.0 / 2
    assert off.max() > 0.05 * 20.0 / 2.1  # at the limit itself
    slope = fa.Model(arm({"torque_limit": 20.0})).slope("forward_dynamics", "u")
    at = [float(slope([0.0], [0.0], [x])[0, 0]) * inertia(arm({})) for x in (0.0, 20.0, 200.0)]
    assert at == pytest.approx([1.0, 0.5, 0.0], abs=1e-4)


def test_the_line_of_a_speed_limit():
    described = arm({"torque_limit": 20.0, "speed_limit": 4.0, "stall_torque": 30.0, "saturation": "sharp"})
    v = np.array([-3.0, 0.0, 1.0, 4 / 3, 2.0, 3.0, 4.0, 5.0])
    assert torque(described, 100.0, v) == pytest.approx(np.clip(30.0 * (1 - v / 4.0), 0.0, 20.0), abs=1e-12)
    assert torque(described, -100.0, -v) == pytest.approx(-np.clip(30.0 * (1 - v / 4.0), 0.0, 20.0), abs=1e-12)
    assert torque(arm({"torque_limit": 20.0, "speed_limit": 4.0}), 100.0, 2.0) == pytest.approx([10.0], abs=0.2)
    assert torque(arm({"stall_torque": 20.0, "speed_limit": 4.0}), 100.0, -2.0) == pytest.approx([20.0], abs=0.4)


@pytest.mark.parametrize("most", [None, 25.0])
def test_a_torque_speed_curve_is_interpolated_and_holds_in_both_directions(most):
    curve = {"speed": [0.5, 1.5, 3.0], "torque": [30.0, 22.0, 4.0]}
    described = arm({"torque_speed": curve, "torque_limit": most, "saturation": "sharp"})
    v = np.array([-2.0, 0.0, 0.5, 1.0, 1.5, 2.0, 2.9, 3.5])
    wanted = np.minimum(np.interp(v, curve["speed"], curve["torque"]), most or np.inf)
    assert torque(described, 80.0, v) == pytest.approx(wanted, abs=1e-12)
    assert torque(described, -80.0, -v) == pytest.approx(-wanted, abs=1e-12)
    assert torque(described, 1.0, v) == pytest.approx(np.ones(len(v)), abs=1e-12)


def test_a_point_on_the_line_between_its_neighbours_changes_no_torque():
    """The curve is steady at first, then falls by 8 N m per rad/s through a point that lies on the line."""
    more = {"speed": [0.0, 0.5, 1.0, 1.5, 2.5], "torque": [30.0, 30.0, 26.0, 22.0, 14.0]}
    fewer = {"speed": [0.5, 2.5], "torque": [30.0, 14.0]}
    v = np.linspace(-1.0, 3.0, 17)
    found = [torque(arm({"torque_speed": each, "saturation": "sharp"}), 80.0, v) for each in (more, fewer)]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-14)
    assert found[0] == pytest.approx(np.interp(v, fewer["speed"], fewer["torque"]), abs=1e-12)


def test_an_amplifier_lowers_its_voltage_at_the_current_limit_and_has_a_limit_of_its_own():
    V, most = 24.0, 40.0
    described = arm(VOLTS | {"torque_limit": most, "voltage_limit": V, "saturation": "sharp"})
    v = np.array([-1.0, 0.0, 1.0, 3.0, 4.5])
    line = np.minimum(KT * G * (V - KT * G * v) / R, most)
    assert torque(described, 1000.0, v) == pytest.approx(line, abs=1e-10)
    current = line / (KT * G)
    power = fa.Model(described).evaluate("power", np.zeros((5, 1)), v[:, None], np.full((5, 1), 1000.0))[:, 0]
    assert power == pytest.approx(current * (R * current + KT * G * v), abs=1e-9)


def test_an_ideal_motor_costs_nothing():
    bare, ideal = fa.Model(arm()), fa.Model(arm({}))
    for name in ("forward_dynamics", "state_rate", "inverse_dynamics", "energy"):
        assert ideal.function(name).n_instructions() == bare.function(name).n_instructions()


# -- the gear ----------------------------------------------------------------------------------------------------------


def test_a_gear_loses_its_share_driving_and_driven():
    described = arm({"efficiency": 0.8, "back_efficiency": 0.7, "efficiency_rate": 1e-3})
    found = torque(described, [10.0, -10.0, -10.0, 10.0, 10.0], [2.0, -2.0, 2.0, -2.0, 0.0])
    assert found == pytest.approx([8.0, -8.0, -10.0 / 0.7, 10.0 / 0.7, 10.0], rel=1e-12)
    # braking with 10 N m at 2 rad/s the motor takes up 20 W of the 20 / 0.7 W that the joint gives
    model = fa.Model(described)
    rate = model.evaluate("state_rate", [0.0], [2.0], [-10.0])
    assert rate[-2:] == pytest.approx([-20.0, 20.0 / 0.7 - 20.0])
    rate = model.evaluate("state_rate", [0.0], [2.0], [10.0])
    assert rate[-2:] == pytest.approx([20.0, 4.0])


def test_what_a_gear_loses_is_never_negative():
    model = fa.Model(arm({"efficiency": 0.6, "back_efficiency": 0.9, "efficiency_rate": 0.5}))
    rng = np.random.default_rng(3)
    v, u = rng.normal(size=(200, 1)), rng.normal(size=(200, 1)) * 5
    lost = model.evaluate("state_rate", np.zeros((200, 1)), v, u)[:, -1]
    assert (lost >= 0).all() and lost.max() > 0.1


# -- all of it against an integration of its own -----------------------------------------------------------------------


def test_an_elastic_joint_with_everything_on_against_an_integration_by_hand():
    """Motor with inductance and a limited voltage, gear, friction and a spring, a link that falls: written out anew."""
    m, l, g, k, d = 2.0, 0.5, 9.81, 400.0, 0.3
    Fc, vc, viscous, eta, ve, V, share = 0.6, 0.02, 0.15, 0.75, 0.05, 9.0, 0.02
    motor = VOLTS | {
        "inductance": L, "voltage_limit": V, "saturation_width": share, "efficiency": eta, "efficiency_rate": ve,
    }  # fmt: skip
    body = fa.Rigid(length=l, mass=m, com=(l, 0.0, 0.0), inertia=(0.0, 0.0, 0.0))
    drive = {"friction": fa.Friction(coulomb=Fc, viscous=viscous, creep_rate=vc)}
    described = arm(motor, body, (0.0, -g, 0.0), drive, stiffness=k, spring_damping=d)
    ends, volts = [0.0, 0.25, 0.5, 0.8], [14.0, -6.0, 3.0]

    def rate(t, x, u):
        q, theta, qd, w, i, *_ = x
        z = 0.5 * (np.sqrt((u + V) ** 2 + (share * V) ** 2) - np.sqrt((u - V) ** 2 + (share * V) ** 2))
        tau, sigma = KT * G * i, np.tanh(w / ve)
        onto = 1 - eta if tau * sigma > 0 else 1 / eta - 1
        mean, half = 0.5 * ((1 - eta) + (1 / eta - 1)), 0.5 * ((1 - eta) - (1 / eta - 1))
        resisting = abs(tau) * sigma * mean + tau * sigma**2 * half
        if abs(w) > 20 * ve:  # beyond the onset, the plain law
            assert abs(abs(resisting) - onto * abs(tau)) < 1e-12 * (1 + abs(tau))
        spring = k * (theta - q) + d * (w - qd)
        wd = (tau - resisting - spring - Fc * np.tanh(w / vc) - viscous * w) / (G**2 * IR)
        qdd = (spring - m * g * l * np.cos(q)) / (m * l**2)
        return [qd, w, qdd, wd, (z - R * i - KT * G * w) / L, z * i]

    x = np.zeros(6)
    for (start, end), u in zip(pairwise(ends), volts, strict=True):
        x = solve_ivp(rate, (start, end), x, args=(u,), method="DOP853", rtol=1e-11, atol=1e-13).y[:, -1]
    u = fa.Piecewise(ends[:-1], np.array(volts)[:, None])
    run = fa.simulate(fa.Model(described), ends[-1], u=u, samples=9, **TIGHT)
    found = [*run.q.values[-1], *run.qd.values[-1], run.drive_state.values[-1, 0], run.work.values[-1]]
    assert found == pytest.approx(x.tolist(), rel=1e-7, abs=1e-8)
    assert run.energy_drift < 1e-9
    assert np.abs(np.gradient(run.work.values, run.time.values)[1:-1]).max() > 1.0


@pytest.mark.parametrize(
    "motor",
    [
        VOLTS | {"inductance": L, "voltage_limit": 6.0, "efficiency": 0.8},
        VOLTS | {"torque_limit": 15.0, "efficiency": 0.7, "back_efficiency": 0.5, "back_emf_constant": 0.1},
        {"torque_speed": {"speed": [0.0, 2.0], "torque": [9.0, 1.0]}, "efficiency": 0.9},
        {"torque_limit": 8.0, "speed_limit": 2.0, "saturation": "sharp"},
    ],
)
@pytest.mark.parametrize("method", ["dop853", "gauss8"])
def test_the_account_of_energy_holds(motor, method):
    body = fa.Rigid(length=0.5, mass=2.0)
    drive = {"friction": fa.Friction(coulomb=0.4), "link_friction": fa.Friction(coulomb=0.2, viscous=0.1)}
    described = arm(motor, body, (0.0, -9.81, 0.0), drive, stiffness=500.0, spring_damping=0.2)
    u = fa.Piecewise([0.0, 0.3, 0.6], np.array([[10.0], [-8.0], [4.0]]))
    run = fa.simulate(fa.Model(described), 0.9, u=u, solver=fa.Solver(method=method, rtol=1e-10, atol=1e-12))
    assert run.energy_drift < 1e-7
    assert abs(run.work.values[-1]) > 0.1 and run.dissipated.values[-1] > 0.1
    integral = np.trapezoid(run.power.values, run.time.values)
    assert integral == pytest.approx(float(run.work.values[-1]), rel=0.02)


# -- where the actuators are away --------------------------------------------------------------------------------------


def test_inverse_dynamics_and_prescribed_motion_know_of_no_motor():
    rng = np.random.default_rng(5)
    q, qd, qdd = rng.normal(size=(3, 1))
    with_motor, without = (fa.Model(arm(motor, gravity=(0.0, -9.81, 0.0))) for motor in (VOLTS, None))
    assert with_motor.inverse_dynamics(q, qd, qdd) == pytest.approx(without.inverse_dynamics(q, qd, qdd), abs=1e-12)
    assert with_motor.damping_force(q, qd) == pytest.approx([0.0], abs=1e-12)
    model = fa.Model(arm(VOLTS | {"inductance": L}))
    rate = model.evaluate("prescribed_rate", q, qd, qdd, s=[1.5])
    J = inertia(model.arm)
    assert rate == pytest.approx([*qd, *qdd, 0.0, J * qdd[0] * qd[0], 0.0])  # the current stays as it is
    assert model.evaluate("prescribed_force", q, qd, qdd, s=[1.5]) == pytest.approx(J * qdd)


@pytest.mark.filterwarnings("ignore::flexarm.errors.EnergyDrift")
def test_the_power_of_a_prescribed_motion_is_that_of_its_forces():
    motion = fa.PrescribedMotion(fa.Quintic(start=[0.0], end=[1.0], duration=0.5))
    found = [fa.simulate(fa.Model(arm(motor)), 0.5, u=motion, samples=11) for motor in (VOLTS, None)]
    assert found[0].power.values == pytest.approx(found[1].power.values, abs=1e-9)
    assert np.abs(found[0].power.values).max() > 1.0


def test_the_units_of_inputs():
    assert arm(VOLTS).input_units == ("V",)
    assert arm({"torque_limit": 3.0}).input_units == ("N m",)
    slide = fa.Link(name="s", joint=fa.Prismatic(), body=fa.Rigid(length=0.1, mass=1.0))
    assert arm().replace(links=[slide]).input_units == ("N",)
    fixed = fa.Link(name="f", joint=fa.Fixed(), body=fa.Rigid(length=0.1, mass=1.0))
    assert arm(VOLTS).replace(links=[fixed, *arm(VOLTS).links]).input_units == ("V",)


def test_a_slide_is_driven_as_a_joint_is():
    motor = fa.Motor(**VOLTS)
    slide = fa.Prismatic(axis=(1, 0, 0), rotor_inertia=IR, gear_ratio=400.0, drive=fa.Drive(motor=motor))
    described = fa.Arm(name="s", links=[fa.Link(name="s", joint=slide, body=fa.Rigid(length=0.1, mass=3.0))])
    J, V, v = 3.0 + 400.0**2 * IR, 12.0, 0.05
    found = fa.Model(described).forward_dynamics([0.0], [v], [V])
    assert J * found == pytest.approx([KT * 400.0 * (V - KT * 400.0 * v) / R])


# -- from a file, and what is refused ----------------------------------------------------------------------------------


def test_a_motor_in_a_file(tmp_path):
    file = tmp_path / "one.toml"
    file.write_text(
        """
name = "one"
[[links]]
name = "l"
body = { type = "rigid", length = 0.5, mass = 2.0 }
[links.joint]
type = "revolute"
rotor_inertia = 2e-4
gear_ratio = 50.0
[links.joint.drive.motor]
input = "voltage"
torque_constant = 0.12
resistance = 0.8
inductance = 3e-3
"""
    )
    found = fa.load(file)
    assert found.links[0].joint == arm(VOLTS | {"inductance": L}).links[0].joint
    assert fa.Arm.from_json(found.canonical()) == found


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"input": "voltage", "resistance": 1.0}, "torque_constant is missing; a motor with input = 'voltage'"),
        ({"input": "voltage", "torque_constant": 1.0}, "resistance is missing; a motor with input = 'voltage'"),
        (VOLTS | {"speed_limit": 3.0}, "speed_limit is given, but follows from the back-EMF"),
        (VOLTS | {"inductance": L, "torque_limit": 3.0}, "torque_limit is given together with inductance"),
        ({"voltage_limit": 3.0}, 'voltage_limit is given; it applies only to input = "voltage"'),
        (
            {"torque_speed": {"speed": [0.0], "torque": [1.0]}, "speed_limit": 2.0},
            "give either this curve or their line",
        ),
        ({"stall_torque": 3.0}, "stall_torque is given without speed_limit"),
        ({"speed_limit": 3.0}, "stall_torque is missing; speed_limit needs it"),
        ({"torque_speed": {"speed": [1.0, 1.0], "torque": [1.0, 2.0]}}, r"speed is \[1.0, 1.0\]; it must increase"),
        (
            {"torque_speed": {"speed": [1.0], "torque": [1.0, 2.0]}},
            "torque has 2 numbers; it must have 1, one per speed",
        ),
        ({"torque_speed": {"speed": [1.0], "torque": [0.0]}}, "torque begins with 0.0; it must begin with a positive"),
        ({"torque_speed": [[0.0, 1.0]]}, "torque_speed is .*; it must be a table such as"),
        ({"efficiency": 0.0}, "efficiency is 0.0; it must be above 0 and at most 1"),
        ({"input": "current"}, "input is 'current'; it must be 'torque' or 'voltage'"),
    ],
)
def test_what_is_refused(given, said):
    with pytest.raises(DescriptionError, match=said) as error:
        fa.Motor(**given)
    assert "\n" not in str(error.value)


# -- laws that give torques --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("controller", "name"),
    [
        (control.ComputedTorque(0.5, 100.0, 20.0), "ComputedTorque"),
        (control.LQR(joints=[0.5], bandwidth=5.0), "LQR"),
        (control.Decoupling(0.5, 100.0, 20.0), "Decoupling"),
        (control.JointPD(0.5, 100.0, 20.0), "JointPD"),
        (control.Composite(0.5, 100.0, 20.0), "Composite"),
        (control.ScheduledLQR(fa.Quintic(start=[0.0], end=[1.0], duration=1.0)), "ScheduledLQR"),
    ],
)
def test_laws_that_give_torques_refuse_voltages(controller, name):
    model = fa.Model(arm(VOLTS, gravity=(0.0, -9.81, 0.0)))
    with pytest.raises(
        DescriptionError, match=rf"{name}: .* is a voltage; the controller returns torques: use VoltageDrive"
    ):
        fa.simulate(model, 0.1, u=controller)


def test_open_loop_torques_refuse_voltages():
    reference = fa.Quintic(start=[0.0], end=[1.0], duration=1.0)
    with pytest.raises(DescriptionError, match="is a voltage; rigid inverse dynamics return torques"):
        fa.simulate(fa.Model(arm(VOLTS)), 0.1, u=fa.RigidInverseDynamics(reference))


def test_joint_pd_without_gravity_may_give_volts():
    run = fa.simulate(fa.Model(arm(VOLTS)), 2.0, u=control.JointPD(0.5, 60.0, 0.0))
    assert run.q.values[-1, 0] == pytest.approx(0.5, abs=1e-3)


def test_a_torque_law_behind_a_voltage_drive_is_as_good_as_one_on_torques():
    reference = fa.Quintic(start=[0.2], end=[1.4], duration=0.6)
    law = control.ComputedTorque(reference, 200.0, 25.0)
    gravity = (0.0, -9.81, 0.0)
    volts = fa.simulate(fa.Model(arm(VOLTS, gravity=gravity)), 1.0, u=control.VoltageDrive(law), **TIGHT)
    torques = fa.simulate(fa.Model(arm(gravity=gravity)), 1.0, u=law, **TIGHT)
    assert volts.q.values == pytest.approx(torques.q.values, abs=1e-8)
    back = KT * G / R * (volts.u.values - KT * G * volts.qd.values)
    assert back == pytest.approx(torques.u.values, abs=1e-6)
    same = fa.simulate(fa.Model(arm(gravity=gravity)), 1.0, u=control.VoltageDrive(law), **TIGHT)
    assert same.q.values == pytest.approx(torques.q.values, abs=1e-12)


def test_a_memory_behind_a_voltage_drive_knows_the_torque_that_reaches_the_arm():
    """Saturated(Integral) with the voltage cut off: the same as on torques cut off, the back-EMF being known."""
    limit, law = (
        4.0,
        control.Integral(control.JointPD(fa.Quintic(start=[0.0], end=[1.0], duration=0.2), 10.0, 5.0), 3.0),
    )
    model = fa.Model(arm(VOLTS | {"voltage_limit": limit}))
    run = fa.simulate(model, 1.0, u=control.Sampled(control.VoltageDrive(law), 0.01), samples=101)
    assert np.abs(run.u.values).max() == limit
    assert np.abs(run.q.values[-1]).max() > 0.1


def test_a_voltage_drive_leaves_the_lag_of_the_winding():
    """A held torque is reached with L / R, the rotor being locked."""

    class Held:
        def law(self, model, period=None):
            return control.Law(lambda t, q, qd, z: ([6.0], []))

    model = fa.Model(arm(VOLTS | {"inductance": L}, rotor_inertia=1e9))
    run = fa.simulate(model, 3 * L / R, u=control.VoltageDrive(Held()), samples=4, **TIGHT)
    t = run.time.values
    assert KT * G * run.drive_state.values[:, 0] == pytest.approx(6.0 * (1 - np.exp(-t * R / L)), abs=1e-8)
