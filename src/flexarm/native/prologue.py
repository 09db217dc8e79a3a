"""The part of a program that depends on parameters alone, separated so that it is computed once when they change.

A function f(x, p) becomes w = prologue(p), numbers of the arm at these parameters, and main(x, w). main has as many
operations as a program in which the parameters are constants.
"""

from dataclasses import dataclass, field
from typing import Any, final

import casadi as ca

from flexarm.native.program import steps


@final
@dataclass
class Prologue:
    """Expressions of parameters that several functions share, and the subset that the functions need.

    Attributes
    ----------
    p : SX (k,)
    w : list of SX
        Symbols of the needed expressions, in the order of `function`'s result.
    """

    p: ca.SX
    w: list[ca.SX] = field(default_factory=list)
    _expressions: list[ca.SX] = field(default_factory=list)
    _known: dict[tuple, int] = field(default_factory=dict)
    _needed: dict[int, int] = field(default_factory=dict)

    def function(self) -> ca.Function:
        """Return the function p -> w."""
        needed = [self._expressions[key] for key in self._needed]
        return ca.Function("prologue", [self.p], [ca.cse(ca.densify(ca.SX(ca.vertcat(*needed))))])

    def main(self, function: ca.Function) -> tuple[list[ca.SX], list[ca.SX]]:
        """Return the arguments of a function except p, its last, and its result over them and w."""
        x = function.sx_in()[:-1]
        scalars = [each.elements() for each in x]
        y = [ca.SX.zeros(function.sparsity_out(i)) for i in range(function.n_out())]
        register: dict[int, Any] = {}
        for op, where, target, value in steps(function):
            if op == ca.OP_CONST:
                register[target[0]] = value
            elif op == ca.OP_INPUT:
                inside = where[0] < len(x)
                register[target[0]] = scalars[where[0]][where[1]] if inside else self._expression(op, (where[1],))
            elif op == ca.OP_OUTPUT:
                y[target[0]].nz[target[1]] = self._value(register[where[0]])
            else:
                register[target[0]] = self._done(op, tuple(register[each] for each in where))
        return x, y

    def _done(self, op: int, arguments: tuple) -> Any:
        """Apply an operation to expressions of x (SX), of p (int) and numbers (float)."""
        if not any(isinstance(each, ca.SX) for each in arguments):
            return self._expression(op, arguments)
        if op == ca.OP_DIV and isinstance(arguments[1], int):  # saves a division in the main program
            op, arguments = ca.OP_MUL, (arguments[0], self._expression(ca.OP_INV, arguments[1:]))
        return _applied(op, [self._value(each) for each in arguments])

    def _expression(self, op: int, arguments: tuple) -> int:
        """Return the index of the expression of p that an operation gives. Equal operations share an expression."""
        key = (op, *map(repr, arguments))
        if key not in self._known:
            if op == ca.OP_INPUT:
                made = self.p[arguments[0]]
            else:
                made = _applied(op, [self._expressions[x] if isinstance(x, int) else ca.SX(x) for x in arguments])
            self._known[key] = len(self._expressions)
            self._expressions.append(made)
        return self._known[key]

    def _value(self, x: Any) -> ca.SX:
        """Return the value of a register in the main program."""
        if isinstance(x, ca.SX):
            return x  # a copy takes CasADi ten times as long as the operation
        if not isinstance(x, int):
            return ca.SX(x)
        if x not in self._needed:
            self._needed[x] = len(self.w)
            self.w.append(ca.SX.sym(f"w{len(self.w)}"))
        return self.w[self._needed[x]]


def _applied(op: int, arguments: list[ca.SX]) -> ca.SX:
    return ca.SX.unary(op, *arguments) if len(arguments) == 1 else ca.SX.binary(op, *arguments)
