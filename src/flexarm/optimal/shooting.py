"""Motions for the shooting method: inputs, and states at the ends of intervals, from which the arm runs natively.

Deviations are measured in metres at the tips of links (see `in_metres`), so that a joint's angle, a mode's amplitude
and a rate count alike.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, final

import numpy as np

from flexarm.arrays import Array
from flexarm.cached import cached_property
from flexarm.model import Model
from flexarm.model.local import moved_by_joints
from flexarm.native.tangent import tangent
from flexarm.optimal.motion import torques
from flexarm.optimal.variations import LEAST_PIECES, variations
from flexarm.simulation.ensemble import simulate_many
from flexarm.simulation.inputs import Table
from flexarm.simulation.options import SaveAt, Solver
from flexarm.simulation.run import simulate

EXACT: dict[str, Any] = {"progress": False, "solver": Solver(rtol=1e-9, atol=1e-12)}

HIDDEN = 0.01
"""Weight of a coordinate that moves no tip, relative to the one that moves a tip most."""

HASTE = 10.0
"""Largest frequency by which a joint's rate is divided, as a multiple of the motion's pace.

With this limit, a motion that is much slower than all vibrations still ends at rest.
"""

AT_ONCE = 64
"""Number of states whose slopes are computed at once, so that they stay in the processor's cache."""

RIGID = 1e-3
"""Share of the fastest mode's frequency below which a mode is rigid."""


@final
@dataclass(frozen=True, eq=False)
class Course:
    """A trajectory: inputs, and states at the ends of its intervals.

    Attributes
    ----------
    durations : (stretches,)
        Durations of the stretches [s]. All have the same number of intervals, which are equal within a stretch.
    u : (N, m) or (N + 1, m)
        Inputs that are constant over each interval, or inputs at the intervals' ends with straight lines between them.
    x : tuple of (N + 1, 2n)
        States of each plant.
    paths : tuple of (N, parts pieces, 2n)
        States of each plant at the ends of the pieces of all intervals. Empty if unknown.
    """

    durations: Array
    u: Array
    x: tuple[Array, ...]
    paths: tuple[Array, ...] = ()

    @property
    def intervals(self) -> int:
        """Number of intervals."""
        return len(self.x[0]) - 1

    @property
    def linear(self) -> bool:
        """True if the inputs are piecewise linear."""
        return len(self.u) > self.intervals

    @property
    def steps(self) -> Array:
        """Lengths of the intervals, (N,)."""
        each = self.intervals // len(self.durations)
        return np.repeat(self.durations / each, each)

    @property
    def times(self) -> Array:
        """Times of the intervals' ends, (N + 1,)."""
        return np.append(0.0, np.cumsum(self.steps))

    @property
    def pieces(self) -> Array:
        """Input of each interval (N, m), or the inputs at both its ends (N, 2m)."""
        return np.hstack([self.u[:-1], self.u[1:]]) if self.linear else self.u


@final
@dataclass(frozen=True, eq=False)
class Goal:
    """Required state at the end of an interval: |W (x - wanted)| <= box at the given node."""

    node: int
    W: Array
    wanted: Array
    box: Array


@final
@dataclass(frozen=True, eq=False)
class Within:
    """A named limit lower <= f(x) <= upper at the ends of all parts of all intervals.

    f maps states (k, 2n) to values (k, r) and slopes (k, r, 2n).
    """

    name: str
    function: Callable[[Array], tuple[Array, Array]]
    lower: Array
    upper: Array


@final
@dataclass(frozen=True, eq=False)
class Plant:
    """One of the arms that make the motion.

    Attributes
    ----------
    start : (2n,)
    metres : (2n, 2n)
        Matrix that maps deviations of states to metres, see `in_metres`.
    goals : list of Goal
    within : list of Within
    parts : int
        Number of equal parts of an interval. Limits hold at the end of each part.
    pieces : int
        Number of equal pieces of a part. At the ends of each, the slopes of the accelerations are known.
    """

    model: Model
    start: Array
    metres: Array
    goals: list[Goal]
    within: list[Within]
    parts: int = 1
    pieces: int = LEAST_PIECES

    @cached_property
    def back(self) -> Array:
        """Matrix that maps deviations in metres to states, (2n, 2n)."""
        return np.linalg.inv(self.metres)

    def paths(self, x: Array, pieces: Array, steps: Array, linear: bool) -> Array:
        """Return states (k, parts pieces, 2n) of runs over an interval each, from states (k, 2n) and their inputs."""
        n, count = self.model.nv, self.pieces * self.parts
        found = np.full((len(x), count, 2 * n), np.nan)
        for h in np.unique(steps):
            own = np.flatnonzero(steps == h)
            times = np.array([0.0, h])
            u: Any = pieces[own]
            if linear:
                each, which = np.unique(u, axis=0, return_inverse=True)
                lines = [Table(times, ends.reshape(2, -1), "linear") for ends in each]
                u = [lines[i] for i in which.ravel()]
            save = SaveAt(keep=["q", "qd"], samples=count + 1)
            runs = simulate_many(self.model, float(h), u, x[own, :n], x[own, n:], method="dop853", save=save, **EXACT)
            found[own] = np.concatenate([runs.q.values[:, 1:], runs.qd.values[:, 1:]], axis=2)
        return found

    def run(self, course: Course, points: int | None = None) -> tuple[Array, Array]:
        """States of one run from the start: at the ends of the intervals (N + 1, 2n), and within them, see `paths`.

        `points` is the number of states in a part of an interval, by default that of its pieces.
        """
        n, count = self.model.nv, (points or self.pieces) * self.parts
        u = course.u if course.linear else np.vstack([course.u, course.u[-1:]])
        begin = (self.start[:n], self.start[n:], np.zeros(0))
        x = np.hstack(run(self.model, begin, course.times, u, course.linear, EXACT, count)[:2])
        return x[::count], x[1:].reshape(-1, count, 2 * n)

    def slopes(self, x: Array, course: Course, sizes: Array, path: Array | None = None) -> tuple[Array, Array, Array]:
        """Return the derivatives of the states at the ends of an interval's parts, in metres.

        They are those in the state at the interval's beginning, in metres (N, parts, 2n, 2n), in its inputs as shares
        of `sizes` (N, parts, 2n, m or 2m), and in its length (N, parts, 2n). `path` has the states within the
        intervals, see `paths`.
        """
        path = self.paths(x, course.pieces, course.steps, course.linear) if path is None else path
        (N, count, nx), n, m, P, pieces = path.shape, self.model.nv, len(sizes), self.parts, course.pieces
        k, states = pieces.shape[1], np.concatenate([x[:, None], path], axis=1)
        shares = np.linspace(0.0, 1.0, count + 1)[:, None]
        begin, end = pieces[:, None, :m], pieces[:, None, k - m :]
        inputs = begin + shares * (end - begin)
        qdd, to_x, to_u = accelerations(self.model, states.reshape(-1, nx), inputs.reshape(-1, m))
        to_x, to_u = to_x.reshape(N, count + 1, n, nx), to_u.reshape(N, count + 1, n, m) * sizes
        changes = self.metres @ variations(to_x, to_u, course.steps, P, course.linear)
        on, into = changes[..., :nx] @ self.back, changes[..., nx:]
        ends = slice(self.pieces, None, self.pieces)
        rates = np.concatenate([states[:, ends, n:], qdd.reshape(N, count + 1, n)[:, ends]], axis=2) @ self.metres.T
        rates *= shares[ends]
        if course.linear:  # a longer interval's line is less steep: at a given time its input is nearer to the first
            climbs = np.diff(course.u, axis=0) / sizes / course.steps[:, None]
            rates -= np.einsum("kpij,kj->kpi", into[..., -m:], climbs)
        return on, into, rates


def accelerations(model: Model, x: Array, u: Array) -> tuple[Array, Array, Array]:
    """Return qdd (k, n) and its derivatives in x = (q, qd), (k, n, 2n), and in u, (k, n, m), at k states."""
    kernel, n = tangent(model.kernel("forward_dynamics")), model.nv
    k, free = len(x), x.shape[1] + u.shape[1]
    size = free + len(model.exogenous)
    qdd, slope = np.empty((k, n)), np.empty((k, n, free))
    rows = np.zeros((AT_ONCE, free, 2 * size))
    rows[:, :, size : size + free] = np.eye(free)
    for first in range(0, k, AT_ONCE):
        own = slice(first, min(first + AT_ONCE, k))
        count = own.stop - first
        rows[:count, :, : x.shape[1]], rows[:count, :, x.shape[1] : free] = x[own, None], u[own, None]
        both = kernel.many(rows[:count].reshape(-1, 2 * size)).reshape(count, free, 2, n)
        qdd[own], slope[own] = both[:, 0, 0], np.swapaxes(both[:, :, 1], 1, 2)
    return qdd, slope[:, :, : x.shape[1]], slope[:, :, x.shape[1] :]


def run(
    model: Model,
    begin: tuple[Array, Array, Array],
    times: Array,
    u: Array,
    linear: bool,
    how: Mapping[str, Any],
    count: int = 1,
) -> tuple[Array, Array, Array]:
    """Simulate inputs u (k, m) natively and return q (r, nq), qd (r, n) and the drives' states (r, states).

    The rows are the states at the times of the inputs, and at `count` - 1 times between any two of them. Each series of
    intervals of equal length is one simulation. `begin` is the initial state, and `how` has the options of `simulate`.
    """
    steps = np.diff(times)
    cuts = np.flatnonzero(np.abs(np.diff(steps)) > 1e-9 * steps[1:]) + 1
    parts = [tuple(each[None] for each in begin)]
    names = ["q", "qd", *(["drive_state"] if model.states else [])]
    for a, b in pairwise([0, *cuts.tolist(), len(steps)]):
        q0, qd0, s0 = (each[-1] for each in parts[-1])
        own = torques(times[a : b + 1] - times[a], u[a : b + 1], linear)
        save, s0 = SaveAt(keep=names, samples=count * (b - a) + 1), s0 if model.states else None
        found = simulate(model, float(times[b] - times[a]), own, q0, qd0, save=save, s0=s0, **how)
        s = found.drive_state.values if model.states else np.zeros((count * (b - a) + 1, 0))
        parts.append((found.q.values[1:], found.qd.values[1:], s[1:]))
    q, qd, s = (np.concatenate(each) for each in zip(*parts, strict=True))
    return q, qd, s


def vibrates(omega: Array) -> Array:
    """Return for each frequency [rad/s] whether its mode vibrates. Rounding may give a rigid mode a small frequency."""
    return np.asarray(omega > RIGID * omega.max(initial=0.0))


def in_metres(model: Model, q: Array, pace: float) -> Array:
    """Return a matrix (2n, 2n) that maps deviations of q and qd from rest at q to metres.

    The directions are the motion of each joint with all that follows it, and each mode with the drives held. Each
    counts by how far it moves the tips of links [m]. If nothing moves a tip, as in the roll of a single link, the
    matrix keeps the coordinates. Rates of modes are divided by the modes' frequencies. Rates of joints are divided by
    the slowest of these, but by no more than `HASTE` times `pace` [rad/s], or by `pace` if nothing vibrates.
    """
    omega, modes = model.modes(q, locked=True)
    joints = moved_by_joints(model.arm)
    ways = np.hstack([joints, modes])
    tips = np.array(model.slope("frames", "q")(q)).reshape(-1, 16, model.nv)[:, 12:15]
    moved = np.linalg.norm(np.einsum("fij,jk->fik", tips, ways), axis=1).max(axis=0)
    size = np.maximum(moved, HIDDEN * moved.max()) if moved.any() else np.ones_like(moved)
    vibrating = omega[vibrates(omega)]
    slowest = vibrating.min() if len(vibrating) else pace
    slow = np.append(np.full(joints.shape[1], min(slowest, HASTE * pace)), np.maximum(omega, slowest))
    P, zero = np.linalg.inv(ways), np.zeros((model.nv, model.nv))
    return np.block([[size[:, None] * P, zero], [zero, (size / slow)[:, None] * P]])
