"""User-defined shapes: functions from Python, or samples."""

import hashlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal, Self, final

import numpy as np
from pydantic import BeforeValidator, model_validator

from flexarm.checks import (
    ANY_SIZE,
    Fault,
    checked_list,
    checked_number,
    checked_numbers,
    counted,
    flag,
    shown,
)
from flexarm.errors import DescriptionError
from flexarm.shapes.basis import DIRECTIONS, Basis, Family, checked_count, scaled

FEWEST = 7
"""Least number of samples: a spline of fifth degree has six coefficients, and the clamped end is one more condition."""

MOST, NEAREST = 10_000, 1e-6
"""Largest number of samples, and least distance of two points, below which a spline's derivatives have no correct
digit."""

PANELS = tuple(np.linspace(0, 1, 9).tolist())


def _functions(value: object) -> Any:
    functions = checked_list(value, "a list of functions")
    for i, function in enumerate(functions):
        if not callable(function) or isinstance(function, type):
            raise Fault(f"[{i}]", f"is {shown(function)}; it must be a function f(x) or f(x, derivative)")
    return tuple(functions)


def _samples(value: object) -> Any:
    rows = checked_list(value, "a list of lists of numbers")
    return tuple(checked_numbers(row, part=f"[{i}]") for i, row in enumerate(rows))


def _points(value: object) -> Any:
    x = tuple(checked_number(item, part=f"[{i}]") for i, item in enumerate(checked_list(value, "a list of numbers")))
    if len(x) < FEWEST:
        raise Fault("", f"has {counted(len(x), 'point')}; it must have at least {FEWEST}")
    if len(x) > MOST:
        raise Fault("", f"has {counted(len(x), 'point')}; it must have at most {MOST}")
    if x[0] != 0 or x[-1] != 1 or any(b <= a for a, b in pairwise(x)):
        raise Fault("", f"is {shown(list(x))}; it must increase from 0 at the hub to 1 at the tip")
    for i, (a, b) in enumerate(pairwise(x), start=1):
        if b - a < NEAREST:
            raise Fault(f"[{i}]", f"is {b}, next to {a}; points must be {NEAREST:g} apart")
    return x


@final
class FreeForm(Family):
    """Shapes given as functions of x in [0, 1], or as samples that a spline of fifth degree interpolates.

    Parameters
    ----------
    functions : list of callables
        Each f(x) for an array x, smooth, or f(x, derivative) with derivatives of order 0 to 3.
    x : list of float
        Points from 0 at the hub to 1 at the tip, at least 7.
    values : list of lists
        Values of every shape at the points x.
    pinned : bool
        True if the shapes may have a slope at the hub. In torsion and stretch they always may, and tables set it there.
    scaled : bool
        True if they are scaled to a largest deflection of 1, positive at the tip, like every other family.
    """

    directions: ClassVar[tuple[str, ...]] = DIRECTIONS
    family: Literal["free-form"] = "free-form"
    functions: Annotated[tuple[Any, ...], BeforeValidator(_functions)] = ()
    x: Annotated[tuple[float, ...], BeforeValidator(_points)] | None = None
    values: Annotated[tuple[tuple[float, ...], ...], BeforeValidator(_samples)] = ()
    pinned: Annotated[bool, flag] = False
    scaled: Annotated[bool, flag] = True

    @model_validator(mode="after")
    def _holds_the_hub(self) -> Self:
        if bool(self.functions) == bool(self.values):
            problem = "are given together with values" if self.functions else "are missing"
            raise Fault("functions", f"{problem}; give either functions (from Python) or samples x and values")
        if bool(self.values) != (self.x is not None):
            raise Fault("x", "must be given with values, and only with values")
        for i, row in enumerate(self.values):
            if len(row) != len(self.x or ()):
                raise Fault(
                    f"values[{i}]",
                    f"has {counted(len(row), 'value')}; it must have {len(self.x or ())}, one for each x",
                )
        which, grid = "functions" if self.functions else "values", np.linspace(0, 1, 201)
        for i, piece in enumerate(self._pieces(clamped=False)):
            deflection, slope = piece(grid, 0), piece(grid, 1)
            if not np.abs(deflection).max() > 0:
                raise Fault(f"{which}[{i}]", "is zero everywhere")
            if not abs(deflection[0]) <= 1e-6 * np.abs(deflection).max():
                raise Fault(f"{which}[{i}]", f"is {deflection[0]:.6g} at the hub; it must be 0 there")
            # The slope of samples is an estimate. The spline then gets an exact zero.
            tolerance = 1e-6 if self.functions else 0.05
            if not self.pinned and not abs(slope[0]) <= tolerance * np.abs(slope).max():
                message = f"has the slope {slope[0]:.6g} at the hub; it must be 0 there, or pinned = true"
                raise Fault(f"{which}[{i}]", message)
        return self

    def refusal(self, count: int) -> str | None:
        """Return why there are not so many functions, or None."""
        most = len(self.functions or self.values)
        return f"the free-form family has only {most}" if checked_count(count) > most else None

    def basis(self, count: int) -> Basis:
        """Return the first `count` shapes. Raise `DescriptionError` if there are not so many."""
        if self.refusal(count):
            raise DescriptionError(f"free-form: count is {count}; {self.refusal(count)}")
        pieces = self._pieces(clamped=not self.pinned)[:count]
        basis = Basis(count, _Columns(tuple(pieces)), PANELS if self.x is None else self.x)
        return scaled(basis) if self.scaled else basis

    def _pieces(self, clamped: bool) -> list[Callable[[np.ndarray, int], np.ndarray]]:
        if self.functions:
            return [_smooth(function, i) for i, function in enumerate(self.functions)]
        x = np.array(self.x)
        return [_spline(x, np.array(row), clamped) for row in self.values]

    def written(self) -> dict[str, Any]:
        """Return the fields for `Arm.canonical`, in which functions are represented by a digest of their values."""
        if not self.functions:
            return dict(self)
        grid = np.linspace(0, 1, 101)
        values = [piece(grid, n) for piece in self._pieces(clamped=False) for n in range(4)]
        digest = hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()
        return {**dict(self), "functions": digest}


@dataclass(frozen=True)
class _Columns:
    pieces: tuple[Callable[[np.ndarray, int], np.ndarray], ...]

    def __call__(self, x: np.ndarray, n: int) -> np.ndarray:
        return np.column_stack([piece(x, n) for piece in self.pieces]) if self.pieces else np.zeros((x.size, 0))


@dataclass(frozen=True)
class _Given:
    function: Callable

    def __call__(self, x: np.ndarray, n: int) -> np.ndarray:
        return np.broadcast_to(np.asarray(self.function(x, n), dtype=float), x.shape)


@dataclass(frozen=True)
class _Series:
    """Chebyshev series of the function, and of its derivatives."""

    coefficients: tuple[np.ndarray, ...]

    def __call__(self, x: np.ndarray, n: int) -> np.ndarray:
        return np.polynomial.chebyshev.chebval(2 * x - 1, self.coefficients[n])


@dataclass(frozen=True)
class _Spline:
    spline: Any

    def __call__(self, x: np.ndarray, n: int) -> np.ndarray:
        return self.spline(x, n)


def _smooth(function, i):
    """Return the function with its derivatives, its own or those of a Chebyshev series that agrees to rounding."""
    x = np.linspace(0, 1, 5)
    given = _takes_derivative(function)
    try:
        samples = [np.asarray(function(x, n) if given else function(x), dtype=float) for n in range(4 if given else 1)]
        possible = all(y.shape in (x.shape, ()) and np.all(np.abs(y) <= ANY_SIZE[1]) for y in samples)
    except Exception as error:  # of any kind, since the function is the user's
        message = f"fails with {type(error).__name__}: {' '.join(str(error).split())}; it is called with an array x"
        raise Fault(f"functions[{i}]", message) from None
    if not possible:
        raise Fault(
            f"functions[{i}]", f"must give one finite number, at most {ANY_SIZE[1]} in size, for every x of an array"
        )
    if given:
        return _Given(function)
    chebyshev = np.polynomial.chebyshev
    for degree in (8, 16, 32, 64, 128):
        nodes = chebyshev.chebpts1(degree + 1)
        series = chebyshev.chebfit(nodes, np.broadcast_to(function((1 + nodes) / 2), nodes.shape), degree)
        unit = np.abs(series).max()
        if np.abs(series[-max(degree // 8, 2) :]).max() <= 1e-12 * unit:
            series = chebyshev.chebtrim(series, 4e-15 * unit)  # removes noise, which differentiation would magnify
            return _Series(tuple(chebyshev.chebder(series, n, scl=2) for n in range(4)))
    raise Fault(f"functions[{i}]", "is not smooth enough to differentiate; give it as f(x, derivative)")


def _takes_derivative(function):
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    places = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(p.kind in places and p.default is inspect.Parameter.empty for p in parameters) >= 2


def _spline(x, y, clamped):
    """Return the spline of fifth degree through the samples, without knots next to the ends; clamped: phi'(0) = 0."""
    from scipy.interpolate import make_interp_spline  # here, since a description needs no scipy

    inner = x[2:-3] if clamped else x[3:-3]
    knots = np.concatenate([np.repeat(x[0], 6), inner, np.repeat(x[-1], 6)])
    ends = ([(1, 0.0)], None) if clamped else None
    return _Spline(make_interp_spline(x, y, k=5, t=knots, bc_type=ends))
