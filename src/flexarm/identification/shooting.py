"""Residuals of a motion against data, with their derivatives in all unknowns.

A record is one shot from its first sample to its last, or has several segments, each a shot from its own state
(multiple shooting; Bock 1983). Joined segments have a condition with a weight: the end of a segment is the beginning of
the next. Segments that are not joined tolerate model errors that accumulate, such as drift.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from flexarm.arrays import Array
from flexarm.identification.motion import Course, Motion
from flexarm.identification.records import held, linear, nodes

FIRM = 1e3
"""Weight of a condition that joins segments, relative to the weight of the data in the state there."""


@final
@dataclass(frozen=True, eq=False)
class Measured:
    """A record in the form that a motion needs.

    Attributes
    ----------
    name : str
    t : (T,)
    u : (T, driven inputs)
    given : list of functions
        Each maps times to angle, rate and acceleration of a coordinate with a given motion, (..., 3).
    y : (T, outputs)
    x : (states,)
        Initial state, except for its unknown entries.
    """

    name: str
    t: Array
    u: Array
    given: tuple[Callable[[Array], Array], ...]
    y: Array
    x: Array

    @property
    def dt(self) -> float:
        """Time from one sample to the next [s]."""
        return float((self.t[-1] - self.t[0]) / (len(self.t) - 1))


def first(record: Measured, samples: int) -> Measured:
    """Return the first samples of a record."""
    rows = slice(None, samples)
    return replace(record, t=record.t[rows], u=record.u[rows], y=record.y[rows])


@final
@dataclass(frozen=True, eq=False)
class Layout:
    """Indices of the unknowns; -1 for known numbers.

    Attributes
    ----------
    count : int
        Number of unknowns.
    p : (k,)
        Index of each parameter of the motion.
    delay : int
    states : list of (segments, states), an array for each record
        Indices of the initial state of each segment.
    offsets : list of (outputs,), an array for each record
    """

    count: int
    p: Array
    delay: int
    states: tuple[Array, ...]
    offsets: tuple[Array, ...]


@final
@dataclass(frozen=True, eq=False)
class Shots:
    """A motion and the records with which it is compared.

    Attributes
    ----------
    p : (k,)
        Values of the motion's parameters, where they are known.
    delay : float
        Delay of the inputs [s], if it is known.
    steps : int
        Runge-Kutta steps between two samples.
    held : bool
        True if inputs are constant from sample to sample, False if they are linear.
    joined : bool
        True if a segment begins where the one before ends.
    """

    motion: Motion
    records: tuple[Measured, ...]
    layout: Layout
    p: Array
    delay: float
    steps: int
    held: bool
    joined: bool

    def modelled(self, values: Array) -> list[Array]:
        """Return the simulated outputs (T, outputs) for each record."""
        found = []
        for r, record in enumerate(self.records):
            y = np.empty_like(record.y)
            for s in range(len(self.layout.states[r])):
                rows, course = self._shot(values, r, s, np.zeros(0, dtype=int))
                y[rows] = course.y[: rows.stop - rows.start]
            found.append(y + taken(values, self.layout.offsets[r], np.zeros(record.y.shape[1])))
        return found

    def compared(self, values: Array) -> tuple[list[Array], list[Array], Array, Array]:
        """Return modelled minus measured outputs, and the gaps between segments, both with derivatives.

        Returns
        -------
        residuals : list of (T, outputs), slopes : list of (T, outputs, count)
        missing : (conditions,), slopes : (conditions, count)
        """
        residuals, slopes, missing, missing_slopes = [], [], [], []
        for r, record in enumerate(self.records):
            T, outputs = record.y.shape
            offsets = self.layout.offsets[r]
            y, J = np.empty((T, outputs)), np.zeros((T, outputs, self.layout.count))
            before: tuple[Array, Array] | None = None
            for s, states in enumerate(self.layout.states[r]):
                used = self._used(states)
                rows, course = self._shot(values, r, s, used)
                length = rows.stop - rows.start
                y[rows] = course.y[:length]
                J[rows, :, used] = course.slopes[:length]
                if before is not None and self.joined:
                    gap = before[1].copy()
                    at = states >= 0
                    gap[at, states[at]] -= 1.0
                    missing.append(before[0] - taken(values, states, record.x))
                    missing_slopes.append(gap)
                reached = np.zeros((len(course.x), self.layout.count))
                reached[:, used] = course.ends
                before = course.x, reached
            for j in np.flatnonzero(offsets >= 0):
                J[:, j, offsets[j]] += 1.0
            residuals.append(y + taken(values, offsets, np.zeros(outputs)) - record.y)
            slopes.append(J)
        none = np.zeros((0, self.layout.count))
        return residuals, slopes, np.concatenate([[], *missing]), np.vstack([none, *missing_slopes])

    def _used(self, states: Array) -> Array:
        """Indices of the unknowns on which a segment's motion depends."""
        shared = [*self.layout.p[self.layout.p >= 0], *([self.layout.delay] if self.layout.delay >= 0 else [])]
        return np.array([*shared, *states[states >= 0]], dtype=int)

    def _shot(self, values: Array, r: int, s: int, used: Array) -> tuple[slice, Course]:
        """Samples of a segment, which end before the next one begins, and its motion with derivatives in `used`."""
        record, layout = self.records[r], self.layout
        segments = len(layout.states[r])
        first, last = cuts(len(record.t), segments)[s : s + 2]
        rows = slice(first, last if s < segments - 1 else last + 1)
        states = layout.states[r][s]
        direction = {value: i for i, value in enumerate(used)}
        dx, dp = np.zeros((len(states), len(used))), np.zeros((len(self.p), len(used)))
        for places, into in ((states, dx), (layout.p, dp)):
            for i, value in enumerate(places):
                if value in direction:
                    into[i, direction[value]] = 1.0
        u, slope = self._driven(record, slice(first, last + 1), values)
        delays = np.zeros((u.shape[2], len(used)))
        if layout.delay in direction:
            delays[: record.u.shape[1], direction[layout.delay]] = 1.0
        x, p = taken(values, states, record.x), taken(values, layout.p, self.p)
        h = record.dt / self.steps
        return rows, self.motion(x, dx, p, dp, u, h, slope=slope, delays=delays)

    def _driven(self, record: Measured, rows: slice, values: Array) -> tuple[Array, Array]:
        """Inputs and their slopes at the nodes of some samples."""
        delay = values[self.layout.delay] if self.layout.delay >= 0 else self.delay
        if self.held:
            u = held(record.u[rows], self.steps)
            slope = np.zeros_like(u)
        else:
            u, slope = (x[rows] for x in linear(record.t, record.u, self.steps, delay))
        times = np.minimum(nodes(record.t, self.steps)[rows], record.t[-1])
        motions = [each(times) for each in record.given]
        return np.concatenate([u, *motions], axis=2), np.concatenate([slope, *map(np.zeros_like, motions)], axis=2)


def cuts(samples: int, segments: int) -> list[int]:
    """First samples of a record's segments, and the last sample."""
    return [round(i * (samples - 1) / segments) for i in range(segments + 1)]


def taken(values: Array, places: Array, otherwise: Array) -> Array:
    """Return the values at the given indices, and other numbers where an index is -1."""
    found = otherwise.copy()
    found[places >= 0] = values[places[places >= 0]]
    return found


def stacked(arrays: Sequence[Array], weights: Array) -> Array:
    """Stack residuals (T, outputs, ...) as weighted rows, record after record, output after output."""
    swapped = [np.moveaxis(x * weights.reshape(1, -1, *[1] * (x.ndim - 2)), 0, 1) for x in arrays]
    return np.concatenate([x.reshape(-1, *x.shape[2:]) for x in swapped])


def series(records: Sequence[Measured]) -> list[list[slice]]:
    """Rows of the signals of each record among these rows."""
    found, start = [], 0
    for record in records:
        T, outputs = record.y.shape
        found.append([slice(start + j * T, start + (j + 1) * T) for j in range(outputs)])
        start += T * outputs
    return found
