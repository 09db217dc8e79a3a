"""Tables in time as expressions without branches: how few knots they need, and what stands between those.

A law is compiled, and computes every piece of its tables at every call: so they are told by as few as an error allows.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from flexarm.simulation.law import Column
from flexarm.trajectory.reference import share

Array = np.ndarray

ROUNDING = 1e-12
"""Of the largest entry."""
NEGLECTED = 1e-4
"""Of a gain's largest value along the reference."""

Pieces = tuple[Array, Array, Array]
"""Times (k,), values there (k, m), and coefficients (k - 1, 3, m) of s, s^2 and s^3, s from 0 to 1 in each piece."""


def thinned(count: int, fits: Callable[[int, int], bool]) -> list[int]:
    """Of so many rows as few as may be, between each two of which those left out follow: `fits(i, j)` says whether.

    From each knot the next is sought by doubling the distance, then by halving the last step: what follows over a long
    distance mostly follows over a shorter one.
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
    """Knots of rows (k, ...) that straight lines between them miss by `error` at most."""

    def fits(i: int, j: int) -> bool:
        s = ((times[i + 1 : j] - times[i]) / (times[j] - times[i])).reshape(-1, *[1] * (values.ndim - 1))
        return bool((np.abs(values[i] + s * (values[j] - values[i]) - values[i + 1 : j]) <= error).all())

    return thinned(len(times), fits)


def smoothed(times: Array, values: Array, error: float, most: int) -> tuple[Array, Array]:
    """Nodes and values there, straight lines between which are nearest to rows (k, ...) by least squares, the last
    being kept: halved where they miss by more than `error`, until there are `most`."""
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
    """Cubics from knot to knot that rows (k, m) miss by `error` (m,) at most; the knots' own are kept."""

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
    """Hermite's cubics from knot to knot that places and rates (k, n) miss by `error`, (n,) each, at most."""

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
    """What pieces give (m,) at the symbolic time t; before and after them their ends."""
    import casadi as ca

    times, values, coefficients = pieces
    found = ca.SX(values[0])
    for begin, end, (c1, c2, c3) in zip(times[:-1].tolist(), times[1:].tolist(), coefficients, strict=True):
        s = share(t, begin, end)
        found = found + s * (ca.DM(c1) + s * (ca.DM(c2) + s * ca.DM(c3)))
    return found


def on_steps(t: Any, times: Array, steps: Array) -> Column:
    """The sum of those of the steps (k, m) whose time has come."""
    import casadi as ca

    u = ca.SX.zeros(steps.shape[1])
    for begin, step in zip(times.tolist(), steps, strict=True):
        u = u + ca.if_else(t < begin, ca.DM.zeros(len(step)), ca.DM(step))
    return u


def in_few_directions(values: Array, small: float) -> Array:
    """Matrices (k, a, b) that differ from the last in as few directions as may be, none left out being larger than
    `small` on average."""
    differences = (values - values[-1]).reshape(len(values), -1)
    U, sizes, V = np.linalg.svd(differences, full_matrices=False)
    kept = sizes > small * np.sqrt(len(values))
    return values[-1] + ((U[:, kept] * sizes[kept]) @ V[kept]).reshape(values.shape)


def interpolated(given: ArrayLike, nodes: Array, t: Any, x: Column, neglected: float = NEGLECTED) -> Column:
    """A(t) x, where A goes on straight lines from one of the matrices (k, a, b) to the next, each at its time.

    What the matrices differ by has few directions, A = A_end + sum a_i(t) V_i by its singular values: each V_i is
    multiplied by x once, not each of the matrices. Directions smaller than `neglected` of a column's largest value are
    left out; none is felt at the end.
    """
    values = np.array(given)
    scale = np.abs(values).max(axis=(0, 1))
    scale[scale == 0.0] = 1.0  # so that columns of different units count alike
    differences = ((values - values[-1]) / scale).reshape(len(values), -1)
    _, sizes, V = np.linalg.svd(differences, full_matrices=False)
    V = V[sizes > neglected]
    passed = [share(t, a, b) for a, b in pairwise(nodes.tolist())]
    total = values[-1] @ x
    for direction, way in zip(V, (differences @ V.T).T, strict=True):
        a = sum((step * (1.0 - s) for step, s in zip((-np.diff(way)).tolist(), passed, strict=True)), 0.0)
        total = total + a * ((direction.reshape(values.shape[1:]) * scale) @ x)
    return total
