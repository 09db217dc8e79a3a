"""Goals and limits of the arms that make the motion, for the correction of what a grid has found."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from flexarm.arrays import Array
from flexarm.optimal.correction import Pressed, corrected, improved
from flexarm.optimal.expense import Expense
from flexarm.optimal.measures import Measure
from flexarm.optimal.polish import polished
from flexarm.optimal.program import LEFT, most
from flexarm.optimal.shooting import Course, Goal, Plant, Within, in_metres
from flexarm.optimal.start import Known
from flexarm.optimal.step import Allowed
from flexarm.optimal.task import Task
from flexarm.optimal.variations import LEAST_PIECES

ROUGH = 1e-3
"""Relative amount by which the correction of a motion may increase a peak."""

BEYOND = 0.1
"""Share of the tolerance by which native runs may miss their goals. With `LEFT` it leaves a share to the swing."""

TURN = 1.5
"""Largest angle by which the fastest mode turns in a part of an interval [rad]."""

LEAST_PARTS, MOST_PARTS = 2, 10
"""Least and largest number of parts of an interval, at whose ends limits hold."""

PIECE, MOST_PIECES = 2.0, 40
"""Largest angle by which the fastest mode turns in a piece of a part [rad], and largest number of pieces.

Slopes are then accurate to a thousandth, and to a hundredth with twice the angle.
"""

EXCEEDED = 1e-4
"""Relative amount by which a motion may exceed a limit between the parts' ends without being corrected again."""

BETWEEN = 4
"""Number of points in a part of an interval at which the limits are checked."""

TIGHTENINGS, RESERVE = 3, 1.2
"""Largest number of corrections with tighter limits, and the factor on the excess by which they are tighter."""

FINER = 2
"""Number of intervals of a trajectory in one interval of the grid."""


def is_shot(task: Task) -> bool:
    """True if the task's motions can be corrected: the base is fixed, and the drives have no states."""
    return not task.model.arm.free and not task.model.states


@final
@dataclass(frozen=True, eq=False)
class Shot:
    """A motion that the arms make.

    Attributes
    ----------
    times, u : (N + 1,), (N, m) or (N + 1, m)
    pressed : Pressed
    cost : float
        Cost without the peaks, which follow from the complete motion.
    """

    times: Array
    u: Array
    pressed: Pressed
    cost: float


def shot(task: Task, known: Known, intervals: int, stop: Any) -> Shot | None:
    """Correct a motion until the arms themselves make it, and then reduce its cost.

    Returns None if no such motion is found near the given one.
    """
    N = FINER * intervals
    pace, peaks = np.pi / known.durations.sum(), [_bounded(each, known.x) for each in task.peaks]
    plants = [_plant(each, peaks if each is task else [], N, pace) for each in task.all]
    nodes, middles = np.arange(N + 1) / N, (np.arange(N) + 0.5) / N
    u = np.clip(known.at(known.u, nodes if task.linear else middles), -task.torque, task.torque)
    x = [known.at(known.arm(i).x, nodes) for i in range(len(plants))]
    for states, plant in zip(x, plants, strict=True):
        states[0] = plant.start
    sizes = np.where(np.isfinite(task.torque), task.torque, np.maximum(np.abs(u).max(axis=0), 1e-9))
    slopes = task.limits.sizes("torque_rate", len(sizes))
    allowed = Allowed(sizes, task.torque, slopes, task.held, task.duration is not None)
    goal = BEYOND * task.tolerance
    landed = corrected(plants, Course(known.durations, u, tuple(x)), allowed, goal)
    if landed is None:
        return None
    expense = Expense(task.weights, task.scale)
    best, pressed = improved(plants, landed, allowed, goal, expense, stop)
    tight = plants
    for _ in range(TIGHTENINGS):
        excess = [_excess(plant, best.course, len(peaks) * (plant is plants[0])) for plant in plants]
        if stop() or not any((each > 0.0).any() for own in excess for each in own):
            break
        tight = [_tighter(*each) for each in zip(tight, excess, strict=True)]
        landed = corrected(tight, best.course, allowed, goal)
        if landed is None:
            break
        best, pressed = improved(tight, landed, allowed, goal, expense, stop, 0)
    course = best.course
    sharp = polished(plants, course, pressed, allowed, goal, expense, stop) if _is_fastest(task) else None
    if sharp is None:
        return Shot(course.times, course.u, pressed, expense.of(course)[0])
    times, u, pressed = sharp
    return Shot(times, u, pressed, float(times[-1]) * task.weights["time"])


def _excess(plant: Plant, course: Course, peaks: int) -> list[Array]:
    """Largest excess over each limit but the last ones, those of the peaks, along one run; zero if it is negligible."""
    x = plant.run(replace(course, paths=()), BETWEEN)[1].reshape(-1, len(plant.start))
    found = []
    for each in plant.within[: len(plant.within) - peaks]:
        y = each.function(x)[0]
        ends = np.abs(np.stack([each.lower, each.upper]))
        size = np.where(np.isfinite(ends), ends, 0.0).max(axis=0)
        most = np.maximum(each.lower - y, y - each.upper).max(axis=0)
        found.append(np.where(most > EXCEEDED * size, most, 0.0))
    return found


def _tighter(plant: Plant, excess: Sequence[Array]) -> Plant:
    """Return the plant with its first limits tighter by the excess."""
    tight = [
        replace(each, lower=each.lower + RESERVE * by, upper=each.upper - RESERVE * by)
        for each, by in zip(plant.within, excess, strict=False)
    ]
    return replace(plant, within=[*tight, *plant.within[len(tight) :]])


def _bounded(peak: Measure, x: Array) -> Measure:
    """Return a peak with limits that are its largest value in the known states, and a small margin."""
    p = np.full(len(peak.lower), (1.0 + ROUGH) * most(peak, x[:, : peak.function.numel_in(0)]))
    return replace(peak, lower=-p, upper=p)


def _is_fastest(task: Task) -> bool:
    """True if the time is the only part of the objective."""
    return set(task.weights_given) == {"time"}


def _plant(task: Task, peaks: Sequence[Measure], intervals: int, pace: float) -> Plant:
    model, n = task.model, task.model.nv
    metres = in_metres(model, task.end, pace)
    box, still = np.full(2 * n, LEFT * task.tolerance / n), np.zeros(n)
    joints, count = task.joints, len(task.joints)
    ranges, rates = task.limits.ranges(count), task.limits.sizes("joint_rate", count)
    bounded = [
        _rows(joints, ranges[:, 0], ranges[:, 1], n, "joint_range"),
        _rows([n + i for i in model.arm.driven], -rates, rates, n, "joint_rate"),
        *(_measured(each) for each in [*task.measures, *peaks]),
    ]
    within = [each for each in bounded if len(each.lower)]
    turned = float(model.frequencies(task.end, locked=False).max()) * np.pi / (pace * intervals)
    parts = int(np.clip(np.ceil(turned / TURN), LEAST_PARTS, MOST_PARTS))
    pieces = int(np.clip(np.ceil(max(turned / PIECE, LEAST_PIECES) / parts), 1, MOST_PIECES))
    asked = slice(0 if task.placed else len(joints), None)  # the first rows are how far the joints are off
    goals = [Goal(intervals, metres[asked], np.append(task.end, still), box[asked])]
    stretch, some = intervals // (len(task.through) + 1), np.eye(2 * n)[joints]
    for i, q in enumerate(task.through if task.placed else ()):
        goals.append(Goal((i + 1) * stretch, some, np.append(q, still), box[:count]))
    return Plant(model, np.append(task.start, still), metres, goals, within, parts, pieces)


def _rows(places: list[int], lower: Array, upper: Array, n: int, name: str) -> Within:
    """Limits of the entries of the state that have a limit."""
    kept = np.isfinite(lower) | np.isfinite(upper)
    own = np.array(places, dtype=int)[kept]
    slope = np.zeros((len(own), 2 * n))
    slope[np.arange(len(own)), own] = 1.0
    return Within(name, lambda x: (x[:, own], np.broadcast_to(slope, (len(x), *slope.shape))), lower[kept], upper[kept])


def _measured(measure: Measure) -> Within:
    """Limit of a function of the configuration, with its slopes."""
    import casadi as ca

    q = ca.SX.sym("q", measure.function.numel_in(0))
    y = ca.densify(measure.function(q))
    both = ca.Function("both", [q], [y, ca.densify(ca.jacobian(y, q))])
    r, nq = y.numel(), q.numel()

    def function(x: Array) -> tuple[Array, Array]:
        values, slopes = both.map(len(x))(np.ascontiguousarray(x[:, :nq].T))
        J = np.array(slopes).reshape(r, len(x), nq).transpose(1, 0, 2)
        return np.array(values).T, np.concatenate([J, np.zeros_like(J)], axis=2)

    return Within(measure.name, function, measure.lower, measure.upper)
