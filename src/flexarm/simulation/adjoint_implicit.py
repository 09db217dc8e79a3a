"""Weights of the stages of an implicit step in the adjoint of a run, in the language that is translated.

The weights of the rates, w_i = h b_i v + h sum_j a_ji (df/dx)' w_j, are the solution of a linear system. As in Newton's
method, its unknowns are the weights of accelerations and of other rates of first order. Coordinates are integrals of
their rates, so their weights follow.

The products with (df/dx)' of all stages of a run are computed side by side by one call of the code for `LANES` states.
In a batch of runs (`batched`), a call computes the products of one stage of all runs. The n-th number of the j-th place
is then at n `across` + j `apart`. An
iteration corrects the weights by the inverse of the system's matrix with the slopes of one stage, the transpose of
Newton's matrix. Within a step, slopes change little, so that a few products suffice for all digits.
"""

from flexarm.native.dense import eliminated
from flexarm.native.language import Floats, call, lanes
from flexarm.simulation.decoupled import corrected, inverses
from flexarm.simulation.explicit import filled
from flexarm.simulation.rhs import NAN
from flexarm.simulation.steps import copied
from flexarm.simulation.sweep import Sweep, at_stage, before_correction, collected, otherwise, through_law, with_cost

ITERATIONS = 20
"""Largest number of iterations in an implicit step."""

EXACT, ENOUGH = 1e-13, 1e-10
"""Sizes of a correction, relative to the weights, at which the iteration ends, and below which slow convergence counts
as rounding."""

SLOW = 0.3
"""Ratio of two corrections above which the iteration ends. Elimination is then faster."""

REFRESH = 3
"""Number of additional iterations after which new slopes are worth their cost, which is that of about three."""


def solved(s: Sweep, h: float, row: Floats) -> None:
    """Compute the weights of the stages of an implicit step.

    The system is solved by iteration with slopes of one stage, or by elimination if the iteration fails.
    """
    prepared(s, row)
    fresh = s.stale
    if s.stale == 1:
        refreshed(s)
    beside(s, h)
    count = iterated(s, h)
    if count == 0 and fresh == 0:
        refreshed(s)
        beside(s, h)
        fresh = 1
        count = iterated(s, h)
    if count == 0:
        s.stale = 1
        eliminate(s, h)
    elif fresh == 1:
        s.least, s.excess = count, 0
    else:
        s.excess += count - s.least
        if s.excess >= REFRESH:
            s.stale = 1
    for j in range(s.stages):
        of_stage(s, j, s.constants)
        through_stage(s, j, 1)


def prepared(s: Sweep, row: Floats) -> None:
    """Compute the points of the stages, and the weights and slopes that do not depend on the solution."""
    stages, count, buffer = s.stages, s.states + s.fed, s.shared[0].buffer
    for j in range(stages):
        at_stage(s, row, j)
        copied(buffer, s.points[j * (1 + count) :], 1 + count)
        copied(s.before, s.befores[j * s.states :], s.states)
        filled(s.out, 0.0, count)
        if s.cost.product != 0:
            with_cost(s, buffer, s.matrix[stages * stages + j])
        copied(s.out, s.costs[j * count :], count)


def beside(s: Sweep, h: float) -> None:
    """Write the stages side by side, with the weights of their powers."""
    stages, states, count = s.stages, s.states, s.states + s.fed
    for j in range(stages):
        point, b = s.points[j * (1 + count) + 1 :], h * s.matrix[stages * stages + j]
        given = s.given[j * s.apart :]
        weights = given[(s.weights - 1) * s.across :]
        for n in range(count):
            given[n * s.across] = point[n]
        for n in range(states):
            weights[n * s.across] = 0.0
        for n in range(states, s.size):
            weights[n * s.across] = b * s.v[n]


def products(s: Sweep) -> None:
    """Compute the products of all stages."""
    if s.across > 1:
        call(s.rate, s.given, s.found)
    else:
        for j in range(s.stages):
            call(s.rate, s.given[j * s.apart :], s.found[j * s.apart :])


def of_stage(s: Sweep, j: int, constants: int) -> None:
    """Write the products of a stage to `out`: for its state, the inputs and so many constants."""
    count, found = s.states + s.fed, s.found[j * s.apart :]
    costs = s.costs[j * count :]
    for n in range(count):
        s.out[n] = found[n * s.across] + costs[n]
    for n in range(count, count + constants):
        s.out[n] = found[n * s.across]


def through_stage(s: Sweep, j: int, summed: int) -> None:
    """Move the products of a stage through its controller and its correction towards the arm's closures.

    The products with respect to other numbers are added to their sums if they are `summed`.
    """
    point = s.points[j * (1 + s.states + s.fed) :]
    if s.law.product != 0 and s.sampled == 0:
        through_law(s, point)
        if summed == 1:
            otherwise(s, s.fed - s.exogenous)
    if summed == 1:
        collected(s, point)
    if s.closes.product != 0:
        copied(s.befores[j * s.states :], s.before, s.states)
        before_correction(s, s.before, s.out, summed)


def pulled_back(s: Sweep) -> None:
    """Compute the products of all stages with the weights of the solution: `bars`."""
    m, states, behind = s.m, s.states, s.states - s.m
    for j in range(s.stages):
        solution, weights = s.solution[j * m :], s.given[j * s.apart + (s.weights - 1) * s.across :]
        for n in range(m):
            place = n if n < s.pose else behind + n
            weights[place * s.across] = solution[n]
    products(s)
    for j in range(s.stages):
        of_stage(s, j, 0)
        through_stage(s, j, 0)
        copied(s.out, s.bars[j * states :], states)


def remaining(s: Sweep, h: float) -> None:
    """Compute the remainders of the equations for the unknown weights, from the products of the stages.

    The weights of the rates of coordinates follow from the products, and are added to them.
    """
    stages, states, m, behind = s.stages, s.states, s.m, s.states - s.m
    for i in range(stages):
        own, ends, b = s.own[i * behind :], s.v[s.pose :], h * s.matrix[stages * stages + i]
        for n in lanes(behind):
            own[n] = b * ends[n]
        for j in range(stages):
            bar, a = s.bars[j * states + s.pose :], h * s.matrix[j * stages + i]
            for n in lanes(behind):
                own[n] += a * bar[n]
    for i in range(stages):
        bar, own = s.bars[i * states + behind + s.inner :], s.own[i * behind :]
        for n in lanes(behind):
            bar[n] += own[n]
    for i in range(stages):
        r, solution, rest, b = s.r[i * m :], s.solution[i * m :], s.v[behind:], h * s.matrix[stages * stages + i]
        for n in lanes(m):
            r[n] = b * rest[n]
        for n in range(s.pose):
            r[n] = b * s.v[n]
        for j in range(stages):
            bar, a = s.bars[j * states :], h * s.matrix[j * stages + i]
            moving = bar[behind + s.pose :]
            rest = r[s.pose :]
            for n in lanes(m - s.pose):
                rest[n] += a * moving[n]
            for n in range(s.pose):
                r[n] += a * bar[n]
        for n in lanes(m):
            r[n] -= solution[n]


def iterated(s: Sweep, h: float) -> int:
    """Solve by iteration. Return the number of products, or 0 if it fails."""
    count, before = s.stages * s.m, 1e300
    if s.length != h:
        s.length = 0.0
        if inverses(s.newton, h) == 0:
            return 0
        s.length = h
    filled(s.solution, 0.0, count)
    for j in range(s.stages):
        copied(s.costs[j * (s.states + s.fed) :], s.bars[j * s.states :], s.states)
    for iteration in range(ITERATIONS + 1):
        remaining(s, h)
        corrected(s.newton, s.r)
        size, scale = largest(s.r, count), largest(s.solution, count)
        if not size < 1e300:
            return 0
        if iteration > 0 and (size <= EXACT * scale or size > SLOW * before):
            return iteration if size <= ENOUGH * scale else 0
        for n in lanes(count):
            s.solution[n] += s.r[n]
        if iteration > 0:
            before = size
        pulled_back(s)
    return 0


def largest(x: Floats, count: int) -> float:
    """Return the largest size of some numbers, or a number that is not finite if there is one."""
    found = 0.0
    for n in range(count):
        if not abs(x[n]) <= found:
            found = abs(x[n])
    return found


def refreshed(s: Sweep) -> None:
    """Compute the slopes of the iteration at the middle stage."""
    m, states, behind = s.m, s.states, s.states - s.m
    differentiated(s, s.stages // 2)
    C, K = s.newton.C, s.newton.K
    for u in range(m):
        slopes, more = s.slopes[(s.stages // 2 * m + u) * states :], K[u * m + s.inner :]
        for n in range(m):
            C[u * m + n] = -slopes[n if n < s.pose else behind + n]
        for n in range(behind):
            more[n] = -slopes[s.pose + n]
    s.length, s.stale = 0.0, 0


def differentiated(s: Sweep, j: int) -> None:
    """Write the derivatives of a stage's unknown rates with respect to its state, several at once."""
    m, states, count, behind = s.m, s.states, s.states + s.fed, s.states - s.m
    along, point, weights = s.across, s.points[j * (1 + count) :], s.given[(s.weights - 1) * s.across :]
    for n in range(count):
        filled(s.given[n * along :], point[1 + n], along)
    filled(weights, 0.0, s.size * along)
    first = 0
    while first < m:
        last = min(first + along, m)
        for u in range(first, last):
            weights[(u if u < s.pose else behind + u) * along + u - first] = 1.0
        call(s.rate, s.given, s.found)
        for u in range(first, last):
            weights[(u if u < s.pose else behind + u) * along + u - first] = 0.0
            for n in range(count):
                s.out[n] = s.found[n * along + u - first]
            through_stage(s, j, 0)
            copied(s.out, s.slopes[(j * m + u) * states :], states)
        first = last


def eliminate(s: Sweep, h: float) -> None:
    """Solve by elimination, with the slopes of all stages."""
    stages, m = s.stages, s.m
    for j in range(stages):
        differentiated(s, j)
        for i in range(stages):
            coupled(s, i, j, h)
    beside(s, h)
    filled(s.solution, 0.0, stages * m)
    pulled_back(s)
    remaining(s, h)
    copied(s.r, s.solution, stages * m)
    if eliminated(s.system, stages * m, s.solution) == 0:
        s.solution[0] = NAN
    pulled_back(s)
    remaining(s, h)


def coupled(s: Sweep, i: int, j: int, h: float) -> None:
    """Write the block of the linear system in the equations of stage i for the unknowns of stage j."""
    stages, states, m, behind = s.stages, s.states, s.m, s.states - s.m
    count = stages * m
    a, a2 = -h * s.matrix[j * stages + i], -h * h * s.square[j * stages + i]
    for u in range(m):
        slopes, column = s.slopes[(j * m + u) * states :], s.system[i * m * count + j * m + u :]
        for n in range(m):
            column[n * count] = a * slopes[n if n < s.pose else behind + n]
        for n in range(behind):
            column[(s.inner + n) * count] += a2 * slopes[s.pose + n]
        if i == j:
            column[u * count] += 1.0
