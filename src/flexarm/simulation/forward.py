"""Forward derivatives of recorded Runge-Kutta steps, in the language that is translated.

A step from y with the length h has stages y_i = y + h sum_j a_ij k_j, k_i = f(t + c_i h, y_i, u, p), and ends in
y + h sum_j b_j k_j. A change dy of its start, and changes du and dp, therefore give

    dk_i = df/dy (dy + h sum_j a_ij dk_j) + df/du du + df/dp dp,    dy <- dy + h sum_j b_j dk_j

The state z = (y, dy) is integrated by the same steps as y alone: the tableau is linear, so its functions in `stages`
also apply to dy. This includes the interpolating polynomial, which gives the derivatives at times within a step. The
result is exact for the steps that were taken, up to rounding. Lengths of steps count as constants.

`LANES` directions are computed at once. Each lane has its own dy, and all lanes have the same y.
"""

import ctypes  # noqa: TID251  (calls code that this package compiled)

import numpy as np

from flexarm.arrays import Array
from flexarm.model.closures import MET
from flexarm.native.functions import translated
from flexarm.native.kernel import LANES, Kernel
from flexarm.native.language import Placed
from flexarm.native.once import Once
from flexarm.simulation.adjoint import Recorded
from flexarm.simulation.directions import (
    NONE,
    NOTHING,
    Directions,
    Forward,
    known_of,
    noted,
    product,
    put_on_closures,
    rates,
    through_sample,
)
from flexarm.simulation.explicit import Explicit, filled
from flexarm.simulation.forward_implicit import implicit_step
from flexarm.simulation.implicit import Implicit, step_of
from flexarm.simulation.layout import Layout
from flexarm.simulation.rhs import cubic_table
from flexarm.simulation.stages import interpolated, moved, polynomial, stages_of
from flexarm.simulation.steps import copied

STEPS = 1000
"""Number of steps in a call of native code, some milliseconds. Ctrl-C takes effect between two calls."""

BEGUN = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
PART = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
"""Types of `begun` and of `forwards`."""

CODE = Once(lambda: translated(begun, forwards))


def derivatives(
    recorded: Recorded,
    layout: Layout,
    rates: Kernel,
    closes: Kernel | None,
    law: Kernel | None,
    directions: Directions,
    times: Array,
) -> Array:
    """Return the changes of the states at some times of a recorded run, (times, size, d).

    Parameters
    ----------
    rates, closes, law : Kernel
        Rates of the state, correction towards the arm's closures, and compiled controller.
    """
    found = np.empty((len(times), layout.size, directions.count))
    for first in range(0, directions.count, LANES):
        those = np.arange(first, min(first + LANES, directions.count))
        found[:, :, those] = _along(recorded, layout, (rates, closes, law), directions, those, times)
    return found


def _along(
    recorded: Recorded,
    layout: Layout,
    kernels: tuple[Kernel, Kernel | None, Kernel | None],
    directions: Directions,
    those: Array,
    times: Array,
) -> Array:
    """Return the changes along at most `LANES` of the directions, those with these indices."""

    def of(x: Array, rest: float = 0.0) -> Array:
        """Return the columns of these directions, and further ones that fill the lanes."""
        found = np.pad(x[..., those], [*[(0, 0)] * (x.ndim - 1), (0, LANES - len(those))], constant_values=rest)
        return np.ascontiguousarray(found)  # some columns of an array may be stored by columns

    (rates, closes, law), size = kernels, layout.size
    others = [each for each in directions.others if each.direction in those]
    given = [np.concatenate([np.zeros(known_of(each.kernel)), each.kernel.constants]) for each in others]
    start = np.concatenate([np.broadcast_to(recorded.states[0][:, None], (size, LANES)), of(directions.start)])
    varies, plan = bool(directions.constants.any() or directions.loops.any()), recorded.plan
    tables = None if directions.units is None else cubic_table(*directions.units)
    integers = (np.ascontiguousarray(of(x, -1), dtype=np.int64) for x in (directions.places, directions.columns))
    places, columns = integers
    since, until = (np.ascontiguousarray(of(x), dtype=np.int64) for x in (directions.since, directions.until))
    assert isinstance(recorded.method, Explicit | Implicit)  # one run
    tableau, shared = recorded.method.tableau, np.array([plan.address])
    implicit = isinstance(recorded.method, Implicit)
    stages, m = tableau.stages, layout.unknowns if implicit else 0
    forward = Placed(
        Forward(
            shared=shared,  # type: ignore[arg-type]  # an address is one word
            method=0 if implicit else stages_of(tableau, 2 * size * LANES),  # type: ignore[arg-type]  # records are placed
            trail=recorded.trail,  # type: ignore[arg-type]
            steps=recorded.trail.count,
            end=recorded.edges[-1],
            size=size,
            states=layout.states,
            inputs=layout.inputs,
            fed=layout.fed,
            current=0,
            first=np.array(recorded.first, dtype=np.int64),
            last=np.array(recorded.last),
            values=np.array(recorded.values),
            y=start,
            z=np.zeros_like(start),
            x=np.zeros_like(start),
            implicit=int(implicit),
            steps_of=step_of(tableau, layout, shared) if implicit else 0,  # type: ignore[arg-type]
            changes_of=step_of(tableau, layout, shared, LANES) if implicit else 0,  # type: ignore[arg-type]
            behind=layout.nq - layout.pose,
            length=0.0,
            stale=1,
            least=0,
            excess=0,
            points=np.zeros((stages, size)),
            place=np.zeros(size),
            r=np.zeros((stages * m, LANES)),
            slopes=np.zeros((stages, layout.states, m)),
            system=np.zeros((stages * m) ** 2),
            copy=np.zeros((stages * m) ** 2),
            solution=np.zeros(stages * m),
            plain=product(rates, 0.0 * of(directions.constants) if varies else None),  # type: ignore[arg-type]
            rate=product(rates, of(directions.constants) if varies else None),  # type: ignore[arg-type]
            law=NONE if law is None or known_of(law) == 1 else product(law),  # type: ignore[arg-type]  # 1: of time only
            closes=NONE if closes is None else product(closes, of(directions.loops) if varies else None),  # type: ignore[arg-type]
            small=MET**2,
            sampled=int(recorded.sampled),
            samples=np.array(recorded.samples, dtype=np.int64),
            called=np.array(recorded.called),
            memory=len(directions.memory),
            held=np.zeros((layout.inputs, LANES)),
            kept=of(directions.memory),
            places=places,
            since=since,
            until=until,
            columns=columns,
            tabled=int(tables is not None),
            units=tables or 0,  # type: ignore[arg-type]
            others=len(others),
            codes=np.array([each.kernel.code.addresses["evaluate"] for each in others], dtype=np.int64),
            numbers=np.concatenate([NOTHING, *given]),
            begins=np.cumsum([0, *map(len, given)]),
            of=np.array([each.direction - those[0] for each in others], dtype=np.int64),
            weights=np.array([each.weight for each in others]),
            value=np.zeros(layout.fed + len(directions.memory)),
            wanted=len(times),
            times=np.ascontiguousarray(times),
            out=np.empty((len(times), size, LANES)),
            known=0,
        )
    )
    code = CODE()
    BEGUN(code.addresses["begun"])(forward.address)
    onwards = PART(code.addresses["forwards"])
    for first in range(0, forward.steps, STEPS):
        onwards(forward.address, first, min(first + STEPS, forward.steps))
    return np.asarray(forward.out[:, :, : len(those)])


# -- translated functions ----------------------------------------------------------------------------------------------


def begun(s: Forward) -> None:
    """Put the initial state on the closures, and write the changes of the states at the start."""
    for _ in range(2):  # as in `closures.started`, so that the rates follow the corrected position
        put_on_closures(s, s.y, s.y[s.size * LANES :])
    noted(s, s.y, 0.0)


def forwards(s: Forward, first: int, stop: int) -> None:
    """Take some of the recorded steps, with the changes of the state."""
    trail, shared = s.trail, s.shared[0]
    for i in range(first, stop):
        while s.first[s.current + 1] <= i:
            s.current += 1
        shared.last = s.last[s.current]
        copied(s.values[s.current * s.fed :], shared.buffer[1 + s.states :], s.fed)
        if s.sampled == 1 and i == s.first[s.current] and s.samples[s.current] >= 0:
            through_sample(s, s.samples[s.current])
        t, h, end = trail.times[2 * i], trail.times[2 * i + 1], s.end
        if i + 1 < s.steps:
            end = trail.times[2 * (i + 1)]
        if s.implicit == 1:
            implicit_step(s, t, h, end, trail.ring[i * trail.width :], 1 if i == s.first[s.current] else 0)
        else:
            explicit_step(s, t, h, end)


def explicit_step(s: Forward, t: float, h: float, end: float) -> None:
    """Take a step of an explicit method, with the changes of the state."""
    method = s.method
    width = method.width
    filled(method.h, h, width)
    copied(s.y, s.z, width)
    for stage in range(method.stages):
        if stage > 0:
            moved(method, stage - 1, s.y, s.z, width)
        rates(s, t + method.c[stage] * h, s.z, method.k[stage * width :])
    moved(method, method.stages - 1, s.y, s.z, width)
    put_on_closures(s, s.z, s.z[s.size * LANES :])
    if s.known < s.wanted and s.times[s.known] < end:
        within(s, t, h, end)
    noted(s, s.z, end)
    copied(s.z, s.y, width)


def within(s: Forward, t: float, h: float, end: float) -> None:
    """Write the changes of the states at the times within a step, by its interpolating polynomial."""
    method = s.method
    width = method.width
    rates(s, end, s.z, method.k[method.stages * width :])
    for e in range(method.further):
        moved(method, method.stages + method.smoothed + 1 + e, s.y, s.x, width)
        stage = method.stages + 1 + e
        rates(s, t + method.c[stage] * h, s.x, method.k[stage * width :])
    polynomial(method, s.y, s.z)
    while s.known < s.wanted and s.times[s.known] < end:
        filled(method.h, (s.times[s.known] - t) / h, width)
        interpolated(method, method.h, s.y, s.z, s.x)
        put_on_closures(s, s.x, s.x[s.size * LANES :])
        noted(s, s.x, s.times[s.known])
