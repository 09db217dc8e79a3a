"""Positions of the sections of an arm's links at a configuration, for visualization."""

from typing import TYPE_CHECKING, Any

import numpy as np

from flexarm.arrays import Array
from flexarm.errors import DescriptionError
from flexarm.model.tracing import Traced

if TYPE_CHECKING:
    import casadi as ca

STATIONS = 21
"""Number of sections of each link, evenly spaced along its (free) length, including both ends."""

SECTION = 9
"""Numbers of a section: position (3), its y axis (3), bending moments in y and z (2), distance from undeformed (1)."""

LARGEST = 1e12
"""Largest size of a coordinate that can be drawn, in SI units."""


def drawing(model: Traced) -> "ca.Function":
    """Return the CasADi Function (q, s) -> (stations, frames) that draws an arm; p is last if the model varies.

    s magnifies the deflections: 1 as they are, 0 the rigid arm. Each result is a column, with the last axis of
    `drawn`'s arrays fastest.
    """

    def trace() -> "ca.Function":
        import casadi as ca

        from flexarm.mechanics import drawing as mechanics
        from flexarm.mechanics.spatial import entries

        q, s = ca.SX.sym("q", len(model.coordinates)), ca.SX.sym("s", 1)
        sections, frames = mechanics.drawing(*model.posed(entries(q)), model.arm.springs, STATIONS, s)
        stations = [x for link in sections for row in link for x in row]
        poses = [x for frame in frames for r in range(3) for x in (*frame.R[r], frame.p[r])]
        values = ca.cse([ca.densify(ca.SX(ca.vertcat(*values))) for values in (stations, poses)])
        results = dict(zip(("stations", "frames"), values, strict=True))
        return model.over_parameters("drawing", {"q": q, "s": s}, results)

    return model.traced("drawing", trace)


def drawn(model: Traced, q: Any, magnified: float = 1.0) -> tuple[Array, Array]:
    """Return the geometry of an arm at one configuration or many, for a drawing.

    Parameters
    ----------
    q : (..., n)
    magnified : float
        Factor of the deflections: 1 as they are, 0 the rigid arm with elastic joints at their motors' angles.

    Returns
    -------
    stations : (..., links, STATIONS, SECTION)
        For each section its position [m] and its y axis, in the base frame; bending moments in y and z [N m]; and its
        distance from the section of the undeformed link [m].
    frames : (..., links + 1, 3, 4)
        Axes, as columns, and origins of the links' base frames and of the payload's, in the base frame.

    Raises
    ------
    DescriptionError
        q does not fit the arm.
    """
    q = model.argument("q", q)
    if np.abs(q).max(initial=0.0) > LARGEST:
        raise DescriptionError(f"q has {np.abs(q).max():g}; it must be at most {LARGEST:g} in size to be drawn")

    def trace(model: Traced) -> "ca.Function":
        import casadi as ca

        function = drawing(model)
        x = function.sx_in()
        return ca.Function("drawn", x, [ca.vertcat(*function(*x))])

    rows = np.column_stack([q.reshape(-1, q.shape[-1]), np.full(q.size // q.shape[-1], float(magnified))])
    found = model.compiled("drawn", trace).many(np.ascontiguousarray(rows))
    links, batch = len(model.arm.links), q.shape[:-1]
    stations, frames = np.split(found, [links * STATIONS * SECTION], axis=1)
    return stations.reshape(*batch, links, STATIONS, SECTION), frames.reshape(*batch, links + 1, 3, 4)
