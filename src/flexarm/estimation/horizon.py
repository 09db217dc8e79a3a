"""A moving horizon in native code: a Gauss-Newton method for the motion over a window of samples.

The estimate minimises the squares of the initial error, of the random torques and accelerations and of the readings'
errors over the window, each divided by its standard deviation. One iteration is a Kalman filter and a smoother for the
equations linearised about the last iterate L, which solve the linear least squares problem (Bell, SIAM J. Optimization
4, 1994, 626-636). With the difference X - L as a further direction, a step and a correction are those of `loops`. The
random torques w have iterates, too. With the factor S_k after the correction, the smoother is

    c = (A S_k)' P-_k+1^-1 (L_k+1 - X-_k+1),    L_k = X_k + S_k c,    w_k = (B W)' P-_k+1^-1 (L_k+1 - X-_k+1)

(Rauch, Tung & Striebel, AIAA Journal 3, 1965, 1445-1450). The window begins with the filter's prediction for its first
sample, from the last iterate (Rao & Rawlings, AIChE J. 48, 2002, 97-109).

From one sample to the next most iterates change little, and the arm is linearised again only from the first sample on
whose linear equations are outdated. The others keep their filtered estimates, which no later reading changes. To find
that sample, each step and each reading is evaluated at its iterate L, with its derivative along the difference from the
point a of its linear equations. By how much these are wrong at L is, up to the third order in L - a,

    f(a) + A(a) (L - a) - f(L)  =  A(L) (L - a) - (f(L) - f(a))

Its size is that of P-_k+1^-1/2 times it, in standard deviations. The filter and the smoother do not enlarge it. Changed
derivatives also change the gains: where the error is kappa d^2 / 2 for an iterate that moved by d standard deviations,
the next estimate differs by about kappa d standard deviations, the square root of 2 kappa times the error.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from flexarm.estimation.charts import centered, recentered
from flexarm.estimation.loops import (
    Filter,
    advanced,
    constant_terms,
    corrected,
    observed,
    padded,
    point,
    step_rows,
    stepped,
)
from flexarm.native.kernel import LANES
from flexarm.native.language import Floats, lanes
from flexarm.simulation.steps import copied

TOLERANCE, CONVERGED = 1e-3, 1e-10
"""Largest error of linear equations that are not outdated, in standard deviations, with one iteration and with more.

With one iteration the estimates differ by some hundredths of a standard deviation from those of a window that is always
linearised again. With more they converge to the least squares solution.
"""


@dataclass
class Window:
    """The last samples, and the iterates of their estimates. The first one is at the place `first` of the arrays.

    Attributes
    ----------
    horizon, iterations, count : int
        Largest number of periods, Gauss-Newton iterations for each sample, and the present number of samples.
    first, outdated : int
        Place of the first sample, and the number of samples before the first one with outdated equations.
    tolerance : float
        Largest error of linear equations that are not outdated, in standard deviations.
    nodes : int
        Numbers of the inputs of a period.
    y, u, acting : (horizon + 1, outputs), (horizon + LANES, nodes), (horizon + LANES, inputs)
        Readings, inputs after each sample, and inputs when it is read.
    L, torques : (horizon + 1, size), (horizon + 1, torques)
        Iterates of the estimates, and of the random torques after each sample, in standard deviations.
    seen_at, reading : (horizon + 1, size), (horizon + 1, outputs)
        Points where the sensors are linearised, and the readings there.
    moved_at, moved_by, moved : (horizon + 1, size), (horizon + 1, torques), (horizon + 1, size)
        Points and torques where the steps are linearised, and the states after these steps.
    before, before_S : (horizon + 1, size), (horizon + 1, size, size)
        Predicted estimates and their covariances' factors.
    filtered, filtered_S : (horizon + 1, size), (horizon + 1, size, size)
        Estimates and factors after the corrections.
    gains : (horizon + 1, size, padded(size + torques))
        Transposes of (A S)' P^-1 and (B W)' P^-1 with the covariance P after a step.
    e, c, way, innovation, spread
        Work memory.
    """

    filter: Sequence[Filter]
    horizon: int
    iterations: int
    count: int
    first: int
    outdated: int
    tolerance: float
    nodes: int
    y: Floats
    u: Floats
    acting: Floats
    L: Floats
    torques: Floats
    seen_at: Floats
    reading: Floats
    moved_at: Floats
    moved_by: Floats
    moved: Floats
    before: Floats
    before_S: Floats
    filtered: Floats
    filtered_S: Floats
    gains: Floats
    e: Floats
    c: Floats
    way: Floats
    innovation: Floats
    spread: Floats


def place(w: Window, i: int) -> int:
    """Return the place of the i-th sample of the window."""
    found = w.first + i
    return found - w.horizon - 1 if found > w.horizon else found


def windowed(w: Window, y: Floats, u: Floats, acting: Floats, moves: int) -> None:
    """Add a sample to the window, with the inputs u before it, and iterate."""
    s = w.filter[0]
    N, m = s.size, s.outputs
    if moves == 0:
        w.count, w.first, w.outdated = 1, 0, 0
        copied(s.X, w.before, N)
        copied(s.S, w.before_S, N * N)
    else:
        previous = place(w, w.count - 1)
        copied(u, w.u[previous * w.nodes :], w.nodes)
        for i in range(s.torques):
            w.torques[previous * s.torques + i] = 0.0
        if w.count > w.horizon:
            w.first = place(w, 1)
            w.outdated = max(w.outdated - 1, 0)
        else:
            w.count += 1
    last = place(w, w.count - 1)
    copied(y, w.y[last * m :], m)
    copied(acting, w.acting[last * s.inputs :], s.inputs)
    for iteration in range(w.iterations):
        if iteration > 0 and w.outdated == w.count:
            break
        forward(w, iteration)
        backward(w)
        if iteration == 0:  # later ones know the reading already
            copied(s.innovation, w.innovation, m)
            copied(s.spread, w.spread, m)
            w.e[0] = s.nis
        leaves = 1 if iteration == w.iterations - 1 and w.count > w.horizon else 0
        w.outdated = 0 if s.turns > 0 else outdated(w, leaves)
    copied(w.innovation, s.innovation, m)
    copied(w.spread, s.spread, m)
    s.nis = w.e[0]
    if s.turns > 0:
        copied(s.X, s.center, 3 * (s.free + s.turns))
        for i in range(w.count):
            at = place(w, i)
            recentered(s, w.L[at * N :], w.before_S, 0)
            if i < 2:
                recentered(s, w.before[at * N :], w.before_S[at * N * N :], N)
        centered(s)


def forward(w: Window, iteration: int) -> None:
    """Filter the window with derivatives at the iterates, from the first sample with outdated equations on.

    A new sample has its iterate from its prediction.
    """
    s = w.filter[0]
    N, start = s.size, w.outdated
    s.apart = 1
    if iteration == 0 and w.count > 1 and start >= w.count - 1:  # X and S are those of the last sample
        moved_on(w, w.count - 2)
        start = w.count - 1
    else:
        at = place(w, start)
        copied(w.before[at * N :], s.X, N)
        copied(w.before_S[at * N * N :], s.S, N * N)
    for i in range(start, w.count):
        at = place(w, i)
        if iteration == 0 and i == w.count - 1:
            copied(s.X, w.L[at * N :], N)
        copied(w.L[at * N :], s.about, N)
        corrected(s, w.y[at * s.outputs :], w.acting[at * s.inputs :])
        copied(s.about, w.seen_at[at * N :], N)
        copied(s.predicted, w.reading[at * s.outputs :], s.outputs)
        copied(s.X, w.filtered[at * N :], N)
        copied(s.S, w.filtered_S[at * N * N :], N * N)
        if i < w.count - 1:
            moved_on(w, i)
    s.apart = 0


def moved_on(w: Window, i: int) -> None:
    """Move X and S from the i-th sample to the next one."""
    s = w.filter[0]
    N, width, at, after = s.size, padded(s.size), place(w, i), place(w, i + 1)
    torques, wide = w.torques[at * s.torques :], padded(N + s.torques)
    gains = w.gains[at * N * wide :]
    copied(w.L[at * N :], s.about, N)
    copied(s.about, w.moved_at[at * N :], N)
    copied(torques, w.moved_by[at * s.torques :], s.torques)
    pushed(s, torques)
    count = step_rows(s, w.u[at * w.nodes :])
    copied(s.predicted, w.moved[at * N :], N)
    for j in range(N + s.torques):
        row = s.T[(j if j < N else j + 1) * width :]
        for a in range(N):
            gains[a * wide + j] = row[a]
    advanced(s, count)
    divided(s.S, gains, N, wide)
    for a in range(s.inputs):
        s.pushed[a] = 0.0
    copied(s.X, w.before[after * N :], N)
    copied(s.S, w.before_S[after * N * N :], N * N)


def pushed(s: Filter, torques: Floats) -> None:
    """Take random torques (torques,) in standard deviations as those at which derivatives are taken."""
    for a in range(s.inputs):
        s.pushed[a] = 0.0
    for j in range(s.torques):
        way = s.ways[(s.size + 1 + j) * (s.size + s.inputs) + s.size :]
        for a in range(s.inputs):
            s.pushed[a] += torques[j] * way[a]


def divided(S: Floats, G: Floats, size: int, width: int) -> None:
    """Replace the columns G (size, width) by (S S')^-1 G, with the columns of a lower triangle S."""
    for a in range(size):
        column, row, f = S[a * size :], G[a * width :], 1.0 / S[a * size + a]
        for j in lanes(width):
            row[j] *= f
        for b in range(a + 1, size):
            other, x = G[b * width :], column[b]
            for j in lanes(width):
                other[j] -= x * row[j]
    for a in range(size - 1, -1, -1):
        row, f = G[a * width :], 1.0 / S[a * size + a]
        for j in lanes(width):
            row[j] *= f
        for b in range(a):
            other, x = G[b * width :], S[b * size + a]
            for j in lanes(width):
                other[j] -= x * row[j]


def backward(w: Window) -> None:
    """Smooth the window: the estimates given all readings are the next iterates."""
    s = w.filter[0]
    N, width, last = s.size, padded(s.size + s.torques), place(w, w.count - 1)
    copied(w.filtered[last * N :], w.L[last * N :], N)
    for i in range(w.count - 2, -1, -1):
        at, after, c = place(w, i), place(w, i + 1), w.c
        for j in lanes(width):
            c[j] = 0.0
        for a in range(N):
            gains, d = w.gains[(at * N + a) * width :], w.L[after * N + a] - w.before[after * N + a]
            for j in lanes(width):
                c[j] += d * gains[j]
        x = w.L[at * N :]
        copied(w.filtered[at * N :], x, N)
        for j in range(N):
            column, share = w.filtered_S[(at * N + j) * N :], c[j]
            for a in lanes(N):
                x[a] += share * column[a]
        copied(c[N:], w.torques[at * s.torques :], s.torques)


# -- outdated equations ------------------------------------------------------------------------------------------------


def outdated(w: Window, least: int) -> int:
    """Return the first sample, from `least` on, whose linear equations have an error above the tolerance.

    Return the number of samples if there is none.
    """
    s = w.filter[0]
    N, n, m, found = s.size, s.states, s.outputs, w.count
    for group in range(w.horizon // LANES + 1):
        first = group * LANES
        for lane in range(LANES):  # the place of a sample in the arrays
            at = min(first + lane, w.horizon)
            pushed(s, w.torques[at * s.torques :])
            difference(w, at, w.moved_at)
            for j in range(s.torques):
                change = w.torques[at * s.torques + j] - w.moved_by[at * s.torques + j]
                random = s.ways[(N + 1 + j) * (N + s.inputs) + N :]
                for a in range(s.inputs):
                    w.way[N + a] += change * random[a]
            point(s, lane, w.L[at * N :], w.way, 0.0, 1.0)
        constant_terms(s)
        stepped(s, w.u[first * w.nodes :], w.nodes)
        for lane in range(min(LANES, w.horizon + 1 - first)):
            i = number(w, first + lane)
            if i >= least and i < min(found, w.count - 1):
                x, dx, e = s.y[lane:], s.y[n * LANES + lane :], w.e[1:]
                for j in range(N):
                    e[j] = 0.0
                for j in range(n):
                    e[j] = dx[j * LANES] - (x[j * LANES] - w.moved[(first + lane) * N + j])
                if whitened(w.before_S[place(w, i + 1) * N * N :], e, N) > w.tolerance * w.tolerance:
                    found = i
        for a in range(s.inputs):
            s.pushed[a] = 0.0
        for lane in range(LANES):
            at = min(first + lane, w.horizon)
            difference(w, at, w.seen_at)
            point(s, lane, w.L[at * N :], w.way, 0.0, 1.0)
        constant_terms(s)
        observed(s, w.acting[first * s.inputs :], s.inputs)
        for lane in range(min(LANES, w.horizon + 1 - first)):
            i = number(w, first + lane)
            if i >= least and i < found:
                y, dy, square = s.k[lane:], s.k[m * LANES + lane :], 0.0
                for j in range(m):
                    error = dy[j * LANES] - (y[j * LANES] - w.reading[(first + lane) * m + j])
                    square += error * error / (s.noise[j] * s.noise[j])
                if square > w.tolerance * w.tolerance:
                    found = i
    return found


def difference(w: Window, at: int, points: Floats) -> None:
    """Write the difference of the iterate at a place from the point there as a direction, without random torques."""
    s = w.filter[0]
    N = s.size
    for j in range(N):
        w.way[j] = w.L[at * N + j] - points[at * N + j]
    for a in range(s.inputs):
        w.way[N + a] = 0.0


def number(w: Window, at: int) -> int:
    """Return the number of the sample at a place, counted from the first one of the window."""
    return at - w.first if at >= w.first else at - w.first + w.horizon + 1


def whitened(S: Floats, e: Floats, size: int) -> float:
    """Return the sum of the squares of S^-1 e, with the columns of a lower triangle S. It overwrites e (size,)."""
    square = 0.0
    for j in range(size):
        first = 4 * (j // 4)
        column, x, rest = S[j * size + first :], e[j] / S[j * size + j], e[first:]
        square += x * x
        for a in lanes(size - first):  # e_j is used no more
            rest[a] -= x * column[a]
    return square
