"""Cascaded control: the loops one by one against their closed forms, saturation, feedforward, files."""

import numpy as np
import pytest
from scipy.linalg import expm

import flexarm as fa
from flexarm import control
from flexarm.errors import DescriptionError
from flexarm.scenario import Scenario

KT, R, L, G, IR = 0.12, 0.8, 3e-3, 50.0, 2e-4
WINDING = {"input": "voltage", "torque_constant": KT, "resistance": R, "inductance": L}
T = 1e-3
TIGHT = {"method": "dop853", "rtol": 1e-11, "solver": fa.Solver(atol=1e-13)}


def arm(motor=None, gravity=(0.0, 0.0, 0.0), drive=None, **joint):
    parts = {} if motor is None else {"motor": fa.Motor(**motor)}
    joint = {"rotor_inertia": IR, "gear_ratio": G} | joint
    turns = fa.Revolute(drive=fa.Drive(**parts, **(drive or {})), **joint)
    links = [fa.Link(name="l", joint=turns, body=fa.Rigid(length=0.5, mass=2.0))]
    return fa.Arm(name="one", gravity=gravity, links=links)


def sampled(law, period=T, **more):
    return control.Sampled(law, period, **more)


def inertia(described):
    return float(fa.Model(described).mass_matrix([0.0])[0, 0])


def test_the_current_follows_its_loop_s_pole_from_sample_to_sample():
    """The rotor locked, tau* constant: i_k = i* (1 - p^k), p = exp(-bandwidth T), exactly."""
    bandwidth, locked = 400.0, fa.Model(arm(WINDING, rotor_inertia=1e12))
    law = control.Cascaded(0.5, Kp=10.0, Kv=6.0, current_bandwidth=bandwidth)
    run = fa.simulate(locked, 0.03, u=sampled(law), q0=[0.0], samples=31, **TIGHT)
    wanted = 6.0 * 10.0 * 0.5 / (KT * G)
    assert run.drive_state.values[:, 0] == pytest.approx(wanted * (1 - np.exp(-bandwidth * run.time.values)), abs=1e-7)
    assert run.u.values[0, 0] == pytest.approx(law.law(locked, T).facts["Kc"][0] * wanted)
    default = control.Cascaded(0.5, Kp=10.0, Kv=6.0).law(locked, T).facts
    a = np.exp(-R * T / L)
    assert default["windings"] == pytest.approx([a])
    assert 1 - default["Kc"] * (1 - a) / R == pytest.approx([np.exp(-0.5)])


@pytest.mark.parametrize("Ti", [np.inf, 0.08])
def test_position_and_velocity_loops_are_a_linear_system(Ti):
    described, Kp, Kv, r = arm(), 12.0, 3.0, 0.4
    J = inertia(described)
    A = np.array([[0, 1, 0], [-Kv * Kp / J, -Kv / J, 1 / J], [-Kv * Kp / Ti, -Kv / Ti, 0]])
    run = fa.simulate(fa.Model(described), 1.0, u=control.Cascaded(r, Kp, Kv, Ti), q0=[0.0], samples=21, **TIGHT)
    still = np.array([r, 0.0, 0.0])
    wanted = [(still - expm(A * t) @ still)[0] for t in run.time.values]
    assert run.q.values[:, 0] == pytest.approx(np.array(wanted), abs=1e-8)


def test_standing_under_gravity():
    described, Kp, Kv = arm(gravity=(0.0, -9.81, 0.0)), 20.0, 8.0
    weight = float(fa.Model(described).gravity_force([0.0])[0])

    def ends(**more):
        run = fa.simulate(fa.Model(described), 6.0, u=control.Cascaded(0.0, Kp, Kv, **more))
        return float(run.q.values[-1, 0])

    sunk = ends()
    assert sunk == pytest.approx(-weight * np.cos(sunk) / (Kp * Kv), rel=1e-6)
    assert abs(sunk) > 0.02
    assert ends(feedforward="gravity") == pytest.approx(0.0, abs=1e-9)
    assert ends(Ti=0.2) == pytest.approx(0.0, abs=1e-6)


def test_inverse_dynamics_ahead_leave_no_error_with_rotor_and_friction():
    drive = {"friction": fa.Friction(coulomb=0.8, viscous=0.3, creep_rate=0.05)}
    described = arm(gravity=(0.0, -9.81, 0.0), drive=drive)
    reference = fa.Quintic(start=[0.1], end=[1.3], duration=0.8)

    def error(feedforward, **more):
        law = control.Cascaded(reference, 20.0, 8.0, feedforward=feedforward, **more)
        run = fa.simulate(fa.Model(described), 1.0, u=law, **TIGHT)
        return float(np.abs(run.q.values - run.q_ref.values).max())

    assert error("dynamics") < 1e-9
    assert error("gravity") > 1e-3
    assert error("dynamics", rate=False) > 1e-2


def test_volts_without_inductance_do_what_torques_do():
    reference = fa.Quintic(start=[0.1], end=[1.3], duration=0.5)
    law = control.Cascaded(reference, 20.0, 8.0, 0.1, feedforward="gravity")
    volts = {name: WINDING[name] for name in ("input", "torque_constant", "resistance")}
    found = [
        fa.simulate(fa.Model(arm(motor, gravity=(0.0, -9.81, 0.0))), 0.7, u=law, **TIGHT).q.values
        for motor in (volts, None)
    ]
    assert found[0] == pytest.approx(found[1], abs=1e-8)


@pytest.mark.parametrize("where", ["limit", "torque", "voltage", "current"])
def test_no_integrator_winds_up(where):
    """A step that saturates for long is followed by hardly any overshoot, whichever limit it is."""
    motors = {
        "limit": None,
        "torque": {"torque_limit": 2.0, "saturation": "sharp"},
        "voltage": {"input": "voltage", "torque_constant": KT, "resistance": R, "voltage_limit": 3.0},
        "current": WINDING | {"voltage_limit": 3.0},
    }
    limit = 2.0 if where == "limit" else None
    law = control.Cascaded(3.0, Kp=1.0, Kv=20.0, Ti=0.3, torque_limit=limit)
    run = fa.simulate(fa.Model(arm(motors[where])), 20.0, u=sampled(law, 2e-3), q0=[0.0], samples=2001)
    highest = {"limit": 2.0, "torque": 2.0}.get(where, 3.0)
    q, u = run.q.values[:, 0], run.u.values[:, 0]
    assert (np.abs(u) >= highest * (1 - 1e-9)).sum() > 50  # it was saturated for half a second at least
    assert np.abs(u).max() <= highest * (1 + 1e-9)
    assert q.max() < 3.0 * 1.02
    assert q[-1] == pytest.approx(3.0, abs=2e-3)


def test_the_encoder_is_the_motor_s_and_the_link_sags():
    k = 300.0
    described = arm(gravity=(0.0, -9.81, 0.0), stiffness=k, spring_damping=3.0)
    law = control.Cascaded(0.0, 20.0, 8.0, 0.2)
    run = fa.simulate(fa.Model(described), 8.0, u=law, solver=fa.Solver(rtol=1e-9, atol=1e-11))
    joint, motor = run.q.values[-1]
    weight = float(fa.Model(described).gravity_force([0.0, 0.0])[0])
    assert motor == pytest.approx(0.0, abs=1e-6)
    assert joint == pytest.approx(-weight * np.cos(joint) / k, rel=1e-5)


def test_joints_with_and_without_currents_stand_side_by_side():
    """Places of currents among states of drives: bristles before and behind them."""
    lugre = fa.Friction(model="lugre", coulomb=0.4, bristle_stiffness=500.0, bristle_damping=2.0)
    one, none = fa.Motor(**WINDING), fa.Motor(input="voltage", torque_constant=KT, resistance=R)
    drives = [
        fa.Drive(friction=lugre),
        fa.Drive(motor=one, friction=lugre, link_friction=lugre),
        fa.Drive(motor=none),
        fa.Drive(motor=one),
    ]
    links = [
        fa.Link(
            name=f"l{i}",
            joint=fa.Revolute(rotor_inertia=IR, gear_ratio=G, drive=drive),
            body=fa.Rigid(length=0.3, mass=1.0),
        )
        for i, drive in enumerate(drives)
    ]
    model = fa.Model(fa.Arm(name="four", links=links))
    goal = [0.3, -0.2, 0.1, 0.4]
    run = fa.simulate(model, 8.0, u=sampled(control.Cascaded(goal, 4.0, 6.0, 0.3)), q0=[0.0] * 4, samples=31, **TIGHT)
    assert run.q.values[-1] == pytest.approx(goal, abs=5e-3)
    assert run.energy_drift < 1e-7
    names = list(model.states)
    assert [names.index(n) for n in names if n.endswith("current")] == [1, 4]


def test_runs_in_lanes_see_the_drives_states_as_single_runs_do():
    """Behind q and qd a sampled law finds the states of drives, and only behind these its memory."""
    lugre = fa.Friction(model="lugre", coulomb=0.4, bristle_stiffness=500.0, bristle_damping=2.0)
    for described, law in (
        (arm(drive={"friction": lugre}), control.Integral(control.JointPD(0.5, 60.0, 8.0), 30.0)),
        (arm(WINDING), control.Cascaded(0.5, 8.0, 6.0, 0.3)),
    ):
        model, u = fa.Model(described), sampled(law, 2e-3)
        starts, fixed = (
            np.array([[0.0], [0.1], [0.7]]),
            {"method": "rk4", "solver": fa.Solver(step=5e-4), "samples": 26},
        )
        many = fa.simulate_many(model, 0.25, u=u, q0=starts, **fixed)
        for i, q0 in enumerate(starts):
            one = fa.simulate(model, 0.25, u=u, q0=q0, **fixed)
            assert many.q.values[i] == pytest.approx(one.q.values, abs=1e-12)
            assert many.drive_state.values[i] == pytest.approx(one.drive_state.values, abs=1e-9)


def test_a_limit_around_it_passes_currents_on():
    model = fa.Model(arm(WINDING))
    law = control.Cascaded(0.5, 8.0, 6.0, 0.3)
    plain, wide = (
        fa.simulate(model, 0.3, u=sampled(each), q0=[0.0]).q.values for each in (law, control.Saturated(law, 1e6))
    )
    assert plain == pytest.approx(wide, abs=1e-12)


def bending(motor=None):
    joint = fa.Revolute(axis=(0, 0, 1), rotor_inertia=0.05, drive=fa.Drive(motor=motor and fa.Motor(**motor)))
    beam = fa.Beam(length=1.0, mass=1.0, EI=80.0, modes={"y": 2}, damping=0.002)
    return fa.Model(fa.Arm(name="bends", links=[fa.Link(name="l", joint=joint, body=beam)], gravity=(0.0, 0.0, 0.0)))


@pytest.mark.parametrize("period", [None, T])
def test_it_has_poles_with_and_without_a_reset_time(period):
    """Without one it is a PD law with Kv Kp and Kv; a long one changes its vibrations by little."""
    model = bending()
    given = [control.JointPD(0.3, 60.0, 5.0), control.Cascaded(0.3, 12.0, 5.0), control.Cascaded(0.3, 12.0, 5.0, 100.0)]
    shapers = [fa.design_shaper(model, controller=each if period is None else sampled(each, period)) for each in given]
    for each, tolerance in zip(shapers[1:], (1e-9, 1e-2), strict=True):
        assert each.times == pytest.approx(shapers[0].times, rel=tolerance)
        assert each.amplitudes == pytest.approx(shapers[0].amplitudes, rel=tolerance)
    assert control.Cascaded(0.3, 12.0, 5.0).law(model, period).memory == ()


def test_the_vibrations_under_a_law_of_currents_are_refused_in_one_line():
    model = bending(WINDING)
    for law in (control.Cascaded(0.3, 12.0, 5.0), control.VoltageDrive(control.JointPD(0.3, 60.0, 5.0))):
        with pytest.raises(DescriptionError, match=r"\Ashaper: arm 'bends': its motors have inductance, .* to zero\Z"):
            fa.design_shaper(model, controller=sampled(law))
    resistive = {key: x for key, x in WINDING.items() if key != "inductance"}
    plain, driven = (
        fa.design_shaper(each, controller=law)
        for each, law in (
            (bending(), control.JointPD(0.3, 60.0, 5.0)),
            (bending(resistive), control.VoltageDrive(control.JointPD(0.3, 60.0, 5.0))),
        )
    )
    assert driven.times == pytest.approx(plain.times)


def test_in_a_scenario_s_file(tmp_path):
    file = tmp_path / "s.toml"
    file.write_text(
        """
name = "s"
arm = "rigid-two-link"
until = 3.0
[reference]
type = "quintic"
start = [0.0, 0.0]
end = [0.5, 0.3]
duration = 0.3
[controller]
type = "cascaded"
Kp = 5.0
Kv = [100.0, 30.0]
Ti = 1.0
feedforward = "dynamics"
torque_limit = [60.0, 20.0]
period = 1e-3
limit = 50.0
"""
    )
    scenario = fa.load_scenario(file)
    assert isinstance(scenario, Scenario)
    made = scenario.arguments(fa.Model(scenario.loaded_arm()))["u"]
    assert (made.limit, made.controller.torque_limit) == (50.0, [60.0, 20.0])  # of the input, and of the cascade
    run = scenario.run(progress=False)
    assert run.input_description == "Cascaded, sampled every 0.001 s"
    assert run.q.values[-1] == pytest.approx([0.5, 0.3], abs=1e-3)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"Kp": 0.0}, "Cascaded: Kp is 0.0; it must be one positive number, or 1 of them, one per joint"),
        ({"Kv": [1.0, 2.0]}, r"Cascaded: Kv is \[1.0, 2.0\]; it must be one positive number"),
        ({"Kp": np.inf}, "Cascaded: Kp"),
        ({"Ti": -1.0}, "Cascaded: Ti is -1.0; it must be one positive number"),
        ({"rate": 1}, "Cascaded: rate is 1"),
        ({"torque_limit": 0.0}, "Cascaded: torque_limit is 0.0; it must be one positive number"),
        ({"feedforward": "all"}, "feedforward is 'all'; it must be 'none', 'gravity' or 'dynamics'"),
        ({"current_bandwidth": 0.0}, "Cascaded: current_bandwidth is 0.0; it must be one positive number"),
    ],
)
def test_what_is_refused(given, said):
    law = control.Cascaded(**({"reference": 0.0, "Kp": 1.0, "Kv": 1.0} | given))
    with pytest.raises(DescriptionError, match=said) as error:
        law.law(fa.Model(arm(WINDING)), T)
    assert "\n" not in str(error.value)


def test_a_current_must_be_sampled():
    with pytest.raises(DescriptionError, match=r"Cascaded: a motor has inductance; .* use Sampled"):
        fa.simulate(fa.Model(arm(WINDING)), 0.1, u=control.Cascaded(0.0, 1.0, 1.0))

    class Measuring:
        def law(self, model, period=None):
            return control.Law(lambda t, q, qd, z, s: ([s[0]], []), drives=True)

    with pytest.raises(DescriptionError, match="Measuring: the controller measures currents and must be sampled"):
        fa.simulate(fa.Model(arm(WINDING)), 0.1, u=Measuring())


def test_a_nominal_arm_with_other_drives_is_refused():
    nominal = fa.Model(arm(WINDING))
    law = control.DesignedFor(control.Cascaded(0.0, 1.0, 1.0), nominal)
    with pytest.raises(
        DescriptionError,
        match="DesignedFor: arm 'one' has drives with states that the nominal arm lacks; the controller needs",
    ):
        fa.simulate(fa.Model(arm()), 0.1, u=sampled(law))
