"""Sensors on trees and free bases: against places of material points and what moves them, slopes, readings, doors."""

import numpy as np
import pytest
from oracle import Lagrangian
from random_arms import random_state
from random_trees import random_tree
from scipy.spatial.transform import Rotation

import flexarm as fa
from flexarm.attitude import configuration, local
from flexarm.quaternions import quaternion
from flexarm.sensors import outputs

ROUNDING = 1e-11  # relative: some thousand operations
DIFFERENCES = 1e-7  # relative: sixth-order differences with steps of 2e-3; of the second order rounding is 1e-16 / h^2
KINDS = [
    pytest.param({"seed": 3}, False, id="fixed"),
    pytest.param({"seed": 3}, True, id="free"),
    pytest.param({"seed": 8, "elastic": True}, True, id="elastic"),
    pytest.param({"seed": 16, "foreshortening": True}, True, id="foreshortening"),
    pytest.param({"seed": 10, "telescope": True}, True, id="telescope"),
]


def assert_close(actual, expected, tolerance=ROUNDING):
    scale = max(1.0, np.max(np.abs(expected)))
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance * scale)


def read(model, sensor, q, qd, qdd):
    """Without native code."""
    return np.array(model.output_function([sensor])(q, qd, qdd)).ravel()


def along(arm, q, qd, qdd, t):
    """The configuration on a motion through a state: a shift's axes do not turn with the base."""
    more = np.array(qdd, dtype=float)
    if arm.free:
        more[:3] += np.cross(qd[3:6], qd[:3])
    return configuration(arm, local(arm, q, q) + t * np.array(qd) + t * t / 2 * more, q)


def first(f, h=2e-3):
    return sum(c * (f(k * h) - f(-k * h)) for k, c in ((1, 45), (2, -9), (3, 1))) / (60 * h)


def second(f, h=2e-3):
    return (-490 * f(0) + sum(c * (f(k * h) + f(-k * h)) for k, c in ((1, 270), (2, -27), (3, 2)))) / (180 * h * h)


class Stations:
    """A tree with a wrench at every place where something is measured: the oracle's places, and what they work on."""

    def __init__(self, options, free):
        arm = random_tree(free=free, **options)
        where = [(link.name, 1.0 if link.joint.type == "telescope" else 0.6) for link in arm.links]
        where.append((arm.links[arm.tip_link].name, 1.0))
        forces = [
            fa.Force(name=f"w{i}", link=link, at=at, axes="link", kind="wrench") for i, (link, at) in enumerate(where)
        ]
        self.oracle = Lagrangian(arm.replace(forces=forces))
        self.arm, self.where = arm.replace(gravity=(0.4, -3.0, 9.0)), where
        self.model = fa.Model(self.arm)
        self.q, self.qd, _ = random_state(self.arm, options["seed"])
        self.qdd = np.random.default_rng(options["seed"]).normal(size=len(self.arm.velocities))

    def sensor(self, kind, i, **more):
        link, at = self.where[i]
        given = {} if i == len(self.where) - 1 else {"link": link, "at": at}
        return kind(**given, **more)

    def twist(self, i):
        """Velocity and angular velocity along the section's axes: the power of unit wrenches there."""
        units = np.zeros((6, 6 * len(self.where)))
        units[:, 6 * i : 6 * i + 6] = np.eye(6)
        return np.array([self.oracle.pushed(self.q, unit) @ self.qd for unit in units])

    def moved(self, t):
        return along(self.arm, self.q, self.qd, self.qdd, t)

    def read(self, sensor):
        return read(self.model, sensor, self.q, self.qd, self.qdd)


@pytest.mark.parametrize(("options", "free"), KINDS)
def test_what_is_measured_is_what_material_points_do(options, free):
    tree = Stations(options, free)
    arm = tree.arm
    for i in range(len(tree.where)):
        place = tree.oracle.places(tree.q)[i]
        assert_close(tree.read(tree.sensor(fa.TipPosition, i)), place)
        v = first(lambda t, i=i: tree.oracle.places(tree.moved(t))[i])
        assert_close(tree.read(tree.sensor(fa.TipVelocity, i)), v, DIFFERENCES)
        twist = tree.twist(i)
        assert_close(tree.read(tree.sensor(fa.TipVelocity, i, frame="tip")), twist[:3])
        assert_close(tree.read(tree.sensor(fa.Gyroscope, i)), twist[3:])
        a = second(lambda t, i=i: tree.oracle.places(tree.moved(t))[i])
        assert_close(tree.read(tree.sensor(fa.Accelerometer, i, frame="base", gravity=False)), a, DIFFERENCES)
        felt = a - np.array(arm.gravity)
        assert_close(tree.read(tree.sensor(fa.Accelerometer, i, frame="base")), felt, DIFFERENCES)
        link, at = tree.where[i]
        turn = Rotation.from_rotvec(tree.read(fa.StarTracker(link=link, at=at)))
        assert_close(tree.read(tree.sensor(fa.Accelerometer, i)), turn.as_matrix().T @ felt, DIFFERENCES)
        assert_close(turn.as_matrix() @ twist[:3], v, DIFFERENCES)
    tip = Rotation.from_matrix(tree.oracle.tip(tree.q)[:3, :3])
    assert_close(tree.read(fa.StarTracker(link=None)), tip.as_rotvec())


@pytest.fixture(scope="module")
def bus():
    return Stations({"seed": 8, "elastic": True}, True)


def test_on_the_bus(bus):
    q, qd, qdd = bus.q, bus.qd, bus.qdd
    R = Rotation.from_quat(q[3:7], scalar_first=True)
    w, g = qd[3:6], np.array(bus.arm.gravity)
    assert_close(bus.read(fa.TipPosition(link="base")), q[:3])
    assert_close(bus.read(fa.TipVelocity(link="base")), R.apply(qd[:3]))
    assert_close(bus.read(fa.TipVelocity(link="base", frame="tip", axes="zx")), qd[[2, 0]])
    assert_close(bus.read(fa.Gyroscope(link="base")), w)
    a = qdd[:3] + np.cross(w, qd[:3])
    assert_close(bus.read(fa.Accelerometer(link="base", gravity=False)), a)
    assert_close(bus.read(fa.Accelerometer(link="base")), a - R.inv().apply(g))
    assert_close(bus.read(fa.Accelerometer(link="base", frame="base")), R.apply(a) - g)
    for name, value in zip(bus.arm.coordinates[:7], q, strict=False):
        assert_close(bus.read(fa.Encoder(coordinate=name)), value)
    for name, value in zip(bus.arm.velocities[:6], qd, strict=False):
        assert_close(bus.read(fa.Tachometer(coordinate=name)), value)
    names = [
        x
        for sensor in (fa.Tachometer(coordinate="base.wz"), fa.Encoder(coordinate="base.qw"))
        for x in sensor.names(bus.arm)
    ]
    assert names == ["base_wz", "base_qw"]
    assert fa.Tachometer(coordinate="base.vx").units(bus.arm) == ("m/s",)
    assert fa.Encoder(coordinate="base.qw").units(bus.arm) == ("1",)


def test_the_attitude_is_told_from_a_reference(bus):
    e = np.array([0.5, -0.5, 0.5, 0.5])
    away = np.array([0.3, -0.8, 1.9])
    q = bus.q.copy()
    q[3:7] = configuration(bus.arm, np.concatenate([np.zeros(3), away, bus.q[7:]]), np.concatenate([q[:3], e, q[7:]]))[
        3:7
    ]
    for sign in (1.0, -1.0):  # both quaternions are one attitude
        q[3:7] *= sign
        seen = read(bus.model, fa.StarTracker(reference=e), q, bus.qd, bus.qdd)
        assert_close(seen, away)
    assert_close(read(bus.model, fa.StarTracker(reference=e, axes="z"), q, bus.qd, bus.qdd), away[2:])
    for small in (0.0, 1e-20, 1e-9, 1e-3, 3.14):
        turn = small * np.array([0.6, 0.0, -0.8])
        q[3:7] = quaternion(turn)
        assert_close(read(bus.model, fa.StarTracker(), q, bus.qd, bus.qdd), turn)


def test_a_gyroscope_reads_the_rate_of_what_a_star_tracker_reads_near_its_reference(bus):
    e = fa.StarTracker(reference=bus.q[3:7])
    rate = first(lambda t: read(bus.model, e, bus.moved(t), bus.qd, bus.qdd))
    assert_close(rate, bus.read(fa.Gyroscope(link="base")), DIFFERENCES)


def everything(tree):
    """A sensor of every kind that the tree can have."""
    elastic = next(link.name for link in tree.arm.links if link.elastic)
    bent = next(link.name for link in tree.arm.links if getattr(link.body, "counts", {}).get("y"))
    more = {"link": "base"}
    return [
        *(fa.Encoder(coordinate=name) for name in (f"{elastic}.drive", f"{elastic}.hub", *tree.arm.coordinates[:7])),
        *(fa.Tachometer(coordinate=name) for name in (f"{elastic}.motor", *tree.arm.velocities[:6])),
        fa.StrainGauge(link=bent, at=0.2),
        fa.TipDeflection(link=bent),
        fa.JointTorque(link=elastic),
        *(kind(**given, name=f"{kind.__name__}{k}") for kind in PLACED for k, given in enumerate(({}, more))),
        fa.TipPosition(link=bent, at=0.3),
        fa.StarTracker(link=bent, at=0.5, reference=tree.q[3:7]),
        fa.Accelerometer(frame="base", name="shake"),
    ]


PLACED = (fa.TipPosition, fa.TipVelocity, fa.Gyroscope, fa.StarTracker, fa.Accelerometer)


@pytest.mark.parametrize("at_reference", [False, True])
def test_slopes_are_those_in_local_coordinates(bus, at_reference):
    sensors = everything(bus)
    q = bus.q.copy()
    if at_reference:  # where the turn is zero
        q[3:7] = 1.0, 0.0, 0.0, 0.0
    state = {"q": local(bus.arm, q, q), "qd": bus.qd, "qdd": bus.qdd}
    y = bus.model.output_function(sensors)
    for argument, slope in zip(state, bus.model.output_slopes(sensors, q, bus.qd, bus.qdd), strict=True):
        for n in range(bus.model.nv):

            def moved(h, argument=argument, n=n):
                at = state | {argument: state[argument] + h * np.eye(bus.model.nv)[n]}
                return np.array(y(configuration(bus.arm, at["q"], q), at["qd"], at["qdd"])).ravel()

            assert_close(slope[:, n], first(moved), DIFFERENCES)


def test_native_code_and_many_states(bus):
    sensors = everything(bus)
    measured = outputs(bus.model, sensors)
    _, _, u = random_state(bus.arm, 8)
    q, qd = np.stack([bus.q, bus.q]), np.stack([bus.qd, 2 * bus.qd])
    y = measured.values(q, qd, u)
    expected = np.array(measured.function(bus.q, bus.qd, u)).ravel()
    assert_close(y[0], expected)
    assert y.shape == (2, len(measured.names)) and len(measured.units) == len(measured.names)
    still = outputs(bus.model, [fa.Gyroscope(link="base"), fa.StarTracker()])  # neither asks for u
    assert_close(still.values(q, qd)[1, :3], 2 * bus.qd[3:6])


def test_an_accelerometer_on_a_falling_spinning_bus(tmp_path):
    """A rigid free body thrown: at its centre of mass nothing is felt, at d from it the centripetal acceleration."""
    tip = fa.Link(name="boom", joint=fa.Fixed(), body=fa.Rigid(length=2.0, mass=1.0))
    bus = fa.FreeBase(mass=4.0, com=(-0.25, 0.0, 0.0), inertia=[1.0, 2.0, 2.0])
    arm = fa.Arm(name="thrown", links=[tip], base=bus, gravity=(0.0, 0.0, -9.81))
    model = fa.Model(arm)
    q, qd = np.array(arm.rest), np.array([1.0, 2.0, 3.0, 0.0, 0.0, 2.5])
    both = [fa.Accelerometer(link="base", name="here"), fa.Accelerometer(), fa.Gyroscope(noise=1e-3)]
    y = outputs(model, both).values(q, qd, np.zeros(0))
    assert_close(y, [0, 0, 0, -(2.5**2) * 2.0, 0, 0, 0, 0, 2.5])
    result = fa.simulate(model, until=1.0, qd0=qd, samples=501, progress=False)
    readings = fa.sensor_readings([*both, fa.StarTracker(noise=1e-4, resolution=1e-5)], model, result, seed=3)
    assert_close(readings.here_x.values, np.zeros(501), 1e-9)
    noise = readings.tip_turning_z.values - 2.5
    assert 0.8e-3 < noise.std() < 1.2e-3
    seen, true = readings.base_attitude_z.values, 2.5 * result.time.values
    assert np.abs(seen - true)[true < 3.0].max() < 6e-4  # six standard deviations
    np.testing.assert_allclose(seen / 1e-5, np.round(seen / 1e-5), rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("sensor", "line"),
    [
        (
            fa.Gyroscope(link="bas"),
            "Gyroscope: unknown link 'bas'; did you mean 'base'? The links are boom, slide, base",
        ),
        (fa.Gyroscope(link="base", at=0.5), "Gyroscope: at is 0.5; it must be 1 for the base, which has no stations"),
        (fa.Accelerometer(at=0.5), "Accelerometer: at is 0.5; it must be 1 without a link, for the tip of the arm"),
        (fa.TipVelocity(link="slide", at=0.5), "TipVelocity: at is 0.5; it must be 1 for a telescope, for its tip"),
        (fa.StrainGauge(link="base"), "StrainGauge: unknown link 'base'; the links are boom, slide"),
        (
            fa.Encoder(coordinate="base.vx"),
            "Encoder: unknown coordinate 'base.vx'; did you mean 'base.x' or 'base.qx'? The coordinates are "
            "slide.drive, ",
        ),
        (
            fa.Tachometer(coordinate="base.qw"),
            "Tachometer: unknown coordinate 'base.qw'; did you mean 'base.wx', 'base.wy' or 'base.wz'? The "
            "coordinates are",
        ),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(sensor, line):
    boom = fa.Link(name="boom", joint=fa.Fixed(), body=fa.Rigid(length=2.0, mass=1.0))
    slide = fa.Link(
        name="slide", joint=fa.Telescope(free_length=0.5), body=fa.Beam(length=1.0, mass=1.0, EI=9.0, modes={"y": 1})
    )
    arm = fa.Arm(name="one", links=[boom, slide], base=fa.FreeBase(mass=1.0, inertia=1.0))
    with pytest.raises(fa.DescriptionError) as error:
        sensor.names(arm)
    assert str(error.value).startswith(line) and "\n" not in str(error.value)


def test_a_base_that_is_not_free_has_no_gyroscope():
    with pytest.raises(fa.DescriptionError, match=r"Gyroscope: unknown link 'base'; the links are upper, fore$"):
        fa.Gyroscope(link="base").names(fa.load("subudhi-morris"))


def test_a_link_called_base_on_a_base_that_is_not_free_is_itself():
    link = fa.Link(name="base", joint=fa.Revolute(), body=fa.Rigid(length=2.0, mass=1.0))
    model = fa.Model(fa.Arm(name="one", links=[link]))
    assert_close(read(model, fa.Gyroscope(link="base", at=0.5), [0.3], [0.7], [0.0]), [0, 0, 0.7])
    assert_close(read(model, fa.StarTracker(), [0.3], [0.7], [0.0]), [0, 0, 0.3])


@pytest.mark.parametrize(
    ("value", "line"),
    [
        ([1, 0, 0], "StarTracker: reference has 3 numbers; a quaternion has four"),
        ([1, 1, 0, 0], r"StarTracker: reference is \[1, 1, 0, 0\], of length 1.41421; it must be a unit quaternion"),
        (3.0, "StarTracker: reference is 3.0; it must be a list of four numbers"),
        ([1, 0, 0, "a"], r"StarTracker: reference\[3\] is 'a'"),
    ],
)
def test_a_reference_is_a_unit_quaternion(value, line):
    with pytest.raises(fa.DescriptionError, match=line):
        fa.StarTracker(reference=value)
