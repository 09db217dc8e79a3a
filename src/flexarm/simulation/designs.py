"""Controllers with other numbers, such as gains and times of a reference, whose differences give derivatives."""

from dataclasses import fields, is_dataclass, replace
from typing import Any, NamedTuple

from flexarm.arrays import Array
from flexarm.checks import Fault, a_kind, checked_array, unknown_name

STEP = 1e-2
"""Relative change of a number in the differences of designs, absolute for zero.

Most laws are linear or rational in their numbers, so that the error of the differences is near that of rounding."""

STENCIL = {1: 3 / 4, 2: -3 / 20, 3: 1 / 60}
"""Weights of central differences of order 6."""


class Design(NamedTuple):
    """A controller with another value of one of its numbers, and its weight in the derivative by this number."""

    controller: Any
    number: int
    weight: float


def numbers_of(controller: Any, path: str, argument: str = "with_respect_to") -> Array:
    """Return the numbers of a controller at a path of fields, as "reference.periods".

    Raises `Fault`, which names the argument that has the path.
    """
    found = controller
    for name in path.split("."):
        names = [each.name for each in fields(found)] if is_dataclass(found) else []
        if name not in names:
            problem = f"{argument} has u.{path}, but {a_kind(found)} has no field"
            raise Fault("", unknown_name(problem, name, names, "its fields are"))
        found = getattr(found, name)
    try:
        if found is None or isinstance(found, bool):
            raise Fault("", "")
        return checked_array(found, "")
    except Fault:
        message = f"has u.{path}, which is {a_kind(found)}; it must be numbers"
        raise Fault(argument, message) from None


def designs(controller: Any, path: str) -> list[Design]:
    """Return the controllers whose weighted sum is the derivative with respect to each number at a path of fields."""
    x, found = numbers_of(controller, path), []
    for i in range(x.size):
        step = STEP * (abs(x.flat[i]) or 1.0)
        for multiple, weight in STENCIL.items():
            for sign in (1.0, -1.0):
                moved = x.copy()
                moved.flat[i] += sign * multiple * step
                found.append(Design(with_numbers(controller, path, moved), i, sign * weight / step))
    return found


def with_numbers(controller: Any, path: str, numbers: Array) -> Any:
    """Return a controller with other numbers at a path of fields."""
    name, _, rest = path.partition(".")
    own = getattr(controller, name)
    value = with_numbers(own, rest, numbers) if rest else (float(numbers) if numbers.ndim == 0 else numbers)
    return replace(controller, **{name: value})
