"""Exogenous inputs by their names."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from flexarm.arrays import Array
from flexarm.checks import checked_array, counted, refused, unknown_name
from flexarm.errors import DescriptionError


def by_name(w: Mapping[Any, Any], names: Sequence[str]) -> list[tuple[str, list[str], Any]]:
    """Return each key of a dict with the exogenous inputs that it names, and its value.

    A key is a name ("push.fx"), a prefix ("push", "base"), or a vector of three ("push.f", "base.a"). Raises
    `DescriptionError` for an unknown key, and for an input that two keys name.
    """
    found = []
    given: dict[str, Any] = {}
    for key, value in w.items():
        these = _named(key, names)
        if not these:
            problem = "w: unknown exogenous input"
            raise DescriptionError(unknown_name(problem, key, names, "the arm has", listed(names)))
        for name in these:
            if name in given:
                raise DescriptionError(f"w: {name} is given twice, by {given[name]!r} and by {key!r}")
            given[name] = key
        found.append((key, these, value))
    return found


def _named(key: Any, names: Sequence[str]) -> list[str]:
    if not isinstance(key, str):
        return []
    if key in names:
        return [key]
    vector = [f"{key}{axis}" for axis in "xyz"]
    return vector if {*vector} <= {*names} else [name for name in names if name.startswith(f"{key}.")]


def listed(names: Sequence[str]) -> str:
    """Return the names of exogenous inputs for a message."""
    count = counted(len(names), "number")
    return f"{count}: {', '.join(names)}" if names else f"{count}: it has no exogenous inputs"


def constants(where: str, value: Any, names: Sequence[str]) -> Array:
    """Return one number for each of these inputs. Raises `DescriptionError`."""
    with refused():
        numbers = checked_array(value, where)
    if numbers.ndim == 0 and len(names) == 1:
        numbers = numbers[None]
    if numbers.shape != (len(names),):
        raise DescriptionError(f"{where} has shape {numbers.shape}; it must have {listed(names)}")
    return numbers


def all_constants(w: Mapping[Any, Any], names: Sequence[str]) -> Array:
    """Return the values of all exogenous inputs from a dict of numbers by name; those that it lacks are zero."""
    found = np.zeros(len(names))
    for key, these, value in by_name(w, names):
        found[[names.index(name) for name in these]] = constants(f"w[{key!r}]", value, these)
    return found
