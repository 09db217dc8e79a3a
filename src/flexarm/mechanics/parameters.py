"""An arm's numbers by name: what stays a symbol in a closed form, and what it is.

The mechanics of a link is built from numbers that each pass through a `Name` once: for a numeric model it hands back
the value, for closed forms a symbol. Zero stays zero, so what is absent costs nothing and is not seen. Numbers that
change with a telescope's length pass through it too, as values at the length or as functions with a name.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol, final

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from flexarm.cached import cached_property
from flexarm.checks import meant, named_or_fitting, shown
from flexarm.errors import DescriptionError
from flexarm.mechanics.series import Series
from flexarm.mechanics.spatial import Scalar, Vector


@dataclass(frozen=True)
class Parameter:
    """A number of an arm.

    Attributes
    ----------
    symbol : str
        In equations and in code, e.g. "m_1": a letter, the link's number, and labels of modes, joined by "_".
    name : str
        As a user types it, e.g. "upper.mass".
    value : float
    unit : str
        Empty where it has none.
    meaning : str
        In words.
    link : int
        Number of its link, from 1; 0 where it belongs to none.
    shapes : tuple of str
        Of a number that varies: where a model keeps mode shapes that an arm rebuilt with another value would not have,
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
        """Whether it is a number of the mode shapes alone: an integral of theirs, or a value at an end."""
        return not self.unit and self.symbol.partition("_")[0] in MODAL


MODAL = ("a", "b", "c", "k", "phi", "dphi", "dphi0", "g", "e", "h", "dh", "r", "ss", "pm", "pp")
"""Letters of mean, first moment, product, curvature product, tip deflection and slope, root slope; of pairs, of shear,
of what sections turn."""


AtLength = Callable[[Scalar], Vector]
"""Numbers at a length."""


Follows = Callable[[], Scalar] | None
"""A number by others, computed when it is asked for."""


class Label(NamedTuple):
    """What a number without unit is called: letter and labels, field, meaning."""

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
        Gives it by other numbers, where the description leaves it to them.
    plain : bool
        Whether it has no name in equations (a quarter turn), as zero has none.
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
        """Whether equations show it as a number."""
        return self.plain or self.value == 0.0


class Name(ABC):
    """What the numbers of one link become on their way into its mechanics: values, or symbols."""

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
        """What stands for a number; see `Given`."""
        return self.stands_for(Given(symbol, name, value, unit, meaning, follows, plain))

    @abstractmethod
    def stands_for(self, given: Given) -> Scalar:
        """What stands for a number."""

    def along(self, labels: Sequence[Label | float], series: Series) -> AtLength:
        """What stands, at a length, for numbers that change with it; one that is known at any length has no label."""
        column = {x: i for i, x in enumerate(labels) if not isinstance(x, float)}  # what has one label is one number
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
"""The `Name` of a numeric model: every number is itself."""


@final
class _Label(Name):
    def stands_for(self, given: Given) -> Label:
        return Label(given.symbol, given.name, given.meaning)

    def along(self, labels: Sequence[Label | float], series: Series) -> AtLength:
        return lambda length: list(labels)


label: Name = _Label()
"""The `Name` that gives what a number is called."""


@final
@dataclass(frozen=True)
class LengthFunction:
    """A modal integral of shapes that follow their load, as a function of a telescope's free length, or a derivative.

    Attributes
    ----------
    letters : str
        As the symbol of a `Parameter`, e.g. "a_2_1".
    name, meaning : str
        As those of a `Parameter`.
    link : int
        Number of the telescope among the links, from 1.
    order : int
        How often it is differentiated by the length.
    """

    letters: str
    name: str
    meaning: str
    link: int
    series: Series
    order: int = 0

    @property
    def symbol(self) -> str:
        """In equations: "a_2_1", its derivatives "a_2_1_l" and "a_2_1_ll"."""
        return f"{self.letters}_{self.order * 'l'}" if self.order else self.letters

    def __call__(self, length: ArrayLike) -> np.ndarray:
        """Values at a free length, or at many [m]."""
        return self.series.values(length)[..., 0]

    @cached_property
    def slope(self) -> "LengthFunction":
        """The derivative by the free length."""
        return replace(self, series=self.series.slope, order=self.order + 1)

    @property
    def orders(self) -> tuple["LengthFunction", ...]:
        """Itself, its first and its second derivative."""
        return self, self.slope, self.slope.slope


class Names(Protocol):
    """A `Name` for each link."""

    def of(self, mark: str, owner: str) -> Name:
        """The `Name` of a link: its number goes behind the letter, its name before the field's."""


@final
@dataclass(frozen=True)
class Ledger:
    """Symbols given to numbers so far.

    A function f of a length l enters an expression as f(p) + f'(p) (l - p) + f''(p) (l - p)^2 / 2 about a place p, a
    symbol of its own. Differentiated in l as often as needed, up to twice, it has the right derivatives once l is put
    in for p: then f, f', f'' are left, each a symbol, though CasADi knows no functions that have a name only.
    """

    parameters: dict[str, Parameter] = field(default_factory=dict)
    symbols: dict[str, ca.SX] = field(default_factory=dict)
    functions: dict[str, LengthFunction] = field(default_factory=dict)
    values: dict[str, ca.SX] = field(default_factory=dict)
    """Symbols of the functions and of their derivatives."""
    places: dict[int, ca.SX] = field(default_factory=dict)
    """The place p of each telescope, by its link's number."""

    def of(self, mark: str, owner: str) -> Name:
        """The `Name` of a link: its number goes behind the letter, its name before the field's."""
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
    """A link's number as one of the arm's."""
    symbol, name = full_symbol(given.symbol, mark), full_name(given.name, owner)
    return Parameter(symbol, name, float(given.value), given.unit, given.meaning, int(mark or 0))


def full_symbol(symbol: str, mark: str) -> str:
    """A letter and its labels with the link's number between them."""
    letter, _, labels = symbol.partition("_")
    return "_".join(part for part in (letter, mark, labels) if part)


def full_name(name: str, owner: str) -> str:
    """The field's name behind that of its link."""
    return f"{owner}.{name}" if owner else name


def _constant(value: Scalar) -> Callable[[Scalar], Scalar]:
    return lambda length: value


def fitting(parameters: Iterable[Parameter], pattern: str) -> list[Parameter]:
    """Those whose symbol or name a pattern fits; raises `DescriptionError`, which lists them all, if there is none."""
    known = list(parameters)
    if not isinstance(pattern, str):
        raise DescriptionError(f"parameter {shown(pattern)}: it must be a name, a symbol or a pattern of them")
    found = named_or_fitting(pattern, known, lambda p: (p.symbol, p.name))
    if not found:
        there = ", ".join(f"{p.symbol} ({p.name})" for p in known)
        hint = meant(pattern, [name for p in known for name in (p.symbol, p.name)])
        raise DescriptionError(f"no parameter {shown(pattern)}; there are {there}{hint}")
    return found
