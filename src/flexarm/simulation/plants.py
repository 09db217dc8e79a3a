"""Loops over plants that advance by one period, in the language that is translated."""

from collections.abc import Sequence
from dataclasses import dataclass

from flexarm.native.functions import translated
from flexarm.native.language import Floats, Words, call
from flexarm.native.once import Once
from flexarm.simulation.advance import is_finite, is_motion
from flexarm.simulation.lanes import DONE, ENDED, Lanes, again
from flexarm.simulation.rhs import RunRecord
from flexarm.simulation.steps import copied

REFUSED = -1
"""Return value for u that is not finite."""

WELL, FAILED, ENDLESS = 0, 1, 2
"""Status of a plant after a period: advanced, failed, or not finished within `most` evaluations."""


@dataclass
class Plants:
    """Plants that native code advances and Python reads.

    Attributes
    ----------
    advance : address
        A solver in the form of the module `advance`.
    solvers : (count,)
        Address of the solver's record for each plant, since a method may keep data from period to period.
    runs : Lanes
        A run over a period for each plant, if an explicit method advances several at once; else 0.
    count, states, inputs, exogenous, size : int
        Number of plants; lengths of a state, of u, of w, and of a state with quadrature states.
    end : (1,)
        The period [s].
    u, w, x, out : (count, inputs), (count, exogenous), (count, states), (count, states)
        x are the current states, out those after the period.
    periods, failed : (count,)
        Completed periods of each plant, and the status of the last one.
    most : int
        Largest number of evaluations of a plant in a period.
    place, constants : int, (count, fixed)
        Constants of each plant, if the model varies. They follow w, in the shared buffer from `place` on.
    closing, looped, loops : (looped,), int, (count, looped)
        Constants of the correction towards the closures: those of the current plant in the plan, and of each plant.
    touching, touched, contacts : (touched,), int, (count, touched)
        The same of the functions of touches.
    energy : (count, size - states)
        Work of the inputs and dissipated energy since the last reset [J].
    gained : (count, size - states)
        The same in the last period.
    y, row, reached
        Work memory for the current plant.
    """

    shared: Sequence[RunRecord]
    advance: int
    solvers: Words
    runs: Sequence[Lanes]
    count: int
    states: int
    inputs: int
    exogenous: int
    fixed: int
    size: int
    most: int
    place: int
    end: Floats
    constants: Floats
    closing: Floats
    looped: int
    loops: Floats
    touching: Floats
    touched: int
    contacts: Floats
    u: Floats
    w: Floats
    x: Floats
    out: Floats
    periods: Words
    failed: Words
    energy: Floats
    gained: Floats
    y: Floats
    row: Floats
    reached: Words


CODE = Once(lambda: translated(one_by_one, many_at_once))


def one_by_one(p: Plants) -> int:
    """Advance each plant by the solver. Return 0 for success, `REFUSED`, or the number of plants that failed."""
    shared, states = p.shared[0], p.states
    if is_finite(p.u, p.count * p.inputs) == 0 or is_finite(p.w, p.count * p.exogenous) == 0:
        return REFUSED
    for i in range(p.count):
        copied(p.x[i * states :], p.y, states)
        for j in range(states, p.size):
            p.y[j] = 0.0
        copied(p.u[i * p.inputs :], shared.buffer[1 + states :], p.inputs)
        copied(p.w[i * p.exogenous :], shared.buffer[1 + states + p.inputs :], p.exogenous)
        copied(p.constants[i * p.fixed :], shared.buffer[p.place :], p.fixed)
        copied(p.loops[i * p.looped :], p.closing, p.looped)
        copied(p.contacts[i * p.touched :], p.touching, p.touched)
        shared.evaluations = 0
        call(p.advance, p.solvers[i], 0.0, p.y, p.end, 1, p.row, p.reached)
        p.failed[i] = WELL if p.reached[0] == 1 else ENDLESS if shared.evaluations >= p.most else FAILED
        copied(p.row, p.out[i * states :], states)
        copied(p.row[states:], p.gained[i * (p.size - states) :], p.size - states)
    return committed(p)


def many_at_once(p: Plants) -> int:
    """Move all plants by an explicit method, each in its lane with its own steps."""
    s, states, size, fixed = p.runs[0], p.states, p.size, p.exogenous + p.fixed
    if is_finite(p.u, p.count * p.inputs) == 0 or is_finite(p.w, p.count * p.exogenous) == 0:
        return REFUSED
    for i in range(p.count):
        copied(p.x[i * states :], s.start[i * size :], states)
        for j in range(states, size):
            s.start[i * size + j] = 0.0
        copied(p.u[i * p.inputs :], s.held[2 * i * p.inputs :], p.inputs)
        copied(p.w[i * p.exogenous :], s.own[i * fixed :], p.exogenous)
        copied(p.constants[i * p.fixed :], s.own[i * fixed + p.exogenous :], p.fixed)
    again(s)
    for i in range(p.count):
        p.failed[i] = WELL if s.status[i] == DONE else ENDLESS if s.status[i] == ENDED else FAILED
        row = s.stuck[i * size :]
        copied(row, p.out[i * states :], states)
        copied(row[states:], p.gained[i * (size - states) :], size - states)
    return committed(p)


def committed(p: Plants) -> int:
    """Update the states of all plants if every plant has advanced. Return the number of plants that failed."""
    bad = 0
    for i in range(p.count):
        if p.failed[i] == WELL and is_motion(p.out[i * p.states :], p.states) == 0:
            p.failed[i] = FAILED
        if p.failed[i] != WELL:
            bad += 1
    if bad == 0:
        copied(p.out, p.x, p.count * p.states)
        for i in range(p.count * (p.size - p.states)):
            p.energy[i] += p.gained[i]
        for i in range(p.count):
            p.periods[i] += 1
    return bad
