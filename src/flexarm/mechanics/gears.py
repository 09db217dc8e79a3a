"""Joints that follow other joints, by elimination of their coordinates.

The body of a joint that follows several has no coordinate of the joint: it only moves with the frame, because its joint
has no rotor, and the damping of the joint is one of the chain.

A tree has a coordinate for each follower, after all others: q_tree = G q + c. The chain without these coordinates has
the same transforms, where a coordinate may move several joints, each by its ratio. Accelerations, forces and energies
follow from the same recursions. The inertia matrix is G' M_tree G. For forward dynamics, each follower is a condition
on the accelerations of the tree (`dynamics.forward_dynamics`).
"""

from dataclasses import replace
from typing import NamedTuple

from flexarm.mechanics.body import Body
from flexarm.mechanics.elements import Element, Seen
from flexarm.mechanics.spatial import Matrix, Scalar, Vector, product, scaled, transposed


class Follower(NamedTuple):
    """A coordinate of a tree that follows others: a sum of them, each times its ratio, plus an offset."""

    leaders: tuple[tuple[int, Scalar], ...]
    offset: Scalar

    def of(self, values: Vector) -> Scalar:
        """Return the sum of values over the rates of the chain, each times its ratio."""
        first, *others = (ratio * values[j] for j, ratio in self.leaders)
        return sum(others, first)


class Followers(NamedTuple):
    """The followers of a tree with `size` rates. Their coordinates come after all others, in the order of `some`."""

    size: int
    some: tuple[Follower, ...]

    @property
    def first(self) -> int:
        """Index of the first follower: the number of the other rates."""
        return self.size - len(self.some)

    @property
    def G(self) -> Matrix:
        """The rates of the tree per rate of the chain, (size, n)."""
        found = [[float(r == c) for c in range(self.first)] for r in range(self.size)]
        for row, follower in zip(found[self.first :], self.some, strict=True):
            for j, ratio in follower.leaders:
                row[j] = ratio
        return found

    @property
    def conditions(self) -> Matrix:
        """Rows of the rates of the tree that are zero, one for each follower, (followers, size)."""
        found = [[float(self.first + r == c) for c in range(self.size)] for r in range(len(self.some))]
        for row, follower in zip(found, self.some, strict=True):
            for j, ratio in follower.leaders:
                row[j] = -ratio
        return found

    def coordinates(self, q: Vector) -> Vector:
        """Return the coordinates of the tree, (size,)."""
        return [*q, *(each.of(q) + each.offset for each in self.some)]

    def rates(self, qd: Vector) -> Vector:
        """Return the rates of the tree, or any vector that is linear in them, (size,)."""
        return [*qd, *(each.of(qd) for each in self.some)]

    def row(self, over: Vector) -> Vector:
        """Return a row over the rates of the chain, (n,), from one over those of the tree."""
        return product(transposed(self.G), over)

    def of(self, j: int | None) -> Follower | None:
        """Return the follower with this index among the rates of the tree, or None for other rates."""
        return None if j is None or j < self.first else self.some[j - self.first]


def damped(body: Body, own: tuple[int | None, ...], follower: Follower) -> tuple[tuple[int, ...], Matrix]:
    """Return the damping of a follower's joint over its leaders and over the body's coordinates: indices, matrix."""
    weights, eta = [ratio for _, ratio in follower.leaders], [n for n in own[1:] if n is not None]
    (d, *beside), k = body.damping[0], len(weights)
    rows = [[*scaled(d * w, weights), *scaled(w, beside)] for w in weights]
    rows += [[*(w * x for w in weights), *[0.0] * len(eta)] for x in beside]
    assert len(beside) == len(eta) and len(rows) == k + len(eta)
    return (*(j for j, _ in follower.leaders), *eta), rows


def led(body: Body, follower: Follower) -> Body:
    """Return the body of a follower over the coordinate of its only leader."""
    ((_, ratio),), offset = follower

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


def acting(element: Element, tree: Followers) -> Element:
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
        touches=lambda q, s: element.touches(tree.coordinates(q), s),
        reads=None if reads is None else lambda here: reads(seen(here)),
    )
