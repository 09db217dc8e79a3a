"""Lin & Lewis, reproduced: the claims, and the numbers of the paper to their printed digits."""

from dataclasses import replace

import numpy as np
import pytest

from flexarm import Model, load
from flexarm.papers import lin_lewis as paper
from flexarm.papers import papers
from flexarm.shapes import ClampedFree, ClampedLoaded, loaded_roots

RIGID = np.eye(1, 3)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lin-lewis")
    return folder, papers("lin-lewis")[0].reproduce(folder)


def test_every_claim_is_met_or_explained(run):
    folder, claims = run
    assert [c for c in claims if c.verdict == "not met"] == []
    assert all(c.note for c in claims if c.verdict == "explained")
    names = {file.name for file in folder.iterdir()}
    assert names == {"lin-lewis-zeros.png", "lin-lewis-influence.png"}


def test_what_does_not_hold_is_not_met():
    assert paper.verdict(False, "explained") == paper.verdict(False) == "not met"


def test_units():
    """The file of the beam in SI units; 12 lbf s^2/ft = 1 slug = 14.5939029 kg."""
    body, payload = load("lin-lewis-beam").links[0].body, load("lin-lewis-beam").payload
    np.testing.assert_allclose([body.length, body.m, body.EI], [paper.LENGTH, paper.RHO_A, paper.EI], rtol=1e-14)
    np.testing.assert_allclose(payload.mass, [paper.TIP_MASS, 0.1 * 12 * 14.5939029372], rtol=1e-11)
    barrel = load("lin-lewis-azimuth-elevation").links[1].body
    assert (barrel.length, barrel.m, barrel.EI) == (body.length, body.m, body.EI)


def test_eigenvalues():
    M, K, _ = paper.linear(paper.beam("pinned-pinned", 15))
    ours = np.sort(np.linalg.eigvals(np.linalg.solve(M[1:, 1:], K[1:, 1:])).real)
    np.testing.assert_allclose(ours, (np.arange(1, 16) * np.pi / 47) ** 4 * 4120 / (2.54e-4 * 0.14), rtol=1e-9)
    assert round(ours[0], 2) == 2312.83 and f"{ours[1]:.2e}" == "3.70e+04" and f"{ours[2]:.2e}" == "1.87e+05"


def test_zeros_of_two_modes():
    clamped = paper.zeros(*paper.linear(paper.beam("clamped-free", 2)), RIGID)
    np.testing.assert_allclose(clamped.imag, [1.09144, 76.954], atol=5e-4)
    M, K, B = paper.linear(paper.beam("pinned-pinned", 2))
    np.testing.assert_allclose(paper.zeros(M, K, B, RIGID), [56.42, 163.96], atol=5e-3)
    M[0, 1:] /= 2
    halved = sorted(paper.zeros(M, K, B, RIGID), key=np.imag)
    np.testing.assert_allclose(halved, [58.89 - 76.06j, 58.89 + 76.06j], atol=2.5e-2)


def test_pinned_pinned_zeros_in_closed_form():
    """M_FF = rho A L / 2, M_RF_k = rho A L^2 (-1)^(k+1) / (k pi), B_k = k pi / L, by hand."""
    M, K, B = paper.linear(paper.beam("pinned-pinned", 3))
    k, L, m = np.arange(1, 4), paper.LENGTH, paper.RHO_A
    np.testing.assert_allclose(M[0, 1:], -((-1.0) ** k) * m * L**2 / (k * np.pi), rtol=1e-12)
    np.testing.assert_allclose(M[1:, 1:], m * L / 2 * np.eye(3), atol=1e-13)
    np.testing.assert_allclose(B[:, 0], [1, *(k * np.pi / L)], rtol=1e-12)
    first = np.pi**4 * paper.RATE**2
    z = np.roots([1, -13, 16])
    M, K, B = paper.linear(paper.beam("pinned-pinned", 2))
    np.testing.assert_allclose(np.sort(paper.squares(M, K, B, RIGID).real) / first, np.sort(z), rtol=1e-9)


def test_zeros_belong_to_the_output():
    """Hub: frequencies of the clamped, loaded beam. Tip: of a beam that leaves the tip at rest and without force."""
    model = paper.beam("clamped-mass", 20)
    M, K, B = paper.linear(model)
    hub, tip = paper.zeros(M, K, B, B.T), paper.zeros(M, K, B, paper.tip_row(model))
    mu = paper.TIP_MASS / (paper.RHO_A * paper.LENGTH)
    np.testing.assert_allclose(hub[:3], 1j * loaded_roots(3, mu) ** 2 * paper.RATE, rtol=1e-8)
    # u = sin + sinh of b (L - x) has u = u'' = u''' = 0 at the tip; u(0) = 0 asks for sin b + sinh b = 0
    b = np.sqrt(tip[:2] / paper.RATE) * np.exp(1j * np.pi / 4)
    np.testing.assert_allclose(np.sin(b) / np.sinh(b), -1.0, atol=1e-3)
    light = paper.beam("clamped-mass", 20, 1.0)
    np.testing.assert_allclose(paper.zeros(*paper.linear(light), paper.tip_row(light))[0], tip[0], rtol=1e-5)


def test_the_tip_row_is_the_slope_of_the_pose():
    model = paper.beam("clamped-mass", 3)
    step = 1e-6
    rows = [(model.tip(step * e)[1, 3] - model.tip(-step * e)[1, 3]) / (2 * step) for e in np.eye(4)]
    np.testing.assert_allclose(paper.tip_row(model)[0], rows, atol=1e-9)


def test_the_textbook_form():
    sigma = 0.7340955137589128
    x = np.linspace(0, 1, 9)
    for n in range(4):
        ours = 2 * ClampedFree().basis(1).values(x, n)[:, 0]
        np.testing.assert_allclose(paper.textbook(x, n, 1.8751040687119611, sigma), ours, atol=1e-12)


def test_constants_of_the_appendix():
    mode = ClampedLoaded(mass_ratio=4.12475).basis(1)
    found = paper.constants(lambda x: 0.5497897 * mode.values(x)[:, 0])
    np.testing.assert_allclose(found[[1, 3, 2]], [0.206651, 0.0714723, 0.151466], atol=5e-7)
    assert ClampedLoaded(mass_ratio=4.12475).roots(1)[0] == pytest.approx(0.910726, abs=5e-7)
    written = paper.constants(lambda x: paper.textbook(x, 0, 0.912224, 1.1213))
    wanted = [0.5497897482078318, 0.2748948741039159 * 0.7517462583877994,
              0.5497897482078318 * 0.2754985845918819, 0.07147226535009999]  # fmt: skip
    np.testing.assert_allclose(written, wanted, rtol=1e-13)


def test_the_catalogue_has_that_mode():
    """Its shape integrals, seen in the inertia matrix; the amplitude is the deflection of the tip."""
    arm = load("lin-lewis-rfr")
    body = arm.links[1].body
    M = Model(arm).mass_matrix(np.zeros(4))
    (_, L2, L3), m3, mp = (link.body.length for link in arm.links), 1.0, 0.6499
    phi, ratio = 0.5497897, L3 / L2
    beam = body.total_mass * 0.0714723 / phi**2
    hand = m3 * L3**2 / 12 / L2**2 + m3 * (1 + ratio / 2) ** 2 + mp * (1 + ratio) ** 2
    assert M[3, 3] == pytest.approx(beam + hand, abs=5e-7)


def states():
    return [paper.random_state(np.random.default_rng(seed)) for seed in (1, 2, 3)]


def mass_matrix(a):
    return np.array(Model(paper.appendix_arm(a)).function("mass_matrix")([0.3, a.th2, a.th3, a.v]))


def test_the_appendix_entry_by_entry():
    for a in states():
        M = mass_matrix(a)
        np.testing.assert_allclose(paper.corrected_matrix(a), M, rtol=2e-6)
        np.testing.assert_allclose(paper.corrected_matrix(a)[1:, 1:], M[1:, 1:], rtol=1e-12)


@pytest.mark.parametrize("misprint", paper.MISPRINTS, ids=lambda m: f"{m.row}{m.column} {m.right}")
def test_each_misprint_shows(misprint, monkeypatch):
    others = tuple(m for m in paper.MISPRINTS if m is not misprint)
    monkeypatch.setattr(paper, "MISPRINTS", others)
    a = states()[0]
    wrong = np.argwhere(np.abs(paper.corrected_matrix(a) / mass_matrix(a) - 1) > 1e-4) + 1
    assert {tuple(w) for w in wrong} == {(misprint.row, misprint.column), (misprint.column, misprint.row)}


def test_the_print_leaves_out_inertia_where_link_3_turns_with_the_others():
    a = states()[1]
    without = replace(a, Ix=(0.0, a.Ix[1], 0.0, 0.0))
    np.testing.assert_array_equal(paper.turning(without), 0.0)
    assert set(zip(*np.nonzero(paper.turning(a) == 0), strict=True)) == {(0, 0), (0, 2), (2, 0), (2, 2)}
    missing = mass_matrix(a) - mass_matrix(replace(a, Ix=(*a.Ix[:3], a.Ix[3] / 2)))
    printed = paper.printed_matrix(a) - paper.printed_matrix(replace(a, Ix=(*a.Ix[:3], a.Ix[3] / 2)))
    np.testing.assert_allclose(missing - printed, paper.turning(a) / 2, atol=1e-13)


@pytest.mark.parametrize("name", ["lin-lewis-beam", "lin-lewis-azimuth-elevation", "lin-lewis-rfr"])
def test_theorem_1(name):
    """Against differences in time: M along the motion."""
    model = Model(load(name))
    n = len(model.coordinates)
    q, qd, qdd = np.random.default_rng(3).uniform(-0.5, 0.5, (3, n))
    s = paper.structure(model, q, qd, qdd)
    step = 1e-5
    rate = (model.mass_matrix(q + step * qd) - model.mass_matrix(q - step * qd)) / (2 * step)
    size = np.abs(s.M_rate).max()
    np.testing.assert_allclose(s.M_rate, rate, atol=1e-8 * size)
    W = s.M_rate - 2 * s.D
    np.testing.assert_allclose(W, -W.T, atol=1e-12 * size)
    np.testing.assert_allclose(s.D @ qd, model.bias(q, qd), atol=1e-12 * size)
    np.testing.assert_allclose(s.D_22 @ qd, model.bias(q, qd), atol=1e-12 * size)


def test_the_page_has_every_claim(run):
    from pathlib import Path

    page = Path(__file__).parents[1] / "docs" / "papers" / "lin-lewis.md"
    if not page.exists():
        pytest.skip("installed without its docs")
    text = page.read_text(encoding="utf-8")
    assert [c for c in run[1] if f"| {c.where} | {c.quantity} | {c.printed} |" not in text] == []
    figures = page.with_suffix("")
    assert all(f"lin-lewis/{name.name}" in text for name in figures.iterdir())
