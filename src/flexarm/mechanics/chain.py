"""An arm for the dynamics: a tree of bodies, and the elementary transforms between them."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import astuple, dataclass, field, replace
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from flexarm.description.arm import Arm, Beam, FiniteElement, Link, Pose
from flexarm.description.closures import Closure
from flexarm.description.free import FreeBase, Thruster
from flexarm.description.gears import Gear
from flexarm.description.joints import Joint
from flexarm.description.numbers import alignment
from flexarm.description.tree import BASE
from flexarm.mechanics.body import Body, Loads
from flexarm.mechanics.drive import Rows, bodies, elements, named_angle, named_turns
from flexarm.mechanics.elements import Element
from flexarm.mechanics.finite import centre_line
from flexarm.mechanics.gears import Follower, Followers, acting, damped, led
from flexarm.mechanics.modal import bases_of
from flexarm.mechanics.nominal import NUMBERS, Nominal
from flexarm.mechanics.parameters import Name, Names, value_of
from flexarm.mechanics.rigid import free_base, payload
from flexarm.mechanics.spatial import (
    TIP,
    Attitude,
    Matrix,
    Motion,
    Scalar,
    Slide,
    Spin,
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
from flexarm.shapes import DIRECTIONS, NO_LOAD, Basis, TipLoad, may_follow_load


@dataclass(frozen=True)
class Step:
    """An elementary transform: a constant, tip functions of the previous body, joint coordinates, their signs."""

    motion: type[Motion]
    axis: int
    offset: Scalar = 0.0
    tips: tuple[tuple[int, int], ...] = ()
    joints: tuple[tuple[int, int], ...] = ()

    @property
    def is_nothing(self) -> bool:
        """True if the step is the identity."""
        return is_zero(self.offset) and not (self.tips or self.joints)

    def moved(self, s: Vector, q: Vector) -> Scalar:
        """Return the contribution of tip functions and joint coordinates, or of their rates."""
        return sum(sign * s[t] for t, sign in self.tips) + sum(sign * q[j] for j, sign in self.joints)

    def at(self, s: Vector, sd: Vector, q: Vector, qd: Vector) -> Motion:
        """Return the transform at tip functions, coordinates, and the rates of both."""
        return self.motion(self.axis, self.offset + self.moved(s, q), self.moved(sd, qd))


@dataclass(frozen=True)
class Turned(Step):
    """The rotation of a ball joint: by the matrix `offset`, and then, to first order, by three local coordinates."""

    local: tuple[int, ...] = ()

    def at(self, s: Vector, sd: Vector, q: Vector, qd: Vector) -> Motion:
        """Return the rotation. Its rates belong to the steps that follow."""
        return Attitude(self.axis, turned(self.offset, [q[n] for n in self.local]))


def turned(R: Matrix, turn: Vector) -> Matrix:
    """Return a rotation matrix after a small rotation along its own axes, to first order."""
    return [added(row, cross(row, turn)) for row in R]


@dataclass(frozen=True)
class Segment:
    """The path from one body's base frame to the next: `steps`, which end with the joint, then `after`."""

    steps: tuple[Step, ...]
    after: tuple[Step, ...]


class Tree(NamedTuple):
    """Parts of a chain with a coordinate for each follower, see `gears`."""

    bodies: tuple[Body, ...]
    segments: tuple[Segment, ...]
    own: tuple[tuple[int | None, ...], ...]
    damped: tuple[tuple[tuple[int, ...], Matrix], ...]
    followers: Followers


@dataclass(frozen=True)
class Frame:
    """A frame in another frame: its origin p, and the rows of R, the other frame's axes in components of this frame."""

    p: Vector
    R: Matrix


WORLD = Frame([0.0] * 3, [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])


@dataclass(frozen=True)
class Chain:
    """A tree of bodies, each after its parent. Segment i leads to body i.

    A free base comes first. Payloads come last: every link that carries a payload or nothing else has one, without
    coordinates. The last payload is the arm's tip.

    Attributes
    ----------
    parents : for each body the index of its parent, -1 for the base's frame
    places : for each body the stations at which it carries others; each has six tip functions
    own : for each body the indices of (its joint's coordinate or None, *eta) among all rates
    size : number of rates
    driven : the bodies that have an actuator, in the order of the inputs
    gravity : acceleration in the world
    links : for each link its bodies: one, or the segments of its beam
    damped : indices of coordinates and a damping matrix over them, of beams of segments
    nominal : evaluates entries that are numbers or depend on parameters alone
    seen : (index of a body, tip functions, their rates) -> their representation in all later bodies: they themselves,
        or symbols for closed forms
    coupled : by the index of a body the direction of its actuator over all coordinates, if it includes other bodies'
    ones
    elements : further elements that act on the arm, in the order of its states, inputs and exogenous inputs
    moved : True if the last exogenous inputs move the base
    base : indices of a free base's rates, which are the first six; empty for a fixed base
    balls : the indices of the three rates of each ball joint
    pose : pose of the base in the world; that of a free base is set per state, see `posed`
    stood : the seven coordinates of that pose, and the quaternions of ball joints
    thrusters : (force, moment) on a free base per unit of each of the last inputs
    outside : (chain) -> its elements that depend on the pose of the base
    closures : the joints that close loops; see `mechanics.closures`
    number : index of a link by its name, -1 for the base
    tree : the same parts with a coordinate for each follower; None without followers, see `mechanics.gears`
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
    balls: tuple[tuple[int, ...], ...] = ()
    pose: Frame = WORLD
    stood: Vector = field(default_factory=list)
    thrusters: tuple[Vector, ...] = ()
    outside: "Callable[[Chain], tuple[Element, ...]] | None" = None
    closures: tuple[Closure, ...] = ()
    number: Callable[[str], int] = lambda name: -1
    tree: Tree | None = None
    known: dict[Hashable, Any] | None = field(default=None, init=False, repr=False, compare=False)
    """Results of functions that are `remembered`; None unless the chain is `remembering`."""

    @property
    def down(self) -> Vector:
        """Acceleration of gravity in the base's axes."""
        return product(transposed(self.pose.R), self.gravity) if self.base else self.gravity

    def up_to(self, i: int) -> "Chain":
        """Return the chain without the bodies after index i."""
        few = {name: getattr(self, name)[: i + 1] for name in ("bodies", "segments", "parents", "places", "own")}
        return replace(self, **few)


def posed(chain: Chain, q: Vector) -> tuple[Chain, Vector]:
    """Return the chain with its base and its ball joints at the first coordinates in q, and q over the rates.

    The entries of the base and of ball joints are zero.

    These zeros are local coordinates about the pose: slopes in them are generalized forces along the axes of the base,
    or moments along those of a link after a ball joint. Without both, chain and q are returned unchanged.
    """
    if not (chain.base or chain.balls):
        return chain, q
    first = 7 if chain.base else 0
    if chain.base:
        chain = replace(chain, pose=Frame(list(q[:3]), rotation(q[3:7])))
    for local in chain.balls:
        chain, first = _swivelled(chain, local, rotation(q[first : first + 4])), first + 4
    chain = replace(chain, stood=list(q[:first]))
    if chain.outside is not None:
        chain = replace(chain, elements=(*chain.elements, *chain.outside(chain)), outside=None)
    return chain, [*[0.0] * turning(chain), *q[first:]]


def turning(chain: Chain) -> int:
    """Return the number of rates of a free base and of ball joints, which come first."""
    return len(chain.base) + 3 * len(chain.balls)


def _swivelled(chain: Chain, local: tuple[int, ...], R: Matrix) -> Chain:
    """Return the chain with the rotation of a ball joint before its first axis."""

    def of(segment: Segment) -> Segment:
        *before, spin = segment.steps
        if spin.joints != ((local[0], 1),):
            return segment
        return replace(segment, steps=(*before, Turned(Attitude, 0, R, local=local), spin))

    tree = chain.tree and chain.tree._replace(segments=tuple(map(of, chain.tree.segments)))
    return replace(chain, segments=tuple(map(of, chain.segments)), tree=tree)


def rotation(e: Vector, unit: bool = False) -> Matrix:
    """Return the matrix of a quaternion of any length, or of a known unit quaternion."""
    w, x, y, z = e
    f = 2.0 if unit else 2.0 / dot(e, e)
    a, b, c = f * x, f * y, f * z
    return [
        [1.0 - b * y - c * z, b * x - c * w, c * x + b * w],
        [b * x + c * w, 1.0 - a * x - c * z, c * y - a * w],
        [c * x - b * w, c * y + a * w, 1.0 - a * x - b * y],
    ]


def moved_pose(pose: Vector, twist: Vector) -> Vector:
    """Return the rates of a pose (p, e) at a twist (v, w) along its own axes: p' = R v, e' = 1/2 e (0, w)."""
    return [*product(rotation(pose[3:]), twist[:3]), *spun(pose[3:], twist[3:])]


def spun(e: Vector, w: Vector) -> Vector:
    """Return the rate of a quaternion at an angular velocity along the turned axes, 1/2 e (0, w)."""
    w_, x, y, z = e
    a, b, c = scaled(0.5, w)
    return [-(x * a + y * b + z * c), w_ * a + y * c - z * b, w_ * b + z * a - x * c, w_ * c + x * b - y * a]


def pose_rates(chain: Chain, qd: Vector) -> Vector:
    """Return the rates of the coordinates of a `posed` chain's base and ball joints."""
    found = moved_pose(chain.stood[:7], qd[:6]) if chain.base else []
    for local in chain.balls:
        found += spun(chain.stood[len(found) : len(found) + 4], [qd[n] for n in local])
    return found


def coordinate_rates(chain: Chain, qd: Vector) -> Vector:
    """Return the rates of the coordinates of a `posed` chain, those of a free base and of ball joints first.

    A quaternion's rate includes (1 - e . e) e, which is zero for length 1 and returns the length to 1.
    """
    found = pose_rates(chain, qd)
    for k in range(3 if chain.base else 0, len(found), 4):
        e = chain.stood[k : k + 4]
        found[k : k + 4] = added(found[k : k + 4], scaled(1.0 - dot(e, e), e))
    return [*found, *qd[turning(chain) :]]


def bracket(chain: Chain, x: Vector, y: Vector) -> Vector:
    """Return the Lie bracket [x, y] of two rates: of a base's twists (v, w) and of ball joints, along turned axes."""
    found = [0.0] * chain.size
    if chain.base:
        (v, w), (b, c) = (x[:3], x[3:6]), (y[:3], y[3:6])
        found[:6] = [*added(cross(w, b), scaled(-1.0, cross(c, v))), *cross(w, c)]
    for local in chain.balls:
        turned_ = cross([x[n] for n in local], [y[n] for n in local])
        for n, value in zip(local, turned_, strict=True):
            found[n] = value
    return found


def tangent(chain: Chain, q: Vector) -> Matrix:
    """Return dq / d(local coordinates), (nq, nv): the effect of small shifts and turns of base and ball joints on q."""
    unit = [[float(r == c) for c in range(chain.size)] for r in range(chain.size)]
    first = turning(chain)
    if not first:
        return unit
    chain = replace(chain, stood=q[: len(q) - chain.size + first])
    columns = [pose_rates(chain, row) for row in unit[:first]]
    pose = [[*(column[r] for column in columns), *[0.0] * (chain.size - first)] for r in range(len(chain.stood))]
    return pose + unit[first:]


def without_followers(chain: Chain, followers: Followers) -> Chain:
    """Return the chain without the coordinates of its followers, which are its last ones."""
    if not followers.some:
        return chain

    def body_of(body: Body, own: tuple[int | None, ...]) -> tuple[Body, tuple[int | None, ...]]:
        follower = followers.of(own[0])
        if follower is None:
            return body, own
        if len(follower.leaders) > 1:
            return body, (None, *own[1:])
        return body.once("led", lambda: led(body, follower)), (follower.leaders[0][0], *own[1:])

    def moved(step: Step) -> Step:
        found, offset = [], step.offset
        for j, sign in step.joints:
            if follower := followers.of(j):
                offset = offset + sign * follower.offset
                found += [(leader, sign * ratio) for leader, ratio in follower.leaders]
            else:
                found.append((j, sign))
        return replace(step, offset=offset, joints=tuple(found))

    several = [(x, followers.of(own[0]), own) for x, own in zip(chain.bodies, chain.own, strict=True)]
    lost = [damped(x, own, each) for x, each, own in several if each is not None and len(each.leaders) > 1]
    bodies, own = zip(*map(body_of, chain.bodies, chain.own), strict=True)
    return replace(
        chain,
        bodies=bodies,
        segments=tuple(replace(each, steps=tuple(map(moved, each.steps))) for each in chain.segments),
        own=own,
        size=followers.first,
        tree=Tree(chain.bodies, chain.segments, chain.own, chain.damped, followers),
        coupled={i: followers.row(row) for i, row in chain.coupled.items()},
        damped=(*chain.damped, *lost),
        elements=tuple(acting(element, followers) for element in chain.elements),
    )


def with_followers(chain: Chain, tree: Tree) -> Chain:
    """Return the tree of a chain as a chain with a coordinate for each follower, without elements."""
    own, size, none = tree.own, tree.followers.size, dict[int, Vector]()
    parts: dict[str, Any] = {"bodies": tree.bodies, "segments": tree.segments, "own": own, "damped": tree.damped}
    return replace(chain, size=size, tree=None, coupled=none, elements=(), **parts)


def taken(values: Vector, own: tuple[int | None, ...]) -> Vector:
    """Return a body's entries of a vector over all coordinates: its joint's (0 without one), then those of eta."""
    return [0.0 if n is None else values[n] for n in own]


def put(values: Vector, own: tuple[int | None, ...], share: Vector) -> None:
    """Add a body's entries to a vector over all coordinates, the inverse of `taken`."""
    for n, x in zip(own, share, strict=True):
        if n is not None:
            values[n] = values[n] + x


def positions(own: Iterable[int | None]) -> list[int]:
    """Return the indices among all coordinates without None."""
    return [n for n in own if n is not None]


def chain(arm: Arm) -> Chain:
    """Return the chain of a described arm.

    It is built from the tips inward, as a link's shapes may depend on its load.
    """
    _, made = _weighed(arm)
    ends = {i: payload(arm.payloads[i]) for i in _ends(arm)}
    base = free_base(arm.base) if isinstance(arm.base, FreeBase) else None
    return _assembled(arm, made, ends, [value_of] * len(made), list(arm.gravity), base)


def named_chain(arm: Arm, ledger: Names) -> Chain:
    """Return the chain with named numbers. The shapes are those of the numeric arm."""
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


def shapes_of(arm: Arm, known: "Known | None" = None) -> dict[str, Basis]:
    """Return the mode shapes of an arm's links by link and direction, as "upper.y"; a part's are "mode".

    `known` stores the results of links. Pass the same dict for several arms that share most of their links.
    """

    def still(link: Link) -> Link:
        """Return the link without modes and damping, which has the same inertia at rest."""
        few = isinstance(link.body, Beam)
        return link.replace(body=link.body.replace(modes={}, damping=0.0)) if few else link

    weighed = any(map(_may_follow_load, arm.links))  # otherwise all the bodies would be made for nothing
    loads_of = _weighed(arm, still, known)[0] if weighed else [dict.fromkeys(DIRECTIONS, NO_LOAD)] * len(arm.links)
    found = {}
    for link, loads in zip(arm.links, loads_of, strict=True):
        if isinstance(link.body, Beam):
            counts, _, bases = bases_of(link.body, loads)
            for direction, count, basis in zip(link.body.counts, counts, bases, strict=True):
                if count:
                    found[f"{link.name}.{direction}"] = basis
        elif isinstance(link.body, FiniteElement) and link.body.modes:
            found[f"{link.name}.mode"] = centre_line(link.body, loads)
    return found


def _may_follow_load(link: Link) -> bool:
    """Return False if the shapes of a link do not depend on its load."""
    body = link.body
    if isinstance(body, Beam):
        return any(body.counts[d] and may_follow_load(shapes, d) for d, shapes in body.families.items())
    return isinstance(body, FiniteElement) and bool(body.modes)


Made = tuple[list[Body], Matrix]
"""A link's bodies, and the damping matrix over all their amplitudes."""


class Weighed(NamedTuple):
    """A link, the load on its tip, its bodies, and the inertia of all that hangs on it in the frame before it.

    The link is stored so that no other object has its identity, which is part of the key in `Known`.
    """

    link: Link
    loads: Loads
    made: Made
    carried: Matrix


Known = dict[tuple[Any, ...], Weighed]
"""Results of links, by the identity of the link and by the bodies that hang on it."""


def _ends(arm: Arm) -> list[int]:
    """Return the links whose tips have a payload's body, possibly without mass. The link of the arm's tip is last."""
    carriers, tip = {*arm.parents}, arm.tip_link
    some = [i for i in arm.outward if i != tip and (i not in carriers or arm.payloads[i] is not None)]
    return [*some, tip]


def _weighed(
    arm: Arm, seen: Callable[[Link], Link] = lambda link: link, known: Known | None = None
) -> tuple[list[Loads], list[Made]]:
    """Return the load beyond each link's tip, and the link's bodies, computed from the tips inward."""
    known = {} if known is None else known
    held = [[row[:6] for row in payload(each).inertia([])[:6]] for each in arm.payloads]
    hung = [[Hanging(1.0, I)] for I in held]
    moving = [False] * len(arm.links)
    found: dict[int, Weighed] = {}
    for i in reversed(arm.outward):
        link = arm.links[i]
        key = (id(link), moving[i], *((repr(at), *(x for row in I for x in row)) for at, I in hung[i]))
        if key not in known:
            known[key] = _weighed_link(link, seen(link), hung[i], moving[i])
        found[i] = known[key]
        if (parent := arm.parents[i]) >= 0:
            hung[parent].append(Hanging(link.at, found[i].carried))
            turns = link.joint.moving.moves or link.joint.spherical
            moving[parent] |= _share(link.at) > 0.0 and (turns or moving[i])
    some = [found[i] for i in range(len(arm.links))]
    return [each.loads for each in some], [each.made for each in some]


def _weighed_link(link: Link, seen: Link, hung: "list[Hanging]", moving: bool) -> Weighed:
    beyond = _sum([scale(_share(at), I) for at, I in hung])
    loads = _loads(beyond, moving and isinstance(seen.body, Beam))
    made = bodies(seen, loads)
    return Weighed(link, loads, made, _carried(made[0], seen, hung))


class Hanging(NamedTuple):
    """A load on a link: its station or pose, and its inertia (6, 6) in the frame there."""

    at: float | Pose
    I: Matrix


def _share(at: float | Pose) -> float:
    """Return the share of a load at a station that counts as if it were at the tip.

    It is the square of the deflection there of a cantilever with a force at its tip. Shapes need no better
    approximation, and the inertia itself is exact.
    """
    return 0.0 if isinstance(at, Pose) else (0.5 * at * at * (3.0 - at)) ** 2


def _sum(some: list[Matrix]) -> Matrix:
    found, *others = some
    for I in others:
        found = [added(row, more) for row, more in zip(found, I, strict=True)]
    return found


def scale(f: float, I: Matrix) -> Matrix:
    """Return f I."""
    return [scaled(f, row) for row in I]


def _assembled(
    arm: Arm, made: list[Made], ends: dict[int, Body], names: list[Name], gravity: Vector, base: Body | None
) -> Chain:
    own, size = _numbered(arm, [some for some, _ in made]), len(arm.layout) + len(arm.followers)
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
        """Return a link's body at a station or pose, and the steps from the body's base frame to there."""
        if i < 0:
            return ground, []
        if isinstance(at, Pose):
            return links[i][0], [Step(motion, axis, value) for motion, axis, value in to_pose(at)]
        member, x = member_of(len(links[i]), at)
        return links[i][member], _outlet_steps(chained[links[i][member]], x, places[links[i][member]])

    if base is not None:
        ground = put_on(-1, base, Segment((Step(Slide, 0),), ()), (None,))
    swivels = []
    for i in arm.outward:
        link, (some, _), mine = arm.links[i], made[i], own[i]
        parent, before = leading(arm.parents[i], link.at)
        if i in arm.balls:
            local = tuple(n for n, x in enumerate(arm.layout) if (x.link, x.role) == (i, "ball"))
            before += [Step(motion, axis, value) for motion, axis, value in _placement(link, names[i])]
            for axis, n in enumerate(local[:2]):
                segment = Segment((*merged(before), Step(Spin, axis, joints=((n, 1),))), ())
                parent, before = put_on(parent, payload(None), segment, (n,)), []
            at = put_on(parent, some[0], Segment((Step(Spin, 2, joints=((local[2], 1),)),), ()), mine[0])
            d = names[i]("d", "damping", link.joint.swivel_damping, "N m s/rad", "viscous damping of the joint")
            swivels.append((local, [[d * (r == c) for c in range(3)] for r in range(3)]))
        else:
            at = put_on(parent, some[0], _segment(before, link, mine[0][0], names[i]), mine[0])
        links[i] = tuple(range(at, at + len(some)))
        for body, its in zip(some[1:], mine[1:], strict=True):
            steps = _outlet_steps(chained[at], 1.0, places[at])
            at = put_on(at, body, Segment((*merged(steps), Step(Slide, 0)), ()), its)
    for i, end in ends.items():
        parent, before = leading(i, 1.0)
        put_on(parent, end, Segment((*merged(before), Step(Slide, 0)), ()), (None,))

    first = [some[0] for some in links]
    jointed = [i for i in first if not all(is_zero(x) for x in chained[i].drive)]
    driven = [i for i, link in zip(first, arm.links, strict=True) if i in jointed and link.joint.actuated]
    damped = [(flexible, D) for flexible, (_, D) in zip(_flexible(arm), made, strict=True) if D] + swivels

    def over_all(row: Vector, mine: tuple[int | None, ...]) -> Vector:
        found: Vector = [0.0] * size
        put(found, mine, row)
        return found

    moved = {i: over_all(chained[i].moved, owned[i]) for i in jointed}
    through = moved | _transmitted(arm, driven, moved) if arm.couplings else moved
    coupled: dict[int, Vector] = {}
    acting: list[Element] = []
    for link, i, name in zip(arm.links, first, names, strict=True):
        if i in jointed:
            turned = over_all(chained[i].drive, owned[i]) if link.joint.elastic else through[i]
            if arm.couplings and not link.joint.elastic:
                coupled[i] = turned
            place = driven.index(i) if i in driven else None
            acting += elements(link.joint, Rows(turned, through[i], moved[i]), place, name)
    tree = Chain(
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
        balls=tuple(sorted(local for local, _ in swivels)),
        thrusters=tuple(map(_thrust, arm.thrusters)),
        closures=arm.closures,
        number=arm.number,
    )
    return without_followers(tree, Followers(size, tuple(_followers(arm, names))))


def _followers(arm: Arm, names: Sequence[Name]) -> list[Follower]:
    """Return the joints that follow others, in the order of their coordinates in the tree."""
    joints = {arm.layout[n].link: n for n in arm.joints}
    known: dict[int, Follower] = {}

    def of(i: int) -> Follower:
        if i not in arm.followers:
            return Follower(((joints[i], 1.0),), 0.0)
        if i not in known:
            known[i] = _follower(arm.links[i].joint, names[i], [of(leader) for leader in arm.followers[i]])
        return known[i]

    return [of(i) for i in arm.followers]


def _follower(joint: Joint, name: Name, leaders: list[Follower]) -> Follower:
    """Return a joint that follows others, over the coordinates to which they lead."""
    assert isinstance(joint, Gear)
    ratios: list[Scalar] = list(joint.ratios)
    if len(ratios) == 1:
        ratios = [name("r", "ratio", ratios[0], "", "coordinate of the joint per coordinate followed")]
    unit = "rad" if joint.turns else "m"
    offset = name("q0", "offset", joint.offset, unit, "coordinate of the joint where the followed one's is 0")
    found: dict[int, Scalar] = {}
    for ratio, leader in zip(ratios, leaders, strict=True):
        offset = offset + ratio * leader.offset
        for j, inner in leader.leaders:
            found[j] = found[j] + ratio * inner if j in found else ratio * inner
    return Follower(tuple(found.items()), offset)


def _thrust(thruster: Thruster) -> Vector:
    """Return force and moment on the base per unit of a thruster's input."""
    along = list(thruster.direction)
    if thruster.kind == "torque":
        return [0.0, 0.0, 0.0, *along]
    return [*along, *cross(list(thruster.at), along)]


def member_of(count: int, x: float) -> tuple[int, float]:
    """Return the index of the segment that contains the station x of the complete beam, and the station on the segment.

    Segments have equal lengths. A station between two belongs to the outer one.
    """
    member = min(int(x * count * (1 + 1e-15)), count - 1)
    return member, min(max(x * count - member, 0.0), 1.0)


def _transmitted(arm: Arm, driven: list[int], moved: dict[int, Vector]) -> dict[int, Vector]:
    """Return the direction of each actuator of coupled joints over all coordinates, with unstretched springs."""
    return {
        i: [sum((t * moved[j][n] for t, j in zip(row, driven, strict=True) if t), 0.0) for n in range(len(moved[i]))]
        for i, row in zip(driven, arm.transmission.tolist(), strict=True)
    }


def _named_gravity(arm: Arm, name: Name) -> Vector:
    """Return the components of gravity. A single nonzero component has the name g, and a sign."""
    lone = np.count_nonzero(arm.gravity) == 1
    return [
        0.0 if lone and g == 0.0 else (float(np.sign(g)) if lone else 1.0)
        * name("g" if lone else "g" + axis, f"gravity{'.' * (not lone)}{axis * (not lone)}", abs(g) if lone else g,
               "m/s^2", "gravity" + f" along {axis}" * (not lone))
        for g, axis in zip(arm.gravity, "xyz", strict=True)
    ]  # fmt: skip


def _numbered(arm: Arm, made: list[list[Body]]) -> list[list[tuple[int | None, ...]]]:
    """Return the indices of the coordinates of each link's bodies: joints first, then flexible ones, motors last.

    Joints that follow others come after all others.
    """
    layout = arm.layout
    followers = {i: n for n, i in enumerate(arm.followers, start=len(layout))}
    own: list[list[tuple[int | None, ...]]] = []
    for i, (link, some) in enumerate(zip(arm.links, made, strict=True)):
        mine = [n for n, coordinate in enumerate(layout) if coordinate.link == i]  # joint, flexible ones, motor
        if link.joint.spherical:
            mine = mine[2:]
        carried = link.joint.spherical or (link.joint.moves and link.joint.carries)
        first: tuple[int | None, ...] = tuple(mine) if carried else (followers.get(i), *mine)
        beyond = sum(body.size for body in some[1:])
        begin = len(some[0].flexible) + 1
        own.append([first[:begin] + first[begin + beyond :] if beyond else first])
        for body in some[1:]:
            own[-1].append((None, *first[begin : begin + body.size]))
            begin += body.size
    return own


def _flexible(arm: Arm) -> list[tuple[int, ...]]:
    """Return the indices of each link's flexible coordinates."""
    layout = arm.layout
    return [
        tuple(n for n, x in enumerate(layout) if (x.link, x.role) == (i, "flexible")) for i in range(len(arm.links))
    ]


def _loads(carried: Matrix, moves: bool) -> Loads:
    """Return the load beyond a tip of the stretched arm (Subudhi & Morris eqs. 47, 48), from its inertia there.

    A load that `moves` on joints off the axis of a shaft has a larger moment of inertia about that axis than the
    stretched arm. Such a load counts in torsion with half the trace of its inertia, the sum of m r^2. No moment about
    an axis through the tip is larger, and slender links reach it where the elbow is bent by a right angle.
    """
    mass = float(carried[0][0])
    along_y = TipLoad(mass=mass, inertia=float(carried[5][5]), first_moment=float(carried[1][5]))
    along_z = TipLoad(mass=mass, inertia=float(carried[4][4]), first_moment=-float(carried[2][4]))
    if np.allclose(astuple(along_z), astuple(along_y), rtol=1e-12, atol=0.0):
        along_z = along_y  # otherwise rounding would give the two planes different shapes, numbers and names
    about = [float(carried[k][k]) for k in (3, 4, 5)]
    twisting = TipLoad(inertia=sum(about) / 2 if moves else about[0])
    return {"y": along_y, "z": along_z, "torsion": twisting, "axial": TipLoad(mass=mass)}


def _carried(some: list[Body], link: Link, hung: list[Hanging]) -> Matrix:
    """Return the inertia of a link and its loads, at rest, in the frame in which the link is placed."""
    beyond = _sum([I for at, I in hung if at == 1.0])
    for member, body in reversed(list(enumerate(some))):
        rest = list(body.rest)
        outer, own = _inward(_turned(body.tip(rest)), beyond), body.inertia(rest)
        beyond = [[float(own[r][c]) + outer[r][c] for c in range(6)] for r in range(6)]
        for at, I in hung:
            if isinstance(at, Pose):
                on, steps = 0, to_pose(at)
            else:
                on, x = member_of(len(some), at)
                steps = _turned(body.section(x, rest))
            if on == member and at != 1.0:
                beyond = _sum([beyond, _inward(steps, I)])
    return _inward(_placement(link, value_of), beyond)


Motions = list[tuple[type[Motion], int, Scalar]]
"""Elementary motions, their axes, and their sizes."""


def _turned(section: Vector) -> Motions:
    """Return the motions to a section's frame."""
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


def to_pose(pose: Pose) -> Motions:
    return _motions([*pose.xyz], *pose.rpy)


def _motions(where: Vector, roll: Scalar, pitch: Scalar, yaw: Scalar) -> Motions:
    slides: Motions = [(Slide, axis, value) for axis, value in enumerate(where)]
    return [*slides, (Turn, 2, yaw), (Turn, 1, pitch), (Turn, 0, roll)]


def _segment(tip: list[Step], link: Link, coordinate: int | None, name: Name) -> Segment:
    """Return the segment to a link: tip of the previous body, placement, and joint.

    The joint's axis is turned to a coordinate axis and back.
    """
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
    """Return the six transforms to a station. Those that do not depend on the body's coordinates are constant.

    If one depends on them, the station is added to the body's places.
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
    """Return which functions of a station depend on the body's coordinates."""
    eta = ca.SX.sym("eta", body.size)
    return [bool(ca.depends_on(ca.SX(t), eta)) for t in body.outlet(x, [eta[i] for i in range(body.size)])]


def merged(steps: list[Step]) -> list[Step]:
    """Return the same path without identity steps, and with adjacent steps about one axis combined.

    For example, a beam's slope followed by a joint about the same axis becomes one turn, which saves a rotation per
    pass.
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
