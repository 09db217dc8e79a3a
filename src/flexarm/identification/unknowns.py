"""Unknowns of an identification, with initial guess, bounds and size, and the search for them.

The parameters of an arm differ by many powers of ten, kg beside N m^2. The search variable z is zero at the initial
guess. It is the logarithm of value / start for a parameter that must stay positive, else (value - start) / size. A step
of 0.1 is therefore a relative change of a tenth, of a stiffness as of a mass, and a stiffness stays positive.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from flexarm.arrays import Array
from flexarm.errors import DescriptionError

Residuals = Callable[[Array], tuple[Array, Array]]
"""Function of the values (k,): weighted residuals (N,), and their derivatives in the values (N, k)."""

WIDE = 1e4
"""Default bounds of a positive parameter: its initial guess divided and multiplied by this factor."""

INSIDE = 1e-2
"""Distance from its bounds at which a search begins, relative to a parameter's size."""

MOST = 200
"""Largest number of evaluations of the residuals."""


@final
@dataclass(frozen=True)
class Unknown:
    """An unknown of an identification.

    Attributes
    ----------
    name, unit : str
        As in messages and tables: "elbow.stiffness", "offset of upper_drive".
    start : float
        Initial guess.
    low, high : float
        Bounds.
    size : float
        A large change of the unknown; for a logarithmic one its value.
    logarithmic : bool
        True if the search variable is the logarithm; start and low are then positive.
    of_arm : bool
        True for a parameter of the model; other unknowns are offsets, initial states, motor constants.
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
        """Search variable z of a value."""
        return np.log(value / self.start) if self.logarithmic else (value - self.start) / self.size

    def value(self, z: float) -> float:
        """Value at z."""
        return self.start * math.exp(z) if self.logarithmic else self.start + self.size * z

    def slope(self, value: float) -> float:
        """Derivative dvalue / dz [unit]."""
        return value if self.logarithmic else self.size


def positive(name: str, unit: str, start: float, of_arm: bool = False) -> Unknown:
    """Return a positive unknown, between a ten thousandth of its initial guess and ten thousand times it."""
    return Unknown(name, unit, start, start / WIDE, start * WIDE, start, logarithmic=True, of_arm=of_arm)


def signed(name: str, unit: str, start: float, size: float, of_arm: bool = False) -> Unknown:
    """Return an unknown of either sign, with `size` as a large change."""
    return Unknown(name, unit, start, -math.inf, math.inf, size, of_arm=of_arm)


def bounded(unknown: Unknown, low: float, high: float) -> Unknown:
    """Return the unknown with bounds.

    Raises `DescriptionError` if they do not contain the initial guess or are empty.
    """
    if not low < high:
        raise DescriptionError(f"bounds of {unknown.name}: {low:g} is not below {high:g}")
    if not low <= unknown.start <= high:
        said = f"start of {unknown.name} is {unknown.start:g} {unknown.unit}".rstrip()
        raise DescriptionError(f"{said}; it must be within its bounds, from {low:g} to {high:g}")
    logarithmic = unknown.logarithmic and low >= 0
    least = max(low, unknown.start / WIDE) if logarithmic else low
    return Unknown(unknown.name, unknown.unit, unknown.start, least, high, unknown.size, logarithmic, unknown.of_arm)


@final
@dataclass(frozen=True, eq=False)
class Found:
    """Result of a search.

    Attributes
    ----------
    values : (k,)
    residuals, jacobian : (N,), (N, k)
        Residuals at the values, and their derivatives in the values.
    evaluations : int
    converged : bool
    message : str
        SciPy's reason for the end of the search.
    """

    values: Array
    residuals: Array
    jacobian: Array
    evaluations: int
    converged: bool
    message: str


def slopes(unknowns: Sequence[Unknown], values: Array) -> Array:
    """Derivative dvalue / dz of each unknown, (k,)."""
    return np.array([each.slope(value) for each, value in zip(unknowns, values, strict=True)])


def search(unknowns: Sequence[Unknown], residuals: Residuals, values: Array | None = None, rtol: float = 1e-9) -> Found:
    """Minimise the sum of squared residuals by SciPy's trust region method (trf).

    Parameters
    ----------
    unknowns : k of them
    residuals : function of (k,)
        May return NaN away from the initial guess; the search then takes a shorter step.
    values : (k,), optional
        Initial guess, within the bounds; default each unknown's start.
    rtol : float
        The search ends if neither the sum nor z changes by more than this share, or if the gradient is as small.

    Raises
    ------
    DescriptionError
        If the residuals are not finite at the initial guess.
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
    # from an initial guess at a bound the method takes steps as small as the distance to it
    inside = np.minimum(INSIDE, (high - low) / 10)
    z0 = np.clip([each.searched(x) for each, x in zip(unknowns, begin, strict=True)], low + inside, high - inside)
    if not np.isfinite(at(z0)[1]).all():
        raise DescriptionError(
            "the motion at the start is not finite; use a start closer to the true values, or shorter steps"
        )

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
