"""An arm as the dynamics sees it: a tree of bodies, and the elementary motions that lead from one to the next."""

from collections.abc import Callable, Iterable
from dataclasses import astuple, dataclass, field, replace
from typing import NamedTuple

import casadi as ca
import numpy as np

from flexarm.description.arm import Arm, Beam, FiniteElement, Link, Pose
from flexarm.description.free import FreeBase, Thruster
from flexarm.description.numbers import alignment
from flexarm.description.tree import BASE
from flexarm.mechanics.body import Body, Loads
from flexarm.mechanics.drive import Rows, bodies, elements, named_angle, named_turns
from flexarm.mechanics.elements import Element
from flexarm.mechanics.finite import centre_line
from flexarm.mechanics.modal import bases_of
from flexarm.mechanics.nominal import NUMBERS, Nominal
from flexarm.mechanics.parameters import Name, Names, value_of
from flexarm.mechanics.rigid import free_base, payload
from flexarm.mechanics.spatial import (
    Matrix,
    Motion,
    Scalar,
    Slide,
    Turn,
    Vector,
    added,
    cross,
    dot,
    is_zero,
    product,
    scaled,
    transposed,
)
from flexarm.shapes import Basis, TipLoad

TIP: tuple[tuple[type[Motion], int, int], ...]
TIP = ((Slide, 0, 1), (Slide, 1, 1), (Slide, 2, 1), (Turn, 2, 1), (Turn, 1, -1), (Turn, 0, 1))
"""Motion, axis and sign of a body's six tip functions, base frame to distal frame: p, then Rz Ry(-) Rx."""


@dataclass(frozen=True)
class Step:
    """One elementary motion: a constant part, tip functions of the body before, joint coordinates, and their signs."""

    motion: type[Motion]
    axis: int
    offset: Scalar = 0.0
    tips: tuple[tuple[int, int], ...] = ()
    joints: tuple[tuple[int, int], ...] = ()

    @property
    def is_nothing(self) -> bool:
        """Whether the step leaves the frame where it is."""
        return is_zero(self.offset) and not (self.tips or self.joints)


@dataclass(frozen=True)
class Segment:
    """The way from one body's base frame to the next one's: `steps`, of which the last is the joint, then `after`."""

    steps: tuple[Step, ...]
    after: tuple[Step, ...]


@dataclass(frozen=True)
class Frame:
    """A frame in another one: its origin p, and for each of the other's axes its components in the frame, the rows of
    R."""

    p: Vector
    R: Matrix


WORLD = Frame([0.0] * 3, [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])


@dataclass(frozen=True)
class Chain:
    """A tree of bodies, each behind the one that carries it; segment i leads to body i.

    The first is the base, if it is free; the last are payloads, of every link that carries one or nothing else, which
    have no coordinates, and of those the last is the arm's tip.

    Attributes
    ----------
    parents : for each body the number of the one that carries it, -1 for the base's frame
    places : for each body the stations at which it carries others; six tip functions belong to each
    own : for each body the positions of (its joint's coordinate or None, *eta) among all rates
    size : number of rates
    driven : the bodies that have an actuator, in the order of the inputs
    gravity : acceleration in the world
    links : for each link its bodies: one, or the segments of its beam
    damped : positions of coordinates and a damping matrix over them, of beams of segments
    nominal : what is a number, or follows from parameters alone
    seen : (number of a body, tip functions, their rates) -> what stands for them in all that lies beyond: they
        themselves, or symbols where closed forms are wanted
    coupled : by the number of a body what its actuator moves, over all coordinates, where that is not its own alone
    elements : what else acts on the arm, in the order of its states, inputs and exogenous inputs
    moved : whether the base moves as the last exogenous inputs say
    base : positions of a free base's rates, which are the first six; none of any other
    pose : of the base in the world; of a free one a state has its own, see `posed`
    stood : the seven coordinates of that pose
    thrusters : (force, moment) on a free base of a unit of each of the last inputs
    outside : (chain) -> its elements, of those that depend on where the base stands
    """

    bodies: tuple[Body, ...]
    segments: tuple[Segment, ...]
    parents: tuple[int, ...]
    places: tuple[tuple[float, ...], ...]
    own: tuple[tuple[int | None, ...], ...]
    size: int
    driven: tuple[int, ...]
    gravity: Vector
    links: tuple[tuple[int, ...], ...]
    damped: tuple[tuple[tuple[int, ...], Matrix], ...] = ()
    nominal: Nominal = NUMBERS
    seen: Callable[[int, Vector, Vector], tuple[Vector, Vector]] = lambda i, s, sd: (s, sd)
    elements: tuple[Element, ...] = ()
    moved: bool = False
    coupled: dict[int, Vector] = field(default_factory=dict)
    base: tuple[int, ...] = ()
    pose: Frame = WORLD
    stood: Vector = field(default_factory=list)
    thrusters: tuple[Vector, ...] = ()
    outside: "Callable[[Chain], tuple[Element, ...]] | None" = None

    @property
    def down(self) -> Vector:
        """Acceleration of gravity in the base's axes."""
        return product(transposed(self.pose.R), self.gravity) if self.base else self.gravity

    def up_to(self, i: int) -> "Chain":
        """The chain without the bodies behind number i."""
        few = {name: getattr(self, name)[: i + 1] for name in ("bodies", "segments", "parents", "places", "own")}
        return replace(self, **few)


def posed(chain: Chain, q: Vector) -> tuple[Chain, Vector]:
    """The chain whose base stands where the first seven of q say, and q over the rates, the base's six zero.

    Those are local coordinates about the pose: slopes in them are generalized forces along the base's axes. Of an arm
    whose base is not free both are what they were.
    """
    if not chain.base:
        return chain, q
    chain = replace(chain, pose=Frame(list(q[:3]), rotation(q[3:7])), stood=list(q[:7]))
    if chain.outside is not None:
        chain = replace(chain, elements=(*chain.elements, *chain.outside(chain)), outside=None)
    return chain, [*[0.0] * len(chain.base), *q[7:]]


def rotation(e: Vector, unit: bool = False) -> Matrix:
    """The matrix of a quaternion, whatever its length, or of one that is known to be a unit."""
    w, x, y, z = e
    f = 2.0 if unit else 2.0 / dot(e, e)
    a, b, c = f * x, f * y, f * z
    return [
        [1.0 - b * y - c * z, b * x - c * w, c * x + b * w],
        [b * x + c * w, 1.0 - a * x - c * z, c * y - a * w],
        [c * x - b * w, c * y + a * w, 1.0 - a * x - b * y],
    ]


def moved_pose(pose: Vector, twist: Vector) -> Vector:
    """Rates of a pose (p, e) at a twist (v, w) along its own axes: p' = R v, e' = 1/2 e (0, w)."""
    w, x, y, z = e = pose[3:]
    a, b, c = scaled(0.5, twist[3:])
    turned = [-(x * a + y * b + z * c), w * a + y * c - z * b, w * b + z * a - x * c, w * c + x * b - y * a]
    return [*product(rotation(e), twist[:3]), *turned]


def coordinate_rates(chain: Chain, qd: Vector) -> Vector:
    """Rates of the coordinates of a `posed` chain: those of a free base's pose first.

    Its quaternion gets (1 - e . e) e besides, which is zero where e is of length 1, and pulls it there.
    """
    if not chain.base:
        return qd
    e = chain.stood[3:]
    *place, a, b, c, d = moved_pose(chain.stood, qd[:6])
    return [*place, *added([a, b, c, d], scaled(1.0 - dot(e, e), e)), *qd[6:]]


def tangent(chain: Chain, q: Vector) -> Matrix:
    """dq / d(local coordinates), (nq, nv): what a small shift and turn of a free base along its axes does to q."""
    unit = [[float(r == c) for c in range(chain.size)] for r in range(chain.size)]
    if not chain.base:
        return unit
    columns = [moved_pose(q[:7], row[:6]) for row in unit[:6]]
    pose = [[*(column[r] for column in columns), *[0.0] * (chain.size - 6)] for r in range(7)]
    return pose + unit[6:]


def taken(values: Vector, own: tuple[int | None, ...]) -> Vector:
    """A body's share of a vector over all coordinates: that of its joint (0 where it has none), then that of eta."""
    return [0.0 if n is None else values[n] for n in own]


def put(values: Vector, own: tuple[int | None, ...], share: Vector) -> None:
    """The opposite of `taken`."""
    for n, x in zip(own, share, strict=True):
        if n is not None:
            values[n] = x


def positions(own: Iterable[int | None]) -> list[int]:
    """The positions among all coordinates, without those that are not there."""
    return [n for n in own if n is not None]


def chain(arm: Arm) -> Chain:
    """The chain of a described arm, built from the tips inward: a link's shapes may depend on what it carries."""
    _, made = _weighed(arm)
    ends = {i: payload(arm.payloads[i]) for i in _ends(arm)}
    base = free_base(arm.base) if isinstance(arm.base, FreeBase) else None
    return _assembled(arm, made, ends, [value_of] * len(made), list(arm.gravity), base)


def named_chain(arm: Arm, ledger: Names) -> Chain:
    """The same chain with what stands for its numbers; shapes are those of the numeric arm."""
    loads, _ = _weighed(arm)
    names = [ledger.of(str(i), link.name) for i, link in enumerate(arm.links, start=1)]
    base = free_base(arm.base, ledger.of("0", BASE)) if isinstance(arm.base, FreeBase) else None
    made = [bodies(link, load, name) for link, load, name in zip(arm.links, loads, names, strict=True)]
    ends = {}
    for i in _ends(arm):
        mine = arm.links[i].payload is not None
        if mine or i == arm.tip_link:
            ends[i] = payload(arm.payloads[i], names[i] if mine else ledger.of("", "payload"), "payload." * mine)
        else:
            ends[i] = payload(None)
    return _assembled(arm, made, ends, names, _named_gravity(arm, ledger.of("", "")), base)


def shapes_of(arm: Arm) -> dict[str, Basis]:
    """The mode shapes of an arm's links by link and direction, "upper.y", where there are any; a part's are "mode"."""

    def still(link: Link) -> Link:
        """It weighs the same at rest."""
        few = isinstance(link.body, Beam)
        return link.replace(body=link.body.replace(modes={}, damping=0.0)) if few else link

    found = {}
    for link, loads in zip(arm.links, _weighed(arm, still)[0], strict=True):
        if isinstance(link.body, Beam):
            counts, _, bases = bases_of(link.body, loads)
            for direction, count, basis in zip(link.body.counts, counts, bases, strict=True):
                if count:
                    found[f"{link.name}.{direction}"] = basis
        elif isinstance(link.body, FiniteElement) and link.body.modes:
            found[f"{link.name}.mode"] = centre_line(link.body, loads)
    return found


Made = tuple[list[Body], Matrix]
"""A link's bodies, and the damping over all their amplitudes."""


def _ends(arm: Arm) -> list[int]:
    """The links whose tips have a payload's body, without mass where nothing is carried; that of the arm's tip last."""
    carriers, tip = {*arm.parents}, arm.tip_link
    some = [i for i in arm.outward if i != tip and (i not in carriers or arm.payloads[i] is not None)]
    return [*some, tip]


def _weighed(arm: Arm, seen: Callable[[Link], Link] = lambda link: link) -> tuple[list[Loads], list[Made]]:
    """What each link carries beyond its tip, and its bodies; found from the tips inward."""
    count = len(arm.links)
    held = [[row[:6] for row in payload(each).inertia([])[:6]] for each in arm.payloads]
    hung = [[Hanging(1.0, I)] for I in held]
    loads: list[Loads] = [{}] * count
    made: list[Made] = [([], [])] * count
    moving = [False] * count
    for i in reversed(arm.outward):
        link = seen(arm.links[i])
        beyond = _sum([scale(_share(at), I) for at, I in hung[i]])
        loads[i] = _loads(beyond, moving[i] and isinstance(link.body, Beam))
        made[i] = bodies(link, loads[i])
        if (parent := arm.parents[i]) >= 0:
            hung[parent].append(Hanging(link.at, _carried(made[i][0], link, hung[i])))
            moving[parent] |= _share(link.at) > 0.0 and (link.joint.moves or moving[i])
    return loads, made


class Hanging(NamedTuple):
    """What hangs on a link: where, and its inertia (6, 6) in the frame there."""

    at: float | Pose
    I: Matrix


def _share(at: float | Pose) -> float:
    """How much what hangs there counts as if it hung at the tip: by the square of how far a cantilever with a force at
    its tip bends there. Shapes need no better guess; inertia itself is exact wherever it is."""
    return 0.0 if isinstance(at, Pose) else (0.5 * at * at * (3.0 - at)) ** 2


def _sum(some: list[Matrix]) -> Matrix:
    found, *others = some
    for I in others:
        found = [added(row, more) for row, more in zip(found, I, strict=True)]
    return found


def scale(f: float, I: Matrix) -> Matrix:
    """f I."""
    return [scaled(f, row) for row in I]


def _assembled(
    arm: Arm, made: list[Made], ends: dict[int, Body], names: list[Name], gravity: Vector, base: Body | None
) -> Chain:
    own, size = _numbered(arm, [some for some, _ in made]), len(arm.layout)
    chained: list[Body] = []
    segments: list[Segment] = []
    parents: list[int] = []
    places: list[list[float]] = []
    owned: list[tuple[int | None, ...]] = []
    links: list[tuple[int, ...]] = [()] * len(arm.links)
    ground = -1

    def put_on(parent: int, body: Body, segment: Segment, mine: tuple[int | None, ...]) -> int:
        chained.append(body)
        segments.append(segment)
        parents.append(parent)
        places.append([])
        owned.append(mine)
        return len(chained) - 1

    def leading(i: int, at: float | Pose) -> tuple[int, list[Step]]:
        """The body of a link that carries something there, and the steps from its base frame."""
        if i < 0:
            return ground, []
        if isinstance(at, Pose):
            return links[i][0], [Step(motion, axis, value) for motion, axis, value in _to_pose(at)]
        member, x = member_of(len(links[i]), at)
        return links[i][member], _outlet_steps(chained[links[i][member]], x, places[links[i][member]])

    if base is not None:
        ground = put_on(-1, base, Segment((Step(Slide, 0),), ()), (None,))
    for i in arm.outward:
        link, (some, _), mine = arm.links[i], made[i], own[i]
        parent, before = leading(arm.parents[i], link.at)
        at = put_on(parent, some[0], _segment(before, link, mine[0][0], names[i]), mine[0])
        links[i] = tuple(range(at, at + len(some)))
        for body, its in zip(some[1:], mine[1:], strict=True):
            steps = _outlet_steps(chained[at], 1.0, places[at])
            at = put_on(at, body, Segment((*merged(steps), Step(Slide, 0)), ()), its)
    for i, end in ends.items():
        parent, before = leading(i, 1.0)
        put_on(parent, end, Segment((*merged(before), Step(Slide, 0)), ()), (None,))

    first = [some[0] for some in links]
    driven = [i for i in first if not all(is_zero(x) for x in chained[i].drive)]
    damped = [(flexible, D) for flexible, (_, D) in zip(_flexible(arm), made, strict=True) if D]

    def over_all(row: Vector, mine: tuple[int | None, ...]) -> Vector:
        found: Vector = [0.0] * size
        put(found, mine, row)
        return found

    moved = {i: over_all(chained[i].moved, owned[i]) for i in driven}
    through = _transmitted(arm, driven, moved) if arm.couplings else moved
    coupled: dict[int, Vector] = {}
    acting: list[Element] = []
    for link, i, name in zip(arm.links, first, names, strict=True):
        if i in driven:
            turned = over_all(chained[i].drive, owned[i]) if link.joint.elastic else through[i]
            if arm.couplings and not link.joint.elastic:
                coupled[i] = turned
            acting += elements(link.joint, Rows(turned, through[i], moved[i]), driven.index(i), name)
    return Chain(
        tuple(chained),
        tuple(segments),
        tuple(parents),
        tuple(tuple(some) or (1.0,) for some in places),
        tuple(owned),
        size,
        tuple(driven),
        gravity,
        tuple(links),
        tuple(damped),
        elements=tuple(acting),
        coupled=coupled,
        base=tuple(range(6)) if base is not None else (),
        thrusters=tuple(map(_thrust, arm.thrusters)),
    )


def _thrust(thruster: Thruster) -> Vector:
    """Force and moment on the base of a unit of a thruster's input."""
    along = list(thruster.direction)
    if thruster.kind == "torque":
        return [0.0, 0.0, 0.0, *along]
    return [*along, *cross(list(thruster.at), along)]


def member_of(count: int, x: float) -> tuple[int, float]:
    """Which of so many segments, the first being 0, the station x of the whole lies on, and where on it.

    Segments are of equal length; a station between two belongs to the one beyond.
    """
    member = min(int(x * count * (1 + 1e-15)), count - 1)
    return member, min(max(x * count - member, 0.0), 1.0)


def _transmitted(arm: Arm, driven: list[int], moved: dict[int, Vector]) -> dict[int, Vector]:
    """What each actuator of coupled joints turns by, where no spring is wound, over all coordinates."""
    return {
        i: [sum((t * moved[j][n] for t, j in zip(row, driven, strict=True) if t), 0.0) for n in range(len(moved[i]))]
        for i, row in zip(driven, arm.transmission.tolist(), strict=True)
    }


def _named_gravity(arm: Arm, name: Name) -> Vector:
    """Gravity's components; one of them alone is g, with its sign."""
    lone = np.count_nonzero(arm.gravity) == 1
    return [
        0.0 if lone and g == 0.0 else (float(np.sign(g)) if lone else 1.0)
        * name("g" if lone else "g" + axis, f"gravity{'.' * (not lone)}{axis * (not lone)}", abs(g) if lone else g,
               "m/s^2", "gravity" + f" along {axis}" * (not lone))
        for g, axis in zip(arm.gravity, "xyz", strict=True)
    ]  # fmt: skip


def _numbered(arm: Arm, made: list[list[Body]]) -> list[list[tuple[int | None, ...]]]:
    """Positions of the coordinates of each link's bodies: joints first, then flexible ones, motors last."""
    layout = arm.layout
    own: list[list[tuple[int | None, ...]]] = []
    for i, (link, some) in enumerate(zip(arm.links, made, strict=True)):
        mine = [n for n, coordinate in enumerate(layout) if coordinate.link == i]  # joint, flexible ones, motor
        carried = link.joint.moves and link.joint.carries
        first: tuple[int | None, ...] = tuple(mine) if carried else (None, *mine)
        beyond = sum(body.size for body in some[1:])
        begin = len(some[0].flexible) + 1
        own.append([first[:begin] + first[begin + beyond :] if beyond else first])
        for body in some[1:]:
            own[-1].append((None, *first[begin : begin + body.size]))
            begin += body.size
    return own


def _flexible(arm: Arm) -> list[tuple[int, ...]]:
    """Positions of each link's flexible coordinates."""
    layout = arm.layout
    return [
        tuple(n for n, x in enumerate(layout) if (x.link, x.role) == (i, "flexible")) for i in range(len(arm.links))
    ]


def _loads(carried: Matrix, moves: bool) -> Loads:
    """What lies beyond a tip, the arm stretched out (Subudhi & Morris eqs. 47, 48), from its inertia in that frame.

    A load that `moves` on joints off the axis of a shaft has a larger moment of inertia about that axis than the arm
    that is stretched out. Such a load counts in torsion with half the trace of its inertia, the sum of m r^2. No moment
    about an axis through the tip is larger, and slender links reach it where the elbow is bent by a right angle.
    """
    mass = float(carried[0][0])
    along_y = TipLoad(mass=mass, inertia=float(carried[5][5]), first_moment=float(carried[1][5]))
    along_z = TipLoad(mass=mass, inertia=float(carried[4][4]), first_moment=-float(carried[2][4]))
    if np.allclose(astuple(along_z), astuple(along_y), rtol=1e-12, atol=0.0):
        along_z = along_y  # else rounding would give the planes shapes, numbers and names of their own
    about = [float(carried[k][k]) for k in (3, 4, 5)]
    twisting = TipLoad(inertia=sum(about) / 2 if moves else about[0])
    return {"y": along_y, "z": along_z, "torsion": twisting, "axial": TipLoad(mass=mass)}


def _carried(some: list[Body], link: Link, hung: list[Hanging]) -> Matrix:
    """Inertia of a link and all that hangs on it, at rest, in the frame its placement refers to."""
    beyond = _sum([I for at, I in hung if at == 1.0])
    for member, body in reversed(list(enumerate(some))):
        rest = list(body.rest)
        outer, own = _inward(_turned(body.tip(rest)), beyond), body.inertia(rest)
        beyond = [[float(own[r][c]) + outer[r][c] for c in range(6)] for r in range(6)]
        for at, I in hung:
            if isinstance(at, Pose):
                on, steps = 0, _to_pose(at)
            else:
                on, x = member_of(len(some), at)
                steps = _turned(body.section(x, rest))
            if on == member and at != 1.0:
                beyond = _sum([beyond, _inward(steps, I)])
    return _inward(_placement(link, value_of), beyond)


Motions = list[tuple[type[Motion], int, Scalar]]
"""Elementary motions, their axes, and by how much."""


def _turned(section: Vector) -> Motions:
    """The motions to a section's frame."""
    return [(motion, axis, sign * value) for (motion, axis, sign), value in zip(TIP, section, strict=True)]


def _inward(steps: Motions, I: Matrix) -> Matrix:
    for motion, axis, value in reversed(steps):
        I = [[float(x) for x in row] for row in motion(axis, float(value)).inertia(I)]
    return I


def _placement(link: Link, name: Name) -> Motions:
    where = [
        name(f"p{axis}", f"placement.xyz.{axis}", value, "m", f"place of the joint along {axis}")
        for axis, value in zip("xyz", link.placement.xyz, strict=True)
    ]
    roll, pitch, yaw = (
        named_angle(name, angle, f"placement.rpy.{angle}", value, f"{angle} of the joint")
        for angle, value in zip(("roll", "pitch", "yaw"), link.placement.rpy, strict=True)
    )
    return _motions(where, roll, pitch, yaw)


def _to_pose(pose: Pose) -> Motions:
    """The motions to a pose."""
    return _motions([*pose.xyz], *pose.rpy)


def _motions(where: Vector, roll: Scalar, pitch: Scalar, yaw: Scalar) -> Motions:
    slides: Motions = [(Slide, axis, value) for axis, value in enumerate(where)]
    return [*slides, (Turn, 2, yaw), (Turn, 1, pitch), (Turn, 0, roll)]


def _segment(tip: list[Step], link: Link, coordinate: int | None, name: Name) -> Segment:
    """Tip of the body before, placement, and the joint: its axis turned onto a coordinate axis and back."""
    before = [*tip, *(Step(motion, axis, value) for motion, axis, value in _placement(link, name))]
    if coordinate is None:
        return Segment((*merged(before), Step(Slide, 0)), ())
    k, sign, azimuth, tilt = alignment(np.array(link.joint.direction))
    alpha, beta = named_turns(azimuth, tilt, name)
    j = (k + 2) % 3
    moving = Step(Turn if link.joint.turns else Slide, k, joints=((coordinate, sign),))
    before += [Step(Turn, k, alpha), Step(Turn, j, beta), moving]
    after = [Step(Turn, j, -beta), Step(Turn, k, -alpha)]
    return Segment(tuple(merged(before)), tuple(merged(after)))


def _outlet_steps(body: Body, x: float, places: list[float]) -> list[Step]:
    """The six motions to a station; those that do not depend on the body's coordinates are constant.

    Where one does, the station is entered into the body's places.
    """
    here, moves = body.outlet(x, list(body.rest)), _dependence(body, x)
    if any(moves) and x not in places:
        places.append(x)
    first = 6 * places.index(x) if any(moves) else 0
    return [
        Step(motion, axis, 0.0 if moves[t] else sign * here[t], tips=((first + t, sign),) if moves[t] else ())
        for t, (motion, axis, sign) in enumerate(TIP)
    ]


def _dependence(body: Body, x: float) -> list[bool]:
    """Which of the functions of a station depend on the body's coordinates."""
    eta = ca.SX.sym("eta", body.size)
    return [bool(ca.depends_on(ca.SX(t), eta)) for t in body.outlet(x, [eta[i] for i in range(body.size)])]


def merged(steps: list[Step]) -> list[Step]:
    """The same motion with steps that are nothing left out and neighbours about one axis made one.

    A beam's slope followed by a joint about the same axis is then one turn: a rotation less in every pass.
    """
    found: list[Step] = []
    for step in steps:
        if step.is_nothing:
            continue
        if found and (found[-1].motion, found[-1].axis) == (step.motion, step.axis):
            last = found.pop()
            tips, joints = last.tips + step.tips, last.joints + step.joints
            step = Step(step.motion, step.axis, last.offset + step.offset, tips, joints)
        found.append(step)
    return found
