"""A step from a trajectory towards its goals or down its cost, by a quadratic program about native runs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import final

import numpy as np

from flexarm.arrays import Array
from flexarm.optimal.shooting import Course, Plant

BROKEN = 1e-7
"""Excess over a limit, to first order, from which the program has a row for this limit."""

PROGRAMS = 12
"""Largest number of programs solved for one step. Each adds the limits that the one before exceeds."""

BOUND = 0.3
"""Largest relative change of a duration in a step."""

OPTIONS, TOLERANCES = {"iter_limit": 20_000, "cycle_tol": 50, "progress_tol": 1e-16}, (1e-9, 1e-7)
"""Options of the solver of quadratic programs, and the tolerances of its rows.

Near the solution of a search the steps are so small that the solver may report a cycle. It then gets another try with
the second tolerance.
"""

SOLVED, CYCLE = 1, -2
"""Codes that the solver returns if it has found the solution, and if it seems to repeat its steps."""

STIFF = 100.0
"""Weight of a relative change of a duration, compared with one of all inputs, where the change is to be small."""


@final
@dataclass(frozen=True, eq=False)
class Allowed:
    """Limits of inputs and durations.

    Attributes
    ----------
    sizes : (m,)
        Limits of the inputs, or their typical sizes.
    most, slope : (m,)
        Largest sizes of the inputs and of their slopes, infinite where there is no limit.
    ends : pair of (m,), optional
        First and last values of piecewise linear inputs.
    """

    sizes: Array
    most: Array
    slope: Array
    ends: tuple[Array, Array] | None
    fixed: bool
    """True if the total duration is given."""
    switched: bool = False
    """True if the inputs are given. The durations alone are then free."""


@final
@dataclass(frozen=True, eq=False)
class Seen:
    """A trajectory and the results of its native runs.

    Attributes
    ----------
    gaps : list of (N, 2n)
        For each plant, from the end of each interval to the beginning of the next, in metres.
    values : list of lists of (N parts, r)
        Limited quantities with their slopes, at the ends of the intervals' parts.
    off : float
        Largest of the gaps, of the distances from the goals, and of the excesses over limits.
    """

    course: Course
    gaps: list[Array]
    values: list[list[tuple[Array, Array]]]
    off: float


def seen(plants: Sequence[Plant], course: Course, whole: bool) -> Seen:
    """Run a trajectory interval by interval, or, if `whole`, as one run that replaces the trajectory's states."""
    gaps, values, off = [], [], 0.0
    if whole:
        x, paths = zip(*(plant.run(course) for plant in plants), strict=True)
    else:
        x, given = course.x, (course.pieces, course.steps, course.linear)
        paths = tuple(plant.paths(states[:-1], *given) for plant, states in zip(plants, x, strict=True))
    course = replace(course, x=tuple(x), paths=tuple(paths))
    for plant, x, path in zip(plants, course.x, course.paths, strict=True):
        gaps.append((path[:, -1] - x[1:]) @ plant.metres.T)
        within = path[:, plant.pieces - 1 :: plant.pieces].copy()
        within[:, -1] = x[1:]
        states = within.reshape(-1, x.shape[1])
        values.append([each.function(states) for each in plant.within])
        missed = [np.abs(goal.W @ (x[goal.node] - goal.wanted)) - goal.box for goal in plant.goals]
        beyond = [
            np.maximum(each.lower - y, y - each.upper) for each, (y, _) in zip(plant.within, values[-1], strict=True)
        ]
        worst = [np.abs(gaps[-1]).max(), *(each.max(initial=0.0) for each in [*missed, *beyond])]
        off = float(np.max([off, *worst]))
    return Seen(course, gaps, values, off)


@final
@dataclass(frozen=True, eq=False)
class Step:
    """Relative changes of u (as of its sizes) and of the durations, and changes of the states in metres."""

    u: Array
    durations: Array
    states: list[Array]
    on_inputs: Array
    on_slopes: Array
    on_within: list[dict[tuple[int, int], float]]
    """Multipliers of the limits, relative as the changes are."""


def moved(plants: Sequence[Plant], course: Course, step: Step, share: float, allowed: Allowed) -> Course:
    """Return the trajectory after a share of a step."""
    u = course.u
    if not allowed.switched:
        u = np.clip(u + share * step.u * allowed.sizes, -allowed.most, allowed.most)
    x = []
    for plant, old, dz in zip(plants, course.x, step.states, strict=True):
        new = old.copy()
        new[1:] += share * dz @ plant.back.T
        x.append(new)
    durations = course.durations * (1 + share * step.durations)
    if allowed.fixed:
        durations *= course.durations.sum() / durations.sum()
    return Course(durations, u, tuple(x))


@final
@dataclass(frozen=True, eq=False)
class Ways:
    """First-order changes of a plant's states, in metres.

    Attributes
    ----------
    on : (N, parts, 2n, 2n)
        Derivatives of the ends of an interval's parts in its beginning. Without limits the last part is sufficient.
    to_u, to_T : (N, parts, 2n, m or 2m), (N, parts, 2n)
        Derivatives in the interval's own inputs, as shares of their sizes, and in the relative change of its duration.
    G : (N + 1, 2n, unknowns)
        Derivatives of the intervals' ends in the unknowns: relative changes of all inputs, and of the durations. The
        first one is the beginning of the motion, which is fixed.
    columns, stretch : (N, m or 2m), (N,)
        Indices of an interval's own inputs and of its duration among the unknowns.
    """

    on: Array
    to_u: Array
    to_T: Array
    G: Array
    columns: Array
    stretch: Array

    def carried(self, gaps: Array) -> Array:
        """Propagate gaps (N, 2n) to the ends of the intervals' parts, (N, parts, 2n)."""
        off, found = np.zeros(gaps.shape[1]), np.empty(self.on.shape[:3])
        for k, gap in enumerate(gaps):
            found[k] = self.on[k] @ off
            found[k, -1] += gap
            off = found[k, -1]
        return found

    def after(self, d: Array) -> Array:
        """Return the changes of the states at the ends of the parts, (N, parts, 2n), under unknowns d."""
        begins, own = self.G[:-1] @ d, d[self.columns]
        found = np.einsum("kpij,kj->kpi", self.on, begins) + np.einsum("kpij,kj->kpi", self.to_u, own)
        return np.asarray(found + self.to_T * d[self.stretch][:, None, None])

    def rows(self, at: Array, J: Array) -> Array:
        """Return the derivatives in all unknowns of J (k, 2n) times the states at the ends of parts `at` (k,)."""
        interval, part = np.divmod(at, self.on.shape[1])
        lead = (J[:, None] @ self.on[interval, part])[:, 0]
        found = np.empty((len(at), self.G.shape[2]))
        for k, i in enumerate(interval):
            found[k] = lead[k] @ self.G[i]
        places = np.arange(len(at))
        found[places[:, None], self.columns[interval]] += (J[:, None] @ self.to_u[interval, part])[:, 0]
        found[places, self.stretch[interval]] += (J * self.to_T[interval, part]).sum(axis=1)
        return found


Active = list[set[tuple[int, int]]]
"""For each limit of each plant, where it is active: the part of the motion, and the index of its row."""

Row = tuple[Array, Array, Array]
"""A matrix (k, unknowns), and the lower and upper limits of its product with the unknowns."""


def ways(plants: Sequence[Plant], course: Course, allowed: Allowed) -> list[Ways]:
    """Return the first-order changes of each plant about a trajectory."""
    N, m, S, size = course.intervals, course.u.shape[1], len(course.durations), course.u.size
    found = []
    paths = course.paths or (None,) * len(plants)
    for plant, x, path in zip(plants, course.x, paths, strict=True):
        on, to_u, to_h = plant.slopes(x[:-1], course, allowed.sizes, path)
        if not plant.within:
            on, to_u, to_h = on[:, -1:], to_u[:, -1:], to_h[:, -1:]
        to_T = to_h * course.steps[:, None, None]
        columns = m * np.arange(N)[:, None] + np.arange(to_u.shape[3])
        stretch = size + np.arange(N) * S // N
        G = np.zeros((N + 1, x.shape[1], size + S))
        for k in range(N):
            G[k + 1] = on[k, -1] @ G[k]
            G[k + 1][:, columns[k]] += to_u[k, -1]
            G[k + 1][:, stretch[k]] += to_T[k, -1]
        found.append(Ways(on, to_u, to_T, G, columns, stretch))
    return found


def step(
    plants: Sequence[Plant],
    now: Seen,
    found: Sequence[Ways],
    allowed: Allowed,
    active: Active,
    gradient: Array | None = None,
    pace: float = 1.0,
) -> Step | None:
    """Return the smallest change that closes all gaps and reaches all goals to first order, or None.

    With a gradient of the cost it is a step down the cost, whose length follows from `pace`, the weight of the change.
    """
    course = now.course
    size, S = course.u.size, len(course.durations)
    carried = [each.carried(gaps) for each, gaps in zip(found, now.gaps, strict=True)]
    rows: list[Row] = [_slopes(course, allowed)]
    if allowed.fixed and S > 1:
        rows.append((np.append(np.zeros(size), course.durations)[None], np.zeros(1), np.zeros(1)))
    limits = []
    for p, (plant, x, way, g, values) in enumerate(zip(plants, course.x, found, carried, now.values, strict=True)):
        for goal in plant.goals:
            J = goal.W @ plant.back
            off = goal.W @ (x[goal.node] - goal.wanted) + J @ g[goal.node - 1, -1]
            rows.append((J @ way.G[goal.node], -goal.box - off, goal.box - off))
        for each, (y, slope) in zip(plant.within, values, strict=True):
            J = slope @ plant.back
            y = y + np.einsum("kij,kj->ki", J, g.reshape(len(y), -1))
            limits.append((J, y, each, p))
    lower, upper = _bounds(course, allowed)
    down = np.zeros(size + S) if gradient is None else gradient
    stiff = STIFF if gradient is None else 1.0
    weights = pace * np.append(np.full(size, 1.0 / size), np.full(S, stiff))
    for _ in range(PROGRAMS):
        bounded = [
            (found[p].rows(k, J[k, i]), each.lower[i] - y[k, i], each.upper[i] - y[k, i])
            for own, (J, y, each, p) in zip(active, limits, strict=True)
            if own
            for k, i in [np.array(sorted(own)).T]
        ]
        solved = _least(weights, down, [*rows, *bounded], lower, upper)
        if solved is None:
            return None
        d, on_rows, on_bounds = solved
        on_within = _pushes(active, on_rows[sum(len(low) for _, low, _ in rows) :])
        moves, more = [way.after(d) for way in found], 0
        for own, (J, y, each, p) in zip(active, limits, strict=True):
            after = y + np.einsum("kij,kj->ki", J, moves[p].reshape(len(y), -1))
            new = _beyond(np.maximum(each.lower - after, after - each.upper), plants[p].parts) - own
            own |= new
            more += len(new)
        if not more:
            break
    states = [own[:, -1] + g[:, -1] for own, g in zip(moves, carried, strict=True)]
    shape, kept = course.u.shape, np.isfinite(allowed.slope) & course.linear
    on_slopes = np.zeros((0, shape[1]))
    if kept.any():
        on_slopes = np.zeros((course.intervals, shape[1]))
        on_slopes[:, kept] = np.abs(on_rows[: len(rows[0][1])]).reshape(2, course.intervals, -1).sum(axis=0)
    return Step(d[:size].reshape(shape), d[size:], states, on_bounds[:size].reshape(shape), on_slopes, on_within)


def _beyond(excess: Array, parts: int) -> set[tuple[int, int]]:
    """Return where limits are exceeded (N parts, r): for each interval and row, the part with the largest excess."""
    by_interval = excess.reshape(-1, parts, excess.shape[1])
    worst = by_interval.argmax(axis=1)
    k, i = np.nonzero(by_interval.max(axis=1) > BROKEN)
    return set(zip((k * parts + worst[k, i]).tolist(), i.tolist(), strict=True))


def _pushes(active: Active, on_rows: Array) -> list[dict[tuple[int, int], float]]:
    """Multipliers of active limits by interval and row, in the order of the program's rows."""
    ends = np.cumsum([0, *(len(own) for own in active)])
    return [
        dict(zip(sorted(own), on_rows[a:b].tolist(), strict=True))
        for own, (a, b) in zip(active, pairwise(ends), strict=True)
    ]


def _bounds(course: Course, allowed: Allowed) -> tuple[Array, Array]:
    """Lower and upper bounds of the unknowns."""
    U = course.u / allowed.sizes
    most = np.broadcast_to(allowed.most / allowed.sizes, U.shape)
    lower, upper = (np.zeros_like(U), np.zeros_like(U)) if allowed.switched else (-most - U, most - U)
    if allowed.ends is not None and course.linear:
        for place, u in zip((0, -1), allowed.ends, strict=True):
            lower[place] = upper[place] = u / allowed.sizes - U[place]
    S = len(course.durations)
    far = np.full(S, 0.0 if allowed.fixed and S == 1 else BOUND)
    return np.append(lower, -far), np.append(upper, far)


def _slopes(course: Course, allowed: Allowed) -> Row:
    """Rows |u_k+1 - u_k| <= h slope for piecewise linear inputs, to first order in h, for both signs."""
    N, S, m, size = course.intervals, len(course.durations), course.u.shape[1], course.u.size
    if not course.linear or not np.isfinite(allowed.slope).any():
        return np.zeros((0, size + S)), np.zeros(0), np.zeros(0)
    kept = np.isfinite(np.tile(allowed.slope, N))
    change = np.eye(N * m, size, m) - np.eye(N * m, size)
    jump = (np.diff(course.u, axis=0) / allowed.sizes).ravel()[kept]
    far = (course.steps[:, None] * allowed.slope / allowed.sizes).ravel()[kept]
    longer = far[:, None] * np.repeat(np.eye(S), N * m // S, axis=0)[kept]
    A = np.vstack([np.hstack([change[kept], -longer]), np.hstack([-change[kept], -longer])])
    return A, np.full(2 * len(far), -np.inf), np.append(far - jump, far + jump)


def _least(
    weights: Array, gradient: Array, rows: Sequence[Row], lower: Array, upper: Array
) -> tuple[Array, Array, Array] | None:
    """Minimise gradient d + weights d^2 / 2 with the rows within their limits and lower <= d <= upper.

    Returns d and the multipliers of rows and of bounds, or None if there is no solution, or if a trajectory far from
    the arm's motions has slopes that are not finite. The solver is DAQP, an active-set method (D. Arnstrom, A. Bemporad
    and D. Axehill, IEEE Transactions on Automatic Control 67 (2022) 4362-4369). Each row is divided by its largest
    entry.
    """
    import daqp

    whole = np.concatenate([A for A, _, _ in rows])
    low, high = (np.concatenate([each[i] for each in rows]) for i in (1, 2))
    by = 1.0 / np.maximum(np.abs(whole).max(axis=1, initial=0.0), 1e-12)
    whole *= by[:, None]
    if not np.isfinite(whole).all() or np.isnan(low).any() or np.isnan(high).any():
        return None
    lows, highs = np.append(lower, by * low), np.append(upper, by * high)
    size = len(weights)
    for tolerance in TOLERANCES:
        sense, options = np.zeros(len(lows), dtype=np.int32), {**OPTIONS, "primal_tol": tolerance}
        d, _, said, more = daqp.solve(np.diag(weights), gradient, whole, highs, lows, sense, **options)
        if said != CYCLE:
            break
    if said != SOLVED:
        return None
    return np.clip(d, lower, upper), more["lam"][size:] * by, more["lam"][:size]
