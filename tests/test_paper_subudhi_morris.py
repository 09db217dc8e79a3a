"""Subudhi & Morris: the reproduction runs, its page says what it found, its numbers come out of other computations."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from figures import style_faults
from scipy.integrate import quad
from scipy.linalg import eigh
from scipy.optimize import brentq

import flexarm as fa
from flexarm_papers import panels, subudhi_morris
from flexarm_papers.subudhi_morris import compute, figures, modes, responses
from flexarm_papers.tables import claims, markdown

PAGE = Path(__file__).parents[1] / "docs" / "understand" / "papers" / "subudhi-morris.md"
L, RHO, EI, J, M_P, I_P, KS = 0.5, 0.2, 1.0, 0.02, 0.1, 0.005, 100.0


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory):
    """Parts, and what was drawn: the matplotlib figure of each picture."""
    folder = tmp_path_factory.mktemp("papers")
    drawn = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(panels, "save_figure", lambda figure, path: drawn.update({path.name: figure}))
        parts = subudhi_morris.reproduce(folder)
    return parts, drawn


# -- verdicts and the page ---------------------------------------------------------------------------------------------


def rows(text):
    """Of every table: the cells of each row that is no heading."""
    cells = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("|")]
    return [row for row in cells if row[0] not in ("where", "---")]


def test_the_page_has_every_part_and_claim_with_its_verdict(reproduced):
    parts, _ = reproduced
    page, ours = rows(PAGE.read_text()), rows(markdown(parts))
    assert len(ours) == len(parts) + len(claims(parts))
    first = len(parts)
    assert [row[:3] for row in page[:first]] == [row[:3] for row in ours[:first]]
    assert [(row[0], row[1], row[4]) for row in page[first:]] == [(row[0], row[1], row[4]) for row in ours[first:]]
    corrected = [claim for claim in claims(parts) if claim.correction]
    text = PAGE.read_text()
    assert [claim.where for claim in corrected if f"- **{claim.where}.** {claim.correction}" not in text] == []
    shown = {part.figure for part in parts if part.figure}
    assert [name for name in shown if f"](subudhi-morris/{name})" not in text] == []


def test_what_is_not_reproduced(reproduced):
    """The paper's conclusion, its assumption, its own law, its gains on the arm of its figures; nothing else."""
    parts, _ = reproduced
    missed = {part.name for part in parts if part.verdict == "not reproduced"}
    assert missed == {
        "Section 6, conclusion",
        "Assumption (IV)",
        "Figs. 7, 8: the law as printed",
        "One arm",
    }


@pytest.mark.parametrize(
    "name", ["Fig. 4", "Fig. 5", "Fig. 6", "Fig. 7: the law corrected", "Fig. 8: the law corrected"]
)
def test_each_figure_comes_out_with_its_correction(reproduced, name):
    parts, _ = reproduced
    (part,) = (part for part in parts if part.name == name)
    assert part.verdict == "reproduced with a correction"
    assert all(claim.corrected for claim in part.claims if claim.verdict == part.verdict)


# -- what is drawn -----------------------------------------------------------------------------------------------------


def test_every_part_has_the_picture_it_names(reproduced):
    parts, drawn = reproduced
    assert set(drawn) == {part.figure for part in parts if part.figure}


def lines(drawn, name):
    """Title, vertical label and curves of each panel: {label: (x, y)}."""
    return [
        (axes.get_title(), axes.get_ylabel(), {line.get_label(): line.get_data() for line in axes.get_lines()})
        for axes in drawn[f"subudhi-morris-{name}.svg"].axes
    ]


def test_figs_4_to_6_show_eq_55_beside_the_elastic_arm(reproduced):
    _, drawn = reproduced
    pages = [panel for name in ("fig4", "fig5", "fig6") for panel in lines(drawn, name)]
    assert [title[:3] for title, _, _ in pages] == ["(a)", "(b)", "(c)", "(d)"] * 2 + ["(a)", "(b)"]
    assert [label for _, label, _ in pages] == ["N m", "rad", "rad", "mm", "mm", "mm", "mm", "mm", "mm", "mrad"]
    for _, _, curves in pages[:-1]:
        assert set(curves) == {figures.RIGID_JOINTS, figures.ELASTIC_JOINTS}
        for x, y in curves.values():
            assert x[0] == 0.0 and x[-1] == pytest.approx(4.0)
            assert len(x) == len(y) == 1001
    torque = pages[0][2][figures.RIGID_JOINTS]
    np.testing.assert_array_equal(np.interp([0.25, 0.75, 2.0], *torque), [0.2, -0.2, 0.0])
    tip = {label: np.abs(y).max() for label, (_, y) in pages[7][2].items()}
    assert tip[figures.ELASTIC_JOINTS] / tip[figures.RIGID_JOINTS] == pytest.approx(1.205, abs=0.005)
    joints = [np.abs(y).max() for _, y in pages[9][2].values()]
    elastic = compute.response("absolute", KS, 0.01)
    expected = 1e3 * np.abs(elastic.q.values[:, [0, 1]] - elastic.q.values[:, [6, 7]]).max(axis=0)
    np.testing.assert_allclose(joints, expected, rtol=0.1)  # every fourth ms is drawn


def test_figs_7_and_8_show_the_corrected_law_beside_the_printed_one(reproduced):
    _, drawn = reproduced
    angles, springs, *_ = lines(drawn, "fig7")
    assert {"law corrected", "law as printed", "reference"} <= set(angles[2])
    end = {label: y[-1] for label, (_, y) in angles[2].items()}
    assert end["reference"] == pytest.approx(np.pi / 2)
    assert end["law corrected"] == pytest.approx(np.pi / 2, abs=1e-3)
    assert abs(end["law as printed"] - np.pi / 2) > 0.03
    assert springs[1] == "mrad"
    torques = lines(drawn, "fig8")[3]
    assert torques[:2] == ("(d) torques 1, 2 (marked)", "N m")
    assert np.abs(torques[2]["law corrected"][1]).max() == pytest.approx(0.51, abs=0.01)


def test_the_studies_are_drawn(reproduced):
    _, drawn = reproduced
    ((_, _, left),) = lines(drawn, "pulse")
    assert len(left) == 5
    for label, (omega, y) in left.items():
        np.testing.assert_allclose(y, 1e3 * 4 * np.sin(omega / 4) ** 2 / omega**2, err_msg=label)
    relative, absolute = drawn["subudhi-morris-validity.svg"].axes
    assert relative.get_ylim() == absolute.get_ylim() == (1e-3, 100)
    assert relative.get_yscale() == "log"
    paper = {line.get_label(): line.get_ydata() for line in absolute.get_lines()}["2 clamped-mass"]
    assert paper[0] == pytest.approx(20, abs=1) and (np.diff(paper) < 0).all()
    both = lines(drawn, "rotors")
    assert [title.split(" rotors")[0] for title, _, _ in both] == ["relative", "relative", "absolute", "absolute"]


# -- the arms ----------------------------------------------------------------------------------------------------------


def test_both_bundled_arms_are_table_1():
    rigid, elastic = fa.load("subudhi-morris"), fa.load("subudhi-morris-elastic")
    for arm, ks in ((rigid, None), (elastic, KS)):
        for link in arm.links:
            assert (link.body.length, link.body.m, link.body.EI) == (L, RHO, EI)
            assert (link.joint.rotor_inertia, link.joint.gear_ratio, link.joint.stiffness) == (J, 1.0, ks)
        assert arm.payload == fa.Payload(mass=M_P, inertia=I_P)
    assert fa.Model(elastic).inputs == ("upper.motor", "fore.motor")


@pytest.mark.parametrize("name", ["subudhi-morris", "subudhi-morris-elastic"])
def test_the_scenarios_are_fig_4a(name):
    result = fa.load_scenario(name).replace(samples=5).run(progress=False)
    assert result.u.values.tolist() == [[0.2, 0.2], [-0.2, -0.2], [0, 0], [0, 0], [0, 0]]
    assert np.abs(result.deflection.values).max() > 1e-3


# -- the modes ---------------------------------------------------------------------------------------------------------


def by_powers(mass, inertia, moment, degree=9):
    """Two lowest frequencies by Rayleigh and Ritz with x^2, ..., x^degree [rad/s]."""
    n = np.arange(2, degree + 1)
    ends, slopes = np.ones(len(n)), n / L
    A = RHO * L / (n[:, None] + n + 1) + mass * np.outer(ends, ends) + inertia * np.outer(slopes, slopes)
    A += moment * (np.outer(ends, slopes) + np.outer(slopes, ends))
    c = n * (n - 1)
    K = EI / L**3 * np.outer(c, c) / (n[:, None] + n - 3)
    return np.sqrt(eigh(K, A, eigvals_only=True)[:2])


@pytest.mark.parametrize("load", modes.LOADS)
def test_frequencies_of_a_loaded_link(load):
    ritz = by_powers(load.mass, load.inertia, load.first_moment)
    np.testing.assert_allclose(modes.frequencies(load), ritz, rtol=1e-6)
    np.testing.assert_allclose(modes.by_elements(load), ritz, rtol=1e-5)


def test_eq_39_from_eqs_27_to_30():
    """phi = cos - cosh + s (sin - sinh): s from the shear (eq. 38), then the moment's condition has our roots."""
    mu, iota, sigma = 2.0, 23 / 15, 1.5

    def moment(b):
        c, s, C, S = np.cos(b), np.sin(b), np.cosh(b), np.sinh(b)
        k = (s - S + mu * b * (c - C) - sigma * b**2 * (s + S)) / (c + C - mu * b * (s - S) - sigma * b**2 * (c - C))
        phi, slope, curvature = c - C + k * (s - S), -s - S + k * (c - C), -c - C - k * (s + S)
        return curvature - b**2 * (iota * b * slope + sigma * phi)

    roots = modes.shapes_of(modes.LOADS[0]).roots(2)
    for root in roots:
        assert brentq(moment, root - 0.01, root + 0.02) == pytest.approx(root, rel=1e-12)


def test_loads_are_those_of_eqs_47_and_48():
    x = np.linspace(0, L, 3)
    second, payload = quad(lambda s: RHO * s**2, 0, L)[0], M_P * L**2 + I_P
    first = quad(lambda s: RHO * s, 0, L)[0] + M_P * x[-1]
    assert modes.LOADS[0].mass == pytest.approx(RHO * L + M_P)
    assert modes.LOADS[0].inertia == pytest.approx(second + payload)
    assert modes.LOADS[0].first_moment == pytest.approx(first)
    assert (modes.LOADS[1].mass, modes.LOADS[1].inertia, modes.LOADS[1].first_moment) == (M_P, I_P, 0.0)


def test_j2_loads_link_1_in_the_absolute_convention_only():
    load = modes.LOADS[0]
    np.testing.assert_allclose(
        modes.link_1_in_arm("relative"), by_powers(load.mass, load.inertia, load.first_moment), 1e-5
    )
    with_J = by_powers(load.mass, load.inertia + J, load.first_moment)
    np.testing.assert_allclose(modes.link_1_in_arm("absolute"), with_J, 1e-5)


# -- elastic joints ----------------------------------------------------------------------------------------------------


def test_static_deflection_tends_to_the_rigid_joints_as_1_over_k():
    """A sideways force at the tip, motors locked: compliance = that of the links + sum of (lever^2 / k_s)."""
    force, levers = 1e-4, np.array([2 * L, L])

    def compliance(ks):
        model = fa.Model(compute.arm(ks=ks))
        n = len(model.coordinates)
        locked = [model.coordinates.index(name) for name in model.inputs]
        free = [i for i in range(n) if i not in locked]
        step = 1e-6 * np.eye(n)
        pull = (model.tip(step) - model.tip(-step))[:, 1, 3] / 2e-6 * force
        K = (model.stiffness_force(step) - model.stiffness_force(-step)) / 2e-6
        return pull[free] @ np.linalg.solve(K[np.ix_(free, free)], pull[free]) / force**2

    rigid = compliance(None)
    springs = np.array([1e2, 1e3, 1e4])
    gaps = np.array([compliance(ks) for ks in springs]) - rigid
    np.testing.assert_allclose(gaps, np.sum(levers**2) / springs, rtol=1e-5)
    # the links' own: two cantilevers, the first under force and moment
    bending = 2 * L**3 / (3 * EI) + L**3 / EI + L**3 / EI
    assert rigid == pytest.approx(bending, rel=0.05)  # two modes a link


def test_frequencies_tend_to_the_rigid_joints_as_1_over_k():
    rigid = compute.frequencies_of("relative")[:4]
    gaps = [np.abs(compute.frequencies_of("relative", ks)[:4] - rigid) for ks in (1e3, 1e4, 1e5)]
    for a, b in pairwise(gaps):
        np.testing.assert_allclose(a / b, 10.0, rtol=0.1)


# -- how far small deflections carry -----------------------------------------------------------------------------------


def test_the_two_references_converge_to_each_other():
    """Short beams and rigid rods, which share nothing with beams."""
    beams = compute.chain_response("relative")
    fine, coarse = (compute.apart(compute.run(compute.rods("relative", n)), beams).max() for n in (8, 4))
    assert fine < 0.1
    assert coarse / fine == pytest.approx(4.0, rel=0.15)  # of second order in the length of a rod


def test_tips_of_the_two_conventions():
    ends = [compute.chain_response(rotor) for rotor in compute.ROTORS]
    assert compute.apart(*ends)[-1] == pytest.approx(268, abs=1)


# -- Figs. 4 to 6 ------------------------------------------------------------------------------------------------------


def test_the_arm_of_eq_55_is_free_of_rotors():
    """Its inertia matrix is that of a rod and a payload, without J; with rotors J is added once a joint."""
    bare, mounted = (fa.Model(compute.arm(rotor)).mass_matrix(np.zeros(6)) for rotor in ("none", "relative"))
    np.testing.assert_allclose((mounted - bare)[:2, :2], J * np.eye(2), atol=1e-15)
    second = RHO * L**3 / 3 + I_P + M_P * L**2
    assert bare[1, 1] == pytest.approx(second, rel=1e-12)


def test_what_grows_and_what_does_not():
    """At 1 percent of damping: with eq. 55 as printed everything grows; with rotors in both arms nothing grows much."""
    shown = [
        responses.growth(measure, "absolute", 0.01) for measure in (compute.mode_amplitudes, compute.tip_deflections)
    ]
    np.testing.assert_allclose(np.concatenate(shown), [8, 88, 29, 3, 21, 26], atol=1.0)
    same = [responses.change(compute.tip_deflections, rotor) for rotor in compute.ROTORS]
    assert np.abs(same).max() < 6


def test_every_picture_keeps_the_house_style(reproduced):
    assert {name: faults for name, figure in reproduced[1].items() if (faults := style_faults(figure))} == {}
