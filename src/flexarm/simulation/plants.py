"""Loops over plants that are moved one period on, in the language that is translated."""

from collections.abc import Sequence
from dataclasses import dataclass

from flexarm.native.functions import translated
from flexarm.native.kernel import LANES
from flexarm.native.language import Floats, Words, call, lanes
from flexarm.native.once import Once
from flexarm.simulation.advance import is_finite, is_motion
from flexarm.simulation.rhs import Shared
from flexarm.simulation.steps import copied

REFUSED = -1
"""What is returned where u is no number."""

WELL, FAILED, ENDLESS = 0, 1, 2
"""What may be said of a plant after a period: that it was moved, could not be, or not within `most` evaluations."""


@dataclass
class Plants:
    """Plants that native code moves and Python looks at.

    Attributes
    ----------
    advance : address
        Of a solver as the module `advance` has them.
    solvers : (count,)
        Addresses of its record for each plant: a method may keep what it knows from period to period.
    rate : address
        Of the kernel (x, u) -> (dx, powers) for `LANES` plants at once.
    steps, h
        Of the Runge-Kutta method in a period, where it moves many at once.
    count, states, inputs, exogenous, size : int
        Plants; numbers of a state, of u, of w, and of a state with what rides along.
    end : (1,)
        The period [s].
    u, w, x, out : (count, inputs), (count, exogenous), (count, states), (count, states)
        x is where the plants are, out where they would be.
    periods, failed : (count,)
        How many each has gone through; how the last one ended.
    most : int
        Evaluations that an implicit method may take for a period.
    place, constants : int, (count, fixed)
        Of a model that varies, for each plant; they stand behind w, in what is shared from `place` on.
    y, row, reached
        Of the one under way. For many at once y holds states, u, w, constants, rates and sums, `LANES` numbers each.
    """

    shared: Sequence[Shared]
    advance: int
    solvers: Words
    rate: int
    steps: int
    h: float
    count: int
    states: int
    inputs: int
    exogenous: int
    fixed: int
    size: int
    most: int
    place: int
    end: Floats
    constants: Floats
    u: Floats
    w: Floats
    x: Floats
    out: Floats
    periods: Words
    failed: Words
    y: Floats
    row: Floats
    reached: Words


CODE = Once(lambda: translated(one_by_one, many_at_once))


def one_by_one(p: Plants) -> int:
    """Each plant by the solver; 0 where all is well, `REFUSED`, or the number of those that failed."""
    shared, states = p.shared[0], p.states
    if is_finite(p.u, p.count * p.inputs) == 0 or is_finite(p.w, p.count * p.exogenous) == 0:
        return REFUSED
    for i in range(p.count):
        copied(p.x[i * states :], p.y, states)
        for j in range(states, p.size):
            p.y[j] = 0.0
        copied(p.u[i * p.inputs :], shared.buffer[1 + states :], p.inputs)
        copied(p.w[i * p.exogenous :], shared.buffer[1 + states + p.inputs :], p.exogenous)
        copied(p.constants[i * p.fixed :], shared.buffer[p.place :], p.fixed)
        shared.evaluations = 0
        call(p.advance, p.solvers[i], 0.0, p.y, p.end, 1, p.row, p.reached)
        p.failed[i] = WELL if p.reached[0] == 1 else ENDLESS if shared.evaluations >= p.most else FAILED
        copied(p.row, p.out[i * states :], states)
    return committed(p)


def many_at_once(p: Plants) -> int:
    """`LANES` plants at a time by the Runge-Kutta method; of the last ones the very last stands in for what lacks."""
    states, m, width = p.states, p.inputs, LANES * p.states
    y, outside = p.y, p.exogenous
    x = y[width:]
    k = x[width + LANES * (m + outside + p.fixed) :]
    sum_ = k[LANES * p.size :]
    if is_finite(p.u, p.count * m) == 0 or is_finite(p.w, p.count * outside) == 0:
        return REFUSED
    for first in range(0, p.count, LANES):
        for lane in range(LANES):
            i = min(first + lane, p.count - 1)
            for j in range(states):
                y[LANES * j + lane] = p.x[i * states + j]
            for j in range(m):
                x[width + LANES * j + lane] = p.u[i * m + j]
            for j in range(outside):
                x[width + LANES * (m + j) + lane] = p.w[i * outside + j]
            for j in range(p.fixed):
                x[width + LANES * (m + outside + j) + lane] = p.constants[i * p.fixed + j]
        for _ in range(p.steps):
            copied(y, x, width)
            call(p.rate, x, k)
            for i in lanes(width):
                sum_[i] = k[i]
                x[i] = y[i] + 0.5 * p.h * k[i]
            call(p.rate, x, k)
            for i in lanes(width):
                sum_[i] += 2.0 * k[i]
                x[i] = y[i] + 0.5 * p.h * k[i]
            call(p.rate, x, k)
            for i in lanes(width):
                sum_[i] += 2.0 * k[i]
                x[i] = y[i] + p.h * k[i]
            call(p.rate, x, k)
            for i in lanes(width):
                y[i] += p.h * (sum_[i] + k[i]) / 6.0
        for lane in range(min(LANES, p.count - first)):
            row = p.out[(first + lane) * states :]
            for j in range(states):
                row[j] = y[LANES * j + lane]
            p.failed[first + lane] = WELL
    return committed(p)


def committed(p: Plants) -> int:
    """Where every plant has been moved, that is where they are; how many were not."""
    bad = 0
    for i in range(p.count):
        if p.failed[i] == WELL and is_motion(p.out[i * p.states :], p.states) == 0:
            p.failed[i] = FAILED
        if p.failed[i] != WELL:
            bad += 1
    if bad == 0:
        copied(p.out, p.x, p.count * p.states)
        for i in range(p.count):
            p.periods[i] += 1
    return bad
