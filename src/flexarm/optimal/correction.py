"""The last part of the search: correct the inputs until the native run itself ends at its goals.

A grid is accurate only if its intervals are short beside the periods of the arm's fastest modes. The native run has no
grid. The motion on a grid is therefore taken as multiple shooting. The native run of each interval leaves a gap to the
beginning of the next interval. Newton's method closes these gaps with the smallest change of inputs and durations that
the limits allow. The same method then corrects the motion without gaps, as one run from the start. Source: Bock &
Plitt, A multiple shooting algorithm for direct solution of optimal control problems (IFAC 1984). Steps down the cost
are those of successive quadratic programs whose Hessian is the weight of a step's length.
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
from flexarm.optimal.step import Active, Allowed, Seen, Step, Ways, moved, seen, step, ways

ROUNDS = 12
"""Largest number of Newton steps with gaps, and of those without gaps."""

HALVINGS = 6
"""Largest number of halvings of a step. The search fails if none of these lengths is good enough."""

GOOD = 0.3
"""Least share of the reduction predicted to first order that a step must achieve to be accepted."""

CLOSED = 10.0
"""Factor on the tolerance below which gaps count as closed, so that the search goes on without gaps."""

DESCENTS = 20
"""Largest number of steps down the cost, failed steps included."""

LANDING, FRESH = 8, 2
"""Largest number of corrections after a step down the cost, and how many of these may compute new slopes.

The other corrections use the slopes at the beginning of the step.
"""

STAYED = 0.7
"""Least share of the error that a correction with old slopes must remove for these slopes to be kept."""

ENOUGH = 5e-5
"""Relative gain of a step down the cost below which the descent stops."""

LONGEST, SHORTEST = 1e-3, 1e3
"""Smallest and largest weight of a step's length that is tried."""

LONGER, SHORTER = 3.0, 6.0
"""Factors by which that weight falls after a good step and grows after a bad one."""


def corrected(plants: Sequence[Plant], course: Course, allowed: Allowed, goal: float) -> Seen | None:
    """Return a trajectory whose native runs end at their goals, or None if Newton's method does not find one.

    The runs end within `goal` [m] beyond the boxes of the goals. The trajectory comes with its evaluation by `seen`.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # trial steps may leave the range in which the model is valid
            closed = _closed(plants, course, allowed, CLOSED * goal, whole=False)
            return closed and _closed(plants, closed.course, allowed, goal, whole=True)
    except FlexarmError:
        return None


def _closed(plants: Sequence[Plant], course: Course, allowed: Allowed, goal: float, whole: bool) -> Seen | None:
    """Apply Newton's method and halve each step until it reduces the error enough."""
    now, active = seen(plants, course, whole), _none(plants)
    for _ in range(ROUNDS):
        if now.off <= goal:
            return now
        taken = step(plants, now, ways(plants, now.course, allowed), allowed, active)
        if taken is None:
            return None
        for halved in range(HALVINGS):
            share = 0.5**halved
            trial = seen(plants, moved(plants, now.course, taken, share, allowed), whole)
            if trial.off < (1 - GOOD * share) * now.off:
                break
        else:
            return None
        now = trial
    return now if now.off <= goal else None


def _none(plants: Sequence[Plant]) -> Active:
    return [set() for plant in plants for _ in plant.within]


@final
@dataclass(frozen=True, eq=False)
class Pressed:
    """Multipliers of the limits that keep a motion from being cheaper, per unit of the limited quantity.

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
    plants: Sequence[Plant], now: Seen, allowed: Allowed, goal: float, expense: Expense, stop: Any
) -> tuple[Seen, Pressed]:
    """Return a cheaper motion and the multipliers of its limits.

    The search starts from a motion `now` that `corrected` has evaluated. Each step down the cost leads from one motion
    that the arms make to another. The search stops when the steps gain no more.
    """
    course, active, pace, pressed = now.course, _none(plants), 1.0, None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found, (cost, gradient) = ways(plants, course, allowed), expense.of(course)
        sizes = np.append(np.tile(allowed.sizes, len(course.u)), np.ones(len(course.durations)))
        for _ in range(DESCENTS):
            taken = step(plants, now, found, allowed, active, gradient * sizes / cost, pace)
            if taken is not None:
                pressed = _pressed(plants, taken, cost, allowed)
            if stop() or pace > SHORTEST:
                break
            trial = taken and _landed(plants, now, taken, found, allowed, goal)
            new = expense.of(trial.course)[0] if trial else np.inf
            if trial is None or not new < cost:
                pace *= SHORTER
                continue
            gain, pace, now = 1.0 - new / cost, max(pace / LONGER, LONGEST), trial
            if gain < ENOUGH:
                break
            found, (cost, gradient) = ways(plants, now.course, allowed), expense.of(now.course)
    return now, pressed or Pressed(np.zeros_like(course.u), {})


def _landed(
    plants: Sequence[Plant], start: Seen, taken: Step, found: Sequence[Ways], allowed: Allowed, goal: float
) -> Seen | None:
    """Return the motion that a step leads to, or None if it leads to none.

    Corrections use the slopes at the beginning of the step while these help.
    """
    active, fresh = _none(plants), 0
    try:
        now = seen(plants, moved(plants, start.course, taken, 1.0, allowed), whole=True)
        for _ in range(LANDING):
            if now.off <= goal:
                return now
            back = step(plants, now, found, allowed, active)
            trial = back and seen(plants, moved(plants, now.course, back, 1.0, allowed), whole=True)
            if trial is not None and trial.off < (1 - STAYED) * now.off:
                now = trial
            elif fresh < FRESH:
                found, fresh = ways(plants, now.course, allowed), fresh + 1
            else:
                return None
    except FlexarmError:
        return None
    return now if now.off <= goal else None


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
