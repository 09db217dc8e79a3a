"""Initial guess of the search for an optimal motion: the joints along a quintic that is slow enough for the torques."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import final

import numpy as np

from flexarm.arrays import Array
from flexarm.model import Model
from flexarm.optimal.collocation import Grid
from flexarm.optimal.task import Task
from flexarm.simulation.inputs import PrescribedMotion
from flexarm.simulation.options import SaveAt
from flexarm.simulation.run import simulate
from flexarm.trajectory import Quintic

SAMPLES = 401
FILLED = 0.9
"""Share of the limits on torque that the initial guess may use."""

STANDING = 0.8
"""Share of the torques that remains in a slower motion, above which the remaining torques hold the arm's weight."""

HASTY = 0.9
"""Share of an excess that remains in a motion half as fast, above which the speed is not its cause."""

RASH = 1.0
"""Largest relative excess over a limit on rates or slopes with which the search starts."""

DOUBLINGS = 20
"""Largest number of times that the duration of a motion is doubled."""

FLOOR = 1e-3
"""Smallest size of a variable, as a share of the largest of its kind."""


@final
@dataclass(frozen=True, eq=False)
class Known:
    """A motion known at shares of its intervals: durations (stretches,), shares (k,), states x and inputs u.

    The shapes are x (k, nx) and u (k, m). `others` has the states of further arms under the same inputs.
    """

    durations: Array
    shares: Array
    x: Array
    u: Array
    others: tuple[Array, ...] = ()

    @property
    def ends(self) -> Array:
        """Times of the stretches' ends, with the beginning, (stretches + 1,)."""
        return np.append(0.0, np.cumsum(self.durations))

    def arm(self, i: int) -> "Known":
        """Motion of the arm of this index, or of the first arm if no other is known."""
        return self if not i or not self.others else replace(self, x=self.others[i - 1])

    def fill(self, grid: Grid, found: Array, within: Array) -> None:
        """Write the motion into a vector of unknowns on a grid, with inputs no larger than `within` (m,)."""
        N = grid.intervals
        found[grid.durations] = self.durations
        at = np.arange(N + 1) / N if grid.linear else (np.arange(N + 1) + 0.5) / N
        found[grid.inputs] = np.clip(self.at(self.u, at), -within, within)
        found[grid.nodes] = self.at(self.x, np.arange(N + 1) / N)
        found[grid.x] = self.at(self.x, grid.shares)

    def fill_sizes(self, grid: Grid, found: Array, within: Array) -> None:
        """Write the typical sizes of a grid's unknowns into a vector."""
        n, nq = grid.model.nv, grid.model.nq
        found[grid.durations] = self.durations
        u = np.abs(self.u).max(axis=0)
        found[grid.inputs] = np.where(np.isfinite(within), within, _floored(u))
        x = np.abs(self.x).max(axis=0)
        parts = [x[:nq], x[nq : nq + n], x[nq + n :]]
        found[grid.nodes] = found[grid.x] = np.concatenate([_floored(part) for part in parts])

    def at(self, values: Array, shares: Array) -> Array:
        """Values (k, n) of the motion at other shares, by linear interpolation."""
        return np.stack([np.interp(shares, self.shares, column) for column in values.T], axis=-1)


def _floored(sizes: Array) -> Array:
    return np.maximum(sizes, max(FLOOR * sizes.max(initial=0.0), 1e-9))


def prescribed(model: Model, places: Sequence[Array], torque: Array, duration: float | None) -> Known:
    """Return the motion from place to place (joints,), each stretch as `_quintic`, with a stop at each place.

    A given duration is divided equally among the stretches.
    """
    stretches = len(places) - 1
    parts = [
        _quintic(model, start, end, torque, None if duration is None else duration / stretches)
        for start, end in pairwise(places)
    ]
    shares = np.concatenate([(i + each.shares) / stretches for i, each in enumerate(parts)])
    shares = np.maximum.accumulate(shares + 1e-12 * np.arange(len(shares)))
    x, u = (np.vstack([getattr(each, name) for each in parts]) for name in "xu")
    return Known(np.concatenate([each.durations for each in parts]), shares, x, u)


def is_hasty(task: Task, known: Known) -> bool:
    """True if a motion is far faster than the limits on rates or on slopes of inputs allow. It then leads nowhere."""
    return bool(_hurry(task, known).max() > RASH)


def unhurried(task: Task, known: Known) -> Known:
    """Return the motion along the same quintics, with its duration doubled until a slower motion breaks no limit less.

    A beginning far faster than the limits on rates, on slopes of inputs or on deflections leads to no motion.
    """
    total = float(known.durations.sum())
    beyond = _beyond(task, known)
    for _ in range(DOUBLINGS):
        slower = prescribed(task.model, task.places, task.torque, 2.0 * total)
        less = _beyond(task, slower)
        if not (less < HASTY * beyond).any():
            return known
        known, total, beyond = slower, 2.0 * total, less
    return known


def _beyond(task: Task, known: Known) -> Array:
    """Return how far a motion of the first arm is beyond each kind of limit, as a share of it or in its own unit."""
    found = _hurry(task, known).tolist()
    for each in task.measures:
        y = each.along(known.x[:, : task.model.nq])
        found.append(float(np.maximum(each.lower - y, y - each.upper).max()))
    return np.maximum(found, 0.0)


def _hurry(task: Task, known: Known) -> Array:
    """Return the relative excesses of the first arm's torques, of their slopes and of its rates over their limits."""
    nq, joints = task.model.nq, list(task.model.arm.driven)
    t = np.interp(known.shares, np.arange(len(known.durations) + 1) / len(known.durations), known.ends)
    h = np.diff(t)
    within = h > 1e-6 * t[-1]  # excludes the jump from the end of a stretch to the beginning of the next
    slopes = np.abs(np.diff(known.u, axis=0))[within] / h[within, None]
    sizes = {
        "torque": np.abs(known.u),
        "torque_rate": slopes,
        "joint_rate": np.abs(known.x[:, [nq + i for i in joints]]),
    }
    found = [
        float((used.max(axis=0) / task.limits.sizes(name, used.shape[1])).max(initial=0.0)) - 1.0
        for name, used in sizes.items()
    ]
    return np.array(found)


def _quintic(model: Model, start: Array, end: Array, torque: Array, duration: float | None) -> Known:
    """Return the motion with the joints along a quintic from `start` to `end` (joints,).

    If no duration is given, it is the one at which the torques (m,) are just within their limits.
    """
    keep = ["q", "qd", "u", *(["drive_state"] if model.states else [])]
    fixed, T = duration is not None, 1.0 if duration is None else duration
    before = (np.inf, np.inf)
    for _ in range(30):
        run = simulate(
            model,
            T,
            PrescribedMotion(Quintic(tuple(start), tuple(end), T)),
            progress=False,
            samples=SAMPLES,
            rtol=1e-6,
            save=SaveAt(keep=keep),
        )
        used = float((np.abs(run.u.values).max(axis=0) / (FILLED * torque)).max(initial=0.0))
        held = used > 1.0 and T > before[0] and used > STANDING * before[1]  # what remains holds the arm up
        if fixed or used == 0.0 or 0.8 < used <= 1.0 or held:
            break
        before = (T, used)
        T *= float(np.clip(used, 0.04, 25.0)) ** 0.5 * 1.03
    q, qd, u = run.q.values, run.qd.values, run.u.values
    s = run.drive_state.values if model.states else np.zeros((len(q), 0))
    return Known(np.array([T]), np.linspace(0, 1, SAMPLES), np.hstack([q, qd, s]), u)
