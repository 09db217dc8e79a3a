"""Controllers that run at a multiple of the loop's period."""

from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from flexarm.brief import brief
from flexarm.checks import checked_whole, refused
from flexarm.control.gains import actuators, inner_law
from flexarm.errors import DescriptionError
from flexarm.model import Model
from flexarm.simulation.law import Column, Controller, Law, parted


@final
@brief
@dataclass(frozen=True)
class Every:
    """A controller that runs at every n-th sample only. Its output is constant in between.

    With it, one loop has several rates: `Sampled(Sum(Every(outer, 4), inner), period=250e-6)` calls the outer
    controller at 1 kHz and the inner one at 4 kHz. The controller is designed for its own period.

    Parameters
    ----------
    controller : Controller
    periods : int
        Number of the loop's samples in one period of the controller, which first runs at the first sample.

    Notes
    -----
    A filter in the controller, such as `Observed`, assumes that the inputs of the arm are constant between the filter's
    own samples.
    """

    controller: Controller
    periods: int

    def discretised(self, method: str) -> "Every":
        """Return the same controller with another method of discretisation for its systems."""
        if not hasattr(self.controller, "discretised"):
            raise DescriptionError(
                "Sampled: method applies only to a control.Linear, and Every contains none; leave method out"
            )
        return replace(self, controller=self.controller.discretised(method))

    def law(self, model: Model, period: float | None = None) -> Law:
        """Return the control law for a model; its memory is the controller's, and the u that is held."""
        import casadi as ca

        actuators("Every", model, period)
        with refused("Every"):
            periods = checked_whole(self.periods, 1, "periods")
        if period is None:
            raise DescriptionError("Every: the controller must be sampled: use Sampled(Every(...), period)")
        inner = inner_law("Every", self.controller, model, periods * period)
        m, own = len(model.inputs), len(inner.memory)

        def expression(t: Any, q: Column, qd: Column, z: Column, *more: Column) -> tuple[Column, Any]:
            x, held = parted(z, own)
            # true within half a sample of a multiple of the own period; a count of samples would be a memory, which has
            # no slope where it starts again
            called = ca.cos(2.0 * np.pi / (periods * period) * t) > np.cos(np.pi / periods)
            u, after = inner(t, q, qd, x, *more)
            u = ca.if_else(called, u, held)
            return u, lambda applied: ca.vertcat(ca.if_else(called, after(applied), x), u)

        memory = (*inner.memory, *np.zeros(m).tolist())
        return replace(inner, expression=expression, memory=memory, cycle=periods * inner.cycle)
