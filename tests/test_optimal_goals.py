"""Tip goals of optimal motions: two links by the law of cosines, arms that sag, the nearest of many, ranges of joints,
free bases; how an equilibrium follows its joints; through the collocation; what is refused."""

import numpy as np
import pytest
from free_arms import bus
from random_arms import random_arm

import flexarm as fa
from flexarm.analysis import configuration, equilibrium
from flexarm.analysis.equilibrium import equilibrium_slope
from flexarm.optimal import Limits, goals, optimal_motion
from flexarm.optimal.goals import Sought, goal, joints_at
from flexarm.optimal.task import asked, standing
from flexarm.quaternions import quaternion

FREE = np.array([-np.inf, np.inf])


def planar(lengths, **more):
    """Rigid links that turn about z, in the plane of x and y."""
    links = [
        fa.Link(name=f"l{i}", joint=fa.Revolute(axis=(0, 0, 1)), body=fa.Rigid(length=length, mass=1.0))
        for i, length in enumerate(lengths)
    ]
    return fa.Model(fa.Arm(**{"name": "planar", "links": links} | more))


def found(model, wanted, near, ranges=None):
    """Joints for a goal near others."""
    ranges = np.tile(FREE, (len(near), 1)) if ranges is None else np.array(ranges, dtype=float)
    return joints_at(model, goal(wanted, "end"), np.array(near, dtype=float), ranges, "end")


def elbows(p, a, b):
    """Both ways in which links a and b reach p: the law of cosines."""
    for sign in (1, -1):
        elbow = sign * np.arccos((p @ p - a * a - b * b) / (2 * a * b))
        yield np.array([np.arctan2(p[1], p[0]) - np.arctan2(b * np.sin(elbow), a + b * np.cos(elbow)), elbow])


def nearest_turns(x, near):
    return x - 2 * np.pi * np.round((x - near) / (2 * np.pi))


@pytest.fixture(scope="module")
def two():
    return planar([1.0, 0.7])


@pytest.fixture(scope="module")
def spatial():
    return fa.Model(fa.load("spatial-6r"))


# -- closed forms ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_two_links_by_the_law_of_cosines_the_elbow_where_it_is_nearer(two, seed):
    rng = np.random.default_rng(seed)
    angle, near = rng.uniform(-np.pi, np.pi), rng.uniform(-4, 4, 2)
    p = rng.uniform(0.4, 1.6) * np.array([np.cos(angle), np.sin(angle)])
    both = [nearest_turns(x, near) for x in elbows(p, 1.0, 0.7)]
    wanted = min(both, key=lambda x: np.linalg.norm(x - near))
    np.testing.assert_allclose(found(two, {"tip": [*p, 0.0]}, near), wanted, atol=1e-6)
    for each in both:
        np.testing.assert_allclose(found(two, {"tip": [*p, 0.0]}, each + 0.1), each, atol=1e-6)


def test_a_range_of_the_elbow_leaves_the_other_side(two):
    p = np.array([1.0, 0.6])
    left, right = elbows(p, 1.0, 0.7)
    ranges = [[-3, 3], [-3, -0.1]]
    np.testing.assert_allclose(found(two, {"tip": [*p, 0.0]}, left, ranges), right, atol=1e-6)


def test_of_the_many_of_three_links_the_nearest():
    """Every direction of the last link, and both elbows of the others: all there are, seen one by one."""
    lengths, near, p = [1.0, 0.8, 0.5], np.array([0.3, 0.9, -1.6]), np.array([0.9, 0.8])
    least = np.inf
    for phi in np.linspace(-np.pi, np.pi, 20001):
        wrist = p - lengths[2] * np.array([np.cos(phi), np.sin(phi)])
        if abs(lengths[0] - lengths[1]) < np.linalg.norm(wrist) < lengths[0] + lengths[1]:
            for first in elbows(wrist, *lengths[:2]):
                x = nearest_turns(np.array([*first, phi - first.sum()]), near)
                least = min(least, np.linalg.norm(x - near))
    x = found(planar(lengths), {"tip": [*p, 0.0]}, near)
    assert np.linalg.norm(x - near) == pytest.approx(least, abs=1e-5)


def test_a_direction_of_the_last_link_and_whole_rotations():
    model, p = planar([1.0, 0.8, 0.5]), np.array([0.9, 0.8])
    phi = 0.4
    wrist = p - 0.5 * np.array([np.cos(phi), np.sin(phi)])
    (wanted, _) = elbows(wrist, 1.0, 0.8)
    wanted = np.array([*wanted, phi - wanted.sum()])
    R = [[np.cos(phi), -np.sin(phi), 0], [np.sin(phi), np.cos(phi), 0], [0, 0, 1]]
    for more in (
        {"direction": [2 * np.cos(phi), 2 * np.sin(phi), 0]},
        {"rotation": R},
        {"rotation": quaternion(np.array([0, 0, phi])).tolist()},
    ):
        np.testing.assert_allclose(found(model, {"tip": [*p, 0.0], **more}, wanted + 0.2), wanted, atol=1e-5)


# -- arms that bend ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rotated", [False, True])
def test_the_tip_of_an_arm_that_sags_stands_at_the_goal(spatial, rotated):
    near, p = np.array([0.3, -1.2, 1.9, 0.4, -0.7, 0.1]), np.array([1.6, 0.5, 0.9])
    turned = np.array([[0.36, 0.48, -0.8], [-0.8, 0.6, 0.0], [0.48, 0.64, 0.6]])
    x = found(spatial, {"tip": p, **({"rotation": turned} if rotated else {})}, near)
    q, _ = equilibrium(spatial, x, held="joints")
    np.testing.assert_allclose(spatial.tip(q)[:3, 3], p, atol=1e-6)
    straight = spatial.tip(configuration(spatial, x))
    assert np.linalg.norm(straight[:3, 3] - p) > 2e-3  # without its sag the arm would miss
    if rotated:
        np.testing.assert_allclose(spatial.tip(q)[:3, :3], turned, atol=1e-6)
        return
    J = [(standing_tip(spatial, x + 1e-5 * e) - standing_tip(spatial, x - 1e-5 * e)) / 2e-5 for e in np.eye(6)]
    _, _, ways = np.linalg.svd(np.array(J).T)
    assert np.abs(ways[3:] @ (x - near)).max() < 1e-3  # nothing that keeps the tip brings the joints nearer
    assert np.linalg.norm(x - near) > 0.05


def standing_tip(model, joints):
    return model.tip(equilibrium(model, joints, held="joints")[0])[:3, 3]


@pytest.mark.parametrize("name", ["spatial", "elastic", "random", "telescope", "free"])
def test_how_an_equilibrium_follows_its_joints(name, spatial):
    model = {
        "spatial": lambda: spatial,
        "elastic": lambda: fa.Model(fa.load("subudhi-morris-elastic").replace(gravity=(0.0, -9.81, 0.0))),
        "random": lambda: fa.Model(random_arm(3, elastic=True)),
        "telescope": lambda: fa.Model(fa.load("theodore-ghosal")),
        "free": lambda: fa.Model(bus()),
    }[name]()
    joints = [i + model.nq - model.nv for i in model.arm.joints]
    x = np.array(model.arm.rest)[joints] + 0.1 * np.random.default_rng(1).uniform(-1.0, 0.0, len(joints))
    slope = equilibrium_slope(model, equilibrium(model, x, held="joints")[0])
    h, numeric = 1e-5, []
    for e in np.eye(len(x)):
        ends = [equilibrium(model, x + s * h * e, held="joints")[0] for s in (1, -1)]
        numeric.append(np.diff(ends[::-1], axis=0)[0][model.nq - model.nv :] / (2 * h))
    np.testing.assert_allclose(slope, np.array(numeric).T, atol=1e-7)


@pytest.mark.parametrize("more", [{}, {"direction": [1, 0, 0]}, {"rotation": np.eye(3)}])
def test_how_the_tip_of_an_arm_at_rest_misses_follows_its_joints(spatial, more):
    wanted = goal({"tip": [1.6, 0.5, 0.9], **more}, "end")
    sought = Sought(spatial, wanted, np.zeros(6), np.tile(FREE, (6, 1)))
    x, h = np.array([0.3, -1.2, 1.9, 0.4, -0.7, 0.1]), 1e-5
    numeric = [(sought.missed(x + h * e) - sought.missed(x - h * e)) / (2 * h) for e in np.eye(6)]
    np.testing.assert_allclose(sought.slope(x), np.array(numeric).T, atol=1e-8)


def test_whole_turns_are_taken_away_where_joints_may(two):
    x, p = next(elbows(np.array([1.0, 0.6]), 1.0, 0.7)), goal({"tip": [1.0, 0.6, 0.0]}, "end")
    turned = x + 2 * np.pi * np.array([2, -1])
    free = Sought(two, p, x + 0.5, np.tile(FREE, (2, 1)))
    np.testing.assert_allclose(free.unwound(turned), x, atol=1e-12)
    held = Sought(two, p, x + 0.5, np.array([FREE, turned[1] + [-0.5, 0.5]]))
    np.testing.assert_allclose(held.unwound(turned), [x[0], turned[1]], atol=1e-12)


def test_a_telescope_stays_within_its_length():
    model = fa.Model(fa.load("theodore-ghosal"))
    rest = np.array(model.arm.rest)[:3]
    x = found(model, {"tip": [0.4, 0.4, 0.5]}, rest)
    q, _ = equilibrium(model, x, held="joints")
    np.testing.assert_allclose(model.tip(q)[:3, 3], [0.4, 0.4, 0.5], atol=1e-6)
    with pytest.raises(fa.DescriptionError, match=r"end: the tip comes no nearer to \[0, 5, 0.3\] than "):
        found(model, {"tip": [0.0, 5.0, 0.3]}, rest)


# -- as part of a motion -----------------------------------------------------------------------------------------------


def test_a_motion_from_goal_to_goal():
    model = planar([1.0, 0.7], gravity=(0.0, -9.81, 0.0))
    given = {"objective": "effort", "duration": 1.0, "intervals": 20, "most_intervals": 40, "tolerance": 1e-3}
    start, end = {"tip": [1.2, 0.3, 0.0]}, {"tip": [0.8, 1.1, 0.0]}
    motion = optimal_motion(model, start, end, **given)
    np.testing.assert_allclose(model.tip(motion.q[0])[:3, 3], start["tip"], atol=1e-6)
    np.testing.assert_allclose(model.tip(motion.q[-1])[:3, 3], end["tip"], atol=1e-3)
    assert np.sign(motion.q[0, 1]) == np.sign(motion.q[-1, 1])  # the end is the one near the start


def test_the_arm_stands_at_both_ends(spatial):
    task = asked(spatial, {"tip": [1.6, 0.5, 0.9]}, {"tip": [1.4, -0.6, 1.2]}, None, "effort", 2.0, 1e-4)
    for q, u, p in zip((task.start, task.end), task.held, ([1.6, 0.5, 0.9], [1.4, -0.6, 1.2]), strict=True):
        np.testing.assert_allclose(spatial.tip(q)[:3, 3], p, atol=1e-6)
        B = spatial.input_matrix(q)
        np.testing.assert_allclose(spatial.evaluate("restoring_force", q), B @ u, atol=1e-6)


def test_the_end_is_near_the_start_and_within_the_range_of_joints(two):
    (left, right), p = elbows(np.array([1.0, 0.6]), 1.0, 0.7), {"tip": [1.0, 0.6, 0.0]}
    for side in (left, right):
        task = asked(two, side + 0.3, p, None, "effort", 1.0, 1e-4)
        np.testing.assert_allclose(task.end, side, atol=1e-6)
    limits = {"joint_range": [[-3, 3], [-3, 0.1]]}
    np.testing.assert_allclose(asked(two, [0.0, 0.0], p, limits, "effort", 1.0, 1e-4).end, right, atol=1e-6)
    q, u = standing(two, p, right + 0.1, Limits(), "through[0]")
    np.testing.assert_allclose(q, right, atol=1e-6)
    assert not u.any()


def test_a_tip_goal_of_a_free_base_is_as_the_base_sees_it():
    model = fa.Model(bus())
    joints = np.array([0.0, 0.7, -0.9])
    q = configuration(model, joints)
    x = found(model, {"tip": model.tip(q)[:3, 3], "frame": "base"}, joints + 0.1)
    np.testing.assert_allclose(model.tip(configuration(model, x))[:3, 3], model.tip(q)[:3, 3], atol=1e-6)
    turned = {"tip": model.tip(q)[:3, 3], "rotation": model.tip(q)[:3, :3], "frame": "base"}
    np.testing.assert_allclose(found(model, turned, joints + 0.1)[1:], joints[1:], atol=1e-5)


SCENARIO = """
name = "s"
arm = "rigid-two-link"
until = 2.0

[reference]
type = "optimal"
start = [0.0, 1.0]
end = { tip = [0.2, 1.4, 0.0] }
objective = "effort"
duration = 1.0
tolerance = 1e-3
"""


def test_a_scenario_ends_with_the_tip_at_a_place(tmp_path):
    (tmp_path / "s.toml").write_text(SCENARIO)
    scenario = fa.load_scenario(tmp_path / "s.toml")
    model = fa.Model(scenario.loaded_arm())
    motion = scenario.reference.found(model, (0.0, 0.0))
    np.testing.assert_allclose(model.tip(motion.q[-1])[:3, 3], [0.2, 1.4, 0.0], atol=1e-3)
    np.testing.assert_allclose(motion.q[0], [0.0, 1.0], atol=1e-12)


@pytest.mark.parametrize(
    ("end", "message"),
    [
        ("{ tip = [0.2, 1.4] }", "reference.end.tip has 2 entries; it must have three"),
        (
            "{ place = [0.2, 1.4, 0.0] }",
            "end has the unknown key 'place'; allowed keys are tip, direction, rotation, frame",
        ),
    ],
)
def test_a_scenario_with_a_wrong_goal_is_refused(tmp_path, end, message):
    (tmp_path / "s.toml").write_text(SCENARIO.replace("{ tip = [0.2, 1.4, 0.0] }", end))
    with pytest.raises(fa.DescriptionError, match=message):
        fa.load_scenario(tmp_path / "s.toml")


# -- what is refused ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("end", "message"),
    [
        ({"tip": [3.0, 1.0, 0.0]}, r"end: the tip comes no nearer to \[3, 1, 0\] than 1.462 m"),  # sqrt(10) - 1.7
        ({"tip": [1.0, 0.5, 0.1]}, r"end: the tip comes no nearer to \[1, 0.5, 0.1\] than 0.1 m"),
        ({"tip": [0.0, 0.1, 0.0]}, r"end: the tip comes no nearer to \[0, 0.1, 0\] than 0.2 m"),
        ({"tip": [1.7, 0.0, 0.0], "direction": [0, 0, 1]}, "than .* m and 1.57. rad"),
        ({"tip": [1.0, 0.0]}, "end.tip has 2 entries; it must have three"),
        ({"tip": [1.0, "a", 0.0]}, r"end.tip\[1\] is 'a'; it must be a number in m"),
        ({"direction": [1, 0, 0]}, r"end.tip is missing; it must be the position of the tip, \[x, y, z\]"),
        ({"tip": [1, 0, 0], "direction": [0, 0]}, "end.direction has 2 entries"),
        ({"tip": [1, 0, 0], "direction": [0, 0, 0]}, "end.direction has length zero; it must be a direction"),
        (
            {"tip": [1, 0, 0], "rotation": [[1, 0, 0], [0, 1, 0]]},
            "end.rotation is .*; it must be the rows of a rotation",
        ),
        ({"tip": [1, 0, 0], "rotation": -np.eye(3)}, "end.rotation is .*; it must be the rows of a rotation matrix"),
        ({"tip": [1, 0, 0], "rotation": [2.0, 0, 0, 0]}, r"or a unit quaternion \(w, x, y, z\)"),
        ({"tip": [1, 0, 0], "rotation": "up"}, "end.rotation is not an array of numbers"),
        (
            {"tip": [1, 0, 0], "rotation": np.eye(3), "direction": [1, 0, 0]},
            "end.rotation and direction exclude each other",
        ),
        ({"tip": [1, 0, 0], "frame": "tip"}, "end.frame is 'tip'; it must be world or base"),
        (
            {"tip": [1, 0, 0], "speed": 1},
            "end has the unknown key 'speed'; allowed keys are tip, direction, rotation, frame",
        ),
    ],
)
def test_a_goal_that_does_not_fit_is_refused_in_one_line(two, end, message):
    with pytest.raises(fa.DescriptionError, match=message) as refusal:
        asked(two, [0.0, 1.0], end, None, "effort", 1.0, 1e-4)
    assert str(refusal.value).startswith("optimal_motion: end")
    assert "\n" not in str(refusal.value)


def test_out_of_a_range_of_joints_is_said_so(two):
    """The shoulder may turn to 1 rad, the elbow by half a radian: there the tip stands, from which it cannot go on."""
    shoulder, elbow = 1.0, 0.5
    tip = np.array([np.cos(shoulder), np.sin(shoulder)]) + 0.7 * np.array([np.cos(1.5), np.sin(1.5)])
    beyond = tip + 0.2 * np.array([-np.sin(1.3), np.cos(1.3)])
    limits = {"joint_range": [[0, shoulder], [0, elbow]]}
    message = r"within limits.joint_range to \[.*\] than 0.2 m"
    with pytest.raises(fa.DescriptionError, match=message):
        asked(two, [0.1, 0.1], {"tip": [*beyond, 0.0]}, limits, "effort", 1.0, 1e-4)


def test_a_free_base_must_be_asked_as_it_sees_the_tip():
    model = fa.Model(bus())
    message = 'arm .servicer. has a free base, whose final pose .*; give the tip goal with frame = "base"'
    with pytest.raises(fa.DescriptionError, match=message):
        found(model, {"tip": [2, 0, 0]}, [0.0, 0.0, 0.0])
    tied = [fa.Strut(link="upper", point=[0.0, 0.0, 1.0], stiffness=10.0)]
    for bent in ({"gravity": (0.0, 0.0, -1.0)}, {"struts": tied}):
        with pytest.raises(fa.DescriptionError, match="so the static deflection there is unknown"):
            found(fa.Model(bus(**bent)), {"tip": [2, 0, 0], "frame": "base"}, [0.0, 0.0, 0.0])


def test_where_the_arm_does_not_stand_its_joints_are_not(two, monkeypatch):
    """An arm that falls with its elbow on the one side; and one that falls everywhere."""

    def falling(least):
        def standing(model, q, held):
            if q[1] < least:
                raise fa.FlexarmError("no equilibrium found")
            return equilibrium(model, q, held)

        return standing

    left, right = elbows(np.array([1.0, 0.6]), 1.0, 0.7)
    monkeypatch.setattr(goals, "equilibrium", falling(0.0))
    np.testing.assert_allclose(found(two, {"tip": [1.0, 0.6, 0.0]}, right), left, atol=1e-6)
    monkeypatch.setattr(goals, "equilibrium", falling(np.inf))
    with pytest.raises(fa.FlexarmError, match="no equilibrium found"):
        found(two, {"tip": [1.0, 0.6, 0.0]}, right)
