"""Runs that are checked: energy balances, functions of time, divergence, discontinuous laws, numbers in other units."""

import re
import warnings
from types import SimpleNamespace

import casadi as ca
import numpy as np
import pytest

import flexarm as fa
from flexarm.control import JointPD, Law
from flexarm.description.load import bundled
from flexarm.errors import EnergyDrift, Implausible, MissedInput
from flexarm.simulation import breakpoints

RIGHT = 3.58941568
"""Angle of subudhi-morris at 10 s [rad] after 0.2 N m from 5 to 5.5 s: `fa.Piecewise`, and by hand 3.589."""


def made(expression):
    """A controller whose law is an expression of (t, q, qd), for two inputs."""
    law = Law(lambda t, q, qd, z: (ca.vertcat(expression(t, q, qd), 0), ca.SX(0, 1)))
    return SimpleNamespace(law=lambda model, period=None: law)


@pytest.fixture(scope="module")
def morris():
    return fa.Model(fa.load("subudhi-morris"))


@pytest.fixture(scope="module")
def rigid():
    return fa.Model(fa.load("rigid-two-link"))


def run(model, until, **options):
    return fa.simulate(model, until, progress=False, **options)


def pulse(t):
    return [0.2 if 5 <= t < 5.5 else 0.0, 0.0]


COMPILED = made(lambda t, q, qd: ca.if_else(ca.logic_and(t >= 5, t < 5.5), 0.2, 0.0))


# -- functions of time ---------------------------------------------------------------------------------------------


def smooth(t):
    """A pulse without a jump: a bump of width 0.05 s, whose integral is that of the other pulse."""
    return [0.1 / (0.05 * np.sqrt(np.pi)) * np.exp(-(((t - 5.25) / 0.05) ** 2)), 0.0]


@pytest.mark.parametrize(
    "given",
    [
        {"u": pulse},
        {"u": lambda t, q, qd: pulse(t)},
        {"u": COMPILED},
        {"disturbance": pulse},
        {"disturbance": COMPILED},
        {"u": COMPILED, "method": "radau9"},
        {"u": COMPILED, "method": "gauss8"},
        {"u": pulse, "method": "tsit5"},
        {"u": pulse, "samples": 11},
    ],
    ids=["python", "of the state", "law", "disturbance", "disturbing law", "radau9", "gauss8", "tsit5", "few samples"],
)
def test_a_pulse_in_a_function_of_time_is_not_stepped_over(morris, given):
    """The arm is at rest for 5 s, so that steps grow; q stayed 0."""
    result = run(morris, 10.0, **given)
    assert float(result.q[-1, 0]) == pytest.approx(RIGHT, rel=1e-6)


def test_pulses_in_ensembles_are_not_stepped_over(morris):
    """One run in lanes, one that calls Python."""
    many = fa.simulate_many(morris, 10.0, u=[COMPILED, pulse, None], progress=False)
    np.testing.assert_allclose(many.q.values[:, -1, 0], [RIGHT, RIGHT, 0.0], rtol=1e-6)


def test_a_smooth_bump_is_not_stepped_over(morris):
    t = np.linspace(0.0, 10.0, 4001)
    table = fa.Table(t, np.array([smooth(x) for x in t]))
    found = [float(run(morris, 10.0, u=u).q[-1, 0]) for u in (smooth, table)]
    exact = float(run(morris, 10.0, u=fa.Table(t[::2], np.array([smooth(x) for x in t[::2]]), kind="linear")).q[-1, 0])
    assert exact > 3.0
    np.testing.assert_allclose(found, exact, rtol=1e-4)


def test_a_table_of_a_pulse_is_not_stepped_over(morris):
    t = np.linspace(0.0, 10.0, 2001)
    result = run(morris, 10.0, u=fa.Table(t, np.array([pulse(x) for x in t])))
    assert float(result.q[-1, 0]) == pytest.approx(RIGHT, rel=1e-3)


def test_what_a_function_does_in_a_run_costs_no_second_run(morris):
    """A function that is seen everywhere is not run again: each call is counted."""
    calls = []

    def swinging(t):
        calls.append(t)
        return [0.05 * np.sin(2 * t), 0.0]

    result = run(morris, 2.0, u=swinging)
    assert len(calls) < result.attrs["evaluations"] + 1001 + breakpoints.CELLS + 1


def test_a_pulse_that_no_round_finds_is_reported(morris, monkeypatch):
    """Without a second run what was missed is said, with its time."""
    monkeypatch.setattr("flexarm.simulation.restarts.ROUNDS", 1)
    with pytest.warns(MissedInput, match=r"near t = 5\S* s: .*fa\.Piecewise"):
        run(morris, 10.0, u=pulse)
    with pytest.warns(MissedInput, match=r"^1 of 2 runs, first run 1: .* near t = 5"):
        fa.simulate_many(morris, 10.0, u=[COMPILED, pulse], progress=False)


@pytest.mark.parametrize(
    ("function", "jumps"),
    [
        (lambda t: (t >= 1.2345) * 1.0, [1.2345]),
        (lambda t: np.sin(t) + 0.1 * ((t > 3.0) & (t < 3.02)), [3.0, 3.02]),
        (np.sin, []),
        (lambda t: np.sin(3000 * t), []),
        (lambda t: t**2, []),
        (np.zeros_like, []),
    ],
)
def test_breakpoints_are_where_a_function_jumps(function, jumps):
    found = breakpoints.of_function(lambda t: function(t)[:, None], 0.0, 10.0)
    assert all(np.abs(found - t).min() < 1e-12 for t in jumps)
    assert jumps or not len(found)


# -- divergence ----------------------------------------------------------------------------------------------------

pytestmark = pytest.mark.filterwarnings("ignore::flexarm.errors.UnstableStart")
UNSTABLE = JointPD([0.1, 0.1], Kp=1, Kd=-5)


@pytest.mark.parametrize("method", ["auto", "rk45", "radau9", "vern7"])
def test_a_link_bent_by_many_lengths_has_diverged(morris, method):
    """It took ever more steps to 5.5e7 rad/s and a deflection of 9.7 km, without an end."""
    with pytest.raises(fa.SimulationError, match=r"^diverged by t = 0\.050\d* s: upper\.y1 .* bends link 'upper'") as e:
        run(morris, 20.0, q0=np.zeros(6), u=UNSTABLE, method=method)
    assert e.value.result.attrs["evaluations"] < 100_000
    assert np.abs(e.value.result.deflection).max() < 5.0


def test_joints_faster_than_machines_have_diverged(rigid):
    """No link bends here, and each evaluation brings the run a millionth of a turn forward."""
    with pytest.raises(fa.SimulationError, match=r"^diverged by t = .* s: the rate of \w+\.joint reached \S+ in \d+"):
        run(rigid, 20.0, q0=np.zeros(2), u=UNSTABLE)


def test_an_ensemble_ends_its_bad_runs_and_goes_on(morris):
    drives = [UNSTABLE, JointPD([0.1, 0.1], Kp=1, Kd=0.1), CHATTER]
    many = fa.simulate_many(morris, 2.0, q0=np.zeros(6), u=drives, progress=False)
    bent, well, slides = many.status.values
    assert bent.startswith("diverged by") and "bends link 'upper'" in bent
    assert well == "completed"
    assert "is discontinuous" in slides
    assert (many.evaluations.values < 500_000).all()


CHATTER = made(lambda t, q, qd: -3 * ca.sign(qd[0] + 5 * (q[0] - 0.2)))


@pytest.mark.parametrize(
    ("law", "method"),
    [
        (CHATTER, "auto"),
        (CHATTER, "radau9"),
        (CHATTER, "rk45"),
        (lambda t, q, qd: [-3 * np.sign(qd[0] + 5 * (q[0] - 0.2)), 0.0], "auto"),
    ],
    ids=["auto", "radau9", "rk45", "python"],
)
def test_a_law_that_slides_along_its_discontinuity_is_reported(morris, law, method):
    """It never returned. The surface is reached at 6.6 ms; there u would have to switch without an end."""
    said = r"^stopped at t = 0\.0066\d* s: .* is discontinuous, .* jumps from 3 to -3 .*; sample the law"
    with pytest.raises(fa.SimulationError, match=said) as e:
        run(morris, 0.2, u=law, method=method)
    assert e.value.result.attrs["evaluations"] < 500_000


def test_a_smoothed_law_goes_on(morris):
    """The same law with a width: the motion reaches the surface and stays."""
    law = made(lambda t, q, qd: -3 * ca.tanh((qd[0] + 5 * (q[0] - 0.2)) / 0.1))
    result = run(morris, 1.5, u=law)
    assert float(result.q[-1, 0]) == pytest.approx(0.2, abs=0.01)


def test_a_law_that_jumps_now_and_then_goes_on(rigid):
    """A relay with a swing of its own: the motion passes the jump, and does not stay there."""
    relay = made(lambda t, q, qd: -0.5 * ca.sign(q[0] - 0.2))
    result = run(rigid, 5.0, q0=[0.0, 0.0], u=relay)
    assert result.attrs["status"] == "completed"


# -- the balance of energies -----------------------------------------------------------------------------------------


def test_steps_that_are_too_long_are_reported(morris):
    """generalized-alpha with steps of 0.2 s, at a motion with 18 rad/s and more."""
    options = {"method": "generalized-alpha", "solver": fa.Solver(step=0.2), "samples": 11}
    said = (
        r"the energy balance has an error of 0\.026 of the 0\.112 J .* from t = 0\.1 s on, .*: the step of 0\.2 s is "
        r"too long"
    )
    with pytest.warns(EnergyDrift, match=said):
        run(morris, 1.0, u=[0.1, 0.0], **options)
    with pytest.warns(EnergyDrift) as caught:
        fa.simulate_many(morris, 1.0, u=[[0.1 * i, 0.0] for i in range(6)], progress=False, **options)
    (only,) = [str(each.message) for each in caught]
    assert re.match(r"the energy balance of 5 of 6 runs has an error of more than 0\.001 .* in run 5: the step", only)


def test_a_coarse_tolerance_may_drift_by_what_it_says(morris):
    """rtol = 1e-3 promises a tenth, and a fine step is within the limit."""
    run(morris, 1.0, u=[0.1, 0.0], solver=fa.Solver(rtol=1e-3, atol=1e-6, method="rk45"))
    run(morris, 1.0, u=[0.1, 0.0], solver=fa.Solver(step=1e-4, method="rk4"))


def test_a_method_asked_to_damp_is_not_reported(morris):
    run(morris, 0.5, u=[0.1, 0.0], solver=fa.Solver(method="generalized-alpha", step=0.01, spectral_radius=0.5))


def test_an_arm_at_rest_is_not_reported(rigid):
    """Rounding is all of its energy."""
    run(rigid, 1.0, q0=[-np.pi / 2, 0.0])
    fa.simulate_many(rigid, 1.0, q0=[[-np.pi / 2, 0.0]], progress=False)


# -- numbers in other units --------------------------------------------------------------------------------------------


def test_angles_that_look_like_degrees_are_reported(rigid):
    said = r"^q0: upper\.joint is 90 rad, 14 turns; angles are in radians: if 90 is in degrees, use 1\.5708$"
    with pytest.warns(Implausible, match=said):
        run(rigid, 0.01, q0=[90, 45])
    with pytest.warns(Implausible, match=r"^q0: fore\.joint is -45 rad"):
        fa.simulate_many(rigid, 0.01, q0=[[0, 0], [0, -45.0]], progress=False)
    turn = fa.Quintic([0.0, 0.0], [0.5, 90.0], 0.01)
    with pytest.warns(Implausible, match=r"^the reference: fore\.joint is 90 rad"):
        run(rigid, 0.01, u=JointPD(turn, Kp=1, Kd=1))


def test_turns_and_other_large_angles_are_not_reported(rigid):
    run(rigid, 0.01, q0=[4 * np.pi, 91.3], qd0=[90.0, 0.0])
    cart = fa.Arm(name="cart", links=[fa.Link(name="a", joint=fa.Prismatic(), body=fa.Rigid(length=1.0, mass=1.0))])
    run(fa.Model(cart), 0.01, q0=[90.0])


def beams(*lengths, **body):
    beam = {"mass": 1.0, "EI": 10.0, "modes": {"y": 1}} | body
    return [
        fa.Link(name=f"l{i}", joint=fa.Revolute(axis=(0, 0, 1)), body=fa.Beam(length=length, **beam))
        for i, length in enumerate(lengths)
    ]


def test_numbers_of_an_arm_in_other_units_are_reported():
    with pytest.warns(Implausible, match=r"^arm 'x': link 'l0': damping is 2 of critical damping; .* 0\.02 for 2 %$"):
        fa.Arm(name="x", links=beams(1.0, damping=2.0))
    with pytest.warns(Implausible, match=r"link 'l1': length is 1000 m, .* 'l0', has 1 m; .*: give 1 for 1000 mm$"):
        fa.Arm(name="x", links=beams(1.0, 1000.0))


def test_plausible_arms_are_not_reported():
    """All bundled arms, a tether, and a beam of rubber."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in bundled():
            fa.load(name)
        fa.Arm(name="tether", links=beams(1000.0))
        fa.Arm(name="short", links=beams(0.001, 0.9, damping=0.3))
