"""A controller of some of an arm's joints."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from flexarm.brief import brief
from flexarm.checks import Fault, known_names, refused
from flexarm.control.gains import actuators, inner_law
from flexarm.description.joints import Fixed
from flexarm.errors import DescriptionError
from flexarm.model import Model
from flexarm.simulation.law import Column, Controller, Law
from flexarm.trajectory import Reference, jumps_of
from flexarm.trajectory.reference import positions


@final
@brief
@dataclass(frozen=True)
class OnLinks:
    """A controller of the joints of some links. The other actuators get no input from it.

    The controller is designed for the same arm with the other joints fixed. Examples are a satellite's arm while
    `AttitudePD` drives the satellite's wheels, and one arm of two.

    Parameters
    ----------
    controller : Controller
        Its reference is that of the joints of these links, in the arm's order.
    links : list of str
        Links whose joints the controller moves.
    """

    controller: Controller
    links: Sequence[str]

    def law(self, model: Model, period: float | None = None) -> Law:
        """Return the control law for a model.

        Raises `DescriptionError` for links that do not exist or have no actuator.
        """
        actuators("OnLinks", model, period)
        arm = model.arm
        moving = [link.name for link in arm.links if link.joint.actuated]
        with refused("OnLinks"):
            names = known_names(self.links, moving, "names of links", "links", "links whose joints move are")
            if not names:
                raise Fault("links", f"is empty; links whose joints move are {', '.join(moving)}")
        if arm.couplings:
            raise DescriptionError(f"OnLinks: arm {arm.name!r} has coupled joints, which OnLinks does not support")
        part = Model(_held(model.arm_at(), names))
        inner = inner_law("OnLinks", self.controller, part, period)
        seen = [model.velocities.index(name) for name in part.velocities]
        mine = [model.inputs.index(name) for name in part.inputs]
        states = [model.states.index(name) for name in part.states]
        given = np.zeros((len(model.inputs), len(mine)))
        given[mine, range(len(mine))] = 1.0

        def expression(t: Any, q: Column, qd: Column, z: Column, *more: Column) -> tuple[Column, Any]:
            felt = [more[-1][seen]] if inner.accelerates else []
            more = more[: len(more) - len(felt)]
            if inner.drives:
                more = (*more[:-1], more[-1][states])
            u, after = inner(t, q[seen], qd[seen], z, *more, *felt)
            return given @ u, lambda applied: after(applied[mine])

        reference = inner.reference
        if reference is not None:
            places = tuple(moving.index(name) for name in moving if name in names)
            rest = tuple(np.array(arm.rest)[arm.poses - arm.twists + np.array(arm.driven)].tolist())
            reference = Beside(reference, places, rest)
        return replace(inner, expression=expression, reference=reference)


def _held(arm: Any, names: Sequence[str]) -> Any:
    """Return the arm with the joints of other links fixed at their rest positions."""
    return arm.replace(
        links=[
            link.replace(joint=Fixed()) if link.joint.actuated and link.name not in names else link
            for link in arm.links
        ],
        forces=[each for each in arm.forces if each.kind != "drive" or each.link in names],
    )


@final
@dataclass(frozen=True)
class Beside:
    """A reference of all joints that moves some of them, while the others stay at rest.

    Parameters
    ----------
    reference : Reference
    places : tuple of int
        Indices of the joints that it moves.
    rest : (joints,)
        Rest positions of all joints.
    """

    reference: Reference
    places: tuple[int, ...]
    rest: tuple[float, ...]

    def expression(self, t: Any) -> list[Any]:
        """Joint coordinates at the symbolic time t."""
        import casadi as ca

        moved = dict(zip(self.places, ca.vertsplit(positions(self.reference, t)), strict=True))
        return [moved.get(i, x) for i, x in enumerate(self.rest)]

    def jumps(self) -> np.ndarray:
        """Times at which the reference jumps."""
        return jumps_of(self.reference)

    def described(self) -> str:
        """Text with the reference and the indices of the joints that it moves."""
        return f"{self.reference.described()}, joints {list(self.places)} of {len(self.rest)}"
