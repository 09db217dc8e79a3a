"""Output-error identification, `fa.identify`: an arm's parameters from measured motions."""

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, final

import numpy as np

from flexarm import progress
from flexarm.arrays import Array
from flexarm.checks import (
    NOT_NEGATIVE,
    POSITIVE,
    Fault,
    checked_flag,
    checked_number,
    checked_whole,
    choices,
    counted,
    refused,
    shown,
)
from flexarm.errors import DescriptionError, Doubtful, Indistinct
from flexarm.identification.comparison import InTime
from flexarm.identification.estimate import SINGULAR, combination, statistics
from flexarm.identification.experiment import Experiment, experiment
from flexarm.identification.frequency import is_response
from flexarm.identification.frequency_fit import identify_response
from flexarm.identification.result import Identification
from flexarm.identification.shooting import FIRM, Layout, Measured, Shots, first, series, stacked, taken
from flexarm.identification.unknowns import Found, Unknown, bounded, search, signed, slopes
from flexarm.identification.wanted import aliased, check_known, constant, of_arm, placed, varied
from flexarm.model import ModelLike, as_model
from flexarm.simulation.methods import fastest_of

RADIANS = 1.0
"""First step of the Runge-Kutta method, in radians of the fastest mode: an error of 1 % of its amplitude in each."""

NOTICED = 0.1
"""Integration error, in standard deviations of the residuals, above which steps are halved."""

LEAST_NOISE = 1e-6
"""Smallest standard deviation of residuals in the weights, relative to the signal's size."""

MOST_STEPS = 2e7
"""Largest number of steps in all records for one set of parameters, which take about a minute."""

PASSES = 8
"""Largest number of times that the weights are updated from the residuals."""

SETTLED = 0.03
"""Relative change of the weights below which they have converged."""


BEGINNINGS = (1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2)
"""Shares of the records over which the search runs first, one after the other."""

SHORTEST = 30
"""Least number of samples of the first part of a record."""

RAMP = (1e-3, 0.03, 1.0)
"""Shares of the final weight that joins segments, in consecutive searches."""


def identify(
    model: ModelLike,
    data: Any,
    fit: Sequence[str],
    inputs: Any = None,
    outputs: Any = None,
    *,
    sample_rate: float | None = None,
    given: Mapping[str, Any] | None = None,
    given_noise: float | None = None,
    currents: Mapping[str, float] | None = None,
    between: str = "linear",
    delay: float | None = None,
    start: Mapping[str, float] | None = None,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    offsets: Any = False,
    states: Any = False,
    q0: Any = None,
    qd0: Any = None,
    segments: int = 1,
    joined: bool = True,
    step: float | None = None,
    unmodelled: float | None = None,
) -> Identification:
    """Identify the parameters with which an arm's simulated outputs are nearest to the measured ones in the mean
    square.

    The method is output error with exact sensitivities. Compiled code integrates the equations and their derivatives
    together, in eight directions at a time, and SciPy's trust region method updates the values. Each output has the
    inverse of its residuals' standard deviation as its weight, which is also estimated.

    Parameters
    ----------
    model : Model, Arm, str or path
        A model with or without variable parameters.
    data : xarray.Dataset, pandas.DataFrame, dict of arrays, or a list of them
        One record or several. Signals (T,) by name, evenly sampled; `u` may be (T, m). A DataFrame has the times in a
        column or an index called "time" [s].
    fit : list of str
        Names, symbols or patterns of the parameters: "elbow.stiffness", "fore.EI", "*.damping".
    inputs : dict, optional
        Signal of the torque of each actuator: {"upper.joint": "torque_1"}; an actuator without a signal has no torque.
        Default: the columns of `u` in the order of `model.inputs`.
    outputs : list of sensors, or dict
        Measured outputs. A signal has the name of the sensor's signal; a dict {"signal": sensor} assigns another.
    sample_rate : float
        Sample rate of a dict of arrays without an array "time" [1/s].
    given : dict, optional
        Joints whose motion is measured and given: {"upper.drive": "hub_angle"}, or with its measured rate
        {"upper.drive": ("hub_angle", "hub_rate")}. Their torques have no effect, nor do parameters that affect these
        torques alone.
    given_noise : float, optional
        Standard deviation of the angle's noise (of the rate's, if it is measured); default by cross-validation.
    currents : dict, optional
        Actuators whose input is a current, each with a guess of its motor constant [N m/A], which is also identified.
    between : "linear" or "held"
        Inputs between samples: linear, as for a measured current, or constant, as for a command.
    delay : float, optional
        Guess of the delay of the inputs [s], which is also identified; "linear" only.
    start, bounds : dict, optional
        {"fore.EI": 2.0}, {"fore.EI": (0.5, 8.0)}: initial guess of the search (default: the model's values), and its
        bounds (default for positive parameters: a ten thousandth and ten thousand times the initial guess). Also for
        other unknowns, by their names in the result.
    offsets : bool or list of str
        Outputs with an unknown constant error; True: all.
    states : bool or list of str
        Coordinates with an unknown value and rate at the beginning of a record; True: all.
    q0, qd0 : (nq,), (nv,), or a row per record, or dict by coordinate and by rate, optional
        Initial states of records, or guesses of them; default `arm.rest`, at rest. They must be known (`states=False`,
        `segments=1`) if the arm has closures, a free base or ball joints.
    segments : int
        Multiple shooting: number of segments of each record, each with an unknown initial state. Use it for unstable
        plants, and if a simulation with poor initial values leaves the data.
    joined : bool
        True if a segment begins where the one before ends. Otherwise each has its own state, so that drift has no
        effect.
    step : float, optional
        Longest step of the Runge-Kutta method [s]; default a radian of the fastest mode, or less if that affects the
        result.
    unmodelled : float, optional
        For a frequency response only: expected relative error of the model, in addition to the variance of each line.
        Friction changes the response of a real arm by more than the scatter between periods. With 0 (default) the lines
        with the least noise dominate.

    Notes
    -----
    Data may be a frequency response from `fa.frequency_response`. Then `inputs`, `outputs`, `currents`, `delay`,
    `start`, `bounds` and `unmodelled` are as above, `q0` is the configuration about which the arm makes small motions,
    and the fit uses the arm's linear model.

    Raises
    ------
    DescriptionError
        If data have gaps, uneven times or too few samples, if a signal, an output or a parameter does not exist, if an
        initial guess is outside its bounds, or if the data do not depend on a parameter.

    Warns
    -----
    Indistinct
        If the data hardly determine some parameters separately.
    Doubtful
        If the search has not converged, or if the model does not explain an output. Likely causes are a poor initial
        guess, another unit, a wrong sign, or swapped signals.
    """
    with refused("identify"):
        model = as_model(model)
    if is_response(data):
        in_time = {
            "sample_rate": sample_rate,
            "given": given,
            "given_noise": given_noise,
            "offsets": offsets,
            "states": states,
            "qd0": qd0,
            "step": step,
        }
        for name, value in in_time.items():
            if value is not None and value is not False:
                raise DescriptionError(
                    f"identify: {name} applies only to data over time, not to a frequency response; leave it out"
                )
        options = {"currents": currents, "delay": delay, "start": start, "bounds": bounds, "q0": q0}
        return identify_response(model, data, fit, inputs, outputs, unmodelled=unmodelled or 0.0, **options)
    if unmodelled is not None:
        raise DescriptionError(
            "identify: unmodelled applies only to frequency responses, not to data over time; leave it out"
        )
    with refused("identify"):
        if between not in ("linear", "held"):
            raise Fault("between", f"is {shown(between)}; it must be {choices('linear', 'held')}")
        segments = checked_whole(segments, 1, "segments")
        joined = checked_flag(joined, "joined")
        if given_noise is not None:
            checked_number(given_noise, "", POSITIVE, "given_noise")
        if delay is not None:
            checked_number(delay, "s", NOT_NEGATIVE, "delay")
            if between == "held":
                raise Fault("delay", "needs between='linear'; a delay of piecewise constant inputs cannot be estimated")
    model, chosen = varied(model, fit)
    held = between == "held"
    asked, constants = experiment(
        model,
        inputs,
        outputs,
        given,
        currents,
        offsets,
        states,
        q0,
        qd0,
        given_noise,
        sample_rate,
        held,
        segments,
        joined,
    )
    measured = asked.measured(data)
    unknowns, layout = _unknowns(asked, measured, chosen, constants, delay, start, bounds)
    readings = sum(each.y.size for each in measured)
    if readings <= len(unknowns):
        raise DescriptionError(
            f"identify: too few samples, {counted(readings, 'reading')} for {counted(len(unknowns), 'unknown')}"
        )
    fastest = fastest_of(model, np.atleast_2d(asked.q0)[0])
    p = np.concatenate([model.p, list(constants.values())])
    steps = _steps(measured, fastest, step)
    shots = Shots(asked.plant.motion, measured, layout, p, 0.0, steps, held, joined)
    with progress.said("identifying"), np.errstate(over="ignore", invalid="ignore"):  # far from the data
        fit_ = fitted(shots, unknowns)
    return _result(asked, unknowns, fit_, fastest)


# -- arguments ---------------------------------------------------------------------------------------------------------


def _unknowns(
    asked: Experiment,
    measured: tuple[Measured, ...],
    chosen: tuple[int, ...],
    constants: dict[int, float],
    delay: float | None,
    start: Any,
    bounds: Any,
) -> tuple[tuple[Unknown, ...], Layout]:
    """Return all unknowns, those of the arm first, and their indices in the simulation."""
    model = asked.plant.model
    start, bounds = (aliased(model, chosen, table, what) for table, what in ((start, "start"), (bounds, "bounds")))
    unknowns = [of_arm(model.varied[i], model.p[i], start, bounds) for i in chosen]
    p = np.full(len(model.p) + len(constants), -1)
    p[list(chosen)] = range(len(chosen))
    for number, (i, value) in enumerate(constants.items()):
        p[len(model.p) + number] = len(unknowns)
        unknowns.append(constant(model.inputs[i], value))
    late = -1
    if delay is not None:
        late = len(unknowns)
        unknowns.append(bounded(signed("delay", "s", delay, measured[0].dt), 0.0, math.inf))
    own, states, offsets = asked.own(measured, len(unknowns))
    unknowns += own
    check_known(unknowns, start=start, bounds=bounds)
    unknowns = [placed(each, start, bounds) for each in unknowns]
    return tuple(unknowns), Layout(len(unknowns), p, late, states, offsets)


def _steps(measured: Sequence[Measured], fastest: float, step: float | None) -> int:
    """Number of Runge-Kutta steps between two samples."""
    dt = max(each.dt for each in measured)
    if step is not None:
        with refused("identify"):
            checked_number(step, "s", POSITIVE, "step")
    steps = max(1, math.ceil(dt / step - 1e-9) if step else math.ceil(dt * fastest / RADIANS))
    total = steps * sum(len(each.t) for each in measured)
    if total > MOST_STEPS:
        said = f"samples are {dt:.4g} s apart and the fastest mode is {fastest:.4g} rad/s: {total:.3g} steps"
        better = "check that time is in s, leave out fast modes, or give a longer step"
        raise DescriptionError(f"identify: {said}; {better}")
    return steps


# -- the fit -----------------------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, eq=False)
class Fitted:
    """Result of a search with weights that follow the residuals.

    Attributes
    ----------
    shots : Shots
        Simulation with the final number of steps.
    found : Found
    sigma : (outputs,)
        Standard deviations of the residuals.
    error : float
        Integration error, relative to `sigma`.
    """

    shots: Shots
    found: Found
    sigma: Array
    error: float


def weighted(values: Array, shots: Shots, sigma: Array, firm: Array) -> tuple[Array, Array]:
    """Residuals in standard deviations, then the gaps between segments, with their derivatives."""
    with np.errstate(over="ignore", invalid="ignore"):
        r, J, missing, gaps = shots.compared(values)
        scale = np.tile(firm, len(missing) // len(firm)) if len(firm) else np.ones(0)
        rows = stacked(J, 1 / sigma)
        return np.concatenate([stacked(r, 1 / sigma), missing * scale]), np.vstack([rows, gaps * scale[:, None]])


def fitted(shots: Shots, unknowns: tuple[Unknown, ...]) -> Fitted:
    """Search with weights from the residuals, which are updated and searched again until they converge."""
    y = np.concatenate([each.y for each in shots.records])
    size = np.maximum(np.std(y, axis=0), 1e-3 * np.abs(y).max(axis=0))
    size[size == 0] = 1.0
    sigma, start = size, np.array([each.start for each in unknowns])
    _check_distinct(shots, unknowns, start, size)
    values, count = _grown(shots, unknowns, start, size)
    before = math.inf
    while True:
        for attempt in range(PASSES):
            found, firmly = _searched(shots, unknowns, values, sigma, attempt)
            count, values = count + found.evaluations, found.values
            last, sigma = sigma, _deviations(shots, values, size)
            if firmly and np.abs(sigma / last - 1).max() < SETTLED:
                break
        halved = replace(shots, steps=2 * shots.steps)
        pairs = zip(halved.modelled(values), shots.modelled(values), strict=True)
        change = np.sqrt(np.mean(np.concatenate([np.square(a - b) for a, b in pairs]), axis=0))
        error = float((change / sigma).max())
        total = halved.steps * sum(len(each.t) for each in shots.records)
        if error < NOTICED or not error < before / 4 or total > MOST_STEPS:  # or shorter steps do not help
            return Fitted(shots, replace(found, evaluations=count), sigma, error)
        shots, before = halved, error


def _grown(shots: Shots, unknowns: Sequence[Unknown], values: Array, size: Array) -> tuple[Array, int]:
    """Return the result of searches over longer and longer first parts of the records, and the number of evaluations.

    A frequency with an error of a tenth is half a turn late after five turns, and then the opposite correction seems
    better: the sum of squares has many minima. Over the first few turns it has one, which narrows as the part grows.
    Unknowns that the first part hardly affects stay near their values, as if these were known to a factor of e.
    """
    count = 0
    if any(len(each) > 1 for each in shots.layout.states):  # many shots are already short
        return values, count
    for share in BEGINNINGS:
        lengths = [max(round(share * len(each.t)), SHORTEST) for each in shots.records]
        if all(length < len(each.t) for length, each in zip(lengths, shots.records, strict=True)):
            parts = [first(each, length) for length, each in zip(lengths, shots.records, strict=True)]
            begun = partial(_kept_near, shots=replace(shots, records=tuple(parts)), unknowns=unknowns, sigma=size)
            found = search(unknowns, begun, values, rtol=1e-3)
            values, count = found.values, count + found.evaluations
    return values, count


def _kept_near(values: Array, shots: Shots, unknowns: Sequence[Unknown], sigma: Array) -> tuple[Array, Array]:
    """Residuals, then the distance of each unknown from its initial guess, with derivatives."""
    r, J = weighted(values, shots, sigma, np.zeros(0))
    z = [each.searched(value) for each, value in zip(unknowns, values, strict=True)]
    return np.concatenate([r, z]), np.vstack([J, np.diag(1 / slopes(unknowns, values))])


def _searched(
    shots: Shots, unknowns: Sequence[Unknown], values: Array, sigma: Array, attempt: int = len(RAMP)
) -> tuple[Found, bool]:
    """Search once, and return whether segments have the final weight of their joints, which takes some attempts."""
    joints = _conditions(shots, values, sigma)
    share = RAMP[min(attempt, len(RAMP) - 1)] if len(joints) else 1.0
    found = search(unknowns, partial(weighted, shots=shots, sigma=sigma, firm=share * joints), values)
    return found, share == 1.0


def _conditions(shots: Shots, values: Array, sigma: Array) -> Array:
    """Weights of the conditions between segments, (states,), large beside the weight of the data; or none."""
    if not shots.joined or all(len(each) == 1 for each in shots.layout.states):
        return np.zeros(0)
    _, J, _, _ = shots.compared(values)
    columns = np.sqrt((stacked(J, 1 / sigma) ** 2).sum(axis=0))
    places = np.concatenate([each[1:] for each in shots.layout.states])
    known = np.where(places >= 0, columns[places], 0.0).max(axis=0)
    return FIRM * np.maximum(known, 1e-3 * known.max())


def _deviations(shots: Shots, values: Array, size: Array) -> Array:
    """Standard deviation of each output's residuals over all records."""
    models = zip(shots.records, shots.modelled(values), strict=True)
    squares = np.concatenate([np.square(record.y - model) for record, model in models])
    return np.maximum(np.sqrt(squares.mean(axis=0)), LEAST_NOISE * size)


def _check_distinct(shots: Shots, unknowns: tuple[Unknown, ...], values: Array, sigma: Array) -> None:
    """Raise `DescriptionError` for unknowns on which the data do not depend."""
    _, J = weighted(values, shots, sigma, np.ones(len(shots.records[0].x)))
    if not np.isfinite(J).all():
        better = "use a start closer to the true values, more segments, or shorter steps"
        raise DescriptionError(f"identify: the motion at the start is not finite: {better}")
    _, s, V = np.linalg.svd(J * slopes(unknowns, values), full_matrices=False)
    bad = [combination(unknowns, v) for v in V[s <= SINGULAR * s[0]]]
    if bad:
        alone = bad[0] in [each.name for each in unknowns]
        said = "do not depend on" if alone else "cannot distinguish"
        raise DescriptionError(
            f"identify: the data {said} {'; '.join(bad)}; measure more signals, or fit fewer parameters"
        )


# -- the result --------------------------------------------------------------------------------------------------------


def _result(asked: Experiment, unknowns: tuple[Unknown, ...], fit: Fitted, fastest: float) -> Identification:
    """Return the estimates with their statistics and facts about the search."""
    shots, found = fit.shots, fit.found
    rows = sum(each.y.size for each in shots.records)
    ties = found.jacobian[rows:] if len(found.residuals) > rows else None
    told = statistics(
        unknowns, found.values, found.residuals[:rows], found.jacobian[:rows], series(shots.records), ties
    )
    if told.indistinct:
        worst = "; ".join(each.text for each in told.indistinct)
        warnings.warn(f"the data hardly determine {worst}; see `indistinct` of the result", Indistinct, stacklevel=3)
    layout = shots.layout
    values = {each.name: float(x) for each, x in zip(unknowns, found.values, strict=True) if each.of_arm}
    known = replace(
        shots,
        p=taken(found.values, layout.p, shots.p),
        delay=float(found.values[layout.delay]) if layout.delay >= 0 else 0.0,
    )
    spread = zip(asked.outputs, fit.sigma, asked.units, strict=True)
    steps = f"{counted(shots.steps, 'Runge-Kutta step')} of {shots.records[0].dt / shots.steps:.3g} s per sample"
    ended = "converged" if found.converged else found.message
    facts = {
        "residuals": ", ".join(f"{name} {x:.3g} {unit}" for name, x, unit in spread),
        "integration": f"{steps}, fastest mode {fastest:.4g} rad/s, error {fit.error:.2g} of the residuals",
        "search": f"{counted(found.evaluations, 'evaluation')} with derivatives, {ended}",
    }
    compared = _compared(asked, shots, found.values)
    if said := _doubts(found, compared):
        warnings.warn(f"identify: {said}", Doubtful, stacklevel=3)
    return Identification(
        asked.plant.model.at(values),
        unknowns,
        found.values,
        told,
        compared,
        facts,
        partial(_withheld, asked, known, fit.sigma),
    )


def _doubts(found: Found, compared: InTime) -> str:
    """Reasons for doubt about the estimates; "" if there are none."""
    said = [] if found.converged else [f"the search has not converged: {found.message}"]
    fit = compared.fit
    for record in fit.record.values:
        for output in fit.output.values:
            if not (percent := float(fit.sel(record=record, output=output))) > 0:
                said.append(f"the model explains nothing of {output} of {record}, its fit is {percent:.3g} %")
    return "; ".join(said)


def _compared(asked: Experiment, shots: Shots, values: Array) -> InTime:
    """Return the comparison of the records with the simulation for the given values."""
    names, times, measured = zip(*((each.name, each.t, each.y) for each in shots.records), strict=True)
    return InTime(names, asked.outputs, asked.units, times, measured, tuple(shots.modelled(values)))


def _withheld(asked: Experiment, shots: Shots, sigma: Array, data: Any) -> InTime:
    """Return the comparison of other records with the same parameters. Initial states and offsets are fitted again."""
    measured = asked.measured(data)
    unknowns, states, offsets = asked.own(measured, 0)
    layout = Layout(len(unknowns), np.full(len(shots.p), -1), -1, states, offsets)
    shots = replace(shots, records=measured, layout=layout)
    values = np.array([each.start for each in unknowns])
    return _compared(asked, shots, _searched(shots, unknowns, values, sigma)[0].values if unknowns else values)
