"""The operations of a library of arrays that a program of an arm needs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, final

import casadi as ca

from flexarm.native.program import INVERSE

Operation = Callable[..., Any]


@final
@dataclass(frozen=True)
class Namespace:
    """A library of arrays.

    Attributes
    ----------
    name : str
        Name of the library in messages.
    functions : dict
        Its operations by CasADi's numbers. Arguments are arrays, or floats.
    array : function
        (value, like) -> an array of doubles, on the device of `like` if that is an array of the library.
    stack, concatenate : function
        (arrays) -> one array, along a new last axis or along the last one.
    broadcast : function
        (value, shape) -> an array of this shape.
    broadcast_shapes : function
        (shapes) -> the shape to which they are broadcast.
    """

    name: str
    functions: Mapping[int | str, Operation]
    array: Operation
    stack: Operation
    concatenate: Operation
    broadcast: Operation
    broadcast_shapes: Operation


def operations(xp: Any, where: Operation, array: Operation) -> dict[int | str, Operation]:
    """Return the operations of a library whose functions have NumPy's names, those of one argument and of two."""

    def lifted(function: Operation) -> Operation:
        return lambda a, b: function(*_arrays(a, b, array))

    plain: dict[int | str, Operation] = {
        ca.OP_ADD: lambda a, b: a + b,
        ca.OP_SUB: lambda a, b: a - b,
        ca.OP_MUL: lambda a, b: a * b,
        ca.OP_NEG: lambda a: -a,
        ca.OP_SQ: lambda a: a * a,
        ca.OP_TWICE: lambda a: a + a,
        INVERSE: lambda a: 1.0 / a,
        ca.OP_POW: lambda a, b: a**b,
        ca.OP_CONSTPOW: lambda a, b: a**b,
        ca.OP_LT: lambda a, b: a < b,
        ca.OP_LE: lambda a, b: a <= b,
        ca.OP_EQ: lambda a, b: a == b,
        ca.OP_NE: lambda a, b: a != b,
        ca.OP_IF_ELSE_ZERO: lambda a, b: where(_true(a), b, 0.0),
        ca.OP_NOT: lambda a: ~_true(a),
        ca.OP_AND: lambda a, b: _true(a) & _true(b),
        ca.OP_OR: lambda a, b: _true(a) | _true(b),
    }
    one = {"sin": ca.OP_SIN, "cos": ca.OP_COS, "tan": ca.OP_TAN, "exp": ca.OP_EXP, "log": ca.OP_LOG, "sqrt": ca.OP_SQRT,
           "arcsin": ca.OP_ASIN, "arccos": ca.OP_ACOS, "arctan": ca.OP_ATAN, "sinh": ca.OP_SINH, "cosh": ca.OP_COSH,
           "tanh": ca.OP_TANH, "abs": ca.OP_FABS, "sign": ca.OP_SIGN, "floor": ca.OP_FLOOR, "ceil": ca.OP_CEIL,
           "log1p": ca.OP_LOG1P, "expm1": ca.OP_EXPM1}  # fmt: skip
    two = {"arctan2": ca.OP_ATAN2, "minimum": ca.OP_FMIN, "maximum": ca.OP_FMAX, "hypot": ca.OP_HYPOT,
           "copysign": ca.OP_COPYSIGN}  # fmt: skip
    found = {op: getattr(xp, name) for name, op in one.items()}
    return plain | found | {op: lifted(getattr(xp, name)) for name, op in two.items()}


def _true(a: Any) -> Any:
    """Return a condition, which a program stores as a number, as a Boolean."""
    return a if str(getattr(a, "dtype", "")).endswith("bool") else a != 0.0


def _arrays(a: Any, b: Any, array: Operation) -> tuple[Any, Any]:
    return (array(a, b), b) if isinstance(a, float) else (a, array(b, a) if isinstance(b, float) else b)
