"""Square-root filters in native code: one step in time, one correction by readings, and loops over samples.

A filter has an estimate X (N,) and a factor S of its covariance, P = S S'. S is lower triangular. All covariances come
from one operation on an array T whose rows are independent directions: T = Q R, so that T' T = R' R, and R' is the new
factor (Kailath, Sayed & Hassibi, Linear Estimation, 2000, chapter 12). P is therefore never formed and stays positive.

    in time       rows [A s_j], [B w_j], [further noise]                      R = [S']
    correction    rows [sqrt(r_i), 0], [C s_j, s_j]                           R = [E', K'; 0, S']

s_j are the columns of S, A and C the derivatives of a step and of the readings. K E^-1 is Kalman's gain and E E' the
covariance of the innovation. An extended filter has the products A s_j from the derivatives of the Runge-Kutta steps
along the directions s_j, `LANES` directions at once. An unscented filter has the differences of the results of
2 N points X +- sqrt(N) s_j from their mean in place of A s_j.

X is (x, theta, d): the arm's state, numbers theta that determine parameters, and torques d.
"""

from dataclasses import dataclass

from flexarm.native.kernel import LANES
from flexarm.native.language import Floats, Words, call, lanes, sqrt
from flexarm.simulation.steps import copied

E = 2.718281828459045


@dataclass
class Filter:
    """Data of a filter.

    Attributes
    ----------
    rate, output, constants : addresses
        Kernels (x, u, w) -> f, (x, u, w) -> g and p -> w for `LANES` points. An extended filter has their derivatives
        (x, dx, u, du, w, dw) -> (f, df) and so on.
    linear : int
        1 for an extended filter, 0 for an unscented one.
    states, inputs, outputs, known, weights : int
        Sizes of x, u, y, p and w.
    unknown, acting, size : int
        Sizes of theta, d and X.
    torques, further : int
        Numbers of random torques and of further rows of noise.
    steps, h : int, float
        Runge-Kutta steps in a period, and their length [s].
    places, powers, scales : (unknown,)
        Index of each theta's parameter. It is scale exp(theta) if the power is 1, else theta.
    acts : (acting,)
        Indices of the inputs that d adds to.
    ways : (size + 1 + torques, size + inputs)
        Directions: the columns of S, the difference of X from the point of the derivatives, and random torques.
        Each is a change of X and a change of u.
    added : (further, size)
    noise : (outputs,)
        Standard deviations of the readings.
    about, pushed : (size,), (inputs,)
        Point and random torques at which derivatives are taken. If `apart` is 1, they are not X and zero.
    X, S : (size,), (size, size)
        S is stored column by column.
    u : (nodes, inputs)
        Inputs at the beginning, the middle and the end of each step.
    p, offset, z, y, k, total
        Arrays for `LANES` points: parameters, torques added to u, arguments of the kernels, states, rates, and sums.
    T, v
        Rows of directions, which become their triangular factor, and work memory.
    predicted, innovation, spread, nis
        Expected state or readings; the last innovation, its standard deviations, and its normalized square.
    free, turns, pose, center : int, int, (3 free + 4 turns,), (3 free + 3 turns,)
        A free base, number of attitudes, and the reference poses of the local coordinates in X, see `charts`. The
        poses are the last of the known parameters, too.
    stages, reach, shares, halves
        The method, see `ButcherTableau.in_sequence`, and the times of its stages in halves of a step.
    """

    rate: int
    output: int
    constants: int
    linear: int
    states: int
    inputs: int
    outputs: int
    known: int
    weights: int
    unknown: int
    acting: int
    size: int
    torques: int
    further: int
    steps: int
    h: float
    places: Words
    powers: Words
    scales: Floats
    acts: Words
    ways: Floats
    added: Floats
    noise: Floats
    about: Floats
    apart: int
    pushed: Floats
    X: Floats
    S: Floats
    u: Floats
    p: Floats
    offset: Floats
    z: Floats
    y: Floats
    k: Floats
    total: Floats
    T: Floats
    v: Floats
    predicted: Floats
    innovation: Floats
    spread: Floats
    nis: float
    free: int
    turns: int
    pose: Floats
    center: Floats
    stages: int
    reach: Floats
    shares: Floats
    halves: Words


# -- the triangular factor ---------------------------------------------------------------------------------------------


def padded(width: int) -> int:
    """Return the length of a row in memory, a multiple of four, so that SIMD needs no remainder."""
    return 4 * ((width + 3) // 4)


def triangulated(T: Floats, rows: int, columns: int, width: int, v: Floats) -> None:
    """Replace the upper triangle of T (rows, width) by R of T = Q R, by Householder's reflections of some columns.

    What is below the triangle has no meaning afterwards. `width` is a multiple of four.
    """
    for i in range(min(rows, columns)):
        fours = (rows - i) // 4  # four rows at once, so that sums wait for each other less often
        square, r = 0.0, i
        for _ in range(fours):
            a, b = T[r * width + i], T[(r + 1) * width + i]
            c, d = T[(r + 2) * width + i], T[(r + 3) * width + i]
            square += (a * a + b * b) + (c * c + d * d)
            r += 4
        for k in range(r, rows):
            x = T[k * width + i]
            square += x * x
        if square > 0.0:
            top = T[i * width + i]
            pivot = -sqrt(square) if top > 0.0 else sqrt(square)
            first = 4 * (i // 4)
            count = width - first
            f = 1.0 / (square - top * pivot)  # 2 / v'v of v, the column without the pivot
            T[i * width + i] = top - pivot
            for j in lanes(count):
                v[j] = 0.0
            r = i
            for _ in range(fours):
                A, B = T[r * width + first :], T[(r + 1) * width + first :]
                C, D = T[(r + 2) * width + first :], T[(r + 3) * width + first :]
                a, b, c, d = A[i - first], B[i - first], C[i - first], D[i - first]
                for j in lanes(count):
                    v[j] += (a * A[j] + b * B[j]) + (c * C[j] + d * D[j])
                r += 4
            for k in range(r, rows):
                row, x = T[k * width + first :], T[k * width + i]
                for j in lanes(count):
                    v[j] += x * row[j]
            for j in lanes(count):
                v[j] *= f
            for k in range(i, rows):
                row, x = T[k * width + first :], T[k * width + i]
                for j in lanes(count):
                    row[j] -= x * v[j]
            T[i * width + i] = pivot


def factor_from(T: Floats, first: int, width: int, size: int, S: Floats) -> None:
    """Write the triangle of T that begins at the diagonal element `first` as the columns of S."""
    for j in range(size):
        row, column = T[(first + j) * width + first :], S[j * size :]
        for i in range(j):
            column[i] = 0.0
        for i in range(j, size):
            column[i] = row[i]


# -- directions and points ---------------------------------------------------------------------------------------------


def directed(s: Filter) -> int:
    """Write the columns of S as directions, and the difference of X from the point of the derivatives if it is another.

    Return their number.
    """
    N, width = s.size, s.size + s.inputs
    for j in range(N):
        copied(s.S[j * N :], s.ways[j * width :], N)
    if s.apart == 1:
        way = s.ways[N * width :]
        for i in range(N):
            way[i] = s.X[i] - s.about[i]
        for i in range(s.inputs):
            way[N + i] = -s.pushed[i]
        return N + 1
    return N


def place_of(s: Filter, j: int) -> int:
    """Return the place of the j-th direction. Random torques follow the difference, whether it is used or not."""
    return (j if j < s.size + s.apart else j + 1 - s.apart) * (s.size + s.inputs)


def points(s: Filter, group: int, count: int) -> None:
    """Write a group of points or of directions into the lanes."""
    far = sqrt(float(count))
    for lane in range(LANES):
        number = group * LANES + lane
        j, moved, change = number, 0.0, 1.0
        if s.linear == 0:
            j = number // 2
            moved, change = far if number - 2 * j == 0 else -far, 0.0
        if j >= count:
            j, moved, change = 0, 0.0, 0.0
        point(s, lane, s.about, s.ways[place_of(s, j) :], moved, change)
    constant_terms(s)


def point(s: Filter, lane: int, about: Floats, way: Floats, moved: float, change: float) -> None:
    """Write the point about + moved way into a lane, with the direction change way."""
    n, m, N = s.states, s.inputs, s.size
    x, dx = s.y[lane:], s.y[n * LANES + lane :]
    p, dp = s.p[lane:], s.p[s.known * LANES + lane :]
    u, du = s.offset[lane:], s.offset[m * LANES + lane :]
    for i in range(n):
        x[i * LANES] = about[i] + moved * way[i]
    for i in range(s.unknown):
        value, slope = about[n + i] + moved * way[n + i], 1.0
        if s.powers[i] == 1:
            value = s.scales[i] * E**value
            slope = value
        p[s.places[i] * LANES] = value
        if s.linear == 1:
            dp[s.places[i] * LANES] = change * slope * way[n + i]
    for i in range(m):
        u[i * LANES] = s.pushed[i] + moved * way[N + i]
    for i in range(s.acting):
        at = n + s.unknown + i
        u[s.acts[i] * LANES] += about[at] + moved * way[at]
    if s.linear == 1:
        for i in range(n):
            dx[i * LANES] = change * way[i]
        for i in range(m):
            du[i * LANES] = change * way[N + i]
        for i in range(s.acting):
            du[s.acts[i] * LANES] += change * way[n + s.unknown + i]


def constant_terms(s: Filter) -> None:
    """Compute the constants of the equations for the parameters in the lanes."""
    if s.known > 0:
        call(s.constants, s.p, s.z[(1 + s.linear) * (s.states + s.inputs) * LANES :])


def driven(s: Filter, u: Floats, apart: int) -> None:
    """Write the inputs u of a node with the torques that are added to them. Those of the lanes are `apart` in u."""
    to, m = s.z[(1 + s.linear) * s.states * LANES :], s.inputs
    for i in range(m):
        for lane in range(LANES):
            to[i * LANES + lane] = u[lane * apart + i] + s.offset[i * LANES + lane]
    if s.linear == 1:
        copied(s.offset[m * LANES :], to[m * LANES :], m * LANES)


def stepped(s: Filter, u: Floats, apart: int) -> None:
    """Take the Runge-Kutta steps of a period from the states in the lanes, see `driven`."""
    width = (1 + s.linear) * s.states * LANES
    x, y, k, total = s.z, s.y, s.k, s.total
    for step in range(s.steps):
        for j in lanes(width):
            x[j], total[j] = y[j], 0.0
        for stage in range(s.stages):
            driven(s, u[(2 * step + s.halves[stage]) * s.inputs :], apart)
            call(s.rate, x, k)
            share, reach = s.h * s.shares[stage], s.h * s.reach[stage]
            for j in lanes(width):
                total[j] += share * k[j]
                x[j] = y[j] + reach * k[j]
        for j in lanes(width):
            y[j] += total[j]


# -- a step in time ----------------------------------------------------------------------------------------------------


def propagated(s: Filter, u: Floats) -> None:
    """Move X and S by one period with the inputs u (nodes, inputs)."""
    advanced(s, step_rows(s, u))


def step_rows(s: Filter, u: Floats) -> int:
    """Write the rows [A s_j] and [B w_j] of a step to T, and the state after it to `predicted`.

    The row of the difference, if there is one, is between them. Return the number of rows.
    """
    count = directed(s) + s.torques
    copied(s.about, s.predicted, s.size)
    return moved_along(s, u, count) if s.linear == 1 else moved_points(s, u, count)


def advanced(s: Filter, rows: int) -> None:
    """Find X and S after a step from the rows of T."""
    N, width = s.size, padded(s.size)
    if s.apart == 1:  # the row of the difference moves the mean
        last = s.T[N * width :]
        for i in range(N):
            s.predicted[i] += last[i]
        for j in range(N, rows - 1):
            copied(s.T[(j + 1) * width :], s.T[j * width :], width)
        rows -= 1
    for j in range(s.further):
        row = s.T[(rows + j) * width :]
        copied(s.added[j * N :], row, N)
        for i in range(N, width):
            row[i] = 0.0
    triangulated(s.T, rows + s.further, N, width, s.v)
    factor_from(s.T, 0, width, N, s.S)
    copied(s.predicted, s.X, N)


def moved_along(s: Filter, u: Floats, count: int) -> int:
    """Write the derivatives of a step along all directions as rows of T, and the state after it."""
    n, N, width = s.states, s.size, padded(s.size)
    for group in range((count + LANES - 1) // LANES):
        points(s, group, count)
        stepped(s, u, 0)
        for lane in range(min(LANES, count - group * LANES)):
            j = group * LANES + lane
            row, way, dx = s.T[j * width :], s.ways[place_of(s, j) :], s.y[n * LANES + lane :]
            for i in range(n):
                row[i] = dx[i * LANES]
            for i in range(n, N):
                row[i] = way[i]
            for i in range(N, width):
                row[i] = 0.0
    for i in range(n):
        s.predicted[i] = s.y[i * LANES]
    return count


def moved_points(s: Filter, u: Floats, count: int) -> int:
    """Write the differences of all points after a step from their mean as rows of T, and this mean."""
    n, N, width = s.states, s.size, padded(s.size)
    rows = 2 * count
    for i in range(n):
        s.predicted[i] = 0.0
    share = 1.0 / float(rows)
    for group in range((rows + LANES - 1) // LANES):
        points(s, group, count)
        stepped(s, u, 0)
        for lane in range(min(LANES, rows - group * LANES)):
            j = group * LANES + lane
            row, x, way = s.T[j * width :], s.y[lane:], s.ways[place_of(s, j // 2) :]
            sign = 0.7071067811865476 if j - 2 * (j // 2) == 0 else -0.7071067811865476
            for i in range(n):
                row[i] = x[i * LANES]
                s.predicted[i] += share * x[i * LANES]
            for i in range(n, N):
                row[i] = sign * way[i]
            for i in range(N, width):
                row[i] = 0.0
    root = sqrt(share)
    for j in range(rows):
        row = s.T[j * width :]
        for i in range(n):
            row[i] = root * (row[i] - s.predicted[i])
    return rows


# -- a correction ------------------------------------------------------------------------------------------------------


def corrected(s: Filter, y: Floats, u: Floats) -> None:
    """Correct X and S by the readings y (outputs,) under the inputs u (inputs,).

    Write the innovation, its standard deviations and its normalized square.
    """
    N, m, width = s.size, s.outputs, padded(s.size + s.outputs)
    count = directed(s)
    rows = seen_along(s, u, count, width) if s.linear == 1 else seen_points(s, u, count, width)
    for i in range(m):
        s.innovation[i] = y[i] - s.predicted[i]
    if s.apart == 1:  # the row of the difference moves the expected reading
        last = s.T[(m + N) * width :]
        for i in range(m):
            s.innovation[i] -= last[i]
        rows -= 1
    for i in range(m):
        row = s.T[i * width :]
        for j in lanes(width):
            row[j] = 0.0
        row[i] = s.noise[i]
    triangulated(s.T, rows, m + N, width, s.v)
    s.nis = 0.0
    for i in range(m):
        square = 0.0
        for j in range(i + 1):
            square += s.T[j * width + i] * s.T[j * width + i]
        s.spread[i] = sqrt(square)
    for j in range(m):  # E e = innovation by forward substitution, then X + K e
        e = s.innovation[j]
        for i in range(j):
            e -= s.T[i * width + j] * s.v[i]
        e = e / s.T[j * width + j]
        s.v[j] = e
        s.nis += e * e
    for j in range(m):
        e, row = s.v[j], s.T[j * width + m :]
        for i in range(N):
            s.X[i] += e * row[i]
    factor_from(s.T, m, width, N, s.S)


def seen_along(s: Filter, u: Floats, count: int, width: int) -> int:
    """Write the derivatives of the readings beside each direction as rows of T, and the expected readings."""
    m, N = s.outputs, s.size
    for group in range((count + LANES - 1) // LANES):
        points(s, group, count)
        observed(s, u, 0)
        for lane in range(min(LANES, count - group * LANES)):
            j = group * LANES + lane
            row, way, dy = s.T[(m + j) * width :], s.ways[place_of(s, j) :], s.k[m * LANES + lane :]
            for i in range(m):
                row[i] = dy[i * LANES]
            for i in range(N):
                row[m + i] = way[i]
            for i in range(m + N, width):
                row[i] = 0.0
    for i in range(m):
        s.predicted[i] = s.k[i * LANES]
    return m + count


def seen_points(s: Filter, u: Floats, count: int, width: int) -> int:
    """Write the differences of the readings of all points from their mean as rows of T, and this mean."""
    m, N, rows = s.outputs, s.size, 2 * count
    for i in range(m):
        s.predicted[i] = 0.0
    share = 1.0 / float(rows)
    for group in range((rows + LANES - 1) // LANES):
        points(s, group, count)
        observed(s, u, 0)
        for lane in range(min(LANES, rows - group * LANES)):
            j = group * LANES + lane
            row, way, y = s.T[(m + j) * width :], s.ways[place_of(s, j // 2) :], s.k[lane:]
            sign = 0.7071067811865476 if j - 2 * (j // 2) == 0 else -0.7071067811865476
            for i in range(m):
                row[i] = y[i * LANES]
                s.predicted[i] += share * y[i * LANES]
            for i in range(N):
                row[m + i] = sign * way[i]
            for i in range(m + N, width):
                row[i] = 0.0
    root = sqrt(share)
    for j in range(rows):
        row = s.T[(m + j) * width :]
        for i in range(m):
            row[i] = root * (row[i] - s.predicted[i])
    return m + rows


def observed(s: Filter, u: Floats, apart: int) -> None:
    """Compute the readings of the states in the lanes, see `driven`."""
    copied(s.y, s.z, (1 + s.linear) * s.states * LANES)
    driven(s, u, apart)
    call(s.output, s.z, s.k)
