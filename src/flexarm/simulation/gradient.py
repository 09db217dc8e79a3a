"""Gradients of a scalar of a run, by the discrete adjoint of its steps."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, final

import numpy as np

from flexarm.checks import (
    Fault,
    a_kind,
    checked_array,
    counted,
    refused,
    shown,
    unknown_name,
)
from flexarm.native.calls import cores
from flexarm.native.kernel import LANES
from flexarm.simulation.adjoint import Recorded
from flexarm.simulation.ensemble_pool import Pool
from flexarm.simulation.gradient_many import (
    alike,
    course_of,
    filled,
    recorded_beside,
    recorded_in_lanes,
    separated,
    sequence,
)
from flexarm.simulation.gradient_slopes import Gradient, Marks, Redesigned, controllers_of, gradients, kernels_of
from flexarm.simulation.gradient_start import Start, check_names, names_of
from flexarm.simulation.layout import Layout
from flexarm.simulation.objective import Scalar

ARGUMENTS = (
    *("model", "until", "u", "q0", "qd0", "method", "rtol", "samples", "solver", "save"),
    *("reference", "progress", "name", "p", "s0", "w", "disturbance", "changes", "sensitivities"),
)
"""Arguments of `simulate`, which define a run."""


def gradient(
    run: Mapping[str, Any],
    with_respect_to: str | Iterable[str],
    of: Any = None,
    integral: Any = None,
    times: Any = None,
    data: Any = None,
) -> Gradient:
    """Return a scalar of a run, and its derivatives with respect to many numbers at once.

    The scalar is `of` at the end of the run (or its sum over `times`) plus the integral of `integral` over the run. The
    derivatives are exact for the steps that the method takes, up to rounding. One backward sweep over these steps costs
    about as much as four runs in native code, whatever the number of inputs and parameters is.

    Parameters
    ----------
    run : dict
        Arguments of `fa.simulate` by name: `run = dict(model=..., until=..., u=..., q0=...)` is also the run of
        `fa.simulate(**run)`. The method "auto" is "dop853" here. u must be numbers, a `Piecewise`, a
        `Table`, or a controller with a law, also in `Sampled`. For N runs at once, q0, qd0, s0, p or numbers u have N
        rows, or u is a list of N inputs or of N controllers. Eight runs are computed at once, and all cores take part.
        The results are those of each run alone.
    with_respect_to : list of str
        Some of "q0", "qd0", "s0", "p", "u" and "w". The derivative with respect to "u" has the shape of the numbers in
        u: (m,), or (k, m) for the values of a `Piecewise` or a `Table`. Exogenous inputs "w" are numbers or one
        `Piecewise`. Numbers of a controller have names such as "u.Kp"
        or "u.reference.periods". With a free base or ball joints, that with respect to "q0" is in local coordinates
        (nv,): a shift and rotations along the moving axes.
    of : function or str
        A scalar function of the state at the end. It takes quantities by the names of its arguments, such as `lambda q,
        tip: ...`, and gets CasADi expressions: t; q, qd, s; tip (3,) [m]; kinetic, potential, work, dissipated [J]; p;
        data. Or the name of a scalar quantity, as "dissipated".
    integral : function or str
        A scalar function in the same form, which is integrated over time by the weights of the method: t; q, qd, s;
        tip; kinetic, potential; p; u; w.
    times : (k,), optional
        Times at which `of` is evaluated and summed [s]; default the end. The steps end at these times.
    data : (k, d), optional
        Numbers for each of the times, such as measurements, which `of` gets as `data`.

    Returns
    -------
    Gradient
        Of N runs all arrays and the value have a first axis of length N.

    Raises
    ------
    DescriptionError
        An argument is not valid, or the run has a part without a gradient: the method "generalized-alpha", a Python
        function, prescribed motions, or changes of parameters.
    SimulationError
        The run does not reach its end.

    Warns
    -----
    EnergyDrift
        The energy balance is off, as in `simulate`.
    UncertainResult
        A force jumps at a sharp contact within a step, and the derivatives lack the change of the contact's time. Steps
        do not end at contacts if they are fixed, or under a sampled controller.

    Notes
    -----
    The lengths of adaptive steps count as constants. The stages of implicit methods solve their equations to 3 % of the
    tolerance, and the derivatives are those of the exact solution. A contact, friction or a saturation has a gradient
    except at the state where it switches; there the one-sided derivative of the branch that was computed is returned.
    """
    with refused("gradient"):
        given, names = _arguments(run), names_of(with_respect_to, "with_respect_to")
        if of is None and integral is None:
            raise Fault("of", "is missing; give of, a function of the end, or integral, a function over the run")
        each = separated(given)
    runs: list[Start] = []
    for i, one in enumerate(each or [given]):
        runs.append(Start.of(one, runs[-1] if runs else None, "the run" if each is None else f"run {i}"))
    first = runs[0]
    marks = _marks(times, data, float(given["until"]), of)
    with refused("gradient"):
        for begun in runs[: 1 if each is None else None]:
            check_names(names, begun, "with_respect_to")
    scalars: dict[Layout, dict[str, Scalar]] = {}
    for layout in dict.fromkeys(run.layout for run in runs):  # controllers may have memories of different lengths
        made = scalars[layout] = {}
        if of is not None:
            made["of"] = Scalar("of", of, first.model, layout, marks.data.shape[1])
        if integral is not None:
            made["integral"] = Scalar("integral", integral, first.model, layout)
    others = shared(runs, lambda run: controllers_of(run, names))
    order = sequence(runs)
    parts = [order[i : i + LANES] for i in range(0, len(runs), LANES)]
    batches = [Batch([runs[i] for i in part], [others[i] for i in part], names, scalars, marks) for part in parts]
    if each is None:
        batches[0]()
    else:
        computed(batches)
    pairs = [pair for batch in batches for pair in zip(batch.found, batch.records, strict=True)]
    pairs = [pair for _, pair in sorted(zip(order, pairs, strict=True), key=lambda each: each[0])]
    for start, (_, record) in zip(runs, pairs, strict=True):
        start.warn(record)
    found = [one for one, _ in pairs]
    if each is None:
        return found[0]
    with refused("gradient"):
        return stacked(found)


@final
class Batch:
    """Up to `LANES` runs with their gradients, which are computed in SIMD batches if possible.

    Attributes
    ----------
    runs, others : list of Start, list of lists
        The runs, and the controllers of each with other numbers.
    found : list of Gradient
    records : list of Recorded
        Record of each run.
    """

    def __init__(
        self,
        runs: list[Start],
        others: list[list[Redesigned]],
        names: list[str],
        scalars: Mapping[Layout, Mapping[str, Scalar]],
        marks: Marks,
    ):
        self.runs, self._others, self._names, self._scalars, self._marks = runs, others, names, scalars, marks
        self.found: list[Gradient] = []
        self.records: list[Recorded] = []
        self._stopped = False

    def __call__(self) -> None:
        """Compute the gradients."""
        if self._stopped:
            return
        kernels = [kernels_of(others, run.model) for run, others in zip(self.runs, self._others, strict=True)]
        if len(self.runs) == 1 or not alike(self.runs, kernels):
            for run in range(len(self.runs)):
                self._alone(run, self.runs[run].recorded(self._marks.times))
            return
        courses = shared(self.runs, lambda run: course_of(run, self._marks.times))
        recorded = recorded_in_lanes(self.runs, courses)
        if recorded is not None:
            self._found(recorded)
            return
        records = [run.recorded(self._marks.times) for run in self.runs]
        recorded = recorded_beside(self.runs, records, courses)
        if recorded is not None:
            self._found(recorded)
            return
        for run, record in enumerate(records):
            self._alone(run, record)

    def _found(self, recorded: Recorded) -> None:
        """Compute the gradients of all runs from their common record."""
        arguments = recorded, self._names, self._scalars[self.runs[0].layout], self._marks
        self.found = gradients(filled(self.runs), filled(self._others), *arguments)[: len(self.runs)]
        self.records = [*recorded.each[: len(self.runs)]]

    def _alone(self, run: int, recorded: Recorded) -> None:
        """Compute the gradient of one run."""
        if not self._stopped:
            arguments = recorded, self._names, self._scalars[self.runs[run].layout], self._marks
            self.found += gradients([self.runs[run]], [self._others[run]], *arguments)
            self.records.append(recorded)

    def stop(self) -> None:
        """Prevent further runs."""
        self._stopped = True

    @property
    def finished(self) -> int:
        """Number of runs that have ended."""
        return len(self.found)


def shared(runs: list[Start], function: Callable[[Start], Any]) -> list[Any]:
    """Return a function of the input of each run. Runs with the same input share the result."""
    found: list[Any] = []
    for i, run in enumerate(runs):
        same = i > 0 and run.input is runs[i - 1].input
        found.append(found[-1] if same else function(run))
    return found


def computed(batches: list[Batch]) -> None:
    """Compute batches on all cores. The first one compiles what the others use."""
    batches[0]()
    pool = Pool(batches[1:], cores())
    pool(None)
    if pool.came:
        raise KeyboardInterrupt


# -- arguments ---------------------------------------------------------------------------------------------------------


def _arguments(run: Any) -> dict[str, Any]:
    """Return all arguments of a run. Raises `Fault`."""
    if not isinstance(run, Mapping) or hasattr(run, "data_vars"):
        what = "it must be a dict of the arguments of simulate, as dict(model=model, until=1.0, u=u)"
        raise Fault("run", f"is {a_kind(run)}; {what}")
    for name in run:
        if name not in ARGUMENTS:
            raise Fault("", unknown_name("run has the unknown argument", name, ARGUMENTS, "the arguments are"))
    for name in ("model", "until"):
        if name not in run:
            raise Fault("run", f"has no {name}; it must have model and until, as dict(model=model, until=1.0, u=u)")
    if run.get("changes"):
        raise Fault("run", "has changes of parameters, which have no gradient; leave changes out")
    return dict.fromkeys(ARGUMENTS) | dict(run)


def _marks(times: Any, data: Any, until: float, of: Any) -> Marks:
    """Return the times of the objective and their data."""
    with refused("gradient"):
        if of is None and not (times is None and data is None):
            raise Fault("of", "is missing; times and data are for the function of")
        t = np.array([until]) if times is None else np.atleast_1d(checked_array(times, "times"))
        if t.ndim != 1 or not len(t) or not ((t >= 0.0) & (t <= until)).all() or not (np.diff(t) > 0.0).all():
            raise Fault("times", f"is {shown(times)}; it must increase, from 0 to {until:g} s")
        rows = np.empty((len(t), 0)) if data is None else checked_array(data, "data")
        if rows.ndim == 1:
            rows = rows[:, None]
        if rows.ndim != 2 or len(rows) != len(t):
            raise Fault("data", f"has shape {rows.shape}; it must have {counted(len(t), 'row')}, one for each time")
    return Marks(t, rows)


def stacked(found: list[Gradient]) -> Gradient:
    """Return the gradients of many runs as one. Raises `Fault` if their shapes differ."""
    first = found[0]
    for name, slope in first.slopes.items():
        for i, each in enumerate(found):
            if each.slopes[name].shape != slope.shape:
                shapes = f"in run {i} the shape {each.slopes[name].shape}, in run 0 {slope.shape}"
                raise Fault("with_respect_to", f"has {name}, which has {shapes}; they must be the same in all runs")
    slopes = {name: np.stack([each[name] for each in found]) for name in first.slopes}
    return Gradient(np.array([each.value for each in found]), slopes, first.method, first.times)
