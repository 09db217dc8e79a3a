"""A step of an explicit method, in the language that is translated: for one run, and for SIMD batches.

`explicit` and `lanes` take steps with these functions. A vector has `width` numbers: a state of one run, or the states
of all lanes. Each number has the length of its own step, which differs between lanes.
"""

from dataclasses import dataclass

import numpy as np

from flexarm.native.language import Floats, Placed, Words, lanes, sqrt
from flexarm.simulation.butcher import ButcherTableau
from flexarm.simulation.steps import BRIEF, copied

SAFETY, LEAST, MOST = 0.9, 0.2, 10.0
"""The next step is a little shorter than the error allows, and changes by a factor within these bounds."""

SPACING = 2.2e-16
"""Spacing of doubles near 1."""

NEARLY = 1.000000001
"""Relative tolerance within which a step that almost reaches the end of its interval ends there, since times are
rounded."""

HUGE, TINY = 1e300, 1e-300
"""Numbers near the largest and the smallest ones. An error above the first is not finite or has no rates."""

NO_RATES = 1e-9
"""Share of its interval below which a step that still leads to no rates ends the run, since the motion cannot continue.
Otherwise ever shorter steps would approach the end of a telescope's range."""


@dataclass
class Stages:
    """An explicit method, and the rates and the interpolating polynomial of a step.

    Attributes
    ----------
    stages, further, powers, order, adaptive, smoothed
        The method, see `butcher`. `powers` is the number of rows of the interpolating polynomial, and `smoothed` is 1
        where two estimates of the error are combined.
    c : (stages + 1 + further,)
    first, terms, weights
        Sums of rates: the i-th has the groups of four terms from first[i] to first[i + 1].
    width : int
        Numbers in a vector.
    h : (width,)
        Length of the step [s].
    k, F : (stages + 1 + further, width), (powers, width)
        Rates, and the rows of the polynomial.
    """

    stages: int
    further: int
    powers: int
    order: int
    adaptive: int
    smoothed: int
    c: Floats
    first: Words
    terms: Words
    weights: Floats
    width: int
    h: Floats
    k: Floats
    F: Floats


def stages_of(tableau: ButcherTableau, width: int) -> Placed:
    """Return a method's record for vectors of so many numbers."""
    first, terms, weights = tableau.groups
    return Placed(
        Stages(
            stages=tableau.stages,
            further=len(tableau.between),
            powers=tableau.powers,
            order=tableau.order,
            adaptive=int(tableau.adaptive),
            smoothed=int(len(tableau.errors) == 2),
            c=np.array(tableau.c),
            first=first,
            terms=terms,
            weights=weights,
            width=width,
            h=np.zeros(width),
            k=np.zeros((tableau.stages + 1 + len(tableau.between)) * width),
            F=np.zeros(tableau.powers * width),
        )
    )


# -- translated functions ----------------------------------------------------------------------------------------------


def summed(s: Stages, which: int, to: Floats, count: int) -> None:
    """Write h times one of the sums of rates, for the first `count` numbers of a vector."""
    h = s.h
    for group in range(s.first[which], s.first[which + 1]):
        a, b, c, d = s.weights[4 * group], s.weights[4 * group + 1], s.weights[4 * group + 2], s.weights[4 * group + 3]
        p, q = s.k[s.terms[4 * group] * s.width :], s.k[s.terms[4 * group + 1] * s.width :]
        u, v = s.k[s.terms[4 * group + 2] * s.width :], s.k[s.terms[4 * group + 3] * s.width :]
        if group == s.first[which]:
            for i in lanes(count):
                to[i] = h[i] * (a * p[i] + b * q[i] + c * u[i] + d * v[i])
        else:
            for i in lanes(count):
                to[i] += h[i] * (a * p[i] + b * q[i] + c * u[i] + d * v[i])


def moved(s: Stages, which: int, y: Floats, to: Floats, count: int) -> None:
    """Write the first `count` numbers of the state y plus h times one of the sums of rates."""
    summed(s, which, to, count)
    for i in lanes(count):
        to[i] += y[i]


def polynomial(s: Stages, y: Floats, z: Floats) -> None:
    """Compute the interpolating polynomial of a step from y to z, given the rates of the further stages."""
    width, h, k, f = s.width, s.h, s.k, s.k[s.stages * s.width :]
    F, G, P = s.F, s.F[width:], s.F[2 * width :]
    for i in lanes(width):
        F[i] = z[i] - y[i]
        G[i] = h[i] * k[i] - F[i]
        P[i] = 2.0 * F[i] - h[i] * (f[i] + k[i])
    for p in range(3, s.powers):
        summed(s, s.stages + s.smoothed + 1 + s.further + p - 3, s.F[p * width :], width)


def interpolated(s: Stages, x: Floats, y: Floats, z: Floats, out: Floats) -> None:
    """Evaluate the interpolating polynomial at the fraction x of a step from y to z."""
    width = s.width
    copied(s.F[(s.powers - 1) * width :], out, width)
    for p in range(s.powers - 2, -1, -1):
        row = s.F[p * width :]
        if p - 2 * (p // 2) == 1:
            for i in lanes(width):
                out[i] = row[i] + x[i] * out[i]
        else:
            for i in lanes(width):
                out[i] = row[i] + (1.0 - x[i]) * out[i]
    for i in lanes(width):
        out[i] = y[i] + x[i] * out[i] if x[i] < 1.0 else z[i]


def error_of(s: Stages, square: float, other: float, count: float) -> float:
    """Return the error relative to the tolerance, from the sums of squares of a method's one or two estimates."""
    if s.smoothed == 1 and square > 0.0:
        return square / sqrt((square + 0.01 * other) * count)
    return sqrt(square / count)


def factor_of(s: Stages, error: float) -> float:
    """Return the ratio of the next step's length to the last one's that the error suggests."""
    if error == 0.0:
        return MOST
    return SAFETY * error ** (-1.0 / float(s.order + 1)) if error < HUGE else LEAST


def following(s: Stages, error: float, h: float, refused: int) -> float:
    """Return the length of the next step after one that was accepted [s]. `refused` is 1 if the one before was not."""
    return h * min(factor_of(s, error), 1.0 if refused == 1 else MOST)


def shortened(s: Stages, error: float, h: float) -> float:
    """Return the length of the next trial after a step that was rejected [s]."""
    return h * max(factor_of(s, error), LEAST)


def shortest(t: float, error: float, length: float) -> float:
    """Return the length below which a step ends the run [s], in an interval of this length."""
    least = max(10.0 * SPACING * abs(t), TINY)
    return least if error < HUGE else max(least, NO_RATES * length)


def is_brief(h: float, t: float, length: float) -> int:
    """Return 1 if a step is so short that it may pass over a contact, in an interval of this length, else 0."""
    return 1 if h <= max(BRIEF * length, 4.0 * shortest(t, 0.0, length)) else 0


def first_trial(state: float, rate: float) -> float:
    """Return a first guess of the first step [s], from the sizes of the state and of its rate."""
    return 1e-6 if state < 1e-5 or rate < 1e-5 else 0.01 * state / rate


def first_step(s: Stages, h: float, rate: float, change: float) -> float:
    """Return the first step [s] (Hairer, Norsett & Wanner II.4), from a step h and the change of the rates in it."""
    most = max(rate, change / h)
    second = max(1e-6, h * 1e-3) if most <= 1e-15 else (0.01 / most) ** (1.0 / float(s.order + 1))
    return min(100.0 * h, second)
