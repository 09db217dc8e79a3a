"""Clearance of links, which are chains of capsules, from obstacles."""

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from flexarm.arrays import Array
from flexarm.description.arm import Beam
from flexarm.description.obstacles import Sphere
from flexarm.model import Model

if TYPE_CHECKING:
    import casadi as ca

CAPSULES = 4
"""Number of capsules of a link that bends, between evenly spaced stations along its centre line.

A link of more segments has one capsule for each segment.
"""


def clearances(model: Model, obstacles: tuple[Any, ...], radius: Array, q: "ca.SX") -> tuple[list[str], list[Any]]:
    """Return the clearance of each link, of radius (links,), from each obstacle [m], with its name.

    For a sphere there is one number for each link, the least of its capsules'. For a plane there is one number for each
    point of the centre line, which is straight between these points. A capsule or a point that no coordinate moves is
    left out, because a base may stand on its floor.
    """
    from flexarm.mechanics.obstacles import capsule_from_sphere, point_from_plane

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
                own = [_least([capsule_from_sphere(a, b, obstacle, r) for a, b in pieces])] if pieces else []
            else:
                apart = [point_from_plane(p, obstacle, r) for p in points]
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


def _least(y: list[Any]) -> Any:
    import casadi as ca

    found = y[0]
    for each in y[1:]:
        found = ca.fmin(found, each)
    return found
