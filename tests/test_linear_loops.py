"""Closed loops as linear systems, beside what can be written down, python-control's own feedback, and simulations."""

from types import SimpleNamespace

import control as ct
import numpy as np
import pytest
from controlled import refused
from one_joint import DAMPING, STIFFNESS, bar, elastic_bar, inertia
from scipy.linalg import expm

import flexarm as fa
from flexarm import analysis
from flexarm.control import DesignedFor, Every, Integral, JointPD, Law, Observed, Sampled, Saturated, Sum, Tracking
from flexarm.sensors import Accelerometer, Encoder
from flexarm.simulation.closed_loop import ClosedLoop, displaced, held
from flexarm.simulation.inputs import as_input
from flexarm.simulation.passed import passed
from flexarm.simulation.unstable import by_differences

Kp, Kd, T = 50.0, 4.0, 2e-3
ENCODER = Encoder(coordinate="bar.motor", noise=1e-4)


def sorted_poles(system):
    return np.sort_complex(np.round(system.poles(), 9))


def elastic_plant():
    """(q, theta, rates) under u at the motor, by hand."""
    model = elastic_bar()
    J, Jm = np.diag(model.mass_matrix(np.zeros(2)))
    A = np.array(
        [
            [0, 0, 1, 0],
            [0, 0, 0, 1],
            [-STIFFNESS / J, STIFFNESS / J, -DAMPING / J, 0],
            [STIFFNESS / Jm, -STIFFNESS / Jm, 0, 0],
        ]
    )
    return model, A, np.array([[0], [0], [0], [1 / Jm]])


def test_the_closed_loop_is_the_one_by_hand():
    """u = Kp (r - theta) + Kd (rd - theta_d) + d, of every input and output."""
    model, A, B = elastic_plant()
    K = np.array([[0, Kp, 0, Kd]])
    found = analysis.closed_loop(model, JointPD(0.3, Kp, Kd))
    assert found.state_labels == ["bar_joint", "bar_motor", "bar_joint_rate", "bar_motor_rate"]
    assert found.output_labels == [*found.state_labels, "u_bar_motor"]
    assert found.input_labels == ["u_bar_motor", "r_bar_joint", "r_bar_joint_rate", "r_bar_joint_acceleration"]
    assert np.allclose(found.A, A - B @ K, rtol=1e-12)
    assert np.allclose(found.B, np.hstack([B, Kp * B, Kd * B, 0 * B]), rtol=1e-12)
    assert np.allclose(found.C, np.vstack([np.eye(4), -K])) and np.allclose(found.D[-1], [0, Kp, Kd, 0])
    assert not found.D[:-1].any() and found.dt == 0


@pytest.mark.parametrize("about", ["arrays", "motion"])
def test_a_motion_known_with_its_torques_is_not_shifted(about):
    """Tracking stands at its end by u = u_ref - K (x - x_ref), and nothing is r: the times are no place of a joint."""
    model, A, B = elastic_plant()
    K = np.array([[-1.0, Kp, 0.2, Kd]])
    t, q, still = np.linspace(0.0, 1.0, 5), np.full((5, 2), 0.3), np.zeros((5, 2))
    known = SimpleNamespace(times=t, q=q, qd=still, u=still[:, :1], expression=lambda t: [0.3 + 0 * t])
    law = Tracking(known, K=K) if about == "motion" else Tracking(t, np.hstack([q, still]), still[:, :1], K=K)
    found = analysis.closed_loop(model, DesignedFor(law, model))
    assert np.allclose(found.A, A - B @ K, rtol=1e-9) and found.input_labels == ["u_bar_motor"]
    sampled = analysis.closed_loop(model, Sampled(law, T))
    held = expm(np.block([[A, B], [np.zeros((1, 5))]]) * T)
    assert np.allclose(sampled.A, held[:4, :4] - held[:4, 4:] @ K, atol=1e-9) and sampled.dt == T


def test_outputs_are_any_sensors_and_see_the_input_where_they_do():
    """An accelerometer at the tip sees 0.8 qdd = 0.8 u / J across the bar, at once."""
    model, J = bar(), inertia(bar())
    found = analysis.closed_loop(
        model, JointPD(0.0, Kp, Kd), outputs=[Encoder(coordinate="bar.joint"), Accelerometer(axes="y")]
    )
    assert found.C[0].tolist() == [[1.0, 0.0]] or np.allclose(found.C[0], [1.0, 0.0])
    assert np.allclose(found.C[1], [-0.8 * Kp / J, -0.8 * Kd / J])
    assert np.allclose(found.D[1], [0.8 / J, 0.8 * Kp / J, 0.8 * Kd / J, 0.0])


def test_negative_feedback_closes_the_loop_transfer():
    model = fa.Model(fa.load("rigid-two-link"))
    for controller in (JointPD((0.3, 0.4), (300, 80), (30, 8)), Sampled(JointPD((0.3, 0.4), 200, 20), T, delay=2 * T)):
        whole = analysis.closed_loop(model, controller)
        L = analysis.loop(model, controller)
        assert L.input_labels == L.output_labels == ["u_upper_joint", "u_fore_joint"]
        assert np.allclose(sorted_poles(ct.feedback(L, np.eye(2))), sorted_poles(whole))
        for i, name in enumerate(model.inputs):
            one = analysis.loop(model, controller, input=name)
            assert np.allclose(sorted_poles(ct.feedback(one, 1)), sorted_poles(whole))
            other = np.eye(2) - np.outer(np.eye(2)[i], np.eye(2)[i])
            assert np.allclose(sorted_poles(ct.feedback(L, other)), sorted_poles(one)), "all others are closed"
            assert np.allclose(analysis.loop(model, controller, input=i).A, one.A)


def test_a_sampled_loop_is_the_held_plant_with_the_delay_before_it():
    model, A, B = elastic_plant()
    K = np.array([[0, Kp, 0, Kd]])
    plant = ct.c2d(ct.ss(A, B, K, 0), T, "zoh")
    late = ct.tf([1], [1, 0, 0, 0], T)
    found = analysis.loop(model, Sampled(JointPD(0.1, Kp, Kd), T, delay=3 * T, limit=0.001, rate_limit=0.001))
    omega = np.geomspace(0.1, np.pi / T, 50)
    expected = ct.frequency_response(plant * ct.ss(late), omega).complex
    assert found.dt == T and np.allclose(ct.frequency_response(found, omega).complex, expected, rtol=1e-6)


def test_a_short_period_is_all_the_time():
    model = elastic_bar()
    plain = analysis.stability(model, JointPD(0.1, Kp, Kd)).end
    sampled = [analysis.stability(model, Sampled(JointPD(0.1, Kp, Kd), h)).end for h in (1e-4, 1e-5)]
    for what in (
        lambda end: end.poles[0],
        lambda end: end.loops[0].phase,
        lambda end: end.loops[0].disk,
        lambda end: end.loops[0].sensitivity,
    ):
        far, near = (abs(what(end) - what(plain)) for end in sampled)
        assert near < 1e-3 * abs(what(plain)) and far / near == pytest.approx(10.0, rel=0.1), "of first order"


def test_memory_is_state():
    """With w = int Ki (r - y) dt no constant disturbance moves the joint, and it goes where r goes."""
    found = analysis.closed_loop(bar(), Integral(JointPD(0.2, Kp, Kd), 30.0))
    assert found.state_labels[-1] == "law_1"
    assert np.allclose(found.dcgain()[0], [0.0, 1.0, 0.0, 0.0], atol=1e-12)
    J = inertia(bar())
    assert np.allclose(np.sort_complex(found.poles()), np.sort_complex(np.roots([J, Kd, Kp, 30.0])))


@pytest.mark.parametrize("period", [None, T])
def test_an_observer_adds_its_own_poles(period):
    """Of a linear plant: separation. The filter's are those that its design says."""
    model = elastic_bar()
    law = Observed(JointPD(0.1, Kp, Kd), [ENCODER])
    designed = law.law(model, period).facts["observer_poles"]
    inner = JointPD(0.1, Kp, Kd)
    given = (law, inner) if period is None else (Sampled(law, period), Sampled(inner, period))
    whole, alone = (analysis.closed_loop(model, each).poles() for each in given)
    expected = np.concatenate([alone, designed])
    if period is not None:  # the filter goes along in steps of Runge and Kutta's method
        assert np.allclose(np.sort_complex(whole), np.sort_complex(expected), atol=1e-6)
    else:
        assert np.allclose(np.sort_complex(whole), np.sort_complex(expected), rtol=1e-6)


def test_what_rounds_is_taken_at_its_mean():
    """An encoder of many steps is one of none, noise or not; and the loop is that of the simulation."""
    model = elastic_bar()
    fine, coarse = (
        Sampled(Observed(JointPD(0.1, Kp, Kd), [Encoder(coordinate="bar.motor", noise=1e-4, resolution=r)]), T)
        for r in (0.0, 1e-9)
    )
    a, b = (analysis.loop(model, each) for each in (fine, coarse))
    assert np.allclose(a.A, b.A, atol=1e-6) and np.abs(a.C).max() > 1.0


@pytest.mark.parametrize(
    "controller",
    [
        JointPD(0.3, Kp, Kd),
        Integral(JointPD(0.3, Kp, Kd), 20.0),
        Sampled(JointPD(0.3, Kp, Kd), T, delay=2 * T),
        Sampled(Integral(JointPD(0.3, Kp, Kd), 20.0), 5 * T),
    ],
)
def test_a_simulation_does_what_the_linear_system_does(controller):
    """From a small deviation, in an arm that is linear: in continuous time and from sample to sample."""
    model = elastic_bar()
    loop = analysis.closed_loop(model, controller)
    start = np.array([0.02, -0.01, 0.0, 0.0])
    result = fa.simulate(
        model,
        0.2,
        controller,
        q0=0.3 + start[:2],
        qd0=start[2:],
        samples=101,
        solver=fa.Solver(rtol=1e-11, atol=1e-13),
        progress=False,
    )
    deviation = np.concatenate([start, np.zeros(len(loop.A) - 4)])
    step = np.linalg.matrix_power(loop.A, round(0.2 / loop.dt)) if loop.dt else expm(0.2 * loop.A)
    expected = (step @ deviation)[:4]
    seen = np.concatenate([result.q.values[-1] - 0.3, result.qd.values[-1]])
    assert np.allclose(seen, expected, atol=1e-7)


def test_an_unstable_arm_leaves_at_the_rate_of_its_pole():
    """Upside down under gravity, with too weak a spring: simulated from a millionth of a radian."""
    model = bar(gravity=(0.0, -9.81, 0.0))
    law = JointPD(np.pi / 2, 2.0, 0.3, gravity=False)
    found = analysis.stability(model, law)
    J, load = inertia(model), abs(float(model.slope("gravity_force", 0)([np.pi / 2])))
    s = np.roots([J, 0.3, 2.0 - load])
    assert not found.stable and found.end.poles[0] == pytest.approx(s.max(), rel=1e-9)
    with pytest.warns(fa.errors.UnstableStart):
        result = fa.simulate(model, 3.0, law, q0=[np.pi / 2 + 1e-6], samples=301, progress=False)
    y = np.log(np.abs(result.q.values[200:, 0] - np.pi / 2))
    rate = np.polyfit(result.time.values[200:], y, 1)[0]
    assert rate == pytest.approx(s.max(), rel=1e-3)


def test_matrix_and_poles_are_those_of_the_closed_loop():
    model = fa.Model(fa.load("subudhi-morris-elastic"))
    law = JointPD((0.5, 0.2), 5.0, 1.0)
    loop = ClosedLoop(model, law.law(model))
    x = loop.standing(0.0, loop.start(analysis.equilibrium(model, (0.5, 0.2), held="joints")[0]))
    found = analysis.closed_loop(model, law, (0.5, 0.2))
    assert np.allclose(found.A, loop.matrix(0.0, x), rtol=1e-9, atol=1e-6)
    moving = x + 0.1 * np.random.default_rng(3).standard_normal(len(x))
    n = model.nv
    passing = analysis.closed_loop(model, law, moving[:n], qd=moving[n:], t=0.0)
    assert np.allclose(passing.A, loop.matrix(0.0, moving), rtol=1e-9, atol=1e-6)


def test_slopes_of_a_law_on_a_free_base_are_along_its_own_axes():
    """Differences of the compiled law, of a base that is turned far: the attitude's error is not linear in the turn."""
    scenario = fa.load_scenario("satellite-pd")
    model = fa.Model(scenario.loaded_arm())
    drive = as_input(scenario.arguments(model)["u"], model)
    pose = np.array([0.3, -0.2, 0.5, 0.7, 0.3, -0.5, 0.2])
    pose[3:] /= np.linalg.norm(pose[3:])
    q, x = np.append(pose, np.linspace(0.1, 0.2, model.nq - 7)), np.linspace(-0.3, 0.4, model.nv)
    exact = ClosedLoop(model, drive.law).law_slopes(0.0, q, x)
    for a, b in zip(exact, by_differences(model, drive)(0.0, q, x), strict=True):
        assert np.allclose(a, b, atol=1e-8)
    dx = 1e-6 * np.arange(1.0, model.nv + 1)
    moved = ClosedLoop(model, drive.law).law_slopes(0.0, displaced(model.arm, q, dx), x)[0]
    assert np.allclose(moved - exact[0], exact[2][:, : model.nv] @ dx, atol=1e-9)


def test_the_memory_along_a_motion_is_that_of_the_run():
    model = elastic_bar()
    motion = fa.Quintic(start=[0.0], end=[1.0], duration=0.3)
    sampled = Sampled(Observed(Integral(JointPD(motion, Kp, Kd), 20.0), [ENCODER], process=1e-9), T, delay=T)
    drive = sampled.feedback(model)
    result = fa.simulate(model, 0.4, sampled, samples=401, progress=False)
    found = passed(model, drive.law, T, result)
    held = result.u.values[:, 0]
    i = 2 * int(np.argmax(np.abs(np.diff(held[1::2])))) + 2  # a sample at which it changes
    assert found.z[i, -1] == pytest.approx(held[i + 1], abs=0.05), "what the delay holds back comes next"
    assert abs(held[i + 1] - held[i - 1]) > 0.15
    estimate = found.z[i, 1:5]
    assert np.allclose(estimate, np.concatenate([result.q.values[i], result.qd.values[i]]), atol=5e-3)
    plain = Integral(JointPD(motion, Kp, Kd), 20.0)
    result = fa.simulate(model, 0.4, plain, samples=401, progress=False)
    found = passed(model, plain.law(model), None, result)
    y = result.q.values[:, 1]
    r = np.array([fa.trajectory.reference_motion(motion, t)[0][0] for t in result.time.values])
    w = 20.0 * np.concatenate([[0], np.cumsum(((r - y)[1:] + (r - y)[:-1]) / 2 * 1e-3)])
    assert np.allclose(found.z[:, 0], w, atol=1e-4 * np.abs(w).max())


def test_poles_are_followed_through_those_of_others():
    """Of two joints that know nothing of each other one gets stiffer: its pole passes the other's."""
    inertias = np.diag([2.0, 1.0])
    model = fa.Model(fa.load("rigid-two-link").replace(gravity=(0, 0, 0)))
    M = model.mass_matrix(np.array(model.arm.rest))

    def make(gain):
        K = M @ np.linalg.solve(inertias, np.diag([gain, 40.0]))
        D = M @ np.linalg.solve(inertias, np.diag([2.0, 1.0]))
        return JointPD((0.0, 0.0), K, D)

    values = np.linspace(20.0, 200.0, 46)
    found = analysis.pole_migration(model, make, values, name="Kp")
    still = np.roots([1.0, 1.0, 40.0])
    for s in still:
        assert (np.abs(found.poles - s).max(axis=0) < 1e-6).sum() == 1, "one pole stays all the way"
    moving = [c for c in found.poles.T if np.ptp(np.abs(c)) > 1.0]
    assert len(moving) == 2
    for column in moving:
        sign = np.sign(column[-1].imag)
        expected = [r[np.sign(r.imag) == sign][0] for r in (np.roots([2.0, 2.0, g]) for g in values)]
        assert np.allclose(column, expected)
    assert found.stable.all() and found.period is None
    with refused(r"PoleMigration.plot: size is -1.0 1/s; .*"):
        found.plot(-1.0)
    figure = found.plot(20.0).figure
    assert figure.axes[0].get_title() == "Kp from 20 to 200" and figure.axes[0].get_xlim() == (-20.0, 4.0)


def test_poles_over_a_delay_gain_and_parameter():
    model = fa.Model(bar(payload=fa.Payload(mass=0.5)).arm, vary=["payload.mass"])
    law = JointPD(0.2, Kp, Kd)
    found = analysis.pole_migration(model, lambda mass: (law, {"payload.mass": mass}), [0.1, 0.5, 2.0])
    for mass, s in zip(found.values, found.poles, strict=True):
        J = inertia(bar()) + mass * 0.8**2
        assert np.allclose(np.sort_complex(s), np.sort_complex(np.roots([J, Kd, Kp])))
    sampled = analysis.pole_migration(
        model, lambda k: Sampled(JointPD(0.2, k * Kp, k * Kd), T, delay=T), [0.1, 1.0, 2e3]
    )
    assert sampled.period == T and sampled.stable.tolist() == [True, True, False]


def test_a_controller_called_less_often_has_the_poles_of_a_longer_period():
    model = elastic_bar()
    law = Observed(JointPD(0.3, Kp, Kd), [ENCODER])
    wanted = analysis.closed_loop(model, Sampled(law, 4 * T))
    for often in (Every(law, 4), Every(Every(law, 2), 2)):
        found = analysis.closed_loop(model, Sampled(often, T))
        assert found.dt == pytest.approx(4 * T)
        k = wanted.nstates  # beside them, what is held: forgotten at the next call
        assert np.allclose(found.A[:k, :k], wanted.A, rtol=1e-9, atol=1e-9 * np.abs(wanted.A).max())
        assert np.allclose(found.B[:k, 1:], wanted.B[:, 1:], rtol=1e-6, atol=1e-8 * np.abs(wanted.B).max())
        assert not found.A[:, k:].any()


def test_two_rates_in_one_loop_by_hand_and_beside_runs():
    """What becomes of a deviation, and of a disturbance, in a cycle of six samples."""
    model, A, B = elastic_plant()
    outer, inner = JointPD(0.0, Kp, 0.0), JointPD(0.0, 0.0, Kd)
    given = Sampled(Sum(Every(outer, 3), Every(inner, 2)), T)
    found = analysis.closed_loop(model, given)
    F, G = held(A, B, T)
    place, rate = Kp * np.array([[0, 1, 0, 0]]), Kd * np.array([[0, 0, 0, 1]])
    x, d = np.eye(4), np.zeros((4, 1))
    slow, slow_d, fast, fast_d = (np.zeros((1, k)) for k in (4, 1, 4, 1))
    for k in range(6):
        (slow, slow_d) = (place @ x, place @ d) if k % 3 == 0 else (slow, slow_d)
        (fast, fast_d) = (rate @ x, rate @ d) if k % 2 == 0 else (fast, fast_d)
        x, d = F @ x - G @ (slow + fast), F @ d + G @ (1.0 - slow_d - fast_d)
    assert found.dt == pytest.approx(6 * T)
    assert np.allclose(found.A[:4, :4], x, rtol=1e-9, atol=1e-9) and np.allclose(found.B[:4, :1], d, atol=1e-9)
    assert not found.A[:, 4:].any()  # both are called at the first sample
    q = np.array([0.02, 0.01])
    run = fa.simulate(model, 6 * T, given, q0=q, samples=2)
    ends = np.append(run.q.values[-1], run.qd.values[-1])
    assert np.allclose(ends, found.A[:4, :2] @ q, rtol=1e-5, atol=1e-7)
    assert analysis.closed_loop(model, given, t=2.5 * T).A == pytest.approx(found.A)  # at the next beginning of a cycle


def test_references_of_several_rates_are_read_when_each_is_called():
    """A step of the reference moves the arm there."""
    model = elastic_bar()
    found = analysis.closed_loop(model, Sampled(Integral(Every(JointPD(0.3, Kp, Kd), 3), 5.0), T))
    assert found.dcgain()[:2, 1] == pytest.approx([1.0, 1.0], rel=1e-9)


def test_poles_of_several_rates_wander_and_become_unstable():
    model = elastic_bar()
    one = analysis.pole_migration(model, lambda k: Sampled(JointPD(0.3, k * Kp, k * Kd), 4 * T), [0.1, 1.0, 400.0])
    two = analysis.pole_migration(
        model, lambda k: Sampled(Every(JointPD(0.3, k * Kp, k * Kd), 4), T), [0.1, 1.0, 400.0]
    )
    assert one.stable.tolist() == two.stable.tolist() == [True, True, False] and two.period == pytest.approx(4 * T)
    assert np.sort(two.poles[-1].real)[-4:] == pytest.approx(np.sort(one.poles[-1].real), rel=1e-9)


def test_what_is_refused():
    model, law = bar(), JointPD(0.3, Kp, Kd)
    custom = Law(lambda t, q, qd, z: (-5.0 * q, []))
    assert analysis.closed_loop(model, custom, [0.0]).input_labels == ["u_bar_joint"]
    with refused(r"closed_loop: q is missing; give it, because the controller has no reference that comes to rest"):
        analysis.closed_loop(model, custom)
    with refused(r"loop: qd needs q too; give both"):
        analysis.loop(model, law, qd=[0.0])
    with refused(r"closed_loop: the controller is a Python function, which cannot be differentiated"):
        analysis.closed_loop(model, Sampled(lambda t, q, qd: [0.0], T))
    with refused(r"loop: the controller has several sampling periods, so the open loop is not time-invariant.*"):
        analysis.loop(model, Sampled(Sum(Every(law, 4), law), T))
    with refused(r"loop: input is 'motor'; the inputs of the arm are bar.joint"):
        analysis.loop(model, law, input="motor")
    with refused(r"closed_loop: z has shape \(2,\); the controller's memory has 0 numbers"):
        analysis.closed_loop(model, law, z=[1.0, 2.0])
    with refused(r"closed_loop: s does not apply to arm 'bar', whose drives have no states; leave it out"):
        analysis.closed_loop(model, law, s=[1.0])
    with refused(r"pole_migration: make is 3; .*"):
        analysis.pole_migration(model, 3, [1.0])
    with refused(r"pole_migration: values has shape \(1, 1\); it must be a list of numbers"):
        analysis.pole_migration(model, lambda k: law, [[1.0]])
    with refused(r"pole_migration: 3 poles at 2, and 2 before; the number must not change"):
        analysis.pole_migration(model, lambda k: law if k < 2 else Integral(law, 1.0), [1.0, 2.0])
    with refused(
        r"arm 'bar': no equilibrium of the closed loop is near the end of the reference", fa.errors.FlexarmError
    ):
        analysis.closed_loop(model, Saturated(law, 1.0), [9.0])
