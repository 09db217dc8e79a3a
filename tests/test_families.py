"""Families of mode shapes against boundary conditions, frequency equations, finite elements and printed numbers."""

import pickle
from itertools import pairwise, product

import casadi as ca
import mpmath
import numpy as np
import pytest
from scipy.linalg import eigh

from flexarm import shapes
from flexarm.description.arm import Arm, Beam, Box, Link, Material, Rod
from flexarm.errors import DescriptionError
from flexarm.shapes import TipLoad, loaded_roots
from flexarm.shapes.loaded import roots_along
from flexarm.shapes.uniform import clamped_clamped, clamped_roots

MOST = 20
ROUNDING = 1e-13  # of shapes in units of beta^n; the wave number of mode 20 carries an error of 7e-15
HEAVY = [  # mu, iota, sigma: a load ahead of the tip, behind it, on it; light, heavy; a point mass on a stick
    (0.5, 0.2, 0.3), (0.5, 0.2, -0.3), (4.12475, 0.0, 0.0), (2.0, 0.01, 0.0), (1e-3, 1e-3, 0.0), (3.0, 12.0, 6.0),
    (50.0, 80.0, -60.0),
]  # fmt: skip


def carrying(mu, iota, sigma):
    return shapes.ClampedMass(mass_ratio=mu, inertia_ratio=iota, moment_ratio=sigma)


def k_pi(count):
    return np.arange(1, count + 1) * np.pi


CLAMPED, PINNED = ((0.0, 0), (0.0, 1)), ((0.0, 0), (0.0, 2))
PLAIN = [  # family, wave numbers, what is zero where
    (shapes.PinnedPinned(), k_pi, (*PINNED, (1.0, 0), (1.0, 2))),
    (shapes.PinnedFree(), shapes.pinned_roots, (*PINNED, (1.0, 2), (1.0, 3))),
    (shapes.ClampedPinned(), shapes.pinned_roots, (*CLAMPED, (1.0, 0), (1.0, 2))),
    (carrying(0, 0, 0), shapes.roots, (*CLAMPED, (1.0, 2), (1.0, 3))),
    (shapes.ClampedLoaded(mass_ratio=0), shapes.roots, (*CLAMPED, (1.0, 2), (1.0, 3))),
]
plain = pytest.mark.parametrize(("family", "roots", "zero"), PLAIN, ids=[p[0].name for p in PLAIN])
loaded = pytest.mark.parametrize("load", HEAVY)

TABLE = {"family": "free-form", "x": np.linspace(0, 1, 41).tolist()}
TABLE["values"] = [(np.linspace(0, 1, 41) ** p).tolist() for p in (2, 3)]
ANY = [*(p[0] for p in PLAIN), carrying(*HEAVY[0]), shapes.ClampedFree(), shapes.Polynomial(), shapes.Hermite(),
       shapes.CraigBampton(),
       shapes.FreeForm(functions=[np.square, lambda x: x**3 - 2 * x**2])]  # fmt: skip
anything = pytest.mark.parametrize("family", ANY, ids=lambda family: family.name)


def even(family, count):
    """As many functions as the family has."""
    return 2 if family.name == "free-form" else count


def close(value, reference, unit=1.0, atol=ROUNDING):
    np.testing.assert_allclose(value / unit, reference / unit, rtol=0, atol=atol)


def gram(basis, derivative=0, load=(0.0, 0.0, 0.0)):
    """int phi_i phi_j, with the body at the tip."""
    x, w = shapes.quadrature(basis)
    phi, (mu, iota, sigma) = basis.values(x, derivative), load
    u, s = basis.values(1.0)[0], basis.values(1.0, 1)[0]
    body = mu * np.outer(u, u) + iota * np.outer(s, s) + sigma * (np.outer(u, s) + np.outer(s, u))
    return (phi.T * w) @ phi + body


def frequencies(basis, load=(0.0, 0.0, 0.0)):
    """Wave numbers that this basis gives a uniform beam with a body at its tip."""
    K, M = gram(basis, 2), gram(basis, 0, load)
    return eigh(K, M, eigvals_only=True) ** 0.25


# -- every family ------------------------------------------------------------------------------------------------------


@anything
def test_a_derivative_is_the_slope_of_the_one_before(family):
    basis, h = family.basis(even(family, 6)), 1e-3
    x = np.random.default_rng(2).uniform(0.05, 0.95, 40)
    x = x[np.abs(x * 3 - np.round(x * 3)) > 0.01]  # not across a node of three elements
    for n in range(3):
        slope = sum(c * basis.values(x + j * h, n) for j, c in [(-2, 1), (-1, -8), (1, 8), (2, -1)]) / (12 * h)
        exact = basis.values(x, n + 1)
        # the truncation error of a five-point difference is (beta h)^4 / 30
        close(slope, exact, 1 + np.abs(exact).max(axis=0), atol=1e-7)


@anything
def test_the_scale(family):
    """The largest deflection is 1; the tip's is positive, or the slope at the hub, or the curvature there."""
    basis = family.basis(even(family, MOST))
    x = np.linspace(0, 1, 8001)
    largest = np.abs(basis.values(x)).max(axis=0)
    wanted = np.where(np.arange(basis.count) % 2, 4 / 27, 1.0) if family.name == "hermite" else 1.0
    assert (largest <= wanted + 1e-12).all() and (largest >= np.array(wanted) - 1e-4).all()
    tip, slope, curvature = basis.values(1.0)[0], basis.values(0.0, 1)[0], basis.values(0.0, 2)[0]
    if family.name != "hermite":
        first = np.where(np.abs(tip) > 1e-9, tip, np.where(np.abs(slope) > 1e-9, slope, curvature))
        assert (first > 0).all()


@anything
def test_the_quadrature_is_exact(family):
    basis = family.basis(even(family, MOST))
    t, weights = np.polynomial.legendre.leggauss(30)
    edges = np.unique(np.concatenate([basis.breaks, np.linspace(0, 1, 61)]))
    half = np.diff(edges) / 2
    x = (edges[:-1, None] + half[:, None] * (1 + t)).ravel()
    w = (half[:, None] * weights).ravel()
    for n in range(3):
        phi = basis.values(x, n)
        fine, value = (phi.T * w) @ phi, gram(basis, n, (0, 0, 0))
        unit = np.sqrt(np.outer(np.diag(fine), np.diag(fine)))
        close(value, fine, unit, atol=1e-12)


@anything
def test_no_functions_at_all(family):
    assert family.basis(0).values(np.linspace(0, 1, 5), 2).shape == (5, 0)


@anything
def test_a_basis_travels_to_another_process(family):
    basis = family.basis(2)
    if any(function.__name__ == "<lambda>" for function in getattr(family, "functions", ())):
        basis = shapes.FreeForm(functions=[np.square, np.polynomial.Polynomial([0, 0, 0, 1])]).basis(2)
    again = pickle.loads(pickle.dumps(basis))
    np.testing.assert_array_equal(again.values([0.2, 0.7], 1), basis.values([0.2, 0.7], 1))


@anything
def test_frequencies_of_a_uniform_beam_come_from_above(family):
    """Rayleigh and Ritz: whatever clamped shapes there are, the frequencies of a clamped-free beam are upper bounds."""
    basis = family.basis(even(family, 8))
    if np.abs(basis.values(0.0, 1)).max() > 1e-9:
        pytest.skip("the hub is pinned")
    assert (frequencies(basis) >= shapes.roots(basis.count) * (1 - 1e-9)).all()


# -- plain ends --------------------------------------------------------------------------------------------------------


@plain
def test_boundary_conditions(family, roots, zero):
    basis, beta = family.basis(MOST), roots(MOST)
    for x, n in zero:
        close(basis.values(x, n)[0], 0.0, beta**n)


@plain
def test_modes_are_orthogonal_in_mass_and_stiffness(family, roots, zero):
    basis, beta = family.basis(MOST), roots(MOST)
    M, K = gram(basis), gram(basis, 2, (0, 0, 0))
    close(M, np.diag(np.diag(M)))
    close(K, np.diag(np.diag(M) * beta**4), np.outer(beta**2, beta**2))


@plain
def test_a_mode_obeys_the_equation_of_the_beam(family, roots, zero):
    """phi'''' = beta^4 phi, by differences of phi'''."""
    basis, beta, h = family.basis(6), roots(6), 1e-3
    x = np.random.default_rng(3).uniform(0.1, 0.9, 20)
    fourth = sum(c * basis.values(x + j * h, 3) for j, c in [(-2, 1), (-1, -8), (1, 8), (2, -1)]) / (12 * h)
    close(fourth, beta**4 * basis.values(x), beta**4, atol=1e-7)


def test_roots_of_pinned_beams():
    np.testing.assert_allclose(shapes.pinned_roots(2), [3.92660231, 7.06858275], rtol=0, atol=5e-9)  # Blevins
    with mpmath.workdps(40):
        exact = [mpmath.findroot(lambda b: mpmath.tan(b) - mpmath.tanh(b), (k + 0.25) * mpmath.pi) for k in (1, 2, 20)]
        np.testing.assert_allclose(shapes.pinned_roots(20)[[0, 1, 19]], [float(b) for b in exact], rtol=3e-16)


def test_lin_and_lewis_pinned_pinned_eigenvalues():
    """Section 4.2: (k pi / L)^4 EI / rho A; the paper prints 2320.64 for 2312.83 and 3.70e5 for 3.70e4."""
    EI, L, m = 4120.0, 47.0, 2.54e-4 * 0.14
    basis = shapes.PinnedPinned().basis(2)
    omega2 = np.diag(gram(basis, 2, (0, 0, 0))) / np.diag(gram(basis)) * EI / (m * L**4)
    np.testing.assert_allclose(omega2, [2312.83, 3.70e4], rtol=2e-3)
    assert omega2[0] == pytest.approx(2312.83, abs=0.005)


def test_pinned_modes_have_a_slope_at_the_hub():
    x = 1e-6
    for family in (shapes.PinnedPinned(), shapes.PinnedFree()):
        basis = family.basis(5)
        close(basis.values(0.0, 1), basis.values(x) / x, np.abs(basis.values(0.0, 1)), atol=1e-8)
        assert (np.abs(basis.values(0.0, 1)) > 0.5).all()


def test_pinned_free_modes_are_orthogonal_to_the_straight_beam():
    """The straight beam turning about its pin is a mode too, of frequency zero."""
    basis = shapes.PinnedFree().basis(MOST)
    x, w = shapes.quadrature(basis)
    close((w * x) @ basis.values(x), 0.0)


# -- a body at the tip -------------------------------------------------------------------------------------------------


@loaded
def test_boundary_conditions_with_a_body(load):
    """Hamilton's principle: phi'' = beta^4 (iota phi' + sigma phi), phi''' = -beta^4 (mu phi + sigma phi')."""
    mu, iota, sigma = load
    basis, beta = carrying(*load).basis(MOST), loaded_roots(MOST, *load)
    close(basis.values(0.0)[0], 0.0)
    close(basis.values(0.0, 1)[0], 0.0, beta)
    u, s, moment, force = (basis.values(1.0, n)[0] for n in range(4))
    # Both sides are of the size of beta^4 times ratio times the rounding of phi and phi'.
    close(moment, beta**4 * (iota * s + sigma * u), beta**2 + beta**4 * (iota * beta + abs(sigma)))
    close(force, -(beta**4) * (mu * u + sigma * s), beta**3 + beta**4 * (mu + abs(sigma) * beta))


@loaded
def test_modes_are_orthogonal_with_the_body(load):
    basis, beta = carrying(*load).basis(MOST), loaded_roots(MOST, *load)
    M, K = gram(basis, 0, load), gram(basis, 2, (0, 0, 0))
    unit = np.sqrt(np.outer(np.diag(M), np.diag(M)))
    close(M, np.diag(np.diag(M)), unit, atol=1e-12)
    close(K, np.diag(np.diag(M) * beta**4), unit * np.outer(beta**2, beta**2), atol=1e-12)


@loaded
def test_roots_agree_with_forty_finite_elements(load):
    """An element model is stiffer, its omega too large by (beta h)^4 / 1440 in the leading term."""
    beta, model = loaded_roots(6, *load), frequencies(shapes.Hermite().basis(80), load)[:6]
    np.testing.assert_allclose(model, beta, rtol=1e-5)
    np.testing.assert_allclose(model[:3], beta[:3], rtol=2e-6)  # rounding of the eigenvalues, not of the model
    wrong = frequencies(shapes.Hermite().basis(80), (load[0], load[1], -load[2]))[:6]
    assert load[2] == 0 or np.abs(wrong / beta - 1).max() > 1e-2, "the sign of the first moment matters"


@loaded
@pytest.mark.parametrize("k", [1, 2, 7, 20])
def test_roots_satisfy_the_frequency_equation_in_many_digits(load, k):
    beta = loaded_roots(k, *load)[-1]
    mu, iota, sigma = load

    def f(b):
        c, s, C, S = mpmath.cos(b), mpmath.sin(b), mpmath.cosh(b), mpmath.sinh(b)
        both = (mu * iota - mpmath.mpf(sigma) ** 2) * b**4 * (1 - c * C)
        return (
            1 + c * C - mu * b * (s * C - c * S) - iota * b**3 * (s * C + c * S) - 2 * sigma * b**2 * s * S + both
        ) / C

    with mpmath.workdps(60):
        exact = mpmath.findroot(f, (beta * (1 - 1e-9), beta * (1 + 1e-9)))
        assert abs(float(exact) / beta - 1) < 3e-14
    assert abs(shapes.frequency_equation(beta, *load)) < 1e-9 * np.cosh(beta) * (1 + sum(np.abs(load)) * beta**4)


@pytest.mark.parametrize("load", [*HEAVY, (1e8, 0.0, 0.0), (1e6, 1e6, 0.0)])
@pytest.mark.parametrize("k", [1, 2, 3, 20])
def test_values_agree_with_the_textbook_form_in_many_digits(load, k):
    """cosh - cos + nu (sinh - sin), nu from the moment at the tip; a heavy load makes the first wave number small."""
    mu, iota, sigma = load
    with mpmath.workdps(60):
        b = mpmath.findroot(
            lambda b: _det(b, mu, iota, sigma),
            tuple(loaded_roots(k, *load)[-1] * (1 + e) for e in (-1e-8, 1e-8)),
            solver="illinois",
            verify=False,
        )
        nu = -_moment(b, iota, sigma, "cosh") / _moment(b, iota, sigma, "sinh")
        basis = carrying(*load).basis(k)
        x = np.random.default_rng(4).random(7)

        def phi(x):
            z = b * x
            return mpmath.cosh(z) - mpmath.cos(z) + nu * (mpmath.sinh(z) - mpmath.sin(z))

        exact = np.array([float(phi(mpmath.mpf(p))) for p in x])
        factor = (basis.values(x)[:, -1] @ exact) / (exact @ exact)
        for n in range(4):
            exact = np.array([float(mpmath.diff(phi, mpmath.mpf(p), n)) for p in x])
            ours = basis.values(x, n)[:, -1]
            unit = max(float(b) ** n, np.abs(ours).max())
            close(ours, factor * exact, unit, atol=2e-11 if load[0] > 1e3 else 2e-12)


def _moment(b, iota, sigma, kind):
    """phi'' - beta^4 (iota phi' + sigma phi) at the tip, of cosh - cos or of sinh - sin."""
    C, S, c, s = mpmath.cosh(b), mpmath.sinh(b), mpmath.cos(b), mpmath.sin(b)
    u, slope, curvature = (C - c, S + s, C + c) if kind == "cosh" else (S - s, C - c, S + s)
    return b**2 * curvature - b**4 * (iota * b * slope + sigma * u)


def _force(b, mu, sigma, kind):
    C, S, c, s = mpmath.cosh(b), mpmath.sinh(b), mpmath.cos(b), mpmath.sin(b)
    u, slope, third = (C - c, S + s, S - s) if kind == "cosh" else (S - s, C - c, C + c)
    return b**3 * third + b**4 * (mu * u + sigma * b * slope)


def _det(b, mu, iota, sigma):
    """The determinant of both conditions, straight from the boundary value problem."""
    one = _moment(b, iota, sigma, "cosh") * _force(b, mu, sigma, "sinh")
    return (one - _moment(b, iota, sigma, "sinh") * _force(b, mu, sigma, "cosh")) / (b**5 * mpmath.cosh(b) ** 2)


def test_no_load_is_clamped_free():
    np.testing.assert_array_equal(loaded_roots(40, 0), shapes.roots(40))
    x, beta = np.linspace(0, 1, 101), shapes.roots(MOST)
    for n in range(4):
        ours, exact = carrying(0, 0, 0).basis(MOST).values(x, n), shapes.ClampedFree().basis(MOST).values(x, n)
        close(ours, exact, beta**n)


def test_a_huge_mass_pins_the_tip():
    """The roots tend to those of a clamped-pinned beam like 1 / mu, below them the mass on a massless beam: 3 / mu."""
    errors = []
    for mu in (1e4, 1e5):
        beta = loaded_roots(5, mu)
        assert beta[0] ** 4 == pytest.approx(3 / mu, rel=1 / mu)  # Rayleigh: 3 / (mu + 33/140)
        errors.append(beta[1:] / shapes.pinned_roots(4) - 1)
    np.testing.assert_allclose(errors[0] / errors[1], 10.0, rtol=1e-3)
    x = np.linspace(0, 1, 51)
    heavy, pinned = carrying(1e12, 0, 0).basis(4), shapes.ClampedPinned().basis(3)
    signs = np.sign(heavy.values(0.0, 2)[0, 1:])
    close(heavy.values(x)[:, 1:] * signs, pinned.values(x), atol=1e-11)


def test_a_huge_inertia_holds_the_slope():
    """Clamped and guided: the second root tends to 2.36502037."""
    assert loaded_roots(2, 0, 1e9)[1] == pytest.approx(2.36502037, rel=1e-8)


def test_roots_fall_with_the_load_and_none_is_missed():
    """More load never raises a root; a body of two degrees of freedom shifts them by two places at most."""
    free = shapes.roots(MOST + 2)
    before = free[:MOST]
    for scale in 10.0 ** np.arange(-6, 7):
        beta = loaded_roots(MOST, scale, scale, 0.6 * scale)
        assert (np.diff(beta) > 0).all() and (beta <= before * (1 + 1e-14)).all()
        assert (beta[2:] > free[: MOST - 2]).all()
        before = beta


def test_theodore_and_ghosal_wave_numbers():
    m, load = 0.4303 / 1.3, TipLoad(mass=0.0828)
    for l, wanted in [(0.3, (1.29367839, 4.04874205)), (1.0, (1.57363066, 4.22500170))]:
        beam = Beam(length=l, mass_per_length=m, EI=1.0)
        family = shapes.fitted("clamped-mass", beam, "y", load)
        np.testing.assert_allclose(family.roots(2), wanted, rtol=0, atol=5e-9)


def test_lin_and_lewis_clamped_loaded():
    """Section 4.4 and the appendix: beta L, mean of phi, of phi^2, of eta phi, for a load of 4.12475 beam masses."""
    family = shapes.ClampedLoaded(mass_ratio=4.12475)
    assert family.roots(1)[0] == pytest.approx(0.910726, abs=5e-7)
    x, w = shapes.quadrature(family.basis(1))
    phi = 0.5497897 * family.basis(1).values(x)[:, 0]
    np.testing.assert_allclose([w @ phi, w @ phi**2, (w * x) @ phi], [0.206651, 0.0714723, 0.151466], rtol=2e-6)


@loaded
def test_sensitivity_of_the_roots(load):
    """Central differences along directions in which the load stays possible."""
    beta, slope, h = loaded_roots(MOST, *load), carrying(*load).sensitivity(MOST), 1e-5
    # with a point mass at a place (sigma^2 = mu iota) only a scaled load, a moved one, or a larger one is possible
    directions = [np.array(load), np.array([1.0, 0, 0]) * load[0], np.array([0, 1.0, 0]) * (load[1] or 1e-4)]
    for d in directions:
        ratios = np.array([load + j * h * d for j in (1, -1)])  # a difference goes below zero, which a load may not
        numbers = roots_along(MOST, ratios)
        np.testing.assert_allclose((numbers[0] - numbers[1]) / (2 * h), slope @ d, rtol=1e-6, atol=1e-9 * beta[-1])
    if load[2] and load[2] ** 2 < 0.95 * load[0] * load[1]:
        numbers = [loaded_roots(MOST, load[0], load[1], load[2] + j * h) for j in (1, -1)]
        np.testing.assert_allclose((numbers[0] - numbers[1]) / (2 * h), slope[:, 2], rtol=1e-5, atol=1e-9)


def test_theodore_and_ghosal_differential_form():
    """d beta / dl = f1 / f2 (eqs. 11 to 13) against differences of the roots and against `sensitivity`."""
    m, M, J, h = 0.4303 / 1.3, 0.0828, 0.003, 1e-5

    def beta(l):
        return loaded_roots(4, M / (m * l), J / (m * l**3))

    for l in (0.3, 0.7, 1.0):
        slope = (beta(l + h) - beta(l - h)) / (2 * h)
        ours = shapes.f1(beta(l), l, M, J, m) / shapes.f2(beta(l), l, M, J, m)
        np.testing.assert_allclose(ours, slope, rtol=1e-7, atol=1e-9)
        family = carrying(M / (m * l), J / (m * l**3), 0.0)
        by_ratios = family.sensitivity(4) @ [-M / (m * l**2), -3 * J / (m * l**4), 0]
        np.testing.assert_allclose(ours, by_ratios, rtol=1e-10)


def test_the_frequency_equation_takes_casadi_expressions():
    b, l = ca.SX.sym("b"), ca.SX.sym("l")
    m, M, J = 0.3, 0.08, 0.01
    f = shapes.frequency_equation(b, M / (m * l), J / (m * l**3), math=ca)
    slopes = ca.Function("f", [b, l], [-ca.jacobian(f, l), ca.jacobian(f, b)])
    ours = ca.Function("f", [b, l], [shapes.f1(b, l, M, J, m, math=ca), shapes.f2(b, l, M, J, m, math=ca)])
    np.testing.assert_allclose([float(v) for v in ours(1.3, 0.7)], [float(v) for v in slopes(1.3, 0.7)], rtol=1e-12)


# -- fitting to a beam -------------------------------------------------------------------------------------------------

BEAM = Beam(length=2.0, mass=3.0, EI=40.0)
BEYOND = TipLoad(mass=6.0, inertia=1.2, first_moment=0.6)


@pytest.mark.parametrize(
    ("table", "ratios"),
    [
        ("clamped-mass", (2.0, 0.1, 0.1)),
        ({"family": "clamped-mass"}, (2.0, 0.1, 0.1)),
        ({"family": "clamped-mass", "tip": "auto"}, (2.0, 0.1, 0.1)),
        ({"family": "clamped-mass", "tip": "auto", "mass": 9.0}, (3.0, 0.1, 0.1)),
        ({"family": "clamped-mass", "mass": 0.3}, (0.1, 0.0, 0.0)),
        ({"family": "clamped-mass", "mass": 0.3, "inertia": 1.2, "first_moment": -0.6}, (0.1, 0.1, -0.1)),
        ({"family": "clamped-mass", "mass_ratio": 2, "inertia_ratio": 0.5}, (2.0, 0.5, 0.0)),
        (shapes.ClampedMass(mass=0.3), (0.1, 0.0, 0.0)),
    ],
)
def test_clamped_mass_is_fitted(table, ratios):
    family = shapes.fitted(table, BEAM, "y", BEYOND)
    assert family.ratios == pytest.approx(ratios, rel=1e-14)
    assert shapes.fitted(family, BEAM, "z", BEYOND) == family


@pytest.mark.parametrize(
    ("table", "ratio"),
    [("clamped-loaded", 2.0), ({"family": "clamped-loaded", "mass": 0.3}, 0.1), (
        {"family": "clamped-loaded", "mass_ratio": 4.12475}, 4.12475)],
)  # fmt: skip
def test_clamped_loaded_is_fitted(table, ratio):
    assert shapes.fitted(table, BEAM, "y", BEYOND).mass_ratio == pytest.approx(ratio, rel=1e-14)


@pytest.mark.parametrize("name", ["clamped-mass", "clamped-loaded", "hermite-modes"])
def test_a_family_that_needs_its_beam(name):
    with pytest.raises(DescriptionError, match=f"{name}: the shapes depend on the beam"):
        shapes.family(name).basis(2)
    with pytest.raises(DescriptionError, match=r"call fitted.beam"):
        getattr(shapes.family(name), "roots", shapes.family(name).basis)(2)


def test_a_point_mass_may_be_short_of_inertia_by_rounding():
    """What lies beyond is moved from frame to frame; a load given by hand is not helped."""
    for load in (TipLoad(0.3, 0.3 * 0.2**2 * (1 - 1e-7), 0.06), TipLoad(0.3, -1e-17, 1e-18), TipLoad(0.0, -1e-20, 0.0)):
        family = shapes.fitted("clamped-mass", BEAM, "y", load)
        exact = TipLoad(load.mass, load.first_moment**2 / load.mass if load.mass else 0.0, load.first_moment)
        assert family.ratios == pytest.approx(shapes.fitted("clamped-mass", BEAM, "y", exact).ratios, rel=1e-12)
        assert shapes.fitted("hermite-modes", BEAM, "y", load).load.inertia >= 0
    with pytest.raises(DescriptionError, match="its square must be at most mass times inertia"):
        shapes.family({"family": "clamped-mass", "mass": 0.3, "inertia": 0.0119, "first_moment": 0.06})


def test_other_families_are_what_they_were():
    for name in ("clamped-free", "pinned-pinned", "polynomial", "hermite"):
        assert shapes.fitted(name, BEAM, "y", BEYOND) == shapes.FAMILIES[name]()
    mine = shapes.FreeForm(functions=[np.square])
    assert shapes.fitted(mine, BEAM, "z", BEYOND) is mine


# -- polynomials and elements ------------------------------------------------------------------------------------------


def test_polynomials_are_orthogonal():
    close(gram(shapes.Polynomial().basis(40)), np.diag(1 / (2 * np.arange(40) + 5)))


def test_polynomials_hold_their_clamp_and_their_degree():
    basis = shapes.Polynomial().basis(6)
    close(basis.values(0.0), 0.0)
    close(basis.values(0.0, 1), 0.0)
    x = np.linspace(0, 1, 30)
    powers = x[:, None] ** np.arange(2, 8)
    for k, column in enumerate(basis.values(x).T):
        fit, *_ = np.linalg.lstsq(powers, column, rcond=None)
        close(powers @ fit, column, atol=1e-11)
        close(fit[k + 1 :], 0.0, np.abs(fit).max(), atol=1e-8)


def test_polynomials_converge():
    """Exponentially, from above, to the roots of the clamped-free beam."""
    exact, before = shapes.roots(4), np.inf
    for count in (4, 6, 8, 10, 12, 14):
        error = frequencies(shapes.Polynomial().basis(count))[:4] / exact - 1
        assert (error > -1e-9).all() and error.max() < max(before / 3, 1e-9)
        before = error.max()
    assert before < 1e-9
    assert (frequencies(shapes.Polynomial().basis(MOST))[:10] / shapes.roots(10) < 1 + 1e-2).all()


def test_elements_interpolate():
    """A cubic that is clamped at the hub is its nodal deflections and its slopes times the length of an element."""
    N, cubic = 4, np.polynomial.Polynomial([0, 0, 3.0, -2.0])
    basis, nodes = shapes.Hermite().basis(2 * N), np.arange(1, N + 1) / N
    eta = np.column_stack([cubic(nodes), cubic.deriv()(nodes) / N]).ravel()
    x = np.linspace(0, 1, 37)
    for n in range(4):
        close(basis.values(x, n) @ eta, cubic.deriv(n)(x) if n else cubic(x), atol=1e-11)
    assert basis.breaks == (0, 0.25, 0.5, 0.75, 1)


def test_elements_converge_with_the_fourth_power_of_their_length():
    exact, errors = shapes.roots(3), []
    for elements in (6, 12, 24):
        error = frequencies(shapes.Hermite().basis(2 * elements))[:3] ** 2 / exact**2 - 1
        assert (error > 0).all()
        errors.append(error)
    orders = [np.log2(a / b) for a, b in pairwise(errors)]
    np.testing.assert_allclose(orders, 4.0, atol=0.2)
    # the leading term of the error of omega: (beta h)^4 / 1440
    np.testing.assert_allclose(errors[-1], (exact / 24) ** 4 / 1440, rtol=0.15)


# -- static shapes and the modes of the beam held at both ends ---------------------------------------------------------


def span(basis, others):
    """Largest distance of the columns `others`, at 101 points, from the span of a basis."""
    values = basis.values(np.linspace(0, 1, 101))
    fit, *_ = np.linalg.lstsq(values, others, rcond=None)
    return np.abs(values @ fit - others).max()


@pytest.mark.parametrize("count", [1, 2, 3, 5, 12, MOST, 40])
def test_craig_bampton_is_orthogonal_in_mass_and_stiffness(count):
    """Rayleigh and Ritz's frequencies, each above that of the clamped-free beam.

    Rounding of the first mode's beta^-4 is left in the mass of the last.
    """
    basis = shapes.CraigBampton().basis(count)
    M, K = gram(basis), gram(basis, 2)
    m, k = np.sqrt(np.diag(M)), np.sqrt(np.diag(K))
    close(M, np.diag(m**2), np.outer(m, m), atol=1e-15 * (3 * count) ** 3 + 1e-13)
    close(K, np.diag(k**2), np.outer(k, k), atol=1e-13)
    beta = np.sqrt(k / m)
    assert (np.diff(beta) > 0).all() and (beta >= shapes.roots(count) * (1 - 1e-9)).all()
    close(basis.values(0.0)[0], 0.0)
    close(basis.values(0.0, 1)[0], 0.0, 1 + beta)


@pytest.mark.parametrize("count", [3, 6, MOST])
def test_craig_bampton_spans_static_shapes_and_held_modes(count):
    x = np.linspace(0, 1, 101)
    basis, beta = shapes.CraigBampton().basis(count), clamped_roots(count - 2)
    assert span(basis, np.column_stack([x**2, x**3])) < 1e-10
    sigma = (np.cosh(beta[0]) - np.cos(beta[0])) / (np.sinh(beta[0]) - np.sin(beta[0]))
    z = beta[0] * x
    first = np.cosh(z) - np.cos(z) - sigma * (np.sinh(z) - np.sin(z))  # Blevins 1979, table 8-1
    held = clamped_clamped(beta, x, 0)
    close(held[:, 0] / held[50, 0], first / first[50], atol=1e-12)
    assert span(basis, held) < 1e-10
    assert span(basis, clamped_clamped(clamped_roots(count - 1), x, 0)) > 1e-3
    assert span(shapes.CraigBampton().basis(1), (3 * x**2 - x**3)[:, None]) < 1e-14


def test_modes_of_a_beam_held_at_both_ends():
    """phi'''' = beta^4 phi, phi = phi' = 0 at both ends, orthogonal; Blevins: 4.73004074."""
    beta = clamped_roots(MOST)
    assert beta[0] == pytest.approx(4.73004074, abs=5e-9)
    basis = shapes.Basis(MOST, lambda x, n: clamped_clamped(beta, x, n))
    for end in (0.0, 1.0):
        for n in (0, 1):
            close(basis.values(end, n)[0], 0.0, beta**n)
    M, K = gram(basis), gram(basis, 2)
    close(M, np.diag(np.diag(M)))
    close(K, np.diag(np.diag(M) * beta**4), np.outer(beta**2, beta**2))
    x, h = np.random.default_rng(3).uniform(0.1, 0.9, 20), 1e-3
    fourth = sum(c * basis.values(x + j * h, 3) for j, c in [(-2, 1), (-1, -8), (1, 8), (2, -1)]) / (12 * h)
    close(fourth[:, :6], (beta**4 * basis.values(x))[:, :6], beta[:6] ** 4, atol=1e-7)


def test_two_craig_bampton_shapes_are_two_polynomials():
    """The span of x^2 and x^3: the same arm."""
    x = np.linspace(0, 1, 101)
    assert span(shapes.CraigBampton().basis(2), shapes.Polynomial().basis(2).values(x)) < 1e-14


@loaded
def test_craig_bampton_converges_whatever_the_load(load):
    """From above, the sum of the first three wave numbers' errors with the fourth power of the number at least."""
    exact, errors = loaded_roots(3, *load), []
    rounding = 1e-8  # of the lowest of 40 eigenvalues, which are 1e11 apart
    for count in (5, 10, 20, 40):
        error = frequencies(shapes.CraigBampton().basis(count), load)[:3] / exact - 1
        assert (error > -rounding).all()
        errors.append(max(error.sum(), rounding))
    assert all(a > 16 * b or b == rounding for a, b in pairwise(errors)) and errors[-1] < 1e-6
    assert errors[0] > 10 * rounding  # there was something to converge from


@pytest.mark.parametrize("direction", ["y", "z"])
def test_craig_bampton_of_a_tapered_beam(direction):
    """Orthogonal with the beam's own mass and stiffness; the tip's flexibility under force and moment is exact."""
    beam = tapered(0.4)
    made = shapes.fitted("craig-bampton", beam, direction, TipLoad(mass=5.0))
    assert made.name == "craig-bampton" and shapes.fitted("craig-bampton", BEAM, direction) == shapes.CraigBampton()
    basis = made.basis(4)
    x, w = shapes.quadrature(basis)
    p, L = beam.profile(x), beam.length
    EI = p.EI_y if direction == "y" else p.EI_z
    phi, curvature = basis.values(x), basis.values(x, 2)
    M, K = (phi.T * (w * p.m * L)) @ phi, (curvature.T * (w * EI / L**3)) @ curvature
    m, k = np.sqrt(np.diag(M)), np.sqrt(np.diag(K))
    close(M, np.diag(m**2), np.outer(m, m), atol=1e-9)
    close(K, np.diag(k**2), np.outer(k, k), atol=1e-7)
    ends = np.column_stack([basis.values(1.0)[0], basis.values(1.0, 1)[0] / L])
    # u'' = (F (L - s) + m) / EI: compliances are integrals of the squares
    s = L * x
    arm = np.column_stack([L - s, np.ones_like(s)])
    exact = (arm.T * (w * L / EI)) @ arm
    np.testing.assert_allclose(ends.T @ np.linalg.solve(K, ends), exact, rtol=1e-6)
    assert np.abs((k / m)[:2] / ritz(beam, direction, TipLoad(), 2) - 1).max() < 3e-3
    few = shapes.fitted("craig-bampton", beam, direction).basis(1)
    assert few.values(1.0) == pytest.approx(1.0)


def test_craig_bampton_of_a_taper_of_nothing():
    x = np.linspace(0, 1, 41)
    ours = shapes.fitted("craig-bampton", tapered(1.0), "y").basis(5).values(x)
    close(ours, shapes.CraigBampton().basis(5).values(x), atol=1e-5)


# -- rods --------------------------------------------------------------------------------------------------------------

RATIOS = (0.0, 1e-6, 0.1, 0.9, 1.0, 3.0, 1e3, 1e8)


def rod_frequencies(basis, mu):
    """Wave numbers that this basis gives a uniform rod with a load of mu times its own."""
    K, M = gram(basis, 1), gram(basis, 0, (mu, 0.0, 0.0))
    return eigh(K, M, eigvals_only=True) ** 0.5


@pytest.mark.parametrize("mu", RATIOS)
def test_roots_of_a_loaded_rod(mu):
    """mu beta tan(beta) = 1, one root in each ((k - 1) pi, (k - 1/2) pi]."""
    beta, k = shapes.rod_roots(MOST, mu), np.arange(MOST)
    assert (beta > k * np.pi).all() and (beta <= (k + 0.5) * np.pi * (1 + 1e-15)).all()
    with mpmath.workdps(40):
        for b, n in zip(beta, k, strict=True):

            def f(x, n=n):
                return x - n * mpmath.pi - mpmath.atan2(1, mu * x)

            assert abs(float(mpmath.findroot(f, mpmath.mpf(b))) / b - 1) < 1e-15


@pytest.mark.parametrize("mu", RATIOS)
def test_a_loaded_rod(mu):
    """phi'' = -beta^2 phi, phi(0) = 0, phi'(1) = mu beta^2 phi(1); orthogonal with the load; largest 1."""
    basis, beta = shapes.FixedLoaded(load_ratio=mu).basis(MOST), shapes.rod_roots(MOST, mu)
    x = np.random.default_rng(5).random(30)
    close(basis.values(0.0)[0], 0.0)
    close(basis.values(x, 2), -(beta**2) * basis.values(x), beta**2)
    tip, slope = basis.values(1.0)[0], basis.values(1.0, 1)[0]
    close(basis.values(x, 3), -(beta**2) * basis.values(x, 1), beta**2 * np.abs(basis.values(0.0, 1)[0]))
    close(slope, mu * beta**2 * tip, beta + mu * beta**2, atol=1e-14)
    M, K = gram(basis, 0, (mu, 0, 0)), gram(basis, 1)
    close(M, np.diag(np.diag(M)), np.sqrt(np.outer(np.diag(M), np.diag(M))), atol=1e-12 if mu < 1e6 else 1e-7)
    close(K, np.diag(np.diag(M) * beta**2), np.sqrt(np.outer(np.diag(K), np.diag(K))), atol=1e-12)
    # a point of largest deflection may lie between two of the grid's: 1 - cos(beta / 16000) is missing
    largest = np.abs(basis.values(np.linspace(0, 1, 8001))).max(axis=0)
    assert (largest <= 1 + 1e-14).all() and (largest > 1 - 1e-4).all() and (tip > 0).all()


def test_a_loaded_rod_between_its_limits():
    """No load: fixed-free. A heavy one: the static shape x, and the modes of a rod held at both ends."""
    x = np.linspace(0, 1, 33)
    for n in range(4):
        free = shapes.FixedFree().basis(6)
        close(shapes.FixedLoaded(load_ratio=0).basis(6).values(x, n), free.values(x, n), k_pi(6) ** n)
    heavy = shapes.FixedLoaded(load_ratio=1e12).basis(4).values(x)
    close(heavy[:, 0], x, atol=1e-12)
    close(np.abs(heavy[:, 1:]), np.abs(np.sin(np.outer(x, k_pi(3)))), atol=1e-11)


def test_polynomials_of_a_rod():
    """Orthogonal, x^1 to x^count, converging to the loaded rod's roots from above; the first is x itself."""
    close(gram(shapes.RodPolynomial().basis(40)), np.diag(1 / (2 * np.arange(40) + 3)))
    x = np.linspace(0, 1, 30)
    basis = shapes.RodPolynomial().basis(6)
    close(basis.values(x)[:, 0], x)
    powers = x[:, None] ** np.arange(1, 7)
    for k, column in enumerate(basis.values(x).T):
        fit, *_ = np.linalg.lstsq(powers, column, rcond=None)
        close(powers @ fit, column, atol=1e-11)
        close(fit[k + 1 :], 0.0, np.abs(fit).max(), atol=1e-8)
    before = np.inf
    for count in (3, 5, 7, 9, 11):
        error = rod_frequencies(shapes.RodPolynomial().basis(count), 0.7)[:3] / shapes.rod_roots(3, 0.7) - 1
        assert (error > -1e-12).all() and error.max() < max(before / 10, 1e-12)
        before = error.max()
    assert before < 1e-9


def test_elements_of_a_rod_converge_with_the_square_of_their_length():
    """omega^2 is too large by (beta h)^2 / 12 in the leading term, and linear functions are met exactly."""
    exact, errors = shapes.rod_roots(3, 0.0), []
    for count in (12, 24, 48):
        errors.append(rod_frequencies(shapes.LinearElements().basis(count), 0.0)[:3] ** 2 / exact**2 - 1)
    orders = [np.log2(a / b) for a, b in pairwise(errors)]
    np.testing.assert_allclose(orders, 2.0, atol=0.1)
    np.testing.assert_allclose(errors[-1], (exact / 48) ** 2 / 12, rtol=0.02)
    x, basis = np.linspace(0, 1, 37), shapes.LinearElements().basis(5)
    close(basis.values(x) @ (3 * np.arange(1, 6) / 5), 3 * x)
    close(basis.values(x, 1) @ (3 * np.arange(1, 6) / 5), 3.0)
    assert not basis.values(x, 2).any() and basis.breaks == tuple(np.linspace(0, 1, 6))


ROD_FAMILIES = [shapes.FixedFree(), shapes.FixedLoaded(load_ratio=0.4), shapes.RodPolynomial(), shapes.LinearElements()]
rods = pytest.mark.parametrize("family", ROD_FAMILIES, ids=lambda family: family.name)


@rods
def test_every_family_of_a_rod(family):
    """Named, nothing where nothing is asked for, a derivative the slope of the one before, picklable, from above."""
    assert shapes.ROD_FAMILIES[family.name] is type(family) and shapes.family(family, "torsion") is family
    assert family.basis(0).values(np.linspace(0, 1, 5), 1).shape == (5, 0)
    basis, h = family.basis(6), 1e-3
    x = np.random.default_rng(2).uniform(0.05, 0.95, 40)
    x = x[np.abs(x * 6 - np.round(x * 6)) > 0.02]  # not across a node
    for n in range(3):
        slope = sum(c * basis.values(x + j * h, n) for j, c in [(-2, 1), (-1, -8), (1, 8), (2, -1)]) / (12 * h)
        exact = basis.values(x, n + 1)
        close(slope, exact, 1 + np.abs(exact).max(axis=0), atol=1e-7)
    again = pickle.loads(pickle.dumps(basis))
    np.testing.assert_array_equal(again.values([0.2, 0.7], 1), basis.values([0.2, 0.7], 1))
    assert (rod_frequencies(basis, 0.4) >= shapes.rod_roots(6, 0.4) * (1 - 1e-12)).all()
    t, weights = np.polynomial.legendre.leggauss(200)
    fine = [(a + (1 + t) / 2) / 6 for a in range(6)]
    product = sum((basis.values(x).T * (weights / 12)) @ basis.values(x) for x in fine)
    close(gram(basis), product)


def test_a_loaded_rod_is_fitted():
    """Torsion counts the inertia about the axis, stretch the mass; a value given wins, and a ratio over that."""
    beam = Beam(length=2.0, mass=3.0, EI=40.0, polar_inertia=0.5)
    beyond = TipLoad(mass=6.0, inertia=2.5, first_moment=7.0)

    def ratio(given, direction):
        return shapes.fitted(given, beam, direction, beyond).load_ratio

    assert ratio("fixed-loaded", "torsion") == 2.5 and ratio("fixed-loaded", "axial") == 2.0
    table = {"family": "fixed-loaded", "load": 0.5}
    assert ratio(table, "torsion") == 0.5 and ratio(table, "axial") == 0.5 / 3
    assert ratio({"family": "fixed-loaded", "load_ratio": 9.0}, "axial") == 9.0
    rod = tapered(0.5)
    x, w = shapes.quadrature(shapes.Polynomial().basis(16))
    whole = w @ rod.profile(x).rho_Ip * rod.length
    assert shapes.fitted("fixed-loaded", rod, "torsion", beyond).load_ratio == pytest.approx(2.5 / whole, rel=1e-13)
    with pytest.raises(DescriptionError, match=r"^fixed-loaded: the shapes depend on the beam and its load"):
        shapes.FixedLoaded().basis(2)
    light = beam.replace(polar_inertia=0.0)
    for load in (beyond, TipLoad()):  # the heaviest load: x, then the modes of a rod held at both ends
        x, basis = np.linspace(0, 1, 33), shapes.fitted("fixed-loaded", light, "torsion", load).basis(3)
        close(basis.values(x)[:, 0], x)
        close(np.abs(basis.values(x)[:, 1:]), np.abs(np.sin(np.outer(x, k_pi(2)))))


def test_free_form_shapes_of_a_rod_may_have_a_slope_at_the_hub():
    x = np.linspace(0, 1, 21)
    table = {"family": "free-form", "x": x.tolist(), "values": [x.tolist(), np.sin(np.pi / 2 * x).tolist()]}
    made = shapes.family(table, "torsion")
    assert made.pinned
    close(made.basis(2).values(x)[:, 0], x)
    with pytest.raises(DescriptionError, match=r"^shapes\.values\[0\] has the slope 1 at the hub"):
        shapes.family(table)
    assert shapes.family({**table, "pinned": True}, "axial") == made


def test_the_default_of_each_direction():
    beam = Beam(length=1.0, mass=1.0, EI=1.0, shapes={"z": "polynomial"})
    assert beam.families == {**shapes.DEFAULTS, "z": "polynomial"}
    assert Beam(length=1.0, mass=1.0, EI=1.0).families == shapes.DEFAULTS
    both = Beam(length=1.0, mass=1.0, EI=1.0, shapes="polynomial").families
    assert both == {**shapes.DEFAULTS, "y": "polynomial", "z": "polynomial"}


# -- tapered beams -----------------------------------------------------------------------------------------------------

STEEL = Material(E=2e11, density=8000.0)


def tapered(ratio, **changes):
    """A box whose width and height go to `ratio` times what they are at the base."""
    section, tip = Box(width=0.04, height=0.06), Box(width=0.04 * ratio, height=0.06 * ratio)
    return Beam(length=1.5, material=STEEL, section=section, section_tip=tip, **changes)


def ritz(beam, direction, load, count):
    """Angular frequencies with 16 polynomials, areas and moments written out here."""
    x, w = shapes.quadrature(shapes.Polynomial().basis(16))
    a, b, L = beam.section, beam.section_tip, beam.length
    width, height = a.width + x * (b.width - a.width), a.height + x * (b.height - a.height)
    m = STEEL.density * width * height
    EI = STEEL.E * (height * width**3 if direction == "y" else width * height**3) / 12
    basis = shapes.Polynomial().basis(16)
    phi, curvature, u, s = basis.values(x), basis.values(x, 2), basis.values(1.0)[0], basis.values(1.0, 1)[0] / L
    M = (phi.T * (w * m * L)) @ phi + load.mass * np.outer(u, u) + load.inertia * np.outer(s, s)
    M += load.first_moment * (np.outer(u, s) + np.outer(s, u))
    K = (curvature.T * (w * EI / L**3)) @ curvature
    return np.sqrt(eigh(K, M, eigvals_only=True)[:count])


@pytest.mark.parametrize("direction", ["y", "z"])
@pytest.mark.parametrize("load", [TipLoad(), TipLoad(5.0, 0.4, 0.9)])
def test_modes_of_a_tapered_beam(direction, load):
    """Each mode's Rayleigh quotient is the frequency of a Ritz model with polynomials."""
    beam = tapered(0.5)
    basis = shapes.ModesOf(beam, direction, load).basis(4)
    x, w = shapes.quadrature(basis)
    p = beam.profile(x)
    EI, L = p.EI_y if direction == "y" else p.EI_z, beam.length
    phi, curvature, u, s = basis.values(x), basis.values(x, 2), basis.values(1.0)[0], basis.values(1.0, 1)[0] / L
    M = (phi.T * (w * p.m * L)) @ phi + load.mass * np.outer(u, u) + load.inertia * np.outer(s, s)
    M += load.first_moment * (np.outer(u, s) + np.outer(s, u))
    K = (curvature.T * (w * EI / L**3)) @ curvature
    d = np.sqrt(np.diag(M))
    close(M, np.diag(d**2), np.outer(d, d), atol=1e-8)
    close(K, np.diag(np.diag(K)), np.sqrt(np.outer(np.diag(K), np.diag(K))), atol=1e-6)
    np.testing.assert_allclose(np.sqrt(np.diag(K)) / d, ritz(beam, direction, load, 4), rtol=2e-6)


def test_a_sharp_wedge_and_a_cone():
    """Textbook values of omega L^2 sqrt(rho A / EI) at the base: wedge 5.315, 15.207; cone 8.719, 21.146.

    Naguleswaran, J. Sound Vib. 172 (1994); the tips are cut where the beam is 1/500 thick.
    """
    wedge = Beam(length=1.5, material=STEEL, section=Box(width=0.04, height=0.06),
                 section_tip=Box(width=0.04, height=0.06 / 500))  # fmt: skip
    cone = Beam(length=1.5, material=STEEL, section=Rod(diameter=0.05), section_tip=Rod(diameter=0.05 / 500))
    for beam, wanted in [(wedge, (5.3151, 15.2072)), (cone, (8.7193, 21.1457))]:
        basis = shapes.fitted("clamped-free", beam, "z").basis(2)
        x, w = shapes.quadrature(basis)
        p = beam.profile(x)
        K = (basis.values(x, 2).T ** 2 * (w * p.EI_z)).sum(axis=1)
        M = (basis.values(x).T ** 2 * (w * p.m)).sum(axis=1)
        np.testing.assert_allclose(np.sqrt(K / M * beam.m / beam.stiffness["z"]), wanted, rtol=5e-3)


def test_a_taper_of_nothing_is_a_uniform_beam():
    beam, x = tapered(1.0), np.linspace(0, 1, 41)
    ours = shapes.fitted("clamped-free", beam, "y").basis(5).values(x)
    close(ours, shapes.ClampedFree().basis(5).values(x), atol=1e-5)
    load = TipLoad(3.0, 0.5, 0.4)
    modes = shapes.fitted("clamped-mass", beam, "y", load).basis(5).values(x)
    uniform = beam.replace(section_tip=None)
    close(modes, shapes.fitted("clamped-mass", uniform, "y", load).basis(5).values(x), atol=1e-5)
    given = shapes.fitted({"family": "hermite-modes", "mass": 3.0}, uniform, "y", load).basis(5).values(x)
    exact = shapes.fitted({"family": "clamped-mass", "mass": 3.0}, uniform, "y", load).basis(5).values(x)
    close(given, exact, atol=1e-5)


def test_what_a_tapered_beam_is_fitted_with():
    load = TipLoad(3.0, 0.5, 0.4)
    assert shapes.fitted("clamped-free", tapered(0.5), "y", load).load == TipLoad()
    assert shapes.fitted("clamped-mass", tapered(0.5), "z", load).load == load
    assert shapes.fitted({"family": "clamped-mass", "mass": 1}, tapered(0.5), "z", load).load == TipLoad(mass=1.0)
    assert shapes.fitted("polynomial", tapered(0.5), "y", load) == shapes.Polynomial()
    assert shapes.fitted(carrying(1, 0, 0), tapered(0.5), "y", load) == carrying(1, 0, 0)


# -- free-form ---------------------------------------------------------------------------------------------------------


def test_functions_of_x_and_their_derivatives():
    """A polynomial, the same with derivatives, and the clamped-free mode from its values alone."""
    x = np.linspace(0, 1, 33)
    mode = shapes.ClampedFree().basis(1)
    family = shapes.FreeForm(functions=[
        lambda x: 3 * x**2 - x**3,
        lambda x, n: [3 * x**2 - x**3, 6 * x - 3 * x**2, 6 - 6 * x, -6 + 0 * x][n],
        lambda x: mode.values(x)[:, 0],
    ])  # fmt: skip
    basis = family.basis(3)
    for n in range(4):
        values = basis.values(x, n)
        close(values[:, 0], values[:, 1], atol=1e-11)
        close(values[:, 2], mode.values(x, n)[:, 0], atol=1e-8)
    close(basis.values(1.0)[0], 1.0)


def test_samples_of_a_quintic_are_the_quintic():
    p = np.polynomial.Polynomial([0, 0, 1.0, 2.0, -1.0, 0.3])
    x = np.linspace(0, 1, 9) ** 1.3
    basis = shapes.family({"family": "free-form", "x": x, "values": [p(x)], "scaled": False}).basis(1)
    t = np.linspace(0, 1, 40)
    for n in range(4):
        close(basis.values(t, n)[:, 0], p.deriv(n)(t) if n else p(t), atol=1e-9)


def test_samples_converge_to_the_shape():
    """A spline of fifth degree: error of phi''' as h^3 at least."""
    mode, t, errors = shapes.ClampedFree().basis(2), np.linspace(0, 1, 333), []
    for count in (16, 31, 61):
        x = np.linspace(0, 1, count)
        basis = shapes.FreeForm(x=x, values=mode.values(x).T).basis(2)
        close(basis.values(0.0, 1), 0.0, atol=1e-11)
        errors.append([np.abs(basis.values(t, n) - mode.values(t, n)).max() for n in (0, 3)])
    errors = np.array(errors)
    assert errors[-1, 0] < 1e-8 and errors[-1, 1] < 2e-4 * shapes.roots(2)[1] ** 3
    assert (np.log2(errors[:-1] / errors[1:]) > [5, 2.7]).all()


def test_a_pinned_free_form_may_turn_at_the_hub():
    family = shapes.FreeForm(functions=[lambda x: np.sin(np.pi * x)], pinned=True)
    x = np.linspace(0, 1, 11)
    close(family.basis(1).values(x), shapes.PinnedPinned().basis(1).values(x), atol=1e-12)
    table = {"family": "free-form", "x": np.linspace(0, 1, 30), "values": [np.sin(np.linspace(0, 3, 30))]}
    assert shapes.family({**table, "pinned": True}).basis(1).values(0.0, 1) > 1


def test_a_shape_that_leaves_the_tip_starts_upwards():
    """phi(1) = 0: the slope at the hub decides, not the curvature there."""
    basis = shapes.FreeForm(functions=[lambda x: 3 * x * (x - 1)], pinned=True).basis(1)
    assert basis.values(0.5) == pytest.approx(1.0) and basis.values(0.0, 1) == pytest.approx(4.0)


def test_scaling_is_optional():
    square = shapes.FreeForm(functions=[lambda x: -4 * x**2], scaled=False)
    assert square.basis(1).values(1.0) == pytest.approx(-4.0)
    assert square.replace(scaled=True).basis(1).values(1.0) == pytest.approx(1.0)


# -- descriptions ------------------------------------------------------------------------------------------------------

FAULTS = [
    ({"shapes": "clamped"},
     "shapes is 'clamped'; did you mean 'clamped-free' or 'clamped-mass'? Known families are "
     "'clamped-free', 'clamped-mass', 'clamped-loaded', "
     "'pinned-pinned', 'pinned-free', 'clamped-pinned', 'polynomial', 'craig-bampton', 'hermite', 'hermite-modes', "
     "'free-form', or a family object"),
    ({"shapes": "free-form"}, "shapes is 'free-form'; it must be a table "),
    ({"shapes": {}}, "shapes.family is missing; known families are 'clamped-free', "),
    ({"shapes": {"family": "wavy"}}, "shapes.family is 'wavy'; known families are 'clamped-free', "),
    ({"shapes": {"family": 3}}, "shapes.family is 3; known families are "),
    ({"shapes": {"family": "polynomial", "mass": 1}}, "shapes: unknown key 'mass'; allowed keys are family"),
    ({"shapes": {"family": "clamped-mass", "mas": 1}},
     "shapes: unknown key 'mas'; did you mean 'mass'? Allowed keys are family, mass_ratio, "),
    ({"shapes": {"family": "clamped-mass", "mass": -1}}, "shapes.mass is -1.0 kg; it must be zero or positive"),
    ({"shapes": {"family": "clamped-mass", "inertia": -1}},
     "shapes.inertia is -1.0 kg m^2; it must be zero or positive"),
    ({"shapes": {"family": "clamped-mass", "first_moment": "1"}},
     "shapes.first_moment is '1'; it must be a number in kg m"),
    ({"shapes": {"family": "clamped-mass", "mass": 1, "inertia": 1, "first_moment": 2}},
     "shapes.first_moment is 2.0 kg m; its square must be at most mass times inertia, 1.0 kg^2 m^2"),
    ({"shapes": {"family": "clamped-mass", "tip": "manual"}}, "shapes.tip is 'manual'; it must be 'auto'"),
    ({"shapes": {"family": "clamped-mass", "mass_ratio": -2}},
     "shapes.mass_ratio is -2.0; it must be zero or positive"),
    ({"shapes": {"family": "clamped-mass", "mass_ratio": 1, "mass": 1}},
     "shapes.mass is given together with a ratio; give either values in SI units or ratios"),
    ({"shapes": {"family": "clamped-mass", "mass_ratio": 1, "moment_ratio": 1}},
     "shapes.moment_ratio is 1.0; its square must be at most mass_ratio times inertia_ratio, 0.0"),
    ({"shapes": {"family": "clamped-loaded", "mass": -1}}, "shapes.mass is -1.0 kg; it must be zero or positive"),
    ({"shapes": {"family": "clamped-loaded", "mass": 1, "mass_ratio": 1}},
     "shapes.mass is given together with mass_ratio; give only one"),
    ({"shapes": {"y": "polynomial", "w": "polynomial"}},
     "shapes has the unknown key 'w'; allowed keys are y, z, torsion, axial"),
    ({"shapes": {"Y": "polynomial"}},
     "shapes has the unknown key 'Y'; did you mean 'y'? Allowed keys are y, z, torsion, axial"),
    ({"shapes": {"x": shapes.Polynomial()}}, "shapes has the unknown key 'x'; allowed keys are y, z, torsion, axial"),
    ({"shapes": {"mass": 1}}, "shapes.family is missing; known families are 'clamped-free', "),
    ({"shapes": {"family": "polynomial", "y": "hermite"}}, "shapes: unknown key 'y'; allowed keys are family"),
    ({"shapes": {"y": 3}}, "shapes.y is 3; it must be the name of a family or an object with a method 'basis'"),
    ({"shapes": {"z": "clamped"}}, "shapes.z is 'clamped'; did you mean 'clamped-free' or 'clamped-mass'"),
    ({"shapes": {"z": "free-form"}}, "shapes.z is 'free-form'; it must be a table "),
    ({"shapes": {"y": {"mass": 1}}}, "shapes.y.family is missing; known families are 'clamped-free', "),
    ({"shapes": {"y": {"family": "clamped-mass", "mass": -1}}},
     "shapes.y.mass is -1.0 kg; it must be zero or positive"),
    ({"shapes": {"y": {"family": "clamped-mass", "mas": 1}}},
     "shapes.y: unknown key 'mas'; did you mean 'mass'? Allowed keys are family, mass_ratio, "),
    ({"shapes": "fixed-free"}, "shapes is 'fixed-free', which is not for y; known families are 'clamped-free', "),
    ({"shapes": {"y": "linear-elements"}}, "shapes.y is 'linear-elements', which is not for y; known families are "),
    ({"shapes": {"torsion": "clamped-free"}}, "shapes.torsion is 'clamped-free', which is not for torsion; known "
     "families for torsion are 'fixed-free', 'fixed-loaded', 'polynomial', 'linear-elements', 'free-form', or a "
     "family object"),
    ({"shapes": {"axial": {"family": "hermite"}}}, "shapes.axial.family is 'hermite'; known families for axial are "),
    ({"shapes": {"axial": {"mass": 1}}}, "shapes.axial.family is missing; known families for axial are 'fixed-free', "),
    ({"shapes": {"axial": "sines"}}, "shapes.axial is 'sines'; known families for axial are 'fixed-free', "),
    ({"shapes": {"torsion": shapes.Polynomial()}},
     "shapes.torsion is a Polynomial, which is for y or z; known families for torsion are "),
    ({"shapes": {"y": shapes.RodPolynomial()}},
     "shapes.y is a RodPolynomial, which is for torsion or axial; known families are "),
    ({"shapes": {"torsion": shapes.ModesOf(None, "y")}}, "shapes.torsion is a ModesOf, which is for y or z; "),
    ({"shapes": {"torsion": {"family": "fixed-loaded", "load": -1}}},
     "shapes.torsion.load is -1.0 kg m^2, or kg; it must be zero or positive"),
    ({"shapes": {"torsion": {"family": "fixed-loaded", "load_ratio": -1}}},
     "shapes.torsion.load_ratio is -1.0; it must be zero or positive"),
    ({"shapes": {"torsion": {"family": "fixed-loaded", "load_ratio": 1, "load": 1}}},
     "shapes.torsion.load is given together with load_ratio; give only one"),
    ({"shapes": {"z": "hermite"}, "modes": {"y": 3, "z": 3}},
     "modes.z is 3; each element has two functions, so the number must be even"),
    ({"shapes": {"torsion": {**TABLE, "values": [[1 + x for x in TABLE["x"]]]}}},
     "shapes.torsion.values[0] is 1 at the hub; it must be 0 there"),
    ({"shapes": {"axial": TABLE}, "modes": {"axial": 3}, "EA": 1.0},
     "modes.axial is 3; the free-form family has only 2"),
    ({"shapes": "hermite", "modes": {"y": 4, "z": 3}},
     "modes.z is 3; each element has two functions, so the number must be even"),
    ({"shapes": TABLE, "modes": {"y": 3}}, "modes.y is 3; the free-form family has only 2"),
    ({"shapes": {**TABLE, "values": [TABLE["x"]]}},
     "shapes.values[0] has the slope 1 at the hub; it must be 0 there, or pinned = true"),
    ({"shapes": {**TABLE, "values": [[0.1 + x**2 for x in TABLE["x"]]]}},
     "shapes.values[0] is 0.1 at the hub; it must be 0 there"),
    ({"shapes": {**TABLE, "pinned": True, "values": [[0.1 + x for x in TABLE["x"]]]}},
     "shapes.values[0] is 0.1 at the hub; it must be 0 there"),
    ({"shapes": {**TABLE, "values": [[0.0] * 41]}}, "shapes.values[0] is zero everywhere"),
    ({"shapes": {**TABLE, "values": [[0.0] * 40]}},
     "shapes.values[0] has 40 values; it must have 41, one for each x"),
    ({"shapes": {**TABLE, "values": [[0.0, "a"]]}}, "shapes.values[0][1] is 'a'; it must be a number"),
    ({"shapes": {**TABLE, "values": 3}}, "shapes.values is 3; it must be a list of lists of numbers"),
    ({"shapes": {**TABLE, "x": [0, 0.5, 1]}}, "shapes.x has 3 points; it must have at least 7"),
    ({"shapes": {**TABLE, "x": [0, 1, 2, 3, 4, 5, 6]}}, "shapes.x is [0.0, 1.0, "),
    ({"shapes": {"family": "free-form", "x": TABLE["x"]}}, "shapes.functions are missing; give either functions "),
    ({"shapes": {"family": "free-form", "values": TABLE["values"]}},
     "shapes.x must be given with values, and only with values"),
    ({"shapes": {**TABLE, "functions": [np.square]}}, "shapes.functions are given together with values; "),
    ({"shapes": {**TABLE, "pinned": 1}}, "shapes.pinned is 1; it must be true or false"),
    ({"shapes": {"family": "free-form", "functions": ["x**2"]}},
     "shapes.functions[0] is 'x**2'; it must be a function f(x) or f(x, derivative)"),
    ({"shapes": {"family": "free-form", "functions": "x**2"}},
     "shapes.functions is 'x**2'; it must be a list of functions"),
    ({"shapes": {"family": "free-form", "functions": [np.square, np.sin]}},
     "shapes.functions[1] has the slope 1 at the hub; it must be 0 there, or pinned = true"),
    ({"shapes": {"family": "free-form", "functions": [np.cos]}},
     "shapes.functions[0] is 1 at the hub; it must be 0 there"),
    ({"shapes": {"family": "free-form", "functions": [lambda x: np.abs(x - 0.5) - 0.5]}},
     "shapes.functions[0] is not smooth enough to differentiate; give it as f(x, derivative)"),
    ({"shapes": {"family": "free-form", "functions": [lambda x: 1 / 0]}},
     "shapes.functions[0] fails with ZeroDivisionError: division by zero; it is called with an array x"),
    ({"shapes": {"family": "free-form", "functions": [lambda x: x[:2]]}},
     "shapes.functions[0] must give one finite number, at most 1e+40 in size, for every x of an array"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "wanted"), FAULTS, ids=[wanted[:50] for _, wanted in FAULTS])
def test_a_wrong_family_is_named_with_its_link(changes, wanted):
    body = {"type": "beam", "length": 2.0, "mass": 3.0, "EI": 40.0, "modes": {"y": 2}, **changes}
    with pytest.raises(DescriptionError) as caught:
        Arm(name="x", links=[{"name": "forearm", "body": body}])
    line = str(caught.value)
    assert line.startswith(f"link 'forearm': {wanted}") and line.isprintable()


def test_a_family_of_its_own_is_named_too():
    with pytest.raises(DescriptionError, match=r"^ClampedMass: mass is -1.0 kg; it must be zero or positive$"):
        shapes.ClampedMass(mass=-1)
    with pytest.raises(DescriptionError, match=r"^FreeForm: functions\[0\] has the slope 1 at the hub"):
        shapes.FreeForm(functions=[np.sin])
    with pytest.raises(DescriptionError, match=r"^shapes\.mass is -1.0 kg"):
        shapes.family({"family": "clamped-mass", "mass": -1})
    with pytest.raises(DescriptionError, match=r"^hermite: count is 3; each element has two functions"):
        shapes.Hermite().basis(3)
    with pytest.raises(DescriptionError, match=r"^free-form: count is 2; the free-form family has only 1"):
        shapes.FreeForm(functions=[np.square]).basis(2)
    with pytest.raises(DescriptionError, match=r"^clamped-mass: mass_ratio is inf"):
        shapes.fitted("clamped-mass", BEAM, "y", TipLoad(mass=np.inf))


def arm(family):
    body = Beam(length=2.0, mass=3.0, EI=40.0, modes={"y": 2}, shapes=family)
    return Arm(name="x", links=[Link(name="a", body=body)])


@pytest.mark.parametrize(
    "family",
    ["clamped-mass", {"family": "clamped-mass", "mass": 0.1, "inertia": 0.0, "first_moment": 0.0},
     {"family": "clamped-loaded", "mass_ratio": 4.12475}, {"family": "polynomial"}, TABLE, carrying(1, 1, 0.5),
     {"y": "polynomial", "torsion": {"family": "fixed-loaded", "load": 0.3}},
     {"z": TABLE, "torsion": TABLE, "axial": shapes.LinearElements(), "y": {"family": "clamped-mass", "mass": 1}}],
)  # fmt: skip
def test_a_family_survives_the_canonical_form(family):
    one = arm(family)
    assert Arm.from_json(one.canonical()) == one and Arm.from_json(one.canonical()).canonical() == one.canonical()


def test_functions_are_told_apart_by_their_values():
    one, same, other = (
        arm(shapes.FreeForm(functions=[np.square, f])).canonical()
        for f in (lambda x: x**3, lambda x: x**3, lambda x: x**4)
    )
    assert one == same != other
    with pytest.raises(DescriptionError, match=r"^link 'a': shapes.functions is "):
        Arm.from_json(one)


def test_a_tip_that_moves_most_moves_by_one_to_the_last_bit():
    """Else rounding makes links that are alike differ, and long chains lose their loops (test_tape)."""
    for mu, iota in np.random.default_rng(7).uniform(0.01, 20, (200, 2)):
        assert carrying(mu, iota * 1e-3, 0.0).basis(2).values(1.0)[0, 0] == 1.0


@pytest.mark.parametrize("direction", ["y", "torsion"])
def test_what_a_family_says_of_loads_is_true(direction):
    """The shapes of one that does not follow loads are the same with any; some of either kind are bundled."""
    classical = Beam(length=0.8, mass=0.5, EI=3.0, GJ=2.0, polar_inertia=1e-3, modes={"y": 2, "torsion": 2})
    beams = (
        [classical] if direction == "torsion" else [classical, classical.replace(rotary_inertia={"y": 0.01, "z": 0.01})]
    )
    x, found = np.linspace(0.1, 1.0, 5), set()
    for name, beam in product(shapes.known(direction), beams):
        loads = shapes.NO_LOAD, shapes.TipLoad(mass=0.7, inertia=0.2)
        try:
            values = [shapes.fitted(name, beam, direction, load).basis(2).values(x) for load in loads]
        except DescriptionError:  # the family needs more than a name
            continue
        found.add(shapes.may_follow_load(name, direction))
        assert shapes.may_follow_load(name, direction) or np.array_equal(*values), name
    assert found == {False, True}
