"""Mohan & Saha reproduced, and the parts of the reproduction checked on their own."""

import re
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import casadi as ca
import mpmath as mp
import numpy as np
import pytest
from figures import style_faults

import flexarm as fa
from flexarm.mechanics import dynamics, second, strain
from flexarm.native.precise import precise
from flexarm.native.program import instructions
from flexarm_papers import mohan_saha, panels
from flexarm_papers.mohan_saha import (
    claims,
    claims_equations,
    compute,
    counts,
    equations,
    faults,
    figures,
    rounding,
    shapes,
)
from flexarm_papers.tables import markdown

PAGE = Path(__file__).parents[1] / "docs" / "understand" / "papers" / "mohan-saha.md"


@pytest.fixture(scope="module")
def slew():
    return compute.slew()


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The parts, the folder of the figures, whose files are empty, and matplotlib's figures by file name."""
    folder, drawn = tmp_path_factory.mktemp("mohan-saha"), {}

    def kept(figure, path):
        drawn[path.name] = figure
        path.touch()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(panels, "save_figure", kept)
        parts = mohan_saha.reproduce(folder)
    return parts, folder, drawn


def by_place(parts):
    return {claim.where: claim for part in parts for claim in part.claims}


# -- verdicts ----------------------------------------------------------------------------------------------------------


def test_no_study_of_ours_fails_a_check_of_its_own(run):
    studies = [part for part in run[0] if part.study]
    assert [part.name for part in studies] == ["Rounding", "Faults"]
    assert [claim.where for part in studies for claim in part.claims if not all(c.met for c in claim.checks)] == []


@pytest.mark.parametrize("place", ["Fig. 6, dense", "Fig. 7b, dense", "Fig. 8b, dense"])
def test_the_failure_of_the_dense_path_is_not_reproduced(run, place):
    claim = by_place(run[0])[place]
    assert claim.verdict == "not reproduced"
    assert claim.checks[0].value == np.inf  # it never fails


def test_the_dense_path_would_be_seen_to_fail(slew, monkeypatch):
    """The same claims about a dense path that fails as the paper's did."""
    recursion, dense = slew.both["tight"]
    monkeypatch.setitem(slew.both, "tight", [recursion, dense[:501]])
    assert by_place([claims.fig_6(slew)])["Fig. 6, dense"].verdict == "reproduced"
    spoiled = dense.copy()
    spoiled[slew.t > 3.5, slew.n :] += 0.5 * np.sin(40 * slew.t[slew.t > 3.5, None])
    again = compute.Slew(slew.model)
    again.__dict__["both"] = {**slew.both, "tight": [recursion, spoiled]}
    assert by_place([claims.fig_7(again)])["Fig. 7b, dense"].verdict == "reproduced"
    assert by_place([claims.fig_8(again)])["Fig. 8b, dense"].verdict == "reproduced"


def test_every_correction_is_needed_and_enough(run):
    mended = [claim for claim in by_place(run[0]).values() if claim.correction]
    assert len(mended) >= 13
    assert {claim.verdict for claim in mended} == {"reproduced with a correction"}


def test_the_page_says_what_is_computed(run):
    """Row by row: where, what and verdict; the numbers' last digits belong to the processor."""
    if not PAGE.exists():
        pytest.skip("installed without its docs")

    def rows(text):
        """Where, what and verdict of every row of the tables that `markdown` makes, of four columns and of six."""
        cells = [[x.strip() for x in re.split(r"(?<!\\)\|", line)[1:-1]] for line in text.splitlines()]
        found = [(row[0], row[1], row[2 if len(row) == 4 else 4]) for row in cells if len(row) in (4, 6)]
        return sorted(row for row in found if row[0] not in ("where", "---"))

    page = PAGE.read_text(encoding="utf-8")
    assert rows(page) == rows(markdown(run[0], "mohan-saha/"))
    plain = " ".join(page.split())
    assert [claim.correction for claim in by_place(run[0]).values() if claim.correction not in plain] == []
    assert {part.figure for part in run[0] if part.figure} == set(re.findall(r"\(mohan-saha/([\w.-]+)\)", page))
    assert "explained" not in page.lower()


def test_the_pages_program_runs():
    if not PAGE.exists():
        pytest.skip("installed without its docs")
    (program,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    exec(program, {})  # it asserts that the products are the inertia matrix


# -- wrong physics -----------------------------------------------------------------------------------------------------


@pytest.fixture
def fresh(tmp_path, monkeypatch):
    """No machine code and no run of the sound package is used, and none of the broken one is kept."""
    monkeypatch.setenv("FLEXARM_CACHE", str(tmp_path))
    return compute.Slew(fa.Model(fa.load("canadarm")))


def verdicts_changed(part, sound):
    """Which claims of a part have another verdict than in the sound run."""
    before = by_place(sound)
    return {claim.where for claim in part.claims if claim.verdict != before[claim.where].verdict}


def test_foreshortening_20_percent_off_is_noticed(fresh, run, monkeypatch):
    right = second._running
    monkeypatch.setattr(second, "_running", lambda *given, **more: lambda x: 1.2 * right(*given, **more)(x))
    assert verdicts_changed(claims_equations.foreshortening(fresh), run[0]) >= {"Eq. 1b", "Section 2"}


def test_stiffness_2_percent_off_is_noticed(fresh, run, monkeypatch):
    right = strain.named_stiffness
    monkeypatch.setattr(strain, "named_stiffness", lambda *given: 1.02 * right(*given))
    assert verdicts_changed(claims_equations.motion(fresh), run[0]) == {"Eq. 20a", "Eqs. 16 to 20, 31"}
    assert verdicts_changed(claims.fig_5(fresh), run[0]) == {"Fig. 5, curves"}


@pytest.mark.filterwarnings("ignore::flexarm.errors.EnergyDrift")
def test_gyroscopic_terms_10_percent_off_are_noticed(fresh, run, monkeypatch):
    right = dynamics.moving

    def wrong(*given):
        found = right(*given)
        return replace(found, h=[1.1 * h for h in found.h])

    monkeypatch.setattr(dynamics, "moving", wrong)
    assert verdicts_changed(claims_equations.motion(fresh), run[0]) == {"Eq. 24b", "Eq. 33", "Eqs. 16 to 20, 31"}
    assert verdicts_changed(claims.fig_5(fresh), run[0]) == {"Fig. 5, curves"}


# -- figures -----------------------------------------------------------------------------------------------------------


def test_every_part_with_a_figure_has_it(run):
    parts, folder, drawn = run
    assert {part.figure for part in parts if part.figure} == {file.name for file in folder.iterdir()} == drawn.keys()


def test_figs_4_and_5_show_the_run_beside_what_it_is_compared_with(run, slew):
    axes = run[2]["mohan-saha-fig4.svg"].axes
    assert [at.get_ylabel() for at in axes] == ["rad", "rad/s"] * 3
    assert [at.get_xlabel() for at in axes] == [""] * 4 + ["time [s]"] * 2
    for i in range(3):
        for at, of, desired in ((axes[2 * i], "q", slew.theta), (axes[2 * i + 1], "qd", slew.thetad)):
            ours, theirs = at.lines
            np.testing.assert_array_equal(ours.get_xdata(), slew.t)
            np.testing.assert_array_equal(ours.get_ydata(), slew.result[of].values[:, i])
            np.testing.assert_array_equal(theirs.get_ydata(), desired[:, i])
    assert [text.get_text() for text in axes[0].get_legend().get_texts()] == ["simulated", "desired"]
    axes = run[2]["mohan-saha-fig5.svg"].axes
    assert [at.get_title() for at in axes] == ["(a) link 1", "(b) link 2", "(c) link 3"]
    for i, at in enumerate(axes):
        assert at.get_ylabel() == "tip deflection [mm]"
        np.testing.assert_allclose(at.lines[0].get_ydata(), 1e3 * slew.tips[:, i])
        np.testing.assert_allclose(at.lines[1].get_ydata(), 1e3 * slew.quasi_static[:, i])


def test_figs_6_to_8_show_both_paths(run, slew):
    (at,) = run[2]["mohan-saha-fig6.svg"].axes
    assert [line.get_label() for line in at.lines] == ["recursion", "dense"]
    for line, x in zip(at.lines, slew.both["tight"], strict=True):
        np.testing.assert_array_equal(line.get_ydata(), x[:, 0] - slew.theta[:, 0])
    axes = run[2]["mohan-saha-fig7.svg"].axes
    for at, power in zip(axes, slew.power[1:], strict=True):
        ours, desired = at.lines
        np.testing.assert_array_equal(ours.get_ydata(), power)
        np.testing.assert_array_equal(desired.get_ydata(), slew.power[0])
        assert at.get_ylim()[0] < power.min() and power.max() < at.get_ylim()[1]
    axes = run[2]["mohan-saha-fig8.svg"].axes
    assert [at.get_title() for at in axes] == ["(a) recursion", "(b) dense"]
    for at, qdd in zip(axes, slew.accelerations, strict=True):
        (line,) = at.lines
        np.testing.assert_array_equal(line.get_ydata(), qdd[:, 0])
        assert np.abs(qdd[:, 0]).max() < at.get_ylim()[1]


def test_the_picture_of_the_fault_ends_where_the_run_does(run, slew):
    bad = faults.failures(slew)["deformation"]
    axes = run[2]["mohan-saha-faults.svg"].axes
    assert [at.get_ylabel() for at in axes] == ["joint 1 less desired [rad]", "power [W]", figures.ACCELERATION]
    for at in axes:
        sound, wrong = at.lines
        assert (sound.get_label(), wrong.get_label()) == ("recursion", figures.FAULT)
        assert wrong.get_xdata()[-1] == bad.end < sound.get_xdata()[-1] == 10.0
    np.testing.assert_array_equal(axes[2].lines[1].get_ydata(), bad.qdd)


def test_the_picture_of_rounding_has_both_paths_and_the_bound_over_four_things(run, slew):
    found = rounding.sweep(slew)
    axes = run[2]["mohan-saha-rounding.svg"].axes
    assert [at.get_title() for at in axes] == list(found)
    assert [at.get_xscale() for at in axes] == ["linear", "linear", "log", "log"]
    for at, group in zip(axes, found.values(), strict=True):
        assert at.get_yscale() == "log"
        recursion, dense, bound = at.lines
        np.testing.assert_array_equal(recursion.get_xdata(), list(group))
        np.testing.assert_array_equal(recursion.get_ydata(), [case.recursion for case in group.values()])
        np.testing.assert_array_equal(dense.get_ydata(), [case.dense for case in group.values()])
        assert (bound.get_ydata() > dense.get_ydata()).all()
        assert at.get_ylim()[0] < recursion.get_ydata().min() and bound.get_ydata().max() < at.get_ylim()[1]


# -- Table 1 -----------------------------------------------------------------------------------------------------------


def test_table_1():
    # added up by hand for m = 2: mh = 5, Mm3 = 665, Am3 = 560, Mm4 = Am4 = 305
    assert counts.proposed(8, 2) == pytest.approx((1332 * 8 - 782, 1048 * 8 - 685))
    assert counts.proposed(8, 2) == pytest.approx((9874, 7699))
    assert counts.jain_rodriguez(8, 2) == pytest.approx((10568, 8344))
    assert counts.cyril(8, 2)[0] == pytest.approx(13990, abs=0.5)
    assert counts.cyril(8, 2, 251 / 3)[1] == pytest.approx(12683, abs=0.5)


def test_the_lines_for_jain_and_rodriguez_cross_at_a_number_of_modes():
    for which, m in enumerate(counts.crossings()):
        assert counts.jain_rodriguez_upper(3, m)[which] == pytest.approx(counts.jain_rodriguez(3, m)[which], rel=1e-9)
    assert counts.jain_rodriguez_upper(1, 7)[0] < counts.jain_rodriguez(1, 7)[0]
    assert counts.jain_rodriguez_upper(1, 8)[0] > counts.jain_rodriguez(1, 8)[0]


def test_from_how_many_links_an_algorithm_is_cheapest():
    first, last = counts.cheapest(counts.jain_rodriguez)
    assert (first, last) == (1, 71)
    assert counts.proposed(72, 2)[0] >= counts.jain_rodriguez(72, 2)[0]
    assert counts.cheapest(lambda n, m: (0.0, 0.0)) == (0, 0)


# -- the slew ----------------------------------------------------------------------------------------------------------


def test_deflection_of_the_first_link_is_that_of_a_cantilever_under_the_inertia_of_a_straight_arm(slew):
    t, EI, L, m = 2.0, 1e5, (6.0, 7.0, 2.0), (140.0, 85.0, 95.0)
    k, T = np.array([0.075, 0.05, 0.1]), np.array([10.0, 5.0, 5.0])
    alpha = np.cumsum(k * np.pi / T * np.sin(np.pi * t / T))  # of the links
    x, w = np.polynomial.legendre.leggauss(8)
    force = moment = lever = 0.0
    a_joint = L[0] * alpha[0]
    for length, mass, a in zip(L[1:], m[1:], alpha[1:], strict=True):
        s, ds = length * (x + 1) / 2, mass * w / 2
        force -= np.sum(ds * (a_joint + s * a))
        moment -= np.sum(ds * (a_joint + s * a) * (lever + s))
        lever, a_joint = lever + length, a_joint + length * a
    own = -m[0] / L[0] * alpha[0] * 11 * L[0] ** 5 / 120
    expected = (force * L[0] ** 3 / 3 + moment * L[0] ** 2 / 2 + own) / EI
    # the links beyond are bent and turned by 0.06 rad and more: a few percent
    assert slew.quasi_static[200, 0] == pytest.approx(expected, rel=0.05)


def test_the_two_paths_agree(slew):
    model = slew.model
    for q, qd, u in rounding.random_states(model.arm, count=20, seed=3):
        a, b = model.forward_dynamics(q, qd, u), model.forward_dynamics_dense(q, qd, u)
        # condition 1e6 times rounding
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-10 * np.abs(a).max())
    in_q, in_qd = slew.apart("tight")
    assert max(in_q, in_qd) < 1e-10


def test_when_something_happens_first(slew):
    assert slew.first(slew.t > 4.995) == pytest.approx(5.0)
    assert slew.first(slew.t > 11.0) == np.inf


# -- the equations -----------------------------------------------------------------------------------------------------


def test_foreshortening_keeps_the_length_with_our_sign_only():
    whole, half = equations.arc_lengths(0.2), equations.arc_lengths(0.1)
    assert whole[0] / half[0] == pytest.approx(16, rel=0.05)
    assert whole[1] / half[1] == pytest.approx(4, rel=0.05)


def test_eq_43_counts_from_the_free_end():
    free, deflection, slope = shapes.clamp()
    assert free > 1
    assert max(deflection, slope, shapes.shapes_apart()) < 1e-13
    assert shapes.roots(4) == pytest.approx((1.87510407, 4.69409113, 7.85475744, 10.99554073), abs=1e-8)
    x, step = np.array([0.2, 0.6, 0.9]), 1e-5
    for order in (0, 1):
        slope = (shapes.shape(x + step, 3, order) - shapes.shape(x - step, 3, order)) / (2 * step)
        np.testing.assert_allclose(slope, shapes.shape(x, 3, order + 1), rtol=0, atol=1e-6)


def test_a_turning_beam_is_stiffened_by_southwells_coefficient():
    # 1.193 in the tables for the first mode of a beam without hub
    assert equations.southwell() == pytest.approx(1.193, abs=5e-4)


def test_lagranges_equations_of_points_are_those_of_a_pendulum_with_a_stiff_beam():
    """One link, amplitudes held at zero: J theta_dd = u with J = m L^2 / 3, and the amplitudes' own share."""
    model = equations.turning_link(2)
    left = equations.lagrange(model.arm, 2)
    J = 85.0 * 7.0**2 / 3
    residual = np.array(left([0.4, 0, 0], [0.7, 0, 0], [0.2, 0, 0], [J * 0.2])).ravel()
    assert residual[0] == pytest.approx(0, abs=1e-9)
    assert residual[1] == pytest.approx(0.2 * model.mass_matrix(np.zeros(3))[0, 1], rel=1e-12)


# -- rounding and faults -----------------------------------------------------------------------------------------------


def test_fifty_digits_are_fifty_digits():
    x = ca.SX.sym("x", 2)
    f = ca.Function("f", [x], [ca.vertcat(ca.sin(x[0]) ** 2 + ca.cos(x[0]) ** 2 - 1, 1 / x[1] - x[0] / (x[0] * x[1]))])
    with mp.workdps(50):
        assert all(abs(value) < 1e-48 for value in precise(instructions(f), [0.7, 3.0]))
        (found,) = precise(instructions(ca.Function("g", [x], [2 * -x[0] + ca.sin(x[1])])), [1.0, 2.0])
        assert abs(found + 2 - mp.sin(2)) < 1e-48
        M = np.array([[mp.mpf(2), mp.mpf(1)], [mp.mpf(1), mp.mpf(3)]])
        x = rounding.solved(M, np.array([mp.mpf(1), mp.mpf(2)]))
        assert abs(x[0] - mp.mpf(1) / 5) + abs(x[1] - mp.mpf(3) / 5) < 1e-48


def test_rounding_is_measured_from_the_true_solution(slew):
    found = rounding.measured(slew.model.arm, rounding.random_states(slew.model.arm))
    assert 1e-17 < found.recursion < 1e-11
    assert 1e-17 < found.dense < 1e-11
    assert found.constants < 1e-11
    M = np.diag([1.0, 1e8]) @ np.array([[2.0, 1.0], [1.0, 2.0]]) @ np.diag([1.0, 1e8])
    assert rounding.condition(M) == pytest.approx(3.0)


def test_a_matrix_that_is_not_positive_definite_has_no_factors():
    with pytest.raises(np.linalg.LinAlgError):
        faults.factored(np.array([[1.0, 2.0], [2.0, 1.0]]), np.ones(2))
    np.testing.assert_allclose(faults.factored(np.array([[2.0, 1.0], [1.0, 2.0]]), np.ones(2)), [1 / 3, 1 / 3])


def test_without_a_fault_the_slow_loop_is_the_native_one(slew):
    sound = faults.run(slew, lambda q, M, phi: faults.factored(M, phi))
    assert sound.why == ""
    assert sound.t[-1] == pytest.approx(10 - compute.STEP)
    np.testing.assert_allclose(sound.q[::4], slew.both["rk4"][0][:-1, : slew.n], rtol=0, atol=1e-11)


def test_blocks_at_the_same_configuration_are_no_fault(slew):
    q, *_ = rounding.random_states(slew.model.arm, count=1)[0]
    M, phi = slew.model.mass_matrix(q), np.arange(1.0, 10.0)
    same = faults.other_blocks(slew, [(1, 0), (2, 0), (2, 1)], lambda q: q)(q, M.copy(), phi)
    np.testing.assert_allclose(same, np.linalg.solve(M, phi), rtol=1e-9)
    seen = []
    with suppress(np.linalg.LinAlgError):  # the matrix need not be positive definite any more
        faults.other_blocks(slew, [(2, 0)], lambda q: seen.append(q.copy()) or np.zeros(9))(q, M, phi)
    M_0 = slew.model.mass_matrix(np.zeros(9))
    np.testing.assert_array_equal(M[np.ix_([2, 7, 8], [0, 3, 4])], M_0[np.ix_([2, 7, 8], [0, 3, 4])])
    np.testing.assert_array_equal(M, M.T)
    np.testing.assert_array_equal(seen, [q])


def test_every_picture_keeps_the_house_style(run):
    assert {name: faults for name, figure in run[2].items() if (faults := style_faults(figure))} == {}
