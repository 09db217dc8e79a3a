"""Closed loops of many runs at once: each run is that of `simulate`, whatever stands beside it."""

import re

import numpy as np
import pytest
from loops import assembled, closing, four_bar, four_bars, moving
from oracle import Lagrangian
from random_arms import random_state
from random_trees import random_tree

import flexarm as fa
from flexarm.simulation import ensemble_runs

COUNT = 11
"""Runs: more than the lanes of a machine's vectors, and no multiple of them."""
US = np.random.default_rng(4).uniform(-2.0, 2.0, (COUNT, 3)) * [1, 0, 0]


@pytest.fixture(scope="module")
def flexible():
    arm = four_bar(flexible=True)
    return fa.Model(arm), *assembled(arm)


@pytest.fixture(scope="module")
def varied(flexible):
    """The linkage with lengths and masses of each run, and a start that fits each."""
    model, q, _ = flexible
    model = fa.Model(model.arm, vary=["rocker.mass", "rocker.length"])
    p = np.linspace([1.7, 0.6], [2.6, 0.7], COUNT)
    return model, p, np.array([fa.assemble(model.arm_at({"rocker.mass": m, "rocker.length": L}), q) for m, L in p])


@pytest.fixture
def abreast(monkeypatch):
    """Runs in SIMD batches or not at all."""

    def alone(*given):
        raise AssertionError("a run is computed alone")

    monkeypatch.setattr(ensemble_runs, "Alone", alone)


def same(many, i, one):
    for name in ("q", "qd"):
        assert np.array_equal(many[name].values[i], one[name].values)
    assert int(many.steps.values[i]) == one.attrs["steps"]


@pytest.mark.parametrize(("method", "step"), [("dop853", None), ("rk45", None), ("tsit5", None), ("rk4", 1e-3)])
def test_a_batch_has_the_runs_of_simulate_to_the_last_bit(method, step, flexible, abreast):
    """The times of the result lie within steps, where the states are interpolated, and at ends of steps."""
    model, q, qd = flexible
    solver = fa.Solver(method=method, step=step, rtol=1e-7)
    rates = np.outer(np.linspace(-1.0, 1.0, COUNT), qd)
    many = fa.simulate_many(model, 0.4, US, [q] * COUNT, rates, solver=solver, samples=31, progress=False)
    gaps, opening = (abs(x) for x in model.closure_gaps(many.q.values, many.qd.values))
    assert gaps.max() < 1e-12 and opening.max() < 1e-9
    for i in (0, 4, 7, 10):
        same(many, i, fa.simulate(model, 0.4, US[i], q, rates[i], solver=solver, samples=31, progress=False))


def test_batches_of_loops_in_space_on_a_free_base(abreast):
    tree = random_tree(9, links=4, free=True, rigid=True, elastic=False)
    q, qd, u = random_state(tree, 9)
    arm = closing(tree, q, "universal", 5)
    model, rates = fa.Model(arm), moving(arm, q, qd, Lagrangian(arm))
    starts, us = np.outer(np.linspace(-0.3, 0.3, COUNT), rates), np.outer(np.linspace(0.2, 1.0, COUNT), u)
    many = fa.simulate_many(model, 0.1, us, [q] * COUNT, starts, method="dop853", samples=9, progress=False)
    for i in (1, 9):
        same(many, i, fa.simulate(model, 0.1, us[i], q, starts[i], method="dop853", samples=9, progress=False))


def test_each_run_of_a_batch_has_the_closures_of_its_parameters(varied, abreast):
    model, p, starts = varied
    more = {"method": "dop853", "rtol": 1e-8, "samples": 7, "progress": False}
    many = fa.simulate_many(model, 0.3, US, starts, p=p, **more)
    for i in (0, 3, 8, 10):
        same(many, i, fa.simulate(model, 0.3, US[i], starts[i], p=p[i], **more))
        assert np.abs(model.at(p[i]).closure_gaps(many.q.values[i, -1])[0]).max() < 1e-13


def test_sampled_laws_in_batches_keep_it_closed(varied, abreast):
    model, p, starts = varied
    held = fa.control.Sampled(fa.control.JointPD([1.1, 0, 0], Kp=[50, 0, 0], Kd=[9, 0, 0]), 0.002)
    more = {"method": "dop853", "samples": 7, "progress": False}
    many = fa.simulate_many(model, 0.1, held, starts, p=p, **more)
    for i in (0, 9):
        one = fa.simulate(model, 0.1, held, starts[i], p=p[i], **more)
        assert np.array_equal(many.q.values[i], one.q.values)


SWAY = {"rocker.drive": lambda t: np.sin(9.0 * t)}


@pytest.mark.parametrize(("method", "load"), [("dop853", None), ("radau9", None), ("dop853", SWAY)])
def test_plants_of_a_stepper_have_the_closures_of_their_parameters(method, load, varied):
    """In SIMD batches, one by one, and from Python, as under a load that changes within a period."""
    model, p, starts = varied
    more = {"method": method, "rtol": 1e-9, "disturbance": load}
    plants = fa.Stepper(model, 0.01, starts, p=p, **more)
    for _ in range(20):
        x = plants.step(US)
    for i in (0, 3, 10):
        one = fa.simulate(model, 0.2, US[i], starts[i], p=p[i], samples=2, progress=False, **more)
        assert x[i] == pytest.approx(np.concatenate([one.q.values[-1], one.qd.values[-1]]), abs=1e-7)
        assert np.abs(model.at(p[i]).closure_gaps(x[i, :5])[0]).max() < 1e-13


def test_a_plant_with_other_parameters_starts_on_their_closures(varied):
    model, p, starts = varied
    plants = fa.Stepper(model, 0.01, starts, p=p)
    assert plants.reset(p=p[::-1])[:, :5] == pytest.approx(starts[::-1], abs=0.02)
    gaps = [model.at(each).closure_gaps(x[:5])[0] for each, x in zip(p[::-1], plants.state, strict=True)]
    assert np.abs(gaps).max() < 1e-13
    (alone,) = np.atleast_2d(fa.Stepper(model, 0.01, p=p[3]).state)  # assembled for its own parameters
    assert np.abs(model.at(p[3]).closure_gaps(alone[:5])[0]).max() < 1e-13
    plants.reset(starts[0], p=p[0], where=[2])
    assert np.array_equal(plants.p[2], p[0]) and plants.state[2, :5] == pytest.approx(starts[0], abs=1e-12)
    with pytest.raises(fa.DescriptionError, match=r"Stepper: q0 does not .* at closure 'pin' in row 1: use fa\.assem"):
        plants.reset(starts[:2], p=p[[0, 10]], where=[0, 1])


def test_the_row_of_a_start_that_does_not_fit_is_named(varied):
    model, p, starts = varied
    wrong = starts.copy()
    wrong[6, 0] += 0.1
    with pytest.raises(fa.DescriptionError, match=r"simulate_many: q0 does not .*'pin' in row 6: use fa\.assemble"):
        fa.simulate_many(model, 0.1, q0=wrong, p=p, progress=False)
    found = fa.simulate_many(model, 0.02, p=p, samples=2, progress=False)  # assembled for each run
    gaps = [model.at(each).closure_gaps(q)[0] for each, q in zip(p, found.q.values[:, 0], strict=True)]
    assert np.abs(gaps).max() < 1e-12


def test_every_way_to_fail_names_the_rank_that_is_lost():
    """The run of `test_a_run_that_stops_at_a_flat_position_names_it`, in a batch, alone and in a stepper."""
    arm = four_bars(3)
    rates = np.array([-1.0 if name.startswith("c") else 1.0 for name in arm.velocities])
    lost = r"closures lose rank \(from 6 to 5; ratio of singular values"
    model, start = fa.Model(arm), {"q0": [0 * rates] * 2, "qd0": [rates, rates]}
    for method in ("dop853", "radau9"):
        many = fa.simulate_many(model, 8.0, **start, method=method, rtol=1e-11, samples=9, progress=False)
        assert [bool(re.search(lost, said)) for said in many.status.values] == [True, True], many.status.values
    for each in (start, {name: rows[0] for name, rows in start.items()}):
        plants = fa.Stepper(model, 8.0, **each, method="rk45", rtol=1e-13, atol=1e-15)
        with pytest.raises(fa.SimulationError, match=lost):
            plants.step(np.zeros(len(rates)))
