"""Coordinates, drives, hubs and links by the names that sensors use."""

from typing import Any

from flexarm.checks import Described, checked_instance, refused, unknown_name
from flexarm.description.arm import Arm, Link
from flexarm.description.tree import BASE
from flexarm.errors import DescriptionError


def coordinate_unit(arm: Arm, name: str) -> str:
    """Return the unit [rad] or [m] of a coordinate, a drive or a hub.

    Raises `DescriptionError` if the arm has none of this name.
    """
    check_coordinate("coordinate_unit", name, arm)
    known = dict(zip(arm.coordinates, arm.units, strict=True))
    return known[name] if name in known else drives_and_hubs(arm)[name][0].joint.unit


def drives_and_hubs(arm: Arm) -> dict[str, tuple[Link, int, str]]:
    """Names in addition to the coordinates: link, its index, and "drive" or "hub"."""
    has = {"drive": [link.joint.actuated for link in arm.links], "hub": [link.joint.moves for link in arm.links]}
    return {f"{link.name}.{part}": (link, i, part) for i, link in enumerate(arm.links) for part in has if has[part][i]}


def check_coordinate(where: str, name: str, arm: Arm, of_rates: bool = False) -> None:
    with refused(where):
        checked_instance(arm, Arm, "arm")
    known = [*drives_and_hubs(arm), *(arm.velocities if of_rates else arm.coordinates)]
    if not isinstance(name, str) or name not in known:
        raise DescriptionError(unknown_name(f"{where}: unknown coordinate", name, known, "the coordinates are"))


def place(sensor: Described, name: str, arm: Arm, based: bool = False) -> int:
    """Index of the link of this name; `based` is True if the name of a free base is also allowed."""
    with refused(type(sensor).__name__):
        checked_instance(arm, Arm, "arm")
    names = [link.name for link in arm.links]
    if name not in names:
        known = [*names, BASE] if based and arm.free else names
        raise DescriptionError(unknown_name(f"{type(sensor).__name__}: unknown link", name, known, "the links are"))
    return names.index(name)


def linked(sensor: Described, name: str, arm: Arm) -> Link:
    """Link of this name."""
    i = place(sensor, name, arm)  # before `arm.links`, since arm may be no arm
    return arm.links[i]


def measured(name: str, arm: Arm, chain: Any, q: list) -> Any:
    """Expression of a coordinate, or of the rotation (or displacement) of a drive or a hub, which is linear in q.

    q has an entry for each rate.
    """
    from flexarm.mechanics.chain import taken
    from flexarm.mechanics.spatial import dot

    if name in arm.coordinates[: arm.poses]:
        return chain.stood[arm.coordinates.index(name)]
    if name in arm.velocities:
        return q[arm.velocities.index(name)]
    link, i, part = drives_and_hubs(arm)[name]
    first = chain.links[i][0]
    body, share = chain.bodies[first], taken(q, chain.own[first])
    if part == "drive":
        return dot(body.drive, share)
    joint = next(n for n in arm.joints if arm.layout[n].link == i)
    return _hub(link, body, share, q[joint])


def _hub(link: Link, body: Any, share: list, joint: Any) -> Any:
    """Joint coordinate plus the slopes of the shapes at the hub about the joint's axis."""
    if not link.joint.turns:
        return joint
    slope_y, slope_z = body.root(share[1:])
    _, y, z = link.joint.direction
    return joint + z * slope_y - y * slope_z
