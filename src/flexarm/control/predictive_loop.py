"""Samples of predictive control along a reference in a simulated loop: native code, with counts for the report."""

import ctypes  # noqa: TID251  (calls code that this package compiled, and takes the address of the system's clock)
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from flexarm.arrays import Array, address_of
from flexarm.control.active_set import UNFINISHED
from flexarm.control.horizon_rows import Horizon
from flexarm.control.predictive_samples import Along, Delayed, sampled, sampled_late
from flexarm.native.code import Address
from flexarm.native.functions import translated
from flexarm.native.language import Floats, Placed, Words, call
from flexarm.native.once import Once
from flexarm.simulation.stepped import floor
from flexarm.simulation.steps import copied

NAN, INFINITE = float("nan"), float("inf")

TIMES = 4096
"""Number of stored computing times. Of a longer run, times at equal distances are stored, at least half as many."""


@dataclass
class Loop:
    """A predictive controller in a loop.

    Attributes
    ----------
    along, delayed : Along, Delayed
        Records of its samples. The second one is absent if `late` is 0.
    late : int
        Delay in periods.
    period, t : float
        Period, and time of the last sample [s]; NaN before the first one.
    states, places : int, (states,)
        Length of the state, and its places among the measurements.
    x, before : (states,), (m,)
        State at the last sample, and the inputs before it.
    P : (rows, states + 1, states + 1)
        The optimum without limits costs x' P x / 2.
    samples, solved, active, failed, recovered, most, excess
        Counts, see `predictive_steps.Steps`.
    reported : int
        1 if a step without a solution needs no report.
    unreported, unfinished : int
        1 if Python must report the last sample, and if the program there needs more operations than are allowed.
    clock, clock_a, clock_b : addresses
        The system's clock and its arguments, which write `now` (2,).
    unit, more : float
        Units of these two numbers [s].
    seconds, stored, apart : (TIMES,), int, int
        Computing times [s], their number, and the number of samples from one to the next.
    """

    along: Sequence[Along]
    delayed: Sequence[Delayed]
    late: int
    period: float
    t: float
    states: int
    places: Words
    x: Floats
    before: Floats
    P: Floats
    samples: int
    solved: int
    active: int
    failed: int
    recovered: int
    most: float
    excess: float
    reported: int
    unreported: int
    unfinished: int
    clock: int
    clock_a: int
    clock_b: int
    now: Words
    unit: float
    more: float
    seconds: Floats
    stored: int
    apart: int


def system_clock(now: Array) -> tuple[Address, int, int, float, float]:
    """Return the address of the system's clock, its two arguments, and the units of `now` (2,) [s].

    The clock writes `now`, and never jumps.
    """
    if sys.platform == "win32":  # pragma: no cover
        kernel = ctypes.windll.kernel32
        frequency = ctypes.c_int64()
        kernel.QueryPerformanceFrequency(ctypes.byref(frequency))
        found, first, second, unit, more = kernel.QueryPerformanceCounter, address_of(now), 0, 1 / frequency.value, 0.0
    else:
        found, first, second = ctypes.pythonapi.clock_gettime, int(time.CLOCK_MONOTONIC), address_of(now)
        unit, more = 1.0, 1e-9
    return ctypes.cast(found, ctypes.c_void_p).value or 0, first, second, unit, more


def looped(along: Placed, delayed: Placed | None, late: int, period: float, places: Array, P: Array) -> Placed:
    """Return the record of a controller before its first sample. The other records must stay alive."""
    now, states = np.zeros(2, dtype=np.int64), len(places)
    clock, first, second, unit, more = system_clock(now)
    return Placed(
        Loop(
            along=np.array([along.address]),  # type: ignore[arg-type]  # an address is one word
            delayed=np.array([delayed.address if delayed else 0]),  # type: ignore[arg-type]
            late=late,
            period=period,
            t=NAN,
            states=states,
            places=np.array(places, dtype=np.int64),
            x=np.zeros(states),
            before=along.last.copy(),
            P=np.ascontiguousarray(P),
            samples=0,
            solved=0,
            active=0,
            failed=0,
            recovered=0,
            most=0.0,
            excess=0.0,
            reported=0,
            unreported=0,
            unfinished=0,
            clock=clock,
            clock_a=first,
            clock_b=second,
            now=now,
            unit=unit,
            more=more,
            seconds=np.zeros(TIMES),
            stored=0,
            apart=1,
        )
    )


# -- translated functions ----------------------------------------------------------------------------------------------


def planned_sample(s: Loop, t: float, y: Floats, applied: Floats, u: Floats, shown: Floats) -> None:
    """Compute the inputs u (m,) of a sample from the measured state y, see `NativeStep`.

    They are NaN if Python must report that the sample has no solution.
    """
    a = s.along[0]
    h = a.horizon[0]
    if repeats(s, t, y) == 0:
        began = time_of(s)
        s.t = t
        for i in range(s.states):
            s.x[i] = y[s.places[i]]
        copied(a.last, s.before, h.m)
        sample = int(floor(t / s.period + 0.5)) + s.late
        if s.late > 0:
            status = sampled_late(s.delayed[0], sample, s.x)
        else:
            status = sampled(a, sample, s.x)
        s.unfinished = 1 if status == UNFINISHED else 0
        counted(s, a, h, sample)
        timed(s, time_of(s) - began)
    for i in range(h.m):
        u[i] = NAN if s.unreported == 1 else a.to[i]


def repeats(s: Loop, t: float, y: Floats) -> int:
    """Return 1 for the time and the state of the last sample."""
    if t != s.t:
        return 0
    for i in range(s.states):
        if y[s.places[i]] != s.x[i]:
            return 0
    return 1


def counted(s: Loop, a: Along, h: Horizon, sample: int) -> None:
    """Count a sample."""
    s.samples += 1
    s.solved += max(a.pushed, 1 - a.good)
    s.most = max(s.most, h.operations)
    if a.good == 1:
        s.active += a.pushed
    else:
        s.failed += 1
        if a.recovered == 1:
            s.recovered += 1
            s.excess = max(s.excess, share(s, a, h, min(sample, a.rows - 1)))
        if s.reported == 0:
            s.unreported = 1


def share(s: Loop, a: Along, h: Horizon, row: int) -> float:
    """Return a bound of the share by which the cost of a recovered plan exceeds the optimum."""
    least = h.bound
    for i in range(h.s):
        product, P = 0.0, s.P[(row * h.s + i) * h.s :]
        for j in range(h.s):
            product += P[j] * h.x0[j]
        least += h.x0[i] * product / 2.0
    return a.excess / least if least > 0.0 else INFINITE


def time_of(s: Loop) -> float:
    """Return the system's time [s]."""
    call(s.clock, s.clock_a, s.clock_b)
    return float(s.now[0]) * s.unit + float(s.now[1]) * s.more


def timed(s: Loop, seconds: float) -> None:
    """Store the computing time of the last sample."""
    if (s.samples - 1) // s.apart * s.apart == s.samples - 1:
        if s.stored == TIMES:
            s.stored = TIMES // 2
            s.apart *= 2
            for i in range(s.stored):
                s.seconds[i] = s.seconds[2 * i]
        s.seconds[s.stored] = seconds
        s.stored += 1


CODE = Once(lambda: translated(planned_sample))
STEP = ctypes.PYFUNCTYPE(None, ctypes.c_void_p, ctypes.c_double, *[ctypes.c_void_p] * 4)
"""Type of `planned_sample`. A short call keeps the interpreter's lock."""
