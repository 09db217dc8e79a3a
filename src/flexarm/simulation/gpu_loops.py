"""Runs by explicit methods, one per thread of a graphics processor, in the language that is translated.

A launch advances all runs and stores their positions in the record, where the next launch continues. Each number of a
state lies beside the same number of the other runs.

The sums of rates, the error control and the interpolating polynomial are those of `stages`, as on the CPU. The rates
are evaluated in one place of the loop only, whatever they are for. The threads of a warp therefore evaluate them
together, even where some begin an interval, some repeat a step and some interpolate.

The names in capitals are replaced by numbers in the translation, see `Form`. Loops over a state are then unrolled, and
the state of a run is in registers. Rates of several stages are in a thread's own memory.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import final

from flexarm.model.closures import CORRECTIONS, MET
from flexarm.native.language import Floats, Words, lanes, sqrt
from flexarm.native.nvptx import BLOCKS, Entry, evaluate
from flexarm.native.sincos import Real
from flexarm.simulation.advance import LARGEST
from flexarm.simulation.butcher import ButcherTableau
from flexarm.simulation.gpu_contacts import (
    BEYOND,
    CHECKED,
    CLOSER,
    CROSSINGS,
    LEAST,
    SHORT_CONTACT,
    TOUCHES,
    is_across,
    may_brush,
    measured_at,
    on_contact,
    unwatched_for,
)
from flexarm.simulation.layout import Layout
from flexarm.simulation.rhs import DIVERGED, PARTS, interval, touched_in, touching_at
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

SMALL = MET**2
"""Sum of squares of gaps and their rates that is small enough."""

UNDER_WAY, DONE, TOO_SHORT, GROWN, ENDED, NO_LAW = 0, 1, 2, 3, 4, 5
"""Status of a run, as in `lanes` and `lanes_sampled`."""

HELD, LAW, TABLE, SAMPLED = 0, 1, 2, 3
"""Sources of u: a constant in each interval, a compiled function of time or of the state, a table of cubics, or a law
that is evaluated at the start of each interval."""

TRIAL = -1
"""Number of the evaluation that determines the first step of an interval, among the numbers of the stages."""

SIZE, STATES, INPUTS, WEIGHED, CLOSED, SOURCE = 1, 1, 1, 1, 0, HELD
MEMORY, NOISES, RECORDED = 0, 0, 0
STAGES, FURTHER, POWERS, ORDER, ADAPTIVE, SMOOTHED, CHAINED = 1, 0, 3, 1, 0, 0, 0

SHORT = 350
"""Operations of a program up to which more threads run at once at the cost of a few spills."""
MORE_BLOCKS = {"double": 3, "float": 5}
"""Blocks of short programs. For two planar links, ptxas spills four numbers in double and none in float."""

FLOAT = {
    "SPACING": 1.2e-7,
    "NEARLY": 1.00001,
    "HUGE": 1e38,
    "TINY": 1e-37,
    "LARGEST": 3.4028234663852886e38,
    "BRIEF": 1e-5,
}
"""Constants of `stages`, `steps` and `advance` for numbers of 32 bits."""


@final
@dataclass(frozen=True)
class Form:
    """Numbers that determine a program: each replaces the name in capitals.

    Attributes
    ----------
    size, states, inputs, weighed : int
        Lengths of a state with and without quadrature states, of u, and of the part whose error counts.
    closed : int
        Length of q and qd, which a correction moves onto the closures, or 0.
    source : int
        Source of u.
    memory, noises, recorded : int
        Lengths of a sampled law's memory and noise. The last `recorded` numbers of the memory are stored with u.
    stages, further, powers, order, adaptive, smoothed
        See `stages.Stages`.
    chained : int
        1 if the method has fixed steps and each stage depends only on the one before. Only one stage's rates are then
        in memory.
    crossings, touches : int
        Numbers of contact functions at which the run stops, and of those that each step is checked for.
    coordinates, drive_states, drive_place : int
        Lengths of q and of the states of drives, and the place of the latter in a state.
    """

    size: int
    states: int
    inputs: int
    weighed: int
    closed: int
    source: int
    stages: int
    further: int
    powers: int
    order: int
    adaptive: int
    smoothed: int
    chained: int
    memory: int = 0
    noises: int = 0
    recorded: int = 0
    crossings: int = 0
    touches: int = 0
    coordinates: int = 1
    drive_states: int = 0
    drive_place: int = 0

    @classmethod
    def of(
        cls,
        layout: Layout,
        tableau: ButcherTableau,
        source: int = HELD,
        closed: int = 0,
        lengths: tuple[int, int, int] = (0, 0, 0),
        crossings: int = 0,
        touches: int = 0,
    ) -> "Form":
        """Return the numbers of runs with a layout, by a method. `lengths` are those of a sampled law, see `Form`."""
        return cls(
            size=layout.size,
            states=layout.states,
            inputs=layout.inputs,
            weighed=layout.steering.stop,
            closed=closed,
            source=source,
            stages=tableau.stages,
            further=len(tableau.between) if tableau.adaptive else 0,
            powers=tableau.powers,
            order=tableau.order,
            adaptive=int(tableau.adaptive),
            smoothed=int(len(tableau.errors) == 2),
            chained=int(not tableau.adaptive and tableau.chained),
            memory=lengths[0],
            noises=lengths[1],
            recorded=lengths[2],
            crossings=crossings,
            touches=touches,
            coordinates=layout.nq,
            drive_states=layout.own,
            drive_place=layout.s.start,
        )

    def constants(self, real: Real) -> Mapping[str, float]:
        """Return the values of the names in capitals."""
        found = {each.name.upper(): getattr(self, each.name) for each in fields(self)}
        return found | FLOAT if real == "float" else found

    def entry(self, fed: int, operations: int, real: Real) -> Entry:
        """Return the entry point, where a rate takes `fed` numbers after the state and has so many operations."""
        blocks = MORE_BLOCKS[real] if self.chained and operations <= SHORT else BLOCKS
        rates = self.stages + 1 + self.further if self.adaptive else 1 if self.chained else self.stages
        rows = self.powers if self.adaptive else 1
        work = (
            1 + self.states + max(fed, self.memory + self.noises),
            *[self.size] * 4,
            rates * self.size,
            rows * self.size,
            self.closed + (self.closed > 0),
            self.inputs + self.memory if self.source == SAMPLED else 0,
            2 * self.crossings,
            (PARTS + 2) * self.touches,
        )
        return Entry("runs", "advanced", pointers=1, integers=3, records=(Stages,), work=work, blocks=blocks)


@dataclass
class Runs:
    """Inputs and results of the threads. Each entry takes one word; arrays are stored as addresses.

    Attributes
    ----------
    count, total : int
        Numbers of runs and of times of the result.
    c, first, terms, weights
        The method, see `stages.Stages`.
    ahead, after : (stages,)
        Weights of each stage's rates in the next stage and in the end, where each stage depends only on the one before.
    rtol, atol, step : float
        Tolerances, and the longest step [s]; 0 for no limit.
    times : (total,)
        Times of the result [s].
    own, single, apart : (k, count) or (k, 1), int, int
        Constants of the rates; the distance between those of two runs, and between two of one run.
    t, end, before : (pieces,)
        Per interval: its start and end [s], and the time just before u jumps.
    h, steps, shown : (pieces,)
        Per interval of fixed steps: the step [s], the number of steps, and 1 if it ends at a time of the result.
    row, u, where : (pieces,), (rows, inputs), (count,)
        Row of u in an interval, from the first row of the run; the values; and the first row of each run.
    course, courses : (count,), int
        Index of a run's trajectory of inputs, and the number of these.
    laws : (k, courses)
        Constants of the functions that give u and the rates of the input's memory.
    cubics, intervals : (courses,)
        First break of each table, and its number of intervals.
    breaks, coefficients : (breaks,), (breaks, inputs, 4)
    sample, noise : (pieces,), (periods, noises, count)
        Number of the sample at the start of an interval, or -1; and the noise of the samples.
    late, guess : float
        Time by which a sample may follow a time of the result that gets its u [s]; the first adaptive step of an
        interval [s], or 0 to determine it.
    command, memory : (inputs, count), (memory, count)
        Per run: current u of a sampled law, and its memory.
    given, held : (count,), (total, inputs + recorded, count)
        Per run: the first time of the result without a u; and u with recorded signals at these times.
    wrong, value : (count,)
        Per run: index of a value of the law that is not finite, and the value.
    most : (states,)
        Sizes of the state's numbers beyond which a run has diverged.
    x, now, next : (size, count), (count,), (count,)
        Per run: its state and time, and the next adaptive step [s], negative at the start of an interval.
    piece, last, at, known, status, taken, evaluations : (count,)
        Per run: its current interval, the end of its intervals; the completed fixed steps in the interval, or 1 if the
        last adaptive step was rejected; the number of times of the result at which the state is known; the status; and
        the numbers of steps and of evaluations.
    out : (times, size, count)
        States at the times of the result from `start` on.
    loops : (k, count) or (k, 1)
        Constants of the correction onto the closures, apart like `own`.
    edges : (k, count) or (k, 1)
        Constants of the contact functions, apart like `own`.
    contacts : (k, count) or (k, 1)
        Constants of the functions of touches, apart like `own`.
    resume, stopped, unwatched : (count,)
        Per run: the time from which contacts are watched, that of the last stop at a contact, and the time after it
        without watching [s].
    """

    count: int
    total: int
    c: Floats
    first: Words
    terms: Words
    weights: Floats
    ahead: Floats
    after: Floats
    rtol: float
    atol: float
    step: float
    times: Floats
    own: Floats
    single: int
    apart: int
    t: Floats
    end: Floats
    before: Floats
    h: Floats
    steps: Words
    shown: Words
    row: Words
    u: Floats
    where: Words
    course: Words
    courses: int
    laws: Floats
    cubics: Words
    intervals: Words
    breaks: Floats
    coefficients: Floats
    sample: Words
    noise: Floats
    late: float
    guess: float
    command: Floats
    memory: Floats
    given: Words
    held: Floats
    wrong: Words
    value: Floats
    most: Floats
    x: Floats
    now: Floats
    next: Floats
    piece: Words
    last: Words
    at: Words
    known: Words
    status: Words
    taken: Words
    evaluations: Words
    out: Floats
    loops: Floats
    edges: Floats
    contacts: Floats
    resume: Floats
    stopped: Floats
    unwatched: Floats


# -- functions that are compiled separately; only their signatures are used -------------------------------------------


def law(  # pragma: no cover
    x: Floats, x_apart: int, own: Floats, own_apart: int, y: Floats, y_apart: int
) -> None:
    """Compute u and the rates of its memory from the time and the state."""
    raise NotImplementedError


def correction(  # pragma: no cover
    x: Floats, x_apart: int, own: Floats, own_apart: int, y: Floats, y_apart: int
) -> None:
    """Correct (q, qd) towards the closures; the last result is the sum of squares of the gaps before."""
    raise NotImplementedError


# -- translated functions ----------------------------------------------------------------------------------------------


def advanced(  # pragma: no cover  (runs as code for the GPU alone, like those below)
    s: Runs, r: int, start: int, stop: int, most: int, m: Stages,
    x: Floats, y: Floats, z: Floats, e: Floats, h: Floats, k: Floats, F: Floats, found: Floats, v: Floats, g: Floats,
    gaps: Floats,
) -> None:  # fmt: skip
    """Advance one run until its state is known at the times before `stop`, or by about `most` evaluations.

    x has the arguments of a law and of the rates: time, state and u. y and z are states at the start and at the end of
    a step, e is work memory, v has the values of a sampled law, g the contact functions and their sides, and `gaps` the
    functions of touches.
    """
    m.stages, m.further, m.powers, m.order = STAGES, FURTHER, POWERS, ORDER
    m.adaptive, m.smoothed, m.width = ADAPTIVE, SMOOTHED, SIZE
    m.c, m.first, m.terms, m.weights = s.c, s.first, s.terms, s.weights
    m.h, m.k, m.F = h, k, F
    for j in lanes(SIZE):
        y[j] = s.x[j * s.count + r]
    if ADAPTIVE == 1:
        adapted(s, r, start, stop, most, m, x, y, z, e, found, v, g, gaps)
    else:
        equal(s, r, start, stop, most, m, x, y, z, found, v)
    if SOURCE == SAMPLED:
        for i in range(s.given[r], s.known[r]):
            hold(s, r, i)
    for j in lanes(SIZE):
        s.x[j * s.count + r] = y[j]


def equal(  # pragma: no cover
    s: Runs, r: int, start: int, stop: int, most: int, m: Stages,
    x: Floats, y: Floats, z: Floats, found: Floats, v: Floats,
) -> None:  # fmt: skip
    """Take steps of equal length in each interval. `due` is negative at the start of an interval."""
    piece, at, known, status, taken, left = s.piece[r], s.at[r], s.known[r], s.status[r], s.taken[r], most
    due = s.next[r]
    while status == UNDER_WAY and known < stop and left > 0:
        h = s.h[piece]
        if SOURCE == SAMPLED and due < 0.0:
            due = 0.0
            if s.sample[piece] >= 0 and sampled(s, r, s.sample[piece], s.t[piece], x, y, v) == 0:
                status = NO_LAW
                break
        stepped(s, r, piece, s.t[piece] + float(at) * h, h, m, x, y, z, found)
        if is_sound(s, z) == 0:
            status = GROWN
        else:
            for j in lanes(SIZE):
                y[j] = z[j]
            at += 1
            taken += 1
            left -= STAGES
            if at == s.steps[piece]:
                if s.shown[piece] == 1:
                    shown(s, r, known - start, y)
                    known += 1
                piece += 1
                at = 0
                due = -1.0
                if piece == s.last[r]:
                    status = DONE
    s.next[r] = due
    if status != DONE:
        s.now[r] = s.t[piece] + float(at) * s.h[piece]
    s.piece[r], s.at[r], s.known[r], s.status[r], s.taken[r] = piece, at, known, status, taken


def stepped(  # pragma: no cover
    s: Runs, r: int, piece: int, t: float, h: float, m: Stages,
    x: Floats, y: Floats, z: Floats, found: Floats,
) -> None:  # fmt: skip
    """Take a step of a method with fixed steps from y to z."""
    k, state = m.k, x[1:]
    for j in lanes(SIZE):
        m.h[j] = h
        z[j] = 0.0
    for j in lanes(STATES):
        state[j] = y[j]
    for stage in range(STAGES):
        if CHAINED == 0 and stage > 0:
            moved(m, stage - 1, y, state, STATES)
        rates(s, r, piece, t + m.c[stage] * h, x, k[(1 - CHAINED) * stage * SIZE :], found)
        if CHAINED == 1:
            for j in lanes(SIZE):
                z[j] += s.after[stage] * k[j]
            for j in lanes(STATES):
                state[j] = y[j] + h * (s.ahead[stage] * k[j])
    if CHAINED == 1:
        for j in lanes(SIZE):
            z[j] = y[j] + h * z[j]
    else:
        moved(m, STAGES - 1, y, z, SIZE)
    if CLOSED > 0:
        put_on_closures(s, r, z, found)


def adapted(  # pragma: no cover
    s: Runs, r: int, start: int, stop: int, most: int, m: Stages,
    x: Floats, y: Floats, z: Floats, e: Floats, found: Floats, v: Floats, g: Floats, gaps: Floats,
) -> None:  # fmt: skip
    """Take steps as long as the tolerance allows, and interpolate the states at the times of the result.

    Each round of the loop has one evaluation. Its number `stage` is that of the rates: 0 at the start of an interval or
    launch, STAGES at the end of a step, those above for the polynomial, and TRIAL for the first step. A step that the
    end of the launch interrupts is repeated in the next launch.
    """
    piece, refused, known, status, taken, evaluations = (
        s.piece[r],
        s.at[r],
        s.known[r],
        s.status[r],
        s.taken[r],
        s.evaluations[r],
    )
    t, wanted, new, dt, ready, last, stage, left = s.now[r], s.next[r], 0.0, 0.0, 0.0, 0, 0, most
    begin, end = s.t[piece], s.end[piece]
    edges, contacts = s.edges[r * s.single :], s.contacts[r * s.single :]
    suspect = 0  # 1 if the polynomial of a step is to be checked for contacts, then CHECKED or SHORT_CONTACT
    while status == UNDER_WAY and known < stop and left > 0:
        left -= 1
        if SOURCE == SAMPLED and wanted < 0.0:
            if sampled(s, r, s.sample[piece], t, x, y, v) == 0:
                status = NO_LAW
                break
            wanted = s.guess
            evaluations += 1
        if stage == 1:
            wanted = max(wanted, 10.0 * SPACING * abs(t))
            if s.step > 0.0:
                wanted = min(wanted, s.step)
            new, last, goal = t + wanted, 0, end
            if CROSSINGS > 0 and s.resume[r] > t:
                goal = min(end, s.resume[r])
            if t + wanted * NEARLY >= goal:
                new = goal
                if goal >= end:
                    last = 1
            dt = new - t
            for j in lanes(SIZE):
                m.h[j] = dt
        to, node = stage, t
        if stage > 0:
            moved(m, stage - 1 if stage <= STAGES else stage + SMOOTHED, y, e, SIZE)
            node = t + m.c[stage] * dt
            if TOUCHES > 0 and FURTHER > 0 and stage > STAGES and suspect == 1:
                measured_at(e, x, contacts, s.apart, gaps, PARTS + 1)
                if touched_in(gaps, TOUCHES, PARTS + 1) == 1:
                    suspect = SHORT_CONTACT
            if stage == STAGES:
                if CLOSED > 0:
                    put_on_closures(s, r, e, found)
                for j in lanes(SIZE):
                    z[j] = e[j]
        else:
            for j in lanes(SIZE):
                e[j] = y[j]
            if stage == TRIAL:
                to, node = STAGES, t + dt
                for j in lanes(SIZE):
                    e[j] = y[j] + dt * m.k[j]
        for j in lanes(STATES):
            x[1 + j] = e[j]
        if CROSSINGS > 0 and t >= s.resume[r] and stage <= STAGES:
            if stage == 0:
                if on_contact(x[1:], edges, s.apart, g) == 1:
                    s.resume[r] = t + max(s.unwatched[r], LEAST * (end - begin))
            elif is_across(x[1:], edges, s.apart, g) == 1:
                evaluations += max(stage, 1)
                wanted, refused, stage = CLOSER * dt, 1, 1
                if wanted < max(10.0 * SPACING * abs(t), BEYOND * (end - begin)):
                    new = t + dt
                    if new >= end:
                        s.resume[r] = end
                        continue
                    for j in lanes(SIZE):
                        z[j] = y[j] + (new - t) * m.k[j]
                    while known < stop and s.times[known] <= new:
                        shown(s, r, known - start, z)
                        known += 1
                    if known == s.total or s.times[known] > new:
                        s.unwatched[r] = unwatched_for(new, s.stopped[r], s.unwatched[r], end - begin)
                        t, wanted, refused, stage = new, -1.0, 0, 0
                        s.stopped[r], s.resume[r] = t, t + s.unwatched[r]
                        for j in lanes(SIZE):
                            y[j] = z[j]
                continue
        rates(s, r, piece, node, x, m.k[to * SIZE :], found)
        complete = 0
        if stage == 0:
            stage = 1
            if wanted < 0.0:
                state, rate = relative(s, y, y, y), relative(s, m.k, y, y)
                dt, stage = min(first_trial(state, rate), end - t), TRIAL
        elif stage == TRIAL:
            for j in lanes(SIZE):
                e[j] = m.k[STAGES * SIZE + j] - m.k[j]
            wanted = first_step(m, dt, relative(s, m.k, y, y), relative(s, e, y, y))
            wanted, stage = min(wanted, end - t), 1
            evaluations += 2
        elif stage == STAGES:
            error = failing(s, m, y, z, e)
            if error < 1.0:
                ready = following(m, error, dt, refused)
                complete, stage, suspect = 1, 1, 0
                if TOUCHES > 0 and is_brief(dt, t, end - begin) == 0:
                    suspect = may_brush(m, dt, y, z, e, x, contacts, s.apart, gaps)
                if is_sound(s, z) == 0:
                    complete, status = 0, GROWN
                elif FURTHER > 0 and suspect < SHORT_CONTACT and (suspect == 1 or s.times[known] < new):
                    complete, stage = 0, STAGES + 1
            else:
                wanted, refused, stage = shortened(m, error, dt), 1, 1
                evaluations += STAGES
                if not wanted >= shortest(t, error, end - begin):
                    status = TOO_SHORT
        elif FURTHER > 0 and stage == STAGES + FURTHER:
            complete, stage = 1, 1
        else:
            stage += 1
        if TOUCHES > 0 and complete == 1 and suspect > 0:
            if suspect < SHORT_CONTACT and brushes(s, r, m, dt, y, z, e, x, contacts, gaps, found) == 0:
                suspect = CHECKED
            else:
                complete, wanted, refused, suspect = 0, CLOSER * dt, 1, 0
                evaluations += STAGES
        if complete == 1:
            known = between(s, r, start, stop, known, t, dt, new, m, y, z, e, found)
            if known == s.total or s.times[known] > new:  # all times up to the end of the step have their states
                evaluations += STAGES + FURTHER * (1 if suspect == CHECKED else is_inside(s, known, t, new))
                taken += 1
                t, wanted, refused = new, ready, 0
                for j in lanes(SIZE):
                    y[j] = z[j]
                    m.k[j] = m.k[STAGES * SIZE + j]
                if CROSSINGS > 0 and new == s.resume[r]:
                    stage = 0  # the sides are known again
                if last == 1:
                    piece += 1
                    if piece == s.last[r]:
                        status = DONE
                    else:
                        t, wanted, stage, begin, end = s.t[piece], -1.0, 0, s.t[piece], s.end[piece]
    s.piece[r], s.at[r], s.known[r], s.status[r], s.taken[r] = piece, refused, known, status, taken
    s.evaluations[r], s.now[r], s.next[r] = evaluations, t, wanted


def between(  # pragma: no cover
    s: Runs, r: int, start: int, stop: int, known: int, t: float, dt: float, new: float, m: Stages,
    y: Floats, z: Floats, e: Floats, found: Floats,
) -> int:  # fmt: skip
    """Write the states at the times up to the end of a step and before `stop`. Return the number of known states."""
    if known < stop and s.times[known] < new:
        polynomial(m, y, z)
        while known < stop and s.times[known] < new:
            fraction = (s.times[known] - t) / dt
            for j in lanes(SIZE):
                m.h[j] = fraction
            interpolated(m, m.h, y, z, e)
            if CLOSED > 0:
                put_on_closures(s, r, e, found)
            shown(s, r, known - start, e)
            known += 1
    while known < stop and s.times[known] <= new:
        shown(s, r, known - start, z)
        known += 1
    return known


def brushes(  # pragma: no cover
    s: Runs, r: int, m: Stages, h: float, y: Floats, z: Floats, e: Floats, x: Floats, own: Floats, gaps: Floats,
    found: Floats,
) -> int:  # fmt: skip
    """Return 1 if parts of the arm touch, or are apart, along the interpolating polynomial of a step, else 0."""
    hit, parts = 0, PARTS - 1
    polynomial(m, y, z)
    for i in range(parts * (1 + TOUCHES)):
        row, along = i + 1, float(i + 1) / float(PARTS)
        if i >= parts:
            part = 1 + (i - parts) // max(TOUCHES, 1)
            row, along = PARTS + 1, touching_at(gaps, TOUCHES, part, i - parts - (part - 1) * TOUCHES)
        if hit == 0 and along > 0.0:
            for j in lanes(SIZE):
                m.h[j] = along
            interpolated(m, m.h, y, z, e)
            if CLOSED > 0:
                put_on_closures(s, r, e, found)
            measured_at(e, x, own, s.apart, gaps, row)
            hit = touched_in(gaps, TOUCHES, row)
    for j in lanes(SIZE):
        m.h[j] = h
    return hit


def is_inside(s: Runs, known: int, t: float, new: float) -> int:  # pragma: no cover
    """Return 1 if a time of the result lies within a step, where `known` times are not after its end, else 0."""
    i = known - 1 if s.times[known - 1] < new else known - 2
    return 1 if i >= 0 and s.times[i] > t else 0


def shown(s: Runs, r: int, i: int, y: Floats) -> None:  # pragma: no cover
    """Write a state at one of the times of the result."""
    for j in lanes(SIZE):
        s.out[(i * SIZE + j) * s.count + r] = y[j]


def failing(s: Runs, m: Stages, y: Floats, z: Floats, e: Floats) -> float:  # pragma: no cover
    """Return the error of a step relative to the tolerance."""
    other = 0.0
    summed(m, STAGES, e, SIZE)
    square = weighed(s, e, y, z)
    if SMOOTHED == 1:
        summed(m, STAGES + 1, e, SIZE)
        other = weighed(s, e, y, z)
    return error_of(m, square, other, float(SIZE))


def relative(s: Runs, e: Floats, y: Floats, z: Floats) -> float:  # pragma: no cover
    """Return the root mean square of numbers, each relative to its tolerance."""
    return sqrt(weighed(s, e, y, z) / float(SIZE))


def weighed(s: Runs, e: Floats, y: Floats, z: Floats) -> float:  # pragma: no cover
    """Sum the squares of numbers, each relative to its tolerance."""
    total = 0.0
    for j in lanes(WEIGHED):
        part = e[j] * (1.0 / (s.atol + s.rtol * max(abs(y[j]), abs(z[j]))))
        total += part * part
    return total


def rates(  # pragma: no cover
    s: Runs, r: int, piece: int, t: float, x: Floats, to: Floats, found: Floats
) -> None:
    """Write the rates of the state in x at t, before the end of the interval."""
    state, u = x[1:], x[1 + STATES :]
    if CLOSED > 0:
        put_on_closures(s, r, state, found)
    x[0] = min(t, s.before[piece])
    fed(s, r, piece, x, 1, u)
    evaluate(state, 1, s.own[r * s.single :], s.apart, to, 1)


def fed(s: Runs, r: int, piece: int, x: Floats, x_apart: int, u: Floats) -> None:  # pragma: no cover
    """Write u and the rates of its memory at the time and the state in x, whose numbers are `x_apart`."""
    if SOURCE == HELD:
        row = s.u[(s.where[r] + s.row[piece]) * INPUTS :]
        for j in lanes(INPUTS):
            u[j] = row[j]
    if SOURCE == LAW:
        law(x, x_apart, s.laws[s.course[r] :], s.courses, u, 1)
    if SOURCE == TABLE:
        table(s, s.course[r], x[0], u)
    if SOURCE == SAMPLED:
        for j in lanes(INPUTS):
            u[j] = s.command[j * s.count + r]


def sampled(  # pragma: no cover
    s: Runs, r: int, number: int, t: float, x: Floats, y: Floats, v: Floats
) -> int:
    """Evaluate a law at a sample, and store u and its memory. Return 0 if one of these is not finite, else 1."""
    given = s.given[r]
    while given < s.total and s.times[given] < t - s.late:
        hold(s, r, given)
        given += 1
    s.given[r] = given
    x[0] = t
    for j in lanes(STATES):
        x[1 + j] = y[j]
    for j in lanes(MEMORY):
        x[1 + STATES + j] = s.memory[j * s.count + r]
    for j in lanes(NOISES):
        x[1 + STATES + MEMORY + j] = s.noise[(number * NOISES + j) * s.count + r]
    law(x, 1, s.laws[s.course[r] :], s.courses, v, 1)
    sound = 1
    for j in lanes(INPUTS + MEMORY):
        if sound == 1 and not abs(v[j]) <= LARGEST:
            sound, s.wrong[r], s.value[r] = 0, j, v[j]
    if sound == 1:
        for j in lanes(INPUTS):
            s.command[j * s.count + r] = v[j]
        for j in lanes(MEMORY):
            s.memory[j * s.count + r] = v[INPUTS + j]
    return sound


def hold(s: Runs, r: int, i: int) -> None:  # pragma: no cover
    """Store the current u and recorded signals for a time of the result."""
    row = s.held[i * (INPUTS + RECORDED) * s.count + r :]
    for j in lanes(INPUTS):
        row[j * s.count] = s.command[j * s.count + r]
    for j in lanes(RECORDED):
        row[(INPUTS + j) * s.count] = s.memory[(MEMORY - RECORDED + j) * s.count + r]


def table(s: Runs, course: int, t: float, u: Floats) -> None:  # pragma: no cover
    """Evaluate u by the cubics of the interval that contains t."""
    low = interval(s.breaks, s.cubics[course], s.cubics[course] + s.intervals[course], t)
    x = t - s.breaks[low]
    for j in lanes(INPUTS):
        c = s.coefficients[4 * (low * INPUTS + j) :]
        u[j] = ((c[0] * x + c[1]) * x + c[2]) * x + c[3]


def is_sound(s: Runs, z: Floats) -> int:  # pragma: no cover
    """Return 1 if all numbers of a state are finite and within their bounds, else 0."""
    sound = 1
    for j in lanes(STATES):
        if not abs(z[j]) < DIVERGED or abs(z[j]) > s.most[j]:
            sound = 0
    return sound


def put_on_closures(s: Runs, r: int, x: Floats, found: Floats) -> None:  # pragma: no cover
    """Correct a state until the gaps of the closures and their rates are small."""
    for _ in range(CORRECTIONS):
        correction(x, 1, s.loops[r * s.single :], s.apart, found, 1)
        for j in lanes(CLOSED):
            x[j] = found[j]
        if found[CLOSED] < SMALL:
            return
