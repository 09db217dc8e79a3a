"""Parameters that change during a run: functions of time, and sudden changes at times or on conditions.

For mass that leaves with the velocity of its place, the equations of motion are those of constant mass at each time,

    M(q, p(t)) qdd + h(q, qd, p(t)) = forces ,

without a term in dM/dt: each particle obeys Newton's law until it leaves (I. V. Meshchersky, 1897; H. Irschik & H. J.
Holl, Applied Mechanics Reviews 57 (2004) 145-160). The thrust of a jet is an external force. The energy that
leaves with the mass, -dE/dp dp/dt, counts as negative work.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np

from flexarm.arrays import Array
from flexarm.checks import counted, shown
from flexarm.errors import DescriptionError, errors_in
from flexarm.model import Model
from flexarm.native import lifted
from flexarm.native.kernel import Kernel
from flexarm.simulation.advance import Stretch
from flexarm.simulation.block import Block
from flexarm.simulation.breakpoints import NEAR
from flexarm.simulation.changes import Change, check_changing, checked_changes, jump
from flexarm.simulation.exogenous import ExogenousInputs
from flexarm.simulation.inputs import Computed, Piecewise, Table
from flexarm.simulation.layout import Layout
from flexarm.simulation.rhs import Plan

if TYPE_CHECKING:
    import casadi as ca

State = tuple[float, Array]
"""A time and the state there."""


class Met(NamedTuple):
    """A change whose condition is met, the time, and the state then."""

    change: Change
    t: float
    x: Array


LOOKS = 257
"""Number of times of a run at which values of functions of time are checked."""


def over_time(p: Any) -> tuple[Any, dict[str, Any]]:
    """Return the parameters of a run that are numbers, and those that are functions of time, by their names."""
    if not isinstance(p, Mapping):
        return p, {}
    changing = {name: x for name, x in p.items() if callable(x) or isinstance(x, Block)}
    return {name: x for name, x in p.items() if name not in changing} or None, changing


def varying(
    model: Model, functions: Mapping[str, Any], changes: Any, drives: Sequence[Block], until: float
) -> "Varying | None":
    """Return how parameters change in the runs of a model, or None. Raise `DescriptionError` if they cannot."""
    sudden = () if changes is None else checked_changes(changes, model, until)
    if not functions and not sudden:
        return None
    if any(drive.quantity != "state_rate" for drive in drives):
        raise DescriptionError("parameters cannot change in a run with a PrescribedMotion; use a controller")
    check_changing(model, {*functions, *(name for each in sudden for name in each.values)})
    parts = tuple(sorted((_part(model, *each) for each in functions.items()), key=lambda part: part[0]))
    names, places = tuple(each.name for each in model.varied), [i for i, _, _ in parts]
    if again := [names[i] for i, j in pairwise(places) if i == j]:
        raise DescriptionError(f"p gives {again[0]} twice, by its name and by its symbol; give it once")
    found = Varying(ExogenousInputs(names, parts), sudden)
    if twice := {names[i] for i in places} & {names[_place(model, x)] for each in sudden for x in each.values}:
        raise DescriptionError(f"{min(twice)} is a function of time in p, so that changes cannot set it")
    t = np.unique([*np.linspace(0.0, until, LOOKS), *found.inputs.jumps().clip(0.0, until)])
    for when, row in zip(t.tolist(), found.values(model, model.p, t), strict=True) if parts else ():
        with errors_in(f"p at t = {when:.4g} s"):
            model.parameter_values(row)
    return found


def _part(model: Model, name: str, value: Any) -> tuple[int, int, Block]:
    """Return the index of a parameter, and the block that gives it as a function of time."""
    where = f"p[{name!r}]"
    if isinstance(value, Piecewise | Table):
        if value.values_.shape[1] != 1:
            raise DescriptionError(f"{where} has {counted(value.values_.shape[1], 'column')}; it must have one")
        return _place(model, name), 1, value
    if isinstance(value, Block | type):
        raise DescriptionError(f"{where} is {shown(value)}; it must be a number, a Table, a Piecewise or a function")
    block = Computed(value, where, (name,))
    if block.of_state:
        raise DescriptionError(f"{where} is a function of the state; it must be a function of t alone")
    return _place(model, name), 1, block


def _place(model: Model, name: str) -> int:
    """Return the index of a parameter by its name or symbol. Raise `DescriptionError` for an unknown name."""
    found = [i for i, each in enumerate(model.varied) if name in (each.name, each.symbol)]
    if not found:
        model.parameter_values({name: 1.0})  # raises the error
    return found[0]


@final
@dataclass(frozen=True)
class Varying:
    """The parameters of runs that change in time.

    Attributes
    ----------
    inputs : ExogenousInputs
        Parameters that are functions of time.
    changes : tuple of Change
    """

    inputs: ExogenousInputs
    changes: tuple[Change, ...]

    @property
    def flows(self) -> bool:
        """True if mass may arrive or leave all the time."""
        return bool(self.inputs.parts)

    def values(self, model: Model, p: Array, t: Array) -> Array:
        """Return the parameters (times, k) at times t; from the right at a jump.

        p are the values of those that do not follow t, (k,) or a row for each time.
        """
        found, none = np.broadcast_to(p, (len(t), p.shape[-1])).copy(), np.empty((len(t), 0))
        for i, _, part in self.inputs.parts:
            found[:, i] = part.output(model, t, none, none, none)[:, 0]
        return found

    def now(self, model: Model, t: float) -> Model:
        """Return the model with the values of the functions at a time."""
        return model.at(self.values(model, model.p, np.array([t]))[0]) if self.flows else model

    def edges(self, until: float) -> Array:
        """Return the known times in a run at which parameters jump [s]."""
        times = [each.time for each in self.changes if each.time is not None]
        known = np.unique([*times, *self.inputs.jumps()])
        return known[(known > 0.0) & (known < until)]


@final
class ChangingParameters:
    """The parameters in one run, and the changes that have happened.

    Attributes
    ----------
    model : Model
        The model with the present parameters.
    done : list of dict
        What each change did: its time, its values, and the energies that came with it or were lost.
    """

    def __init__(self, varying: Varying, model: Model, plan: Plan, layout: Layout, until: float):
        self._varying, self._start, self._plan, self._layout = varying, varying.now(model, 0.0), plan, layout
        self.edges = varying.edges(until)
        self._power = _power(model) if varying.flows else None
        self.begin()

    def begin(self) -> None:
        """Return to the start of the run."""
        self.model, self.done = self._start, list[dict[str, Any]]()
        self._held, self._pending = [(0.0, self._start.p)], list(self._varying.changes)
        self._plan.set_parameters(self.model.p)

    @property
    def conditional(self) -> bool:
        """True if a change waits for its condition."""
        return any(each.time is None for each in self._pending)

    def enter(self, a: float, b: float, x: Array) -> Array:
        """Return the state at a after the jumps there. The parameters are then those of the interval to b."""
        inputs, here = self._varying.inputs, np.array([a])
        if a in inputs.jumps() and a > 0.0:
            before = self._varying.values(self.model, self.model.p, np.nextafter(here, -np.inf))
            self.model = self.model.at(before[0])
            x = self._jump(a, x, self._varying.values(self.model, self.model.p, here)[0], None)
        for change in [each for each in self._pending if each.time is not None and each.time <= a]:
            x = self.change(a, x, change)
        if self._varying.flows:
            self._follow(a, b, x)
        return x

    def present(self, t: float) -> Model:
        """Return the model with the parameters at a time after the last jump."""
        return self._varying.now(self.model, t)

    def change(self, t: float, x: Array, change: Change) -> Array:
        """Return the state after a change at t."""
        self._pending.remove(change)
        self.model = self.present(t)
        return self._jump(t, x, self.model.parameter_values(change.values), change)

    def _jump(self, t: float, x: Array, p: Array, change: Change | None) -> Array:
        """Return the state after the parameters jump to p at t."""
        if change is None and np.array_equal(p, self.model.p):
            return x
        layout, after = self._layout, self.model.at(p)
        found = jump(self.model, after, change, x[layout.q], x[layout.qd], x[layout.s])
        x = x.copy()
        x[layout.qd] = found.qd
        x[layout.work] += found.brought
        x[layout.dissipated] += found.lost
        if change is not None:
            values = {after.varied[i].name: float(p[i]) for i in (_place(after, name) for name in change.values)}
            self.done.append({"time": t, "values": values, "brought": found.brought, "lost": found.lost})
        self.model = after
        self._held.append((t, after.p))
        self._plan.set_parameters(after.p)
        return x

    def _follow(self, a: float, b: float, x: Array) -> None:
        """Have the plan evaluate the parameters at each time of an interval."""
        self.model = model = self.present(a)
        p, layout = np.array(model.p), self._layout
        stage = self._varying.inputs.stage(self._plan, p, model, a, x)
        p[:] = model.p  # a stage writes the parameters that it changes
        sizes = model.nq + model.nv, layout.memory, layout.own
        assert self._power is not None
        self._plan.follow(p, stage, self._power, sizes, (a, b))

    def met(self, points: Sequence[State], solve: Callable[[float, Array, Array], Stretch]) -> Met | None:
        """Return the first change whose condition is met between two points, with the time and the state then.

        The solver integrates from a time and a state to other times.
        """
        found = list[tuple[int, Change]]()
        for change in [each for each in self._pending if each.time is None]:
            values = np.array([self._value(change, *point) for point in points])
            rises = np.flatnonzero((values[:-1] < 0.0) & (values[1:] >= 0.0))
            found += [(int(i), change) for i in rises[:1]]
        first = min((i for i, _ in found), default=0)
        some = [self._located(each, points[i], points[i + 1][0], solve) for i, each in found if i == first]
        return min(some, key=lambda each: each.t, default=None)

    def _value(self, change: Change, t: float, x: Array) -> float:
        return change.value(t, x[self._layout.q], x[self._layout.qd])

    def _located(
        self, change: Change, start: State, end: float, solve: Callable[[float, Array, Array], Stretch]
    ) -> Met:
        """Return the time between a state and an end at which a condition is met, and the state there."""
        from scipy.optimize import brentq

        def state(t: float) -> Array:
            return start[1] if t == start[0] else solve(*start, np.array([t])).x[-1]  # type: ignore[no-any-return]

        accuracy = {"xtol": NEAR * (end - start[0]), "rtol": 4 * np.finfo(float).eps}
        t = float(brentq(lambda t: self._value(change, t, state(t)), start[0], end, **accuracy))
        return Met(change, t, state(t))

    def values(self, t: Array) -> Array:
        """Return the parameters (times, k) at times that the run has reached."""
        times = np.array([when for when, _ in self._held])
        p = np.array([each for _, each in self._held])[np.searchsorted(times, t, side="right") - 1]
        return self._varying.values(self.model, p, t)


def _power(model: Model) -> Kernel:
    """Return the kernel (q, qd, s, p, r) -> dE/dp r, the power of mass that arrives at rates r of the parameters."""

    def trace() -> "ca.Function":
        import casadi as ca

        energy = model.function("energy")
        *state, p = energy.sx_in()
        r = ca.SX.sym("r", p.numel())
        power = ca.jtimes(ca.sum1(energy(*state, p)), p, r)
        return ca.Function("power", [ca.vertcat(*state, p, r)], [ca.densify(ca.cse(power))])

    return lifted.kernel(model.traced("power of mass", trace))
