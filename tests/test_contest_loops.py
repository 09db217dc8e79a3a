"""Mechanisms with closed loops in the contest: an exact motion, and programs that solve the same equations."""

from dataclasses import replace

import numpy as np
import pytest

import flexarm as fa
from benchmarks.peers import (
    drake_peer,
    exudyn_peer,
    flexarm_peer,
    loops,
    mujoco_peer,
    pinocchio_peer,
    soromox_peer,
    tasks,
)
from benchmarks.peers.peer import Setting

ALL = (flexarm_peer, exudyn_peer, mujoco_peer, pinocchio_peer)
TIMES = np.linspace(0.0, 2.0, 21)


def solved(peer, task, *numbers):
    return peer.solve(task, Setting("", "", numbers)).error


@pytest.fixture(scope="module")
def four_bar():
    """The four-bar for two seconds, through both of its flat positions."""
    arm = loops.four_bars(1)
    rates = loops.rates(arm)
    return tasks.Task(
        "four-bar", "", arm, 2.0, TIMES, loops.swing(1, TIMES), 0.0, 0 * rates, rates, np.empty(0), np.empty((0, 0)),
        False, tasks.LOOP_GOALS,
    )  # fmt: skip


@pytest.fixture(scope="module")
def bricard(four_bar):
    arm, rest = loops.bricard(), np.zeros(5)
    tip = tasks.converged(arm, TIMES, rest, rest, fa.Solver(method="dop853", rtol=1e-10, atol=1e-12))
    return replace(four_bar, name="bricard", arm=arm, tip=tip, q0=rest, qd0=rest)


@pytest.fixture(scope="module")
def slider_crank(four_bar):
    """The slider-crank for a quarter of a turn, as flexarm has it with two segments of its rod."""
    arm, times = loops.slider_crank(), np.linspace(0.0, 0.01, 11)
    rates = loops.straight(arm)
    task = replace(
        four_bar, name="slider-crank", arm=arm, until=0.01, times=times, q0=0 * rates, qd0=rates, continuum=True
    )
    model = flexarm_peer.model("slider-crank", task, (2, 3, 0))
    return replace(task, tip=flexarm_peer.motion(task, model, "dop853", 1e-7, None)[:, :2])


def test_cranks_swing_with_the_energy_of_all_rods():
    times, count = np.linspace(0.0, 9.0, 90001), 7
    x, y = loops.swing(count, times).T
    assert (x[0], y[0]) == pytest.approx((0.0, 1.0)) and np.abs(np.hypot(x, y) - 1).max() < 1e-12
    rate = np.gradient(np.unwrap(np.arctan2(y, x)), times)[1:-1]
    assert rate[0] == pytest.approx(-loops.RATE, rel=1e-3) and (rate < 0).all()
    kinetic = 0.5 * ((count + 1) / 3 + count) * rate**2  # cranks turn about their ends, couplers move as points
    energy = kinetic + loops.GRAVITY * ((count + 1) / 2 + count) * y[1:-1]
    assert np.ptp(energy) < 1e-5 * energy[0]


def test_flexarm_moves_as_the_closed_form(four_bar):
    errors = [solved(flexarm_peer, four_bar, None, "dop853", rtol, None) for rtol in (1e-6, 1e-9)]
    assert errors[1] < 1e-7 < errors[0] < 1e-3


def test_the_others_converge_to_the_closed_form(four_bar):
    soft, hard = (
        solved(mujoco_peer, four_bar, 1, "implicitfast", count, kind)
        for count, kind in ((800, "default"), (3200, "hard"))
    )
    assert hard < 1e-3 < soft


def test_exudyn_has_two_models_of_a_four_bar(four_bar):
    pytest.importorskip("exudyn")
    for kind, linear in (("tree", "EigenDense"), ("bodies", "EigenSparse")):
        errors = [solved(exudyn_peer, four_bar, kind, 3, linear, 1e-7, 0.9, count) for count in (200, 400)]
        assert errors[1] < 1e-2 and errors[0] / errors[1] > 3  # of second order: 4 in the limit


def test_pinocchio_passes_flat_positions(four_bar):
    pytest.importorskip("pinocchio")
    errors = [solved(pinocchio_peer, four_bar, 10.0, "RK4", count) for count in (120, 240)]
    assert errors[1] < 1e-4 and errors[0] / errors[1] > 10


def test_the_slider_crank_has_the_numbers_of_the_test_set(slider_crank):
    """J1, m2, m3 and EI as in tests/test_slider_crank.py; the straight rod ends on the slider, which stands still."""
    arm = slider_crank.arm
    crank, rod, slider = (arm[name].body for name in ("crank", "rod", "slider"))
    about_pivot = crank.inertia[2] + crank.mass * (crank.length / 2) ** 2
    assert (about_pivot, crank.length, rod.length) == pytest.approx((0.002727, 0.15, 0.3))
    assert (rod.mass, slider.mass, rod.EI) == pytest.approx((0.151104, 0.075552, 2e11 * 0.008 * 0.008**3 / 12))
    gaps, rates = fa.Model(arm).closure_gaps(slider_crank.q0, slider_crank.qd0)
    assert np.abs(gaps).max() < 1e-12 and np.abs(rates).max() < 1e-12
    assert [pin.bodies for pin in loops.pins(arm)] == [(1, 2)]


def test_rods_of_segments_and_of_hinges_bend_alike(slider_crank):
    """The middle of the rod leaves that of a rigid one, and hinges converge with the square of their number."""
    coarse, fine = (solved(mujoco_peer, slider_crank, n, "RK4", 320, "hard") for n in (4, 8))
    assert fine < 2e-5 and coarse > 2 * fine
    stiff = replace(slider_crank, name="stiff", arm=slider_crank.arm.rigid(), q0=np.zeros(3), qd0=slider_crank.qd0[:3])
    assert solved(mujoco_peer, stiff, 1, "RK4", 320, "hard") > 1e-3


def test_a_run_that_diverges_far_says_so(slider_crank):
    """Coordinates of 1e10 make the inertia matrix so inexact that its diagonal has negative entries."""
    model = flexarm_peer.model("slider-crank", slider_crank, (2, 3, 0))
    rates = np.pad(slider_crank.qd0[:3], (0, model.nv - 3))
    given = {"q0": 0 * rates, "qd0": rates, "samples": 11, "progress": False}
    with pytest.raises(fa.SimulationError, match=r"diverged by t = 0\.001 s: rod\.s2\.y1 .* which bends link 'rod' by"):
        fa.simulate(model, 0.01, solver=fa.Solver(method="rk4", step=1e-3), **given)


def test_exudyn_has_two_models_of_a_slider_crank(slider_crank):
    pytest.importorskip("exudyn")
    assert solved(exudyn_peer, slider_crank, "tree", 3, "EigenSparse", 1e-5, 0.9, 480, 8) < 1e-4
    assert solved(exudyn_peer, slider_crank, "bodies", 3, "EigenSparse", 1e-5, 0.9, 480, 4, 1e9) < 1e-4


def test_pinocchio_bends_a_rod_in_a_loop(slider_crank):
    pytest.importorskip("pinocchio")
    assert solved(pinocchio_peer, slider_crank, 0.0, "DOP853", 1e-6, 8) < 2e-5


def test_all_solve_bricards_equations(bricard):
    assert solved(flexarm_peer, bricard, None, "dop853", 1e-7, None) < 1e-5
    errors = [solved(mujoco_peer, bricard, 1, "RK4", count, "hard") for count in (100, 200)]
    assert errors[1] < 1e-3 and errors[0] / errors[1] > 3


def test_exudyn_closes_bricards_loop_in_space(bricard):
    pytest.importorskip("exudyn")
    assert solved(exudyn_peer, bricard, "tree", 3, "EigenDense", 1e-6, 0.9, 1000) < 1e-3


def test_pinocchio_closes_bricards_loop_in_space(bricard):
    pytest.importorskip("pinocchio")
    assert solved(pinocchio_peer, bricard, 0.0, "RK4", 400) < 1e-5
    assert solved(pinocchio_peer, bricard, 10.0, "DOP853", 1e-8) < 1e-5


def test_who_cannot_close_loops_says_so(four_bar):
    assert all(not peer.cannot(four_bar) for peer in ALL)
    assert "closed loops" in soromox_peer.cannot(four_bar) and "discrete" in drake_peer.cannot(four_bar)


@pytest.mark.parametrize("peer", ALL)
def test_settings_of_loops_have_names_of_their_own(peer, four_bar, bricard, slider_crank):
    for task in (four_bar, bricard, slider_crank):
        names = [setting.name for setting in peer.settings(task)]
        assert len(set(names)) == len(names) > 8


def test_links_of_a_branch_follow_each_other():
    """Pinocchio's recursions need this order; with another one its accelerations are wrong."""
    arm = loops.four_bars(3)
    for i, parent in enumerate(arm.parents):
        assert parent in (-1, i - 1)
    assert len(loops.pins(arm)) == 3
    first = loops.pins(arm)[0]
    assert [arm.links[k].name for k in first.bodies] == ["coupler1", "crank1"]
    assert first.points[0] == pytest.approx([1.0, 0.0, 0.0]) and first.axes[1] == pytest.approx([0.0, 0.0, 1.0])
    last = loops.pins(loops.bricard())[0]
    assert last.bodies == (4, -1) and last.points[1] == pytest.approx([0.0, 0.0, 1.0])
