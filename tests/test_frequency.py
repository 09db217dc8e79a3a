"""Frequency responses from periodic data, and arms fitted to them: against formulas by hand, differences, scatter."""

import numpy as np
import pytest
import xarray as xr
from rigs import ENCODERS, NUMBERS, by_hand, multisine, through, two_inertias

import flexarm as fa
from flexarm.identification.frequency import resonance
from flexarm.identification.frequency_model import linear
from flexarm.sensors import Accelerometer, Encoder, StrainGauge, TipPosition

RATE, PERIOD, PERIODS = 1000.0, 0.5, 6
N = round(RATE * PERIOD)
LINES = np.arange(5, 120)
FREQUENCY = np.fft.rfftfreq(N, 1 / RATE)


def refused(match):
    """A one-line DescriptionError."""
    return pytest.raises(fa.DescriptionError, match=rf"\A{match}\Z")


def answered(response, noise=0.0, seed=0, periods=PERIODS, lines=LINES):
    """Signals u, y0, y1, ... of a system with a response (FFT lines, p), with white noise on the outputs."""
    t, u = multisine(lines, PERIOD, periods, RATE, seed)
    y = through(u, response, RATE, periods)
    y = y + noise * np.random.default_rng(seed + 1000).standard_normal(y.shape)
    return {"u": u} | {f"y{i}": column for i, column in enumerate(y.T)}


def of_two_inertias():
    """Its response by hand at the lines of the FFT; where nothing moves, none."""
    return np.nan_to_num(np.concatenate([np.zeros((1, 2)), by_hand(FREQUENCY[1:])[:, :, 0]]))


def estimated(data, **options):
    outputs = [name for name in data if name.startswith("y")]
    return fa.frequency_response(data, "u", outputs, PERIOD, sample_rate=RATE, **options)


# -- the estimate ------------------------------------------------------------------------------------------------------


def test_without_noise_the_response_is_exact():
    found = estimated(answered(of_two_inertias()))
    np.testing.assert_allclose(found.frequency, LINES / PERIOD, rtol=1e-12)
    exact = by_hand(found.frequency)
    np.testing.assert_allclose(found.response, exact, rtol=0, atol=1e-10 * np.abs(exact).max())
    np.testing.assert_allclose(found.amplitude, 1.0, rtol=1e-9)
    assert found.attrs["periods"] == PERIODS


def test_the_variance_is_that_of_the_error():
    """Over many experiments, the mean of the estimated variance is the mean square of the true error."""
    exact, noise = by_hand(LINES / PERIOD), 1e-4
    errors, variances = [], []
    for seed in range(60):
        found = estimated(answered(of_two_inertias(), noise, seed))
        errors.append(np.abs(found.response.values - exact) ** 2)
        variances.append(found.variance.values)
    by_formula = noise**2 * 4 / (N * PERIODS)  # white noise over N P samples; a line of amplitude 1
    # 60 experiments of 115 lines and two outputs: 1 percent; the limit is five of them
    assert np.mean(variances) == pytest.approx(by_formula, rel=0.05)
    assert np.mean(errors) == pytest.approx(by_formula, rel=0.05)


def test_coherence_is_the_share_of_a_period_s_power():
    noise = 1e-4
    found = estimated(answered(of_two_inertias(), noise, periods=40))
    single = noise**2 * 4 / N
    exact = np.abs(by_hand(found.frequency)) ** 2
    off = np.abs(found.coherence - exact / (exact + single))
    assert off.mean() < 0.02 and off.max() < 0.4  # an estimate of 40 periods: 1 / sqrt(40) where it is near a half
    assert found.coherence.min() < 0.9  # where there is something to see


def test_a_drift_does_not_disturb():
    still, data = estimated(answered(of_two_inertias())), answered(of_two_inertias())
    wandering = data | {"y0": data["y0"] + 3.0 + 0.2 * np.arange(len(data["y0"])) / N}
    np.testing.assert_allclose(estimated(wandering).response, still.response, atol=1e-9)
    disturbed = np.abs(estimated(wandering, drift=False).response - still.response).max()
    assert disturbed > 1e-4


def test_noise_on_the_input_s_reading_counts():
    """A current that is measured with noise: its own scatter is part of the variance."""
    data = answered(of_two_inertias())
    noisy = data | {"u": data["u"] + 0.1 * np.random.default_rng(3).standard_normal(len(data["u"]))}
    found = estimated(noisy)
    relative = np.sqrt(found.variance.values[:, 1, 0]) / np.abs(found.response.values[:, 1, 0])
    assert np.median(relative) == pytest.approx(0.1 * np.sqrt(4 / (N * PERIODS)), rel=0.15)


def test_periods_before_the_arm_has_settled_are_skipped():
    data = answered(of_two_inertias(), periods=4)
    data["y0"][:N] += np.exp(-np.arange(N) / 50.0)
    exact = by_hand(LINES / PERIOD)
    assert np.abs(estimated(data).response - exact).max() > 1e-3
    np.testing.assert_allclose(estimated(data, skip=1).response, exact, atol=1e-9)


def two_inputs(H, mixing, periods=3):
    """Records of a static system y = H u under two multisines, mixed by the rows of a matrix."""
    waves = np.stack([multisine(LINES, PERIOD, periods, RATE, seed)[1] for seed in (1, 2)], axis=1)
    records = []
    for row in mixing:
        u = waves * row
        records.append({"u0": u[:, 0], "u1": u[:, 1], "y0": u @ H[0], "y1": u @ H[1]})
    return records


def test_two_inputs_in_two_records():
    H = np.array([[1.0, 0.5], [-2.0, 3.0]])
    data = two_inputs(H, [[1.0, 1.0], [1.0, -1.0]])
    found = fa.frequency_response(data, ["u0", "u1"], ["y0", "y1"], PERIOD, sample_rate=RATE)
    np.testing.assert_allclose(found.response, np.broadcast_to(H, found.response.shape), atol=1e-9)


def test_two_inputs_on_lines_of_their_own_in_one_record():
    H = np.array([[1.0, 0.5], [-2.0, 3.0]])
    even, odd = (multisine(LINES[i::2], PERIOD, 3, RATE, i)[1] for i in (0, 1))
    u = np.stack([even, odd], axis=1)
    data = {"u0": even, "u1": odd, "y0": u @ H[0], "y1": u @ H[1]}
    found = fa.frequency_response(data, ["u0", "u1"], ["y0", "y1"], PERIOD, sample_rate=RATE).response
    np.testing.assert_allclose(found[::2, :, 0], np.broadcast_to(H[:, 0], found[::2, :, 0].shape), atol=1e-9)
    np.testing.assert_allclose(found[1::2, :, 1], np.broadcast_to(H[:, 1], found[1::2, :, 1].shape), atol=1e-9)
    assert np.isnan(found[::2, :, 1]).all() and np.isnan(found[1::2, :, 0]).all()


def test_arrays_over_time_are_as_many_signals_as_they_have_columns():
    """Inputs as `simulate` and the page on identification give them, with labels or without, in any order of axes."""
    H = np.array([[1.0, 0.5], [-2.0, 3.0]])
    first, second = two_inputs(H, [[1.0, 1.0], [1.0, -1.0]])
    plain = fa.frequency_response([first, second], ["u0", "u1"], ["y0", "y1"], PERIOD, sample_rate=RATE)
    tables = [
        {name: np.stack([each[f"{name}0"], each[f"{name}1"]], axis=1) for name in "uy"} for each in (first, second)
    ]
    found = fa.frequency_response(tables, "u", "y", PERIOD, sample_rate=RATE)
    np.testing.assert_array_equal(found.response, plain.response)
    assert found.input.values.tolist() == ["u[0]", "u[1]"] and found.output.values.tolist() == ["y[0]", "y[1]"]
    joints = ["upper.joint", "fore.joint"]
    time = {"time": np.arange(len(first["u0"])) / RATE}
    for axes in (("time", "input"), ("input", "time")):
        data = [
            xr.Dataset({"u": (("time", "input"), x["u"]), "y": (("time", "k"), x["y"])}, {**time, "input": joints})
            for x in tables
        ]
        data = [each.assign(u=each.u.transpose(*axes)) for each in data]
        found = fa.frequency_response(data, "u", ["y"], PERIOD)
        np.testing.assert_allclose(found.response, plain.response, rtol=1e-9)
        assert found.input.values.tolist() == ["u[upper.joint]", "u[fore.joint]"]
    with refused(
        r"frequency_response: record 2 has the signals u, y\[0\], y\[1\]; they must be those of record 1, u.*"
    ):
        fa.frequency_response([tables[0], tables[1] | {"u": first["u0"]}], "u", "y", PERIOD, sample_rate=RATE)


def test_distortion_shows_where_its_power_goes():
    """Under odd lines a square answers at even ones, a cube at odd ones; some are left out to see it."""
    lines = np.setdiff1d(np.arange(1, 60, 2), [7, 21, 33])
    t, u = multisine(lines, PERIOD, 4, RATE, amplitude=0.2)
    for power, loud, silent in ((2, "even", "odd"), (3, "odd", "even")):
        found = fa.frequency_response({"u": u, "y": u + 0.3 * u**power}, "u", "y", PERIOD, sample_rate=RATE)
        own = found.distortion.sel(output="y")
        np.testing.assert_array_equal(found.parity, np.where(np.round(found.line * PERIOD) % 2, "odd", "even"))
        assert own[found.parity == loud].max() > 1e-3 > 1e-9 > own[found.parity == silent].max()
        assert found.noise.max() < 1e-9


def test_a_dataset_over_time_is_the_same_as_arrays_with_a_rate():
    data = answered(of_two_inertias())
    t = np.arange(len(data["u"])) / RATE
    signals = {name: ("time", x, {"units": "rad"}) for name, x in data.items()}
    found = fa.frequency_response(xr.Dataset(signals, coords={"time": t}), "u", ["y0", "y1"], PERIOD)
    np.testing.assert_allclose(found.response, estimated(data).response, rtol=1e-12)
    assert found.output_unit.values.tolist() == ["rad", "rad"]


GOOD = answered(of_two_inertias(), periods=3)


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        (
            {"data": GOOD | {"y0": np.append(GOOD["y0"][:-1], np.nan)}},
            r"record 1: y0 has a gap: a sample is NaN or infinite, the first at 1.499 s \(sample 1499\)",
        ),
        (
            {"data": GOOD | {"y0": GOOD["y0"][:-1]}},
            r"record 1: y0 has 1499 samples and others 1500; the numbers must be equal",
        ),
        (
            {"data": [1, 2]},
            r"record 1 is 1; it must be a Dataset, a DataFrame, or a dict of arrays by name with 'time' .*",
        ),
        ({"data": []}, r"data is empty; it must be a Dataset, a DataFrame, a dict of arrays, or a list of them"),
        ({"inputs": "w"}, r"record 1 has no signal 'w'; its signals are u, y0, y1"),
        ({"inputs": 3}, r".*inputs is 3; it must be the name of a signal, or a list of names"),
        ({"outputs": ["y0", "y0"]}, r".*outputs is \['y0', 'y0'\]; give each signal once"),
        (
            {"period": 0.5003},
            r"frequency_response: a period of 0.5003 s has 500.3 samples at 1000 Hz; it must have a whole "
            r"number of samples",
        ),
        ({"period": -1.0}, r".*period is -1.0 s; it must be positive"),
        ({"period": 1.0}, r"frequency_response: a record has 1.5 periods of 1 s; at least two periods must remain"),
        (
            {"skip": 2},
            r"frequency_response: a record has 3 periods of 0.5 s and the first 2 are skipped; at least two "
            r"periods must remain",
        ),
        ({"skip": -1}, r".*skip is -1; it must be a whole number, zero or positive"),
        ({"excited": 2.0}, r".*excited is 2.0; it must be between 0 and 1"),
        (
            {"sample_rate": None},
            r"record 1: sample_rate is missing; arrays and a DataFrame without 'time' .*",
        ),
        ({"sample_rate": 0.0}, r".*sample_rate is 0.0 1/s; it must be positive"),
        (
            {"period": 0.4},
            r"frequency_response: input 'u' does not repeat with a period of 0.4 s; give the right period, and skip "
            r"the initial transient",
        ),
        (
            {"inputs": ["u", "y0"], "outputs": "y1"},
            r"frequency_response: 2 inputs move at 10 Hz in 1 record; give as many records as inputs, with "
            r"different combinations, or one input per line",
        ),
    ],
)
def test_what_cannot_be_estimated_is_refused(changes, match):
    given = {"data": GOOD, "inputs": "u", "outputs": ["y0"], "period": PERIOD, "sample_rate": RATE} | changes
    with refused(match):
        fa.frequency_response(
            given.pop("data"), given.pop("inputs"), given.pop("outputs"), given.pop("period"), **given
        )


def test_uneven_times_are_refused():
    t = np.arange(len(GOOD["u"])) / RATE
    t[700:] += 0.1
    signals = {name: ("time", x) for name, x in GOOD.items()}
    with refused(r"record 1: time has a gap after 0.699 s, a step of 0.101 s among steps of 0.001 s; samples must .*"):
        fa.frequency_response(xr.Dataset(signals, coords={"time": t}), "u", "y0", PERIOD)
    other = xr.Dataset({n: ("sample", x) for n, x in GOOD.items()}, coords={"time": ("time", t[:5])})
    with refused(r"record 1: it must have one dimension of time with its times, .*; its dimensions are sample"):
        fa.frequency_response(other, "u", "y0", PERIOD)


# -- resonances --------------------------------------------------------------------------------------------------------


def test_a_pair_of_poles_is_found_exactly():
    f = np.arange(60.0, 95.0)
    s, omega, zeta = 2j * np.pi * f, 2 * np.pi * 76.4, 0.015
    found = resonance(f, (3.0 + 0.1 * s) / (s**2 + 2 * zeta * omega * s + omega**2) - 1e-5, (66, 88))
    assert found.frequency == pytest.approx(76.4, rel=1e-8) and found.damping_ratio == pytest.approx(0.015, rel=1e-6)


def test_a_resonance_that_is_not_there_is_refused():
    f = np.arange(1.0, 100.0)
    with refused("resonance: the band has 3 lines from 10 to 12 Hz; it must have at least 5"):
        resonance(f, np.ones(len(f)), (10, 12))
    with refused(r"resonance: response has shape \(3,\); it must be that of frequency, \(99,\)"):
        resonance(f, np.ones(3), (10, 12))
    s = 2j * np.pi * f
    with refused("resonance: the fit has no pair of poles from 10 to 50 Hz; choose a band around one resonance"):
        resonance(f, 1 / ((s + 100) * (s + 300)), (10, 50))


# -- the arm's own response --------------------------------------------------------------------------------------------

CASES = {
    "two inertias": (two_inertias(), list(NUMBERS), np.zeros(2), ENCODERS),
    "subudhi-morris-elastic": (
        fa.load("subudhi-morris-elastic").replace(gravity=(0, 0, 0)),
        ["upper.EI", "fore.stiffness", "payload.mass", "upper.rotor_inertia", "fore.mass"],
        np.array([0.3, 0.9, 0, 0, 0, 0, 0.3, 0.9]),
        [Encoder(coordinate="upper.drive"), TipPosition(axes="xy"), Accelerometer(axes="y"), StrainGauge(link="upper")],
    ),
    "a hub that turns with its shapes": (
        fa.Arm(
            name="pinned",
            links=[
                fa.Link(
                    name="beam",
                    joint=fa.Revolute(axis=(0, 0, 1), damping=0.1),
                    body=fa.Beam(length=0.8, mass=0.6, EI=12.0, modes={"y": 2}, shapes="pinned-pinned"),
                )
            ],
            gravity=(0, 0, 0),
        ),
        ["beam.length", "beam.EI"],  # the length changes what the actuator turns
        np.zeros(3),
        [Encoder(coordinate="beam.drive"), TipPosition(axes="y")],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_response_is_that_of_the_linear_model(case):
    arm, vary, q, sensors = CASES[case]
    f = np.array([0.5, 3.0, 11.0, 40.0, 90.0])
    system = fa.Model(arm).linearize(q, 0 * q, np.zeros(len(arm.inputs)), outputs=sensors)
    expected = np.moveaxis(system(2j * np.pi * f, squeeze=False), -1, 0)
    found = linear(fa.Model(arm, vary=vary), sensors, q).response(f)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


def test_the_response_of_two_inertias_is_the_formula():
    f = np.linspace(1.0, 200.0, 50)
    found = linear(fa.Model(two_inertias()), ENCODERS, np.zeros(2)).response(f)
    np.testing.assert_allclose(found, by_hand(f), rtol=1e-9)


@pytest.mark.parametrize("case", CASES)
def test_derivatives_are_those_of_the_response(case):
    arm, vary, q, sensors = CASES[case]
    model, f = fa.Model(arm, vary=vary), np.array([3.0, 11.0, 40.0, 74.0, 90.0])
    _, slopes = linear(model, sensors, q).slopes(f)
    for i, value in enumerate(model.p):
        h = 1e-4 * value * np.eye(len(model.p))[i]
        # fourth-order differences of responses near resonances
        x = [linear(model.at(model.p + k * h), sensors, q).response(f) for k in (-2, -1, 1, 2)]
        expected = (x[0] - 8 * x[1] + 8 * x[2] - x[3]) / (12 * h[i])
        np.testing.assert_allclose(slopes[i], expected, rtol=0, atol=1e-5 * np.abs(expected).max())


def test_an_arm_that_would_fall_is_refused():
    arm = fa.load("subudhi-morris-elastic").replace(gravity=(0, -9.81, 0))
    with refused(r"q: the arm is not in equilibrium there: \S+ has a residual of \S+; use q from analysis.equilibrium"):
        identified(arm=arm, sensors=[Encoder(coordinate="upper.drive", name="y0")], fit=["upper.EI"])


# -- the fit -----------------------------------------------------------------------------------------------------------

OTHER = {name: 1.3 * value for name, value in NUMBERS.items()}


def response(noise=1e-5, seed=0):
    found = estimated(answered(of_two_inertias(), noise, seed))
    return found.assign_coords(output=["motor", "load"])


def identified(data=None, arm=None, sensors=ENCODERS, fit=tuple(NUMBERS), **options):
    given = data if data is not None else response()
    return fa.identify(fa.Model(arm or two_inertias(OTHER)), given, list(fit), outputs=sensors, **options)


def test_the_true_numbers_come_out():
    found = identified()
    for name, value in NUMBERS.items():
        assert abs(found.values[name] - value) < 4 * found.errors[name]
        assert found.errors[name] < 0.1 * value
    # variances are right; one that six periods show is too small as often as too large: the mean of 1 / it is 5/4
    assert found.statistics.spread == pytest.approx(np.sqrt(5 / 4), abs=0.05)
    assert (found.fit > 95).all() and "converged" in found.summary()
    np.testing.assert_allclose(found.model.p, list(found.values.values()))
    assert found.parameters == tuple(NUMBERS) and not found.indistinct


def test_standard_errors_are_the_scatter():
    """Over 60 experiments: their scatter is known to a tenth; the limit is three of those."""
    runs = [identified(response(seed=seed)) for seed in range(60)]
    values = np.array([list(each.values.values()) for each in runs])
    said = np.mean([list(each.errors.values()) for each in runs], axis=0)
    np.testing.assert_allclose(values.std(axis=0, ddof=1), said, rtol=0.3)
    within = np.abs(values - list(NUMBERS.values())) < 3 * said
    assert within.mean() > 0.97


def test_a_delay_and_a_current_s_constant():
    """A torque of 0.4 N m/A, 0.3 ms late, the inertias known."""
    data = response()
    s = 2j * np.pi * data.frequency.values[:, None, None]
    data = data.assign(response=data.response * 0.4 * np.exp(-3e-4 * s), variance=data.variance * 0.4**2)
    given = {"load.rotor_inertia": NUMBERS["load.rotor_inertia"], "load.inertia": NUMBERS["load.inertia"]}
    arm = two_inertias(OTHER | given)
    found = identified(
        data, arm, fit=[name for name in NUMBERS if name not in given], currents={"load.motor": 1.0}, delay=0.0
    )
    constant, error = found.others["constant of load.motor"]
    assert abs(constant - 0.4) < 4 * error < 0.01
    late, error = found.others["delay"]
    assert abs(late - 3e-4) < 4 * error < 1e-5
    assert found.values["load.stiffness"] == pytest.approx(NUMBERS["load.stiffness"], rel=0.01)


def test_a_constant_and_all_inertias_cannot_be_told_apart():
    """The response of G = c / (J s^2 ...) does not change when the constant and all else do alike: it says so."""
    found = identified(currents={"load.motor": 1.0})
    assert len(found.indistinct) == 1
    text = found.indistinct[0].text
    assert all(name in text for name in (*NUMBERS, "constant of load.motor"))


def test_a_share_that_is_not_modelled_evens_the_weights():
    """With a large one the noise does not matter: each line counts by its size."""
    data = response(1e-8)
    even, doubled = (identified(x, unmodelled=0.1) for x in (data, data.assign(variance=4 * data.variance)))
    np.testing.assert_allclose(list(even.values.values()), list(doubled.values.values()), rtol=1e-3)
    assert even.statistics.spread < 0.1


def test_starts_and_bounds():
    found = identified(start={"load.stiffness": 300.0}, bounds={"load.inertia": (5e-3, 7e-3)})
    assert found.values["load.inertia"] == pytest.approx(5e-3) and "at its lower bound" in found.summary()
    assert {each.name: each.start for each in found.unknowns}["load.stiffness"] == 300.0


def test_residuals_decibels_and_a_figure():
    data = response()
    found = identified(data)
    (errors,) = found.residuals
    model = data.response.values - np.stack([errors[name].values for name in ("motor", "load")], axis=1)[:, :, None]
    np.testing.assert_allclose(model, by_hand(data.frequency), rtol=0.05)
    np.testing.assert_allclose(
        found.comparison.decibels, 20 * np.log10(np.abs(model / data.response.values)), rtol=0, atol=1e-9
    )
    assert found.whiteness == {}
    figure = found.plot().figure
    assert [axes.get_title() for axes in figure.axes[:2]] == ["motor", "load"]
    assert found.validate(response(seed=5)).fit.min() > 95


@pytest.mark.parametrize(
    ("options", "match"),
    [
        (
            {"given": {"load.motor": "u"}},
            "identify: given applies only to data over time, not to a frequency response; leave it out",
        ),
        (
            {"sample_rate": 1.0},
            "identify: sample_rate applies only to data over time, not to a frequency response; leave it out",
        ),
        (
            {"data": GOOD, "unmodelled": 0.1},
            "identify: unmodelled applies only to frequency responses, not to data over time; leave it out",
        ),
        (
            {"sensors": [Encoder(coordinate="load.motor")]},
            "identify: the data have no output 'load_motor'; their outputs are motor, load",
        ),
        (
            {"sensors": {"motor": TipPosition(axes="xy")}},
            "identify: a sensor in a dict must have one signal; give a list of sensors instead",
        ),
        (
            {"inputs": {"load.drive": "u"}},
            "identify: unknown input 'load.drive'; did you mean 'load.motor'\\? The inputs of the arm are load.motor",
        ),
        ({"inputs": {"load.motor": "v"}}, "identify: the data have no input 'v'; their inputs are u"),
        ({"inputs": ["u"]}, r"identify: inputs is \['u'\]; it must be a dict of signals by actuators"),
        ({"fit": ["load.colour"]}, "identify: fit: unknown parameter 'load.colour'; the parameters are .*"),
        ({"fit": ()}, r"identify: fit is \[\]; it must be a list of names, symbols or patterns of them"),
        (
            {"start": {"load.mass": 1.0}},
            "identify: start: no unknown has the name 'load.mass'; the unknowns are load.rotor_inertia.*",
        ),
        ({"start": 3}, "identify: start is 3; it must be a dict by name"),
        ({"currents": {"u": 1.0}}, "identify: currents: unknown input 'u'; data have those of load.motor"),
        ({"currents": 3}, "identify: currents is 3; it must be a dict by actuators"),
        (
            {"currents": {"load.motor": 0.0}},
            "identify: currents of load.motor is 0.0 N m/A; it must be different from zero",
        ),
        ({"delay": -1.0}, "identify: delay is -1.0 s; it must be zero or positive"),
        ({"unmodelled": -1.0}, "identify: unmodelled is -1.0; it must be zero or positive"),
        ({"data": response().isel(frequency=slice(0, 1))}, "identify: too few lines, 4 numbers for 5 unknowns"),
        (
            {"data": response().assign(variance=lambda d: 0 * d.variance)},
            "identify: data have a variance of zero or NaN; give the share of the model's error, such as "
            "unmodelled=0.01",
        ),
        (
            {"data": response().assign(response=lambda d: np.nan * d.response)},
            "identify: data have no line with power in an input",
        ),
    ],
)
def test_what_cannot_be_fitted_is_refused(options, match):
    with refused(match):
        identified(**options)


def test_inputs_must_be_said_where_their_number_differs():
    arm = fa.load("subudhi-morris")
    match = r'identify: data have the inputs u, the arm .*; assign them with inputs=\{"upper.joint": ...\}'
    with refused(match):
        identified(arm=arm, sensors={"motor": Encoder(coordinate="upper.drive")}, fit=["upper.EI"])
