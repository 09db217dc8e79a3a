"""Clearance of points and capsules from obstacles."""

import casadi as ca
import numpy as np

from flexarm.description.obstacles import Plane, Sphere

SOFT = 1e-3
"""Distance from a sphere's centre, relative to the radii of sphere and link, within which the distance is smoothed."""


def point_clearance(p: ca.SX, obstacle: Sphere | Plane, radius: float) -> ca.SX:
    """Return the clearance between an obstacle and the sphere of a radius about a point."""
    if isinstance(obstacle, Sphere):
        return capsule_from_sphere(p, p, obstacle, radius)
    return point_from_plane(p, obstacle, radius)


def capsule_from_sphere(a: ca.SX, b: ca.SX, sphere: Sphere, radius: float) -> ca.SX:
    """Return the clearance between a sphere and the capsule about the line from a to b.

    The distance has no slope where the centre lies on the line. There the result is the distance of a point slightly
    beside the line. A line of no length counts as a point.
    """
    along, away = b - a, ca.DM(sphere.center) - a
    reach = sphere.radius + radius
    beside = SOFT * reach
    share = ca.fmax(0.0, ca.fmin(1.0, ca.dot(along, away) / (ca.sumsqr(along) + (SOFT * beside) ** 2)))
    return ca.sqrt(ca.sumsqr(away - share * along) + beside**2) - float(np.hypot(reach, beside))


def point_from_plane(p: ca.SX, plane: Plane, radius: float) -> ca.SX:
    """Return the clearance between a plane and the sphere of a radius about a point."""
    return ca.dot(ca.DM(plane.normal), p - ca.DM(plane.point)) - radius
