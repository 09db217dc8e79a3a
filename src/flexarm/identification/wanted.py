"""Unknowns of the arguments `fit`, `start` and `bounds`."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from flexarm.checks import Fault, checked_array, checked_number, refused, shown, unknown_name
from flexarm.errors import DescriptionError
from flexarm.identification.unknowns import Unknown, bounded, positive, signed
from flexarm.mechanics.parameters import Parameter, fitting
from flexarm.model import Model, closures
from flexarm.model.varied import named_in


def varied(model: Model, fit: Any) -> tuple[Model, tuple[int, ...]]:
    """Return a model in which the parameters are variable, and their indices."""
    if not isinstance(fit, list | tuple) or not fit:
        raise DescriptionError(
            f"identify: fit is {shown(fit)}; it must be a list of names, symbols or patterns of them"
        )
    if not model.varied:
        with named_in("identify: fit"):
            model = Model(model.arm, vary=list(fit))
    names = [each.name for each in model.varied]
    found = dict.fromkeys(each.name for pattern in fit for each in fitting(model.varied, pattern))
    chosen = tuple(names.index(name) for name in found)
    _check_fits(model, chosen)
    return model, chosen


def _check_fits(model: Model, chosen: tuple[int, ...]) -> None:
    """Raise `DescriptionError` for parameters that open the closures, whose starts would have to change with them."""
    if not model.arm.closures:
        return
    import casadi as ca

    gaps = closures.function(model, "gaps")
    q, p = gaps.sx_in()
    for i in chosen:
        if ca.depends_on(gaps(q, p), p[i]):
            raise DescriptionError(
                f"identify: fit has {model.varied[i].name}, which opens the closures of arm {model.arm.name!r}; "
                "measure lengths and positions, and leave them out"
            )


def aliased(model: Model, chosen: tuple[int, ...], table: Any, what: str) -> dict[str, Any]:
    """Return a table by names of unknowns, in which symbols of an arm's parameters are replaced by names."""
    if table is None:
        return {}
    if not isinstance(table, Mapping):
        raise DescriptionError(f"identify: {what} is {shown(table)}; it must be a dict by name")
    names = {model.varied[i].symbol: model.varied[i].name for i in chosen}
    return {str(names.get(name, name)): x for name, x in table.items()}


def check_known(unknowns: list[Unknown], **tables: Mapping[str, Any]) -> None:
    """Raise `DescriptionError` if a table names something that is no unknown."""
    known = [each.name for each in unknowns]
    for what, table in tables.items():
        for name in table:
            if name not in known:
                problem = f"identify: {what}: no unknown has the name"
                raise DescriptionError(unknown_name(problem, name, known, "the unknowns are"))


def of_arm(
    parameter: Parameter, value: float, start: Mapping[str, float], bounds: Mapping[str, tuple[float, float]]
) -> Unknown:
    """Return a parameter of the arm as an unknown.

    A positive parameter stays positive, unless its bounds allow other signs.
    """
    with refused("identify"):
        value = checked_number(start.get(parameter.name, value), parameter.unit, part=f"start of {parameter.name}")
    if value > 0:
        return positive(parameter.name, parameter.unit, value, of_arm=True)
    if value == 0 and parameter.name not in bounds:
        raise DescriptionError(f"identify: {parameter.name} is 0 at the start; give it another start, or bounds")
    return signed(parameter.name, parameter.unit, value, abs(value), of_arm=True)


def placed(unknown: Unknown, start: Mapping[str, float], bounds: Mapping[str, tuple[float, float]]) -> Unknown:
    """Return the unknown with the given initial guess and bounds."""
    if unknown.name in start and not unknown.of_arm:
        with refused("identify"):
            value = checked_number(start[unknown.name], unknown.unit, part=f"start of {unknown.name}")
        unknown = replace(unknown, start=value, logarithmic=unknown.logarithmic and value > 0)
    if unknown.name not in bounds:
        return unknown
    with refused("identify"):
        pair = checked_array(bounds[unknown.name], f"bounds of {unknown.name}", finite=False)
        if pair.shape != (2,) or np.isnan(pair).any():
            raise Fault(f"bounds of {unknown.name}", f"is {shown(bounds[unknown.name])}; it must be (lowest, highest)")
    low, high = map(float, pair)
    if not unknown.size:
        size = max((abs(x) for x in (low, high) if math.isfinite(x)), default=0.0)
        if not size:
            raise DescriptionError(
                f"identify: {unknown.name} is 0 at the start; give it another start, or finite bounds"
            )
        unknown = replace(unknown, size=size)
    return bounded(unknown, low, high)


def constant(name: str, guess: float) -> Unknown:
    """Return the motor constant of an actuator's current as an unknown."""
    if guess > 0:
        return positive(f"constant of {name}", "N m/A", guess)
    return signed(f"constant of {name}", "N m/A", guess, abs(guess) or 1.0)
