"""Sampled loops in machine code: calls of a compiled law, and integration of the arm from sample to sample.

The results are equal to those of `run` and `sampled` in Python to the last bit. If a law or a solver fails, the loop
ends before that sample, and Python repeats the sample to find the reason.
"""

import ctypes  # noqa: TID251  (calls code that this package compiled)
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from flexarm.model import Model
from flexarm.native.functions import translated
from flexarm.native.language import Floats, Placed, Words, call
from flexarm.native.once import Once
from flexarm.simulation.advance import is_finite
from flexarm.simulation.layout import Layout
from flexarm.simulation.rhs import Plan, Shared
from flexarm.simulation.steps import copied

Array = np.ndarray

CALL = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)
FELT = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
CODE = Once(lambda: translated(sampled, felt))


@dataclass
class Before:
    """An arm just before a sample, with the data that native code needs to compute its accelerations.

    Attributes
    ----------
    rate : address
        The kernel (x, u, w) -> (dx, powers); 0 if accelerations are not measured.
    first, accelerations
        Position of the accelerations in dx, and their number.
    t, x, dx
        Time and state, and the state's rates under the previous u.
    """

    shared: Sequence[Shared]
    rate: int
    states: int
    first: int
    accelerations: int
    t: float
    x: Floats
    dx: Floats


@final
class Feeling:
    """Accelerations and external loads of a run just before a sample."""

    def __init__(self, plan: Plan, model: Model):
        layout, self.code = Layout.of(model), model.kernel("state_rate").code
        self.w = plan.w
        self.record = Placed(
            Before(
                shared=np.array([plan.address]),  # type: ignore[arg-type]  # an address is one word
                rate=self.code.addresses["evaluate"],
                states=layout.states,
                first=layout.qd.start,
                accelerations=model.nv,
                t=0.0,
                x=np.zeros(layout.states),
                dx=np.zeros(layout.size),
            )
        )

    def __call__(self, t: float, x: Array) -> Array:
        """Return qdd (nv,), and set w to the external loads."""
        record = self.record
        record.t = t
        record.x[:] = x[: record.states]
        FELT(CODE().addresses["felt"])(record.address)
        return record.dx[record.first : record.first + record.accelerations]


@dataclass
class Samples:
    """Consecutive samples, with the data that native code needs for them.

    Attributes
    ----------
    advance, solver : addresses
        A solver in the form of the module `advance`, and its record.
    law : address
        The kernel (t, q, qd, z, noise, qdd, constants) -> (u, next z).
    before, feels
        Source of qdd, and 1 if the law measures it.
    late : float
        Time by which a sample may follow a time of the result that gets its u [s].
    given, found
        Arguments of the law, which include z and end with its constants, and its values.
    edges, upto : (count + 1,)
        Ends of intervals, and the number of the result's times up to each.
    times, held, rows : (total,), (total, inputs + recorded), (total, size)
        Times of the result, u with recorded signals, and states. `next` is the first time without a u.
    u, x
        Current u with recorded signals, which are the last numbers of the memory, and current state.
    ends, out, reached
        Times of one interval, the states there, and the number of those reached.
    """

    shared: Sequence[Shared]
    advance: int
    solver: int
    law: int
    before: Sequence[Before]
    feels: int
    states: int
    inputs: int
    memory: int
    recorded: int
    noises: int
    size: int
    total: int
    late: float
    given: Floats
    found: Floats
    noise: Floats
    edges: Floats
    upto: Words
    times: Floats
    held: Floats
    rows: Floats
    u: Floats
    x: Floats
    ends: Floats
    out: Floats
    reached: Words
    next: int
    steps: int


# -- translated functions ----------------------------------------------------------------------------------------------


def sampled(s: Samples, count: int) -> int:
    """Process up to so many samples, and return how many were completed."""
    shared = s.shared[0]
    u, z = shared.buffer[1 + shared.states :], s.given[1 + s.states :]
    kept = s.inputs + s.recorded
    for k in range(count):
        t, end = s.edges[k], s.edges[k + 1]
        while s.next < s.total and s.times[s.next] < t - s.late:
            copied(s.u, s.held[s.next * kept :], kept)
            s.next += 1
        s.given[0] = t
        copied(s.x, s.given[1:], s.states)
        copied(s.noise[k * s.noises :], z[s.memory :], s.noises)
        if s.feels != 0:
            before = s.before[0]
            before.t = t
            copied(s.x, before.x, s.states)
            felt(before)
            copied(before.dx[before.first :], z[s.memory + s.noises :], before.accelerations)
        call(s.law, s.given, s.found)
        if is_finite(s.found, s.inputs + s.memory) == 0:
            return k
        copied(s.found, u, s.inputs)
        first = s.upto[k]
        wanted = s.upto[k + 1] - first
        copied(s.times[first:], s.ends, wanted)
        ends = wanted
        if wanted == 0 or s.ends[wanted - 1] != end:
            s.ends[wanted] = end
            ends = wanted + 1
        evaluations = shared.evaluations
        call(s.advance, s.solver, t, s.x, s.ends, ends, s.out, s.reached)
        if s.reached[0] < ends:
            shared.evaluations = evaluations
            return k
        copied(s.out, s.rows[first * s.size :], wanted * s.size)
        copied(s.out[(ends - 1) * s.size :], s.x, s.size)
        copied(s.found, s.u, s.inputs)
        copied(s.found[s.inputs + s.memory - s.recorded :], s.u[s.inputs :], s.recorded)
        copied(s.found[s.inputs :], z, s.memory)
        s.steps += s.reached[1]
    return count


def felt(s: Before) -> None:
    """Compute the rates of a state just before a sample, under the previous input."""
    shared = s.shared[0]
    shared.buffer[0] = min(s.t, shared.last)
    copied(s.x, shared.buffer[1:], s.states)
    if shared.outside != 0:
        call(shared.outside, shared.buffer, shared.buffer[shared.place :], shared.given)
    call(s.rate, shared.buffer[1:], s.dx)
