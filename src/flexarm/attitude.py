"""Where a free base stands: quaternions, and the local coordinates in which an arm's states are near one another.

A unit quaternion e = (w, x, y, z) turns vectors of the base's frame into the world's; its rate is 1/2 e (0, w) with the
angular velocity w along the base's own axes. Of six numbers that say how a free base differs from a pose three are a
shift and three a turn, both along the axes of the pose.
"""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from flexarm.description.arm import Arm

Array = np.ndarray


LOCAL = tuple(f"base.{name}" for name in ("dx", "dy", "dz", "tx", "ty", "tz"))
"""Names of a free base's local coordinates: a shift [m] and a turn [rad]."""


def crossed(a: Array) -> Array:
    """The matrix (3, 3) of the cross product from the left: crossed(a) @ b = a x b."""
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


def rotation(e: Array) -> Array:
    """The matrix (..., 3, 3) of a quaternion (..., 4), whatever its length."""
    e = np.asarray(e, dtype=float)
    w, x, y, z = np.moveaxis(e / np.linalg.norm(e, axis=-1, keepdims=True), -1, 0)
    rows = [
        [w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def product(a: Array, b: Array) -> Array:
    """The quaternion (..., 4) of turning by b, then by a."""
    (aw, av), (bw, bv) = (a[..., :1], a[..., 1:]), (b[..., :1], b[..., 1:])
    return np.concatenate(
        [aw * bw - np.sum(av * bv, axis=-1, keepdims=True), aw * bv + bw * av + np.cross(av, bv)], axis=-1
    )


def conjugate(e: Array) -> Array:
    """The quaternion of the turn back."""
    return e * np.array([1.0, -1.0, -1.0, -1.0])


def quaternion(turn: Array) -> Array:
    """The unit quaternion (..., 4) of a turn (..., 3): about its direction, by its length [rad]."""
    turn = np.asarray(turn, dtype=float)
    half = 0.5 * np.linalg.norm(turn, axis=-1, keepdims=True)
    return np.concatenate([np.cos(half), 0.5 * np.sinc(half / np.pi) * turn], axis=-1)


def turn(e: Array) -> Array:
    """The turn (..., 3) of a quaternion (..., 4), about its direction, by its length [rad], half a turn at most."""
    e = np.asarray(e, dtype=float)
    e = np.where(e[..., :1] < 0.0, -e, e)
    size = np.linalg.norm(e[..., 1:], axis=-1, keepdims=True)
    angle = 2.0 * np.arctan2(size, e[..., :1])
    near = size < 1e-8
    return np.where(near, 2.0 * e[..., 1:], e[..., 1:] * angle / np.where(near, 1.0, size))


def turns(e: Array) -> Array:
    """The turns (time, 3) of quaternions (time, 4), of whatever length, each the one nearest to the turn before."""
    found = turn(e)
    for k in range(1, len(found)):
        size = float(np.linalg.norm(found[k]))
        along = found[k] / size if size > 0.0 else found[k]
        found[k] += 2.0 * np.pi * np.round((found[k - 1] - found[k]) @ along / (2.0 * np.pi)) * along
    return found


def local_names(arm: "Arm") -> tuple[str, ...]:
    """Names of the local coordinates (nv,): a free base's, then the others' own."""
    return (*LOCAL[: 6 * arm.free], *(x.name for x in arm.layout if x.role != "base"))


def local(arm: "Arm", q: Array, about: Array | None = None) -> Array:
    """Local coordinates (..., nv) of configurations (..., nq): one a rate, as `arm.layout` has them.

    Those of joints, links and motors are themselves. A free base's are its shift and turn from the pose of `about`
    (nq,), default `arm.rest`, along that pose's axes. Of an arm whose base is not free: q itself.
    """
    if not arm.free:
        return q
    q, at = np.asarray(q, dtype=float), np.asarray(arm.rest if about is None else about, dtype=float)
    shift = (q[..., :3] - at[:3]) @ rotation(at[3:7])
    return np.concatenate([shift, turn(product(conjugate(at[3:7]), q[..., 3:7])), q[..., 7:]], axis=-1)


def configuration(arm: "Arm", x: Array, about: Array | None = None) -> Array:
    """The configurations (..., nq) of local coordinates (..., nv): what `local` takes apart."""
    if not arm.free:
        return x
    x, at = np.asarray(x, dtype=float), np.asarray(arm.rest if about is None else about, dtype=float)
    place = at[:3] + x[..., :3] @ rotation(at[3:7]).T
    return np.concatenate([place, product(at[3:7] / np.linalg.norm(at[3:7]), quaternion(x[..., 3:6])), x[..., 6:]], -1)
