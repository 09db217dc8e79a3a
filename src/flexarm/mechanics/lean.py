"""Reduced frames: the same arm with frames of its rigid bodies that need the fewest steps between joints.

A rigid body can be described in any frame fixed to it. Between two joints the path is a constant transform. Turns about
and slides along the axis of either joint are combined with that joint. The remainder is a slide along and a turn about
the common normal of both axes (Denavit & Hartenberg), for any positions of the axes. Between coordinate axes it is a
quarter turn, which costs nothing.

Lengths may follow from parameters. Positions are linear in them, and the choice of frames does not depend on their
values.
"""

from dataclasses import dataclass, replace
from math import atan2, pi
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from flexarm.mechanics.body import Body, symmetric, without_rounding
from flexarm.mechanics.chain import Chain, Segment, Step, merged, with_followers, without_followers
from flexarm.mechanics.nominal import Nominal
from flexarm.mechanics.remembered import remembered, remembering
from flexarm.mechanics.spatial import (
    Matrix,
    Motion,
    Scalar,
    Slide,
    Spin,
    Turn,
    dot,
    entries,
    is_symbolic,
    numbers,
    product,
)

ROUNDING = 1e-12
"""Tolerance of an angle [rad], or of a length relative to the distance of two joints."""
EXACT = 1e-14
"""The same for axes and origins of frames: a rod without inertia about itself must have none in any frame."""
SLANTED = 0.05
"""Least sine of the angle between two axes that are not parallel. Below it, their common normal is far away."""


@dataclass(frozen=True)
class Length:
    """An offset along an axis, linear in some lengths: row[0] + row[1] lengths[0] + ..."""

    row: np.ndarray
    lengths: list[Scalar]

    def is_zero(self) -> bool:
        """Return True if the offset is zero for any lengths."""
        return not self.row.any()

    @property
    def scalar(self) -> Scalar:
        """The offset as a scalar, a float if it depends on no length."""
        known = [c * x for c, x in zip(self.row[1:].tolist(), self.lengths, strict=True) if c]
        return sum(known, float(self.row[0]))

    def __add__(self, other: Any) -> Any:
        return Length(self.row + other.row, self.lengths) if isinstance(other, Length) else self.scalar + other

    __radd__ = __add__


class Pose(NamedTuple):
    """A frame in another one: its axes as columns, and its origin, linear in lengths: (3, 1 + lengths)."""

    R: np.ndarray
    p: np.ndarray

    def then(self, *steps: Step) -> "Pose":
        """Return the frame after the constant part of steps."""
        R, p = self.R.copy(), self.p
        for step in steps:
            if step.motion is Slide:
                p = p + np.outer(R[:, step.axis], step.offset.row)
            else:
                c, s = np.cos(step.offset), np.sin(step.offset)
                i, j = (step.axis + 1) % 3, (step.axis + 2) % 3
                R[:, i], R[:, j] = c * R[:, i] + s * R[:, j], c * R[:, j] - s * R[:, i]
        return Pose(R, p)

    def seen_from(self, other: "Pose") -> "Pose":
        """Return the same frame in another one. Axes that are parallel up to rounding become parallel."""
        R, p = other.R.T @ self.R, other.R.T @ (self.p - other.p)
        R[np.abs(R) < EXACT] = 0.0
        p[np.abs(p) < EXACT * np.maximum(np.abs(self.p).max(axis=0), np.abs(other.p).max(axis=0))] = 0.0
        return Pose(R / np.linalg.norm(R, axis=0), p)


@remembered
def lean(chain: Chain) -> Chain:
    """Return the chain with reduced frames and steps, and the same equations of motion.

    Bodies with symbols in their inertia, or on the path to the next joint, stay unchanged. Exceptions are parameters in
    the inertia, and lengths on the path.
    """
    if chain.tree is not None:
        return without_followers(lean(with_followers(chain, chain.tree)), chain.tree.followers)
    keeps = chain.known is not None
    chain, lengths = _measured(chain)
    base = Pose(np.eye(3), np.zeros((3, 1 + len(lengths))))
    segments, bodies, gravity = list(chain.segments), list(chain.bodies), chain.gravity
    *first, joint = segments[0].steps
    alone = not (chain.moved or chain.base) and chain.parents.count(-1) == 1
    if _are_constant(first) and alone and all(isinstance(g, int | float) for g in gravity):  # any frame at rest will do
        gravity = without_rounding(base.then(*first).R.T @ gravity).tolist()
        segments[0] = Segment((joint,), segments[0].after)
    beyond = _carriers_of_one(chain)
    found = {i: _inertia(bodies[i], chain.nominal) for i, n in beyond.items() if _is_plain(chain, i, n)}
    stiff = {i: M for i, M in found.items() if M is not None}
    origins = dict.fromkeys(range(len(bodies)), base)  # the original frames of joints, in the frames that replace them
    for i, M in stiff.items():
        n = beyond[i]
        *before, joint = segments[i].steps
        *way, following = chain.segments[n].steps
        was = origins[i].then(*chain.segments[i].after)  # the body's frame
        end, chosen = was.then(*way, following), n in stiff
        (_, sign), *_ = following.joints if chosen else [(0, 1)]  # where frames are chosen, no joint turns backward
        second = sign * end.R[:, following.axis]
        normal = _normal(joint.axis, end, second, lengths) if following.joints else None
        if normal is None:
            now = base
            steps = (*merged(_steps(was.then(*way), lengths)), following)
        else:
            at_joint, between = normal
            now = base.then(*at_joint)
            segments[i] = Segment(tuple(merged([*before, *_last(at_joint, joint.motion), joint])), ())
            if chosen:
                moving = replace(
                    following, axis=joint.axis, offset=0.0, joints=tuple((j, 1) for j, _ in following.joints)
                )
                origins[n] = end.seen_from(now.then(*between))
            else:  # the next body's frame and its joint's axis stay: the remainder is combined with the joint
                moving = replace(following, offset=0.0)
                slide = replace(between[-1], axis=moving.axis)
                between = [*between[:-1], *_quarter(joint.axis, moving.axis)]
                left = end.seen_from(now.then(*between, slide))
                turn = Step(Turn, moving.axis, _about(left, moving.axis))
                between = [*between, *_last([slide, turn], moving.motion)]
            steps = tuple(merged([*between, moving]))
        segments[i] = Segment(segments[i].steps, ())
        segments[n] = Segment(steps, chain.segments[n].after)
        bodies[i] = _seen(bodies[i], M, was.seen_from(now), lengths, chain.nominal)
    reduced = replace(chain, bodies=tuple(bodies), segments=tuple(map(_written, segments)), gravity=gravity)
    return remembering(reduced) if keeps else reduced


def _measured(chain: Chain) -> tuple[Chain, list[Scalar]]:
    """Return the chain with a `Length` for each known or parametric offset, and the parametric ones."""
    lengths: list[Scalar] = []

    def measured(step: Step) -> Step:
        if step.motion is not Slide:
            return step
        if isinstance(step.offset, int | float):
            return replace(step, offset=Length(np.append(float(step.offset), np.zeros(len(lengths))), lengths))
        place = [i for i, each in enumerate(lengths, start=1) if each is step.offset]
        return replace(step, offset=Length(np.eye(1 + len(lengths))[place[0]], lengths)) if place else step

    steps = [step for segment in chain.segments for step in (*segment.steps, *segment.after)]
    for step in steps:
        symbolic = step.motion is Slide and is_symbolic(step.offset)
        if symbolic and chain.nominal([[step.offset]]) is not None and not any(x is step.offset for x in lengths):
            lengths.append(step.offset)
    segments = [
        Segment(tuple(map(measured, segment.steps)), tuple(map(measured, segment.after))) for segment in chain.segments
    ]
    return replace(chain, segments=tuple(segments)), lengths


def _written(segment: Segment) -> Segment:
    """Return the segment with scalars as its offsets."""

    def written(step: Step) -> Step:
        return replace(step, offset=step.offset.scalar) if isinstance(step.offset, Length) else step

    return Segment(tuple(map(written, segment.steps)), tuple(map(written, segment.after)))


def _carriers_of_one(chain: Chain) -> dict[int, int]:
    """Return, for each body with a single child, the index of the child."""
    carried: dict[int, list[int]] = {}
    for n, parent in enumerate(chain.parents):
        carried.setdefault(parent, []).append(n)
    return {i: some[0] for i, some in sorted(carried.items()) if i >= 0 and len(some) == 1}


def _is_plain(chain: Chain, i: int, n: int) -> bool:
    """Return True if a body follows a joint, and the path from it to the next one, n, consists of constant numbers."""
    *way, following = chain.segments[n].steps
    after = [*chain.segments[i].after, *way, replace(following, joints=())]
    before = chain.segments[i].steps[-1]
    return bool(before.joints) and Spin not in (before.motion, following.motion) and _are_constant(after)


def _are_constant(steps: list[Step]) -> bool:
    return all(not (s.tips or s.joints) and isinstance(s.offset, int | float | Length) for s in steps)


def _inertia(body: Body, nominal: Nominal) -> Matrix | None:
    """Return M if it does not depend on the state, else None."""
    M = body.inertia(entries(ca.SX.sym("eta", body.size)))
    return None if nominal(M) is None else M


def _seen(body: Body, inertia: Matrix, old: Pose, lengths: list[Scalar], nominal: Nominal) -> Body:
    """Return a rigid body in a frame in which its original frame is `old`."""
    twists = []  # for each length, from (v, w, ...) of the new frame to those of the old one
    for x, y, z in old.p.T:
        twist = np.zeros((7 + body.size, 7 + body.size))
        twist[:3, 3:6] = old.R.T @ np.array([[0.0, z, -y], [-z, 0.0, x], [y, -x, 0.0]])
        twists.append(twist)
    twists[0] += np.eye(7 + body.size)
    twists[0][:3, :3] = twists[0][3:6, 3:6] = old.R.T
    if not lengths and (known := numbers(inertia)) is not None:
        M = without_rounding(symmetric(twists[0].T @ known @ twists[0])).tolist()
    else:
        rows = np.stack(twists, axis=-1)
        turned = [[Length(x, lengths).scalar for x in row] for row in rows.swapaxes(0, 1)]  # columns
        columns = [product(inertia, column) for column in turned]
        half = [[dot(a, b) for b in columns] for a in turned]
        M = nominal.without_rounding([[half[min(i, j)][max(i, j)] for j in range(len(half))] for i in range(len(half))])
    return replace(body, inertia=lambda eta: M, tip=lambda eta: [0.0] * 6)


def _normal(k: int, end: Pose, second: np.ndarray, lengths: list[Scalar]) -> tuple[list[Step], list[Step]] | None:
    """Return the path from a joint, about the axis k of its frame, to the axis `second` through `end`, in two parts.

    The first part is combined with the joint. The second leads to a frame whose axis k is `second`, and its last step
    is along that axis. Return None if both axes are nearly parallel, or parallel with a normal that depends on lengths.
    """
    i, j = (k + 1) % 3, (k + 2) % 3
    first, p = np.eye(3)[k], end.p
    normal = np.cross(first, second)
    sine = float(np.linalg.norm(normal))
    if ROUNDING < sine < SLANTED:
        return None
    if sine <= ROUNDING:
        across = p - np.outer(first, p[k])
        normal = across[:, np.linalg.norm(across, axis=0).argmax()]
        if np.linalg.norm(normal) <= ROUNDING * np.linalg.norm(p):
            normal = np.eye(3)[i]
        normal = normal / np.linalg.norm(normal)
        if len(lengths) and np.abs(across - np.outer(normal, normal @ across)).max() > ROUNDING:
            return None
    normal = normal / np.linalg.norm(normal)
    if normal[i] < -ROUNDING or (normal[i] < ROUNDING and normal[j] < 0.0):
        normal = -normal
    alpha = atan2(float(normal @ np.cross(first, second)), float(second[k]))
    basis = np.column_stack([first, normal, second if sine > ROUNDING else np.cross(first, normal)])
    d, r, e = np.linalg.solve(basis, p)
    e = e if sine > ROUNDING else 0.0 * e
    d, r, e = (_length(x, p, lengths) for x in (d, r, e))
    at_joint = [Step(Turn, k, _angle(atan2(normal[j], normal[i]))), Step(Slide, k, d)]
    return at_joint, [Step(Slide, i, r), Step(Turn, i, _angle(alpha)), Step(Slide, k, e)]


def _quarter(k: int, axis: int) -> list[Step]:
    """Return the quarter turn that moves axis k to another axis."""
    if k == axis:
        return []
    about = 3 - k - axis
    return [Step(Turn, about, pi / 2 if axis == (about + 1) % 3 else -pi / 2)]


def _about(pose: Pose, k: int) -> float:
    """Return the angle by which a frame is turned about its axis k alone."""
    i, j = (k + 1) % 3, (k + 2) % 3
    return _angle(atan2(pose.R[j, i], pose.R[i, i]))


def _steps(pose: Pose, lengths: list[Scalar]) -> list[Step]:
    """Return slides and turns, about z, y, x, that lead to a frame."""
    R, p = pose
    level = float(np.hypot(R[0, 0], R[1, 0]))
    upright = level < ROUNDING
    yaw = 0.0 if upright else atan2(R[1, 0], R[0, 0])
    roll = atan2(-R[1, 2], R[1, 1]) if upright else atan2(R[2, 1], R[2, 2])
    turns = [Step(Turn, axis, _angle(x)) for axis, x in ((2, yaw), (1, atan2(-R[2, 0], level)), (0, roll))]
    return [*(Step(Slide, axis, _length(x, p, lengths)) for axis, x in enumerate(p)), *turns]


def _last(steps: list[Step], motion: type[Motion]) -> list[Step]:
    """Return steps about one axis in the order in which a joint of this motion can absorb the last."""
    return sorted(steps, key=lambda step: step.motion is motion)


def _angle(x: float) -> float:
    """Return the angle, with exact quarter turns."""
    quarters = round(x / (pi / 2)) * (pi / 2)
    return quarters if abs(x - quarters) < ROUNDING else float(x)


def _length(row: np.ndarray, p: np.ndarray, lengths: list[Scalar]) -> Length:
    """Return the length, or zero if it is rounding relative to p."""
    return Length(np.where(np.abs(row) < ROUNDING * np.linalg.norm(p, axis=0), 0.0, row), lengths)
