"""A controller with saturated output."""

from dataclasses import dataclass
from typing import final

from numpy.typing import ArrayLike

from flexarm.brief import brief
from flexarm.control.gains import actuators, inner_law
from flexarm.model import Model
from flexarm.simulation.law import Controller, Law, commanded, limits, saturated


@final
@brief
@dataclass(frozen=True)
class Saturated:
    """A controller's output, saturated at a limit. For a sampled controller, `Sampled(limit=...)` does the same.

    Parameters
    ----------
    controller : Controller
    limit : float or (m,)
        Largest size of u [N m or N].
    """

    controller: Controller
    limit: ArrayLike

    def law(self, model: Model, period: float | None = None) -> Law:
        """Return the control law for a model."""
        actuators("Saturated", model, period)
        limit = limits("Saturated: limit", self.limit, len(model.inputs))
        inner = inner_law("Saturated", self.controller, model, period)
        return saturated(commanded(inner, model.inputs), limit)
