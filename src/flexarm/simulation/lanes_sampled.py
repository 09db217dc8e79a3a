"""Sampled laws in lanes, in the language that is translated: `LANES` runs from sample to sample.

Samples are at the same times in every run: the lanes share their clock. Between two samples each lane has steps of its
own, by its own error (`lanes`). A lane whose law or motion has failed stays as it is, and nothing of it is kept.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from flexarm.native.functions import translated
from flexarm.native.kernel import LANES
from flexarm.native.language import Floats, Words, call
from flexarm.native.once import Once
from flexarm.simulation.advance import LARGEST
from flexarm.simulation.lanes import DONE, NONE, UNDER_WAY, Lanes, advanced, gathered, spread, taken
from flexarm.simulation.steps import copied

NO_LAW = 5
"""What may be said of a run beside what `lanes` says: that its law gave no numbers."""


@dataclass
class Clocked:
    """`LANES` runs that share their clock; of the last ones the very last may stand in for what lacks.

    Attributes
    ----------
    runs : Lanes
        The motion of the lanes' runs from one time to the next.
    law : address
        Of the kernel (t, q, qd, z, noise, ...) -> (u, next z), for `LANES` states.
    size, states, inputs, memory, recorded, noises : int
        Of the memory the last `recorded` numbers are shown beside u.
    total : int
        Times of the result.
    late : float
        A sample may come so much after a time at which u is shown [s].
    times, edges : (total,), (periods + 1,)
        Of the result; where periods begin and end.
    out, held : (LANES, total, size), (LANES, total, inputs + recorded)
        States of the lanes' runs, and u with what is recorded.
    noise : (LANES, periods, noises)
    given, found
        What the law is given, z among it, and what it gives.
    u, y : (inputs, LANES), (size, LANES)
        What is held; states.
    status, known, evaluations, left, stuck
        Of the lanes, as in `lanes.Lanes`; `runs` counts the evaluations of one stretch, and limits these.
    what, value : (LANES,)
        Where a law gave no number: which of what it gives, and what it is.
    sample, shown : int
        The next time of the result that does not know its state, and its u.
    stop : int
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


CODE = Once(lambda: translated(clocked))


def clocked(s: Clocked, periods: int) -> int:
    """So many periods, or as many as Python lets it."""
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
        for lane in range(LANES):
            for j in range(s.inputs + s.memory):
                if s.status[lane] == UNDER_WAY and not abs(s.found[LANES * j + lane]) <= LARGEST:
                    s.what[lane], s.value[lane] = j, s.found[LANES * j + lane]
                    failed(s, s.y, lane, t, NO_LAW)
        copied(s.found, s.u, LANES * s.inputs)
        copied(s.found[LANES * s.inputs :], z, LANES * s.memory)
        first = 1
        while t < end:
            goal = end
            if s.sample < s.total:
                goal = min(end, s.times[s.sample])
            across(s, t, goal, first)
            if s.runs[0].stop != 0:
                return k
            t, first = goal, 0
            if s.sample < s.total and s.times[s.sample] == t:
                for lane in range(LANES):
                    if s.status[lane] == UNDER_WAY:
                        gathered(s.y, s.out[(lane * s.total + s.sample) * s.size :], lane, s.size)
                        s.known[lane] += 1
                s.sample += 1
    return periods


def across(s: Clocked, t: float, goal: float, first: int) -> None:
    """Every run that goes on, from t to the goal; where one cannot, it ends in the last state that it reached.

    Behind the first such stretch of a period a run still knows its rates and the length of its next step.
    """
    runs, size = s.runs[0], s.size
    runs.active, runs.fresh = 0, 0
    for lane in range(LANES):
        runs.run[lane] = NONE
        if s.status[lane] == UNDER_WAY:
            runs.corners[2 * lane], runs.corners[2 * lane + 1] = t, goal
            runs.before[2 * lane + 1] = goal
            gathered(s.y, runs.start[lane * size :], lane, size)
            gathered(s.u, runs.held[2 * lane * s.inputs :], lane, s.inputs)
            runs.status[lane], runs.evaluations[lane], runs.look[lane] = UNDER_WAY, 0, runs.budget
            runs.next = lane
            runs.active += 1
            h = runs.h[lane]
            taken(runs, lane)
            if first == 0:
                runs.h[lane] = h
                runs.fresh -= 1
    runs.next = runs.count
    advanced(runs)
    if runs.stop != 0:
        return
    for lane in range(LANES):
        if s.status[lane] == UNDER_WAY:
            s.evaluations[lane] += runs.evaluations[lane]
            spread(runs.stuck[lane * size :], s.y, lane, size)
            if runs.status[lane] != DONE:
                failed(s, s.y, lane, runs.left[lane], runs.status[lane])


def shown(s: Clocked) -> None:
    """The u held now is that of the next time of the result."""
    for lane in range(LANES):
        if s.status[lane] == UNDER_WAY:
            told(s, lane, s.shown)
    s.shown += 1


def told(s: Clocked, lane: int, i: int) -> None:
    """What a lane holds now is that of a time of the result."""
    row = s.held[(lane * s.total + i) * (s.inputs + s.recorded) :]
    gathered(s.u, row, lane, s.inputs)
    gathered(s.given[LANES * (1 + s.states + s.memory - s.recorded) :], row[s.inputs :], lane, s.recorded)


def well(s: Clocked) -> int:
    """How many runs go on."""
    found = 0
    for lane in range(LANES):
        if s.status[lane] == UNDER_WAY:
            found += 1
    return found


def failed(s: Clocked, y: Floats, lane: int, t: float, status: int) -> None:
    """The lane's run ends, if it has not, in the state y at t."""
    if s.status[lane] == UNDER_WAY:
        s.status[lane] = status
        s.left[lane] = t
        gathered(y, s.stuck[lane * s.size :], lane, s.size)
        for i in range(s.shown, s.known[lane]):
            told(s, lane, i)
