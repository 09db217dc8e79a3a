"""Stages of a controller between its readings and its law, from the functions that also become machine code."""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Protocol, final

import casadi as ca
import numpy as np

from flexarm.arrays import Array
from flexarm.checks import counted
from flexarm.closed_forms.formats.program import Program
from flexarm.control.estimated import Estimated
from flexarm.control.horizon_rows import Horizon
from flexarm.control.predictive import Predictive
from flexarm.control.predictive_horizon import Limits
from flexarm.control.predictive_recursions import VIOLATION
from flexarm.control.predictive_samples import Along, Delayed, sampled, sampled_late
from flexarm.control.predictive_solver import NATIVE
from flexarm.control.predictive_steps import Steps
from flexarm.errors import DescriptionError, SlowSampling
from flexarm.estimation.horizon import Window
from flexarm.estimation.loops import Filter
from flexarm.estimation.running import Running
from flexarm.estimation.samples import once, once_in_window
from flexarm.exports.controller.inputs import ENDS, Inputs, rounded
from flexarm.exports.law import Measured, state_of
from flexarm.exports.library import CLOSE
from flexarm.exports.needs import needed, of_needed, silent
from flexarm.exports.source import Real, Written
from flexarm.exports.translated import Recursions
from flexarm.model import Model
from flexarm.native.kernel import LANES
from flexarm.sensors import outputs
from flexarm.simulation.feedback import traced
from flexarm.simulation.law import Law
from flexarm.simulation.sampled import Sampled, SampledFeedback
from flexarm.simulation.sampled_calls import SampledCalls
from flexarm.simulation.stepped import in_python

KERNELS = {"rate": "rates of the state", "output": "readings", "constants": "numbers that depend on parameters"}
"""Results of a filter's kernels by the names of their fields, in order."""

IN_LANES = ("p", "offset", "z", "y", "k", "total")
"""Arrays of a filter with numbers for several points at once. C code has one point at a time."""

LAST = 1_000_000_000
"""Sample after which the number of the sample stays the same for a predictive controller; 11 days at 1 kHz."""

NEAR = 1e-3
"""Deviation of the state from the reference in the test program of a predictive controller."""


@dataclass(frozen=True)
class StageCode:
    """C code of a stage.

    Attributes
    ----------
    programs : list of Program
    written : Written
    member, begin : str
        Members of the controller's memory, and calls that give them their first values, line by line.
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

    def before(self, other: "StageCode") -> "StageCode":
        """Return the code of both, in this order."""
        a, b = self.written, other.written
        return StageCode(
            [*self.programs, *other.programs],
            Written(f"{a.declared}\n\n{b.declared}", f"{a.defined}\n\n{b.defined}"),
            f"{self.member}\n{other.member}",
            f"{self.begin}\n{other.begin}",
            [*self.call, *other.call],
            other.count,
            self.bytes + other.bytes,
        )


class Stage(Protocol):
    """A part of a controller between its readings and its law."""

    @property
    def feedback(self) -> SampledFeedback:
        """The law after this stage, with limits and delay."""

    @property
    def law(self) -> Measured:
        """The law over the results of this stage."""

    @property
    def inputs(self) -> Inputs:
        """The readings."""

    @property
    def planned(self) -> Limits | None:
        """Limits of the plans of predictive control, if there is any."""

    def code(self, name: str, real: Real) -> StageCode:
        """Return the C code."""

    def close(self, real: Real) -> float:
        """Return the tolerance of the test program, relative to the largest number of a sample."""

    def samples(self, real: Real, count: int) -> Iterator[tuple[Array, Array]]:
        """Yield readings, and the u of the stage with the law as a simulation calls them."""


@final
@dataclass(frozen=True)
class Filtered:
    """A nonlinear filter before the law, or before predictive control.

    Attributes
    ----------
    entries : list of int
        Indices of the entries of the state that the law, or predictive control, needs.
    after : Predicted or None
        Predictive control on the estimate.
    """

    feedback: SampledFeedback
    law: Measured
    entries: list[int]
    inputs: Inputs
    estimated: Estimated
    period: float
    after: "Predicted | None"

    @classmethod
    def of(cls, where: str, loop: Sampled, design: Estimated, arm: Model, real: Real) -> "Filtered":
        """Return the filter of a sampled controller, which reads an arm.

        Raises `DescriptionError` if it cannot be written in C.
        """
        model, inner = design.model, design.controller
        if not isinstance(inner, Law | Predictive):
            raise DescriptionError(
                f"{where}: controller {type(inner).__name__} on the estimates runs in Python; C code needs one that is "
                "an expression"
            )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SlowSampling)  # the loop itself has warned
            after = None
            if isinstance(inner, Predictive):
                after = Predicted.of(where, replace(loop, controller=inner), model, real)
                feedback, law, entries = after.feedback, after.law, after.steps.places.tolist()
            else:
                feedback = replace(loop, controller=_OfState(inner)).feedback(model)
                whole = silent(feedback, model)
                entries, names = needed(whole), state_of(feedback.law, model)[0]
                law = Measured(tuple(names[i][0] + names[i][1] for i in entries), of_needed(whole), whole)
        _, everything, _ = state_of(feedback.law, arm)
        read = outputs(arm, design.sensors)
        described = tuple(f"{a} [{b}]" if b else a for a, b in zip(read.names, read.units, strict=True))
        q, qd, _, qdd = everything
        y = ca.SX(arm.with_numbers(arm.output_function(design.sensors))(q, qd, qdd))
        steps = [getattr(each, "resolution", 0.0) for each in design.sensors for _ in each.names(arm.arm)]
        exact = ca.vertcat(*(rounded(y[i], step) for i, step in enumerate(steps)))
        readings = Measured(described, law.function, ca.Function("y", everything, [exact]))
        inputs = Inputs(tuple(read.names), readings)
        return cls(feedback, law, entries, inputs, design, float(loop.period), after)

    @property
    def planned(self) -> Limits | None:
        """Limits of the plans after the filter, if there are any."""
        return None if self.after is None else self.after.planned

    def _begun(self) -> Running:
        """Return the filter before its first sample."""
        design = self.estimated
        return design.estimator.begin(design.model, design.sensors, self.period, *design.start)  # type: ignore[no-any-return]

    def code(self, name: str, real: Real) -> StageCode:
        """Return the C code of the filter, and of what follows before the law."""
        running = self._begun()
        lane = {x: getattr(running.record, x).reshape(-1, LANES)[:, 0] for x in IN_LANES}
        records: list[tuple[type, Any]] = [(Filter, _Values(running.record, lane))]
        root: Any = once
        if running.placed_window is not None:
            records.append((Window, running.placed_window))
            root = once_in_window
        fields = [*KERNELS][: len(running.kernels)]
        along = ", and their derivatives along a direction" if running.record.linear else ""
        programs = [
            _program(f, f"{KERNELS[f]} in the filter{along}", k.trace())
            for f, k in zip(fields, running.kernels, strict=True)
        ]
        made = Recursions(name, real, records, {f: f"{name}_{f}" for f in fields}, {"LANES": 1})
        arm, path = self.estimated.model.arm, "self->filter" if len(records) == 1 else "self->filter.filter"
        places = [  # attitudes are in the reference, and X is about it, see `charts`
            f"pose[{at}]" if at < arm.poses else f"X[{at - arm.poses + arm.twists}]" for at in self.entries
        ]
        call = ["const bool moves = (self->sample > 0u) && (self->stopped == 0u);"]
        acting = "self->u"
        if arm.exogenous:  # they are zero
            acting, m = "acting", len(self.estimated.model.inputs)
            call += [
                f"{real} acting[{m + len(arm.exogenous)}] = {{0}};",
                *(f"acting[{i}] = self->u[{i}];" for i in range(m)),
            ]
        to, count = ("x" if self.after is None else "estimate"), len(self.entries)
        if self.after is not None:
            call.append(f"{real} estimate[{count}];")
        call += [
            f"{name}_{root.__name__}(&self->filter, y, {acting}, moves ? 1 : 0);",
            *(f"{to}[{i}] = {path}.{place};" for i, place in enumerate(places)),
        ]
        code = _coded(made, root, programs, call, records[-1][0], "filter", count)
        return code if self.after is None else code.before(self.after.code(name, real, to, "_plan"))

    def close(self, real: Real) -> float:
        """Return the tolerance of the test program."""
        return CLOSE[real] if self.after is None else self.after.close(real)

    def samples(self, real: Real, count: int) -> Iterator[tuple[Array, Array]]:
        """Yield readings of an arm at the first guess with noise, and the u of the filter with the law."""
        rng, model, running = np.random.default_rng(1), self.estimated.model, self._begun()
        calls, u, none = SampledCalls(self.feedback, model), np.zeros(len(model.inputs)), np.zeros(model.nv)
        read = model.with_numbers(model.output_function(self.estimated.sensors))
        rest = np.array(read(np.array(self.estimated.start[0]), none, none)).ravel()
        for k in range(count):
            y = _rounded_to(real, rest + running.record.noise * rng.normal(size=len(rest)))
            running.sample(y, u, k > 0)
            u = calls(k * self.period, running.estimate[: model.nq + model.nv])
            yield y, u


@final
@dataclass(frozen=True)
class Predicted:
    """Predictive control along a reference, before limits and delay."""

    feedback: SampledFeedback
    law: Measured
    inputs: Inputs
    steps: Steps

    @classmethod
    def of(cls, where: str, loop: Sampled, model: Model, real: Real) -> "Predicted":
        """Return the predictive part of a controller. Raises `DescriptionError` if it is not along a reference."""
        controller, feedback = loop.controller.delayed(float(loop.delay)), loop.feedback(model)
        steps = controller.stepper(model, float(loop.period))
        for wrong, why in (
            (steps.about != "reference", f"about is {steps.about!r}; it must be 'reference'"),
            (steps.solver != NATIVE, f"solver is {steps.solver!r}; it must be 'native'"),
            (steps.otherwise == "raise", "otherwise is 'raise'; it must be 'plan' or 'lqr'"),
            (steps.along is None, "horizon: along a motion all steps must have one period; give a whole number"),
            (real == "float", "real is 'float'; the active-set method needs double"),
        ):
            if wrong:
                raise DescriptionError(f"{where}: Predictive: {why}")
        nominal = steps.course.model
        whole = traced(feedback.law, model, feedback.name, 0, feedback.behind)
        t, u, z = (ca.SX.sym(x, whole.numel_in(x)) for x in ("t", "q", "z"))
        found = whole.call({"t": t, "q": u, "z": z})
        made = ca.Function("law", [t, u, z], [found["u"], found["following"]], ["t", "y", "z"], ["u", "z_next"])
        law = Measured(tuple(f"{x}, planned" for x in model.inputs), made, made)
        names, _, _ = state_of(feedback.law, nominal)
        names = names[: nominal.nq + nominal.nv]
        _, everything, state = state_of(feedback.law, model)
        of = ca.Function("y", everything, [state[steps.places.tolist()]])
        readings = Measured(tuple(a + b for a, b in names), made, of)
        return cls(feedback, law, Inputs(tuple(a + ENDS.get(b, "") for a, b in names), readings), steps)

    @property
    def planned(self) -> Limits:
        """Limits of the plans."""
        return self.steps.limits

    def code(self, name: str, real: Real, state: str = "y", part: str = "") -> StageCode:
        """Return the C code of the quadratic programs from the array with the state.

        `part` is an addition to the names, which keeps them apart from those of another stage.
        """
        assert self.steps.records is not None
        horizon, along, (forward, backward, responses) = self.steps.records
        changed = {"forward": forward, "backward": backward, "responses": responses, "tabled": 0}
        records = [(Horizon, _Values(horizon, changed)), (Along, along)]
        root: Any = sampled
        programs, kernels, path, ahead = [], {}, "self->predictive", self.steps.ahead
        if ahead is not None:
            records.append((Delayed, ahead.record))
            root, path, kernels = sampled_late, f"{path}.along", {"rate": f"{name}_ahead"}
            programs = [_program("ahead", "rates of the state, for the prediction over the delay", ahead.rate.trace())]
        made = Recursions(name + part, real, records, kernels, {})
        late = f" + {self.steps.late}" if self.steps.late else ""
        call = [
            f"const int32_t sample = ((self->sample < {LAST}u) ? (int32_t)self->sample : {LAST}){late};",
            f"(void){made.name}_{root.__name__}(&self->predictive, sample, {state});",
            *(f"x[{i}] = {path}.to[{i}];" for i in range(len(along.to))),
        ]
        return _coded(made, root, programs, call, records[-1][0], "predictive", len(along.to))

    def close(self, real: Real) -> float:
        """Return the tolerance of the test program, which is that of the solver."""
        return VIOLATION

    def samples(self, real: Real, count: int) -> Iterator[tuple[Array, Array]]:
        """Yield states near the reference, and the u of the controller as a simulation calls it."""
        rng, course, period = np.random.default_rng(1), self.steps.course, self.feedback.period
        calls = SampledCalls(self.feedback, self.feedback.model)
        x = np.zeros(self.feedback.model.nq + self.feedback.model.nv)
        for k in range(count):
            y = course.r[min(k, len(course.r) - 1)]
            y = y + NEAR * rng.normal(size=len(y))
            x[self.steps.places] = y
            yield y, calls(k * period, x)


def stage_of(where: str, loop: Sampled, model: Model, sensors: Sequence[Any], real: Real) -> Stage | None:
    """Return the stage of a sampled controller with an estimator or of a predictive one, or None.

    Raises `DescriptionError` if it cannot be written in C, or if the board is to read other sensors.
    """
    made = in_python(loop.controller, model, float(loop.period))
    if not isinstance(made, Estimated | Predictive):
        return None
    if sensors:
        whose = "estimator" if isinstance(made, Estimated) else "predictive controller"
        raise DescriptionError(
            f"{where}: sensors has {counted(len(sensors), 'sensor')}, but the {whose} reads its own signals; leave "
            "sensors out"
        )
    if isinstance(made, Estimated):
        return Filtered.of(where, loop, made, model, real)
    return Predicted.of(where, loop, model, real)


def _coded(
    made: Recursions, root: Any, programs: list[Program], call: list[str], kind: type, member: str, count: int
) -> StageCode:
    written, struct = made.written_out(root), made.struct(kind)
    begin = f"{struct}_begin(&self->{member});"
    return StageCode(programs, written, f"{struct} {member};", begin, call, count, made.bytes)


def _rounded_to(real: Real, y: Array) -> Array:
    """Return numbers as the C library receives them."""
    return y.astype(np.float32).astype(float) if real == "float" else y


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

    def __init__(self, record: Any, instead: dict[str, Any]):
        self._record, self._instead = record, instead

    def __getattr__(self, name: str) -> Any:
        return self._instead[name] if name in self._instead else getattr(self._record, name)


def _program(name: str, title: str, function: ca.Function) -> Program:
    """Return a kernel as a program of one array."""
    parts = function.sx_in()
    sizes = np.cumsum([0, *(x.numel() for x in parts)])
    z = ca.SX.sym("z", int(sizes[-1]))
    found = function.call([*(z[int(a) : int(b)] for a, b in pairwise(sizes))])
    k = ca.densify(ca.vertcat(*map(ca.vec, found)))
    return Program(
        name=name,
        title=title,
        function=ca.Function(name, [z], [k], ["z"], ["k"]),
        shapes={"k": (k.numel(),)},
    )
