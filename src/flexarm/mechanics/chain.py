"""An arm as the dynamics sees it: bodies, and the elementary motions that lead from one to the next."""

from collections.abc import Callable, Iterable
from dataclasses import astuple, dataclass

import casadi as ca
import numpy as np

from flexarm.description.arm import Arm, Beam, Link
from flexarm.description.numbers import alignment
from flexarm.mechanics.body import Body, Loads
from flexarm.mechanics.drive import body, named_angle, named_turns
from flexarm.mechanics.modal import bases_of
from flexarm.mechanics.nominal import NUMBERS, Nominal
from flexarm.mechanics.parameters import Name, Names, value_of
from flexarm.mechanics.rigid import payload
from flexarm.mechanics.spatial import Matrix, Motion, Scalar, Slide, Turn, Vector, is_zero
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
class Chain:
    """Bodies and segments in order; segment i leads to body i. The last body is the payload, which has no coordinates.

    Attributes
    ----------
    own : for each body the positions of (its joint's coordinate or None, *eta) among all coordinates
    size : number of coordinates
    driven : the bodies that have an actuator, in the order of the inputs
    gravity : acceleration in the base frame
    nominal : what is a number, or follows from parameters alone
    seen : (number of a body, tip functions, their rates) -> what stands for them in all that lies beyond: they
        themselves, or symbols where closed forms are wanted
    """

    bodies: tuple[Body, ...]
    segments: tuple[Segment, ...]
    own: tuple[tuple[int | None, ...], ...]
    size: int
    driven: tuple[int, ...]
    gravity: Vector
    nominal: Nominal = NUMBERS
    seen: Callable[[int, Vector, Vector], tuple[Vector, Vector]] = lambda i, s, sd: (s, sd)


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
    """The chain of a described arm, built from the tip inward: a link's shapes may depend on what it carries."""
    bodies = [payload(arm.payload)]
    carried = bodies[0].inertia([])
    for link in reversed(arm.links):
        bodies.insert(0, body(link, _loads(carried)))
        carried = _carried(bodies[0], link, carried)
    return _assembled(arm, bodies, [value_of] * len(bodies), list(arm.gravity))


def named_chain(arm: Arm, ledger: Names) -> Chain:
    """The same chain with what stands for its numbers; shapes are those of the numeric arm."""
    carried = payload(arm.payload).inertia([])
    loads: list[Loads] = []
    for link in reversed(arm.links):
        loads.insert(0, _loads(carried))
        carried = _carried(body(link, loads[0]), link, carried)
    names = [ledger.of(str(i), link.name) for i, link in enumerate(arm.links, start=1)] + [ledger.of("", "payload")]
    bodies = [body(link, load, name) for link, load, name in zip(arm.links, loads, names, strict=False)]
    return _assembled(arm, [*bodies, payload(arm.payload, names[-1])], names, _named_gravity(arm, ledger.of("", "")))


def shapes_of(arm: Arm) -> dict[str, Basis]:
    """The mode shapes of an arm's beams by link and direction, "upper.y", where there are any."""
    carried, found = payload(arm.payload).inertia([]), {}
    for link in reversed(arm.links):
        loads, still = _loads(carried), link
        if isinstance(link.body, Beam):
            still = link.replace(body=link.body.replace(modes={}, damping=0.0))  # it weighs the same at rest
            counts, _, bases = bases_of(link.body, loads)
            for direction, count, basis in zip(link.body.counts, counts, bases, strict=True):
                if count:
                    found[f"{link.name}.{direction}"] = basis
        carried = _carried(body(still, loads), still, carried)
    return found


def _assembled(arm: Arm, bodies: list[Body], names: list[Name], gravity: Vector) -> Chain:
    own, size = _numbered(arm)
    tips = [[], *(_tip_steps(b) for b in bodies[:-1])]
    segments = [
        _segment(tip, link, joint, name)
        for tip, link, (joint, *_), name in zip(tips, arm.links, own, names, strict=False)
    ]
    segments.append(Segment((*merged(tips[-1]), Step(Slide, 0)), ()))
    driven = [i for i, b in enumerate(bodies) if not all(is_zero(x) for x in b.drive)]
    return Chain(tuple(bodies), tuple(segments), tuple(own), size, tuple(driven), gravity)


def _named_gravity(arm: Arm, name: Name) -> Vector:
    """Gravity's components; one of them alone is g, with its sign."""
    lone = np.count_nonzero(arm.gravity) == 1
    return [
        0.0 if lone and g == 0.0 else (float(np.sign(g)) if lone else 1.0)
        * name("g" if lone else "g" + axis, f"gravity{'.' * (not lone)}{axis * (not lone)}", abs(g) if lone else g,
               "m/s^2", "gravity" + f" along {axis}" * (not lone))
        for g, axis in zip(arm.gravity, "xyz", strict=True)
    ]  # fmt: skip


def _numbered(arm: Arm) -> tuple[list[tuple[int | None, ...]], int]:
    """Positions of each link's coordinates, and their number: joints first, then flexible ones, motors last."""
    layout = arm.layout
    own: list[tuple[int | None, ...]] = []
    for i, link in enumerate(arm.links):
        mine = [n for n, coordinate in enumerate(layout) if coordinate.link == i]  # joint, flexible ones, motor
        carried = link.joint.moves and link.joint.carries
        own.append(tuple(mine) if carried else (None, *mine))
    return [*own, (None,)], len(layout)


def _loads(carried: Matrix) -> Loads:
    """What lies beyond a tip, the arm stretched out (Subudhi & Morris eqs. 47, 48), from its inertia in that frame."""
    mass = float(carried[0][0])
    along_y = TipLoad(mass=mass, inertia=float(carried[5][5]), first_moment=float(carried[1][5]))
    along_z = TipLoad(mass=mass, inertia=float(carried[4][4]), first_moment=-float(carried[2][4]))
    if np.allclose(astuple(along_z), astuple(along_y), rtol=1e-12, atol=0.0):
        along_z = along_y  # else rounding would give the planes shapes, numbers and names of their own
    return {"y": along_y, "z": along_z, "torsion": TipLoad(inertia=float(carried[3][3])), "axial": TipLoad(mass=mass)}


def _carried(body: Body, link: Link, beyond: Matrix) -> Matrix:
    """Inertia of a link and all beyond it, at rest, in the frame its placement refers to."""
    rest = list(body.rest)
    tip = [(motion, axis, sign * value) for (motion, axis, sign), value in zip(TIP, body.tip(rest), strict=True)]
    outer, own = _inward(tip, beyond), body.inertia(rest)
    return _inward(_placement(link, value_of), [[float(own[r][c]) + outer[r][c] for c in range(6)] for r in range(6)])


def _inward(steps: list[tuple[type[Motion], int, float]], I: Matrix) -> Matrix:
    for motion, axis, value in reversed(steps):
        I = [[float(x) for x in row] for row in motion(axis, float(value)).inertia(I)]
    return I


def _placement(link: Link, name: Name) -> list[tuple[type[Motion], int, Scalar]]:
    where = [
        name(f"p{axis}", f"placement.xyz.{axis}", value, "m", f"place of the joint along {axis}")
        for axis, value in zip("xyz", link.placement.xyz, strict=True)
    ]
    roll, pitch, yaw = (
        named_angle(name, angle, f"placement.rpy.{angle}", value, f"{angle} of the joint")
        for angle, value in zip(("roll", "pitch", "yaw"), link.placement.rpy, strict=True)
    )
    slides: list[tuple[type[Motion], int, Scalar]] = [(Slide, axis, value) for axis, value in enumerate(where)]
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


def _tip_steps(body: Body) -> list[Step]:
    """The tip's six motions; those that do not depend on the body's coordinates are constant."""
    here = body.tip(list(body.rest))
    moves = _dependence(body)
    return [
        Step(motion, axis, 0.0 if moves[t] else sign * here[t], tips=((t, sign),) if moves[t] else ())
        for t, (motion, axis, sign) in enumerate(TIP)
    ]


def _dependence(body: Body) -> list[bool]:
    """Which of the tip functions depend on the body's coordinates."""
    eta = ca.SX.sym("eta", body.size)
    return [bool(ca.depends_on(ca.SX(t), eta)) for t in body.tip([eta[i] for i in range(body.size)])]


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
