"""Theodore & Ghosal reproduced, and the parts of the reproduction checked on their own."""

import re

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import flexarm as fa
from flexarm.papers import theodore_ghosal as paper
from flexarm.simulation.inputs import PrescribedMotion

FIGURES = ("fig4", "fig5", "fig6", "fig7", "fig8", "efforts", "amplitude", "elements", "convection")
M_L, M, EI = 0.0828, 0.4303 / 1.3, 1165.4916


@pytest.fixture(scope="module")
def arm():
    return fa.load("theodore-ghosal")


@pytest.fixture(scope="module")
def fixed(arm):
    return paper.Flexible(paper.varied(arm, wave_numbers="fixed"))


def test_every_claim_is_met_or_explained_and_every_figure_is_drawn(tmp_path):
    claims = paper.reproduce(tmp_path)
    assert [claim for claim in claims if claim.verdict == "not met"] == []
    where = {
        "Eqs. 8, 9",
        "Eq. 11, Fig. 8",
        "Fig. 5",
        "Fig. 6",
        "Fig. 7",
        "Section V, [19]",
        "Eq. 24",
        "Eq. 42",
        "Eq. 43",
    }
    assert {claim.where for claim in claims} >= where
    assert all(claim.note for claim in claims if claim.verdict == "explained")
    sizes = {file.name: file.stat().st_size for file in tmp_path.iterdir()}
    assert sizes.keys() == {f"theodore-ghosal-{name}.png" for name in FIGURES}
    assert all(5_000 < size < 300_000 for size in sizes.values())


def test_the_arm_is_table_i(arm):
    base, shoulder, slide = arm.links
    assert (base.body.length, base.body.mass, base.hub_inertia[0]) == (0.1, 3.7051, 0.352)
    assert (shoulder.body.length, shoulder.body.mass, shoulder.hub_inertia[0]) == (0.3, 0.3310, 3.2)
    assert (slide.body.length, slide.body.mass, slide.body.stiffness["y"]) == (1.3, 0.4303, EI)
    assert arm.payload.mass == M_L
    assert np.sqrt(EI / M) == pytest.approx(59.34, abs=0.005)


def test_the_arm_stands_as_a_stanford_arm(arm):
    model = fa.Model(arm)
    q = np.array([0.0, 0.0, 0.7, 0, 0, 0, 0])
    assert model.tip(q)[:3, 3] == pytest.approx([0.0, 0.3, 0.8])
    q[:2] = 0.0, -np.pi / 2
    assert abs(model.tip(q)[0, 3]) == pytest.approx(0.7)
    assert model.tip(q)[1:3, 3] == pytest.approx([0.3, 0.1])


@pytest.mark.parametrize("length", [0.3, 1.0])
def test_wave_numbers_are_the_roots_of_the_frequency_equation(arm, length):
    mu = M_L / (M * length)

    def f(b):
        c, s, C, S = np.cos(b), np.sin(b), np.cosh(b), np.sinh(b)
        return 1 + c * C - mu * b * (C * s - S * c)

    roots = [brentq(f, *ends, xtol=1e-14) for ends in ((1.0, 1.9), (3.5, 4.7))]
    assert roots == pytest.approx(paper.PRINTED_BETA[length], abs=1e-8)
    assert paper.boundary_residue(np.array(roots), mu) < 1e-9
    t = np.array([0.0, 0.5, 1.0])
    direction = "extension" if length == 1.0 else "retraction"
    assert paper.integrated(arm, paper.motion(direction), t)[-1] == pytest.approx(roots, abs=1e-8)


def test_the_blend_time_follows_from_the_rate_in_the_text():
    qd = paper.joints_along(paper.motion("extension"), np.array([0.5]))[1]
    assert qd[2, 0] == pytest.approx(0.778, abs=5e-4)


def test_the_flexible_equations_are_linear(fixed):
    rng = np.random.default_rng(4)
    q, qd, qdd = rng.uniform(0.3, 1.0, (3, 3))
    xi, xid, xidd = rng.standard_normal((3, 4))
    block = np.array(fixed.functions[0](q, qd, qdd))
    M, C, K, g = block[:, :4], block[:, 4:8], block[:, 8:12], block[:, 12]
    demand = fixed.model.inverse_dynamics(np.r_[q, xi], np.r_[qd, xid], np.r_[qdd, xidd])[3:]
    assert M @ xidd + C @ xid + K @ xi - g == pytest.approx(demand, rel=1e-10)


def test_steps_of_the_linear_equations_equal_the_simulation(fixed):
    reference = paper.motion("retraction")
    result = fa.simulate(fixed.model, 0.3, PrescribedMotion(reference), samples=301, progress=False)
    ours = [fixed.run(reference, 0.3, steps, steps // 300)[2] for steps in (600, 2400)]
    errors = [paper.apart(x, result.deflection.values[:, -1, 1:]) for x in ours]
    assert errors[0] < 0.2
    assert errors[1] < errors[0] / 3


def test_eigenvalues_of_one_mode_follow_from_its_growing_mass(arm):
    one = paper.Flexible(paper.varied(arm, "clamped-free", modes=1, wave_numbers="fixed"))
    t = np.linspace(0.05, 0.95, 7)
    for direction in paper.DIRECTIONS:
        reference = paper.motion(direction, slewing=False)
        q, qd, _ = paper.joints_along(reference, t)
        # int psi^2 = 1/4 for psi(1) = 1: the modal mass is m l / 4 + M_L
        expected = -0.5 * qd[2] * (M / 4) / (M * q[2] / 4 + M_L)
        found = one.eigenvalues(reference, t)
        assert found.real == pytest.approx(np.column_stack([expected, expected]), rel=1e-6)


def test_real_parts_do_not_depend_on_convection(arm, fixed):
    other = paper.Flexible(paper.varied(arm, wave_numbers="fixed", convection="paper"))
    t = np.linspace(0.05, 0.95, 7)
    reference = paper.motion("retraction")
    sums = [x.eigenvalues(reference, t).real.sum(axis=1) for x in (fixed, other)]
    assert sums[0] == pytest.approx(sums[1], rel=1e-8)
    assert sums[0] == pytest.approx(paper.modal_rate(fixed, reference, t), rel=1e-6)
    assert (sums[0] > 0).all()


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


def test_two_modes_equal_four_elements(arm):
    reference = paper.motion("extension")
    modes = paper.Flexible(paper.varied(arm, wave_numbers="solved"))
    elements = paper.Flexible(paper.varied(arm, "hermite", 8, wave_numbers="fixed"))
    a, b = (x.run(reference)[2] for x in (modes, elements))
    assert paper.apart(a, b) < 0.2


@pytest.mark.parametrize(("convection", "factor"), [("material", 2.0), ("paper", None)])
def test_coriolis_force_on_a_turning_sliding_beam(arm, convection, factor):
    model = paper.Flexible(paper.varied(arm, wave_numbers="fixed", convection=convection))
    assert paper.coriolis(model) == pytest.approx(paper.coriolis_by_hand(arm, convection == "paper"), rel=1e-9)
    if factor is None:
        assert (paper.coriolis(model) > paper.coriolis_by_hand(arm, False) * 1.1).any()


@pytest.mark.parametrize("convection", ["material", "paper"])
def test_a_free_run_keeps_its_energy(arm, convection):
    assert paper.free_run(paper.varied(arm, modes=1, wave_numbers="fixed", convection=convection)) < 1e-7


def test_eq_42_is_a_part_of_the_rate_of_the_energy(arm, fixed):
    """On average kinetic and elastic energy are V / 2 each: dK/dt = -3 U/l K counts 3, dM/dt the beam's share of M."""
    (claim,) = paper.energy_rate(fixed)
    assert claim.verdict == "explained"
    found = np.array(re.findall(r"(\d+\.\d); (\d+\.\d)", claim.ours), dtype=float)
    assert found.sum(axis=1) == pytest.approx([100, 100], abs=1.5)
    length = np.linspace(0.3, 1.0, 50)
    growing = (M * length / 4) / (M * length / 4 + M_L)  # of the modal mass, int psi^2 = 1/4 for psi(1) = 1
    omega = np.sqrt(length**-3 / (M * length / 4 + M_L))  # V goes with it
    rates = omega[:, None] / length[:, None] * np.column_stack([3 + 0 * growing, growing])
    share = rates.sum(axis=0) / rates.sum()
    assert found == pytest.approx(np.array([100 * share, 100 * share]), abs=2.0)
