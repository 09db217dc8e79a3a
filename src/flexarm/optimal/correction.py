"""The last part of the search: inputs are corrected until the native run itself ends where it should.

A grid is as good as its steps are short beside the arm's fastest modes; the native run knows no grid. So the motion on
a grid is taken as multiple shooting: by Newton's method the gaps between the end of an interval, as the arm itself runs
it, and the beginning of the next are closed, with the smallest change of inputs and durations that the limits allow.
Then the same without gaps, as one run from the start.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from flexarm.errors import FlexarmError
from flexarm.optimal.expense import Expense
from flexarm.optimal.shooting import Course, Plant

Array = np.ndarray

ROUNDS = 12
"""Newton steps with gaps, and as many without."""

BACK = 6
"""Times that a step is halved."""

LANDING = 4
"""Newton steps after a step down the cost."""

DESCENTS = 12
"""Steps down the cost, with those that failed."""

ENOUGH = 1e-5
"""Relative gain of a step down the cost that is not worth another."""

LONGEST, SHORTEST = 1e-3, 1e3
"""Weights of a step's length: the least, and the most that is tried."""

BOUND = 0.3
"""Most relative change of a duration in a step."""

STIFF = 100.0
"""How much a relative change of a duration counts beside one of all inputs."""


@final
@dataclass(frozen=True, eq=False)
class Allowed:
    """What inputs and durations may be.

    Attributes
    ----------
    sizes : (m,)
        Of the inputs: limits, or what is usual.
    most, slope : (m,)
        Limits of the inputs' sizes and of their slopes', infinite where there is none.
    ends : pair of (m,), optional
        What inputs that are straight lines begin and end with.
    """

    sizes: Array
    most: Array
    slope: Array
    ends: tuple[Array, Array] | None
    fixed: bool
    """Whether the durations are given."""


def corrected(plants: Sequence[Plant], course: Course, allowed: Allowed, goal: float) -> Course | None:
    """A course whose native runs end where they should, within `goal` [m] beyond the boxes of the goals; None where
    Newton's method does not find it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # trials may leave what is sound
            closed = _closed(plants, course, allowed, 10 * goal, whole=False)
            return closed and _closed(plants, closed, allowed, goal, whole=True)
    except FlexarmError:
        return None


@final
@dataclass(frozen=True, eq=False)
class Pressed:
    """Multipliers of what is in the way of a cheaper motion, per unit of what is limited.

    Attributes
    ----------
    inputs : (N, m) or (N + 1, m)
        Positive where the upper limit is active, negative where the lower is.
    within : dict of (N,)
        Of the other limits, by name: the size of the largest at the end of each interval.
    """

    inputs: Array
    within: dict[str, Array]


def improved(
    plants: Sequence[Plant], course: Course, allowed: Allowed, goal: float, expense: Expense, stop: Any
) -> tuple[Course, Pressed]:
    """Steps down the cost, each from one motion that the arms make to another, until they gain no more."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        active: Active = [set() for plant in plants for _ in plant.within]
        now, gradient = expense.of(course)
        seen, pace, pressed = _seen(plants, course, whole=True), 1.0, None
        for _ in range(DESCENTS):
            down = gradient * np.append(np.tile(allowed.sizes, len(course.u)), np.ones(len(course.durations))) / now
            step = _step(plants, seen, allowed, active, down, pace)
            if step is not None:
                pressed = _pressed(plants, step, now, allowed)
            trial = None if step is None else _landed(plants, _moved(plants, course, step, 1.0, allowed), allowed, goal)
            new = np.inf if trial is None else expense.of(trial)[0]
            if stop() or pace > SHORTEST:
                break
            if trial is None or not new < now:
                pace *= 6.0
                continue
            gain = 1.0 - new / now
            course, pace = trial, max(pace / 3.0, LONGEST)
            now, gradient = expense.of(course)
            seen = _seen(plants, course, whole=True)
            if gain < ENOUGH:
                break
    return course, pressed or Pressed(np.zeros_like(course.u), {})


def _landed(plants: Sequence[Plant], course: Course, allowed: Allowed, goal: float) -> Course | None:
    """What a step leads to, if it is not far from a motion."""
    try:
        return _closed(plants, course, allowed, goal, whole=True, rounds=LANDING)
    except FlexarmError:
        return None


def _pressed(plants: Sequence[Plant], step: "Step", cost: float, allowed: Allowed) -> Pressed:
    N = len(step.states[0])
    within: dict[str, Array] = {}
    names = [each.name for plant in plants for each in plant.within]
    for name, pushes in zip(names, step.on_within, strict=True):
        found = within.setdefault(name, np.zeros(N))
        for (k, _), push in pushes.items():
            found[k] = max(found[k], abs(push) * cost)
    if step.on_slopes.size:
        within["torque_rate"] = np.abs(step.on_slopes * cost / allowed.sizes).max(axis=1)
    return Pressed(step.on_inputs * cost / allowed.sizes, within)


@final
@dataclass(frozen=True, eq=False)
class Seen:
    """A course run.

    Attributes
    ----------
    ends, gaps : lists of (N, 2n)
        Of each plant: where its intervals end; from there to where the next begins, in metres.
    values : list of lists of (N, r)
        Of what must stay within limits, at the ends of the intervals.
    off : float
        The most of the gaps, of what the goals are missed by, and of what is beyond a limit.
    """

    course: Course
    ends: list[Array]
    gaps: list[Array]
    values: list[list[tuple[Array, Array]]]
    off: float


def _seen(plants: Sequence[Plant], course: Course, whole: bool) -> Seen:
    ends, gaps, values, off = [], [], [], 0.0
    if whole:
        course = Course(course.durations, course.u, tuple(plant.run(course) for plant in plants))
    for plant, x in zip(plants, course.x, strict=True):
        end = x[1:] if whole else plant.ends(x[:-1], course.pieces, course.steps, course.linear)
        ends.append(end)
        gaps.append((end - x[1:]) @ plant.metres.T)
        values.append([each.function(x[1:]) for each in plant.within])
        missed = [np.abs(goal.W @ (x[goal.node] - goal.wanted)) - goal.box for goal in plant.goals]
        beyond = [
            np.maximum(each.lower - y, y - each.upper) for each, (y, _) in zip(plant.within, values[-1], strict=True)
        ]
        worst = [np.abs(gaps[-1]).max(), *(each.max(initial=0.0) for each in [*missed, *beyond])]
        off = float(np.max([off, *worst]))
    return Seen(course, ends, gaps, values, off)


def _closed(
    plants: Sequence[Plant], course: Course, allowed: Allowed, goal: float, whole: bool, rounds: int = ROUNDS
) -> Course | None:
    """Newton's method, each step as long as it does good."""
    seen = _seen(plants, course, whole)
    active: Active = [set() for plant in plants for _ in plant.within]
    for _ in range(rounds):
        if seen.off <= goal:
            return seen.course
        step = _step(plants, seen, allowed, active)
        if step is None:
            return None
        for halved in range(BACK):
            share = 0.5**halved
            trial = _seen(plants, _moved(plants, seen.course, step, share, allowed), whole)
            if trial.off < (1 - 0.3 * share) * seen.off:
                break
        else:
            return None
        seen = trial
    return seen.course if seen.off <= goal else None


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


def _moved(plants: Sequence[Plant], course: Course, step: Step, share: float, allowed: Allowed) -> Course:
    u = np.clip(course.u + share * step.u * allowed.sizes, -allowed.most, allowed.most)
    x = []
    for plant, old, dz in zip(plants, course.x, step.states, strict=True):
        new = old.copy()
        new[1:] += share * np.linalg.solve(plant.metres, dz.T).T
        x.append(new)
    return Course(course.durations * (1 + share * step.durations), u, tuple(x))


@final
@dataclass(frozen=True, eq=False)
class Linear:
    """How a plant's states at the ends of the intervals follow the unknowns d: z = G d + g, (N, 2n, unknowns), (N, 2n),
    in metres."""

    G: Array
    g: Array


Active = list[set[tuple[int, int]]]
"""Of each limit of each plant, where it stands in the way: the interval, and which number."""

Row = tuple[Any, Array, Array]
"""A matrix (k, unknowns), and between what its products with the unknowns must be."""


def _linear(plant: Plant, x: Array, gaps: Array, ends: Array, course: Course, sizes: Array) -> Linear:
    N, m, S = course.intervals, course.u.shape[1], len(course.durations)
    size, nx = course.u.size, x.shape[1]
    to_x, to_u, to_h = plant.slopes(x[:-1], course, ends, sizes)
    width, steps, each = to_u.shape[2], course.steps, N // S
    G, g = np.zeros((N, nx, size + S)), np.zeros((N, nx))
    at, off = np.zeros((nx, size + S)), np.zeros(nx)
    for k in range(N):
        at, off = to_x[k] @ at, to_x[k] @ off + gaps[k]
        at[:, k * m : k * m + width] += to_u[k]
        at[:, size + k // each] += to_h[k] * steps[k]
        G[k], g[k] = at, off
    return Linear(G, g)


def _step(
    plants: Sequence[Plant],
    seen: Seen,
    allowed: Allowed,
    active: Active,
    gradient: Array | None = None,
    pace: float = 1.0,
) -> Step | None:
    """The smallest change that closes all gaps and meets all goals, to first order; with a gradient of the cost, the
    step down it that `pace`, the weight of the change, allows."""
    course = seen.course
    size, S = course.u.size, len(course.durations)
    found = [
        _linear(plant, x, gaps, ends, course, allowed.sizes)
        for plant, x, gaps, ends in zip(plants, course.x, seen.gaps, seen.ends, strict=True)
    ]
    rows: list[Row] = [_slopes(course, allowed)]
    for plant, x, linear in zip(plants, course.x, found, strict=True):
        back = np.linalg.inv(plant.metres)
        for goal in plant.goals:
            J = goal.W @ back
            off = goal.W @ (x[goal.node] - goal.wanted) + J @ linear.g[goal.node - 1]
            rows.append((J @ linear.G[goal.node - 1], -goal.box - off, goal.box - off))
    limits = []
    for plant, linear, values in zip(plants, found, seen.values, strict=True):
        back = np.linalg.inv(plant.metres)
        for each, (y, slope) in zip(plant.within, values, strict=True):
            J = slope @ back
            limits.append((J, y + np.einsum("kij,kj->ki", J, linear.g), each, linear))
    lower, upper = _bounds(course, allowed)
    down = np.zeros(size + S) if gradient is None else gradient
    stiff = STIFF if gradient is None else 1.0
    weights = pace * np.append(np.full(size, 1.0 / size), np.full(S, stiff))
    for _ in range(ROUNDS):
        bounded = [
            (np.einsum("ij,ijk->ik", J[k, i], linear.G[k]), each.lower[i] - y[k, i], each.upper[i] - y[k, i])
            for own, (J, y, each, linear) in zip(active, limits, strict=True)
            if own
            for k, i in [np.array(sorted(own)).T]
        ]
        found_d = _least(weights, down, [*rows, *bounded], lower, upper)
        if found_d is None:
            return None
        d, on_rows, on_bounds = found_d
        more = 0
        for own, (J, y, each, linear) in zip(active, limits, strict=True):
            after = y + np.einsum("kij,kj->ki", J, linear.G @ d)
            beyond = np.argwhere((after < each.lower - 1e-7) | (after > each.upper + 1e-7))
            new = {(int(k), int(i)) for k, i in beyond} - own
            own |= new
            more += len(new)
        if not more:
            break
    states = [linear.G @ d + linear.g for linear in found]
    on_within, place = [], sum(len(low) for _, low, _ in rows)
    for own in active:
        own_rows = on_rows[place : place + len(own)]
        on_within.append(dict(zip(sorted(own), own_rows.tolist(), strict=True)) if len(own_rows) == len(own) else {})
        place += len(own)
    shape, kept = course.u.shape, np.isfinite(allowed.slope) & course.linear
    on_slopes = np.zeros((0, shape[1]))
    if kept.any():
        on_slopes = np.zeros((course.intervals, shape[1]))
        on_slopes[:, kept] = np.abs(on_rows[: len(rows[0][1])]).reshape(2, course.intervals, -1).sum(axis=0)
    return Step(d[:size].reshape(shape), d[size:], states, on_bounds[:size].reshape(shape), on_slopes, on_within)


def _bounds(course: Course, allowed: Allowed) -> tuple[Array, Array]:
    """Of the unknowns."""
    U = course.u / allowed.sizes
    most = np.broadcast_to(allowed.most / allowed.sizes, U.shape)
    lower, upper = -most - U, most - U
    if allowed.ends is not None and course.linear:
        for place, u in zip((0, -1), allowed.ends, strict=True):
            lower[place] = upper[place] = u / allowed.sizes - U[place]
    far = np.full(len(course.durations), 0.0 if allowed.fixed else BOUND)
    return np.append(lower, -far), np.append(upper, far)


def _slopes(course: Course, allowed: Allowed) -> Row:
    """|u_k+1 - u_k| <= h slope of inputs that are straight lines, to first order in h: rows of both signs."""
    from scipy import sparse

    N, S, m, size = course.intervals, len(course.durations), course.u.shape[1], course.u.size
    if not course.linear or not np.isfinite(allowed.slope).any():
        return np.zeros((0, size + S)), np.zeros(0), np.zeros(0)
    kept = np.isfinite(np.tile(allowed.slope, N))
    change = sparse.diags([-1.0, 1.0], [0, m], shape=(N * m, size)).tocsr()[kept]
    jump = (np.diff(course.u, axis=0) / allowed.sizes).ravel()[kept]
    far = (course.steps[:, None] * allowed.slope / allowed.sizes).ravel()[kept]
    stretch = np.repeat(np.arange(N) // (N // S), m)[kept]
    longer = sparse.csr_matrix((far, (np.arange(len(far)), stretch)), (len(far), S))
    A = sparse.vstack([sparse.hstack([change, -longer]), sparse.hstack([-change, -longer])])
    return A, np.full(2 * len(far), -np.inf), np.append(far - jump, far + jump)


def _least(
    weights: Array, gradient: Array, rows: Sequence[Row], lower: Array, upper: Array
) -> tuple[Array, Array, Array] | None:
    """The smallest sum of gradient d + weights d^2 / 2 with the rows between theirs and lower <= d <= upper, and the
    multipliers of rows and of bounds; None where there is none.

    By PIQP (Schwan, Jiang, Kuhn & Jones 2023), each dense row divided by its largest entry.
    """
    import casadi as ca
    from scipy import sparse

    scaled, scales = [], []
    for A, low, high in rows:
        dense = not sparse.issparse(A)
        by = 1.0 / np.maximum(np.abs(A).max(axis=1, initial=0.0), 1e-12) if dense else np.ones(len(low))
        scaled.append((sparse.csr_matrix(by[:, None] * A) if dense else A, by * low, by * high))
        scales.append(by)
    by_rows = np.concatenate(scales)
    matrix = ca.DM(sparse.vstack([A for A, _, _ in scaled]).tocsc())
    H = ca.diag(ca.DM(weights))
    options: Any = {
        "error_on_fail": False,
        "print_time": False,
        "piqp": {"eps_abs": 1e-9, "eps_rel": 1e-9, "max_iter": 200},
    }
    solver = ca.conic("least", "piqp", {"h": H.sparsity(), "a": matrix.sparsity()}, options)
    low, high = (np.concatenate([each[i] for each in scaled]) for i in (1, 2))
    found = solver(h=H, g=gradient, a=matrix, lba=low, uba=high, lbx=lower, ubx=upper)
    if not solver.stats()["success"]:
        return None
    d, on_rows, on_bounds = (np.array(found[name]).ravel() for name in ("x", "lam_a", "lam_x"))
    return d, on_rows * by_rows, on_bounds
