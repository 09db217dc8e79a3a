"""Twins of measured rigs: from a log to an identified arm, a shaper and a controller that are designed on it."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import ArrayLike

from flexarm.arrays import Array
from flexarm.brief import brief
from flexarm.checks import (
    NOT_NEGATIVE,
    POSITIVE,
    Fault,
    Rule,
    a_kind,
    checked_number,
    checked_numbers,
    refused,
    shown,
    unknown_name,
)
from flexarm.control import Observed, ScheduledLQR, design_shaper, vibrations
from flexarm.errors import DescriptionError, Doubtful, Implausible
from flexarm.files import check_ending, checked_path, write_whole
from flexarm.hardware.twin_report import html, markdown, sections
from flexarm.identification.frequency import frequency_response
from flexarm.identification.output_error import identify
from flexarm.identification.records import records
from flexarm.identification.result import Comparison, Identification
from flexarm.model import Model
from flexarm.model.core import ModelLike, as_model
from flexarm.sensors import Encoder
from flexarm.simulation.performance import Performance, performance
from flexarm.simulation.run import simulate
from flexarm.simulation.sampled import Sampled
from flexarm.trajectory import Quintic, Reference, Shaper, shaped
from flexarm.trajectory.reference import rest

if TYPE_CHECKING:
    from xarray import Dataset

WHERE = "twin"
"""Name of the public function in messages."""

SHARE: Rule = ("at least 0.05 and at most 0.9", lambda x: 0.05 <= x <= 0.9)

MOVE = 0.3
"""Displacement of each joint in the default reference [rad or m]."""

TURNS = 1.5
"""Duration of the default reference in periods of the slowest mode."""

SILENT = 1e-4
"""Standard deviation of a sensor's noise relative to its signal, if the log shows none."""

LEAST_FIT, DOUBTFUL_FIT = 10.0, 60.0
"""Fit of the withheld part below which a twin is refused, and below which there is a warning [%]."""

OPTIONS = tuple(name for name, each in signature(identify).parameters.items() if each.kind is each.KEYWORD_ONLY)
"""Further arguments, those of `identify`."""

STEP = 1e-3
"""Relative change of a parameter for the derivative of the frequency."""


@final
@brief
@dataclass(frozen=True, eq=False)
class Twin:
    """An arm that was identified from a log, with a shaper and a controller that are designed on it.

    Attributes
    ----------
    identification : Identification
        Estimates from the first part of the log.
    validation : Comparison
        Comparison with the withheld part of the log: `fit`, `residuals`, `plot(title)`.
    frequency, frequency_error, damping_ratio : float
        Slowest natural frequency with the drives held, its standard error [rad/s], and its damping ratio.
    shaper : Shaper
        Input shaper for this frequency.
    controller : Sampled
        LQR with the torques of the slow motion (`ScheduledLQR`) on the estimates of a Kalman filter, along the shaped
        reference. `export_controller` writes it as C.
    unshaped, shaped : Performance
        Performance of the simulated twin under this controller along the plain and the shaped reference.
    """

    identification: Identification
    validation: Comparison
    frequency: float
    frequency_error: float
    damping_ratio: float
    shaper: Shaper
    controller: Sampled
    unshaped: Performance
    shaped: Performance

    @property
    def model(self) -> Model:
        """Model with the estimates."""
        return self.identification.model

    @property
    def residual(self) -> Array:
        """Residual vibration of the shaper at the frequency less and plus two standard errors, relative to none."""
        ends = self.frequency + 2.0 * self.frequency_error * np.array([-1.0, 0.0, 1.0])
        return self.shaper.residual(np.maximum(ends, 0.0), self.damping_ratio)

    def report(self) -> str:
        """Return the report as Markdown."""
        return markdown(f"Twin of {self.model.arm.name}", sections(self))

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the report, `.md` without figures or `.html` with them, and return its path."""
        file = Path(checked_path(path))
        check_ending(file, ".md", ".html", where=f"{WHERE}: path {shown(str(file))}")
        title, parts = f"Twin of {self.model.arm.name}", sections(self)
        if file.suffix == ".md":
            return write_whole(file, markdown(title, parts).encode())
        figures = {"Identification": self.identification.plot, "Withheld data": self._plot_withheld}
        return write_whole(file, html(title, parts, figures).encode())

    def _plot_withheld(self) -> Any:
        return self.validation.plot(f"{self.model.arm.name}, withheld data")


def twin(
    log: Any,
    arm: ModelLike,
    fit: Sequence[str],
    inputs: Mapping[str, str] | None = None,
    outputs: Mapping[str, Any] | None = None,
    *,
    withheld: float = 0.5,
    excitation_period: float | None = None,
    band: tuple[float, float] | None = None,
    period: float | None = None,
    reference: Reference | None = None,
    limit: ArrayLike | None = None,
    **options: Any,
) -> Twin:
    """Identify an arm from a log of a rig, and design an input shaper and a controller on it.

    The first part of the log is fitted by `identify`, and the rest is withheld and compared with the result. The shaper
    is ZVD for the slowest mode with the drives held. The controller is `ScheduledLQR` on the estimates of a Kalman
    filter (`Observed`), sampled, along the shaped reference. The filter assumes the noise that the log shows.

    Parameters
    ----------
    log : xarray.Dataset, pandas.DataFrame, or dict of arrays
        Signals (T,) by name, evenly sampled. A dict needs `sample_rate` among the options.
    arm : Arm, Model, or the name or path of an arm
        The arm with guesses of the parameters.
    fit : list of str
        Parameters that are identified, see `identify`.
    inputs : dict
        Signal of the torque of each actuator, see `identify`.
    outputs : dict
        Sensor of each measured signal, {"signal": sensor}.
    withheld : float
        Share of the log that is not fitted, at its end.
    excitation_period : float, optional
        Period of a periodic excitation [s]. The fit then uses frequency responses of whole periods.
    band : (2,), optional
        Lowest and highest frequency of these responses [Hz].
    period : float, optional
        Sampling period of the controller [s]. Default: that of the log.
    reference : Reference, optional
        Motion of the joints. Default: 0.3 rad or m in 1.5 periods of the slowest mode.
    limit : float or (m,), optional
        Limit of the controller's outputs [N m or N].
    options
        Further arguments of `identify`: `given`, `delay`, `offsets`, `start`, `bounds`, `unmodelled`, ... The initial
        states of both parts are unknown by default, which `states=False` changes.

    Raises
    ------
    DescriptionError
        As `identify`, `design_shaper`, `Observed` and `ScheduledLQR`. Also if the log is too short for the two parts,
        if an output is constant, or if the fitted arm explains less than a tenth of an output of the withheld part.

    Warns
    -----
    Doubtful
        If the fitted arm explains less than 60 % of an output of the withheld part.
    Implausible
        If the estimates differ from the guesses by the factor between radians and degrees.
    """
    with refused(WHERE):
        model = as_model(arm, "arm")
        share = checked_number(withheld, "", SHARE, "withheld")
        if not isinstance(outputs, Mapping) or not outputs:
            raise Fault("outputs", f"is {shown(outputs)}; it must be a dict of sensors by signal")
        if inputs is not None and not isinstance(inputs, Mapping):
            raise Fault("inputs", f"is {shown(inputs)}; it must be a dict of signals by actuator")
        if excitation_period is not None:
            checked_number(excitation_period, "s", POSITIVE, "excitation_period")
            if not inputs:
                must = "with excitation_period it must be a dict of signals by actuator"
                raise Fault("inputs", f"is {shown(inputs)}; {must}")
        if band is not None:
            _check_band(band, excitation_period)
    if wrong := [name for name in options if name not in OPTIONS]:
        raise DescriptionError(unknown_name(f"{WHERE}: unknown argument", wrong[0], OPTIONS, "further arguments are"))
    rate, count = _checked_log(model, log, inputs, outputs, options.get("sample_rate"))
    whole = 1 if excitation_period is None else max(1, round(excitation_period * rate))
    cut = whole * round((1.0 - share) * (count // whole))
    with refused(WHERE):
        if not 0 < cut < whole * (count // whole):
            raise Fault("log", f"has {count} samples; it must have at least one excitation period in each part")
    parts = [_part(log, slice(0, cut)), _part(log, slice(cut, whole * (count // whole)))]
    if excitation_period is not None:
        names = [*(inputs or {}).values()], [*outputs]
        parts = [_response(part, names, excitation_period, options.get("sample_rate"), band) for part in parts]
        options = {name: value for name, value in options.items() if name != "sample_rate"}
    else:
        options.setdefault("states", True)
    found = identify(model, parts[0], fit, inputs, outputs, **options)
    noise = _noise(log, outputs, found, whole if excitation_period is not None else 0, cut)
    validation = found.validate(parts[1])
    _check_plausible(found, validation, [*outputs])
    return _designed(found, validation, _sensors(outputs, noise, options.get("given"), log), reference,
                     1.0 / rate if period is None else period, limit)  # fmt: skip


def _designed(
    found: Identification,
    validation: Comparison,
    sensors: list[Any],
    reference: Reference | None,
    period: float,
    limit: ArrayLike | None,
) -> Twin:
    model = found.model
    omega, zeta = _slowest(model)
    if reference is None:
        start = model.input_matrix(np.array(model.arm.rest)).T[: len(model.arm.driven)] @ np.array(model.arm.rest)
        reference = Quintic(start.tolist(), (start + MOVE).tolist(), TURNS * 2.0 * np.pi / omega)
    end = rest(reference)
    with refused(WHERE):
        if end is None:
            raise Fault("reference", "never comes to rest; give a reference that ends")
    shaper = design_shaper(model, end[1], "zvd")
    runs = []
    for followed in (reference, shaped(reference, shaper)):
        controller = Sampled(Observed(ScheduledLQR(followed), sensors), period, limit=limit)
        until = end[0] + shaper.duration + 4.0 * 2.0 * np.pi / omega
        result = simulate(model, until, u=controller, samples=1001, progress=False)
        runs.append(performance(result))
    return Twin(found, validation, omega, _frequency_error(found, omega), zeta, shaper, controller, *runs)


def _slowest(model: Model) -> tuple[float, float]:
    """Return frequency and damping ratio of the slowest mode with the drives held."""
    omega, zeta = vibrations(model)
    with refused(WHERE):
        if not len(omega):
            raise Fault("arm", "has no mode that oscillates with the drives held, so that no shaper can be designed")
    return float(omega[0]), float(zeta[0])


def _frequency_error(found: Identification, omega: float) -> float:
    """Return the standard error of the slowest frequency from the covariance of the estimates."""
    slopes = np.zeros(len(found.unknowns))
    for i, each in enumerate(found.unknowns):
        if each.of_arm:
            value = found.values[each.name]
            changed = found.model.at({each.name: value * (1.0 + STEP)})
            slopes[i] = (_slowest(changed)[0] - omega) / (STEP * value)
    return float(np.sqrt(max(0.0, slopes @ np.nan_to_num(found.statistics.covariance) @ slopes)))


# -- the log -----------------------------------------------------------------------------------------------------------


def _part(log: Any, rows: slice) -> Any:
    """Return some samples of a log of the same kind."""
    if hasattr(log, "isel"):
        return log.isel(time=rows)
    if hasattr(log, "iloc"):
        return log.iloc[rows]
    return {name: np.asarray(values)[rows] for name, values in log.items()}


def _check_band(band: Any, excitation_period: float | None) -> None:
    """Raise `Fault` if a band is not a lower and a higher frequency, or if nothing uses it."""
    if excitation_period is None:
        raise Fault("band", "applies only to a periodic excitation; add excitation_period, or leave band out")
    ends = checked_numbers(band, "Hz", NOT_NEGATIVE, "band")
    if len(ends) != 2 or ends[0] >= ends[1]:
        raise Fault("band", f"is {shown(band)}; it must be a lower and a higher frequency in Hz")


def _checked_log(
    model: Model, log: Any, inputs: Mapping[str, str] | None, outputs: Mapping[str, Any], given: float | None
) -> tuple[float, int]:
    """Return the sample rate [1/s] and the number of samples of a log. Raises `DescriptionError`."""
    with refused(WHERE):
        if isinstance(log, str | PathLike):
            raise Fault("log", f"is {shown(str(log))}; read the file first, such as by pandas.read_csv(...)")
        if not isinstance(log, Mapping) and not hasattr(log, "columns"):
            raise Fault("log", f"is {a_kind(log)}; it must be a Dataset, a DataFrame or a dict of arrays")
        if isinstance(log, dict) and given is None and "time" not in log:
            raise Fault("log", "has no times; give sample_rate")
        if given is not None:
            checked_number(given, "1/s", POSITIVE, "sample_rate")
    (record,) = records(log, given)
    for names, what in (((inputs or {}).values(), "an input"), (outputs, "an output")):
        for name in names:
            y = record.signal(name, what)
            with refused(WHERE):
                if what == "an output" and np.ptp(y) == 0.0:
                    raise Fault("log", f"has a constant {shown(name)}, {y[0]:g}; check that its sensor is connected")
    rate, slowest = 1.0 / record.dt, vibrations(model)[0]
    with refused(WHERE):
        if len(slowest) and slowest[0] > np.pi * rate:
            said = f"{slowest[0] / (2.0 * np.pi):.3g} Hz, more than half the sample rate of the log, {rate:.3g} per s"
            raise Fault("arm", f"has its slowest mode at {said}; times are in seconds")
    return rate, len(record.t)


def _check_plausible(found: Identification, validation: Comparison, outputs: list[str]) -> None:
    """Warn if the twin may be wrong, or raise `DescriptionError` if it certainly is."""
    fit = dict(zip(outputs, np.min(validation.fit.values, axis=0).tolist(), strict=True))
    name = min(fit, key=lambda each: fit[each])
    said = f"the fitted arm explains {max(fit[name], 0.0):.3g} % of {name} in the withheld part of the log"
    causes = "check the sign, the unit and the delay of each signal, the guesses, and what else acts on the rig"
    if not fit[name] >= LEAST_FIT:
        raise DescriptionError(f"{WHERE}: {said}; {causes}")
    if fit[name] < DOUBTFUL_FIT:
        warnings.warn(f"{WHERE}: {said}; {causes}", Doubtful, stacklevel=3)
    ratios = [_ratio(found, each) for each in found.unknowns if each.of_arm]
    degrees = [x for x in ratios if 0.8 < x * np.pi / 180.0 < 1.25]
    if len(degrees) > len(ratios) / 2.0:
        both = "more than half of the estimates are about 57 times their guesses, or a 57th"
        warnings.warn(
            f"{WHERE}: {both}; angles are in radians: are those of the log in degrees?", Implausible, stacklevel=3
        )


def _ratio(found: Identification, unknown: Any) -> float:
    """Return the ratio of an estimate and its guess, or its inverse if that is larger."""
    value, guess = found.values[unknown.name], unknown.start
    return max(value / guess, guess / value) if value > 0.0 < guess else 1.0


def _response(
    part: Any,
    names: tuple[list[str], list[str]],
    excitation: float,
    rate: float | None,
    band: tuple[float, float] | None,
) -> "Dataset":
    found = frequency_response(part, *names, excitation, sample_rate=rate)
    return found if band is None else found.sel(frequency=slice(*band))


def _noise(log: Any, outputs: Mapping[str, Any], found: Identification, samples: int, cut: int) -> dict[str, float]:
    """Return the standard deviation of the noise of each signal.

    With periodic excitation it is the scatter between periods, otherwise that of the residuals of the fit.
    """
    noise = {}
    for name in outputs:
        values = np.asarray(log[name], dtype=float)[:cut]
        if samples and len(values) >= 2 * samples:
            turns = values.reshape(-1, samples)
            scatter = (turns - turns.mean(axis=1, keepdims=True)).std(axis=0, ddof=1).mean()
        elif samples:
            scatter = 0.0
        else:
            scatter = float(np.std([float(x) for record in found.residuals for x in np.ravel(record[name])]))
        noise[name] = max(float(scatter), SILENT * float(np.std(values)))
    return noise


def _sensors(outputs: Mapping[str, Any], noise: dict[str, float], given: Any, log: Any) -> list[Any]:
    """Return the sensors of the controller, with the noise of the log, and encoders of joints with a given motion."""
    found = [
        sensor if sensor.noise or sensor.resolution else sensor.replace(noise=noise[name])
        for name, sensor in outputs.items()
    ]
    for coordinate, signals in (given or {}).items():
        signal = signals if isinstance(signals, str) else signals[0]
        found.append(Encoder(coordinate=coordinate, noise=SILENT * float(np.std(np.asarray(log[signal])))))
    return found
