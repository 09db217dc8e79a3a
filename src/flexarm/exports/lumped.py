"""Lumped equivalents: each flexible link becomes a chain of rigid segments with springs in the hinges between them.

A beam is cut into n cells of equal length. In the middle of each cell is a hinge. Its spring has the compliance of the
cell, 1 / k = int dx / EI. Between the hinges are rigid segments with the mass and inertia of the beam there. A constant
moment therefore bends the chain's tip by the angle and the deflection of the beam. Masses and inertias add up to those
of the beam, and natural frequencies converge with 1 / n^2 (the finite segment method: Huston, Computers & Structures 13
(1981); Amirouche, Fundamentals of Multibody Dynamics, chapter 9). The chain is an arm of rigid links with the equations
of `Model`.
"""

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, final

import numpy as np

from flexarm.arrays import Array
from flexarm.cached import cached_property
from flexarm.checks import LONGEST, a_kind, checked_instance, checked_integer, counted, refused, tensor
from flexarm.description.arm import Arm, Link, Pose
from flexarm.description.beams import Beam
from flexarm.description.bodies import Body, Frame, Rigid
from flexarm.description.cables import Cable
from flexarm.description.closures import Closure
from flexarm.description.drives import Drive
from flexarm.description.gears import Gear
from flexarm.description.joints import Fixed, Prismatic, Revolute
from flexarm.description.robots.inertia import Lump, seen, together
from flexarm.description.springs import Parallel, Spring
from flexarm.errors import DescriptionError
from flexarm.model import Model
from flexarm.model.linear import symmetric_modes
from flexarm.shapes import quadrature

SEGMENTS, MOST_SEGMENTS = 8, 200
"""Default and largest number of cells of each beam. With the default the first frequency has an error of about 0.3
%."""
NEARLY_NOTHING = 1e-9
"""Mass of a segment between hinges at one place, as a share of the segment. It is subtracted there to keep the sum."""
AXES = {"y": (0.0, 0.0, 1.0), "z": (0.0, -1.0, 0.0), "torsion": (1.0, 0.0, 0.0)}
"""Axes of a hinge for a deflection along y or z, or a twist."""
TORQUE = "; the input is the torque (or force) on the joint's side of the gear"
FINE = 5
"""Number of polynomials per direction for which the first frequencies of a beam are exact to 1e-5."""
PARALLEL = 1e-9
"""Largest difference of a cosine from 1 for which axes count as parallel."""
BODIES = (Beam, Rigid, Frame)
JOINTS = (Revolute, Prismatic, Fixed)


@final
@dataclass(frozen=True)
class Moving:
    """A moving joint with the rigid body behind it.

    Attributes
    ----------
    name : str
        Name of its link.
    parent : int
        Index of the moving joint that carries it, or -1 for the base.
    R, p : (3, 3), (3,)
        Pose of its frame in that of its parent, at the coordinate 0.
    axis : (3,)
        Unit vector in its frame.
    turns : bool
        True if the coordinate is an angle.
    mass, com, inertia : float, (3,), (3, 3)
        Mass [kg], centre of mass [m], and inertia about it [kg m^2], in its frame.
    rotor : float
        Inertia (or mass) of its rotor on the joint side, G^2 I_r.
    share : float
        Share of the carrier's rotation in that of the rotor, after the gear: 1 / G for an absolute rotor, 0 for a
        relative one.
    damping, stiffness, rest : float
        Damping of its bearing and of its parallel spring, stiffness of the spring, and its unloaded coordinate.
    transmission, loss : float or None
        Stiffness and damping of the transmission to its motor. None for a rigid transmission.
    """

    name: str
    parent: int
    R: Array
    p: Array
    axis: Array
    turns: bool
    mass: float
    com: Array
    inertia: Array
    rotor: float
    share: float
    damping: float
    stiffness: float
    rest: float
    transmission: float | None
    loss: float


@final
@dataclass(frozen=True)
class Lumped:
    """An arm as a chain (or tree) of rigid segments.

    Attributes
    ----------
    source : Arm
        Original arm.
    segments : int
        Number of cells, and of hinge places, of each beam.
    arm : Arm
        Arm of rigid links. The first segment of a link has the link's name, drive and placement. The name of a hinge
        has the link, the place and the direction: "upper_1y".
    pieces : dict of str to list of str
        For each link of the source, the names of its segments from its origin to its tip.
    stacked : frozenset of str
        Segments with negligible mass, between two hinges at one place.
    left_out : tuple of str
        Properties of the source that the equivalent lacks or has in another form, a line each.
    """

    source: Arm
    segments: int
    arm: Arm
    pieces: dict[str, list[str]]
    stacked: frozenset[str]
    left_out: tuple[str, ...]

    @cached_property
    def model(self) -> Model:
        """Equations of motion of the equivalent."""
        return Model(self.arm)

    @cached_property
    def drives(self) -> tuple[int, ...]:
        """Indices of the source's actuators among the equivalent's inputs. All other inputs are those of hinges, and
        zero."""
        names = self.arm.inputs
        return tuple(names.index(name) for name in self.source.inputs)

    @cached_property
    def frequencies(self) -> Array:
        """Natural frequencies with locked drives at rest, (3, k) ascending [rad/s], k <= 6: exact beams, source,
        equivalent.

        The exact beams are those of the source with polynomials as mode shapes, at least five per direction. They
        separate the error of the source's own shapes from that of the hinges. Closed loops are open.
        """
        source = self.source.replace(closures=())
        models = (Model(_finer(source)), Model(source))
        found = [*(_oscillating(x.frequencies(np.array(x.arm.rest))) for x in models), _oscillating(self._held())]
        k = min(6, *(len(x) for x in found))
        return np.array([x[:k] for x in found])

    @property
    def frequency_error(self) -> float:
        """Relative error of the first natural frequency against the exact beams, or 0 if nothing oscillates."""
        exact, _, mine = self.frequencies
        return float(mine[0] / exact[0] - 1.0) if len(exact) else 0.0

    @property
    def statement(self) -> tuple[str, ...]:
        """Description and accuracy of the equivalent, a line each."""
        head = (
            f"lumped equivalent of {self.source.name!r}: "
            f"{counted(self.segments, 'hinge')} a flexible link and direction"
        )
        each = [
            f"{c:.6g} ({100 * (c / a - 1):+.2g} % of the beams' {a:.6g}; the arm's shapes {100 * (b / a - 1):+.2g} %)"
            for a, b, c in self.frequencies.T
        ]
        held = "drives held, loops open" if self.source.closures else "drives held"
        said = f"natural frequencies, {held} [rad/s]: {', '.join(each)}" if each else "nothing oscillates"
        return (head, said, *(f"not as in the arm: {line}" for line in self.left_out))

    @cached_property
    def joints(self) -> tuple[Moving, ...]:
        """Moving joints, each after the one that carries it, for programs with trees of rigid bodies."""
        arm, parents = self.arm, self.arm.parents
        frames: dict[int, tuple[int, Array, Array]] = {}  # of each link: its moving joint, and its frame there
        parts: list[list[Lump]] = []
        order: list[tuple[int, int, Array, Array]] = []
        for i in arm.outward:
            link, parent = arm.links[i], parents[i]
            carrier, R, p = frames.get(parent, (-1, np.eye(3), np.zeros(3)))
            if isinstance(link.at, Pose):
                R, p = R @ link.at.rotation, p + R @ np.array(link.at.xyz)
            elif parent >= 0:
                p = p + R @ np.array([link.at * arm.links[parent].body.length, 0.0, 0.0])
            R, p = R @ link.placement.rotation, p + R @ np.array(link.placement.xyz)
            if link.joint.moving.moves:
                order.append((i, carrier, R, p))
                parts.append([])
                frames[i] = (len(order) - 1, np.eye(3), np.zeros(3))
            else:
                frames[i] = (carrier, R, p)
            mine, R, p = frames[i]
            if mine >= 0:
                parts[mine] += [seen(lump, R, p) for lump in loads(arm, i)]
        return tuple(_moving(arm.links[i], n, R, p, parts[j]) for j, (i, n, R, p) in enumerate(order))

    def carried(self, j: int) -> dict[int, float]:
        """Return the joints that turn the rotor of a joint besides its own rate, with the shares of their rates, after
        the gear.

        Raises `DescriptionError` if the carrier of an absolute rotor turns about axes that are not parallel to the
        rotor's. The share then depends on the configuration, so that no constant matrix exists.
        """
        joint = self.joints[j]
        shares: dict[int, float] = {}
        if not joint.share:
            return shares
        axis, k = joint.R @ joint.axis, joint.parent  # in the frame of joint k, if that joint does not turn it
        turned = self.arm.free
        while k >= 0:
            carrier = self.joints[k]
            along = float(axis @ carrier.axis)
            if carrier.turns:
                turned |= abs(abs(along) - 1.0) > PARALLEL
                shares[k] = math.copysign(joint.share, along)
            axis, k = carrier.R @ axis, carrier.parent
        if turned:
            must = "a lumped equivalent needs a carrier that turns about the axis of this joint only"
            raise DescriptionError(f"is 'absolute'; {must}", f"link {joint.name!r}", "joint.rotor")
        return shares

    @cached_property
    def tip(self) -> tuple[int, Array]:
        """Index of the moving joint that carries the tip of the arm, and the tip in its frame, (3,)."""
        q = np.array(self.arm.rest)
        frames, i = self.model.frames(q), self.arm.tip_link
        while i >= 0 and not self.arm.links[i].joint.moving.moves:
            i = self.arm.parents[i]
        if i < 0:
            return -1, frames[-1][:3, 3]
        number = next((j for j, joint in enumerate(self.joints) if joint.name == self.arm.links[i].name), -1)
        there = frames[-1][:3, 3] - frames[i][:3, 3]
        return number, frames[i][:3, :3].T @ there

    def start(self, q: Any = None) -> Array:
        """Return the equivalent's coordinates (nq,) for those of the source's joints, motors and base, with straight
        hinges."""
        q = np.array(self.source.rest if q is None else q, dtype=float)
        given = dict(zip(self.source.coordinates, q, strict=True))
        rest = dict(zip(self.arm.coordinates, self.arm.rest, strict=True))
        return np.array([given.get(name, value) for name, value in rest.items()])

    def coordinate(self, name: str, q: Any) -> float:
        """Return the coordinate of the joint of a link for coordinates (nq,) of the equivalent, also that of a gear."""
        joint = self.arm[name].joint
        if not isinstance(joint, Gear):
            mine = ("joint", self.arm.number(name))
            place = next(i for i, x in enumerate(self.arm.layout) if (x.role, x.link) == mine)
            return float(q[len(self.arm.coordinates) - len(self.arm.layout) + place])
        led = zip(joint.leaders, joint.ratios, strict=True)
        return joint.offset + sum(ratio * self.coordinate(leader, q) for leader, ratio in led)

    def _held(self) -> Array:
        """Return natural frequencies with the source's drives locked and the hinges free."""
        arm, q = self.arm, np.array(self.arm.rest)
        model = Model(arm.replace(closures=())) if arm.closures else self.model
        mine = {self.arm.inputs[i] for i in self.drives}
        free = [i for i, name in enumerate(arm.velocities) if name not in mine]
        M = model.mass_matrix(q)[np.ix_(free, free)]
        restoring = "stiffness_force" if arm.free else "restoring_force"
        K = np.array(model.slope(restoring, 0)(q))[np.ix_(free, free)]
        omega2, _, _ = symmetric_modes(M, (K + K.T) / 2)
        omega2 = np.sort(omega2)
        return np.sign(omega2) * np.sqrt(np.abs(omega2))


def lumped(arm: Arm, segments: int = SEGMENTS) -> Lumped:
    """Return the equivalent of an arm, with rigid segments and hinges with springs.

    Parameters
    ----------
    arm : Arm
        Arm to convert.
    segments : int
        Number of cells of each flexible link. Each cell has a hinge in every direction in which the link has modes.

    Raises
    ------
    DescriptionError
        If the arm has a telescope, finite element bodies, couplings, or another part that cannot be lumped. The message
        states what is supported.
    """
    with refused("lumped"):
        checked_instance(arm, Arm, "arm")
        segments = checked_integer(segments, MOST_SEGMENTS, "segments", least=1)
    for link in arm.links:
        _check(link)
    if arm.couplings:
        raise DescriptionError("couplings are not supported by a lumped equivalent; use couplings=()")
    left = list(_left_out(arm))
    pieces: dict[str, list[Link]] = {}
    stacked: set[str] = set()
    slow = _slowest(arm) if any(_ratio(link.body) for link in arm.links) else 0.0
    for link in arm.links:
        body = link.body
        if isinstance(body, Beam) and any(body.counts.get(d) for d in AXES):
            pieces[link.name] = _cut(link, body, segments, slow, stacked)
        else:
            pieces[link.name] = [link.replace(body=body.rigid(), joint=_plain(link.joint), payload=None)]
    parents = arm.parents
    links: list[Link] = []
    for i, link in enumerate(arm.links):
        mine = pieces[link.name]
        if parents[i] >= 0:
            carrier = arm.links[parents[i]]
            parent, at = _station(pieces[carrier.name], carrier.body.length, link.at)
            mine[0] = mine[0].replace(parent=parent, at=at)
        else:
            mine[0] = mine[0].replace(parent="base")
        if link.payload is not None:
            mine[-1] = mine[-1].replace(payload=link.payload)
        links += mine
    tip = pieces[arm.links[arm.tip_link].name][-1].name
    more = f", {counted(segments, 'segment')}"
    made = Arm(
        name=f"{arm.name[: LONGEST - len(more)]}{more}", description=f"Lumped equivalent of {arm.name}.", links=links,
        payload=arm.payload, gravity=arm.gravity, base=arm.base, tip=tip,
        closures=[_closure(arm, closure, pieces) for closure in arm.closures],
        cables=[_cable(arm, cable, pieces) for cable in arm.cables if cable.input != "rate"],
    )  # fmt: skip
    names = {name: [piece.name for piece in chain] for name, chain in pieces.items()}
    return Lumped(arm, segments, made, names, frozenset(stacked), tuple(left))


# -- a link ------------------------------------------------------------------------------------------------------------


def _cut(link: Link, beam: Beam, n: int, slow: float, stacked: set[str]) -> list[Link]:
    """Return the segments of a flexible link, the first on its joint. Those with negligible mass are added to
    `stacked`."""
    bends = [d for d in AXES if beam.counts.get(d)]
    cuts = [0.0, *((i + 0.5) / n for i in range(n)), 1.0]
    bodies = [_segment(beam, a, b) for a, b in pairwise(cuts)]
    lasting = beam.tau + (beam.rayleigh.stiffness if beam.rayleigh else 0.0)
    if slow:
        lasting += 2 * _ratio(beam) / slow
    found = [link.replace(body=bodies[0], joint=_plain(link.joint), payload=None)]
    for i, body in enumerate(bodies[1:], start=1):
        tiny = NEARLY_NOTHING * body.mass
        for j, direction in enumerate(bends):
            name, last = f"{link.name}_{i}{direction}", j == len(bends) - 1
            k = 1.0 / _integral(beam, direction, (i - 1) / n, i / n)
            spring = Parallel(stiffness=k, damping=lasting * k)
            solid = body.replace(mass=body.mass - j * tiny) if last else Rigid(length=0.0, mass=tiny)
            joint = Revolute(axis=AXES[direction], drive=Drive(parallel=spring))
            found.append(Link(name=name, joint=joint, body=solid, parent=found[-1].name))
            if not last:
                stacked.add(name)
    return found


def _integral(beam: Beam, direction: str, a: float, b: float) -> float:
    """Return the compliance of a cell: int dx / EI, or int dx / GJ."""
    cell = beam.part(a, b)
    x, weights = quadrature(breaks=cell.breaks)
    along = cell.profile(x)
    return float(weights @ (1.0 / {"y": along.EI_y, "z": along.EI_z, "torsion": along.GJ}[direction])) * cell.length


def _segment(beam: Beam, a: float, b: float) -> Rigid:
    """Return the rigid body between two stations, with the lumps on it. A lump at the end belongs to it."""
    lumps = [lump.replace(at=(lump.at - a) / (b - a)) for lump in beam.lumps if a < lump.at <= b or lump.at == a == 0.0]
    return beam.replace(lumps=()).part(a, b).rod().replace(lumps=lumps)


def _station(pieces: list[Link], length: float, at: float | Pose) -> tuple[str, float | Pose]:
    """Return the segment, and the place on it, that corresponds to a place on the original link."""
    if isinstance(at, Pose):
        return pieces[0].name, at
    left = at * length
    solid = [piece for piece in pieces if piece.body.length] or pieces[:1]
    for piece in solid[:-1]:
        if left <= piece.body.length:
            return piece.name, left / piece.body.length
        left -= piece.body.length
    last = solid[-1]
    return last.name, min(1.0, left / last.body.length) if last.body.length else 1.0


def _closure(arm: Arm, closure: Closure, pieces: dict[str, list[Link]]) -> Closure:
    """Return a closure between segments."""
    link, at = _station(pieces[closure.link], arm[closure.link].body.length, closure.at)
    if closure.to not in pieces:
        return closure.replace(link=link, at=at)
    to, place = _station(pieces[closure.to], arm[closure.to].body.length, closure.end)
    return closure.replace(link=link, at=at, to=to, place=place)


def _cable(arm: Arm, cable: Cable, pieces: dict[str, list[Link]]) -> Cable:
    """Return a cable through segments."""
    points = []
    for point in cable.points:
        if point.link in pieces:
            link, at = _station(pieces[point.link], arm[point.link].body.length, point.at)
            point = point.replace(link=link, at=at)
        points.append(point)
    return cable.replace(points=points)


def _slope(spring: Spring) -> float:
    """Return the stiffness of an unloaded transmission."""
    slope = spring.stiffness
    if spring.table:
        places, values = np.array(spring.table).T
        i = int(np.clip(np.searchsorted(places, 0.0, side="right") - 1, 0, len(places) - 2))
        slope += float((values[i + 1] - values[i]) / (places[i + 1] - places[i]))
    return slope + (spring.hysteresis.stiffness if spring.hysteresis else 0.0)


def _plain(joint: Any) -> Any:
    """Return a joint with rotor, gear, bearing, linear spring and parallel spring, without the rest of its drive."""
    if isinstance(joint, Gear):
        return joint.replace(joint=_plain(joint.joint))
    if isinstance(joint, Fixed) or joint.drive is None:
        return joint
    kept = None if joint.drive.parallel is None else Drive(parallel=joint.drive.parallel)
    spring = joint.drive.spring
    if spring is None:
        return joint.replace(drive=kept)
    k, d = (joint.stiffness or 0.0) + _slope(spring), joint.spring_damping + spring.damping
    return joint.replace(drive=kept, stiffness=k, spring_damping=d)


# -- limits of the equivalent ------------------------------------------------------------------------------------------


def _check(link: Link) -> None:
    where = f"link {link.name!r}"
    if not isinstance(link.body, BODIES):
        raise DescriptionError(f"is {a_kind(link.body)}; a lumped equivalent has Beam, Rigid and Frame", where, "body")
    if isinstance(link.body, Beam) and link.body.curved:
        raise DescriptionError("is given; a lumped equivalent has straight links", where, "body.initial_angles")
    if not isinstance(link.joint.moving, JOINTS):
        kinds = f"Revolute, Prismatic, Fixed and Gear{'; use angles = true' if link.joint.spherical else ''}"
        raise DescriptionError(f"is {a_kind(link.joint)}; a lumped equivalent has {kinds}", where, "joint")
    joint: Any = link.joint.moving
    drive = None if isinstance(joint, Fixed) else joint.drive
    spring = None if drive is None else drive.spring
    if spring is not None and not _slope(spring) + (joint.stiffness or 0.0) > 0.0:
        must = "it must be positive: a lumped equivalent has linear springs"
        raise DescriptionError(f"is {_slope(spring)} at rest; {must}", where, "joint.drive.spring")


def _left_out(arm: Arm) -> list[str]:
    found = [
        f"{field} are left out"
        for field in ("forces", "contacts", "struts", "bushings", "drags")
        if getattr(arm, field)
    ]
    if winches := [cable.name for cable in arm.cables if cable.input == "rate"]:
        found.append(f"winches are left out: {', '.join(winches)}")
    if arm.base is not None and not arm.free:
        found.append("the base stands still")
    for link in arm.links:
        body: Body = link.body
        joint: Any = link.joint.moving
        drive = None if isinstance(joint, Fixed) else joint.drive
        spring = drive.spring if drive else None
        linear = spring is None or not (spring.cubic or spring.table or spring.hysteresis or spring.variable)
        kept = ("parallel", "spring") if linear else ("parallel",)
        parts = [name for name in (drive.parts if drive else ()) if name not in kept]
        if not linear:
            found.append(f"link {link.name!r}: the transmission's spring is linear, as it is where it is not wound")
            parts.remove("spring")
        if parts:
            found.append(f"link {link.name!r}: {', '.join(parts)} of the drive left out" + TORQUE * ("motor" in parts))
        if isinstance(body, Beam):
            found += [f"link {link.name!r}: {text}" for text in _lost(body)]
    return found


def _lost(beam: Beam) -> list[str]:
    found = []
    if beam.counts.get("axial"):
        found.append("it does not stretch")
    if any(beam.shears(d) for d in ("y", "z")):
        found.append("it does not shear")
    if beam.next_joint != "slope":
        found.append("the next joint follows the slope, not the chord")
    if beam.rayleigh is not None and beam.rayleigh.mass:
        found.append("damping in proportion to mass left out")
    if _ratio(beam):
        ratio = f"{_ratio(beam):.3g}"
        found.append(f"damping as of a material, with the ratio {ratio} at the arm's first frequency, more above it")
    return found


def _ratio(body: Body) -> float:
    """Return the ratio of critical damping of the first mode."""
    if not isinstance(body, Beam):
        return 0.0
    return (body.damping_ratios[0] if body.damping_ratios else 0.0) + body.loss_factor / 2


def _slowest(arm: Arm) -> float:
    found = _oscillating(Model(arm).frequencies(np.array(arm.rest)))
    return float(found[0]) if len(found) else 0.0


def _finer(arm: Arm) -> Arm:
    """Return the arm with polynomial shapes for all beams in one piece."""
    links = []
    for link in arm.links:
        body = link.body
        if isinstance(body, Beam) and body.segments is None and body.modes:
            modes = {d: max(FINE, count) if d in AXES and count else count for d, count in body.modes.items()}
            ratio = 0.0  # damping has no effect here
            body = body.replace(modes=modes, shapes="polynomial", damping=ratio, foreshortening=False)
        links.append(link.replace(body=body))
    return arm.replace(links=links)


def _oscillating(omega: Array) -> Array:
    """Return frequencies without those of rigid motions and of unstable directions."""
    return omega[omega > 1e-6 * np.abs(omega).max(initial=0.0)]


def _moving(link: Link, parent: int, R: Array, p: Array, parts: list[Lump]) -> Moving:
    joint: Any = link.joint.moving
    beside = joint.drive.parallel if joint.drive is not None else None
    mass, com, inertia = together(parts)
    return Moving(
        link.name, parent, R, p, np.array(joint.direction), joint.turns, mass, com, inertia,
        rotor=joint.rotor_inertia * joint.gear_ratio**2,
        share=1.0 / joint.gear_ratio if joint.rotor == "absolute" and joint.rotor_inertia else 0.0,
        damping=joint.damping + (beside.damping if beside else 0.0),
        stiffness=beside.stiffness if beside else 0.0,
        rest=beside.rest if beside else 0.0,
        transmission=joint.stiffness, loss=joint.spring_damping,
    )  # fmt: skip


def loads(arm: Arm, i: int) -> list[Lump]:
    """Return the inertias of a rigid link in its frame."""
    link, payload = arm.links[i], arm.payloads[i]
    body = link.body
    if not isinstance(body, Rigid | Frame):
        raise DescriptionError(f"is {a_kind(body)}; it must be Rigid or Frame", f"link {link.name!r}", "body")
    tip = np.array([body.length, 0.0, 0.0])
    found = []
    if isinstance(body, Rigid):
        found.append(Lump(body.mass, np.array(body.center), body.inertia_tensor))
        for lump in body.lumps:
            found.append(Lump(lump.mass, lump.at * tip + np.array(lump.offset), tensor(lump.inertia)))
    found.append(Lump(link.hub_mass, np.zeros(3), tensor(link.hub_inertia)))
    found += [Lump(payload.mass, tip, tensor(payload.inertia))] if payload is not None else []
    return found
