"""Solvers in the form that native code calls: they integrate from a state to each of several times.

All solvers have one signature, `void advance(ptr record, double t0, ptr y, ptr times, i64 count, ptr out, ptr
reached)`. The states at the times go to out, one row per time. The number of these states that are finite and not
diverged goes to reached[0], and the number of steps goes to reached[1]. A loop over plants or over samples can
therefore call any of them. If a solver does not reach all times, the caller in Python finds the reason.
"""

import ctypes  # noqa: TID251  (calls code that this package compiled)
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from flexarm.arrays import Array
from flexarm.native.code import Address
from flexarm.native.functions import translated
from flexarm.native.language import Floats, Placed, Words, call
from flexarm.native.once import Once
from flexarm.simulation.implicit import FIRST, Implicit
from flexarm.simulation.rhs import DIVERGED, Plan, RunRecord
from flexarm.simulation.steps import Step, copied, integrate

LARGEST = 1.7976931348623157e308
"""Largest finite double. A number beyond it is infinite or NaN."""


class Contact(NamedTuple):
    """A contact of a run: the state just before, the rates before and after, and the functions that change sign."""

    t: float
    x: Array
    before: Array
    after: Array
    which: Array


@final
@dataclass(frozen=True)
class Stretch:
    """Result of a solver over an interval.

    Attributes
    ----------
    x : (k, states)
        States at the first k of the requested times.
    steps : int
    message : str
        Why the solver stopped early, if it did and reports it.
    diverged : (time, state), optional
        The first state that has diverged.
    spent : bool
        True if the solver stopped since it had used all evaluations that it is allowed.
    """

    x: Array
    steps: int
    message: str = ""
    diverged: tuple[float, Array] | None = None
    spent: bool = False


@final
@dataclass(frozen=True)
class Advance:
    """A solver in this form: addresses of its code and its record, and objects that must stay alive for them."""

    code: Address
    record: Address
    held: Any
    continues: bool = False
    """True if the first step of an interval is as long as the last one of the previous interval."""


@dataclass
class Intervals:
    """Consecutive intervals of a run, from each edge to the next.

    Attributes
    ----------
    advance, solver : addresses
        A solver in this form, and its record.
    edges, upto : (intervals + 1,)
        Ends of the intervals, and the number of the result's times up to each.
    times, rows : (total,), (total, size)
        Times of the result, and states there.
    x : (size,)
        Current state.
    ends, out, reached
        Times of one interval, the states there, and the number of those reached.
    """

    shared: Sequence[RunRecord]
    advance: int
    solver: int
    size: int
    edges: Floats
    upto: Words
    times: Floats
    rows: Floats
    x: Floats
    ends: Floats
    out: Floats
    reached: Words
    steps: int


def intervals(plan: Plan, solver: Advance, times: Array, rows: Array, edges: Array, x: Array) -> Placed:
    """Return the record of intervals between edges of a run with these times, from a state x."""
    upto = np.searchsorted(times, edges, side="right").astype(np.int64)
    most = int(np.diff(upto).max()) + 1
    return Placed(
        Intervals(
            shared=np.array([plan.address]),  # type: ignore[arg-type]  # an address is one word
            advance=solver.code,
            solver=solver.record,
            size=len(x),
            edges=edges,
            upto=upto,
            times=times,
            rows=rows,
            x=x.copy(),
            ends=np.empty(most),
            out=np.empty((most, len(x))),
            reached=np.zeros(2, dtype=np.int64),
            steps=0,
        )
    )


@dataclass
class Values:
    """Inputs that are constant in each interval: values (count, width), and the last time before each end (count,)."""

    intervals: Sequence[Intervals]
    width: int
    values: Floats
    last: Floats


CALL = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)
VALUES = Once(lambda: translated(through_values))


def ahead(
    plan: Plan, solver: Advance, times: Array, rows: Array, values: Callable[[Array], Array], edges: Array, x: Array
) -> tuple[int, Array, int, int]:
    """Take the intervals between edges in native code, with inputs that have `values` from each edge on.

    Return the number of completed intervals, the state after them, the number of times at which the state is known,
    and the number of steps.
    """
    count, some = len(edges) - 1, intervals(plan, solver, times, rows, edges, x)
    held = np.ascontiguousarray(values(edges[:-1]))
    last = np.nextafter(edges[1:], -np.inf)
    record = Placed(Values(np.array([some.address]), held.shape[1], held, last))  # type: ignore[arg-type]
    done = CALL(VALUES().addresses["through_values"])(record.address, count)
    return done, some.x, int(some.upto[done]), some.steps


@dataclass
class Newton:
    """An implicit method with steps no longer than `longest` [s]. The method chooses its steps if `longest` is 0."""

    step: Sequence[Step]
    longest: float


IMPLICIT = Once(lambda: translated(implicit_interval))


def newton(stepping: Implicit, longest: float) -> Advance:
    """Return an implicit solver, with fixed steps if `longest` is not 0.

    The solver keeps its matrices between intervals.
    """
    code = IMPLICIT()
    record = Placed(Newton(np.array([stepping.record.address]), longest))  # type: ignore[arg-type]
    return Advance(code.addresses["implicit_interval"], record.address, (code, record, stepping), continues=True)


# -- translated functions ----------------------------------------------------------------------------------------------


def whole(x: float) -> int:
    """Return the least integer that is at least 1 and at least x, up to a rounding error."""
    count = int(x - 1e-9)
    if float(count) < x - 1e-9:
        count += 1
    return max(count, 1)


def is_motion(y: Floats, count: int) -> int:
    """Return 1 if all numbers are finite and within the bounds of a motion, else 0."""
    for i in range(count):
        if not abs(y[i]) < DIVERGED:
            return 0
    return 1


def is_finite(x: Floats, count: int) -> int:
    """Return 1 if all numbers are finite, else 0."""
    for i in range(count):
        if not abs(x[i]) <= LARGEST:
            return 0
    return 1


def through(s: Intervals, k: int) -> int:
    """Integrate interval k, and return 1 if its end was reached, else 0."""
    shared = s.shared[0]
    t, end = s.edges[k], s.edges[k + 1]
    first = s.upto[k]
    wanted = s.upto[k + 1] - first
    copied(s.times[first:], s.ends, wanted)
    ends = wanted
    if wanted == 0 or s.ends[wanted - 1] != end:
        s.ends[wanted] = end
        ends = wanted + 1
    evaluations = shared.evaluations
    call(s.advance, s.solver, t, s.x, s.ends, ends, s.out, s.reached)
    if s.reached[0] < ends:
        shared.evaluations = evaluations
        return 0
    copied(s.out, s.rows[first * s.size :], wanted * s.size)
    copied(s.out[(ends - 1) * s.size :], s.x, s.size)
    s.steps += s.reached[1]
    return 1


def through_values(s: Values, count: int) -> int:
    """Integrate up to so many intervals with constant inputs, and return how many were completed."""
    some = s.intervals[0]
    shared = some.shared[0]
    u = shared.buffer[1 + shared.states :]
    for k in range(count):
        shared.last = s.last[k]
        copied(s.values[k * s.width :], u, s.width)
        if through(some, k) == 0:
            return k
    return count


def implicit_interval(s: Newton, t0: float, y: Floats, times: Floats, count: int, out: Floats, reached: Words) -> None:
    """Integrate with equal steps, or with steps that the tolerance determines.

    The first step is as long as the last one of the previous interval.
    """
    step, length = s.step[0], times[count - 1] - t0
    h, steps, size = step.h, step.steps, step.size
    if s.longest > 0.0:
        step.h = length / float(whole(length / s.longest))
    else:
        step.h = min(h if h > 0.0 else FIRST * length, length)
    copied(y, step.y, size)
    known = integrate(step, t0, times, count, out)
    reached[0], reached[1] = 0, step.steps - steps
    while reached[0] < known and is_motion(out[reached[0] * size :], step.shared[0].states) == 1:
        reached[0] += 1
    if reached[0] < count:
        step.h = h
