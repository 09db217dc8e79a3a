"""A moving horizon in native code: a Gauss-Newton method for the motion over a window of samples.

The estimate minimises the squares of the initial error, of the random torques and accelerations and of the readings'
errors over the window, each divided by its standard deviation. One iteration is a Kalman filter and a smoother for the
equations linearised about the last iterate L, which solve the linear least squares problem (Bell, SIAM J. Optimization
4, 1994, 626-636). With the difference X - L as a further direction, a step and a correction are those of `loops`. The
random torques have iterates, too.

The smoother follows from the triangle of a step that has the directions before it, too:

    [A s_j, s_j; B w_j, 0] = Q [R11, R12; 0, R22],    x_k <- X_k + R12' R11^-T (x_k+1 - X-_k+1)

The window begins with the filter's prediction for its first sample, from the last iterate (Rao & Rawlings, AIChE J. 48,
2002, 97-109).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from flexarm.estimation.charts import centered, recentered
from flexarm.estimation.loops import Filter, corrected, padded, propagated
from flexarm.native.language import Floats
from flexarm.simulation.steps import copied


@dataclass
class Window:
    """The last samples, and the iterates of their estimates.

    Attributes
    ----------
    horizon, iterations, count : int
        Largest number of periods, Gauss-Newton iterations for each sample, and the present number of samples.
    nodes : int
        Numbers of the inputs of a period.
    y, u, acting : (horizon + 1, outputs), (horizon + 1, nodes), (horizon + 1, inputs)
        Readings, inputs after each sample, and inputs when it is read.
    L, filtered, before : (horizon + 1, size)
        Iterates, filtered and predicted estimates.
    torques : (horizon + 1, torques)
        Iterates of the random torques after each sample, in standard deviations.
    R : (horizon + 1, size, padded(size) + padded(size + torques))
        Triangles of the steps.
    X, S : (size,), (size, size)
        Prediction for the first sample, before its correction, and for the second, `later_X` and `later_S`.
    e, innovation, spread
        Work memory.
    """

    filter: Sequence[Filter]
    horizon: int
    iterations: int
    count: int
    nodes: int
    y: Floats
    u: Floats
    acting: Floats
    L: Floats
    filtered: Floats
    before: Floats
    torques: Floats
    R: Floats
    X: Floats
    S: Floats
    later_X: Floats
    later_S: Floats
    e: Floats
    innovation: Floats
    spread: Floats


def windowed(w: Window, y: Floats, u: Floats, acting: Floats, moves: int) -> None:
    """Add a sample to the window, with the inputs u before it, and iterate."""
    s = w.filter[0]
    N, m, k = s.size, s.outputs, s.inputs
    if moves == 0:
        w.count = 1
        copied(s.X, w.X, N)
        copied(s.S, w.S, N * N)
    else:
        copied(u, w.u[(w.count - 1) * w.nodes :], w.nodes)
        if w.count > w.horizon:
            copied(w.later_X, w.X, N)
            copied(w.later_S, w.S, N * N)
            for i in range(w.horizon):
                copied(w.y[(i + 1) * m :], w.y[i * m :], m)
                copied(w.u[(i + 1) * w.nodes :], w.u[i * w.nodes :], w.nodes)
                copied(w.acting[(i + 1) * k :], w.acting[i * k :], k)
                copied(w.L[(i + 1) * N :], w.L[i * N :], N)
                copied(w.torques[(i + 1) * s.torques :], w.torques[i * s.torques :], s.torques)
        else:
            w.count += 1
        for i in range(s.torques):
            w.torques[(w.count - 2) * s.torques + i] = 0.0
    last = w.count - 1
    copied(y, w.y[last * m :], m)
    copied(acting, w.acting[last * k :], k)
    for iteration in range(w.iterations):
        forward(w, iteration)
        backward(w)
        if iteration == 0:  # later ones know the reading already
            copied(s.innovation, w.innovation, m)
            copied(s.spread, w.spread, m)
            w.e[0] = s.nis
    copied(w.innovation, s.innovation, m)
    copied(w.spread, s.spread, m)
    s.nis = w.e[0]
    if s.turns > 0:
        copied(s.X, s.center, 3 * (s.free + s.turns))
        recentered(s, w.X, w.S, N)
        recentered(s, w.later_X, w.later_S, N)
        for i in range(w.count):
            recentered(s, w.L[i * N :], w.S, 0)
        centered(s)


def row_of(s: Filter) -> int:
    """Return the length of a row of a triangle."""
    return padded(s.size) + padded(s.size + s.torques)


def forward(w: Window, iteration: int) -> None:
    """Filter the window with derivatives at the iterates. A new sample has its iterate from its prediction."""
    s = w.filter[0]
    N, row = s.size, row_of(s)
    copied(w.X, s.X, N)
    copied(w.S, s.S, N * N)
    s.apart = 1
    for i in range(w.count):
        if iteration == 0 and i == w.count - 1:
            copied(s.X, w.L[i * N :], N)
        copied(w.L[i * N :], s.about, N)
        copied(s.X, w.before[i * N :], N)
        corrected(s, w.y[i * s.outputs :], w.acting[i * s.inputs :])
        copied(s.X, w.filtered[i * N :], N)
        if i < w.count - 1:
            for j in range(s.torques):
                way = s.ways[(N + 1 + j) * (N + s.inputs) + N :]
                for a in range(s.inputs):
                    s.pushed[a] += w.torques[i * s.torques + j] * way[a]
            propagated(s, w.u[i * w.nodes :], 1)
            for a in range(s.inputs):
                s.pushed[a] = 0.0
            copied(s.T, w.R[i * N * row :], N * row)
            if i == 0:
                copied(s.X, w.later_X, N)
                copied(s.S, w.later_S, N * N)
    s.apart = 0


def backward(w: Window) -> None:
    """Smooth the window: the estimates given all readings are the next iterates."""
    s = w.filter[0]
    N, wide, row = s.size, padded(s.size), row_of(s)
    last = w.count - 1
    copied(w.filtered[last * N :], w.L[last * N :], N)
    for i in range(last - 1, -1, -1):
        R, x, after = w.R[i * N * row :], w.L[i * N :], w.L[(i + 1) * N :]
        expected, e = w.before[(i + 1) * N :], w.e[1:]
        copied(w.filtered[i * N :], x, N)
        for j in range(N):
            d = after[j] - expected[j]
            for a in range(j):
                d -= R[a * row + j] * e[a]
            e[j] = d / R[j * row + j]
        for j in range(N):
            for a in range(N):
                x[a] += e[j] * R[j * row + wide + a]
        torques = w.torques[i * s.torques :]
        for a in range(s.torques):
            torques[a] = 0.0
            for j in range(N):
                torques[a] += e[j] * R[j * row + wide + N + a]
