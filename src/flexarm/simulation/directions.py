"""Data of forward derivatives of a run, and their functions at one state, in the language that is translated.

`LANES` directions are computed at once. Each lane has its own changes, and all lanes have the same state. The sweep is
in `forward`, and the steps of implicit methods are in `forward_implicit`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from flexarm.arrays import Array
from flexarm.model.closures import CORRECTIONS
from flexarm.native.kernel import LANES, Kernel
from flexarm.native.language import Floats, Placed, Words, call
from flexarm.native.tangent import tangent
from flexarm.simulation import block
from flexarm.simulation.explicit import filled
from flexarm.simulation.rhs import Cubics, RunRecord, interval
from flexarm.simulation.stages import Stages
from flexarm.simulation.steps import Step, Trail, copied


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
    implicit, steps_of, changes_of : int, Step, Step
        1 for an implicit method, and its steps of the state and of its changes, `LANES` in each place.
    behind : int
        Number of coordinates after the pose.
    length, stale, least, excess : float, int, int, int
        Use of the inverse of Newton's matrix of the changes, as in `Sweep`.
    points, place : (stages, size), (size,)
        States at the stages of an implicit step, and work memory for a state.
    r, slopes, system, copy, solution
        Remainders of a step's equations, (stages, m, LANES); slopes of the m unknown rates of all stages, (stages,
        states, m); the linear system of a step, (stages m, stages m), twice, and one right side.
    plain : Product
        Tangent of the rates in which constants do not change.
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
    implicit: int
    steps_of: Step
    changes_of: Step
    behind: int
    length: float
    stale: int
    least: int
    excess: int
    points: Floats
    place: Floats
    r: Floats
    slopes: Floats
    system: Floats
    copy: Floats
    solution: Floats
    plain: Product
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


def known_of(kernel: Kernel) -> int:
    """Return the number of a kernel's arguments without its constants."""
    return kernel.code.facts["n_in"] - len(kernel.constants)


# -- translated functions ----------------------------------------------------------------------------------------------


def noted(s: Forward, z: Floats, t: float) -> None:
    """Write the changes of the state z at all times of the result up to t."""
    while s.known < s.wanted and s.times[s.known] <= t:
        copied(z[s.size * LANES :], s.out[s.known * s.size * LANES :], s.size * LANES)
        s.known += 1


def rates(s: Forward, t: float, z: Floats, to: Floats) -> None:
    """Write the rates of a state with their changes."""
    arranged(s, s.rate, t, z)
    of_fed = s.rate.given[(s.rate.known + s.states) * LANES :]
    if s.sampled == 1:
        copied(s.held, of_fed, s.inputs * LANES)
    elif s.law.kernel != 0:
        through_law(s, s.rate, of_fed)
        otherwise(s, s.shared[0].buffer, of_fed)
    acting(s, s.shared[0].buffer[0], of_fed)
    call(s.rate.kernel, s.rate.given, to)


def slopes_along(s: Forward, t: float, z: Floats, to: Floats) -> None:
    """Write the rates of a state with their changes along those of the state alone."""
    arranged(s, s.plain, t, z)
    if s.sampled == 0 and s.law.kernel != 0:
        through_law(s, s.plain, s.plain.given[(s.plain.known + s.states) * LANES :])
    call(s.plain.kernel, s.plain.given, to)


def arranged(s: Forward, rate: Product, t: float, z: Floats) -> None:
    """Write a state with its changes, and the inputs without changes, to the arguments of a product."""
    shared, given, states = s.shared[0], rate.given, s.states
    changes, buffer = given[rate.known * LANES :], shared.buffer
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
    filled(changes[states * LANES :], 0.0, s.fed * LANES)


def spread(x: Floats, to: Floats, count: int) -> None:
    """Write each of some numbers to all lanes."""
    for i in range(count):
        filled(to[i * LANES :], x[i], LANES)


def through_law(s: Forward, rate: Product, of_fed: Floats) -> None:
    """Write the changes of u and of the rates of the memory of a continuous controller."""
    law, changes = s.law, rate.given[rate.known * LANES :]
    spread(s.shared[0].buffer, law.given, law.known)
    copied(changes, law.given[(law.known + 1) * LANES :], (law.known - 1) * LANES)
    call(law.kernel, law.given, law.out)
    copied(law.out[law.count * LANES :], of_fed, law.count * LANES)


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
