"""Limited quantities that are functions of the configuration: deflections, bending moments, tip position, clearances.

Each is a CasADi function that is traced from the model's own.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

import numpy as np

from flexarm.arrays import Array
from flexarm.description.arm import Beam
from flexarm.errors import DescriptionError
from flexarm.model import Model
from flexarm.optimal.limits import Limits
from flexarm.optimal.obstacles import clearances, moved
from flexarm.sensors import StrainGauge

if TYPE_CHECKING:
    import casadi as ca

MEASURED = ("deflection", "moment", "tip_box", "obstacles")
"""Limits that are functions of the configuration alone."""

SLACK = 1e-9
"""Relative amount by which rounding may take a quantity beyond its limit."""


@final
@dataclass(frozen=True, eq=False)
class Measure:
    """A limit of the form lower <= y(q) <= upper.

    Attributes
    ----------
    name : str
        Name of the limit.
    function : casadi.Function
        Maps q (nq,) to y (k,), over SX.
    lower, upper : (k,)
    rows : (k,)
        Names of the entries of y.
    unit : str
    """

    name: str
    function: "ca.Function"
    lower: Array
    upper: Array
    rows: tuple[str, ...] = field(repr=False)
    unit: str

    def values(self, q: Array) -> Array:
        """Return y at one configuration, (k,)."""
        return np.array(self.function(q)).ravel()

    def along(self, q: Array) -> Array:
        """Return y at configurations (k, nq), (k, rows)."""
        return np.array(self.function.map(len(q))(np.ascontiguousarray(q.T))).T

    def beyond(self, q: Array) -> str | None:
        """Return a message about the entry of y that is furthest beyond its limits at a configuration, or None."""
        y = self.values(q)
        over = np.maximum(self.lower - y, y - self.upper)
        if not (over > SLACK * (1.0 + np.abs(y))).any():
            return None
        i = int(np.argmax(over))
        most, least = f"{self.upper[i]:.4g} {self.unit}", f"{self.lower[i]:.4g} {self.unit}"
        allowed = f"at most {most}" if y[i] > self.upper[i] else f"at least {least}"
        return f"{self.rows[i]} is {y[i]:.4g} {self.unit}; limits.{self.name} allows {allowed}"


Row = tuple[str, Any, float, float]
"""Name of a quantity, its expression, and its lower and upper limit."""


def measures(model: Model, limits: Limits) -> list[Measure]:
    """Return the given limits that are functions of the configuration alone.

    Raises `DescriptionError` if a quantity that no joint changes is beyond its limit.
    """
    import casadi as ca

    q = ca.SX.sym("q", model.nq)
    links, bends = len(model.arm.links), limits.sizes("deflection", len(model.arm.links))
    sizes = limits.sizes("moment", links)
    rows: dict[str, tuple[str, list[Row]]] = {
        "deflection": ("m", [(*row, -bends[i], bends[i]) for i, *row in _deflections(model, q) if bends[i] < np.inf]),
        "moment": ("N m", []),
        "tip_box": ("m", _tip_box(model, q, limits)),
        "obstacles": ("m", []),
    }
    if np.isfinite(sizes).any():
        moments = _moments(model, q, limits.moment_at)
        rows["moment"] = ("N m", [(*row, -sizes[i], sizes[i]) for i, *row in moments if sizes[i] < np.inf])
    if limits.obstacles:
        radius = np.broadcast_to(limits.link_radius, (links,))
        named = zip(*clearances(model, limits.obstacles, radius, q), strict=True)
        rows["obstacles"] = ("m", [(*row, 0.0, np.inf) for row in named])
    return [_measure(name, unit, q, own) for name, (unit, own) in rows.items() if own]


def peaks(model: Model, names: Sequence[str], at: Sequence[float] = (0.0,)) -> list[Measure]:
    """Return the quantities whose largest value an objective may include, without limits.

    They are "deflection" [m] of the tips of all links that bend, and "moment" [N m] in these links at the stations
    `at`, each in both planes. Raises `DescriptionError` if no link of the arm bends.
    """
    import casadi as ca

    q = ca.SX.sym("q", model.nq)
    found = []
    for name in names:
        own = _deflections(model, q) if name == "deflection" else _moments(model, q, at)
        if not own:
            raise DescriptionError(f"objective.{name}: arm {model.arm.name!r} has no flexible link; leave it out")
        unit = "m" if name == "deflection" else "N m"
        found.append(_measure(name, unit, q, [(label, y, -np.inf, np.inf) for _, label, y in own]))
    return found


def _measure(name: str, unit: str, q: "ca.SX", rows: list[Row]) -> Measure:
    import casadi as ca

    labels, y, lower, upper = zip(*rows, strict=True)
    function = ca.Function(name, [q], [ca.cse(ca.densify(ca.vertcat(*y)))])
    return Measure(name, function, np.array(lower), np.array(upper), labels, unit)


def _deflections(model: Model, q: "ca.SX") -> list[tuple[int, str, Any]]:
    """Tip deflections of links that bend, along y and z of their own frames: index of the link, name, expression."""
    shape = model.fixed("deflections")(q)
    found = [(i, axis) for i in range(shape.shape[0]) for axis in (1, 2)]
    moves = moved(model, q, [shape[i, axis] for i, axis in found])
    names = [link.name for link in model.arm.links]
    return [
        (i, f"the deflection of {names[i]!r} along {'xyz'[axis]}", shape[i, axis])
        for (i, axis), moving in zip(found, moves, strict=True)
        if moving
    ]


def _moments(model: Model, q: "ca.SX", at: Sequence[float]) -> list[tuple[int, str, Any]]:
    """Bending moments of links that bend, in each plane and at each station, as strain gauges measure them."""
    gauges: list[StrainGauge] = []
    found = []
    for i, link in enumerate(model.arm.links):
        for plane in "yz":
            if isinstance(link.body, Beam) and link.body.counts[plane]:
                for x in at:
                    gauges.append(StrainGauge(link=link.name, at=x, plane=plane, name=f"m{len(gauges)}"))
                    found.append((i, f"the bending moment of {link.name!r} in {plane} at {x:g}"))
    if not gauges:
        return []
    still = np.zeros(model.nv)
    y = model.with_numbers(model.output_function(gauges))(q, still, still)
    return [(*each, y[k]) for k, each in enumerate(found)]


def _tip_box(model: Model, q: "ca.SX", limits: Limits) -> list[Row]:
    if limits.tip_box is None:
        return []
    p = model.fixed("tip")(q)[:3, 3]
    rows: list[Row] = [(f"the tip's {axis}", p[k], *limits.tip_box[k]) for k, axis in enumerate("xyz")]
    place, moves = model.tip(np.array(model.arm.rest))[:3, 3], moved(model, q, [row[1] for row in rows])
    for (name, _, low, high), value, moving in zip(rows, place, moves, strict=True):
        if not moving and not low - SLACK <= value <= high + SLACK:
            allowed = f"it must be from {low:g} to {high:g}"
            raise DescriptionError(f"limits.tip_box: {name} is {value:.4g} m for all motions; {allowed}")
    bounded = [row for row, moving in zip(rows, moves, strict=True) if moving]
    return [row for row in bounded if np.isfinite(row[2:]).any()]
