"""Numbers of runs that minimize a scalar, against closed forms and against searches from elsewhere."""

import numpy as np
import pytest

import flexarm as fa
from flexarm.control import JointPD

MASS, T = 1.7, 0.8


def cart(**more):
    """A run of a free mass with a force."""
    link = fa.Link(name="cart", joint=fa.Prismatic(axis=(1, 0, 0)), body=fa.Rigid(length=0.3, mass=MASS))
    model = fa.Model(fa.Arm(name="cart", links=[link], gravity=(0, 0, 0)), vary=["cart.mass"])
    return {"model": model, "until": T, "u": [0.4], "method": "rk4", "solver": fa.Solver(step=0.05)} | more


def test_a_constant_force_that_reaches_a_place():
    """q(T) = u T^2 / (2 m)."""
    tuned = fa.tune(cart(), "u", of=lambda q: (q - 0.9) ** 2)
    assert tuned["u"] == pytest.approx([0.9 * 2 * MASS / T**2], rel=1e-5)
    assert tuned.before == pytest.approx((0.4 * T**2 / 2 / MASS - 0.9) ** 2, rel=1e-12)
    assert tuned.value == fa.gradient(tuned.run, "u", of=lambda q: (q - 0.9) ** 2).value < 1e-9 * tuned.before
    assert float(fa.simulate(**tuned.run).q[-1, 0]) == pytest.approx(0.9, abs=1e-5)
    assert repr(tuned).startswith("Tuned(u: 0.68014 -> ") and tuned.failed == 0
    with pytest.raises(KeyError, match="the tuned run has no 'p'; it has u"):
        tuned["p"]


def test_limits_hold():
    """The force that would be best is above the limit."""
    tuned = fa.tune(cart(), {"u": (None, 2.0)}, of=lambda q: (q - 0.9) ** 2)
    assert tuned["u"] == pytest.approx([2.0], abs=1e-12)
    assert tuned.slopes["u"][0] == pytest.approx(2 * (2.0 * T**2 / 2 / MASS - 0.9) * T**2 / 2 / MASS, rel=1e-9)


@pytest.mark.parametrize("unit", [1.0, 1e-7, 1e6])
def test_a_mass_and_forces_over_time_from_positions(unit):
    """The unit of the scalar has no effect."""
    forces, times = np.array([[1.3], [0.6]]), np.linspace(0.0, T, 9)
    data = fa.simulate(**cart(u=fa.Piecewise([0.0, 0.4], forces), p=[1.3], samples=9)).q.values[:, 0]
    of = {"of": lambda q, data: unit * (q - data) ** 2, "times": times, "data": data}
    mass = fa.tune(cart(u=fa.Piecewise([0.0, 0.4], forces)), {"p": (0.5, 3.0)}, **of)
    assert mass["p"] == pytest.approx([1.3], rel=1e-4) and mass.run["p"] is not None
    forced = fa.tune(cart(u=fa.Piecewise([0.0, 0.4], [[1.0], [1.0]]), p={"cart.mass": 1.3}), ["u"], **of)
    assert forced["u"] == pytest.approx(forces, rel=1e-2)
    assert forced.controller.times == pytest.approx([0.0, 0.4])
    table = fa.tune(cart(u=fa.Table([0.0, T], [[1.0], [1.0]], "linear"), p=[1.3]), "u", **of)
    assert table.value < 0.1 * table.before and table["u"].shape == (2, 1) and table.controller.kind == "linear"


def test_gains_are_those_of_the_riccati_equation():
    """min of the integral of q^2 + r u^2 of a free mass: Kp = 1 / sqrt(r), Kd = sqrt(2 m Kp)."""
    r = 0.01
    run = cart(u=JointPD(reference=[0.0], Kp=[0.5], Kd=[20.0]), until=4.0, q0=[0.3], qd0=[0.2])
    tuned = fa.tune(run, ["u.Kp", "u.Kd"], integral=lambda q, u: q**2 + r * u**2)
    assert tuned["u.Kp"] == pytest.approx([1 / np.sqrt(r)], rel=1e-3)
    assert tuned["u.Kd"] == pytest.approx([np.sqrt(2 * MASS / np.sqrt(r))], rel=1e-3)
    assert tuned.controller.Kp == pytest.approx(tuned["u.Kp"]) and tuned.controller.reference == [0.0]


def test_several_runs_have_the_same_numbers():
    """The force that is best for the sum over two masses: u = 0.9 sum(a) / sum(a^2), a = T^2 / (2 m)."""
    masses = np.array([1.3, 2.1])
    tuned = fa.tune([cart(p=[m]) for m in masses], "u", of=lambda q: (q - 0.9) ** 2)
    a = T**2 / 2 / masses
    assert tuned["u"] == pytest.approx([0.9 * a.sum() / (a**2).sum()], rel=1e-5)
    assert [run["p"] for run in tuned.run] == [[m] for m in masses] and tuned.controller is tuned.run[0]["u"]


def test_runs_that_fail_shorten_the_step():
    """Without a price of torque the gains grow until the steps of the run are too long for them."""
    run = cart(u=JointPD(reference=[0.3], Kp=[4.0], Kd=[9.0]), until=2.0, q0=[0.0])
    tuned = fa.tune(run, ["u.Kp", "u.Kd"], integral=lambda q: (q - 0.3) ** 2)
    assert 0 < tuned.failed < tuned.evaluations and tuned.value < 0.2 * tuned.before
    assert fa.gradient(tuned.run, "u.Kp", integral=lambda q: (q - 0.3) ** 2).value == tuned.value


def test_numbers_at_the_start_that_fail_are_an_error():
    for Kp, said in ((4e6, "the run ends at t = "), (2e4, "tune: with the numbers at the start, .*energy balance")):
        with pytest.raises(fa.SimulationError, match=said):
            fa.tune(cart(u=JointPD(reference=[0.3], Kp=[Kp], Kd=[2.0]), until=9.0, q0=[0.0]), "u.Kp", of="kinetic")


def test_what_is_refused():
    pd = cart(u=JointPD(reference=[0.3], Kp=[4.0], Kd=[9.0]))
    other = cart(u=fa.Piecewise([0.0], [[1.0]]))
    for given, vary, said in (
        (pd, "u.Kq", "vary has u.Kq, but a JointPD has no field 'Kq'"),
        (pd, [], "vary is .*; it must be a list of names"),
        (pd, 3, "vary is 3; it must be a list of names"),
        (pd, "q0", "vary has the unknown name 'q0'; the names are p, u, w, and numbers of a controller"),
        (pd, "u", "vary has u, but u is JointPD"),
        (pd, {"u.Kp": 3}, r"vary\['u.Kp'\] is 3; it must be \(low, high\)"),
        (pd, {"u.Kp": (5, 6)}, r"vary\['u.Kp'\] is .*; the start \[4.0\] must be between the low and the high limit"),
        (pd, {"u.Kp": (0, [1, 2])}, r"vary\['u.Kp'\] has a limit of shape \(2,\); it must be a number or \(1,\)"),
        (3, "p", "run is 3; it must be a dict of the arguments of simulate"),
        ([pd, {}], "p", r"run\[1\] has no model"),
        ([pd, other], "u.Kp", "vary has u.Kp, but a Piecewise has no field 'Kp'"),
        ([cart(), other], "u", r"run\[1\] has u of shape \(1, 1\); it must be that of run\[0\], \(1,\)"),
        (cart(u=lambda t, q, qd: [0.0]), "p", "u is the Python function"),
    ):
        with pytest.raises(fa.DescriptionError, match=said):
            fa.tune(given, vary, of="kinetic")
    with pytest.raises(fa.DescriptionError, match="tune: iterations is 0; it must be a whole number, at least 1"):
        fa.tune(pd, "u.Kp", of="kinetic", iterations=0)
