"""Explicit methods in lanes, in the language that is translated: `LANES` runs at a time.

Each lane has a run of its own, with its own time, step and input; one evaluation of the rates serves `LANES` runs at as
many different times. All try a step, and each goes on or tries a shorter one by its own error, as in a run alone. A
lane whose run has ended takes the next. (Lanes that share their time and their step lost: the stiffest moment of one
run would shorten the steps of all, and a run's numbers would depend on its neighbours.)

A number of a state lies beside those of the other lanes: `LANES` doubles for each. What differs from lane to lane is
repeated for every number (`tiled`), so that a loop over lanes goes over all of a state.
"""

from dataclasses import dataclass

from flexarm.native.functions import translated
from flexarm.native.kernel import LANES
from flexarm.native.language import Floats, Words, call, lanes, sqrt
from flexarm.native.once import Once
from flexarm.simulation.advance import whole
from flexarm.simulation.rhs import DIVERGED, interval
from flexarm.simulation.steps import copied

SAFETY, LEAST, MOST = 0.9, 0.2, 10.0
"""Of what the error allows, the next step takes a little less; and it changes by no more than these factors."""
SPACING = 2.2e-16
"""Of numbers about 1."""

NEARLY = 1.000000001
"""A step that is so nearly as long as what is left of its stretch ends there: times are rounded."""

NO_RATES = 1e-9
"""A step of this part of its stretch that still leads to no rates ends the run: there is no motion ahead. (A telescope
at the end of its range would be approached in ever shorter steps.)"""

UNDER_WAY, DONE, TOO_SHORT, GROWN, ENDED = 0, 1, 2, 3, 4
"""Status of a run: not finished, known to its end, needs too short steps, has diverged, ended by who looked at it."""

NONE = -1
"""In the place of a run: the lane is idle."""


@dataclass
class Lanes:
    """What native code needs for a number of runs, and what it finds; a word each, arrays are places.

    Attributes
    ----------
    rate, stage, data : addresses
        Of the kernel (x, u, ...) -> (dx, powers) for `LANES` states, of what writes u, and of its data.
    stages, further, powers, order, hermite, adaptive, smoothed
        Of the method; see `lanes_tableaus.Explicit`. `powers` is the number of rows of the polynomial between.
    c : (stages + 1 + further,)
    first, terms, weights
        Sums of rates: the i-th has the groups of four terms from first[i] to first[i + 1].
    size, states, constants, base : int
        Numbers of a state with what rides along, without it, and those that a run has of its own behind u, from `base`.
    rtol, atol, step, guess : float
        `step` is the longest [s]; where steps are adaptive 0 means any. `guess` is the first of a stretch where steps
        are adaptive, 0 where it is to be found out.
    budget : int
        Evaluations of a run after which it is first checked.
    count, total : int
        Runs, times of the result.
    start, own, times, out
        (count, size), (count, constants), (total,), (count, total, size)
    corners, before, held, inputs
        Ends of stretches, numbers just below them, and what u is in each; `inputs` is 0 where `stage` writes u.
    where, stretches : (count,)
        Of a run the place of its first corner, and how many stretches follow.
    course : (count,)
        Of a run the number of what drives it: of its table, or of a law's constants.
    fixed, laws, given
        How many constants a law has, (courses, fixed) of them, and where those of each lane go.
    most : (states,)
        Sizes of the state's numbers beyond which a run has diverged.
    look, judge : (count,), address
        At so many evaluations of a run `void judge(y, t, lane)` is called, which sets the next; 0 ends the run.
    status, known, steps, evaluations : (count,)
        Of a run; of how many times its state is known.
    stuck, left : (count, size), (count,)
        Where a run could not go on: the last state and its time.
    next, active, fresh, finished, stop : int
        The next run to begin, lanes with a run, those at the beginning of a stretch, runs ended; Python writes `stop`.
    run, part, end, sample, refused, count_down, table : (LANES,)
        Of a lane: its run, the corner at which its stretch begins and the last one, the next time of the result,
        whether the last step was too long, fixed steps to go, and the number of its table.
    t, h, dt, new, took, goal, a, b
        (LANES,) numbers: time, step to try, step tried, time at its end, whether it was accepted; places to work.
    buffer, y, end_y, k, H, M, f, g, F
        (t, x, u, dz, constants); the state, at the step's end, rates; numbers that are tiled; places to work.
    """

    rate: int
    stage: int
    data: int
    stages: int
    further: int
    powers: int
    order: int
    hermite: int
    adaptive: int
    smoothed: int
    c: Floats
    first: Words
    terms: Words
    weights: Floats
    size: int
    states: int
    constants: int
    base: int
    rtol: float
    atol: float
    step: float
    guess: float
    budget: int
    count: int
    total: int
    start: Floats
    own: Floats
    times: Floats
    out: Floats
    corners: Floats
    before: Floats
    held: Floats
    inputs: int
    where: Words
    stretches: Words
    course: Words
    fixed: int
    laws: Floats
    given: Floats
    most: Floats
    look: Words
    judge: int
    status: Words
    known: Words
    steps: Words
    evaluations: Words
    stuck: Floats
    left: Floats
    next: int
    active: int
    fresh: int
    finished: int
    stop: int
    run: Words
    part: Words
    end: Words
    sample: Words
    refused: Words
    count_down: Words
    table: Words
    t: Floats
    h: Floats
    dt: Floats
    new: Floats
    took: Floats
    goal: Floats
    a: Floats
    b: Floats
    buffer: Floats
    y: Floats
    end_y: Floats
    k: Floats
    H: Floats
    M: Floats
    f: Floats
    g: Floats
    F: Floats


CODE = Once(lambda: translated(abreast, again, nothing, tables, evaluated_by))


def abreast(s: Lanes) -> None:
    """All runs, or as far as they have come when Python says stop."""
    for lane in range(LANES):
        s.run[lane] = NONE
        s.t[lane], s.h[lane] = 0.0, 0.0
        s.active += 1
        taken(s, lane)
    advanced(s)


def again(s: Lanes) -> None:
    """Run all once more from new starts, over the same intervals, with the same or other inputs."""
    s.next, s.active, s.fresh, s.finished = 0, 0, 0, 0
    for r in range(s.count):
        s.status[r], s.evaluations[r], s.look[r] = UNDER_WAY, 0, s.budget
    abreast(s)


def advanced(s: Lanes) -> None:
    """The lanes' runs, and those that follow them."""
    while s.active > 0 and s.stop == 0:
        if s.fresh > 0:
            begun(s)
        tried(s)
        judged(s)
        if s.adaptive == 1:
            sampled_between(s)
        passed(s)
    for lane in range(LANES):
        if s.run[lane] != NONE:
            s.known[s.run[lane]] = s.sample[lane]


# -- runs come and go --------------------------------------------------------------------------------------------------


def taken(s: Lanes, lane: int) -> None:
    """The lane takes the next run, if there is one."""
    r = s.next
    if r >= s.count:
        s.run[lane] = NONE
        s.active -= 1
        return
    s.next += 1
    s.run[lane] = r
    spread(s.start[r * s.size :], s.y, lane, s.size)
    spread(s.own[r * s.constants :], s.buffer[s.base :], lane, s.constants)
    s.part[lane], s.end[lane] = s.where[r], s.where[r] + s.stretches[r]
    s.table[lane] = s.course[r]
    spread(s.laws[s.course[r] * s.fixed :], s.given, lane, s.fixed)
    s.sample[lane] = 1
    s.known[r] = 1
    opened(s, lane)


def opened(s: Lanes, lane: int) -> None:
    """A stretch begins: u may have jumped, and nothing is known of the rates."""
    part = s.part[lane]
    s.t[lane] = s.corners[part]
    spread(s.held[part * s.inputs :], s.buffer[LANES * (1 + s.states) :], lane, s.inputs)
    s.refused[lane], s.count_down[lane] = 0, 0
    s.h[lane] = -1.0
    s.fresh += 1


def closed(s: Lanes, lane: int, status: int) -> None:
    """The lane's run has ended."""
    r = s.run[lane]
    s.status[r] = status
    s.known[r] = s.sample[lane]
    s.left[r] = s.t[lane]
    gathered(s.y, s.stuck[r * s.size :], lane, s.size)
    s.finished += 1
    taken(s, lane)


def spread(x: Floats, y: Floats, lane: int, count: int) -> None:
    """Numbers of one run, to its lane."""
    for j in range(count):
        y[LANES * j + lane] = x[j]


def gathered(x: Floats, y: Floats, lane: int, count: int) -> None:
    """Numbers of a lane, in a row."""
    for j in range(count):
        y[j] = x[LANES * j + lane]


def tiled(x: Floats, y: Floats, count: int) -> None:
    """A number of each lane, repeated for so many numbers of a state."""
    for j in range(count):
        row = y[LANES * j :]
        for i in lanes(LANES):
            row[i] = x[i]


# -- a step ------------------------------------------------------------------------------------------------------------


def evaluated(s: Lanes, at: float, to: Floats) -> None:
    """The rates of what lies in the buffer, at a part of each lane's step; before the stretch ends."""
    for lane in range(LANES):
        t = s.t[lane] + at * s.dt[lane]
        if s.run[lane] != NONE:
            t = min(t, s.before[s.part[lane] + 1])
        s.buffer[lane] = t
    call(s.stage, s.buffer, s.buffer[LANES * (1 + s.states) :], s.data)
    call(s.rate, s.buffer[LANES:], to)


def summed(s: Lanes, which: int, to: Floats, width: int) -> None:
    """H times one of the sums of rates."""
    row = LANES * s.size
    for group in range(s.first[which], s.first[which + 1]):
        a, b, c, d = s.weights[4 * group], s.weights[4 * group + 1], s.weights[4 * group + 2], s.weights[4 * group + 3]
        p, q = s.k[s.terms[4 * group] * row :], s.k[s.terms[4 * group + 1] * row :]
        u, v = s.k[s.terms[4 * group + 2] * row :], s.k[s.terms[4 * group + 3] * row :]
        H = s.H
        if group == s.first[which]:
            for i in lanes(width):
                to[i] = H[i] * (a * p[i] + b * q[i] + c * u[i] + d * v[i])
        else:
            for i in lanes(width):
                to[i] += H[i] * (a * p[i] + b * q[i] + c * u[i] + d * v[i])


def moved(s: Lanes, which: int, to: Floats, width: int) -> None:
    """The state that one of the sums leads to."""
    y = s.y
    summed(s, which, to, width)
    for i in lanes(width):
        to[i] += y[i]


def begun(s: Lanes) -> None:
    """The first rates of a stretch, and its first step (Hairer, Norsett & Wanner II.4), where lanes begin one."""
    width, inner = LANES * s.size, LANES * s.states
    k, f, M, H = s.k, s.f, s.M, s.H
    x, y = s.buffer[LANES:], s.y
    for lane in range(LANES):
        s.a[lane] = 1.0 if s.run[lane] != NONE and s.h[lane] < 0.0 else 0.0
        s.took[lane], s.dt[lane] = s.a[lane], 0.0
    tiled(s.a, M, s.size)
    copied(y, x, inner)
    evaluated(s, 0.0, f)
    for i in lanes(width):
        k[i] = f[i] if M[i] > 0.0 else k[i]
    s.fresh = 0
    if s.adaptive == 0 or s.guess > 0.0:
        for lane in range(LANES):
            if s.took[lane] > 0.0:
                s.h[lane] = s.guess if s.adaptive == 1 else s.step
                s.evaluations[s.run[lane]] += 1
        return
    scaled(s, y, y)
    sized(s, y, s.a)
    sized(s, k, s.b)
    for lane in range(LANES):
        s.dt[lane] = 0.0
        if s.took[lane] > 0.0:
            x0, x1 = sqrt(s.a[lane] / float(s.size)), sqrt(s.b[lane] / float(s.size))
            first = 1e-6 if x0 < 1e-5 or x1 < 1e-5 else 0.01 * x0 / x1
            s.dt[lane] = min(first, s.corners[s.part[lane] + 1] - s.t[lane])
            s.goal[lane] = x1
    tiled(s.dt, H, s.size)
    for i in lanes(inner):
        x[i] = y[i] + H[i] * k[i]
    evaluated(s, 1.0, f)
    for i in lanes(inner):
        f[i] -= k[i]
    sized(s, f, s.a)
    for lane in range(LANES):
        if s.took[lane] > 0.0:
            h = s.dt[lane]
            x1, x2 = s.goal[lane], sqrt(s.a[lane] / float(s.size)) / h
            most = max(x1, x2)
            second = max(1e-6, h * 1e-3) if most <= 1e-15 else (0.01 / most) ** (1.0 / float(s.order + 1))
            s.h[lane] = min(min(100.0 * h, second), s.corners[s.part[lane] + 1] - s.t[lane])
            s.evaluations[s.run[lane]] += 2


def scaled(s: Lanes, y: Floats, z: Floats) -> None:
    """g = 1 over the tolerance of each number, of the larger of two states."""
    g, atol, rtol = s.g, s.atol, s.rtol
    for i in lanes(LANES * s.states):
        g[i] = 1.0 / (atol + rtol * max(abs(y[i]), abs(z[i])))


def sized(s: Lanes, x: Floats, to: Floats) -> None:
    """Sum of the squares of a lane's numbers, each in units of its tolerance."""
    for i in lanes(LANES):
        to[i] = 0.0
    for j in range(s.states):
        row, g = x[LANES * j :], s.g[LANES * j :]
        for i in lanes(LANES):
            to[i] += row[i] * g[i] * (row[i] * g[i])


def tried(s: Lanes) -> None:
    """A step of every lane, as long as it will, to end_y, with the rates there."""
    width, inner, stages = LANES * s.size, LANES * s.states, s.stages
    x = s.buffer[LANES:]
    for lane in range(LANES):
        s.dt[lane], s.new[lane] = 0.0, s.t[lane]
        if s.run[lane] != NONE:
            end = s.corners[s.part[lane] + 1]
            if s.adaptive == 1:
                s.h[lane] = max(s.h[lane], 10.0 * SPACING * abs(s.t[lane]))
                if s.step > 0.0:
                    s.h[lane] = min(s.h[lane], s.step)
                s.new[lane] = s.t[lane] + s.h[lane]
                if s.t[lane] + s.h[lane] * NEARLY >= end:
                    s.new[lane] = end
                s.dt[lane] = s.new[lane] - s.t[lane]
            else:
                equal(s, lane, end)
    tiled(s.dt, s.H, s.size)
    for stage in range(1, stages):
        moved(s, stage - 1, x, inner)
        evaluated(s, s.c[stage], s.k[stage * width :])
    moved(s, stages - 1, s.end_y, width)
    copied(s.end_y, x, inner)
    evaluated(s, 1.0, s.k[stages * width :])


def equal(s: Lanes, lane: int, end: float) -> None:
    """Equal steps to the next time of the result, or to the end of the stretch, none longer than asked for."""
    if s.count_down[lane] == 0:
        s.goal[lane] = end
        if s.sample[lane] < s.total:
            s.goal[lane] = min(end, s.times[s.sample[lane]])
        s.count_down[lane] = whole((s.goal[lane] - s.t[lane]) / s.step)
        s.h[lane] = (s.goal[lane] - s.t[lane]) / float(s.count_down[lane])
    s.dt[lane] = s.h[lane]
    s.new[lane] = s.goal[lane] if s.count_down[lane] == 1 else s.t[lane] + s.h[lane]


def judged(s: Lanes) -> None:
    """Which lanes accept their step, and how long their next one is."""
    if s.adaptive == 1:
        inner, stages = LANES * s.states, s.stages
        scaled(s, s.y, s.end_y)
        summed(s, stages, s.f, inner)
        sized(s, s.f, s.a)
        if s.smoothed == 1:
            summed(s, stages + 1, s.f, inner)
            sized(s, s.f, s.b)
    for lane in range(LANES):
        s.took[lane] = 0.0
        r = s.run[lane]
        if r == NONE:
            continue
        s.evaluations[r] += s.stages
        if s.adaptive == 0:
            s.took[lane] = 1.0
            continue
        e, n = s.a[lane], float(s.size)
        if s.smoothed == 1 and e > 0.0:
            e = e / sqrt((e + 0.01 * s.b[lane]) * n)
        elif e > 0.0:
            e = sqrt(e / n)
        factor = MOST if e == 0.0 else LEAST
        if e > 0.0 and e < 1e300:
            factor = SAFETY * e ** (-1.0 / float(s.order + 1))
        if e < 1.0:
            s.took[lane] = 1.0
            following = s.dt[lane] * min(factor, 1.0 if s.refused[lane] == 1 else MOST)
            if s.new[lane] < s.corners[s.part[lane] + 1] or following > s.h[lane]:  # the last one may be short
                s.h[lane] = following
            s.refused[lane] = 0
        else:
            s.h[lane] = s.dt[lane] * max(factor, LEAST)
            s.refused[lane] = 1
            least = max(10.0 * SPACING * abs(s.t[lane]), 1e-300)
            if not e < 1e300:
                least = max(least, NO_RATES * (s.corners[s.part[lane] + 1] - s.corners[s.part[lane]]))
            if not s.h[lane] >= least:  # also for NaN
                closed(s, lane, TOO_SHORT)
    for lane in range(LANES):
        if s.took[lane] > 0.0 and (is_sound(s.end_y, lane, s.states, DIVERGED) == 0 or is_within(s, lane) == 0):
            s.took[lane] = 0.0
            closed(s, lane, GROWN)
        elif s.run[lane] != NONE and s.evaluations[s.run[lane]] > s.look[s.run[lane]]:
            call(s.judge, s.y, s.t, lane)
            if s.look[s.run[lane]] == 0:
                s.took[lane] = 0.0
                closed(s, lane, ENDED)


def is_within(s: Lanes, lane: int) -> int:
    """Return whether each number at the end of a lane's step is within its bound."""
    for j in range(s.states):
        if abs(s.end_y[LANES * j + lane]) > s.most[j]:
            return 0
    return 1


def is_sound(x: Floats, lane: int, count: int, most: float) -> int:
    """Whether no number of a lane is beyond this, or none at all."""
    for j in range(count):
        if not abs(x[LANES * j + lane]) < most:
            return 0
    return 1


def sampled_between(s: Lanes) -> None:
    """States at the times of the result that the lanes have passed, by the polynomial of their step."""
    width, inner = LANES * s.size, LANES * s.states
    if pending(s) == 0:
        return
    x, ready = s.buffer[LANES:], s.stages + s.smoothed + 1
    for e in range(s.further):
        moved(s, ready + e, x, inner)
        evaluated(s, s.c[s.stages + 1 + e], s.k[(s.stages + 1 + e) * width :])
    for lane in range(LANES):
        if s.a[lane] >= 0.0:
            s.evaluations[s.run[lane]] += s.further
    y, M, F, G = s.y, s.M, s.F, s.F[width:]
    if s.hermite == 1:
        P, H, k, f, z = s.F[2 * width :], s.H, s.k, s.k[s.stages * width :], s.end_y
        for i in lanes(width):
            F[i] = z[i] - y[i]
            G[i] = H[i] * k[i] - F[i]
            P[i] = 2.0 * F[i] - H[i] * (f[i] + k[i])
    made = 3 if s.hermite == 1 else 0
    for p in range(made, s.powers):
        summed(s, ready + s.further + p - made, s.F[p * width :], width)
    out = s.f
    while pending(s) > 0:
        tiled(s.a, M, s.size)
        if s.hermite == 1:
            hermite(s, out, width)
        else:
            quartic(s, out, width)
        for lane in range(LANES):
            if s.a[lane] >= 0.0:
                r = s.run[lane]
                gathered(out, s.out[(r * s.total + s.sample[lane]) * s.size :], lane, s.size)
                s.sample[lane] += 1


def hermite(s: Lanes, out: Floats, width: int) -> None:
    """The polynomial of DOP853, in nested form, at the part M of each step."""
    y, x, F = s.y, s.M, s.F
    a, b, c, d, e, f = F[width:], F[2 * width :], F[3 * width :], F[4 * width :], F[5 * width :], F[6 * width :]
    for i in lanes(width):
        out[i] = b[i] + (1.0 - x[i]) * (c[i] + x[i] * (d[i] + (1.0 - x[i]) * (e[i] + x[i] * f[i])))
        out[i] = y[i] + x[i] * (F[i] + (1.0 - x[i]) * (a[i] + x[i] * out[i]))


def quartic(s: Lanes, out: Floats, width: int) -> None:
    """The polynomial of four rows, at the part M of each step."""
    y, x, a, b, c, d = s.y, s.M, s.F, s.F[width:], s.F[2 * width :], s.F[3 * width :]
    for i in lanes(width):
        out[i] = y[i] + x[i] * (a[i] + x[i] * (b[i] + x[i] * (c[i] + x[i] * d[i])))


def pending(s: Lanes) -> int:
    """Lanes whose step has passed a time of the result, and in a where in the step that lies; less than 0: none."""
    found = 0
    for lane in range(LANES):
        s.a[lane] = -1.0
        if s.took[lane] > 0.0 and s.sample[lane] < s.total:
            time = s.times[s.sample[lane]]
            if time <= s.new[lane]:
                s.a[lane] = (time - s.t[lane]) / s.dt[lane]
                found += 1
    return found


def passed(s: Lanes) -> None:
    """What was accepted is where the lanes are; at the end of a stretch the next one begins, or the next run."""
    width = LANES * s.size
    y, z, k, f, M = s.y, s.end_y, s.k, s.k[s.stages * width :], s.M
    tiled(s.took, M, s.size)
    for i in lanes(width):
        y[i] = z[i] if M[i] > 0.0 else y[i]
        k[i] = f[i] if M[i] > 0.0 else k[i]
    for lane in range(LANES):
        if s.took[lane] > 0.0:
            r = s.run[lane]
            s.steps[r] += 1
            s.t[lane] = s.new[lane]
            if s.adaptive == 0:
                s.count_down[lane] -= 1
                next_ = s.sample[lane]
                if s.count_down[lane] == 0 and next_ < s.total and s.times[next_] == s.t[lane]:
                    gathered(y, s.out[(r * s.total + next_) * s.size :], lane, s.size)
                    s.sample[lane] += 1
            if s.t[lane] == s.corners[s.part[lane] + 1]:
                s.part[lane] += 1
                if s.part[lane] == s.end[lane]:
                    closed(s, lane, DONE)
                else:
                    opened(s, lane)


# -- what writes u -----------------------------------------------------------------------------------------------------


def nothing(buffer: Floats, u: Floats, data: int) -> None:
    """u stands in the buffer, and is changed where a stretch begins."""


@dataclass
class By:
    """A kernel as a stage: it takes so many numbers of the buffer, and constants behind them."""

    kernel: int
    known: int
    given: Floats


def evaluated_by(buffer: Floats, u: Floats, s: By) -> None:
    """u, and what else is written behind it, by a kernel."""
    copied(buffer, s.given, LANES * s.known)
    call(s.kernel, s.given, u)


@dataclass
class Tables:
    """Tables of cubics, laid end to end, and which of them each lane has.

    Attributes
    ----------
    inputs : int
    table : (LANES,)
    first, intervals : (tables,)
        Of a table: its first break, and how many intervals it has. It has one break more than intervals.
    breaks, coefficients
        (t,), (t, inputs, 4): one row of coefficients a break, the last of a table unused.
    """

    inputs: int
    table: Words
    first: Words
    intervals: Words
    breaks: Floats
    coefficients: Floats


def tables(buffer: Floats, u: Floats, s: Tables) -> None:
    """In each lane u by the cubic of the interval that holds t."""
    for lane in range(LANES):
        of = s.table[lane]
        first, t = s.first[of], buffer[lane]
        low = interval(s.breaks, first, first + s.intervals[of], t)
        x = t - s.breaks[low]
        for i in range(s.inputs):
            c = s.coefficients[4 * (low * s.inputs + i) :]
            u[LANES * i + lane] = ((c[0] * x + c[1]) * x + c[2]) * x + c[3]
