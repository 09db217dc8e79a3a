"""Contacts that begin and end within one adaptive step, in batches, steppers, sampled loops and gradients of many runs.

A thrown mass meets a stop, a wall or a cable just below the highest point. `test_contact` and `test_backlash` have the
same motion in single runs.
"""

import numpy as np
import pytest
from host_gpu import HostGpu
from loops import assembled, four_bar
from thrown_masses import TOP, G, thrown

import flexarm as fa
from flexarm.native import cuda
from flexarm.simulation import ensemble_runs, gpu

UNTIL = 0.62
COUNT = 11
"""Runs: more than the lanes of a machine's vectors, and no multiple of them."""
KINDS = "stop", "wall", "ball", "cable", "winch"


def starts(seed):
    """Heights and speeds from which a mass flies 1e-6 to 1e-2 m beyond TOP."""
    rng = np.random.default_rng(seed)
    speeds = rng.uniform(2.6, 3.4, COUNT)
    return TOP + 10 ** rng.uniform(-6.0, -2.0, COUNT) - speeds**2 / (2 * G), speeds


def given(kind, seed):
    """Initial states of the runs. A winch pays out the missing 0.02 m until a mass is at its highest point."""
    height, speed = starts(seed)
    found = {"q0": height[:, None], "qd0": speed[:, None]}
    return found | ({"w": 0.02 * G / speed[:, None]} if kind == "winch" else {})


def short_steps(model, more, **options):
    """The last heights of the runs with many short steps."""
    solver = fa.Solver(method="rk4", step=2e-5)
    found = fa.simulate_many(model, UNTIL, **more, **options, solver=solver, samples=2, progress=False)
    return found.q.values[:, -1, 0]


@pytest.fixture
def abreast(monkeypatch):
    """Runs in SIMD batches or not at all."""

    def alone(*given):
        raise AssertionError("a run is computed alone")

    monkeypatch.setattr(ensemble_runs, "Alone", alone)


@pytest.mark.parametrize("kind", KINDS)
def test_runs_of_a_batch_find_contacts_as_single_runs_do(kind, abreast):
    """They have the steps and evaluations of single runs and, where no power is computed, their states bit for bit."""
    model, more = thrown(kind), given(kind, 3)
    short = short_steps(model, more)
    free = more["q0"][:, 0] + more["qd0"][:, 0] * UNTIL - G * UNTIL**2 / 2
    assert np.abs(short - free).max() > 0.01  # the contacts matter
    for method in ("dop853", "rk45", "vern7"):
        solver = fa.Solver(method=method, rtol=1e-9)
        many = fa.simulate_many(model, UNTIL, **more, solver=solver, samples=4, progress=False)
        assert np.abs(many.q.values[:, -1, 0] - short).max() < 2e-6, method
        for i in range(COUNT):
            own = {name: rows[i] for name, rows in more.items()}
            one = fa.simulate(model, UNTIL, **own, solver=solver, samples=4, progress=False)
            assert (int(many.steps[i]), int(many.evaluations[i])) == (one.attrs["steps"], one.attrs["evaluations"])
            np.testing.assert_allclose(many.q.values[i], one.q.values, rtol=0, atol=1e-9 if kind == "ball" else 0)


def test_each_run_of_a_batch_has_its_own_place_of_the_contact(abreast):
    """The stops' positions are parameters, and differ by more than the masses fly beyond them."""
    model = thrown("stop", vary=["a.drive.stops.upper"])
    depth, speed = 10 ** np.linspace(-6.0, -2.0, COUNT), np.linspace(2.6, 3.4, COUNT)
    more = {"qd0": speed[:, None], "p": (speed**2 / (2 * G) - depth)[:, None]}
    short = short_steps(model, more)
    found = fa.simulate_many(model, UNTIL, **more, solver=fa.Solver(method="dop853", rtol=1e-9), progress=False)
    assert np.abs(found.q.values[:, -1, 0] - short).max() < 2e-6
    for count in (1, COUNT):  # one plant, and several in a batch
        q0 = np.zeros((count, 1))
        for method in ("dop853", "radau5"):
            plants = fa.Stepper(model, UNTIL, q0, more["qd0"][-count:], p=more["p"][-count:], method=method, rtol=1e-9)
            assert np.abs(plants.step(np.zeros((count, 1)))[:, 0] - short[-count:]).max() < 2e-6
            plants.reset(p=more["p"][-1], qd=more["qd0"][-1])
            assert np.abs(plants.step(np.zeros((count, 1)))[:, 0] - short[-1]).max() < 2e-6


@pytest.mark.parametrize("sharp", [False, True])
def test_runs_that_no_contact_stops_find_it(sharp):
    """Steppers and sampled controllers do not stop at sharp contacts, but their steps do not pass over one."""
    model, more = thrown("stop", sharp=sharp), given("stop", 5)
    short = short_steps(model, more)
    for method in ("dop853", "radau5"):
        plants = fa.Stepper(model, UNTIL, more["q0"], more["qd0"], method=method, rtol=1e-9)
        assert np.abs(plants.step(np.zeros((COUNT, 1)))[:, 0] - short).max() < 2e-6
    law = fa.control.Sampled(fa.control.JointPD([0.0], Kp=1e-12, Kd=0.0, gravity=False), period=UNTIL / 2)
    solver = fa.Solver(method="dop853", rtol=1e-9)
    many = fa.simulate_many(model, UNTIL, law, **more, solver=solver, samples=3, progress=False)
    assert np.abs(many.q.values[:, -1, 0] - short).max() < 2e-6
    for i in range(0, COUNT, 3):
        own = {name: rows[i] for name, rows in more.items()}
        one = fa.simulate(model, UNTIL, law, **own, solver=solver, samples=3, progress=False)
        assert one.q.values[-1, 0] == pytest.approx(short[i], abs=2e-6)


def test_a_closed_loop_in_a_batch_finds_contacts(abreast):
    """Cranks that differ in their speeds turn back just beyond end stops of their own."""
    model = fa.Model(four_bar())
    q, qd = assembled(four_bar())
    rates = np.outer(np.linspace(0.8, 1.3, COUNT), qd)
    free = fa.simulate_many(model, 0.6, q0=[q] * COUNT, qd0=rates, samples=6001, progress=False).q.values[:, :, 0]
    stops = fa.Stops(upper=9.0, stiffness=3e3)
    crank, *others = four_bar().links
    links = [crank.replace(joint=fa.Revolute(drive=fa.Drive(stops=stops))), *others]
    model = fa.Model(four_bar().replace(links=links), vary=["crank.drive.stops.upper"])
    more = {"p": (free.max(axis=1) - 10 ** np.linspace(-6.0, -3.0, COUNT))[:, None], "q0": [q] * COUNT, "qd0": rates}
    short = fa.simulate_many(model, 0.6, **more, solver=fa.Solver(method="rk4", step=1e-4), samples=2, progress=False)
    assert np.abs(short.q.values[:, -1, 0] - free[:, -1]).max() > 0.01  # the contacts matter
    for method in ("dop853", "rk45"):
        solver = fa.Solver(method=method, rtol=1e-9)
        many = fa.simulate_many(model, 0.6, **more, solver=solver, samples=2, progress=False)
        assert np.abs(many.q.values[:, -1] - short.q.values[:, -1]).max() < 5e-6
        for i in range(0, COUNT, 3):
            one = fa.simulate(model.at(more["p"][i]), 0.6, q0=q, qd0=rates[i], solver=solver, samples=2, progress=False)
            assert int(many.evaluations[i]) == one.attrs["evaluations"]


def test_gradients_of_many_runs_contain_short_contacts():
    """The derivative of the last height by the first speed, against differences of runs with short steps."""
    model, more = thrown("wall"), given("wall", 7)
    run = {"model": model, "until": UNTIL, "method": "dop853", "rtol": 1e-9} | more
    found = fa.gradient(run, ["qd0"], of=lambda q: q[0])
    assert np.abs(found.value - short_steps(model, more)).max() < 2e-6
    for i in range(0, COUNT, 5):
        one = fa.gradient(run | {name: more[name][i] for name in more}, ["qd0"], of=lambda q: q[0])
        assert found.value[i] == pytest.approx(one.value, rel=1e-12)
        assert found["qd0"][i] == pytest.approx(one["qd0"], rel=1e-9)


@pytest.fixture
def played(monkeypatch):
    """This processor in the part of a graphics processor."""
    host = HostGpu()
    monkeypatch.setattr(cuda, "device", lambda: host)
    return host


@pytest.mark.parametrize(("kind", "method"), [("stop", "dop853"), ("wall", "rk45"), ("winch", "radau5")])
def test_runs_on_a_graphics_processor_find_contacts(kind, method, played, monkeypatch):
    """The contacts of the batches above, in one launch and in many short ones."""
    model, more = thrown(kind), given(kind, 3)
    short, options = short_steps(model, more), {"device": "gpu", "samples": 4, "progress": False}
    options["solver"] = fa.Solver(method=method, rtol=1e-9)
    whole = fa.simulate_many(model, UNTIL, **more, **options)
    assert np.abs(whole.q.values[:, -1, 0] - short).max() < 2e-6
    once = len(played.launched)
    monkeypatch.setattr(gpu, "WORK", 1.0)
    pieces = fa.simulate_many(model, UNTIL, **more, **options)
    assert len(played.launched) > 2 * once
    np.testing.assert_array_equal(pieces.q, whole.q)


def test_contacts_in_numbers_of_32_bits(played):
    """The smallest tolerance of such numbers, whose rounding is a tenth of the shortest flight beyond the stop."""
    model, more = thrown("stop"), given("stop", 3)
    options = {"solver": fa.Solver(method="rk45", rtol=1e-5), "samples": 2, "progress": False}
    found = fa.simulate_many(model, UNTIL, **more, device="gpu", real="float", **options)
    assert played.launched
    assert set(found.status.values) == {"completed"}
    assert np.abs(found.q.values[:, -1, 0] - short_steps(model, more)).max() < 2e-3
