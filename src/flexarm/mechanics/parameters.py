"""Names of an arm's numbers: which are symbols in a closed form, and their values.

Each number of a link's mechanics passes once through a `Name`. A numeric model gets the value, and a closed form gets a
symbol. Zero stays zero, so that absent features cost nothing and do not appear. Numbers that change with a telescope's
length also pass through it, as values at the length or as named functions.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol, final

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from flexarm.cached import cached_property
from flexarm.checks import named_or_fitting, shown, unknown_name
from flexarm.errors import DescriptionError
from flexarm.mechanics.series import Series
from flexarm.mechanics.spatial import Scalar, Vector


@dataclass(frozen=True)
class Parameter:
    """A number of an arm.

    Attributes
    ----------
    symbol : str
        Symbol in equations and in code, as "m_1": a letter, the link's number, and labels of modes, joined by "_".
    name : str
        Name that a user types, as "upper.mass".
    value : float
    unit : str
        Empty for a dimensionless number.
    meaning : str
        A phrase in words.
    link : int
        Number of its link, from 1; 0 if it belongs to none.
    shapes : tuple of str
        For a number that varies: mode shapes that a model keeps but an arm rebuilt with another value would change, as
        "upper.y" for link and direction.
    """

    symbol: str
    name: str
    value: float
    unit: str
    meaning: str
    link: int = 0
    shapes: tuple[str, ...] = ()

    @property
    def modal(self) -> bool:
        """True if the number depends on the mode shapes alone: an integral of theirs, or a value at an end."""
        return not self.unit and self.symbol.partition("_")[0] in MODAL


MODAL = ("a", "b", "c", "k", "phi", "dphi", "dphi0", "g", "e", "h", "dh", "r", "ss", "pm", "pp")
"""Letters of mean, first moment, product, curvature product, tip deflection and slope, root slope; of pairs, of shear,
and of section rotation."""


AtLength = Callable[[Scalar], Vector]
"""A function from a length to numbers."""


Follows = Callable[[], Scalar] | None
"""A function that computes a number from others, or None."""


class Label(NamedTuple):
    """Names of a dimensionless number: letter and labels, field, meaning."""

    symbol: str
    name: str
    meaning: str


class Given(NamedTuple):
    """A number of a link.

    Attributes
    ----------
    symbol : str
        Letter and labels.
    name : str
        The field.
    follows : () -> scalar, optional
        Computes the number from others, if the description does not give it.
    plain : bool
        True if it has no name in equations (a quarter turn), like zero.
    """

    symbol: str
    name: str
    value: float
    unit: str
    meaning: str
    follows: Follows = None
    plain: bool = False

    @property
    def unseen(self) -> bool:
        """True if equations show it as a number."""
        return self.plain or self.value == 0.0


class Name(ABC):
    """Converts the numbers of one link on their way into its mechanics to values or symbols."""

    def __call__(
        self,
        symbol: str,
        name: str,
        value: float,
        unit: str,
        meaning: str,
        follows: Follows = None,
        plain: bool = False,
    ) -> Scalar:
        """Return the value or symbol of a number; see `Given`."""
        return self.stands_for(Given(symbol, name, value, unit, meaning, follows, plain))

    @abstractmethod
    def stands_for(self, given: Given) -> Scalar:
        """Return the value or symbol of a number."""

    def along(self, labels: Sequence[Label | float], series: Series) -> AtLength:
        """Return a function from a length to numbers that change with it.

        A number that is known at any length has no label.
        """
        column = {x: i for i, x in enumerate(labels) if not isinstance(x, float)}  # equal labels mean equal numbers
        once = Series(series.low, series.high, series.coefficients[:, list(column.values())])

        def numbers(length: Scalar) -> Vector:
            found = dict(zip(column, once.at(length), strict=True))
            return [x if isinstance(x, float) else found[x] for x in labels]

        return numbers


@final
class _Value(Name):
    def stands_for(self, given: Given) -> Scalar:
        return given.value


value_of: Name = _Value()
"""The `Name` of a numeric model, which returns every number unchanged."""


@final
class _Label(Name):
    def stands_for(self, given: Given) -> Label:
        return Label(given.symbol, given.name, given.meaning)


label: Name = _Label()
"""The `Name` that returns the names of a number."""


@final
@dataclass(frozen=True)
class LengthFunction:
    """A modal integral of load-dependent shapes as a function of a telescope's free length, or a derivative of it.

    Attributes
    ----------
    letters : str
        Like the symbol of a `Parameter`, as "a_2_1".
    name, meaning : str
        Like those of a `Parameter`.
    link : int
        Number of the telescope among the links, from 1.
    order : int
        Order of the derivative with respect to the length.
    """

    letters: str
    name: str
    meaning: str
    link: int
    series: Series
    order: int = 0

    @property
    def symbol(self) -> str:
        """Symbol in equations: "a_2_1", its derivatives "a_2_1_l" and "a_2_1_ll"."""
        return f"{self.letters}_{self.order * 'l'}" if self.order else self.letters

    def __call__(self, length: ArrayLike) -> np.ndarray:
        """Return values at one or many free lengths [m]."""
        return self.series.values(length)[..., 0]

    @cached_property
    def slope(self) -> "LengthFunction":
        """The derivative with respect to the free length."""
        return replace(self, series=self.series.slope, order=self.order + 1)

    @property
    def orders(self) -> tuple["LengthFunction", ...]:
        """The function, its first and its second derivative."""
        return self, self.slope, self.slope.slope


class Names(Protocol):
    """A source of a `Name` for each link."""

    def of(self, mark: str, owner: str) -> Name:
        """Return the `Name` of a link. The link's number follows the letter, and its name precedes the field's."""


@final
@dataclass(frozen=True)
class Ledger:
    """Symbols that numbers have got so far.

    A function f of a length l enters an expression as f(p) + f'(p) (l - p) + f''(p) (l - p)^2 / 2 about a place p,
    which has its own symbol. Up to the second order, its derivatives with respect to l are correct once l replaces p.
    Then f, f', f'' remain, each a symbol. This avoids named functions, which CasADi does not have.
    """

    parameters: dict[str, Parameter] = field(default_factory=dict)
    symbols: dict[str, ca.SX] = field(default_factory=dict)
    functions: dict[str, LengthFunction] = field(default_factory=dict)
    values: dict[str, ca.SX] = field(default_factory=dict)
    """Symbols of the functions and of their derivatives."""
    places: dict[int, ca.SX] = field(default_factory=dict)
    """The place p of each telescope, by its link's number."""

    def of(self, mark: str, owner: str) -> Name:
        """Return the `Name` of a link. The link's number follows the letter, and its name precedes the field's."""
        return _Named(self, mark, owner)


@final
@dataclass(frozen=True)
class _Named(Name):
    ledger: Ledger
    mark: str
    owner: str

    def stands_for(self, given: Given) -> Scalar:
        if given.unseen:
            return given.value
        known, parameter = self.ledger.parameters, parameter_of(given, self.mark, self.owner)
        full = parameter.symbol
        if full not in known:
            known[full] = parameter
            self.ledger.symbols[full] = ca.SX.sym(full)
        elif abs(known[full].value - given.value) > 1e-9 * abs(given.value):
            raise AssertionError(f"{full} names two numbers, {known[full].value} and {given.value}")
        return self.ledger.symbols[full]

    def along(self, labels: Sequence[Label | float], series: Series) -> AtLength:
        numbers = [
            _constant(x) if isinstance(x, float) else self._along(x, column)
            for x, column in zip(labels, series.columns, strict=True)
        ]
        return lambda length: [number(length) for number in numbers]

    def _along(self, label: Label, series: Series) -> Callable[[Scalar], Scalar]:
        if len(series.coefficients) == 1:
            return _constant(self(label.symbol, label.name, float(series.coefficients[0, 0]), "", label.meaning))
        full, link, known = full_symbol(label.symbol, self.mark), self._link, self.ledger.functions
        place = self.ledger.places.setdefault(link, ca.SX.sym(f"place_{link}"))
        if full not in known:
            known[full] = LengthFunction(full, full_name(label.name, self.owner), label.meaning, link, series)
            self.ledger.values.update({each.symbol: ca.SX.sym(each.symbol) for each in known[full].orders})
        elif not known[full].series.is_close_to(series):
            raise AssertionError(f"{full} names two functions")
        f, slope, second = (self.ledger.values[each.symbol] for each in known[full].orders)
        return lambda length: f + slope * (length - place) + second * (length - place) ** 2 / 2

    @property
    def _link(self) -> int:
        return int(self.mark or 0)


def parameter_of(given: Given, mark: str, owner: str) -> Parameter:
    """Return a link's number as a parameter of the arm."""
    symbol, name = full_symbol(given.symbol, mark), full_name(given.name, owner)
    return Parameter(symbol, name, float(given.value), given.unit, given.meaning, int(mark or 0))


def full_symbol(symbol: str, mark: str) -> str:
    """Return a letter and its labels with the link's number between them."""
    letter, _, labels = symbol.partition("_")
    return "_".join(part for part in (letter, mark, labels) if part)


def full_name(name: str, owner: str) -> str:
    """Return the field's name after the name of its link."""
    return f"{owner}.{name}" if owner else name


def _constant(value: Scalar) -> Callable[[Scalar], Scalar]:
    return lambda length: value


def fitting(parameters: Iterable[Parameter], pattern: str) -> list[Parameter]:
    """Return the parameters whose symbol or name matches a pattern.

    Raise `DescriptionError`, which lists all, if none does.
    """
    known = list(parameters)
    if not isinstance(pattern, str):
        raise DescriptionError(f"parameter {shown(pattern)}: it must be a name, a symbol or a pattern of them")
    found = named_or_fitting(pattern, known, lambda p: (p.symbol, p.name))
    if not found:
        there = ", ".join(f"{p.symbol} ({p.name})" for p in known)
        names = [name for p in known for name in (p.symbol, p.name)]
        raise DescriptionError(unknown_name("unknown parameter", pattern, names, "the parameters are", there))
    return found
