"""Predictive control in a run without calls from Python: the same numbers, counts, warnings and errors."""

import ctypes
import warnings
from dataclasses import dataclass, replace
from time import perf_counter
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import flexarm as fa
from flexarm.control import Observed, Predictive, Sampled, estimated, predictive_loop, predictive_steps
from flexarm.estimation import EKF
from flexarm.simulation import integration
from flexarm.simulation.stepper import Stepper

T = 0.02
WEAK = {"Q": [30.0, 10.0, 10.0, 1.0, 0.1, 0.1], "R": 0.5}
SWING = fa.Quintic((0.0,), (0.5,), 0.4)
PUSHED = {"q0": [0.4, 0.0, 0.0], "qd0": [-3.0, 0.0, 0.0]}
HARD = {"limit": 1.5, "outputs": [fa.Encoder(coordinate="beam.drive")], "bounds": 0.3, "penalty": None, "horizon": 15}
SEEN = [fa.Encoder(coordinate="beam.drive", noise=1e-4), fa.StrainGauge(link="beam", noise=2e-3)]


@pytest.fixture(scope="module")
def beam():
    """A hub and a beam with two modes."""
    body = fa.Beam(length=1.0, mass=0.3, EI=8.0, modes={"y": 2}, damping=0.005)
    link = fa.Link(name="beam", joint=fa.Revolute(axis=(0, 0, 1), rotor_inertia=0.05), body=body)
    return fa.Model(fa.Arm(name="beam", links=[link], payload=fa.Payload(mass=0.1)))


@dataclass(frozen=True)
class InPython:
    """The same controller without its native sample."""

    design: Any

    sensors = property(lambda self: self.design.sensors)
    wanted = property(lambda self: self.design.wanted)
    start = property(lambda self: self.design.start)

    def delayed(self, delay):
        return InPython(self.design.delayed(delay))

    def stepper(self, model, period):
        made = self.design.stepper(model, period)
        assert made.native is not None

        def step(t, y):
            return made(t, y)

        step.report = made.report
        return step


def run(model, u, **given):
    """The result, or the error, and the warnings."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        try:
            solver = fa.Solver(method="rk4", step=T / 4)
            result = fa.simulate(model, 80 * T, u=u, samples=81, solver=solver, progress=False, **given)
        except fa.FlexarmError as error:
            result = error
    return result, [str(each.message) for each in found]


def counts(result):
    """Attributes that are no times."""
    return {k: v for k, v in result.attrs.items() if k.startswith("predictive") and "seconds" not in k}


FEW = {"limit": 1.5, "rate_limit": 60.0, "deflection": 0.004, "horizon": 30, "operations": 120_000}
CASES = {
    "motion": (Predictive(SWING, limit=2.0, deflection=0.006, horizon=20, **WEAK), {}, {}, 0),
    "late": (Predictive(SWING, limit=2.0, rate_limit=60.0, horizon=20, **WEAK), {"delay": 2 * T}, {}, 0),
    "long steps": (Predictive(0.4, limit=0.3, horizon=[1] * 5 + [4] * 5, **WEAK), {}, {}, 0),
    "few operations": (Predictive(0.0, **FEW, **WEAK), {}, PUSHED, 1),
    "no solution, plan": (Predictive(0.0, **HARD, **WEAK), {}, PUSHED, 1),
    "no solution, LQR": (Predictive(0.0, otherwise="lqr", **HARD, **WEAK), {"delay": T}, PUSHED, 1),
    "no solution, error": (Predictive(0.0, otherwise="raise", **HARD, **WEAK), {}, PUSHED, 1),
}


@pytest.mark.parametrize("name", CASES)
def test_a_run_has_the_numbers_and_the_reports_of_calls_from_python(name, beam, monkeypatch):
    """To the last bit. Python only reports the first step without a solution."""
    given, sampling, start, reports = CASES[name]
    known, warned = run(beam, Sampled(InPython(given), T, **sampling), **start)
    called, call = [], predictive_steps.Steps.__call__
    monkeypatch.setattr(predictive_steps.Steps, "__call__", lambda *more: called.append(more[1]) or call(*more))
    found, told = run(beam, Sampled(given, T, **sampling), **start)
    assert told == warned and len(called) == reports
    monkeypatch.setattr(integration, "MOST_AHEAD", 7)
    parts, told = run(beam, Sampled(given, T, **sampling), **start)
    assert told == warned
    if isinstance(known, fa.FlexarmError):
        assert "error" in name and str(found) == str(parts) == str(known)
        return
    for each in (found, parts):
        assert counts(each) == counts(known)
        for signal in ("q", "qd", "u"):
            np.testing.assert_array_equal(each[signal].values, known[signal].values)
        median, slow = (each.attrs[f"predictive_step_seconds_{x}"] for x in ("median", "99_percent"))
        assert 0 < median <= slow < each.attrs["solve_seconds"]
    assert found.attrs["predictive_steps"] == 80 and found.attrs["predictive_programs"] > 3
    assert (found.attrs["predictive_failed"] > 1) == bool(reports)
    found = counts(found)
    assert found["predictive_programs"] == found["predictive_active"] + found["predictive_failed"]
    if "few" in name:
        assert 0 < found["predictive_recovered"] and 0 < found["predictive_excess"] < np.inf


@pytest.mark.parametrize(("bounds", "otherwise"), [(0.7, "plan"), (0.3, "plan"), (0.3, "raise")])
def test_on_estimates_python_only_reports(bounds, otherwise, beam, monkeypatch):
    """With and without steps that have no solution."""
    given = Predictive(0.0, **(HARD | {"bounds": bounds}), otherwise=otherwise, **WEAK)
    observed = Observed(given, SEEN, estimator=EKF(process=0.05, unmodelled=0.2, deviation=1.0))
    loop, start = Sampled(observed, T, delay=T, seed=3), {"q0": [0.4, 0.0, 0.0], "qd0": [-1.0, 0.0, 0.0]}
    with monkeypatch.context() as patch:
        patch.setattr(predictive_steps.Steps, "native", property(lambda self: None))
        known, warned = run(beam, loop, **start)
    called, call = [], estimated.Steps.__call__
    monkeypatch.setattr(estimated.Steps, "__call__", lambda *more: called.append(more[1]) or call(*more))
    found, told = run(beam, loop, **start)
    assert told == warned and len(called) == (bounds < 0.5)
    assert isinstance(found, fa.FlexarmError) == (otherwise == "raise")
    if otherwise == "raise":
        assert str(found) == str(known) and "no solution within the limits" in str(found)
        return
    assert counts(found) == counts(known) and (found.attrs["predictive_failed"] > 0) == (bounds < 0.5)
    for signal in ("q", "qd", "u"):
        np.testing.assert_array_equal(found[signal].values, known[signal].values)


def test_the_excess_of_a_recovered_plan_is_a_share_of_the_optimum_of_its_sample(beam):
    """Along a motion, where each sample has another optimum."""
    steps = Predictive(SWING, **FEW, **WEAK).stepper(beam, T)
    x, wanted, record = np.array([0.3, 0.0, 0.0, -2.0, 0.0, 0.0]), [], steps._recursions.record
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fa.errors.NotReached)
        for k in range(12):
            steps(k * T, x * 0.9**k)
            if steps.along.recovered:
                x0, P = steps._recursions.x0, steps.course.best.P[min(k, len(steps.course.r) - 1)]
                wanted.append(steps.along.excess / (record.bound + x0 @ P @ x0 / 2.0))
    assert len(wanted) > 3 and np.argmax(wanted) > 0
    assert steps.report()["predictive_excess"] == pytest.approx(max(wanted), rel=1e-12)


def test_only_a_call_at_the_time_and_the_state_of_the_last_one_repeats_it(beam):
    steps = Predictive(0.0, limit=0.5, rate_limit=3.0, horizon=10, **WEAK).stepper(beam, T)
    x = np.array([-0.2, 0.0, 0.0, 0.1, 0.0, 0.0])
    found = [steps(t, y)[0] for t, y in ((0.0, x), (0.0, x), (0.0, -x), (T, -x), (T, -x))]
    assert found[0] == found[1] > found[2] > found[3] == found[4]
    assert steps.report()["predictive_steps"] == 3


def test_a_model_with_another_order_of_coordinates_is_read_at_its_places(beam):
    """The design has one mode, and the arm two."""
    arm = beam.arm
    link = arm.links[0]
    nominal = fa.Model(arm.replace(links=[link.replace(body=link.body.replace(modes={"y": 1}))]))
    given = Predictive(SWING, limit=2.0, horizon=20, nominal=nominal, Q=[30.0, 10.0, 1.0, 0.1], R=0.5)
    (known, _), (found, _) = (run(beam, Sampled(each, T)) for each in (InPython(given), given))
    np.testing.assert_array_equal(found.u.values, known.u.values)
    plant = Stepper(beam, T, np.zeros(3), np.zeros(3), method="rk4", step=T / 4)
    steps = given.stepper(beam, T)
    u = np.array([plant.step(steps(k * T, plant.state)) is not None and steps.along.to[0] for k in range(80)])
    np.testing.assert_allclose(found.u.values[:80, 0], u, rtol=0, atol=1e-9)


def test_other_predictions_have_no_native_sample(beam):
    given = Predictive(SWING, limit=2.0, horizon=20, **WEAK)
    for each in (replace(given, about="state"), replace(given, solver="daqp"), replace(given, horizon=[1, 3])):
        assert each.stepper(beam, T).native is None


def test_times_of_long_runs_are_those_of_samples_at_equal_distances(monkeypatch):
    """In Python: the same function that is translated."""
    monkeypatch.setattr(predictive_loop, "TIMES", 8)
    loop = SimpleNamespace(samples=0, seconds=np.zeros(8), stored=0, apart=1)
    for k in range(100):
        loop.samples += 1
        predictive_loop.timed(loop, float(k))
        assert loop.seconds[: loop.stored].tolist() == list(range(0, k + 1, loop.apart))
    assert loop.apart == 16


def test_the_clock_of_native_code_is_that_of_the_system(beam):
    """It advances by the time that Python measures."""
    loop = Predictive(0.0, limit=0.5, horizon=10, **WEAK).stepper(beam, T).loop
    clock = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64)(loop.clock)

    def now():
        clock(loop.clock_a, loop.clock_b)
        return loop.now[0] * loop.unit + loop.now[1] * loop.more

    times = [perf_counter(), now(), perf_counter()]
    while perf_counter() < times[-1] + 1e-3:
        pass
    times += [perf_counter(), now(), perf_counter()]
    assert times[3] - times[2] <= times[4] - times[1] + 1e-6
    assert times[4] - times[1] <= times[5] - times[0] + 1e-6
