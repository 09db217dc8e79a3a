"""Readings of instruments for a simulated motion."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from flexarm.arrays import Array
from flexarm.checks import checked_result, checked_whole, refused
from flexarm.errors import DescriptionError
from flexarm.model import ModelLike, as_model, signal
from flexarm.sensors.model_outputs import outputs

if TYPE_CHECKING:
    from xarray import Dataset


def sensor_readings(sensors: Sequence[Any], model: ModelLike, result: "Dataset", seed: int) -> "Dataset":
    """Return the readings of sensors for a simulated motion: sampled, with noise, rounded.

    Noise depends on the seed and the signal's name. It is therefore the same in every run and does not change if other
    sensors are added or removed. Readings are round(y + noise, resolution).

    Parameters
    ----------
    sensors : list of sensors
    model : Model, Arm, str or path
        Model of the simulated arm.
    result : xarray.Dataset
        A result of `simulate`, with q, qd and u, and with `drive_state` and `w` if a sensor depends on them. Its times
        must include those of every sensor, because faster vibrations and jumps of inputs cannot be interpolated.
    seed : int
        Not negative.

    Returns
    -------
    xarray.Dataset
        A variable for each signal, over `time` if its sensor has no sample time, over `time_0_001` if that is 0.001 s.

    Raises
    ------
    DescriptionError
        If an argument does not fit, or if a sample time does not fall on the times of the result.
    """
    import xarray as xr

    with refused():
        seed = checked_whole(seed, 0, "seed")
    with refused("sensor_readings"):
        model = as_model(model)
        checked_result(result, ("q", "qd", "u"))
    if tuple(map(str, result.coordinate.values)) != model.coordinates:
        raise DescriptionError(f"sensor_readings: the result is not of arm {model.arm.name!r}: its coordinates differ")
    model.output_names(sensors)
    beside = {"s": ("drive_state", model.states), "w": ("w", model.exogenous)}
    more = {argument: name for argument, (name, signals) in beside.items() if signals}
    t = result.time.values
    readings, coords = {}, {}
    for sensor in sensors:
        measured = outputs(model, [sensor])
        also = more if measured.driven else {}
        with refused("sensor_readings"):
            checked_result(result, tuple(also.values()))
        dimension = "time" if sensor.sample_time is None else signal(f"time_{sensor.sample_time:g}")
        rows = _rows(sensor, t)
        coords[dimension] = (dimension, t[rows], {"units": "s"})
        states = (result[name].values[rows] for name in ("q", "qd", "u"))
        y = measured.values(*states, **{argument: result[name].values[rows] for argument, name in also.items()})
        for k, (name, unit) in enumerate(zip(measured.names, measured.units, strict=True)):
            rng = np.random.default_rng([int(seed), *name.encode()])
            value = y[:, k] + sensor.noise * rng.standard_normal(len(rows))
            if sensor.resolution:
                value = sensor.resolution * np.round(value / sensor.resolution)
            about = {"units": unit, "sensor": type(sensor).__name__, "noise": sensor.noise}
            readings[name] = (dimension, value, about | {"resolution": sensor.resolution})
    return xr.Dataset(readings, coords=coords, attrs={"title": f"{model.arm.name}: readings", "seed": int(seed)})


def _rows(sensor: Any, t: Array) -> Array:
    """Indices of the sensor's times among those of the result."""
    if sensor.sample_time is None:
        return np.arange(len(t))
    dt = sensor.sample_time
    if (t[-1] - t[0]) / dt > len(t) - 0.5:
        where = f"{type(sensor).__name__}: sample_time is {dt:g} s"
        raise DescriptionError(f"{where}, shorter than the sampling of the result; simulate with more samples")
    wanted = t[0] + dt * np.arange(int((t[-1] - t[0]) / dt + 1e-6) + 1)
    rows = np.clip(np.searchsorted(t, wanted - 1e-6 * dt), 0, len(t) - 1)
    off = np.abs(t[rows] - wanted)
    if (off > 1e-6 * dt).any():
        missing = f"{wanted[np.argmax(off > 1e-6 * dt)]:g} s is not among the times of the result"
        where = f"{type(sensor).__name__}: sample_time is {dt:g} s"
        raise DescriptionError(f"{where}, but {missing}; simulate with samples at all these times")
    return rows
