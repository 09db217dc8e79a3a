"""Switches found as times, and motions on which nothing is large: two masses on paper, what arcs push, peaks."""

import numpy as np
import pytest
from small_arms import two_masses

import flexarm as fa
from flexarm.optimal import optimal_motion
from flexarm.optimal.polish import _arcs
from flexarm.optimal.shooting import Course

SWITCHES, END = (1.002678, 2.108933, 3.215188), 4.217867
"""Two unit masses, a spring of 1 N/m, |u| <= 1 N on the first, one metre from rest to rest."""


@pytest.fixture(scope="module")
def masses():
    return two_masses()


@pytest.mark.parametrize("intervals", [10, 20])
def test_switches_are_where_they_belong_on_any_grid(masses, intervals):
    found = optimal_motion(masses, [0.0], [1.0], limits={"torque": 1.0}, tolerance=1e-5, intervals=intervals)
    assert found.duration == pytest.approx(END, abs=2e-5)
    u = found.u[:-1, 0]
    assert (np.abs(u) == 1.0).all()
    np.testing.assert_allclose(found.times[np.flatnonzero(np.diff(u)) + 1], SWITCHES, atol=2e-5)
    run = fa.simulate(
        masses, END + 5.0, found.torques, solver=fa.Solver(rtol=1e-10, atol=1e-12), samples=300, progress=False
    )
    after = run.time.values > found.duration
    np.testing.assert_allclose(run.tip.values[after, 0] - run.tip.values[0, 0], 1.0, atol=3e-5)


def test_multipliers_keep_the_sign_of_the_inputs_when_switches_are_polished(masses):
    found = optimal_motion(masses, [0.0], [1.0], limits={"torque": 1.0}, tolerance=1e-5)
    u, on, h = found.u[:-1, 0], found.on_inputs[:-1, 0], np.diff(found.times)
    far = np.abs(on / h) > 0.05 * np.abs(on / h).max()
    assert far.mean() > 0.8
    assert (np.sign(on[far]) == np.sign(u[far])).all()


def test_limits_on_the_way_are_not_given_up_for_switches(masses):
    """A joint rate that is limited keeps inputs between their limits: nothing is polished, and the limit holds."""
    limits = {"torque": 1.0, "joint_rate": 0.4}
    found = optimal_motion(masses, [0.0], [1.0], limits=limits, intervals=20, most_intervals=20)
    assert np.abs(found.qd[:, 0]).max() < 0.42
    assert found.duration > END


def pushes(times, u, until):
    steps = np.diff(np.minimum(times, until))
    return (u * steps[:, None]).sum(axis=0)


def test_arcs_push_as_much_as_the_inputs_that_they_stand_for():
    rng = np.random.default_rng(3)
    u = np.sign(rng.normal(size=(24, 2)))
    u[:4] = [[1.0, -1.0]] * 4
    u[4], u[10, 0], u[15, 1] = [0.3, -1.0], -0.2, 0.9
    most, T = np.array([2.0, 0.5]), 3.0
    course = Course(np.array([T]), u * most, (np.zeros((25, 4)),))
    lasts, arcs = _arcs(course, most)
    assert lasts.sum() == pytest.approx(T)
    assert set(np.abs(arcs / most).ravel().tolist()) == {1.0}
    ends = np.append(0.0, np.cumsum(lasts))
    np.testing.assert_allclose(pushes(ends, arcs, T), pushes(course.times, course.u, T), rtol=1e-9)


def test_inputs_between_their_limits_are_no_arcs():
    course = Course(np.array([1.0]), np.full((10, 1), 0.5), (np.zeros((11, 2)),))
    assert _arcs(course, np.array([1.0])) is None


@pytest.fixture(scope="module")
def planar():
    return fa.Model(fa.load("subudhi-morris"))


def bent(model, motion):
    return np.abs(model.deflections(motion.q)[:, :2, 1:3]).max()


def test_a_weight_on_the_largest_deflection_keeps_it_small(planar):
    asked = {"duration": 2.0, "intervals": 12, "most_intervals": 12}
    free = optimal_motion(planar, [0.0, 0.0], [1.2, 0.4], objective="effort", **asked)
    weights = {"effort": 1.0, "deflection": 20.0}
    kept = optimal_motion(planar, [0.0, 0.0], [1.2, 0.4], objective=weights, **asked)
    assert bent(planar, kept) < 0.6 * bent(planar, free)
    effort = (np.diff(kept.times)[:, None] * kept.u[:-1] ** 2).sum()
    assert kept.report["cost"] == pytest.approx(effort + 20.0 * bent(planar, kept), rel=5e-3)
    assert kept.report["cost"] < free.report["cost"] + 20.0 * bent(planar, free)


def test_nothing_bends_where_all_is_rigid(masses):
    with pytest.raises(fa.DescriptionError, match=r"objective\.deflection: arm 'two masses' has no flexible link"):
        optimal_motion(masses, [0.0], [1.0], {"torque": 1.0}, objective={"time": 1.0, "deflection": 1.0})
