"""Gradients in the contest: exact derivatives, and programs that differentiate the same run."""

from dataclasses import replace

import mujoco
import numpy as np
import pytest

import flexarm as fa
from benchmarks.peers import __main__ as contest
from benchmarks.peers.gradients import diffrax_arm, flexarm_arrays, flexarm_native, mjx_arm
from benchmarks.peers.gradients.task import GROUPS, Rods, complex_steps, difference, rates, rollout, scalar, tip
from benchmarks.peers.peer import Setting, Solution

BENT = Rods(np.array([0.7, 0.4, 0.3]), np.array([1.4, 0.8, 0.6]), np.array([8.0, 20, 3]), np.array([0.2, 0.1, 0.3]),
            (0, 2))  # fmt: skip


@pytest.fixture(scope="module")
def task():
    """Three rods, the middle hinge without a motor, for 0.1 s."""
    return rollout("gradient", "", BENT, count=5, until=0.1)


def test_written_equations_are_those_of_flexarm_and_of_the_file_for_mujoco(task):
    rng = np.random.default_rng(3)
    q, qd = rng.normal(size=(2, 3))
    u = rng.normal(size=2)
    written = rates(np, BENT, np.concatenate([q, qd]), u)
    model = fa.Model(BENT.arm)
    assert written == pytest.approx(np.concatenate([qd, model.forward_dynamics(q, qd, u)]), rel=1e-9)
    there = mujoco.MjModel.from_xml_string(mjx_arm.file(task))
    data = mujoco.MjData(there)
    data.qpos[:], data.qvel[:], data.ctrl[:] = q, qd, u
    mujoco.mj_forward(there, data)
    assert data.qacc == pytest.approx(written[3:], rel=1e-9)
    assert data.site("tip").xpos[:2] == pytest.approx(tip(np, BENT, q))
    assert model.tip(q)[:2, 3] == pytest.approx(tip(np, BENT, q))


def test_complex_steps_are_the_slope_of_a_run(task):
    assert task.floor < 1e-12

    def end(u):
        x = np.concatenate([task.q0, task.qd0])
        for torques in u:
            for _ in range(40):  # Heun
                k = rates(np, BENT, x, torques)
                x = x + 5e-5 * (k + rates(np, BENT, x + 1e-4 * k, torques))
        return scalar(np, tip(np, BENT, x[:3]), x[3:])

    turned, h = np.cos(np.arange(10)).reshape(5, 2), 1e-3
    short = complex_steps(BENT, task.q0, task.qd0, task.torques, 4e-3, 4)
    slope = (end(task.torques + h * turned) - end(task.torques - h * turned)) / (2 * h)
    assert slope == pytest.approx(np.sum(short["u"] * turned), rel=1e-4)


def test_errors_are_relative_to_the_largest_derivative_of_a_group(task):
    assert task.error(None) == np.inf and task.error(task.exact) == 0.0
    for name in GROUPS:
        exact = task.exact[name]
        changed = task.exact | {name: exact + 1e-3 * np.abs(exact).max() * np.eye(1, exact.size).reshape(exact.shape)}
        assert difference(changed, task.exact) == pytest.approx(1e-3)
    assert task.error(task.exact | {"q0": np.full(3, np.nan)}) == np.inf


def test_flexarm_differentiates_the_run(task):
    model = fa.Model(BENT.arm)
    errors = [task.error(flexarm_native.slopes(task, model, fa.Solver(method="rk4", step=h))) for h in (0.005, 0.0025)]
    assert errors[0] / errors[1] == pytest.approx(16, rel=0.5)
    assert task.error(flexarm_native.slopes(task, model, fa.Solver(rtol=1e-9))) < 1e-8


def test_jax_differentiate_the_run(task):
    pytest.importorskip("jax")
    found = flexarm_arrays.solve(task, Setting("rk4", "", ("native", "rk4", 8)))
    assert found.error < 1e-4 and found.setup > 0 and found.lines > 5


def test_diffrax_differentiates_the_run(task):
    pytest.importorskip("diffrax")
    for adjoint in diffrax_arm.ADJOINTS.values():
        assert diffrax_arm.solve(task, Setting(adjoint, "", ("Dopri8", adjoint, 1))).error < 1e-7


@pytest.mark.parametrize("peer", contest.GRADIENT_PEERS)
def test_settings_have_names_of_their_own(peer, task):
    names = [setting.name for setting in peer.settings(task)]
    assert len(set(names)) == len(names) > 0
    assert not peer.cannot(task) or "mujoco-mjx" in peer.cannot(task)


class Played:
    """A program whose errors and times are known."""

    NAME, PACKAGES = "played", ()

    @staticmethod
    def cannot(task):
        return ""

    @staticmethod
    def settings(task):
        yield Setting("coarse", "coarse", (1e-5, 0.01))
        yield Setting("fine", "fine", (1e-9, 0.2))

    @staticmethod
    def solve(task, setting):
        error, seconds = setting.numbers
        return Solution(error, seconds, seconds, 3.0, 12, seconds)


def test_a_table_of_gradients_has_errors_without_unit(task, monkeypatch):
    monkeypatch.setattr(contest, "GRADIENT_PEERS", (Played,))
    monkeypatch.setitem(contest.TASKS, "gradient", lambda: replace(task, goals=(1e-4, 1e-8, 1e-12)))
    lost, cannot = (contest.Table("", ("",)) for _ in range(2))
    table = contest.contested("gradient", 2, lost, cannot)
    assert [row[1:4] for row in table.rows] == [
        ("1e-04", "10 ms", "10 ms"),
        ("1e-08", "200 ms", "200 ms"),
        ("1e-12", "-", "-"),
    ]
    assert [row[5:8] for row in table.rows[:2]] == [("1.0e-05", "coarse", "3 s"), ("1.0e-09", "fine", "3 s")]
    assert table.rows[2][5:7] == ("1.0e-09", "no tried setting reaches this error")
    assert len(lost.rows) == 2 and not cannot.rows and "worst derivative" in table.notes[0]
