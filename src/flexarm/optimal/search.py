"""The search for an optimal motion: collocation, and a finer grid where simulation does not agree."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from flexarm import progress
from flexarm.checks import Fault, checked_flag, checked_whole, choices, refused, shown
from flexarm.errors import FlexarmError, InterruptedRun
from flexarm.interrupts import heard_by
from flexarm.model import Model
from flexarm.optimal.collocation import Grid
from flexarm.optimal.correction import Pressed
from flexarm.optimal.limits import Limits
from flexarm.optimal.motion import OptimalMotion, joined
from flexarm.optimal.nlp import Program, Solved
from flexarm.optimal.outcome import motion, on_grid
from flexarm.optimal.plants import is_shot, shot
from flexarm.optimal.program import found_on, most, unpacked
from flexarm.optimal.start import Known, prescribed
from flexarm.optimal.task import Task, asked

Array = np.ndarray

SCHEMES = ("radau", "legendre")
MOST_INTERVALS, MOST_STEPS = 2000, 1_000_000
FINE, FINEST = 40, 320
"""Intervals of the finest grid where nothing else is said: of one that leads to a motion, and of all."""

GAIN = 1e-3
"""Of the cost, relative: a finer grid that gains less is the last."""


def optimal_motion(
    model: Model,
    start: ArrayLike | Mapping[str, Any],
    end: ArrayLike | Mapping[str, Any],
    limits: Limits | Mapping[str, Any] | None = None,
    objective: str | Mapping[str, float] = "time",
    duration: float | None = None,
    intervals: int = 20,
    most_intervals: int | None = None,
    points: int = 3,
    scheme: str = "radau",
    tolerance: float = 1e-4,
    steps: int = 300,
    through: Sequence[Any] = (),
    stops: bool = False,
    plants: Sequence[Any] = (),
) -> OptimalMotion:
    """The best motion of an arm that bends, from rest to rest with nothing left ringing, and the torques for it.

    Direct collocation of the equations of motion (see `collocation`) with the duration as one unknown, solved by IPOPT
    with exact sparse derivatives. The torques found are then simulated natively, and the grid is made twice as fine
    until that run ends where it should.

    Parameters
    ----------
    model : Model
    start, end : (joints,), (nq,) or dict
        Joint coordinates [rad] or [m], or configurations; the arm stands there in equilibrium, sagging under gravity.
        A free base begins where the start says and ends where the motion brings it. Or a place of the tip, {"tip":
        [x, y, z]} [m], at which it is with that sag; with "direction", that of its x axis (3,), or "rotation", its axes
        as columns (3, 3) or a unit quaternion (w, x, y, z). Of the many joints that may bring it there, within
        `limits.joint_range`, those nearest to where the arm rests, at the end those nearest to the start. Of a free
        base it must be as the base sees it, "frame": "base".
    limits : Limits or dict
        See `Limits`. The fastest motion needs limits on torque.
    objective : str or dict
        "time", "effort" (the integral of the sum of u^2, each as a share of its limit, or in its own unit where it has
        none), "smoothness" (the same of du/dt, times s^2), "deflection" [m] or "moment" [N m] (the largest of any link
        on the way, at the stations `limits.moment_at`), or weights of them: {"time": 1.0, "effort": 0.1}.
    duration : float, optional
        Given where the time is no part of the objective [s].
    intervals : int
        Of the first grid.
    most_intervals : int, optional
        Of the finest that is tried; default 40, or 320 where coarser ones lead to no motion that ends at rest.
    points, scheme : int, "radau" or "legendre"
        Collocation points in an interval: from 1 to 9.
    tolerance : float
        By how much the tip may miss its place at the end of the native simulation, and swing from there [m].
    steps : int
        Most steps of the solver on a grid.
    through : list
        Places on the way, each as `start` is given.
    stops : bool
        Whether the arm comes to rest at each of these; else its joints pass them, and the time of each is free.
    plants : list of Model, or of dict
        Further arms that come to rest under the same inputs, with nothing left ringing, wherever their joints then are:
        models, or values of numbers of the arm by their paths, {"payload.mass": 2.0}. Limits hold for all; of errors
        the report has the largest.

    Returns
    -------
    OptimalMotion

    Raises
    ------
    DescriptionError
        For what does not fit the arm, and limits within which it cannot even stand at the ends.
    FlexarmError
        Where the solver finds no motion; the line says which limit holds it up. Where the grid may get no finer and the
        simulation does not end within the tolerance, a warning says so and the motion is given. Ctrl-C gives the best
        that there is, with a warning, or nothing.
    """
    task = asked(model, start, end, limits, objective, duration, tolerance, through, plants)
    with refused("optimal_motion"):
        most = MOST_INTERVALS
        counts = {"points": (points, 1, 9), "intervals": (intervals, 2, most), "steps": (steps, 1, MOST_STEPS)}
        for name, (value, least, most) in counts.items():
            if checked_whole(value, least, name) > most:
                raise Fault(name, f"must be at most {most}")
        given = most_intervals is not None
        if given and checked_whole(most_intervals, int(intervals), "most_intervals") > MOST_INTERVALS:
            raise Fault("most_intervals", f"must be at most {MOST_INTERVALS}")
        if not isinstance(scheme, str) or scheme not in SCHEMES:
            raise Fault("scheme", f"is {shown(scheme)}; it must be {choices(*SCHEMES)}")
    grids: list[Grid] = []
    with refused("optimal_motion"):
        one_by_one = checked_flag(stops, "stops") and bool(task.through)
        if one_by_one and not task.weights["time"]:
            raise Fault("stops", "are for objectives with the time in them; else ask for each stretch by itself")
    stretches = 1 if one_by_one else len(task.through) + 1
    finest = most_intervals if most_intervals is not None else FINEST
    while not grids or 2 * grids[-1].intervals <= finest * stretches:
        count = 2 * grids[-1].intervals if grids else int(intervals) * stretches
        grids.append(Grid(model, count, int(points), scheme, task.linear, stretches))
    fine = stretches * (most_intervals if most_intervals is not None else FINE)
    if one_by_one:
        return joined([_refined(each, grids, int(steps), fine) for each in task.stretches()])
    return _refined(task, grids, int(steps), fine)


def _refined(task: Task, grids: list[Grid], steps: int, fine: int) -> OptimalMotion:
    """Grid after grid until the simulation agrees, and up to so many intervals while the cost falls."""
    best: OptimalMotion | None = None
    taken = 0
    stopped = Stopped()
    with heard_by(stopped):
        known = prescribed(task.model, task.places, task.torque, task.duration)
        rigid = _rigid_duration(task, grids[0], steps, stopped) if task.weights["time"] else None
        for grid in grids:
            with progress.said(f"optimal motion, {grid.intervals} intervals"):
                program, solved = found_on(task, grid, known, steps, stopped)
                taken += solved.steps
                if not solved.found:
                    break
                if best is not None and _rests(task, best) and solved.cost > (1 - GAIN) * best.report["cost"]:
                    break
                known = unpacked(grid, solved.x)
                more = {"steps": taken, "rigid_duration": rigid, "status": solved.said}
                found = _found(task, grid, known, program, solved, more, stopped)
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
    off = f"the tip ends {best.report['end_error']:.2g} m off and swings {best.report['residual']:.2g} m"
    if stopped.came:
        warnings.warn(f"optimal_motion: interrupted; {off}", InterruptedRun, stacklevel=3)
    else:
        why = "" if solved.found else f"; on {grid.intervals} the solver says {solved.said}"
        grid_said = f"with {best.report['intervals']} intervals {off}; tolerance is {task.tolerance:g} m"
        warnings.warn(f"optimal_motion: {grid_said}{why}", stacklevel=3)
    return best


def _found(
    task: Task,
    grid: Grid,
    known: Known,
    program: Program,
    solved: Solved,
    more: Mapping[str, Any],
    stopped: "Stopped",
) -> OptimalMotion:
    """What a grid has led to: corrected until the arm itself makes the motion, where it can be."""
    corrected = shot(task, known, grid.intervals, lambda: stopped.came) if is_shot(task) else None
    if corrected is not None:
        u, on_inputs = corrected.u, corrected.pressed.inputs
        if not task.linear:
            u, on_inputs = np.vstack([u, task.held[1]]), np.vstack([on_inputs, np.zeros_like(u[:1])])
        pressed = Pressed(on_inputs, corrected.pressed.within)
        found = motion(task, corrected.times, u, pressed, {"cost": corrected.cost, **more})
        peaks = sum(task.weights[each.name] * most(each, found.q) for each in task.peaks)
        return replace(found, report={**found.report, "cost": corrected.cost + peaks})
    lasts = np.repeat(solved.x[grid.durations], grid.intervals // grid.stretches) * grid.share
    times = np.append(0.0, np.cumsum(lasts))
    pressed = on_grid(grid, program, solved)
    return motion(task, times, solved.x[grid.inputs], pressed, {"cost": solved.cost, **more})


def _rests(task: Task, found: OptimalMotion) -> bool:
    """Whether the simulation ends where it should."""
    return bool(max(found.report["end_error"], found.report["residual"]) <= task.tolerance)


def _is_better(task: Task, new: OptimalMotion, old: OptimalMotion) -> bool:
    """Resting counts first, then the cost; of two that do not rest that of the finer grid is better."""
    if _rests(task, new) != _rests(task, old):
        return _rests(task, new)
    return not _rests(task, new) or bool(new.report["cost"] < old.report["cost"])


@final
class Stopped:
    """Whether Ctrl-C has come."""

    def __init__(self) -> None:
        self.came = False

    def __call__(self, *_: Any) -> bool:
        """Remember it; a second one is as always."""
        if self.came:
            raise KeyboardInterrupt
        self.came = True
        return True


def _rigid_duration(task: Task, grid: Grid, steps: int, stopped: Stopped) -> float | None:
    """The fastest motion of the same arm without flexibility; None where that arm cannot be asked."""
    duration = None
    try:
        rigid = Model(task.model.arm_at().rigid())
        if rigid.nv != len(rigid.inputs) + 6 * rigid.arm.free:
            return None
        limits = task.limits.rigid()
        start, *through, end = task.places
        own = asked(rigid, start, end, limits, "time", None, task.tolerance, through)
        known = prescribed(rigid, own.places, own.torque, None)
        for finer in (1, 2, 4):
            on = replace(grid, model=rigid, intervals=finer * grid.intervals)
            solved = found_on(own, on, known, steps, stopped)[1]
            if not solved.found:
                return duration
            known, duration = unpacked(on, solved.x), float(solved.x[on.durations].sum())
    except FlexarmError:
        return None
    return duration


def _why_not(task: Task, grid: Grid, solved: Solved) -> str:
    """What keeps the solver from a motion, as far as it shows: the limits that the last try presses on most."""
    pressed = np.abs(solved.on_bounds[grid.inputs]).max(axis=0)
    at = task.model.inputs[int(np.argmax(pressed))]
    limited = f"; the limit on {at!r} presses most" if pressed.max(initial=0.0) > 0 else ""
    return f"no motion found with {grid.intervals} intervals in {solved.steps} steps ({solved.said}){limited}"
