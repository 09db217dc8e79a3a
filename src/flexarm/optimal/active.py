"""Active limits of an optimal motion, and the share of the motion for which each is active."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import numpy as np

from flexarm.arrays import Array
from flexarm.model import Model
from flexarm.optimal.limits import Limits
from flexarm.optimal.measures import measures
from flexarm.optimal.motion import OptimalMotion

NEAR = 1e-3
"""Relative distance to a limit on an input below which the input counts as being at the limit."""
ROUGH = 1e-2
"""Relative distance to any other limit below which it counts as active.

The native run keeps such a limit only as accurately as the grid does, so this tolerance is wider than `NEAR`.
"""


@final
@dataclass(frozen=True)
class Active:
    """A limit that is active for some of the motion.

    Attributes
    ----------
    limit : str
        Kind of the limit: a field name of `Limits`.
    name : str
        Name of the limited input, joint or measured quantity.
    share : float
        Share of the motion's duration during which the limit is active.
    """

    limit: str
    name: str
    share: float


def active(model: Model, motion: OptimalMotion, limits: Limits) -> list[Active]:
    """Return the limits that are active for some of the time, in the order of `Limits`."""
    h = np.diff(motion.times)
    whole = np.append(h, 0.0)
    nodes = (whole + np.append(0.0, h)) / 2
    found = []
    for limit, names, used in _used(model, motion, limits):
        weights = h if len(used) == len(h) else whole if limit == "torque" and not motion.linear else nodes
        shares = (used.T @ weights) / motion.duration
        found += [Active(limit, name, float(x)) for name, x in zip(names, shares, strict=True) if x > 0]
    return found


def _used(model: Model, motion: OptimalMotion, limits: Limits) -> Iterator[tuple[str, list[str], Array]]:
    """Yield each kind of limit, the names of the limited quantities, and a boolean array of where each limit is active.

    The array has a row for each time or for each interval.
    """
    arm, u, inputs = model.arm, motion.u, list(model.inputs)
    joints = [model.velocities[i] for i in arm.driven]
    yield "torque", inputs, np.abs(u) >= (1 - NEAR) * limits.sizes("torque", len(inputs))
    slopes = np.diff(u, axis=0) / np.diff(motion.times)[:, None]
    yield "torque_rate", inputs, np.abs(slopes) >= (1 - NEAR) * limits.sizes("torque_rate", len(inputs))
    q = motion.q[:, [i + model.nq - model.nv for i in arm.driven]]
    low, high = limits.ranges(len(joints)).T
    near = ROUGH * np.where(np.isfinite(high - low), high - low, np.ptp(q, axis=0))
    yield "joint_range", joints, (q <= low + near) | (q >= high - near)
    rates = np.abs(motion.qd[:, list(arm.driven)])
    yield "joint_rate", joints, rates >= (1 - ROUGH) * limits.sizes("joint_rate", len(joints))
    for each in measures(model, limits):
        y = each.along(motion.q)
        width = each.upper - each.lower
        near = ROUGH * np.where(np.isfinite(width), width, np.ptp(y, axis=0))
        yield each.name, list(each.rows), (y <= each.lower + near) | (y >= each.upper - near)
