"""A base that is moved: against Lagrange's equations, the equivalence principle, and motions in a frame at rest."""

from functools import lru_cache

import numpy as np
import pytest
from compared import vector
from oracle import Lagrangian, bending
from random_arms import random_arm, random_state
from scipy.integrate import quad
from scipy.spatial.transform import Rotation

import flexarm as fa
from flexarm.simulation.exogenous import as_exogenous
from flexarm.trajectory.reference import reference_motion, reference_values

ROUNDING = 1e-11  # relative, of some thousand operations on numbers that differ by a few orders
CASES = (
    {},
    {"rotor": "absolute", "elastic": True},
    {"telescope": True, "twisting": True},
    {"foreshortening": True},
    {"tapered": True, "chord": True},
    {"rigid": True},
    {"telescope": True, "twisting": True, "convection": "paper"},
)


def moved(arm):
    return fa.Model(arm.replace(base=fa.MovingBase()))


def table(links, **more):
    return fa.Arm(name="test", links=links, base=fa.MovingBase(), **more)


def slide(name, axis, mass, **more):
    body = fa.Rigid(length=0.0, mass=mass, inertia=0.0)
    return fa.Link(name=name, joint=fa.Prismatic(axis=axis, **more), body=body)


def close(actual, expected, tolerance=ROUNDING):
    assert np.abs(np.asarray(actual) - expected).max() <= tolerance * max(1.0, np.abs(expected).max())


every_case = pytest.mark.parametrize("seed", range(len(CASES)), scope="module")  # all tests of a case in a row


@lru_cache(maxsize=1)
def modelled(seed):
    arm = random_arm(seed, **CASES[seed])
    return arm, moved(arm)


@every_case
def test_accelerations_are_those_of_lagranges_equations_with_places_that_depend_on_time(seed):
    arm, model = modelled(seed)
    (q, qd, u), base = random_state(arm, seed), np.random.default_rng(seed).normal(size=(3, 3))
    other = Lagrangian(arm, base=base)
    w = np.concatenate([base[0], *other.base_turns])
    qdd = other.forward_dynamics(q, qd, u)
    for name in ("forward_dynamics", "forward_dynamics_dense"):
        close(vector(model, name, q, qd, u, w), qdd)
    assert np.abs(vector(model, "forward_dynamics", q, qd, u, 0 * w) - qdd).max() > 1e-3  # the base does something


@every_case
def test_the_power_of_the_inertial_forces_is_what_the_energy_seen_from_the_base_gains(seed):
    import casadi as ca

    arm, model = modelled(seed)
    q, qd, u = random_state(arm, seed)
    w, n = np.random.default_rng(seed).normal(size=9), len(arm.coordinates)
    x, v = ca.SX.sym("q", n), ca.SX.sym("qd", n)
    total = ca.sum1(model.function("energy")(x, v))
    slope = ca.Function("slope", [x, v], [ca.gradient(total, ca.vertcat(x, v))])
    rate = vector(model, "state_rate", q, qd, u, w)
    gained = np.array(slope(q, qd)).ravel() @ rate[: 2 * n]
    close(rate[-2] - rate[-1], gained)


@pytest.mark.parametrize("seed", range(4))
def test_a_base_that_accelerates_is_gravity_the_other_way(seed):
    """The equivalence principle, to the last bit but for the order of two sums; rates of drives and links alike."""
    convection = "paper" if seed == 3 else "material"
    arm, a = random_arm(seed, telescope=seed % 2 == 1, convection=convection), np.array([0.4, -1.1, 2.3])
    (q, qd, u), w = random_state(arm, seed), np.array([*a, *np.zeros(6)])
    heavier = fa.Model(arm.replace(gravity=tuple(np.array(arm.gravity) - a)))
    found = vector(moved(arm), "forward_dynamics", q, qd, u, w)
    close(found, vector(heavier, "forward_dynamics", q, qd, u), 1e-13)


def test_a_free_mass_on_a_turntable_goes_straight():
    """Centrifugal, Coriolis and Euler's force: places in the frame at rest are p + v t, however the table turns."""
    turn = fa.Quintic((0.0, 0.0, 0.3), (0.0, 0.0, 2.5), 1.5)
    model = fa.Model(table([slide("x", (1.0, 0.0, 0.0), 1e-9), slide("y", (0.0, 1.0, 0.0), 1.0)]))
    result = fa.simulate(
        model,
        1.5,
        q0=[1.0, 0.2],
        qd0=[0.3, -0.5],
        w={"base": fa.BaseMotion(orientation=turn)},
        samples=7,
        solver=fa.Solver(rtol=1e-11, atol=1e-12),
        progress=False,
    )
    yaw = reference_values(turn, result.time.values)[:, 2]
    c, s, (x, y) = np.cos(yaw), np.sin(yaw), result.q.values.T
    places = np.stack([c * x - s * y, s * x + c * y], axis=1)
    start = [[np.cos(0.3), -np.sin(0.3)], [np.sin(0.3), np.cos(0.3)]]
    line = np.array(start) @ [1.0, 0.2] + np.outer(result.time, np.array(start) @ [0.3, -0.5])
    np.testing.assert_allclose(places, line, atol=2e-8)  # the slide's own 1e-9 kg
    assert result.energy_drift < 1e-9


def test_a_base_that_turns_is_a_first_joint_that_is_moved():
    """Gravity's turned direction, angular velocity and acceleration at once, of a link that bends."""
    link = fa.Link(
        name="upper", body=fa.Beam(length=1.0, mass=1.0, EI=20.0, modes={"y": 2, "z": 1}, GJ=30.0, damping=0.02)
    )
    turn = fa.Quintic((0.0, 0.4, 0.0), (0.0, -0.8, 0.0), 0.8)
    on_base = fa.Model(table([link], gravity=(1.0, 2.0, -9.81)))
    stand = fa.Link(
        name="stand",
        joint=fa.Revolute(axis=(0.0, 1.0, 0.0)),
        body=fa.Rigid(length=0.0, mass=1.0, inertia=1.0),
    )
    on_joint = fa.Model(fa.Arm(name="on joint", links=[stand, link], gravity=(1.0, 2.0, -9.81)))
    more = {"samples": 9, "rtol": 1e-10, "solver": fa.Solver(atol=1e-12), "progress": False}
    hold = np.zeros(1)
    mine = fa.simulate(on_base, 0.8, u=hold, w={"base": fa.BaseMotion(orientation=turn)}, **more)

    for k, t in enumerate(mine.time.values):
        p, v, a = (float(x[1]) for x in reference_motion(turn, float(t)))
        q, qd = mine.q.values[k], mine.qd.values[k]
        qdd = on_base.forward_dynamics(q, qd, hold, w=mine.w.values[k])
        force = on_joint.inverse_dynamics(np.r_[p, q], np.r_[v, qd], np.r_[a, qdd])
        np.testing.assert_allclose(force[1:], 0.0, atol=1e-9)  # all but the stand are free
    assert mine.energy_drift < 1e-8


def test_an_earthquake_moves_a_link_by_duhamels_integral():
    """One clamped-free mode: eta'' + 2 zeta omega eta' + omega^2 eta = -Gamma a(t), Gamma = int phi / int phi^2."""
    L, m, EI, zeta = 2.0, 1.5, 40.0, 0.05
    body = fa.Beam(length=L, mass=m * L, EI=EI, modes={"y": 1}, damping=zeta)
    model = fa.Model(table([fa.Link(name="mast", joint=fa.Fixed(), body=body)]))
    times, shaking = np.array([0.0, 0.1, 0.25, 0.3, 0.55, 0.7]), np.array([0.0, 3.0, -2.0, 1.0, -1.5, 0.0])
    result = fa.simulate(
        model, 1.0, w={"base.ay": fa.Table(times, shaking, "linear")}, samples=5, rtol=1e-11, progress=False
    )

    def phi(s):
        return float(bending(1, 0, (s,))[0])

    gamma = quad(phi, 0, 1)[0] / quad(lambda s: phi(s) ** 2, 0, 1)[0]
    omega = 1.8751040687119611**2 * np.sqrt(EI / m) / L**2
    damped = omega * np.sqrt(1 - zeta**2)

    def duhamel(t):
        def inner(s):
            a = np.interp(s, times, shaking, 0.0, 0.0)
            return a * np.exp(-zeta * omega * (t - s)) * np.sin(damped * (t - s))

        return -gamma / damped * quad(inner, 0.0, t, points=times[times < t], limit=200, epsabs=1e-13)[0]

    expected = [duhamel(t) if t else 0.0 for t in result.time.values]
    np.testing.assert_allclose(result.tip.values[:, 1], expected, atol=1e-9 * max(map(abs, expected)) + 1e-11)
    assert result.energy_drift < 1e-8


def test_the_inputs_of_a_motion_are_its_derivatives():
    """a = R' (p'' - g) + g, w from R' R', alpha = w': against differences of the motion."""
    place, angles = fa.Quintic((0, 0, 0), (1, 2, -1), 2.0), fa.Quintic((0.1, -0.2, 0.3), (0.9, 0.8, -0.7), 2.0)
    arm = table([slide("x", (1.0, 0.0, 0.0), 1.0)], gravity=(0.5, 1.0, -9.0))
    outside = as_exogenous({"base": fa.BaseMotion(place, angles)}, fa.Model(arm))
    t, h = 0.8, 1e-3
    (w,) = outside.output(fa.Model(arm), np.array([t]), np.zeros((1, 1)), np.zeros((1, 1)))
    grid = t + h * np.arange(-1, 2)
    p = reference_values(place, grid)
    R = [Rotation.from_euler("ZYX", x[::-1]).as_matrix() for x in reference_values(angles, grid)]
    g = np.array(arm.gravity)
    np.testing.assert_allclose(w[:3], R[1].T @ ((p[2] - 2 * p[1] + p[0]) / h**2 - g) + g, atol=1e-5)
    turned = Rotation.from_matrix(R[0].T @ R[2]).as_rotvec() / (2 * h)
    np.testing.assert_allclose(w[3:6], turned, atol=1e-5)
    ends = outside.output(fa.Model(arm), t + h * np.array([-1.0, 1.0]), np.zeros((2, 1)), np.zeros((2, 1)))[:, 3:6]
    np.testing.assert_allclose(w[6:], (ends[1] - ends[0]) / (2 * h), atol=1e-5)


def test_a_run_on_a_ship_keeps_its_account():
    """Everything on: six coordinates, gravity, a base that heaves, rolls and pitches, a controller, dampers."""
    arm = fa.load("lin-lewis-rfr").replace(base=fa.MovingBase(), gravity=(0.0, 0.0, -9.81))
    model = fa.Model(arm)
    ship = fa.BaseMotion(fa.Quintic((0, 0, 0), (0.3, -0.2, 1.0), 1.0), fa.Quintic((0, 0, 0), (0.3, 0.2, -0.5), 1.0))
    still = fa.simulate(model, 1.0, progress=False)
    result = fa.simulate(model, 1.0, w={"base": ship}, u=lambda t, q, qd: -2.0 * qd[:3], progress=False)
    assert result.energy_drift < 1e-7
    assert float(np.abs(result.work).max()) > 0.1
    assert float(np.abs(result.tip - still.tip).max()) > 1e-2
    assert result.w.shape == (1001, 9)
    assert list(result.exogenous.values) == list(model.exogenous)
    assert list(result.exogenous_unit.values) == ["m/s^2"] * 3 + ["rad/s"] * 3 + ["rad/s^2"] * 3


def test_fixed_bases_pay_nothing():
    arm = fa.load("canadarm")
    count = fa.Model(arm).function("forward_dynamics").n_instructions()
    assert fa.Model(arm.replace(base=fa.MovingBase())).function("forward_dynamics").n_instructions() > count
    assert fa.Model(arm.replace(base=None)).function("forward_dynamics").n_instructions() == count


@pytest.mark.parametrize(
    ("make", "line"),
    [
        (lambda: fa.BaseMotion(position=3), "BaseMotion: position is 3; it must be a reference, such as a Quintic"),
        (
            lambda: table([slide("x", (1.0, 0.0, 0.0), 1.0)]).replace(base={"type": "flying"}),
            "Arm: base.type is 'flying'; it must be 'moving' or 'free'",
        ),
        (
            lambda: table([slide("x", (1, 0, 0), 1.0)]).replace(base=3),
            "Arm: base is 3; it must be a MovingBase or FreeBase",
        ),
    ],
)
def test_bad_input_is_refused_in_one_line(make, line):
    with pytest.raises(fa.DescriptionError) as caught:
        make()
    assert str(caught.value) == line


def test_motions_that_do_not_fit_are_refused():
    model = fa.Model(table([slide("x", (1.0, 0.0, 0.0), 1.0)]))
    with pytest.raises(fa.DescriptionError, match="position has 2 components; it must have three"):
        fa.simulate(model, 1.0, w={"base": fa.BaseMotion(fa.Quintic((0, 0), (1, 1), 1.0))}, progress=False)
    with pytest.raises(fa.DescriptionError, match="is a BaseMotion, which is only for a MovingBase"):
        fa.simulate(model, 1.0, w={"base.a": fa.BaseMotion()}, progress=False)
