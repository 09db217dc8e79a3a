"""Attitude of a free base and of ball joints: local coordinates about a configuration.

Six local coordinates describe the difference of a free base from a pose: three are a shift and three a rotation vector,
both along the axes of the pose. A ball joint has three: a rotation vector.
"""

from typing import TYPE_CHECKING

import numpy as np

from flexarm.arrays import Array
from flexarm.quaternions import conjugate, product, quaternion, rotation, turn

if TYPE_CHECKING:
    from flexarm.description.arm import Arm


LOCAL = tuple(f"base.{name}" for name in ("dx", "dy", "dz", "tx", "ty", "tz"))
"""Names of a free base's local coordinates: a shift [m] and a rotation vector [rad]."""
TURN = ("tx", "ty", "tz")
"""Names of a ball joint's local coordinates, after its link: a rotation vector [rad]."""


def local_names(arm: "Arm") -> tuple[str, ...]:
    """Return the names of the local coordinates (nv,): of a free base, of ball joints, then the other coordinates."""
    balls = (f"{arm.links[i].name}.{name}" for i in arm.balls for name in TURN)
    return (*LOCAL[: 6 * arm.free], *balls, *(x.name for x in arm.layout[arm.twists :]))


def local_units(arm: "Arm") -> tuple[str, ...]:
    """Return the unit of each local coordinate: rad or m."""
    return (*["m"] * (3 * arm.free), *["rad"] * (arm.twists - 3 * arm.free), *arm.units[arm.poses :])


def local(arm: "Arm", q: Array, about: Array | None = None) -> Array:
    """Return local coordinates (..., nv) of configurations (..., nq): one per rate, in the order of `arm.layout`.

    Coordinates of joints, links and motors are unchanged. Those of a free base are its shift and rotation vector from
    the pose of `about` (nq,), default `arm.rest`, along that pose's axes. Those of ball joints are rotation vectors.
    Without both, q itself is returned.
    """
    if not arm.quaternions:
        return q
    q, at = np.asarray(q, dtype=float), np.asarray(arm.rest if about is None else about, dtype=float)
    parts = [(q[..., :3] - at[:3]) @ rotation(at[3:7])] if arm.free else []
    parts += [turn(product(conjugate(at[e]), q[..., e])) for e, _ in arm.quaternions]
    return np.concatenate([*parts, q[..., arm.poses :]], axis=-1)


def configuration(arm: "Arm", x: Array, about: Array | None = None) -> Array:
    """Return the configurations (..., nq) of local coordinates (..., nv), the inverse of `local`."""
    if not arm.quaternions:
        return x
    x, at = np.asarray(x, dtype=float), np.asarray(arm.rest if about is None else about, dtype=float)
    parts = [at[:3] + x[..., :3] @ rotation(at[3:7]).T] if arm.free else []
    parts += [product(at[e] / np.linalg.norm(at[e]), quaternion(x[..., w])) for e, w in arm.quaternions]
    return np.concatenate([*parts, x[..., arm.twists :]], axis=-1)


def displaced(arm: "Arm", q: Array, dx: Array) -> Array:
    """Return configurations (..., nq) at small deviations dx (..., nv) from q (nq,).

    A free base moves along its own axes, and ball joints turn about those of their links.
    """
    if not arm.quaternions:
        return q + dx
    first = arm.twists
    return configuration(arm, np.concatenate([dx[..., :first], q[arm.poses :] + dx[..., first:]], axis=-1), about=q)
