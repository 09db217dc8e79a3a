"""Runs with a gradient: their start, checks that they have one, and the record of their steps."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from flexarm.arrays import Array
from flexarm.checks import (
    Fault,
    counted,
    refused,
    shown,
    unknown_name,
)
from flexarm.errors import DescriptionError, EnergyDrift, SimulationError, UncertainResult
from flexarm.floating import usual_errors
from flexarm.interrupts import heard_by
from flexarm.model import Model, as_model, closures
from flexarm.model.attitudes import unit_pose
from flexarm.model.evaluation import begun_at
from flexarm.native.adjoint import slopes as transposed
from flexarm.native.code import Code
from flexarm.native.kernel import Kernel
from flexarm.native.language import Placed
from flexarm.simulation import balance, crossings, methods, restarts, solvers
from flexarm.simulation.adjoint import Recorded, trail
from flexarm.simulation.block import Block
from flexarm.simulation.closed_loop import rounds
from flexarm.simulation.designs import numbers_of
from flexarm.simulation.disturbance import disturbed
from flexarm.simulation.exogenous import ExogenousInputs
from flexarm.simulation.explicit import Explicit
from flexarm.simulation.feedback import LawBlock, initial, integrand
from flexarm.simulation.implicit import Implicit
from flexarm.simulation.inputs import Piecewise, Table, as_input
from flexarm.simulation.integration import Run
from flexarm.simulation.layout import Layout
from flexarm.simulation.methods import Solve
from flexarm.simulation.options import check_end, options
from flexarm.simulation.rhs import Plan
from flexarm.simulation.sampled import SampledFeedback
from flexarm.simulation.varying import over_time
from flexarm.simulation.watch import Interruption, attended, running

AUTO = "dop853"
"""Method of a run with method="auto"."""

TURN = 1.0
"""Turn of the fastest mode in the longest adaptive step [rad].

Step control keeps the error of the motion small, and not that of its derivatives. Where a mode does not move, it would
allow steps in which the mode's derivatives grow without bound."""


@dataclass(frozen=True, eq=False)
class Start:
    """A run before its first step: its arguments `given` as those of `simulate`, and what follows from them.

    Attributes
    ----------
    step : float
        Length of fixed steps; 0 for adaptive ones [s].
    times, start : (samples,), (size,)
        Times of the result of `simulate`, at which fixed steps end, and the initial state.
    input : Block, optional
        The input before it has begun in this run.
    label : str
        Name of the run in messages.
    """

    given: Mapping[str, Any]
    model: Model
    drive: Block
    exogenous: ExogenousInputs
    layout: Layout
    method: str
    step: float
    rtol: float
    atol: float
    times: Array
    start: Array
    input: Block | None = None
    label: str = "the run"

    @classmethod
    def of(cls, given: Mapping[str, Any], before: "Start | None" = None, label: str = "the run") -> "Start":
        """Return a run from all arguments of `simulate`. Raises `DescriptionError` if it has no gradient.

        A run shares the input of the run `before` it if both are given the same object. Messages name it by its label.
        """
        with refused("gradient"):
            model = as_model(given["model"])
        common = {name: given[name] for name in ("method", "rtol", "samples")}
        with refused():
            solver, save = options("gradient", given["solver"], given["save"], common, {})
        check_end(given["until"], solver)
        drive, shared = None, False
        if before is not None and before.given["u"] is given["u"] and before.given["model"] is given["model"]:
            drive, shared = before.input, True
        drive = drive or as_input(given["u"], model)
        p, functions = over_time(given["p"])
        if p is not None:
            model = model.at(p)
        model, exogenous = disturbed(model, given["w"], given["disturbance"])
        method = AUTO if solver.method == "auto" else solver.method
        with refused("gradient"):
            if not shared:
                known = None if before is None else before.drive.kernel_for(before.model)
                check_smooth(model, drive, exogenous, method, bool(functions), known)
            if method in solvers.IMPLICIT and not solver.step:
                check_no_stops(model, drive, method, "an explicit method")
        layout = Layout.of(model, len(drive.memory))
        rest = initial(model, drive.begins)
        q = unit_pose("q0", begun_at("q0", given["q0"], rest[0], model.coordinates), model.arm)
        qd = begun_at("qd0", given["qd0"], rest[1], model.velocities)
        is_given = given["q0"] is not None, given["qd0"] is not None
        q, qd = closures.started("gradient", model, q, qd, is_given, led=drive.begins is not None)
        s = begun_at("s0", given["s0"], np.zeros(len(model.states)), model.states)
        times = np.linspace(0.0, float(given["until"]), save.samples)
        start = layout.start(q, qd, np.array(drive.memory), s)
        settings = method, float(solver.step or 0.0), solver.rtol, solver.atol
        return cls(given, model, drive.begun(model, times), exogenous, layout, *settings, times, start, drive, label)

    def longest(self, slopes: Callable[[Kernel, Array], Array] = transposed) -> float:
        """Return the longest adaptive step, from the fastest eigenvalue at the start.

        `slopes` returns the derivative of a kernel at a point by the product that the run uses for its derivatives.
        """
        states, x, t = self.layout.states, self.start[: self.layout.states], self.times[:1]
        q, qd, z = (x[None, part] for part in (self.layout.q, self.layout.qd, self.layout.z))
        rates, law = integrand(self.model, self.drive.quantity, self.layout.memory), self.drive.kernel_for(self.model)
        fed = np.zeros(self.layout.fed)
        if self.drive.period is None:
            fed[: self.layout.inputs] = self.drive.output(self.model, t, q, qd, z)[0]
        fed[self.layout.inputs + self.layout.memory :] = self.exogenous.output(self.model, t, q, qd)[0]
        of_rates = slopes(rates, np.concatenate([x, fed]))[:states]
        A = of_rates[:, :states].copy()
        if law is not None and self.drive.of_state and self.drive.period is None:
            count = self.layout.inputs + self.layout.memory
            to_x = slopes(law, np.concatenate([t, x[: self.layout.z.stop]]))[:, 1:]
            A[:, : to_x.shape[1]] += of_rates[:, states : states + count] @ to_x
        fastest = np.abs(np.linalg.eigvals(A)).max() if np.isfinite(A).all() else 0.0
        return float(TURN / fastest) if fastest > 0.0 else 0.0

    def recorder(self, plan: Plan, rate: Code, drive: Block, longest: float) -> Recorded:
        """Return an empty record of the run with an input that has begun. Steps are not longer than this [s]."""
        layout, atol = self.layout, self.layout.tolerances(self.atol)
        calls = drive.running if isinstance(drive, SampledFeedback) else None
        if self.method in solvers.IMPLICIT:
            implicit = solvers.IMPLICIT[self.method]
            steps = trail(layout.size, implicit.stages, again=False)
            stepping = Implicit(implicit, plan, layout, self.rtol, atol, self.step, steps)
            integrate = partial(solvers.integrate_implicit, stepping, plan)
            return Recorded(plan, rate, stepping, steps, integrate, calls)
        tableau = solvers.EXPLICIT[self.method]
        steps = trail(layout.size, tableau.stages)
        explicit = Explicit(tableau, plan, self.rtol, atol, longest, drive.period or 0.0, trail=steps)
        return Recorded(plan, rate, explicit, steps, explicit, calls)

    def recorded(self, marks: Array) -> Recorded:
        """Integrate the run, and return its steps."""
        model, drive, layout = self.model, self.drive, self.layout
        plan, rate = methods.planned(model, drive, layout, self.method, weights=layout.size)
        implicit = self.method in solvers.IMPLICIT
        breakpoints = restarts.breakpoints(model, drive, self.exogenous, self.times, self.method)
        inside = np.setdiff1d(np.union1d(breakpoints, marks), [0.0, self.times[-1]])
        corners = np.fromiter(drive.corners(float(self.times[-1])), float)
        stops = crossings.stops(model, drive, self.method) and not self.step
        natively = isinstance(drive, Piecewise | SampledFeedback) and not (len(inside) or implicit or stops)
        times = np.union1d(self.times, corners) if natively else self.times
        if natively and isinstance(drive, SampledFeedback):
            drive = drive.begun(model, times)
            drive.running.recorded_calls = []
        found = self.recorder(plan, rate, drive, self.step or (0.0 if implicit else self.longest()))
        method = found.method
        advance = (lambda: method.advance) if isinstance(method, Explicit) else None
        if stops:  # without samples, at which these steps do not end
            times = self.times[[0, -1]]
        run = Run(times, self.start, inside)
        interruption = Interruption(plan)
        attended(plan, False, None)
        with usual_errors(), heard_by(interruption), running(plan):
            steps = Solve(found.stretch, self.method, "", advance if natively else None)
            solve: Solve | crossings.Stopped = steps
            if stops:
                kernel = model.compiled("crossings", crossings.crossings)
                assert isinstance(method, Explicit)
                solve = crossings.Stopped(steps, model, plan, partial(found.contact, kernel), method.reached)
            run.integrate(model, drive, self.exogenous, plan, solve, layout)
        if interruption.came:
            raise KeyboardInterrupt
        if plan.failure is not None:
            raise plan.failure
        if not run.completed:
            why = run.failure or "fa.simulate with the same arguments names the reason"
            raise SimulationError(f"gradient: {self.label} ends at t = {plan.time:.6g} s; {why}")
        check_steps(found.trail, label=self.label)
        if natively and isinstance(drive, SampledFeedback):
            if drive.running.recorded_calls:  # not if exogenous inputs jump between two samples
                called, values = (np.concatenate(each) for each in zip(*drive.running.recorded_calls, strict=True))
                found.samples, found.called = [*range(len(called))], [*called]
        elif natively:
            values = drive.output(model, corners[:-1], *[np.empty((0, 0))] * 3)
        if natively and len(found.edges) < len(corners) - 1:
            fed = np.hstack([values, np.tile(plan.w, (len(values), 1))])
            found.passed(corners, run.x[np.searchsorted(times, corners)], fed)
        shown = times if stops else self.times
        found.shown = shown, run.x[np.searchsorted(times, shown)]
        found.end(float(self.times[-1]), run.x[-1])
        return found

    def warn(self, recorded: Recorded) -> None:
        """Warn if the energy balance of the run is off, as `simulate` does, or if rates jump within its steps."""
        t, x = recorded.shown
        layout, model = self.layout, self.model
        q, qd, s = (x[:, part] for part in (layout.q, layout.qd, layout.s))
        kinetic, potential = model.evaluate("energy", q, qd, s=s if layout.own else None).T
        energies = kinetic, potential, x[:, layout.work], x[:, layout.dissipated]
        advice = balance.advice(self.step, self.rtol, computed=False)
        if off := balance.unbalanced_states(t, energies, qd, self.rtol, self.atol, advice):
            of = "" if self.label == "the run" else f"of {self.label}, "
            warnings.warn(f"gradient: {of}{off}", EnergyDrift, stacklevel=3)
        if said := self.unseen(recorded):
            of = "" if self.label == "the run" else f"{self.label}: "
            warnings.warn(f"gradient: {of}{said}", UncertainResult, stacklevel=3)

    def unseen(self, recorded: Recorded) -> str:
        """Return a line about a contact within a step at which the rates jump, or ""."""
        if not self.model.arm.sharp or (crossings.stops(self.model, self.drive, self.method) and not self.step):
            return ""
        t = crossings.jumped(self.model, self.layout, *recorded.starts)
        if t is None:
            return ""
        why = "steps are fixed" if self.drive.period is None else "a sampled controller acts"
        what = f"a force jumps at a contact right after t = {t:.6g} s, which no step ends at, as {why}"
        return f"{what}: the derivatives lack the change of its time; set damping=0 or a transition at this contact"


def check_smooth(
    model: Model,
    drive: Block,
    exogenous: ExogenousInputs,
    method: str,
    functions: bool,
    known: Kernel | None = None,
) -> None:
    """Raise `Fault` for a run without a gradient. A controller with the code of a `known` one needs no check."""
    if method == solvers.DISSIPATIVE:
        raise Fault("method", f"is {method!r}; this has no gradient yet: use another one, as 'radau5' or 'dop853'")
    if isinstance(drive, SampledFeedback) and (drive.function or drive.law.accelerates):
        what = "measures accelerations" if drive.law.accelerates else "is a Python function"
        raise Fault("u", f"is a sampled controller that {what}; give a controller with a law of t, q and qd")
    law = drive.kernel_for(model) if isinstance(drive, LawBlock) else None
    same = law is not None and known is not None and law.key == known.key
    if law is not None and not same and rounds(law.trace()):
        raise Fault("u", "is a controller that rounds a signal, which has no derivative; leave its resolution out")
    if drive.computed:
        raise Fault("u", f"is the Python function {drive.described()}; give a Piecewise, a Table or a controller")
    if drive.quantity != "state_rate":
        raise Fault("u", "prescribes a motion, which has no gradient yet; give torques or a controller")
    if exogenous.computed or not exogenous.of_time:
        raise Fault("w", "must consist of numbers, Piecewise and Table; other exogenous inputs have no gradient yet")
    if functions:
        raise Fault("p", "changes over time, which has no gradient yet; give numbers")


def check_no_stops(model: Model, drive: Block, method: str, must: str) -> None:
    """Raise `Fault` for a run that stops at sharp contacts."""
    if crossings.stops(model, drive, method):
        of = f"arm {model.arm.name!r} has sharp end stops or backlash, at which adaptive steps depend on the state"
        raise Fault("", f"{of}; use {must}, springs with a transition, or a method with fixed steps")


OF = ("q0", "qd0", "s0", "p", "u", "w")
"""Names with respect to which there are derivatives."""


OF_CONTROLLER = "u."
"""Beginning of the names of a controller's numbers, as "u.Kp"."""


def names_of(given: Any, argument: str, parameters: Sequence[str] | None = None) -> list[str]:
    """Return the names with respect to which to differentiate, an argument of this name.

    They may include single parameters if the names of these are given. Raises `Fault`.
    """
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, list | tuple) or not names:
        raise Fault(argument, f"is {shown(given)}; it must be a list of some of {', '.join(OF)}")
    for name in names:
        known = *OF, *(parameters or ())
        if name not in known and not (isinstance(name, str) and name.startswith(OF_CONTROLLER)):
            single = "" if parameters is None else " parameters in Model(arm, vary=[...]),"
            names_ = "the names are", f"{', '.join(OF)},{single} and numbers of a controller, as u.Kp"
            raise Fault("", unknown_name(f"{argument} has the unknown name", name, known, *names_))
    return list(names)


def check_names(names: list[str], began: Start, argument: str) -> None:
    """Raise `Fault` for a name in an argument with respect to which the run has no derivative."""
    if "p" in names and not began.model.varied:
        raise Fault(argument, "has p, but the model has no parameters; choose them by Model(arm, vary=[...])")
    assembled = began.given["q0"] is None or began.given["qd0"] is None
    if "p" in names and began.model.arm.closures and assembled:
        must = "give the run q0 and qd0, since an assembled start has no derivative"
        raise Fault(argument, f"has p, but arm {began.model.arm.name!r} has closures: {must}")
    if "s0" in names and not began.layout.own:
        raise Fault(argument, f"has s0, but arm {began.model.arm.name!r} has no drive with states")
    own = [name for name in names if name.startswith(OF_CONTROLLER)]
    if own and not isinstance(began.drive, LawBlock):
        raise Fault(argument, f"has {own[0]}, but u is no controller: it is {began.drive.described()}")
    for name in own:
        numbers_of(began.given["u"], name.removeprefix(OF_CONTROLLER), argument)
        if name == "u.period" and isinstance(began.drive, SampledFeedback):
            raise Fault(argument, "has u.period, which moves all samples and has no gradient; leave it out")
    sources = began.exogenous.parts
    if "w" in names and not (len(sources) == 1 and isinstance(sources[0][2], Piecewise) and _is_plain(began.given)):
        given = shown(began.given["w"])
        raise Fault(argument, f"has w, but w is {given}; it must be numbers or a Piecewise, and no disturbance")
    if "u" in names and not isinstance(began.drive, Piecewise | Table):
        u = began.drive.described()
        raise Fault(argument, f"has u, but u is {u}; it must be numbers, a Piecewise or a Table")


def _is_plain(given: Mapping[str, Any]) -> bool:
    """Return True if the exogenous inputs have one source, and no disturbance is beside them."""
    return given["disturbance"] is None and not isinstance(given["w"], Mapping)


def check_steps(steps: Placed, function: str = "gradient", label: str = "the run") -> None:
    """Raise an error of a function if a run takes more steps than were recorded."""
    if steps.count > steps.room:
        count = f"{label} takes {counted(steps.count, 'step')}; at most {steps.room} have a gradient"
        raise DescriptionError(f"{function}: {count}: use a longer step or a larger rtol")
