"""Laws as such: what they are given and give, what is refused in one line, and what travels to another process."""

import pickle
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

import casadi as ca
import control
import numpy as np
import pytest
from controlled import refused

import flexarm as fa
from flexarm.control import (
    LQR,
    Composite,
    ComputedTorque,
    Decoupling,
    DesignedFor,
    Integral,
    JointPD,
    Law,
    Observed,
    Sampled,
    Saturated,
    StrainRate,
)
from flexarm.errors import UnstableStart
from flexarm.simulation.feedback import Feedback, kernel


def one_link(**changes):
    beam = fa.Beam(length=0.6, mass=0.2, EI=4.0, modes={"y": 2}, damping=0.02, shapes="clamped-mass")
    link = fa.Link(name="a", joint=fa.Revolute(rotor_inertia=0.02), body=beam)
    return fa.Model(fa.Arm(name="one", links=[link], payload=fa.Payload(mass=0.1)).replace(**changes))


@pytest.fixture(scope="module")
def planar():
    return fa.Model(fa.load("subudhi-morris"))


@pytest.fixture(scope="module")
def single():
    return one_link()


@dataclass(frozen=True)
class Made:
    """A controller of any law."""

    given: Law

    def law(self, model, period=None):
        return self.given


# -- what a law is given ----------------------------------------------------------------------------------------------


def test_a_law_is_written_with_columns(single):
    """A lead network, y' = (r - q - y) / T, u = K (r - q - y): its matrices, against the compiled law."""
    K, T = 3.0, 0.05

    def expression(t, q, qd, z):
        e = ca.sin(t) - q[0] - z
        return K * e, e / T

    feedback = Feedback(Law(expression, memory=(0.2,)), single, "lead")
    found = feedback.kernel.one(np.array([0.3, 0.1, 0.02, 0.01, 0.4, 0.5, 0.6, 0.25]))
    e = np.sin(0.3) - 0.1 - 0.25
    np.testing.assert_allclose(found, [K * e, e / T], rtol=1e-13)


def test_noise_is_given_where_a_law_has_some(single):
    quiet = Law(lambda t, q, qd, z: ([q[0]], []))
    noisy = Law(lambda t, q, qd, z, noise: (q[0] + noise[1], []), noise=(0.5, 2.0))
    state = np.array([0.0, 0.3, 0.0, 0.0, 0.0, 0.0, 0.0])
    assert kernel(quiet, single, 3).one(state) == pytest.approx(0.3)
    assert kernel(noisy, single, 3).one(np.append(state, [10.0, 0.7])) == pytest.approx(1.0)
    with pytest.warns(
        UnstableStart, match="controller Made, sampled every 0.001 s: the closed loop is unstable at the start"
    ):
        result = fa.simulate(
            single,
            2.0,
            u=Sampled(Made(noisy), period=1e-3, seed=4),
            solver=fa.Solver(method="rk4", step=1e-3),
            samples=2001,
        )
    heard = result.u.values[:-1, 0] - result.q.values[:-1, 0]
    assert heard.std() == pytest.approx(2.0, rel=0.1) and abs(heard.mean()) < 0.2


def test_what_surrounds_a_noisy_law_hands_its_noise_on(single):
    noisy = Made(
        Law(lambda t, q, qd, z, noise: (noise[0] + 0 * q[0], []), noise=(1.0,), reference=fa.Quintic([0], [1], 1.0))
    )
    state = np.array([0.0, 0.3, 0.0, 0.0, 0.0, 0.0, 0.0])
    for around in (Saturated(noisy, 5.0), StrainRate(noisy, 0.0, "a"), DesignedFor(noisy, single)):
        assert kernel(around.law(single, 1e-3), single, 3).one(np.append(state, 0.7))[0] == pytest.approx(0.7)
    law = Integral(noisy, 2.0).law(single, 1e-3)
    assert kernel(law, single, 3).one(np.concatenate([state, [0.4], [0.7]]))[0] == pytest.approx(1.1)


def test_a_law_is_known_by_what_it_computes(single):
    """Nothing else need be said: laws that differ in numbers have one machine code, others have another."""

    def made(gain, function=ca.cos):
        return kernel(Law(lambda t, q, qd, z: (-gain * q[0] - function(17.3 * t), [])), single, 3)

    state = np.array([0.1, 0.3, 0.0, 0.0, 0.0, 0.0, 0.0])
    first, other = made(2.0), made(2.5)
    assert first.one(state) - other.one(state) == pytest.approx(0.5 * 0.3)
    assert first.code is other.code and made(2.0).one(state) == first.one(state)
    assert made(2.0, ca.sin).code is not first.code


# -- constants for references -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("controller", [JointPD, ComputedTorque, Decoupling])
def test_numbers_are_a_place_to_stand(controller, planar):
    """The first thing one writes: a number for all joints, or one each."""
    still = fa.Quintic((0.5, 0.5), (0.5, 0.5), 1.0)
    state = np.concatenate([[0.3], 0.1 * np.random.default_rng(2).normal(size=12)])
    wanted = kernel(controller(still, 5.0, 2.0).law(planar), planar, 6).one(state)
    for place in (0.5, [0.5, 0.5], np.array([0.5, 0.5]), np.float64(0.5)):
        law = controller(place, 5.0, 2.0).law(planar)
        np.testing.assert_allclose(kernel(law, planar, 6).one(state), wanted, rtol=1e-13)
    other = kernel(controller([0.5, 0.6], 5.0, 2.0).law(planar), planar, 6).one(state)
    assert not np.allclose(other, wanted)


def test_an_arm_goes_where_a_number_says(single):
    for controller in (
        JointPD(0.5, 10.0, 2.0),
        Integral(JointPD(0.5, 10.0, 2.0), 1.0),
        LQR(reference=0.5, bandwidth=8.0),
    ):
        result = fa.simulate(single, 5.0, u=controller, q0=[0.0, 0.0, 0.0], progress=False)
        np.testing.assert_array_equal(result.q_ref.values, 0.5)
        assert result.q.values[-1, 0] == pytest.approx(0.5, abs=0.02)
    assert fa.simulate(single, 0.1, u=JointPD(0.5, 10.0, 2.0), samples=2, progress=False).q.values[0, 0] == 0.5


@pytest.mark.parametrize("given", [[0.1, 0.2, 0.3], "0.5", None, np.nan, fa.Quintic, [[0.1, 0.2]], True])
def test_what_is_no_reference(given, planar):
    says = r"JointPD: reference is .*; it must be a reference, one number, or 2 numbers, one per joint"
    with refused(says):
        fa.simulate(planar, 0.1, u=JointPD(given, 1.0, 1.0))


def test_composite_stands_where_a_number_says():
    model = fa.Model(fa.load("subudhi-morris-elastic"))
    facts = Composite([0.4, 0.2], 5.0, 4.0).law(model).facts
    assert facts["poles"].real.max() < 0 and "growth" not in facts


# -- what is no controller --------------------------------------------------------------------------------------------


class NoMethod:
    law = 3.0


class NoArguments:
    def law(self):
        return None


class NoLaw:
    def law(self, model, period=None):
        return lambda t, q, qd: q


CONTROLLER = r"it must be a controller, an object with a method law\(model, period\)"
WRONG = {
    "class": (JointPD, r"u is the class JointPD; it must be an object: JointPD\(\.\.\.\)"),
    "input class": (fa.Piecewise, r"u is the class Piecewise; it must be an object: Piecewise\(\.\.\.\)"),
    "attribute": (NoMethod(), rf"u is a NoMethod; {CONTROLLER}"),
    "arguments": (NoArguments(), rf"u is a NoArguments; {CONTROLLER}"),
    "no law": (NoLaw(), rf"u is a NoLaw, whose law is a function, not a Law; {CONTROLLER}"),
    "state space": (control.ss([[0.0]], [[1.0]], [[1.0]], [[0.0]]), r"u is a StateSpace of python-control, .*"),
    "transfer function": (control.tf([1.0], [1.0, 2.0]), r"u is a TransferFunction of python-control, .*"),
    "discrete": (control.tf([1.0], [1.0, 2.0], 0.1), r"u is a TransferFunction of python-control, .*"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_input(name, single):
    given, line = WRONG[name]
    with refused(line):
        fa.simulate(single, 0.1, u=given)


SAMPLED = "it must be a controller or a function of t, q, qd"
LINEAR = r"use control\.Linear\(system, sensors=\[\.\.\.\]\)"


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (JointPD, f"Sampled: controller is the class JointPD; {SAMPLED}"),
        (control.ss([[0.0]], [[1.0]], [[1.0]], [[0.0]]), f"Sampled: controller is a StateSpace; {LINEAR}"),
        (control.tf([1.0], [1.0, 2.0]), f"Sampled: controller is a TransferFunction; {LINEAR}"),
        (3.0, f"Sampled: controller is a float; {SAMPLED}"),
    ],
)
def test_what_cannot_be_sampled(given, line):
    with refused(line):
        Sampled(given, period=1e-3)


def test_what_cannot_be_sampled_is_seen_with_the_arm(single):
    with refused(rf"Sampled: controller is a NoMethod; {CONTROLLER}"):
        fa.simulate(single, 0.1, u=Sampled(NoMethod(), period=1e-3))
    pd = JointPD(0.5, 1.0, 1.0)
    with refused(r"Integral: controller is a Sampled; give the controller itself, .*"):
        fa.simulate(single, 0.1, u=Integral(Sampled(pd, period=1e-3), 1.0))
    with refused(rf"Saturated: controller is the class JointPD; {CONTROLLER}"):
        fa.simulate(single, 0.1, u=Saturated(JointPD, 1.0))


# -- the torque that reaches the arm ----------------------------------------------------------------------------------

PERIOD = 1e-3
GAUGED = [fa.Encoder(coordinate="a.joint", noise=1e-4), fa.StrainGauge(link="a", noise=1e-3)]


def estimate_after(model, controller, x, **sampling):
    """The estimate after a period that began with the right one, and the torque that the arm got; and the arm there."""
    n = len(model.coordinates)
    given = Sampled(controller, period=PERIOD, **sampling).feedback(model)
    z = np.array(given.law.memory)
    at = len(JointPD(0.0, 0.0, 0.0).law(model).memory)
    z[at : at + 2 * n] = x
    found = given.kernel.one(np.concatenate([[0.0], x, z, np.zeros(len(given.law.noise))]))
    u = found[: len(model.inputs)]
    there = fa.simulate(
        model, PERIOD, u=u, q0=x[:n], qd0=x[n:], solver=fa.Solver(rtol=1e-12, atol=1e-14), samples=2, progress=False
    )
    moved = np.concatenate([there.q.values[-1], there.qd.values[-1]])
    return found[len(u) :][at : at + 2 * n], u, moved


@pytest.mark.parametrize(
    ("around", "sampling", "torque"),
    [
        (lambda c: c, {}, 5.0),
        (lambda c: c, {"limit": 0.3}, 0.3),
        (lambda c: c, {"rate_limit": 40.0}, 0.04),
        (lambda c: c, {"delay": 2e-3}, 0.0),
        (lambda c: Saturated(c, 0.2), {"limit": 0.3}, 0.2),
        (lambda c: Saturated(StrainRate(c, 0.0, "a"), 0.2), {}, 0.2),
    ],
    ids=["free", "limit", "rate limit", "delay", "saturated", "strain rate"],
)
def test_the_filter_knows_the_torque_that_the_arm_gets(around, sampling, torque, single):
    """It is moved along with the arm, not with what the controller would have liked."""
    x = np.array([0.0, 0.001, 0.0, 0.2, 0.0, 0.0])
    pd = JointPD(0.5, 10.0, 0.0)
    estimate, u, moved = estimate_after(single, around(Observed(pd, GAUGED)), x, **sampling)
    assert u[0] == pytest.approx(torque, abs=1e-9)
    np.testing.assert_allclose(estimate, moved, atol=1e-6)
    wrong = fa.simulate(single, PERIOD, u=5.0 if torque < 5 else 0.0, q0=x[:3], qd0=x[3:], samples=2, progress=False)
    assert np.abs(wrong.qd.values[-1] - moved[3:]).max() > 1e-3, "the torque shows in a period"


def test_the_filter_knows_what_an_integral_adds(single):
    x = np.array([0.0, 0.001, 0.0, 0.2, 0.0, 0.0])
    law = Integral(Observed(JointPD(0.5, 10.0, 0.0), GAUGED), 3.0).law(single, PERIOD)
    found = kernel(law, single, 3).one(np.concatenate([[0.0], x, x, [0.7], np.zeros(len(law.noise))]))
    assert found[0] == pytest.approx(5.7)
    there = fa.simulate(single, PERIOD, u=5.7, q0=x[:3], qd0=x[3:], rtol=1e-12, samples=2, progress=False)
    np.testing.assert_allclose(found[1:7], np.r_[there.q.values[-1], there.qd.values[-1]], atol=1e-6)


def test_a_saturated_loop_with_a_filter_does_as_well_as_with_the_state(single):
    """A slew whose torque is cut off for most of the way."""
    pd = JointPD(fa.Quintic([0.0], [1.0], 0.3), 20.0, 3.0)
    errors = []
    for controller in (pd, Observed(pd, GAUGED)):
        u = Sampled(controller, period=PERIOD, limit=0.5)
        result = fa.simulate(single, 2.0, u=u, method="auto", samples=201, progress=False)
        assert (np.abs(result.u.values) > 0.499).mean() > 0.2
        errors.append(result.q.values[:, 0])
    assert np.abs(errors[0] - errors[1]).max() < 0.01


# -- in another process -----------------------------------------------------------------------------------------------


def used_elsewhere(parcel):
    model, controller = pickle.loads(parcel)
    result = fa.simulate(
        model, 0.05, u=controller, solver=fa.Solver(method="rk4", step=1e-3), samples=3, progress=False
    )
    return model.mass_matrix(result.q.values[-1]), result.q.values


def test_models_and_controllers_travel_to_another_process(planar):
    planar.mass_matrix(np.zeros(6))  # with kernels and functions at hand
    planar.slope("restoring_force", 0)
    pd = JointPD(fa.Quintic([0, 0], [0.5, 0.3], 0.05), 5.0, 2.0)
    controller = Sampled(DesignedFor(pd, planar), period=1e-3)
    parcel = pickle.dumps((planar, controller))
    here = used_elsewhere(parcel)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        there = pool.submit(used_elsewhere, parcel).result()
    for a, b in zip(here, there, strict=True):
        np.testing.assert_array_equal(a, b)
    assert np.abs(here[1]).max() > 0.1
