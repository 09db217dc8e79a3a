"""Runs by implicit methods and in mixed precision on a graphics processor, played by this processor: the kernels' own
LLVM IR, compiled for it and called thread by thread. The assembler checks their PTX."""

import numpy as np
import pytest
from controlled import refused
from driven_loops import at, four_bar
from host_gpu import HostGpu

import flexarm as fa
from benchmarks import chains
from flexarm.control import Integral, JointPD, Sampled
from flexarm.native import cuda, nvptx, ptxas
from flexarm.simulation import divergence, gpu, gpu_implicit, solvers
from flexarm.simulation.feedback import integrand
from flexarm.simulation.layout import Layout
from flexarm.simulation.steps import PATIENT

COUNT = 4
PLAYED = HostGpu()


@pytest.fixture(autouse=True)
def host(monkeypatch):
    """This processor in the part of the other; compiled kernels are shared."""
    monkeypatch.setattr(cuda, "device", lambda: PLAYED)
    PLAYED.launched.clear()
    return PLAYED


@pytest.fixture(scope="module")
def planar():
    return fa.Model(fa.load("subudhi-morris"), vary=["payload.mass", "upper.EI"])


def asked(model, seed=3, **more):
    rng = np.random.default_rng(seed)
    q0 = np.array(model.arm.rest) + 1e-3 * rng.normal(size=(COUNT, model.nq))
    if model.arm.free:
        q0[:, 3:7] /= np.linalg.norm(q0[:, 3:7], axis=1)[:, None]
    given = {"q0": q0, "qd0": 1e-2 * rng.normal(size=(COUNT, model.nv)), "u": 0.1 * rng.normal(size=(COUNT, 2))}
    return {**given, "samples": 6, "progress": False, **more}


def off(found, expected, names=("q", "qd", "tip")):
    """Largest difference, over the largest number of each quantity."""
    return max(float(np.abs(found[name] - expected[name]).max() / np.abs(expected[name]).max()) for name in names)


def both(model, until, **given):
    """The runs on both devices."""
    found = fa.simulate_many(model, until, device="gpu", **given)
    assert PLAYED.launched
    return found, fa.simulate_many(model, until, **given)


# -- implicit methods --------------------------------------------------------------------------------------------------


def test_fixed_steps_are_those_of_the_processor(planar):
    """Jumps between times of the result, and parameters of each run."""
    u = [fa.bang_bang([0.2, 0.1], duration=0.031 + 0.004 * i) for i in range(COUNT)]
    p = planar.p * np.random.default_rng(2).uniform(0.8, 1.2, (COUNT, 2))
    for solver in (
        fa.Solver(method="gauss4", step=2e-3),
        fa.Solver(method="generalized-alpha", step=2e-3, spectral_radius=0.8),
    ):
        found, expected = both(planar, 0.05, **asked(planar, u=u, p=p, solver=solver))
        assert off(found, expected) < 1e-11
        for name in ("steps", "evaluations", "status"):
            np.testing.assert_array_equal(found[name], expected[name])


def test_adaptive_steps_stay_within_the_tolerance(planar):
    """Beside an explicit method with a much smaller tolerance; a controller with memory of each run."""
    goal = fa.Quintic((0.0, 0.0), (0.05, -0.05), 0.04)
    u = [Integral(JointPD(goal, 50.0 + i, 0.2), 30.0) for i in range(COUNT)]
    given = asked(planar, u=u)
    exact = fa.simulate_many(planar, 0.05, **given, solver=fa.Solver(method="dop853", rtol=1e-12))
    errors = []
    for rtol in (1e-4, 1e-8):
        found = fa.simulate_many(
            planar, 0.05, device="gpu", **given, solver=fa.Solver(method="radau5", rtol=rtol, atol=1e-3 * rtol)
        )
        assert {*found.status.values} == {"completed"}
        errors.append(off(found, exact))
    assert errors[0] < 1e-2
    assert errors[1] < 1e-6 < 1e-2 * errors[0] + 1e-6


@pytest.mark.parametrize("method", ["radau5", "gauss8", "generalized-alpha"])
@pytest.mark.parametrize("solver", [{"step": 2e-3}, {"rtol": 1e-5}])
def test_a_launch_goes_on_where_the_last_one_stopped(planar, monkeypatch, method, solver):
    """Launches that end at other evaluations, and jumps of u: the same steps to the last bit, and the same counts."""
    given = asked(planar, solver=fa.Solver(method=method, **solver), u=fa.bang_bang([2.0, 1.0], duration=0.031))
    given["qd0"] *= np.array([1.0, 30.0, 100.0, 300.0])[:, None]
    once = fa.simulate_many(planar, 0.1, device="gpu", **given)
    assert {*once.status.values} == {"completed"}
    monkeypatch.setattr(gpu, "WORK", 1.0)
    for longer in range(0, 30, 3):
        monkeypatch.setattr(gpu_implicit, "PATIENT", PATIENT + longer)
        PLAYED.launched.clear()
        pieces = fa.simulate_many(planar, 0.1, device="gpu", **given)
        assert sum(each[0] == "runs" for each in PLAYED.launched) > 2
        for name, x in once.items():
            np.testing.assert_array_equal(pieces[name], x, err_msg=name)
    assert off(pieces, fa.simulate_many(planar, 0.1, **given)) < (1e-8 if "step" in solver else 1e-3)


@pytest.mark.filterwarnings("ignore::flexarm.errors.EnergyDrift")
def test_runs_that_fail_say_why_as_on_the_processor(planar):
    """A deflection beyond its bound ends one run; with too long fixed steps Newton's iteration fails."""
    given = asked(planar, solver=fa.Solver(method="radau5", rtol=1e-4))
    given["qd0"][2, 2] = 1e5
    found, expected = both(planar, 0.02, **given)
    assert found.status.values[2] != "completed"
    np.testing.assert_array_equal(found.status.values == "completed", expected.status.values == "completed")
    assert found.status.values[2][:8] == expected.status.values[2][:8]
    np.testing.assert_array_equal(np.isnan(found.q), np.isnan(expected.q))
    given = asked(planar, solver=fa.Solver(method="gauss4", step=2e-2))
    given["qd0"][1] = 300.0
    found, expected = both(planar, 0.05, **given)
    np.testing.assert_array_equal(found.status, expected.status)
    np.testing.assert_array_equal(found.time_reached, expected.time_reached)
    assert found.status.values[1] != "completed"
    assert found.status.values[0] == "completed"


def test_a_run_without_end_is_ended_between_launches(planar, monkeypatch):
    monkeypatch.setattr(divergence, "FIRST", 60)
    monkeypatch.setattr(divergence, "FAST", 50.0)
    monkeypatch.setattr(gpu, "WORK", 1.0)
    given = asked(planar, solver=fa.Solver(method="radau5", rtol=1e-8))
    given["qd0"][1, 0] = 60.0
    found = fa.simulate_many(planar, 0.05, device="gpu", **given)
    assert found.status.values[1] != "completed"
    assert found.status.values[0] == "completed"


REFUSED = {
    "floats": ({"real": "float"}, "method 'gauss4' needs real='double', not 'float'"),
    "mixed": ({"real": "mixed"}, "method 'gauss4' needs real='double', not 'mixed'"),
    "samples": ({"u": Sampled(JointPD([0.0, 0.0], 1.0, 0.1), 0.01)}, "does not support sampled controllers there; use"),
    "arrays": ({"as_": "dlpack", "save": None}, "as_ is 'dlpack', which needs an explicit method, not 'gauss4'"),
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_implicit_methods_do_not_do_is_refused_in_one_line(planar, why):
    given, message = REFUSED[why]
    with refused(f".*{message}.*"):
        fa.simulate_many(
            planar, 0.05, device="gpu", **{**asked(planar, solver=fa.Solver(method="gauss4", step=1e-3)), **given}
        )
    assert not PLAYED.launched


def test_closures_are_refused():
    loop = fa.Model(four_bar())
    given = {"q0": [at(loop, 0.9), at(loop, 1.2)], "u": [[3.0], [2.0]], "progress": False}
    with refused(".*method 'radau5' does not support closures there, which arm .* has; use an explicit method.*"):
        fa.simulate_many(loop, 0.01, device="gpu", solver=fa.Solver(method="radau5"), **given)


def test_the_assembler_takes_the_program(planar):
    program = gpu_implicit.program(
        integrand(planar, "state_residual", 0), Layout.of(planar), solvers.IMPLICIT["gauss4"], None, table=False
    )
    text = nvptx.ptx(program[1](), [program[2]], "double")
    (found,) = ptxas.resources(text, "sm_90")
    assert found.registers <= 255
    assert not [line for line in text.splitlines() if ".extern" in line]


# -- mixed precision ---------------------------------------------------------------------------------------------------


def test_mixed_precision_is_accurate_on_random_arms():
    """The error of the tip is a fraction of that in floats; states are not rounded, the accelerations are."""
    for links, until in ((1, 0.4), (2, 0.1)):
        model = fa.Model(chains.chain(links))
        rng = np.random.default_rng(links)
        q0 = np.zeros((COUNT, model.nq))
        q0[:, list(model.arm.joints)] = rng.uniform(-1.0, 1.0, (COUNT, links))
        given = {"q0": q0, "u": np.zeros(len(model.inputs)), "samples": 6, "progress": False}
        given["solver"] = fa.Solver(method="rk4", step=2e-4)
        expected = fa.simulate_many(model, until, **given)
        mixed, single = (
            off(fa.simulate_many(model, until, device="gpu", real=real, **given), expected, ["tip"])
            for real in ("mixed", "float")
        )
        assert 1e-12 < mixed < 1e-6
        assert mixed < 0.5 * single


def test_mixed_precision_refuses_tolerances_that_it_does_not_reach(planar):
    given = asked(planar, solver=fa.Solver(method="tsit5", rtol=1e-8))
    with refused(r".*rtol is 1e-08; accelerations in 32 bits \(real='mixed'\) need an rtol of at least 1e-05.*"):
        fa.simulate_many(planar, 0.02, device="gpu", real="mixed", **given)
    loop = fa.Model(four_bar())
    with refused(".*closures, as of arm .*, need real='double'"):
        fa.simulate_many(loop, 0.01, u=[[3.0]], device="gpu", real="mixed", solver=fa.Solver(method="rk4", step=1e-3))


@pytest.mark.parametrize("method", ["rk4", "tsit5"])
def test_the_program_in_mixed_precision_computes_accelerations_in_single(planar, method):
    rate = integrand(planar, "state_rate", 0)
    counts = {}
    for real in ("double", "mixed"):
        _, parts, entry = gpu.program(rate, Layout.of(planar), real, solvers.EXPLICIT[method])
        text = nvptx.ptx(parts(), [entry], "double")
        counts[real] = text.count("fma.rn.f32") + text.count("mul.rn.f32") + text.count("mul.f32")
        assert ptxas.resources(text, "sm_90")
    assert counts["double"] == 0
    assert counts["mixed"] > 100
