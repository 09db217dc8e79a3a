"""The last part of the search: correct the inputs until the native run itself ends at its goals.

A grid is accurate only if its intervals are short beside the periods of the arm's fastest modes. The native run has no
grid. The motion on a grid is therefore taken as multiple shooting. The native run of each interval leaves a gap to the
beginning of the next interval. Newton's method closes these gaps with the smallest change of inputs and durations that
the limits allow. The same method then corrects the motion without gaps, as one run from the start. Source: Bock &
Plitt, A multiple shooting algorithm for direct solution of optimal control problems (IFAC 1984). Steps down the cost
are those of successive quadratic programs whose Hessian is the weight of a step's length. They begin along trajectories
with gaps, which are far less nonlinear than one long run, and each leaves a share of the gaps to the next.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from flexarm.arrays import Array
from flexarm.errors import FlexarmError
from flexarm.optimal.expense import Expense
from flexarm.optimal.shooting import Course, Plant
from flexarm.optimal.step import Active, Allowed, Seen, Step, moved, seen, step, ways

ROUNDS = 20
"""Largest number of Newton steps with gaps, and of those without gaps."""

HALVINGS = 6
"""Largest number of halvings of a step. The search fails if none of these lengths is good enough."""

GOOD = 0.3
"""Least share of the reduction predicted to first order that a step must achieve to be accepted."""

CLOSED = 10.0
"""Factor on the tolerance below which gaps count as closed, so that the search goes on without gaps."""

OPEN = 0.1
"""Share of the error that a step down the cost leads to, below which the next step follows."""

DESCENTS = 20
"""Largest number of steps down the cost, failed steps included."""

ENOUGH = 5e-5
"""Relative gain of a step down the cost below which the descent stops."""

LITTLE, FAILURES = 5e-3, 2
"""Relative gain that is little for a step, and number of steps of so little expected gain that may fail.

Further steps would gain little for their computing time.
"""

TINY = 1e-12
"""Least expected reduction of the cost with which a reduction is compared."""

LONGEST, SHORTEST = 1e-3, 1e3
"""Smallest and largest weight of a step's length that is tried."""

PACES, SHORTER = ((0.9, 0.1), (0.5, 0.3), (0.25, 1.0)), 6.0
"""Factors on that weight after steps whose reduction of the cost is more than a share of the expected one.

The last is the factor after all other steps.
"""


def corrected(
    plants: Sequence[Plant], course: Course, allowed: Allowed, goal: float, halvings: int = HALVINGS
) -> Seen | None:
    """Return a trajectory whose native runs end at their goals, or None if Newton's method does not find one.

    The runs end within `goal` [m] beyond the boxes of the goals. The trajectory comes with its evaluation by `seen`.
    """
    closed = _closed(plants, course, allowed, CLOSED * goal, False, halvings)
    return closed and _closed(plants, closed.course, allowed, goal, True, halvings)


def _closed(
    plants: Sequence[Plant], course: Course, allowed: Allowed, goal: float, whole: bool, halvings: int, share: float = 0
) -> Seen | None:
    """Apply Newton's method and halve each step until it reduces the error enough.

    The error becomes less than `goal`, or than a share of the error at the beginning.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # trial steps may leave the range in which the model is valid
            now, active = seen(plants, course, whole), _none(plants)
            if not np.isfinite(now.off):
                return None
            goal = max(goal, share * now.off)
            for _ in range(ROUNDS):
                if now.off <= goal:
                    return now
                taken = step(plants, now, ways(plants, now.course, allowed), allowed, active)
                trial = taken and _nearer(plants, now, taken, allowed, whole, halvings)
                if trial is None:
                    return None
                now = trial
    except FlexarmError:
        return None
    return now if now.off <= goal else None


def _nearer(
    plants: Sequence[Plant], now: Seen, taken: Step, allowed: Allowed, whole: bool, halvings: int
) -> Seen | None:
    """Return the trajectory after a step, which is halved until it reduces the error enough, or None."""
    for halved in range(halvings):
        share = 0.5**halved
        trial = seen(plants, moved(plants, now.course, taken, share, allowed), whole)
        if trial.off < (1 - GOOD * share) * now.off:
            return trial
    return None


def _none(plants: Sequence[Plant]) -> Active:
    return [set() for plant in plants for _ in plant.within]


@final
@dataclass(frozen=True, eq=False)
class Pressed:
    """Multipliers of the limits that keep a motion from being cheaper, per unit of the limited quantity.

    They are NaN if they could not be computed.

    Attributes
    ----------
    inputs : (N, m) or (N + 1, m)
        Multipliers of the limits on inputs: positive where the upper limit is active, negative where the lower is.
    within : dict of (N,)
        For each other limit, by name: the size of its largest multiplier at the end of each interval. At `torque_rate`
        it is per unit of the input's change.
    """

    inputs: Array
    within: dict[str, Array]


def improved(
    plants: Sequence[Plant],
    now: Seen,
    allowed: Allowed,
    goal: float,
    expense: Expense,
    stop: Any,
    descents: int = DESCENTS,
) -> tuple[Seen, Pressed]:
    """Return a cheaper motion and the multipliers of its limits.

    The search starts from a motion `now` that `corrected` has evaluated. It first goes down the cost along trajectories
    with gaps, and closes each gap to a share of what a step opens. It then starts from the motion without gaps, and
    each step leads from one motion that the arms make to another. The search stops when the steps gain no more, or
    too little for their computing time. Without `descents` the motion remains as it is.
    """
    pace = 1.0
    if descents:
        rough, _, pace, ended = _descended(plants, now, allowed, goal, expense, stop, 1.0, OPEN, descents)
        closed = corrected(plants, rough.course, allowed, goal)
        if closed is not None and expense.of(closed.course)[0] < expense.of(now.course)[0]:
            now = closed
        descents *= ended
    now, pressed, _, _ = _descended(plants, now, allowed, goal, expense, stop, min(pace, 1.0), 0.0, descents)
    return now, pressed


def _descended(
    plants: Sequence[Plant],
    now: Seen,
    allowed: Allowed,
    goal: float,
    expense: Expense,
    stop: Any,
    pace: float,
    share: float,
    descents: int,
) -> tuple[Seen, Pressed, float, bool]:
    """Return a cheaper trajectory, its multipliers, the last weight of a step's length, and whether steps gain no more.

    The trajectory has gaps if `share` is not zero. The multipliers are those of the step that led to it, because its
    inputs are at the limits at which they are after this step. If no step did, they are those of the last one.
    """
    active, pressed, led = _none(plants), Pressed(np.full_like(now.course.u, np.nan), {}), False
    sizes = np.append(np.tile(allowed.sizes, len(now.course.u)), np.ones(len(now.course.durations)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found, (cost, gradient) = ways(plants, now.course, allowed), expense.of(now.course)
        failed = 0
        for _ in range(max(descents, 1)):
            if failed == FAILURES:
                return now, pressed, pace, False
            down = gradient * sizes / cost
            taken = step(plants, now, found, allowed, active, down, pace)
            expected = 0.0 if taken is None else -float(down @ np.append(taken.u, taken.durations))
            if taken is not None and not led:
                pressed = _pressed(plants, taken, cost, allowed)
            if not descents or stop() or pace > SHORTEST or (share and taken is not None and expected < ENOUGH):
                break
            if taken is None:
                pace *= SHORTER
                continue
            course = moved(plants, now.course, taken, 1.0, allowed)
            if share:
                trial = _closed(plants, course, allowed, CLOSED * goal, False, 1, share)
            else:
                trial = corrected(plants, course, allowed, goal, 1)
            gain = 1.0 - expense.of(trial.course)[0] / cost if trial else -np.inf
            pace = _next_pace(pace, gain / max(expected, TINY))
            if trial is None or gain <= 0.0:
                failed += expected < LITTLE
                if expected < ENOUGH:
                    break
                continue
            now, pressed, led = trial, _pressed(plants, taken, cost, allowed), True
            if gain < ENOUGH:
                break
            found, (cost, gradient) = ways(plants, now.course, allowed), expense.of(now.course)
    return now, pressed, pace, True


def _next_pace(pace: float, ratio: float) -> float:
    """Return the weight of the next step's length, from the ratio of the reduction of the cost to the expected one."""
    for least, factor in PACES:
        if ratio > least:
            return max(factor * pace, LONGEST)
    return SHORTER * pace


def _pressed(plants: Sequence[Plant], taken: Step, cost: float, allowed: Allowed) -> Pressed:
    N = len(taken.states[0])
    within: dict[str, Array] = {}
    named = [(each.name, plant.parts) for plant in plants for each in plant.within]
    for (name, parts), pushes in zip(named, taken.on_within, strict=True):
        found = within.setdefault(name, np.zeros(N))
        for (k, _), push in pushes.items():
            found[k // parts] = max(found[k // parts], abs(push) * cost)
    if taken.on_slopes.size:
        within["torque_rate"] = np.abs(taken.on_slopes * cost / allowed.sizes).max(axis=1)
    return Pressed(taken.on_inputs * cost / allowed.sizes, within)
