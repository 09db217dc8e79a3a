"""What limits bound of a configuration: deflections and moments as statics has them, the tip's box, clearances from
spheres and planes against distances by brute force; through the collocation; what is refused."""

from itertools import pairwise

import casadi as ca
import numpy as np
import pytest
from random_arms import random_arm, random_state
from searched import on_its_grid

import flexarm as fa
from flexarm.analysis import equilibrium
from flexarm.model.drawing import drawn
from flexarm.optimal import Limits, optimal_motion, search
from flexarm.optimal.collocation import Grid
from flexarm.optimal.measures import measures, peaks
from flexarm.optimal.start import prescribed
from flexarm.optimal.task import asked

FLOOR = {"normal": [0.0, 0.0, 1.0]}
QUICK = {"objective": "effort", "duration": 1.0, "intervals": 24, "most_intervals": 24, "tolerance": 1e-3}
FROM, TO = [0.0, 1.0], [1.2, 1.0]


def of(model, name, **limits):
    """The one measure of these limits."""
    given = Limits(**limits)
    given.check(model)
    (found,) = measures(model, given)
    assert found.name == name
    assert len(found.rows) == len(found.lower) == len(found.upper) == found.function.numel_out(0)
    return found


def cantilever(**more):
    """A beam that lies along x under gravity, with a load at its tip; its shapes hold a beam's static line."""
    beam = {"length": 1.2, "mass": 2.0, "EI": 150.0, "modes": {"z": 4}, "shapes": "polynomial"}
    link = fa.Link(name="beam", joint=fa.Revolute(axis=(0, 1, 0)), body=fa.Beam(**beam, **more))
    return fa.Model(fa.Arm(name="a", links=[link], payload=fa.Payload(mass=0.7), gravity=(0.0, 0.0, -9.81)))


@pytest.fixture(scope="module")
def two():
    """The bundled arm of two rigid links of a metre, in the plane of x and y, without gravity."""
    return fa.Model(fa.load("rigid-two-link").replace(gravity=(0.0, 0.0, 0.0)))


@pytest.fixture(scope="module")
def spatial():
    return fa.Model(fa.load("spatial-6r"))


# -- bending -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("at", [0.0, 0.25, 0.8])
def test_the_moment_of_a_cantilever_is_that_of_its_weight_beyond_the_station(at):
    model = cantilever()
    q, _ = equilibrium(model, [0.0], held="joints")
    (y,) = of(model, "moment", moment=1.0, moment_at=[at]).values(q)
    rest = 1.2 * (1 - at)
    assert abs(y) == pytest.approx(9.81 * (2.0 / 1.2 * rest**2 / 2 + 0.7 * rest), rel=1e-9)


def test_the_deflection_of_a_cantilever_is_that_of_the_tables():
    model = cantilever()
    q, _ = equilibrium(model, [0.0], held="joints")
    (y,) = of(model, "deflection", deflection=1.0).values(q)
    assert y == pytest.approx(-9.81 * (2.0 * 1.2**3 / 8 + 0.7 * 1.2**3 / 3) / 150.0, rel=1e-9)


def test_stations_and_planes_each_have_a_row_and_links_their_own_limit(spatial):
    none = np.inf
    found = of(spatial, "moment", moment=[none, 300.0, 80.0, none, none, none], moment_at=[0.0, 0.5])
    assert found.upper.tolist() == [300.0] * 4 + [80.0] * 4
    assert (found.lower == -found.upper).all()
    assert found.rows[0] == "the bending moment of 'upper' in y at 0"
    assert found.rows[-1] == "the bending moment of 'fore' in z at 0.5"
    few = of(spatial, "deflection", deflection=[none, none, 0.01, none, none, none])
    assert few.upper.tolist() == (-few.lower).tolist() == [0.01, 0.01]
    assert few.rows == tuple(f"the deflection of 'fore' along {axis}" for axis in "yz")


def test_deflections_are_those_of_the_model():
    arm = random_arm(7)
    model, (q, _, _) = fa.Model(arm), random_state(arm, 7)
    y = of(model, "deflection", deflection=1.0).values(q)
    all_of_them = model.deflections(q)[:, 1:3].ravel()
    np.testing.assert_allclose(y, all_of_them[all_of_them != 0.0], rtol=1e-10)


def test_a_model_with_other_numbers_has_their_moments():
    arm = cantilever().arm
    model = fa.Model(arm, vary=["beam.EI"])
    stiff = model.at({"beam.EI": 300.0})
    q = np.array([0.0, 0.01, -0.02, 0.03, 0.01])
    y, twice = (of(each, "moment", moment=1.0).values(q) for each in (model, stiff))
    np.testing.assert_allclose(twice, 2 * y, rtol=1e-12)


def test_peaks_are_the_same_without_bounds(spatial):
    bent, moment = peaks(spatial, ["deflection", "moment"], at=(0.0, 0.5))
    q = spatial.arm.rest + 0.01 * np.random.default_rng(2).normal(size=spatial.nq)
    np.testing.assert_allclose(bent.values(q), of(spatial, "deflection", deflection=1.0).values(q))
    np.testing.assert_allclose(moment.values(q), of(spatial, "moment", moment=1.0, moment_at=[0, 0.5]).values(q))
    assert not np.isfinite([*bent.lower, *bent.upper, *moment.lower, *moment.upper]).any()
    assert (bent.name, bent.unit, moment.name, moment.unit) == ("deflection", "m", "moment", "N m")


def test_a_rigid_arm_has_no_limits_on_bending(spatial):
    given = Limits(torque=900.0, moment=200.0, deflection=0.1, obstacles=[FLOOR])
    assert given.rigid() == Limits(torque=900.0, obstacles=[FLOOR])
    given.rigid().check(fa.Model(spatial.arm.rigid()))


# -- the tip's box -----------------------------------------------------------------------------------------------------


def test_a_box_bounds_the_tip_where_it_moves_and_a_bound_is_finite(two):
    inf = np.inf
    found = of(two, "tip_box", tip_box=[[-0.3, inf], [-inf, inf], [-1.0, 1.0]])
    assert found.rows == ("the tip's x",)
    q = np.array([0.4, -1.1])
    np.testing.assert_allclose(found.values(q), np.cos(0.4) + np.cos(-0.7))
    assert found.lower.tolist() == [-0.3]
    assert found.upper.tolist() == [inf]


def test_what_nothing_moves_must_be_in_the_box(two):
    with pytest.raises(fa.DescriptionError, match=r"limits.tip_box: the tip's z is 0 m for all motions; it must"):
        measures(two, Limits(tip_box=[[-1, 1], [-1, 1], [0.1, 1]]))


# -- obstacles ---------------------------------------------------------------------------------------------------------


def from_sphere(points, center, radius, thick):
    """The least distance of a line through points from a sphere, by looking at many of its points."""
    s = np.linspace(0, 1, 4001)[:, None]
    near = [np.linalg.norm(a + s * (b - a) - center, axis=1).min() for a, b in pairwise(points)]
    return min(near) - radius - thick


@pytest.mark.parametrize("seed", range(6))
def test_clearances_of_rigid_links_are_distances_of_lines(two, seed):
    rng = np.random.default_rng(seed)
    q, center, radius = rng.uniform(-3, 3, 2), rng.uniform(-1.5, 1.5, 3), 0.2
    found = of(two, "obstacles", obstacles=[{"center": center, "radius": radius}], link_radius=[0.05, 0.1])
    frames = two.frames(q)[:, :3, 3]
    wanted = [from_sphere(frames[i : i + 2], center, radius, thick) for i, thick in enumerate((0.05, 0.1))]
    np.testing.assert_allclose(found.values(q), wanted, atol=1e-5)
    assert found.rows[1] == "the clearance of 'fore' from obstacles[0]"


@pytest.mark.parametrize("name", ["spatial-6r", "theodore-ghosal", "dual-arm", "subudhi-morris-elastic"])
def test_clearances_of_bent_links_are_distances_from_where_they_are_drawn(name):
    model = fa.Model(fa.load(name))
    rng = np.random.default_rng(3)
    q = np.array(model.arm.rest) + 0.3 * rng.normal(size=model.nq)
    q[list(model.arm.flexible)] *= 0.2
    stations, _ = drawn(model, q)
    center = stations[-1, 12, :3] + [0.1, 0.3, 0.2]
    found = of(model, "obstacles", obstacles=[{"center": center, "radius": 0.1}])
    apart = {
        link.name: from_sphere(places[::5, :3], center, 0.1, 0.0)  # between five stations it is taken as straight
        for link, places in zip(model.arm.links, stations, strict=True)
    }
    for row, y in zip(found.rows, found.values(q), strict=True):
        assert y == pytest.approx(apart[row.split("'")[1]], abs=1e-5)
    assert len(found.rows) >= 2


def test_a_link_of_segments_is_followed_around_its_bend():
    body = fa.Beam(length=1.0, mass=1.0, EI=1.0, modes={"y": 2}, segments=6)
    model = fa.Model(fa.Arm(name="a", links=[fa.Link(name="rod", joint=fa.Revolute(axis=(0, 0, 1)), body=body)]))
    q = np.array(model.arm.rest)
    q[list(model.arm.flexible)] = 0.2
    stations, _ = drawn(model, q)
    assert stations[0, -1, 1] > 0.2  # far from straight
    center = stations[0, 10, :3] + [0.15, -0.1, 0.0]
    (y,) = of(model, "obstacles", obstacles=[{"center": center, "radius": 0.05}]).values(q)
    assert y == pytest.approx(from_sphere(stations[0, :, :3], center, 0.05, 0.0), abs=2e-3)


def test_a_sphere_that_touches_is_at_zero(two):
    """The tip of the arm at (2, 0, 0), a ball of 0.3 m about (2.4, 0, 0), a link of 0.1 m; and above its middle."""
    for center in ([2.4, 0.0, 0.0], [1.5, 0.0, 0.4]):
        found = of(two, "obstacles", obstacles=[{"center": center, "radius": 0.3, "links": ["fore"]}], link_radius=0.1)
        assert found.rows == ("the clearance of 'fore' from obstacles[0]",)
        np.testing.assert_allclose(found.values([0.0, 0.0]), 0.0, atol=1e-12)


def test_slopes_are_finite_where_the_center_lies_on_the_line_and_right_elsewhere(two):
    found = of(two, "obstacles", obstacles=[{"center": [0.5, 0.0, 0.0], "radius": 0.2}])
    q = found.function.sx_in()[0]
    y = found.function(q)
    derivatives = ca.Function("d", [q], [ca.jacobian(y, q), ca.hessian(y[0], q)[0], ca.hessian(y[1], q)[0]])
    assert all(np.isfinite(np.array(each)).all() for each in derivatives([0.0, 0.0]))
    at, h = np.array([0.7, -0.4]), 1e-6
    numeric = [(found.values(at + h * e) - found.values(at - h * e)) / (2 * h) for e in np.eye(2)]
    np.testing.assert_allclose(np.array(derivatives(at)[0]), np.array(numeric).T, atol=1e-8)


def test_a_plane_is_kept_by_all_points_that_move(spatial):
    """The waist stands on the floor, which is its place."""
    found = of(spatial, "obstacles", obstacles=[{"point": [0, 0, 0.2], **FLOOR}], link_radius=0.06)
    q = np.array(spatial.arm.rest) + 0.2 * np.random.default_rng(4).normal(size=spatial.nq)
    q[list(spatial.arm.flexible)] *= 0.05
    stations, frames = drawn(spatial, q)
    rigid = [each[:, 2, 3] for each in (frames[3:5], frames[4:6], frames[5:7])]
    wanted = [stations[1, 5::5, 2], stations[2, ::5, 2], *rigid]
    np.testing.assert_allclose(found.values(q), np.concatenate(wanted) - 0.26, atol=1e-9)
    assert not any("waist" in row for row in found.rows)


def test_a_capsule_that_nothing_moves_and_one_without_length(spatial):
    """A waist may stand in a ball; a trunk of no length does not go anywhere, a point that does has slopes."""
    ball = {"center": [0.3, 0.4, 0.3], "radius": 0.4}
    assert not any("waist" in row for row in of(spatial, "obstacles", obstacles=[ball]).rows)
    point = fa.Link(name="point", joint=fa.Revolute(axis=(0, 0, 1)), body=fa.Rigid(length=0.0, mass=1.0, inertia=0.1))
    model = fa.Model(fa.Arm(name="a", links=[cantilever().arm.links[0], point]))
    found = of(model, "obstacles", obstacles=[ball])
    assert found.rows == tuple(f"the clearance of {name!r} from obstacles[0]" for name in ("beam", "point"))
    q, (x,) = np.array([0.3, 0.2, 0.01, -0.02, 0.01, 0.03]), found.function.sx_in()
    slope = ca.Function("d", [x], [ca.jacobian(found.function(x), x)])
    numeric = [(found.values(q + 1e-6 * e) - found.values(q - 1e-6 * e)) / 2e-6 for e in np.eye(model.nq)]
    np.testing.assert_allclose(np.array(slope(q)), np.array(numeric).T, atol=1e-7)
    tip = model.tip(q)[:3, 3]
    assert found.values(q)[1] == pytest.approx(np.linalg.norm(tip - ball["center"]) - 0.4, abs=1e-5)


def test_obstacles_of_a_free_base_stand_in_the_world():
    model = fa.Model(fa.load("canadarm-free"))
    ball = {"center": [9.0, 3.0, 1.0], "radius": 0.5}
    q = np.array(model.arm.rest)
    q[7:] = 0.1 * np.random.default_rng(5).normal(size=model.nq - 7)
    moved = q.copy()
    half = 0.3
    moved[:7] = [1.0, -2.0, 0.5, np.cos(half), 0.0, 0.0, np.sin(half)]
    R = np.array([[np.cos(0.6), -np.sin(0.6), 0], [np.sin(0.6), np.cos(0.6), 0], [0, 0, 1]])
    there = {"center": (R @ ball["center"] + moved[:3]).tolist(), "radius": 0.5}
    here = of(model, "obstacles", obstacles=[ball]).values(q)
    np.testing.assert_allclose(of(model, "obstacles", obstacles=[there]).values(moved), here, rtol=1e-10)


# -- through the collocation -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def swung(two):
    """The cheapest motion of the two links without limits."""
    return optimal_motion(two, FROM, TO, None, **QUICK)


def test_an_obstacle_in_the_way_is_passed(two, swung):
    """A ball that the tip would run into halfway."""
    given = {
        "obstacles": [{"center": 1.1 * two.tip(swung.q[len(swung.q) // 2])[:3, 3], "radius": 0.15}],
        "link_radius": 0.05,
    }
    kept = on_its_grid(optimal_motion(two, FROM, TO, given, **QUICK))
    clearance = of(two, "obstacles", **given)
    least = [min(clearance.values(q).min() for q in each.q) for each in (swung, kept)]
    assert least[0] < -0.15
    assert least[1] > -1e-5  # at the ends of intervals, which are collocation points
    assert kept.report["cost"] > swung.report["cost"]
    pressed = kept.on_limits["obstacles"] > 1e-3 * kept.on_limits["obstacles"].max()
    near = [clearance.values(q).min() < 0.02 for q in kept.q[1:]]
    assert 0 < pressed.sum() < 12
    assert np.array(near)[pressed].all()


@pytest.mark.parametrize(("share", "radius"), [(0.9, 0.1), (1.0, 0.1), (1.05, 0.1), (1.1, 0.15), (1.15, 0.15)])
def test_a_ball_in_the_middle_of_the_way_costs_little(two, swung, share, radius):
    """Neighbouring points of a grid could pass it on different sides, which costs more than ten times as much."""
    center = share * two.tip(swung.q[len(swung.q) // 2])[:3, 3]
    given = {"obstacles": [{"center": center, "radius": radius}], "link_radius": 0.05}
    kept = optimal_motion(two, FROM, TO, given, **QUICK)
    assert swung.report["cost"] < kept.report["cost"] < 1.2 * swung.report["cost"]


def test_the_tip_stays_in_its_box(two, swung):
    kept = on_its_grid(optimal_motion(two, FROM, TO, {"tip_box": [[-0.235, 9], [-9, 9], [-9, 9]]}, **QUICK))
    assert two.tip(swung.q)[:, 0, 3].min() < -0.26
    assert two.tip(kept.q)[:, 0, 3].min() > -0.235 - 1e-5
    assert kept.report["cost"] > swung.report["cost"]
    assert kept.on_limits["tip_box"].max() > 0


def test_a_moment_is_kept_within_its_limit():
    model = fa.Model(fa.load("subudhi-morris"))
    limit = of(model, "moment", moment=1.0)
    free = optimal_motion(model, [0.0, 0.0], [1.0, 0.5], **QUICK)
    most = max(np.abs(limit.values(q)).max() for q in free.q)
    kept = optimal_motion(model, [0.0, 0.0], [1.0, 0.5], {"moment": 0.7 * most}, **QUICK)
    assert max(np.abs(limit.values(q)).max() for q in kept.q) < 0.75 * most
    assert kept.on_limits["moment"].max() > 0


def test_a_limit_on_deflections_does_not_lead_to_a_slow_motion():
    """From the quintic alone, the search for the Canadarm's slew ends at a motion that is 2.7 % slower."""
    arm, way, torques = fa.Model(fa.load("canadarm")), [0.75, 0.5, 1.0], [1700.0, 860.0, 90.0]
    durations = []
    for more in ({}, {"deflection": 0.3}):
        task = asked(arm, [0.0] * 3, way, {"torque": torques, **more}, "time", None, 1e-3)
        known = prescribed(arm, task.places, task.torque, None)
        durations.append(search._found_first(task, Grid(arm, 40, 2), known, 300, search.Stopped())[1].cost)
    assert durations[0] <= durations[1] < 1.01 * durations[0]


# -- what is refused ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"moment": -1.0}, "Limits: moment is -1.0; it must be one positive number, or a list of them"),
        ({"moment": 1.0}, "limits.moment does not apply to arm 'rigid-two-link'"),
        ({"moment": [1.0]}, "limits.moment has 1 entry; it must have 2, or one"),
        ({"moment_at": [0.0, 2.0]}, r"Limits: moment_at\[1\] is 2.0; it must be from 0 to 1"),
        ({"tip_box": [[0, 1]]}, r"Limits: tip_box is \[\[0, 1\]\]; it must be three pairs \[lowest, highest\]"),
        ({"tip_box": [[0, 1], [0, 1], [1, 0]]}, "tip_box is .*; it must be three pairs"),
        ({"link_radius": -0.1}, "link_radius is -0.1; it must be one number in m, zero or positive, or a list of them"),
        ({"link_radius": [0.1]}, "limits.link_radius has 1 entry; it must have 2, or one"),
        ({"obstacles": 3}, r"obstacles is 3; it must be a list of spheres {center, radius} and planes {point, normal}"),
        ({"obstacles": [3]}, r"obstacles\[0\] is 3; it must be a sphere {center, radius} or a plane {point, normal}"),
        ({"obstacles": [FLOOR, {"center": [1, 1, 1], "radius": -1.0}]}, r"obstacles\[1\].radius is -1.0 m; it must be"),
        ({"obstacles": [{"radius": 1.0}]}, r"obstacles\[0\].center is missing"),
        (
            {"obstacles": [{"center": [1, 1], "radius": 1.0}]},
            r"obstacles\[0\].center has 2 entries; it must have three",
        ),
        ({"obstacles": [{"center": [1, 1, "a"], "radius": 1.0}]}, r"obstacles\[0\].center\[2\] is 'a'; it must be a"),
        ({"obstacles": [{"normal": [1, 1, 1]}]}, r"obstacles\[0\].normal is .*; it must be a unit vector"),
        (
            {"obstacles": [{"normal": [0, 0, 1], "size": 1}]},
            r"obstacles\[0\]: unknown key 'size'; allowed keys are point",
        ),
        ({"obstacles": [{**FLOOR, "links": []}]}, r"obstacles\[0\].links is \[\]; it must be a list of links' names"),
        ({"obstacles": [{**FLOOR, "links": 3}]}, r"obstacles\[0\].links is 3; it must be a list of links' names"),
        ({"obstacles": [{**FLOOR, "links": ["hand"]}]}, r"obstacles\[0\].links has 'hand'; it must be upper or fore"),
        (
            {"joint_range": [[-1, 0.5], [-1, 1]]},
            "end: 'upper.joint' is 1 rad; limits.joint_range allows from -1 to 0.5",
        ),
        ({"tip_box": [[-3, 1.5], [-3, 3], [-1, 1]]}, "start: the tip's x is 2 m; limits.tip_box allows at most 1.5 m"),
        (
            {"obstacles": [{"center": [1.0, 1.0, 0.0], "radius": 0.5}]},
            r"end: the clearance of 'fore' from obstacles\[0\] is -0.05267 m; limits.obstacles allows at least 0 m",
        ),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(two, limits, message):
    with pytest.raises(fa.DescriptionError, match=message) as refusal:
        optimal_motion(two, [0.0, 0.0], [1.0, 0.5], limits, objective="effort", duration=1.0)
    assert "\n" not in str(refusal.value)


def test_a_moment_for_a_link_that_does_not_bend_is_refused(spatial):
    with pytest.raises(fa.DescriptionError, match=r"limits.moment\[0\] is 3 N m; link 'waist' is rigid, so it must"):
        Limits(moment=[3.0, np.inf, np.inf, np.inf, np.inf, np.inf]).check(spatial)


def test_there_is_no_peak_of_what_does_not_bend(two):
    with pytest.raises(fa.DescriptionError, match=r"objective\.moment: arm 'rigid-two-link' has no flexible link"):
        peaks(two, ["moment"])
