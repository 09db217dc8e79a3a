"""Arms that become fast after they have begun to move: the steps of a period follow the error, not the start.

At rest these arms have a slow fastest mode, or none; once they move, bristles, stiff springs, stops and play act. Fixed
steps that followed from the start gave wrong motions without a word (LuGre friction: 2.02 rad/s in the place of 3.18).
"""

import functools
import warnings

import numpy as np
import pytest

import flexarm as fa
from flexarm.control import JointPD, Sampled
from flexarm.errors import EnergyDrift

PERIOD, COUNT = 0.01, 200
LUGRE = {"model": "lugre", "coulomb": 0.3, "static": 0.45, "stribeck_rate": 0.05, "viscous": 0.02}
DRIVES = {
    "lugre": fa.Drive(link_friction=fa.Friction(**LUGRE, bristle_stiffness=2e3, bristle_damping=5.0)),
    "table": fa.Drive(spring=fa.Spring(table=[(0.0, 0.0), (0.05, 0.2), (0.1, 30.0), (0.2, 500.0)])),
    "cubic": fa.Drive(spring=fa.Spring(stiffness=1.0, cubic=3e4)),
    "stops": fa.Drive(stops=fa.Stops(upper=0.2, stiffness=5e4, damping=1.0)),
    "play": fa.Drive(backlash=fa.Backlash(width=0.05)),
}
STARTS = {
    "lugre": ([0.0], [0.0], [0.5]),
    "table": ([0.0, 0.0], [0.0, 3.0], [0.3]),
    "cubic": ([0.0, 0.0], [0.0, 4.0], [0.3]),
    "stops": ([0.0], [1.5], [0.2]),
    "play": ([0.0, 0.0], [0.0, 2.0], [0.4]),
}
"""q0, qd0 and u of each; kinks and stiff springs make later states depend on earlier ones some hundred times over."""

ERROR, DRIFT = {1e-6: 5e-3, 1e-8: 5e-4, 1e-9: 5e-5}, {1e-6: 2e-4, 1e-8: 5e-5, 1e-9: 2e-5}
"""Of the state after 2 s, and of the energy balance, by rtol: a kink within a step costs a thousand tolerances."""


@functools.cache
def model(name):
    elastic = {} if len(STARTS[name][0]) == 1 else {"stiffness": 40.0, "rotor_inertia": 0.05}
    joint = fa.Revolute(drive=DRIVES[name], **elastic)
    body = fa.Rigid(length=0.6, mass=1.7, inertia=0.03)
    return fa.Model(fa.Arm(name=name, gravity=(0, 0, 0), links=[fa.Link(name="m", joint=joint, body=body)]))


@functools.cache
def exact(name):
    """The state after 2 s, by a run in one go with tight tolerances, and by a second method."""
    q0, qd0, u = STARTS[name]
    ends = []
    for method, rtol in (("auto", 1e-11), ("radau5", 1e-8)):
        given = {"rtol": rtol, "solver": fa.Solver(atol=1e-2 * rtol), "samples": 3, "progress": False, "method": method}
        run = fa.simulate(model(name), PERIOD * COUNT, u=u, q0=q0, qd0=qd0, **given)
        ends.append(np.r_[run.q.values[-1], run.qd.values[-1]])
    np.testing.assert_allclose(*ends, rtol=0, atol=1e-4)
    return ends[0]


def moved(stepper, u):
    """The state after 2 s."""
    return [stepper.step(u) for _ in range(COUNT)][-1]


@pytest.mark.parametrize("name", DRIVES)
@pytest.mark.parametrize("rtol", [1e-6, 1e-9])
@pytest.mark.parametrize("count", [None, 3])
def test_a_stepper_follows_what_becomes_fast(name, rtol, count):
    q0, qd0, u = STARTS[name]
    stepper = fa.Stepper(
        model(name), PERIOD, np.tile(q0, (count, 1)) if count else q0, qd0, rtol=rtol, atol=1e-3 * rtol
    )
    x = moved(stepper, u)
    error = np.abs(np.atleast_2d(x)[:, : 2 * len(q0)] - exact(name)).max()
    assert error < ERROR[rtol]
    assert np.max(stepper.energy_drift) < DRIFT[rtol]


@pytest.mark.parametrize("name", DRIVES)
def test_a_sampled_loop_follows_what_becomes_fast(name):
    """Alone and in lanes: a law that gives a constant torque is called every period."""
    q0, qd0, u = STARTS[name]
    law = Sampled(lambda t, q, qd: u, PERIOD)
    given = {"q0": q0, "qd0": qd0, "samples": 3, "progress": False}
    alone = fa.simulate(model(name), PERIOD * COUNT, u=law, **given)
    many = fa.simulate_many(model(name), PERIOD * COUNT, u=[law] * 2, **given)
    for run in (alone, many.isel(run=1)):
        found = np.r_[run.q.values[-1], run.qd.values[-1]]
        assert np.abs(found - exact(name)).max() < ERROR[1e-8]
    assert alone.energy_drift < DRIFT[1e-8]


@pytest.mark.parametrize("u", ["python", "compiled", "lanes"])
def test_a_sampled_pd_that_starts_fast_keeps_its_energy(u):
    """The arm of Subudhi & Morris, thrown at 2 rad/s under a PD at 10 ms: the drift was 0.98."""
    arm = fa.Model(fa.load("subudhi-morris"))
    pd = JointPD([0.0, 0.0], Kp=5.0, Kd=2.0)
    law = Sampled((lambda t, q, qd: -5.0 * q[[0, 3]] - 2.0 * qd[[0, 3]]) if u == "python" else pd, 0.01)
    given = {"qd0": [2.0, 0, 0, 2.0, 0, 0], "samples": 41, "progress": False}
    tight = fa.simulate(arm, 1.0, u=law, solver=fa.Solver(rtol=1e-11, atol=1e-13), **given)
    if u == "lanes":
        found = fa.simulate_many(arm, 1.0, u=[law] * 3, **given).isel(run=2)
    else:
        found = fa.simulate(arm, 1.0, u=law, **given)
    assert found.energy_drift < 1e-6
    assert np.abs(found.q - tight.q).max() < 1e-6


def test_what_follows_a_reset_is_the_same_to_the_last_bit():
    q0, qd0, u = STARTS["lugre"]
    for count in (None, 3):
        stepper = fa.Stepper(model("lugre"), PERIOD, np.tile(q0, (count, 1)) if count else q0, qd0)
        first = [stepper.step(u) for _ in range(40)]
        stepper.step([-3.0])
        stepper.reset()
        np.testing.assert_array_equal([stepper.step(u) for _ in range(40)], first)


def test_fixed_steps_that_are_too_long_are_reported_by_the_energy():
    """Somebody who asks for fixed steps gets them, and hears that the energies do not balance."""
    q0, qd0, u = STARTS["table"]
    for count in (None, 3):
        start = np.tile(q0, (count, 1)) if count else q0
        stepper = fa.Stepper(model("table"), PERIOD, start, qd0, method="rk4", step=PERIOD)
        # at the 64th call: the balance is not looked at more often
        message = r"Stepper: the energy balance.* has an error of .* by t = 0\.64 s; .* method='auto'"
        with pytest.warns(EnergyDrift, match=message):
            moved(stepper, u)
        assert np.max(stepper.energy_drift) > 1e-3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        moved(fa.Stepper(model("table"), PERIOD, q0, qd0), u)


def bouncing(unit):
    """A mass between a spring and a stiff stop, in a unit of length and of time."""
    k = 2.0 / unit**2
    drive = fa.Drive(parallel=fa.Parallel(stiffness=k), stops=fa.Stops(upper=0.4 * unit, stiffness=300.0 * k))
    body = fa.Rigid(length=0.0, mass=1.5, com=(0, 0, 0), inertia=0.1)
    link = fa.Link(name="a", joint=fa.Prismatic(axis=(1, 0, 0), drive=drive), body=body)
    return fa.Model(fa.Arm(name="bouncing", links=[link]))


@pytest.mark.parametrize("method", ["dop853", "rk45"])
def test_the_shortest_step_is_a_share_of_the_time_that_has_passed(method):
    """A run of 5e-16 s with steps of 1e-17 s moves as one of 5 s does, also where a step was too long and is halved."""
    ends = []
    for unit in (1.0, 1e-16):
        solver = fa.Solver(method=method, rtol=1e-6, atol=1e-9 * unit)
        given = {"q0": [-0.5 * unit], "samples": 7, "solver": solver, "progress": False}
        one = fa.simulate(bouncing(unit), 5.0 * unit, **given)
        many = fa.simulate_many(bouncing(unit), 5.0 * unit, runs=2, **given)
        assert many.status.values.tolist() == [one.attrs["status"]] * 2 == ["completed"] * 2
        stepper = fa.Stepper(bouncing(unit), 5.0 / 6 * unit, method=method, rtol=1e-6, atol=1e-9 * unit, q0=given["q0"])
        stepped = np.array([given["q0"], *([stepper.step([0.0])[0]] for _ in range(6))])
        ends += [q / unit for q in (one.q.values, stepped, *many.q.values)]
    np.testing.assert_allclose(ends[1:], [ends[0]] * 7, rtol=0, atol=1e-4)
