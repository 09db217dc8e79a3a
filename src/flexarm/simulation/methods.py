"""Choice and construction of the solver of a run."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import final

import numpy as np

from flexarm.arrays import Array
from flexarm.errors import DescriptionError
from flexarm.model import Model, closures
from flexarm.model.faults import check_inertia
from flexarm.model.tracing import RESIDUALS
from flexarm.native.code import Code
from flexarm.simulation import advance, solvers, tableaus
from flexarm.simulation.advance import Advance, Stretch
from flexarm.simulation.block import Block
from flexarm.simulation.explicit import MOST_EVALUATIONS, Explicit
from flexarm.simulation.feedback import integrand
from flexarm.simulation.implicit import Implicit
from flexarm.simulation.layout import RIDING, Layout
from flexarm.simulation.race import Race
from flexarm.simulation.rhs import Plan
from flexarm.simulation.touches import touching

STIFF = "radau9"
"""Method that competes with an explicit method in automatic selection. It has numerical damping, and takes fewest
evaluations of the package's own implicit methods at most tolerances."""

RADIANS = 1.0
"""Turn of the fastest mode [rad] in the first step that is tried in a short interval. The Dormand-Prince methods are
stable up to 3; their error control shortens the step where the mode matters."""

ONE_STEP = 2.4
"""One step of the method of order 5 meets a tolerance where the fastest mode turns by less than this times the fifth
root of the tolerance [rad]; measured on the bundled arms."""

FAR = 5.0
"""Rotation of the fastest mode between two samples [rad] above which an implicit method is faster.

An implicit method needs some 25 evaluations, each a little cheaper than a rate, and products with Newton's matrix.
"""


@final
@dataclass(frozen=True)
class Solve:
    """A method on a plan, called with an initial time, an initial state and the times to reach.

    Attributes
    ----------
    stretch : (t0, x0, times) -> Stretch
    method, reason : str
        Name of the method, and the reason for its choice.
    advance : () -> Advance, optional
        The same method for native code, if it is one of the package's own.
    """

    stretch: Callable[[float, Array, Array], Stretch]
    method: str
    reason: str
    advance: Callable[[], Advance] | None = None

    def __call__(self, t0: float, x0: Array, times: Array) -> Stretch:
        """Return the states that the method reached."""
        return self.stretch(t0, x0, times)


def chosen(
    method: str, step: float | None, model: Model, drive: Block, q: Array, rtol: float
) -> tuple[str, float, str]:
    """Return the method, its step (for an adaptive method the first step, or 0 for no guess) and the reason."""
    if method != "auto":
        found, reason = method, "as asked"
    elif drive.period is not None:
        found, step, reason = between_samples(model, q, drive.period, rtol)
    else:
        return "auto", 0.0, ""
    return found, float(step or 0.0), reason


def between_samples(model: Model, q: Array, period: float, rtol: float) -> tuple[str, float, str]:
    """Return method, first step and reason for the intervals between samples."""
    fastest = fastest_of(model, q)  # 0 for an arm without springs
    reason = f"short intervals between samples; fastest eigenvalue {fastest:.3g} rad/s"
    if period * fastest > FAR:
        return "radau5", 0.0, reason
    return short(period, fastest, rtol), first_step(period, fastest), reason


def short(period: float, fastest: float, rtol: float) -> str:
    """Return the explicit method for an interval: of order 5 (7 evaluations) if one step is enough, else of order 8."""
    return "rk45" if period * fastest < ONE_STEP * rtol**0.2 else "dop853"


def first_step(period: float, fastest: float) -> float:
    """Return the first step that is tried in an interval [s]."""
    return float(min(period, RADIANS / max(fastest, 1e-12)))


def fastest_of(model: Model, q: Array) -> float:
    """Return the size of the largest eigenvalue of the arm about the configuration q (nq,), without inputs [rad/s]."""
    _check_finite(model, model.mass_matrix(q))
    check_inertia(model, q)
    A = _slope_with_elements(model, q) if model.chain.elements else _slope(model, q)
    _check_finite(model, A)
    return float(np.abs(np.linalg.eigvals(A)).max())


def _slope(model: Model, q: Array) -> Array:
    """Return the state matrix of (q, qd) of an arm with only springs and dampers."""
    n = model.nv
    M, K = model.mass_matrix(q), np.array(model.slope("restoring_force", 0)(q))
    D = np.array(model.slope("damping_force", 1)(q, np.zeros(n)))
    return np.block([[np.zeros((n, n)), np.eye(n)], [-np.linalg.solve(M, K), -np.linalg.solve(M, D)]])


def _slope_with_elements(model: Model, q: Array) -> Array:
    """Return the state matrix of an arm with friction, motors and other elements with slopes and states."""
    n, m = model.nv, len(model.inputs)
    count = 2 * n + len(model.states)
    names = [name for name in ("q", "qd", "s") if name != "s" or model.states]
    return np.hstack([np.array(model.slope("state_rate", name)(q, np.zeros(n), np.zeros(m)))[:count] for name in names])


def _check_finite(model: Model, matrix: Array) -> None:
    if not np.isfinite(matrix).all():
        raise DescriptionError(f"arm {model.arm.name!r}: inertia, stiffness or damping is not finite at this q")


def planned(model: Model, drive: Block, layout: Layout, method: str, weights: int = 0) -> tuple[Plan, Code]:
    """Return the plan of a run by a method, and the code of the integrand. Its buffer has room for `weights`."""
    implicit = method in solvers.IMPLICIT
    kernel = integrand(model, RESIDUALS[drive.quantity] if implicit else drive.quantity, layout.memory)
    rate, tried = kernel.code, max(layout.nv if implicit or method == "auto" else 0, weights)
    place, inputs = rate.addresses["evaluate"], layout.inputs + layout.memory
    plan = Plan(place, layout.states, inputs, len(RIDING), rate, tried, kernel.constants, layout.exogenous)
    plan.takes(kernel, plan.fixed)
    closing(model, plan, drive.quantity)
    touching(model, plan, layout)
    return plan, rate


def closing(model: Model, plan: Plan, quantity: str = "state_rate") -> None:
    """Have a plan that integrates a quantity move each state onto the closures of the model's arm."""
    if model.arm.closures:
        plan.close(closures.kernel(model, quantity), model.nq + model.nv)


def solver(
    method: str,
    plan: Plan,
    model: Model,
    drive: Block,
    layout: Layout,
    rtol: float,
    atol: float,
    step: float,
    reason: str = "as asked",
    radius: float | None = None,
) -> Solve:
    """Return the method as a function of an interval."""
    atols = layout.tolerances(atol)
    if method in solvers.IMPLICIT:
        tableau = solvers.IMPLICIT[method] if radius is None else tableaus.generalized_alpha(float(radius))
        stepping = Implicit(tableau, plan, layout, rtol, atols, step)
        return Solve(
            lambda t0, x0, ends: solvers.integrate_implicit(stepping, plan, t0, x0, ends),
            method,
            reason,
            lambda: advance.newton(stepping, step),
        )
    explicit = solvers.EXPLICIT[method]
    if not explicit.adaptive:
        found = Explicit(explicit, plan, rtol, atols, step)
    elif drive.period is None:
        found = Explicit(explicit, plan, rtol, atols)
    else:
        found = Explicit(explicit, plan, rtol, atols, guess=step or drive.period, most=MOST_EVALUATIONS)
    return Solve(found, method, reason, lambda: found.advance)


def race(plan: Plan, rate: Code, model: Model, drive: Block, layout: Layout, rtol: float, atol: float) -> Race:
    """Return the automatic method selection of `method="auto"` for long intervals."""
    atols = layout.tolerances(atol)

    def residual() -> Code:
        return integrand(model, RESIDUALS[drive.quantity], layout.memory).code

    stepping = partial(Implicit, solvers.IMPLICIT[STIFF], plan, layout, rtol, atols, 0.0)
    return Race(plan, rate, residual, layout, (STIFF, stepping), rtol, atols, bool(model.chain.elements))
