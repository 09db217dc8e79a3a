"""Sensor signals of a model, as functions y(q, qd, qdd)."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from flexarm.arrays import Array
from flexarm.checks import shown
from flexarm.description.arm import Arm
from flexarm.errors import DescriptionError
from flexarm.model.tracing import Traced
from flexarm.model.user_code import digest, is_foreign
from flexarm.native.kernel import Kernel

if TYPE_CHECKING:
    import casadi as ca


class Sensor(Protocol):
    """Interface of an output. The module `sensors` has the usual ones."""

    def names(self, arm: Arm) -> tuple[str, ...]:
        """Return the names of the sensor's signals. Raise `DescriptionError` if the arm lacks the measured quantity."""

    def expression(self, arm: Arm, chain: Any, q: list, qd: list, qdd: list) -> list:
        """Return the signals at a state, from lists of scalars, each over the rates: see `mechanics.chain.posed`."""

    def described(self) -> str:
        """Return a text with everything that the expression depends on, except the arm."""


ASKED = ("names", "expression", "described")
"""Required methods of a `Sensor`."""


def names(arm: Arm, outputs: Sequence[Sensor]) -> tuple[str, ...]:
    """Return the names of the outputs' signals in order. Raise `DescriptionError` if two are the same."""
    if not isinstance(outputs, list | tuple) or not outputs:
        raise DescriptionError(f"outputs is {shown(outputs)}; it must be a list of sensors")
    for each in outputs:
        if isinstance(each, type) or not all(callable(getattr(each, name, None)) for name in ASKED):
            raise DescriptionError(f"outputs: {shown(each)} is not a sensor")
    found = [name for each in outputs for name in each.names(arm)]
    for name in found:
        if found.count(name) > 1:
            raise DescriptionError(f"outputs: two signals are called {name!r}; give one of the sensors a name")
    return tuple(found)


def function(model: Traced, outputs: Sequence[Sensor]) -> "ca.Function":
    """Return the CasADi Function y(q, qd, qdd)."""
    return model.traced(key(model, outputs), lambda: _traced(model, outputs))


def _traced(model: Traced, outputs: Sequence[Sensor]) -> "ca.Function":
    import casadi as ca

    from flexarm.mechanics.spatial import entries

    arguments = ("q", "qd", "qdd")
    symbols = [ca.SX.sym(name, size) for name, size in zip(arguments, (model.nq, model.nv, model.nv), strict=True)]
    scalars = [entries(x) for x in symbols]
    chain, scalars[0] = model.posed(scalars[0])
    y = [value for each in outputs for value in each.expression(model.arm, chain, *scalars)]
    expression = ca.cse(ca.densify(ca.SX(ca.vertcat(*y))))
    return model.over_parameters("outputs", dict(zip(arguments, symbols, strict=True)), {"outputs": expression})


def slopes(model: Traced, outputs: Sequence[Sensor], q: Array, qd: Array, qdd: Array) -> tuple[Array, ...]:
    """Return dy/dq, dy/dqd and dy/dqdd, (p, n) each.

    The first is with respect to local coordinates, as in `Traced.slope`.
    """

    def trace() -> "ca.Function":
        import casadi as ca

        y = function(model, outputs)
        x = y.sx_in()
        names = ("q", "qd", "qdd")
        found = [model.to_tangent(ca.jacobian(y(*x), each), x, a) for a, each in zip(names, x, strict=False)]
        return ca.Function("slopes", x, [ca.densify(each) for each in found])

    found = model.with_numbers(model.traced(key(model, outputs) + " slopes", trace))
    return tuple(np.array(x) for x in found(q, qd, qdd))


def kernel(model: Traced, outputs: Sequence[Sensor]) -> Kernel:
    """Return the compiled form of `function`, from the concatenated q, qd, qdd to y."""
    return model.compiled(key(model, outputs), lambda model: function(model, outputs))


def key(model: Traced, outputs: Sequence[Any]) -> str:
    """Return the key of a function of outputs, in addition to the model's.

    User-defined sensors enter by their expressions.
    """
    names(model.arm, outputs)
    said = [[type(each).__qualname__, each.described()] for each in outputs]
    return json.dumps(["outputs", *said, *([digest(_traced(model, outputs))] if is_foreign(outputs) else [])])
