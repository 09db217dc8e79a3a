"""The search for an optimal motion: collocation, and a finer grid where simulation does not agree."""

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from flexarm import progress
from flexarm.checks import Fault, checked_whole, choices, refused, shown
from flexarm.errors import FlexarmError, InterruptedRun
from flexarm.interrupts import heard_by
from flexarm.model import Model
from flexarm.model.adrift import BASE
from flexarm.optimal.collocation import Grid
from flexarm.optimal.correction import Pressed
from flexarm.optimal.limits import Limits
from flexarm.optimal.motion import OptimalMotion
from flexarm.optimal.nlp import Block, Program, Solved, block
from flexarm.optimal.outcome import motion, on_grid
from flexarm.optimal.plants import is_shot, shot
from flexarm.optimal.start import Known, prescribed
from flexarm.optimal.task import Task, asked

Array = np.ndarray

SCHEMES = ("radau", "legendre")
MOST_INTERVALS, MOST_STEPS = 2000, 1_000_000
SCALED_COST = 500.0
"""The cost at the beginning, as the solver sees it: about this many times the slope of a row."""

FARTHEST = 3.0
"""The duration may be so many times that of the beginning, or a part as small."""

GAIN = 1e-3
"""Of the cost, relative: a finer grid that gains less is the last."""

LEFT = 0.3
"""Of the tolerance, for the vibrations that the search leaves at the end; the rest is the simulation's."""


def optimal_motion(
    model: Model,
    start: ArrayLike | Mapping[str, Any],
    end: ArrayLike | Mapping[str, Any],
    limits: Limits | Mapping[str, Any] | None = None,
    objective: str | Mapping[str, float] = "time",
    duration: float | None = None,
    intervals: int = 20,
    most_intervals: int = 320,
    points: int = 3,
    scheme: str = "radau",
    tolerance: float = 1e-4,
    steps: int = 300,
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
        none), "smoothness" (the same of du/dt, times s^2), or weights of them: {"time": 1.0, "effort": 0.1}.
    duration : float, optional
        Given where the time is no part of the objective [s].
    intervals, most_intervals : int
        Of the first grid, and of the finest that is tried.
    points, scheme : int, "radau" or "legendre"
        Collocation points in an interval: from 1 to 9.
    tolerance : float
        By how much the tip may miss its place at the end of the native simulation, and swing from there [m].
    steps : int
        Most steps of the solver on a grid.

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
    task = asked(model, start, end, limits, objective, duration, tolerance)
    with refused("optimal_motion"):
        most = MOST_INTERVALS
        counts = {"points": (points, 1, 9), "intervals": (intervals, 2, most), "steps": (steps, 1, MOST_STEPS)}
        for name, (value, least, most) in counts.items():
            if checked_whole(value, least, name) > most:
                raise Fault(name, f"must be at most {most}")
        if checked_whole(most_intervals, int(intervals), "most_intervals") > MOST_INTERVALS:
            raise Fault("most_intervals", f"must be at most {MOST_INTERVALS}")
        if not isinstance(scheme, str) or scheme not in SCHEMES:
            raise Fault("scheme", f"is {shown(scheme)}; it must be {choices(*SCHEMES)}")
    grids: list[Grid] = []
    while not grids or 2 * grids[-1].intervals <= most_intervals:
        count = 2 * grids[-1].intervals if grids else int(intervals)
        grids.append(Grid(model, count, int(points), scheme, task.linear))
    return _refined(task, grids, int(steps))


def _refined(task: Task, grids: list[Grid], steps: int) -> OptimalMotion:
    """Grid after grid until the simulation agrees."""
    joints = task.joints
    known = prescribed(task.model, task.start[joints], task.end[joints], task.torque, task.duration)
    rigid = _rigid_duration(task, grids[0], steps) if task.weights["time"] else None
    best: OptimalMotion | None = None
    taken = 0
    stopped = Stopped()
    with heard_by(stopped):
        for grid in grids:
            with progress.said(f"optimal motion, {grid.intervals} intervals"):
                program, solved = _solved(task, grid, known, steps, stopped)
                taken += solved.steps
                if not solved.found:
                    break
                if best is not None and _rests(task, best) and solved.cost > (1 - GAIN) * best.report["cost"]:
                    break
                known = _unpacked(grid, solved.x)
                more = {"steps": taken, "rigid_duration": rigid, "status": solved.said}
                found = _found(task, grid, known, program, solved, more, stopped)
            gains = best is None or found.report["cost"] < (1 - GAIN) * best.report["cost"]
            if best is None or _is_better(task, found, best):
                best = found
            if stopped.came or (_rests(task, best) and not gains):
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
        course, pressed, cost = corrected
        u, on_inputs = course.u, pressed.inputs
        if not task.linear:
            u, on_inputs = np.vstack([u, task.held[1]]), np.vstack([on_inputs, np.zeros_like(u[:1])])
        return motion(task, course.times, u, Pressed(on_inputs, pressed.within), {"cost": cost, **more})
    times = float(solved.x[grid.duration]) * np.arange(grid.intervals + 1) / grid.intervals
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


def _program(task: Task, grid: Grid, known: Known) -> Program:
    """The nonlinear program of a grid, its beginning as known."""
    torque, limits, model = task.torque, task.limits, task.model
    scale = np.where(np.isfinite(torque), torque, 1.0)
    blocks = [*grid.motion(), *_costs(task, grid, scale)]
    if task.limits.torque_rate is not None:
        blocks.append(grid.slopes(limits.sizes("torque_rate", len(torque))))
    if not model.arm.free:
        blocks.append(_at_rest(task, grid))
    for each in task.measures:
        blocks.append(grid.stays(each.name, each.function, each.lower, each.upper))
    return Program(blocks, known.sizes(grid, torque), known.on(grid, torque))


def _at_rest(task: Task, grid: Grid) -> Block:
    """The end: what moves without a frequency is at its place and still, and every mode swings the tip by no more than
    its part of what the tolerance leaves.

    A mode that is much faster than the grid follows the inputs of the last intervals; asked to vanish, each would fix
    them. Such a mode moves the tip hardly at all, so its part is generous.
    """
    import casadi as ca

    model = task.model
    omega, modes = model.modes(task.end, locked=False)
    tip = np.array(model.slope("tip", "q")(task.end)).reshape(16, -1)
    M = model.mass_matrix(task.end)
    seen = np.linalg.norm(tip @ modes, axis=0)
    vibrates = omega > 1e-3 * omega.max(initial=0.0)
    part = LEFT * task.tolerance / max(1, int(vibrates.sum()))
    q, qd = ca.SX.sym("q", model.nq), ca.SX.sym("qd", model.nv)
    to_modes = modes.T @ M
    size = np.where(vibrates, seen / part, 1.0)
    slow = np.where(vibrates, omega, 1.0)
    y = ca.vertcat(size * ca.mtimes(to_modes, q - task.end), size / slow * ca.mtimes(to_modes, qd))
    most = np.tile(np.where(vibrates, 1.0, 0.0), 2)
    function = ca.Function("rest", [ca.vertcat(q, qd), ca.SX.sym("c", 0)], [y])
    return block("rest", function, grid.nodes[-1:, : model.nq + model.nv], lower=-most, upper=most)


def _costs(task: Task, grid: Grid, scale: Array) -> list[Block]:
    import casadi as ca

    weights, found = task.weights, []
    if weights["time"]:
        found.append(grid.lasting(weights["time"]))
    if weights["effort"]:
        found.append(grid.integral("effort", lambda u, _: ca.sumsqr(u / scale), weights["effort"]))
    if weights["smoothness"]:
        found.append(grid.integral("smoothness", lambda _, slope: ca.sumsqr(slope / scale), weights["smoothness"]))
    return found


def _bounds(task: Task, grid: Grid, known: Known) -> tuple[Array, Array]:
    """Of all unknowns."""
    model, nq, n = task.model, task.model.nq, task.model.nv
    lower, upper = np.full(grid.size, -np.inf), np.full(grid.size, np.inf)
    upper[grid.inputs], lower[grid.inputs] = task.torque, -task.torque
    T = known.duration
    lower[grid.duration], upper[grid.duration] = (T, T) if task.duration is not None else (T / FARTHEST, T * FARTHEST)
    joints = list(model.arm.joints)
    ranges, rates = task.limits.ranges(len(joints)), task.limits.sizes("joint_rate", len(joints))
    for places in (grid.x, grid.nodes):
        lower[places[..., task.joints]], upper[places[..., task.joints]] = ranges[:, 0], ranges[:, 1]
        moving = [nq + i for i in joints]
        lower[places[..., moving]], upper[places[..., moving]] = -rates, rates
    s = np.zeros(len(model.states))
    first = np.concatenate([task.start, np.zeros(n), s])
    lower[grid.nodes[0]] = upper[grid.nodes[0]] = first
    if model.arm.free:  # the base ends where it must, and at rest, for there is no momentum
        last = np.concatenate([task.end, np.zeros(n), s])
        own = np.ones(len(last), dtype=bool)
        own[:7] = own[nq : nq + BASE] = False
        places = grid.nodes[-1][own]
        lower[places] = upper[places] = last[own]
    if grid.linear:  # from and into what holds the arm
        for place, u in zip((grid.inputs[0], grid.inputs[-1]), task.held, strict=True):
            lower[place] = upper[place] = u
    else:
        lower[grid.inputs[-1]] = upper[grid.inputs[-1]] = task.held[1]
    return lower, upper


def _solved(task: Task, grid: Grid, known: Known, steps: int, stopped: Stopped | None = None) -> tuple[Program, Solved]:
    program = _program(task, grid, known)
    lower, upper = _bounds(task, grid, known)
    options = {"max_iter": steps, "print_level": 0, "sb": "yes"}
    return program, program.solved(lower, upper, options, SCALED_COST, stopped)


def _unpacked(grid: Grid, x: Array) -> Known:
    """The motion on a grid, for the next."""
    N = grid.intervals
    shares = np.append(0.0, grid.shares.ravel())
    at_points = grid.x.reshape(-1, grid.widths[0]), grid.z.reshape(-1, grid.widths[1])
    states = np.vstack([x[grid.nodes[:1]], x[at_points[0]]])
    rates = x[at_points[1]]
    if grid.linear:
        u = np.stack([np.interp(shares, np.arange(N + 1) / N, column) for column in x[grid.inputs].T], axis=-1)
    else:
        held = np.repeat(x[grid.inputs[:-1]], grid.points, axis=0)
        u = np.vstack([held[:1], held])
    return Known(float(x[grid.duration]), shares, states, np.vstack([rates[:1], rates]), u)


def _rigid_duration(task: Task, grid: Grid, steps: int) -> float | None:
    """The fastest motion of the same arm without flexibility; None where that arm cannot be asked."""
    try:
        rigid = Model(task.model.arm_at().rigid())
        if rigid.nv != len(rigid.inputs) + 6 * rigid.arm.free:
            return None
        joints = [i + rigid.nq - rigid.nv for i in rigid.arm.joints]
        limits = task.limits.rigid()
        own = asked(rigid, task.start[task.joints], task.end[task.joints], limits, "time", None, task.tolerance)
        known = prescribed(rigid, own.start[joints], own.end[joints], own.torque, None)
        solved = _solved(own, replace(grid, model=rigid), known, steps)[1]
    except FlexarmError:
        return None
    return float(solved.x[grid.duration]) if solved.found else None


def _why_not(task: Task, grid: Grid, solved: Solved) -> str:
    """What keeps the solver from a motion, as far as it shows: the limits that the last try presses on most."""
    pressed = np.abs(solved.on_bounds[grid.inputs]).max(axis=0)
    at = task.model.inputs[int(np.argmax(pressed))]
    limited = f"; the limit on {at!r} presses most" if pressed.max(initial=0.0) > 0 else ""
    return f"no motion found with {grid.intervals} intervals in {solved.steps} steps ({solved.said}){limited}"
