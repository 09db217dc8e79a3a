"""A controller whose forces have a limit."""

import json
from dataclasses import dataclass, replace
from typing import Any, final

from flexarm.control.gains import inner_law
from flexarm.mechanics.spatial import Vector
from flexarm.model import Model
from flexarm.simulation.feedback import Controller, Law, clipped, limits


@final
@dataclass(frozen=True)
class Saturated:
    """What a controller gives, cut off at a limit. For a sampled one, `Sampled(limit=...)` does the same.

    Parameters
    ----------
    controller : Controller
    limit : float or (m,)
        Of the size of u [N m or N].
    """

    controller: Controller
    limit: Any

    @property
    def reference(self) -> Any:
        """The controller's, if it has one."""
        return getattr(self.controller, "reference", None)

    def law(self, model: Model, period: float | None = None) -> Law:
        """The law for a model."""
        limit = limits("Saturated: limit", self.limit, len(model.inputs))
        inner = inner_law("Saturated", self.controller, model, period)

        def expression(t: Any, q: Vector, qd: Vector, z: Vector, noise: Vector) -> tuple[Vector, Vector]:
            u, following = inner.expression(t, q, qd, z, noise)
            return clipped(u, limit), following

        return replace(inner, expression=expression, key=json.dumps(["Saturated", limit, inner.key]))
