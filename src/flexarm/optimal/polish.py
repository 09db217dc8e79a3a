"""Switches of a motion whose inputs are at their limits all the way: their times, instead of inputs held on a grid.

On a grid a switch within an interval shows as an input between its limits there. The arcs between switches, each with
inputs at their limits and a duration of its own, are the same problem with the durations alone as unknowns: Kaya &
Noakes, Computational method for time-optimal switching control, J. Optim. Theory Appl. 117 (2003).
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from flexarm.optimal.correction import Pressed, corrected, improved
from flexarm.optimal.expense import Expense
from flexarm.optimal.shooting import Course, Plant
from flexarm.optimal.step import Allowed

Array = np.ndarray

NEAR = 1e-3
"""Of a limit: what is so near to it is at it."""

SHORT = 1e-6
"""Of the motion: shorter arcs are none."""

PARTS = 40
"""Intervals of a polished motion, about."""


def polished(
    plants: Sequence[Plant],
    course: Course,
    pressed: Pressed,
    allowed: Allowed,
    goal: float,
    expense: Expense,
    stop: Any,
) -> tuple[Array, Array, Pressed] | None:
    """Times, inputs from them on, and multipliers, of the motion with its switches where they belong; None where the
    inputs are not at their limits, or nothing is gained."""
    if course.linear or len(course.durations) > 1 or not np.isfinite(allowed.most).all():
        return None
    if any(each.any() for each in pressed.within.values()):
        return None
    found = _arcs(course, allowed.most)
    if found is None:
        return None
    lasts, u = found
    switched = replace(allowed, switched=True)
    at_ends = [replace(each, goals=[replace(each.goals[0], node=len(lasts))]) for each in plants]
    begins = Course(lasts, u, tuple(np.repeat(each.start[None], len(lasts) + 1, axis=0) for each in plants))
    begins = replace(begins, x=tuple(plant.run(begins) for plant in at_ends))
    landed = corrected(at_ends, begins, switched, goal)
    if landed is None:
        return None
    sharp = improved(at_ends, landed, switched, goal, expense, stop)[0].course
    if not expense.of(sharp)[0] < expense.of(course)[0]:
        return None
    return _shared_out(sharp, course, pressed)


def _arcs(course: Course, most: Array) -> tuple[Array, Array] | None:
    """Durations (k,) and inputs (k, m) of arcs that push as much as the course does; None where too many of its inputs
    are between their limits, or one of them all the way."""
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
    """The first sign of an input, and when it switches: between two limits where as much is pushed, and twice where an
    input leaves a limit and comes back to it."""
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


def _shared_out(landed: Course, course: Course, pressed: Pressed) -> tuple[Array, Array, Pressed]:
    """The arcs in shorter intervals, with the multipliers that the course has then, per length."""
    T = float(landed.durations.sum())
    counts = np.maximum(1, np.ceil(landed.durations / T * PARTS)).astype(int)
    steps = np.repeat(landed.durations / counts, counts)
    times = np.append(0.0, np.cumsum(steps))
    middles = (times[:-1] + times[1:]) / 2 * course.times[-1] / T
    known = (course.times[:-1] + course.times[1:]) / 2
    per_length = pressed.inputs / course.steps[:, None]
    on = np.stack([np.interp(middles, known, column) for column in per_length.T], axis=1) * steps[:, None]
    nothing = {name: np.zeros(len(steps)) for name in pressed.within}
    return times, np.repeat(landed.u, counts, axis=0), Pressed(on, nothing)
