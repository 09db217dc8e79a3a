"""What an arm looks like: the solids of its links, joints and payload as plain numbers, for whatever draws them.

Where they stand is `drawing`'s. What a description gives is drawn as it is: lengths, sections, tapers, axes. What it
leaves open is chosen so that the arm can be read: a beam without a section is slender, and a strip where it bends in
one plane only, its stiff side upright; a rigid link is a box between its neighbours' sections; a joint is as large as
the links that it holds, or as its hub's mass; a payload is a ball of its mass.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch
from math import pi, sqrt
from typing import Any

import numpy as np

from flexarm.checks import checked_instance, refused
from flexarm.description.arm import Arm, Link
from flexarm.description.bodies import Beam, Body
from flexarm.description.sections import Box, Rod, Tube
from flexarm.errors import DescriptionError
from flexarm.model import Model

DENSITY = 2700.0
"""Of hubs and payloads, to have a size by their mass: aluminium's [kg/m^3]."""

THINNEST = 1 / 400
"""Of the arm's reach: a section that is thinner would not be seen."""

SLENDER = 1 / 25
"""Of its length: how thick a beam is drawn that has no section."""

STRIP = 0.4
"""Thickness over height of a beam that bends in one plane."""


@dataclass(frozen=True)
class Outline:
    """Sections of a link: `base` and `tip` are extents along y and z [m], between which they go linearly."""

    round: bool
    base: tuple[float, float]
    tip: tuple[float, float]

    def scaled(self, least: float) -> "Outline":
        """The same, nothing thinner than `least`."""
        base, tip = (tuple(max(x, least) for x in ends) for ends in (self.base, self.tip))
        return Outline(self.round, base, tip)  # type: ignore[arg-type]


@singledispatch
def outline(body: Body, reach: float) -> Outline | None:
    """A body's own sections in an arm of this reach [m], or None where it is drawn between its neighbours'.

    Registered by the class of the body; one of a kind of one's own is drawn as a rigid link unless it registers.
    """
    return None


@outline.register
def _(body: Beam, reach: float) -> Outline:
    if body.section is not None:
        tip = body.section if body.section_tip is None else body.section_tip
        return Outline(not isinstance(body.section, Box), _extents(body.section), _extents(tip))
    d = min(max(SLENDER * body.length, reach / 90), reach / 40, body.length / 4)
    ratio = _ratio(body)
    size = (d * sqrt(ratio), d / sqrt(ratio))
    return Outline(ratio == 1.0, size, size)


def _extents(section: Rod | Tube | Box) -> tuple[float, float]:
    if isinstance(section, Box):
        return section.width, section.height
    d = section.diameter if isinstance(section, Rod) else section.outer_diameter
    return d, d


def _ratio(beam: Beam) -> float:
    """Of the extents along y and z: that of the stiffnesses, or a strip's where only one plane bends."""
    y, z = beam.counts["y"], beam.counts["z"]
    if bool(y) != bool(z):
        return STRIP if y else 1 / STRIP
    EI = beam.stiffness
    if not (y and z and "y" in EI and "z" in EI):
        return 1.0
    return min(max(sqrt(EI["y"] / EI["z"]), 0.2), 5.0)


def solids(model: Model) -> dict[str, Any]:
    """What an arm looks like, as numbers, texts, lists and dicts, in SI units.

    Keys: `name`; `reach`, the length of the stretched arm; `up`, against gravity, or else off the plane, or along z;
    `gravity`; `plane`, the normal of the plane in which the arm moves, or None; `base`, where the first joint stands
    and its axis; `links`, each with its name, its body (`flexible`, `length`, `round`, extents `base` and `tip` along y
    and z) and its joint (`kind` "revolute", "prismatic", "telescope" or "fixed", `axis`, `radius` and `half` height,
    `elastic`, places of its `coordinate` and `motor` in q, or None); `payload`, its `mass` and `radius`, or None;
    `tip`, the radius of the mark at the arm's end.

    Raises `DescriptionError` where it is given no model.
    """
    with refused("solids"):
        arm = _as_it_runs(checked_instance(model, Model, "model"))
    reach = _reach(arm)
    outlines = _outlines(arm, reach)
    places = {(x.role, x.link): i for i, x in enumerate(arm.layout)}
    plane = _plane(arm)
    first = arm.links[0]
    links = []
    for i, (link, drawn) in enumerate(zip(arm.links, outlines, strict=True)):
        before = outlines[i - 1] if i else None
        links.append(
            {
                "name": link.name,
                "flexible": any(link.body.counts.values()),
                "length": link.body.length,
                "round": drawn.round,
                "base": list(drawn.base),
                "tip": list(drawn.tip),
                "joint": _joint(arm, i, before, drawn, reach)
                | {"coordinate": places.get(("joint", i)), "motor": places.get(("motor", i))},
            }
        )
    tip = 0.5 * max(outlines[-1].tip)
    return {
        "name": arm.name,
        "reach": reach,
        "gravity": list(arm.gravity),
        "up": _up(arm, plane),
        "plane": plane,
        "base": {
            "origin": list(first.placement.xyz),
            "axis": (first.placement.rotation @ np.array(first.joint.direction)).tolist(),
        },
        "links": links,
        "payload": None
        if arm.payload is None
        else {"mass": arm.payload.mass, "radius": payload_radius(arm.payload.mass, tip, reach)},
        "tip": 1.15 * tip,
    }


def _as_it_runs(model: Model) -> Arm:
    """The arm with the parameters of its model; as described, where a description has no place for one of them."""
    try:
        return model.arm_at()
    except DescriptionError:
        return model.arm


def payload_radius(mass: float, tip: float, reach: float) -> float:
    """Of the ball that stands for a payload [m]: by its mass, seen beside the link's tip, and smaller than the arm."""
    return min(max((3 * mass / (4 * pi * DENSITY)) ** (1 / 3), 1.5 * tip), max(reach / 12, 1.5 * tip))


def _reach(arm: Arm) -> float:
    offsets = sum(float(np.linalg.norm(link.placement.xyz)) for link in arm.links[1:])
    return max(sum(link.body.length for link in arm.links) + offsets, 1e-9)


def _outlines(arm: Arm, reach: float) -> list[Outline]:
    """Of every link; those that have none of their own lie between their neighbours'."""
    least = THINNEST * reach
    own = [outline(link.body, reach) for link in arm.links]
    found = [None if x is None else x.scaled(least) for x in own]
    made: list[Outline] = []
    for i, (link, drawn) in enumerate(zip(arm.links, found, strict=True)):
        if drawn is not None:
            made.append(drawn)
            continue
        most = max(0.7 * link.body.length, 2 * least) if link.body.length > 0 else reach
        before = next((max(x.tip) for x in reversed(found[:i]) if x is not None), None)
        after = next((max(x.base) for x in found[i + 1 :] if x is not None), None)
        known = [1.1 * x for x in (before, after) if x is not None] or [reach / 28]
        sizes = [min(x, most) for x in (known[0], known[-1])]
        made.append(Outline(False, (sizes[0], sizes[0]), (sizes[1], sizes[1])))
    return made


def _joint(arm: Arm, i: int, before: Outline | None, drawn: Outline, reach: float) -> dict[str, Any]:
    """A joint that holds the links' ends, as large as its hub's mass where that is larger."""
    link = arm.links[i]
    ends = [drawn.base] + ([] if before is None else [before.tip])
    axis = np.array(link.joint.direction)
    along = 0.5 * max(float(np.abs(axis[1:]) @ end) for end in ends)
    mean = max(sqrt(y * z) for y, z in ends)
    rolls = abs(axis[0]) > 0.9
    radius = 0.62 * max(map(max, ends)) if rolls else 0.85 * mean
    hub = (link.hub_mass / (2 * pi * DENSITY)) ** (1 / 3)
    radius = min(max(radius, hub), 1.7 * radius)
    near = [x for x in (link.body.length, arm.links[i - 1].body.length if i else 0.0) if x > 0]
    radius = max(min([radius, *(0.45 * x for x in near)]), THINNEST * reach)
    half = 0.45 * radius if rolls else min(max(1.2 * along, 0.75 * radius), 2.5 * radius)
    return {"kind": _kind(link), "axis": axis.tolist(), "radius": radius, "half": half, "elastic": link.elastic}


def _kind(link: Link) -> str:
    joint = link.joint
    if not joint.moves:
        return "fixed"
    if joint.turns:
        return "revolute"
    return "prismatic" if joint.carries else "telescope"


def _plane(arm: Arm) -> list[float] | None:
    """The normal of the plane in which joints move an arm, or None: all turn about it, all else lies across it."""
    turning, lying = _directions(arm)
    if not turning:
        return None
    normal = turning[0]
    if any(abs(abs(normal @ x) - 1) > 1e-9 for x in turning) or any(abs(normal @ x) > 1e-9 for x in lying):
        return None
    upward = normal * np.sign(normal[np.abs(normal).argmax()])
    return (upward + 0.0).tolist()


def _directions(arm: Arm) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Axes that turn, and directions along which something lies or slides, in the base frame, all angles zero."""
    R = np.eye(3)
    turning: list[np.ndarray] = []
    lying: list[np.ndarray] = []
    for i, link in enumerate(arm.links):
        offset = R @ np.array(link.placement.xyz)
        if i and (size := float(np.linalg.norm(offset))) > 0:
            lying.append(offset / size)
        R = R @ link.placement.rotation
        direction = R @ np.array(link.joint.direction)
        if link.joint.moves:
            (turning if link.joint.turns else lying).append(direction)
        if link.body.length > 0:
            lying.append(R[:, 0])
    return turning, lying


def _up(arm: Arm, plane: Sequence[float] | None) -> list[float]:
    gravity = np.array(arm.gravity)
    size = float(np.linalg.norm(gravity))
    if size > 0:
        return (-gravity / size + 0.0).tolist()
    return [0.0, 0.0, 1.0] if plane is None else list(plane)
