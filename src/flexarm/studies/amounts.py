"""Amounts as the author of a study writes them: numbers in the unit of the parameter, or shares of its nominal
value."""

import re
from dataclasses import dataclass
from typing import Annotated, Any, final

from pydantic import BeforeValidator

from flexarm.checks import Fault, checked_number, shown

WRITTEN = re.compile(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(\S.*?)?\s*")
"""Pattern of a number and the text after it."""


@final
@dataclass(frozen=True)
class Amount:
    """A number with the text after it.

    Attributes
    ----------
    value : float
        The number.
    unit : str
        "%", a unit, or "" for a number in the unit of the parameter.
    """

    value: float
    unit: str = ""

    def __str__(self) -> str:
        return f"{self.value:g} {self.unit}".rstrip()

    @property
    def relative(self) -> bool:
        """True if the amount is a share of a nominal value."""
        return self.unit == "%"

    def place(self, nominal: float | None, unit: str, part: str) -> float:
        """Return the value: "10 %" is a tenth above the nominal value, "-10 %" a tenth below. Raises `Fault`."""
        if not self.relative:
            return self._absolute(unit, part)
        return _known(nominal, part) + self.width(nominal, unit, part)

    def width(self, nominal: float | None, unit: str, part: str) -> float:
        """Return the value as a difference: "10 %" is a tenth of the nominal value's size."""
        if not self.relative:
            return self._absolute(unit, part)
        return abs(_known(nominal, part)) * self.value / 100.0

    def _absolute(self, unit: str, part: str) -> float:
        if self.unit and self.unit != unit:
            right = f"in {unit}" if unit else "without a unit"
            raise Fault(part, f"is {self}; it must be {right}, or in % of the nominal value")
        return self.value


def _known(nominal: float | None, part: str) -> float:
    if not nominal:
        what = "zero" if nominal == 0.0 else "unknown"
        raise Fault(part, f"is in %, but the nominal value is {what}; give an absolute number")
    return nominal


def amount(value: object, part: str = "") -> Amount:
    """Return an amount from a number, or from a text of a number and a unit. Raises `Fault`."""
    if isinstance(value, Amount):
        return value
    if isinstance(value, str):
        if not (found := WRITTEN.fullmatch(value)):
            raise Fault(part, f'is {shown(value)}; it must be a number, or a text such as "12.5 kg" or "-10 %"')
        return Amount(checked_number(float(found[1]), part=part), found[2] or "")
    return Amount(checked_number(value, part=part))


AnyAmount = Annotated[Any, BeforeValidator(amount)]
OptionalAmount = Annotated[Any, BeforeValidator(lambda value: None if value is None else amount(value))]
