"""Switching times of a motion whose inputs are always at their limits, in place of inputs on a grid.

On a grid, a switch within an interval appears as an input between its limits. Between switches the inputs are at their
limits, and each of these arcs has a duration of its own. The durations are then the only unknowns: Kaya & Noakes,
Computational method for time-optimal switching control, J. Optim. Theory Appl. 117 (2003).
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from flexarm.arrays import Array
from flexarm.optimal.correction import Pressed, corrected, improved
from flexarm.optimal.expense import Expense
from flexarm.optimal.shooting import Course, Plant
from flexarm.optimal.step import Allowed, seen

NEAR = 1e-3
"""Relative distance to a limit below which an input counts as being at the limit."""

SHORT = 1e-6
"""Share of the motion's duration below which an arc is ignored."""

PARTS = 40
"""Approximate number of intervals of a polished motion."""


def polished(
    plants: Sequence[Plant],
    course: Course,
    pressed: Pressed,
    allowed: Allowed,
    goal: float,
    expense: Expense,
    stop: Any,
) -> tuple[Array, Array, Pressed] | None:
    """Return times, inputs and multipliers of the motion with exact switching times.

    Returns None if the inputs are not at their limits, or if the cost does not fall.
    """
    if course.linear or len(course.durations) > 1 or not np.isfinite(allowed.most).all():
        return None
    if any(each.any() for each in pressed.within.values()):
        return None
    found = _arcs(course, allowed.most)
    if found is None:
        return None
    lasts, u = found
    switched = replace(allowed, switched=True)
    at_ends, begins = _of_arcs(plants, course, lasts, u)
    begins = replace(begins, x=tuple(plant.run(begins)[0] for plant in at_ends))
    landed = corrected(at_ends, begins, switched, goal)
    if landed is None:
        return None
    sharp = improved(at_ends, landed, switched, goal, expense, stop)[0].course
    if not expense.of(sharp)[0] < expense.of(course)[0]:
        return None
    return _shared_out(plants, course, sharp, allowed, goal, expense, stop)


def _of_arcs(plants: Sequence[Plant], course: Course, lasts: Array, u: Array) -> tuple[list[Plant], Course]:
    """Return plants whose goal is the end of the last arc, and a trajectory of the arcs that has not yet been run.

    The longest arc has pieces as short as those of the given trajectory.
    """
    longer = max(1.0, float(lasts.max() / course.steps.max()))
    at_ends = [
        replace(each, goals=[replace(each.goals[0], node=len(lasts))], pieces=int(np.ceil(longer * each.pieces)))
        for each in plants
    ]
    return at_ends, Course(lasts, u, tuple(np.repeat(each.start[None], len(lasts) + 1, axis=0) for each in plants))


def _arcs(course: Course, most: Array) -> tuple[Array, Array] | None:
    """Durations (k,) and inputs (k, m) of arcs with the same impulses as the trajectory.

    Returns None if too many of the inputs are between their limits, or if one input always is.
    """
    times, T, U = course.times, float(course.durations.sum()), course.u / most
    signs = np.where(np.abs(U) > 1.0 - NEAR, np.sign(U), 0.0)
    if (signs == 0.0).mean() > 0.5 or not signs.any(axis=0).all():
        return None
    switches = [_switches(times, U[:, j], signs[:, j]) for j in range(U.shape[1])]
    cuts = np.unique(np.concatenate([[0.0, T], *(at for _, at in switches)]))
    cuts = cuts[np.append(True, np.diff(cuts) > SHORT * T)]
    cuts[-1] = T
    middles = (cuts[:-1] + cuts[1:]) / 2
    columns = [first * (-1.0) ** np.searchsorted(at, middles) for first, at in switches]
    return np.diff(cuts), np.stack(columns, axis=1) * most


def _switches(times: Array, u: Array, signs: Array) -> tuple[float, Array]:
    """First sign of an input, and its switching times, which keep the impulse of the input.

    An input switches once between opposite limits, and twice if it leaves a limit and returns to the same one.
    """
    inside = np.flatnonzero(signs)
    first = float(signs[inside[0]])
    found: list[float] = []
    edges = [(-1, inside[0]), *pairwise(inside.tolist()), (inside[-1], len(u))]
    for a, b in edges:
        before = signs[a] if a >= 0 else signs[b]
        after = signs[b] if b < len(u) else signs[a]
        if b == a + 1 and before == after:
            continue
        begin, end = times[a + 1], times[b]
        own = slice(a + 1, b)
        push = float((u[own] * np.diff(times)[own]).sum())
        if before != after:
            found.append(begin + (push - after * (end - begin)) / (before - after) if b > a + 1 else begin)
            continue
        lost = (before * (end - begin) - push) / (2.0 * before)
        weights = np.abs(before - u[own]) * np.diff(times)[own]
        middle = float((weights * (times[:-1] + times[1:])[own] / 2).sum() / weights.sum())
        found += [max(begin, middle - lost / 2), min(end, middle + lost / 2)]
    return first, np.array(found)


def _shared_out(
    plants: Sequence[Plant],
    course: Course,
    landed: Course,
    allowed: Allowed,
    goal: float,
    expense: Expense,
    stop: Any,
) -> tuple[Array, Array, Pressed]:
    """Split the arcs into shorter intervals, and compute the multipliers of their inputs."""
    counts = np.maximum(1, np.ceil(landed.durations / landed.durations.sum() * PARTS)).astype(int)
    u, lasts = np.repeat(landed.u, counts, axis=0), np.repeat(landed.durations / counts, counts)
    at_ends, split = _of_arcs(plants, course, lasts, u)
    pressed = improved(at_ends, seen(at_ends, split, whole=True), allowed, goal, expense, stop, 0)[1]
    return split.times, u, pressed
