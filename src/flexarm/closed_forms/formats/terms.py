"""Expressions in infix notation, which Python, C and MATLAB nearly share."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

import casadi as ca

from flexarm.errors import FlexarmError
from flexarm.native.program import INVERSE

OPERATORS: dict[int, str] = {ca.OP_LT: "{0} < {1}", ca.OP_LE: "{0} <= {1}", ca.OP_EQ: "{0} == {1}"}
FUNCTIONS: dict[int, str] = {
    getattr(ca, f"OP_{name.upper()}"): f"{name}({{0}})"
    for name in "sqrt exp log sin cos tan asin acos atan sinh cosh tanh floor ceil".split()
} | {ca.OP_ATAN2: "atan2({0}, {1})"}
"""Templates that the languages have in common."""

LOGICAL = (ca.OP_NOT, ca.OP_AND, ca.OP_OR)
COMPARISONS = (ca.OP_LT, ca.OP_LE, ca.OP_EQ, ca.OP_NE)


@dataclass(frozen=True)
class Language:
    """Syntax of one language.

    Attributes
    ----------
    name : str
    reserved : frozenset of str
        Reserved names.
    templates : dict
        Text of each operation that is not plain arithmetic.
    number : str
        Template of the number 1 or 0 for a condition.
    input : Callable
        (array, index from 0) -> one of its numbers.
    output : Callable
        (array, indices from 0, shape) -> one of its entries; no indices mean that it is one number.
    others : dict
        Texts of nan and inf, if the language may use them.
    truth : str
        Template of the condition that a number is 1 and not 0, if numbers are no conditions.
    """

    name: str
    reserved: frozenset[str]
    templates: dict[int, str]
    number: str
    input: Callable[[str, int], str]
    output: Callable[[str, tuple[int, ...], tuple[int, ...]], str]
    others: Mapping[str, str] = field(default_factory=dict)
    truth: str = ""


class Strength(IntEnum):
    """Binding strength of an expression; a negative one is a product after a minus sign."""

    TRUTH, SUM, NEGATIVE, PRODUCT, ATOM = range(5)


class Term(NamedTuple):
    """An expression."""

    text: str
    strength: Strength = Strength.ATOM

    @property
    def negative(self) -> bool:
        """True if the expression begins with a minus sign."""
        return self.strength == Strength.NEGATIVE

    @property
    def inner(self) -> str:
        """The expression, in parentheses if it is a sum."""
        return f"({self.text})" if self.strength <= Strength.SUM else self.text

    @property
    def size(self) -> str:
        """The expression as a factor, without the sign."""
        return self.inner.removeprefix("-")


def constant(value: float, language: Language) -> Term:
    """Return a number as a term."""
    if not math.isfinite(value):
        if text := language.others.get(repr(abs(value))):
            return Term(f"-{text}", Strength.NEGATIVE) if value < 0 else Term(text)
        raise FlexarmError(f"{language.name}: the equations contain {value}, as after a division by a constant zero")
    return Term(repr(value + 0.0), Strength.NEGATIVE if value < 0 else Strength.ATOM)  # no -0.0


def numeric(term: Term, language: Language) -> Term:
    """Return the term, with a condition as 1 or 0."""
    return Term(language.number.format(term.text)) if term.strength == Strength.TRUTH else term


def condition(term: Term, language: Language) -> Term:
    """Return the term, with a number as a condition."""
    if term.strength == Strength.TRUTH or not language.truth:
        return term
    return Term(language.truth.format(term.inner), Strength.TRUTH)


def operation(op: int | str, operands: list[Term], language: Language) -> Term:
    """Return the term of one operation.

    A reciprocal is a product that begins with 1.0/, and a factor replaces the 1.0.
    """
    if isinstance(op, int) and op not in (ca.OP_ADD, ca.OP_SUB, ca.OP_NEG, ca.OP_MUL, ca.OP_SQ, ca.OP_TWICE):
        return _call(op, operands, language)
    x, *others = (numeric(operand, language) for operand in operands)
    if op in (ca.OP_ADD, ca.OP_SUB):
        (y,) = others
        if (op == ca.OP_SUB) != y.negative:
            return Term(f"{x.text} - {y.size}", Strength.SUM)
        tail = y.size if y.negative else y.text
        if x.negative:
            return Term(f"{tail} - {x.size}", Strength.SUM)
        joint = f" - {tail[1:]}" if tail.startswith("-") else f" + {tail}"
        return Term(x.text + joint, Strength.SUM)
    if op == ca.OP_NEG:
        return _product(x.size, not x.negative)
    if op == INVERSE:
        divisor = f"({x.size})" if x.strength in (Strength.NEGATIVE, Strength.PRODUCT) else x.size
        return _product(f"1.0/{divisor}", x.negative)
    y = others[0] if others else x if op == ca.OP_SQ else Term("2.0")
    first, second = x.size, y.size
    if second[0].isdigit() and not second.startswith("1.0/"):
        first, second = second, first
    text = first + second.removeprefix("1.0") if second.startswith("1.0/") else f"{first}*{second}"
    return _product(text, x.negative != y.negative)


def _product(text: str, negative: bool) -> Term:
    return Term(f"-{text}", Strength.NEGATIVE) if negative else Term(text, Strength.PRODUCT)


def _call(op: int, operands: list[Term], language: Language) -> Term:
    """Return an operation by the language's template. Operators have no parentheses, so sums within them need some."""
    if op not in language.templates:
        names = {getattr(ca, name): name for name in dir(ca) if name.startswith("OP_")}
        raise FlexarmError(f"{language.name}: the CasADi operation {names[op]} is not supported")
    template = language.templates[op]
    conditions = len(operands) if op in LOGICAL else 1 if op == ca.OP_IF_ELSE_ZERO else 0
    terms = [condition(operand, language) for operand in operands[:conditions]]
    terms += [numeric(operand, language) for operand in operands[conditions:]]
    text = template.format(*(term.text if "(" in template else term.inner for term in terms))
    return Term(text, Strength.TRUTH if op in (*LOGICAL, *COMPARISONS) else Strength.ATOM)
