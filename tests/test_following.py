"""The comparison of controllers: its numbers follow from runs, its poles from first-order perturbation of the modes."""

from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

import flexarm as fa
from benchmarks import following
from benchmarks.following import LATE, LIMIT, PERIOD, Contender, Plant, run, settled, swing
from flexarm.control import DesignedFor, JointPD, Tracking
from flexarm.pictures.view import MOST_RESULTS

UNTIL = 4.2


@cache
def made(torque):
    """A motion with its torques, that of a run in place of one that is searched for, whatever the torque."""
    slew = fa.Quintic((0.0, 0.0), following.END, 2.2)
    law = Tracking(slew, bandwidth=12.0)
    result = fa.simulate(following.nominal(), 3.2, u=law, samples=801, progress=False)
    q, qd, u = (result[name].values for name in ("q", "qd", "u"))
    return SimpleNamespace(times=result.time.values, q=q, qd=qd, u=u, linear=True, duration=3.2)


def places(t):
    """A reference that stands still."""
    return np.tile(following.ended(), (len(t), 1))


@pytest.fixture(scope="module")
def contenders():
    return following.contenders(made)


@pytest.fixture(scope="module")
def found(contenders):
    """A small comparison: two controllers on three plants."""
    chosen = {name: contenders[name] for name in ("shaped PD", "optimal, LQR")}
    plants = {name: following.plants()[name] for name in ("nominal", "noise", "1 ms late")}
    return following.runs(chosen, plants, UNTIL)


def test_settled_is_when_the_last_swing_falls_below():
    t = np.linspace(0.0, 4.0, 4001)
    away = np.abs(np.exp(-t) * np.cos(20.0 * np.pi * t))
    assert settled(t, away, 0.5 * np.exp(-1.0)) == pytest.approx(1.0 + np.log(2.0), abs=0.05)  # a swing before or after
    assert settled(t, np.exp(-t), 0.1) == pytest.approx(np.log(10.0), abs=1e-3)
    assert settled(t, 0 * t, 0.1) == 0.0 and settled(t, 1.0 + 0 * t, 0.1) == np.inf
    assert settled(t, np.where(t < 4.0, 0.0, np.nan), 0.1) == np.inf


def test_a_swing_is_its_amplitude_whatever_its_middle():
    t = np.linspace(0.0, 2.0 * np.pi, 1001)[:, None]
    assert swing([3.0, 2.0, 1.0] + np.sin(t) * [0.03, 0.04, 0.0]) == pytest.approx(0.05, rel=1e-4)


def test_what_the_controllers_do_not_know():
    plants = following.plants()
    arm = plants.pop("nominal").arm
    assert arm == fa.load(following.ARM)
    heavy, soft, noise, late = plants.values()
    payload = (heavy.arm.payload.mass, heavy.arm.payload.inertia)
    assert payload == pytest.approx((1.5 * arm.payload.mass, 1.5 * arm.payload.inertia))
    assert heavy.arm.replace(payload=arm.payload) == arm
    EI = [link.body.EI for link in soft.arm.links]
    assert pytest.approx([0.8 * link.body.EI for link in arm.links]) == EI and soft.arm.payload == arm.payload
    assert noise == Plant(arm, noisy=True) and late == Plant(arm, late=True)


def test_references_have_the_tip_where_trigonometry_has_it(contenders):
    """Two links of 0.5 m; a motion of the bent arm is that of its tip in the run that it is from."""
    t = np.array([0.0, 0.9, 9.0])
    a, b = fa.trajectory.reference_values(fa.Quintic((0.0, 0.0), following.END, 2.05), t).T
    wanted = 0.5 * np.stack([np.cos(a) + np.cos(a + b), np.sin(a) + np.sin(a + b), 0 * t], axis=1)
    np.testing.assert_allclose(contenders["composite"].reference(t), wanted, atol=1e-12)
    np.testing.assert_allclose(following.ended(), wanted[-1], atol=1e-12)
    motion, t = made(0.5), np.array([0.0, 0.3, 1.1, 7.0])
    rows = [0, 75, 275, -1]
    wanted = [following.nominal().tip(motion.q[k])[:3, 3] for k in rows]
    np.testing.assert_allclose(contenders["optimal, LQR"].reference(t), wanted, atol=1e-9)


def test_numbers_are_those_of_the_run(found, contenders):
    for of in found.values():
        for name, each in of.items():
            t, tip = each.result.time.values, each.result.tip.values
            off = np.hypot(*(tip - following.ended())[:, :2].T)
            if np.isfinite(each.settled):
                assert off[t >= each.settled].max() <= 1e-3 < off[t < each.settled][-1]
            late = tip[t >= contenders[name].arrival][:, :2]
            assert each.residual == pytest.approx(np.hypot(*np.ptp(late, axis=0)) / 2)
            assert each.left == pytest.approx(np.hypot(*np.ptp(tip[t >= UNTIL - 1.0][:, :2], axis=0)) / 2)
            assert each.torque == pytest.approx(np.abs(each.result.u.values).max()) and each.torque <= LIMIT
            assert each.error >= np.abs(tip - contenders[name].reference(t)).max()


def test_a_motion_known_with_its_torques_leaves_less_than_a_shaped_one(found):
    shaped, known = found["nominal"].values()
    assert known.residual < shaped.residual / 10 and known.error < shaped.error / 100
    assert known.settled < shaped.settled


def test_noise_comes_through_the_sensors_to_the_torques(found):
    """At rest: from one sample to the next."""
    changes = [found[plant]["optimal, LQR"].result.u.values[-500:] for plant in ("nominal", "noise")]
    quiet, loud = (np.diff(u, axis=0).std() for u in changes)
    assert loud > 50 * quiet > 0


def test_a_delay_pushes_the_fastest_mode_that_prompt_torques_damp(found):
    """Of a mode e^(i w t) without damping u = -Kp y - Kd y' makes e^((i w + s) t), for small gains s = -(b' b / 2)
    (Kd + Kp / i w) e^(-i w (delay + T / 2)) sin(w T / 2) / (w T / 2), b what the actuators see of it, T the period of
    the hold. The fastest, at 1668 rad/s, is 2.5 rad late by one and a half milliseconds."""
    model, Kp, Kd = following.nominal(), 0.03, 0.015
    q, _ = fa.analysis.equilibrium(model, following.END)
    w, modes = model.modes(q, locked=False)
    b = (model.input_matrix(q).T @ modes)[:, w > 500.0]
    w = w[w > 500.0]
    law = DesignedFor(JointPD(following.END, Kp, Kd), model)
    held = Contender(lambda _: law, places, 0.0, PERIOD, lambda _: law)
    for name, delay in (("nominal", 0.0), ("1 ms late", LATE)):
        late = np.exp(-1j * w * (delay + PERIOD / 2)) * np.sinc(w * PERIOD / (2 * np.pi))
        rate = (-(b**2).sum(axis=0) / 2 * (Kd + Kp / (1j * w)) * late).real
        pole = following.slowest(model, held, following.plants()[name], delay)
        assert pole == pytest.approx(rate.max(), rel=0.01)
    assert found["nominal"]["shaped PD"].pole < 0 < found["1 ms late"]["shaped PD"].pole


def test_torques_end_at_the_limit_and_come_late():
    """More is asked for than there is: all of it at once, or a delay later."""
    step = Contender(lambda _: lambda t, q, qd: [9.0, -9.0], places, 0.0, PERIOD, lambda _: None)
    for name, first in (("nominal", [LIMIT, -LIMIT]), ("1 ms late", [0.0, 0.0])):
        each = run(step, following.plants()[name], 0.1)
        assert each.pole is None and each.torque == LIMIT and each.result.u.values[0].tolist() == first


def test_the_predictive_controller_is_called_at_its_own_rate(contenders):
    soon = replace(contenders["optimal, predictive"], arrival=0.5)
    each = run(soon, following.plants()["1 ms late"], 1.0)
    assert each.result.attrs["predictive_steps"] == 200 and each.pole is None
    u, t = each.result.u.values[:, 0], each.result.time.values
    assert not u[t < following.SLOWLY - 1e-9].any() and u[t > 0.5].any()  # late by a period of its own


def test_the_table_says_what_was_measured(found, tmp_path):
    table = following.compared(found)
    assert table.columns == ("what", "controller", "nominal", "noise", "1 ms late")
    assert [row[:2] for row in table.rows] == [(what, name) for what in following.MEASURES for name in found["noise"]]
    said = {row[:2]: row[2:] for row in table.rows}
    runs = [of["shaped PD"] for of in found.values()]
    told = said["slowest pole [1/s]", "shaped PD"]
    assert [float(cell.split()[0]) for cell in told] == pytest.approx([each.pole for each in runs], rel=0.05)
    assert ["unstable" in cell for cell in told] == [each.pole > 0 for each in runs] == [False, True, True]
    shown = [float(cell) for cell in said["swing after arrival [mm]", "shaped PD"]]
    assert shown == pytest.approx([1e3 * each.residual for each in runs], rel=0.06)
    times = [np.inf if cell == "never" else float(cell) for cell in said["settled [s]", "shaped PD"]]
    assert times == pytest.approx([each.settled for each in runs], abs=0.006)
    for folder in ("a", "b"):
        table.picture.save(tmp_path / folder)
    a, b = ((tmp_path / folder / "following.svg").read_text() for folder in ("a", "b"))
    assert a == b and ">1 ms late<" in a and len(a) < 100_000


def test_all_of_them_move_on_one_page(found, tmp_path):
    page = following.live(found, tmp_path / "live.html").read_text(encoding="utf-8")
    assert '"cases":[{"name":"nominal"' in page and page.count('"name":"shaped PD"') == len(found)
    assert len(following.contenders(made)) <= MOST_RESULTS
