"""An arm's numbers by name: what stays a symbol in a closed form, and what it is.

The mechanics of a link is built from numbers that each pass through a `Name` once: for a numeric model it hands back
the value, for closed forms a symbol. Zero stays zero, so what is absent costs nothing and is not seen.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

import casadi as ca

from flexarm.errors import DescriptionError
from flexarm.mechanics.spatial import Scalar


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
    """

    symbol: str
    name: str
    value: float
    unit: str
    meaning: str

    @property
    def modal(self) -> bool:
        """Whether it is a number of the mode shapes alone: an integral of theirs, or a value at an end."""
        return not self.unit and self.symbol.partition("_")[0] in MODAL


MODAL = ("a", "b", "c", "k", "phi", "dphi", "dphi0", "g")
"""Letters of mean, first moment, product, curvature product, tip deflection and slope, root slope, shortening."""

Name = Callable[[str, str, float, str, str], Scalar]
"""(letter and labels, field, value, unit, meaning) of a number of one link -> what stands for it."""


def value_of(symbol: str, name: str, value: float, unit: str, meaning: str) -> Scalar:
    """The `Name` of a numeric model."""
    return value


@dataclass(frozen=True)
class Ledger:
    """Symbols given to numbers so far."""

    parameters: dict[str, Parameter] = field(default_factory=dict)
    symbols: dict[str, ca.SX] = field(default_factory=dict)

    def of(self, mark: str, owner: str) -> Name:
        """The `Name` of a link: its number goes behind the letter, its name before the field's."""

        def named(symbol: str, name: str, value: float, unit: str, meaning: str) -> Scalar:
            if value == 0.0:
                return 0.0
            letter, _, labels = symbol.partition("_")
            full = "_".join(part for part in (letter, mark, labels) if part)
            if full not in self.symbols:
                who = f"{owner}.{name}" if owner else name
                self.parameters[full] = Parameter(full, who, float(value), unit, meaning)
                self.symbols[full] = ca.SX.sym(full)
            elif abs(self.parameters[full].value - value) > 1e-9 * abs(value):
                raise AssertionError(f"{full} names two numbers, {self.parameters[full].value} and {value}")
            return self.symbols[full]

        return named


def fitting(parameters: Iterable[Parameter], pattern: str) -> list[Parameter]:
    """Those whose symbol or name a pattern fits; raises `DescriptionError`, which lists them all, if there is none."""
    known = list(parameters)
    found = [p for p in known if fnmatchcase(p.symbol, pattern) or fnmatchcase(p.name, pattern)]
    if not found:
        there = ", ".join(f"{p.symbol} ({p.name})" for p in known)
        raise DescriptionError(f"no parameter {pattern!r}; there are {there}")
    return found
