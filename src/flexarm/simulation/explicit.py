"""Explicit methods for one run, in the language that is translated. The methods are tableaus, see `butcher`.

The error of a step is the difference between two embedded formulas (Hairer, Norsett & Wanner, Solving ODEs I, II.4).
A step is accepted where error_i / (atol_i + rtol max(|y_i|, |z_i|)) has a root mean square below 1 over the state.
Integrals of powers have infinite tolerances, except for arms that touch (`Layout.tolerances`). States at the times of
the result are those of the method's interpolating polynomial. A method without an estimate of its error takes equal
steps between two of these times.

An interval starts anew: its steps depend on the state at its start and on nothing before. A period of `Stepper`, and
the time between two samples of a controller, are intervals.
"""

import ctypes  # noqa: TID251  (calls code that this package compiled)
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from flexarm.arrays import Array, address_of
from flexarm.native.functions import translated
from flexarm.native.language import Floats, Placed, Words, lanes, sqrt
from flexarm.native.once import Once
from flexarm.simulation.advance import Advance, Stretch, is_motion, whole
from flexarm.simulation.butcher import ButcherTableau
from flexarm.simulation.rhs import (
    EARLY,
    ENDLESS,
    MIDDLE,
    NAN,
    PARTS,
    Plan,
    RunRecord,
    crosses,
    departs,
    may_touch,
    measured,
    nears,
    passes,
    put_on_closures,
    rhs,
    touched_in,
    touching_at,
    turning,
    unmarked,
    was_beyond,
)
from flexarm.simulation.stages import (
    NEARLY,
    Stages,
    error_of,
    first_step,
    first_trial,
    following,
    interpolated,
    is_brief,
    moved,
    polynomial,
    shortened,
    shortest,
    stages_of,
    summed,
)
from flexarm.simulation.steps import CONTACT, Trail, copied, placed

ADVANCE = ctypes.CFUNCTYPE(
    None,
    *(ctypes.c_void_p, ctypes.c_double, ctypes.c_void_p, ctypes.c_void_p),
    *(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p),
)
"""The form in which native code calls a solver, see `advance`."""

CODE = Once(lambda: translated(explicit))


MOST_EVALUATIONS = 10_000_000
"""Largest number of evaluations between two samples or in a period: some seconds, in which Ctrl-C has no effect."""


@dataclass
class ExplicitSteps:
    """An explicit method on a plan, and its working memory.

    Attributes
    ----------
    method : Stages
    rtol, atol : float, (size,)
    step, guess : float
        The longest step [s]; 0 means no limit for adaptive steps. `guess` is the first adaptive step of an interval, or
        0 to determine it.
    most : int
        Largest number of evaluations in an interval.
    t, h, next : float
        Time at the start of the last step, its length, and the length that would be tried next [s].
    y, z, e, x : (size,)
        State at the start and at the end of a step; work memory.
    recorded, trail : int, Trail
        1 if the steps are recorded, and their record.
    """

    shared: Sequence[RunRecord]
    method: Stages
    rtol: float
    atol: Floats
    step: float
    guess: float
    most: int
    t: float
    h: float
    next: float
    y: Floats
    z: Floats
    e: Floats
    x: Floats
    recorded: int
    trail: Trail


@final
class Explicit:
    """An explicit method on a plan: called from Python, or by native code through `advance`.

    Parameters
    ----------
    tableau : ButcherTableau
    plan : Plan
    rtol, atol : float, (size,)
        Tolerances of each number of the state; one of 1e300 leaves a number out.
    step : float
        Longest step [s]. 0 means no limit, and is only for a method that chooses its steps.
    guess : float
        First step of an interval [s]; 0 to determine it.
    most : int
        Largest number of evaluations in an interval.
    trail : Trail, optional
        Record of the steps.
    """

    def __init__(
        self,
        tableau: ButcherTableau,
        plan: Plan,
        rtol: float,
        atol: Array,
        step: float = 0.0,
        guess: float = 0.0,
        most: int = ENDLESS,
        trail: Placed | None = None,
    ):
        size = len(atol)
        self.tableau = tableau
        self._code, self._plan, self._fixed = CODE(), plan, not tableau.adaptive
        self._call: Callable[..., None] = ADVANCE(self._code.addresses["explicit"])
        self.record = Placed(
            ExplicitSteps(
                shared=np.array([plan.address]),  # type: ignore[arg-type]  # an address is one word
                method=stages_of(tableau, size),  # type: ignore[arg-type]  # a record is placed
                rtol=rtol,
                atol=np.ascontiguousarray(atol, dtype=float),
                step=step,
                guess=guess,
                most=most,
                t=0.0,
                h=0.0,
                next=0.0,
                y=np.zeros(size),
                z=np.zeros(size),
                e=np.zeros(size),
                x=np.zeros(size),
                recorded=int(trail is not None),
                trail=trail or 0,  # type: ignore[arg-type]  # a record is placed
            )
        )

    @property
    def weights(self) -> Array:
        """Weights of the rates of all stages in the state of each stage and of the end, (stages + 1, stages)."""
        return np.vstack([np.zeros(self.tableau.stages), self.tableau.matrix])

    @property
    def nodes(self) -> Array:
        """Times of the stages within a step, then those of the end and of the further stages."""
        return np.array(self.tableau.c)

    @property
    def advance(self) -> Advance:
        """Address of the method for native code."""
        return Advance(self._code.addresses["explicit"], self.record.address, (self._code, self.record, self._plan))

    def __call__(self, t0: float, x0: Array, times: Array, most: int = 0, going: bool = False) -> Stretch:
        """Integrate from a state to each of the times, in at most `most` evaluations unless it is 0.

        `going` continues where the last call has spent its evaluations, with the next step.
        """
        x0, times = (np.ascontiguousarray(each, dtype=float) for each in (x0, times))
        out, reached = np.empty((len(times), len(x0))), np.zeros(2, dtype=np.int64)
        record, plan = self.record, self._plan
        before, usual = plan.evaluations, (record.most, record.guess)
        record.most, record.guess = most or record.most, record.next if going else record.guess
        self._call(
            record.address, t0, address_of(x0), address_of(times), len(times), address_of(out), address_of(reached)
        )
        limit, (record.most, record.guess) = record.most, usual
        rows, steps = out[: reached[0]], int(reached[1])
        if len(rows) == len(times) or plan.stopped:
            return Stretch(rows, steps)
        if plan.evaluations - before >= limit:
            return Stretch(rows, steps, f"more than {limit:.0e} evaluations between two breakpoints", spent=True)
        grown, finite = is_motion(record.z, plan.states) == 0, bool(np.isfinite(record.z).all())
        if self._fixed:
            last = record.z if finite else record.y
            return Stretch(rows, steps, f"a step of {record.step:g} s is too long", (record.t + record.h, last.copy()))
        if grown and finite:
            return Stretch(rows, steps, diverged=(record.t + record.h, record.z.copy()))
        return Stretch(rows, steps, "its steps became too short")

    def reached(self) -> tuple[float, Array]:
        """Return the end of the last accepted step, and the state there."""
        return self.record.t, self.record.y.copy()


# -- translated functions ----------------------------------------------------------------------------------------------


def explicit(s: ExplicitSteps, t0: float, y: Floats, times: Floats, count: int, out: Floats, reached: Words) -> None:
    """Integrate from a state to each of the times."""
    reached[0], reached[1] = 0, 0
    copied(y, s.y, s.shared[0].integrated)
    s.t = t0
    if s.method.adaptive == 1:
        adapted(s, times, count, out, reached)
    else:
        equal(s, times, count, out, reached)


def equal(s: ExplicitSteps, times: Floats, count: int, out: Floats, reached: Words) -> None:
    """Take equal steps to each of the times, no longer than `step`."""
    shared = s.shared[0]
    size = shared.integrated
    for i in range(count):
        start, many = s.t, whole((times[i] - s.t) / s.step)
        s.h = (times[i] - start) / float(many)
        if times[i] > start:
            for j in range(many):
                s.t = start + float(j) * s.h
                rhs(s.method.k, s.t, s.y, s.shared, 0)
                stepped(s)
                if shared.stop != 0 or is_motion(s.z, shared.states) == 0:
                    return
                if s.recorded == 1:
                    noted(s)
                copied(s.z, s.y, size)
                reached[1] += 1
            s.t = times[i]
        copied(s.y, out[i * size :], size)
        reached[0] = i + 1


def adapted(s: ExplicitSteps, times: Floats, count: int, out: Floats, reached: Words) -> None:
    """Take steps as long as the tolerance allows, and interpolate the states at the times."""
    shared, method, end, t0 = s.shared[0], s.method, times[count - 1], s.t
    size, limit, refused = shared.integrated, shared.evaluations + s.most, 0
    while reached[0] < count and not times[reached[0]] > t0:
        copied(s.y, out[reached[0] * size :], size)
        reached[0] += 1
    if reached[0] == count:
        return
    rhs(method.k, t0, s.y, s.shared, 0)
    wanted = s.guess if s.guess > 0.0 else begun(s, end)
    wanted = longest(s, min(wanted, end - t0))
    while reached[0] < count:
        ahead, last = s.t + wanted, 0
        if s.t + wanted * NEARLY >= end:
            ahead, last = end, 1
        s.h = ahead - s.t
        unmarked(shared)
        stepped(s)
        error = NAN
        if was_beyond(shared) == 0:
            rhs(method.k[method.stages * size :], ahead, s.z, s.shared, 0)
            error = failing(s)
        if shared.watch != 0 and error < 1.0 and touches(s) == 1:
            error = NAN
        s.next = wanted
        if shared.stop != 0 or shared.evaluations >= limit:
            return
        if shared.touch != 0 and error < 1.0 and is_brief(s.h, s.t, end - t0) == 0 and brushes(s) == 1:
            wanted, refused = 0.25 * s.h, 1
            continue
        if error < 1.0:
            if is_motion(s.z, shared.states) == 0:
                return
            known = between(s, ahead, last, times, count, out, reached[0])
            if shared.stop != 0:  # rates of the polynomial may be NaN
                return
            reached[0] = known
            if s.recorded == 1:
                noted(s)
            ready = following(method, error, s.h, refused)
            if last == 0 or ready > wanted:
                wanted = longest(s, ready)
            refused = 0
            s.t = ahead
            copied(s.z, s.y, size)
            copied(method.k[method.stages * size :], method.k, size)
            reached[1] += 1
        else:  # the step is rejected
            wanted, refused = shortened(method, error, s.h), 1
            least = shortest(s.t, error, end - t0)
            if was_beyond(shared) == 1:
                least = max(shortest(s.t, 0.0, end - t0), CONTACT * (end - t0))
            if not wanted >= least:
                return


def noted(s: ExplicitSteps) -> None:
    """Record an accepted step, whose stages' rates are those of the method."""
    trail, size = s.trail, s.shared[0].integrated
    row = placed(trail, s.t, s.h, s.y, size)
    if row >= 0:
        copied(s.method.k, trail.ring[row * trail.width + size :], s.method.stages * size)


def longest(s: ExplicitSteps, h: float) -> float:
    """Return a step that is not longer than the longest one."""
    return min(h, s.step) if s.step > 0.0 else h


def begun(s: ExplicitSteps, end: float) -> float:
    """Return the first step, given the first rates."""
    size, y, z, k = s.shared[0].integrated, s.y, s.z, s.method.k
    f = k[size:]
    copied(y, z, size)
    n = float(size)
    rate = sqrt(weighed(s, k) / n)
    h = min(first_trial(sqrt(weighed(s, y) / n), rate), end - s.t)
    for i in lanes(size):
        z[i] = y[i] + h * k[i]
    rhs(f, s.t + h, z, s.shared, 0)
    for i in lanes(size):
        f[i] -= k[i]
        z[i] = y[i]
    return first_step(s.method, h, rate, sqrt(weighed(s, f) / n))


def stepped(s: ExplicitSteps) -> None:
    """Take a step of length h from y to z, given the rates at y. z has no number if a stage is beyond a contact."""
    method, size, z = s.method, s.shared[0].integrated, s.z
    filled(method.h, s.h, size)
    for stage in range(1, method.stages):
        moved(method, stage - 1, s.y, z, size)
        rhs(method.k[stage * size :], s.t + method.c[stage] * s.h, z, s.shared, 0)
        if s.shared[0].watch != 0 and was_beyond(s.shared[0]) == 1:
            z[0] = NAN
            return
    moved(method, method.stages - 1, s.y, z, size)
    put_on_closures(s.shared, z)


def filled(x: Floats, value: float, count: int) -> None:
    """Write a number to each element."""
    for i in lanes(count):
        x[i] = value


def failing(s: ExplicitSteps) -> float:
    """Return the error of a step relative to the tolerance."""
    method, size, other = s.method, s.shared[0].integrated, 0.0
    summed(method, method.stages, s.e, size)
    square = weighed(s, s.e)
    if method.smoothed == 1:
        summed(method, method.stages + 1, s.e, size)
        other = weighed(s, s.e)
    return error_of(method, square, other, float(size))


def weighed(s: ExplicitSteps, e: Floats) -> float:
    """Sum the squares of numbers, each relative to its tolerance."""
    y, z, atol, rtol = s.y, s.z, s.atol, s.rtol
    total = 0.0
    for i in range(s.shared[0].integrated):
        # the same order as in SIMD batches, equal to the last bit
        part = e[i] * (1.0 / (atol[i] + rtol * max(abs(y[i]), abs(z[i]))))
        total += part * part
    return total


def between(s: ExplicitSteps, ahead: float, last: int, times: Floats, count: int, out: Floats, known: int) -> int:
    """Write the states at the times that a step to `ahead` has passed. Return the number of known states."""
    size = s.shared[0].integrated
    if known < count and times[known] < ahead:
        interpolating(s)
        while known < count and times[known] < ahead:
            filled(s.x, (times[known] - s.t) / s.h, size)
            interpolated(s.method, s.x, s.y, s.z, out[known * size :])
            put_on_closures(s.shared, out[known * size :])
            known += 1
    while known < count and (times[known] <= ahead or last == 1):
        copied(s.z, out[known * size :], size)
        known += 1
    return known


def touches(s: ExplicitSteps) -> int:
    """Return 1 if the motion is on the other side of a contact within a step, where none of its stages is."""
    shared = s.shared[0]
    if nears(shared) == 0:
        return 0
    interpolating(s)
    for part in range(PARTS + 1):
        if crosses_at(s, float(part) / float(PARTS), part) == 1:
            return 1
    for part in range(1, PARTS):
        for i in range(shared.marked):
            along = turning(shared.marks[4 * shared.marked :], shared.marked, part, i, 1.0)
            if along > 0.0 and crosses_at(s, along, PARTS + 1) == 1:
                return 1
    return 0


def brushes(s: ExplicitSteps) -> int:
    """Return 1 if parts of the arm touch, or are apart, only between the ends of a step."""
    shared = s.shared[0]
    gaps, count = shared.gaps, shared.gapped
    measured(shared, s.y, 0)
    measured(shared, s.z, PARTS)
    measured_on_cubic(s, 0.5, MIDDLE)
    measured_on_cubic(s, s.method.c[1], PARTS + 1)
    if departs(gaps, count) == 1:
        measured_on_cubic(s, EARLY * s.method.c[1], 1)
        if passes(gaps, count) == 1:
            return 1
    if may_touch(gaps, count) == 0:
        return 0
    if interpolating(s) == 1:
        return 1
    for part in range(1, PARTS):
        if brushes_at(s, float(part) / float(PARTS), part) == 1:
            return 1
    for part in range(1, PARTS):
        for i in range(count):
            along = touching_at(gaps, count, part, i)
            if along > 0.0 and brushes_at(s, along, PARTS + 1) == 1:
                return 1
    return 0


def measured_on_cubic(s: ExplicitSteps, along: float, row: int) -> None:
    """Compute the functions of touches at a fraction of a step, on the cubic through its ends with the rates there."""
    last, left = s.method.k[s.method.stages * s.shared[0].integrated :], 1.0 - along
    a, b = (1.0 + 2.0 * along) * left * left, s.h * along * left * left
    c, d = (3.0 - 2.0 * along) * along * along, -s.h * along * along * left
    for i in lanes(s.shared[0].integrated):
        s.e[i] = a * s.y[i] + b * s.method.k[i] + c * s.z[i] + d * last[i]
    measured(s.shared[0], s.e, row)


def brushes_at(s: ExplicitSteps, along: float, row: int) -> int:
    """Return 1 if parts of the arm touch, or are apart, at a fraction of a step and not at its ends."""
    filled(s.x, along, s.shared[0].integrated)
    interpolated(s.method, s.x, s.y, s.z, s.e)
    put_on_closures(s.shared, s.e)
    measured(s.shared[0], s.e, row)
    return touched_in(s.shared[0].gaps, s.shared[0].gapped, row)


def crosses_at(s: ExplicitSteps, along: float, row: int) -> int:
    """Return 1 if the motion is on the other side of a contact at a fraction of a step, or if it is not known there."""
    size = s.shared[0].integrated
    filled(s.x, along, size)
    interpolated(s.method, s.x, s.y, s.z, s.e)
    put_on_closures(s.shared, s.e)
    if s.e[0] - s.e[0] != 0.0:
        return 1
    return crosses(s.shared[0], s.t + along * s.h, s.e, row)


def interpolating(s: ExplicitSteps) -> int:
    """Compute the interpolating polynomial of a step.

    Return 1 if parts of the arm touch, or are apart, at one of its further stages and not at the ends of the step. Its
    rates contain the force then, which the step itself does not.
    """
    method, size, found = s.method, s.shared[0].integrated, 0
    for e in range(method.further):
        moved(method, method.stages + method.smoothed + 1 + e, s.y, s.e, size)
        stage = method.stages + 1 + e
        if s.shared[0].touch != 0:
            measured(s.shared[0], s.e, PARTS + 1)
            found += touched_in(s.shared[0].gaps, s.shared[0].gapped, PARTS + 1)
        rhs(method.k[stage * size :], s.t + method.c[stage] * s.h, s.e, s.shared, 0)
    polynomial(method, s.y, s.z)
    return 1 if found > 0 else 0
