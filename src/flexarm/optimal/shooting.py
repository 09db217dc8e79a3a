"""Motions as shooting sees them: inputs, and states where intervals meet, from which the arm itself runs, natively.

Deviations are measured in metres at the tips of links, see `in_metres`, so that a joint's angle, a mode's amplitude and
a rate count alike.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from flexarm.model import Model
from flexarm.model.local import moved_by_joints
from flexarm.optimal.motion import torques
from flexarm.simulation.ensemble import simulate_many
from flexarm.simulation.inputs import Table
from flexarm.simulation.run import simulate

Array = np.ndarray

EXACT: dict[str, Any] = {"progress": False, "keep": ["q", "qd"], "rtol": 1e-9, "atol": 1e-12}

NUDGE = 1e-5
"""Of the arm's reach: by so much states are moved to find slopes."""
PUSH = 1e-3
"""By so much of their sizes inputs are."""

HIDDEN = 0.01
"""What moves no tip counts as this share of what moves one most."""


@final
@dataclass(frozen=True, eq=False)
class Course:
    """A motion as inputs, and states at the ends of its intervals.

    Attributes
    ----------
    durations : (stretches,)
        Each of as many intervals of one length [s].
    u : (N, m) or (N + 1, m)
        Held over each interval; or at their ends, with straight lines between.
    x : tuple of (N + 1, 2n)
        States of each plant.
    """

    durations: Array
    u: Array
    x: tuple[Array, ...]

    @property
    def intervals(self) -> int:
        """How many."""
        return len(self.x[0]) - 1

    @property
    def linear(self) -> bool:
        """Whether inputs are straight lines."""
        return len(self.u) > self.intervals

    @property
    def steps(self) -> Array:
        """Lengths of the intervals, (N,)."""
        each = self.intervals // len(self.durations)
        return np.repeat(self.durations / each, each)

    @property
    def times(self) -> Array:
        """Of the intervals' ends, (N + 1,)."""
        return np.append(0.0, np.cumsum(self.steps))

    @property
    def pieces(self) -> Array:
        """What u is in each interval: (N, m), or both ends' (N, 2m)."""
        return np.hstack([self.u[:-1], self.u[1:]]) if self.linear else self.u


@final
@dataclass(frozen=True, eq=False)
class Goal:
    """Where the arm must be at the end of an interval, the node's number: |W (x - wanted)| <= box."""

    node: int
    W: Array
    wanted: Array
    box: Array


@final
@dataclass(frozen=True, eq=False)
class Within:
    """lower <= f(x) <= upper at all ends of intervals, of a limit by its name; f of states (k, 2n) gives values (k, r),
    slopes (k, r, 2n)."""

    name: str
    function: Callable[[Array], tuple[Array, Array]]
    lower: Array
    upper: Array


@final
@dataclass(frozen=True, eq=False)
class Plant:
    """One arm that is to make the motion.

    Attributes
    ----------
    start : (2n,)
    metres : (2n, 2n)
        Of states, see `in_metres`.
    reach : float
        [m]
    """

    model: Model
    start: Array
    metres: Array
    reach: float
    goals: list[Goal]
    within: list[Within]

    def ends(self, x: Array, pieces: Array, steps: Array, linear: bool) -> Array:
        """Where runs over intervals end, (k, 2n), from states (k, 2n), with the inputs of each interval."""
        n, found = self.model.nv, np.full_like(x, np.nan)
        for h in np.unique(steps):
            own = np.flatnonzero(steps == h)
            times = np.array([0.0, h])
            u: Any = [Table(times, each.reshape(2, -1), "linear") for each in pieces[own]] if linear else pieces[own]
            runs = simulate_many(self.model, float(h), x[own, :n], x[own, n:], u, method="dop853", samples=2, **EXACT)
            found[own] = np.hstack([runs.q.values[:, -1], runs.qd.values[:, -1]])
        return found

    def run(self, course: Course) -> Array:
        """States at the ends of the intervals in one run from the start, (N + 1, 2n)."""
        n, each = self.model.nv, course.intervals // len(course.durations)
        u = course.u if course.linear else np.vstack([course.u, course.u[-1:]])
        parts = [self.start[None]]
        for i, T in enumerate(course.durations):
            x, own = parts[-1][-1], torques(T * np.arange(each + 1) / each, u[i * each :][: each + 1], course.linear)
            run = simulate(self.model, float(T), own, x[:n], x[n:], samples=each + 1, **EXACT)
            parts.append(np.hstack([run.q.values, run.qd.values])[1:])
        return np.vstack(parts)

    def slopes(self, x: Array, course: Course, sizes: Array) -> tuple[Array, Array, Array]:
        """How an interval's end moves with its beginning x (N, 2n, 2n), both in metres, with its inputs, as shares of
        `sizes` (N, 2n, m or 2m), and with its length (N, 2n): by differences of runs."""
        nx, pieces = x.shape[1], course.pieces
        k, back = pieces.shape[1], np.linalg.inv(self.metres)
        way = NUDGE * self.reach
        begins = np.repeat(x[:, None], 1 + nx + k, axis=1)
        begins[:, 1 : 1 + nx] += way * back.T
        given = np.repeat(pieces[:, None], 1 + nx + k, axis=1)
        given[:, 1 + nx :] += PUSH * np.diag(np.tile(sizes, k // len(sizes)))
        steps = np.repeat(course.steps, 1 + nx + k)
        ends = self.ends(begins.reshape(-1, nx), given.reshape(-1, k), steps, course.linear)
        moved = (ends @ self.metres.T).reshape(-1, 1 + nx + k, nx)
        J = (moved[:, 1:] - moved[:, :1]) / np.append(np.full(nx, way), np.full(k, PUSH))[:, None]
        J = np.swapaxes(J, 1, 2)
        n, last = self.model.nv, course.u[1:] if course.linear else course.u
        end = ends.reshape(-1, 1 + nx + k, nx)[:, 0]
        rates = np.hstack([end[:, n:], self.model.forward_dynamics(end[:, :n], end[:, n:], last)]) @ self.metres.T
        if course.linear:  # a longer interval's line is less steep: its input at a time is nearer to the first
            climbs = np.diff(course.u, axis=0) / sizes / course.steps[:, None]
            rates -= np.einsum("kij,kj->ki", J[:, :, -len(sizes) :], climbs)
        return J[:, :, :nx], J[:, :, nx:], rates


def in_metres(model: Model, q: Array, pace: float) -> Array:
    """A matrix (2n, 2n) of deviations of q and qd from rest at q: what each joint's, with all behind it, and each
    mode's with the drives held moves the tips of links by [m]; rates over a mode's frequency, those of joints over the
    slowest one's, or over `pace` [rad/s] where nothing vibrates.
    """
    omega, modes = model.modes(q, locked=True)
    joints = moved_by_joints(model.arm)
    ways = np.hstack([joints, modes])
    tips = np.array(model.slope("frames", "q")(q)).reshape(-1, 16, model.nv)[:, 12:15]
    moved = np.linalg.norm(np.einsum("fij,jk->fik", tips, ways), axis=1).max(axis=0)
    size = np.maximum(moved, HIDDEN * moved.max())
    vibrates = omega[omega > 1e-3 * omega.max(initial=0.0)]
    slow = np.append(
        np.full(joints.shape[1], vibrates.min(initial=np.inf)), np.maximum(omega, vibrates.min(initial=1.0))
    )
    slow[np.isinf(slow)] = pace
    P, zero = np.linalg.inv(ways), np.zeros((model.nv, model.nv))
    return np.block([[size[:, None] * P, zero], [zero, (size / slow)[:, None] * P]])
