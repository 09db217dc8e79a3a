"""Numbers of SymPy's expressions, node by node: no program is printed and compiled for a single evaluation."""

import math
from functools import reduce
from operator import mul

import numpy as np
import sympy as sp

OPERATIONS = {sp.Add: sum, sp.Mul: lambda x: reduce(mul, x), sp.Pow: lambda x: x[0] ** x[1]}
FUNCTIONS = {sp.sin: math.sin, sp.cos: math.cos, sp.tan: math.tan, sp.sqrt: math.sqrt, sp.exp: math.exp}


def evaluated(expressions, values):
    """Return arrays (of matrices) and floats (of expressions) where the symbols have the values.

    A symbol without a value is a `KeyError`. Equal subexpressions are evaluated once. Functions of the package's own
    are evaluated by themselves (`_imp_`, as `lambdify` does).
    """
    known = {symbol: float(value) for symbol, value in values.items()}

    def number(x):
        found = known.get(x)
        if found is None:
            found = known[x] = computed(x)
        return found

    def computed(x):
        if x.is_Number or x.is_NumberSymbol:
            return float(x)
        if x.is_Symbol:
            raise KeyError(x)
        arguments = [number(a) for a in x.args]
        if x.func in OPERATIONS:
            return OPERATIONS[x.func](arguments)
        return float((FUNCTIONS.get(x.func) or x.func._imp_)(*arguments))

    def each(x):
        if not isinstance(x, sp.MatrixBase):
            return number(sp.sympify(x))
        return np.array([number(e) for e in x], dtype=float).reshape(x.shape)

    return [each(x) for x in expressions]
