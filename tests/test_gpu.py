"""Programs and runs for graphics processors, without one: PTX as NVIDIA's assembler takes it and as it is computed line
by line, and the kernels' own LLVM IR, compiled for this processor and called thread by thread."""

import os
import re
import signal
import subprocess
import sys
import time
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import casadi as ca
import mpmath
import numpy as np
import pytest
from controlled import refused
from driven_loops import at, four_bar
from fake_cuda import FakeCuda
from host_gpu import HostGpu

import flexarm as fa
from benchmarks import chains
from benchmarks import gpu as benchmark
from flexarm.control import LQR, Integral, JointPD, Observed, Sampled, Sum, VoltageDrive
from flexarm.errors import InterruptedRun
from flexarm.native import cuda, lifted, nvptx, ptxas
from flexarm.native.exponential import powers
from flexarm.native.program import instructions
from flexarm.native.translate import ir_of
from flexarm.simulation import divergence, ensemble, gpu, gpu_loops, gpu_states, lanes, lanes_sampled
from flexarm.simulation.butcher import METHODS
from flexarm.simulation.feedback import continuous, integrand
from flexarm.simulation.gpu_states import evaluate_on_gpu
from flexarm.simulation.layout import Layout

REALS = ("double", "float")
ROUNDING = {"double": 1e-12, "float": 1e-4}
"""Of the largest number of a quantity, after some hundred steps of an arm at some ten radians a second."""
GIVEN = {"method": "rk4", "solver": fa.Solver(step=1e-3), "samples": 6, "progress": False}
COUNT = 5


def told(part):
    """Refused in one line that has this part."""
    return refused(f".*({part}).*")


@pytest.fixture
def host(monkeypatch):
    """This processor in the part of the other."""
    played = HostGpu()
    monkeypatch.setattr(cuda, "device", lambda: played)
    return played


@pytest.fixture(scope="module")
def planar():
    return fa.Model(fa.load("subudhi-morris"))


@pytest.fixture(scope="module")
def varied():
    return fa.Model(fa.load("subudhi-morris"), vary=["payload.mass", "upper.EI"])


def begun(model, count=COUNT, seed=3):
    """Coordinates and rates somewhere, hardly bent, in motion."""
    rng = np.random.default_rng(seed)
    q = np.array(model.arm.rest) + 1e-3 * rng.normal(size=(count, model.nq))
    if model.arm.free:
        q[:, 3:7] /= np.linalg.norm(q[:, 3:7], axis=1)[:, None]
    return {"q0": q, "qd0": 1e-2 * rng.normal(size=(count, model.nv))}


def close(found, expected, real):
    """The same dataset, but for what a machine tells of itself and for rounding."""
    assert list(found.data_vars) == list(expected.data_vars)
    assert found.sizes == expected.sizes
    for name, x in expected.data_vars.items():
        y = found[name]
        assert y.dims == x.dims
        assert y.dtype.kind == x.dtype.kind
        if name in ("energy_error", "energy_drift", "momentum_drift", "angular_momentum_drift", "quaternion_drift"):
            assert np.abs(y - x).max() < ROUNDING[real] * (1.0 if "drift" in name else np.abs(expected.kinetic).max())
        elif name == "evaluations" and not METHODS[str(expected.method.values[0])].adaptive:
            # the rates at a step's end are those at the next one's beginning
            np.testing.assert_array_equal(y, METHODS[str(expected.method.values[0])].stages * expected.steps)
        elif x.dtype.kind == "f":
            np.testing.assert_array_equal(np.isnan(y), np.isnan(x))
            size = np.nanmax(np.abs(x), initial=0.0)
            assert np.nanmax(np.abs(y - x), initial=0.0) <= ROUNDING[real] * size, name
        else:
            np.testing.assert_array_equal(y, x)


# -- runs --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("real", REALS)
def test_runs_with_torques_of_their_own_are_those_of_the_processor(host, planar, real):
    u = 0.1 * np.random.default_rng(1).normal(size=(COUNT, 2))
    given = {**GIVEN, **begun(planar), "u": u}
    found = fa.simulate_many(planar, 0.05, device="gpu", real=real, **given)
    close(found, fa.simulate_many(planar, 0.05, **given), real)
    assert (found.attrs["device"], found.attrs["real"]) == (host.name, real)
    assert [each[:2] for each in host.launched if each[0] == "runs"] == [("runs", COUNT)]


def test_many_constant_inputs_are_not_made_into_inputs_one_by_one(host, planar, monkeypatch):
    """The same runs as with few, on both devices; also one by one."""
    u = 0.1 * np.random.default_rng(1).normal(size=(COUNT, 2))
    given = {**GIVEN, **begun(planar), "samples": 3, "u": u}
    few = fa.simulate_many(planar, 0.02, **given)
    monkeypatch.setattr(ensemble, "MANY", 3)
    for device in ("gpu", "cpu"):
        many = fa.simulate_many(planar, 0.02, device=device, **given)
        close(many.drop_vars("evaluations"), few.drop_vars("evaluations"), "double")
        assert many.attrs["input_description"] == "constant, one value for each run"
    np.testing.assert_array_equal(fa.simulate_many(planar, 0.02, **{**given, "method": "gauss4"}).u[:, 0], u)
    u[3, 1] = np.nan
    with told(r"u\[3\] contains NaN or infinity"):
        fa.simulate_many(planar, 0.02, **given)


@pytest.mark.parametrize("real", REALS)
def test_inputs_that_jump_bend_and_are_computed_with_parameters_a_run(host, varied, real):
    """Corners between times of the result, tables, a compiled function of time: three plans in one launch."""
    slew = fa.RigidInverseDynamics(fa.Quintic((0.0, 0.0), (0.02, 0.01), 0.03))
    table = fa.Table([0.0, 0.0123, 0.06], [[0.0, 0.1], [0.2, -0.1], [0.0, 0.0]])
    u = [fa.bang_bang([0.2, 0.1], duration=0.031), slew, table, fa.bang_bang([-0.1, 0.1], duration=0.017), slew]
    p = varied.p * np.random.default_rng(2).uniform(0.8, 1.2, (COUNT, 2))
    given = {**GIVEN, **begun(varied), "u": u, "p": p}
    found = fa.simulate_many(varied, 0.05, device="gpu", real=real, **given)
    close(found, fa.simulate_many(varied, 0.05, **given), real)
    assert host.launched, "nothing was computed there"


def slew(amplitude):
    return fa.Quintic((0.0, 0.0), (amplitude, -amplitude), 0.03)


PDS = [JointPD(slew(0.01 * (i + 1)), 50.0 + i, 0.2) for i in range(3)]
LAWS = {
    "gains and references of their own": [PDS[i] for i in (2, 0, 1, 0, 2)],
    "with memory": [Integral(JointPD(slew(0.02), 50.0, 0.2), 30.0 + i) for i in range(COUNT)],
    "accelerations": [fa.PrescribedMotion(slew(0.01 * (i + 1))) for i in range(COUNT)],
    "beside torques that jump": [
        Sum(JointPD(slew(0.02), 50.0 + i, 0.2), fa.bang_bang([0.2, 0.1], duration=0.0305)) for i in range(COUNT)
    ],
    "beside inputs that are held": [
        JointPD(slew(0.02), 50.0, 0.2),
        [0.1, 0.0],
        JointPD(slew(0.01), 40.0, 0.1),
        [0, 0.1],
        [0, 0],
    ],
}


@pytest.mark.parametrize("real", REALS)
@pytest.mark.parametrize("name", LAWS)
def test_controllers_that_work_all_the_time(host, planar, name, real):
    given = {**GIVEN, "u": LAWS[name], "solver": fa.Solver(step=5e-4)}
    if name != "accelerations":
        given |= begun(planar)
    found = fa.simulate_many(planar, 0.04, device="gpu", real=real, **given)
    close(found, fa.simulate_many(planar, 0.04, **given), real)
    assert host.launched


def test_a_jump_is_seen_from_the_left_in_floats_too():
    values = np.nextafter(np.array([0.1, 0.3, 2.0, 1e3]), -np.inf)
    found = gpu.below(values, np.dtype(np.float32))
    assert (found <= values).all() and (values - found < 1e-7 * values).all()
    np.testing.assert_array_equal(gpu.below(values, np.dtype(np.float64)), values)


def test_a_free_base_with_forces_from_outside(host):
    model = fa.Model(fa.load("canadarm-free"))
    given = {**GIVEN, **begun(model), "u": np.zeros(len(model.inputs)), "samples": 3}
    found = fa.simulate_many(model, 0.02, device="gpu", **given)
    close(found, fa.simulate_many(model, 0.02, **given), "double")


def test_runs_of_loops_stay_on_their_closures(host):
    """Each run with its own mass of the rocker, under torques and under a law."""
    arm = four_bar(flexible=True)
    model = fa.Model(arm, vary=["rocker.mass"])
    starts = [fa.assemble(arm, [crank, 0.2, 1.2, 0, 0], held=["crank.joint"]) for crank in (0.9, 1.1, 1.3)]
    given = {**GIVEN, "q0": starts, "p": {"rocker.mass": [1.2, 1.7, 2.2]}}
    for u in ([[3.0], [2.0], [1.0]], JointPD([1.0], Kp=40.0, Kd=4.0, gravity=False)):
        found = fa.simulate_many(model, 0.05, device="gpu", u=u, **given)
        close(found, fa.simulate_many(model, 0.05, u=u, **given), "double")
        gaps = model.closure_gaps(found.q.values[:, -1], found.qd.values[:, -1])
        assert np.abs(gaps).max() < 1e-11
    with told("device is 'gpu'; closures, as of arm 'four-bar', need real='double'"):
        fa.simulate_many(model, 0.05, device="gpu", real="float", u=[0.0], **given)


def test_drives_with_states_and_friction(host):
    """Exponentials and hyperbolic tangents of our own."""
    model = fa.Model(fa.load("industrial-arm"))
    given = {
        **GIVEN,
        **begun(model, 2),
        "u": np.full(len(model.inputs), 0.5),
        "samples": 3,
        "solver": fa.Solver(step=1e-4),
    }
    found = fa.simulate_many(model, 0.004, device="gpu", **given)
    close(found, fa.simulate_many(model, 0.004, **given), "double")


def test_a_launch_goes_on_where_the_last_one_stopped(host, planar, monkeypatch):
    """Few steps a launch, few times a window: the numbers are the same to the last bit."""
    given = {**GIVEN, **begun(planar), "u": fa.bang_bang([0.2, 0.1], duration=0.031), "device": "gpu"}
    whole = fa.simulate_many(planar, 0.05, **given)
    once = len(host.launched)
    operations = integrand(planar, "state_rate", 0).code.operations
    monkeypatch.setattr(gpu, "WORK", 7 * 3 * 4 * (operations + 1))
    monkeypatch.setattr(gpu, "WINDOW", 2 * 8 * 3 * Layout.of(planar).size)
    monkeypatch.setattr(gpu, "TOGETHER", 3)
    pieces = fa.simulate_many(planar, 0.05, **given)
    assert len(host.launched) - once > 11
    assert {threads for _, threads, _ in host.launched[once:]} == {3, 2}
    for name, x in whole.data_vars.items():
        np.testing.assert_array_equal(pieces[name], x)


@pytest.mark.filterwarnings("ignore::flexarm.errors.EnergyDrift")
@pytest.mark.parametrize("real", REALS)
def test_a_run_that_diverges_says_so_and_spoils_no_other(host, planar, real):
    given = {**GIVEN, **begun(planar), "u": np.zeros((COUNT, 2)), "solver": fa.Solver(step=0.0025), "samples": 11}
    given["qd0"][2, 0] = 3000.0
    found = fa.simulate_many(planar, 0.1, device="gpu", real=real, **given)
    alone = fa.simulate_many(planar, 0.1, **given)
    assert (found.status != "completed").values.tolist() == (alone.status != "completed").values.tolist()
    assert re.match(r"diverged (by|right after) t = ", found.status.values[2])
    np.testing.assert_array_equal(np.isnan(found.q), np.isnan(alone.q))
    np.testing.assert_array_equal(found.time_reached, alone.time_reached)
    assert np.abs(found.steps - alone.steps).max() <= 1  # the processor judges by deflection, too, and may be earlier
    assert all(str(each.status.values[2]).startswith("diverged ") for each in (found, alone))


def test_ctrl_c_ends_the_runs_where_they_are(host, planar, monkeypatch):
    """What is known by then is returned, with a warning; the rest is not there."""
    monkeypatch.setattr(gpu, "WORK", 1.0)  # a step a launch
    monkeypatch.setattr(gpu, "WINDOW", 1)
    count, kernel = [0], host.kernel

    def slow(*given):
        launch = kernel(*given)

        def launched(*arguments):
            launch(*arguments)
            count[0] += 1
            if count[0] == 25:
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(0.5)  # until it is heard

        return launched

    monkeypatch.setattr(host, "kernel", slow)
    with pytest.warns(InterruptedRun, match="interrupted after 0 of 2 runs"):
        many = fa.simulate_many(planar, 0.05, u=np.zeros((2, 2)), device="gpu", **GIVEN)
    assert count[0] == 25
    assert many.status.values.tolist() == ["interrupted"] * 2
    np.testing.assert_allclose(many.time_reached, 0.02)  # ten steps from one time to the next
    assert np.isnan(many.q.values[:, 3:]).all()
    assert np.isfinite(many.q.values[:, :3]).all()


def test_runs_in_files(host, planar, tmp_path):
    given = {**GIVEN, **begun(planar), "u": np.zeros((COUNT, 2)), "device": "gpu"}
    found = fa.simulate_many(planar, 0.02, folder=tmp_path / "runs", **given)
    np.testing.assert_array_equal(found.q.values, fa.simulate_many(planar, 0.02, **given).q.values)


def test_the_plan_of_a_run():
    """Equal steps between times and jumps, or the intervals between jumps alone."""
    times, corners = np.array([0.0, 0.1, 0.2]), np.array([0.0, 0.15, 0.2])
    fixed = gpu.planned(times, corners, 0.04)
    np.testing.assert_allclose(fixed.t, [0.0, 0.1, 0.15])
    np.testing.assert_array_equal(fixed.steps, [3, 2, 2])
    np.testing.assert_array_equal(fixed.shown, [1, 0, 1])
    np.testing.assert_array_equal(fixed.row, [0, 0, 1])
    np.testing.assert_allclose(fixed.h * fixed.steps, [0.1, 0.05, 0.05])
    assert (fixed.before < [0.15, 0.15, 0.2]).all()
    np.testing.assert_allclose(fixed.before, [0.15, 0.15, 0.2], rtol=1e-15)
    adaptive = gpu.intervals(corners)
    np.testing.assert_array_equal(adaptive.t, [0.0, 0.15])
    np.testing.assert_array_equal(adaptive.end, [0.15, 0.2])
    np.testing.assert_array_equal(adaptive.row, [0, 1])
    assert (adaptive.before < adaptive.end).all()


# -- other methods -----------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::flexarm.errors.EnergyDrift")  # of Euler's method
@pytest.mark.parametrize("method", ["euler", "rk3", "tsit5", "rk45", "dop853"])
def test_other_explicit_methods(host, varied, method):
    """Inputs that jump between times of the result, parameters a run; the same steps as on the processor.

    tsit5 and rk45 have one program and two tableaus.
    """
    fixed = not METHODS[method].adaptive
    solver = fa.Solver(method=method, step=1e-4 if fixed else None, rtol=1e-7)
    u = [fa.bang_bang([0.2 - 0.1 * i, 0.1], duration=0.0152 + 0.001 * i) for i in range(COUNT)]
    p = varied.p * np.random.default_rng(2).uniform(0.8, 1.2, (COUNT, 2))
    given = {"solver": solver, "samples": 8, "progress": False, **begun(varied), "u": u, "p": p}
    found = fa.simulate_many(varied, 0.02, device="gpu", **given)
    close(found, fa.simulate_many(varied, 0.02, **given), "double")
    assert found.steps.values.min() > 3
    if not fixed:
        assert len({*found.steps.values}) > 1, "each run has its own steps"


def test_a_method_of_ones_own(host, planar, monkeypatch):
    """Added like any other; Bogacki & Shampine 1989."""
    row = (-5 / 72, 1 / 12, 1 / 9, -1 / 8)
    bs32 = fa.ButcherTableau((0, 1 / 2, 3 / 4, 1), ((1 / 2,), (0, 3 / 4)), (2 / 9, 1 / 3, 4 / 9), (row,), order=2)
    monkeypatch.setitem(METHODS, "bs32", bs32)
    given = {
        **begun(planar),
        "solver": fa.Solver(method="bs32", rtol=1e-4),
        "samples": 5,
        "progress": False,
        "u": [0.1, 0.0],
    }
    close(fa.simulate_many(planar, 0.02, device="gpu", **given), fa.simulate_many(planar, 0.02, **given), "double")


ADAPTIVE_INPUTS = {
    "a law with memory": [Integral(JointPD(slew(0.02), 50.0, 0.2), 30.0 + i) for i in range(COUNT)],
    "tables": [fa.Table([0.0, 0.0123 + 0.001 * i, 0.06], [[0, 0.1], [0.2, -0.1], [0, 0]]) for i in range(COUNT)],
    "a function of time": [fa.RigidInverseDynamics(slew(0.01 * (i + 1))) for i in range(COUNT)],
}


@pytest.mark.parametrize("name", ADAPTIVE_INPUTS)
def test_adaptive_steps_under_every_kind_of_input(host, planar, name):
    given = {
        "solver": fa.Solver(method="tsit5", rtol=1e-7),
        "samples": 6,
        "progress": False,
        "u": ADAPTIVE_INPUTS[name],
    }
    found = fa.simulate_many(planar, 0.03, device="gpu", **given, **begun(planar))
    close(found, fa.simulate_many(planar, 0.03, **given, **begun(planar)), "double")


def test_adaptive_steps_in_floats_stay_within_the_tolerance(host, planar):
    given = {"samples": 6, "progress": False, "u": [0.1, 0.0], **begun(planar)}
    found = fa.simulate_many(
        planar, 0.05, device="gpu", real="float", solver=fa.Solver(method="tsit5", rtol=1e-4), **given
    )
    exact = fa.simulate_many(planar, 0.05, solver=fa.Solver(method="dop853", rtol=1e-11), **given)
    assert {*found.status.values} == {"completed"}
    assert 0.0 < np.abs(found.q - exact.q).max() < 1e-4 * np.abs(exact.q).max()
    assert np.abs(found.qd - exact.qd).max() < 1e-3 * np.abs(exact.qd).max()
    why = r"accelerations in 32 bits \(real='float'\) need an rtol of at least 1e-05 with method 'tsit5'"
    with told(f"device is 'gpu'; rtol is 1e-08; {why}"):
        fa.simulate_many(planar, 0.05, device="gpu", real="float", method="tsit5", **given)


def test_loops_stay_on_their_closures_under_adaptive_steps(host):
    model = fa.Model(four_bar())
    given = {"q0": [at(model, 0.9), at(model, 1.2)], "u": [[3.0], [2.0]], "samples": 9, "progress": False}
    given["solver"] = fa.Solver(method="dop853", rtol=1e-9)
    found = fa.simulate_many(model, 0.2, device="gpu", **given)
    close(found, fa.simulate_many(model, 0.2, **given), "double")
    for i in range(9):
        assert np.abs(model.closure_gaps(found.q.values[:, i], found.qd.values[:, i])).max() < 1e-11


def test_an_adaptive_launch_goes_on_where_the_last_one_stopped(host, planar, monkeypatch):
    """A window ends within a step, a launch within a step: the same steps to the last bit, and the same counts."""
    u = fa.bang_bang([0.2, 0.1], duration=0.031)
    given = {"solver": fa.Solver(method="dop853", rtol=1e-6), "samples": 40, "progress": False, **begun(planar), "u": u}
    whole = fa.simulate_many(planar, 0.05, device="gpu", **given)
    once = len(host.launched)
    assert whole.steps.values.max() < 30, "several times of the result in a step"
    monkeypatch.setattr(gpu, "WORK", 1.0)
    monkeypatch.setattr(gpu, "WINDOW", 2 * 8 * COUNT * Layout.of(planar).size)
    pieces = fa.simulate_many(planar, 0.05, device="gpu", **given)
    assert len(host.launched) - once > 20
    for name, x in whole.data_vars.items():
        np.testing.assert_array_equal(pieces[name], x, err_msg=name)


@pytest.mark.filterwarnings("ignore::flexarm.errors.EnergyDrift")
def test_a_deflection_beyond_its_bound_ends_an_adaptive_run(host, planar):
    given = {
        **begun(planar),
        "solver": fa.Solver(method="tsit5", rtol=1e-6),
        "samples": 11,
        "progress": False,
        "u": [0.0, 0.0],
    }
    given["qd0"][2, 2] = 3e4  # far beyond what bends a link into a circle
    found = fa.simulate_many(planar, 0.02, device="gpu", **given)
    alone = fa.simulate_many(planar, 0.02, **given)
    assert found.status.values[2].startswith("diverged ")
    assert found.status.values.tolist() == alone.status.values.tolist()
    np.testing.assert_array_equal(found.steps, alone.steps)
    np.testing.assert_array_equal(found.time_reached, alone.time_reached)


def test_a_step_that_becomes_too_short_ends_a_run(host, planar):
    """No step has rates where the law's square root has none, so ever shorter ones are tried."""

    class Root:
        def law(self, model, period=None):
            return fa.control.Law(lambda t, q, qd, z: (ca.vertcat(0.1 * ca.sqrt(0.0105 - t), 0.0), []))

    given = {
        **begun(planar),
        "solver": fa.Solver(method="tsit5", rtol=1e-5),
        "samples": 5,
        "progress": False,
        "u": Root(),
    }
    found, alone = (fa.simulate_many(planar, 0.02, device=device, **given) for device in ("gpu", "cpu"))
    assert not (found.status == "completed").any()
    np.testing.assert_array_equal(found.status, alone.status)
    np.testing.assert_allclose(found.time_reached, 0.01)
    np.testing.assert_array_equal(found.steps, alone.steps)


def test_a_run_without_end_is_ended_between_launches(host, planar, monkeypatch):
    """A rate that no machine has, after many evaluations; the other runs go on."""
    monkeypatch.setattr(divergence, "FIRST", 60)
    monkeypatch.setattr(divergence, "FAST", 50.0)
    monkeypatch.setattr(gpu, "WORK", 1.0)
    given = {
        **begun(planar),
        "solver": fa.Solver(method="tsit5", rtol=1e-6),
        "samples": 11,
        "progress": False,
        "u": [0.0, 0.0],
    }
    given["qd0"][1, 0] = 60.0
    found = fa.simulate_many(planar, 0.03, device="gpu", **given)
    assert re.match(
        r"diverged by t = .*: the rate of upper.joint reached .* in \d+ evaluations", found.status.values[1]
    )
    assert (found.status.values[[0, 2, 3, 4]] == "completed").all()
    assert 0.0 < found.time_reached[1] < 0.03


# -- sampled controllers -----------------------------------------------------------------------------------------------


GAUGES = [fa.Encoder(coordinate=name, noise=1e-4) for name in ("upper.joint", "fore.joint")]
OBSERVER = Observed(LQR(reference=slew(0.02)), GAUGES)
SAMPLED = {
    "one for all": lambda: Sampled(JointPD(slew(0.02), 50.0, 0.2), 0.003),
    "memory and delay": lambda: [
        Sampled(Integral(JointPD(slew(0.02), 50.0, 0.2), 30.0 + i), 0.004, delay=0.004) for i in range(COUNT)
    ],
    "noise": lambda: [Sampled(OBSERVER, 0.004, seed=i) for i in range(COUNT)],
}


@pytest.mark.parametrize(
    ("name", "method"), [("one for all", "rk4"), ("memory and delay", "tsit5"), ("noise", "tsit5")]
)
def test_sampled_controllers(host, planar, name, method):
    """Samples between and at times of the result; u of the result is that of the last sample."""
    solver = fa.Solver(method=method, step=None if method == "tsit5" else 5e-4, rtol=1e-7)
    given = {"solver": solver, "samples": 9, "progress": False, "u": SAMPLED[name](), **begun(planar)}
    found, expected = (fa.simulate_many(planar, 0.04, device=device, **given) for device in ("gpu", "cpu"))
    close(found, expected, "double")
    assert len({*found.u.values[0, :, 0]}) > 5
    assert host.launched


def test_sampled_controllers_go_on_with_their_memory_and_signals(host, planar, monkeypatch):
    """Over launches, windows and parts, with recorded signals, in fixed steps."""
    u = [Sampled(OBSERVER, 0.004, seed=i) for i in range(COUNT)]
    save = fa.SaveAt(samples=9, record=["estimate"])
    given = {"solver": fa.Solver(method="rk4", step=5e-4), "save": save, "progress": False, "u": u, **begun(planar)}
    whole = fa.simulate_many(planar, 0.03, device="gpu", **given)
    close(whole, fa.simulate_many(planar, 0.03, **given), "double")
    monkeypatch.setattr(gpu, "WORK", 1.0)
    monkeypatch.setattr(gpu, "WINDOW", 2 * 8 * 3 * Layout.of(planar).size)
    monkeypatch.setattr(gpu, "TOGETHER", 3)
    pieces = fa.simulate_many(planar, 0.03, device="gpu", **given)
    for name, x in whole.data_vars.items():
        np.testing.assert_array_equal(pieces[name], x, err_msg=name)


@pytest.mark.filterwarnings("ignore::flexarm.errors.EnergyDrift")
@pytest.mark.parametrize("method", ["rk4", "tsit5"])
def test_a_sampled_law_without_a_finite_value_ends_its_run(host, planar, method):
    class Root:
        def law(self, model, period=None):
            return fa.control.Law(lambda t, q, qd, z: (ca.vertcat(0.1 * ca.sqrt(0.0105 - t), 0.0 * q[0]), []))

    solver = fa.Solver(method=method, step=None if method == "tsit5" else 5e-4, rtol=1e-6)
    given = {"solver": solver, "samples": 6, "progress": False, "u": Sampled(Root(), 0.002), **begun(planar, 2)}
    found, expected = (fa.simulate_many(planar, 0.02, device=device, **given) for device in ("gpu", "cpu"))
    np.testing.assert_array_equal(found.status, expected.status)
    assert re.search(r"gave -?nan for upper.joint at t = 0.012 s", found.status.values[0])
    np.testing.assert_array_equal(found.time_reached, expected.time_reached)
    np.testing.assert_allclose(found.u, expected.u)


def test_noise_that_does_not_fit_is_refused(host, planar, monkeypatch):
    monkeypatch.setattr(gpu, "LARGEST", 100)
    given = {**GIVEN, "u": Sampled(OBSERVER, 0.004), "runs": 2}
    with told("the noise of 2 runs at 13 samples needs .* GB; simulate fewer runs at once"):
        fa.simulate_many(planar, 0.05, device="gpu", **given)


def test_a_time_just_before_a_sample_shows_what_that_gives(host, planar):
    """Periods and the times of the result are rounded differently, by less than anybody means."""
    until = 7e-4 * 50
    assert (np.linspace(0.0, until, 51) < 7e-4 * np.arange(51)).sum() > 20
    given = {**begun(planar, 2), "u": Sampled(JointPD(slew(0.02), 50.0, 0.2), 7e-4), "progress": False}
    given["solver"] = fa.Solver(method="tsit5", rtol=1e-6)
    found, expected = (fa.simulate_many(planar, until, device=each, samples=51, **given) for each in ("gpu", "cpu"))
    close(found, expected, "double")


def test_sampled_controllers_of_drives_with_states_are_refused(host):
    model = fa.Model(fa.load("industrial-arm"))
    assert model.states
    law = Sampled(VoltageDrive(JointPD([0.1] * len(model.arm.driven), 5.0, 1.0)), 5e-4)
    with told(
        "device is 'gpu', which supports sampled controllers only of arms without states of drives .* not VoltageDrive"
    ):
        fa.simulate_many(model, 0.02, runs=2, u=law, device="gpu", **GIVEN)


# -- results that stay there -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("real", REALS)
def test_arrays_stay_on_the_device(host, planar, real):
    """One launch of all runs; a network reads the states without a copy."""
    torch = pytest.importorskip("torch")
    given = {**GIVEN, **begun(planar), "u": [0.1, 0.0]}
    expected = fa.simulate_many(planar, 0.05, **given)
    save = fa.SaveAt(samples=6, keep=["q", "qd", "work"])
    found = fa.simulate_many(
        planar, 0.05, device="gpu", real=real, as_="dlpack", **{**given, "samples": None, "save": save}
    )
    assert [*found] == ["q", "qd", "work", "time", "time_reached", "status", "steps", "evaluations"]
    for name in ("q", "qd", "work"):
        there = torch.from_dlpack(found[name])
        assert there.dtype == (torch.float64 if real == "double" else torch.float32)
        assert there.data_ptr() == found[name].ctypes.data, "no copy"
        x = expected[name].values[:, 1:]
        y = np.moveaxis(there.numpy().astype(float), -1, 0)
        assert np.abs(y - x).max() < ROUNDING[real] * np.abs(x).max()
    np.testing.assert_array_equal(found["time"], expected.time[1:])
    for name in ("status", "steps", "time_reached"):
        np.testing.assert_array_equal(found[name], expected[name])


def test_ctrl_c_ends_runs_whose_arrays_stay(host, planar, monkeypatch):
    monkeypatch.setattr(gpu, "WORK", 1.0)
    count, kernel = [0], host.kernel

    def slow(*given):
        launch = kernel(*given)

        def launched(*arguments):
            launch(*arguments)
            count[0] += 1
            if count[0] == 25:
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(0.5)

        return launched

    monkeypatch.setattr(host, "kernel", slow)
    with pytest.warns(InterruptedRun, match="interrupted after 0 of 2 runs"):
        found = fa.simulate_many(planar, 0.05, u=np.zeros((2, 2)), device="gpu", as_="dlpack", **GIVEN)
    np.testing.assert_allclose(found["time_reached"], 0.02)


def test_status_numbers_are_those_of_simd_batches():
    for name in ("UNDER_WAY", "DONE", "TOO_SHORT", "GROWN", "ENDED"):
        assert getattr(gpu_loops, name) == getattr(lanes, name)
    assert gpu_loops.NO_LAW == lanes_sampled.NO_LAW


# -- what is refused ---------------------------------------------------------------------------------------------------


REFUSED = {
    "auto": (
        {"method": "auto", "solver": fa.Solver()},
        "does not support the method 'auto'; give one by solver=.*: dop853, ",
    ),
    "a sampled function": ({"u": Sampled(lambda t, q, qd: np.zeros(2), 0.01)}, "or a compiled controller, not "),
    "arrays for files": ({"as_": "dlpack", "folder": "somewhere"}, "as_ is 'dlpack', which needs device='gpu', and no"),
    "arrays of the processor": ({"as_": "dlpack", "device": "cpu"}, "as_ is 'dlpack', which needs device='gpu'"),
    "no such form": ({"as_": "list"}, "as_ is 'list'; it must be dataset or dlpack"),
    "arrays that need an evaluation": (
        {"as_": "dlpack", "save": fa.SaveAt(keep=["q", "tip"], samples=3), "samples": None},
        "as_ is 'dlpack', which can keep q, qd, work, dissipated, not tip",
    ),
    "arrays under different inputs": (
        {"as_": "dlpack", "u": [fa.bang_bang([0.2, 0.1], duration=0.03), fa.RigidInverseDynamics(slew(0.01))]},
        "as_ is 'dlpack'; u has inputs of different kinds; give all runs one kind",
    ),
    "a Python function": ({"u": lambda t, q, qd: np.zeros(2)}, "constant u, a table, a compiled function"),
    "forces that change in one run": (
        {"disturbance": [[0.0, 0.0], lambda t: [ca.sin(t), 0.0]]},
        "supports only constant w and disturbance$",
    ),
    "forces that change": ({"disturbance": lambda t: [ca.sin(t), 0.0]}, "supports only constant w and disturbance$"),
    "no such device": ({"device": "tpu"}, "device is 'tpu'; it must be cpu or gpu"),
    "devices": ({"device": np.array(["cpu", "gpu"])}, "device is .*; it must be cpu or gpu"),
    "no such numbers": ({"real": "half"}, "real is 'half'; it must be double, float or mixed"),
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_a_graphics_processor_does_not_do_is_refused_in_one_line(host, planar, why):
    given, message = REFUSED[why]
    with told(message):
        fa.simulate_many(planar, 0.05, **{**GIVEN, "runs": 2, "u": [0.0, 0.0], "device": "gpu", **given})
    assert not host.launched


def test_floats_are_of_graphics_processors(planar):
    with told("real is 'float'; on the processor"):
        fa.simulate_many(planar, 0.05, runs=2, u=[0.0, 0.0], real="float", **GIVEN)


def test_without_the_package_or_a_driver_one_line_says_what_is_missing(planar, monkeypatch):
    given = {**GIVEN, "runs": 2, "u": [0.0, 0.0], "device": "gpu"}
    monkeypatch.setitem(sys.modules, "cuda", None)
    with told(r"device is 'gpu', which needs the package cuda-core.*: pip install 'flexarm\[gpu\]'"):
        fa.simulate_many(planar, 0.05, **given)
    for error in (RuntimeError("no\ndriver"), type("CUDAError", (Exception,), {})("CUDA_ERROR_NO_DEVICE")):
        monkeypatch.setitem(sys.modules, "cuda", FakeCuda(error))
        with told("device is 'gpu'; no graphics processor of NVIDIA's can be used here: (no driver|CUDA_ERROR_NO_)"):
            fa.simulate_many(planar, 0.05, **given)


def test_an_error_that_is_not_the_drivers_stays_what_it_is(monkeypatch):
    monkeypatch.setitem(sys.modules, "cuda", FakeCuda(TypeError("an error of ours")))
    with pytest.raises(TypeError, match="an error of ours"):
        cuda.device()


def test_the_resources_of_a_kernel_are_the_drivers(monkeypatch):
    """Five blocks of the kernel fit on a multiprocessor."""
    monkeypatch.setitem(sys.modules, "cuda", fake := FakeCuda())
    monkeypatch.setattr(cuda, "_loaded", lambda key, make: make())
    occupancy = SimpleNamespace(max_active_blocks_per_multiprocessor=lambda threads, shared: 640 // threads)
    attributes = SimpleNamespace(num_regs=81, local_size_bytes=400)
    monkeypatch.setattr(fake, "get_kernel", lambda name: SimpleNamespace(occupancy=occupancy, attributes=attributes))
    x = ca.SX.sym("x")
    kernel = lifted.kernel(ca.Function("f", [x], [ca.sin(x)]))
    found = cuda.device().occupancy(*gpu_states.program(kernel, "double"), nvptx.EACH, "double")
    assert found == {"registers": 81, "local": 400, "threads": 640}


def test_an_operation_that_there_is_no_instruction_for_is_named(planar):
    """LLVM would end the process."""
    x = ca.SX.sym("x", 2)
    function = ca.Function("f", [x], [ca.atan2(x[0], x[1])])
    with pytest.raises(NotImplementedError, match="no instruction of a GPU for the CasADi operation OP_ATAN2"):
        nvptx.straight(instructions(function), 2, "double")
    kernel = SimpleNamespace(key="f", trace=lambda: function, code=SimpleNamespace(operations=1))
    programs = gpu_states.program(kernel, "double"), gpu.program(kernel, Layout.of(planar), "double")
    for _, parts, *_ in programs:
        with told("device is 'gpu'; no instruction of a GPU for the CasADi operation OP_ATAN2"):
            parts()


# -- the driver's package, played --------------------------------------------------------------------------------------


@pytest.mark.parametrize("real", REALS)
def test_ptx_itself_computed_line_by_line(varied, monkeypatch, real):
    """The text that a driver would compile, launched as it would be, gives what the processor gives."""
    monkeypatch.setitem(sys.modules, "cuda", fake := FakeCuda())
    monkeypatch.setattr(cuda, "_loaded", lambda key, make: make())
    u = 0.1 * np.random.default_rng(1).normal(size=(2, 2))
    given = {
        **GIVEN,
        **begun(varied, 2),
        "u": u,
        "solver": fa.Solver(step=2e-3),
        "samples": 3,
        "p": varied.p * [[0.9, 1.1], [1.2, 0.8]],
    }
    found = fa.simulate_many(varied, 0.008, device="gpu", real=real, **given)
    close(found, fa.simulate_many(varied, 0.008, **given), real)
    assert [each for each in fake.launched if each[1] == "runs"] == [(nvptx.THREADS, "runs")]


def test_ptx_of_adaptive_steps_computed_line_by_line(planar, monkeypatch):
    monkeypatch.setitem(sys.modules, "cuda", FakeCuda())
    monkeypatch.setattr(cuda, "_loaded", lambda key, make: make())
    u = 0.1 * np.random.default_rng(1).normal(size=(2, 2))
    given = {
        **begun(planar, 2),
        "u": u,
        "solver": fa.Solver(method="tsit5", rtol=1e-5),
        "samples": 4,
        "progress": False,
    }
    found = fa.simulate_many(planar, 0.008, device="gpu", **given)
    close(found, fa.simulate_many(planar, 0.008, **given), "double")


def test_ptx_of_a_loop_computed_line_by_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "cuda", FakeCuda())
    monkeypatch.setattr(cuda, "_loaded", lambda key, make: make())
    loop = fa.Model(four_bar())
    given = {**GIVEN, "q0": [at(loop, 0.9), at(loop, 1.2)], "u": [[3.0], [2.0]], "solver": fa.Solver(step=2e-3)}
    found = fa.simulate_many(loop, 0.004, device="gpu", **given)
    close(found, fa.simulate_many(loop, 0.004, **given), "double")


def test_cuda_core_itself_launches_over_a_played_driver(tmp_path):
    """Copies, launches and their arguments as NVIDIA's own package packs them."""
    library = tmp_path / "libcuda.so.1"
    source = Path(__file__).parent / "data" / "played_driver.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-w", "-o", library, source, "-ldl"], check=True)
    program = Path(__file__).parent / "helpers" / "played_driver.py"
    about = {**os.environ, "LD_LIBRARY_PATH": str(tmp_path), "PYTHONWARNINGS": "error"}
    done = subprocess.run([sys.executable, program, library], env=about, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "as the processor computes them\n"


def test_a_processor_that_is_too_old_is_refused(planar, monkeypatch):
    monkeypatch.setitem(sys.modules, "cuda", FakeCuda(generation=(8, 0)))
    assert cuda.device().name == "a test's"
    monkeypatch.setitem(sys.modules, "cuda", FakeCuda(generation=(7, 5)))
    with told("device is 'gpu'; a test's has compute capability 7.5; at least 8.0 is needed"):
        fa.simulate_many(planar, 0.05, runs=2, u=[0.0, 0.0], device="gpu", **GIVEN)


class WrongGpu(HostGpu):
    """A processor whose memory is off by a part of each number."""

    name = "a processor that is wrong"
    wrong = 1e-8

    def put(self, values):
        off = values * (1 + self.wrong) if np.issubdtype(values.dtype, np.floating) else values
        return super().put(off.astype(values.dtype))


@pytest.mark.parametrize(("real", "wrong"), [("double", 1e-8), ("float", 0.01)])
def test_a_graphics_processor_that_computes_wrongly_is_reported_once_and_for_all(
    varied, monkeypatch, tmp_path, real, wrong
):
    monkeypatch.setenv("FLEXARM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(WrongGpu, "wrong", wrong)
    monkeypatch.setattr(cuda, "device", WrongGpu)
    message = rf"machine code of state_rate for a processor that is wrong \({real}\) is wrong"
    with pytest.raises(fa.FlexarmError, match=message):
        fa.simulate_many(varied, 0.05, device="gpu", real=real, **GIVEN, **begun(varied), u=[0.0, 0.0])
    with pytest.raises(fa.FlexarmError, match="mass_matrix"):
        evaluate_on_gpu(varied, "mass_matrix", begun(varied)["q0"], real=real)
    right = HostGpu()
    monkeypatch.setattr(cuda, "device", lambda: right)
    for _ in range(2):  # checked once
        evaluate_on_gpu(varied, "mass_matrix", begun(varied)["q0"], real=real)
    assert [threads for _, threads, _ in right.launched] == [8, COUNT, COUNT]


# -- quantities at many states -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("real", REALS)
def test_quantities_at_many_states_are_the_models(host, varied, real):
    rng = np.random.default_rng(4)
    q, qd, u = (0.1 * rng.normal(size=(COUNT, k)) for k in (varied.nq, varied.nv, 2))
    p = varied.p * rng.uniform(0.8, 1.2, (COUNT, 2))
    for name, values in (("forward_dynamics", (q, qd, u)), ("mass_matrix", (q,)), ("frames", (q,)), ("bias", (q, qd))):
        expected = varied.evaluate(name, *values, p=p)
        found = evaluate_on_gpu(varied, name, *values, p=p, real=real)
        assert found.shape == expected.shape
        np.testing.assert_allclose(found, expected, rtol=0, atol=ROUNDING[real] * np.abs(expected).max())
    assert [each[:2] for each in host.launched].count(("each_state", COUNT)) == 4
    found, expected = evaluate_on_gpu(varied, "bias", q[0], qd[0], p=p), varied.evaluate("bias", q[0], qd[0], p=p)
    np.testing.assert_allclose(found, expected, rtol=0, atol=ROUNDING["double"] * np.abs(expected).max())


def test_states_of_drives_are_zero_unless_they_are_given(host):
    model = fa.Model(fa.load("industrial-arm"))
    q, qd = (0.1 * np.random.default_rng(5).normal(size=(COUNT, k)) for k in (model.nq, model.nv))
    u = np.ones(len(model.inputs))
    given = {"s": np.full((COUNT, len(model.states)), 0.1)} if model.states else {}
    for more in ({}, given):
        expected = model.evaluate("state_rate", q, qd, np.tile(u, (COUNT, 1)), **more)
        found = evaluate_on_gpu(model, "state_rate", q, qd, u, **more)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize(
    ("values", "given", "message"),
    [
        (("forward_dynamics", np.zeros((2, 6))), {}, "forward_dynamics takes q, qd, u, not 1 value"),
        (("forward_dynamics", np.zeros((2, 6)), np.zeros((3, 6)), np.zeros(2)), {}, "different numbers of states"),
        (("mass_matrix", np.zeros((2, 5))), {}, r"q has shape \(2, 5\)"),
        (("mass_matrix", np.zeros(6)), {"real": "half"}, "real is 'half'; it must be double or float"),
        (("mass",), {}, "unknown quantity"),
    ],
)
def test_what_is_no_state_is_refused(host, planar, values, given, message):
    with told(message):
        evaluate_on_gpu(planar, *values, **given)


# -- the text ----------------------------------------------------------------------------------------------------------


def written(model, real, entry="runs", method="rk4"):
    """PTX of runs, or of forward dynamics."""
    if entry == "runs":
        key, parts, what = gpu.program(integrand(model, "state_rate", 0), Layout.of(model), real, METHODS[method])
    else:
        (key, parts), what = gpu_states.program(model.kernel("forward_dynamics"), real), nvptx.EACH
    return cuda.text(key, parts, what, real)


def test_texts_that_are_kept_are_told_apart(planar):
    """By what they compute, and by the law that stands before the rates."""
    (key, parts), forward = (
        gpu_states.program(planar.kernel("mass_matrix"), "float"),
        written(planar, "float", "each_state"),
    )
    assert cuda.text(key, parts, nvptx.EACH, "float") != forward
    rate, layout = integrand(planar, "state_rate", 0), Layout.of(planar)
    laws = [None, JointPD(slew(0.01), 5.0, 2.0), LQR(reference=slew(0.01))]
    laws = [each and continuous(each, planar).kernel_for(planar) for each in laws]
    assert len({gpu.program(rate, layout, "float", law=law)[0] for law in laws}) == 3
    assert len({gpu.program(rate, layout, "float", METHODS[name])[0] for name in ("rk4", "rk3", "dop853")}) == 3


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
@pytest.mark.parametrize("real", REALS)
@pytest.mark.parametrize("entry", ["runs", "each_state"])
def test_the_assembler_takes_it_and_nothing_is_called(planar, real, entry, arch):
    text = written(planar, real, entry)
    assert f".visible .entry {entry}(" in text
    assert ".target sm_80" in text
    assert not re.search(r"\.func|\bcall\b|\.extern", text)
    assert bool(re.search(r"\.f64|\.b64 \{|rcp\.rn\.f64", text)) == (real == "double")
    if real == "float":
        assert "f64" not in text
    assert re.search(r"fma\.rn\.f(32|64)", text)
    (found,) = ptxas.resources(text, arch)
    assert (found.name, found.arch) == (entry, arch)
    assert 0 < found.registers <= 255
    assert found.resident(nvptx.THREADS) >= nvptx.THREADS
    if real == "float":  # an arm of two links with two modes each fits into registers
        assert (found.stores, found.loads) == (0, 0)


@pytest.mark.parametrize("real", REALS)
def test_the_assembler_takes_a_law_in_the_kernel(planar, real):
    drive = continuous(JointPD(slew(0.01), 5.0, 2.0), planar)
    layout = Layout.of(planar, len(drive.memory))
    text = cuda.text(*gpu.program(integrand(planar, "state_rate", layout.memory), layout, real, law=drive.kernel), real)
    assert not re.search(r"\.func|\bcall\b|\.extern", text)
    assert ("f64" in text) == (real == "double")
    (found,) = ptxas.resources(text)
    assert found.name == "runs"


def test_arrays_of_a_thread_are_its_own_and_those_of_states_lie_side_by_side(planar):
    """Neighbouring threads read neighbouring numbers: a thread's own step is one number."""
    text = written(planar, "float", "each_state")
    steps = set(re.findall(r"shl\.b64 \s*%rd\d+, %rd\d+, (\d+);", text))
    assert "2" in steps, "threads are 4 bytes apart"
    assert "ld.global" in text
    assert ".local" not in written(planar, "double"), "the state and the rates of a stage are in registers"
    adaptive = written(planar, "double", method="tsit5")
    assert "ld.local" in adaptive, "the rates of several stages are not"
    numbers = (7 + 4) * Layout.of(planar).size  # the rates of seven stages, and four rows of the polynomial
    assert int(re.search(r"\.local .*__local_depot0\[(\d+)\]", adaptive)[1]) == 8 * numbers
    (found,) = ptxas.resources(adaptive)
    assert (found.stack, found.stores, found.loads) == (8 * numbers, 0, 0)


def test_what_ptxas_refuses_is_one_line():
    with told("ptxas rejects the program: .*error"):
        ptxas.resources(".version 7.0\n.target sm_80\nnonsense")


def test_what_the_assembler_tells_is_read(monkeypatch):
    """As ptxas 12.9 writes it."""
    told = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'runs' for 'sm_90'
ptxas info    : Function properties for runs
    400 bytes stack frame, 24 bytes spill stores, 56 bytes spill loads
ptxas info    : Used 255 registers, used 0 barriers, 400 bytes cumulative stack size
"""
    done = subprocess.CompletedProcess([], 0, "", told)
    monkeypatch.setattr(ptxas.subprocess, "run", lambda *command, **how: done)
    assert ptxas.resources("") == [ptxas.Resources("runs", "sm_90", 255, 400, stores=24, loads=56)]


def test_without_ptxas_one_line_says_what_is_missing(monkeypatch):
    def none(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(ptxas.metadata, "files", none)
    with told("ptxas is not installed: pip install nvidia-cuda-nvcc-cu12"):
        ptxas.resources("")


def test_the_assembler_is_looked_for_in_each_package(monkeypatch, tmp_path):
    """The first package is installed without the program."""
    files = {name: [] for name in ptxas.PACKAGES}
    for name, kept in zip(ptxas.PACKAGES, (["LICENSE"], ["LICENSE", "ptxas"]), strict=True):
        files[name] = [SimpleNamespace(name=each, locate=lambda n=name, e=each: tmp_path / n / e) for each in kept]
    monkeypatch.setattr(ptxas.metadata, "files", files.get)
    assert ptxas._assembler() == tmp_path / ptxas.PACKAGES[1] / "ptxas"


def test_threads_that_fit():
    """65536 registers, 256 at a time to a warp: 64 a thread leave room for 1024 threads, 255 for 256."""
    made = [ptxas.Resources("x", "sm_90", n, 0, 0, 0) for n in (16, 32, 64, 81, 128, 255)]
    assert [each.resident(128) for each in made] == [2048, 2048, 1024, 640, 512, 256]


# -- functions of our own ----------------------------------------------------------------------------------------------


def evaluated(expression, x, values, real):
    """An expression of x at many places, by the kernel that evaluates each."""
    function = ca.Function("f", [x], [expression])
    code, host = instructions(function), HostGpu()

    def parts():
        return [nvptx.straight(code, 1, real), ir_of(nvptx.each, real=real, elsewhere=(nvptx.evaluate,))]

    T = gpu.TYPES[real]
    given = host.put(np.asarray(values, T)[None])
    found = np.empty((expression.numel(), len(values)), T)
    there = host.room(found)
    host.kernel("f", parts, nvptx.EACH, real)(len(values), [given, given, there], [len(values)])
    host.get(there, found)
    return found


@pytest.mark.parametrize(("real", "ulp"), [("double", 2.0**-52), ("float", 2.0**-23)])
def test_sines_exponentials_and_tangents_against_many_digits(real, ulp):
    """Sines within a unit in the last place of 1; the others within some of their own."""
    rng, T = np.random.default_rng(6), gpu.TYPES[real]
    far, end = (1e4, 700.0) if real == "double" else (1e3, 85.0)
    x = ca.SX.sym("x")
    angles = np.concatenate([rng.uniform(-far, far, 500), rng.uniform(-4, 4, 300), [0.0, 1e-30]]).astype(T)
    some = [rng.uniform(-end, end, 300), rng.normal(size=300), 1e-6 * rng.normal(size=50)]
    numbers = np.concatenate(some).astype(T)
    found = evaluated(ca.vertcat(ca.sin(x), ca.cos(x)), x, angles, real)
    with mpmath.workdps(40):
        exact = np.array([[f(mpmath.mpf(float(a))) for a in angles] for f in (mpmath.sin, mpmath.cos)])
        assert np.abs((exact - found).astype(float)).max() < 0.75 * ulp
    found = evaluated(ca.vertcat(ca.exp(x), ca.tanh(x)), x, numbers, real)
    with mpmath.workdps(40):
        exact = np.array([[f(mpmath.mpf(float(a))) for a in numbers] for f in (mpmath.exp, mpmath.tanh)])
        assert np.abs(((found - exact) / exact).astype(float)).max() < 3 * ulp


@pytest.mark.parametrize(("real", "ulp"), [("double", 2.0**-52), ("float", 2.0**-23)])
def test_powers_against_many_digits(real, ulp):
    """Those of a step's error, over all sizes of errors whose powers are near 1, and beyond."""
    base = nvptx.Numbers(1, real)
    T = gpu.TYPES[real]
    x = np.concatenate([10.0 ** np.random.default_rng(7).uniform(-6, 6, 300), [1.0, 0.5, 2.0**0.5, 2.0**-0.5]]).astype(
        T
    )
    text = f"""
define void @evaluate(ptr %in, i64 %a, ptr %own, i64 %b, ptr %out, i64 %c) alwaysinline {{
  %x = load {base.T}, ptr %in
  %y = call {base.T} @power_({base.T} %x, {base.T} {base.constant(-0.125)})
  store {base.T} %y, ptr %out
  ret void
}}
declare {base.T} @power_({base.T}, {base.T})"""
    host = HostGpu()
    parts = [text, powers(real), ir_of(nvptx.each, real=real, elsewhere=(nvptx.evaluate,))]
    given, found = host.put(x), np.empty_like(x)
    there = host.room(found)
    host.kernel("power", lambda: parts, nvptx.EACH, real)(len(x), [given, given, there], [len(x)])
    host.get(there, found)
    with mpmath.workdps(40):
        exact = np.array([mpmath.mpf(float(each)) ** mpmath.mpf(-0.125) for each in x])
        assert np.abs(((found - exact) / exact).astype(float)).max() < 4 * ulp


@pytest.mark.parametrize("real", REALS)
def test_the_ends_of_exponentials(real):
    x = ca.SX.sym("x")
    at = [np.inf, -np.inf, np.nan, 1e4, -1e4, 0.0]
    np.testing.assert_array_equal(evaluated(ca.exp(x), x, at, real)[0], [np.inf, 0.0, np.nan, np.inf, 0.0, 1.0])
    np.testing.assert_array_equal(evaluated(ca.tanh(x), x, at, real)[0], [1.0, -1.0, np.nan, 1.0, -1.0, 0.0])


# -- what is measured --------------------------------------------------------------------------------------------------


def test_the_measurement_runs_from_its_first_line_to_its_last(host, monkeypatch, tmp_path):
    """As `python -m benchmarks.gpu --quick` on a machine with a card, with smaller arms: no table is left out.

    Its verdicts on numbers are met, and can fail.
    """
    measure, tables = benchmark.measure, []
    monkeypatch.setattr(benchmark, "measure", lambda quick: tables.extend(measure(quick)) or tables)
    monkeypatch.setattr(benchmark, "ARMS", {"two rigid links": lambda: fa.load("rigid-two-link")})
    monkeypatch.setattr(benchmark, "chain", lambda links: fa.load("rigid-two-link"))
    monkeypatch.setattr(benchmark, "STEPS", {"two rigid links": 1.0})
    monkeypatch.setattr(benchmark.report, "ROOT", tmp_path)
    monkeypatch.setattr(sys, "argv", ["gpu", "--quick"])
    benchmark.main()
    _, verdicts, found, whole, shared, environments, peer = tables
    assert {row[-1] for row in verdicts.rows} == {"yes"}
    # forward dynamics; q and qd of four kinds of runs in three precisions, and of an implicit method
    assert len(verdicts.rows) == 2 + 4 * 3 * 2 + 2
    assert any("forward dynamics a second, float" in row[0] for row in found.rows)
    assert [row[0] for row in whole.rows[:3]] == ["rk4, double", "rk4, mixed", "rk4, float"]
    assert whole.rows[0][3] == "yes", "more than a step a second"
    assert [row[1:3] for row in shared.rows] == [(real, str(count)) for real in REALS for count in (1, 2, 4)]
    assert [row[-1] for row in shared.rows[:3]] == ["yes", "", ""]
    assert len([row for row in environments.rows if "constant actions" in row[0]]) == 4
    page = (tmp_path / "out" / "gpu.md").read_text()
    assert all(each.title in page for each in tables)
    assert peer.rows or peer.notes
    assert cuda.device() is host, "as it was before"
    benchmark.compared(verdicts, "wrong", np.ones(3), np.array([1.0, 1.0, 1.1]), "double")
    assert verdicts.rows[-1][-1] == "**no**"


def test_the_measurement_refuses_numbers_that_are_not_finite(monkeypatch, host):
    """NaN beside NaN is no agreement: a step that is too long ends the measurement, with what to do."""
    for found, expected in (([1.0, np.nan], [1.0, np.nan]), ([1.0, np.inf], [1.0, 2.0]), ([1.0, 2.0], [np.nan, 2.0])):
        with pytest.raises(ValueError, match=r"qd of runs: \d numbers are not finite; .* choose a shorter step"):
            benchmark.compared(benchmark.Table("", ()), "qd of runs", np.array(found), np.array(expected), "double")
    model = fa.Model(fa.load("rigid-two-link"))
    monkeypatch.setattr(benchmark, "evaluate_on_gpu", lambda *given, **more: np.full((1000, 2), np.nan))
    with pytest.raises(ValueError, match="forward dynamics, double: 2000 numbers are not finite"):
        benchmark.alike(model, quick=True)


def test_the_arm_that_is_measured_moves_without_diverging():
    """The step and the starts of the measurement, on its own arm: every run ends, and tells two kinds of numbers apart.

    Starts that differ by the rounding of a float end within the bound that holds for floats.
    """
    model = fa.Model(chains.chain(3))
    given = {
        "method": "rk4",
        "solver": fa.Solver(step=benchmark.STEP),
        "samples": 11,
        "progress": False,
        "save": fa.SaveAt(keep=["q", "qd"]),
    }
    start = benchmark.starts(model, 64)
    runs = fa.simulate_many(model, 0.2, **start, **given)
    assert {*runs.status.values} == {"completed"}
    near = {**start, "q0": start["q0"].astype(np.float32).astype(float)}
    other = fa.simulate_many(model, 0.2, **near, **given)
    for name in ("q", "qd"):
        off = np.abs(other[name].values - runs[name].values).max() / np.abs(runs[name].values).max()
        assert 0.0 < off < benchmark.ERRORS["float"]


def test_the_measurement_says_so_where_there_is_none(monkeypatch):
    monkeypatch.setitem(sys.modules, "cuda", FakeCuda(RuntimeError("no driver")))
    monkeypatch.setattr(benchmark, "ARMS", {"two rigid links": lambda: fa.load("rigid-two-link")})
    registers, nothing = benchmark.measure(quick=True)
    assert len(registers.rows) == 7  # forward dynamics, RK4 and tsit5 in two precisions, gauss4 in double
    assert "no graphics processor of NVIDIA's can be used here: no driver" in nothing.notes[0]
    assert not nothing.rows


def test_long_programs_keep_their_registers():
    """ptxas gives up on them where it is not told how many blocks there are to be at once."""
    chain = fa.Model(chains.chain(6))
    text = written(chain, "double")
    (told_,), (not_told,) = (ptxas.resources(each, "sm_80") for each in (text, text.replace(".minnctapersm 2", "")))
    assert told_.registers > 200
    assert told_.stores <= not_told.stores
