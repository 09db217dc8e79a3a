"""Mode shapes against their boundary value problems, closed forms and 120-digit arithmetic."""

import pickle

import mpmath
import numpy as np
import pytest

import flexarm as fa
from flexarm import shapes
from flexarm.errors import DescriptionError

# Mode 40 has a wave number of 124, whose last bit is 1.4e-14: no double does better than this in sin(beta x).
# Errors of the n-th derivative are measured in units of beta^n.
TOLERANCE = 5e-14
FAMILIES = [shapes.ClampedFree(), shapes.FixedFree()]
MODES = [1, 2, 5, 12, 20, 40]
names = pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)


@pytest.fixture(autouse=True)
def many_digits():
    with mpmath.workdps(120):  # the textbook's form of mode 40 loses 54
        yield


def wave_number(name, k):
    guess = (2 * k - 1) * mpmath.pi / 2
    if name == "fixed-free":
        return guess
    return mpmath.findroot(lambda b: mpmath.cos(b) + mpmath.sech(b), 1.875 if k == 1 else guess)


def wave_numbers(name, count):
    return np.array([float(wave_number(name, k)) for k in range(1, count + 1)])


def exact(name, k):
    """Mode k as the textbooks print it, sigma from the free end, divided by its value there."""
    b = wave_number(name, k)
    if name == "fixed-free":
        return lambda x: mpmath.sin(b * x) / mpmath.sin(b)
    sigma = (mpmath.sinh(b) - mpmath.sin(b)) / (mpmath.cosh(b) + mpmath.cos(b))

    def phi(x):
        return mpmath.cosh(b * x) - mpmath.cos(b * x) - sigma * (mpmath.sinh(b * x) - mpmath.sin(b * x))

    return lambda x: phi(x) / phi(1)


def close(value, reference, unit=1.0):
    np.testing.assert_allclose(value / unit, reference / unit, rtol=0, atol=TOLERANCE)


def gram(basis, derivative, weight=lambda x: 1.0):
    x, w = shapes.quadrature(basis)
    phi = basis.values(x, derivative)
    return (phi.T * (w * weight(x))) @ phi


def test_roots_are_those_of_the_frequency_equation():
    np.testing.assert_allclose(shapes.roots(4), [1.87510407, 4.69409113, 7.85475744, 10.99554073], rtol=0, atol=5e-9)
    np.testing.assert_allclose(shapes.roots(60), wave_numbers("clamped-free", 60), rtol=3e-16)
    assert shapes.roots(0).shape == (0,)
    with np.errstate(all="raise", under="ignore"):
        assert shapes.roots(300)[-1] == 599 * (np.pi / 2)


@names
@pytest.mark.parametrize("derivative", range(4))
def test_values_agree_with_the_textbook_form_in_many_digits(family, derivative):
    x = np.concatenate([[0.0, 1.0], np.random.default_rng(1).random(9)])
    phi = family.basis(40).values(x, derivative)
    assert phi.shape == (11, 40)
    for k in MODES:
        unit = float(wave_number(family.name, k)) ** derivative
        reference = [float(mpmath.diff(exact(family.name, k), mpmath.mpf(point), derivative)) for point in x]
        close(phi[:, k - 1], np.array(reference), unit)


@names
def test_a_derivative_is_the_slope_of_the_one_before(family):
    basis, h = family.basis(6), 1e-3
    x = np.random.default_rng(2).uniform(0.1, 0.9, 20)
    for n in range(3):
        slope = sum(c * basis.values(x + j * h, n) for j, c in [(-2, 1), (-1, -8), (1, 8), (2, -1)]) / (12 * h)
        unit = wave_numbers(family.name, 6) ** (n + 1)
        # the truncation error of a five-point difference is (beta h)^4 / 30
        np.testing.assert_allclose(slope / unit, basis.values(x, n + 1) / unit, rtol=0, atol=1e-8)


def test_clamped_free_holds_its_boundary_conditions():
    basis, beta = shapes.ClampedFree().basis(40), shapes.roots(40)
    for x, n in [(0.0, 0), (0.0, 1), (1.0, 2), (1.0, 3)]:
        close(basis.values(x, n)[0], 0.0, beta**n)


def test_fixed_free_holds_its_boundary_conditions():
    basis = shapes.FixedFree().basis(40)
    close(basis.values(0.0)[0], 0.0)
    close(basis.values(1.0, 1)[0], 0.0, wave_numbers("fixed-free", 40))


@names
def test_the_tip_has_the_largest_deflection_and_it_is_plus_one(family):
    phi = family.basis(40).values(np.linspace(0, 1, 4001))
    np.testing.assert_array_equal(phi[-1], 1.0)
    assert np.abs(phi).max() <= 1 + TOLERANCE


@pytest.mark.parametrize("count", [1, 2, 3, 20, 40])
def test_clamped_free_modes_are_orthogonal_in_mass_and_stiffness(count):
    basis, beta = shapes.ClampedFree().basis(count), shapes.roots(count)
    close(gram(basis, 0), np.eye(count) / 4)
    close(gram(basis, 2), np.diag(beta**4) / 4, np.outer(beta**2, beta**2))


@pytest.mark.parametrize("count", [1, 2, 3, 20, 40])
def test_fixed_free_modes_are_orthogonal_in_mass_and_stiffness(count):
    basis, beta = shapes.FixedFree().basis(count), wave_numbers("fixed-free", count)
    close(gram(basis, 0), np.eye(count) / 2)
    close(gram(basis, 1), np.diag(beta**2) / 2, np.outer(beta, beta))


def test_clamped_free_first_moments_have_closed_forms():
    """beta^4 phi = phi'''' and twice by parts: int phi = -phi'''(0) / beta^4, int x phi = phi''(0) / beta^4."""
    basis, beta = shapes.ClampedFree().basis(40), shapes.roots(40)
    x, w = shapes.quadrature(basis)
    sign = np.where(np.arange(40) % 2, -1.0, 1.0)
    close(w @ basis.values(x), sign * np.tanh(beta / 2) ** sign / beta)
    close((w * x) @ basis.values(x), sign / beta**2)


def test_fixed_free_first_moments_have_closed_forms():
    basis, beta = shapes.FixedFree().basis(40), wave_numbers("fixed-free", 40)
    x, w = shapes.quadrature(basis)
    sign = np.where(np.arange(40) % 2, -1.0, 1.0)
    close(w @ basis.values(x), sign / beta)
    close((w * x) @ basis.values(x), 1 / beta**2)


@pytest.mark.parametrize(("count", "other"), [(1, 1), (2, 2), (3, 3), (4, 4), (7, 7), (20, 20), (20, 1), (0, 20)])
def test_quadrature_of_two_families_is_exact(count, other):
    """x^a phi_i^(m) psi_j^(n) against a rule with many more points."""
    bending, torsion = shapes.ClampedFree().basis(count), shapes.FixedFree().basis(other)
    x, w = shapes.quadrature(bending, torsion)
    t, weights = np.polynomial.legendre.leggauss(200)
    fine, fine_w = (1 + t) / 2, weights / 2
    for phi, m, psi, n in [
        (bending, 1, bending, 1),
        (bending, 0, torsion, 1),
        (bending, 3, bending, 2),
        (torsion, 0, torsion, 0),
    ]:
        unit = (max(count, other) * np.pi) ** (m + n)
        for a in range(3):
            value = (phi.values(x, m).T * (w * x**a)) @ psi.values(x, n)
            close(value, (phi.values(fine, m).T * (fine_w * fine**a)) @ psi.values(fine, n), unit)


@pytest.mark.parametrize(("i", "j"), [(1, 1), (2, 5), (4, 3)])
def test_second_moments_agree_with_many_digits(i, j):
    """int x^2 phi_i phi_j and int phi_i' phi_j', as payloads and foreshortening need them."""
    basis, beta = shapes.ClampedFree().basis(5), shapes.roots(5)
    moment, slope = gram(basis, 0, weight=lambda x: x**2)[i - 1, j - 1], gram(basis, 1)[i - 1, j - 1]
    phi, psi = exact("clamped-free", i), exact("clamped-free", j)
    with mpmath.workdps(30):
        close(moment, float(mpmath.quad(lambda x: x**2 * phi(x) * psi(x), [0, 1])))
        reference = mpmath.quad(lambda x: mpmath.diff(phi, x) * mpmath.diff(psi, x), [0, 1])
        close(slope, float(reference), beta[i - 1] * beta[j - 1])


class Ramp:
    """A shape with a kink: zero as far as `start`, then a straight line."""

    name = "ramp"

    def __init__(self, start):
        self.start = start

    def basis(self, count):
        return shapes.Basis(count, lambda x, n: np.maximum(x - self.start, 0)[:, None], (0.0, self.start, 1.0))


def test_quadrature_respects_the_kinks_of_every_basis():
    a, b = 0.3, 0.55
    first, second = Ramp(a).basis(1), Ramp(b).basis(1)
    x, w = shapes.quadrature(first, second)
    product = (first.values(x) * second.values(x))[:, 0]
    # int_b^1 (x - a)(x - b) with u = x - b
    close(w @ product, (1 - b) ** 3 / 3 + (b - a) * (1 - b) ** 2 / 2)


def test_quadrature_cuts_no_element_that_is_short_enough():
    nodes = tuple(np.linspace(0, 1, 31))
    hats = shapes.Basis(60, lambda x, n: np.zeros((x.size, 60)), nodes)
    assert shapes.quadrature(hats)[0].size == 30 * 16


def test_no_modes_at_all():
    basis = shapes.ClampedFree().basis(0)
    assert basis.values(np.linspace(0, 1, 5), 2).shape == (5, 0)
    for bases in [(), (basis,), (basis, shapes.FixedFree().basis(0))]:
        x, w = shapes.quadrature(*bases)
        close(w @ x**2, 1 / 3)


def test_a_basis_travels_to_another_process():
    basis = shapes.ClampedFree().basis(3)
    copy = pickle.loads(pickle.dumps(basis))
    np.testing.assert_array_equal(copy.values([0.2, 0.7], 1), basis.values([0.2, 0.7], 1))


@pytest.mark.parametrize("name", [name for name in shapes.FAMILIES if name != "free-form"])
def test_a_family_has_a_name(name):
    assert shapes.family(name) == shapes.FAMILIES[name]()
    assert shapes.family(name).name == name


def test_a_rod_does_not_bend():
    with pytest.raises(
        DescriptionError,
        match=r"unknown shapes 'fixed-free'; did you mean 'pinned-free'. Known families are 'clamped-free'",
    ):
        shapes.family("fixed-free")


def test_an_object_with_a_basis_is_a_family():
    mine = Ramp(0.4)
    assert shapes.family(mine) is mine


@pytest.mark.parametrize("wrong", ["clamped", "", "two\nlines", None, 3, ["clamped-free"], shapes.ClampedFree])
def test_an_unknown_family_is_one_line_that_lists_the_known(wrong):
    with pytest.raises(DescriptionError) as error:
        shapes.family(wrong)
    message = str(error.value)
    assert "\n" not in message
    assert all(repr(name) in message for name in shapes.FAMILIES)
    assert repr(wrong) in message or type(wrong).__name__ in message


@pytest.mark.parametrize("family", ["hermite-modes", "craig-bampton"])
def test_a_beam_that_bends_in_one_plane_needs_no_stiffness_in_the_other(family):
    shapes = {"family": family, "mass": 0.1} if family == "hermite-modes" else family
    beam = fa.Beam(length=1.0, mass=0.5, EI={"y": 10.0}, modes={"y": 1}, shapes=shapes)
    model = fa.Model(fa.Arm(name="one", links=[fa.Link(name="a", body=beam)]))
    assert np.isfinite(model.frequencies([0.0, 0.0])).all()


@pytest.mark.parametrize("breaks", [[[]], [[0.1]], [2.0], [-0.1]])
def test_breaks_of_a_quadrature_lie_on_the_beam(breaks):
    with pytest.raises(
        fa.DescriptionError,
        match=r"quadrature: breaks is .*; it must be a list of numbers from 0 to "
        r"1",
    ):
        shapes.quadrature(breaks=breaks)
