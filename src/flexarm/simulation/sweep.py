"""Data of the adjoint of recorded steps, and its functions at one stage of a step, in the language that is translated.

The sweep over the steps is in `adjoint`, and the solution of an implicit step in `adjoint_implicit`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from flexarm.arrays import Array
from flexarm.model.closures import CORRECTIONS
from flexarm.native.code import Address
from flexarm.native.kernel import Kernel
from flexarm.native.language import Each, Floats, Placed, Shared, SharedWords, Words, call, lanes
from flexarm.simulation.decoupled import Decoupled
from flexarm.simulation.explicit import ExplicitSteps
from flexarm.simulation.rhs import Closing, Cubics, RunRecord, interval, put_on_closures
from flexarm.simulation.steps import Trail, copied


@dataclass
class Product:
    """A kernel's vector-Jacobian product, with the kernel's arguments, constants and weights in one array.

    Attributes
    ----------
    product, kernel : addresses
        The product, and the kernel itself where its value is needed. A product of 0 is left out.
    known, place : int
        Number of arguments that are copied from a plan's buffer, and the position of the weights.
    given, out, value : arrays
        All arguments, the product, and the kernel's value.
    """

    product: int
    kernel: int
    known: int
    place: int
    given: Floats
    out: Floats
    value: Floats


def address(kernel: Kernel, width: int) -> Address:
    """Return the address of a kernel's code for one state or for `LANES` states at once."""
    return (kernel.code if width == 1 else kernel.vector_code).addresses["evaluate"]


def product(
    made: Kernel, kernel: Kernel, others: Array, width: int = 1, own: Array | None = None, batch: bool = False
) -> Placed:
    """Return the record of the product that was made of a kernel of numbers of the buffer, and of others.

    `own` are the kernel's constants in each run, (constants, width). In the record for a `batch`, numbers are counted
    as those of one run.
    """
    facts = {name: width * x for name, x in kernel.code.facts.items()}
    constants = np.repeat(kernel.constants, width) if own is None else own.ravel()
    known = facts["n_in"] - len(constants) - len(others)
    product, value = (address(each, width) for each in (made, kernel))
    given = np.concatenate([np.zeros(known), others, constants, np.zeros(facts["n_out"])])
    numbers = given, np.zeros(width * made.code.facts["n_out"]), np.zeros(facts["n_out"])
    count = width if batch else 1
    return Placed(Product(product, value, known // count, facts["n_in"] // count, *numbers))


NOTHING = np.zeros(0)
NONE = Placed(Product(0, 0, 0, 0, NOTHING, NOTHING, NOTHING))
"""No product."""


@dataclass
class Sweep:
    """Data of the adjoint of a run.

    Attributes
    ----------
    shared : (1,)
        Address of the record of the plan.
    steps, trails : ExplicitSteps, (width,)
        An explicit method, which takes steps again, and the records of the steps of each run.
    width : int
        Number of runs that are computed at once. All arrays below have the numbers of each run side by side, and all
        lengths count the numbers of all runs. The plan's buffer begins with the time of each run.
    taken, row : (steps, width), (width (1 + stages) size,)
        For many runs: the index i of the step of each run, or -1 - i for a run that waits for the others after its step
        i; and memory for the states and rates of these steps.
    t, h, tiled : (width,), (width,), (size,)
        Start and length of the present step of each run [s], and the length for each number of a state. A run that
        waits has the length 0, which leaves its weights as they are.
    stages, size, states, inputs, exogenous, fed : int
        Stages of the method; numbers of a state with and without quadrature states; of u and of w; and of all that
        follows the state in the plan's buffer: u, rates of the controller's memory, w.
    matrix, nodes : (stages + 1, stages), (stages,)
        Weights of the rates in the stages and in the end, and the times of the stages within a step.
    implicit, across, apart : int
        1 for an implicit method. `given` and `found` are then the arguments and values of the product of the rates. For
        one run they have the numbers of its stages side by side, (arguments, LANES) with across = LANES and apart = 1.
        For `LANES` runs they have one row for each stage, with across = 1 and the length of a row as `apart`.
    beside, count : address, int
        For `LANES` runs of an implicit method: the code of `beside_each_other`, and the number of steps of each run.
        Widths and lengths are then those of one run, in the layout of `batched`.
    points, befores, costs : (stages, 1 + states + fed), (stages, states), (stages, states + fed)
        Numbers of the plan's buffer at the stages of an implicit step, the states there before corrections, and the
        slopes of the integrand.
    pose, inner, m, square
        Numbers of the pose and of the unknowns of a stage, and the index of the first acceleration of a coordinate that
        is an integral of a rate, as in `steps.Step`; weights of the accelerations in the coordinates of the stages and
        of the end, (stages + 1, stages).
    solution, r, own : (stages, m), (stages, m), (stages, coordinates after the pose)
        Weights of the unknown rates, the remainders of their equations, and the weights of the rates of coordinates.
    newton, length, stale, least, excess : Decoupled, float, int, int, int
        Inverse of the system's matrix with the slopes of an earlier stage, for steps of this length [s], or 0; 1 if
        these slopes are to be computed again; the number of iterations with new slopes, and the sum of further ones.
    system, slopes : (stages m, stages m), (stages, m, states)
        The system with the slopes of all stages.
    intervals, current : int
        Number of intervals between breakpoints, and the present one.
    first, last, values : (intervals + 1,), (intervals,), (intervals, fed)
        First step of each interval, the latest time at which inputs are evaluated, and the values fed at its start.
    weights : int
        Position of the weights of the rates in the plan's buffer.
    rate : address
        Product of the rates, from the buffer after the time.
    out, constants : (states + fed + constants,), int
        Its value, and the number of constants that it ends with.
    law, cost : Product
        Products of a controller and of an integrand.
    others, codes, places, numbers, sums : int, (others,), (others,), array, (others,)
        Number of controllers with other numbers, their kernels, the positions of their arguments in `numbers`, and the
        sums of their values with the weights of u and of the rates of the memory.
    memory : int
        Length of the memory of a sampled controller.
    sampled, samples : int, (intervals,)
        1 if the controller is sampled, and the sample with which each interval begins, or -1.
    called, held : (samples, arguments), (inputs + memory,)
        The controller's arguments at each sample, and the weights of u and of the memory after it.
    after : int
        Number of the integrand's own arguments after those of the buffer.
    closes, closing, tries, before : Product, Closing, (CORRECTIONS, q and qd), (states,)
        Product of the correction towards the arm's closures, its data, the states of a correction, and a state before.
    tabled, cubics : int, Cubics
        1 if u is a table of cubics, and the table.
    v, bars : (size,), (stages, states)
        Weights of the state, and those of the stages.
    marks, mark, pulls : (marks,), int, (marks, size)
        Steps before which weights are added, ascending; the number that are left; and the weights.
    value : (width,)
        Integral of the integrand.
    of_inputs, of_table, of_constants, of_loops, of_cost : arrays
        Sums of the products: (intervals, fed); (intervals of the table, inputs, 4); those of the constants of the rates
        and of the correction; and those of the integrand's own arguments.
    """

    shared: Sequence[RunRecord]
    steps: ExplicitSteps
    trails: Sequence[Trail]
    width: int
    taken: Words
    row: Floats
    t: Floats
    h: Floats
    tiled: Floats
    stages: int
    size: int
    states: int
    inputs: int
    exogenous: int
    fed: int
    matrix: Shared
    nodes: Shared
    implicit: int
    across: int
    apart: int
    beside: int
    count: Each
    given: Floats
    found: Floats
    points: Floats
    befores: Floats
    costs: Floats
    pose: int
    inner: int
    m: int
    square: Shared
    solution: Floats
    r: Floats
    own: Floats
    newton: Decoupled
    length: float
    stale: Each
    least: Each
    excess: Each
    system: Floats
    slopes: Floats
    intervals: int
    current: Each
    first: Words
    last: Floats
    values: Floats
    weights: int
    rate: int
    out: Floats
    constants: int
    law: Product
    others: int
    codes: SharedWords
    places: SharedWords
    numbers: Floats
    sums: Floats
    memory: int
    sampled: int
    samples: Words
    called: Floats
    held: Floats
    cost: Product
    after: int
    closes: Product
    closing: Closing
    tries: Floats
    before: Floats
    of_loops: Floats
    tabled: int
    cubics: Cubics
    v: Floats
    bars: Floats
    marks: Words
    mark: Each
    pulls: Floats
    value: Floats
    of_inputs: Floats
    of_table: Floats
    of_constants: Floats
    of_cost: Floats


# -- translated functions ----------------------------------------------------------------------------------------------


def at_stage(s: Sweep, row: Floats, i: int) -> None:
    """Write the time, the state and the inputs of a stage to the plan's buffer."""
    shared, states = s.shared[0], s.states
    buffer = shared.buffer
    x, count = buffer[s.width :], i
    if s.implicit == 1:
        count = s.stages
    reached(s, row, s.matrix[i * s.stages :], count, x)
    if s.closes.product != 0:
        copied(x, s.before, states)
        put_on_closures(s.shared, x)
    for n in range(s.width):
        buffer[n] = min(s.t[n] + s.nodes[i] * s.h[n], shared.last)
    call(shared.stage, buffer, x[states:], shared.data)
    if shared.exogenous != 0:
        call(shared.exogenous, buffer, buffer[shared.place :], shared.given)


def reached(s: Sweep, row: Floats, weights: Floats, count: int, x: Floats) -> None:
    """Write the state of a stage, or the end of a step, without a correction towards closures."""
    states, k, h = s.states, row[s.size :], s.tiled
    copied(row, x, states)
    for j in range(count):
        a = weights[j]
        if a != 0.0:
            rates = k[j * s.size :]
            for n in lanes(states):
                x[n] += h[n] * a * rates[n]


def before_correction(s: Sweep, x: Floats, weights: Floats, summed: int) -> None:
    """Move the weights of a state on the arm's closures to the state x before its corrections, which x gets.

    The products with respect to the constants are added to their sums if they are `summed`.
    """
    closes, known, tries = s.closes, s.closes.known, 0
    given, value, small = closes.given, closes.value, s.closing.small
    while tries < CORRECTIONS and (tries == 0 or value[known] >= small):
        copied(x, s.tries[tries * known :], known)
        copied(x, given, known)
        call(closes.kernel, given, value)
        copied(value, x, known)
        tries += 1
    for j in range(tries - 1, -1, -1):
        copied(s.tries[j * known :], given, known)
        copied(weights, given[closes.place :], known)
        call(closes.product, given, closes.out)
        copied(closes.out, weights, known)
        constants = closes.out[known:]
        if summed == 1:
            for n in lanes(closes.place - known):
                s.of_loops[n] += constants[n]


def with_cost(s: Sweep, buffer: Floats, b: float) -> None:
    """Add the value and the slopes of the integrand, with the weight b of a stage."""
    cost, width = s.cost, s.width
    weights, value, total, others = cost.given[cost.place :], cost.value, s.value, cost.out[width + s.states + s.fed :]
    copied(buffer, cost.given, cost.known)
    for n in range(width):
        weights[n] = b * s.h[n]
    call(cost.product, cost.given, cost.out)
    slopes = cost.out[width:]
    for n in lanes(s.states + s.fed):
        s.out[n] += slopes[n]
    call(cost.kernel, cost.given, cost.value)
    for n in range(width):
        total[n] += b * s.h[n] * value[n]
    for n in lanes(s.after):
        s.of_cost[n] += others[n]


def through_law(s: Sweep, buffer: Floats) -> None:
    """Move the weights of u and of the rates of its memory to the state, through the controller."""
    law, fed = s.law, s.out[s.states :]
    copied(buffer, law.given, law.known)
    copied(fed, law.given[law.place :], s.fed - s.exogenous)
    call(law.product, law.given, law.out)
    slopes = law.out[s.width :]
    for n in lanes(law.known - s.width):
        s.out[n] += slopes[n]


def through_sample(s: Sweep, sample: int) -> None:
    """Move the weights of u, which was constant since a sample, and of the next memory to the state at the sample."""
    law, known = s.law, s.law.known
    copied(s.called[sample * known :], law.given, known)
    copied(s.held, law.given[law.place :], s.inputs + s.memory)
    call(law.product, law.given, law.out)
    otherwise(s, s.inputs + s.memory)
    slopes, memory = law.out[s.width :], law.out[s.width + s.states :]
    for n in lanes(s.states):
        s.v[n] += slopes[n]
    for n in range(s.inputs):
        s.held[n] = 0.0
    copied(memory, s.held[s.inputs :], s.memory)


def otherwise(s: Sweep, count: int) -> None:
    """Add the weighted values of the controllers with other numbers, at the arguments of the controller."""
    law, weights, width = s.law, s.law.given[s.law.place :], s.width
    for i in range(s.others):
        given = s.numbers[s.places[i] :]
        copied(law.given, given, law.known)
        call(s.codes[i], given, law.value)
        for run in range(width):
            total = 0.0
            for n in range(count // width):
                total += weights[n * width + run] * law.value[n * width + run]
            s.sums[i * width + run] += total


def collected(s: Sweep, t: Floats) -> None:
    """Add the products of a stage at times t with respect to the inputs and the constants."""
    fed = s.out[s.states :]
    sums = s.of_inputs[s.current * s.fed :]
    for n in lanes(s.fed):
        sums[n] += fed[n]
    if s.sampled == 1:
        held = s.held
        for n in lanes(s.inputs):
            held[n] += fed[n]
    constants = fed[s.fed :]
    for n in lanes(s.constants):
        s.of_constants[n] += constants[n]
    if s.tabled == 1:
        for run in range(s.width):
            low = interval(s.cubics.breaks, 0, s.cubics.intervals, t[run])
            past = t[run] - s.cubics.breaks[low]
            for i in range(s.inputs // s.width):
                n = i * s.width + run
                cubic, bar = s.of_table[4 * (low * s.inputs + n) :], fed[n]
                for power in range(3, -1, -1):
                    cubic[power] += bar
                    bar *= past
