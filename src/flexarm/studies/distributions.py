"""Distributions of a parameter's values about its nominal value, in the unit of the parameter."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Protocol, Self, final

import numpy as np
from pydantic import BeforeValidator, model_validator

from flexarm.arrays import Array
from flexarm.checks import (
    NOT_NEGATIVE,
    Described,
    Fault,
    by_type,
    called,
    checked_list,
    checked_number,
    checked_numbers,
    choices,
    counted,
    faulted,
    shown,
)
from flexarm.studies.amounts import AnyAmount, OptionalAmount, amount

EDGE = 1e-12
"""Distance from 0 and 1 to which a share of an unbounded distribution is limited."""


class Quantile(Protocol):
    """Quantile function of a distribution for a certain parameter."""

    @property
    def bounded(self) -> bool:
        """True if all values lie between two bounds."""

    def __call__(self, share: Array) -> Array:
        """Return the values below which these shares of the distribution lie, from 0 to 1."""

    def levels(self, count: int) -> Array:
        """Return values that represent the distribution on a grid: `count` of them, or all if it has a finite
        number."""


@final
class Uniform(Described):
    """Uniform distribution between two values.

    Parameters
    ----------
    low, high : float or str
        Bounds in the unit of the parameter. A text may include the unit ("12.5 kg") or be a share of the nominal value:
        "-10 %" is a tenth below it.
    """

    type: Literal["uniform"] = "uniform"
    low: AnyAmount
    high: AnyAmount

    def quantile(self, nominal: float | None, unit: str) -> Quantile:
        """Return the quantile function for a parameter. Raises `Fault`."""
        low, high = (getattr(self, name).place(nominal, unit, name) for name in ("low", "high"))
        if not low < high:
            raise Fault("high", f"is {self.high} and low is {self.low}; high must be larger")
        return Between(low, high)


@final
class Normal(Described):
    """Normal distribution about the nominal value, or about another mean. With bounds it is truncated.

    Parameters
    ----------
    deviation : float or str
        Standard deviation of the distribution without truncation.
    mean : float or str, optional
        Mean. Default: the nominal value.
    low, high : float or str, optional
        Bounds of the values.
    """

    type: Literal["normal"] = "normal"
    deviation: AnyAmount
    mean: OptionalAmount = None
    low: OptionalAmount = None
    high: OptionalAmount = None

    def quantile(self, nominal: float | None, unit: str) -> Quantile:
        """Return the quantile function for a parameter. Raises `Fault`."""
        mean = _middle(self.mean, nominal, unit, "mean")
        deviation = self.deviation.width(nominal, unit, "deviation")
        if not deviation > 0:
            raise Fault("deviation", f"is {self.deviation}; it must be positive")
        low = -np.inf if self.low is None else self.low.place(nominal, unit, "low")
        high = np.inf if self.high is None else self.high.place(nominal, unit, "high")
        if not low < high:
            raise Fault("high", f"is {self.high} and low is {self.low}; high must be larger")
        if low > mean + 6 * deviation or high < mean - 6 * deviation:
            raise Fault(
                "deviation", f"is {self.deviation}; almost no values are between low and high: give other bounds"
            )
        return Bell(mean, deviation, low, high)


@final
class LogNormal(Described):
    """Distribution with a normal logarithm. Values are positive, and half of the median is as likely as twice
    the median.

    Parameters
    ----------
    deviation : float or str
        Standard deviation of the logarithm, a number or in %: "10 %" is 0.1, or nearly a tenth of the median.
    median : float or str, optional
        Median. Default: the nominal value.
    """

    type: Literal["lognormal"] = "lognormal"
    deviation: AnyAmount
    median: OptionalAmount = None

    def quantile(self, nominal: float | None, unit: str) -> Quantile:
        """Return the quantile function for a parameter. Raises `Fault`."""
        median = _middle(self.median, nominal, unit, "median")
        if not median > 0:
            raise Fault("median", f"is {median:g}; it must be positive")
        deviation = self.deviation.width(1.0, "", "deviation")
        if not deviation > 0:
            raise Fault("deviation", f"is {self.deviation}; it must be positive")
        return Exponential(Bell(float(np.log(median)), deviation, -np.inf, np.inf))


@final
class Choice(Described):
    """Choice from a list of values. A grid takes each of them.

    Parameters
    ----------
    values : list of float or str
        Numbers as in `Uniform`, or words for a scenario's field that is a word.
    weights : list of float, optional
        Relative frequencies of the values. Default: all equal.
    """

    type: Literal["choice"] = "choice"
    values: Annotated[Any, BeforeValidator(lambda value: tuple(_values(value)))]
    weights: Annotated[Any, BeforeValidator(lambda value: value and checked_numbers(value, "", NOT_NEGATIVE))] = None

    @model_validator(mode="after")
    def _weights_fit(self) -> Self:
        if self.weights is not None and len(self.weights) != len(self.values):
            raise Fault(
                "weights",
                f"has {counted(len(self.weights), 'number')}; it must have "
                f"one for each of the {counted(len(self.values), 'value')}",
            )
        if self.weights is not None and not sum(self.weights) > 0:
            raise Fault("weights", "are all zero; one must be positive")
        return self

    def quantile(self, nominal: float | str | None, unit: str) -> Quantile:
        """Return the quantile function for a parameter. Raises `Fault`."""
        weights = np.array(self.weights or [1.0] * len(self.values), dtype=float)
        written = [isinstance(value, str) for value in self.values]
        if isinstance(nominal, str) or (nominal is None and all(written)):
            return Listed(np.array(list(map(str, self.values))), weights)
        places = [
            amount(value, f"values[{i}]").place(nominal, unit, f"values[{i}]") for i, value in enumerate(self.values)
        ]
        return Listed(np.array(places), weights)


Distribution = Uniform | Normal | LogNormal | Choice
KINDS = by_type(Distribution)


def distribution(value: object) -> Distribution:
    """Return a distribution from itself, a table with its type, or a list of values. Raises `Fault`."""
    if isinstance(value, Distribution):
        return value
    if isinstance(value, Mapping):
        kind = value.get("type")
        if not isinstance(kind, str) or kind not in KINDS:
            said = "is missing" if kind is None else f"is {shown(kind)}"
            raise Fault("type", f"{said}; it must be {choices(*map(repr, KINDS))}")
        return faulted(KINDS[kind], value)  # type: ignore[no-any-return]
    if isinstance(value, list | tuple | np.ndarray):
        return faulted(Choice, {"values": value})  # type: ignore[no-any-return]
    raise Fault("", f"is {called(value)}; it must be a list of values or a distribution: {choices(*map(repr, KINDS))}")


def _values(value: object) -> list[Any]:
    items = checked_list(value, "a list of values")
    if not items:
        raise Fault("", "is empty; it must have at least one value")
    return [item if isinstance(item, str) else checked_number(item, part=f"[{i}]") for i, item in enumerate(items)]


def _middle(given: Any, nominal: float | None, unit: str, part: str) -> float:
    if given is not None:
        return given.place(nominal, unit, part)  # type: ignore[no-any-return]
    if nominal is None:
        raise Fault(part, "is missing; there is no nominal value")
    return nominal


# -- quantile functions ------------------------------------------------------------------------------------------------


@final
class Between:
    """Quantile function of a uniform distribution between two values."""

    bounded = True

    def __init__(self, low: float, high: float):
        self._low, self._high = low, high

    def __call__(self, share: Array) -> Array:
        return self._low + (self._high - self._low) * share

    def levels(self, count: int) -> Array:
        """Return equally spaced values from one bound to the other."""
        return np.linspace(self._low, self._high, count) if count > 1 else self(np.array([0.5]))


@final
class Bell:
    """Quantile function of a normal distribution, which may be truncated."""

    def __init__(self, mean: float, deviation: float, low: float, high: float):
        self._mean, self._deviation = mean, deviation
        self._ends = (low - mean) / deviation, (high - mean) / deviation
        self.bounded = bool(np.isfinite([low, high]).all())

    def __call__(self, share: Array) -> Array:
        from scipy.stats import truncnorm

        inside = share if self.bounded else np.clip(share, EDGE, 1.0 - EDGE)
        return self._mean + self._deviation * truncnorm.ppf(inside, *self._ends)

    def levels(self, count: int) -> Array:
        """Return the medians of `count` equally likely parts."""
        return self((np.arange(count) + 0.5) / count)


@final
class Exponential:
    """Quantile function of the exponential of another distribution."""

    def __init__(self, inner: Bell):
        self._inner = inner
        self.bounded = inner.bounded

    def __call__(self, share: Array) -> Array:
        return np.exp(self._inner(share))

    def levels(self, count: int) -> Array:
        """Return the exponentials of the other distribution's values."""
        return np.exp(self._inner.levels(count))


@final
class Listed:
    """Quantile function of a choice from a list of values."""

    bounded = True

    def __init__(self, values: Array, weights: Array):
        self._values = values
        self._edges = np.cumsum(weights / weights.sum())[:-1]

    def __call__(self, share: Array) -> Array:
        return self._values[np.searchsorted(self._edges, share, side="right")]

    def levels(self, count: int) -> Array:
        """Return all values."""
        return self._values
