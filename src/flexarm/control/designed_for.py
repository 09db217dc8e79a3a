"""A controller that is designed for another arm than the one it controls."""

from dataclasses import dataclass, replace
from typing import Any, final

from flexarm.brief import brief
from flexarm.checks import checked_instance, refused
from flexarm.control.gains import actuators, inner_law, places_of
from flexarm.errors import DescriptionError
from flexarm.model import Model
from flexarm.simulation.law import Column, Controller, Law
from flexarm.simulation.stepped import in_python


@final
@brief
@dataclass(frozen=True)
class DesignedFor:
    """A controller designed for a nominal arm and used on another arm, for tests of robustness.

    Coordinates are matched by name, so the nominal arm may have fewer modes than the real one. The nominal arm must
    have the same actuators, in the same order.

    Parameters
    ----------
    controller : Controller
    model : Model
        Model of the nominal arm.
    """

    controller: Controller
    model: Model

    def in_python(self, model: Model, period: float) -> Any:
        """Return the nominal arm's controller that `Sampled` calls from Python, or None for a compiled law."""
        with refused("DesignedFor"):
            nominal: Model = checked_instance(self.model, Model, "model of the nominal arm")
        made = in_python(self.controller, nominal, period)
        if made is self.controller:
            return None
        actuators("DesignedFor", model, period)
        places_of("DesignedFor", nominal, model)
        return made

    def law(self, model: Model, period: float | None = None) -> Law:
        """Return the nominal arm's control law for a model.

        Raises `DescriptionError` if the model lacks a coordinate.
        """
        actuators("DesignedFor", model, period)
        with refused("DesignedFor"):
            nominal: Model = checked_instance(self.model, Model, "model of the nominal arm")
        seen = places_of("DesignedFor", nominal, model)
        inner = inner_law("DesignedFor", self.controller, nominal, period)
        if inner.drives and model.states != nominal.states:
            where = f"arm {model.arm.name!r} has drives with states that the nominal arm lacks"
            raise DescriptionError(f"DesignedFor: {where}; the controller needs {', '.join(nominal.states) or 'none'}")

        def expression(t: Any, q: Column, qd: Column, z: Column, *noise: Column) -> tuple[Column, Any]:
            if inner.accelerates:
                noise = (*noise[:-1], noise[-1][seen])
            return inner(t, q[seen], qd[seen], z, *noise)

        return replace(inner, expression=expression)
