"""Piecewise constant inputs in native code from jump to jump, beside the same run with Python at each jump."""

import numpy as np
import pytest

import flexarm as fa
from flexarm.simulation.block import Block

RNG = np.random.default_rng(4)
JUMPS = np.sort(np.concatenate([[-0.1, 0.05], 0.3 * RNG.random(30)]))
INPUTS = fa.Piecewise(JUMPS, 0.3 * RNG.normal(size=(32, 2)))


@pytest.fixture(scope="module")
def model():
    return fa.Model("subudhi-morris")


def both(model, monkeypatch, **given):
    """The run in native code, and with Python at each jump."""
    found = fa.simulate(model, 0.3, INPUTS, progress=False, **given)
    with monkeypatch.context() as patched:
        patched.setattr(fa.Piecewise, "ahead", Block.ahead)
        return found, fa.simulate(model, 0.3, INPUTS, progress=False, **given)


@pytest.mark.parametrize("method", ["rk4", "dop853", "tsit5", "radau5", "auto"])
@pytest.mark.parametrize("samples", [2, 7, 301])
def test_all_states_are_the_same(model, monkeypatch, method, samples):
    step = {"solver": fa.Solver(method="rk4", step=2e-3)} if method == "rk4" else {"method": method}
    found, expected = both(model, monkeypatch, samples=samples, **step)
    for name in ("q", "qd", "u", "work", "dissipated"):
        np.testing.assert_array_equal(found[name], expected[name])
    for name in ("steps", "evaluations", "status"):
        assert found.attrs[name] == expected.attrs[name]


def test_exogenous_inputs_of_time_act_beside_them(monkeypatch):
    force = fa.Force(name="wind", link="fore", at=0.5)
    model = fa.Model(fa.load("subudhi-morris").replace(forces=[force]))
    name = model.exogenous[1]
    wind = {name: fa.Table([0.0, 0.1, 0.3], [0.0, 2.0, -1.0])}
    found, expected = both(model, monkeypatch, w=wind, method="dop853", samples=9)
    np.testing.assert_array_equal(found.q, expected.q)
    still = fa.simulate(model, 0.3, INPUTS, progress=False, method="dop853", samples=9)
    assert np.abs(found.q - still.q).max() > 1e-4


@pytest.mark.parametrize("u", [[0.1, 0.2], fa.Piecewise([0.0, 0.05], [[0.1, 0.2], [0.3, -0.1]])])
def test_gradients_beside_jumps_of_exogenous_inputs(u):
    """There Python takes part at each jump, also at those of u."""
    model = fa.Model(fa.load("subudhi-morris").replace(forces=[fa.Force(name="wind", link="fore", at=0.5)]))
    values = np.random.default_rng(1).normal(size=(3, len(model.exogenous)))

    def found(values):
        w = fa.Piecewise([0.0, 0.03, 0.07], values)
        run = {"model": model, "until": 0.1, "u": u, "w": w, "q0": np.zeros(6), "method": "rk4"}
        return fa.gradient(run | {"solver": fa.Solver(step=1e-3)}, ["u", "w"], of=lambda q: q[0] + q[1] ** 2)

    gradient = found(values)
    for name in ((1, 1), (2, 0)):
        step = np.zeros_like(values)
        step[name] = 1e-3
        slope = (found(values + step).value - found(values - step).value) / 2e-3
        assert gradient["w"][name] == pytest.approx(slope, rel=1e-6)


def test_gradients_beside_a_table_over_time():
    """A spring whose stiffness follows a table: backward steps use it at the times of the forward ones."""
    drive = fa.Drive(spring=fa.Spring(stiffness=60.0, variable=True))
    joint = fa.Revolute(rotor_inertia=0.1, drive=drive)
    model = fa.Model(fa.Arm(name="soft", links=[fa.Link(name="rod", joint=joint, body=fa.Rigid(length=0.8, mass=1.7))]))
    stiffness = {model.exogenous[0]: fa.Table([0.0, 0.3], [20.0, 90.0], "linear")}

    def found(q0):
        run = {"model": model, "until": 0.3, "u": fa.Piecewise([0.0, 0.1, 0.2], [[0.4], [-0.2], [0.1]]), "q0": q0}
        return fa.gradient(run | {"w": stiffness, "rtol": 1e-9}, "q0", of=lambda q: q[1])

    q0, step = np.array([0.1, 0.3]), np.array([0.0, 1e-3])
    slope = (found(q0 + step).value - found(q0 - step).value) / 2e-3
    assert found(q0)["q0"][1] == pytest.approx(slope, rel=1e-7)


def test_a_run_that_fails_says_the_same(model, monkeypatch):
    said, u = [], fa.Piecewise([0.0, 1.0, 2.0, 3.0], 0.1 * np.ones((4, 2)))
    for block in (fa.Piecewise.ahead, Block.ahead):
        monkeypatch.setattr(fa.Piecewise, "ahead", block)
        with pytest.raises(fa.SimulationError, match="diverged") as failed:
            fa.simulate(model, 4.0, u, solver=fa.Solver(method="rk4", step=0.12), samples=31, progress=False)
        said.append((str(failed.value), failed.value.result.q.values))
    assert said[0][0] == said[1][0]
    np.testing.assert_array_equal(said[0][1], said[1][1])


def test_the_end_of_a_run_that_is_interrupted(model):
    """From a progress function, in the middle of an interval or between two."""

    def stop(t):
        if t > 0.1:
            raise KeyboardInterrupt

    with pytest.warns(fa.errors.InterruptedRun, match="interrupted at t = "):
        result = fa.simulate(
            model, 3000.0, INPUTS, method="rk4", solver=fa.Solver(step=1e-3), samples=30001, progress=stop
        )
    assert 0.1 < float(result.time[-1]) < 3000.0 and result.attrs["status"] == "interrupted"
