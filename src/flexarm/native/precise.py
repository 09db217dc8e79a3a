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
    return with_rounding(code, 0.0, *arguments)[0]


def with_rounding(
    code: Iterable[Instruction], rounding: float, *arguments: Iterable[float]
) -> tuple[np.ndarray, np.ndarray]:
    """Evaluate a program, and bound the error of an evaluation in which each operation has a relative rounding.

    This is running error analysis (Higham, Accuracy and Stability of Numerical Algorithms, section 3.3): the error of
    an operation is its own rounding, and what the errors of its arguments change in it, one after the other.

    Returns
    -------
    values, bounds : (n_out,) of mpmath numbers
        NaN where a number has no real value.
    """
    given, zero = [mp.mpf(float(v)) for x in arguments for v in x], mp.mpf(0)
    values: list[Any] = []
    errors: list[Any] = []
    results: dict[int, tuple[Any, Any]] = {}
    for each in code:
        args = [mp.mpf(a) if isinstance(a, float) else values[a] for a in each.args]
        off = [zero if isinstance(a, float) else errors[a] for a in each.args]
        value, error = None, zero
        if each.op == INPUT:
            value = given[each.index]
        elif each.op == OUTPUT:
            results[each.index] = args[0], off[0]
        elif each.op == PART:
            value, error = args[0][each.index], off[0][each.index] if rounding else zero
        else:
            operation = OPERATIONS[each.op]
            value = _value(operation, args)
            error = _error(operation, args, off, value, rounding) if rounding else zero
        values.append(value)
        errors.append(error)
    found = [results[i] for i in range(len(results))]
    return np.array([value for value, _ in found]), np.array([error for _, error in found])


def _error(operation: Callable[..., Any], args: list[Any], off: list[Any], value: Any, rounding: float) -> Any:
    """Return the bound of an operation's error, as a tuple if it has two results."""
    if isinstance(value, tuple):
        one, other = (lambda *x, k=k: operation(*x)[k] for k in (0, 1))
        return _error(one, args, off, value[0], rounding), _error(other, args, off, value[1], rounding)
    error = rounding * abs(value)
    for i, by in enumerate(off):
        if by:
            moved = [_value(operation, [*args[:i], args[i] + sign * by, *args[i + 1 :]]) for sign in (-1, 1)]
            error += max(abs(x - value) for x in moved)
    return error


def _value(operation: Callable[..., Any], arguments: list[Any]) -> Any:
    """Return the value of an operation, or NaN if it has no real value."""
    try:
        value = operation(*arguments)
    except (ValueError, ZeroDivisionError):
        return mp.nan
    return mp.nan if isinstance(value, mp.mpc) else value
