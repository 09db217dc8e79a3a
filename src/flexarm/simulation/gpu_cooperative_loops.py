"""Runs with several threads for each, in the language that is translated: see `gpu_loops` for runs with one.

Every thread of a run takes the same steps. It computes a part of the rates and adds up the numbers of the state whose
rates it computes. All threads of a block take part in all barriers, also those of runs that have ended or do not exist:
their steps have no effect.

The names in capitals are replaced by numbers in the translation, see `gpu_cooperative`.
"""

from flexarm.native.cooperative import any_of, barrier, evaluate, numbers, part, place
from flexarm.native.language import Floats, lanes
from flexarm.native.nvptx import RUNS
from flexarm.simulation.gpu_loops import DONE, GROWN, UNDER_WAY, Runs, fed
from flexarm.simulation.rhs import DIVERGED

SIZE, STATES, STAGES, PARTS, OWN = 1, 1, 1, 2, 1
"""`OWN` is the largest number of a state's numbers that belong to one part. The others are those of `gpu_loops`."""

KNOWN, FED = 1, 1
"""Numbers of inputs before the constants, and of those that follow the state."""


def cooperate(  # pragma: no cover  (runs as code for the GPU alone, like those below)
    s: Runs, thread: int, start: int, stop: int, most: int, y: Floats, z: Floats, e: Floats, k: Floats, u: Floats
) -> None:
    """Advance one run until its state is known at the times before `stop`, or by about `most` evaluations.

    y and z are the thread's numbers of the state at the start and at the end of a step, e those of a stage, k their
    rates, and u the input.
    """
    r, p, x = min(thread, s.count - 1), part(), numbers()
    piece, at, known, status, taken, left = s.piece[r], s.at[r], s.known[r], s.status[r], s.taken[r], most
    for j in lanes(OWN):
        y[j] = s.x[place(p, j) * s.count + r] if place(p, j) < SIZE else 0.0
        k[j] = 0.0
    live = 1 if thread < s.count and status == UNDER_WAY and known < stop and left > 0 else 0
    while any_of(live) == 1:
        i = min(piece, s.last[r] - 1)  # a run that has ended repeats its last interval
        h = s.h[i]
        shared_step(s, r, i, s.t[i] + float(at) * h, h, p, x, y, z, e, k, u)
        sound = all_sound(s, p, x, z)
        if live == 1 and sound == 0:
            status = GROWN
        elif live == 1:
            for j in lanes(OWN):
                y[j] = z[j]
            at += 1
            taken += 1
            left -= STAGES
            if at == s.steps[i]:
                if s.shown[i] == 1:
                    for j in lanes(OWN):
                        if place(p, j) < SIZE:
                            s.out[((known - start) * SIZE + place(p, j)) * s.count + r] = y[j]
                    known += 1
                piece += 1
                at = 0
                if piece == s.last[r]:
                    status = DONE
        live = 1 if thread < s.count and status == UNDER_WAY and known < stop and left > 0 else 0
    if thread < s.count:
        for j in lanes(OWN):
            if place(p, j) < SIZE:
                s.x[place(p, j) * s.count + r] = y[j]
        if p == 0:
            s.piece[r], s.at[r], s.known[r], s.status[r], s.taken[r] = piece, at, known, status, taken
            if status != DONE:
                s.now[r] = s.t[piece] + float(at) * s.h[piece]


def shared_step(  # pragma: no cover
    s: Runs, r: int, i: int, t: float, h: float, p: int, x: Floats,
    y: Floats, z: Floats, e: Floats, k: Floats, u: Floats,
) -> None:  # fmt: skip
    """Take a step from y to z in interval i. Each stage depends only on the one before."""
    for j in lanes(OWN):
        z[j], e[j] = 0.0, y[j]
    for stage in range(STAGES):
        publish(p, min(t + s.c[stage] * h, s.before[i]), x, e)
        barrier()
        fed(s, r, i, x, RUNS, u)
        evaluate(p, x[RUNS:], u, s.own[r * s.single :], s.apart, k)
        barrier()  # all parts have read the state
        for j in lanes(OWN):
            z[j] += s.after[stage] * k[j]
            e[j] = y[j] + h * (s.ahead[stage] * k[j])
    for j in lanes(OWN):
        z[j] = y[j] + h * z[j]


def publish(p: int, t: float, x: Floats, e: Floats) -> None:  # pragma: no cover
    """Write the numbers of a part to the shared state. The first part writes the time."""
    if p == 0:
        x[0] = t
    for j in lanes(OWN):
        if place(p, j) < STATES:
            x[(1 + place(p, j)) * RUNS] = e[j]


def all_sound(s: Runs, p: int, x: Floats, z: Floats) -> int:  # pragma: no cover
    """Return 1 if all numbers of a state, in all its parts, are finite and within their bounds, else 0."""
    sound, flags = 1.0, x[(1 + STATES) * RUNS :]
    for j in lanes(OWN):
        if place(p, j) < STATES and (not abs(z[j]) < DIVERGED or abs(z[j]) > s.most[place(p, j)]):
            sound = 0.0
    flags[p * RUNS] = sound
    barrier()
    for q in lanes(PARTS):
        sound = min(sound, flags[q * RUNS])
    return 1 if sound > 0.5 else 0


def each_of_many(  # pragma: no cover
    x: Floats, own: Floats, y: Floats, thread: int, apart: int, k: Floats, u: Floats
) -> None:
    """Evaluate the rates for one of many states: x (all inputs, apart), y (SIZE, apart). `own` is not used."""
    r, p, shared = min(thread, apart - 1), part(), numbers()
    for j in lanes(OWN):
        if place(p, j) < STATES:
            shared[(1 + place(p, j)) * RUNS] = x[place(p, j) * apart + r]
    for j in lanes(FED):
        u[j] = x[(STATES + j) * apart + r]
    barrier()
    evaluate(p, shared[RUNS:], u, x[KNOWN * apart + r :], apart, k)
    if thread < apart:
        for j in lanes(OWN):
            if place(p, j) < SIZE:
                y[place(p, j) * apart + r] = k[j]
