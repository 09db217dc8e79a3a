"""Evaluation of a straight-line program with the precision that is set in mpmath."""

from collections.abc import Callable, Iterable
from typing import Any

import casadi as ca
import mpmath as mp  # type: ignore[import-untyped]
import numpy as np

from flexarm.native.program import INPUT, INVERSE, OUTPUT, PART, SINCOS, Instruction

OPERATIONS: dict[int | str, Callable[..., Any]] = {
    ca.OP_ADD: lambda a, b: a + b,
    ca.OP_SUB: lambda a, b: a - b,
    ca.OP_MUL: lambda a, b: a * b,
    ca.OP_NEG: lambda a: -a,
    ca.OP_SQ: lambda a: a * a,
    ca.OP_TWICE: lambda a: a + a,
    INVERSE: lambda a: 1 / a,
    SINCOS: lambda a: (mp.sin(a), mp.cos(a)),
    ca.OP_SQRT: mp.sqrt,
    ca.OP_EXP: mp.exp,
    ca.OP_LOG: mp.log,
    ca.OP_POW: lambda a, b: a**b,
    ca.OP_CONSTPOW: lambda a, b: a**b,
    ca.OP_TAN: mp.tan,
    ca.OP_ASIN: mp.asin,
    ca.OP_ACOS: mp.acos,
    ca.OP_ATAN: mp.atan,
    ca.OP_ATAN2: mp.atan2,
    ca.OP_SINH: mp.sinh,
    ca.OP_COSH: mp.cosh,
    ca.OP_TANH: mp.tanh,
    ca.OP_FLOOR: mp.floor,
    ca.OP_CEIL: mp.ceil,
    ca.OP_FABS: abs,
    ca.OP_FMIN: lambda a, b: b if b < a else a,
    ca.OP_FMAX: lambda a, b: b if b > a else a,
    ca.OP_COPYSIGN: lambda a, b: abs(a) if b >= 0 else -abs(a),
    ca.OP_SIGN: lambda a: mp.mpf((a > 0) - (a < 0)),
    ca.OP_LT: lambda a, b: mp.mpf(a < b),
    ca.OP_LE: lambda a, b: mp.mpf(a <= b),
    ca.OP_EQ: lambda a, b: mp.mpf(a == b),
    ca.OP_NE: lambda a, b: mp.mpf(a != b),
    ca.OP_NOT: lambda a: mp.mpf(a == 0),
    ca.OP_AND: lambda a, b: a * b,
    ca.OP_OR: max,
    ca.OP_IF_ELSE_ZERO: lambda a, b: b if a != 0 else mp.mpf(0),
}
"""CasADi's operations on multi-precision numbers. A true comparison is 1, a false one 0."""


def precise(code: Iterable[Instruction], *arguments: Iterable[float]) -> np.ndarray:
    """Evaluate a program instruction by instruction.

    Returns
    -------
    (n_out,) of mpmath numbers
        NaN where a number has no real value.
    """
    given = [mp.mpf(float(v)) for x in arguments for v in x]
    values: list[Any] = []
    results: dict[int, Any] = {}
    for each in code:
        args = [mp.mpf(a) if isinstance(a, float) else values[a] for a in each.args]
        if each.op == INPUT:
            values.append(given[each.index])
        elif each.op == OUTPUT:
            results[each.index] = args[0]
            values.append(None)
        elif each.op == PART:
            values.append(args[0][each.index])
        else:
            values.append(_value(OPERATIONS[each.op], args))
    return np.array([results[i] for i in range(len(results))])


def _value(operation: Callable[..., Any], arguments: list[Any]) -> Any:
    """Return the value of an operation, or NaN if it has no real value."""
    try:
        value = operation(*arguments)
    except (ValueError, ZeroDivisionError):
        return mp.nan
    return mp.nan if isinstance(value, mp.mpc) else value
