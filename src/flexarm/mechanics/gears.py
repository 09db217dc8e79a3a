"""Joints that follow other joints, by elimination of their coordinates.

A tree has a coordinate for each follower, after all others: q_tree = G q + c. The chain without these coordinates has
the same transforms, where a coordinate may move several joints, each by its ratio. Accelerations, forces and energies
follow from the same recursions. The inertia matrix is G' M_tree G. For forward dynamics, each follower is a condition
on the accelerations of the tree (`dynamics.forward_dynamics`).
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from flexarm.mechanics.body import Body
from flexarm.mechanics.elements import Element, Seen
from flexarm.mechanics.spatial import Matrix, Scalar, Vector, product, scaled, transposed

if TYPE_CHECKING:
    from flexarm.mechanics.chain import Chain, Segment, Step

Own = tuple[int | None, ...]


class Follower(NamedTuple):
    """A coordinate of a tree that follows another one: ratio times it, plus an offset."""

    leader: int
    ratio: Scalar
    offset: Scalar


class Tree(NamedTuple):
    """Parts of a chain with a coordinate for each follower, after all others."""

    bodies: tuple[Body, ...]
    segments: "tuple[Segment, ...]"
    own: tuple[Own, ...]
    size: int
    followers: tuple[Follower, ...]

    @property
    def G(self) -> Matrix:
        """The rates of the tree per rate of the chain, (size, n)."""
        n = self.size - len(self.followers)
        found = [[float(r == c) for c in range(n)] for r in range(self.size)]
        for r, follower in enumerate(self.followers, start=n):
            found[r][follower.leader] = follower.ratio
        return found

    @property
    def conditions(self) -> Matrix:
        """Rows of the rates of the tree that are zero, one for each follower, (followers, size)."""
        n = self.size - len(self.followers)
        found = [[float(n + r == c) for c in range(self.size)] for r in range(len(self.followers))]
        for row, follower in zip(found, self.followers, strict=True):
            row[follower.leader] = -follower.ratio
        return found

    def coordinates(self, q: Vector) -> Vector:
        """Return the coordinates of the tree, (size,)."""
        return [*q, *(each.ratio * q[each.leader] + each.offset for each in self.followers)]

    def rates(self, qd: Vector) -> Vector:
        """Return the rates of the tree, or any vector that is linear in them, (size,)."""
        return [*qd, *(each.ratio * qd[each.leader] for each in self.followers)]

    def row(self, over: Vector) -> Vector:
        """Return a row over the rates of the chain, (n,), from one over those of the tree."""
        return product(transposed(self.G), over)


def without_followers(chain: "Chain", followers: Iterable[Follower]) -> "Chain":
    """Return the chain without the coordinates of its followers, which are its last ones."""
    some = tuple(followers)
    if not some:
        return chain
    n = chain.size - len(some)
    tree = Tree(chain.bodies, chain.segments, chain.own, chain.size, some)

    def led(body: Body, own: Own) -> tuple[Body, Own]:
        if own[0] is None or own[0] < n:
            return body, own
        follower = some[own[0] - n]
        return body.once("led", lambda: _led(body, follower)), (follower.leader, *own[1:])

    def moved(step: "Step") -> "Step":
        found, offset = [], step.offset
        for j, sign in step.joints:
            if j >= n:
                leader, ratio, more = some[j - n]
                j, sign, offset = leader, sign * ratio, offset + sign * more
            found.append((j, sign))
        return replace(step, offset=offset, joints=tuple(found)) if step.joints else step

    bodies, own = zip(*map(led, chain.bodies, chain.own), strict=True)
    segments = tuple(replace(each, steps=tuple(map(moved, each.steps))) for each in chain.segments)
    return replace(
        chain,
        bodies=bodies,
        segments=segments,
        own=own,
        size=n,
        tree=tree,
        coupled={i: tree.row(row) for i, row in chain.coupled.items()},
        elements=tuple(_acting(element, tree) for element in chain.elements),
    )


def with_followers(chain: "Chain") -> "Chain":
    """Return the tree of a chain as a chain with a coordinate for each follower, without elements."""
    bodies, segments, own, size, _ = chain.tree  # type: ignore[misc]
    return replace(chain, bodies=bodies, segments=segments, own=own, size=size, tree=None, coupled={}, elements=())


def _led(body: Body, follower: Follower) -> Body:
    """Return the body of a follower over the coordinate of its leader."""
    _, ratio, offset = follower

    def inertia(eta: Vector) -> Matrix:
        M = [list(row) for row in body.inertia(eta)]
        M[6] = scaled(ratio, M[6])
        for row in M:
            row[6] = ratio * row[6]
        return M

    damping = [[ratio * row[0], *row[1:]] for row in body.damping]
    return replace(
        body,
        inertia=inertia,
        potential=lambda q, eta: body.potential(ratio * q + offset, eta),
        damping=[scaled(ratio, damping[0]), *damping[1:]],
        drive=[ratio * body.drive[0], *body.drive[1:]],
        moved=[ratio * x if i == 0 else x for i, x in enumerate(body.moved)],
    )


def _acting(element: Element, tree: Tree) -> Element:
    """Return an element that acts on a tree as one that acts on the chain without followers."""

    def seen(here: Seen) -> Seen:
        return replace(here, q=tree.coordinates(here.q))

    field, reads = element.field, element.reads
    return replace(
        element,
        along=lambda q, qd: element.along(tree.coordinates(q), tree.rates(qd)),
        push=lambda here: element.push(seen(here)),
        potential=lambda q: element.potential(tree.coordinates(q)),
        field=None if field is None else lambda q, s: field(tree.coordinates(q), s),
        steady=lambda here: element.steady(seen(here)),
        crossings=lambda q, qd: element.crossings(tree.coordinates(q), tree.rates(qd)),
        reads=None if reads is None else lambda here: reads(seen(here)),
    )
