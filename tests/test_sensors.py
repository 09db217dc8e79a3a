"""Sensors: each against the mechanics it measures, and what an instrument makes of it."""

import casadi as ca
import numpy as np
import pytest
from random_arms import random_arm, random_state

import flexarm as fa
from flexarm.sensors import (
    Accelerometer,
    Encoder,
    StrainGauge,
    Tachometer,
    TipDeflection,
    TipPosition,
    coordinate_unit,
    outputs,
    sensor_readings,
)

ROUNDING = 1e-11  # relative: the same numbers, summed in another order
DIFFERENCES = 1e-7  # relative: sixth-order central differences


def refused(match):
    """A one-line DescriptionError."""
    return pytest.raises(fa.DescriptionError, match=rf"\A{match}\Z")


def read(model, sensor, q, qd=None, u=None):
    return outputs(model, [sensor]).values(q, np.zeros(len(q)) if qd is None else qd, u)


def beam(joint=None, gravity=(0.0, 0.0, 0.0), payload=None, **changes):
    """One flexible link."""
    given = {"length": 0.8, "mass": 0.6, "EI": {"y": 12.0, "z": 7.0}, "modes": {"y": 3, "z": 2}} | changes
    link = fa.Link(name="upper", joint=joint or fa.Revolute(axis=(0, 0, 1)), body=fa.Beam(**given))
    return fa.Model(fa.Arm(name="one", links=[link], gravity=gravity, payload=payload))


def assert_close(actual, expected, tolerance=ROUNDING):
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance * max(np.max(np.abs(expected)), 1e-300))


# -- encoders and tachometers ------------------------------------------------------------------------------------------

KINDS = [
    {"elastic": True},
    {"elastic": False},
    {"telescope": True},
    {"elastic": True, "telescope": True},
    {"families": ("pinned-pinned",), "elastic": False},
    {"families": ("pinned-pinned",), "elastic": True},
]


@pytest.mark.parametrize("options", KINDS, ids=str)
def test_a_drive_s_encoder_sees_what_the_actuator_moves(options):
    """Its power is u times the rate of that: the encoder reads B' q, the tachometer B' qd."""
    arm = random_arm(5, **options)
    model = fa.Model(arm)
    q, qd, _ = random_state(arm, 5)
    moving = [link.name for link in arm.links if link.joint.type != "fixed"]
    encoders = [Encoder(coordinate=f"{name}.drive") for name in moving]
    tachometers = [Tachometer(coordinate=f"{name}.drive") for name in moving]
    B = model.input_matrix(q)
    assert_close(outputs(model, encoders).values(q, qd), B.T @ q)
    assert_close(outputs(model, tachometers).values(q, qd), B.T @ qd)


@pytest.mark.parametrize("options", KINDS, ids=str)
def test_the_spring_of_an_elastic_joint_is_wound_between_motor_and_hub(options):
    arm = random_arm(5, **options)
    model = fa.Model(arm)
    q, qd, _ = random_state(arm, 5)
    for link in arm.links:
        if link.elastic:
            hub, motor = (read(model, Encoder(coordinate=f"{link.name}.{part}"), q)[0] for part in ("hub", "motor"))
            force = model.stiffness_force(q)[arm.coordinates.index(f"{link.name}.motor")]
            assert link.joint.stiffness * (motor - hub) == pytest.approx(force, rel=1e-9)
        elif link.joint.type != "fixed":
            hub, drive = (read(model, Encoder(coordinate=f"{link.name}.{part}"), q)[0] for part in ("hub", "drive"))
            assert hub == pytest.approx(drive, rel=1e-12)


def test_the_hub_turns_with_pinned_shapes():
    model = beam(shapes="pinned-pinned", modes={"y": 2})
    q = np.array([0.3, 0.02, -0.01])
    slope = np.pi / 0.8 * np.array([1.0, 2.0])  # d/dx of sin(k pi x / L) at 0
    assert read(model, Encoder(coordinate="upper.hub"), q)[0] == pytest.approx(0.3 + slope @ q[1:])
    assert read(model, Encoder(coordinate="upper.drive"), q)[0] == pytest.approx(0.3 + slope @ q[1:])
    assert read(model, Encoder(coordinate="upper.joint"), q)[0] == 0.3


def test_any_coordinate_and_its_rate():
    arm = random_arm(26, links=2, elastic=True)
    model = fa.Model(arm)
    q, qd, _ = random_state(arm, 3)
    both = [kind(coordinate=name) for kind in (Encoder, Tachometer) for name in arm.coordinates]
    measured = outputs(model, both)
    np.testing.assert_array_equal(measured.values(q, qd), np.append(q, qd))
    linear = model.linearize(q, qd, np.zeros(len(arm.inputs)))
    assert list(measured.names) == linear.state_labels


# -- strain gauges -----------------------------------------------------------------------------------------------------

BEAMS = [
    ({}, 1e-9),
    ({"families": ("pinned-pinned", "hermite", "clamped-mass", "polynomial")}, 1e-9),
    ({"tapered": True}, 5e-5),  # shapes of a tapered beam are made of pieces
    ({"telescope": True}, 1e-9),
]


@pytest.mark.parametrize(("options", "tolerance"), BEAMS, ids=str)
@pytest.mark.parametrize("seed", [1, 4])
def test_moments_store_the_energy_of_strain(seed, options, tolerance):
    """1/2 int M^2 / EI dx over both planes is the strain energy; a strain is -distance M / EI."""
    arm = random_arm(seed, elastic=False, gravity=False, **options)
    model = fa.Model(arm)
    q, _, _ = random_state(arm, seed)
    for i, name in enumerate(arm.coordinates):
        if name.split(".")[1].startswith(("torsion", "axial")):
            q[i] = 0.0
    pieces = 12  # a shape of finite elements has corners, at equal distances
    x, w = np.polynomial.legendre.leggauss(10)
    points = np.concatenate([(k + (1 + x) / 2) / pieces for k in range(pieces)])
    weights = np.tile(w / 2 / pieces, pieces)
    energy = 0.0
    for link in arm.links:
        for plane in "yz":
            if link.body.type == "beam" and link.body.counts[plane]:
                length = q[arm.coordinates.index(f"{link.name}.joint")] if link.joint.type == "telescope" else (
                    link.body.length
                )  # fmt: skip
                along = link.body.profile(points)
                EI = along.EI_y if plane == "y" else along.EI_z
                given = {"link": link.name, "plane": plane}
                M = gauges(model, [StrainGauge(at=p, name=f"g{k}", **given) for k, p in enumerate(points)], q)
                strain = [StrainGauge(at=p, distance=0.02, name=f"g{k}", **given) for k, p in enumerate(points)]
                assert_close(gauges(model, strain, q), -0.02 * M / EI)
                energy += length * weights @ (M**2 / EI) / 2
    wanted = model.energy(q, 0 * q)[1]
    assert energy == pytest.approx(wanted, rel=tolerance)


def gauges(model, sensors, q):
    """Their readings without compiling so many of them."""
    return np.array(model.output_function(sensors)(q, 0 * q, 0 * q)).ravel()


@pytest.mark.parametrize(("plane", "down"), [("y", (0, -9.81, 0)), ("z", (0, 0, -9.81))])
def test_a_load_at_the_tip_bends_by_its_lever(plane, down):
    """M = -P (L - x) for a load towards -y; the fibre on the upper side is drawn out."""
    P, L = 0.02 * 9.81, 0.8
    model = beam(modes={plane: 8}, shapes="hermite", mass=1e-9, gravity=down, payload=fa.Payload(mass=0.02))
    from flexarm.analysis import equilibrium

    q, u = equilibrium(model, np.zeros(9))
    for x in (0.0, 0.3, 0.9):
        M = read(model, StrainGauge(link="upper", at=x, plane=plane), q)[0]
        assert pytest.approx(-P * L * (1 - x), rel=1e-4) == M
        above = read(model, StrainGauge(link="upper", at=x, plane=plane, distance=0.01), q)[0]
        below = read(model, StrainGauge(link="upper", at=x, plane=plane, distance=-0.01), q)[0]
        assert above == pytest.approx(-below) == pytest.approx(0.01 * -M / (12.0 if plane == "y" else 7.0))
        assert above > 0
    if plane == "y":
        assert u[0] == pytest.approx(P * L, rel=1e-4)  # the drive holds what bends the root


# -- the tip -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [1, 3])
def test_positions_and_deflections_are_the_model_s(seed):
    arm = random_arm(seed)
    model = fa.Model(arm)
    q, qd, _ = random_state(arm, seed)
    assert_close(read(model, TipPosition(), q), model.tip(q)[:3, 3])
    np.testing.assert_array_equal(read(model, TipPosition(axes="zx"), q), read(model, TipPosition(), q)[[2, 0]])
    axes = ("x", "y", "z", "slope_y", "slope_z", "torsion")
    for i, link in enumerate(arm.links):
        if link.body.type == "beam":
            found = outputs(model, [TipDeflection(link=link.name, axis=axis) for axis in axes])
            assert_close(found.values(q, qd), model.deflections(q)[i])
            assert found.units == ("m", "m", "m", "rad", "rad", "rad")


def second_differences(f, h):
    """d2f/dt2 at 0, to sixth order."""
    weights = [(0, -49 / 18), (1, 3 / 2), (2, -3 / 20), (3, 1 / 90)]
    return sum(c * (f(k * h) + (f(-k * h) if k else 0.0)) for k, c in weights) / h**2


@pytest.mark.parametrize(("seed", "options"), [(2, {}), (6, {"telescope": True}), (8, {"foreshortening": True})])
def test_acceleration_is_the_second_difference_of_the_position(seed, options):
    arm = random_arm(seed, gravity=True, **options)
    model = fa.Model(arm)
    q, qd, u = random_state(arm, seed)
    qdd = model.forward_dynamics(q, qd, u)
    a = second_differences(lambda t: model.tip(q + qd * t + qdd * t**2 / 2)[:3, 3], 1e-2 / np.abs(qdd).max() ** 0.5)
    bare = read(model, Accelerometer(frame="base", gravity=False), q, qd, u)
    assert_close(bare, a, 1e-5)
    felt = read(model, Accelerometer(frame="base"), q, qd, u)
    assert_close(felt, bare - np.array(arm.gravity))
    R = model.tip(q)[:3, :3]
    assert_close(read(model, Accelerometer(), q, qd, u), R.T @ felt)
    assert_close(read(model, Accelerometer(axes="zy", gravity=False), q, qd, u), (R.T @ bare)[[2, 1]])


def test_what_a_payload_demands_is_its_mass_times_what_is_felt():
    """d(inverse dynamics)/dm = J' (a - g): Newton's law for a point mass at the tip, by the recursion alone."""
    arm = random_arm(3, payload=True, elastic=False)
    arm = arm.replace(payload=fa.Payload(mass=0.5))
    heavy = fa.Model(arm.replace(payload=fa.Payload(mass=1.5)))
    model = fa.Model(arm)
    q, qd, u = random_state(arm, 3)
    qdd = model.forward_dynamics(q, qd, u)
    demand = heavy.inverse_dynamics(q, qd, qdd) - model.inverse_dynamics(q, qd, qdd)
    x = model.function("tip").sx_in()[0]
    J = np.array(ca.Function("J", [x], [ca.jacobian(model.function("tip")(x)[:3, 3], x)])(q))
    assert_close(J.T @ read(model, Accelerometer(frame="base"), q, qd, u), demand, 1e-9)


def test_an_accelerometer_at_rest_reads_what_holds_it_up():
    link = fa.Link(name="rod", joint=fa.Revolute(axis=(0, 0, 1)), body=fa.Rigid(length=0.7, mass=1.0))
    arm = fa.Arm(name="rod", links=[link], gravity=(0, -9.81, 0), payload=fa.Payload(mass=0.2))
    model = fa.Model(arm)
    hold = model.gravity_force([0.4])
    c, s = np.cos(0.4), np.sin(0.4)
    assert read(model, Accelerometer(), np.array([0.4]), np.zeros(1), hold) == pytest.approx([9.81 * s, 9.81 * c, 0])
    spin = read(model, Accelerometer(gravity=False), np.array([0.4]), np.array([3.0]), hold)
    assert spin == pytest.approx([-9.0 * 0.7, 0.0, 0.0], abs=1e-12)  # towards the joint


def test_one_that_falls_freely_reads_nothing():
    link = fa.Link(name="lift", joint=fa.Prismatic(axis=(0, 0, 1)), body=fa.Rigid(length=0.7, mass=1.0))
    model = fa.Model(fa.Arm(name="lift", links=[link], gravity=(0, 0, -9.81)))
    assert read(model, Accelerometer(), np.zeros(1), np.ones(1), np.zeros(1)) == pytest.approx([0, 0, 0], abs=1e-12)


# -- outputs -----------------------------------------------------------------------------------------------------------

SENSORS = [
    Encoder(coordinate="upper.drive"),
    Tachometer(coordinate="upper.hub"),
    StrainGauge(link="upper"),
    StrainGauge(link="upper", at=0.25, plane="z", distance=0.01),
    TipDeflection(link="upper", axis="slope_z"),
    TipPosition(axes="xz"),
    Accelerometer(axes="y"),
    TipPosition(axes="y", name="camera"),
]
NAMES = (
    "upper_drive",
    "upper_hub_rate",
    "upper_moment_y_0",
    "upper_strain_z_0_25",
    "upper_deflection_slope_z",
    "tip_x",
    "tip_z",
    "tip_acceleration_y",
    "camera_y",
)


@pytest.fixture(scope="module")
def model():
    return beam(gravity=(0.0, -9.81, 0.0), payload=fa.Payload(mass=0.3), damping=0.02)


@pytest.fixture
def state(model):
    return random_state(model.arm, 9)


def test_signals_have_names_and_units(model):
    found = outputs(model, SENSORS)
    assert found.names == NAMES
    assert all(name.isidentifier() for name in found.names)
    assert found.units == ("rad", "rad/s", "N m", "1", "rad", "m", "m", "m/s^2", "m")


def test_units_of_coordinates():
    arm = random_arm(6, telescope=True)
    units = {name: coordinate_unit(arm, name) for name in arm.coordinates}
    kinds = {link.name: link.joint.type for link in arm.links}
    for name, unit in units.items():
        link, part = name.split(".")
        turns = part.startswith("torsion") or (part in ("joint", "motor") and kinds[link] == "revolute")
        assert unit == ("rad" if turns else "m")
    slide = next(link.name for link in arm.links if link.joint.type == "telescope")
    assert coordinate_unit(arm, f"{slide}.drive") == coordinate_unit(arm, f"{slide}.hub") == "m"


def test_native_code_is_the_casadi_function(model, state):
    found = outputs(model, SENSORS)
    assert_close(found.values(*state), np.array(found.function(*state)).ravel())
    assert (found.function.name_in(), found.function.name_out()) == (["q", "qd", "u"], ["y"])
    still = outputs(model, SENSORS[:6])
    assert_close(still.values(*state[:2]), np.array(still.function(*state)).ravel())


def test_axes_before_the_last_are_many_states(model, state):
    q, qd, u = state
    many = q * np.linspace(0.5, 1.5, 12).reshape(4, 3, 1)
    found = outputs(model, SENSORS).values(many, qd, u)
    assert found.shape == (4, 3, len(NAMES))
    for index in np.ndindex(4, 3):
        assert_close(found[index], outputs(model, SENSORS).values(many[index], qd, u))
    assert outputs(model, SENSORS).values(many[:0], qd, u).shape == (0, 3, len(NAMES))


def test_acceleration_needs_the_inputs(model, state):
    with refused("outputs: u is missing; an acceleration is measured"):
        outputs(model, SENSORS).values(*state[:2])


def test_arguments_at_the_door(model, state):
    q, qd, u = state
    with refused(r"q has shape \(2,\); its last axis must have 6 numbers: .*"):
        outputs(model, SENSORS).values(q[:2], qd, u)
    with refused("outputs: the axes before the last do not match: .*"):
        outputs(model, SENSORS[:6]).values(np.zeros((2, 6)), np.zeros((3, 6)))


class Product:
    """A sensor of the reader's own: the first coordinate times the last acceleration."""

    def names(self, arm):
        return ("product",)

    def expression(self, arm, chain, q, qd, qdd):
        return [q[0] * qdd[-1]]

    def described(self):
        return "q0 qdd-1"


def test_a_sensor_of_one_s_own(model, state):
    found = outputs(model, [Product()])
    assert found.values(*state) == pytest.approx([state[0][0] * model.forward_dynamics(*state)[-1]])
    assert (found.names, found.units) == (("product",), ("",))


# -- errors ------------------------------------------------------------------------------------------------------------

KNOWN = "upper.drive, upper.hub, upper.joint, upper.y1, upper.y2, upper.y3, upper.z1, upper.z2"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Encoder(coordinate=3), "Encoder: coordinate is 3; it must be a text"),
        (lambda: Encoder(), "Encoder: coordinate is missing"),
        (lambda: StrainGauge(link="a", at=1.5), r"StrainGauge: at is 1\.5; it must be from 0 to 1"),
        (lambda: StrainGauge(link="a", plane="x"), "StrainGauge: plane is 'x'; it must be 'y' or 'z'"),
        (lambda: StrainGauge(link="a", distance=0), r"StrainGauge: distance is 0\.0 m; it must be different from zero"),
        (
            lambda: TipPosition(axes="xx"),
            "TipPosition: axes is 'xx'; it must be some of x, y, z, each once, such as 'xy'",
        ),
        (lambda: TipPosition(axes=""), "TipPosition: axes is ''; it must be some of x, y, z, each once, such as 'xy'"),
        (
            lambda: Accelerometer(axes=1),
            "Accelerometer: axes is 1; it must be some of x, y, z, each once, such as 'xy'",
        ),
        (lambda: Accelerometer(frame="world"), "Accelerometer: frame is 'world'; it must be 'tip' or 'base'"),
        (lambda: Accelerometer(gravity=1), "Accelerometer: gravity is 1; it must be true or false"),
        (lambda: TipPosition(noise=-1), r"TipPosition: noise is -1\.0; it must be zero or positive"),
        (lambda: TipPosition(resolution=-1), r"TipPosition: resolution is -1\.0; it must be zero or positive"),
        (lambda: TipPosition(sample_time=0), r"TipPosition: sample_time is 0\.0 s; it must be positive"),
        (lambda: TipPosition(name="1a"), "TipPosition: name is '1a'; it must be letters, digits and underscores"),
        (
            lambda: TipPosition(axis="x"),
            r"TipPosition: unknown key 'axis'; did you mean 'axes'\? "
            "Allowed keys are axes, sample_time, resolution, noise, name, link, at",
        ),
    ],
)
def test_a_description_that_cannot_be(make, message):
    with refused(message):
        make()


@pytest.mark.parametrize(
    ("sensors", "message"),
    [
        (
            [Encoder(coordinate="upper")],
            r"Encoder: unknown coordinate 'upper'; did you mean 'upper.drive', 'upper.hub' or 'upper.joint'\? The "
            rf"coordinates are {KNOWN}",
        ),
        (
            [Tachometer(coordinate="upper.motor")],
            f"Tachometer: unknown coordinate 'upper.motor'; did you mean 'upper.joint'[?] The coordinates are {KNOWN}",
        ),
        ([StrainGauge(link="arm")], "StrainGauge: unknown link 'arm'; the links are upper"),
        ([TipDeflection(link="arm")], "TipDeflection: unknown link 'arm'; the links are upper"),
        ([SENSORS[0], SENSORS[0]], "outputs: two signals are called 'upper_drive'; give one of the sensors a name"),
        ([], r"outputs is \[\]; it must be a list of sensors"),
        ([1], "outputs: 1 is not a sensor"),
        (TipPosition(), "outputs is TipPosition.*; it must be a list of sensors"),
    ],
)
def test_sensors_that_do_not_fit_the_arm(model, sensors, message):
    with refused(message):
        outputs(model, sensors)


def test_what_does_not_bend_has_no_strain():
    rod = fa.Link(name="rod", body=fa.Rigid(length=1.0, mass=1.0))
    flat = fa.Link(name="flat", body=fa.Beam(length=1.0, mass=1.0, EI=2.0, modes={"y": 1}))
    model = fa.Model(fa.Arm(name="two", links=[rod, flat]))
    with refused("StrainGauge: link 'rod' does not bend along y; choose another plane or link"):
        outputs(model, [StrainGauge(link="rod")])
    with refused("StrainGauge: link 'flat' does not bend along z; choose another plane or link"):
        outputs(model, [StrainGauge(link="flat", plane="z")])
    with refused("TipDeflection: link 'rod' is rigid; choose a flexible link"):
        outputs(model, [TipDeflection(link="rod")])


# -- sampling ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def result(model):
    return fa.simulate(model, 0.4, fa.bang_bang([0.4], duration=0.1), samples=401, progress=False)


def test_readings_without_noise_are_the_outputs(model, result):
    found = sensor_readings(SENSORS, model, result, seed=1)
    assert tuple(found) == NAMES
    expected = outputs(model, SENSORS).values(result.q.values, result.qd.values, result.u.values)
    for k, name in enumerate(NAMES):
        np.testing.assert_allclose(found[name].values, expected[:, k], rtol=1e-12, atol=1e-14)
        assert found[name].attrs["units"] == outputs(model, SENSORS).units[k]
    np.testing.assert_array_equal(found.time, result.time)


def test_each_sensor_has_its_own_times(model, result):
    slow = SENSORS[0].replace(sample_time=0.01)
    found = sensor_readings([slow, SENSORS[2].replace(sample_time=0.002), SENSORS[5]], model, result, seed=1)
    assert set(found.sizes) == {"time_0_01", "time_0_002", "time"}
    np.testing.assert_allclose(found.time_0_01, np.linspace(0, 0.4, 41), atol=1e-12)
    np.testing.assert_array_equal(found.upper_drive, result.q.values[::10, 0])
    assert found.upper_moment_y_0.dims == ("time_0_002",)


def test_noise_is_white_and_belongs_to_the_seed_and_the_name(model, result):
    noisy = [SENSORS[0].replace(noise=0.3), SENSORS[5].replace(noise=0.02)]
    clean = sensor_readings([SENSORS[0], SENSORS[5]], model, result, seed=7)
    one, again, other = (sensor_readings(noisy, model, result, seed=seed) for seed in (7, 7, 8))
    alone = sensor_readings(noisy[::-1], model, result, seed=7)
    e = {name: (one[name] - clean[name]).values for name in one}
    for name, sigma in (("upper_drive", 0.3), ("tip_x", 0.02), ("tip_z", 0.02)):
        np.testing.assert_array_equal(one[name], again[name])
        np.testing.assert_array_equal(one[name], alone[name])
        assert np.any(one[name] != other[name])
        assert abs(e[name].mean()) < 4 * sigma / 401**0.5  # four standard errors
        assert e[name].std() == pytest.approx(sigma, rel=4 / (2 * 401) ** 0.5)
    together = np.corrcoef([*e.values()])
    assert np.abs(together - np.eye(3)).max() < 4 / 401**0.5


def test_readings_are_rounded_after_noise(model, result):
    coarse = SENSORS[0].replace(resolution=0.01, noise=0.002)
    found = sensor_readings([coarse], model, result, seed=3).upper_drive
    fine = sensor_readings([coarse.replace(resolution=0.0)], model, result, seed=3).upper_drive
    steps = found.values / 0.01
    np.testing.assert_allclose(steps, np.round(steps), atol=1e-9)
    error = np.abs(found - fine).values
    assert error.max() <= 0.005 * (1 + 1e-9)
    assert error.max() > 0.004
    assert (found.attrs["resolution"], found.attrs["noise"], found.attrs["sensor"]) == (0.01, 0.002, "Encoder")


def test_sampling_leaves_the_output_as_it_is(model):
    sensor = SENSORS[0].replace(noise=1.0, resolution=0.5, sample_time=0.1)
    assert sensor.described() == SENSORS[0].described() != SENSORS[1].described()


def test_times_that_the_result_does_not_have(model, result):
    with refused(
        r"Encoder: sample_time is 0\.0015 s, but 0\.0015 s is not among the times of the result; "
        "simulate with samples at all these times"
    ):
        sensor_readings([SENSORS[0].replace(sample_time=0.0015)], model, result, seed=1)


@pytest.mark.parametrize("seed", [-1, 1.5, None, True])
def test_a_seed_is_a_whole_number(model, result, seed):
    with refused(rf"seed is {seed}; it must be a whole number, zero or positive"):
        sensor_readings(SENSORS, model, result, seed)


def test_a_result_of_another_arm(result):
    with refused("sensor_readings: the result is not of arm 'one': its coordinates differ"):
        sensor_readings([TipPosition()], beam(modes={"y": 1}), result, seed=1)


def test_what_a_sensor_depends_on_must_have_been_kept():
    """Bristles and a push have their part in an acceleration, and none in an angle."""
    rubs = fa.Friction(coulomb=0.5, model="lugre", bristle_stiffness=1e3, bristle_damping=1.0)
    arm = beam(joint=fa.Revolute(axis=(0, 0, 1), drive=fa.Drive(friction=rubs)), modes={"y": 1}).arm
    model = fa.Model(arm.replace(forces=[fa.Force(name="push", link="upper")]))
    whole, *parts = (
        fa.simulate(model, 0.1, w={"push.fy": 1.0}, save=fa.SaveAt(keep=keep), samples=11, progress=False)
        for keep in (None, ["q", "qd", "u"], ["q", "qd", "u", "drive_state"])
    )
    both = sensor_readings([Accelerometer(), Encoder(coordinate="upper.joint")], model, whole, seed=1)
    state = whole.q.values, whole.qd.values, whole.u.values
    expected = outputs(model, [Accelerometer()]).values(*state, s=whole.drive_state.values, w=whole.w.values)
    assert_close(both.tip_acceleration_y.values, expected[:, 1])
    for part, lacking in zip(parts, ("drive_state", "w"), strict=True):
        with refused(f"sensor_readings: result has no '{lacking}'; simulate with '{lacking}' in keep, or without keep"):
            sensor_readings([Accelerometer()], model, part, seed=1)
        angle = sensor_readings([Encoder(coordinate="upper.joint")], model, part, seed=1)
        assert (angle.upper_joint.values == both.upper_joint.values).all()


NO_ARM = [1j, {None: None}, "upper", np.eye(2), None]


@pytest.mark.parametrize("arm", NO_ARM, ids=[type(each).__name__ for each in NO_ARM])
def test_what_is_no_arm_is_refused(arm):
    named = (Encoder(coordinate="upper.joint"), Tachometer(coordinate="upper.joint"))
    asked = [each.names for each in (*named, StrainGauge(link="upper"), TipDeflection(link="upper"))]
    for names in (*asked, *(each.units for each in named), lambda arm: coordinate_unit(arm, "upper.joint")):
        with pytest.raises(fa.DescriptionError, match=r"^\w+: arm is .*; it must be an Arm$") as caught:
            names(arm)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["upper.motor", "", 3, None, ["upper.joint"], np.eye(2)], ids=str)
def test_a_coordinate_that_the_arm_has_not_has_no_unit(name):
    with pytest.raises(fa.DescriptionError, match="coordinate_unit: unknown coordinate") as caught:
        coordinate_unit(beam().arm, name)
    assert str(caught.value).endswith(f"he coordinates are {KNOWN}")


@pytest.mark.parametrize("distance", [None, 2e-3])
def test_a_gauge_on_a_beam_whose_stiffness_varies_is_that_of_the_arm_rebuilt(distance):
    """The strain of a given shape does not depend on EI; the moment does."""
    shapes = {"shapes": "clamped-free"}
    soft, stiff = beam(EI=5.0, **shapes), beam(EI=9.0, **shapes)
    varied = fa.Model(soft.arm, vary=["upper.EI"]).at({"upper.EI": 9.0})
    q, gauge = np.array([0.3, 0.01, -0.02, 0.003, 0.0, 0.0]), StrainGauge(link="upper", at=0.2, distance=distance)
    assert_close(read(varied, gauge, q), read(stiff, gauge, q))
