"""Experiments designed: optimal spectra, low peaks, limits that are kept, and errors that are those of the scatter."""

import numpy as np
import pytest
from rigs import NUMBERS, two_inertias

import flexarm as fa
from flexarm import analysis
from flexarm.identification.design import d_optimal, low_peaks, waves, worth
from flexarm.sensors import Encoder, StrainGauge, TipPosition

SENSORS = [
    Encoder(coordinate="load.motor", name="motor", noise=2e-4),
    Encoder(coordinate="load.joint", name="load", noise=2e-4),
]
LIMITS = {"torque": 10.0, "range": 0.2, "rate": 15.0}
ASKED = {
    "fit": list(NUMBERS),
    "until": 4.0,
    "outputs": SENSORS,
    "limits": LIMITS,
    "sample_rate": 1000.0,
    "period": 0.5,
    "band": (6.0, 150.0),
}


def refused(match):
    """A one-line DescriptionError."""
    return pytest.raises(fa.DescriptionError, match=rf"\A{match}\Z")


def excited(arm=None, **changes):
    given = ASKED | changes
    return fa.excitation(fa.Model(arm or two_inertias()), given.pop("fit"), given.pop("until"), **given)


def size(found):
    """log det of the covariance, of numbers in shares of their values."""
    values = np.array(list(found.nominal.values()))
    return np.linalg.slogdet(found.covariance / np.outer(values, values))[1]


# -- spectra -----------------------------------------------------------------------------------------------------------


def candidates(seed, count=80, k=4, limits=3):
    rng = np.random.default_rng(seed)
    v = rng.normal(size=(count, 2, k))
    return np.einsum("iak,ial->ikl", v, v), rng.random((limits, count)) + 0.1


@pytest.mark.parametrize("limits", [1, 2, 4])
@pytest.mark.parametrize("seed", [1, 2])
def test_a_spectrum_is_optimal(seed, limits):
    """Kuhn and Tucker's conditions: no line is worth more than it costs, and prices are paid for full limits alone."""
    information, cost = candidates(seed, limits=limits)
    found = d_optimal(information, cost)
    loads, told, asked = cost @ found.power, worth(information, found.power), found.prices @ cost
    assert (found.power >= 0).all() and loads.max() == pytest.approx(1.0)
    assert (told <= asked * 1.005).all()
    assert found.prices @ (1 - loads) < 0.01 * found.prices.sum()
    assert found.prices.sum() == pytest.approx(4.0)


def test_a_spectrum_is_that_of_a_general_optimizer():
    from scipy.optimize import minimize

    information, cost = candidates(3, count=12, k=2, limits=2)

    def loss(w):
        return -np.linalg.slogdet(np.einsum("i,ikl->kl", w, information))[1], -worth(information, w)

    limits = {"type": "ineq", "fun": lambda w: 1 - cost @ w, "jac": lambda w: -cost}
    best = minimize(loss, np.full(12, 0.05), jac=True, bounds=[(0, None)] * 12, constraints=[limits], method="SLSQP")
    assert loss(d_optimal(information, cost).power)[0] == pytest.approx(best.fun, abs=2e-3)


def test_one_number_wants_one_line():
    """The one that tells most for what it costs."""
    rng = np.random.default_rng(4)
    told, cost = rng.random(30), rng.random(30) + 0.1
    power = d_optimal(told[:, None, None], cost[None]).power
    best = int((told / cost).argmax())
    assert power[best] * cost[best] > 0.99


def test_peaks_are_low():
    lines = np.arange(5, 120)
    even = np.ones((len(lines), 1), dtype=complex)
    a = low_peaks(lines, np.ones(len(lines)), even, 2048, 0)
    x = waves(lines, a, even, 2048)[0]
    np.testing.assert_allclose(np.abs(a), 1.0)
    assert np.abs(x).max() / x.std() < 1.75  # Schroeder's phases give about 1.7 to 2, random ones 3 to 4
    random = waves(lines, np.exp(2j * np.pi * np.random.default_rng(0).random(len(lines))), even, 2048)[0]
    assert np.abs(random).max() / random.std() > 2.5


def test_waves_are_sums_of_cosines():
    lines, a = np.array([3, 7]), np.array([1.0 + 0.5j, -2.0j])
    H = np.array([[1.0, 2.0j], [0.5, -1.0]])
    t = np.arange(64) / 64
    expected = [np.real((H[:, s] * a) @ np.exp(2j * np.pi * np.outer(lines, t))) for s in (0, 1)]
    np.testing.assert_allclose(waves(lines, a, H, 64), expected, atol=1e-12)


# -- the run -----------------------------------------------------------------------------------------------------------

ARMS = {
    "free": (two_inertias(), {}),
    "hanging": (
        fa.Arm(
            name="pendulum",
            gravity=(0, -9.81, 0),
            links=[
                fa.Link(
                    name="load",
                    joint=fa.Revolute(damping=0.05),
                    body=fa.Beam(length=0.6, mass=0.3, EI=8.0, modes={"y": 2}, damping=0.02),
                )
            ],
            payload=fa.Payload(mass=0.2),
        ),
        {
            "fit": ["load.EI", "payload.mass", "load.damping"],
            "outputs": [
                Encoder(coordinate="load.drive", noise=1e-4),
                StrainGauge(link="load", noise=1e-3, name="strain"),
            ],
            "limits": {"torque": 4.0, "range": 0.2, "strain": 1.0},
            "band": (0.5, 40.0),
            "period": 2.0,
            "until": 6.0,
        },
    ),
}


@pytest.mark.parametrize("case", ARMS)
def test_limits_are_kept_and_one_of_them_is_used(case):
    """In a run of our own, at other times and tolerances than those at which it was looked."""
    arm, changes = ARMS[case]
    model = fa.Model(arm)
    q = np.zeros(len(model.coordinates))
    if case == "hanging":
        q[0] = -0.7
        q, _ = analysis.equilibrium(model, q)
    found = excited(arm, q=q, **changes)
    run = fa.simulate(model, found.until, found.input, q0=q, samples=7001, rtol=1e-9, progress=False)
    limits = ASKED | changes
    limits = limits["limits"]
    drives = [i for i, name in enumerate(model.coordinates) if name.endswith((".joint", ".motor"))]
    y = fa.outputs(model, (ASKED | changes)["outputs"]).values(run.q.values, run.qd.values, run.u.values)
    used = {
        "torque": np.abs(run.u.values).max(),
        "range": np.abs(run.q.values - q)[:, drives].max(),
        "rate": np.abs(run.qd.values[:, drives]).max(),
        "strain": np.abs(y[:, -1] - y[0, -1]).max(),
    }
    shares = {name: used[name] / limit for name, limit in limits.items()}
    assert max(shares.values()) < 1.01 and max(shares.values()) > 0.9
    assert max(most / limit for most, limit in found.peaks.values()) == pytest.approx(max(shares.values()), abs=0.02)
    # nothing is left of a push: the last period is about where the second was
    n = 7000 // round(found.until / found.period)
    middle = run.q.values[:, 0]
    assert abs(middle[-n:].mean() - middle[n : 2 * n].mean()) < 0.1 * np.ptp(middle)


def test_the_errors_to_expect_are_the_scatter():
    """Forty experiments, simulated once, each with noise of its own, and each fitted.

    Their scatter is known to a ninth; the limit is three of those.
    """
    found = excited()
    model = fa.Model(two_inertias())
    step = 1 / found.sample_rate
    run = fa.simulate(
        model, found.until, found.input, samples=round(found.until / step) + 1, rtol=1e-10, progress=False
    )
    u = run.u.values[:-1, 0]
    y = {"motor": run.q.sel(coordinate="load.motor"), "load": run.q.sel(coordinate="load.joint")}
    values = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        noisy = {name: x.values[:-1] + 2e-4 * rng.standard_normal(len(u)) for name, x in y.items()}
        response = fa.frequency_response(
            {"u": u} | noisy, "u", ["motor", "load"], found.period, sample_rate=found.sample_rate, skip=1, excited=1e-3
        )
        assert len(response.frequency) == len(found.frequency)
        values.append(
            list(fa.identify(fa.Model(two_inertias()), response, list(NUMBERS), None, SENSORS).values.values())
        )
    assert found.errors.keys() == NUMBERS.keys()
    np.testing.assert_allclose(np.std(values, axis=0, ddof=1), list(found.errors.values()), rtol=0.35)
    np.testing.assert_allclose(np.mean(values, axis=0), list(NUMBERS.values()), rtol=0.01)


def test_the_first_period_is_for_settling():
    """Of two periods one counts, of eight seven."""
    short, long = excited(until=1.0, flat=1.0), excited(until=4.0, flat=1.0)
    for name in NUMBERS:
        ratio = short.errors[name] * short.amplitude[0] / (long.errors[name] * long.amplitude[0])
        assert ratio == pytest.approx(np.sqrt(7), rel=1e-6)


def test_an_optimal_spectrum_beats_a_flat_one():
    best, flat = excited(), excited(flat=1.0)
    assert size(best) < size(flat) - 0.5
    assert np.ptp(flat.amplitude) < 1e-9 * flat.amplitude.max() and np.ptp(best.amplitude) > best.amplitude.min()
    assert size(excited(flat=0.1)) >= size(best) - 1e-9


def test_each_input_has_lines_of_its_own():
    arm = fa.load("rigid-two-link").replace(gravity=(0, 0, 0))
    sensors = [Encoder(coordinate=name, noise=1e-4) for name in fa.Model(arm).coordinates]
    found = excited(
        arm, fit=["payload.mass"], outputs=sensors, limits={"torque": [1.0, 0.5], "range": 0.05}, band=(1, 10)
    )
    names = fa.Model(arm).inputs
    assert [names.index(x) for x in found.driven[:4]] == [0, 1, 0, 1]
    t = found.input.times[:-1]
    for i, name in enumerate(names):
        own = np.array([x == name for x in found.driven])
        parts = zip(found.frequency[own], found.amplitude[own], found.phase[own], strict=True)
        u = sum(a * np.cos(2 * np.pi * f * t + phase) for f, a, phase in parts)
        np.testing.assert_allclose(found.input.values_[:-1, i], u, atol=1e-9)
        pushes = found.amplitude[own] / (2 * np.pi * found.frequency[own])
        assert abs(pushes @ np.sin(found.phase[own])) < 1e-9 * pushes.sum()  # the integral of u, zero where it begins
    assert "standard error" in str(found) and len(found.plot().figure.axes) == 2


def test_a_model_that_varies_keeps_its_numbers():
    plain, varied = two_inertias(), fa.Model(two_inertias(), vary=list(NUMBERS))
    soft = varied.at({"load.stiffness": 300.0})
    found = fa.excitation(soft, ASKED["fit"], 4.0, **{k: v for k, v in ASKED.items() if k not in ("fit", "until")})
    assert found.nominal["load.stiffness"] == 300.0
    one = fa.excitation(soft, "load.inertia", 4.0, **{k: v for k, v in ASKED.items() if k not in ("fit", "until")})
    assert list(one.errors) == ["load.inertia"] and one.errors["load.inertia"] < found.errors["load.inertia"]
    assert excited(plain, fit="load.stiffness").nominal == {"load.stiffness": 550.0}


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"until": 0.8}, "excitation: until is 0.8 s; it must be at least two periods of 0.5 s"),
        ({"until": -1}, "excitation: until is -1.0 s; it must be positive"),
        ({"fit": []}, r"excitation: fit is \[\]; it must be a list of names of parameters"),
        ({"fit": ["load.colour"]}, ".*unknown parameter 'load.colour'; the parameters are .*"),
        ({"limits": {}}, "excitation: limits is empty; it must have at least one of torque, range, rate or an output"),
        ({"limits": 3}, "excitation: limits is 3; it must be a dict"),
        (
            {"limits": {"speed": 1}},
            "excitation: limits has the unknown key 'speed'; allowed keys are .*rate, motor, load",
        ),
        ({"limits": {"torque": -1}}, "excitation: limits of torque is -1; it must be positive"),
        (
            {"limits": {"torque": [1, 2, 3]}},
            r"excitation: limits of torque has shape \(3,\); it must be one number, or 1",
        ),
        ({"outputs": [Encoder(coordinate="load.motor")]}, "excitation: Encoder has neither noise nor resolution; .*"),
        ({"band": (9, 5)}, r"excitation: band is \(9, 5\); it must be two frequencies, the lower first"),
        ({"band": (5, 450)}, "excitation: band ends at 450 Hz; at 1000 Hz it must end at 400 Hz or below"),
        ({"band": (5.1, 5.2)}, r"excitation: no line of 1 / 0.5 s lies from 5.1 to 5.2 Hz; take a longer period"),
        (
            {"period": 100.0, "until": 400.0, "band": (1, 300)},
            "excitation: 29901 lines, and at most 20000 are allowed: .*",
        ),
        ({"flat": 2}, "excitation: flat is 2.0; it must be from 0 to 1"),
        (
            {"fit": ["load.mass", "load.stiffness"]},
            "excitation: these outputs contain no information on load.mass; leave it out of fit, or add sensors",
        ),
        (
            {"fit": ["load.rotor_inertia", "load.gear_ratio"]},
            "excitation: these outputs cannot distinguish load.* and load.*; leave one of them out of fit",
        ),
    ],
)
def test_what_cannot_be_designed_is_refused(changes, match):
    with refused(match):
        excited(**changes)


def test_limits_that_nothing_can_keep_are_refused():
    """Holding the arm takes more than the motors have; and an arm on its head falls, however little it is driven."""
    arm, changes = ARMS["hanging"]
    model = fa.Model(arm)
    side, _ = analysis.equilibrium(model, np.array([0.0, 0.0, 0.0]))
    weak = changes | {"limits": {"torque": 1.0}}
    match = r"excitation: limits: holding the arm takes a torque of load.joint of 2\.\d+, and the limit is 1; .*"
    with refused(match):
        excited(arm, q=side, **weak)
    up = np.array([np.pi / 2 - 0.3, 0.0, 0.0])
    up, _ = analysis.equilibrium(model, up)
    match = r"excitation: limits: the load.joint exceeds its limit even for the smallest excitation; increase the limit"
    with refused(match):
        excited(arm, q=up, **changes | {"limits": {"range": 1e-3}, "until": 20.0})


def test_sensors_with_several_signals():
    arm = fa.load("rigid-two-link").replace(gravity=(0, 0, 0))
    found = excited(
        arm,
        q=np.array([0.3, 0.8]),
        fit=["payload.mass"],
        outputs=[TipPosition(axes="xy", resolution=1e-4)],
        limits={"torque": 1.0, "tip_x": 0.05, "range": 0.1},
        band=(1, 10),
    )
    assert "tip_x" in found.peaks and found.errors["payload.mass"] > 0
