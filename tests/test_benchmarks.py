"""The benchmarks' own reckoning: what an error costs, verdicts that can fail, arms that are what they are called."""

import shutil
import sys
from dataclasses import replace
from itertools import pairwise
from threading import Event
from xml.etree import ElementTree

import numpy as np
import pytest
import xarray

import flexarm as fa
from benchmarks import __main__ as programs
from benchmarks import (
    arms,
    beside,
    control_laws,
    environments,
    exudyn_models,
    motions,
    report,
    settling,
    slew,
    trees,
    work_precision,
)
from benchmarks.report import Table
from benchmarks.work_precision import Point, needed
from flexarm.native.program import operations
from flexarm.simulation.solvers import EXPLICIT, IMPLICIT

ERRORS, COSTS = [1e-2, 1e-4, 1e-6], [1.0, 10.0, 100.0]  # cost = error^(-1/2) / 10


@pytest.mark.parametrize("goal", [1e-3, 1e-4, 3e-6, 1e-6])
def test_cost_between_two_runs(goal):
    assert needed(ERRORS, COSTS, goal) == pytest.approx(0.1 * goal**-0.5, rel=1e-12)


def test_cost_does_not_depend_on_order_or_on_runs_that_others_undercut():
    order = [2, 0, 1]
    errors = [*(ERRORS[i] for i in order), 1e-1, 1e-5]
    costs = [*(COSTS[i] for i in order), 50.0, 200.0]
    assert needed(errors, costs, 1e-5) == pytest.approx(0.1 * 1e-5**-0.5, rel=1e-12)


def test_every_program_can_be_run_and_has_the_rows_that_pages_show():
    """Importing `python -m benchmarks` imports all programs; the comparison shows rows of the slew by their names."""
    assert all(callable(measure) for measure in programs.SUBJECTS.values())
    assert {*slew.METHODS} <= {*EXPLICIT, *IMPLICIT}
    page = (report.ROOT / "docs" / "understand" / "comparison.md").read_text(encoding="utf-8")
    (rows,) = [line for line in page.splitlines() if line.startswith(":rows:") and "dop853" in line]
    assert {name.strip() for name in rows.removeprefix(":rows:").split(";")} <= {*slew.METHODS, slew.SCIPY}


def test_nothing_is_extrapolated():
    assert needed(ERRORS, COSTS, 1e-7) is None
    assert needed(ERRORS, COSTS, 1.0) == 1.0
    assert needed([], [], 1.0) is None
    assert needed([1e-2, 0.0], [1.0, 5.0], 1e-3) == pytest.approx(5.0)


def test_a_cell_shows_time_and_evaluations_or_that_there_are_none():
    row = [Point(1e-3, 1e-4, 1000, [0.1]), Point(1e-5, 1e-6, 2000, [0.4, 0.3, 0.5])]
    assert work_precision.cell(row, 1e-6, 0.0) == "300 ms, 2000"
    assert work_precision.cell(row, 1e-7, 0.0) == "-"
    assert work_precision.cell(row, 1e-6, 1e-5) == "-"  # the converged run is not known so well


def test_sweep_of_a_small_arm(monkeypatch, tmp_path):
    monkeypatch.setattr(work_precision, "METHODS", ("dop853", "gauss4"))
    case = arms.cases(quick=True)[0]
    points, apart = work_precision.swept(case, 2, (1e-3, 1e-5, 1e-7))
    assert apart < 1e-10
    for row in points.values():
        errors, evaluations = [p.error for p in row], [p.evaluations for p in row]
        assert len(row) == 3 and errors == sorted(errors, reverse=True) and evaluations == sorted(evaluations)
        assert errors[-1] < 1e-6 < errors[0] * 1e3
        assert all(len(point.seconds) in (2, 6) for point in row)
    table = work_precision.table(case, points, apart)
    assert [row[0] for row in table.rows] == ["dop853", "gauss4"]
    for folder in ("a", "b"):
        table.picture.save(tmp_path / folder)
    a, b = ((tmp_path / folder / "work-precision-subudhi-morris.svg").read_text() for folder in ("a", "b"))
    assert a == b and ">gauss4<" in a and len(a) < 60_000
    assert f"](figures/{table.picture.name})" in table.markdown()


# -- arms --------------------------------------------------------------------------------------------------------------


def test_segments_keep_mass_length_drives_and_payload():
    arm = fa.load("subudhi-morris")
    chain = arms.segmented(arm, (3, 2), 2)
    assert [(link.name, link.body.segments) for link in chain.links] == [("upper", 3), ("fore", 2)]
    assert len(fa.Model(chain).inputs) == 2
    rigid, whole = fa.Model(chain.rigid()), fa.Model(arm.rigid())
    q, qd = np.array([0.3, -0.8]), np.array([0.5, 0.2])
    np.testing.assert_allclose(rigid.mass_matrix(q), whole.mass_matrix(q), rtol=1e-12)
    np.testing.assert_allclose(rigid.tip(q), whole.tip(q), atol=1e-12)
    assert all(link.body.foreshortening for link in chain.links)
    assert rigid.energy(q, qd)[0] == pytest.approx(whole.energy(q, qd)[0], rel=1e-12)


def test_six_elastic_joints_have_a_motor_each():
    model = fa.Model(arms.elastic_joints(1e5))
    assert len(model.coordinates) == 12 and len(model.arm.springs) == 6
    K = np.array(model.slope("stiffness_force", 0)(np.zeros(12)))
    np.testing.assert_allclose(np.diag(K), 1e5)


# -- verdicts ----------------------------------------------------------------------------------------------------------


def setting(seconds, error):
    tip = np.zeros((201, 2))
    tip[3, 0] = error
    return beside.Setting(f"{seconds} s", lambda: (seconds, tip))


@pytest.mark.parametrize(("target", "met"), [(99.0, "yes"), (101.0, "**no**")])
def test_a_race_takes_the_quickest_that_is_exact_enough(monkeypatch, target, met):
    monkeypatch.setattr(beside, "converged", lambda race: (np.zeros((201, 2)), "exact"))
    race = replace(
        beside.RACES[-1],
        goals=(1e-4, 1e-9),
        target=target,
        theirs=lambda *_: iter([setting(5.0, 1e-5), setting(3.0, 1e-4), setting(1.0, 1e-3)]),
        ours=lambda *_: iter([setting(0.03, 9e-5), setting(0.04, 1e-8), setting(0.001, 1e-2)]),
    )
    found = Table("", ("",) * 9)
    drawn = beside.raced(race, found, quick=True)
    reached, missed = found.rows
    assert reached[2:] == (
        "3 s",
        "3.0 s: 1.0e-04 m",
        "30 ms",
        "0.03 s: 9.0e-05 m",
        "100 (100)",
        f">= {target:g}",
        met,
    )
    assert missed[-1] == "**no**"  # neither was there
    assert drawn.rows[0][1:] == ("3", "1.0e-05 m")


def test_a_run_that_fails_is_no_setting():
    assert not beside.Setting("", lambda: (1.0, None)).once(np.zeros((201, 2)))


def test_without_exudyn_a_line_says_what_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "exudyn", None)
    (table,) = beside.measure(quick=True)
    assert not table.rows and len(table.notes) == 1 and ".[peers]" in table.notes[0]


def test_torques_for_a_peer_are_those_of_the_run():
    model = fa.Model(fa.load("canadarm"))
    t = np.linspace(0.0, 10.0, 57)
    none = np.zeros((len(t), 0))
    exact = arms.SLEW.output(model, t, none, none, none)
    given = np.array([[torque(x) for torque in exudyn_models.torques(model, arms.SLEW, 10.0)] for x in t])
    np.testing.assert_allclose(given, exact, atol=1e-9 * np.abs(exact).max())


def test_versions_name_what_is_there():
    facts = dict(report.circumstances())
    assert "flexarm" in facts["versions"] and "numpy" in facts["versions"]


@pytest.mark.parametrize(("flexible", "free", "more"), [(False, False, 164), (False, True, 441), (True, True, 2501)])
def test_each_arm_of_a_tree_costs_the_same(flexible, free, more):
    """Nothing is done twice where arms meet: see the table of docs/understand/mechanics.md."""
    rates = [fa.Model(trees.tree(arms, 3, flexible, free)).function("state_rate") for arms in (1, 2, 3)]
    counts = [sum(operations(rate)) for rate in rates]
    assert [b - a for a, b in pairwise(counts)] == [more, more]


# -- motions -----------------------------------------------------------------------------------------------------------


def ringing(duration, until, amplitude, used, late=0.0):
    """A tip that rings about zero with a period of one second, dying away by half in each, after it has arrived."""
    t = np.linspace(0, until, 4001)
    since = np.maximum(t - duration, 0.0)
    y = np.where(t < duration, 1.0, amplitude * np.cos(2 * np.pi * since) * 0.5**since + late)
    tip = np.stack([y, 0 * t, 0 * t], axis=1)
    data = {"tip": (("time", "axis"), tip), "u": (("time", "input"), np.full((len(t), 1), used))}
    return xarray.Dataset(data, coords={"time": t})


def test_a_tip_rests_when_its_vibration_has_died_to_the_tolerance():
    run = ringing(2.0, 12.0, 0.1, 1.0)
    rest = settling.settled(run, [0, 0, 0], 0.01, 11.0)
    peak = 2.0 + 3.0  # half periods have peaks of 0.1 / 2^(k/2): the last above 0.01 is that at k = 6
    assert peak < rest < peak + 0.25
    assert settling.settled(run, [0, 0, 0], 0.01, 4.9) == np.inf  # not by then
    assert settling.settled(ringing(2.0, 12.0, 0.1, 1.0, late=0.02), [0, 0, 0], 0.01, 11.0) == np.inf
    assert settling.settled(run, [0, 0, 0], 2.0, 11.0) == 0.0
    assert settling.swing(run, [0, 0, 0], 2.5) == pytest.approx(0.1 * 0.5**0.5, rel=1e-2)


@pytest.mark.parametrize(("amplitude", "rests"), [(0.0, 3.0), (0.05, 6.0)])
def test_a_motion_is_slowed_until_its_torques_fit_and_its_tip_rests(amplitude, rests):
    """Torques go with 1 / T^2 and fit from 3 s on; the vibration is what it is up to 6 s, and then nothing."""

    def tried(duration):
        swings = amplitude if duration < rests else 0.0
        times = (duration, duration, duration + 1.5)
        return settling.attempt(
            lambda: ringing(duration, duration + 3, swings, 18 / duration**2), [2.0], times, np.zeros(3), 1e-3
        )

    found = settling.within(tried, 1.0)
    assert found.used <= 1 and found.rest < np.inf
    assert rests <= found.duration <= rests * (settling.LONGER if amplitude else 1.01)
    assert (found.limited is None) == (not amplitude)
    if amplitude:
        assert found.limited.duration == pytest.approx(3.0, rel=4e-3) and found.limited.left > 0.04


def test_a_motion_that_never_rests_or_never_fits_is_said_to():
    def tried(duration, used=0.5):
        times = (duration, duration, duration + 1.5)
        return settling.attempt(lambda: ringing(duration, duration + 3, 0.1, used), [1.0], times, np.zeros(3), 1e-3)

    assert motions.arrived(settling.within(tried, 4.0)).startswith("does not rest (")
    assert motions.arrived(settling.within(lambda T: tried(T, 2.0), 4.0)) == "wants more"


def test_a_run_that_fails_is_no_arrival():
    def run():
        raise fa.SimulationError("diverged")

    assert settling.attempt(run, [1.0], (1.0, 1.0, 2.0), np.zeros(3), 1e-3).used == np.inf


def test_a_case_without_a_motion_has_a_row_that_says_so(monkeypatch):
    def none(*_, **__):
        raise fa.FlexarmError("no motion found")

    monkeypatch.setattr(motions, "optimal_motion", none)
    table = motions.compared(["two masses", "rigid two-link arm"])
    assert [row[1] for row in table.rows] == ["none: no motion found"] * 2 and table.rows[0][-1] == "**no**"
    assert len({len(row) for row in table.rows} | {len(table.columns)}) == 1
    assert all("none" in row[2] for row in motions.solved_exactly().rows)


def test_a_search_that_takes_too_long_is_interrupted_and_said_to_be(monkeypatch):
    def endless(*_, **__):
        Event().wait(60.0)

    monkeypatch.setattr(motions, "PATIENCE", 0.2)
    monkeypatch.setattr(motions, "optimal_motion", endless)
    case = motions.CASES["two masses"]
    with pytest.raises(fa.FlexarmError, match=r"nothing after 0.2 s"):
        motions.fastest(fa.Model(case.arm()), case)


@pytest.mark.parametrize("name", environments.ARMS)
def test_the_chain_beside_an_environment_has_its_mass_its_length_and_its_stiffness(name):
    """As many hinges as the arm has coordinates; a moment at the tip turns it as far as the beams, in their limit."""
    arm, tree = fa.load(name), ElementTree.fromstring(environments.chain(fa.load(name)))
    hinges, bodies = [*tree.iter("joint")], [*tree.iter("body")]
    assert len(hinges) == len(arm.coordinates) and len([*tree.iter("motor")]) == len(arm.inputs)
    assert sum(float(x.get("mass")) for x in tree.iter("inertial")) == pytest.approx(
        sum(link.body.total_mass for link in arm.links), rel=1e-7
    )
    end = 2.0 * float([*tree.iter("inertial")][-1].get("pos").split()[0])
    total = sum(float(body.get("pos").split()[0]) for body in bodies) + end
    assert total == pytest.approx(sum(link.body.length for link in arm.links), rel=1e-7)
    turned = sum(1.0 / float(hinge.get("stiffness")) for hinge in hinges if hinge.get("stiffness"))
    share = 1.0 - 1.0 / environments.SEGMENTS
    assert turned == pytest.approx(share * sum(link.body.length / link.body.EI for link in arm.links), rel=1e-7)


# -- controllers -------------------------------------------------------------------------------------------------------


def test_quick_measurement_of_controllers(monkeypatch):
    """Each controller has a time in a run and one in C, and the designs have theirs."""
    chosen = ("JointPD", "Observed, JointPD, EKF with a torque")
    every = [name for name, _ in control_laws.laws(fa.Model("subudhi-morris"), *control_laws.ARMS["subudhi-morris"])]
    assert {*chosen} < {*every} and len({*every}) == len(every) > 15
    yielded = control_laws.laws
    monkeypatch.setattr(control_laws, "laws", lambda *given: ((a, b) for a, b in yielded(*given) if a in chosen))
    monkeypatch.setattr(control_laws, "ARMS", {"subudhi-morris": control_laws.ARMS["subudhi-morris"]})
    samples, designs = control_laws.measure(quick=True)
    assert tuple(row[0] for row in samples.rows) == chosen
    alone, within, in_c, counts = zip(*(row[1:] for row in samples.rows), strict=True)
    assert alone[0].endswith(" ns") and alone[1] == "" and all(cell.endswith("s") for cell in within)
    if shutil.which("gcc"):
        assert all(cell.endswith("s)") for cell in in_c)
    if shutil.which("gcc") and shutil.which("valgrind"):
        pd, ekf = ([int(x) for x in cell.split(" to ")] for cell in counts)
        assert 100 < pd[0] <= pd[1] < 1000 < ekf[0] < ekf[1]
    assert len(designs.rows) == 6 and all(row[1].endswith("s") for row in designs.rows)
