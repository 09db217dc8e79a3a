"""Estimates of states, parameters and disturbances from a record of sensors."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from flexarm.analysis.equilibrium import configuration
from flexarm.arrays import Array
from flexarm.checks import (
    Fault,
    checked_array,
    checked_instance,
    checked_result,
    choices,
    refused,
    shown,
    unknown_name,
)
from flexarm.errors import DescriptionError, FlexarmError
from flexarm.estimation.estimators import EKF
from flexarm.estimation.running import Running, over
from flexarm.estimation.settings import Estimator
from flexarm.identification.records import Record, held, linear, records
from flexarm.model import Model
from flexarm.model.core import ModelLike, as_model
from flexarm.simulation.law import what_it_is

if TYPE_CHECKING:
    from xarray import Dataset


def estimate(
    model: ModelLike,
    data: Any,
    outputs: Any,
    estimator: Estimator | None = None,
    inputs: Mapping[str, str] | None = None,
    *,
    sample_rate: float | None = None,
    between: str = "linear",
    q0: ArrayLike | None = None,
    qd0: ArrayLike | None = None,
    truth: "Dataset | None" = None,
    values: Mapping[str, ArrayLike] | None = None,
) -> "Dataset":
    """Estimate an arm's motion, parameters and disturbances from the readings of its sensors.

    Parameters
    ----------
    model : Model, Arm, name or path
        Model that the filter assumes.
    data : xarray.Dataset, pandas.DataFrame or dict of arrays
        Readings and torques over time, evenly sampled, such as `fa.sensor_readings(...).assign(u=result.u)`.
    outputs : list of sensors, or dict
        Sensors with noise or resolution. A signal has the name of the sensor's signal; a dict {"signal": sensor}
        assigns another.
    estimator : EKF, UKF or MovingHorizon, optional
        Default `EKF()`.
    inputs : dict, optional
        Signal of the torque of each actuator, and of exogenous inputs: {"upper.joint": "torque_1"}; an input without a
        signal is zero. If no actuator is named, torques are the columns of `u` in the order of `model.inputs`; {} means
        that all inputs are zero.
    sample_rate : float
        Sample rate of a dict of arrays without an array "time" [1/s].
    between : "linear" or "held"
        Torques between samples: linear, or constant, as those of a sampled controller.
    q0, qd0 : (n,), (n,), optional
        Initial guess; default `arm.rest`, at rest.
    truth : xarray.Dataset, optional
        Simulated motion at the same times, with `q`, `qd` and `drive_state` (if there are any), for the normalized
        error of the estimate (NEES).
    values : dict, optional
        True values of all unknowns by name, numbers or (T,), which the normalized error then includes. Needs `truth`.

    Returns
    -------
    xarray.Dataset
        `estimate` and `deviation` (time, state): the estimate after each correction, and its standard deviations. On a
        free base and with ball joints, whose attitudes are quaternions, `deviation` is (time, local): of shifts and
        rotation vectors from the estimate, along the axes of the bodies.
        `innovation` and `innovation_deviation` (time, signal): readings minus expected readings. `nis` (time): the
        normalized square of the innovation, whose mean is the number of signals. `nees` (time), with `truth`: the
        normalized square of the error, whose mean is the number of states. `consistency` compares both with their
        chi-square bounds.

    Raises
    ------
    DescriptionError
        If data have gaps, uneven times or too few samples, or if a signal or a sensor does not exist.
    FlexarmError
        If the estimate diverges.
    """
    import xarray as xr

    with refused("estimate"):
        model = as_model(model)
        chosen: Any = EKF() if estimator is None else estimator
        if not issubclass(type(chosen), Estimator):
            raise Fault("estimator", f"is {what_it_is(chosen)}; it must be an EKF, a UKF or a MovingHorizon")
        if not isinstance(between, str) or between not in ("linear", "held"):
            raise Fault("between", f"is {shown(between)}; it must be {choices('linear', 'held')}")
    sensors, signals = _signals(model, outputs)
    (record,) = records([data], sample_rate)
    y = np.stack([record.signal(name, "an output") for name in signals], axis=1)
    torques = _torques(model, record, inputs)
    with refused("estimate"):
        q0 = None if q0 is None else configuration(model, q0, "q0")
        if qd0 is not None and np.shape(qd0 := checked_array(qd0, "qd0")) != (model.nv,):
            raise Fault("qd0", f"has shape {np.shape(qd0)}; it must be ({model.nv},)")
    running = chosen.begin(model, sensors, record.dt, q0, qd0)
    known = _truth(running, record, truth, values)
    u = held(torques, running.steps) if between == "held" else linear(record.t, torques, running.steps, 0.0)[0]
    found = over(running, y, u, known)
    if not np.isfinite(found["X"]).all():
        bad = int(np.argmin(np.isfinite(found["X"]).all(axis=1)))
        raise FlexarmError(
            f"estimate: the estimate diverges at {record.t[bad]:.6g} s; check units and signs of the signals, give a "
            "smaller deviation of the unknowns, or a shorter step of the estimator"
        )
    X, over_signals = found["X"], ("time", "signal")
    coords: dict[str, Any] = {
        "time": ("time", record.t, {"units": "s"}),
        "state": list(running.names),
        "state_unit": ("state", list(running.units)),
        "signal": list(running.signals),
    }
    over_locals = "state"
    if running.local_names != running.names:
        over_locals = "local"
        coords |= {"local": list(running.local_names), "local_unit": ("local", list(running.local_units))}
    variables: dict[str, Any] = {
        "estimate": (("time", "state"), running.points(X, found["poses"])),
        "deviation": (("time", over_locals), running.deviations(found["deviations"], X)),
        "innovation": (over_signals, found["innovations"]),
        "innovation_deviation": (over_signals, found["spreads"]),
        "nis": ("time", found["nis"]),
    }
    if known.shape[1]:
        states = known.shape[1] - len(model.arm.quaternions)
        variables["nees"] = ("time", found["nees"], {"states": states})
    return xr.Dataset(
        variables,
        coords=coords,
        attrs={
            "title": f"{model.arm.name}: estimates",
            "estimator": chosen.label,
            "period": record.dt,
            "steps": running.steps,
        },
    )


def _signals(model: Model, outputs: Any) -> tuple[Sequence[Any], Sequence[str]]:
    """Return the sensors, and the names of their signals in the data."""
    if not isinstance(outputs, Mapping):
        return outputs, model.output_names(outputs)
    sensors = list(outputs.values())
    model.output_names(sensors)
    for name, sensor in outputs.items():
        if len(sensor.names(model.arm)) != 1:
            raise DescriptionError(
                f"estimate: outputs: {shown(name)} is a sensor with several signals; give a list of sensors instead"
            )
    return sensors, [str(name) for name in outputs]


def _torques(model: Model, record: Record, inputs: Mapping[str, str] | None) -> Array:
    """Return the inputs over time: torques of all actuators, then exogenous inputs, (T, m)."""
    acting = (*model.inputs, *model.exogenous)
    found = np.zeros((len(record.t), len(acting)))
    with refused("estimate"):
        if inputs is not None and not isinstance(inputs, Mapping):
            raise Fault("inputs", f"is {shown(inputs)}; it must be a dict of signals by actuator")
    if inputs is not None:
        for name, signal in inputs.items():
            if name not in acting:
                raise DescriptionError(unknown_name("estimate: inputs: unknown input", name, acting, "inputs are"))
            found[:, acting.index(name)] = record.signal(signal, f"input {name}")
    exogenous_alone = inputs and not set(inputs) & set(model.inputs) and "u" in record.signals
    if inputs is None or exogenous_alone:
        found[:, : len(model.inputs)] = record.u(model.inputs)
    return found


def _truth(running: Running, record: Record, truth: Any, values: Mapping[str, ArrayLike] | None) -> Array:
    """Return the true values of the first numbers of X, (T, count)."""
    if truth is None:
        if values is not None:
            raise DescriptionError("estimate: values needs truth, a result with q and qd at the same times")
        return np.zeros((len(record.t), 0))
    with refused("estimate"):
        model = running.model
        sizes = {"q": model.nq, "qd": model.nv} | ({"drive_state": len(model.states)} if model.states else {})
        checked_result(truth, tuple(sizes), part="truth")
        for name, size in sizes.items():
            if truth[name].shape != (len(record.t), size):
                must = f"it must be {(len(record.t), size)}, as the data have these times"
                raise Fault("truth", f"has {name} of shape {truth[name].shape}; {must}")
        if values is not None:
            checked_instance(values, Mapping, "values")
    motion = np.hstack([truth[name].values for name in sizes])
    names = running.unknowns.names
    if values is None or not (values or names):
        return motion
    if set(values) != set(names):
        raise DescriptionError(
            f"estimate: values has {', '.join(map(shown, values)) or 'no unknowns'}; it must have all unknowns: "
            f"{', '.join(names) or 'there are none'}"
        )
    with refused("estimate"):
        columns = []
        for name in names:
            value = checked_array(values[name], f"values of {name}")
            if value.shape not in ((), (len(record.t),)):
                raise Fault(f"values of {name}", f"has shape {value.shape}; it must be one number or {len(record.t)}")
            columns.append(np.broadcast_to(value, (len(record.t),)))
    return np.hstack([motion, running.unknowns.inverse(np.stack(columns, axis=1))])
