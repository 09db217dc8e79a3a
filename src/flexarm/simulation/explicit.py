"""Explicit methods with error control for one run, in the language that is translated.

They serve short intervals: a period of `Stepper`, or the time between two samples of a controller. Each interval starts
with the same first step, so that a period depends on the state at its start and on nothing before.

The error of a step is the difference between two embedded formulas (Hairer, Norsett & Wanner, Solving ODEs I, II.4).
A step is accepted where error_i / (atol_i + rtol max(|y_i|, |z_i|)) has a root mean square below 1 over the state,
integrals included.
"""

import ctypes  # noqa: TID251  (calls code that this package compiled)
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from flexarm.native.functions import translated
from flexarm.native.language import Floats, Placed, Words, lanes, sqrt
from flexarm.native.once import Once
from flexarm.simulation.advance import Advance, is_motion
from flexarm.simulation.butcher import METHODS, grouped
from flexarm.simulation.lanes import LEAST, MOST, NEARLY, NO_RATES, SAFETY, SPACING
from flexarm.simulation.rhs import Plan, Shared, rhs
from flexarm.simulation.steps import copied

Array = np.ndarray

MOST_EVALUATIONS = 10_000_000
"""Largest number of evaluations in one interval: some seconds, in which Ctrl-C has no effect."""

ADVANCE = ctypes.CFUNCTYPE(
    None,
    *(ctypes.c_void_p, ctypes.c_double, ctypes.c_void_p, ctypes.c_void_p),
    *(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p),
)
"""The form in which native code calls a solver, see `advance`."""

CODE = Once(lambda: translated(explicit))


@dataclass
class Explicit:
    """An explicit method on a plan, and its working memory.

    Attributes
    ----------
    stages, order, smoothed, c, first, terms, weights
        The method, see `butcher`; `smoothed` is 1 where two estimates of the error are combined.
    rtol, atol : float, (size,)
    guess, longest : float
        The first step that is tried in an interval, and the longest step [s].
    most : int
        Largest number of evaluations in an interval.
    t, h : float
        End of the last interval, and its last step [s].
    y, z, e, k : (size,), (size,), (size,), (stages + 1, size)
        State at the start and at the end of a step, its error, rates.
    """

    shared: Sequence[Shared]
    stages: int
    order: int
    smoothed: int
    c: Floats
    first: Words
    terms: Words
    weights: Floats
    rtol: float
    atol: Floats
    guess: float
    longest: float
    most: int
    t: float
    h: float
    y: Floats
    z: Floats
    e: Floats
    k: Floats


@final
class Adaptive:
    """An explicit method on a plan: called from Python, or by native code through `advance`.

    Parameters
    ----------
    method : str
        "rk45" or "dop853".
    plan : Plan
    rtol, atol : float, (size,)
        Tolerances of each number of the state; an infinite one leaves a number out.
    guess : float
        First step of an interval [s].
    longest : float, optional
        No step is longer [s].
    most : int
        Largest number of evaluations in an interval.
    """

    def __init__(
        self,
        method: str,
        plan: Plan,
        rtol: float,
        atol: Array,
        guess: float,
        longest: float = np.inf,
        most: int = MOST_EVALUATIONS,
    ):
        tableau, size = METHODS[method], len(atol)
        first, terms, weights = grouped([*tableau.a, tableau.b, *tableau.errors])
        self._code, self._plan, self._limit = CODE(), plan, most
        self.spent = False
        self.record = Placed(
            Explicit(
                shared=np.array([plan.address]),  # type: ignore[arg-type]  # an address is one word
                stages=tableau.stages,
                order=tableau.order,
                smoothed=int(len(tableau.errors) == 2),
                c=np.array(tableau.c),
                first=first,
                terms=terms,
                weights=weights,
                rtol=rtol,
                atol=np.ascontiguousarray(atol, dtype=float),
                guess=guess,
                longest=longest,
                most=most,
                t=0.0,
                h=0.0,
                y=np.zeros(size),
                z=np.zeros(size),
                e=np.zeros(size),
                k=np.zeros((tableau.stages + 1) * size),
            )
        )

    @property
    def advance(self) -> Advance:
        """Address of the method for native code."""
        return Advance(self._code.addresses["explicit"], self.record.address, (self._code, self.record, self._plan))

    def __call__(self, t0: float, x0: Array, times: Array) -> tuple[Array, int, str, tuple[float, Array] | None]:
        """Integrate from a state to each of the times.

        Returns
        -------
        x : (k, size)
            States at the first k of the times, those that were reached.
        steps : int
        message : str
            Why the integration stopped early, if it did.
        diverged : (time, state), optional
            The first state that is no motion.
        """
        x0, times = (np.ascontiguousarray(each, dtype=float) for each in (x0, times))
        out, reached = np.empty((len(times), len(x0))), np.zeros(2, dtype=np.int64)
        record, before = self.record, self._plan.evaluations
        call: Callable[..., None] = ADVANCE(self._code.addresses["explicit"])
        call(record.address, t0, x0.ctypes.data, times.ctypes.data, len(times), out.ctypes.data, reached.ctypes.data)
        rows = out[: reached[0]]
        self.spent = False
        if len(rows) == len(times) or self._plan.stopped:
            return rows, int(reached[1]), "", None
        if self._plan.evaluations - before >= self._limit:
            self.spent = True
            return rows, int(reached[1]), f"more than {self._limit:.0e} evaluations between two breakpoints", None
        if is_motion(record.z, self._plan.states) == 0 and np.isfinite(record.z).all():
            return rows, int(reached[1]), "", (record.t + record.h, record.z.copy())
        return rows, int(reached[1]), "its steps became too short", None


# -- translated functions ----------------------------------------------------------------------------------------------


def explicit(s: Explicit, t0: float, y: Floats, times: Floats, count: int, out: Floats, reached: Words) -> None:
    """Integrate from a state to each of the times, with steps as long as the tolerance allows."""
    shared = s.shared[0]
    size, limit, refused = shared.integrated, shared.evaluations + s.most, 0
    reached[0], reached[1] = 0, 0
    copied(y, s.y, size)
    s.t = t0
    wanted = min(min(s.guess, s.longest), times[count - 1] - t0)
    rhs(s.k, t0, s.y, s.shared, 0)
    i = 0
    while i < count:
        end = times[i]
        if not s.t < end:
            copied(s.y, out[i * size :], size)
            i += 1
            reached[0] = i
            continue
        ahead, last = s.t + wanted, 0
        if s.t + wanted * NEARLY >= end:
            ahead, last = end, 1
        s.h = ahead - s.t
        error = tried(s)
        if shared.stop != 0 or shared.evaluations >= limit:
            return
        factor = MOST
        if error > 0.0:
            factor = SAFETY * error ** (-1.0 / float(s.order + 1))
        if error < 1.0:
            if is_motion(s.z, shared.states) == 0:
                return
            following = s.h * min(factor, 1.0 if refused == 1 else MOST)
            if last == 0 or following > wanted:
                wanted = min(following, s.longest)
            refused = 0
            s.t = ahead
            copied(s.z, s.y, size)
            copied(s.k[s.stages * size :], s.k, size)
            reached[1] += 1
        else:
            wanted = s.h * LEAST
            least = max(10.0 * SPACING * abs(s.t), 1e-300)
            if error < 1e300:  # the error is finite
                wanted = s.h * max(factor, LEAST)
            else:
                least = max(least, NO_RATES * (times[count - 1] - t0))
            refused = 1
            if not wanted >= least:
                return


def tried(s: Explicit) -> float:
    """Take a step of length h from y to z, with the rates at z; return its error relative to the tolerance."""
    shared = s.shared[0]
    size, stages, y, z = shared.integrated, s.stages, s.y, s.z
    for stage in range(1, stages + 1):
        summed(s, stage - 1, z)
        for i in lanes(size):
            z[i] += y[i]
        rhs(s.k[stage * size :], s.t + s.c[stage] * s.h, z, s.shared, 0)
    error, n = sized(s, stages), float(size)
    if s.smoothed == 1 and error > 0.0:
        return error / sqrt((error + 0.01 * sized(s, stages + 1)) * n)
    return sqrt(error / n)


def sized(s: Explicit, which: int) -> float:
    """Sum the squares of one of the estimates of the error, each number relative to its tolerance."""
    y, z, e, atol, rtol = s.y, s.z, s.e, s.atol, s.rtol
    summed(s, which, e)
    total = 0.0
    for i in range(s.shared[0].integrated):
        # the same order as in SIMD batches, equal to the last bit
        part = e[i] * (1.0 / (atol[i] + rtol * max(abs(y[i]), abs(z[i]))))
        total += part * part
    return total


def summed(s: Explicit, which: int, to: Floats) -> None:
    """Write h times one of the sums of rates."""
    size, h, k = s.shared[0].integrated, s.h, s.k
    for group in range(s.first[which], s.first[which + 1]):
        a, b, c, d = s.weights[4 * group], s.weights[4 * group + 1], s.weights[4 * group + 2], s.weights[4 * group + 3]
        p, q = k[s.terms[4 * group] * size :], k[s.terms[4 * group + 1] * size :]
        u, v = k[s.terms[4 * group + 2] * size :], k[s.terms[4 * group + 3] * size :]
        if group == s.first[which]:
            for i in lanes(size):
                to[i] = h * (a * p[i] + b * q[i] + c * u[i] + d * v[i])
        else:
            for i in lanes(size):
                to[i] += h * (a * p[i] + b * q[i] + c * u[i] + d * v[i])
