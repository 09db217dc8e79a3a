"""Closed loops with motors: assembly, equilibrium, shared loads and control."""

from dataclasses import dataclass

import numpy as np
import pytest
from controlled import refused
from driven_loops import A, B, C, at, bars, four_bar
from scipy.optimize import brentq

import flexarm as fa
from flexarm import analysis, trajectory
from flexarm.analysis import configuration, equilibrium
from flexarm.analysis.equilibrium import equilibrium_slope
from flexarm.model import closures
from flexarm.trajectory import reference_values


def height(crank, masses=(1.1, 2.3, 1.7)):
    """Potential energy of the bars [J]."""
    coupler, rocker = bars(crank)
    heights = A / 2 * np.sin(crank), A * np.sin(crank) + B / 2 * np.sin(coupler), C / 2 * np.sin(rocker)
    return 9.81 * float(np.dot(masses, heights))


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
    with refused(r"assemble: held has 'crank'; did you mean 'crank\.joint'\? The coordinates are crank\.joint, .*"):
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


LOOP = four_bar(driven=("crank", "coupler", "rocker"))
SLEW = fa.Quintic([0.4] * 3, [0.9] * 3, duration=1.0)
REFUSED = {
    "ScheduledLQR": lambda model: fa.control.ScheduledLQR(SLEW).law(model),
    "Composite": lambda model: fa.control.Composite([0.0] * 3, Kp=9.0, Kd=2.0).law(model),
    "TipCompensated": lambda model: trajectory.TipCompensated(SLEW, model, axes="xyz"),
    "flexible_equations": lambda model: analysis.flexible_equations(model),
    "lyapunov_rate": lambda model: analysis.lyapunov_rate(model, *np.zeros((2, 5, 3)), u=np.zeros((5, 3))),
    "frozen_eigenvalues": lambda model: analysis.frozen_eigenvalues(model, *np.zeros((2, 5, 3)), u=np.zeros((5, 3))),
    "generalized_jacobian": lambda model: analysis.generalized_jacobian(model, np.zeros(3)),
    "equilibrium_slope": lambda model: equilibrium_slope(model, np.zeros(3)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_would_take_the_tree_alone_says_so(name):
    """Functions whose formulas hold for a tree would be wrong without a word."""
    with refused(r".* does not support closures yet: the arm has 'pin'; use closures=\(\)"):
        REFUSED[name](fa.Model(LOOP))


def test_decoupling_needs_independent_joints():
    law = fa.control.Decoupling([0.4], Kp=900.0, Kd=60.0)
    model = fa.Model(four_bar(flexible=True))
    run = fa.simulate(
        model, 2.0, u=law, q0=fa.assemble(model, [0.9, 0.2, 1.2, 0, 0], held=["crank.joint"]), progress=False
    )
    assert run.q.values[-1, 0] == pytest.approx(0.4, abs=1e-4)  # as e'' + 60 e' + 900 e = 0
    t = run.time.values
    assert run.q.values[:, 0] == pytest.approx(0.4 + 0.5 * (1 + 30 * t) * np.exp(-30 * t), abs=1e-6)
    with refused("Decoupling: closures couple the 3 joints with a motor; make some of them passive"):
        fa.control.Decoupling(SLEW, Kp=9.0, Kd=2.0).law(fa.Model(LOOP))


def test_lqr_on_a_free_base_says_that_it_cannot():
    base = fa.FreeBase(mass=9.0, inertia=2.0)
    arm = four_bar(gravity=0.0).replace(base=base)
    with refused(r"LQR: the base of arm 'four-bar' is free.*"):
        fa.control.LQR(fa.assemble(arm, held=["crank.joint"])[7:8].tolist(), bandwidth=3.0).law(fa.Model(arm))
    assert closures.rest(fa.Model(arm)).shape == (10,)


def test_a_prescribed_crank_moves_the_loop():
    """Positions by the triangle, and the torque by the power: u omega = dE/dt without losses."""
    arm = four_bar()
    arm = arm.replace(links=[link.replace(joint=link.joint.replace(damping=0.0)) for link in arm.links])
    model, slew = fa.Model(arm), fa.Quintic([0.4], [7.0], duration=3.0)
    more = {"u": fa.PrescribedMotion(slew), "q0": at(model, 0.4), "samples": 701, "progress": False}
    run = fa.simulate(model, 3.5, rtol=1e-10, **more)
    cranks = reference_values(slew, run.time.values)[:, 0]
    assert run.q.values[:, 0] == pytest.approx(cranks, abs=5e-10)  # the steps onto the closures do not move the crank
    many = fa.simulate_many(model, 3.5, rtol=1e-10, method=run.method, **more | {"u": [more["u"]]})
    assert many.q.values[0, :, 0] == pytest.approx(cranks, abs=5e-10)
    assert all(close(q, q[0]) for q in run.q.values[::50])
    assert run.attrs["energy_drift"] < 1e-9
    E = run.kinetic.values + run.potential.values
    power = (E[2:] - E[:-2]) / (run.time.values[2:] - run.time.values[:-2])
    assert run.u.values[1:-1, 0] * run.qd.values[1:-1, 0] == pytest.approx(power, abs=0.02 * np.abs(power).max())
    implicit = fa.simulate(model, 3.5, method="radau9", **more)
    assert implicit.q.values == pytest.approx(run.q.values, abs=1e-6)
    assert implicit.u.values == pytest.approx(run.u.values, abs=1e-4)


def test_joints_that_the_loop_couples_cannot_be_prescribed_together():
    model = fa.Model(four_bar(driven=("crank", "rocker")))
    slew = fa.Quintic([0.4, bars(0.4)[1]], [0.9, 1.6], duration=1.0)
    with refused("PrescribedMotion: closures couple the 2 joints with a motor; make some of them passive"):
        fa.simulate(model, 1.0, u=fa.PrescribedMotion(slew), q0=at(model, 0.4))


@dataclass(frozen=True)
class Turning:
    """A crank at a constant rate."""

    rate: float

    def expression(self, t):
        return [0.4 + self.rate * t]

    def described(self):
        return f"turning with {self.rate}"


def test_a_run_begins_with_the_rates_of_its_reference():
    model, h = fa.Model(four_bar()), 1e-6
    run = fa.simulate(model, 0.5, u=fa.PrescribedMotion(Turning(9.0)), q0=at(model, 0.4), progress=False)
    both = np.array([(a - b) / (2 * h) for a, b in zip(bars(0.4 + h), bars(0.4 - h), strict=True)])
    assert run.qd.values[0] == pytest.approx([9.0, 9.0 * both[0] - 9.0, 9.0 * both[1]], rel=1e-6)
    assert close(run.q.values[-1], run.q.values[-1, 0]) and run.q.values[-1, 0] == pytest.approx(4.9, abs=1e-8)
