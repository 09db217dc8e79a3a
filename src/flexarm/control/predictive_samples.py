"""Samples of predictive control along a reference in native code: limits, solution, and steps without a solution.

If u reaches the arm later, the state is predicted over this delay by Runge-Kutta steps.

A solution that is left unfinished, because it takes more operations than are allowed, is not within the limits. Two
plans are: its inputs, clipped to the limits of torque and rate, and the plan of the previous sample, continued. The one
with the lower cost is taken. The multipliers of the unfinished solution give a lower bound of the optimal cost, and so
a bound of the excess.

The functions are in the language of `native.language`. They also become C code for a controller's board.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from flexarm.control.active_set import SOLVED, UNFINISHED, forgotten, solved
from flexarm.control.horizon_rows import Horizon, cost_of, followed
from flexarm.native.language import Floats, Words, call
from flexarm.simulation.steps import copied


@dataclass
class Along:
    """Samples of a predictive controller along a reference.

    Attributes
    ----------
    horizon : Horizon
    rows : int
        Samples of the reference. The last one stands for all later ones.
    moving : int
        1 if the matrices of the horizon belong to samples, 0 if they belong to its steps.
    saturates : int
        1 if the saturated optimum without limits follows a step without a solution, 0 if the last plan does.
    edges : (steps + 1,)
        Periods at which the steps of the horizon begin, and at which the last one ends.
    u, rate : (m,)
        Largest inputs, and their largest changes in a period.
    low, high : (p,)
        Lowest and highest outputs.
    r, v, y, K : (rows, s - 1), (rows, m), (rows, p), (rows, m, s)
        States, inputs and outputs of the reference, and gains without limits.
    S : (s - 1,)
        Scales of the states.
    last, to : (m,)
        Inputs of the last sample and of this one.
    plan : (steps, m)
        Inputs of the last solution, which is that of the sample `planned`, or of none if it is -1.
    previous : int
        Sample of the last program, or -1.
    good, pushed : int
        1 if the last program has a solution, and if a limit is active in it.
    recovered : int
        1 if the last program is unfinished, and its plan is within the limits.
    excess : float
        Bound of the amount by which the cost of this plan exceeds that of the optimum.
    wanted : (steps, m)
        Workspace.
    """

    horizon: Sequence[Horizon]
    rows: int
    moving: int
    saturates: int
    edges: Words
    u: Floats
    rate: Floats
    low: Floats
    high: Floats
    r: Floats
    v: Floats
    y: Floats
    K: Floats
    S: Floats
    last: Floats
    to: Floats
    plan: Floats
    planned: int
    previous: int
    good: int
    pushed: int
    recovered: int
    excess: float
    wanted: Floats


@dataclass
class Delayed:
    """Samples whose inputs reach the arm some periods later.

    Attributes
    ----------
    along : Along
    rate : address
        Kernel (x, u) -> dx/dt.
    states, inputs, periods : int
        Sizes of x and u, and the delay in periods.
    steps, h : int, float
        Runge-Kutta steps in a period, and their length [s].
    under_way : (periods, inputs)
        Inputs that have not reached the arm, the oldest first.
    x, z, k, total : (states,), (states + inputs,), (states,), (states,)
        State, at last that at the end of the delay; arguments and results of the kernel; sums of rates.
    stages, reach, shares
        The method, see `ButcherTableau.in_sequence`.
    """

    along: Sequence[Along]
    rate: int
    states: int
    inputs: int
    periods: int
    steps: int
    h: float
    under_way: Floats
    x: Floats
    z: Floats
    k: Floats
    total: Floats
    stages: int
    reach: Floats
    shares: Floats


def sampled_late(s: Delayed, sample: int, x: Floats) -> int:
    """Compute the inputs that reach the arm from a sample on. Return the status of the program.

    The state x (states,) is that before the delay.
    """
    a = s.along[0]
    predicted(s, x)
    status = sampled(a, sample, s.x)
    sent(s, a.to)
    return status


def sent(s: Delayed, u: Floats) -> None:
    """Add inputs u (inputs,) to those that are under way, in place of the oldest."""
    last = (s.periods - 1) * s.inputs
    for i in range(last):
        s.under_way[i] = s.under_way[i + s.inputs]
    copied(u, s.under_way[last:], s.inputs)


def predicted(s: Delayed, x: Floats) -> None:
    """Move the state x (states,) by the inputs that are under way."""
    copied(x, s.x, s.states)
    for period in range(s.periods):
        copied(s.under_way[period * s.inputs :], s.z[s.states :], s.inputs)
        for _ in range(s.steps):
            copied(s.x, s.z, s.states)
            copied(s.x, s.total, s.states)
            for stage in range(s.stages):
                call(s.rate, s.z, s.k)
                share, reach = s.h * s.shares[stage], s.h * s.reach[stage]
                for i in range(s.states):
                    s.total[i] += share * s.k[i]
                    s.z[i] = s.x[i] + reach * s.k[i]
            copied(s.total, s.x, s.states)


def sampled(s: Along, sample: int, x: Floats) -> int:
    """Compute the inputs of a sample from its state x (s - 1,). Return the status of the program."""
    h = s.horizon[0]
    m, states = h.m, h.s - 1
    row = min(sample, s.rows - 1)
    for j in range(states):
        h.x0[j] = s.S[j] * (x[j] - s.r[row * states + j])
    h.x0[states] = 1.0
    bounded(s, sample)
    h.shift = sample - s.previous
    if s.previous < 0 or h.shift < 0:
        forgotten(h)
        h.shift = 0
    s.previous = sample
    h.first = sample if s.moving == 1 else 0
    status = solved(h)
    h.fresh = 1 - s.moving
    if status != SOLVED and status != UNFINISHED:
        s.previous = -1
    s.good = 1 if status == SOLVED else 0
    for j in range(h.moves):
        if h.z[j] - h.z[j] != 0.0:  # not finite
            s.good = 0
    s.pushed = 0
    for i in range(h.n):
        if h.multipliers[i] > 0.0 and h.active[i] < h.k * (2 * m + h.p):
            s.pushed = 1
    s.recovered = 0
    if s.good == 1:
        planned(s, sample, h.y)
    elif status == UNFINISHED and s.moving == 1 and s.saturates == 0:
        recovered(s, sample)
    if s.good + s.recovered == 0:
        otherwise(s, sample)
    for j in range(m):  # within the limits, which a solution exceeds by rounding at most
        u = min(max(s.to[j], s.last[j] - s.rate[j]), s.last[j] + s.rate[j])
        s.to[j] = min(max(u, -s.u[j]), s.u[j])
    for j in range(m):
        s.last[j] = s.to[j]
    return status


def bounded(s: Along, sample: int) -> None:
    """Write the lower and upper limits of inputs, changes and outputs for deviations from the reference, as shares."""
    h, last = s.horizon[0], s.rows - 1
    m, p = h.m, h.p
    per = 2 * m + p
    for i in range(h.k):
        v = s.v[min(sample + s.edges[i], last) * m :]
        before = s.v[min(max(sample + s.edges[i] - 1, 0), last) * m :]
        end = s.y[min(sample + s.edges[i + 1], last) * p :]
        low, high, length = h.low[i * per :], h.high[i * per :], float(s.edges[i + 1] - s.edges[i])
        for j in range(m):
            low[j] = (-s.u[j] - v[j]) * h.of_u[j]
            high[j] = (s.u[j] - v[j]) * h.of_u[j]
            step, rate = v[j] - (s.last[j] if i == 0 else before[j]), s.rate[j] * length
            low[m + j] = (-rate - step) * h.of_rate[i * m + j]
            high[m + j] = (rate - step) * h.of_rate[i * m + j]
        for j in range(p):
            low[2 * m + j] = (s.low[j] - end[j]) * h.of_y[j]
            high[2 * m + j] = (s.high[j] - end[j]) * h.of_y[j]
        for j in range(per):
            low[j] = min(low[j], high[j])


def recovered(s: Along, sample: int) -> None:
    """Take the better one of two plans within the limits: an unfinished solution, clipped, or the last plan."""
    h = s.horizon[0]
    m, per, since = h.m, 2 * h.m + h.p, sample - s.planned
    for i in range(h.k):
        for j in range(m):
            s.wanted[i * m + j] = h.y[i * per + j] / h.of_u[j]
    followed(h, s.wanted, h.k, h.z, h.y0)
    found = cost_of(h, h.z, h.y0)
    best = found
    if s.planned >= 0 and since >= 0 and since < h.k:
        kept = h.k - since
        for i in range(kept):
            v = s.v[min(sample + i, s.rows - 1) * m :]
            for j in range(m):
                s.wanted[i * m + j] = s.plan[(since + i) * m + j] - v[j]
        followed(h, s.wanted, kept, h.z, h.y)
        continued = cost_of(h, h.z, h.y)
        if continued >= 0.0 and (found < 0.0 or continued < found):
            best = continued
    if best >= 0.0:
        s.recovered = 1
        s.excess = max(0.0, best - h.bound)
        if best < found or found < 0.0:
            planned(s, sample, h.y)
        else:
            planned(s, sample, h.y0)


def planned(s: Along, sample: int, y: Floats) -> None:
    """Store the inputs among the values y as the plan, and take the first ones."""
    h = s.horizon[0]
    m, per = h.m, 2 * h.m + h.p
    s.planned = sample
    for i in range(h.k):
        v = s.v[min(sample + s.edges[i], s.rows - 1) * m :]
        for j in range(m):
            s.plan[i * m + j] = y[i * per + j] / h.of_u[j] + v[j]
    for j in range(m):
        s.to[j] = s.plan[j]


def otherwise(s: Along, sample: int) -> None:
    """Take the inputs of the last plan, or those of the optimum without limits."""
    h = s.horizon[0]
    m, row, since = h.m, min(sample, s.rows - 1), sample - s.planned
    if s.saturates == 0 and s.planned >= 0 and since < s.edges[h.k]:
        i = 0
        while s.edges[i + 1] <= since:
            i += 1
        for j in range(m):
            s.to[j] = s.plan[i * m + j]
    else:
        for j in range(m):
            u = s.v[row * m + j]
            for c in range(h.s):
                u -= s.K[(row * m + j) * h.s + c] * h.x0[c]
            s.to[j] = u
