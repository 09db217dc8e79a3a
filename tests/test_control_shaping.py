"""Shapers for an arm as its controller moves it: poles of the closed loop, and what is left of a motion."""

import numpy as np
import pytest
from controlled import refused
from scipy.linalg import expm

import flexarm as fa
from flexarm.control import LQR, Integral, JointPD, Observed, Sampled, equilibrium, vibrations
from flexarm.control.shaping import controlled_vibrations
from flexarm.simulation.closed_loop import ClosedLoop, growth
from flexarm.simulation.feedback import Feedback
from flexarm.simulation.law import Law

SLEW = fa.Quintic([0.0], [0.8], 0.5)


@pytest.fixture(scope="module")
def single():
    """One link; its vibrations with the hub held: 11.4 and 104 rad/s."""
    beam = fa.Beam(length=0.8, mass=0.3, EI=6.0, modes={"y": 2}, damping=0.005, shapes="clamped-mass")
    link = fa.Link(name="a", joint=fa.Revolute(rotor_inertia=0.05), body=beam)
    return fa.Model(fa.Arm(name="one", links=[link], payload=fa.Payload(mass=0.2)))


def pd(reference):
    return JointPD(reference, 10.0, 2.0)


# -- the closed loop --------------------------------------------------------------------------------------------------


def numeric(rate, x, h=1e-6):
    return np.array([(rate(x + h * e) - rate(x - h * e)) / (2 * h) for e in np.eye(len(x))]).T


@pytest.mark.parametrize(
    "controller", [pd(SLEW), Integral(pd(SLEW), 3.0, limit=5.0), LQR(reference=SLEW, bandwidth=9.0)]
)
def test_the_matrix_of_a_closed_loop_is_its_slope(single, controller):
    """Of the compiled law and the compiled arm, at any state."""
    law = controller.law(single)
    feedback = Feedback(law, single, "test")

    def rate(x):
        given = feedback.kernel.one(np.concatenate([[0.2], x]))
        return np.concatenate([x[3:6], single.forward_dynamics(x[:3], x[3:6], given[:1]), given[1:]])

    x = np.concatenate([[0.3, 0.01, -0.002, 0.5, 0.1, 0.2], 0.1 * np.ones(len(law.memory))])
    A = ClosedLoop(single, law).matrix(0.2, x)
    np.testing.assert_allclose(A, numeric(rate, x), atol=1e-6 * np.abs(A).max())


@pytest.mark.parametrize("sampling", [{}, {"delay": 2e-3}, {"rate_limit": 1e4}])
def test_the_matrix_of_a_sampled_loop_takes_it_from_sample_to_sample(single, sampling):
    """A small deviation from where it stands, followed for five periods by simulation."""
    period = 2e-3
    given = Sampled(JointPD(0.8, 10.0, 2.0), period, **sampling).feedback(single)
    loop = ClosedLoop(single, given.law, period)
    x = loop.standing(0.0, np.concatenate([[0.7, 0.0, 0.0], np.zeros(3), given.law.memory]))
    np.testing.assert_allclose(x[:6], [0.8, 0, 0, 0, 0, 0], atol=1e-9)
    off = np.array([1e-4, 2e-5, -1e-5, 3e-4, -2e-3, 1e-3])
    step = {"method": "rk4", "solver": fa.Solver(step=1e-5), "samples": 6, "progress": False}
    run = fa.simulate(
        single,
        5 * period,
        u=Sampled(JointPD(0.8, 10.0, 2.0), period, **sampling),
        q0=x[:3] + off[:3],
        qd0=off[3:],
        **step,
    )
    deviation = np.concatenate([off, np.zeros(len(x) - 6)])
    for _ in range(5):
        deviation = loop.matrix(0.0, x) @ deviation
    found = np.r_[run.q.values[-1] - x[:3], run.qd.values[-1]]
    np.testing.assert_allclose(found, deviation[:6], atol=1e-4 * np.abs(deviation[:6]).max())


def test_where_a_controller_holds_an_arm_that_hangs():
    """Proportional control gives way by what bending and its own stiffness leave; an integral brings the joint back."""
    model = fa.Model(fa.load("subudhi-morris").replace(gravity=(0.0, -9.81, 0.0)))
    place = [-1.2, 0.4]
    soft, firm = (JointPD(place, 8.0, 2.0), Integral(JointPD(place, 8.0, 2.0), 5.0))
    for controller, near in ((soft, 0.1), (firm, 1e-9)):
        law = controller.law(model)
        q, _ = equilibrium(model, place)
        x = ClosedLoop(model, law).standing(0.0, np.concatenate([q, 0 * q, law.memory]))
        u = Feedback(law, model, "test").kernel.one(np.concatenate([[0.0], x]))[:2]
        assert np.abs(model.forward_dynamics(x[:6], 0 * q, u)).max() < 1e-6
        assert np.abs(x[:2] - place).max() < near
        assert np.abs(x[:2] - place).max() > near / 100 or controller is firm


def test_a_torque_that_holds_an_arm_nowhere(single):
    pushed = ClosedLoop(single, Law(lambda t, q, qd, z: ([1.0], [])))
    with refused("arm 'one': no equilibrium of the closed loop is near the end of the reference", fa.FlexarmError):
        pushed.standing(0.0, np.zeros(6))


def test_growth_of_a_deviation():
    """Of a constant system it is the largest size of exp(A t); in a metric that changes, that of both ends counts."""
    A = np.array([[-0.5, 9.0], [0.0, -1.0]])
    times = 0.05 * np.arange(1, 61)
    most = max(np.linalg.norm(expm(A * t), 2) for t in times)
    found, i, j = growth([A] * 60, [np.eye(2)] * 60, 0.05)
    assert found == pytest.approx(most, rel=1e-9)
    assert times[j - i - 1] == pytest.approx(times[np.argmax([np.linalg.norm(expm(A * t), 2) for t in times])])
    sampled, _, _ = growth([expm(A * 0.01)] * 60, [np.eye(2)] * 60, 0.05, period=0.01)
    assert sampled == pytest.approx(most, rel=1e-9)
    W = np.diag([4.0, 1.0])
    still, i, j = growth([np.zeros((2, 2))] * 3, [np.eye(2), np.eye(2), W], 0.1)
    assert (still, j) == (pytest.approx(2.0), 3), "the same deviation counts for twice as much at the end"


# -- frequencies ------------------------------------------------------------------------------------------------------


def test_stiff_control_holds_the_joints(single):
    """The closed loop's vibrations go to those of the arm with its drives held."""
    held, _ = vibrations(single, np.array([0.8, 0.0, 0.0]))
    for stiff, near in ((1e4, 0.01), (1e6, 1e-4)):
        omega, zeta = controlled_vibrations(single, JointPD(0.8, stiff, 20 * stiff**0.5))
        lively = zeta < 0.1
        np.testing.assert_allclose(omega[lively][:2], held, rtol=near)


def test_vibrations_under_a_controller_are_poles_of_the_loop(single):
    omega, zeta = controlled_vibrations(single, pd(SLEW))
    system = single.linearize(np.array([0.8, 0, 0]), np.zeros(3), np.zeros(1))
    poles = np.linalg.eigvals(system.A - system.B @ np.array([[10.0, 0, 0, 2.0, 0, 0]]))
    poles = poles[poles.imag > 0][np.argsort(np.abs(poles[poles.imag > 0]))]
    np.testing.assert_allclose(-zeta * omega + 1j * omega * np.sqrt(1 - zeta**2), poles, rtol=1e-6)
    sampled, damped = controlled_vibrations(single, Sampled(pd(SLEW), period=1e-3))
    np.testing.assert_allclose(sampled, omega, rtol=0.02)
    assert np.abs(damped - zeta).max() < 0.02 and np.abs(damped - zeta).max() > 1e-4


def test_joints_alone_are_a_configuration():
    """The arm sags as they are held there, motors turned on by the springs' twist."""
    model = fa.Model(fa.load("subudhi-morris-elastic").replace(gravity=(0.0, -9.81, 0.0)))
    q, _ = equilibrium(model, [-0.6, 0.4])
    ours, theirs = fa.design_shaper(model, [-0.6, 0.4], modes=2), fa.design_shaper(model, q, modes=2)
    assert ours == theirs
    straight = np.array([-0.6, 0.4, 0, 0, 0, 0, -0.6, 0.4])
    assert ours != fa.design_shaper(model, straight, modes=2)


# -- what is left of a motion -----------------------------------------------------------------------------------------


def left(model, controller, arrival, until=4.0):
    """Largest distance of the tip from its resting place after the motion [m], and when it stays within 0.1 mm [s]."""
    run = fa.simulate(model, until, u=controller, solver=fa.Solver(rtol=1e-9, atol=1e-12), samples=2001, progress=False)
    away = np.linalg.norm(run.tip.values - model.tip(np.array([0.8, 0, 0]))[:3, 3], axis=1)
    t = run.time.values
    return away[t >= arrival].max(), t[np.flatnonzero(away > 1e-4)[-1]]


def test_a_shaper_for_the_controlled_arm_calms_it(single):
    """Joints that give way have other vibrations than joints that are held: 6.8 and 23 rad/s here, damped by half."""
    found = {}
    for name, calm in {
        "held": fa.design_shaper(single, [0.8], modes=2),
        "one": fa.design_shaper(single, controller=pd(SLEW)),
        "two": fa.design_shaper(single, controller=pd(SLEW), modes=2),
    }.items():
        found[name] = left(single, pd(fa.shaped(SLEW, calm)), SLEW.duration + calm.duration)
    assert found["held"][0] > 0.05 and found["held"][1] > 3.0
    assert found["one"][0] < 5e-4
    assert found["two"][0] < 5e-5 and found["two"][1] < 1.8
    calm = fa.design_shaper(single, controller=Sampled(pd(SLEW), period=5e-3), modes=2)
    shaped = Sampled(pd(fa.shaped(SLEW, calm)), period=5e-3)
    run = fa.simulate(single, 4.0, u=shaped, method="auto", samples=2001, progress=False)
    away = np.linalg.norm(run.tip.values - single.tip(np.array([0.8, 0, 0]))[:3, 3], axis=1)
    assert away[run.time.values >= SLEW.duration + calm.duration].max() < 1e-4


def test_without_a_configuration_or_a_controller_a_shaper_is_for_the_arm_at_rest(single):
    at_rest = fa.design_shaper(single, np.array(single.arm.rest), kind="zv", modes=2)
    assert fa.design_shaper(single, kind="zv", modes=2) == at_rest
    assert fa.design_shaper(single, kind="zv", modes=2, locked=False) != at_rest


# -- at the door ------------------------------------------------------------------------------------------------------


def test_what_cannot_be_shaped(single):
    gauges = [fa.Encoder(coordinate="a.joint", resolution=1e-4), fa.StrainGauge(link="a", noise=1e-3)]
    rounded = Sampled(Observed(pd(SLEW), gauges), period=1e-3)
    for line, arguments in {
        "shaper: q is missing; give it, because the controller has no reference that comes to rest": {
            "controller": LQR([0.8], bandwidth=9.0)
        },
        "shaper: the controller is a Python function, whose poles are unknown; give q instead": {
            "controller": Sampled(lambda t, q, qd: q[:1], period=1e-3)
        },
        r"shaper: controller is a float; it must be a controller, .*": {"controller": 3.0},
        r"shaper: the controller rounds its measurements, so its poles are not defined; leave out the sensors' "
        r"resolution": {"controller": rounded},
        r"shaper: the closed loop is unstable, with a pole at .* 1/s; change the gains": {
            "controller": JointPD(SLEW, 10.0, -0.5)
        },
        r"shaper: modes is 9; it must be an integer from 1 to 3": {"controller": pd(SLEW), "modes": 9},
    }.items():
        with refused(line):
            fa.design_shaper(single, **arguments)
    with refused(r"q has shape \(2,\); it must have 3 numbers: .*; or the joints alone: a\.joint"):
        fa.design_shaper(single, [0.1, 0.2])
    assert fa.design_shaper(single, [0.8], controller=LQR([0.8], bandwidth=9.0)).duration > 0
