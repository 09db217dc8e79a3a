"""Gears, ball joints and cables in the contest: motions from other equations, and programs that solve the same ones."""

from dataclasses import replace

import mpmath
import numpy as np
import pytest

import flexarm as fa
from benchmarks.peers import (
    ball_chain,
    cables,
    drake_peer,
    exudyn_peer,
    flexarm_peer,
    joints,
    mujoco_peer,
    pinocchio_cpp,
    pinocchio_joints,
    pinocchio_peer,
    soromox_peer,
    sympy_peer,
    tasks,
)
from benchmarks.peers.peer import Setting

ALL = (flexarm_peer, exudyn_peer, mujoco_peer, pinocchio_peer, drake_peer)
TIGHT = fa.Solver(method="dop853", rtol=1e-11, atol=1e-13)


def solved(peer, task, *numbers):
    return peer.solve(task, Setting("", "", numbers)).error


def shortened(task, samples):
    """Return the beginning of a task."""
    times = task.times[:samples]
    return replace(task, until=float(times[-1]), times=times, tip=task.tip[:samples])


@pytest.fixture(scope="module")
def geared():
    return tasks.geared_rods()


@pytest.fixture(scope="module")
def balls():
    return tasks.ball_chain()


@pytest.fixture(scope="module")
def tied():
    return tasks.cable_arm()


# -- references --------------------------------------------------------------------------------------------------------


def test_the_inertia_and_the_energy_of_geared_rods_are_those_of_flexarm():
    model = fa.Model(joints.geared_rods())
    assert model.coordinates == ("rod0.joint",)
    for q in (-1.2, 0.3, 2.5):
        J, V = joints.inertia_and_energy(np.array(q))
        assert model.mass_matrix([q]) == pytest.approx(np.array([[J]]), rel=1e-12)
        slope = (
            joints.inertia_and_energy(np.array(q + 1e-4))[1] - joints.inertia_and_energy(np.array(q - 1e-4))[1]
        ) / 2e-4
        assert model.inverse_dynamics([q], [0.0], [0.0]) == pytest.approx([slope], rel=1e-6)


def test_the_energy_integral_agrees_with_many_digits():
    """The time to pass an angle, in 20 digits, and the tip there."""
    with mpmath.workdps(20):
        slopes, offsets = ([mpmath.mpf(float(x)) for x in found] for found in joints.absolute())
        L, m, g = joints.LENGTHS, joints.MASSES, joints.GRAVITY

        def place(q, k):
            return sum(
                L[j] * (1 if j < k else mpmath.mpf(1) / 2) * mpmath.expj(slopes[j] * q + offsets[j])
                for j in range(k + 1)
            )

        def rate(q, k):
            angles = [slopes[j] * q + offsets[j] for j in range(k + 1)]
            return sum(
                L[j] * slopes[j] * (1 if j < k else mpmath.mpf(1) / 2) * mpmath.expj(angles[j]) for j in range(k + 1)
            )

        def inertia(q):
            return sum(m[k] * (abs(rate(q, k)) ** 2 + (L[k] * slopes[k]) ** 2 / 12) for k in range(3))

        def potential(q):
            return g * sum(m[k] * place(q, k).imag for k in range(3))

        begin = mpmath.mpf(joints.START)
        energy = inertia(begin) * joints.RATE**2 / 2 + potential(begin)
        end = mpmath.mpf("2.5")
        t = mpmath.quad(
            lambda q: mpmath.sqrt(inertia(q) / (2 * (energy - potential(q)))), mpmath.linspace(begin, end, 12)
        )
        tip = sum(L[j] * mpmath.expj(slopes[j] * end + offsets[j]) for j in range(3))
    assert joints.geared_swing(np.array([0.0, float(t)]))[1] == pytest.approx(
        [float(tip.real), float(tip.imag)], abs=1e-12
    )


def test_flexarm_moves_geared_rods_as_the_energy_integral_says(geared):
    assert geared.floor < 1e-8 and geared.tip.shape == (101, 2)
    errors = [solved(flexarm_peer, geared, None, "dop853", rtol, None) for rtol in (1e-6, 1e-9)]
    assert errors[1] < 1e-5 < errors[0] < 1e-2


def test_flexarm_moves_balls_as_pinocchio_does(balls):
    assert 0 < balls.floor < 1e-11 and len(balls.times) == 101 and balls.times[-1] == 2.0
    ours = tasks.converged(balls.arm, balls.times, balls.q0, balls.qd0, TIGHT)
    assert np.linalg.norm(ours - balls.tip, axis=1).max() < 1e-10
    spread = np.linalg.svd(balls.tip - balls.tip.mean(axis=0), compute_uv=False)
    assert spread[2] > 0.1 * spread[0]  # of a motion in space


def test_the_stored_motion_is_what_its_program_makes(balls):
    pytest.importorskip("pinocchio")
    tip, other = ball_chain.motions((1000, 2000))
    assert np.abs(tip - balls.tip).max() < 1e-12
    assert np.abs(other - balls.tip).max() < 1e-8


def test_lagranges_equations_of_the_cables_are_those_of_flexarm():
    model = fa.Model(cables.cable_arm())
    rng = np.random.default_rng(3)
    slack = 0
    for q, qd in zip(rng.uniform(-1.0, 1.5, (20, 2)), rng.normal(size=(20, 2)), strict=True):
        taut = cables.stretches(q)[0] > 0
        slack += 2 - taut.sum()
        assert model.forward_dynamics(q, qd, []) == pytest.approx(cables.acceleration(q, qd, taut), rel=1e-9)
    assert 5 < slack < 35


def test_cables_become_slack_and_taut_and_keep_the_energy(tied):
    tip, events, x = cables.cable_swing(tied.times, 1e-11)
    assert len(events) == 14 and np.linalg.norm(tip - tied.tip, axis=1).max() == pytest.approx(tied.floor)
    before = cables.energy(np.array(cables.START), np.zeros(2))
    assert cables.energy(x[:2], x[2:]) == pytest.approx(before, abs=1e-9)
    assert tied.floor < 1e-8
    errors = [solved(flexarm_peer, tied, None, "dop853", rtol, None) for rtol in (1e-6, 1e-10)]
    assert errors[1] < 1e-6 < errors[0] < 1e-2


# -- programs ----------------------------------------------------------------------------------------------------------


def test_mujocos_gears_are_soft_and_become_harder(geared):
    task = shortened(geared, 21)
    errors = [solved(mujoco_peer, task, 1, "RK4", 2000, kind) for kind in ("default", "hard", "hardest")]
    assert errors[0] > 10 * errors[1] > 100 * errors[2]
    assert solved(mujoco_peer, task, 1, "RK4", 4000, "hardest") < min(1e-4, errors[2] / 3)


def test_mujoco_converges_on_balls_and_cables(balls, tied):
    assert solved(mujoco_peer, balls, 1, "RK4", 1600) < 1e-6
    assert solved(mujoco_peer, tied, 1, "RK4", 4800) < 1e-3
    model = mujoco_peer.modelled(mujoco_peer.file(tied, 1, False), "RK4", 1e-3)
    assert not model.tendon_damping.any() and model.tendon_lengthspring[:, 1] == pytest.approx(cables.SLACK)


@pytest.mark.parametrize(
    ("name", "numbers", "limit"),
    [
        ("geared", ("tree", 3, "EigenDense", 1e-8, 0.9, 400), 1e-2),
        ("balls", ("tree", "RK67", "EXUdense", 1.0, 1.0, 800), 1e-6),
        ("balls", ("bodies", 2, "EigenSparse", 1e-8, 0.9, 800), 1e-2),
        ("tied", ("tree", "RK44", "EXUdense", 1.0, 1.0, 4800), 1e-3),
    ],
)
def test_exudyn_solves_them(name, numbers, limit, request):
    pytest.importorskip("exudyn")
    task = request.getfixturevalue(name)
    task = shortened(task, 11) if name == "geared" else task
    *before, count = numbers
    errors = [solved(exudyn_peer, task, *before, n) for n in (count // 2, count)]
    assert errors[1] < min(limit, errors[0] / 2)


@pytest.mark.parametrize(("name", "limit"), [("geared", 1e-3), ("balls", 1e-8), ("tied", 1e-4)])
def test_pinocchio_solves_them(name, limit, request):
    pytest.importorskip("pinocchio")
    task = shortened(request.getfixturevalue(name), 21)
    assert solved(pinocchio_peer, task, 1, "", "DOP853", 1e-8) < limit
    assert solved(pinocchio_peer, task, 1, "", "RK4", 400) < 10 * limit


@pytest.mark.parametrize(
    ("name", "method", "number", "limit"),
    [
        ("geared", "DOP853", 1e-9, 1e-4), ("geared", "RK3", 12800, 1e-2), ("balls", "DOP853", 1e-9, 1e-7),
        ("balls", "RK4", 800, 1e-5), ("balls", "RK3", 1600, 1e-4), ("balls", "RK2", 6400, 1e-3),
        ("tied", "DOP853", 1e-9, 1e-5), ("tied", "RK4", 4800, 1e-3),
    ],
)  # fmt: skip
def test_pinocchio_in_cpp_solves_them(name, method, number, limit, request):
    if pinocchio_cpp.missing():
        pytest.skip(pinocchio_cpp.missing())
    assert solved(pinocchio_peer, request.getfixturevalue(name), 1, "C++ ", method, number) < limit


def test_drake_solves_them(geared, balls, tied):
    pytest.importorskip("pydrake")
    assert solved(drake_peer, balls, 1, "runge_kutta5", 0.0, 800) < 1e-7
    assert solved(drake_peer, tied, 1, "runge_kutta3", 1e-5, 0) < 1e-3
    short = shortened(geared, 3)
    errors = [solved(drake_peer, short, 1, "discrete", 0.0, count) for count in (1000, 2000)]
    assert errors[1] < 0.1 and 1.7 < errors[0] / errors[1] < 2.3  # of first order


def test_pinocchios_mimic_joints_have_the_inertia_of_the_rods(geared):
    pin = pytest.importorskip("pinocchio")
    system = pinocchio_joints.Geared(geared)
    assert system.model.nv == 1 and system.mimics[3] == (1, -3.0, pytest.approx(0.3))
    J, _ = joints.inertia_and_energy(np.array(0.7))
    assert pin.crba(system.model, system.data, np.array([0.7]))[0, 0] == pytest.approx(float(J), rel=1e-12)


def test_who_cannot_says_so(geared, balls, tied):
    for task in (geared, balls, tied):
        assert not any(peer.cannot(task) for peer in ALL)
        assert soromox_peer.cannot(task) and sympy_peer.cannot(task)


@pytest.mark.parametrize("peer", ALL)
def test_settings_have_names_of_their_own(peer, geared, balls, tied):
    for task in (geared, balls, tied):
        names = [setting.name for setting in peer.settings(task)]
        assert len(set(names)) == len(names) > 8
