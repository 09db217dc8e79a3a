"""Canonical sums of products and harmonics, translated from CasADi, and their collection for a reader.

The other opinion is CasADi's own numbers, and SymPy for sums.
"""

from fractions import Fraction
from functools import reduce

import casadi as ca
import numpy as np
import pytest
import sympy as sp

from flexarm.closed_forms.collect import Writer, collected
from flexarm.closed_forms.ring import (
    Element,
    Limit,
    NoClosedForm,
    Ring,
    Term,
    TooManyTerms,
    inverse,
    negative,
    plus,
    power,
    times,
    translated,
)
from flexarm.errors import FlexarmError

ROUNDING = 1e-13  # relative to the sum of the terms' sizes: some hundred operations
A, B, C, X, Y, Z = (ca.SX.sym(name) for name in "abcxyz")
ANGLES = ("a", "b", "c")
NAMES = (*ANGLES, "x", "y", "z")
SYMBOLS = [A, B, C, X, Y, Z]
sin, cos, pi = ca.sin, ca.cos, np.pi


def ring(spare=("psi_1", "psi_2")):
    return Ring((*ANGLES, *spare))


def element(expression, over, limit=None) -> Element:
    """A CasADi expression as an element of the ring."""
    function = ca.Function("f", SYMBOLS, [ca.densify(ca.SX(expression))])
    return translated(function, NAMES, over, limit)[0]


def number(terms, values):
    """The sum of the terms, and the sum of their sizes."""
    sizes = []
    for term in terms:
        size = float(term.coefficient) * np.prod([values[name] ** e for name, e in term.powers])
        if term.kind:
            size *= {"cos": np.cos, "sin": np.sin}[term.kind](sum(k * values[name] for name, k in term.angles))
        sizes.append(size)
    return sum(sizes), np.abs(sizes).sum()


def assert_value(terms, expected, values):
    found, size = number(terms, values)
    assert abs(found - expected) <= ROUNDING * max(size, abs(expected))


# -- equal functions have equal elements -------------------------------------------------------------------------------

EQUAL = {
    "Pythagoras": (cos(A) ** 2 + sin(A) ** 2, 1),
    "Pythagoras of a sum": (X * cos(A - 2 * B) ** 2 + X * sin(A - 2 * B) ** 2, X),
    "fourth powers": (cos(A) ** 4 - sin(A) ** 4, cos(2 * A)),
    "double angle, sine": (2 * sin(A) * cos(A), sin(2 * A)),
    "double angle, cosine": (2 * cos(A) * cos(A) - 1, cos(A) ** 2 - sin(A) * sin(A)),
    "triple angle": (4 * cos(A) ** 3 - 3 * cos(A), cos(3 * A)),
    "cosine of a sum": (cos(A) * cos(B) - sin(A) * sin(B), cos(A + B)),
    "sine of a difference": (sin(A) * cos(B) - cos(A) * sin(B), sin(A - B)),
    "product of sines": (2 * sin(A) * sin(B), cos(A - B) - cos(A + B)),
    "product of three": (
        4 * cos(A) * cos(B) * cos(C),
        cos(A + B + C) + cos(A + B - C) + cos(A - B + C) + cos(B + C - A),
    ),
    "odd": (sin(-A), -sin(A)),
    "even": (cos(B - A), cos(A - B)),
    "quarter turn": (sin(A + pi / 2), cos(A)),
    "quarter turn back": (cos(A - pi / 2), sin(A)),
    "half turn": (sin(A + pi), -sin(A)),
    "three quarters": (cos(A + 3 * pi / 2), sin(A)),
    "whole turn": (sin(A - B + 2 * pi), sin(A - B)),
    "angle outside": (A * (cos(A) ** 2 - 1), -A * sin(A) ** 2),
    "square of a sum": ((X + Y) ** 2, X * X + 2 * X * Y + Y**2),
    "cancelled": ((X + Y) * (X - Y) + Y * Y, X**2),
    "Laurent": (X**-2 * Y / (X * Y**3), 1 / (X**3 * Y**2)),
    "negative exponent gone": (X**3 / X**3, 1),
    "mixed exponents": ((X / Y + Y / X) * X * Y, X**2 + Y**2),
    "quotient of harmonics": ((X * cos(A) ** 2 + X * sin(A) ** 2) / X, 1),
    "negated": (-(X - cos(A)), cos(A) - X),
    "a name for a sum": (sin(X + Y) ** 2 + cos(X + Y) ** 2, 1),
    "a name and its negative": (sin(-X - Y), -sin(X + Y)),
    "a name beside angles": (sin(A + X) * cos(B + X) - cos(A + X) * sin(B + X), sin(A - B)),
    "a constant angle": (cos(A + 0.3) ** 2 + sin(A + 0.3) ** 2, 1),
    "dyadic": (X / 2 + X / 4 - 0.75 * X, 0),
}


@pytest.mark.parametrize("name", EQUAL)
def test_equal_functions_have_equal_elements(name):
    one, other = EQUAL[name]
    over = ring()
    assert element(one, over) == element(other, over)
    assert element(one - other, over) == {}


@pytest.mark.parametrize("name", ["double angle, sine", "half turn", "Laurent", "odd", "square of a sum"])
def test_different_functions_have_different_elements(name):
    over = ring()
    one, _ = EQUAL[name]
    for other in (-one, one + 1, 2 * one, one * X, one * cos(A)):
        assert element(one, over) != element(other, over)


@pytest.mark.parametrize("quarters", range(-5, 6))
def test_quarter_turns_alone_are_exact(quarters):
    sine, cosine = ring().sine_and_cosine({0: quarters * pi / 2} if quarters else {})
    exact = [0.0, 1.0, 0.0, -1.0]
    assert sine == ({0: exact[quarters % 4]} if quarters % 2 else {})
    assert cosine == ({} if quarters % 2 else {0: exact[(quarters + 1) % 4]})


FRACTIONS = {
    "a third twice": ((1 / 3, 1 / 3), (2 / 3,)),
    "three thirds": ((1 / 3, 1 / 3, 1 / 3), (1.0,)),
    "a third and a sixth": ((1 / 3, 1 / 6), (0.5,)),
    "a third less two sixths": ((1 / 3, -1 / 6, -1 / 6), ()),
    "ninths": ((1 / 9, 2 / 9), (1 / 3,)),
    "tenths": ((0.1, 0.2, -0.3), ()),
}


@pytest.mark.parametrize("name", FRACTIONS)
def test_fractions_are_exact(name):
    """No float is a third: an element keeps it as a symbol, its terms as a fraction."""
    over = ring()
    x_cos = times(over.symbol("x"), over.sine_and_cosine(over.symbol("a"))[1])
    one, other = ([times(x_cos, over.constant(c)) for c in some] for some in FRACTIONS[name])
    one, other = (over.terms(reduce(plus, some, {})) for some in (one, other))
    assert one == other


def test_a_fraction_becomes_a_fraction():
    over = ring()
    (term,) = over.terms(element(X * cos(A) / 3, over))
    assert term == Term(Fraction(1, 3), (("x", 1),), "cos", (("a", 1),))
    (term,) = over.terms(element(X / (3 * Y), over))
    assert term == Term(Fraction(1, 3), (("x", 1), ("y", -1)))
    (term,) = over.terms(element(0.1 * X, over))
    assert term.coefficient == Fraction(1, 10)
    (term,) = over.terms(element(X * np.sqrt(2), over))
    assert term.coefficient == np.sqrt(2)


# -- terms -------------------------------------------------------------------------------------------------------------


def test_terms_are_real_and_written_in_one_way():
    """One term a monomial; the first angle of a sum counts positive."""
    over = ring()
    terms = over.terms(element(3 * X**2 / Y * sin(B - A) + 0.5 * cos(-A - 2 * C) - 7, over))
    assert set(terms) == {
        Term(Fraction(-7), ()),
        Term(Fraction(-3), (("x", 2), ("y", -1)), "sin", (("a", 1), ("b", -1))),
        Term(Fraction(1, 2), (), "cos", (("a", 1), ("c", 2))),
    }
    assert over.terms({}) == []


def test_an_angle_may_be_both_inside_and_outside():
    over = ring()
    assert over.terms(element(A**2 * sin(A), over)) == [Term(Fraction(1), (("a", 2),), "sin", (("a", 1),))]


# -- random expressions ------------------------------------------------------------------------------------------------


def random_angle(rng):
    """A sum of angles and quarter turns."""
    k = rng.integers(-2, 3, 3)
    turn = rng.integers(-4, 5) * (pi / 2)
    return sum((int(n) * s for n, s in zip(k, (A, B, C), strict=True) if n), ca.SX(turn))


def random_monomial(rng):
    factors = [s ** int(e) for s, e in zip((X, Y, Z, A), rng.integers(-2, 3, 4), strict=True)]
    return float(rng.choice([-2.0, 0.5, 1 / 3, 0.7])) * np.prod(factors)


def random_expression(rng, depth):
    """Any sum of products that has a place in the ring."""
    if depth == 0:
        kind = rng.integers(5)
        if kind < 2:
            return (sin, cos)[kind](random_angle(rng))
        return (X, Y, random_monomial(rng))[kind - 2]
    one, other = (random_expression(rng, depth - 1) for _ in range(2))
    made = (
        lambda: one + other,
        lambda: one - other,
        lambda: one * other,
        lambda: -one,
        lambda: one**2,
        lambda: one / random_monomial(rng),
        lambda: 2 * one + other,
    )
    return made[rng.integers(len(made))]()


@pytest.mark.parametrize("seed", range(40))
def test_a_random_expression_keeps_its_value(seed):
    rng = np.random.default_rng(seed)
    expression = random_expression(rng, 3)
    over = ring()
    found = element(expression, over)
    for _ in range(2):
        at = rng.uniform(0.5, 1.5, 6)
        expected = float(ca.Function("f", SYMBOLS, [expression])(*at))
        assert_value(over.terms(found), expected, dict(zip(NAMES, at, strict=True)))


@pytest.mark.parametrize("seed", range(8))
def test_a_random_sum_within_a_sine_keeps_its_value(seed):
    """What is no sum of angles has a name; with the name's value, so has the whole."""
    rng = np.random.default_rng(seed)
    inner = random_angle(rng) + random_monomial(rng) - X
    expression = Y * sin(inner) - cos(inner + A) ** 2
    over = ring()
    terms = over.terms(element(expression, over))
    at = rng.uniform(0.5, 1.5, 6)
    values = dict(zip(NAMES, at, strict=True))
    values |= {name: number(over.terms(dict(rest)), values)[0] for rest, name in over.named.items()}
    assert set(over.named.values()) == {"psi_1"}
    assert_value(terms, float(ca.Function("f", SYMBOLS, [expression])(*at)), values)


@pytest.mark.parametrize("seed", range(12))
def test_arithmetic_of_random_elements(seed):
    """A commutative ring: distributive, associative, with negatives."""
    rng = np.random.default_rng(seed)
    over = ring()
    a, b, c = (element(dyadic(rng), over) for _ in range(3))
    assert times(a, plus(b, c)) == plus(times(a, b), times(a, c))
    assert times(times(a, b), c) == times(a, times(b, c))
    assert plus(a, plus(b, c)) == plus(plus(c, a), b)
    assert plus(a, negative(a)) == {}
    assert power(a, 3) == times(a, times(a, a))
    assert power(a, 0) == {0: 1.0}


def dyadic(rng):
    """A sum whose coefficients are exact."""
    terms = [float(rng.integers(-4, 5)) * X ** int(rng.integers(-2, 3)) * cos(random_angle(rng)) for _ in range(3)]
    return sum(terms, ca.SX(0)) + Y


# -- values ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_with_values(seed):
    """Numbers for symbols and angles, some or all."""
    rng = np.random.default_rng(seed)
    expression = random_expression(rng, 2) * cos(A - B) + X / Y**2
    over = ring()
    found = element(expression, over)
    at = dict(zip(NAMES, rng.uniform(0.5, 1.5, 6), strict=True))
    expected = float(ca.Function("f", SYMBOLS, [expression])(*at.values()))
    assert over.with_values(found, {}) is found
    for some in (["x"], ["y", "b"], ["a", "b", "c"], list(NAMES)):
        put = over.terms(over.with_values(found, {name: at[name] for name in some}))
        left = {name for t in put for name, _ in (*t.powers, *t.angles)}
        assert not left & set(some)
        assert_value(put, expected, at)


@pytest.mark.parametrize("seed", range(6))
def test_a_sum_in_place_of_a_symbol(seed):
    rng = np.random.default_rng(seed)
    one, other = dyadic(rng) * Z**2 + X * Z - 1, dyadic(rng)
    over = ring()
    found = over.substituted(element(one, over), "z", element(other, over))
    assert found == element(ca.substitute(one, Z, other), over)
    assert over.substituted(found, "nobody", {}) is found


def test_a_value_of_zero_below_a_fraction_bar():
    over = ring()
    with pytest.raises(NoClosedForm, match="the equations divide by y, which is 0"):
        over.with_values(element(X / Y, over), {"y": 0.0})


def test_values_that_cancel_leave_nothing():
    over = ring()
    assert over.with_values(element(X - 2 * Y, over), {"x": 4.0, "y": 2.0}) == {}
    assert over.with_values(element(X * sin(A), over), {"x": 0.0}) == {}


# -- what has no place in the ring -------------------------------------------------------------------------------------

REFUSED = {
    "a division by a sum": X / (Y + Z),
    "a division by zero": X / ((Y + Z) ** 2 - Y**2 - 2 * Y * Z - Z**2),
    "a power of 1.5": X**1.5,
    "a power that is not constant": X**Y,
    "the CasADi operation OP_EXP has no place in a sum of products": ca.exp(X),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_what_has_no_closed_form(reason):
    with pytest.raises(NoClosedForm, match=reason):
        element(REFUSED[reason], ring())
    assert issubclass(NoClosedForm, FlexarmError)


def test_powers_of_elements():
    with pytest.raises(NoClosedForm, match=r"a power of 0\.5"):
        power({0: 2.0}, 0.5)
    assert power({0: 2.0}, -2) == {0: 0.25}
    with pytest.raises(NoClosedForm, match="a division by zero"):
        inverse({})


def test_names_run_out():
    over = ring(spare=("psi_1",))
    element(sin(X) + cos(2 * A - X), over)
    with pytest.raises(NoClosedForm, match="too many different sums"):
        element(sin(X) + cos(Y), over)


BIG = (X + Y + Z + cos(A)) ** 4
"""70 terms, cos(a) being two: of x^i y^j z^k cos(a)^l with i + j + k + l = 4 there are l + 1."""


def test_a_limit_on_terms():
    """Of one sum, and of all results together; it is passed within the multiplication, not after it."""
    whole = len(element(BIG, ring()))
    assert whole == 70
    assert element(BIG, ring(), Limit(terms=whole)) == element(BIG, ring())
    with pytest.raises(TooManyTerms):
        element(BIG, ring(), Limit(terms=whole - 1))
    twice = ca.Function("f", SYMBOLS, [BIG, BIG + 1])
    with pytest.raises(TooManyTerms):
        translated(twice, NAMES, ring(), Limit(terms=2 * whole - 1))
    small = Limit(terms=20)
    with pytest.raises(TooManyTerms):
        times(dict.fromkeys(range(1000), 1.0), {1000 * i: 1.0 for i in range(1000)}, small)
    assert small.done <= 1000


def test_a_limit_on_products():
    """Of single terms, however small what comes of them: here all of them cancel."""
    free = Limit()
    assert element(BIG - BIG, ring(), free) == element(ca.SX(0), ring())
    assert element((X + Y) ** 2 - X * (X + 2 * Y) - Y**2, ring(), free) == {}
    assert free.done > 10
    with pytest.raises(TooManyTerms):
        element((X + Y) ** 2 - X * (X + 2 * Y) - Y**2, ring(), Limit(products=free.done // 2))


# -- collected for a reader --------------------------------------------------------------------------------------------

ORDER = {name: i for i, name in enumerate(("m", "n", "x", "y", "z", "a", "b", "c"))}


def expression(form):
    return Writer().expression(form)


def as_sum(terms):
    """The terms as SymPy expressions, one by one."""
    total = sp.Integer(0)
    for t in terms:
        angle = sum(k * sp.Symbol(name) for name, k in t.angles)
        trig = getattr(sp, t.kind)(angle) if t.kind else 1
        total += sp.Rational(t.coefficient) * sp.Mul(*(sp.Symbol(name) ** e for name, e in t.powers)) * trig
    return total


def random_terms(rng, count):
    """Different monomials with few symbols, so that there is something to collect."""
    found = {}
    for _ in range(count):
        powers = tuple((name, int(e)) for name, e in zip("mnxyz", rng.integers(-1, 3, 5), strict=True) if e)
        angles = tuple((name, int(k)) for name, k in zip("abc", rng.integers(-1, 2, 3), strict=True) if k)
        if angles and angles[0][1] < 0:
            angles = tuple((name, -k) for name, k in angles)
        kind = str(rng.choice(["cos", "sin"])) if angles else ""
        coefficient = Fraction(int(rng.choice([-4, -2, -1, 1, 2, 6])), int(rng.choice([1, 1, 1, 3])))
        found[powers, kind, angles] = Term(coefficient, powers, kind, angles)
    return list(found.values())


@pytest.mark.parametrize("leading", [(), ("m",), ("n", "m")], ids=str)
@pytest.mark.parametrize("seed", range(15))
def test_collecting_changes_no_value(seed, leading):
    rng = np.random.default_rng(seed)
    terms = random_terms(rng, int(rng.integers(1, 14)))
    form = collected(terms, leading, ORDER)
    assert sp.expand(expression(form) - as_sum(terms)) == 0


def test_collecting_changes_no_value_of_floats():
    rng = np.random.default_rng(7)
    terms = [Term(float(rng.normal()), t.powers, t.kind, t.angles) for t in random_terms(rng, 12)]
    values = dict(zip("mnxyzabc", rng.uniform(0.5, 1.5, 8), strict=True))
    found = expression(collected(terms, ("m",), ORDER)).subs({sp.Symbol(name): v for name, v in values.items()})
    assert_value(terms, float(found), values)


def test_the_empty_sum_is_zero():
    assert collected([], ("m",), ORDER) == ()
    assert expression(()) == 0


def test_sums_read_as_a_person_writes_them():
    """Masses first, then sines and cosines, then what many terms share; signs and whole factors in front."""
    m, x, y, z, a = sp.symbols("m x y z a")
    some = [Term(Fraction(2), (("m", 1), ("x", 1))), Term(Fraction(4), (("m", 1), ("y", 1)))]
    assert expression(collected(some, ("m",), ORDER)) == 2 * m * (x + 2 * y)
    other = [*some, Term(Fraction(-1), (("n", 1), ("x", 1))), Term(Fraction(-1), (("n", 1), ("y", 2)))]
    form = collected(other, ("m", "n"), ORDER)
    assert [p.atoms for p in form] == [(("m", 1),), (("n", 1),)]
    assert [p.coefficient for p in form] == [2, -1]
    assert [len(p.inner) for p in form] == [2, 2]
    trig = [Term(Fraction(1), (("x", 1),), "cos", (("a", 1),)), Term(Fraction(1), (("y", 1),), "cos", (("a", 1),))]
    assert expression(collected([*trig, Term(Fraction(1), (("z", 1),))], (), ORDER)) == z + sp.cos(a) * (x + y)
    over = [Term(Fraction(1), (("x", -2), ("y", 1))), Term(Fraction(1), (("x", -1), ("z", 1)))]
    assert expression(collected(over, (), ORDER)) == (y / x + z) / x
    mixed = [Term(Fraction(1), (("x", -1), ("y", 1))), Term(Fraction(1), (("x", 2), ("z", 1)))]
    assert expression(collected(mixed, (), ORDER)) == y / x + x**2 * z


def test_symbols_are_made_once_and_without_assumptions():
    writer = Writer()
    assert writer.symbol("m_1") is writer.symbol("m_1")
    assert writer.symbol("m_1") == sp.Symbol("m_1")
