"""Runs by implicit methods, one per thread of a graphics processor, in the language that is translated.

The steps are those of `steps.integrate`, as on the CPU: the same code, in which `equations`, `guarded` and
`put_on_closures` are replaced by the functions of the same names below. They take u and the equations of motion from
the record of the runs instead of calling addresses.

The functions are called, unlike those of explicit methods: the residual is evaluated in 16 places. With copies there,
the assembler would take three times as long for an arm with two links.

Matrices and rates of a run are in its thread's own memory. A launch copies those that the next launch needs to and from
`ImplicitRuns.space`, where each number lies beside the same number of the other runs.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import final

from flexarm.native.language import Floats, Words
from flexarm.native.nvptx import BLOCKS, Entry, evaluate
from flexarm.simulation import rhs, steps
from flexarm.simulation.advance import is_motion, whole
from flexarm.simulation.decoupled import Decoupled
from flexarm.simulation.gpu_contacts import distances, measured_at
from flexarm.simulation.gpu_loops import DONE, GROWN, TOO_SHORT, UNDER_WAY, Runs, correction, fed, law
from flexarm.simulation.implicit import FIRST
from flexarm.simulation.layout import RIDING, Layout
from flexarm.simulation.rhs import NAN, PARTS, RunRecord
from flexarm.simulation.steps import Step, integrate
from flexarm.simulation.tableaus import Tableau

SIZE, STATES, INPUTS, TRIED, COORDINATES, POSE, VELOCITIES, INNER, UNKNOWNS, WIDTH, INPUT_MEMORY = (1,) * 11
NEWTON_STAGES, EARLIER, REMEMBERED, ROWS, KEPT, BEGINNING, BUFFER, COLUMNS, TOUCHES = (1,) * 9
MIX, CARRIED, BEFORE = 1.0, 0.0, 0.0


@final
@dataclass(frozen=True)
class ImplicitForm:
    """Numbers that determine a program: each replaces the name in capitals. See `steps.Step`.

    Attributes
    ----------
    earlier : int
        Number of rates of the previous step that the method needs.
    rows : int
        Room for the nodes of earlier rates.
    kept : int
        Length of the part of a thread's memory that the next launch needs.
    beginning : int
        Evaluations that suffice for the start of an interval, which a launch does not interrupt.
    buffer : int
        Length of time, state, u, rates of its memory, and accelerations.
    columns : int
        Number of coordinates that are integrals of rates.
    touches, drive_states, drive_place : int
        See `gpu_loops.Form`.
    """

    size: int
    states: int
    inputs: int
    input_memory: int
    tried: int
    coordinates: int
    pose: int
    velocities: int
    inner: int
    unknowns: int
    width: int
    newton_stages: int
    earlier: int
    remembered: int
    rows: int
    kept: int
    beginning: int
    buffer: int
    columns: int
    mix: float
    carried: float
    before: float
    source: int
    touches: int
    drive_states: int
    drive_place: int

    @classmethod
    def of(cls, layout: Layout, tableau: Tableau, source: int, touches: int = 0) -> "ImplicitForm":
        """Return the numbers of runs with a layout, by a method."""
        stages, m, columns = tableau.stages, layout.unknowns, layout.nq - layout.pose
        width, rows, tried = m + len(RIDING), 2 * stages + 2, layout.inputs + layout.memory
        matrices = 2 * m * m + m * columns + 2 * stages * m * m
        return cls(
            size=layout.size,
            states=layout.states,
            inputs=layout.inputs,
            input_memory=layout.memory,
            tried=tried,
            coordinates=layout.nq,
            pose=layout.pose,
            velocities=layout.nv,
            inner=layout.inner,
            unknowns=m,
            width=width,
            newton_stages=stages,
            earlier=tableau.kept,
            remembered=tableau.order + 1 - stages,
            rows=rows,
            kept=4 + layout.size + width + (rows + stages) * width + rows + m * m + matrices,
            beginning=4 * m + 2 * steps.ITERATIONS + 10,
            buffer=1 + layout.states + tried + layout.nv,
            columns=columns,
            mix=tableau.mix,
            carried=tableau.carried,
            before=tableau.before,
            source=source,
            touches=touches,
            drive_states=layout.own,
            drive_place=layout.s.start,
        )

    def constants(self) -> Mapping[str, float]:
        """Return the values of the names in capitals."""
        return {each.name.upper(): getattr(self, each.name) for each in fields(self)}

    def entry(self) -> Entry:
        """Return the entry point."""
        m, width, stages, rows = self.unknowns, self.width, self.newton_stages, self.rows
        other = self.size + width + stages * m + max(2 * stages, 3) * width + m + 3 * rows + rows * rows
        other += (PARTS + 2) * self.touches
        work = self.kept, other + 2 * stages * m, max(m, rows), self.buffer
        records = Thread, Holder, GpuStep, Decoupled
        return Entry("runs", "implicit_runs", pointers=1, integers=3, records=records, work=work, blocks=BLOCKS)


@dataclass
class ImplicitRuns(Runs):
    """Inputs and results of the threads, see `gpu_loops.Runs`, where each interval ends at a time of `out`.

    `known` counts the intervals that a run has completed. `at` is 0 at the start of an interval in which u is constant,
    and otherwise 1 + stale + 2 fresh + 4 wait, see `steps.Step`.

    Attributes
    ----------
    rows : int
        Number of states of each run in `out`, (count, rows, size).
    origin : (count,)
        First interval of each run.
    nodes : (count,)
        Number of earlier rates that each run remembers.
    space : (kept, count)
        Memory of the runs between launches.
    a1, a2, b1, b2, blocks, to, back
        The method, see `tableaus.Tableau`.
    tolerances : (size,)
        Absolute tolerance of each number of a state.
    """

    rows: int
    origin: Words
    nodes: Words
    space: Floats
    a1: Floats
    a2: Floats
    b1: Floats
    b2: Floats
    blocks: Floats
    to: Floats
    back: Floats
    tolerances: Floats


@dataclass
class Thread(RunRecord):
    """Data that the steps of a run share with its equations: its number and interval besides the record on the CPU."""

    runs: ImplicitRuns = None  # type: ignore[assignment]
    run: int = 0
    piece: int = 0


@dataclass
class Holder:
    """A word with the address of a thread's record, as `steps` expects it."""

    thread: Thread


@dataclass
class GpuStep(Step):
    """A `Step` whose shared record is that of a thread."""

    shared: Sequence[Thread]


REPLACED = steps.equations, steps.guarded, steps.touches, rhs.put_on_closures
"""Functions of the CPU that are replaced by those of the same names below, besides `measured`, or `brushes` for an arm
without contacts."""


def loops(form: ImplicitForm) -> list[str]:
    """Return the LLVM IR of the steps and of the equations. Only short functions are copied to their callers."""
    from flexarm.native.translate import ir_of

    elsewhere, constants = (evaluate, law, correction, distances), form.constants()
    replaced = (*REPLACED, rhs.measured if form.touches else steps.brushes)
    taken = ir_of(implicit_runs, elsewhere=replaced, scalar=True, constants=constants)
    taken = re.sub(r'(define \w+ @"(?!(?:implicit_runs|prepare|copied)")\w+"\([^\n]*\))', r"\1 noinline", taken)
    functions = equations, guarded, touches, put_on_closures, measured if form.touches else brushes
    own = ir_of(*functions, elsewhere=elsewhere, scalar=True, constants=constants)
    return [taken, own]


# -- translated functions ----------------------------------------------------------------------------------------------


def implicit_runs(  # pragma: no cover  (runs as code for the GPU alone, like those below)
    s: ImplicitRuns, r: int, start: int, stop: int, most: int, shared: Thread, holder: Holder, step: GpuStep,
    newton: Decoupled, kept: Floats, work: Floats, pivots: Words, buffer: Floats,
) -> None:  # fmt: skip
    """Advance one run to its end, or by about `most` evaluations."""
    for i in range(KEPT):
        kept[i] = s.space[i * s.count + r]
    prepare(s, r, shared, holder, step, newton, kept, work, pivots, buffer)
    step.h, step.t, step.ratio, step.inverted = kept[0], kept[1], kept[2], kept[3]
    marks = max(s.at[r] - 1, 0)
    step.known, step.going, step.steps, step.limit = s.nodes[r], min(s.at[r], 1), s.taken[r], most
    step.stale, step.fresh, step.wait = marks % 2, marks // 2 % 2, marks // 4
    piece, status = s.piece[r], s.status[r]
    while status == UNDER_WAY:
        first, count = piece, 1
        while first > s.origin[r] and s.row[first - 1] == s.row[piece]:
            first -= 1
        while piece + count < s.last[r] and s.row[piece + count] == s.row[piece]:
            count += 1
        if step.going == 0:
            if shared.evaluations + BEGINNING > most:
                break
            length = s.end[piece + count - 1] - s.t[piece]
            if s.step > 0.0:
                step.h = length / float(whole(length / s.step))
            else:
                step.h = min(step.h if step.h > 0.0 else FIRST * length, length)
        shared.piece, shared.last = piece, s.before[piece]
        out = s.out[(r * s.rows + piece - s.origin[r]) * SIZE :]
        done, sound = integrate(step, s.t[first], s.end[piece:], count, out), 0
        while sound < done and is_motion(out[sound * SIZE :], STATES) == 1:
            sound += 1
        piece += sound
        step.going = 0
        if sound < done:
            status = GROWN
        elif done == count:
            if piece == s.last[r]:
                status = DONE
        elif shared.evaluations >= most:
            step.going = 1
            break
        else:
            status = TOO_SHORT
    kept[0], kept[1], kept[2], kept[3] = step.h, step.t, step.ratio, step.inverted
    s.nodes[r], s.taken[r] = step.known, step.steps
    s.at[r] = step.going * (1 + step.stale + 2 * step.fresh + 4 * step.wait)
    s.piece[r], s.status[r], s.known[r], s.now[r] = piece, status, piece - s.origin[r], step.t
    s.evaluations[r] += shared.evaluations
    for i in range(KEPT):
        s.space[i * s.count + r] = kept[i]
    for i in range(SIZE):
        s.x[i * s.count + r] = step.y[i]


def prepare(  # pragma: no cover
    s: ImplicitRuns, r: int, shared: Thread, holder: Holder, step: GpuStep,
    newton: Decoupled, kept: Floats, work: Floats, pivots: Words, buffer: Floats,
) -> None:  # fmt: skip
    """Divide the memory of a thread among the arrays of its records, and set their numbers."""
    holder.thread, step.newton = shared, newton
    step.shared = holder  # type: ignore[assignment]  # the address of its one field
    shared.runs, shared.run, shared.piece, shared.states, shared.buffer = s, r, 0, STATES, buffer
    shared.evaluations, shared.stop, shared.watch, shared.passed, shared.marked = 0, 0, 0, 0, 0
    shared.touch, shared.gapped = TOUCHES, TOUCHES
    step.stages, step.kept, step.remembered, step.n, step.pose = NEWTON_STAGES, EARLIER, REMEMBERED, COORDINATES, POSE
    step.nv, step.inner, step.m, step.size, step.width = VELOCITIES, INNER, UNKNOWNS, SIZE, WIDTH
    step.inputs, step.memory, step.tried, step.recorded = INPUTS, INPUT_MEMORY, TRIED, 0
    step.fixed = 1 if s.step > 0.0 else 0
    step.mix, step.carried, step.before, step.rtol, step.atol = MIX, CARRIED, BEFORE, s.rtol, s.tolerances
    step.c, step.a1, step.a2, step.b1, step.b2 = s.c, s.a1, s.a2, s.b1, s.b2
    newton.stages, newton.m, newton.first, newton.columns, newton.sides = NEWTON_STAGES, UNKNOWNS, INNER, COLUMNS, 1
    newton.blocks, newton.to, newton.back, newton.pivots, step.pivots = s.blocks, s.to, s.back, pivots, pivots
    square = UNKNOWNS * UNKNOWNS
    free = kept[4:]
    step.y, free = free, free[SIZE:]
    step.f, free = free, free[WIDTH:]
    step.k, free = free, free[(ROWS + NEWTON_STAGES) * WIDTH :]
    step.nodes, free = free, free[ROWS:]
    step.mass, free = free, free[square:]
    newton.M, free = free, free[square:]
    newton.C, free = free, free[square:]
    newton.K, free = free, free[UNKNOWNS * COLUMNS :]
    newton.inverses = free
    step.trial, free = work, work[SIZE:]
    step.e, free = free, free[WIDTH:]
    step.r, free = free, free[NEWTON_STAGES * UNKNOWNS :]
    step.w, free = free, free[max(2 * NEWTON_STAGES, 3) * WIDTH :]
    step.scale, free = free, free[UNKNOWNS:]
    step.weights, free = free, free[3 * ROWS :]
    step.V, free = free, free[ROWS * ROWS :]
    shared.gaps, newton.w = free, free[(PARTS + 2) * TOUCHES :]


def equations(s: GpuStep) -> None:  # pragma: no cover
    """See `steps.equations`."""
    shared = s.shared[0]
    runs, r, x = shared.runs, shared.run, shared.buffer[1:]
    fed(runs, r, shared.piece, shared.buffer, 1, x[STATES:])
    evaluate(x, 1, runs.own[r * runs.single :], runs.apart, s.e, 1)


def guarded(s: GpuStep, y: Floats, e: Floats) -> None:  # pragma: no cover
    """See `steps.guarded`."""
    runs = s.shared[0].runs
    for i in range(STATES):
        if abs(y[i]) > runs.most[i]:
            e[0] = NAN


def touches(s: GpuStep, h: float) -> int:  # pragma: no cover
    """Return 0: arms with sharp contacts are rejected."""
    return 0


def brushes(s: GpuStep, h: float) -> int:  # pragma: no cover
    """Return 0, for an arm without contacts."""
    return 0


def measured(s: Thread, x: Floats, row: int) -> None:  # pragma: no cover
    """See `rhs.measured`. The buffer, which each evaluation fills, is work memory."""
    runs = s.runs
    measured_at(x, s.buffer, runs.contacts[s.run * runs.single :], runs.apart, s.gaps, row)


def put_on_closures(shared: Sequence[RunRecord], x: Floats) -> None:  # pragma: no cover
    """Leave the state as it is: arms with closures are rejected."""
