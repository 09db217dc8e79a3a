"""Tables in time as expressions without branches, with few knots.

A compiled control law computes every piece of its tables at every call. The tables therefore have as few pieces as the
allowed error permits.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from flexarm.arrays import Array
from flexarm.simulation.law import Column
from flexarm.trajectory.reference import share

ROUNDING = 1e-12
"""Relative error of rounding, in units of the largest entry."""
NEGLECTED = 1e-4
"""Share of a gain's largest value along the reference below which a direction is left out."""

Pieces = tuple[Array, Array, Array]
"""Times (k,), values there (k, m), and coefficients (k - 1, 3, m) of s, s^2 and s^3, s from 0 to 1 in each piece."""


def thinned(count: int, fits: Callable[[int, int], bool]) -> list[int]:
    """Return the indices of as few rows as possible so that the rows between follow from them.

    `fits(i, j)` is True if the rows between i and j follow from these two. The search for the next knot doubles the
    distance, then bisects, because an interpolation that is accurate over a long distance mostly is so over a shorter
    one.
    """
    knots = [0]
    while knots[-1] < count - 1:
        i, good, bad = knots[-1], knots[-1] + 1, count
        while bad == count and good < count - 1:
            further = min(2 * good - i, count - 1)
            good, bad = (further, bad) if fits(i, further) else (good, further)
        while bad - good > 1:
            middle = (good + bad) // 2
            good, bad = (middle, bad) if fits(i, middle) else (good, middle)
        knots.append(good)
    return knots


def lines(times: Array, values: Array, error: Array | float) -> list[int]:
    """Knots of rows (k, ...) so that linear interpolation has an error of at most `error`."""

    def fits(i: int, j: int) -> bool:
        s = ((times[i + 1 : j] - times[i]) / (times[j] - times[i])).reshape(-1, *[1] * (values.ndim - 1))
        return bool((np.abs(values[i] + s * (values[j] - values[i]) - values[i + 1 : j]) <= error).all())

    return thinned(len(times), fits)


def smoothed(times: Array, values: Array, error: float, most: int) -> tuple[Array, Array]:
    """Nodes and values of the piecewise linear least-squares fit to rows (k, ...), with the last row exact.

    Intervals are halved where the error is larger than `error`, until there are `most` nodes.
    """
    if len(times) == 1:
        return times, values
    flat = (values - values[-1]).reshape(len(values), -1)
    nodes = np.unique(np.linspace(0, len(times) - 1, 9).astype(int))
    while True:
        hats = np.array([np.interp(times, times[nodes], row) for row in np.eye(len(nodes))[:-1]]).T
        heights = np.vstack([np.linalg.lstsq(hats, flat)[0], np.zeros((1, flat.shape[1]))])
        missed = np.abs(hats @ heights[:-1] - flat).max(axis=1)
        worst = np.array([missed[i : j + 1].max() for i, j in pairwise(nodes)]) * (np.diff(nodes) > 1)
        split = np.argsort(-worst)[: max(0, most - len(nodes))]
        split = split[worst[split] > error]
        if not len(split):
            return times[nodes], (heights + values[-1].ravel()).reshape(-1, *values.shape[1:])
        nodes = np.union1d(nodes, (nodes[split] + nodes[split + 1]) // 2)


def through(times: Array, values: Array, error: Array) -> Pieces:
    """Cubics between knots with an error of at most `error` (m,) in the rows (k, m), exact at the knots."""

    def fit(i: int, j: int) -> tuple[Array, Array]:
        s = ((times[i : j + 1] - times[i]) / (times[j] - times[i]))[:, None]
        bent = s * (1 - s)
        shapes = np.hstack([bent, bent * s])
        left = values[i : j + 1] - values[i] - s * (values[j] - values[i])
        a, b = np.linalg.lstsq(shapes, left)[0] if j - i > 1 else np.zeros((2, values.shape[1]))
        return np.stack([values[j] - values[i] + a, b - a, -b]), shapes @ np.stack([a, b]) - left

    knots = thinned(len(times), lambda i, j: bool((np.abs(fit(i, j)[1]) <= error).all()))
    return times[knots], values[knots], np.array([fit(i, j)[0] for i, j in pairwise(knots)])


def of_motion(times: Array, q: Array, qd: Array, error: tuple[Array, Array]) -> Pieces:
    """Hermite cubics between knots with an error of at most `error`, (n,) each, in positions and rates (k, n)."""

    def cubic(i: int, j: int) -> Array:
        h, way = times[j] - times[i], q[j] - q[i]
        return np.stack([h * qd[i], 3 * way - h * (2 * qd[i] + qd[j]), h * (qd[i] + qd[j]) - 2 * way])

    def fits(i: int, j: int) -> bool:
        h = times[j] - times[i]
        s = ((times[i + 1 : j] - times[i]) / h)[:, None]
        c1, c2, c3 = cubic(i, j)
        place = q[i] + s * (c1 + s * (c2 + s * c3)) - q[i + 1 : j]
        rate = (c1 + s * (2 * c2 + 3 * s * c3)) / h - qd[i + 1 : j]
        return bool((np.abs(place) <= error[0]).all() and (np.abs(rate) <= error[1]).all())

    knots = thinned(len(times), fits)
    return times[knots], q[knots], np.array([cubic(i, j) for i, j in pairwise(knots)])


def on_pieces(t: Any, pieces: Pieces) -> Column:
    """Value of piecewise cubics (m,) at the symbolic time t, constant before and after them."""
    import casadi as ca

    times, values, coefficients = pieces
    s = ca.repmat(share(t, ca.DM(times[:-1]), ca.DM(times[1:])), 1, values.shape[1])
    c1, c2, c3 = (ca.DM(coefficient) for coefficient in np.moveaxis(coefficients.reshape(-1, 3, values.shape[1]), 1, 0))
    return ca.sum1(ca.vertcat(ca.DM(values[0]).T, s * (c1 + s * (c2 + s * c3)))).T


def on_steps(t: Any, times: Array, steps: Array) -> Column:
    """Sum of the steps (k, m) whose time has come."""
    import casadi as ca

    u = ca.SX.zeros(steps.shape[1])
    for begin, step in zip(times.tolist(), steps, strict=True):
        u = u + ca.if_else(t < begin, ca.DM.zeros(len(step)), ca.DM(step))
    return u


def in_few_directions(values: Array, small: float) -> Array:
    """Matrices (k, a, b) that differ from the last one in as few directions as possible.

    A direction is left out if it is smaller than `small` on average.
    """
    differences = (values - values[-1]).reshape(len(values), -1)
    U, sizes, V = np.linalg.svd(differences, full_matrices=False)
    kept = sizes > small * np.sqrt(len(values))
    return values[-1] + ((U[:, kept] * sizes[kept]) @ V[kept]).reshape(values.shape)


def interpolated(given: ArrayLike, nodes: Array, t: Any, x: Column, neglected: float = NEGLECTED) -> Column:
    """A(t) x, where A is interpolated linearly between the matrices (k, a, b) at their times.

    The matrices differ in few directions, A = A_end + sum a_i(t) V_i by singular values. Each V_i is multiplied by x
    once, which costs less than each of the matrices. Directions smaller than `neglected` of a column's largest value
    are left out. At the end the result is exact.
    """
    values = np.array(given)
    scale = np.abs(values).max(axis=(0, 1))
    scale[scale == 0.0] = 1.0  # makes columns of different units count alike
    differences = ((values - values[-1]) / scale).reshape(len(values), -1)
    _, sizes, V = np.linalg.svd(differences, full_matrices=False)
    V = V[sizes > neglected]
    passed = [share(t, a, b) for a, b in pairwise(nodes.tolist())]
    total = values[-1] @ x
    for direction, way in zip(V, (differences @ V.T).T, strict=True):
        a = sum((step * (1.0 - s) for step, s in zip((-np.diff(way)).tolist(), passed, strict=True)), 0.0)
        total = total + a * ((direction.reshape(values.shape[1:]) * scale) @ x)
    return total
