"""Theodore & Ghosal reproduced: the page, the figures, what each row notices, and the parts checked on their own."""

import re
import warnings
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from figures import style_faults
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import flexarm as fa
from flexarm.mechanics import chain, drive, dynamics, telescope
from flexarm.mechanics.spatial import added, cross, product, scaled
from flexarm_papers import panels, tables
from flexarm_papers import theodore_ghosal as paper
from flexarm_papers.theodore_ghosal import claims_model, claims_stability, compute, waves

PAGE = Path(__file__).parents[1] / "docs" / "understand" / "papers" / "theodore-ghosal.md"
M_L, M, EI = 0.0828, 0.4303 / 1.3, 1165.4916
BETA = {0.3: (1.29367839, 4.04874205), 1.0: (1.57363066, 4.22500170)}
"""Roots of eq. 8 for Table I, found outside of this package."""


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """One reproduction: its folder, parts and runs, and the figures. Their files are empty."""
    folder, runs, drawn = tmp_path_factory.mktemp("papers"), paper.Runs(), {}

    def kept(figure, path):
        drawn[Path(path).stem.removeprefix("theodore-ghosal-")] = figure
        Path(path).touch()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(panels, "save_figure", kept)
        parts = paper.reproduce(folder, runs)
    return SimpleNamespace(folder=folder, runs=runs, parts=parts, drawn=drawn)


@pytest.fixture(scope="module")
def fixed(found):
    return found.runs.model("fixed")


def verdicts(*parts):
    return {claim.where: claim.verdict for claim in tables.claims(parts)}


# -- the page ----------------------------------------------------------------------------------------------------------


def rows(text, heading):
    """The cells of the table below a heading, without its head."""
    table = [line for line in text.split(f"## {heading}\n")[1].split("\n## ")[0].splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table[2:]]


def test_the_page_says_what_is_computed(found):
    """Row by row, but for our numbers, whose last digits may differ between machines."""
    page, computed = PAGE.read_text(encoding="utf-8"), tables.markdown(found.parts, "theodore-ghosal/")
    assert rows(page, "At a glance") == rows(computed, "At a glance")
    long, ours = (
        [(where, says, printed, verdict) for where, says, printed, _, verdict, _ in rows(text, "Claim by claim")]
        for text in (page, computed)
    )
    assert long == ours
    assert len(long) == len({where for where, *_ in long}) >= 40
    assert "explained" not in page


def test_every_correction_and_every_failure_is_told_on_the_page(found):
    told = PAGE.read_text(encoding="utf-8").split("## Corrections")[1].split("## What is not printed")[0]
    for claim in tables.claims(found.parts):
        if claim.correction or claim.verdict == "not reproduced":
            number = re.match(r"(?:Eqs?\.|Fig\.|Section) (\w+)", claim.where).group(1)
            assert re.search(rf"\b{number}\b", told), claim.where


def test_pictures_on_the_page_are_those_that_are_drawn(found):
    named = {part.figure for part in found.parts if part.figure}
    files = {file.name for file in found.folder.iterdir()}
    assert files == {f"theodore-ghosal-{name}.svg" for name in found.drawn}
    assert files >= named
    assert {file.name for file in (PAGE.parent / "theodore-ghosal").iterdir()} == files
    for name in files:
        assert f"theodore-ghosal/{name}" in PAGE.read_text(encoding="utf-8")


# -- what a row notices ------------------------------------------------------------------------------------------------


def changed(patch, change):
    """Telescopes with another body than the package's."""
    made = drive.telescope

    def other(description, joint, loads, *name):
        return change(made(description, joint, loads, *name), description)

    patch.setattr(drive, "telescope", other)


def hub_turning(patch):
    """Moment of inertia of the part in the hub 9 percent too large (eq. 28)."""

    def heavier(body, beam):
        def inertia(eta):
            M = [list(row) for row in body.inertia(eta)]
            for r in (4, 5):
                M[r][r] = M[r][r] + 0.09 * beam.m * (beam.length - eta[0]) ** 3 / 3
            return M

        return replace(body, inertia=inertia)

    changed(patch, heavier)


def hub_mass(patch):
    """Mass of the part in the hub, and its first moment, 9 percent too small."""
    made = telescope.frame_inertia
    patch.setattr(telescope, "frame_inertia", lambda m, S, J, k: made(0.91 * m, scaled(0.91, S), J, k))


def stiffness(patch):
    """EI 2 percent too large."""
    made = telescope.named_stiffness
    patch.setattr(telescope, "named_stiffness", lambda *given: 1.02 * made(*given))


def gyroscopic_terms(patch):
    """w x p 10 percent too large."""
    made = dynamics.moving

    def other(body, places, own, own_rate, twist, gravity):
        here, w = made(body, places, own, own_rate, twist, gravity), twist[3:]
        p = product(here.M, [0.0, 0.0, 0.0, *w, *own_rate])
        more = scaled(0.1, [*cross(w, p[:3]), *cross(w, p[3:6])])
        return replace(here, h=added(here.h, more + [0.0] * (len(here.h) - 6)))

    patch.setattr(dynamics, "moving", other)


def centrifugal_terms(patch):
    """Velocity terms of the amplitudes 10 percent too large: the Coriolis force on the sliding beam among them."""
    made = dynamics.moving

    def other(body, places, own, own_rate, twist, gravity):
        here = made(body, places, own, own_rate, twist, gravity)
        return replace(here, h=here.h[:8] + scaled(1.1, here.h[8:]))

    patch.setattr(dynamics, "moving", other)


def payload(patch):
    """The payload's mass 1 percent too large."""
    made = chain.payload
    patch.setattr(chain, "payload", lambda held, *name: made(held and held.replace(mass=1.01 * M_L), *name))


def convection(patch):
    """The corrected convection forgotten: eq. 24 as printed in every model."""
    made = drive.telescope

    def other(description, joint, loads, *name):
        return made(description, joint.replace(convection="paper"), loads, *name)

    patch.setattr(drive, "telescope", other)


@pytest.mark.parametrize(
    ("fault", "rows_"),
    [
        (hub_turning, {"Eq. 28", "Eqs. 25, 26"}),
        (hub_mass, {"Eq. 28", "Eqs. 25, 26"}),
        (stiffness, {"Eq. 31", "Eqs. 25, 26"}),
        (gyroscopic_terms, {"Eqs. 25, 26"}),
        (centrifugal_terms, {"Eqs. 25, 26"}),
        (payload, {"Eqs. 27, 29, 30", "Eqs. 25, 26"}),
        (convection, {"Eqs. 27, 29, 30", "Eqs. 25, 26"}),
    ],
)
def test_wrong_physics_changes_verdicts(found, monkeypatch, tmp_path, fault, rows_):
    """Energies written out by hand notice the fault in the model.

    No machine code is made or read, so none of another model can stand in.
    """
    before = verdicts(*found.parts)
    monkeypatch.setenv("FLEXARM_CACHE", str(tmp_path))
    fault(monkeypatch)
    after = verdicts(claims_model.lagrange(paper.Runs()))
    assert not any(tmp_path.iterdir())
    assert {where for where in after if after[where] != before[where]} >= rows_
    assert {after[where] for where in rows_} == {"not reproduced"}
    assert {before[where] for where in rows_} == {"reproduced"}


def test_a_wrong_stiffness_changes_the_other_verdicts_too(found, monkeypatch):
    """Frequencies against eq. 8 and Table I; dK/dl against eq. 43."""
    stiffness(monkeypatch)
    runs = paper.Runs()
    omega = runs.model("fixed").frequencies(1.0)
    assert omega == pytest.approx(1.01 * found.runs.model("fixed").frequencies(1.0), rel=1e-3)
    slope, a, _ = claims_stability.stiffness_rate(runs)
    assert slope / (3 * a) == pytest.approx([1.02, 1.02], rel=1e-6)
    before, _, _ = claims_stability.stiffness_rate(found.runs)
    assert before / (3 * a) == pytest.approx([1.0, 1.0], rel=1e-6)


@pytest.mark.parametrize(
    ("name", "other", "part", "where"),
    [
        ("f1", lambda f: lambda *x: 1.001 * f(*x), claims_model.frequency_in_time, {"Eq. 12", "Eq. 11"}),
        ("f2", lambda f: lambda *x: 1.001 * f(*x), claims_model.frequency_in_time, {"Eq. 13", "Eq. 11"}),
        (
            "eq_8",
            lambda f: lambda beta, M, J=0.0: f(beta, 1.001 * M, J),
            claims_model.boundary_conditions,
            {"Eqs. 2, 6, 7, 8", "Eqs. 8, 9"},
        ),
    ],
)
def test_wrong_wave_numbers_change_verdicts(found, monkeypatch, name, other, part, where):
    before = verdicts(*found.parts)
    monkeypatch.setattr(waves, name, other(getattr(waves, name)))
    after = verdicts(part(paper.Runs()))
    assert {row for row in after if (before[row], after[row]) == ("reproduced", "not reproduced")} == where


# -- the figures -------------------------------------------------------------------------------------------------------


def lines(axes):
    return [line.get_xydata().T for line in axes.lines]


def legend(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def test_every_panel_is_labelled_and_shows_all_of_its_curves(found):
    for name, figure in found.drawn.items():
        for axes in figure.axes:
            assert axes.get_title()
            assert axes.get_ylabel()
            assert axes.lines
            low, high = axes.get_ylim()
            for _, y in lines(axes):
                assert np.isfinite(y).all()
                assert low <= y.min() <= y.max() <= high
        bottom = [axes for axes in figure.axes if axes.get_xlabel()]
        assert {axes.get_xlabel() for axes in bottom} == {"U / U_g" if name == "convection" else "time [s]"}


def test_fig_4_shows_the_motion_of_section_v(found):
    q1, q1d, q2, q2d, l, ld = found.drawn["fig4"].axes
    assert [axes.get_ylabel() for axes in (q1, q1d, q2, q2d, l, ld)] == ["rad", "rad/s", "rad", "rad/s", "m", "m/s"]
    ((t, y),) = lines(q1)
    assert (t[0], t[-1], y[0]) == (0.0, 1.2, 0.0)
    assert y[t >= 1.0] == pytest.approx(np.pi, abs=1e-6)
    ((t, y),) = lines(q2)
    assert y[t >= 1.0] == pytest.approx(-np.pi / 2, abs=1e-6)
    (_, out), (_, back) = lines(l)
    assert legend(l) == ["extension", "retraction"]
    assert (out[0], back[0]) == pytest.approx((0.3, 1.0))
    assert out + back == pytest.approx(1.3, abs=1e-6)
    (t, rate), _ = lines(ld)
    assert rate[(t > 0.1) & (t < 0.9)] == pytest.approx(0.778, abs=5e-4)


def test_fig_5_shows_both_modes_in_both_planes(found):
    axes = found.drawn["fig5"].axes
    assert [a.get_title() for a in axes] == [f"{d}, mode {j}" for d in paper.DIRECTIONS for j in (1, 2)]
    assert legend(axes[0]) == ["in plane", "out of plane"]
    for a, d in zip(axes[::2], paper.DIRECTIONS, strict=True):
        tip = 1e3 * found.runs.tip("2 modes", d)
        for (t, y), column in zip(lines(a), (1, 0), strict=True):
            assert t[-1] == pytest.approx(1.2)
            assert y[0] == 0.0
            assert np.abs(y[:1001] - tip[:, column]).max() < 0.02 * np.abs(tip).max()  # mode 1 makes nearly all of it


@pytest.mark.parametrize(("name", "sign", "ends"), [("fig6", -1, (1103, 147)), ("fig7", 1, (147, 1103))])
def test_figs_6_and_7_show_real_parts_and_frequencies(found, name, sign, ends):
    axes = found.drawn[name].axes
    assert [a.get_ylabel() for a in axes] == ["real part [1/s]", "frequency [rad/s]"] * 2
    for a in axes[::2]:
        (t, one), (_, two) = lines(a)
        assert 0 < t[0] < t[-1] < 1
        assert (sign * (one + two) > 0).all()
    for a in axes[1::2]:
        (_, lower), (_, higher) = lines(a)
        assert (lower <= higher).all()
        assert (sign * np.diff(lower + higher) > 0).all()
    (_, lower), _ = lines(axes[1])
    assert (lower[0], lower[-1]) == pytest.approx(ends, rel=5e-3)


def test_fig_8_shows_wave_numbers_of_both_motions(found):
    for i, axes in enumerate(found.drawn["fig8"].axes):
        (_, out), (_, back) = lines(axes)
        assert legend(found.drawn["fig8"].axes[0]) == ["extension", "retraction"]
        assert (out[0], out[-1]) == pytest.approx((BETA[0.3][i], BETA[1.0][i]), abs=1e-8)
        assert out == pytest.approx(back[::-1], abs=1e-8)


def test_our_own_figures_show_what_they_are_for(found):
    for axes in found.drawn["amplitude"].axes:
        (t, tip), (_, envelope), (_, real_parts) = lines(axes)
        assert (tip[0], envelope[0], real_parts[0]) == pytest.approx((1.0, 1.0, 1.0))
        assert (np.abs(tip) < 1.02 * envelope).all()
        assert (envelope[-1] > 1) == (real_parts[-1] < 1)
    for axes in found.drawn["elements"].axes:
        (_, elements), (_, modes) = lines(axes)
        assert np.abs(elements - modes).max() < 1e-3 * 3
    (axes,) = found.drawn["convection"].axes
    (x, turning), (_, standing) = lines(axes)
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert (np.diff(standing) > 0).all()
    assert (turning > 4).all()
    assert [axes.get_ylabel() for axes in found.drawn["efforts"].axes] == [f"effort [{u}]" for u in ("N m", "N m", "N")]


# -- the parts on their own --------------------------------------------------------------------------------------------


def test_the_arm_stands_as_a_stanford_arm(fixed):
    tip = fixed.model.function("tip")
    assert np.array(tip([0, 0, 0.7, 0, 0, 0, 0]))[:3, 3] == pytest.approx([0.0, 0.3, 0.8])
    across = np.array(tip([0, -np.pi / 2, 0.7, 0, 0, 0, 0]))[:3, 3]
    assert np.abs(across) == pytest.approx([0.7, 0.3, 0.1])


@pytest.mark.parametrize("length", [0.3, 1.0])
def test_wave_numbers_are_the_roots_of_the_frequency_equation(found, length):
    mu = M_L / (M * length)

    def f(b):
        c, s, C, S = np.cos(b), np.sin(b), np.cosh(b), np.sinh(b)
        return 1 + c * C - mu * b * (C * s - S * c)

    roots = [brentq(f, *ends, xtol=1e-14) for ends in ((1.0, 1.9), (3.5, 4.7))]
    assert roots == pytest.approx(BETA[length], abs=1e-8)
    assert waves.roots_of_eq_8(mu) == pytest.approx(roots, abs=1e-12)
    assert waves.roots(found.runs.arm, length) == pytest.approx(roots, abs=1e-12)


def test_the_flexible_equations_are_linear(fixed):
    rng = np.random.default_rng(4)
    q, qd, qdd = rng.uniform(0.3, 1.0, (3, 3))
    xi, xid, xidd = rng.standard_normal((3, 4))
    block = np.array(fixed.functions[0](q, qd, qdd))
    M, C, K, g = block[:, :4], block[:, 4:8], block[:, 8:12], block[:, 12]
    demand = fixed.model.function("inverse_dynamics")(np.r_[q, xi], np.r_[qd, xid], np.r_[qdd, xidd])
    assert M @ xidd + C @ xid + K @ xi - g == pytest.approx(np.array(demand).ravel()[3:], rel=1e-10)


@pytest.mark.parametrize("name", ["2 modes", "4 elements"])
def test_equations_between_corners_are_polynomials_in_time(found, name):
    model, t = found.runs.model(name), np.linspace(0.0005, 1.1995, 400)
    for direction in paper.DIRECTIONS:
        reference = paper.motion(direction)
        for ours, exact in zip(model.between(reference, t), model.along(reference, t), strict=True):
            assert np.abs(ours - exact).max() < 1e-11 * np.abs(exact).max()


def test_steps_of_the_linear_equations_equal_the_simulation(found, fixed):
    """Finer steps bring them nearer: what is left comes from the steps."""
    reference, exact = paper.motion("retraction"), found.runs.simulated("retraction").deflection.values[:301, -1, 1:]
    errors = [compute.apart(fixed.run(reference, 0.3, steps, steps // 300)[2], exact) for steps in (600, 2400)]
    assert errors[0] < 0.2
    assert errors[1] < errors[0] / 3


def test_eigenvalues_of_one_mode_follow_from_its_growing_mass(found):
    one = found.runs.model("1 clamped-free")
    t = np.linspace(0.05, 0.95, 7)
    for direction in paper.DIRECTIONS:
        reference = paper.motion(direction, slewing=False)
        q, qd, _ = compute.joints_along(reference, t)
        # int psi^2 = 1/4 for psi(1) = 1: the modal mass is m l / 4 + M_L
        expected = -0.5 * qd[2] * (M / 4) / (M * q[2] / 4 + M_L)
        eigenvalues = one.eigenvalues(reference, t)
        assert eigenvalues.real == pytest.approx(np.column_stack([expected, expected]), rel=1e-6)


def test_amplitude_of_a_sliding_vibrator_is_adiabatic():
    # one mode on its own: (M x')' + K x = 0, M = m l / 4 + M_L, K = 12.36 EI / (4 l^3), shapes fixed
    def rate(t, z):
        l, U = 0.3 + 0.7 * t, 0.7
        mass, K = M * l / 4 + M_L, 12.36 / 4 * EI / l**3
        return [z[1], -(K * z[0] + U * M / 4 * z[1]) / mass]

    t = np.linspace(0.0, 1.0, 40001)
    x = solve_ivp(rate, (0, 1), [1.0, 0.0], "DOP853", t, rtol=1e-9, atol=1e-9).y[0]
    l = np.array([0.3, 1.0])
    mass, K = M * l / 4 + M_L, 12.36 / 4 * EI / l**3
    expected = ((mass * K)[0] / (mass * K)[1]) ** 0.25  # (M omega)^(-1/2)
    assert np.abs(x[-4000:]).max() == pytest.approx(expected, rel=0.03)
    assert expected > 1  # it grows though the real parts of the frozen eigenvalues, -M' / (2 M), are negative


@pytest.mark.parametrize("convection", ["material", "paper"])
def test_a_free_run_keeps_its_energy(found, convection):
    """Thrown from l = 0.5 m, without input: eqs. 25 to 31 by the native code."""
    model = fa.Model(paper.varied(found.runs.arm, modes=1, wave_numbers="fixed", convection=convection))
    q0, qd0 = np.array([0.3, 0.8, 0.5, 0.002, -0.001]), np.array([0.4, -0.3, 0.3, 0.0, 0.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = fa.simulate(
            model, 0.5, q0=q0, qd0=qd0, solver=fa.Solver(rtol=1e-9, atol=1e-12), samples=101, progress=False
        )
    assert run.attrs["energy_drift"] < 1e-7


def test_eq_42_is_a_part_of_the_rate_of_the_energy(found):
    """On average kinetic and elastic energy are V / 2 each: dK/dt = -3 U/l K counts 3, dM/dt the beam's share of M."""
    length = np.linspace(0.3, 1.0, 50)
    growing = (M * length / 4) / (M * length / 4 + M_L)  # of the modal mass, int psi^2 = 1/4 for psi(1) = 1
    omega = np.sqrt(length**-3 / (M * length / 4 + M_L))  # V goes with it
    rates = omega[:, None] / length[:, None] * np.column_stack([3 + 0 * growing, growing])
    share = 100 * rates.sum(axis=0) / rates.sum()
    for direction in paper.DIRECTIONS:
        shares = found.runs.energy_rate(direction).shares
        assert sum(shares) == pytest.approx(100, abs=0.1)
        assert shares == pytest.approx(share, abs=2.0)


def test_every_picture_keeps_the_house_style(found):
    assert {name: faults for name, figure in found.drawn.items() if (faults := style_faults(figure))} == {}
