"""Pendulums for liquid in a tank, beside integrals of linear potential flow over its walls and the surface."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import jnp_zeros, jv

import flexarm as fa
from flexarm.errors import DescriptionError

R, RHO = 0.6, 870.0
CASES = {"deep": 1.9, "full": 0.7, "shallow": 0.08}


def mass(h):
    return RHO * np.pi * R**2 * h


def tank(h, waves=2, **more):
    return fa.slosh("fuel", radius=R, height=h, mass=mass(h), waves=waves, **more)


def potential_flow(h, root, g):
    """Mass, height of the force and frequency of a wave, whose surface is J1(k r) cos(phi).

    The wave has the kinetic energy mu a'^2 / 2 and the momentum lambda a'. A pendulum with both has the mass
    lambda^2 / mu. The height is that of the moment of the pressure over its force.
    """
    k = root / R
    squares = np.pi * quad(lambda r: jv(1, k * r) ** 2 * r, 0, R)[0]
    momentum = RHO * np.pi * quad(lambda r: jv(1, k * r) * r**2, 0, R)[0]
    inertia = RHO * squares / (k * np.tanh(k * h))
    wall = np.pi * R * jv(1, root) * np.array([quad(lambda z, n=n: z**n * np.cosh(k * z), 0, h)[0] for n in (0, 1)])
    bottom = np.pi * quad(lambda r: jv(1, k * r) * r**2, 0, R)[0]  # a pressure on the bottom turns the tank too
    return momentum**2 / inertia, (wall[1] + bottom) / wall[0], np.sqrt(RHO * g * squares / inertia)


@pytest.mark.parametrize("case", CASES)
def test_pendulums_are_the_waves_of_potential_flow(case):
    h, g = CASES[case], 3.7
    still, *swings = tank(h)
    found = [
        (each.payload.mass, each.body.length, up.at.xyz[0]) for up, each in zip(swings[::2], swings[1::2], strict=True)
    ]
    for root, (m, L, hinge) in zip(jnp_zeros(1, 2), found, strict=True):
        weight, height, omega = potential_flow(h, root, g)
        assert np.allclose([m, hinge, np.sqrt(g / L)], [weight, height, omega], rtol=1e-10)
    moment = still.body.mass * still.body.com[0] + sum(m * (hinge - L) for m, L, hinge in found)
    assert np.isclose(still.body.mass + sum(m for m, _, _ in found), mass(h), rtol=1e-14)
    assert np.isclose(moment, mass(h) * h / 2, rtol=1e-13)
    assert still.body.mass > 0 and (np.array(still.body.inertia) >= 0).all()


def test_formulas_of_abramson():
    """By the diameter D, as NASA SP-106 writes them."""
    h, D = CASES["full"], 2 * R
    _, first, second = tank(h, waves=1)
    assert np.isclose(second.payload.mass / mass(h), D / (4.4 * h) * np.tanh(3.68 * h / D), rtol=1e-3)
    assert np.isclose(second.body.length, D / 3.68 / np.tanh(3.68 * h / D), rtol=1e-3)
    assert np.isclose(first.at.xyz[0] - second.body.length, h - D / 1.84 * np.tanh(1.84 * h / D), rtol=2e-3)


def test_a_tank_on_an_arm_sloshes_in_both_directions_with_its_damping():
    g, h = 9.81, CASES["full"]
    there = {"parent": "cart", "placement": fa.Pose(rpy=(0.0, -np.pi / 2, 0.0)), "damping": 0.02}
    body = fa.Rigid(length=0.0, mass=40.0, com=(0, 0, 0), inertia=3.0)
    cart = fa.Link(name="cart", joint=fa.Prismatic(axis=(0, 1, 0)), body=body)
    arm = fa.Arm(name="cart", links=[cart, *tank(h, **there)], tip="cart", gravity=(0, 0, -g))
    model = fa.Model(arm)
    omega = [np.sqrt(g / R * x * np.tanh(x * h / R)) for x in (1.8412, 5.3314)]
    assert np.allclose(model.frequencies(), np.repeat(omega, 2), rtol=1e-5)
    M, lost = model.mass_matrix(np.array(arm.rest)), model.damping_force(np.array(arm.rest), np.ones(model.nv))
    assert np.isclose(M[0, 0], 40.0 + mass(h), rtol=1e-14)
    assert np.allclose(lost, [0.0, *(2 * 0.02 * np.repeat(omega, 2) * np.diag(M)[1:])], rtol=1e-5)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"radius": 0.0}, "slosh: radius is 0.0 m; it must be positive"),
        ({"height": -1.0}, "slosh: height is -1.0 m; it must be positive"),
        ({"mass": "1"}, "slosh: mass is '1'; it must be a number in kg"),
        ({"waves": 6}, "slosh: waves is 6; it must be an integer from 1 to 5"),
        ({"damping": -0.1}, "slosh: damping is -0.1; it must be zero or positive"),
        ({"gravity": 0.0}, "slosh: gravity is 0.0 m/s^2; it must be positive"),
    ],
)
def test_bad_numbers_are_refused(given, message):
    with pytest.raises(DescriptionError) as refused:
        fa.slosh("fuel", **{"radius": 1.0, "height": 1.0, "mass": 1.0, **given})
    assert str(refused.value) == message
