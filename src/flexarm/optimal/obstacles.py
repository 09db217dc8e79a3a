"""Obstacles of an arm, spheres and planes, and the clearance of its links, which are chains of capsules."""

from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, final

import numpy as np
from pydantic import BeforeValidator

from flexarm.arrays import Array
from flexarm.checks import (
    POSITIVE,
    Described,
    Fault,
    Vector,
    checked_list,
    faulted,
    number,
    shown,
    unit_vector,
    vector,
    within,
)
from flexarm.description.arm import Beam
from flexarm.model import Model

if TYPE_CHECKING:
    import casadi as ca

CAPSULES = 4
"""Number of capsules of a link that bends, between evenly spaced stations along its centre line.

A link of more segments has one capsule for each segment.
"""

SOFT = 1e-3
"""Distance from a sphere's centre, relative to the radii of sphere and link, within which the distance is smoothed."""


def _names(value: object) -> tuple[str, ...] | None:
    if value is None:
        return None
    names = checked_list(value, "a list of links' names")
    if not names or not all(isinstance(name, str) for name in names):
        raise Fault("", f"is {shown(value)}; it must be a list of links' names")
    return tuple(names)


Links = Annotated[tuple[str, ...] | None, BeforeValidator(_names)]


@final
class Sphere(Described):
    """A sphere that links must not touch.

    Parameters
    ----------
    center : (3,)
        Centre [m], in the base frame, or in the world if the base is free.
    radius : float
        [m]
    links : list of str, optional
        Names of the links that must stay out; default all.
    """

    center: Annotated[Vector, vector("m")]
    radius: Annotated[float, number("m", POSITIVE)]
    links: Links = None


@final
class Plane(Described):
    """A wall or a floor that links must stay on one side of.

    Parameters
    ----------
    point : (3,)
        Point of the plane [m], in the base frame, or in the world if the base is free.
    normal : (3,)
        Unit vector that points from the wall to the arm's side.
    links : list of str, optional
        Names of the links that must stay on that side; default all.
    """

    point: Annotated[Vector, vector("m")] = (0.0, 0.0, 0.0)
    normal: Annotated[Vector, unit_vector]
    links: Links = None


def _obstacles(value: object) -> tuple[Any, ...]:
    """Check a list of spheres and planes. Each is an object, or a table whose fields decide which of both it is."""
    if value is None:
        return ()
    what = "a list of spheres {center, radius} and planes {point, normal}"
    found = []
    for i, each in enumerate(checked_list(value, what)):
        if isinstance(each, Mapping):
            kind = Plane if "normal" in each or "point" in each else Sphere
            with within(f"[{i}]"):
                each = faulted(kind, each)
        if not isinstance(each, Sphere | Plane):
            raise Fault(
                f"[{i}]", f"is {shown(each)}; it must be a sphere {{center, radius}} or a plane {{point, normal}}"
            )
        found.append(each)
    return tuple(found)


Obstacles = Annotated[Any, BeforeValidator(_obstacles)]


def clearances(model: Model, obstacles: tuple[Any, ...], radius: Array, q: "ca.SX") -> tuple[list[str], list[Any]]:
    """Return the clearance of each link, of radius (links,), from each obstacle [m], with its name.

    For a sphere there is one number for each link, the least of its capsules'. For a plane there is one number for each
    point of the centre line, which is straight between these points. A capsule or a point that no coordinate moves is
    left out, because a base may stand on its floor.
    """
    names = [link.name for link in model.arm.links]
    lines = _center_lines(model, q)
    labels: list[str] = []
    found: list[Any] = []
    for k, obstacle in enumerate(obstacles):
        for i, name in enumerate(names):
            if obstacle.links is not None and name not in obstacle.links:
                continue
            r, points = float(radius[i]), lines[i]
            if isinstance(obstacle, Sphere):
                moves = moved(model, q, points)
                pieces = [pair for pair, own in zip(pairwise(points), pairwise(moves), strict=True) if any(own)]
                own = [_least([_from_sphere(a, b, obstacle, r) for a, b in pieces])] if pieces else []
            else:
                apart = [_from_plane(p, obstacle, r) for p in points]
                own = [y for y, moves in zip(apart, moved(model, q, apart), strict=True) if moves]
            labels += [f"the clearance of {name!r} from obstacles[{k}]"] * len(own)
            found += own
    return labels, found


def moved(model: Model, q: "ca.SX", y: list[Any]) -> list[bool]:
    """Return for each function of the configuration whether it changes, from slopes at two random configurations."""
    import casadi as ca

    slope = ca.Function("slope", [q], [ca.jacobian(ca.vec(each), q) for each in y])
    rest, rng = np.array(model.arm.rest), np.random.default_rng(1)
    found = [slope.call([rest + 0.3 * rng.normal(size=len(rest))]) for _ in range(2)]
    return [bool(max(np.abs(np.array(J)).max(initial=0.0) for J in both) > 1e-9) for both in zip(*found, strict=True)]


def _center_lines(model: Model, q: "ca.SX") -> list[list["ca.SX"]]:
    """Points (3,) on the centre line of each link, from its base to its tip, in the base frame or the world."""
    import casadi as ca

    from flexarm.mechanics import links
    from flexarm.mechanics.dynamics import frames
    from flexarm.mechanics.spatial import added, entries, product

    chain, x = model.posed(entries(q))
    placed, found = frames(chain, x), []
    for i, (members, link) in enumerate(zip(chain.links, model.arm.links, strict=True)):
        bends = isinstance(link.body, Beam) and any(link.body.counts.values())
        count = max(CAPSULES, len(members)) if bends else 1
        frame = placed[members[0]]
        sections = [links.section(chain, i, k / count, x)[:3] for k in range(count + 1)]
        found.append([ca.SX(ca.vertcat(*added(frame.p, product(frame.R, p)))) for p in sections])
    return found


def _from_sphere(a: "ca.SX", b: "ca.SX", sphere: Sphere, radius: float) -> "ca.SX":
    """Clearance between a sphere and the capsule about the line from a to b.

    The distance has no slope where the centre lies on the line. There the result is the distance of a point slightly
    beside the line. A line of no length counts as a point.
    """
    import casadi as ca

    along, away = b - a, ca.DM(sphere.center) - a
    reach = sphere.radius + radius
    beside = SOFT * reach
    share = ca.fmax(0.0, ca.fmin(1.0, ca.dot(along, away) / (ca.sumsqr(along) + (SOFT * beside) ** 2)))
    return ca.sqrt(ca.sumsqr(away - share * along) + beside**2) - float(np.hypot(reach, beside))


def _from_plane(p: "ca.SX", plane: Plane, radius: float) -> "ca.SX":
    import casadi as ca

    return ca.dot(ca.DM(plane.normal), p - ca.DM(plane.point)) - radius


def _least(y: list[Any]) -> Any:
    import casadi as ca

    found = y[0]
    for each in y[1:]:
        found = ca.fmin(found, each)
    return found
