"""The two measured rigs: what was recorded, and that identification does on them what their page says."""

from importlib.resources import files

import numpy as np
import pytest

import flexarm as fa
from flexarm.identification.frequency import resonance
from flexarm.sensors import Encoder

FIT = ["load.rotor_inertia", "load.inertia", "load.stiffness", "load.damping", "load.spring_damping"]
SENSORS = {"motor_angle": Encoder(coordinate="load.motor"), "load_angle": Encoder(coordinate="load.joint")}


def response(part, load=-1.0):
    data = fa.measured("two-inertia-bench").isel(time=part)
    data["load_angle"] = load * data.load_angle
    found = fa.frequency_response(data, "current", ["motor_angle", "load_angle"], 1.0)
    return found.sel(frequency=slice(11, 250))


def bench(**changes):
    numbers = {"rotor_inertia": 3e-3, "stiffness": 400.0, "damping": 0.05, "spring_damping": 0.01} | changes
    load = fa.Rigid(length=0.1, mass=1.0, com=(0, 0, 0), inertia=8e-3)
    links = [fa.Link(name="load", joint=fa.Revolute(**numbers), body=load)]
    return fa.Model(fa.Arm(name="bench", gravity=(0, 0, 0), links=links))


def identified(data, unmodelled=0.02, **options):
    return fa.identify(bench(), data, FIT, {"load.motor": "current"}, SENSORS, unmodelled=unmodelled, **options)


@pytest.fixture(scope="module")
def halves():
    """Four periods to fit, four to check."""
    return response(slice(0, 10_000)), response(slice(10_000, 20_000))


@pytest.fixture(scope="module")
def found(halves):
    return identified(halves[0], delay=1e-4)


# -- the records -------------------------------------------------------------------------------------------------------


def test_records_are_as_they_are_said_to_be():
    for name, signals, rate, samples in (
        ("two-inertia-bench", {"current": "A", "motor_angle": "rad", "load_angle": "rad"}, 2500.0, 20_000),
        ("flexible-link-rig", {"hub_angle": "rad", "deflection_angle": "rad"}, 500.0, 2_000),
    ):
        data = fa.measured(name)
        assert {key: data[key].attrs["units"] for key in data} == signals
        assert data.sizes == {"time": samples} and data.attrs["sample_rate"] == rate
        np.testing.assert_allclose(np.diff(data.time), 1 / rate, rtol=1e-9)
        assert "MIT" in data.attrs["source"]
        assert all(np.isfinite(data[key]).all() for key in data)


def test_sources_and_licences_lie_beside_them():
    text = (files("flexarm.identification") / "data" / "LICENSES.md").read_text(encoding="utf-8")
    for part in ("two-inertia-bench.csv.gz", "flexible-link-rig.csv.gz", "FdiTools", "aa4cc / Edu Ctrl Lab Models"):
        assert part in text
    assert text.count("MIT License") == 2 and text.count("Permission is hereby granted") == 2


@pytest.mark.parametrize("name", ["bench", "", None, 3])
def test_other_records_are_refused(name):
    match = r"\Aunknown record .*; known records are two-inertia-bench, flexible-link-rig\Z"
    with pytest.raises(fa.DescriptionError, match=match):
        fa.measured(name)


# -- the bench ---------------------------------------------------------------------------------------------------------


def test_what_is_seen_without_a_model(halves):
    """An anti-resonance of the motor near 54 Hz, a resonance near 77 Hz, and the load counted the other way."""
    data, _ = halves
    motor, load = (data.response.sel(output=name, input="current") for name in ("motor_angle", "load_angle"))
    assert abs(float(np.abs(motor.sel(frequency=slice(40, 65))).idxmin()) - 54) <= 1
    assert abs(float(np.abs(motor.sel(frequency=slice(60, 100))).idxmax()) - 77) <= 1
    assert abs(motor.sel(frequency=54)) < 0.2 * abs(load.sel(frequency=54))
    as_recorded = response(slice(0, 10_000), 1.0).response.sel(output="load_angle", input="current")
    low = {"frequency": slice(11, 30)}
    assert (np.abs(np.angle(motor.sel(low) / load.sel(low))) < 0.2).all()
    assert (np.abs(np.angle(motor.sel(low) / as_recorded.sel(low))) > 2.9).all()
    assert data.coherence.sel(frequency=slice(11, 150)).min() > 0.9


def test_the_model_is_within_a_decibel_on_periods_that_were_not_fitted(halves, found):
    off = np.abs(found.validate(halves[1]).decibels)
    for low, high in ((11, 45), (90, 150)):
        assert off.sel(frequency=slice(low, high)).max() < 1.0


def test_the_model_s_resonance_is_within_half_a_hertz(halves, found):
    check, f = found.validate(halves[1]), halves[1].frequency.values
    for k in range(2):
        real = resonance(f, halves[1].response.values[:, k, 0], (66, 88))
        ours = resonance(f, check.model[:, k, 0], (66, 88))
        assert abs(real.frequency - ours.frequency) < 0.5
        assert abs(real.frequency - 76.4) < 0.1


def test_numbers_are_what_lines_by_hand_say(found):
    """Anti-resonance: the load on the spring; resonance: both; far below: both inertias together."""
    v = found.values
    anti = np.sqrt(v["load.stiffness"] / v["load.inertia"]) / (2 * np.pi)
    both = v["load.rotor_inertia"] * v["load.inertia"] / (v["load.rotor_inertia"] + v["load.inertia"])
    assert anti == pytest.approx(54.3, abs=0.5)
    assert np.sqrt(v["load.stiffness"] / both) / (2 * np.pi) == pytest.approx(76.4, abs=0.5)
    assert v["load.rotor_inertia"] + v["load.inertia"] == pytest.approx(9.5e-3, rel=0.03)
    assert not found.indistinct and found.statistics.spread > 1.5  # friction: more than noise


def test_what_the_delay_is_worth(halves, found):
    """Without one the phases are off by up to 15 degrees, and sizes hardly change."""
    late, error = found.others["delay"]
    assert late == pytest.approx(1e-4, abs=2e-5) and error < 1e-5
    without = identified(halves[0])
    f = {"frequency": slice(90, 200)}
    motor = halves[1].response.sel(f).values[:, 0, 0]
    at = np.isin(halves[1].frequency, halves[1].frequency.sel(f))
    off = [np.degrees(np.abs(np.angle(x.validate(halves[1]).model[at, 0, 0] / motor))) for x in (without, found)]
    assert np.median(off[0]) > 3 > 1.5 > np.median(off[1])


def test_the_torque_constant_cannot_be_told(halves):
    """Angles by currents know ratios to it alone."""
    both = identified(halves[0], currents={"load.motor": 1.0})
    assert len(both.indistinct) == 1 and "constant of load.motor" in both.indistinct[0].text


def test_either_half_says_the_same(halves, found):
    """With a share for friction. Without it lines that happen to repeat best decide, and halves differ by 3 percent."""
    other = identified(halves[1], delay=1e-4)
    for name in FIT:
        assert abs(other.values[name] - found.values[name]) < 3 * np.hypot(other.errors[name], found.errors[name])
    one, two = (identified(half, 0.0, delay=1e-4) for half in halves)
    share = abs(two.values["load.inertia"] / one.values["load.inertia"] - 1)
    assert share > 5 * abs(other.values["load.inertia"] / found.values["load.inertia"] - 1)


# -- the flexible link -------------------------------------------------------------------------------------------------

LENGTH, THICKNESS = 0.202, 0.00127


def rig(EI=2.69):
    blade = fa.Beam(length=LENGTH, mass=0.154, EI=EI, modes={"y": 2}, damping=0.05)
    links = [
        fa.Link(name="hub", joint=fa.Revolute(), body=fa.Rigid(length=0.079, mass=0.1)),
        fa.Link(name="link", joint=fa.Fixed(), body=blade),
    ]
    payload = fa.Payload(mass=1.578, inertia=0.0557)
    return fa.Model(fa.Arm(name="rig", gravity=(0, 0, 0), links=links, payload=payload))


def low_passed(x, corner=2.0, damping=0.9):
    """The gauge's filter on the hub's angle, and its rate."""
    from scipy.signal import lsim

    w, t = 2 * np.pi * corner, np.arange(len(x)) / 500.0
    A, B = [[0, 1], [-(w**2), -2 * damping * w]], [[0], [w**2]]
    return lsim((A, B, np.eye(2), np.zeros((2, 1))), x, t, X0=[x[0], 0.0])[1]


def flexible_link(part, filtered=True):
    data = fa.measured("flexible-link-rig")
    hub = data.hub_angle.values
    q, rate = low_passed(hub).T if filtered else (hub, np.gradient(hub, 1 / 500.0))
    strain = data.deflection_angle.values * 1.5 * THICKNESS / LENGTH
    record = {"hub": q[part], "hub_rate": rate[part], "strain": strain[part]}
    gauge = {"strain": fa.StrainGauge(link="link", distance=-THICKNESS / 2)}
    options = {"outputs": gauge, "sample_rate": 500.0, "given": {"hub.joint": ("hub", "hub_rate")}, "offsets": True}
    return record, options


def test_the_link_s_stiffness_and_its_second_half():
    record, options = flexible_link(slice(0, 1000))
    later, _ = flexible_link(slice(1000, 2000))
    found = fa.identify(rig(), record, ["link.EI", "link.damping_ratio"], states=True, **options)
    assert 1.7 < found.values["link.EI"] < 1.95 and found.fit.min() > 80
    assert found.model.frequencies(np.zeros(3))[0] / (2 * np.pi) == pytest.approx(1.78, abs=0.05)
    assert found.validate(later).fit.min() > 60
    ring = fa.identify(rig(), later, ["link.EI", "link.damping_ratio"], states=True, **options)
    assert ring.fit.min() > 95 and ring.values["link.EI"] == pytest.approx(found.values["link.EI"], rel=0.05)
    # what it loses in the move it does not lose as it rings on: that is no viscous damping
    assert found.values["link.damping_ratio"] > 3 * ring.values["link.damping_ratio"]


def test_without_the_gauge_s_filter_nothing_fits():
    record, options = flexible_link(slice(0, 1000), filtered=False)
    found = fa.identify(rig(), record, ["link.EI", "link.damping_ratio"], states=True, **options)
    assert found.fit.max() < 80
