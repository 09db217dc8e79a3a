"""Times at which a function of time changes faster than elsewhere, so that a solver must not step across them.

A solver takes long steps where nothing changes, and misses a pulse between two of its evaluations. Two searches find
such times:

- `of_function`, for inputs in native code, before the run: values on a fine grid are compared with cubic interpolation
  from grids of twice, four times, ... the spacing (Deslauriers & Dubuc). Where a fine grid is needed beside a place
  where a coarse one is enough, the solver restarts.
- `Seen`, for Python functions, which may be slow: what the solver saw, compared after the run with what the function
  gives where the solver did not look.
"""

from collections.abc import Callable
from typing import final

import numpy as np

from flexarm.arrays import Array

Function = Callable[[Array], Array]
"""Values (k, m) at times (k,)."""

COARSEST, FINEST, MOST = 4, 12, 15
"""Powers of two: cells of the coarsest grid, and of the finest, for results with few times and with many: 2^12 cells
show a pulse that lasts for 1/4000 of the run."""

ROUGH = 1e-2
"""Share of a signal's range by which interpolation may miss it. A solver sees what is left by its own error."""

COARSER = 3
"""Halvings of the spacing, from the coarsest that a run needs anywhere, after which the solver restarts: its steps
grow tenfold at most."""

FEW = 256
"""Breakpoints in a run. A signal with more of them is rough everywhere, and no solver steps across that unseen."""

HALVINGS = 45
"""Halvings that find a jump to the rounding of its time."""

NEAR = 1e-9
"""Share of an interval below which a part of it is too short to be an interval itself."""

CELLS = 1024
"""Number of cells of a run. Each cell stores the last value of a Python function that the solver saw."""


def of_function(function: Function, a: float, b: float, finest: int = FINEST) -> Array:
    """Return times in (a, b) at which a solver should restart, found on a grid of 2^finest cells.

    The function may jump at b: it is taken from the left there.
    """
    t = np.linspace(a, b, 2**finest + 1)
    t[-1] = np.nextafter(b, a)
    values = function(t)
    span = np.ptp(values, axis=0) if values.size else np.zeros(0)
    moving = (span > 0.0) & np.isfinite(span)
    if not moving.any():
        return np.empty(0)
    needed = _levels((values / np.where(moving, span, 1.0))[:, moving], finest)
    grades = (needed - needed.min()) // COARSER
    steep = np.flatnonzero(np.diff(grades)) + 1
    jumping = np.flatnonzero(
        (needed == finest) & (np.abs(np.diff(values, axis=0))[:, moving] > ROUGH * span[moving]).any(1)
    )
    if not 0 < len(steep) + len(jumping) <= FEW:
        return np.empty(0)
    jumps = [jump for i in jumping if (jump := jump_between(function, t[i], t[i + 1])) is not None]
    found = apart(np.concatenate([t[steep], jumps]), NEAR * (b - a))
    return found[(found > a + NEAR * (b - a)) & (found < b - NEAR * (b - a))]


def apart(t: Array, least: float) -> Array:
    """Return times in order, without times that the next one follows within `least`."""
    t = np.unique(t)
    return t[np.append(np.diff(t) > least, True)] if len(t) else t


def levels(samples: int) -> int:
    """Return the level of the finest grid for a run with so many times in its result."""
    return min(max(FINEST, int(np.ceil(np.log2(2 * samples)))), MOST)


def _levels(values: Array, finest: int) -> Array:
    """Return for each of the 2^finest cells the level of the grid that it needs.

    values (2^finest + 1, m) range over 1.
    """
    needed = np.full(2**finest, COARSEST)
    for level in range(COARSEST, finest):
        step = 2 ** (finest - level)
        x = values[::step]
        middle = values[step // 2 :: step]
        inner = (9.0 * (x[1:-2] + x[2:-1]) - (x[:-3] + x[3:])) / 16.0
        first = (5.0 * x[0] + 15.0 * x[1] - 5.0 * x[2] + x[3]) / 16.0
        last = (5.0 * x[-1] + 15.0 * x[-2] - 5.0 * x[-3] + x[-4]) / 16.0
        missed = np.abs(middle - np.vstack([first, inner, last])).max(axis=1) > ROUGH
        needed[np.repeat(missed, step)] = level + 1
    return needed


def jump_between(function: Function, a: float, b: float) -> float | None:
    """Return the time at which the new value begins where the function jumps between two times; else None.

    A jump may have a value of its own in its middle, as sign(0) = 0.
    """
    before, after = function(np.array([a, b]))
    whole = np.abs(after - before).max()
    for _ in range(HALVINGS):
        middle = 0.5 * (a + b)
        if not a < middle < b:
            break
        now = function(np.array([middle]))[0]
        if np.abs(now - before).max() > np.abs(after - now).max():
            b, after = middle, now
        else:
            a, before = middle, now
    return float(b) if np.abs(after - before).max() > 0.25 * whole else None


@final
class Seen:
    """Values of a Python function of time that a solver saw in a run: the last value in each of `CELLS` cells.

    Parameters
    ----------
    until : float
        The run's end [s].
    width : int
        Numbers that the function gives.
    """

    def __init__(self, until: float, width: int):
        self._until = until
        self._t, self._values = np.full(CELLS, np.nan), np.zeros((CELLS, width))

    def note(self, t: float, value: Array) -> None:
        """Remember the value that the solver was given."""
        cell = min(int(CELLS * t / self._until), CELLS - 1)
        self._t[cell] = t
        self._values[cell] = value

    def unseen(self, t: Array) -> Array:
        """Return the times in whose cells the solver did not evaluate the function."""
        cells = np.minimum((CELLS * t / self._until).astype(int), CELLS - 1)
        return t[np.isnan(self._t[cells])]

    def middles(self) -> Array:
        """Return the middles of the cells in which the solver did not evaluate the function."""
        return (np.flatnonzero(np.isnan(self._t)) + 0.5) * (self._until / CELLS)

    def missed(self, t: Array, values: Array) -> Array:
        """Return the times (k,) whose values (k, m) differ from the interpolation of the seen values."""
        from scipy.interpolate import PchipInterpolator

        known = ~np.isnan(self._t)
        if known.sum() < 2 or not len(t):
            return t[:0]
        there = self._values[known]
        span = np.ptp(np.vstack([there, values]), axis=0)
        with np.errstate(all="ignore"):  # two times may lie as near as rounding allows
            expected = PchipInterpolator(self._t[known], there)(np.clip(t, *self._t[known][[0, -1]]))
        away = np.abs(values - expected) > ROUGH * np.where(span > 0.0, span, np.inf)
        return t[away.any(axis=1)]

    def around(self, missed: Array, function: Function) -> Array:
        """Return the times of restarts that reveal the missed times: the start and the end of each group."""
        cell = self._until / CELLS
        groups = np.split(missed, np.flatnonzero(np.diff(missed) > 1.5 * cell) + 1)
        found: list[float] = []
        for group in groups[: FEW // 2]:
            for a, b in ((group[0] - cell, group[0]), (group[-1], group[-1] + cell)):
                a, b = max(a, 0.0), min(b, self._until)
                jump = jump_between(function, a, b)
                found += [jump] if jump is not None else [a, b]
        return np.array([t for t in found if 0.0 < t < self._until])
