"""Optimal motions: derivatives of the program, a problem solved on paper, conditions of an optimum, what is refused."""

import casadi as ca
import numpy as np
import pytest
from searched import on_its_grid
from small_arms import cart, two_masses

import flexarm as fa
from flexarm.errors import FlexarmError, Implausible
from flexarm.optimal import Limits, OptimalMotion, optimal_motion
from flexarm.optimal.collocation import Grid
from flexarm.optimal.nlp import Program, block
from flexarm.trajectory import reference_motion, reference_values

SWITCHES, END = (1.00268, 2.10893, 3.21519), 4.21787
"""Two unit masses, a spring of 1 N/m, |u| <= 1 N on the first, one metre from rest to rest."""


@pytest.fixture(scope="module")
def masses():
    return two_masses()


@pytest.fixture(scope="module")
def fastest(masses):
    return optimal_motion(masses, [0.0], [1.0], limits={"torque": 1.0}, intervals=60, most_intervals=60, tolerance=1e-5)


@pytest.fixture(scope="module")
def program():
    """One bounded block of which two share variables, and two sums."""
    x, c = ca.SX.sym("x", 3), ca.SX.sym("c", 1)
    bent = ca.Function("bent", [x, c], [ca.vertcat(x[0] * x[1] ** 2 + c * x[2], ca.sin(x[0]) * x[2])])
    size = ca.Function("size", [x, c], [ca.sumsqr(x) * x[0]])
    places = np.array([[0, 1, 2], [2, 3, 4], [4, 1, 0]])
    blocks = [
        block("bent", bent, places, np.array([[1.0], [2.0], [3.0]]), lower=-1.0, upper=1.0),
        block("size", size, places[:2], np.zeros((2, 1)), weights=[[2.0], [0.5]]),
    ]
    return Program(blocks, np.array([1.0, 2.0, 0.5, 3.0, 1.5]), np.array([0.3, -0.7, 1.1, 0.4, -0.2]))


def test_the_slopes_of_a_program_are_those_that_casadi_finds_in_the_whole(program):
    nlp = program.functions["nlp"]
    x, p = nlp.mx_in()
    f, g = nlp(x, p)
    factors, of_cost = ca.MX.sym("l", 6), ca.MX.sym("s")
    whole = ca.hessian(of_cost * f + ca.dot(factors, g), x)[0]
    direct = ca.Function("direct", [x, of_cost, factors], [ca.jacobian(g, x), ca.gradient(f, x), ca.triu(whole)])
    rng = np.random.default_rng(1)
    at, weights = rng.normal(size=5), rng.normal(size=6)
    J, gradient, H = (np.array(y) for y in direct(at, 0.7, weights))
    functions = program.functions
    np.testing.assert_allclose(np.array(functions["jac_g"](at, [])[1]), J, atol=1e-13)
    np.testing.assert_allclose(np.array(functions["grad_f"](at, [])[1]), gradient, atol=1e-13)
    np.testing.assert_allclose(np.array(functions["hess_lag"](at, [], 0.7, weights)), H, atol=1e-13)


def test_the_largest_slope_of_a_row_is_one_at_the_start(program):
    J = np.array(program.functions["jac_g"](program.start / program.scale, [])[1])
    np.testing.assert_allclose(np.abs(J).max(axis=1), 1.0, rtol=1e-12)


def test_two_masses_and_a_spring_take_the_time_that_paper_says(fastest):
    assert fastest.duration == pytest.approx(END, abs=1.5e-3)
    assert fastest.report["end_error"] < 1e-5
    u = fastest.u[:-1, 0]
    arcs = np.flatnonzero(np.diff(np.sign(u)))
    assert np.sign(u[[0, *arcs + 1]]).tolist() == [1, -1, 1, -1]
    for at, wanted in zip(fastest.times[arcs + 1], SWITCHES, strict=True):
        assert abs(at - wanted) < END / 60


def test_the_multipliers_of_the_fastest_motion_have_the_sign_of_its_inputs(fastest):
    """The switching function: where it is not zero the input is at the limit on its side (Pontryagin)."""
    u, on = fastest.u[:-1, 0], fastest.on_inputs[:-1, 0]
    at_limit = np.abs(u) > 1 - 1e-6
    assert at_limit.sum() >= 56
    assert (np.sign(on[at_limit]) == np.sign(u[at_limit])).all()
    assert np.abs(on[~at_limit]).max(initial=0.0) < 1e-3 * np.abs(on).max()


def test_the_switching_function_is_that_of_the_adjoint_equations(fastest, masses):
    """p' = -A' p, and the input is worth B' p: a combination of 1, t, sin and cos of sqrt(2) t."""
    times, u, on = spans(fastest, "on_inputs")
    t, on = (times[:-1] + times[1:]) / 2, on[:, 0] / np.diff(times)
    inner = np.abs(u[:, 0]) > 1 - 1e-6
    omega = np.sqrt(2.0)
    basis = np.stack([np.ones_like(t), t, np.sin(omega * t), np.cos(omega * t)], axis=1)
    found, *_ = np.linalg.lstsq(basis[inner], on[inner], rcond=None)
    assert np.abs(basis[inner] @ found - on[inner]).max() < 5e-3 * np.abs(on).max()
    zeros = [brentq_of(basis_at(found, omega), a - 0.2, a + 0.2) for a in SWITCHES]
    np.testing.assert_allclose(zeros, SWITCHES, atol=END / 120)  # within half an interval of the grid


def spans(found, *more):
    """Times from which inputs are held, with the end, and what is held."""
    grid = on_its_grid(found)
    return grid.times, *(getattr(grid, name)[:-1] for name in ("u", *more))


def basis_at(c, omega):
    return lambda t: c @ [1.0, t, np.sin(omega * t), np.cos(omega * t)]


def brentq_of(f, a, b):
    from scipy.optimize import brentq

    return brentq(f, a, b)


def test_gauss_and_radau_agree(masses, fastest):
    other = optimal_motion(
        masses, [0.0], [1.0], limits={"torque": 1.0}, intervals=60, most_intervals=60, scheme="legendre", tolerance=1e-5
    )
    assert other.duration == pytest.approx(fastest.duration, abs=1e-6)


def test_the_reference_is_the_simulated_motion_of_the_torques(masses, fastest):
    assert isinstance(fastest, OptimalMotion)
    run = fa.simulate(
        masses, END + 1, fastest.torques, samples=400, solver=fa.Solver(rtol=1e-10, atol=1e-12), progress=False
    )
    t = run.time.values
    inside = t <= fastest.duration
    np.testing.assert_allclose(reference_values(fastest, t)[inside, 0], run.q.values[inside, 0], atol=2e-7)
    q, qd, qdd = reference_motion(fastest, 0.0)
    np.testing.assert_allclose([*q, *qd], [0.0, 0.0], atol=1e-12)
    end, rate, _ = reference_motion(fastest, 10.0)
    np.testing.assert_allclose([*end, *rate], [1.0, 0.0], atol=2e-5)
    assert "an optimal motion from [0.0]" in fastest.described()


def test_the_least_effort_of_a_mass_is_known():
    """A free mass over 1 m in T: u = 6 (1 - 2 t / T) / T^2, the integral of u^2 12 / T^3."""
    model = cart()
    held = optimal_motion(model, [0.0], [1.0], objective="effort", duration=2.0, intervals=40, most_intervals=40)
    assert held.report["cost"] == pytest.approx(12 / 8, rel=1e-3)
    times, u = spans(held)
    middle = (times[:-1] + times[1:]) / 2
    np.testing.assert_allclose(u[:, 0], 6 / 4 * (1 - middle), atol=2e-3)


def test_the_smoothest_torque_of_a_mass_is_known():
    """The least integral of (du/dt)^2 from and to no force: a cubic of t in u, 10 s^3 - 15 s^4 + 6 s^5 in the way."""
    model = cart()
    smooth = optimal_motion(model, [0.0], [1.0], objective="smoothness", duration=2.0, intervals=40, most_intervals=40)
    assert smooth.linear
    assert smooth.report["cost"] == pytest.approx(720 / 2**5, rel=4e-3)  # forty straight lines in place of a parabola
    np.testing.assert_allclose(reference_values(smooth, np.array([0.5, 1.0]))[:, 0], [0.103516, 0.5], atol=3e-4)


def test_limits_hold_and_say_where_they_press(masses):
    limits = Limits(torque=1.0, torque_rate=2.0, joint_rate=0.35, joint_range=[[-0.5, 1.001]])
    found = optimal_motion(masses, [0.0], [1.0], limits=limits, intervals=40, most_intervals=40)
    slopes = np.diff(found.u[:, 0]) / np.diff(found.times)
    assert np.abs(slopes).max() <= 2.0 + 1e-6
    assert np.abs(slopes).max() > 1.99
    assert np.abs(found.qd[:, 0]).max() < 0.352
    assert found.duration > END
    pressed = found.on_limits["torque_rate"] > 1e-3 * found.on_limits["torque_rate"].max()
    assert (np.abs(slopes[pressed]) > 1.99).all()


def test_a_deflection_is_kept_within_its_limit():
    model = fa.Model(fa.load("subudhi-morris"))
    asked = {"objective": "effort", "duration": 2.0, "intervals": 30, "most_intervals": 30, "tolerance": 1e-3}
    free = optimal_motion(model, [0.0, 0.0], [1.0, 0.5], **asked)
    bent = np.abs(model.deflections(free.q)[:, :2, 1]).max(axis=0)
    limits = {"deflection": (0.8 * bent).tolist()}
    kept = optimal_motion(model, [0.0, 0.0], [1.0, 0.5], limits, **asked)
    assert (np.abs(model.deflections(kept.q)[:, :2, 1]).max(axis=0) < 0.83 * bent).all()
    assert kept.report["cost"] > free.report["cost"]
    assert kept.on_limits["deflection"].max() > 0


def test_an_arm_under_gravity_starts_and_ends_with_what_holds_it():
    model = fa.Model(fa.load("rigid-two-link"))
    found = optimal_motion(model, [0.0, 0.0], [1.0, 0.5], {"torque": [40.0, 15.0]}, intervals=20, most_intervals=80)
    assert found.report["end_error"] < 1e-4
    assert found.duration == pytest.approx(found.report["rigid_duration"], rel=2e-2)
    _, holding = fa.analysis.equilibrium(model, [1.0, 0.5])
    np.testing.assert_allclose(found.u[-1], holding, atol=1e-9)
    at_limit = np.abs(found.u[:-1]) > np.array([40.0, 15.0]) * (1 - 1e-5)
    assert at_limit.any(axis=1).mean() > 0.9  # one actuator at least, nearly always (Bobrow et al. 1985)


def test_a_finer_grid_is_taken_where_the_simulation_does_not_agree(masses):
    coarse = Grid(masses, 5)
    assert coarse.size == 1 + 5 * (1 + 3 * 4) + 4 + 1
    with pytest.warns(
        fa.errors.NotReached,
        match=r"with \d+ intervals the tip error is .* m and the residual vibration .* m; tolerance is 1e-12 m",
    ):
        found = optimal_motion(masses, [0.0], [1.0], {"torque": 1.0}, intervals=5, most_intervals=10, tolerance=1e-12)
    assert found.report["intervals"] >= 10


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"limits": None}, "limits.torque is missing; a fastest motion needs limits"),
        ({"limits": 3}, "limits is 3; it must be Limits, or a dict of them"),
        ({"limits": {"torque": -1.0}}, "Limits: torque is -1.0; it must be one positive number, or a list of them"),
        ({"limits": {"torque": [1.0, 2.0]}}, "limits.torque has 2 entries; it must have 1, or one"),
        ({"limits": {"joint_range": [[1.0, 0.0]]}}, "joint_range is .*; it must be pairs"),
        ({"limits": {"push": 1.0}}, "unknown key 'push'"),
        (
            {"objective": "speed"},
            "objective is 'speed'; it must be time, effort, smoothness, deflection or moment, or weights",
        ),
        ({"objective": {"time": -1.0}}, "objective.time is -1.0"),
        ({"objective": "effort"}, "duration is missing; give it, because the objective does not include the time"),
        ({"duration": 2.0}, "duration is 2.0 s; leave it out, because the objective includes the time"),
        ({"duration": -2.0}, "duration is -2.0 s"),
        ({"intervals": 1}, "intervals is 1"),
        ({"most_intervals": 1}, "most_intervals is 1"),
        ({"intervals": 20, "most_intervals": 5}, "most_intervals is 5"),
        ({"most_intervals": 5000}, "most_intervals must be at most 2000"),
        ({"points": 12}, "points must be at most 9"),
        ({"steps": 0}, "steps is 0"),
        ({"steps": 10**30}, "steps must be at most 1000000"),
        ({"limits": {None: 1.0}}, "unknown key 'None'"),
        ({"intervals": 10**5000}, "intervals must be at most 2000"),
        ({"scheme": np.ones(2)}, r"scheme is array\(\[1., 1.\]\); it must be radau or legendre"),
        ({"scheme": "euler"}, "scheme is 'euler'; it must be radau or legendre"),
        ({"tolerance": 0.0}, "tolerance is 0.0 m"),
        ({"end": [1.0, 2.0, 3.0]}, "end: "),
        ({"model": 1}, "model is 1"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(masses, options, message):
    given = {"model": masses, "start": [0.0], "end": [1.0], "limits": {"torque": 1.0}} | options
    with pytest.raises(fa.DescriptionError, match=message) as refusal:
        optimal_motion(**given)
    assert "\n" not in str(refusal.value)


def test_angles_in_degrees_are_suspected():
    model = fa.Model(fa.load("subudhi-morris"))
    message = r"^optimal_motion: end: upper.joint is 90 rad, 14 turns; .* if 90 is in degrees, use 1.5708$"
    with pytest.warns(Implausible, match=message), pytest.raises(FlexarmError):
        optimal_motion(model, [0.0, 0.0], [90.0, 45.0], {"torque": 0.5})


def test_an_arm_that_cannot_stand_within_its_limits_is_told_so():
    model = fa.Model(fa.load("rigid-two-link"))
    with pytest.raises(
        fa.DescriptionError, match=r"holding the arm at the start takes 19.62 N m at 'upper.joint'; limits.torque"
    ):
        optimal_motion(model, [0.0, 0.0], [1.0, 0.5], limits={"torque": 10.0})


def test_an_arm_without_inputs_is_refused():
    link = fa.Link(name="beam", joint=fa.Fixed(), body=fa.Beam(length=1.0, mass=1.0, EI=1.0, modes={"y": 1}))
    with pytest.raises(fa.DescriptionError, match="needs an actuator"):
        optimal_motion(fa.Model(fa.Arm(name="beam", links=[link])), [0.0], [0.0])


def test_a_search_that_fails_says_what_presses(masses):
    with pytest.raises(
        fa.FlexarmError, match=r"no motion found with 20 intervals in 8 steps \(.*\); the most restrictive limit"
    ):
        optimal_motion(masses, [0.0], [1.0], {"torque": 1.0}, intervals=20, steps=2)
