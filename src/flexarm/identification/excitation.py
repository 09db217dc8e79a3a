"""Design of the excitation of an arm that is most informative about its parameters, with expected standard errors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from flexarm import escape, style
from flexarm.arrays import Array
from flexarm.axes import checked_axes, finished
from flexarm.brief import brief
from flexarm.checks import (
    POSITIVE,
    SHARE,
    Fault,
    checked_array,
    checked_instance,
    checked_number,
    counted,
    refused,
    shown,
    unknown_name,
)
from flexarm.errors import DescriptionError, SimulationError
from flexarm.identification.design import d_optimal, low_peaks, peaks
from flexarm.identification.frequency_model import Linear, check_rest, holding, linear
from flexarm.mechanics.parameters import fitting
from flexarm.model import Model, ModelLike, Sensor, as_model
from flexarm.model.varied import named_in
from flexarm.sensors import outputs as measured_by
from flexarm.simulation.inputs import Table
from flexarm.simulation.options import Solver
from flexarm.simulation.run import simulate

if TYPE_CHECKING:
    from flexarm.figure import Panels

LIMITS = ("torque", "range", "rate")
"""Kinds of limits, in addition to those of outputs."""

SETTLING = 1
"""Number of periods at the beginning that do not count, because the arm starts from rest."""

PERIODS = 4
"""Default number of periods of a run."""

BAND = 1.5
"""Default upper end of the band, as a multiple of the highest natural frequency."""

NYQUIST = 0.4
"""Highest frequency of a line, as a share of the sample rate."""

POINTS = 16
"""Points of the table of torques in the shortest period of its lines."""

SHARES = (0.1, 0.4, 1.0)
"""Shares of the power that are spread evenly over all lines, for robustness against model errors: those tried."""

MOST_LINES = 20_000

MOST_SAMPLES = 200_001
"""Largest number of samples of the run in which limits are checked."""

BLIND = 1e-12
"""Share of the largest singular value of all lines' information below which a singular value counts as zero."""

ATTEMPTS = 10
"""Largest number of runs until all limits are just satisfied."""

SNUG = 0.97
"""Share of a limit above which a signal is near enough to it."""


@final
@brief
@dataclass(frozen=True, eq=False)
class Excitation:
    """A multisine within limits, with its expected accuracy.

    Attributes
    ----------
    input : Table
        The torques, including those that hold the arm: for `simulate`, and for the real arm.
    frequency : (l,)
        Frequencies of the lines [Hz].
    amplitude : (l,)
        Amplitude of each line, a torque or a force.
    phase : (l,)
        u = amplitude cos(2 pi frequency t + phase).
    driven : (l,) of str
        Input of each line. Each line has one input, so that one run determines the responses to all inputs.
    period, until, sample_rate : float
        [s], [s], [Hz]. The first period is for settling.
    errors : dict
        Expected standard error of each parameter by its name, from whole periods after the first.
    covariance : (k, k)
    peaks : dict
        Largest size in the simulated run and limit, by the name of the signal.
    crest_factor : dict
        Largest size over root mean square of each input, by its name.
    """

    input: Table
    frequency: Array
    amplitude: Array
    phase: Array
    driven: tuple[str, ...]
    period: float
    until: float
    sample_rate: float
    errors: dict[str, float]
    covariance: Array
    peaks: dict[str, tuple[float, float]]
    crest_factor: dict[str, float]
    nominal: dict[str, float]

    def __str__(self) -> str:
        run = f"period {self.period:g} s, {self.until:g} s at {self.sample_rate:g} Hz"
        lines = [f"multisine of {counted(len(self.frequency), 'line')}, {run}"]
        for name, error in self.errors.items():
            value = self.nominal[name]
            share = f", {100 * error / abs(value):.2g} %" if value else ""
            lines.append(f"{name} {value:.6g}: standard error {error:.2g}{share}")
        lines += [f"{name}: {most:.3g} of {limit:.3g}" for name, (most, limit) in self.peaks.items()]
        lines += [f"crest factor of {name}: {factor:.2f}" for name, factor in self.crest_factor.items()]
        return escape.lines("\n".join(lines))

    def plot(self, *, ax: Any = None) -> "Panels":
        """Draw the torques over a period, and their lines, into new axes or two given ones. Return both axes."""
        with refused("plot"):
            given = checked_axes(ax, (2,))
        panels = style.figure(8, 6, layout="constrained").subplots(2, 1) if given is None else given
        over_time, over_lines = panels
        inputs = list(self.crest_factor)
        t = self.input.times[self.input.times <= self.period]
        for i, name in enumerate(inputs):
            over_time.plot(t, self.input.values_[: len(t), i], **style.curve(i, len(t)), label=escape.label(name))
            own = np.array([each == name for each in self.driven])
            over_lines.vlines(self.frequency[own], 0, self.amplitude[own], **style.upright(i))
        over_time.set_xlabel("time [s]")
        over_time.set_ylabel("input [N m or N]")
        over_time.legend()
        over_lines.set_xlabel("frequency [Hz]")
        over_lines.set_ylabel("amplitude [N m or N]")
        return finished(panels, given)  # type: ignore[no-any-return]


def excitation(
    model: ModelLike,
    fit: str | Sequence[str],
    until: float,
    *,
    outputs: Sequence[Sensor],
    limits: Mapping[str, Any],
    sample_rate: float,
    period: float | None = None,
    band: tuple[float, float] | None = None,
    q: Any = None,
    flat: float | None = None,
    seed: int = 0,
) -> Excitation:
    """Return the multisine within limits that is most informative about some parameters, with expected standard errors.

    The arm is linear about q. Each line belongs to one input. The powers of the lines minimise the determinant of the
    parameters' covariance (D-optimal) while the mean square of every limited signal stays within its share of the
    limit. The phases keep peaks low. The amplitudes are then as large as a simulation of the arm itself from rest
    allows.

    Parameters
    ----------
    model : Model, Arm, str or path
        Model with assumed parameter values. If the parameters to be fitted are not variable in it, the function makes
        another model of its arm.
    fit : str or list of str
        Names, symbols or patterns of parameters, as in `fa.identify`.
    until : float
        Length of the run [s].
    outputs : list of Sensor
        Each with its `noise`, its `resolution`, or both. The noise counts as white, and rounding counts as noise.
    limits : dict
        `"torque"` [N m or N], of the total output of the actuators; `"range"`, largest distance of joints and motors
        from q [rad or m]; `"rate"`, of joints and motors; or the name of an output, its largest deviation from its
        value at rest. Each is one number, or one for each input.
    sample_rate : float
        Sample rate of the readings [Hz].
    period : float, optional
        Period of the multisine [s], at least two of them in the run; default a quarter of `until`. Its inverse is the
        distance between lines.
    band : two numbers, optional
        Lowest and highest line [Hz]; default from 1 / period to 1.5 times the highest natural frequency.
    q : (n,), optional
        Configuration of the arm; default at rest. Under gravity use one from `analysis.equilibrium`.
    flat : float, optional
        Share of the power that is spread evenly over all lines, from 0 to 1. Default: 0.1, 0.4 or 1, whichever is most
        informative. An arm that can drift may need more than a few strong lines.
    seed : int
        Seed of the random phases that are tried.

    Raises
    ------
    DescriptionError
        If no excitation satisfies the limits, if the outputs do not determine all parameters, or if an argument does
        not fit the arm.
    """
    with refused("excitation"):
        model = as_model(model)
        until = checked_number(until, "s", POSITIVE, "until")
        sample_rate = checked_number(sample_rate, "Hz", POSITIVE, "sample_rate")
        period = until / PERIODS if period is None else checked_number(period, "s", POSITIVE, "period")
        if flat is not None:
            flat = checked_number(flat, "", SHARE, "flat")
        if until < 2 * period * (1 - 1e-9):
            raise Fault("until", f"is {until:g} s; it must be at least two periods of {period:g} s")
    model = _varying(model, fit)
    at = model.single("excitation", "q", model.arm.rest if q is None else q)
    check_rest(model, at)
    names, noise = model.output_names(outputs), _noise(outputs, model)
    lines, driven = _lines(model, at, period, band, sample_rate)
    arm = linear(model, outputs, at)
    signals = _signals(model, names, limits)
    response = _responses(arm, lines / period, driven, signals)
    hold = holding(model, at)
    sine = _Multisine(lines, driven, hold, period, until)
    room = _room(signals, hold)
    counted = (int(until / period + 1e-9) - SETTLING) * period * sample_rate
    size = np.where(model.p != 0, np.abs(model.p), 1.0)
    # information of a line of unit power: the amplitude is its root, and cos has the mean square of a half
    G, dG = arm.slopes(lines / period)
    J = np.stack([each[np.arange(len(lines)), :, driven] for each in dG], axis=-1) * size / noise[:, None]
    information = counted / 2 * np.einsum("lok,lom->lkm", np.conj(J), J).real
    _check_seen(model, information.sum(axis=0))
    cost = 0.5 * np.abs(response / room).T ** 2
    even = np.ones(len(lines)) / cost.sum(axis=1).max()
    best = d_optimal(information, cost).power
    points = 1 << int(np.ceil(np.log2(max(POINTS * lines.max(), 256))))

    def tried(share: float) -> tuple[float, Array, dict[str, tuple[float, float]]]:
        """Return log det of the information, amplitudes and peaks, with this share of the power spread evenly."""
        a = low_peaks(lines, np.sqrt((1 - share) * best + share * even), response / room, points, seed)
        a = sine.without_push(a / peaks(lines, a, response / room, points).max())
        a, reached = _scaled(model, at, outputs, signals, room, sine, a)
        return float(np.linalg.slogdet(np.einsum("l,lkm->km", np.abs(a) ** 2, information))[1]), a, reached

    _, a, reached = max((tried(x) for x in (SHARES if flat is None else (flat,))), key=lambda each: each[0])
    M = np.einsum("l,lkm->km", np.abs(a) ** 2, information)
    C = np.linalg.inv(M) * np.outer(size, size)
    found = [each.name for each in model.varied]
    table = sine.table(a)
    own = table.values_[:-1] - hold
    crest = np.abs(own).max(axis=0) / np.maximum(np.sqrt((own**2).mean(axis=0)), np.finfo(float).tiny)
    return Excitation(
        table,
        sine.lines / period,
        np.abs(a),
        np.angle(a),
        tuple(model.inputs[i] for i in sine.driven),
        period,
        until,
        sample_rate,
        dict(zip(found, np.sqrt(np.diag(C)).tolist(), strict=True)),
        C,
        reached,
        dict(zip(model.inputs, crest.tolist(), strict=True)),
        dict(zip(found, model.p.tolist(), strict=True)),
    )


# -- arguments ---------------------------------------------------------------------------------------------------------


def _varying(model: Model, fit: Any) -> Model:
    """Return a model with this one's values in which the parameters to be fitted are variable."""
    patterns = [fit] if isinstance(fit, str) else fit
    if not isinstance(patterns, list | tuple) or not patterns:
        raise DescriptionError(f"excitation: fit is {shown(fit)}; it must be a list of names of parameters")
    if len(model.p) and all(any(x in fitting(model.varied, each) for each in patterns) for x in model.varied):
        return model
    with named_in("excitation: fit"):
        return Model(model.arm_at() if len(model.p) else model.arm, vary=patterns)


def _noise(sensors: Sequence[Any], model: Model) -> Array:
    """Standard deviation of every output (p,)."""
    found = []
    for each in sensors:
        own = np.hypot(getattr(each, "noise", 0.0), getattr(each, "resolution", 0.0) / np.sqrt(12))
        if not own > 0:
            said = f"{type(each).__name__} has neither noise nor resolution"
            raise DescriptionError(f"excitation: {said}; give its accuracy")
        found += [own] * len(each.names(model.arm))
    return np.array(found)


def _lines(model: Model, q: Array, period: float, band: Any, sample_rate: float) -> tuple[Array, Array]:
    """Multiples of 1 / period (l,), and the index of each line's input."""
    highest = NYQUIST * sample_rate
    if band is None:
        low, high = 1 / period, min(BAND * float(model.frequencies(q, locked=False).max()) / (2 * np.pi), highest)
    else:
        with refused("excitation"):
            ends = checked_array(band, "band")
            if ends.shape != (2,) or not 0 < ends[0] < ends[1]:
                raise Fault("band", f"is {shown(band)}; it must be two frequencies, the lower first")
        low, high = ends
        if high > highest * (1 + 1e-9):
            said = f"band ends at {high:g} Hz; at {sample_rate:g} Hz it must end at {highest:g} Hz or below"
            raise DescriptionError(f"excitation: {said}")
    lines = np.arange(max(1, int(np.ceil(low * period - 1e-9))), int(high * period + 1e-9) + 1)
    m = len(model.inputs)
    if len(lines) < m:
        raise DescriptionError(
            f"excitation: no line of 1 / {period:g} s lies from {low:g} to {high:g} Hz; take a longer period"
        )
    if len(lines) > MOST_LINES:
        raise DescriptionError(
            f"excitation: {counted(len(lines), 'line')}, and at most "
            f"{MOST_LINES} are allowed: give a band, or a shorter period"
        )
    return lines, np.arange(len(lines)) % m


@final
@dataclass(frozen=True, eq=False)
class _Signal:
    """A limited signal: kind ("torque", "range", "rate" or "output"), its index in this kind, its name, its limit."""

    kind: str
    at: int
    name: str
    limit: float


def _signals(model: Model, names: tuple[str, ...], limits: Any) -> list[_Signal]:
    with refused("excitation"):
        checked_instance(limits, Mapping, "limits")
        if not limits:
            raise Fault("limits", f"is empty; it must have at least one of {', '.join(LIMITS)} or an output")
        found = []
        for kind, value in limits.items():
            if kind in LIMITS:
                own = [*model.inputs] if kind == "torque" else [model.coordinates[i] for i in _turned(model)]
            elif kind in names:
                own = [kind]
            else:
                raise Fault("limits", unknown_name("has the unknown key", kind, (*LIMITS, *names), "allowed keys are"))
            given = checked_array(value, f"limits of {kind}")
            if given.shape not in ((), (len(own),), (len(model.inputs),)):
                raise Fault(f"limits of {kind}", f"has shape {given.shape}; it must be one number, or {len(own)}")
            if len(given.shape) and len(given) != len(own):  # one for each input, for its joint and its motor
                given = given[_inputs_of(model)]
            if not (given > 0).all():
                raise Fault(f"limits of {kind}", f"is {shown(value)}; it must be positive")
            every = np.broadcast_to(given, (len(own),)).tolist()
            at = {"torque": range(len(own)), "range": _turned(model), "rate": _turned(model)}.get(kind)
            places = [names.index(kind)] if at is None else list(at)
            mark = {"torque": "torque of ", "rate": "rate of "}.get(kind, "")
            kind = kind if kind in LIMITS else "output"
            found += [_Signal(kind, i, mark + name, x) for i, name, x in zip(places, own, every, strict=True)]
    return found


def _turned(model: Model) -> list[int]:
    """Indices of the coordinates that are joints or motors."""
    return sorted({*model.arm.driven, *model.arm.motors})


def _inputs_of(model: Model) -> list[int]:
    """Index of the input of the joint, for each of `_turned`."""
    joints = list(model.arm.driven)
    motors = {motor: joints.index(joint) for joint, motor in model.arm.springs}
    return [joints.index(i) if i in joints else motors[i] for i in _turned(model)]


def _responses(arm: Linear, frequency: Array, driven: Array, signals: list[_Signal]) -> Array:
    """Responses of the signals (l, s) to the input of each line."""
    X, G = arm.coordinates(frequency), arm.response(frequency)
    each = np.arange(len(frequency))
    s = 2j * np.pi * frequency
    columns = {
        "torque": lambda i: (driven == i).astype(complex),
        "range": lambda i: X[each, i, driven],
        "rate": lambda i: s * X[each, i, driven],
        "output": lambda i: G[each, i, driven],
    }
    return np.stack([columns[signal.kind](signal.at) for signal in signals], axis=1)


def _room(signals: list[_Signal], hold: Array) -> Array:
    """Largest deviation that the limits allow each signal from its value at rest."""
    taken = _at_rest(signals, hold)
    room = np.array([each.limit for each in signals]) - taken
    if (room <= 0).any():
        bad = int(room.argmin())
        said = (
            f"limits: holding the arm takes a {signals[bad].name} of {taken[bad]:g}, and the limit is "
            f"{signals[bad].limit:g}"
        )
        raise DescriptionError(f"excitation: {said}; increase the limit")
    return room


def _at_rest(signals: list[_Signal], hold: Array) -> Array:
    """Part of each limit that is used at rest."""
    return np.array([abs(hold[each.at]) if each.kind == "torque" else 0.0 for each in signals])


def _check_seen(model: Model, M: Array) -> None:
    """Raise `DescriptionError` if no spectrum determines all parameters."""
    size = np.sqrt(np.diag(M))
    names = [each.name for each in model.varied]
    if not (size > 0).all():
        unseen = names[int(size.argmin())]
        raise DescriptionError(
            f"excitation: these outputs contain no information on {unseen}; leave it out of fit, or add sensors"
        )
    values, vectors = np.linalg.eigh(M / np.outer(size, size))
    if values[0] < BLIND * values[-1]:
        share = vectors[:, 0] / size
        worst = np.argsort(-np.abs(share))
        mixed = [names[i] for i in worst if abs(share[i]) > 0.1 * abs(share[worst[0]])]
        said = f"these outputs cannot distinguish {' and '.join(mixed)}"
        raise DescriptionError(f"excitation: {said}; leave one of them out of fit")


# -- the run -----------------------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, eq=False)
class _Multisine:
    """Lines (l,), multiples of 1 / period, each of one input, about the torques that hold the arm."""

    lines: Array
    driven: Array
    hold: Array
    period: float
    until: float

    @property
    def intervals(self) -> int:
        """Number of intervals in a table of the complete run."""
        return int(np.ceil(POINTS * self.lines.max() * self.until / self.period))

    def without_push(self, a: Array) -> Array:
        """Shift the phases so that the integral of each input is zero at its beginning.

        An arm that starts from rest makes the periodic motion of a periodic torque, minus that motion's initial rates.
        Without the shift, freely turning joints would drift with these rates.
        """
        from scipy.optimize import brentq

        a = a.copy()
        for i in range(len(self.hold)):
            omega, own = 2 * np.pi * self.lines[self.driven == i], a[self.driven == i]

            def integral(t: float, omega: Array = omega, own: Array = own) -> float:
                return float(np.real(own / (1j * omega) @ np.exp(1j * omega * t)))

            t = np.linspace(0.0, 1.0, POINTS * int(self.lines.max()) + 1)
            v = np.array([integral(x) for x in t])
            at = int(np.flatnonzero(v[:-1] * v[1:] <= 0)[0])  # the integral has a zero because its mean is zero
            a[self.driven == i] = own * np.exp(1j * omega * brentq(integral, t[at], t[at + 1]))
        return a

    def table(self, a: Array) -> Table:
        """Return the torques over the complete run."""
        t = np.linspace(0.0, self.until, self.intervals + 1)
        u = np.tile(self.hold, (len(t), 1))
        for k, i, x in zip(self.lines, self.driven, a, strict=True):
            u[:, i] += np.real(x * np.exp(2j * np.pi * k * t / self.period))
        return Table(t, u)


def _scaled(
    model: Model, q: Array, sensors: Sequence[Sensor], signals: list[_Signal], room: Array, sine: _Multisine, a: Array
) -> tuple[Array, dict[str, tuple[float, float]]]:
    """Scale the lines so that a run of the arm from rest just satisfies all limits, and return the signals' peaks."""
    y = measured_by(model, list(sensors))
    samples = min(sine.intervals + 1, MOST_SAMPLES)
    largest = np.array([each.limit for each in signals])
    scale, kept, beyond, worst = 1.0, 0.0, np.inf, "motion"
    for _ in range(ATTEMPTS):
        table = sine.table(scale * a)
        try:
            result = simulate(
                model, sine.until, table, q0=q, samples=samples, solver=Solver(rtol=1e-6, atol=1e-8), progress=False
            )
        except SimulationError:
            used = np.inf
        else:
            Q, V, U = (result[name].values for name in ("q", "qd", "u"))
            Y = y.values(Q, V, U) - y.values(q, 0 * q, sine.hold)
            off = {"torque": U - sine.hold, "range": Q - q, "rate": V, "output": Y}
            far = np.array([np.abs(off[each.kind][:, each.at]).max() for each in signals])
            used, worst = float((far / room).max()), signals[int((far / room).argmax())].name
        if used <= 1:
            kept, found = (
                scale,
                dict(
                    zip((each.name for each in signals), zip(far + largest - room, largest, strict=True), strict=True)
                ),
            )
        else:
            beyond = scale
        if kept and (SNUG <= used <= 1 or beyond < kept / SNUG):
            break
        # signals grow with the lines while the arm is nearly linear; otherwise bisect between the allowed and the
        # exceeded scale
        grown = scale * (1 + SNUG) / 2 / used
        scale = grown if kept < grown < beyond else float(np.sqrt(kept * beyond)) if kept else scale / 10
    if kept:
        return kept * a, {name: (float(x), float(limit)) for name, (x, limit) in found.items()}
    said = f"the {worst} exceeds its limit even for the smallest excitation"
    raise DescriptionError(f"excitation: limits: {said}; increase the limit")
