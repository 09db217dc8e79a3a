"""Sensitivities of a result: derivatives of its states and tips with respect to a few numbers of the run."""

import warnings
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, NamedTuple, final

import numpy as np

from flexarm.arrays import Array
from flexarm.checks import Fault
from flexarm.errors import UncertainResult
from flexarm.model import Model, closures
from flexarm.native.code import Code
from flexarm.native.kernel import Kernel
from flexarm.native.tangent import slopes, tangent
from flexarm.simulation import solvers
from flexarm.simulation.adjoint import Recorded
from flexarm.simulation.block import Block
from flexarm.simulation.common import Data
from flexarm.simulation.dataset import UNITS
from flexarm.simulation.designs import STENCIL, numbers_of
from flexarm.simulation.directions import Directions, Other
from flexarm.simulation.feedback import integrand
from flexarm.simulation.forward import derivatives
from flexarm.simulation.gradient_slopes import controllers_of, tangent_of
from flexarm.simulation.gradient_start import (
    AUTO,
    OF_CONTROLLER,
    Start,
    check_names,
    check_no_stops,
    check_smooth,
    check_steps,
    names_of,
)
from flexarm.simulation.inputs import Piecewise, Table
from flexarm.simulation.methods import Solve
from flexarm.simulation.options import Solver
from flexarm.simulation.results import OVER, OVER_UNIT, SENSITIVE, dimensions, sensitivity
from flexarm.simulation.rhs import Plan


class Number(NamedTuple):
    """A number of a run: its label in the result, its unit, and its index among the parameters, or -1."""

    label: str
    unit: str
    parameter: int = -1


def method_of(solver: Solver) -> tuple[str, float, str]:
    """Return the method of a run with sensitivities, the length of its fixed steps or 0, and the reason."""
    if solver.method == "auto":
        return AUTO, 0.0, "the usual method of runs with sensitivities"
    return solver.method, float(solver.step or 0.0), "as asked"


@final
@dataclass(eq=False)
class Sensitivities:
    """Sensitivities of a run with respect to some numbers.

    Attributes
    ----------
    start : Start
        The run.
    names, numbers : list of str, list of Number
        Names as in `gradient`, or names of parameters, and the numbers that they denote.
    recorded : Recorded
        The run's steps, of the method that `solve` returned.
    """

    start: Start
    names: list[str]
    numbers: list[Number]
    recorded: Recorded = field(init=False)

    @classmethod
    def of(cls, given: Any, start: Start, changes: bool) -> "Sensitivities":
        """Return the sensitivities of a run. Raises `Fault` if it has none."""
        model, argument = start.model, "sensitivities"
        if changes:
            raise Fault(argument, "are given with changes of parameters, which have no gradient; leave changes out")
        parameters = [each.name for each in model.varied]
        names = list(dict.fromkeys(names_of(given, argument, parameters)))
        check_smooth(model, start.drive, start.exogenous, start.method, functions=False)
        if not start.step:
            check_no_stops(model, start.drive, start.method, "fa.gradient")
        check_names(["p" if name in parameters else name for name in names], start, argument)
        if "p" in names:  # it includes each of them
            names = [name for name in names if name not in parameters]
        return cls(start, names, [number for name in names for number in _numbers(name, start)])

    def solve(self, plan: Plan, rate: Code, reason: str) -> Solve:
        """Return the method of the run on a plan, which records its steps."""
        longest = self.start.step or (0.0 if self.start.method in solvers.IMPLICIT else self.start.longest(slopes))
        self.recorded = self.start.recorder(plan, rate, self.start.drive, longest)
        return Solve(self.recorded.stretch, self.start.method, reason)

    def columns(self, kept: tuple[str, ...]) -> int:
        """Return how many numbers the sensitivities take per time, including intermediate values."""
        widths = {"q": self.start.layout.nq, "qd": self.start.layout.nv, "tip": 3}
        return len(self.numbers) * (
            2 * self.start.layout.size + sum(widths[name] for name in SENSITIVE if name in kept)
        )

    def variables(self, t: Array, x: Array, kept: tuple[str, ...]) -> tuple[Data, dict[str, Any]]:
        """Return the variables of the result, and the coordinates of their dimension.

        They belong to the kept variables of the states x (times, size) at the times t that the run has reached.
        """
        model, layout, recorded = self.start.model, self.start.layout, self.recorded
        check_steps(recorded.trail, "simulate")
        if said := self.start.unseen(recorded):
            warnings.warn(f"simulate: {said}", UncertainResult, stacklevel=3)
        last = recorded.trail.times[: 2 * recorded.trail.count][-2:]  # its start and length, if there is a step
        recorded.end(float(t[-1]) if len(t) == len(self.start.times) else float(last.sum()), x[-1])
        dx = derivatives(
            recorded,
            layout,
            integrand(model, self.start.drive.quantity, layout.memory),
            closures.kernel(model, self.start.drive.quantity) if model.arm.closures else None,
            self.start.drive.kernel_for(model),
            self._directions(),
            t,
        )
        found = {"q": dx[:, layout.q], "qd": dx[:, layout.qd]}
        if "tip" in kept:
            found["tip"] = _of_tip(model, x[:, layout.q], found["q"], self._of_parameters())
        data: Data = {
            sensitivity(name): (
                (*dimensions(name, bool(model.arm.quaternions)), OVER),
                np.ascontiguousarray(found[name]),
                {"units": f"({UNITS[name]}) / {OVER_UNIT}"},
            )
            for name in SENSITIVE
            if name in kept
        }
        labels, units = ([each[i] for each in self.numbers] for i in (0, 1))
        return data, {OVER: labels, OVER_UNIT: (OVER, units)} if data else {}

    def _of_parameters(self) -> Array:
        """Return the changes of the parameters along each direction, (k, d)."""
        found = np.zeros((len(self.start.model.p), len(self.numbers)))
        for direction, number in enumerate(self.numbers):
            if number.parameter >= 0:
                found[number.parameter, direction] = 1.0
        return found

    def _directions(self) -> Directions:
        """Return one direction for each number."""
        start, model, dp = self.start, self.start.model, self._of_parameters()
        quantity = start.drive.quantity
        rates = integrand(model, quantity, start.layout.memory)
        loops = of_constants(closures.kernel(model, quantity), model, dp) if model.arm.closures else dp[:0]
        found = replace(self._still(), constants=of_constants(rates, model, dp), loops=loops)
        first = 0
        for name in self.names:
            count = len(_numbers(name, start))
            found = self._with(name, found, first, count)
            first += count
        return found

    def _still(self) -> Directions:
        """Return directions in which nothing changes."""
        d, start = len(self.numbers), self.start
        memory = len(start.drive.law.memory) if self.recorded.sampled else 0  # type: ignore[attr-defined]
        still, of_memory, none = np.zeros((start.layout.size, d)), np.zeros((memory, d)), np.zeros((0, d))
        places, since, until, columns = (np.full(d, value) for value in (-1, 0, 0, -1))
        return Directions(still, of_memory, none, none, places, since, until, columns, None, [])

    def _with(self, name: str, found: Directions, first: int, count: int) -> Directions:
        """Return directions in which the numbers of a name change, `count` from the first one on."""
        start, layout = self.start, self.start.layout
        those = slice(first, first + count)
        parts = {"q0": layout.q, "qd0": layout.qd, "s0": layout.s}
        if name in parts:
            slope = tangent_of(start.model, start.start[layout.q]) if name == "q0" else np.eye(count)
            found.start[parts[name], those] = slope
        elif name == "u" and isinstance(start.drive, Table):
            rows, inputs = start.drive.values_.shape
            found.places[those] = np.tile(np.arange(inputs), rows)
            found.until[those] = len(self.recorded.edges)
            found.columns[those] = np.repeat(np.arange(rows), inputs)
            return replace(found, units=Table(start.drive.times, np.eye(rows), start.drive.kind).cubics)
        elif name in ("u", "w"):
            drive = start.drive if name == "u" else start.exogenous.parts[0][2]
            assert isinstance(drive, Piecewise)
            self._held(drive, 0 if name == "u" else layout.fed - layout.exogenous, found, those)
        elif name.startswith(OF_CONTROLLER) and name not in [each.name for each in start.model.varied]:
            return self._controlled(name, found, first, count)
        return found

    def _held(self, drive: Piecewise, place: int, found: Directions, those: slice) -> None:
        """Write the directions of the values of a `Piecewise`, which is fed from a place on."""
        rows, inputs = drive.values_.shape
        current = np.searchsorted(drive.times, self.recorded.edges[:-1], side="right") - 1
        found.places[those] = np.tile(place + np.arange(inputs), rows)
        found.since[those] = np.repeat(np.searchsorted(current, np.arange(rows), "left"), inputs)
        found.until[those] = np.repeat(np.searchsorted(current, np.arange(rows), "right"), inputs)

    def _controlled(self, name: str, found: Directions, first: int, count: int) -> Directions:
        """Return directions in which numbers of the controller change: its law, its memory, and the default start."""
        start, layout, others = self.start, self.start.layout, []
        memory = (found.memory, slice(None)) if self.recorded.sampled else (found.start, layout.z)
        for each in islice(controllers_of(start, [name]), 2 * len(STENCIL) * count):
            direction = first + each.number
            others.append(Other(direction, each.weight, each.drive.kernel_for(start.model)))
            memory[0][memory[1], direction] += each.weight * np.array(each.drive.law.memory)
            found.start[layout.q, direction] += each.weight * each.q
            found.start[layout.qd, direction] += each.weight * each.qd
        return replace(found, others=[*found.others, *others])


def of_constants(kernel: Kernel, model: Model, dp: Array) -> Array:
    """Return the changes of a kernel's constants, (constants, d), along changes of the parameters (k, d)."""
    count, d = len(kernel.constants), dp.shape[1]
    if kernel.prologue is None or not dp.any():
        return np.zeros((count, d))
    return tangent(kernel.prologue).many(np.hstack([np.tile(model.p, (d, 1)), dp.T]))[:, count:].T


def _of_tip(model: Model, q: Array, dq: Array, dp: Array) -> Array:
    """Return the changes of the tip (times, 3, d) from those of the coordinates and of the parameters."""
    kernel, count, d = model.kernel("tip"), len(q), dq.shape[2]
    product, w, dw = tangent(kernel, True), kernel.constants, of_constants(kernel, model, dp)
    found = np.empty((count, 3, d))
    for i in range(d):
        constants, changes = (np.broadcast_to(each, (count, len(w))) for each in (w, dw[:, i]))
        pose = product.many_states([np.ascontiguousarray(q), np.ascontiguousarray(dq[:, :, i]), constants, changes])[0]
        found[:, :, i] = pose[:, 16 + np.array([3, 7, 11])]  # the position in a change of a pose (4, 4)
    return found


def _numbers(name: str, start: Start) -> list[Number]:
    """Return the numbers that a name denotes, in the order of their array."""
    model, arm = start.model, start.model.arm
    local = [each.unit for each in arm.layout]
    named = {
        "q0": (model.velocities, local),
        "qd0": (model.velocities, [f"{unit}/s" for unit in local]),
        "s0": (model.states, arm.state_units),
    }
    if name in named:
        return [Number(f"{name}[{label}]", unit) for label, unit in zip(*named[name], strict=True)]
    varied = [Number(each.name, each.unit or "1", i) for i, each in enumerate(model.varied)]
    if name == "p" or any(name == each.label for each in varied):
        return [each for each in varied if name in ("p", each.label)]
    if name in ("u", "w"):
        fed = (model.inputs, arm.input_units) if name == "u" else (model.exogenous, arm.exogenous_units)
        drive = start.drive if name == "u" else start.exogenous.parts[0][2]
        rows = range(len(drive.times)) if isinstance(start.given[name], Block) else [None]  # type: ignore[attr-defined]
        return [
            Number(f"{name}[{label}]" if row is None else f"{name}[{row}, {label}]", unit)
            for row in rows
            for label, unit in zip(*fed, strict=True)
        ]
    shape = numbers_of(start.given["u"], name.removeprefix(OF_CONTROLLER)).shape
    indices = [", ".join(map(str, index)) for index in np.ndindex(shape)]
    return [Number(f"{name}[{index}]" if index else name, "as in the controller") for index in indices]
