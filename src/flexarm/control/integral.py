"""Integral action beside another controller."""

import json
from dataclasses import dataclass, replace
from typing import Any, final

from flexarm.control.gains import actuated, gain, inner_law, motion, times
from flexarm.errors import DescriptionError
from flexarm.mechanics.spatial import Vector
from flexarm.model import Model
from flexarm.simulation.feedback import Controller, Law, clipped, limits


@final
@dataclass(frozen=True)
class Integral:
    """What a controller gives, and w = int Ki (r - y) dt: y is what the actuators' encoders see, r its reference.

    Parameters
    ----------
    controller : Controller
        One with a reference.
    Ki : float, (m,) or (m, m)
        [N m/(rad s)].
    limit : float or (m,), optional
        Of the size of w [N m or N]: there it stays until the error changes sign, and does not wind up.
    """

    controller: Controller
    Ki: Any
    limit: Any = None

    @property
    def reference(self) -> Any:
        """The controller's, if it has one."""
        return getattr(self.controller, "reference", None)

    def law(self, model: Model, period: float | None = None) -> Law:
        """The law for a model; its memory is the controller's and w."""
        m = len(model.inputs)
        Ki = gain("Integral: Ki", self.Ki, m)
        limit = None if self.limit is None else limits("Integral: limit", self.limit, m)
        inner = inner_law("Integral", self.controller, model, period)
        if self.reference is None:
            raise DescriptionError(f"Integral: controller {type(self.controller).__name__} has no reference")

        def expression(t: Any, q: Vector, qd: Vector, z: Vector, noise: Vector) -> tuple[Vector, Vector]:
            own, w = z[:-m], z[-m:]
            u, following = inner.expression(t, q, qd, own, noise)
            r, _, _ = motion(self.reference, t, m)
            wd = times(Ki, [a - b for a, b in zip(r, actuated(model, q), strict=True)])
            if period is not None:
                added = w
                following_w = [a + period * b for a, b in zip(w, wd, strict=True)]
                following_w = following_w if limit is None else clipped(following_w, limit)
            else:
                added = w if limit is None else clipped(w, limit)  # a solver may step a little beyond
                following_w = wd if limit is None else _stopped(w, wd, limit)
            return [a + b for a, b in zip(u, added, strict=True)], [*following, *following_w]

        key = json.dumps(["Integral", Ki.tolist(), limit, period, inner.key])
        return replace(inner, expression=expression, key=key, memory=(*inner.memory, *[0.0] * m))


def _stopped(w: Vector, wd: Vector, limit: list[float]) -> Vector:
    """The rates wd, zero where w would leave its limit."""
    import casadi as ca

    return [
        ca.if_else(ca.logic_or(ca.logic_and(x >= a, xd > 0), ca.logic_and(x <= -a, xd < 0)), 0.0, xd)
        for x, xd, a in zip(w, wd, limit, strict=True)
    ]
