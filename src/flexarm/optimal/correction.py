"""The last part of the search: inputs are corrected until the native run itself ends where it should.

A grid is as good as its steps are short beside the arm's fastest modes; the native run knows no grid. So the motion on
a grid is taken as multiple shooting: by Newton's method the gaps between the end of an interval, as the arm itself runs
it, and the beginning of the next are closed, with the smallest change of inputs and durations that the limits allow.
Then the same without gaps, as one run from the start. Source: Bock & Plitt, A multiple shooting algorithm for direct
solution of optimal control problems (IFAC 1984); steps down the cost are those of successive quadratic programs whose
Hessian is the weight of a step's length.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from flexarm.errors import FlexarmError
from flexarm.optimal.expense import Expense
from flexarm.optimal.shooting import Course, Plant
from flexarm.optimal.step import Active, Allowed, Seen, Step, Ways, moved, seen, step, ways

Array = np.ndarray

ROUNDS = 12
"""Newton steps with gaps, and as many without."""

HALVINGS = 6
"""Times that a step is halved, and with none of these lengths good enough no motion is found."""

GOOD = 0.3
"""Of what a whole step promises to first order: a step that takes so much away, for its length, is taken."""

CLOSED = 10.0
"""Times what a motion may miss: gaps so small are closed well enough to go on without them."""

DESCENTS = 20
"""Steps down the cost, with those that failed."""

LANDING, FRESH = 8, 2
"""Corrections after a step down the cost, and how many of them with slopes of their own, not those at its beginning."""

STAYED = 0.7
"""What a correction with old slopes must take away for these to be kept."""

ENOUGH = 5e-5
"""Relative gain of a step down the cost that is not worth another."""

LONGEST, SHORTEST = 1e-3, 1e3
"""Weights of a step's length: the least, and the most that is tried."""

LONGER, SHORTER = 3.0, 6.0
"""By so much that weight falls after a step that was good, and grows after one that was not."""


def corrected(plants: Sequence[Plant], course: Course, allowed: Allowed, goal: float) -> Seen | None:
    """A course whose native runs end where they should, within `goal` [m] beyond the boxes of the goals, as it was seen
    to; None where Newton's method does not find it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # trials may leave what is sound
            closed = _closed(plants, course, allowed, CLOSED * goal, whole=False)
            return closed and _closed(plants, closed.course, allowed, goal, whole=True)
    except FlexarmError:
        return None


def _closed(plants: Sequence[Plant], course: Course, allowed: Allowed, goal: float, whole: bool) -> Seen | None:
    """Newton's method, each step as long as it does good."""
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
    """Multipliers of what is in the way of a cheaper motion, per unit of what is limited.

    Attributes
    ----------
    inputs : (N, m) or (N + 1, m)
        Positive where the upper limit is active, negative where the lower is.
    within : dict of (N,)
        Of the other limits, by name: the size of the largest at the end of each interval; at `torque_rate` per unit of
        the input's change.
    """

    inputs: Array
    within: dict[str, Array]


def improved(
    plants: Sequence[Plant], now: Seen, allowed: Allowed, goal: float, expense: Expense, stop: Any
) -> tuple[Seen, Pressed]:
    """Steps down the cost, each from one motion that the arms make to another, as `corrected` has seen the first, until
    they gain no more."""
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
            found, (cost, gradient) = ways(plants, now.course, allowed), expense.of(now.course)
            if gain < ENOUGH:
                break
    return now, pressed or Pressed(np.zeros_like(course.u), {})


def _landed(
    plants: Sequence[Plant], start: Seen, taken: Step, found: Sequence[Ways], allowed: Allowed, goal: float
) -> Seen | None:
    """The motion that a step leads to, by corrections with the slopes at its beginning while these help; None where it
    leads to none."""
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
    names = [each.name for plant in plants for each in plant.within]
    for name, pushes in zip(names, taken.on_within, strict=True):
        found = within.setdefault(name, np.zeros(N))
        for (k, _), push in pushes.items():
            found[k] = max(found[k], abs(push) * cost)
    if taken.on_slopes.size:
        within["torque_rate"] = np.abs(taken.on_slopes * cost / allowed.sizes).max(axis=1)
    return Pressed(taken.on_inputs * cost / allowed.sizes, within)
