"""The contest's own reckoning: tasks that are what they say, torques that jump where they should, lines, a page."""

import re
import subprocess
import sys
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
import sympy as sp

import flexarm as fa
from benchmarks import exudyn_models, lagrange
from benchmarks.peers import __main__ as contest
from benchmarks.peers import (
    drake_peer,
    exudyn_frames,
    exudyn_peer,
    exudyn_run,
    exudyn_tree,
    flexarm_peer,
    mujoco_peer,
    peer,
    pinocchio_cpp,
    pinocchio_peer,
    pinocchio_systems,
    soromox_peer,
    sympy_peer,
    tasks,
)
from benchmarks.peers.peer import Setting, Solution, lines_of, steps, timed
from benchmarks.report import Table
from flexarm import problems

NAMED = (
    "two-link-rigid-joints-small", "two-link-large", "two-link-absolute-rotors-small",
    "two-link-absolute-rotors-large", "canadarm-slew", "spin-up-beam", "spatial-gravity",
    "elastic-joint-arm", "free-floating-arm", "rigid-chain-3", "rigid-chain-7", "rigid-chain-30",
    "closed-form-derivation", "closed-loop-1khz", "thousand-runs",
    "four-bars-1", "four-bars-10", "four-bars-40", "bricard", "slider-crank",
    "geared-rods", "ball-chain", "cable-arm",
    "gradient-two-links", "gradient-six-hinges",
)  # fmt: skip
MEMBERS = {"NAME", "PACKAGES", "cannot", "settings", "solve"}


@pytest.fixture(scope="module")
def chain():
    return tasks.motion("rigid-chain-3")


def test_every_task_is_there_and_every_motion_is_one_of_the_public_set():
    assert set(tasks.TASKS) == set(NAMED)
    assert set(tasks.GOALS) <= set(problems.names())


def test_a_motion_is_the_sets_with_its_errors(chain):
    assert chain.error(chain.tip) == 0.0 and chain.error(None) == np.inf
    assert chain.error(chain.tip + [3e-3, 4e-3, 0.0]) == pytest.approx(5e-3)
    assert chain.error(np.full_like(chain.tip, np.nan)) == np.inf
    assert 0 < chain.floor < min(chain.goals) / 10
    assert chain.q0 == pytest.approx([0.2] * 3) and not chain.torque(0.3).any()


def test_torques_are_those_of_the_scenario():
    task = tasks.motion("two-link-large")
    assert task.torque(0.25) == pytest.approx([0.5, 0.3])
    assert task.torque(0.75) == pytest.approx([-0.5, -0.3])
    assert task.torque(1.25) == pytest.approx([0.0, 0.0])
    assert task.continuum and task.planar


@pytest.mark.parametrize("each", contest.PEERS)
def test_every_peer_has_what_is_asked_of_one(each, chain):
    assert set(dir(each)) >= MEMBERS
    if not each.cannot(chain):
        settings = list(each.settings(chain))
        assert len({setting.name for setting in settings}) == len(settings) > 3


def test_who_cannot_says_why():
    elastic = tasks.motion("elastic-joint-arm")
    assert "motors" in soromox_peer.cannot(elastic)
    assert not drake_peer.cannot(elastic) and not pinocchio_peer.cannot(elastic)
    carried = tasks.motion("two-link-absolute-rotors-large")
    assert "reflected" in drake_peer.cannot(carried) and not soromox_peer.cannot(carried)
    assert "base" in soromox_peer.cannot(tasks.motion("free-floating-arm"))
    symbols = tasks.derivation()
    assert all(peer.cannot(symbols) for peer in (exudyn_peer, mujoco_peer, pinocchio_peer, drake_peer, soromox_peer))
    assert not sympy_peer.cannot(symbols) and not flexarm_peer.cannot(symbols)


def test_this_package_and_mujoco_converge_to_the_sets_solution(chain):
    ours = flexarm_peer.solve(chain, Setting("", "", (None, "dop853", 1e-9, None)))
    assert ours.error < 1e-6 and ours.lines > 5
    errors = [mujoco_peer.solve(chain, Setting("", "", (1, "RK4", count))).error for count in (400, 800)]
    assert errors[0] / errors[1] > 10  # of fourth order: 16 in the limit
    held = mujoco_peer.solve(tasks.motion("free-floating-arm"), Setting("", "", (1, "RK4", 800)))
    assert held.error < 1e-3


def test_mujoco_turns_rotors_of_elastic_joints_with_their_carriers():
    task = tasks.motion("elastic-joint-arm")
    errors = [mujoco_peer.solve(task, Setting("", "", (1, "RK4", count))).error for count in (200, 400)]
    assert 10 < errors[0] / errors[1] < 20  # of fourth order: 16 in the limit
    assert errors[1] < 1e-6


def test_mujocos_carriers_have_less_inertia_across_a_rotors_axis():
    task = tasks.motion("elastic-joint-arm")
    waist, upper, fore, wrist = task.arm.links
    fore = fore.replace(placement=fa.Pose(rpy=(np.pi / 2, 0.0, 0.0)))  # its axis y is z of the upper arm
    turned = replace(task, arm=task.arm.replace(links=[waist, upper, fore, wrist]))
    root = ElementTree.fromstring(mujoco_peer.file(turned, 1, True))
    inertia = root.find(".//body[@name='upper']/inertial").get("fullinertia")
    assert [float(x) for x in inertia.split()] == pytest.approx([0.05 - 1e-4, 0.7 - 1e-4, 0.7, 0, 0, 0], abs=1e-12)


def test_mujoco_holds_the_chain_and_runs_it_many_times(chain):
    held = replace(chain, until=0.1, times=chain.times[:6], tip=chain.tip[:6], feedback=True)
    coarse, fine = (
        mujoco_peer.held(held, mujoco_peer.build(held, mujoco_peer.file(held, 1, False), "RK4", 0.1 / n, {}), n)
        for n in (100, 400)
    )
    assert np.abs(coarse - fine).max() < 1e-8 < np.abs(fine - held.tip).max()
    q0 = np.array([chain.q0, 0 * chain.q0, chain.q0])
    several = replace(chain, until=0.1, times=chain.times[[0, 5]], tip=chain.tip[[5, 0, 5]], q0=q0, qd0=0 * q0)
    batch = mujoco_peer.build(several, mujoco_peer.file(several, 1, False), "RK4", 0.1 / 50, {})
    tip = mujoco_peer.many(several, batch, 50)
    assert np.abs(tip[[0, 2]] - several.tip[[0, 2]]).max() < 1e-6 < np.abs(tip[1] - tip[0]).max()


def test_lines_are_those_that_do_something():
    assert lines_of(steps) == 2
    assert lines_of(tasks.Task.torque) == 4


def test_a_solution_has_both_clocks(chain):
    found = timed(chain, lambda: 3, lambda three: chain.tip * three / 3, 7)
    assert found.error < 1e-15 and found.lines == 7
    assert found.seconds > 0 and found.processor >= 0 and found.setup >= 0


@pytest.mark.parametrize(("seconds", "runs"), [(0.1, 2), (1.0, 1)])
def test_both_systems_are_built_before_one_runs_after_the_other(chain, monkeypatch, seconds, runs):
    told, now = [], iter(np.cumsum([0.0, 5.0, 0.0, seconds, 0.0, seconds / 2]))
    monkeypatch.setattr(peer, "perf_counter", lambda: next(now))
    monkeypatch.setattr(peer, "process_time", lambda: 10.0 * told.count("run"))

    def told_of(what):
        told.append(what)
        return chain.tip

    found = timed(chain, lambda: told_of("build"), lambda system: told_of("run"), 7)
    assert told == ["build"] * 2 + ["run"] * runs
    assert (found.setup, found.colder) == (5.0, pytest.approx(seconds))
    assert found.processor == pytest.approx(10.0)  # the time of children, which have run before, is added and taken off
    assert found.seconds == pytest.approx(seconds / runs)


def test_the_processor_counts_forked_processes_too(chain):
    def run(system):
        code = "import time\nwhile time.process_time() < 0.4: pass"
        subprocess.run([sys.executable, "-S", "-c", code], check=True)
        return chain.tip

    assert timed(chain, lambda: 0, run, 7).processor > 0.3


def test_torques_at_many_times_are_those_at_each():
    for name in ("two-link-large", "rigid-chain-3"):
        task, times = tasks.motion(name), np.linspace(0.0, 1.4, 15)
        assert np.array_equal(task.torque(times), [task.torque(t) for t in times])


@pytest.mark.parametrize("of", [pinocchio_peer, drake_peer, mujoco_peer, exudyn_peer])
def test_peers_without_beams_have_the_same_hinges_and_steps(of):
    names = " ".join(setting.name for setting in of.settings(tasks.motion("two-link-large")))
    found = {int(n) for n in re.findall(r"(\d+) hinges a link", names)}
    assert found == {*peer.HINGES[: 5 if of is drake_peer else None]}
    assert {int(n) for n in re.findall(r"(\d+) steps", names)} == {*steps(150)}


def test_sympys_two_ways_give_the_same_numbers():
    method, (M, forcing) = lagrange.equations((1, 0)), lagrange.plain((1, 0))
    _, q = lagrange.lagrangian((1, 0))
    rates = [x.diff(lagrange.TIME) for x in q]
    rng = np.random.default_rng(1)
    values = dict(zip([*rates, *q], rng.uniform(0.5, 1.5, 6), strict=True))
    named = [sp.Symbol(f"{letter}{i}") for letter in ("qd", "q") for i in range(3)]
    constants = {x: rng.uniform(0.5, 1.5) for x in sorted(M.free_symbols | forcing.free_symbols, key=str)}
    constants |= dict(zip(named, values.values(), strict=True))
    by_name = {x.name: value for x, value in constants.items()}

    def number(matrix):
        symbols = {x: by_name[x.name] for x in matrix.free_symbols - {lagrange.TIME}}
        return np.array(matrix.xreplace({**values, **symbols}), dtype=float)

    assert number(M) == pytest.approx(number(method.mass_matrix), rel=1e-12)
    assert number(forcing) == pytest.approx(number(method.forcing), rel=1e-12)


def test_pinocchios_slopes_are_those_of_its_accelerations():
    """A wrong Jacobian would cost Radau steps, and no test of its error would see that."""
    pytest.importorskip("pinocchio")
    task = tasks.motion("two-link-rigid-joints-small")
    system = pinocchio_systems.System(task, task.equivalent(2))
    system.load(np.array([0.3, -0.2]))
    system.D += 0.01 * np.eye(len(system.q))  # hinges have springs alone
    q, v = np.random.default_rng(1).normal(scale=0.1, size=(2, len(system.q)))
    to_q, to_v = (slopes.copy() for slopes in system.slopes(q, v))
    for d in 1e-6 * np.eye(len(q)):
        by_q = (system.rate(q + d, v) - system.rate(q - d, v)) / 2e-6
        by_v = (system.rate(q, v + d) - system.rate(q, v - d)) / 2e-6
        assert np.abs(to_q @ d / 1e-6 - by_q).max() < 1e-6 * np.abs(to_q).max()
        assert np.abs(to_v @ d / 1e-6 - by_v).max() < 1e-6 * np.abs(to_v).max()


def test_pinocchios_implicit_runs_need_its_derivatives():
    pytest.importorskip("pinocchio")
    task = tasks.motion("two-link-rigid-joints-small")
    assert pinocchio_peer.solve(task, Setting("", "", (2, "", "Radau", 1e-3))).error < 1e-4
    assert pinocchio_peer.derivable(task)
    for name in ("two-link-absolute-rotors-small", "free-floating-arm"):
        assert not pinocchio_peer.derivable(tasks.motion(name))
        assert not any("Radau" in setting.name for setting in pinocchio_peer.settings(tasks.motion(name)))


# -- Pinocchio, Drake, SoRoMoX -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["two-link-large", "rigid-chain-3"])
@pytest.mark.parametrize("of", [pinocchio_peer, drake_peer, soromox_peer])
def test_settings_have_names_of_their_own(of, name):
    names = [setting.name for setting in of.settings(tasks.motion(name))]
    assert len(set(names)) == len(names) > 2


@pytest.mark.parametrize("name", ["rigid-chain-3", "elastic-joint-arm", "free-floating-arm"])
def test_pinocchio_solves_the_same_equations(name):
    pytest.importorskip("pinocchio")
    task = tasks.motion(name)
    assert pinocchio_peer.solve(task, Setting("", "", (1, "", "RK4", 8 * task.intervals))).error < 1e-4


def test_without_a_compiler_pinocchio_runs_from_python_alone(chain, monkeypatch):
    monkeypatch.setattr(pinocchio_cpp, "missing", lambda: "no g++")
    assert not any("C++" in setting.name for setting in pinocchio_peer.settings(chain))
    monkeypatch.setattr(pinocchio_cpp, "missing", lambda: "")
    assert any("C++" in setting.name for setting in pinocchio_peer.settings(chain))
    assert 40 < pinocchio_cpp.lines("RK4") < pinocchio_cpp.lines("DOP853") - 60


def test_what_is_missing_for_pinocchio_in_cpp_is_said(monkeypatch, tmp_path):
    pytest.importorskip("pinocchio")
    monkeypatch.setattr(pinocchio_cpp, "prefix", lambda: tmp_path)
    monkeypatch.setattr(pinocchio_cpp.shutil, "which", lambda name: "/" + name)
    assert "cmeel-eigen" in pinocchio_cpp.missing()
    (tmp_path / "include" / "eigen3").mkdir(parents=True)
    assert pinocchio_cpp.missing() == ""
    monkeypatch.setattr(pinocchio_cpp.shutil, "which", lambda name: None)
    assert pinocchio_cpp.missing() == "no g++"


def test_cpp_is_given_the_whole_tree(monkeypatch):
    """From what is handed over the same tree can be made: its accelerations are the same."""
    pin = pytest.importorskip("pinocchio")
    given = {}

    class Library:
        @staticmethod
        def made(*arguments):
            given["it"] = arguments

        @staticmethod
        def ended(tree):
            pass

    monkeypatch.setattr(pinocchio_cpp, "library", lambda: (Library, 0.0))
    task = tasks.motion("free-floating-arm")
    system = pinocchio_systems.System(task, task.equivalent(1))
    system.model.armature = np.linspace(0.1, 0.9, 9)
    pinocchio_cpp.Runs(task, system)
    (count, parents, kinds, axes, places, bodies, armature, gravity), given = given["it"][:8], given["it"][8:]
    K, D, B, R, inputs, carrier, tip, *rest = given
    assert [np.size(x) for x in rest] == [4, 8, 1, 0, 0] and not any(np.any(x) for x in rest)  # no gears, no cables
    assert (count, kinds, inputs, carrier) == (4, b"FZYY", 3, 4)
    assert not K.any() and not D.any() and not R.any() and B.sum() == 3 and axes.shape == (4, 3)
    again = pin.Model()
    again.gravity.linear = gravity
    joints = {"F": pin.JointModelFreeFlyer, "Z": pin.JointModelRZ, "Y": pin.JointModelRY}
    for i, kind in enumerate(kinds.decode()):
        number = again.addJoint(int(parents[i]), joints[kind](), pin.SE3(places[i]), f"{i}")
        body = pin.Inertia(bodies[i, 0], bodies[i, 1:4], bodies[i, 4:].reshape(3, 3))
        again.appendBodyToJoint(number, body, pin.SE3.Identity())
    again.armature = armature
    rng = np.random.default_rng(1)
    q, v, tau = pin.randomConfiguration(again, -np.ones(10), np.ones(10)), rng.normal(size=9), rng.normal(size=9)
    expected = pin.aba(system.model, system.data, q, v, tau)
    assert pin.aba(again, again.createData(), q, v, tau) == pytest.approx(expected, rel=1e-10)
    frame = system.model.frames[system.tip]
    assert tip == pytest.approx(frame.placement.translation)


def test_joints_along_an_axis_of_their_frame_are_plain():
    pin = pytest.importorskip("pinocchio")
    found = [pinocchio_systems.kind(np.array(axis), True).shortname() for axis in np.eye(3)]
    assert [pinocchio_cpp.letter(name) for name in found] == ["X", "Y", "Z"]
    assert pinocchio_cpp.letter(pinocchio_systems.kind(np.array([0.6, 0.8, 0.0]), True).shortname()) == "R"
    assert pinocchio_cpp.letter(pinocchio_systems.kind(np.array([1.0, 0.0, 0.0]), False).shortname()) == "P"
    assert pinocchio_cpp.letter(pin.JointModelFreeFlyer().shortname()) == "F"


@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("elastic-joint-arm", (1, "runge_kutta3", 1e-2, 0)),
        ("free-floating-arm", (1, "runge_kutta5", 0.0, 800)),
        ("two-link-rigid-joints-small", (4, "radau3", 1e-2, 0)),
    ],
)
def test_drake_solves_them(name, numbers):
    pytest.importorskip("pydrake")
    task = tasks.motion(name)
    assert drake_peer.solve(task, Setting("", "", numbers)).error < task.goals[0]


def test_soromox_solves_a_chain(chain):
    pytest.importorskip("soromox")
    assert soromox_peer.solve(chain, Setting("", "", (0, "Tsit5", 1e-6))).error < 1e-4


# -- choosing and telling ----------------------------------------------------------------------------------------------


def entry(error, seconds, peer=mujoco_peer, name="x"):
    found = [Solution(error, s, s, 0.0, 1) for s in seconds]
    return contest.Entry(peer, Setting(name, name, ()), found)


def test_the_cheapest_are_those_exact_enough():
    entries = [entry(1e-2, [0.1]), entry(1e-4, [0.5]), entry(1e-5, [0.3]), entry(1e-6, [0.4])]
    assert contest.cheapest([entry(1e-5, [0.9]), *entries], 1e-3) == [entries[2], entries[3], entries[1]]
    assert contest.cheapest(entries, 1e-9) == []


def test_the_first_run_does_not_count_where_there_are_more():
    assert entry(1e-4, [9.0, 1.0, 3.0, 2.0]).median("seconds") == 2.0
    assert entry(1e-4, [9.0]).median("seconds") == 9.0


def test_what_is_lost_is_said_and_what_is_won_is_not():
    lost = Table(
        "lost", ("task", "required error", "measure", "fastest program", "its time", "time of flexarm", "ratio")
    )
    ours, theirs = entry(1e-4, [0, 2.0], flexarm_peer), entry(1e-4, [0, 1.0])
    contest.loser("a", "1e-3 m", {"flexarm": ours, "MuJoCo": theirs}, lost)
    contest.loser("b", "1e-3 m", {"MuJoCo": theirs}, lost)
    contest.loser("c", "1e-3 m", {"flexarm": theirs, "MuJoCo": ours}, lost)
    contest.loser("d", "1e-3 m", {"flexarm": ours, "flexarm.jax": theirs}, lost)
    assert lost.rows == [
        ("a", "1e-3 m", "clock", "MuJoCo", "1 s", "2 s", "2"),
        ("a", "1e-3 m", "processor", "MuJoCo", "1 s", "2 s", "2"),
        ("a", "1e-3 m", "after another", "MuJoCo", "1 s", "2 s", "2"),
        ("b", "1e-3 m", "clock", "MuJoCo", "1 s", "error too large", "-"),
    ]


def test_peers_alternate_and_what_is_slow_has_fewer_turns(chain, monkeypatch):
    told = []

    class Peer:
        def __init__(self, name):
            self.NAME = name

        def solve(self, task, setting):
            told.append(f"{self.NAME}{setting.name}")
            slow = 1.0 if setting.name == "slow" else 0.0
            return Solution(0.0, float(len(told)), slow, 0.0, 1, colder=100.0 + len(told))

    first, other = Peer("a"), Peer("b")
    monkeypatch.setattr(contest, "PEERS", (first, other))
    entries = [entry(0.0, [9.0], *given) for given in ((first, "1"), (first, "slow"), (other, "1"))]
    contest.in_turn(chain, [*entries, entries[0]], 4)
    assert told == ["a1", "b1", "aslow"] * 2 + ["a1", "b1"] * 2
    assert entries[1].median("seconds") == (3 + 6) / 2
    assert entries[2].median("seconds") == (5 + 8) / 2 and entries[2].median("after another") == 100 + (5 + 8) / 2


def test_a_series_ends_where_it_is_exact_enough_or_rests(chain):
    class Peer:
        NAME = "none"

        @staticmethod
        def settings(task):
            for series, errors in (("falls", (1e-3, 1e-6, 1e-9, 1e-12)), ("rests", (1e-3, 5e-4, 4.99e-4, 4e-4))):
                for error in errors:
                    yield Setting(f"{series} {error}", series, (error,))

        @staticmethod
        def solve(task, setting):
            return Solution(setting.numbers[0], 1e-3, 1e-3, 0.0, 1)

    assert [found.error for found in contest.swept(Peer, chain)] == [1e-3, 1e-6, 1e-9, 1e-3, 5e-4, 4.99e-4]


def test_a_series_ends_where_less_is_known_to_be_enough(chain):
    class Peer:
        NAME = "none"

        @staticmethod
        def settings(task):
            for series, given in (
                ("a", ((1e-3, 0.01), (5e-8, 0.02), (4e-8, 0.03))),
                ("b", ((1e-3, 0.07), (9e-4, 0.09), (1e-9, 0.1))),
            ):
                for error, cost in given:
                    yield Setting(f"{series} {error}", series, (error, cost))

        @staticmethod
        def solve(task, setting):
            error, cost = setting.numbers
            return Solution(error, cost, cost, 0.0, 1)

    assert [found.setting.name for found in contest.swept(Peer, chain)] == [
        "a 0.001",
        "a 5e-08",
        "a 4e-08",
        "b 0.001",
        "b 0.0009",
    ]


def test_what_is_done_once_stands_below_a_table(chain, monkeypatch):
    monkeypatch.setattr(flexarm_peer, "first_run", lambda task, numbers: 0.5)
    monkeypatch.setattr(pinocchio_cpp, "library", lambda: (None, 100.0))
    ours = entry(1e-4, [0.1], flexarm_peer)
    compiled, called = (entry(1e-4, [0.1], pinocchio_peer, name) for name in ("C++ RK4, 3 steps", "RK4, 3 steps"))
    first, other = contest.once(chain, [called, ours, compiled])
    assert "first run" in first and "500 ms" in first and "C++" in other and "100 s" in other
    assert contest.once(chain, [called]) == []


def test_a_first_run_compiles(chain):
    how = (None, "dop853", 1e-6, None)
    model = flexarm_peer.model(chain.name, chain, None)
    again = min(
        timed(chain, lambda: model, lambda it: flexarm_peer.motion(chain, it, *how[1:]), 0).seconds for _ in range(5)
    )
    assert flexarm_peer.first_run(chain, how) > 3 * again


def test_the_page_keeps_what_stands_around_its_block(tmp_path):
    page = tmp_path / "contest.md"
    page.write_text(f"# Head\n\n{contest.BEGIN}\nold\n{contest.END}\n\ntail\n")
    about = Table(contest.LOST, ("task",)), Table(contest.CANNOT, ("task",))
    for load in ("0.1", "0.2"):
        contest.write(
            page, [("load", load)], {"rigid-chain-3": Table("rigid-chain-3", ("a", "b"), [("1", "2")])}, *about
        )
    text = page.read_text()
    assert text.startswith("# Head") and text.endswith("\ntail\n") and "old" not in text
    assert text.count("## rigid-chain-3") == 1 and "| load | 0.2 |" in text


def test_tasks_that_are_not_measured_again_keep_their_tables_and_rows(tmp_path):
    page, heads = tmp_path / "contest.md", (("task", "by"), ("task", "Exudyn", "MuJoCo"))

    def written(times, lost, cannot):
        tables = {name: Table(f"{name}: A chain", ("program",), [(time,)]) for name, time in times.items()}
        about = Table(contest.LOST, heads[0], lost), Table(contest.CANNOT, heads[1], cannot)
        contest.write(page, [], tables, *about)
        return page.read_text()

    first = written(
        {"rigid-chain-7": "7 s", "rigid-chain-3": "3 s"},
        [("rigid-chain-7", "Drake"), ("rigid-chain-7", "MuJoCo"), ("rigid-chain-3", "Drake")],
        [("rigid-chain-3", "done", "no: a | b"), ("rigid-chain-7", "done", "done")],
    )
    names = ["rigid-chain-3: A chain", "rigid-chain-7: A chain", contest.LOST, contest.CANNOT]
    assert [line[3:] for line in first.splitlines() if line.startswith("## ")] == names
    again = written({"rigid-chain-7": "1 s"}, [], [("rigid-chain-7", "done", "done")])
    assert again == "".join(
        line.replace("7 s", "1 s")
        for line in first.splitlines(keepends=True)
        if not line.startswith(("| rigid-chain-7 | Drake", "| rigid-chain-7 | MuJoCo"))
    )


def test_torques_for_exudyn_are_means_at_jumps():
    class Symbols:
        class symbolic:
            Real = staticmethod(float)
            IfThenElse = staticmethod(lambda condition, yes, no: yes if condition else no)

    torque = exudyn_models.steps(np.array([0.0, 1.0]), np.array([2.0, -4.0]))
    kept, exudyn_models.exudyn = exudyn_models.exudyn, lambda: Symbols
    try:
        assert [torque(t) for t in (0.0, 0.5, 1.0, 1.5)] == [2.0, 2.0, -1.0, -4.0]
    finally:
        exudyn_models.exudyn = kept


def test_exudyn_goes_from_jump_to_jump():
    task = tasks.motion("two-link-large")
    found = list(exudyn_run.stretches(task))
    assert [[a, b] for a, b, _ in found] == [[0.0, 0.5], [0.5, 1.0], [1.0, 1.5]]
    assert [list(u) for _, _, u in found] == [[0.5, 0.3], [-0.5, -0.3], [0.0, 0.0]]
    (alone,) = exudyn_run.stretches(tasks.motion("rigid-chain-3"))
    assert alone[:2] == (0.0, 2.0) and not alone[2].any()


def test_what_rides_on_a_links_end_is_its_payload_and_what_is_fixed_to_it():
    task = tasks.motion("two-link-absolute-rotors-large")
    (upper, *first), (fore, *last) = exudyn_run.beams(task)
    assert (upper.name, fore.name) == ("upper", "fore")
    assert first == pytest.approx([0.1, 0.001]) and last == pytest.approx([0.1, 0.005])


def test_exudyns_tree_has_the_arms_bodies_motors_and_base():
    elastic = tasks.motion("elastic-joint-arm").equivalent(1)
    links = exudyn_tree.links_of(elastic)
    assert sum(mass for mass, _, _ in links.solids) == pytest.approx(50.0)
    assert links.parents[links.number["fore.motor"]] == links.number["upper.joint"]
    assert (
        links.solids[links.number["fore.motor"]][2][2, 2] == pytest.approx(1e-4) and links.gear["fore.motor"] == 100.0
    )
    stiffness = exudyn_tree.matrices(elastic, links)["stiffnessMatrix"]
    turned = np.zeros(8)  # rotors that turn G times as fast as the joints wind no spring
    turned[[links.number[f"{name}.joint"] for name in ("waist", "upper", "fore", "wrist")]] = 1.0
    for name, G in links.gear.items():
        turned[links.number[name]] = G
    assert np.abs(stiffness @ turned).max() < 1e-9 < np.linalg.matrix_rank(stiffness) == 4
    task = tasks.motion("free-floating-arm")
    floating = exudyn_tree.links_of(task.equivalent(1))
    assert floating.kinds[:6] == [f"{kind}{axis}" for kind in ("Prismatic", "Revolute") for axis in "XYZ"]
    assert [mass for mass, _, _ in floating.solids[:6]] == [0.0] * 5 + [100.0]
    q, qd = exudyn_tree.start(task, task.equivalent(1), floating)
    assert q == pytest.approx([0] * 7 + [0.3, -0.8]) and not qd.any()


def test_an_absolute_rotors_inertia_turns_with_its_carrier():
    equivalent = tasks.motion("two-link-absolute-rotors-small").equivalent(2)
    links = exudyn_tree.links_of(equivalent)
    M, n = exudyn_tree.matrices(equivalent, links)["massMatrix"], len(links.kinds)
    rates = np.random.default_rng(0).normal(size=n)
    carrier = sum(rates[links.number[f"{name}.joint"]] for name in ("upper", "upper_1y", "upper_2y"))
    energy = 0.00125 * (
        (4 * rates[links.number["upper.joint"]]) ** 2 + (carrier + 4 * rates[links.number["fore.joint"]]) ** 2
    )
    assert rates @ M @ rates == pytest.approx(energy)


def test_frames_that_point_along_an_axis_are_frames():
    for axis in np.eye(3).tolist() + [[0.0, -1.0, 0.0], [0.0, 0.0, -1.0], [0.6, 0.0, 0.8]]:
        R = exudyn_tree.to_z(np.array(axis))
        assert R[:, 2] == pytest.approx(axis) and pytest.approx(np.eye(3)) == R.T @ R
        assert np.linalg.det(R) == pytest.approx(1.0)


def test_a_floating_frames_slopes_are_those_of_its_deflections():
    x, d = np.array([0.2, 0.7]), 1e-6
    up, down = (exudyn_frames.shapes(x + s * d, 0.8, 3)[0] for s in (1, -1))
    assert exudyn_frames.shapes(x, 0.8, 3)[1] == pytest.approx((up - down) / (2 * d), rel=1e-8)
    point = np.array([[0.5, 0.1, 0.0]])  # rides on the section at 0.4, 0.1 ahead of it and 0.1 beside
    w, slope = exudyn_frames.shapes(np.array([0.4]), 0.8, 2)
    moved = exudyn_frames.shown(point, np.array([0.4]), 0.8, 2)
    assert moved == pytest.approx(np.vstack([-0.1 * slope, w + 0.1 * slope, 0 * w]))


def test_forms_keep_the_arms_masses():
    task = tasks.motion("two-link-large")
    for form in flexarm_peer.FORMS[task.name]:
        arm = flexarm_peer.arm_of(task, form)
        assert [link.body.total_mass for link in arm.links] == [link.body.total_mass for link in task.arm.links]
        assert isinstance(fa.Model(arm), fa.Model)
