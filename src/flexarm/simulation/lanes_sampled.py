"""Sampled laws in SIMD batches of `LANES` runs, from sample to sample, in the language that is translated.

Samples are at the same times in every run, so the lanes share a clock. Between two samples each lane has its own steps
by its own error (`lanes`). A lane whose law or motion has failed keeps its state, and its later values are not stored.
"""

import ctypes  # noqa: TID251  (calls code that this package compiled)
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from flexarm.arrays import Array, address_of
from flexarm.native.code import Code
from flexarm.native.functions import translated
from flexarm.native.kernel import LANES
from flexarm.native.language import Floats, Placed, Words, call
from flexarm.native.once import Once
from flexarm.simulation.advance import LARGEST
from flexarm.simulation.lanes import DONE, NONE, UNDER_WAY, Lanes, advanced, gathered, spread, taken
from flexarm.simulation.lanes_closures import BatchClosing
from flexarm.simulation.lanes_plan import Abreast, BatchSettings, Course
from flexarm.simulation.lanes_touches import BatchTouching
from flexarm.simulation.sampled_calls import SampledCalls
from flexarm.simulation.steps import copied

CALL = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)

NO_LAW = 5
"""Further status of a run, in addition to those of `lanes`: its law returned a value that is not finite."""


@dataclass
class Periods:
    """Up to `LANES` runs that share a clock. In the last batch, the last run fills idle lanes.

    Attributes
    ----------
    runs : Lanes
        The motion of the lanes' runs from one time to the next.
    law : address
        The kernel (t, q, qd, z, noise, constants) -> (u, next z), for `LANES` states. These arms have no drive states.
    size, states, inputs, memory, recorded, noises : int
        The last `recorded` numbers of the memory are stored together with u.
    total : int
        Number of times of the result.
    late : float
        Time by which a sample may follow a time of the result that gets its u [s].
    times, edges : (total,), (periods + 1,)
        Times of the result, and the starts and ends of periods.
    out, held : (LANES, total, size), (LANES, total, inputs + recorded)
        States of the lanes' runs, and u with recorded signals.
    noise : (LANES, periods, noises)
    given, found
        Arguments of the law, which include z, and its values.
    u, y : (inputs, LANES), (size, LANES)
        Constant inputs of the period, and states.
    status, known, evaluations, left, stuck
        Results of the lanes, as in `lanes.Lanes`; `runs` counts and limits the evaluations of one interval.
    what, value : (LANES,)
        Index of a value of the law that is not finite, and the value.
    sample, shown : int
        Index of the next time of the result without a state, and without u.
    stop : int
    known_arguments, calls : int, int
        Number of the law's arguments without its constants, and of its calls so far.
    recorded_calls, called, applied : int, (samples, arguments, LANES), (samples, inputs, LANES)
        1 if the calls of the law are recorded for derivatives; its arguments and u at each sample.
    """

    runs: Sequence[Lanes]
    law: int
    size: int
    states: int
    inputs: int
    memory: int
    recorded: int
    noises: int
    total: int
    late: float
    times: Floats
    edges: Floats
    out: Floats
    held: Floats
    noise: Floats
    given: Floats
    found: Floats
    u: Floats
    y: Floats
    status: Words
    known: Words
    evaluations: Words
    left: Floats
    stuck: Floats
    what: Words
    value: Floats
    sample: int
    shown: int
    stop: int
    known_arguments: int
    calls: int
    recorded_calls: int
    called: Floats
    applied: Floats


CODE = Once(lambda: translated(clocked))


@final
class Clock:
    """Up to `LANES` runs under one sampled law, from sample to sample.

    Parameters
    ----------
    shared : BatchSettings
        Method and settings of the motion between samples.
    law : Code
        Code of the law for `LANES` states.
    calls : list of SampledCalls
        The law of each run at its beginning.
    own : (runs, k)
        Numbers of each run after u.
    closing, touching : BatchClosing or None, BatchTouching or None
        The arm's closures and contacts, with constants of each lane.
    out, held : (runs, total, layout.size), (runs, total, m + recorded)
        Memory for states, and for u with recorded signals. It contains the first state.
    trails, samples : list of Trail, int
        Records of the steps of each run, and the number of samples whose calls are recorded, if derivatives are wanted.

    Attributes
    ----------
    status, known, left, stuck
        Results of the runs; see `Periods`.
    what, value : (LANES,)
        Further results, with idle lanes behind the runs.
    steps, evaluations : (runs,)
    u : (m, LANES)
        Current constant inputs.
    called, applied
        Recorded calls; see `Periods`.
    """

    def __init__(
        self,
        shared: BatchSettings,
        law: Code,
        calls: Sequence[SampledCalls],
        own: Array,
        closing: BatchClosing | None,
        touching: BatchTouching | None,
        out: Array,
        held: Array,
        trails: Sequence[Placed] = (),
        samples: int = 0,
    ):
        layout, times = shared.layout, shared.times
        count, size, states, m = len(calls), layout.size, layout.states, layout.inputs
        self._calls, self._count, self._code = calls, count, CODE()
        self._run = CALL(self._code.addresses["clocked"])
        self._m, self._states, self._held = m, states, held
        first = calls[0]
        memory, noises = first.memory, first.noises
        status, known, evaluations, what = np.zeros((4, LANES), dtype=np.int64)
        status[count:], known[:] = DONE, 1
        left, value, stuck = np.zeros(LANES), np.zeros(LANES), np.zeros((LANES, size))
        laws = np.array([each.constants for each in calls])
        given = np.zeros((1 + states + memory + noises + laws.shape[1], LANES))
        y = np.zeros((size, LANES))
        lanes = np.minimum(np.arange(LANES), count - 1)  # the last run fills idle lanes
        y[:] = out[lanes, 0].T
        given[1 + states : 1 + states + memory] = np.array([calls[i].memory_now for i in lanes]).T
        given[1 + states + memory + noises :] = laws[lanes].T
        courses = [Course(np.zeros(2), np.zeros((1, m)))] * LANES
        start = np.zeros((LANES, size))
        each = [trails[i] for i in lanes] if trails else []
        some = shared, start, own[lanes], courses, np.arange(LANES), out
        self._motion = Abreast(*some, closing=closing, touching=touching, trails=each)
        arguments = 1 + states + memory + noises
        self.called, self.applied = np.empty((samples, arguments, LANES)), np.empty((samples, m, LANES))
        self._codes = law, out
        self.record = Placed(
            Periods(
                runs=np.array([self._motion.record.address]),  # type: ignore[arg-type]
                law=law.addresses["evaluate"],
                size=size,
                states=states,
                inputs=m,
                memory=memory,
                recorded=held.shape[2] - m,
                noises=noises,
                total=len(times),
                late=first.late,
                times=times,
                edges=times,
                out=out,
                held=held,
                noise=times,
                given=given,
                found=np.zeros((m + memory, LANES)),
                u=np.zeros((m, LANES)),
                y=y,
                status=status,
                known=known,
                evaluations=evaluations,
                left=left,
                stuck=stuck,
                what=what,
                value=value,
                sample=1,
                shown=0,
                stop=0,
                known_arguments=arguments,
                calls=0,
                recorded_calls=int(samples > 0),
                called=self.called,
                applied=self.applied,
            )
        )
        self.status, self.known, self.left, self.stuck = status[:count], known[:count], left[:count], stuck[:count]
        self.u, self.what, self.value = self.record.u, what, value
        self.steps, self.evaluations = self._motion.steps[:count], evaluations[:count]

    def __call__(self, edges: Array) -> int:
        """Advance through the periods between these edges, and return how many were completed."""
        periods = len(edges) - 1
        noise = np.zeros((LANES, periods, max(self.record.noises, 1)))
        if self.record.noises:
            for row, each in zip(noise, self._calls, strict=False):
                row[:] = each.drawn(periods)
        self._now = edges, noise
        self.record.edges, self.record.noise = address_of(edges), address_of(noise)
        return self._run(self.record.address, periods)

    def stop(self) -> None:
        """End the runs, from another thread."""
        self.record.stop = 1
        self._motion.stop()

    def close(self) -> None:
        """Store the current u and recorded signals for the remaining known times."""
        u = self.record.u
        memory = self.record.given[1 + self._states : 1 + self._states + self.record.memory]
        now = np.vstack([u, memory[self.record.memory - self.record.recorded :]])
        for i in np.flatnonzero(self.status == UNDER_WAY):
            self._held[i, self.record.shown : self.known[i]] = now[:, i]


# -- translated functions ----------------------------------------------------------------------------------------------


def clocked(s: Periods, periods: int) -> int:
    """Advance by so many periods, or until Python sets `stop`. Return how many were completed."""
    z = s.given[LANES * (1 + s.states) :]
    for k in range(periods):
        if s.stop != 0 or well(s) == 0:
            return k
        t, end = s.edges[k], s.edges[k + 1]
        while s.shown < s.total and s.times[s.shown] < t - s.late:
            shown(s)
        for lane in range(LANES):
            s.given[lane] = t
            for j in range(s.noises):
                z[LANES * (s.memory + j) + lane] = s.noise[(lane * periods + k) * s.noises + j]
        copied(s.y, s.given[LANES:], LANES * s.states)
        call(s.law, s.given, s.found)
        if s.recorded_calls == 1:
            count, width = LANES * s.known_arguments, LANES * s.inputs
            copied(s.given, s.called[s.calls * count :], count)
            copied(s.found, s.applied[s.calls * width :], width)
            s.calls += 1
        for lane in range(LANES):
            for j in range(s.inputs + s.memory):
                if s.status[lane] == UNDER_WAY and not abs(s.found[LANES * j + lane]) <= LARGEST:
                    s.what[lane], s.value[lane] = j, s.found[LANES * j + lane]
                    failed(s, s.y, lane, t, NO_LAW)
        copied(s.found, s.u, LANES * s.inputs)
        copied(s.found[LANES * s.inputs :], z, LANES * s.memory)
        across(s, t, end)
        if s.runs[0].stop != 0:
            return k
        while s.sample < s.total and s.times[s.sample] <= end:
            s.sample += 1
    return periods


def across(s: Periods, t: float, end: float) -> None:
    """Advance every active run through a period. A run that fails ends in its last state."""
    runs, size = s.runs[0], s.size
    runs.active, runs.fresh = 0, 0
    for lane in range(LANES):
        runs.run[lane] = NONE
        if s.status[lane] == UNDER_WAY:
            runs.corners[2 * lane], runs.corners[2 * lane + 1] = t, end
            runs.before[2 * lane + 1] = end
            gathered(s.y, runs.start[lane * size :], lane, size)
            gathered(s.u, runs.held[2 * lane * s.inputs :], lane, s.inputs)
            runs.status[lane], runs.evaluations[lane], runs.look[lane] = UNDER_WAY, 0, runs.budget
            runs.next = lane
            runs.active += 1
            taken(runs, lane)
            runs.sample[lane] = s.sample
    runs.next = runs.count
    advanced(runs)
    if runs.stop != 0:
        return
    for lane in range(LANES):
        if s.status[lane] == UNDER_WAY:
            s.evaluations[lane] += runs.evaluations[lane]
            s.known[lane] = runs.known[lane]
            spread(runs.stuck[lane * size :], s.y, lane, size)
            if runs.status[lane] != DONE:
                failed(s, s.y, lane, runs.left[lane], runs.status[lane])


def shown(s: Periods) -> None:
    """Store the current u for the next time of the result."""
    for lane in range(LANES):
        if s.status[lane] == UNDER_WAY:
            told(s, lane, s.shown)
    s.shown += 1


def told(s: Periods, lane: int, i: int) -> None:
    """Store the current values of a lane for one time of the result."""
    row = s.held[(lane * s.total + i) * (s.inputs + s.recorded) :]
    gathered(s.u, row, lane, s.inputs)
    gathered(s.given[LANES * (1 + s.states + s.memory - s.recorded) :], row[s.inputs :], lane, s.recorded)


def well(s: Periods) -> int:
    """Return the number of active runs."""
    found = 0
    for lane in range(LANES):
        if s.status[lane] == UNDER_WAY:
            found += 1
    return found


def failed(s: Periods, y: Floats, lane: int, t: float, status: int) -> None:
    """End the lane's run, unless it has ended, in the state y at t."""
    if s.status[lane] == UNDER_WAY:
        s.status[lane] = status
        s.left[lane] = t
        gathered(y, s.stuck[lane * s.size :], lane, s.size)
        for i in range(s.shown, s.known[lane]):
            told(s, lane, i)
