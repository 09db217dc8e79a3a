"""Frequency responses from periodic data, with the variance that follows from the scatter between periods.

A periodic signal has power only at its own lines, and the differences between periods are noise. There is no window and
no leakage, and the variance of every line follows from the data (Pintelon & Schoukens, System Identification, 2nd ed.,
section 2.5). Lines without power in the input show nonlinear effects of an arm, such as friction and backlash.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from flexarm.arrays import Array
from flexarm.checks import (
    POSITIVE,
    Fault,
    checked_array,
    checked_number,
    checked_whole,
    counted,
    refused,
    shown,
)
from flexarm.errors import DescriptionError
from flexarm.identification.records import records

if TYPE_CHECKING:
    from xarray import Dataset

UNEVEN = 1e-3
"""Largest error of a sample's time, as a share of the sample time."""

REPEATS = 0.5
"""Largest relative difference of a periodic input's spectra from one period to the next."""

LINES = 5
"""Least number of lines for a pair of poles, which has as many coefficients."""

STEPS = 50
"""Largest number of steps of the iteration of Sanathanan & Koerner."""

ALIKE = 1e-6
"""Share of the largest singular value below which inputs count as moving together in all records."""


def frequency_response(
    data: Any,
    inputs: str | Sequence[str],
    outputs: str | Sequence[str],
    period: float,
    *,
    sample_rate: float | None = None,
    skip: int = 0,
    drift: bool = True,
    excited: float = 0.1,
) -> "Dataset":
    """Return the frequency response from inputs to outputs, at the lines where periodic inputs have power.

    The function averages the spectra of whole periods, inputs and outputs, and divides them. As many records
    (experiments) as inputs with power at a line determine all responses. One record is enough if each line has one
    input.

    Parameters
    ----------
    data : xarray.Dataset, pandas.DataFrame, dict of arrays, or a list of them
        Records, each with the signals over `time` [s], evenly spaced. A DataFrame has the times in a column or an index
        called "time". A dict of arrays needs `sample_rate`.
    inputs, outputs : str or list of str
        Names of signals. An array (time, k) under the name "u" is k signals. Their names are "u[0]", "u[1]", ..., or
        "u[upper.joint]" if the array has labels along its second dimension.
    period : float
        Period of the inputs [s]: a whole number of samples, at least two periods. The remainder at the end is not used.
    sample_rate : float, optional
        [Hz]
    skip : int
        Number of periods dropped at the beginning of each record, in which the arm has not yet settled.
    drift : bool
        True to subtract the straight line through the means of the periods from each signal, because freely turning
        joints drift.
    excited : float
        A line is excited if an input has at least this share of its largest amplitude there.

    Returns
    -------
    xarray.Dataset
        Over `frequency` [Hz], `output` and `input`: `response`, complex; `variance` of the mean over all periods,
        E|error|^2; `coherence`, the share of a single period's output that follows the input; `amplitude` of the
        inputs. They are NaN if an input has no power.

        Over `line` [Hz] below the highest excited one, where no input has power: `distortion` (line, output), amplitude
        of the periodic part; `noise`, its value without distortion; and `parity`, "even" or "odd". Even lines are
        multiples of two and contain quadratic effects. Odd lines contain friction and backlash.

    Raises
    ------
    DescriptionError
        If signals are missing or contain NaN, if the sample rate does not fit the period, if records are shorter than
        two periods, if inputs are not periodic, or if the effects of inputs cannot be separated.
    """
    import xarray as xr

    names_u, names_y = _names(inputs, "inputs"), _names(outputs, "outputs")
    with refused("frequency_response"):
        period = checked_number(period, "s", POSITIVE, "period")
        skip = checked_whole(skip, 0, "skip")
        share = checked_number(excited, "", ("between 0 and 1", lambda x: 0 < x < 1), "excited")
    found = records(data, sample_rate, (*names_u, *names_y))
    parts = [{name: each.columns(name) for name in each.signals} for each in found]
    listed = [[x for columns in part.values() for x in columns] for part in parts]
    for i, each in enumerate(listed):
        if each != listed[0]:
            names = f"{', '.join(each)}; they must be those of {found[0].name}, {', '.join(listed[0])}"
            raise DescriptionError(f"frequency_response: {found[i].name} has the signals {names}")
    units = {x: found[0].units.get(name, "") for name, columns in parts[0].items() for x in columns}
    names_u, names_y = (tuple(x for name in names for x in parts[0][name]) for names in (names_u, names_y))
    spectra = [
        _spectra(
            {x: y for columns in part.values() for x, y in columns.items()},
            1 / each.dt,
            names_u,
            names_y,
            period,
            skip,
            drift,
        )
        for part, each in zip(parts, found, strict=True)
    ]
    size = np.max([np.abs(each.U.mean(axis=0)) for each in spectra], axis=0)  # (lines, inputs)
    n = min(len(size), *(len(each.frequency) for each in spectra))
    moves = size[:n] >= share * size.max(axis=0)
    moves[0] = False
    frequency = spectra[0].frequency[:n]
    at = np.flatnonzero(moves.any(axis=1))
    G = np.full((len(at), len(names_y), len(names_u)), np.nan, dtype=complex)
    variance, single = np.full(G.shape, np.nan), np.full(G.shape, np.nan)
    for row, k in enumerate(at):
        G[row][:, moves[k]], variance[row][:, moves[k]], single[row][:, moves[k]] = _solved(
            [(each.U[:, k][:, moves[k]], each.Y[:, k]) for each in spectra], frequency[k]
        )
    quiet = np.array([k for k in range(1, at[-1]) if not moves[k].any()], dtype=int)
    own, noise = _distortion(spectra, quiet)
    with np.errstate(invalid="ignore", divide="ignore"):
        coherence = np.abs(G) ** 2 / (np.abs(G) ** 2 + single)
    three = ("frequency", "output", "input")
    units_u, units_y = ([units[name] for name in names] for names in (names_u, names_y))
    return xr.Dataset(
        {
            "response": (three, G),
            "variance": (three, variance),
            "coherence": (three, coherence),
            "amplitude": (("frequency", "input"), 2 * size[at], {"long_name": "amplitude of the inputs"}),
            "distortion": (("line", "output"), own),
            "noise": (("line", "output"), noise),
        },
        coords={
            "frequency": ("frequency", frequency[at], {"units": "Hz"}),
            "output": list(names_y),
            "input": list(names_u),
            "line": ("line", frequency[quiet], {"units": "Hz"}),
            "parity": ("line", np.where(quiet % 2, "odd", "even") if len(quiet) else np.empty(0, dtype="<U4")),
            "output_unit": ("output", units_y),
            "input_unit": ("input", units_u),
        },
        attrs={
            "kind": "frequency response",
            "period": period,
            "sample_rate": 1 / found[0].dt,
            "periods": int(sum(len(each.U) for each in spectra)),
            "records": len(found),
        },
    )


# -- records -----------------------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, eq=False)
class _Spectra:
    """Spectra of each period: U (periods, lines, inputs), Y (periods, lines, outputs), over the number of samples."""

    frequency: Array
    U: Array
    Y: Array


def _names(value: Any, part: str) -> tuple[str, ...]:
    with refused("frequency_response"):
        names = [value] if isinstance(value, str) else value
        if not isinstance(names, list | tuple) or not names or not all(isinstance(each, str) for each in names):
            raise Fault(part, f"is {shown(value)}; it must be the name of a signal, or a list of names")
        if len(set(names)) < len(names):
            raise Fault(part, f"is {shown(value)}; give each signal once")
    return tuple(names)


def _spectra(
    signals: Mapping[str, Array],
    rate: float,
    inputs: Sequence[str],
    outputs: Sequence[str],
    period: float,
    skip: int,
    drift: bool,
) -> _Spectra:
    exact = period * rate
    n = round(exact)
    samples = len(signals[inputs[0]])
    if n < 2 or abs(exact - n) > UNEVEN:
        said = f"a period of {period:g} s has {exact:.6g} samples at {rate:.6g} Hz"
        raise DescriptionError(f"frequency_response: {said}; it must have a whole number of samples")
    count = samples // n - skip
    if count < 2:
        said = f"a record has {samples / n:.3g} periods of {period:g} s" + f" and the first {skip} are skipped" * (
            skip > 0
        )
        raise DescriptionError(f"frequency_response: {said}; at least two periods must remain")
    rows = slice(skip * n, (skip + count) * n)
    U, Y = (
        np.stack([_transformed(signals[name][rows].reshape(count, n), drift) for name in names], axis=-1)
        for names in (inputs, outputs)
    )
    for j, name in enumerate(inputs):
        mean = U[:, 1:, j].mean(axis=0)
        apart = np.linalg.norm(U[:, 1:, j] - mean, axis=1).max()
        if apart > REPEATS * np.linalg.norm(mean):
            said = f"input {name!r} does not repeat with a period of {period:g} s"
            raise DescriptionError(f"frequency_response: {said}; give the right period, and skip the initial transient")
    return _Spectra(np.arange(U.shape[1]) / period, U, Y)


def _transformed(x: Array, drift: bool) -> Array:
    """Spectra (periods, lines) of periods (periods, n), without the straight line through their means."""
    count, n = x.shape
    if drift:
        middle = np.arange(count) - (count - 1) / 2
        slope = middle @ x.mean(axis=1) / (middle @ middle)
        x = x - slope * np.arange(n) / n  # a constant contributes to line 0 only
    return np.fft.rfft(x, axis=1) / n


# -- lines -------------------------------------------------------------------------------------------------------------


def _solved(records: list[tuple[Array, Array]], frequency: float) -> tuple[Array, Array, Array]:
    """G (outputs, inputs) at a line, its variance, and that of a single period, from U (P, m) and Y (P, p) of each
    record.
    """
    U = np.stack([u.mean(axis=0) for u, _ in records], axis=1)  # (m, records)
    Y = np.stack([y.mean(axis=0) for _, y in records], axis=1)
    s = np.linalg.svd(U, compute_uv=False)
    if U.shape[1] < len(U) or s[-1] < ALIKE * s[0]:
        said = f"{counted(len(U), 'input')} move at {frequency:g} Hz in {counted(U.shape[1], 'record')}"
        must = "give as many records as inputs, with different combinations, or one input per line"
        raise DescriptionError(f"frequency_response: {said}; {must}")
    back = np.linalg.pinv(U)  # (records, m)
    G = Y @ back
    variance, single = np.zeros(G.shape), np.zeros(G.shape)
    for i, (u, y) in enumerate(records):
        error = (y - Y[:, i]) - (u - U[:, i]) @ G.T  # (P, p), for a period
        spread = (np.abs(error) ** 2).sum(axis=0) / (len(y) - 1)
        share = np.abs(back[i]) ** 2
        variance += np.outer(spread / len(y), share)
        single += np.outer(spread, share)
    return G, variance, single


def _distortion(spectra: list[_Spectra], lines: Array) -> tuple[Array, Array]:
    """Amplitudes (lines, outputs) of the periodic part where no input has power, and their values for noise alone."""
    parts = [each.Y[:, lines] for each in spectra]
    own = np.sqrt(np.mean([np.abs(y.mean(axis=0)) ** 2 for y in parts], axis=0))
    noise = np.sqrt(
        np.mean([(np.abs(y - y.mean(axis=0)) ** 2).sum(axis=0) / (len(y) - 1) / len(y) for y in parts], axis=0)
    )
    return 2 * own, 2 * noise


def is_response(data: Any) -> bool:
    """True if data are a frequency response in the form that `frequency_response` returns."""
    from xarray import Dataset

    return isinstance(data, Dataset) and {"response", "variance", "frequency"} <= set(data.variables)


def decibels(x: Array) -> Array:
    """Return 20 log10 |x|."""
    with np.errstate(divide="ignore"):
        return 20 * np.log10(np.abs(x))


@final
@dataclass(frozen=True)
class Resonance:
    """A pair of poles: natural frequency [Hz] and damping ratio."""

    frequency: float
    damping_ratio: float


def resonance(frequency: Array, response: Array, band: tuple[float, float]) -> Resonance:
    """Return the pair of poles of a response in a band, from its lines there, without a model of the arm.

    The fitted function is (b_0 + b_1 s + b_2 s^2) / (a_0 + a_1 s + s^2), where b_2 represents the other modes.
    Multiplied by its denominator it is linear in its coefficients. The error is then divided by the last denominator,
    until that converges (Sanathanan & Koerner 1963).

    Parameters
    ----------
    frequency, response : (f,)
        [Hz], and complex.
    band : two numbers
        [Hz]; at least five lines must lie in it.

    Raises `DescriptionError` if there are fewer lines, or if the fit has no pair of poles.
    """
    with refused("resonance"):
        f = checked_array(frequency, "frequency")
        low, high = (checked_number(x, "Hz", POSITIVE, "band") for x in band)
        G = np.asarray(response)
        if f.shape != G.shape or f.ndim != 1:
            raise Fault("response", f"has shape {G.shape}; it must be that of frequency, {f.shape}")
    inside = (f >= low) & (f <= high) & np.isfinite(G)
    if inside.sum() < LINES:
        said = f"{counted(int(inside.sum()), 'line')} from {low:g} to {high:g} Hz"
        raise DescriptionError(f"resonance: the band has {said}; it must have at least {LINES}")
    middle = 2 * math.pi * (low + high) / 2
    s, y = 2j * math.pi * f[inside] / middle, G[inside] / np.abs(G[inside]).max()
    a = np.array([1.0, 0.0])
    weight = np.ones(len(s))
    for _ in range(STEPS):
        A = weight[:, None] * np.stack([np.ones_like(s), s, s**2, -y, -y * s], axis=1)
        b = weight * y * s**2
        x = np.linalg.lstsq(np.vstack([A.real, A.imag]), np.concatenate([b.real, b.imag]), rcond=None)[0]
        before, a = a, x[3:]
        if np.abs(a - before).max() < 1e-10:
            break
        weight = 1 / np.abs(a[0] + a[1] * s + s**2)
    if not (a[0] > 0 and abs(a[1]) < 2 * math.sqrt(a[0])):
        raise DescriptionError(
            f"resonance: the fit has no pair of poles from {low:g} to {high:g} Hz; choose a band around one resonance"
        )
    omega = math.sqrt(a[0])
    return Resonance(middle * omega / (2 * math.pi), float(a[1]) / (2 * omega))
