"""Closed loops in C and as FMUs, beside `simulate`."""

import subprocess

import fmpy
import numpy as np
import pytest
from compiled import Library, built
from fmpy.fmi1 import FMICallException
from fmpy.validation import validate_fmu
from fmus import called
from loops import assembled, four_bar

import flexarm as fa
from flexarm.model import closures

UNTIL, PERIODS = 0.4, 8
U = np.array([1.3, 0.2, -0.4])
LOOPS = {
    "bends": lambda: four_bar(flexible=True),  # two conditions in the plane
    "tilted": lambda: four_bar(tilt=(0.3, -0.7, 1.1)),  # five conditions, two of them independent
}


@pytest.fixture(scope="module", params=LOOPS)
def loop(request):
    """A model that varies, with other parameters than its arm's, a start, and the state at the end of a tight run."""
    model = fa.Model(LOOPS[request.param](), vary=["rocker.mass", "crank.length"]).at([2.6, 0.33])
    arm = model.arm_at({"rocker.mass": 2.6, "crank.length": 0.33})
    q, qd = assembled(arm)
    end = fa.simulate(model, UNTIL, U, q, qd, method="dop853", rtol=1e-11, samples=2, progress=False)
    return model, q, qd, np.concatenate([end.q.values[-1], end.qd.values[-1]])


def gaps(model, x):
    """Largest gap, and a hundredth of the largest rate."""
    away, rates = model.closure_gaps(*np.split(x[: 2 * model.nq], 2))
    return max(np.abs(away).max(), 0.01 * np.abs(rates).max())


def test_steps_in_c_stay_on_the_closures_as_runs_do(loop, tmp_path):
    model, q, qd, end = loop
    fa.export_c(model, tmp_path, sensors=[fa.TipPosition()])
    compared = built(tmp_path, "four_bar.c", "four_bar_test.c", program="compared", level="-O0")
    subprocess.run([compared], check=True, capture_output=True)
    library, start = Library(built(tmp_path, "four_bar.c", shared="arm.so", level="-O1")), np.concatenate([q, qd])
    x, h = np.append(start, [0.0, 0.0]), 5e-4
    for _ in range(round(UNTIL / h)):
        x = library.in_place("four_bar_rk4_step", x, [U, model.p, h])
    solver = fa.Solver(method="rk4", step=h)
    run = fa.simulate(model, UNTIL, U, q, qd, solver=solver, samples=2, progress=False)
    same = np.concatenate([run.q.values[-1], run.qd.values[-1]])
    assert x[:-2] == pytest.approx(same, rel=1e-9, abs=1e-9) and x[:-2] == pytest.approx(end, rel=1e-4, abs=1e-4)
    assert gaps(model, x) < 1e-12
    h = 2e-3 if model.nq > 3 else 0.02  # so long that all stages leave the closures
    run = fa.simulate(model, h, U, q, qd, solver=fa.Solver(method="rk4", step=h), samples=2, progress=False)
    long = library.in_place("four_bar_rk4_step", np.append(start, [0.0, 0.0]), [U, model.p, h])
    assert long[:-2] == pytest.approx(np.concatenate([run.q.values[-1], run.qd.values[-1]]), rel=1e-8, abs=1e-8)
    after, error = library.call("four_bar_rk4_error", [x, U, model.p, 5e-4], len(x), len(x))
    assert gaps(model, after) < 1e-12 and np.abs(error).max() < 1e-4
    off = x + np.append(1e-4 * np.cos(np.arange(len(start))), [0.0, 0.0])
    assert gaps(model, off) > 1e-6
    assert gaps(model, library.in_place("four_bar_close", off, [model.p])) < 1e-13


def test_an_arm_with_closures_is_not_written_in_float(tmp_path):
    with pytest.raises(
        fa.DescriptionError, match="export_c: an arm with closures needs double; leave out real='float'"
    ):
        fa.export_c(fa.Model(four_bar()), tmp_path, real="float")


@pytest.mark.parametrize("version", ["2.0", "3.0"])
@pytest.mark.parametrize("tolerance", [0.0, 1e-9])
def test_fmus_stay_on_the_closures_as_runs_do(version, tolerance, loop, tmp_path):
    """The fixed steps are those of the C library; with error control the run is the tight one."""
    model, q, qd, end = loop
    path = fa.export_fmu(model, tmp_path / "arm.fmu", version, q0=q, qd0=qd, tolerance=tolerance, step=2e-4).path
    assert validate_fmu(str(path)) == []
    with called(path, tmp_path) as it:
        it.begin(dict(zip(it.names("input"), U, strict=True)))
        for k in range(PERIODS):
            it.step(k * UNTIL / PERIODS, UNTIL / PERIODS)
        x, tip = np.array(it.get(it.states)), it.get(["tip_x", "tip_y", "tip_z"])
    assert x == pytest.approx(end, rel=1e-5, abs=1e-5)
    assert gaps(model, x) < 1e-12
    assert tip == pytest.approx(model.tip(x[: model.nq])[:3, 3], abs=1e-12)


def test_the_derivatives_of_an_fmu_are_those_on_the_closures(loop, tmp_path):
    model, q, qd, _ = loop
    path = fa.export_fmu(model, tmp_path / "arm.fmu", q0=q, qd0=qd).path
    off = np.concatenate([q, qd]) + 1e-3 * np.cos(np.arange(2 * len(q)))
    on = closures.closed(model, *np.split(off, 2))
    with called(path, tmp_path) as it:
        it.fmu.setupExperiment(startTime=0.0)
        it.fmu.enterInitializationMode()
        it.set(dict(zip(it.states, off, strict=True)) | dict(zip(it.names("input"), U, strict=True)))
        rates = it.get([each.name for each in it.said.modelVariables if each.derivative is not None])
        tip = it.get(["tip_x", "tip_y", "tip_z"])
    expected = model.evaluate("state_rate", *on, U)[: len(off)]
    assert rates == pytest.approx(expected, abs=1e-8 * np.abs(expected).max())
    assert tip == pytest.approx(model.tip(on[0])[:3, 3], abs=1e-12)


def test_an_fmu_in_a_solver_of_another_program(loop, tmp_path):
    """CVODE integrates the states, and the rates are those on the closures."""
    model, q, qd, end = loop
    path = fa.export_fmu(model, tmp_path / "arm.fmu", q0=q, qd0=qd).path
    names = [f"u.{name}" for name in model.inputs]
    given = np.array([(0.0, *U)], dtype=[("time", float), *((name, float) for name in names)])
    states = [f"{mark}.{name}" for mark, row in (("q", model.coordinates), ("qd", model.velocities)) for name in row]
    run = fmpy.simulate_fmu(
        str(path), stop_time=UNTIL, input=given, output=states, fmi_type="ModelExchange", relative_tolerance=1e-9
    )
    assert np.array([run[name][-1] for name in states]) == pytest.approx(end, rel=1e-4, abs=1e-4)


def test_an_fmu_refuses_a_start_off_the_closures(loop, tmp_path):
    model, q, qd, _ = loop
    fmu = fa.export_fmu(model, tmp_path / "arm.fmu", q0=q, qd0=qd)
    said = fmpy.read_model_description(str(fmu.path))
    assert said.coSimulation.providesDirectionalDerivative is False
    with called(fmu.path, tmp_path) as it, pytest.raises(FMICallException):
        it.begin({"q.crank.joint": q[0] + 0.01})
    with pytest.raises(fa.DescriptionError, match=r"export_fmu: q0 does not satisfy the closures.*at closure 'pin'"):
        fa.export_fmu(model, tmp_path / "other.fmu", q0=q + 0.1)
