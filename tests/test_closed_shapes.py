"""Closed forms of modal integrals against quadrature, many digits, and the page that prints them."""

import math
import pickle
import re
from fractions import Fraction
from pathlib import Path

import mpmath
import numpy as np
import pytest
import sympy
from sympy.parsing import sympy_parser

from flexarm import shapes
from flexarm.errors import DescriptionError
from flexarm.shapes import closed_form, constants, rational
from flexarm.shapes.closed import PAIRS, QUANTITIES

TOLERANCE = 1e-12  # of mode 15, whose curvature is 5e6; the rounding of quadrature is 1e-14
MODES = [shapes.ClampedFree(), shapes.PinnedPinned(), shapes.PinnedFree(), shapes.ClampedPinned(), shapes.FixedFree()]
RATIONAL = [shapes.Polynomial(), shapes.Hermite(), shapes.RodPolynomial(), shapes.LinearElements()]
WITHOUT = [
    shapes.ClampedMass(mass_ratio=1.0), shapes.ClampedLoaded(mass_ratio=1.0), shapes.HermiteModes(mass=1.0),
    shapes.FreeForm(functions=[np.square]), shapes.ModesOf(None, "y"), shapes.FixedLoaded(load_ratio=1.0), object(),
]  # fmt: skip
LATEX = (
    *sympy_parser.standard_transformations, sympy_parser.convert_xor, sympy_parser.implicit_multiplication_application,
)  # fmt: skip
PAGE = (Path(__file__).parents[1] / "docs/lookup/modal-integrals.md").read_text(encoding="utf-8")
families = pytest.mark.parametrize("family", MODES + RATIONAL, ids=lambda family: type(family).__name__)
modes = pytest.mark.parametrize("family", MODES, ids=lambda family: family.name)


def measured(family, count):
    """Every quantity by quadrature, and its unit: what bounds it, so that a zero too can be measured."""
    basis = family.basis(count)
    x, w = shapes.quadrature(basis)
    strain = basis.values(x, 1 if family.directions == shapes.RODS else 2)
    phi, slope = basis.values(x), basis.values(x, 1)
    c, k = (phi.T * w) @ phi, (strain.T * w) @ strain
    size, stiff, steep = np.sqrt(np.diag(c)), np.sqrt(np.diag(k)), np.abs(slope).max(axis=0)
    return {
        "mean": (w @ phi, size),
        "moment": ((w * x) @ phi, size),
        "product": (c, np.outer(size, size)),
        "curvature": (k, np.outer(stiff, stiff)),
        "tip": (basis.values(1.0)[0], np.ones(count)),
        "tip slope": (basis.values(1.0, 1)[0], steep),
        "root slope": (basis.values(0.0, 1)[0], steep),
    }


def counts(family):
    most = [15] if family.name in ("pinned-pinned", "clamped-free") else []
    return [n for n in [*range(1, 7), *most] if family.name != "hermite" or n % 2 == 0]


def places(quantity, count):
    every = range(1, count + 1)
    return [(j, k) for j in every for k in every] if quantity in PAIRS else [(j,) for j in every]


@families
@pytest.mark.parametrize("quantity", QUANTITIES)
def test_a_closed_form_is_what_quadrature_gives(family, quantity):
    for count in counts(family):
        value, unit = measured(family, count)[quantity]
        for place in places(quantity, count):
            form, at = closed_form(family, quantity, count, *place), tuple(i - 1 for i in place)
            if form.text == "0":
                assert form.value == 0
                assert abs(value[at]) <= TOLERANCE * unit[at]
            else:
                assert abs(form.value - value[at]) <= TOLERANCE * abs(value[at]), (count, place)


@families
@pytest.mark.parametrize("quantity", QUANTITIES)
def test_what_quadrature_gives_as_zero_is_the_exact_zero(family, quantity):
    """No form is a sum that merely evaluates to nothing."""
    value, unit = measured(family, 6)[quantity]
    for place in places(quantity, 6):
        at = tuple(i - 1 for i in place)
        assert (abs(value[at]) <= TOLERANCE * unit[at]) == (closed_form(family, quantity, 6, *place).text == "0")


@families
def test_text_and_latex_name_the_constants_of_the_form_and_nothing_else(family):
    known = {constant.name: constant for constant in constants(family, 4)}
    for quantity in QUANTITIES:
        for place in places(quantity, 4):
            form = closed_form(family, quantity, 4, *place)
            assert {symbol.name for symbol in form.expression.free_symbols} == {c.name for c in form.constants}
            assert all(known[c.name] == c and c.latex in form.latex for c in form.constants)
            assert pickle.loads(pickle.dumps(form)) == form


def test_forms_read_as_in_the_textbook():
    def said(family, quantity, *place):
        form = closed_form(family, quantity, 6, *place)
        return form.text, form.latex

    free, pinned = shapes.ClampedFree(), shapes.PinnedPinned()
    assert said(free, "mean", 1) == ("sigma_1/beta_1", r"\frac{\sigma_{1}}{\beta_{1}}")
    assert said(free, "moment", 2) == ("-1/beta_2**2", r"- \frac{1}{\beta_{2}^{2}}")
    assert said(free, "curvature", 2, 2) == ("beta_2**4/4", r"\frac{\beta_{2}^{4}}{4}")
    assert said(pinned, "mean", 1) == ("2/pi", r"\frac{2}{\pi}")
    assert said(pinned, "mean", 3) == ("2/(3*pi)", r"\frac{2}{3 \pi}")
    assert said(pinned, "mean", 4) == ("0", "0")
    assert said(shapes.Polynomial(), "moment", 2) == ("-1/20", r"- \frac{1}{20}")


# -- constants ---------------------------------------------------------------------------------------------------------


@modes
def test_constants_are_listed_kind_by_kind(family):
    names = {"clamped-free": "beta sigma", "pinned-free": "beta", "clamped-pinned": "beta sigma N"}
    expected = [f"{name}_{j}" for name in names.get(family.name, "").split() for j in (1, 2, 3)]
    assert [constant.name for constant in constants(family, 3)] == expected
    assert constants(family, 0) == ()


@modes
def test_constants_satisfy_their_equations(family):
    known = {constant.name: constant.value for constant in constants(family, 15)}
    for constant in constants(family, 15):
        left, right = constant.equation.split(" = ")
        if "max" in right:
            continue
        with mpmath.workdps(30):
            # a wave number is a double: off by an ulp, which cosh magnifies
            sides = [sympy.sympify(side).subs(known).evalf(30) for side in (left, right)]
        assert abs(sides[0] / sides[1] - 1) < 1e-13 * (1 if "beta" not in constant.name else math.cosh(constant.value))
        assert constant.latex == rf"\{constant.name.replace('_', '_{')}}}"
        assert constant.latex in constant.equation_latex


@pytest.mark.parametrize("j", [1, 2, 5, 15])
def test_the_scale_of_clamped_pinned_makes_the_largest_deflection_one(j):
    beta, sigma, N = constants(shapes.ClampedPinned(), 15)[j - 1 :: 15]
    assert (beta.name, sigma.name, N.name) == (f"beta_{j}", f"sigma_{j}", f"N_{j}")
    with mpmath.workdps(80):
        b = mpmath.findroot(lambda t: mpmath.sin(t) * mpmath.cosh(t) - mpmath.cos(t) * mpmath.sinh(t), beta.value)

        def psi(x):
            ratio = mpmath.coth(b)
            return mpmath.cosh(b * x) - mpmath.cos(b * x) - ratio * (mpmath.sinh(b * x) - mpmath.sin(b * x))

        top = max((mpmath.mpf(i) / 600 for i in range(601)), key=lambda x: abs(psi(x)))
        top = mpmath.findroot(lambda x: mpmath.diff(psi, x), (top, top + 1e-3))
        assert float(1 / abs(psi(top))) == pytest.approx(N.value, rel=1e-13)
    right = N.equation.split("max|")[1].rstrip("|")
    x = 0.3
    named = sympy.sympify(right, {"x": x, **{c.name: c.value for c in (beta, sigma)}})
    value = shapes.ClampedPinned().basis(j).values(x)[0, -1]
    assert N.value * float(named) == pytest.approx(value, rel=0, abs=1e-12 * math.cosh(beta.value * x))


# -- fractions ---------------------------------------------------------------------------------------------------------


def exact(quantity, phi, psi, x):
    """A quantity of two polynomials or piecewise polynomials, by SymPy."""
    integrand = {
        "mean": phi, "moment": x * phi, "product": phi * psi, "curvature": sympy.diff(phi, x, 2) * sympy.diff(psi, x, 2)
    }  # fmt: skip
    end = {"tip": (phi, 1), "tip slope": (sympy.diff(phi, x), 1), "root slope": (sympy.diff(phi, x), 0)}
    if quantity in end:
        f, at = end[quantity]
        return f.subs(x, at)
    return sympy.integrate(sympy.expand(integrand[quantity]), (x, 0, 1))


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_fractions_of_polynomials_are_exact(quantity):
    x = sympy.Symbol("x")
    phi = [sympy.expand(x**2 * sympy.jacobi(k, 0, 4, 2 * x - 1)) for k in range(4)]
    for place in places(quantity, 4):
        j, k = place[0], place[-1]
        form = closed_form(shapes.Polynomial(), quantity, 4, *place)
        assert form.expression == exact(quantity, phi[j - 1], phi[k - 1], x)
        assert form.expression.is_Rational


@pytest.mark.parametrize("count", [2, 4, 6])
def test_fractions_of_finite_elements_are_the_assembled_element_matrices(count):
    """The element's matrices as every textbook prints them."""
    n = count // 2
    mass = np.array([[156, 22, 54, -13], [22, 4, 13, -3], [54, 13, 156, -22], [-13, -3, -22, 4]]) * Fraction(1, 420)
    stiffness = np.array([[12, 6, -12, 6], [6, 4, -6, 2], [-12, -6, 12, -6], [6, 2, -6, 4]]) * Fraction(1)
    load = np.array([6, 1, 6, -1]) * Fraction(1, 12)
    ramp = np.array([9, 2, 21, -3]) * Fraction(1, 60)  # int xi N
    C, K = np.zeros((2, count + 2, count + 2), dtype=object)
    a, b = np.zeros((2, count + 2), dtype=object)
    for e in range(n):
        at = slice(2 * e, 2 * e + 4)
        C[at, at] += mass / n
        K[at, at] += stiffness * n**3
        a[at] += load / n
        b[at] += (e * load + ramp) / n**2
    for quantity, expected in {"product": C, "curvature": K, "mean": a, "moment": b}.items():
        for place in places(quantity, count):
            text = closed_form(shapes.Hermite(), quantity, count, *place).text
            assert Fraction(text) == expected[tuple(i + 1 for i in place)]


def test_finite_elements_hold_the_tip_in_their_last_node():
    ends = {q: [closed_form(shapes.Hermite(), q, 6, j).text for j in range(1, 7)] for q in QUANTITIES[4:]}
    assert ends == {
        "tip": ["0", "0", "0", "0", "1", "0"],
        "tip slope": ["0", "0", "0", "0", "0", "3"],
        "root slope": ["0", "0", "0", "0", "0", "0"],
    }


# -- recognised fractions ----------------------------------------------------------------------------------------------


def test_fractions_are_recognised_through_rounding():
    rng = np.random.default_rng(1)
    for numerator, denominator, ulps in rng.integers((-3000, 1, -3), (3001, 1001, 4), (2000, 3)).tolist():
        fraction = Fraction(numerator, denominator)
        value = float(fraction)  # rounds by half an ulp
        assert rational(value + ulps * math.ulp(value)) == fraction or numerator == 0
        assert rational(value) == fraction


@pytest.mark.parametrize(
    ("value", "fraction"),
    [
        (0.33333333333333337, (1, 3)),
        (1 / 6, (1, 6)),
        (0.25, (1, 4)),
        (-0.1, (-1, 10)),
        (0.0, (0, 1)),
        (172.0, (172, 1)),
    ],
)
def test_a_double_stands_for_a_fraction(value, fraction):
    assert rational(value) == Fraction(*fraction)


@pytest.mark.parametrize(
    "value", [math.pi, math.sqrt(2), 1 / 1001, 1e-17, 1 / 3 + 1e-15, math.nan, math.inf, -math.inf]
)
def test_a_double_that_is_no_small_fraction_stands_for_none(value):
    assert rational(value) is None


def test_largest_bounds_the_denominator():
    assert rational(1 / 7, largest=6) is None
    assert rational(1 / 1001, largest=1001) == Fraction(1, 1001)


def test_random_numbers_are_fractions_as_often_as_stated():
    numbers = np.random.default_rng(2).uniform(1, 2, 10_000).tolist()
    assert not any(rational(x) for x in numbers)
    largest = 10**7
    hits = sum(rational(x, largest) is not None for x in numbers)
    odds = 2.4 * largest**2 * math.ulp(1.0)
    assert hits == pytest.approx(odds * len(numbers), rel=0.2)  # 530, with a standard deviation of 22


# -- where there is none -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", WITHOUT, ids=lambda family: type(family).__name__)
@pytest.mark.parametrize("quantity", QUANTITIES)
def test_families_without_closed_forms_fall_back_to_numbers(family, quantity):
    assert closed_form(family, quantity, 2, *places(quantity, 2)[1]) is None
    assert constants(family, 2) == ()


@pytest.mark.parametrize("family", [shapes.ClampedFree(), shapes.Polynomial(), WITHOUT[0]])
@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            ("slope", 2, 1),
            "unknown quantity 'slope'; did you mean 'tip slope'? Known quantities are " + ", ".join(QUANTITIES),
        ),
        (("mean", 2, 3), "mean: j is 3; it must be an integer from 1 to 2"),
        (("tip", 2, 0), "tip: j is 0; it must be an integer from 1 to 2"),
        (("tip", 2, True), "tip: j is True; it must be an integer from 1 to 2"),
        (("mean", 2, 1.0), "mean: j is 1.0; it must be an integer from 1 to 2"),
        (("product", 2, 1, 3), "product: k is 3; it must be an integer from 1 to 2"),
        (("curvature", 2, 1), "curvature: k is None; it must be an integer from 1 to 2"),
        (("moment", 2, 1, 1), "moment: k is 1; it must be None, because the quantity belongs to one shape"),
    ],
)
def test_a_wrong_question_is_one_line(family, given, message):
    with pytest.raises(DescriptionError) as error:
        closed_form(family, *given)
    assert str(error.value) == message


def test_an_odd_number_of_elements_functions_is_refused():
    with pytest.raises(
        DescriptionError, match="hermite: count is 3; each element has two functions, so the number must be even"
    ):
        closed_form(shapes.Hermite(), "mean", 3, 1)


def test_any_integer_counts_a_shape():
    assert closed_form(shapes.PinnedPinned(), "mean", np.int64(3), np.int64(3)).text == "2/(3*pi)"


# -- the page ----------------------------------------------------------------------------------------------------------


def cells(family):
    """The closed forms in the page's row of a family, without the name."""
    row = next(line for line in PAGE.splitlines() if line.startswith(f"| `{family.name}`") and line.count("|") == 9)
    return [cell.strip() for cell in row.strip("| ").split(" | ")][1:]


def printed(latex, j):
    """The value of a closed form printed in the page for any j."""
    text = re.sub(r"_j\b", f"_{j}", latex.strip("$")).replace("\\", "").replace("{", "(").replace("}", ")")
    return sympy_parser.parse_expr(text, {"j": sympy.Integer(j)}, LATEX)


@pytest.mark.parametrize("family", [*MODES, shapes.Polynomial()], ids=lambda family: family.name)
def test_the_page_prints_the_closed_forms(family):
    count = 6
    known = {constant.name: constant.value for constant in constants(family, count)}
    for quantity, latex in zip(QUANTITIES, cells(family), strict=True):
        for j in range(1, count + 1):
            place = (j, j) if quantity in PAIRS else (j,)
            if family.name == "polynomial" and quantity == "curvature":
                if j == 1:
                    continue
                place = (1, j)
            form, value = closed_form(family, quantity, count, *place), printed(latex, j)
            assert float(value.subs(known)) == pytest.approx(form.value, rel=1e-14, abs=0), (quantity, j)
            if family.name == "polynomial":
                assert value == form.expression


def test_the_page_prints_the_constants():
    rows = [line.strip("| ").split(" | ") for line in PAGE.splitlines() if re.search(r"\d\.\d{6} \|$", line)]
    free, mixed = constants(shapes.ClampedFree(), 3), constants(shapes.ClampedPinned(), 3)
    assert constants(shapes.PinnedFree(), 3) == mixed[:3]
    values = [f"{constant.value:.6f}" for constant in (*free, *mixed)]
    assert [value for row in rows for value in row[-3:]] == values


def test_the_page_prints_stiffnesses_of_polynomials():
    found = re.findall(r"k_\{(\d)(\d)\} = ([\d/]+)", PAGE)
    assert len(found) == 4
    for j, k, text in found:
        assert closed_form(shapes.Polynomial(), "curvature", 3, int(j), int(k)).text == text


def test_the_page_s_python_runs():
    code = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL).group(1)
    names: dict = {}
    exec(code, names)
    form = names["form"]
    assert repr(form.text) in code and repr(form.latex) in code and f"{form.value:.4f}" in code
