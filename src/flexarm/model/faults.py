"""Reasons why an arm's equations give no finite numbers."""

import json
import math
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Protocol

import numpy as np

from flexarm.arrays import Array
from flexarm.description.arm import Arm
from flexarm.errors import DescriptionError

EXTREME = 1e15
"""Size of a number, or of its inverse, in SI units, beyond which it is not plausible for an arm."""


class Evaluated(Protocol):
    """A model, as far as its faults are of concern: the description, and the values of its quantities."""

    arm: Arm

    @property
    def velocities(self) -> tuple[str, ...]:
        """Names of the rates."""

    def evaluate(self, name: str, *values: Any) -> Array:
        """Return a quantity."""


def check_inertia(model: Evaluated, q: Array) -> None:
    """Raise `DescriptionError` if a coordinate has no inertia."""
    if fault := without_inertia(model, q):
        raise DescriptionError(f"arm {model.arm.name!r}: {fault}")


def without_inertia(model: Evaluated, q: Array) -> str:
    """Return a message about a coordinate without inertia, or "" if there is none."""
    M = model.evaluate("mass_matrix", q)
    scale = np.sqrt(np.where(np.diag(M) > 0, np.diag(M), 1.0))
    omega, V = np.linalg.eigh(M / np.outer(scale, scale))
    if omega[0] > 1e-14 * omega[-1]:
        return ""
    name = model.velocities[int(np.argmax(np.abs(V[:, 0])))]
    return (
        f"no inertia resists the acceleration of {name}; give an inertia to a link, hub, rotor or payload that it moves"
    )


def no_mode(arm: Arm, locked: bool) -> DescriptionError:
    """Return the error for an arm without a vibration mode to show."""
    held = " with locked drives" if locked else ""
    return DescriptionError(f"arm {arm.name!r} has no vibration mode{held}")


def not_finite(model: Evaluated, quantity: str) -> DescriptionError:
    """Return the error for a quantity that is not finite at rest, with the likely reason."""
    where, number = most_extreme(model.arm)
    fault = f"its {quantity} is not finite at rest; check its most extreme number, {where}, {number:g}"
    if 1 / EXTREME < abs(number) < EXTREME and quantity != "mass_matrix":
        with suppress(DescriptionError):  # the inertia may not be finite either
            fault = without_inertia(model, np.array(model.arm.rest)) or fault
    return DescriptionError(f"arm {model.arm.name!r}: {fault}")


def most_extreme(arm: Arm) -> tuple[str, float]:
    """Return the name and value of the number of a description that is farthest from 1 in SI units, large or small."""
    table = json.loads(arm.canonical())
    links = {f"link {link['name']!r}: ": link for link in table.pop("links")}
    found = [(where + name, x) for where, part in {"": table, **links}.items() for name, x in _numbers(part, "") if x]
    return max(found, key=lambda each: abs(math.log10(abs(each[1]))))


def _numbers(part: Any, name: str) -> Iterator[tuple[str, float]]:
    if isinstance(part, dict):
        for key, value in part.items():
            yield from _numbers(value, f"{name}.{key}" if name else key)
    elif isinstance(part, list):
        for index, value in enumerate(part):
            yield from _numbers(value, f"{name}[{index}]")
    elif isinstance(part, int | float) and not isinstance(part, bool):
        yield name, part
