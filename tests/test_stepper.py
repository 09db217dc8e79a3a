"""The plant one period on: the motion that `simulate` gives, for one plant and for many."""

import copy
import pickle
import threading

import numpy as np
import pytest
from controlled import refused

import flexarm as fa
from flexarm.simulation import stepper as stepping

PERIOD = 1e-3
IMPLICIT = ("radau5", "radau9", "gauss4", "gauss8", "generalized-alpha")


@pytest.fixture(scope="module")
def planar():
    return fa.Model(fa.load("subudhi-morris"))


@pytest.fixture(scope="module")
def elastic():
    return fa.Model(fa.load("subudhi-morris-elastic"))


def torques(count, *shape, seed=1):
    return 0.2 * np.random.default_rng(seed).normal(size=(count, *shape))


def driven(stepper, u):
    return np.array([stepper.step(each) for each in u])


def simulated(model, u, start, period=PERIOD, **given):
    """The same by `simulate`: states at the ends of the periods."""
    count, n = len(u), len(model.coordinates)
    times = period * np.arange(count)
    run = fa.simulate(
        model, count * period, fa.Piecewise(times, u), start[:n], start[n:], samples=count + 1, progress=False, **given
    )
    return np.hstack([run.q.values, run.qd.values])[1:]


def begun(model, seed=3):
    """Somewhere, hardly bent, in motion."""
    n = len(model.coordinates)
    x = np.r_[model.arm.rest, np.zeros(n)] + 1e-4 * np.random.default_rng(seed).normal(size=2 * n)
    for joint in model.arm.joints:
        x[joint] += 0.3
        x[n + joint] += 0.2
    for joint, motor in model.arm.springs:
        x[motor], x[n + motor] = x[joint], x[n + joint]
    return x


# -- one plant ---------------------------------------------------------------------------------------------------------


def test_it_moves_as_simulate_does_by_rk4(planar):
    u, x = torques(60, 2), begun(planar)
    stepper = fa.Stepper(planar, PERIOD, x[:6], x[6:], "rk4", step=2.1e-4)
    assert stepper.longest == PERIOD / 5
    wanted = simulated(planar, u, x, solver=fa.Solver(method="rk4", step=stepper.longest))
    np.testing.assert_allclose(driven(stepper, u), wanted, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("method", IMPLICIT)
def test_it_moves_as_simulate_does_by_an_implicit_method(method, elastic):
    """Newton's iteration ends where the tolerance says; both take the same steps."""
    u, x = torques(40, 2), begun(elastic)
    stepper = fa.Stepper(elastic, PERIOD, x[:8], x[8:], method, rtol=1e-8, atol=1e-10, step=4e-4)
    assert (stepper.method, stepper.reason, stepper.longest) == (method, "as asked", PERIOD / 3)
    wanted = simulated(elastic, u, x, solver=fa.Solver(method=method, step=4e-4, rtol=1e-8, atol=1e-10))
    np.testing.assert_allclose(driven(stepper, u), wanted, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("method", "order"), [*zip(("rk45", "dop853", *IMPLICIT), (5, 8, 5, 9, 4, 8, 2), strict=True)])
def test_it_moves_as_the_arm_does(method, order, planar):
    """The error of a step is rtol, that of the motion a step's length less: h^p of h^(p + 1)."""
    period, count = (PERIOD, 100) if method in IMPLICIT else (0.02, 20)  # more than one step in a period
    u, x = torques(count, 2), begun(planar)
    exact = simulated(planar, u, x, period, solver=fa.Solver(method="dop853", rtol=1e-12, atol=1e-13))
    errors = []
    for rtol in (1e-3, 1e-7):
        stepper = fa.Stepper(planar, period, x[:6], x[6:], method, rtol=rtol, atol=1e-2 * rtol)
        errors.append(np.abs(driven(stepper, u) - exact).max())
        assert errors[-1] < 2 * rtol ** (order / (order + 1))
    assert errors[1] < 0.1 * errors[0]


def test_it_says_where_it_is_and_hands_out_nothing_of_its_own(planar):
    x = begun(planar)
    stepper = fa.Stepper(planar, PERIOD, x[:6], x[6:])
    np.testing.assert_array_equal(stepper.state, x)
    assert stepper.time == 0.0 and stepper.failed is False
    for k in range(1, 4):
        found = stepper.step(np.array([0.1, -0.1]))
        for part, wanted in ((stepper.state, found), (stepper.q, found[:6]), (stepper.qd, found[6:])):
            np.testing.assert_array_equal(part, wanted)
            part += 1.0
        np.testing.assert_array_equal(stepper.state, found)
        assert stepper.time == PERIOD * k
    assert repr(stepper) == "Stepper('subudhi-morris': period 0.001 s, dop853)"


def test_it_begins_anew(planar):
    x, u = begun(planar), torques(5, 2)
    stepper = fa.Stepper(planar, PERIOD, x[:6])
    first = driven(stepper, u)
    np.testing.assert_array_equal(stepper.reset(), np.r_[x[:6], np.zeros(6)])
    assert stepper.time == 0.0
    np.testing.assert_array_equal(driven(stepper, u), first)
    np.testing.assert_array_equal(stepper.reset(qd=x[6:]), x)
    np.testing.assert_array_equal(stepper.reset(np.ones(6), x[6:]), np.r_[np.ones(6), x[6:]])
    np.testing.assert_array_equal(fa.Stepper(planar, PERIOD).state, np.zeros(12))


@pytest.mark.parametrize("method", ["rk45", "dop853", *IMPLICIT])
@pytest.mark.parametrize("step", [None, 0.005])
def test_the_same_torques_give_the_same_motion(method, step, planar):
    """Nothing that a method keeps outlasts a reset."""
    x, u = begun(planar), torques(5, 2)
    stepper = fa.Stepper(planar, 0.01, x[:6], x[6:], method, step=step)
    first = driven(stepper, u)
    driven(stepper, 3.0 * u)
    stepper.reset()
    np.testing.assert_array_equal(driven(stepper, u), first)


def test_whatever_is_two_numbers_is_a_torque(planar):
    wanted = fa.Stepper(planar, PERIOD).step(np.array([0.1, -0.2]))
    strided = np.array([0.1, 0.0, -0.2])[::2]
    for u in ([0.1, -0.2], (0.1, -0.2), strided, np.array([0.1, -0.2], ">f8"), np.ma.array([0.1, -0.2])):
        np.testing.assert_array_equal(fa.Stepper(planar, PERIOD).step(u), wanted)


# -- many --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("count", "method"), [(1, "dop853"), (8, "rk45"), (11, "dop853"), (3, "gauss4")])
def test_many_plants_move_as_each_alone(count, method, planar):
    starts = np.array([begun(planar, seed) for seed in range(count)])
    u = torques(20, count, 2)
    many = fa.Stepper(planar, PERIOD, starts[:, :6], starts[:, 6:], method)
    found = driven(many, u)
    assert found.shape == (20, count, 12) and many.q.shape == many.qd.shape == (count, 6)
    for i, x in enumerate(starts):
        alone = fa.Stepper(planar, PERIOD, x[:6], x[6:], method)
        np.testing.assert_allclose(found[:, i], driven(alone, u[:, i]), rtol=1e-11, atol=1e-12)
    np.testing.assert_array_equal(many.time, np.full(count, 20 * PERIOD))
    assert repr(many).endswith(f"{method}, {count} plant{'s' if count > 1 else ''})")


def test_one_torque_goes_to_all(planar):
    starts = np.array([begun(planar, seed) for seed in range(9)])
    one, each = (fa.Stepper(planar, PERIOD, starts[:, :6], np.zeros(6)) for _ in range(2))
    np.testing.assert_array_equal(one.step([0.1, -0.2]), each.step(np.tile([0.1, -0.2], (9, 1))))


def test_some_begin_anew(planar):
    starts = np.array([begun(planar, seed) for seed in range(10)])
    many = fa.Stepper(planar, PERIOD, starts[:, :6], starts[:, 6:])
    driven(many, torques(3, 10, 2))
    before, mask = many.state, np.arange(10) % 4 == 1
    wanted = np.where(mask[:, None], starts, before)
    np.testing.assert_array_equal(many.reset(where=mask), wanted)
    np.testing.assert_array_equal(many.time, np.where(mask, 0.0, 3 * PERIOD))
    wanted[[7, 2], :6] = [[1.0] * 6, [2.0] * 6]
    wanted[[7, 2], 6:] = starts[[7, 2], 6:]
    np.testing.assert_array_equal(many.reset(q=[[1.0] * 6, [2.0] * 6], where=[7, 2]), wanted)
    wanted[:, :6], wanted[:, 6:] = 3.0, starts[:, 6:]
    np.testing.assert_array_equal(many.reset(q=np.full(6, 3.0)), wanted)
    many.reset(where=np.zeros(10, dtype=bool))
    np.testing.assert_array_equal(many.state, wanted)


# -- numbers that vary -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def varied():
    return fa.Model(fa.load("subudhi-morris"), vary=["payload.mass", "upper.EI"])


def loads(count, model, seed=5):
    """Parameters of as many plants, a quarter about the nominal ones and a payload."""
    return np.abs(model.p + [0.1, 0.0]) * np.random.default_rng(seed).uniform(0.75, 1.25, (count, 2))


PUSHED = {"tip.fy": fa.Table([0.0, 0.01, 0.03], [[0.0], [0.2], [-0.1]])}


@pytest.mark.parametrize(
    ("count", "given"),
    [
        (11, {"method": "rk4", "step": 5e-4}),
        (1, {"method": "dop853"}),
        (3, {"method": "radau5", "step": 5e-4}),
        (2, {"method": "dop853", "disturbance": PUSHED}),
        (9, {"method": "rk45", "disturbance": {"tip.fy": 0.1}}),
    ],
)
def test_plants_have_parameters_of_their_own(count, given, varied):
    """Also after a reset, which gives some of them others."""
    p, u, x = loads(count, varied), torques(20, count, 2), begun(varied)
    many = fa.Stepper(varied, PERIOD, x[:6], x[6:], p=p, **given)
    for again in range(2):
        found = driven(many, u)
        for i in range(count):
            alone = fa.Stepper(varied.at(p[i]), PERIOD, x[:6], x[6:], **given)
            np.testing.assert_allclose(found[:, i], driven(alone, u[:, i]), rtol=1e-10, atol=1e-11)
        np.testing.assert_array_equal(many.p, p)
        if not again:
            some = np.arange(count) % 3 == 0
            p[some] = loads(some.sum(), varied, 6)
            many.reset(where=some, p=p[some])
            many.reset()
    assert count == 1 or np.abs(found[-1, 0] - found[-1, 1]).max() > 1e-3


def test_parameters_by_name_and_of_one_plant(varied):
    many = fa.Stepper(varied, PERIOD, p={"payload.mass": [0.1, 0.2, 0.3]})
    np.testing.assert_array_equal(many.p, [[mass, varied.p[1]] for mass in (0.1, 0.2, 0.3)])
    assert many.state.shape == (3, 12)
    one, u = fa.Stepper(varied, PERIOD), torques(20, 2)
    assert one.p.shape == (2,)
    other = copy.copy(one)
    other.reset(p={"payload.mass": 0.2})
    wanted = driven(fa.Stepper(varied.at({"payload.mass": 0.2}), PERIOD), u)
    np.testing.assert_array_equal(driven(other, u), wanted)
    np.testing.assert_allclose(driven(many, u)[:, 1], wanted, rtol=1e-11, atol=1e-12)
    np.testing.assert_array_equal(driven(one, u), driven(fa.Stepper(varied.at(varied.p), PERIOD), u))
    copied = pickle.loads(pickle.dumps(other))
    np.testing.assert_array_equal(copied.p, other.p)
    np.testing.assert_array_equal(driven(copied, u), driven(other, u))


@pytest.mark.parametrize(
    ("p", "line"),
    [
        ([0.1], r"p has shape \(1,\); its last axis must have 2 numbers: payload\.mass, upper\.EI"),
        ({"payload.mass": -1.0}, r"p: payload\.mass is -1\.0 kg; it must be positive"),
        ({"fore.EI": 1.0}, r"p: the model does not vary 'fore\.EI'; .*"),
        ({"payload.mass": [0.1, 0.2], "upper.EI": [1.0] * 3}, r"p: the parameters have different .*"),
        ({"payload.mass": []}, r"Stepper: q0 has shape .*, p \(0, 2\); they must be .*"),
        (np.ones((4, 2)), r"Stepper: q0 has shape \(3, 6\) and qd0 \(6,\), p \(4, 2\); they must be .*"),
    ],
)
def test_what_are_no_parameters(p, line, varied):
    with refused(line):
        fa.Stepper(varied, PERIOD, np.zeros((3, 6)), p=p)
    with refused(r"p is given, but the model has no varied parameters; .*"):
        fa.Stepper(fa.Model(varied.arm), PERIOD, p=[1.0])
    many = fa.Stepper(varied, PERIOD, np.zeros((3, 6)))
    with refused(r"p has shape \(4, 2\); it must be \(2,\) or \(3, 2\)"):
        many.reset(p=np.ones((4, 2)))


# -- what is refused ---------------------------------------------------------------------------------------------------

JOINTS = "upper.joint, upper.y1, upper.y2, fore.joint, fore.y1, fore.y2"
MADE = {
    "model": ({"model": 3}, r"Stepper: model is 3; it must be a Model"),
    "period": ({"period": 0.0}, r"Stepper: period is 0\.0 s; it must be positive"),
    "rtol": ({"rtol": -1}, r"Stepper: rtol is -1\.0; it must be positive"),
    "atol": ({"atol": "x"}, r"Stepper: atol is 'x'; it must be a number"),
    "method": ({"method": "leapfrog"}, r"Stepper: method is 'leapfrog'; it must be auto, dop853, vern8, .* or radau9"),
    "step": ({"step": -1.0}, r"Stepper: step is -1\.0 s; it must be positive"),
    "steps": ({"step": 1e-15}, r"Stepper: step is 1e-15 s; a period of 0\.001 s may have at most 1e\+06 steps"),
    "fixed": ({"method": "rk4"}, "Stepper: method is 'rk4'; its steps are fixed: give their length, as step=1e-3"),
    "q0": ({"q0": [0.1]}, r"Stepper: q0 has shape \(1,\); its last axis must have 6 numbers: .*"),
    "qd0": ({"qd0": [np.nan] * 6}, r"Stepper: qd0 contains NaN or infinity"),
    "far": ({"q0": np.full(6, -1e300)}, r"arm 'subudhi-morris': inertia, stiffness or damping is not finite at this q"),
    "axes": ({"q0": np.zeros((2, 2, 6))}, r"Stepper: q0 has shape \(2, 2, 6\) and qd0 \(6,\); they must be .*"),
    "unlike": ({"q0": np.zeros((2, 6)), "qd0": np.zeros((3, 6))}, r"Stepper: q0 has shape \(2, 6\) and qd0 .*"),
    "none": ({"q0": np.zeros((0, 6))}, r"Stepper: q0 has shape \(0, 6\) and qd0 .*; they must be \(6,\), or .*"),
}


@pytest.mark.parametrize("name", MADE)
def test_what_no_stepper_is_made_of(name, planar):
    given, line = MADE[name]
    with refused(line):
        fa.Stepper(**{"model": planar, "period": PERIOD, **given})


TORQUES = {
    "short": ([0.1], r"u has shape \(1,\); its last axis must have 2 numbers: upper\.joint, fore\.joint"),
    "number": (0.1, r"u has shape \(\); its last axis must have 2 numbers: .*"),
    "text": ("ab", r"u is not an array of numbers"),
    "nan": (np.array([0.1, np.nan]), r"u contains NaN or infinity"),
    "infinite": (np.array([-np.inf, 0.0]), r"u contains NaN or infinity"),
    "rows": (np.zeros((3, 2)), r"u has shape \(3, 2\); it must be \(2,\).*"),
    "axes": (np.zeros((1, 4, 2)), r"u has shape \(1, 4, 2\); it must be \(2,\).*"),
}


@pytest.mark.parametrize("name", TORQUES)
@pytest.mark.parametrize("count", [None, 4])
def test_what_is_no_torque(name, count, planar):
    u, line = TORQUES[name]
    stepper = fa.Stepper(planar, PERIOD, np.zeros((count, 6)) if count else None)
    stepper.step([0.1, 0.2])
    before = stepper.state
    with refused(line):
        stepper.step(u)
    np.testing.assert_array_equal(stepper.state, before)
    assert np.all(stepper.time == PERIOD)
    stepper.step([0.1, 0.2])


@pytest.mark.parametrize(
    ("where", "line"),
    [
        (5, r"Stepper\.reset: where is 5; it must be 3 booleans, or indices of plants from 0 to 2"),
        ([3], r"Stepper\.reset: where is \[3\]; it must be .*"),
        ([-1], r"Stepper\.reset: where is \[-1\]; it must be .*"),
        ([True], r"Stepper\.reset: where is \[True\]; it must be .*"),
        ([[1], [1, 2]], r"Stepper\.reset: where is .*; it must be .*"),
        ("all", r"Stepper\.reset: where is 'all'; it must be .*"),
        ([0.0], r"Stepper\.reset: where is \[0\.0\]; it must be .*"),
    ],
)
def test_what_are_no_plants(where, line, planar):
    with refused(line):
        fa.Stepper(planar, PERIOD, np.zeros((3, 6))).reset(where=where)


def test_what_is_no_beginning(planar):
    one, many = fa.Stepper(planar, PERIOD), fa.Stepper(planar, PERIOD, np.zeros((3, 6)))
    with refused(r"Stepper\.reset: where is \[0\]; there is only one plant: leave where out"):
        one.reset(where=[0])
    with refused(r"q has shape \(2, 6\); it must be \(6,\)"):
        one.reset(np.zeros((2, 6)))
    with refused(r"qd has shape \(2, 6\); it must be \(6,\) or \(1, 6\)"):
        many.reset(qd=np.zeros((2, 6)), where=[1])
    with refused(r"q contains NaN or infinity"):
        many.reset(np.full(6, np.nan))


# -- what cannot be moved ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["rk45", "dop853", "radau5"])
@pytest.mark.parametrize("step", [None, 1e-3])
def test_a_motion_that_diverges_is_told(method, step, planar):
    """All is as it was before; another torque, or another beginning, and it goes on."""
    stepper = fa.Stepper(planar, PERIOD, method=method, step=step)
    wanted = stepper.step([0.1, 0.2])
    with refused(r"arm 'subudhi-morris': .* t = 0\.00[12]\d* s.*(joint|\.y).*", fa.SimulationError):
        stepper.step([1e18, -1e18])
    assert stepper.failed is True and stepper.time == PERIOD
    np.testing.assert_array_equal(stepper.state, wanted)
    stepper.step([0.1, 0.2])
    assert stepper.failed is False and stepper.time == 2 * PERIOD


def test_the_plants_that_diverge_are_told(planar):
    many = fa.Stepper(planar, PERIOD, np.zeros((10, 6)))
    u = np.tile([0.1, 0.2], (10, 1))
    many.step(u)
    before = many.state
    u[[4, 9]] = 1e18
    with refused(r"arm 'subudhi-morris', plant 4 of 10 \(2 could not be moved\): .* t = .*", fa.SimulationError):
        many.step(u)
    np.testing.assert_array_equal(np.flatnonzero(many.failed), [4, 9])
    np.testing.assert_array_equal(many.state, before)
    many.reset(where=many.failed)
    assert not many.failed.any()
    u[[4, 9]] = 0.1
    many.step(u)


@pytest.mark.parametrize("step", [None, 1e-3])
def test_a_period_comes_to_an_end(step, planar, monkeypatch):
    """Ctrl-C cannot reach it meanwhile."""
    monkeypatch.setattr(stepping, "MOST_EVALUATIONS", 1000)
    stepper = fa.Stepper(planar, 100.0, method="radau5", step=step)
    with refused(r"arm 'subudhi-morris': more than 1e\+03 evaluations from t = 0 s on; .*", fa.SimulationError):
        stepper.step([0.01, 0.0])
    with refused(r"arm 'subudhi-morris': .* t = .*", fa.SimulationError):  # also while it is found out why
        fa.Stepper(planar, 1e18, method="radau5").step([0.01, 0.0])
    stepper = fa.Stepper(planar, 0.01, method="radau5")
    driven(stepper, 0.1 * torques(100, 2))  # of a period, not of all


@pytest.mark.parametrize("method", ["dop853", "radau5"])
def test_a_telescope_that_leaves_its_range_is_told(method):
    model = fa.Model(fa.load("theodore-ghosal"))
    slide = next(i for i, link in enumerate(model.arm.links) if link.joint.type == "telescope")
    place = model.arm.joints[slide]
    q = np.array(model.arm.rest)
    total = model.arm.links[slide].body.length
    q[place] = total - 1e-6
    qd = np.zeros(len(q))
    qd[place] = 0.1
    stepper = fa.Stepper(model, PERIOD, q, qd, method)
    with refused(r".*a free length, leaves its range from 0\.13 to 1\.3 m", fa.SimulationError):
        for _ in range(10):
            stepper.step(np.zeros(len(model.inputs)))
    assert stepper.q[place] <= total


# -- the choice --------------------------------------------------------------------------------------------------------


def test_it_says_what_it_chose(planar, elastic):
    fast = np.abs(np.linalg.eigvals(planar.linearize(np.zeros(6), np.zeros(6), np.zeros(2)).A)).max()
    for period, rtol, method in ((1e-4, 1e-6, "rk45"), (0.01, 1e-6, "dop853"), (1e-3, 1e-3, "rk45")):
        stepper = fa.Stepper(planar, period, rtol=rtol)
        assert (stepper.method, stepper.longest) == (method, period)
        assert stepper.reason == f"fastest eigenvalue {fast:.3g} rad/s, {period * fast:.3g} rad in a period"
    assert fa.Stepper(elastic, 0.05).method == "radau5"
    assert fa.Stepper(elastic, 0.05).longest == 0.05
    assert fa.Stepper(elastic, 0.05, step=0.02).longest == 0.05 / 3
    assert fa.Stepper(planar, PERIOD, step=1e-4).longest == pytest.approx(1e-4)
    assert fa.Stepper(planar, PERIOD, method="radau5").reason == "as asked"


# -- copies and threads ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [None, 9])
@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_a_copy_goes_on_by_itself(copied, count, planar):
    x = begun(planar)
    stepper = fa.Stepper(planar, PERIOD, np.tile(x[:6], (count, 1)) if count else x[:6], x[6:], rtol=1e-5)
    driven(stepper, torques(3, 2))
    other = copied(stepper)
    before = stepper.state
    u = torques(4, 2, seed=2)
    found = driven(other, u)
    np.testing.assert_array_equal(stepper.state, before)
    np.testing.assert_array_equal(driven(stepper, u), found)
    np.testing.assert_array_equal(stepper.time, other.time)
    np.testing.assert_array_equal(stepper.reset(), other.reset())
    assert (stepper.method, stepper.longest, stepper.reason) == (other.method, other.longest, other.reason)


def test_steppers_move_in_threads_of_their_own(elastic):
    u = torques(500, 2)
    wanted = driven(fa.Stepper(elastic, PERIOD), u)
    found, ready = {}, threading.Barrier(4)

    def work(k):
        stepper = fa.Stepper(elastic, PERIOD)
        ready.wait()
        found[k] = driven(stepper, u)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k in range(4):
        np.testing.assert_array_equal(found[k], wanted)
