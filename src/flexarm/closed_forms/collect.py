"""Sums in the form in which a person writes them: grouped by masses, then by sines and cosines, then by shared symbols.

A `Form` is a tree of sums and products. It is written as a SymPy expression, LaTeX, or text.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import gcd
from types import MappingProxyType
from typing import Any

from flexarm.closed_forms.ring import Term
from flexarm.mechanics.parameters import LengthFunction

Atom = str | tuple
"""A symbol, or a sine or cosine: (kind, angles)."""


@dataclass(frozen=True)
class Product:
    """A coefficient times powers of atoms times a sum, if there is one."""

    coefficient: Fraction | float
    atoms: tuple[tuple[Atom, int], ...]
    inner: "tuple[Product, ...]" = ()


Form = tuple[Product, ...]
"""A sum; an empty one is zero."""


def collected(terms: Sequence[Term], leading: Sequence[str], order: Mapping[str, int]) -> Form:
    """Return the sum of the terms, grouped.

    The terms are grouped first by the symbols in `leading` (masses, stiffnesses), in that order, then by sines and
    cosines, and then by symbols that many terms share. Factors have the `order` of their symbols.
    """

    @cache
    def rank(atom: Atom) -> tuple:
        if isinstance(atom, str):
            return (0, order.get(atom, len(order)), atom)
        return (1, len(atom[1]), tuple((order.get(name, 0), -k) for name, k in atom[1]), atom[0])

    def product(coefficient: Any, atoms: Mapping[Atom, int], inner: Form = ()) -> Product:
        return Product(coefficient, tuple(sorted(atoms.items(), key=lambda item: rank(item[0]))), inner)

    def grouped(some: list[tuple[Any, dict[Atom, int]]], heads: Sequence[str]) -> list[Product]:
        if len(some) == 1:
            return [product(*some[0])]
        for i, head in enumerate(heads):
            inside = [term for term in some if term[1].get(head, 0) > 0]
            if inside:
                outside = [term for term in some if not term[1].get(head, 0) > 0]
                rest = heads[i + 1 :]
                return factored(inside, rest) + (grouped(outside, rest) if outside else [])
        return factored(some, ())

    def factored(some: list[tuple[Any, dict[Atom, int]]], heads: Sequence[str]) -> list[Product]:
        common = _common([atoms for _, atoms in some])
        content = _content([c for c, _ in some])
        if not common and content == 1:
            return grouped(some, heads) if heads else shared(some)
        stripped = [
            (c / content, {a: e - common.get(a, 0) for a, e in atoms.items() if e != common.get(a, 0)})
            for c, atoms in some
        ]
        if len(some) == 1:
            return [product(content, common)]
        return [product(content, common, tuple(grouped(stripped, heads)))]

    def shared(some: list[tuple[Any, dict[Atom, int]]]) -> list[Product]:
        counts = Counter(atom for _, atoms in some for atom, e in atoms.items() if e > 0)
        groups: list[list[Product]] = []
        while len(some) > 1:
            worth = [(-n, rank(a), a) for a, n in counts.items() if n >= (3 if isinstance(a, str) else 2)]
            if not worth:
                break
            best = min([entry for entry in worth if not isinstance(entry[2], str)] or worth)[2]
            inside = [term for term in some if term[1].get(best, 0) > 0]
            some = [term for term in some if not term[1].get(best, 0) > 0]
            counts.subtract(atom for _, atoms in inside for atom, e in atoms.items() if e > 0)
            groups.append(factored(inside, ()))
        if len(some) == 1:
            groups.append([product(*some[0])])
        else:
            groups.append([product(c, atoms) for c, atoms in sorted(some, key=lambda term: _size(term[1], rank))])
        return [each for group in reversed(groups) for each in group]

    flat = [(t.coefficient, dict(t.powers) | ({(t.kind, t.angles): 1} if t.kind else {})) for t in terms]
    return tuple(grouped(flat, leading)) if flat else ()


def _size(atoms: Mapping[Atom, int], rank: Any) -> tuple:
    trig = [a for a in atoms if not isinstance(a, str)]
    return (bool(trig), sorted(rank(a) for a in atoms if isinstance(a, str)), sorted(rank(a) for a in trig))


def _common(some: list[dict[Atom, int]]) -> dict[Atom, int]:
    """Powers that divide every term."""
    shared = set(some[0]).intersection(*some[1:])
    found = {}
    for atom in shared:
        exponents = [atoms[atom] for atoms in some]
        if min(exponents) > 0:
            found[atom] = min(exponents)
        elif max(exponents) < 0:
            found[atom] = max(exponents)
    return found


def _content(some: list[Any]) -> Any:
    """Common divisor of the coefficients, negative if all are negative."""
    sign = -1 if all(c < 0 for c in some) else 1
    if len(some) == 1:
        return some[0]
    if all(abs(c) == abs(some[0]) for c in some):
        return sign * abs(some[0])
    if all(isinstance(c, Fraction) and c.denominator == 1 for c in some):
        return Fraction(sign * gcd(*(c.numerator for c in some)))
    return Fraction(sign)


# -- SymPy -------------------------------------------------------------------------------------------------------------


class Writer:
    """Writer of forms as SymPy expressions; it makes every symbol once, without assumptions.

    Parameters
    ----------
    functions : dict
        Symbols that are functions of another symbol, with that symbol. They become applied functions with a derivative
        and with values, so that SymPy can differentiate and evaluate them.
    """

    def __init__(self, functions: Mapping[str, tuple[LengthFunction, str]] = MappingProxyType({})) -> None:
        import sympy

        self._sympy = sympy
        self._functions = functions
        self._known: dict[Atom, Any] = {}

    def symbol(self, name: str) -> Any:
        """Return the SymPy symbol of this name."""
        return self._atom(name)

    def expression(self, form: Form) -> Any:
        """Return the sum as an expression."""
        return self._sympy.Add(*map(self._product, form))

    def _product(self, product: Product) -> Any:
        sp = self._sympy
        c = product.coefficient
        number = sp.Rational(c.numerator, c.denominator) if isinstance(c, Fraction) else sp.Float(c)
        factors = [self._atom(a) if e == 1 else self._atom(a) ** e for a, e in product.atoms]
        if product.inner:
            factors.append(self.expression(product.inner))
        return sp.Mul(number, *factors)

    def _atom(self, atom: Atom) -> Any:
        if atom not in self._known:
            if isinstance(atom, str) and atom in self._functions:
                function, length = self._functions[atom]
                self._known[atom] = applied(function, self._atom(length))
            elif isinstance(atom, str):
                self._known[atom] = self._sympy.Symbol(atom)
            else:
                kind, angles = atom
                argument = self._sympy.Add(*(k * self._atom(name) for name, k in angles))
                self._known[atom] = getattr(self._sympy, kind)(argument)
        return self._known[atom]


def applied(function: LengthFunction, length: Any) -> Any:
    """Return the function of a SymPy expression, with `function.slope` as its derivative and with the function's
    values.

    SymPy distinguishes functions of one name, and its cached results for them, by the keyword arguments.
    """
    from sympy.core.function import UndefinedFunction

    def slope(self: Any, argument: int = 1) -> Any:
        return applied(function.slope, self.args[0])

    return UndefinedFunction(function.symbol, __dict__={"fdiff": slope}, _imp_=function)(length)
