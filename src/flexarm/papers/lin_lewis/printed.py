"""Numbers as the paper prints them, and ours in its manner.

A printed number is met to one unit of its last digit: the paper cuts digits off (1.5174e7 stands there as 1.51e7) where
others round. What must be equal is equal to `ROUNDING`.
"""

from decimal import Decimal
from typing import Any

from flexarm.papers.verdicts import Check, near

ROUNDING = 1e-11
"""Of double precision, after some hundred operations."""


def unit(text: str) -> float:
    """One unit of the last digit of a printed number."""
    exponent = Decimal(text).as_tuple().exponent
    return 10.0 ** int(exponent)


def printed(value: float, text: str) -> Check:
    """A number beside a printed one, to one unit of the last digit."""
    return near(value, float(text), unit(text))


def numbers(values: Any, digits: int = 4) -> str:
    """A list of real or complex numbers, of each conjugate pair one."""
    return ", ".join(_number(complex(x), digits) for x in values if x.imag >= -1e-6 * abs(x))


def _number(x: complex, digits: int) -> str:
    if abs(x.imag) <= 1e-6 * abs(x):
        return f"{x.real:.{digits}g}"
    if abs(x.real) <= 1e-6 * abs(x):
        return f"j{x.imag:.{digits}g}"
    return f"{x.real:.{digits}g} +- j{x.imag:.{digits}g}"


def powers(x: float) -> str:
    """A large number in four digits and the paper's notation: 1.873e5."""
    mantissa, exponent = f"{x:.3e}".split("e")
    return f"{mantissa}e{int(exponent)}"
