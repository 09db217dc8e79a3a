"""A prediction over a horizon as a function of its free moves alone, for the limits.

The inputs are u = -K x + c, where K is the optimum without limits. For any steps the cost is that optimum's plus the
sum of c' H c. With s = L' c and H = L L', the moves are the smallest, min |s|^2, that satisfy the limits. The problem
is as well conditioned as the limits, however long the horizon and however little damped the arm.
"""

from dataclasses import dataclass
from typing import final

import numpy as np

from flexarm.arrays import Array
from flexarm.control.predictive_course import Optimum, Stage


@final
@dataclass(frozen=True, eq=False)
class Condensed:
    """States and inputs over k steps as linear functions of the initial state x0 (s + 1,) and of moves (k m,).

    Attributes
    ----------
    x_of_moves, x_of_x0 : (k + 1, s + 1, k m), (k + 1, s + 1, s + 1)
        Matrices of the states, from the beginning to the end.
    u_of_moves, u_of_x0 : (k, m, k m), (k, m, s + 1)
        Matrices of the deviations of the inputs.
    """

    x_of_moves: Array
    x_of_x0: Array
    u_of_moves: Array
    u_of_x0: Array


def condensed(stage: Stage, best: Optimum, steered: int) -> Condensed:
    """Condense consecutive steps under u = -K x + c, with c = 0 after the `steered` ones."""
    k, s, m = stage.G.shape
    x = np.zeros((k + 1, s, k * m + s))  # columns of the moves, then of x0
    u = np.empty((k, m, k * m + s))
    x[0, :, k * m :] = np.eye(s)
    moves = np.linalg.inv(np.swapaxes(best.L, 1, 2))  # c = L'^-1 s
    for i in range(k):
        u[i] = -best.K[i] @ x[i]
        u[i, :, i * m : (i + 1) * m] += moves[i]
        x[i + 1] = stage.F[i] @ x[i] + stage.G[i] @ u[i]
    width = steered * m
    return Condensed(x[..., :width], x[..., k * m :], u[..., :width], u[..., k * m :])


@final
@dataclass(frozen=True, eq=False)
class Limits:
    """Limits of a horizon.

    Attributes
    ----------
    lengths : (k,)
        Periods of each step.
    steered : int
        Number of steps with moves. In later ones the inputs are those of the optimum without limits.
    u, rate : (m,)
        Largest sizes of the inputs, and of their change in a period; infinite where there is no limit.
    low, high : (p,)
        Lowest and highest outputs, as soft limits if `soft`.
    names : of the inputs, then of the outputs
    """

    lengths: Array
    steered: int
    u: Array
    rate: Array
    low: Array
    high: Array
    soft: bool
    names: tuple[str, ...]

    @property
    def edges(self) -> Array:
        """Samples at which steps begin, and at which the last one ends (k + 1,)."""
        return np.concatenate([[0], np.cumsum(self.lengths)])

    @property
    def units(self) -> Array:
        """Sizes of the outputs' limits (p,)."""
        ends = np.abs(np.stack([self.low, self.high]))
        return np.where(np.isfinite(ends), ends, 0.0).max(axis=0, initial=0.0)

    @property
    def sizes(self) -> tuple[Array, Array, Array]:
        """Sizes by which inputs (m,), their changes (k, m) and outputs (p,) are divided: limits, or 1 without."""
        u, rate = self.u, self.rate * self.lengths[:, None]
        return np.where(np.isfinite(u), u, 1.0), np.where(np.isfinite(rate), rate, 1.0), self.units

    def shares(self, v: Array, last: Array, y: Array) -> tuple[Array, Array]:
        """Return lower and upper limits of inputs, changes and outputs, (k, 2m + p), for deviations from a trajectory.

        The limits are shares of `sizes`. The arguments are the trajectory's inputs v (periods, m), the inputs given
        last, and the outputs y (k, p) without deviation.
        """
        edges, (u, change, output) = self.edges, self.sizes
        first, final_ = v[edges[:-1]], v[edges[1:] - 1]
        lowest, highest = (f.reduceat(v, edges[:-1], axis=0) for f in (np.minimum, np.maximum))
        step = first - np.vstack([last, final_[:-1]])
        rate = self.rate * self.lengths[:, None]
        low = np.hstack([(-self.u - lowest) / u, (-rate - step) / change, (self.low - y) / output])
        high = np.hstack([(self.u - highest) / u, (rate - step) / change, (self.high - y) / output])
        return np.minimum(low, high), high


@final
@dataclass(frozen=True, eq=False)
class Program:
    """The quadratic program of a horizon: min |s|^2 / 2 + cost of soft limits, with low <= A (s, e) + B x0 <= high.

    The rows are those of the inputs, of their changes, of the outputs' upper limits, then of their lower limits, and
    e >= 0. e is the largest violation of each output's limits. All rows are in shares of the limits. Rows without a
    limit are left out.

    Attributes
    ----------
    c : Condensed
    D, g : (k m + p,)
    A, B : (rows, k m + p), (rows, s + 1)
    used : (all rows,) of bool
    """

    limits: Limits
    c: Condensed
    D: Array
    g: Array
    A: Array
    B: Array
    used: Array

    @classmethod
    def of(cls, limits: Limits, c: Condensed, C: Array, weight: float) -> "Program":
        """Return the program. C (k, p, s + 1) are the outputs' slopes at the ends of the steps, `weight` that of soft
        limits.
        """
        k, m, moves = c.u_of_moves.shape
        p, s = C.shape[1], C.shape[2]
        soft = p if limits.soft else 0
        first = np.zeros_like(c.u_of_moves[:1]), np.zeros_like(c.u_of_x0[:1])
        changes = (np.diff(x, axis=0, prepend=x0) for x, x0 in zip((c.u_of_moves, c.u_of_x0), first, strict=True))
        outputs = [(C @ x[1:]).reshape(k * p, x.shape[2]) for x in (c.x_of_moves, c.x_of_x0)]
        slack = np.tile(np.eye(p)[:, :soft], (k, 1))
        u, change, _ = limits.sizes
        units = np.append(np.tile(u, k), change.ravel())
        inputs = [
            np.concatenate([x.reshape(k * m, -1), y.reshape(k * m, -1)]) / units[:, None]
            for x, y in zip((c.u_of_moves, c.u_of_x0), changes, strict=True)
        ]
        per = np.tile(limits.units, k)[:, None]
        moved, carried = outputs[0] / per, outputs[1] / per
        A = np.block(
            [
                [inputs[0], np.zeros((2 * k * m, soft))],
                [moved, -slack],
                [moved, slack],
                [np.zeros((soft, moves)), np.eye(soft)],
            ]
        )
        B = np.concatenate([inputs[1], carried, carried, np.zeros((soft, s))])
        D, g = np.ones(moves + soft), np.zeros(moves + soft)
        D[moves:] = g[moves:] = weight
        used = np.concatenate(
            [
                np.isfinite(np.tile(limits.u, k)),
                np.isfinite(np.tile(limits.rate, k)),
                np.isfinite(np.tile(limits.high, k)),
                np.isfinite(np.tile(limits.low, k)),
                np.full(soft, True),
            ]
        )
        return cls(limits, c, D, g, A[used], B[used], used)

    def bounds(self, x0: Array, v: Array, last: Array, y: Array) -> tuple[Array, Array]:
        """Return `low` and `high` for the present state and inputs.

        The arguments are a state x0 (s + 1,), the trajectory's inputs v (periods, m), the inputs given last, and the
        outputs y (k, p) without deviation.
        """
        k, m = self.c.u_of_moves.shape[:2]
        least, most = self.limits.shares(v, last, y)
        none, soft = np.full(y.size, np.inf), y.shape[1] if self.limits.soft else 0
        cuts = (slice(0, m), slice(m, 2 * m), slice(2 * m, None))
        low, high = ([side[:, cut].ravel() for cut in cuts] for side in (least, most))
        low[2:], high[2:] = [-none, low[2]], [high[2], none]
        parts = ([*side, np.full(soft, end)] for side, end in ((low, 0.0), (high, np.inf)))
        moved = self.B @ x0
        low_, high_ = (np.concatenate(x)[self.used] - moved for x in parts)
        return np.minimum(low_, high_), high_

    def multipliers(self, at: Array, given: Array) -> Array:
        """Return the multipliers (rows,) of limits that are numbered by steps, as in `active_set`."""
        k, m = self.c.u_of_moves.shape[:2]
        p = len(self.limits.low)
        found = np.zeros(2 * k * (m + p) + (p if self.limits.soft else 0))
        for r, each in zip(at.tolist(), given.tolist(), strict=True):
            i, place = divmod(r, 2 * m + p)
            if i >= k:
                found[2 * k * (m + p) + r - k * (2 * m + p)] = each
            elif place < 2 * m:
                found[place // m * k * m + i * m + place % m] = each
            else:
                found[2 * k * m + (each < 0) * k * p + i * p + place - 2 * m] = each
        return found[self.used]

    @property
    def of_outputs(self) -> Array:
        """True for each row that limits an output (rows,)."""
        k, m = self.c.u_of_moves.shape[:2]
        return np.flatnonzero(self.used) >= 2 * k * m

    @property
    def of_slack(self) -> Array:
        """True for each row of e >= 0 (rows,)."""
        return np.arange(len(self.A)) >= len(self.A) - (len(self.limits.low) if self.limits.soft else 0)

    def where(self, row: int) -> tuple[str, int]:
        """Name of the limited quantity of a row, and the index of its step."""
        limits, (k, m) = self.limits, self.c.u_of_moves.shape[:2]
        i, p = int(np.flatnonzero(self.used)[row]), len(limits.low)
        kind = ["torque", "torque rate"][min(i // (k * m), 1)]
        if i < 2 * k * m:
            return f"{kind} of {limits.names[i % m]}", i % (k * m) // m
        i -= 2 * k * m
        return limits.names[m + i % p], min(i % (k * p) // p, k - 1)


def typical(c: Condensed, C: Array, limits: Limits) -> float:
    """Typical cost of the moves of a program (see `Program`).

    It is the cost of changing an output by its limit where that is easiest, or of all inputs at their limits if that is
    more.
    """
    steered = limits.steered
    rows = (C @ c.x_of_moves[1:])[:steered] / limits.units[None, :, None]
    easiest = (rows**2).sum(axis=-1).max(initial=0.0)
    found = 1.0 / easiest if easiest > 0 else 1.0
    if np.isfinite(limits.u).all():
        u = c.u_of_moves[:steered]
        s = np.linalg.lstsq(u.reshape(-1, u.shape[2]), np.tile(limits.u, steered))[0]
        found = max(found, float(s @ s))
    return float(found)
