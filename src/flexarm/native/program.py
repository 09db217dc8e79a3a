"""A CasADi function as a straight-line program, a list of instructions, and its repeated parts.

No other module reads CasADi's own instructions: machine code (`llvm`), source code (`closed_forms.formats`) and closed
forms (`closed_forms.ring`) are all generated from this list.

An arm's links are alike, so a chain repeats one sequence of operations link after link. Without loops, the code of a
long chain would exceed the instruction caches, and loading it at each evaluation would take longer than the arithmetic.
With loops, the cost grows linearly with the number of links, and the time to compile hardly grows.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite

import casadi as ca
import numpy as np

INPUT, OUTPUT, INVERSE, SINCOS, PART = "input", "output", "inverse", "sincos", "part"
"""Kinds of instructions that CasADi does not have. Sine and cosine of one angle are one instruction with two parts."""

WORTH = 200
"""Least number of instructions that a loop must save."""

ROUNDS = 4
"""Least number of rounds of a loop. The first and the last often differ and are split off later."""

WINDOW = (1, 2, 4, 8, 16, 32)
"""Doublings of the length of the sequences that are compared to find repetitions: 64 operations."""


@dataclass(frozen=True)
class Instruction:
    """One operation. Arguments are positions of earlier instructions, or constants (float)."""

    op: int | str
    args: tuple[int | float, ...]
    index: int = 0
    """Index of the input, the output, or the half of a pair."""


def steps(function: ca.Function) -> Iterator[tuple[int, list[int], list[int], float]]:
    """Yield CasADi's own instructions: operation, places read and written, and the value of a constant."""
    for k in range(function.n_instructions()):
        op = function.instruction_id(k)
        value = function.instruction_constant(k) if op == ca.OP_CONST else 0.0
        yield op, function.instruction_input(k), function.instruction_output(k), value


def instructions(function: ca.Function) -> list[Instruction]:
    """Return the program of an SX function, over its concatenated arguments and results.

    A divisor is inverted once. Sine and cosine of one angle share one instruction.
    """
    start_in = _starts([function.nnz_in(i) for i in range(function.n_in())])
    start_out = _starts([function.nnz_out(i) for i in range(function.n_out())])
    code: list[Instruction] = []
    known: dict[tuple, int] = {}
    register: dict[int, int | float] = {}

    def put(op: int | str, args: tuple, index: int = 0) -> int:
        code.append(Instruction(op, args, index))
        return len(code) - 1

    def once(op: int | str, args: tuple, index: int = 0) -> int:
        key = (op, *map(repr, args), index)  # 2 is a position, 2.0 a constant, and 2 == 2.0
        if key not in known:
            known[key] = put(op, args, index)
        return known[key]

    for op, where, target, constant in steps(function):
        if op == ca.OP_CONST:
            register[target[0]] = constant
        elif op == ca.OP_INPUT:
            register[target[0]] = put(INPUT, (), start_in[where[0]] + where[1])
        elif op == ca.OP_OUTPUT:
            put(OUTPUT, (register[where[0]],), start_out[target[0]] + target[1])
        else:
            args = tuple(register[w] for w in where)
            if op == ca.OP_DIV:
                value = put(ca.OP_MUL, (args[0], once(INVERSE, args[1:])))
            elif op == ca.OP_INV:
                value = once(INVERSE, args)
            elif op in (ca.OP_SIN, ca.OP_COS):
                pair = once(SINCOS, args)
                sine, cosine = (once(PART, (pair,), half) for half in (0, 1))
                value = sine if op == ca.OP_SIN else cosine
            else:
                value = put(op, args)
            register[target[0]] = value
    return code


def _starts(sizes: list[int]) -> list[int]:
    return [sum(sizes[:i]) for i in range(len(sizes))]


def is_structural(op: int | str, place: int, value: float) -> bool:
    """Return True if the constant at a place of an operation belongs to the structure of a program.

    Programs of one structure differ in their constants, but have the same zeros, infinities, NaN and exponents: a zero
    simplifies its operation, and a power is compiled for its exponent.
    """
    return value == 0.0 or not isfinite(value) or (place > 0 and op in (ca.OP_POW, ca.OP_CONSTPOW))


def operations(function: ca.Function) -> tuple[int, int]:
    """Return the numbers of multiplications (including squares and divisions) and of additions.

    Negations do not count.
    """
    ids = [function.instruction_id(k) for k in range(function.n_instructions())]
    multiplications = sum(op in (ca.OP_MUL, ca.OP_SQ, ca.OP_DIV, ca.OP_INV) for op in ids)
    return multiplications, sum(op in (ca.OP_ADD, ca.OP_SUB, ca.OP_TWICE) for op in ids)


def operation_name(op: int | str) -> str:
    """Return CasADi's name of an operation, for messages."""
    names = {getattr(ca, name): name for name in dir(ca) if name.startswith("OP_")}
    return names.get(op, str(op))


# -- repetition --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Repeat:
    """Instructions start, ..., start + rounds * period - 1: `period` operations, `rounds` times."""

    start: int
    period: int
    rounds: int

    @property
    def stop(self) -> int:
        """The instruction after the last round."""
        return self.start + self.rounds * self.period


def repeats(code: list[Instruction]) -> list[Repeat]:
    """Return the sequences in which the same operations repeat, in order.

    Two operations are the same if their arguments have the same kinds, and if arguments from within the last period
    have the same distance. Constants, inputs, outputs and older arguments may differ.
    """
    if len(code) < WORTH + sum(WINDOW):
        return []
    kinds, back = _kinds(code)
    # 1. candidates for periods: distances between equal windows, by hashes of doubled length
    digest = kinds
    for width in WINDOW:
        digest = digest[:-width] * np.uint64(6364136223846793005) + digest[width:]
    order = np.argsort(digest, kind="stable")
    gaps, counts = np.unique(np.diff(order)[np.diff(digest[order]) == 0], return_counts=True)
    # 2. sequences that repeat with each period; the most frequent period comes first
    found: list[Repeat] = []
    free = np.ones(len(code), dtype=bool)
    for period in gaps[np.argsort(-counts, kind="stable")][:32].tolist():
        near = np.minimum(back, period)
        same = (kinds[period:] == kinds[:-period]) & (near[period:] == near[:-period]).all(axis=1)
        same &= free[period:] & free[:-period]
        edges = np.flatnonzero(np.diff(np.concatenate([[0], same.view(np.int8), [0]])))
        taken = 0  # a sequence extends one period beyond its edge, and may reach the next
        for first, stop in edges.reshape(-1, 2).tolist():
            start = max(first, taken)
            while start < stop and code[start].op == PART:  # the halves of a pair stay together
                start += 1
            repeat = Repeat(start, period, (stop - start) // period + 1)
            if repeat.rounds >= ROUNDS and (repeat.rounds - 1) * period >= WORTH:
                found.append(repeat)
                free[start : repeat.stop] = False
                taken = repeat.stop
    return sorted(found, key=lambda repeat: repeat.start)


def _kinds(code: list[Instruction]) -> tuple[np.ndarray, np.ndarray]:
    """Return a code for each operation with the kinds of its arguments, and the distance of each argument.

    Arguments without a distance get the largest one.
    """
    numbers: dict[tuple, int] = {}
    kinds = np.empty(len(code), dtype=np.uint64)
    back = np.full((len(code), max(len(instruction.args) for instruction in code)), len(code))
    for k, instruction in enumerate(code):
        kind: list[int | str] = [instruction.op, instruction.index if instruction.op == PART else 0]
        for j, a in enumerate(instruction.args):
            if isinstance(a, float):
                kind.append("constant")
            elif code[a].op == INPUT:
                kind.append(INPUT)
            else:
                kind.append("value")
                back[k, j] = k - a
        kinds[k] = numbers.setdefault(tuple(kind), len(numbers))
    return kinds, back
