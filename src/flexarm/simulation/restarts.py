"""Times at which a run restarts because a function of time changes fast, and changes that a run missed."""

from itertools import pairwise

import numpy as np

from flexarm.arrays import Array
from flexarm.model import Model
from flexarm.simulation import solvers
from flexarm.simulation.block import Block
from flexarm.simulation.breakpoints import FEW, FINEST, NEAR, apart, levels, of_function
from flexarm.simulation.exogenous import ExogenousInputs
from flexarm.simulation.feedback import initial
from flexarm.simulation.lanes_plan import Course
from flexarm.simulation.layout import Layout
from flexarm.simulation.rhs import Plan

ROUNDS = 4
"""Largest number of repeated runs after a missed input. Each repetition finds all changes that the run before shows."""


def breakpoints(
    model: Model,
    drive: Block,
    exogenous: ExogenousInputs | None,
    times: Array,
    method: str,
    parameters: ExogenousInputs | None = None,
) -> Array:
    """Return the times, other than known jumps, at which a run should restart.

    A control law is evaluated at the arm's default start. Sampled laws are constant between samples. Methods with fixed
    steps never restart: their steps are prescribed, and they evaluate an input at every half step.
    """
    if solvers.fixed(method):
        return np.empty(0)
    blocks = drive if drive.period is None else None, exogenous, parameters
    sources = [each for each in blocks if each is not None]
    q, qd = initial(model, drive.begins)

    def function(t: Array) -> Array:
        with np.errstate(all="ignore"):
            return np.hstack([each.over_time(model, t, q, qd) for each in sources])

    if not sources or not function(np.zeros(1)).shape[1]:
        return np.empty(0)
    until = float(times[-1])
    jumps = np.concatenate([np.empty(0), *(each.jumps() for each in sources)])
    edges = np.unique([0.0, *jumps[(jumps > 0.0) & (jumps < until)], until])
    if len(edges) > FEW:
        return np.empty(0)
    finest = max(levels(len(times)) - int(np.log2(len(edges) - 1)), FINEST - 4)
    found = [of_function(function, a, b, finest) for a, b in pairwise(edges)]
    return np.concatenate(found)


def course(drive: Block, model: Model, times: Array, method: str, marks: Array | None = None) -> Course:
    """Return the trajectory of an input in the form of SIMD batches, whose steps also end at the marks.

    A sampled law has no trajectory: its u is set at each sample.
    """
    corners = np.array(list(drive.corners(float(times[-1]))), dtype=float)
    more = breakpoints(model, drive, None, times, method)
    if marks is not None:  # as `integration.Run` takes them: not next to a corner
        more = np.union1d(more, marks)
        i = np.clip(np.searchsorted(corners, more, side="right"), 1, len(corners) - 1)
        near = NEAR * (corners[i] - corners[i - 1])
        more = more[(more > corners[i - 1] + near) & (more < corners[i] - near)]
    corners = np.union1d(corners, more)
    kernel = None if drive.period is not None else drive.kernel_for(model)
    held = np.empty((len(corners) - 1, 0))
    if kernel is None and drive.cubics is None and drive.period is None:
        none = np.zeros((len(held), model.nq))
        held = drive.output(model, corners[:-1], none, none, none[:, :0])
    return Course(corners, held, kernel, drive.cubics)


def missed(plan: Plan, layout: Layout, times: Array, x: Array) -> Array:
    """Return the times at which a completed run should have restarted to see its Python functions of time.

    A function of the state is evaluated only at the times of the result, where the state is known.
    """
    found = [np.empty(0)]
    for function, model, seen in plan.seen.values():
        asked = np.isin(times, seen.unseen(times[1:-1]))
        t, rows = times[asked], x[asked]
        if not function.of_state:
            t = np.unique(np.concatenate([t, seen.middles()]))
            rows = np.zeros((len(t), layout.size))
        if not len(t):
            continue
        values = function.output(model, t, rows[:, layout.q], rows[:, layout.qd], rows[:, :0])
        good = np.isfinite(values).all(axis=1)
        where = seen.missed(t[good], values[good])
        if len(where):
            still = rows[t == where[0]]

            def at(t: Array, function=function, model=model, still=still) -> Array:  # type: ignore[no-untyped-def]
                held = np.repeat(still, len(t), axis=0)
                return function.output(model, t, held[:, layout.q], held[:, layout.qd], held[:, :0])  # type: ignore[no-any-return]

            found.append(seen.around(where, at))
    return apart(np.concatenate(found), NEAR * float(times[-1]))
