"""What is looked for: numbers with a start, bounds and a size by which they are compared; and the search for them.

An arm's numbers differ by many powers of ten, kg beside N m^2. The search runs over z, which is zero at the start: the
logarithm of value / start for a number that must stay positive, else (value - start) / size. So a step of 0.1 means
a tenth more of a stiffness as of a mass, and a stiffness stays positive without being told.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from flexarm.errors import DescriptionError

Array = np.ndarray

Residuals = Callable[[Array], tuple[Array, Array]]
"""Of the values (k,): weighted residuals (N,), and their derivatives by the values (N, k)."""

WIDE = 1e4
"""A positive number is looked for between its start divided and multiplied by this, unless bounds are given."""

INSIDE = 1e-2
"""Of a number's size: so far inside its bounds a search begins."""

MOST = 200
"""Evaluations of the residuals."""


@final
@dataclass(frozen=True)
class Unknown:
    """A number that is looked for.

    Attributes
    ----------
    name, unit : str
        As in messages and tables: "elbow.stiffness", "offset of upper_drive".
    start : float
        Where the search begins.
    low, high : float
        Bounds.
    size : float
        A change of an unknown that is as large as itself; of a number with a logarithm that is its value.
    logarithmic : bool
        Whether the search runs over the logarithm; start and low are positive then.
    of_arm : bool
        Whether it is a parameter of the model; others are offsets, initial states, constants of currents.
    """

    name: str
    unit: str
    start: float
    low: float
    high: float
    size: float
    logarithmic: bool = False
    of_arm: bool = False

    def searched(self, value: Array | float) -> Array | float:
        """The z of a value."""
        return np.log(value / self.start) if self.logarithmic else (value - self.start) / self.size

    def value(self, z: float) -> float:
        """The value at z."""
        return self.start * math.exp(z) if self.logarithmic else self.start + self.size * z

    def slope(self, value: float) -> float:
        """dvalue / dz: what a change by itself is, [unit]."""
        return value if self.logarithmic else self.size


def positive(name: str, unit: str, start: float, of_arm: bool = False) -> Unknown:
    """A number that stays positive, between a ten thousandth of its start and ten thousand times it."""
    return Unknown(name, unit, start, start / WIDE, start * WIDE, start, logarithmic=True, of_arm=of_arm)


def signed(name: str, unit: str, start: float, size: float, of_arm: bool = False) -> Unknown:
    """A number of either sign; `size` says what a large change of it is."""
    return Unknown(name, unit, start, -math.inf, math.inf, size, of_arm=of_arm)


def bounded(unknown: Unknown, low: float, high: float) -> Unknown:
    """The same within bounds; raises `DescriptionError` where the start is outside, or there is nothing between."""
    if not low < high:
        raise DescriptionError(f"bounds of {unknown.name}: {low:g} is not below {high:g}")
    if not low <= unknown.start <= high:
        said = f"start of {unknown.name} is {unknown.start:g} {unknown.unit}".rstrip()
        raise DescriptionError(f"{said}; it must lie in its bounds, from {low:g} to {high:g}")
    logarithmic = unknown.logarithmic and low >= 0
    least = max(low, unknown.start / WIDE) if logarithmic else low
    return Unknown(unknown.name, unknown.unit, unknown.start, least, high, unknown.size, logarithmic, unknown.of_arm)


@final
@dataclass(frozen=True, eq=False)
class Found:
    """Where a search has ended.

    Attributes
    ----------
    values : (k,)
    residuals, jacobian : (N,), (N, k)
        There; derivatives by the values.
    evaluations : int
    converged : bool
    message : str
        SciPy's, why it ended.
    """

    values: Array
    residuals: Array
    jacobian: Array
    evaluations: int
    converged: bool
    message: str


def slopes(unknowns: Sequence[Unknown], values: Array) -> Array:
    """dvalue / dz of each unknown, (k,)."""
    return np.array([each.slope(value) for each, value in zip(unknowns, values, strict=True)])


def search(unknowns: Sequence[Unknown], residuals: Residuals, values: Array | None = None, rtol: float = 1e-9) -> Found:
    """The values that make the sum of squared residuals least, by SciPy's trust region method (trf).

    Parameters
    ----------
    unknowns : k of them
    residuals : function of (k,)
        May give NaN away from the start: the search then takes a shorter step.
    values : (k,), optional
        Where to begin, within the bounds; default each unknown's start.
    rtol : float
        It ends where neither the sum nor z changes by more than this share, or the gradient is as small.

    Raises
    ------
    DescriptionError
        Where the residuals are not finite at the start.
    """
    from scipy.optimize import least_squares

    kept: dict[bytes, tuple[Array, Array, Array]] = {}  # the last one: residuals and derivatives come together
    count = 0

    def at(z: Array) -> tuple[Array, Array, Array]:
        nonlocal count
        if (key := z.tobytes()) not in kept:
            count += 1
            there = np.array([each.value(x) for each, x in zip(unknowns, z, strict=True)])
            kept.clear()
            kept[key] = there, *residuals(there)
        return kept[key]

    low, high = (
        np.array([each.searched(x) for each, x in zip(unknowns, ends, strict=True)])
        for ends in ([each.low for each in unknowns], [each.high for each in unknowns])
    )
    begin = np.array([each.start for each in unknowns]) if values is None else values
    # from a start at a bound the method crawls, with steps as small as the distance to it
    inside = np.minimum(INSIDE, (high - low) / 10)
    z0 = np.clip([each.searched(x) for each, x in zip(unknowns, begin, strict=True)], low + inside, high - inside)
    if not np.isfinite(at(z0)[1]).all():
        raise DescriptionError("the motion at the start is not finite; begin nearer to the arm, or with shorter steps")

    def jacobian(z: Array) -> Array:
        there, _, J = at(z)
        return J * slopes(unknowns, there)

    done = least_squares(
        lambda z: at(z)[1],
        z0,
        jacobian,
        bounds=(low, high),
        method="trf",
        x_scale=1.0,
        ftol=rtol,
        xtol=rtol,
        gtol=rtol,
        max_nfev=MOST,
    )
    there, r, J = at(done.x)
    return Found(there, r, J, count, bool(done.success), str(done.message))
