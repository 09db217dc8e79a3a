"""Sums of laws and of what is known beforehand, and loops of several rates."""

import pickle
from dataclasses import dataclass
from types import SimpleNamespace

import casadi as ca
import control
import numpy as np
import pytest
from controlled import refused

import flexarm as fa
from flexarm.control import Every, Integral, JointPD, Law, Linear, Observed, Sampled, Saturated, Sum
from flexarm.sensors import Encoder, StrainGauge, Tachometer

pytestmark = pytest.mark.filterwarnings("ignore:Sampled. period is")  # what is compared are loops, not arms well held
T = 0.01
MOVE, OTHER = fa.Quintic((0.0, 0.0), (0.8, 0.4), 0.5), fa.Quintic((0.0, 0.0), (0.1, 0.4), 0.5)
PD, HALF = JointPD(MOVE, 5.0, 2.0), JointPD(MOVE, 2.5, 1.0)
RNG = np.random.default_rng(7)
TIMES, TORQUES = np.linspace(0.0, 0.6, 13), RNG.normal(0.0, 0.3, (13, 2))
ENCODERS = [Encoder(coordinate=f"{name}.drive", noise=1e-3) for name in ("upper", "fore")]
FINE = {"rtol": 1e-10, "solver": fa.Solver(atol=1e-12)}


@pytest.fixture(scope="module")
def model():
    return fa.Model(fa.load("subudhi-morris"))


@pytest.fixture(scope="module")
def slide():
    joint = fa.Prismatic(axis=(1, 0, 0), damping=0.2, drive=fa.Drive(parallel=fa.Parallel(stiffness=3.0)))
    return fa.Model(
        fa.Arm(name="slide", links=[fa.Link(name="a", joint=joint, body=fa.Rigid(length=1.0, mass=0.5, inertia=0.1))])
    )


def run(model, u, until=0.6, **more):
    given = {"q0": np.zeros(len(model.coordinates)), "samples": round(until / T) + 1, "progress": False} | more
    return fa.simulate(model, until, u=u, method="dop853", **FINE | given)


def same(one, other, tolerance=1e-8):
    for name in ("q", "u"):
        np.testing.assert_allclose(one[name].values, other[name].values, rtol=0, atol=tolerance)


def both(u):
    """Continuous, and sampled with all that lies between a law and the arm."""
    return u, Sampled(u, T, delay=T, limit=3.0, rate_limit=500.0, seed=2)


# -- sums --------------------------------------------------------------------------------------------------------------


def test_two_halves_of_a_controller_are_the_whole(model):
    for one, other in zip(both(PD), both(Sum(HALF, HALF)), strict=True):
        same(run(model, one), run(model, other))


def test_memories_stand_side_by_side(model):
    """Integrals of two terms, and one around the sum, which takes the terms' reference."""
    wanted = both(Integral(PD, 3.0))
    for sums in (
        Sum(Integral(HALF, 1.0), Integral(HALF, 2.0)),
        Integral(Sum(HALF, HALF), 3.0),
        Sum(Integral(PD, 3.0), 0.0),
    ):
        for one, other in zip(wanted, both(sums), strict=True):
            same(run(model, one), run(model, other))


@pytest.mark.parametrize("period", [None, T])
def test_each_term_keeps_its_own_memory(period, slide):
    """Two systems whose states move otherwise, beside their sum in one."""
    one, other = control.ss([[-3.0]], [[2.0]], [[5.0]], [[0.0]]), control.ss([[0.0]], [[1.0]], [[0.7]], [[1.5]])
    encoder = [Encoder(coordinate="a.drive")]
    runs = []
    for law in (
        Sum(*(Linear(each, encoder, reference=0.2, initial=[0.1 * k]) for k, each in enumerate((one, other), 1))),
        Linear(control.parallel(one, other), encoder, reference=0.2, initial=[0.1, 0.2]),
    ):
        runs.append(run(slide, law if period is None else Sampled(law, period), until=1.0))
    same(*runs, 1e-10)


INPUTS = {
    "numbers": [0.2, -0.1],
    "number": 0.2,
    "piecewise": fa.Piecewise(TIMES, TORQUES),
    "later": fa.Piecewise([0.1, 0.35], [[0.3, 0.1], [-0.2, 0.4]]),
    "constant": fa.inputs.constant([0.3, 0.1]),
    "bang-bang": fa.bang_bang([0.3, 0.1], 0.17, start=0.05),
    "cubic": fa.Table(TIMES, TORQUES),
    "linear": fa.Table(TIMES + 0.03, TORQUES, kind="linear"),
    "inverse dynamics": fa.RigidInverseDynamics(MOVE),
}


@pytest.mark.parametrize("name", INPUTS)
def test_what_is_known_beforehand_acts_as_it_does_alone(name, model):
    given = INPUTS[name]
    alone = run(model, given)
    for term in (given, SimpleNamespace(torques=given)):
        same(run(model, Sum(term)), alone, 1e-9)
    same(run(model, Sum(given, -1.0, 1.0)), alone, 1e-9)


def test_a_function_of_the_symbolic_time(model):
    same(
        run(model, Sum(lambda t: [0.3 * ca.sin(9 * t), -0.2])),
        run(model, lambda t: [0.3 * np.sin(9 * t), -0.2]),
    )


def test_feed_forward_and_feedback(model):
    """The sum is what a Python function adds up, sampled: both then have the same numbers at each sample."""
    forward = fa.RigidInverseDynamics(MOVE)
    along = run(model, forward, until=0.6).u.values

    def by_hand(t, q, qd):
        r, rd, _ = fa.trajectory.reference_motion(MOVE, t)
        return along[round(t / T)] + 5.0 * (r - q[:2]) + 2.0 * (rd - qd[:2])

    same(run(model, Sampled(Sum(forward, PD), T)), run(model, Sampled(by_hand, T)), 1e-9)


def test_a_value_that_begins_at_a_sample_counts_there(model):
    """However a sample's time is rounded: 3 T is less than 0.3 T 10 by the last bit, or more."""
    period = 0.1
    times = [0.3, 0.6, 0.7]
    pieces = fa.Piecewise(times, [[1.0, 0.0], [2.0, 0.0], [3.0, 0.0]])
    result = run(model, Sampled(Sum(pieces), period), until=0.9, samples=19)
    wanted = np.searchsorted(np.array(times) - 1e-6, result.time.values[::2][:-1], side="right")
    np.testing.assert_array_equal(result.u.values[::2, 0][:-1], wanted)


def test_a_sample_that_rounding_puts_before_a_jump(slide):
    """The law at the double next below the jump, where k T may come to lie, has what holds from the jump on."""
    law = Sum(fa.Piecewise([0.0, 0.3], [[1.0], [2.0]])).law(slide, 0.1)
    for t, wanted in ((0.2, 1.0), (np.nextafter(0.3, 0.0), 2.0), (0.3, 2.0)):
        assert float(ca.DM(law(t, ca.SX.zeros(1), ca.SX.zeros(1), ca.SX(0, 1))[0])) == wanted


def test_jumps_are_those_of_all_terms(model):
    law = Sum(fa.Piecewise([0.1, 0.3], np.ones((2, 2))), fa.Piecewise([0.3, 0.4], np.ones((2, 2))), PD).law(model)
    assert set(law.jumps) >= {0.1, 0.3, 0.4} and len(law.jumps) == len(set(law.jumps))
    assert set(PD.law(model).jumps) <= set(law.jumps)


@dataclass(frozen=True)
class Noisy:
    """Noise alone, times a share."""

    share: float
    drives: bool = False

    def law(self, model, period=None):
        def expression(t, q, qd, z, noise, *s):
            return self.share * noise + sum(ca.vertsplit(s[0]) if s else [0.0]), []

        return Law(expression, noise=(1.0,) * len(model.inputs), drives=self.drives)


def test_each_term_has_its_own_noise(model):
    """Two noises of sigma and 2 sigma have sqrt(5) sigma together, not 3."""
    u = run(model, Sampled(Sum(Noisy(1e-6), Noisy(2e-6), 0.0), T, seed=3), until=4.0).u.values
    assert np.std(u[:-1]) == pytest.approx(np.sqrt(5) * 1e-6, rel=0.1)


def test_a_term_may_measure_currents():
    """States of drives go to the term that wants them, behind its noise or without one."""
    model = fa.Model(fa.load("industrial-arm"))
    m, states = len(model.inputs), len(model.states)

    @dataclass(frozen=True)
    class Currents:
        def law(self, model, period=None):
            return Law(lambda t, q, qd, z, s: (ca.repmat(ca.sum1(s), m, 1), []), drives=True)

    law = Sum(1.0, Currents(), Noisy(2.0), Noisy(0.5, drives=True)).law(model, T)
    assert law.drives and len(law.noise) == 2 * m
    s, noise = RNG.normal(size=states), RNG.normal(size=2 * m)
    x = (ca.SX.zeros(model.nq), ca.SX.zeros(model.nv), ca.SX(0, 1))
    u, _ = law(0.0, *x, ca.SX(noise), ca.SX(s))
    wanted = 1.0 + 2 * s.sum() + 2.0 * noise[:m] + 0.5 * noise[m:]
    np.testing.assert_allclose(np.array(ca.DM(u)).ravel(), wanted, rtol=1e-12)


def test_a_filter_in_a_sum_is_told_the_whole(model):
    """The torque that feed-forward adds is no surprise to an observer beside it."""
    seen = Observed(HALF, [*ENCODERS, *(StrainGauge(link=name, noise=1e-2) for name in ("upper", "fore"))])
    law = Sum(fa.inputs.constant([0.4, -0.3]), seen).law(model, 1e-3)
    n = len(model.coordinates)
    x = np.concatenate([[0.1, -0.2], np.zeros(2 * n - 2)])
    z, noise = ca.SX(np.concatenate([x])), ca.SX.zeros(len(law.noise))
    u, after = law(0.2, ca.SX(x[:n]), ca.SX(x[n:]), z, noise)
    reaches = np.array(ca.DM(u)).ravel() * [0.7, 0.4]  # behind a limit
    following = np.array(ca.DM(after(ca.SX(reaches)))).ravel()
    moved = fa.Stepper(model, 1e-3, q0=x[:n]).step(reaches)
    np.testing.assert_allclose(following, moved, rtol=0, atol=1e-5 * np.abs(moved - x).max())


def test_the_reference_of_a_sum(model):
    assert Sum(0.1, PD).law(model).reference == MOVE
    assert Sum(0.1, 0.2).law(model).reference is None
    assert Sum(PD, JointPD(MOVE, 1.0, 1.0)).law(model).reference == MOVE
    chosen = Sum(PD, JointPD(OTHER, 1.0, 1.0), reference=OTHER).law(model)
    assert chosen.reference == OTHER
    still = Sum(0.0, reference=0.3)
    assert run(model, still, q0=None).q.values[0, 0] == 0.3


def test_it_stands_in_other_controllers_and_travels(model):
    u = Sampled(Saturated(Integral(Sum(fa.Table(TIMES, TORQUES), PD), 2.0), 2.0), T)
    wanted = run(model, u)
    np.testing.assert_array_equal(run(model, pickle.loads(pickle.dumps(u))).q.values, wanted.q.values)
    given = {"samples": len(wanted.time), "progress": False, "method": "dop853"} | FINE
    many = fa.simulate_many(model, 0.6, u=u, q0=np.zeros((3, len(model.coordinates))), **given)
    np.testing.assert_allclose(many.q.values[1], wanted.q.values, rtol=0, atol=1e-12)


def test_a_method_goes_to_the_systems_in_a_sum(slide):
    system, encoder = control.tf([3.0, 2.0], [1.0, 4.0]), [Encoder(coordinate="a.drive")]
    one, other = (Linear(system, encoder, reference=0.2, method=method) for method in ("tustin", "zoh"))
    wanted = run(slide, Sampled(Sum(other, Every(other, 2)), T))
    same(run(slide, Sampled(Sum(one, Every(one, 2), 0.0), T, method="zoh")), wanted, 0.0)
    assert not np.allclose(run(slide, Sampled(Sum(one, Every(one, 2)), T)).q.values, wanted.q.values)


# -- several rates -----------------------------------------------------------------------------------------------------


def test_a_controller_called_every_time_is_itself(model):
    same(run(model, Sampled(Every(Integral(PD, 3.0), 1), T)), run(model, Sampled(Integral(PD, 3.0), T)), 1e-12)


def test_a_controller_called_less_often_is_one_of_a_longer_period(model):
    """Its memory too: the same numbers as sampled by itself at that period."""
    fast = T / 8
    for controller in (PD, Integral(PD, 3.0), Sum(0.1, HALF)):
        wanted = run(model, Sampled(controller, 4 * fast))
        same(run(model, Sampled(Every(controller, 4), fast)), wanted, 1e-8)
        same(run(model, Sampled(Every(Every(controller, 2), 2), fast)), wanted, 1e-8)


def test_two_rates_in_one_loop_beside_python_control(slide):
    """An inner loop of the rate at T and an outer one of the place, with an integral, at 5 T: both by hand."""
    N, rate = 5, Tachometer(coordinate="a.drive")
    encoder = Encoder(coordinate="a.drive")
    outer = control.tf([9.0, -8.7], [1.0, -1.0], N * T)
    u = Sum(Every(Linear(outer, [encoder], reference=0.3), N), Linear([[-1.5]], [rate]))
    result = run(slide, Sampled(u, T), until=2.0)
    plant = control.sample_system(slide.linearize(np.zeros(1), np.zeros(1), np.zeros(1)), T, "zoh")
    K, x, z, held, found = control.ss(outer), np.zeros(2), np.zeros(1), 0.0, []
    for k in range(len(result.time)):
        found.append(x[0])
        if k % N == 0:
            e = 0.3 - x[0]
            held, z = (K.C @ z + K.D[0] * e).item(), K.A @ z + K.B[:, 0] * e
        x = plant.A @ x + plant.B[:, 0] * (held - 1.5 * x[1])
    np.testing.assert_allclose(result.q.values[:, 0], found, rtol=0, atol=1e-8)


# -- what is refused ---------------------------------------------------------------------------------------------------


class Steps:
    sensors = None

    def stepper(self, model, period):
        return lambda t, y: [0.0, 0.0]


WRONG = {
    "sampled": (
        Sampled(PD, T),
        r"Sum: a term is a Sampled; give the controller itself, and put Sampled around the Sum",
    ),
    "python": (Steps(), r"Sum: a term is a Steps, which runs in Python; the terms of a Sum are compiled: .*"),
    "class": (JointPD, r"Sum: a term is the class JointPD; it must be an object: JointPD\(\.\.\.\)"),
    "text": ("PD", r"Sum: a term is a str; it must be a controller, numbers, .*"),
    "numbers": ([1.0, 2.0, 3.0], r"values: 3 columns for 2 actuators: upper\.joint, fore\.joint"),
    "rows": ([[[1.0]]], r"times has shape .*"),
    "motion": (
        fa.PrescribedMotion(MOVE),
        r"Sum: a term is whatever moves the joints along .*; it must depend on time alone.*",
    ),
    "state": (
        lambda t, q, qd: [0.0, 0.0],
        r"Sum: <lambda> does not take t alone; it must be a function of the time, .*",
    ),
    "numpy": (
        lambda t: [float(t), 0.0],
        r"Sum: <lambda> is not an expression of t: .*; use CasADi operations in it, .*",
    ),
    "not a number": (lambda t: [np.nan, t], r"Sum: <lambda> is not an expression of t: it returns nan; use CasADi .*"),
    "too few": (lambda t: [t], r"controller <lambda> in a Sum returns 1 input; the arm has 2: .*"),
    "table": (fa.Table([0.0, 1.0], [1.0, 2.0]), r"values: 1 column for 2 actuators: upper\.joint, fore\.joint"),
    "reference": (JointPD(OTHER, 1.0, 1.0), r"Sum: its terms follow different references, .* and .*; give all .*"),
    "system": (
        control.tf([1.0], [1.0, 2.0]),
        r"Sum: a term is a TransferFunction; use control\.Linear\(system, .*",
    ),
    "a motion": (MOVE, r"Sum: a term is a Quintic; it must be a controller, numbers, .*"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_term(name, model):
    given, line = WRONG[name]
    with refused(line):
        run(model, Sum(PD, given))


def test_other_faults_of_sums_and_rates(model):
    with refused(r"Sum: there are no terms; give controllers, or inputs that depend on time"):
        Sum()
    with refused(r"Sum: reference is 'there'; it must be a reference, one number, or 2 numbers, one per joint"):
        run(model, Sum(PD, reference="there"))
    with refused(r"Sampled: method applies only to a control\.Linear, and the Sum contains none; leave method out"):
        run(model, Sampled(Sum(PD, 0.0), T, method="zoh"))
    with refused(r"Sampled: method applies only to a control\.Linear, and Every contains none; leave method out"):
        run(model, Sampled(Every(PD, 2), T, method="zoh"))
    with refused(r"Every: the controller must be sampled: use Sampled\(Every\(\.\.\.\), period\)"):
        run(model, Every(PD, 4))
    for periods, says in ((0, "at least 1"), (2.5, "a whole number")):
        with refused(rf"Every: periods is {periods}; it must be .*{says}.*"):
            run(model, Sampled(Every(PD, periods), T))
    several = Sampled(Integral(Sum(Every(PD, 2), 0.0), 1.0), T)
    with refused(r"shaper: the controller has several sampling periods, so its poles .*"):
        fa.control.design_shaper(model, controller=several)
    with refused(r"Every: controller is a Sampled; give the controller itself, .*"):
        run(model, Sampled(Every(Sampled(PD, T), 2), T))
