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
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from flexarm.arrays import Array
from flexarm.model.closures import CORRECTIONS, MET
from flexarm.native.functions import translated
from flexarm.native.kernel import LANES, Kernel
from flexarm.native.language import Floats, Placed, Words, call
from flexarm.native.once import Once
from flexarm.native.tangent import tangent
from flexarm.simulation import block
from flexarm.simulation.adjoint import Recorded
from flexarm.simulation.explicit import filled
from flexarm.simulation.layout import Layout
from flexarm.simulation.rhs import Cubics, RunRecord, cubic_table, interval
from flexarm.simulation.stages import Stages, interpolated, moved, polynomial, stages_of
from flexarm.simulation.steps import Trail, copied

STEPS = 1000
"""Number of steps in a call of native code, some milliseconds. Ctrl-C takes effect between two calls."""

BEGUN = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
PART = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
"""Types of `begun` and of `forwards`."""

CODE = Once(lambda: translated(begun, forwards))


@final
@dataclass(frozen=True)
class Other:
    """A controller with another value of one number, and its weight in the derivative along a direction."""

    direction: int
    weight: float
    kernel: Kernel


@final
@dataclass(frozen=True)
class Directions:
    """Changes of the numbers of a run along d directions.

    Attributes
    ----------
    start, memory : (size, d), (memory, d)
        Changes of the initial state, and of the initial memory of a sampled controller.
    constants, loops : (constants, d)
        Changes of the constants of the rates, and of the correction towards the arm's closures.
    places, since, until : (d,)
        Index of the fed number (u, dz/dt, w) that a direction changes by one, or -1. It does so in the intervals from
        `since` to `until`.
    columns, units : (d,), Cubics
        Column of a table of unit changes that the fed number follows in place of one, or -1, and the table.
    others : list of Other
    """

    start: Array
    memory: Array
    constants: Array
    loops: Array
    places: Array
    since: Array
    until: Array
    columns: Array
    units: block.Cubics | None
    others: Sequence[Other]

    @property
    def count(self) -> int:
        """Number of directions."""
        return self.start.shape[1]


@dataclass
class Product:
    """The tangent of a kernel, with the kernel's arguments, constants and their changes in one array.

    Attributes
    ----------
    kernel : address
        The tangent for `LANES` directions; 0 if there is none.
    known, count : int
        Numbers of arguments without the constants, and of values.
    given, out : arrays
        The arguments, their changes, the constants and their changes; the values and their changes.
    """

    kernel: int
    known: int
    count: int
    given: Floats
    out: Floats


NOTHING = np.zeros(0)
NONE = Placed(Product(0, 0, 0, NOTHING, NOTHING))
"""No product."""


def product(kernel: Kernel, changes: Array | None = None) -> Placed:
    """Return the record of a kernel's tangent. Its constants change if there are changes (constants, LANES)."""
    made, w = tangent(kernel, changes is not None), kernel.constants
    n, count = (kernel.code.facts[name] for name in ("n_in", "n_out"))
    known = n - len(w)
    given = np.concatenate([np.zeros((2 * known, LANES)), np.tile(w[:, None], LANES)])
    given = given if changes is None else np.concatenate([given, changes])
    code = made.vector_code.addresses["evaluate"]
    return Placed(Product(code, known, count, given, np.zeros((2 * count, LANES))))


@dataclass
class Forward:
    """Data of the derivatives of a run along `LANES` directions. Arrays of states have `LANES` numbers in each place.

    Attributes
    ----------
    method : Stages
        The method on states (y, dy).
    trail, steps, end : Trail, int, float
        Record of the steps, their number, and the end of the last one [s].
    size, states, inputs, fed : int
        Numbers of a state with and without quadrature states; of u; of u, rates of the memory and w.
    first, last, values : (intervals + 1,), (intervals,), (intervals, fed)
        First step of each interval between breakpoints, the latest time at which inputs are evaluated, and the values
        fed at its start. `current` is the present interval.
    y, z, x : (2 size, LANES)
        State at the start and the end of a step, and work memory.
    rate, law, closes : Product
        Tangents of the rates, of a controller, and of the correction towards the arm's closures, which ends when the
        sum of squares of the gaps is `small`.
    sampled, samples, called : int, (intervals,), (samples, arguments)
        1 if the controller is sampled; the sample with which each interval begins, or -1; its arguments.
    memory, held, kept
        Length of the memory of a sampled controller, and the changes of its u and of its memory.
    places, since, until, columns : (LANES,)
        See `Directions`.
    tabled, units : int, Cubics
        1 if there is a table of unit changes, and the table.
    others, codes, numbers, begins, of, weights, value
        Number of controllers with other numbers, their kernels, their arguments, which begin at `begins`, the lanes
        that they belong to, their weights, and a value.
    wanted, times, out, known : int, (wanted,), (wanted, size), int
        Times of the result, the changes of the states there, and the number of those that are known.
    """

    shared: Sequence[RunRecord]
    method: Stages
    trail: Trail
    steps: int
    end: float
    size: int
    states: int
    inputs: int
    fed: int
    current: int
    first: Words
    last: Floats
    values: Floats
    y: Floats
    z: Floats
    x: Floats
    rate: Product
    law: Product
    closes: Product
    small: float
    sampled: int
    samples: Words
    called: Floats
    memory: int
    held: Floats
    kept: Floats
    places: Words
    since: Words
    until: Words
    columns: Words
    tabled: int
    units: Cubics
    others: int
    codes: Words
    numbers: Floats
    begins: Words
    of: Words
    weights: Floats
    value: Floats
    wanted: int
    times: Floats
    out: Floats
    known: int


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
        return np.pad(x[..., those], [*[(0, 0)] * (x.ndim - 1), (0, LANES - len(those))], constant_values=rest)

    (rates, closes, law), size = kernels, layout.size
    others = [each for each in directions.others if each.direction in those]
    given = [np.concatenate([np.zeros(known_of(each.kernel)), each.kernel.constants]) for each in others]
    start = np.concatenate([np.broadcast_to(recorded.states[0][:, None], (size, LANES)), of(directions.start)])
    varies, plan = bool(directions.constants.any() or directions.loops.any()), recorded.plan
    tables = None if directions.units is None else cubic_table(*directions.units)
    integers = (np.ascontiguousarray(of(x, -1), dtype=np.int64) for x in (directions.places, directions.columns))
    places, columns = integers
    since, until = (np.ascontiguousarray(of(x), dtype=np.int64) for x in (directions.since, directions.until))
    forward = Placed(
        Forward(
            shared=np.array([plan.address]),  # type: ignore[arg-type]  # an address is one word
            method=stages_of(recorded.method.tableau, 2 * size * LANES),  # type: ignore[arg-type]  # records are placed
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


def known_of(kernel: Kernel) -> int:
    """Return the number of a kernel's arguments without its constants."""
    return kernel.code.facts["n_in"] - len(kernel.constants)


# -- translated functions ----------------------------------------------------------------------------------------------


def begun(s: Forward) -> None:
    """Put the initial state on the closures, and write the changes of the states at the start."""
    for _ in range(2):  # as in `closures.started`, so that the rates follow the corrected position
        put_on_closures(s, s.y, s.y[s.size * LANES :])
    noted(s, s.y, 0.0)


def noted(s: Forward, z: Floats, t: float) -> None:
    """Write the changes of the state z at all times of the result up to t."""
    while s.known < s.wanted and s.times[s.known] <= t:
        copied(z[s.size * LANES :], s.out[s.known * s.size * LANES :], s.size * LANES)
        s.known += 1


def forwards(s: Forward, first: int, stop: int) -> None:
    """Take some of the recorded steps, with the changes of the state."""
    method, trail, shared = s.method, s.trail, s.shared[0]
    width = method.width
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


def rates(s: Forward, t: float, z: Floats, to: Floats) -> None:
    """Write the rates of a state with their changes."""
    shared, given, states = s.shared[0], s.rate.given, s.states
    changes, buffer = given[s.rate.known * LANES :], shared.buffer
    copied(z, given, states * LANES)
    copied(z[s.size * LANES :], changes, states * LANES)
    put_on_closures(s, given, changes)
    buffer[0] = min(t, shared.last)
    for i in range(states):
        buffer[1 + i] = given[i * LANES]
    call(shared.stage, buffer, buffer[1 + states :], shared.data)
    if shared.exogenous != 0:
        call(shared.exogenous, buffer, buffer[shared.place :], shared.given)
    spread(buffer[1 + states :], given[states * LANES :], s.fed)
    of_fed = changes[states * LANES :]
    filled(of_fed, 0.0, s.fed * LANES)
    if s.sampled == 1:
        copied(s.held, of_fed, s.inputs * LANES)
    elif s.law.kernel != 0:
        through_law(s, buffer, changes, of_fed)
    acting(s, buffer[0], of_fed)
    call(s.rate.kernel, given, to)


def spread(x: Floats, to: Floats, count: int) -> None:
    """Write each of some numbers to all lanes."""
    for i in range(count):
        filled(to[i * LANES :], x[i], LANES)


def through_law(s: Forward, buffer: Floats, changes: Floats, of_fed: Floats) -> None:
    """Write the changes of u and of the rates of the memory of a continuous controller."""
    law = s.law
    spread(buffer, law.given, law.known)
    copied(changes, law.given[(law.known + 1) * LANES :], (law.known - 1) * LANES)
    call(law.kernel, law.given, law.out)
    found = law.out[law.count * LANES :]
    otherwise(s, buffer, found)
    copied(found, of_fed, law.count * LANES)


def through_sample(s: Forward, sample: int) -> None:
    """Take a sample: set the changes of u, which stays constant until the next one, and of the memory."""
    law = s.law
    called, changes = s.called[sample * law.known :], law.given[(law.known + 1) * LANES :]
    spread(called, law.given, law.known)
    copied(s.y[s.size * LANES :], changes, s.states * LANES)
    copied(s.kept, changes[s.states * LANES :], s.memory * LANES)
    call(law.kernel, law.given, law.out)
    found = law.out[law.count * LANES :]
    otherwise(s, called, found)
    copied(found, s.held, s.inputs * LANES)
    copied(found[s.inputs * LANES :], s.kept, s.memory * LANES)


def otherwise(s: Forward, given: Floats, found: Floats) -> None:
    """Add the changes of the controller itself, by controllers with other numbers at its arguments."""
    for i in range(s.others):
        numbers, lane = s.numbers[s.begins[i] :], found[s.of[i] :]
        copied(given, numbers, s.law.known)
        call(s.codes[i], numbers, s.value)
        for n in range(s.law.count):
            lane[n * LANES] += s.weights[i] * s.value[n]


def acting(s: Forward, t: float, of_fed: Floats) -> None:
    """Add the changes of u and w that are directions themselves."""
    for n in range(LANES):
        if s.places[n] >= 0 and s.since[n] <= s.current and s.current < s.until[n]:
            change = 1.0
            if s.columns[n] >= 0:
                change = unit(s.units, s.columns[n], t)
            of_fed[s.places[n] * LANES + n] += change


def unit(units: Cubics, column: int, t: float) -> float:
    """Return a column of a table of cubics at a time."""
    low = interval(units.breaks, 0, units.intervals, t)
    past = t - units.breaks[low]
    c = units.coefficients[4 * (low * units.inputs + column) :]
    return ((c[0] * past + c[1]) * past + c[2]) * past + c[3]


def put_on_closures(s: Forward, x: Floats, changes: Floats) -> None:
    """Correct a state and its changes as `rhs.close` does, until the gaps of the arm's closures are small."""
    closes, tries = s.closes, 0
    if closes.kernel == 0:
        return
    given, out, count = closes.given, closes.out, closes.known * LANES
    while tries < CORRECTIONS and (tries == 0 or out[count] >= s.small):
        copied(x, given, count)
        copied(changes, given[count:], count)
        call(closes.kernel, given, out)
        copied(out, x, count)
        copied(out[closes.count * LANES :], changes, count)
        tries += 1
