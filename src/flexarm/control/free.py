"""A free base as controllers of the joints treat it: the joints move it, and its momentum is conserved."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from flexarm import attitude
from flexarm.arrays import Array
from flexarm.checks import Fault, known_names, refused, shown
from flexarm.errors import DescriptionError
from flexarm.model import Model, closures
from flexarm.model.adrift import BASE, TURN

NOTHING = 1e-9
"""Relative force below which the base counts as not pushed."""
ALONG = 1e-6
"""Share of a coordinate's momentum that must be independent of other coordinates' before it is left out."""


def fixed_base(what: str, model: Model, instead: str) -> None:
    """Raise `DescriptionError` for an arm on a free base."""
    if model.arm.free:
        name = model.arm.name
        raise DescriptionError(
            f"{what}: the base of arm {name!r} is free, and the controller needs a fixed base; {instead}"
        )


@final
@dataclass(frozen=True, eq=False)
class Kept:
    """Local coordinates that feedback can hold near an equilibrium, and how the others follow from them.

    With closures, the independent coordinates are kept. Momentum is conserved where nothing acts on it. If it is zero,
    as many coordinates follow from the others, dx = Z z, and are left out. The order in which coordinates are left out
    is: the loose ones, such as the angles of reaction wheels, then a free base's position, then its attitude. In the
    attitude, the axis that the loose coordinates turn least is first.

    Attributes
    ----------
    places : (k,)
        Indices of z among the local coordinates.
    Z : (n, k)
    names, left_out : names of z, and of the other coordinates
    """

    places: tuple[int, ...]
    Z: Array
    names: tuple[str, ...]
    left_out: tuple[str, ...]


def kept(what: str, model: Model, q: Array, loose: Sequence[str] = ()) -> Kept:
    """Return what feedback can hold about q. The positions of the joints of the `loose` links are free.

    Raises `DescriptionError` for links that do not exist, and for loose links on an arm whose base is not free.
    """
    names, n = attitude.local_names(model.arm), model.nv
    first = loose_joints(what, model, loose)
    if model.arm.closures:
        return _independent(what, model, q, names)
    if not model.arm.free:
        return Kept(tuple(range(n)), np.eye(n), names, ())
    acting = [
        model.input_matrix(q),
        np.array(model.slope("restoring_force", "q")(q)),
        np.array(model.slope("damping_force", "qd")(q, np.zeros(n))),
    ]
    scaled = np.hstack([x[:BASE] / (np.abs(x).max(initial=0.0) or 1.0) for x in acting])
    U, size, _ = np.linalg.svd(scaled)
    M = model.mass_matrix(q)
    momentum = U[:, (size > NOTHING).sum() :].T @ M[:BASE] / np.sqrt(np.diag(M))
    out: list[int] = []
    rest = momentum.copy()
    for i in [*first, *range(TURN.start), *(TURN.start + i for i in _least_turned(M, first))]:
        if len(out) == len(momentum):
            break
        if np.linalg.norm(rest[:, i]) > ALONG * np.linalg.norm(momentum[:, i]) > 0.0:
            out.append(i)
            d = rest[:, i] / np.linalg.norm(rest[:, i])
            rest = rest - np.outer(d, d @ rest)
    places = [i for i in range(n) if i not in out]
    Z = np.zeros((n, len(places)))
    Z[places] = np.eye(len(places))
    if out:
        per_root = -np.linalg.solve(momentum[:, out], momentum[:, places])
        Z[out] = per_root * np.sqrt(np.diag(M))[places] / np.sqrt(np.diag(M))[out][:, None]
    return Kept(tuple(places), Z, tuple(names[i] for i in places), tuple(names[i] for i in out))


def _independent(what: str, model: Model, q: Array, names: tuple[str, ...]) -> Kept:
    """Return the coordinates from which the others follow by the closures."""
    fixed_base(what, model, "an arm with closures on a free base is not supported yet")
    Z, places = closures.independent(model, q)
    left_out = tuple(name for i, name in enumerate(names) if i not in places)
    return Kept(tuple(places), Z, tuple(names[i] for i in places), left_out)


def _least_turned(M: Array, wheels: Sequence[int]) -> list[int]:
    """Axes of a free base in the order in which wheels turn it, the least turned first."""
    U, size, _ = np.linalg.svd(np.linalg.solve(M[:BASE, :BASE], M[:BASE, list(wheels)])[TURN])
    along = U[:, : int((size > ALONG * size.max(initial=0.0)).sum())]
    return np.argsort(np.round((along**2).sum(axis=1), 6), kind="stable").tolist()


def loose_joints(what: str, model: Model, links: Sequence[str]) -> list[int]:
    """Indices of the joints of the given links; raises `DescriptionError`."""
    arm = model.arm
    place = {arm.links[arm.layout[i].link].name: i for i in arm.driven}
    with refused(what):
        given = known_names(links, place, "names of links", "wheels", "links whose joints move are")
        elastic = {arm.links[arm.layout[joint].link].name for joint, _ in arm.springs}
        for name in given:
            if name in elastic:
                raise Fault("wheels", f"has {shown(name)}, whose joint is elastic; the joint of a wheel must be rigid")
        if given and not arm.free:
            raise Fault("wheels", f"does not apply to arm {arm.name!r}, whose base is fixed; leave it out")
    return [place[name] for name in given]
