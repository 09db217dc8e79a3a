"""Shapes of a telescope's beam as functions of its free length. They may follow the ratio of the load to the beam."""

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, final

import numpy as np

from flexarm.cached import cached_property
from flexarm.description.arm import Beam, Telescope
from flexarm.description.joints import SHORTEST
from flexarm.mechanics.body import Loads
from flexarm.mechanics.series import Series, interpolated, nodes
from flexarm.shapes import BENDING, DIRECTIONS, Basis, ClampedMass, TipLoad, family, fitted, quadrature
from flexarm.shapes.loaded import loaded_sensitivity, roots_along

VALUES, SLOPES = (dict.fromkeys(DIRECTIONS, order) for order in (0, 1))
STRAINS = {d: 2 if d in BENDING else 1 for d in DIRECTIONS}
"""Orders of the shapes' derivatives that are their values, slopes and strains, by direction.

Strains are curvatures in bending, slopes in torsion and stretch.
"""


@final
@dataclass(frozen=True, eq=False)
class ShapesAlong:
    """Shapes of a telescope's beam as functions of the free length, as `Series` over all its modes.

    Attributes
    ----------
    x, weights : (points,)
        Quadrature points of the free part, from 0 to 1, and their weights.
    lengths : (lengths,)
        Free lengths at which the shapes are known: one if they do not depend on it.
    low, high : float
        Range of the free length [m].
    bases : direction -> (lengths,)
        The shapes at each length.
    factors : direction -> (lengths,)
        Factors of the shapes at each length, one for each mode.
    """

    x: np.ndarray
    weights: np.ndarray
    lengths: np.ndarray
    low: float
    high: float
    bases: dict[str, list[Basis]]
    factors: dict[str, list[np.ndarray]]
    ends: dict[float, Series] = field(default_factory=dict, repr=False)
    """Cache of `ends_at`."""

    @cached_property
    def values(self) -> Series:
        """Shapes at the quadrature points, (points, modes) in one row."""
        return self._series(self.x, VALUES)

    @cached_property
    def slopes(self) -> Series:
        """Slopes of the shapes at the quadrature points."""
        return self._series(self.x, SLOPES)

    @cached_property
    def strains(self) -> Series:
        """Strains of the shapes at the quadrature points: curvatures in bending, slopes in torsion and stretch."""
        return self._series(self.x, STRAINS)

    def strains_at(self, station: float) -> Series:
        """Return the strains of all modes at a station."""
        return self._series(station, STRAINS)

    def ends_at(self, station: float) -> Series:
        """Return the deflections of all modes at a station, then the slopes of those that bend."""
        if station not in self.ends:
            both = [self._series(station, orders).coefficients for orders in (VALUES, dict.fromkeys(BENDING, 1))]
            terms = max(len(c) for c in both)
            padded = np.hstack([np.pad(c, ((0, terms - len(c)), (0, 0))) for c in both])
            self.ends[station] = Series(self.low, self.high, padded)
        return self.ends[station]

    def _series(self, points: np.ndarray | float, orders: dict[str, int]) -> Series:
        """Return derivatives of the shapes, for the directions that have an order."""
        chosen = [d for d in self.bases if d in orders]
        rows = [
            np.hstack([self.bases[d][i].values(points, orders[d]) * self.factors[d][i] for d in chosen]).ravel()
            for i in range(len(self.lengths))
        ]
        return interpolated(self.low, self.high, self.lengths, np.array(rows))


def shapes_along(description: Beam, joint: Telescope, loads: Loads, rest: float) -> ShapesAlong:
    """Return the shapes of a telescope's beam. They are scaled to a largest deflection of 1 at the length `rest`."""
    return _shapes_along(_Itself(description), _Itself(joint), tuple(loads.items()), rest)


@final
@dataclass(frozen=True, eq=False)
class _Itself:
    """A description as a key of a cache. It equals no other description, even if all fields are the same."""

    of: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Itself) and self.of is other.of

    def __hash__(self) -> int:
        return id(self.of)


@lru_cache(maxsize=8)  # a chain asks several times for each of its telescopes
def _shapes_along(
    beam: _Itself, telescope: _Itself, tip_loads: tuple[tuple[str, TipLoad], ...], rest: float
) -> ShapesAlong:
    description, joint, loads = beam.of, telescope.of, dict(tip_loads)
    low, high, counts = SHORTEST * description.length, description.length, description.counts
    follows = [d for d, changes in following(description, joint).items() if changes]
    lengths = nodes(low, high) if follows else np.array([rest])
    used = [d for d in DIRECTIONS if d in BENDING or counts[d]]
    families = {d: _family(description, d, loads[d], rest) for d in used}
    at_rest = {d: f.basis(counts[d]) for d, f in families.items()}

    bases = {d: [basis] * len(lengths) for d, basis in at_rest.items()}
    alike = counts["y"] == counts["z"] and families["y"] == families["z"] and loads["y"] == loads["z"]
    for d in follows:
        same = d == "z" and "y" in follows and alike
        bases[d] = bases["y"] if same else _loaded_bases(description, joint, d, loads[d], rest, lengths)
    x, weights = quadrature(*(along[0] for along in bases.values()))
    factors = {d: [_scale(basis.values(x), at_rest[d].values(x), weights) for basis in bases[d]] for d in used}
    return ShapesAlong(x, weights, lengths, low, high, bases, factors)


def _family(description: Beam, direction: str, load: TipLoad, length: float) -> Any:
    """Return the family of a plane for the beam with this free length."""
    per_length = {} if description.mass is None else {"mass": None, "mass_per_length": description.m}
    free = description.replace(length=length, **per_length)
    return fitted(description.families[direction], free, direction, load)


def following(description: Beam, joint: Telescope) -> dict[str, bool]:
    """Return, for each plane, True if its shapes change with the ratio of a load in SI units to the free beam."""
    families = {d: family(description.families[d], d) for d in BENDING}
    solved = joint.wave_numbers != "fixed"
    return {
        d: solved and description.counts[d] > 0 and isinstance(f, ClampedMass) and not f.in_ratios
        for d, f in families.items()
    }


def _scale(values: np.ndarray, known: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return factors that give shapes the integral of the square, and the sign, of known ones."""
    size = np.sqrt((weights @ known**2) / (weights @ values**2))
    return size * np.where(weights @ (values * known) < 0, -1.0, 1.0)


def _loaded_bases(
    description: Beam, joint: Telescope, direction: str, load: TipLoad, rest: float, lengths: np.ndarray
) -> list[Basis]:
    """Return a plane's shapes at each length, with wave numbers from eq. 9, or from eq. 11 integrated from `rest`."""
    count = description.counts[direction]
    if joint.wave_numbers == "solved":
        beta = roots_along(count, _ratios(description, direction, load, rest, lengths))
    else:
        beta = integrated_wave_numbers(description, direction, load, count, rest, lengths)
    families = [_family(description, direction, load, float(length)) for length in lengths]
    return [f.basis(count, b) for f, b in zip(families, beta, strict=True)]


def _ratios(description: Beam, direction: str, load: TipLoad, rest: float, lengths: np.ndarray) -> np.ndarray:
    """Return M / (m l), I / (m l^3) and M_D / (m l^2) at each length, (lengths, 3)."""
    known = np.array(_family(description, direction, load, rest).ratios)
    return known * (rest / lengths)[:, None] ** np.array([1, 3, 2])


def integrated_wave_numbers(
    description: Beam, direction: str, load: TipLoad, count: int, rest: float, lengths: np.ndarray
) -> np.ndarray:
    """Return beta at each length (lengths, count) from the differential form of the frequency equation (eq. 11).

    The integration begins at `rest`. In time the equation is d beta / dt = (f1 / f2) l_dot. Only l enters, so that it
    is integrated over l once, instead of adding states to every run.
    """
    from scipy.integrate import solve_ivp

    powers = np.array([1, 3, 2])  # of 1 / l in M / (m l), I / (m l^3), M_D / (m l^2)
    at_rest = _family(description, direction, load, rest)

    def rate(length: float, beta: np.ndarray) -> np.ndarray:
        ratios = at_rest.ratios * (rest / length) ** powers
        return loaded_sensitivity(beta, *ratios) @ (-powers * ratios / length)

    start = at_rest.roots(count)
    found = np.empty((len(lengths), count))
    for side in (lengths <= rest, lengths > rest):
        ends = np.sort(lengths[side])
        ends = ends[::-1] if (ends < rest).any() else ends  # outward from `rest` on either side
        if len(ends):
            path = solve_ivp(rate, (rest, ends[-1]), start, "DOP853", t_eval=ends, rtol=1e-12, atol=1e-13)
            found[[int(np.flatnonzero(lengths == e)[0]) for e in ends]] = path.y.T
    return found
