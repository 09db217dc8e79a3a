"""Runs by the classical Runge-Kutta method with fixed steps, one per thread, in the language that is translated.

A run consists of intervals with equal steps. Each interval ends at a time of the result or at a jump of the input. A
launch advances all runs and stores their positions in the record, where the next launch continues.

Each number of a state lies beside the same number of the other runs. A thread has its own memory for its state, rates
and sums. The temporaries of the rates are in registers.
"""

from dataclasses import dataclass

from flexarm.model.closures import CORRECTIONS, MET
from flexarm.native.language import Floats, Words
from flexarm.native.nvptx import Entry, evaluate
from flexarm.simulation.butcher import RK4
from flexarm.simulation.rhs import DIVERGED

SMALL = MET**2
"""Sum of squares of gaps and their rates that is small enough."""

UNDER_WAY, DONE, GROWN = 0, 1, 3
"""Status of a run, as in `lanes`."""

(HALF, _, WHOLE, _), (SIXTH, THIRD, _, _) = (each.tolist() for each in RK4.in_sequence)
"""Weights of the method: a third and a sixth are those of the four stages' rates at the end of the step."""


@dataclass
class Runs:
    """Inputs and results of the threads. Each entry takes one word; arrays are stored as addresses.

    Attributes
    ----------
    count, size, states, inputs : int
        Number of runs; length of a state with quadrature states, length without them, and length of u.
    x, own : (size, count), (k, count)
        Current states of the runs, and the numbers of each run that follow u.
    h, steps, shown, row, stride, t, before : (pieces,)
        Per interval: the step [s], the number of steps, 1 if the interval ends at a time of the result; its first row
        of u, and the rows of u per half step: 1, or 0 if u is constant; its start [s], and the time just before u
        jumps.
    u, where : (rows, inputs), (count,)
        Values of u, and the first row of each run.
    follows, laws : int, (k, count)
        1 if a law gives u and the rates of its memory instead of the rows, and the constants of the law.
    piece, last, at : (count,)
        Per run: its current interval, the end of its intervals, and the completed steps in the current interval.
    known, status : (count,)
        Number of times of the result at which the state is known, and the status.
    out : (times, size, count)
        States at the times of the result from `start` on.
    closed, loops : int, (k, count)
        Length of q and qd, which a correction moves onto the closures, or 0; and the correction's constants.
    spare : int
        Place of the correction's results in a thread's memory.
    """

    count: int
    size: int
    states: int
    inputs: int
    x: Floats
    own: Floats
    h: Floats
    steps: Words
    shown: Words
    row: Words
    stride: Words
    t: Floats
    before: Floats
    u: Floats
    where: Words
    follows: int
    laws: Floats
    piece: Words
    last: Words
    at: Words
    known: Words
    status: Words
    out: Floats
    closed: int
    loops: Floats
    spare: int


def law(  # pragma: no cover  (only its signature is used)
    x: Floats, x_apart: int, own: Floats, own_apart: int, y: Floats, y_apart: int
) -> None:
    """A law of (t, state), compiled separately like `evaluate`."""
    raise NotImplementedError


def correction(  # pragma: no cover  (only its signature is used)
    x: Floats, x_apart: int, own: Floats, own_apart: int, y: Floats, y_apart: int
) -> None:
    """Correct (q, qd) towards the closures; the last result is the sum of squares of the gaps before."""
    raise NotImplementedError


def put_on_closures(s: Runs, r: int, x: Floats, found: Floats) -> None:  # pragma: no cover  (for the GPU alone)
    """Correct a state until the gaps of the closures and their rates are small."""
    for _ in range(CORRECTIONS):
        correction(x, 1, s.loops[r:], s.count, found, 1)
        for j in range(s.closed):
            x[j] = found[j]
        if found[s.closed] < SMALL:
            return


def advanced(  # pragma: no cover  (runs as code for the GPU alone)
    s: Runs, r: int, start: int, stop: int, most: int, work: Floats
) -> None:
    """Advance one run until its state is known at the times before `stop`, or by at most `most` steps."""
    size, count = s.size, s.count
    y, piece, at, known, status = work, s.piece[r], s.at[r], s.known[r], s.status[r]
    for j in range(size):
        y[j] = s.x[j * count + r]
    left = most
    while status == UNDER_WAY and known < stop and left > 0:
        if stepped(s, r, piece, at, work) == 0:
            status = GROWN
        else:
            at += 1
            left -= 1
            if at == s.steps[piece]:
                if s.shown[piece] == 1:
                    for j in range(size):
                        s.out[((known - start) * size + j) * count + r] = y[j]
                    known += 1
                piece += 1
                at = 0
                if piece == s.last[r]:
                    status = DONE
    for j in range(size):
        s.x[j * count + r] = y[j]
    s.piece[r], s.at[r], s.known[r], s.status[r] = piece, at, known, status


def stepped(  # pragma: no cover  (runs as code for the GPU alone)
    s: Runs, r: int, piece: int, at: int, work: Floats
) -> int:
    """Take a step from the state at the start of work. Return 0, and leave the state, if the step diverges."""
    size, states, h, stride = s.size, s.states, s.h[piece], s.stride[piece]
    row = s.where[r] + s.row[piece] + 2 * at * stride
    y, moved, k, x, found = work, work[size:], work[2 * size :], work[3 * size + 1 :], work[s.spare :]
    for j in range(states):
        x[j] = y[j]
    for j in range(size):
        moved[j] = 0.0
    for stage in range(4):
        half = (stage + 1) // 2
        if s.closed > 0:
            put_on_closures(s, r, x, found)
        if s.follows == 1:
            work[3 * size] = min(s.t[piece] + (float(at) + 0.5 * float(half)) * h, s.before[piece])
            law(work[3 * size :], 1, s.laws[r:], s.count, x[states:], 1)
        else:
            u = s.u[(row + half * stride) * s.inputs :]
            for j in range(s.inputs):
                x[states + j] = u[j]
        evaluate(x, 1, s.own[r:], s.count, k, 1)
        weight, reach = SIXTH, HALF
        if stage == 1 or stage == 2:
            weight = THIRD
        if stage == 2:
            reach = WHOLE
        for j in range(size):
            moved[j] += h * weight * k[j]
        for j in range(states):
            x[j] = y[j] + h * reach * k[j]
    for j in range(states):
        if not abs(y[j] + moved[j]) < DIVERGED:
            return 0
    for j in range(size):
        y[j] += moved[j]
    if s.closed > 0:
        put_on_closures(s, r, y, found)
    return 1


def spare(size: int, fed: int) -> int:
    """Return the place of a correction's results in a thread's memory, see `runs`."""
    return 4 * size + 1 + fed


def runs(size: int, fed: int, closed: int = 0) -> Entry:
    """Return the entry point for states of `size` numbers, where the rate takes `fed` further numbers.

    A correction, if there is one, has `closed` + 1 results.
    """
    return Entry("runs", "advanced", pointers=1, integers=3, work=spare(size, fed) + closed + (closed > 0))
