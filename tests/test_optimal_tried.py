"""What a control engineer would try: limits other than torque, extremes, idle drives, mistakes; beside paper."""

import numpy as np
import pytest
from searched import on_its_grid
from small_arms import STILL, TURNED, cart, gantry, lift, pendulum, turning

import flexarm as fa
from flexarm.optimal import optimal_motion, search
from flexarm.optimal.start import is_hasty, prescribed, unhurried
from flexarm.optimal.task import asked

SOON = {"intervals": 10, "most_intervals": 10}


def rolling():
    """A link about its own axis: J qdd = u, and no tip moves."""
    body = fa.Rigid(length=0.5, mass=1.0, inertia=0.1)
    link = fa.Link(name="wrist", joint=fa.Revolute(axis=(1, 0, 0)), body=body)
    return fa.Model(fa.Arm(name="wrist", links=[link], gravity=STILL))


def rests(found):
    return max(found.report["end_error"], found.report["residual"]) <= 1e-4


# -- limits other than torque decide -----------------------------------------------------------------------------------


def test_a_limit_on_the_rate_decides_where_the_drive_is_strong():
    """A trapezoid: d / v, and v / a once more, but for a grid whose intervals are longer than that."""
    found = optimal_motion(cart(), [0], [1], {"torque": 10.0, "joint_rate": 0.2})
    assert 5.02 - 1e-3 < found.duration < 1.06 * 5.02 and rests(found)
    assert np.abs(found.qd).max() < 0.2 * (1 + 1e-4)


def test_a_limit_on_slopes_decides_where_it_is_small():
    """Four arcs of constant slope: T^3 = 32 d / slope."""
    found = optimal_motion(cart(), [0], [1], {"torque": 2.0, "torque_rate": 0.01}, **SOON)
    assert found.duration == pytest.approx(3200 ** (1 / 3), rel=1e-2) and rests(found)
    grid = on_its_grid(
        found
    )  # what a larger slope is worth, dT / d slope: in every interval it allows so much more change
    worth = (grid.on_limits["torque_rate"] * np.diff(grid.times)).sum()
    assert worth == pytest.approx(found.duration / 0.03, rel=3e-2)


def test_a_beginning_is_made_as_slow_as_its_limits_want_and_no_slower():
    """Through a place: slopes of the torques in either stretch, none from one to the next; an obstacle is no haste."""
    limits = {"torque": 1.0, "torque_rate": 0.01}
    task = asked(mass := cart(), [0], [1], limits, "time", None, 1e-4, [[0.5]])
    hasty = prescribed(mass, task.places, task.torque, None)
    slow = unhurried(task, hasty)
    assert is_hasty(task, hasty) and not is_hasty(task, slow)
    slope = [60 * 0.5 / T**3 for T in slow.durations]  # of a quintic's acceleration, at its ends the steepest
    assert max(slope) <= 0.01 * 1.01 < max(60 * 0.5 / (T / 2) ** 3 for T in slow.durations)
    assert unhurried(asked(cart(), [0], [1], {"torque": 1.0}, "time", None, 1e-4), hasty) is hasty
    post = {"torque": 1.0, "obstacles": [{"center": [0.6, 0, 0], "radius": 0.1}]}
    assert unhurried(asked(cart(), [0], [1], post, "time", None, 1e-4), hasty) is hasty


def test_the_rigid_arms_time_has_the_same_limits():
    limits = {"torque": 1.0, "torque_rate": 0.01}
    found = optimal_motion(fa.Model(turning(8.0)), [0], [1], limits, **SOON)
    assert found.report["rigid_duration"] == pytest.approx((3200 * TURNED) ** (1 / 3), rel=1e-2)


@pytest.mark.parametrize("limit", ["deflection", "moment"])
def test_a_limit_on_bending_decides_where_the_drive_is_strong(limit):
    """As slow as a motion in which the load is carried like a rigid one: it bends by what its acceleration says."""
    model, most = fa.Model(turning(8.0)), {"deflection": 1e-3, "moment": 0.05}[limit]
    found = optimal_motion(model, [0], [1], {"torque": 100.0, limit: most}, **SOON)
    assert rests(found) and 2 * np.sqrt(TURNED / 100.0) < found.duration < 10.0
    assert found.on_limits[limit].max() > 0
    if limit == "deflection":  # kept where the search looks: at the ends of its intervals
        assert np.abs(model.deflections(on_its_grid(found).q)[:, 0, 1]).max() < 1e-3 * (1 + 1e-4)


def test_a_lift_that_hardly_carries_its_load():
    """Up with a hundredth of a metre per second squared, and down on the brake: d = T^2 / (2 / a + 2 / b)."""
    found = optimal_motion(lift(), [0], [0.5], {"torque": 9.82}, **SOON)
    assert found.duration == pytest.approx(np.sqrt(1 / 0.01 + 1 / 19.63), rel=1e-3) and rests(found)


def test_a_motion_that_should_take_its_time_does():
    """w T + 12 / T^3 is least where T^4 = 36 / w, five times as long as the torques need."""
    w = 1e-3
    found = optimal_motion(cart(), [0], [1], {"torque": 1.0}, {"time": w, "effort": 1.0}, **SOON)
    T = (36 / w) ** 0.25
    assert found.duration == pytest.approx(T, rel=1e-2)
    assert found.report["cost"] == pytest.approx(w * T + 12 / T**3, rel=5e-3)


# -- extremes ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("duration", [1e2, 1e4])
def test_a_slow_motion_ends_at_rest(duration):
    """Slower than any vibration the beam is rigid: the integral of u^2 is 12 J^2 / T^3; and no rate is left."""
    found = optimal_motion(fa.Model(turning(8.0)), [0], [1], objective="effort", duration=duration, **SOON)
    assert found.report["cost"] == pytest.approx(12 * TURNED**2 / duration**3, rel=2e-2)
    assert found.report["end_rate"] < 1e-2 / duration


def test_a_weak_drive_takes_the_rigid_arms_time():
    found = optimal_motion(fa.Model(turning(8.0)), [0], [1], {"torque": 1e-6}, **SOON)
    assert found.duration == pytest.approx(2 * np.sqrt(TURNED / 1e-6), rel=1e-3)


def test_two_intervals_of_one_point_are_enough_for_one_switch():
    found = optimal_motion(cart(), [0], [1], {"torque": 1.0}, intervals=2, most_intervals=2, points=1)
    assert found.duration == pytest.approx(2.0, rel=1e-4) and rests(found)


def test_a_joint_that_moves_no_tip_comes_to_rest_too():
    found = optimal_motion(rolling(), [0], [1], {"torque": 1.0}, **SOON)
    assert found.duration == pytest.approx(2 * np.sqrt(0.1), rel=1e-3)
    np.testing.assert_allclose([found.q[-1, 0], found.qd[-1, 0]], [1.0, 0.0], atol=2e-4)


@pytest.mark.parametrize("way", [0.0, 0.2])
def test_a_drive_that_need_not_hurry_does_not_hinder_the_other(way):
    """Across the slide there is time enough: that drive is at its limit nowhere, and any of its ways will do."""
    found = optimal_motion(gantry(), [0, 0], [1, way], {"torque": 1.0}, **SOON)
    assert found.duration == pytest.approx(2 * np.sqrt(2.0), rel=1e-4)
    np.testing.assert_allclose(found.q[-1], [1, way], atol=1e-4)


def test_start_and_end_may_be_the_limits_of_the_range():
    found = optimal_motion(cart(), [1], [-1], {"torque": 1.0, "joint_range": [[-1, 1]]}, **SOON)
    assert found.duration == pytest.approx(2 * np.sqrt(2.0), rel=1e-3)


def test_an_infinite_limit_is_none():
    rate, ranges = [0.5, np.inf], [[-np.inf, 2.0], [-np.inf, np.inf]]
    limits = {"torque": 1.0, "torque_rate": rate, "joint_rate": np.inf, "joint_range": ranges, "deflection": np.inf}
    found = optimal_motion(gantry(), [0, 0], [0.1, 0.9], limits, **SOON)  # the second drive takes longer
    slopes = np.abs(np.diff(found.u, axis=0)).max(axis=1) / np.diff(found.times)
    first = np.abs(np.diff(found.u[:, 0])) / np.diff(found.times)
    assert rests(found) and first.max() < 0.5 * (1 + 1e-6) < slopes.max()
    everywhere = optimal_motion(cart(), [0], [1], {"torque": 1.0, "torque_rate": np.inf}, **SOON)
    assert 2.0 - 1e-3 < everywhere.duration < 2.2 and set(everywhere.on_limits) == set()


def test_only_limits_that_are_given_have_multipliers():
    limits = {"torque": 1.0, "joint_rate": 0.7}
    assert set(optimal_motion(cart(), [0], [1], limits, **SOON).on_limits) == {"joint_rate"}


@pytest.mark.parametrize("scheme", ["radau", "legendre"])
def test_a_motion_that_is_not_corrected_has_multipliers_of_its_joints_limits(scheme, monkeypatch):
    """As of a free base, whose grid alone there is: where the rate is at its limit, and not where the arm is placed."""
    monkeypatch.setattr(search, "is_shot", lambda _: False)
    limits = {"torque": 1.0, "joint_rate": 0.7}
    found = on_its_grid(optimal_motion(cart(), [0], [1], limits, intervals=20, most_intervals=20, scheme=scheme))
    on, rate = found.on_limits["joint_rate"], np.maximum(found.qd[:-1, 0], found.qd[1:, 0])[: len(found.times) - 1]
    assert set(found.on_limits) == {"joint_rate"}
    at = on > 1e-3 * on.max()
    assert 3 <= at.sum() < 19 and (rate[at] > 0.7 * (1 - 1e-3)).all()


def test_the_multipliers_of_a_grid_are_what_an_inputs_limit_is_worth(monkeypatch):
    """Of a motion that is not corrected: T = 2 sqrt(d / a), so dT / da = -T / (2 a) is the sum of them, each with the
    sign of its input; the switching function p = (1 - 2 t / T) / a."""
    monkeypatch.setattr(search, "is_shot", lambda _: False)
    found = on_its_grid(optimal_motion(cart(), [0], [1], {"torque": 4.0}, intervals=20, most_intervals=20))
    on, u, h = found.on_inputs[:-1, 0], found.u[:-1, 0], np.diff(found.times)
    assert np.abs(on).sum() == pytest.approx(1.0 / 8, rel=1e-2)
    t = (found.times[:-1] + found.times[1:]) / 2
    np.testing.assert_allclose(on / h, (1 - 2 * t) / 4, atol=1e-2)
    assert (on[np.abs(u) > 3.99] * u[np.abs(u) > 3.99] > 0).all()


# -- places on the way -------------------------------------------------------------------------------------------------


def test_there_and_back_is_the_way_out_twice_as_from_a_wall():
    """Out and back again the fastest turns at full torque: 4 sqrt(d / a) / sqrt(2)."""
    found = optimal_motion(cart(), [0], [0], {"torque": 1.0}, through=[[0.5]], **SOON)
    assert found.duration == pytest.approx(4 * np.sqrt(0.5), rel=1e-3)


def test_a_place_is_passed_where_the_arm_could_not_stand():
    """A pendulum swings up through the level with less torque than would hold it there, and may not stop there."""
    asked = {"limits": {"torque": 3.5}, "through": [[0.0]], **SOON}
    found = optimal_motion(pendulum(), [np.pi / 2], [-np.pi / 2], **asked)
    assert rests(found) and np.abs(found.q[:, 0]).min() < 1e-3
    with pytest.raises(
        fa.DescriptionError, match=r"holding the arm at the through\[0\] takes 4.905 N m at 'rod.joint'"
    ):
        optimal_motion(pendulum(), [np.pi / 2], [-np.pi / 2], **asked, stops=True)


# -- mistakes ----------------------------------------------------------------------------------------------------------

POST = {"center": [0.7, 0.0, 0.0], "radius": 0.1}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"end": [0.0]}, "end is equal to start, so no motion is the fastest; give another end"),
        (
            {"through": [[1.5]], "limits": {"torque": 1.0, "joint_range": [[-0.1, 1.1]]}},
            r"through\[0\]: 'cart.joint' is 1.5 m; limits.joint_range allows from -0.1 to 1.1",
        ),
        (
            {"through": [[0.3], [0.6]], "stops": True, "limits": {"torque": 1.0, "obstacles": [POST]}, "end": [0.1]},
            r"through\[1\]: the clearance of 'cart' from obstacles\[0\] is -0.0999 m",
        ),
        ({"start": [np.nan]}, "start: q contains NaN or infinity"),
        ({"end": {"tip": [0.5, np.nan, 0]}}, r"end.tip\[1\] is nan m; it must be finite"),
        ({"limits": {"torque": np.nan}}, "torque is nan; it must be one positive number"),
        ({"limits": {"torque": np.inf}}, "limits.torque is missing"),
        ({"tolerance": np.inf}, "tolerance is inf m; it must be finite"),
        ({"objective": {"time": np.nan}}, "objective.time is nan"),
        ({"objective": "effort", "duration": np.inf}, "duration is inf s; it must be finite"),
        ({"limits": {"torque": 1.0, "moment_at": []}}, "moment_at is empty"),
    ],
)
def test_a_mistake_is_one_line(given, message):
    with pytest.raises(fa.DescriptionError, match=message) as refusal:
        optimal_motion(**{"model": cart(), "start": [0.0], "end": [1.0], "limits": {"torque": 1.0}, **SOON, **given})
    assert "\n" not in str(refusal.value)


def test_to_stay_where_it_is_takes_no_effort():
    found = optimal_motion(cart(), [0.3], [0.3], objective="effort", duration=1.0, **SOON)
    assert found.report["cost"] == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(found.q, 0.3, atol=1e-9)


def test_in_a_play_no_motion_begins():
    drive = fa.Drive(backlash=fa.Backlash(width=0.01))
    joint = fa.Revolute(axis=(0, 0, 1), stiffness=100.0, rotor_inertia=0.1, drive=drive)
    link = fa.Link(name="rod", joint=joint, body=fa.Rigid(length=1.0, mass=1.0, inertia=0.1))
    loose = fa.Model(fa.Arm(name="loose", links=[link], gravity=STILL))
    with pytest.raises(fa.FlexarmError, match=r"start: .*; a motion cannot begin or end within backlash") as said:
        optimal_motion(loose, [0], [1], {"torque": 1.0})
    assert "\n" not in str(said.value)


def test_a_motion_that_cannot_be_as_quick_as_asked_is_told_so():
    with pytest.raises(
        fa.FlexarmError, match=r"no motion found .*; the most restrictive limit is that on 'cart.joint'"
    ):
        optimal_motion(cart(), [0], [1], {"torque": 1.0}, "effort", duration=1.9, **SOON)
