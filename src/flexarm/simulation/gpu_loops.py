"""Runs by the classical Runge-Kutta method with fixed steps, one a thread, in the language that is translated.

A run goes through the pieces of its plan: equal steps to the next time of the result, or to where its input jumps. A
launch takes all runs some way and leaves where they are in their records, so that the next one goes on from there.

A number of a state lies beside the same number of the other runs. What a thread works on, its state, rates and sums,
lies in memory of its own; the temporaries of the rates are in registers.
"""

from dataclasses import dataclass

from flexarm.native.language import Floats, Words
from flexarm.native.nvptx import Entry, evaluate
from flexarm.simulation.rhs import DIVERGED

UNDER_WAY, DONE, GROWN = 0, 1, 3
"""What may be said of a run, as in `lanes`."""

THIRD, SIXTH = 1.0 / 3.0, 1.0 / 6.0


@dataclass
class Runs:
    """What threads need, and what they find; a word each, arrays are places.

    Attributes
    ----------
    count, size, states, inputs : int
        Runs; numbers of a state with what rides along, without it, and of u.
    x, own : (size, count), (k, count)
        Where the runs are, and the numbers that each has of its own behind u.
    h, steps, shown, row, stride, t, before : (pieces,)
        Of a piece: the step [s], how many of them, whether it ends at a time of the result; its first row of u, and how
        many rows are there for half a step: 1, or 0 where u is held; where it begins [s], and just before u jumps.
    u, where : (rows, inputs), (count,)
        Values of u, and where those of a run begin.
    follows, laws : int, (k, count)
        Whether u, and the rates of its memory behind it, follow from a law in the place of the rows; its constants.
    piece, last, at : (count,)
        Of a run: in which piece it is, behind which one it ends, and how many steps of it are done.
    known, status : (count,)
        Of how many times of the result the state is known, and what is to be said.
    out : (times, size, count)
        States at the times of the result from `start` on.
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


def law(x: Floats, x_apart: int, own: Floats, own_apart: int, y: Floats, y_apart: int) -> None:
    """A law of (t, state), in a part of its own as `evaluate`."""
    raise NotImplementedError


def advanced(s: Runs, r: int, start: int, stop: int, most: int, work: Floats) -> None:
    """One run, until its state is known at the times before `stop`, or for so many steps."""
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


def stepped(s: Runs, r: int, piece: int, at: int, work: Floats) -> int:
    """A step from the state that work begins with; 0, and the state as it was, where that leads to none."""
    size, states, h, stride = s.size, s.states, s.h[piece], s.stride[piece]
    row = s.where[r] + s.row[piece] + 2 * at * stride
    y, moved, k, x = work, work[size:], work[2 * size :], work[3 * size + 1 :]
    for j in range(states):
        x[j] = y[j]
    for j in range(size):
        moved[j] = 0.0
    for stage in range(4):
        half = (stage + 1) // 2
        if s.follows == 1:
            work[3 * size] = min(s.t[piece] + (float(at) + 0.5 * float(half)) * h, s.before[piece])
            law(work[3 * size :], 1, s.laws[r:], s.count, x[states:], 1)
        else:
            u = s.u[(row + half * stride) * s.inputs :]
            for j in range(s.inputs):
                x[states + j] = u[j]
        evaluate(x, 1, s.own[r:], s.count, k, 1)
        weight, reach = SIXTH, 0.5
        if stage == 1 or stage == 2:
            weight = THIRD
        if stage == 2:
            reach = 1.0
        for j in range(size):
            moved[j] += h * weight * k[j]
        for j in range(states):
            x[j] = y[j] + h * reach * k[j]
    for j in range(states):
        if not abs(y[j] + moved[j]) < DIVERGED:
            return 0
    for j in range(size):
        y[j] += moved[j]
    return 1


def runs(size: int, fed: int) -> Entry:
    """What is launched for states of `size` numbers, behind which so many stand for a rate."""
    return Entry("runs", "advanced", pointers=1, integers=3, work=4 * size + 1 + fed)
