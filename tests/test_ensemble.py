"""`simulate_many`: each run is what `simulate` gives, whatever stands beside it."""

import os
import re
import signal
import threading
import time

import casadi as ca
import numpy as np
import pytest
from controlled import refused

import flexarm as fa
from flexarm.control import LQR, ComputedTorque, Integral, JointPD, Law, Observed, Sampled
from flexarm.errors import InterruptedRun
from flexarm.native import lifted
from flexarm.native.kernel import LANES
from flexarm.native.once import Recent
from flexarm.simulation import ensemble, ensemble_runs, methods
from flexarm.simulation.ensemble_runs import runs_of_a_task
from flexarm.simulation.feedback import Feedback

SLEW = fa.Quintic((0.0, 0.0), (0.5, 0.3), 0.3)
PD = JointPD(SLEW, 5.0, 2.0)
COUNT = 11
"""Runs: more than the lanes of a machine's vectors, and no multiple of them."""


@pytest.fixture(scope="module")
def planar():
    return fa.Model(fa.load("subudhi-morris"))


@pytest.fixture(scope="module")
def varied():
    return fa.Model(fa.load("subudhi-morris"), vary=["payload.mass", "upper.EI"])


def amplitudes(count=COUNT, seed=1):
    return 0.2 * np.random.default_rng(seed).uniform(-1.0, 1.0, (count, 2))


def begun(count=COUNT, seed=3):
    """Coordinates and rates of so many runs: somewhere, hardly bent, in motion."""
    x = 1e-4 * np.random.default_rng(seed).normal(size=(2, count, 6))
    x[:, :, :2] *= 3000
    return x


def alone(model, until, u, q0, qd0, **given):
    """The same run by `simulate`, also where it fails."""
    try:
        return fa.simulate(model, until, u, q0, qd0, progress=False, **given)
    except fa.SimulationError as error:
        return error.result


def same(many, i, run, exactly=False, rtol=1e-8, atol=1e-11):
    """Run i of many is that run: rounding moves a step a little, and the state by less than the tolerance."""
    known = run.sizes["time"]
    for name, values in run.data_vars.items():
        found = many[name].values[i]
        scale = np.abs(values.values).max(initial=0.0)
        if exactly:
            np.testing.assert_array_equal(found[:known], values.values, err_msg=name)
        else:
            np.testing.assert_allclose(found[:known], values.values, rtol=rtol, atol=atol + rtol * scale, err_msg=name)
        assert np.isnan(found[known:]).all(), name
    assert float(many.time_reached[i]) == float(run.time[-1])
    assert str(many.status[i].values) == run.attrs["status"]
    assert str(many.method[i].values) == run.attrs["method"]


TIMES = np.linspace(0.0, 0.25, 9)
"""Of tables; they end before a run."""


def tables(kind):
    return [fa.Table(TIMES, each, kind) for each in 0.1 * np.random.default_rng(2).normal(size=(COUNT, 9, 2))]


WAVE = fa.Cycloidal((0.8, -0.5), (0.21, 0.33))
INPUTS = {
    "numbers": amplitudes(),
    "bang-bang": [fa.bang_bang(a, 0.1 + 0.01 * i) for i, a in enumerate(amplitudes())],
    "one bang-bang": fa.bang_bang((0.1, 0.2), 0.12),
    "tables": tables("cubic"),
    "lines": tables("linear"),
    "one table": tables("cubic")[0],
    "inverse dynamics": fa.RigidInverseDynamics(WAVE),
    "torques that jump": fa.RigidInverseDynamics(fa.ParabolicBlends((0.0, 0.0), (0.5, 0.3), 0.3, 0.07)),
    "prescribed": fa.PrescribedMotion(WAVE),
    "feedback": PD,
    "gains": [JointPD(SLEW, 5.0 + 0.3 * i, 1.5) for i in range(COUNT)],
    "feedback with memory": Integral(PD, 3.0),
    "none": None,
}


def test_rows_that_come_again_are_each_run_s_own(planar):
    """Out of order, with some alike: each run has the u that stands in its row, and its motion."""
    u = amplitudes()[[3, 0, 3, 1, 0, 2, 3]]
    q0, qd0 = begun(len(u))
    found = fa.simulate_many(planar, 0.05, q0=q0, qd0=qd0, u=u, samples=3, progress=False)
    assert np.array_equal(found.u.values[:, 0], u)
    for i, row in enumerate(u):
        same(found, i, alone(planar, 0.05, row, q0[i], qd0[i], samples=3))


@pytest.mark.parametrize("method", ["dop853", "rk45", "rk4"])
@pytest.mark.parametrize("name", INPUTS)
def test_it_is_what_simulate_gives(name, method, planar):
    u, (q0, qd0) = INPUTS[name], begun()
    if name == "prescribed":
        q0[:, :2], qd0[:, :2] = 0.0, 0.0
    given = {"method": method, "solver": fa.Solver(step=3e-4 if method == "rk4" else None), "samples": 38}
    many = fa.simulate_many(planar, 0.4, q0=q0, qd0=qd0, u=u, progress=False, **given)
    assert many.sizes["run"] == COUNT
    for i in (0, 7, 10):
        own = u[i] if isinstance(u, list | np.ndarray) else u
        run = alone(planar, 0.4, own, q0[i], qd0[i], **given)
        assert float(run.attrs["energy_drift"]) == pytest.approx(float(many.energy_drift[i]), rel=1e-2, abs=1e-12)
        same(many, i, run)
        if method != "rk4":
            assert abs(int(many.steps[i]) - run.attrs["steps"]) <= 1  # where an error is just about the tolerance


GAUGES = [fa.Encoder(coordinate=name, noise=1e-4) for name in ("upper.joint", "fore.joint")]
OBSERVER = Observed(LQR(reference=SLEW), GAUGES)
SAMPLED = {
    "pd": lambda: Sampled(PD, 1e-3),
    "integral": lambda: Sampled(Integral(PD, 3.0), 1e-3, limit=[1.0, 0.2], rate_limit=50.0),
    "delay": lambda: Sampled(PD, 1e-3, delay=3e-3),
    "observer": lambda: Sampled(OBSERVER, 1e-3, seed=5),
    "seeds": lambda: [Sampled(OBSERVER, 1e-3, seed=i) for i in range(COUNT)],
    "several": lambda: [Sampled(JointPD(SLEW, 5.0, 1.5 + 0.1 * i), 1e-3) for i in range(COUNT)],
}


@pytest.mark.parametrize(("until", "samples"), [(0.05, 38), (0.0473, 5), (0.03, 31)])
@pytest.mark.parametrize("name", SAMPLED)
def test_sampled_laws_are_what_simulate_gives(name, until, samples, planar):
    """By the same steps between samples, with the noise of each run's seed; times and samples need not agree."""
    u, (q0, qd0) = SAMPLED[name](), begun()
    many = fa.simulate_many(planar, until, q0=q0, qd0=0.1 * qd0, u=u, samples=samples, progress=False)
    for i in (0, 7, 10):
        run = alone(planar, until, u[i] if isinstance(u, list) else u, q0[i], 0.1 * qd0[i], samples=samples)
        same(many, i, run)
        assert (int(many.steps[i]), int(many.evaluations[i])) == (run.attrs["steps"], run.attrs["evaluations"])
    if name == "seeds":
        assert np.ptp(many.u.values[:, -1, 0]) > 1e-4


def test_a_time_just_before_a_sample_shows_what_that_gives(planar):
    """Periods and the times of the result are rounded differently, by less than anybody means."""
    law, (q0, qd0), until = Sampled(PD, 7e-4), begun(2), 7e-4 * 50
    assert (np.linspace(0.0, until, 51) < 7e-4 * np.arange(51)).sum() > 20
    many = fa.simulate_many(planar, until, q0=q0, qd0=qd0, u=law, samples=51, progress=False)
    for i in range(2):
        same(many, i, alone(planar, until, law, q0[i], qd0[i], samples=51))


ONE_BY_ONE = {
    "gauss4": {"u": PD, "solver": fa.Solver(step=1e-3)},
    "generalized-alpha": {"u": amplitudes(4), "solver": fa.Solver(spectral_radius=0.8)},
    "gauss8": {"u": tables("cubic")[:4]},
    "radau9": {"u": fa.PrescribedMotion(WAVE)},
    "radau5": {"u": [Sampled(OBSERVER, 1e-3, seed=i) for i in range(4)]},
    "dop853": {"u": lambda t: [np.sin(30 * t), 0.1]},
    "rk4": {"u": lambda t, q, qd: [-q[0] - 0.1 * qd[0], 0.1], "solver": fa.Solver(step=1e-3)},
}


@pytest.mark.parametrize("method", ONE_BY_ONE)
def test_what_does_not_go_in_lanes_is_to_the_last_bit_what_simulate_gives(method, planar):
    given = {"method": method, "samples": 11} | ONE_BY_ONE[method]
    u, (q0, qd0) = given.pop("u"), begun(4)
    if isinstance(u, fa.PrescribedMotion):
        q0[:, :2], qd0[:, :2] = 0.0, 0.0
    many = fa.simulate_many(planar, 0.05, q0=q0, qd0=qd0, u=u, progress=False, **given)
    for i in range(4):
        run = alone(planar, 0.05, u[i] if isinstance(u, list | np.ndarray) else u, q0[i], qd0[i], **given)
        same(many, i, run, exactly=True)
        assert (int(many.steps[i]), int(many.evaluations[i])) == (run.attrs["steps"], run.attrs["evaluations"])


# -- nothing but its own ----------------------------------------------------------------------------------------------


def identical(many, i, other, j):
    for name in many.data_vars:
        a, b = many[name].values[i], other[name].values[j]
        np.testing.assert_array_equal(a, b, err_msg=name)


@pytest.mark.parametrize("u", [INPUTS["bang-bang"], INPUTS["tables"], INPUTS["feedback with memory"]])
def test_a_run_is_the_same_whatever_stands_beside_it(u, planar, monkeypatch):
    """To the last bit: in another order, alone, with fewer cores, and beside one that diverges."""
    q0, qd0 = begun()
    given = {"method": "dop853", "samples": 21, "progress": False}
    many = fa.simulate_many(planar, 0.3, q0=q0, qd0=qd0, u=u, **given)
    order = np.random.default_rng(5).permutation(COUNT)
    u_of = (lambda places: [u[i] for i in places]) if isinstance(u, list) else (lambda _: u)
    other = fa.simulate_many(planar, 0.3, q0=q0[order], qd0=qd0[order], u=u_of(order), **given)
    for j, i in enumerate(order):
        identical(many, i, other, j)
    monkeypatch.setattr(ensemble, "cores", lambda: 1)
    monkeypatch.setattr(ensemble_runs, "MOST_TOGETHER", 1)
    fewer = fa.simulate_many(planar, 0.3, q0=q0, qd0=qd0, u=u, **given)
    single = fa.simulate_many(planar, 0.3, q0=q0[4:5], qd0=qd0[4:5], u=u_of([4]), **given)
    wild = q0.copy()
    wild[3, 0] = 2e12  # beyond what is a motion
    beside = fa.simulate_many(planar, 0.3, q0=wild, qd0=qd0, u=u, **given)
    for i in range(COUNT):
        identical(many, i, fewer, i)
        if i != 3:
            identical(many, i, beside, i)
    identical(many, 4, single, 0)
    assert str(beside.status[3].values) != "completed"


def test_sampled_runs_are_the_same_whatever_stands_beside_them(planar):
    u, (q0, qd0) = SAMPLED["seeds"](), begun()
    given = {"samples": 21, "progress": False}
    many = fa.simulate_many(planar, 0.05, q0=q0, qd0=qd0, u=u, **given)
    order = np.random.default_rng(5).permutation(COUNT)
    other = fa.simulate_many(planar, 0.05, q0=q0[order], qd0=qd0[order], u=[u[i] for i in order], **given)
    single = fa.simulate_many(planar, 0.05, q0=q0[4:5], qd0=qd0[4:5], u=[u[4]], **given)
    for j, i in enumerate(order):
        identical(many, i, other, j)
    identical(many, 4, single, 0)


# -- parameters --------------------------------------------------------------------------------------------------------


def masses(count=COUNT):
    rng = np.random.default_rng(4)
    return np.column_stack([rng.uniform(0.0, 0.2, count), rng.uniform(0.8, 2.0, count)])


WITH_P = {
    "lanes": {"u": amplitudes()},
    "lanes and memory": {"u": Integral(PD, 3.0)},
    "rk4": {"u": amplitudes(), "method": "rk4", "solver": fa.Solver(step=3e-4)},
    "prescribed": {"u": fa.PrescribedMotion(WAVE), "q0": np.zeros(6), "qd0": np.zeros(6)},
    "clock": {"u": Sampled(OBSERVER, 1e-3, seed=5)},
    "a design": {"u": ComputedTorque(SLEW, 9.0, 6.0)},
    "implicit": {"u": amplitudes(), "method": "radau9"},
    "function": {"u": lambda t: [0.1, -0.1]},
}


@pytest.mark.parametrize("name", WITH_P)
def test_each_run_has_its_parameters(name, varied):
    """Of the arm that moves; a controller is designed for the model as it is given."""
    p, (q0, qd0) = masses(), begun()
    given = {"method": "dop853" if name not in ("clock", "implicit") else "auto", "samples": 21, "rtol": 1e-9}
    given |= {"q0": q0, "qd0": 0.1 * qd0} | WITH_P[name]
    u, q0, qd0 = given.pop("u"), given.pop("q0"), given.pop("qd0")
    many = fa.simulate_many(varied, 0.1, q0=q0, qd0=qd0, u=u, p=p, progress=False, **given)
    np.testing.assert_array_equal(many.p.values, p)
    assert list(many.parameter.values) == ["payload.mass", "upper.EI"]
    for i in (0, 7, 10):
        start = [x if x.ndim == 1 else x[i] for x in (q0, qd0)]
        own = u[i] if isinstance(u, np.ndarray) else u
        run = alone(varied, 0.1, own, *start, p=p[i], **given)
        same(many, i, run, exactly=name in ("implicit", "function"))
        assert float(many.energy_drift[i]) < 1e-5


def test_sampled_runs_with_other_parameters_share_their_lanes(varied):
    """As long as the modes between two samples ask for as many steps; each says of its own mode why."""
    p = np.column_stack([np.linspace(0.0, 0.01, 16) + 1e-3, np.full(16, 1.0)])
    model, drive = varied, ensemble.as_input(Sampled(PD, 1e-3), varied)
    asked = ensemble.Asked(np.linspace(0.0, 0.1, 3), "auto", None, 1e-8, 1e-10, None)
    runs = ensemble.Runs(model, [drive], np.zeros(16, dtype=int), np.zeros((16, 6)), np.zeros((16, 6)), p)
    found = ensemble.groups(runs, asked)
    assert len(found) == 1 and len(ensemble.tasks(runs, found[0], asked, 2)) == 2
    assert len(set(found[0].reasons)) > 4


def test_parameters_are_one_set_or_many_by_number_or_by_name(varied):
    p, given = masses(3), {"until": 0.02, "u": [0.1, 0.2], "method": "dop853", "samples": 3, "progress": False}
    many = fa.simulate_many(varied, p=p, **given)
    named = fa.simulate_many(varied, p={"upper.EI": p[:, 1], "payload.mass": p[:, 0]}, **given)
    part = fa.simulate_many(varied, p={"payload.mass": p[:, 0], "upper.EI": p[1, 1]}, **given)
    one = fa.simulate_many(varied, p=p[1], runs=2, **given)
    once = fa.simulate_many(varied, p={"payload.mass": p[1, 0], "upper.EI": p[1, 1]}, runs=2, **given)
    np.testing.assert_array_equal(named.q.values, many.q.values)
    for found in (one, once):
        np.testing.assert_array_equal(found.q.values, np.broadcast_to(many.q.values[1], (2, 3, 6)))
        assert "p" not in found
    np.testing.assert_array_equal(part.q.values[1], many.q.values[1])
    assert (part.p.values[:, 1] == p[1, 1]).all()


# -- auto --------------------------------------------------------------------------------------------------------------


def test_auto_takes_lanes_where_explicit_steps_are_few(planar):
    many = fa.simulate_many(planar, 0.1, runs=2, samples=3, progress=False)
    assert set(many.method.values) == {"dop853"}
    assert all("an explicit method needs few steps" in reason for reason in many.method_reason.values)


def test_auto_decides_for_each_kind_of_input(planar):
    """What drives one run has no say in what another takes."""
    inputs = [lambda t: [0.1, 0.0], [0.1, 0.0], Sampled(PD, 1e-3)]
    many = fa.simulate_many(planar, 0.05, u=inputs, samples=5, progress=False)
    assert list(many.method.values) == ["dop853", "dop853", "dop853"]
    few = "at rest: an explicit method needs few steps"
    assert many.attrs["input_description"].endswith(", and 2 others")
    assert str(many.method_reason[1].values).endswith(few) and not str(many.method_reason[0].values).endswith(few)
    for i, u in enumerate(inputs):
        same(many, i, alone(planar, 0.05, u, None, None, samples=5), rtol=1e-7)


def test_auto_lets_each_run_choose_where_modes_are_fast():
    stiff = fa.Model(fa.load("subudhi-morris-elastic"))
    until = 60.0
    many = fa.simulate_many(stiff, until, u=[[0.0, 0.0], None], rtol=1e-4, samples=3, progress=False)
    run = alone(stiff, until, [0.0, 0.0], None, None, rtol=1e-4, samples=3)
    for i in range(2):
        same(many, i, run, exactly=True)
        assert str(many.method_reason[i].values) == run.attrs["method_reason"]
    assert "radau9" in str(many.method[0].values)


# -- what goes wrong -------------------------------------------------------------------------------------------------


def law_that_ends(t, q, qd, z, *noise):
    return ca.sqrt(0.0123 + q[0] - t) * ca.vertcat(1, 1), z


class Given:
    """A controller of any law."""

    def __init__(self, expression, **more):
        self.made = Law(expression, **more)

    def law(self, model, period=None):
        return self.made


FAILING = {
    "grown": (
        {"u": np.array([[0.1, 0.1], [1e14, 0.0], [0.1, 0.2]]), "method": "rk4", "solver": fa.Solver(step=1e-3)},
        "diverged by t = ",
    ),
    "not a number": ({"u": Given(law_that_ends), "method": "dop853"}, "controller Given gave nan for upper.joint"),
    "sampled": ({"u": Sampled(Given(law_that_ends), 1e-3)}, "controller Given gave nan for upper.joint at t = 0.013"),
    "sampled and grown": (
        {"u": Sampled(Given(lambda t, q, qd, z: (ca.vertcat(1e18 * (q[0] < 0.5), 0), z)), 1e-3)},
        "diverged by t = ",
    ),
    "never a number": (
        {"u": Given(lambda t, q, qd, z: (ca.sqrt(q[0] - 0.5) * ca.vertcat(1, 1), z)), "method": "dop853"},
        "controller Given gave nan for upper.joint",
    ),
    "implicit": ({"u": Given(law_that_ends), "method": "radau9"}, "controller Given gave nan for upper.joint"),
    "function": (
        {"u": lambda t, q, qd: [np.nan if t > 0.012 and q[0] < 0.5 else 0.0, 0.0]},
        "gave nan for upper.joint",
    ),
}


@pytest.mark.parametrize("name", FAILING)
def test_a_run_that_fails_does_not_stop_the_others(name, planar):
    """It ends where `simulate` ends, with what that says, and NaN from there on."""
    given, said = FAILING[name]
    q0 = np.zeros((3, 6))
    q0[[0, 2], 0] = 1.0
    many = fa.simulate_many(planar, 0.05, q0=q0, samples=51, progress=False, **given)
    assert [str(status) == "completed" for status in many.status.values] == [True, False, True]
    assert said in str(many.status[1].values)
    u = given["u"][1] if isinstance(given["u"], np.ndarray) else given["u"]
    run = alone(planar, 0.05, u, q0[1], None, samples=51, **{k: x for k, x in given.items() if k != "u"})
    known = run.sizes["time"]
    assert 1 <= known < 51 and abs(int(np.isfinite(many.q.values[1, :, 0]).sum()) - known) <= 1
    assert float(many.time_reached[1]) == pytest.approx(float(run.time[-1]), abs=1e-3)
    plain = [re.sub(r"-?\d[\d.e+-]*", "#", str(text)) for text in (many.status[1].values, run.attrs["status"])]
    if name == "sampled and grown":  # one is ended by its budget in a period, the other by a look between them
        plain = [text.partition(": ")[0] for text in plain]
    assert plain[0] == plain[1]
    for name_ in ("q", "u", "tip", "kinetic", "energy_error"):
        values = many[name_].values
        assert np.isnan(values[1, known + 1 :]).all() and np.isfinite(values[[0, 2]]).all(), name_
        np.testing.assert_allclose(values[1, : known - 1], run[name_].values[: known - 1], rtol=1e-6, atol=1e-8)


def test_what_a_python_function_raises_comes_out_as_it_is(planar):
    def u(t):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        fa.simulate_many(planar, 0.1, runs=2, u=u, progress=False)


INTERRUPTED = {
    # torques so small that no run diverges before Ctrl-C on any machine
    "lanes": {"u": 5e-7 * amplitudes(64), "method": "dop853", "rtol": 1e-12, "solver": fa.Solver(atol=1e-14)},
    "clock": {"u": [Sampled(PD, 1e-3)] * 64, "method": "rk4", "solver": fa.Solver(step=1e-6)},
    "one by one": {"u": amplitudes(64), "method": "gauss4", "solver": fa.Solver(step=1e-6)},
}


@pytest.mark.parametrize("name", INTERRUPTED)
def test_ctrl_c_keeps_the_runs_that_have_ended(name, planar):
    """And ends soon: what is under way is left where it is."""
    timer = threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT))
    until = 1e6 if name == "lanes" else 100.0
    starts = np.zeros((64, 6))
    timer.start()
    with pytest.warns(InterruptedRun, match="interrupted after .* of 64 runs"):
        many = fa.simulate_many(
            planar, until, q0=starts, samples=5, progress=False, save=fa.SaveAt(keep=["q"]), **INTERRUPTED[name]
        )
    timer.join()
    status = many.status.values
    assert "interrupted" in status and set(status) <= {"interrupted", "completed"}
    assert np.isfinite(many.q.values[status == "completed"]).all()
    cut = status == "interrupted"
    assert np.isnan(many.q.values[cut][:, -1]).all() and (many.time_reached.values[cut] < until).all()


def test_ctrl_c_while_a_run_is_being_laid_out_ends_it(planar, monkeypatch):
    laid_out = methods.planned

    def planned(*given):
        found = laid_out(*given)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.5)
        return found

    monkeypatch.setattr(methods, "planned", planned)
    with pytest.warns(InterruptedRun, match="interrupted after 0 of 1 run$"):
        many = fa.simulate_many(
            planar, 0.1, runs=1, solver=fa.Solver(method="gauss4", step=1e-5), samples=5, progress=False
        )
    assert many.status.values.tolist() == ["interrupted"]


def test_progress_is_the_number_of_runs_that_have_ended(planar):
    seen = []
    fa.simulate_many(planar, 5.0, runs=400, samples=2, save=fa.SaveAt(keep=["q"]), progress=seen.append)
    assert seen and seen == sorted(seen) and 0 <= seen[0] and seen[-1] <= 400


REFUSED = [
    ({}, "the number of runs is unknown; give runs=N, or q0, qd0, u or p for each run"),
    ({"runs": 0}, "runs is 0; it must be a whole number, at least 1"),
    ({"runs": 2, "q0": np.zeros((3, 6))}, "for different numbers of runs: runs 2, q0 3"),
    ({"q0": np.zeros((3, 6)), "u": np.zeros((4, 2))}, "for different numbers of runs: q0 3, u 4"),
    ({"u": []}, "u is a list; it must be numbers|the number of runs is 0|: 0 columns"),
    ({"u": np.zeros((0, 2))}, "the number of runs is 0"),
    ({"q0": np.zeros((3, 5))}, r"q0 has shape \(3, 5\); it must be \(6,\) or \(N, 6\), N runs of upper.joint"),
    ({"q0": np.zeros((2, 2, 6))}, r"q0 has shape \(2, 2, 6\)"),
    ({"q0": [[np.nan] * 6] * 2}, "q0"),
    ({"u": np.zeros((3, 3))}, "3 columns for 2 actuators"),
    ({"u": [[0.0, 0.0], "sine"]}, r"u\[1\]: u"),
    ({"u": [PD, JointPD]}, r"u\[1\]: u is the class JointPD"),
    ({"runs": 2, "p": [1.0]}, "p is given, but the model has no varied parameters"),
    ({"runs": 2, "method": "leapfrog"}, "method is 'leapfrog'"),
    ({"runs": 2, "samples": 1}, "samples is 1"),
    ({"runs": 2, "save": {"keep": ["speed"]}}, "SaveAt: keep has the unknown name 'speed'"),
    ({"runs": 2, "save": {"keep": ["q_ref"]}}, "keep has 'q_ref', which a run without a reference does not have"),
    ({"runs": 2, "progress": 3}, "progress is 3; it must be true, false or a function of the number of finished runs"),
    ({"runs": 2, "name": 3}, "name"),
    ({"runs": 2, "reference": fa.Quintic((0.0,), (1.0,), 1.0)}, "reference moves 1 joint; the arm has 2"),
    ({"runs": 10**9}, "a result of 1000000000 runs takes .* GB are free; use folder= to write it to disk"),
]


@pytest.mark.parametrize(("given", "said"), REFUSED)
def test_it_refuses_in_one_line(given, said, planar):
    def attempt():
        save = {"save": fa.SaveAt(**given["save"])} if "save" in given else {}
        return fa.simulate_many(planar, 0.1, **{"progress": False, **given, **save})

    with refused(f".*({said}).*"):
        attempt()


def test_it_refuses_parameters_in_one_line(varied):
    for p, said in (
        (np.ones((2, 2, 2)), r"p has shape \(2, 2, 2\); it must be \(2,\) or \(N, 2\)"),
        (np.full((3, 2), -1.0), "payload.mass is -1.0 kg"),
        ({"payload.mass": [0.1, 0.2], "upper.EI": [1.0]}, r"have different numbers of runs: \[1, 2\]"),
        ({"payload.mass": [[0.1]]}, r"payload.mass has shape \(1, 1\); it must be one number, or N numbers"),
        ({"load": [0.1]}, "the model does not vary 'load'"),
    ):
        with refused(f".*({said}).*"):
            fa.simulate_many(varied, 0.1, p=p, progress=False)


# -- on disk -----------------------------------------------------------------------------------------------------------


def test_runs_are_written_to_a_folder_and_read_when_asked_for(planar, tmp_path, monkeypatch):
    u, given = amplitudes(20), {"samples": 11, "method": "dop853", "progress": False}
    many = fa.simulate_many(planar, 0.1, u=u, **given)
    monkeypatch.setattr(ensemble, "CHUNK", 7 * many.nbytes / 20)
    found = fa.simulate_many(planar, 0.1, u=u, folder=tmp_path / "runs", **given)
    files = sorted(tmp_path.joinpath("runs").iterdir())
    assert len(files) > 2 and files[0].name.startswith("runs-00-")
    assert set(found.variables) == set(many.variables)
    assert found.sizes == many.sizes and list(found.run.values) == list(range(20))
    for part in (slice(None), slice(5, 9), slice(3, 20, 6), [17, 2, 9], 13, []):
        for name in ("q", "tip", "deflection", "energy_error", "status", "steps"):
            wanted = many[name].isel(run=part)
            np.testing.assert_array_equal(found[name].isel(run=part).values, wanted.values, err_msg=name)
    np.testing.assert_array_equal(
        found.q.isel(run=[1, 19], time=slice(2, 5), coordinate=3).values, many.q.values[[1, 19], 2:5, 3]
    )
    assert found.q.attrs["units"] == "rad or m"
    with refused("folder .* is not empty; give a new or empty folder"):
        fa.simulate_many(planar, 0.1, u=u, folder=tmp_path / "runs", **given)
    with refused(".*(folder|cannot be written).*"):
        fa.simulate_many(planar, 0.1, u=u, folder=files[0], **given)


@pytest.mark.parametrize(
    ("count", "each", "room", "together"),
    [
        (5_000, 1e6, 1e12, 200),  # files of 200 MB
        (5_000, 1e6, 4e8, 100),  # a quarter of the memory
        (5_000, 1e6, 0.0, 2),  # a quarter of what is always allowed
        (5_000, 1e9, 1e12, 1),
        (50, 1e6, 1e12, 50),
    ],
)
def test_a_file_has_as_many_runs_as_its_size_and_the_memory_allow(count, each, room, together, monkeypatch):
    monkeypatch.setattr("flexarm.simulation.memory.room", lambda: room)
    assert ensemble._runs_of_a_file(count, each) == together


@pytest.mark.parametrize(
    ("count", "threads", "batches"), [(1, 4, 1), (40 * LANES, 4, 5), (40 * LANES + 1, 4, 6), (2000 * LANES, 4, 32)]
)
def test_each_thread_gets_two_tasks_unless_these_become_long(count, threads, batches):
    assert runs_of_a_task(count, threads) == batches * LANES


def test_a_folder_keeps_what_was_ready_when_ctrl_c_came(planar, tmp_path, monkeypatch):
    monkeypatch.setattr(ensemble, "CHUNK", 1.0)
    ended = []

    def seen(count):
        ended.append(count)
        if count >= 3:
            signal.raise_signal(signal.SIGINT)

    u = lambda t: [0.1, 0.2]  # noqa: E731  (a slow run)
    with pytest.warns(InterruptedRun, match="interrupted after .* of 50 runs"):
        found = fa.simulate_many(
            planar, 2.0, runs=50, u=u, folder=tmp_path / "r", progress=seen, samples=5, save=fa.SaveAt(keep=["q"])
        )
    assert 3 <= found.sizes["run"] < 50 and list(found.run.values) == list(range(found.sizes["run"]))
    status = found.status.values
    assert (status[:3] == "completed").all() and np.isfinite(found.q.values[:3]).all()


# -- what is kept ------------------------------------------------------------------------------------------------------


def test_only_what_is_kept_is_computed(planar, monkeypatch):
    asked = []
    kernel = type(planar).kernel
    monkeypatch.setattr(type(planar), "kernel", lambda self, name: (asked.append(name), kernel(self, name))[1])
    found = fa.simulate_many(
        planar, 0.05, runs=3, u=[0.1, 0.2], save=fa.SaveAt(keep=["q"]), samples=2, method="dop853", progress=False
    )
    assert set(asked) == {"state_rate"}
    assert "energy_drift" not in found and "u" not in found and found.q.shape == (3, 2, 6)
    with_audit = fa.simulate_many(
        planar, 0.05, runs=3, u=[0.1, 0.2], save=fa.SaveAt(keep=["energy_error"]), progress=False
    )
    assert (with_audit.energy_drift.values < 1e-8).all()


def test_recorded_signals_of_many_runs_are_evaluated_together(planar, monkeypatch):
    """Each evaluation traces the law. Where many runs would take too much memory, they are evaluated one by one."""
    calls, original, found = [], Feedback.recorded, []

    def recorded(self, t, parts):
        calls.append(len(t))
        return original(self, t, parts)

    monkeypatch.setattr(Feedback, "recorded", recorded)
    for piece in (10**9, 1):
        monkeypatch.setattr("flexarm.simulation.ensemble_dataset.PIECE", piece)
        given = {"u": Integral(PD, 3.0), "save": fa.SaveAt(record=["integral", "command"]), "samples": 5}
        found.append(fa.simulate_many(planar, 0.01, runs=3, progress=False, **given))
    assert calls == [15, 5, 5, 5]
    for name in ("integral", "command"):
        assert found[0][name].shape == (3, 5, 2) and np.abs(found[0][name].values[:, -1]).min() > 0.0
        np.testing.assert_array_equal(found[0][name], found[1][name])


def test_the_audit_sees_a_loose_tolerance(planar):
    """The energies of each run: the looser its tolerance, the larger its drift."""
    drifts = [
        fa.simulate_many(
            planar,
            1.0,
            u=amplitudes(9),
            solver=fa.Solver(method="dop853", rtol=tol, atol=tol),
            samples=101,
            progress=False,
        )
        for tol in (1e-3, 1e-5, 1e-8)
    ]
    loose, middle, tight = (each.energy_drift.values for each in drifts)
    assert (loose > 10 * middle).all() and (middle > 10 * tight).all() and (tight < 1e-6).all()


def test_references_stand_beside_the_runs(planar):
    other = JointPD(fa.Quintic((0.1, 0.0), (0.2, 0.6), 0.2), 5.0, 2.0)
    found = fa.simulate_many(planar, 0.1, u=[PD, other, PD], samples=5, progress=False)
    for i, law in enumerate((PD, other, PD)):
        run = alone(planar, 0.1, law, None, None, method="dop853", samples=5)
        np.testing.assert_array_equal(found.q_ref.values[i], run.q_ref.values)
        np.testing.assert_allclose(found.q.values[i], run.q.values, rtol=1e-8, atol=1e-10)


# -- runs that are nearly alike ----------------------------------------------------------------------------------------


class Wave:
    """A reference of the user's, by one function or another."""

    def __init__(self, function):
        self._function = function

    def expression(self, t):
        return [0.1 * self._function(30.0 * t), 0.2 * self._function(20.0 * t)]

    def described(self):
        return f"a wave by {self._function.__name__}"


def test_code_that_is_no_longer_kept_is_nobody_elses(planar, monkeypatch):
    """What is compiled later may come to lie where it has been."""
    for kept in ("_BY_STRUCTURE", "_BY_KEY"):
        monkeypatch.setattr(lifted, kept, Recent(1))
    u = [fa.PrescribedMotion(Wave(f)) for f in (ca.sin, ca.cos, ca.tanh, ca.atan) * 2]
    many = fa.simulate_many(planar, 0.02, u=u, method="dop853", samples=5, progress=False)
    for i in range(4):
        same(many, i, alone(planar, 0.02, u[i], None, None, method="dop853", samples=5))
        identical(many, i, many, i + 4)


@pytest.mark.parametrize("limit", ["limit", "rate_limit"])
def test_limits_that_print_alike_are_limits_of_their_own(limit, planar):
    """Numbers are printed with eight digits, and long rows of them shortened."""
    u = [Sampled(PD, 1e-3, **{limit: np.array([0.1 + 1e-9 * i, 0.5])}) for i in range(3)]
    many = fa.simulate_many(planar, 0.02, u=u, samples=21, progress=False)
    for i in range(3):
        run = alone(planar, 0.02, u[i], None, None, samples=21)
        np.testing.assert_allclose(many.u.values[i], run.u.values, rtol=1e-12, atol=1e-13)
    assert (np.abs(np.diff(many.u.values[:, :, 0], axis=0)).max(axis=1) > 1e-13).all()


def test_what_auto_chooses_does_not_follow_from_the_run_before(planar):
    """A function is called by the solver that `simulate` chooses for it, whatever else is in the list."""
    u, given = [amplitudes()[0], lambda t: [0.1, t]], {"samples": 5, "progress": False}
    one = fa.simulate_many(planar, 0.02, u=u, **given)
    other = fa.simulate_many(planar, 0.02, u=u[::-1], **given)
    for i in range(2):
        identical(one, i, other, 1 - i)
    same(one, 1, alone(planar, 0.02, u[1], None, None, samples=5), exactly=True)


def test_a_state_that_leaves_all_bounds_in_a_step_is_not_said_to_have_grown_to_nothing(planar):
    """Fixed steps pass the bound at once; steps that follow the error become too short."""
    u, given = [Sampled(JointPD(SLEW, 1e39, 2.0), 1e-3)] * 2, {"samples": 5, "progress": False}
    (said,) = set(fa.simulate_many(planar, 0.02, u=u, **given).status.values)
    assert said.startswith(
        "the solver could not meet the tolerance at t = 0.001 s, where the acceleration of upper.joint is "
    )
    (said,) = set(fa.simulate_many(planar, 0.02, u=u, solver=fa.Solver(method="rk4", step=5e-4), **given).status.values)
    assert "t = 0.001" in said and "grown to 0" not in said


# -- arms that touch ---------------------------------------------------------------------------------------------------


def touching(**more):
    rod = fa.Rigid(length=0.7, mass=1.3)
    stops = more.pop("stops", None)
    joint = fa.Revolute(axis=(0, 1, 0), drive=fa.Drive(stops=stops) if stops else None)
    return fa.Model(fa.Arm(name="touching", links=[fa.Link(name="rod", joint=joint, body=rod)], **more))


FLOOR = {"name": "floor", "link": "rod", "normal": (0, 0, 1), "point": (0, 0, -0.3), "stiffness": 2e4}
TOUCHING = {
    "wall": {"contacts": [fa.Contact(**FLOOR, exponent=2.0, damping=0.1, friction=0.3)]},
    "stop": {"stops": fa.Stops(lower=-0.3, upper=0.3, stiffness=1e4)},
    "sharp stop": {"stops": fa.Stops(lower=-0.3, upper=0.3, stiffness=1e4, sharp=True)},
}


@pytest.mark.parametrize("method", ["dop853", "rk45", "auto"])
@pytest.mark.parametrize("kind", TOUCHING)
def test_runs_of_an_arm_that_touches_are_those_of_simulate(kind, method):
    """Their integrals count in the error of a step, and a run stops at each sharp contact."""
    model = touching(**TOUCHING[kind])
    u = np.linspace(-0.5, 0.5, 9)[:, None]
    together = fa.simulate_many(model, 1.0, u, [0.1], method=method, samples=21, progress=False)
    for i in (0, 3, 8):
        alone = fa.simulate(model, 1.0, u[i], [0.1], method=method, samples=21, progress=False)
        assert together.steps.values[i] == alone.steps
        np.testing.assert_array_equal(together.q.values[i], alone.q.values)
        assert alone.energy_drift < 1e-6
