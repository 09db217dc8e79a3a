"""Exported controllers in real time against their simulated arms; no assertion depends on the speed of the machine."""

import json
import time

import numpy as np
import pytest
from boards import SAFE, Compiled
from command_line import caller
from compiled import CC

import flexarm as fa
from flexarm.control import JointPD, Sampled
from flexarm.errors import DescriptionError, FlexarmError
from flexarm.exports.controller.library import board
from flexarm.exports.fmu import build
from flexarm.hardware import realtime

pytestmark = pytest.mark.skipif(CC is None, reason="no C compiler")
T = 0.01
SLEW = fa.Quintic(start=[0.1, 0.0], end=[0.5, -0.3], duration=0.2)
PD = Sampled(JointPD(SLEW, Kp=[9.0, 7.0], Kd=[3.0, 2.0]), T)


@pytest.fixture(scope="module")
def model():
    return fa.Model(fa.load("rigid-two-link"))


def test_the_outputs_are_those_of_the_controller_for_the_readings_of_the_arm(model, tmp_path):
    """Up to the first sample that the machine was too busy for; usually all of them."""
    found = fa.run_in_real_time(PD, model, until=0.25, misses=5)
    result, y = found.result, np.hstack([found.result.q.values, found.result.qd.values])
    good = np.cumprod((result.status.values == 0) & np.isfinite(result.latency.values)).astype(bool)
    compiled = Compiled(board(PD, model, misses=5), tmp_path)
    expected = np.array([compiled.step(row, k * T)[0] for k, row in enumerate(y)])
    np.testing.assert_allclose(result.u.values[good], expected[good], rtol=1e-12, atol=1e-14)
    assert found.samples == 25 and found.missed == np.isnan(result.latency.values).sum()
    assert found.safe == ((result.status.values & SAFE) > 0).sum()
    assert y[0].tolist() == [0.1, 0.0, 0.0, 0.0]  # on the reference
    if good.all():
        run = fa.simulate(model, until=0.24, u=PD, samples=25, progress=False)
        np.testing.assert_allclose(result.q.values, run.q.values, rtol=0, atol=1e-6)


def test_a_controller_that_ends_misses_all_deadlines(model, monkeypatch):
    """The arm keeps its inputs, zero at the start, and falls as it does alone."""
    monkeypatch.setattr(realtime, "PROGRAM", realtime.PROGRAM.replace("idle < IDLE", "idle < 0"))
    found = fa.run_in_real_time(PD, model, until=0.1, q0=[0.3, 0.2], qd0=[1.0, 0.5])
    assert (found.missed, found.safe, found.samples) == (10, 0, 10)
    assert "missed deadlines: 10 (100 %); no outputs arrived" in repr(found)
    run = fa.simulate(model, until=0.09, q0=[0.3, 0.2], qd0=[1.0, 0.5], samples=10, progress=False)
    np.testing.assert_allclose(found.result.q.values, run.q.values, rtol=0, atol=1e-6)
    assert found.report()["latency_median"] is None


def test_a_program_of_the_arm_that_is_late_counts_as_an_overrun_and_not_as_a_miss(model, monkeypatch):
    """The clock of the run waits, and the controller's watchdog sees the gap."""

    class Slow:
        def __init__(self, *given, **more):
            self._plant, self._steps = fa.Stepper(*given, **more), 0

        state = property(lambda self: self._plant.state)
        reset = property(lambda self: self._plant.reset)

        def step(self, u):
            self._steps += 1
            if self._steps == 5:
                time.sleep(20 * T)
            return self._plant.step(u)

    monkeypatch.setattr(realtime, "Stepper", Slow)
    found = fa.run_in_real_time(PD, model, until=0.1, misses=0)
    assert found.overruns >= 1 and found.slipped >= 18 * T and found.safe >= 1
    assert found.result.late.values.max() >= 18 * T


def test_a_program_that_does_not_start_or_compile_is_an_error(model, monkeypatch):
    text = realtime.PROGRAM
    monkeypatch.setattr(realtime, "PROGRAM", text.replace("if (count != 2)", "if (count == 2)"))
    with pytest.raises(FlexarmError, match=r"^run_in_real_time: the controller's program did not start$"):
        fa.run_in_real_time(PD, model, until=0.1)
    monkeypatch.setattr(realtime, "PROGRAM", text.replace("return 0;", "return nothing;"))
    with pytest.raises(FlexarmError, match=r"^run_in_real_time: .*cc failed: .*nothing"):
        fa.run_in_real_time(PD, model, until=0.1)


def test_what_is_missing_is_an_error_before_anything_runs(model, monkeypatch):
    for given, message in (
        ((PD, model), "until is missing; give the end of the run in seconds"),
        ((PD,), "model is missing; give the Model of the arm, which a Sampled does not have"),
    ):
        with pytest.raises(DescriptionError, match=f"^run_in_real_time: {message}$"):
            fa.run_in_real_time(*given)
    with pytest.raises(DescriptionError, match=r"until is -1.0 s; it must be positive"):
        fa.run_in_real_time(PD, model, until=-1.0)
    with pytest.raises(DescriptionError, match=r"^run_in_real_time: until is 1e\+09 s, .* at most 10000000$"):
        fa.run_in_real_time(PD, model, until=1e9)
    with pytest.raises(DescriptionError, match=r"^run_in_real_time: misses is -1; it must be a whole number"):
        fa.run_in_real_time(PD, model, until=0.1, misses=-1)
    monkeypatch.setattr(build, "COMPILERS", ("no-such-cc",))
    with pytest.raises(DescriptionError, match="no C compiler is installed; install no-such-cc"):
        fa.run_in_real_time(PD, model, until=0.1)


def test_the_command_runs_a_scenario(monkeypatch, capsys):
    call = caller(monkeypatch, capsys)
    said = call("realtime", "subudhi-morris-elastic-shaped", "--until", "0.05").out
    assert said.startswith("50 samples every 1 ms in real time\nmissed deadlines: ")
    found = json.loads(call("realtime", "satellite-pd", "--until", "0.1", "--period", "0.02", "--json").out)
    assert found["samples"] == 5 and 0 <= found["missed"] <= 5
    assert {*found["units"]} == {"period", "latency_median", "latency_largest", "late_largest", "slipped"}
    ended = call("realtime", "satellite-pd", "--until", "0.1")
    assert ended.status == 2 and "the controller is continuous; give a sampling period" in ended.err
