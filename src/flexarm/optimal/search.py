"""The search for an optimal motion: collocation on a grid, then shooting, then a finer grid while that gains."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from flexarm import progress
from flexarm.checks import Fault, checked_flag, checked_whole, choices, counted, refused, shown
from flexarm.description.closures import refuse_closures
from flexarm.description.joints import refuse_balls
from flexarm.errors import FlexarmError, Implausible, InterruptedRun, NotReached
from flexarm.interrupts import heard_by
from flexarm.model import Model, ModelLike, as_model
from flexarm.optimal.collocation import Grid
from flexarm.optimal.correction import Pressed
from flexarm.optimal.limits import Limits
from flexarm.optimal.motion import OptimalMotion
from flexarm.optimal.nlp import Program, Solved
from flexarm.optimal.outcome import joined, motion, on_grid
from flexarm.optimal.plants import EXCEEDED, RESERVE, TIGHTENINGS, is_shot, shot
from flexarm.optimal.program import CAUTIOUS, found_on, is_far, most, unpacked
from flexarm.optimal.start import Known, is_hasty, prescribed, unhurried
from flexarm.optimal.task import Task, asked
from flexarm.simulation.plausible import implausible

SCHEMES = ("radau", "legendre")
MOST_INTERVALS, MOST_STEPS = 2000, 1_000_000
FINE, FINEST = 40, 320
"""Default number of intervals of the first grid, and of the finest one if no coarser grid leads to rest."""

SHARE = 0.2
"""Share of the tolerance for a motion that ends at a stop, because its error keeps growing until the end."""

SLOWER = 1.3
"""Factor on the first arm's duration from which the search for several arms begins."""

AGAIN = (1.2, 0.8, 1.5)
"""Factors on the initial guess's durations in further searches, each if nothing was found before.

Of searches for two arms, one in six finds nothing, and rounding errors decide which."""

FARTHER = 8
"""Largest number of restarts of the search where a duration reaches its bound around the initial guess."""

RIGID_GRIDS = (0.5, 1.0)
"""Shares of the first grid's intervals with which the search for the rigid arm's motion starts."""

BESIDE = 1e-9
"""Distance of the inputs from a time at which they jump, as a share of a motion."""

GAIN = 1e-3
"""Relative gain in cost below which a finer grid is the last."""


def optimal_motion(
    model: ModelLike,
    start: ArrayLike | Mapping[str, Any],
    end: ArrayLike | Mapping[str, Any],
    limits: Limits | Mapping[str, Any] | None = None,
    objective: str | Mapping[str, float] = "time",
    duration: float | None = None,
    intervals: int | None = None,
    most_intervals: int | None = None,
    points: int | None = None,
    scheme: str = "radau",
    tolerance: float = 1e-4,
    steps: int = 300,
    through: Sequence[Any] = (),
    stops: bool = False,
    plants: Sequence[Any] = (),
) -> OptimalMotion:
    """Return the best motion of a flexible arm from rest to rest, without residual vibration, and its torques.

    The search has three parts:

    1. Direct collocation of the equations of motion on a coarse grid (see `collocation`), solved by IPOPT with exact
       sparse derivatives.
    2. Correction of inputs and durations until the native run itself ends at rest, and then descent of the cost from
       one such motion to another (see `correction`).
    3. Exact switching times, if the inputs are always at their limits (see `polish`).

    The grid is refined by factors of two while that reduces the cost. Arms on a free base and drives with states are
    not corrected. For these the grid is refined until the native run ends at its goal.

    Parameters
    ----------
    model : Model, Arm or str
    start, end : (joints,), (nq,) or dict
        Joint coordinates [rad] or [m], or configurations. The arm is in equilibrium there, sagging under gravity. A
        free base begins with the pose of the start and ends where the motion brings it.

        Or a position of the tip in that equilibrium, {"tip": [x, y, z]} [m]. Add "direction", its x axis (3,), or
        "rotation", its axes as columns (3, 3) or a unit quaternion (w, x, y, z). Of the joint coordinates that reach it
        within `limits.joint_range`, the start takes the nearest to the arm's rest, and the end the nearest to the
        start. On a free base the position must be relative to the base, "frame": "base".
    limits : Limits or dict
        See `Limits`. The fastest motion needs limits on torque.
    objective : str or dict
        One of these names, or weights of several, {"time": 1.0, "effort": 0.1}:

        - "time"
        - "effort": the integral of the sum of u^2, each u as a share of its limit, or in its own unit without a limit
        - "smoothness": the same of du/dt, times s^2
        - "deflection" [m]: the largest of any link during the motion
        - "moment" [N m]: the largest of any link during the motion, at the stations `limits.moment_at`
    duration : float, optional
        Duration of the motion [s]. Required if the time is no part of the objective.
    intervals : int, optional
        Number of intervals of the first grid; default 40, or `most_intervals` if that is less.
    most_intervals : int, optional
        Number of intervals of the finest grid that is tried; default 40, or 320 if coarser grids lead to no motion that
        ends at rest. A larger number improves a motion further, and takes longer.
    points, scheme : int, "radau" or "legendre"
        Collocation points in an interval: from 1 to 9. By default there are two, or three if there are obstacles or
        if the motion is not corrected.
    tolerance : float
        Distance by which the tip may miss its goal at the end of the native simulation, and swing from there [m].
    steps : int
        Largest number of steps of the solver on a grid.
    through : list
        Places on the way, each given as `start` is, within `limits.joint_range`. The torques need not be able to hold
        the arm at a place that it only passes.
    stops : bool
        True if the arm comes to rest at each of these places. Otherwise its joints pass them, at times that are free.
    plants : list of Model, or of dict
        Further arms that come to rest under the same inputs without residual vibration, wherever their joints then are.
        Each is a model, or values of the arm's parameters by name, {"payload.mass": 2.0}. Limits hold for all arms,
        peaks are those of the first arm, and the report has the largest errors. The same torques must hold all arms at
        both ends, which rules out most arms under gravity. Each arm restricts the inputs nearly as much as the first
        one. An arm of one joint allows several further plants and an arm of two joints one. With more, the solver often
        finds no motion.

    Returns
    -------
    OptimalMotion

    Raises
    ------
    DescriptionError
        If an argument does not fit the arm, if the limits do not allow the arm to rest at an end or at a stop, or if
        the time is minimised and the end is the start.
    FlexarmError
        If the arm has no equilibrium near an end, as within a backlash, or if the solver finds no motion. The message
        then names the most restrictive limit.

    Warns
    -----
    NotReached
        If the simulation on the finest grid does not end within the tolerance. The motion is returned.
    Implausible
        If angles of the start or the end look like degrees.
    InterruptedRun
        If Ctrl-C interrupts the search and there is a motion to return. Without one, KeyboardInterrupt is raised.
    """
    with refused("optimal_motion"):
        model = as_model(model)
    refuse_closures(model, "optimal_motion")
    refuse_balls(model, "optimal_motion")
    task = asked(model, start, end, limits, objective, duration, tolerance, through, plants)
    for name, q in (("start", task.start), ("end", task.end)):
        if strange := implausible(model, q, name=name):
            warnings.warn(f"optimal_motion: {strange}", Implausible, stacklevel=2)
    with refused("optimal_motion"):
        first, fine, finest = FINE if intervals is None else checked_whole(intervals, 2, "intervals"), FINE, FINEST
        if most_intervals is not None:
            fine = finest = checked_whole(most_intervals, 2 if intervals is None else first, "most_intervals")
            first = min(first, finest)
        counts = {
            "points": (checked_whole(_points(task) if points is None else points, 1, "points"), 9),
            "intervals": (first, MOST_INTERVALS),
            "most_intervals": (finest, MOST_INTERVALS),
            "steps": (checked_whole(steps, 1, "steps"), MOST_STEPS),
        }
        for name, (value, largest) in counts.items():
            if value > largest:
                raise Fault(name, f"must be at most {largest}")
        if not isinstance(scheme, str) or scheme not in SCHEMES:
            raise Fault("scheme", f"is {shown(scheme)}; it must be {choices(*SCHEMES)}")
        one_by_one = checked_flag(stops, "stops") and bool(task.through)
        if one_by_one and not task.weights["time"]:
            raise Fault("stops", "need an objective with time; otherwise compute each part separately")
        if one_by_one and task.others:
            raise Fault(
                "stops", "are for one arm: where the other plants stand there is not known; leave one of both out"
            )
    stretches, grids = 1 if one_by_one else len(task.through) + 1, list[Grid]()
    while not grids or 2 * grids[-1].intervals <= finest * stretches:
        count = 2 * grids[-1].intervals if grids else first * stretches
        grids.append(Grid(model, count, counts["points"][0], scheme, task.linear, stretches))
    if one_by_one:
        own = [replace(each, tolerance=SHARE * task.tolerance) for each in task.stretches()]
        whole = joined(task, [_refined(each, grids, int(steps), fine) for each in own])
        if not _rests(task, whole):
            left = f"{_left(whole)}; tolerance is {task.tolerance:g} m"
            warnings.warn(f"optimal_motion: at the last stop {left}", NotReached, stacklevel=2)
        return whole
    return _refined(task, grids, int(steps), fine * stretches)


def _points(task: Task) -> int:
    """Return the default number of collocation points."""
    return 2 if is_shot(task) and not task.limits.obstacles else 3


def _refined(task: Task, grids: list[Grid], steps: int, fine: int) -> OptimalMotion:
    """Refine the grid until the simulation is within the tolerance, and then while the cost falls.

    The second refinement ends at `fine` intervals. Where the solver finds a worse motion on a finer grid than the best
    one, this one is improved there instead.
    """
    best: OptimalMotion | None = None
    taken = 0
    stopped = Stopped()
    with heard_by(stopped):
        known = _begun(task, grids[0], steps, stopped)
        rigid = _rigid_duration(task, grids[0], steps, stopped) if task.weights["time"] else None
        more: dict[str, Any] = {}
        for grid in grids:
            with progress.said(f"optimal motion, {counted(grid.intervals, 'interval')}"):
                seek = found_on if best is not None else _found_first
                program, solved = seek(task, grid, known, steps, stopped)
                taken += solved.steps
                if not solved.found:
                    break
                if best is not None and _rests(task, best) and solved.cost > (1 - GAIN) * best.report["cost"]:
                    if solved.cost > (1 + GAIN) * best.report["cost"] and _continues(task, grid):
                        finer = _shot(task, _again(best), grid, more | {"steps": taken}, stopped)
                        best = finer if finer is not None and _is_better(task, finer, best) else best
                    break
                known = unpacked(task, grid, solved.x)
                more = {"steps": taken, "rigid_duration": rigid, "status": solved.said}
                found = _found(task, grid, known, program, solved, more, steps, stopped)
                cost, taken_by = found.report["cost"], f"{counted(solved.steps, 'step')} of the solver"
                progress.LOG.info("optimal motion, %d intervals: cost %.6g, %s", grid.intervals, cost, taken_by)
            gains = best is None or found.report["cost"] < (1 - GAIN) * best.report["cost"]
            if best is None or _is_better(task, found, best):
                best = found
            if stopped.came or (_rests(task, best) and not (gains and 2 * grid.intervals <= fine)):
                break
    if best is not None and _rests(task, best) and not stopped.came:
        return best
    if best is None:
        if stopped.came:
            raise KeyboardInterrupt
        raise FlexarmError(f"optimal_motion: arm {task.model.arm.name!r}: {_why_not(task, grid, solved)}")
    if stopped.came:
        warnings.warn(f"optimal_motion: interrupted; {_left(best)}", InterruptedRun, stacklevel=3)
    else:
        why = "" if solved.found else f"; with {grid.intervals} the solver reports {solved.said}"
        grid_said = (
            f"with {counted(best.report['intervals'], 'interval')} {_left(best)}; tolerance is {task.tolerance:g} m"
        )
        warnings.warn(f"optimal_motion: {grid_said}{why}", NotReached, stacklevel=3)
    return best


def _found_first(task: Task, grid: Grid, known: Known, steps: int, stopped: "Stopped") -> tuple[Program, Solved]:
    """Solve on the first grid from the initial guess.

    Limits on deflections and moments are left out first. The motion without them is the better guess, because with
    these limits there are many local optima. With obstacles there are two searches, the second one more cautious, and
    the better motion counts.

    If the time is free, the search restarts while durations end at their bounds. If nothing is found, it starts again
    from a motion that is slow enough for all limits, and then from motions with the durations of `AGAIN`. It starts
    from the slow motion at once if the guess is far beyond a limit on rates.
    """
    taken: list[int] = []

    def found(task: Task, known: Known, *scaled_cost: float) -> tuple[Program, Solved]:
        """Solve, and count the steps."""
        both = found_on(task, grid, known, steps, stopped, *scaled_cost)
        taken.append(both[1].steps)
        return both

    freed = task.freed
    if task.duration is None and is_hasty(task, known):
        known = unhurried(task, known)
    if len(freed.measures) < len(task.measures):
        solved = found(freed, known)[1]
        if solved.found:
            known = unpacked(freed, grid, solved.x)
    program, solved = found(task, known)
    if task.limits.obstacles and not stopped.came:
        cautious = found(task, known, CAUTIOUS)
        if cautious[1].found and not (solved.found and solved.cost <= cautious[1].cost):
            program, solved = cautious
    if task.duration is not None:
        return program, replace(solved, steps=sum(taken))
    if not solved.found and not stopped.came and (slow := unhurried(task, known)) is not known:
        known = slow
        program, solved = found(task, known)
    for factor in AGAIN:
        if solved.found or stopped.came:
            break
        begun = replace(known, durations=factor * known.durations)
        program, solved = found(task, begun)
        if solved.found:
            known = begun
    for _ in range(FARTHER):
        if not solved.found or stopped.came or not is_far(solved.x[grid.durations], known.durations):
            break
        known = unpacked(task, grid, solved.x)
        program, solved = found(task, known)
    return program, replace(solved, steps=sum(taken))


def _begun(task: Task, grid: Grid, steps: int, stopped: "Stopped") -> Known:
    """Return the initial guess of the search.

    For several arms it is the best motion of the first arm, made slower. The quintic rarely leads to the fastest motion
    of several arms.
    """
    known = prescribed(task.model, task.places, task.torque, task.duration)
    if not task.others:
        return known
    alone = replace(task, others=())
    solved = _found_first(alone, grid, known, steps, stopped)[1]
    if not solved.found:
        return known
    known = unpacked(alone, grid, solved.x)
    return known if task.duration is not None else replace(known, durations=SLOWER * known.durations)


def _found(
    task: Task,
    grid: Grid,
    known: Known,
    program: Program,
    solved: Solved,
    more: Mapping[str, Any],
    steps: int,
    stopped: "Stopped",
) -> OptimalMotion:
    """Return the motion that a grid leads to, corrected if possible until the arm itself makes it."""
    corrected = _shot(task, known, grid, more, stopped)
    if corrected is not None:
        return corrected
    found, tight = _on_grid(task, grid, program, solved, more), task
    for _ in range(TIGHTENINGS):
        tight = _slower(tight, task, found.report["excess"].get("joint_rate", 0.0))
        if tight is task or stopped.came:
            break
        program, solved = found_on(tight, grid, known, steps, stopped)
        if not solved.found:
            break
        found = _on_grid(task, grid, program, solved, more)
    return found


def _shot(task: Task, known: Known, grid: Grid, more: Mapping[str, Any], stopped: "Stopped") -> OptimalMotion | None:
    """Return a motion that the arm itself makes, from a known one and with the intervals of a grid, or None."""
    corrected = shot(task, known, grid.intervals, lambda: stopped.came) if is_shot(task) else None
    if corrected is None:
        return None
    u, on_inputs = corrected.u, corrected.pressed.inputs
    if not task.linear:
        u, on_inputs = np.vstack([u, task.held[1]]), np.vstack([on_inputs, np.zeros_like(u[:1])])
    pressed = Pressed(on_inputs, corrected.pressed.within)
    found = motion(task, corrected.times, u, pressed, {"cost": corrected.cost, **more})
    peaks = sum(task.weights[each.name] * most(each, found.q) for each in task.peaks)
    return replace(found, report={**found.report, "cost": corrected.cost + peaks})


def _continues(task: Task, grid: Grid) -> bool:
    """Return True if a motion can continue on a finer grid without the solver: one stretch of one arm."""
    return grid.stretches == 1 and not task.others


def _again(found: OptimalMotion) -> Known:
    """Return a motion that was found as a start on a finer grid, with its inputs on both sides of each time."""
    T, n = found.duration, len(found.times)
    sides = np.repeat(np.arange(n), 2)[1:-1]
    shares = found.times[sides] / T + BESIDE * np.tile([1.0, -1.0], n - 1)
    x = np.hstack([found.q, found.qd])[sides]
    u = found.u[sides if found.linear else np.repeat(np.arange(n - 1), 2)]
    return Known(np.array([T]), shares, x, u)


def _on_grid(task: Task, grid: Grid, program: Program, solved: Solved, more: Mapping[str, Any]) -> OptimalMotion:
    """Return the motion of the inputs of a grid."""
    lasts = np.repeat(solved.x[grid.durations], grid.intervals // grid.stretches) * grid.share
    times = np.append(0.0, np.cumsum(lasts))
    pressed = on_grid(task, grid, program, solved)
    return motion(task, times, solved.x[grid.inputs], pressed, {"cost": solved.cost, **more})


def _slower(tight: Task, task: Task, excess: float) -> Task:
    """Return the task with rates of the joints reduced by an excess, or the task itself if that is negligible."""
    given = task.limits.sizes("joint_rate", len(task.joints))
    if not (excess > EXCEEDED * given).any():
        return task
    rates = tight.limits.sizes("joint_rate", len(task.joints)) - RESERVE * excess
    limits = tight.limits.replace(joint_rate=tuple(np.maximum(rates, given / 2).tolist()))
    return replace(tight, limits=limits)


def _left(found: OptimalMotion) -> str:
    """Text with the tip's error and swing at the end of a motion."""
    return (
        f"the tip error is {found.report['end_error']:.2g} m and the residual vibration "
        f"{found.report['residual']:.2g} m"
    )


def _rests(task: Task, found: OptimalMotion) -> bool:
    """True if the simulation ends within the tolerance."""
    return bool(max(found.report["end_error"], found.report["residual"]) <= task.tolerance)


def _is_better(task: Task, new: OptimalMotion, old: OptimalMotion) -> bool:
    """True if the new motion is better: rest at the end counts first, then the cost.

    If neither motion rests, the one on the finer grid, which is the new one, is better.
    """
    if _rests(task, new) != _rests(task, old):
        return _rests(task, new)
    return not _rests(task, new) or bool(new.report["cost"] < old.report["cost"])


@final
class Stopped:
    """Handler of Ctrl-C that remembers the first one."""

    def __init__(self) -> None:
        self.came = False

    def __call__(self, *_: Any) -> bool:
        """Remember the first Ctrl-C, and raise KeyboardInterrupt for a second one."""
        if self.came:
            raise KeyboardInterrupt
        self.came = True
        return True


def _rigid_duration(task: Task, grid: Grid, steps: int, stopped: Stopped) -> float | None:
    """Return the duration of the fastest motion of the same arm without flexibility, or None if it is not defined.

    The search starts on two grids, because either may lead to a slower motion, and the faster one is refined.
    """
    try:
        rigid = Model(task.model.arm_at().rigid())
        if rigid.nv != len(rigid.inputs) + 6 * rigid.arm.free:
            return None
        limits = task.limits.rigid()
        start, *through, end = task.places
        own = asked(rigid, start, end, limits, "time", None, task.tolerance, through)
        begun = prescribed(rigid, own.places, own.torque, None)
        found = []
        for share in RIGID_GRIDS:
            count = max(2, int(share * grid.intervals // grid.stretches))
            on = replace(grid, model=rigid, intervals=count * grid.stretches)
            solved = _found_first(own, on, begun, steps, stopped)[1]
            if solved.found:
                found.append((solved.cost, unpacked(own, on, solved.x)))
        if not found:
            return None
        cost, known = min(found, key=lambda each: each[0])
        fine = replace(grid, model=rigid, intervals=2 * grid.intervals)
        solved = found_on(own, fine, known, steps, stopped)[1]
    except FlexarmError:
        return None
    return solved.cost if solved.found else cost


def _why_not(task: Task, grid: Grid, solved: Solved) -> str:
    """Text for the error that no motion is found, with the input whose limit is most restrictive in the last try."""
    pressed = np.abs(solved.on_bounds[grid.inputs]).max(axis=0)
    at = task.model.inputs[int(np.argmax(pressed))]
    limited = f"; the most restrictive limit is that on {at!r}" if pressed.max(initial=0.0) > 0 else ""
    return (
        f"no motion found with {counted(grid.intervals, 'interval')} "
        f"in {counted(solved.steps, 'step')} ({solved.said}){limited}"
    )
