"""Sampled laws in lanes, in the language that is translated: `LANES` runs from sample to sample.

Samples are at the same times in every run, and so are the fixed steps between them: the lanes share their clock. A lane
whose law or motion has failed goes on as it is, and nothing of it is kept.
"""

from dataclasses import dataclass

from flexarm.native.functions import translated
from flexarm.native.kernel import LANES
from flexarm.native.language import Floats, Words, call, lanes
from flexarm.native.once import Once
from flexarm.simulation.advance import LARGEST, whole
from flexarm.simulation.lanes import GROWN, UNDER_WAY, gathered, is_sound
from flexarm.simulation.rhs import DIVERGED
from flexarm.simulation.steps import copied

NO_LAW = 4
"""What may be said of a run beside what `lanes` says: that its law gave no numbers."""


@dataclass
class Clocked:
    """`LANES` runs that share their clock; of the last ones the very last may stand in for what lacks.

    Attributes
    ----------
    rate, law : addresses
        Of the kernels (x, u, ...) -> (dx, powers) and (t, q, qd, z, noise, ...) -> (u, next z), for `LANES` states.
    size, states, inputs, memory, recorded, noises : int
        Of the memory the last `recorded` numbers are shown beside u.
    total : int
        Times of the result.
    step, late : float
        Fixed steps are no longer [s]; a sample may come so much after a time at which u is shown.
    times, edges : (total,), (periods + 1,)
        Of the result; where periods begin and end.
    out, held : (LANES, total, size), (LANES, total, inputs + recorded)
        States of the lanes' runs, and u with what is recorded.
    noise : (LANES, periods, noises)
    given, found
        What the law is given, z among it, and what it gives.
    x, y, before, k, sum
        What the rate is given; states, and where they were a stretch ago; rates; places to work.
    status, known, left, stuck
        Of the lanes, as in `lanes.Lanes`.
    what, value : (LANES,)
        Where a law gave no number: which of what it gives, and what it is.
    sample, shown : int
        The next time of the result that does not know its state, and its u.
    steps, stop : int
    """

    rate: int
    law: int
    size: int
    states: int
    inputs: int
    memory: int
    recorded: int
    noises: int
    total: int
    step: float
    late: float
    times: Floats
    edges: Floats
    out: Floats
    held: Floats
    noise: Floats
    given: Floats
    found: Floats
    x: Floats
    y: Floats
    before: Floats
    k: Floats
    sum: Floats
    status: Words
    known: Words
    left: Floats
    stuck: Floats
    what: Words
    value: Floats
    sample: int
    shown: int
    steps: int
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
        copied(s.found, s.x[LANES * s.states :], LANES * s.inputs)
        copied(s.found[LANES * s.inputs :], z, LANES * s.memory)
        while t < end:
            goal = end
            if s.sample < s.total:
                goal = min(end, s.times[s.sample])
            copied(s.y, s.before, LANES * s.size)
            across(s, goal - t)
            for lane in range(LANES):
                if is_sound(s.y, lane, s.states, LARGEST) == 0:
                    failed(s, s.before, lane, t, GROWN)
                elif is_sound(s.y, lane, s.states, DIVERGED) == 0:
                    failed(s, s.y, lane, goal, GROWN)
            t = goal
            if s.sample < s.total and s.times[s.sample] == t:
                for lane in range(LANES):
                    if s.status[lane] == UNDER_WAY:
                        gathered(s.y, s.out[(lane * s.total + s.sample) * s.size :], lane, s.size)
                        s.known[lane] += 1
                s.sample += 1
    return periods


def across(s: Clocked, length: float) -> None:
    """The classical Runge-Kutta method, in equal steps."""
    width, inner = LANES * s.size, LANES * s.states
    count = whole(length / s.step)
    h = length / float(count)
    x, y, k, sum_ = s.x, s.y, s.k, s.sum
    for _ in range(count):
        copied(y, x, inner)
        call(s.rate, x, k)
        for i in lanes(inner):
            x[i] = y[i] + 0.5 * h * k[i]
        copied(k, sum_, width)
        call(s.rate, x, k)
        for i in lanes(inner):
            x[i] = y[i] + 0.5 * h * k[i]
        for i in lanes(width):
            sum_[i] += 2.0 * k[i]
        call(s.rate, x, k)
        for i in lanes(inner):
            x[i] = y[i] + h * k[i]
        for i in lanes(width):
            sum_[i] += 2.0 * k[i]
        call(s.rate, x, k)
        for i in lanes(width):
            y[i] += h * (sum_[i] + k[i]) / 6.0
    s.steps += count


def shown(s: Clocked) -> None:
    """The u held now is that of the next time of the result."""
    for lane in range(LANES):
        if s.status[lane] == UNDER_WAY:
            told(s, lane, s.shown)
    s.shown += 1


def told(s: Clocked, lane: int, i: int) -> None:
    """What a lane holds now is that of a time of the result."""
    row = s.held[(lane * s.total + i) * (s.inputs + s.recorded) :]
    gathered(s.x[LANES * s.states :], row, lane, s.inputs)
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
