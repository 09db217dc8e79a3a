"""Samples of a filter in native code: one in a loop, or all of a record."""

from collections.abc import Sequence
from dataclasses import dataclass

from flexarm.estimation.charts import centered, posed, seen_from
from flexarm.estimation.horizon import Window, windowed
from flexarm.estimation.loops import E, Filter, corrected, factor_from, padded, propagated, triangulated
from flexarm.native.language import Floats, sqrt
from flexarm.simulation.steps import copied


@dataclass
class Record:
    """Samples of a filter, and its results.

    Attributes
    ----------
    window, horizon
        Window of a moving horizon, and 1 if there is one.
    y, u : (samples, outputs), (samples, nodes, inputs)
        Readings, and the inputs from each sample to the next.
    X, deviations, poses : (samples, size), (samples, size), (samples, 3 free + 4 turns)
        Estimates after each correction, their standard deviations, and the reference poses.
    innovations, spreads, nis : (samples, outputs), (samples, outputs), (samples,)
    judged, truth, local, nees : int, (samples, judged), (size,), (samples,)
        True values of the first numbers of X, their local coordinates, and their normalized squared errors.
    """

    filter: Sequence[Filter]
    window: Sequence[Window]
    horizon: int
    samples: int
    nodes: int
    y: Floats
    u: Floats
    X: Floats
    deviations: Floats
    innovations: Floats
    spreads: Floats
    nis: Floats
    judged: int
    truth: Floats
    poses: Floats
    local: Floats
    nees: Floats


def filtered(r: Record, first: int, stop: int) -> None:
    """Process some samples, in order from the first."""
    s = r.filter[0]
    N, m, row = s.size, s.outputs, r.nodes * s.inputs
    for k in range(first, stop):
        before = k - 1 if k > 0 else 0
        moves = 1 if k > 0 else 0
        if r.horizon == 1:
            windowed(r.window[0], r.y[k * m :], r.u[before * row :], r.u[k * row :], moves)
        else:
            alone(s, r.y[k * m :], r.u[before * row :], r.u[k * row :], moves)
        copied(s.X, r.X[k * N :], N)
        copied(s.pose, r.poses[k * posed(s) :], posed(s))
        copied(s.innovation, r.innovations[k * m :], m)
        copied(s.spread, r.spreads[k * m :], m)
        r.nis[k] = s.nis
        deviated(s, r.deviations[k * N :])
        if r.judged > 0:
            given, count = r.truth[k * r.judged :], r.judged - s.turns
            seen_from(s, given, r.local, count)
            r.nees[k] = judged(s, r.local, count)


def once(s: Filter, y: Floats, u: Floats, moves: int) -> None:
    """Move by a period under constant inputs u (inputs,), unless the sample is the first, and correct by readings y."""
    constant(s, u)
    alone(s, y, s.u, u, moves)


def once_in_window(w: Window, y: Floats, u: Floats, moves: int) -> None:
    """Add a sample to the window after a period under constant inputs u (inputs,), with readings y."""
    s = w.filter[0]
    constant(s, u)
    windowed(w, y, s.u, u, moves)


def reported_once(s: Filter, y: Floats, u: Floats, moves: int, to: Floats) -> None:
    """Process a sample as `once` does, and report it."""
    once(s, y, u, moves)
    reported(s, to)


def reported_in_window(w: Window, y: Floats, u: Floats, moves: int, to: Floats) -> None:
    """Process a sample as `once_in_window` does, and report it."""
    once_in_window(w, y, u, moves)
    reported(w.filter[0], to)


def reported(s: Filter, to: Floats) -> None:
    """Write the estimate with the unknowns in their units, its standard deviations, the innovation and its square.

    Local coordinates are zero after a sample, so that the reference poses are those of the estimate.
    """
    poses, twists = posed(s), 3 * s.free + 3 * s.turns
    copied(s.pose, to, poses)
    copied(s.X[twists:], to[poses:], s.size - twists)
    unknown, after = to[poses - twists + s.states :], to[poses - twists + s.size :]
    deviated(s, after)
    for i in range(s.unknown):
        if s.powers[i] == 1:
            unknown[i] = s.scales[i] * E ** unknown[i]
            after[s.states + i] *= unknown[i]
    copied(s.innovation, after[s.size :], s.outputs)
    after[s.size + s.outputs] = s.nis


def constant(s: Filter, u: Floats) -> None:
    """Write constant inputs u (inputs,) to each node of a period."""
    for node in range(2 * s.steps + 1):
        copied(u, s.u[node * s.inputs :], s.inputs)


def alone(s: Filter, y: Floats, u: Floats, acting: Floats, moves: int) -> None:
    """Process a sample without a horizon."""
    if moves == 1:
        copied(s.X, s.about, s.size)
        propagated(s, u)
    copied(s.X, s.about, s.size)
    corrected(s, y, acting)
    if s.turns > 0:
        centered(s)


def deviated(s: Filter, to: Floats) -> None:
    """Write the standard deviations of the estimate."""
    for i in range(s.size):
        square = 0.0
        for j in range(s.size):
            square += s.S[j * s.size + i] * s.S[j * s.size + i]
        to[i] = sqrt(square)


def judged(s: Filter, truth: Floats, count: int) -> float:
    """Return the normalized squared error of the first numbers of X, e' P^-1 e of their covariance P."""
    if s.turns > 0:  # the columns of S are no triangle
        width = padded(s.size)
        for j in range(s.size):
            copied(s.S[j * s.size :], s.T[j * width :], s.size)
            for i in range(s.size, width):
                s.T[j * width + i] = 0.0
        triangulated(s.T, s.size, s.size, width, s.v)
        factor_from(s.T, 0, width, s.size, s.S)
    square = 0.0
    for j in range(count):
        e = truth[j] - s.X[j]
        for i in range(j):
            e -= s.S[i * s.size + j] * s.v[i]
        e = e / s.S[j * s.size + j]
        s.v[j] = e
        square += e * e
    return square
