"""Limits of an optimal motion between the nodes of its grid, in runs that are independent of the search."""

import numpy as np
import pytest

import flexarm as fa
from flexarm.optimal import optimal_motion, plants, search

EXACT = fa.Solver(rtol=1e-10, atol=1e-12)


@pytest.fixture(scope="module")
def hub():
    """A hub and a beam of 0.8 m: its torque jumps, and its joint's rate swings within an interval."""
    body = fa.Beam(length=0.8, mass=0.4, EI=6.0, modes={"y": 2})
    link = fa.Link(name="beam", joint=fa.Revolute(axis=(0, 0, 1), rotor_inertia=0.05), body=body)
    return fa.Model(fa.Arm(name="hub", links=[link], payload=fa.Payload(mass=0.15), gravity=(0, 0, 0)))


def dense(model, motion, samples=6001):
    """Largest rate of the joints in a run of the motion's torques."""
    run = fa.simulate(model, motion.duration, motion.torques, samples=samples, solver=EXACT, progress=False)
    return np.abs(run.qd.values[:, list(model.arm.driven)]).max(axis=0)


LIMITS = {"torque": 1.0, "joint_rate": 0.9}


def test_a_rate_of_a_joint_holds_between_the_nodes(hub, monkeypatch):
    found = optimal_motion(hub, [0.0], [1.0], LIMITS, intervals=20, most_intervals=20)
    assert dense(hub, found)[0] <= 0.9 * (1 + 2e-4)
    assert found.report["excess"] == {"joint_rate": pytest.approx(max(0.0, dense(hub, found)[0] - 0.9), abs=2e-5)}
    assert max(found.report["end_error"], found.report["residual"]) <= 1e-4
    # nodes alone allow what is reported then
    for name, value in {"LEAST_PARTS": 1, "MOST_PARTS": 1, "TIGHTENINGS": 0}.items():
        monkeypatch.setattr(plants, name, value)
    rough = optimal_motion(hub, [0.0], [1.0], LIMITS, intervals=20, most_intervals=20)
    assert dense(hub, rough)[0] > 0.9 * 1.01 and rough.duration < found.duration < 1.05 * rough.duration
    assert rough.report["excess"]["joint_rate"] == pytest.approx(dense(hub, rough)[0] - 0.9, rel=2e-2)


def test_rates_of_two_links_hold_where_torques_are_straight_lines():
    model = fa.Model(fa.load("subudhi-morris"))
    limits = {"torque": 0.5, "torque_rate": 5.0, "joint_rate": [1.1, 0.8]}
    found = optimal_motion(model, [0.0, 0.0], [1.0, 0.5], limits, tolerance=1e-3, most_intervals=20)
    most = dense(model, found) / limits["joint_rate"]
    assert (most <= 1 + 2e-4).all() and most.max() > 0.99
    assert found.report["excess"]["joint_rate"] <= 2e-4


def test_rates_on_a_grid_alone_are_tighter_by_what_the_run_exceeds(hub, monkeypatch):
    """As for drives with states and free bases, whose motions are not corrected."""
    monkeypatch.setattr(search, "is_shot", lambda _: False)
    given = {"objective": "effort", "duration": 1.6, "intervals": 16, "most_intervals": 16, "tolerance": 1.0}
    limits = {"joint_rate": 0.9}
    found = optimal_motion(hub, [0.0], [1.0], limits, **given)
    monkeypatch.setattr(search, "TIGHTENINGS", 0)
    rough = optimal_motion(hub, [0.0], [1.0], limits, **given)
    assert rough.report["excess"]["joint_rate"] > 2e-3
    assert dense(hub, found)[0] <= 0.9 * (1 + 2e-4) < dense(hub, rough)[0]
