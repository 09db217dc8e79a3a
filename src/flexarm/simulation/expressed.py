"""Inputs that depend on time alone, as expressions: piecewise constant values, tables, and the user's functions."""

from collections.abc import Callable
from typing import Any

import numpy as np

from flexarm.checks import takes
from flexarm.errors import DescriptionError
from flexarm.simulation.law import Column, column

Array = np.ndarray


def in_force(t: Any, times: Array, values: Array) -> Column:
    """Return the row (m,) of values (k, m) that is valid at the symbolic time t. Before the first time it is zero."""
    import casadi as ca

    begun = [ca.SX(1) if time == -np.inf else ca.SX(t >= float(time)) for time in times]
    found = ca.SX.zeros(values.shape[1])
    for k, value in enumerate(values):  # the sum is exact, since all but one of the terms are zero
        found += (begun[k] - begun[k + 1] if k + 1 < len(values) else begun[k]) * ca.DM(value)
    return found


def interpolated(t: Any, breaks: Array, coefficients: Array, late: float) -> Column:
    """Return the value (m,) of a table of cubics at the symbolic time t, as `rhs.cubic_table` stores it."""
    import casadi as ca

    count, m, _ = coefficients.shape
    rows = np.hstack([coefficients.reshape(count, 4 * m), breaks[:-1, None]])
    found = in_force(t + late, np.concatenate([[-np.inf], breaks[1:-1]]), rows)
    c, s = ca.reshape(found[:-1], 4, m).T, t - found[-1]
    return ((c[:, 0] * s + c[:, 1]) * s + c[:, 2]) * s + c[:, 3]


def function_of_time(where: str, function: Any) -> Callable[[Any], Any]:
    """Return a function of the symbolic time that gives expressions. Raise `DescriptionError` if it does not."""
    name = getattr(function, "__name__", type(function).__name__)
    if not takes(function, 0.0):
        must = "it must be a function of the time, or a controller"
        raise DescriptionError(f"{where}: {name} does not take t alone; {must}")

    def at(t: Any) -> Any:
        must = "use CasADi operations in it, or give its values in a Table"
        try:
            found = column(function(t))
        except Exception as error:
            why = " ".join(str(error).split()) or type(error).__name__
            raise DescriptionError(f"{where}: {name} is not an expression of t: {why}; {must}") from error
        for each in found.elements():  # float(t) is NaN and raises no error
            if each.is_constant() and not each.is_regular():
                raise DescriptionError(f"{where}: {name} is not an expression of t: it returns {float(each)}; {must}")
        return found

    return at
