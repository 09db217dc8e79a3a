"""Twins: from a log to an identified arm, a shaper and a controller, on a rig whose numbers are known."""

import re
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from rigs import NUMBERS, two_inertias

import flexarm as fa
from flexarm.errors import DescriptionError, Doubtful, FlexarmWarning, Implausible, Indistinct
from flexarm.exports.controller.library import board, c_controller
from flexarm.hardware import twin as module

RATE, NOISE = 500.0, {"motor": 2e-4, "load": 5e-4}
GUESS = {"load.rotor_inertia": 4e-3, "load.inertia": 6e-3, "load.stiffness": 450.0, "load.damping": 0.05}
SENSORS = {"motor": fa.Encoder(coordinate="load.motor"), "load": fa.Encoder(coordinate="load.joint")}
FIT = ["load.rotor_inertia", "load.inertia", "load.stiffness", "load.damping", "load.spring_damping"]


@pytest.fixture(scope="module")
def log():
    """A motor that shakes a load for 1.6 s, with torques that are constant from sample to sample."""
    plant, rng = fa.Stepper(fa.Model(two_inertias()), 1 / RATE, rtol=1e-9, atol=1e-12), np.random.default_rng(3)
    u = np.repeat(rng.normal(0.0, 0.5, 200), 4)
    y = []
    for each in u:
        y.append(plant.q.copy())
        plant.step([each])
    load, motor = np.array(y).T
    columns = {"motor": motor, "load": load}
    return {"torque": u} | {name: x + NOISE[name] * rng.normal(size=len(u)) for name, x in columns.items()}


def made(log, **more):
    options = {"sample_rate": RATE, "between": "held", "inputs": {"load.motor": "torque"}, "outputs": SENSORS}
    return fa.twin(log, **{"arm": two_inertias(NUMBERS | GUESS), "fit": FIT} | options | more)


@pytest.fixture(scope="module")
def twin(log):
    return made(log)


def test_a_twin_has_the_numbers_of_its_rig_and_explains_what_was_withheld(twin):
    for name, value in NUMBERS.items():
        assert abs(twin.identification.values[name] - value) < 4 * twin.identification.errors[name]
        assert twin.identification.errors[name] < 0.2 * value
    assert twin.validation.fit.min() > 99.0 and twin.validation.fit.sizes == {"record": 1, "output": 2}
    assert len(twin.validation.times[0]) == len(twin.identification.comparison.times[0]) == 400
    assert all(each.white for each in twin.identification.whiteness.values())


def test_the_residuals_show_a_delay_of_the_sensors_that_is_not_fitted(log):
    """By 10 ms, as on the page: a wrong mode explains the withheld data too, but its residuals are not white."""
    late = {name: np.concatenate([np.full(5, x[0]), x[:-5]]) if name in SENSORS else x for name, x in log.items()}
    with pytest.warns(Indistinct, match=r"hardly determine load\.spring_damping"):
        twin = made(late)
    true = np.sqrt(NUMBERS["load.stiffness"] / NUMBERS["load.inertia"])
    assert twin.frequency < 0.5 * true and twin.damping_ratio > 0.5 and twin.validation.fit.min() > 90.0
    assert twin.frequency_error > 0.05 * twin.frequency
    for each in twin.identification.whiteness.values():
        assert not each.white and np.abs(each.correlation[1:]).max() > 5 * each.bound
    assert twin.report().count("| no |") == 2


def test_the_shaper_is_that_of_the_load_on_its_spring_with_its_uncertainty(twin):
    """omega^2 = c / J, so that its relative variance is a quarter of that of c / J."""
    values = twin.identification.values
    c, J = values["load.stiffness"], values["load.inertia"]
    damping = values["load.damping"] + values["load.spring_damping"]
    omega, zeta = np.sqrt(c / J), damping / (2 * np.sqrt(c * J))
    assert twin.frequency == pytest.approx(omega, rel=1e-9) and twin.damping_ratio == pytest.approx(zeta, rel=1e-9)
    covariance = twin.identification.statistics.covariance
    at = [twin.identification.parameters.index(name) for name in ("load.stiffness", "load.inertia")]
    slope = omega * np.array([0.5 / c, -0.5 / J])
    assert twin.frequency_error == pytest.approx(np.sqrt(slope @ covariance[np.ix_(at, at)] @ slope), rel=2e-3)
    known = fa.trajectory.ZVD(omega, zeta)
    np.testing.assert_allclose(twin.shaper.times, known.times, rtol=1e-9)
    np.testing.assert_allclose(twin.shaper.amplitudes, known.amplitudes, rtol=1e-9)
    at = omega + 2 * twin.frequency_error * np.array([-1, 0, 1])
    np.testing.assert_allclose(twin.residual, known.residual(at, zeta), rtol=1e-9, atol=1e-15)
    assert twin.residual[1] < 1e-9 < twin.residual[0] < 1e-2


def test_the_controller_knows_the_noise_of_the_log_and_follows_the_shaped_reference(twin):
    observed = twin.controller.controller
    for name, each in zip(SENSORS, observed.sensors, strict=True):
        assert each.noise == pytest.approx(NOISE[name], rel=0.1)
    reference = observed.controller.reference
    assert twin.controller.period == 1 / RATE and reference.shaper == twin.shaper
    duration = 1.5 * 2 * np.pi / twin.frequency
    assert reference.reference == fa.Quintic([0.0], [0.3], duration)
    assert twin.unshaped.arrival == pytest.approx(duration, abs=2e-4) and twin.shaped.peak < 0.8 * twin.unshaped.peak
    assert twin.shaped.arrival == pytest.approx(duration + twin.shaper.duration, abs=2e-4)
    assert twin.shaped.residual < 1e-3 * 0.3
    found = board(twin.controller, twin.model)
    assert found.inputs.names == ("load_motor", "load_joint") and len(c_controller(found)) == 4


def test_other_kinds_of_logs_and_arguments(log, monkeypatch):
    """A table with times, a share, a reference, a period; the design is not repeated here."""
    seen = {}

    def designed(found, validation, sensors, reference, period, limit):
        seen.update(found=found, validation=validation, reference=reference, period=period, limit=limit)

    monkeypatch.setattr(module, "_designed", designed)
    table = pd.DataFrame(log | {"time": np.arange(800) / RATE})
    move = fa.Quintic([0.0], [1.0], 1.0)
    made(table, sample_rate=None, withheld=0.25, period=1e-3, reference=move, limit=2.0)
    assert (seen["period"], seen["reference"], seen["limit"]) == (1e-3, move, 2.0)
    assert [len(x.times[0]) for x in (seen["found"].comparison, seen["validation"])] == [600, 200]
    whole = {name: np.asarray(values).reshape(-1)[:800] for name, values in log.items()}
    made(table.set_index("time").to_xarray(), sample_rate=None)
    assert seen["period"] == pytest.approx(1 / RATE) and seen["found"].values == pytest.approx(
        made_values(whole), rel=1e-6
    )


def made_values(log):
    half = {name: values[:400] for name, values in log.items()}
    model = fa.Model(two_inertias(NUMBERS | GUESS))
    options = {"sample_rate": RATE, "between": "held", "states": True}
    return fa.identify(model, half, FIT, {"load.motor": "torque"}, SENSORS, **options).values


def test_reports_are_written_as_markdown_and_as_a_page(twin, tmp_path):
    text = twin.save(tmp_path / "twin.md").read_text(encoding="utf-8")
    assert text == twin.report()
    for part in ("# Twin of two inertias", "## Fit", "## Residuals", "## Shaper", "## Controller"):
        assert f"{part}\n" in text
    row = next(line for line in text.splitlines() if line.startswith("| load.stiffness |"))
    value, error = (float(x) for x in row.split("|")[2:4])
    assert value == pytest.approx(twin.identification.values["load.stiffness"], rel=1e-4)
    assert error == pytest.approx(twin.identification.errors["load.stiffness"], rel=0.05)
    assert (
        f"| motor | {float(twin.identification.fit[0, 0]):.1f} % | {float(twin.validation.fit[0, 0]):.1f} % |" in text
    )
    page = twin.save(tmp_path / "twin.html").read_text(encoding="utf-8")
    assert page.count("data:image/png;base64,") == 2 and "<td>load.stiffness</td>" in page and "<script" not in page
    with pytest.raises(DescriptionError, match=r"twin: path .*must end with \.md or \.html"):
        twin.save(tmp_path / "twin.pdf")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"outputs": None}, "twin: outputs is None; it must be a dict of sensors by signal"),
        ({"withheld": 1.0}, "twin: withheld is 1.0; it must be at least 0.05 and at most 0.9"),
        ({"sample_rate": None}, "twin: log has no times; give sample_rate"),
        ({"sample_rate": -1.0}, "twin: sample_rate is -1.0 1/s; it must be positive"),
        ({"excitation_period": 1.0}, "twin: log has 800 samples; it must have at least one excitation period in each"),
        ({"excitation_period": 0.0}, "twin: excitation_period is 0.0 s; it must be positive"),
        ({"nonsense": 3}, "twin: unknown argument 'nonsense'; further arguments are sample_rate, given"),
        ({"delays": 3}, "twin: unknown argument 'delays'; did you mean 'delay'?"),
        ({"log": "rig.csv"}, "twin: log is 'rig.csv'; read the file first, such as by pandas.read_csv"),
        ({"log": None}, "twin: log is None; it must be a Dataset, a DataFrame or a dict of arrays"),
        ({"arm": 3}, "twin: arm is 3; it must be a Model"),
        (
            {"inputs": {}, "excitation_period": 0.5},
            "twin: inputs is {}; with excitation_period it must be a dict of signals by actuator",
        ),
        ({"inputs": ["torque"]}, "twin: inputs is ['torque']; it must be a dict of signals by actuator"),
        ({"band": (1.0, 2.0)}, "twin: band applies only to a periodic excitation; add excitation_period, or leave"),
        ({"band": (2.0, 1.0), "excitation_period": 0.1}, "twin: band is (2.0, 1.0); it must be a lower and a higher"),
        ({"band": 3.0, "excitation_period": 0.1}, "twin: band is 3.0; it must be a list of numbers"),
        ({"log": [1.0]}, "twin: log is a list; it must be a Dataset, a DataFrame or a dict of arrays"),
    ],
)
def test_what_does_not_fit_is_an_error(log, changes, message):
    changes = dict(changes)
    with pytest.raises(DescriptionError, match=re.escape(message)):
        made(changes.pop("log", log), **changes)


def spoiled(log, **changes):
    """The log as a DataFrame with times, and with other columns."""
    return pd.DataFrame({"time": np.arange(800) / RATE, **log} | changes)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda log: spoiled(log).drop(columns="load"), "record 1 has no 'load' for an output"),
        (lambda log: spoiled(log).drop(columns="torque"), "record 1 has no 'torque' for an input"),
        (lambda log: spoiled(log).iloc[:1], "record 1 has 1 sample; it must have at least 8"),
        (lambda log: spoiled(log).iloc[:0], "record 1 has 0 samples; it must have at least 8"),
        (lambda log: spoiled(log, time=np.arange(800)[::-1] / RATE), "record 1: time has an uneven step after"),
        (lambda log: spoiled(log, time=1e3 * np.arange(800) / RATE), "twin: arm has its slowest mode at 43.6 Hz, more"),
        (lambda log: spoiled(log, load=0.3), "twin: log has a constant 'load', 0.3; check that its sensor is"),
        (
            lambda log: spoiled(log, load=np.where(np.arange(800) == 700, np.nan, log["load"])),
            "record 1: load has a gap: a sample is NaN or infinite, the first at 1.4 s (sample 700)",
        ),
    ],
)
def test_a_log_that_cannot_be_right_is_one_line_before_anything_is_fitted(log, spoil, message, monkeypatch):
    monkeypatch.setattr(module, "identify", None)
    with pytest.raises(DescriptionError, match=re.escape(message)):
        made(spoil(log), sample_rate=None)


def test_a_sensor_with_the_wrong_sign_gives_no_twin(log):
    with (
        pytest.warns(FlexarmWarning),
        pytest.raises(DescriptionError, match=r"twin: the fitted arm explains .* % of load in the withheld part"),
    ):
        made(spoiled(log, load=-log["load"]), sample_rate=None)


def test_poor_fits_and_estimates_in_degrees_are_warnings(twin, monkeypatch):
    """The twin fits to 99.7 % and more, and its guesses are of the right size."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        module._check_plausible(twin.identification, twin.validation, [*SENSORS])
    scaled = [replace(each, start=each.start * 180 / np.pi) for each in twin.identification.unknowns]
    with pytest.warns(Implausible, match="angles are in radians: are those of the log in degrees"):
        module._check_plausible(replace(twin.identification, unknowns=tuple(scaled)), twin.validation, [*SENSORS])
    monkeypatch.setattr(module, "DOUBTFUL_FIT", 99.9)
    with pytest.warns(Doubtful, match=r"twin: the fitted arm explains 99\.\d % of load in the withheld"):
        module._check_plausible(twin.identification, twin.validation, [*SENSORS])


def test_a_rigid_arm_and_a_motion_without_end_have_no_twin(twin, monkeypatch):
    rigid = fa.Model(fa.load("rigid-two-link"))
    with pytest.raises(DescriptionError, match="twin: arm has no mode that oscillates with the drives held"):
        module._slowest(rigid)
    endless = type("Endless", (), {"expression": lambda self, t: [t], "described": lambda self: "a steady turn"})()
    with pytest.raises(DescriptionError, match="twin: reference never comes to rest; give a reference that ends"):
        module._designed(twin.identification, twin.validation, [], endless, 1e-3, None)
