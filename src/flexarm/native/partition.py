"""Partition of a straight-line program among several threads that share memory.

The threads compute one program in phases, with a barrier after each phase. A thread may use a value of another thread
in the phases after the one that computes the value. Values pass through slots of the shared memory.

A list schedule gives a first partition: in each phase, the thread with the least work takes the most urgent instruction
whose arguments it has. A local search then moves single instructions to other threads and phases, where that reduces
the work of the longest threads together with the accesses to shared memory.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import casadi as ca
import numpy as np

from flexarm.native.program import INPUT, INVERSE, OUTPUT, PART, SINCOS, Instruction

COSTS = {OUTPUT: 6, SINCOS: 30, INVERSE: 12, ca.OP_SQRT: 12, ca.OP_EXP: 40, ca.OP_TANH: 40, PART: 0}
"""Approximate numbers of machine instructions of an operation. An output costs the sums of a step. Others cost 1."""

ACCESS = 4.0
"""Cost of an access to shared memory. A multiprocessor has 64 units for doubles and reads 128 bytes in a cycle: the
access of 8 bytes takes as long as four operations of all its units."""

LEAST = 300
"""Least work in a phase [instructions] before its end, if one of the threads has no more instructions in it. The value
was chosen by the local memory that ptxas reports for 8 links with 2 + 2 modes."""

NEAR = 40
"""Urgency that an argument in the same thread adds to an instruction, beside the length of the path to the end. With
larger values, one thread has most of the values and its local memory grows."""

PASSES = 6
"""Passes of the search over all instructions. Further passes reduce the accesses, but collect values in one thread."""

FAR = 3
"""Largest number of phases that a move may cross, so that a pass takes little time."""


@final
@dataclass(frozen=True)
class Partition:
    """A program in parts, one for each thread of a run.

    Attributes
    ----------
    phases : [part][phase] lists of int
        Instructions in their order.
    loads : [part][phase] lists of int
        Values of other parts that a part reads at the beginning of a phase. Each is read once.
    slots : dict
        Slot of each value that another part reads.
    """

    phases: list[list[list[int]]]
    loads: list[list[list[int]]]
    slots: dict[int, int]

    @property
    def size(self) -> int:
        """Number of slots."""
        return 1 + max(self.slots.values(), default=-1)

    @property
    def accesses(self) -> int:
        """Number of values that are written to slots and read from them."""
        return len(self.slots) + sum(len(each) for part in self.loads for each in part)

    def longest(self, code: Sequence[Instruction]) -> int:
        """Return the sum over the phases of the work of the longest part."""
        work = [[sum(cost(code[k]) for k in each) for each in part] for part in self.phases]
        return sum(map(max, zip(*work, strict=True)))


def cost(instruction: Instruction) -> int:
    """Return the approximate number of machine instructions of an instruction."""
    return 0 if instruction.op == INPUT else COSTS.get(instruction.op, 1)


def partition(code: Sequence[Instruction], parts: int, room: int) -> Partition:
    """Return a partition of a fused program with at most `room` slots.

    Raises `NotImplementedError` if the program needs more slots. A slot for each part suffices for most programs, but
    with many barriers.
    """
    graph = _Graph.of(code)
    part, phase = _scheduled(graph, parts)
    _improve(graph, parts, part, phase)
    return _with_slots(code, graph, parts, part, phase, room)


@final
@dataclass(frozen=True)
class _Graph:
    """Instructions with a cost, and their dependences. The halves of a sine and cosine belong to their pair.

    Attributes
    ----------
    unit : list of int
        The unit of each instruction: the instruction itself, or its pair.
    units : list of int
        All units in order, without inputs and outputs of inputs.
    needs, inputs, users : dicts of lists
        The units that a unit uses, the inputs that it uses, and the units that use it.
    cost : dict
        Cost of each unit.
    """

    unit: list[int]
    units: list[int]
    needs: dict[int, list[int]]
    inputs: dict[int, list[int]]
    users: dict[int, list[int]]
    cost: dict[int, int]

    @classmethod
    def of(cls, code: Sequence[Instruction]) -> "_Graph":
        """Return the graph of a program."""
        unit = [int(each.args[0]) if each.op == PART else k for k, each in enumerate(code)]
        units = [k for k, each in enumerate(code) if each.op not in (INPUT, PART) and not _is_copy(code, each)]
        used = {k: sorted({unit[a] for a in code[k].args if not isinstance(a, float)}) for k in units}
        needs = {k: [a for a in used[k] if code[a].op != INPUT] for k in units}
        inputs = {k: [a for a in used[k] if code[a].op == INPUT] for k in units}
        users: dict[int, list[int]] = {k: [] for k in units}
        for k in units:
            for a in needs[k]:
                users[a].append(k)
        return cls(unit, units, needs, inputs, users, {k: cost(code[k]) for k in units})


def _is_copy(code: Sequence[Instruction], each: Instruction) -> bool:
    """Return True for an output of an input or of a constant, which any part may write."""
    (a,) = each.args if each.op == OUTPUT else (0.0,)
    return each.op == OUTPUT and (isinstance(a, float) or code[a].op == INPUT)


def _scheduled(graph: _Graph, parts: int) -> tuple[dict[int, int], dict[int, int]]:
    """Return the part and the phase of each unit, by a list schedule.

    A unit is ready for one part if this part computes an argument of it in the current phase, and for all parts if its
    arguments are those of earlier phases.
    """
    part: dict[int, int] = {}
    phase: dict[int, int] = {}
    path = dict.fromkeys(graph.units, 0)
    for k in reversed(graph.units):
        path[k] = graph.cost[k] + max((path[u] for u in graph.users[k]), default=0)
    missing = {k: len(graph.needs[k]) for k in graph.units}
    ready = [k for k in graph.units if not missing[k]]
    now = 0

    def offer(k: int, to: Sequence[int]) -> None:
        """Put a unit into the heaps of some parts, with its urgency."""
        for p in to:
            near = sum(1 if part[a] == p else -1 for a in graph.needs[k])
            heapq.heappush(heaps[p], (-path[k] - NEAR * near, k))
            stalled[p] = False

    while ready:
        work, heaps, stalled = [0] * parts, [list[tuple[int, int]]() for _ in range(parts)], [False] * parts
        opened, later = list(ready), list[int]()
        for k in ready:
            offer(k, range(parts))
        while not all(stalled):
            p = min((q for q in range(parts) if not stalled[q]), key=lambda q: work[q])
            if any(stalled) and work[p] >= max(LEAST, *(work[q] for q in range(parts) if stalled[q])):
                break  # the stalled parts need values of the others
            while heaps[p] and heaps[p][0][1] in part:
                heapq.heappop(heaps[p])
            if not heaps[p]:
                stalled[p] = True
                continue
            _, k = heapq.heappop(heaps[p])
            part[k], phase[k] = p, now
            work[p] += graph.cost[k]
            for user in graph.users[k]:
                missing[user] -= 1
                if missing[user] == 0:
                    of = {part[a] for a in graph.needs[user] if phase[a] == now}
                    if len(of) == 1:
                        opened.append(user)
                        offer(user, [*of])
                    else:
                        later.append(user)
        ready = [k for k in opened if k not in part] + later
        now += 1
    return part, phase


def _improve(graph: _Graph, parts: int, part: dict[int, int], phase: dict[int, int]) -> None:
    """Move units to other parts and phases where that makes the program faster."""
    random, last = np.random.default_rng(0), max(phase.values(), default=0)
    count: dict[int, list[int]] = {}  # how many units of each part use a value
    work = [[0] * parts for _ in range(last + 1)]
    for k in graph.units:
        work[phase[k]][part[k]] += graph.cost[k]
        count.setdefault(k, [0] * parts)
        for a in (*graph.needs[k], *graph.inputs[k]):
            count.setdefault(a, [0] * parts)[part[k]] += 1

    def accesses(a: int, home: int | None) -> int:
        """Return how often the value of a part, or an input, is written and read."""
        readers = sum(1 for p, uses in enumerate(count[a]) if uses and p != home)
        return readers + (readers > 0 and home is not None)

    def move(k: int, p: int, q: int) -> int:
        """Count the uses of a unit in another part. Return by how much the accesses to its arguments grow."""
        more = 0
        for a in (*graph.needs[k], *graph.inputs[k]):
            more -= accesses(a, part.get(a))
            count[a][p] -= 1
            count[a][q] += 1
            more += accesses(a, part.get(a))
        return more

    for _ in range(PASSES):
        for k in random.permutation(graph.units).tolist():
            p, f, size = part[k], phase[k], graph.cost[k]
            before = max(work[f])
            work[f][p] -= size
            less, best = max(work[f]) - before, (np.inf, p, f)
            for q in range(parts):
                low = max((phase[a] + (part[a] != q) for a in graph.needs[k]), default=0)
                high = min((phase[u] - (part[u] != q) for u in graph.users[k]), default=last)
                more = move(k, p, q) + accesses(k, q) - accesses(k, p)
                move(k, q, p)
                for g in range(max(low, f - FAR), min(high, f + FAR) + 1):
                    longer = max(0, work[g][q] + size - max(work[g]))
                    if q != p or g != f:
                        best = min(best, (less + longer + ACCESS / parts * more, q, g))
            q, g = best[1:] if best[0] <= 0.0 else (p, f)  # moves without a gain prepare others
            work[g][q] += size
            move(k, p, q)
            part[k], phase[k] = q, g


def _with_slots(
    code: Sequence[Instruction], graph: _Graph, parts: int, part: dict[int, int], phase: dict[int, int], room: int
) -> Partition:
    """Return a partition whose values have slots.

    A part reads a value where it first uses it, or some phases earlier if there are too few slots: its registers, or
    local memory, then contain the value. If this does not suffice, the phase that writes most values becomes two.
    """
    phases = _in_order(code, graph, parts, part, phase)
    while True:
        at = {k: (p, f) for p, of in enumerate(phases) for f, each in enumerate(of) for k in each}
        first: dict[tuple[int, int], int] = {}
        for k, (p, f) in at.items():
            for a in code[k].args:
                if not isinstance(a, float) and code[a].op != INPUT and at[a][0] != p:
                    first[a, p] = min(first.get((a, p), f), f)
        begin = {a: at[a][1] for a, _ in first}
        for wait in range(len(phases[0]), 0, -1):
            reads = {(a, p): min(f, begin[a] + wait) for (a, p), f in first.items()}
            end: dict[int, int] = {}
            for (a, _), f in reads.items():
                end[a] = max(end.get(a, f), f)
            slots = _allocated(begin, end)
            if max(slots.values(), default=-1) < room:
                loads = [[list[int]() for _ in of] for of in phases]
                for (a, p), f in sorted(reads.items()):
                    loads[p][f].append(a)
                return Partition(phases, loads, slots)
        written = [sum(f == each for each in begin.values()) for f in range(len(phases[0]))]
        f = written.index(max(written))
        if max(len(of[f]) for of in phases) < 2:
            raise NotImplementedError(f"{parts} threads need more than {room} shared values for each run")
        for of in phases:
            half = len(of[f]) // 2
            of[f : f + 1] = [of[f][:half], of[f][half:]]


def _in_order(
    code: Sequence[Instruction], graph: _Graph, parts: int, part: dict[int, int], phase: dict[int, int]
) -> list[list[list[int]]]:
    """Return the instructions of each part and phase. Copies of inputs belong to the parts with the fewest outputs."""
    number = {f: i for i, f in enumerate(sorted(set(phase.values())))}
    phases = [[list[int]() for _ in number] for _ in range(parts)]
    for k, each in enumerate(code):
        if each.op != INPUT and not _is_copy(code, each):
            u = graph.unit[k]
            phases[part[u]][number[phase[u]]].append(k)
    outputs = [sum(code[k].op == OUTPUT for each in of for k in each) for of in phases]
    for k, each in enumerate(code):
        if _is_copy(code, each):
            p = outputs.index(min(outputs))
            phases[p][-1].append(k)
            outputs[p] += 1
    return phases


def _allocated(begin: dict[int, int], end: dict[int, int]) -> dict[int, int]:
    """Return slots of values that are written in one phase and last read in another.

    A slot has a new value in a later phase than that of the last reading of the old one, since only a barrier orders
    the accesses of different threads.
    """
    free: list[int] = []
    busy: list[tuple[int, int]] = []
    slots: dict[int, int] = {}
    size = 0
    for a in sorted(begin, key=lambda a: (begin[a], a)):
        while busy and busy[0][0] < begin[a]:
            heapq.heappush(free, heapq.heappop(busy)[1])
        if free:
            slots[a] = heapq.heappop(free)
        else:
            slots[a], size = size, size + 1
        heapq.heappush(busy, (end[a], slots[a]))
    return slots
