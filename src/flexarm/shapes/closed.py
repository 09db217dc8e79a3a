"""Closed forms of a uniform beam's modal integrals, for the families that have them.

With phi_j(x), x in [0, 1], in the scale of the family, the quantities are

    mean         a_j  = int phi_j              tip          phi_j(1)
    moment       b_j  = int x phi_j            tip slope    phi_j'(1)
    product      c_jk = int phi_j phi_k        root slope   phi_j'(0)
    curvature    k_jk = int phi_j'' phi_k'', of a rod int phi_j' phi_k'

A beam of length L and mass m per length has the first moment m L^2 b_j, and so on. These forms do not hold for a
tapered beam, whose integrals are weighted with its section.
"""

import math
import re
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral, Real
from typing import Any, final

from flexarm.checks import shown, unknown_name
from flexarm.errors import DescriptionError
from flexarm.shapes.basis import checked_count
from flexarm.shapes.pieces import Hermite, Polynomial
from flexarm.shapes.rods import FixedFree, LinearElements, RodPolynomial
from flexarm.shapes.uniform import ClampedFree, ClampedPinned, PinnedFree, PinnedPinned, pinned_roots, roots

PAIRS = ("product", "curvature")
"""Quantities of two shapes."""

QUANTITIES = ("mean", "moment", *PAIRS, "tip", "tip slope", "root slope")


@final
@dataclass(frozen=True)
class Constant:
    """A number with a symbol in closed forms: a wave number beta_j, a ratio sigma_j, a scale N_j.

    Attributes
    ----------
    name : str
        The symbol, as "beta_1".
    equation : str
        Its definition, for a terminal: "cos(beta_1)*cosh(beta_1) = -1".
    equation_latex : str
        The same in LaTeX.
    value : float
    """

    name: str
    equation: str
    equation_latex: str
    value: float

    @property
    def latex(self) -> str:
        """Symbol in LaTeX."""
        return _latex(self.name)


@final
@dataclass(frozen=True)
class ClosedForm:
    """An exact number: a fraction, a multiple of a power of pi, or an expression in the constants of its shape.

    Attributes
    ----------
    text : str
        Text for a terminal, and for `sympy.sympify`: "sigma_1/beta_1", "1/4", "2/pi". Zero is "0".
    constants : tuple of Constant
        Constants in `text`.
    """

    text: str
    constants: tuple[Constant, ...] = ()

    @property
    def expression(self) -> Any:
        """SymPy expression of the form."""
        # here, since importing flexarm must not import SymPy
        from sympy import sympify  # noqa: TID251  (texts written here)

        return sympify(self.text)

    @property
    def latex(self) -> str:
        """Closed form in LaTeX."""
        return _latex(self.text)

    @property
    def value(self) -> float:
        """Value of the form."""
        from sympy import sympify  # noqa: TID251  (texts written here)

        return float(sympify(self.text, {constant.name: constant.value for constant in self.constants}))


def closed_form(family: Any, quantity: str, count: int, j: int, k: int | None = None) -> ClosedForm | None:
    """Return the closed form of a quantity of shape j, or of shapes j and k, of the `count` shapes of a family.

    Shapes are counted from 1. The result is None for families without closed forms: those that depend on a load or on a
    tapered beam, samples, and user-defined objects.

    Raises
    ------
    DescriptionError
        There is no such quantity or shape, or the family does not have so many shapes.
    """
    _check(quantity, count, j, k)
    kind, j = type(family), int(j)
    if kind in _EXACT:
        return ClosedForm(str(_fraction(family, quantity, count, j, j if k is None else int(k))))
    if kind not in _FORMS:
        return None
    if k is not None and k != j:
        return ClosedForm("0")  # modes are orthogonal in mass and in stiffness
    return _form(kind, quantity, j)


def constants(family: Any, count: int) -> tuple[Constant, ...]:
    """Return the constants in closed forms of the first `count` shapes: beta_1, ..., then sigma_1, ..., then N_1, ...

    The result is empty if the forms contain none, or if there are no closed forms.
    """
    shapes = [_constants(type(family), j) for j in range(1, checked_count(count) + 1)]
    return tuple(constant for alike in zip(*shapes, strict=True) for constant in alike)


def rational(value: Any, largest: Any = 1000) -> Fraction | None:
    """Return the fraction that a double represents, within 4 units in its last place, denominator up to `largest`.

    The result is None if there is no such fraction. A random number is close to one by chance with a probability of 2.4
    largest^2 ulp(value), where ulp is its last place: there are 0.3 largest^2 fractions in every unit, each with 8 ulp
    around it. The probability is 5e-10 for numbers from 1 to 2 and the default, and grows with their size. A number
    that is zero only up to rounding does not count as zero. Raises `DescriptionError` if `value` is not a number, or if
    `largest` is not an integer of at least 1.
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        raise DescriptionError(f"rational: value is {shown(value)}; it must be a number")
    if isinstance(largest, bool) or not isinstance(largest, Integral) or largest < 1:
        raise DescriptionError(f"rational: largest is {shown(largest)}; it must be an integer of at least 1")
    try:
        x = float(value)
    except OverflowError:
        x = math.inf
    if not math.isfinite(x):
        return None
    nearest = Fraction(x).limit_denominator(int(largest))
    return nearest if abs(nearest - Fraction(x)) <= 4 * Fraction(math.ulp(x)) else None


def _check(quantity: str, count: int, j: Any, k: Any) -> None:
    if not isinstance(quantity, str) or quantity not in QUANTITIES:
        raise DescriptionError(unknown_name("unknown quantity", quantity, QUANTITIES, "known quantities are"))
    if k is not None and quantity not in PAIRS:
        raise DescriptionError(
            f"{quantity}: k is {shown(k)}; it must be None, because the quantity belongs to one shape"
        )
    for name, index in (("j", j), ("k", k)) if quantity in PAIRS else (("j", j),):
        if isinstance(index, bool) or not isinstance(index, Integral) or not 1 <= int(index) <= count:
            raise DescriptionError(f"{quantity}: {name} is {shown(index)}; it must be an integer from 1 to {count}")


def _latex(text: str) -> str:
    from sympy import latex, sympify  # noqa: TID251  (texts written here)

    return latex(sympify(text), fold_func_brackets=True)


# -- modes -------------------------------------------------------------------------------------------------------------
#
# With phi'''' = beta^4 phi, and by parts,
#
#     a    = [phi'''] / beta^4                                                  [f] = f(1) - f(0)
#     b    = [x phi''' - phi''] / beta^4
#     c_jj = [x (beta^4 phi^2 - 2 phi' phi''' + phi''^2) + 3 phi phi''' - phi' phi''] / (4 beta^4)
#     k_jj = beta^4 c_jj
#
# and the boundary conditions leave
#
#     clamped-free      phi''(0) = s beta^2,  phi'''(0) = -s sigma beta^3; the rest is zero, and phi(1) = 1
#     pinned-free       2 phi'(0) = beta (1/sin beta + 1/sinh beta),  2 phi'''(0) = -beta^3 (1/sin beta - 1/sinh beta);
#                       phi(1) = 1,  phi'(1) = beta / tanh beta
#     clamped-pinned    over N: phi''(0) = 2 beta^2,  phi'''(0) = -2 sigma beta^3,
#                       phi'(1) = beta (1/sin beta - 1/sinh beta),  phi'''(1) = -beta^3 (1/sin beta + 1/sinh beta),
#                       and c_jj = (1/sin^2 beta - 1/sinh^2 beta) / 2 = 1, for 1/tan beta = 1/tanh beta
#
# where s = (-1)^(j+1). A rod has phi'' = -beta^2 phi. The shapes are those of Blevins 1979, table 8-1; clamped-pinned
# is his cosh - cos - sigma (sinh - sin) times N, the inverse of its largest deflection, which has no closed form.

_FORMS: dict[type, dict[str, str]] = {
    ClampedFree: {
        "mean": "s*sigma/beta", "moment": "s*1/beta**2", "product": "1/4", "curvature": "beta**4/4",
        "tip": "1", "tip slope": "sigma*beta", "root slope": "0",
    },
    PinnedPinned: {
        "mean": "(1 + s)/beta", "moment": "s/beta", "product": "1/2", "curvature": "beta**4/2",
        "tip": "0", "tip slope": "-s*beta", "root slope": "beta",
    },
    PinnedFree: {
        "mean": "(1/sin(beta) - 1/sinh(beta))/(2*beta)", "moment": "0", "product": "1/4", "curvature": "beta**4/4",
        "tip": "1", "tip slope": "beta/tanh(beta)", "root slope": "beta*(1/sin(beta) + 1/sinh(beta))/2",
    },
    ClampedPinned: {
        "mean": "N*(2*sigma - 1/sin(beta) - 1/sinh(beta))/beta",
        "moment": "N*(2/beta - 1/sin(beta) - 1/sinh(beta))/beta", "product": "N**2", "curvature": "N**2*beta**4",
        "tip": "0", "tip slope": "N*beta*(1/sin(beta) - 1/sinh(beta))", "root slope": "0",
    },
    FixedFree: {
        "mean": "s/beta", "moment": "1/beta**2", "product": "1/2", "curvature": "beta**2/2",
        "tip": "1", "tip slope": "0", "root slope": "s*beta",
    },
}  # fmt: skip
_BETA = {PinnedPinned: "j*pi", FixedFree: "(2*j - 1)*pi/2"}
"""Wave numbers that do not need a symbol."""


def _form(kind: type, quantity: str, j: int) -> ClosedForm:
    form = _FORMS[kind][quantity]
    if kind in _BETA:
        from sympy import sympify  # noqa: TID251  (texts written here)

        beta = sympify(_BETA[kind], {"j": j})
        return ClosedForm(str(sympify(form, {"s": (-1) ** (j + 1), "beta": beta})))
    # by text replacement: SymPy would print 1/beta**2 as beta**(-2), and sums in another order
    text = re.sub(r"\b(beta|sigma|N)\b", rf"\1_{j}", re.sub(r"^s\*", "" if j % 2 else "-", form))
    return ClosedForm(text, tuple(c for c in _constants(kind, j) if re.search(rf"\b{c.name}\b", text)))


def _constants(kind: type, j: int) -> tuple[Constant, ...]:
    """Return the constants of mode j."""
    b, s, N = f"beta_{j}", f"sigma_{j}", f"N_{j}"
    beta_latex, sigma_latex = rf"\beta_{{{j}}}", rf"\sigma_{{{j}}}"
    if kind is ClampedFree:
        beta = float(roots(j)[-1])
        # the textbook's (sinh - sin) / (cosh + cos), simplified by the frequency equation
        sigma = math.tanh(beta / 2) if j % 2 else 1 / math.tanh(beta / 2)
        ratio, ratio_latex = (f"tanh({b}/2)", r"\tanh") if j % 2 else (f"1/tanh({b}/2)", r"\coth")
        return (
            Constant(b, f"cos({b})*cosh({b}) = -1", rf"\cos {beta_latex} \cosh {beta_latex} = -1", beta),
            Constant(s, f"{s} = {ratio}", rf"{sigma_latex} = {ratio_latex} ({beta_latex} / 2)", sigma),
        )
    if kind not in (PinnedFree, ClampedPinned):
        return ()
    beta = float(pinned_roots(j)[-1])
    wave_number = Constant(b, f"tan({b}) = tanh({b})", rf"\tan {beta_latex} = \tanh {beta_latex}", beta)
    if kind is PinnedFree:
        return (wave_number,)
    scale = float(ClampedPinned().basis(j).values(0.0, 2)[0, -1]) / (2 * beta**2)
    shape = f"cosh({b}*x) - cos({b}*x) - {s}*(sinh({b}*x) - sin({b}*x))"
    shape_latex = (
        rf"\cosh {beta_latex} x - \cos {beta_latex} x"
        rf" - {sigma_latex} (\sinh {beta_latex} x - \sin {beta_latex} x)"
    )
    return (
        wave_number,
        Constant(s, f"{s} = 1/tanh({b})", rf"{sigma_latex} = \coth {beta_latex}", 1 / math.tanh(beta)),
        Constant(N, f"1/{N} = max|{shape}|", rf"1 / N_{{{j}}} = \max_x |{shape_latex}|", scale),
    )


# -- polynomials, complete or piecewise --------------------------------------------------------------------------------

_EXACT = (Polynomial, Hermite, RodPolynomial, LinearElements)
_OF_RODS = (RodPolynomial, LinearElements)
_HATS = {"left": (1, -1), "right": (0, 1)}
_CUBICS = {"left": ((1, 0, -3, 2), (0, 1, -2, 1)), "right": ((0, 0, 3, -2), (0, 0, -1, 1))}
"""Functions of a node at the left or right of an element, as powers of xi: for bending, Hermite's deflection and
slope."""

Powers = tuple[int, ...]


def _fraction(family: Any, quantity: str, count: int, j: int, k: int) -> Fraction:
    """Return a quantity of shapes j and k. Element e of n has x = (e + xi) / n: d/dx is n d/dxi, and dx is dxi / n."""
    n, first = _pieces(family, count, j)
    _, second = _pieces(family, count, k)
    common = [(first[e], second[e]) for e in first if e in second]
    tip, root = first.get(n - 1, ()), first.get(0, ())
    match quantity:
        case "mean":
            return sum((_integral(p) for p in first.values()), Fraction(0)) / n
        case "moment":
            return sum((_integral(_product((e, 1), p)) for e, p in first.items()), Fraction(0)) / n**2
        case "product":
            return sum((_integral(_product(p, q)) for p, q in common), Fraction(0)) / n
        case "curvature":
            if isinstance(family, _OF_RODS):
                strained = [(_slope(p), _slope(q)) for p, q in common]
            else:
                strained = [(_slope(_slope(p)), _slope(_slope(q))) for p, q in common]
            power = 1 if isinstance(family, _OF_RODS) else 3
            return sum((_integral(_product(p, q)) for p, q in strained), Fraction(0)) * n**power
        case "tip":
            return Fraction(sum(tip))
        case "tip slope":
            return Fraction(sum(_slope(tip)) * n)
    return Fraction(sum(_slope(root)[:1]) * n)


def _pieces(family: Any, count: int, j: int) -> tuple[int, dict[int, Powers]]:
    """Return the number of elements, and shape j in those where it is nonzero: its coefficients of 1, xi, xi^2, ..."""
    if isinstance(family, Hermite):
        if refusal := family.refusal(count):
            raise DescriptionError(f"hermite: count is {count}; {refusal}")
        n, node, which = count // 2, (j + 1) // 2, (j + 1) % 2
        pieces: dict[int, Powers] = {node - 1: _CUBICS["right"][which]}
        return n, pieces if node == n else {**pieces, node: _CUBICS["left"][which]}
    if isinstance(family, LinearElements):
        hat: dict[int, Powers] = {j - 1: _HATS["right"]}
        return count, hat if j == count else {**hat, j: _HATS["left"]}
    # x^z times Jacobi's P_k(2 x - 1) of (0, 2 z), k = j - 1, in powers of x (Abramowitz & Stegun 22.3.2, from the other
    # end)
    k, z = j - 1, 1 if isinstance(family, RodPolynomial) else 2
    jacobi = [(-1) ** (k + m) * math.comb(k, m) * math.comb(k + 2 * z + m, k) for m in range(k + 1)]
    return 1, {0: (*[0] * z, *jacobi)}


def _slope(p: Powers) -> Powers:
    return tuple(i * c for i, c in enumerate(p))[1:]


def _product(p: Powers, q: Powers) -> Powers:
    sums = [0] * (len(p) + len(q) - 1)
    for i, a in enumerate(p):
        for m, b in enumerate(q):
            sums[i + m] += a * b
    return tuple(sums)


def _integral(p: Powers) -> Fraction:
    """Return the integral over xi from 0 to 1."""
    return sum((Fraction(c, i + 1) for i, c in enumerate(p)), Fraction(0))
