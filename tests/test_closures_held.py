"""Closed loops with motors: assembly, equilibrium, shared loads and control."""

import numpy as np
import pytest
from controlled import refused
from scipy.optimize import brentq

import flexarm as fa
from flexarm.analysis import configuration, equilibrium
from flexarm.model import closures

A, B, C, D = 0.35, 0.9, 0.7, 0.85


def four_bar(driven=("crank",), flexible=False, gravity=9.81):
    """A four-bar whose joints have a motor only where `driven` says so."""

    def bar(name, length, mass, parent, **more):
        body = fa.Rigid(length=length, mass=mass)
        if flexible and name == "coupler":
            body = fa.Beam(length=length, mass_per_length=mass / length, EI=30.0, modes={"y": 2}, damping=0.01)
        joint = fa.Revolute(passive=name not in driven, damping=0.05)
        return fa.Link(name=name, parent=parent, joint=joint, body=body, **more)

    links = [
        bar("crank", A, 1.1, "base"),
        bar("coupler", B, 2.3, "crank"),
        bar("rocker", C, 1.7, "base", placement=fa.Pose(xyz=(D, 0.0, 0.0))),
    ]
    pin = fa.Closure(name="pin", link="coupler", to="rocker")
    return fa.Arm(name="four-bar", links=links, closures=[pin], gravity=(0.0, -gravity, 0.0), tip="coupler")


def bars(crank):
    """Angles of coupler and rocker in the world, by the triangle of the rocker's end, with the coupler above."""
    x, y = A * np.cos(crank) - D, A * np.sin(crank)
    r = np.hypot(x, y)
    rocker = np.arctan2(y, x) - np.arccos((r**2 + C**2 - B**2) / (2 * r * C))
    coupler = np.arctan2(C * np.sin(rocker) - y, C * np.cos(rocker) - x)
    return coupler, rocker


def height(crank, masses=(1.1, 2.3, 1.7)):
    """Potential energy of the bars [J]."""
    coupler, rocker = bars(crank)
    heights = A / 2 * np.sin(crank), A * np.sin(crank) + B / 2 * np.sin(coupler), C / 2 * np.sin(rocker)
    return 9.81 * float(np.dot(masses, heights))


def at(arm, crank):
    """The assembled position at an angle of the crank, from a guess with the coupler above."""
    coupler, rocker = bars(crank)
    return fa.assemble(arm, [crank, coupler - crank + 0.2, rocker - 0.1], held=["crank.joint"])


def close(q, crank):
    coupler, rocker = bars(crank)
    both = np.array([coupler - crank, rocker])
    return (np.abs(np.exp(1j * q[1:3]) - np.exp(1j * both)) < 1e-11).all()


def test_held_coordinates_keep_their_values_in_an_assembly():
    arm = four_bar()
    for crank in (0.4, 1.1, 2.0):
        q = at(arm, crank)
        assert q[0] == crank and close(q, crank)
        assert configuration(fa.Model(arm), [crank])[0] == crank
    free = fa.assemble(arm, [1.1, 0.2, 1.2])
    assert free[0] != 1.1
    with refused(
        r"assemble: held has 'crank'; did you mean 'crank\.joint'\? The coordinates are crank\.joint, coupler\.joint, .*"
    ):
        fa.assemble(arm, held=["crank"])
    with refused(r"assemble: a gap of .* is left; start from another guess"):
        fa.assemble(arm.replace(links=[*arm.links[:2], arm.links[2].replace(body=fa.Rigid(length=0.1, mass=1.0))]),
                    held=["crank.joint"])  # fmt: skip


@pytest.mark.parametrize("held", ["drives", "joints"])
@pytest.mark.parametrize("crank", [0.4, 1.1, 2.0])
def test_the_torque_at_rest_is_the_slope_of_the_potential(crank, held):
    """Virtual work along the loop, from the triangle alone."""
    model, h = fa.Model(four_bar()), 1e-5
    start = at(model, crank)
    q, u = equilibrium(model, start, held=held)
    assert q == pytest.approx(start, abs=1e-12)
    assert u == pytest.approx([(height(crank + h) - height(crank - h)) / (2 * h)], rel=1e-8)
    assert np.abs(model.forward_dynamics(q, 0 * q, u)).max() < 1e-9


def test_a_loop_without_a_motor_comes_to_rest_at_its_lowest_position():
    model = fa.Model(four_bar(driven=()))
    lowest = brentq(lambda crank: height(crank + 1e-6) - height(crank - 1e-6), -2.5, -0.7, xtol=1e-13)
    q, u = equilibrium(model, fa.assemble(model, [lowest + 0.2, bars(lowest)[0] - lowest, bars(lowest)[1]]))
    assert not len(u) and np.cos(q[0] - lowest) == pytest.approx(1.0, abs=1e-12)


def test_a_coupler_that_bends_sags():
    """The reactions at the pin load it; the same state is at rest in forward dynamics, and where a damped run ends."""
    model = fa.Model(four_bar(flexible=True))
    start = fa.assemble(model, [1.1, 0.2, 1.2, 0.0, 0.0], held=["crank.joint"])
    q, u = equilibrium(model, start)
    assert q[0] == start[0] and np.abs(q[3:]).max() > 1e-3
    assert np.abs(model.closure_gaps(q)[0]).max() < 1e-12
    assert np.abs(model.forward_dynamics(q, 0 * q, u)).max() < 1e-7


def test_drives_that_are_too_many_share_the_load_by_least_squares():
    """Crank and rocker: the torques differ from one motor's, and no others with a smaller sum of squares hold it."""
    model = fa.Model(four_bar(driven=("crank", "rocker")))
    start = fa.assemble(model, [1.1, 0.2, 1.2], held=["crank.joint"])
    q, u = equilibrium(model, start)
    assert np.abs(model.forward_dynamics(q, 0 * q, u)).max() < 1e-9
    one = equilibrium(fa.Model(four_bar()), start)[1][0]
    h = 1e-6
    ratio = (bars(1.1 + h)[1] - bars(1.1 - h)[1]) / (2 * h)  # of the rates, so u_crank + ratio u_rocker = one
    assert u == pytest.approx(one * np.array([1.0, ratio]) / (1.0 + ratio**2), rel=1e-8)


def test_lqr_of_a_loop_holds_it():
    """The state has the independent coordinates alone; a push dies out, with the poles that were designed."""
    model = fa.Model(four_bar(flexible=True))
    law = fa.control.LQR([1.1], bandwidth=6.0)
    facts = law.law(model).facts
    assert facts["coordinates"][0] == "crank.joint" and len(facts["coordinates"]) == 3
    assert set(facts["left_out"]) == {"coupler.joint", "rocker.joint"}
    plant = model.linearize(facts["q"], u=facts["u"])
    poles = np.linalg.eigvals(plant.A - plant.B @ facts["K"])
    assert np.sort_complex(poles) == pytest.approx(np.sort_complex(facts["poles"]), rel=1e-6)
    assert poles.real.max() < -0.3
    q0 = fa.assemble(model, facts["q"] + [0.1, 0, 0, 0, 0], held=["crank.joint"])
    run = fa.simulate(model, 12.0, u=law, q0=q0, progress=False)
    assert run.q.values[-1] == pytest.approx(facts["q"], abs=2e-3)
    assert np.abs(run.q.values[0] - facts["q"]).max() > 0.05


def test_a_reference_moves_the_motor_and_the_loop_follows():
    model = fa.Model(four_bar(gravity=0.0))
    slew = fa.Quintic([0.4], [1.6], duration=2.0)
    law = fa.control.JointPD(slew, Kp=400.0, Kd=40.0)
    run = fa.simulate(model, 4.0, u=law, progress=False)
    assert run.q.values[0, 0] == 0.4 and close(run.q.values[0], 0.4)  # begins on the reference
    assert run.q.values[-1, 0] == pytest.approx(1.6, abs=1e-4) and close(run.q.values[-1], run.q.values[-1, 0])
    many = fa.simulate_many(model, 1.0, u=[law, law], progress=False)
    assert many.q.values[1, 0] == pytest.approx(run.q.values[0], abs=1e-12)


@pytest.mark.parametrize(
    ("law", "said"),
    [
        (fa.control.ScheduledLQR(fa.Quintic([0.4], [1.6], duration=2.0)), "a division into slow and fast motions"),
        (fa.control.Composite([1.1], Kp=9.0, Kd=2.0), "a division into slow and fast motions"),
    ],
)
def test_other_controllers_say_that_they_cannot(law, said):
    model = fa.Model(four_bar(driven=("crank", "coupler", "rocker")))
    law = fa.control.Composite([0.0] * 3, Kp=9.0, Kd=2.0)
    with refused(r"a division into slow and fast motions does not support closures yet: .*"):
        law.law(model)


def test_lqr_on_a_free_base_says_that_it_cannot():
    base = fa.FreeBase(mass=9.0, inertia=2.0)
    arm = four_bar(gravity=0.0).replace(base=base)
    with refused(r"LQR: the base of arm 'four-bar' is free.*"):
        fa.control.LQR(fa.assemble(arm, held=["crank.joint"])[7:8].tolist(), bandwidth=3.0).law(fa.Model(arm))
    assert closures.rest(fa.Model(arm)).shape == (10,)
