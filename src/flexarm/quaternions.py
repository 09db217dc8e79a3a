"""Quaternions and rotation vectors.

A unit quaternion e = (w, x, y, z) rotates vectors of a body's frame into the world's. Its rate is 1/2 e (0, w) with the
angular velocity w along the body's own axes.
"""

import numpy as np

from flexarm.arrays import Array


def crossed(a: Array) -> Array:
    """Return the matrix (3, 3) of the cross product from the left: crossed(a) @ b = a x b."""
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


def rotation(e: Array) -> Array:
    """Return the matrix (..., 3, 3) of a quaternion (..., 4) of any length."""
    e = np.asarray(e, dtype=float)
    w, x, y, z = np.moveaxis(e / np.linalg.norm(e, axis=-1, keepdims=True), -1, 0)
    rows = [
        [w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def product(a: Array, b: Array) -> Array:
    """Return the quaternion (..., 4) of a rotation by b followed by a rotation by a."""
    (aw, av), (bw, bv) = (a[..., :1], a[..., 1:]), (b[..., :1], b[..., 1:])
    return np.concatenate(
        [aw * bw - np.sum(av * bv, axis=-1, keepdims=True), aw * bv + bw * av + np.cross(av, bv)], axis=-1
    )


def conjugate(e: Array) -> Array:
    """Return the quaternion of the inverse rotation."""
    return e * np.array([1.0, -1.0, -1.0, -1.0])


def quaternion(turn: Array) -> Array:
    """Return the unit quaternion (..., 4) of a rotation vector (..., 3), whose length is the angle [rad]."""
    turn = np.asarray(turn, dtype=float)
    half = 0.5 * np.linalg.norm(turn, axis=-1, keepdims=True)
    return np.concatenate([np.cos(half), 0.5 * np.sinc(half / np.pi) * turn], axis=-1)


def turn(e: Array) -> Array:
    """Return the rotation vector (..., 3) of a quaternion (..., 4); its length is the angle [rad], at most pi."""
    e = np.asarray(e, dtype=float)
    e = np.where(e[..., :1] < 0.0, -e, e)
    size = np.linalg.norm(e[..., 1:], axis=-1, keepdims=True)
    angle = 2.0 * np.arctan2(size, e[..., :1])
    near = size < 1e-8
    return np.where(near, 2.0 * e[..., 1:], e[..., 1:] * angle / np.where(near, 1.0, size))


def turns(e: Array) -> Array:
    """Return rotation vectors (time, 3) of quaternions (time, 4) of any length, each nearest to the previous one."""
    found = turn(e)
    sizes = np.linalg.norm(found, axis=1)
    axes = found / np.where(sizes > 0.0, sizes, 1.0)[:, None]
    jumps = np.einsum("ti,ti->t", found[:-1] - found[1:], axes[1:])
    beyond = np.flatnonzero(np.abs(jumps) > np.pi)
    for k in range(beyond[0] + 1 if len(beyond) else len(found), len(found)):
        found[k] += 2.0 * np.pi * np.round((found[k - 1] - found[k]) @ axes[k] / (2.0 * np.pi)) * axes[k]
    return found
