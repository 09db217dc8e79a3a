"""Explicit methods in SIMD batches of `LANES` runs, in the language that is translated.

Each lane has its own run, with its own time, step and input. One evaluation of the rates serves `LANES` runs at as many
different times. All lanes try a step. Each lane then accepts it or tries a shorter one by its own error, as a single
run does. A lane whose run has ended takes the next run. (A common time and step for all lanes is slower: the stiffest
moment of one run would shorten the steps of all. The results of a run would also depend on its neighbours.)

Each number of a state is stored as `LANES` consecutive doubles, one per lane. A value that differs between lanes is
repeated for every number of a state (`tiled`), so that one loop covers the complete states of all lanes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from flexarm.native.functions import translated
from flexarm.native.kernel import LANES
from flexarm.native.language import Floats, Words, call, lanes, sqrt
from flexarm.native.once import Once
from flexarm.simulation.advance import whole
from flexarm.simulation.lanes_closures import LanesClosing, close_lanes
from flexarm.simulation.lanes_touches import (
    LanesTouching,
    advanced_lanes,
    measured_given,
    measured_lanes,
    suspected,
)
from flexarm.simulation.rhs import (
    DIVERGED,
    EARLY,
    MIDDLE,
    PARTS,
    departs,
    interval,
    may_touch,
    passes,
    touched_in,
    touching_at,
)
from flexarm.simulation.stages import (
    NEARLY,
    SPACING,
    Stages,
    error_of,
    first_step,
    first_trial,
    following,
    interpolated,
    is_brief,
    moved,
    polynomial,
    shortened,
    shortest,
    summed,
)
from flexarm.simulation.steps import Trail, copied, placed

UNDER_WAY, DONE, TOO_SHORT, GROWN, ENDED = 0, 1, 2, 3, 4
"""Status of a run: running, completed, steps too short, diverged, ended by a check."""

NONE = -1
"""Index that stands for no run in an idle lane."""


@dataclass
class Lanes:
    """Inputs and results of native code for a number of runs.

    Each entry takes one word; arrays are stored as addresses.

    Attributes
    ----------
    rate, stage, data : addresses
        The kernel (x, u, ...) -> (dx, powers) for `LANES` states, the stage that writes u, and the stage's data.
    method : Stages
        The method, and the steps of all lanes.
    closing : LanesClosing
        The arm's closures.
    touching : LanesTouching
        The arm's contacts.
    size, states, constants, base : int
        Length of a state with quadrature states, length without them, and the numbers of each run after u, from `base`.
    weighed : int
        Length of the part of a state whose error counts; see `Layout.steering`.
    rtol, atol, guess : float
        `guess` is the first adaptive step of an interval, or 0 to determine it.
    step : (count,)
        Longest step of each run [s]; 0 means no limit for adaptive steps.
    budget : int
        Evaluations of a run after which it is first checked.
    count, total : int
        Numbers of runs and of times of the result.
    start, own, times, out
        (count, size), (count, constants), (total,), (count, total, size)
    corners, before, held, inputs
        Ends of intervals, the next smaller numbers, and u in each interval; `inputs` is 0 if `stage` writes u.
    where, stretches : (count,)
        Index of a run's first breakpoint, and its number of intervals.
    course : (count,)
        Index of a run's trajectory of inputs: of its table, or of a law's constants.
    fixed, laws, given
        Number of a law's constants, the constants (courses, fixed), and the memory for those of each lane.
    most : (states,)
        Sizes of the state's numbers beyond which a run has diverged.
    look, judge : (count,), address
        Evaluations of a run at which `void judge(y, t, lane)` is called, which sets the next ones; 0 ends the run.
    status, known, steps, evaluations : (count,)
        Results of a run; `known` is the number of times at which its state is known.
    stuck, left : (count, size), (count,)
        Last state and time of a run that could not continue.
    next, active, fresh, finished, stop : int
        Next run to begin, lanes with a run, lanes at the start of an interval, runs that ended. Python writes `stop`.
    run, part, end, sample, refused, count_down, table : (LANES,)
        Per lane: its run, the breakpoint at which its interval begins and the last one, the next time of the result,
        1 if the last step was too long, remaining fixed steps, and the index of its table.
    t, h, dt, new, took, goal, a, b
        (LANES,) numbers: time, next step, tried step, time at its end, 1 if accepted; work memory.
    buffer, y, end_y, M, f, g
        (t, x, u, dz, constants); state, state at the step's end; tiled numbers; work memory.
    recorded, trails, row : int, (count,), (size,)
        1 if the steps are recorded for derivatives, and the record of each run's steps. `row` has room for one state.
    """

    rate: int
    stage: int
    data: int
    method: Stages
    closing: LanesClosing
    touching: LanesTouching
    size: int
    states: int
    weighed: int
    constants: int
    base: int
    rtol: float
    atol: float
    step: Floats
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
    M: Floats
    f: Floats
    g: Floats
    recorded: int
    trails: Sequence[Trail]
    row: Floats


CODE = Once(lambda: translated(abreast, again, nothing, tables, evaluated_by))


def abreast(s: Lanes) -> None:
    """Advance all runs to their ends, or until Python sets `stop`."""
    for lane in range(LANES):
        s.run[lane] = NONE
        s.t[lane], s.h[lane] = 0.0, 0.0
        s.active += 1
        taken(s, lane)
    advanced(s)


def again(s: Lanes) -> None:
    """Repeat all runs from new initial states, over the same intervals, with the same or other inputs."""
    s.next, s.active, s.fresh, s.finished = 0, 0, 0, 0
    for r in range(s.count):
        s.status[r], s.evaluations[r], s.look[r] = UNDER_WAY, 0, s.budget
    abreast(s)


def advanced(s: Lanes) -> None:
    """Advance the lanes' runs and those that follow them."""
    while s.active > 0 and s.stop == 0:
        if s.fresh > 0:
            begun(s)
        tried(s)
        accept_steps(s)
        if s.method.adaptive == 1:
            sampled_between(s)
        passed(s)
    for lane in range(LANES):
        if s.run[lane] != NONE:
            s.known[s.run[lane]] = s.sample[lane]


# -- start and end of runs ---------------------------------------------------------------------------------------------


def taken(s: Lanes, lane: int) -> None:
    """Give the next run to a lane, or make the lane idle if there is none."""
    r = s.next
    if r >= s.count:
        s.run[lane] = NONE
        s.active -= 1
        return
    s.next += 1
    s.run[lane] = r
    spread(s.start[r * s.size :], s.y, lane, s.size)
    spread(s.own[r * s.constants :], s.buffer[s.base :], lane, s.constants)
    loops = s.closing
    spread(loops.own[r * loops.constants :], loops.given[LANES * loops.known :], lane, loops.constants)
    touching = s.touching
    known = touching.coordinates + touching.own
    spread(touching.of_runs[r * touching.constants :], touching.given[LANES * known :], lane, touching.constants)
    s.part[lane], s.end[lane] = s.where[r], s.where[r] + s.stretches[r]
    s.table[lane] = s.course[r]
    spread(s.laws[s.course[r] * s.fixed :], s.given, lane, s.fixed)
    s.sample[lane] = 1
    s.known[r] = 1
    opened(s, lane)


def opened(s: Lanes, lane: int) -> None:
    """Start an interval, at which u may have jumped and the rates are unknown."""
    part = s.part[lane]
    s.t[lane] = s.corners[part]
    spread(s.held[part * s.inputs :], s.buffer[LANES * (1 + s.states) :], lane, s.inputs)
    s.refused[lane], s.count_down[lane] = 0, 0
    s.h[lane] = -1.0
    s.fresh += 1


def closed(s: Lanes, lane: int, status: int) -> None:
    """Record the end of a lane's run, and give the lane the next one."""
    r = s.run[lane]
    s.status[r] = status
    s.known[r] = s.sample[lane]
    s.left[r] = s.t[lane]
    gathered(s.y, s.stuck[r * s.size :], lane, s.size)
    s.finished += 1
    taken(s, lane)


def spread(x: Floats, y: Floats, lane: int, count: int) -> None:
    """Copy the numbers of one run to its lane."""
    for j in range(count):
        y[LANES * j + lane] = x[j]


def gathered(x: Floats, y: Floats, lane: int, count: int) -> None:
    """Copy the numbers of a lane to a contiguous row."""
    for j in range(count):
        y[j] = x[LANES * j + lane]


def tiled(x: Floats, y: Floats, count: int) -> None:
    """Repeat one number per lane for `count` numbers of a state."""
    for j in range(count):
        row = y[LANES * j :]
        for i in lanes(LANES):
            row[i] = x[i]


# -- steps -------------------------------------------------------------------------------------------------------------


def evaluated(s: Lanes, at: float, to: Floats) -> None:
    """Evaluate the rates of the buffer's states at a fraction `at` of each lane's step, before the interval's end."""
    for lane in range(LANES):
        t = s.t[lane] + at * s.dt[lane]
        if s.run[lane] != NONE:
            t = min(t, s.before[s.part[lane] + 1])
        s.buffer[lane] = t
    put_lanes_on_closures(s, s.buffer[LANES:])
    call(s.stage, s.buffer, s.buffer[LANES * (1 + s.states) :], s.data)
    call(s.rate, s.buffer[LANES:], to)


def put_lanes_on_closures(s: Lanes, x: Floats) -> None:
    """Move the states of lanes with a run onto the closures of an arm that has some."""
    if s.closing.kernel != 0:
        for lane in range(LANES):
            s.closing.open[lane] = 1.0 if s.run[lane] != NONE else 0.0
        close_lanes(s.closing, x)


def begun(s: Lanes) -> None:
    """Compute the first rates and step in lanes that start an interval."""
    width, inner = LANES * s.size, LANES * s.states
    method, f, M, x, y = s.method, s.f, s.M, s.buffer[LANES:], s.y
    k, h = method.k, method.h
    for lane in range(LANES):
        s.a[lane] = 1.0 if s.run[lane] != NONE and s.h[lane] < 0.0 else 0.0
        s.took[lane], s.dt[lane] = s.a[lane], 0.0
    tiled(s.a, M, s.size)
    copied(y, x, inner)
    if s.touching.kernel != 0:
        measured_lanes(s.touching, y, 0)
    evaluated(s, 0.0, f)
    for i in lanes(width):
        k[i] = f[i] if M[i] > 0.0 else k[i]
    s.fresh = 0
    if method.adaptive == 0 or s.guess > 0.0:
        for lane in range(LANES):
            if s.took[lane] > 0.0:
                s.h[lane] = s.guess if method.adaptive == 1 else s.step[s.run[lane]]
                s.evaluations[s.run[lane]] += 1
        return
    scaled(s, y, y)
    sized(s, y, s.a)
    sized(s, k, s.b)
    for lane in range(LANES):
        s.dt[lane] = 0.0
        if s.took[lane] > 0.0:
            s.goal[lane] = sqrt(s.b[lane] / float(s.size))
            first = first_trial(sqrt(s.a[lane] / float(s.size)), s.goal[lane])
            s.dt[lane] = min(first, s.corners[s.part[lane] + 1] - s.t[lane])
    tiled(s.dt, h, s.size)
    for i in lanes(inner):
        x[i] = y[i] + h[i] * k[i]
    evaluated(s, 1.0, f)
    for i in lanes(width):
        f[i] -= k[i]
    sized(s, f, s.a)
    for lane in range(LANES):
        if s.took[lane] > 0.0:
            first = first_step(method, s.dt[lane], s.goal[lane], sqrt(s.a[lane] / float(s.size)))
            s.h[lane] = min(first, s.corners[s.part[lane] + 1] - s.t[lane])
            s.evaluations[s.run[lane]] += 2


def scaled(s: Lanes, y: Floats, z: Floats) -> None:
    """Set g = 1 / tolerance of each number, from the larger of two states."""
    g, atol, rtol = s.g, s.atol, s.rtol
    for i in lanes(LANES * s.weighed):
        g[i] = 1.0 / (atol + rtol * max(abs(y[i]), abs(z[i])))


def sized(s: Lanes, x: Floats, to: Floats) -> None:
    """Write the sum of squares of a lane's numbers, each relative to its tolerance."""
    for i in lanes(LANES):
        to[i] = 0.0
    for j in range(s.weighed):
        row, g = x[LANES * j :], s.g[LANES * j :]
        for i in lanes(LANES):
            to[i] += row[i] * g[i] * (row[i] * g[i])


def tried(s: Lanes) -> None:
    """Take a tentative step in every lane to end_y, and evaluate the rates there."""
    method, width, inner, x = s.method, LANES * s.size, LANES * s.states, s.buffer[LANES:]
    for lane in range(LANES):
        s.dt[lane], s.new[lane] = 0.0, s.t[lane]
        if s.run[lane] != NONE:
            end = s.corners[s.part[lane] + 1]
            if method.adaptive == 1:
                s.h[lane] = max(s.h[lane], 10.0 * SPACING * abs(s.t[lane]))
                if s.step[s.run[lane]] > 0.0:
                    s.h[lane] = min(s.h[lane], s.step[s.run[lane]])
                s.new[lane] = s.t[lane] + s.h[lane]
                if s.t[lane] + s.h[lane] * NEARLY >= end:
                    s.new[lane] = end
                s.dt[lane] = s.new[lane] - s.t[lane]
            else:
                equal(s, lane, end)
    tiled(s.dt, method.h, s.size)
    for stage in range(1, method.stages):
        moved(method, stage - 1, s.y, x, inner)
        evaluated(s, method.c[stage], method.k[stage * width :])
    moved(method, method.stages - 1, s.y, s.end_y, width)
    put_lanes_on_closures(s, s.end_y)
    copied(s.end_y, x, inner)
    evaluated(s, 1.0, method.k[method.stages * width :])


def equal(s: Lanes, lane: int, end: float) -> None:
    """Set equal steps to the next time of the result or to the interval's end, no longer than `step`."""
    if s.count_down[lane] == 0:
        s.goal[lane] = end
        if s.sample[lane] < s.total:
            s.goal[lane] = min(end, s.times[s.sample[lane]])
        s.count_down[lane] = whole((s.goal[lane] - s.t[lane]) / s.step[s.run[lane]])
        s.h[lane] = (s.goal[lane] - s.t[lane]) / float(s.count_down[lane])
    s.dt[lane] = s.h[lane]
    s.new[lane] = s.goal[lane] if s.count_down[lane] == 1 else s.t[lane] + s.h[lane]


def accept_steps(s: Lanes) -> None:
    """Decide which lanes accept their step, and set their next step."""
    method = s.method
    if method.adaptive == 1:
        inner = LANES * s.weighed
        scaled(s, s.y, s.end_y)
        summed(method, method.stages, s.f, inner)
        sized(s, s.f, s.a)
        if method.smoothed == 1:
            summed(method, method.stages + 1, s.f, inner)
            sized(s, s.f, s.b)
    for lane in range(LANES):
        s.took[lane] = 0.0
        r = s.run[lane]
        if r == NONE:
            continue
        s.evaluations[r] += method.stages
        s.took[lane] = 1.0
        if method.adaptive == 1:
            s.a[lane] = error_of(method, s.a[lane], s.b[lane], float(s.size))
            s.took[lane] = 1.0 if s.a[lane] < 1.0 else 0.0
    if method.adaptive == 1:
        if s.touching.kernel != 0:
            brushes(s)
        for lane in range(LANES):
            if s.run[lane] != NONE:
                continued(s, lane, s.a[lane])
    for lane in range(LANES):
        if s.took[lane] > 0.0 and (is_sound(s.end_y, lane, s.states, DIVERGED) == 0 or is_within(s, lane) == 0):
            s.took[lane] = 0.0
            closed(s, lane, GROWN)
        elif s.run[lane] != NONE and s.evaluations[s.run[lane]] > s.look[s.run[lane]]:
            call(s.judge, s.y, s.t, lane)
            if s.look[s.run[lane]] == 0:
                s.took[lane] = 0.0
                closed(s, lane, ENDED)


def continued(s: Lanes, lane: int, error: float) -> None:
    """Set a lane's next step, or end its run, after a step with this error relative to the tolerance."""
    method, end = s.method, s.corners[s.part[lane] + 1]
    if s.touching.hit[lane] == 1:
        s.took[lane] = 0.0
        s.h[lane], s.refused[lane] = 0.25 * s.dt[lane], 1
    elif error < 1.0:
        ready = following(method, error, s.dt[lane], s.refused[lane])
        if s.new[lane] < end or ready > s.h[lane]:  # the last step may be short
            s.h[lane] = ready
        s.refused[lane] = 0
    else:  # the step is rejected
        s.h[lane] = shortened(method, error, s.dt[lane])
        s.refused[lane] = 1
        if not s.h[lane] >= shortest(s.t[lane], error, end - s.corners[s.part[lane]]):  # true also for NaN
            closed(s, lane, TOO_SHORT)


def brushes(s: Lanes) -> None:
    """Find the lanes in whose step parts touch, or are apart, only between its ends, as `explicit.brushes` does."""
    touching = s.touching
    opened_for_check(s)
    measured_lanes(touching, s.end_y, PARTS)
    if touching.left == 0:
        return
    measured_on_cubics(s, 0.5, MIDDLE)
    measured_on_cubics(s, s.method.c[1], PARTS + 1)
    suspected(touching)
    departing = 0
    for lane in range(LANES):
        if touching.open[lane] == 1:
            if touching.low[lane] < 0.0:
                gathered(touching.rows, touching.gaps, lane, touching.total)
                departing += departs(touching.gaps, touching.count)
            else:
                closed_to_check(touching, lane)
    if touching.left == 0:
        return
    if departing > 0:
        measured_on_cubics(s, EARLY * s.method.c[1], 1)
    for lane in range(LANES):
        if touching.open[lane] == 1:
            gathered(touching.rows, touching.gaps, lane, touching.total)
            if departing > 0 and passes(touching.gaps, touching.count) == 1:
                touching.hit[lane] = 1
                closed_to_check(touching, lane)
            elif may_touch(touching.gaps, touching.count) == 1:
                s.evaluations[s.run[lane]] += s.method.further
            else:
                closed_to_check(touching, lane)
    if touching.left > 0:
        brushes_along(s)
        touching.left = 0


def opened_for_check(s: Lanes) -> None:
    """Open the lanes whose step would be accepted and is not too short for a check."""
    touching = s.touching
    touching.left = 0
    for lane in range(LANES):
        touching.hit[lane], touching.open[lane] = 0, 0
        if s.took[lane] > 0.0:
            length = s.corners[s.part[lane] + 1] - s.corners[s.part[lane]]
            touching.open[lane] = 1 - is_brief(s.dt[lane], s.t[lane], length)
            touching.left += touching.open[lane]


def closed_to_check(s: LanesTouching, lane: int) -> None:
    """End the check of a lane."""
    s.open[lane] = 0
    s.left -= 1


def measured_on_cubics(s: Lanes, along: float, row: int) -> None:
    """Compute the functions of touches at a fraction of each lane's step, as `explicit.measured_on_cubic` does."""
    touching = s.touching
    on_cubics(s, along, 0, touching.given, LANES * touching.coordinates)
    own = touching.given[LANES * touching.coordinates :]
    on_cubics(s, along, LANES * touching.place, own, LANES * touching.own)
    measured_given(touching, row)


def on_cubics(s: Lanes, along: float, first: int, to: Floats, count: int) -> None:
    """Compute some numbers of the states at a fraction of each lane's step, from the first one on."""
    left = 1.0 - along
    a, c = (1.0 + 2.0 * along) * left * left, (3.0 - 2.0 * along) * along * along
    y, z, k, h = s.y[first:], s.end_y[first:], s.method.k[first:], s.method.h[first:]
    last = s.method.k[s.method.stages * LANES * s.size + first :]
    for i in lanes(count):
        to[i] = a * y[i] + h[i] * along * left * left * k[i] + c * z[i] - h[i] * along * along * left * last[i]


def brushes_along(s: Lanes) -> None:
    """Find contacts on the interpolating polynomials of the open lanes."""
    touching = s.touching
    interpolating(s)
    for part in range(1, PARTS):
        for lane in range(LANES):
            s.b[lane] = float(part) / float(PARTS)
        brushes_at(s, part)
    for part in range(1, PARTS):
        for i in range(touching.count):
            found = 0
            for lane in range(LANES):
                s.b[lane] = 0.0
                if touching.open[lane] == 1:
                    gathered(touching.rows, touching.gaps, lane, touching.total)
                    s.b[lane] = touching_at(touching.gaps, touching.count, part, i)
                    found += 1 if s.b[lane] > 0.0 else 0
            if found > 0:
                brushes_at(s, PARTS + 1)


def brushes_at(s: Lanes, row: int) -> None:
    """Find contacts at the fractions `b` of the open lanes' steps; where it is 0 there is none."""
    tiled(s.b, s.M, s.size)
    interpolated(s.method, s.M, s.y, s.end_y, s.f)
    if s.closing.kernel != 0:
        for lane in range(LANES):
            s.closing.open[lane] = float(s.touching.open[lane])
        close_lanes(s.closing, s.f)
    measured_lanes(s.touching, s.f, row)
    hits(s.touching, row)


def hits(s: LanesTouching, row: int) -> None:
    """Close the open lanes in which parts of the arm touch, or are apart, in a row and not at the ends of a step."""
    for lane in range(LANES):
        if s.open[lane] == 1:
            gathered(s.rows, s.gaps, lane, s.total)
            if touched_in(s.gaps, s.count, row) == 1:
                s.hit[lane] = 1
                closed_to_check(s, lane)


def is_within(s: Lanes, lane: int) -> int:
    """Return whether each number at the end of a lane's step is within its bound."""
    for j in range(s.states):
        if abs(s.end_y[LANES * j + lane]) > s.most[j]:
            return 0
    return 1


def is_sound(x: Floats, lane: int, count: int, most: float) -> int:
    """Return 1 if all numbers of a lane are finite and smaller than `most`, else 0."""
    for j in range(count):
        if not abs(x[LANES * j + lane]) < most:
            return 0
    return 1


def sampled_between(s: Lanes) -> None:
    """Interpolate the states at the times of the result that the lanes' steps have passed."""
    if pending(s) == 0:
        return
    inside = 0
    for lane in range(LANES):
        if s.a[lane] >= 0.0 and s.a[lane] < 1.0:
            s.evaluations[s.run[lane]] += s.method.further
            inside = 1
    if inside == 1:
        interpolating(s)
    out = s.f
    while pending(s) > 0:
        tiled(s.a, s.M, s.size)
        interpolated(s.method, s.M, s.y, s.end_y, out)
        if s.closing.kernel != 0:
            for lane in range(LANES):
                s.closing.open[lane] = 1.0 if s.a[lane] >= 0.0 and s.a[lane] < 1.0 else 0.0
            close_lanes(s.closing, out)
        for lane in range(LANES):
            if s.a[lane] >= 0.0:
                r = s.run[lane]
                gathered(out, s.out[(r * s.total + s.sample[lane]) * s.size :], lane, s.size)
                s.sample[lane] += 1


def interpolating(s: Lanes) -> None:
    """Compute the interpolating polynomials of the lanes' steps."""
    method, width, inner, x = s.method, LANES * s.size, LANES * s.states, s.buffer[LANES:]
    for e in range(method.further):
        moved(method, method.stages + method.smoothed + 1 + e, s.y, x, inner)
        stage = method.stages + 1 + e
        if s.touching.left > 0:
            measured_lanes(s.touching, x, PARTS + 1)
            hits(s.touching, PARTS + 1)
        evaluated(s, method.c[stage], method.k[stage * width :])
    polynomial(method, s.y, s.end_y)


def pending(s: Lanes) -> int:
    """Count the lanes whose step has passed a time of the result, and set `a` to the fraction of the step, or to -1."""
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
    """Move lanes with accepted steps to their new states.

    At the end of an interval, start the next one or the next run.
    """
    width = LANES * s.size
    if s.recorded == 1:
        noted(s)
    y, z, k, f, M = s.y, s.end_y, s.method.k, s.method.k[s.method.stages * width :], s.M
    tiled(s.took, M, s.size)
    for i in lanes(width):
        y[i] = z[i] if M[i] > 0.0 else y[i]
        k[i] = f[i] if M[i] > 0.0 else k[i]
    advanced_lanes(s.touching, s.took)
    for lane in range(LANES):
        if s.took[lane] > 0.0:
            r = s.run[lane]
            s.steps[r] += 1
            s.t[lane] = s.new[lane]
            if s.method.adaptive == 0:
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


def noted(s: Lanes) -> None:
    """Record the accepted steps, as `explicit.noted` does for a single run."""
    size = s.size
    for lane in range(LANES):
        if s.took[lane] > 0.0:
            trail = s.trails[s.run[lane]]
            gathered(s.y, s.row, lane, size)
            row = placed(trail, s.t[lane], s.dt[lane], s.row, size)
            if row >= 0:
                rates = trail.ring[row * trail.width + size :]
                for stage in range(s.method.stages):
                    gathered(s.method.k[stage * LANES * size :], rates[stage * size :], lane, size)


# -- stages that write u -----------------------------------------------------------------------------------------------


def nothing(buffer: Floats, u: Floats, data: int) -> None:
    """Leave u in the buffer, where the start of an interval has set it."""


@dataclass
class By:
    """A kernel as a stage, with `known` numbers of the buffer and constants after them as its arguments."""

    kernel: int
    known: int
    given: Floats


def evaluated_by(buffer: Floats, u: Floats, s: By) -> None:
    """Evaluate u, and the rates of memory after u, by a kernel."""
    copied(buffer, s.given, LANES * s.known)
    call(s.kernel, s.given, u)


@dataclass
class Tables:
    """Concatenated tables of cubics, and the table of each lane.

    Attributes
    ----------
    inputs : int
    table : (LANES,)
    first, intervals : (tables,)
        First break of a table, and its number of intervals, one less than its breaks.
    breaks, coefficients
        (t,), (t, inputs, 4): one row of coefficients per break, the last of a table unused.
    """

    inputs: int
    table: Words
    first: Words
    intervals: Words
    breaks: Floats
    coefficients: Floats


def tables(buffer: Floats, u: Floats, s: Tables) -> None:
    """Evaluate u in each lane by the cubic of the interval that contains t."""
    for lane in range(LANES):
        of = s.table[lane]
        first, t = s.first[of], buffer[lane]
        low = interval(s.breaks, first, first + s.intervals[of], t)
        x = t - s.breaks[low]
        for i in range(s.inputs):
            c = s.coefficients[4 * (low * s.inputs + i) :]
            u[LANES * i + lane] = ((c[0] * x + c[1]) * x + c[2]) * x + c[3]
