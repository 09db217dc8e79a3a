"""Description of an arm: frozen, validated once, in SI units.

A TOML file has the same structure as these classes. Each error is a `DescriptionError` with a message of one line,
which names the link and the field and states what is allowed.
"""

import hashlib
import json
import pickle  # noqa: TID251  (written for a digest, never read)
import tomllib
import warnings
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, Literal, Self, final

import numpy as np
from pydantic import AfterValidator, BeforeValidator, model_validator

from flexarm import checks
from flexarm.cached import cached_property
from flexarm.checks import (
    Described,
    Fault,
    Vector,
    checked_instance,
    counted,
    kind,
    refused,
    shown,
    tensor,
    unknown_name,
    vector,
)
from flexarm.description.beams import DIRECTIONS, KNOWN_SHAPES, Beam, Rayleigh
from flexarm.description.bodies import MOST_MODES, Frame, Rigid
from flexarm.description.cables import Cable
from flexarm.description.closures import Bushing, Closure, Connection
from flexarm.description.compounds import expanded
from flexarm.description.couplings import Coupling
from flexarm.description.finite import FiniteElement
from flexarm.description.free import (
    AT_ORIGIN,
    POSE,
    POSE_UNITS,
    QUATERNION,
    SWIVEL,
    TWIST,
    TWIST_UNITS,
    FreeBase,
    Orbit,
    Thruster,
)
from flexarm.description.gears import followed
from flexarm.description.joints import Fixed, Prismatic, Revolute, Telescope
from flexarm.description.links import Link, Payload, Pose
from flexarm.description.lumps import Lump
from flexarm.description.outside import Base, Contact, Drag, Force
from flexarm.description.plausible import implausible
from flexarm.description.sections import Box, Material, Rod, Tube
from flexarm.description.stations import SectionTable
from flexarm.description.struts import Strut
from flexarm.description.toml_text import toml_text
from flexarm.description.tree import BASE, resolved
from flexarm.errors import DescriptionError, Implausible, errors_in
from flexarm.files import check_ending, checked_path, write_whole
from flexarm.shapes import FreeForm

__all__ = [
    "DIRECTIONS",
    "KNOWN_SHAPES",
    "MOST_MODES",
    "Arm",
    "Beam",
    "Box",
    "FiniteElement",
    "Fixed",
    "Frame",
    "Link",
    "Lump",
    "Material",
    "Payload",
    "Pose",
    "Prismatic",
    "Rayleigh",
    "Revolute",
    "Rigid",
    "Rod",
    "SectionTable",
    "Telescope",
    "Tube",
    "tensor",
]


MOST_LINKS, MOST_COORDINATES = 1000, 2000
"""Largest number of links and of coordinates of an arm. Tracing the equations takes minutes at this size, and hours
beyond."""


def _links(value: object) -> list:
    links = checks.checked_list(value, "a list of links")
    if not links:
        raise Fault("", "is empty; an arm needs at least one link")
    if len(links) > MOST_LINKS:
        raise Fault("", f"has {counted(len(links), 'link')}; an arm can have at most {MOST_LINKS}")
    return links


@final
@dataclass(frozen=True)
class Coordinate:
    """One coordinate of an arm.

    Attributes
    ----------
    name : str
        Name: "upper.joint", "upper.y1", "upper.motor". With segments: "upper.s2.y1".
    link : int
        Index of its link in the arm, or -1 for the base.
    role : "joint", "flexible", "motor", "ball" or "base"
        Kind of coordinate.
    unit : "rad" or "m"
        Unit of the coordinate. For the base and for ball joints it is the unit of the rate.
    """

    name: str
    link: int
    role: Literal["joint", "flexible", "motor", "ball", "base"]
    unit: str


@final
class Arm(Described):
    """One or several arms as a tree of links on a base that is fixed, moving or free.

    Parameters
    ----------
    name : str
        Name of the arm.
    links : list of Link
        At least one link, in any order, with unique names. If no link names a parent, the links form a chain from the
        base to the tip. A link with a joint of several coordinates, such as `Universal`, becomes several links.
    payload : Payload, optional
        Payload of the link `tip`.
    gravity : (3,)
        Acceleration of gravity in the base frame [m/s^2].
    forces : list of Force, optional
        External forces on links.
    contacts : list of Contact, optional
        Contacts with walls and floors.
    base : MovingBase or FreeBase, optional
        Moving or free base. Default: a fixed base.
    description : str
        Description of the arm in words.
    couplings : list of Coupling
        Joints that several actuators move together.
    struts : list of Strut
        Springs between points of links and of the base.
    closures : list of Closure
        Joints that close loops: they connect links to other links, or to the base.
    tip : str, optional
        Link whose tip is the tip of the arm. Default: the last link of the list.
    cables : list of Cable
        Cables that only pull, through points of links and of the base.
    bushings : list of Bushing
        Springs and dampers between frames of links and of the base.
    drags : list of Drag
        Viscous drag of links in still air or water.
    """

    name: Annotated[str, checks.title]
    links: Annotated[tuple[Link, ...], BeforeValidator(_links), AfterValidator(expanded)]
    payload: Payload | None = None
    gravity: Annotated[Vector, vector("m/s^2")] = (0.0, 0.0, 0.0)
    forces: Annotated[tuple[Force, ...], checks.list_of("forces")] = ()
    contacts: Annotated[tuple[Contact, ...], checks.list_of("contacts")] = ()
    base: Annotated[Base | None, kind(Base, optional=True)] = None
    description: Annotated[str, checks.text] = ""
    couplings: Annotated[tuple[Coupling, ...], checks.list_of("couplings")] = ()
    struts: Annotated[tuple[Strut, ...], checks.list_of("struts")] = ()
    closures: Annotated[tuple[Closure, ...], checks.list_of("closures")] = ()
    tip: Annotated[str | None, checks.optional_text] = None
    cables: Annotated[tuple[Cable, ...], checks.list_of("cables")] = ()
    bushings: Annotated[tuple[Bushing, ...], checks.list_of("bushings")] = ()
    drags: Annotated[tuple[Drag, ...], checks.list_of("drags")] = ()

    @model_validator(mode="after")
    def _names_differ(self) -> Self:
        first: dict[str, int] = {}
        for i, link in enumerate(self.links, start=1):
            if first.setdefault(link.name, i) != i:
                message = f"is the same for links {first[link.name]} and {i}; give each link a different name"
                raise Fault("name", message, where=f"link {link.name!r}")
        return self

    @model_validator(mode="after")
    def _is_a_tree(self) -> Self:
        names = [link.name for link in self.links]
        if self.free and BASE in names:
            raise Fault("name", "is reserved for the free base; give the link another name", where=f"link {BASE!r}")
        parents = resolved([(link.name, link.parent) for link in self.links])
        for link, parent in zip(self.links, parents, strict=True):
            where = f"link {link.name!r}"
            if parent < 0 and link.at != 1.0:
                raise Fault(
                    "at",
                    "is given, but the link is on the base, which has no length; use placement instead",
                    where=where,
                )
            carrier = self.links[parent]
            if parent >= 0 and isinstance(carrier.joint, Telescope) and link.at != 1.0:
                raise Fault(
                    "at",
                    f"is {shown(link.at)}; a link on the telescope {carrier.name!r} must be at its tip, at = 1",
                    where=where,
                )
        if self.tip is not None and self.tip not in names:
            raise Fault("tip", unknown_name("is", self.tip, names, "the links are"))
        if self.payload is not None and (held := self.links[self.tip_link]).payload is not None:
            raise Fault(
                "payload", "is given both for the link and for the arm; remove one of them", where=f"link {held.name!r}"
            )
        return self

    @model_validator(mode="after")
    def _gears_fit(self) -> Self:
        followed(self.links)
        return self

    @model_validator(mode="after")
    def _outside_fits(self) -> Self:
        known = {link.name: link for link in self.links}
        allowed = [*known, BASE] if self.free else [*known]
        taken = {*known, BASE, "payload", "gravity"}
        signals: set[str] = set()
        acting: tuple[Force | Contact, ...] = (*self.forces, *self.contacts)
        for each in acting:
            where = f"{'force' if isinstance(each, Force) else 'contact'} {each.name!r}"
            mine = {f"{each.name}.{name}" for name, _ in (each.exogenous if isinstance(each, Force) else ())}
            if (each.name in taken and not (mine and each.name == each.link)) or mine & signals:
                message = "is already in use, or reserved; give each link, force and contact a different name"
                raise Fault("name", message, where=where)
            taken.add(each.name)
            signals |= mine
            _check_end(known, allowed, each.link, each.at, ("link", "at"), where=where)
        drives = [link.name for link in self.links if link.joint.actuated]
        for force in self.forces:
            if force.kind == "distributed" and not (self._length_of(force.link) > 0.0):
                fault = f"is {force.link!r}, which has no fixed length; a distributed force needs a link with a length"
                raise Fault("link", fault, where=f"force {force.name!r}")
            if force.kind == "drive" and force.link not in drives:
                fault = f"is {force.link!r}, whose joint has no drive; links with a drive are {', '.join(drives)}"
                raise Fault("link", fault, where=f"force {force.name!r}")
        return self

    @model_validator(mode="after")
    def _drags_fit(self) -> Self:
        names = [link.name for link in self.links]
        for i, drag in enumerate(self.drags):
            if drag.link not in names:
                raise Fault(f"drags[{i}].link", unknown_name("is", drag.link, names, "the links are"))
            if not self._length_of(drag.link) > 0.0:
                fault = f"is {drag.link!r}, which has no fixed length; a drag needs a link with a length"
                raise Fault(f"drags[{i}].link", fault)
        return self

    def _length_of(self, name: str) -> float:
        """Return the length of a link [m], or 0 for the base and for a telescope, whose length changes."""
        return next((x.body.length for x in self.links if x.name == name and not isinstance(x.joint, Telescope)), 0.0)

    @model_validator(mode="after")
    def _is_not_too_large(self) -> Self:
        if (count := len(self.layout)) > MOST_COORDINATES:
            raise Fault("", f"has {counted(count, 'coordinate')}; it must have at most {MOST_COORDINATES}")
        return self

    @model_validator(mode="after")
    def _couplings_fit(self) -> Self:
        links, met = {link.name: link for link in self.links}, set()
        for i, coupling in enumerate(self.couplings):
            for j, name in enumerate(coupling.links):
                where = f"couplings[{i}].links[{j}]"
                if name not in links:
                    raise Fault(where, unknown_name("is", name, links, "the links are"))
                if name in met:
                    raise Fault(where, f"is {name!r}, which is already coupled; a joint can be in only one coupling")
                met.add(name)
                if fault := links[name].joint.uncoupled:
                    raise Fault(where, f"is {name!r}; {fault}")
        return self

    @model_validator(mode="after")
    def _struts_fit(self) -> Self:
        known = {link.name: link for link in self.links}
        names = [*known, *[BASE] * self.free]
        for i, strut in enumerate(self.struts):
            ends = [("link", strut.link, "at", strut.at), ("to", strut.to, "to_at", strut.to_at)]
            for field, name, station, at in ends if strut.to else ends[:1]:
                _check_end(known, names, name, at, (field, station), f"struts[{i}].")
            if strut.to and any(strut.point):
                raise Fault(f"struts[{i}].point", f"is {strut.point}, but `to` is given; give either point or to")
        return self

    @model_validator(mode="after")
    def _connections_fit(self) -> Self:
        known = {link.name: link for link in self.links}
        taken = {*known, BASE, "payload", "gravity", *(x.name for x in self.forces), *(x.name for x in self.contacts)}
        taken |= {x.name for x in self.cables}
        joined: list[tuple[str, Connection]] = [(f"closures[{i}]", each) for i, each in enumerate(self.closures)]
        joined += [(f"bushings[{i}]", each) for i, each in enumerate(self.bushings)]
        for where, each in joined:
            if each.name in taken:
                message = f"is {each.name!r}, which is already in use; give each closure and bushing a different name"
                raise Fault(f"{where}.name", message)
            taken.add(each.name)
            ends = [("link", each.link, [*known], "at", each.at)]
            ends += [("to", each.to, [*known, BASE], "place", each.end)]
            for field, owner, names, station, at in ends:
                _check_end(known, names, owner, at, (field, station), f"{where}.")
        return self

    @model_validator(mode="after")
    def _cables_fit(self) -> Self:
        known = {link.name: link for link in self.links}
        names = [*known, *[BASE] * self.free]
        taken = {*known, BASE, "payload", "gravity", *(x.name for x in self.forces), *(x.name for x in self.contacts)}
        for cable in self.cables:
            where = f"cable {cable.name!r}"
            if cable.name in taken:
                message = "is already in use, or reserved; give each link, force, contact and cable a different name"
                raise Fault("name", message, where=where)
            taken.add(cable.name)
            for i, (name, at) in enumerate((each.link, each.at) for each in cable.points):
                if name:
                    _check_end(known, names, name, at, ("link", "at"), f"points[{i}].", where)
        return self

    @model_validator(mode="after")
    def _is_plausible(self) -> Self:
        for line in implausible(self.links):
            warnings.warn(f"arm {self.name!r}: {line}", Implausible, stacklevel=4)  # past Pydantic
        return self

    @property
    def free(self) -> bool:
        """True if the base is free, so that it has its own coordinates."""
        return self.base is not None and self.base.free

    @cached_property
    def parents(self) -> tuple[int, ...]:
        """Index of the parent of each link, or -1 for a link on the base."""
        return resolved([(link.name, link.parent) for link in self.links])

    def __getitem__(self, name: str) -> Link:
        """Return the link with this name. Raise `DescriptionError` if there is none."""
        if isinstance(name, str) and (i := self.number(name)) >= 0:
            return self.links[i]
        names = [link.name for link in self.links]
        raise DescriptionError(unknown_name(f"arm {self.name!r} has no link", name, names, "its links are"))

    def number(self, name: str) -> int:
        """Return the index of the link with this name, or -1 for the base.

        Raises `DescriptionError` for a name that is not a text.
        """
        with refused("Arm.number"):
            checked_instance(name, str, "name")
        return next((i for i, link in enumerate(self.links) if link.name == name), -1)

    @cached_property
    def followers(self) -> dict[int, tuple[int, ...]]:
        """For each link whose joint follows others (`Gear`), the links that it follows."""
        return followed(self.links)

    @cached_property
    def outward(self) -> tuple[int, ...]:
        """Indices of the links in an order in which each parent comes before its children."""
        parents, found = self.parents, dict[int, None]()
        for i in range(len(parents)):
            way = [i]
            while (parent := parents[way[-1]]) >= 0 and parent not in found:
                way.append(parent)
            found |= dict.fromkeys(reversed(way))
        return tuple(found)

    @cached_property
    def tip_link(self) -> int:
        """Index of the link whose tip is the tip of the arm."""
        return len(self.links) - 1 if self.tip is None else [link.name for link in self.links].index(self.tip)

    @cached_property
    def payloads(self) -> tuple[Payload | None, ...]:
        """Payload at the tip of each link, or None."""
        mine = self.tip_link
        return tuple(self.payload or x.payload if i == mine else x.payload for i, x in enumerate(self.links))

    @property
    def transmission(self) -> np.ndarray:
        """Transmission matrix T, (m, m): with unloaded springs actuator i turns by sum_j T_ij q_j. Without couplings it
        is the identity."""
        places = {self.layout[place].link: i for i, place in enumerate(self.driven)}
        numbers = {link.name: places.get(i) for i, link in enumerate(self.links)}
        T = np.eye(len(self.driven))
        for coupling in self.couplings:
            mine = [numbers[name] for name in coupling.links]
            T[np.ix_(mine, mine)] = coupling.matrix  # type: ignore[arg-type]
        return T

    @cached_property
    def layout(self) -> tuple[Coordinate, ...]:
        """Descriptions of the rates, in order.

        The six rates of a free base come first, then three for each ball joint. The coordinates follow: joints,
        flexible coordinates link by link, and motors of elastic joints.
        """
        base = [Coordinate(name, -1, "base", unit) for name, unit in zip(TWIST, TWIST_UNITS, strict=True) if self.free]
        balls = [Coordinate(f"{self.links[i].name}.{w}", i, "ball", "rad/s") for i in self.balls for w in SWIVEL]
        moving = [(i, link) for i, link in enumerate(self.links) if link.joint.moves]
        joints = [Coordinate(f"{link.name}.joint", i, "joint", link.joint.unit) for i, link in moving]
        flexible = [
            Coordinate(f"{link.name}.{amplitude.name}", i, "flexible", amplitude.unit)
            for i, link in enumerate(self.links)
            for amplitude in link.body.amplitudes
        ]
        motors = [
            Coordinate(f"{link.name}.motor", i, "motor", link.joint.unit) for i, link in moving if link.joint.elastic
        ]
        return (*base, *balls, *joints, *flexible, *motors)

    @cached_property
    def balls(self) -> tuple[int, ...]:
        """Indices of the links whose joint has a quaternion."""
        return tuple(i for i, link in enumerate(self.links) if link.joint.spherical)

    @cached_property
    def twists(self) -> int:
        """Number of leading rates that are not rates of coordinates: of a free base and of ball joints."""
        return len(TWIST) * self.free + len(SWIVEL) * len(self.balls)

    @cached_property
    def poses(self) -> int:
        """Number of leading coordinates whose rates are not among the rates: of a free base and of ball joints.

        The coordinate of the rate i >= `twists` has the index i + poses - twists.
        """
        return len(POSE) * self.free + len(QUATERNION) * len(self.balls)

    @cached_property
    def quaternions(self) -> tuple[tuple[slice, slice], ...]:
        """Slices of each quaternion in q and of its angular velocity in the rates: a free base's, then ball joints'."""
        q, v = (3, 3) if self.free else (0, 0)
        count = self.free + len(self.balls)
        return tuple((slice(q + 4 * i, q + 4 * i + 4), slice(v + 3 * i, v + 3 * i + 3)) for i in range(count))

    @cached_property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the coordinates in the order of `layout`. Those of a free base and of ball joints come first."""
        quaternions = (f"{self.links[i].name}.{e}" for i in self.balls for e in QUATERNION)
        return (*POSE[: 7 * self.free], *quaternions, *(x.name for x in self.layout[self.twists :]))

    @cached_property
    def velocities(self) -> tuple[str, ...]:
        """Names of the rates in the order of `layout`: the names of the coordinates, and the twist of a free base."""
        return tuple(x.name for x in self.layout)

    @cached_property
    def joints(self) -> tuple[int, ...]:
        """Indices of the joints in `layout`, in the order of the links that move.

        The same indices hold in qd and in `local` coordinates. In q they are larger by one for a free base and for each
        ball joint.
        """
        return self._of_role("joint")

    @cached_property
    def driven(self) -> tuple[int, ...]:
        """Indices of the joints that have an actuator, all except passive ones, in the order of their inputs."""
        return tuple(i for i in self.joints if self.links[self.layout[i].link].joint.actuated)

    @cached_property
    def flexible(self) -> tuple[int, ...]:
        """Indices of the links' flexible coordinates in `layout`."""
        return self._of_role("flexible")

    @cached_property
    def motors(self) -> tuple[int, ...]:
        """Indices of the motors of elastic joints in `layout`."""
        return self._of_role("motor")

    @cached_property
    def springs(self) -> tuple[tuple[int, int], ...]:
        """Indices (joint, motor) of the two sides of each elastic joint's spring."""
        layout = self.layout
        joint = {layout[i].link: i for i in self.joints}
        return tuple((joint[layout[i].link], i) for i in self.motors)

    @cached_property
    def actuated(self) -> tuple[int, ...]:
        """Index of the coordinate on which each joint's input acts: the motor of an elastic joint, else the joint."""
        motor = dict(self.springs)
        return tuple(motor.get(i, i) for i in self.driven)

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """Names of the actuators in the order of the links, followed by the thrusters of a free base.

        The name ends in `.motor` at an elastic joint, else in `.joint`.
        """
        names = self.velocities
        return (*(names[i] for i in self.actuated), *(f"base.{x.name}" for x in self.thrusters))

    @property
    def thrusters(self) -> tuple[Thruster, ...]:
        """Thrusters of a free base."""
        return self.base.thrusters if isinstance(self.base, FreeBase) else ()

    @property
    def orbit(self) -> Orbit | None:
        """Orbit of a free base, or None."""
        return self.base.orbit if isinstance(self.base, FreeBase) else None

    @cached_property
    def units(self) -> tuple[str, ...]:
        """Unit of each coordinate: rad or m, or 1 for a quaternion."""
        ones = ["1"] * (len(QUATERNION) * len(self.balls))
        return (*POSE_UNITS[: 7 * self.free], *ones, *(x.unit for x in self.layout[self.twists :]))

    @cached_property
    def rate_units(self) -> tuple[str, ...]:
        """Unit of each rate: rad/s or m/s."""
        return tuple(x.unit if i < self.twists else f"{x.unit}/s" for i, x in enumerate(self.layout))

    @cached_property
    def states(self) -> tuple[str, ...]:
        """Names of the states other than coordinates and rates.

        The states of drives come first ("upper.friction.bristle"), followed by those of contacts, winches and an orbit.
        """
        return tuple(name for name, _ in self._states)

    @cached_property
    def state_units(self) -> tuple[str, ...]:
        """Unit of each state in `states`."""
        return tuple(unit for _, unit in self._states)

    @cached_property
    def input_units(self) -> tuple[str, ...]:
        """Unit of each input: N m or N, or V for a voltage-driven motor."""
        joints = (link.joint.input_unit for link in self.links if link.joint.actuated)
        return (*joints, *(thruster.unit for thruster in self.thrusters))

    @cached_property
    def plain(self) -> bool:
        """True if all supplied power is that of the inputs times the rates of their coordinates."""
        driven = self.forces or any(cable.exogenous for cable in self.cables) or {"base", "orbit"} & {*self.outside}
        return all(link.joint.plain for link in self.links) and not driven

    @cached_property
    def outside(self) -> tuple[str, ...]:
        """Kinds of external load that the arm has.

        They are fields, such as "forces", and "base" for a moving base or "orbit" for an orbit.
        """
        moved = ["base"] if self.base is not None and not self.free else ["orbit"] if self.orbit else []
        fields = ("forces", "contacts", "struts", "cables", "bushings", "drags")
        return (*(field for field in fields if getattr(self, field)), *moved)

    @cached_property
    def touches(self) -> bool:
        """True if a part can make and break contact: backlash, an end stop, a wall or a cable that becomes slack."""
        return bool(self.contacts or self.cables) or any(link.joint.touches for link in self.links)

    @cached_property
    def sharp(self) -> bool:
        """True if a solver stops where a part makes or breaks contact."""
        return any(link.joint.sharp for link in self.links)

    @cached_property
    def exogenous(self) -> tuple[str, ...]:
        """Names of the inputs other than the actuators': those of drives, forces, cables and a moving base.

        Each is zero by default.
        """
        return tuple(name for name, _ in self._exogenous)

    @cached_property
    def exogenous_units(self) -> tuple[str, ...]:
        """Unit of each exogenous input."""
        return tuple(unit for _, unit in self._exogenous)

    @cached_property
    def shares(self) -> frozenset[str]:
        """Names of the exogenous inputs whose range is 0 to 1."""
        return frozenset(f"{link.name}.{name}" for link in self.links for name in link.joint.shares)

    @property
    def _states(self) -> tuple[tuple[str, str], ...]:
        owners = [
            *((link.name, link.joint.states) for link in self.links),
            *((x.name, x.states) for x in self.contacts),
            *((x.name, x.states) for x in self.cables),
            *([(BASE, self.orbit.states)] if self.orbit else []),
        ]
        return tuple((f"{owner}.{name}", unit) for owner, states in owners for name, unit in states)

    @property
    def _exogenous(self) -> tuple[tuple[str, str], ...]:
        owners = [*((link.name, link.joint.exogenous) for link in self.links)]
        efforts = {link.name: "N m" if link.joint.turns else "N" for link in self.links}
        for force in self.forces:
            effort = (("drive", efforts[force.link]),) if force.kind == "drive" else ()
            owners.append((force.name, effort or force.exogenous))
        owners += [(cable.name, cable.exogenous) for cable in self.cables]
        owners += [("base", self.base.exogenous)] if self.base is not None else []
        return tuple((f"{owner}.{name}", unit) for owner, given in owners for name, unit in given)

    @cached_property
    def rest(self) -> tuple[float, ...]:
        """Coordinates at rest: zeros, except for the nominal free length of a telescope and of its motor.

        A free base is at the origin of the world, along its axes. Ball joints are not turned.
        """
        inner = self.layout[self.twists :]
        links = [self.links[x.link] for x in inner]
        turned = [x.role != "flexible" for x in inner]
        lengths = (link.joint.rest(link.body) if j else 0.0 for link, j in zip(links, turned, strict=True))
        return (*AT_ORIGIN[: 7 * self.free], *AT_ORIGIN[3:] * len(self.balls), *lengths)

    def _of_role(self, role: str) -> tuple[int, ...]:
        return tuple(i for i, coordinate in enumerate(self.layout) if coordinate.role == role)

    def rigid(self) -> "Arm":
        """Return the same arm with rigid links and rigid joints. Masses, hubs, rotors and joint damping remain."""
        return self.replace(links=[link.rigid() for link in self.links])

    def without_drives(self) -> "Arm":
        """Return the same arm without friction, brakes and the other parts of `drive`.

        Rotors, springs and viscous damping of joints remain. Closed forms, regressors and the web pages that run an arm
        support only these.
        """
        return self.replace(links=[link.replace(joint=link.joint.without_drive()) for link in self.links])

    def canonical(self) -> str:
        """Return the complete description as a line of JSON, which is the same for equal arms in every process.

        A family object in `shapes` is represented by a digest. Raises `DescriptionError` if such an object cannot be
        pickled.
        """
        return json.dumps(self, default=_written, sort_keys=True, allow_nan=False, separators=(",", ":"))

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the arm to a TOML file, which `fa.load` reads, and return the file's path.

        The file contains all fields, and the numbers of finite element parts. An existing file is replaced.

        Raises
        ------
        DescriptionError
            The name does not end in .toml, the file cannot be written, or the arm has shapes that a file cannot hold: a
            user's object or functions.
        """
        check_ending(path, ".toml", where=f"save: {shown(checked_path(path))}")
        with errors_in("save"):
            text = toml_text(self.canonical())
        try:
            same = Arm(**tomllib.loads(text)) == self
        except DescriptionError:  # functions, which are represented by a digest
            same = False
        if not same:
            raise DescriptionError(
                f"save: arm {self.name!r} has functions or other objects that a file cannot store; pickle it"
            )
        return write_whole(path, text.encode())

    @classmethod
    def from_json(cls, text: str) -> "Arm":
        """Return the arm that `canonical` wrote. Raises `DescriptionError`."""
        try:
            data = json.loads(text)
        except (ValueError, TypeError, RecursionError) as error:
            raise DescriptionError(f"Arm: the text is not valid JSON: {' '.join(str(error).split())}") from None
        if not isinstance(data, dict):
            raise DescriptionError(f"Arm: the JSON text is {shown(data)}; it must be an object")
        return cls(**data)


def _check_end(
    known: Mapping[str, Link],
    allowed: Collection[str],
    link: str,
    at: float | Pose,
    fields: tuple[str, str],
    before: str = "",
    where: str = "",
) -> None:
    """Raise `Fault` for what is on none of the allowed links, or at a station that its link does not have.

    `fields` name the link and the station in the message, after `before`. The allowed name that is none of the known
    links is the base.
    """
    field, station = fields
    if link not in allowed:
        raise Fault(f"{before}{field}", unknown_name("is", link, allowed, "the links are"), where=where)
    if link not in known:
        if isinstance(at, float) and at != 1.0:
            raise Fault(f"{before}{station}", f"is {at}; the base has no length, so leave out {station}", where=where)
    elif isinstance(known[link].joint, Telescope) and at != 1.0:
        raise Fault(f"{before}{station}", f"is {shown(at)}; on a telescope it must be 1 (the tip)", where=where)


def _written(thing: Any) -> dict:
    """Return the fields of a part as a table. A family object is represented by its class and a digest, which identify
    it."""
    if isinstance(thing, FreeForm | FiniteElement):
        return thing.written()
    if isinstance(thing, Described):
        return dict(thing)
    name = f"{type(thing).__module__}.{type(thing).__qualname__}"
    try:
        state = pickle.dumps(thing, protocol=4)
    except Exception:  # pickle raises many kinds of error, and the object's own code may raise any
        raise DescriptionError(f"shapes is a {name}, which cannot be pickled; define its class in a module") from None
    return {"family": name, "state": hashlib.sha256(state).hexdigest()}
