"""Result of a search: the motion that the torques make in the native simulation, and where it ends."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from flexarm.analysis.equilibrium import configuration, equilibrium
from flexarm.arrays import Array
from flexarm.errors import SimulationError
from flexarm.optimal.collocation import Grid
from flexarm.optimal.correction import Pressed
from flexarm.optimal.measures import MEASURED
from flexarm.optimal.motion import OptimalMotion, hermite
from flexarm.optimal.nlp import Program, Solved
from flexarm.optimal.program import grids
from flexarm.optimal.shooting import run
from flexarm.optimal.task import Task
from flexarm.simulation.inputs import PrescribedMotion
from flexarm.simulation.options import SaveAt, Solver
from flexarm.simulation.run import simulate
from flexarm.trajectory import Still

EXACT: dict[str, Any] = {"progress": False, "solver": Solver(rtol=1e-10, atol=1e-12)}

DENSE = 320
"""Least number of intervals in which a motion is returned."""

BETWEEN = 8
"""Number of states in an interval of a returned motion at which its limits are checked."""

SLOWEST = 1e-6
"""Frequency below which a mode is rigid [rad/s] and has no period to simulate."""

SETTLING = 2.0
"""Number of periods of the slowest mode for which the residual vibration is simulated."""


def motion(task: Task, times: Array, u: Array, pressed: Pressed, report: Mapping[str, Any]) -> OptimalMotion:
    """Return the motion of inputs u (k, m) at the given times, with its native simulation, multipliers and report."""
    model, N = task.model, len(times) - 1
    times, u, pressed = _dense(times, u, pressed, task.linear)
    path = _run(task, times, u)
    q, qd, s = (x[::BETWEEN] for x in path)
    excess = _excess(task, *path[:2])
    ends = ((slice(0, -1), u[:-1]), (slice(1, None), u[1:] if task.linear else u[:-1]))
    states = [{"s": s[part]} if model.states else {} for part, _ in ends]
    qdd = [
        model.forward_dynamics(q[part], qd[part], given, **own) for (part, given), own in zip(ends, states, strict=True)
    ]
    joints, moved = task.joints, list(model.arm.driven)
    pieces = hermite(np.diff(times), q[:, joints], qd[:, moved], *(each[:, moved] for each in qdd))
    endings = [_ending(task, q[-1], qd[-1])]
    for each in task.others:
        path = _run(each, times, u)
        last, rate, _ = (x[-1] for x in path)
        excess = {name: max(most, excess[name]) for name, most in _excess(each, *path[:2]).items()}
        stands = equilibrium(each.model, configuration(each.model, last[each.joints]), held="joints")[0]
        endings.append(_ending(replace(each, end=stands), last, rate))
    found = {**report, **{name: max(each[name] for each in endings) for name in endings[0]}, "intervals": N}
    found["excess"] = excess
    return OptimalMotion(times, q, qd, u, task.linear, pieces, pressed.inputs, pressed.within, found)


def joined(task: Task, motions: Sequence[OptimalMotion]) -> OptimalMotion:
    """Join motions into one and simulate them in one run, so that each begins where the one before ends."""
    begins = np.cumsum([0.0, *(each.duration for each in motions)])
    times = np.append(np.concatenate([x.times[:-1] + t for x, t in zip(motions, begins, strict=False)]), begins[-1])
    u, on_inputs = (
        np.vstack([*(getattr(x, name)[:-1] for x in motions), getattr(motions[-1], name)[-1:]])
        for name in ("u", "on_inputs")
    )
    nothing = [np.zeros(len(each.times) - 1) for each in motions]
    on_limits = {
        name: np.concatenate([x.on_limits.get(name, none) for x, none in zip(motions, nothing, strict=True)])
        for name in dict.fromkeys(name for each in motions for name in each.on_limits)
    }
    sums: dict[str, Any] = {}
    for name in ("cost", "steps", "rigid_duration", "intervals"):
        each = [x.report[name] for x in motions]
        sums[name] = None if None in each else sum(each)
    whole = motion(task, times, u, Pressed(on_inputs, on_limits), {**motions[-1].report, **sums})
    return replace(whole, report={**whole.report, "intervals": sums["intervals"]})


def _dense(times: Array, u: Array, pressed: Pressed, linear: bool) -> tuple[Array, Array, Pressed]:
    """Return times, inputs and multipliers on a finer grid, which resolves the vibrations of the motion."""
    N = len(times) - 1
    parts = -(-DENSE // N)
    shares = np.append(np.arange(N * parts) / parts, N)
    fine = np.interp(shares, np.arange(N + 1), times)
    before = shares.astype(int)
    between = np.stack([np.interp(shares, np.arange(N + 1), column) for column in u.T], axis=1) if linear else u[before]
    within = {name: np.repeat(each, parts) for name, each in pressed.within.items()}
    return fine, between, Pressed(pressed.inputs[before] / parts, within)


def _run(task: Task, times: Array, u: Array) -> tuple[Array, Array, Array]:
    begin = (task.start, np.zeros(task.model.nv), np.zeros(len(task.model.states)))
    return run(task.model, begin, times, u, task.linear, EXACT, BETWEEN)


def _excess(task: Task, q: Array, qd: Array) -> dict[str, float]:
    """Return the largest excess of a motion (k, nq), (k, n) over each given limit on states, in its unit, or zero."""
    joints, found = task.joints, {}
    ranges, rates = task.limits.ranges(len(joints)), task.limits.sizes("joint_rate", len(joints))
    if task.limits.joint_range is not None:
        found["joint_range"] = np.maximum(ranges[:, 0] - q[:, joints], q[:, joints] - ranges[:, 1])
    if task.limits.joint_rate is not None:
        found["joint_rate"] = np.abs(qd[:, list(task.model.arm.driven)]) - rates
    for each in task.measures:
        y = each.along(q)
        found[each.name] = np.maximum(each.lower - y, y - each.upper)
    return {name: max(0.0, float(beyond.max())) for name, beyond in found.items()}


def on_grid(task: Task, grid: Grid, program: Program, solved: Solved) -> Pressed:
    """Return the multipliers of a motion on a grid."""
    on_limits: dict[str, Array] = {}
    for row, own in program.rows.items():
        name = row.partition(", arm ")[0]
        if name in ("torque_rate", *MEASURED):
            largest = np.abs(solved.on_rows[own]).reshape(grid.intervals, -1).max(axis=1)
            on_limits[name] = np.maximum(on_limits.get(name, 0.0), largest)
    placed = grid.nodes[grid.intervals // grid.stretches :: grid.intervals // grid.stretches]
    joints = {"joint_range": task.joints, "joint_rate": [task.model.nq + i for i in task.model.arm.driven]}
    for name, limited in joints.items():
        if getattr(task.limits, name) is None:
            continue
        for each in grids(task, grid):
            places = np.concatenate([each.x, each.nodes[1:, None]], axis=1)[..., limited]
            on = np.where(np.isin(places, placed), 0.0, np.abs(solved.on_bounds[places]))  # prescribed nodes
            on_limits[name] = np.maximum(on_limits.get(name, 0.0), on.reshape(grid.intervals, -1).max(axis=1))
    return Pressed(solved.on_bounds[grid.inputs], on_limits)


def _ending(task: Task, q: Array, qd: Array) -> dict[str, float]:
    """Error of the tip at the end, its swing from there with the drives held, and the largest rate."""
    model, moved = task.model, list(task.model.arm.actuated)
    wanted = model.tip(task.end)[:3, 3]
    if model.arm.free:
        wanted = model.tip(np.concatenate([q[:7], task.end[7:]]))[:3, 3]
    error = float(np.linalg.norm(model.tip(q)[:3, 3] - wanted))
    slow = [omega for omega in model.frequencies(task.end) if omega > SLOWEST]
    residual = 0.0
    if slow and not model.arm.free:
        held, still = q.copy(), qd.copy()
        held[moved], still[moved] = task.end[moved], 0.0
        drives = PrescribedMotion(Still(tuple(task.end[moved].tolist())))
        window = SETTLING * 2 * np.pi / min(slow)
        try:
            after = simulate(model, window, drives, q0=held, qd0=still, save=SaveAt(keep=["tip"], samples=401), **EXACT)
            residual = float(np.linalg.norm(after.tip.values - wanted, axis=1).max())
        except SimulationError:
            residual = np.inf
    return {"end_error": error, "residual": residual, "end_rate": float(np.abs(qd).max())}
