"""Integral action beside another controller."""

from dataclasses import dataclass, replace
from typing import Any, final

from numpy.typing import ArrayLike

from flexarm.arrays import Array
from flexarm.brief import brief
from flexarm.control.gains import actuated, actuators, gain, inner_law, motion, of_all
from flexarm.errors import DescriptionError
from flexarm.model import Model
from flexarm.simulation.law import Column, Controller, Law, clipped, limits, parted
from flexarm.simulation.shown import show


@final
@brief
@dataclass(frozen=True)
class Integral:
    """A controller's output plus integral action w = int Ki (r - y) dt.

    The actuators' encoders measure y, and r is the controller's reference.

    Parameters
    ----------
    controller : Controller
        A controller with a reference.
    Ki : float, (m,) or (m, m)
        [N m/(rad s)].
    limit : float or (m,), optional
        Largest size of w [N m or N]. At the limit w stays constant until the error changes sign, so it does not wind
        up.
    """

    controller: Controller
    Ki: ArrayLike
    limit: ArrayLike | None = None

    def law(self, model: Model, period: float | None = None) -> Law:
        """Return the control law for a model; its memory is the controller's and w."""
        m = actuators("Integral", model, period)
        Ki = gain("Integral: Ki", self.Ki, m)
        limit = None if self.limit is None else limits("Integral: limit", self.limit, m)
        inner = inner_law("Integral", self.controller, model, period)
        reference, B_T = inner.reference, actuated(model)
        if reference is None:
            raise DescriptionError(
                f"Integral: controller {type(self.controller).__name__} has no reference; give it one, or leave "
                "Integral out"
            )

        def expression(t: Any, q: Column, qd: Column, z: Column, *noise: Column) -> tuple[Column, Any]:
            import casadi as ca

            own, w = parted(z, len(inner.memory))
            u, after = inner(t, q, qd, own, *noise)
            wd = Ki @ (motion(reference, t)[0] - B_T @ q)
            if period is not None:
                following = w + period * wd if limit is None else clipped(w + period * wd, limit)
            elif limit is not None:
                following, w = _stopped(w, wd, limit), clipped(w, limit)  # a solver's step may pass the limit slightly
            else:
                following = wd
            show("integral", w, [model.velocities[i] for i in model.arm.driven], "as that of u")
            return u + of_all(model, w), lambda applied: ca.vertcat(after(applied), following)

        return replace(inner, expression=expression, memory=(*inner.memory, *[0.0] * m))


def _stopped(w: Column, wd: Column, limit: Array) -> Column:
    """Return the rates wd, set to zero where w would pass its limit."""
    import casadi as ca

    beyond = ca.logic_or(ca.logic_and(w >= limit, wd > 0), ca.logic_and(w <= -limit, wd < 0))
    return ca.if_else(beyond, 0.0, wd)
