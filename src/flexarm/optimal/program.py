"""An optimal motion on a grid as a nonlinear program."""

from dataclasses import replace
from typing import Any

import numpy as np

from flexarm.arrays import Array
from flexarm.model.adrift import BASE
from flexarm.optimal.collocation import Grid
from flexarm.optimal.measures import Measure
from flexarm.optimal.nlp import Block, Program, Solved, block
from flexarm.optimal.shooting import vibrates
from flexarm.optimal.start import Known
from flexarm.optimal.task import Task

SCALED_COST, CAUTIOUS = 500.0, 5.0
"""Scaled cost at the initial guess, about this many times the slope of a row. With the smaller number the first steps
keep the limits before they reduce the cost."""

FARTHEST = 3.0
"""Largest ratio of the duration to that of the initial guess, or of the initial guess to the duration."""

TOLERANCE = 1e-5
"""Tolerance of the solver. Shooting corrects what remains."""

FACTORS = {"mumps_scaling": 0, "mumps_permuting_scaling": 0, "mumps_pivot_order": 0}
"""Options of the factorization of IPOPT's equations: no scaling, since the program is scaled, and the order AMD.

With the scaling of the library the factors are so inaccurate that the search takes up to ten times as many steps.
"""

LEFT = 0.3
"""Share of the tolerance for the vibrations that the search leaves at the end. The rest is for simulation errors."""


def transcribed(task: Task, grid: Grid, known: Known) -> Program:
    """Return the nonlinear program of a grid, with the known motion as its initial guess.

    If there are several arms, the unknowns of the others come after those of the first.
    """
    blocks = _costs(task, grid, task.scale)
    slopes = task.limits.sizes("torque_rate", len(task.torque))
    if np.isfinite(slopes).any():
        blocks.append(grid.slopes(slopes))
    if task.duration is not None and grid.stretches > 1:
        blocks.append(grid.together(task.duration))
    own = grids(task, grid)
    count = own[-1].size + len(task.peaks)
    start, sizes = np.zeros(count), np.ones(count)
    for i, peak in enumerate(task.peaks):
        start[own[-1].size + i] = sizes[own[-1].size + i] = max(most(peak, known.x[:, : task.model.nq]), 1e-9)
        blocks += _peak(peak, grid, own[-1].size + i, task.weights[peak.name])
    for i, (each, at) in enumerate(zip(task.all, own, strict=True)):
        found = [*at.motion(), *(at.stays(x.name, x.function, x.lower, x.upper) for x in each.measures)]
        if not each.model.arm.free:
            found.append(_at_rest(each, at))
        blocks += [replace(x, name=f"{x.name}, arm {i + 1}") for x in found] if i else found
        known.arm(i).fill(at, start, task.torque)
        known.arm(i).fill_sizes(at, sizes, task.torque)
    return Program(blocks, sizes, start)


def most(peak: Measure, q: Array) -> float:
    """Largest absolute value of a peak's quantities at configurations (k, nq)."""
    return float(np.abs(peak.along(q)).max())


def _peak(peak: Measure, grid: Grid, place: int, weight: float) -> list[Block]:
    """Constrain all values of a peak to at most one unknown, at the index `place`, which is a part of the cost."""
    import casadi as ca

    nq = grid.model.nq
    x, p, none = ca.SX.sym("x", nq + 1), ca.SX.sym("p"), ca.SX.sym("c", 0)
    y = ca.densify(ca.vec(ca.SX(peak.function(x[:nq]))))
    function = ca.Function("peak", [x, none], [ca.vertcat(y - x[nq], -y - x[nq])])
    q = grid.at_points([grid.x[:, :, :nq]])
    places = np.hstack([q, np.full((len(q), 1), place)])
    return [
        block(f"peak of {peak.name}", function, places, lower=-np.inf, upper=0.0),
        block(f"cost of {peak.name}", ca.Function("cost", [p, none], [p]), np.array([[place]]), weights=weight),
    ]


def grids(task: Task, grid: Grid) -> list[Grid]:
    """Return a grid for each of the task's arms, in the order of their unknowns."""
    found = [grid]
    for each in task.others:
        found.append(replace(grid, model=each.model, before=found[-1]))
    return found


def _at_rest(task: Task, grid: Grid) -> Block:
    """Return the constraint that the arm is at rest at the end.

    Rigid modes are at their goal with no rate. Every vibrating mode may swing the tip by its part of what the tolerance
    leaves. Modes that are much faster than the grid follow the inputs of the last intervals. If each had to vanish, it
    would determine these inputs. Such a mode hardly moves the tip, so its part of the tolerance is generous.
    """
    import casadi as ca

    model, place = task.model, task.end
    omega, modes = model.modes(place, locked=False)
    tip = np.array(model.slope("tip", "q")(place)).reshape(16, -1)
    M = model.mass_matrix(place)
    seen = np.linalg.norm(tip @ modes, axis=0)
    swings = vibrates(omega)
    part = LEFT * task.tolerance / max(1, int(swings.sum()))
    q, qd = ca.SX.sym("q", model.nq), ca.SX.sym("qd", model.nv)
    to_modes = modes.T @ M
    size = np.where(swings, seen / part, 1.0)
    slow = np.where(swings, omega, 1.0)
    y = ca.vertcat(size * ca.mtimes(to_modes, q - place), size / slow * ca.mtimes(to_modes, qd))
    rest = np.where(swings, 1.0, 0.0)
    most = np.append(rest if task.placed else np.where(swings, 1.0, np.inf), rest)
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
    """Lower and upper bounds of all unknowns."""
    own = grids(task, grid)
    count = own[-1].size + len(task.peaks)
    lower, upper = np.full(count, -np.inf), np.full(count, np.inf)
    upper[grid.inputs], lower[grid.inputs] = task.torque, -task.torque
    T, given = known.durations, task.duration is not None and grid.stretches == 1
    lower[grid.durations], upper[grid.durations] = (T, T) if given else (T / FARTHEST, T * FARTHEST)
    for each, at in zip(task.all, own, strict=True):
        _states(each, at, lower, upper)
    if grid.linear:  # straight lines begin and end with the inputs that hold the arm
        for place, u in zip((grid.inputs[0], grid.inputs[-1]), task.held, strict=True):
            lower[place] = upper[place] = u
    else:
        lower[grid.inputs[-1]] = upper[grid.inputs[-1]] = task.held[1]
    return lower, upper


def _states(task: Task, grid: Grid, lower: Array, upper: Array) -> None:
    """Set the bounds of one arm's states: its joints' limits, its beginning, its way-points."""
    model, nq, n = task.model, task.model.nq, task.model.nv
    joints = list(model.arm.driven)
    ranges, rates = task.limits.ranges(len(joints)), task.limits.sizes("joint_rate", len(joints))
    for places in (grid.x, grid.nodes):
        lower[places[..., task.joints]], upper[places[..., task.joints]] = ranges[:, 0], ranges[:, 1]
        moving = [nq + i for i in joints]
        lower[places[..., moving]], upper[places[..., moving]] = -rates, rates
    s = np.zeros(len(model.states))
    lower[grid.nodes[0]] = upper[grid.nodes[0]] = np.concatenate([task.start, np.zeros(n), s])
    for k, q in enumerate(task.through if task.placed else ()):
        places = grid.nodes[(k + 1) * grid.intervals // grid.stretches][task.joints]
        lower[places] = upper[places] = q[task.joints]
    if model.arm.free:  # without momentum the end of a free base follows from the motion, and it is at rest
        last = np.concatenate([task.end, np.zeros(n), s])
        own = np.ones(len(last), dtype=bool)
        own[:7] = own[nq : nq + BASE] = False
        places = grid.nodes[-1][own]
        lower[places] = upper[places] = last[own]


def found_on(
    task: Task, grid: Grid, known: Known, steps: int, stop: Any = None, scaled_cost: float = SCALED_COST
) -> tuple[Program, Solved]:
    """Return the program of a grid, and what IPOPT finds."""
    made = transcribed(task, grid, known)
    lower, upper = _bounds(task, grid, known)
    options = {"max_iter": steps, "print_level": 0, "sb": "yes", "tol": TOLERANCE, **FACTORS}
    return made, made.solved(lower, upper, options, scaled_cost, stop)


def is_far(found: Array, begun: Array) -> bool:
    """True if a duration has moved nearly as far from its initial guess as `FARTHEST` allows."""
    ratio = np.maximum(found / begun, begun / found)
    return bool((ratio > 0.99 * FARTHEST).any())


def unpacked(task: Task, grid: Grid, x: Array) -> Known:
    """Return the motion on a grid as an initial guess for the next grid."""
    N = grid.intervals
    shares = np.append(0.0, grid.shares.ravel())
    arms = [np.vstack([x[at.nodes[:1]], x[at.x].reshape(-1, at.widths[0])]) for at in grids(task, grid)]
    if grid.linear:
        u = np.stack([np.interp(shares, np.arange(N + 1) / N, column) for column in x[grid.inputs].T], axis=-1)
    else:
        held = np.repeat(x[grid.inputs[:-1]], grid.points, axis=0)
        u = np.vstack([held[:1], held])
    return Known(x[grid.durations], shares, arms[0], u, tuple(arms[1:]))
