"""Explicit methods for one run: beside closed forms, beside SciPy's, and in Python beside machine code."""

import copy
import pickle
from dataclasses import fields
from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate

import flexarm as fa
from flexarm.native.functions import translated
from flexarm.native.language import Floats, sqrt
from flexarm.simulation import butcher, explicit
from flexarm.simulation.explicit import Explicit, ExplicitSteps
from flexarm.simulation.rhs import Plan, RunRecord
from flexarm.simulation.stages import Stages

METHODS = {"rk45": 5, "tsit5": 5, "vern7": 7, "vern8": 8, "dop853": 8}
"""Methods that choose their steps, and their orders."""
FIXED = {"euler": 1, "midpoint": 2, "rk3": 3, "rk4": 4}
SCIPY = {"rk45": integrate.RK45, "dop853": integrate.DOP853}
OMEGA = 7.3
START = np.array([0.4, -1.1, 1.0, 0.0])
END = 2.3
NAN = float("nan")


def rates(x: Floats, dx: Floats) -> None:
    """An oscillator (q, v) that time pushes, y' = -2 t y^2, and an integral, of 2 t y; x[3] is u, the time."""
    dx[0] = x[1]
    dx[1] = -OMEGA * OMEGA * x[0] + x[3]
    dx[2] = -2.0 * x[3] * x[2] * x[2]
    dx[3] = 2.0 * x[3] * x[2]


def ending(x: Floats, dx: Floats) -> None:
    """Rates that are no numbers from t = 1.3 on."""
    rates(x, dx)
    dx[2] = sqrt(1.3 - x[3])


def exploding(x: Floats, dx: Floats) -> None:
    """Of y' = y^2, from y = 1: infinite at t = 1; but for rounding."""
    rates(x, dx)
    dx[2] = x[2] * x[2]


def clock(buffer: Floats, u: Floats, data: int) -> None:
    """u is the time."""
    u[0] = buffer[0]


def exact(t):
    """The states of `rates` from START at t = 0."""
    t = np.asarray(t, dtype=float)
    a, b = START[0], (START[1] - OMEGA**-2) / OMEGA
    q = t / OMEGA**2 + a * np.cos(OMEGA * t) + b * np.sin(OMEGA * t)
    v = OMEGA**-2 + OMEGA * (b * np.cos(OMEGA * t) - a * np.sin(OMEGA * t))
    return np.stack([q, v, 1.0 / (1.0 + t**2), np.log1p(t**2)], axis=-1)


@pytest.fixture(scope="module")
def code():
    return translated(rates, ending, exploding, still, fleeing, halting, clock)


@pytest.fixture
def made(code):
    """Methods on plans of the rates of one of the functions."""

    def make(method, rtol, guess=0.1, rate="rates", **more):
        plan = Plan(code.addresses[rate], 3, 1, powers=1, held=code)
        plan.feed(code.addresses["clock"])
        atols = np.array([1e-3 * rtol] * 3 + [1e300])
        return Made(Explicit(butcher.METHODS[method], plan, rtol, atols, guess=guess, **more), plan)

    return make


class Made:
    """A method, its record and its plan. A call returns the states, the steps, the message and the divergence."""

    def __init__(self, method, plan):
        self.method, self.plan, self.record = method, plan, method.record

    def __call__(self, t0, x0, times):
        found = self.method(t0, x0, times)
        return found.x, found.steps, found.message, found.diverged


# -- beside closed forms -----------------------------------------------------------------------------------------------


def parts(errors):
    """The largest errors of the oscillator's state, of y and of the integral."""
    oscillator = np.hypot(errors[:, 0], errors[:, 1] / OMEGA)
    return np.array([oscillator.max(), *np.abs(errors[:, 2:]).max(axis=0)])


@pytest.mark.parametrize("method", METHODS)
def test_the_error_of_equal_steps_falls_by_the_order(method, made):
    """Half the step, and the error is 2^5 to 2^8 times less, also of what rides along."""
    order, times = METHODS[method], np.linspace(0.0, END, 6)
    # The second part has fewer steps, so that its errors are not those of rounding.
    for few, part in ((20 if order > 5 else 80, slice(0, 1)), (10 if order > 5 else 60, slice(1, 3))):
        errors = []
        for count in (few, 2 * few):
            x, steps, why, _ = made(method, 1e9, END / count, step=END / count)(0.0, START, times)
            assert (steps, why) == (count, "")
            errors.append(parts(x - exact(times))[part])
        found = np.log2(errors[0] / errors[1])
        assert (found > order - 0.5).all() and (found < order + 2.0).all(), found


@pytest.mark.parametrize("method", FIXED)
def test_the_error_of_fixed_steps_falls_by_the_order(method, made):
    """Nothing is evaluated twice: a step takes as many evaluations as the method has stages."""
    order, times, errors = FIXED[method], np.linspace(0.0, END, 6), []
    for count in (2000, 4000) if order < 3 else (100, 200):
        stepping = made(method, 1.0, step=END / count)
        x, steps, why, _ = stepping(0.0, START, times)
        assert (steps, why, stepping.plan.evaluations) == (count, "", order * count)
        errors.append(np.abs(x - exact(times)).max(axis=0))
    found = np.log2(errors[0] / errors[1])
    assert (found > order - 0.3).all() and (found < order + 1.5).all(), found


@pytest.mark.parametrize("method", METHODS)
def test_states_within_a_step_are_nearly_as_exact_as_those_at_its_end(method, made):
    """The order of the interpolation is at most one less than that of the method."""
    order, errors = METHODS[method], []
    counts = (10, 20) if order > 5 else (80, 160)
    for count in counts:
        h = END / count
        inside = np.sort(np.concatenate([np.arange(count) * h + share * h for share in (0.21, 0.5, 0.83)]))
        stepping = made(method, 1e9, h, step=h)
        x, steps, _, _ = stepping(0.0, START, np.append(inside, END))
        assert steps == count
        errors.append(parts(x - exact(np.append(inside, END))))
    found = np.log2(errors[0] / errors[1])
    assert (found > order - 1.4).all(), found


def test_the_first_step_is_that_of_scipy(made):
    """Without a guess of its length."""
    for method in SCIPY:
        solver, steps = stepped(method, 1e-6, None, END)
        stepping = made(method, 1e-6, 0.0)
        x, count, _, _ = stepping(0.0, START, np.array([END]))
        assert (count, stepping.plan.evaluations) == (steps, solver.nfev)
        np.testing.assert_allclose(x[0], solver.y, rtol=0, atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_the_error_follows_the_tolerance(method, made):
    """From 1e-3 to 1e-11, through a second and more of an oscillation."""
    rtols = 10.0 ** -np.arange(3, 12)
    errors, steps, times = [], [], np.linspace(0.0, END, 12)
    for rtol in rtols:
        x, count, _, _ = made(method, rtol)(0.0, START, times)
        errors.append(np.abs((x - exact(times)) / np.abs(exact(times)).max(axis=0)).max())
        steps.append(count)
    assert (np.array(errors) < 20.0 * rtols).all()
    assert (np.diff(steps) >= 0).all() and (np.array(errors) > 1e-4 * rtols).all()  # nor are there steps for nothing
    assert errors[-1] < 1e-6 * errors[0]


# -- beside SciPy's ----------------------------------------------------------------------------------------------------


def stepped(method, rtol, guess, end, longest=np.inf):
    """SciPy's solver of the same method, at the end."""

    def rate(t, x):
        dx = np.empty(4)
        rates(np.array([*x[:3], t]), dx)
        return dx

    atol = np.array([1e-3 * rtol] * 3 + [1e300])
    solver = SCIPY[method](rate, 0.0, START, end, rtol=rtol, atol=atol, first_step=guess, max_step=longest)
    steps = 0
    while solver.status == "running":
        solver.step()
        steps += 1
    return solver, steps


@pytest.mark.parametrize("method", SCIPY)
@pytest.mark.parametrize(("guess", "longest"), [(1e-4, np.inf), (END, np.inf), (0.02, 0.06)])
def test_steps_are_those_that_scipy_takes(method, guess, longest, made):
    """The same error of a step, the same next one, after one that was too long as well."""
    for rtol in (1e-4, 1e-8):
        solver, steps = stepped(method, rtol, guess, END, longest)
        stepping = made(method, rtol, guess, step=0.0 if longest == np.inf else longest)
        x, count, _, _ = stepping(0.0, START, np.array([END]))
        assert (count, stepping.plan.evaluations) == (steps, solver.nfev)
        np.testing.assert_allclose(x[0], solver.y, rtol=0, atol=1e-9 * rtol + 1e-12)
        assert stepping.record.h == pytest.approx(solver.t - solver.t_old, abs=1e-6)


# -- in Python beside machine code -------------------------------------------------------------------------------------


def in_python(stepping, x0, times, rate=rates, stop=0):
    """The same function in Python, on a copy of the record."""
    given, method = (
        {each.name: getattr(record, each.name) for each in fields(kind)}
        for record, kind in ((stepping.record, ExplicitSteps), (stepping.record.method, Stages))
    )
    method = Stages(**method | {name: method[name].copy() for name in "hkF"})
    shared = RunRecord(rate, clock, 0, 0.0, np.inf, stop, 0, 0, 0, 4, 3, 4, np.zeros(5))
    record = ExplicitSteps(
        **given | {name: given[name].copy() for name in "yzex"} | {"shared": [shared], "method": method}
    )
    out, reached = np.zeros(4 * len(times)), np.zeros(2, dtype=np.int64)
    explicit.explicit(record, 0.0, x0, times, len(times), out, reached)
    return out.reshape(-1, 4)[: reached[0]], int(reached[1]), shared.evaluations, record


@pytest.mark.parametrize("method", [*METHODS, *FIXED])
def test_machine_code_does_what_python_does(method, made):
    times = np.array([0.0, 0.05, 0.6, 0.6, 1.1])
    for guess in (0.01, 1.1, 0.0):
        stepping = made(method, 1e-6, guess, step=0.03 if method in FIXED else 0.0)
        found = stepping(0.0, START, times)
        x, steps, evaluations, record = in_python(stepping, START, times)
        assert (found[1], stepping.plan.evaluations) == (steps, evaluations)
        np.testing.assert_allclose(found[0], x, rtol=1e-10, atol=1e-11)  # the steps' lengths are rounded
        np.testing.assert_allclose([stepping.record.t, stepping.record.h], [record.t, record.h], rtol=1e-5)


# -- stretches ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_times_of_a_stretch_change_no_steps(method, made):
    """The states at them are interpolated; a time that comes twice has one state."""
    once = made(method, 1e-6)
    x, steps, _, _ = once(0.0, START, np.array([END]))
    near = np.array([0.0, 0.0, 0.7, 0.7 + 1e-9, 0.7 + 2e-9, 0.7 + 2e-9, END])
    often = made(method, 1e-6)
    rows, more, why, _ = often(0.0, START, near)
    assert (len(rows), why) == (7, "") and more == steps
    np.testing.assert_array_equal(rows[-1], x[0])
    np.testing.assert_array_equal(rows[:2], [START] * 2)
    np.testing.assert_array_equal(rows[4], rows[5])
    np.testing.assert_allclose(rows, exact(near), rtol=1e-4, atol=1e-5)
    assert often(0.0, START, np.array([0.0]))[0].tolist() == [START.tolist()]


def test_a_stretch_depends_on_its_start_alone(made):
    stepping = made("dop853", 1e-5)
    first = stepping(0.3, START, np.array([0.5, 0.9]))
    stepping(0.0, 3.0 * START, np.array([5.0]))
    again = stepping(0.3, START, np.array([0.5, 0.9]))
    np.testing.assert_array_equal(again[0], first[0])
    assert again[1] == first[1]


def test_time_that_is_rounded_makes_no_step_of_its_own(made):
    """Sample times are multiples of a period; their differences are a little more or less than one."""
    edges = 0.001 * np.arange(1000)
    assert (np.diff(edges) > 0.001).any()
    stepping = made("rk45", 1e-2, 0.001)
    assert {stepping(a, START, np.array([b]))[1] for a, b in pairwise(edges)} == {1}


@pytest.mark.parametrize("method", METHODS)
def test_a_stretch_has_a_budget(method, made):
    stepping = made(method, 1e-10, most=200)
    for _ in range(2):  # of each stretch
        before = stepping.plan.evaluations
        rows, _, why, _ = stepping(0.0, START, np.array([0.01, 100.0]))
        assert (len(rows), why) == (1, "more than 2e+02 evaluations between two breakpoints")
        assert 200 <= stepping.plan.evaluations - before <= 220


def still(x: Floats, dx: Floats) -> None:
    """Nothing moves."""
    dx[0], dx[1], dx[2], dx[3] = 0.0, 0.0, 0.0, 0.0


def fleeing(x: Floats, dx: Floats) -> None:
    """A motion that every step integrates exactly, and that soon is none."""
    still(x, dx)
    dx[2] = 1e14


def halting(x: Floats, dx: Floats) -> None:
    """Rates that are no numbers from t = 1.3 on."""
    rates(x, dx)
    if x[3] >= 1.3:
        dx[2] = NAN


@pytest.mark.parametrize("method", METHODS)
def test_python_ends_a_stretch_where_machine_code_does(method, made):
    """Rates that are no numbers; a motion beyond any machine; a stop; and a step whose error is zero.

    Ever shorter steps before a jump depend on rounding, so their number may differ a little.
    """
    times = np.array([0.05, 2.0])
    for rate in (still, fleeing, halting):
        stepping = made(method, 1e-6, rate=rate.__name__)
        rows, steps, _, _ = stepping(0.0, START, times)
        x, taken, evaluations, record = in_python(stepping, START, times, rate)
        if rate is not halting:
            assert (taken, evaluations) == (steps, stepping.plan.evaluations)
        assert record.t == pytest.approx(stepping.record.t, rel=1e-8)
        np.testing.assert_allclose(rows, x, rtol=1e-12)
        assert len(rows) == (2 if rate is still else 0 if rate is fleeing else 1)
    assert in_python(stepping, START, times, stop=1)[1] == 0


@pytest.mark.parametrize("method", METHODS)
def test_rates_that_are_no_numbers_end_a_stretch(method, made):
    stepping = made(method, 1e-6, rate="ending")
    rows, _, why, diverged = stepping(0.0, START, np.array([1.2, 2.0]))
    assert (len(rows), why, diverged) == (1, "its steps became too short", None)
    assert 1.29 < stepping.record.t < 1.3 and stepping.plan.evaluations < 2000


@pytest.mark.parametrize("method", METHODS)
def test_evaluations_before_a_stretch_do_not_count_in_its_budget(method, made):
    """The second stretch ends because of its rates, although both together take as many evaluations as are allowed."""
    free = made(method, 1e-6, rate="ending")
    for end in (1.2, 2.0):
        free(0.0, START, np.array([end]))
    stepping = made(method, 1e-6, rate="ending", most=free.plan.evaluations)
    assert stepping(0.0, START, np.array([1.2]))[2] == ""
    assert stepping(0.0, START, np.array([2.0]))[2] == "its steps became too short"
    assert stepping.plan.evaluations == free.plan.evaluations


@pytest.mark.parametrize("method", METHODS)
def test_a_motion_without_end_ends_a_stretch(method, made):
    stepping = made(method, 1e-6, rate="exploding")
    rows, _, why, diverged = stepping(0.0, START, np.array([0.9, 2.0]))
    assert len(rows) == 1 and stepping.plan.evaluations < 20_000
    assert why or abs(diverged[1][2]) >= 1e12
    assert stepping.record.t == pytest.approx(1.0, abs=1e-6)


def test_it_stops_where_the_plan_is_told_to(made):
    stepping = made("dop853", 1e-6)
    stepping.plan.stop()
    rows, steps, why, diverged = stepping(0.0, START, np.array([1.0]))
    assert (len(rows), steps, why, diverged) == (0, 0, "", None)
    stepping.plan.resume()
    assert len(stepping(0.0, START, np.array([1.0]))[0]) == 1


# -- steppers ----------------------------------------------------------------------------------------------------------

PERIOD = 2e-3


@pytest.fixture(scope="module")
def damped():
    """A planar arm with friction in its joints, so that energy is also lost."""
    arm = fa.load("subudhi-morris")
    links = [link.replace(joint=link.joint.replace(damping=0.3)) for link in arm.links]
    return fa.Model(arm.replace(links=links))


def begun(count, seed=3):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(count, 6)) * [1, 0.01, 0.01, 1, 0.01, 0.01], rng.normal(size=(count, 6))


def driven(stepper, u):
    return np.array([stepper.step(each) for each in u])


@pytest.mark.parametrize("given", [{}, {"method": "rk45"}, {"method": "dop853", "step": 6e-4}], ids=str)
def test_many_plants_take_the_steps_that_each_alone_takes(given, damped):
    """To the last bit: an environment of a vector is what it is alone."""
    (q0, qd0), u = begun(11), np.random.default_rng(1).normal(size=(30, 11, 2))
    many = fa.Stepper(damped, PERIOD, q0, qd0, **given)
    found = driven(many, u)
    for i in (0, 7, 10):
        alone = fa.Stepper(damped, PERIOD, q0[i], qd0[i], **given)
        np.testing.assert_array_equal(driven(alone, u[:, i]), found[:, i])
    assert many.longest == pytest.approx(5e-4 if "step" in given else PERIOD)


@pytest.mark.parametrize("count", [None, 11])
def test_no_step_is_longer_than_asked_for(count):
    """A torque that a loose tolerance would let pass: with steps as short as its method needs, the error is small."""
    model = fa.Model(fa.load("subudhi-morris"))
    q0, qd0 = (0.1 * begun(1)[i][0] if count is None else 0.1 * begun(count)[i] for i in (0, 1))
    exact_, loose, short = (
        driven(fa.Stepper(model, 0.02, q0, qd0, "dop853", **given), np.zeros((5, 2)))
        for given in (
            {"rtol": 1e-12, "atol": 1e-13},
            {"rtol": 0.1, "atol": 0.1},
            {"rtol": 1.0, "atol": 1.0, "step": 5e-4},
        )
    )
    assert np.abs(short - exact_).max() < 1e-6 < 1e-3 < np.abs(loose - exact_).max()


@pytest.mark.parametrize("method", ["rk45", "dop853"])
@pytest.mark.parametrize("count", [None, 3])
def test_a_copy_goes_on_to_the_last_bit(count, method, damped):
    (q0, qd0), u = begun(3), np.random.default_rng(2).normal(size=(25, 2))
    stepper = fa.Stepper(damped, PERIOD, *((q0, qd0) if count else (q0[0], qd0[0])), method=method)
    driven(stepper, u)
    others = [copy.copy(stepper), pickle.loads(pickle.dumps(stepper))]
    found = driven(stepper, u)
    for other in others:
        np.testing.assert_array_equal(driven(other, u), found)
        np.testing.assert_array_equal(other.energy_drift, stepper.energy_drift)


@pytest.mark.parametrize(("count", "method"), [(None, "auto"), (3, "auto"), (3, "radau5")])
def test_energies_balance_with_work_and_losses(count, method, damped):
    """Work of the torques, which is u dq in every period, and what friction takes are both of the balance's size."""
    (q0, qd0), u = begun(3), np.tile([1.0, -0.5], (100, 1))
    start = (q0, qd0) if count else (q0[0], qd0[0])
    stepper = fa.Stepper(damped, PERIOD, *start, method, rtol=1e-9, atol=1e-11)
    origin = stepper.q, stepper.qd
    driven(stepper, u)
    before, now = (np.sum(damped.energy(q, qd), axis=0) for q, qd in (origin, (stepper.q, stepper.qd)))
    work = (stepper.q - origin[0])[..., [0, 3]] @ u[0]
    assert (np.abs(work) > 0.05).all() and (work - (now - before) > 0.05).all()
    assert np.max(stepper.energy_drift) < 1e-6
    if count:
        stepper.reset(where=[1])
        assert stepper.energy_drift[1] == 0.0 and (stepper.energy_drift[[0, 2]] > 0.0).all()
    driven(stepper, -u)
    assert np.max(stepper.energy_drift) < 1e-6
    stepper.reset()
    assert np.max(stepper.energy_drift) == 0.0


def test_sampled_runs_of_many_take_a_step_a_period_where_one_is_enough():
    """Sample times are rounded: a period that is longer than the first step by a rounding error is one step still."""
    model = fa.Model(fa.load("rigid-two-link").replace(gravity=(0.0, 0.0, 0.0)))
    period = 7e-4
    assert sum(k * period + period < (k + 1) * period for k in range(300)) > 10
    law = fa.control.Sampled(fa.control.JointPD([0.01, 0.02], Kp=0.5, Kd=0.1), period)
    many = fa.simulate_many(model, 300 * period, u=[law] * 2, samples=2, progress=False)
    one = fa.simulate(model, 300 * period, u=law, samples=2, progress=False)
    assert set(many.method.values) == {one.method} == {"rk45"}
    assert many.steps.values.tolist() == [300, 300] and one.attrs["steps"] == 300


# -- methods of one's own ----------------------------------------------------------------------------------------------

BS32 = {
    "c": (0, 1 / 2, 3 / 4, 1),
    "a": ((1 / 2,), (0, 3 / 4)),
    "b": (2 / 9, 1 / 3, 4 / 9),
    "errors": ((-5 / 72, 1 / 12, 1 / 9, -1 / 8),),
    "order": 2,
}
"""The method of Bogacki and Shampine, of orders 3 and 2."""


@pytest.fixture
def added():
    """The method under the name bs32, until the test has ended."""
    fa.add_method("bs32", fa.ButcherTableau(**BS32))
    yield "bs32"
    del butcher.METHODS["bs32"]


def test_a_method_of_ones_own_is_scipys(added, made):
    solver = integrate.RK23(
        lambda t, x: in_numbers(t, x), 0.0, START, END, rtol=1e-5, atol=np.array([1e-8] * 3 + [1e300])
    )
    steps = 0
    while solver.status == "running":
        solver.step()
        steps += 1
    stepping = made(added, 1e-5, 0.0)
    x, count, _, _ = stepping(0.0, START, np.array([END]))
    assert (count, stepping.plan.evaluations) == (steps, solver.nfev)
    np.testing.assert_allclose(x[0], solver.y, rtol=0, atol=1e-12)


def in_numbers(t, x):
    dx = np.empty(4)
    rates(np.array([*x[:3], t]), dx)
    return dx


def test_a_method_of_ones_own_serves_every_kind_of_run(added, damped):
    """Single runs, batches in SIMD lanes, sampled laws and steppers: the same motion as by the usual method."""
    u, q0 = [0.2, 0.1], [0.3, 0.0, 0.0, 0.2, 0.0, 0.0]
    given = {"u": u, "q0": q0, "samples": 7, "progress": False}
    usual = fa.simulate(damped, 0.2, **given)
    own = fa.simulate(damped, 0.2, method=added, **given)
    assert own.attrs["method"] == added and own.attrs["steps"] > 4 * usual.attrs["steps"]
    np.testing.assert_allclose(own.q, usual.q, atol=1e-6)
    many = fa.simulate_many(damped, 0.2, method=added, runs=3, **given)
    np.testing.assert_allclose(many.q.values[2], own.q, atol=1e-12)
    law = fa.control.Sampled(lambda t, q, qd: u, 0.01)
    sampled = fa.simulate(damped, 0.2, law, q0, samples=7, method=added, progress=False)
    np.testing.assert_allclose(sampled.q, usual.q, atol=1e-6)
    stepper = fa.Stepper(damped, 0.01, q0, [0.0] * 6, method=added)
    for _ in range(20):
        stepper.step(u)
    np.testing.assert_allclose(stepper.q, usual.q[-1], atol=1e-5)


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"c": (0, 1 / 2, 1)}, "c is (0.0, 0.5, 1.0); it must be 0, the times of 2 more stages, 1, and the times of"),
        ({"a": ((1 / 2,), (0, 1 / 2, 1 / 4))}, "the row of stage 2 has a weight of stage 2"),
        ({"a": ((1 / 2,), (0, 1 / 2))}, "the weights of stage 2 add up to 0.5; they must add up to its time, 0.75"),
        ({"b": (2 / 9, 1 / 3, 1 / 9)}, "the weights of stage 3 add up to 0.666667; they must add up to its time, 1"),
        ({"errors": ((0.1, 0.2),)}, "a row of errors adds up to 0.3; its at most 4 weights must add up to 0"),
        ({"a": 3.0}, "a is 3.0; it must be rows of numbers"),
        ({"b": ("x",)}, "b is ('x',); it must be numbers"),
        ({"order": 1.5}, "order is 1.5; it must be a whole number"),
        ({"order": 0}, "1 row of errors and order 0; a method that chooses its steps has one or two such rows and"),
    ],
)
def test_a_tableau_that_is_no_method_is_refused(changes, line):
    with pytest.raises(fa.DescriptionError) as caught:
        fa.ButcherTableau(**BS32 | changes)
    assert str(caught.value).startswith(f"ButcherTableau: {line}")


def test_a_name_stands_for_one_method(added):
    fa.add_method(added, fa.ButcherTableau(**BS32))
    for name in ("radau5", "auto", "dop853"):
        with pytest.raises(fa.DescriptionError, match=f"add_method: name is '{name}', the name of another method"):
            fa.add_method(name, fa.ButcherTableau(**BS32))
    with pytest.raises(fa.DescriptionError, match="add_method: name is 'a b'; it must be a name of letters"):
        fa.add_method("a b", fa.ButcherTableau(**BS32))
    with pytest.raises(fa.DescriptionError, match="add_method: tableau is 'rk4'; it must be a ButcherTableau"):
        fa.add_method("own", "rk4")


@pytest.mark.parametrize("tableau", [butcher.EULER, butcher.MIDPOINT, butcher.RK3, butcher.RK4, butcher.DOP853])
def test_a_step_of_numbers_is_that_of_machine_code(tableau, made):
    name = next(name for name, each in butcher.METHODS.items() if each is tableau)
    h, x = 0.05, np.array([*START, 0.0])
    for _ in range(2):
        x, found = tableau.step(lambda t, x: np.array([*in_numbers(t, x[:4]), 1.0]), x[4], x, h)
        assert len(found) == tableau.stages
    given = {} if name in FIXED else {"guess": h}
    y, *_ = made(name, 1e9, step=h, **given)(0.0, START, np.array([2 * h]))
    np.testing.assert_allclose(x[:4], y[0], rtol=1e-13)


def test_fixed_steps_end_before_a_state_that_is_no_motion_in_python_too(made):
    def grows(x, dx):
        dx[:] = 1e15 if x[0] > 0.5 else 1.0

    stepping = made("rk4", 1e-6, 0.0, step=0.2)
    x, steps, _, record = in_python(stepping, np.zeros(4), np.array([0.4, 0.8, 1.2]), rate=grows)
    assert (len(x), steps) == (1, 2) and record.t == pytest.approx(0.4)


def test_times_at_the_start_alone_need_no_step(made):
    stepping = made("dop853", 1e-6)
    times = np.zeros(2)
    found = stepping(0.0, START, times)
    x, steps, evaluations, _ = in_python(stepping, START, times)
    np.testing.assert_array_equal(found[0], x)
    np.testing.assert_array_equal(x, [START, START])
    assert (found[1], steps, stepping.plan.evaluations, evaluations) == (0, 0, 0, 0)


def test_a_stop_between_two_stages_of_the_polynomial_gives_no_state(made):
    """The further stages of a method, which only states between two steps need, are evaluations like others."""
    stepping, stopped = made("dop853", 1e-6, 0.01), []

    def rate(x, dx):
        rates(x, dx)
        stopped.append(1)
        if len(stopped) == stepping.record.method.stages + 2:  # the first after a step, and before the next
            shared_of[0].stop = 1

    shared_of = []
    original = RunRecord

    def shared(*given, **more):
        shared_of.append(original(*given, **more))
        return shared_of[0]

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(globals(), "RunRecord", shared)
        x, steps, evaluations, _ = in_python(stepping, START, np.array([0.005, 0.02]), rate=rate)
    assert (len(x), steps) == (0, 0) and evaluations == stepping.record.method.stages + 4
