"""The search for an optimal motion: collocation on a grid, shooting from there, and a finer grid while that gains."""

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
from flexarm.optimal.motion import OptimalMotion
from flexarm.optimal.nlp import Program, Solved
from flexarm.optimal.outcome import joined, motion, on_grid
from flexarm.optimal.plants import is_shot, shot
from flexarm.optimal.program import found_on, is_far, most, unpacked
from flexarm.optimal.start import Known, prescribed, unhurried
from flexarm.optimal.task import Task, asked

Array = np.ndarray

SCHEMES = ("radau", "legendre")
MOST_INTERVALS, MOST_STEPS = 2000, 1_000_000
FINE, FINEST = 40, 320
"""Intervals of the finest grid where nothing else is said: of one that leads to a motion, and of all."""

SHARE = 0.2
"""Of the tolerance, for a motion that ends at a stop: from what it leaves the arm drifts until the end."""

SLOWER = 1.3
"""What suits several arms is looked for from so many times the duration for the first alone."""

FARTHER = 8
"""Times that the search begins anew where a duration has come as far from that of its beginning as it may."""

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

    Direct collocation of the equations of motion on a coarse grid (see `collocation`), solved by IPOPT with exact
    sparse derivatives; then inputs and durations are corrected until the native run itself ends at rest, and go
    down the cost from one such motion to another (see `correction`); where inputs are at their limits all the way,
    their switches are found as times (`polish`). The grid is made twice as fine while that gains something. Arms on
    a free base and drives with states are not corrected: there grids get finer until the native run ends where it
    should.

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
        Places on the way, each as `start` is given, within `limits.joint_range`; one that is only passed need not be
        one where the torques could hold the arm.
    stops : bool
        Whether the arm comes to rest at each of these; else its joints pass them, and the time of each is free.
    plants : list of Model, or of dict
        Further arms that come to rest under the same inputs, with nothing left ringing, wherever their joints then are:
        models, or values of numbers of the arm by their names, {"payload.mass": 2.0}. Limits hold for all, what is to
        be small all the way is that of the first; of errors the report has the largest. Torques must hold all alike at
        both ends, so under gravity hardly any can be asked for. Each asks for nearly as much of the inputs as the
        first: one joint suits several, arms of two joints one further plant; with more the solver often finds nothing.

    Returns
    -------
    OptimalMotion

    Raises
    ------
    DescriptionError
        For what does not fit the arm, limits within which it cannot even stand at the ends or where it is to stop, and
        the fastest motion to where it stands already.
    FlexarmError
        Where the arm stands nowhere near an end, as in a play. Where the solver finds no motion; the line says which
        limit holds it up. Where the grid may get no finer and the simulation does not end within the tolerance, a
        warning says so and the motion is given. Ctrl-C gives the best that there is, with a warning, or nothing.
    """
    task = asked(model, start, end, limits, objective, duration, tolerance, through, plants)
    with refused("optimal_motion"):
        counts = {
            "points": (points, 1, 9),
            "intervals": (intervals, 2, MOST_INTERVALS),
            "steps": (steps, 1, MOST_STEPS),
        }
        for name, (value, fewest, largest) in counts.items():
            if checked_whole(value, fewest, name) > largest:
                raise Fault(name, f"must be at most {largest}")
        fine, finest = FINE, FINEST
        if most_intervals is not None:
            fine = finest = checked_whole(most_intervals, int(intervals), "most_intervals")
            if finest > MOST_INTERVALS:
                raise Fault("most_intervals", f"must be at most {MOST_INTERVALS}")
        if not isinstance(scheme, str) or scheme not in SCHEMES:
            raise Fault("scheme", f"is {shown(scheme)}; it must be {choices(*SCHEMES)}")
        one_by_one = checked_flag(stops, "stops") and bool(task.through)
        if one_by_one and not task.weights["time"]:
            raise Fault("stops", "are for objectives with the time in them; else ask for each stretch by itself")
        if one_by_one and task.others:
            raise Fault(
                "stops", "are for one arm: where the other plants stand there is not known; leave one of both out"
            )
    stretches, grids = 1 if one_by_one else len(task.through) + 1, list[Grid]()
    while not grids or 2 * grids[-1].intervals <= finest * stretches:
        count = 2 * grids[-1].intervals if grids else int(intervals) * stretches
        grids.append(Grid(model, count, int(points), scheme, task.linear, stretches))
    if one_by_one:
        own = [replace(each, tolerance=SHARE * task.tolerance) for each in task.stretches()]
        whole = joined(task, [_refined(each, grids, int(steps), fine) for each in own])
        if not _rests(task, whole):
            left = f"{_left(whole)}; tolerance is {task.tolerance:g} m"
            warnings.warn(f"optimal_motion: after all stops {left}", stacklevel=2)
        return whole
    return _refined(task, grids, int(steps), fine * stretches)


def _refined(task: Task, grids: list[Grid], steps: int, fine: int) -> OptimalMotion:
    """Grid after grid until the simulation agrees, and up to so many intervals while the cost falls."""
    best: OptimalMotion | None = None
    taken = 0
    stopped = Stopped()
    with heard_by(stopped):
        known = _begun(task, grids[0], steps, stopped)
        rigid = _rigid_duration(task, grids[0], steps, stopped) if task.weights["time"] else None
        for grid in grids:
            with progress.said(f"optimal motion, {grid.intervals} intervals"):
                seek = found_on if best is not None else _found_first
                program, solved = seek(task, grid, known, steps, stopped)
                taken += solved.steps
                if not solved.found:
                    break
                if best is not None and _rests(task, best) and solved.cost > (1 - GAIN) * best.report["cost"]:
                    break
                known = unpacked(task, grid, solved.x)
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
    if stopped.came:
        warnings.warn(f"optimal_motion: interrupted; {_left(best)}", InterruptedRun, stacklevel=3)
    else:
        why = "" if solved.found else f"; on {grid.intervals} the solver says {solved.said}"
        grid_said = f"with {best.report['intervals']} intervals {_left(best)}; tolerance is {task.tolerance:g} m"
        warnings.warn(f"optimal_motion: {grid_said}{why}", stacklevel=3)
    return best


def _found_first(task: Task, grid: Grid, known: Known, steps: int, stopped: "Stopped") -> tuple[Program, Solved]:
    """What IPOPT finds from where the search begins. Where the time is free: on from there while durations end where
    they may go no farther; and where nothing is found, from a motion slow enough for all limits."""
    program, solved = found_on(task, grid, known, steps, stopped)
    if task.duration is not None:
        return program, solved
    taken = solved.steps
    if not solved.found and not stopped.came and (slow := unhurried(task, known)) is not known:
        known = slow
        program, solved = found_on(task, grid, known, steps, stopped)
        taken += solved.steps
    for _ in range(FARTHER):
        if not solved.found or stopped.came or not is_far(solved.x[grid.durations], known.durations):
            break
        known = unpacked(task, grid, solved.x)
        program, solved = found_on(task, grid, known, steps, stopped)
        taken += solved.steps
    return program, replace(solved, steps=taken)


def _begun(task: Task, grid: Grid, steps: int, stopped: "Stopped") -> Known:
    """Where the search begins; for several arms with the best motion of the first, slower: from the quintic the fastest
    motion of them all is hardly found."""
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
    pressed = on_grid(task, grid, program, solved)
    return motion(task, times, solved.x[grid.inputs], pressed, {"cost": solved.cost, **more})


def _left(found: OptimalMotion) -> str:
    """What a motion leaves, as a message says it."""
    return f"the tip ends {found.report['end_error']:.2g} m off and swings {found.report['residual']:.2g} m"


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
            solved = (found_on if duration else _found_first)(own, on, known, steps, stopped)[1]
            if not solved.found:
                return duration
            known, duration = unpacked(own, on, solved.x), float(solved.x[on.durations].sum())
    except FlexarmError:
        return None
    return duration


def _why_not(task: Task, grid: Grid, solved: Solved) -> str:
    """What keeps the solver from a motion, as far as it shows: the limits that the last try presses on most."""
    pressed = np.abs(solved.on_bounds[grid.inputs]).max(axis=0)
    at = task.model.inputs[int(np.argmax(pressed))]
    limited = f"; the limit on {at!r} presses most" if pressed.max(initial=0.0) > 0 else ""
    return f"no motion found with {grid.intervals} intervals in {solved.steps} steps ({solved.said}){limited}"
