"""Forward derivatives of the recorded steps of an implicit method, in the language that is translated.

The changes of the rates of all stages, dk_i = df/dy (dy + h sum_j a_ij dk_j) + df/du du + df/dp dp, are the solution of
a linear system. It is solved as Newton's method solves the step itself: an iteration with exact products corrects the
changes by the inverse of Newton's matrix, whose slopes are those of one stage of an earlier step. Where the iteration
fails, the system is solved by elimination, with the slopes of all stages.

The states between the ends of steps are those of the polynomial through the rates of this step and of previous ones
(`steps.between`). The same functions of `steps` apply to the changes, since they are linear in the rates.
"""

from flexarm.native.dense import eliminated
from flexarm.native.kernel import LANES
from flexarm.native.language import Floats, lanes
from flexarm.simulation.adjoint_implicit import ENOUGH, EXACT, ITERATIONS, REFRESH, SLOW
from flexarm.simulation.decoupled import corrected, inverses
from flexarm.simulation.directions import Forward, noted, put_on_closures, rates, slopes_along, spread
from flexarm.simulation.explicit import filled
from flexarm.simulation.rhs import NAN
from flexarm.simulation.steps import NEARLY, between, copied, fitted, passed, reached


def implicit_step(s: Forward, t: float, h: float, end: float, row: Floats, begins: int) -> None:
    """Take a recorded step with the changes of the state, which is the first of an interval if it `begins` there."""
    own, changes = s.steps_of, s.changes_of
    size, stages, width = s.size, own.stages, own.width
    copied(row, own.y, size)
    copied(s.y[size * LANES :], changes.y, size * LANES)
    own.t, changes.t = t, t
    if begins == 1:
        rates(s, t, s.y, s.z)
        own.nodes[0], changes.nodes[0] = t, t
        own.known, changes.known = 1, 1
        for n in range(width):
            own.k[stages * width + n] = s.z[in_state(s, n) * LANES]
        as_row(s, s.z[size * LANES :], changes.k[stages * width * LANES :])
    for j in range(stages):
        k, rates_of = own.k[j * width :], row[(1 + j) * size :]
        copied(rates_of, k, own.pose)
        copied(rates_of[own.pose + s.behind :], k[own.pose :], width - own.pose)
    for j in range(stages):
        reached(own, own.c[j], h, own.a1[j * stages :], own.a2[j * stages :], stages, s.points[j * size :])
    solved(s, t, h)
    if s.known < s.wanted and (s.times[s.known] - t) / h < NEARLY:
        fitted(own, h)
        fitted(changes, h)
        while s.known < s.wanted and (s.times[s.known] - t) / h < NEARLY:
            x = (s.times[s.known] - t) / h
            between(own, x, h, s.place)
            spread(s.place, s.x, size)
            between(changes, x, h, s.x[size * LANES :])
            put_on_closures(s, s.x, s.x[size * LANES :])
            noted(s, s.x, s.times[s.known])
    reached(own, 1.0, h, own.b1, own.b2, stages, s.place)
    spread(s.place, s.z, size)
    reached(changes, 1.0, h, own.b1, own.b2, stages, s.z[size * LANES :])
    put_on_closures(s, s.z, s.z[size * LANES :])
    noted(s, s.z, max(end, t + h))
    copied(s.z, s.y, 2 * size * LANES)
    passed(own, h)
    passed(changes, h)


def in_state(s: Forward, n: int) -> int:
    """Return the place in a state of the n-th number of a row of rates."""
    return n if n < s.steps_of.pose else s.behind + n


def as_row(s: Forward, x: Floats, row: Floats) -> None:
    """Write the changes of the rates of a state as a row of rates, without those of coordinates."""
    first = s.steps_of.pose * LANES
    copied(x, row, first)
    copied(x[first + s.behind * LANES :], row[first:], s.steps_of.width * LANES - first)


def solved(s: Forward, t: float, h: float) -> None:
    """Compute the changes of the rates of all stages, by iteration or by elimination."""
    count, fresh = 0, s.stale
    if s.stale == 0:
        count = iterated(s, t, h)
    if count == 0:
        refreshed(s, t, h)
        fresh = 1
        count = iterated(s, t, h)
    if count == 0:
        s.stale = 1
        eliminate(s, t, h)
    elif fresh == 1:
        s.least, s.excess = count, 0
    else:
        s.excess += count - s.least
        if s.excess >= REFRESH:
            s.stale = 1


def remaining(s: Forward, t: float, h: float) -> None:
    """Compute the remainders of the equations for the changes of the rates."""
    own, changes = s.steps_of, s.changes_of
    size, stages, width, count = s.size, own.stages, changes.width, own.m * LANES
    for i in range(stages):
        spread(s.points[i * size :], s.x, size)
        reached(changes, own.c[i], h, own.a1[i * stages :], own.a2[i * stages :], stages, s.x[size * LANES :])
        rates(s, t + own.c[i] * h, s.x, s.z)
        r, k = s.r[i * count :], changes.k[i * width :]
        as_row(s, s.z[size * LANES :], s.x)
        copied(s.x[count:], k[count:], width - count)
        for n in lanes(count):
            r[n] = s.x[n] - k[n]


def iterated(s: Forward, t: float, h: float) -> int:
    """Solve by iteration. Return the number of products, or 0 if it fails."""
    changes, count, before = s.changes_of, s.steps_of.m * LANES, 1e300
    if s.length != h:
        s.length = 0.0
        if inverses(changes.newton, h) == 0:
            return 0
        s.length = h
    filled(changes.k, 0.0, changes.stages * changes.width)
    for iteration in range(ITERATIONS):
        remaining(s, t, h)
        corrected(changes.newton, s.r)
        for j in range(changes.stages):
            k, r = changes.k[j * changes.width :], s.r[j * count :]
            for n in lanes(count):
                k[n] += r[n]
        size = correction(s)
        if not size < 1e300:
            return 0
        if size <= EXACT:
            return iteration + 1
        if iteration > 0:
            if 10.0 * size * size <= EXACT * before:  # the next correction would be small enough
                return iteration + 1
            if size > SLOW * before:
                return iteration + 1 if size <= ENOUGH else 0
        before = size
    return 0


def correction(s: Forward) -> float:
    """Return the largest size of the last correction in one direction, relative to the rates in this direction."""
    changes, m, found = s.changes_of, s.steps_of.m, 0.0
    for lane in range(LANES):
        size, scale = 0.0, 0.0
        for j in range(changes.stages):
            r, k = s.r[j * m * LANES + lane :], changes.k[j * changes.width + lane :]
            for n in range(m):
                if not abs(r[n * LANES]) <= size:
                    size = abs(r[n * LANES])
                scale = max(scale, abs(k[n * LANES]))
        if size != 0.0:
            ratio = size / scale
            if not ratio <= found:
                found = ratio
    return found


def refreshed(s: Forward, t: float, h: float) -> None:
    """Compute the slopes of the iteration at the middle stage."""
    own, j = s.steps_of, s.steps_of.stages // 2
    m, slopes, newton = own.m, s.slopes[j * own.m * s.states :], s.changes_of.newton
    differentiated(s, j, t + own.c[j] * h)
    for n in range(m):
        column, found = newton.C[n * m :], slopes[in_state(s, n) * m :]
        for u in lanes(m):
            column[u] = -found[u]
    for n in range(s.behind):
        column, found = newton.K[n * m :], slopes[(own.pose + n) * m :]
        for u in lanes(m):
            column[u] = -found[u]
    s.length, s.stale = 0.0, 0


def differentiated(s: Forward, j: int, t: float) -> None:
    """Write the derivatives of a stage's unknown rates with respect to its state, several at once."""
    m, states, size = s.steps_of.m, s.states, s.size
    spread(s.points[j * size :], s.x, size)
    unit = s.x[size * LANES :]
    filled(unit, 0.0, size * LANES)
    first = 0
    while first < states:
        last = min(first + LANES, states)
        for n in range(first, last):
            unit[n * LANES + n - first] = 1.0
        slopes_along(s, t, s.x, s.z)
        for n in range(first, last):
            unit[n * LANES + n - first] = 0.0
            column, found = s.slopes[(j * states + n) * m :], s.z[size * LANES + n - first :]
            for u in range(m):
                column[u] = found[in_state(s, u) * LANES]
        first = last


def eliminate(s: Forward, t: float, h: float) -> None:
    """Solve by elimination, with the slopes of all stages."""
    own, changes = s.steps_of, s.changes_of
    stages, m, width = own.stages, own.m, changes.width
    count = stages * m
    for i in range(stages):
        differentiated(s, i, t + own.c[i] * h)
        for j in range(stages):
            coupled(s, i, j, h)
    filled(changes.k, 0.0, stages * width)
    remaining(s, t, h)
    for lane in range(LANES):
        copied(s.system, s.copy, count * count)
        for n in range(count):
            s.solution[n] = s.r[n * LANES + lane]
        if eliminated(s.copy, count, s.solution) == 0:
            s.solution[0] = NAN
        for j in range(stages):
            k, found = changes.k[j * width + lane :], s.solution[j * m :]
            for n in range(m):
                k[n * LANES] = found[n]


def coupled(s: Forward, i: int, j: int, h: float) -> None:
    """Write the block of the linear system in the equations of stage i for the unknowns of stage j."""
    own = s.steps_of
    stages, m = own.stages, own.m
    count, slopes = stages * m, s.slopes[i * m * s.states :]
    a, a2 = -h * own.a1[i * stages + j], -h * h * own.a2[i * stages + j]
    for u in range(m):
        row = s.system[(i * m + u) * count + j * m :]
        for n in range(m):
            row[n] = a * slopes[in_state(s, n) * m + u]
        for n in range(s.behind):
            row[own.inner + n] += a2 * slopes[(own.pose + n) * m + u]
        if i == j:
            row[u] += 1.0
