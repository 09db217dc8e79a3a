"""First-order changes along a motion, by exponentials of the equations that are linear about it.

With the slopes A of the accelerations in the state and B in the inputs, a change dx = (dq, dqd) and a change du obey

    dq' = dqd,    dqd' = A(t) dx + B(t) du.

A and B are known at the ends of pieces of equal length, and on cubics between. Over a piece of length h with A, B = x
at its beginning, y in the middle and z at its end, the changes are products of two exponentials, of order four in h:

    exp(h (-x + 4 y + 3 z) / 12) exp(h (3 x + 4 y - z) / 12).

If A is constant, the product is exact, however fast the modes are. Source: the commutator-free integrators of S. Blanes
and P. C. Moan, Applied Numerical Mathematics 56 (2006) 1519-1537, here with parabolas in place of Gauss's points.
"""

import ctypes  # noqa: TID251  (calls what was compiled here)
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from flexarm.arrays import Array
from flexarm.native.calls import cores
from flexarm.native.functions import translated
from flexarm.native.kernel import LANES
from flexarm.native.language import Floats, Placed, Shared
from flexarm.native.once import Once

TERMS = 8
"""Number of terms of an exponential's series, an even one."""

TURN = 1.2
"""Largest angle by which the fastest mode turns in an exponential [rad]. The first term left out is then 1.4e-5."""

LEAST_PIECES = 3
"""Least number of pieces of an interval, whose ends determine a cubic."""

MOST_STEPS = 1000
"""Largest number of factors of an exponential. A motion that needs more is far from all motions of an arm."""

CALL = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


@dataclass
class Sweep:
    """Data of the native code for an interval. Each lane of the processor has its own columns.

    Attributes
    ----------
    parts, pieces, steps : int
        Numbers of parts in an interval, of pieces in a part, and of equal factors into which an exponential is divided.
    n, inputs, columns : int
        Numbers of coordinates, of inputs, and of a lane's columns.
    step : float
        Length of a piece [s].
    slopes : (parts pieces + 1, n, 2n + inputs)
        A and B at the ends of the pieces.
    middle : (n, 2n + inputs)
        A and B in the middle of a piece.
    begins, ends : (inputs, columns)
        Inputs at the beginning and at the end of the interval. They are linear between.
    a : (n, 2n + inputs)
        A and B of an exponential, times its length.
    u, rise : (inputs, columns)
        Inputs at the beginning of an exponential, and by how much they rise in it.
    y, z, k : (2n, columns)
        Changes, and terms of the series.
    found : (parts, 2n, columns)
    """

    parts: int
    pieces: int
    steps: int
    n: int
    inputs: int
    columns: int
    step: float
    slopes: Shared
    middle: Floats
    begins: Floats
    ends: Floats
    a: Floats
    u: Floats
    rise: Floats
    y: Floats
    z: Floats
    k: Floats
    found: Floats


CODE = Once(lambda: translated(sweep, batch=()))


def sweep(s: Sweep) -> None:
    """Compute the changes at the end of each part, from the changes y at the beginning of the interval."""
    size, all_pieces = 2 * s.n * s.columns, s.parts * s.pieces
    one = s.n * (2 * s.n + s.inputs)
    for piece in range(all_pieces):
        x, y = s.slopes[piece * one :], s.middle
        z = x[one:]
        interpolate(s, piece)
        for half in range(2):
            length = s.step / (12.0 * s.steps)
            first, last = (3.0 - 4.0 * half) * length, (4.0 * half - 1.0) * length
            for j in range(one):
                s.a[j] = first * x[j] + 4.0 * length * y[j] + last * z[j]
            for step in range(s.steps):
                share = (piece + (half + step / s.steps) / 2.0) / all_pieces
                for j in range(s.inputs * s.columns):
                    s.u[j] = s.begins[j] + share * (s.ends[j] - s.begins[j])
                    s.rise[j] = (s.ends[j] - s.begins[j]) / (2.0 * s.steps * all_pieces)
                exponential(s)
        if (piece + 1) % s.pieces == 0:
            found = s.found[piece // s.pieces * size :]
            for j in range(size):
                found[j] = s.y[j]


def interpolate(s: Sweep, piece: int) -> None:
    """Write A and B in the middle of a piece, from the cubic through the nearest four ends of pieces."""
    one = s.n * (2 * s.n + s.inputs)
    first = min(max(piece - 1, 0), s.parts * s.pieces - 3)
    a, b, c, d = -1.0, 9.0, 9.0, -1.0
    if first == piece:
        a, b, c, d = 5.0, 15.0, -5.0, 1.0
    if first == piece - 2:
        a, b, c, d = 1.0, -5.0, 15.0, 5.0
    p = s.slopes[first * one :]
    q, r, t = p[one:], p[2 * one :], p[3 * one :]
    for j in range(one):
        s.middle[j] = (a * p[j] + b * q[j] + c * r[j] + d * t[j]) / 16.0


def exponential(s: Sweep) -> None:
    """Multiply the changes y by the exponential of a, with the inputs' share."""
    size = 2 * s.n * s.columns
    for j in range(size):
        s.z[j] = s.y[j]
    for term in range(TERMS // 2):
        following(s, s.z, s.k, 2 * term + 1)
        following(s, s.k, s.z, 2 * term + 2)


def following(s: Sweep, z: Floats, k: Floats, term: int) -> None:
    """Write a term k of the series from the one before, z, and add it to y."""
    n, inputs, columns = s.n, s.inputs, s.columns
    row, half = 2 * n + inputs, n * columns
    rates, forces, u, y, sums = z[half:], k[half:], s.u, s.y, s.y[half:]
    if term == 2:
        u = s.rise
    share = 1.0 / term
    length = 0.5 * s.step / s.steps * share
    for j in range(half):
        k[j] = length * rates[j]
        y[j] += k[j]
    for pair in range((n + 1) // 2):  # two rows at once load z half as often; the last of an odd number is done twice
        first, second = 2 * pair, min(2 * pair + 1, n - 1)
        a, b = s.a[first * row :], s.a[second * row :]
        for j in range(columns):
            a_q, a_rates, b_q, b_rates = 0.0, 0.0, 0.0, 0.0
            for c in range(n):
                of_q, of_rates = z[c * columns + j], rates[c * columns + j]
                a_q += a[c] * of_q
                a_rates += a[n + c] * of_rates
                b_q += b[c] * of_q
                b_rates += b[n + c] * of_rates
            if term < 3:
                for c in range(inputs):
                    a_q += a[2 * n + c] * u[c * columns + j]
                    b_q += b[2 * n + c] * u[c * columns + j]
            force = share * (a_q + a_rates)
            forces[first * columns + j] = force
            sums[first * columns + j] += force
            if second > first:
                force = share * (b_q + b_rates)
                forces[second * columns + j] = force
                sums[second * columns + j] += force


def variations(to_x: Array, to_u: Array, lasts: Array, parts: int, linear: bool) -> Array:
    """Return derivatives at the ends of an interval's parts in the state at its beginning and in its inputs.

    Parameters
    ----------
    to_x, to_u : (N, parts pieces + 1, n, 2n), (N, parts pieces + 1, n, m)
        Slopes of the accelerations at the ends of all pieces.
    lasts : (N,)
        Lengths of the intervals [s].
    linear : bool
        True if the inputs are linear over an interval, False if they are constant.

    Returns
    -------
    (N, parts, 2n, 2n + m) or (N, parts, 2n, 2n + 2m)
        NaN if the slopes are too large or not finite.

    Raises
    ------
    ValueError
        If an interval has fewer than three pieces.
    """
    (N, samples, n, states), m = to_x.shape, to_u.shape[3]
    if samples <= LEAST_PIECES:
        raise ValueError(f"an interval has {samples - 1} pieces; it must have at least {LEAST_PIECES}")
    pieces, count = (samples - 1) // parts, states + (1 + linear) * m
    columns = -(-count // LANES)
    whole = np.zeros((states + 2 * m, columns * LANES))
    whole[:states, :states] = np.eye(states)
    whole[states : states + m, states : states + m] = whole[states + m :, count - m : count] = np.eye(m)
    start, begins, ends = (np.ascontiguousarray(each.ravel()) for each in np.split(whole, [states, states + m]))
    turned = _fastest(to_x) * lasts.max() / (2 * parts * pieces * TURN)
    found, code = np.full((N, parts, states, count), np.nan), CODE()
    if turned > MOST_STEPS:
        return found
    steps = max(1, int(np.ceil(turned)))

    def swept(own: range) -> None:
        """Compute some of the intervals."""
        size, u = np.zeros(states * columns), np.zeros(m * columns)
        data = Placed(
            Sweep(
                parts=parts,
                pieces=pieces,
                steps=steps,
                n=n,
                inputs=m,
                columns=columns,
                step=0.0,
                slopes=np.zeros((samples, n, states + m)),
                middle=np.zeros(n * (states + m)),
                begins=u,
                ends=u,
                a=np.zeros(n * (states + m)),
                u=u,
                rise=u,
                y=size,
                z=size,
                k=size,
                found=np.zeros(parts * states * columns),
            ),
            LANES,
        )
        data.begins[:], data.ends[:] = begins, ends
        for i in own:
            data.y[:], data.step[:] = start, lasts[i] / (parts * pieces)
            data.slopes[..., :states], data.slopes[..., states:] = to_x[i], to_u[i]
            CALL(code.addresses["sweep"])(data.address)
            found[i] = data.found.reshape(parts, states, -1)[..., :count]

    tasks = min(N, cores())
    with ThreadPoolExecutor(tasks) as pool:
        list(pool.map(swept, (range(k, N, tasks) for k in range(tasks))))
    return found


def _fastest(to_x: Array) -> float:
    """Return the largest size of an eigenvalue at the beginnings of the intervals [1/s]."""
    n = to_x.shape[2]
    A = np.zeros((len(to_x), 2 * n, 2 * n))
    A[:, :n, n:], A[:, n:] = np.eye(n), to_x[:, 0]
    return float(np.abs(np.linalg.eigvals(A)).max()) if np.isfinite(A).all() else 0.0
