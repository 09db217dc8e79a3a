"""Loops with a filter in native code, beside loops that Python drives, and the filter and the law by themselves."""

import ctypes
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np
import pytest
from free_arms import bus
from random_arms import random_arm

import flexarm as fa
from flexarm.control import DesignedFor, DisturbanceObserver, Integral, JointPD, Observed, Sampled, estimated
from flexarm.estimation import EKF, UKF, MovingHorizon
from flexarm.native.functions import translated
from flexarm.sensors import Accelerometer, Encoder, Gyroscope, StarTracker, StrainGauge, Tachometer
from flexarm.simulation import integration, stepped, watch
from flexarm.simulation.sampled_calls import SampledCalls

PERIOD = 2e-3
SIGNALS = ["measured", "estimate", "deviation", "innovation", "nis", "command"]


@dataclass(frozen=True)
class InPython:
    """The same controller without its native sample. It keeps the inputs that reach the arm."""

    design: Any
    inputs: list

    sensors = property(lambda self: self.design.sensors)
    wanted = property(lambda self: self.design.wanted)

    def shows(self, model):
        return self.design.shows(model)

    def stepper(self, model, period):
        made = self.design.stepper(model, period)

        def step(t, y):
            u = made(t, y)
            step.shown = made.shown
            return u

        def applied(u):
            made.applied(u)
            self.inputs.append(u.copy())

        step.applied, step.shown = applied, made.shown
        return step


@dataclass(frozen=True)
class Case:
    """A model that runs, the model of the design, sensors, an estimator, and how the loop is sampled."""

    real: fa.Model
    nominal: fa.Model
    sensors: list
    estimator: Any
    controller: Any
    sampling: dict
    given: dict

    def run(self, controller=None, samples=61):
        law = DesignedFor(Observed(self.controller, self.sensors, estimator=self.estimator), self.nominal)
        u = Sampled(controller or law, PERIOD, seed=5, **self.sampling)
        return fa.simulate(
            self.real, 60 * PERIOD, u=u, save=fa.SaveAt(record=SIGNALS), samples=samples, progress=False, **self.given
        )

    @property
    def design(self):
        law = Observed(self.controller, self.sensors, estimator=self.estimator)
        return law.in_python(self.nominal, PERIOD)


def elastic(seed, kind):
    """Two links on elastic joints with gravity, of which an accelerometer and gauges are read with a resolution."""
    arm = random_arm(seed, links=2, elastic=True, payload=True)
    model = fa.Model(arm)
    moving = [name for name in model.coordinates if name.endswith((".motor", ".joint"))]
    sensors = [Encoder(coordinate=name, noise=1e-3, resolution=7e-4) for name in moving]
    sensors += [Tachometer(coordinate=name, noise=2e-2) for name in model.inputs if name in model.coordinates]
    sensors += [StrainGauge(link=x.name, resolution=3e-5) for x in arm.links if x.body.type == "beam"]
    sensors += [Accelerometer(link="link2", axes="y", noise=0.4, resolution=0.3)]
    m = len(model.inputs)
    slew = fa.Quintic([0.0] * m, [0.3] * m, 0.1)
    estimator = kind(deviation=0.05, disturbances={model.inputs[0]: 0.4}, step=2e-3)
    sampling = {"limit": 1.3, "rate_limit": 300.0, "delay": 2 * PERIOD}
    return Case(model, model, sensors, estimator, Integral(JointPD(slew, 3.0, 0.4), 2.0), sampling, {})


def varied(kind):
    """An arm with parameters, of which one is estimated and another has another value in the run."""
    arm = fa.load("subudhi-morris")
    model = fa.Model(arm, vary=["payload.mass", "fore.EI"])
    sensors = [Encoder(coordinate=f"{link}.joint", noise=2e-4) for link in ("upper", "fore")]
    sensors += [StrainGauge(link="fore", noise=1e-4)]
    estimator = kind(parameters={"payload.mass": 0.05}, drift={"payload.mass": 0.01})
    slew = fa.Quintic((0.0, 0.0), (0.3, -0.2), 0.1)
    given = {"p": {"payload.mass": 0.14, "fore.EI": 1.1 * model.p[1]}}
    controller = DisturbanceObserver(JointPD(slew, 5.0, 1.0), 4.0)
    return Case(model, model, sensors, estimator, controller, {"limit": 0.3, "delay": PERIOD}, given)


def adrift(kind):
    """A free base with panels and an arm, whose attitude is measured."""
    model = fa.Model(bus())
    sensors = [StarTracker(noise=1e-3), Gyroscope(link="base", noise=5e-3)]
    sensors += [Encoder(coordinate=name, noise=1e-3) for name in model.inputs if name in model.coordinates]
    sensors += [fa.TipPosition(link="base", noise=2e-3)]
    goal = [0.2] * len(model.arm.driven)
    estimator = kind(deviation=0.03, unmodelled=0.1, step=PERIOD)
    slew = fa.Quintic([0.0] * len(goal), goal, 0.1)
    return Case(model, model, sensors, estimator, JointPD(slew, 4.0, 2.0), {"delay": PERIOD}, {})


CASES = {
    "elastic joints, EKF": lambda: elastic(3, EKF),
    "elastic joints, moving horizon": lambda: elastic(11, lambda **more: MovingHorizon(horizon=3, **more)),
    "parameters, UKF": lambda: varied(UKF),
    "free base, EKF": lambda: adrift(EKF),
}


ADVANCE = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_double, *[ctypes.c_void_p] * 2, ctypes.c_int64, *[ctypes.c_void_p] * 2
)


def interrupted(ahead):
    """Native code whose solver fails after four intervals, so that Python repeats the fifth sample."""

    def part(self, plan, solver, rows, edges, x):
        call, count = ADVANCE(solver.code), []

        @ADVANCE
        def fails(*given):
            count.append(given)
            call(*given)
            if len(count) > 4:
                ctypes.cast(given[-1], ctypes.POINTER(ctypes.c_int64))[0] = 0

        code = ctypes.cast(fails, ctypes.c_void_p).value
        found = ahead(self, plan, replace(solver, code=code), rows, edges, x)
        assert found[0] == min(4, len(edges) - 1)
        return found

    return part


def commands(law, run, inputs, x):
    """The commands (k, m) of a law on estimates x (k, nq + nv), whose memory follows the inputs that reach the arm."""
    z, after, found = ca.DM(law.memory), None, []
    for k, each in enumerate(x):
        if after is not None:
            z = ca.evalf(ca.SX(after(ca.DM(inputs[k]))))
        u, after = law(float(run.time[k]), ca.DM(each[: len(each) // 2]), ca.DM(each[len(each) // 2 :]), z)
        found.append(np.array(ca.evalf(ca.SX(u))).ravel())
    return np.array(found)


@pytest.mark.parametrize("name", CASES)
def test_a_native_loop_is_the_loop_of_python(name, monkeypatch):
    """Also in pieces of seven samples, and if Python repeats or takes some of the samples."""
    case, inputs = CASES[name](), []
    by_python = case.run(InPython(case.design, inputs))
    calls, call = [], estimated.Steps.__call__
    monkeypatch.setattr(estimated.Steps, "__call__", lambda *given: calls.append(given[1]) or call(*given))
    runs = [case.run()]
    monkeypatch.setattr(integration, "MOST_AHEAD", 7)
    runs.append(case.run())
    assert calls == []
    monkeypatch.setattr(SampledCalls, "ahead", interrupted(SampledCalls.ahead))
    runs.append(case.run())
    assert 8 <= len(calls) < 20
    for each in runs:
        for signal in ("q", "qd", "u", *SIGNALS):
            a, b = each[signal].values, by_python[signal].values
            assert np.abs(a - b).max() <= 1e-12 * (1e-3 + np.abs(b).max()), signal
    # the filter and the law by themselves
    running = case.estimator.begin(case.nominal, case.sensors, PERIOD, *case.design.start)
    for k in range(60):
        running.sample(by_python.measured.values[k], inputs[k], k > 0)
        for signal in ("estimate", "deviation", "innovation", "nis"):
            wanted = getattr(running, signal)
            assert by_python[signal].values[k].ravel() == pytest.approx(wanted, rel=1e-11, abs=1e-13), (k, signal)
    if not case.nominal.arm.free:
        x = by_python.estimate.values[:60, : case.nominal.nq + case.nominal.nv]
        law = case.controller.law(case.nominal, PERIOD)
        assert by_python.command.values[:60] == pytest.approx(commands(law, by_python, inputs, x), rel=1e-10, abs=1e-12)


def test_a_call_at_the_same_time_repeats_a_sample():
    """The estimate, the torque and the law's memory are those of one call."""
    case, rng = varied(EKF), np.random.default_rng(2)
    law = Observed(Integral(case.controller, 3.0), case.sensors, estimator=case.estimator)
    once, twice = (law.in_python(case.nominal, PERIOD).stepper(case.nominal, PERIOD) for _ in range(2))
    for k in range(12):
        y, applied = 1e-3 * rng.normal(size=3), 0.1 * rng.normal(size=2)
        found = []
        for made in (once, twice, twice):
            made.applied(applied)
            found.append((*made(k * PERIOD, y), *made.shown))
        assert found[0] == found[1] == found[2] and np.abs(found[0][:2]).min() > 0.0


def test_readings_of_native_code_are_those_of_python():
    """Noise, resolution, and values that rounding leaves as they are."""
    model = fa.Model(fa.load("subudhi-morris-elastic"))
    sensors = [Encoder(coordinate=model.coordinates[0], noise=0.3), StrainGauge(link="fore", resolution=0.02)]
    sensors += [Encoder(coordinate=model.coordinates[1], noise=0.4, resolution=0.7), fa.TipPosition()]
    rng = np.random.default_rng(6)
    states = rng.normal(size=(40, 2 * model.nv))
    by_python, native = (stepped.Seen(sensors, model, PERIOD, np.random.default_rng(9)) for _ in range(2))
    record = native.placed(len(states))
    code = translated(stepped.read)
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p)(code.addresses["read"])
    for k, x in enumerate(states):
        call(record.address, k, x.ctypes.data)
        assert record.y.tolist() == by_python(x, np.zeros(len(model.inputs))).tolist()
    steps = record.y[1] / 0.02
    assert native.translates and steps == pytest.approx(round(steps), abs=1e-9)
    slow = Encoder(coordinate=model.coordinates[0], sample_time=2 * PERIOD)
    assert not stepped.Seen([slow], model, PERIOD, rng).translates
    for x in (*rng.normal(size=50), 3.0, -3.0, -0.25, 0.0, 1e15 + 0.5, -(2.0**60), np.inf, -np.inf, np.nan):
        assert np.array_equal(stepped.floor(float(x)), np.floor(x), equal_nan=True)


def test_a_run_with_a_filter_looks_at_ctrl_c_after_few_samples(monkeypatch):
    """Samples of a filter may take much longer than the steps between them."""
    monkeypatch.setattr(watch, "INTERVAL", 0.0)  # each call takes place after the smallest number of evaluations
    case, times = varied(EKF), []
    law = Observed(case.controller, case.sensors, estimator=case.estimator)
    u, solver = Sampled(law, PERIOD), fa.Solver(method="rk4", step=PERIOD)
    fa.simulate(case.real, 60 * PERIOD, u=u, solver=solver, samples=2, progress=times.append)
    assert 0.0 < times[0] < 10 * PERIOD
