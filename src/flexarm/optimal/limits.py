"""What an optimal motion must stay within."""

from typing import Annotated, Any, final

import numpy as np
from pydantic import BeforeValidator

from flexarm.checks import Described, Fault, checked_array, checked_instance, refused, shown
from flexarm.errors import DescriptionError
from flexarm.model import Model

Array = np.ndarray


def _sizes(value: object) -> tuple[float, ...] | float | None:
    """One positive number for all, or one each."""
    if value is None:
        return None
    given = checked_array(value, finite=False)
    if given.ndim > 1 or np.isnan(given).any() or not (given > 0).all():
        raise Fault("", f"is {shown(value)}; it must be one positive number, or one each")
    return float(given) if given.ndim == 0 else tuple(given.tolist())


def _ranges(value: object) -> tuple[tuple[float, float], ...] | None:
    """Pairs (lowest, highest), one a joint."""
    if value is None:
        return None
    given = checked_array(value, finite=False)
    if given.ndim != 2 or given.shape[1] != 2 or np.isnan(given).any() or not (given[:, 0] < given[:, 1]).all():
        raise Fault("", f"is {shown(value)}; it must be pairs [lowest, highest], one a joint")
    return tuple((float(a), float(b)) for a, b in given)


Sizes = Annotated[Any, BeforeValidator(_sizes)]


@final
class Limits(Described):
    """Bounds of an optimal motion: one number for all, or a list; what is left out is not bounded.

    Parameters
    ----------
    torque : float or (m,)
        Of the size of every input, in its own unit: [N m], [N], or [V] at a motor with a voltage.
    torque_rate : float or (m,)
        Of the size of its slope [N m/s]. The inputs are then straight lines between the times of the grid, where they
        are held from one to the next without.
    joint_range : (joints, 2)
        Lowest and highest joint coordinate [rad] or [m].
    joint_rate : float or (joints,)
        Of the size of a joint's rate [rad/s] or [m/s].
    deflection : float or (links,)
        Of the size of each displacement of a link's tip, along y and along z of its own frame [m].
    """

    torque: Sizes = None
    torque_rate: Sizes = None
    joint_range: Annotated[Any, BeforeValidator(_ranges)] = None
    joint_rate: Sizes = None
    deflection: Sizes = None

    def check(self, model: Model) -> None:
        """Raise `DescriptionError` where a limit is not for as many as the arm has."""
        with refused("Limits"):
            checked_instance(model, Model, "model")
        m, joints, links = len(model.inputs), len(model.arm.joints), len(model.arm.links)
        counts = {"torque": m, "torque_rate": m, "joint_range": joints, "joint_rate": joints, "deflection": links}
        for name, count in counts.items():
            given = getattr(self, name)
            if isinstance(given, tuple) and len(given) != count:
                raise DescriptionError(f"limits.{name} has {len(given)} entries; it must have {count}, or one")

    def sizes(self, name: str, count: int) -> Array:
        """A limit for each, (count,), infinite where there is none."""
        given = getattr(self, name)
        return np.array(np.broadcast_to(np.inf if given is None else given, (count,)), dtype=float)

    def ranges(self, count: int) -> Array:
        """Lowest and highest joint coordinates, (joints, 2)."""
        if self.joint_range is None:
            return np.tile([-np.inf, np.inf], (count, 1))
        return np.array(self.joint_range)
