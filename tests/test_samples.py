"""From sample to sample in machine code: to the last bit what is computed from sample to sample in Python."""

import threading
import time

import casadi as ca
import numpy as np
import pytest

import flexarm as fa
from flexarm.control import LQR, Integral, JointPD, Law, Observed, Sampled
from flexarm.simulation import integration as running
from flexarm.simulation.sampled import SampledFeedback

SLEW = fa.Quintic((0.0, 0.0), (0.5, 0.3), 0.3)
PD = JointPD(SLEW, 5.0, 2.0)
GAUGES = [fa.Encoder(coordinate=name, noise=1e-4) for name in ("upper.joint", "fore.joint")]


class Given:
    """A controller of any law."""

    def __init__(self, expression, **more):
        self.made = Law(expression, **more)

    def law(self, model, period=None):
        return self.made


@pytest.fixture(scope="module")
def planar():
    return fa.Model(fa.load("subudhi-morris"))


def both(monkeypatch, call):
    """What it gives in machine code, and from Python; and how many chunks machine code was given."""
    chunks, native = [], SampledFeedback.ahead

    def counted(self, *given):
        ahead = native(self, *given)
        return lambda edges, x: (chunks.append(len(edges) - 1), ahead(edges, x))[1]

    with monkeypatch.context() as patch:
        patch.setattr(SampledFeedback, "ahead", counted)
        found = call()
    with monkeypatch.context() as patch:
        patch.setattr(SampledFeedback, "ahead", lambda self, *given: None)
        wanted = call()
    assert chunks
    return found, wanted, chunks


def same(found, wanted, counts=("steps", "evaluations", "status")):
    for name, values in wanted.data_vars.items():
        np.testing.assert_array_equal(found[name].values, values.values, err_msg=name)
    for name in counts:
        assert found.attrs[name] == wanted.attrs[name]


LAWS = {
    "pd": lambda: Sampled(PD, 1e-3),
    "integral": lambda: Sampled(Integral(PD, 3.0), 1e-3, limit=[1.0, 0.2], rate_limit=50.0),
    "delay": lambda: Sampled(PD, 1e-3, delay=3e-3),
    "observer": lambda: Sampled(Observed(LQR(reference=SLEW), GAUGES), 1e-3, seed=5),
}


@pytest.mark.parametrize("method", ["rk4", "rk45", "dop853", "radau5", "gauss4", "generalized-alpha"])
@pytest.mark.parametrize("name", LAWS)
def test_it_is_what_python_does(name, method, planar, monkeypatch):
    step = 3e-4 if method == "rk4" else None

    def run():
        return fa.simulate(
            planar,
            0.05,
            LAWS[name](),
            solver=fa.Solver(method=method, step=step, rtol=1e-6),
            samples=38,
            progress=False,
        )

    found, wanted, _ = both(monkeypatch, run)
    same(found, wanted)
    assert np.isfinite(found.u.values).all() and np.ptp(found.u.values) > 0.01


@pytest.mark.parametrize(
    ("period", "until", "samples"),
    [(1e-3, 0.01, 11), (1e-3, 0.01, 2), (1e-3, 0.01, 101), (3e-3, 0.01, 58), (1.0, 0.01, 7), (0.01, 0.01, 3)],
)
@pytest.mark.filterwarnings("ignore:Sampled. period is 1 s, longer than half")
@pytest.mark.parametrize("method", ["rk4", "dop853", "radau5"])
def test_times_and_samples_need_not_agree(period, until, samples, method, planar, monkeypatch):
    """Several times between two samples or none, a last period that is cut short, a run within one period."""
    step = 4e-4 if method == "rk4" else None
    law = Sampled(PD, period)

    def run():
        return fa.simulate(
            planar, until, law, solver=fa.Solver(method=method, step=step), samples=samples, progress=False
        )

    same(*both(monkeypatch, run)[:2])


@pytest.mark.parametrize("most", [1, 7, 30])
def test_chunks_follow_each_other(most, planar, monkeypatch):
    law, given = LAWS["observer"](), {"method": "rk4", "solver": fa.Solver(step=1e-3), "samples": 24, "progress": False}
    wanted = fa.simulate(planar, 0.03, law, **given)
    monkeypatch.setattr(running, "MOST_AHEAD", most)
    found, again, chunks = both(monkeypatch, lambda: fa.simulate(planar, 0.03, law, **given))
    same(found, wanted)
    same(again, wanted)
    assert sum(chunks) == 30 and max(chunks) == most


def failing(call):
    with pytest.raises(fa.SimulationError) as error:
        call()
    return error.value


FAILING = {
    "law": lambda t, q, qd, z, noise: (ca.sqrt(0.0123 - t) * ca.vertcat(1, 1) + 1e-3 * noise, z + 1),
    "memory": lambda t, q, qd, z, noise: (q[:2] + noise, z + ca.log(0.0123 - t)),
    "motion": lambda t, q, qd, z, noise: (ca.if_else(t > 0.0123, 1e13, 1.0) * noise, z + 1),
}


@pytest.mark.parametrize("method", ["rk4", "dop853", "radau5"])
@pytest.mark.parametrize("name", FAILING)
def test_what_fails_is_told_as_python_does(name, method, planar, monkeypatch):
    """With the same noise, and the part before."""
    step = 3e-4 if method == "rk4" else None
    law = Given(FAILING[name], memory=(0.0,), noise=(1.0, 0.5))
    u = Sampled(law, 1e-3, seed=2)

    def run():
        return failing(
            lambda: fa.simulate(planar, 0.05, u, solver=fa.Solver(method=method, step=step), samples=70, progress=False)
        )

    found, wanted, _ = both(monkeypatch, run)
    assert str(found) == str(wanted) and "0.01" in str(found)
    # what is done again begins with another of Newton's matrices
    counts = ("steps", "status") if method == "radau5" else ("steps", "evaluations", "status")
    results = found.result, wanted.result
    if name == "motion" and method in ("rk45", "dop853"):  # looked at by evaluations, which a second try adds to
        known = min(each.sizes["time"] for each in results)
        assert max(each.sizes["time"] for each in results) <= known + 1
        results, counts = [each.isel(time=slice(known)) for each in results], ("status",)
    same(*results, counts)
    assert 0.01 < float(found.result.time[-1]) < 0.02


def test_another_method_goes_from_sample_to_sample_in_python(planar):
    """Where both step as they like they agree to the tolerance."""
    runs = [
        fa.simulate(
            planar,
            0.05,
            LAWS["integral"](),
            solver=fa.Solver(method=method, rtol=1e-9, atol=1e-11),
            samples=11,
            progress=False,
        )
        for method in ("dop853", "gauss8")
    ]
    np.testing.assert_allclose(runs[0].q.values, runs[1].q.values, atol=1e-8)


def test_it_tells_how_far_it_has_come_and_stops(planar):
    """A run of an hour, told to end from outside."""
    seen = []

    def progress(t):
        seen.append(t)
        if len(seen) == 3:
            raise KeyboardInterrupt

    with pytest.warns(UserWarning, match=r"interrupted at t = .* s of 3600 s"):
        result = fa.simulate(
            planar, 3600.0, LAWS["pd"](), solver=fa.Solver(method="rk4", step=1e-4), samples=36001, progress=progress
        )
    assert 0 < seen[0] < seen[1] < seen[2] < 3600
    assert seen[1] <= float(result.time[-1]) + 0.1
    assert np.isfinite(result.u.values).all() and len(result.time) > 1


def test_runs_of_one_law_may_go_side_by_side(planar):
    """What a law remembers is a run's own."""
    law, found = LAWS["observer"](), {}
    given = {"method": "rk4", "solver": fa.Solver(step=1e-3), "samples": 11, "progress": False}
    wanted = fa.simulate(planar, 0.5, law, **given)

    def work(k):
        time.sleep(1e-3 * k)
        found[k] = fa.simulate(planar, 0.5, law, **given)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k in range(3):
        same(found[k], wanted)
