"""Bode diagrams of linear systems and of a measured frequency response."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from flexarm import escape, style
from flexarm.arrays import Array
from flexarm.axes import checked_axes, finished
from flexarm.checks import NOT_NEGATIVE, Fault, a_kind, checked_array, checked_number, refused, shown
from flexarm.plots.systems import channel, named_systems

if TYPE_CHECKING:
    from collections.abc import Sequence

    from control.lti import LTI
    from xarray import Dataset

    from flexarm.figure import Panels

ASIDE = 1e-7
"""Distance from the imaginary axis at which the phase is computed, as a share of the frequency.

To the right of the axis, an undamped pole lowers the phase and an undamped zero raises it, as with little damping. Two
integrators have -180 degrees, not 180.
"""

POINTS = 600
SIDES = np.concatenate([-np.geomspace(0.2, 1e-5, 16), [0.0], np.geomspace(1e-5, 0.2, 16)])
"""Frequencies of a curve: uniform over the decades, and around each resonance at these relative distances."""

COHERENT = 0.5
"""Coherence above which the phase of a line is unwrapped. Other phases are placed close to these."""


def draw_bode(
    systems: Any = None,
    measured: "Dataset | None" = None,
    output: str | int | None = None,
    input: str | int | None = None,
    *,
    frequency: Any = None,
    delay: float = 0.0,
    sensors: "Sequence[Any] | None" = None,
    q: Any = None,
    ax: Any = None,
) -> "Panels":
    """Draw gain and phase from one input to one output, of systems and of a measurement with its coherence.

    Return the axes of gain, phase and, for a measurement with a coherence, of the coherence.

    The phase of the first system begins between -180 and 180 degrees and continues without jumps. The phases of other
    systems, and of the measurement, begin within half a turn of the first.

    Parameters
    ----------
    systems : StateSpace, TransferFunction, Model, list of them or dict of them by name, optional
        Systems of python-control, continuous or discrete. A `Model` is linearised about an equilibrium. Without
        systems, only the measurement is drawn.
    measured : Dataset, optional
        Result of `frequency_response`.
    output, input : str or int, optional
        Name or number of the output and of the input, if there are several. A system or measurement with one channel
        may be combined with others that have several: `measured.sel(output="motor_angle")`.
    frequency : (k,), optional
        Frequencies [Hz]. Default: those of the measurement, or a range from the poles and zeros.
    delay : float
        Delay of the systems, in addition to their own [s].
    sensors : list of Sensor, optional
        Measurements of a `Model`. Default: its coordinates and rates.
    q : (n,), optional
        Configuration near which the equilibrium of a `Model` is sought. Default: at rest.
    ax : Axes, two or three of them, optional
        Axes for gain, phase and coherence. Default: a new figure.

    Raises
    ------
    DescriptionError
        If an argument is not a system or a frequency response, if a channel is unknown or not named, or if frequencies
        are not positive.
    """
    with refused("draw_bode"):
        if systems is None and measured is None:
            raise Fault("systems", "and measured are None; give one of them")
        data = None if measured is None else _measured(measured, output, input)
        found = {} if systems is None else named_systems(systems, sensors, q)
        channels = {name: _single(name, each, output, input) for name, each in found.items()}
        late = checked_number(delay, "s", NOT_NEGATIVE, "delay")
        f = _frequencies(frequency, list(channels.values()), data)
        axes = checked_axes(ax, (2, 3))
    coherent = data is not None and bool(np.isfinite(data.coherence).any())
    if axes is None:
        figure = style.figure(6, 5.4 if coherent else 4.4, layout="constrained")
        heights = (3, 2.4, 1) if coherent else (3, 2.4)
        panels = figure.subplots(len(heights), 1, sharex=True, height_ratios=heights)
    else:
        panels = axes
    size, phase = panels[:2]
    lines = np.empty(0) if data is None else data.frequency
    beside = np.zeros(len(lines))
    for i, (name, system) in enumerate(channels.items()):
        every = np.unique(np.concatenate([f, lines, _resolved([system], f[0], f[-1])]))
        G, turned = _response(system, every)
        turned -= 360 * every * late
        if i == 0:
            start = turned[np.isfinite(turned)][:1]
            beside = turned[np.searchsorted(every, lines)]
        turned -= 360 * np.round((turned[np.isfinite(turned)][:1] - start) / 360)
        at, look = np.searchsorted(every, f), style.curve(i + 1)
        size.plot(f, _decibels(G[at]), **look, label=escape.label(name))
        phase.plot(f, turned[at], **look, label=escape.label(name))
    if data is not None:
        size.plot(lines, _decibels(data.response), **style.points(0), label="measured", zorder=1.9)
        phase.plot(lines, _along(data, beside), **style.points(0), label="measured", zorder=1.9)
        if coherent and len(panels) > 2:
            panels[2].plot(lines, data.coherence, **style.points(0), label="measured")
            panels[2].set_ylim(-0.05, 1.05)
            panels[2].set_ylabel("coherence")
    size.set_ylabel(f"gain [dB{'' if data is None else data.unit}]")
    phase.set_ylabel("phase [degrees]")
    for each in panels:
        each.set_xscale("log")
    panels[-1].set_xlabel("frequency [Hz]")
    size.legend(loc="best")
    return finished(panels, axes)  # type: ignore[no-any-return]


# -- arguments ---------------------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, eq=False)
class _Measured:
    """One measured channel, with arrays (k,). `unit` is the text after "dB"."""

    frequency: Array
    response: Array
    coherence: Array
    unit: str


def _measured(data: Any, output: Any, input: Any) -> _Measured:
    from xarray import Dataset

    if not isinstance(data, Dataset) or "response" not in data or "frequency" not in data.response.dims:
        kind = "has no response over frequency" if isinstance(data, Dataset) else f"is {a_kind(data)}"
        raise Fault("measured", f"{kind}; it must be a result of frequency_response")
    for part, wanted in (("output", output), ("input", input)):
        if part in data.dims:
            labels = [str(each) for each in data[part].values]
            data = data.isel({part: channel(labels, wanted, part, "the measurement")})
    f, G = np.asarray(data.frequency.values, dtype=float), np.asarray(data.response.values, dtype=complex)
    if G.ndim != 1 or not len(G) or not (np.isfinite(f) & (f > 0)).all() or not (np.diff(f) > 0).all():
        raise Fault("measured", "has frequencies that are not positive and ascending, or unknown dimensions")
    known = np.isfinite(G)
    if not known.any():
        raise Fault("measured", "has no response of this channel that is a number")
    own = np.asarray(data.coherence.values, dtype=float) if "coherence" in data else np.full(len(f), np.nan)
    units = [str(data[part].item()) if part in data.coords else "" for part in ("output_unit", "input_unit")]
    unit = f" re 1 {units[0] or '1'}/{units[1] or '1'}" if any(units) else ""
    return _Measured(f[known], G[known], own[known], escape.label(unit))


def _single(name: str, system: "LTI", output: Any, input: Any) -> "LTI":
    """Return one channel of a system."""
    whose = f"system {shown(name)}"
    i = channel(list(system.output_labels), output, "output", whose)
    j = channel(list(system.input_labels), input, "input", whose)
    if system.dt is True:
        raise Fault("systems", f"has {shown(name)}, a discrete system without a sample time; give it one, dt=...")
    return system[i, j]  # type: ignore[no-any-return, index]


def _frequencies(given: Any, systems: list["LTI"], data: _Measured | None) -> Array:
    """Return the frequencies of a curve [Hz]."""
    if given is not None:
        f = np.unique(checked_array(given, "frequency"))
        if not len(f) or not f[0] > 0:
            raise Fault("frequency", "must have numbers, all positive" if len(f) else "is empty")
        return f  # type: ignore[no-any-return]
    if data is not None:
        return _resolved(systems, data.frequency[0], data.frequency[-1])
    low, high = np.array([_range(each) for each in systems]).T
    return _resolved(systems, low.min(), high.max())


def _range(system: "LTI") -> tuple[float, float]:
    """Return a range from below the slowest pole or zero to above the fastest [Hz].

    For a discrete system it ends at half the sample rate.
    """
    f = _corners(system)
    low, high = (f.min() / 10, 10 * f.max()) if len(f) else (0.01, 100.0)
    if system.dt:
        high = 0.5 / system.dt
        low = min(low, high / 1000)
    return low, high


def _corners(system: "LTI") -> Array:
    """Return the frequencies of poles and zeros [Hz]."""
    s = np.concatenate([system.poles(), system.zeros()])
    s = s[np.isfinite(s)]
    if system.dt:
        s = np.log(s[np.abs(s) > 1e-12].astype(complex)) / system.dt
    f = np.abs(s) / (2 * np.pi)
    return f[f > 1e-6 * f.max(initial=0.0)]


def _resolved(systems: list["LTI"], low: float, high: float) -> Array:
    """Return frequencies from low to high, dense about each pole and zero."""
    near = [np.ravel(_corners(each)[:, None] * (1 + SIDES)) for each in systems]
    f = np.unique(np.concatenate([np.geomspace(low, high, POINTS), *near]))
    return f[(f >= low) & (f <= high)]  # type: ignore[no-any-return]


# -- curves ------------------------------------------------------------------------------------------------------------


def _decibels(G: Array) -> Array:
    with np.errstate(divide="ignore"):
        size = 20 * np.log10(np.abs(G))
    return np.where(np.isfinite(size), size, np.nan)


def _response(system: "LTI", f: Array) -> tuple[Array, Array]:
    """Return the response (k,), and its phase without jumps [degrees], NaN above half a discrete system's sample
    rate."""
    omega = 2 * np.pi * f
    if system.dt:
        known, s = f <= 0.5 / system.dt * (1 + 1e-12), np.exp(1j * omega * system.dt)
        beside = s * np.exp(ASIDE * omega * system.dt)
    else:
        known, s = f > 0, 1j * omega
        beside = (1j + ASIDE) * omega
    G, right = (np.ravel(system(x, squeeze=False, warn_infinite=False)).astype(complex) for x in (s, beside))
    known &= np.isfinite(right)
    turned = np.full(len(f), np.nan)
    turned[known] = np.degrees(np.unwrap(np.angle(right[known])))
    return np.where(known, G, np.nan), turned


def _along(data: _Measured, beside: Array) -> Array:
    """Return the measured phase [degrees], unwrapped relative to another phase, so that their difference has no
    jumps."""
    off = np.degrees(np.angle(data.response)) - np.where(np.isfinite(beside), beside, 0.0)
    off -= 360 * np.round(off / 360)
    sure = ~(data.coherence < COHERENT)
    if not sure.any():
        sure[:] = True
    off[sure] = np.unwrap(off[sure], period=360)
    near = np.interp(data.frequency, data.frequency[sure], off[sure])
    off -= 360 * np.round((off - near) / 360)
    return off + np.where(np.isfinite(beside), beside, 0.0)  # type: ignore[no-any-return]
