"""`fa.identify` on motions whose truth is known: simulated by the package's own solvers, with noise and without."""

import re
import warnings

import numpy as np
import pytest
import xarray as xr
from figures import assert_readable, drawn

import flexarm as fa
from examples.identify_synthetic import damped
from flexarm.description.toml_text import toml_text
from flexarm.errors import Doubtful, Indistinct
from flexarm.identification.plant import Plant
from flexarm.identification.records import Smooth, held, linear, nodes
from flexarm.identification.shooting import cuts
from flexarm.sensors import Accelerometer, Encoder, StrainGauge, Tachometer, TipPosition, outputs
from flexarm.shapes import Basis

RATE = 200.0
TIME = np.arange(401) / RATE
FORE = fa.Rigid(length=0.4, mass=0.5)


def shaft(gravity=(0.0, 0.0, 0.0), **joint):
    """A motor and a link on an elastic shaft: two coordinates, `arm.joint` and `arm.motor`."""
    given = {"rotor_inertia": 0.02, "stiffness": 15.0, "spring_damping": 0.02, "damping": 0.05} | joint
    return fa.Arm(name="shaft", links=[fa.Link(name="arm", joint=fa.Revolute(**given), body=FORE)], gravity=gravity)


def chirp(seed=0, size=1.0, count=1, t=TIME):
    """Torques (T, count) with all frequencies up to 10 Hz."""
    rng = np.random.default_rng(seed)
    tones = 2 * np.pi * np.arange(1, 41) * 0.25
    return (
        size * np.stack([np.sin(np.outer(t, tones) + rng.uniform(0, 6.3, 40)).sum(axis=1) for _ in range(count)], 1) / 6
    )


def measured(arm, sensors, u, noise=0.0, seed=0, t=TIME, kind="linear", q0=None, p=None):
    """A record of what the sensors see of the arm under these torques, by another method than that of the fit."""
    model = fa.Model(arm)
    drive = fa.Table(t, u, kind="linear") if kind == "linear" else fa.Piecewise(t, u)
    run = fa.simulate(model, t[-1], q0=q0, u=drive, samples=len(t), method="radau9", rtol=1e-9, progress=False)
    found = outputs(model, sensors)
    y = found.values(run.q.values, run.qd.values, u)
    y = y + noise * y.std(axis=0) * np.random.default_rng(seed).normal(size=y.shape)
    signals = {name: ("time", y[:, j]) for j, name in enumerate(found.names)}
    return xr.Dataset({"u": (("time", "input"), u), **signals}, coords={"time": t})


ENCODERS = [Encoder(coordinate="arm.drive"), Encoder(coordinate="arm.joint")]
FIT = ["arm.stiffness", "arm.spring_damping", "arm.rotor_inertia", "arm.mass"]
TRUTH = {"arm.stiffness": 15.0, "arm.spring_damping": 0.02, "arm.rotor_inertia": 0.02, "arm.mass": 0.5}
POOR = {"arm.stiffness": 25.0, "arm.spring_damping": 0.005, "arm.rotor_inertia": 0.03, "arm.mass": 0.4}


@pytest.fixture(scope="module")
def model():
    return fa.Model(shaft(), vary=FIT)


@pytest.fixture(scope="module")
def record():
    return measured(shaft(), ENCODERS, chirp())


@pytest.fixture(scope="module")
def noisy():
    return measured(shaft(), ENCODERS, chirp(), noise=0.01)


@pytest.fixture(scope="module")
def found(model, noisy):
    return fa.identify(model, noisy, fit=FIT, outputs=ENCODERS, start=POOR)


# -- what is found -----------------------------------------------------------------------------------------------------


def test_exact_data_give_back_the_truth(model, record):
    """As exactly as the solver that made the data."""
    found = fa.identify(model, record, fit=FIT, outputs=ENCODERS, start=POOR)
    for name, value in TRUTH.items():
        assert found.values[name] == pytest.approx(value, rel=1e-5)
    assert (found.fit.values > 99.99).all() and found.indistinct == ()


def test_noisy_data_give_the_truth_within_their_errors(found):
    for name, value in TRUTH.items():
        assert abs(found.values[name] - value) < 3.5 * found.errors[name] < 0.2 * value
    np.testing.assert_allclose(found.fit.values, 99.0, atol=0.1)  # the noise is a hundredth of the signal
    assert all(each.white for each in found.whiteness.values())
    np.testing.assert_allclose(found.model.p, list(found.values.values()))


def test_a_model_that_does_not_vary_is_made_to(noisy, found):
    again = fa.identify(fa.Model(shaft()), noisy, fit=FIT, outputs=ENCODERS, start=POOR)
    assert again.values == pytest.approx(found.values, rel=1e-6)


def test_patterns_and_symbols_name_numbers(model, noisy, found):
    again = fa.identify(model, noisy, fit=["arm.s*", "Ir_1", "m_1"], outputs=ENCODERS, start=POOR | {"m_1": 0.45})
    assert again.values == pytest.approx(found.values, rel=1e-6)
    assert [each.start for each in again.unknowns if each.name == "arm.mass"] == [0.45]


def test_arrays_with_a_rate_and_named_signals_are_the_same_record(model, noisy, found):
    data = {"torque": noisy.u.values[:, 0], "a": noisy.arm_drive.values, "b": noisy.arm_joint.values}
    again = fa.identify(
        model,
        data,
        FIT,
        {"arm.drive": "torque"},
        {"a": ENCODERS[0], "b": ENCODERS[1]},
        sample_rate=RATE,
        start=POOR,
    )
    assert again.values == pytest.approx(found.values, rel=1e-9)
    assert list(again.fit.output.values) == ["a", "b"]


def test_two_records_know_more_than_one(model, noisy, found):
    second = measured(shaft(), ENCODERS, chirp(5), noise=0.01, seed=9)
    both = fa.identify(model, [noisy, second], FIT, outputs=ENCODERS, start=POOR)
    ratio = np.array(list(both.errors.values())) / list(found.errors.values())
    assert (ratio < 0.85).all() and (ratio > 0.5).all()
    assert list(both.fit.record.values) == ["record 1", "record 2"]


def test_a_noisy_output_does_not_spoil_a_clean_one(model, record):
    """Each counts by its residuals: beside a clean encoder one with as much noise as signal changes next to nothing."""
    rng = np.random.default_rng(4)
    data = record.copy(deep=True)
    for name, noise in (("arm_drive", 1e-3), ("arm_joint", 1.0)):
        data[name] = data[name] + noise * float(data[name].std()) * rng.normal(size=len(TIME))
    both = fa.identify(model, data, FIT, outputs=ENCODERS, start=POOR)
    clean = fa.identify(model, data, FIT, outputs=ENCODERS[:1], start=POOR)
    for name in FIT:
        assert abs(both.values[name] - clean.values[name]) < 0.2 * clean.errors[name]
        assert both.errors[name] == pytest.approx(clean.errors[name], rel=0.1)


def test_held_inputs_are_held(model):
    data = measured(shaft(), ENCODERS, chirp(), kind="held")
    stepped = fa.identify(model, data, FIT, outputs=ENCODERS, start=POOR, between="held")
    assert stepped.values == pytest.approx(TRUTH, rel=1e-5)
    straight = fa.identify(model, data, FIT, outputs=ENCODERS, start=POOR)
    assert straight.fit.min() < 99.5  # half a sample of delay


def test_accelerations_and_rates_are_outputs_too(model):
    """An accelerometer needs qdd at its own time, inputs and all."""
    sensors = [Tachometer(coordinate="arm.drive"), Accelerometer(axes="xy"), TipPosition(axes="y")]
    data = measured(shaft(), sensors, chirp())
    found = fa.identify(model, data, FIT, outputs=sensors, start=POOR)
    assert found.values == pytest.approx(TRUTH, rel=1e-4)
    assert list(found.fit.output.values) == ["arm_drive_rate", "tip_acceleration_x", "tip_acceleration_y", "tip_y"]


def test_a_current_has_a_constant_and_a_delay():
    """torque(t) = 0.3 i(t - 4 ms): found with a known mass, without which all would be known to a factor only."""
    t = np.arange(0, 2.002, 0.001)
    current = chirp(3, 3.0, t=t)
    late = np.stack([np.interp(t - 0.004, t, current[:, 0])], axis=1)
    data = measured(shaft(), ENCODERS, 0.3 * late, t=t)[{"time": slice(None, None, 5)}]
    data["u"] = (("time", "input"), current[::5])
    fit = ["arm.stiffness", "arm.spring_damping", "arm.rotor_inertia"]
    found = fa.identify(shaft_model(fit), data, fit, outputs=ENCODERS, currents={"arm.motor": 1.0}, delay=0.001)
    assert found.others["constant of arm.motor"][0] == pytest.approx(0.3, rel=2e-3)  # straight lines between samples
    assert found.others["delay"][0] == pytest.approx(0.004, abs=1e-4)
    assert found.values["arm.stiffness"] == pytest.approx(15.0, rel=5e-3)


def shaft_model(fit):
    return fa.Model(shaft(), vary=fit)


def test_offsets_and_initial_states_are_found_with_the_rest(model):
    q0 = np.array([0.30, 0.35])
    data = measured(shaft(), ENCODERS, chirp(), q0=q0, noise=0.003)
    data["arm_drive"] = data.arm_drive + 0.2
    found = fa.identify(
        model, data, FIT, outputs=ENCODERS, start=POOR, states=True, offsets=["arm_drive"], q0={"arm.joint": 0.1}
    )
    for name, truth in {
        "offset of arm_drive": 0.2,
        "arm.joint at 0 s": 0.3,
        "arm.motor at 0 s": 0.35,
        "arm.joint rate at 0 s": 0.0,
    }.items():
        value, error = found.others[name]
        assert abs(value - truth) < 4 * error < 0.1
    for name, value in TRUTH.items():
        assert abs(found.values[name] - value) < 4 * found.errors[name]
    assert {each.start for each in found.unknowns if each.name == "arm.joint at 0 s"} == {0.1}


# -- given motion ------------------------------------------------------------------------------------------------------

BEAM = fa.Beam(length=0.5, mass=0.2, EI=1.0, modes={"y": 1}, damping=0.02, shapes="clamped-mass")
FLEXIBLE = fa.Arm(name="rig", links=[fa.Link(name="link", joint=fa.Revolute(rotor_inertia=0.02), body=BEAM)])
GAUGES = [StrainGauge(link="link", distance=1e-3)]


@pytest.mark.parametrize("with_rate", [False, True])
def test_a_joint_that_moves_as_measured_needs_no_torque(with_rate):
    """What drives the hub, and sticks there, is not known; the link's bending stiffness and damping come out."""
    data = measured(FLEXIBLE, [Encoder(coordinate="link.drive"), Tachometer(coordinate="link.drive"), *GAUGES], chirp())
    rng = np.random.default_rng(2)
    noise = 1e-5
    data["link_drive"] = data.link_drive + noise * rng.normal(size=data.sizes["time"])
    data["link_strain_y_0"] = data.link_strain_y_0 * (1 + 0 * TIME) + 1e-6 * rng.normal(size=data.sizes["time"])
    data = data.drop_vars("u")
    given = {"link.drive": ("link_drive", "link_drive_rate") if with_rate else "link_drive"}
    found = fa.identify(
        fa.Model(FLEXIBLE),
        data,
        ["link.EI", "link.damping_ratio"],
        outputs=GAUGES,
        given=given,
        start={"link.EI": 1.6, "link.damping_ratio": 0.1},
        given_noise=None if with_rate else noise,
    )
    assert found.values["link.EI"] == pytest.approx(1.0, rel=5e-3)
    assert found.values["link.damping_ratio"] == pytest.approx(0.02, rel=0.1)
    assert found.fit.min() > 95


def test_a_given_joint_and_a_driven_one_move_as_the_equations_say():
    """The torque that gives the first joint its acceleration, put into the forward dynamics, gives the same motion."""
    arm = fa.Arm(
        name="two",
        links=[
            fa.Link(name="upper", joint=fa.Revolute(rotor_inertia=0.02, damping=0.1), body=BEAM),
            fa.Link(name="fore", joint=fa.Revolute(rotor_inertia=0.01), body=FORE),
        ],
        gravity=(0.0, -9.81, 0.0),
    )
    model = fa.Model(arm, vary=["upper.EI", "fore.mass"])
    rng = np.random.default_rng(1)
    q, qd, u = rng.normal(size=3), rng.normal(size=3), rng.normal(size=2)
    qdd = model.forward_dynamics(q, qd, u)
    free, driven = [1, 2], 1
    for given, known in (
        ((0,), [u[driven], q[0], qd[0], qdd[0]]),
        ((0, 1), [q[0], qd[0], qdd[0], q[1], qd[1], qdd[1]]),
    ):
        plant = Plant(model, [Accelerometer(axes="xy")], given)
        free = list(plant.free)
        motion = plant.motion
        x = np.concatenate([q[free], qd[free]])
        h = 1e-6
        course = motion(x, np.zeros((len(x), 0)), model.p, np.zeros((2, 0)), np.tile(known, (2, 3, 1)), h)
        np.testing.assert_allclose((course.x - x) / h, [*qd[free], *qdd[free]], rtol=1e-4, atol=1e-3)
        expected = outputs(model, [Accelerometer(axes="xy")]).values(q, qd, u)
        np.testing.assert_allclose(course.y[0], expected, rtol=1e-9)


def test_a_smoothing_spline_knows_the_noise_and_the_motion():
    t = np.linspace(0, 2, 1001)
    rng = np.random.default_rng(1)
    angle = 0.3 * np.sin(5 * t)
    noisy = angle + 1e-3 * rng.normal(size=len(t))
    inside = slice(50, -50)
    for noise in (None, 1e-3):
        q, qd, qdd = Smooth(t, noisy, noise=noise)(t)[inside].T
        assert np.std(q - angle[inside]) < 3e-4
        assert np.std(qdd + 25 * angle[inside]) < 0.1 * 7.5
    followed = Smooth(t, noisy, rate=1.5 * np.cos(5 * t))
    np.testing.assert_allclose(followed(t)[:, 0], noisy, atol=1e-12)  # with a rate the angle is as it was measured
    exact = Smooth(t, angle, rate=1.5 * np.cos(5 * t), noise=1e-12)(t)[inside].T
    np.testing.assert_allclose(exact, [angle[inside], 1.5 * np.cos(5 * t[inside]), -25 * angle[inside]], atol=2e-3)
    assert np.abs(Smooth(t, np.full(len(t), 0.3))(t)[:, 1:]).max() < 1e-9
    assert np.ptp(Smooth(t, noisy, noise=10.0)(t)[:, 1]) < 0.2  # more than the signal itself: nearly a line


def test_inputs_between_samples():
    t, values = np.array([0.0, 0.1, 0.2, 0.3]), np.array([[0.0], [1.0], [-1.0], [0.0]])
    np.testing.assert_allclose(nodes(t, 2)[1], [0.1, 0.125, 0.15, 0.175, 0.2])
    assert (held(values, 2)[1] == 1.0).all()
    u, slope = linear(t, values, 2, 0.0)
    np.testing.assert_allclose(u[1, :, 0], [1.0, 0.5, 0.0, -0.5, -1.0], atol=1e-12)
    np.testing.assert_allclose(slope[1, :4, 0], -20.0)
    u, slope = linear(t, values, 1, 0.05)
    np.testing.assert_allclose(u[0, :, 0], [0.0, 0.0, 0.5], atol=1e-12)  # before the first sample it is the first
    assert slope[0, 0, 0] == 0.0


# -- many shots --------------------------------------------------------------------------------------------------------


def pendulum(mass=1.0):
    link = fa.Link(name="arm", joint=fa.Revolute(damping=0.1), body=fa.Rigid(length=0.6, mass=mass))
    return fa.Arm(name="pendulum", links=[link], gravity=(9.81, 0.0, 0.0))


UP = [np.pi]
FALLING = ["arm.mass", "arm.damping"]


@pytest.fixture(scope="module")
def balanced():
    """An upright pendulum, held by a controller that the fit does not know: torques and angles of 8 s."""
    t = np.arange(1601) / RATE
    extra = chirp(4, 0.6, t=t)[:, 0]
    model = fa.Model(pendulum())
    plant = fa.Stepper(model, 1 / RATE, q0=np.array([np.pi + 0.1]), method="rk4", step=1e-3)
    x, u, y = plant.state, [], []
    for k in range(len(t)):
        u.append(-25.0 * (x[0] - np.pi) - 4.0 * x[1] + extra[k])
        y.append(x[0])
        x = plant.step([u[-1]])
    angle = np.array(y) + 1e-3 * np.random.default_rng(1).normal(size=len(t))
    return xr.Dataset({"u": (("time", "input"), np.array(u)[:, None]), "arm_drive": ("time", angle)}, {"time": t})


def test_many_shots_identify_what_falls_over(balanced):
    """What is wrong grows by e^(4 t), in 8 s to 1e14 times; 32 shots end at the truth."""
    model = fa.Model(pendulum(), vary=FALLING)
    options = {
        "outputs": [Encoder(coordinate="arm.drive")],
        "between": "held",
        "start": {"arm.mass": 1.5, "arm.damping": 0.3},
        "q0": UP,
        "states": True,
    }
    found = fa.identify(model, balanced, FALLING, segments=32, **options)
    for name, value in {"arm.mass": 1.0, "arm.damping": 0.1}.items():
        assert abs(found.values[name] - value) < 4 * found.errors[name] < 0.2 * value
    assert found.fit.item() > 90  # 1e-3 rad of noise in a motion of 0.02 rad


def test_joined_shots_are_one_shot(model, noisy, found):
    """Same values and errors: the conditions bind."""
    shots = fa.identify(model, noisy, FIT, outputs=ENCODERS, start=POOR, segments=5)
    for name in FIT:
        assert abs(shots.values[name] - found.values[name]) < 0.02 * found.errors[name]
        assert shots.errors[name] == pytest.approx(found.errors[name], rel=0.05)


def test_shots_that_are_not_joined_forgive_a_drift(model):
    """A torque that nobody knows turns the arm away; in short shots it hardly does."""
    u = chirp()
    data = measured(shaft(), ENCODERS, u + 0.05)
    data["u"] = (("time", "input"), u)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Indistinct)
        one = fa.identify(model, data, FIT, outputs=ENCODERS, start=POOR)
        many = fa.identify(model, data, FIT, outputs=ENCODERS, start=POOR, segments=8, joined=False)
    off = [
        [abs(each.values[n] / TRUTH[n] - 1) for n in ("arm.stiffness", "arm.rotor_inertia", "arm.mass")]
        for each in (one, many)
    ]
    assert max(off[1]) < 0.1 < max(off[0])


def test_segments_share_their_ends():
    assert cuts(11, 1) == [0, 10] and cuts(11, 5) == [0, 2, 4, 6, 8, 10] and cuts(10, 2) == [0, 4, 9]


def test_a_long_ring_has_many_valleys_and_the_search_begins_where_there_is_one():
    """A link that rings for 5 s after a blow, 40 turns, from a frequency that is off by a fifth.

    Over the whole record at once the search takes 209 evaluations, first making damping so large that nothing rings.
    """
    t = np.arange(1001) / RATE
    blow = np.where(t < 0.1, 0.5, 0.0)[:, None]
    ringing = FLEXIBLE.replace(links=[FLEXIBLE.links[0].replace(body=BEAM.replace(damping=0.002))])
    data = measured(ringing, GAUGES, blow, noise=0.01, t=t)
    fit = ["link.EI", "link.damping_ratio"]
    found = fa.identify(fa.Model(ringing), data, fit, outputs=GAUGES, start={"link.EI": 1.4})
    assert found.values["link.EI"] == pytest.approx(1.0, rel=1e-3)
    assert found.values["link.damping_ratio"] == pytest.approx(0.002, rel=0.02)
    assert int(found.facts["search"].split()[0]) < 60


# -- what is said ------------------------------------------------------------------------------------------------------


def test_the_summary_says_what_an_engineer_asks(found):
    text = found.summary()
    assert str(found) == text and text.startswith("shaft: 4 parameters identified")
    for part in ("arm.stiffness", "N m/rad", "fit of record 1: arm_drive 99.0", "Runge-Kutta step", "converged"):
        assert part in text
    value = re.search(r"arm\.mass +(\S+) +(\S+) +(\S+) %", text)
    assert float(value[1]) == pytest.approx(found.values["arm.mass"], rel=1e-5)
    assert float(value[3]) == pytest.approx(100 * found.errors["arm.mass"] / found.values["arm.mass"], rel=0.06)
    assert found.arm.links[0].body.mass == pytest.approx(found.values["arm.mass"])
    assert float(found.correlation.sel(unknown="arm.mass", other="arm.mass")) == pytest.approx(1.0)


@pytest.mark.parametrize("name", [*fa.bundled()])
def test_an_arm_written_as_toml_is_read_as_the_same(name, tmp_path):
    arm = fa.load(name)
    path = tmp_path / "arm.toml"
    path.write_text(toml_text(arm.canonical()), encoding="utf-8")
    assert fa.load(path).canonical() == arm.canonical()


class Powers:
    """A family of one's own, as in examples/extending/family.py."""

    name = "powers"

    def basis(self, count):
        return Basis(count, lambda x, n: x[:, None] ** 2 * (n == 0) + 2 * x[:, None] * (n == 1) + 2.0 * (n == 2))


def test_shapes_of_an_object_of_ones_own_cannot_be_written():
    beam = BEAM.replace(shapes=Powers())
    arm = FLEXIBLE.replace(links=[FLEXIBLE.links[0].replace(body=beam)])
    with pytest.raises(fa.DescriptionError, match=r"shapes is a .*Powers; a file can only store families by name"):
        toml_text(arm.canonical())


def test_estimates_can_be_written_and_loaded(found, tmp_path):
    path = tmp_path / "found.toml"
    path.write_text(found.toml(), encoding="utf-8")
    assert fa.load(path).links[0].joint.stiffness == found.values["arm.stiffness"]
    odd = shaft().replace(description='a "quoted" line\nand \\ another, \u00e4 \x7f')
    path.write_text(toml_text(odd.canonical()), encoding="utf-8")
    assert fa.load(path) == odd


def test_the_figure_can_be_read(found, tmp_path):
    figure = found.plot().figure
    assert len(figure.axes) == 6
    measured_, modelled = figure.axes[0].lines
    assert np.std(measured_.get_ydata() - modelled.get_ydata()) > 0
    assert_readable(drawn(figure))


def test_withheld_records_are_predicted(found):
    other = measured(shaft(), ENCODERS, chirp(7), noise=0.01, seed=3)
    compared = found.validate(other)
    np.testing.assert_allclose(compared.fit.values, 99.0, atol=0.2)
    assert set(compared.residuals[0]) == {"arm_drive", "arm_joint"}
    shifted = found.validate(other.assign(arm_drive=other.arm_drive + 1.0)).residuals[0]
    assert float(shifted.arm_drive.mean()) == pytest.approx(1.0, abs=0.01)  # measured less modelled
    wrong = measured(shaft(stiffness=10.0), ENCODERS, chirp(7))
    assert found.validate(wrong).fit.min() < 95


def test_initial_states_of_withheld_records_are_their_own(model):
    start = np.array([0.2, 0.25])
    data, other = (measured(shaft(), ENCODERS, chirp(s), q0=s * start, noise=0.003) for s in (1, 2))
    found = fa.identify(model, data, FIT, outputs=ENCODERS, start=POOR, states=True)
    assert found.validate(other).fit.min() > 99


def test_what_the_data_hardly_tell_is_named_and_warned_of(model):
    """Below its resonance a stiff shaft shows its two inertias as one."""
    slow = 0.3 * np.sin(np.outer(TIME, [2.0, 5.0])).sum(axis=1, keepdims=True)
    data = measured(shaft(stiffness=400.0), ENCODERS[1:], slow, noise=0.02)
    stiff = fa.Model(shaft(stiffness=400.0), vary=["arm.rotor_inertia", "arm.mass", "arm.stiffness"])
    with pytest.warns(Indistinct, match=r"the data hardly determine .*arm\.stiffness"):
        found = fa.identify(stiff, data, ["arm.rotor_inertia", "arm.mass", "arm.stiffness"], outputs=ENCODERS[1:])
    texts = [each.text for each in found.indistinct]
    assert any("arm.mass" in text and "arm.rotor_inertia" in text for text in texts), texts
    assert "not determined by the data: " in found.summary()


@pytest.mark.parametrize("wrong", ["degrees", "swapped"])
def test_an_estimate_that_explains_nothing_is_warned_of(wrong, model, noisy):
    """Data in another unit, or signals that were swapped: values come out, with errors, and are not to be trusted."""
    drive, joint = noisy.arm_drive, noisy.arm_joint
    if wrong == "degrees":
        data, says = (
            noisy.assign(arm_drive=np.degrees(drive), arm_joint=np.degrees(joint)),
            "explains nothing of arm_joint",
        )
    else:
        data, says = noisy.assign(arm_drive=joint, arm_joint=drive), "the search has not converged: The maximum number"
        says = f"{says}|hardly determine"  # whether the search ends in time hangs on rounding
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Indistinct if wrong == "degrees" else Doubtful)
        with pytest.warns((Doubtful, Indistinct), match=says):
            fa.identify(model, data, FIT, outputs=ENCODERS)


def test_steps_are_halved_until_nobody_notices(model, record):
    """Half a radian of the fastest mode a sample is too long for exact data, and is seen to be."""
    coarse = fa.identify(model, record, FIT, outputs=ENCODERS, start=POOR, step=1.0)
    steps = int(re.match(r"(\d+) Runge", coarse.facts["integration"])[1])
    assert steps > 1 and coarse.values == pytest.approx(TRUTH, rel=1e-4)


def test_the_fastest_mode_chooses_the_steps():
    """Of a shaft with 400 N m/rad: sqrt(k (1/J1 + 1/J2)), a radian a step."""
    measured_ = fa.identify(
        fa.Model(shaft(stiffness=400.0)),
        measured(shaft(stiffness=400.0), ENCODERS, chirp(), noise=0.01),
        ["arm.mass"],
        outputs=ENCODERS,
    )
    J2 = 0.5 * 0.4**2 / 3
    omega = np.sqrt(400.0 * (1 / 0.02 + 1 / J2))
    said = re.search(r"(\d+) Runge-Kutta steps? .* fastest mode (\S+) rad/s", measured_.facts["integration"])
    assert float(said[2]) == pytest.approx(omega, rel=0.01) and int(said[1]) == int(np.ceil(omega / RATE))


# -- what is refused ---------------------------------------------------------------------------------------------------


def gap(data):
    data = data.copy(deep=True)
    data["arm_joint"][37] = np.nan
    return data


def uneven(data):
    t = TIME.copy()
    t[100:] += 0.02
    return data.assign_coords(time=t)


def backwards(data):
    return data.assign_coords(time=-TIME)


def in_ms(data):
    return data.assign_coords(time=("time", 1000 * TIME, {"units": "ms"}))


def unsaid_ms(data):
    return data.assign_coords(time=1000 * TIME)


def jittery(data):
    t = TIME.copy()
    t[5] += 0.001
    return data.assign_coords(time=t)


SAMPLES = {"time": slice(None, 7)}
BAD = [
    (gap, {}, r"record 1: arm_joint has a gap: a sample is NaN or infinite, the first at 0.185 s \(sample 37\)"),
    (
        uneven,
        {},
        "record 1: time has a gap after 0.495 s, a step of 0.025 s among steps of 0.005 s; samples must be even",
    ),
    (backwards, {}, "record 1: time has an uneven step after"),
    (jittery, {}, "record 1: time has an uneven step after 0.02 s, a step of 0.006 s among steps of 0.005 s"),
    (in_ms, {}, "record 1: its time is in 'ms'; it must be in s"),
    (
        unsaid_ms,
        {"sample_rate": RATE},
        "record 1: time steps by 5 s, and sample_rate is 200 per s: one of them has ano",
    ),
    (
        lambda d: d.assign_coords(time=1e8 * TIME),
        {},
        "identify: samples are .* s apart and the fastest mode is .*check that time",
    ),
    (lambda d: d[SAMPLES], {}, "record 1 has 7 samples; it must have at least 8"),
    (lambda d: d[{"time": slice(None, 8)}], {"segments": 5}, "record 1 has 8 samples, too few for 5 segments"),
    (
        lambda d: d[{"time": slice(None, 8)}],
        {"states": True, "offsets": True, "segments": 3, "joined": False},
        "identify: too few samples, 16 readings for 18 unknowns",
    ),
    (lambda d: d.drop_vars("arm_joint"), {}, "record 1 has no 'arm_joint' for an output; it has u, arm_drive"),
    (
        lambda d: d.drop_vars("u"),
        {},
        r"record 1 has no signal 'u' but arm_drive, arm_joint; give the signals of",
    ),
    (
        lambda d: d.assign(u=(("time", "input"), np.ones((401, 2)))),
        {},
        "record 1: u has 2 columns for 1 input: arm.motor",
    ),
    (lambda d: d.rename(time="t"), {}, "record 1: it must have one dimension of time with its times"),
    (lambda d: d.drop_vars([*d.data_vars]), {}, "record 1 has no signals"),
    (lambda d: [], {}, "data is empty; it must be a Dataset, a DataFrame, a dict of arrays, or a list"),
    (lambda d: 3.0, {}, "record 1 is 3.0; it must be a Dataset, a DataFrame, or a dict of arrays by name"),
    (lambda d: {"u": np.ones(9)}, {}, "record 1: sample_rate is missing; arrays and a DataFrame without"),
    (lambda d: {"u": np.ones(9), "y": np.ones(8)}, {"sample_rate": 9.0}, "record 1: y has 8 samples and others 9"),
    (lambda d: {"u": np.ones(9), "time": np.ones((9, 2))}, {}, r"record 1: time has shape \(9, 2\); it must be"),
    (lambda d: {"u": np.ones(9), "time": np.arange(9) ** 2.0}, {}, "record 1: time has an uneven step after 0 s"),
    (lambda d: {"u": np.ones(9), "t": np.arange(8.0)}, {}, "record 1: u has 9 samples and others 8"),
    (
        lambda d: {"u": np.ones(9), "time": np.arange(9.0)},
        {"sample_rate": 9.0},
        "record 1: time steps by 1 s, and sample_rate is 9 per s: one of them has another unit",
    ),
    (lambda d: {"u": np.ones((9, 1, 1))}, {"sample_rate": 9.0}, r"record 1: u has shape \(9, 1, 1\); it must be"),
    (lambda d: {"u": "torque"}, {"sample_rate": 9.0}, "record 1: u is not an array of numbers"),
    (
        lambda d: {"u": np.ones(9), "arm_drive": np.ones((9, 2))},
        {"sample_rate": 9.0},
        "record 1: arm_drive has 2 columns; for an output it must be one signal",
    ),
    (None, {"sample_rate": -1.0}, "data: sample_rate is -1.0 1/s; it must be positive"),
    (
        None,
        {"outputs": [Encoder(coordinate="leg.drive")]},
        "Encoder: unknown coordinate 'leg.drive'; the coordinates are",
    ),
    (None, {"outputs": []}, r"identify: outputs is \[\]; it must be a list of sensors, or a dict of them"),
    (None, {"outputs": ["arm_drive"]}, "outputs: 'arm_drive' is not a sensor"),
    (None, {"outputs": {"y": TipPosition(axes="xy")}}, "identify: outputs: 'y' is a sensor with several signals"),
    (None, {"fit": ["arm.stifness"]}, "unknown parameter 'arm.stifness'; did you mean .*arm.stiffness"),
    (None, {"fit": []}, r"identify: fit is \[\]; it must be a list of names, symbols or patterns of them"),
    (None, {"inputs": {"leg": "u"}}, "identify: inputs: unknown actuator 'leg'; the actuators are arm.motor"),
    (None, {"inputs": ["u"]}, r"identify: inputs is \['u'\]; it must be a dict by actuator"),
    (
        None,
        {"given": {"arm.motor": ("a", "b", "c")}},
        "identify: given: arm.motor has 3 signals; it must be an angle, or an angle and its rate",
    ),
    (
        None,
        {"given": {"arm.drive": "arm_drive"}, "inputs": {"arm.motor": "u"}},
        "identify: arm.motor has both a given motion and an input signal",
    ),
    (None, {"given": {"arm.drive": "hub"}}, "record 1 has no 'hub' for the motion of arm.motor; it has"),
    (None, {"given_noise": 0.0}, "identify: given_noise is 0.0; it must be positive"),
    (None, {"currents": {"arm.motor": np.inf}}, "identify: current of arm.motor is inf N m/A; it must be finite"),
    (None, {"currents": {"arm.motor": 1.0}, "inputs": {}}, "identify: currents: arm.motor has no signal in inputs"),
    (None, {"between": "cubic"}, "identify: between is 'cubic'; it must be linear or held"),
    (None, {"between": "held", "delay": 0.1}, "identify: delay needs between="),
    (None, {"delay": -0.1}, "identify: delay is -0.1 s; it must be zero or positive"),
    (None, {"segments": 0}, "identify: segments is 0; it must be a whole number, at least 1"),
    (None, {"joined": 1}, "identify: joined is 1; it must be true or false"),
    (None, {"step": 0.0}, "identify: step is 0.0 s; it must be positive"),
    (None, {"start": {"arm.mas": 1.0}}, "identify: start: no unknown has the name 'arm.mas'; "),
    (None, {"start": [1.0]}, r"identify: start is \[1.0\]; it must be a dict by name"),
    (None, {"start": {"arm.mass": np.nan}}, "identify: start of arm.mass is nan kg; it must be finite"),
    (None, {"bounds": {"leg": (1.0, 2.0)}}, "identify: bounds: no unknown has the name 'leg'; the unknowns are"),
    (
        None,
        {"bounds": {"arm.mass": (1.0, 2.0)}},
        "start of arm.mass is 0.5 kg; it must be within its bounds, from 1 to 2",
    ),
    (None, {"bounds": {"arm.mass": 2.0}}, r"identify: bounds of arm.mass is 2.0; it must be \(lowest, highest\)"),
    (None, {"start": {"arm.mass": 0.0}}, "identify: arm.mass is 0 at the start; give it another start, or bounds"),
    (
        None,
        {"start": {"arm.mass": 0.0}, "bounds": {"arm.mass": (-np.inf, np.inf)}},
        "identify: arm.mass is 0 at the start; give it another start, or finite bounds",
    ),
    (
        None,
        {"states": ["arm.y1"]},
        "identify: states: unknown name 'arm.y1'; did you mean 'arm.joint' or 'arm.motor'[?] Known names "
        "are arm.joint, arm.motor",
    ),
    (None, {"offsets": "arm_drive"}, "identify: offsets is 'arm_drive'; it must be true, false or a list of names"),
    (None, {"q0": {"leg": 1.0}}, "identify: q0: unknown coordinate 'leg'; the coordinates are arm.joint, arm.motor"),
    (None, {"q0": [1.0]}, r"identify: q0 has shape \(1,\); it must be \(2,\), or have one row per record"),
    (None, {"q0": np.zeros((2, 2))}, "q0 has 2 rows for 1 record"),
]


@pytest.mark.parametrize(("damage", "options", "says"), BAD, ids=lambda x: x if isinstance(x, str) else "")
def test_one_line_says_what_is_wrong(model, noisy, damage, options, says):
    data = damage(noisy) if damage else noisy
    with pytest.raises(fa.DescriptionError, match="^" + says) as raised:
        fa.identify(model, data, **{"fit": FIT, "outputs": ENCODERS, **options})
    assert "\n" not in str(raised.value)


def test_a_model_is_asked_for(noisy):
    with pytest.raises(fa.DescriptionError, match=r"identify: model is .*; it must be a Model"):
        fa.identify(3, noisy, FIT, outputs=ENCODERS)


def test_what_the_data_do_not_see_at_all_is_refused(noisy):
    """A gear ratio counts with the rotor's inertia only; a torque's constant with all inertias and the stiffness."""
    fit = ["arm.rotor_inertia", "arm.gear_ratio"]
    with pytest.raises(
        fa.DescriptionError, match=r"identify: the data cannot distinguish 0\.89 arm\.rotor_inertia - 0\.45 arm\.gear"
    ):
        fa.identify(fa.Model(shaft()), noisy, fit, outputs=ENCODERS)
    still = noisy.assign(u=0.0 * noisy.u)
    with pytest.raises(
        fa.DescriptionError,
        match=r"identify: the data do not depend on arm\.mass; measure more signals, or fit fewer parameters",
    ):
        fa.identify(fa.Model(shaft()), still, ["arm.mass"], outputs=ENCODERS)


def test_a_motion_that_explodes_at_the_start_is_refused(balanced):
    heavy = pendulum().replace(gravity=(9.81e5, 0.0, 0.0))
    with pytest.raises(fa.DescriptionError, match=r"identify: the motion at the start is not finite|steps"):
        fa.identify(
            fa.Model(heavy, vary=["arm.damping"]),
            balanced,
            ["arm.damping"],
            outputs=[Encoder(coordinate="arm.drive")],
            start={"arm.damping": 1e5},
            step=0.1,
        )


def test_bounds_hold_and_are_said(model, noisy):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Indistinct)
        found = fa.identify(
            model, noisy, FIT, outputs=ENCODERS, bounds={"arm.mass": (0.4, 0.49), "ks_1": (0, 99)}, start=POOR
        )
    assert found.values["arm.mass"] == pytest.approx(0.49, rel=1e-5)
    assert "at its upper bound" in found.summary()


# -- against rebuilt arms ----------------------------------------------------------------------------------------------


def test_sensitivities_are_those_of_rebuilt_arms():
    """Subudhi & Morris's arm: differences between runs of arms with other numbers, by another method."""
    base = damped().arm  # undamped, a thousandth of a spring's stiffness is a turn of its mode after 0.5 s
    names = ["fore.stiffness", "upper.EI", "fore.rotor_inertia"]
    model = fa.Model(base, vary=names)
    t = np.linspace(0.0, 0.5, 101)
    u = chirp(1, 0.3, 2, t)
    sensors = [Encoder(coordinate="fore.drive"), StrainGauge(link="upper", distance=1e-3), TipPosition(axes="xy")]
    plant = Plant(model, sensors)
    steps = 50
    x = np.zeros(2 * len(base.coordinates))
    nodes_, _ = linear(t, u, steps, 0.0)
    course = plant.motion(x, np.zeros((len(x), 3)), model.p, np.eye(3), nodes_, (t[1] - t[0]) / steps)

    def run(arm):
        built = fa.Model(arm)
        made = fa.simulate(
            built,
            t[-1],
            u=fa.Table(t, u, kind="linear"),
            samples=len(t),
            solver=fa.Solver(method="radau9", rtol=1e-11, atol=1e-13),
            save=fa.SaveAt(keep=["q", "qd", "u"]),
            progress=False,
        )
        return outputs(built, sensors).values(made.q.values, made.qd.values, u)

    np.testing.assert_allclose(course.y, run(base), atol=1e-6 * np.abs(course.y).max(axis=0).max())
    for i, name in enumerate(names):
        wide, narrow = (
            (run(model.arm_at({name: model.p[i] * (1 + e)})) - run(model.arm_at({name: model.p[i] * (1 - e)})))
            / (2 * e * model.p[i])
            for e in (0.002, 0.001)
        )
        slope = (4 * narrow - wide) / 3  # of fourth order: larger steps, so that the solver's error counts less
        size = np.abs(slope).max(axis=0)
        assert (np.abs(course.slopes[..., i] - slope).max(axis=0) < 1e-3 * size).all(), name
