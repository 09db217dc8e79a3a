"""Where the sections of an arm's links stand at a configuration, for whatever draws it."""

from typing import TYPE_CHECKING, Any

import numpy as np

from flexarm.errors import DescriptionError
from flexarm.model.tracing import Traced

if TYPE_CHECKING:
    import casadi as ca

Array = np.ndarray

STATIONS = 21
"""Sections of each link, evenly along its (free) length, both ends among them."""

SECTION = 9
"""Numbers of a section: place (3), own y axis (3), bending moments in y and z (2), distance from the undeformed (1)."""

LARGEST = 1e12
"""Of a coordinate that can be drawn, in SI units."""


def drawing(model: Traced) -> "ca.Function":
    """The CasADi Function (q, s) -> (stations, frames) that draws an arm; with p at last where the model varies.

    s magnifies the deflections: 1 as they are, 0 the rigid arm. The values lie in a column each, the last axis of
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
    """An arm at one configuration or many, to be drawn.

    Parameters
    ----------
    q : (..., n)
    magnified : float
        By what deflections are multiplied: 1 as they are, 0 the rigid arm, elastic joints where their motors are.

    Returns
    -------
    stations : (..., links, STATIONS, SECTION)
        Of each section its place [m] and its own y axis, in the base frame; bending moments in y and z [N m]; how far
        it is from where the undeformed link has it [m].
    frames : (..., links + 1, 3, 4)
        Axes, as columns, and origins of the links' base frames and of the payload's, in the base frame.

    Raises
    ------
    DescriptionError
        For a q that does not fit the arm.
    """
    q = model.argument("q", q)
    if np.abs(q).max(initial=0.0) > LARGEST:
        raise DescriptionError(f"q has {np.abs(q).max():g}; it must be at most {LARGEST:g} in size to be drawn")

    def trace() -> "ca.Function":
        import casadi as ca

        function = drawing(model)
        x = function.sx_in()
        return ca.Function("drawn", x, [ca.vertcat(*function(*x))])

    rows = np.column_stack([q.reshape(-1, q.shape[-1]), np.full(q.size // q.shape[-1], float(magnified))])
    found = model.compiled("drawn", trace).many(np.ascontiguousarray(rows))
    links, batch = len(model.arm.links), q.shape[:-1]
    stations, frames = np.split(found, [links * STATIONS * SECTION], axis=1)
    return stations.reshape(*batch, links, STATIONS, SECTION), frames.reshape(*batch, links + 1, 3, 4)
