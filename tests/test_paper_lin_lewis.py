"""Lin & Lewis, reproduced: the numbers of the paper to their printed digits, the verdicts, the pictures, the page."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from figures import style_faults

from flexarm import Model, load
from flexarm.mechanics import dynamics, quantities
from flexarm.mechanics.spatial import scaled
from flexarm.shapes import ClampedFree, ClampedLoaded, loaded_roots
from flexarm_papers import papers
from flexarm_papers.lin_lewis import appendix, claims, claims_beam, compute, figures, loaded, zeros
from flexarm_papers.lin_lewis.printed import numbers, powers, printed, unit
from flexarm_papers.tables import markdown

RIGID = np.eye(1, 3)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lin-lewis")
    return folder, papers("lin-lewis")[0].reproduce(folder)


# -- numbers -----------------------------------------------------------------------------------------------------------


def test_a_printed_number_is_met_to_one_unit_of_its_last_digit():
    assert [unit(text) for text in ("2320.64", "3.70e4", "76.98")] == pytest.approx([0.01, 100.0, 0.01])
    assert printed(1.5174e7, "1.51e7").met
    assert not printed(1.5274e7, "1.51e7").met
    assert not printed(76.954, "76.98").met


def test_numbers_are_written_as_the_paper_does():
    assert [powers(x) for x in (187339.1, 15174471.0)] == ["1.873e5", "1.517e7"]
    assert numbers(np.array([1.0914j, 58.9 + 76.04j, 58.9 - 76.04j, 163.96])) == "j1.091, 58.9 +- j76.04, 164"


def test_units():
    """The file of the beam in SI units; 12 lbf s^2/ft = 1 slug = 14.5939029 kg."""
    body, payload = load("lin-lewis-beam").links[0].body, load("lin-lewis-beam").payload
    np.testing.assert_allclose([body.length, body.m, body.EI], [compute.LENGTH, compute.RHO_A, compute.EI], rtol=1e-14)
    np.testing.assert_allclose(payload.mass, [compute.TIP_MASS, 0.1 * 12 * 14.5939029372], rtol=1e-11)
    barrel = load("lin-lewis-azimuth-elevation").links[1].body
    assert (barrel.length, barrel.m, barrel.EI) == (body.length, body.m, body.EI)


def test_eigenvalues():
    ours = compute.eigenvalues()
    np.testing.assert_allclose(ours, (np.arange(1, 16) * np.pi / 47) ** 4 * 4120 / (2.54e-4 * 0.14), rtol=1e-9)
    assert round(ours[0], 2) == 2312.83 and f"{ours[1]:.2e}" == "3.70e+04" and f"{ours[2]:.2e}" == "1.87e+05"


def test_zeros_of_two_modes():
    np.testing.assert_allclose(compute.rigid_zeros("clamped-free").imag, [1.09144, 76.954], atol=5e-4)
    rounded = compute.zeros_with_rounded_roots(claims_beam.ROUNDED)
    np.testing.assert_allclose(rounded.imag, [1.0914, 76.983], atol=6e-5 + 5e-4)
    np.testing.assert_allclose(compute.rigid_zeros("pinned-pinned"), [56.42, 163.96], atol=5e-3)
    halved = sorted(compute.zeros_with_M_RF_halved(), key=np.imag)
    np.testing.assert_allclose(halved, [58.89 - 76.06j, 58.89 + 76.06j], atol=2.5e-2)


def test_rounded_wave_numbers_in_closed_form():
    """U_FF = rho A L / 4 diag(beta^4) EI / (rho A L^4) for shapes that are 1 at the tip; M_FF has the tip mass."""
    quarter = compute.RHO_A * compute.LENGTH / 4
    M = quarter * np.eye(2) + compute.TIP_MASS * np.ones((2, 2))
    K = quarter * np.diag(np.array([1.875104, 4.695]) ** 4) * compute.RATE**2
    omega2 = np.sort(np.linalg.eigvals(np.linalg.solve(M, K)))
    found = compute.zeros_with_rounded_roots((1.875104, 4.695))
    # the shapes' signs at the tip differ in the textbook's form, not here: both end at 1
    np.testing.assert_allclose(found.imag, np.sqrt(omega2), rtol=1e-9)


def test_pinned_pinned_zeros_in_closed_form():
    """M_FF = rho A L / 2, M_RF_k = rho A L^2 (-1)^(k+1) / (k pi), B_k = k pi / L, by hand."""
    M, K, B, _ = compute.at_rest("pinned-pinned", 3)
    k, L, m = np.arange(1, 4), compute.LENGTH, compute.RHO_A
    np.testing.assert_allclose(M[0, 1:], -((-1.0) ** k) * m * L**2 / (k * np.pi), rtol=1e-12)
    np.testing.assert_allclose(M[1:, 1:], m * L / 2 * np.eye(3), atol=1e-13)
    np.testing.assert_allclose(B[:, 0], [1, *(k * np.pi / L)], rtol=1e-12)
    first = np.pi**4 * compute.RATE**2
    M, K, B, _ = compute.at_rest("pinned-pinned", 2)
    np.testing.assert_allclose(
        np.sort(compute.squares(M, K, B, RIGID).real) / first, np.sort(np.roots([1, -13, 16])), rtol=1e-9
    )
    halved = sorted(np.emath.sqrt(np.roots([1, 2, 16]) * first), key=np.imag)
    np.testing.assert_allclose(sorted(compute.zeros_with_M_RF_halved(), key=np.imag), halved, rtol=1e-9)


def test_zeros_belong_to_the_output():
    """Hub: frequencies of the clamped, loaded beam. Tip: of a beam that leaves the tip at rest and without force."""
    M, K, B, C = compute.at_rest("clamped-mass", 20)
    hub, tip = compute.zeros(M, K, B, B.T), compute.zeros(M, K, B, C)
    mu = compute.TIP_MASS / (compute.RHO_A * compute.LENGTH)
    np.testing.assert_allclose(hub[:3], 1j * loaded_roots(3, mu) ** 2 * compute.RATE, rtol=1e-8)
    # u = sin + sinh of b (L - x) has u = u'' = u''' = 0 at the tip; u(0) = 0 asks for sin b + sinh b = 0
    b = np.sqrt(tip[:2] / compute.RATE) * np.exp(1j * np.pi / 4)
    np.testing.assert_allclose(np.sin(b) / np.sinh(b), -1.0, atol=1e-3)
    light = compute.beam("clamped-mass", 10, 1.0)
    np.testing.assert_allclose(compute.zeros(*compute.linear(light), compute.tip_row(light))[0], tip[0], rtol=1e-5)


def test_the_tip_row_is_the_slope_of_the_pose():
    model = compute.beam("clamped-mass", 3)
    step = 1e-6
    tips = [[compute.value(model, "tip", s * step * e)[1, 3] for s in (1, -1)] for e in np.eye(4)]
    np.testing.assert_allclose(compute.tip_row(model)[0], [(a - b) / (2 * step) for a, b in tips], atol=1e-9)


def test_the_textbook_form():
    sigma = 0.7340955137589128
    x = np.linspace(0, 1, 9)
    for n in range(4):
        ours = 2 * ClampedFree().basis(1).values(x, n)[:, 0]
        np.testing.assert_allclose(compute.textbook(x, n, 1.8751040687119611, sigma), ours, atol=1e-12)


@pytest.mark.parametrize("name", ["lin-lewis-beam", "lin-lewis-azimuth-elevation", "lin-lewis-rfr"])
def test_theorem_1(name):
    """Against differences in time: M along the motion; and the bias, which no D is asked for."""
    model = Model(load(name))
    n = len(model.coordinates)
    q, qd, qdd = np.random.default_rng(3).uniform(-0.5, 0.5, (3, n))
    s = compute.structure(model, q, qd, qdd)
    step = 1e-5
    ahead, behind = (compute.value(model, "mass_matrix", q + h * qd) for h in (step, -step))
    size = np.abs(s.M_rate).max()
    np.testing.assert_allclose(s.M_rate, (ahead - behind) / (2 * step), atol=1e-8 * size)
    W = s.M_rate - 2 * s.D
    np.testing.assert_allclose(W, -W.T, atol=1e-12 * size)
    bias = compute.value(model, "bias", q, qd)[:, 0]
    np.testing.assert_allclose(s.D @ qd, bias, atol=1e-12 * size)
    np.testing.assert_allclose(s.D_22 @ qd, bias, atol=1e-12 * size)


def test_the_constants_of_the_appendix():
    mode = ClampedLoaded(mass_ratio=4.12475).basis(1)
    found = loaded.constants(lambda x: 0.5497897 * mode.values(x)[:, 0])
    np.testing.assert_allclose(found[[1, 3, 2]], [0.206651, 0.0714723, 0.151466], atol=5e-7)
    assert ClampedLoaded(mass_ratio=4.12475).roots(1)[0] == pytest.approx(loaded.WAVE_NUMBER, abs=5e-7)
    wanted = [0.5497897482078318, 0.2748948741039159 * 0.7517462583877994,
              0.5497897482078318 * 0.2754985845918819, 0.07147226535009999]  # fmt: skip
    np.testing.assert_allclose(loaded.of_the_rounded_mode(), wanted, rtol=1e-13)


def test_the_catalogue_has_that_mode():
    """Its shape integrals, seen in the inertia matrix; the amplitude is the deflection of the tip."""
    arm = load("lin-lewis-rfr")
    body = arm.links[1].body
    M = compute.value(Model(arm), "mass_matrix", np.zeros(4))
    (_, L2, L3), m3, mp = (link.body.length for link in arm.links), 1.0, 0.6499
    phi, ratio = 0.5497897, L3 / L2
    beam = body.total_mass * 0.0714723 / phi**2
    hand = m3 * L3**2 / 12 / L2**2 + m3 * (1 + ratio / 2) ** 2 + mp * (1 + ratio) ** 2
    assert M[3, 3] == pytest.approx(beam + hand, abs=5e-7)


def test_the_exact_frequency_is_the_limit_of_finite_elements():
    arm = load("lin-lewis-rfr")
    first, middle, last = arm.links
    fine = middle.replace(body=middle.body.replace(shapes="hermite", modes={"y": 12}))
    M, K, _ = compute.linear(Model(arm.replace(links=[first, fine, last])))
    omega = np.sqrt(np.linalg.eigvals(np.linalg.solve(M[3:, 3:], K[3:, 3:])).real.min())
    assert omega == pytest.approx(loaded.exact_frequency(), rel=1e-6)
    assert omega > loaded.exact_frequency()


# -- the appendix ------------------------------------------------------------------------------------------------------


def test_the_appendix_entry_by_entry():
    for a, M in map(appendix.ours, appendix.SEEDS):
        np.testing.assert_allclose(appendix.corrected_matrix(a), M, rtol=2e-6)
        np.testing.assert_allclose(appendix.corrected_matrix(a)[1:, 1:], M[1:, 1:], rtol=1e-12)


@pytest.mark.parametrize("misprint", appendix.MISPRINTS, ids=lambda m: f"{m.row}{m.column} {m.term}")
def test_each_misprint_shows(misprint):
    a, M = appendix.ours(44)
    wrong = np.argwhere(np.abs(appendix.without(misprint)(a) / M - 1) > 1e-4) + 1
    assert {tuple(w) for w in wrong} == {(misprint.row, misprint.column), (misprint.column, misprint.row)}


def test_the_print_leaves_out_inertia_where_link_3_turns_with_the_others():
    a, M = appendix.ours(45)
    without = replace(a, Ix=(0.0, a.Ix[1], 0.0, 0.0))
    np.testing.assert_array_equal(appendix.turning(without), 0.0)
    assert set(zip(*np.nonzero(appendix.turning(a) == 0), strict=True)) == {(0, 0), (0, 2), (2, 0), (2, 2)}
    lighter = replace(a, Ix=(*a.Ix[:3], a.Ix[3] / 2))
    half = compute.value(Model(appendix.appendix_arm(lighter)), "mass_matrix", [0.3, a.th2, a.th3, a.v])
    printed = appendix.printed_matrix(a) - appendix.printed_matrix(lighter)
    np.testing.assert_allclose(M - half - printed, appendix.turning(a) / 2, atol=1e-13)


# -- verdicts, page and pictures ---------------------------------------------------------------------------------------


def test_the_page_says_what_comes_out(run):
    """Every row and every correction, in order; where one has changed, `markdown` as below gives the new ones."""
    page = Path(__file__).parents[1] / "docs" / "understand" / "papers" / "lin-lewis.md"
    if not page.exists():
        pytest.skip("installed without its docs")
    folder, parts = run
    text = page.read_text(encoding="utf-8")
    on_the_page, computed = (
        [line for line in each.splitlines() if line.startswith(("| ", "- **"))]
        for each in (text, markdown(parts, "lin-lewis/"))
    )
    assert _where_and_verdict(on_the_page) == _where_and_verdict(computed)
    assert on_the_page == computed
    drawn = {part.figure for part in parts if part.figure}
    assert drawn == {file.name for file in folder.iterdir()} == {file.name for file in page.with_suffix("").iterdir()}


def _where_and_verdict(lines):
    cells = [line.split(" | ") for line in lines if line.startswith("| ")]
    return [(row[0], row[-2]) for row in cells]


def test_no_two_rows_have_one_name(run):
    names = [claim.where for part in run[1] for claim in part.claims]
    assert len(set(names)) == len(names)


def test_the_picture_of_the_beam(run):
    """Printed and ours in every panel, everything inside the axes."""
    values, free, pinned = figures.beam().axes
    lines = {axes: {line.get_label(): line for line in axes.get_lines()} for axes in (values, free, pinned)}
    np.testing.assert_array_equal(lines[values]["ours"].get_ydata(), compute.eigenvalues())
    ratio = lines[values]["printed, in order"].get_ydata() / compute.eigenvalues()
    assert np.flatnonzero(np.abs(ratio - 1) > 0.01).tolist() == [1] and ratio[1] == pytest.approx(10, rel=1e-3)
    both = {tuple(np.round(x, 2)) for x in np.transpose(lines[pinned]["ours"].get_data())}
    assert both == {(s * x, 0.0) for s in (1, -1) for x in (56.42, 163.96)}
    corners = {(s * 58.89, t * 76.06) for s in (1, -1) for t in (1, -1)}
    assert {tuple(x) for x in np.transpose(lines[pinned]["printed"].get_data())} == corners
    nearest = [min(np.hypot(x - a, y - b) for a, b in corners) for x, y in lines[pinned]["M_RF halved"].get_xydata()]
    assert len(nearest) == 4 and max(nearest) < 0.03
    assert sorted(lines[free]["printed"].get_ydata()) == [-76.98, -1.0914, 1.0914, 76.98]
    for axes in (free, pinned):
        (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
        for label in ("printed", "ours"):
            x, y = lines[axes][label].get_data()
            assert left < x.min() and x.max() < right and low < y.min() and y.max() < high
        assert "rad/s" in axes.get_xlabel() and "rad/s" in axes.get_ylabel()


def test_the_picture_of_the_families(run):
    panels = figures.families().axes
    hub, tip, hub_error, tip_error = panels
    assert [text.get_text() for text in hub.get_legend().get_texts()] == list(zeros.FAMILIES)
    for axes, limits in zip((hub, tip), zeros.exact(), strict=True):
        dotted = [line.get_ydata()[0] for line in axes.get_lines() if line.get_marker() == "None"]
        np.testing.assert_array_equal(dotted, limits)
        curves = [line for line in axes.get_lines() if line.get_marker() != "None"]
        assert len(curves) == 8
        for line, limit in zip(curves, [*limits] * 4, strict=True):
            assert line.get_ydata()[-1] == pytest.approx(limit, rel=0.03)
            assert line.get_xdata()[0] == 2 and line.get_xdata()[-1] == 20
    for axes in (hub_error, tip_error):
        assert axes.get_xscale() == axes.get_yscale() == "log"
        assert all(line.get_ydata()[-1] <= line.get_ydata()[0] for line in axes.get_lines())


def test_the_picture_of_the_influence(run):
    (axes,) = figures.influence().axes
    fast, slow, inertia = axes.get_lines()
    assert [line.get_label()[-9:] for line in (fast, slow)] == ["t 1 rad/s", " 0.1 rad/s"[-9:]]
    assert inertia.get_label() == "inertia matrix"
    assert (slow.get_ydata() > fast.get_ydata()).all() and (fast.get_ydata() > inertia.get_ydata()).all()
    np.testing.assert_allclose(inertia.get_xdata()[[0, -1]], [0.01, 10.0])
    slope = np.diff(np.log(inertia.get_ydata())) / np.diff(np.log(inertia.get_xdata()))
    np.testing.assert_allclose(slope, 1.0, atol=0.01)


# -- wrong physics; last, since nothing that was kept may be used again ------------------------------------------------


@pytest.fixture
def fresh():
    """Nothing kept from the sound package in a broken one, nor the other way round; no row asks compiled code."""

    def forget():
        for module in (appendix, compute, zeros):
            for each in vars(module).values():
                if hasattr(each, "cache_clear"):
                    each.cache_clear()

    forget()
    yield
    forget()


def stiffer(monkeypatch):
    sound = quantities.stiffness_force
    monkeypatch.setattr(quantities, "stiffness_force", lambda chain, q: scaled(1.02, sound(chain, q)))


def gyroscopic(monkeypatch):
    sound = dynamics.cross
    monkeypatch.setattr(dynamics, "cross", lambda a, b: scaled(1.1, sound(a, b)))


def velocity(monkeypatch):
    sound = dynamics.moving
    monkeypatch.setattr(dynamics, "moving", lambda *a: replace(here := sound(*a), h=scaled(1.1, here.h)))


def heavier(monkeypatch):
    sound = quantities.mass_matrix
    monkeypatch.setattr(quantities, "mass_matrix", lambda chain, q: [scaled(1.02, row) for row in sound(chain, q)])


def hub_alone(monkeypatch):
    sound = quantities.input_matrix
    hub = [[1.0], *(15 * [[0.0]])]
    monkeypatch.setattr(quantities, "input_matrix", lambda chain, q: hub[: len(sound(chain, q))])


EQ_26 = {"Theorem 1, eq. 26", "Theorem 1, eqs. 22, 24"}
PINNED = "4.2, pinned-pinned, stability"
LIST = {"4.2, eigenvalues 3 to 15", "4.2, eigenvalue 2"}
CLAMPED = {f"4.2, {name}" for name in ("clamped-free, first zero", "clamped-free, second zero", "tip mass")}


@pytest.mark.parametrize(
    ("wrong", "asked", "changed"),
    [
        (stiffer, (claims_beam.eigenvalues, claims_beam.clamped_free), LIST | CLAMPED),
        (gyroscopic, (claims.theorem_1, claims.example_41), {*EQ_26, "Example 4.1"}),
        (velocity, (claims.example_41,), {"Example 4.1"}),
        (heavier, (claims.theorem_1, claims_beam.eigenvalues), {"Theorem 1, eq. 25", *EQ_26, *LIST}),
        (hub_alone, (claims.input_matrix, claims_beam.pinned_pinned), {"Section 2.4, B", PINNED}),
    ],
    ids=["stiffness 2 percent", "gyroscopic 10 percent", "velocity 10 percent", "inertia 2 percent", "no slope in B"],
)
def test_wrong_physics_changes_verdicts(run, monkeypatch, fresh, wrong, asked, changed):
    before = {claim.where: claim.verdict for part in run[1] for claim in part.claims}
    wrong(monkeypatch)
    after = {claim.where: claim.verdict for each in asked for claim in each().claims}
    assert {name for name, verdict in after.items() if verdict != before[name]} == changed
    assert {after[name] for name in changed} == {"not reproduced"}


@pytest.mark.parametrize("figure", [figures.beam, figures.families, figures.influence])
def test_every_picture_keeps_the_house_style(figure):
    assert style_faults(figure()) == []
