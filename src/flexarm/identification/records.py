"""Measured data: signals by name at a sample rate, checked on input."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np

from flexarm.arrays import Array
from flexarm.checks import (
    POSITIVE,
    Fault,
    advised,
    checked_array,
    checked_number,
    counted,
    did_you_mean,
    refused,
    shown,
    unknown_name,
)
from flexarm.errors import DescriptionError

EVEN = 1e-3
"""Share of a sample time by which single samples may be early or late."""

LEAST = 8
"""Least number of samples of a record."""


@final
@dataclass(frozen=True, eq=False)
class Record:
    """Signals that were measured together.

    Attributes
    ----------
    name : str
        "record 1", or the name in the data.
    t : (T,)
        [s], evenly spaced.
    signals : dict
        Arrays (T,) or (T, m) by name.
    units, labels : dict
        Unit of each array, if it has one, and the labels of the columns of an array (T, m), if it has some.
    """

    name: str
    t: Array
    signals: dict[str, Array]
    units: dict[str, str] = field(default_factory=dict)
    labels: dict[str, tuple[Any, ...]] = field(default_factory=dict)

    @property
    def dt(self) -> float:
        """Time from one sample to the next [s]."""
        return float((self.t[-1] - self.t[0]) / (len(self.t) - 1))

    def columns(self, name: str) -> dict[str, Array]:
        """Return the signals (T,) of an array by their names: "u", or "u[0]", "u[1]", ... for an array (T, m)."""
        x = self.signals[name]
        if x.ndim == 1:
            return {name: x}
        return {f"{name}[{label}]": x[:, j] for j, label in enumerate(self.labels.get(name, range(x.shape[1])))}

    def signal(self, name: str, whose: str) -> Array:
        """Return a signal (T,); raises `DescriptionError` if the name is unknown or the array has several columns."""
        if not isinstance(name, str) or name not in self.signals:
            problem, hint = f"{self.name} has no {shown(name)} for {whose}", did_you_mean(name, self.signals)
            raise DescriptionError(advised(problem, hint, f"it has {', '.join(self.signals)}"))
        x = self.signals[name]
        if x.ndim != 1:
            raise DescriptionError(
                f"{self.name}: {name} has {counted(x.shape[1], 'column')}; for {whose} it must be one signal"
            )
        return x

    def u(self, names: Sequence[str]) -> Array:
        """Return the signal u (T, k), with a column for each of k inputs.

        Raises `DescriptionError` if there is none, or if the columns are not as many as the names.
        """
        asked = ", ".join(names)
        if "u" not in self.signals:
            must = f"give the signals of {asked} as inputs={{...}}"
            raise DescriptionError(f"{self.name} has no signal 'u' but {', '.join(self.signals)}; {must}")
        u = self.signals["u"].reshape(len(self.t), -1)
        if u.shape[1] != len(names):
            has = f"{counted(u.shape[1], 'column')} for {counted(len(names), 'input')}"
            raise DescriptionError(f"{self.name}: u has {has}: {asked}")
        return u


TIMES = ("time", "time [s]", "t", "t [s]")
"""Names of the times [s]: of an array in a dict, or of the column or the index of a DataFrame."""


def over_time(data: Any) -> Any:
    """Return a DataFrame as a Dataset over time, or as a dict of arrays if it has no times. Return others unchanged."""
    from pandas import DataFrame  # type: ignore[import-untyped]
    from xarray import Dataset

    if not isinstance(data, DataFrame):
        return data
    column = next((name for name in data.columns if name in TIMES), None)
    signals = {str(name): x.to_numpy() for name, x in data.items() if name != column}
    if column is None and data.index.name not in TIMES:
        return signals
    times = data.index if column is None else data[column]
    return Dataset({name: ("time", x) for name, x in signals.items()}, coords={"time": times.to_numpy()})


def records(data: Any, sample_rate: float | None, names: Sequence[str] | None = None) -> tuple[Record, ...]:
    """Return one record or several, each from a Dataset over time, a DataFrame or arrays by name.

    With `names` the records have these signals alone, and gaps of others do not matter.

    Raises `DescriptionError` for gaps, NaN, uneven times, times that do not fit the sample rate, or unknown names.
    """
    with refused("data"):
        if sample_rate is not None:
            checked_number(sample_rate, "1/s", POSITIVE, "sample_rate")
    several = list(data) if isinstance(data, list | tuple) else [data]
    if not several:
        raise DescriptionError("data is empty; it must be a Dataset, a DataFrame, a dict of arrays, or a list of them")
    found = [_record(over_time(each), f"record {i}", sample_rate, names) for i, each in enumerate(several, start=1)]
    if len({each.name for each in found}) < len(found):
        found = [replace(each, name=f"record {i}") for i, each in enumerate(found, start=1)]
    return tuple(found)


def _record(data: Any, name: str, sample_rate: float | None, names: Sequence[str] | None) -> Record:
    from xarray import Dataset

    units: dict[str, str] = {}
    labels: dict[str, tuple[Any, ...]] = {}
    column = next((key for key in data if key in TIMES), None) if isinstance(data, Mapping) else None
    times = None if column is None or isinstance(data, Dataset) else _array(name, column, data[column])
    if names is not None and isinstance(data, Mapping):
        for each in names:
            if each not in data:
                raise DescriptionError(unknown_name(f"{name} has no signal", each, map(str, data), "its signals are"))
        data = data[[*names]] if isinstance(data, Dataset) else {each: data[each] for each in names}
    if isinstance(data, Dataset):
        t, signals = _of_dataset(data, name, sample_rate)
        units = {key: str(data[key].attrs["units"]) for key in signals if "units" in data[key].attrs}
        for key, x in signals.items():
            across = [d for d in data[key].dims if not str(d).startswith("time")]
            if x.ndim == 2 and across[0] in data.coords:
                labels[key] = tuple(data.coords[across[0]].values.tolist())
    elif isinstance(data, Mapping):
        signals = {str(key): _array(name, str(key), value) for key, value in data.items() if key != column}
        if times is not None:
            if times.ndim != 1:
                raise DescriptionError(f"{name}: {column} has shape {times.shape}; it must be (samples,)")
            t = times
            _check_even(name, t, sample_rate)
        elif sample_rate is not None:
            t = np.arange(max((len(x) for x in signals.values()), default=0)) / sample_rate
        else:
            raise DescriptionError(
                f"{name}: sample_rate is missing; arrays and a DataFrame without 'time' have no times"
            )
    else:
        must = "it must be a Dataset, a DataFrame, or a dict of arrays by name with 'time' or a sample_rate"
        raise DescriptionError(f"{name} is {shown(data)}; {must}")
    if not signals:
        raise DescriptionError(f"{name} has no signals")
    for key, x in signals.items():
        if len(x) != len(t):
            raise DescriptionError(
                f"{name}: {key} has {counted(len(x), 'sample')} and others {len(t)}; the numbers must be equal"
            )
        _check_whole(name, key, x, t)
    if len(t) < LEAST:
        raise DescriptionError(f"{name} has {counted(len(t), 'sample')}; it must have at least {LEAST}")
    return Record(name, t, signals, units, labels)


def _array(where: str, name: str, value: Any) -> Array:
    with refused(where):
        x = checked_array(value, name, finite=False)
        if x.ndim not in (1, 2):
            raise Fault(name, f"has shape {x.shape}; it must be (samples,) or (samples, signals)")
    return x


def _of_dataset(data: Any, name: str, sample_rate: float | None) -> tuple[Array, dict[str, Array]]:
    """Times and signals of a Dataset: variables over its one time dimension, such as "time" or "time_0_001"."""
    named = data.attrs.get("record")
    name = named if isinstance(named, str) else name
    dimensions = sorted({str(d) for d in data.dims if str(d).startswith("time") and d in data.coords})
    if len(dimensions) != 1:
        had = ", ".join(map(str, data.dims))
        must = "it must have one dimension of time with its times, all signals at one rate"
        raise DescriptionError(f"{name}: {must}; its dimensions are {had}")
    (time,) = dimensions
    signals = {
        str(key): _array(name, str(key), x.transpose(time, ...).values)
        for key, x in data.data_vars.items()
        if time in x.dims and x.ndim <= 2 and x.dtype.kind in "iuf"
    }
    unit = data[time].attrs.get("units", "s")
    if unit not in ("s", "sec", "second", "seconds"):
        raise DescriptionError(f"{name}: its {time} is in {shown(unit)}; it must be in s")
    t = _array(name, time, data[time].values)
    _check_even(name, t, sample_rate)
    return t, signals


def _check_even(name: str, t: Array, sample_rate: float | None) -> None:
    """Raise `DescriptionError` for missing, repeated or uneven times, or times that do not fit the sample rate."""
    if not np.isfinite(t).all():
        raise DescriptionError(f"{name}: time contains NaN, at sample {int(np.argmin(np.isfinite(t)))}")
    if len(t) < LEAST:
        return
    steps = np.diff(t)
    dt = float(np.median(steps))
    bad = np.flatnonzero(np.abs(steps - dt) > EVEN * abs(dt))
    if dt <= 0 or len(bad):
        k = int(bad[0]) if len(bad) else 0
        kind = "a gap" if steps[k] > 1.5 * dt > 0 else "an uneven step"
        raise DescriptionError(
            f"{name}: time has {kind} after {t[k]:.6g} s, a step of {steps[k]:.4g} s among steps of {dt:.4g} s; "
            "samples must be evenly spaced"
        )
    if sample_rate is not None and abs(dt * sample_rate - 1) > 0.01:
        said = f"time steps by {dt:.4g} s, and sample_rate is {sample_rate:g} per s"
        raise DescriptionError(f"{name}: {said}: one of them has another unit")


def _check_whole(record: str, name: str, x: Array, t: Array) -> None:
    """Raise `DescriptionError` for gaps, with their position."""
    bad = np.flatnonzero(~np.isfinite(x).all(axis=tuple(range(1, np.ndim(x)))))
    if len(bad):
        count = f"{counted(len(bad), 'sample')} are" if len(bad) > 1 else "a sample is"
        raise DescriptionError(
            f"{record}: {name} has a gap: {count} NaN or infinite, the first at {t[bad[0]]:.6g} s (sample {bad[0]})"
        )


# -- given motion ------------------------------------------------------------------------------------------------------


@final
class Smooth:
    """A measured angle as a function of time with two derivatives: a cubic smoothing spline.

    Parameters
    ----------
    t, angle : (T,), (T,)
    rate : (T,), optional
        Measured rate. With it, the angle is an interpolating spline, and the acceleration is the derivative of a
        smoothing spline of the rate.
    noise : float, optional
        Standard deviation of the measured angle [rad] (or of the rate, if it is given), which is the spline's distance
        from the samples. By default generalized cross-validation chooses the smoothness.
    """

    def __init__(self, t: Array, angle: Array, rate: Array | None = None, noise: float | None = None):
        from scipy.interpolate import CubicSpline

        self._angle: Any = smoothed(t, angle, noise) if rate is None else CubicSpline(t, angle)
        self._rate: Any = self._angle.derivative() if rate is None else smoothed(t, rate, noise)

    def __call__(self, t: Array) -> Array:
        """Angle, rate and acceleration, (..., 3)."""
        return np.stack([self._angle(t), self._rate(t), self._rate.derivative()(t)], axis=-1)


def smoothed(t: Array, y: Array, noise: float | None) -> Any:
    """Return the cubic smoothing spline with the given mean distance from the samples, or by cross-validation."""
    from scipy.interpolate import make_smoothing_spline
    from scipy.optimize import brentq

    if not np.ptp(y):
        return make_smoothing_spline(t, y, lam=0.0)
    if noise is None:
        return make_smoothing_spline(t, y)
    dt = (t[-1] - t[0]) / (len(t) - 1)

    def excess(z: float) -> float:
        spline = make_smoothing_spline(t, y, lam=dt**3 * 10.0**z)
        return float(np.sqrt(np.mean((spline(t) - y) ** 2))) - noise

    low, high = -6.0, 12.0
    if excess(low) > 0 or excess(high) < 0:  # the noise is less than rounding, or more than the signal itself
        return make_smoothing_spline(t, y, lam=dt**3 * 10.0 ** (low if excess(low) > 0 else high))
    return make_smoothing_spline(t, y, lam=dt**3 * 10.0 ** brentq(excess, low, high, xtol=1e-2))


def nodes(t: Array, steps: int) -> Array:
    """Times at which the steps of the Runge-Kutta method evaluate inputs, (T, 2 steps + 1): a row for each sample."""
    dt = (t[-1] - t[0]) / (len(t) - 1)
    return t[:, None] + dt * np.linspace(0.0, 1.0, 2 * steps + 1)


def held(values: Array, steps: int) -> Array:
    """Values of signals (T, m) that are constant until the next sample, at the nodes: (T, 2 steps + 1, m)."""
    return np.repeat(values[:, None, :], 2 * steps + 1, axis=1)


def linear(t: Array, values: Array, steps: int, delay: float) -> tuple[Array, Array]:
    """Values of signals (T, m) by linear interpolation, delayed by `delay` [s], and their slopes, at the nodes."""
    dt = (t[-1] - t[0]) / (len(t) - 1)
    place = (nodes(t, steps) - delay - t[0]) / dt
    inside = np.clip(np.floor(place + 1e-9), 0, len(t) - 2).astype(int)
    part = np.clip(place - inside, 0.0, 1.0)[..., None]
    rise = (values[1:] - values[:-1])[inside]
    beyond = ((place < 0) | (place > len(t) - 1))[..., None]
    return values[inside] + part * rise, np.where(beyond, 0.0, rise / dt)


def as_list(value: Any) -> Sequence[Any]:
    """Return one value or a list of values as a list."""
    return list(value) if isinstance(value, list | tuple) else [value]
