"""Attitudes in a filter: local coordinates of a free base and ball joints about a reference that follows the estimate.

A filter adds and weighs vectors, but attitudes are no vectors. So it estimates deviations from a reference pose: of a
free base a shift d along the axes of the reference, and of each attitude e the Gibbs vector g, relative to e_ref:

    e = e_ref (1, g / 2) / |(1, g / 2)|,    g' = w + g x w / 2 + g (g . w) / 4,    d' = R(g) v

with the twist (v, w) along the body's axes. A small g is a rotation vector, and g is infinite at half a turn. After
each sample the reference moves to the estimate (Markley, J. Guidance, Control and Dynamics 26, 2003, 311-317). With
the new reference at the center c, a vector g and its small change dg become

    g* = 2 b / a,  dg* = 2 (db - b da / a) / a    with  a = 1 + c . g / 4,  b = (g - c) / 2 - c x g / 4

and da and db are those of dg. At g = c, where the covariance is, this is exact to the first order.
"""

from typing import TYPE_CHECKING

import numpy as np

from flexarm.arrays import Array
from flexarm.description.arm import Arm
from flexarm.estimation.loops import Filter
from flexarm.native.kernel import LANES
from flexarm.native.language import Floats, sqrt
from flexarm.quaternions import product, rotation
from flexarm.simulation.steps import copied

if TYPE_CHECKING:
    import casadi as ca

FAR = 0.5
"""Least cosine of half a rotation from one reference to the next within a window: 120 degrees."""


# -- equations ---------------------------------------------------------------------------------------------------------


def in_charts(arm: Arm, traced: "tuple[ca.Function, ca.Function]") -> "tuple[ca.Function, ca.Function]":
    """Return f(x, u, p) and g(x, u, p) in local coordinates. The last numbers of p are the reference pose (poses,).

    Without a free base and ball joints they are unchanged.
    """
    if not arm.poses:
        return traced
    import casadi as ca

    from flexarm.mechanics.chain import rotation as rotation_of
    from flexarm.mechanics.chain import spun
    from flexarm.mechanics.spatial import entries, matrix

    f, g = traced
    extra = arm.poses - arm.twists
    x, u = ca.SX.sym("x", f.size1_in(0) - extra), ca.SX.sym("u", f.size1_in(1))
    known = f.size1_in(2)
    p = ca.SX.sym("p", known + arm.poses)
    reference, twist = p[known:], x[len(arm.layout) : len(arm.layout) + arm.twists]
    pose, moved = [], []
    if arm.free:
        pose.append(reference[:3] + matrix(rotation_of(entries(reference[3:7]))) @ x[:3])
        moved.append(matrix(rotation_of([1.0, *entries(x[3:6] / 2)])) @ twist[:3])
    for place, at in arm.quaternions:
        gibbs, w, e = x[at], twist[at], reference[place]
        after = e + ca.vertcat(*spun(entries(e), entries(gibbs)))  # e (1, g / 2)
        pose.append(after / ca.sqrt(1.0 + ca.sumsqr(gibbs) / 4))
        moved.append(w + ca.cross(gibbs, w) / 2 + gibbs * ca.dot(gibbs, w) / 4)
    given = [ca.vertcat(*pose, x[arm.twists :]), u, p[:known]]
    rate = ca.vertcat(*moved, f(*given)[arm.poses :])
    return tuple(  # type: ignore[return-value]
        ca.Function(name, [x, u, p], [ca.cse(ca.densify(each))]) for name, each in (("f", rate), ("g", g(*given)))
    )


def placed(arm: Arm, pose: Array, x: Array) -> Array:
    """Return the points (..., more) of local ones x (..., N) about reference poses (..., poses)."""
    if not arm.poses:
        return x
    parts = []
    if arm.free:
        R = rotation(pose[..., 3:7])
        parts.append(pose[..., :3] + (R @ x[..., :3, None])[..., 0])
    for place, at in arm.quaternions:
        half = x[..., at] / 2
        e = np.concatenate([np.ones_like(half[..., :1]), half], axis=-1)
        parts.append(product(pose[..., place], e / np.linalg.norm(e, axis=-1, keepdims=True)))
    return np.concatenate([*parts, x[..., arm.twists :]], axis=-1)


# -- native code -------------------------------------------------------------------------------------------------------


def turned(w: float, x: float, y: float, z: float, v: Floats) -> None:
    """Rotate the vector v by a quaternion of any length."""
    a, b, c = y * v[2] - z * v[1], z * v[0] - x * v[2], x * v[1] - y * v[0]
    f = 2.0 / (w * w + x * x + y * y + z * z)
    v[0] += f * (w * a + y * c - z * b)
    v[1] += f * (w * b + z * a - x * c)
    v[2] += f * (w * c + x * b - y * a)


def recentered(s: Filter, x: Floats, d: Floats, count: int) -> None:
    """Express the point x and small changes d (count, size) there in the charts about `center`. Count may be 0."""
    c = s.center
    at = 3 * s.free
    if s.free == 1:
        for i in range(3):
            x[i] -= c[i]
        turned(2.0, -c[3], -c[4], -c[5], x)
        for j in range(count):
            turned(2.0, -c[3], -c[4], -c[5], d[j * s.size :])
    for k in range(s.turns):
        m, g = c[at + 3 * k :], x[at + 3 * k :]
        a = 1.0 + (m[0] * g[0] + m[1] * g[1] + m[2] * g[2]) / 4.0
        near = (1.0 + (m[0] * m[0] + m[1] * m[1] + m[2] * m[2]) / 4.0) * (
            1.0 + (g[0] * g[0] + g[1] * g[1] + g[2] * g[2]) / 4.0
        )
        if a < FAR * sqrt(near):
            a = 0.0  # the estimate becomes infinite, which callers report
        b0 = (g[0] - m[0]) / 2.0 - (m[1] * g[2] - m[2] * g[1]) / 4.0
        b1 = (g[1] - m[1]) / 2.0 - (m[2] * g[0] - m[0] * g[2]) / 4.0
        b2 = (g[2] - m[2]) / 2.0 - (m[0] * g[1] - m[1] * g[0]) / 4.0
        for j in range(count):
            e = d[j * s.size + at + 3 * k :]
            f = (m[0] * e[0] + m[1] * e[1] + m[2] * e[2]) / (4.0 * a)
            d0 = e[0] / 2.0 - (m[1] * e[2] - m[2] * e[1]) / 4.0
            d1 = e[1] / 2.0 - (m[2] * e[0] - m[0] * e[2]) / 4.0
            d2 = e[2] / 2.0 - (m[0] * e[1] - m[1] * e[0]) / 4.0
            e[0] = 2.0 * (d0 - b0 * f) / a
            e[1] = 2.0 * (d1 - b1 * f) / a
            e[2] = 2.0 * (d2 - b2 * f) / a
        g[0], g[1], g[2] = 2.0 * b0 / a, 2.0 * b1 / a, 2.0 * b2 / a


def centered(s: Filter) -> None:
    """Move the references to the estimate, which then has zeros in their place, with its covariance."""
    at, c = 3 * s.free, s.center
    copied(s.X, c, at + 3 * s.turns)
    recentered(s, s.X, s.S, s.size)
    if s.free == 1:
        e, v = s.pose[3:], s.v
        copied(c, v, 3)
        turned(e[0], e[1], e[2], e[3], v)
        for i in range(3):
            s.pose[i] += v[i]
    for k in range(s.turns):
        e, g = s.pose[at + 4 * k :], c[at + 3 * k :]
        w, x, y, z = e[0], e[1], e[2], e[3]
        a, b, d = g[0] / 2.0, g[1] / 2.0, g[2] / 2.0
        e[0], e[1] = w - x * a - y * b - z * d, x + w * a + y * d - z * b
        e[2], e[3] = y + w * b + z * a - x * d, z + w * d + x * b - y * a
        f = 1.0 / sqrt(e[0] * e[0] + e[1] * e[1] + e[2] * e[2] + e[3] * e[3])
        for i in range(4):
            e[i] *= f
    referred(s)


def referred(s: Filter) -> None:
    """Write the reference pose among the parameters of the equations, where it comes last."""
    count = posed(s)
    to = s.p[(s.known - count) * LANES :]
    for i in range(count):
        for lane in range(LANES):
            to[i * LANES + lane] = s.pose[i]


def posed(s: Filter) -> int:
    """Return the length of the reference pose."""
    return 3 * s.free + 4 * s.turns


def seen_from(s: Filter, x: Floats, to: Floats, count: int) -> None:
    """Write the local numbers `to` (count,) of a point x, whose first numbers are a pose."""
    at = 3 * s.free
    if s.free == 1:
        e = s.pose[3:]
        for i in range(3):
            to[i] = x[i] - s.pose[i]
        turned(e[0], -e[1], -e[2], -e[3], to)
    for k in range(s.turns):
        r, e, g = s.pose[at + 4 * k :], x[at + 4 * k :], to[at + 3 * k :]
        w = r[0] * e[0] + r[1] * e[1] + r[2] * e[2] + r[3] * e[3]
        g[0] = 2.0 * (r[0] * e[1] - e[0] * r[1] - r[2] * e[3] + r[3] * e[2]) / w
        g[1] = 2.0 * (r[0] * e[2] - e[0] * r[2] - r[3] * e[1] + r[1] * e[3]) / w
        g[2] = 2.0 * (r[0] * e[3] - e[0] * r[3] - r[1] * e[2] + r[2] * e[1]) / w
    local = at + 3 * s.turns
    copied(x[posed(s) :], to[local:], count - local)
