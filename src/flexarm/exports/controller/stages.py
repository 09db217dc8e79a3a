"""Stages of a controller between its readings and its law, from the functions that also become machine code."""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import casadi as ca
import numpy as np

from flexarm.arrays import Array
from flexarm.checks import counted
from flexarm.control.estimated import Estimated
from flexarm.errors import DescriptionError, SlowSampling
from flexarm.estimation.horizon import Window
from flexarm.estimation.loops import Filter
from flexarm.estimation.running import Running
from flexarm.estimation.samples import once, once_in_window
from flexarm.exports.law import Measured, state_of
from flexarm.exports.needs import needed, of_needed, silent
from flexarm.exports.source import Real, Written
from flexarm.exports.translated import Recursions
from flexarm.closed_forms.formats.program import Program
from flexarm.model import Model
from flexarm.native.kernel import LANES
from flexarm.sensors import outputs
from flexarm.simulation.law import Law
from flexarm.simulation.sampled import Sampled, SampledFeedback
from flexarm.simulation.sampled_calls import SampledCalls
from flexarm.simulation.stepped import in_python

KERNELS = ("rate", "output", "constants")
"""Kernels of a filter by the names of their fields, in order."""

IN_LANES = ("p", "offset", "z", "y", "k", "total")
"""Arrays of a filter with numbers for several points at once. C code has one point at a time."""


@dataclass(frozen=True)
class Stage:
    """A filter before the law of a controller.

    Attributes
    ----------
    feedback : SampledFeedback
        The law of the complete state, with limits and delay.
    law : Measured
        The law over the entries of the state that it needs.
    entries : list of int
        Indices of these entries in the estimate.
    readings : Measured
        Names of the readings; the measurement q, qd, s, qdd -> y with the sensors' resolution.
    signals : tuple of str
        Names of the readings, without units.
    """

    feedback: SampledFeedback
    law: Measured
    entries: list[int]
    readings: Measured
    signals: tuple[str, ...]
    estimated: Estimated
    period: float

    def begun(self) -> Running:
        """Return the filter before its first sample."""
        design = self.estimated
        return design.estimator.begin(design.model, design.sensors, self.period, *design.start)  # type: ignore[no-any-return]

    def code(self, name: str, real: Real) -> "StageCode":
        """Return the C code of the filter."""
        running = self.begun()
        lane = {x: getattr(running.record, x).reshape(-1, LANES)[:, 0] for x in IN_LANES}
        records: list[tuple[type, Any]] = [(Filter, _Values(running.record, lane))]
        root: Any = once
        if running.placed_window is not None:
            records.append((Window, running.placed_window))
            root = once_in_window
        programs, kernels = [], {}
        for field, kernel in zip(KERNELS, running.kernels, strict=False):
            kernels[field] = f"{name}_{field}"
            programs.append(_program(field, kernel.trace(), running))
        made = Recursions(name, real, records, kernels, {"LANES": 1})
        written = made.written_out(root)
        kind = records[-1][0]
        path = "self->filter.X" if kind is Filter else "self->filter.filter.X"
        call = [
            "const bool moves = (self->sample > 0u) && (self->stopped == 0u);",
            f"{name}_{root.__name__}(&self->filter, y, self->u, moves ? 1 : 0);",
            *(f"x[{i}] = {path}[{at}];" for i, at in enumerate(self.entries)),
        ]
        return StageCode(programs, written, f"{made.struct(kind)} filter;", f"{made.struct(kind)}_begin(&self->filter);", call, len(self.entries), made.bytes)

    def samples(self, real: Real, count: int) -> Iterator[tuple[Array, Array]]:
        """Yield readings of an arm at the first guess with noise, and the u of the filter with the law as in a simulation."""
        rng, model, running = np.random.default_rng(1), self.estimated.model, self.begun()
        calls, u = SampledCalls(self.feedback, model), np.zeros(len(model.inputs))
        kind = np.float32 if real == "float" else np.float64
        q, none = np.array(self.estimated.start[0]), np.zeros(model.nv)
        rest = np.array(self.readings.of(q, none, [], none)).ravel()
        for k in range(count):
            y = rest + running.record.noise * rng.normal(size=len(rest))
            y = y.astype(kind).astype(float)
            running.sample(y, u, k > 0)
            u = calls(k * self.period, running.estimate[: model.nq + model.nv])
            yield y, u


@dataclass(frozen=True)
class StageCode:
    """C code of a stage.

    Attributes
    ----------
    programs : list of Program
    written : Written
    member, begin : str
        The member of the controller's memory, and the call that gives it its first values.
    call : list of str
        Lines that compute x (count,) from the readings y.
    bytes : int
        Size of its memory [bytes].
    """

    programs: list[Program]
    written: Written
    member: str
    begin: str
    call: list[str]
    count: int
    bytes: int


def stage_of(where: str, loop: Sampled, model: Model, sensors: Sequence[Any]) -> Stage | None:
    """Return the filter of a sampled controller with an estimator, or None without one.

    Raises `DescriptionError` if the board is to read other sensors.
    """
    period = float(loop.period)
    found = in_python(loop.controller, model, period)
    if not isinstance(found, Estimated):
        return None
    if sensors:
        raise DescriptionError(
            f"{where}: sensors has {counted(len(sensors), 'sensor')}, but the estimator reads its own; leave it out"
        )
    nominal = found.model
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SlowSampling)  # the loop itself has warned
        feedback = replace(loop, controller=_OfState(found.controller)).feedback(nominal)
    whole = silent(feedback, nominal)
    entries = needed(whole)
    names, everything, _ = state_of(feedback.law, nominal)
    law = Measured(tuple(names[i][0] + names[i][1] for i in entries), of_needed(whole), whole)
    read = outputs(nominal, found.sensors)
    described = tuple(f"{a} [{b}]" if b else a for a, b in zip(read.names, read.units, strict=True))
    y = ca.SX(nominal.with_numbers(nominal.output_function(found.sensors))(everything[0], everything[1], everything[3]))
    steps = [getattr(each, "resolution", 0.0) for each in found.sensors for _ in each.names(nominal.arm)]
    rounded = ca.vertcat(*(step * ca.floor(y[i] / step + 0.5) if step else y[i] for i, step in enumerate(steps)))
    readings = Measured(described, law.function, ca.Function("y", everything, [rounded]))
    return Stage(feedback, law, entries, readings, tuple(read.names), found, period)


@final
@dataclass(frozen=True)
class _OfState:
    """A controller of the complete state whose law is known."""

    found: Law

    def law(self, model: Model, period: float | None = None) -> Law:
        return self.found


@final
class _Values:
    """The fields of a record, some of them replaced."""

    def __init__(self, record: Any, instead: dict[str, Array]):
        self._record, self._instead = record, instead

    def __getattr__(self, name: str) -> Any:
        return self._instead[name] if name in self._instead else getattr(self._record, name)


def _program(name: str, function: ca.Function, running: Running) -> Program:
    """Return a kernel of a filter as a program of one array."""
    parts = function.sx_in()
    sizes = np.cumsum([0, *(x.numel() for x in parts)])
    z = ca.SX.sym("z", int(sizes[-1]))
    found = function(*(z[int(a) : int(b)] for a, b in zip(sizes[:-1], sizes[1:], strict=True)))
    k = ca.densify(ca.vertcat(*map(ca.vec, found)) if isinstance(found, tuple) else ca.vec(found))
    titles = {"rate": "rates of the state", "output": "readings", "constants": "numbers that depend on parameters"}
    along = ", and their derivatives along a direction" if running.record.linear else ""
    return Program(
        name=name,
        title=f"{titles[name]} in the filter{along}",
        function=ca.Function(name, [z], [k], ["z"], ["k"]),
        shapes={"k": (k.numel(),)},
    )
