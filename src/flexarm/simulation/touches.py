"""Contacts that are shorter than a step: with backlash, end stops, walls and cables.

The error control of a solver notices their forces at the stages of its steps. A contact that begins and ends between
two stages would be passed over. Each accepted step of a method with adaptive steps is therefore checked (`brushes` in
`explicit`, `steps`, `lanes` and `gpu_loops`), and repeated with a shorter one if need be. Sharp contacts are included,
since steppers and sampled controllers do not stop at them.
"""

from typing import TYPE_CHECKING

from flexarm.model import Model
from flexarm.model.tracing import Traced
from flexarm.native.kernel import Kernel
from flexarm.simulation.layout import Layout
from flexarm.simulation.rhs import Plan

if TYPE_CHECKING:
    import casadi as ca


def touches(model: Traced) -> "ca.Function":
    """Return the functions, a column, of (q, s) and, where the model varies, p.

    Each changes sign where a force begins or ends.
    """

    def trace() -> "ca.Function":
        import casadi as ca

        from flexarm.mechanics import elements
        from flexarm.mechanics.spatial import entries

        q, s = ca.SX.sym("q", model.nq), ca.SX.sym("s", len(model.states))
        values = ca.densify(ca.SX(ca.vertcat(*elements.touches(*model.posed(entries(q)), entries(s)))))
        return model.over_parameters("touches", {"q": q, "s": s}, {"touches": values})

    return model.traced("touches", trace)


def touching(model: Model, plan: Plan, layout: Layout) -> None:
    """Have the steps of a plan find contacts that are shorter than a step."""
    found = kernel(model)
    if found is not None:
        plan.touch(found, model.nq, layout.s)


def kernel(model: Model) -> Kernel | None:
    """Return the compiled functions of (q, s), or None for an arm without contacts."""
    if not model.arm.touches:
        return None
    found = model.compiled("touches", touches)
    return found if found.code.facts["n_out"] > 0 else None
