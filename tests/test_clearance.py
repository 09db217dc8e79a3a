"""Clearance of a point from an obstacle: plain geometry, differences, and an obstacle that a controller passes."""

import numpy as np
import pytest

import flexarm as fa
from flexarm.control import Predictive, Sampled
from flexarm.description.obstacles import Plane, Sphere

UPPER, FORE, AT = 0.45, 0.6, 0.4
END = (1.4, 0.5)
PERIOD, MARGIN = 0.02, 0.02
WALL = {"point": [0.1, 0.9, 0.2], "normal": [0.6, -0.8, 0.0]}


def link(name, length, mass, EI):
    body = fa.Beam(length=length, mass=mass, EI=EI, modes={"y": 1}, damping=0.01)
    return fa.Link(name=name, joint=fa.Revolute(axis=(0, 0, 1), rotor_inertia=0.02), body=body)


@pytest.fixture(scope="module")
def two():
    """Two links that bend, in the plane."""
    links = [link("upper", UPPER, 0.4, 30.0), link("fore", FORE, 0.3, 8.0)]
    return fa.Model(fa.Arm(name="two", links=links, payload=fa.Payload(mass=0.15)))


def read(model, *sensors, q):
    return fa.outputs(model, sensors).values(q, np.zeros(model.nv))


def ball(center, size, **more):
    return fa.Clearance(obstacle={"center": center, "radius": size}, **more)


def test_the_tip_s_distance_is_that_of_plain_geometry(two):
    """Outside, at the surface and inside, from the position of the tip by the model's frames."""
    q = np.array([0.3, -0.7, 0.02, -0.03])
    p, c = two.tip(q)[:3, 3], np.array([0.5, -0.6, 0.35])
    apart = np.linalg.norm(p - c)
    for radius, thick in ((0.12, 0.0), (0.2, 0.07), (apart - 0.03, 0.03), (1.3 * apart, 0.0)):
        (y,) = read(two, ball(c, radius, radius=thick), q=q)
        assert y == pytest.approx(apart - radius - thick, abs=1e-6 * (radius + thick))
    (y,) = read(two, ball(c, apart - 0.03, radius=0.03), q=q)
    assert y == pytest.approx(0.0, abs=1e-14)
    (y,) = read(two, fa.Clearance(obstacle=WALL, radius=0.05), q=q)
    assert y == pytest.approx(np.array(WALL["normal"]) @ (p - WALL["point"]) - 0.05, rel=1e-12)


def test_a_station_s_distance_without_deflection(two):
    q, c = np.array([0.8, -1.1, 0.0, 0.0]), np.array([0.2, 0.9, -0.1])
    elbow, along = np.array([np.cos(0.8), np.sin(0.8), 0.0]), np.array([np.cos(-0.3), np.sin(-0.3), 0.0])
    p = UPPER * elbow + AT * FORE * along
    both = [ball(c, 0.15, link="fore", at=AT), ball(c, 0.15, link="upper", name="elbow")]
    wanted = [np.linalg.norm(x - c) - 0.15 for x in (p, UPPER * elbow)]
    np.testing.assert_allclose(read(two, *both, q=q), wanted, atol=1e-6 * 0.15)
    measured = fa.outputs(two, both)
    assert measured.names == ("fore_clearance", "elbow") and measured.units == ("m", "m") and not measured.driven


def test_slopes_are_those_of_differences(two):
    """Near the sphere's centre also, where the distance itself has a corner."""
    q, h = np.array([0.3, -0.7, 0.02, -0.03]), 1e-5
    p = two.tip(q)[:3, 3]
    sensors = [
        ball([0.5, -0.6, 0.35], 0.12),
        ball(p, 0.4, name="centre"),
        fa.Clearance(obstacle=WALL, link="fore", at=AT),
    ]
    C = np.asarray(two.linearize(q, np.zeros(4), np.zeros(2), outputs=sensors).C)
    values = [(read(two, *sensors, q=q + d) - read(two, *sensors, q=q - d)) / (2 * h) for d in h * np.eye(4)]
    np.testing.assert_allclose(C[:, :4], np.transpose(values), atol=1e-6)
    np.testing.assert_array_equal(C[:, 4:], 0.0)
    assert np.abs(C[[0, 2], :4]).min() > 1e-3


def test_an_obstacle_is_part_of_what_a_kernel_is_stored_for(two):
    """Two sensors that differ in the obstacle alone, as objects and as tables."""
    q, c = np.array([0.3, -0.7, 0.02, -0.03]), (0.5, -0.6, 0.35)
    (small,), (large,) = read(two, ball(c, 0.1), q=q), read(two, ball(c, 0.3), q=q)
    assert small - large == pytest.approx(0.2, abs=1e-6)
    same = fa.Clearance(obstacle=Sphere(center=c, radius=0.3))
    assert same == ball(c, 0.3) and same.described() == ball(c, 0.3).described()
    assert read(two, fa.Clearance(obstacle=Plane(**WALL)), q=q) == read(two, fa.Clearance(obstacle=WALL), q=q)


def test_a_free_base_is_placed_in_the_world():
    boom = fa.Link(name="boom", joint=fa.Revolute(), body=fa.Rigid(length=1.7, mass=0.8))
    model = fa.Model(fa.Arm(name="free", links=[boom], base=fa.FreeBase(mass=3.0, inertia=0.4)))
    q = np.array(model.arm.rest)
    q[:3] = 0.3, -0.4, 1.2
    (y,) = read(model, ball([0.3, 2.0, 1.2], 0.5, link="base"), q=q)
    assert y == pytest.approx(1.9, abs=1e-6)


def test_predictive_control_passes_an_obstacle_in_the_way(two):
    """Without the limit the tip enters the sphere by 29 mm. With it, the tip keeps the margin at every sample, and
    between samples it enters the margin by less than 15 %. Positions are those of the model's frames."""
    center, radius = np.array([0.56, 0.9, 0.0]), 0.08
    slew = fa.Quintic((0.0, 0.6), END, 1.2)
    free = Predictive(slew, bandwidth=8.0, horizon=25, limit=6.0, about="prediction")
    sensor = ball(center, radius)
    held = Predictive(
        slew, bandwidth=8.0, horizon=25, limit=6.0, about="prediction", outputs=[sensor], bounds=[[MARGIN, np.inf]]
    )
    found = []
    for law in (free, held):
        result = fa.simulate(two, 2.4, u=Sampled(law, PERIOD), samples=481, progress=False)
        tips = np.array([two.tip(q)[:3, 3] for q in result.q.values])
        found.append(np.linalg.norm(tips - center, axis=1) - radius)
        np.testing.assert_allclose(result.q.values[-1, :2], END, atol=5e-3)
        np.testing.assert_array_less(np.abs(result.u.values), 6.0 + 1e-9)
    assert found[0].min() < -0.025
    assert found[1][::4].min() == pytest.approx(MARGIN, abs=1e-6)
    assert found[1].min() > 0.85 * MARGIN
    assert result.attrs["predictive_failed"] == 0 < result.attrs["predictive_active"]


FILE = """
name = "passed"
arm = "subudhi-morris"
until = 0.4
[reference]
type = "quintic"
start = [0.0, 0.0]
end = [0.3, 0.2]
duration = 0.3
[controller]
type = "predictive"
bandwidth = 4.0
period = 0.01
outputs = [{type = "clearance", link = "fore", at = 0.5, obstacle = {point = [0.0, 0.18, 0.0], normal = [0, -1, 0]}}]
bounds = [[0.04, inf]]
"""


def test_a_scenario_names_the_sensor_by_its_type(tmp_path):
    path = tmp_path / "passed.toml"
    path.write_text(FILE)
    scenario = fa.load_scenario(path)
    result = scenario.run(progress=False)
    sensor = fa.Clearance(obstacle={"point": (0.0, 0.18, 0.0), "normal": (0, -1, 0)}, link="fore", at=0.5)
    y = fa.outputs(fa.Model(fa.load("subudhi-morris")), [sensor]).values(result.q.values, result.qd.values)
    assert result.attrs["predictive_active"] > 0
    assert y.min() > 0.035


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({}, "obstacle is missing"),
        ({"obstacle": 3}, r"obstacle is 3; it must be a sphere {center, radius} or a plane {point, normal}"),
        ({"obstacle": None}, r"obstacle is None; it must be a sphere {center, radius} or a plane {point, normal}"),
        ({"obstacle": {"center": [1, 2, 3], "radius": -1.0}}, "obstacle.radius is -1.0 m; it must be positive"),
        ({"obstacle": {"normal": [1, 1, 1]}}, "obstacle.normal is .*; it must be a unit vector"),
        (
            {"obstacle": {"normal": [0, 0, 1], "links": ["fore"]}},
            "obstacle.links does not apply to a sensor, which has one point; leave it out and give link",
        ),
        ({"obstacle": WALL, "radius": -0.1}, "radius is -0.1 m; it must be zero or positive"),
        ({"obstacle": WALL, "link": "fore", "at": 1.5}, "at is 1.5; it must be .*"),
    ],
)
def test_wrong_sensors_are_refused_in_one_line(given, line):
    with pytest.raises(fa.DescriptionError, match=rf"\AClearance: {line}\Z"):
        fa.Clearance(**given)


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"link": "for"}, "unknown link 'for'; did you mean 'fore'.*"),
        ({"at": 0.5}, "at is 0.5; it must be 1 without a link, for the tip of the arm"),
        ({"link": "base"}, "unknown link 'base'; the links are upper, fore"),
    ],
)
def test_places_that_the_arm_lacks_are_refused_in_one_line(two, given, line):
    with pytest.raises(fa.DescriptionError, match=rf"\AClearance: {line}\Z"):
        fa.outputs(two, [fa.Clearance(obstacle=WALL, **given)])
