"""Subudhi & Morris: the reproduction runs, its page is current, and its key numbers come out of other computations."""

import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.linalg import eigh
from scipy.optimize import brentq

import flexarm as fa
from flexarm.papers import subudhi_morris as sm

PAGE = Path(__file__).parents[1] / "docs" / "papers" / "subudhi-morris.md"
L, RHO, EI, J, M_P, I_P, KS = 0.5, 0.2, 1.0, 0.02, 0.1, 0.005, 100.0


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory):
    folder = tmp_path_factory.mktemp("papers")
    return folder, sm.reproduce(folder)


def test_no_claim_is_open(reproduced):
    _, claims = reproduced
    assert [claim for claim in claims if claim.verdict == "not met"] == []
    assert sum(claim.verdict == "met" for claim in claims) >= 8


def test_the_figures_are_drawn(reproduced):
    folder, _ = reproduced
    names = {f"subudhi-morris-{name}.png" for name in ("fig4", "fig5", "fig6", "fig7", "fig8", "pulse", "validity")}
    assert {path.name for path in folder.iterdir()} == names
    assert all(path.stat().st_size > 10_000 for path in folder.iterdir())


def test_the_page_has_every_claim_and_derives_what_is_explained(reproduced):
    _, claims = reproduced
    rows = re.findall(r"^\| (.+?) \| (.+?) \| .*? \| .*? \| (.+?) \|", PAGE.read_text(), flags=re.M)[2:]
    assert rows == [(claim.where, claim.quantity, claim.verdict) for claim in claims]


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


@pytest.mark.parametrize("load", sm.LOADS)
def test_frequencies_of_a_loaded_link(load):
    ritz = by_powers(load.mass, load.inertia, load.first_moment)
    np.testing.assert_allclose(sm.frequencies(load), ritz, rtol=1e-6)
    np.testing.assert_allclose(sm.by_elements(load), ritz, rtol=1e-5)


def test_eq_39_from_eqs_27_to_30():
    """phi = cos - cosh + s (sin - sinh): s from the shear (eq. 38), then the moment's condition has our roots."""
    mu, iota, sigma = 2.0, 23 / 15, 1.5

    def moment(b):
        c, s, C, S = np.cos(b), np.sin(b), np.cosh(b), np.sinh(b)
        k = (s - S + mu * b * (c - C) - sigma * b**2 * (s + S)) / (c + C - mu * b * (s - S) - sigma * b**2 * (c - C))
        phi, slope, curvature = c - C + k * (s - S), -s - S + k * (c - C), -c - C - k * (s + S)
        return curvature - b**2 * (iota * b * slope + sigma * phi)

    roots = sm.shapes_of(sm.LOADS[0]).roots(2)
    for root in roots:
        assert brentq(moment, root - 0.01, root + 0.02) == pytest.approx(root, rel=1e-12)


def test_loads_are_those_of_eqs_47_and_48():
    x = np.linspace(0, L, 3)
    second, payload = quad(lambda s: RHO * s**2, 0, L)[0], M_P * L**2 + I_P
    first = quad(lambda s: RHO * s, 0, L)[0] + M_P * x[-1]
    assert sm.LOADS[0].mass == pytest.approx(RHO * L + M_P)
    assert sm.LOADS[0].inertia == pytest.approx(second + payload)
    assert sm.LOADS[0].first_moment == pytest.approx(first)
    assert (sm.LOADS[1].mass, sm.LOADS[1].inertia, sm.LOADS[1].first_moment) == (M_P, I_P, 0.0)


def test_j2_loads_link_1_in_the_absolute_convention_only():
    load = sm.LOADS[0]
    np.testing.assert_allclose(
        sm.link_1_in_arm("relative"), by_powers(load.mass, load.inertia, load.first_moment), 1e-5
    )
    with_J = by_powers(load.mass, load.inertia + J, load.first_moment)
    np.testing.assert_allclose(sm.link_1_in_arm("absolute"), with_J, 1e-5)


# -- elastic joints ----------------------------------------------------------------------------------------------------


def test_static_deflection_tends_to_the_rigid_joints_as_1_over_k():
    """A sideways force at the tip, motors locked: compliance = that of the links + sum of (lever^2 / k_s)."""
    force, levers = 1e-4, np.array([2 * L, L])

    def compliance(ks):
        model = fa.Model(sm.arm(ks=ks))
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
    rigid = sm.vibrations(sm.arm())
    gaps = [np.abs(sm.vibrations(sm.arm(ks=ks)) - rigid) for ks in (1e3, 1e4, 1e5)]
    for a, b in pairwise(gaps):
        np.testing.assert_allclose(a / b, 10.0, rtol=0.1)


@pytest.mark.parametrize(("rotor", "torque"), [("relative", 0.02), ("absolute", 0.005)])
def test_what_the_pulses_leave_is_the_closed_form(rotor, torque):
    """Where deflections and turning are small, the residual vibration is that of each mode under two pulses."""
    small = sm.run(sm.arm(rotor), torque, until=6.0)
    late = small.time.values > 1.0
    left = sm.rms(small.q.values[late, 2]) * sm.TORQUE / torque
    assert left == pytest.approx(sm.after_pulse(sm.arm(rotor)), rel=0.05)


# -- how far small deflections carry -----------------------------------------------------------------------------------


def test_the_two_references_converge_to_each_other():
    """Short beams and rigid rods, both of second order in the length of a piece."""
    beams = [sm.run(sm.chain("relative", n), samples=51) for n in (2, 4)]
    rods = [sm.run(sm.rods("relative", n), samples=51) for n in (4, 8)]
    fine, coarse = (sm.apart(a, b).max() for a, b in zip(rods[::-1], beams[::-1], strict=True))
    assert fine < 0.2 and coarse < 1.2 and fine < coarse


def test_tips_of_the_two_conventions():
    ends = [sm.run(sm.chain(rotor, 4), samples=3) for rotor in sm.ROTORS]
    assert sm.apart(*ends)[-1] == pytest.approx(268, abs=4)
