"""A cart that runs into an end stop, by every method with step control, beside the closed form.

A contact that begins between the last stage of a step and its end is seen by no stage of Gauss's methods. Such a step
was accepted, and the next one began inside the stop.
"""

import warnings

import numpy as np
import pytest
from scipy.optimize import brentq

import flexarm as fa

METHODS = ("rk45", "tsit5", "dop853", "vern7", "vern8", "gauss4", "gauss8", "radau5", "radau9", "auto")
END = 0.5
"""Length of a run [s]."""


def carts(count=10):
    """Return random masses, speeds, places of the stop, stiffnesses and relative dampings."""
    rng = np.random.default_rng(5)
    for i in range(count):
        k, zeta = 10 ** rng.uniform(3, 8), rng.uniform(0.01, 0.4) * (i % 2)
        yield rng.uniform(0.5, 4), rng.uniform(0.6, 2), rng.uniform(0.1, 0.25), k, zeta


def rebound(m, v, k, c):
    """Return for how long a stop pushes, and the penetration and the velocity of the cart when it stops to push."""
    w, z = np.sqrt(k / m), c / (2 * np.sqrt(k * m))
    wd = w * np.sqrt(1 - z * z)

    def inside(t):
        decay = np.exp(-z * w * t)
        return v / wd * decay * np.sin(wd * t), v * decay * (np.cos(wd * t) - z * w / wd * np.sin(wd * t))

    def push(t):
        s, rate = inside(t)
        return k * s + c * rate

    t = brentq(push, 0.3 * np.pi / wd, (1 + 1e-12) * np.pi / wd, xtol=1e-18)
    return (t, *inside(t))


@pytest.mark.parametrize("sharp", [True, False])
def test_a_cart_comes_back_from_a_stop_as_the_closed_form_says(sharp):
    """Sharp contacts are found to rounding. Else steps pass over the kink, and the error control notices it."""
    worst = {}
    for m, v, place, k, zeta in carts():
        c = 2 * zeta * np.sqrt(k * m)
        lasts, s, back = rebound(m, v, k, c)
        stops = fa.Stops(upper=place, stiffness=k, damping=c, sharp=sharp)
        joint = fa.Prismatic(axis=(1, 0, 0), drive=fa.Drive(stops=stops))
        body = fa.Rigid(length=0.3, mass=m, com=(0.1, 0, 0), inertia=0.1)
        model = fa.Model(fa.Arm(name="cart", gravity=(0, 0, 0), links=[fa.Link(name="cart", joint=joint, body=body)]))
        there = np.array([place + s + back * (END - place / v - lasts), back])
        for method in METHODS:
            solver = fa.Solver(method=method, rtol=1e-11, atol=1e-13)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                run = fa.simulate(
                    model, END, qd0=[v], u=[0.0], solver=solver, save=fa.SaveAt(samples=3), progress=False
                )
            error = np.abs(np.array([run.q[-1, 0], run.qd[-1, 0]]) - there).max() / v

            worst[method] = max(worst.get(method, 0.0), error)
    assert max(worst.values()) < (3e-8 if sharp else 1e-7), worst
