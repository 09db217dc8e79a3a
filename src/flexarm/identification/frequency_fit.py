"""Numbers of an arm from its measured frequency response: weighted least squares over lines, with exact derivatives.

A joint that is free to turn drifts, and no simulation from a guessed start follows it for long; its response at the lines
of a multisine does not care. What is compared is complex, so phases count as much as sizes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np

from flexarm import escape
from flexarm.checks import NOT_NEGATIVE, Fault, checked_flag, checked_number, refused, shown
from flexarm.errors import DescriptionError
from flexarm.identification.estimate import Whiteness, fit_percent, statistics
from flexarm.identification.frequency import decibels, is_response
from flexarm.identification.frequency_model import check_rest, linear
from flexarm.identification.result import Identification
from flexarm.identification.unknowns import Unknown, search, signed
from flexarm.model import Model, Sensor

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from xarray import DataArray, Dataset

Array = np.ndarray


@final
@dataclass(frozen=True, eq=False)
class Measured:
    """A frequency response as the fit needs it: of the arm's inputs that moved, in their order.

    Attributes
    ----------
    frequency : (f,)
        [Hz]
    response : (f, p, m) complex
        NaN where an input does not move.
    spread : (f, p, m)
        Standard deviation of the real and of the imaginary part.
    outputs, inputs : names of the signals
    columns : m of int
        Which inputs of the arm they are.
    """

    frequency: Array
    response: Array
    spread: Array
    outputs: tuple[str, ...]
    inputs: tuple[str, ...]
    columns: tuple[int, ...]

    @cached_property
    def known(self) -> Array:
        """Where there is a response (f, p, m)."""
        return np.isfinite(self.response)


def of_data(model: Model, data: Any, sensors: Sequence[Sensor], inputs: Any, unmodelled: float) -> Measured:
    """The frequency response of a model's inputs to sensors; raises `DescriptionError` where the data have it not.

    Parameters
    ----------
    data : xarray.Dataset
        As `frequency_response` gives it.
    inputs : dict, list or None
        The arm's inputs by the names of signals; or the names of signals in the order of the arm's inputs.
    unmodelled : float
        Share of the response that is counted as error beside its variance.
    """
    if not is_response(data):
        raise DescriptionError(f"data is {shown(type(data).__name__)}; it must be what frequency_response gives")
    names = model.output_names(sensors)
    there_y, there_u = ([str(x) for x in data[axis].values] for axis in ("output", "input"))
    for name in names:
        if name not in there_y:
            raise DescriptionError(f"data have no output {name!r}; they have {', '.join(there_y)}")
    signals, columns = _columns(model, inputs, there_u)
    picked = data.sel(output=list(names), input=list(signals)).transpose("frequency", "output", "input", ...)
    frequency, G, variance = (np.asarray(picked[x].values) for x in ("frequency", "response", "variance"))
    known = np.isfinite(G)
    if not known.any():
        raise DescriptionError("data have no line at which an input moves")
    spread = np.sqrt((variance + np.abs(unmodelled * G) ** 2) / 2)
    if not (spread[known] > 0).all():
        said = "data have a variance of zero or NaN"
        raise DescriptionError(f"{said}; say with unmodelled=0.01 by which share the model may be wrong")
    return Measured(frequency, G, np.where(known, spread, 1.0), names, signals, columns)


def _columns(model: Model, inputs: Any, there: Sequence[str]) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Names of signals, and the arm's inputs that they are."""
    if inputs is None:
        pairs = {name: name for name in there} if set(there) <= set(model.inputs) else dict(zip(there, model.inputs))  # noqa: B905
        if len(there) > len(model.inputs):
            said = f"data have the inputs {', '.join(there)}"
            raise DescriptionError(f"{said}; the arm has {', '.join(model.inputs)}: say with inputs= which are which")
    elif isinstance(inputs, Mapping):
        pairs = dict(inputs)
    else:
        names = [inputs] if isinstance(inputs, str) else inputs
        if not isinstance(names, list | tuple) or len(names) > len(model.inputs):
            allowed = f"names of signals in the order of {', '.join(model.inputs)}, or a dict"
            raise DescriptionError(f"inputs is {shown(inputs)}; it must be {allowed}")
        pairs = dict(zip(names, model.inputs))  # noqa: B905  (the arm's last inputs may stand still)
    for signal, name in pairs.items():
        if signal not in there:
            raise DescriptionError(f"data have no input {shown(signal)}; they have {', '.join(there)}")
        if name not in model.inputs:
            raise DescriptionError(f"unknown input {shown(name)}; the arm has {', '.join(model.inputs)}")
    return tuple(pairs), tuple(model.inputs.index(name) for name in pairs.values())


@final
@dataclass(frozen=True, eq=False)
class ResponseComparison:
    """A measured frequency response beside that of the model.

    Attributes
    ----------
    data : Measured
    model : (f, p, m) complex
        The response of the model, with its delays.
    """

    data: Measured
    model: Array

    @property
    def fit(self) -> "DataArray":
        """Percent of the complex response, (record, output): a record is what one input does."""
        known = self.data.known
        values = [
            [float(fit_percent(self.data.response[k, o, i], self.model[k, o, i])) for o, k in enumerate(known[:, :, i].T)]
            for i in range(len(self.data.inputs))
        ]
        return _array(values, record=self.data.inputs, output=self.data.outputs)

    @property
    def decibels(self) -> "DataArray":
        """How much larger the model's response is than the measured one, (frequency, output, input) [dB]."""
        ratio = decibels(self.model) - decibels(self.data.response)
        names = {"output": self.data.outputs, "input": self.data.inputs}
        return _array(ratio, frequency=self.data.frequency, **names)

    @property
    def residuals(self) -> tuple["Dataset", ...]:
        """For each input, the measured response less the model's, complex, a variable an output over `frequency`."""
        import xarray as xr

        error = self.data.response - self.model
        at = {"frequency": ("frequency", self.data.frequency, {"units": "Hz"})}
        return tuple(
            xr.Dataset({name: ("frequency", error[:, o, i]) for o, name in enumerate(self.data.outputs)}, coords=at)
            for i in range(len(self.data.inputs))
        )

    @property
    def whiteness(self) -> Mapping[tuple[str, str], Whiteness]:
        """Empty: lines have no order in time."""
        return {}

    def plot(self, title: str) -> "Figure":
        """Bode diagrams: measured, with the standard deviation as a line below it, and modelled; errors beneath."""
        from matplotlib.figure import Figure

        d = self.data
        figure = Figure(figsize=(5.2 * len(d.outputs) + 0.6, 8), layout="constrained")
        panels = figure.subplots(3, len(d.outputs), sharex=True, squeeze=False)
        for o, output in enumerate(d.outputs):
            size, phase, error = panels[:, o]
            for i, name in enumerate(d.inputs):
                k, color = d.known[:, o, i], f"C{i}"
                f, G, H, own = d.frequency[k], d.response[k, o, i], self.model[k, o, i], d.spread[k, o, i]
                size.plot(f, decibels(G), ".", color=color, markersize=4, label=escape.label(f"measured, {name}"))
                size.plot(f, decibels(H), "-", color="k", linewidth=1, label="model" if i == 0 else None)
                size.plot(f, decibels(own), "-", color=color, alpha=0.4, linewidth=1, label="its standard deviation")
                phase.plot(f, np.degrees(np.unwrap(np.angle(G))), ".", color=color, markersize=4)
                lag = np.degrees(np.unwrap(np.angle(H)))
                turns = 360 * np.round((np.degrees(np.unwrap(np.angle(G))) - lag).mean() / 360)
                phase.plot(f, lag + turns, "-", color="k", linewidth=1)
                error.plot(f, decibels(H) - decibels(G), ".-", color=color, markersize=3, linewidth=0.7)
            size.set_title(escape.label(output), fontsize="medium")
            error.set_ylim(-3, 3)
            error.set_xlabel("frequency [Hz]")
            size.legend(fontsize="small", framealpha=0.7)
            for axes, label in ((size, "size [dB]"), (phase, "phase [degrees]"), (error, "model over measured [dB]")):
                axes.grid(alpha=0.3)
                if o == 0:
                    axes.set_ylabel(label)
        figure.suptitle(escape.label(title), fontsize="medium")
        return figure


def _array(values: Any, **coords: Any) -> "DataArray":
    import xarray as xr

    return xr.DataArray(np.asarray(values), dims=tuple(coords), coords={k: list(v) for k, v in coords.items()})


@final
class Problem:
    """What the search over a frequency response asks: residuals and their derivatives at values of the unknowns.

    The first of them are the model's parameters, then come delays, one an input.
    """

    def __init__(self, model: Model, data: Measured, sensors: Sequence[Sensor], q: Array):
        self._model, self._data, self._sensors, self._q = model, data, tuple(sensors), q

    def response(self, values: Array) -> tuple[Array, Array]:
        """(f, p, m), and its derivatives (k, f, p, m)."""
        count, d = len(self._model.p), self._data
        G, dG = linear(self._model.at(values[:count]), self._sensors, self._q).slopes(d.frequency)
        G, dG = G[..., list(d.columns)], dG[..., list(d.columns)]
        delays = values[count:]
        if not len(delays):
            return G, dG
        s = 2j * np.pi * d.frequency[:, None, None]
        late = np.exp(-s * delays)
        G = G * late
        by_delay = -s * G * np.eye(len(delays))[:, None, None, :]
        return G, np.concatenate([dG * late, by_delay])

    def residuals(self, values: Array) -> tuple[Array, Array]:
        """What the model gives less what is measured, by its standard deviation: real parts, then imaginary ones."""
        G, dG = self.response(values)
        known = self._data.known
        share = 1 / self._data.spread[known]
        r = (G - self._data.response)[known] * share
        J = np.array([each[known] * share for each in dG]).reshape(len(values), -1).T
        return np.concatenate([r.real, r.imag]), np.concatenate([J.real, J.imag])

    def compared(self, values: Array) -> ResponseComparison:
        """The data beside the model."""
        return ResponseComparison(self._data, self.response(values)[0])


def identify_response(
    model: Model,
    data: Any,
    unknowns: Sequence[Unknown],
    *,
    outputs: Sequence[Sensor],
    inputs: Any = None,
    q: Any = None,
    delay: bool = False,
    unmodelled: float = 0.0,
) -> Identification:
    """Estimates from a frequency response; see `identify`, which dispatches here.

    Parameters
    ----------
    model : Model
        All of whose parameters are looked for.
    unknowns : tuple of Unknown
        Those of the model, in the order of p.
    q : (n,), optional
        Where the arm stands; default at rest.
    delay : bool
        Whether a delay of each input is looked for too.
    unmodelled : float
        Share of the response by which the model may be wrong.
    """
    with refused("identify"):
        share = checked_number(unmodelled, "", NOT_NEGATIVE, "unmodelled")
        checked_flag(delay, "delay")
    at = model.single("identify", "q", model.arm.rest if q is None else q)
    check_rest(model, at)
    found = of_data(model, data, outputs, inputs, share)
    if delay:
        tick = 1 / (2 * np.pi * float(found.frequency.max()))
        unknowns = [*unknowns, *(signed(f"delay of {name}", "s", 0.0, tick) for name in found.inputs)]
    numbers = int(2 * found.known.sum())
    if numbers <= len(unknowns):
        raise Fault("data", f"have {numbers} numbers for {len(unknowns)} unknowns; there must be more")
    problem = Problem(model, found, outputs, at)
    done = search(unknowns, problem.residuals)
    values = done.values
    count = len(model.p)

    def compared(other: Any) -> ResponseComparison:
        return Problem(model, of_data(model, other, outputs, inputs, share), outputs, at).compared(values)

    return Identification(
        model.at(values[:count]),
        tuple(unknowns),
        values,
        statistics(unknowns, values, done.residuals, done.jacobian),
        problem.compared(values),
        {"method": f"frequency response at {len(found.frequency)} lines", "evaluations": done.evaluations},
        compared,
    )
