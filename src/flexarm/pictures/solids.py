"""Geometry of an arm for visualization: the solids of its links, joints and payload as plain numbers.

The module `drawing` places them. Lengths, sections, tapers and axes from the description are drawn to scale. Open
properties are chosen for a readable picture:

- A beam without a section is slender. If it bends in only one plane, it is a strip with its stiff side upright.
- A rigid link is a box between its neighbours' sections.
- A joint is as large as the links that it holds, or as the mass of its hub.
- A payload is a ball of its mass.
- A free base is the uniform box of its mass and inertia.
- A rotor without length that carries nothing is a disc of its inertia.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch
from math import pi, sqrt
from typing import Any

import numpy as np

from flexarm.checks import checked_instance, refused
from flexarm.description.arm import Arm, FiniteElement, Link, Pose, tensor
from flexarm.description.beams import Beam
from flexarm.description.bodies import Body, Rigid
from flexarm.description.free import FreeBase
from flexarm.description.sections import Box, Rod, Tube
from flexarm.errors import DescriptionError
from flexarm.model import Model
from flexarm.plots.camera import upright

DENSITY = 2700.0
"""Density of hubs and payloads that gives them a size by their mass: that of aluminium [kg/m^3]."""

THINNEST = 1 / 400
"""Smallest thickness of a section as a share of the arm's reach. Anything thinner would be invisible."""

SLENDER = 1 / 25
"""Thickness of a beam without a section, as a share of its length."""

STRIP = 0.4
"""Thickness over height of a beam that bends in one plane."""

WIDE = 3.0
"""Smallest width of a flat beam drawn by its inertia, as a multiple of the thickness of a slender beam."""

FLAT = 8.0
"""Smallest ratio of width to thickness at which a box is a panel."""

LARGEST_BUS = 4.0
"""Largest edge of a free base's box over the arm's reach. It keeps a base of 1e5 kg in a point visible."""


@dataclass(frozen=True)
class Outline:
    """Sections of a link: extents along y and z at its `base` and `tip` [m], linear between."""

    round: bool
    base: tuple[float, float]
    tip: tuple[float, float]

    def scaled(self, least: float) -> "Outline":
        """Return the same outline with no extent below `least`."""
        base, tip = (tuple(max(x, least) for x in ends) for ends in (self.base, self.tip))
        return Outline(self.round, base, tip)  # type: ignore[arg-type]

    @property
    def flat(self) -> bool:
        """True for the outline of a panel."""
        return not self.round and max(self.base) >= FLAT * min(self.base)

    @property
    def blunt(self) -> float:
        """Half the largest extent of the tip [m], or half the smallest extent for a panel."""
        return 0.5 * (min(self.tip) if self.flat else max(self.tip))

    def at(self, x: float) -> "Outline":
        """Return the part of the outline up to station x."""
        there = tuple((1.0 - x) * a + x * b for a, b in zip(self.base, self.tip, strict=True))
        return Outline(self.round, self.base, self.tip if x == 1.0 else there)  # type: ignore[arg-type]


@singledispatch
def outline(body: Body, reach: float) -> Outline | None:
    """Return a body's own sections in an arm of this reach [m], or None if neighbours determine them.

    Implementations are registered by the class of the body. A user's own class is drawn as a rigid link unless it
    registers one.
    """
    return None


@outline.register
def _(body: Beam, reach: float) -> Outline:
    if body.section is not None:
        tip = body.section if body.section_tip is None else body.section_tip
        return Outline(not isinstance(body.section, Box), _extents(body.section), _extents(tip))
    d = min(max(SLENDER * body.length, reach / 90), reach / 40, body.length / 4)
    ratio = _ratio(body)
    if ratio != 1.0 and (width := _width(body)) > WIDE * d:
        thin = min(d, width / 20)
        size = (width, thin) if ratio > 1.0 else (thin, width)
        return Outline(False, size, size)
    size = (d * sqrt(ratio), d / sqrt(ratio))
    return Outline(ratio == 1.0, size, size)


@outline.register
def _(body: FiniteElement, reach: float) -> Outline:
    """Return the box with the second moments of the part across its length, for one constant section."""
    mass, first, inertia = float(body.part.mass[0]), body.part.first, body.part.second
    length = float(np.linalg.norm(body.part.place))
    spread = np.diag(np.trace(inertia) / 2 * np.eye(3) - inertia) / mass - (first / mass) ** 2
    y, z = np.minimum(np.sqrt(12 * np.maximum(spread[1:], 0.0)), max(length, reach / 28) / 4).tolist()
    return Outline(False, (y, z), (y, z))


def _extents(section: Rod | Tube | Box) -> tuple[float, float]:
    if isinstance(section, Box):
        return section.width, section.height
    d = section.diameter if isinstance(section, Rod) else section.outer_diameter
    return d, d


def _width(beam: Beam) -> float:
    """Return the width of a flat beam without a section from its moment of inertia about its axis [m], or 0."""
    return sqrt(12.0 * (beam.polar_inertia or 0.0) * beam.length / beam.total_mass)


def _ratio(beam: Beam) -> float:
    """Return the ratio of the extents along y and z.

    It follows from the stiffnesses, or is that of a strip if the beam bends in only one plane.
    """
    y, z = beam.counts["y"], beam.counts["z"]
    if bool(y) != bool(z):
        return STRIP if y else 1 / STRIP
    EI = beam.stiffness
    if not (y and z and "y" in EI and "z" in EI):
        return 1.0
    return min(max(sqrt(EI["y"] / EI["z"]), 0.2), 5.0)


def solids(model: Model) -> dict[str, Any]:
    """Return the geometry of an arm as numbers, texts, lists and dicts, in SI units.

    Keys of the result:

    - `name`: name of the arm.
    - `reach`: length of the stretched arm, the longest if there are several.
    - `gravity`: acceleration of gravity.
    - `up`: direction against gravity. Without gravity it is normal to `plane`, or along z.
    - `plane`: normal of the plane in which the arm moves, or None.
    - `base`: a dict of the base, see below.
    - `links`: a list of dicts, see below.
    - `hand`: the link whose tip is the tip of the arm.
    - `payload`: the payload of that link.
    - `tip`: radius of the mark at the tip of the arm.

    Keys of the base:

    - `free`: true for a free base.
    - `roots`: the joints on the base (`link`, `origin`, `axis`). The values of the first are also in `base` itself.
    - `box`: the box of a free base (`size`, centre `xyz`, axes as the columns of `R`), or None.
    - `open`: true if joints inside the box must be visible.
    - `nozzles`: the thrusters that push (`at`, `direction`).

    Keys of a link:

    - `name`, `flexible`, `panel`, `length`, `round`: name and kind of its body.
    - `base`, `tip`: extents along y and z.
    - `joint`: `kind` ("revolute", "prismatic", "telescope" or "fixed"), `axis`, `radius`, `half` height, `elastic`, and
      the indices of its `coordinate` and `motor` in q, or None.
    - `parent`, `at`: the parent link and the station on it.
    - `payload`: `mass` and `radius`, or None.
    - `wheel`: `radius` and `half` height if the link is a rotor, or None.
    - `box`: a box as that of the base if the link is a body that carries several others, or None.

    Raises `DescriptionError` if the argument is not a model.
    """
    with refused("solids"):
        arm = _as_it_runs(checked_instance(model, Model, "model"))
    reach = _reach(arm)
    outlines = _outlines(arm, reach)
    behind = len(arm.coordinates) - len(arm.layout)
    places = {(x.role, x.link): i + behind for i, x in enumerate(arm.layout)}
    plane = _plane(arm)
    links = []
    for i, (link, drawn, parent) in enumerate(zip(arm.links, outlines, arm.parents, strict=True)):
        links.append(
            {
                "name": link.name,
                "flexible": any(link.body.counts.values()),
                "panel": drawn.flat,
                "length": link.body.length,
                "round": drawn.round,
                "base": list(drawn.base),
                "tip": list(drawn.tip),
                "joint": _joint(arm, i, None if parent < 0 else outlines[parent].at(_station(arm, i)), drawn, reach)
                | {"coordinate": places.get(("joint", i)), "motor": places.get(("motor", i))},
                "parent": parent,
                "at": _station(arm, i),
                "payload": None if i == arm.tip_link else _payload(arm, i, outlines, reach),
                "wheel": _wheel(arm, i, reach),
                "box": _torso(arm, i, reach),
            }
        )
    return {
        "name": arm.name,
        "reach": reach,
        "gravity": list(arm.gravity),
        "up": _up(arm, plane),
        "plane": plane,
        "base": _base(arm, reach),
        "links": links,
        "hand": arm.tip_link,
        "payload": _payload(arm, arm.tip_link, outlines, reach),
        "tip": 1.15 * outlines[arm.tip_link].blunt,
    }


def _as_it_runs(model: Model) -> Arm:
    """Return the arm with the parameters of its model, or as described if the description has no field for one of
    them."""
    try:
        return model.arm_at()
    except DescriptionError:
        return model.arm


def payload_radius(mass: float, tip: float, reach: float) -> float:
    """Return the radius of the ball for a payload [m].

    It follows from the mass, within limits that keep it visible beside the link's tip and smaller than the arm.
    """
    return min(max((3 * mass / (4 * pi * DENSITY)) ** (1 / 3), 1.5 * tip), max(reach / 12, 1.5 * tip))


def _payload(arm: Arm, i: int, outlines: Sequence[Outline], reach: float) -> dict[str, float] | None:
    """Return the ball for the payload of link i."""
    if (payload := arm.payloads[i]) is None:
        return None
    return {"mass": payload.mass, "radius": payload_radius(payload.mass, outlines[i].blunt, reach)}


def _reach(arm: Arm) -> float:
    """Return the length of the longest path from the base to a tip, stretched.

    It is at least half the diagonal of a free base's box.
    """
    found = np.zeros(len(arm.links))
    parents, free = arm.parents, arm.free
    for i in arm.outward:
        link, parent = arm.links[i], parents[i]
        offset = float(np.linalg.norm(link.placement.xyz)) if parent >= 0 or free else 0.0
        if isinstance(link.at, Pose):
            start = (found[parent] - arm.links[parent].body.length) + float(np.linalg.norm(link.at.xyz))
        else:
            start = found[parent] - (1.0 - link.at) * arm.links[parent].body.length if parent >= 0 else 0.0
        found[i] = start + offset + link.body.length
    longest, bus = float(found.max()), 0.0
    if isinstance(arm.base, FreeBase):
        bus = float(np.linalg.norm(_edges(arm.base.mass, tensor(arm.base.inertia))[0])) / 2
    return max(longest, min(bus, LARGEST_BUS * longest) if longest > 0 else bus, 1e-9)


def _edges(mass: float, inertia: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return edges [m] and axes, as columns, of the uniform box with this mass and inertia (3, 3)."""
    _, axes = np.linalg.eigh(inertia)
    axes = axes[
        :, np.argsort(np.abs(axes).argmax(axis=0), kind="stable")
    ]  # each close to an axis of the frame if possible
    I = np.diag(axes.T @ inertia @ axes)
    return np.sqrt(np.maximum(6.0 * (I.sum() - 2.0 * I) / mass, 0.0)), axes * np.linalg.det(axes)


def _box(mass: float, com: Sequence[float], inertia: np.ndarray, reach: float) -> dict[str, Any]:
    """Return the edges, centre and axes of this box, limited to a visible size."""
    size, axes = _edges(mass, inertia)
    return {"size": np.clip(size, reach / 40, LARGEST_BUS * reach).tolist(), "xyz": list(com), "R": axes.tolist()}


def _torso(arm: Arm, i: int, reach: float) -> dict[str, Any] | None:
    """Return the box of a rigid link without length that carries several links, or None."""
    body = arm.links[i].body
    if not isinstance(body, Rigid) or body.length > 0 or arm.parents.count(i) < 2 or not body.inertia_tensor.any():
        return None
    return _box(body.mass, body.center, body.inertia_tensor, reach)


def _base(arm: Arm, reach: float) -> dict[str, Any]:
    """Return the base of the arm."""
    roots = [
        {
            "link": i,
            "origin": list(arm.links[i].placement.xyz),
            "axis": (arm.links[i].placement.rotation @ np.array(arm.links[i].joint.direction)).tolist(),
        }
        for i, parent in enumerate(arm.parents)
        if parent < 0
    ]
    base = arm.base
    box = _box(base.mass, base.com, tensor(base.inertia), reach) if isinstance(base, FreeBase) else None
    forces = [each for each in arm.thrusters if each.kind == "force"]
    nozzles = [{"at": list(each.at), "direction": list(each.direction)} for each in forces]
    open_ = box is not None and any(_inside(box, root["origin"]) for root in roots)
    return {
        "free": arm.free,
        "open": open_,
        "nozzles": nozzles,
        "roots": roots,
        "box": box,
        "origin": roots[0]["origin"],
        "axis": roots[0]["axis"],
    }


def _inside(box: dict[str, Any], point: Sequence[float]) -> bool:
    """Return True if a point is inside a box, not on its face."""
    away = np.array(box["R"]).T @ (np.array(point) - np.array(box["xyz"]))
    return bool((np.abs(away) < 0.49 * np.array(box["size"])).all())


def _station(arm: Arm, i: int) -> float:
    """Return the station on the parent at which a link is drawn.

    For a pose on a rigid link it is the closest station.
    """
    at, parent = arm.links[i].at, arm.parents[i]
    if not isinstance(at, Pose):
        return at
    body = arm.links[parent].body
    if body.length <= 0 or any(body.counts.values()):
        return 0.0
    return float(np.clip(at.xyz[0] / body.length, 0.0, 1.0))


def _wheel(arm: Arm, i: int, reach: float) -> dict[str, float] | None:
    """Return radius and half the height [m] of a rotor that carries nothing: a uniform disc of its mass and inertia."""
    link = arm.links[i]
    if not isinstance(link.body, Rigid) or link.body.length > 0 or not (link.joint.moving.moves and link.joint.turns):
        return None
    if i in arm.parents or arm.payloads[i] is not None or (i == arm.tip_link and not arm.free):
        return None
    n, I = np.array(link.joint.direction), link.body.inertia_tensor
    J = float(n @ I @ n)
    if not J > 0:
        return None
    radius = sqrt(2.0 * J / link.body.mass)
    across = max((float(np.trace(I)) - J) / 2.0 / link.body.mass - radius**2 / 4.0, 0.0)
    half = max(sqrt(3.0 * across), 0.12 * radius)
    radius = min(max(radius, reach / 60), reach / 3)
    return {"radius": radius, "half": min(half, radius)}


def _outlines(arm: Arm, reach: float) -> list[Outline]:
    """Return the outline of every link. Links without one of their own are drawn between their neighbours'."""
    least = THINNEST * reach
    own = [outline(link.body, reach) for link in arm.links]
    found = [None if x is None else x.scaled(least) for x in own]
    parents, outward = arm.parents, arm.outward
    before: list[float | None] = [None] * len(found)
    after: list[float | None] = [None] * len(found)
    for i in outward:
        if (parent := parents[i]) >= 0:
            section = found[parent]
            before[i] = before[parent] if section is None else max(section.at(_station(arm, i)).tip)
    for i in reversed(outward):
        section = found[i]
        if (parent := parents[i]) >= 0 and (size := after[i] if section is None else max(section.base)) is not None:
            after[parent] = size  # of several the first in the list
    made: list[Outline] = []
    for i, link in enumerate(arm.links):
        if (section := found[i]) is not None:
            made.append(section)
            continue
        most = max(0.7 * link.body.length, 2 * least) if link.body.length > 0 else reach
        known = [1.1 * x for x in (before[i], after[i]) if x is not None] or [reach / 28]
        sizes = [min(x, most) for x in (known[0], known[-1])]
        made.append(Outline(False, (sizes[0], sizes[0]), (sizes[1], sizes[1])))
    return made


def _joint(arm: Arm, i: int, before: Outline | None, drawn: Outline, reach: float) -> dict[str, Any]:
    """Return a joint that holds the links' ends, enlarged to the size of its hub if that is larger."""
    link = arm.links[i]
    ends = [drawn.base] + ([] if before is None else [before.tip])
    axis = np.array(link.joint.direction)
    along = 0.5 * max(float(np.abs(axis[1:]) @ end) for end in ends)
    mean = max(sqrt(y * z) for y, z in ends)
    rolls = abs(axis[0]) > 0.9
    radius = 0.62 * max(map(max, ends)) if rolls else 0.85 * mean
    hub = (link.hub_mass / (2 * pi * DENSITY)) ** (1 / 3)
    radius = min(max(radius, hub), 1.7 * radius)
    parent = arm.parents[i]
    near = [x for x in (link.body.length, arm.links[parent].body.length if parent >= 0 else 0.0) if x > 0]
    radius = max(min([radius, *(0.45 * x for x in near)]), THINNEST * reach)
    half = 0.45 * radius if rolls else min(max(1.2 * along, 0.75 * radius), 2.5 * radius)
    return {"kind": _kind(link), "axis": axis.tolist(), "radius": radius, "half": half, "elastic": link.elastic}


def _kind(link: Link) -> str:
    joint = link.joint.moving
    if not (joint.moves or joint.spherical):
        return "fixed"
    if joint.turns or joint.spherical:
        return "revolute"
    return "prismatic" if joint.carries else "telescope"


def _plane(arm: Arm) -> list[float] | None:
    """Return the normal of the plane in which joints move an arm, or None.

    All axes must be parallel to the normal, and all lengths perpendicular to it.
    """
    turning, lying = _directions(arm)
    if not turning or arm.free:
        return None
    normal = turning[0]
    if any(abs(abs(normal @ x) - 1) > 1e-9 for x in turning) or any(abs(normal @ x) > 1e-9 for x in lying):
        return None
    upward = normal * np.sign(normal[np.abs(normal).argmax()])
    return (upward + 0.0).tolist()


def _directions(arm: Arm) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return rotation axes and the directions of lengths and slides, in the base frame, with all angles zero."""
    turned: dict[int, np.ndarray] = {-1: np.eye(3)}
    turning: list[np.ndarray] = []
    lying: list[np.ndarray] = []
    parents = arm.parents

    def lies(R: np.ndarray, offset: Sequence[float]) -> None:
        if (size := float(np.linalg.norm(offset))) > 0:
            lying.append(R @ np.array(offset) / size)

    roots = [np.array(link.placement.xyz) for link, parent in zip(arm.links, parents, strict=True) if parent < 0]
    for root in roots[1:]:
        lies(np.eye(3), root - roots[0])
    for i in arm.outward:
        link, R = arm.links[i], turned[parents[i]]
        if isinstance(link.at, Pose):
            lies(R, link.at.xyz)
            R = R @ link.at.rotation
        if parents[i] >= 0:
            lies(R, link.placement.xyz)
        R = turned[i] = R @ link.placement.rotation
        direction = R @ np.array(link.joint.direction)
        if link.joint.spherical:
            turning += list(R.T)
        if link.joint.moving.moves:
            (turning if link.joint.turns else lying).append(direction)
        if link.body.length > 0:
            lying.append(R[:, 0])
    return turning, lying


def _up(arm: Arm, plane: Sequence[float] | None) -> list[float]:
    return list(plane) if plane is not None and not any(arm.gravity) else (upright(arm.gravity) + 0.0).tolist()
