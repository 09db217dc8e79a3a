"""What an arm must not touch: spheres and planes, and how far its links, as chains of capsules, are from them."""

from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, final

import numpy as np
from pydantic import BeforeValidator

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
)
from flexarm.description.arm import Beam
from flexarm.model import Model

if TYPE_CHECKING:
    import casadi as ca

Array = np.ndarray

CAPSULES = 4
"""Of a link that bends: between stations evenly along its centre line. One of several segments has one for each of
these, where they are more."""

SOFT = 1e-3
"""Of a sphere's and a link's radius together: so near to the sphere's centre the distance from there is rounded off."""


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
    """A ball that links must stay out of.

    Parameters
    ----------
    center : (3,)
        In the base frame, in the world where the base is free [m].
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
        Of the plane, in the base frame, in the world where the base is free [m].
    normal : (3,)
        Unit vector out of the wall, to where the arm may be.
    links : list of str, optional
        Names of the links that must stay there; default all.
    """

    point: Annotated[Vector, vector("m")] = (0.0, 0.0, 0.0)
    normal: Annotated[Vector, unit_vector]
    links: Links = None


def _obstacles(value: object) -> tuple[Any, ...]:
    """Spheres and planes, each an object or a table of its fields, told apart by them."""
    if value is None:
        return ()
    what = "a list of spheres {center, radius} and planes {point, normal}"
    found = []
    for i, each in enumerate(checked_list(value, what)):
        if isinstance(each, Mapping):
            kind = Plane if "normal" in each or "point" in each else Sphere
            try:
                each = faulted(kind, each)
            except Fault as fault:
                part = f"[{i}]" + ("." * (fault.part[:1] not in ("", "["))) + fault.part
                raise Fault(part, fault.message, fault.sentence) from None
        if not isinstance(each, Sphere | Plane):
            raise Fault(
                f"[{i}]", f"is {shown(each)}; it must be a sphere {{center, radius}} or a plane {{point, normal}}"
            )
        found.append(each)
    return tuple(found)


Obstacles = Annotated[Any, BeforeValidator(_obstacles)]


def clearances(model: Model, obstacles: tuple[Any, ...], radius: Array, q: "ca.SX") -> tuple[list[str], list[Any]]:
    """How far each link, of radius (links,), is from each obstacle [m], and what that is called.

    Of a sphere it is one number a link, the least of its capsules'; of a plane one number a point of its centre line,
    between which it is straight. A capsule or a point that nothing moves does not count: a base may stand on its floor.
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
    """Which of some functions of the configuration change with it, as their slopes at two general ones tell."""
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
    """Distance of the capsule about a line from a to b from a sphere.

    Where the centre lies on the line the distance has no slope; it is that of a place a little beside. A line without
    length is a point, as one is that is a thousandth of this little.
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
