"""Parameters of an arm from its measured frequency response: weighted least squares over lines, exact derivatives.

A freely turning joint drifts, and a simulation from an estimated initial state does not follow it for long. Its
response at the lines of a multisine does not depend on the drift. The comparison is complex, so phases count as much as
amplitudes.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, final

import numpy as np

from flexarm import escape, style
from flexarm.arrays import Array
from flexarm.axes import checked_axes, finished
from flexarm.cached import cached_property
from flexarm.checks import NOT_NEGATIVE, NOT_ZERO, a_kind, checked_number, counted, refused, shown, unknown_name
from flexarm.errors import DescriptionError
from flexarm.identification.estimate import Whiteness, fit_percent, statistics
from flexarm.identification.frequency import decibels, is_response
from flexarm.identification.frequency_model import check_rest, linear
from flexarm.identification.result import Identification
from flexarm.identification.unknowns import bounded, search, signed
from flexarm.identification.wanted import aliased, check_known, constant, of_arm, placed, varied
from flexarm.model import Model, Sensor

if TYPE_CHECKING:
    from xarray import DataArray, Dataset

    from flexarm.figure import Panels


@final
@dataclass(frozen=True, eq=False)
class Measured:
    """A frequency response of the arm's inputs that have power, in the arm's order.

    Attributes
    ----------
    frequency : (f,)
        [Hz]
    response : (f, p, m) complex
        NaN where an input has no power.
    spread : (f, p, m)
        Standard deviation of the real and of the imaginary part.
    outputs, inputs : names of the signals
    columns : m of int
        Indices of the inputs among those of the arm.
    """

    frequency: Array
    response: Array
    spread: Array
    outputs: tuple[str, ...]
    inputs: tuple[str, ...]
    columns: tuple[int, ...]

    @cached_property
    def known(self) -> Array:
        """True where the response is known (f, p, m)."""
        return np.isfinite(self.response)


def of_data(
    model: Model, data: Any, sensors: Sequence[Sensor], signals: Sequence[str], inputs: Any, unmodelled: float
) -> Measured:
    """Return the frequency response of a model's inputs to sensors; raises `DescriptionError` if the data lack it.

    Parameters
    ----------
    data : xarray.Dataset
        A result of `frequency_response`.
    signals : names
        Names of the sensors' signals in the data.
    inputs : dict or None
        Names of signals by those of the arm's inputs.
    unmodelled : float
        Share of the response that counts as model error in addition to its variance.
    """
    if not is_response(data):
        raise DescriptionError(f"identify: data is {a_kind(data)}; it must be a result of frequency_response")
    there_y, there_u = ([str(x) for x in data[axis].values] for axis in ("output", "input"))
    for name in signals:
        if name not in there_y:
            raise DescriptionError(
                unknown_name("identify: the data have no output", name, there_y, "their outputs are")
            )
    own, columns = _columns(model, inputs, there_u)
    picked = data.sel(output=list(signals), input=list(own)).transpose("frequency", "output", "input", ...)
    frequency, G, variance = (np.asarray(picked[x].values) for x in ("frequency", "response", "variance"))
    known = np.isfinite(G)
    if not known.any():
        raise DescriptionError("identify: data have no line with power in an input")
    spread = np.sqrt((variance + np.abs(unmodelled * G) ** 2) / 2)
    if not (spread[known] > 0).all():
        said = "identify: data have a variance of zero or NaN"
        raise DescriptionError(f"{said}; give the share of the model's error, such as unmodelled=0.01")
    return Measured(frequency, G, np.where(known, spread, 1.0), tuple(signals), own, columns)


def _columns(model: Model, inputs: Any, there: Sequence[str]) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Names of signals, and the indices of the arm's inputs that they are."""
    if inputs is None:
        if len(there) != len(model.inputs):
            said = f"data have the inputs {', '.join(there)}, the arm {', '.join(model.inputs)}"
            raise DescriptionError(f'identify: {said}; assign them with inputs={{"{model.inputs[0]}": ...}}')
        inputs = dict(zip(model.inputs, there, strict=True))
    if not isinstance(inputs, Mapping) or not inputs:
        raise DescriptionError(f"identify: inputs is {shown(inputs)}; it must be a dict of signals by actuators")
    for name, signal in inputs.items():
        if name not in model.inputs:
            raise DescriptionError(
                unknown_name("identify: unknown input", name, model.inputs, "the inputs of the arm are")
            )
        if signal not in there:
            raise DescriptionError(unknown_name("identify: the data have no input", signal, there, "their inputs are"))
    return tuple(inputs.values()), tuple(model.inputs.index(name) for name in inputs)


@final
@dataclass(frozen=True, eq=False)
class ResponseComparison:
    """Comparison of a measured frequency response with that of the model.

    Attributes
    ----------
    data : Measured
    model : (f, p, m) complex
        Response of the model, with its delays.
    """

    data: Measured
    model: Array

    @property
    def fit(self) -> "DataArray":
        """Fit of the complex response in percent, (record, output), where a record is the response to one input."""
        known = self.data.known
        values = [
            [
                float(fit_percent(self.data.response[k, o, i], self.model[k, o, i]))
                for o, k in enumerate(known[:, :, i].T)
            ]
            for i in range(len(self.data.inputs))
        ]
        return _array(values, record=self.data.inputs, output=self.data.outputs)

    @property
    def decibels(self) -> "DataArray":
        """Ratio of the model's response to the measured one, (frequency, output, input) [dB]."""
        ratio = decibels(self.model) - decibels(self.data.response)
        names = {"output": self.data.outputs, "input": self.data.inputs}
        return _array(ratio, frequency=self.data.frequency, **names)

    @property
    def residuals(self) -> tuple["Dataset", ...]:
        """Measured minus modelled response for each input, complex, a variable for each output over `frequency`."""
        import xarray as xr

        error = self.data.response - self.model
        at = {"frequency": ("frequency", self.data.frequency, {"units": "Hz"})}
        return tuple(
            xr.Dataset({name: ("frequency", error[:, o, i]) for o, name in enumerate(self.data.outputs)}, coords=at)
            for i in range(len(self.data.inputs))
        )

    @property
    def whiteness(self) -> Mapping[tuple[str, str], Whiteness]:
        """Empty, because lines have no order in time."""
        return {}

    def plot(self, title: str, *, ax: Any = None) -> "Panels":
        """Draw Bode diagrams, measured and modelled, with the weight of each line, and the errors below them.

        The axes, (3, outputs), are new ones or those given, row by row. Return them.
        """
        d = self.data
        with refused("plot"):
            given = checked_axes(ax, (3 * len(d.outputs),))
        if given is None:
            figure = style.figure(5.2 * len(d.outputs) + 0.6, 8, layout="constrained")
            panels = figure.subplots(3, len(d.outputs), sharex=True, squeeze=False)
            figure.suptitle(escape.label(title))
        else:
            panels = given.reshape(3, len(d.outputs))
        for o, output in enumerate(d.outputs):
            size, phase, error = panels[:, o]
            for i, name in enumerate(d.inputs):
                k, dots, thin = d.known[:, o, i], style.points(i), style.curve(i, linewidth=style.THIN)
                f, G, H, own = d.frequency[k], d.response[k, o, i], self.model[k, o, i], d.spread[k, o, i]
                size.plot(f, decibels(G), **dots, label=escape.label(f"measured, {name}"))
                size.plot(f, decibels(H), **style.MODEL, label="model" if i == 0 else None)
                size.plot(f, decibels(own), **thin, label="counted as error")
                phase.plot(f, np.degrees(np.unwrap(np.angle(G))), **dots)
                lag = np.degrees(np.unwrap(np.angle(H)))
                turns = 360 * np.round((np.degrees(np.unwrap(np.angle(G))) - lag).mean() / 360)
                phase.plot(f, lag + turns, **style.MODEL)
                error.plot(f, decibels(H) - decibels(G), **style.joined(i, linewidth=style.THIN))
            size.set_title(escape.label(output))
            error.set_ylim(-3, 3)
            error.set_xlabel("frequency [Hz]")
            size.legend()
            for axes, label in ((size, "size [dB]"), (phase, "phase [degrees]"), (error, "model over measured [dB]")):
                axes.set_ylabel(label)
        return finished(panels, given)  # type: ignore[no-any-return]


def _array(values: Any, **coords: Any) -> "DataArray":
    import xarray as xr

    return xr.DataArray(np.asarray(values), dims=tuple(coords), coords={k: list(v) for k, v in coords.items()})


@final
@dataclass(frozen=True, eq=False)
class Problem:
    """Comparison of a model with a response as a function of the unknowns: parameters, motor constants, a delay.

    Attributes
    ----------
    model : Model
    chosen : tuple of int
        Indices of the unknown parameters.
    constants : tuple of int
        Columns of the data with an unknown motor constant.
    late : bool
        True if the delay is unknown.
    q : (n,)
        Configuration of the arm.
    """

    model: Model
    sensors: tuple[Sensor, ...]
    data: Measured
    chosen: tuple[int, ...]
    constants: tuple[int, ...]
    late: bool
    q: Array

    def at(self, values: Array) -> Model:
        """Return the model with the given values."""
        p = self.model.p.copy()
        p[list(self.chosen)] = values[: len(self.chosen)]
        return self.model.at(p)

    def response(self, values: Array) -> tuple[Array, Array]:
        """Response (f, p, m), and its derivatives in the unknowns (k, f, p, m)."""
        d, k = self.data, len(self.chosen)
        G, dG = linear(self.at(values), self.sensors, self.q).slopes(d.frequency)
        G, dG = G[..., list(d.columns)], dG[list(self.chosen)][..., list(d.columns)]
        gain, s = np.ones(len(d.columns)), 2j * np.pi * d.frequency[:, None, None]
        gain[list(self.constants)] = values[k : k + len(self.constants)]
        after = gain * np.exp(-s * values[-1]) if self.late else gain
        own = [G * (after / gain) * np.eye(len(gain))[i] for i in self.constants]
        delayed = [-s * G * after] if self.late else []
        return G * after, np.concatenate([dG * after, np.array([*own, *delayed]).reshape(-1, *G.shape)])

    def residuals(self, values: Array) -> tuple[Array, Array]:
        """Model minus measurement, over its standard deviation: real parts, then imaginary ones, with derivatives."""
        G, dG = self.response(values)
        known = self.data.known
        share = 1 / self.data.spread[known]
        r = (G - self.data.response)[known] * share
        J = np.array([each[known] * share for each in dG]).reshape(len(values), -1).T
        return np.concatenate([r.real, r.imag]), np.concatenate([J.real, J.imag])

    def compared(self, values: Array) -> ResponseComparison:
        """Return the comparison of the data with the model."""
        return ResponseComparison(self.data, self.response(values)[0])


def identify_response(
    model: Model,
    data: Any,
    fit: Sequence[str],
    inputs: Any = None,
    outputs: Any = None,
    *,
    currents: Mapping[str, float] | None = None,
    delay: float | None = None,
    start: Mapping[str, float] | None = None,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    q0: Any = None,
    unmodelled: float = 0.0,
) -> Identification:
    """Identify the parameters of an arm whose linear model has the measured frequency response; see `identify`.

    The method is weighted least squares of the complex errors at all lines, each with the variance from its periods.
    The derivatives are exact, and SciPy's trust region method updates the values.

    Parameters
    ----------
    data : xarray.Dataset
        A result of `frequency_response`.
    q0 : (n,), optional
        Configuration about which the arm makes small motions; default `arm.rest`. Inputs hold it there. The deflections
        at rest do not change with the tried values.
    """
    model, chosen = varied(model, fit)
    with refused("identify"):
        share = checked_number(unmodelled, "", NOT_NEGATIVE, "unmodelled")
        if delay is not None:
            checked_number(delay, "s", NOT_NEGATIVE, "delay")
    q = model.single("identify", "q", model.arm.rest if q0 is None else q0)
    check_rest(model, q)
    sensors, signals = _sensors(model, outputs)
    taken = of_data(model, data, sensors, signals, inputs, share)
    start, bounds = (aliased(model, chosen, table, what) for table, what in ((start, "start"), (bounds, "bounds")))
    unknowns = [of_arm(model.varied[i], model.p[i], start, bounds) for i in chosen]
    constants = _constants(model, taken, currents or {})
    unknowns += [constant(model.inputs[taken.columns[i]], x) for i, x in constants.items()]
    if delay is not None:
        tick = 1 / (2 * np.pi * float(taken.frequency.max()))
        unknowns.append(bounded(signed("delay", "s", delay, tick), 0.0, math.inf))
    check_known(unknowns, start=start, bounds=bounds)
    unknowns = [placed(each, start, bounds) for each in unknowns]
    numbers = int(2 * taken.known.sum())
    if numbers <= len(unknowns):
        raise DescriptionError(
            f"identify: too few lines, {counted(numbers, 'number')} for {counted(len(unknowns), 'unknown')}"
        )
    problem = Problem(model, sensors, taken, chosen, tuple(constants), delay is not None, q)
    done = search(unknowns, problem.residuals)

    def compared(other: Any) -> ResponseComparison:
        return replace(problem, data=of_data(model, other, sensors, signals, inputs, share)).compared(done.values)

    f = taken.frequency
    facts = {
        "method": f"frequency response, {counted(len(f), 'line')} from {f[0]:g} to {f[-1]:g} Hz",
        "evaluations": done.evaluations,
        "ended": "converged" if done.converged else done.message,
    }
    told = statistics(unknowns, done.values, done.residuals, done.jacobian)
    fitted = problem.compared(done.values)
    return Identification(problem.at(done.values), tuple(unknowns), done.values, told, fitted, facts, compared)


def _sensors(model: Model, outputs: Any) -> tuple[tuple[Sensor, ...], tuple[str, ...]]:
    """Return the sensors, and their signals in the data."""
    sensors = list(outputs.values()) if isinstance(outputs, Mapping) else outputs
    names = model.output_names(sensors)
    if not isinstance(outputs, Mapping):
        return tuple(sensors), names
    if len(names) != len(outputs):
        raise DescriptionError("identify: a sensor in a dict must have one signal; give a list of sensors instead")
    return tuple(sensors), tuple(outputs)


def _constants(model: Model, data: Measured, currents: Mapping[str, float]) -> dict[int, float]:
    """Guesses of the constants by the column of the data."""
    if not isinstance(currents, Mapping):
        raise DescriptionError(f"identify: currents is {shown(currents)}; it must be a dict by actuators")
    found = {}
    names = [model.inputs[i] for i in data.columns]
    for name, guess in currents.items():
        if name not in names:
            raise DescriptionError(
                f"identify: currents: unknown input {shown(name)}; data have those of {', '.join(names)}"
            )
        with refused("identify"):
            found[names.index(name)] = checked_number(guess, "N m/A", NOT_ZERO, f"currents of {name}")
    return dict(sorted(found.items()))
