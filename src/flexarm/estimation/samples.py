"""Samples of a filter in native code: one in a loop, or all of a record."""

from collections.abc import Sequence
from dataclasses import dataclass

from flexarm.estimation.horizon import Window, windowed
from flexarm.estimation.loops import Filter, corrected, propagated
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
    X, deviations : (samples, size)
        Estimates after each correction, and their standard deviations.
    innovations, spreads, nis : (samples, outputs), (samples, outputs), (samples,)
    judged, truth, nees : int, (samples, judged), (samples,)
        True values of the first numbers of X, and their normalized squared errors.
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
        copied(s.innovation, r.innovations[k * m :], m)
        copied(s.spread, r.spreads[k * m :], m)
        r.nis[k] = s.nis
        deviated(s, r.deviations[k * N :])
        r.nees[k] = judged(s, r.truth[k * r.judged :], r.judged)


def once(r: Record, y: Floats, moves: int) -> None:
    """Move by a period under the inputs of the filter, unless the sample is the first, and correct by its readings."""
    s = r.filter[0]
    last = s.u[2 * s.steps * s.inputs :]
    if r.horizon == 1:
        windowed(r.window[0], y, s.u, last, moves)
    else:
        alone(s, y, s.u, last, moves)


def alone(s: Filter, y: Floats, u: Floats, acting: Floats, moves: int) -> None:
    """Process a sample without a horizon: inputs u before it, and `acting` (inputs,) when it is read."""
    if moves == 1:
        copied(s.X, s.about, s.size)
        propagated(s, u, 0)
    copied(s.X, s.about, s.size)
    corrected(s, y, acting)


def deviated(s: Filter, to: Floats) -> None:
    """Write the standard deviations of the estimate."""
    for i in range(s.size):
        square = 0.0
        for j in range(i + 1):
            square += s.S[j * s.size + i] * s.S[j * s.size + i]
        to[i] = sqrt(square)


def judged(s: Filter, truth: Floats, count: int) -> float:
    """Return the normalized squared error of the first numbers of X, e' P^-1 e of their covariance P."""
    square = 0.0
    for j in range(count):
        e = truth[j] - s.X[j]
        for i in range(j):
            e -= s.S[i * s.size + j] * s.v[i]
        e = e / s.S[j * s.size + j]
        s.v[j] = e
        square += e * e
    return square
