"""Dependence of a sampled law on an arm's state: the required entries, the law as a function of them, and its
program."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from flexarm.closed_forms.formats.program import Program
from flexarm.model import Model
from flexarm.simulation.feedback import traced
from flexarm.simulation.sampled import SampledFeedback

if TYPE_CHECKING:
    import casadi as ca


def silent(feedback: SampledFeedback, model: Model) -> "ca.Function":
    """Return a law that is an expression, without noise: t, x, z -> u, z_next.

    The state x is q, qd, states of drives, and also qdd if the law measures accelerations. Within
    `shown.readings_apart` the function is t, x, z, y -> u, z_next, read.
    """
    import casadi as ca

    whole = traced(feedback.law, model, feedback.name, len(model.states))
    x = dict(zip(whole.name_in(), whole.sx_in(), strict=True))
    found = whole.call({**x, "noise": ca.SX.zeros(x["noise"].numel())})
    state = ca.vertcat(*(x[name] for name in ("q", "qd", "s", "qdd")))
    results = {"u": found["u"], "z_next": found["following"]} | ({"read": found["read"]} if "read" in found else {})
    given = {"t": x["t"], "x": state, "z": x["z"]} | ({"y": x["y"]} if "y" in x else {})
    return ca.Function("law", [*given.values()], [*results.values()], [*given], [*results])


def needed(law: "ca.Function") -> list[int]:
    """Return the indices of the entries of x on which the law depends."""
    import casadi as ca

    found = [np.array(ca.DM(law.jac_sparsity(k, 1), 1)).any(axis=0) for k in range(2) if law.numel_out(k)]
    return [int(i) for i in np.flatnonzero(np.any(found, axis=0))]


def of_needed(law: "ca.Function") -> "ca.Function":
    """Return the law as a function of the required entries alone: t, y, z -> u, z_next."""
    import casadi as ca

    t, x, z = law.sx_in()
    places = needed(law)
    y, whole = ca.SX.sym("y", len(places)), ca.SX.zeros(x.numel())
    whole[places] = y
    return ca.Function("law", [t, y, z], [*law(t, whole, z)], ["t", "y", "z"], law.name_out())


def program(law: "ca.Function", name: str, title: str, measured: Sequence[str], inputs: Sequence[str]) -> Program:
    """Return the program of a law t, y, z -> u, z_next, without empty arguments and results.

    `measured` and `inputs` are the names of the entries of y and u.
    """
    import casadi as ca

    given = dict(zip(law.name_in(), law.sx_in(), strict=True))
    results = dict(zip(law.name_out(), law(*given.values()), strict=True))
    x = {a: symbol for a, symbol in given.items() if symbol.numel()}
    y = {a: ca.densify(result) for a, result in results.items() if result.numel()}
    return Program(
        name=name,
        title=title,
        function=ca.Function(name, [*x.values()], [*y.values()], [*x], [*y]),
        entries={"y": tuple(measured)} if "y" in x else {},
        notes={"t": "time [s]", "u": f"inputs: {', '.join(inputs)}"} | ({"z": "memory"} if "z" in x else {}),
        shapes={a: (result.numel(),) for a, result in y.items()},
    )
