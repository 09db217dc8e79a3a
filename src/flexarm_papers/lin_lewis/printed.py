"""Printed numbers, and numbers formatted as the paper prints them.

A printed number is met to one unit of its last digit, since the paper truncates digits (1.5174e7 is printed as 1.51e7)
instead of rounding them. Exact equalities are checked to `ROUNDING`.
"""

from decimal import Decimal
from typing import Any

from flexarm_papers.verdicts import Check, near

ROUNDING = 1e-11
"""Rounding error of double precision after some hundred operations."""


def unit(text: str) -> float:
    """Return one unit of the last digit of a printed number."""
    exponent = Decimal(text).as_tuple().exponent
    return 10.0 ** int(exponent)


def printed(value: float, text: str) -> Check:
    """Return the check of a number against a printed one, to one unit of the last digit."""
    return near(value, float(text), unit(text))


def numbers(values: Any, digits: int = 4) -> str:
    """Return a list of real or complex numbers as text, with one of each conjugate pair."""
    return ", ".join(_number(complex(x), digits) for x in values if x.imag >= -1e-6 * abs(x))


def _number(x: complex, digits: int) -> str:
    if abs(x.imag) <= 1e-6 * abs(x):
        return f"{x.real:.{digits}g}"
    if abs(x.real) <= 1e-6 * abs(x):
        return f"j{x.imag:.{digits}g}"
    return f"{x.real:.{digits}g} +- j{x.imag:.{digits}g}"


def powers(x: float) -> str:
    """Return a large number as text with four digits in the paper's notation: 1.873e5."""
    mantissa, exponent = f"{x:.3e}".split("e")
    return f"{mantissa}e{int(exponent)}"
