"""Regressor of a model: the derivative of its dynamics with respect to parameters that enter linearly."""

from typing import TYPE_CHECKING

import numpy as np

from flexarm.errors import DescriptionError
from flexarm.model.tracing import Traced

if TYPE_CHECKING:
    import casadi as ca

    from flexarm.native.kernel import Kernel

ARGUMENTS = ("q", "qd", "v", "qdd")

LINEAR = 1e-9
"""Largest change of the regressor with the parameters, relative to its size, that counts as rounding."""


def function(model: Traced) -> "ca.Function":
    """Return the CasADi Function Y(q, qd, v, qdd), (n, k), of a model that varies.

    Raises `DescriptionError` if the model has no parameters, or if one of them does not enter linearly.
    """
    if not model.varied:
        raise DescriptionError(
            f"regressor: arm {model.arm.name!r}: the model has no parameters; name them, as in "
            "Model(arm, vary=['payload.mass'])"
        )

    def trace() -> "ca.Function":
        import casadi as ca

        given = model.slope_function("reference_dynamics", "p")
        check_linear(model, given)
        *x, p = given.sx_in()
        Y = ca.cse(ca.densify(ca.substitute(given(*x, p), p, ca.DM(model.p))))
        return ca.Function("regressor", x, [Y], list(ARGUMENTS), ["regressor"])

    return model.traced("regressor", trace)


def kernel(model: Traced) -> "Kernel":
    """Return the compiled form of `function`, the parameters' axis fastest."""

    def trace(traced: Traced) -> "ca.Function":
        import casadi as ca

        found = function(traced)
        x, p = found.sx_in(), ca.SX.sym("p", len(traced.varied))
        return ca.Function("regressor", [*x, p], [ca.vec(found(*x).T)], [*ARGUMENTS, "p"], ["regressor"])

    return model.compiled("regressor", trace)


def check_linear(model: Traced, slope: "ca.Function") -> None:
    """Raise `DescriptionError` if the derivative with respect to the parameters depends on one of them."""
    rng = np.random.default_rng(0)
    q = np.array(model.arm.rest)
    q[model.arm.poses :] += rng.uniform(-0.1, 0.1, len(q) - model.arm.poses)
    state = [q, *(rng.normal(size=model.nv) for _ in range(3))]
    at = np.array(slope(*state, model.p))
    for k, parameter in enumerate(model.varied):
        p = model.p.copy()
        p[k] = 1.2 * p[k] + 0.1 * (p[k] == 0.0)
        change = np.abs(np.array(slope(*state, p)) - at).max(axis=0)
        if (change > LINEAR * np.abs(at).max()).any():
            other = model.varied[int(np.argmax(change))].name
            alone = other == parameter.name
            also = "the square or a function of it" if alone else f"a product with {other!r}"
            raise DescriptionError(
                f"regressor: the dynamics of arm {model.arm.name!r} are not linear in {parameter.name!r}: they contain "
                f"{also}; leave {'it' if alone else 'one of them'} out of vary"
            )
