"""Scalars of a run as expressions: functions of quantities by name, traced and compiled with their derivatives."""

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, final

import numpy as np

from flexarm.arrays import Array
from flexarm.checks import Fault, choices, counted, refused, shown, unknown_name
from flexarm.errors import FlexarmError
from flexarm.model import Model
from flexarm.native import lifted
from flexarm.native.adjoint import adjoint
from flexarm.simulation.layout import RIDING, Layout

if TYPE_CHECKING:
    import casadi as ca

Symbols = Mapping[str, Callable[[], "ca.SX"]]
"""Quantities by name, each as a function that returns its expression."""

OF_STATE = ("t", "q", "qd", "s", "p", "tip", "kinetic", "potential")
AT_A_TIME = (*OF_STATE, *RIDING, "data")
AT_ALL_TIMES = (*OF_STATE, "u", "w")
"""Names that a function of the state at a time, and an integrand, may take."""


@final
class Scalar:
    """A scalar function of quantities of a run, compiled with its derivatives.

    Parameters
    ----------
    where : str
        Name of the argument in messages.
    function : callable or str
        A function of some quantities by the names of its arguments, or the name of one quantity.
    model : Model
    layout : Layout
    data : int, optional
        Length of `data` for a function of the state at a time. None for an integrand, which takes u and w.
    """

    def __init__(self, where: str, function: Any, model: Model, layout: Layout, data: int | None = None):
        import casadi as ca

        sizes = {"t": 1, "x": layout.states, "fed": layout.fed, "p": len(model.p)}
        if data is not None:
            sizes = {"t": 1, "x": layout.size, "p": len(model.p), "data": data}
        parts = {name: ca.SX.sym(name, size) for name, size in sizes.items()}
        allowed = AT_ALL_TIMES if data is None else AT_A_TIME
        known = {name: each for name, each in _quantities(parts, model, layout).items() if name in allowed}
        with refused("gradient"):
            value = _value(where, function, known)
        given = ca.vertcat(*parts.values())
        self.kernel = lifted.kernel(ca.Function(where, [given], [ca.cse(ca.densify(value))]))
        self.product = adjoint(self.kernel)
        ends = np.cumsum([0, *sizes.values()]).tolist()
        self.parts = {name: slice(a, b) for name, a, b in zip(sizes, ends[:-1], ends[1:], strict=True)}

    def __call__(self, rows: Array) -> tuple[Array, Array]:
        """Return the value (N,) and the slopes (N, n) at N rows of arguments (N, n)."""
        rows = np.ascontiguousarray(rows, dtype=float)
        return self.kernel.few(rows)[:, 0], self.product.few(np.hstack([rows, np.ones((len(rows), 1))]))


def _quantities(parts: Mapping[str, "ca.SX"], model: Model, layout: Layout) -> Symbols:
    """Return the quantities that a function may take."""
    x, fed = parts["x"], parts.get("fed")
    slices = {"q": layout.q, "qd": layout.qd, "s": layout.s}
    found: dict[str, Callable[[], ca.SX]] = {name: partial(_part, x, where) for name, where in slices.items()}
    found |= {name: partial(_part, parts[name], slice(None)) for name in ("t", "p", "data") if name in parts}
    if fed is not None:
        found["u"] = partial(_part, fed, slice(0, layout.inputs))
        found["w"] = partial(_part, fed, slice(layout.inputs + layout.memory, layout.fed))
    else:
        found |= {name: partial(_part, x, slice(k, k + 1)) for name, k in zip(RIDING, _riding(layout), strict=True)}

    def quantity(name: str, rows: Any) -> "ca.SX":
        at = {**{key: each() for key, each in found.items() if key in ("q", "qd", "s")}, "p": parts["p"]}
        names = [*model.arguments(name), *(["p"] if model.varied else [])]
        return model.function(name)(*(at[each] for each in names))[rows]

    found["tip"] = lambda: quantity("tip", (slice(0, 3), 3))
    found["kinetic"], found["potential"] = (partial(quantity, "energy", k) for k in (0, 1))
    return found


def _riding(layout: Layout) -> tuple[int, int]:
    return layout.work, layout.dissipated


def _part(x: "ca.SX", where: slice) -> "ca.SX":
    return x[where]


def _value(where: str, function: Any, known: Symbols) -> "ca.SX":
    """Return the value of a function of quantities by name. Raises `Fault`."""
    import casadi as ca

    if isinstance(function, str):
        if function not in known:
            raise Fault("", unknown_name(f"{where} is", function, known, "it must be a function of, or one of"))
        names = [function]
        value = known[function]()
    elif not callable(function) or isinstance(function, type):
        raise Fault(where, f"is {shown(function)}; it must be a function of some of {', '.join(known)}")
    else:
        names = list(inspect.signature(function).parameters)
        if unknown := next((name for name in names if name not in known), None):
            raise Fault("", unknown_name(f"{where} takes", unknown, known, "its arguments must be some of"))
        try:
            value = function(**{name: known[name]() for name in names})
        except FlexarmError:
            raise
        except Exception as error:
            error.add_note(f"raised by the function {where} of gradient, which gets CasADi expressions (casadi.SX)")
            raise
    try:
        value = ca.SX(value)
    except (NotImplementedError, TypeError):
        raise Fault(where, f"returns {shown(value)}; it must return a scalar CasADi expression") from None
    if value.numel() != 1:
        raise Fault(
            where,
            f"has {counted(value.numel(), 'number')}; it must be a scalar, such as casadi.sumsqr({choices(*names)})",
        )
    return value
