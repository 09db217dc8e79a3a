"""What depends on the time alone, as expressions: values in force, tables, functions of the user's."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from flexarm.errors import DescriptionError
from flexarm.simulation.law import Column, column

Array = np.ndarray


def in_force(t: Any, times: Array, values: Array) -> Column:
    """The row of values (k, m) that is in force at the symbolic time t, (m,); before the first, zero."""
    import casadi as ca

    begun = [ca.SX(1) if time == -np.inf else ca.SX(t >= float(time)) for time in times]
    found = ca.SX.zeros(values.shape[1])
    for k, value in enumerate(values):  # exact: all but one of the terms are zero
        found += (begun[k] - begun[k + 1] if k + 1 < len(values) else begun[k]) * ca.DM(value)
    return found


def interpolated(t: Any, breaks: Array, coefficients: Array, late: float) -> Column:
    """A table of cubics at the symbolic time t, (m,), as `rhs.cubic_table` has it."""
    import casadi as ca

    count, m, _ = coefficients.shape
    rows = np.hstack([coefficients.reshape(count, 4 * m), breaks[:-1, None]])
    found = in_force(t + late, np.concatenate([[-np.inf], breaks[1:-1]]), rows)
    c, s = ca.reshape(found[:-1], 4, m).T, t - found[-1]
    return ((c[:, 0] * s + c[:, 1]) * s + c[:, 2]) * s + c[:, 3]


def function_of_time(where: str, function: Any) -> Callable[[Any], Any]:
    """A function of the symbolic time that gives expressions; raises `DescriptionError` where it is none."""
    name = getattr(function, "__name__", type(function).__name__)
    try:
        inspect.signature(function).bind(0.0)
    except TypeError:
        must = "it must be a function of the time, or a controller"
        raise DescriptionError(f"{where}: {name} does not take t alone; {must}") from None
    except ValueError:  # a built-in function that does not tell
        pass

    def at(t: Any) -> Any:
        must = "write it in CasADi's operations, or give its values in a Table"
        try:
            found = column(function(t))
        except Exception as error:
            why = " ".join(str(error).split()) or type(error).__name__
            raise DescriptionError(f"{where}: {name} is no expression of t: {why}; {must}") from error
        for each in found.elements():  # float(t) is NaN, and nothing says so
            if each.is_constant() and not each.is_regular():
                raise DescriptionError(f"{where}: {name} is no expression of t: it gives {float(each)}; {must}")
        return found

    return at
