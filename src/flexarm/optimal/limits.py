"""Limits of an optimal motion."""

from typing import Annotated, Any, final

import numpy as np
from pydantic import BeforeValidator

from flexarm.arrays import Array
from flexarm.checks import (
    SHARE,
    Described,
    Fault,
    checked_array,
    checked_instance,
    choices,
    counted,
    numbers,
    refused,
    shown,
)
from flexarm.description.arm import Beam
from flexarm.description.obstacles import Obstacles
from flexarm.errors import DescriptionError
from flexarm.model import Model


def _sizes(value: object) -> tuple[float, ...] | float | None:
    """Check one positive number for all, or one for each."""
    if value is None:
        return None
    given = checked_array(value, finite=False)
    if given.ndim > 1 or np.isnan(given).any() or not (given > 0).all():
        raise Fault("", f"is {shown(value)}; it must be one positive number, or a list of them")
    return float(given) if given.ndim == 0 else tuple(given.tolist())


def _pairs(must: str, count: int | None = None) -> BeforeValidator:
    """Return the check of a field that is None, or pairs (lowest, highest)."""

    def check(value: object) -> tuple[tuple[float, float], ...] | None:
        if value is None:
            return None
        given = checked_array(value, finite=False)
        fits = given.ndim == 2 and given.shape[1] == 2 and count in (None, len(given))
        if not fits or np.isnan(given).any() or not (given[:, 0] < given[:, 1]).all():
            raise Fault("", f"is {shown(value)}; it must be {must}")
        return tuple((float(a), float(b)) for a, b in given)

    return BeforeValidator(check)


def _radii(value: object) -> tuple[float, ...] | float:
    """Check one non-negative number for all, or one for each."""
    given = checked_array(value)
    if given.ndim > 1 or not (given >= 0).all():
        raise Fault("", f"is {shown(value)}; it must be one number in m, zero or positive, or a list of them")
    return float(given) if given.ndim == 0 else tuple(given.tolist())


Sizes = Annotated[Any, BeforeValidator(_sizes)]


@final
class Limits(Described):
    """Limits of an optimal motion: one number for all, or a list. A limit that is left out does not apply.

    Parameters
    ----------
    torque : float or (m,)
        Largest size of every input, in its own unit: [N m], [N], or [V] at a motor with a voltage.
    torque_rate : float or (m,)
        Largest size of the slope of every input [N m/s]. With this limit the inputs are straight lines between the
        times of the grid. Without it each input is constant from one time to the next.
    joint_range : (joints, 2)
        Lowest and highest joint coordinate [rad] or [m].
    joint_rate : float or (joints,)
        Largest size of a joint's rate [rad/s] or [m/s].
    deflection : float or (links,)
        Largest size of each displacement of a link's tip, along y and along z of its own frame [m].
    moment : float or (links,)
        Largest size of the bending moment in each link that bends, in both planes, at the stations `moment_at` [N m];
        infinite for a link without a limit. The moment follows from the curvature of the shapes, as in a `StrainGauge`.
    moment_at : list of float
        Stations from 0, the root, to 1, the tip; default the root.
    tip_box : [[x, x], [y, y], [z, z]]
        Lowest and highest position of the tip [m], in the base frame, or in the world if the base is free; infinite
        where there is no limit.
    obstacles : list of tables
        Spheres {center, radius} and planes {point, normal} that the links must not touch, all links or those in
        `links`; see `flexarm.description.obstacles`. A link is a chain of capsules about its bent centre line.
    link_radius : float or (links,)
        Radius of those capsules [m]; default 0, the centre line alone.

    All limits except the first four depend on the configuration alone. The motion keeps these limits, and those of
    joints, within and between the intervals of the search. The report of the motion has the excess that remains.
    """

    torque: Sizes = None
    torque_rate: Sizes = None
    joint_range: Annotated[Any, _pairs("pairs [lowest, highest], one per joint")] = None
    joint_rate: Sizes = None
    deflection: Sizes = None
    moment: Sizes = None
    moment_at: Annotated[tuple[float, ...], numbers("", SHARE)] = (0.0,)
    tip_box: Annotated[Any, _pairs("three pairs [lowest, highest], of x, y and z", 3)] = None
    obstacles: Obstacles = ()
    link_radius: Annotated[Any, BeforeValidator(_radii)] = 0.0

    def check(self, model: Model) -> None:
        """Raise `DescriptionError` if a limit does not have as many entries as the arm needs."""
        with refused("Limits"):
            checked_instance(model, Model, "model")
        m, joints, links = len(model.inputs), len(model.arm.driven), len(model.arm.links)
        counts = {"torque": m, "torque_rate": m, "joint_range": joints, "joint_rate": joints, "deflection": links}
        for name, count in (counts | {"moment": links, "link_radius": links}).items():
            given = getattr(self, name)
            if isinstance(given, tuple) and len(given) != count:
                raise DescriptionError(
                    f"limits.{name} has {counted(len(given), 'entry')}; it must have {count}, or one"
                )
        bending = [isinstance(x.body, Beam) and bool(x.body.counts["y"] or x.body.counts["z"]) for x in model.arm.links]
        if self.moment is not None and not any(bending):
            raise DescriptionError(
                f"limits.moment does not apply to arm {model.arm.name!r}, which has no flexible link; leave it out"
            )
        names = [link.name for link in model.arm.links]
        for i, size in enumerate(self.moment if isinstance(self.moment, tuple) else ()):
            if size < np.inf and not bending[i]:
                must = f"link {names[i]!r} is rigid, so it must be inf"
                raise DescriptionError(f"limits.moment[{i}] is {size:g} N m; {must}")
        for i, obstacle in enumerate(self.obstacles):
            for name in obstacle.links or ():
                if name not in names:
                    raise DescriptionError(
                        f"limits.obstacles[{i}].links has {shown(name)}; it must be {choices(*names)}"
                    )

    def rigid(self) -> "Limits":
        """Return the limits that apply to the same arm without flexibility."""
        return self.replace(deflection=None, moment=None)

    def sizes(self, name: str, count: int) -> Array:
        """Return a limit for each quantity, (count,), infinite where there is none."""
        given = getattr(self, name)
        return np.array(np.broadcast_to(np.inf if given is None else given, (count,)), dtype=float)

    def ranges(self, count: int) -> Array:
        """Return the lowest and highest joint coordinates, (joints, 2)."""
        if self.joint_range is None:
            return np.tile([-np.inf, np.inf], (count, 1))
        return np.array(self.joint_range)
