"""`simulate_many`: each run is what `simulate` gives, whatever stands beside it."""


import numpy as np
import pytest

import flexarm as fa
from flexarm.control import LQR, Integral, JointPD, Observed, Sampled
from flexarm.simulation import ensemble, ensemble_runs

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
    "prescribed": fa.PrescribedMotion(WAVE),
    "feedback": PD,
    "feedback with memory": Integral(PD, 3.0),
    "none": None,
}


@pytest.mark.parametrize("method", ["dop853", "rk45", "rk4"])
@pytest.mark.parametrize("name", INPUTS)
def test_it_is_what_simulate_gives(name, method, planar):
    u, (q0, qd0) = INPUTS[name], begun()
    if name == "prescribed":
        q0[:, :2], qd0[:, :2] = 0.0, 0.0
    given = {"method": method, "step": 3e-4 if method == "rk4" else None, "samples": 38}
    many = fa.simulate_many(planar, 0.4, q0, qd0, u, progress=False, **given)
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
    "several": lambda: [Sampled(JointPD(SLEW, 5.0, 1.0 + i % 2), 1e-3) for i in range(COUNT)],
}


@pytest.mark.parametrize(("until", "samples"), [(0.05, 38), (0.0473, 5), (0.03, 31)])
@pytest.mark.parametrize("name", SAMPLED)
def test_sampled_laws_are_what_simulate_gives(name, until, samples, planar):
    """By fixed steps between samples, with the noise of each run's seed; times and samples need not agree."""
    u, (q0, qd0) = SAMPLED[name](), begun()
    many = fa.simulate_many(planar, until, q0, 0.1 * qd0, u, samples=samples, progress=False)
    for i in (0, 7, 10):
        run = alone(planar, until, u[i] if isinstance(u, list) else u, q0[i], 0.1 * qd0[i], samples=samples)
        same(many, i, run)
        assert (int(many.steps[i]), int(many.evaluations[i])) == (run.attrs["steps"], run.attrs["evaluations"])
    if name == "seeds":
        assert np.ptp(many.u.values[:, -1, 0]) > 1e-4


ONE_BY_ONE = {
    "radau9": {"u": amplitudes(4)},
    "gauss4": {"u": PD, "step": 1e-3},
    "generalized-alpha": {"u": amplitudes(4), "spectral_radius": 0.8},
    "vern7": {"u": tables("cubic")[:4]},
    "radau": {"u": fa.PrescribedMotion(WAVE)},
    "radau5": {"u": [Sampled(OBSERVER, 1e-3, seed=i) for i in range(4)]},
    "dop853": {"u": lambda t: [np.sin(30 * t), 0.1]},
    "rk4": {"u": lambda t, q, qd: [-q[0] - 0.1 * qd[0], 0.1], "step": 1e-3},
}


@pytest.mark.parametrize("method", ONE_BY_ONE)
def test_what_does_not_go_in_lanes_is_to_the_last_bit_what_simulate_gives(method, planar):
    given = {"method": method, "samples": 11} | ONE_BY_ONE[method]
    u, (q0, qd0) = given.pop("u"), begun(4)
    if isinstance(u, fa.PrescribedMotion):
        q0[:, :2], qd0[:, :2] = 0.0, 0.0
    many = fa.simulate_many(planar, 0.05, q0, qd0, u, progress=False, **given)
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
    many = fa.simulate_many(planar, 0.3, q0, qd0, u, **given)
    order = np.random.default_rng(5).permutation(COUNT)
    u_of = (lambda places: [u[i] for i in places]) if isinstance(u, list) else (lambda _: u)
    other = fa.simulate_many(planar, 0.3, q0[order], qd0[order], u_of(order), **given)
    for j, i in enumerate(order):
        identical(many, i, other, j)
    monkeypatch.setattr(ensemble, "cores", lambda: 1)
    monkeypatch.setattr(ensemble_runs, "MOST_TOGETHER", 1)
    fewer = fa.simulate_many(planar, 0.3, q0, qd0, u, **given)
    single = fa.simulate_many(planar, 0.3, q0[4:5], qd0[4:5], u_of([4]), **given)
    wild = q0.copy()
    wild[3, 0] = 2e12  # beyond what is a motion
    beside = fa.simulate_many(planar, 0.3, wild, qd0, u, **given)
    for i in range(COUNT):
        identical(many, i, fewer, i)
        if i != 3:
            identical(many, i, beside, i)
    identical(many, 4, single, 0)
    assert str(beside.status[3].values) != "completed"


def test_sampled_runs_are_the_same_whatever_stands_beside_them(planar):
    u, (q0, qd0) = SAMPLED["seeds"](), begun()
    given = {"samples": 21, "progress": False}
    many = fa.simulate_many(planar, 0.05, q0, qd0, u, **given)
    order = np.random.default_rng(5).permutation(COUNT)
    other = fa.simulate_many(planar, 0.05, q0[order], qd0[order], [u[i] for i in order], **given)
    single = fa.simulate_many(planar, 0.05, q0[4:5], qd0[4:5], [u[4]], **given)
    for j, i in enumerate(order):
        identical(many, i, other, j)
    identical(many, 4, single, 0)
